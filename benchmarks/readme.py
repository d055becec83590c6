"""README.md's table from results/race.json, and that of all classes: python -m benchmarks.readme [--race|--classes]"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

from river import base, utils

import river_okl
from benchmarks import runner

README = pathlib.Path(__file__).parent.parent / "README.md"
RACE = runner.RESULTS / "race.json"
TABLE = re.compile(r"(?<=<!-- race -->\n).*?(?=<!-- /race -->)", re.S)

# Streams, which kind of our classes learns them, and who of River's does beside them.
RACES: dict[tuple[str, ...], tuple[type, str]] = {
    ("Bananas", "Phishing", "elec2"): (
        base.Classifier,
        "linear_model.LogisticRegression linear_model.PAClassifier tree.HoeffdingTreeClassifier "
        "neighbors.KNNClassifier dummy.NoChangeClassifier",
    ),
    ("TrumpApproval", "cadata"): (
        base.Regressor,
        "linear_model.LinearRegression tree.HoeffdingTreeRegressor neighbors.KNNRegressor",
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
    """What results/race.json has of the classes whose code is not the one that was measured."""
    raced = json.loads(RACE.read_text(encoding="utf-8"))["models"]
    return [
        model for model in raced if "code" in model and model["code"] != runner.code(getattr(river_okl, model["model"]))
    ]


def table() -> str:
    """README.md's race as Markdown, the best first; ours in code, the first of ours in bold."""
    raced = json.loads(RACE.read_text(encoding="utf-8"))["models"]
    rows = []
    for model in sorted(raced, key=lambda model: model["error_rate"]):
        size = model["support_vectors"]
        cells = [
            f"River's `{model['model']}`" if "." in model["model"] else f"`{model['model']}`",
            f"{1 - model['error_rate']:.1%}".replace("%", " %"),
            f"{model['microseconds_per_sample']:.1f}",
            "-" if size is None else f"{size:,}",
            utils.pretty.humanize_bytes(model["memory_bytes"]),
        ]
        rows.append([f"**{cell}**" if model is raced[0] else cell for cell in cells])
    return runner.table(["model", "accuracy", "µs", "support vectors", "memory"], rows) + "\n"


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
    parser = argparse.ArgumentParser(description="Write README.md's table from results/race.json.")
    parser.add_argument("--race", action="store_true", help="measure anew first")
    parser.add_argument("--stale", action="store_true", help="only say whose times are those of older code")
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
    README.write_text(TABLE.sub(lambda match: table(), README.read_text(encoding="utf-8")), encoding="utf-8")
