"""Novelty detection, features for linear models, and quantiles: ``python -m benchmarks.novelty``.

Default parameters. Detectors score each sample, then learn it, anomalies included, behind the scaler recommended in
their documentation. Times are CPU time of the working thread, in µs/sample. Detectors of PySAD and of rcf3, whose
documentation names no scaler and which gets the samples with and without one, take part if they are installed
(``pip install pysad rcf3``).

Streams of real samples are made of classes: those of one group are normal, and 2 % of the others (4 % of small sets)
are mixed in, in random order.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from river import anomaly, compose, feature_extraction, linear_model, optim, preprocessing
from river import datasets as river_datasets
from river.datasets import synth
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import river_okl
from benchmarks import runner, streams, timing
from benchmarks.streams import Sample, rbf
from river_okl import datasets

SECONDS, SECONDS_OF_SHUTTLE = 5, 60  # slower detectors are stopped, and marked by a star
FIRST = 500  # samples that do not count, or a quarter of a short stream
LONG = 1_000_000


def moons() -> Iterator[Sample]:
    """Two half moons; a tenth of the samples is uniform."""
    rng = random.Random(0)
    while True:
        if strange := rng.random() < 0.1:
            yield {"x": rng.uniform(-2, 3), "y": rng.uniform(-1.5, 2)}, strange
            continue
        angle, upper = rng.uniform(0, math.pi), rng.random() < 0.5
        x, y = math.cos(angle), math.sin(angle)
        x, y = (x, y) if upper else (1 - x, 0.5 - y)
        yield {"x": x + rng.gauss(0, 0.1), "y": y + rng.gauss(0, 0.1)}, strange


def shuttle() -> Iterator[Sample]:
    """Nine correlated sensors with three causes and heavy tails; 7 % in one of four other states."""
    rng = random.Random(0)
    causes = [[rng.gauss(0, 1) for _ in range(9)] for _ in range(3)]
    states = [[rng.gauss(0, 2) for _ in range(9)] for _ in range(4)]
    while True:
        strange = rng.random() < 0.07
        size = [rng.gauss(0, 1) * (3 if rng.random() < 0.1 else 1) for _ in causes]
        x = [sum(s * c[j] for s, c in zip(size, causes, strict=True)) + rng.gauss(0, 0.3) for j in range(9)]
        if strange:
            x = [v / 2 + m for v, m in zip(x, rng.choice(states), strict=True)]
        yield {f"x{j}": v for j, v in enumerate(x)}, strange


def a9a() -> Iterator[Sample]:
    """A twentieth of the samples is of the smaller class."""
    rng, samples = random.Random(0), list(datasets.LIBSVM("a9a"))
    rng.shuffle(samples)
    for x, y in samples:
        if not y or rng.random() < 0.15:
            yield {i: x.get(i, 0.0) for i in range(1, 124)}, y


def mixed(samples: Iterable[Sample], normal: Callable[[Any], bool], share: float = 0.02) -> Iterator[Sample]:
    """The normal ones, in random order, and others among them."""
    rng = random.Random(0)
    groups: tuple[list[Sample], list[Sample]] = ([], [])
    for x, y in samples:
        groups[not normal(y)].append((x, not normal(y)))
    for group in groups:
        rng.shuffle(group)
    usual = groups[0][:5000]
    found = usual + groups[1][: max(10, round(share * len(usual) / (1 - share)))]
    rng.shuffle(found)
    return iter(found)


def sparse(name: str, positive: bool = False) -> Iterator[Sample]:
    """A set of the LIBSVM page with the zeros that its lines leave out; ``positive``: which class is normal."""
    samples = streams.shuffled(datasets.LIBSVM(name))[:20_000]  # some files are in the order of their labels
    names = sorted({feature for x, _ in samples for feature in x})
    return mixed((({i: x.get(i, 0.0) for i in names}, y) for x, y in samples), lambda y: y == positive)


def digits(strange: set[int]) -> Iterator[Sample]:
    X, y = load_digits(return_X_y=True)
    rows = ((dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return mixed(rows, lambda label: label not in strange, 0.04)


def spam() -> Iterator[Sample]:
    return mixed(datasets.Spambase(), lambda y: not y)


def drawn(stream: Any, normal: set[Any]) -> Iterator[Sample]:
    return mixed(stream.take(20_000), lambda y: y in normal)


NOVELTY: dict[str, Callable[[], Iterator[Sample]]] = {
    "moons": moons,
    "shuttle-like": shuttle,
    "a9a, minority": a9a,
    "cod-rna": lambda: sparse("cod-rna"),
    "w8a": lambda: sparse("w8a"),
    "phishing": lambda: sparse("phishing", positive=True),
    "Spambase": spam,
    "digits, 9 among 0-8": lambda: digits({9}),
    "digits, 3 and 5 among others": lambda: digits({3, 5}),
    "Bananas": lambda: mixed(river_datasets.Bananas(), bool, 0.04),
    "ImageSegments, brickface": lambda: mixed(river_datasets.ImageSegments(), lambda y: y != "brickface", 0.04),
    "RandomRBF": lambda: drawn(
        synth.RandomRBF(seed_model=7, seed_sample=3, n_classes=6, n_features=12, n_centroids=40), {0, 1, 2, 3}
    ),
    "Waveform": lambda: drawn(synth.Waveform(seed=2), {0, 1}),
    "LED": lambda: drawn(synth.LED(seed=3, noise_percentage=0.1), {0, 1, 2, 3, 4, 5, 6, 8}),
    "Agrawal": lambda: drawn(synth.Agrawal(seed=5, classification_function=2), {0}),
    "AnomalySine": lambda: iter(synth.AnomalySine(n_samples=5000, n_anomalies=100, seed=12345)),
}


class OfPySAD:
    """A detector of PySAD, which takes arrays and scores after its first sample."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name, self.options, self.model = name, options, None

    def __repr__(self) -> str:
        return f"{self.name}({self.options})"

    def score_one(self, x: dict[Any, float]) -> float:
        return 0.0 if self.model is None else float(np.ravel(self.model.score_partial(np.array([*x.values()])))[0])

    def learn_one(self, x: dict[Any, float], y: Any = None) -> None:
        if self.model is None:
            ranges = {"feature_mins": [0.0] * len(x), "feature_maxes": [1.0] * len(x)} if self.name == "RSHash" else {}
            self.model = getattr(importlib.import_module("pysad.models"), self.name)(**ranges, **self.options)
        self.model.fit_partial(np.array([*x.values()]))


class OfRCF3:
    """The random cut forest of rcf3, which takes lists of a known length; its first 65 scores are 0."""

    def __init__(self, **options: Any) -> None:
        self.options, self.model = options, None

    def __repr__(self) -> str:
        return f"Forest({self.options})"

    def score_one(self, x: dict[Any, float]) -> float:
        return 0.0 if self.model is None else float(self.model.score([*x.values()]))

    def learn_one(self, x: dict[Any, float], y: Any = None) -> None:
        if self.model is None:
            self.model = importlib.import_module("rcf3").Forest(len(x), **self.options)
        self.model.update([*x.values()])


class Scaled:
    """A detector behind a scaler of River."""

    def __init__(self, scaler: Any, detector: Any) -> None:
        self.scaler, self.detector = scaler, detector

    def __repr__(self) -> str:
        return f"{self.scaler} | {self.detector}"

    def score_one(self, x: dict[Any, float]) -> float:
        return float(self.detector.score_one(self.scaler.transform_one(x)))

    def learn_one(self, x: dict[Any, float], y: Any = None) -> None:
        self.scaler.learn_one(x)
        self.detector.learn_one(self.scaler.transform_one(x))


DETECTORS: dict[str, Callable[[], Any]] = {
    "OKLDetector": lambda: compose.Pipeline(river_okl.OKLDetector(seed=1)),  # drops the label
    "KernelOneClassSVM": lambda: preprocessing.StandardScaler() | river_okl.KernelOneClassSVM(),
    "HalfSpaceTrees": lambda: preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=1),
    "OneClassSVM": lambda: preprocessing.StandardScaler() | anomaly.OneClassSVM(),
    "LocalOutlierFactor": lambda: preprocessing.StandardScaler() | anomaly.LocalOutlierFactor(),
    "LODA": lambda: preprocessing.StandardScaler() | anomaly.LODA(seed=1),
}
# Its robust random cut forest takes 30 ms a sample: it would be stopped before its first hundred counts.
PYSAD: dict[str, Callable[[], Any]] = {
    "LODA (PySAD)": lambda: Scaled(preprocessing.StandardScaler(), OfPySAD("LODA", random_state=1)),
    "RSHash (PySAD)": lambda: Scaled(preprocessing.MinMaxScaler(), OfPySAD("RSHash", random_state=1)),
    "xStream (PySAD)": lambda: Scaled(preprocessing.StandardScaler(), OfPySAD("xStream", random_state=1)),
}
RCF3: dict[str, Callable[[], Any]] = {
    "Forest (rcf3)": lambda: OfRCF3(seed=1),
    "Forest (rcf3), scaled": lambda: Scaled(preprocessing.StandardScaler(), OfRCF3(seed=1)),
}
OPTIONAL = {"pysad": PYSAD, "rcf3": RCF3}  # by the package that must be installed

# Normal streams, some of which drift: how often does a threshold raise an alarm?


def numbered(rows: Iterable[Any]) -> Iterator[Sample]:
    return (({f"x{j}": float(v) for j, v in enumerate(row)}, False) for row in rows)


def gaussian(n: int = 20_000, d: int = 6, seed: int = 0) -> Any:
    """Correlated."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def sluggish() -> Any:
    """Each sample is near the one before."""
    noise = np.random.default_rng(0).normal(size=(20_000, 6))
    for t in range(1, len(noise)):
        noise[t] = 0.98 * noise[t - 1] + 0.2 * noise[t]
    return noise


def only(samples: Iterable[Sample]) -> Iterator[Sample]:
    return ((x, False) for x, _ in samples)


NORMAL: dict[str, Callable[[], Iterable[Sample]]] = {
    "Gaussian": lambda: numbered(gaussian()),
    "heavy tails": lambda: numbered(np.random.default_rng(0).standard_t(2, size=(20_000, 6))),
    "rising mean": lambda: numbered(gaussian() + np.linspace(0.0, 20.0, 20_000)[:, None]),
    "autoregressive": lambda: numbered(sluggish()),
    "RandomRBFDrift": lambda: only(
        synth.RandomRBFDrift(
            seed_model=1, seed_sample=1, n_features=8, n_centroids=30, change_speed=0.0005, n_drift_centroids=15
        ).take(20_000)
    ),
    "Waveform": lambda: only(synth.Waveform(seed=2).take(20_000)),
    "LED": lambda: only(synth.LED(seed=3, noise_percentage=0.1).take(20_000)),
    "Agrawal": lambda: only(synth.Agrawal(seed=5).take(20_000)),
    "Friedman": lambda: only(synth.Friedman(seed=1).take(20_000)),
    "cod-rna": lambda: only(streams.shuffled(datasets.LIBSVM("cod-rna"))[:20_000]),
    "elec2, in order": lambda: only(itertools.islice(streams.STREAMS["elec2"].samples(), 20_000)),
}


def valued(draw: Callable[[random.Random, int], Any]) -> Iterator[Sample]:
    """A stream of few values."""
    rng = random.Random(0)
    return (({"a": draw(rng, t)}, False) for t in range(3000))


DISCRETE: dict[str, Callable[[], Iterable[Sample]]] = {
    "constant": lambda: valued(lambda rng, t: 1.0),
    "one word": lambda: valued(lambda rng, t: "x"),
    "coin": lambda: valued(lambda rng, t: rng.randrange(2)),
    "True, False": lambda: valued(lambda rng, t: rng.random() < 0.5),
    "alternating": lambda: valued(lambda rng, t: t % 2),
    "die": lambda: valued(lambda rng, t: rng.randrange(6)),
    "2 words": lambda: valued(lambda rng, t: "ab"[rng.randrange(2)]),
    "3 words": lambda: valued(lambda rng, t: "abc"[rng.randrange(3)]),
    "20 words": lambda: valued(lambda rng, t: f"{rng.randrange(20)}"),
    "50 words": lambda: valued(lambda rng, t: f"{rng.randrange(50)}"),
    "hour of the week, 0 to 167": lambda: valued(lambda rng, t: t % 168),
    "hour of the week, strings": lambda: valued(lambda rng, t: f"{t % 168}"),
    "six words of a few each": lambda: only(sixfold()),
}


def sixfold() -> Iterator[Sample]:
    """Six strings, which combine in more than a thousand ways."""
    rng = random.Random(0)
    for _ in range(3_000):
        yield {f"x{j}": f"{int(rng.expovariate(1.0))}" for j in range(6)}, None


def alarms(streams: dict[str, Callable[[], Iterable[Sample]]], first: int) -> list[list[str]]:
    """The shares of scores above three thresholds, after the first ones."""
    table = []
    for name, stream in streams.items():
        answers, spent = timing.answers(DETECTORS["OKLDetector"](), stream(), ask="score_one")
        scores = np.array([score for score, _ in answers[first:]])
        table.append(
            [name, *(f"{np.mean(scores > at):.2%}" for at in (0.9, 0.99, 0.999)), f"{spent / len(answers) * 1e6:.1f}"]
        )
    return table


def contaminated() -> list[list[str]]:
    """Contamination, bursts and a jump, for every detector of River and ours."""
    rng, rows = np.random.default_rng(1), gaussian(12_000)
    spread = rows.std(0)

    def among(share: float, equal: bool) -> tuple[Any, Any]:
        strange = rng.random(len(rows)) < share
        found, place = rows.copy(), rng.normal(size=(1 if equal else 3, 6)) * 3.0 * spread
        found[strange] = place[rng.integers(len(place), size=strange.sum())]
        found[strange] += 0.0 if equal else 0.5 * spread * rng.normal(size=(strange.sum(), 6))
        return found, strange

    def bursts() -> tuple[Any, Any]:
        found, strange = rows.copy(), np.zeros(len(rows), dtype=bool)
        place = 3.0 * spread * rng.normal(size=6)
        for start in (4000, 6000, 10_000):
            found[start : start + 100], strange[start : start + 100] = place, True
        return found, strange

    cases = {f"{share:.0%} in three clusters": among(share, False) for share in (0.02, 0.05, 0.1)}
    cases |= {"2 %, all equal": among(0.02, True), "three bursts of 100 equal ones": bursts()}
    table = []
    for name in ("OKLDetector", "KernelOneClassSVM", "HalfSpaceTrees", "LODA"):
        row = [name]
        for found, strange in cases.values():
            samples = [(x, y) for (x, _), y in zip(numbered(found), strange.tolist(), strict=True)]
            row.append(f"{area(timing.answers(DETECTORS[name](), samples, ask='score_one')[0]):.3f}")
        table.append(row)
    return [["detector", *cases], *table]


def lasting() -> list[list[str]]:
    """Time, memory and alarms in each fifth of a long stream of ten correlated features that wander."""
    rng, model = np.random.default_rng(0), DETECTORS["OKLDetector"]()
    causes, place, table = rng.normal(size=(10, 10)), np.zeros(10), []
    for part in range(1, 6):
        spent, scores = 0.0, []
        for _ in range(LONG // 5000):
            walk = place + np.cumsum(0.01 * rng.normal(size=(1000, 10)), axis=0)
            place = walk[-1]
            found, seconds = timing.answers(model, numbered(rng.normal(size=(1000, 10)) @ causes + walk), "score_one")
            spent += seconds
            scores += [score for score, _ in found]
        late = np.array(scores[1000 if part == 1 else 0 :])
        shares = [f"{np.mean(late > at):.2%}" for at in (0.9, 0.99, 0.999)]
        table.append(
            [
                f"{part * LONG // 5:,}",
                *shares,
                f"{spent / len(scores) * 1e6:.1f}",
                f"{model['OKLDetector']._raw_memory_usage / 1e3:.0f}",
            ]
        )
    return table


def followed() -> list[list[str]]:
    """Alarms in each hundred samples after a jump of all features by so many standard deviations."""
    table = []
    for size in (2.0, 4.0, 10.0):
        rows = gaussian(8000)
        rows[4000:] += size * rows.std(0)
        answers, _ = timing.answers(DETECTORS["OKLDetector"](), numbered(rows), ask="score_one")
        late = np.array([score > 0.99 for score, _ in answers[4000:]])
        table.append(
            [
                f"{size:g}",
                *(str(int(late[at : at + 100].sum())) for at in range(0, 500, 100)),
                f"{late[500:].mean():.1%}",
            ]
        )
    return table


LABELS: dict[str, Callable[[], Any]] = {"Bananas": river_datasets.Bananas, "RandomRBF": rbf}
FEATURES: dict[str, Callable[[], Any]] = {
    "RandomFourierFeatures": lambda: river_okl.RandomFourierFeatures(seed=1) | linear_model.LogisticRegression(),
    "NystroemFeatures": lambda: river_okl.NystroemFeatures() | linear_model.LogisticRegression(),
    "RBFSampler": lambda: feature_extraction.RBFSampler(seed=1) | linear_model.LogisticRegression(),
    "LogisticRegression alone": linear_model.LogisticRegression,
}


def friedman() -> Iterator[Sample]:
    """Friedman's function; the standard deviation of its noise grows from 1 to 4 with the first feature."""
    rng = random.Random(1)
    for x, y in synth.Friedman(seed=1):
        yield x, y + rng.gauss(0, 4) * x[0]


def regressor(name: str, alpha: float) -> Any:
    options = {"OGDRegressor": {"l2": 0.0}, "FOGDRegressor": {"seed": 1, "learning_rate": 1.0}}[name]
    model = getattr(river_okl, name)(loss=optim.losses.Quantile(alpha), **options)
    return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(model)


Answers = list[tuple[Any, Any]]


def area(answers: Answers) -> float:
    """After the first samples."""
    scores, strange = zip(*answers[min(FIRST, len(answers) // 4) :], strict=True)
    if len({*strange}) == 1:  # a detector that was stopped early
        return math.nan
    return float(roc_auc_score(strange, scores))


def accuracy(answers: Answers) -> float:
    return sum(answer == y for answer, y in answers) / len(answers)


def coverage(answers: Answers) -> float:
    """The fraction of targets below the prediction, after a quarter of the stream."""
    late = answers[len(answers) // 4 :]
    return sum(y <= answer for answer, y in late) / len(late)


def compare(cache: runner.Cache, measure: Callable[[Answers], float], streams: Any, models: Any, rows: int) -> str:
    """A row for each model: metric and time, for each stream."""
    found = [list(itertools.islice(iter(stream()), rows)) for stream in streams.values()]
    how = {"ask": "score_one", "limit": SECONDS} if measure is area else {}
    table = []
    for name, make in models.items():
        row = [name]
        for samples in found:
            result = timing.measured(cache, measure, make(), samples, **how)
            row += [f"{result['value']:.3f}{'*' * (result['rows'] < len(samples))}", result["us"]]
        table.append(row)
    return runner.table(["model", *(title for name in streams for title in (name, "µs"))], table)


def shipped(cache: runner.Cache, models: dict[str, Callable[[], Any]]) -> str:
    """Shuttle as River has it: the areas over its beginning, over all of it and over its end."""
    samples, table = [(x, bool(y)) for x, y in river_datasets.Shuttle()], []

    def areas(answers: Answers) -> list[float]:
        return [area(part) for part in (answers[:5000], answers, answers[40_000 - FIRST :]) if part]

    for name, make in models.items():
        result = timing.measured(cache, areas, make(), samples, ask="score_one", limit=SECONDS_OF_SHUTTLE)
        found = [f"{value:.4f}" for value in result["value"]]
        found[1] += "*" * (result["rows"] < len(samples))
        table.append([name, *[*found, "-"][:3], f"{result['us']:,.0f}"])
    return runner.table(["detector", f"{FIRST}-4,999", "all", "40,000-49,096", "µs"], table)


def turned(cache: runner.Cache, models: dict[str, Callable[[], Any]], rows: int) -> str:
    """A row for each stream: the areas of all detectors; then their means and their times."""
    table, areas, times = [], [], []
    for name, stream in NOVELTY.items():
        samples = list(itertools.islice(stream(), rows))
        results = [
            timing.measured(cache, area, make(), samples, ask="score_one", limit=SECONDS) for make in models.values()
        ]
        areas.append([result["value"] for result in results])
        times.append([result["us"] for result in results])
        table.append([name, *(f"{r['value']:.3f}{'*' * (r['rows'] < len(samples))}" for r in results)])
    table.append(["**mean**", *(f"**{mean:.3f}**" for mean in np.nanmean(areas, axis=0))])
    table.append(["µs, median", *(f"{us:,.0f}" for us in np.median(times, axis=0))])
    return runner.table(["stream", *models], table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("novelty", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000, help="of each stream")
    options = parser.parse_args(argv)
    cache, rows = runner.Cache(options.cache / "novelty.jsonl"), options.rows
    report = runner.Report(
        options.output / "novelty.md", "Novelty, features, quantiles", f"{runner.machine()} At {runner.commit()}."
    )
    models = dict(DETECTORS)
    for package, detectors in OPTIONAL.items():
        if importlib.util.find_spec(package):
            models |= detectors
        else:
            print(f"{package} is not installed: {', '.join(detectors)} are left out")
    text = (
        f"The area under the ROC curve over the first {rows:,} samples, but for the first {FIRST} (a quarter of a short"
    )
    text += f" stream); each is scored before it is learned (*: over those of {SECONDS} s).\n\n"
    report.write("1. Novelty", text + turned(cache, models, rows))
    text = "The area under the ROC curve on `river.datasets.Shuttle`, 7 % of whose samples are anomalies"
    text += f" (*: over those of {SECONDS_OF_SHUTTLE} s).\n\n"
    report.write("2. Shuttle", text + shipped(cache, models))
    text = "The share of samples above a threshold, of streams without anomalies, after the first thousand.\n\n"
    titles = ["stream", "0.9", "0.99", "0.999", "µs"]
    report.write("3. False alarms", text + runner.table(titles, alarms(NORMAL, 1000)))
    text = "The same for streams of few values, most of one feature, samples 600 to 3,000.\n\n"
    report.write("4. Few values", text + runner.table(titles, alarms(DISCRETE, 600)))
    head, *table = contaminated()
    text = "The area under the ROC curve with anomalies that recur.\n\n"
    report.write("5. Contamination", text + runner.table(head, table))
    text = "Alarms at 0.99 in every hundred samples after a jump of all features, in standard deviations.\n\n"
    titles = ["jump", *(f"{at}-{at + 99}" for at in range(0, 500, 100)), "500-3999"]
    report.write("6. Drift", text + runner.table(titles, followed()))
    text = "Alarms, time and memory in each fifth of a stream that drifts.\n\n"
    report.write("7. A long stream", text + runner.table(["up to", "0.9", "0.99", "0.999", "µs", "kB"], lasting()))
    text = f"Accuracy of a logistic regression on features of raw samples, over at most {rows:,} of them.\n\n"
    report.write("8. Features", text + compare(cache, accuracy, LABELS, FEATURES, rows))
    text = "How many targets are below the predicted quantile: Friedman with noise that grows with x, scaled.\n\n"
    samples, table = list(itertools.islice(friedman(), rows)), []
    for name in ("OGDRegressor", "FOGDRegressor"):
        shares = (timing.measured(cache, coverage, regressor(name, a), samples)["value"] for a in (0.05, 0.5, 0.95))
        table.append([name, *(f"{share:.2%}" for share in shares)])
    report.write("9. Quantiles", text + runner.table(["model", "5 %", "50 %", "95 %"], table))


if __name__ == "__main__":
    main()
