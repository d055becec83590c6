"""The longest step of a stream, ordinary or hostile."""

from __future__ import annotations

import gc
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import river_okl
from benchmarks import runner
from benchmarks.speed.samples import labelled, sparse

Streams = dict[str, tuple[int, Callable[[], Iterator[tuple[dict[Any, Any], Any]]]]]

CLASSES = (river_okl.OKLClassifier, river_okl.SOGPClassifier, river_okl.BPAClassifier, river_okl.RBPClassifier)
WORDS = (river_okl.OKLClassifier,)
FEATURES = 20


def made(sample: Callable[[int, random.Random], dict[Any, Any]], labels: int = 2) -> Any:
    """A stream of samples made of their number, with labels of chance."""

    def stream() -> Iterator[tuple[dict[Any, Any], Any]]:
        rng = random.Random(1)
        for t in itertools.count():
            yield sample(t, rng), rng.randrange(labels)

    return stream


def normal(_: int, rng: random.Random) -> dict[Any, Any]:
    return {f"x{i}": rng.gauss(0.0, 1.0) for i in range(10)}


# Title, number of samples, stream: numbers for all classes, then strings.
NUMBERS: Streams = {
    "ordinary, 10 features": (20_000, lambda: iter(labelled(20_000, 10))),
    "ordinary, 8 of 200 features": (20_000, lambda: zip(sparse(20_000, 8, 200), itertools.cycle((False, True, True)))),
    "100 labels": (3000, made(normal, 100)),
    "20 new names a sample": (3000, made(lambda t, rng: {f"{t} {i}": rng.random() for i in range(FEATURES)})),
    "names of 100,000 characters": (300, made(lambda t, rng: {f"{t % 30:02}" * 50_000: rng.random()})),
    "one sample of 80,000 new names": (
        300,
        made(lambda t, rng: {f"{t} {i}": 1.0 + i % 3 for i in range(80_000)} if t == 150 else normal(t, rng)),
    ),
    "10,000 names in sample after sample, late": (
        150,
        made(lambda t, rng: {f"y{i}": 1.0 + (i + t) % 3 for i in range(10_000)} if t >= 120 else normal(t, rng)),
    ),
}
STRINGS: Streams = {
    "20 new strings a sample": (3000, made(lambda t, _: {f"x{i}": f"{t} {i}" for i in range(FEATURES)})),
    "20 new strings every other sample": (3000, made(lambda t, _: {f"x{i}": f"{t // 2} {i}" for i in range(FEATURES)})),
    "strings of 100,000 characters": (300, made(lambda t, _: {"x": f"{t % 30:02}" * 50_000})),
}


def steps(model: Any, stream: Iterator[tuple[dict[Any, Any], Any]], n: int) -> list[float]:
    """ms of each step, without the garbage collector's: what it takes depends on all objects of the process."""
    found = []
    gc.disable()
    for x, y in itertools.islice(stream, n):
        start = time.thread_time()
        model.predict_one(x)
        model.learn_one(x, y)
        found.append((time.thread_time() - start) * 1e3)
    gc.enable()
    return found


def longest() -> Iterator[str]:
    """`predict_one` and `learn_one` of each sample (OKL with its defaults, the others with 100 points): the median, the
    99th percentile and the longest step, in ms of the thread's time, and the size of the model at the end.

    A class with 100 labels has a column for each; a step that stores or forgets tens of thousands of names takes what
    they cost together.
    """
    rows = []
    for streams, classes in (NUMBERS, CLASSES), (STRINGS, WORDS):
        for title, (n, stream) in streams.items():
            for cls in classes:
                model = runner.made(cls, seed=1) if cls in WORDS else runner.made(cls, budget=100, seed=1)
                ms = sorted(steps(model, stream(), n))
                median = statistics.median(ms)
                megabytes = model._raw_memory_usage / 1e6
                rows.append([title, cls.__name__, median, ms[int(0.99 * n)], ms[-1], ms[-1] / median, megabytes])
    yield runner.table(["stream", "class", "median ms", "99 % ms", "longest ms", "ratio", "MB"], rows)
