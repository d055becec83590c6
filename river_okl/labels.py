"""The labels of a classifier: the positive one, the position of each, and which values are invalid."""

from __future__ import annotations

import contextlib
import decimal
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from river_okl._core.function.protocol import set_labels
from river_okl._core.store.sample import plain, shown
from river_okl.checks import kind_of

MAX_LABELS = 10_000  # each label costs a column of coefficients, and time per sample
REGRESSOR = "OKLRegressor"  # recommended by errors about numeric targets


class Labels:
    """The labels seen so far, and the position of each: 0 for the negative, 1 for the positive one, then 2, 3, ...

    The positive label is True, 1 or +1 if it is among the first two, otherwise the second to arrive.
    The constructor takes labels in the order of their positions, as in ``names`` of another object.

    Examples
    --------
    >>> labels = Labels()
    >>> for y in (True, False, "other"):
    ...     labels.check([y], "classifier", multiclass=True)
    ...     labels.add(y)
    >>> labels.names, labels.positions[True]
    ([False, True, 'other'], 1)

    """

    def __init__(self, names: Iterable[Any] = ()) -> None:
        self.names: list[Any] = []
        self.positions: dict[Any, int] = {}
        for y in names:
            self.add(y)

    def __reduce__(self) -> tuple[type[Labels], tuple[list[Any]]]:
        return Labels, ([plain(y) for y in self.names],)

    def state(self) -> dict[str, Any]:
        return {"names": self.names}

    def restore(self, state: dict[str, Any]) -> None:
        names = state["names"]
        self.check(names, "a checkpoint", multiclass=True)
        for y in names:
            self.add(y)
        if type(names) is not list or self.names != names:
            raise ValueError(f"labels in another order: {names!r:.100}")

    def __len__(self) -> int:
        return len(self.names)

    @property
    def positive(self) -> Any:
        """The label at position 1, or None."""
        return next((y for y in self.names[:2] if self.positions[y] == 1), None)

    def add(self, y: Any, f: Any = None) -> None:
        """Add a label accepted by ``check``, unless it is known; from the third on, also add a class to f, if given."""
        if y not in self.positions:
            set_labels(self, *self.with_label(y), f)

    def with_label(self, y: Any) -> tuple[list[Any], dict[Any, int]]:
        """Return ``names`` and ``positions`` with one more label."""
        n = len(self.names)
        if n == 0:
            position = int(isinstance(y, numbers.Real | np.bool_) and y == 1)
        elif n == 1:
            position = 1 - self.positions[self.names[0]]
        else:
            position = n
        names = [*self.names]
        names.insert(position, y)
        return names, {**self.positions, y: position}

    def check(self, labels: Iterable[Any], model: str, *, multiclass: bool) -> None:
        """Raise if a label is invalid, or if there are more labels than a model of this name can learn."""
        new: dict[Any, None] = {}
        with contextlib.suppress(TypeError):  # unhashable: ``check_label`` names the label
            labels = dict.fromkeys(labels)
        for y in labels:
            check_label(y, model)
            if y in self.positions or y in new:
                continue
            n = len(self) + len(new)
            if n >= 2 and not multiclass:
                first, second = [*self.names, *new][:2]
                raise ValueError(
                    f"{shown(y)} is a third label after {shown(first)} and {shown(second)}, and this {model} is "
                    f"binary: wrap it in river.multiclass.OneVsRestClassifier"
                )
            if n >= MAX_LABELS:
                raise ValueError(
                    f"{shown(y)} is a new label after {MAX_LABELS:,} others, {model}'s limit: use a regressor for "
                    f"quantities; identifiers are not learnable targets"
                )
            new[y] = None


def check_label(y: Any, model: str) -> None:
    """Raise unless y is one hashable value, not missing (NaN, NA, NaT, None) and, if a number, integer-valued."""
    try:
        hash(y)
    except TypeError:
        raise TypeError(f"the label is {shown(y)}, {kind_of(y)}; it must be one hashable value") from None
    if _is_missing(y):
        raise ValueError(f"the label is {shown(y)}; drop the samples that have none")
    if _has_fraction(y):
        raise ValueError(
            f"the label is {shown(y)}, a number with a fraction, and {model} predicts classes: for a quantity use a "
            f"regressor ({REGRESSOR}); if the numbers are names of classes, make them strings"
        )


def _is_missing(y: Any) -> bool:
    if isinstance(y, tuple | frozenset):
        return any(map(_is_missing, y))
    try:
        return y is None or bool(y != y)
    except TypeError:  # pandas' NA has no truth value
        return True


def _has_fraction(y: Any) -> bool:
    """Return whether a label is a real number but not integer-valued: 1.0 is a label, 0.5 and infinity are not."""
    if isinstance(y, numbers.Rational):  # also integers and bools
        return bool(y.denominator != 1)
    if isinstance(y, decimal.Decimal):
        return not y.is_finite() or y != y.to_integral_value()
    return isinstance(y, numbers.Real) and not float(y).is_integer()
