"""Prediction intervals behind River's transformers."""

from __future__ import annotations

import datetime
import math

import pytest
from river import compose, linear_model, preprocessing

import river_okl
from river_okl import Dates, OKLRegressor, SOGPRegressor, predict_interval_one

START = datetime.date(2026, 1, 1)


def days(n=60):
    for i in range(n):
        yield {"t": START + i * datetime.timedelta(1), "a": float(i % 5)}, 10.0 + 3.0 * (i % 7) + i % 5


def learned(model):
    for x, y in days():
        model.predict_one(x)
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("coverage", [0.5, 0.95])
@pytest.mark.parametrize("cls", [OKLRegressor, SOGPRegressor])
def test_a_pipeline_has_the_interval_of_its_regressor(cls, coverage):
    dates = Dates(categories=False)
    pipeline, alone = learned(dates | preprocessing.StandardScaler() | cls()), cls()
    scaler = preprocessing.StandardScaler()
    for x, y in days():
        x = dates.transform_one(x)
        scaler.learn_one(x)
        alone.learn_one(scaler.transform_one(x), y)
    x = {"t": START, "a": 2.0}
    expected = alone.predict_interval_one(scaler.transform_one(dates.transform_one(x)), coverage)
    assert predict_interval_one(pipeline, x, coverage) == pytest.approx(expected)
    assert predict_interval_one(alone, dates.transform_one(x), coverage) == alone.predict_interval_one(
        dates.transform_one(x), coverage
    )


def test_the_bounds_are_transformed_back():
    scaled = learned(Dates() | preprocessing.TargetStandardScaler(OKLRegressor()))
    low, high = predict_interval_one(scaled, {"t": START, "a": 2.0}, key="a key")
    assert 0.0 < low < scaled.predict_one({"t": START, "a": 2.0}) < high < 50.0
    falling = compose.TargetTransformRegressor(OKLRegressor(), lambda y: -math.log(y), lambda z: math.exp(-z))
    low, high = predict_interval_one(learned(Dates() | falling), {"t": START, "a": 2.0})
    assert 0.0 < low < high


def test_an_interval_across_a_pole_is_unbounded():
    """1 / y: the targets whose reciprocal is between -1 and 1 are not those between -1 and 1."""

    class Between(OKLRegressor):
        ends = -1.0, 3.0

        def predict_interval_one(self, x, coverage=0.9, *, key=None):
            return self.ends

    model = compose.TargetTransformRegressor(Between(), lambda y: 1.0 / y, lambda z: 1.0 / z)
    assert predict_interval_one(model, {}) == (-math.inf, math.inf)
    Between.ends = -1.0, 1.0
    assert predict_interval_one(model, {}) == (-math.inf, math.inf)
    Between.ends = 2.0, 4.0
    assert predict_interval_one(model, {}) == (0.25, 0.5)


def test_models_without_intervals_are_named():
    for model in (linear_model.LinearRegression(), Dates() | linear_model.LinearRegression()):
        with pytest.raises(TypeError, match="LinearRegression has no intervals; OKLRegressor and SOGPRegressor have"):
            predict_interval_one(model, {"a": 1.0})
    with pytest.raises(ValueError, match="coverage is 2"):
        predict_interval_one(OKLRegressor(), {"a": 1.0}, 2.0)
    assert "predict_interval_one" in river_okl.__all__
