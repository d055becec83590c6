"""Pipelines and unions, models around models, filters, drift detectors and metrics."""

from __future__ import annotations

import collections
import dataclasses
import operator
import random
import struct
from typing import TYPE_CHECKING, Any

from river import anomaly, base, compose, drift, ensemble, metrics, multiclass, preprocessing

from river_okl.checks import require
from river_okl.files.models import Schema, TableClassifier, TableRegressor
from river_okl.wrappers.kinds import FLAG, NAME, Kind, Merge, Row, dict_of, list_of, maybe, number, of_type, such, whole
from river_okl.wrappers.statistics import MEAN, QUANTILE, VAR, merged

if TYPE_CHECKING:
    from river_okl.merging.shards import Shards


def _role(thing: Any) -> str:
    """Return the role of a step or a wrapped model; that of a pipeline is its last step's."""
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
    return such(lambda value: _role(value) == role, f"a {role}")


CLASSIFIER, REGRESSOR, TRANSFORMER, NOVELTY = map(_model, ("classifier", "regressor", "transformer", "detector"))
STEP = such(lambda value: _role(value) != "", "a step")


def _parts(shards: Shards, merge: Merge, attribute: str) -> list[tuple[str, Any]]:
    """Return each part, merged, with its name."""

    def part(name: str) -> Any:
        return merge(shards.of(lambda model: getattr(model, attribute)[name]))

    return [(name, part(name)) for name in getattr(shards.models[0], attribute)]


def _target_scaler(shards: Shards, merge: Merge) -> Any:
    found = preprocessing.TargetStandardScaler(merge(shards.of(lambda wrapper: wrapper.regressor)))
    found.var = merged(shards.of(lambda wrapper: wrapper.var), "TargetStandardScaler")
    return found


def _is_schema(value: Any) -> bool:
    try:
        return type(value) is dict and dataclasses.asdict(Schema(**value)) == value
    except (TypeError, ValueError):
        return False


# The bytes of an ADWIN are the window's parameters, its sums, its counts, and rows of buckets, of which each in row i
# stands for 2^i values; then the constructor's arguments.
ADWIN_HEAD = struct.Struct("<diQdd4d4iQ")
ADWIN_END = struct.Struct("<diQii")
ADWIN_PARAMETERS = operator.attrgetter("delta", "clock", "max_buckets", "min_window_length", "grace_period")
MAX_ROWS = 60


def _adwin_bytes(detector: Any, state: dict[str, Any]) -> bytes:
    delta, clock, most, shortest, grace = ADWIN_PARAMETERS(detector)
    sums, counts, rows = state["sums"], state["counts"], state["rows"]
    data = ADWIN_HEAD.pack(delta, clock, most, shortest, grace, *sums, *counts, len(rows))
    for row in rows:
        data += struct.pack("<QQ", most, len(row[0]))
        for values in row:
            data += struct.pack(f"<Q{most + 1}d", most + 1, *values, *[0.0] * (most + 1 - len(values)))
    return data + ADWIN_END.pack(delta, clock, most, shortest, grace)


def _adwin_window(detector: Any) -> dict[str, Any]:
    """Return the window as numbers."""
    data, most = detector._helper.__getstate__(), detector.max_buckets
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
    raise ValueError("the ADWIN of this version of River cannot be saved in a checkpoint: use pickle for it")


def _check_adwin(detector: Any) -> None:
    state = detector._helper
    require(type(state) is dict and state.keys() == {"sums", "counts", "rows"}, "the window of an ADWIN")
    list_of(number()).into(state["sums"])
    list_of(whole(0, 2**31 - 1)).into(state["counts"])
    require(len(state["sums"]) == len(state["counts"]) == 4, "the window of an ADWIN")
    rows = list_of(list_of(list_of(number()))).into(state["rows"])
    require(1 <= len(rows) <= MAX_ROWS, "the rows of an ADWIN")
    for row in rows:
        require(len(row) == 2 and len(row[0]) == len(row[1]) <= detector.max_buckets, "a row of an ADWIN")
    require(len(rows) == 1 or all(len(row[0]) > 0 for row in rows), "an empty row of an ADWIN")
    require(state["sums"][2] == sum(len(row[0]) << i for i, row in enumerate(rows)), "the width of an ADWIN")
    detector._helper = type(detector)(*ADWIN_PARAMETERS(detector))._helper
    detector._helper.__setstate__(_adwin_bytes(detector, state))


def _check_matrix(matrix: Any) -> None:
    for label, row in matrix.data.items():
        matrix.data[label] = collections.defaultdict(float, row)


MATRIX = {"cm": of_type(metrics.ConfusionMatrix)}
OF_MATRIX = (  # metrics whose only state is a confusion matrix
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
OF_THE_MATRIX = ("_requires_labels", "beta", "precision", "recall")  # derived from the matrix and the parameters

# The rows ---------------------------------------------------------------------------------------------------------

SCHEMA = such(_is_schema, "a schema")
BAGGING = {"model": CLASSIFIER, "n_models": whole(1), "seed": maybe(whole(-(2**63)))}
BAGGED = {"data": list_of(CLASSIFIER), "_rng": of_type(random.Random)}
WEIGHTS = dict_of(number(0.0))

ROWS: dict[type, Row] = {
    compose.Pipeline: Row(
        {},
        {"steps": dict_of(STEP)},
        ("_plan", "_inference_transformers", "_last_step_cached", "_last_step_params"),
        merge=lambda shards, merge: compose.Pipeline(*_parts(shards, merge, "steps")),
    ),
    compose.TransformerUnion: Row(
        {},
        {"transformers": dict_of(TRANSFORMER)},
        merge=lambda shards, merge: compose.TransformerUnion(*_parts(shards, merge, "transformers")),
    ),
    preprocessing.TargetStandardScaler: Row(
        {"regressor": REGRESSOR}, {"var": VAR}, ("func", "inverse_func"), merge=_target_scaler
    ),
    multiclass.OneVsRestClassifier: Row(
        {"classifier": CLASSIFIER},
        {"classifiers": dict_of(CLASSIFIER), "_y_name": maybe(of_type(str))},
    ),
    multiclass.OneVsOneClassifier: Row(
        {"classifier": CLASSIFIER},
        {"classifiers": dict_of(CLASSIFIER), "classes": of_type(set)},
    ),
    ensemble.BaggingClassifier: Row(BAGGING, BAGGED, clones=True),
    ensemble.BaggingRegressor: Row(BAGGING | {"model": REGRESSOR}, BAGGED | {"data": list_of(REGRESSOR)}, clones=True),
    ensemble.AdaBoostClassifier: Row(
        BAGGING, BAGGED | {"wrong_weight": WEIGHTS, "correct_weight": WEIGHTS}, clones=True
    ),
    ensemble.VotingClassifier: Row({"data": list_of(CLASSIFIER), "use_probabilities": FLAG}, {}, arguments=dict.values),
    ensemble.StackingClassifier: Row(
        {"data": list_of(CLASSIFIER), "meta_classifier": CLASSIFIER, "include_features": FLAG},
        {},
        arguments=dict.values,
    ),
    drift.DriftRetrainingClassifier: Row(
        {"model": CLASSIFIER, "drift_detector": of_type(drift.binary.DDM, drift.ADWIN), "train_in_background": FLAG},
        {"bkg_model": CLASSIFIER},
        clones=True,
        absent=lambda model: () if model.train_in_background else ("bkg_model",),
    ),
    TableClassifier: Row({"model": CLASSIFIER, "schema": SCHEMA}, {}, ("_schema",)),
    TableRegressor: Row({"model": REGRESSOR, "schema": SCHEMA}, {}, ("_schema",)),
    anomaly.ThresholdFilter: Row(
        {"anomaly_detector": NOVELTY, "threshold": number(), "protect_anomaly_detector": FLAG}, {}
    ),
    anomaly.QuantileFilter: Row(
        {"anomaly_detector": NOVELTY, "q": number(0.0, 1.0), "protect_anomaly_detector": FLAG}, {"quantile": QUANTILE}
    ),
    drift.binary.DDM: Row(
        {"warm_start": whole(0), "warning_threshold": number(0.0), "drift_threshold": number(0.0)},
        {
            **{"_drift_detected": FLAG, "_warning_detected": FLAG, "_p": MEAN},
            **{"_p_min": maybe(number(0.0, 1.0)), "_s_min": maybe(number(0.0)), "_ps_min": number(0.0, infinite=True)},
        },
    ),
    drift.ADWIN: Row(
        {
            "delta": number(1e-300, 1.0),
            "clock": whole(1, 2**31 - 1),
            "max_buckets": whole(2, 1000),  # with 1, River's own panics
            "min_window_length": whole(0, 2**31 - 1),
            "grace_period": whole(0, 2**31 - 1),
        },
        {"_drift_detected": FLAG, "_helper": of_type(dict)},
        check=_check_adwin,
        read={"_helper": _adwin_window},
    ),
    metrics.ConfusionMatrix: Row(
        {"classes": of_type(set)},
        {
            **{"sum_row": dict_of(number()), "sum_col": dict_of(number()), "data": dict_of(dict_of(number()))},
            **{"n_samples": number(), "total_weight": number(), "_total_true_positives": number()},
        },
        ("_init_classes",),
        check=_check_matrix,
        read={"classes": lambda matrix: matrix._init_classes},
    ),
    **dict.fromkeys(OF_MATRIX, Row(MATRIX, {}, OF_THE_MATRIX)),
    **dict.fromkeys(OF_POSITIVE, Row(MATRIX | {"pos_val": NAME}, {}, OF_THE_MATRIX)),
    **dict.fromkeys(OF_MEAN, Row({}, {"_mean": MEAN})),
    metrics.ROCAUC: Row(
        {"n_thresholds": whole(2, 10_000), "pos_val": NAME},
        {"cms": list_of(of_type(metrics.ConfusionMatrix))},
        ("thresholds",),
    ),
    metrics.R2: Row({}, {"_y_var": VAR, "_total_sum_of_squares": number(), "_residual_sum_of_squares": number()}),
}
