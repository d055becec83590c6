"""The data-driven bandwidth."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from river_okl import kernels
from tests.core.expansions import distance2, dot, expand


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [
        (kernels.RBF(), lambda distance, square: 3 / distance),
        (kernels.Laplacian(), lambda distance, square: math.sqrt(3 / distance)),
        (kernels.Linear(gamma=None), lambda distance, square: 1 / square),
        (kernels.Polynomial(2, gamma=None), lambda distance, square: 1 / square),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_an_automatic_gamma_is_that_of_the_first_200_samples(kernel, gamma):
    rng = random.Random(18)
    stream = [{i: rng.gauss(1, 3) for i in range(4)} for _ in range(400)]
    f = expand(kernel)
    for x in stream:
        f.observe(x)
        if len(f) < 5:
            f.add(1.0)
    distance = np.mean([distance2(a, b) for a, b in itertools.pairwise(stream[:200])])
    square = np.mean([dot(x, x) for x in stream[:200]])
    assert f.kernel.gammas == (pytest.approx(gamma(distance, square), rel=1e-12),)
    f._check()


def test_everything_is_recomputed_while_the_bandwidth_changes():
    f, rng = expand(kernels.RBF(), norm=True, values=True, inverse=True), random.Random(19)
    for t in range(120):
        f.observe({i: rng.gauss(0, 1 + t / 10) for i in range(3)})
        if t % 4 == 0:
            f.add(rng.gauss(0, 1))
        if t % 10 == 0:
            f._check()


def test_an_unchanged_bandwidth_costs_nothing():
    """A stream of identical samples has no scale, and would recompute f at each of 20,000 updates."""
    f = expand(kernels.RBF(), norm=True, inverse=True)
    for t in range(300):
        f.observe({"a": 1.0})
        if t < 5:
            f.add(1.0)
    assert f.norm2 == pytest.approx(25.0)
    f.observe({"a": 1.0})
    assert not f.state()["norms"]["stale"]
    f.observe({"a": 2.0})
    assert f.state()["norms"]["stale"]
    f._check()
