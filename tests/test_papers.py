"""The scripts that reproduce the papers run, resume from their cache, and state what they leave out."""

from __future__ import annotations

import importlib
import itertools
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from benchmarks.papers import bench, explanations, runs
from river_okl import NOGDClassifier, ProjectronClassifier, SPAClassifier

# A script, its arguments, and the required contents of its tables with their counts.
SHORT = {
    "ahpatron": (
        ["--datasets", "phishing", "susy", "--algorithms", "Ahpatron", "Projectron++"],
        {"| Ahpatron |": 1, "| Projectron++": 2, "| phishing | 0.": 5, "- susy: not found": 1},
    ),
    "spa": (
        ["--datasets", "a9a", "w7a", "--algorithms", "Perceptron", "SPA", "OSKL"],
        {"| Perceptron |": 1, "| SPA |": 1, "| OSKL |": 1, "| 20 | 1 |": 1, "- w7a: not found": 1},
    ),
    "olk": (
        ["--datasets", "waveform", "covtype", "--algorithms", "RBP", "OLRD"],
        {"| waveform | 159 |": 2, "| waveform | 2,531 |": 2, "| waveform | OLRD |": 7, "- covtype: not found": 1},
    ),
    "nbsgd": (
        ["--datasets", "dna", "ijcnn1", "--algorithms", "BPA-S", "RBP"],
        {"| dna | RBP |": 1, "| dna | BPA-S |": 1, "- ijcnn1: not found": 1},
    ),
    "bduol": (
        ["--datasets", "german", "splice", "--algorithms", "RBP", "BDUOL nearest"],
        {"| german | 100 |": 2, "| german | 200 |": 2, "- splice: not found": 1},
    ),
}


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setitem(runs.SOURCES, "waveform", lambda: itertools.islice(runs.waveform(), 2_000))
    if reason := runs.why_not("a9a"):
        pytest.skip(f"RIVER_DATA = {os.environ.get('RIVER_DATA')!r}: a9a {reason}")


@pytest.mark.parametrize("paper", SHORT)
def test_short_version(paper, tmp_path, monkeypatch):
    arguments, expected = SHORT[paper]
    command = [*arguments, "--permutations", "2", "--jobs", "1", "--rows", "200"]
    command += ["--output", str(tmp_path), "--cache", str(tmp_path / "cache")]
    script = importlib.import_module(f"benchmarks.papers.{paper}")
    script.main(command)
    text = (tmp_path / f"{paper}.md").read_text()
    for row, count in expected.items():
        if "not found" in row and runs.why_not(row[2:].partition(":")[0].rpartition(" ")[2]) is None:
            continue  # machines that have the data
        assert len(re.findall(f"^{re.escape(row)}", text, re.MULTILINE)) == count, row
    assert not re.search(r"\b(nan|inf)\b", text)

    # Everything is cached: nothing runs again, and the output is identical.
    monkeypatch.setattr(runs, "execute", None)
    script.main(command)
    assert (tmp_path / f"{paper}.md").read_text() == text


def test_the_emulated_programs():
    """Projectron without a guard equals Projectron if none is needed; the transposed NOGD is another algorithm."""

    def error(cls, **params):
        return runs.execute(runs.Run("waveform", cls, {"gamma": 0.1, "budget": 40, **params}, rows=600))["error"]

    plain = error(explanations.PlainProjectron, precision="float64")
    assert plain == error(ProjectronClassifier, tolerance=0.0)
    assert error(explanations.TransposedNOGD) > error(NOGDClassifier)


def test_explanations(tmp_path, capsys):
    """A line for each choice of parameters, class and data."""
    options = ["RBP", "OldestBOGD", "--data", "waveform", "a9a/[0,1]", "--params", "gamma=0.5,0.1", "budget=20"]
    explanations.main([*options, "--rows", "300", "--permutations", "2", "--cache", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 and len(set(lines)) == 8
    assert lines[0].startswith("waveform, RBP, gamma=0.5, budget=20: ") and lines[0].endswith(" % wrong, 20 ± 0 SVs")
    assert explanations.values("None,1,-0.5,.1,float32") == [None, 1, -0.5, 0.1, "float32"]


def test_a_run_does_not_depend_on_the_runs_before():
    run = runs.Run("a9a", SPAClassifier, {"gamma": 0.4}, seed=3, rows=500)
    first = runs.execute(run)
    runs.execute(run._replace(seed=4))
    again = runs.execute(run)
    del first["seconds"], again["seconds"]
    assert again == first


def test_paper_row():
    assert bench.comparison((7.0, 0.3), [7.0, 8.0, 9.0]) == ["7.00 ± 0.30", "8.00 ± 1.00", "+1.00"]
    assert bench.comparison((7.0, 0.3), [8.0, 8.1, 7.9]) == ["7.00 ± 0.30", "8.00 ± 0.10", "**+1.00**"]
