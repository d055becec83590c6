"""Metrics by their argument, checked against the task."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import river.metrics
from river.metrics.base import BinaryMetric, ClassificationMetric, Metric, MultiClassMetric, RegressionMetric
from scipy import integrate

from river_okl.checks import UsageError
from river_okl.cli.lookup import classes, read_object
from river_okl.files.models import BINARY, REGRESSION

RANGE, BINS = 40.0, 40_000  # of log-odds; a probability of 1 - 1e-16 has log-odds of 37


class ROCAUC(river.metrics.ROCAUC):
    """The area under the ROC curve at 40,000 thresholds, evenly spaced in log-odds; River has ten, in probabilities.

    An update counts a score in its bin, so its time does not depend on the number of thresholds.
    """

    def __init__(self) -> None:
        super().__init__(n_thresholds=2)  # type: ignore[no-untyped-call]
        self.counts = np.zeros((2, BINS))

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        p = y_pred.get(True, 0.0) if isinstance(y_pred, dict) else float(y_pred)
        odds = math.log(max(p, 1e-300)) - math.log(max(1.0 - p, 1e-300))
        place = min(max((odds + RANGE) / (2.0 * RANGE), 0.0), 1.0) * (BINS - 1)
        self.counts[int(y_true), round(place)] += w

    def get(self) -> float:
        above = np.concatenate([[[0.0], [0.0]], self.counts[:, ::-1].cumsum(axis=1)], axis=1)
        if not (above[:, -1] > 0.0).all():
            return 0.0
        false, true = above / above[:, -1:]
        return float(integrate.trapezoid(x=false, y=true))


def find_metrics(texts: Iterable[str], task: str) -> dict[str, Any]:
    """Return River's metrics by their argument; raise unless each is one number and suits the task."""
    known = classes(river.metrics, Metric) | {"ROCAUC": _roc_auc}
    known |= {f"metrics.{name}": cls for name, cls in known.items()}
    found: dict[str, Any] = {}
    for text in texts:
        metric = read_object(text, "metric", known, {}, {})
        try:
            metric.get()
        except NotImplementedError:
            raise UsageError(f"{text} is not a single number; {_fitting(task)}") from None
        except Exception as error:  # parameters that River does not check
            raise UsageError(f"{text}: {error}") from None
        if not _fits(metric, task):
            raise UsageError(f"{text} is a metric for {_purpose(metric)}, and the task is {task}; {_fitting(task)}")
        if getattr(metric, "pos_val", True) is not True:
            raise UsageError(
                f"{text}: the positive label is the larger one, which counts as True here: leave pos_val out"
            )
        found[text] = metric
    return found


def _roc_auc(*args: Any, **options: Any) -> Metric:
    """Return ours unless River's is asked for, with thresholds."""
    return river.metrics.ROCAUC(*args, **options) if args or options else ROCAUC()  # type: ignore[no-untyped-call]


def _fits(metric: Any, task: str) -> bool:
    if task == REGRESSION:
        return isinstance(metric, RegressionMetric)
    return isinstance(metric, ClassificationMetric) and (task == BINARY or isinstance(metric, MultiClassMetric))


def _purpose(metric: Any) -> str:
    kinds = {RegressionMetric: "regression", MultiClassMetric: "classification", BinaryMetric: "two labels"}
    return next((purpose for kind, purpose in kinds.items() if isinstance(metric, kind)), "another task")


def _fitting(task: str) -> str:
    """List the metrics that suit a task, as text."""
    names = []
    for name, cls in classes(river.metrics, Metric).items():
        try:
            metric = cls()
            metric.get()
        except (TypeError, NotImplementedError):  # it needs parameters, or is a report
            continue
        if _fits(metric, task):
            names.append(name)
    return f"these do: {', '.join(names)}"
