"""Test-then-train of several models on one stream: what ``python -m river_okl`` does.

The stream is read once, in blocks of samples. Every model predicts and then learns each sample of a block before the
next block is read. So memory does not grow with the stream, and all models have seen the same samples at any time.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from river import base, compose, multiclass, preprocessing

from river_okl.checks import UsageError
from river_okl.files.models import Numeric
from river_okl.files.stream import Sample
from river_okl.series import Dates, is_date

__all__ = ["Contestant", "Point", "on_workers", "race"]

# CPU time, which other programs do not affect, if its resolution is fine enough (on Windows it is not).
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


@dataclasses.dataclass
class Point:
    """A point of a learning curve: the error so far, the time per sample in the last block, and the model's size."""

    samples: int
    error: float
    microseconds: float
    support_vectors: int | None


def innermost(model: Any) -> Any:
    """Return a model without the steps and wrappers around it."""
    while True:
        if isinstance(model, compose.Pipeline):
            model = model[-1]
        elif isinstance(model, base.Wrapper):
            model = model._wrapped_model
        else:
            return model


def takes_all(model: Any) -> bool:
    """Return whether a model takes strings as they are and scales numbers itself."""
    model = innermost(model)
    return bool(getattr(model, "_takes_words", False) and getattr(model, "scale", False))


class Inputs:
    """Prepares samples: by ``whole`` for models that take strings and scale numbers, by ``numbers`` for the others."""

    def __init__(self, scaled: bool = True):
        self.numeric = Numeric(scale=scaled)
        self.dates = Dates()
        self.any_dates = False

    def of(self, model: Any) -> Callable[[dict[Any, Any]], dict[Any, Any]]:
        """Return the function that prepares a sample for a model."""
        return self.whole if takes_all(model) else self.numbers

    def whole(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return x with its dates encoded."""
        if not any(map(is_date, x.values())):
            return x
        self.any_dates = True
        return self.dates.transform_one(x)

    def numbers(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return x as numbers, scaled by the samples so far, including x."""
        self.numeric.learn_one(x)
        return self.numeric.transform_one(x)

    def pipeline(self, model: Any) -> Any:
        """Return a pipeline of these steps and the model, for samples as they come."""
        if takes_all(model):
            return self.dates | model if self.any_dates else model
        return self.numeric | model


class AsTheyCome(Inputs):
    """Leaves samples as they are, for models that have their own steps."""

    def of(self, model: Any) -> Callable[[dict[Any, Any]], dict[Any, Any]]:
        return lambda x: x

    def pipeline(self, model: Any) -> Any:
        return model


class Total(NamedTuple):
    """Totals of all blocks so far."""

    samples: int = 0
    targets: int = 0
    errors: float = 0.0
    seconds: float = 0.0

    @property
    def error(self) -> float:
        return self.errors / self.targets if self.targets else math.nan

    def plus(self, samples: int, targets: int, errors: float, seconds: float) -> Total:
        """Return the totals with one more block."""
        return Total(self.samples + samples, self.targets + targets, self.errors + errors, self.seconds + seconds)


@dataclasses.dataclass
class Contestant:
    """A model and its performance."""

    name: str
    model: Any
    curve: list[Point] = dataclasses.field(default_factory=list)
    total: Total = dataclasses.field(default_factory=Total)
    complete: bool = True
    """False if Ctrl-C ended the run before the stream did."""
    metrics: list[Any] = dataclasses.field(default_factory=list)
    """River's metrics, copied for each model and updated with every prediction."""
    with_scores: bool = False
    """Whether to keep the probabilities of the last block."""
    predictions: list[Any] = dataclasses.field(default_factory=list)
    """The predictions of the last block."""
    scores: list[Any] = dataclasses.field(default_factory=list)
    """The probabilities of the last block, if they were asked for."""
    pipeline: Any = None
    """The model with the steps before it, if it was trained on several workers."""

    @property
    def samples(self) -> int:
        """Number of samples predicted."""
        return self.total.samples

    @property
    def error(self) -> float:
        """The error rate, or in regression the mean absolute error; NaN without targets."""
        return self.total.error

    @property
    def microseconds(self) -> float:
        """Mean time of predict_one plus learn_one, in µs per sample."""
        return 1e6 * self.total.seconds / max(1, self.samples)

    @property
    def support_vectors(self) -> int | None:
        """Number of support vectors; None for models without any."""
        model = self.model
        if isinstance(model, compose.Pipeline):
            model = model[-1]
        if isinstance(model, preprocessing.TargetStandardScaler):
            model = model.regressor
        models = model.classifiers.values() if isinstance(model, multiclass.OneVsRestClassifier) else [model]
        counts = [each.n_support_vectors for each in models if hasattr(each, "n_support_vectors")]
        return sum(counts) if counts else None

    @property
    def memory(self) -> int:
        """The size of the model in bytes, as river counts it."""
        return int(self.model._raw_memory_usage)

    def run(self, block: list[Sample], regression: bool) -> None:
        """Predict and then learn every sample of a block; samples without a target are only predicted."""
        self._before = len(self.curve), copy.deepcopy(self.metrics), self.total
        predict, learn = self.model.predict_one, self.model.learn_one
        of_labels = [metric for metric in self.metrics if regression or metric.requires_labels]
        of_scores = [metric for metric in self.metrics if not (regression or metric.requires_labels)]
        with_scores = bool(of_scores) or self.with_scores
        predictions: list[Any] = []  # None (an untrained model) counts as wrong, or as 0 in regression
        scores: list[Any] = []
        n = self.samples  # the number of the current sample
        asking = 0.0  # seconds needed only for metrics
        start = CLOCK()
        try:
            for x, y in block:
                n += 1
                predictions.append(predict(x))
                if with_scores:
                    begin = CLOCK()
                    scores.append(self.model.predict_proba_one(x))
                    asking += CLOCK() - begin
                if y is not None:
                    learn(x, y)
        except NotImplementedError:
            needed = ", ".join(type(metric).__name__ for metric in of_scores) or "--predictions"
            raise UsageError(f"{self.name} has no probabilities, which {needed} needs") from None
        except Exception as error:
            raise UsageError(f"{self.name}, sample {n:,}: {error}") from error
        seconds = CLOCK() - start - asking
        for group, found in ((of_labels, predictions), (of_scores, scores)):
            for metric in group:
                self._update(metric, block, found)
        self.predictions, self.scores = predictions, scores
        errors, targets = 0.0, 0
        for (_, y), p in zip(block, predictions, strict=True):
            if y is not None:
                targets += 1
                errors += abs(y - (p or 0.0)) if regression else y != p
        self.total = self.total.plus(len(block), targets, errors, seconds)
        self.curve.append(Point(self.samples, self.error, 1e6 * seconds / len(block), self.support_vectors))

    def _update(self, metric: Any, block: list[Sample], found: list[Any]) -> None:
        for i, ((_, y), p) in enumerate(zip(block, found, strict=True), start=1):
            if y is None or p is None or p == {}:  # as in River's evaluation
                continue
            try:
                metric.update(y, p)
            except (ValueError, ArithmeticError) as error:
                raise UsageError(
                    f"{type(metric).__name__} of {self.name}, sample {self.samples + i:,}: {error}, for the target {y} "
                    f"and the prediction {p}; MAE, RMSE and R2 take all numbers"
                ) from None

    def truncate(self, blocks: int) -> None:
        """Truncate the results to this number of blocks, after an interruption."""
        if self._before[0] == blocks:  # this model had begun one more
            _, self.metrics, self.total = self._before
        del self.curve[blocks:]
        self.complete = False


def race(
    models: dict[str, Any],
    samples: Iterable[Sample],
    *,
    regression: bool = False,
    inputs: Inputs | None = None,
    block: int = 1000,
    metrics: Sequence[Any] = (),
    with_scores: bool = False,
    finished: Callable[[list[Sample], list[Contestant]], None] = lambda block, results: None,
) -> list[Contestant]:
    """Predict and then learn the same samples with several models, which are trained in place.

    Samples are read in blocks, and the curves have a point for each block; a target may be None. ``inputs`` prepares
    the samples, outside the measured time: by default one StandardScaler scales the numbers for all models that do not
    do so themselves. ``finished`` is called with every block that all models have finished, and the results so far.
    Ctrl-C ends the run early; the results are then not ``complete``.
    """
    results = [
        Contestant(name, model, metrics=copy.deepcopy(list(metrics)), with_scores=with_scores)
        for name, model in models.items()
    ]
    inputs = inputs or Inputs()
    prepared = {result.name: inputs.of(result.model) for result in results}
    rest, blocks = iter(samples), 0
    try:
        while samples_now := list(itertools.islice(rest, block)):
            seen = {prepare: [(prepare(x), y) for x, y in samples_now] for prepare in {*prepared.values()}}
            for result in results:
                result.run(seen[prepared[result.name]], regression)
            blocks += 1
            finished(samples_now, results)
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
    inputs: Inputs,
    regression: bool,
) -> list[Contestant]:
    """Predict and then learn with copies of the models on several Ray workers; times are wall-clock times.

    ``samples`` is iterated over once per model. Each worker learns ``every`` samples between two merges.
    """
    from river_okl import distributed

    results = []
    for name, model in models.items():
        trained = distributed.train(inputs.pipeline(model), samples, workers=workers, every=every, progress=True)
        found = trained.model
        last = found[-1] if isinstance(found, compose.Pipeline) else found
        result = Contestant(name, last, pipeline=found, complete=trained.complete)
        for each in trained.rounds:
            errors = each.samples * (each.metric if regression else 1.0 - each.metric)
            result.total = result.total.plus(each.samples, each.samples, errors, each.seconds)
            microseconds = 1e6 * each.seconds / each.samples
            result.curve.append(Point(result.samples, result.error, microseconds, result.support_vectors))
        results.append(result)
        if not result.complete:
            break
    return results
