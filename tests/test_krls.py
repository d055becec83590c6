"""Kernel recursive least squares and its quantised neighbour: weights, and the errors of their literature."""

from __future__ import annotations

import numpy as np
import pytest

import river_okl
from benchmarks import filters
from river_okl import kernels
from tests import streams


def test_a_weight_is_a_number_of_equal_samples():
    heavy, often = (river_okl.KRLSRegressor(kernels.RBF(0.5), nu=0.1) for _ in range(2))
    for x, y in streams.dense("regression", n=150):
        heavy.learn_one(x, y, 2.0)
        often.learn_one(x, y)
        often.learn_one(x, y)
        assert heavy.predict_one(x) == pytest.approx(often.predict_one(x), rel=1e-6, abs=1e-9)
    assert heavy.n_support_vectors == often.n_support_vectors > 20


@pytest.mark.parametrize(
    ("model", "error", "points"),
    [
        (lambda: river_okl.KRLSRegressor(kernels.RBF(0.1)), -50.0, 60),
        (lambda: river_okl.QKLMSRegressor(kernels.RBF(0.1), learning_rate=0.8), -25.0, 900),
        (lambda: river_okl.QKLMSRegressor(kernels.RBF(0.1), learning_rate=0.8, epsilon=1.0), -20.0, 40),
    ],
)
def test_a_smooth_series_needs_few_points(model, error, points):
    """Lorenz, standardised: the published -40 dB of kernel recursive least squares are in the unit of the series."""
    X, y = filters.lagged(filters.lorenz(2_000) / 7.9, 6)
    model, errors = model(), []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(x))
        errors.append(model.predict_one(x) - target)
        model.learn_one(x, target)
    assert filters.decibel(np.array(errors[1_000:])) < error
    assert model.n_support_vectors < points
