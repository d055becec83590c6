"""Units of features, targets and weights: sudden changes are followed, gradual ones are converted exactly."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import river_okl
from tests import streams
from tests.reference import okl as reference

FIVE = range(5)


def targets_of(Z, numbers):
    """A smooth target of standardised features, or its sign."""
    f = np.sin(1.5 * Z[:, 0]) + 0.7 * Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3]
    return 10.0 + 2.0 * f if numbers else f > 0.0


def errors(model, X, y, weights=None):
    """The error of each prediction; every sample is learned afterwards."""
    found = []
    for x, target, w in zip(X.tolist(), y.tolist(), weights or [1.0] * len(y), strict=True):
        sample = dict(enumerate(x))
        found.append(abs((model.predict_one(sample) or 0.0) - target))
        model.learn_one(sample, target, w)
    return np.array(found)


def changed(X, at, columns, offset=0.0, factor=1.0):
    X = X.copy()
    X[at:, columns] = factor * X[at:, columns] + offset
    return X


CHANGES = {
    "five deviations": {"offset": 5.0},
    "a hundred deviations": {"offset": 100.0},
    "a thousand deviations": {"offset": 1000.0},
    "times a hundred": {"factor": 100.0},
    "a tenth": {"factor": 0.1},
    "a thousandth": {"factor": 0.001},
}


def steady(cls, seed):
    Z = np.random.default_rng(seed).normal(size=(6000, 5))
    return Z, targets_of(Z, cls is river_okl.OKLRegressor)


@functools.cache
def of_a_new_model(cls, seed):
    Z, y = steady(cls, seed)
    return errors(cls(), Z[2500:], y[2500:])[2000:].mean()


@pytest.mark.parametrize(("columns", "centre"), [([0], 20.0), ([*FIVE], 0.0)], ids=["one", "all"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])
def test_a_new_level_or_unit_is_followed(cls, change, columns, centre):
    """From 2,000 samples on after it, errors are nearly those of a new model."""
    found = []
    for seed in (1, 2):
        Z, y = steady(cls, seed)
        found.append(errors(cls(), changed(Z + centre, 2500, columns, **CHANGES[change]), y)[4500:].mean())
    assert np.mean(found) < 1.5 * np.mean([of_a_new_model(cls, seed) for seed in (1, 2)])


@pytest.mark.parametrize("n", [200, 1000, 2000])
@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])
def test_a_sensor_that_fails_for_a_while_is_used_again(cls, n):
    """Its values are far from 0, which stands for those that are absent; soon after it is as good as before."""
    Z, y = steady(cls, 1)
    model, found = cls(), []
    for t, (z, target) in enumerate(zip(Z.tolist(), y.tolist(), strict=True)):
        x = {i: v + 1013.0 * (i == 0) for i, v in enumerate(z) if i or not 1500 <= t < 1500 + n}
        found.append(abs((model.predict_one(x) or 0.0) - target))
        model.learn_one(x, target)
    assert np.mean(found[2500 + n :]) < 1.3 * np.mean(found[1000:1500])


def test_what_was_learned_in_a_rough_unit_is_corrected():
    """Without noise, too, though a regressor that has seen none trusts what it learned."""
    found = []
    for seed in range(4):
        Z = np.random.default_rng(seed).normal(size=(4600, 3))
        model = river_okl.OKLRegressor()
        found.append(errors(model, changed(Z, 600, [0, 1, 2], factor=0.001), Z[:, 0] * Z[:, 1] + Z[:, 2])[3600:].mean())
    assert np.mean(found) < 0.013


@pytest.mark.parametrize("columns", [[0], [*FIVE]], ids=["one", "all"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_detector_sees_a_feature_in_its_new_unit(change, columns):
    rng, model = np.random.default_rng(2), river_okl.OKLDetector(seed=0)
    X = rng.normal(size=(7000, 5))
    rare = rng.random(7000) < 0.005 * (np.arange(7000) > 2500)
    X[rare, 0] += rng.choice([-10.0, 10.0], rare.sum())
    scores = []
    for x in changed(X, 2000, columns, **CHANGES[change]).tolist():
        scores.append(model.score_one(dict(enumerate(x))))
        model.learn_one(dict(enumerate(x)))
    alarms = np.array(scores[5000:]) > 0.99
    assert alarms[rare[5000:]].mean() >= 0.9
    assert alarms[~rare[5000:]].mean() <= 0.015


@pytest.mark.parametrize("kind", ["level", "levels", "noise"])
@pytest.mark.parametrize("size", [50.0, 9999.0])
def test_bursts_of_outliers_leave_no_trace(kind, size):
    """Ten in a row, every 500 samples: the statistics are those of the other values."""
    rng, model = np.random.default_rng(3), river_okl.OKLRegressor(budget=10)
    values = rng.normal(size=3000)
    for t in range(500, 3000, 500):
        noise = rng.normal(0.0, size, 10)
        values[t : t + 10] = size if kind == "level" else noise[0] if kind == "levels" else noise
    for value in values.tolist():
        model.learn_one({"a": value}, 0.0)
    mean, deviation, _ = model._f.scaler.statistics()["a"]
    assert abs(mean) < 0.1 and abs(deviation - 1.0) < 0.1


def test_rare_spikes_do_not_spoil_a_precise_model():
    """One value in a hundred of a feature is a sensor's error."""
    found = []
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        X, spike = rng.normal(size=(5000, 5)), rng.random(5000) < 0.01
        y = targets_of(X, True)
        X[spike, 0] = 9999.0
        found.append(errors(river_okl.OKLRegressor(), X, y)[2000:][~spike[2000:]].mean())
    assert np.mean(found) < 0.07  # 0.085 if all samples had the same noise


@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_a_larger_unit_of_the_target_is_followed_within_twenty_samples(factor):
    Z = np.random.default_rng(4).normal(size=(3500, 5))
    y = targets_of(Z, True)
    y[3000:] *= factor
    found = errors(river_okl.OKLRegressor(), Z, y) / factor
    assert found[3020:].mean() < 0.4 * y[:3000].std()


@pytest.mark.parametrize("factor", [1e3, 1e4, 1e6, 1e-3])
def test_predictions_stay_near_the_range_of_targets(factor):
    """No further outside of it than it is wide."""
    Z, model = np.random.default_rng(5).normal(size=(1500, 5)), river_okl.OKLRegressor()
    y = targets_of(Z, True)
    y[1000:] *= factor
    low, high = np.inf, -np.inf
    for x, target in zip(Z.tolist(), y.tolist(), strict=True):
        sample = dict(enumerate(x))
        if low <= high:
            lowest, highest = low - (high - low), high + (high - low)
            slack = 1e-9 * max(abs(low), abs(high))  # predictions are rounded
            assert lowest - slack <= model.predict_one(sample) <= highest + slack
        model.learn_one(sample, target)
        low, high = min(low, target), max(high, target)


def test_a_thousand_targets_of_noise_are_forgotten():
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(9000, 5))
    y = targets_of(Z, True)
    plain = errors(river_okl.OKLRegressor(), Z, y)[7000:].mean()
    y[2000:3000] = rng.normal(10.0, 30.0 * y.std(), 1000)
    assert errors(river_okl.OKLRegressor(), Z, y)[7000:].mean() < 3.0 * plain


@pytest.mark.parametrize("heavy", [1, 10])
@pytest.mark.parametrize("weight", [100.0, 1e4, 1e6])
@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])
def test_heavy_first_weights_do_not_silence_the_others(cls, weight, heavy):
    Z = np.random.default_rng(7).normal(size=(4000, 5))
    y = targets_of(Z, cls is river_okl.OKLRegressor)
    weights = [weight] * heavy + [1.0] * (4000 - heavy)
    assert errors(cls(), Z, y, weights)[3000:].mean() < 2.2 * errors(cls(), Z, y)[3000:].mean()


@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor, river_okl.OKLDetector])
def test_units_in_force_are_converted_exactly(cls):
    """Points are the same in the features' own units, and so are functions of them, whatever the units in force.

    So are the values and thresholds of a memory, but distances between bytes are not.
    """
    model, task = cls(), "regression" if cls is river_okl.OKLRegressor else "classification"
    stream = [({name: 3.0 * v + 40.0 for name, v in x.items()}, y) for x, y in streams.dense(task, n=400)]
    for x, y in stream:
        model.learn_one(x) if cls is river_okl.OKLDetector else model.learn_one(x, y)
    moved = copy.deepcopy(model)
    for x, y in stream:  # of weight 0, so that they change units and nothing else
        x = {name: 1.1 * v + 0.5 for name, v in x.items()}
        moved.learn_one(x, w=0.0) if cls is river_okl.OKLDetector else moved.learn_one(x, y, w=0.0)
    f, other = model._f, moved._f
    state = f.state()["scaler"]
    assert state["settled"].all()
    own, units = (
        {name: tuple(unit) for name, unit in zip(state["names"], state["units"].tolist(), strict=True)}
        for state in (state, other.state()["scaler"])
    )
    assert all(units[name][1] > 1.03 * own[name][1] for name in own)
    other._check()
    for i in range(len(f.points)):
        raw = [
            {name: own[name][0] + own[name][1] * value for name, value in f.points.point(i).items()},
            {name: units[name][0] + units[name][1] * value for name, value in other.points.point(i).items()},
        ]
        assert raw[0] == pytest.approx(raw[1], rel=1e-5)
    if cls is river_okl.OKLDetector:
        return
    if cls is river_okl.OKLClassifier:
        compare_memories(f, other, own, units)
        return
    found = np.array([[g.predict(x)[0] for g in (f, other)] for x, _ in stream])
    assert np.mean(np.abs(found[:, 0] - found[:, 1])) < 0.05 * f.state()["size"]  # updates also move the metrics


def compare_memories(f, other, own, units):
    """In the features' own units values, edges and thresholds are the same, and codes and leaves are as they were."""
    memories = [each.state()["memory"] for each in (f, other)]
    names = dict(zip(f.state()["scaler"]["places"].tolist(), f.state()["scaler"]["names"], strict=True))
    by_column = [names[place] for place in memories[0]["rows"]["places"].tolist()]
    for column, name in enumerate(by_column):
        values, edges = (
            [
                unit[name][0] + unit[name][1] * each["rows"][part][column]
                for unit, each in zip((own, units), memories, strict=True)
            ]
            for part in ("values", "edges")
        )
        n = memories[0]["rows"]["n_edges"][column]
        np.testing.assert_allclose(*values, rtol=1e-5)
        np.testing.assert_allclose(edges[0][:n], edges[1][:n], rtol=1e-5)
    trees = [each["trees"] for each in memories]
    split = (trees[0]["thresholds"] < 2.0**99) & (trees[0]["thresholds"] > -(2.0**99))
    assert split.any() and (split == (trees[1]["thresholds"] < 2.0**99) & (trees[1]["thresholds"] > -(2.0**99))).all()
    for tree, node in zip(*np.nonzero(split), strict=True):
        name = by_column[trees[0]["columns"][tree, node]]
        one, other = (
            unit[name][0] + unit[name][1] * each["thresholds"][tree, node]
            for unit, each in zip((own, units), trees, strict=True)
        )
        assert one == pytest.approx(other, rel=1e-5)
    for part, name in (("rows", "codes"), ("trees", "leaf"), ("trees", "sums")):
        assert np.array_equal(*(each[part][name] for each in memories))


def test_units_of_a_drift_match_their_reference():
    """A sensor that drifts is followed after 10,000 values, until it stops; time and a slow season are not."""
    rng, model, twin = np.random.default_rng(0), river_okl.OKLRegressor(memory=0), reference.Scaler()
    for t in range(14_000):
        season = 3.0 * np.sin(2.0 * np.pi * t / 10_000)
        x = {"up": 100 + t / 100, "steep": t / 10, "down": -min(t, 11_800) / 200, "season": season, "time": float(t)}
        x = {name: value + (name != "time") * rng.normal() for name, value in x.items()}
        model.learn_one(x, x["up"])
        twin.learn(x)
        if t % 100 == 0:
            for name, found in model._f.scaler.statistics().items():
                known = twin.known[name]
                assert found[:2] == pytest.approx((known.mean, known.variance**0.5), rel=1e-3), (t, name)
    model._f._check()
    assert [name for name, known in twin.known.items() if known.follows] == ["up", "steep"]
    assert twin.known["up"].variance < 1.2 and twin.known["steep"].variance < 1.2
    assert abs(twin.known["up"].mean - 240.0) < 0.3 and abs(twin.known["steep"].mean - 1400.0) < 0.3
    assert twin.known["season"].variance > 4.0


@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])
def test_a_sensor_that_drifts_is_learned_as_one_that_does_not(cls):
    Z = np.random.default_rng(3).normal(size=(20_000, 5))
    y = targets_of(Z, cls is river_okl.OKLRegressor)
    drifting = Z + np.arange(len(Z))[:, None] / np.array([100.0, np.inf, np.inf, np.inf, 300.0])
    still, found = (errors(cls(), X, y)[-3000:].mean() for X in (Z, drifting))
    assert found < 2.5 * still + 0.01  # not followed: twenty times
