"""River's pipelines, unions and transformers around models: each is merged on its own, as if from one stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import compose, feature_extraction, preprocessing, stats
from river.preprocessing.impute import Constant

from river_okl.checks import kind_of
from river_okl.merging.shards import Shards, aligned, check_same
from river_okl.merging.statistics import Moments
from river_okl.model import CompiledModel
from river_okl.series import Dates, Lags
from river_okl.tables.models import Numeric

Merge = Callable[[Shards], Any]


def merged(shards: Shards, merge: Merge) -> Any:
    """The merged pipeline or scaler; other models are left to ``merge``."""
    first = shards.models[0]
    if isinstance(first, compose.Pipeline):
        return _pipeline(shards, merge)
    if isinstance(first, preprocessing.TargetStandardScaler):
        return _target_scaler(shards, merge)
    if isinstance(first, compose.TransformerUnion):
        return _union(shards, merge)
    for cls, rule in TRANSFORMERS.items():
        if type(first) is cls:
            return rule(shards)
    if isinstance(first, CompiledModel):
        raise TypeError(f"{type(first).__name__} does not merge: only classifiers and regressors of river_okl do")
    raise TypeError(
        f"{type(first).__name__} does not merge: it is neither a classifier or regressor of river_okl nor one of "
        f"River's Pipeline, TransformerUnion, TargetStandardScaler, {', '.join(cls.__name__ for cls in TRANSFORMERS)}"
    )


def _pipeline(shards: Shards, merge: Merge) -> Any:
    names = list(shards.models[0].steps)
    parts = [(name, merge(_inner(shards, lambda pipeline: pipeline.steps[name]))) for name in names]  # noqa: B023
    return compose.Pipeline(*parts)


def _union(shards: Shards, merge: Merge) -> Any:
    parts = [
        (name, merge(_inner(shards, lambda union: union.transformers[name])))  # noqa: B023
        for name in shards.models[0].transformers
    ]
    return compose.TransformerUnion(*parts)


def _inner(shards: Shards, part: Callable[[Any], Any]) -> Shards:
    """The same part of all of them."""
    inner = shards.of(part)
    for i, model in enumerate(inner.models[1:], start=1):
        check_same(inner.models[0], model, "models[0]", f"models[{i}]")
    check_same(inner.models[0], inner.start, "models[0]", "start")
    return aligned(inner)


def _target_scaler(shards: Shards, merge: Merge) -> Any:
    found = preprocessing.TargetStandardScaler(merge(_inner(shards, lambda wrapper: wrapper.regressor)))
    found.var = _var(shards, lambda wrapper: wrapper.var)
    return found


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
    """Those of one stream: counts and sums of the start, plus what each shard has added.  River forgets nothing."""
    centre = of(shards.models[0]).mean  # squares are taken from here

    def sums(model: Any) -> NDArray[np.float64]:
        each = of(model)
        off = each.mean - centre
        return each.count * np.array([1.0, off, each.variance + off * off])

    first = sums(shards.start)
    added = sum(e * (sums(model) - first) for e, model in zip(shards.evidence, shards.models, strict=True))
    count, off, square = (first + added).tolist()
    if count <= 0.0:
        return Moments()
    return Moments(count, centre + off / count, max(0.0, square / count - (off / count) ** 2))


def _scaler(shards: Shards) -> preprocessing.StandardScaler:
    found: preprocessing.StandardScaler = copy.deepcopy(shards.models[0])
    if found.window_size is not None:
        raise TypeError(
            f"StandardScaler(window_size={found.window_size}) does not merge: its window covers one stream only"
        )
    for name in dict.fromkeys(name for scaler in shards.models for name in scaler.counts):

        def of(scaler: Any, name: Any = name) -> Moments:
            return Moments(scaler.counts.get(name, 0), scaler.means.get(name, 0.0), scaler.vars.get(name, 0.0))

        end = _joined(shards, of)
        found.counts[name] = round(end.count)
        found.means[name] = end.mean
        if found.with_std:
            found.vars[name] = end.variance
    return found


def _numeric(shards: Shards) -> Numeric:
    found: Numeric = copy.deepcopy(shards.models[0])
    found.scaler = _scaler(shards.of(lambda numeric: numeric.scaler))
    return found


def _unchanged(shards: Shards) -> Any:
    """Transformers that learn nothing."""
    return copy.deepcopy(shards.models[0])


def _hasher(shards: Shards) -> Any:
    for i, model in enumerate(shards.models):
        if model._seed != shards.models[0]._seed:
            raise ValueError(
                f"models[{i}] hashes features differently from models[0]: give every FeatureHasher one seed"
            )
    return _unchanged(shards)


def _encoder(shards: Shards) -> Any:
    """An encoder that knows every value any of them has seen."""
    found = copy.deepcopy(shards.models[0])
    if found.categories is None:
        for encoder in shards.models[1:]:
            for name, values in encoder.values.items():
                found.values[name] |= values
            found._zero_dict.update(encoder._zero_dict)
    return found


def _extremes(shards: Shards) -> Any:
    """A MinMaxScaler or MaxAbsScaler."""
    found = copy.deepcopy(shards.models[0])
    if found.window_size is not None:
        raise TypeError(
            f"{type(found).__name__}(window_size={found.window_size}) does not merge: its window covers one stream only"
        )
    for attribute, values in vars(found).items():
        if isinstance(values, dict):
            for scaler in shards.models[1:]:
                for name, each in getattr(scaler, attribute).items():
                    values[name].update(each.get())
    return found


def _imputer(shards: Shards) -> Any:
    models, start = shards.models, shards.start
    found = copy.deepcopy(models[0])
    for name, each in models[0].stats.items():
        begun = start.stats[name]
        if begun is each:  # River clones an imputer with what it has learned
            begun = each.clone()
        inner = Shards([model.stats[name] for model in models], begun, shards.weights, None)
        vars(found.stats[name]).update(vars(_statistic(inner, "StatImputer")))
    return found


def _groups(shards: Shards) -> Any:
    """An Agg or TargetAgg."""
    found = copy.deepcopy(shards.models[0])
    found._groups.clear()

    def of(aggregate: Any, key: Any) -> Any:
        return aggregate._groups[key] if key in aggregate._groups else found.how.clone()

    for key in dict.fromkeys(key for model in shards.models for key in model._groups):
        inner = Shards([of(model, key) for model in shards.models], of(shards.start, key), shards.weights, None)
        found._groups[key] = _statistic(inner, type(found).__name__)
    return found


def _lags(shards: Shards) -> Lags:
    """Each group's histories from the model that has learned most of its targets, and all samples without one."""
    found: Lags = copy.deepcopy(shards.models[0])
    begun = shards.start._groups

    def learned(model: Lags, key: Any) -> int:
        return int(model._groups[key][0] if key in model._groups else 0)

    def weight(pair: tuple[float, Lags]) -> Any:  # equal ones are equal for any order
        return pair[0] * (learned(pair[1], key) - (begun[key][0] if key in begun else 0)), repr(
            pair[1]._groups.get(key)
        )

    found._groups.clear()
    for key in sorted({key for model in shards.models for key in model._groups}, key=repr):
        _, heaviest = max(zip(shards.evidence.tolist(), shards.models, strict=True), key=weight)
        if key in heaviest._groups:
            found._groups[key] = copy.deepcopy(heaviest._groups[key])
            found._groups[key][0] = shards.total(lambda model: learned(model, key))  # noqa: B023
    ages = {
        (identity, lags): age
        for model in shards.models
        for age, (identity, lags) in enumerate(reversed(model._issued.items()))
    }
    newest = sorted(ages, key=lambda item: (-ages[item], repr(item)))[-found.pending :]
    found._issued.clear()
    found._issued.update(newest)
    return found


def _statistic(shards: Shards, owner: str) -> Any:
    """One of River's statistics, of all values that any of them has seen."""
    found = copy.deepcopy(shards.models[0])
    if type(found) is stats.Mean:
        return _mean(shards, lambda mean: mean)
    if type(found) is stats.BayesianMean:
        found._mean = _mean(shards, lambda each: each._mean)
    elif type(found) is stats.Var:
        return _var(shards, lambda var: var)
    elif type(found) in (stats.Min, stats.Max):
        for each in shards.models[1:]:
            found.update(each.get())
    elif type(found) is stats.Count:
        found.n = shards.total(lambda each: each.n)
    elif type(found) is stats.Sum:
        found.sum = shards.total(lambda each: each.sum)
    elif type(found) is stats.Mode:
        for value in dict.fromkeys(value for each in shards.models for value in each.counts):
            found.counts[value] = shards.total(lambda each: each.counts.get(value, 0))  # noqa: B023
    elif type(found) is not Constant:
        raise TypeError(f"{owner} with {kind_of(found)} does not merge: it describes one stream only")
    return found


def _mean(shards: Shards, of: Callable[[Any], stats.Mean]) -> stats.Mean:
    end = _joined(shards, lambda each: Moments(of(each).n, of(each).get(), 0.0))
    return stats.Mean._from_state(end.count, end.mean)


TRANSFORMERS: dict[Any, Callable[[Shards], Any]] = {
    **{preprocessing.StandardScaler: _scaler, Dates: _unchanged, Lags: _lags, Numeric: _numeric},
    **dict.fromkeys((preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler), _extremes),
    **{preprocessing.OneHotEncoder: _encoder, preprocessing.StatImputer: _imputer},
    **{feature_extraction.TargetAgg: _groups, feature_extraction.Agg: _groups, preprocessing.FeatureHasher: _hasher},
    **dict.fromkeys((compose.Select, compose.SelectType, compose.Discard, compose.Renamer), _unchanged),
    **dict.fromkeys((compose.Prefixer, compose.Suffixer, preprocessing.Normalizer), _unchanged),
    **dict.fromkeys((feature_extraction.PolynomialExtender, feature_extraction.BagOfWords), _unchanged),
}
