"""README.md's table and first claim from results/untuned.md: python -m benchmarks.readme

``--race`` measures results/race.json anew, the benchmark that ``python -m river_okl`` prints, and ``--classes`` writes
results/classes.md, every class with its defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
from typing import Any

from river import base

import river_okl
from benchmarks import runner

README = pathlib.Path(__file__).parent.parent / "README.md"
RACE = runner.RESULTS / "race.json"
UNTUNED = runner.RESULTS / "untuned.md"
GENERATED = re.compile(r"(?<=<!-- (claim|table) -->).*?(?=<!-- /\1 -->)", re.S)
SHOWN = {  # the leaderboard's models in README.md, best first
    "OKL": "**`OKLClassifier`**",
    "Ahpatron": "`AhpatronClassifier`",
    "ARF(10)": "River's `forest.ARFClassifier`",
    "AMF": "River's `forest.AMFClassifier`",
    "KNN": "River's `neighbors.KNNClassifier`",
    "LogisticRegression": "River's `linear_model.LogisticRegression`",
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


def section(number: int) -> dict[str, dict[str, float]]:
    """The first table of a section of results/untuned.md: the numbers of each row by column."""
    text = UNTUNED.read_text(encoding="utf-8").partition(f"\n## {number}. ")[2]
    lines = text[text.index("| ") :].partition("\n\n")[0].splitlines()
    (_, *columns), _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines)
    return {
        name: {
            column: float(cell.replace(",", ""))
            for column, cell in zip(columns, cells, strict=True)
            if cell[:1].isdigit()
        }
        for name, *cells in rows
    }


def untuned() -> tuple[list[str], dict[str, tuple[float, float, float, float]]]:
    """The classification streams; for each model mean accuracy and log-loss, median µs and kB."""
    accuracy, log_loss, memory, times = section(1), section(2), section(6), section(7)
    streams = [name for name in accuracy if name in times]
    return streams, {
        model: (
            accuracy["mean"][model],
            log_loss["mean"][model],
            statistics.median(times[stream][model] for stream in streams),
            statistics.median(memory[model][stream] for stream in streams),
        )
        for model in SHOWN
    }


def claim() -> str:
    """The claim at the top of README.md; the ratio of times is the median of the streams' ratios."""
    times, (streams, models) = section(7), untuned()
    ratio = statistics.median(times[stream]["ARF(10)"] / times[stream]["OKL"] for stream in streams)
    return (
        f"{len(streams)} streams, nothing tuned: mean accuracy {models['OKL'][0]:.1f} %, against "
        f"{models['ARF(10)'][0]:.1f} % of River's adaptive random forest, in 1/{ratio:.0f} of its time."
    )


def table() -> str:
    """README.md's table as Markdown."""
    _, models = untuned()
    rows = []
    for model, (accuracy, log_loss, time, memory) in models.items():
        cells = [f"{accuracy:.1f} %", f"{log_loss:.3f}", f"{time:,.0f}", f"{memory:,.0f}"]
        rows.append([SHOWN[model], *(f"**{cell}**" if model == "OKL" else cell for cell in cells)])
    return runner.table(["model", "accuracy", "log-loss", "µs/sample", "memory, kB"], rows) + "\n"


def classes() -> None:
    """Every class with its defaults, beside a few of River's: results/classes.md."""
    intro = (
        f"`python -m benchmarks.readme --classes`, at {runner.commit()}, {runner.machine()} Budgets are 100 where a "
        "class has one, seeds 1, 20,000 samples at most; features are scaled for all models alike. Accuracy, or mean "
        "absolute error, of predict-then-learn; support vectors at the end; µs of `predict_one` and `learn_one`, in "
        "processor time of a machine that had other work, too: compare them with each other."
    )
    report = runner.Report(runner.RESULTS / "classes.md", "Every class with its defaults", intro)
    for streams, (kind, peers) in RACES.items():
        names = [*(name for name, _ in runner.ours(kind)), *peers.split()]
        rows: dict[str, list[Any]] = {name: [f"`{name}`"] for name in names}
        for stream in streams:
            data = f"{os.environ['RIVER_DATA']}/streams/elec2.csv" if stream == "elec2" else stream
            for model in race("--data", data, "--samples", "20000", "--budget", "100", *rows)["models"]:
                shown = f"{1 - model['error_rate']:.1%}" if "error_rate" in model else model["mean_absolute_error"]
                rows[model["model"]] += [shown, model["support_vectors"], f"{model['microseconds_per_sample']:.1f}"]
        head = ["class", *(cell for stream in streams for cell in (stream, "SVs", "µs"))]
        report.write("Classification" if kind is base.Classifier else "Regression", runner.table(head, rows.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write README.md's table from results/untuned.md.")
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
    made = {"claim": claim(), "table": f"\n{table()}"}
    README.write_text(GENERATED.sub(lambda match: made[match[1]], README.read_text(encoding="utf-8")), encoding="utf-8")
