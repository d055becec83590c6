"""A long life: 10^7 samples through every bounded class, its scores compared with sums in extended precision.

    python -m benchmarks.soak [--samples 10000000] [CLASS ...]

Ten times in the run the scores of fixed probes are recomputed from the public support vectors in NumPy's longdouble;
the table has the largest difference relative to Σ|α_i κ(z_i, x)|, the same for the norm, and the last norm.  Averaged
and random-feature models are left out: their scores are no such sum.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time

import numpy as np

from river_okl import kernels
from tests.discovery import CLASSES, bounded, decision, parameters, small, task
from tests.streams import REGRESSION

GAMMA = 0.5
AGREED = 1e-6


def kappa(x: dict, z: dict) -> np.longdouble:
    squares = [(np.longdouble(x.get(key, 0.0)) - np.longdouble(z.get(key, 0.0))) ** 2 for key in x.keys() | z.keys()]
    return np.exp(-np.longdouble(GAMMA) * sum(squares, np.longdouble(0)))


def errors(model, probes: list[dict]) -> tuple[float, float]:
    """Of the scores and of the norm, relative to the size of what is summed."""
    points = model.support_vectors
    worst = 0.0
    for x in probes:
        terms = [np.longdouble(c) * kappa(x, z) for z, c in points]
        size = float(sum(map(abs, terms), np.longdouble(0))) or 1.0
        worst = max(worst, abs(float(sum(terms, np.longdouble(0)) - np.longdouble(decision(model, x)))) / size)
    terms = [np.longdouble(a) * b * kappa(x, z) for x, a in points for z, b in points]
    size = float(sum(map(abs, terms), np.longdouble(0))) or 1.0
    return worst, abs(math.fsum(map(float, terms)) - model.norm**2) / size


def run(cls: type, n: int) -> tuple[float, float, float, float]:
    rng = random.Random(1)
    probes = [{"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.gauss(0, 1)} for _ in range(5)]
    model = small(cls, budget=30, kernel=kernels.RBF(GAMMA))
    regression = task(cls) == REGRESSION
    score = norm = 0.0
    start = time.perf_counter()
    for t in range(1, n + 1):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.gauss(0, 1)}
        y = math.sin(2 * x["a"]) + x["b"] * x["c"] + 0.2 * rng.gauss(0, 1)
        model.learn_one(x, y if regression else y > 0)
        if t % max(1, n // 10) == 0:
            found = errors(model, probes)
            score, norm = max(score, found[0]), max(norm, found[1])
    return score, norm, model.norm, 1e6 * (time.perf_counter() - start) / n


def is_sum(cls: type) -> bool:
    """Whether a score is Σ α_i κ(z_i, x) over the support vectors."""
    return not parameters(cls).get("averaged") and not cls.__name__.startswith(("FOGD", "POMDR"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores after a long life, against extended precision.")
    parser.add_argument("classes", nargs="*")
    parser.add_argument("--samples", type=int, default=10_000_000)
    arguments = parser.parse_args()
    names = arguments.classes or [name for name, cls in CLASSES.items() if bounded(cls) and is_sum(cls)]
    failed = False
    print(f"{arguments.samples:,} samples\n\n| class | error of scores | error of ‖f‖² | ‖f‖ | µs a sample |")
    print("| --- | --- | --- | --- | --- |")
    for name in names:
        score, norm, size, duration = run(CLASSES[name], arguments.samples)
        failed = failed or not (score <= AGREED and norm <= AGREED)
        print(f"| {name} | {score:.1e} | {norm:.1e} | {size:.3g} | {duration:.1f} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
