"""Samples for timing, and functions and models filled with them."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from river_okl import kernels
from river_okl._core.function.expansion import Expansion

NOISE = 0.1  # wrong labels, so that every budget fills and updates continue

Sample = dict[str, float]
Stream = list[tuple[Sample, Any]]


@functools.cache
def names(d: int) -> tuple[str, ...]:
    """The same name objects for every sample, as from a stream reader."""
    return tuple(f"x{j}" for j in range(d))


def dense(n: int, d: int, seed: int = 0) -> list[Sample]:
    rows = np.random.default_rng(seed).normal(size=(n, d)).tolist()
    return [dict(zip(names(d), row, strict=True)) for row in rows]


def sparse(n: int, active: int, d: int, seed: int = 0) -> list[Sample]:
    """Binary samples with frequencies like those of words: feature j with probability about 1/(j + 10)."""
    rng, out = np.random.default_rng(seed), []
    weights = 1.0 / (np.arange(d) + 10.0)
    totals = np.cumsum(weights / weights.sum())
    for _ in range(n):
        chosen: set[int] = set()
        while len(chosen) < active:
            chosen.update(np.searchsorted(totals, rng.random(active - len(chosen))).tolist())
        out.append({names(d)[j]: 1.0 for j in sorted(chosen)})
    return out


def labelled(n: int, d: int, *, regression: bool = False, seed: int = 0) -> Stream:
    """A smooth function of d Gaussian features: its sign with some labels wrong, or its value with some noise."""
    samples, rng, truth = dense(n, d, seed), np.random.default_rng(seed + 1), np.random.default_rng(42)
    centers, signs = truth.normal(size=(8, d)), truth.choice([-1.0, 1.0], 8)
    X = np.array([list(x.values()) for x in samples])
    values = sum(s * np.exp(-((X - c) ** 2).sum(axis=1) / (2.0 * d)) for s, c in zip(signs, centers, strict=True))
    values = (values - values.mean()) / values.std()
    targets = values + NOISE * rng.normal(size=n) if regression else (values >= 0.0) ^ (rng.random(n) < NOISE)
    return list(zip(samples, targets.tolist(), strict=True))


def expansion(points: list[Sample]) -> Expansion:
    """A function with these support vectors."""
    f = Expansion(kernels.RBF(gamma=0.5 / len(points[0]))._terms(), budget=len(points))
    for i, x in enumerate(points):
        f.evaluate(x)
        f.add(0.1 if i % 2 else -0.1)
    return f


def size(model: Any) -> int | None:
    return getattr(model, "n_support_vectors", None)


def learned(model: Any, samples: Iterable[tuple[Sample, Any]]) -> None:
    for x, y in samples:
        model.predict_one(x)
        model.learn_one(x, y)


def filled(model: Any, stream: Stream, budget: int) -> Any:
    """The model once it has this many support vectors, or after 1.5 s."""
    start = time.thread_time()
    for i in range(len(stream)):
        learned(model, stream[i : i + 1])
        if (size(model) or 0) >= budget or (i % 10 == 0 and time.thread_time() - start > 1.5):
            break
    return model
