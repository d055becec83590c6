"""Every public class with its defaults on the same streams: which one to choose.

    python -m benchmarks.classes [--elec2 elec2.csv] [--samples N]

Budgets are 100 where a class has one, seeds are 1, features are scaled (StandardScaler, and for regression
TargetStandardScaler).  Prints a Markdown table: for each stream the accuracy (regression: the mean absolute error), the
support vectors at the end, and the time of predict_one and learn_one together.
"""

from __future__ import annotations

import argparse
import inspect
import itertools

from river import base

import river_okl
from river_okl.cli import lookup
from river_okl.cli.race import race


def classes(kind: type) -> list[str]:
    return [
        name for name in river_okl.__all__ if inspect.isclass(cls := getattr(river_okl, name)) and issubclass(cls, kind)
    ]


def table(kind: type, streams: list[str], samples: int | None, yardsticks: list[str]) -> None:
    columns = []
    for name in streams:
        stream = lookup.find_stream(name, None)
        models = lookup.find_models([*classes(kind), *yardsticks], stream.task, budget=100, seed=1)
        regression = stream.task == lookup.REGRESSION
        columns.append(race(models, itertools.islice(stream.samples, samples), regression=regression))
    heads = [f"{name.rpartition('/')[2].partition('.')[0]} | SVs | µs" for name in streams]
    print("| class |", " | ".join(heads), "|")
    print("| --- |" + " ---: | ---: | ---: |" * len(streams))
    for row in zip(*columns, strict=True):
        cells = []
        for result in row:
            measure = f"{result.error:.3g}" if issubclass(kind, base.Regressor) else f"{1 - result.error:.1%}"
            size = "-" if result.support_vectors is None else str(result.support_vectors)
            cells.append(f"{measure} | {size} | {result.microseconds:.1f}")
        print(f"| `{row[0].name}` |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elec2", metavar="FILE", help="elec2.csv, to have a drifting stream in the table")
    parser.add_argument("--samples", type=int, help="of each stream at most")
    options = parser.parse_args()
    river = ["linear_model.LogisticRegression", "tree.HoeffdingTreeClassifier", "neighbors.KNNClassifier"]
    table(base.Classifier, ["Bananas", "Phishing", *([options.elec2] if options.elec2 else [])], options.samples, river)
    print()
    river = ["linear_model.LinearRegression", "tree.HoeffdingTreeRegressor", "neighbors.KNNRegressor"]
    table(base.Regressor, ["TrumpApproval", "cadata"], options.samples, river)
