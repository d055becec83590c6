"""The default budget: `python -m benchmarks.budgets`.

Each class whose step takes time in proportion to its support vectors, with several budgets and everything else at its
default, over streams of `benchmarks.untuned`: the mean accuracy, or the error relative to that of the default, and the
microseconds to predict and learn a sample, scaling aside.  Classes whose step is quadratic in the budget keep 100.
"""

from __future__ import annotations

import inspect
import statistics
from collections.abc import Sequence
from typing import Any

from river import preprocessing

import river_okl
from benchmarks import runner, timing, untuned

BUDGETS = (50, 100, 200, 500, 1000)
CLASSIFIERS = ("Ahpatron", "BOGD", "BPA", "BSGD", "BudgetPerceptron", "Forgetron", "OLRD", "RBP")
REGRESSORS = ("BOGD", "BPA", "BSGD", "OLRD")
NAMES = [*(f"{name}Classifier" for name in CLASSIFIERS), *(f"{name}Regressor" for name in REGRESSORS)]
STREAMS = ("Bananas", "Phishing", "cod-rna", "elec2", "RandomRBF", "ImageSegments", "Friedman", "cadata")


def scaled(stream: str, rows: int) -> list[untuned.Sample]:
    scaler, out = preprocessing.StandardScaler(), []
    for x, y in untuned.load(stream, False)[:rows]:
        scaler.learn_one(x)
        out.append((scaler.transform_one(x), y))
    return out


def measure(model: Any, samples: Sequence[untuned.Sample], classes: int) -> tuple[float, float]:
    """Accuracy in percent, or the mean absolute error; and microseconds a sample."""
    if not classes:
        model = preprocessing.TargetStandardScaler(model)
    answers, seconds = timing.answers(model, samples)
    score = statistics.fmean(100.0 * (answer == y) if classes else abs(answer - y) for answer, y in answers)
    return score, 1e6 * seconds / len(samples)


def row(name: str, streams: dict[str, list[untuned.Sample]]) -> list[str]:
    """For each budget the mean over the streams that the class can learn; the default's in bold."""
    cls, classify = getattr(river_okl, name), name.endswith("Classifier")
    default = inspect.signature(cls).parameters["budget"].default
    found: dict[int, list[tuple[float, float]]] = {}
    for budget in BUDGETS:
        found[budget] = []
        for stream, samples in streams.items():
            model, classes = runner.made(cls, budget=budget, seed=1), untuned.STREAMS[stream].classes
            if classify == bool(classes) and (classes <= 2 or model._multiclass):
                found[budget].append(measure(model, samples, classes))
    out = [name]
    for budget, pairs in found.items():
        of = [score if classify else score / base for (score, _), (base, _) in zip(pairs, found[default], strict=True)]
        score = f"{statistics.fmean(of):.1f}" if classify else f"{statistics.fmean(of):.2f}"
        cell = f"{score} ({statistics.fmean(us for _, us in pairs):.1f})"
        out.append(f"**{cell}**" if budget == default else cell)
    return out


def main(argv: Sequence[str] | None = None) -> None:
    title, about = __doc__.split("\n\n")
    parser = runner.parser("budgets", title)
    parser.add_argument("--rows", type=int, default=5_000)
    options = parser.parse_args(argv)
    streams = {stream: scaled(stream, options.rows) for stream in STREAMS}
    table = runner.table(["class", *map(str, BUDGETS)], [row(name, streams) for name in NAMES])
    where = f"{', '.join(STREAMS)}: the first {options.rows:,} samples.\n{runner.machine()} At {runner.commit()}."
    report = runner.Report(options.output / "budgets.md", "The default budget", about.strip())
    report.write("Accuracy in % or error by the default's, and (microseconds)", f"{table}\n\n{where}")


if __name__ == "__main__":
    main()
