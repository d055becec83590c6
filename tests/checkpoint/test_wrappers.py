"""Checkpoints of River's pipelines and wrappers."""

from __future__ import annotations

import pytest
from river import compose, ensemble, feature_extraction, multiclass, preprocessing, stats

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


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: compose.SelectType(Word) | rbp(), r"^Pipeline\.SelectType\.types is <class .*Word.*use pickle"),
        (
            lambda: feature_extraction.BagOfWords(tokenizer=str.split) | rbp(),
            r"^Pipeline\.BagOfWords\.tokenizer is",
        ),
        (
            lambda: ensemble.BaggingClassifier(compose.FuncTransformer(lambda x: x) | rbp()),
            r"^BaggingClassifier\..*\.func is <function .*lambda",
        ),
    ],
)
def test_code_is_rejected_with_its_path(model, message):
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


def test_additional_attributes_are_kept():
    scaler = preprocessing.StandardScaler()
    scaler.note = "mine"
    assert checkpoint.loads(checkpoint.dumps(scaler | rbp()))["StandardScaler"].note == "mine"


def test_many_small_models_cannot_allocate_much_memory_together():
    """Each claims room acceptable for a single model."""
    document, arrays = pieces(checkpoint.dumps(ensemble.BaggingClassifier(rbp(budget=2**20), n_models=40)))
    for model in document["entries"]:
        if "state" not in model:
            continue
        points = model["state"]["_f"]["part"]["state"]["points"]["nested"]
        next(pair for pair in points if pair[0] == "capacity")[1] = 2**16
    with little_memory(), pytest.raises(CheckpointError, match="bytes of memory"):
        checkpoint.loads(assembled(document, arrays))
