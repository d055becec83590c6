"""Test-then-train of several models on one stream: what ``python -m river_okl`` does.

The stream is read once, in blocks of samples. Every model predicts and then learns each sample of a block before the
next block is read: memory does not grow with the stream, and all models have always seen the same samples.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from river import multiclass, preprocessing

from river_okl._core.sample import number
from river_okl.files import Sample, Scaled, UsageError

__all__ = ["Point", "Result", "on_workers", "race"]

# CPU time, which other programs do not lengthen, if its resolution is fine enough (on Windows it is not).
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


@dataclasses.dataclass
class Point:
    """A model after some samples: its error so far, its time per sample in the last block, its size."""

    samples: int
    error: float
    microseconds: float
    support_vectors: int | None


@dataclasses.dataclass
class Scaler:
    """A StandardScaler of all features, or of the named ones."""

    names: Scaled
    scaler: Any = dataclasses.field(default_factory=preprocessing.StandardScaler)

    def __call__(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Learn a sample and return it scaled."""
        if isinstance(self.names, bool):
            chosen = x if self.names else {}
        else:
            chosen = {name: value for name, value in x.items() if name in self.names}
        try:
            self.scaler.learn_one(chosen)
        except TypeError:
            for name, value in chosen.items():
                number(name, value)  # raises an error that names the feature
            raise
        return {**x, **self.scaler.transform_one(chosen)}

    def scaled(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        return ((self(x), y) for x, y in samples)


@dataclasses.dataclass
class Result:
    """A model and its performance."""

    name: str
    model: Any
    curve: list[Point] = dataclasses.field(default_factory=list)
    totals: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)
    """Samples, errors and seconds after each block."""
    complete: bool = True
    """False if Ctrl-C ended the run before the stream did."""

    @property
    def samples(self) -> int:
        """Number of samples predicted and learned."""
        return self.totals[-1][0] if self.totals else 0

    @property
    def error(self) -> float:
        """The error rate, or in regression the mean absolute error."""
        return self.totals[-1][1] / self.samples if self.totals else 0.0

    @property
    def microseconds(self) -> float:
        """Mean time of predict_one plus learn_one, in µs per sample."""
        return 1e6 * self.totals[-1][2] / self.samples if self.totals else 0.0

    @property
    def support_vectors(self) -> int | None:
        """Number of support vectors; None for models without any."""
        model = self.model
        if isinstance(model, preprocessing.TargetStandardScaler):
            model = model.regressor
        if isinstance(model, multiclass.OneVsRestClassifier):
            counts = [m.n_support_vectors for m in model.classifiers.values() if hasattr(m, "n_support_vectors")]
            return sum(counts) if counts else None
        return getattr(model, "n_support_vectors", None)

    @property
    def memory(self) -> int:
        """The size of the model in bytes, as river counts it."""
        return int(self.model._raw_memory_usage)

    def run(self, block: list[Sample], regression: bool) -> None:
        """Predict and then learn every sample of a block."""
        predict, learn = self.model.predict_one, self.model.learn_one
        predictions: list[Any] = []  # None, from an untrained model, counts as wrong, or as 0 in regression
        start = CLOCK()
        try:
            for x, y in block:
                predictions.append(predict(x))
                learn(x, y)
        except Exception as error:
            raise UsageError(f"{self.name}, sample {self.samples + len(predictions):,}: {error}") from error
        seconds = CLOCK() - start
        errors = sum(
            abs(y - (p or 0.0)) if regression else y != p for (_, y), p in zip(block, predictions, strict=True)
        )
        before = self.totals[-1] if self.totals else (0, 0.0, 0.0)
        self.totals.append((before[0] + len(block), before[1] + errors, before[2] + seconds))
        self.curve.append(Point(self.samples, self.error, 1e6 * seconds / len(block), self.support_vectors))

    def truncate(self, blocks: int) -> None:
        """Truncate the results to this number of blocks, after an interruption."""
        del self.totals[blocks:], self.curve[blocks:]
        self.complete = False


def race(
    models: dict[str, Any],
    samples: Iterable[Sample],
    *,
    regression: bool = False,
    scaled: Scaled = True,
    block: int = 1000,
    tick: Callable[[int], None] = lambda n: None,
) -> list[Result]:
    """Predict and then learn the same samples with several models.

    Parameters
    ----------
    models
        River models by name; they are trained in place.
    samples
        Pairs of features and target.
    regression
        Whether the error is the mean absolute error instead of the error rate.
    scaled
        Whether one StandardScaler scales the features for all models, outside the measured time; or the names of the
        features to scale.
    block
        Number of samples read at a time. The curves have a point for each block.
    tick
        Called after every block with the number of its samples.

    Returns
    -------
    A result for each model, in order. Ctrl-C ends the run early; the results are then not `complete`.

    """
    results = [Result(name, model) for name, model in models.items()]
    rest = Scaler(scaled).scaled(samples)
    blocks = 0
    try:
        while samples_now := list(itertools.islice(rest, block)):
            for result in results:
                result.run(samples_now, regression)
            blocks += 1
            tick(len(samples_now))
    except KeyboardInterrupt:
        if blocks == 0:
            raise
        for result in results:  # back to the last block that all models have finished
            result.truncate(blocks)
    return results


def on_workers(
    models: dict[str, Any],
    samples: Iterable[Sample],
    *,
    workers: int,
    every: int,
    regression: bool = False,
    scaled: Scaled = True,
    progress: bool = False,
) -> list[Result]:
    """The same on several Ray workers; times are wall-clock times.

    Parameters
    ----------
    models
        Models by name; copies are trained.
    samples
        Pairs of features and target, iterated over once per model.
    workers
        Number of workers.
    every
        Number of samples that each worker learns between two merges.
    regression
        Whether the error is the mean absolute error instead of the error rate.
    scaled
        Whether a StandardScaler scales the features; or the names of the features to scale.
    progress
        Whether to show a progress bar.

    Returns
    -------
    A result for each model, in order.

    """
    from river_okl import distributed

    results = []
    for name, model in models.items():
        trained = distributed.train(
            preprocessing.StandardScaler() | model if scaled is True else model,
            samples if isinstance(scaled, bool) else Scaler(scaled).scaled(samples),
            workers=workers,
            every=every,
            progress=progress,
        )
        result = Result(name, list(trained.model.steps.values())[-1] if scaled is True else trained.model)
        result.complete = trained.complete
        n, errors, seconds = 0, 0.0, 0.0
        for each in trained.rounds:
            n += each.samples
            errors += each.samples * (each.metric if regression else 1.0 - each.metric)
            seconds += each.seconds
            result.totals.append((n, errors, seconds))
            microseconds = 1e6 * each.seconds / each.samples
            result.curve.append(Point(n, result.error, microseconds, result.support_vectors))
        results.append(result)
        if not result.complete:
            break
    return results
