"""The labels of a classifier: which is the positive one, the numbers that algorithms see instead, what is no label."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def with_label(
    labels: list[Any], targets: dict[Any, float], y: Any, *, multiclass: bool, model: str
) -> tuple[list[Any], dict[Any, float]]:
    """Labels (negative, positive, ...) and the targets of those seen, with y among them."""
    if y is None or (isinstance(y, float) and math.isnan(y)):
        raise ValueError(f"the label is {y!r}; drop the samples that have none")
    try:
        hash(y)
    except TypeError:
        raise TypeError(f"the label is {y!r}, a {type(y).__name__}; it must be one hashable value") from None
    if len(targets) >= 2:
        if not multiclass:
            raise ValueError(
                f"{y!r} is a third label after {labels[0]!r} and {labels[1]!r}, and this {model} "
                f"tells two apart: wrap it in river.multiclass.OneVsRestClassifier"
            )
        labels = [*labels, y]
        return labels, {label: float(number) for number, label in enumerate(labels)}
    if targets:
        ((other, sign),) = targets.items()
        sign = -sign
    else:  # the other label is a guess, until the stream shows it
        sign = 1.0 if is_number(y) and y == 1 else -1.0
        other = type(y)(0 if y == 1 else 1) if is_number(y) and y in (-1, 0, 1) else y
    return ([y, other] if sign < 0 else [other, y]), {**targets, y: sign}


def is_number(y: Any) -> bool:
    return isinstance(y, numbers.Real | np.bool_)
