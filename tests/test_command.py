"""``python -m river_okl``: a race of models on a data set or a table."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from operator import length_hint

import pytest
from river import datasets, dummy, evaluate, linear_model, metrics, naive_bayes, preprocessing, stats

import river_okl
from river_okl import OKLClassifier, OLRDClassifier
from river_okl.cli import models, report
from river_okl.cli.command import main
from river_okl.cli.race import Contestant, Inputs, race
from river_okl.progress import Progress

BINARY, MULTICLASS, REGRESSION = "Binary classification", "Multi-class classification", "Regression"


def run(capsys, *args):
    """The output of the command."""
    main(list(args))
    out, err = capsys.readouterr()
    assert not err
    return out


def results(capsys, *args):
    """The table of the command: the cells of each model by column, from the best model to the worst."""
    _, header, _, *rows = run(capsys, *args).splitlines()
    names = header.replace("support vectors", "support_vectors").split()
    table = [
        dict(zip(names, row.replace(" KiB", "_KiB").replace(" MiB", "_MiB").split(), strict=False)) for row in rows
    ]
    return {row.pop("model"): row for row in table}


def stopped(capsys, *args):
    """The status of a command that ends early, its output and its errors."""
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return stop.value.code, *capsys.readouterr()


def complaint(capsys, *args):
    """The one line on stderr of a command that fails."""
    code, out, err = stopped(capsys, *args)
    assert (code, out) == (2, "")
    assert err.startswith("river_okl: ") and err.count("\n") == 1 and err.endswith("\n")
    return err.removeprefix("river_okl: ").strip()


@pytest.fixture
def data(tmp_path):
    """Writes rows as a CSV file for ``--data``."""
    pytest.importorskip("duckdb", reason="Table reads files with DuckDB")

    def data(*rows):
        path = tmp_path / "a.csv"
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return data


@pytest.fixture
def no_race(monkeypatch):
    """Fail if a race begins."""
    monkeypatch.setattr("river_okl.cli.race.race", lambda *args, **options: pytest.fail("the race has begun"))


# The table ------------------------------------------------------------------------------------------------------------


def test_the_table_has_the_best_model_first(capsys):
    out = run(capsys, "--samples", "500", "majority", "LogisticRegression", "OKLClassifier")
    title, header, rule, *rows = out.splitlines()
    assert title == "Bananas: binary classification, 500 samples"
    assert header.split() == ["model", "Accuracy", "µs/sample", "support", "vectors", "memory"]
    assert set(rule) == {"-", " "} and len({len(line) for line in (header, rule, *rows)}) == 1
    cells = [row.split() for row in rows]
    assert cells[0][0] == "OKLClassifier" and {cells[1][0], cells[2][0]} == {"LogisticRegression", "majority"}
    accuracies = [float(row[1].removesuffix("%")) for row in cells]
    assert accuracies == sorted(accuracies, reverse=True) and 75 < accuracies[0] < 95
    assert int(cells[0][3]) > 10 and cells[1][3] == cells[2][3] == "-"
    assert cells[0][-1] in ("KiB", "MiB")


@pytest.mark.parametrize(
    ("task", "selection"),
    [(BINARY, models.CLASSIFIERS), (MULTICLASS, models.CLASSIFIERS), (REGRESSION, models.REGRESSORS)],
)
def test_the_selections_are_ours_and_rivers(task, selection):
    found = models.find_models([], task)
    assert tuple(found) == selection
    modules = {type(getattr(each, "regressor", each)).__module__.partition(".")[0] for each in found.values()}
    assert modules == {"river_okl", "river"}


def test_a_regression_has_the_mean_absolute_error(capsys):
    args = "--data", "TrumpApproval", "--samples", "200"
    found = results(capsys, *args, "mean", "OKLRegressor", "last", "LinearRegression")
    errors = [float(row["MAE"]) for row in found.values()]
    assert errors == sorted(errors) and next(iter(found)) == "OKLRegressor" and 0 < errors[0] < 0.6
    mean = dummy.StatisticRegressor(stats.Mean())
    expected = evaluate.progressive_val_score(datasets.TrumpApproval().take(200), mean, metrics.MAE())
    assert found["mean"]["MAE"] == f"{expected.get():.4g}"


@pytest.mark.parametrize(
    ("task", "made"),
    [
        (BINARY, {"LogisticRegression": "LogisticRegression", "ForgetronClassifier": "ForgetronClassifier"}),
        (MULTICLASS, {"ForgetronClassifier": "OneVsRestClassifier", "OKLClassifier": "OKLClassifier"}),
        (REGRESSION, {"SPARegressor": "TargetStandardScaler", "LinearRegression": "TargetStandardScaler"}),
        (REGRESSION, {"OKLRegressor": "OKLRegressor", "mean": "StatisticRegressor"}),
    ],
)
def test_models_have_around_them_what_they_need(task, made):
    """One classifier for each label, or targets that are standardised, and nothing if they do that themselves."""
    found = models.find_models(made, task)
    assert {name: type(model).__name__ for name, model in found.items()} == made


def test_support_vectors_of_all_labels_are_counted():
    made = models.find_models(["ForgetronClassifier"], MULTICLASS)
    (raced,) = race(made, datasets.ImageSegments().take(100), [metrics.Accuracy()])
    parts = raced.model.classifiers.values()
    assert len(parts) == 7 and raced.support_vectors == sum(part.n_support_vectors for part in parts) > 7


def test_every_name_is_one_row(capsys):
    """Models of River have two names."""
    names = "LogisticRegression", "majority", "linear_model.LogisticRegression"
    rows = [line.split()[:2] for line in run(capsys, "--samples", "200", *names, "majority").splitlines()[3:]]
    assert sorted(name for name, _ in rows) == sorted(names)
    assert dict(rows)[names[0]] == dict(rows)[names[2]]


def test_models_without_a_score_are_last():
    def contestant(name, value):
        metric = metrics.MAE()
        metric.get = lambda: value
        return Contestant(name, linear_model.LinearRegression(), [metric])

    errors = {"a": float("nan"), "b": 5.0, "c": 2.0}
    table = report.table([contestant(name, value) for name, value in errors.items()])
    assert [line.split()[:2] for line in table.splitlines()[2:]] == [["c", "2"], ["b", "5"], ["a", "nan"]]


@pytest.mark.parametrize(
    ("data", "n", "names"),
    [
        ("Bananas", 500, ("RBPClassifier", "OLRDClassifier", "forest.ARFClassifier")),
        ("TrumpApproval", 600, ("neighbors.KNNRegressor",)),
    ],
)
def test_two_runs_are_equal(capsys, data, n, names):
    """Models that are random have a seed."""
    one, two = (results(capsys, "--data", data, "--samples", str(n), *names) for _ in range(2))
    for row in (*one.values(), *two.values()):
        del row["µs/sample"]
    assert one == two


@pytest.mark.parametrize(
    ("args", "samples"),
    [
        ([], "5,300"),
        (["--samples", "100000"], "5,300"),
        (["--data", "RandomRBF"], "20,000"),
        (["--data", "SEA", "--samples", "30"], "30"),
    ],
)
def test_all_samples_are_the_default_and_generators_stop(capsys, args, samples):
    assert f"classification, {samples} samples\n" in run(capsys, *args, "majority")


# Metrics --------------------------------------------------------------------------------------------------------------


def test_metrics_replace_the_usual_one_and_the_first_ranks(capsys):
    args = "--data", "Phishing", "--samples", "300", "OKLClassifier", "majority", "LogisticRegression"
    found = results(capsys, "--metric", "ROCAUC", "--metric", "LogLoss", "--metric", "F1", *args)
    assert [*found["majority"]][:3] == ["ROCAUC", "LogLoss", "F1"]
    scores = [float(row["ROCAUC"][:-1]) for row in found.values()]
    assert scores == sorted(scores, reverse=True) and scores[0] > 80
    losses = [float(row["LogLoss"]) for row in results(capsys, "--metric", "LogLoss", *args).values()]
    assert losses == sorted(losses) and losses[0] < 0.6


def test_metrics_are_rivers(capsys):
    found = results(
        capsys, "--metric", "F1", "--metric", "ROCAUC", "--metric", "CohenKappa", "--samples", "300", "OKLClassifier"
    )
    for metric in (metrics.F1(), metrics.ROCAUC(), metrics.CohenKappa()):
        expected = evaluate.progressive_val_score(datasets.Bananas().take(300), OKLClassifier(), metric)
        assert found["OKLClassifier"][type(metric).__name__] == f"{100 * expected.get():.2f}%"


@pytest.mark.parametrize(
    ("data", "metric"),
    [("Bananas", "LogLoss"), ("Bananas", "MCC"), ("ImageSegments", "CrossEntropy"), ("TrumpApproval", "R2")],
)
def test_metrics_that_are_no_shares_have_four_digits(capsys, data, metric):
    model = "OKLRegressor" if data == "TrumpApproval" else "OKLClassifier"
    (row,) = results(capsys, "--data", data, "--samples", "100", "--metric", metric, model).values()
    assert row[metric] == f"{float(row[metric]):.4g}" and len(row[metric].strip("-0.")) <= 5


@pytest.mark.parametrize("names", [("ham", "spam"), (1, 2), ("false", "true"), (0, 1)])
def test_the_larger_of_two_labels_is_true_for_metrics(capsys, data, names):
    path = data(["x", "y"], *([i % 4, names[i % 4 == 3]] for i in range(80)))
    args = "--data", path, "--target", "y", "--metric", "Precision", "--metric", "Recall"
    found = results(capsys, *args, "OKLClassifier", "majority")
    assert float(found["OKLClassifier"]["Recall"][:-1]) > 80
    assert found["majority"]["Recall"] == "0.00%", "as it predicts the smaller one"


def test_which_label_is_true_does_not_depend_on_samples(capsys, data):
    path = data(["x", "y"], *([i % 7, "spam" if i >= 40 else "ham"] for i in range(80)))
    found = results(capsys, "--data", path, "--target", "y", "--samples", "30", "--metric", "F1", "last")
    assert found["last"]["F1"] == "0.00%"


# Files ----------------------------------------------------------------------------------------------------------------


def mixed(n=500):
    """A number and a string that decide together, both with gaps, and a date, under a header."""
    yield ["size", "colour", "day", "label"]
    rng = random.Random(1)
    for i in range(n):
        size, colour = round(rng.gauss(5000, 1000), 1), rng.choice(["red", "blue"])
        label = "yes" if (size > 5000) == (colour == "red") else "no"
        yield [size if i % 20 else "", colour if i % 30 else "", f"2024-01-{i % 28 + 1:02}", label]


def test_a_file_with_strings_gaps_and_dates(capsys, data):
    """For models that take them, and for others, which get numbers."""
    path = data(*mixed())
    names = ("OKLClassifier", "KernelPAClassifier", "LogisticRegression", "HoeffdingTreeClassifier", "GaussianNB")
    out = run(capsys, "--data", path, "--target", "label", *names)
    assert out.startswith(f"{path}: binary classification, 500 samples\n")
    accuracies = {row.split()[0]: float(row.split()[1][:-1]) for row in out.splitlines()[3:]}
    assert (
        accuracies.keys() == set(names) and accuracies["OKLClassifier"] > 70 and accuracies["KernelPAClassifier"] > 60
    )


def test_a_pattern_is_several_files(capsys, tmp_path, data):
    data(["x", "y"], *([i, i % 2] for i in range(30)))
    (tmp_path / "b.csv").write_bytes((tmp_path / "a.csv").read_bytes())
    pattern = str(tmp_path / "*.csv")
    assert " 60 samples" in run(capsys, "--data", pattern, "--target", "y", "last")
    assert "Give --target COLUMN" in complaint(capsys, "--data", pattern)


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("A.PDF", b"%PDF")])
def test_plot_saves_a_picture(capsys, tmp_path, name, start):
    pytest.importorskip("matplotlib", reason="--plot needs matplotlib")
    args = "--samples", "100", "RBPClassifier", "majority"
    with_plot = run(capsys, *args, "--plot", str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(start)
    assert with_plot.splitlines()[0] == run(capsys, *args).splitlines()[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.xyz", "a.xyz: the suffix must be one of"),
        ("a", "a: the suffix must be one of"),
        (os.path.join("no", "a.png"), "there is no folder no"),
    ],
)
@pytest.mark.usefixtures("no_race")
def test_a_picture_that_cannot_be_saved_is_an_error_at_once(capsys, monkeypatch, tmp_path, name, expected):
    pytest.importorskip("matplotlib", reason="--plot needs matplotlib")
    monkeypatch.chdir(tmp_path)
    said = complaint(capsys, "--plot", name)
    assert said.startswith("--plot ") and expected in said and not os.listdir(tmp_path)


@pytest.mark.usefixtures("no_race")
def test_plot_without_matplotlib_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    assert complaint(capsys, "--plot", "a.png") == "--plot needs matplotlib: pip install 'river_okl[plot]'"


# What exists ----------------------------------------------------------------------------------------------------------


def test_list_models_prints_names_that_are_models(capsys):
    lines = run(capsys, "--list-models").splitlines()
    assert [line for line in lines if line[0] != " "] == ["models of river_okl:", "models of river:", "baselines:"]
    names = [line.strip() for line in lines if line[0] == " "]
    assert len(names) == len({*names}) > 80
    assert {*models.CLASSIFIERS, *models.REGRESSORS} <= {*names}
    known = models._known_models().keys() | models.BASELINES.keys()
    assert {*names} <= known and not any(name.startswith(("OKLDetector", "river_okl")) for name in names)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_end_well(capsys, option):
    code, out, err = stopped(capsys, option)
    assert (code, err) == (0, "")
    if option == "--version":
        assert out == f"river_okl {river_okl.__version__}\n"
    else:
        for word in ("MODEL", "--data", "--target", "--samples", "--metric", "--plot", "--list-models", "examples:"):
            assert word in out


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["OKLClasifier"], "no model is called 'OKLClasifier'; did you mean OKLClassifier?"),
        (["hoeffdingtreeclassifier"], "did you mean HoeffdingTreeClassifier?"),
        (["majorty"], "did you mean majority?"),
        (["xyzzy"], "no model is called 'xyzzy'; see --list-models"),
        (["OKLClassifier(budget=5)"], "no model is called 'OKLClassifier(budget=5)'; did you mean OKLClassifier?"),
        (["OKLRegressor"], "OKLRegressor is not for the task, binary classification"),
        (["mean"], "mean is not for the task, binary classification"),
        (["--data", "TrumpApproval", "majority"], "majority is not for the task, regression"),
        (["BaggingClassifier"], "BaggingClassifier has parameters without defaults: use it in Python"),
        (["--metric", "Acc"], "Acc is not a metric for binary classification; did you mean Accuracy?"),
        (["--metric", "xyzzy"], "xyzzy is not a metric for binary classification; see river.metrics"),
        (["--metric", "MAE"], "MAE is no metric for binary classification"),
        (["--data", "TrumpApproval", "--metric", "F1"], "F1 is no metric for regression"),
        (
            ["--data", "ImageSegments", "--metric", "F1"],
            "F1 is a metric for two labels, and there are more: see MacroF1",
        ),
        (  # only metrics that exist are suggested
            ["--data", "ImageSegments", "--metric", "LogLoss"],
            "LogLoss is a metric for two labels, and there are more: see CrossEntropy, CohenKappa and the like",
        ),
        (["--metric", "ClassificationReport"], "ClassificationReport is not a single number"),
        (["--metric", "FBeta"], "FBeta is not a single number, or has parameters"),
        (["--data", "Phising"], "neither a file nor a data set of River called 'Phising'; did you mean Phishing?"),
        (["--data", "no.csv"], "there is neither a file nor a data set of River called 'no.csv'"),
        (["--data", "no.csv", "--target", "y"], "no.csv"),
        (["--data", "Phishing", "--target", "y"], "--target is for files, and Phishing is a data set of River"),
        (["--data", "SolarFlare"], "SolarFlare is for multi-output regression"),
        (["--samples", "0"], "--samples: '0' is not an integer of at least 1"),
        (["--samples", "1e3"], "'1e3' is not an integer of at least 1"),
        (["--what"], "unrecognized arguments: --what"),
    ],
)
@pytest.mark.usefixtures("no_race")
def test_usage_errors_are_one_line(capsys, args, expected):
    assert expected in complaint(capsys, *args)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], "which column of {path} is to be predicted? Give --target COLUMN"),
        (["--target", "z"], "{path} has no column 'z'; its columns are x, y"),
        (["--target", "y"], " CSV Error on Line: 52 "),  # of which the message of DuckDB has several
    ],
)
@pytest.mark.usefixtures("no_race")
def test_errors_of_a_file_are_one_line(capsys, data, args, expected):
    path = data(["x", "y"], *[[1, 2]] * 50, *([[1, 2, 3]] if args == ["--target", "y"] else []))
    assert expected.format(path=path) in complaint(capsys, "--data", path, *args)


def test_a_metric_that_fails_is_named(capsys, data):
    """RMSLE is for targets above -1."""
    path = data(["x", "y"], *([i, 30.5 - i] for i in range(60)))
    said = complaint(capsys, "--data", path, "--target", "y", "--metric", "RMSLE", "OKLRegressor")
    assert "RMSLE" in said and "OKLRegressor" in said


def test_a_metric_of_probabilities_needs_a_model_that_has_them(capsys, monkeypatch):
    class Without(OLRDClassifier):
        def predict_proba_one(self, x):
            raise NotImplementedError

    monkeypatch.setattr(models.api, "OLRDClassifier", Without)
    said = complaint(capsys, "--samples", "30", "--metric", "LogLoss", "OLRDClassifier")
    assert said == "OLRDClassifier has no probabilities, which LogLoss needs"
    assert run(capsys, "--samples", "30", "--metric", "F1", "OLRDClassifier")


# The race -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [100, 1000])
def test_a_race_is_rivers_progressive_validation(block):
    expected = evaluate.progressive_val_score(datasets.Bananas().take(1000), OKLClassifier(), metrics.F1())
    model = OKLClassifier()
    (raced,) = race({"m": model}, datasets.Bananas().take(1000), [metrics.F1()], block=block)
    assert raced.metrics[0].get() == expected.get() > 0.7
    assert raced.model is model and raced.samples == 1000 and raced.support_vectors == model.n_support_vectors
    assert raced.memory == model._raw_memory_usage


def test_curves_have_a_point_for_each_block():
    model, scaler, metric, expected = (
        OLRDClassifier(budget=30, seed=3),
        preprocessing.StandardScaler(),
        metrics.F1(),
        [],
    )
    for i, (x, y) in enumerate(datasets.Bananas().take(250), start=1):
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        predicted = model.predict_one(x)
        if predicted is not None:
            metric.update(y, predicted)
        model.learn_one(x, y)
        if i % 100 == 0 or i == 250:
            expected.append((i, metric.get(), model.n_support_vectors))
    entries = {"m": OLRDClassifier(budget=30, seed=3)}
    (raced,) = race(entries, datasets.Bananas().take(250), [metrics.F1()], block=100)
    assert [(p.samples, p.metric, p.support_vectors) for p in raced.curve] == expected
    assert raced.metrics[0].get() == metric.get() > 0.5


def test_metrics_are_not_shared():
    given = [metrics.Accuracy()]
    entries = {"a": naive_bayes.GaussianNB(), "b": naive_bayes.GaussianNB()}
    one, two = race(entries, datasets.Bananas().take(100), given)
    assert one.metrics[0].get() == two.metrics[0].get() and given[0].cm.n_samples == 0


class Recorder(naive_bayes.GaussianNB):
    """Keeps what it predicts and learns."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def predict_one(self, x):
        self.seen.append(("predict", dict(x)))
        return True

    def learn_one(self, x, y):
        self.seen.append(("learn", dict(x), y))


class TakesAll(Recorder):
    """Of which the race believes that it takes strings and scales numbers."""

    _takes_words = scale = True


def test_the_stream_is_read_once_and_every_model_sees_all_of_it():
    unread, told, entries = iter([*datasets.Bananas().take(50)]), [], {"a": Recorder(), "b": Recorder()}
    race(entries, unread, [metrics.Accuracy()], block=20, finished=lambda n: told.append((n, length_hint(unread))))
    assert told == [(20, 30), (20, 10), (10, 0)]
    assert entries["a"].seen == entries["b"].seen
    assert [step[0] for step in entries["a"].seen] == ["predict", "learn"] * 50
    assert [step[2] for step in entries["a"].seen[1::2]] == [y for _, y in datasets.Bananas().take(50)]


def test_models_that_take_strings_get_samples_as_they_come_and_others_numbers():
    """Scaled by the samples so far, of which this one is the last."""
    samples = [({"n": 2.0, "s": "red", "g": None}, True), ({"n": 4.0, "s": "blue", "g": 1.0}, False)]
    entries = {"whole": TakesAll(), "numbers": Recorder()}
    race(entries, samples, [metrics.Accuracy()])
    assert [step[1] for step in entries["whole"].seen[::2]] == [x for x, _ in samples]
    first, second = (step[1] for step in entries["numbers"].seen[::2])
    assert {name: value for name, value in first.items() if value} == {"s_red": 1} and first["n"] == 0.0
    assert (
        second["n"] == pytest.approx(1.0) and second["s_blue"] == 1 and not second.get("s_red") and second["g"] == 0.0
    )
    assert {type(value) for value in (*first.values(), *second.values())} <= {int, float}


def test_dates_are_numbers_and_strings_for_all_models():
    entries = {"whole": TakesAll(), "numbers": Recorder()}
    race(entries, datasets.AirlinePassengers().take(30), [metrics.MAE()])
    assert {type(value) for step in entries["whole"].seen for value in step[1].values()} <= {int, float, str}
    assert {type(value) for step in entries["numbers"].seen for value in step[1].values()} <= {int, float}
    assert len(entries["numbers"].seen[-1][1]) > 1


def test_sparse_numbers_may_be_left_as_they_are():
    entries = {"numbers": Recorder()}
    race(entries, [({1: 5.0}, True), ({2: 7.0}, False)], [metrics.Accuracy()], inputs=Inputs(scale=False))
    assert [step[1] for step in entries["numbers"].seen[::2]] == [{1: 5.0}, {2: 7.0}]


@pytest.mark.parametrize(("block", "at"), [(2, 3), (1000, 1234)])
def test_an_error_names_the_model_and_the_sample(block, at):
    samples = [({"a": "oops" if i == at else float(i)}, i % 2 == 0) for i in range(1, at + 5)]

    class Strict(TakesAll):
        def learn_one(self, x, y):
            x["a"] + 1

    with pytest.raises(ValueError, match=f"^m, sample {at:,}: can only concatenate str"):
        race({"m": Strict()}, samples, [metrics.Accuracy()], block=block)


# Signals, pipes and terminals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["river_okl.cli.models.find_models", "river_okl.cli.race.race"])
def test_ctrl_c_ends_without_a_traceback(capsys, monkeypatch, place):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    assert stopped(capsys, "--samples", "20") == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGPIPE")
def test_a_closed_pipe_ends_without_a_message():
    """With the status of SIGPIPE, as other commands before ``head``."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "river_okl", "--list-models"]
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(("encoding", "unit"), [("ascii", "us"), ("cp1252", "µs"), ("utf-8", "µs")])
def test_any_encoding_of_the_output_will_do(data, monkeypatch, encoding, unit):
    path = data(["größe", "y"], *([i % 7, i % 2] for i in range(30)))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    main(["--data", path, "--target", "y", "last"])
    assert f" {unit}/sample " in written.getvalue().decode(encoding)


@pytest.mark.parametrize("rich", [True, False])
def test_progress_is_shown_on_a_terminal_only(monkeypatch, rich):
    if rich:
        pytest.importorskip("rich", reason="draws the bar")
    else:
        monkeypatch.setitem(sys.modules, "rich", None)
    for terminal in (True, False):
        stderr = io.StringIO()
        stderr.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stderr", stderr)
        with Progress("Bananas", 10) as progress:
            progress(5)
        shown = stderr.getvalue()
        assert ("Bananas" in shown) == terminal
        assert rich or not terminal or "Bananas: 5 (50%)" in shown


def test_a_stream_without_an_end_has_no_share_in_its_progress(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    stderr = io.StringIO()
    stderr.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stderr)
    with Progress("SEA") as progress:
        progress(1000)
        progress(1000)
    assert "SEA: 2,000" in stderr.getvalue() and "%" not in stderr.getvalue()
