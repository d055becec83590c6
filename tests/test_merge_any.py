"""Any shards merge: models of any legal streams become one that predicts, learns, is saved and merges again."""

from __future__ import annotations

import copy
import math
import random

import pytest
from river import base

import river_okl
from river_okl import checkpoint
from tests import streams
from tests.discovery import CLASSES, small
from tests.test_merge import MERGING


def strings(rng):
    rare = {"word": f"w{rng.randrange(100)}"} if rng.random() < 0.1 else {}
    return {"colour": rng.choice("rgb"), "a": rng.gauss(0, 1) if rng.random() < 0.8 else None} | rare


FEATURES = {
    "dense": lambda rng: {name: rng.gauss(0, 1) for name in "abc"},
    "sparse": lambda rng: {int(60 * rng.random() ** 3): 1.0 for _ in range(4)},
    "gaps": lambda rng: {name: value for name in "abc" if (value := rng.gauss(1, 2)) < 2},
    "few": lambda rng: {name: float(rng.randrange(2)) for name in "ab"},
    "constant": lambda rng: {"a": 1.0, "b": -2.0},
    "empty": lambda rng: {},
    "any size": lambda rng: {name: rng.gauss(0, 1) * 10 ** rng.uniform(-30, 30) for name in "ab"},
    "strings": strings,
}
TARGETS = {
    "exact": lambda x, rng: 3.0 * x,
    "nearly exact": lambda x, rng: 3.0 * x + rng.gauss(0, 1e-3),
    "constant": lambda x, rng: 5.0,
    "zero": lambda x, rng: 0.0,
    "large": lambda x, rng: 1e12 * rng.gauss(0, 1),
    "any size": lambda x, rng: rng.gauss(0, 1) * 10 ** rng.uniform(-20, 20),
}
LABELS = {
    "two": lambda x, rng: x > 0.0,
    "one": lambda x, rng: True,
    "rare": lambda x, rng: rng.choices("abc", (40, 1, 1))[0],
}


def learn(model, samples):
    for x, y, w in samples:
        model.learn_one(x, y, w=w)
    return model


def check(model, samples):
    """It predicts, is saved and learns on."""
    if isinstance(model, base.Regressor):
        assert all(math.isfinite(model.predict_one(x)) for x, _, _ in samples)
    again = checkpoint.loads(checkpoint.dumps(model))
    for each in (learn(copy.deepcopy(model), samples), learn(again, samples)):
        checkpoint.loads(checkpoint.dumps(each))


@pytest.mark.parametrize("warm_up", [0, 100])
@pytest.mark.parametrize("target", TARGETS)
def test_targets_of_any_kind(target, warm_up):
    """Among them residuals as small as they may be, and processes without anything to explain."""
    for seed in range(2):
        rng, n_shards = random.Random(seed), 2 + seed % 2
        xs = (FEATURES["dense"](rng) for _ in range(warm_up + 800 * n_shards))
        samples = [(x, TARGETS[target](x["a"], rng), 1.0) for x in xs]
        start = learn(river_okl.OKLRegressor(budget=16), samples[:warm_up])
        models = [learn(copy.deepcopy(start), samples[warm_up + i :: n_shards]) for i in range(n_shards)]
        merged = river_okl.merge(models, start=start)
        assert merged.n_support_vectors >= 16, "the dictionary keeps points"
        if target in ("constant", "zero"):
            assert merged.predict_one({"a": 1.0}) == pytest.approx(samples[0][1], abs=1e-6)
        check(merged, samples[:10])


@pytest.mark.parametrize("name", MERGING)
def test_averages_do_not_round_beyond_a_bound(name):
    """Shares of a sum that is not exactly 1, of models at the bound of their calibration."""
    start = learn(small(CLASSES[name]), [({"a": 1.0}, y, 1.0) for y in (1.0, -1.0)] * 300)
    for weights in ([1.0, 1e-9, 1e-9, 1.0, 1.0], [0.1] * 10):
        check(river_okl.merge([start] * len(weights), weights=weights, start=start), [])


def test_shards_may_spend_the_same_damage():
    """What the start of a Forgetron may still spend counts once, each shard spends it."""
    for seed in range(20):
        rng = random.Random(seed)
        samples = [({i: rng.gauss(0, 1) for i in range(5)}, rng.random() < 0.5, 1.0) for _ in range(250)]
        start = learn(river_okl.ForgetronClassifier(budget=8), samples[:50])
        models = [learn(copy.deepcopy(start), samples[50 + 40 * i :][: 3 + i]) for i in range(5)]
        check(river_okl.merge(models, start=start), samples[:10])


@pytest.mark.parametrize("name", MERGING)
def test_a_shard_of_weightless_samples(name):
    """They count as no sample in some classes, but may move the bandwidth."""
    start = learn(small(CLASSES[name]), [({"a": 1.0}, 1.0, 1.0)])
    model = learn(copy.deepcopy(start), [({"a": 2.0 + i}, 1.0, 0.0) for i in range(3)])
    check(river_okl.merge([model, start], start=start), [])


def test_one_class_machines_of_any_weights():
    model = river_okl.KernelOneClassSVM()
    model.learn_stream(x for x, _ in streams.dense(streams.CLASSIFICATION, 50))
    merged = river_okl.merge([model] * 3, weights=[1.0, 0.3, 1e-9], start=model)
    checkpoint.loads(checkpoint.dumps(merged))
