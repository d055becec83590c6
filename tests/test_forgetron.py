"""The Forgetron: its shrinking and its mistake bound."""

from __future__ import annotations

import math
import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from river_okl import ForgetronClassifier, kernels
from river_okl.algorithms.forgetron import SPENT, _shrinkage
from tests import streams


@given(delta=st.floats(1e-3, 10), mu=st.floats(-10, 10), c=st.floats(-20, -1e-6))
def test_phi_is_the_largest_allowed_by_the_bound(delta, mu, c):
    """Against a grid, for quadratics that open up (δ > 2μ), down, and lines."""
    phi = _shrinkage(delta, mu, c)
    assert 0.0 < phi <= 1.0

    def excess(p):
        return (delta * p) ** 2 + 2 * delta * p * (1 - p * mu) + c

    grid = np.linspace(0, 1, 4001)
    allowed = grid[excess(grid) <= 0]
    assert phi >= allowed.max() - 1e-12
    assert excess(phi) <= 1e-9 * (1 + delta * delta + 2 * delta * abs(mu) + abs(c))
    assert not [p for p in grid if p > phi + 1e-9 and excess(p) < -1e-9]


def test_the_bound_holds_for_all_sample_weights():
    rng = random.Random(6)
    model = ForgetronClassifier(kernels.RBF(0.5), budget=5)
    for x, y in streams.dense("classification", n=600):
        model.learn_one(x, y, w=10 ** rng.uniform(-3, 3))
        assert model._damage <= SPENT * model._mistakes * (1 + 1e-12)
        assert math.isfinite(model.norm)
