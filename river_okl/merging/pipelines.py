"""River's pipelines, transformers and statistics trained in parallel: each merges as if it had seen one stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from river import compose, feature_extraction, preprocessing, stats
from river.preprocessing.impute import Constant

from river_okl.checks import kind_of
from river_okl.series import MAX_GROUPS, Dates, Lags

if TYPE_CHECKING:
    from river_okl.merging.shards import Shards

Merge = Callable[["Shards"], Any]  # merges one part of all shards

# Statistics -------------------------------------------------------------------------------------------------------

Moments = tuple[float, float, float]  # count, mean and variance


def joined(shards: Shards, of: Callable[[Any], Moments]) -> Moments:
    """Return the moments of one stream with the totals of all shards.  River's moments do not forget."""
    centre = of(shards.models[0])[1]  # squares are relative to this mean, for precision

    def sums(model: Any) -> Any:
        count, mean, variance = of(model)
        off = mean - centre
        return count * np.array([1.0, off, variance + off * off])

    count, off, square = shards.total(sums)
    if count <= 0.0:
        return 0.0, 0.0, 0.0
    return count, centre + off / count, max(0.0, square / count - (off / count) ** 2)


def _mean(found: stats.Mean, shards: Shards) -> None:
    found.n, found._mean, _ = joined(shards, lambda mean: (mean.n, mean.get(), 0.0))


def _var(found: stats.Var, shards: Shards) -> None:
    def moments(var: stats.Var) -> Moments:
        n = var.mean.n
        return n, var.mean.get(), var._S / n if n else 0.0

    found.mean.n, found.mean._mean, variance = joined(shards, moments)
    found._S = found.mean.n * variance


def _extreme(found: stats.Min | stats.Max, shards: Shards) -> None:
    for each in shards.models[1:]:
        found.update(each.get())


def _total(name: str) -> Callable[[Any, Shards], None]:
    return lambda found, shards: setattr(found, name, shards.total(lambda each: getattr(each, name)))


def _mode(found: stats.Mode, shards: Shards) -> None:
    for value in dict.fromkeys(value for each in shards.models for value in each.counts):
        found.counts[value] = shards.total(lambda each: each.counts.get(value, 0))  # noqa: B023


STATISTICS: dict[type, Callable[[Any, Shards], None]] = {  # how a copy of the first becomes the merged one
    stats.Mean: _mean,
    stats.Var: _var,
    stats.Min: _extreme,
    stats.Max: _extreme,
    stats.AbsMax: _extreme,
    stats.BayesianMean: lambda found, shards: _mean(found._mean, shards.of(lambda each: each._mean)),
    stats.Sum: _total("sum"),
    stats.Count: _total("n"),
    stats.Mode: _mode,
}


def merged(shards: Shards, owner: str) -> Any:
    """Return a River statistic of all values seen by any shard."""
    found = copy.deepcopy(shards.models[0])
    merge = STATISTICS.get(type(found))
    if merge:
        merge(found, shards)
    elif type(found) is not Constant:
        raise TypeError(f"{owner} with {kind_of(found)} does not merge: it describes one stream only")
    return found


# Transformers -----------------------------------------------------------------------------------------------------


def _unchanged(shards: Shards, merge: Any) -> Any:
    """Return a copy of a transformer that learns nothing."""
    return copy.deepcopy(shards.models[0])


def _without_window(shards: Shards) -> Any:
    found = copy.deepcopy(shards.models[0])
    if found.window_size is not None:
        raise TypeError(
            f"{type(found).__name__}(window_size={found.window_size}) does not merge: its window covers one stream only"
        )
    return found


def _scaler(shards: Shards, merge: Any) -> Any:
    found = _without_window(shards)
    for name in dict.fromkeys(name for scaler in shards.models for name in scaler.counts):

        def of(scaler: Any, name: Any = name) -> Moments:
            return scaler.counts.get(name, 0), scaler.means.get(name, 0.0), scaler.vars.get(name, 0.0)

        count, found.means[name], variance = joined(shards, of)
        found.counts[name] = round(count)
        if found.with_std:
            found.vars[name] = variance
    return found


def _extremes(shards: Shards, merge: Any) -> Any:
    """Merge MinMaxScaler or MaxAbsScaler."""
    found = _without_window(shards)
    for attribute, values in vars(found).items():
        if isinstance(values, dict):
            for scaler in shards.models[1:]:
                for name, each in getattr(scaler, attribute).items():
                    values[name].update(each.get())
    return found


def _encoder(shards: Shards, merge: Any) -> Any:
    """Merge encoders: the result has every value that any of them has seen."""
    found = copy.deepcopy(shards.models[0])
    if found.categories is None:
        for encoder in shards.models[1:]:
            for name, values in encoder.values.items():
                found.values[name] |= values
            found._zero_dict.update(encoder._zero_dict)
    return found


def _hasher(shards: Shards, merge: Any) -> Any:
    for i, model in enumerate(shards.models):
        if model._seed != shards.models[0]._seed:
            raise ValueError(
                f"models[{i}] hashes features differently from models[0]: give every FeatureHasher one seed"
            )
    return _unchanged(shards, merge)


def _imputer(shards: Shards, merge: Any) -> Any:
    found = copy.deepcopy(shards.models[0])
    for name in found.stats:
        inner = shards.of(lambda model: model.stats[name])  # noqa: B023
        if inner.start is inner.models[0]:  # River's clone of an imputer shares its learned statistic
            inner.start = inner.start.clone()
        vars(found.stats[name]).update(vars(merged(inner, "StatImputer")))
    return found


def _groups(shards: Shards, merge: Any) -> Any:
    """Merge Agg or TargetAgg."""
    found = copy.deepcopy(shards.models[0])
    found._groups.clear()
    for key in dict.fromkeys(key for model in shards.models for key in model._groups):

        def of(aggregate: Any, key: Any = key) -> Any:
            return aggregate._groups[key] if key in aggregate._groups else found.how.clone()

        found._groups[key] = merged(shards.of(of), type(found).__name__)
    return found


def _lags(shards: Shards, merge: Any) -> Lags:
    """Merge each group's histories from the model that learned most of its targets, and samples without a target."""
    found: Lags = copy.deepcopy(shards.models[0])

    def learned(model: Lags, key: Any) -> int:
        return int(model._groups[key][0] if key in model._groups else 0)

    def weight(pair: tuple[float, Lags]) -> Any:  # ties do not depend on the order of the models
        e, model = pair
        return e * (learned(model, key) - learned(shards.start, key)), repr(model._groups.get(key))

    found._groups.clear()
    oldest: dict[Any, int] = {}  # from the end: the one without a new target for the longest time has the largest
    for model in shards.models:
        for age, key in enumerate(reversed(model._groups)):
            oldest[key] = min(age, oldest.get(key, age))
    for key in sorted(oldest, key=lambda key: (-oldest[key], repr(key)))[-MAX_GROUPS:]:
        _, heaviest = max(zip(shards.evidence.tolist(), shards.models, strict=True), key=weight)
        if key in heaviest._groups:
            found._groups[key] = copy.deepcopy(heaviest._groups[key])
            found._groups[key][0] = shards.total(lambda model: learned(model, key))  # noqa: B023
    ages = {item: age for model in shards.models for age, item in enumerate(reversed(model._issued.items()))}
    newest = sorted(ages, key=lambda item: (-ages[item], repr(item)))[-found.pending :]
    found._issued.clear()
    found._issued.update(newest)
    return found


# Pipelines --------------------------------------------------------------------------------------------------------


def _parts(shards: Shards, merge: Merge, attribute: str) -> list[tuple[str, Any]]:
    """Return each part, merged, with its name."""

    def part(name: str) -> Any:
        return merge(shards.of(lambda model: getattr(model, attribute)[name]))

    return [(name, part(name)) for name in getattr(shards.models[0], attribute)]


def _target_scaler(shards: Shards, merge: Merge) -> Any:
    found = preprocessing.TargetStandardScaler(merge(shards.of(lambda wrapper: wrapper.regressor)))
    found.var = merged(shards.of(lambda wrapper: wrapper.var), "TargetStandardScaler")
    return found


RULES: dict[type, Callable[[Shards, Merge], Any]] = {
    compose.Pipeline: lambda shards, merge: compose.Pipeline(*_parts(shards, merge, "steps")),
    compose.TransformerUnion: lambda shards, merge: compose.TransformerUnion(*_parts(shards, merge, "transformers")),
    preprocessing.TargetStandardScaler: _target_scaler,
    preprocessing.StandardScaler: _scaler,
    preprocessing.MinMaxScaler: _extremes,
    preprocessing.MaxAbsScaler: _extremes,
    preprocessing.OneHotEncoder: _encoder,
    preprocessing.StatImputer: _imputer,
    preprocessing.FeatureHasher: _hasher,
    feature_extraction.TargetAgg: _groups,
    feature_extraction.Agg: _groups,
    Lags: _lags,
    **dict.fromkeys(
        (
            *(compose.Select, compose.SelectType, compose.Discard, compose.Renamer, compose.Prefixer, compose.Suffixer),
            *(preprocessing.Normalizer, feature_extraction.PolynomialExtender, feature_extraction.BagOfWords, Dates),
        ),
        _unchanged,
    ),
}
