"""The queue between questions and late labels."""

from __future__ import annotations

import copy
import datetime
import decimal
import math
import pickle
import random
import time

import numpy as np
import pytest

from river_okl import LateLabels, checkpoint

DAY = datetime.timedelta(days=1)
START = datetime.date(2026, 1, 1)


def test_without_an_age_samples_are_due_as_their_labels_come():
    queue = LateLabels()
    for key in "abc":
        queue.ask(key, {"x": key})
    assert [*queue.due()] == [] and len(queue) == 3
    queue.label("c", 1), queue.label("a", 2)
    assert [*queue.due()] == [("c", {"x": "c"}, 1), ("a", {"x": "a"}, 2)] and len(queue) == 1
    queue.label("b", None)
    assert [*queue.due(), *queue.due()] == [("b", {"x": "b"}, None)]


@pytest.mark.parametrize("numbers", [True, False])
def test_cohorts_are_learned_in_the_order_of_the_questions(numbers):
    """As by brute force: at every time all pairs of that age, and late ones at once."""

    def at(day):
        return day if numbers else START + day * DAY

    rng, queue, waiting = random.Random(1), LateLabels(7 if numbers else 7 * DAY), []
    for day in range(300):
        for i in range(rng.randrange(3)):
            queue.ask((day, i), {"t": day}, at(day))
            waiting.append([day, (day, i), day + rng.choice([1, 3, 7, 20, 1000])])
        for each in waiting:
            if each[2] == day:
                queue.label(each[1], each[1])
        due = [each for each in waiting if each[2] <= day and each[0] + 7 <= day]
        assert [*queue.due(at(day))] == [(each[1], {"t": each[0]}, each[1]) for each in due]
        waiting = [each for each in waiting if each not in due]
        assert len(queue) == sum(each[2] > day for each in waiting)
    assert len(queue) > 20, "those whose labels never come hold nothing up"


def test_the_number_of_samples_is_bounded():
    queue = LateLabels(most=3)
    for key in range(5):
        queue.ask(key, {})
    assert len(queue) == 3
    queue.label(4, 0)
    for key in (1, 4):
        with pytest.raises(KeyError, match=f"no sample with the key {key} waits"):
            queue.label(key, 0)
    queue = LateLabels(age=10, most=3)
    for key in range(5):
        queue.ask(key, {}, key)
        queue.label(key, 0)
    assert [key for key, *_ in queue.due(100)] == [2, 3, 4]


def test_a_full_queue_is_as_fast():
    queue, times = LateLabels(), []
    for i in range(300_000):
        if i % 100_000 == 0:
            times.append(time.process_time())
        queue.ask(i, None)
    assert time.process_time() - times[1] < 10 * (times[1] - times[0])


def test_a_key_waits_once():
    queue = LateLabels()
    queue.ask("a", {"x": 1})
    with pytest.raises(ValueError, match="keys must be unique"):
        queue.ask("a", {"x": 2})
    queue.label("a", 0)
    queue.ask("a", {"x": 2})
    assert [*queue.due()] == [("a", {"x": 1}, 0)] and len(queue) == 1


@pytest.mark.parametrize("age", [0, -1.0, 0 * DAY, -DAY, math.nan, "60 days", True, [1]])
def test_an_age_is_a_positive_number_or_timedelta(age):
    number = type(age) in (int, float, datetime.timedelta)
    with pytest.raises(ValueError if number else TypeError, match="age is"):
        LateLabels(age)


@pytest.mark.parametrize(("age", "time"), [(DAY, 3), (3, START), (DAY, None), (2.0, "now")])
def test_times_match_the_age(age, time):
    queue = LateLabels(age)
    with pytest.raises(TypeError, match="times must be"):
        queue.ask("a", {}, time)
    assert len(queue) == 0


UTC = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NAIVE = UTC.replace(tzinfo=None)
DAYS, SECONDS = np.datetime64(START), np.datetime64(NAIVE, "s")


@pytest.mark.parametrize(
    ("age", "asked", "time"),
    [
        *((DAY, [START], NAIVE), (DAY, [NAIVE], START), (DAY, [NAIVE], UTC), (DAY, [UTC], NAIVE)),
        *((DAY, [START], DAY), (DAY, [START], SECONDS), (2, [1.5], decimal.Decimal(2))),
        *((DAY, [DAYS, START], SECONDS), (DAY, [START, DAYS], SECONDS)),  # DAYS can be compared with both others
    ],
    ids=str,
)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda queue: pickle.loads(pickle.dumps(queue))])
def test_a_time_of_another_kind_is_rejected_at_once(age, asked, time, copied):
    """``due`` would raise for ever, or after samples that it has removed."""
    queue = LateLabels(age)
    for i, each in enumerate(asked):
        queue.ask(i, {}, each), queue.label(i, True)
    queue = copied(queue)
    before = pickle.dumps(queue)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"time is .*all of one kind"):
            queue.ask("a", {}, time)
        with pytest.raises(TypeError, match=r"time is .*all of one kind"):
            next(queue.due(time))
    assert pickle.dumps(queue) == before
    assert len([*queue.due(asked[-1] + 9 * age)]) == len(asked)
    with pytest.raises(TypeError, match="all of one kind"):
        queue.ask("a", {}, time)  # nor after all others have been learned


def test_times_of_several_kinds_that_can_be_compared():
    pandas = pytest.importorskip("pandas")
    for times in (
        *([START, DAYS], [SECONDS, DAYS], [NAIVE, SECONDS, pandas.Timestamp(NAIVE)], [UTC, pandas.Timestamp(UTC)]),
        *([1, 1.5, np.int64(2), np.float32(2.5)], [1, decimal.Decimal(2)]),
    ):
        queue = LateLabels(2 if 1 in times else DAY)
        for i, each in enumerate(times):
            queue.ask(i, {}, each), queue.label(i, True)
        for each in times:
            assert [*queue.due(each)] == []
        later = 9 if 1 in times else np.timedelta64(9, "D") if times[0] is SECONDS else 9 * DAY
        assert [key for key, *_ in queue.due(times[0] + later)] == [*range(len(times))]
    queue = LateLabels()
    for i, each in enumerate((START, NAIVE, UTC, 1.0, None)):  # without an age, times do not matter
        queue.ask(i, {}, each), queue.label(i, True)
    assert len([*queue.due(START)]) == 5


@pytest.mark.parametrize("time", [math.nan, math.inf])
def test_what_is_no_time_is_rejected(time):
    """It would never be due, nor would any sample after it."""
    queue = LateLabels(2.0)
    with pytest.raises(ValueError, match="time is"):
        queue.ask("a", {}, time)
    assert len(queue) == 0
    queue.ask("a", {}, 0.0), queue.label("a", True)
    with pytest.raises(ValueError, match="time is nan"):
        [*queue.due(math.nan)]
    assert [*queue.due(2.0)] == [("a", {}, True)]


def test_a_key_is_hashable():
    with pytest.raises(TypeError, match="key is"):
        LateLabels().ask(["a"], {})


def test_a_queue_with_an_age_is_saved():
    queue = LateLabels(age=datetime.timedelta(days=3))
    for day in (1, 2, 5):
        queue.ask(day, {"a": float(day)}, datetime.date(2026, 1, day))
        queue.label(day, day > 1)
    resumed = checkpoint.loads(checkpoint.dumps({"queue": queue}))["queue"]
    today = datetime.date(2026, 1, 5)
    assert [*resumed.due(today)] == [*queue.due(today)] and len([*queue.due(datetime.date(2026, 1, 9))]) == 1
