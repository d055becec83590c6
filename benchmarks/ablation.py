"""What each part of the mixture is worth: ``python -m benchmarks.ablation``.

`OKLClassifier` and `OKLRegressor` without some of their experts, on the streams of `benchmarks.untuned`, the others of
`benchmarks.long`, and generated ones with entities, test-then-train. An expert is left out of the mixture's list. Its
memory is not given to others: the pool's points stay unused.

The Gaussian processes stay in the list, with an empty dictionary, as other parts read their weights.  They then predict
equal probabilities or the mean target, and get hardly any weight.  Feature weights are learned from the slopes of the
processes, so these are lost with them.

All variants learn a stream in turns of 100 samples; µs, of `predict_proba_one` and `learn_one` or of a regression's
`predict_one`, are the median over the turns of the difference to the full model.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Any

import river_okl
from benchmarks import long, runner
from benchmarks.streams import STREAMS, Sample, Stream, entities, load
from benchmarks.untuned import CLIPS

TURN = 100
# What is left out, by the names of experts; the dictionary is that of the Gaussian processes.
DICTIONARY = "dictionary"
OF_CLASSES = {
    "Gaussian processes": [DICTIONARY],
    "pool": ["pool"],
    "Gaussian processes and pool": [DICTIONARY, "pool"],
    "linear and quadratic": ["linear"],
    "logistic": ["logistic"],
    "memory": ["memory"],
    "last label": ["last_label"],
    "naive Bayes": ["bayes"],
    "stack": ["stack"],
}
OF_TARGETS = {
    "Gaussian processes": [DICTIONARY],
    "memory": ["memory"],
    "last target": ["last_target"],
    "linear regression on all features": ["diagonal"],
}
KERNELS = "Gaussian processes", "pool", "Gaussian processes and pool"  # the parts with kernels
LONG = {name: stream for name, stream in long.STREAMS.items() if name not in STREAMS}
OF_ENTITIES = 10_000  # samples
WORTH, HELPED = 0.05, 0.5  # points of accuracy, on average and on one stream, below which a part could be removed


ENTITIES = {f"{n} entities": Stream(functools.partial(entities, n)) for n in (20, 50, 200)}
ALL = STREAMS | LONG | ENTITIES


def without(classes: int, names: Sequence[str]) -> Any:
    """The model whose mixture lacks these experts."""
    model: Any = river_okl.OKLClassifier() if classes else river_okl.OKLRegressor()
    kind, (terms, budget, dictionary, *options), _ = model._f.__reduce__()
    if DICTIONARY in names:
        budget, dictionary = budget - dictionary, 0
    model._f = kind(terms, budget, dictionary, *options, without=tuple(names))
    return model


def turn_of_classes(model: Any, samples: Sequence[Sample], classes: int) -> tuple[float, float]:
    """Hits, and the sum of the log-losses."""
    hits, loss = 0.0, 0.0
    for x, y in samples:
        p = model.predict_proba_one(x)
        hits += bool(p) and max(p, key=p.__getitem__) == y
        loss -= math.log(min(max(p.get(y, 0.0) if p else 1.0 / classes, CLIPS[0]), 1.0 - CLIPS[0]))
        model.learn_one(x, y)
    return hits, loss


def turn_of_targets(model: Any, samples: Sequence[Sample], classes: int) -> tuple[float, float]:
    """The sum of the absolute errors."""
    error = 0.0
    for x, y in samples:
        error += abs(y - model._prediction(x)[0])  # predict_one asks {} if there are no points
        model.learn_one(x, y)
    return error, 0.0


def measured(stream: str, parts: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """For the full model ("") and each variant: accuracy in % and log-loss, or the mean absolute error; and µs."""
    classes = ALL[stream].classes
    if stream in ENTITIES:
        samples = list(itertools.islice(ENTITIES[stream].samples(), OF_ENTITIES))
    else:
        samples = load(stream, True) if stream in STREAMS else long.load(stream)
    turn = turn_of_classes if classes else turn_of_targets
    names = OF_CLASSES if classes else OF_TARGETS
    models = {"": without(classes, [])} | {name: without(classes, names[name]) for name in parts}
    sums = {name: [0.0, 0.0] for name in models}
    times: dict[str, list[float]] = {name: [] for name in models}
    for start in range(0, len(samples), TURN):
        block = samples[start : start + TURN]
        first = start // TURN % len(models)  # the first has no samples in the cache
        for name in [*models][first:] + [*models][:first]:
            model, before = models[name], time.thread_time()
            found = turn(model, block, classes)
            times[name].append(1e6 * (time.thread_time() - before) / len(block))
            sums[name] = [total + more for total, more in zip(sums[name], found, strict=True)]
    scale = 100.0 if classes else 1.0
    return {
        name: (
            scale * sums[name][0] / len(samples),
            sums[name][1] / len(samples),
            statistics.median(mine - whole for mine, whole in zip(times[name], times[""], strict=True))
            if name
            else statistics.median(times[""]),
        )
        for name in models
    }


Found = dict[str, dict[str, tuple[float, float, float]]]  # by stream, then by part


def points(found: Found, part: str) -> dict[str, float]:
    """By how many points of accuracy a stream gains without a part."""
    return {stream: each[part][0] - each[""][0] for stream, each in found.items()}


def percent(found: Found, part: str) -> dict[str, float]:
    """By how many percent the error of a stream grows without a part."""
    return {stream: 100.0 * (each[part][0] / each[""][0] - 1.0) for stream, each in found.items()}


def mean_growth(off: Iterable[float]) -> float:
    """The geometric mean of errors that grow by these percentages."""
    return 100.0 * (statistics.geometric_mean(1.0 + each / 100.0 for each in off) - 1.0)


def of_kernels(by_title: dict[str, tuple[Found, bool]]) -> str:
    """What the parts with kernels are worth on each kind of streams."""
    rows = []
    for title, (found, regression) in by_title.items():
        unit = "%" if regression else "points"
        for part in (part for part in KERNELS if all(part in each for each in found.values())):
            off = percent(found, part) if regression else points(found, part)
            worse = {stream: value if regression else -value for stream, value in off.items()}
            most = max(worse, key=worse.__getitem__)
            mean = mean_growth(off.values()) if regression else statistics.fmean(off.values())
            count = f"{sum(value > 0.0 for value in worse.values())} of {len(worse)}"
            rows.append([title, part, f"{mean:+.2f} {unit}", f"{off[most]:+.2f} {unit} on {most}", count])
    text = "Points of accuracy, or percent of the mean absolute error, without the parts that have kernels.\n\n"
    return text + runner.table(["streams", "without", "mean", "largest loss", "worse on"], rows)


def of_classes(found: Found, parts: Sequence[str]) -> str:
    """A row for each part, the most valuable first."""
    rows, gone = [], []
    for part in parts:
        off = points(found, part)
        mean = statistics.fmean(off.values())
        low, high = min(off, key=off.__getitem__), max(off, key=off.__getitem__)
        loss = statistics.fmean(each[part][1] - each[""][1] for each in found.values())
        us = statistics.median(each[part][2] for each in found.values())
        if mean > -WORTH and off[low] > -HELPED:
            gone.append(part)
        error = statistics.stdev(off.values()) / math.sqrt(len(off)) if len(off) > 1 else math.nan
        cells = [
            f"{mean:+.2f}",
            f"{error:.2f}",
            f"{loss:+.4f}",
            f"{us:+.1f}",
            f"{low} {off[low]:+.2f}",
            f"{high} {off[high]:+.2f}",
            sum(value < 0.0 for value in off.values()),
        ]
        rows.append((mean, [part, *cells]))
    whole = [statistics.fmean(each[""][i] for each in found.values()) for i in (0, 1)]
    us = statistics.median(each[""][2] for each in found.values())
    head = ["without", "accuracy, points", "standard error", "log-loss", "µs", "hurts most", "helps most"]
    head.append(f"worse on, of {len(found)}")
    text = runner.table(head, [row for _, row in sorted(rows, key=lambda row: row[0])])
    return (
        f"With all parts: {whole[0]:.2f} %, {whole[1]:.4f}, {us:.1f} µs (means, and the median, of {len(found)} "
        f"streams).\n\n{text}\n\nLess than {WORTH} points on average, and {HELPED} on no stream: "
        f"{', '.join(gone) or 'none'}."
    )


def of_targets(found: Found, parts: Sequence[str]) -> str:
    """Ratios of errors, and their geometric mean."""
    rows = []
    for part in parts:
        off = percent(found, part)
        mean = mean_growth(off.values())
        us = statistics.median(each[part][2] for each in found.values())
        high, low = max(off, key=off.__getitem__), min(off, key=off.__getitem__)
        worse = sum(value > 0.0 for value in off.values())
        cells = [f"{mean:+.2f}", f"{us:+.1f}", f"{high} {off[high]:+.1f}", f"{low} {off[low]:+.1f}", worse]
        rows.append((-mean, [part, *cells]))
    us = statistics.median(each[""][2] for each in found.values())
    head = ["without", "mean absolute error, %", "µs", "hurts most", "helps most", f"worse on, of {len(found)}"]
    return f"With all parts: {us:.1f} µs.\n\n{runner.table(head, [row for _, row in sorted(rows, key=lambda r: r[0])])}"


def matrix(found: Found, parts: Sequence[str], ratio: bool) -> str:
    """A row for each stream, a column for each part."""
    rows = []
    for stream, each in found.items():
        whole = each[""][0]
        off = [100.0 * (each[part][0] / whole - 1.0) if ratio else each[part][0] - whole for part in parts]
        rows.append([stream, runner.cell(whole) if ratio else f"{whole:.2f}", *(f"{value:+.2f}" for value in off)])
    return runner.table(["stream", "all parts", *parts], rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("ablation", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(ALL))
    runner.choice(parser, "--parts", list(OF_CLASSES | OF_TARGETS))
    options = parser.parse_args(argv)
    intro = f"`python -m benchmarks.ablation`, at {runner.commit()}, {runner.machine()}"
    report = runner.Report(options.output / "ablation.md", "What each part is worth", intro)
    kernels: dict[str, tuple[Found, bool]] = {}
    for title, names, regression, those in (
        ("1. Classification", OF_CLASSES, False, [name for name in STREAMS if STREAMS[name].classes]),
        ("2. Long streams", OF_CLASSES, False, [*LONG]),
        ("3. Regression", OF_TARGETS, True, [name for name in STREAMS if not STREAMS[name].classes]),
        ("4. Entities", OF_CLASSES, False, [*ENTITIES]),
    ):
        parts = [part for part in options.parts if part in names]
        found: Found = {}
        for stream in (name for name in those if name in options.streams):
            found[stream] = measured(stream, parts)
            print(stream, found[stream], flush=True)
        if found:
            kernels[title.partition(". ")[2]] = found, regression
            report.write(title, of_targets(found, parts) if regression else of_classes(found, parts))
            what = "Mean absolute error, and its change in %" if regression else "Accuracy, and points without a part"
            report.write(f"{title}: each stream", f"{what}.\n\n{matrix(found, parts, regression)}")
    if kernels and {*KERNELS} <= {*options.parts}:
        report.write("0. Without kernels", of_kernels(kernels))


if __name__ == "__main__":
    main()
