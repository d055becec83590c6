"""The default budget: `python -m benchmarks.budgets`.

Each class whose step takes time in proportion to its support vectors, with several budgets and everything else at its
default, over streams of `benchmarks.untuned`: the mean accuracy, or the error relative to that of the default, and the
microseconds to predict and learn a sample, scaling aside.  Classes whose step is quadratic in the budget keep 100.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import pathlib
import statistics
import time
from collections.abc import Sequence

from river import base, preprocessing

import river_okl
from benchmarks import runner, untuned

BUDGETS = (50, 100, 200, 500, 1000)
NAMES = [
    *("AhpatronClassifier", "BOGDClassifier", "BPAClassifier", "BSGDClassifier"),
    *("BudgetPerceptronClassifier", "ForgetronClassifier", "OLRDClassifier", "RBPClassifier"),
    *("BOGDRegressor", "BPARegressor", "BSGDRegressor", "OLRDRegressor"),
]
STREAMS = ("Bananas", "Phishing", "cod-rna", "elec2", "RandomRBF", "ImageSegments", "Friedman", "cadata")


def measure(name: str, budget: int, samples: Sequence[untuned.Sample], classes: int) -> tuple[float, float]:
    """Accuracy in percent, or the mean absolute error; and microseconds a sample."""
    cls = getattr(river_okl, name)
    seed = {"seed": 1} if "seed" in inspect.signature(cls).parameters else {}
    model, scaler = cls(budget=budget, **seed), preprocessing.StandardScaler()
    if not classes:
        model = preprocessing.TargetStandardScaler(model)
    elif classes > 2 and not model._multiclass:
        return float("nan"), float("nan")
    total = seconds = 0.0
    for x, y in samples:
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        start = time.perf_counter()
        predicted = model.predict_one(x)
        model.learn_one(x, y)
        seconds += time.perf_counter() - start
        total += 100.0 * (predicted == y) if classes else abs(predicted - y)
    return total / len(samples), 1e6 * seconds / len(samples)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.budgets", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--output", type=pathlib.Path, default=runner.RESULTS)
    options = parser.parse_args(argv)
    found: dict[str, dict[int, list[tuple[float, float]]]] = {name: {b: [] for b in BUDGETS} for name in NAMES}
    for stream in STREAMS:
        samples, classes = untuned.load(stream, False)[: options.rows], untuned.STREAMS[stream].classes
        for name, budget in itertools.product(NAMES, BUDGETS):
            if issubclass(getattr(river_okl, name), base.Classifier) == bool(classes):
                found[name][budget].append(measure(name, budget, samples, classes))
    rows = []
    for name, each in found.items():
        default = inspect.signature(getattr(river_okl, name)).parameters["budget"].default
        cells = []
        for budget, pairs in each.items():
            known = [(score, base_, micro) for (score, micro), (base_, _) in zip(pairs, each[default], strict=True)]
            known = [row for row in known if row[0] == row[0]]
            score = statistics.fmean(row[0] if name.endswith("Classifier") else row[0] / row[1] for row in known)
            cell = f"{score:.1f}" if name.endswith("Classifier") else f"{score:.2f}"
            cell = f"{cell} ({statistics.fmean(row[2] for row in known):.1f})"
            cells.append(f"**{cell}**" if budget == default else cell)
        rows.append([name, *cells])
    report = runner.Report(
        options.output / "budgets.md", "The default budget", f"{__doc__.partition(chr(10))[2].strip()}"
    )
    about = f"{', '.join(STREAMS)}: the first {options.rows:,} samples.\n{runner.machine()} At {runner.commit()}."
    report.write(
        "Accuracy in % or error by the default's, and (microseconds)",
        f"{runner.table(['class', *map(str, BUDGETS)], rows)}\n\n{about}",
    )


if __name__ == "__main__":
    main()
