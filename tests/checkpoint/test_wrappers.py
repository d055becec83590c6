"""Checkpoints of River's pipelines and wrappers."""

from __future__ import annotations

import copy

import pytest
from river import compose, drift, ensemble, feature_extraction, multiclass, preprocessing, stats, utils

from river_okl import checkpoint
from river_okl.checkpoint import CheckpointError
from tests.checkpoint.files import WRAPPED, assembled, learn, little_memory, mixed, pieces, rbp, said


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_models_continue_identically(name):
    fresh = WRAPPED[name]()
    # both loaded: the order of Select's set depends on how it was filled
    model, loaded = (checkpoint.loads(checkpoint.dumps(fresh)) for _ in range(2))
    assert str(model) == str(fresh)
    for t, (x, y) in enumerate(mixed(name, 300)):
        if t % 70 == 50:
            loaded = checkpoint.loads(checkpoint.dumps(loaded))
        if t:  # without values there is no minimum
            assert said(loaded, x) == said(model, x)
        learn(model, x, y)
        learn(loaded, x, y)
    assert checkpoint.dumps(loaded) == checkpoint.dumps(model)
    assert str(loaded) == str(model)


class Word(str):
    """A user-defined type."""


def imputer(statistic):
    return preprocessing.StatImputer(("a", statistic))


def aggregate(statistic):
    return feature_extraction.TargetAgg(by=None, how=statistic) | rbp()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: ensemble.SRPClassifier(rbp(), n_models=2, seed=1), "it is SRPC.*use pickle for this model"),
        (lambda: compose.SelectType(Word) | rbp(), r"SelectType\(Word\) cannot be saved in a checkpoint: use pickle"),
        (lambda: imputer(stats.EWMean()) | rbp(), "EWMean, cannot be saved in a checkpoint: use pickle"),
        (lambda: imputer(stats.IQR()) | rbp(), "IQR, cannot be saved in a checkpoint: use pickle"),
        (lambda: aggregate(utils.Rolling(stats.Mean(), 3)), "Rolling, cannot be saved in a checkpoint: use pickle"),
        (lambda: ensemble.LeveragingBaggingClassifier(rbp()), "a LeveragingBaggingClassifier: use pickle for this"),
        (
            lambda: drift.DriftRetrainingClassifier(rbp(), drift.KSWIN()),
            "drift_detector of a DriftRetrainingClassifier: use pickle for this model",
        ),
        (lambda: feature_extraction.BagOfWords(tokenizer=str.split) | rbp(), "tokenizer of a BagOfWords"),
        (lambda: feature_extraction.BagOfWords(tokenizer_pattern="(a+)+") | rbp(), "tokenizer_pattern of a BagOfWords"),
    ],
)
def test_unsupported_parts_are_rejected_with_advice(model, message):
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoint.dumps(model())
    assert "\n" not in str(caught.value)


def test_shared_statistics_of_an_imputer_stay_shared():
    """Its statistics are its parameters, or copies of them: a union copies its parts."""
    for shared in (True, False):
        imputer = preprocessing.StatImputer(("a", stats.Mean()), ("b", 0.5))
        if not shared:
            imputer.stats["a"] = stats.Mean()
        model = checkpoint.loads(checkpoint.dumps(imputer | rbp()))
        model.learn_one({"a": 2.0, "b": None}, True)
        loaded = checkpoint.loads(checkpoint.dumps(model))
        for each in (model["StatImputer"], loaded["StatImputer"]):
            assert each.stats["a"].get() == 2.0
            assert each.stats["b"].get() == 0.5
            assert (each.stats["a"] is each.imputers[0][1]) == shared


def test_the_names_of_steps_are_kept():
    model = compose.Pipeline(("scale", preprocessing.StandardScaler()), ("learn", rbp()))
    assert list(checkpoint.loads(checkpoint.dumps(model)).steps) == ["scale", "learn"]


def test_mini_batch_wrappers_round_trip():
    pandas = pytest.importorskip("pandas")
    model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(rbp())
    X = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]})
    model.learn_many(X, pandas.Series(["x", "y", "z"], name="label"))
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert loaded.predict_many(X).tolist() == model.predict_many(X).tolist()
    assert loaded.predict_many(X).name == "label"


def test_unknown_attributes_of_wrappers_are_rejected():
    scaler = preprocessing.StandardScaler()
    scaler.note = "mine"
    with pytest.raises(CheckpointError, match="StandardScaler with the attributes note"):
        checkpoint.dumps(scaler | rbp())


def retraining(inner, levels):
    """A document of nested wrappers; each level would clone the next twice."""
    for _ in range(levels):
        outer = copy.deepcopy(inner)
        outer["object"]["parameters"]["model"] = inner
        inner = outer
    return inner


def test_nested_wrappers_take_linear_time():
    """River's constructors clone what they wrap: 40 nested ones would make 2^40 clones."""
    data = checkpoint.dumps(drift.DriftRetrainingClassifier(rbp(), train_in_background=False))
    document, arrays = pieces(data)
    few, many = (assembled(document | {"model": retraining(document["model"], n)}, arrays) for n in (5, 20))
    assert isinstance(checkpoint.loads(few), drift.DriftRetrainingClassifier)
    with pytest.raises(CheckpointError, match="wrappers in wrappers"):
        checkpoint.loads(many)


def test_many_small_models_cannot_allocate_much_memory_together():
    """Each claims room acceptable for a single model."""
    document, arrays = pieces(checkpoint.dumps(ensemble.BaggingClassifier(rbp(budget=2**20), n_models=40)))
    for model in document["model"]["object"]["state"]["data"]["list"]:
        points = model["object"]["state"]["_f"]["part"]["state"]["points"]["dict"]
        next(pair for pair in points if pair[0] == "capacity")[1] = 2**16
    with little_memory(), pytest.raises(CheckpointError, match="bytes of memory"):
        checkpoint.loads(assembled(document, arrays))
