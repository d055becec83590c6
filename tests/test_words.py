"""Strings, None and NaN in samples, for the classes that accept them."""

from __future__ import annotations

import decimal
import itertools
import math
import pickle
import random

import numpy as np
import pytest

import river_okl
from river_okl import checkpoint
from river_okl._core.store.sample import stored
from river_okl._core.store.words import MAX_WORDS, named
from tests import streams
from tests.discovery import CLASSES, each_class, each_of, knowledge, learn, size, small, snapshot, task, unchanged

WORDS = {name: cls for name, cls in CLASSES.items() if cls._takes_words}
NAN = math.nan
each_mixture = each_of(WORDS)


def samples(cls, n=300, seed=1):
    """Numbers, three string columns, bools, and gaps in a numeric and a string column."""
    rng, found = random.Random(seed), []
    for _ in range(n):
        colour, size = rng.choice(["red", "green", "blue"]), rng.gauss(20.0, 5.0)
        gap = rng.random() < (0.4 if colour == "red" else 0.1)
        x = {
            "size": None if gap else size,
            "colour": colour if rng.random() < 0.8 else None,
            "user": f"user {rng.randrange(10**9)}",
            "town": rng.choice(["A", "A", "A", "B"]),
            "flag": rng.random() < 0.5,
        }
        y = (colour == "red") + 0.1 * (size - 20.0) * (x["town"] == "B") + 0.5 * x["flag"]
        found.append((x, y > 0.5 if cls is river_okl.OKLClassifier else y))
    return found


def said(model, xs):
    if hasattr(model, "predict_proba_one"):
        return [model.predict_proba_one(x) for x in xs]
    return [(d.mu, d.sigma) for d in (model.predict_one(x, with_dist=True) for x in xs)]


def words_of(model):
    return {key[1:] for key in model._f.scaler.statistics() if type(key) is tuple}


def test_which_classes_accept_strings():
    assert WORDS.keys() == {"OKLClassifier", "OKLRegressor"}


# Words ----------------------------------------------------------------------------------------------------------------


@each_mixture
def test_a_string_becomes_an_indicator_the_second_time(cls):
    """Its value does not depend on its frequency."""
    model, seen = small(cls, budget=40), set()
    for x, y in streams.dense(task(cls), n=150):
        word = "abc"[int(7 * x["x0"]) % 3]
        before = words_of(model)
        model.learn_one({**x, "word": word}, y)
        assert words_of(model) == before | {("word", word) for word in seen & {word}}
        seen.add(word)
    assert words_of(model) == {("word", word) for word in "abc"}
    points = [z for z, _ in model.support_vectors]
    assert {z[name] for z in points for name in z if "=" in name} == {1.0}


@each_mixture
def test_strings_and_gaps_are_informative(cls):
    """The target depends on a rare town, and on the gaps of a number."""
    rng = random.Random(3)
    model, off = cls(), []
    for _ in range(800):
        town = "far" if rng.random() < 0.15 else "near"
        gap = rng.random() < 0.3
        y = float((town == "far") != gap)
        x = {"town": town, "a": NAN if gap else rng.gauss(100.0, 1.0)}
        off.append(abs((model.predict_one(x) or 0.0) - y))
        model.learn_one(x, y)
    assert np.mean(off[400:]) < 0.02


def test_none_nan_and_na_are_the_same_gap():
    pd = pytest.importorskip("pandas")
    gaps = [None, NAN, np.float32("nan"), decimal.Decimal("nan"), pd.NA, pd.NaT]
    stream, found = samples(river_okl.OKLClassifier, 80), []
    for gap in gaps:
        with_gap = [({**x, "n": float(t % 7), "size": x["size"] or gap}, y) for t, (x, y) in enumerate(stream)]
        model = learn(river_okl.OKLClassifier(budget=30), with_gap)
        found.append(said(model, [{"size": gap}, {"n": gap, "colour": "red"}]))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("scale", [True, False])
@each_mixture
def test_a_gap_counts_as_the_mean_and_an_absent_number_as_0(cls, scale):
    model = cls(scale=scale)
    rng = random.Random(1)  # labels in turn would be predicted from each other
    model.learn_stream(({"a": 49.0 + t % 3, "b": float(t % 5)}, float(rng.random() < 0.5)) for t in range(200))
    scaler = model._f.state()["scaler"]
    mean = scaler["units"][scaler["names"].index("a"), 0] if scale else model._f.scaler.statistics()["a"][0]
    at_mean, gap, absent = (
        [*d.values()] if hasattr(d, "values") else list(d)
        for d in said(model, [{"a": mean, "b": 2.0}, {"a": None, "b": 2.0}, {"b": 2.0}])
    )
    if cls is river_okl.OKLRegressor:  # not its deviation: the first gap is something new
        at_mean, gap, absent = at_mean[:1], gap[:1], absent[:1]
    assert gap == pytest.approx(at_mean, abs=1e-6) and absent != pytest.approx(at_mean, abs=1e-3)


@each_mixture
def test_gaps_do_not_move_the_statistics_and_keep_a_feature_centred(cls):
    model = learn(small(cls), [({"a": None if t % 3 else 7.0 + t % 2}, float(t % 2)) for t in range(100)])
    mean, deviation, centred = model._f.scaler.statistics()["a"]
    assert mean == pytest.approx(7.5, abs=0.02) and deviation == pytest.approx(0.5, abs=0.02) and centred


def test_a_number_that_is_sometimes_a_string():
    """'n/a' among numbers is both a string and a gap of the number."""
    model = river_okl.OKLClassifier()
    model.learn_stream(({"a": "n/a" if t % 4 == 0 else 9.0 + t % 2}, t % 4 == 0) for t in range(100))
    assert words_of(model) == {("a", "n/a")}
    assert model.predict_one({"a": "n/a"}) is True and model.predict_one({"a": 9.0}) is False
    assert model._f.scaler.statistics()["a"][2], "centred: it is there in every sample"


def test_naive_bayes_learns_words():
    """With more than two classes, each with its own strings."""
    model, right = river_okl.OKLClassifier(), 0
    rng = random.Random(1)
    for t in range(1200):
        c = rng.randrange(6)
        x = {f"w{j}": f"{c if rng.random() < 0.5 else rng.randrange(6)}" for j in range(4)}
        right += model.predict_one(x) == c and t >= 600
        model.learn_one(x, c)
    assert right > 465  # naive Bayes from counts of words, by hand: 477
    assert dict(model._f.expert_weights)["bayes"] > 0.1
    model._f._check()


# Names ----------------------------------------------------------------------------------------------------------------


@each_mixture
def test_names_are_readable(cls):
    model = learn(cls(), samples(cls))
    names = {"size", "flag", "size=None", "town=A", "town=B"}
    names |= {f"colour={colour}" for colour in ("red", "green", "blue", None)}
    assert model.feature_weights.keys() == names
    assert {name for z, _ in model.support_vectors for name in z} <= names
    assert model.contributions_one({"colour": "red"}).keys() == {"size", "flag", "town", "colour"}
    assert "red" in model.debug_one({"colour": "red", "size": None})


def test_a_feature_named_like_an_indicator_is_distinct():
    model = river_okl.OKLClassifier()
    model.learn_stream(({"colour": ("blue", "red")[t % 2], "colour=red": float(t % 3)}, t % 2 == 0) for t in range(60))
    assert model.feature_weights.keys() == {"colour=red", ("colour", "red"), "colour=blue"}
    model._f._check()
    assert named({("=", "a", None): 1.0, ("=", "a", "None"): 2.0}) == {"a=None": 1.0, ("a", "None"): 2.0}
    given = {"a=x": 1.0, ("a", "x"): 2.0, ("=", "a", "x"): 3.0}  # no name is lost
    assert named(given) == given


@each_mixture
def test_the_key_of_a_word_is_not_a_feature_name(cls):
    model = learn(small(cls), samples(cls, 60))
    for value in (1.0, "text", None):
        with unchanged(model), pytest.raises(ValueError, match="named like a string value; give it another name"):
            model.learn_one({("=", "colour", "red"): value, "colour": "red"}, 1.0)


@each_mixture
def test_names_and_strings_of_any_kind(cls):
    class Text(str):
        pass

    names = ["", 0, ("t", 1), 2.5, None, "é" * 3, "\udc80"]
    words = ["", " ", "x" * 10_000, "ж", "\U0001f600", "\udc80", "None", "1.5"]
    model, same = cls(budget=20), cls(budget=20)
    for t in range(150):
        x = {names[t % 7]: words[t % 8], names[(t + 2) % 7]: words[t % 5]}
        model.learn_one(x, float(t % 2))
        same.learn_one({name: (np.str_ if t % 2 else Text)(word) for name, word in x.items()}, float(t % 2))
    assert said(model, [x]) == said(same, [x])
    assert {type(word) for _, word in words_of(same)} == {str}
    assert snapshot(pickle.loads(pickle.dumps(model))) == snapshot(model)


# Frames ---------------------------------------------------------------------------------------------------------------


def frames(xs):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = {name: [x[name] for x in xs] for name in xs[0]}
    plain = pd.DataFrame(values)
    yield "pandas", pd, plain
    yield "object", pd, pd.DataFrame(values, dtype=object)
    yield "nullable", pd, plain.convert_dtypes()
    yield "category", pd, plain.astype({"colour": "category", "town": "category", "user": "category"})
    yield "polars", pl, pl.DataFrame(values)
    yield "NaN", pl, pl.DataFrame(values).with_columns(pl.col("size").fill_null(NAN))
    yield "categorical", pl, pl.DataFrame(values).cast({"colour": pl.Categorical, "town": pl.Enum(["A", "B"])})


@each_mixture
def test_frames_equal_the_loop_over_dicts(cls):
    data = samples(cls, 150)
    xs, ys = [x for x, _ in data], [y for _, y in data]
    one = learn(small(cls, budget=40), data)
    for name, library, X in frames(xs):
        many = small(cls, budget=40)
        many.learn_many(X, library.Series(ys))
        assert knowledge(many) == knowledge(one), name
        assert list(many.predict_many(X)) == pytest.approx([one.predict_one(x) for x in xs], rel=1e-9), name
        if hasattr(many, "predict_proba_many"):
            found = many.predict_proba_many(X)
            expected = list(one.predict_proba_one(xs[3]).values())
            assert [found[c][3] for c in found.columns] == pytest.approx(expected, rel=1e-9), name


@each_mixture
def test_a_frame_with_a_value_that_is_rejected_changes_nothing(cls):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model = learn(small(cls), samples(cls, 30))
    bad = [
        pd.DataFrame({"colour": ["red", "blue"], "odd": ["a", [1.0]]}),
        pd.DataFrame({"colour": ["red", None], "odd": [1.0, math.inf]}),
        pd.DataFrame({"colour": ["red", None], "odd": [pd.Timestamp(0), pd.NaT]}),
        pl.DataFrame({"colour": ["red", None], "odd": [b"1", b"2"]}),
        pl.DataFrame({"colour": ["red", None], "odd": [[1.0], [2.0]]}),
    ]
    for X in bad:
        for call, *arguments in (model.learn_many, X, [True, False]), (model.predict_many, X):
            with unchanged(model), pytest.raises((TypeError, ValueError), match="feature 'odd' is "):
                call(*arguments)


# What is bounded ------------------------------------------------------------------------------------------------------


@each_mixture
def test_unique_identifiers_cost_no_memory(cls):
    rng = random.Random(5)

    def model_after(n, users):
        model = small(cls, budget=60)
        for _ in range(n):
            a = rng.gauss(0.0, 1.0)
            model.learn_one({"a": a, "user": next(users), "kind": "xy"[rng.randrange(2)]}, float(a > 0.0))
        return model

    fresh = (f"user {i}" for i in itertools.count())
    few, many = model_after(2_000, fresh), model_after(20_000, fresh)
    assert words_of(many) == {("kind", "x"), ("kind", "y")}
    assert size(many) <= 1.05 * size(few)
    same = model_after(2_000, itertools.repeat("one"))
    assert size(few) <= size(same) + 8 * MAX_WORDS + 4096


@each_mixture
def test_rare_identifiers_are_bounded(cls):
    model, sizes = small(cls, budget=60), []
    for t in range(10_000):
        model.learn_one({"a": float(t % 7), "user": f"user {t // 3}"}, float(t % 2))
        if t % 2000 == 1999:
            sizes.append(size(model))
    assert len(words_of(model)) <= 40 + 2 * 62 * 4
    assert sizes[-1] <= 1.1 * sizes[2]  # trees and columns have grown by then
    model._f._check()


def test_words_seen_once_are_forgotten_when_too_many_others_come():
    model, early = river_okl.OKLClassifier(budget=10), ({"a": "early"}, True)
    learn(model, [early, *(({"a": f"{t}"}, t % 2 == 0) for t in range(20 * MAX_WORDS))])
    assert len(model._f.scaler.words.state()) == MAX_WORDS
    assert not words_of(learn(model, [early]))
    assert words_of(learn(model, [early])) == {("a", "early")}


# States ---------------------------------------------------------------------------------------------------------------


def test_the_hash_of_a_word_is_the_same_in_every_process():
    model = river_okl.OKLRegressor()
    model.learn_one({"a": "x", 1: "é", ("t", 2): None}, 1.0)
    hashes = [-7993798260785451561, -184764648766097519, 3614998665756243057]
    assert sorted(model._f.scaler.words.state().tolist()) == hashes


@each_mixture
def test_altered_hashes_are_rejected(cls):
    state = learn(small(cls), samples(cls, 30))._f.state()
    ones = np.ones(MAX_WORDS + 1, dtype=np.int64)
    for wrong in ([1], 0 * ones[:1], np.ones(2), ones[:1, None], ones):
        with pytest.raises(ValueError, match="seen once"):
            small(cls)._f.restore(state | {"words": wrong})


@pytest.mark.parametrize("seed", range(2, 6))
@each_mixture
def test_models_with_words_are_merged(cls, seed):
    """Each shard has strings that the others lack, and all the latest samples are of the others."""
    rng = random.Random(seed)

    def shard(words):
        model = cls()
        for _ in range(400):
            word, a = rng.choice(words), rng.gauss(0.0, 1.0) if rng.random() < 0.8 else None
            model.learn_one({"word": word, "a": a}, float(word in "ace"))
        return model

    shards = [shard("ab"), shard("cd"), shard("ef")]
    shards[0].learn_one({"word": "once"}, 1.0)
    merged = river_okl.merge(shards)
    merged._f._check()
    assert {("word", word) for word in "abcdef"} <= words_of(merged)
    for word in "abcdef":
        assert abs(merged.predict_one({"word": word, "a": 0.0}) - (word in "ace")) < 0.5, word
    merged.learn_one({"word": "once"}, 1.0)
    assert ("word", "once") in words_of(merged)
    assert snapshot(checkpoint.loads(checkpoint.dumps(merged))) == snapshot(merged)


# Rejected samples -----------------------------------------------------------------------------------------------------


@each_mixture
def test_a_rejected_sample_leaves_the_model_unchanged(cls):
    """Strings before the bad value are not counted; a name whose hash raises comes after them."""

    class Raising:
        def __hash__(self):
            if armed:
                raise RuntimeError("no hash")
            return 1

    armed, values = False, (math.inf, [1.0], 1j, complex(NAN, 0), b"x", {}, np.array([NAN, NAN]))
    bad = [{"colour": "red", "new": "word", "b": value} for value in values]
    bad.append({"colour": "red", "new": "word", Raising(): "word"})
    armed = True
    model = learn(small(cls), samples(cls, 40))
    for x in bad:
        for call, *arguments in (model.learn_one, x, 1.0), (model.predict_one, x):
            with unchanged(model), pytest.raises((TypeError, ValueError, RuntimeError)):
                call(*arguments)
    model.learn_one({"new": "word"}, 1.0)
    assert ("new", "word") not in words_of(model), "seen once"


# Long strings ---------------------------------------------------------------------------------------------------------


def long_samples(cls, n, length):
    """Thirty strings under one name, and a number under ten names, as long as this."""
    for t, (x, y) in enumerate(streams.dense(task(cls), n)):
        yield {**x, "text": f"{t % 30:02}" * length, f"{t % 10} is the start " + "of a name" * length: 0.5}, y


@each_mixture
def test_the_memory_of_a_model_does_not_depend_on_the_length_of_strings(cls):
    used, saved = [], []
    for length in (200, 20_000):
        model = learn(small(cls, budget=30), long_samples(cls, 90, length))
        assert len(words_of(model)) == 30, "no two of them are taken for one"
        used.append(model._raw_memory_usage)
        saved.append(len(checkpoint.dumps(model)) + len(pickle.dumps(model)))
    assert used[0] == used[1]
    assert abs(saved[0] - saved[1]) < 0.01 * saved[0]


@each_class
def test_the_names_of_features_are_shortened(cls):
    """In dicts and frames alike; a name that is short enough is kept."""
    pd = pytest.importorskip("pandas")
    start = "x" * 150
    names = [start + "a" * 100_000, start + "b" * 100_000, "y" * 200, b"z" * 100_000, ("t", start * 1_000)]
    rows = [(dict(zip(names, x.values(), strict=False)) | {names[4]: 0.5}, y) for x, y in streams.dense(task(cls), 20)]
    model, of_frame = learn(small(cls), rows), small(cls)
    X = pd.DataFrame([{str(name): v for name, v in x.items()} for x, _ in rows])
    X.columns = pd.Index(list(rows[0][0]), tupleize_cols=False)
    of_frame.learn_many(X, [y for _, y in rows])
    assert len(pickle.dumps(model)) < 100_000
    for name, other in itertools.pairwise(names):
        x = {name: 2.0}
        assert stored(name) != stored(other) and stored(stored(name)) == stored(name)
        assert model.predict_one(x) == model.predict_one({stored(name): 2.0})
    assert stored(names[2]) is names[2] and stored(names[0]).startswith("x" * 100)
    assert [model.predict_one(x) for x, _ in rows] == [of_frame.predict_one(x) for x, _ in rows]
    assert {name for z, _ in model.support_vectors for name in z} <= {stored(name) for name in names}


@each_mixture
def test_an_explanation_shows_the_start_of_a_long_string(cls):
    model = learn(small(cls, budget=30), long_samples(cls, 90, 1_000))
    shown = {name for name in model.feature_weights if name.startswith("text=")}
    assert len(shown) == 30 and all(len(name) < 150 and name[5:105] == name[5:7] * 50 for name in shown)
