"""A long life: 10^7 samples through every class with a bound, its scores compared with sums in extended precision.

Every mode of every class that has a bound, with 30 support vectors and three features, on a million samples with a
drifting target, repeated. If the samples take longer than the seconds (of processor time; a fifth of them for modes
other than the defaults), fewer are run. Classes without a bound that average their past run for the seconds of a mode.
Ten times in the run, in NumPy's longdouble:

* the scores of fixed probes, from the public support vectors (FOGD: from its weights; POMDR: with the hints from the
  samples of the stream itself; averages: from the time of each support vector, or from a copy that does not average);
* the norm, and f at the support vectors if the expansion stores it;
* K⁻¹K - I, and K d - k for the probes, which is what the algorithms use;
* the factor that all coefficients share, and `_check`, all of the core's invariants.

The table has the largest errors. Those of scores are absolute, and relative to Σ|α_i κ(z_i, x)|, those of ‖f‖² and of
the stored f(z_i) relative in the same way; the scale is the range of the common factor of the coefficients.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from river_okl import kernels
from river_okl._core.function.frequencies import frequencies
from tests.core.expansions import OPTIONS, act, expand
from tests.discovery import EVERY_VARIANT, bounded, decision, parameters, task
from tests.streams import REGRESSION

TITLE = "A long life"
HEAD = ["class", "samples", "µs", "SVs", "score", "relative", "‖f‖²", "f(z_i)", "K⁻¹K - I", "K d - k", "scale"]
GAMMA, BUDGET = 0.5, 30
POOL, CHUNK = 1_000_000, 10_000  # samples, again and again: to draw them takes longer than to learn them
AGREED = 1e-6
LONG = np.longdouble


@functools.cache
def samples_of(n: int, seed: int = 1) -> list[tuple[dict, float]]:
    """The target turns once in the pool."""
    rng, pool = random.Random(seed), []
    for t in range(n):
        a, b, c = (4.0 * rng.random() - 2.0 for _ in range(3))
        pool.append(({"a": a, "b": b, "c": c}, math.sin(2.0 * a + 2.0 * math.pi * t / n) + b * c + rng.random() - 0.5))
    return pool


@functools.cache
def stream(regression: bool, classes: int) -> list[tuple[dict, object]]:
    pool = samples_of(POOL)
    return pool if regression else [(x, y > 0 if classes == 2 else (y > 0) + 2 * (x["a"] > x["b"])) for x, y in pool]


PROBES = [x for x, _ in samples_of(5, seed=0)]


def kappa(x: dict, z: dict) -> np.longdouble:
    squares = [(LONG(x.get(key, 0.0)) - LONG(z.get(key, 0.0))) ** 2 for key in x.keys() | z.keys()]
    return np.exp(-LONG(GAMMA) * sum(squares, LONG(0)))


def gram(xs: list[dict], zs: list[dict]) -> np.ndarray:
    return np.array([[kappa(x, z) for z in zs] for x in xs], dtype=LONG).reshape(len(xs), len(zs))


# What the scores of the probes should be: arrays of the terms of their sums, (probes, terms, classes) -----------------


def kernel_terms(model) -> np.ndarray:
    points = [z for z, _ in model.support_vectors]
    alpha = np.array([list(c.values()) if isinstance(c, dict) else [c] for _, c in model.support_vectors], dtype=LONG)
    return gram(PROBES, points)[:, :, None] * alpha.reshape(len(points), -1)


def optimistic_terms(model, last: list[tuple[dict, bool]]) -> np.ndarray:
    """POMDR: with λ_t times the mean of y κ over the last samples."""
    recent = last[-model.hint :]
    y = np.array([1 if label else -1 for _, label in recent], dtype=LONG)
    hints = gram(PROBES, [x for x, _ in recent]) * y * LONG(model._rate()) / len(recent)
    return np.concatenate([kernel_terms(model), hints[:, :, None]], axis=1)


def fourier_terms(model) -> np.ndarray:
    """FOGD: w · (cos Ux, sin Ux) / √D"""
    D = model.n_components
    U = np.array([frequencies(model._f.key, name, D) for name in ("a", "b", "c")], dtype=LONG)
    x = np.array([list(probe.values()) for probe in PROBES], dtype=LONG)
    Ux = np.sqrt(LONG(2 * GAMMA)) * x @ U
    z = np.concatenate([np.cos(Ux), np.sin(Ux)], axis=1) / np.sqrt(LONG(D))
    return z[:, :, None] * model._f.columns.astype(LONG)


def averaged_terms(model, births: list[int], t: int) -> np.ndarray:
    """(1/T) Σ f_t, T = t + 1: what sample b brought is in T - b of the models."""
    shares = (t + 1 - np.array(births, dtype=LONG)) / (t + 1)
    return kernel_terms(model) * shares[:, None]


def scores_of(model, x: dict) -> list[float]:
    found = decision(model, x)
    return list(found.values()) if isinstance(found, dict) else [found]


# One check ------------------------------------------------------------------------------------------------------------


class Worst:
    """The largest of each error so far."""

    def __init__(self) -> None:
        self.errors: dict[str, float] = {}
        self.scales: list[float] = []

    def see(self, name: str, error: float) -> None:
        self.errors[name] = max(self.errors.get(name, 0.0), float(error), key=lambda e: math.inf if e != e else e)

    def check_scores(self, model, terms: np.ndarray) -> None:
        exact, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        found = np.array([scores_of(model, x) for x in PROBES], dtype=LONG)
        self.see("score", np.abs(exact - found).max())
        self.see("relative", (np.abs(exact - found) / np.where(size > 0, size, 1)).max())

    def check_expansion(self, model) -> None:
        f = model._f
        f._check()
        self.scales.append(abs(f.state()["coefficients"]["scale"]))
        if not len(f):
            return
        points = [f.point(i) for i in range(len(f))]
        K, alpha = gram(points, points), f.columns[:, :: f.n_outputs].astype(LONG)
        *_, norm, values, inverse = f.__reduce__()[1]  # what is kept
        if norm or len(f) <= BUDGET:
            size = float((np.abs(alpha) * (K @ np.abs(alpha))).sum())
            self.see("norm", abs(float((alpha * (K @ alpha)).sum()) - model.norm**2) / (size or 1.0))
        if values:
            size = float((K @ np.abs(alpha)).max()) or 1.0
            self.see("values", np.abs(f.values - (K @ alpha)[:, 0]).max() / size)
        if inverse:
            self.see("inverse", np.abs(f.inverse.astype(LONG) @ K - np.eye(len(f))).max())
            for x in PROBES:
                f.evaluate(x)
                self.see("solved", np.abs(gram([x], points)[0] - K @ f.projection).max())


# Runs -----------------------------------------------------------------------------------------------------------------


class Pace:
    """When to check, ten times, and when it is over: by samples or by seconds, whichever comes first."""

    def __init__(self, samples: int, seconds: float):
        self.samples, self.seconds, self.start, self.done, self.over = samples, seconds, time.process_time(), 0, False

    def due(self, t: int) -> bool:
        progress = max(t / self.samples, (time.process_time() - self.start) / self.seconds)
        self.over = progress >= 1.0
        due = self.over or progress * 10 >= self.done + 1
        self.done = int(progress * 10) if due else self.done
        return due


def run(model, terms: Callable, pool: list, samples: int, pace: Pace, worst: Worst) -> int:
    """For models that forget their past: chunks of samples."""
    last, t = deque(maxlen=100), 0
    while not pace.over:
        chunk = pool[t % POOL : t % POOL + min(CHUNK, samples - t)]
        model.learn_stream(chunk)
        t += len(chunk)
        last.extend(chunk[-100:])
        if pace.due(t):
            worst.check_scores(model, terms(model, list(last)) if terms is optimistic_terms else terms(model))
            if terms is fourier_terms:
                exact = float((model._f.columns.astype(LONG) ** 2).sum())
                worst.see("norm", abs(exact - model.norm**2) / exact)
            else:
                worst.check_expansion(model)
    return t


def run_averaged(model, terms: Callable, pool: list, samples: int, pace: Pace, worst: Worst) -> int:
    """For models that keep their past: sample by sample, to know when each support vector came."""
    births: list[int] = []
    for t, (x, y) in enumerate(itertools.islice(itertools.cycle(pool), samples), 1):
        model.learn_one(x, y)
        if model.n_support_vectors > len(births):
            births.append(t)
        if (t % 100 == 0 or t == samples) and pace.due(t):
            worst.check_scores(model, terms(model, births, t))
            if pace.over:
                break
    return t


def run_suffix(model, _: Callable, pool: list, samples: int, pace: Pace, worst: Worst) -> int:
    """NBSGD's mean of the last half of its models: a twin goes through the same models, and is asked at every step."""
    twin = model.clone({"suffix": 0.0})
    totals = [np.zeros(len(PROBES), dtype=LONG)] * 2  # Σ_{s<T} of the twin's scores, T = 0, 1: w_1 = 0
    for t, (x, y) in enumerate(itertools.islice(itertools.cycle(pool), samples), 1):
        model.learn_one(x, y)
        twin.learn_one(x, y)
        totals.append(totals[-1] + [LONG(decision(twin, x)) for x in PROBES])
        if (t % 100 == 0 or t == samples) and pace.due(t):
            n = math.ceil(model.suffix * (t + 1))
            worst.check_scores(model, ((totals[-1] - totals[-1 - n]) / n)[:, None, None])
            if pace.over:
                break
    return t


def models() -> Iterator[tuple[str, Callable[[], object], Callable, Callable, int]]:
    """The rows of the table: name, how to make the model, how to run it, its scores, its classes."""
    common = {"kernel": kernels.RBF(GAMMA), "budget": BUDGET, "seed": 42}
    for cls, options, name in EVERY_VARIANT:
        if name.startswith(("OKL", "SOGP")):  # test_posterior.py
            continue
        names = parameters(cls)
        everything = {key: value for key, value in {**common, **options}.items() if key in names}
        if name.startswith("NBSGD"):  # room is made at every step, so that there is a bound
            everything["beta"] = 1e12
        make = functools.partial(cls, **everything)
        if not bounded(cls) and not name.startswith(("NBSGD", "FOGD", "Projectron")):
            if names.get("averaged") and "averaged" not in options:
                yield name, make, run_averaged, averaged_terms, 2
            continue
        other_terms = fourier_terms if name.startswith("FOGD") else kernel_terms
        terms = optimistic_terms if name.startswith("POMDR") else other_terms
        yield name, make, run_suffix if "suffix" in options else run, terms, 2
        if name.endswith("-default") and getattr(cls(), "_multiclass", False):
            yield f"{name}, four labels", make, run, terms, 4


MODELS = list(models())


@pytest.mark.parametrize(("name", "make", "runner", "terms", "classes"), MODELS, ids=[name for name, *_ in MODELS])
def test_scores_after_a_long_run(name, make, runner, terms, classes, rows, request):
    samples, seconds = request.config.getoption("--samples"), request.config.getoption("--seconds")
    pace = Pace(samples, seconds if name.endswith("-default") and runner is run else seconds / 5.0)
    model, worst = make(), Worst()
    t = runner(model, terms, stream(task(type(model)) == REGRESSION, classes), samples, pace, worst)
    spent, scales = 1e6 * (time.process_time() - pace.start) / t, [scale for scale in worst.scales if scale != 1.0]
    errors = [worst.errors.get(key) for key in ("score", "relative", "norm", "values", "inverse", "solved")]
    errors = ["-" if error is None else f"{error:.1e}" for error in errors]
    scale = f"{min(scales):.0e} … {max(scales):.0e}" if scales else "1" if worst.scales else "-"
    rows.append([name.replace("-default", ""), t, f"{spent:.1f}", model.n_support_vectors, *errors, scale])
    assert max(worst.errors.get(key, 0.0) for key in ("relative", "norm", "values")) <= AGREED


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_actions_on_the_core(name, wide, request):
    """Random ones, with all of the core's invariants after each thousand."""
    rng, f = random.Random(5), expand(kernels.RBF(GAMMA), budget=BUDGET, n_outputs=2, **OPTIONS[name])
    for t in range(1, request.config.getoption("--samples") // 100 + 1):
        f = act(f, rng, OPTIONS[name], [*range(60)] if wide else ["a", ("b", 1), 3, None, 2.5])
        if t % 1000 == 0:
            f._check()
    f._check()
