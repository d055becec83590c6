"""The benchmarks' shared code: results cached by content, and comparison tables."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import re
import subprocess

import numpy as np
import pytest
from river import linear_model, preprocessing

from benchmarks import (
    ablation,
    anomalies,
    filters,
    intervals,
    kappaml,
    long,
    runner,
    streams,
    timing,
    unseen,
    untuned,
    words,
)
from benchmarks.speed import __main__ as speed
from benchmarks.speed import growth
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
    assert cache.rows == {"one": {"key": "one", "commit": runner.commit(), "error": 1.0}}
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
    *(long.load, long.samples_digest, words.load),
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


def test_the_content_of_a_function_is_its_source():
    """Which is the same in another process, unlike its address."""
    assert " at 0x" not in str(runner.content(unseen.build("co2", "BayesianLinearRegression")))


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


def test_kappaml(fresh, tmp_path, monkeypatch):
    """Published figures stand beside measured ones."""
    monkeypatch.setattr(kappaml, "ROWS", 200)
    text = page(tmp_path, "kappaml", "--streams", "Bananas", "LEDDrift", "--models", "OKL")
    assert "| stream | OKL | KappaML | its KNN |" in text and " 88.0 | **88.5** |" in text
    assert set(kappaml.PUBLISHED) == set(kappaml.STREAMS)


def test_long(fresh, tmp_path, monkeypatch):
    """Results of River's models stay valid; ours must be of the current code."""
    for name, value in {"long.ROWS": 400, "long.WINDOWS": 4, "figures.DOCS": tmp_path}.items():
        monkeypatch.setattr(f"benchmarks.{name}", value)
    options = ["--streams", "RandomTree", "LED, drift", "--output", str(tmp_path)]
    long.main([*options, "--models", "LogisticRegression", "--only", "cells"])
    store = runner.Store(tmp_path / "long.jsonl")
    assert set(store.rows) == {("RandomTree", "LogisticRegression"), ("LED, drift", "LogisticRegression")}
    store.keep(**store.rows["RandomTree", "LogisticRegression"] | {"key": None, "accuracy": 12.3})
    long.main(options)
    text = (tmp_path / "long.md").read_text()
    for shown in ("| RandomTree | **", " 12.3 |", "## 3. Time and memory", "Not measured yet"):
        assert shown in text
    assert (tmp_path / "long.png").read_bytes()[:4] == b"\x89PNG"
    row = runner.Store(tmp_path / "long.jsonl").rows["LED, drift", "OKL"]
    assert len(row["curve"]) == 4 and sum(row["curve"]) / 4 == pytest.approx(row["accuracy"], abs=0.01)
    runner.Store(tmp_path / "long.jsonl").keep(**row | {"key": "of other code"})
    with pytest.raises(SystemExit, match=r"not measured .*: OKL on LED, drift;"):
        long.main([*options, "--only", "tables"])


def test_ablation(small, tmp_path):
    parts = ["pool", "stack", "neighbours"]
    text = page(tmp_path, "ablation", "--streams", "Bananas", "LED", "Friedman", "--parts", *parts)
    for title, count in (("1. Classification", 3), ("3. Regression", 1)):
        table = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert sum(f"\n| {part} | " in table for part in parts) == count, title
    assert "\n| LED | " in text and "\n| Friedman | " in text


@pytest.mark.parametrize("names", [*ablation.OF_CLASSES.values(), *ablation.OF_TARGETS.values(), []])
def test_an_expert_is_left_out(names):
    """Also when a third label adds experts."""
    labelled = names not in ablation.OF_TARGETS.values() or names == ["forest"]
    model = ablation.without(2 if labelled else 0, names)
    for i, (x, y) in enumerate(streams.synth.LED(noise_percentage=0.1, seed=1).take(400)):
        model.predict_one(x)
        model.learn_one(x, (y % 2 if i < 200 else y) if labelled else float(y))
    assert not {*names} & {expert.name for expert in model._f.experts}
    assert sum(model.experts.values()) == pytest.approx(1.0) and math.isfinite(model.predict_one(x))
    model._f._check()


def test_words(fresh, tmp_path, monkeypatch, capsys):
    """Tables of accuracies, times and differences over seeds; streams without a file are left out."""
    monkeypatch.setattr(words, "ROWS", 300)
    monkeypatch.delenv("RIVER_DATA", raising=False)
    text = page(tmp_path, "words", "--streams", "adult", "STAGGER", "Agrawal(2)")
    assert "adult: not in RIVER_DATA" in capsys.readouterr().out
    assert text.count("| STAGGER |") == text.count("| Agrawal(2) |") == 3 and "| adult |" not in text


def test_filters(tmp_path, monkeypatch):
    """Our Gaussian process has the error of the paper's equations."""
    monkeypatch.setattr(filters, "N", 1_300)
    monkeypatch.setattr(filters, "SEEDS", (1,))
    ours, theirs = (filters.run(name, "Lorenz", 1).errors for name in ("SOGPRegressor", "KRLS-T, NumPy"))
    assert filters.decibel(ours[1_000:]) == pytest.approx(filters.decibel(theirs[1_000:]), abs=1.0)
    assert filters.decibel(ours[1_000:]) < -40.0
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


def test_the_leaderboard_is_complete():
    """All streams and models are in the published tables, OKL first."""
    text = (runner.RESULTS / "untuned.md").read_text()
    for heading, among in (("1. Accuracy", untuned.CLASSIFIERS), ("4. Regression", untuned.REGRESSORS)):
        table = text.partition(f"## {heading}")[2].partition("\n## ")[0].splitlines()[2:]
        assert [cell.strip() for cell in table[0].split("|")[2:-1]] == list(among)
        rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in table[2:] if line.startswith("|")}
        for name in (name for name in streams.STREAMS if untuned.models(name) is among):
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


@pytest.mark.parametrize(
    "name", ["Bananas", "SEA", "Agrawal", "RandomRBFDrift", "LED", "ImageSegments", "FriedmanDrift"]
)
def test_streams(small, name):
    """Targets have the type stated in the table of streams."""
    labels, classes = {y for _, y in streams.load(name, True)}, streams.STREAMS[name].classes
    assert labels == {False, True} if classes == 2 else 2 < len(labels) <= classes if classes else len(labels) > 50
