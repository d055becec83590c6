"""Gaussian processes on series without noise: 10^5 values, errors beside the same equations in extended precision.

A process with evictions, and with forgetting or a moving bandwidth, and KRLS-T in NumPy's longdouble on the first 3,000
values.  Errors are 10 log10 of the mean squared error from value 1,000 on, and that of the last tenth.  They may differ
by 1.5 dB, since a tie or rounding decides which of two points is evicted.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from benchmarks import filters
from river_okl import kernels
from river_okl._core.gaussian.process import Process
from tests.long.test_soak import LONG

TITLE = "Precision on smooth series"
HEAD = ["series", "points", "jitter", "λ", "samples", "dB", "extended", "last tenth", "K⁻¹K - I"]
VALUES, LAGS, GAMMA, NOISE = 100_000, 6, 0.1, 1e-6
EXTENDED = 3_000  # samples of the reference, which takes a millisecond each

SERIES = {
    "Lorenz": lambda n: filters.lorenz(n) / 8.0,
    "Mackey-Glass": lambda n: (filters.mackey_glass(n) - 0.9) / 0.28,
    "sines": lambda n: np.sin(0.1 * np.arange(n)) * np.sin(0.0737 * np.arange(n)),
}


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
@pytest.mark.parametrize("jitter", [1e-3, 1e-5, 1e-6, 1e-7, 1e-8])
@pytest.mark.parametrize("budget", [30, 100, 200])
@pytest.mark.parametrize("name", SERIES)
def test_a_smooth_series(name, budget, jitter, forgetting, rows, request):
    n = min(VALUES, request.config.getoption("--samples"))
    X, y = filters.lagged(SERIES[name](n + LAGS), LAGS)
    f = Process(kernels.RBF(GAMMA)._terms(), budget, 1.0, forgetting, NOISE, jitter=jitter)
    twin, errors, theirs = filters.KRLST(GAMMA, NOISE, forgetting, budget, jitter, LONG), [], []
    start = time.process_time()
    for t, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
        sample = dict(enumerate(x.tolist()))
        (mean,), variance = f.predict(sample)
        assert math.isfinite(mean) and variance > 0.0
        errors.append(mean - target)
        f.learn(sample, target, 1.0)
        if t < EXTENDED:
            theirs.append(float(twin.predict(x)) - target)
            twin.learn(x, target)
        if time.process_time() - start > request.config.getoption("--seconds"):
            break
    f._check()
    found, extended = np.array(errors), np.array(theirs)
    own, other = (filters.decibel(each[1_000 : len(extended)]) for each in (found, extended))
    assert own <= other + 1.5
    residual = np.abs(f.basis.matrix() @ f.gram() - np.eye(len(f))).max()
    last = filters.decibel(found[-len(found) // 10 :])
    numbers = (f"{own:.1f}", f"{other:.1f}", f"{last:.1f}", f"{residual:.0e}")
    rows.append([name, len(f), f"{jitter:.0e}", forgetting, len(found), *numbers])
    assert last <= own + 6.0, "it does not get worse"


def test_a_moving_bandwidth():
    """The kernel moves while the series begins."""
    X, y = filters.lagged(SERIES["sines"](5_000), LAGS)
    f, errors = Process(kernels.RBF()._terms(), 100, 1.0, 1.0, NOISE, jitter=1e-8), []
    for x, target in zip(X, y.tolist(), strict=True):
        sample = dict(enumerate(x.tolist()))
        errors.append(f.predict(sample)[0][0] - target)
        f.learn(sample, target, 1.0)
    f._check()
    assert np.isfinite(errors).all()
