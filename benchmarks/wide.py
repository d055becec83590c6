"""Wide and ever-new features: memory that stays flat, and where a feature's row becomes a posting list.

    python -m benchmarks.wide [--thresholds]

Prints tables and writes them into results/wide.md.  --thresholds builds a core whose SPARSE_BELOW can be chosen, in a
temporary copy (a minute or two of compiling).
"""

# ruff: noqa: E501  (the prose of the tables)
from __future__ import annotations

from benchmarks import timing  # isort: skip

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import river_okl
from river_okl import kernels
from river_okl._core.expansion import Expansion

ROOT = pathlib.Path(__file__).parents[1]


def resident() -> float:
    """MB that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def fresh_names(report: timing.Report, n: int = 1_000_000) -> None:
    rows = []
    for cls in (river_okl.OLRDClassifier, river_okl.AhpatronClassifier):
        model, rng = cls(kernels.RBF(gamma=0.1), budget=100), np.random.default_rng(0)
        start = time.thread_time()
        for i in range(n):
            x = {f"user{i}": 1.0, f"word{i}": 1.0, f"link{i}": 1.0}  # never seen before, never seen again
            model.predict_one(x)
            model.learn_one(x, bool(rng.random() < 0.5))
            if (i + 1) % (n // 5) == 0:
                spent = (time.thread_time() - start) / (n // 5) * 1e6
                rows.append(
                    [cls.__name__, i + 1, model._raw_memory_usage / 1e3, resident(), model.n_support_vectors, spent]
                )
                start = time.thread_time()
    head = ["", "samples so far", "model, KB", "process, MB", "support vectors", "µs per sample"]
    report.write(
        "Ever-new features",
        f"{n:,} samples, each with three features whose names were never there before.\n\n" + timing.table(head, rows),
    )


def draw(rng: np.random.Generator, totals: np.ndarray, active: int) -> dict[str, float]:
    """A sample of features as unequal as words are."""
    chosen: set[int] = set()
    while len(chosen) < active:
        chosen.update(np.searchsorted(totals, rng.random(active - len(chosen))).tolist())
    return {f"w{j}": 1.0 for j in sorted(chosen)}


def word_totals(d: int) -> np.ndarray:
    weights = 1.0 / (np.arange(d) + 10.0)
    return np.cumsum(weights / weights.sum())


def wide(report: timing.Report, d: int = 1_000_000, active: int = 30, budget: int = 1000) -> None:
    rng, rows = np.random.default_rng(0), []
    for name, totals in (("as words (Zipf)", word_totals(d)), ("all alike", np.cumsum(np.full(d, 1.0 / d)))):
        samples = [(draw(rng, totals, active), bool(rng.random() < 0.5)) for _ in range(20_000)]
        before = resident()
        model = river_okl.OLRDClassifier(kernels.RBF(gamma=0.05), budget=budget, seed=1)
        for x, y in samples[:10_000]:
            model.predict_one(x)
            model.learn_one(x, y)
        start = time.thread_time()
        for x, y in samples[10_000:]:
            model.predict_one(x)
            model.learn_one(x, y)
        spent = (time.thread_time() - start) / 10_000 * 1e6
        grown = resident() - before
        rows.append([name, model.n_support_vectors, model._raw_memory_usage / 1e6, grown, 8e-6 * budget * d, spent])
    head = [
        f"{d:,} features, {active} in a sample",
        "support vectors",
        "model, MB",
        "process grew, MB",
        "a dense matrix, MB",
        "µs per sample",
    ]
    text = "OLRDClassifier on random labels, so that every second sample and more replaces a support vector.\n\n"
    report.write("Wide data", text + timing.table(head, rows))


# The threshold ------------------------------------------------------------------------------------


def probe() -> dict[str, Any]:
    """In a variant: µs of an evaluation and of a replacement, and bytes per support vector, on several kinds of data."""
    out = {}
    for name, active, d, n in (
        ("14 of 123, B=1350", 14, 123, 1350),
        ("30 of 1,000, B=1000", 30, 1000, 1000),
        ("30 of 10,000, B=1000", 30, 10_000, 1000),
        ("30 of 100,000, B=1000", 30, 100_000, 1000),
        ("100 of 1,000, B=1000", 100, 1000, 1000),
    ):
        rng, totals = np.random.default_rng(0), word_totals(d)
        points, queries = [draw(rng, totals, active) for _ in range(n)], [draw(rng, totals, active) for _ in range(64)]
        f = Expansion(kernels.RBF(gamma=0.05)._terms(), budget=n)
        for x in points:
            f.evaluate(x)
            f.add(0.1)

        def evaluations(f: Expansion = f, queries: Any = queries) -> None:
            for x in queries:
                f.evaluate(x)

        def replacements(f: Expansion = f, queries: Any = queries, n: int = n) -> None:
            for i, x in enumerate(queries):
                f.evaluate(x)
                f.remove(7 * i % n)
                f.add(0.1)

        times = timing.interleaved({"evaluate": evaluations, "replace": replacements}, per=64, rounds=9)
        out[name] = [times["evaluate"], times["replace"], f.__sizeof__() / n]
    return out


def thresholds(report: timing.Report) -> None:
    found: dict[int, dict[str, list[list[float]]]] = {2: {}, 4: {}, 8: {}, 16: {}, 32: {}}
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        generated = shutil.ignore_patterns(
            "calibration.c", "expansion.c", "gram.c", "kernel.c", "points.c", "sample.c", "*.so"
        )
        shutil.copytree(ROOT / "river_okl", copy / "river_okl", ignore=generated)
        shutil.copytree(ROOT / "benchmarks", copy / "benchmarks", ignore=shutil.ignore_patterns("cache", "results"))
        for name in ("setup.py", "pyproject.toml"):
            shutil.copy(ROOT / name, copy)
        core = copy / "river_okl" / "_core"
        text, changed = re.subn(r"\n    SPARSE_BELOW = \d+.*", "", (core / "points.pxd").read_text())
        assert changed == 1  # it becomes a variable: one build serves all values
        (core / "points.pxd").write_text(
            text.replace("cdef class Points:", "cdef Py_ssize_t SPARSE_BELOW\n\n\ncdef class Points:", 1)
        )
        setting = 'import os\nSPARSE_BELOW = int(os.environ["SPARSE_BELOW"])\n\n\ncdef class Points:'
        text = (core / "points.pyx").read_text()
        (core / "points.pyx").write_text(text.replace("cdef class Points:", setting, 1))
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(build, cwd=copy, check=True, capture_output=True)
        for _ in range(3):  # in turn, so that what else the machine does meets all of them
            for value in found:
                environment = {**os.environ, "PYTHONPATH": str(copy), "SPARSE_BELOW": str(value)}
                command = [sys.executable, "-m", "benchmarks.wide", "--probe"]
                done = subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True, text=True)
                for name, numbers in json.loads(done.stdout).items():
                    found[value].setdefault(name, []).append(numbers)
    rows = []
    for name in next(iter(found.values())):
        for i, what in enumerate(("evaluate, µs", "evaluate and replace, µs", "bytes per support vector")):
            best = [float(np.median([numbers[i] for numbers in found[value][name]])) for value in found]
            rows.append([f"{name}: {what}", *best])
    report.write(
        "Where a feature becomes a posting list",
        "A feature is a posting list where fewer than capacity / SPARSE_BELOW support vectors have it; features are as unequal as words.\n\n"
        + timing.table(["SPARSE_BELOW", *(str(value) for value in found)], rows),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thresholds", action="store_true", help="only the choice of SPARSE_BELOW")
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe()))
        return
    report = timing.Report("wide", "Wide and ever-new features")
    if options.thresholds:
        thresholds(report)
    else:
        fresh_names(report)
        wide(report)


if __name__ == "__main__":
    main()
