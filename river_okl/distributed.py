"""Learning on several processes or machines, on Ray (``pip install 'river_okl[ray]'``; nothing else here imports it).

Rounds, bulk synchronous: the model goes out to all workers as the bytes of a checkpoint, each learns a chunk of the
data, what comes back is merged (shards/), and the next round begins.  A task is a pure function of its arguments, so
that Ray may run it again after a lost worker, and the result has the same bits.  The driver holds the chunks of two
rounds, however long the data are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from river import base

from river_okl import checkpoint as checkpoints
from river_okl.checkpoint.file import write_file
from river_okl.checks import check_whole
from river_okl.cli.command import Progress
from river_okl.cli.mistakes import Mistake
from river_okl.shards import merge
from river_okl.shards.shards import check_same

__all__ = ["Predictor", "Result", "Round", "ShardError", "train"]

WARM_UP = 1000  # samples that one worker learns first: then all start with the same scales, bandwidths and dictionary
RETRIES = 10  # of a task whose worker was lost

Sample = tuple[dict[Hashable, Any], Any]
Path = str | os.PathLike[str]


@dataclasses.dataclass
class Round:
    """What happened between two merged models."""

    samples: int
    """How many samples were learned."""
    metric: float
    """Accuracy, or in regression the mean absolute error; every sample was predicted before it was learned."""
    bytes: int
    """Of the models that were sent, there and back."""
    seconds: float
    """How long it took."""
    merging: float
    """How many of these seconds the workers waited for the driver."""


@dataclasses.dataclass
class Result:
    """What ``train`` returns."""

    model: Any
    rounds: list[Round]
    complete: bool = True
    """Whether all data were learned; False after Ctrl-C, and the model is the one that was merged last."""

    @property
    def samples(self) -> int:
        """How many samples were learned."""
        return sum(each.samples for each in self.rounds)

    @property
    def metric(self) -> float:
        """That of all rounds together."""
        return sum(each.metric * each.samples for each in self.rounds) / max(1, self.samples)


class ShardError(ValueError):
    """A sample that cannot be learned: its shard and row, counted from 0, and the model and rounds until then."""

    def __init__(self, shard: int, row: int, why: str, result: Result) -> None:
        super().__init__(f"shard {shard}, row {row}: {why}")
        self.shard = shard
        self.row = row
        self.model = result.model
        self.rounds = result.rounds


# One task -------------------------------------------------------------------------------------------------------------


class Learned(NamedTuple):
    """What a task returns."""

    model: bytes
    error: float  # wrong predictions, or absolute errors
    bad: tuple[int, str] | None  # a row of the chunk that could not be learned, and why


def learned(start: bytes, chunk: Sequence[Sample]) -> Learned:
    """A model that has predicted and then learned every sample of a chunk: a function of its arguments alone."""
    model = checkpoints.loads(start)
    regression = isinstance(model, base.Regressor)
    error = 0.0
    for row, (x, y) in enumerate(chunk):
        try:
            predicted = model.predict_one(x)
            model.learn_one(x, y)
        except (ValueError, TypeError, OverflowError) as why:
            return Learned(b"", 0.0, (row, str(why) or type(why).__name__))
        error += abs(y - (predicted or 0.0)) if regression else predicted != y
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
    """Learn a stream on several workers of Ray, which is started on this machine where it does not run yet.

    Parameters
    ----------
    model
        A model of river_okl that merges, or a pipeline of scalers and such a model. It stays as it is.
    data
        Pairs (x, y), the path of a CSV or libsvm file, read as the command reads it (of two labels the larger becomes
        True), or a `ray.data.Dataset`: it is dealt out to the workers.
    shards
        Instead of ``data`` a list of such, one for each worker.
    workers
        How many. None: as many as there are shards, or processors in Ray's cluster.
    every
        How many samples each worker learns between two merges. More of them spare messages, fewer keep the workers
        together where the stream drifts.
    target
        The column that is to be predicted: of a CSV file (None: its last), of a dataset.
    checkpoint
        A file to which the merged model is saved after each round, with a record of the rounds beside it (`.rounds`).
        Where it is there already, training goes on from it.
    progress
        Whether to show a progress bar.

    Returns
    -------
    The merged model, and what happened in each round. Ctrl-C ends the training with the model that was merged last.

    Raises
    ------
    ShardError
        Where a sample cannot be learned; it names shard, row and feature, and has the model that was merged before.

    Notes
    -----
    - The first 1,000 samples are learned by one worker, so that all start from the same scales, bandwidths and points.
    - Bytes that are sent are checkpoints, which run nothing when they are loaded. Single samples are never sent.
    - The result does not depend on which worker does what, nor on whether some are lost.

    Examples
    --------
    >>> from river import datasets
    >>> from river_okl import OKLClassifier, distributed

    >>> result = distributed.train(OKLClassifier(), datasets.Bananas(), workers=2)  # doctest: +SKIP
    >>> result.model.predict_one({"1": 0.1, "2": 0.5})  # doctest: +SKIP
    True

    """
    ray = _ray()
    check_whole("every", every)
    if workers is not None:
        check_whole("workers", workers)
    if (data is None) == (shards is None):
        raise TypeError("give either data or shards")
    if shards is not None and workers not in (None, len(shards)):
        raise ValueError(f"workers is {workers!r} for {len(shards)} shards; there is one for each")
    own = not ray.is_initialized()
    if own:
        ray.init(num_cpus=workers or (shards and len(shards)) or None, include_dashboard=False, logging_level="error")
    try:
        n = len(shards) if shards is not None else workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        task = ray.remote(max_retries=RETRIES)(learned)

        def run(start: bytes, chunks: list[list[Sample]]) -> Callable[[], list[Learned]]:
            sent = ray.put(start)
            waiting = [task.remote(sent, chunk) for chunk in chunks]

            def wait() -> list[Learned]:
                try:
                    found: list[Learned] = ray.get(waiting)
                except KeyboardInterrupt:
                    for each in waiting:
                        ray.cancel(each, force=True)
                    raise
                return found

            return wait

        sources = [samples(each, target) for each in (shards if shards is not None else [data])]
        return rounds(model, sources, n, every, run, checkpoint, progress)
    finally:
        if own:
            ray.shutdown()


Run = Callable[[bytes, list[list[Sample]]], Callable[[], list[Learned]]]


def here(start: bytes, chunks: list[list[Sample]]) -> Callable[[], list[Learned]]:
    """The tasks of a round, one after another in this process: what Ray's workers would return."""
    return lambda: [learned(start, chunk) for chunk in chunks]


def rounds(
    model: Any,
    sources: list[Iterator[Sample]],
    workers: int,
    every: int,
    run: Run,
    checkpoint: Path | None = None,
    progress: bool = False,
) -> Result:
    """Rounds of so many workers; one source is dealt out to all of them, several are one for each."""
    merge([model, model], start=model)  # what does not merge says so before anything is learned
    record = Record(checkpoint)
    model, done = record.found(model)
    result = Result(model, done)
    deal = _Dealer(sources, workers, every, record.entries[-1]["rows"] if record.entries else [])
    start = checkpoints.dumps(model)
    regression = isinstance(model, base.Regressor)
    bar = Progress(None) if progress else None
    with bar or contextlib.nullcontext():
        try:
            began = time.perf_counter()
            hand = deal.next()
            while hand.chunks:
                wait = run(start, hand.chunks)
                following = deal.next()  # while they learn
                outcomes = wait()
                idle = time.perf_counter()
                for (shard, row), outcome in zip(hand.rows, outcomes, strict=True):
                    if outcome.bad is not None:
                        at, why = outcome.bad
                        raise ShardError(shard, row + at, why, result)
                ends = [checkpoints.loads(each.model) for each in outcomes]
                model = ends[0] if len(ends) == 1 else merge(ends, start=model)
                sent = len(start) * len(outcomes) + sum(len(each.model) for each in outcomes)
                start = checkpoints.dumps(model)
                n, error = sum(map(len, hand.chunks)), sum(each.error for each in outcomes)
                now = time.perf_counter()
                done.append(Round(n, error / n if regression else 1.0 - error / n, sent, now - began, now - idle))
                began = now
                result.model = model
                record.keep(start, result, hand.ends)
                if bar:
                    bar(n)
                hand = following
            if hand.error is not None:
                shard, row, error_of_data = hand.error
                raise ShardError(shard, row, str(error_of_data), result) from error_of_data
        except KeyboardInterrupt:
            result.complete = False
    return result


class _Hand(NamedTuple):
    """The chunks of a round: where each comes from, where its sources stand after it, and what was wrong beyond."""

    chunks: list[list[Sample]]
    rows: list[tuple[int, int]]
    ends: list[int]
    error: tuple[int, int, Exception] | None


class _Dealer:
    """Chunks for all workers, round by round."""

    def __init__(self, sources: list[Iterator[Sample]], workers: int, every: int, learned: list[int]) -> None:
        self.sources = sources
        self.workers, self.every = workers, every
        self.warm = bool(learned)
        self.rows = list(learned) or [0] * len(sources)
        self.error: tuple[int, int, Exception] | None = None
        for source, n in zip(sources, self.rows, strict=True):
            next(itertools.islice(source, n, n), None)

    def next(self) -> _Hand:
        if self.error is not None:
            return _Hand([], [], self.rows, self.error)
        if not self.warm:
            turns, size = [0], min(WARM_UP, self.every)
            self.warm = True
        else:
            turns, size = [i % len(self.sources) for i in range(self.workers)], self.every
        chunks, starts = [], []
        for i in turns:
            chunk: list[Sample] = []
            try:
                chunk.extend(itertools.islice(self.sources[i], size))
            except Exception as error:  # of the data, in its own words
                self.error = i, self.rows[i] + len(chunk), error
            if chunk:
                chunks.append(chunk)
                starts.append((i, self.rows[i]))
                self.rows[i] += len(chunk)
            if self.error is not None:
                break
        if not chunks and self.error is None and any(self._more(i) for i in range(len(self.sources))):
            return self.next()  # the warm-up's source was empty
        return _Hand(chunks, starts, list(self.rows), self.error)

    def _more(self, i: int) -> bool:
        first = next(self.sources[i], None)
        if first is None:
            return False
        self.sources[i] = itertools.chain([first], self.sources[i])
        return True


class Record:
    """The merged model in a file, and beside it what each round was, by the content of the model."""

    def __init__(self, path: Path | None) -> None:
        self.path = None if path is None else os.fspath(path)
        self.entries: list[dict[str, Any]] = []

    def found(self, model: Any) -> tuple[Any, list[Round]]:
        """The model to go on from, and the rounds that led to it."""
        if self.path is None or not os.path.exists(self.path):
            return checkpoints.loads(checkpoints.dumps(model)), []
        with open(self.path, "rb") as file:
            data = file.read()
        saved = checkpoints.load(self.path)
        check_same(model, saved, "model", f"the checkpoint {self.path}")
        with open(f"{self.path}.rounds", encoding="utf-8") as file:
            entries = json.load(file)
        known = [i for i, entry in enumerate(entries) if entry["sha256"] == _digest(data)]
        if not known:
            raise ValueError(f"{self.path}.rounds is not about the model in {self.path}: give another file")
        self.entries = entries[: known[-1] + 1]  # one more where the last save was interrupted
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


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ImportError("learning on several workers needs ray: pip install 'river_okl[ray]'") from None
    return ray


# Data -----------------------------------------------------------------------------------------------------------------


def samples(data: Any, target: str | None) -> Iterator[Sample]:
    """Pairs (x, y) from pairs, a file, or a dataset of Ray."""
    if isinstance(data, str | os.PathLike):
        from river_okl.cli.files import read_file

        try:
            return iter(read_file(os.fspath(data), target, ()).samples)
        except Mistake as mistake:
            raise ValueError(str(mistake)) from None
    if hasattr(data, "iter_rows"):
        if target is None:
            raise ValueError("target is None; name the column of the dataset that is to be predicted")
        return (
            ({name: value for name, value in row.items() if name != target}, row[target]) for row in data.iter_rows()
        )
    return iter(data)


# Predicting -----------------------------------------------------------------------------------------------------------


class Predictor:
    """Predictions for a `ray.data.Dataset`, a model loaded once for each actor: ``ds.map_batches(Predictor, ...)``.

    Parameters
    ----------
    model
        The path of a checkpoint that all machines can read, or its bytes (`river_okl.checkpoint.dumps`).
    features
        The columns that the model knows. None: all.
    probabilities
        Whether to add the probability of each label, too, as columns `probability of ...`.

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
        """The batch, a dict of arrays or a dataframe, with a column ``prediction``."""
        columns = list(batch if self.features is None else self.features)
        rows = zip(*(np.asarray(batch[name]).tolist() for name in columns), strict=True)
        points = [dict(zip(columns, row, strict=True)) for row in rows]
        added = {"prediction": np.array([self.model.predict_one(x) for x in points])}
        if self.probabilities:
            each = [self.model.predict_proba_one(x) for x in points]
            for label in each[0] if each else ():
                added[f"probability of {label}"] = np.array([p[label] for p in each])
        if isinstance(batch, dict):
            return {**batch, **added}
        return batch.assign(**added)
