"""Scalers, encoders, imputers, aggregates, and the transformers of river_okl: each merges as if from one stream."""

from __future__ import annotations

import copy
import numbers
from typing import TYPE_CHECKING, Any

from river import compose, feature_extraction, preprocessing, stats
from river.preprocessing.impute import Constant

from river_okl.checks import is_name, require
from river_okl.files.models import Numeric
from river_okl.series import LONGEST, MAX_GROUPS, Dates, Lags
from river_okl.wrappers.kinds import FLAG, NAME, Kind, Row, dict_of, list_of, maybe, number, of_type, only, such, whole
from river_okl.wrappers.statistics import ABS_MAX, MAX, MIN, STATISTIC, Moments, joined, merged

if TYPE_CHECKING:
    from river_okl.merging.shards import Shards


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


def _numeric(shards: Shards, merge: Any) -> Any:
    found = copy.deepcopy(shards.models[0])
    found.scaler = _scaler(shards.of(lambda numeric: numeric.scaler), merge)
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


def _imputers(values: Any) -> Any:
    """Return the statistic, or the constant to impute, of every feature."""
    require(type(values) is tuple, f"{values!r:.100} as imputers")
    found = []
    for item in values:
        require(type(item) is tuple and len(item) == 2 and type(item[1]) is tuple, f"{item!r:.100} as an imputer")
        feature, (kind, *what) = item
        require(is_name(feature) and len(what) == 1, f"{item!r:.100} as an imputer")
        if kind == "":
            require(what[0] is None or is_name(what[0]), f"{what[0]!r:.100} as a constant")
            found.append((feature, what[0]))
        else:
            found.append((feature, STATISTIC.into((kind, what[0]))))
    return tuple(found)


IMPUTERS = Kind(
    _imputers,
    lambda imputers: tuple(
        (feature, STATISTIC.out(each) if isinstance(each, stats.base.Statistic) else ("", each))
        for feature, each in imputers
    ),
)


def _own_statistics(imputer: Any) -> dict[Any, Any]:
    """Return the statistic to impute of every feature; None: it is the imputer's parameter, which a union copies."""
    own = {name: None if imputer.stats[name] is each else imputer.stats[name] for name, each in imputer.imputers}
    return {name: None if type(each) is Constant else each for name, each in own.items()}


def _check_imputer(imputer: Any) -> None:
    made = type(imputer)(*imputer.imputers).stats
    require(imputer.stats.keys() == made.keys(), "statistics of other features")
    for name, each in imputer.stats.items():
        require(each is None or type(each) is type(made[name]), "another statistic than its imputer's")
    imputer.stats.update({name: made[name] for name, each in imputer.stats.items() if each is None})


def _imputer(shards: Shards, merge: Any) -> Any:
    found = copy.deepcopy(shards.models[0])
    for name in found.stats:
        inner = shards.of(lambda model: model.stats[name])  # noqa: B023
        if inner.start is inner.models[0]:  # River's clone of an imputer shares its learned statistic
            inner.start = inner.start.clone()
        vars(found.stats[name]).update(vars(merged(inner, "StatImputer")))
    return found


GROUPS = Kind(  # the key of an aggregate by nothing is None, which is no name
    dict_of(STATISTIC).into,
    lambda groups: dict_of(STATISTIC).out({() if key is None else key: each for key, each in groups.items()}),
)


def _restore_key(aggregate: Any) -> None:
    """The inverse of what ``GROUPS`` does to the key None."""
    groups = aggregate._groups
    if aggregate.by is None and () in groups:
        groups[None] = groups.pop(())


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


TYPES = {cls.__name__: cls for cls in (str, int, float, bool, type(None), numbers.Number)}


def _type(name: Any) -> Any:
    require(type(name) is str and name in TYPES, f"{name!r:.100} as a type")
    return TYPES[name]


def _name_of_type(cls: type) -> str:
    if cls in TYPES.values():
        return cls.__name__
    raise ValueError(
        f"SelectType({cls.__name__}) cannot be saved in a checkpoint: use pickle for this model, or one of the types "
        f"{', '.join(TYPES)}"
    )


SELECTED = Kind(
    lambda names: tuple(map(_type, of_type(tuple).into(names))), lambda types: tuple(map(_name_of_type, types))
)

# The rows ---------------------------------------------------------------------------------------------------------

SEED = whole(0, 2**32 - 1)
BY = maybe(list_of(NAME))
AGGREGATE = {"_groups": GROUPS}, ("_feature_name",), _restore_key
NGRAMS = such(
    lambda value: type(value) is tuple and len(value) == 2 and all(type(n) is int and 1 <= n <= 10 for n in value),
    "ngrams",
)

ROWS: dict[type, Row] = {
    preprocessing.StandardScaler: Row(
        {"with_std": FLAG, "window_size": only(None)},
        {"counts": dict_of(whole()), "means": dict_of(number()), "vars": dict_of(number(0.0))},
        merge=_scaler,
    ),
    Dates: Row({"categories": FLAG, "strings": FLAG}, {}, merge=_unchanged),
    Lags: Row(
        {
            "lags": Kind(lambda values: tuple(map(whole(1, LONGEST).into, of_type(tuple).into(values)))),
            "of": maybe(Kind(lambda names: tuple(map(NAME.into, of_type(tuple).into(names))))),
            **{"by": maybe(NAME), "differences": FLAG, "pending": whole(1)},
        },
        {"_groups": dict_of(of_type(list)), "_issued": dict_of(of_type(tuple))},
        ("_lock", "_series"),
        merge=_lags,
    ),
    Numeric: Row({"scale": FLAG}, {"scaler": of_type(preprocessing.StandardScaler)}, ("_dates",), merge=_numeric),
    preprocessing.MinMaxScaler: Row(
        {"window_size": only(None)}, {"min": dict_of(MIN), "max": dict_of(MAX)}, merge=_extremes
    ),
    preprocessing.MaxAbsScaler: Row({"window_size": only(None)}, {"abs_max": dict_of(ABS_MAX)}, merge=_extremes),
    preprocessing.OneHotEncoder: Row(
        {"categories": maybe(dict_of(of_type(set, list))), "drop_zeros": FLAG, "drop_first": FLAG},
        {"values": dict_of(of_type(set)), "_zero_dict": dict_of(only(0))},
        absent=lambda encoder: () if encoder.categories is None else ("values", "_zero_dict"),
        merge=_encoder,
    ),
    preprocessing.StatImputer: Row(
        {"imputers": IMPUTERS},
        {"stats": dict_of(maybe(STATISTIC))},
        check=_check_imputer,
        arguments=lambda parameters: parameters["imputers"],
        read={"stats": _own_statistics},
        merge=_imputer,
    ),
    feature_extraction.TargetAgg: Row(
        {"by": BY, "how": STATISTIC, "on": of_type(str)}, *AGGREGATE, arguments=dict.values, merge=_groups
    ),
    feature_extraction.Agg: Row({"on": of_type(str), "by": BY, "how": STATISTIC}, *AGGREGATE, merge=_groups),
    preprocessing.FeatureHasher: Row(
        {"n_features": whole(1, 2**31 - 1), "seed": maybe(SEED), "alternate_sign": FLAG},
        {"_seed": SEED},
        merge=_hasher,
    ),
    compose.Select: Row({}, {"keys": of_type(set)}, merge=_unchanged),
    compose.SelectType: Row(
        {"types": SELECTED}, {}, arguments=lambda parameters: parameters["types"], merge=_unchanged
    ),
    compose.Discard: Row({}, {"keys": of_type(set)}, merge=_unchanged),
    compose.Renamer: Row({"mapping": dict_of(of_type(str))}, {}, merge=_unchanged),
    compose.Prefixer: Row({"prefix": of_type(str)}, {}, merge=_unchanged),
    compose.Suffixer: Row({"suffix": of_type(str)}, {}, merge=_unchanged),
    preprocessing.Normalizer: Row({"order": number(0.0, infinite=True)}, {}, merge=_unchanged),
    feature_extraction.PolynomialExtender: Row(
        {"degree": whole(1, 5), "interaction_only": FLAG, "include_bias": FLAG, "bias_name": of_type(str)},
        {},
        merge=_unchanged,
    ),
    feature_extraction.BagOfWords: Row(
        {
            **{"on": maybe(of_type(str)), "strip_accents": FLAG, "lowercase": FLAG},
            **{"preprocessor": only(None), "stop_words": maybe(of_type(set))},
            **{"tokenizer_pattern": only(feature_extraction.BagOfWords().tokenizer_pattern), "tokenizer": only(None)},
            "ngram_range": NGRAMS,
        },
        {},
        ("processing_steps",),
        merge=_unchanged,
    ),
}
