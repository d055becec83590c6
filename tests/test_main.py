"""``python -m river_okl``: benchmarks, files, names, and usage errors."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import re
import subprocess
import sys
from operator import length_hint

import pytest
from river import datasets, linear_model, metrics, preprocessing

import river_okl
from river_okl import OLRDClassifier, distributed, kernels, losses
from river_okl.checks import UsageError
from river_okl.cli import lookup, report
from river_okl.cli.command import main
from river_okl.cli.race import AsTheyCome, Contestant, Inputs, Total, race
from river_okl.files import stream as files
from river_okl.files.models import BINARY, REGRESSION
from tests.core.expansions import run_python


@pytest.fixture
def path(tmp_path):
    """A file to be written, which DuckDB reads."""
    pytest.importorskip("duckdb")
    return tmp_path / "a.csv"


def run(capsys, *args):
    """The output of the command."""
    main(list(args))
    return capsys.readouterr().out


def result(capsys, *args):
    return json.loads(run(capsys, "--json", *args))


def stopped(capsys, *args):
    """The status of a command that ends early, its output and errors."""
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return stop.value.code, *capsys.readouterr()


def complaint(capsys, *args):
    """The error line on stderr."""
    code, out, err = stopped(capsys, *args)
    assert code == 2
    assert err.startswith("river_okl: ") and err.count("\n") == 1
    assert not out or "," in out  # at most the line with the data
    return err.removeprefix("river_okl: ").strip()


# Benchmarks ---------------------------------------------------------------------------------------


def test_race_is_test_then_train_behind_a_scaler():
    model, scaler, metric = OLRDClassifier(budget=30, seed=3), preprocessing.StandardScaler(), metrics.F1()
    errors, expected = 0, []
    for i, (x, y) in enumerate(datasets.Bananas().take(250), start=1):
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        predicted = model.predict_one(x)
        errors += predicted != y
        if predicted is not None:
            metric.update(y, predicted)
        model.learn_one(x, y)
        if i % 100 == 0 or i == 250:
            expected.append((i, errors / i, model.n_support_vectors))

    models, samples = {"m": OLRDClassifier(budget=30, seed=3)}, datasets.Bananas().take(250)
    (raced,) = race(models, samples, block=100, metrics=[metrics.F1()])
    assert [(p.samples, p.error, p.support_vectors) for p in raced.curve] == expected
    assert raced.samples == 250 and raced.error == errors / 250 and raced.metrics[0].get() == metric.get() > 0.5
    assert raced.memory == raced.model._raw_memory_usage


def test_errors_are_a_share_of_the_samples_that_have_targets():
    samples = [({"x": float(i % 2)}, None if i % 3 == 0 else i % 2 == 0) for i in range(300)]
    (raced,) = race({"m": OLRDClassifier(budget=30, seed=3)}, samples)
    assert raced.samples == 300 and raced.total.targets == 200
    assert raced.error == raced.total.errors / 200 > 0.0


def test_race_of_a_regression_has_absolute_errors_and_may_skip_scaling():
    model, total = linear_model.LinearRegression(), 0.0
    for x, y in datasets.TrumpApproval().take(100):
        total += abs(y - model.predict_one(x))
        model.learn_one(x, y)
    models, samples = {"m": linear_model.LinearRegression()}, datasets.TrumpApproval().take(100)
    (raced,) = race(models, samples, regression=True, inputs=Inputs(scaled=False))
    assert raced.error == pytest.approx(total / 100, rel=1e-12)
    assert raced.support_vectors is None


def test_race_reads_the_stream_once_and_in_blocks():
    seen, models = [], {"a": OLRDClassifier(), "b": OLRDClassifier()}
    unread = iter(list(datasets.Bananas().take(50)))
    race(models, unread, block=20, finished=lambda block, _: seen.append((len(block), length_hint(unread))))
    assert seen == [(20, 30), (20, 10), (10, 0)]


class Interrupted(OLRDClassifier):
    """By Ctrl-C, when it has learned its 26th sample, or another one."""

    learned, last = 0, 26

    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, y, w)
        self.learned += 1
        if self.learned == self.last:
            raise KeyboardInterrupt


def test_ctrl_c_within_a_block_truncates_all_results_alike():
    models, measured = {"a": OLRDClassifier(), "b": Interrupted()}, [metrics.Accuracy()]
    first, second = race(models, datasets.Bananas().take(60), block=10, metrics=measured)
    assert first.metrics[0].cm.n_samples == second.metrics[0].cm.n_samples <= 20
    assert first.samples == second.samples == 20 == first.curve[-1].samples
    alone = race({"a": OLRDClassifier()}, datasets.Bananas().take(20), block=10)[0]
    assert first.error == alone.error


@pytest.mark.parametrize("place", ["river_okl.cli.lookup.find_stream", "river_okl.cli.race.race"])
def test_ctrl_c_exits_without_a_traceback(capsys, monkeypatch, place):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    code, _, err = stopped(capsys, "--samples", "20")
    assert (code, err) == (130, "")


@pytest.mark.parametrize("as_json", [False, True])
def test_after_ctrl_c_the_table_is_partial_and_so_is_the_status(capsys, monkeypatch, as_json):
    monkeypatch.setattr(Interrupted, "last", 130)
    monkeypatch.setattr(lookup.api, "OLRDClassifier", Interrupted)
    options = ["--json"] if as_json else []
    code, out, err = stopped(capsys, "--samples", "5000", *options, "OLRDClassifier", "RBPClassifier")
    assert (code, err) == (130, "")
    if as_json:
        got = json.loads(out)
        assert got["complete"] is False and got["samples"] == 100
        assert [model["curve"][-1]["samples"] for model in got["models"]] == [100, 100]
    else:
        assert "Interrupted: this table is partial, after 100 of 5,000 samples" in out
        assert "RBPClassifier" in out.partition("Interrupted")[2]


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGINT to send")
def test_ctrl_c_while_modules_are_imported():
    """The command's own code is loaded before slow imports."""
    code = (
        "import builtins, signal, os; real = builtins.__import__\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in background jobs of a shell
        "def slow(name, *args, **options):\n"
        "    if name.startswith('river.'): os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *args, **options)\n"
        "builtins.__import__ = slow\n"
        "import runpy; runpy.run_module('river_okl', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGPIPE")
def test_a_closed_pipe(monkeypatch):
    """As for other commands before ``head``: no message, and the status of SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(os.dup(writer), "w", encoding="utf-8") as nobody, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", nobody)
        with pytest.raises(SystemExit) as stop:
            main(["--samples", "20", "--json", "RBPClassifier"])
    assert stop.value.code == 141
    command = [sys.executable, "-m", "river_okl", "--samples", "20", "RBPClassifier"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


# Output -------------------------------------------------------------------------------------------


def test_the_default_models_are_ours_and_rivers(capsys):
    out = run(capsys, "--samples", "300")
    assert out.splitlines()[0] == "Bananas: binary classification, 300 samples"
    for word in ("accuracy", "µs/sample", "support vectors", "memory", "LogisticRegression", "AhpatronClassifier"):
        assert word in out


@pytest.mark.parametrize("rich", [True, False])
def test_a_narrow_terminal_shows_a_model_on_two_lines(capsys, monkeypatch, rich):
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out = run(capsys, "--samples", "300", "ProjectronPlusPlusClassifier", "linear_model.LogisticRegression")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 50
    at = lines.index("ProjectronPlusPlusClassifier")
    assert lines[at + 1].startswith("  ") and "%" in lines[at + 1]


@pytest.mark.parametrize("rich", [True, False])
def test_the_table_has_the_best_first_with_and_without_rich(capsys, monkeypatch, rich):
    if rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "150")
    ours = "ProjectronPlusPlusClassifier(budget=50)"
    out = run(capsys, "--samples", "1000", "dummy.NoChangeClassifier", ours)
    assert ("┃" in out) == rich
    lines = out.splitlines()
    (first,) = (i for i, line in enumerate(lines) if ours in line)
    (last,) = (i for i, line in enumerate(lines) if "dummy.NoChangeClassifier" in line)
    assert first < last and " - " in lines[last]
    accuracy = float(next(word for word in lines[first].split() if word.endswith("%"))[:-1])
    assert 80 < accuracy < 95


def test_the_last_models_have_errors_that_are_no_numbers():
    errors, model = {"a": math.nan, "b": 5.0, "c": None, "d": 2.0}, linear_model.LinearRegression()
    totals = {name: Total(9, 0 if error is None else 1, error or 0.0, 1.0) for name, error in errors.items()}
    table = report.table([Contestant(name, model, total=total) for name, total in totals.items()], True, {})
    shown = [line.split()[:2] for line in table.splitlines()[2:]]
    assert shown == [["d", "2"], ["b", "5"], ["a", "nan"], ["c", "-"]]


def test_json_contains_the_curves(capsys):
    got = result(capsys, "--samples", "200", "RBPClassifier(budget=10)", "LogisticRegression")
    assert (got["data"], got["task"], got["samples"]) == ("Bananas", "binary classification", 200)
    ours, theirs = got["models"]
    assert ours["model"] == "RBPClassifier(budget=10)" and ours["support_vectors"] == 10
    assert theirs["support_vectors"] is None
    assert ours["curve"][-1]["samples"] == 200 and ours["curve"][-1]["error"] == ours["error_rate"]
    assert ours["memory_bytes"] > theirs["memory_bytes"] > 0


def test_the_seed_determines_the_results(capsys):
    def errors(*args):
        return [model["error_rate"] for model in result(capsys, "--samples", "800", *args)["models"]]

    names = ("RBPClassifier(budget=20)", "OLRDClassifier(budget=20)")
    assert errors(*names) == errors(*names) == errors("--seed", "1", *names)
    assert errors(*names) != errors("--seed", "2", *names)


def test_budget_and_seed_apply_to_models_without_explicit_ones(capsys):
    names = "RBPClassifier", "RBPClassifier(budget=9)", "GaussianNB"
    got = result(capsys, "--samples", "300", "--budget", "7", *names)
    assert [model["support_vectors"] for model in got["models"]] == [7, 9, None]


def test_plot_saves_a_picture(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    run(capsys, "--samples", "200", "--plot", str(tmp_path / "curves.png"), "RBPClassifier", "LogisticRegression")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_the_version_imports_nothing_slow():
    show = "import sys; from river_okl.cli.command import main; sys.argv[1:] = ['--version']\n"
    show += "try: main()\nexcept SystemExit as stop: print(stop.code, *{name.split('.')[0] for name in sys.modules})"
    version, modules = run_python(show).splitlines()
    assert version.startswith("river_okl ") and modules.startswith("0 ")
    assert not {"numpy", "scipy", "river"} & set(modules.split())


# Data ---------------------------------------------------------------------------------------------


def read(path, text=None, target=None, drop=(), **options):
    if text is not None:
        path.write_text(text, encoding="utf-8")
    stream = lookup.find_stream(str(path), files.Reading(target=target, drop=tuple(drop), **options))
    samples = list(stream.samples)
    assert samples == list(stream.samples) and len(samples) == stream.size  # and again
    return stream, samples


def test_string_features_are_not_scaled_away(capsys, path):
    """A StandardScaler turns features that are 1 or absent into 0; the target depends on a number and a string."""
    rng, lines = random.Random(1), ["size, colour, label"]
    for _ in range(600):
        size, colour = rng.gauss(0.0, 1.0), rng.choice(["red", "blue"])
        lines.append(f"{1000.0 * size + 5000.0}, {colour}, {'yes' if (size > 0.0) == (colour == 'red') else 'no'}")
    stream, samples = read(path, "\n".join(lines))
    assert samples[0][0].keys() == {"size", "colour"}
    models = {"okl": river_okl.OKLClassifier(), "pa": river_okl.KernelPAClassifier()}
    for raced in race(models, samples, inputs=Inputs(stream.scaled)):
        assert raced.error < 0.1
    assert max(abs(x.get("size", 0.0)) for x, _ in models["pa"].support_vectors) < 10.0  # numbers are scaled
    run(capsys, "--data", str(path), "--samples", "300", *("ARFClassifier", "LogisticRegression", "OKLClassifier"))


def test_errors_name_the_failing_model(capsys, path):
    path.write_text("a,label\n" + "".join(f"{1e200 * (i + 1)},{i % 2}\n" for i in range(30)))
    said = complaint(capsys, "--data", str(path), "RBPClassifier", "LogisticRegression")
    assert re.match(r"RBPClassifier, sample \d+: feature 'a' is nan", said)
    with pytest.raises(UsageError, match="m, sample 3: feature 'a' is 'x'"):
        race({"m": OLRDClassifier()}, [({"a": value}, True) for value in (1.0, 2.0, "x")], inputs=AsTheyCome(), block=2)


@pytest.mark.parametrize("data", ["Mv(seed=1)", "AirlinePassengers"])
def test_data_sets_with_strings_and_dates(capsys, data):
    """OKL takes them as they come, other models in numbers."""
    got = result(capsys, "--data", data, "--samples", "140", "OKLRegressor", "LinearRegression", "mean", "last")
    assert [model["model"] for model in got["models"]][2:] == ["mean", "last"]
    assert all(math.isfinite(model["mean_absolute_error"]) for model in got["models"])


def test_workers_know_of_dates(capsys, monkeypatch):
    found = []
    monkeypatch.setattr(distributed, "train", lambda model, *arguments, **options: found.extend(model.steps) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["--data", "AirlinePassengers", "--workers", "2", "OKLRegressor"])
    assert found == ["Dates", "OKLRegressor"]


def test_metrics_replace_the_usual_one(capsys):
    args = ("--data", "Phishing", "--samples", "300", "OKLClassifier", "majority", "LogisticRegression")
    got = result(capsys, "--metric", "F1", "--metric", "metrics.ROCAUC(n_thresholds=20)", *args)
    for model in got["models"]:
        assert model["metrics"].keys() == {"F1", "metrics.ROCAUC(n_thresholds=20)"}
    usual = result(capsys, "--metric", "Accuracy", *args)["models"]
    for model, name in zip(usual, ("OKLClassifier", "majority", "LogisticRegression"), strict=True):
        assert model["model"] == name
        assert model["metrics"]["Accuracy"] == pytest.approx(1 - model["error_rate"], abs=0.01)  # None is not counted
    lines = run(capsys, "--metric", "LogLoss", *args).splitlines()
    assert "LogLoss" in "".join(lines) and "accuracy" not in "".join(lines)
    names = [name for line in lines for name in ("OKLClassifier", "majority") if name in line]
    assert names == ["OKLClassifier", "majority"]  # the smaller loss first


@pytest.mark.parametrize("name", ["OKLClassifier", "RBPClassifier(budget=20)"])
def test_save_what_was_trained(capsys, tmp_path, name):
    """For samples as they come, with the scaler of models that need one."""
    path, stream = tmp_path / "model.okl", list(datasets.Phishing().take(300))
    outputs = "--save", str(path), "--predictions", str(tmp_path / "p")
    run(capsys, "--data", "Phishing", "--samples", "300", *outputs, name)
    loaded, expected = river_okl.load(path), river_okl.OKLClassifier()
    if name != "OKLClassifier":
        expected = preprocessing.StandardScaler() | river_okl.RBPClassifier(budget=20, seed=1)
    for x, y in stream:
        expected.predict_one(x)
        expected.learn_one(x, y)
    for x, _ in stream:
        assert loaded.predict_proba_one(x) == expected.predict_proba_one(x)
    with (tmp_path / "p").open() as file:
        target, predicted = zip(*list(csv.reader(file))[1:], strict=True)
    assert target == tuple(str(y) for _, y in stream) and {*predicted} <= {"True", "False", ""}


def test_the_task_may_be_given(path, capsys):
    path.write_text("a,quality\n" + "".join(f"{i % 9},{3 + i % 6}\n" for i in range(60)))
    got = result(capsys, "--data", str(path), "RBPClassifier")
    assert got["task"] == "multi-class classification"
    got = result(capsys, "--data", str(path), "--task", "regression", "OKLRegressor")
    assert got["task"] == "regression" and got["models"][0]["mean_absolute_error"] < 2.0
    said = complaint(capsys, "--data", "TrumpApproval", "--task", "classification")
    assert said == "--task classification applies to files, and TrumpApproval is a data set for regression"
    assert "invalid choice: 'clustering'" in complaint(capsys, "--task", "clustering")


def test_a_table_needs_duckdb(path, capsys, monkeypatch):
    """And a data set, or a libsvm file, does not."""
    path.write_text("0 1:1\n1 1:2\n" * 30)
    ours = "river_okl.files.table", "river_okl.files.texts", "river_okl.files.query"
    for name in ("duckdb", *ours):
        monkeypatch.setitem(sys.modules, name, None)
    run(capsys, "--data", str(path), "RBPClassifier")
    run(capsys, "--samples", "20", "RBPClassifier")
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    path.write_text("a,b\n1,2\n")
    assert "pip install 'river_okl[cli]'" in complaint(capsys, "--data", str(path), "RBPClassifier")


def test_benchmarks_of_regression_and_multiclass(capsys):
    trump = result(capsys, "--data", "TrumpApproval", "OLKRegressor", "PARegressor")
    assert trump["task"] == "regression"
    assert trump["models"][0]["mean_absolute_error"] < 1.5
    names = ("ProjectronPlusPlusClassifier(budget=50)", "ForgetronClassifier(budget=20)")  # the latter one-vs-rest
    segments = result(capsys, "--data", "ImageSegments", "--samples", "600", *names)
    assert segments["task"] == "multi-class classification"
    native, wrapped = segments["models"]
    assert native["error_rate"] < 0.3 and native["support_vectors"] <= 50
    assert wrapped["error_rate"] < 0.4 and 20 < wrapped["support_vectors"] <= 7 * 20


def test_generators_are_truncated(capsys):
    assert result(capsys, "--data", "Waveform(seed=1)", "--samples", "60", "dummy.PriorClassifier")["samples"] == 60
    assert len(list(lookup.find_stream("GaussianMixture(seed=1)").samples.take(3))) == 3


def test_our_data_sets_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("RIVER_DATA", str(tmp_path))
    (tmp_path / "LIBSVM").mkdir()
    (tmp_path / "LIBSVM" / "cod-rna").write_text("1 1:0.5 2:1\n")
    for text in ("cod-rna", 'LIBSVM("cod-rna")', 'LIBSVM(name="cod-rna", part="train")'):
        stream = lookup.find_stream(text)
        assert next(iter(stream.samples)) == ({1: 0.5, 2: 1.0}, True)


# Models by name -----------------------------------------------------------------------------------


def model(text, task=BINARY, budget=None, seed=None):
    return lookup.find_models([text], task, budget, seed)[text]


def test_models_with_parameters():
    got = model('OLRDClassifier(0.8 * RBF(gamma=0.5) + 0.2 * kernels.Linear(), budget=7, projection="approximate")')
    assert got.kernel == 0.8 * kernels.RBF(gamma=0.5) + 0.2 * kernels.Linear()
    assert (got.budget, got.projection) == (7, "approximate")
    options = "loss=optim.losses.Log(), learning_rate=Constant(0.5)"
    got = model(f"OLRDClassifier(RBF(gamma=(0.1, 1)) * Laplacian(), {options})")
    assert got.kernel == kernels.RBF(gamma=(0.1, 1.0)) * kernels.Laplacian()
    assert got.learning_rate.get(3) == 0.5
    got = model("OLRDRegressor(loss=losses.EpsilonInsensitive(eps=0.2))", REGRESSION)
    assert isinstance(got.regressor.loss, losses.EpsilonInsensitive)
    got = model("ensemble.BaggingClassifier(OLRDClassifier(budget=7), n_models=3, seed=-1)")
    assert len(got.models) == 3 and got.models[0].budget == 7 and got.seed == -1
    got = model("ensemble.BaggingClassifier(OLRDClassifier(), 3, 5)", budget=7, seed=1)
    assert (got.seed, got.models[0].budget, got.models[0].seed) == (5, 7, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("OLRDClassifier(budget=__import__('os'))", "OLRDClassifier(budget=[x for x in (1,)][0])", "", "\0"),
        *("OLRDClassifier(budget=(lambda: 5)())", "OLRDClassifier(budget=10**10**10)", "(" * 500 + ")" * 500),
        *("OLRDClassifier(budget=5).clone()", "OLRDClassifier(**{'budget': 5})", "OLRDClassifier.__init__"),
        "__import__('os').getcwd()",
    ],
)
def test_arguments_are_never_executed(text):
    with pytest.raises(UsageError):
        model(text)


# Usage errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["OLRDClasifier"], "no model is called 'OLRDClasifier'; did you mean OLRDClassifier"),
        (["OLRDClassifier(budget=0)"], "OLRDClassifier(budget=0): budget is 0; it must be at least 1"),
        (["OLRDClassifier(RBF(gamma=-1))"], "OLRDClassifier(RBF(gamma=-1)): RBF: gamma is -1; it must be positive"),
        ([f"OLRDClassifier({' * '.join(['(RBF() + Linear())'] * 30)})"], "at most 16 terms"),
        ([f"OLRDClassifier({' + '.join(['RBF()'] * 2000)})"], "nested too deep"),
        (["OLRDClassifier(RFB())"], "'RFB()' is not known; did you mean RBF"),
        (["OLRDClassifier(RBF(gama=1))"], "no parameter 'gama'; did you mean gamma?; its parameters are gamma"),
        (["OLRDClassifier(budget=)"], "neither a name nor a name with parameters"),
        (["OLRDRegressor"], "OLRDRegressor is not a classifier"),
        (["RBPClassifier", "RBPClassifier"], "RBPClassifier is given twice"),
        (["--data", "Phising"], "no data set is called 'Phising'; did you mean Phishing?"),
        (["--data", "SolarFlare"], "Multi-output regression"),
        (["--data", "no/such.csv"], "there is no file no/such.csv"),
        (["--data", "Phishing", "--target", "x"], "--target is for files, and Phishing is not a file"),
        (["--samples", "0"], "'0' is not an integer of at least 1"),
        (["--metric", "Acuracy"], "no metric is called 'Acuracy'; did you mean Accuracy"),
        (["--metric", "MAE"], "is a metric for regression, and the task is binary classification; these do: Accuracy"),
        (["--metric", "ClassificationReport", "RBPClassifier"], "ClassificationReport is not a single number"),
        (["--metric", "F1", "--workers", "2"], "--metric, --predictions and --load are not for --workers"),
        (["--save", "a.okl"], "--save saves one model, and there are"),
        (["--save", "no/such/a.okl", "RBPClassifier"], "there is no folder no/such"),
        (["--predictions", "no/such/a.csv", "RBPClassifier"], "there is no folder no/such"),
        (["mean"], "the baseline mean is not for binary classification"),
        (["--what"], "unrecognized arguments: --what"),
        (["--plot", "x.jpg"], "x.jpg must end in one of .png, .svg, .pdf, .eps, .ps"),
        (["--plot", "no/such/folder.png"], "there is no folder no/such"),
    ],
)
def test_usage_errors_are_one_line(capsys, args, expected):
    if "--plot" in args:
        pytest.importorskip("matplotlib")
    assert expected in complaint(capsys, *args)


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("size,b\n1,2\n2,1\n", ["--target", "sise"], "has no column 'sise'; did you mean size?"),
        ("a,b,c\n1,2,3\n2,1,4\n", ["--target", "d"], "has no column 'd'; its columns are a, b, c"),
        (",".join(f"x{i}" for i in range(40)) + "\n" + "1," * 39 + "2\n", ["--target", "z"], "x29 and 10 more"),
        ("a,b\n1,2\n2,1\n", ["--drop", "b"], "'b' is the target"),
        ("a,b\n1,2\n2,1\n", ["--drop", "a"], "has no column besides the target 'b'"),
        (
            "a,b\n" + "1,2\n" * 50 + "2,1,3\n",
            [],
            "line 52 and those after it have other fields",
        ),
        ("a,b\n1,2\ninf,1\n", [], "feature 'a' is inf"),
        ("1 1:2\n0 1:2\n", ["--date-format", "%d"], "--date-format is for tables"),
    ],
)
def test_bad_files_are_one_line(capsys, path, text, args, expected):
    path.write_text(text)
    assert expected in complaint(capsys, "--data", str(path), *args, "OLRDClassifier")


def test_plot_without_matplotlib(capsys, monkeypatch):
    monkeypatch.delattr("river_okl.plot", raising=False)
    monkeypatch.setitem(sys.modules, "river_okl.plot", None)
    assert "pip install 'river_okl[plot]'" in complaint(capsys, "--plot", "a.png")
