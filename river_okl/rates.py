"""Learning rates: what a number and what one of river's schedulers mean as a step."""

from __future__ import annotations

import math

from river import optim


def rate(
    learning_rate: float | optim.base.Scheduler,
    t: int,
    *,
    power: float = 0.0,
    horizon: int | None = None,
) -> float:
    """The step for sample number t (from 1).

    A number η gives η t^-power, or η T^-power where the horizon T is known. A scheduler gives the step itself; river's
    count from 0.
    """
    # float first: asking for an abstract class costs as much as the rest of an update
    if not isinstance(learning_rate, float) and isinstance(learning_rate, optim.base.Scheduler):
        return float(learning_rate.get(t - 1))
    return learning_rate * math.pow(horizon or t, -power) if power else learning_rate
