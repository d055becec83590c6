"""The ε-insensitive loss, which River lacks, and derivatives of losses."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from typing import Any

from river import optim
from river.optim.losses import BinaryLoss, RegressionLoss

__all__ = ["EpsilonInsensitive", "derivative"]

NO_LOSS = 1e-9  # losses up to this are ignored: after an unclipped step y f(x) is 1, and the rest is rounding
STEEPEST = 1e12  # bound on derivatives, like river's ``clip_gradient``: a diverging model stays finite


class EpsilonInsensitive(RegressionLoss):
    """The ε-insensitive loss max(0, |p - y| - ε) of support vector regression.

    (River's ``EpsilonInsensitiveHinge`` maps y to 2y - 1 first, which is wrong for regression.)

    Parameters
    ----------
    eps
        The half-width ε ≥ 0 of the tube within which errors have no loss.

    Examples
    --------
    >>> from river_okl import losses
    >>> loss = losses.EpsilonInsensitive(eps=0.1)
    >>> loss(5, 5), loss(5, 7)
    (0.0, 1.9)
    >>> loss.gradient(5, 7), loss.gradient(5, 5.05)
    (1.0, 0.0)

    """

    def __init__(self, eps: float = 0.1):
        if isinstance(eps, bool) or not isinstance(eps, numbers.Real):
            raise TypeError(f"eps is {eps!r}; it must be a number")
        if not 0 <= eps < math.inf:
            raise ValueError(f"eps is {eps!r}; it must be finite and not negative")
        self.eps: float = eps

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        return max(abs(y_pred - y_true) - self.eps, 0.0)

    def gradient(self, y_true: Any, y_pred: Any) -> Any:
        if abs(y_pred - y_true) <= self.eps:
            return 0.0
        return 1.0 if y_pred > y_true else -1.0


Derivative = Callable[[float, float], float]
"""(y, p) -> the derivative of the loss at prediction p; y is -1 or +1 in classification."""


def derivative(loss: optim.losses.Loss) -> Derivative:
    """Return the derivative of a loss, computed here for common losses and by the loss's own ``gradient`` for others.

    It differs from river's ``gradient`` at two kinks, where the papers do not update: it is 0 for the hinge loss at
    y p = 1 (river: -y) and for the absolute loss at p = y (river: -1).
    """
    if type(loss) is optim.losses.Hinge:
        return _hinge if loss.threshold == 1.0 else functools.partial(_hinge_below, loss.threshold)
    if type(loss) is optim.losses.Squared:
        return _squared
    if type(loss) is optim.losses.Absolute:
        return _absolute
    if type(loss) is optim.losses.Log and loss.weight_pos == loss.weight_neg == 1.0:
        return _log
    if isinstance(loss, BinaryLoss):
        return functools.partial(_of_binary, loss)
    if isinstance(loss, RegressionLoss):
        return functools.partial(_of_regression, loss)
    raise TypeError(
        f"loss is {loss!r}; it must be a binary or regression loss of river.optim.losses, or a subclass of one"
    )


def _hinge(y: float, p: float) -> float:
    return -y if y * p < 1.0 else 0.0


def _hinge_below(threshold: float, y: float, p: float) -> float:
    return -y if y * p < threshold else 0.0


def _squared(y: float, p: float) -> float:
    return min(max(2.0 * (p - y), -STEEPEST), STEEPEST)


def _absolute(y: float, p: float) -> float:
    return 0.0 if p == y else 1.0 if p > y else -1.0


def _log(y: float, p: float) -> float:
    z = y * p
    return -y / (1.0 + math.exp(z)) if z < 700.0 else 0.0


def _of_binary(loss: BinaryLoss, y: float, p: float) -> float:
    return _bounded(loss, y > 0.0, p)  # it expects y as 0 or 1


def _of_regression(loss: RegressionLoss, y: float, p: float) -> float:
    return _bounded(loss, y, p)


def _bounded(loss: optim.losses.Loss, y: float, p: float) -> float:
    try:
        value = float(loss.gradient(y, p))
    except OverflowError:  # of an exponential: the loss is convex, so that the derivative has the sign of p
        value = math.copysign(STEEPEST, p)
    if math.isnan(value):
        raise ValueError(f"{type(loss).__name__}.gradient is NaN at the prediction {p!r}")
    return min(max(value, -STEEPEST), STEEPEST)
