"""Models that remember samples: which ones, how exactly, and merging by learning them."""

from __future__ import annotations

import copy
import pickle
import random
import statistics
import warnings

import numpy as np
import pytest
from river.datasets import synth

import river_okl
from river_okl import checkpoint
from river_okl.merging import replay
from tests import streams
from tests.discovery import task
from tests.test_merge import learn, trained

each_mixture = pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])


def of_everything(n, seed=1):
    """Dense and sparse numbers, numbers with gaps, strings, strings with gaps; targets are often 0."""
    rng = random.Random(seed)
    for _ in range(n):
        x = {"whole": float(rng.randrange(20)), "real": rng.gauss(1e6, 3.0), "word": rng.choice("xyz")}
        x |= {"gap": rng.gauss(0, 1) if rng.random() < 0.7 else None, "none": rng.choice(["a", "b", None])}
        x |= {f"rare{rng.randrange(5)}": 3.0, "date": 1.7e9 + 60.0 * rng.randrange(10_000)}
        yield x, 0.0 if rng.random() < 0.4 else rng.gauss(5, 2)


@each_mixture
def test_samples_are_remembered_as_they_came(cls):
    """Numbers up to 2^-18 of a deviation, and round ones exactly; targets, labels and weights, too."""
    stream = [(x, y if cls is river_okl.OKLRegressor else y > 0.0) for x, y in of_everything(600)]
    model, heavy = cls(), 200.0 if cls is river_okl.OKLClassifier else 500.0 / 3.0  # at most 1 relative to the others
    for t, (x, y) in enumerate(stream):
        model.learn_one(x, y, w=(100.0, 50.0)[t % 2])
    found = replay._remembered(model, cls(), 2.0)
    assert [each.age for each in found] == list(range(599, -1, -1))
    for t, (each, (x, y)) in list(enumerate(zip(found, stream, strict=True)))[200:]:
        assert each.weight == pytest.approx((heavy, 100.0)[t % 2], rel=0.05)
        assert each.x.keys() == x.keys()
        assert {name: v for name, v in each.x.items() if type(v) is not float or name in ("whole", "date")} == {
            name: v for name, v in x.items() if type(v) is not float or name in ("whole", "date")
        }
        for name, size in (("real", 3.0), ("gap", 1.0)):
            assert each.x[name] is x[name] is None or abs(each.x[name] - x[name]) < 1e-5 * size
        assert each.y == y if y in (0.0, True, False) else abs(each.y - y) < 1e-5


def test_points_of_a_detector_are_remembered():
    model, stream = river_okl.OKLDetector(seed=1), [x for x, _ in of_everything(300)]
    for x in stream:
        model.learn_one(x)
    found = replay._remembered(model, river_okl.OKLDetector(seed=1), 1.0)
    assert len(found) == len(model._f) > 250
    known = {(x["whole"], x["date"], x["word"], x["none"]) for x in stream}
    last = [(each.x["whole"], each.x["date"], each.x["word"], each.x["none"]) for each in found[100:]]
    assert known.issuperset(last)
    assert {each.weight for each in found} == {model._f.state()["candidates"] / len(found)}


@each_mixture
def test_one_model_learns_what_the_others_remember(cls):
    """In turn by age, with their weights, and only since the start; the order of the models does not matter."""
    stream = streams.dense(task(cls), 900)
    start = learn(cls(budget=20), stream[:200])
    models = trained(start, stream[200:500], stream[500:700], stream[700:])
    merged = river_okl.merge(models, weights=[1.0, 0.5, 0.25], start=start)
    assert pickle.dumps(merged) == pickle.dumps(
        river_okl.merge([models[i] for i in (2, 0, 1)], weights=[0.25, 1.0, 0.5], start=start)
    )
    expected = copy.deepcopy(models[0])
    others = sorted(((models[1], 700, 0.5), (models[2], 900, 0.25)), key=lambda other: pickle.dumps(other[0]))
    for age in range(199, -1, -1):
        for _, (_, end, w) in sorted(enumerate(others), key=lambda each: hash((age, each[0]))):
            x, y = stream[end - 1 - age]
            expected.learn_one(x, y, w=w)
    found = [[model.predict_one(x) for x, _ in stream[:200]] for model in (merged, expected)]
    if cls is river_okl.OKLClassifier:
        assert np.mean([a == b for a, b in zip(*found, strict=True)]) > 0.97
    else:
        assert np.mean(np.abs(np.subtract(*found))) < 0.03 * np.std(found)
    assert merged._f.seen == expected._f.seen == 900
    merged._f._check()


def test_regions_of_all_models_are_kept():
    """Each model knows a region; together they remember more samples than one memory holds."""

    def part(k, n=700, seed=0):
        rng = random.Random(10 * seed + k)
        for _ in range(n):
            a, b = rng.uniform(2.0 * k, 2.0 * k + 2.0), rng.gauss(0.0, 1.0)
            yield {"a": a, "b": b}, np.sin(2.0 * a) + 0.5 * b + rng.gauss(0.0, 0.05)

    def error(model):
        return statistics.mean(abs(model.predict_one(x) - y) for k in range(4) for x, y in part(k, 200, seed=1))

    models = [learn(river_okl.OKLRegressor(memory=1024), part(k)) for k in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        merged = river_okl.merge(models)
    assert error(merged) < 0.1 < 0.3 < min(map(error, models))


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@each_mixture
def test_strings_and_gaps_are_no_worse_than_in_a_shard(cls, gaps):
    """Each shard has seen some strings only once."""

    def stream(seed, n):
        rng, effects = random.Random(seed), random.Random(0)
        of_word = {(j, level): effects.gauss(0, 1) for j in range(6) for level in range(8)}
        for _ in range(n):
            x = {f"n{j}": rng.gauss(3.0 * j, 1.0) for j in range(3)}
            levels = {j: min(7, int(rng.expovariate(0.6))) for j in range(6)}
            y = sum(0.5 * of_word[each] for each in levels.items()) + x["n0"] - x["n1"] + 3.0 + rng.gauss(0, 0.1)
            x |= {f"s{j}": f"l{level}" for j, level in levels.items()}
            x = {name: v for name, v in x.items() if rng.random() >= gaps}
            yield x, y if cls is river_okl.OKLRegressor else y > 0.0

    def loss(model):
        if cls is river_okl.OKLRegressor:
            return statistics.mean(abs(model.predict_one(x) - y) for x, y in stream(9, 500))
        return statistics.mean(model.predict_one(x) != y for x, y in stream(9, 500))

    for seed in range(2):
        models = [learn(cls(), stream(10 * seed + k, 600)) for k in range(3)]
        assert loss(river_okl.merge(models)) < statistics.mean(map(loss, models))


def test_other_levels_per_model_are_announced():
    parts = [
        [(x, y + level) for x, y in streams.dense(streams.REGRESSION, 600, seed=seed)]
        for seed, level in enumerate((0.0, 500.0))
    ]
    models = [learn(river_okl.OKLRegressor(), part) for part in parts]
    with pytest.warns(UserWarning, match=r"its mean absolute error on them is .*theirs .*units and levels"):
        river_okl.merge(models)
    labels = [[(x, y == k) for x, y in streams.dense(streams.CLASSIFICATION, 600)] for k in range(2)]
    opposite = [learn(river_okl.OKLClassifier(), part) for part in labels]
    with pytest.warns(UserWarning, match=r"its share of errors on them is"):
        river_okl.merge(opposite)


@each_mixture
def test_without_a_memory_there_is_nothing_to_learn(cls):
    models = trained(cls(memory=0), *(streams.dense(task(cls), 60) for _ in "ab"))
    with pytest.raises(ValueError, match=rf"^{cls.__name__}\(memory=0\) does not merge: it remembers no samples"):
        river_okl.merge(models)


def test_the_merge_of_boxes_is_better_than_its_parts():
    """Trees have no sum, but their samples can be learned."""
    rows = list(synth.RandomTree(seed_tree=1, seed_sample=1).take(4500))
    models = trained(river_okl.OKLClassifier(), *(rows[at : at + 1000] for at in range(0, 4000, 1000)))
    right = [sum(model.predict_one(x) == y for x, y in rows[4000:]) for model in (river_okl.merge(models), *models)]
    assert right[0] > max(right[1:])


@each_mixture
@pytest.mark.parametrize("n", [100, 1500])
def test_a_time_is_remembered_as_it_came(cls, n):
    """Its unit follows it, so that scaled values of earlier samples would come back as other times."""
    rng, model = random.Random(1), cls()
    for t in range(n):
        model.learn_one({"time": 1e9 + 60.0 * t, "a": rng.gauss(0, 1)}, float(t % 3 == 0))
    assert [each.x["time"] for each in replay._remembered(model, cls(), 1.0)] == [1e9 + 60.0 * t for t in range(n)]
    again = checkpoint.loads(checkpoint.dumps(model))
    for each in (model, again):
        for t in range(n, n + 50):
            each.learn_one({"a": 1.0, "time": 1e9 + 60.0 * t}, 1.0)
        each._f._check()
    assert pickle.dumps(model) == pickle.dumps(again)
    assert [each.x["time"] for each in replay._remembered(again, cls(), 1.0)][-1] == 1e9 + 60.0 * (n + 49)


def test_a_time_is_remembered_after_its_unit_settled():
    """It rises and then stays: the rows before still need their raw values."""
    model, rng = river_okl.OKLRegressor(memory=512), random.Random(1)
    times = [float(min(t, 1000)) for t in range(2600)]
    for t, time in enumerate(times, start=1):
        model.learn_one({**{f"g{i}": rng.gauss(0, 1) for i in range(8)}, "time": time}, rng.gauss(0, 1))
        if t in (200, 900, 1300, 2600):
            found = [each.x["time"] for each in replay._remembered(model, river_okl.OKLRegressor(), 1.0)]
            np.testing.assert_allclose(found, times[:t][-512:], atol=1e-3)
            model._f._check()
    assert model._f.state()["memory"]["raw"]["places"].size == 0, "no row needs them any more"


def test_features_that_came_later_are_absent_from_earlier_samples():
    model = river_okl.OKLClassifier()
    for t in range(400):
        model.learn_one({"a": t % 5 - 2.0} | ({"b": t % 3 - 1.0} if t >= 250 else {}), t % 2 == 0)
    found = replay._remembered(model, river_okl.OKLClassifier(), 1.0)
    assert [each.age for each in found if "b" not in each.x] == list(range(399, 149, -1))


@pytest.mark.parametrize("part", ["raw", "rows"])
def test_forged_places_of_forgotten_features_are_rejected(part):
    model, rng = river_okl.OKLRegressor(budget=8, memory=64), random.Random(1)
    for t in range(600):
        model.learn_one({f"f{rng.randrange(t, t + 40)}": 1.0, "t": float(t)}, rng.gauss(0, 1))
    make, options, state = model._f.__reduce__()
    free = state["scaler"]["free"]
    places = state["memory"][part]["places"]
    assert len(free) and len(places)
    places[-1] = free[0]
    with pytest.raises(ValueError, match=r"columns of .*do not match"):
        make(*options).restore(state)


@each_mixture
def test_the_largest_values_can_be_learned_again(cls):
    models = [cls(), cls()]
    for model in models:
        for t in range(60):
            model.learn_one({"a": (-1.0) ** t * 1e50, "b": float(t % 7)}, float(t % 2))
    river_okl.merge(models)._f._check()


def test_replayed_samples_do_not_follow_each_other():
    """How often a label stays is learned from samples that follow each other in a stream."""
    samples = streams.dense(streams.CLASSIFICATION, 600)
    models = [learn(river_okl.OKLClassifier(), part) for part in (samples[:300], samples[300:])]
    first, merged = models[0]._f.last_label.state(), river_okl.merge(models)._f.last_label.state()
    assert merged["last"] == -1
    assert merged["counts"].sum() > 1.5 * first["counts"].sum()
    for name in ("followed", "stays"):
        assert merged[name].tolist() == first[name].tolist()


def test_float_labels_are_no_targets():
    parts = [[(x, 1000.0 if y == k else 1.0) for x, y in streams.dense(streams.CLASSIFICATION, 600)] for k in range(2)]
    models = [learn(river_okl.OKLClassifier(), part) for part in parts]
    with pytest.warns(UserWarning, match="its share of errors on them is"):
        river_okl.merge(models)
    for model in models:
        model.learn_one({"x0": 1.0}, "other")
    river_okl.merge(models[:1] * 2)


def test_small_shards_that_overfit_give_no_warning():
    rng = random.Random(1)
    parts = [[({i: rng.gauss(0, 1) for i in range(20)}, rng.random() < 0.5) for _ in range(100)] for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        river_okl.merge([learn(river_okl.OKLClassifier(), part) for part in parts])


@each_mixture
def test_another_budget_keeps_the_samples_of_the_start(cls):
    stream = streams.dense(task(cls), 400)
    start = learn(cls(), stream[:300])
    models = trained(start, stream[300:350], stream[350:])
    assert river_okl.merge(models, start=start, budget=30)._f.seen == 400
    alone = river_okl.merge([models[0]], budget=30)
    assert alone.budget == 30 >= alone.n_support_vectors and alone._f.seen == 350
    with pytest.raises(ValueError, match=r"^budget is 30; OKLDetector has no such parameter"):
        river_okl.merge([river_okl.OKLDetector(seed=1)] * 2, budget=30)


@each_mixture
def test_samples_of_weight_0_are_not_remembered(cls):
    stream = streams.dense(task(cls), 300)
    start = learn(cls(), stream[:200])
    (model,) = trained(start, stream[200:])
    for x, y in stream:
        model.learn_one(x, y, w=0.0)
    assert len(replay._remembered(model, start, 1.0)) == 100
