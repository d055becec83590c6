"""Test-then-train of several models on one stream: what ``python -m river_okl`` does.

The stream is read once, in blocks of samples. Every model predicts and then learns each sample of a block before the
next block is read. So memory does not grow with the stream, and all models see the same samples.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from river import compose, metrics, multiclass, preprocessing

from river_okl.cli.models import takes_all
from river_okl.series import Dates, is_date

__all__ = ["Contestant", "Inputs", "Point", "race"]

Sample = tuple[dict[Any, Any], Any]

BLOCK = 1000

# CPU time, which other programs do not affect, if its resolution is fine enough (on Windows it is not).
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


@dataclasses.dataclass
class Point:
    """A point of a learning curve: the metric so far, the time per sample in the last block, and the model's size."""

    samples: int
    metric: float
    microseconds: float
    support_vectors: int | None


class Inputs:
    """Prepares samples for models that do not take them as they come: numbers are scaled, strings one-hot encoded."""

    def __init__(self, *, scale: bool = True) -> None:
        numbers: Any = compose.SelectType(int, float)
        strings: Any = compose.SelectType(str)
        if scale:
            numbers |= preprocessing.StandardScaler()
        self.dates = Dates()
        self.encoder: Any = numbers + (strings | preprocessing.OneHotEncoder())

    def prepared(self, x: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return x for models that take strings and scale numbers, and for all others, scaled by the samples so far."""
        if any(map(is_date, x.values())):
            x = self.dates.transform_one(x)
        self.encoder.learn_one(x)
        return x, self.encoder.transform_one(x)


@dataclasses.dataclass
class Contestant:
    """A model and its performance."""

    name: str
    model: Any
    metrics: list[Any]
    """River's metrics, updated with every prediction."""
    curve: list[Point] = dataclasses.field(default_factory=list)
    samples: int = 0
    seconds: float = 0.0

    @property
    def microseconds(self) -> float:
        """Mean time of predict_one plus learn_one, in µs per sample."""
        return 1e6 * self.seconds / max(1, self.samples)

    @property
    def support_vectors(self) -> int | None:
        """Number of support vectors; None for models without any."""
        model = getattr(self.model, "regressor", self.model)
        models = model.classifiers.values() if isinstance(model, multiclass.OneVsRestClassifier) else [model]
        counts = [each.n_support_vectors for each in models if hasattr(each, "n_support_vectors")]
        return sum(counts) if counts else None

    @property
    def memory(self) -> int:
        """The size of the model in bytes, as River counts it."""
        return int(self.model._raw_memory_usage)

    def run(self, block: list[Sample]) -> None:
        """Predict and then learn every sample of a block."""
        predict, learn = self.model.predict_one, self.model.learn_one
        of_scores = [
            m for m in self.metrics if isinstance(m, metrics.base.ClassificationMetric) and not m.requires_labels
        ]
        predictions, scores = [], []
        asking, start = 0.0, CLOCK()  # ``asking``: seconds that only metrics need
        for n, (x, y) in enumerate(block, start=self.samples + 1):
            try:
                predictions.append(predict(x))
                if of_scores:
                    begin = CLOCK()
                    scores.append(self.model.predict_proba_one(x))
                    asking += CLOCK() - begin
                learn(x, y)
            except NotImplementedError:
                raise ValueError(
                    f"{self.name} has no probabilities, which {type(of_scores[0]).__name__} needs"
                ) from None
            except Exception as error:
                raise ValueError(f"{self.name}, sample {n:,}: {error}") from error
        seconds = CLOCK() - start - asking
        for metric in self.metrics:
            for (_, y), found in zip(block, scores if metric in of_scores else predictions, strict=True):
                try:
                    if found is not None and found != {}:  # as in River's evaluation
                        metric.update(y, found)
                except Exception as error:
                    raise ValueError(f"{type(metric).__name__} of {self.name}: {error}") from error
        self.samples += len(block)
        self.seconds += seconds
        metric = float(self.metrics[0].get())
        self.curve.append(Point(self.samples, metric, 1e6 * seconds / len(block), self.support_vectors))


def race(
    models: dict[str, Any],
    stream: Iterable[Sample],
    metrics: Sequence[Any],
    *,
    inputs: Inputs | None = None,
    block: int = BLOCK,
    finished: Callable[[int], None] = lambda n: None,
) -> list[Contestant]:
    """Predict and then learn the same samples with several models, which are trained in place.

    The curves have a point for each block of samples. ``inputs`` prepares samples outside the measured time.
    ``finished`` is called with the number of samples of every block.
    """
    results = [Contestant(name, model, copy.deepcopy([*metrics])) for name, model in models.items()]
    inputs, rest = inputs or Inputs(), iter(stream)
    while samples := list(itertools.islice(rest, block)):
        whole, numeric = [], []
        for x, y in samples:
            as_it_came, encoded = inputs.prepared(x)
            whole.append((as_it_came, y))
            numeric.append((encoded, y))
        for result in results:
            result.run(whole if takes_all(result.model) else numeric)
        finished(len(samples))
    return results
