"""River's pipelines and scalers around models: each step merges by itself, what is counted as if of one stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from river import compose, preprocessing, stats

from river_okl.shards.shards import Shards, aligned, check_same
from river_okl.shards.statistics import Moments

Merge = Callable[[Shards], tuple[Any, float]]


def merged(shards: Shards, merge: Merge) -> tuple[Any, float]:
    """A pipeline or scaler of all of them; ``merge`` knows what to do with other models."""
    first = shards.models[0]
    if isinstance(first, compose.Pipeline):
        return _pipeline(shards, merge)
    if isinstance(first, preprocessing.TargetStandardScaler):
        return _target_scaler(shards, merge)
    if isinstance(first, preprocessing.StandardScaler):
        return _scaler(shards), 0.0
    raise TypeError(
        f"{type(first).__name__} does not merge: it is neither a model of river_okl nor one of River's Pipeline, "
        f"StandardScaler and TargetStandardScaler"
    )


def _pipeline(shards: Shards, merge: Merge) -> tuple[Any, float]:
    names = list(shards.models[0].steps)
    steps, error = {}, 0.0
    for name in names:
        step, error = merge(_inner(shards, lambda pipeline: pipeline.steps[name]))  # noqa: B023
        steps[name] = step
    return compose.Pipeline(*steps.items()), error


def _inner(shards: Shards, part: Callable[[Any], Any]) -> Shards:
    """The same part of all of them."""
    inner = shards.of(part)
    for i, model in enumerate(inner.models[1:], start=1):
        check_same(inner.models[0], model, "models[0]", f"models[{i}]")
    check_same(inner.models[0], inner.start, "models[0]", "start")
    return aligned(inner)


def _target_scaler(shards: Shards, merge: Merge) -> tuple[Any, float]:
    regressor, error = merge(_inner(shards, lambda wrapper: wrapper.regressor))
    found = preprocessing.TargetStandardScaler(regressor)
    found.var = _var(shards, lambda wrapper: wrapper.var)
    return found, error


def _var(shards: Shards, of: Callable[[Any], stats.Var]) -> stats.Var:
    end = _joined(shards, lambda model: _moments_of(of(model)))
    var = copy.deepcopy(of(shards.models[0]))
    var.mean = stats.Mean._from_state(end.count, end.mean)
    var._S = end.count * end.variance
    return var


def _moments_of(var: stats.Var) -> Moments:
    n = var.mean.n
    return Moments(n, var.mean.get(), var._S / n if n else 0.0)


def _joined(shards: Shards, of: Callable[[Any], Moments]) -> Moments:
    ends = [of(model) for model in shards.models]
    return of(shards.start).after(list(zip(shards.evidence.tolist(), ends, strict=True)))


def _scaler(shards: Shards) -> preprocessing.StandardScaler:
    found: preprocessing.StandardScaler = copy.deepcopy(shards.models[0])
    if found.window_size is not None:
        raise TypeError(f"StandardScaler(window_size={found.window_size}) does not merge: its window is of one stream")
    for name in dict.fromkeys(name for scaler in shards.models for name in scaler.counts):

        def of(scaler: Any, name: Any = name) -> Moments:
            return Moments(scaler.counts.get(name, 0), scaler.means.get(name, 0.0), scaler.vars.get(name, 0.0))

        end = _joined(shards, of)
        found.counts[name] = round(end.count)
        found.means[name] = end.mean
        if found.with_std:
            found.vars[name] = end.variance
    return found
