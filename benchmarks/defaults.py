"""The choice of defaults: ``python -m benchmarks.defaults``.

One parameter at a time takes several values; the criterion is the mean error over several streams: mistakes in percent,
or the mean absolute error of the standardised target. Classes with a budget have 100 support vectors. Each stream is
used twice: behind a StandardScaler, and scaled to [0, 1].

Each class whose step is linear in its support vectors, with several budgets and default parameters, over streams of
`benchmarks.untuned`: the mean accuracy, or the error relative to that of the default budget, and µs/sample without
scaling.  Classes whose step is quadratic in the budget keep 100.
"""

from __future__ import annotations

import inspect
import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from river import datasets as river_datasets
from river.datasets import synth

import river_okl
from benchmarks import runner, streams, timing
from benchmarks.streams import Sample
from river_okl import datasets, kernels


def _shuffled(name: str) -> list[Sample]:
    """cod-rna and cadata are sorted."""
    samples = list(datasets.LIBSVM(name))
    random.Random(0).shuffle(samples)
    return samples


CLASSIFICATION: dict[str, Callable[[], Iterable[Sample]]] = {
    "Phishing": river_datasets.Phishing,
    "Bananas": river_datasets.Bananas,
    "Elec2": lambda: (({k: v for k, v in x.items() if k != "date"}, y) for x, y in streams.STREAMS["elec2"].samples()),
    "a9a": lambda: datasets.LIBSVM("a9a"),
    "cod-rna": lambda: _shuffled("cod-rna"),
    "Waveform": lambda: ((x, y == 0) for x, y in synth.Waveform(seed=0)),
    "RandomRBF": streams.rbf,
}
REGRESSION: dict[str, Callable[[], Iterable[Sample]]] = {
    "cadata": lambda: _shuffled("cadata"),
    "TrumpApproval": river_datasets.TrumpApproval,
    "Friedman": lambda: synth.Friedman(seed=0),
}
SOURCES = {"Classifier": CLASSIFICATION, "Regressor": REGRESSION}
SCALINGS = ("StandardScaler", "[0,1]")

RATES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
COSTS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SHRINKAGES = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]
LAMBDAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]

# Class, parameter, values; or two parameters, and pairs.
CHOICES: list[tuple[str, str, Sequence[Any]]] = [
    ("KernelPA", "C", COSTS),
    ("BPA", "C", COSTS),
    ("SPA", "learning_rate", RATES),
    ("OGD", "learning_rate", RATES),
    ("OGD", "l2", SHRINKAGES),
    ("OLK", "learning_rate", RATES),
    ("OLRU", "learning_rate", RATES),
    ("OLRD", "learning_rate", RATES),
    ("OLRD", "radius", [None, 3.0, 5.0, 10.0, 20.0]),
    ("OLRD", "learning_rate, radius", [(r, u) for r in (3.0, 10.0, 30.0) for u in (3.0, 5.0, 10.0)]),
    ("BOGD", "learning_rate", RATES),
    ("BOGD", "l2", SHRINKAGES),
    ("BOGD", "learning_rate, max_coef", [(r, r * m) for r in (0.1, 0.3, 1.0) for m in (1.0, 2.0, 5.0)]),
    ("KernelSGD", "l2", LAMBDAS),
    ("BSGD", "l2", LAMBDAS),
    ("NBSGD", "l2", LAMBDAS),
    ("FOGD", "learning_rate", RATES),
    ("NOGD", "learning_rate", RATES),
    ("Projectron", "tolerance", [0.05, 0.1, 0.2, 0.4, 0.6]),
    ("ProjectronPlusPlus", "tolerance", [0.05, 0.1, 0.2, 0.4, 0.6]),
    ("AVP", "epsilon", [0.6, 0.7, 0.8, 0.9]),
    ("Ahpatron", "epsilon", [0.5, 0.6, 0.7, 0.8, 0.9]),
    ("Ahpatron", "radius", [2.5, 5.0, 7.5]),
    ("DUOL", "C", COSTS),
    ("BDUOL", "C", COSTS),
    ("OSKL", "learning_rate", RATES),
    ("POMDR", "radius", [5.0, 10.0, 25.0, 50.0]),
]
BANDWIDTH_CLASSES = ("Ahpatron", "BPA", "OLRD", "ProjectronPlusPlus", "SPA")
CONSTANTS = (0.3, 1.0, 3.0, 10.0, 30.0)

BUDGETS = (50, 100, 200, 500, 1000)
LINEAR = {
    "Classifier": ("Ahpatron", "BOGD", "BPA", "BSGD", "BudgetPerceptron", "Forgetron", "OLRD", "RBP"),
    "Regressor": ("BOGD", "BPA", "BSGD", "OLRD"),
}
SHARED = (500, river_okl.PerClass(25), river_okl.PerClass(50), river_okl.PerClass(100))
MANY = {
    "ImageSegments, 7 labels": river_datasets.ImageSegments,
    "LED, 10 labels": lambda: synth.LED(noise_percentage=0.1, seed=42),
    "RandomRBF, 30 labels": lambda: synth.RandomRBF(1, 1, n_classes=30, n_features=10, n_centroids=60),
}
BUDGET_STREAMS = ("Bananas", "Phishing", "cod-rna", "elec2", "RandomRBF", "ImageSegments", "Friedman", "cadata")


def mistakes(answers: list[Any]) -> float:
    return 100.0 * statistics.fmean(answer != y for answer, y in answers)


def mae(answers: list[Any]) -> float:
    return statistics.fmean(abs(answer - y) for answer, y in answers)


MEASURES = {"Classifier": mistakes, "Regressor": mae}


def prepared(source: Iterable[Sample], rows: int, scaling: str) -> list[Sample]:
    samples = list(itertools.islice(iter(source), rows))
    return streams.scaled(streams.scaled(samples, "y") if isinstance(samples[0][1], float) else samples, scaling)


class Errors:
    """The errors of a task's classes on its streams."""

    def __init__(self, cache: runner.Cache, task: str, names: Iterable[str], rows: int):
        self.cache, self.task = cache, task
        self.of = {s: {name: prepared(SOURCES[task][name](), rows, s) for name in names} for s in SCALINGS}

    def on(self, samples: list[Sample], stem: str, **params: Any) -> float:
        """The error; unbounded ones are capped at 10, so that a divergent model does not dominate a mean."""
        model = runner.made(getattr(river_okl, f"{stem}{self.task}"), budget=100, seed=1, **params)
        error = float(timing.measured(self.cache, MEASURES[self.task], model, samples)["value"])
        return error if self.task == "Classifier" or error < 10.0 else 10.0

    def means(self, stem: str, **params: Any) -> list[float]:
        """Means over the streams, for each scaling."""
        return [statistics.fmean(self.on(s, stem, **params) for s in of.values()) for of in self.of.values()]


def choice(errors: Errors) -> str:
    """A row for each class and parameter: the error for each value, the best in bold."""
    rows, digits = [], 1 if errors.task == "Classifier" else 2
    for stem, parameter, values in CHOICES:
        cls, names = getattr(river_okl, f"{stem}{errors.task}", None), parameter.split(", ")
        if cls is None:
            continue
        found = {v: errors.means(stem, **dict(zip(names, v if len(names) > 1 else [v], strict=True))) for v in values}
        best = min(found.values(), key=sum)
        cells = [(f"{v}: {' / '.join(f'{mean:.{digits}f}' for mean in means)}", means) for v, means in found.items()]
        shown = ", ".join(f"**{cell}**" if means is best else cell for cell, means in cells)
        accepted = inspect.signature(cls).parameters
        rows.append([cls.__name__, parameter, shown, ", ".join(str(accepted[name].default) for name in names)])
    return runner.table(["class", "parameter", "value: errors", "default"], rows)


def bandwidth(errors: Errors) -> str:
    """γ = c / mean ‖x-x'‖²; and whether consecutive samples estimate the mean."""
    estimates, found = [], []
    for name, scaling in itertools.product(errors.of[SCALINGS[0]], SCALINGS):
        samples = errors.of[scaling][name]
        rng, xs = random.Random(0), [[*x.values()] for x, _ in samples]
        mean = statistics.fmean(math.dist(*rng.sample(xs, 2)) ** 2 for _ in range(2_000))
        after = statistics.fmean(math.dist(a, b) ** 2 for a, b in itertools.pairwise(xs[:201]))
        estimates.append([name, scaling, f"{mean:.3g}", f"{after:.3g}", f"{after / mean:.2f}"])
        widths = [kernels.RBF(c / mean) for c in CONSTANTS]
        found.append([statistics.fmean(errors.on(samples, c, kernel=k) for c in BANDWIDTH_CLASSES) for k in widths])
    rows = [[*names[:2], *(f"{e:.1f}" for e in row)] for names, row in zip(estimates, found, strict=True)]
    rows.append(["mean", "", *(f"{statistics.fmean(column):.2f}" for column in zip(*found, strict=True))])
    return (
        f"Mistakes (%), mean over {', '.join(BANDWIDTH_CLASSES)}.\n\n"
        f"{runner.table(['stream', 'scaling', *(f'c = {c:g}' for c in CONSTANTS)], rows)}\n\n"
        "The mean of ‖x-x'‖² over random pairs, and over the first 200 samples and their successors:\n\n"
        f"{runner.table(['stream', 'scaling', 'random pairs', 'successors', 'ratio'], estimates)}"
    )


def budgets(cache: runner.Cache, rows: int) -> str:
    """Accuracy, or error relative to the default's, and µs for each budget: means over the class's streams."""
    of = {name: prepared(streams.load(name, False), rows, SCALINGS[0]) for name in BUDGET_STREAMS}
    table = []
    for task, stem in [(task, stem) for task, stems in LINEAR.items() for stem in stems]:
        cls = getattr(river_okl, f"{stem}{task}")
        classes = {0} if task == "Regressor" else {2, 7} if cls()._multiclass else {2}
        learned = [of[name] for name in BUDGET_STREAMS if streams.STREAMS[name].classes in classes]
        found = {
            budget: [
                timing.measured(cache, MEASURES[task], runner.made(cls, budget=budget, seed=1), s) for s in learned
            ]
            for budget in BUDGETS
        }
        default, cells = inspect.signature(cls).parameters["budget"].default, []
        for budget, results in found.items():
            pairs = [(row["value"], base["value"]) for row, base in zip(results, found[default], strict=True)]
            score = statistics.fmean(error / base if task == "Regressor" else 100.0 - error for error, base in pairs)
            cell = f"{score:.{2 if task == 'Regressor' else 1}f} ({statistics.fmean(r['us'] for r in results):.1f})"
            cells.append(f"**{cell}**" if budget == default else cell)
        table.append([cls.__name__, *cells])
    where = f"{', '.join(BUDGET_STREAMS)}: the first {rows:,} samples.\n{runner.machine()} At {runner.commit()}."
    return f"{runner.table(['class', *map(str, BUDGETS)], table)}\n\n{where}"


def shared(cache: runner.Cache, rows: int) -> str:
    """Accuracy and µs for many labels, with a shared budget and with one per label."""
    table = []
    for name, source in MANY.items():
        samples = prepared(source(), rows, SCALINGS[0])
        for stem in LINEAR["Classifier"]:
            cls = getattr(river_okl, f"{stem}Classifier")
            if cls()._multiclass:
                models = [runner.made(cls, budget=budget, seed=1) for budget in SHARED]
                found = [timing.measured(cache, mistakes, model, samples) for model in models]
                table.append([name, cls.__name__, *(f"{100.0 - r['value']:.1f} ({r['us']:.1f})" for r in found)])
    where = f"The first {rows:,} samples. {runner.machine()} At {runner.commit()}."
    return f"{runner.table(['stream', 'class', *map(str, SHARED)], table)}\n\n{where}"


def main(argv: Sequence[str] | None = None) -> None:
    title, _, about = __doc__.split("\n\n")
    parser = runner.parser("defaults", title)
    runner.choice(parser, "--streams", [name for of in SOURCES.values() for name in of])
    runner.choice(parser, "--only", ["parameters", "budgets"])
    parser.add_argument("--rows", type=int, default=5_000, help="of each stream")
    options = parser.parse_args(argv)
    cache = runner.Cache(options.cache / "defaults.jsonl")
    if "parameters" in options.only:
        intro = (
            f"Means over the first {options.rows:,} samples of {', '.join(options.streams)}; one run each (seed 1). "
            f"Bold: the best value. {runner.machine()} At {runner.commit()}."
        )
        report = runner.Report(options.output / "defaults.md", "The choice of defaults", intro)
        for task, of in SOURCES.items():
            if names := [name for name in of if name in options.streams]:
                errors, what = (
                    Errors(cache, task, names, options.rows),
                    "mistakes (%)" if task == "Classifier" else "MAE",
                )
                if task == "Classifier":
                    report.write("The bandwidth: γ = c / mean ‖x-x'‖²", bandwidth(errors))
                report.write(f"{task}s: {what} behind a StandardScaler / in [0, 1]", choice(errors))
    if "budgets" in options.only:
        report = runner.Report(options.output / "budgets.md", "The default budget", about.strip())
        heading = "Accuracy in % or error by the default's, and (microseconds)"
        report.write(heading, budgets(cache, options.rows))
        report.write("Many labels: a budget for all, or for each", shared(cache, options.rows))


if __name__ == "__main__":
    main()
