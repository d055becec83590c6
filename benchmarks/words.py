"""Samples with strings and gaps: ``RIVER_DATA=... python -m benchmarks.words``.

Adult, mushrooms and german credit ("?" is a gap) need the folder `words` of `RIVER_DATA`; Agrawal (its three categories
as strings) and STAGGER are River's generators. Test-then-train, at most 10,000 samples of each stream; seed 1, and the
order of the file. The last table is over eight seeds of each generator, or each file's order and seven random ones.

`OKL` gets the raw dicts. `OKL, encoded` is the same class behind
`(SelectType(str) | OneHotEncoder()) + SelectType(numbers)`, as is GaussianNB, which accepts no strings; the tree and
the forest get the strings, without the gaps. The forest is measured on streams of at most 5,000 samples.

Times are CPU time of predict_one and learn_one, both variants of OKL in turns of 100 samples: the ratio is that of the
medians of the turns.
"""

from __future__ import annotations

import csv
import functools
import itertools
import os
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import compose, forest, naive_bayes, preprocessing, tree
from river.datasets import synth

from benchmarks import runner
from river_okl import OKLClassifier

Sample = tuple[dict[str, Any], Any]
ROWS, SLOW_ROWS, TURN, SEEDS = 10_000, 5_000, 100, 8
LABELS = {"adult": "income", "mushrooms": "edibility", "german": "classification"}


def of_file(name: str, seed: int) -> Iterator[Sample]:
    """In the order of the file for seed 1, otherwise in a random one."""
    path = pathlib.Path(os.environ.get("RIVER_DATA", "")) / "words" / f"{name}.csv"
    if not path.exists():
        return
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows if seed == 1 else random.Random(seed).sample(rows, len(rows)):
        label = row.pop(LABELS[name])
        yield {key: value(text) for key, text in row.items()}, label


def value(text: str) -> Any:
    if text == "?":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def with_strings(generator: Any, *names: str) -> Iterator[Sample]:
    for x, y in generator.take(ROWS):
        yield {k: f"{k} {v}" if k in names else v for k, v in x.items()}, y


STREAMS: dict[str, Callable[[int], Iterator[Sample]]] = {  # by seed
    **{name: functools.partial(of_file, name) for name in LABELS},
    **{
        f"Agrawal({i})": lambda seed, i=i: with_strings(
            synth.Agrawal(classification_function=i, seed=seed), "elevel", "car", "zipcode"
        )
        for i in range(10)
    },
    "STAGGER": lambda seed: with_strings(synth.STAGGER(seed=seed), "size", "color", "shape"),
}


@functools.cache
def load(name: str) -> list[Sample]:
    return drawn(name, 1)


def drawn(name: str, seed: int) -> list[Sample]:
    return list(itertools.islice(STREAMS[name](seed), ROWS))


def encoded(model: Any) -> Any:
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (words + compose.SelectType(int, float)) | model


def without_gaps(model: Any) -> Any:
    return compose.FuncTransformer(present) | model


def present(x: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in x.items() if value is not None}


MODELS: dict[str, Callable[[], Any]] = {
    "OKL": OKLClassifier,
    "OKL, encoded": lambda: encoded(OKLClassifier()),
    "GaussianNB": lambda: encoded(naive_bayes.GaussianNB()),
    "HoeffdingTree": lambda: without_gaps(tree.HoeffdingTreeClassifier()),
    "ARF(10)": lambda: without_gaps(forest.ARFClassifier(seed=1)),
}


def measured(name: str, models: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Accuracy in %, and µs/sample."""
    samples = load(name)
    made = {model: MODELS[model]() for model in models if model != "ARF(10)" or len(samples) <= SLOW_ROWS}
    right, turns = dict.fromkeys(made, 0), {model: [] for model in made}
    for start in range(0, len(samples), TURN):
        block = samples[start : start + TURN]
        for model, each in made.items():
            before = time.thread_time()
            for x, y in block:
                right[model] += each.predict_one(x) == y
                each.learn_one(x, y)
            turns[model].append((time.thread_time() - before) / len(block))
    accuracy = {model: 100.0 * right[model] / len(samples) for model in made}
    return accuracy, {model: 1e6 * statistics.median(turns[model]) for model in made}


def differences(name: str) -> list[float]:
    """By how many points OKL is more accurate than behind the encoder, for every seed."""
    found = []
    for seed in range(1, SEEDS + 1):
        samples, right = drawn(name, seed), [0, 0]
        for i, model in enumerate((OKLClassifier(), encoded(OKLClassifier()))):
            for x, y in samples:
                right[i] += model.predict_one(x) == y
                model.learn_one(x, y)
        found.append(100.0 * (right[0] - right[1]) / len(samples))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("words", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", list(MODELS))
    options = parser.parse_args(argv)
    accuracies, times, seeds = [], [], []
    for name in options.streams:
        if not load(name):
            print(f"{name}: not in RIVER_DATA", flush=True)
            continue
        accuracy, took = measured(name, options.models)
        best = max(accuracy.values())
        shown = {model: f"**{a:.2f}**" if a == best else f"{a:.2f}" for model, a in accuracy.items()}
        accuracies.append([name, len(load(name)), *(shown.get(model, "") for model in options.models)])
        ratio = f"{took['OKL'] / took['OKL, encoded']:.2f}" if {"OKL", "OKL, encoded"} <= took.keys() else ""
        times.append([name, *(took.get(model) for model in options.models), ratio])
        print(name, accuracy, took, flush=True)
        if ratio:
            each = differences(name)
            error = statistics.stdev(each) / len(each) ** 0.5
            seeds.append(
                [name, *(f"{value:+.2f}" for value in (statistics.fmean(each), min(each), max(each))), f"{error:.2f}"]
            )
            print(name, each, flush=True)
    report = runner.Report.of(__doc__, options.output / "words.md")
    note = f"{runner.machine()} At {runner.commit()}."
    report.write("1. Accuracy, %", f"{runner.table(['stream', 'samples', *options.models], accuracies)}\n\n{note}")
    head = ["stream", *options.models, "OKL / encoded"]
    report.write("2. Time, µs a sample", f"{runner.table(head, times)}\n\n{note}")
    head = ["stream", "mean", "smallest", "largest", "standard error of the mean"]
    report.write(f"3. OKL less OKL, encoded: points, {SEEDS} seeds or orders", f"{runner.table(head, seeds)}\n\n{note}")


if __name__ == "__main__":
    main()
