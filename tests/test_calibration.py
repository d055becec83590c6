"""Probabilities: a sigmoid whose slope is fitted to the stream."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from river import metrics
from river.optim.losses import Log

from river_okl import OGDClassifier
from river_okl._core.calibration import Calibration, sigmoid
from tests.streams import CLASSIFICATION, dense


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_the_true_slope_is_found(size):
    """Labels drawn with P(+1 | s) = σ(1.7 s / size): the mean of the fitted factor is within 10 % of 1.7 / size."""
    rng, fit, factors = random.Random(1), Calibration(), []
    for t in range(20_000):
        s = size * rng.gauss(0, 2)
        y = 1.0 if rng.random() < sigmoid(1.7 * s / size) else -1.0
        fit.update(y * s)
        if t >= 1000:
            factors.append(fit.factor() * size)
    assert np.mean(factors) == pytest.approx(1.7, rel=0.1)


def test_shrinking_scores_are_followed():
    rng, fit, loss = random.Random(2), Calibration(), metrics.LogLoss()
    for t in range(1, 5001):
        s = rng.gauss(0, 1) * 1e4 / t
        y = rng.random() < sigmoid(2.0 * s * t / 1e4)
        if t > 500:
            p = sigmoid(fit.factor() * s)
            loss.update(y, {False: 1.0 - p, True: p})
        fit.update(s if y else -s)
    assert loss.get() < 0.56  # the true probabilities have 0.50, a coin 0.69


def test_the_log_loss_uses_its_own_sigmoid():
    model, stream = OGDClassifier(loss=Log()), dense(CLASSIFICATION)
    model.learn_stream(stream)
    x, _ = stream[-1]
    assert model.predict_proba_one(x)[1.0] == pytest.approx(sigmoid(model.decision_function_one(x)))


def test_extreme_margins_stay_in_range():
    fit = Calibration()
    for margin in (0.0, 0.0, 1e50, -1e50, 1e-300, -1.0, 5.0):
        fit.update(margin)
        assert 0.0 < fit.factor() < math.inf
    assert pickle.loads(pickle.dumps(fit)).factor() == fit.factor()
    assert [sigmoid(z) for z in (-1e308, -800.0, 0.0, 800.0)] == [0.0, 0.0, 0.5, 1.0]
