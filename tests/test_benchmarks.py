"""The benchmarks' shared code: results cached by content, and comparison tables."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import itertools
import json
import lzma
import math
import re
import sqlite3
import subprocess
import zipfile

import numpy as np
import pytest
from river import linear_model, preprocessing

from benchmarks import (
    ablation,
    anomalies,
    baselines,
    batch,
    filters,
    intervals,
    kappaml,
    long,
    runner,
    streams,
    timing,
    unseen,
    unseen_files,
    unseen_second,
    untuned,
    words,
)
from benchmarks.speed import __main__ as speed
from benchmarks.speed import growth, libraries
from river_okl import AhpatronClassifier, BPAClassifier


def page(folder, script, *options):
    """What a script writes, if it writes anything."""
    importlib.import_module(f"benchmarks.{script}").main([*options, "--output", str(folder)])
    path = folder / f"{script}.md"
    return path.read_text() if path.exists() else None


def test_the_digest_of_a_class_covers_its_file_and_imports(tmp_path, monkeypatch):
    package = tmp_path / "river_okl"
    (package / "_core/store").mkdir(parents=True)
    imports = "from river_okl import checks\nfrom river_okl._core.store.points import Points"
    others = "checks.py", "other.py", "_core/store/points.pyx", "_core/rows.h"
    files = {"a.py": imports, **dict.fromkeys(others, "")}
    for name, text in files.items():
        (package / name).write_text(text)
    monkeypatch.setattr(runner, "PACKAGE", package)

    class Model:
        __module__ = "river_okl.a"

    monkeypatch.setattr(runner.inspect, "getsourcefile", lambda cls: str(package / "a.py"))

    def code():
        runner.code.cache_clear(), runner._imports.cache_clear()
        return runner.code(Model)

    seen = {code()}
    for name in files:
        before = code()
        (package / name).write_text(files[name] + "\n# changed")
        assert (code() == before) == (name == "other.py"), name
        seen.add(code())
    assert len(seen) == len(files)
    runner.code.cache_clear(), runner._imports.cache_clear()


def test_every_script_can_be_imported():
    """Some take hours and are run by hand; this checks their imports."""
    for path in runner.HERE.rglob("*.py"):
        importlib.import_module(".".join(path.relative_to(runner.HERE.parent).with_suffix("").parts))


def test_predictions_precede_learning():
    """And stop at the time limit."""
    samples = [({"a": 1.0}, True), ({"a": 1.0}, True)]
    answers, seconds = timing.answers(AhpatronClassifier(), samples)
    assert answers == [(None, True), (True, True)] and seconds > 0.0
    assert len(timing.answers(AhpatronClassifier(), samples, limit=0.0)[0]) == 1


def test_scaling():
    samples = [({"a": 1.0, "b": 5.0}, 1.0), ({"a": 3.0}, 3.0)]
    assert streams.scaled(samples, "[-1,1]") == [({"a": -1.0, "b": 1.0}, 1.0), ({"a": 1.0, "b": -1.0}, 3.0)]
    assert streams.scaled(samples, "z") == [({"a": -1.0, "b": 1.0}, 1.0), ({"a": 1.0, "b": -1.0}, 3.0)]
    assert streams.scaled(samples, "[0,1]") == [({"a": 0.0, "b": 1.0}, 1.0), ({"a": 1.0, "b": 0.0}, 3.0)]
    assert streams.scaled(samples, "StandardScaler")[1] == ({"a": 1.0, "b": -1.0}, 3.0)
    assert [y for _, y in streams.scaled(samples, "y")] == [-1.0, 1.0]


def test_times_are_compared_within_a_round():
    turns = iter([1.0, 2.0, 10.0, 30.0, 4.0, 4.0])
    times = timing.in_turns({"a": lambda: next(turns), "b": lambda: next(turns)}, rounds=3)
    assert times.compared("b", "a") == [4.0, 4.0, 2.0]


def test_content():
    """The content consists of classes and parameters, also of inner models, but not of learned state."""
    ours = [AhpatronClassifier(), AhpatronClassifier(budget=50), BPAClassifier()]
    theirs = [linear_model.LogisticRegression(), linear_model.LogisticRegression(l2=0.1)]
    models = [*ours, *theirs, *(preprocessing.StandardScaler() | model.clone() for model in ours)]
    keys = [runner.digest(runner.content(model)) for model in models]
    assert len(set(keys)) == len(models)
    ours[0].learn_one({"a": 1.0}, True)
    assert runner.digest(runner.content(ours[0])) == keys[0]


def test_the_cache_resumes_after_an_interruption(tmp_path):
    path = tmp_path / "results.jsonl"
    runner.Cache(path).keep("one", error=1.0)
    with open(path, "a") as file:
        file.write('{"key": "two", "err')  # a killed process
    cache = runner.Cache(path)
    assert cache.rows == {"one": {"key": "one", "commit": runner.commit(), "machine": runner.machine(), "error": 1.0}}
    cache.keep("three", error=3.0)
    assert set(runner.Cache(path).rows) == {"one", "three"}


def test_report_replaces_a_section(tmp_path):
    path = tmp_path / "results.md"
    runner.Report(path, "Results").write("2. Later", "old")
    runner.Report(path, "Results").write("1. First", "one")
    runner.Report(path, "Results").write("2. Later", "new")
    assert path.read_text() == "# Results\n\n## 1. First\n\none\n\n## 2. Later\n\nnew\n"


def test_comparison():
    """Ties share a rank, an incomplete model has no mean, a stopped one a star."""
    found = {
        ("Bananas", "NoChange"): {"rows": 10, "of": 10, "accuracy": 90.0},
        ("Bananas", "PA"): {"rows": 10, "of": 10, "accuracy": 90.0},
        ("Bananas", "KNN"): {"rows": 10, "of": 10, "accuracy": 80.0},
        ("SEA", "NoChange"): {"rows": 10, "of": 10, "accuracy": 50.0},
        ("SEA", "PA"): {"rows": 5, "of": 10, "accuracy": 49.9},
    }
    text = untuned.compare(found, ["Bananas", "SEA"], untuned.CLASSIFIERS, "accuracy", "{:.1f}".format)
    assert text.splitlines() == [
        "| stream | NoChange | PA | KNN |",
        "| --- | ---: | ---: | ---: |",
        "| Bananas | **90.0** | **90.0** | 80.0 |",
        "| SEA | **50.0** | 49.9* |  |",
        "| mean | 70.0 | 70.0 |  |",
        "| mean rank | 1.2 | 1.8 | 3.0 |",
        "| best of 2 | 2 | 1 | 0 |",
        "| within 0.2 of the best | 2 | 2 | 0 |",
    ]


CACHES = (
    *(streams.load, untuned.samples_digest, kappaml.load),
    *(long.load, long.samples_digest, words.load, unseen.load, unseen.key),
)


@pytest.fixture
def fresh():
    """Streams as long as the test says, and not as another one has left them."""
    for cached in CACHES:
        cached.cache_clear()
    yield
    for cached in CACHES:
        cached.cache_clear()


@pytest.fixture
def small(fresh, monkeypatch):
    monkeypatch.setattr(streams, "ROWS", 300)


def test_untuned(small, tmp_path, monkeypatch):
    options = ["--streams", "Bananas", "LED", "Friedman", "--models", "LogisticRegression", "PA", "Ahpatron"]
    options += ["--output", str(tmp_path), "--only"]
    untuned.main([*options, "cells"])
    lines = (tmp_path / "untuned.jsonl").read_text().splitlines()
    classified = itertools.product(("Bananas", "LED"), ("", " (2)", " (3)"), ("LogisticRegression", "PA", "Ahpatron"))
    assert {(row["stream"], row["model"]) for row in map(json.loads, lines)} == {
        *((name + repeat, model) for name, repeat, model in classified),
        ("Friedman", "PA"),
    }
    assert all(row["commit"] == runner.commit() and row["rows"] == 300 for row in map(json.loads, lines))
    monkeypatch.setattr(untuned, "classify", None)  # nothing is measured twice
    monkeypatch.setattr(untuned, "regress", None)
    untuned.main([*options, "cells"])
    untuned.main([*options, "times"])
    untuned.main([*options, "tables"])
    text = (tmp_path / "untuned.md").read_text()
    assert "## 1. Accuracy" in text and "## 4. Regression" in text and "## 7. Time" in text
    assert runner.commit() in text
    with pytest.raises(SystemExit, match=r"not measured .*: OKL on Bananas, OKL on LED, OKL on Friedman, .*LED \(3\);"):
        untuned.main([*options, "tables", "--models", "PA", "OKL"])
    assert (tmp_path / "untuned.md").read_text() == text


def test_the_lists_of_unseen_streams_share_nothing(monkeypatch):
    """Neither a file nor a name, also with the leaderboard; no file is fetched here."""
    files = {}
    for name, which in unseen.LISTS.items():
        files[name] = set()
        for module in (unseen_files, which):
            monkeypatch.setattr(module, "content", lambda path, of=files[name]: of.add(path) or b"", raising=False)
        for stream in which.STREAMS.values():
            with contextlib.suppress(ModuleNotFoundError, MemoryError, sqlite3.Error):  # scikit-learn; empty database
                assert [*stream.samples()] == [] or stream.classes == 10
    assert all(not one & other for one, other in itertools.combinations(files.values(), 2))
    assert len(files["second"]) >= 20 and len(files["third"]) >= 24
    packages = {name: {path.partition("/")[0] for path in each} for name, each in files.items()}
    assert set.union(*packages.values()) == set(unseen_files.PACKAGES)
    assert not packages["third"] & (packages["first"] | packages["second"])
    names = [*streams.STREAMS, *(name for which in unseen.LISTS.values() for name in which.STREAMS)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["second", "third"])
def test_half_of_a_list_is_in_time_and_half_is_classification(name):
    those = unseen.LISTS[name].STREAMS.values()
    assert len(those) >= 20
    assert 2 * sum(stream.in_time for stream in those) >= len(those)
    assert 2 * sum(stream.classes > 0 for stream in those) == len(those)


@pytest.mark.parametrize(("end", "packed"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_tables_of_packages(tmp_path, monkeypatch, end, packed):
    """Gaps are None, rows without a target are left out, lags are those of the same place, clocks become numbers."""
    with zipfile.ZipFile(tmp_path / "of.whl", "w") as wheel:
        lines = ["at,town,a,y", "2026-03-01 06:30,A,1,5", "2026-03-01 07:00,B,,6", "2026-03-02 07:00,A,NA,7", ",A,1,"]
        wheel.writestr(f"of/t.csv{end}", packed("\n".join(lines).encode()))
    monkeypatch.setattr(unseen_files, "archive", lambda package: tmp_path / f"{package}.whl")
    samples = unseen_files.with_lags(unseen_files.table(f"of/t.csv{end}", "y"), (1, 2), key="town")
    march = {"month": 3.0, "weekday": 6.0}
    assert [*unseen_files.with_clock(samples, "at")] == [
        ({**march, "hour": 6.5, "town": "A", "a": 1.0, "1 before": None, "2 before": None}, 5.0),
        ({**march, "hour": 7.0, "town": "B", "a": None, "1 before": None, "2 before": None}, 6.0),
        ({**march, "weekday": 0.0, "hour": 7.0, "town": "A", "a": None, "1 before": 5.0, "2 before": None}, 7.0),
    ]


def test_indicators_become_strings():
    samples = [({"of_a": 1.0, "of_b": 0.0, "n": 2.0}, 1), ({"of_a": 0.0, "of_b": 1.0, "n": 1.0}, 0)]
    assert [*unseen_second.joined(samples, {"of_": "kind"})] == [
        ({"kind": "a", "n": 2.0}, 1),
        ({"kind": "b", "n": 1.0}, 0),
    ]


def test_unseen(fresh, tmp_path, monkeypatch):
    """Each list has its own results; made-up streams here."""
    rows = [{"a": math.sin(i), "b": None if i % 7 else 1.0, "c": "xy"[i % 2]} for i in range(60)]
    made = {
        "labels": streams.Stream(lambda: [(x, x["a"] > 0.0) for x in rows]),
        "letters": streams.Stream(lambda: [(x, "abc"[i % 3]) for i, x in enumerate(rows)], classes=3),
        "quantities": streams.Stream(lambda: [(x, x["a"]) for x in rows], classes=0, in_time=True),
    }
    monkeypatch.setattr(unseen_second, "STREAMS", made)
    monkeypatch.setattr(unseen, "STREAMS", made)
    wanted = ["OKL", "LogisticRegression", "LinearRegression"]
    unseen.main(["--list", "second", "--streams", *made, "--models", *wanted, "--output", str(tmp_path)])
    text = (tmp_path / "unseen2.md").read_text()
    assert text.startswith(f"# {unseen_second.TITLE}\n") and not (tmp_path / "unseen.md").exists()
    assert text.count("\n| letters | ") == 2 and text.count("\n| quantities | ") == 2
    assert "\n| LogisticRegression, LinearRegression | " in text


def test_repeats(small):
    """Other seeds, other orders of the same rows, other segments."""
    for name in ("Bananas", "SEA"):
        first, second, third = (streams.load(name, True, repeat) for repeat in range(3))
        assert first != second != third != first
    series = [({"t": t}, t) for t in range(1_000)]
    ordered = streams.Stream(lambda: iter(series), in_time=True)
    starts = [next(iter(streams.repeated(ordered, repeat)))[1] for repeat in range(3)]
    assert starts == [0, 350, 700]
    mixed = streams.Stream(lambda: iter(series))
    assert [y for _, y in streams.repeated(mixed, 0)] == [*range(1_000)]
    assert sorted(y for _, y in streams.repeated(mixed, 1)) == [*range(1_000)]


def test_zeros_are_restored_for_the_models_that_need_them(small):
    for model, full in (("OKL", False), ("LogisticRegression", False), ("HoeffdingTree", True), ("NaiveBayes", True)):
        how = untuned.CLASSIFIERS[model]
        assert untuned.without_zeros(streams.STREAMS["a9a"], how) == (not full), model
        assert untuned.without_zeros(streams.STREAMS["dna"], how) == (model == "OKL"), model
    x, _ = streams.dense(streams.Stream(list, features=3), [({2: 5.0}, True)])[0]
    assert x == {1: 0.0, 2: 5.0, 3: 0.0}


def test_leads_and_spread():
    """The best of River's models is chosen on each stream; a model without all repeats has no spread."""
    found = {
        (f"{name}{repeat}", model): {"rows": 1, "of": 1, "accuracy": value + k, "loss": value / 100.0}
        for name, values in {"Bananas": (90.0, 80.0, 85.0), "SEA": (70.0, 71.0, 60.0)}.items()
        for model, value in zip(("OKL", "KNN", "AMF"), values, strict=True)
        for k, repeat in enumerate(("", " (2)", " (3)"))
    }
    del found["SEA (3)", "AMF"]
    lines = untuned.leads(found, ["Bananas", "SEA"], ["OKL", "KNN", "AMF"]).splitlines()[2:]
    assert lines == [
        "| KNN | 4.5 | 4.5 | 5.5 | -1.0 | 10.0 | 1 |",
        "| AMF | 7.5 | 7.5 | 2.5 | 5.0 | 10.0 | 2 |",
        "| the best of these on each stream | 2.0 | 2.0 | 3.0 | -1.0 | 5.0 | 1 |",
    ]
    lines = untuned.spread(found, ["Bananas", "SEA"], ["OKL", "KNN", "AMF"]).splitlines()[2:]
    assert lines[0] == "| OKL | 80.0 | 81.0 | 82.0 | 81.0 | 1.0 | 0.800 | 0.800 | 0.800 | 0.800 | 0.000 |"
    assert len(lines) == 2


class Says:
    """An expert that always predicts the same, and counts how often it is asked."""

    def __init__(self, prediction):
        self.prediction, self.asked, self.learned = prediction, 0, 0

    def predict_one(self, x):
        self.asked += 1
        return self.prediction

    predict_proba_one = predict_one

    def learn_one(self, x, y):
        self.learned += 1


def test_a_mixture_of_labels():
    """The weights are those of discounted log-likelihoods; each expert predicts a sample once."""
    right, wrong, none = Says({"a": 0.9, "b": 0.1}), Says({"a": 0.1, "b": 0.9}), Says({"a": math.nan})
    model = baselines.MixtureClassifier({"right": right, "wrong": wrong, "none": none})
    x = {}
    found = model.predict_proba_one(x)
    assert found["a"] == pytest.approx((0.9 + 0.1 + 1e-4) / (1.0 + 1.0 + 2e-4)) and sum(found.values()) == 1.0
    model.learn_one(x, "a")
    model.learn_one(x, "a")
    assert right.asked == right.learned == 2
    logs = np.log([0.9, 0.1, 1e-4]) * (1.0 + 0.99)
    assert model.weights() == pytest.approx(np.exp(logs) / np.exp(logs).sum())
    for _ in range(300):
        model.learn_one({}, "b")
    assert model.predict_one({}) == "b", "the past is forgotten"


def test_a_mixture_of_targets():
    """The expert with the smaller residuals of late is followed, whatever the unit of the target."""
    for unit in (1.0, 1e6):
        model = baselines.MixtureRegressor({"low": Says(0.0), "high": Says(unit)})
        assert model.predict_one({}) == 0.5 * unit
        for target in (0.1, 0.9):
            for _ in range(200):
                model.learn_one({}, target * unit)
            assert model.predict_one({}) == pytest.approx(round(target) * unit, abs=0.01 * unit)


def test_the_last_values():
    """Of each series by itself; the seasonal ones once a season has passed."""
    last, seasonal = baselines.Last(series="city"), baselines.Last(3)
    assert last.predict_one({"city": "A"}) == 0.0
    for t, y in enumerate([1.0, 5.0, 2.0, 4.0, 9.0]):
        last.learn_one({"city": "AB"[t % 2]}, y)
        seasonal.learn_one({}, y)
        assert seasonal.predict_one({}) == {3: 4.0 + 5.0 - 1.0, 4: 9.0 + 2.0 - 5.0}.get(t, y)
    assert [last.predict_one({"city": city}) for city in "ABC"] == [9.0, 4.0, 9.0]


@pytest.mark.parametrize("name", ["a9a", "LED", "TrumpApproval", "titanic", "txhousing"])
def test_every_baseline_learns(name):
    """With strings and gaps, and on a sparse stream; a mixture's experts are built as if they were alone."""
    of = {
        "a9a": [({1: float(i % 2), 2: 1.0, 3: 0.0}, i % 2 == 0) for i in range(60)],
        "titanic": [({"sex": "FM"[i % 2], "age": None if i % 3 else float(i)}, i % 2 == 0) for i in range(60)],
        "txhousing": [({"city": "AB"[i % 2], "t": float(i)}, float(i)) for i in range(60)],
    }
    there = unseen if name in unseen.STREAMS else untuned
    stream = there.STREAMS[name]
    samples = of[name] if name in of else list(itertools.islice(stream.samples(), 60))
    built = {
        model: unseen.build(name, model) if there is unseen else untuned.build(stream, how)
        for model, how in there.models(name).items()
        if model in untuned.MORE_CLASSIFIERS | untuned.MORE_REGRESSORS
    }
    assert ("Last + seasonal" in built) == (name in ("TrumpApproval", "txhousing"))
    assert ("HoeffdingTree(strings)" in built) == (there is unseen)
    assert ("NaiveBayes" in built["Mixture(River)"].experts) == bool(stream.classes)
    for model, candidate in built.items():
        assert " at 0x" not in str(runner.content(candidate)), model
        found = untuned.measured(candidate, samples, stream.classes, 60.0)
        assert found["rows"] == 60 and math.isfinite(found["accuracy" if stream.classes else "mae"]), model


def test_what_a_sceptic_would_add(tmp_path):
    """Tables beside OKL and the best of River's models on each stream; what is not measured is blank."""
    accuracies = {("Bananas", "OKL"): 89.0, ("Bananas", "KNN"): 88.0, ("Bananas", "AMF"): 87.0, ("SEA", "OKL"): 88.0}
    accuracies |= {("SEA", "KNN"): 80.0, ("SEA", "AMF"): 81.0, ("SEA", "BOLE(10)"): 90.0}
    accuracies |= {("Bananas", "Mixture(River)"): 85.0, ("SEA", "Mixture(River)"): 89.0}
    found = {pair: {"rows": 1, "of": 1, "accuracy": value, "loss": 0.5} for pair, value in accuracies.items()}
    report = runner.Report(tmp_path / "page.md", "Results")
    here = {name: streams.STREAMS[name] for name in ("Bananas", "SEA")}
    numbers = ["1b", "2b", "3b", "4b", "8b"]
    untuned.sceptical(report, found, here, untuned.LISTED, untuned.ADDED, numbers)
    assert [*report.sections] == [
        "1b. Baselines that a sceptic would add: accuracy, %",
        "2b. Baselines that a sceptic would add: log-loss",
        "8b. Baselines that a sceptic would add: the lead of OKL, points of accuracy",
    ]
    lines = report.sections["1b. Baselines that a sceptic would add: accuracy, %"].splitlines()
    assert lines[0] == "| stream | OKL | best of River's | BOLE(10) | Mixture(River) |"
    assert lines[2:4] == ["| Bananas | **89.0** | 88.0 |  | 85.0 |", "| SEA | 88.0 | 81.0 | **90.0** | 89.0 |"]
    assert "| Mixture(River) | 1.5 | 1.5 | 2.5 | -1.0 | 4.0 | 1 |" in report.path.read_text()
    empty = runner.Report(tmp_path / "empty.md", "Results")
    only = {pair: row for pair, row in found.items() if pair[1] in untuned.LISTED}
    untuned.sceptical(empty, only, here, untuned.LISTED, untuned.ADDED, numbers)
    assert not empty.sections


def test_batch_learners_see_the_past_only():
    """All of it, or a window."""
    seen = []

    class Learner:
        def fit(self, x, y):
            seen.append((len(x), y[0]))
            return self

        def predict(self, x):
            return np.zeros(len(x))

    samples = [({"a": float(t)}, float(t)) for t in range(3_500)]
    for window, expected in ((20_000, [(1_000, 0), (2_000, 0), (3_000, 0)]), (2_000, [(1_000, 0), (2_000, 0)])):
        seen.clear()
        how = batch.Learner(lambda classifies: Learner(), window=window)
        assert len(batch.again(how, samples, False, 60.0)) == 2_500
        assert seen == (expected if window == 20_000 else [*expected, (2_000, 1_000)])


def test_native_categories_and_gaps():
    """A column with strings is categorical, also where it has numbers; what is new is a gap."""
    past = [{"a": "x", "b": 1.0, "c": None}, {"a": 2.0, "b": None, "c": None}]
    x, new = batch.native(past, [{"a": "y", "b": 3.0, "c": 4.0}, {"a": "x", "b": None, "c": None}])
    assert x[0].tolist() == ["x", "2.0"] and str(x[0].dtype) == str(new[0].dtype) == "category"
    assert new[0].isna().tolist() == [True, False] and new[1].tolist()[0] == 3.0
    assert x[1].isna().tolist() == new[1].isna().tolist() == [False, True] and x[2].isna().all()


def test_kappaml(fresh, tmp_path, monkeypatch):
    """Published figures stand beside measured ones."""
    monkeypatch.setattr(kappaml, "ROWS", 200)
    text = page(tmp_path, "kappaml", "--streams", "Bananas", "LEDDrift", "--models", "OKL")
    assert "| stream | OKL | KappaML | its KNN |" in text and " 88.0 | **88.5** |" in text
    assert set(kappaml.PUBLISHED) == set(kappaml.STREAMS)


def test_long(fresh, tmp_path, monkeypatch):
    """Results of River's models stay valid; ours must be of the current code."""
    for name, value in {"long.ROWS": 400, "long.FIRST": 200, "long.WINDOWS": 4, "figures.DOCS": tmp_path}.items():
        monkeypatch.setattr(f"benchmarks.{name}", value)
    options = ["--streams", "RandomTree", "LED, drift", "--output", str(tmp_path)]
    long.main([*options, "--models", "LogisticRegression", "--only", "cells"])
    long.main([*options, "--streams", "RandomTree", "--models", "AMF", "--only", "cells"])
    store = runner.Store(tmp_path / "long.jsonl")
    linear = {("RandomTree", "LogisticRegression"), ("LED, drift", "LogisticRegression")}
    assert set(store.rows) == {*linear, ("RandomTree", "AMF")} and store.rows["RandomTree", "AMF"]["rows"] == 200
    store.keep(**store.rows["RandomTree", "LogisticRegression"] | {"key": None, "accuracy": 12.3})
    long.main(options)
    text = (tmp_path / "long.md").read_text()
    for shown in ("| RandomTree | **", " 12.3 |", "## 3. Time and memory", "Not measured yet"):
        assert shown in text
    assert (tmp_path / "long.png").read_bytes()[:4] == b"\x89PNG"
    row = runner.Store(tmp_path / "long.jsonl").rows["LED, drift", "OKL"]
    first = long.beginning(store.rows | {("LED, drift", "OKL"): row})["LED, drift", "OKL"]["accuracy"]
    assert first == pytest.approx(sum(row["curve"][:2]) / 2) and "## 4. Accuracy in the first 200 samples" in text
    assert len(row["curve"]) == 4 and sum(row["curve"]) / 4 == pytest.approx(row["accuracy"], abs=0.01)
    runner.Store(tmp_path / "long.jsonl").keep(**row | {"key": "of other code"})
    with pytest.raises(SystemExit, match=r"not measured .*: OKL on LED, drift;"):
        long.main([*options, "--only", "tables"])


def test_ablation(small, tmp_path):
    parts = [*ablation.KERNELS, "stack", "memory", "last target"]
    text = page(tmp_path, "ablation", "--streams", "Bananas", "LED", "Friedman", "--parts", *parts)
    kernels = text.partition("\n## 0. Without kernels\n")[2].partition("\n## ")[0]
    assert kernels.count("\n| Classification | ") == 3 and kernels.count("\n| Regression | ") == 1
    for title, count in (("1. Classification", 5), ("3. Regression", 3)):
        table = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert sum(f"\n| {part} | " in table for part in parts) == count, title
    assert "\n| LED | " in text and "\n| Friedman | " in text


@pytest.mark.parametrize(
    ("labelled", "names"),
    [(True, names) for names in ([], *ablation.OF_CLASSES.values())]
    + [(False, names) for names in ([], *ablation.OF_TARGETS.values())],
)
def test_experts_are_left_out(labelled, names):
    """Also when a third label adds experts, and from sparse features.  Processes stay, without points."""
    model = ablation.without(2 if labelled else 0, names)
    for i, (x, y) in enumerate(streams.synth.LED(noise_percentage=0.1, seed=1).take(400)):
        x = x if i % 2 else {name: value for name, value in x.items() if value}
        model.predict_one(x)
        model.learn_one(x, (y % 2 if i < 200 else y) if labelled else float(y))
    assert not {*names} & {expert.name for expert in model._f.experts}
    assert sum(model.experts.values()) == pytest.approx(1.0) and math.isfinite(model.predict_one(x))
    left_out = ablation.DICTIONARY in names
    assert (model._f.processes.n == 0) == left_out
    assert (sum(weight for _, weight in model._f.expert_weights[: len(model._f.processes.names())]) < 0.01) == left_out
    model._f._check()


def test_words(fresh, tmp_path, monkeypatch, capsys):
    """Tables of accuracies, times and differences over seeds; streams without a file are left out."""
    monkeypatch.setattr(words, "ROWS", 300)
    monkeypatch.delenv("RIVER_DATA", raising=False)
    text = page(tmp_path, "words", "--streams", "adult", "STAGGER", "Agrawal(2)")
    assert "adult: not in RIVER_DATA" in capsys.readouterr().out
    assert text.count("| STAGGER |") == text.count("| Agrawal(2) |") == 3 and "| adult |" not in text


def test_filters(tmp_path, monkeypatch):
    """What they compare is in test_sogp.py and test_krls.py."""
    monkeypatch.setattr(filters, "N", 1_300)
    monkeypatch.setattr(filters, "SEEDS", (1,))
    rows = page(tmp_path, "filters", "--models", "QKLMSRegressor", "the last value")
    assert rows.count("| `QKLMSRegressor` |") == rows.count("| the last value |") == 1


def test_intervals(tmp_path):
    """The published rules cover what they promise; an α that has sunk below 0 takes the largest residual."""
    rng = np.random.default_rng(1)
    residuals = np.abs(rng.normal(size=4_000)).tolist()
    for rule in (intervals.aci, intervals.sf_ogd):
        halves = [*rule(residuals)]
        inside = [residual <= half for residual, half in zip(residuals, halves, strict=True)]
        assert 0.89 < np.mean(inside[200:]) < 0.91
        assert 1.5 < np.mean(halves[1_000:]) < 1.8, "1.645 of a normal distribution"
    assert [*intervals.aci([1.0] * 3 + [9.0] * 100)][-1] == 9.0
    assert page(tmp_path, "intervals", "--streams", "TrumpApproval").count("| TrumpApproval |") == 3


def test_anomalies(tmp_path, monkeypatch):
    """A row for each kind and series; close scores are one alarm, and an alarm just after an anomaly counts."""
    scores = -np.arange(anomalies.N) / anomalies.N
    scores[[2_000, 2_040, 2_080, 3_009, 4_000]] = 1.0, 2.0, 1.0, 3.0, 4.0
    assert anomalies.online(scores) == [[2_000, 2_040, 2_080], [3_009], [4_000]]
    assert [t for (t,) in anomalies.highest(scores)[:3]] == [4_000, 3_009, 2_040]
    assert anomalies.hits(anomalies.online(scores), [(2_050, 2_060), (3_000, 3_001), (5_000, 5_001)]) == (1 / 3, 2)
    for kind in anomalies.KINDS:
        of = anomalies.series("counts", kind, 0)
        assert len(of.stretches) == 8 and all(y >= 0.0 and y == round(y) for _, y in of.samples)
    monkeypatch.setattr(anomalies, "SEEDS", (0,))
    options = ["--series", "wander", "states", "--detectors", "last value", "StandardAbsoluteDeviation"]
    text = page(tmp_path, "anomalies", *options)
    assert text.count("\n| flat line, ") == 2 and text.count("\n| mean | ") == 3
    assert "\n| outlying spike | 1.00 | 1.00 |\n" in text


def test_invoices(tmp_path, monkeypatch, capsys):
    """One row for each model and kind of features; without the file nothing is written."""
    names = "countryCode,customerID,PaperlessDate,InvoiceDate,DueDate,InvoiceAmount,Disputed,SettledDate,PaperlessBill"
    header = f"{names},DaysLate"
    dates = [f"{1 + i % 12}/{1 + i % 28}/201" for i in range(60)]
    lines = [f"391,c{i % 7},4/6/2012,{date}2,2/1/2013,{i}.5,No,{date}3,Paper,{i % 3}" for i, date in enumerate(dates)]
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    assert page(tmp_path, "invoices") is None and "is not there" in capsys.readouterr().out
    (tmp_path / "streams").mkdir()
    (tmp_path / "streams" / "invoices.csv").write_text("\n".join([header, *lines]))
    text = page(tmp_path, "invoices")
    assert text.count("| OKL |") == text.count("| LogisticRegression |") == 4 and "nan" not in text


def test_rare(tmp_path, monkeypatch):
    """A table of areas and one of losses; the rare label has the stated frequency."""
    monkeypatch.setattr("benchmarks.rare.ROWS", 500)
    text = page(tmp_path, "rare", "--streams", "Bananas", "SEA", "--models", "OKL", "LogisticRegression")
    assert text.count("| stream | OKL | LogisticRegression |") == text.count("\n| mean | ") == 2
    assert "\n| SEA, 8 of 500 | " in text


def test_targets(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.targets.ROWS", 400)
    monkeypatch.setattr("benchmarks.targets.LATE", 300)
    for name, rows in (
        *(("DRIFTING", 2000), ("NEW", 1000), ("JUDGED", 1500), ("PAST", 500), ("AFTER", 100), ("BAGS", 300)),
        *(("OF_SHARD", 200), ("RUNS", 2)),
    ):
        monkeypatch.setattr(f"benchmarks.targets.{name}", rows)
    text = page(tmp_path, "targets", "--events", "2 % of size 50", "--noise", "by a string", "--drift", "drift, 2,000")
    assert text.count("\n| 2 % of size 50 | ") == 3 and text.count("\n| by a string | ") == 1 and "nan" not in text
    for row in ("sign", "200 words that turn over", "strings and gaps"):
        assert text.count(f"\n| {row} | ") == 1


def test_the_leaderboard_is_complete():
    """All streams and models are in the published tables, OKL first."""
    text = (runner.RESULTS / "untuned.md").read_text()
    for heading, among in (("1. Accuracy", untuned.CLASSIFIERS), ("4. Regression", untuned.REGRESSORS)):
        table = text.partition(f"## {heading}")[2].partition("\n## ")[0].splitlines()[2:]
        assert [cell.strip() for cell in table[0].split("|")[2:-1]] == list(among)
        rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in table[2:] if line.startswith("|")}
        for name in (n for n in streams.STREAMS if bool(streams.STREAMS[n].classes) == (among is untuned.CLASSIFIERS)):
            assert all(cell.strip() for cell in rows[name]), name


def test_results_are_of_commits_that_exist():
    """Each table names the commit at which its rows were measured."""
    if not (runner.HERE.parent / ".git").exists():
        pytest.skip("not a clone")

    def git(*args):
        return subprocess.run(["git", *args], cwd=runner.HERE, capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("a shallow clone has no history")
    named = {}
    for path in sorted(runner.RESULTS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:commit|[Aa]t|;|,) ([0-9a-f]{9}|[0-9a-f]{7})\b", text)
        assert found, f"{path.name} names no commit"
        named |= dict.fromkeys(found, path.name)
    del named["6a8c307"]  # of KappaML's repository
    for commit, page in named.items():
        assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0, (page, commit)


def test_defaults(tmp_path, monkeypatch):
    """Rows for parameters, bandwidths and budgets; a second run measures nothing."""
    monkeypatch.setattr("benchmarks.defaults.BUDGET_STREAMS", ("Bananas", "Friedman"))
    options = ["--streams", "Bananas", "Friedman", "--rows", "60", "--cache", str(tmp_path)]
    text = page(tmp_path, "defaults", *options)
    for row, count in {"| Bananas | StandardScaler |": 2, "| OLRDRegressor | radius |": 1, "| Ahpatron": 2}.items():
        assert text.count(f"\n{row}") == count, row
    budgets = (tmp_path / "budgets.md").read_text()
    assert "\n| RBPClassifier |" in budgets and budgets.count("**1.00 (") == 4  # a regressor's default by itself
    monkeypatch.setattr(timing, "answers", None)
    assert page(tmp_path, "defaults", *options) == text


def test_growth(tmp_path, monkeypatch):
    """Each growing quantity has a table and a panel of the picture."""
    sweeps = [(title, values[:1], columns) for title, values, columns in growth.SWEEPS]
    for name, value in {"SWEEPS": sweeps, "LENGTHS": [100], "bounded": lambda kind: []}.items():
        monkeypatch.setattr(growth, name, value)
    speed.main(["--only", "growth", "--output", str(tmp_path)])
    text = (tmp_path / "speed.md").read_text()
    for head in ("support vectors", "features, dense", "active features", "µs per sample up to | 100 samples"):
        assert f"\n| {head}" in text
    assert "![growth](growth.png)" in text and (tmp_path / "growth.png").read_bytes()[:4] == b"\x89PNG"


def test_other_libraries(tmp_path, monkeypatch, capsys):
    """Every model is timed; what is not installed is named and has empty cells."""
    for name, value in {"WARM": 30, "PART": 10, "ROUNDS": 2, "FEATURES": (3,)}.items():
        monkeypatch.setattr(libraries, name, value)
    absent = {name: ("no_such_package", None) for name in libraries.MODELS if "Wabbit" in name}
    monkeypatch.setattr(libraries, "MODELS", libraries.MODELS | absent)
    speed.main(["--only", "libraries", "--output", str(tmp_path)])
    rows = re.findall(r"^\| ([^|]+) \| ([\d.,]*) \| ([\d.,]*) \|$", (tmp_path / "speed.md").read_text(), re.M)
    assert [name for name, _, _ in rows] == [*libraries.MODELS]
    for name, us, ratio in rows:
        assert bool(us) == bool(ratio) == ("Wabbit" not in name), name
    assert "no_such_package is not installed: Vowpal Wabbit, from dicts has no number\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["Bananas", "SEA", "Agrawal", "RandomRBFDrift", "LED", "ImageSegments", "FriedmanDrift"]
)
def test_streams(small, name):
    """Targets have the type stated in the table of streams."""
    labels, classes = {y for _, y in streams.load(name, True)}, streams.STREAMS[name].classes
    assert labels == {False, True} if classes == 2 else 2 < len(labels) <= classes if classes else len(labels) > 50
