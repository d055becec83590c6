"""Novelty detection, features for linear models, and quantiles: ``python -m benchmarks.novelty``.

Default parameters. Detectors score each sample, then learn it, anomalies included, behind the scaler recommended in
their documentation. Times are CPU time of the working thread, in µs/sample.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import anomaly, feature_extraction, linear_model, optim, preprocessing
from river import datasets as river_datasets
from river.datasets import synth
from sklearn.metrics import roc_auc_score

import river_okl
from benchmarks import runner, timing
from benchmarks.streams import Sample, rbf
from river_okl import datasets

SECONDS = 90  # slower detectors are stopped, and marked by a star


def moons() -> Iterator[Sample]:
    """Two half moons; a tenth of the samples is uniform."""
    rng = random.Random(0)
    while True:
        if strange := rng.random() < 0.1:
            yield {"x": rng.uniform(-2, 3), "y": rng.uniform(-1.5, 2)}, strange
            continue
        angle, upper = rng.uniform(0, math.pi), rng.random() < 0.5
        x, y = math.cos(angle), math.sin(angle)
        x, y = (x, y) if upper else (1 - x, 0.5 - y)
        yield {"x": x + rng.gauss(0, 0.1), "y": y + rng.gauss(0, 0.1)}, strange


def shuttle() -> Iterator[Sample]:
    """Nine correlated sensors with three causes and heavy tails; 7 % in one of four other states."""
    rng = random.Random(0)
    causes = [[rng.gauss(0, 1) for _ in range(9)] for _ in range(3)]
    states = [[rng.gauss(0, 2) for _ in range(9)] for _ in range(4)]
    while True:
        strange = rng.random() < 0.07
        size = [rng.gauss(0, 1) * (3 if rng.random() < 0.1 else 1) for _ in causes]
        x = [sum(s * c[j] for s, c in zip(size, causes, strict=True)) + rng.gauss(0, 0.3) for j in range(9)]
        if strange:
            x = [v / 2 + m for v, m in zip(x, rng.choice(states), strict=True)]
        yield {f"x{j}": v for j, v in enumerate(x)}, strange


def a9a() -> Iterator[Sample]:
    """A twentieth of the samples is of the smaller class."""
    rng, samples = random.Random(0), list(datasets.LIBSVM("a9a"))
    rng.shuffle(samples)
    for x, y in samples:
        if y < 0 or rng.random() < 0.15:
            yield {i: x.get(i, 0.0) for i in range(1, 124)}, y > 0


NOVELTY: dict[str, Callable[[], Iterator[Sample]]] = {"moons": moons, "shuttle-like": shuttle, "a9a, minority": a9a}
DETECTORS: dict[str, Callable[[], Any]] = {
    "KernelOneClassSVM": lambda: preprocessing.StandardScaler() | river_okl.KernelOneClassSVM(),
    "HalfSpaceTrees": lambda: preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=1),
    "OneClassSVM": lambda: preprocessing.StandardScaler() | anomaly.OneClassSVM(),
    "LocalOutlierFactor": lambda: preprocessing.StandardScaler() | anomaly.LocalOutlierFactor(),
}

LABELS: dict[str, Callable[[], Any]] = {"Bananas": river_datasets.Bananas, "RandomRBF": rbf}
FEATURES: dict[str, Callable[[], Any]] = {
    "RandomFourierFeatures": lambda: river_okl.RandomFourierFeatures(seed=1) | linear_model.LogisticRegression(),
    "NystroemFeatures": lambda: river_okl.NystroemFeatures() | linear_model.LogisticRegression(),
    "RBFSampler": lambda: feature_extraction.RBFSampler(seed=1) | linear_model.LogisticRegression(),
    "LogisticRegression alone": linear_model.LogisticRegression,
}


def friedman() -> Iterator[Sample]:
    """Friedman's function; the standard deviation of its noise grows from 1 to 4 with the first feature."""
    rng = random.Random(1)
    for x, y in synth.Friedman(seed=1):
        yield x, y + rng.gauss(0, 4) * x[0]


def regressor(name: str, alpha: float) -> Any:
    options = {"OGDRegressor": {"l2": 0.0}, "FOGDRegressor": {"seed": 1, "learning_rate": 1.0}}[name]
    model = getattr(river_okl, name)(loss=optim.losses.Quantile(alpha), **options)
    return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(model)


Answers = list[tuple[Any, Any]]


def area(answers: Answers) -> float:
    scores, strange = zip(*answers, strict=True)
    return float(roc_auc_score(strange, scores))


def accuracy(answers: Answers) -> float:
    return sum(answer == y for answer, y in answers) / len(answers)


def coverage(answers: Answers) -> float:
    """The fraction of targets below the prediction, after a quarter of the stream."""
    late = answers[len(answers) // 4 :]
    return sum(y <= answer for answer, y in late) / len(late)


def compare(cache: runner.Cache, measure: Callable[[Answers], float], streams: Any, models: Any, rows: int) -> str:
    """A row for each model: metric and time, for each stream."""
    found = [list(itertools.islice(iter(stream()), rows)) for stream in streams.values()]
    how = {"ask": "score_one", "limit": SECONDS} if measure is area else {}
    table = []
    for name, make in models.items():
        row = [name]
        for samples in found:
            result = timing.measured(cache, measure, make(), samples, **how)
            row += [f"{result['value']:.3f}{'*' * (result['rows'] < len(samples))}", result["us"]]
        table.append(row)
    return runner.table(["model", *(title for name in streams for title in (name, "µs"))], table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("novelty", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000, help="of each stream; twice as many except for detectors")
    options = parser.parse_args(argv)
    cache, rows = runner.Cache(options.cache / "novelty.jsonl"), options.rows
    report = runner.Report(options.output / "novelty.md", "Novelty, features, quantiles", runner.machine())
    text = f"The area under the ROC curve over the first {rows:,} samples, each scored before it is learned"
    text += f" (*: over those of {SECONDS} s).\n\n"
    report.write("1. Novelty", text + compare(cache, area, NOVELTY, DETECTORS, rows))
    text = f"Accuracy of a logistic regression on features of raw samples, over at most {2 * rows:,} of them.\n\n"
    report.write("2. Features", text + compare(cache, accuracy, LABELS, FEATURES, 2 * rows))
    text = "How many targets are below the predicted quantile: Friedman with noise that grows with x, scaled.\n\n"
    samples, table = list(itertools.islice(friedman(), 2 * rows)), []
    for name in ("OGDRegressor", "FOGDRegressor"):
        shares = (timing.measured(cache, coverage, regressor(name, a), samples)["value"] for a in (0.05, 0.5, 0.95))
        table.append([name, *(f"{share:.2%}" for share in shares)])
    report.write("3. Quantiles", text + runner.table(["model", "5 %", "50 %", "95 %"], table))


if __name__ == "__main__":
    main()
