"""River's transformers, wrappers, drift detectors and metrics in a document, one by one.

Each has a ``Spec``: its parameters and its other attributes by name, and the kind of each value.  River's constructors
check little, so each value is checked here, by type and range; then the constructor gets the parameters, and the
attributes that it makes are filled.  What River derives from these (bound methods, the plan of a pipeline) is not
written.  An object with an attribute that no spec names is rejected.
"""

from __future__ import annotations

import collections
import copy
import math
import numbers
import random
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from river import (
    anomaly,
    base,
    compose,
    drift,
    ensemble,
    feature_extraction,
    metrics,
    multiclass,
    preprocessing,
    stats,
)
from river.preprocessing.impute import Constant

from river_okl._core.store.sample import shown
from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Reader, Writer, is_name, require
from river_okl.checks import kind_of
from river_okl.model import KernelClassifier
from river_okl.series import LONGEST, MOST_GROUPS, PLAIN, Dates, Lags, plain
from river_okl.tables.models import Numeric, TableClassifier, TableRegressor
from river_okl.tables.schema import Schema

# Kinds of values --------------------------------------------------------------------------------------------------


def _as_it_is(value: Any) -> Any:
    return value


class Kind(NamedTuple):
    """``into`` checks a value read from a file and converts it to the attribute's; ``out`` is the inverse."""

    into: Callable[[Any], Any]
    out: Callable[[Any], Any] = _as_it_is


def _such(test: Callable[[Any], bool], what: str) -> Kind:
    """Values that pass a test."""

    def into(value: Any) -> Any:
        require(test(value), f"{shown(value)} as {what}")
        return value

    return Kind(into)


def _number(low: float = -math.inf, high: float = math.inf, infinite: bool = False) -> Kind:
    def test(value: Any) -> bool:
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        return bool(real and low <= value <= high and (infinite or math.isfinite(value)))

    return _such(test, "a number")


def _whole(low: int = 0, high: int = 2**62) -> Kind:
    def test(value: Any) -> bool:
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(low <= value <= high)

    return _such(test, "an integer")


def _of(*types: type) -> Kind:
    return _such(lambda value: type(value) in types, f"a {types[0].__name__}")


def _only(one: Any) -> Kind:
    return _such(lambda value: type(value) is type(one) and value == one, f"what can only be {one!r}")


def _maybe(kind: Kind) -> Kind:
    return Kind(
        lambda value: None if value is None else kind.into(value),
        lambda value: None if value is None else kind.out(value),
    )


def _dict(kind: Kind) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is dict and all(map(is_name, values)), f"a {type(values).__name__} as a dict of names")
        return {key: kind.into(value) for key, value in values.items()}

    return Kind(into, lambda values: {key: kind.out(value) for key, value in values.items()})


def _list(kind: Kind) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is list, f"a {type(values).__name__} as a list")
        return [kind.into(value) for value in values]

    return Kind(into, lambda values: [kind.out(value) for value in values])


def _state(make: Callable[..., Any], *arguments: Any, **attributes: Kind) -> Kind:
    """A small object with just these attributes; what its constructor needs does not matter."""

    def into(values: Any) -> Any:
        require(type(values) is dict and values.keys() == attributes.keys(), f"{values!r:.100} as a {make.__name__}")
        found = make(*arguments)
        for name, kind in attributes.items():
            setattr(found, name, kind.into(values[name]))
        return found

    def out(thing: Any) -> Any:
        if type(thing) is not make or vars(thing).keys() != attributes.keys():
            raise CheckpointError(f"{shown(thing)}, {kind_of(thing)} instead of {kind_of(make)}")
        return {name: kind.out(getattr(thing, name)) for name, kind in attributes.items()}

    return Kind(into, out)


FLAG = _of(bool)
RANDOM = _of(random.Random)
SEED = _whole(0, 2**32 - 1)
NAME = _such(is_name, "a name")
NGRAMS = _such(
    lambda value: type(value) is tuple and len(value) == 2 and all(type(n) is int and 1 <= n <= 10 for n in value),
    "ngrams",
)
COUNTS = Kind(lambda values: collections.defaultdict(int, _dict(_whole()).into(values)), dict)
MEAN = _state(stats.Mean, n=_number(0.0, 2.0**62), _mean=_number())
VAR = _state(stats.Var, ddof=_only(1), mean=MEAN, _S=_number(0.0))
MIN = _state(stats.Min, min=_number(infinite=True))
MAX = _state(stats.Max, max=_number(infinite=True))
ABS_MAX = _state(stats.AbsMax, abs_max=_number(0.0))
BAYESIAN_MEAN = _state(stats.BayesianMean, 0.0, 1.0, prior=_number(), prior_weight=_number(0.0), _mean=MEAN)


# River's quantiles, and its ADWIN (below), are compiled and have bytes for pickles.  They are written as numbers, and
# checked: others may make them panic.  Those of a quantile are q, the markers of the P² algorithm (five increments,
# desired positions, positions and heights), how many heights are known, and whether they are sorted.
QUANTILE_BYTES = struct.Struct("<21dB?")


def _quantile(value: Any) -> Any:
    require(type(value) is list and len(value) == 23, f"{value!r:.100} as a quantile")
    *markers, n, is_sorted = value
    _list(_number()).into(markers)
    require(0.0 < markers[0] < 1.0, f"{markers[0]!r} as q")
    found = stats.Quantile(float(markers[0]))
    require(markers[:6] == _of_quantile(found)[:6], "the increments of a quantile")
    _list(_number(1.0, 2.0**53)).into(markers[6:16])
    _list(_number(-1e100, 1e100)).into(markers[16:])
    wanted, places, heights = (np.diff(markers[i : i + 5]) for i in (6, 11, 16))
    require(bool((wanted >= 0.0).all() and (places >= 1.0).all()), "the positions of a quantile")
    require(bool(not is_sorted or (heights >= 0.0).all()), "the heights of a quantile")
    found._quantile.__setstate__(QUANTILE_BYTES.pack(*markers, _whole(0, 5).into(n), FLAG.into(is_sorted)))
    found._is_updated = n > 0
    return found


def _of_quantile(quantile: Any) -> list[Any]:
    data = quantile._quantile.__getstate__() if type(quantile) is stats.Quantile else b""
    if len(data) == QUANTILE_BYTES.size:
        found = [*QUANTILE_BYTES.unpack(data)]
        if QUANTILE_BYTES.pack(*found) == data and found[0] == quantile.q and (found[21] > 0) == quantile._is_updated:
            return found
    raise CheckpointError(f"{shown(quantile)}, {kind_of(quantile)}, cannot be saved in a checkpoint: use pickle for it")


QUANTILE = Kind(_quantile, _of_quantile)
STATISTICS: dict[Any, Kind] = {
    **{stats.Mean: MEAN, stats.Var: VAR, stats.Min: MIN, stats.Max: MAX, stats.BayesianMean: BAYESIAN_MEAN},
    **{stats.Sum: _state(stats.Sum, sum=_number()), stats.Count: _state(stats.Count, n=_whole())},
    **{stats.Mode: _state(stats.Mode, k=_whole(-1), counts=COUNTS), stats.Quantile: QUANTILE},
}
BY_NAME = {cls.__name__: kind for cls, kind in STATISTICS.items()}


def _statistic(value: Any) -> Any:
    """A statistic from its name and its state."""
    require(type(value) is tuple and len(value) == 2 and value[0] in BY_NAME, f"{value!r:.100} as a statistic")
    return BY_NAME[value[0]].into(value[1])


def _of_statistic(statistic: Any) -> tuple[str, Any]:
    if type(statistic) not in STATISTICS:
        known = ", ".join(sorted(BY_NAME))
        raise CheckpointError(
            f"{shown(statistic)}, {kind_of(statistic)}, cannot be saved in a checkpoint: use pickle for this model, "
            f"or one of River's {known}"
        )
    return type(statistic).__name__, STATISTICS[type(statistic)].out(statistic)


STATISTIC = Kind(_statistic, _of_statistic)


def _imputers(values: Any) -> Any:
    """For every feature its statistic, or the constant to impute."""
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
            found.append((feature, _statistic((kind, what[0]))))
    return tuple(found)


IMPUTERS = Kind(
    _imputers,
    lambda imputers: tuple(
        (feature, _of_statistic(each) if isinstance(each, stats.base.Statistic) else ("", each))
        for feature, each in imputers
    ),
)


def _own_statistics(imputer: Any) -> dict[Any, Any]:
    """For every feature the statistic to impute; None: it is the imputer's parameter itself, which a union copies."""
    own = {name: None if imputer.stats[name] is each else imputer.stats[name] for name, each in imputer.imputers}
    return {name: None if type(each) is Constant else each for name, each in own.items()}


def _check_imputer(imputer: Any) -> None:
    made = type(imputer)(*imputer.imputers).stats
    require(imputer.stats.keys() == made.keys(), "statistics of other features")
    for name, each in imputer.stats.items():
        require(each is None or type(each) is type(made[name]), "another statistic than its imputer's")
    imputer.stats.update({name: made[name] for name, each in imputer.stats.items() if each is None})


def _type(name: Any) -> Any:
    require(type(name) is str and name in TYPES, f"{name!r:.100} as a type")
    return TYPES[name]


def _name_of_type(cls: type) -> str:
    for name, each in TYPES.items():
        if each is cls:
            return name
    raise CheckpointError(
        f"SelectType({cls.__name__}) cannot be saved in a checkpoint: use pickle for this model, or one of the types "
        f"{', '.join(TYPES)}"
    )


TYPES = {cls.__name__: cls for cls in (str, int, float, bool, type(None), numbers.Number)}
SELECTED = Kind(lambda names: tuple(map(_type, _of(tuple).into(names))), lambda types: tuple(map(_name_of_type, types)))


def _is_schema(value: Any) -> bool:
    try:
        return type(value) is dict and Schema(**value).as_dict() == value
    except (TypeError, ValueError):
        return False


SCHEMA = _such(_is_schema, "a schema")

# Roles ------------------------------------------------------------------------------------------------------------


def _role(thing: Any) -> str:
    """The role of a step or a wrapped model; that of a pipeline is its last step's."""
    if isinstance(thing, compose.Pipeline):
        return _role(list(thing.steps.values())[-1]) if thing.steps else ""
    roles: dict[str, Any] = {
        "transformer": base.Transformer | base.SupervisedTransformer,
        "classifier": base.Classifier,
        "regressor": base.Regressor,
        "detector": base.AnomalyDetector,
        "filter": base.AnomalyFilter,
    }
    return next((role for role, cls in roles.items() if isinstance(thing, cls)), "")


def _model(role: str) -> Kind:
    return _such(lambda value: _role(value) == role, f"a {role}")


CLASSIFIER, REGRESSOR, TRANSFORMER, NOVELTY = map(_model, ("classifier", "regressor", "transformer", "detector"))
STEP = _such(lambda value: _role(value) != "", "a step")


def _check_pipeline(pipeline: Any) -> None:
    steps = list(pipeline.steps.values())
    require(len(steps) > 0, "a pipeline without steps")
    between = {_role(step) for step in steps[:-1]}
    require(between <= {"transformer", "filter"}, "a step in between that transforms nothing")


def _check_union(union: Any) -> None:
    require(len(union.transformers) > 0, "a union of nothing")


def _check_binary(model: Any) -> None:
    """One-vs-rest asks for the probability of True."""
    while not isinstance(model, KernelClassifier):
        if isinstance(model, compose.Pipeline):
            model = list(model.steps.values())[-1]
        elif isinstance(model, base.Wrapper):
            model = model._wrapped_model
        else:
            return
    require(all(type(label) is bool for label in model._labels.names), "one of the rest that tells other labels apart")


def _check_one_vs_rest(model: Any) -> None:
    for each in model.classifiers.values():
        _check_binary(each)


def _check_one_vs_one(model: Any) -> None:
    sorted(model.classes)  # they are compared
    for pair in model.classifiers:
        require(type(pair) is tuple and len(pair) == 2 and set(pair) <= model.classes, f"{pair!r:.100} as a pair")


def _check_groups(aggregate: Any) -> None:
    """Every group has a statistic of its own, of one class."""
    require(
        all(type(each) is type(aggregate.how) for each in aggregate._groups.values()), "groups of another statistic"
    )
    require(all(type(key) is tuple for key in aggregate._groups), "groups that are no tuples")
    if aggregate.by is None:
        require(aggregate._groups.keys() <= {()}, "groups by nothing")
        for each in [aggregate._groups.pop(key) for key in list(aggregate._groups)]:
            aggregate._groups[None] = each


def _groups(aggregate: Any, name: str) -> Any:
    """An attribute of an aggregate; the key None, of an aggregate by nothing, is no name."""
    value = getattr(aggregate, name)
    return {() if key is None else key: each for key, each in value.items()} if name == "_groups" else value


def _check_lags(lags: Any) -> None:
    """Histories of plain values, one for every series, and lags that were issued from such."""

    def check(values: Any, kind: Any, n: int, longest: int) -> None:
        require(type(values) is kind and n <= len(values) <= longest, "the lags of a series")
        for value in values:
            require(value is None or type(value) in (bool, str, float), f"{value!r:.100} as a lag")
            plain("a lag", value)

    n_series = len(lags._series)
    require(len(lags._groups) <= MOST_GROUPS and len(lags._issued) <= lags.pending, "more lags than can be")
    for key, group in lags._groups.items():
        require(type(key) is tuple and len(key) <= 1 and all(type(k) in PLAIN for k in key), "a group")
        require(type(group) is list and len(group) == 1 + n_series, "the series of a group")
        _whole().into(group[0])
        for history in group[1:]:
            check(history, list, 0, max(lags.lags))
        require(None not in group[1], "a target that is missing")
    for identity, series in lags._issued.items():
        _whole(0, 2**64 - 1).into(identity)
        require(type(series) is tuple and len(series) == n_series, "the series of a sample")
        for values in series:
            check(values, tuple, len(lags.lags), len(lags.lags))


def _check_ddm(detector: Any) -> None:
    require(0.0 <= detector._p._mean <= 1.0, "a rate of errors")
    none = [detector._p_min is None, detector._s_min is None, detector._ps_min == math.inf]
    require(none in ([True] * 3, [False] * 3), "some minima and not others")


# The bytes of an ADWIN are the window's parameters, its sums, its counts, and rows of buckets, of which each in row i
# stands for 2^i values; then the constructor's arguments.
ADWIN_HEAD = struct.Struct("<diQdd4d4iQ")
ADWIN_END = struct.Struct("<diQii")
MOST_ROWS = 60


def _adwin_parameters(detector: Any) -> tuple[Any, ...]:
    given = detector
    return given.delta, given.clock, given.max_buckets, given.min_window_length, given.grace_period


def _adwin_bytes(detector: Any, state: dict[str, Any]) -> bytes:
    delta, clock, most, shortest, grace = _adwin_parameters(detector)
    sums, counts, rows = state["sums"], state["counts"], state["rows"]
    data = ADWIN_HEAD.pack(delta, clock, most, shortest, grace, *sums, *counts, len(rows))
    for row in rows:
        data += struct.pack("<QQ", most, len(row[0]))
        for values in row:
            data += struct.pack(f"<Q{most + 1}d", most + 1, *values, *[0.0] * (most + 1 - len(values)))
    return data + ADWIN_END.pack(delta, clock, most, shortest, grace)


def _adwin_state(detector: Any, name: str) -> Any:
    """An attribute of an ADWIN, its window as numbers."""
    value = getattr(detector, name)
    if name != "_helper":
        return value
    data, most = value.__getstate__(), detector.max_buckets
    try:
        _, _, _, _, _, *numbers, n_rows = ADWIN_HEAD.unpack_from(data)
        rows, at = [], ADWIN_HEAD.size
        for _ in range(n_rows):
            used = struct.unpack_from("<QQ", data, at)[1]
            both = struct.unpack_from(f"<QQQ{most + 1}dQ{most + 1}d", data, at)
            rows.append([list(both[start : start + used]) for start in (3, 5 + most)])
            at += 8 * (6 + 2 * most)
        state = {"sums": numbers[:4], "counts": numbers[4:], "rows": rows}
        if _adwin_bytes(detector, state) == data:
            return state
    except struct.error:
        pass
    raise CheckpointError("the ADWIN of this version of River cannot be saved in a checkpoint: use pickle for it")


def _check_adwin(detector: Any) -> None:
    state = detector._helper
    require(type(state) is dict and state.keys() == {"sums", "counts", "rows"}, "the window of an ADWIN")
    _list(_number()).into(state["sums"])
    _list(_whole(0, 2**31 - 1)).into(state["counts"])
    require(len(state["sums"]) == len(state["counts"]) == 4, "the window of an ADWIN")
    rows = _list(_list(_list(_number()))).into(state["rows"])
    require(1 <= len(rows) <= MOST_ROWS, "the rows of an ADWIN")
    for row in rows:
        require(len(row) == 2 and len(row[0]) == len(row[1]) <= detector.max_buckets, "a row of an ADWIN")
    require(len(rows) == 1 or all(len(row[0]) > 0 for row in rows), "an empty row of an ADWIN")
    require(state["sums"][2] == sum(len(row[0]) << i for i, row in enumerate(rows)), "the width of an ADWIN")
    detector._helper = type(detector)(*_adwin_parameters(detector))._helper
    detector._helper.__setstate__(_adwin_bytes(detector, state))


def _check_matrix(matrix: Any) -> None:
    for label, row in matrix.data.items():
        matrix.data[label] = collections.defaultdict(float, row)


def _check_areas(metric: Any) -> None:
    require(len(metric.cms) == metric.n_thresholds, "a confusion matrix for each threshold")


DEEPEST = 10  # wrappers in wrappers: each may clone what is in it

# The list ---------------------------------------------------------------------------------------------------------


class Spec(NamedTuple):
    """What a checkpoint contains of an object of River."""

    parameters: dict[str, Kind]
    state: dict[str, Kind]
    made: tuple[str, ...] = ()  # attributes that the object derives from the others
    check: Callable[[Any], None] = _as_it_is  # whether its parts are consistent
    absent: Callable[[Any], tuple[str, ...]] = lambda thing: ()  # of ``state``, with such parameters
    clones: bool = False  # the constructor clones its ``model``
    make: Callable[[Any, dict[str, Any]], Any] = lambda cls, parameters: cls(**parameters)
    read: Callable[[Any, str], Any] = getattr


def _by_position(cls: Any, parameters: dict[str, Any]) -> Any:
    return cls(*parameters.values())


def _unpacked(cls: Any, parameters: dict[str, Any]) -> Any:
    (values,) = parameters.values()
    return cls(*values)


MATRIX = {"cm": _of(metrics.ConfusionMatrix)}
POSITIVE = MATRIX | {"pos_val": NAME}
OF_MATRIX = (  # metrics that are a confusion matrix and nothing else
    *(metrics.Accuracy, metrics.BalancedAccuracy, metrics.CohenKappa, metrics.GeometricMean, metrics.Rand),
    *(metrics.MacroPrecision, metrics.MacroRecall, metrics.MacroF1, metrics.MacroJaccard),
    *(metrics.MicroPrecision, metrics.MicroRecall, metrics.MicroF1, metrics.MicroJaccard),
    *(metrics.WeightedPrecision, metrics.WeightedRecall, metrics.WeightedF1, metrics.WeightedJaccard),
)
OF_POSITIVE = metrics.Precision, metrics.Recall, metrics.F1, metrics.MCC, metrics.Jaccard
OF_MEAN = (
    *(metrics.MAE, metrics.MSE, metrics.RMSE, metrics.RMSLE, metrics.MAPE, metrics.SMAPE),
    *(metrics.LogLoss, metrics.CrossEntropy),
)
OF_THE_MATRIX = ("_requires_labels", "beta", "precision", "recall")  # attributes made from it and the parameters

BAGGING = {"model": CLASSIFIER, "n_models": _whole(1), "seed": _maybe(_whole(-(2**63)))}

SPECS: dict[type, Spec] = {
    compose.Pipeline: Spec(
        {},
        {"steps": _dict(STEP)},
        ("_plan", "_inference_transformers", "_last_step_cached", "_last_step_params"),
        check=_check_pipeline,
    ),
    compose.TransformerUnion: Spec({}, {"transformers": _dict(TRANSFORMER)}, check=_check_union),
    compose.Select: Spec({}, {"keys": _of(set)}),
    compose.SelectType: Spec({"types": SELECTED}, {}, make=_unpacked),
    compose.Discard: Spec({}, {"keys": _of(set)}),
    compose.Renamer: Spec({"mapping": _dict(_of(str))}, {}),
    compose.Prefixer: Spec({"prefix": _of(str)}, {}),
    compose.Suffixer: Spec({"suffix": _of(str)}, {}),
    preprocessing.StandardScaler: Spec(
        {"with_std": FLAG, "window_size": _only(None)},
        {"counts": _dict(_whole()), "means": _dict(_number()), "vars": _dict(_number(0.0))},
    ),
    preprocessing.MinMaxScaler: Spec({"window_size": _only(None)}, {"min": _dict(MIN), "max": _dict(MAX)}),
    preprocessing.MaxAbsScaler: Spec({"window_size": _only(None)}, {"abs_max": _dict(ABS_MAX)}),
    preprocessing.StatImputer: Spec(
        {"imputers": IMPUTERS},
        {"stats": _dict(_maybe(STATISTIC))},
        check=_check_imputer,
        make=_unpacked,
        read=lambda imputer, name: _own_statistics(imputer) if name == "stats" else getattr(imputer, name),
    ),
    preprocessing.Normalizer: Spec({"order": _number(0.0, infinite=True)}, {}),
    feature_extraction.PolynomialExtender: Spec(
        {"degree": _whole(1, 5), "interaction_only": FLAG, "include_bias": FLAG, "bias_name": _of(str)}, {}
    ),
    preprocessing.TargetStandardScaler: Spec({"regressor": REGRESSOR}, {"var": VAR}, ("func", "inverse_func")),
    preprocessing.OneHotEncoder: Spec(
        {"categories": _maybe(_dict(_of(set, list))), "drop_zeros": FLAG, "drop_first": FLAG},
        {"values": _dict(_of(set)), "_zero_dict": _dict(_only(0))},
        absent=lambda encoder: () if encoder.categories is None else ("values", "_zero_dict"),
    ),
    feature_extraction.BagOfWords: Spec(
        {
            "on": _maybe(_of(str)),
            "strip_accents": FLAG,
            "lowercase": FLAG,
            "preprocessor": _only(None),
            "stop_words": _maybe(_of(set)),
            "tokenizer_pattern": _only(feature_extraction.BagOfWords().tokenizer_pattern),
            "tokenizer": _only(None),
            "ngram_range": NGRAMS,
        },
        {},
        ("processing_steps",),
    ),
    feature_extraction.TargetAgg: Spec(
        {"by": _maybe(_list(NAME)), "how": STATISTIC, "on": _of(str)},
        {"_groups": _dict(STATISTIC)},
        ("_feature_name",),
        check=_check_groups,
        make=_by_position,
        read=_groups,
    ),
    feature_extraction.Agg: Spec(
        {"on": _of(str), "by": _maybe(_list(NAME)), "how": STATISTIC},
        {"_groups": _dict(STATISTIC)},
        ("_feature_name",),
        check=_check_groups,
        read=_groups,
    ),
    preprocessing.FeatureHasher: Spec(
        {"n_features": _whole(1, 2**31 - 1), "seed": _maybe(SEED), "alternate_sign": FLAG},
        {"_seed": SEED},
    ),
    multiclass.OneVsRestClassifier: Spec(
        {"classifier": CLASSIFIER},
        {"classifiers": _dict(CLASSIFIER), "_y_name": _maybe(_of(str))},
        check=_check_one_vs_rest,
    ),
    multiclass.OneVsOneClassifier: Spec(
        {"classifier": CLASSIFIER},
        {"classifiers": _dict(CLASSIFIER), "classes": _of(set)},
        check=_check_one_vs_one,
    ),
    ensemble.BaggingClassifier: Spec(BAGGING, {"data": _list(CLASSIFIER), "_rng": RANDOM}, clones=True),
    ensemble.BaggingRegressor: Spec(
        {**BAGGING, "model": REGRESSOR}, {"data": _list(REGRESSOR), "_rng": RANDOM}, clones=True
    ),
    ensemble.AdaBoostClassifier: Spec(
        BAGGING,
        {
            "data": _list(CLASSIFIER),
            "_rng": RANDOM,
            "wrong_weight": _dict(_number(0.0)),
            "correct_weight": _dict(_number(0.0)),
        },
        clones=True,
    ),
    ensemble.VotingClassifier: Spec(
        {"data": _list(CLASSIFIER), "use_probabilities": FLAG},
        {},
        make=_by_position,
    ),
    ensemble.StackingClassifier: Spec(
        {"data": _list(CLASSIFIER), "meta_classifier": CLASSIFIER, "include_features": FLAG},
        {},
        make=_by_position,
    ),
    drift.DriftRetrainingClassifier: Spec(
        {"model": CLASSIFIER, "drift_detector": _of(drift.binary.DDM, drift.ADWIN), "train_in_background": FLAG},
        {"bkg_model": CLASSIFIER},
        clones=True,
        absent=lambda model: () if model.train_in_background else ("bkg_model",),
    ),
    Dates: Spec({"categories": FLAG, "strings": FLAG}, {}),
    Lags: Spec(
        {
            "lags": Kind(lambda values: tuple(map(_whole(1, LONGEST).into, _of(tuple).into(values)))),
            "of": _maybe(Kind(lambda names: tuple(map(NAME.into, _of(tuple).into(names))))),
            "by": _maybe(NAME),
            "differences": FLAG,
            "pending": _whole(1),
        },
        {"_groups": _dict(_of(list)), "_issued": _dict(_of(tuple))},
        ("_lock", "_series"),
        check=_check_lags,
    ),
    Numeric: Spec({"scale": FLAG}, {"scaler": _of(preprocessing.StandardScaler)}, ("_dates",)),
    TableClassifier: Spec({"model": CLASSIFIER, "schema": SCHEMA}, {}, ("_schema",)),
    TableRegressor: Spec({"model": REGRESSOR, "schema": SCHEMA}, {}, ("_schema",)),
    anomaly.ThresholdFilter: Spec(
        {"anomaly_detector": NOVELTY, "threshold": _number(), "protect_anomaly_detector": FLAG}, {}
    ),
    anomaly.QuantileFilter: Spec(
        {"anomaly_detector": NOVELTY, "q": _number(0.0, 1.0), "protect_anomaly_detector": FLAG},
        {"quantile": QUANTILE},
    ),
    drift.binary.DDM: Spec(
        {"warm_start": _whole(0), "warning_threshold": _number(0.0), "drift_threshold": _number(0.0)},
        {
            "_drift_detected": FLAG,
            "_warning_detected": FLAG,
            "_p": MEAN,
            "_p_min": _maybe(_number(0.0, 1.0)),
            "_s_min": _maybe(_number(0.0)),
            "_ps_min": _number(0.0, infinite=True),
        },
        check=_check_ddm,
    ),
    drift.ADWIN: Spec(
        {
            "delta": _number(1e-300, 1.0),
            "clock": _whole(1, 2**31 - 1),
            "max_buckets": _whole(2, 1000),  # with 1, River's own panics
            "min_window_length": _whole(0, 2**31 - 1),
            "grace_period": _whole(0, 2**31 - 1),
        },
        {"_drift_detected": FLAG, "_helper": _of(dict)},
        check=_check_adwin,
        read=_adwin_state,
    ),
    metrics.ConfusionMatrix: Spec(
        {"classes": _of(set)},
        {
            "sum_row": _dict(_number()),
            "sum_col": _dict(_number()),
            "data": _dict(_dict(_number())),
            "n_samples": _number(),
            "total_weight": _number(),
            "_total_true_positives": _number(),
        },
        ("_init_classes",),
        check=_check_matrix,
        read=lambda matrix, name: getattr(matrix, "_init_classes" if name == "classes" else name),
    ),
    **dict.fromkeys(OF_MATRIX, Spec(MATRIX, {}, OF_THE_MATRIX)),
    **dict.fromkeys(OF_POSITIVE, Spec(POSITIVE, {}, OF_THE_MATRIX)),
    **dict.fromkeys(OF_MEAN, Spec({}, {"_mean": MEAN})),
    metrics.ROCAUC: Spec(
        {"n_thresholds": _whole(2, 10_000), "pos_val": NAME},
        {"cms": _list(_of(metrics.ConfusionMatrix))},
        ("thresholds",),
        check=_check_areas,
    ),
    metrics.R2: Spec({}, {"_y_var": VAR, "_total_sum_of_squares": _number(), "_residual_sum_of_squares": _number()}),
}

CLASSES = {f"{'.'.join(cls.__module__.split('.')[:2])}.{cls.__name__}": cls for cls in SPECS}


class _StandIn:
    """For a model that a constructor would clone: wrappers in wrappers would be cloned again and again."""

    def clone(self) -> _StandIn:
        return self


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """An object of a listed class."""
    cls = type(thing)
    spec = SPECS[cls]
    if hasattr(thing, "_lock"):
        thing = copy.deepcopy(thing)  # between two samples, if another thread learns it meanwhile
    state = {name: kind for name, kind in spec.state.items() if name not in spec.absent(thing)}
    if unknown := vars(thing).keys() - spec.parameters.keys() - spec.state.keys() - {*spec.made}:
        raise CheckpointError(
            f"{where}: {kind_of(cls)} with the attributes {', '.join(sorted(unknown))}, which checkpoints do not "
            f"support"
        )

    def written(kinds: dict[str, Kind]) -> dict[str, Any]:
        found = {}
        for name, kind in kinds.items():
            value = kind.out(spec.read(thing, name))
            try:
                kind.into(value)
            except ValueError as error:
                raise CheckpointError(
                    f"{name} of {kind_of(cls)}: use pickle for this model, checkpoints do not support {error}"
                ) from None
            found[name] = write(value, f"{name} of {kind_of(cls)}")
        return found

    name = next(name for name, each in CLASSES.items() if each is cls)
    return {"class": name, "parameters": written(spec.parameters), "state": written(state)}


def made(cls: Any, content: dict[str, Any], read: Reader) -> Any:
    """An object of a listed class."""
    spec = SPECS[cls]
    require(content.keys() == {"class", "parameters", "state"}, f"what a {cls.__name__} is")
    read.nested += 1
    require(read.nested <= DEEPEST, f"more than {DEEPEST} wrappers in wrappers")
    parameters = read.named(content["parameters"], "parameters")
    state = read.named(content["state"], "state")
    read.nested -= 1
    require(parameters.keys() == spec.parameters.keys(), f"the parameters of a {cls.__name__}")
    parameters = {name: kind.into(parameters[name]) for name, kind in spec.parameters.items()}
    if "n_models" in spec.parameters:
        require(type(state.get("data")) is list and len(state["data"]) == parameters.get("n_models"), "its models")
    thing = spec.make(cls, parameters | {"model": _StandIn()} if spec.clones else parameters)
    if spec.clones:
        thing.model = parameters["model"]
    require(state.keys() == spec.state.keys() - {*spec.absent(thing)}, f"the state of a {cls.__name__}")
    for name, value in state.items():
        _fill(thing, name, spec.state[name].into(value))
    spec.check(thing)
    return thing


def _fill(thing: Any, name: str, value: Any) -> None:
    """Fill the containers that the constructor made: they know the default of a missing key."""
    container = getattr(thing, name)
    if isinstance(container, dict | set):
        container.clear()
        container.update(value)
    else:
        setattr(thing, name, value)
