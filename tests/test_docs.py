"""README, the pages of docs/, CONTRIBUTING and examples/: what they show runs, and what they count is so.

The doctests of the pages are run by pytest itself (pyproject.toml).
"""

from __future__ import annotations

import os
import pathlib
import re
import runpy
import shlex
import subprocess
import sys
import warnings

import pytest

import river_okl
from tests import reference, streams

HERE = pathlib.Path(__file__).parent.parent
PAGES = [HERE / "README.md", HERE / "CONTRIBUTING.md", *sorted((HERE / "docs").glob("*.md"))]
EXAMPLES = sorted((HERE / "examples").glob("*.py"))


def text(path):
    return path.read_text(encoding="utf-8")


def blocks(path, language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", text(path), re.M | re.S)


def test_readme_is_read_in_a_minute():
    readme = text(HERE / "README.md")
    assert len(readme.split()) <= 900
    quick_start = readme.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    assert quick_start.count("```sh\n") == 2 == readme.count("```sh\n")


def test_the_claim_and_the_table_of_readme_are_those_of_the_results():
    from benchmarks import readme

    before = text(HERE / "README.md")[: text(HERE / "README.md").index(readme.claim())]
    assert len(before.split()) < 100, "the best result stands in the first 100 words"
    assert f"\n{readme.table()}<!-- /table -->" in text(HERE / "README.md"), "python -m benchmarks.readme"


def test_the_results_of_the_command_are_those_of_this_code():
    """What the code decides is measured again for the classes that changed: only what is no longer true is an error.

    Times are not compared: .ci/run says at which commit they were measured.
    """
    from benchmarks import readme

    if not (stale := {model["model"]: model for model in readme.changed()}):
        return
    for model in readme.race(*stale)["models"]:
        shown = stale[model["model"]]
        assert abs(model["error_rate"] - shown["error_rate"]) < 0.001, "python -m benchmarks.readme --race"
        for size in ("support_vectors", "memory_bytes"):  # up to what compilers and versions of Python make of them
            assert model[size] == pytest.approx(shown[size], rel=0.05), "python -m benchmarks.readme --race"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", text(path)):
        assert not target or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_code_blocks_are_of_a_kind_that_is_run(path):
    kinds = set(re.findall(r"^ *```(\S+)$", text(path), re.M))
    assert kinds <= {"python", "sh", "math"}
    if path.name != "CONTRIBUTING.md":  # its template is run below
        assert all(">>> " in block for block in blocks(path, "python"))


@pytest.mark.parametrize(
    "command",
    [line for path in PAGES if path.parent.name == "docs" for b in blocks(path, "sh") for line in b.splitlines()],
)
def test_commands_of_the_pages_run(command, monkeypatch, capsys):
    """As ``python -m`` does, in this process, which has imported all that takes long."""
    python, option, module, *arguments = shlex.split(command)
    assert (python, option) == ("python", "-m")
    monkeypatch.chdir(HERE)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert capsys.readouterr().out


def test_the_template_is_short_and_is_its_twin():
    of_class, of_twin = blocks(HERE / "CONTRIBUTING.md", "python")
    assert len(of_class.splitlines()) < 40
    names = {"__name__": "template"}
    exec(of_class, names)
    exec("\n".join(line.removeprefix("    ") for line in of_twin.splitlines()), names)
    model = names["OldestPerceptronClassifier"](river_okl.kernels.RBF(0.5), budget=8)
    twin = names["OldestPerceptronTwin"](reference.rbf(0.5), budget=8)
    for x, y in streams.KINDS["sparse"]("classification"):
        assert model.decision_function_one(x) == pytest.approx(twin.decision(x), abs=1e-9)
        model.learn_one(x, y)
        twin.learn(x, y)
    assert model.n_support_vectors == 8


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_ends_with_a_picture(path, tmp_path, monkeypatch, capsys):
    """Run as ``python`` does."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    assert len(text(path).splitlines()) < 60
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path / "picture.png")])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
        runpy.run_path(str(path), run_name="__main__")
    pyplot.close("all")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
    assert capsys.readouterr().out


def test_an_example_runs_by_itself(tmp_path):
    """In a process of its own, without a display."""
    pytest.importorskip("matplotlib")
    path = HERE / "examples" / "sensors.py"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(path), str(tmp_path / "picture.png")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").exists()
    assert done.stdout


def test_versions_agree():
    assert f"\nversion: {river_okl.__version__}\n" in text(HERE / "CITATION.cff")
    assert f"\n## {river_okl.__version__} - " in text(HERE / "CHANGELOG.md")
