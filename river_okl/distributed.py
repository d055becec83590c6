"""Learning in several processes or on several machines with Ray (``pip install 'river_okl[ray]'``).

Training is bulk synchronous: in each round the model is sent to all workers as the bytes of a checkpoint,
each worker learns a chunk of the data, and the results are merged (merging/). A task is a pure function of
its arguments, so Ray can repeat it after losing a worker, with a bit-identical result.

While the workers learn a round, the driver reads and sends the next one. The workers wait only for the merge. Whatever
the length of the data, the driver holds the samples of one round and Ray those of two.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import hashlib
import importlib
import itertools
import json
import math
import os
import pathlib
import pickle
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
from river import base

from river_okl import checkpoint as checkpoints
from river_okl.checkpoint.file import write_file
from river_okl.checks import check_whole, kind_of
from river_okl.datasets import Table
from river_okl.merging import merge
from river_okl.merging.shards import check_same
from river_okl.progress import Progress

__all__ = ["Predictor", "Result", "Round", "ShardError", "train"]

WARM_UP = 1000  # samples that one worker learns first: all then start with the same scales, bandwidths and dictionary
RETRIES = 10  # per task whose worker was lost

Sample = tuple[dict[Hashable, Any], Any]
Origin = tuple[int, int]  # of a sample: its shard and row
Path = str | os.PathLike[str]


@dataclasses.dataclass
class Round:
    """Statistics of one round of training, from one merged model to the next."""

    samples: int
    """Number of samples learned."""
    metric: float
    """Accuracy, or in regression the mean absolute error; each sample was predicted before it was learned."""
    bytes: int
    """Bytes of the models sent, both ways."""
    seconds: float
    """Duration of the round, in seconds."""
    merging: float
    """Seconds of the round during which the workers waited for the driver."""


@dataclasses.dataclass
class Result:
    """The result of ``train``: the merged model and statistics of each round."""

    model: Any
    rounds: list[Round]
    complete: bool = True
    """Whether all data were learned; False after Ctrl-C, when ``model`` is that of the last merge."""

    @property
    def samples(self) -> int:
        """Number of samples learned."""
        return sum(each.samples for each in self.rounds)

    @property
    def metric(self) -> float:
        """The metric over all rounds."""
        return sum(each.metric * each.samples for each in self.rounds) / max(1, self.samples)


class ShardError(ValueError):
    """Raised if a sample cannot be learned; has its shard and row, counted from 0, and the model and rounds so far."""

    def __init__(self, shard: int, row: int, why: str, result: Result) -> None:
        super().__init__(f"shard {shard}, row {row}: {why}")
        self.shard = shard
        self.row = row
        self.model = result.model
        self.rounds = result.rounds


# One task -------------------------------------------------------------------------------------------------------------


class Learned(NamedTuple):
    """The result of a task."""

    model: bytes
    error: float  # wrong predictions, or absolute errors
    bad: tuple[int, str] | None  # the row that could not be learned, and the reason


def learned(start: bytes, chunk: Sequence[Sample]) -> Learned:
    """Predict and then learn every sample of a chunk: a pure function."""
    model = checkpoints.loads(start)
    regression = isinstance(model, base.Regressor)
    error = 0.0
    for row, sample in enumerate(chunk):
        try:
            x, y = sample
            predicted = model.predict_one(x)
            model.learn_one(x, y)
            error += abs(float(y) - (predicted or 0.0)) if regression else predicted != y
        except Exception as why:  # a step of a pipeline may raise any
            text = str(why) if isinstance(why, ValueError | TypeError | OverflowError) else ""
            return Learned(b"", 0.0, (row, text or repr(why)))
    return Learned(checkpoints.dumps(model), error, None)


# Rounds ---------------------------------------------------------------------------------------------------------------


def train(
    model: Any,
    data: Any = None,
    *,
    shards: Sequence[Any] | None = None,
    workers: int | None = None,
    every: int = 10_000,
    target: str | None = None,
    checkpoint: Path | None = None,
    progress: bool = False,
) -> Result:
    """Learn a stream on several Ray workers; Ray is started on this machine if it is not running.

    Parameters
    ----------
    model
        A model of river_okl that merges, or a pipeline of transformers and such a model. It is not modified.
    data
        Pairs (x, y), one of River's data sets, the path of a CSV, Parquet or JSON file (see
        `river_okl.datasets.Table`), or a `ray.data.Dataset`. The data are split among the workers.
    shards
        Instead of ``data``: a list of such sources, as many as workers. Every worker learns a mix of all
        shards, in proportion to their lengths if all lengths are known (lists, data sets and files).
    workers
        Number of workers. None: the number of shards, or of processors in Ray's cluster.
    every
        Number of samples that each worker learns between two merges. Larger values need less communication;
        smaller ones keep the workers closer together if the stream drifts.
    target
        The column to predict, of a file or a `ray.data.Dataset`.
    checkpoint
        A file to which the merged model is saved after each round, with a log of the rounds beside it
        (`.rounds`). If it exists, training resumes from it, with the same result as an uninterrupted run. A
        round cut short by an error in the data is not saved.
    progress
        Whether to show a progress bar.

    Returns
    -------
    The merged model, and statistics of each round. Ctrl-C ends the training with the model of the last merge.

    Raises
    ------
    ShardError
        If a sample cannot be learned. The error names shard, row and feature, and has the model of the last merge.

    Notes
    -----
    - The first 1,000 samples are learned by one worker, so that all start from the same scales, bandwidths and points.
    - Shards may differ, and may even have one label each. A single source is read in order: shuffle sorted data.
    - Models are sent as checkpoints, which execute no code on load; samples are sent in chunks.
    - The result does not depend on the assignment of chunks to workers, nor on lost workers.

    Examples
    --------
    >>> from river import datasets
    >>> from river_okl import OKLClassifier, distributed

    >>> result = distributed.train(OKLClassifier(), datasets.Bananas(), workers=2)  # doctest: +SKIP
    >>> result.model.predict_one({"1": 0.1, "2": 0.5})  # doctest: +SKIP
    True

    """
    ray, threadpoolctl = _extra("ray"), _extra("threadpoolctl")
    check_whole("every", every)
    if workers is not None:
        check_whole("workers", workers)
    if (data is None) == (shards is None):
        raise TypeError("give either data or shards")
    if shards is not None and workers not in (None, len(shards)):
        raise ValueError(f"workers is {workers!r} for {len(shards)} shards; there must be one for each")
    own = not ray.is_initialized()
    if own:
        ray.init(num_cpus=workers or (shards and len(shards)) or None, include_dashboard=False, logging_level="error")
    try:
        n = len(shards) if shards is not None else workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        opened = [source(each, target) for each in (shards if shards is not None else [data])]
        sources, sizes = [iter(each.samples) for each in opened], [each.size for each in opened]
        with threadpoolctl.threadpool_limits(1, "blas"):  # a merge's matrices are too small for threads
            return rounds(model, sources, n, every, Workers(ray, n), checkpoint, progress, sizes)
    finally:
        if own:
            ray.shutdown()


class InProcess:
    """Runs the tasks of a round one after another in this process."""

    def send(self, chunk: list[Sample]) -> Any:
        """Make a chunk available to the tasks, and return its handle."""
        return chunk

    def begin(self, start: bytes, sent: list[Any]) -> Iterator[Learned]:
        """Begin a round on these chunks, and return the results of its tasks, in order."""
        return (learned(start, chunk) for chunk in sent)

    def stop(self) -> None:
        """Abandon a round."""


class Workers:
    """Runs the tasks in n Ray processes."""

    def __init__(self, ray: Any, n: int) -> None:
        self.ray = ray
        self.task = ray.remote(max_retries=RETRIES)(learned_from)
        self.waking = [ray.remote(awake).remote() for _ in range(n)]  # takes a second, while the first samples are read
        self.waiting: list[Any] = []

    def send(self, chunk: list[Sample]) -> Any:
        # Ray would pickle each sample of a list separately, in Python: 20 µs instead of 1
        return self.ray.put(self.ray.cloudpickle.dumps(chunk))

    def begin(self, start: bytes, sent: list[Any]) -> Iterator[Learned]:
        model = self.ray.put(start)
        self.waiting = [self.task.remote(model, chunk) for chunk in sent]
        return map(self.ray.get, self.waiting)

    def stop(self) -> None:
        for each in self.waiting:
            self.ray.cancel(each, force=True)


def learned_from(start: bytes, pickled: bytes) -> Learned:
    """Call ``learned`` on a pickled chunk.

    The garbage collector is off: scanning thousands of dicts for cycles would take a fifth of the time.
    """
    gc.disable()
    try:
        return learned(start, pickle.loads(pickled))
    finally:
        gc.enable()


def awake() -> None:
    """Make a worker import everything it needs."""
    checkpoints.models.classes()


def rounds(
    model: Any,
    sources: list[Iterator[Sample]],
    workers: int,
    every: int,
    engine: InProcess | Workers,
    checkpoint: Path | None = None,
    progress: bool = False,
    sizes: Sequence[int | None] = (),
) -> Result:
    """Train in rounds: each worker learns a mix of all sources, in proportion to their sizes if all are known."""
    if not hasattr(model, "predict_one"):
        raise TypeError(f"{kind_of(model)} does not predict: train takes classifiers and regressors")
    merge([model, model], start=model)  # a model that does not merge raises before anything is learned
    record = Record(checkpoint)
    model, done = record.found(model)
    result = Result(model, done)
    coming = _Rounds(sources, workers, every, record.entries[-1]["rows"] if record.entries else [], engine.send, sizes)
    start = checkpoints.dumps(model)
    regression = isinstance(model, base.Regressor)
    bar = Progress() if progress else None
    with bar or contextlib.nullcontext():
        try:
            began = time.perf_counter()
            this = coming.next()
            outcomes = engine.begin(start, this.sent)
            while this.sent:
                following = coming.next()  # while the workers learn
                ends, error, sent = [], 0.0, len(start) * len(this.sent)
                for origins, outcome in zip(this.origins, outcomes, strict=True):
                    if outcome.bad is not None:
                        at, why = outcome.bad
                        raise ShardError(*origins[at], why, result)
                    idle = time.perf_counter()
                    ends.append(checkpoints.loads(outcome.model))  # while other workers still learn
                    error += outcome.error
                    sent += len(outcome.model)
                if len(ends) == 1:
                    model, start = ends[0], outcome.model
                else:
                    model = merge(ends, start=model)
                    start = checkpoints.dumps(model)
                outcomes = engine.begin(start, following.sent)
                now = time.perf_counter()
                n = sum(map(len, this.origins))
                done.append(Round(n, error / n if regression else 1.0 - error / n, sent, now - began, now - idle))
                began = now
                result.model = model
                if this.error is None:  # after a truncated round, later ones would begin elsewhere
                    record.keep(start, result, this.ends)
                if bar:
                    bar(n)
                this = following
            if this.error is not None:
                shard, row, error_of_data = this.error
                raise ShardError(shard, row, str(error_of_data), result) from error_of_data
        except KeyboardInterrupt:
            result.complete = False
        finally:
            engine.stop()
    return result


class _Round(NamedTuple):
    """The chunks of one round."""

    sent: list[Any]
    origins: list[list[Origin]]  # of the samples of each chunk
    ends: list[int]  # the sources' positions after the round
    error: tuple[int, int, Exception] | None  # the one that truncated the round


class _Rounds:
    """Splits the sources into chunks for all workers, round by round."""

    def __init__(
        self,
        sources: list[Iterator[Sample]],
        workers: int,
        every: int,
        learned: list[int],
        send: Callable[[list[Sample]], Any],
        sizes: Sequence[int | None],
    ) -> None:
        self.sources = sources
        self.sizes = sizes
        self.workers, self.every, self.send = workers, every, send
        self.warm = bool(learned)
        self.rows = list(learned) or [0] * len(sources)
        self.error: tuple[int, int, Exception] | None = None
        for source, n in zip(sources, self.rows, strict=True):
            next(itertools.islice(source, n, n), None)

    def next(self) -> _Round:
        chunks = self.chunks()
        sent = [self.send([sample for _, sample in chunk]) for chunk in chunks]
        origins = [[origin for origin, _ in chunk] for chunk in chunks]
        return _Round(sent, origins, list(self.rows), self.error)

    def chunks(self) -> list[list[tuple[Origin, Sample]]]:
        """Return the samples of each worker."""
        if not self.warm:
            self.warm = True
            if chunk := self.mix(WARM_UP):
                return [chunk]
        samples = self.mix(self.workers * self.every)
        n = max(math.ceil(len(samples) / self.every), min(self.workers, math.ceil(len(samples) / WARM_UP)))
        # the last samples, too, are split evenly if there are enough
        return [samples[len(samples) * k // n : len(samples) * (k + 1) // n] for k in range(n)]

    def mix(self, n_samples: int) -> list[tuple[Origin, Sample]]:
        """Return up to ``n_samples`` samples of all sources, with those of each source spread evenly.

        Workers that saw one label each would not merge into a model that separates the labels.
        """
        mixed: list[tuple[Origin, Sample]] = []
        while len(mixed) < n_samples:
            n = n_samples - len(mixed)
            chunks = self.parts(n, self.left()) or self.parts(n, [1] * len(self.sources))
            if not chunks:
                break
            places = [(2 * k + 1) / len(chunk) for chunk in chunks for k in range(len(chunk))]
            samples = list(itertools.chain(*chunks))
            mixed += [samples[k] for k in sorted(range(len(samples)), key=places.__getitem__)]
        return mixed

    def left(self) -> list[int]:
        """Return how many samples each source has left according to its size, or 1 each if a size is unknown."""
        if None in self.sizes or len(self.sizes) < len(self.sources):
            return [1] * len(self.sources)
        return [max(0, (size or 0) - row) for size, row in zip(self.sizes, self.rows, strict=True)]

    def parts(self, n: int, left: list[int]) -> list[list[tuple[Origin, Sample]]]:
        """Read up to n samples, from the sources in the proportions ``left``."""
        ends = [n * before // max(1, sum(left)) for before in itertools.accumulate(left, initial=0)]
        found = [self.read(i, end - start) for i, (start, end) in enumerate(itertools.pairwise(ends))]
        return [chunk for chunk in found if chunk]

    def read(self, i: int, n: int) -> list[tuple[Origin, Sample]]:
        """Read n samples of source i: fewer if it ends or a sample cannot be read, none after such an error."""
        chunk: list[tuple[Origin, Sample]] = []
        if self.error is None:
            try:
                for sample in itertools.islice(self.sources[i], n):
                    chunk.append(((i, self.rows[i]), sample))
                    self.rows[i] += 1
            except Exception as error:  # reported with its own message
                self.error = i, self.rows[i], error
        return chunk


class Record:
    """Saves the merged model to a file, and beside it a log of the rounds, each with the hash of its model."""

    def __init__(self, path: Path | None) -> None:
        self.path = None if path is None else os.fspath(path)
        self.entries: list[dict[str, Any]] = []

    def found(self, model: Any) -> tuple[Any, list[Round]]:
        """Return the model to resume from, and the rounds so far."""
        if self.path is None or not os.path.exists(self.path):
            return checkpoints.loads(checkpoints.dumps(model)), []
        digest = _digest(pathlib.Path(self.path).read_bytes())
        saved = checkpoints.load(self.path)
        check_same(model, saved, "model", f"the checkpoint {self.path}")
        if repr(model) != repr(saved):  # of a pipeline, whose steps are not compared
            found = " ".join(repr(saved).split())
            raise ValueError(f"the checkpoint {self.path} holds a model with other parameters: {found}")
        entries = json.loads(pathlib.Path(f"{self.path}.rounds").read_text(encoding="utf-8"))
        known = [i for i, entry in enumerate(entries) if entry["sha256"] == digest]
        if not known:
            raise ValueError(f"{self.path}.rounds does not belong to the model in {self.path}: give another file")
        self.entries = entries[: known[-1] + 1]  # there is one more if the last save was interrupted
        return saved, [Round(**entry["round"]) for entry in self.entries]

    def keep(self, data: bytes, result: Result, rows: list[int]) -> None:
        if self.path is None:
            return
        entry = {"sha256": _digest(data), "round": dataclasses.asdict(result.rounds[-1]), "rows": rows}
        self.entries.append(entry)
        text = json.dumps(self.entries, indent=1)
        write_file(text.encode(), f"{self.path}.rounds")
        write_file(data, self.path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"learning on several workers needs {name}: pip install 'river_okl[ray]'") from None


# Data -----------------------------------------------------------------------------------------------------------------


class ShardData(NamedTuple):
    """Samples, and their number if it is known."""

    samples: Iterable[Sample]
    size: int | None = None


def source(data: Any, target: str | None) -> ShardData:
    """Open pairs (x, y), a data set of River, a file or a Ray dataset."""
    is_file, is_dataset = isinstance(data, str | os.PathLike), hasattr(data, "iter_rows")
    if (is_file or is_dataset) and target is None:
        raise ValueError(f"target is None; name the column of the {'file' if is_file else 'dataset'} to predict")
    if is_dataset:
        rows = (
            ({name: value for name, value in row.items() if name != target}, row[target]) for row in data.iter_rows()
        )
        return ShardData(rows)  # counting might compute a lazy dataset twice
    if is_file:
        data = Table(data, str(target))
    return ShardData(data, len(data) if isinstance(data, Sized) else getattr(data, "n_samples", None))


# Predicting -----------------------------------------------------------------------------------------------------------


class Predictor:
    """Predicts for a `ray.data.Dataset`; each actor loads the model once: ``ds.map_batches(Predictor, ...)``.

    Parameters
    ----------
    model
        The path of a checkpoint that all machines can read, or its bytes (`river_okl.checkpoint.dumps`).
    features
        The columns to pass to the model. None: all.
    probabilities
        Whether to add the probability of each label, in columns `probability of ...`.

    Examples
    --------
    >>> import numpy as np
    >>> import river_okl
    >>> from river_okl import checkpoint, distributed

    >>> model = river_okl.SOGPClassifier()
    >>> model.learn_stream([({"x": -1.0}, False), ({"x": 1.0}, True)])
    >>> predictor = distributed.Predictor(checkpoint.dumps(model))
    >>> predictor({"x": np.array([1.0, -2.0])})["prediction"].tolist()
    [True, False]

    With Ray: `ds.map_batches(Predictor, fn_constructor_args=["model.okl"], concurrency=4)`.

    """

    def __init__(
        self, model: Path | bytes, *, features: Sequence[str] | None = None, probabilities: bool = False
    ) -> None:
        self.model = checkpoints.loads(model) if isinstance(model, bytes) else checkpoints.load(model)
        self.features = features
        self.probabilities = probabilities

    def __call__(self, batch: Any) -> Any:
        """Return the batch, a dict of arrays or a dataframe, with a new column ``prediction``."""
        columns = list(batch if self.features is None else self.features)
        arrays = [np.asarray(batch[name]) for name in columns]
        # as a list, dates in nanoseconds would be integers
        rows = zip(*(list(array) if array.dtype.kind == "M" else array.tolist() for array in arrays), strict=True)
        points = [dict(zip(columns, row, strict=True)) for row in rows]
        added = {"prediction": np.array([self.model.predict_one(x) for x in points])}
        if self.probabilities:
            each = [self.model.predict_proba_one(x) for x in points]
            if each:
                for label in each[0]:
                    added[f"probability of {label}"] = np.array([p[label] for p in each])
        if isinstance(batch, dict):
            return {**batch, **added}
        return batch.assign(**added)
