"""A long life of a posterior: 10^7 samples through Gaussian processes, mean and variance against extended precision.

The target drifts.  Ten times in the run K is recomputed from the points, and mean and variance of probes from K, the
means μ and the covariance S at the points, in NumPy's longdouble.  For the mixtures, `_check`: every K⁻¹ against its K.
"""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest

import river_okl
from river_okl import kernels
from tests.discovery import task
from tests.long.test_soak import GAMMA, LONG, Pace, gram, samples_of
from tests.streams import REGRESSION

TITLE = "A long life of a posterior"
HEAD = ["class", "samples", "µs", "points", "K⁻¹K - I", "mean", "variance", "smallest eigenvalue of S"]
POOL, CHUNK, AGREED = 1_000_000, 10_000, 1e-6

MODELS = {
    "SOGPClassifier": lambda: river_okl.SOGPClassifier(kernels.RBF(GAMMA), budget=30),
    "SOGPClassifier, forgetting=0.99": lambda: river_okl.SOGPClassifier(kernels.RBF(GAMMA), budget=30, forgetting=0.99),
    "SOGPRegressor": lambda: river_okl.SOGPRegressor(kernels.RBF(GAMMA), budget=30),
    "SOGPRegressor, forgetting=0.999": lambda: river_okl.SOGPRegressor(kernels.RBF(GAMMA), budget=30, forgetting=0.999),
    "OKLClassifier": river_okl.OKLClassifier,
    "OKLRegressor": river_okl.OKLRegressor,
}


def solved(K: np.ndarray, k: np.ndarray) -> np.ndarray:
    """K⁻¹ k, refined until it is that of extended precision."""
    q = np.zeros_like(k)
    for _ in range(6):
        q = q + np.linalg.solve(K.astype(float), (k - K @ q).astype(float))
    return q


def errors(f, rng: random.Random) -> tuple[float, float, float]:
    """The largest ones of K⁻¹, of means and of variances, at five probes."""
    points = [f.points.point(i) for i in range(len(f))]
    K = gram(points, points)
    jitter = LONG(f.basis.jitter)
    K[np.diag_indices(len(points))] += jitter
    S, worst = f.covariance().astype(LONG), [0.0, 0.0]
    for _ in range(5):
        x = {name: rng.uniform(-2.0, 2.0) for name in "abc"}
        (mean,), variance = f.predict(x)
        k = gram([x], points)[0]
        q = solved(K, k)
        expected = LONG(f.posterior.prior_variance) * (LONG(1) + jitter - k @ q) + q @ S @ q
        worst = [max(worst[0], abs(float(q @ f.means()[0]) - mean)), max(worst[1], abs(float(expected) - variance))]
    return float(np.abs(f.basis.matrix().astype(LONG) @ K - np.eye(len(points))).max()), *worst


@pytest.mark.parametrize("name", MODELS)
def test_posteriors_after_a_long_run(name, rows, request):
    pace = Pace(request.config.getoption("--samples"), request.config.getoption("--seconds"))
    model, rng, worst, smallest = MODELS[name](), random.Random(2), np.zeros(3), float("inf")
    regression = task(type(model)) == REGRESSION
    for t, (x, y) in enumerate(itertools.cycle(samples_of(POOL)), 1):
        model.learn_one(x, y if regression else y > 0.0)
        if t % CHUNK == 0 and pace.due(t):
            model._f._check()
            if name.startswith("SOGP"):
                worst = np.maximum(worst, errors(model._f, rng))
                smallest = min(smallest, float(np.linalg.eigvalsh(model._f.covariance()).min()))
            if pace.over:
                break
    found = [f"{error:.1e}" for error in (*worst, smallest)] if name.startswith("SOGP") else ["-"] * 4
    rows.append([name, t, f"{1e6 * (time.process_time() - pace.start) / t:.1f}", model.n_support_vectors, *found])
    assert worst.max() <= AGREED
    assert smallest > 0.0 or name.startswith("OKL")
