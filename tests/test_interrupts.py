"""An exception at any moment (a signal, a user's __hash__) leaves a valid model, or an incomplete one, which says so.

Exceptions are injected before each call of a step, through ``sys.setprofile``, and by real signals at random moments.
Afterwards the model is consistent, predicts, can be saved and learns; steps of OKL and SOGP, which are one call of the
core, are either done or not done, to the bit.
"""

from __future__ import annotations

import math
import pickle
import random
import signal
import sys

import pytest
from river import base

import river_okl
from river_okl.checkpoint import dumps
from tests import streams
from tests.discovery import EVERY_VARIANT, learn, small, snapshot, task
from tests.test_hostile import expansions, scores

ATOMIC = {name for name in river_okl.__all__ if name.startswith(("OKL", "SOGP"))}
WARM = 40

each_variant = pytest.mark.parametrize(
    ("cls", "options"), [pytest.param(cls, options, id=name) for cls, options, name in EVERY_VARIANT]
)


class Interrupt(BaseException):
    pass


def stream_of(cls, options, n=WARM + 24):
    """Features appear and disappear; multi-class classifiers get three labels, and a fourth one late."""
    stream = streams.emerging(task(cls), n)
    if issubclass(cls, base.Classifier) and getattr(small(cls, **options), "_multiclass", False):
        return [(x, t % 3 if t != WARM + 2 else 3) for t, (x, _) in enumerate(stream)]
    return stream


def interrupted(step, at):
    """``step`` with an exception before its call number ``at``; False if it makes fewer calls."""
    left = at

    def count(frame, event, what):
        nonlocal left
        if event in ("call", "c_call") and what is not sys.setprofile:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise Interrupt

    try:
        sys.setprofile(count)
        step()
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def check(model, stream):
    """It is consistent, predicts, can be saved, and learns."""
    for f in expansions(model):
        f._check()
    model._check_state()
    for x, _ in stream[:3]:
        assert all(map(math.isfinite, scores(model, x)))
    dumps(model)
    for x, y in stream:
        model.learn_one(x, y)
        assert all(map(math.isfinite, scores(model, x)))
    for f in expansions(model):
        f._check()


@each_variant
def test_an_exception_before_any_call_of_a_step(cls, options):
    stream = stream_of(cls, options)
    model = learn(small(cls, **options), stream[:WARM])
    for t in (WARM, WARM + 2):  # with a label that is new
        start = pickle.dumps(model)
        before = snapshot(model)
        x, y = stream[t]
        model.learn_one(x, y)
        after = snapshot(model)
        at = 1
        while True:
            tried = pickle.loads(start)
            if not interrupted(lambda tried=tried, x=x, y=y: tried.learn_one(x, y), at):
                break
            if cls.__name__ in ATOMIC:
                assert snapshot(tried) in (before, after), f"call {at}"
            check(tried, stream[t + 1 : t + 4])
            at += 1 + at // 12
        assert at > 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
@each_variant
def test_signals_at_random_moments(cls, options):
    rng = random.Random(7)
    stream = stream_of(cls, options)
    start = pickle.dumps(learn(small(cls, **options), stream[:WARM]))

    armed = False

    def alarm(*_):
        if armed:
            raise Interrupt

    old = signal.signal(signal.SIGALRM, alarm)
    try:
        for _ in range(40):
            model, t, states = pickle.loads(start), WARM, []
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 6e-4))
                for x, y in stream[WARM : WARM + 20]:
                    model.learn_one(x, y)
                    t += 1
                armed = False
            except Interrupt:
                armed = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if cls.__name__ in ATOMIC:
                alone = pickle.loads(start)
                learn(alone, stream[WARM:t])
                states.append(snapshot(alone))
                alone.learn_one(*stream[t])
                states.append(snapshot(alone))
                assert snapshot(model) in states
            check(model, stream[WARM + 20 : WARM + 23])
    finally:
        signal.signal(signal.SIGALRM, old)


class Moody:
    """A feature name whose __hash__ and __eq__ raise after a countdown."""

    left = math.inf

    def __init__(self, name):
        self.name = name

    @staticmethod
    def count():
        Moody.left -= 1
        if Moody.left == 0:
            raise Interrupt

    def __hash__(self):
        Moody.count()
        return hash(self.name) % 5  # so that __eq__ is called, too

    def __eq__(self, other):
        Moody.count()
        return type(other) is Moody and self.name == other.name

    def __reduce__(self):
        return Moody, (self.name,)

    def __repr__(self):
        return f"Moody({self.name!r})"


@pytest.mark.parametrize("name", sorted(ATOMIC))
def test_a_name_that_raises_leaves_the_model_before_or_after_or_incomplete(name):
    cls = getattr(river_okl, name)
    names = [Moody(i) for i in range(60)]
    stream = [
        ({names[0]: x["x0"], names[1 + t % 50]: x["x1"], names[2 + t % 50]: x["x2"]}, y)
        for t, (x, y) in enumerate(streams.dense(task(cls), 50))
    ]
    model = learn(small(cls), stream[:40])
    start = pickle.dumps((model, stream))
    before = snapshot(model)
    after = snapshot(learn(model, stream[40:41]))
    at, fired = 1, True
    while fired:
        model, again = pickle.loads(start)
        try:
            Moody.left = at
            learn(model, again[40:41])
            fired = False
        except Interrupt:
            pass
        finally:
            Moody.left = math.inf
        at += 1 + at // 10
        if model._f.lock.incomplete:
            continue
        assert snapshot(model) in (before, after), at
        learn(model, again[41:44])
        model._f._check()
        assert math.isfinite(getattr(model._f, "norm2", 0.0))
    assert at > 5
