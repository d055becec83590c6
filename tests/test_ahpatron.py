"""Ahpatron: halving in ties and without a norm."""

from __future__ import annotations

import numpy as np

from river_okl import AhpatronClassifier, kernels
from river_okl.algorithms.ahpatron import _halve, _largest_half
from river_okl.algorithms.support import solve_with_ridge


def test_the_largest_half_keeps_the_older_in_ties():
    births = np.array([7, 3, 5, 0, 2, 1])
    one = 1.0 + 1e-12
    assert set(_largest_half(np.array([1.0, one, 1.0, 1.0, one, 1.0]), births)) == {3, 5, 4}
    assert set(_largest_half(np.array([3.0, one, 1.0, 1.0, one, 2.0]), births)) == {0, 5, 3}
    assert set(_largest_half(np.arange(5.0), births[:5])) == {3, 4}
    assert len(_largest_half(np.ones(1), births[:1])) == 0


def test_a_cancelled_half_is_not_rescaled():
    """If half the budget is one point with both labels, the halved f is rounding."""
    model = AhpatronClassifier(kernels.RBF(0.5), budget=4)
    f = model._f
    for value, c in ((0.0, 1.0), (0.0, -1.0 - 1e-14), (9.0, 0.01), (-9.0, 0.01)):
        f.evaluate({"a": value})
        f.add(c)
    _halve(f, 1e-6)
    assert abs(f.coefficients).max() < 1.5
    assert model.norm < 1e-6


def test_the_ridge_is_raised_until_the_factorisation_exists():
    indefinite = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    solution = solve_with_ridge(indefinite, np.array([1.0, 1.0]), 0.0)
    np.testing.assert_allclose(solution, [0.5, 0.5], rtol=1e-6)
