"""Threads and processes: any number of threads may use one model, and each call sees a consistent state.

Processes, forked or spawned, have separate models.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import functools
import multiprocessing
import os
import signal
import threading
import time

import pandas as pd
import pytest
from river import preprocessing

import river_okl
from river_okl import kernels
from river_okl._core.lock import Lock
from river_okl.checkpoint import dumps
from tests import streams
from tests.discovery import (
    MODELS,
    READERS,
    check_parts,
    decision,
    each_class,
    each_of,
    learn,
    small,
    snapshot,
    task,
    unchanged,
)

X = {"x0": 0.3, "x1": -0.2, "late": 1.0}
FRAME = pd.DataFrame([{"x0": 0.3, "x1": -0.2}, {"x0": -1.0, "x1": 0.5}])
ignore_warning = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_threads(n, work):
    """The results of work(0), ..., work(n - 1), each in its own thread, or the exception of one of them."""
    start = threading.Barrier(n)

    def run(i):
        start.wait()
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return [*pool.map(run, range(n))]


@each_class
@pytest.mark.parametrize("kind", ["dense", "emerging"])
def test_four_threads_predict(cls, kind, restless):
    model = small(cls)
    stream = streams.KINDS[kind](task(cls), 60)
    model.learn_stream(stream)
    expected = [decision(model, x) for x, _ in stream]

    def predict(i):
        return [decision(model, x) for _ in range(3) for x, _ in stream[i:] + stream[:i]]

    with unchanged(model):
        for i, found in enumerate(in_threads(4, predict)):
            assert found == 3 * (expected[i:] + expected[:i])


def test_four_threads_predict_with_a_model_that_releases_the_gil(restless):
    """Rows of more than 200,000 multiply-adds are computed without the GIL."""
    model = river_okl.OLKRegressor(kernel=kernels.RBF(0.5), learning_rate=0.1)
    stream = streams.dense("regression", 3000, d=100)
    model.learn_stream(stream)
    assert model.n_support_vectors * 100 > 200_000
    xs, norm = [x for x, _ in stream[:20]], model.norm
    expected = [model.predict_one(x) for x in xs]

    def work(i):
        if i == 0:
            return [model.norm for _ in range(2)]
        if i == 1:
            return [model.predict_many(pd.DataFrame(xs)).tolist() for _ in range(5)]
        return [[model.predict_one(x) for x in xs] for _ in range(5)]

    norms, many, *ones = in_threads(4, work)
    assert norms == [norm] * 2
    assert many == [expected] * 5
    assert ones == [[expected] * 5] * 2


def test_two_threads_learn_two_models(restless):
    def learned(i):
        return snapshot(learn(small(river_okl.OLRDClassifier, seed=i), streams.dense("classification", 500, seed=i)))

    assert in_threads(4, learned) == [learned(i) for i in range(4)]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@ignore_warning
def test_processes_have_separate_models(method):
    model = preprocessing.StandardScaler() | small(river_okl.OLRDClassifier)
    stream = streams.emerging("classification", 90)
    learn(model, stream[:60])
    with unchanged(model), multiprocessing.get_context(method).Pool(1) as pool:
        children = pool.starmap(learn, [(model, stream[60:]), (model, stream[60:75])])
    longer, shorter = map(snapshot, children)
    assert shorter != longer == snapshot(learn(model, stream[60:]))


def test_a_name_that_calls_its_model_raises():
    """Not a deadlock: the lock knows that this thread holds it."""
    model = river_okl.KernelPerceptronClassifier(kernels.RBF(1.0))

    class Name:
        def __hash__(self):
            with contextlib.suppress(TypeError):
                model.predict_one({"x": 1.0})
            return 7

    sample = {Name(): 1.0}
    with pytest.raises(RuntimeError, match="this thread"):
        model.learn_one(sample, True)
    model.learn_one({"x": 1.0}, True)
    assert model.n_support_vectors == 1


# Readers beside a learner ---------------------------------------------------------------------------------------------

# Arguments of public methods, by the last word of their names.
ARGUMENTS = {"one": [X], "many": [FRAME], "clone": [], "mutate": [{}]}
LEARNING = {"learn_one", "learn_many", "learn_stream"}


def said(model, name):
    """What a public method or property of a model says, as text."""
    found = getattr(model, name)
    if not isinstance(getattr(type(model), name), property):
        found = found(*ARGUMENTS[name.rpartition("_")[2]])
    return repr(found.to_dict() if hasattr(found, "to_dict") else found)


def questions(cls):
    """All that can be done with a model except learning, with results comparable with ==."""
    public = {name for name in dir(cls) if not name.startswith("_")} - LEARNING
    members = {name for name in public if callable(getattr(cls, name)) or isinstance(getattr(cls, name), property)}
    found = {name: functools.partial(said, name=name) for name in members}
    found |= {"pickle": snapshot, "copy": lambda model: snapshot(copy.deepcopy(model)), "checkpoint": dumps}
    with contextlib.suppress(TypeError):  # not all classes merge
        river_okl.merge([small(cls)])
        found["merge"] = lambda model: snapshot(river_okl.merge([model]))
    return found


@each_of({name: MODELS[name] for name in READERS[::2]})
def test_readers_see_consistent_states(cls, restless):
    """Three threads read states that existed after some sample, in order, while one thread learns."""
    stream = streams.emerging(task(cls), 40)
    if getattr(small(cls), "_multiclass", False):
        stream = [(x, t % 7 if t < 30 else y) for t, (x, y) in enumerate(stream)]
    alone, asked, between = small(cls, pending=0), questions(cls), []  # opinions that wait are part of a checkpoint
    for part in [], *([sample] for sample in stream):
        learn(alone, part)
        between.append({name: ask(alone) for name, ask in asked.items()})
    model, done = small(cls, pending=0), threading.Event()

    def work(i):
        if i == 0:
            try:
                for sample in stream:
                    learn(model, [sample])
                    time.sleep(1e-4)
            finally:
                done.set()
            return
        at = dict.fromkeys(asked, 0)
        rounds = 0
        while rounds < 2 or not done.is_set():
            rounds += 1
            for name, ask in asked.items():
                found = ask(model)
                while at[name] < len(between) and between[at[name]][name] != found:
                    at[name] += 1
                assert at[name] < len(between), f"{name}: {found!r:.300} was never so, or was so earlier"

    in_threads(4, work)
    assert snapshot(model) == snapshot(alone)


@each_class
def test_learners_take_turns(cls, restless):
    """Two threads train one model: every sample is learned, in some order."""
    model, stream = small(cls), streams.emerging(task(cls), 60)
    in_threads(2, lambda i: model.learn_stream(stream[i::2]))
    decision(model, stream[0][0])
    check_parts(model)
    if hasattr(model, "_calibration"):
        assert model._calibration.state()["seen"] == 60


# The lock -------------------------------------------------------------------------------------------------------------


def test_a_lock_is_not_reentrant():
    lock = Lock()
    with pytest.raises(RuntimeError, match="this thread"), lock, lock:
        pass
    with lock:
        in_threads(1, lambda i: lock.release())  # of no effect: another thread holds it
    use(lock, 1)


def test_waiting_threads_get_the_lock(restless):
    """A thread that keeps reacquiring the lock does not starve others."""
    lock, got = Lock(), threading.Event()

    def work(i):
        if i:
            with lock:
                got.set()
        else:
            turns = 0
            while not got.is_set():
                with lock:
                    turns += 1
                    sum(range(50))
                assert turns < 1_000_000

    assert in_threads(4, work) == [None] * 4


def test_a_signal_interrupts_a_waiting_thread(on_alarm):
    class Alarm(Exception):
        pass

    def alarm(*_):
        raise Alarm

    lock = Lock()
    on_alarm(alarm)
    with held(lock):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            lock.acquire()
        lock.release()  # does nothing: it was not acquired
    use(lock, 1)


# Forks ----------------------------------------------------------------------------------------------------------------

FREE, GONE, FAILED = 0, 3, 4


def forks(test):
    return pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")(ignore_warning(test))


def exit_with(work):
    """End this process with what work() comes to: it ends, a thread of the parent was using the model, or it fails."""
    code = FAILED
    try:
        work()
        code = FREE
    except RuntimeError as error:
        code = GONE if "forked while another thread" in str(error) else FAILED
    finally:
        os._exit(code)


def fate_of(child):
    """The exit code of a process; one that waits for ever is killed."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child waits for ever")


def forked(work):
    """``exit_with`` of a child."""
    child = os.fork()
    if child == 0:
        exit_with(work)
    return fate_of(child)


def use(lock, n=200):
    for _ in range(n):
        with lock:
            pass


@contextlib.contextmanager
def beside(*works):
    """Threads that work until the end of the block; each calls work(stop) with an event."""
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(work, stop) for work in works]
        try:
            yield
        finally:
            stop.set()
    for each in running:
        each.result()


@contextlib.contextmanager
def held(lock):
    """Another thread holds the lock, and a third waits for it."""
    holds = threading.Event()

    def hold(stop):
        with lock:
            holds.set()
            stop.wait()

    def wait(stop):
        holds.wait()
        use(lock, 1)

    with beside(hold, wait):
        holds.wait()
        time.sleep(0.01)  # for the third to wait; otherwise the test is a weaker one
        yield


@forks
def test_a_lock_that_was_held_raises_in_a_child():
    """Always, in every thread, and in its children, whoever waited for it."""

    def rejected(lock):
        for _ in range(3):
            with pytest.raises(RuntimeError, match="load it from a checkpoint"):
                use(lock)
            lock.release()  # of no effect

    def in_child(lock):
        rejected(lock)
        in_threads(8, lambda i: rejected(lock))  # one may have the number of the thread that is gone
        assert forked(lambda: rejected(lock)) == FREE
        assert forked(lambda: use(lock)) == GONE

    lock = Lock()
    with held(lock):
        assert forked(lambda: in_child(lock)) == FREE
    use(lock)


@forks
def test_the_thread_that_forks_keeps_its_lock():
    lock = Lock()

    def in_child():
        waits = threading.Event()
        thread = threading.Thread(target=lambda: (waits.set(), use(lock)))
        thread.start()
        waits.wait()
        lock.release()
        use(lock)
        thread.join()

    with lock, beside(lambda stop: use(lock, 1), lambda stop: use(lock, 1)):
        for _ in range(5):
            assert forked(in_child) == FREE
        lock.release()  # the others are waiting for it
    use(lock)


@forks
def test_no_child_waits_for_threads_of_its_parent(restless):
    """A fork at any moment of an acquisition, of a release, of a wait."""
    lock = Lock()

    def work(stop):
        while not stop.is_set():
            with lock:
                sum(range(100))

    def in_child():
        use(lock)
        in_threads(3, lambda i: use(lock))

    with beside(work, work, work):
        fates = [forked(in_child) for _ in range(60)]
    assert {*fates} <= {FREE, GONE}


@forks
def test_a_signal_handler_may_fork_while_its_thread_waits(on_alarm):
    """Whoever holds the lock is gone in the child."""
    lock, parent, children = Lock(), os.getpid(), []

    def fork(*_):
        children.append(os.fork())

    def hold(stop):
        with lock:
            holds.set()
            while not children:
                time.sleep(1e-3)

    holds = threading.Event()
    on_alarm(fork)
    with beside(hold):
        holds.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            use(lock, 1)
        except RuntimeError:
            if os.getpid() == parent:
                raise
            os._exit(GONE)
        if os.getpid() != parent:
            os._exit(FREE)
    assert fate_of(children[0]) == GONE
    use(lock)


@forks
@pytest.mark.parametrize("name", ["OKLClassifier", "BOGDClassifier", "SOGPRegressor"])
def test_a_child_has_a_model_between_two_samples_or_an_error(name, restless):
    """Forks beside a thread that learns and one that predicts."""
    cls = getattr(river_okl, name)
    model, stream = small(cls), streams.emerging(task(cls), 60)
    model.learn_stream(stream[:20])

    def learn_all(stop):
        while not stop.is_set():
            model.learn_stream(stream)

    def predict_all(stop):
        while not stop.is_set():
            for x, _ in stream:
                model.predict_one(x)

    def in_child():
        model.predict_one(stream[0][0])
        check_parts(model)
        model.learn_stream(stream)
        assert dumps(model)

    with beside(learn_all, predict_all):
        fates = [forked(in_child) for _ in range(12)]
    assert {*fates} <= {FREE, GONE}
    assert forked(in_child) == FREE


class Nested:
    """A feature name that acts the n-th time that it is hashed."""

    def __init__(self, name):
        self.name, self.act, self.left = name, None, 1

    def __hash__(self):
        if self.act:
            self.left -= 1
            if self.left == 0:
                act, self.act = self.act, None
                act()
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, Nested) and self.name == other.name

    def __repr__(self):
        return self.name


def test_a_rejected_call_does_not_release_the_lock_of_the_step_that_it_came_from():
    model = river_okl.RBPClassifier(budget=4, seed=1)
    model.learn_one({"a": 1.0}, True)
    name, waited = Nested("b"), []

    def act():
        with pytest.raises(RuntimeError, match="in the middle of a call"):
            model.predict_one({"a": 1.0})
        other = threading.Thread(target=model.predict_one, args=({"a": 1.0},))
        other.start()
        other.join(0.1)
        waited.append((other, other.is_alive()))

    x = {name: 1.0}
    name.act = act
    model.learn_one(x, False)
    ((other, was_waiting),) = waited
    other.join(60)
    assert was_waiting and not other.is_alive()


def test_threads_that_wait_for_a_step_that_fails_are_told_so():
    """Wherever a name raises: if the model is incomplete then, no thread waits for it for ever."""
    incomplete = 0
    for at in (1, 2):  # when it is looked up, and when it is added
        model, names = river_okl.OKLClassifier(budget=20), [Nested(name) for name in "abc"]
        for t in range(12):
            model.learn_one({names[0]: t % 3, names[1]: 1.0 - t % 2}, t % 2 == 0)
        told, threads = [], []

        def ask(model=model, told=told):
            try:
                told.append(model.predict_one({"a": 1.0}))
            except RuntimeError as error:
                told.append(str(error))

        def act(threads=threads, ask=ask):
            threads += [threading.Thread(target=ask, daemon=True) for _ in range(3)]
            for thread in threads:
                thread.start()
                thread.join(0.05)
            raise ZeroDivisionError

        x = {names[0]: 1.0, names[2]: 2.0}
        names[2].left, names[2].act = at, act
        with contextlib.suppress(ZeroDivisionError):
            model.learn_one(x, True)
        for thread in threads:
            thread.join(60)
        assert len(told) == 3
        if model._f.lock.incomplete:
            incomplete += 1
            assert all("incomplete" in each for each in told)
    assert incomplete == 1
