"""Gradient-descent regressors with River's quantile loss predict conditional quantiles."""

from __future__ import annotations

import random

import numpy as np
import pytest
from river import optim, preprocessing
from river.datasets import synth

import river_okl


def friedman(n):
    """Noise whose standard deviation grows with the first feature."""
    rng = random.Random(1)
    for x, y in synth.Friedman(seed=1).take(n):
        yield x, y + rng.gauss(0, 4) * x[0]


def scaled(regressor):
    return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(regressor)


MODELS = {
    "OGD": lambda loss: river_okl.OGDRegressor(loss=loss, l2=0.0),
    "FOGD": lambda loss: river_okl.FOGDRegressor(loss=loss, learning_rate=1.0, seed=1),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.95])
def test_a_fraction_alpha_of_the_targets_is_below(name, alpha):
    model, below = scaled(MODELS[name](optim.losses.Quantile(alpha))), []
    for x, y in friedman(4000):
        below.append(y <= model.predict_one(x))
        model.learn_one(x, y)
    assert np.mean(below[1000:]) == pytest.approx(alpha, abs=0.015)


def test_quantile_intervals_follow_the_noise():
    low, high = (scaled(MODELS["OGD"](optim.losses.Quantile(alpha))) for alpha in (0.05, 0.95))
    quiet, noisy = [], []
    for t, (x, y) in enumerate(friedman(3000)):
        if t > 1000:
            (noisy if x[0] > 0.5 else quiet).append(high.predict_one(x) - low.predict_one(x))
        low.learn_one(x, y)
        high.learn_one(x, y)
    assert np.mean(noisy) > 1.3 * np.mean(quiet) > 0
