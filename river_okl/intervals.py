"""Prediction intervals of regressors in pipelines of River."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from river import compose


def predict_interval_one(
    model: Any, x: dict[Hashable, Any], coverage: float = 0.9, *, key: Hashable = None
) -> tuple[float, float]:
    """Return the interval of a regressor behind transformers, or behind a transformation of its target.

    River's pipelines and its `TargetStandardScaler` have no such method.

    Parameters
    ----------
    model
        A regressor with intervals, or a `compose.Pipeline` or `compose.TargetTransformRegressor` that ends with one.
    x
        A dict of features.
    coverage
        The probability that the target lies within the interval, strictly between 0 and 1.
    key
        Identifies the sample when its target comes late, as in the regressor's `predict_interval_one`.

    Examples
    --------
    >>> import datetime
    >>> from river import preprocessing
    >>> from river_okl import Dates, OKLRegressor, predict_interval_one

    >>> model = Dates() | preprocessing.TargetStandardScaler(OKLRegressor())
    >>> day = datetime.date(2026, 1, 1)
    >>> for _ in range(150):
    ...     model.learn_one({"t": day}, 20.0 + day.weekday() + day.day % 2)
    ...     day += datetime.timedelta(days=1)
    >>> low, high = predict_interval_one(model, {"t": day})
    >>> round(low, 1), round(high, 1), 20.0 + day.weekday() + day.day % 2
    (26.9, 27.4, 27.0)

    """
    if isinstance(model, compose.Pipeline):
        return predict_interval_one([*model.steps.values()][-1], model.transform_one(x), coverage, key=key)
    if isinstance(model, compose.TargetTransformRegressor):
        low, high = predict_interval_one(model.regressor, x, coverage, key=key)
        try:
            first, middle, last = (model.inverse_func(end) for end in (low, 0.5 * low + 0.5 * high, high))
        except ZeroDivisionError:
            return -math.inf, math.inf
        if not min(first, last) <= middle <= max(first, last):  # there is a pole in between, as of 1 / y at 0
            return -math.inf, math.inf
        return min(first, last), max(first, last)
    if not hasattr(model, "predict_interval_one"):
        raise TypeError(f"{type(model).__name__} has no intervals; OKLRegressor and SOGPRegressor have")
    interval: tuple[float, float] = model.predict_interval_one(x, coverage, **({} if key is None else {"key": key}))
    return interval
