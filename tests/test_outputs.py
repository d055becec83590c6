"""Files that the command writes, and models that it saves and loads: nothing is lost, overwritten or silently wrong."""

from __future__ import annotations

import csv
import datetime
import io
import os
import pickle
import random
import subprocess
import sys

import pytest

import river_okl
from river_okl.cli import job, lookup, outputs
from river_okl.cli.metrics import ROCAUC, find_metrics
from river_okl.files import table
from river_okl.files.models import BINARY, MULTICLASS
from river_okl.progress import Progress
from tests.core.expansions import run_python
from tests.test_files import HEADER, rows_of, written
from tests.test_main import complaint, run, stopped

posix = pytest.mark.skipif(os.name != "posix", reason="has no symbolic links without privileges, and no /dev")


@pytest.fixture
def data(tmp_path):
    """A CSV file; the folder is the current one."""
    return written(tmp_path, HEADER, rows_of(400))


@pytest.fixture
def saved(tmp_path):
    return str(tmp_path / "m.okl")


@pytest.fixture
def found(tmp_path):
    return str(tmp_path / "p.csv")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def predicted(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Nothing is overwritten -----------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("option", ["--predictions", "--save", "--plot"])
@pytest.mark.parametrize("way", ["same", "other", "symlink", "hardlink", "relative"])
def test_the_input_is_no_output(capsys, tmp_path, monkeypatch, data, option, way):
    monkeypatch.chdir(tmp_path)
    before, link = content(data), str(tmp_path / ("link.png" if option == "--plot" else "link"))
    paths = {"same": data, "other": f"{tmp_path}/../{tmp_path.name}/a.csv", "relative": "./a.csv"}
    if way not in paths:
        (os.symlink if way == "symlink" else os.link)(data, link)
    output = paths.get(way, link)
    said = complaint(capsys, "--data", data, option, output, "OKLClassifier")
    assert said == f"--data and {option} are the same file, {output}: choose another for {option}"
    assert content(data) == before


@posix
def test_outputs_are_different_files(capsys, tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    for a, b in (("--save", "--predictions"), ("--predictions", "--plot"), ("--save", "--plot")):
        said = complaint(capsys, "--data", data, a, "x.png", b, str(tmp_path / "x.png"), "OKLClassifier")
        assert said.startswith(f"{a} and {b} are the same file")
    os.symlink("nowhere", tmp_path / "link")
    said = complaint(capsys, "--data", data, "--save", "link", "--predictions", "nowhere", "OKLClassifier")
    assert said.startswith("--save and --predictions are the same file")
    run(capsys, "--data", data, "--predictions", os.devnull, "RBPClassifier")


@pytest.mark.skipif(sys.platform == "win32", reason="has no POSIX redirections")
@pytest.mark.parametrize(("option", "stream"), [("--predictions", "output"), ("--save", "input")])
def test_standard_streams_are_no_outputs(tmp_path, data, option, stream):
    path = tmp_path / "out"
    path.write_bytes(content(data))
    read = "-" if stream == "input" else data
    command = [sys.executable, "-m", "river_okl", "--data", read, option, str(path), "RBPClassifier"]
    with open(path, "r+b") as file:
        streams = {"stdin": file} if stream == "input" else {"stdout": file}
        done = subprocess.run(command, **streams, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 2 and f"{option} {path} is also standard {stream}" in done.stderr
    assert content(path) == content(data)


def test_files_of_another_kind_are_not_replaced(capsys, tmp_path, data, saved, found):
    other, pickled, picture, empty = (tmp_path / name for name in ("b.csv", "other.pkl", "other.svg", "empty"))
    other.write_text("target,important\n1,2\n")
    for _ in range(2):  # those of the same kind are
        run(capsys, "--data", data, "--save", saved, "--predictions", found, "OKLClassifier")
    (tmp_path / "p.csv").write_text("target" + ",OKLClassifier" * 400)
    outputs.check({}, {"--predictions": found})
    pickled.write_bytes(pickle.dumps({"a": 1}))
    picture.write_text("<?xml version='1.0'?><svg/>")
    empty.write_bytes(b"")
    run(capsys, "--data", data, "--save", str(empty), "OKLClassifier")
    for option, path, kind in (
        ("--save", other, "a file that is no model of the command"),
        ("--predictions", other, "a file that has no predictions of the command"),
        ("--predictions", saved, "a model"),
        ("--plot", saved, "a model"),
        ("--save", pickled, "a file that is no model of the command"),
        ("--plot", picture, "a file that is no picture of the command"),
    ):
        before = content(path)
        said = complaint(capsys, "--data", data, option, str(path), "OKLClassifier")
        assert said == f"{option} {path} would replace {kind}: choose another name, or remove that file first"
        assert content(path) == before


def stop_at_250(monkeypatch, error):
    """Let OKLClassifier raise an error instead of learning its 250th sample; what it saves is a model without it."""
    real = river_okl.OKLClassifier

    class Stopping(real):
        def learn_one(self, x, y, w=1.0):
            if self._f.seen == 249:
                raise error
            super().learn_one(x, y, w)

    monkeypatch.setattr(outputs, "check_save", lambda *arguments: None)
    monkeypatch.setattr(job.river_okl, "save", lambda model, path, save=river_okl.save: save(real(), path))
    monkeypatch.setattr(lookup.api, "OKLClassifier", Stopping)


def test_an_error_leaves_the_old_outputs(capsys, tmp_path, monkeypatch, data, saved, found):
    arguments = "--data", data, "--save", saved, "--predictions", found, "OKLClassifier"
    run(capsys, *arguments)
    before = content(saved), content(found)
    stop_at_250(monkeypatch, ValueError("no more"))
    assert "OKLClassifier, sample 250: no more" in complaint(capsys, *arguments)
    assert (content(saved), content(found)) == before
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m.okl", "p.csv"], "nothing is left behind"


@pytest.mark.parametrize("old", ["", "m.partial.okl", "m.partial2.okl"])
def test_ctrl_c_leaves_the_old_outputs(capsys, tmp_path, monkeypatch, data, saved, found, old):
    arguments = "--data", data, "--save", saved, "--predictions", found, "OKLClassifier"
    if old:
        run(capsys, *arguments)
        (tmp_path / "m.partial.okl").write_bytes(b"notes" if "2" in old else content(saved))
        before = content(saved), content(found)
    stop_at_250(monkeypatch, KeyboardInterrupt)
    code, out, _ = stopped(capsys, *arguments)
    assert code == 130 and "partial" in out
    if old:
        assert (content(saved), content(found)) == before
        assert len(river_okl.load(tmp_path / old).support_vectors) == 0
        assert outputs.partial(saved, None, "Phishing") == str(tmp_path / old) != outputs.partial(saved, tmp_path / old)
    else:
        assert len(predicted(found)) == 248 and river_okl.load(saved)


@pytest.mark.parametrize("n", [0, 10])
def test_a_run_without_samples_or_with_fewer_is_an_error(capsys, monkeypatch, data, n):
    """The file has changed since it was validated."""
    real = table._samples
    monkeypatch.setattr(table, "_samples", lambda *arguments: iter(list(real(*arguments))[:n]))
    said = complaint(capsys, "--data", data, "OKLClassifier")
    assert said.endswith("has no samples" if n == 0 else "has changed while it was read: 10 samples instead of 400")


# A trained model is saved, whatever happens to the table --------------------------------------------------------------


def test_the_model_is_saved_if_the_predictions_cannot_be(capsys, tmp_path, monkeypatch, data, saved, found):
    """Such as on a full disk."""
    real = os.replace

    def replace(source, target):
        if target.endswith("p.csv"):
            raise OSError(28, "No space left on device", target)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    options = "--data", data, "--save", saved, "--predictions", found
    assert "No space left on device" in complaint(capsys, *options, "RBPClassifier")
    assert river_okl.load(saved).predict_one({"a": 1.0}) in ("yes", "no")
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m.okl"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no POSIX shell")
@pytest.mark.parametrize("redirection", ["| head -1 >/dev/null", "2>&- >&-", ">/dev/full"])
def test_the_model_is_saved_before_the_table_is_printed(data, saved, found, redirection):
    if "full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    options = f"--data {data} --save {saved} --predictions {found}"
    command = ["sh", "-c", f"'{sys.executable}' -u -m river_okl {options} RBPClassifier {redirection}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert river_okl.load(saved).model is not None and len(content(found).splitlines()) == 401
    assert ("No space left" in done.stderr) == ("full" in redirection)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_any_output_can_show_the_table(tmp_path, encoding):
    path = written(tmp_path, ["größe", "y"], [[i % 7, "ä" if i % 7 < 3 else "b"] for i in range(60)])
    command = [sys.executable, "-m", "river_okl", "--data", path, "RBPClassifier"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=env, capture_output=True, timeout=300, check=True)
    out = done.stdout.decode(encoding)
    assert ("µs/sample" if encoding == "utf-8" else "us/sample") in out
    assert "┃" not in out and "\x1b" not in out and done.stderr == b"", "plain text, if it is no terminal"


# Models of the command ------------------------------------------------------------------------------------------------


def split(tmp_path, n=1500, first=1000):
    """A file to train on, the same columns in another order without the target, and the labels."""
    rows = list(rows_of(n))
    old = written(tmp_path, HEADER, rows[:first])
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["c,day,a,b", *(f"{c},{day},{a},{b}" for a, b, c, day, _ in rows[first:])]))
    return old, str(new), [row[-1] for row in rows[first:]]


TREE = "tree.HoeffdingTreeClassifier"  # not KNNClassifier, whose search is random: it predicts differently each time
MODELS = ["OKLClassifier", "AhpatronClassifier", "RBPClassifier", "linear_model.LogisticRegression", TREE]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_saved_and_applied(capsys, tmp_path, name):
    """With the labels of the file, its columns, and what strings, dates and gaps mean in it."""
    old, new, labels = split(tmp_path)
    saved, out = str(tmp_path / "m.okl"), str(tmp_path / "out.csv")
    run(capsys, "--data", old, "--save", saved, name)
    shown = run(capsys, "--load", saved, "--data", new, "--predictions", out)
    assert "new.csv: binary classification, 500 samples\nno target\n" in shown
    found = predicted(out)
    assert list(found[0]) == ["prediction", "P(no)", "P(yes)"]
    assert all(float(row["P(no)"]) + float(row["P(yes)"]) == pytest.approx(1.0) for row in found)
    accuracy = sum(row["prediction"] == y for row, y in zip(found, labels, strict=True)) / len(labels)
    assert accuracy > (0.9 if name == "OKLClassifier" else 0.4)
    model = river_okl.load(saved)
    rows = predicted(new)
    assert [model.predict_one(row) for row in rows] == [row["prediction"] for row in found]
    assert model.predict_proba_one(rows[0])["yes"] == float(found[0]["P(yes)"])


def test_a_loaded_model_goes_on_learning(capsys, tmp_path, saved, found):
    rows, again = list(rows_of(600)), tmp_path / "again.okl"
    run(capsys, "--data", written(tmp_path, HEADER, rows[:300]), "--save", saved, "OKLClassifier")
    options = "--save", saved, "--predictions", found, "--metric", "F1"
    shown = run(capsys, "--load", saved, "--data", written(tmp_path, HEADER, rows[300:]), *options)
    assert "F1" in shown and len(predicted(found)) == 300
    run(capsys, "--data", written(tmp_path, HEADER, rows), "--save", str(again), "OKLClassifier")
    one, two = (river_okl.dumps(river_okl.load(path).model["OKLClassifier"]) for path in (again, saved))
    assert one == two, "in two runs the same model as in one"


def test_rows_without_a_target_are_only_predicted(capsys, tmp_path, data, saved, found):
    run(capsys, "--data", data, "--save", saved, "OKLClassifier")
    rows = [[*row[:4], "" if i % 3 else row[4]] for i, row in enumerate(rows_of(90, seed=5))]
    new = written(tmp_path, HEADER, rows)
    shown = run(capsys, "--load", saved, "--data", new, "--predictions", found)
    assert "rows without a target, only predicted: 60" in shown
    lines = predicted(found)
    assert [line["target"] for line in lines] == [row[4] for row in rows] and all(line["prediction"] for line in lines)
    right = sum(line["prediction"] == line["target"] for line in lines if line["target"])
    assert f"{right / 30:.2%}" in shown


def test_regressions_and_data_sets_are_loaded_too(capsys, tmp_path, saved, found):
    rng, load, out = random.Random(1), ("--load", saved), ("--predictions", found)
    path = written(tmp_path, ["x", "y"], [[x, 3 * x] for x in (round(rng.gauss(0, 1), 3) for _ in range(300))])
    run(capsys, "--data", path, "--save", saved, "SPARegressor")
    run(capsys, *load, "--data", written(tmp_path, ["x"], [[1], [-1]]), *out)
    assert [float(row["prediction"]) for row in predicted(found)] == pytest.approx([3, -3], abs=1)
    for name, data in (("RBPClassifier", "Phishing"), ("SPARegressor", "Mv(seed=1)")):
        run(capsys, "--data", data, "--samples", "200", "--save", saved, name)
        shown = run(capsys, *load, "--data", data, "--samples", "300")
        assert name in shown and "300 samples" in shown
    libsvm = tmp_path / "a.svm"
    libsvm.write_text("".join(f"{'+1' if i % 5 < 2 else '-1'} {i % 5 + 1}:1\n" for i in range(100)))
    run(capsys, "--data", str(libsvm), "--save", saved, "RBPClassifier")
    run(capsys, *load, "--data", str(libsvm), *out)
    assert [row["prediction"] for row in predicted(found)][:5] == ["1", "1", "-1", "-1", "-1"]


@pytest.mark.parametrize("name", ["OKLClassifier", "RBPClassifier"])
def test_a_model_knows_dates_that_it_has_not_met(capsys, tmp_path, saved, name):
    rows = [["" if i < 50 else f"2024-01-{i % 28 + 1:02}", i % 7, i % 2] for i in range(100)]
    path = written(tmp_path, ["day", "x", "y"], rows)
    run(capsys, "--data", path, "--samples", "40", "--save", saved, name)
    model = river_okl.load(saved)
    model.learn_one({"day": "2024-03-01", "x": "3"}, "1")
    assert model.predict_one({"day": datetime.datetime(2024, 3, 1, 12), "x": 3}) in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "new.csv"], "new.csv has no target, so that it can only be predicted: --predictions FILE"),
        (["--data", "new.csv", "OKLClassifier"], "--load m.okl is the model: leave the MODEL and its --budget out"),
        (["--data", "new.csv", "--target", "a"], "--target: the model knows its columns; leave the option out"),
        (["--data", "new.csv", "--na", "x"], "--na: the model knows its columns"),
        (["--data", "Phishing"], "the model was trained on a file, and Phishing is not a file"),
        (["--data", "new.csv", "--workers", "2"], "--load are not for --workers"),
        (["--data", "new.csv", "--predictions", "m.okl"], "--load and --predictions are the same file"),
    ],
)
def test_options_that_do_not_go_with_load(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    old, _, _ = split(tmp_path, 80, 60)
    run(capsys, "--data", old, "--save", "m.okl", "OKLClassifier")
    assert message in complaint(capsys, "--load", "m.okl", *arguments)


def test_files_that_are_no_models_of_the_command(capsys, tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    assert "there is no file m.okl" in complaint(capsys, "--load", "m.okl", "--data", data)
    assert "a.csv: not a checkpoint" in complaint(capsys, "--load", "a.csv", "--data", data)
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04oops")
    assert "a.pkl: not a checkpoint" in complaint(capsys, "--load", "a.pkl", "--data", data)
    river_okl.save(river_okl.OKLDetector(), "d.okl")
    assert "OKLDetector is neither a classifier nor a regressor" in complaint(capsys, "--load", "d.okl", "--data", data)
    river_okl.save(river_okl.OKLClassifier(), "c.okl")
    assert "does not know the columns of a file" in complaint(capsys, "--load", "c.okl", "--data", data)
    assert "is not a model for regression" in complaint(capsys, "--load", "c.okl", "--data", "TrumpApproval")


# Metrics, models and data by name -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["F1", "LogLoss"])
def test_metrics_for_two_labels_are_rejected_for_more(capsys, name):
    said = complaint(capsys, "--data", "ImageSegments", "--metric", name, "OKLClassifier")
    assert said.startswith(f"{name} is a metric for two labels, and the task is multi-class classification; these do: ")
    for other in said.partition("these do: ")[2].split(", "):
        find_metrics([other], MULTICLASS)
    assert "MacroF1" in said and "CrossEntropy" in said


def test_the_area_under_the_roc_curve_is_exact():
    from sklearn.metrics import roc_auc_score

    rng = random.Random(1)
    for spread in (0.3, 3.0, 12.0):
        y = [rng.random() < 0.3 for _ in range(2000)]
        p = [1.0 / (1.0 + 2.718281828 ** -(rng.gauss(0.7 * t, 1.0) * spread - 4.0)) for t in y]
        exact = ROCAUC()
        for t, q in zip(y, p, strict=True):
            exact.update(t, {True: q, False: 1.0 - q})
        assert exact.get() == pytest.approx(roc_auc_score(y, p), abs=2e-3)
    assert ROCAUC().get() == 0.0
    found = find_metrics(["ROCAUC", "ROCAUC()", "metrics.ROCAUC", "ROCAUC(20)"], BINARY)
    assert [isinstance(metric, ROCAUC) for metric in found.values()] == [True, True, True, False]


def test_a_metric_that_fails_says_where(capsys, tmp_path):
    path = written(tmp_path, ["x", "y"], [[i % 30, 30 - i] for i in range(60)])
    said = complaint(capsys, "--data", path, "--metric", "RMSLE", "OKLRegressor")
    assert said.startswith("RMSLE of OKLRegressor, sample ") and said.endswith("MAE, RMSE and R2 take all numbers")


def test_metrics_of_probabilities_need_them(capsys, monkeypatch):
    class Without(river_okl.RBPClassifier):
        def predict_proba_one(self, x, **kwargs):
            raise NotImplementedError

    monkeypatch.setattr(lookup.api, "RBPClassifier", Without)
    said = complaint(capsys, "--data", "Phishing", "--metric", "LogLoss", "RBPClassifier")
    assert said == "RBPClassifier has no probabilities, which LogLoss needs"


def test_what_exists_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_text("x")
    assert complaint(capsys, "--data", ".") == ". is a folder: --data takes a file; in it are sales.csv"
    said = complaint(capsys, "--data", "xyzzy")
    assert "nor is there such a file" in said and "Phishing" in said and "a9a" not in said
    assert "--list-models shows all" in complaint(capsys, "xyzzy")
    listed = run(capsys, "--list-models")
    for line in listed.splitlines():
        if line[0] == " " and line.strip() not in ("mean",):
            assert line.strip() in lookup._known_models() or line.strip() in lookup.BASELINES
    assert "  OKLClassifier\n" in listed and "  linear_model.LogisticRegression\n" in listed


def test_progress_is_shown_before_anything_slow(data):
    """The first sign of life comes before River is imported."""
    code = (
        "import sys; from river_okl.progress import Progress\n"
        "real = Progress.__enter__\n"
        "def enter(self):\n"
        "    print('river' in sys.modules, self.what, flush=True)\n"
        "    return real(self)\n"
        "Progress.__enter__ = enter\n"
        f"from river_okl.cli.command import main; main(['--data', {data!r}, 'RBPClassifier'])"
    )
    assert run_python(code).splitlines()[:2] == ["False loading", "True samples"]


@pytest.mark.parametrize("rich", [True, False])
def test_progress_on_a_terminal(monkeypatch, rich):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    with Progress("samples", 10) as progress:
        progress(5)
    assert "samples" in terminal.getvalue()
    if not rich:
        assert "samples: 5 (50%)" in terminal.getvalue()
