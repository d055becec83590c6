"""A queue of samples whose labels arrive late, by key and by time."""

from __future__ import annotations

import collections
import datetime
import heapq
from collections.abc import Hashable, Iterator
from typing import Any

from river_okl._core.store.sample import shown
from river_okl.checks import check_key, check_whole

__all__ = ["LateLabels"]


class LateLabels:
    """Samples that wait for their labels, and labels that wait until they may be learned.

    `ask` keeps a sample under its key, `label` adds the label when it arrives, and `due` yields the samples
    and labels that are to be learned now.

    By default a sample is due as soon as its label arrives. With an `age`, every sample is held until it has
    that age, and samples are learned in the order of `ask`, in *cohorts*. This is for labels whose delay
    depends on the label: the labels of invoices paid in time arrive after two weeks, the others after two
    months. Without an `age`, all labels known for recent invoices are good ones.

    Parameters
    ----------
    age
        Age at which a sample is learned: a `datetime.timedelta` if times are dates, or a number if they are
        numbers. None: when its label arrives.
    most
        Maximum number of samples that wait for their labels, and of those with labels that wait for their
        age. The oldest are dropped first.

    Notes
    -----
    - `ask` must be called in the order of time. With an age, all times must be of one kind: dates, datetimes
      without a time zone, datetimes with one, or numbers. `ask` and `due` reject times that cannot be
      compared with others.
    - A label that arrives after the age is due at once. A label that never arrives delays no other sample.
    - A queue can be pickled and copied with its contents. It is not thread-safe.

    See Also
    --------
    OKLClassifier : Scores its experts on the predictions that they made when the sample was new.
    OKLRegressor : Does the same for regression, and for its prediction intervals.
    Lags : Remembers which targets were known when a sample was predicted.

    Examples
    --------
    >>> from datetime import date, timedelta
    >>> from river_okl import LateLabels

    >>> queue = LateLabels(age=timedelta(days=30))
    >>> queue.ask("invoice 1", {"amount": 80.0}, date(2026, 1, 1))
    >>> queue.ask("invoice 2", {"amount": 20.0}, date(2026, 1, 2))
    >>> queue.label("invoice 2", False)
    >>> queue.label("invoice 1", True)
    >>> [*queue.due(date(2026, 1, 15))]
    []
    >>> for key, x, y in queue.due(date(2026, 2, 1)):
    ...     print(key, x, y)  # model.learn_one(x, y)
    invoice 1 {'amount': 80.0} True
    invoice 2 {'amount': 20.0} False

    """

    def __init__(self, age: datetime.timedelta | float | None = None, *, most: int = 100_000):
        check_whole("most", most)
        if age is not None:
            if isinstance(age, bool) or not isinstance(age, datetime.timedelta | int | float):
                raise TypeError(f"age is {shown(age)}; it must be a timedelta, a number or None")
            zero = datetime.timedelta(0) if isinstance(age, datetime.timedelta) else 0
            if not age > zero:  # type: ignore[operator]
                raise ValueError(f"age is {shown(age)}; it must be positive, or None: learn labels as they come")
        self.age = age
        self.most = most
        self._asked = self._answered = 0  # so far
        # the first time of each kind that was asked; only what can be compared with all of them is accepted
        self._kinds: dict[str, Any] = {}
        # number of the call of ``ask``, sample, time; the first item of a dict with many deleted ones is found slowly
        self._waiting: collections.OrderedDict[Hashable, tuple[int, Any, Any]] = collections.OrderedDict()
        # a heap: number of the call of ``ask`` or ``label``, key, sample, label, time
        self._labelled: list[tuple[int, Hashable, Any, Any, Any]] = []

    def __len__(self) -> int:
        """Return the number of samples whose labels have not arrived."""
        return len(self._waiting)

    def ask(self, key: Hashable, x: Any, time: Any = None) -> None:
        """Keep a sample, which is predicted now, until its label arrives."""
        check_key(key)
        if key in self._waiting:
            raise ValueError(f"key {shown(key)} waits for its label already: keys must be unique")
        if self.age is not None:
            self._since(time, time)
            self._kinds.setdefault(self._kind(time), time)
        self._asked += 1
        self._waiting[key] = self._asked, x, time
        if len(self._waiting) > self.most:
            self._waiting.popitem(last=False)

    def label(self, key: Hashable, y: Any) -> None:
        """Add the label of a waiting sample."""
        if key not in self._waiting:
            raise KeyError(
                f"no sample with the key {shown(key)} waits: it was not asked, has its label, or was dropped as the "
                f"oldest of more than {self.most}"
            )
        number, x, time = self._waiting.pop(key)
        self._answered += 1
        heapq.heappush(self._labelled, (self._answered if self.age is None else number, key, x, y, time))
        if len(self._labelled) > self.most:
            heapq.heappop(self._labelled)

    def due(self, time: Any = None) -> Iterator[tuple[Any, Any, Any]]:
        """Remove the samples that are to be learned now, and yield key, sample and label of each."""
        if self._labelled and self.age is not None:
            self._kind(time)  # raises before a sample is removed
        while self._labelled and (self.age is None or self._since(self._labelled[0][4], time) >= self.age):
            _, key, x, y, _ = heapq.heappop(self._labelled)
            yield key, x, y

    def _kind(self, time: Any) -> str:
        """Return the kind of a time; raise if it cannot be compared with every kind that was asked."""
        of, naive = type(time), getattr(time, "tzinfo", None) is None
        kind = f"{of.__module__}.{of.__qualname__} {getattr(time, 'dtype', '')} {naive}"
        if kind not in self._kinds:
            # one is not enough: a datetime64[D] can be compared with a date and a datetime64[s], but not these two
            for other in self._kinds.values():
                self._since(other, time)
        return kind

    def _since(self, then: Any, now: Any) -> Any:
        try:
            age = now - then
            age >= self.age  # noqa: B015  (whether they can be compared)
        except TypeError as error:
            raise TypeError(
                f"time is {shown(now)}, and age {shown(self.age)}: times must be dates if the age is a timedelta, "
                f"and otherwise numbers, all of one kind ({error})"
            ) from None
        if age != age:  # NaN: neither this sample nor any later one would ever be due
            raise ValueError(f"time is {shown(now)}; it must be a point in time")
        return age
