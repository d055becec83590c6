"""The choice of defaults: ``python -m benchmarks.defaults``.

Each parameter takes several values, the others stay as they are, and the mean error over several streams decides: the
mistakes in percent, or the mean absolute error of the standardised target. Classes with a budget have 100 support
vectors. Each stream is given twice: behind a StandardScaler, and scaled to [0, 1].
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from river import datasets as river_datasets
from river import preprocessing
from river.datasets import synth

from benchmarks import untuned
from benchmarks.papers import protocol
from benchmarks.papers.protocol import Bench, Run, Sample, field
from river_okl import datasets

ROWS = 5_000


def _shuffled(name: str) -> list[Sample]:
    """cod-rna and cadata are sorted."""
    samples = list(datasets.LIBSVM(name))
    random.Random(0).shuffle(samples)
    return samples


CLASSIFICATION: dict[str, Callable[[], Iterable[Sample]]] = {
    "Phishing": river_datasets.Phishing,
    "Bananas": river_datasets.Bananas,
    "Elec2": lambda: (({k: v for k, v in x.items() if k != "date"}, y) for x, y in untuned.STREAMS["elec2"].samples()),
    "a9a": lambda: datasets.LIBSVM("a9a"),
    "cod-rna": lambda: _shuffled("cod-rna"),
    "Waveform": lambda: ((x, y == 0) for x, y in synth.Waveform(seed=0)),
    "RandomRBF": lambda: ((x, bool(y)) for x, y in synth.RandomRBF(seed_model=1, seed_sample=1, n_centroids=20)),
}
REGRESSION: dict[str, Callable[[], Iterable[Sample]]] = {
    "cadata": lambda: _shuffled("cadata"),
    "TrumpApproval": river_datasets.TrumpApproval,
    "Friedman": lambda: synth.Friedman(seed=0),
}
SCALINGS = ("StandardScaler", "[0,1]")


def _scaled(name: str, scaling: str) -> Iterator[Sample]:
    samples = list(itertools.islice(iter({**CLASSIFICATION, **REGRESSION}[name]()), ROWS))
    if name in REGRESSION:
        samples = protocol._scaled(samples, "y")
    if scaling == "[0,1]":
        yield from protocol._scaled(samples, scaling)
        return
    # A feature that a sparse dict gives only where it is 1 has no variance: the scaler would make it 0.
    features = sorted({feature for x, _ in samples for feature in x})
    scaler = preprocessing.StandardScaler()
    for x, y in samples:
        x = {feature: x.get(feature, 0.0) for feature in features}
        scaler.learn_one(x)
        yield scaler.transform_one(x), y


for _name, _scaling in itertools.product((*CLASSIFICATION, *REGRESSION), SCALINGS):
    protocol.SOURCES[f"{_name} {_scaling}"] = functools.partial(_scaled, _name, _scaling)

RATES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
COSTS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SHRINKAGES = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]
LAMBDAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]

# Class, parameter, values; or two parameters, and pairs.
BOTH: list[tuple[str, str, Sequence[Any]]] = [
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
]
CLASSIFIERS: list[tuple[str, str, Sequence[Any]]] = [
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


def _run(data: str, cls: str, params: dict[str, Any]) -> Run:
    seed = {"seed": 1} if "seed" in inspect.signature(protocol.find(cls)).parameters else {}  # type: ignore[arg-type]
    budget = {"budget": 100} if cls.startswith("Projectron") else {}
    return Run(data, cls, {**params, **seed, **budget}, seed=None, rows=ROWS)


def _mean(bench: Bench, runs: list[Run], measure: str) -> float:
    """The mean over the streams; an error beyond 10 counts as 10, so that one explosion stays readable."""
    cap = 100.0 if measure == "error" else 10.0
    return statistics.fmean(
        min(cap, value if math.isfinite(value) else cap) for value in field(bench.run(runs), measure)
    )


def choice(bench: Bench, task: str, streams: Iterable[str], measure: str, digits: int) -> None:
    rows = []
    for stem, parameter, values in [*BOTH, *(CLASSIFIERS if task == "Classifier" else [])]:
        cls, names = f"{stem}{task}", parameter.split(", ")
        if protocol.find(cls) is None:
            continue
        scores = {}
        for value in values:
            params = dict(zip(names, value if len(names) > 1 else [value], strict=True))
            scores[value] = [
                _mean(bench, [_run(f"{name} {s}", cls, params) for name in streams], measure) for s in SCALINGS
            ]
        best = min(scores, key=lambda value: statistics.fmean(scores[value]))
        cells = {
            value: f"{value}: {' / '.join(f'{score:.{digits}f}' for score in pair)}" for value, pair in scores.items()
        }
        cells[best] = f"**{cells[best]}**"
        accepted = inspect.signature(protocol.find(cls)).parameters  # type: ignore[arg-type]
        default = ", ".join(str(accepted[name].default) for name in names)
        rows.append([cls, parameter, ", ".join(cells.values()), default])
    what = "mistakes (%)" if task == "Classifier" else "MAE"
    heading = f"{task}s: {what} behind a StandardScaler / in [0, 1]"
    bench.table(heading, ["class", "parameter", "value: errors", "default"], rows)


BANDWIDTH_CLASSES = ("Ahpatron", "BPA", "OLRD", "ProjectronPlusPlus", "SPA")


def bandwidth(bench: Bench, streams: Iterable[str]) -> None:
    """γ = c / mean ‖x-x'‖², and whether samples that follow one another give the mean."""
    constants = (0.3, 1.0, 3.0, 10.0, 30.0)
    estimates, errors = [], []
    for name, scaling in itertools.product(streams, SCALINGS):
        data = f"{name} {scaling}"
        samples = [x for x, _ in protocol.load(data)]
        rng = random.Random(0)
        pairs = [rng.sample(range(len(samples)), 2) for _ in range(2_000)]
        all_pairs = statistics.fmean(_distance(samples[i], samples[j]) for i, j in pairs)
        consecutive = statistics.fmean(_distance(a, b) for a, b in itertools.pairwise(samples[:201]))
        estimates.append([name, scaling, f"{all_pairs:.3g}", f"{consecutive:.3g}", f"{consecutive / all_pairs:.2f}"])
        runs = [[_run(data, f"{c}Classifier", {"gamma": k / all_pairs}) for c in BANDWIDTH_CLASSES] for k in constants]
        errors.append([name, scaling, *(_mean(bench, some, "error") for some in runs)])
    means = [statistics.fmean(row[i] for row in errors) for i in range(2, 2 + len(constants))]
    cells = [[*row[:2], *(f"{value:.1f}" for value in row[2:])] for row in errors]
    heading = f"The bandwidth: γ = c / mean ‖x-x'‖²: mistakes (%), mean over {', '.join(BANDWIDTH_CLASSES)}"
    head = ["stream", "scaling", *(f"c = {c:g}" for c in constants)]
    bench.table(heading, head, [*cells, ["mean", "", *(f"{mean:.2f}" for mean in means)]])
    heading = "The mean of ‖x-x'‖² over random pairs, and over the first 200 samples and their successors"
    bench.table(heading, ["stream", "scaling", "random pairs", "successors", "ratio"], estimates)


def _distance(a: dict[Any, float], b: dict[Any, float]) -> float:
    return sum((a.get(k, 0.0) - b.get(k, 0.0)) ** 2 for k in {*a, *b})


def main(argv: Sequence[str] | None = None) -> None:
    sources = {name: f"{name} {SCALINGS[0]}" for name in (*CLASSIFICATION, *REGRESSION)}
    note = "One run each (seed 1). Bold: the best value. Numbers are means over the streams."
    bench = Bench("defaults", "The choice of defaults", sources, {"all": "all"}, argv, note=note)
    for task, of, measure, digits in (("Classifier", CLASSIFICATION, "error", 1), ("Regressor", REGRESSION, "mae", 2)):
        if streams := [name for name in bench.datasets if name in of]:
            if task == "Classifier":
                bandwidth(bench, streams)
            choice(bench, task, streams, measure, digits)
    bench.write()


if __name__ == "__main__":
    main()
