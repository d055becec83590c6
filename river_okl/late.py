"""A queue between questions and late labels, by key and by time."""

from __future__ import annotations

import datetime
import heapq
from collections.abc import Hashable, Iterator
from typing import Any

from river_okl._core.store.sample import shown
from river_okl.checks import check_key, check_whole

__all__ = ["LateLabels"]


class LateLabels:
    """Samples that wait for their labels, and labels that wait until they may be learned.

    `ask` keeps a sample under its key, `label` adds the label when it comes, and `due` gives the samples with labels
    that are to be learned now.

    By default a sample is due as soon as its label is there. With an `age` every sample is held until it is so old, and
    then learned in the order of the questions, in *cohorts*. That is for labels that come back in a biased order:
    invoices that are paid in time return after two weeks, the others after two months. At any moment all that is known
    of recent ones is good.

    Parameters
    ----------
    age
        Age at which a sample is learned: a `datetime.timedelta` if times are dates, or a number if they are numbers.
        None: when its label comes.
    most
        Maximum number of samples that wait; the oldest are dropped first.

    Notes
    -----
    - Questions are asked in the order of time.
    - A label that comes after the age is due at once; one that never comes holds nothing up.
    - A queue can be pickled and copied, with all that waits. It is for one thread at a time.

    See Also
    --------
    OKLClassifier : Scores its experts on the predictions that they made when the sample was new.
    OKLRegressor : The same for regression and its intervals.
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
        zero = datetime.timedelta(0) if isinstance(age, datetime.timedelta) else 0
        if age is not None:
            valid = isinstance(age, datetime.timedelta | int | float) and not isinstance(age, bool)
            if not valid:
                raise TypeError(f"age is {shown(age)}; it must be a timedelta, a number or None")
            if not age > zero:  # type: ignore[operator]
                raise ValueError(f"age is {shown(age)}; it must be positive, or None: learn labels as they come")
        self.age = age
        self.most = most
        self._asked = self._answered = 0  # so far
        self._waiting: dict[Hashable, tuple[int, Any, Any]] = {}  # number of the question, sample, time
        # a heap: number of the question or the label, key, sample, label, time
        self._labelled: list[tuple[int, Hashable, Any, Any, Any]] = []

    def __len__(self) -> int:
        """Samples whose labels have not come."""
        return len(self._waiting)

    def ask(self, key: Hashable, x: Any, time: Any = None) -> None:
        """Keep a sample, which is predicted now, until its label comes."""
        check_key(key)
        if key in self._waiting:
            raise ValueError(f"key {shown(key)} waits for its label already: keys must be unique")
        if self.age is not None:
            self._since(time, time)
        self._asked += 1
        self._waiting[key] = self._asked, x, time
        if len(self._waiting) > self.most:
            del self._waiting[next(iter(self._waiting))]

    def label(self, key: Hashable, y: Any) -> None:
        """The label of a sample has come."""
        if key not in self._waiting:
            raise KeyError(
                f"no sample with the key {shown(key)} waits: it was not asked, has its label, or was dropped as the "
                f"oldest of more than {self.most}"
            )
        number, x, time = self._waiting.pop(key)
        self._answered += 1
        heapq.heappush(self._labelled, (self._answered if self.age is None else number, key, x, y, time))

    def due(self, time: Any = None) -> Iterator[tuple[Any, Any, Any]]:
        """Key, sample and label of those that are to be learned now, which are removed."""
        while self._labelled and (self.age is None or self._since(self._labelled[0][4], time) >= self.age):
            _, key, x, y, _ = heapq.heappop(self._labelled)
            yield key, x, y

    def _since(self, then: Any, now: Any) -> Any:
        try:
            age = now - then
            age >= self.age  # noqa: B015  (whether they can be compared)
        except TypeError:
            raise TypeError(
                f"time is {shown(now)}, and age {shown(self.age)}: times must be dates if the age is a timedelta, "
                "and otherwise numbers"
            ) from None
        if age != age:  # otherwise the sample would never be due, nor any after it
            raise ValueError(f"time is {shown(now)}; it must be a point in time")
        return age
