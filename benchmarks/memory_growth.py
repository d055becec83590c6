"""Resident memory over 10^6 samples, for every bounded class: flat, or something leaks.

    python -m benchmarks.memory_growth [--samples 1000000] [CLASS ...]

New features come and go all the time; every 1,000 samples there are a refused one, a clone, a pickle and a checkpoint
of the model, each dropped.  The table has the memory after a tenth and at the end; exit code 1 above 2 MB of growth.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import pickle
import random
import sys
import time
from pathlib import Path

import river_okl
from river_okl import checkpoint
from tests.discovery import CLASSES, bounded, small, task
from tests.streams import REGRESSION


def resident() -> float:
    """MB"""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def run(cls: type, n: int) -> tuple[float, float, float]:
    rng = random.Random(1)
    model = small(cls, budget=50)
    regression = task(cls) == REGRESSION
    start, early = time.perf_counter(), 0.0
    for t in range(n):
        x = {"a": rng.random(), "b": rng.random(), ("f", t // 50 % 100_000): rng.random()}
        target = x["a"] * x["b"] - 0.25
        model.learn_one(x, target if regression else target > 0)
        if t % 1000 == 0:
            with contextlib.suppress(ValueError):
                model.learn_one({**x, ("new", t): float("nan")}, 0.0 if regression else True)
            model.clone()
            pickle.loads(pickle.dumps(model))
            checkpoint._parse(checkpoint._dump(model))
        if t == n // 10:
            gc.collect()
            early = resident()
    gc.collect()
    return early, resident(), 1e6 * (time.perf_counter() - start) / n


def main() -> None:
    parser = argparse.ArgumentParser(description="Resident memory over many samples, class by class.")
    parser.add_argument("classes", nargs="*")
    parser.add_argument("--samples", type=int, default=1_000_000)
    arguments = parser.parse_args()
    names = arguments.classes or [name for name, cls in CLASSES.items() if bounded(cls)]
    worst = 0.0
    print(f"river_okl {river_okl.__version__}, {arguments.samples:,} samples\n")
    print("| class | MB after a tenth | MB at the end | µs a sample |\n| --- | --- | --- | --- |")
    for name in names:
        early, late, duration = run(CLASSES[name], arguments.samples)
        worst = max(worst, late - early)
        print(f"| {name} | {early:.1f} | {late:.1f} | {duration:.1f} |", flush=True)
    sys.exit(worst > 2.0)


if __name__ == "__main__":
    main()
