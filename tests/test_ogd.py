"""NORMA, besides the comparison with its reference implementation."""

from __future__ import annotations

import pytest
from river import optim

from river_okl import OGDClassifier, OGDRegressor, kernels

RBF = kernels.RBF(gamma=0.5)


def test_f_decays_at_every_sample():
    model = OGDRegressor(RBF, learning_rate=0.5, l2=0.1)
    model.learn_one({"x": 0.0}, 1.0)  # α = -0.5 · 2 (0 - 1)
    assert model.predict_one({"x": 0.0}) == pytest.approx(1.0)
    model.learn_one({"x": 1.0}, 5.0, w=0.0)  # no loss, and no support vector
    assert model.n_support_vectors == 1
    assert model.predict_one({"x": 0.0}) == pytest.approx(0.95)


def test_a_decay_of_more_than_one_is_rejected():
    with pytest.raises(ValueError, match="l2"):
        OGDClassifier(learning_rate=2.0, l2=0.5)
    model = OGDClassifier(RBF, learning_rate=optim.schedulers.Constant(300.0), l2=0.01)  # which sets f to 0
    for y in (True, False, True):
        model.learn_one({"x": 0.0}, y)
        assert abs(model.decision_function_one({"x": 0.0})) == pytest.approx(300.0)
