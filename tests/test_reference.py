"""Tests of the tools of the reference implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from tests import reference as ref
from tests import streams
from tests.test_identities import Scripted

RBF = ref.rbf(0.5)


def test_ties_go_to_the_oldest():
    assert ref.smallest([2.0, 1.0 + 5e-10, 1.0, 1.0 + 1e-8], [0, 1, 2, 3]) == 1
    assert ref.smallest([1.0, 1.0], [5, 4]) == 1
    assert ref.largest([1.0, 3.0, 3.0 - 1e-9], [0, 2, 1]) == 2
    assert ref.smallest([0.0, 1e-10], [1, 0]) == 0
    assert ref.smallest([0.0, 1e-10], [1, 0], scale=1.0) == 1


def test_removal_moves_the_last_point():
    twin = ref.Twin(RBF)
    for i in range(4):
        twin.add({"a": float(i)}, float(i))
    twin.remove(1)
    assert (twin.birth, twin.alpha) == ([0, 3, 2], [0.0, 3.0, 2.0])
    twin.keep([0, 1, 2])
    assert twin.birth == [0, 2, 3]


def test_draw_follows_the_convention():
    q = [0.0, 0.25, 0.0, 0.75, 0.0]
    assert [ref.draw(Scripted(u), q) for u in (0.0, 0.2499, 0.25, 0.9999)] == [1, 1, 3, 3]
    assert ref.draw(Scripted(0.9999999), [0.3, 0.3, 0.0]) == 1  # rounding leaves none


def test_norm_projection_and_average_of_the_base():
    twin = ref.Twin(RBF)
    for x, y in streams.emerging(streams.CLASSIFICATION, n=12):
        twin.add(x, y)
        twin.remember()
    x = {"bias": 1.0, ("f", 2): 0.3, ("f", 9): -1.0}
    mean = np.mean([sum(c * RBF(twin.points[b], x) for b, c in f.items()) for f in twin.history])
    assert twin.average(x, 13) == pytest.approx(mean, rel=1e-12)
    d, delta2 = twin.projection(x)
    best = scipy.optimize.minimize(lambda d: RBF(x, x) - 2 * d @ twin.row(x) + d @ twin.gram() @ d, d * 0, tol=1e-12)
    assert delta2 == pytest.approx(best.fun, abs=1e-8)
    norm = math.sqrt(twin.norm2())
    twin.project_on_ball(norm / 2)
    assert math.sqrt(twin.norm2()) == pytest.approx(norm / 2)
    twin.project_on_ball(norm)
    assert math.sqrt(twin.norm2()) == pytest.approx(norm / 2)
