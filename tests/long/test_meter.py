"""River's meter over 10^6 samples of the mixtures: bounded in kB, and constant in the end.

20 features, two labels or a target; the concept is a random tree of 64 leaves over all features, redrawn every 150,000
samples, with 5 % of the labels flipped. Each sample is predicted, then learned. The table has kB by River's meter, and
the growth of the resident memory in KB from 500,000 samples to the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from river_okl import OKLClassifier, OKLRegressor
from tests.long.test_memory import LEAK, resident

TITLE = "Memory of the mixtures"
AT = 10_000, 100_000, 200_000, 500_000, 1_000_000
HEAD = ["class", *(f"{n:,}" for n in AT), "resident, half to end, KB"]
FEATURES, DEPTH, CONCEPT, CHUNK = 20, 6, 150_000, 10_000
MOST = {OKLClassifier: 1_500_000, OKLRegressor: 3_300_000}  # bytes
STEADY = 1.02  # of what was there at 100,000 samples and later


def stream(regression: bool, n: int) -> Iterator[tuple[dict, object]]:
    rng = np.random.default_rng(1)
    names = [f"f{i}" for i in range(FEATURES)]
    for start in range(0, n, CHUNK):
        if start % CONCEPT == 0:
            splits, cuts = rng.integers(0, FEATURES, (DEPTH, 2**DEPTH)), rng.uniform(0.3, 0.7, (DEPTH, 2**DEPTH))
            values = rng.random(2**DEPTH)
        X, leaf = rng.random((CHUNK, FEATURES)), np.zeros(CHUNK, dtype=np.int64)
        for level in range(DEPTH):
            leaf = 2 * leaf + (X[np.arange(CHUNK), splits[level, leaf]] > cuts[level, leaf])
        noise = rng.random(CHUNK)
        y = values[leaf] + 0.1 * noise if regression else (values[leaf] > 0.5) ^ (noise < 0.05)
        yield from zip((dict(zip(names, row, strict=True)) for row in X.tolist()), y.tolist(), strict=True)


@pytest.mark.parametrize("cls", [OKLClassifier, OKLRegressor])
def test_the_reported_memory_is_constant(cls, rows):
    model, sizes, residents = cls(), [], []
    for t, (x, y) in enumerate(stream(cls is OKLRegressor, AT[-1]), start=1):
        model.predict_one(x)
        model.learn_one(x, y)
        if t in AT:
            sizes.append(model._raw_memory_usage)
            residents.append(resident())
    growth = residents[-1] - residents[-2]
    rows.append([cls.__name__, *(f"{size / 1000:,.0f}" for size in sizes), f"{1024 * growth:.0f}"])
    assert max(sizes) <= MOST[cls]
    assert sizes[-1] <= STEADY * max(sizes[1:-1])
    assert growth < LEAK
