"""River's transformers and wrappers in a document, one by one.

Each has a ``Spec``: its parameters and its other attributes by name, and of what kind each value is.  River's
constructors believe what they are given, so that every value is checked here, by type and range; then the constructor
gets the parameters, and the attributes that it makes are filled.  What River makes of these (bound methods, the plan of
a pipeline) is not written.  An object with an attribute that no spec knows is refused, not written without it.
"""

from __future__ import annotations

import decimal
import math
import numbers
import random
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from river import anomaly, base, compose, conf, drift, ensemble, feature_extraction, multiclass, preprocessing, stats
from river.preprocessing.impute import Constant

from river_okl._core.sample import shown
from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Reader, Writer, is_name, require
from river_okl.checks import kind_of
from river_okl.model import KernelClassifier

# Kinds of values --------------------------------------------------------------------------------------------------


def _as_it_is(value: Any) -> Any:
    return value


class Kind(NamedTuple):
    """``into`` checks a value that was read and gives what the attribute holds; ``out`` is the way back."""

    into: Callable[[Any], Any]
    out: Callable[[Any], Any] = _as_it_is


def _number(low: float = -math.inf, high: float = math.inf, infinite: bool = False) -> Kind:
    def into(value: Any) -> Any:
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        require(real and low <= value <= high and (infinite or math.isfinite(value)), f"{value!r:.100} as a number")
        return value

    return Kind(into)


def _whole(low: int = 0, high: int = 2**62) -> Kind:
    def into(value: Any) -> Any:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        require(whole and low <= value <= high, f"{value!r:.100} as a whole number")
        return value

    return Kind(into)


def _of(*types: type) -> Kind:
    def into(value: Any) -> Any:
        require(type(value) in types, f"{value!r:.100} as a {types[0].__name__}")
        return value

    return Kind(into)


def _maybe(kind: Kind) -> Kind:
    return Kind(
        lambda value: None if value is None else kind.into(value),
        lambda value: None if value is None else kind.out(value),
    )


def _only(one: Any) -> Kind:
    def into(value: Any) -> Any:
        require(value == one and type(value) is type(one), f"{value!r:.100} where only {one!r} can be")
        return value

    return Kind(into)


def _dict(kind: Kind, name: Callable[[Any], bool] = is_name) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is dict and all(map(name, values)), f"a {type(values).__name__} as a dict of names")
        return {key: kind.into(value) for key, value in values.items()}

    return Kind(into, lambda values: {key: kind.out(value) for key, value in values.items()})


def _list(kind: Kind) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is list, f"a {type(values).__name__} as a list")
        return [kind.into(value) for value in values]

    return Kind(into, lambda values: [kind.out(value) for value in values])


def _seed(value: Any) -> Any:
    require(value is None or (type(value) is int and 0 <= value < 2**32), f"{value!r:.100} as a seed")
    return value


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
            raise CheckpointError(f"{shown(thing)}, {kind_of(thing)}, where {kind_of(make)} was expected")
        return {name: kind.out(getattr(thing, name)) for name, kind in attributes.items()}

    return Kind(into, out)


FLAG = _of(bool)
RANDOM = _of(random.Random)
SEED = Kind(_seed)
MEAN = _state(stats.Mean, n=_number(0.0, 2.0**62), _mean=_number())
VAR = _state(stats.Var, ddof=_only(1), mean=MEAN, _S=_number(0.0))
MIN = _state(stats.Min, min=_number(infinite=True))
MAX = _state(stats.Max, max=_number(infinite=True))
ABS_MAX = _state(stats.AbsMax, abs_max=_number(0.0))
BAYESIAN_MEAN = _state(stats.BayesianMean, 0.0, 1.0, prior=_number(), prior_weight=_number(0.0), _mean=MEAN)


def _mode(values: Any) -> Any:
    require(type(values) is dict and values.keys() == {"k", "counts"}, f"{values!r:.100} as a Mode")
    found = stats.Mode(_whole(-1).into(values["k"]))
    found.counts.update(_dict(_whole()).into(values["counts"]))
    return found


def _quantile(values: Any) -> Any:
    require(type(values) is dict and values.keys() == {"q", "markers"}, f"{values!r:.100} as a Quantile")
    found = stats.Quantile(_number(0.0, 1.0).into(values["q"]))
    _fill_quantile(found, values["markers"])
    return found


STATISTICS: dict[Any, Kind] = {
    **{stats.Mean: MEAN, stats.Var: VAR, stats.Min: MIN, stats.Max: MAX, stats.BayesianMean: BAYESIAN_MEAN},
    **{stats.Sum: _state(stats.Sum, sum=_number()), stats.Count: _state(stats.Count, n=_whole())},
    stats.Mode: Kind(_mode, lambda mode: {"k": mode.k, "counts": dict(mode.counts)}),
    stats.Quantile: Kind(_quantile, lambda each: {"q": each.q, "markers": _quantile_state(each)}),
}
BY_NAME = {cls.__name__: kind for cls, kind in STATISTICS.items()}


def _statistic(value: Any) -> Any:
    """From its name and its state."""
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
    """Of every feature its statistic, or the constant that is put in."""
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
    """Of every feature the statistic that imputes; None: it is the imputer's parameter itself, which a union copies."""
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


TYPES = {
    f"{cls.__module__}.{cls.__name__}".removeprefix("builtins."): cls
    for cls in (
        *(str, int, float, bool, complex, bytes, tuple, type(None), decimal.Decimal),
        *(numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, numbers.Integral),
        *(np.number, np.integer, np.floating, np.bool_, np.str_, np.float64, np.int64),
    )
}
SELECTED = Kind(lambda names: tuple(map(_type, _tuple(names))), lambda types: tuple(map(_name_of_type, types)))


def _tuple(values: Any) -> Any:
    require(type(values) is tuple, f"{values!r:.100} as a tuple")
    return values


def _ngrams(values: Any) -> Any:
    require(
        len(_tuple(values)) == 2 and all(type(n) is int and 1 <= n <= 10 for n in values), f"{values!r:.100} as ngrams"
    )
    return values


# Roles ------------------------------------------------------------------------------------------------------------


def _role(thing: Any) -> str:
    """What a step or a wrapped model is for; the last step decides for a pipeline."""
    if isinstance(thing, compose.Pipeline):
        return _role(list(thing.steps.values())[-1]) if thing.steps else ""
    roles = {
        **{
            "transformer": base.Transformer | base.SupervisedTransformer,
            "classifier": base.Classifier,
            "regressor": base.Regressor,
        },
        **{"detector": base.AnomalyDetector, "filter": base.AnomalyFilter},
    }
    return next((role for role, cls in roles.items() if isinstance(thing, cls)), "")


def _model(role: str) -> Kind:
    def into(value: Any) -> Any:
        require(_role(value) == role, f"{shown(value)} as a {role}")
        return value

    return Kind(into)


CLASSIFIER, REGRESSOR, TRANSFORMER, NOVELTY = map(_model, ("classifier", "regressor", "transformer", "detector"))


def _step(value: Any) -> Any:
    require(_role(value) != "", f"{shown(value)} as a step")
    return value


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


def _check_bagging(model: Any) -> None:
    require(len(model.data) == model.n_models, f"{len(model.data)} models where there should be {model.n_models}")


def _bagging_method(value: Any) -> Any:
    require(value in ensemble.LeveragingBaggingClassifier._BAGGING_METHODS, f"{value!r:.100} as a bagging method")
    return value


def _named(value: Any) -> Any:
    require(is_name(value), f"{value!r:.100} as a name")
    return value


def _check_groups(aggregate: Any) -> None:
    """Every group has a statistic of its own, of one class."""
    require(
        all(type(each) is type(aggregate.how) for each in aggregate._groups.values()), "groups of another statistic"
    )
    require(all(type(key) is tuple for key in aggregate._groups), "groups that are no tuples")


def _check_adwin_bagging(model: Any) -> None:
    _check_bagging(model)
    require(len(model._drift_detectors) == model.n_models, "a detector for each model")


def _check_retraining(model: Any) -> None:
    warns = isinstance(model.drift_detector, base.drift_detector._BaseDriftAndWarningDetector)
    require(warns or not model.train_in_background, "a detector that warns")


def _check_ddm(detector: Any) -> None:
    require(0.0 <= detector._p._mean <= 1.0, "a rate of errors")
    none = [detector._p_min is None, detector._s_min is None, detector._ps_min == math.inf]
    require(none in ([True] * 3, [False] * 3), "some minima and not others")


# ADWIN ------------------------------------------------------------------------------------------------------------

# The window of ADWIN is compiled; it gives and takes its state as bytes, and takes any. So the bytes are read and made
# here: parameters, sums and counts, rows of buckets of 1, 2, 4, ... values, and the parameters again.
HEAD = struct.Struct("<diiidddddd4iQ")
ROW = struct.Struct("<QQQ")
TAIL = struct.Struct("<diiiii")
SUMS = {
    "total": _number(),
    "variance": _number(0.0),
    "width": _number(0.0, 2.0**53),
    "total_width": _number(0.0),
    "max_n_buckets": _whole(0, 2**31 - 1),
    "n_buckets": _whole(0, 2**31 - 1),
    "ticks": _whole(0, 2**31 - 1),
    "n_detections": _whole(0, 2**31 - 1),
}
BUCKETS = _list(_number())


def _window_of(helper: Any) -> dict[str, Any]:
    data = bytes(helper.__getstate__())
    *made_with, total, variance, width, total_width, most, n_buckets, ticks, n_detections, n_rows = HEAD.unpack_from(
        data
    )
    sums = (total, variance, width, total_width, most, n_buckets, ticks, n_detections)
    rows, at, size = [], HEAD.size, made_with[2] + 1
    numbers = struct.Struct(f"<{size}d")
    for _ in range(n_rows):
        used = ROW.unpack_from(data, at)[1]
        totals = numbers.unpack_from(data, at + ROW.size)
        variances = numbers.unpack_from(data, at + ROW.size + numbers.size + 8)
        rows.append({"used": used, "totals": list(totals), "variances": list(variances)})
        at += ROW.size + 2 * numbers.size + 8
    window = {**dict(zip(SUMS, sums, strict=True)), "rows": rows}
    if _bytes_of(window, made_with) != data:
        raise CheckpointError("the window of this river's ADWIN has a layout that checkpoints do not support")
    return window


def _bytes_of(window: dict[str, Any], made_with: list[Any]) -> bytes:
    delta, clock, size, zero, shortest, grace = made_with
    data = HEAD.pack(*made_with, *(window[name] for name in SUMS), len(window["rows"]))
    for row in window["rows"]:
        numbers = struct.Struct(f"<{size + 1}d")
        data += ROW.pack(size, row["used"], size + 1) + numbers.pack(*row["totals"])
        data += struct.pack("<Q", size + 1) + numbers.pack(*row["variances"])
    return data + TAIL.pack(delta, clock, size, zero, int(shortest), int(grace))


def _check_adwin(detector: Any) -> None:
    """The window that was read takes the place of the new one."""
    window, size = detector._helper, detector.max_buckets
    new = type(type(detector)()._helper)
    require(type(window) is dict and window.keys() == {*SUMS, "rows"} and type(window["rows"]) is list, "a window")
    for name, kind in SUMS.items():
        window[name] = kind.into(window[name])
    require(0 < len(window["rows"]) < 50, "the rows of a window")
    for row in window["rows"]:
        require(type(row) is dict and row.keys() == {"used", "totals", "variances"}, "a row of buckets")
        require(type(row["used"]) is int and 0 <= row["used"] <= size, "the buckets in use")
        for name in ("totals", "variances"):
            require(len(BUCKETS.into(row[name])) == size + 1, "the buckets of a row")
        require(min(row["variances"]) >= 0.0, "a negative variance")
    require(window["width"] == sum(row["used"] << i for i, row in enumerate(window["rows"])), "the width of a window")
    require(len(window["rows"]) == 1 or window["rows"][-1]["used"] > 0, "an empty row of buckets")
    made_with = [detector.delta, detector.clock, size, 0, detector.min_window_length, detector.grace_period]
    helper = new(*made_with[:3], *made_with[4:])
    helper.__setstate__(_bytes_of(window, made_with))
    require(_window_of(helper) == window, "a window that does not come back")
    detector._helper = helper


# Quantiles --------------------------------------------------------------------------------------------------------

# Quantiles are compiled, too.  Of the whole past (P²): q; what each of five markers moves by, where it should be, where
# it is, its height; how many heights there are; whether they are in order.  Of a window: its values, in order
# and as they came.
P2 = struct.Struct("<d5d5d5d5dBB")


def _markers_of(quantile: stats.Quantile) -> dict[str, Any]:
    q, *numbers, filled, in_order = P2.unpack(bytes(quantile._quantile.__getstate__()))
    markers = {"wanted": numbers[5:10], "at": numbers[10:15], "heights": numbers[15:], "filled": filled}
    if numbers[:5] != [0.0, q / 2.0, q, (1.0 + q) / 2.0, 1.0] or q != quantile.q or in_order != (numbers[14] > 5.0):
        raise CheckpointError("this river's Quantile has a layout that checkpoints do not support")
    return markers


def _window_values(quantile: stats.RollingQuantile) -> list[float]:
    data = bytes(quantile._rolling_quantile.__getstate__())
    n = int.from_bytes(data[:8], "little")
    if len(data) != 80 + 16 * n or data[8 + 8 * n : 16 + 8 * n] != data[:8]:
        raise CheckpointError("this river's RollingQuantile has a layout that checkpoints do not support")
    return list(struct.unpack_from(f"<{n}d", data, 16 + 8 * n))


def _quantile_state(quantile: Any) -> Any:
    known = {"q", "_is_updated", *(("_quantile",) if type(quantile) is stats.Quantile else QUANTILE_OF_A_WINDOW)}
    if type(quantile) not in (stats.Quantile, stats.RollingQuantile) or vars(quantile).keys() != known:
        raise CheckpointError(f"{shown(quantile)}, {kind_of(quantile)}, which checkpoints do not support")
    return _markers_of(quantile) if type(quantile) is stats.Quantile else _window_values(quantile)


def _fill_quantile(quantile: Any, state: Any) -> None:
    """Into a new one."""
    if isinstance(quantile, stats.RollingQuantile):
        require(len(NUMBERS.into(state)) <= quantile.window_size, "more values than a window takes")
        for value in state:
            quantile.update(value)
        return
    require(type(state) is dict and state.keys() == {"wanted", "at", "heights", "filled"}, f"{state!r:.100} as markers")
    wanted, at, heights = (NUMBERS.into(state[name]) for name in ("wanted", "at", "heights"))
    filled = FILLED.into(state["filled"])
    require(len(wanted) == len(at) == len(heights) == 5, "five markers")
    require(at[0] == wanted[0] == 1.0 and at[4] == wanted[4] >= 5.0, "the first and the last marker")
    require(all(place == int(place) for place in at) and sorted({*at}) == at, "where markers are")
    require(sorted(wanted) == wanted, "where markers should be")
    in_order = at[4] > 5.0
    require(sorted(heights) == heights and filled == 5 if in_order else not any(heights[filled:]), "heights of markers")
    q = quantile.q
    moves = (0.0, q / 2.0, q, (1.0 + q) / 2.0, 1.0)
    quantile._quantile.__setstate__(P2.pack(q, *moves, *wanted, *at, *heights, filled, in_order))
    quantile._is_updated = filled > 0


QUANTILE_OF_A_WINDOW = ("_rolling_quantile", "window_size_value")
NUMBERS = _list(_number())
FILLED = _whole(0, 5)
QUANTILE = Kind(_as_it_is, _quantile_state)

DEEPEST = 10  # wrappers in wrappers: each may clone what is in it

# The list ---------------------------------------------------------------------------------------------------------


class Spec(NamedTuple):
    """What there is of an object of River."""

    parameters: dict[str, Kind]
    state: dict[str, Kind]
    made: tuple[str, ...] = ()  # attributes that the object makes of the others
    check: Callable[[Any], None] = _as_it_is  # on what belongs together
    absent: Callable[[Any], tuple[str, ...]] = lambda thing: ()  # of ``state``, with such parameters
    clones: bool = False  # the constructor clones its ``model``
    make: Callable[[Any, dict[str, Any]], Any] = lambda cls, parameters: cls(**parameters)
    room: Callable[[dict[str, Any]], int] = lambda parameters: 0  # bytes that it takes, with such parameters
    read: Callable[[Any, str], Any] = getattr


DETECTOR = {"_drift_detected": FLAG}
WARNING = {"_warning_detected": FLAG}
BAGGING = {"model": CLASSIFIER, "n_models": _whole(1), "seed": _maybe(_whole(-(2**63)))}
CATEGORIES = _dict(_of(set, list))

SPECS: dict[type, Spec] = {
    compose.Pipeline: Spec(
        {},
        {"steps": _dict(Kind(_step))},
        ("_plan", "_inference_transformers", "_last_step_cached", "_last_step_params"),
        check=_check_pipeline,
    ),
    compose.TransformerUnion: Spec({}, {"transformers": _dict(TRANSFORMER)}, check=_check_union),
    compose.Select: Spec({}, {"keys": _of(set)}),
    compose.SelectType: Spec({"types": SELECTED}, {}, make=lambda cls, parameters: cls(*parameters["types"])),
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
        make=lambda cls, parameters: cls(*parameters["imputers"]),
        read=lambda imputer, name: _own_statistics(imputer) if name == "stats" else getattr(imputer, name),
    ),
    preprocessing.Normalizer: Spec({"order": _number(0.0, infinite=True)}, {}),
    feature_extraction.PolynomialExtender: Spec(
        {"degree": _whole(1, 5), "interaction_only": FLAG, "include_bias": FLAG, "bias_name": _of(str)}, {}
    ),
    preprocessing.TargetStandardScaler: Spec({"regressor": REGRESSOR}, {"var": VAR}, ("func", "inverse_func")),
    preprocessing.OneHotEncoder: Spec(
        {"categories": _maybe(CATEGORIES), "drop_zeros": FLAG, "drop_first": FLAG},
        {"values": _dict(_of(set)), "_zero_dict": _dict(_only(0), lambda name: type(name) is str)},
        absent=lambda encoder: () if encoder.categories is None else ("values", "_zero_dict"),
    ),
    feature_extraction.BagOfWords: Spec(
        {
            **{"on": _maybe(_of(str)), "strip_accents": FLAG, "lowercase": FLAG, "preprocessor": _only(None)},
            **{
                "stop_words": _maybe(_of(set)),
                "tokenizer_pattern": _only(feature_extraction.BagOfWords().tokenizer_pattern),
            },
            **{"tokenizer": _only(None), "ngram_range": Kind(_ngrams)},
        },
        {},
        ("processing_steps",),
    ),
    feature_extraction.TargetAgg: Spec(
        {"by": _maybe(_list(Kind(_named))), "how": STATISTIC, "on": _of(str)},
        {"_groups": _dict(STATISTIC)},
        ("_feature_name",),
        check=_check_groups,
        make=lambda cls, parameters: cls(parameters["by"], parameters["how"], target_name=parameters["on"]),
    ),
    preprocessing.FeatureHasher: Spec(
        {"n_features": _whole(1, 2**31 - 1), "seed": SEED, "alternate_sign": FLAG}, {"_seed": _whole(0, 2**32 - 1)}
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
    ensemble.BaggingClassifier: Spec(
        BAGGING, {"data": _list(CLASSIFIER), "_rng": RANDOM}, check=_check_bagging, clones=True
    ),
    ensemble.BaggingRegressor: Spec(
        {**BAGGING, "model": REGRESSOR}, {"data": _list(REGRESSOR), "_rng": RANDOM}, check=_check_bagging, clones=True
    ),
    ensemble.ADWINBaggingClassifier: Spec(
        BAGGING,
        {"data": _list(CLASSIFIER), "_rng": RANDOM, "_drift_detectors": _list(_of(drift.ADWIN))},
        check=_check_adwin_bagging,
        clones=True,
    ),
    ensemble.LeveragingBaggingClassifier: Spec(
        {
            **BAGGING,
            **{"w": _number(0.0, 1e6), "adwin_delta": _number(1e-300, 1.0)},
            "bagging_method": Kind(_bagging_method),
        },
        {
            **{"data": _list(CLASSIFIER), "_rng": RANDOM, "_drift_detectors": _list(_of(drift.ADWIN))},
            "n_detected_changes": _whole(),
        },
        ("_bagging_fct",),
        check=_check_adwin_bagging,
        clones=True,
    ),
    ensemble.AdaBoostClassifier: Spec(
        BAGGING,
        {
            **{"data": _list(CLASSIFIER), "_rng": RANDOM},
            **{"wrong_weight": _dict(_number(0.0)), "correct_weight": _dict(_number(0.0))},
        },
        check=_check_bagging,
        clones=True,
    ),
    ensemble.VotingClassifier: Spec(
        {"data": _list(CLASSIFIER), "use_probabilities": FLAG},
        {},
        make=lambda cls, parameters: cls(parameters["data"], parameters["use_probabilities"]),
    ),
    ensemble.StackingClassifier: Spec(
        {"data": _list(CLASSIFIER), "meta_classifier": CLASSIFIER, "include_features": FLAG},
        {},
        make=lambda cls, parameters: cls(
            parameters["data"], parameters["meta_classifier"], parameters["include_features"]
        ),
    ),
    drift.DriftRetrainingClassifier: Spec(
        {"model": CLASSIFIER, "drift_detector": _of(drift.binary.DDM, drift.ADWIN), "train_in_background": FLAG},
        {"bkg_model": CLASSIFIER},
        check=_check_retraining,
        clones=True,
        absent=lambda model: () if model.train_in_background else ("bkg_model",),
    ),
    anomaly.QuantileFilter: Spec(
        {"anomaly_detector": NOVELTY, "q": _number(0.0, 1.0), "protect_anomaly_detector": FLAG}, {"quantile": QUANTILE}
    ),
    anomaly.ThresholdFilter: Spec(
        {"anomaly_detector": NOVELTY, "threshold": _number(), "protect_anomaly_detector": FLAG}, {}
    ),
    conf.RegressionJackknife: Spec(
        {"regressor": REGRESSOR, "confidence_level": _number(0.0, 1.0), "window_size": _maybe(_whole())},
        {"_lower": QUANTILE, "_upper": QUANTILE},
        room=lambda parameters: 32 * (parameters.get("window_size") or 0),
    ),
    drift.binary.DDM: Spec(
        {"warm_start": _whole(0), "warning_threshold": _number(0.0), "drift_threshold": _number(0.0)},
        DETECTOR
        | WARNING
        | {
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
            "max_buckets": _whole(1, 1000),
            "min_window_length": _whole(0, 2**31 - 1),
            "grace_period": _whole(0, 2**31 - 1),
        },
        {**DETECTOR, "_helper": Kind(_as_it_is, _window_of)},
        check=_check_adwin,
    ),
}

CLASSES = {f"river.{cls.__module__.split('.')[1]}.{cls.__name__}": cls for cls in SPECS}


class _StandIn:
    """For a model that a constructor would clone: wrappers in wrappers would be cloned again and again."""

    def clone(self) -> _StandIn:
        return self


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """An object of the list."""
    cls = type(thing)
    spec = SPECS[cls]
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
                raise CheckpointError(f"{name} of {kind_of(cls)}: checkpoints do not support {error}") from None
            found[name] = write(value, f"{name} of {kind_of(cls)}")
        return found

    name = next(name for name, each in CLASSES.items() if each is cls)
    return {"class": name, "parameters": written(spec.parameters), "state": written(state)}


def made(cls: Any, content: dict[str, Any], read: Reader) -> Any:
    """An object of the list."""
    spec = SPECS[cls]
    require(content.keys() == {"class", "parameters", "state"}, f"what a {cls.__name__} is")
    read.nested += 1
    require(read.nested <= DEEPEST, f"more than {DEEPEST} wrappers in wrappers")
    parameters = read.named(content["parameters"], "parameters")
    state = read.named(content["state"], "state")
    read.nested -= 1
    require(parameters.keys() <= spec.parameters.keys(), f"the parameters of a {cls.__name__}")
    parameters = {name: spec.parameters[name].into(value) for name, value in parameters.items()}
    read.may_allocate(spec.room(parameters))
    if "data" in spec.state:
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
    """Into the containers that the constructor made: they know what a missing key is worth."""
    container = getattr(thing, name)
    if isinstance(container, stats.Quantile | stats.RollingQuantile):
        _fill_quantile(container, value)
    elif isinstance(container, dict | set):
        container.clear()
        container.update(value)
    else:
        setattr(thing, name, value)
