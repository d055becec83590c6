"""The schema of a file: what its columns are, and how to read its rows, in the file or from elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from river_okl._core.store.sample import is_gap, shown
from river_okl.series import is_date
from river_okl.tables.cells import KINDS, NUMBERS, STRINGS, Cells
from river_okl.tables.columns import BINARY, MULTICLASS, REGRESSION

CSV, LIBSVM = "csv", "libsvm"


@dataclasses.dataclass(frozen=True)
class Schema:
    """The columns and the target of a file.

    Parameters
    ----------
    format
        "csv" or "libsvm"; the features of libsvm are numbers, and not listed.
    columns
        The kind of each feature: numbers, strings, dates, or dates with the day or the month first.
    target
        The name of the target.
    task
        Binary or multi-class classification, or regression.
    labels
        The labels in the file, in order; of two, the second one is positive.
    numeric
        Whether the target is a number.
    ignored
        Columns that are not features.
    na
        Texts that stand for gaps, besides the usual ones.
    decimal
        The decimal mark.
    header
        Whether the file has a header; if not, its columns are 1, 2, ...

    """

    format: str
    columns: dict[str, str]
    target: str
    task: str
    labels: tuple[Any, ...] = ()
    numeric: bool = True
    ignored: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    decimal: str = "."
    header: bool = True

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
        """How its cells are written."""
        return Cells(self.na, self.decimal)

    @functools.cached_property
    def readers(self) -> dict[str, Callable[[str], Any]]:
        """What reads the cells of each feature."""
        return {name: self.cells.reader(kind) for name, kind in self.columns.items()}

    @property
    def has_dates(self) -> bool:
        """Whether a column holds dates."""
        return any(kind not in (NUMBERS, STRINGS) for kind in self.columns.values())

    def sample(self, row: Mapping[Any, Any]) -> dict[Any, Any]:
        """The features of a row, whose values may be texts as in the file, or numbers, strings and dates.

        Gaps, the target and ignored columns are left out; errors name the column.
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
        """A value of a column; None for a gap."""
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
        return value

    def _is_user_gap(self, value: Any) -> bool:
        """Whether a number stands for a gap."""
        return isinstance(value, numbers.Real) and value in self.cells.gap_numbers

    def target_of(self, y: Any) -> Any:
        """What the model learns for a target as in the file; None if it is missing."""
        if isinstance(y, str):
            y = self.cells.number(y) if self.numeric else self.cells.string(y)
        elif is_gap(y) or self._is_user_gap(y):
            y = None
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
        """The label in the file for one of the model's."""
        return self.labels[y] if self.task == BINARY and isinstance(y, bool) else y


def _is_tuple_of(value: Any, *types: type) -> bool:
    return type(value) is tuple and all(type(item) in types for item in value)
