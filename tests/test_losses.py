"""Derivatives of losses as used by the algorithms: numerically away from kinks, by hand at kinks."""

from __future__ import annotations

import copy
import math
import pickle
import random

import pandas as pd
import pytest
from river.optim.losses import Absolute, CrossEntropy, Hinge, Huber, Log, Poisson, Quantile, RegressionLoss, Squared

import river_okl
from river_okl import checkpoint, losses
from tests import reference
from tests.discovery import CLASSES, parameters, small

BINARY = [Hinge(), Hinge(threshold=0.5), Log(), Log(weight_pos=2.0, weight_neg=0.5)]
REGRESSION = [Squared(), Absolute(), Huber(0.3), losses.EpsilonInsensitive(0.2), Quantile(0.8)]


def slope(loss, y, p, h=1e-6):
    return (loss(y, p + h) - loss(y, p - h)) / (2 * h)


@pytest.mark.parametrize("loss", BINARY, ids=repr)
@pytest.mark.parametrize("p", [-3.0, -0.7, 0.2, 0.9, 4.0])
def test_binary_derivatives(loss, p):
    for y in (-1.0, 1.0):
        # river's losses take y in {0, 1}; its Log partly expects probabilities, so the log loss is computed by hand
        if isinstance(loss, Log):
            weight = loss.weight_pos if y > 0 else loss.weight_neg
            expected = -weight * y / (1.0 + math.exp(y * p))
        else:
            expected = slope(loss, y > 0, p)
        assert losses.derivative(loss)(y, p) == pytest.approx(expected, rel=1e-6, abs=1e-9)


LINKED = [cls for name, cls in CLASSES.items() if name.endswith("Regressor") and "loss" in parameters(cls)]


@pytest.mark.parametrize("cls", LINKED)
def test_regressors_predict_the_mean_of_a_loss_for_counts(cls):
    """As River's LinearRegression."""
    rng, options = random.Random(1), {"learning_rate": 0.01} if "learning_rate" in parameters(cls) else {}
    model, plain = small(cls, loss=Poisson(), **options), small(cls, loss=LogOfPoisson(), **options)
    assert model.predict_one({"x": 0.0}) == 1.0
    xs = [{"x": rng.gauss(0, 1)} for _ in range(300)]
    for x in xs:
        y = float(rng.choice([0, 1, 1, 2]))
        model.learn_one(x, y), plain.learn_one(x, y)
    mean = lambda f: min(math.exp(min(f, 700.0)), 1e50)  # noqa: E731
    expected = [mean(plain.predict_one(x)) for x in xs]
    assert len(LINKED) == 10 and [model.predict_one(x) for x in xs] == expected
    assert model.predict_many(pd.DataFrame(xs)).tolist() == expected
    for other in (pickle.loads(pickle.dumps(model)), checkpoint.loads(checkpoint.dumps(model)), copy.deepcopy(model)):
        assert [other.predict_one(x) for x in xs] == expected
    merged, plain = (river_okl.merge([each, each]) for each in (model, plain))
    assert merged.predict_one(xs[0]) == mean(plain.predict_one(xs[0]))


class LogOfPoisson(Poisson):
    """The same derivatives, without a mean."""

    mean_func = RegressionLoss.mean_func


@pytest.mark.parametrize("loss", REGRESSION, ids=repr)
@pytest.mark.parametrize("residual", [-5.0, -0.25, -0.1, 0.1, 0.25, 5.0])
def test_regression_derivatives(loss, residual):
    y = 0.75
    p = y + residual
    # river's value of a quantile's loss belongs to 1 - alpha
    value = reference.Quantile(loss.alpha) if isinstance(loss, Quantile) else loss
    assert losses.derivative(loss)(y, p) == pytest.approx(slope(value, y, p), rel=1e-6, abs=1e-9)


def test_the_kinks():
    hinge, absolute = losses.derivative(Hinge()), losses.derivative(Absolute())
    assert hinge(1.0, 1.0) == hinge(-1.0, -1.0) == 0.0
    assert hinge(1.0, math.nextafter(1.0, 0.0)) == -1.0
    assert absolute(2.0, 2.0) == 0.0
    tube = losses.EpsilonInsensitive(0.5)
    assert tube.gradient(1.0, 1.5) == tube.gradient(1.0, 0.5) == 0.0
    assert losses.derivative(tube)(1.0, 1.5) == 0.0
    assert tube.gradient(1.0, 1.6) == 1.0
    assert tube.gradient(1.0, 0.4) == -1.0
    assert losses.EpsilonInsensitive(0.0).gradient(1.0, 1.0) == 0.0


def test_extremes_stay_finite():
    log = losses.derivative(Log())
    for p in (-1e300, -800.0, 800.0, 1e300):
        for y in (-1.0, 1.0):
            assert abs(log(y, p)) <= 1.0
    assert log(1.0, -800.0) == -1.0
    assert abs(losses.derivative(Squared())(0.0, 1e300)) == 1e12
    assert losses.derivative(Poisson())(3.0, 1e4) == 1e12, "exp overflows"


@pytest.mark.parametrize("eps", [-0.1, math.nan, math.inf, "0.1", None], ids=repr)
def test_tubes_that_are_rejected(eps):
    with pytest.raises((ValueError, TypeError), match="eps"):
        losses.EpsilonInsensitive(eps)


class Cubic(Squared):
    """A user's own loss."""

    def gradient(self, y_true, y_pred):
        r = y_pred - y_true
        return math.copysign(3.0 * r * r, r)


class Broken(Hinge):
    def gradient(self, y_true, y_pred):
        return math.nan if y_pred != 0.0 else -1.0


def test_a_custom_loss_works():
    model = river_okl.OLKRegressor(loss=Cubic(), learning_rate=0.5)
    model.learn_one({"a": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0}) == pytest.approx(0.5 * 12.0)
    assert isinstance(model.clone().loss, Cubic)


def test_a_nan_loss_leaves_the_model_unchanged():
    model = river_okl.OLKClassifier(loss=Broken())
    model.learn_one({"a": 1.0}, True)
    before, support = model._t, model.support_vectors
    with pytest.raises(ValueError, match="Broken"):
        model.learn_one({"a": 1.0}, True)
    assert (model._t, model.support_vectors) == (before, support)


def test_a_loss_of_many_classes_is_rejected():
    with pytest.raises(TypeError, match="loss"):
        losses.derivative(CrossEntropy())
