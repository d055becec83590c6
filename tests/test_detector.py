"""OKLDetector: its reference, calibration, contamination, drift, strings, explanations, states, merging."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random

import numpy as np
import pytest
from river import anomaly
from river.datasets import synth

import river_okl
from river_okl import checkpoint
from river_okl._core.detector import Detector
from river_okl._core.window import Window
from tests import streams
from tests.discovery import snapshot
from tests.reference.detector import Detector as Twin
from tests.reference.detector import Window as TwinWindow


def gauss(n=8000, d=4, seed=0, centre=0.0):
    rng = random.Random(seed)
    return [{f"x{j}": rng.gauss(centre, 1.0) for j in range(d)} for _ in range(n)]


def scores(model, samples):
    """Each sample scored, then learned."""
    found = []
    for x in samples:
        found.append(model.score_one(x))
        model.learn_one(x)
    return np.array(found)


# The reference --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [7, 40, 1000])
@pytest.mark.parametrize("values", ["distinct", "ties"])
def test_a_window_matches_its_definition(most, values):
    rng = random.Random(most)
    window, twin = Window(most, 0.1), TwinWindow(most, 0.1)
    for _ in range(300):
        value = rng.gauss(0, 1) if values == "distinct" else float(rng.randrange(6))
        for asked in (value, value + 0.5, 100.0, -100.0):
            assert window.level(asked) == pytest.approx(twin.level(asked), rel=1e-12)
        window.restore(np.array([value]))
        twin.add(value)
        window._check()
    assert window.state().tolist() == twin.values


def test_levels_rise_with_values():
    """Where ranks end and the tail begins, and beyond all values."""
    window, rng = Window(500, 0.1), random.Random(3)
    for _ in range(500):
        window.restore(np.array([round(rng.expovariate(1.0), 1)]))
    levels = [window.level(0.013 * i) for i in range(1000)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(levels)) and levels[-1] > 8.0


@pytest.mark.parametrize("kind", ["dense", "sparse", "emerging", "duplicates", "anomalies", "moved"])
@pytest.mark.parametrize("budget", [2048, 40])
def test_it_matches_its_reference(kind, budget):
    """Numbers and scores at every step; dot products are in single precision, so ranks are of the model's numbers."""
    if kind in streams.KINDS:
        samples = [x for x, _ in streams.KINDS[kind](streams.CLASSIFICATION, n=400 if kind == "dense" else 250)]
    else:
        rng, samples = random.Random(1), gauss(1100, d=2)
        for t in range(600, 600 + (60 if kind == "anomalies" else 500)):
            samples[t] = {"x0": 9.0 + rng.gauss(0, 0.1), "x1": 8.0}
    detector, twin = Detector(budget=budget, key=7), Twin(7, budget)
    for t, x in enumerate(samples):
        w = 1.0 if kind != "dense" else (1.0, 0.3, 0.0, 7.0)[t % 4]
        z, expected = twin.ask(x)
        numbers, largest = detector.numbers(x)
        if kind == "duplicates":  # of equal points any may be among the nearest, and they have different radii
            expected = [*expected[:2], numbers[2], *expected[3:]]
        assert numbers == pytest.approx(expected, rel=1e-3, abs=2e-2), t
        if twin.points:
            twin.own += numbers[2] - expected[2]
        if t % 20 == 0 and kind == "dense":
            explained = detector.explained(x)
            assert explained == pytest.approx(twin.explain(z), rel=1e-3, abs=1e-3)
            assert list(explained.values()) == sorted(explained.values(), reverse=True)
        score = detector.score(x)
        q, share = twin.learn(x, z, numbers, w)
        assert (largest, score) == pytest.approx((q, share), rel=1e-9, abs=1e-12), t
        detector.learn(x, w)
        assert len(detector) == len(twin.points)
    state = detector.state()
    if kind != "duplicates":
        assert state["radii"] == pytest.approx(twin.radii, abs=2e-2)
    found = [state[name] for name in ("tokens", "crowd", "candidates")]
    assert found == pytest.approx([twin.tokens, twin.crowd, twin.candidates])
    for i, point in enumerate(twin.points):
        assert {k: v for k, v in point.items() if v} == pytest.approx(detector.points.point(i), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("n", [20, 300])
def test_features_that_predict_each_other_match_the_reference(n):
    """Of n features, three hundred of which are too many, and most of which come late."""
    rng, detector, twin = random.Random(n), Detector(key=7), Twin(7)
    for t in range(120):
        cause = rng.gauss(0, 1)
        x = {f"f{j}": cause + rng.gauss(0, 0.5) for j in range(n) if j < 2 or rng.random() < t / 240}
        z, expected = twin.ask(x)
        numbers, _ = detector.numbers(x)
        assert numbers[4] == pytest.approx(expected[4], rel=1e-6, abs=1e-6), t
        if twin.points:
            twin.own += numbers[2] - expected[2]
        twin.learn(x, z, numbers)
        detector.learn(x, 1.0)
    assert twin.residuals.n == detector.state()["residuals"]["n"] and len(twin.residuals.names) == min(n + 1, 256)


def square(triangle):
    rows = math.isqrt(2 * len(triangle))
    found = np.zeros((rows, rows))
    found[np.tril_indices(rows)] = triangle
    return found + np.tril(found, -1).T


def test_forgotten_features_leave_the_regression():
    """As if there had never been a row for them in the sums."""
    f, forgotten = Detector(key=1, budget=3), 0
    f.learn({}, 1.0)
    for t in range(400):
        before = f.state()
        x = {f"u{t // 3 + j}": 1.0 for j in range(3)}  # each is scaled to itself
        f.learn(x, 1.0)
        after = f.state()
        place, later = (
            {name: 1 + i for name, i in zip(state["scaler"]["names"], state["scaler"]["places"], strict=True)}
            for state in (before, after)
        )
        if not place.keys() - later.keys() or after["residuals"]["n"] == before["residuals"]["n"]:
            continue
        forgotten += 1
        old, new = square(before["residuals"]["inverse"]), square(after["residuals"]["inverse"])
        places = {**place, **{name: later[name] for name in later.keys() - place.keys()}}
        known = [0, *sorted(i for i in place.values() if old[i, i] > 0.0)]
        begun = [*known, *(places[name] for name in x if places[name] not in known)]
        sums = (1.0 + 0.05 * (before["residuals"]["n"] - 1)) * np.eye(len(begun))
        sums[: len(known), : len(known)] = np.linalg.inv(old[np.ix_(known, known)])
        v = np.array([1.0, *(float(i in {places[name] for name in x}) for i in begun[1:])])
        sums += np.outer(v, v)
        if after["residuals"]["next"] in begun:
            i = begun.index(after["residuals"]["next"])
            sums[i, i] += 0.05 * len(new)
        kept = [k for k, i in enumerate(begun) if i == 0 or i in later.values()]
        at = [begun[k] for k in kept]
        assert new[np.ix_(at, at)] == pytest.approx(np.linalg.inv(sums[np.ix_(kept, kept)]), rel=1e-9, abs=1e-12)
        assert not np.delete(new, at, axis=0).any()
    assert forgotten >= 3


def test_old_samples_count_half():
    f = Detector(key=1)
    for x in gauss(200):
        f.learn(x, 1.0)
    other, state = Detector(), f.state()
    n, inverse = state["residuals"]["n"], state["residuals"]["inverse"]
    state["residuals"] |= {"n": 2 * 8192 - 1, "inverse": inverse * n / (2 * 8192 - 1)}
    other.restore(state)
    other.learn(dict.fromkeys(gauss(1)[0], 0.1), 1.0)
    other._check()
    half = other.state()["residuals"]
    assert half["n"] == 8192 and half["inverse"] * 8192 == pytest.approx(inverse * n, rel=1e-3, abs=1e-3)


# Rates of false alarms ------------------------------------------------------------------------------------------------


def sluggish(rng):
    x = [0.0] * 4
    while True:
        x = [0.98 * v + 0.2 * rng.gauss(0, 1) for v in x]
        yield {f"x{j}": v for j, v in enumerate(x)}


def categories(rng):
    while True:
        yield {f"x{j}": f"{int(rng.expovariate(1.0))}" for j in range(6)}


DRIFT = {"seed_model": 1, "seed_sample": 1, "n_features": 5, "change_speed": 0.001, "n_drift_centroids": 20}
STREAMS = {
    "gauss": gauss,
    "waveform": lambda: (x for x, _ in synth.Waveform(seed=2)),
    "drifting": lambda: (x for x, _ in synth.RandomRBFDrift(**DRIFT)),
    "rising": lambda: ({name: v + t / 800 for name, v in x.items()} for t, x in enumerate(gauss())),
    "sluggish": lambda: sluggish(random.Random(0)),
    "categories": lambda: categories(random.Random(0)),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_thresholds_are_rates_of_false_alarms(stream):
    found = scores(river_okl.OKLDetector(seed=1), itertools.islice(STREAMS[stream](), 8000))
    assert found[0] == 0.0 and found.min() >= 0.0 and found.max() < 1.0
    late = found[1000:]
    # ranks of strings in thousands of combinations end early, and a tail is not trusted to go on there
    # "sluggish" wanders, and its tail with it: with other seeds 1.3 to 2.3 %
    assert (
        (0.001 if stream == "categories" else 0.005)
        <= np.mean(late > 0.99)
        <= (0.02 if stream == "sluggish" else 0.015)
    )
    assert np.mean(late > 0.999) <= 0.004
    assert np.mean(late > 0.9) == pytest.approx(0.1, abs=0.05)
    assert np.mean(late > 0.5) == pytest.approx(0.5, abs=0.07)


def words(n, most, skew, seed):
    rng = random.Random(seed)
    for _ in range(n):
        yield {f"w{int(most * rng.random() ** skew)}": 1 for _ in range(10)}


@pytest.mark.parametrize(("most", "skew"), [(200, 1), (500, 2), (2000, 3)])
def test_bags_of_words_have_no_bursts_of_alarms(most, skew):
    """The first sample is no point: without a feature it would be the nearest one of all until it is dropped."""
    found = scores(river_okl.OKLDetector(seed=1), words(5000, most, skew, 1))
    assert max(np.mean(found[t : t + 500] > 0.99) for t in range(0, 5000, 100)) < 0.08


DISCRETE = {
    "constant": lambda rng, t: 1.0,
    "zero": lambda rng, t: 0.0,
    "one word": lambda rng, t: "x",
    "coin": lambda rng, t: float(rng.random() < 0.5),
    "True or False": lambda rng, t: rng.random() < 0.5,
    "mostly True": lambda rng, t: rng.random() < 0.9,
    "die": lambda rng, t: rng.randrange(6),
    "alternating": lambda rng, t: t % 2,
    "alternating words": lambda rng, t: "ab"[t % 2],
    "every hour": lambda rng, t: f"{t % 24}",
    **{f"{n} words": lambda rng, t, n=n: f"{rng.randrange(n)}" for n in (2, 3, 4, 6, 9, 13, 20)},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", DISCRETE)
def test_few_values_raise_few_alarms(name, seed):
    """Equal samples are as strange as each other, though what the model knows of them differs from time to time."""
    rng, model = random.Random(seed), river_okl.OKLDetector(seed=1)
    found = scores(model, [{"a": DISCRETE[name](rng, t)} for t in range(3000)])
    assert np.mean(found[600:] > 0.99) <= 0.015
    assert found.max() < 1.0
    assert model.score_one({"a": 50.0}) > 0.99 or model.score_one({"a": "something else"}) > 0.99


def test_samples_are_equal_whatever_the_order_of_their_features():
    model, rng = river_okl.OKLDetector(seed=1), random.Random(0)
    xs = [{"a": rng.randrange(2), "b": f"{rng.randrange(2)}", "c": 1.0} for _ in range(1000)]
    scores(model, xs)
    identities = model._f.state()["identities"]
    assert len({*identities.tolist()[10:]}) == 4
    model.learn_one({"c": 1.0, "b": xs[-1]["b"], "zero": 0.0, "a": xs[-1]["a"]})
    assert model._f.state()["identities"][-1] == identities[-1]


def test_nothing_is_strange_before_anything_is_known():
    model = river_okl.OKLDetector(seed=1)
    for x in ({}, {"x": 1.0}, {"x": math.nan}, {"colour": "red"}):
        assert model.score_one(x) == 0.0
    assert model.explain_one({"x": 1.0}) == {"x": 0.0}


# Contamination and drift ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_bursts_do_not_hide_themselves(spread):
    """A hundred equal anomalies, three times, twice within the 4,096 scores that are remembered."""
    rng, samples = random.Random(2), gauss(9000, d=6)
    bursts = (3000, 5000, 8000)
    for start in bursts:
        for t in range(start, start + 100):
            samples[t] = {f"x{j}": 3.0 + spread * rng.gauss(0, 1) for j in range(6)}
    found = scores(river_okl.OKLDetector(seed=1), samples)
    for start in bursts:
        assert np.mean(found[start : start + 100] > 0.99) >= 0.95
        assert np.mean(found[start + 100 : start + 600] > 0.99) <= 0.03


def contaminated(share, value):
    """The scores of samples, and which of them are strange: all their values are drawn like this."""
    rng, samples = random.Random(3), gauss(6000, d=5)
    strange = np.array([rng.random() < share for _ in samples])
    for t in np.flatnonzero(strange):
        samples[t] = {name: value(rng) for name in samples[t]}
    return scores(river_okl.OKLDetector(seed=1), samples), strange


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_contamination_hides_nothing(share):
    """Anomalies around the same two places all along."""
    found, strange = (a[500:] for a in contaminated(share, lambda rng: rng.choice((-4.0, 4.0)) + rng.gauss(0, 1)))
    ranks = np.argsort(np.argsort(found))
    area = (ranks[strange].mean() - (strange.sum() - 1) / 2) / (~strange).sum()
    assert area > 0.99


def test_equal_anomalies_are_not_learned():
    found, strange = (a[1000:] for a in contaminated(0.02, lambda rng: 2.5))
    assert np.mean(found[strange] > 0.95) > 0.97


def test_a_new_state_is_learned():
    """After a jump everything is strange for a while, and nothing is later; the old state is strange then."""
    model = river_okl.OKLDetector(seed=1)
    scores(model, gauss(3000))
    found = scores(model, gauss(8000, centre=6.0, seed=1))
    assert np.mean(found[:100] > 0.99) > 0.95
    assert np.mean(found[300:] > 0.99) <= 0.02
    assert np.mean([model.score_one(x) for x in gauss(200, seed=2)]) > 0.95


# Features -------------------------------------------------------------------------------------------------------------


def orders(n, seed=1):
    """Strings, gaps, a feature that comes and one that goes."""
    rng = random.Random(seed)
    for t in range(n):
        paid = rng.choice(["card", "card", "cash"])
        x = {"paid": paid, "amount": rng.gauss(20.0 if paid == "card" else 5.0, 2.0), "user": f"user {rng.random()}"}
        x["age"] = None if rng.random() < 0.1 else rng.gauss(40, 5)
        x |= {"old": rng.gauss(0, 1)} if t < 400 else {"new": rng.gauss(0, 1)}
        yield x


USUAL = {"paid": "cash", "amount": 5.0, "age": 40.0, "user": "somebody", "new": 0.0}


def test_strings_and_gaps():
    model = river_okl.OKLDetector(seed=1)
    found = scores(model, orders(3000))
    assert 0.003 <= np.mean(found[1000:] > 0.99) <= 0.02
    assert model.score_one(USUAL) < 0.9
    assert model.score_one({**USUAL, "amount": 20.0}) > 0.95, "an amount that is usual with a card"
    assert model.score_one({**USUAL, "age": math.nan}) == model.score_one({**USUAL, "age": None}) < 0.98
    model._f._check()


def test_explanations_name_the_strange_features():
    model = river_okl.OKLDetector(seed=1)
    scores(model, orders(2000))
    assert next(iter(model.explain_one({**USUAL, "age": 90.0}))) == "age"
    assert next(iter(model.explain_one({**USUAL, "new": -8.0}))) == "new"
    both = model.explain_one({**USUAL, "paid": "card", "new": 8.0, "age": 75.0})
    assert {*both} >= {"age", "new", "amount", "paid=card", "paid=cash"}
    assert list(both.values()) == sorted(both.values(), reverse=True)


# Weights --------------------------------------------------------------------------------------------------------------


def test_weights_are_relative():
    """Equal weights are the same as none, and heavy samples are kept more often."""
    models = [river_okl.OKLDetector(seed=1) for _ in range(3)]
    for x in gauss(9000, d=2):
        for model, w in zip(models, (1.0, 4.0, 3.0 if x["x0"] > 0.0 else 1.0), strict=True):
            model.learn_one(x, w)
    one, other, heavy = ([model._f.points.point(i) for i in range(len(model._f))] for model in models)
    assert one == other
    right = [np.mean([z["x0"] > 0.0 for z in points]) for points in (one, heavy)]
    assert right[0] == pytest.approx(0.5, abs=0.06) and right[1] > 0.62


def test_alarms_register_no_words():
    model = river_okl.OKLDetector(seed=1)
    known = {"x0": 0.1, "x1": 0.2, "w": "W"}
    for x in (*gauss(1500, d=2), known, *({"x0": 50.0 + i, "x1": -50.0} for i in range(40)), known | {"x0": 500.0}):
        model.learn_one(x)  # the last alarms are not learned
    copied = pickle.loads(pickle.dumps(model))
    for i, x in enumerate(gauss(6000, d=2, seed=2)):
        model.learn_one(x | {"w": f"w{i}"})
        copied.learn_one(x | {"w": f"w{i}"})
    assert model.score_one(known) == copied.score_one(known)


# Together with River --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrapper", "most"),
    [
        (lambda model: anomaly.QuantileFilter(model, q=0.98, protect_anomaly_detector=False), 0.03),
        (lambda model: anomaly.QuantileFilter(model, q=0.98), 0.05),
        (lambda model: anomaly.ThresholdFilter(model, threshold=0.99), 0.2),
    ],
)
def test_it_works_in_rivers_filters(wrapper, most):
    """By default they withhold from the detector what is above the threshold: its share grows, but stays bounded."""
    model, rng, caught, alarms = wrapper(river_okl.OKLDetector(seed=1)), random.Random(0), [], []
    for t, x in enumerate(gauss()):
        strange = rng.random() < 0.01
        x = dict.fromkeys(x, 5.0) if strange else x
        alarm = model.classify(model.score_one(x))
        if t > 500:
            (caught if strange else alarms).append(alarm)
        model.learn_one(x)
    assert np.mean(caught) > 0.9 and np.mean(alarms) < most


@pytest.mark.parametrize("d", [10, 100])
def test_one_broken_sensor_of_many_raises_an_alarm(d):
    """Distances and sums over many features hide a single one."""
    rng, model, found, others = random.Random(d), river_okl.OKLDetector(seed=1), [], []
    for t in range(2400):
        x = {f"s{j}": rng.gauss(0.0, 1.0) for j in range(d)}
        broken = t > 1000 and t % 200 == 0
        if broken:
            x["s3"] = 1e6
        if t > 1000:
            (found if broken else others).append(model.score_one(x) > 0.99)
        model.learn_one(x)
    assert np.mean(found) > 0.8 and np.mean(others) < 0.015


def test_a_density_that_vanishes_is_a_finite_number():
    """A detector that had seen such a sample could be saved and not loaded."""
    model = river_okl.OKLDetector(seed=1)
    for x in [{}, {}, {}, *[{"a": 0}] * 3, {"a": 1}, {"a": 0}, {"a": 1e6}, {}, {}, {}, {"n": 1}]:
        model.score_one(x)
        model.learn_one(x)
        assert snapshot(copy.deepcopy(model)) == snapshot(model)
    assert checkpoint.loads(checkpoint.dumps(model)).score_one({"a": 2}) == model.score_one({"a": 2})


# The core -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokens", 13.0), ("crowd", 1.5), ("crowd", math.nan), ("seen", -1), ("random", 2**32), ("typical", math.inf),
        ("weight", -1.0), ("radii", np.zeros(3)), ("scores", np.full(5000, 0.5)),
        ("scales", [np.zeros(2)] * 3), ("scores", np.full(49, math.nan)), ("ranked", 51), ("ranked", 40),
        ("identities", np.zeros(49)), ("residuals", {"n": 50, "next": 9, "inverse": np.zeros(15)}),
    ],
)  # fmt: skip
def test_altered_states_are_rejected(name, value):
    f = Detector(key=1)
    for x in gauss(50):
        f.learn(x, 1.0)
    with pytest.raises(ValueError):
        Detector().restore(f.state() | {name: value})
    Detector().restore(f.state())


def test_it_is_small_at_first():
    model, most = river_okl.OKLDetector(seed=1), {0: 30_000, 99: 80_000, 5999: 1_000_000}
    for t, x in enumerate(gauss(6000, d=20)):
        model.learn_one(x)
        assert t not in most or model._raw_memory_usage < most[t]


# Merging --------------------------------------------------------------------------------------------------------------


def shards(stream, n, start=None):
    models = [copy.deepcopy(start) if start else river_okl.OKLDetector(seed=i) for i in range(n)]
    for i, model in enumerate(models):
        scores(model, stream[i::n])
        model.seed = start.seed if start else None
    return models


@pytest.mark.parametrize("with_start", [False, True])
def test_a_merged_detector_knows_all_streams(with_start):
    """Each shard saw one of three states only, after a common start in all of them."""
    samples = [*itertools.chain(*zip(*(gauss(1500, centre=8.0 * i, seed=i) for i in range(3)), strict=True))]
    start = river_okl.OKLDetector(seed=1) if with_start else None
    if with_start:
        scores(start, samples[:900])
    models = shards(samples, 3, start)
    merged = river_okl.merge(models, start=start)
    merged._f._check()
    assert 4000 < merged._f.seen < 6200 and len(merged._f) <= 2048
    if with_start:  # the others have no seed
        assert pickle.dumps(merged) == pickle.dumps(river_okl.merge(models, start=start))
    for i in range(3):
        own = gauss(200, centre=8.0 * i, seed=10 + i)
        assert np.mean([merged.score_one(x) > 0.99 for x in own]) < 0.1
        assert with_start or np.mean([models[i - 1].score_one(x) > 0.99 for x in own]) > 0.9
    assert merged.score_one({f"x{j}": 40.0 for j in range(4)}) > 0.995
    assert np.mean(scores(merged, samples) > 0.99) < 0.03
    assert checkpoint.loads(checkpoint.dumps(merged)).score_one(samples[0]) == merged.score_one(samples[0])


def test_the_union_of_few_points_is_kept():
    samples = [*orders(300)]
    models = shards(samples, 2)
    merged = river_okl.merge(models)
    assert 290 <= len(merged._f) <= 300, "but for equal ones, and alarms"
    amounts = [x["amount"] for x in samples]
    assert merged._f.scaler.statistics()["amount"][0] == pytest.approx(np.mean(amounts), rel=0.01)
    scores(merged, orders(300, seed=2))
    merged._f._check()


def test_a_merged_detector_gives_few_alarms():
    """Anomalies are among the latest levels, although they are not among the points that are learned again."""
    models = shards(gauss(4500), 3)
    merged = river_okl.merge(models)
    assert np.mean([merged.score_one(x) > 0.99 for x in gauss(1000, seed=77)]) < 0.05


@pytest.mark.parametrize("n", [25, 250])
def test_detectors_that_merge_in_rounds_stay_sharp(n):
    start, stream = river_okl.OKLDetector(seed=1), gauss(2000 + 5 * 4 * n)
    scores(start, stream[:2000])
    for r in range(5):
        models = [copy.deepcopy(start) for _ in range(4)]
        for i, model in enumerate(models):
            scores(model, stream[2000 + (4 * r + i) * n :][:n])
        start = river_okl.merge(models, start=start)
    assert np.mean([start.score_one(x) > 0.95 for x in gauss(600, seed=77)]) < 0.12
    assert np.mean([start.score_one({**x, "x0": 6.0}) > 0.95 for x in gauss(100, seed=78)]) > 0.9
