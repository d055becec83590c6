"""Prediction intervals of 90 %, beside published rules: ``python -m benchmarks.intervals``.

`OKLRegressor` issues intervals around its predictions.  Two rules for online conformal intervals get the residuals of
the same predictions: ACI (Gibbs and Candès 2021), the 1 - α_t quantile of the last 1,000 residuals, where α_t follows
the misses with γ = 0.005; and SF-OGD (Bhatnagar et al. 2023), a radius that follows the pinball loss by scale-free
gradient descent, η = D / √3 with the largest of the first 200 residuals as D.

After 200 samples: the share of the targets inside, the lowest share in 200 samples in a row, and NMPIW, the mean width
as a part of the range of the targets.  "stuck" are 10,000 equal targets, and then 5 + a + noise.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import river_okl
from benchmarks import runner
from benchmarks.streams import STREAMS, Sample, load

MISS, WARM, WINDOW = 0.1, 200, 200


def aci(residuals: Sequence[float], gamma: float = 0.005, memory: int = 1_000) -> Iterator[float]:
    """Half widths, each from the residuals before it."""
    alpha = MISS
    for t, residual in enumerate(residuals):
        past = residuals[max(0, t - memory) : t]
        half = math.inf
        if past and alpha > 0.0:
            half = float(np.quantile(past, max(0.0, 1.0 - alpha)))
        yield half if half < math.inf or not past else max(past)
        alpha += gamma * (MISS - (residual > half))


def sf_ogd(residuals: Sequence[float]) -> Iterator[float]:
    eta = max(residuals[:WARM]) / math.sqrt(3.0)
    half = squares = 0.0
    for residual in residuals:
        yield half
        slope = MISS - (residual > half)
        squares += slope * slope
        half -= eta * slope / math.sqrt(squares)


def stuck() -> Iterator[Sample]:
    rng = random.Random(1)
    for t in range(14_000):
        x = {"a": rng.random(), "b": rng.random()}
        yield x, 7.0 if t < 10_000 else 5.0 + x["a"] + rng.gauss(0.0, 0.3)


REGRESSIONS: dict[str, Callable[[], list[Sample]]] = {
    name: lambda name=name: load(name, raw=True)  # type: ignore[misc]
    for name in STREAMS
    if not STREAMS[name].classes
}
REGRESSIONS["stuck"] = lambda: list(stuck())


def rows_of(name: str) -> list[list[str]]:
    model = river_okl.OKLRegressor()
    truth, residuals, own = [], [], []
    for x, y in REGRESSIONS[name]():
        low, high = model.predict_interval_one(x)
        residuals.append(abs(y - 0.5 * (low + high)))
        own.append(0.5 * (high - low))
        truth.append(y)
        model.learn_one(x, y)
    found = []
    for rule, halves in (("OKLRegressor", own), ("ACI", aci(residuals)), ("SF-OGD", sf_ogd(residuals))):
        widths = np.array([*itertools.islice(halves, WARM, None)])
        inside = np.array(residuals[WARM:]) <= widths
        worst = np.convolve(inside, np.ones(WINDOW), "valid").min() / WINDOW if len(inside) >= WINDOW else math.nan
        nmpiw = 2.0 * widths.mean() / (max(truth) - min(truth))
        found.append([name, rule, f"{100.0 * inside.mean():.1f}", f"{100.0 * worst:.1f}", f"{nmpiw:.3g}"])
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("intervals", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(REGRESSIONS))
    options = parser.parse_args(argv)
    report = runner.Report(
        options.output / "intervals.md", __doc__.splitlines()[0], __doc__.split("\n\n", 1)[1].strip()
    )
    rows = [row for name in options.streams for row in rows_of(name)]
    head = ["stream", "intervals", "inside, %", f"worst of {WINDOW}, %", "NMPIW"]
    report.write(
        "Intervals of 90 %", f"{runner.table(head, rows)}\n\nMeasured at {runner.commit()}, {runner.machine()}"
    )


if __name__ == "__main__":
    main()
