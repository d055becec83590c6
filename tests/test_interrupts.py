"""An exception at any moment (a signal, a user's __hash__) leaves a valid model, or an incomplete one, which says so.

Exceptions are injected before each call and each line of a step, through ``sys.setprofile`` and ``sys.settrace``,
except where no signal can raise: right before the lock is released.  Real signals come at random moments.  Afterwards
the model is consistent, predicts, can be saved and learns; steps of OKL and SOGP, which are one call of the core, are
either done or not done, to the bit.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import math
import pickle
import random
import re
import signal
import sys
from unittest import mock

import pytest

import river_okl
from river_okl import kernels
from river_okl.algorithms import bpa
from river_okl.checkpoint import dumps, loads
from tests import streams
from tests.core.expansions import Moody
from tests.discovery import CLASSES, each_variant, learn, small, snapshot, target, task
from tests.test_hostile import check as check_bounds
from tests.test_hostile import scores

ATOMIC = {name for name in river_okl.__all__ if name.startswith(("OKL", "SOGP"))}
WARM = 40


class Interrupt(BaseException):
    pass


def stream_of(cls, options, n=WARM + 24):
    """Features appear and disappear; multi-class classifiers get three labels, and a fourth one late."""
    stream = streams.emerging(task(cls), n)
    if getattr(small(cls, **options), "_multiclass", False):
        return [(x, t % 3 if t != WARM + 2 else 3) for t, (x, _) in enumerate(stream)]
    return stream


def before_call(at):
    """Raise before call number ``at``, of Python or of C."""
    left = at

    def count(frame, event, what):
        nonlocal left
        if event in ("call", "c_call") and getattr(what, "__name__", "") not in ("setprofile", "release", "__exit__"):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise Interrupt

    sys.setprofile(count)


@functools.cache
def is_silent(path, number):
    """Whether no signal can raise right before this line: where a lock is released, or nothing is executed."""
    line = linecache.getline(path, number).strip()
    return line in ("try:", "lock.release()") or re.match(r"with .*lock:", line) is not None


def before_line(at):
    """Raise before line number ``at`` of our Python code."""
    left, package = at, river_okl.__path__[0]

    def trace_lines(frame, event, _):
        nonlocal left
        if event == "line" and not is_silent(frame.f_code.co_filename, frame.f_lineno):
            left -= 1
            if left == 0:
                raise Interrupt
        return trace_lines

    sys.settrace(lambda frame, event, _: trace_lines if frame.f_code.co_filename.startswith(package) else None)


def interrupted(learn, moment, at, *arguments):
    """``learn`` with an exception at this moment; False if it has fewer of them."""
    tracer = sys.gettrace()
    try:
        moment(at)
        learn(*arguments)
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
        sys.settrace(tracer)
    return False


def check(model, stream):
    """It is consistent, predicts and learns."""
    check_bounds(model, True, done=False)
    model._check_state()
    for x, _ in stream:
        assert all(map(math.isfinite, scores(model, x)))
    for x, y in stream:
        model.learn_one(x, y)
        assert all(map(math.isfinite, scores(model, x)))
    check_bounds(model, True)


def is_incomplete(model):
    """Whether every call says that an error has interrupted the model in the middle of a step."""
    try:
        model.predict_one({})
    except RuntimeError as error:
        return "incomplete" in str(error)
    return False


@pytest.mark.parametrize("moment", [before_call, before_line])
@each_variant
def test_an_interrupt_anywhere_leaves_a_working_model(cls, options, moment):
    stream = stream_of(cls, options)
    if moment is before_line:
        options = {"kernel": kernels.RBF(0.5), **options}  # for which a radius is a promise
    model = learn(small(cls, **options), stream[:WARM])
    for t in (WARM, WARM + 2):  # with a label that is new
        start, before = pickle.dumps(model), snapshot(model)
        after, at = snapshot(learn(model, [stream[t]])), 1
        while True:
            tried = pickle.loads(start)
            if not interrupted(lambda tried=tried, t=t: tried.learn_one(*stream[t]), moment, at):
                break
            if cls.__name__ in ATOMIC:
                assert snapshot(tried) in (before, after), f"moment {at}"
            if not (options.get("suffix") and is_incomplete(tried)):
                dumps(tried)
                check(tried, stream[t + 1 : t + 4])
            at += 1 + at // 6
        assert at > 1


@pytest.mark.parametrize("moment", [before_call, before_line])
@pytest.mark.parametrize("name", ["OKLClassifier", "OKLRegressor"])
def test_an_interrupt_when_the_first_label_comes_late_leaves_the_model_before_or_after(name, moment):
    """From then on there are two judgements."""
    cls = getattr(river_okl, name)
    *stream, late, other = streams.emerging(task(cls), WARM + 2)
    model = learn(small(cls), stream)
    for x, _ in (late, other):
        model.predict_one(x)
    learn(model, [other])
    start, before, at = pickle.dumps(model), snapshot(model), 1
    assert not model._f.state()["then_is_known"]
    after = snapshot(learn(model, [late]))
    assert model._f.state()["then_is_known"]
    while interrupted(lambda tried: tried.learn_one(*late), moment, at, tried := pickle.loads(start)):
        assert snapshot(tried) in (before, after), f"moment {at}"
        at += 1
    assert at > 1


@each_variant
def test_signals_at_random_moments(cls, options, on_alarm):
    rng, stream = random.Random(7), stream_of(cls, options)
    start = pickle.dumps(learn(small(cls, **options), stream[:WARM]))
    armed = False

    def alarm(*_):
        if armed:
            raise Interrupt

    on_alarm(alarm)
    for _ in range(16):
        model, t = pickle.loads(start), WARM
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
            alone = learn(pickle.loads(start), stream[WARM:t])
            assert snapshot(model) in (snapshot(alone), snapshot(learn(alone, [stream[t]])))
        if not (options.get("suffix") and is_incomplete(model)):
            dumps(model)
            check(model, stream[WARM + 20 : WARM + 23])


@pytest.mark.parametrize("name", sorted({*CLASSES} | ATOMIC))
def test_a_name_that_raises_leaves_the_model_before_or_after_or_incomplete(name):
    """A user's __hash__ or __eq__ raises in the middle of a step, wherever the core or an algorithm calls it."""
    cls = getattr(river_okl, name)
    names = [Moody(i) for i in range(60)]
    stream = [
        ({names[0]: x["x0"], names[1 + t % 50]: x["x1"], names[2 + t % 50]: x["x2"]}, y)
        for t, (x, y) in enumerate(streams.dense(task(cls), 50))
    ]
    model = learn(small(cls), stream[:40])
    start, states = pickle.dumps((model, stream)), [snapshot(model)]
    states += [snapshot(learn(model, [sample])) for sample in stream[40:44]]
    at, fired = 0, True
    while fired:
        (model, again), done = pickle.loads(start), 0
        Moody.left = at
        try:
            for sample in again[40:44]:
                learn(model, [sample])
                done += 1
        except RuntimeError:
            pass
        finally:
            Moody.left = math.inf
        fired = done < 4
        at += 1 + at // (10 if name in ATOMIC else 2)
        if model._f.lock.incomplete:
            x, y = again[44]
            ask = model.predict_one if name in CLASSES else model.score_one
            learning = model.learn_one, x, *target(model, y)
            for call, *arguments in (ask, x), learning, (pickle.dumps, model), (dumps, model):
                with pytest.raises(RuntimeError, match=r"incomplete.*checkpoint"):
                    call(*arguments)
            continue
        assert name not in ATOMIC or snapshot(model) in states[done : done + 2], at
        if name in CLASSES:
            check(model, again[44:])
        else:
            learn(model, again[44:])._f._check()
    assert at > 5


@pytest.mark.parametrize("moment", [before_call, before_line])
def test_an_interrupted_selection_of_samples(moment):
    *before, (x, _), (other, _) = streams.emerging("classification", 30)
    start, at = pickle.dumps(learn(river_okl.NystroemFeatures(tolerance=0.0), before)), 1
    while interrupted(lambda model: model.learn_one(x), moment, at, model := pickle.loads(start)):
        loads(dumps(model)).transform_one(x)
        model.learn_one(other)
        assert len(model.transform_one(x)) == model.n_support_vectors
        at += 1
    assert at > 5


def test_the_nearest_points_are_unknown_after_an_interrupt(monkeypatch):
    rng, model = random.Random(0), river_okl.BPARegressor(kernels.RBF(0.5), budget=10, maintenance="nearest", eps=0.01)
    stream = [({"a": rng.choice([0, 1, 2]) + 10.0 ** rng.uniform(-7, -1)}, rng.gauss(0, 1)) for _ in range(1000)]
    for t, sample in enumerate(stream):
        with monkeypatch.context() as patched, contextlib.suppress(Interrupt):
            if t > 50 and t % 50 == 0:
                patched.setattr(bpa._Neighbours, "replaced", mock.Mock(side_effect=Interrupt))
            learn(model, [sample])
    assert model.norm < 100
