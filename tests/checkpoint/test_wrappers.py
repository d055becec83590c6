"""Checkpoints of River's pipelines and wrappers."""

from __future__ import annotations

import pytest
from river import ensemble, preprocessing, stats

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
