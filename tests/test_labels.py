"""Labels: predictions before there are any, invalid ones, and their number."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from river import datasets, evaluate, metrics, preprocessing

import river_okl
from river_okl import labels as module
from river_okl.labels import Labels, check_label
from tests.discovery import CLASSIFIERS, NATIVE, each_of, learn, small, unchanged

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

each_classifier = each_of(CLASSIFIERS)
X = {"a": [1.0, -1.0, 0.0], "b": [0.0, 2.0, 0.0]}
ROWS = [{"a": 1.0, "b": 0.0}, {"a": -1.0, "b": 2.0}, {}]


# With no label or one ----------------------------------------------------------------------------------------------


@each_classifier
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_before_the_first_label(cls, frame):
    model = small(cls)
    fresh = {} if model._multiclass else {False: 0.5, True: 0.5}  # River's checks ask for these of a binary class
    with unchanged(model):
        for x in ROWS:
            assert model.predict_one(x) is None
            assert model.predict_proba_one(x) == fresh
            assert model.decision_function_one(x) == 0.0
            if hasattr(model, "explain_one"):
                assert model.explain_one(x) == []
                assert "0 others" in model.debug_one(x)
        assert (model.n_support_vectors, model.support_vectors, model.norm) == (0, [], 0.0)
        assert model.predict_many(frame(X)).to_list() == [None] * 3
        assert type(model.predict_many(frame(X))) is type(frame(X)["a"])
        many = model.predict_proba_many(frame(X))
    assert list(many.columns) == [str(y) if frame is pl.DataFrame else y for y in fresh]
    if frame is pd.DataFrame or fresh:
        assert len(many) == 3


TWO = (river_okl.KernelPAClassifier, river_okl.ForgetronClassifier)  # a native one and a binary one
OTHER_LABELS = (0, 1, -1, 7.0, ("t", 1), True, np.bool_(True), np.int64(3))
ONE = [(cls, y) for cls in CLASSIFIERS.values() for y in ("a", False)] + [(cls, y) for cls in TWO for y in OTHER_LABELS]


@pytest.mark.parametrize(("cls", "label"), ONE, ids=lambda value: getattr(value, "__name__", repr(value)))
def test_a_single_label_is_predicted_everywhere(cls, label):
    options = {} if cls is river_okl.FOGDClassifier else {"kernel": river_okl.kernels.Linear()}  # scores of both signs
    model = learn(small(cls, **options), [(ROWS[0], label), (ROWS[1], label)])
    for x in [*ROWS, {"a": -9.0}, {"a": 9.0}]:
        found, p = model.predict_one(x), model.predict_proba_one(x)
        assert found == label and type(found) is type(label)
        if isinstance(label, bool | np.bool_) and not model._multiclass:
            assert p.keys() == {False, True} and sum(p.values()) == pytest.approx(1.0) and p[label] >= 0.5
        else:
            assert p == {label: 1.0}
    assert model.predict_many(pd.DataFrame(X)).tolist() == [label] * 3
    for (_, row), x in zip(model.predict_proba_many(pd.DataFrame(X)).iterrows(), ROWS, strict=True):
        assert row.to_dict() == pytest.approx(model.predict_proba_one(x))


@each_classifier
def test_only_labels_that_were_seen(cls):
    model, seen = small(cls), set()
    names = ["x", "y", "z"] if model._multiclass else ["x", "y"]
    for t, label in enumerate(names[:1] + names[:2] + names * 3):
        x = {"a": math.sin(t), "b": math.cos(t * t)}
        model.learn_one(x, label)
        seen.add(label)
        assert model.predict_proba_one({"a": -x["a"]}).keys() == seen
        assert model.predict_one({"a": -x["a"]}) in seen
    assert set(model.predict_proba_many(pl.DataFrame(X)).columns) == seen


@pytest.mark.parametrize("cls", [*NATIVE.values()][:3])
def test_reports_with_texts_for_labels(cls):
    """A phantom class, here True, would count in a macro average and could not be sorted among strings."""
    stream = list(datasets.ImageSegments().take(300))
    model = preprocessing.StandardScaler() | cls()
    confusion, report = metrics.ConfusionMatrix(), metrics.ClassificationReport()
    macro = metrics.MacroF1(confusion)
    evaluate.progressive_val_score(stream, model, macro + report)
    labels = {y for _, y in stream}
    assert set(confusion.classes) == labels
    assert confusion.n_samples == len(stream) - 1  # the first has no prediction
    per_class = metrics.MultiFBeta(betas=dict.fromkeys(labels, 1.0), weights=None)
    per_class.cm = confusion
    assert macro.get() == pytest.approx(per_class.get())
    for label in labels:
        assert label in str(confusion) and label in str(report)
    assert "True" not in str(report)


# Invalid labels ------------------------------------------------------------------------------------------------------

MISSING = [
    *(None, math.nan, np.float32("nan"), np.float64("nan"), decimal.Decimal("nan"), complex("nan")),
    *(pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")),
    *(("a", math.nan), ("a", (pd.NA,)), (None,), frozenset([math.nan])),
]
NO_LABEL = [[1], {}, np.array([1, 2]), pd.Series([1]), np.ma.masked, decimal.Decimal("sNaN")]


@pytest.mark.parametrize("label", MISSING, ids=repr)
def test_missing_labels_are_rejected(label):
    with pytest.raises(ValueError, match="drop the samples that have none"):
        check_label(label, "X")
    for cls in TWO:
        for known in ([], ["a"], ["a", "b"]):
            model = learn(small(cls), [(ROWS[0], y) for y in known])
            with unchanged(model), pytest.raises(ValueError, match="drop the samples that have none"):
                model.learn_one(ROWS[1], label)
            with unchanged(model), pytest.raises(ValueError, match="drop the samples that have none"):
                model.learn_many(pd.DataFrame(ROWS[:2]), pd.Series(["a", label], dtype=object))


@pytest.mark.parametrize("label", NO_LABEL, ids=repr)
def test_unhashable_values_are_not_labels(label):
    with pytest.raises(TypeError, match="one hashable value"):
        check_label(label, "X")
    with pytest.raises(TypeError, match="one hashable value"):
        river_okl.KernelPAClassifier().learn_one({"a": 1.0}, label)


@pytest.mark.parametrize(
    "labels",
    [
        *(pd.Series([True, None], dtype="boolean"), pd.Series([1, None], dtype="Int64"), pd.Series([1, None])),
        *(pd.Series(["a", None]), pd.Series(["a", None], dtype="category"), pd.Series(["a", None], dtype="string")),
        pd.Series([pd.Timestamp(0), pd.NaT]),
        *(pl.Series([True, None]), pl.Series(["a", None]), pl.Series([1.0, math.nan]), pl.Series([1, None])),
    ],
    ids=lambda series: f"{type(series).__module__.partition('.')[0]}-{series.dtype}",
)
def test_series_with_missing_labels_are_rejected_before_anything_is_learned(labels):
    frame = pd.DataFrame if isinstance(labels, pd.Series) else pl.DataFrame
    model = river_okl.KernelPAClassifier()
    with unchanged(model), pytest.raises(ValueError, match="drop the samples that have none"):
        model.learn_many(frame({"a": [1.0, 2.0]}), labels)


QUANTITIES = [
    *(0.37, -1.5, 1e-300, math.inf, np.float32(0.5), np.float64(2.5), np.longdouble("0.5")),
    *(decimal.Decimal("1.5"), decimal.Decimal("-inf"), fractions.Fraction(1, 3)),
]
WHOLE = [
    *(1.0, -1.0, -0.0, 7, -3, 10**400, 1e300, True, np.float32(2.0), np.int8(3), np.bool_(False)),
    *(decimal.Decimal("3.00"), decimal.Decimal("1e99999"), fractions.Fraction(4, 2), 1j, (0.5,), "0.5"),
]


@pytest.mark.parametrize("label", QUANTITIES, ids=repr)
def test_numbers_with_a_fraction_are_not_labels(label):
    with pytest.raises(ValueError, match=r"a fraction, and X predicts classes: .*regressor \(OKLRegressor\)"):
        check_label(label, "X")
    assert module.REGRESSOR in river_okl.__all__


@pytest.mark.parametrize("label", WHOLE, ids=repr)
def test_integers_are_labels(label):
    check_label(label, "X")


@each_classifier
def test_quantities_are_rejected_before_anything_is_learned(cls):
    """At the first sample, after numeric labels, and as a third label."""
    message = f"{cls.__name__} predicts classes.*OKLRegressor"
    for known in ([], [1.0], [1.0, -1.0]):
        model = learn(small(cls), [(ROWS[0], y) for y in known])
        for y in (0.37, decimal.Decimal("1.5"), np.float32(0.5), fractions.Fraction(1, 2)):
            with unchanged(model), pytest.raises(ValueError, match=message):
                model.learn_one(ROWS[1], y)
            with unchanged(model), pytest.raises(ValueError, match=message):
                model.learn_many(pd.DataFrame(ROWS[:2]), pd.Series([1.0, y], dtype=object))
        with unchanged(model), pytest.raises(ValueError, match=message):
            model.learn_many(pl.DataFrame({"a": [1.0, 2.0]}), pl.Series([1.0, 0.5]))


@pytest.mark.parametrize("label", ["", (), "nan", b"x", datetime.date(2020, 1, 1), decimal.Decimal(1), 0.0], ids=repr)
def test_other_labels_keep_value_and_type(label):
    model = learn(river_okl.KernelPAClassifier(), [({"a": 1.0}, label), ({"a": -1.0}, "other")])
    assert model.predict_one({"a": 1.0}) is label


# Their number --------------------------------------------------------------------------------------------------------


class Counted(str):
    """A string that counts its lookups."""

    hashes = 0

    def __hash__(self):
        Counted.hashes += 1
        return super().__hash__()


@each_of(NATIVE)
def test_a_new_label_costs_nothing_for_the_others(cls):
    n, Counted.hashes = 300, 0
    model = learn(small(cls, budget=2), [({"a": float(i % 7)}, Counted(i)) for i in range(n)])
    assert len(model.predict_proba_one({})) == n
    assert Counted.hashes < 20 * n


def test_the_number_of_labels_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_LABELS", 5)
    model, message = river_okl.RBPClassifier(budget=2), "'6' is a new label after 5 others, RBPClassifier"
    with unchanged(model), pytest.raises(ValueError, match=message):
        model.learn_many(pd.DataFrame({"a": range(7)}), pd.Series(list("1234567")))
    learn(model, [({"a": 1.0}, y) for y in "12345"])
    with unchanged(model), pytest.raises(ValueError, match=message):
        model.learn_one({"a": 1.0}, "6")
    model.learn_one({"a": 1.0}, "5")


def test_the_guarantees_state_the_limit():
    text = (Path(__file__).parent.parent / "docs" / "guarantees.md").read_text()
    assert f"{module.MAX_LABELS:,} labels" in " ".join(text.split())


# The object ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "names"),
    [
        *(([True, False], [False, True]), ([False, True], [False, True]), ([1, 0], [0, 1]), ([-1, 1], [-1, 1])),
        *(([5, 1], [5, 1]), ([1, 5], [5, 1]), (["b", "a"], ["b", "a"]), (["a", True], ["a", True])),
        *(([1, "a", 0, 2], ["a", 1, 0, 2]), ([], []), (["a"], ["a"]), ([0], [0]), ([1], [1])),
    ],
)
def test_positions(stream, names):
    labels = Labels()
    for y in stream * 2:
        labels.check([y], "X", multiclass=True)
        labels.add(y)
    assert labels.names == names and len(labels) == len(names)
    if len(names) > 1:
        assert labels.positions == {y: i for i, y in enumerate(names)}
    assert labels.positive == (names[1] if len(names) > 1 else 1 if names == [1] else None)
    again = pickle.loads(pickle.dumps(labels))
    assert (again.names, again.positions) == (labels.names, labels.positions)
    assert Labels(names).positions == labels.positions
