"""Time per sample as support vectors, features and the stream grow."""

from __future__ import annotations

import inspect
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from river import base

import river_okl
from benchmarks import runner, timing
from benchmarks.speed.samples import Sample, dense, expansion, labelled, learned, sparse

FEATURES = [1, 3, 10, 30, 100, 300, 1000, 3000]
LENGTHS = [10**k for k in range(3, 8)]

# The growing quantity, its values, and for each column the generator, number and features of the points.
SWEEPS: list[tuple[str, list[int], dict[str, Callable[[int], tuple[Any, ...]]]]] = [
    (
        "support vectors",
        [10, 30, 100, 300, 1000, 3000, 10_000, 20_000],
        {"µs, d=10": lambda n: (dense, n, 10), "µs, d=100": lambda n: (dense, n, 100)},
    ),
    ("features, dense, B=1000", FEATURES, {"µs": lambda d: (dense, 1000, d)}),
    ("active features of 100,000, B=1000", FEATURES[:6], {"µs": lambda active: (sparse, 1000, active, 100_000)}),
]


def growth() -> Iterator[str | list[runner.Panel]]:
    """An evaluation, and for one sample in ten a removal and an addition; for streams `predict_one` and `learn_one`."""
    axis, panels = {"xscale": "log", "yscale": "log", "ylabel": "µs per sample"}, []
    for title, values, columns in SWEEPS:
        times = {label: [evaluating(*points(value)) for value in values] for label, points in columns.items()}
        panels.append(
            ({label: [*zip(values, us, strict=True)] for label, us in times.items()}, axis | {"xlabel": title})
        )
        yield runner.table([title, *times], zip(values, *times.values(), strict=True))
    times = {cls.__name__: along_a_stream(cls) for cls in (river_okl.RBPClassifier, river_okl.OLRDClassifier)}
    lines = {name: [*zip(LENGTHS, us, strict=True)] for name, us in times.items()}
    panels.append((lines, axis | {"xlabel": "samples so far, B=100, d=10", "ylim": (0.3, 30)}))
    head = ["µs per sample up to", *(f"{n:,} samples" for n in LENGTHS)]
    yield runner.table(head, [[name, *us] for name, us in times.items()])
    yield panels
    head = ["bounded classes, B=100, d=10", "samples", "µs, first third", "µs, last third", "ratio"]
    yield runner.table(head, [*bounded(base.Classifier), *bounded(base.Regressor)])


def evaluating(make: Callable[..., list[Sample]], n: int, *sizes: int) -> float:
    """µs of an evaluation, including a replacement of a support vector every ten samples."""
    f, queries, turns = expansion(make(n, *sizes)), make(50, *sizes, seed=1), itertools.count(1)

    def step() -> None:
        i = next(turns)
        f.evaluate(queries[i % 50])
        if i % 10 == 0:
            f.remove(i % len(f))
            f.add(0.1)

    return timing.interleaved({"step": step}, rounds=7, milliseconds=20.0)["step"]


def us_of(model: Any, samples: Iterable[Any], n: int) -> float:
    return timing.seconds(lambda: learned(model, samples)) / n * 1e6


def along_a_stream(cls: type) -> list[float]:
    """µs/sample up to the first length, from there to the second, and so on."""
    model, stream = runner.made(cls, budget=100, seed=1), itertools.cycle(labelled(20_000, 10))
    more = [n - before for before, n in itertools.pairwise([0, *LENGTHS])]
    return [us_of(model, itertools.islice(stream, n), n) for n in more]


def bounded(kind: type) -> Iterator[list[object]]:
    """Each class with a bound on a stream that is repeated: its first blocks beside its last.

    Of three runs the fastest each, as the machine stalls for seconds.
    """
    stream = labelled(5000, 10, regression=kind is base.Regressor)
    for name, cls in runner.ours(kind):
        known = inspect.signature(cls).parameters
        unbounded = "n_components" not in known and ("budget" not in known or known["budget"].default is None)
        if unbounded or name.startswith("NBSGD"):  # which grows by design
            continue
        options = {"budget": 100, "n_components": 100, "seed": 1}
        runs = [in_blocks(runner.made(cls, **options), stream) for _ in range(3)]
        n = min(map(len, runs))
        first = min(statistics.median(blocks[1 : 1 + (n - 1) // 3]) for blocks in runs)
        last = min(statistics.median(blocks[n - (n - 1) // 3 : n]) for blocks in runs)
        yield [name, n * len(stream), first, last, last / first]


def in_blocks(model: Any, stream: Sequence[Sample]) -> list[float]:
    """µs of each pass over the stream: twenty, or those of 1.5 s."""
    blocks: list[float] = []
    start = time.thread_time()
    while len(blocks) < 4 or (len(blocks) < 20 and time.thread_time() - start < 1.5):
        blocks.append(us_of(model, stream, len(stream)))
    return blocks
