"""Models of tables: the schema of the file that a model was trained on, and the encoding of its values as numbers.

``python -m river_okl`` saves such models (cli/).
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base, preprocessing

from river_okl._core.store.sample import is_gap, is_number, number, shown
from river_okl.checks import check_flag
from river_okl.intervals import predict_interval_one
from river_okl.series import Dates, is_date, parsed

__all__ = ["Numeric", "Schema", "TableClassifier", "TableRegressor"]

BINARY, MULTICLASS, REGRESSION = "binary classification", "multi-class classification", "regression"

NUMBER, STRING = "DOUBLE", "VARCHAR"  # types of columns, as DuckDB calls them; all others are dates
TABLE, LIBSVM = "table", "libsvm"
DATE_TEXT = (  # year, month, day, hour, minute, second, fraction, zone; also an expression of DuckDB
    r"\s*([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})"
    r"(?:[T ] *([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}(?::[0-9]{2})?)?)?\s*"
)


def is_finite(value: Any) -> bool:
    """Return whether a value is a number that a double can hold."""
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer
        return False


def is_string(value: Any) -> bool:
    return isinstance(value, str)


def gaps_of(options: dict[str, Any]) -> frozenset[float]:
    """Return the numbers among the texts that stand for missing values."""
    return _numbers(tuple(options.get("nullstr", ())), options.get("decimal_separator", "."))


@functools.cache
def _numbers(texts: tuple[str, ...], decimal: str) -> frozenset[float]:
    found = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(float(text.replace(decimal, ".")))
    return frozenset(filter(math.isfinite, found))


def as_in_files(value: Any, kind: str) -> Any:
    """Return a date as DuckDB reads it from a column of this type: with a time or without, and in UTC."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime) and kind == "DATE":
        return value.date()
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        with contextlib.suppress(OverflowError):  # in the years 1 and 9999
            return value.astimezone(datetime.UTC)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime) and kind.startswith("TIMESTAMP"):
        return datetime.datetime.combine(value, datetime.time.min)
    return value


def date_of(text: str) -> datetime.date | None:
    """Return the date in a text that begins with the year, as DuckDB reads it, or None."""
    if (found := re.fullmatch(DATE_TEXT, text)) is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups("")
    time = f"T{hour:>02}:{minute}:{second or '00'}{fraction}{zone}" if hour else ""
    return parsed(f"{year}-{month:>02}-{day:>02}{time}")


DATE = is_date, "a date"


@dataclasses.dataclass(frozen=True)
class Schema:
    """The columns and the target of a file."""

    format: str  # "table" or "libsvm"; the features of libsvm are numbers and are not listed
    columns: dict[str, str]  # the type of each feature, as DuckDB calls it
    target: str  # the name of its column
    task: str  # binary or multi-class classification, or regression
    labels: tuple[Any, ...] = ()  # those in the file, in order; the second of two is the positive one
    numeric: bool = True  # whether the target is a number
    ignored: tuple[str, ...] = ()  # columns that are not features
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # of DuckDB's read_csv, for this and new files

    @property
    def has_dates(self) -> bool:
        """Whether a column holds dates."""
        return any(kind not in (NUMBER, STRING) for kind in self.columns.values())

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
            value = row.get(name)
            if isinstance(value, str) and kind != STRING:
                value = self.read(name, kind, value)
            if self.is_gap(value):
                continue
            value = as_in_files(value, kind)
            test, what = {NUMBER: (is_finite, "a finite number"), STRING: (is_string, "a string")}.get(kind, DATE)
            if not test(value):
                raise (ValueError if is_number(value) else TypeError)(
                    f"column {shown(name)} has the type {kind}: {shown(value)} is not {what}"
                )
            found[name] = value
        return found

    def is_gap(self, value: Any) -> bool:
        """Return whether a value is missing: as a gap of any sample, or by what the user has named."""
        if is_finite(value):
            return float(value) in gaps_of(self.options)
        return is_gap(value) or (isinstance(value, str) and value in self.options.get("nullstr", [""]))

    def read(self, name: str, kind: str, text: str) -> Any:
        """Return the number or the date in a text, or None if it means a missing value."""
        if self.is_gap(text):
            return None
        try:
            if kind == NUMBER:
                return float(text.replace(self.options.get("decimal_separator", "."), "."))
            if (found := date_of(text)) is not None:
                return found
            form = self.options.get("dateformat" if kind == "DATE" else "timestampformat", "")
            return datetime.datetime.strptime(text.strip(), form)
        except ValueError:
            pass
        what = "number" if kind == NUMBER else "date"
        raise ValueError(f"column {shown(name)} has the type {kind}: {shown(text)} is not a {what}")

    def target_of(self, y: Any) -> Any:
        """Return what the model learns for a target as in the file, or None if it is missing."""
        if isinstance(y, str) and self.numeric:
            whole = re.fullmatch(r"\s*[+-]?[0-9]+\s*", y) and not self.is_gap(y)
            y = int(y) if whole else self.read(self.target, NUMBER, y)
        if self.is_gap(y):
            return None
        if self.task == REGRESSION:
            if not is_finite(y):
                raise ValueError(f"the target {shown(self.target)} is {shown(y)}: a regression needs finite numbers")
            return y
        if not self.numeric and not isinstance(y, str):
            raise ValueError(f"the target {shown(self.target)} is {shown(y)}: the labels are strings")
        if self.numeric and not isinstance(y, (bool, int)) and float(y).is_integer():
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


class Numeric(base.Transformer):
    """Encodes samples as numbers, for models that need them.

    Strings are one-hot encoded (`colour="red"` becomes `colour=red: 1.0`), dates become numbers, and missing
    values are left out.

    Parameters
    ----------
    scale
        Whether to standardize numbers by the samples learned so far. Strings are not standardized, as a
        feature that is 1 or absent would become 0.

    Examples
    --------
    >>> from river_okl.files.models import Numeric

    >>> Numeric(scale=False).transform_one({"size": 2.0, "colour": "red", "weight": None})
    {'size': 2.0, 'colour=red': 1.0}

    """

    def __init__(self, *, scale: bool = True):
        check_flag("scale", scale)
        self.scale = scale
        self.scaler: Any = preprocessing.StandardScaler()
        self._dates = Dates(categories=False)

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Update the scales."""
        if self.scale:
            found = self._plain(x)[0]
            for name, value in found.items():  # all before the first one is learned
                if not is_finite(value):
                    number(name, value)  # raises an error that names the feature
            self.scaler.learn_one(found)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return x as numbers."""
        found, strings = self._plain(x)
        if self.scale:
            found = {**found, **self.scaler.transform_one(found)}
        for name in strings:
            key = f"{name}={x[name]}"
            if key in found:
                raise ValueError(f"feature {shown(name)} is {shown(x[name])}: rename the other feature {shown(key)}")
            found[key] = 1.0
        return found

    def _plain(self, x: dict[Hashable, Any]) -> tuple[dict[Hashable, Any], list[Hashable]]:
        """Return the features that are numbers, and the names of those that are strings."""
        if any(map(is_date, x.values())):
            x = self._dates.transform_one(x)
        numbers: dict[Hashable, Any] = {}
        strings: list[Hashable] = []
        for name, value in x.items():
            if isinstance(value, str):
                strings.append(name)
            elif not is_gap(value):
                numbers[name] = value
        return numbers, strings


class _TableModel(base.Wrapper[Any]):
    """Base for both tasks."""

    def __init__(self, model: Any, schema: dict[str, Any]):
        self.model = model
        self.schema = schema
        self._schema = Schema(**schema)

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    def learn_one(self, x: dict[Hashable, Any], y: Any, **kwargs: Any) -> None:
        """Update the model with a row and its target, both as in the file."""
        sample, target = self._schema.sample(x), self._schema.target_of(y)
        if target is None:
            raise ValueError(f"the target {self._schema.target!r} is missing: leave the row out")
        self.model.learn_one(sample, target, **kwargs)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the predicted label or target of a row."""
        return self._schema.label_of(self.model.predict_one(self._schema.sample(x), **kwargs))


class TableClassifier(_TableModel, base.Classifier):
    """A classifier of the rows of a file, as `python -m river_okl --save` saves it.

    Rows are dicts by column. Their values may be texts, as the `csv` module reads them, or numbers, strings
    and dates. A text that is not a number in a column of numbers, or an unknown column, raises ValueError.
    Labels are those of the file.

    Parameters
    ----------
    model
        The model that learns samples.
    schema
        The columns of the file, see `river_okl.files.models.Schema`.

    Examples
    --------
    >>> import river_okl
    >>> from river_okl.files.models import TableClassifier

    >>> schema = {
    ...     **{"format": "table", "columns": {"size": "DOUBLE", "colour": "VARCHAR"}, "target": "ripe"},
    ...     **{"task": "binary classification", "labels": ("no", "yes"), "numeric": False},
    ...     "options": {"nullstr": ["n.a."]},
    ... }
    >>> model = TableClassifier(river_okl.OKLClassifier(), schema)
    >>> for size, colour, ripe in [("5.1", "green", "no"), ("7.5", "red", "yes"), ("n.a.", "red", "yes")]:
    ...     model.learn_one({"size": size, "colour": colour}, ripe)
    >>> model.predict_one({"size": "7.0", "colour": "red"})
    'yes'
    >>> model.predict_one({"size": "large", "colour": "red"})
    Traceback (most recent call last):
        ...
    ValueError: column 'size' has the type DOUBLE: 'large' is not a number

    """

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label of the file."""
        found = self.model.predict_proba_one(self._schema.sample(x), **kwargs)
        return {self._schema.label_of(y): p for y, p in found.items()}


class TableRegressor(_TableModel, base.Regressor):
    """A regressor of the rows of a file; see `TableClassifier` for the rows and the parameters."""

    def predict_interval_one(self, x: dict[Hashable, Any], *args: Any, **kwargs: Any) -> Any:
        """Return the interval that the model predicts for a row; TypeError if the model has no intervals."""
        return predict_interval_one(self.model, self._schema.sample(x), *args, **kwargs)
