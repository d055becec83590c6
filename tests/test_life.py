"""Any life of any public class: one state machine.

Two models live the same life.  One of them is also saved, loaded, pickled, copied, read, learned by frames and
interrupted all along; both stay the same to the bit.  Whatever has happened, its invariants hold, what it says is
finite, and it can be saved and merged.
"""

from __future__ import annotations

import copy
import math
import pickle
import random

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from river import base

import river_okl
from river_okl import checkpoint
from tests.discovery import CLASSIFIERS, VARIANTS, check_parts, each_with_options, knowledge, outputs, small, target
from tests.test_interrupts import ATOMIC, before_call, interrupted, is_incomplete
from tests.test_merge import rejection
from tests.test_merge_any import FEATURES, LABELS, TARGETS

RESUMING = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "checkpoint": lambda model: checkpoint.loads(checkpoint.dumps(model)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "clone": lambda model: model.clone(include_attributes=True),
    "nothing": lambda model: (checkpoint.dumps(model), model)[1],  # that it was saved changes nothing
}
BAD = [
    *(({"a": value}, 1.0, 1.0) for value in (math.inf, 1e60, [1.0], b"x", 1j)),
    *(({"a": 1.0}, value, 1.0) for value in (math.nan, math.inf, None, [1])),
    *(({"a": 1.0}, 1.0, value) for value in (-1.0, math.nan, "1")),
    (5, 1.0, 1.0),
]
seeds, steps = st.integers(0, 2**32), st.integers(1, 30)


def can_merge(model):
    return isinstance(model, base.Classifier | base.Regressor) and not rejection(
        type(model).__name__, model._get_params()
    )


class Life(RuleBasedStateMachine):
    """Of one class in one mode; ``made`` makes a new model."""

    def __init__(self, made):
        super().__init__()
        self.made = made

    @initialize(seed=seeds, kind=st.sampled_from(sorted(FEATURES)), of=st.sampled_from(sorted(TARGETS)))
    def begin(self, seed, kind, of):
        self.model, self.other = self.made(), self.made()
        self.start = copy.deepcopy(self.model)
        self.words = getattr(self.model, "_takes_words", False)
        self.features = FEATURES["dense" if kind == "strings" and not self.words else kind]
        self.keys, self.waiting, self.learned = 0, {}, 0
        self.name = type(self.model).__name__
        self.is_late = self.name in ("OKLClassifier", "OKLRegressor")
        if isinstance(self.model, base.Regressor):
            self.target = TARGETS[of]
        else:
            many = self.name in CLASSIFIERS and self.model._multiclass
            self.target = LABELS[random.Random(seed).choice(["two", "one", "rare"] if many else ["two", "one"])]

    def sample(self, rng):
        x = self.features(rng)
        y = self.target(sum(value for value in x.values() if isinstance(value, float)), rng)
        y = max(-1e50, min(1e50, y)) if isinstance(self.model, base.Regressor) else y
        return x, y, rng.choice((1.0, 1.0, 0.0, 0.1, 5.0))

    def learn(self, model, x, y, w, **key):
        model.learn_one(x, *target(model, y), w=w, **key)

    @rule(seed=seeds, n=steps)
    def learn_samples(self, seed, n):
        rng = random.Random(seed)
        for _ in range(n):
            sample = self.sample(rng)
            self.learn(self.model, *sample)
            self.learn(self.other, *copy.deepcopy(sample))
            self.learned += 1

    @rule(seed=seeds, n=steps)
    def learn_a_frame(self, seed, n):
        """Row by row, and as a frame."""
        rng = random.Random(seed)
        rows = [({name: rng.gauss(0, 1) for name in "abc"}, self.sample(rng)[1]) for _ in range(n)]
        for x, y in rows:
            self.learn(self.model, x, y, 1.0)
            self.learned += 1
        y = pd.Series([y for _, y in rows])
        self.other.learn_many(pd.DataFrame([x for x, _ in rows]), *target(self.other, y))

    @rule(seed=seeds)
    def ask(self, seed):
        x = self.sample(random.Random(seed))[0]
        said = outputs(self.model, x)
        assert outputs(self.other, dict(x)) == said
        assert "inf" not in said and "nan" not in said

    @precondition(lambda self: not self.is_late)
    @rule(seed=seeds)
    def ask_one(self, seed):
        """Predictions change nothing."""
        outputs(self.other, self.sample(random.Random(seed))[0])

    @precondition(lambda self: self.is_late)
    @rule(seed=seeds)
    def ask_by_key(self, seed):
        self.keys += 1
        sample = self.sample(random.Random(seed))
        self.waiting[self.keys] = sample
        for model in (self.model, self.other):
            model.predict_one(sample[0], key=self.keys)

    @precondition(lambda self: self.is_late and self.waiting)
    @rule(seed=seeds)
    def learn_late(self, seed):
        key = random.Random(seed).choice(sorted(self.waiting))
        sample = self.waiting.pop(key)
        for model in (self.model, self.other):
            self.learn(model, *sample, key=key)
        self.learned += 1

    @rule(way=st.sampled_from(sorted(RESUMING)))
    def resume(self, way):
        before = self.other
        self.other = RESUMING[way](before)
        assert type(self.other) is type(self.model)
        if way == "copy":  # is another model
            self.learn(before, {"a": 1.0}, *self.sample(random.Random(1))[1:])

    @rule(seed=seeds)
    def read(self, seed):
        """What a model says of itself, between two samples; of late labels, what it says of samples is remembered."""
        x = self.sample(random.Random(seed))[0]
        cls = type(self.other)
        for name in dir(cls):
            if name[0] != "_" and isinstance(getattr(cls, name), property):
                getattr(self.other, name)
        repr(self.other), self.other._raw_memory_usage, self.other.clone()
        if hasattr(self.other, "explain_one") and not self.is_late:
            self.other.explain_one(x)
        if hasattr(self.other, "contributions_one"):
            self.other.contributions_one(x, samples=2)

    @rule(bad=st.sampled_from(BAD))
    def reject(self, bad):
        x, y, w = bad
        if self.words and isinstance(x, dict) and x["a"] is None:
            return
        if not target(self.other, y) and y != 1.0:
            return
        if isinstance(self.other, base.Classifier) and y != 1.0 and y == y and y not in (None, [1]):
            return  # infinity is a label
        with pytest.raises((TypeError, ValueError)):
            self.learn(self.other, x, y, w)

    @rule(seed=seeds, at=st.integers(1, 60))
    def interrupt(self, seed, at):
        """At any call: the step is done, or not done, or the class may leave it half done."""
        sample = self.sample(random.Random(seed))
        before = knowledge(self.other)
        tried = copy.deepcopy(self.other)
        was = interrupted(lambda: tried.learn_one(sample[0], *target(tried, sample[1]), w=sample[2]), before_call, at)
        self.learn(self.other, *sample)
        self.learn(self.model, *sample)
        self.learned += 1
        if not was or self.name in ATOMIC:
            assert knowledge(pickle.loads(pickle.dumps(tried))) in (before, knowledge(self.other))
        elif not (self.name.startswith("NBSGD") and is_incomplete(tried)):
            check_parts(tried)
            self.learn(tried, *sample)
            checkpoint.loads(checkpoint.dumps(tried))

    @precondition(lambda self: self.learned and can_merge(self.model))
    @rule(seed=seeds, n=steps, weighted=st.booleans())
    def merge(self, seed, n, weighted):
        """The merged model is valid, and both go on as it."""
        rng, start = random.Random(seed), copy.deepcopy(self.model)
        shards = [copy.deepcopy(self.model) for _ in range(rng.choice([1, 2, 3]))]
        for shard in shards:
            for _ in range(rng.choice([0, n])):
                self.learn(shard, *self.sample(rng))
        weights = [rng.choice([1.0, 0.3, 1e-9]) for _ in shards] if weighted else None
        budget = 4 if weighted and not self.name.startswith("FOGD") else None
        self.model = river_okl.merge(shards, start=start, weights=weights, budget=budget)
        self.other = checkpoint.loads(checkpoint.dumps(self.model))
        self.waiting = {}

    @invariant()
    def they_are_the_same(self):
        if hasattr(self, "model"):
            check_parts(copy.deepcopy(self.other))  # it may compute what is computed lazily
            assert knowledge(self.model) == knowledge(self.other)


@each_with_options(VARIANTS)
def test_any_life(cls, options):
    run_state_machine_as_test(
        lambda: Life(lambda: small(cls, **options)),
        settings=settings(
            max_examples=5,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )
