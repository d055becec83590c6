"""Anomalies in a series: errors of a regressor beside detectors: ``python -m benchmarks.anomalies``.

Five series of 6,000 values, with three seeds each:

* profile: an hourly load with a daily and a weekly profile, autoregressive noise and a slowly drifting level; dates
* counts: hourly Poisson counts with a daily profile and short bursts; dates
* wander: an autoregressive level, 0.98 times the last one plus noise, seen with a little noise; no dates
* sines: a smooth sum of three sines with unrelated periods, and 2 % of noise; no dates
* states: each value is near 0 or near 10, at random, so that the past does not help; no dates

Each series has eight anomalies of one kind after value 1,500, which start at least 250 values apart.  A deviation is
the standard deviation of the series without anomalies.

* outlying spike: one value that is 3 to 5 deviations outside the range of the series (counts: above it)
* spike in range: one value that is changed by 1 to 2 deviations and stays within the range of the series
* level shift: 60 values that are 1.5 deviations higher or lower
* rhythm: for 72 values the series runs at double speed; then it continues as if nothing had happened
* flat line: 48 values that are equal to the one before

Every value is scored and then learned, anomalies included, with default parameters and seeds of 1:

* OKLRegressor: the z-score of the absolute error of `Dates() | OKLRegressor()`.  Without dates `compose.Discard("t")`
  replaces `Dates()`.  The z-score is the error minus its mean, divided by its standard deviation.  Both are
  exponentially weighted, with a half-life of 100 values, and do not count the error yet.  The first 200 errors are
  skipped, and the next 200 are counted without a score.  The half-life was chosen on other seeds.
* OKLRegressor, Lags: the same of `Lags() | Dates() | OKLRegressor()`
* Predictive, 3 and 6: River's `PredictiveAnomalyDetection(Dates() | OKLRegressor(), n_std=..., warmup_period=200)`; its
  default is 3
* last value: the z-score of the absolute error, if the last value is the prediction
* OKLDetector: of the value
* OKLDetector, Lags: of the value, the features of `Lags()` and, with dates, the hour
* StandardAbsoluteDeviation; GaussianScorer with a window of 500; HalfSpaceTrees behind a `MinMaxScaler`: of the value

Scores above the threshold are one alarm if at most 50 values separate them.  An anomaly is found if such a score falls
on it or on the ten values after it.  All other alarms are false.  The first 1,500 values do not count.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import anomaly, compose, preprocessing, stats
from sklearn.metrics import roc_auc_score

import river_okl
from benchmarks import runner

N, WARM, SEEDS = 6_000, 1_500, (0, 1, 2)
ANOMALIES, APART = 8, 250
HALF_LIFE, SKIPPED = 100, 200
ONE, GRACE = 50, 10  # values within which alarms are one; after an anomaly, in which it is still found
QUANTILE, WINDOW = 0.995, 1_000
START, HOUR = datetime.datetime(2026, 1, 5), datetime.timedelta(hours=1)
Arrays = NDArray[Any]


# Series ---------------------------------------------------------------------------------------------


def autoregressive(rng: Any, n: int, of: float) -> Arrays:
    """Noise with a deviation of 1, each value a multiple of the last one plus noise."""
    noise = rng.normal(size=n)
    noise[1:] *= math.sqrt(1.0 - of * of)
    for t in range(1, n):
        noise[t] += of * noise[t - 1]
    return np.asarray(noise)


def profile(rng: Any, n: int) -> Arrays:
    hour, day = np.arange(n) % 24, np.arange(n) // 24 % 7
    daily = 20.0 * np.exp(-(((hour - 9.0) / 2.5) ** 2)) + 30.0 * np.exp(-(((hour - 18.0) / 3.0) ** 2))
    noise = 3.0 * autoregressive(rng, n, 0.7) + 5.0 * autoregressive(rng, n, 0.999)
    return np.asarray(50.0 + daily * np.where(day < 5, 1.0, 0.5) + noise)


def counts(rng: Any, n: int) -> Arrays:
    daily = 20.0 + 17.0 * np.sin(2.0 * math.pi * (np.arange(n) % 24 - 8.0) / 24.0)
    burst, extra = 0.0, np.zeros(n)
    for t in range(n):
        burst = 0.7 * burst + (rng.exponential(8.0) if rng.random() < 0.005 else 0.0)
        extra[t] = burst
    return np.asarray(rng.poisson(daily + extra), dtype=float)


def wander(rng: Any, n: int) -> Arrays:
    return np.asarray(20.0 + 5.0 * autoregressive(rng, n, 0.98) + 0.5 * rng.normal(size=n))


def sines(rng: Any, n: int) -> Arrays:
    t, phases = np.arange(n), rng.uniform(0.0, 2.0 * math.pi, size=3)
    sizes, periods = (1.0, 0.6, 0.4), (37.0, 83.0, 13.7)
    waves = (a * np.sin(2.0 * math.pi * t / b + c) for a, b, c in zip(sizes, periods, phases, strict=True))
    return np.asarray(sum(waves) + 0.02 * rng.normal(size=n))


def states(rng: Any, n: int) -> Arrays:
    return np.asarray(10.0 * rng.integers(2, size=n) + rng.normal(size=n))


class Base(NamedTuple):
    values: Callable[[Any, int], Arrays]
    dated: bool


BASES = {
    "profile": Base(profile, True),
    "counts": Base(counts, True),
    "wander": Base(wander, False),
    "sines": Base(sines, False),
    "states": Base(states, False),
}


# Anomalies ------------------------------------------------------------------------------------------


def outlying(y: Arrays, at: int, rng: Any, counted: bool) -> Iterator[float]:
    size = rng.uniform(3.0, 5.0) * y.std()
    yield y.max() + size if counted or rng.random() < 0.5 else y.min() - size


def within(y: Arrays, at: int, rng: Any, counted: bool) -> Iterator[float]:
    changed = y[at] + rng.uniform(1.0, 2.0) * y.std() * rng.permutation([-1.0, 1.0])
    yield next((value for value in changed if y.min() <= value <= y.max()), y[at - 12])


def shifted(y: Arrays, at: int, rng: Any, counted: bool) -> Iterator[float]:
    yield from y[at : at + 60] + rng.choice([-1.5, 1.5]) * y.std()


def fast(y: Arrays, at: int, rng: Any, counted: bool) -> Iterator[float]:
    yield from y[at : at + 144 : 2]


def flat(y: Arrays, at: int, rng: Any, counted: bool) -> Iterator[float]:
    yield from [y[at - 1]] * 48


KINDS: Mapping[str, Callable[[Arrays, int, Any, bool], Iterator[float]]] = {
    "outlying spike": outlying,
    "spike in range": within,
    "level shift": shifted,
    "rhythm": fast,
    "flat line": flat,
}


class Series(NamedTuple):
    samples: list[tuple[dict[Any, Any], float]]  # the time, and the value
    stretches: list[tuple[int, int]]  # of each anomaly the first value, and the one after the last
    dated: bool


def series(base: str, kind: str, seed: int) -> Series:
    of = [*BASES].index(base)
    clean = BASES[base].values(np.random.default_rng([seed, of]), N)
    rng = np.random.default_rng([seed, of, [*KINDS].index(kind)])
    room = N - WARM - ANOMALIES * APART
    starts = WARM + np.sort(rng.integers(room, size=ANOMALIES)) + APART * np.arange(ANOMALIES)
    y, stretches, counted = clean.copy(), [], base == "counts"
    for at in starts.tolist():
        values = np.array([*KINDS[kind](clean, at, rng, counted)])
        y[at : at + len(values)] = np.maximum(np.round(values), 0.0) if counted else values
        stretches.append((at, at + len(values)))
    dated = BASES[base].dated
    times = [START + t * HOUR for t in range(N)] if dated else range(N)
    return Series([({"t": t}, value) for t, value in zip(times, y.tolist(), strict=True)], stretches, dated)


# Detectors ------------------------------------------------------------------------------------------


class ZScore:
    """Errors in running standard deviations above their running mean."""

    def __init__(self) -> None:
        fading = 1.0 - 0.5 ** (1.0 / HALF_LIFE)
        self.mean, self.variance, self.seen = stats.EWMean(fading), stats.EWVar(fading), 0

    def update(self, error: float) -> float:
        """The z-score of an error, which is then counted; 0 while too few have been."""
        self.seen += 1
        if self.seen <= SKIPPED:
            return 0.0
        variance = self.variance.get() or 0.0
        score = (error - self.mean.get()) / math.sqrt(variance) if variance > 0.0 else 0.0
        self.mean.update(error)
        self.variance.update(error)
        return score if self.seen > 2 * SKIPPED else 0.0


def regressor(dated: bool, lags: bool = False) -> Any:
    dates = river_okl.Dates() if dated else compose.Discard("t")
    return (river_okl.Lags() | dates if lags else dates) | river_okl.OKLRegressor()


def errors(of: Series, lags: bool = False) -> Iterator[float]:
    model, z = regressor(of.dated, lags), ZScore()
    for x, y in of.samples:
        yield z.update(abs(model.predict_one(x) - y))
        model.learn_one(x, y)


def changes(of: Series) -> Iterator[float]:
    last, z = 0.0, ZScore()
    for _, y in of.samples:
        yield z.update(abs(last - y))
        last = y


def supervised(detector: Any, of: Series) -> Iterator[float]:
    """The scores of a detector that takes the value as the target."""
    for x, y in of.samples:
        yield detector.score_one(x, y)
        detector.learn_one(x, y)


def unsupervised(detector: Any, of: Series) -> Iterator[float]:
    for _, y in of.samples:
        yield detector.score_one({"y": y})
        detector.learn_one({"y": y})


def lagged(of: Series) -> Iterator[float]:
    lags, detector = river_okl.Lags(), river_okl.OKLDetector(seed=1)
    for x, y in of.samples:
        features = {"y": y, **lags.transform_one(x)}
        moment = features.pop("t")
        if of.dated:
            features["hour"] = moment.hour
        yield detector.score_one(features)
        detector.learn_one(features)
        lags.learn_one(x, y)


def predictive(of: Series, n_std: float) -> Iterator[float]:
    detector = anomaly.PredictiveAnomalyDetection(regressor(of.dated), n_std=n_std, warmup_period=SKIPPED)
    return supervised(detector, of)


DETECTORS: Mapping[str, Callable[[Series], Iterator[float]]] = {
    "OKLRegressor": errors,
    "OKLRegressor, Lags": lambda of: errors(of, lags=True),
    "Predictive, 3": lambda of: predictive(of, 3.0),
    "Predictive, 6": lambda of: predictive(of, 6.0),
    "last value": changes,
    "OKLDetector": lambda of: unsupervised(river_okl.OKLDetector(seed=1), of),
    "OKLDetector, Lags": lagged,
    "StandardAbsoluteDeviation": lambda of: supervised(anomaly.StandardAbsoluteDeviation(), of),
    "GaussianScorer": lambda of: supervised(anomaly.GaussianScorer(window_size=500), of),
    "HalfSpaceTrees": lambda of: unsupervised(preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=1), of),
}


# Measuring ------------------------------------------------------------------------------------------


def highest(scores: Arrays) -> list[list[int]]:
    """As many alarms as there are anomalies, at the highest scores; equal scores are drawn."""
    order = np.lexsort((np.random.default_rng(0).random(len(scores)), -scores))
    chosen: list[int] = []
    for t in order[order >= WARM].tolist():
        if all(abs(t - other) > ONE for other in chosen):
            chosen.append(t)
            if len(chosen) == ANOMALIES:
                break
    return [[t] for t in chosen]


def online(scores: Arrays) -> list[list[int]]:
    """Alarms at scores of at least a quantile of those before, each with all of its values."""
    threshold, alarms, last = stats.RollingQuantile(QUANTILE, window_size=WINDOW), [], -N
    for t, score in enumerate(scores.tolist()):
        if t >= WARM and score >= threshold.get():
            if t - last > ONE:
                alarms.append([t])
            else:
                alarms[-1].append(t)
            last = t
        threshold.update(score)
    return alarms


class Run(NamedTuple):
    found: float  # share of the anomalies, with as many alarms
    area: float  # under the ROC curve, of values
    share: float  # found online
    false: float  # alarms online, of 1,000 values
    us: float  # of a value


def hits(alarms: list[list[int]], stretches: list[tuple[int, int]]) -> tuple[float, int]:
    """The share of the anomalies that are found, and the number of false alarms."""
    spans = [range(first, end + GRACE) for first, end in stretches]
    found = sum(any(t in span for alarm in alarms for t in alarm) for span in spans)
    return found / len(spans), sum(not any(t in span for t in alarm for span in spans) for alarm in alarms)


def run(name: str, base: str, kind: str, seed: int) -> Run:
    of = series(base, kind, seed)
    start = time.thread_time()
    scores = np.array([*DETECTORS[name](of)], dtype=float)
    us = 1e6 * (time.thread_time() - start) / N
    anomalous = np.zeros(N, dtype=bool)
    for first, end in of.stretches:
        anomalous[first:end] = True
    share, false = hits(online(scores), of.stretches)
    return Run(
        hits(highest(scores), of.stretches)[0],
        float(roc_auc_score(anomalous[WARM:], scores[WARM:])),
        share,
        1_000.0 * false / (N - WARM),
        us,
    )


Runs = dict[tuple[str, str, str], list[Run]]  # by detector, kind and base


def mean(runs: Runs, name: str, field: str, kind: str | None = None, base: str | None = None) -> float:
    return float(
        np.mean(
            [
                getattr(each, field)
                for (model, of, on), found in runs.items()
                for each in found
                if model == name and kind in (None, of) and base in (None, on)
            ]
        )
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("anomalies", __doc__.splitlines()[0])
    runner.choice(parser, "--kinds", list(KINDS))
    runner.choice(parser, "--series", list(BASES))
    runner.choice(parser, "--detectors", list(DETECTORS))
    options = parser.parse_args(argv)
    kinds, bases, names = options.kinds, options.series, options.detectors
    runs: Runs = {}
    for name in names:
        for kind in kinds:
            for base in bases:
                runs[name, kind, base] = [run(name, base, kind, seed) for seed in SEEDS]
        print(f"{name}: {mean(runs, name, 'found'):.2f}", flush=True)
    report = runner.Report.of(__doc__, options.output / "anomalies.md")
    cells = [
        [f"{kind}, {base}", *(f"{mean(runs, name, 'found', kind, base):.2f}" for name in names)]
        for kind in kinds
        for base in bases
    ]
    text = "The share of the anomalies that are found, if each detector raises as many alarms as there are anomalies,"
    text += " at its highest scores (equal ones in random order).  The other alarms are false.\n\n"
    rows = [[kind, *(f"{mean(runs, name, 'found', kind):.2f}" for name in names)] for kind in kinds]
    rows += [[base, *(f"{mean(runs, name, 'found', base=base):.2f}" for name in names)] for base in bases]
    rows += [["mean", *(f"{mean(runs, name, 'found'):.2f}" for name in names)]]
    rows += [["µs per value", *(f"{mean(runs, name, 'us'):.0f}" for name in names)]]
    table = runner.table(["mean over", *names], rows)
    report.write(
        "1. As many alarms as anomalies", f"{text}{table}\n\nMeasured at {runner.commit()}, {runner.machine()}"
    )
    report.write("2. The same, for each kind and series", runner.table(["anomaly, series", *names], cells))
    text = (
        f"An alarm is raised if a score reaches the {QUANTILE:.1%} quantile of the last {WINDOW:,} scores.  The share"
    )
    text += " of the anomalies that are found, and the false alarms in 1,000 values.\n\n"
    rows = [
        [
            kind or "mean",
            *(f"{mean(runs, name, 'share', kind):.2f}, {mean(runs, name, 'false', kind):.1f}" for name in names),
        ]
        for kind in (*kinds, None)
    ]
    report.write("3. A threshold from past scores", text + runner.table(["anomaly", *names], rows))
    text = "The area under the ROC curve of all values, of which those within an anomaly are positive.\n\n"
    rows = [[kind or "mean", *(f"{mean(runs, name, 'area', kind):.3f}" for name in names)] for kind in (*kinds, None)]
    report.write("4. Values within anomalies", text + runner.table(["anomaly", *names], rows))


if __name__ == "__main__":
    main()
