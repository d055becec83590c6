"""Kernel adaptive filters, one step ahead: ``python -m benchmarks.filters``.

Predict the next value of a series from its last ones, in one pass.  10,000 values, three seeds each:

* Lorenz: x of Lorenz's equations (σ = 10, ρ = 28, β = 8/3), every 0.02 units of time, by Runge and Kutta; 6 lags
* Mackey-Glass: dx/dt = 0.2 x(t-30) / (1 + x(t-30)^10) - 0.1 x, every 6 units of time; 11 lags
* channel: white noise through a fourth-order filter whose taps turn slowly, saturated by tanh, with noise 30 dB below;
  the input is the last four values of the noise

The error is 10 log10 of the mean squared error from sample 1,000 on, in the unit of the series, averaged over the
seeds; points are those of the last seed, and the time is that of `predict_one` and `learn_one`.  OKLRegressor gets the
values as they are and nothing is set; BayesianLinearRegression and all others get values standardised by mean and
deviation of the whole series.  Kernels have γ = 0.1.  The noise and the forgetting of SOGPRegressor and the learning
rate of QKLMSRegressor are the best of three each on the first half of the first seed.  "KRLS-T, NumPy" are the paper's
equations, with a jitter of 1e-6 and the settings of SOGPRegressor: 100 points.  KRLSRegressor has at most 500 points.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import linear_model

import river_okl
from benchmarks import runner
from river_okl import kernels

N, SEEDS, WARM, GAMMA = 10_000, (0, 1, 2), 1_000, 0.1
Arrays = NDArray[Any]


# Series ---------------------------------------------------------------------------------------------


def lorenz(n: int, seed: int = 0, step: float = 0.01, every: int = 2) -> Arrays:
    state = np.array([1.0, 1.0, 1.0]) + (0.1 * np.random.default_rng(seed).normal(size=3) if seed else 0.0)

    def slope(v: Arrays) -> Arrays:
        x, y, z = v
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    found = []
    for t in range((n + 500) * every):
        a = slope(state)
        b = slope(state + step / 2.0 * a)
        c = slope(state + step / 2.0 * b)
        state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + slope(state + step * c))
        if t % every == every - 1:
            found.append(state[0])
    return np.array(found[500:])


def mackey_glass(n: int, seed: int = 0, delay: float = 30.0, step: float = 0.1, every: int = 60) -> Arrays:
    back, rng = round(delay / step), np.random.default_rng(seed)
    x = (1.2 + (0.1 * rng.normal(size=back + 1) if seed else np.zeros(back + 1))).tolist()
    for _ in range((n + 500) * every):
        late = x[-back - 1]
        x.append(x[-1] + step * (0.2 * late / (1.0 + late**10) - 0.1 * x[-1]))
    return np.array(x[back + 1 :: every][500 : 500 + n])


def lagged(series: Arrays, lags: int) -> tuple[Arrays, Arrays]:
    """The last values, the latest first, and the next one."""
    return np.lib.stride_tricks.sliding_window_view(series, lags)[:-1, ::-1], series[lags:]


def channel(n: int, seed: int = 0) -> tuple[Arrays, Arrays]:
    """A filter with a saturating output, whose taps turn once in the series."""
    rng = np.random.default_rng(seed)
    X = np.lib.stride_tricks.sliding_window_view(rng.normal(size=n + 3), 4)[:, ::-1]
    angle = 2.0 * math.pi * np.arange(n) / n
    taps = np.stack([np.cos(angle), np.sin(angle), 0.5 * np.cos(2.0 * angle), 0.5 * np.sin(3.0 * angle)], axis=1)
    clean = np.tanh((taps * X).sum(axis=1))
    return X, clean + rng.normal(size=n) * clean.std() * 10.0 ** (-30.0 / 20.0)


class Series(NamedTuple):
    data: Callable[[int], tuple[Arrays, Arrays]]  # of a seed
    noise: float
    forgetting: float
    rate: float


SERIES = {
    "Lorenz": Series(lambda seed: lagged(lorenz(N, seed), 6), 1e-6, 1.0, 0.8),
    "Mackey-Glass": Series(lambda seed: lagged(mackey_glass(N, seed), 11), 1e-2, 1.0, 0.8),
    "channel": Series(lambda seed: channel(N, seed), 1e-2, 0.999, 0.3),
}


# Models ---------------------------------------------------------------------------------------------


class KRLST:
    """KRLS-T, algorithm 1 of Van Vaerenbergh et al. 2012, in NumPy; ``dtype`` for extended precision."""

    def __init__(
        self, gamma: float, noise: float, forgetting: float, budget: int, jitter: float = 1e-6, dtype: Any = float
    ):
        self.gamma, self.noise, self.forgetting, self.budget, self.jitter = (
            *(dtype(value) for value in (gamma, noise, forgetting)),
            budget,
            dtype(jitter),
        )
        self.dtype = dtype
        self.points, self.mu = np.zeros((0, 0), dtype), np.zeros(0, dtype)
        self.Q, self.S = np.zeros((0, 0), dtype), np.zeros((0, 0), dtype)

    def kernel(self, A: Arrays, B: Arrays) -> Arrays:
        found: Arrays = np.exp(-self.gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))
        return found

    def predict(self, x: Arrays) -> Any:
        self.x = np.asarray(x, self.dtype)
        if not len(self.mu):
            self.points = np.zeros((0, len(self.x)), self.dtype)
        self.q = self.Q @ self.kernel(self.points, self.x[None])[:, 0]
        return self.q @ self.mu

    def learn(self, x: Arrays, y: float) -> None:
        self.predict(x)
        if self.forgetting < 1.0 and len(self.mu):
            K = self.kernel(self.points, self.points) + self.jitter * np.eye(len(self.mu), dtype=self.dtype)
            self.S = self.forgetting * self.S + (1.0 - self.forgetting) * K
            self.mu = np.sqrt(self.forgetting) * self.mu
        k = self.kernel(self.points, self.x[None])[:, 0]
        gamma = 1.0 + self.jitter - k @ self.q
        h = self.S @ self.q
        v = gamma + self.q @ h
        c, b = (self.dtype(y) - self.q @ self.mu) / (self.noise + v), 1.0 / (self.noise + v)
        if gamma <= 2.0 * self.jitter:  # within the span of the points
            self.mu, self.S = self.mu + c * h, self.S - b * np.outer(h, h)
            return
        p, u = np.append(h, v), np.append(self.q, -1.0)
        self.mu = np.append(self.mu, self.q @ self.mu) + c * p
        self.S = np.block([[self.S, h[:, None]], [h[None], v]]) - b * np.outer(p, p)
        self.Q = np.pad(self.Q, (0, 1)) + np.outer(u, u) / gamma
        self.points = np.vstack([self.points, self.x])
        if len(self.mu) > self.budget:
            out = int(np.argmin(((self.Q @ self.mu) / self.Q.diagonal()) ** 2))
            rest = np.delete(np.arange(len(self.mu)), out)
            column = self.Q[rest, out]
            self.Q = self.Q[np.ix_(rest, rest)] - np.outer(column, column) / self.Q[out, out]
            self.mu, self.S, self.points = self.mu[rest], self.S[np.ix_(rest, rest)], self.points[rest]


class OfArrays:
    """A model on arrays, as one of River's."""

    def __init__(self, model: Any):
        self.model = model

    def predict_one(self, x: dict[int, float]) -> float:
        return float(self.model.predict(np.array(list(x.values()))))

    def learn_one(self, x: dict[int, float], y: float) -> None:
        self.model.learn(np.array(list(x.values())), y)


class LastValue:
    """The last value of the series."""

    def predict_one(self, x: dict[int, float]) -> float:
        return x[0]

    def learn_one(self, x: dict[int, float], y: float) -> None:
        pass


MODELS: Mapping[str, Callable[[Series], Any]] = {
    "OKLRegressor": lambda of: river_okl.OKLRegressor(),
    "SOGPRegressor": lambda of: river_okl.SOGPRegressor(
        kernels.RBF(GAMMA), noise=of.noise, prior_variance=1.0, forgetting=of.forgetting
    ),
    "KRLS-T, NumPy": lambda of: OfArrays(KRLST(GAMMA, of.noise, of.forgetting, 100)),
    "KRLSRegressor": lambda of: river_okl.KRLSRegressor(kernels.RBF(GAMMA), budget=500),
    "QKLMSRegressor": lambda of: river_okl.QKLMSRegressor(kernels.RBF(GAMMA), learning_rate=of.rate),
    "BayesianLinearRegression": lambda of: linear_model.BayesianLinearRegression(),
    "the last value": lambda of: LastValue(),
}
RAW = ("OKLRegressor",)


# Measuring ------------------------------------------------------------------------------------------


class Run(NamedTuple):
    errors: Arrays  # in the unit of the series
    points: int
    us: float  # of a sample


def run(name: str, series: str, seed: int) -> Run:
    X, y = SERIES[series].data(seed)
    shift, size = (0.0, 1.0) if name in RAW or series == "channel" else (y.mean(), y.std())
    samples: list[Any] = [dict(enumerate(row)) for row in ((X - shift) / size).tolist()]
    model, found = MODELS[name](SERIES[series]), []
    start = time.perf_counter()
    for x, target in zip(samples, ((y - shift) / size).tolist(), strict=True):
        found.append(model.predict_one(x) - target)
        model.learn_one(x, target)
    us = 1e6 * (time.perf_counter() - start) / len(y)
    return Run(size * np.array(found), getattr(model, "n_support_vectors", 0), us)


def decibel(found: Arrays) -> float:
    return 10.0 * math.log10(float(np.mean(found**2)))


def row_of(name: str) -> Iterator[str]:
    yield f"`{name}`" if hasattr(river_okl, name) or hasattr(linear_model, name) else name
    for series in SERIES:
        if name == "the last value" and series == "channel":
            yield from ("-", "-", "-")
            continue
        runs = [run(name, series, seed) for seed in SEEDS]
        yield f"{statistics.mean(decibel(each.errors[WARM:]) for each in runs):.1f}"
        yield f"{runs[-1].points:,}" if runs[-1].points else "-"
        yield f"{statistics.median(each.us for each in runs):,.1f}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("filters", __doc__.splitlines()[0])
    runner.choice(parser, "--models", list(MODELS))
    options = parser.parse_args(argv)
    report = runner.Report(options.output / "filters.md", __doc__.splitlines()[0], __doc__.split("\n\n", 1)[1].strip())
    head = ["model", *(column for series in SERIES for column in (f"{series}, dB", "points", "µs"))]
    table = runner.table(head, [list(row_of(name)) for name in options.models])
    report.write("Kernel adaptive filters", f"{table}\n\nMeasured at {runner.commit()}, {runner.machine()}")


if __name__ == "__main__":
    main()
