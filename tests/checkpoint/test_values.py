"""Names, labels and parameters in a checkpoint: each keeps its type or is rejected."""

from __future__ import annotations

import itertools
import math
import os
from decimal import Decimal

import numpy as np
import pytest
from river import compose, multiclass, optim

import river_okl
from river_okl import checkpoint, kernels
from river_okl.checkpoint import CheckpointError
from tests.discovery import learn, snapshot

NAMES = [
    *("x", "", "ü\U0001f600\ud800", 7, -(2**70), True, 0.5, math.inf, -0.0),
    *(("a", (1, 2.5)), (), np.str_("n"), np.int64(4), None, ("a", None)),
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_keep_their_type(name):
    model = learn(river_okl.KernelPerceptronClassifier(), [({name: 1.0}, True)])
    loaded = checkpoint.loads(checkpoint.dumps(model))
    ((point, _),) = loaded.support_vectors
    assert [(key, type(key)) for key in point] == [(name, type(name))]
    assert snapshot(loaded) == snapshot(model)


LABELS = [
    *((False, True), (0, 1), (-1, 1), ("no", "yes"), (0.0, 2.0)),
    *(((1, "a"), (2, "b")), (np.False_, np.True_), ("a", "b", 3)),
]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_keep_their_type(labels):
    xs = [{"x": math.sin(i)} for i in range(10)]
    model = learn(river_okl.KernelPerceptronClassifier(), zip(xs, itertools.cycle(labels), strict=False))
    found = [checkpoint.loads(checkpoint.dumps(model)).predict_one(x) for x in xs]
    assert found == [model.predict_one(x) for x in xs]
    assert {type(label) for label in found} <= {type(label) for label in labels}


class Text(str):
    pass


@pytest.mark.parametrize("name", [b"x", Decimal(1), frozenset([1]), ("a", b"x"), math.nan, Text("x")], ids=repr)
def test_other_names_are_rejected_before_anything_is_written(name, tmp_path):
    path = tmp_path / "model.okl"
    path.write_text("old")
    model = learn(river_okl.KernelPerceptronClassifier(kernels.RBF(1.0)), [({name: 1.0}, True)])
    with pytest.raises(CheckpointError, match="a feature is named"):
        river_okl.save(model, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.okl"]


class UsersLoss(optim.losses.Hinge):
    pass


class UsersClassifier(river_okl.RBPClassifier):
    pass


def annotated():
    model = river_okl.RBPClassifier()
    model.note = "mine"
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (river_okl.OLRDClassifier(loss=UsersLoss()), "loss"),
        (UsersClassifier(), "a UsersClassifier: use pickle"),
        (kernels.RBF(), "it is RBF"),
        (compose.FuncTransformer(lambda x: x) | river_okl.RBPClassifier(), r"^Pipeline\.<lambda>\.func is <function"),
        (compose.FuncTransformer(len) | river_okl.RBPClassifier(), r"^Pipeline\..*\.func is <built-in function len"),
        (compose.SelectType(Text) | river_okl.RBPClassifier(), r"SelectType\.types is <class .*Text.*use pickle"),
        (multiclass.OneVsRestClassifier(UsersClassifier()), r"^OneVsRestClassifier\.classifier is .*UsersClassifier"),
        (5, "5, an int"),
        ("only a string", "it is 'only a string'"),
        (annotated(), "note"),
        ({"a": object()}, "it.a is <object .*use pickle"),
        ([river_okl.RBPClassifier(), {"f": print}], "it.f is <built-in function print>"),
        ({object(): 1}, "it is named <object"),
    ],
)
def test_unsupported_values_are_rejected(model, message, tmp_path):
    with pytest.raises(CheckpointError, match=message) as caught:
        river_okl.save(model, tmp_path / "model.okl")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []
