"""100,000 samples: ``python -m benchmarks.long``.

Streams on which a bounded model could stop learning, in the protocol of `benchmarks.untuned`: defaults,
test-then-train, River's models behind a StandardScaler except on a9a, which is sparse.  elec2 and a9a (both files) are
shorter, and whole.  Concepts in turn take a quarter of the stream each.  Writes `results/long.md` and docs/long.png.

Results are kept in `results/long.jsonl`: River's models take hours and do not change, so ``--models OKL`` measures ours
again (if its code has changed) and takes theirs from there.  A pair of a stream and a model that takes longer than
``--limit`` seconds of the processor's time counts as far as it came, and the tables say so.
"""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from river.datasets import synth

from benchmarks import runner, untuned
from benchmarks.streams import STREAMS as SHORT
from benchmarks.streams import Sample, Stream, as_bool
from river_okl import datasets

ROWS = 100_000
WINDOWS = 50  # of a curve
MODELS = ("OKL", "LogisticRegression", "HoeffdingTree", "ARF(10)")


def in_turn(concepts: Iterable[Any]) -> Iterator[Sample]:
    return itertools.chain.from_iterable(concept.take(ROWS // 4) for concept in concepts)


def random_tree(seed: int) -> Stream:
    """Depth 5, five features with numbers and five with whole numbers."""
    return Stream(lambda: as_bool(synth.RandomTree(seed_tree=seed, seed_sample=seed)))


def moving(speed: float) -> Stream:
    return Stream(lambda: as_bool(synth.RandomRBFDrift(seed_model=42, seed_sample=42, change_speed=speed)))


def _agrawal() -> Iterator[Sample]:
    return as_bool(in_turn(synth.Agrawal(classification_function=k, seed=42 + k) for k in (1, 2, 3, 4)))


def _sea() -> Iterator[Sample]:
    return as_bool(in_turn(synth.SEA(variant=k, noise=0.1, seed=42 + k) for k in range(4)))


def _led() -> Iterator[Sample]:
    """Of 24 features seven matter, and more and more of them are others."""
    return in_turn(
        synth.LEDDrift(seed=42 + k, noise_percentage=0.1, irrelevant_features=True, n_drift_features=k)
        for k in (0, 3, 5, 7)
    )


STREAMS = {
    "RandomTree": random_tree(42),
    "Agrawal, four concepts": Stream(_agrawal),
    "SEA, four concepts": Stream(_sea),
    "RBF, slow drift": moving(0.0001),
    "RBF, fast drift": moving(0.001),
    "LED, drift": Stream(_led, classes=10),
    "Hyperplane": SHORT["Hyperplane"],
    "elec2": SHORT["elec2"],
    "a9a": Stream(lambda: itertools.chain(datasets.LIBSVM("a9a"), datasets.LIBSVM("a9a", "test")), sparse=True),
    "RandomTree, seed 43": random_tree(43),
    "RandomTree, seed 44": random_tree(44),
}


@functools.lru_cache(maxsize=1)
def load(name: str) -> list[Sample]:
    return list(itertools.islice(STREAMS[name].samples(), ROWS))


@functools.cache
def samples_digest(name: str) -> str:
    return runner.digest(repr(load(name)).encode())


def key(name: str, model: str) -> str:
    candidate = untuned.build(STREAMS[name], untuned.CLASSIFIERS[model])
    return runner.digest(samples_digest(name), runner.content(candidate), untuned.MEASURE)


def curve(hits: Sequence[bool], of: int) -> list[float]:
    """Accuracy in each of `WINDOWS` parts of a stream of so many samples, as far as it was seen."""
    width = of // WINDOWS
    return [round(100.0 * statistics.fmean(hits[i : i + width]), 2) for i in range(0, len(hits) - width + 1, width)]


def measure(store: runner.Store, streams: Sequence[str], wanted: Sequence[str], limit: float) -> None:
    """What is not known as the code is now: the cheap models on all streams first."""
    for model, name in itertools.product(wanted, streams):
        of = len(load(name))
        if store.current(name, model, k := key(name, model), of, limit):
            continue
        candidate, hits = untuned.build(STREAMS[name], untuned.CLASSIFIERS[model]), bytearray()
        found = untuned.classify(candidate, load(name), STREAMS[name].classes, limit, hits.append)
        more = {"us": 1e6 * found["seconds"] / found["rows"], "bytes": candidate._raw_memory_usage}
        store.keep(name, model, key=k, of=of, limit=limit, **found, **more, curve=curve(hits, of))
        print(f"{model} on {name}: {found} {more}", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("long", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a pair of stream and model at most")
    runner.choice(parser, "--only", ["cells", "tables", "pictures"])
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "long.jsonl")
    if "cells" in options.only:
        measure(store, options.streams, options.models, options.limit)


if __name__ == "__main__":
    main()
