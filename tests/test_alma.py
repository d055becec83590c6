"""ALMA₂ with kernels against river's linear class, and its bound."""

from __future__ import annotations

import math

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
