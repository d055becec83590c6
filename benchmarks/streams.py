"""The benchmarks' streams, by name, and their scaling.

The papers' data sets, in the papers' order and scales, are in `papers/runs.py`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import random
import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from river import datasets as river_datasets
from river import preprocessing, stream
from river.datasets import synth

from river_okl import datasets

ROWS = 20_000
REPEATS = 3  # of a stream, for the spread of the means

Sample = tuple[dict[Any, Any], Any]


def shuffled(samples: Iterable[Sample], seed: int = 1) -> list[Sample]:
    samples = list(samples)
    random.Random(seed).shuffle(samples)
    return samples


def _elec2() -> Iterator[Sample]:
    path = datasets.LIBSVM("a9a").paths[0].parents[1] / "streams" / "elec2.csv"
    names = ["date", "day", "period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    return ((x, y == "UP") for x, y in stream.iter_csv(path, target="class", converters=dict.fromkeys(names, float)))


def _dna() -> Iterator[Sample]:
    return itertools.chain(datasets.LIBSVM("dna.scale"), datasets.LIBSVM("dna.scale", "test"))


def as_bool(samples: Iterable[Sample]) -> Iterator[Sample]:
    return ((x, bool(y)) for x, y in samples)


def _numbers(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Strings are one-hot encoded; all names are strings, which River's ARFRegressor sorts."""
    return (
        ({f"{k} {v}" if isinstance(v, str) else f"{k}": 1.0 if isinstance(v, str) else v for k, v in x.items()}, y)
        for x, y in samples
    )


def rbf() -> Iterator[Sample]:
    """Twenty clusters, fewer than in the stream of the leaderboard."""
    return as_bool(synth.RandomRBF(seed_model=1, seed_sample=1, n_centroids=20))


def entities(n: int, seed: int = 1) -> Iterator[Sample]:
    """Three numbers, whose effect on the label is another one for each of n entities."""
    rng = np.random.default_rng(seed)
    slopes, levels = rng.normal(size=(n, 3)), rng.normal(size=n)
    while True:
        i, numbers = int(rng.integers(n)), rng.normal(size=3)
        x = {"entity": f"{i}", "a": numbers[0].item(), "b": numbers[1].item(), "c": numbers[2].item()}
        yield x, bool(numbers @ slopes[i] + levels[i] > 0.0)


class Stream(NamedTuple):
    samples: Callable[..., Iterable[Sample]]  # a generator takes a seed
    classes: int = 2  # 0: a regression
    sparse: bool = False  # no scaler
    features: int = 0  # named 1, 2, ...; of a file that omits zeros, for the models that need them
    in_time: bool = False  # in the order of time


# The generators' parameters are River's defaults, except if these have no noise (SEA, LED), no drift despite the name
# (Hyperplane, RandomRBFDrift, FriedmanDrift), or are solved by one feature (Agrawal).
STREAMS = {
    "a9a": Stream(lambda: datasets.LIBSVM("a9a"), sparse=True, features=123),
    "w8a": Stream(lambda: shuffled(datasets.LIBSVM("w8a")), sparse=True, features=300),
    "cod-rna": Stream(lambda: shuffled(datasets.LIBSVM("cod-rna"))),
    "phishing": Stream(lambda: datasets.LIBSVM("phishing"), features=68),
    "spambase": Stream(lambda: shuffled(datasets.Spambase())),
    "elec2": Stream(_elec2, in_time=True),
    "german": Stream(lambda: datasets.LIBSVM("german.numer"), features=24),
    "Bananas": Stream(river_datasets.Bananas),
    "Phishing": Stream(river_datasets.Phishing),
    "SEA": Stream(lambda seed=42: as_bool(synth.SEA(noise=0.1, seed=seed))),
    "Agrawal": Stream(lambda seed=42: as_bool(synth.Agrawal(classification_function=3, seed=seed))),
    "Hyperplane": Stream(lambda seed=42: as_bool(synth.Hyperplane(mag_change=0.001, seed=seed))),
    "RandomRBF": Stream(lambda seed=42: as_bool(synth.RandomRBF(seed_model=seed, seed_sample=seed))),
    "RandomRBFDrift": Stream(
        lambda seed=42: as_bool(synth.RandomRBFDrift(change_speed=0.001, seed_model=seed, seed_sample=seed)),
    ),
    "LED": Stream(lambda seed=42: synth.LED(noise_percentage=0.1, seed=seed), classes=10),
    "ImageSegments": Stream(river_datasets.ImageSegments, classes=7),
    "dna": Stream(_dna, classes=3, features=180),
    "cadata": Stream(lambda: datasets.LIBSVM("cadata"), classes=0),
    "space_ga": Stream(lambda: datasets.LIBSVM("space_ga"), classes=0),
    "TrumpApproval": Stream(river_datasets.TrumpApproval, classes=0, in_time=True),
    "Friedman": Stream(lambda seed=42: synth.Friedman(seed=seed), classes=0),
    "FriedmanDrift": Stream(
        lambda seed=42: synth.FriedmanDrift("gsg", position=(7_000, 14_000), transition_window=2_000, seed=seed),
        classes=0,
    ),
    "Planes2D": Stream(lambda seed=42: synth.Planes2D(seed=seed), classes=0),
    "Mv": Stream(lambda seed=42: _numbers(synth.Mv(seed=seed)), classes=0),
    "ChickWeights": Stream(river_datasets.ChickWeights, classes=0),
}


def repeated(stream: Stream, repeat: int) -> Iterable[Sample]:
    """The stream, or another one like it: of another seed, of other rows if in the order of time, or shuffled."""
    if inspect.signature(stream.samples).parameters:
        return stream.samples(seed=42 + repeat)
    if repeat == 0:
        return stream.samples()
    samples = list(stream.samples())
    if stream.in_time:  # the middle and the end
        return samples[max(0, len(samples) - ROWS) * repeat // (REPEATS - 1) :]
    return shuffled(samples, seed=1 + repeat)


@functools.lru_cache(maxsize=2)
def load(name: str, raw: bool, repeat: int = 0) -> list[Sample]:
    """The samples; unless ``raw``, with the zeros omitted from the file."""
    samples = itertools.islice(repeated(STREAMS[name], repeat), ROWS)
    return list(samples) if raw else dense(STREAMS[name], samples)


def dense(stream: Stream, samples: Iterable[Sample]) -> list[Sample]:
    zeros = dict.fromkeys(range(1, stream.features + 1), 0.0)
    return [({**zeros, **x}, y) for x, y in samples]


# Scales ---------------------------------------------------------------------------------------------


def scaled(samples: Iterable[Sample], scaling: str) -> list[Sample]:
    """With zeros restored: behind a "StandardScaler", or scaled by all samples to "[-1,1]", "[0,1]" or standardised
    ("z"); "y" standardises the target."""
    samples = list(samples)
    if scaling == "y":
        targets = [y for _, y in samples]
        mean, deviation = statistics.fmean(targets), statistics.pstdev(targets)
        return [(x, (y - mean) / deviation) for x, y in samples]
    zeros = dict.fromkeys(sorted({feature for x, _ in samples for feature in x}), 0.0)
    if scaling == "StandardScaler":
        scaler, out = preprocessing.StandardScaler(), []
        for x, y in samples:
            scaler.learn_one(full := {**zeros, **x})
            out.append((scaler.transform_one(full), y))
        return out
    boxes = {feature: _box([x.get(feature, 0.0) for x, _ in samples], scaling) for feature in zeros}
    return [({name: (x.get(name, 0.0) - shift) / unit for name, (shift, unit) in boxes.items()}, y) for x, y in samples]


def _box(values: list[float], scaling: str) -> tuple[float, float]:
    """Offset and divisor of a feature's values."""
    if scaling == "z":
        return statistics.fmean(values), statistics.pstdev(values) or 1.0
    low, high = min(values), max(values)
    return (low, high - low or 1.0) if scaling == "[0,1]" else ((low + high) / 2.0, (high - low) / 2.0 or 1.0)
