"""README.md's claim and table from results/unseen.md, and the output of its first command: python -m benchmarks.readme

``--race`` measures results/race.json anew, the benchmark that ``python -m river_okl`` prints, and ``--classes`` writes
results/classes.md, every class with its defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import types
from typing import Any

from river import base

import river_okl
from benchmarks import runner
from river_okl.cli import report

README = pathlib.Path(__file__).parent.parent / "README.md"
RACE = runner.RESULTS / "race.json"
UNTUNED = runner.RESULTS / "untuned.md"
UNSEEN = runner.RESULTS / "unseen.md"
GENERATED = re.compile(r"<!-- (claim|table|race) -->.*?<!-- /\1 -->", re.S)
SHOWN = {  # the families of results/unseen.md in README.md
    "OKL": "**`OKLClassifier`, `OKLRegressor`**",
    "AMF": "River's `forest.AMF…`",
    "ARF(10)": "River's `forest.ARF…`",
    "KNN": "River's `neighbors.KNN…`",
    "HoeffdingTree": "River's `tree.HoeffdingTree…`",
    "LogisticRegression, LinearRegression": "River's `LogisticRegression`, `LinearRegression`",
    "BayesianLinearRegression": "River's `BayesianLinearRegression`",
}

# Streams, the kind of our classes for them, and River's models to compare with.
RACES: dict[tuple[str, ...], tuple[type, str]] = {
    ("Bananas", "Phishing", "elec2"): (
        base.Classifier,
        "linear_model.LogisticRegression linear_model.PAClassifier tree.HoeffdingTreeClassifier "
        "neighbors.KNNClassifier dummy.NoChangeClassifier",
    ),
    ("TrumpApproval", "cadata"): (
        base.Regressor,
        "linear_model.LinearRegression(clip_gradient=1.0) tree.HoeffdingTreeRegressor neighbors.KNNRegressor",
    ),
}


def race(*arguments: str) -> dict[str, Any]:
    """The race of ``python -m river_okl`` with these arguments, without curves; ours with their code's digest."""
    command = [sys.executable, "-m", "river_okl", "--json", *arguments]
    out: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for model in out["models"]:
        del model["curve"]
        if cls := getattr(river_okl, model["model"].partition("(")[0], None):
            model["code"] = runner.code(cls)
    return out


def changed() -> list[dict[str, Any]]:
    """The entries of results/race.json whose class's code has changed."""
    raced = json.loads(RACE.read_text(encoding="utf-8"))["models"]
    return [
        model for model in raced if "code" in model and model["code"] != runner.code(getattr(river_okl, model["model"]))
    ]


def section(number: int, path: pathlib.Path = UNTUNED) -> dict[str, dict[str, float]]:
    """The first table of a section of results/untuned.md, or another: the numbers of each row by column."""
    return {
        name: {
            column: float(cell.replace(",", "").partition(" ")[0]) for column, cell in row.items() if cell[:1].isdigit()
        }
        for name, row in cells(number, path).items()
    }


def cells(number: int, path: pathlib.Path) -> dict[str, dict[str, str]]:
    """The same with the text of each cell."""
    text = path.read_text(encoding="utf-8").partition(f"\n## {number}. ")[2]
    lines = text[text.index("| ") :].partition("\n\n")[0].splitlines()
    (_, *columns), _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines)
    return {name: dict(zip(columns, row, strict=True)) for name, *row in rows}


def claim() -> str:
    """The claim at the top of README.md."""
    accuracy, errors, found = section(1, UNSEEN), section(3, UNSEEN), section(0, UNSEEN)
    others = {name: row["accuracy, %"] for name, row in found.items() if name != "OKL" and "accuracy, %" in row}
    second = max(others, key=lambda name: others[name])
    streams = [name for name in accuracy if not name.startswith(("mean", "best of", "within"))]
    series = [name for name in errors if not name.startswith(("mean", "best of"))]
    first = sum(accuracy[name]["OKL"] == max(accuracy[name].values()) for name in streams)
    least = sum(errors[name]["OKL"] == min(errors[name].values()) for name in series)
    best, own = second.partition(",")[0].removesuffix("(10)"), found["OKL"]["accuracy, %"]
    return (
        f"With default parameters, on {len(streams) + len(series)} public tables that were listed before any model ran "
        f"on them, `OKLClassifier` is the most accurate on {first} of {len(streams)}, with a mean accuracy of "
        f"{own:.1f} % against {others[second]:.1f} % for {best}, the best of River's models there. "
        f"`OKLRegressor` has the smallest error on {least} of {len(series)}."
    )


def table() -> str:
    """README.md's table as Markdown."""
    found = cells(0, UNSEEN)
    columns = list(found["OKL"])[:-1]
    rows = []
    for model, shown in SHOWN.items():
        row = [found[model][column] for column in columns]
        rows.append([shown, *(f"**{cell}**" if model == "OKL" else cell for cell in row)])
    return runner.table(["model", *columns], rows) + "\n"


def output() -> str:
    """What the first command of README.md prints, as it is in results/race.json."""
    raced = json.loads(RACE.read_text(encoding="utf-8"))
    results: list[Any] = [
        types.SimpleNamespace(
            name=model["model"],
            error=model["error_rate"],
            microseconds=model["microseconds_per_sample"],
            support_vectors=model["support_vectors"],
            memory=model["memory_bytes"],
            metrics=[],
        )
        for model in raced["models"]
    ]
    printed = report.table(results, regression=False, metrics={})
    return f"```\n{raced['data']}: {raced['task']}, {raced['samples']:,} samples\n{printed}\n```\n"


def classes() -> None:
    """Every class with its defaults, beside a few of River's: results/classes.md."""
    intro = (
        f"`python -m benchmarks.readme --classes`, at {runner.commit()}, {runner.machine()} Budgets are 100 where a "
        "class has one, seeds 1, 20,000 samples at most; features are scaled for all models alike. Accuracy, or mean "
        "absolute error, of predict-then-learn; support vectors at the end; µs of `predict_one` and `learn_one`, in "
        "processor time of a machine that had other work, too: compare them with each other."
    )
    page = runner.Report(runner.RESULTS / "classes.md", "Every class with its defaults", intro)
    for streams, (kind, peers) in RACES.items():
        names = [*(name for name, _ in runner.ours(kind)), *peers.split()]
        rows: dict[str, list[Any]] = {name: [f"`{name}`"] for name in names}
        for stream in streams:
            data = f"{os.environ['RIVER_DATA']}/streams/elec2.csv" if stream == "elec2" else stream
            for model in race("--data", data, "--samples", "20000", "--budget", "100", *rows)["models"]:
                shown = f"{1 - model['error_rate']:.1%}" if "error_rate" in model else model["mean_absolute_error"]
                rows[model["model"]] += [shown, model["support_vectors"], f"{model['microseconds_per_sample']:.1f}"]
        head = ["class", *(cell for stream in streams for cell in (stream, "SVs", "µs"))]
        page.write("Classification" if kind is base.Classifier else "Regression", runner.table(head, rows.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write README.md's claim, table and output from results/.")
    parser.add_argument("--race", action="store_true", help="write results/race.json instead")
    parser.add_argument("--stale", action="store_true", help="only name what changed since results/race.json")
    parser.add_argument("--classes", action="store_true", help="write results/classes.md instead")
    options = parser.parse_args()
    if options.classes:
        raise SystemExit(classes())
    if options.stale:
        names = ", ".join(model["model"] for model in changed())
        at = json.loads(RACE.read_text(encoding="utf-8"))["commit"]
        print(f"Times were measured at {at}; since then the code changed of: {names or 'no class'}")
        raise SystemExit
    if options.race:
        RACE.write_text(json.dumps({"commit": runner.commit()} | race(), indent=1) + "\n", encoding="utf-8")
        raise SystemExit
    made = {"claim": claim(), "table": f"\n\n{table()}\n", "race": f"\n\n{output()}\n"}
    text = README.read_text(encoding="utf-8")
    text = GENERATED.sub(lambda match: f"<!-- {match[1]} -->{made[match[1]]}<!-- /{match[1]} -->", text)
    README.write_text(text, encoding="utf-8")
