"""The choice of defaults: ``python -m benchmarks.defaults``.

Each parameter takes several values, the others stay as they are, and the mean error over several streams decides: the
mistakes in percent, or the mean absolute error of the standardised target. Classes with a budget have 100 support
vectors. Each stream is given twice: behind a StandardScaler, and scaled to [0, 1].
"""

from __future__ import annotations

import inspect
import itertools
import math
import os
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from river import datasets as river_datasets
from river import preprocessing, stream
from river.datasets import synth

from benchmarks.papers import protocol
from benchmarks.papers.protocol import Bench, Run, Sample, field
from river_okl import datasets

ROWS = 5_000


def _elec2() -> Iterator[Sample]:
    path = os.path.join(os.environ.get("RIVER_DATA", ""), "streams", "elec2.csv")
    names = ["day", "period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    for x, y in stream.iter_csv(path, target="class", converters=dict.fromkeys(names, float), drop=["date"]):
        yield x, y == "UP"


def _shuffled(samples: Iterable[Sample]) -> list[Sample]:
    """cod-rna and cadata are sorted."""
    samples = list(samples)
    random.Random(0).shuffle(samples)
    return samples


CLASSIFICATION: dict[str, Callable[[], Iterable[Sample]]] = {
    "Phishing": river_datasets.Phishing,
    "Bananas": river_datasets.Bananas,
    "Elec2": _elec2,
    "a9a": lambda: datasets.LIBSVM("a9a"),
    "cod-rna": lambda: _shuffled(datasets.LIBSVM("cod-rna")),
    "Waveform": lambda: ((x, y == 0) for x, y in synth.Waveform(seed=0)),
    "RandomRBF": lambda: ((x, bool(y)) for x, y in synth.RandomRBF(seed_model=1, seed_sample=1, n_centroids=20)),
}
REGRESSION: dict[str, Callable[[], Iterable[Sample]]] = {
    "cadata": lambda: _shuffled(datasets.LIBSVM("cadata")),
    "TrumpApproval": river_datasets.TrumpApproval,
    "Friedman": lambda: synth.Friedman(seed=0),
}


def _head(name: str) -> list[Sample]:
    return list(itertools.islice(iter({**CLASSIFICATION, **REGRESSION}[name]()), ROWS))


def _source(name: str, scaling: str) -> Callable[[], list[Sample]]:
    def read() -> list[Sample]:
        samples = _head(name)
        if name in REGRESSION:
            samples = protocol._scaled(samples, "y")
        if scaling == "[0,1]":
            return protocol._scaled(samples, scaling)
        # A feature that a sparse dict gives only where it is 1 has no variance: the scaler would make it 0.
        features = sorted({feature for x, _ in samples for feature in x})
        samples = [({feature: x.get(feature, 0.0) for feature in features}, y) for x, y in samples]
        scaler = preprocessing.StandardScaler()
        scaled = []
        for x, y in samples:
            scaler.learn_one(x)
            scaled.append((scaler.transform_one(x), y))
        return scaled

    return read


SCALINGS = ("StandardScaler", "[0,1]")
for _name, _scaling in itertools.product((*CLASSIFICATION, *REGRESSION), SCALINGS):
    protocol.SOURCES[f"{_name} {_scaling}"] = _source(_name, _scaling)

RATES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
COSTS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SHRINKAGES = [0.0, 1e-4, 1e-3, 1e-2, 1e-1]
LAMBDAS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
EPSILONS = [0.5, 0.6, 0.7, 0.8, 0.9]

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
    ("Ahpatron", "epsilon", EPSILONS),
    ("Ahpatron", "radius", [2.5, 5.0, 7.5]),
    ("DUOL", "C", COSTS),
    ("BDUOL", "C", COSTS),
    ("OSKL", "learning_rate", RATES),
    ("POMDR", "radius", [5.0, 10.0, 25.0, 50.0]),
]


def _runs(cls: str, params: dict[str, Any], streams: Iterable[str], scaling: str, rows: int) -> list[Run]:
    accepted = inspect.signature(protocol.find(cls)).parameters  # type: ignore[arg-type]
    if "seed" in accepted:
        params = {**params, "seed": 1}
    if cls.startswith("Projectron"):
        params = {**params, "budget": 100}
    return [Run(f"{name} {scaling}", cls, params, seed=None, rows=rows) for name in streams]


def _score(bench: Bench, runs: list[Run], measure: str) -> float:
    """The mean over the streams; an error beyond 10 counts as 10, so that one explosion stays readable."""
    cap = 100.0 if measure == "error" else 10.0
    return statistics.fmean(
        min(cap, value if math.isfinite(value) else cap) for value in field(bench.run(runs), measure)
    )


def choice(bench: Bench, task: str, rows: int) -> None:
    streams = CLASSIFICATION if task == "Classifier" else REGRESSION
    measure, digits = ("error", 1) if task == "Classifier" else ("mae", 2)
    entries = [*BOTH, *(CLASSIFIERS if task == "Classifier" else [])]
    table = []
    for stem, parameter, values in entries:
        cls = f"{stem}{task}"
        if not bench.wants("all", cls):
            continue
        names = parameter.split(", ")
        accepted = inspect.signature(protocol.find(cls)).parameters  # type: ignore[arg-type]
        default = ", ".join(str(accepted[name].default) for name in names)
        params = {value: dict(zip(names, value if len(names) > 1 else [value], strict=True)) for value in values}
        bench.run(run for p in params.values() for s in SCALINGS for run in _runs(cls, p, streams, s, rows))
        scores = {
            value: [_score(bench, _runs(cls, p, streams, s, rows), measure) for s in SCALINGS]
            for value, p in params.items()
        }
        best = min(scores, key=lambda value: statistics.fmean(scores[value]))
        cells = []
        for value, pair in scores.items():
            text = f"{value}: {pair[0]:.{digits}f} / {pair[1]:.{digits}f}"
            cells.append(f"**{text}**" if value == best else text)
        table.append([cls, parameter, ", ".join(cells), default])
    what = "mistakes (%)" if task == "Classifier" else "MAE"
    bench.say("", f"## {task}s: {what} behind a StandardScaler / in [0, 1]")
    bench.table(["class", "parameter", "value: errors", "default"], table)


BANDWIDTH_CLASSES = [
    ("AhpatronClassifier", {}),
    ("BPAClassifier", {}),
    ("OLRDClassifier", {}),
    ("ProjectronPlusPlusClassifier", {"budget": 100}),
    ("SPAClassifier", {}),
]


def bandwidth(bench: Bench, rows: int) -> None:
    """γ = c / mean ‖x-x'‖², and whether samples that follow one another give the mean."""
    constants = (0.3, 1.0, 3.0, 10.0, 30.0)
    estimates, errors = [], []
    for name, scaling in itertools.product(CLASSIFICATION, SCALINGS):
        data = f"{name} {scaling}"
        samples = [x for x, _ in protocol.load(data)]
        rng = random.Random(0)
        pairs = [rng.sample(range(len(samples)), 2) for _ in range(2_000)]
        all_pairs = statistics.fmean(_distance(samples[i], samples[j]) for i, j in pairs)
        consecutive = statistics.fmean(_distance(a, b) for a, b in itertools.pairwise(samples[:201]))
        estimates.append([name, scaling, f"{all_pairs:.3g}", f"{consecutive:.3g}", f"{consecutive / all_pairs:.2f}"])
        row = [name, scaling]
        for constant in constants:
            runs = [
                Run(data, cls, {**params, "gamma": constant / all_pairs, "seed": 1}, seed=None, rows=rows)
                if "seed" in inspect.signature(protocol.find(cls)).parameters  # type: ignore[arg-type]
                else Run(data, cls, {**params, "gamma": constant / all_pairs}, seed=None, rows=rows)
                for cls, params in BANDWIDTH_CLASSES
                if protocol.find(cls)
            ]
            row.append(f"{statistics.fmean(field(bench.run(runs), 'error')):.1f}")
        errors.append(row)
    means = [f"{statistics.fmean(float(row[i]) for row in errors):.2f}" for i in range(2, 2 + len(constants))]
    bench.say(
        "",
        "## The bandwidth: γ = c / mean ‖x-x'‖²",
        "",
        "Mistakes (%), mean over " + ", ".join(cls for cls, _ in BANDWIDTH_CLASSES) + ".",
    )
    bench.table(["stream", "scaling", *(f"c = {c:g}" for c in constants)], [*errors, ["mean", "", *means]])
    bench.say("The mean of ‖x-x'‖² over random pairs, and over the first 200 samples and their successors:")
    bench.table(["stream", "scaling", "random pairs", "successors", "ratio"], estimates)


def _distance(a: dict[Any, float], b: dict[Any, float]) -> float:
    return sum((a.get(k, 0.0) - b.get(k, 0.0)) ** 2 for k in {*a, *b})


def main(argv: Sequence[str] | None = None) -> None:
    bench = Bench("defaults", "The choice of defaults", [*CLASSIFICATION, *REGRESSION], ["all"], argv)
    rows = bench.rows(ROWS) or ROWS
    bench.say(
        f"The first {rows:,} samples of each stream, one run each (seed 1). Bold: the best value. Mean over "
        f"{', '.join(CLASSIFICATION)} or over {', '.join(REGRESSION)}."
    )
    bandwidth(bench, rows)
    choice(bench, "Classifier", rows)
    choice(bench, "Regressor", rows)
    bench.write()


if __name__ == "__main__":
    main()
