"""ALMA₂ with kernels against river's linear class, and its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river import linear_model

from river_okl import ALMAClassifier, kernels
from tests import streams


def test_with_a_linear_kernel_it_equals_rivers():
    """On samples of norm 1; river's class does not normalise."""
    model, linear = ALMAClassifier(kernels.Linear()), linear_model.ALMAClassifier()
    for x, y in streams.dense("classification"):
        length = math.sqrt(sum(v * v for v in x.values()))
        x = {k: v / length for k, v in x.items()}
        model.learn_one(x, y > 0)
        linear.learn_one(x, y > 0)
    at = {"x0": 0.5, "x1": -0.3, "x2": 0.2, "x3": 0.7}
    assert model.decision_function_one(at) == pytest.approx(sum(linear.w[k] * v for k, v in at.items()))


def test_near_duplicates_stay_finite():
    model = ALMAClassifier()
    rng = np.random.default_rng(1)
    for i in range(2000):
        model.learn_one({"a": 1.0 + 1e-9 * i, "b": 2.0}, bool(rng.random() < 0.5))
        assert abs(model.decision_function_one({"a": 1.0, "b": 2.0})) <= 1.0 + 1e-9
