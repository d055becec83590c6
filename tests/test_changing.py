"""Samples, frames and labels that change while they are read: by a value, by a name, by another thread."""

from __future__ import annotations

import contextlib
import fractions
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from river import base

import river_okl
from tests import streams
from tests.discovery import CLASSES, MODELS, READERS, each_of, knowledge, learn, small, snapshot, target, task
from tests.test_threads import beside

each_reader = each_of({name: MODELS[name] for name in READERS})


class Trap:
    """Runs an action once, when Python code of a value, name or label has been called so many times."""

    left = math.inf
    action = None

    @classmethod
    def arm(cls, action, at):
        cls.action, cls.left = action, at

    @classmethod
    def spring(cls):
        cls.left -= 1
        if cls.left == -1:
            cls.action()
            # what was freed is used again
            [object() for _ in range(50)], [float(i) for i in range(50)], ["x" * i for i in range(50)]

    @classmethod
    def disarm(cls):
        fired = cls.left < 0
        cls.left = math.inf
        return fired


class Value:
    def __init__(self, number):
        self.number = number

    def __float__(self):
        Trap.spring()
        return float(self.number)

    def __ne__(self, other):
        Trap.spring()
        return Truth()

    __hash__ = None


class Truth:
    def __bool__(self):
        Trap.spring()
        return False


class Whole(int):
    """An integer with code of its own."""

    def __float__(self):
        Trap.spring()
        return float(int(self))


class Index:
    """A number without __float__."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        Trap.spring()
        return self.number


class Text(str):
    def __str__(self):
        Trap.spring()
        return str.__str__(self)

    def __hash__(self):
        Trap.spring()
        return str.__hash__(self)

    def __eq__(self, other):
        Trap.spring()
        return str.__eq__(self, other)


class Name:
    """A feature name, or a label."""

    def __init__(self, i):
        self.i = i

    def __hash__(self):
        Trap.spring()
        return hash(("name", self.i % 3))  # some are equal

    def __eq__(self, other):
        Trap.spring()
        return isinstance(other, Name) and self.i == other.i

    def __repr__(self):
        Trap.spring()
        return f"name {self.i:03}"

    def __del__(self):
        Trap.spring()


def hostile(x, words):
    """A sample of objects that run code, and with fresh names each time."""
    kinds = [lambda v: Value(v), lambda v: Whole(round(4 * v)), lambda v: Index(round(4 * v)), float, np.float64]
    made = {Name(i): kinds[i % 5](v) for i, v in enumerate([*x.values(), 0.5, 1.5, -0.25])}
    made |= {Text("text"): 0.5, "plain": fractions.Fraction(1, 3)}
    return made | ({"word": Text("abc"), Name(100): Text("abc"), Name(101): None} if words else {})


def refilled(x):
    x.clear()
    for i in range(200):
        x[f"new {i}"] = float(i % 7)


def replaced(x):
    for name in [*x]:
        x[name] = 2.0


def renewed(x):
    items = [*x.items()]
    x.clear()
    for name, value in reversed(items):
        x[Name(name.i) if isinstance(name, Name) else name] = value


ACTIONS = [dict.clear, refilled, replaced, renewed]


def learned(cls):
    """A model with hostile names, as a pickle."""
    model = small(cls)
    for t, (x, y) in enumerate(streams.dense(task(cls), 12)):
        model.learn_one(hostile(x, cls._takes_words), *target(model, y), w=1.0 + t % 2)
    return pickle.dumps(model)


def sample_of(cls):
    return hostile(streams.dense(task(cls), 3, seed=7)[-1][0], cls._takes_words)


def traps(start, call, action, sample):
    """(What call(model, x) gives, the model and the sample then) for every moment at which x may change."""
    at = 0
    while True:
        model, x = pickle.loads(start), sample()
        Trap.arm(lambda x=x: action(x), at)
        try:
            found = call(model, x)
        except (ValueError, RuntimeError, TypeError) as error:
            found = error
        fired = Trap.disarm()
        yield found, model
        if not fired:
            break
        at += 1 + at // 4
    assert at > 5


def outcome(found):
    return type(found) if isinstance(found, Exception) else snapshot(found)


@each_reader
@pytest.mark.parametrize("action", ACTIONS)
def test_a_sample_is_learned_as_it_was_at_one_moment(cls, action):
    """With its old items or its new ones, and never with some of each."""
    start, changed = learned(cls), sample_of(cls)
    action(changed)
    expected = {snapshot(learn(pickle.loads(start), [(x, 1.0)])) for x in (sample_of(cls), changed)}

    def learn_one(model, x):
        return model.learn_one(x, *target(model, 1.0))

    for found, model in traps(start, learn_one, action, lambda: sample_of(cls)):
        assert found is None, found
        assert snapshot(model) in expected
        model._f._check()


QUESTIONS = [
    *("predict_one", "predict_proba_one", "decision_function_one", "explain_one", "debug_one", "predict_interval_one"),
    "contributions_one",
    *("score_one", "transform_one"),
]


@each_reader
@pytest.mark.parametrize("action", [dict.clear, refilled])
def test_a_question_is_answered_for_a_sample_as_it_was_at_one_moment(cls, action):
    start, changed = learned(cls), sample_of(cls)
    action(changed)
    unchanged = knowledge(pickle.loads(start))
    for question in (name for name in QUESTIONS if hasattr(cls, name)):
        if question == "debug_one" and hasattr(cls, "contributions_one"):
            continue  # prints these

        def ask(model, x, question=question):
            few = {"samples": 2} if question == "contributions_one" else {}
            return getattr(model, question)(x, **few)

        expected = {outcome(ask(pickle.loads(start), x)) for x in (sample_of(cls), changed)}
        for found, model in traps(start, ask, action, lambda: sample_of(cls)):
            assert outcome(found) in expected, (question, found)
            assert knowledge(model) == unchanged


class Once:
    """A number that can be read once."""

    def __init__(self, number):
        self.number, self.times = number, 0

    def __float__(self):
        self.times += 1
        if self.times > 1:
            raise RuntimeError("read again")
        return self.number


@each_reader
def test_a_sample_is_read_once(cls):
    """Also if its label is new, or the bandwidth moves: what is learned is what was checked."""
    model, equal = small(cls), small(cls)
    for t, (x, y) in enumerate(streams.dense(task(cls), 60)):
        if issubclass(cls, base.Classifier):
            y = [False, True, "third"][t % (3 if model._multiclass else 2)]
        learn(model, [({name: Once(v) for name, v in x.items()}, y)])
        learn(equal, [(x, y)])
    assert snapshot(model) == snapshot(equal)


@each_of({name: CLASSES[name] for name in READERS if name in CLASSES})
@pytest.mark.parametrize("action", [list.clear, lambda items: items.extend(items), lambda items: items.pop(0)])
def test_targets_and_weights_may_change_while_they_are_read(cls, action):
    """Labels with a __hash__, and weights with a __float__ of their own."""
    rows = streams.dense(task(cls), 6)
    X, values = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    ys = (lambda: [Name(int(y > 0)) for y in values]) if issubclass(cls, base.Classifier) else (lambda: [*values])
    expected = small(cls)
    expected.learn_many(X, ys(), [1.0] * 6)

    def learn_many(model, both):
        model.learn_many(X, *both)

    def change(both):
        for part in both:
            action(part)

    answers = traps(pickle.dumps(small(cls)), learn_many, change, lambda: (ys(), [Weight(1.0) for _ in values]))
    for error, model in answers:
        if error:  # fewer weights, or other ones, than rows
            assert isinstance(error, ValueError) and ("weights" in str(error) or "targets" in str(error))
        assert snapshot(model) == snapshot(small(cls) if error else expected)


class Weight(fractions.Fraction):
    def __float__(self):
        Trap.spring()
        return 1.0


@each_reader
@pytest.mark.parametrize("words", [False, True])
def test_a_frame_may_change_while_it_is_read(cls, words):
    """Columns of Python objects, one of which overwrites the frame."""
    if words and not cls._takes_words:
        pytest.skip("it learns no such frames")

    def frame():
        columns = {f"x{i}": [Value(float(i + j % 3)) for j in range(5)] for i in range(4)}
        return pd.DataFrame(columns | ({"word": [Text("abc"), None, Text("abc"), "d", Text("d")]} if words else {}))

    def learn_many(model, X):
        model.learn_many(X, *target(model, [1.0, 0.0, 1.0, 1.0, 0.0]))

    def change(X):
        for name in [*X.columns]:
            X[name] = 7.0
        X.loc[0] = -1.0

    expected = small(cls)
    learn_many(expected, frame())
    for error, model in traps(pickle.dumps(small(cls)), learn_many, change, frame):
        assert error is None, error
        assert snapshot(model) == snapshot(expected)


def test_a_frame_is_learned_as_it_was_checked():
    """Not as what another thread has made of its array since."""
    array = np.random.default_rng(1).normal(size=(40, 1))
    X = pd.DataFrame(array, columns=["a"], copy=False)
    model = river_okl.OGDRegressor()

    class Late(river_okl.OGDRegressor):
        def learn_one(self, x, y, w=1.0):
            array[:] = math.nan
            super().learn_one(x, y, w)

    expected, changed = river_okl.OGDRegressor(), Late()
    expected.learn_many(X, [1.0] * 40)
    changed.learn_many(X, [1.0] * 40)
    assert changed.predict_one({"a": 0.5}) == expected.predict_one({"a": 0.5}) != model.predict_one({"a": 0.5})


class Fickle:
    """A name that is equal to others at times, with a hash that changes: a violation of Python's rules."""

    turns = 0

    def __init__(self, i):
        self.i = i

    def __hash__(self):
        Fickle.turns += 1
        return Fickle.turns * 7 % 3

    def __eq__(self, other):
        Fickle.turns += 1
        return Fickle.turns % 5 == 0

    def __repr__(self):
        Fickle.turns += 1
        return f"fickle {Fickle.turns % 4}"


@each_reader
def test_names_without_a_constant_hash_do_no_harm_to_memory(cls):
    """Whatever is learned of them, or refused: nothing crashes (which the build with sanitizers decides)."""
    model = small(cls)
    for t, (x, y) in enumerate(streams.dense(task(cls), 80)):
        x = {Fickle(t % 9): v for v in x.values()} | {"b": 1.0}
        with contextlib.suppress(RuntimeError, ValueError, KeyError):
            learn(model, [(x, y), ({f"new {t}": 1.0, "b": 0.5}, y)])


@each_reader
def test_another_thread_may_refill_a_sample(cls, restless):
    """Fractions are converted by Python code, between whose instructions other threads run."""
    model, x, rng = small(cls), {}, np.random.default_rng(3)

    def refill(stop):
        while not stop.is_set():
            x.clear()
            x.update({f"n{i}": fractions.Fraction(int(i), 3) for i in rng.integers(0, 30, 6)})

    with beside(refill):
        learn(model, [(x, float(t % 2)) for t in range(150)])
    model._f._check()
