"""The schema of a file: its columns, and how to read rows, from the file or from elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from river_okl._core.store.sample import is_gap, is_number, shown
from river_okl.series import is_date
from river_okl.tables.cells import KINDS, NUMBERS, STRINGS, Cells
from river_okl.tables.columns import BINARY, MULTICLASS, REGRESSION

CSV, LIBSVM = "csv", "libsvm"


@dataclasses.dataclass(frozen=True)
class Schema:
    """The columns and the target of a file."""

    format: str  # "csv" or "libsvm"; the features of libsvm are numbers and are not listed
    columns: dict[str, str]  # the kind of each feature, one of KINDS
    target: str  # the name of its column
    task: str  # binary or multi-class classification, or regression
    labels: tuple[Any, ...] = ()  # those in the file, in order; the second of two is the positive one
    numeric: bool = True  # whether the target is a number
    ignored: tuple[str, ...] = ()  # columns that are not features
    na: tuple[str, ...] = ()  # strings that mean a missing value, besides the usual ones
    decimal: str = "."  # the decimal mark
    header: bool = True  # False: the columns are 1, 2, ...

    def __post_init__(self) -> None:
        right = (
            self.format in (CSV, LIBSVM)
            and self.task in (BINARY, MULTICLASS, REGRESSION)
            and self.decimal in (".", ",")
            and type(self.numeric) is bool is type(self.header)
            and type(self.target) is str
            and type(self.columns) is dict
            and all(type(name) is str and kind in KINDS for name, kind in self.columns.items())
            and _is_tuple_of(self.ignored, str)
            and _is_tuple_of(self.na, str)
            and _is_tuple_of(self.labels, int, str)
            and (len({*self.labels}) == 2) == (self.task == BINARY)
        )
        if not right:
            raise ValueError("this is not the schema of a file")

    @functools.cached_property
    def cells(self) -> Cells:
        """The reader of the file's cells."""
        return Cells(self.na, self.decimal)

    @functools.cached_property
    def readers(self) -> dict[str, Callable[[str], Any]]:
        """The function that reads the cells of each feature."""
        return {name: self.cells.reader(kind) for name, kind in self.columns.items()}

    @property
    def has_dates(self) -> bool:
        """Whether a column holds dates."""
        return any(kind not in (NUMBERS, STRINGS) for kind in self.columns.values())

    def sample(self, row: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the features of a row, whose values may be texts as in the file, or numbers, strings and dates.

        Missing values, the target and ignored columns are left out; errors name the column.
        """
        if self.format == LIBSVM:
            return dict(row)
        if unknown := row.keys() - self.columns.keys() - {self.target, *self.ignored}:
            raise ValueError(
                f"{shown(min(unknown, key=str))} is no column of the file that the model was trained on; these are "
                f"{', '.join(self.columns):.300}"
            )
        found = {}
        for name, kind in self.columns.items():
            if name in row and (value := self._value(name, kind, row[name])) is not None:
                found[name] = value
        return found

    def _value(self, name: str, kind: str, value: Any) -> Any:
        """Return a value of a column, or None if it is missing."""
        if isinstance(value, str):
            try:
                return self.readers[name](value)
            except ValueError as error:
                raise ValueError(f"column {shown(name)} has {kind}: {error}") from None
        if is_gap(value) or self._is_user_gap(value):
            return None
        if kind not in (NUMBERS, STRINGS) and not is_date(value):
            raise TypeError(f"column {shown(name)} has {kind}: {shown(value)} is not a date")
        if kind == STRINGS:
            raise TypeError(f"column {shown(name)} has strings: {shown(value)} is not a string")
        if kind == NUMBERS and not is_finite(value):
            raise (ValueError if is_number(value) else TypeError)(
                f"column {shown(name)} has numbers: {shown(value)} is not a finite number"
            )
        return value

    def _is_user_gap(self, value: Any) -> bool:
        """Return whether a number means a missing value."""
        return isinstance(value, numbers.Real) and value in self.cells.gap_numbers

    def target_of(self, y: Any) -> Any:
        """Return what the model learns for a target as in the file, or None if it is missing."""
        if isinstance(y, str):
            y = self.cells.number(y) if self.numeric else self.cells.string(y)
        elif is_gap(y) or self._is_user_gap(y):
            y = None
        if self.task == REGRESSION and y is not None and not is_finite(y):
            raise ValueError(f"the target {shown(self.target)} is {shown(y)}: a regression needs finite numbers")
        if y is None or self.task == REGRESSION:
            return y
        if not self.numeric and not isinstance(y, str):
            raise ValueError(f"the target {shown(self.target)} is {shown(y)}: the labels are strings")
        if self.numeric and not isinstance(y, bool) and float(y).is_integer():
            y = int(y)
        if self.task == MULTICLASS:
            return y
        if y not in self.labels:
            raise ValueError(
                f"the target {shown(self.target)} is {shown(y)}: the labels are {self.labels[0]} and {self.labels[1]}"
            )
        return y == self.labels[1]

    def label_of(self, y: Any) -> Any:
        """Return the label in the file for a label of the model."""
        return self.labels[y] if self.task == BINARY and isinstance(y, bool) else y


def is_finite(value: Any) -> bool:
    """Return whether a value is a number that a double can hold."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer
        return False


def _is_tuple_of(value: Any, *types: type) -> bool:
    return type(value) is tuple and all(type(item) in types for item in value)
