"""POMDR: the hint."""

from __future__ import annotations

import math

import pytest

from river_okl import POMDRClassifier, kernels
from tests import reference, streams

RBF, kappa = kernels.RBF(gamma=0.5), reference.rbf(0.5)


def test_the_hint_is_the_mean_over_the_last_samples():
    """Over all samples, with a loss or not, including those of weight 0; before the first sample it is 0."""
    model = POMDRClassifier(RBF, hint=4, radius=2.0, budget=30)
    samples = streams.dense("classification", n=40)
    place = {"x0": 0.1, "x1": -0.2}
    assert model.decision_function_one(place) == 0.0
    for t, (x, y) in enumerate(samples, start=1):
        model.learn_one(x, y, float(t % 5 > 0))
        last = samples[max(0, t - 4) : t]
        h = sum(v * kappa(z, place) for z, v in last) / len(last)
        step = 2.0 / math.sqrt(3.0 + model._sum_delta) * (0.1 if model._halved else 1.0)
        f = sum(c * kappa(z, place) for z, c in model.support_vectors)
        assert model.decision_function_one(place) == pytest.approx(f + step * h)


def test_explanations_include_the_hint():
    model = POMDRClassifier(RBF, budget=20)
    model.learn_stream(streams.dense("classification"))
    for x, _ in streams.dense("classification", seed=9)[:10]:
        assert sum(c for _, c in model.explain_one(x)) == pytest.approx(model.decision_function_one(x))
