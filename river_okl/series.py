"""Transformers for time series: dates as numbers and categories, and lags of targets that may arrive late."""

from __future__ import annotations

import calendar
import contextvars
import copy
import datetime
import hashlib
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base

from river_okl._core.lock import Lock
from river_okl._core.store.sample import canonical, is_gap, number, shown
from river_okl.checks import check_flag, check_target, check_whole
from river_okl.frames import frame_of, targets_of

__all__ = ["Dates", "Lags"]

Features = dict[Hashable, Any]

EPOCH = datetime.date(1970, 1, 1).toordinal()
DAY = datetime.timedelta(days=1)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII)

PLAIN = (str, int, float, bool)
NO_DATES = {*PLAIN, type(None), np.float64, np.float32, np.int64}  # the usual types of other values
NEVER_DATES = NO_DATES - {str}
DATE_TYPES = (datetime.date, np.datetime64)
WHOLE = 64  # characters of a string that is kept as it is: names and codes are shorter, and a SHA-256 has as many
LONGEST = 10_000  # largest lag
asking = contextvars.ContextVar("asking", default=False)  # whether samples are hypothetical, and not to be remembered
MAX_GROUPS = 10_000  # with a history; the one without a new target for the longest time is forgotten first


class _Transformer(base.Estimator):
    """Base of both transformers: the rows of a mini-batch are transformed in turn."""

    def transform_one(self, x: Features) -> Features:
        raise NotImplementedError

    def transform_many(self, X: Any) -> Any:
        """Transform the rows of a dataframe, each as by ``transform_one``."""
        frame = frame_of(X)
        rows = [self.transform_one(x) for x in self._rows(frame)]
        names = list(dict.fromkeys(name for x in rows for name in x)) if rows else frame.columns
        columns: dict[Any, list[Any]] = {name: [x.get(name) for x in rows] for name in names}
        if not frame.implementation.is_pandas_like():
            return nw.from_dict(columns, backend=frame.implementation).to_native()
        native = frame.to_native()
        return type(native)(columns, index=native.index, columns=names)

    def _rows(self, frame: nw.DataFrame[Any]) -> Iterable[Features]:
        rows: Iterable[Any] = frame.iter_rows(named=True)
        return rows


# Dates ------------------------------------------------------------------------------------------------------------


def parsed(text: str) -> datetime.date | None:
    """Return the date in an ISO string such as 2024-02-29, 2024-02-29 12:30 or 2024-02-29T12:30:00Z, or None."""
    found = ISO.fullmatch(text.strip()) if "-" in text else None
    if not found:
        return None
    try:
        return (datetime.datetime if found[1] else datetime.date).fromisoformat(found[0])
    except ValueError:  # 2023-02-29
        return None


def is_date(value: Any) -> bool:
    """Return whether ``Dates`` encodes a value; a missing date (NaT) is also a date."""
    return isinstance(value, DATE_TYPES) or type(value).__name__ == "NaTType"


class Dates(_Transformer, base.MiniBatchTransformer):
    """Dates in samples become numbers and categories; all other features stay as they are.

    A feature `t` that holds a date is replaced by

    * `t_days`, the days since 1970, for trends;
    * `t_month`, `t_day`, `t_weekday` (Monday is 0) and `t_hour` (with fractions);
    * `t_year_sin`, `t_year_cos`, and likewise for `week` and `day`: the position in the year, the week and the day as
      an angle, so that 23:59 is next to 0:00;
    * `t_hour_of_day` and `t_day_of_week`, categories such as `"14"` and `"Friday"`.

    A date without a time has no hour and no position in the day.

    Parameters
    ----------
    categories
        Whether to add the categories. `OKLClassifier` and `OKLRegressor` accept them; other models need numbers.
    strings
        Whether to encode strings in ISO format (`2024-02-29`, `2024-02-29T12:30+01:00`), too; other strings stay.

    Notes
    -----
    - Dates are `datetime.datetime`, `datetime.date`, NumPy's `datetime64` and pandas' `Timestamp`.
    - Hours and days are local, in the time zone of the value. `t_days` is in UTC, so it never jumps. Values
      without a time zone are taken as they are.
    - Missing dates (NaT) are left out.
    - Nothing is learned: the features of a sample do not depend on earlier samples.

    Examples
    --------
    >>> import datetime
    >>> from river_okl import Dates

    >>> x = {"t": datetime.datetime(2024, 2, 29, 18, 30), "temperature": 7.5}
    >>> Dates().transform_one(x)["t_hour"], Dates().transform_one(x)["t_day_of_week"]
    (18.5, 'Thursday')
    >>> list(Dates().transform_one({"t": datetime.date(2024, 2, 29)}))
    ['t_days', 't_month', 't_day', 't_weekday', 't_year_sin', 't_year_cos', 't_week_sin', 't_week_cos', 't_day_of_week']

    """

    def __init__(self, *, categories: bool = True, strings: bool = False):
        check_flag("categories", categories)
        check_flag("strings", strings)
        self.categories = categories
        self.strings = strings

    def transform_one(self, x: Features) -> Features:
        """Return x with its dates encoded."""
        found = dict(x)  # a copy, as another thread may change x
        others = NEVER_DATES if self.strings else NO_DATES
        if others.issuperset(map(type, found.values())):
            return found
        names = [name for name, value in found.items() if type(value) not in others and self._is_date(value)]
        dates = {name: found.pop(name) for name in names}
        for name, value in dates.items():
            if not is_gap(value):
                _add(found, _parts(name, parsed(value) if isinstance(value, str) else value, self.categories))
        return found

    def _rows(self, frame: nw.DataFrame[Any]) -> Iterable[Features]:
        rows = list(frame.iter_rows(named=True))
        columns, mixed = frame.schema, (nw.Object, nw.String)
        dates = {name for name, dtype in columns.items() if dtype in (nw.Datetime, nw.Date)}
        dates |= {
            name for name, dtype in columns.items() if dtype in mixed and any(self._is_date(x[name]) for x in rows)
        }
        for x in rows:
            yield {name: value for name, value in x.items() if name not in dates or not is_gap(value)}

    def _is_date(self, value: Any) -> bool:
        return is_date(value) or (self.strings and isinstance(value, str) and parsed(value) is not None)


def _add(found: Features, items: Iterable[tuple[Hashable, Any]]) -> None:
    for name, value in items:
        if name in found:
            raise ValueError(f"feature {shown(name)} is given, and it is the name of a new one: rename it")
        found[name] = value


def _parts(name: Hashable, value: Any, categories: bool) -> Iterable[tuple[str, Any]]:
    """Yield the features of a date."""
    if isinstance(value, np.datetime64):
        plain = value.astype("datetime64[D]" if np.datetime_data(value.dtype)[0] in "YMWD" else "datetime64[us]").item()
        if not isinstance(plain, datetime.date):
            raise ValueError(f"feature {shown(name)} is {shown(value)}, beyond the years 1 to 9999: leave it out")
        value = plain
    date, fraction, offset = value, 0.0, None  # the fraction of the day that has passed
    if isinstance(value, datetime.datetime):
        date, offset = value.date(), value.utcoffset()
        fraction = (value.hour + (value.minute + (value.second + value.microsecond * 1e-6) / 60.0) / 60.0) / 24.0
    weekday = date.weekday()
    days = date.toordinal() - EPOCH + fraction - (offset / DAY if offset else 0.0)
    year = (date.timetuple().tm_yday - 1 + fraction) / (366 if calendar.isleap(date.year) else 365)
    yield from ((f"{name}_days", days), (f"{name}_month", date.month), (f"{name}_day", date.day))
    yield f"{name}_weekday", weekday
    angles = {"year": year, "week": (weekday + fraction) / 7.0}
    if isinstance(value, datetime.datetime):
        yield f"{name}_hour", 24.0 * fraction
        angles["day"] = fraction
    for period, position in angles.items():
        yield f"{name}_{period}_sin", math.sin(2.0 * math.pi * position)
        yield f"{name}_{period}_cos", math.cos(2.0 * math.pi * position)
    if categories:
        if isinstance(value, datetime.datetime):
            yield f"{name}_hour_of_day", str(value.hour)
        yield f"{name}_day_of_week", WEEKDAYS[weekday]


# Lags -------------------------------------------------------------------------------------------------------------


class Lags(_Transformer, base.SupervisedTransformer, base.MiniBatchTransformer):
    """The last known targets, and the last values of features, as features; labels may come late.

    `y_lag1` is the target learned last, `y_lag2` the one before it; `y_diff2` is `y_lag1 - y_lag2`. For a
    feature `a`, `a_lag1` is its value in the previous sample, and `a_diff1` its change since then.

    A sample keeps its lags from its first prediction until it is learned, so they contain only what was known
    when the prediction was made. A model therefore learns from the features that it has when it predicts,
    even if targets arrive a day late.

    Parameters
    ----------
    lags
        The lags, as a sequence of integers or as several integers; 1 is the last known value. If targets
        arrive 24 samples late, lag 1 is the target of 24 samples ago, and in hourly samples lag 145 is the
        target of a week ago.
    of
        Features that get lags, too: a list or tuple of names. None: only the target.
    by
        The feature that identifies a series, such as a sensor, or a list or tuple of features: each value, or
        combination of values, has its own history. None: all samples are one series.
    differences
        Whether to add differences.
    pending
        Maximum number of samples without a target that are remembered; the oldest are forgotten first. If the
        target of a forgotten sample arrives after all, it is learned with the lags known then. With `of`, its
        features are then added to the history again.

    Notes
    -----
    - Samples are identified by their features, so a feature must distinguish them, such as the time. Put
      `Lags` before transformers that remove this feature. A sample equal to one that still waits for its
      target is taken to be that sample.
    - With `of`, a sample is added to the history when it is first transformed. Use a copy of the model to
      predict hypothetical samples.
    - Lags that do not exist yet are left out (in a dataframe they are missing values), and so are differences
      of strings. Targets may be labels.
    - A string of more than 64 characters, in a feature or as a label, has as its lag its first 30 characters
      and a digest, so that long texts are not kept.
    - Lags count samples, not hours: missing samples shift them.
    - All rows of a mini-batch are transformed before the first target is learned. If a frame spans more time
      than the delay of the targets, its lags are older than necessary.
    - A merged transformer takes each group's history from the model that has learned most of its targets.
      Shard series by group, not at random.
    - At most 10,000 groups are kept; the one without a new target for the longest time is forgotten first.
      With `of`, the first prediction in a group counts as a target.

    Examples
    --------
    >>> from river_okl import Lags

    >>> lags = Lags((1, 2))
    >>> for day, y in enumerate([10.0, 12.0, 15.0]):
    ...     print(lags.transform_one({"day": day}))
    ...     lags.learn_one({"day": day}, y)
    {'day': 0}
    {'day': 1, 'y_lag1': 10.0}
    {'day': 2, 'y_lag1': 12.0, 'y_lag2': 10.0, 'y_diff2': 2.0}

    Here the target of day 3 comes after the prediction for day 4:

    >>> before = lags.transform_one({"day": 3}), lags.transform_one({"day": 4})
    >>> lags.learn_one({"day": 3}, 19.0)
    >>> lags.transform_one({"day": 4}) == before[1]  # 15.0 is still the last known target
    True
    >>> lags.transform_one({"day": 5})["y_lag1"]
    19.0

    """

    def __init__(
        self,
        lags: Sequence[int] | int = (1, 2, 3),
        *args: int,
        of: Sequence[Hashable] | None = None,
        by: Hashable | Sequence[Hashable] | None = None,
        differences: bool = True,
        pending: int = 10_000,
    ):
        lags = (lags, *args) if args or isinstance(lags, int) else lags  # type: ignore[arg-type]
        if not isinstance(lags, tuple | list | range) or not lags:
            raise TypeError(f"lags is {shown(lags)}; it must be integers, such as (1, 2, 3)")
        lags = tuple(lags)
        for lag in lags:
            check_whole("a lag", lag)
            if lag > LONGEST:
                raise ValueError(f"a lag is {shown(lag)}; it must be at most {LONGEST:,}")
        if len({*lags}) < len(lags):
            raise ValueError(f"lags is {shown(lags)}; each lag must be there once")
        of = tuple(of) if isinstance(of, list) else of
        if of is not None and (not isinstance(of, tuple) or not of):
            raise TypeError(f"of is {shown(of)}; it must be a tuple or list of feature names, such as ('a',)")
        if of and len({"y", *map(str, of)}) <= len(of):
            raise ValueError(f"of is {shown(of)}; each feature must be there once, and 'y' is the target")
        by = tuple(by) if isinstance(by, list) else by
        for what, names in ("of", of), ("by", by):
            try:
                hash(names)
            except TypeError:
                raise TypeError(f"{what} is {shown(names)}; it must consist of names of features") from None
        check_flag("differences", differences)
        check_whole("pending", pending)
        self.lags = lags
        self.of = of
        self.by = by
        self.differences = differences
        self.pending = pending
        self._series = ("y", *(of or ()))
        self._groups: dict[tuple[Any, ...], list[Any]] = {}  # number of targets, and last values of each series
        self._issued: dict[int, tuple[tuple[Any, ...], ...]] = {}  # lags of samples without a target, by identity
        self._lock = Lock()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"lags": (2, 1), "of": (0, "a"), "by": "b", "pending": 5}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: copy.deepcopy(value) for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    def transform_one(self, x: Features) -> Features:
        """Return x with the lags that were known when it was first transformed."""
        x = dict(x)  # a copy, as another thread or a value's own code may change x
        key = identity(x)
        with self._lock:
            lags = self._lags_of(key, x)
        found = dict(x)
        _add(found, self._named(x, lags))
        return found

    def learn_one(self, x: Features, y: Any) -> None:  # type: ignore[override]
        """Add the target of x to the history; x was transformed before, if anything was predicted from it."""
        x = dict(x)
        y, key = _target(y), identity(x)
        group = self._group(x)
        with self._lock:
            if self._issued.pop(key, None) is None:
                self._see(x)
            history = self._histories(group)
            self._groups[group] = self._groups.pop(group)  # moved to the end, as the latest
            history[0] += 1
            self._append(history[1], y)

    def learn_many(self, X: Any, y: Any) -> None:  # type: ignore[override]
        """Learn the rows of a dataframe one after another, as by ``learn_one``."""
        rows, targets = list(self._rows(frame_of(X))), [_target(target) for target in targets_of(y)]
        if len(targets) != len(rows):
            raise ValueError(f"{len(targets)} targets for {len(rows)} rows")
        for x in rows:
            self._values(x)  # raises before any row is learned
        for x, target in zip(rows, targets, strict=True):
            self.learn_one(x, target)

    def _group(self, x: Features) -> tuple[Any, ...]:
        """Return the values of ``by``, None for a gap; of gaps alone an empty tuple."""
        names: Sequence[Hashable] = () if self.by is None else (self.by,)
        if isinstance(self.by, tuple) and self.by not in x:  # a name may be a tuple, too
            names = self.by
        values = [value.item() if isinstance(value, np.generic) else value for value in map(x.get, names)]
        if all(map(is_gap, values)):
            return ()
        return tuple(None if is_gap(value) else value if type(value) in PLAIN else str(value) for value in values)

    def _lags_of(self, key: int, x: Features) -> tuple[tuple[Any, ...], ...]:
        """Return the lags of every series for a sample; those of a new sample are fixed now."""
        if key in self._issued:
            return self._issued[key]
        found = self._see(x)
        if asking.get():
            return found
        if len(self._issued) >= self.pending:
            del self._issued[next(iter(self._issued))]
        self._issued[key] = found
        return found

    def _see(self, x: Features) -> tuple[tuple[Any, ...], ...]:
        """Return the lags of every series for a new sample, and add its features to the histories."""
        values, group = self._values(x), self._group(x)
        # without features to add, predictions create no group
        adds = bool(values) and not asking.get()
        new: list[Any] = [0, *([] for _ in self._series)]
        histories = (self._histories(group) if adds else self._groups.get(group, new))[1:]
        found = tuple(tuple(h[-lag] if lag <= len(h) else None for lag in self.lags) for h in histories)
        for history, value in zip(histories[1:], values if adds else [], strict=adds):
            self._append(history, value)
        return found

    def _values(self, x: Features) -> list[Any]:
        """Return the values of the features with lags; raise if one is neither a number nor a string."""
        return [shortened(plain(name, x.get(name))) for name in self._series[1:]]

    def _histories(self, group: tuple[Any, ...]) -> list[Any]:
        """Return a group's number of learned targets and its histories, empty if the group is new or forgotten."""
        if group not in self._groups:
            if len(self._groups) >= MAX_GROUPS:
                del self._groups[next(iter(self._groups))]
            self._groups[group] = [0, *([] for _ in self._series)]
        return self._groups[group]

    def _append(self, history: list[Any], value: Any) -> None:
        history.append(value)
        if len(history) > max(self.lags):
            del history[0]

    def _named(self, x: Features, series: tuple[tuple[Any, ...], ...]) -> Iterable[tuple[str, Any]]:
        """Yield the lag features of every series: of the target, then of the features."""
        for name, values in zip(self._series, series, strict=True):
            known = dict(zip(self.lags, values, strict=True))
            yield from ((f"{name}_lag{lag}", value) for lag, value in known.items() if value is not None)
            if self.differences:
                newest = known.pop(min(known)) if name == "y" else plain(name, x.get(name))
                for lag, value in known.items():
                    if type(newest) is type(value) is float:
                        yield f"{name}_diff{lag}", newest - value


def _target(y: Any) -> Any:
    if isinstance(y, str | bool | np.bool_):
        return shortened(str(y)) if isinstance(y, str) else bool(y)
    try:
        return check_target(y)
    except TypeError:
        raise TypeError(f"the target is {shown(y)}; lags are made of numbers, strings and bools") from None


def plain(name: Hashable, value: Any) -> Any:
    """Convert a value to a built-in type that a checkpoint can hold, None if it is missing; errors name the feature."""
    if isinstance(value, str):
        return str(value)
    if is_gap(value):
        return None
    return value if type(value) is bool else number(name, value)


def shortened(value: Any) -> Any:
    """Return a value as histories keep it: of a long string its beginning and a digest, which identify it."""
    if not isinstance(value, str) or len(value) <= WHOLE:
        return value
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{value[:30]}...{digest}"  # of 65 characters, so it equals no string that is kept whole


def identity(x: Features) -> int:
    """Return a number that identifies a sample by its features, in any order, in this and other processes."""
    items = sorted([f"{canonical(name)!r}:{_digest(value)}" for name, value in x.items()])
    digest = hashlib.blake2b("\n".join(items).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def _digest(value: Any) -> str:
    """Return a string that is equal for equal values, even of different types, and for no others."""
    if is_gap(value):
        return "None"
    if is_date(value):
        return _instant(value)
    plain_value = canonical(value)
    return repr(plain_value) if isinstance(plain_value, (*PLAIN, tuple)) else str(value)


def _instant(value: Any) -> str:
    """Return a date as text, equal for NumPy, pandas and Python; a date without a time is its midnight."""
    nanoseconds = getattr(value, "nanosecond", 0)
    if isinstance(value, np.datetime64):
        whole = value.astype("datetime64[us]")
        nanoseconds = round((value - whole) / np.timedelta64(1, "ns"))
        value = whole.item()
        if not isinstance(value, datetime.date):  # beyond the years 1 to 9999
            return str(value)
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.UTC)
        except OverflowError:  # in the years 1 and 9999
            return str(value)
    text = f"{value:%Y-%m-%d %H:%M:%S}{'' if value.tzinfo is None else 'Z'}"
    fraction = 1000 * value.microsecond + nanoseconds
    return f"{text}.{fraction:09}" if fraction else text
