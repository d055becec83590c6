"""ALMA₂ with kernels against a reference implementation and river's linear class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river import linear_model

from river_okl import ALMAClassifier, kernels
from tests import reference, streams


class Twin(reference.Twin):
    """Gentile 2001 for p = 2."""

    def __init__(self, kernel, alpha, B, C):
        super().__init__(kernel)
        self.a, self.B, self.C = alpha, B, C
        self.k = 1

    def learn(self, x, y):
        self.t += 1
        length = math.sqrt(self.kernel(x, x))
        if length > 0 and y * self.f(x) / length <= (1 - self.a) * self.B / math.sqrt(self.k):
            self.add(x, self.C / math.sqrt(self.k) * y / length, y)
            self.project_on_ball(1.0)
            self.k += 1


@pytest.mark.parametrize("stream", ["dense", "sparse", "emerging", "unit"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (kernels.RBF(0.5), reference.rbf(0.5)),
        (kernels.Polynomial(2), reference.polynomial(2)),
        (kernels.Linear(), reference.linear()),
    ],
)
@pytest.mark.parametrize("options", [{}, {"alpha": 0.5, "B": 2.0, "C": 0.7}])
def test_it_matches_the_reference(stream, ours, theirs, options):
    model = ALMAClassifier(ours, **options)
    alpha = options.get("alpha", 0.9)
    twin = Twin(theirs, alpha, options.get("B", 1.0 / alpha), options.get("C", math.sqrt(2.0)))
    for x, y in streams.KINDS[stream]("classification", n=120):
        assert model.decision_function_one(x) == pytest.approx(twin.decision(x), rel=1e-9, abs=1e-9)
        model.learn_one(x, y)
        twin.learn(x, y)
        assert model.norm <= 1.0 + 1e-9
        assert model.n_support_vectors == len(twin.support)


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
