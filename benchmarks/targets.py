"""Targets that are rare, heavy or noisy here and not there: ``python -m benchmarks.targets``.

Streams as an adversary would choose them, of 16,000 samples; figures are of the last 8,000, the worst of three seeds.
River's linear regression gets scaled numbers and indicators of strings, its Hoeffding tree numbers and indicators.

*Events*: the share of a large announced target that is predicted, the share inside intervals of 99 %, the sum of all
predictions over that of the targets, and the mean absolute error to the target without noise.  *Noise*: the lowest and
the highest coverage of a group by intervals of 90 %, and their mean interval score.  *Drift*: the error of the last
4,000 of 40,000 samples, and that of a new model that began 4,000 samples earlier; a feature drifts by a deviation in
so many samples, which the target does not notice, or has a season or regimes, on which it depends.  *Change*: the
error of the first 2,000 samples of another function after 60,000 of one, and that of a new model.  *Names*: the error
of the last 3,000 of 10,000 bags of 20 words, of which the target is linear; of words that turn over, half are replaced
after 5,000.  *Shards*: the error of the merge of four models of 1,500 samples, relative to their mean error; of 20
runs the mean, the worst, and how many are worse than the mean model.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from river import compose, linear_model, preprocessing, tree

import river_okl
from benchmarks import runner

ROWS, LATE, SEEDS = 16_000, 8_000, 3
DRIFTING, NEW, JUDGED = 40_000, 32_000, 36_000
PAST, AFTER = 60_000, 2_000
BAGS, OF_SHARD, RUNS = 10_000, 1_500, 20


class Case(NamedTuple):
    """A sample with its target without noise, and its group: whether it is an event, or how noisy it is."""

    x: dict[str, Any]
    y: float
    truth: float
    group: Any


def events(rng: random.Random, share: float = 0.02, size: float = 50.0) -> Iterator[Case]:
    while True:
        a, b, flag = rng.gauss(0, 1), rng.gauss(0, 1), rng.random() < share
        truth = a + size * flag
        yield Case({"a": a, "b": b, "flag": float(flag)}, truth + rng.gauss(0, 0.3), truth, flag)


def weekly(rng: random.Random) -> Iterator[Case]:
    hour = 0
    while True:
        event = hour % 168 == 114
        truth = 110.0 if event else 10.0
        yield Case({"hour": str(hour % 24), "day": str(hour // 24 % 7)}, truth + rng.gauss(0, 1), truth, event)
        hour += 1


def claims(rng: random.Random, base: float = -4.9) -> Iterator[Case]:
    """Zero in 97 % of the policies."""
    while True:
        age, power, region = rng.uniform(18, 80), rng.uniform(40, 250), rng.choice("ABCDEFGH")
        value = math.exp(rng.gauss(9, 0.5))
        odds = math.exp(base + 1.2 * (age < 25) + 1.5 * (power > 180) + 0.8 * (region in "AB"))
        p, amount = odds / (1 + odds), 0.3 * value
        y = amount * math.exp(rng.gauss(-0.125, 0.5)) if rng.random() < p else 0.0
        yield Case({"age": age, "power": power, "region": region, "value": value}, y, p * amount, y > 0)


def outliers(rng: random.Random) -> Iterator[Case]:
    """One target in a hundred is wrong by 1,000, without announcement."""
    while True:
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        wrong = rng.random() < 0.01
        yield Case({"a": a, "b": b}, 2 * a + b + rng.gauss(0, 0.3) + 1000 * wrong, 2 * a + b, wrong)


def heavy(rng: random.Random, sigma: float = 1.0) -> Iterator[Case]:
    while True:
        a, b = math.exp(rng.gauss(0, sigma)), rng.gauss(0, 1)
        yield Case({"a": a, "b": b}, 2 * a + 3 * b + rng.gauss(0, 0.1), 2 * a + 3 * b, a > math.exp(2.326 * sigma))


def mostly_zero(rng: random.Random) -> Iterator[Case]:
    while True:
        a = rng.uniform(10, 100) if rng.random() < 0.06 else 0.0
        yield Case({"a": a, "b": rng.gauss(0, 1)}, a + rng.gauss(0, 1), a, a > 0)


def by_string(rng: random.Random) -> Iterator[Case]:
    while True:
        a, name = rng.gauss(0, 1), rng.choice("xyz")
        yield Case({"a": a, "name": name}, a + rng.gauss(0, {"x": 0.1, "y": 1.0, "z": 10.0}[name]), a, name)


def small_group(rng: random.Random, share: float = 0.05) -> Iterator[Case]:
    while True:
        a, noisy = rng.gauss(0, 1), rng.random() < share
        yield Case({"a": a, "noisy": float(noisy)}, 5 * a + rng.gauss(0, 10 if noisy else 1), 5 * a, noisy)


def day_and_night(rng: random.Random) -> Iterator[Case]:
    hour = 0
    while True:
        a, day = rng.gauss(0, 1), 8 <= hour % 24 < 20
        yield Case({"a": a, "hour": float(hour % 24)}, 5 * a + rng.gauss(0, 3 if day else 0.3), 5 * a, day)
        hour += 1


def shops(rng: random.Random) -> Iterator[Case]:
    while True:
        shop, a = rng.choice("SML"), rng.random()
        truth = {"S": 10.0, "M": 100.0, "L": 1000.0}[shop] * (1 + a)
        yield Case({"shop": shop, "a": a}, truth * math.exp(rng.gauss(0, 0.1)), truth, shop)


EVENTS: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "2 % of size 50": events,
    "2 % of size 200": lambda rng: events(rng, size=200.0),
    "1 % of size 100": lambda rng: events(rng, share=0.01, size=100.0),
    "an hour a week": weekly,
    "claims": claims,
    "claims, half as many": lambda rng: claims(rng, base=-5.6),
    "outliers": outliers,
    "log-normal, σ = 1": heavy,
    "log-normal, σ = 1.5": lambda rng: heavy(rng, sigma=1.5),
    "log-normal, σ = 2": lambda rng: heavy(rng, sigma=2.0),
    "mostly zero": mostly_zero,
}
NOISE: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "by a string": by_string,
    "5 % noisy": small_group,
    "10 % noisy": lambda rng: small_group(rng, share=0.1),
    "day and night": day_and_night,
    "shops": shops,
}


def drifting(rng: random.Random, slow: float) -> Iterator[Case]:
    """A sensor that rises by a deviation in ``slow`` samples, though what it measures does not."""
    for t in range(DRIFTING):
        a, b, c = (rng.gauss(0, 1) for _ in range(3))
        truth = 2 * math.sin(a) + a + b * c
        yield Case({"a": a + t / slow, "b": b, "c": c}, truth + rng.gauss(0, 0.1), truth, None)


def wandering(rng: random.Random, level: Callable[[int], float]) -> Iterator[Case]:
    """A feature whose level matters."""
    for t in range(DRIFTING):
        a, b, c = (rng.gauss(0, 1) for _ in range(3))
        a += level(t)
        truth = 2 * math.sin(a / 2) + 0.3 * a + b * c
        yield Case({"a": a, "b": b, "c": c}, truth + rng.gauss(0, 0.1), truth, None)


def season(length: float, size: float) -> Callable[[int], float]:
    return lambda t: size * math.sin(2 * math.pi * t / length)


def regimes(rng: random.Random) -> Callable[[int], float]:
    levels = [rng.uniform(-10, 10) for _ in range(DRIFTING // 2000)]
    return lambda t: levels[t // 2000]


DRIFT: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    **{f"drift, {n:,}": functools.partial(drifting, slow=n) for n in (20, 100, 200, 500, 2000)},
    "season of 10,000, size 3": lambda rng: wandering(rng, season(10_000, 3)),
    "season of 10,000, size 20": lambda rng: wandering(rng, season(10_000, 20)),
    "season of 40,000, size 5": lambda rng: wandering(rng, season(40_000, 5)),
    "regimes of 2,000": lambda rng: wandering(rng, regimes(rng)),
}


def concept(x: dict[str, float], kind: str) -> float:
    a, b, c, d = x.values()
    if kind == "features exchanged":
        a, b = b, a
    if kind == "another function":
        return math.cos(2 * c) + 0.5 * d - 0.3 * a * b
    return (-1.0 if kind == "sign" else 1.0) * (math.sin(2 * a) + 0.5 * b + 0.3 * c * d)


CHANGES = "features exchanged", "another function", "sign"


def bags(rng: random.Random, words: int, *, turn_over: bool = False) -> Iterator[Case]:
    weights = [rng.gauss(0, 1) for _ in range(2 * words)]
    for t in itertools.count():
        first = words // 2 if turn_over and t >= BAGS // 2 else 0
        bag = rng.sample(range(first, first + words), 20)
        truth = sum(weights[word] for word in bag)
        yield Case({f"w{word}": 1.0 for word in bag}, truth + rng.gauss(0, 0.3), truth, None)


NAMES: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "200 words": lambda rng: bags(rng, 200),
    "400 words": lambda rng: bags(rng, 400),
    "1,000 words": lambda rng: bags(rng, 1000),
    "200 words that turn over": lambda rng: bags(rng, 200, turn_over=True),
}


def of_shards(rng: random.Random, *, strings: bool, gaps: bool) -> Iterator[Case]:
    """Four numbers and eight strings, of which some are rare."""
    effects = {(j, level): rng.gauss(0, 1) for j in range(8) for level in range(6)}
    weights = [rng.gauss(0, 1) for _ in range(4)]
    while True:
        x: dict[str, Any] = {f"n{j}": rng.gauss(3 * j, 1 + j) for j in range(4)}
        truth = sum(w * (x[f"n{j}"] - 3 * j) / (1 + j) for j, w in enumerate(weights)) + math.sin(2 * x["n0"])
        if gaps:
            x = {name: None if rng.random() < 0.15 else value for name, value in x.items()}
        for j in range(8 if strings else 0):
            level = min(5, int(rng.expovariate(0.7)))
            truth += 0.5 * effects[j, level]
            if not gaps or rng.random() > 0.1:
                x[f"s{j}"] = f"l{level}"
        yield Case(x, truth + rng.gauss(0, 0.1), truth, None)


SHARDS = {
    "numbers with gaps": {"strings": False, "gaps": True},
    "strings": {"strings": True, "gaps": False},
    "strings and gaps": {"strings": True, "gaps": True},
}


def linear() -> Any:
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return numbers + words | linear_model.LinearRegression(clip_gradient=1.0)  # diverges without


def hoeffding_tree() -> Any:
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return compose.SelectType(float) + words | tree.HoeffdingTreeRegressor()


def of_events(make: Callable[[], Any], cases: Iterator[Case]) -> tuple[float, ...]:
    model, found = make(), []
    for i in range(ROWS):
        case = next(cases)
        if i >= LATE:
            low, high = model.predict_interval_one(case.x, 0.99) if hasattr(model, "predict_interval_one") else (0, 0)
            found.append((model.predict_one(case.x), case.y, case.truth, case.group, low <= case.y <= high))
        model.learn_one(case.x, case.y)
    p, y, truth, event, inside = map(np.array, zip(*found, strict=True))
    return p[event].sum() / truth[event].sum(), inside[event].mean(), p.sum() / y.sum(), abs(p - truth).mean()


def of_noise(cases: Iterator[Case]) -> tuple[float, ...]:
    model, found = river_okl.OKLRegressor(), []
    for i in range(ROWS):
        case = next(cases)
        if i >= LATE:
            low, high = model.predict_interval_one(case.x)
            outside = max(0.0, low - case.y, case.y - high)
            found.append((case.group, outside == 0.0, high - low + 20.0 * outside))
        model.learn_one(case.x, case.y)
    group, inside, score = map(np.array, zip(*found, strict=True))
    coverages = [inside[group == name].mean() for name in set(group.tolist())]
    return min(coverages), max(coverages), score.mean()


def of_drift(cases: Iterator[Case], *, labels: bool) -> tuple[float, ...]:
    old, new = (river_okl.OKLClassifier() if labels else river_okl.OKLRegressor() for _ in range(2))
    errors = [0.0, 0.0]
    for t, case in enumerate(cases):
        y = case.y > 0.0 if labels else case.y
        for i, model in enumerate((old, new)):
            if t >= JUDGED:
                errors[i] += abs(model.predict_one(case.x) - y) / (DRIFTING - JUDGED)
            if i == 0 or t >= NEW:
                model.learn_one(case.x, y)
    return *errors, errors[0] / max(errors[1], 1.0 / (DRIFTING - JUDGED))


def learned(rng: random.Random) -> Any:
    """A model after a long past."""
    model = river_okl.OKLRegressor()
    for _ in range(PAST):
        x = {name: rng.gauss(0, 1) for name in "abcd"}
        model.learn_one(x, concept(x, "") + rng.gauss(0, 0.1))
    return model


def of_change(past: Any, rng: random.Random, kind: str) -> tuple[float, ...]:
    models, errors = (copy.deepcopy(past), river_okl.OKLRegressor()), [0.0, 0.0]
    for _ in range(AFTER):
        x = {name: rng.gauss(0, 1) for name in "abcd"}
        y = concept(x, kind) + rng.gauss(0, 0.1)
        for i, model in enumerate(models):
            errors[i] += abs(model.predict_one(x) - y) / AFTER
            model.learn_one(x, y)
    return *errors, errors[0] / errors[1]


def of_names(model: Any, cases: Iterator[Case]) -> float:
    found = []
    for case in itertools.islice(cases, BAGS):
        found.append(abs((model.predict_one(case.x) or 0.0) - case.y))
        model.learn_one(case.x, case.y)
    return float(np.mean(found[7 * BAGS // 10 :]))


def of_merge(cases: Iterator[Case]) -> float:
    models = [river_okl.OKLRegressor() for _ in range(4)]
    for model in models:
        model.learn_stream((case.x, case.y) for case in itertools.islice(cases, OF_SHARD))
    rest = list(itertools.islice(cases, 1000))
    merged, *others = (
        np.mean([abs(model.predict_one(case.x) - case.y) for case in rest])
        for model in (river_okl.merge(models), *models)
    )
    return float(merged / np.mean(others))


def worst(found: list[tuple[float, ...]], off: Sequence[Callable[[float], float]]) -> list[str]:
    """Of each figure that of the seed where it is furthest from what it should be."""
    return [f"{max(each, key=far):.3g}" for each, far in zip(zip(*found, strict=True), off, strict=True)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("targets", __doc__.splitlines()[0])
    runner.choice(parser, "--events", list(EVENTS))
    runner.choice(parser, "--noise", list(NOISE))
    runner.choice(parser, "--drift", list(DRIFT))
    runner.choice(parser, "--changes", list(CHANGES))
    runner.choice(parser, "--names", list(NAMES))
    runner.choice(parser, "--shards", list(SHARDS))
    options = parser.parse_args(argv)
    report = runner.Report.of(__doc__, options.output / "targets.md")
    models = {"OKL": river_okl.OKLRegressor, "linear": linear, "Hoeffding tree": hoeffding_tree}
    table = []
    for name in options.events:
        for title, make in models.items():
            found = [of_events(make, EVENTS[name](random.Random(seed))) for seed in range(SEEDS)]
            cells = worst(found, (lambda v: abs(v - 1), lambda v: -v, lambda v: abs(v - 1), abs))
            table.append([name, title, cells[0], cells[1] if title == "OKL" else "", *cells[2:]])
            print(table[-1], flush=True)
    head = ["stream", "model", "predicted", "inside 99 %", "sum", "error"]
    report.write("1. Events", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")
    table = []
    for name in options.noise:
        found = [of_noise(NOISE[name](random.Random(seed))) for seed in range(SEEDS)]
        table.append([name, *worst(found, (lambda v: -v, lambda v: v, abs))])
    head = ["stream", "lowest coverage", "highest", "interval score"]
    report.write("2. Noise", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")
    table = []
    for name in options.drift:
        for labels in (False, True):
            found = [of_drift(DRIFT[name](random.Random(seed)), labels=labels) for seed in range(SEEDS)]
            ratios = [f"{figure:.3g}" for figure in max(found, key=lambda errors: errors[-1])]
            table.append([name, "OKLClassifier" if labels else "OKLRegressor", *ratios])
            print(table[-1], flush=True)
    head = ["feature", "model", "trained", "new", "ratio"]
    report.write("3. Drift", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")
    more(report, options)


def more(report: runner.Report, options: Any) -> None:
    """Write the sections that are not about single targets."""
    pasts = [learned(random.Random(seed)) for seed in range(SEEDS)] if options.changes else []
    table = []
    for kind in options.changes:
        found = [of_change(past, random.Random(seed), kind) for seed, past in enumerate(pasts)]
        table.append([kind, *(f"{figure:.3g}" for figure in max(found, key=lambda errors: errors[-1]))])
    head = ["change", "trained", "new", "ratio"]
    report.write("4. Change", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")
    table = []
    for name in options.names:
        rivals: list[Callable[[], Any]] = [linear_model.LinearRegression]
        if "1,000" not in name:  # O(names²) for each sample
            rivals.append(linear_model.BayesianLinearRegression)
        makes = [river_okl.OKLRegressor, *rivals]
        found = [tuple(of_names(make(), NAMES[name](random.Random(seed))) for make in makes) for seed in range(SEEDS)]
        errors = [(own, min(others), own / min(others)) for own, *others in found]
        table.append([name, *(f"{figure:.3g}" for figure in max(errors, key=lambda each: each[-1]))])
    head = ["features", "OKL", "the best linear regression", "ratio"]
    report.write("5. Names", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")
    table = []
    for name in options.shards:
        ratios = [of_merge(of_shards(random.Random(seed), **SHARDS[name])) for seed in range(RUNS)]
        table.append([name, f"{np.mean(ratios):.3f}", f"{max(ratios):.3f}", sum(ratio > 1.0 for ratio in ratios)])
    head = ["features", "merged / mean model", "worst", f"worse, of {RUNS}"]
    report.write("6. Shards", f"{runner.table(head, table)}\n\n{runner.machine()} At {runner.commit()}.")


if __name__ == "__main__":
    main()
