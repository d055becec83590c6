"""Transformers for series: what dates become, and lags that are the same at prediction and when the target comes."""

from __future__ import annotations

import copy
import datetime
import decimal
import inspect
import itertools
import math
import pickle
import random
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from river import base, checks, compose, evaluate, linear_model, metrics, stream

import river_okl
from river_okl import Dates, Lags, checkpoint
from river_okl.model import CompiledModel
from river_okl.series import WEEKDAYS, identity, parsed
from tests.discovery import learn
from tests.test_threads import in_threads

SERIES = {
    name: cls
    for name in river_okl.__all__
    if inspect.isclass(cls := getattr(river_okl, name))
    and issubclass(cls, base.Estimator)
    and not issubclass(cls, CompiledModel)
}
NOON = datetime.datetime(2024, 2, 29, 12, 30)


@pytest.mark.parametrize("cls", SERIES.values(), ids=SERIES)
def test_river_checks(cls):
    for options in cls._unit_test_params():
        for check in checks.yield_checks(cls(**options)):
            check(cls(**options))


# Dates ----------------------------------------------------------------------------------------------------------------


def test_the_features_of_a_date():
    day = 12.5 / 24
    expected = {"t_days": (NOON - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)}
    for name, share in (("year", (59 + day) / 366), ("week", (3 + day) / 7), ("day", day)):
        expected |= {f"t_{name}_sin": math.sin(math.tau * share), f"t_{name}_cos": math.cos(math.tau * share)}
    assert Dates().transform_one({"a": 1, "t": NOON, "b": "x"}) == {
        **{"a": 1, "t_month": 2, "t_day": 29, "t_weekday": 3, "t_hour": 12.5, "b": "x"},
        **{name: pytest.approx(value, rel=1e-12) for name, value in expected.items()},
        **{"t_hour_of_day": "12", "t_day_of_week": "Thursday"},
    }
    numbers = Dates(categories=False).transform_one({"t": NOON})
    assert all(type(value) in (int, float) for value in numbers.values())
    assert numbers.items() < Dates().transform_one({"t": NOON}).items()


def test_days_without_a_time_have_no_hour():
    x, midnight = (Dates().transform_one({"t": t}) for t in (NOON.date(), datetime.datetime(2024, 2, 29)))
    assert x.items() < midnight.items()
    assert midnight.keys() - x.keys() == {"t_hour", "t_day_sin", "t_day_cos", "t_hour_of_day"}


def test_dates_of_every_kind_are_alike():
    pd = pytest.importorskip("pandas")
    expected = Dates().transform_one({"t": NOON})
    for value in (pd.Timestamp(NOON), *(np.datetime64(NOON, unit) for unit in ("m", "s", "ms", "us", "ns"))):
        assert Dates().transform_one({"t": value}) == expected
    day = Dates().transform_one({"t": NOON.date()})
    assert Dates().transform_one({"t": np.datetime64("2024-02-29")}) == day
    for unit in "YMW":
        start = np.datetime64(NOON.date(), unit)
        assert Dates().transform_one({"t": start}) == Dates().transform_one({"t": start.astype("datetime64[D]").item()})
    for gap in (pd.NaT, np.datetime64("NaT")):
        assert Dates().transform_one({"t": gap, "a": 1.0}) == {"a": 1.0}
    with pytest.raises(ValueError, match=r"'t' is np.datetime64.*beyond the years 1 to 9999"):
        Dates().transform_one({"t": np.datetime64("20000-01-01T00")})


def test_local_hours_and_days_that_never_jump():
    """When clocks are put back, the hour after 2 o'clock is 2 o'clock again."""
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime.datetime(2024, 10, 26, 22, tzinfo=datetime.UTC)
    hours = [(start + i * datetime.timedelta(hours=1)).astimezone(berlin) for i in range(5)]
    found = [Dates().transform_one({"t": t}) for t in hours]
    assert [x["t_hour"] for x in found] == [0.0, 1.0, 2.0, 2.0, 3.0]
    steps = np.diff([x["t_days"] for x in found])
    np.testing.assert_allclose(steps, 1 / 24, rtol=1e-6)
    fixed = NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
    x = Dates().transform_one({"t": fixed})
    assert x["t_hour"] == 12.5 and x["t_day"] == 29
    assert x["t_days"] == pytest.approx(Dates().transform_one({"t": fixed.astimezone(datetime.UTC)})["t_days"])


def test_the_days_of_the_week_have_names():
    days = [datetime.date(2024, 1, day) for day in range(1, 8)]
    assert [Dates().transform_one({"t": day})["t_day_of_week"] for day in days] == [*WEEKDAYS]


def test_strings_are_dates_if_asked():
    x = {"t": "2024-02-29T12:30", "s": "2024", "u": "20240229", "v": "2024-02-30"}
    assert Dates().transform_one(x) == x
    found = Dates(strings=True).transform_one(x)
    assert found["t_hour"] == 12.5 and found.items() > {"s": "2024", "u": "20240229", "v": "2024-02-30"}.items()
    assert parsed(" 2024-02-29 12:30:00.5Z ").utcoffset() == datetime.timedelta(0)
    assert parsed("2024-02-29") == datetime.date(2024, 2, 29) and type(parsed("2024-02-29")) is datetime.date
    for other in ("", "12:30", "29.2.2024", "2024-02", "2024-02-29T25:00", "٢٠٢٤-02-29", "2024-02-29 x"):
        assert parsed(other) is None


def test_new_features_replace_none_that_is_given():
    for x in ({"t": NOON, "t_hour": 3.0}, {"t_hour": 3.0, "t": NOON}):
        with pytest.raises(ValueError, match="feature 't_hour' is given, and it is the name of a new one"):
            Dates().transform_one(x)
    lags = Lags()
    lags.learn_one({"y_lag1": 3.0}, 1.0)
    with pytest.raises(ValueError, match="feature 'y_lag1' is given"):
        lags.transform_one({"y_lag1": 3.0})
    with pytest.raises(TypeError, match="categories is 1; it must be True or False"):
        Dates(categories=1)


# Lags -----------------------------------------------------------------------------------------------------------------


class LagsTwin:
    """What was known when a sample was seen first, from the whole past."""

    def __init__(self, lags, of, by):
        self.lags, self.of, self.by = lags, of, by
        self.targets, self.seen, self.first = [], [], {}

    def transform(self, t, x):
        if t not in self.first:
            mine = x.get(self.by)
            past = {"y": [y for g, y in self.targets if g == mine]}
            past |= {name: [z.get(name) for z in self.seen if z.get(self.by) == mine] for name in self.of}
            found = dict(x)
            for name, values in past.items():
                known = {lag: values[-lag] for lag in self.lags if lag <= len(values)}
                known = {lag: value for lag, value in known.items() if value is not None}
                found |= {f"{name}_lag{lag}": value for lag, value in known.items()}
                now = known.pop(min(self.lags), None) if name == "y" else x.get(name)
                if now is not None:
                    found |= {f"{name}_diff{lag}": now - value for lag, value in known.items()}
            self.first[t] = found
            self.seen.append(x)
        return self.first[t]

    def learn(self, t, x, y):
        self.targets.append((x.get(self.by), y))


def sensors(n=200):
    rng = random.Random(1)
    for t in range(n):
        x = {"t": t, "sensor": rng.choice("abc"), "a": rng.gauss(0.0, 1.0), "b": rng.random()}
        if rng.random() < 0.2:
            del x["a"]
        yield x, rng.gauss(0.0, 1.0)


@pytest.mark.parametrize("delay", [1, 7, 24, lambda x, y: random.Random(x["t"]).randrange(1, 30)])
@pytest.mark.parametrize(
    "options", [{}, {"lags": (3, 1, 5), "of": ("a", "b"), "by": "sensor"}, {"of": ("b",)}], ids=str
)
def test_lags_are_those_of_the_first_prediction(delay, options):
    """With labels in time and late, by as much for all or not; every step compared with a naive reference."""
    model, twin = Lags(**options), LagsTwin(options.get("lags", (1, 2, 3)), options.get("of") or (), options.get("by"))
    late = 0
    for i, x, y in stream.simulate_qa(sensors(), "t", delay, copy=True):
        found = model.transform_one(x)
        assert found == twin.transform(i, x)
        if y is not None:
            late += found.keys() != x.keys()
            model.learn_one(x, y)
            twin.learn(i, x, y)
    assert late > 150 and not model._issued


def test_a_model_learns_from_the_features_it_predicted_from():
    """In River's pipeline, by one and by many, where the state has moved when the target comes."""

    class Watched(linear_model.LinearRegression):
        def __init__(self):
            super().__init__()
            self.asked, self.learned = {}, {}

        def predict_one(self, x):
            self.asked[x["t"]] = x
            return super().predict_one(x)

        def learn_one(self, x, y, w=1.0):
            self.learned[x["t"]] = x
            super().learn_one(x, y, w)

    model = Lags((1, 24), of=("b",)) | compose.Discard("sensor") | Watched()
    evaluate.progressive_val_score(sensors(), model, metrics.MAE(), moment="t", delay=24)
    watched = model["Watched"]
    assert len(watched.learned) == 200 and watched.learned == watched.asked
    targets = [y for _, y in sensors()]
    assert [x.get("y_lag1") for x in watched.learned.values()] == [None] * 24 + targets[: 200 - 24]


def test_what_waits_is_bounded():
    model = Lags(pending=10)
    for t in range(50):
        model.transform_one({"t": t})
    assert len(model._issued) == 10
    before = model.transform_one({"t": 45})
    model.learn_one({"t": 10}, 3.0)  # forgotten: learned with what is known now
    assert len(model._issued) == 10 and model.transform_one({"t": 40}).keys() == {"t"}
    assert model.transform_one({"t": 45}) == before
    assert model.transform_one({"t": 60})["y_lag1"] == 3.0


def test_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(river_okl.series, "MAX_GROUPS", 5)
    model = Lags(by="sensor")
    for t, sensor in enumerate([*"abcdea", *"fg"]):
        model.learn_one({"t": t, "sensor": sensor}, float(t))
    for t in range(9):
        assert model.transform_one({"t": t, "sensor": t}).keys() == {"t", "sensor"}
    assert [key[0] for key in model._groups] == [*"deafg"]
    assert model.transform_one({"t": 9, "sensor": "a"})["y_lag1"] == 5.0


def test_groups_of_any_kind():
    model = Lags(by="g")
    for i, g in enumerate((None, math.nan, 1, 1.0, "1", ("a", 2), NOON, np.int64(1))):
        model.learn_one({"i": i, "g": g}, float(i))
    assert list(model._groups) == [(), ("1",), ("('a', 2)",), (str(NOON),), (1.0,)]
    assert checkpoint.dumps(checkpoint.loads(checkpoint.dumps(model))) == checkpoint.dumps(model)


def test_identities():
    """Of equal values of any type, in any process, and of no others."""
    x = {"a": 1, "b": "x", "t": NOON, "g": None}
    assert identity(x) == 18125776190440061657 == identity({"g": math.nan, "t": NOON, "b": "x", "a": np.float64(1.0)})
    others = ({**x, "a": 2}, {**x, "a": "1"}, {**x, "b": "y"}, {"a": 1, "b": "x", "t": NOON}, {**x, "c": 0})
    assert len({identity(x), *map(identity, others)}) == 6


def test_equal_values_of_other_types_are_equal():
    utc = NOON.replace(tzinfo=datetime.UTC)
    for a, b in [
        *((NOON, np.datetime64(NOON)), (NOON, np.datetime64(NOON, "ns")), (NOON.date(), np.datetime64("2024-02-29"))),
        (datetime.datetime(2024, 2, 29), np.datetime64("2024-02-29")),
        (utc, utc.astimezone(datetime.timezone(datetime.timedelta(hours=5)))),
        *(("x", np.str_("x")), (0.0, -0.0), (True, 1), (np.float32(0.5), 0.5)),
        (decimal.Decimal("0.1"), decimal.Decimal("0.10")),
    ]:
        assert identity({"t": a, 1: 2}) == identity({np.str_("t"): b, np.int64(1): 2.0})
    for a, b in [
        *((-1, -2), (1, "1"), (np.int64(2**60 + 1), np.int64(2**60 + 2)), (NOON, utc)),
        *((NOON, NOON.replace(microsecond=1)), (2**61, 1), ("a", "b")),
    ]:
        assert identity({"t": a}) != identity({"t": b})
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp(NOON)
    assert identity({"t": stamp}) == identity({"t": NOON}) != identity({"t": stamp + pandas.Timedelta(1, "ns")})
    assert identity({"t": pandas.NaT}) == identity({"t": None})


def test_a_late_target_of_a_forgotten_group_is_learned(monkeypatch):
    monkeypatch.setattr(river_okl.series, "MAX_GROUPS", 3)
    model = Lags((1,), by="g")
    model.transform_one({"g": "a", "t": 0})
    for t, g in enumerate("bcde"):
        model.learn_one({"g": g, "t": t}, 1.0)
    assert ("a",) not in model._groups
    model.learn_one({"g": "a", "t": 0}, 3.0)
    assert model.transform_one({"g": "a", "t": 9})["y_lag1"] == 3.0 and len(model._groups) == 3


def test_lags_in_unions_and_clones():
    """Both copy attributes one by one."""
    model, lags = (Lags((1,)) + compose.Select("a")) | river_okl.OKLRegressor(budget=12), Lags((1,))
    for i in range(5):
        model.predict_one({"a": i})
        model.learn_one({"a": i}, float(i))
        lags.learn_one({"a": i}, float(i))
    assert model.predict_one({"a": 7}) is not None
    clone = lags.clone(include_attributes=True)
    clone.learn_one({"a": 9}, 9.0)
    assert (lags.transform_one({"a": 10})["y_lag1"], clone.transform_one({"a": 10})["y_lag1"]) == (4.0, 9.0)


def test_labels_have_lags():
    model = Lags((1, 2), of=("c",))
    for i, y in enumerate(("rain", True, np.bool_(False), "sun")):
        model.learn_one({"i": i, "c": y}, y)
    lags = {"y_lag1": "sun", "y_lag2": False, "c_lag1": "sun", "c_lag2": False}
    assert model.transform_one({"i": 9, "c": "x"}) == {"i": 9, "c": "x", **lags}


def test_long_strings_are_not_kept():
    """Neither in histories nor for samples that wait, of features or labels."""
    model = Lags((1, 2), of=("s",))
    for t in range(200):
        x = {"t": t, "s": f"{'x' * 10_000}{t}"}
        assert model.transform_one(x)["s"] is x["s"]
        if t < 100:
            model.learn_one(x, x["s"])
    assert len(model._issued) == 100
    for kept in (pickle.dumps(model), checkpoint.dumps(model)):
        assert len(kept) < 100_000


def test_lags_of_long_strings_are_equal_if_the_strings_are():
    def lag(value):
        model = Lags((1,), of=("s",))
        model.learn_one({"s": value}, value)
        found = model.transform_one({})
        assert found["y_lag1"] == found["s_lag1"] and type(found["y_lag1"]) is str
        return found["s_lag1"]

    text = "é" * 64
    assert lag(text) == text == lag(np.str_(text))
    long = lag(text + "a")
    assert long == lag(np.str_(text + "a")) == f"{'é' * 30}...f8a7c1f3b1b4e854c4f9d6036c85e228"  # in any process
    others = text, long, text + "b", "a" + text, text + "\ud800", text + "a" * 10_000
    assert len({long, *map(lag, others)}) == 7


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "the target is None; lags are made of numbers, strings and bools"),
        *(([1.0], "the target is"), (math.nan, "target is nan"), (math.inf, "target is inf"), (1e60, "target is 1e")),
    ],
)
def test_a_bad_target_changes_nothing(y, message):
    model, frame = learn(Lags(of=("a",)), sensors(20)), pytest.importorskip("pandas").DataFrame
    before = checkpoint.dumps(model)
    with pytest.raises((TypeError, ValueError), match=message):
        model.learn_one({"t": 21, "a": 1.0}, y)
    with pytest.raises((TypeError, ValueError), match=message):
        model.learn_many(frame({"t": [21, 22], "a": 1.0}), [1.0, y])
    for value in (math.inf, NOON, [1.0]):
        with pytest.raises((TypeError, ValueError), match="feature 'a' is "):
            model.transform_one({"t": 22, "a": value})
        with pytest.raises((TypeError, ValueError), match="feature 'a' is "):
            model.learn_many(frame({"t": [21, 22], "a": [1.0, value]}), [1.0, 2.0])
    assert checkpoint.dumps(model) == before


def test_lags_are_a_sequence_or_numbers():
    for lags in (Lags(2, 1), Lags([2, 1]), Lags(range(2, 0, -1)), Lags((2, 1)).clone()):
        assert lags.lags == (2, 1)
    assert Lags(3).lags == (3,) and Lags(3).clone().lags == (3,) and Lags([1], of=["a"]).of == ("a",)


def test_samples_without_dates_stay_as_they_are():
    x = {"a": 1.0, "b": "2024-02-29", "c": None, 4: np.float64(2.0), "d": decimal.Decimal(3), "e": math.nan}
    for model in (Dates(), Dates(categories=False)):
        found = model.transform_one(x)
        assert found == x and found is not x
    assert Dates(strings=True).transform_one({"b": "one-way", "c": "2023-02-29"}) == {"b": "one-way", "c": "2023-02-29"}
    assert [*Dates(strings=True).transform_one(x)][:4] == ["a", "c", 4, "d"], "encoded dates follow the others"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"lags": lags}, "lags is .*integers, such as") for lags in ("1", (), {1, 2}, None)),
        *(({"lags": (0,)}, "a lag is 0; it must be at least 1"), ({"lags": (1.5,)}, "a lag is 1.5")),
        ({"lags": (10_001,)}, "a lag is 10001; it must be at most 10,000"),
        *(({"lags": (1, 1)}, "each lag must be there once"), ({"of": ("y",)}, "'y' is the target")),
        *(({"of": ()}, "of is"), ({"of": "a"}, "of is 'a'; it must be a tuple or list of feature names")),
        ({"of": ("a", "a")}, "of is .*each feature must be there once"),
        *(({"differences": 1}, "differences is 1"), ({"pending": 0}, "pending is 0; it must be at least 1")),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Lags(**options)


# Both -----------------------------------------------------------------------------------------------------------------


def hourly(n=200):
    start = datetime.datetime(2024, 1, 1)
    for i, (x, y) in enumerate(sensors(n)):
        yield {"t": start + i * datetime.timedelta(hours=1), "a": x["b"], "sensor": x["sensor"]}, y


def pipeline():
    return Lags((1, 2), of=("a",), by="sensor") | Dates() | river_okl.OKLRegressor(budget=32)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "checkpoint": lambda model: checkpoint.loads(checkpoint.dumps(model)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_resuming_with_labels_to_come(copied):
    model, other = (Lags((1, 2, 24), of=("a",), by="sensor") for _ in range(2))
    for i, (_, x, y) in enumerate(stream.simulate_qa(hourly(), None, 24, copy=True)):
        if i % 50 == 30:
            other = copied(other)
        assert other.transform_one(x) == model.transform_one(x)
        if y is not None:
            model.learn_one(x, y)
            other.learn_one(x, y)
    assert checkpoint.dumps(other) == checkpoint.dumps(model)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_of_frames_are_samples(library):
    frames = pytest.importorskip(library)
    samples = list(hourly(60))
    one, many = (learn(pipeline(), samples[:20]) for _ in range(2))  # a lag that is not there yet would be a gap
    for k in range(20, 60, 10):
        part = samples[k : k + 10]
        X = frames.DataFrame([x for x, _ in part])
        found = many.predict_many(X)
        np.testing.assert_allclose(list(found), [one.predict_one(x) for x, _ in part], rtol=1e-9, atol=1e-9)
        many.learn_many(X, frames.Series([y for _, y in part]))
        for x, _ in part:  # as in a frame, all before the first is learned
            one["Lags"].transform_one(x)
        learn(one, part)
    assert one["Lags"]._groups == many["Lags"]._groups and not many["Lags"]._issued
    X = frames.DataFrame({"t": [NOON, None], "a": [1.0, 2.0]})
    found = Dates().transform_many(X)
    assert type(found) is type(X) and list(found["a"]) == [1.0, 2.0] and "t" not in list(found.columns)
    if library == "pandas":
        mixed = frames.DataFrame({"t": [NOON, None, math.nan, "soon"], "c": ["x", None, "y", "z"]}, dtype=object)
        found = Dates().transform_many(mixed)
        assert found["t"].tolist()[3] == "soon" and found["t"].isna().tolist() == [True] * 3 + [False]
        assert "t" not in Dates().transform_many(mixed[:3]).columns
        texts = frames.DataFrame({"t": ["2024-02-29", None]}, dtype=object)
        assert "t" not in Dates(strings=True).transform_many(texts).columns
        assert list(Dates().transform_many(texts).columns) == ["t"]
        assert list(Dates().transform_many(X.set_index(X.index + 7)).index) == [7, 8]
    assert list(Dates().transform_many(X[:0]).columns)


def test_merged_lags(monkeypatch):
    start = learn(Lags((1, 2), by="sensor"), itertools.islice(sensors(), 30))
    *shards, everything = (copy.deepcopy(start) for _ in range(4))
    for x, y in itertools.islice(sensors(), 30, None):  # by group
        shards["abc".index(x["sensor"])].learn_one(x, y)
        everything.learn_one(x, y)
    for i, shard in enumerate(shards):
        shard.transform_one({"t": 1000 + i, "sensor": "abc"[i]})
    merged = river_okl.merge(shards, start=start)
    assert merged._groups == everything._groups and len(merged._issued) == 3
    assert checkpoint.dumps(river_okl.merge(shards[::-1], start=start)) == checkpoint.dumps(merged)
    models = [pipeline() for _ in range(2)]
    for i, (x, y) in enumerate(hourly()):
        models[i % 2].learn_one(x, y)
    merged = river_okl.merge(models)
    assert merged["Lags"]._groups.keys() == {("a",), ("b",), ("c",)} and merged.predict_one(x) is not None
    monkeypatch.setattr("river_okl.merging.pipelines.MAX_GROUPS", 2)
    assert len(river_okl.merge(models)["Lags"]._groups) == 2


def test_threads_transform_and_learn_together():
    model = Lags(of=("a",), by="sensor")

    def work(i):
        for x, y in sensors(300):
            x["t"] += 1000 * i
            before = model.transform_one(x)
            assert model.transform_one(x) == before
            model.learn_one(x, y)
            if x["t"] % 50 == 0:
                checkpoint.loads(checkpoint.dumps(model))

    in_threads(4, work)
    assert sum(group[0] for group in model._groups.values()) == 1200


def test_several_features_identify_a_series():
    """Each combination of values has its own history; a gap is a value, unless all are gaps."""
    lags = Lags(1, by=["shop", "item"])
    xs = [{"shop": "A", "item": 1}, {"shop": "A", "item": 2}, {"shop": "A"}, {"item": 1}, {}]
    for i, x in enumerate(xs):
        lags.learn_one({"t": 0, **x}, 10.0 + i)
    assert [lags.transform_one({"t": 1, **x})["y_lag1"] for x in xs] == [10.0, 11.0, 12.0, 13.0, 14.0]


def test_a_tuple_may_be_the_name_of_the_feature_that_identifies_a_series():
    lags = Lags(1, by=("meter", "id"))
    for i, meter in enumerate("AB"):
        lags.learn_one({"t": 0, ("meter", "id"): meter}, float(i))
    assert [lags.transform_one({"t": 1, ("meter", "id"): meter})["y_lag1"] for meter in "AB"] == [0.0, 1.0]


@pytest.mark.parametrize("parameter", ["by", "of"])
def test_names_that_cannot_be_names_are_an_error(parameter):
    with pytest.raises(TypeError, match=f"{parameter} is .*names of features"):
        Lags(1, **{parameter: [{}]})
