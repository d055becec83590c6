"""100,000 samples: ``python -m benchmarks.long``.

Streams on which a bounded model could stop learning, in the protocol of `benchmarks.untuned`: defaults,
test-then-train, River's models behind a StandardScaler except on a9a, which is sparse.  elec2 and a9a (both files) are
shorter, and complete.  Each of several concepts takes a quarter of the stream.  Slow models, and two more kinds of
nearest neighbours (`BRIEF`), get the first 20,000 samples, on which section 4 compares all.  Writes `results/long.md`
and docs/long.png.

Results are stored in `results/long.jsonl`.  `OKL` is measured again if its code has changed; River's models, which take
hours and do not change, only if ``--models`` names them.  Runs longer than ``--limit`` seconds of CPU time are
truncated, which the tables state.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from matplotlib.figure import Figure
from river.datasets import synth

from benchmarks import figures, runner, untuned
from benchmarks.streams import STREAMS as SHORT
from benchmarks.streams import Sample, Stream, as_bool, dense
from river_okl import datasets, plot

ROWS = 100_000
WINDOWS = 50  # of a curve
COSTS = ("us", 1.0), ("bytes", 1e-3)
COLUMNS = 3  # of panels
COLORS = {
    "OKL": plot.COLORS[1],
    "LogisticRegression": "gray",
    "HoeffdingTree": plot.COLORS[2],
    "ARF(10)": plot.COLORS[0],
}
THROUGHOUT = [*COLORS, "NaiveBayes", "KNN(exact)", "LogisticRegression(Adam)"]
THROUGHOUT += ["NoChange", "PA", "Bagging(LR)", "HoeffdingAdaptiveTree"]
BRIEF = ["AMF", "BOLE(10)", "SRP(10)", "KNN", "KNN(unscaled)", "Mixture(River)"]
FIRST = 20_000  # samples for these
MODELS = [*THROUGHOUT, *BRIEF]
CANDIDATES = untuned.CLASSIFIERS | untuned.MORE_CLASSIFIERS


def in_turn(concepts: Iterable[Any]) -> Iterator[Sample]:
    return itertools.chain.from_iterable(concept.take(ROWS // 4) for concept in concepts)


def random_tree(seed: int) -> Stream:
    """Depth 5, five real-valued features and five integer ones."""
    return Stream(lambda: as_bool(synth.RandomTree(seed_tree=seed, seed_sample=seed)))


def moving(speed: float) -> Stream:
    return Stream(lambda: as_bool(synth.RandomRBFDrift(seed_model=42, seed_sample=42, change_speed=speed)))


def _agrawal() -> Iterator[Sample]:
    return as_bool(in_turn(synth.Agrawal(classification_function=k, seed=42 + k) for k in (1, 2, 3, 4)))


def _sea() -> Iterator[Sample]:
    return as_bool(in_turn(synth.SEA(variant=k, noise=0.1, seed=42 + k) for k in range(4)))


def _led() -> Iterator[Sample]:
    """Seven of 24 features are relevant; at each change more of them are replaced."""
    return in_turn(
        synth.LEDDrift(seed=42 + k, noise_percentage=0.1, irrelevant_features=True, n_drift_features=k)
        for k in (0, 3, 5, 7)
    )


STREAMS = {
    "RandomTree": random_tree(42),
    "Agrawal, four concepts": Stream(_agrawal),
    "SEA, four concepts": Stream(_sea),
    "RBF, slow drift": moving(0.0001),
    "RBF, fast drift": moving(0.001),
    "LED, drift": Stream(_led, classes=10),
    "Hyperplane": SHORT["Hyperplane"],
    "elec2": SHORT["elec2"],
    "a9a": Stream(
        lambda: itertools.chain(datasets.LIBSVM("a9a"), datasets.LIBSVM("a9a", "test")), sparse=True, features=123
    ),
    "RandomTree, seed 43": random_tree(43),
    "RandomTree, seed 44": random_tree(44),
}


@functools.lru_cache(maxsize=1)
def load(name: str, raw: bool = True) -> list[Sample]:
    samples = itertools.islice(STREAMS[name].samples(), ROWS)
    return list(samples) if raw else dense(STREAMS[name], samples)


def variant(name: str, model: str) -> tuple[str, bool]:
    """The arguments of `load` for this model."""
    return name, untuned.without_zeros(STREAMS[name], CANDIDATES[model])


def samples(name: str, model: str) -> list[Sample]:
    return load(*variant(name, model))[: FIRST if model in BRIEF else ROWS]


@functools.cache
def samples_digest(name: str, raw: bool) -> str:
    return runner.digest(repr(load(name, raw)).encode())


def key(name: str, model: str) -> str:
    candidate = untuned.build(STREAMS[name], CANDIDATES[model])
    return runner.digest(samples_digest(*variant(name, model)), runner.content(candidate), untuned.MEASURE)


def curve(hits: Sequence[bool], of: int) -> list[float]:
    """Accuracy in each of `WINDOWS` parts of a stream of this length, as far as it was seen."""
    width = of // WINDOWS
    return [round(100.0 * statistics.fmean(hits[i : i + width]), 2) for i in range(0, len(hits) - width + 1, width)]


def run(name: str, model: str, limit: float) -> runner.Row:
    candidate, hits = untuned.build(STREAMS[name], CANDIDATES[model]), bytearray()
    those = samples(name, model)
    found = untuned.classify(candidate, those, STREAMS[name].classes, limit, hits.append)
    us = 1e6 * found["seconds"] / found["rows"]
    whole = len(load(*variant(name, model)))
    return {**found, "us": us, "bytes": candidate._raw_memory_usage, "curve": curve(hits, whole)}


def beginning(found: runner.Results) -> runner.Results:
    """The accuracies of the first samples, by which all models can be compared."""
    windows = {name: FIRST // (row["of"] // WINDOWS) for (name, model), row in found.items() if model == "OKL"}
    return {
        (name, model): row | {"accuracy": statistics.fmean(row["curve"][: windows[name]]), "rows": FIRST, "of": FIRST}
        for (name, model), row in found.items()
        if name in windows and len(row.get("curve", ())) >= windows[name]
    }


def write(found: runner.Results, report: runner.Report) -> None:
    streams = list(dict.fromkeys(name for name, _ in found))
    lost = [f"{model} on {name}" for name, model in itertools.product(streams, MODELS) if (name, model) not in found]
    notes = f"\n\nNot measured yet: {'; '.join(lost)}." if lost else ""
    for heading, field, shown in (
        ("1. Accuracy, %", "accuracy", "{:.1f}".format),
        ("2. Log-loss", "loss", "{:.3f}".format),
    ):
        report.write(heading, untuned.section(found, streams, THROUGHOUT, field, shown) + notes)
    rows = [
        [name, *(found[name, m][field] * unit if (name, m) in found else None for field, unit in COSTS for m in COLORS)]
        for name in streams
    ]
    head = ["stream", *(f"{model}, {unit}" for unit in ("µs", "kB") for model in COLORS)]
    text = "Predicting label and probabilities, and learning; kB by River's meter at the end.\n\n"
    report.write("3. Time and memory", text + runner.table(head, rows))
    first = untuned.section(beginning(found), streams, MODELS, "accuracy", "{:.1f}".format)
    report.write(f"4. Accuracy in the first {FIRST:,} samples, %", first)


def draw(found: runner.Results) -> None:
    """Accuracy along each stream, a panel for each."""
    streams = list(dict.fromkeys(name for name, _ in found))
    rows = math.ceil(len(streams) / COLUMNS)
    figure = Figure(figsize=(10, 2.3 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for ax in panels[len(streams) :]:
        ax.set_visible(False)
    for ax, name in zip(panels, streams, strict=False):
        for model, color in COLORS.items():
            if (name, model) in found:
                row = found[name, model]
                at = [(i + 0.5) * row["of"] / WINDOWS / 1000 for i in range(len(row["curve"]))]
                ax.plot(at, row["curve"], color=color, label=model, linewidth=1.8 if model == "OKL" else 1.1)
        ax.set_title(name, fontsize="small")
        ax.tick_params(labelsize="small")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("thousands of samples", fontsize="small")
    figure.supylabel("accuracy, %", fontsize="small")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(COLORS), frameon=False)
    figure.savefig(figures.DOCS / "long.png", dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("long", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS, ["OKL"])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a pair of stream and model at most")
    runner.choice(parser, "--only", ["cells", "tables", "pictures"])
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "long.jsonl")
    if "cells" in options.only:
        pairs = [(name, model) for model, name in itertools.product(options.models, options.streams)]
        store.fill(pairs, options.limit, key, samples, run)
    if not {"tables", "pictures"} & set(options.only):
        return
    found = store.complete(itertools.product(options.streams, MODELS), options.models, key)
    if "tables" in options.only:
        write(found, runner.Report(options.output / "long.md", "100,000 samples: `python -m benchmarks.long`"))
    if "pictures" in options.only:
        draw(found)


if __name__ == "__main__":
    main()
