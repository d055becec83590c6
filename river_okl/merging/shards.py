"""What is merged: models of one class with the same parameters, their start, and their weights."""

from __future__ import annotations

import copy
import dataclasses
import numbers
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from river_okl._core.states import LARGEST_SELF
from river_okl._core.store.sample import shown
from river_okl.algorithms.detector import OKLDetector
from river_okl.algorithms.novelty import KernelOneClassSVM
from river_okl.algorithms.okl import OKL
from river_okl.algorithms.tvm import TVMClassifier
from river_okl.checks import as_float, check_whole, kind_of
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel
from river_okl.labels import Labels
from river_okl.model import LabelModel, SupervisedModel

Arrays = NDArray[np.float64]


@dataclasses.dataclass
class Shards:
    """Models that may be merged, all with the same labels."""

    models: list[Any]
    start: Any
    weights: list[float] | None
    budget: int | None

    @property
    def learned(self) -> list[int]:
        """Number of samples that each model has learned since the start."""
        return [n_samples(model) - n_samples(self.start) for model in self.models]

    @property
    def shares(self) -> Arrays:
        """Weights of averages; their sum is 1."""
        weights = np.array(self.learned if self.weights is None else self.weights, dtype=np.float64)
        total = weights.sum()
        return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))

    @property
    def evidence(self) -> Arrays:
        """Weights of sums; the largest is 1."""
        weights = np.array([1.0] * len(self.models) if self.weights is None else self.weights)
        found: Arrays = weights / weights.max()
        return found

    def total(self, of: Callable[[Any], Any]) -> Any:
        """Return the total of one or several counts along the stream: the start's plus what each model has added."""
        first = of(self.start)
        sum_ = first + sum(e * (of(model) - first) for e, model in zip(self.evidence, self.models, strict=True))
        return round(sum_) if isinstance(first, int) else sum_.tolist()

    def mean(self, of: Callable[[Any], Any]) -> Any:
        """Return the average of a number or an array."""
        return average(self.shares, [of(model) for model in self.models])

    def of(self, part: Callable[[Any], Any]) -> Shards:
        """Return the shards of one part of each model."""
        return dataclasses.replace(self, models=[part(model) for model in self.models], start=part(self.start))

    def new(self) -> Any:
        """Return a new model with the models' parameters and labels, and with the requested budget."""
        first = self.models[0]
        own = "budget" in first._get_params()
        model = first.clone({"budget": self.budget} if own and self.budget is not None else None)
        if isinstance(model, LabelModel):
            for y in first._labels.names:
                model._labels.add(y, model._f)
        return model


def average(shares: Iterable[float], values: Sequence[Any]) -> Any:
    """Return the weighted average, clipped to the range of the values, which rounding must not exceed."""
    total = sum(share * value for share, value in zip(shares, values, strict=True))
    return np.clip(total, np.min(values, axis=0), np.max(values, axis=0))


def n_samples(model: Any) -> int:
    """Return the number of samples that a model has learned."""
    if isinstance(model, KernelClassifier):
        return int(model._calibration.seen)
    return int(model._f.seen if hasattr(model._f, "seen") else model._t)


def _check_start(shards: Shards) -> None:
    """Raise unless each shard has learned more samples than its start, or nothing since."""
    before = n_samples(shards.start)
    for i, model in enumerate(shards.models):
        n = n_samples(model)
        if n < before:
            raise not_from_start(i, f"start has learned {before:,} samples, models[{i}] {n:,}")
        if n == before and _points(model) != _points(shards.start):
            raise not_from_start(i, f"both have learned {n:,} samples and are different")


def _points(model: Any) -> list[dict[Hashable, float]]:
    """Return the points without coefficients, which a sample of weight 0 changes through the bandwidth."""
    if isinstance(model, OKLDetector):
        return [model._f.points.point(i) for i in range(len(model._f))]
    return [z for z, _ in model.support_vectors]


def not_from_start(i: int, why: str) -> ValueError:
    """Return the error for a model that cannot have been a copy of the start."""
    return ValueError(
        f"models[{i}] was no copy of start before it learned: {why}; give the model that all of them were copies of, "
        f"or start=None if they were new"
    )


# What may be merged ---------------------------------------------------------------------------------------------------


def gathered(models: Iterable[Any], weights: Iterable[float] | None, budget: int | None, start: Any) -> Shards:
    """Return models that can be merged, or raise an error that names what cannot."""
    found = [copy.deepcopy(model) for model in models]  # each between two samples, as other threads may train them
    if not found:
        raise ValueError("there are no models to merge")
    if budget is not None:
        check_whole("budget", budget)
    first = found[0]
    if not isinstance(first, base.Base):
        raise TypeError(f"models[0] is {kind_of(first)}; only models of river_okl and pipelines of them merge")
    new = first.clone() if start is None else copy.deepcopy(start)
    return checked(Shards(found, new, _checked_weights(weights, len(found)), budget))


def checked(shards: Shards) -> Shards:
    """Return the shards of models or of a part of each, aligned, or raise an error that names what differs."""
    first, *others = shards.models
    for i, model in enumerate(others, start=1):
        check_same(first, model, "models[0]", f"models[{i}]")
    check_same(first, shards.start, "models[0]", "start")
    return aligned(shards)


def _checked_weights(weights: Iterable[float] | None, n: int) -> list[float] | None:
    if weights is None:
        return None
    each = list(weights)
    if len(each) != n:
        raise ValueError(f"{len(each)} weights for {n} models")
    for i, w in enumerate(each):
        if not isinstance(w, numbers.Real) or isinstance(w, bool) or not (0.0 <= as_float(w) <= LARGEST_SELF):
            raise ValueError(f"weights[{i}] is {shown(w)}; it must be a number from 0 to {LARGEST_SELF:g}")
    if not any(each):
        raise ValueError("all weights are 0; at least one must be positive")
    return [float(w) for w in each]


def check_same(a: Any, b: Any, name_a: str, name_b: str) -> None:
    """Check that two objects have the same class and parameters; the error names the difference."""
    if type(a) is not type(b):
        raise TypeError(f"{name_b} is {kind_of(b)} and {name_a} {kind_of(a)}; only models of one class merge")
    mine, other = _made_with(a), _made_with(b)
    for name in sorted(mine.keys() | other.keys()):
        if not _alike(mine.get(name), other.get(name)):
            raise ValueError(
                f"{name_b} has {name}={shown(other.get(name))} and {name_a} {name}={shown(mine.get(name))}; "
                f"only models with the same parameters merge"
            )


def _made_with(thing: Any) -> dict[str, Any]:
    """Return the parameters that must be equal; parts are compared when they are merged."""
    if isinstance(thing, compose.Pipeline):
        return {"steps": list(thing.steps)}
    if isinstance(thing, compose.TransformerUnion):
        return {"transformers": list(thing.transformers)}
    if isinstance(thing, base.Wrapper):
        return {}
    parameters = thing._get_params()
    if "_POSITIONAL_ARGS" in parameters:
        return {"arguments": parameters["_POSITIONAL_ARGS"]}
    return {name: getattr(thing, name) for name in parameters}


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    if type(a) is not type(b):
        return isinstance(a, int | float) and isinstance(b, int | float) and a == b
    if isinstance(a, base.Base) and not isinstance(a, Kernel):
        return bool(a._get_params() == b._get_params())
    return bool(a == b)


# Labels ---------------------------------------------------------------------------------------------------------------


def aligned(shards: Shards) -> Shards:
    """Return the shards with all labels in all models, at the same positions if functions are added."""
    kind = type(shards.models[0])  # isinstance would accept a River pipeline for the class of its last step
    if issubclass(kind, SupervisedModel | KernelOneClassSVM | OKLDetector):
        _check_start(shards)
    if not issubclass(kind, LabelModel):
        return shards
    first, with_start = shards.models[0], [shards.start, *shards.models]
    names = joined([model._labels for model in with_start])
    first._labels.check(names, kind.__name__, multiclass=first._multiclass)
    for model in with_start:
        if issubclass(kind, OKL):  # replay.py learns labels by name
            for y in names:
                model._labels.add(y, model._f)
        else:
            _relabel(model, names)
    return shards


def joined(labels: Sequence[Labels]) -> list[Any]:
    """Return all labels by the lowest position in any model, and then by name."""
    lowest: dict[Any, int] = {}
    for each in labels:
        for y, position in each.positions.items():
            lowest[y] = min(position, lowest.get(y, position))
    ordered = sorted(lowest, key=lambda y: (lowest[y], repr(y)))
    return Labels(ordered).names


def _relabel(model: Any, names: list[Any]) -> None:
    """Give a model these labels, in this order."""
    before, after = dict(model._labels.positions), Labels(names)
    if before == after.positions:
        return
    partners = sorted((y for y in names if y not in before), key=lambda y: names.index(y) not in (0, 1))
    for y in partners:
        model._labels.add(y, model._f)
    now = model._labels.positions
    if len(names) > 2:
        _permute(model, [now[y] for y in after.names])
    elif any(after.positions[y] != position for y, position in before.items()):
        _permute(model, [1, 0])
    model._labels = after


def _permute(model: Any, order: list[int]) -> None:
    """Permute the classes: class c becomes what class order[c] was."""
    if isinstance(model, TVMClassifier):
        model._reorder(order)
    else:
        model._f.permute(order)
