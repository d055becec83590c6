"""One step of an algorithm, compared with the BLAS and LAPACK calls that it needs and with plain C."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

import river_okl
from benchmarks import runner, timing
from benchmarks.speed.samples import Sample, Stream, dense, learned, size
from river_okl import kernels
from river_okl.algorithms.ahpatron import _halve


def bare_calls(n: int, d: int) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(np.eye(n) + 0.001 * rng.normal(size=(n, n)))
    v, out, tiny = rng.normal(size=n), np.zeros(n), 1e-12
    S = A @ A.T
    half = n // 2
    H, b = np.asfortranarray(S[:half, :half]), rng.normal(size=half)
    Z = rng.normal(size=(n, d))
    F = np.asfortranarray(rng.normal(size=(n // 5, n)))
    return {
        "dsymv": lambda: blas.dsymv(1.0, A, v, y=out, overwrite_y=True),
        "dsyr": lambda: blas.dsyr(tiny, v, a=A, overwrite_a=True),
        "dgemv": lambda: blas.dgemv(1.0, F, v),
        "half gram": lambda: np.exp(Z[:half] @ Z.T),
        "dposv": lambda: lapack.dposv(S.copy(order="F"), v, overwrite_a=True),
        "half dposv": lambda: lapack.dposv(H.copy(order="F"), b, overwrite_a=True),
    }


# A step's class and options, and the bare calls that it needs.
NEEDS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("Projectron", {}, {"dsymv": 1}),
    ("ProjectronPlusPlus", {}, {"dsymv": 1}),
    ("BPA", {"maintenance": "projection"}, {"dsymv": 2, "dsyr": 2}),
    ("BSGD", {"maintenance": "projection"}, {"dsymv": 2, "dsyr": 2}),
    ("NBSGD", {"maintenance": "projection", "beta": 1e9}, {"dsymv": 2, "dsyr": 2}),
    ("BDUOL", {"maintenance": "approximate"}, {"dsymv": 12, "dsyr": 2}),  # five steps of conjugate gradients
    ("BDUOL", {"maintenance": "projection"}, {"dsymv": 12, "dsyr": 2, "dposv": 10}),  # and ten of Newton's method
    ("NOGD", {}, {"dgemv": 2}),
    ("Ahpatron", {}, {"half gram": 1, "half dposv": 1}),  # a halving
]


def contradicted(model: Any, samples: Iterator[Sample]) -> float:
    """Seconds to learn from a wrong prediction of the next sample."""
    y = not model.predict_one(x := next(samples))
    return timing.seconds(lambda: model.learn_one(x, y))


def halved(model: Any, _: Any) -> float:
    f = copy.deepcopy(model._f)
    return timing.seconds(lambda: _halve(f, model.ridge))


def several(times: int, measure: Callable[..., float], *arguments: Any) -> float:
    """µs of consecutive calls, so that only the first finds other matrices in the caches."""
    return statistics.fmean([measure(*arguments) for _ in range(times)][1:]) * 1e6


def matrices(n: int = 1000, d: int = 20) -> Iterator[str]:
    """B = 1000, d = 20: `learn_one` after `predict_one`, on samples that the model gets wrong, beside the BLAS and
    LAPACK calls that the step cannot do without, called bare in the same run (gram: NumPy's product and exp; dposv with
    the copy that it overwrites; dgemv of 200 x 1000). Target: 2 x.

    BDUOL's approximate projection takes five steps of conjugate gradients, and the exact one ten of Newton's method
    besides.
    """
    bare, rows = bare_calls(n, d), []

    def needed(calls: dict[str, int]) -> float:
        return sum(times * timing.seconds(bare[call]) for call, times in calls.items())

    for stem, options, calls in NEEDS:
        model = getattr(river_okl, f"{stem}Classifier")(budget=n, **options)
        samples = iter(dense(20 * n, d))  # new ones: a support vector would cost more
        while size(model) < n:
            contradicted(model, samples)
        step = halved if stem == "Ahpatron" else contradicted
        measures = {"step": partial(several, 5, step, model, samples), "bare": partial(several, 3, needed, calls)}
        step_us, *theirs = timing.in_turns(measures, 9).compared("step", "bare")
        needs = " + ".join(f"{count} {call}" if count > 1 else call for call, count in calls.items())
        rows.append([f"{stem}Classifier {options.get('maintenance', '')}", step_us, needs, *theirs])
    yield runner.table(["step", "µs", "needs", "bare µs", "ratio"], rows)
    times = timing.interleaved(bare, rounds=7)
    yield f"Bare: {', '.join(f'{name} {times[name]:.0f} µs' for name in bare)}."


def plain_c(d: int = 10) -> Iterator[str]:
    """loops.c has a step of each family in plain loops, compiled with -O3 and the processor's own instructions.

    Every sample changes f there. Ours learn labels of pure chance, d = 10.
    """
    rng, gaussian = np.random.default_rng(0), kernels.RBF(0.1)
    labels = (rng.random(4000) < 0.5).tolist()
    rows = []

    def beside(name: str, model: Any, samples: Stream, function: str, *arguments: Any, times: int = 200) -> None:
        learned(model, samples)
        measures = {
            "ours": lambda: timing.seconds(lambda: learned(model, samples[:500])) / 500 * 1e6,
            "C": lambda: timing.in_c(function, *arguments, times) / times * 1e6,
        }
        ours, in_c = (min(found) for found in timing.in_turns(measures, 9).rounds.values())
        rows.append([name, ours, in_c, in_c / ours])

    active = [sorted(rng.choice(123, 14, replace=False).tolist()) for _ in labels[:1500]]
    samples = [({f"x{i}": 1.0 for i in chosen}, y) for chosen, y in zip(active, labels, strict=False)]
    for D in (400, 5400):
        model = river_okl.FOGDClassifier(kernels.RBF(0.4), n_components=D, seed=1)
        arrays = rng.normal(size=(123, D)), np.array(active[0], dtype=np.int32), 14, D, np.zeros(2 * D), np.zeros(2 * D)
        beside(f"FOGD, D = {D}, 14 of 123 features", model, samples, "fogd", *arrays)
    samples = list(zip(dense(len(labels), d), labels, strict=True))
    for B in (100, 1000):
        arrays = rng.normal(size=(B, d)), rng.normal(size=B), np.zeros(B), rng.normal(size=(B, d))
        for name, n_rows in (("RBP", 1), ("BOGD", 1), ("OLRD", 2), ("Forgetron", 2)):
            model = runner.made(getattr(river_okl, f"{name}Classifier"), kernel=gaussian, budget=B, seed=1)
            beside(f"{name}, B = {B}", model, samples, "replacing", *arrays, B, d, 0.1, n_rows)
        model = river_okl.BPAClassifier(gaussian, budget=B)
        beside(f"BPA, B = {B}", model, samples, "bpa", *arrays, B, d, 0.1)
        model, inverse = river_okl.ProjectronClassifier(gaussian, budget=B), rng.normal(size=(B, B))
        beside(f"Projectron, B = {B}", model, samples, "projecting", *arrays, inverse, B, d, 0.1)
        model = river_okl.BSGDClassifier(gaussian, budget=B, maintenance="merging")
        choice = abs(arrays[1]) + 0.01, rng.random(B), 0.01, B
        beside(f"BSGD merging, B = {B}; in C the choice alone", model, samples, "merging", *choice, times=20)
    yield runner.table(["µs per sample", "predict_one and learn_one", "a step in plain C", "C / ours"], rows)
