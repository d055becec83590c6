"""What several workers cost and gain: ``python -m benchmarks.scale [accuracy|boxes|many|drift|speed ...]``.

Accuracy is that of the merged model on held-out rows; shards run one after another in this process, with the same bits
as on Ray's workers (tests/test_distributed.py).
"""

from __future__ import annotations

import argparse
import collections
import copy
import itertools
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from river import preprocessing
from river.datasets import synth

import river_okl
from benchmarks import figures, runner
from benchmarks.streams import Sample, shuffled
from river_okl import datasets, distributed

TRAIN, HELD_OUT = 12_000, 5_000
SHARDS = 2, 8, 32
EVERY = 300, 1_000, 4_000
BOXES, EVERY_OF_BOXES = 48_000, 1_000
MANY, EVERY_OF_MANY = 1_000, (4, 11)
EVERY_OF_DRIFT = 100, 250, 500, 1_000, 2_500


def clusters() -> list[Sample]:
    """Like covtype: seven classes of many clusters each, 20 features."""
    stream = synth.RandomRBF(seed_model=1, seed_sample=1, n_classes=7, n_features=20, n_centroids=60)
    return list(stream.take(TRAIN + HELD_OUT))


STREAMS: dict[str, Callable[[], list[Sample]]] = {
    "a9a": lambda: shuffled(datasets.LIBSVM("a9a"))[: TRAIN + HELD_OUT],
    "cod-rna": lambda: shuffled(datasets.LIBSVM("cod-rna"))[: TRAIN + HELD_OUT],
    "clusters": clusters,
}


def scaled(rows: list[Sample]) -> list[Sample]:
    """Standardised by the first thousand samples; sparse samples are unchanged."""
    if len({len(x) for x, _ in rows}) > 1:
        return rows
    scaler = preprocessing.StandardScaler()
    for x, _ in rows[:1000]:
        scaler.learn_one(x)
    return [(scaler.transform_one(x), y) for x, y in rows]


def accuracy(model: Any, rows: list[Sample]) -> float:
    return 100.0 * sum(model.predict_one(x) == y for x, y in rows) / len(rows)


def merged(model: Any, rows: list[Sample], workers: int, every: int) -> distributed.Result:
    return distributed.rounds(model, [iter(rows)], workers, every, distributed.InProcess())


def held_out(model: Any, streams: Iterable[str], shards: Sequence[int], every: Sequence[int]) -> str:
    """The accuracy of merged models on held-out rows, for each number of shards."""
    table = []
    for stream in streams:
        rows = STREAMS[stream]()
        if not isinstance(model, river_okl.OKLClassifier):
            rows = scaled(rows)
        train, test = rows[:-HELD_OUT], rows[-HELD_OUT:]
        alone = f"{accuracy(merged(model, train, 1, TRAIN).model, test):.2f}"
        for m in shards:
            merging = [n for n in every if m * n < 2 * len(train)]  # at least half a round
            found = [f"{accuracy(merged(model, train, m, n).model, test):.2f}" for n in merging]
            table.append([stream, m, *found, *[None] * (len(every) - len(found)), alone])
    return runner.table(["stream", "shards", *(f"merged every {n:,}" for n in every), "one model"], table)


def of_streams(report: runner.Report) -> None:
    for cls in (river_okl.SOGPClassifier, river_okl.OKLClassifier):
        report.write(f"Accuracy on held-out rows: {cls.__name__}", held_out(cls(), STREAMS, SHARDS, EVERY))


def boxes(stream: str) -> list[Sample]:
    """Concepts of axis-aligned boxes, which the mixture's trees learn."""
    made = (
        synth.RandomTree(seed_tree=42, seed_sample=42)
        if stream == "RandomTree"
        else synth.Agrawal(classification_function=3, seed=42)
    )
    return list(made.take(BOXES + HELD_OUT))


def averaged(models: Sequence[Any], rows: list[Sample]) -> float:
    """The accuracy of the mean of the models' probabilities."""
    right = 0
    for x, y in rows:
        total: collections.Counter[Any] = collections.Counter()
        for model in models:
            total.update(model.predict_proba_one(x))
        right += total.most_common(1)[0][0] == y
    return 100.0 * right / len(rows)


def of_boxes(report: runner.Report) -> None:
    """Trees cannot be summed: the accuracy of a merge, compared with averaging the shards' predictions."""
    table = []
    for stream in ("RandomTree", "Agrawal"):
        rows = boxes(stream)
        train, test = rows[:BOXES], rows[BOXES:]
        one = river_okl.OKLClassifier()
        one.learn_stream(train)
        start = river_okl.OKLClassifier()
        start.learn_stream(train[: distributed.WARM_UP])
        rest = train[distributed.WARM_UP :]
        for m in SHARDS:
            models = [copy.deepcopy(start) for _ in range(m)]
            for k, model in enumerate(models):
                model.learn_stream(rest[len(rest) * k // m : len(rest) * (k + 1) // m])
            alone = statistics.fmean(accuracy(model, test) for model in models)
            once = accuracy(river_okl.merge(models, start=start), test)
            often = accuracy(merged(river_okl.OKLClassifier(), train, m, EVERY_OF_BOXES).model, test)
            found = (often, once, averaged(models, test), alone, accuracy(one, test))
            table.append([stream, m, *(f"{value:.2f}" for value in found)])
    every = f"merged every {EVERY_OF_BOXES:,}"
    head = ["stream", "shards", every, "merged once", "predictions averaged", "a shard alone", "one model"]
    title = f"Concepts of boxes, {BOXES:,} samples: OKLClassifier, whose trees have no sum"
    report.write(title, runner.table(head, table))


def of_many(report: runner.Report) -> None:
    """A thousand simulated shards of eleven samples each, merged after a few samples or after all."""
    text = held_out(river_okl.SOGPClassifier(), ("a9a", "cod-rna"), [MANY], EVERY_OF_MANY)
    report.write("A thousand shards, simulated: SOGPClassifier, dictionary of 100", text)


def of_drift(report: runner.Report) -> None:
    """Accuracy along a stream with moving clusters, and bytes sent; a picture of both."""
    stream = synth.RandomRBFDrift(seed_model=1, seed_sample=1, change_speed=0.001, n_drift_centroids=20)
    rows = list(stream.take(20_000))
    table, found, sent = [], [], []
    one = merged(river_okl.OKLClassifier(), rows, 1, 2_500)
    for every in EVERY_OF_DRIFT:
        result = merged(river_okl.OKLClassifier(), rows, 4, every)
        found.append((every, 100 * result.metric))
        sent.append((every, sum(each.bytes for each in result.rounds) / 1e6))
        table.append([every, f"{found[-1][1]:.2f}", len(result.rounds), f"{sent[-1][1]:.1f}"])
    alone = [(every, 100 * one.metric) for every in EVERY_OF_DRIFT]
    curves = [
        ({"4 shards": found, "one model": alone}, {"ylabel": "accuracy along the stream, %"}),
        ({"4 shards": sent}, {"ylabel": "MB sent", "yscale": "log"}),
    ]
    common = {"xscale": "log", "xlabel": "samples of a shard between two merges"}
    runner.curves(figures.DOCS / "scale-drift.png", [(lines, common | options) for lines, options in curves])
    head = ["4 shards, merged every", "accuracy along the stream", "rounds", "MB sent"]
    title = "A stream that drifts: RandomRBFDrift, OKLClassifier"
    report.write(title, f"{runner.table(head, table)}\n\nOne model: {100 * one.metric:.2f} %.")


def learning(rows: list[Sample]) -> float:
    """The seconds of one model for these samples, in this process."""
    model, start = river_okl.OKLClassifier(), time.perf_counter()
    model.learn_stream(rows)
    return time.perf_counter() - start


def of_two_cores(rows: list[Sample]) -> float:
    """The speed-up of two independent processes: an upper bound for two workers on this machine."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        [*pool.map(learning, [rows[:100]] * 2)]  # they are up
        alone = statistics.median(pool.submit(learning, rows).result() for _ in range(3))
        beside = statistics.median(max(pool.map(learning, [rows] * 2)) for _ in range(3))
    return 2.0 * alone / beside


def of_speed(report: runner.Report) -> None:
    """On Ray: samples per second (wall clock), and the driver's CPU time; medians of three interleaved runs."""
    rows = list(synth.RandomRBF(seed_model=1, seed_sample=1, n_features=10).take(200_000))
    most = of_two_cores(rows[:30_000])
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's default is 15
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    table = []
    for every in (2_500, 10_000, 50_000):
        runs: dict[int, list[tuple[float, float, distributed.Result]]] = {1: [], 2: []}
        for _, workers in itertools.product(range(3), runs):
            distributed.train(river_okl.OKLClassifier(), rows[:1500], workers=workers, every=500)  # workers are up
            wall, cpu = time.perf_counter(), time.process_time()
            result = distributed.train(river_okl.OKLClassifier(), rows, workers=workers, every=every)
            runs[workers].append((time.perf_counter() - wall, time.process_time() - cpu, result))
        alone = statistics.median(wall for wall, *_ in runs[1])
        for workers, found in runs.items():
            wall, cpu = (statistics.median(numbers) for numbers in list(zip(*found, strict=True))[:2])
            rounds = found[0][2].rounds
            waiting = sum(each.merging for each in rounds) / sum(each.seconds for each in rounds)
            costs = [f"{waiting:.1%}", 1e6 * cpu / len(rows), f"{cpu / wall / 2:.1%}", f"{rounds[1].bytes / 1e6:.2f}"]
            table.append([every, workers, len(rows) / wall, f"{alone / wall:.2f}", *costs])
    ray.shutdown()
    costs = ["workers wait", "driver µs/sample", "of two cores", "MB a round"]
    head = ["merged every", "workers", "samples/s", "x", *costs]
    load = (
        f"Two processes that share nothing are {most:.2f} times as fast as one on these cores.  "
        f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors that others use, too."
    )
    report.write("Speed: OKLClassifier, 10 features, 200,000 samples, on Ray", f"{runner.table(head, table)}\n\n{load}")


PARTS = {"accuracy": of_streams, "boxes": of_boxes, "many": of_many, "drift": of_drift, "speed": of_speed}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The cost and gain of several workers; all of it takes half an hour.")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    chosen = parser.parse_args().parts
    intro = f"`python -m benchmarks.scale`. {runner.machine()} At {runner.commit()}."
    out = runner.Report(runner.RESULTS / "scale.md", "Beyond one machine", intro)
    for part in chosen:
        PARTS[part](out)
