"""Contributions of features: they add up, are Shapley values, and asking for them changes nothing."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from river import anomaly, base, compose, linear_model, naive_bayes, preprocessing

import river_okl
from river_okl.checkpoint import dumps, loads

OKL = river_okl.OKLClassifier, river_okl.OKLRegressor


def mixed(n, seed=0):
    """Numbers, strings, gaps, and a feature that only some samples have."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        a, b = rng.normal(size=2)
        colour = str(rng.choice(["red", "green", "blue"]))
        x = {"a": a, "b": None if i % 7 == 3 else 100.0 + 5.0 * b, "colour": colour, "count": int(rng.integers(5))}
        if i % 3 == 0:
            x["rare"] = float(rng.integers(1, 4))
        yield x, 3.0 * a + (colour == "red") * 2.0 + b * (i % 7 != 3) + x.get("rare", 0.0)


def dense(n, seed=0, features=7):
    rng = np.random.default_rng(seed)
    for z in rng.normal(size=(n, features)):
        x = {f"x{i}": float(v) for i, v in enumerate(z)}
        yield x, float(math.sin(z[0]) + z[1] * z[2] + 0.5 * z[3])


def trained(cls, stream, **options):
    model = cls(**options)
    for x, y in stream:
        model.learn_one(x, y > 0.0 if cls is river_okl.OKLClassifier else y)
    return model


def total(found):
    return found.base + sum(found.values())


@pytest.mark.parametrize("memory", [0, 8192])
@pytest.mark.parametrize("cls", OKL)
def test_contributions_add_up_to_the_prediction(cls, memory):
    model = trained(cls, mixed(600), memory=memory)
    for x, _ in itertools.islice(mixed(20, seed=1), 20):
        found = model.contributions_one(x, samples=8)
        assert total(found) == pytest.approx(found.prediction, abs=1e-9)
        if cls is river_okl.OKLClassifier:
            assert found.label == model.predict_one(x)
            assert found.prediction == pytest.approx(model.predict_proba_one(x)[found.label], abs=1e-6)
        else:
            assert found.label is None
            assert found.prediction == pytest.approx(model.predict_one(x), rel=1e-6)
        assert set(found) >= set(x) and all(isinstance(name, str) and "=" not in name for name in found)
        assert [*map(abs, found.values())] == sorted(map(abs, found.values()), reverse=True)
    assert "rare" in model.contributions_one({"a": 0.0}) and "colour" in model.contributions_one({"a": 0.0})


@pytest.mark.parametrize("cls", OKL)
def test_a_new_model_explains_nothing(cls):
    model = cls()
    found = model.contributions_one({"a": 1.0})
    assert dict(found) == {"a": 0.0} and found.base == found.prediction and found.samples == 0
    model.learn_one({"a": 1.0}, 1)
    found = model.contributions_one({"a": 2.0})
    assert found.prediction == 1.0 and dict(found) == {"a": 0.0}


@pytest.mark.parametrize("memory", [0, 8192])
def test_background_samples_are_spread_over_those_that_were_learned(memory):
    samples = [{**x, "t": float(t)} for t, (x, _) in enumerate(mixed(1500))]
    model = river_okl.OKLRegressor(memory=memory)
    for t, x in enumerate(samples):
        model.learn_one(x, x["a"])
        background = model._f.background
        rows = [background.sample(i) for i in range(len(background))]
        assert len(rows) == t + 1 if t < 128 else 64 <= len(rows) <= 128
        if t % 50 == 49:
            times = sorted(row["t"] for row in rows)
            assert all(row == samples[int(row["t"])] for row in rows if row["t"] > 30)
            if memory:
                assert times[0] == 0.0 or times[0] < 2 * (times[1] - times[0])
                assert max(np.diff(times)) == min(np.diff(times)) and t - times[-1] < times[1] - times[0]
            else:
                assert times == [float(i) for i in range(max(0, t - 127), t + 1)]
    assert len(rows) > 60


def test_background_samples_of_shards_are_merged():
    samples = [{**x, "t": float(t)} for t, (x, _) in enumerate(mixed(600))]
    shards = [river_okl.OKLRegressor() for _ in range(3)]
    for t, x in enumerate(samples):
        shards[t % 3].learn_one({**x, "own": 1.0} if t % 3 else x, x["a"])
    background = river_okl.merge(shards)._f.background
    rows = [background.sample(i) for i in range(len(background))]
    assert 60 < len(rows) <= 128 and {row["t"] % 3 for row in rows} == {0.0, 1.0, 2.0}
    for row in rows:
        expected = samples[int(row["t"])] | ({"own": 1.0} if row["t"] % 3 else {})
        assert expected.keys() - row.keys() <= {"colour"}, "a string that a shard has seen once"
        assert row == {name: pytest.approx(expected[name], abs=1e-5) for name in row}


def test_levels_that_move_are_those_of_their_time():
    """A memory has scaled values: they would come back in the unit of now."""
    model = trained(river_okl.OKLRegressor, (({"t": float(t), "a": float(t % 7)}, t % 7) for t in range(500)))
    found = model.contributions_one({"t": 500.0, "a": 3.0})
    rows = [model._f.background.sample(i) for i in range(len(model._f.background))]
    assert {row["t"] for row in rows} <= set(map(float, range(500))) and np.mean([row["t"] for row in rows]) < 300.0
    assert found.base == pytest.approx(np.mean([model.predict_one(row) for row in rows]), abs=0.5)


@pytest.mark.parametrize("cls", OKL)
def test_contributions_are_shapley_values(cls):
    """Enumerated over all subsets of seven features, against the same background samples."""
    model = trained(cls, dense(1500), memory=256)
    x = next(dense(1, seed=5))[0]
    n = len(model._f.background)
    found = model.contributions_one(x, samples=n)
    rows = [model._f.background.sample(i) for i in range(n)]
    names = [*x]

    def value(subset):
        predicted = 0.0
        for row in rows:
            z = {name: x[name] if name in subset else row[name] for name in names}
            predicted += model.predict_proba_one(z)[found.label] if found.label is not None else model.predict_one(z)
        return predicted / n

    v = {s: value(s) for k in range(8) for s in itertools.combinations(names, k)}
    for name in names:
        others = [each for each in names if each != name]
        expected = 0.0
        for k in range(7):
            for s in itertools.combinations(others, k):
                joined = tuple(each for each in names if each in {*s, name})
                expected += (v[joined] - v[s]) / (7 * math.comb(6, k))
        assert abs(found[name] - expected) <= 3.0 * found.error[name] + 1e-9, name
    assert found.base == pytest.approx(v[()], abs=1e-6)


def test_a_linear_target_has_coefficient_times_deviation():
    rng = np.random.default_rng(0)
    model, X = river_okl.OKLRegressor(), rng.normal(size=(2000, 4))
    for z in X.tolist():
        model.learn_one(dict(zip("abcd", z, strict=True)), 3.0 * z[0] - 2.0 * z[1] + 0.01 * float(rng.normal()))
    x = {"a": 1.5, "b": 1.0, "c": -1.0, "d": 2.0}
    found = model.contributions_one(x)
    for name, coefficient in {"a": 3.0, "b": -2.0, "c": 0.0, "d": 0.0}.items():
        assert found[name] == pytest.approx(coefficient * x[name], abs=0.1 + 4.0 * found.error[name])
    assert max(abs(found["c"]), abs(found["d"])) < 0.05


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("cls", OKL)
def test_asking_changes_nothing_that_is_learned(cls, delay, keyed):
    models, waiting = [cls(pending=40), cls(pending=40)], []
    for i, (x, y) in enumerate(mixed(260)):
        key = {"key": i} if keyed else {}
        for model in models:
            model.predict_one(x, **key)
        if i % 10 == 9 and i > 50:
            first = models[0].contributions_one({**x, "a": 0.5}, samples=6)
            again = models[0].contributions_one({**x, "a": 0.5}, samples=6)
            assert dict(first) == dict(again) and first.error == again.error
        waiting.append((x, y > 0.0 if cls is river_okl.OKLClassifier else y, key))
        if len(waiting) > delay:
            x, y, key = waiting.pop(0)
            for model in models:
                model.learn_one(x, y, **key)
    assert dumps(models[0]) == dumps(models[1])


def test_a_label_can_be_chosen():
    model = river_okl.OKLClassifier()
    for x, y in dense(600):
        model.learn_one(x, "low" if y < -0.5 else "high" if y > 0.5 else "middle")
    x = next(dense(1, seed=3))[0]
    found = [model.contributions_one(x, label=label) for label in ("low", "middle", "high")]
    assert [each.label for each in found] == ["low", "middle", "high"]
    assert sum(each.prediction for each in found) == pytest.approx(1.0)
    for name in x:  # the same orders and background, so contributions to probabilities add up to 0
        assert sum(each[name] for each in found) == pytest.approx(0.0, abs=1e-9)


def test_errors_name_what_is_wrong():
    model = trained(river_okl.OKLClassifier, dense(50))
    with pytest.raises(ValueError, match="label is 'maybe'; the labels learned so far are"):
        model.contributions_one({"x0": 1.0}, label="maybe")
    with pytest.raises(ValueError, match="samples is 0"):
        model.contributions_one({"x0": 1.0}, samples=0)
    with pytest.raises(TypeError, match="x0"):
        model.contributions_one({"x0": [1.0]})
    pipeline = preprocessing.StandardScaler() | model
    with pytest.raises(ValueError, match="background is missing; give some raw samples"):
        river_okl.contributions_one(pipeline, {"x0": 1.0})
    with pytest.raises(ValueError, match="background is empty"):
        river_okl.contributions_one(pipeline, {"x0": 1.0}, [])
    with pytest.raises(TypeError, match=r"background\[0\] is \(\{'x0': 1.0\}, True\)"):
        river_okl.contributions_one(pipeline, {"x0": 1.0}, [({"x0": 1.0}, True)])
    with pytest.raises(ValueError, match="has no labels"):
        river_okl.contributions_one(river_okl.OKLRegressor(), {"x0": 1.0}, label=True)
    with pytest.raises(ValueError, match="has not learned a label"):
        river_okl.contributions_one(naive_bayes.GaussianNB(), {"x0": 1.0}, [{"x0": 0.0}])
    with pytest.raises(ValueError, match="Nothing predicts None"):
        river_okl.contributions_one(type("Nothing", (), {"predict_one": lambda self, x: None})(), {}, [{}])
    with pytest.raises(TypeError, match="a sample is a dict of features, not 5"):
        river_okl.OKLClassifier().contributions_one(5)
    with pytest.raises(ValueError, match="has no labels"):
        river_okl.contributions_one(river_okl.OKLRegressor(), {"x0": 1.0}, [{"x0": 0.0}], label=True)
    with pytest.raises(TypeError, match="StandardScaler predicts neither"):
        river_okl.contributions_one(preprocessing.StandardScaler(), {"x0": 1.0}, [{"x0": 0.0}])


def test_a_pipeline_is_explained_by_its_raw_features():
    numbers = compose.Select("a") | preprocessing.StandardScaler()
    words = compose.Select("colour") | preprocessing.OneHotEncoder()
    model = numbers + words | preprocessing.TargetStandardScaler(river_okl.OKLRegressor())
    background = []
    for x, y in mixed(500):
        model.learn_one(x, y)
        background.append(x)
    x = background[-1]
    found = river_okl.contributions_one(model, x, background[-100:])
    assert set(found) == {"a", "b", "colour", "count", "rare"}
    assert total(found) == pytest.approx(found.prediction) == pytest.approx(model.predict_one(x))
    assert {found[name] for name in ("b", "count", "rare")} == {0.0}
    assert found["a"] == pytest.approx(3.0 * (x["a"] - np.mean([z["a"] for z in background[-100:]])), abs=1.0)


def test_without_transformers_no_background_is_needed():
    x = next(dense(1))[0]
    for cls, options in zip(OKL, ({"label": False}, {}), strict=True):
        model = trained(cls, dense(200))
        assert dict(river_okl.contributions_one(model, x, **options)) == dict(model.contributions_one(x, **options))


def test_asking_a_pipeline_changes_nothing():
    models = [preprocessing.StandardScaler() | river_okl.OKLClassifier(pending=8) for _ in range(2)]
    waiting = []
    for x, y in dense(120):
        waiting.append((x, y > 0.0))
        for model in models:
            model.predict_one(x)
        river_okl.contributions_one(models[0], x, [x for x, _ in waiting])
        if len(waiting) > 6:
            for model in models:
                model.learn_one(*waiting[0])
            del waiting[0]
    assert dumps(models[0][-1]) == dumps(models[1][-1])


def test_asking_a_pipeline_teaches_its_lags_nothing():
    """They remember what they have transformed, and would forget what waits for its target."""
    stream = [({"a": float(t % 7), "t": float(t)}, float(t % 5)) for t in range(120)]
    models = [river_okl.Lags((1, 2), of=("a",), pending=50) | river_okl.OKLRegressor(budget=8) for _ in range(2)]
    for t, (x, y) in enumerate(stream):
        assert models[0].predict_one(x) == models[1].predict_one(x), t
        for model in models:
            model.learn_one(x, y)
        if t in (60, 90):
            river_okl.contributions_one(models[1], x, [x for x, _ in stream[:t]])


def test_background_samples_have_the_lags_that_are_known():
    """The lag of a hypothetical sample is that of the latest real one, not of another hypothetical sample."""

    class Lag(base.Regressor):
        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return x.get("a_lag1", 0.0)

    model = river_okl.Lags((1,), of=("a",)) | Lag()
    xs = [{"a": float(t), "t": float(t)} for t in range(20)]
    for x in xs:
        model.predict_one(x)
        model.learn_one(x, 0.0)
    found = river_okl.contributions_one(model, {"a": 100.0, "t": 20.0}, xs[:10])
    assert found.prediction == found.base == 19.0 and not any(found.values())


def test_steps_that_do_not_transform_are_left_out():
    model = preprocessing.StandardScaler() | anomaly.QuantileFilter(anomaly.OneClassSVM(nu=0.2), q=0.99)
    model |= linear_model.LinearRegression()
    xs = [{"a": float(t % 7)} for t in range(50)]
    for x in xs:
        model.learn_one(x, x["a"])
    found = river_okl.contributions_one(model, xs[3], xs)
    assert found.prediction == pytest.approx(model.predict_one(xs[3]))


def test_any_model_of_river_is_explained():
    linear, bayes = linear_model.LinearRegression(), naive_bayes.GaussianNB()
    background = [x for x, _ in dense(200)]
    for x, y in dense(200):
        linear.learn_one(x, y)
        bayes.learn_one(x, y > 0.0)
    x = next(dense(1, seed=2))[0]
    found = river_okl.contributions_one(linear, x, background, samples=len(background))
    for name in x:
        mean = np.mean([z[name] for z in background])
        assert found[name] == pytest.approx(linear.weights[name] * (x[name] - mean), abs=1e-9)
    found = river_okl.contributions_one(bayes, x, background)
    assert found.label == bayes.predict_one(x) and total(found) == pytest.approx(found.prediction)


@pytest.mark.parametrize("cls", OKL)
def test_debug_one_prints_what_adds_up(cls):
    model = trained(cls, mixed(400))
    x = next(mixed(1, seed=4))[0]
    found = model.contributions_one(x)
    lines = model.debug_one(x, decimals=3).splitlines()
    assert lines[0].split()[-1] == f"{found.prediction:,.3f}" and lines[1].split()[-1] == f"{found.base:,.3f}"
    assert "red" in lines[-3] + " ".join(lines) or "green" in " ".join(lines) or "blue" in " ".join(lines)
    numbers = [float(line.replace("█", "").split()[-1]) for line in lines[1:-2]]
    assert sum(numbers) == pytest.approx(found.prediction, abs=0.01)
    assert lines[-1].startswith("from ") and "%" in lines[-1]
    assert not hasattr(model, "explain_one")


def test_many_features_are_summed_in_one_line():
    model = trained(river_okl.OKLRegressor, dense(300, features=30))
    x = next(dense(1, seed=4, features=30))[0]
    found = model.contributions_one(x)
    lines = found.largest()
    assert len(lines) == 10 and lines[-1][0] == "21 others"
    assert sum(number for _, _, number in lines) == pytest.approx(sum(found.values()))


def test_names_are_escaped_in_notebooks():
    model = trained(river_okl.OKLRegressor, (({"<b>": x["x0"]}, y) for x, y in dense(200)))
    shown = model.contributions_one({"<b>": 1.0})._repr_html_()
    assert "&lt;b&gt;" in shown and "<b>" not in shown


def test_contributions_are_a_mapping_that_can_be_copied():
    found = trained(river_okl.OKLRegressor, dense(200)).contributions_one(next(dense(1))[0])
    copied = copy.deepcopy(found)
    assert dict(copied) == dict(found) and copied.error == found.error
    assert len(found) == 7 and "x0" in found and repr(found).startswith("Contributions({")


def test_long_names_and_values_that_cannot_be_compared():
    long, model = "n" * 300, river_okl.OKLRegressor()
    for x, _ in dense(300):
        model.learn_one({long: x["x0"], "b": x["x1"]}, 2.0 * x["x0"])
    x, background = {long: 1.0, "b": pd.NA}, [{long: 0.0, "b": pd.NA}]
    found = river_okl.contributions_one(model, x, background)
    assert found.keys() == x.keys() and found[long] == pytest.approx(2.0, abs=0.3)
    own = model.contributions_one(x)
    assert len(own) == 2 and "absent" not in str(own)
    pipeline = compose.Select(long) | model
    assert river_okl.contributions_one(pipeline, x, background).keys() == x.keys()


def test_labels_that_only_the_background_has():
    class Leaf(base.Classifier):
        def learn_one(self, x, y): ...

        def predict_proba_one(self, x):
            return {"A": 1.0} if x["a"] else {"B": 1.0}

    found = river_okl.contributions_one(Leaf(), {"a": 1}, [{"a": 0}], label="B")
    assert (found.base, found.prediction, dict(found)) == (1.0, 0.0, {"a": -1.0})


def test_background_samples_of_wide_streams_stay_small_however_often_they_are_merged():
    rng, model = np.random.default_rng(0), river_okl.OKLRegressor(memory=256)
    for _ in range(200):  # few features, so many rows
        model.learn_one({"a": 1.0, "b": float(rng.normal())}, 0.0)
    for i in range(12):
        shards = [copy.deepcopy(model) for _ in range(2)]
        for shard in shards:
            for _ in range(20):
                shard.learn_one({int(j): 1.0 for j in rng.integers(0, 1500, 60)}, float(i))
        model = river_okl.merge(shards, start=model)
        model._f._check()
    state = model._f.state()["background"]
    features = len(state["values"])
    assert features > 700 and state["values"].shape[1] * features <= 65536 + 8 * features
    assert state["step"] <= 64
    loads(dumps(model))
    assert max(model._f.background.sample(i).keys() & {*range(1500)} != set() for i in range(len(model._f.background)))
