"""Threads and processes: what may be done at once, and what is refused.

Promised: any number of threads may predict with one model while none learns. Two threads that learn one model, or one
that learns while another predicts, do no harm to memory, but a step may be refused with a RuntimeError (and be done in
part): use a lock. Processes have models of their own, forked or spawned.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from river import preprocessing

import river_okl
from river_okl import kernels
from river_okl._core.expansion import Expansion
from river_okl.labels import Labels
from tests import streams
from tests.discovery import CLASSES, ODD, decision, small, snapshot, task

each_class = pytest.mark.parametrize("cls", [pytest.param(cls, id=name) for name, cls in CLASSES.items()])


@pytest.fixture
def restless():
    """Threads take turns after every few bytecodes, so that what can go wrong does."""
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(old)


def in_threads(n, work):
    """What work(0), ..., work(n - 1) return or raise, each in a thread of its own."""
    results = [None] * n
    start = threading.Barrier(n)

    def run(i):
        start.wait()
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_step_that_waits_for_a_prediction_is_right_or_refused(restless):
    """A long evaluation runs without the GIL; what another thread does meanwhile waits, and then sees another one."""
    rng = np.random.default_rng(1)
    points = [dict(enumerate(row)) for row in rng.normal(size=(2100, 100)).tolist()]  # 210,000 numbers
    f = Expansion(kernels.RBF(0.005)._terms(), norm=True)
    for x in points:
        f.evaluate(x)
        f.add(1.0)

    def predict(i):
        for x in points[:300]:
            f.evaluate(x)

    def learn(i):
        for t in range(300):
            try:
                f.evaluate({0: 1.0, 1: t / 300.0})
                f.add(1.0)
            except RuntimeError:
                continue  # the sample that was to be added is not the last one any more
            f.remove(2100)

    in_threads(2, lambda i: (predict, learn)[i](i))
    assert len(f) == 2100
    alpha = f.coefficients
    assert f.norm2 == pytest.approx(alpha @ f.gram() @ alpha, rel=1e-9)


@each_class
@pytest.mark.parametrize("kind", ["dense", "emerging"])
def test_four_threads_predict(cls, kind, restless):
    model = small(cls)
    stream = streams.KINDS[kind](task(cls), 60)
    for x, y in stream:
        model.learn_one(x, y)
    expected = [decision(model, x) for x, _ in stream]
    before = snapshot(model)

    def predict(i):
        return [decision(model, x) for _ in range(3) for x, _ in stream[i:] + stream[:i]]

    for i, found in enumerate(in_threads(4, predict)):
        assert found == 3 * (expected[i:] + expected[:i])
    assert snapshot(model) == before


def test_four_threads_predict_with_a_model_that_releases_the_gil(restless):
    """Rows of more than 200,000 multiply-adds are computed without it."""
    model = river_okl.OLKRegressor(kernel=kernels.RBF(0.5), learning_rate=0.1)
    stream = streams.dense("regression", 3000, d=100)
    model.learn_stream(stream)
    assert model.n_support_vectors * 100 > 200_000
    frame = pd.DataFrame([x for x, _ in stream[:20]])
    expected = [model.predict_one(x) for x, _ in stream[:20]]
    norm = model.norm

    def work(i):
        if i == 0:
            return [model.norm for _ in range(2)]
        if i == 1:
            return [model.predict_many(frame).tolist() for _ in range(5)]
        return [[model.predict_one(x) for x, _ in stream[:20]] for _ in range(5)]

    norms, many, *ones = in_threads(4, work)
    assert norms == [norm] * 2
    assert many == [expected] * 5
    assert ones == [[expected] * 5] * 2


@each_class
def test_learning_in_two_threads_is_refused_or_safe(cls, restless):
    model = small(cls)
    stream = streams.emerging(task(cls), 300 if cls.__name__ in ODD else 150)

    def learn(i):
        refused = 0
        for x, y in stream[i::2]:
            try:
                model.learn_one(x, y)
            except (RuntimeError, ValueError, IndexError, KeyError):
                refused += 1
        return refused

    for refused in in_threads(2, learn):
        assert isinstance(refused, int), refused
    decision(model, stream[0][0])  # from this thread
    for f in vars(model).values():
        if hasattr(f, "_check") and len(f) <= (f.budget or len(f)):
            f._check()


MANY = [pytest.param(cls, id=name) for name, cls in CLASSES.items() if getattr(small(cls), "_multiclass", False)]


@pytest.mark.parametrize("known", [2, 3])
@pytest.mark.parametrize("cls", MANY)
def test_a_prediction_while_another_thread_adds_a_label(cls, known, monkeypatch):
    """A model that has room for a new label predicts as before, until the label is there."""
    model = small(cls)
    stream = [(x, i % known) for i, (x, _) in enumerate(streams.dense("classification", 40))]
    for x, y in stream:
        model.learn_one(x, y)
    frame = pd.DataFrame([x for x, _ in stream[:9]])
    found = []

    def predict(i=0):
        one = [
            (model.predict_one(x), model.decision_function_one(x), model.predict_proba_one(x)) for x, _ in stream[:9]
        ]
        return one, model.predict_many(frame).tolist(), model.predict_proba_many(frame).to_dict("list")

    def add(labels, y):
        found.extend(in_threads(1, predict))
        whole(labels, y)

    before, whole = predict(), Labels.add
    monkeypatch.setattr(Labels, "add", add)
    model.learn_one(stream[0][0], known)
    ((ones, labels, columns),) = found
    assert labels == [label for label, *_ in ones]
    assert list(columns) == list(before[2])
    for (_, scores, probabilities), (_, _, expected) in zip(ones, before[0], strict=True):
        assert isinstance(scores, float) or list(scores) == list(range(known))
        assert sum(probabilities.values()) == pytest.approx(1.0)
        assert list(probabilities) == list(range(known))
        if hasattr(model, "_calibration"):  # a Gaussian process for more than two labels is another one
            assert probabilities == pytest.approx(expected, rel=1e-12)
            assert labels == before[1]
    assert [*model.predict_proba_one(stream[0][0])] == [*range(known + 1)]


@pytest.mark.parametrize("known", [0, 1, 2, 3])
@pytest.mark.parametrize("cls", MANY)
def test_two_threads_that_bring_the_same_label(cls, known, monkeypatch):
    """The second waits where the first adds it, and then finds it; it goes on when the first one's step is through."""
    model, learned, waiting = small(cls), threading.Event(), threading.Event()
    stream = [(x, i % max(1, known)) for i, (x, _) in enumerate(streams.dense("classification", 40))]
    for x, y in stream if known else []:
        model.learn_one(x, y)
    whole, threads = Labels.add, []

    class Lock:
        """The lock of the labels, which whoever comes second gets when the first has learned."""

        def __init__(self, lock):
            self.lock = lock

        def __enter__(self):
            if threading.current_thread() in threads:
                waiting.set()
                learned.wait()
            self.lock.acquire()

        def __exit__(self, *error):
            self.lock.release()

    def add(labels, y):
        if not threads:
            threads.append(threading.Thread(target=model.learn_one, args=(stream[1][0], known)))
            threads[0].start()
            for _ in range(200):  # without a lock it would be through
                if not waiting.is_set():
                    threads[0].join(0.001)
        whole(labels, y)

    monkeypatch.setattr(Labels, "add", add)
    monkeypatch.setattr(model._labels, "lock", Lock(model._labels.lock))
    model.learn_one(stream[0][0], known)
    learned.set()
    threads[0].join()
    labels = list(range(known + 1))
    assert model._labels.names == labels
    assert [*model.predict_proba_one(stream[0][0])] == labels
    model._check_state()


def test_two_threads_learn_two_models(restless):
    def learn(i):
        model = small(river_okl.OLRDClassifier, seed=i)
        model.learn_stream(streams.dense("classification", 500, seed=i))
        return snapshot(model)

    assert in_threads(4, learn) == [learn(i) for i in range(4)]


def learn_on(model, stream):
    for x, y in stream:
        model.learn_one(x, y)
    return snapshot(model)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_have_models_of_their_own(method):
    model = preprocessing.StandardScaler() | small(river_okl.OLRDClassifier)
    stream = streams.emerging("classification", 90)
    learn_on(model, stream[:60])
    before = snapshot(model)
    with multiprocessing.get_context(method).Pool(1) as pool:
        children = pool.starmap(learn_on, [(model, stream[60:]), (model, stream[60:75])])
    assert snapshot(model) == before
    assert children[1] != children[0] == learn_on(model, stream[60:])


def test_a_name_that_calls_its_model_back_is_refused():
    """Not a deadlock: the model knows that this thread is already inside."""
    model = river_okl.KernelPerceptronClassifier(kernels.RBF(1.0))

    class Name:
        def __hash__(self):
            with contextlib.suppress(TypeError):
                model.predict_one({"x": 1.0})
            return 7

    sample = {Name(): 1.0}
    with pytest.raises(RuntimeError, match="__hash__"):
        model.learn_one(sample, True)
    model.learn_one({"x": 1.0}, True)
    assert model.n_support_vectors == 1


def readers(model):
    return {
        "support vectors": lambda: model.support_vectors,
        "explanations": lambda: model.explain_one({"a": 1.0}),
        "norm": lambda: model.norm,
        "a copy": lambda: model._f.__reduce__(),
    }


@pytest.mark.parametrize(
    ("cls", "what"),
    [
        *((river_okl.OKLClassifier, what) for what in ("support vectors", "explanations", "a copy")),
        *((river_okl.SOGPClassifier, what) for what in ("support vectors", "norm", "a copy")),
    ],
)
def test_who_reads_waits_for_the_step_of_another_thread(cls, what):
    """NumPy gives the GIL away where it allocates: what is read half may not fit into what was allocated for it."""
    model = cls()
    for x, y in streams.dense("binary", 30):
        model.learn_one(x, y)
    inside, go_on = threading.Event(), threading.Event()

    class Name:
        def __hash__(self):
            inside.set()
            go_on.wait()
            return 7

    go_on.set()
    items = {"x0": 1.0, Name(): 1.0}
    go_on.clear()
    inside.clear()
    learner = threading.Thread(target=model.learn_one, args=(items, True))
    learner.start()
    inside.wait()
    reader = threading.Thread(target=readers(model)[what])
    reader.start()
    reader.join(0.2)
    waits = reader.is_alive()
    go_on.set()
    learner.join()
    reader.join()
    assert waits


def test_what_another_thread_learns_meanwhile_is_not_explained(monkeypatch):
    """One more point between the numbers and the question whose they are."""
    model, stream = river_okl.OKLClassifier(), streams.dense("binary", 60)
    for x, y in stream[:30]:
        model.learn_one(x, y)
    for name in ("_coefficients", "_contributions"):
        asked = getattr(model, name)

        def then_learn(*args, asked=asked):
            found = asked(*args)
            model.learn_one(*stream[len(model._f.points)])
            return found

        monkeypatch.setattr(model, name, then_learn)
    n = len(model._f.points)
    assert 0 < len(model.support_vectors) <= n < len(model._f.points)
    n = len(model._f.points)
    assert 0 < len(model.explain_one(stream[0][0])) <= n < len(model._f.points)
