"""Dataframes: columns accept the same values as dicts, and predictions have the dataframe's library."""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import math

import numpy as np
import pytest

import river_okl
from tests import streams
from tests.discovery import learn, snapshot

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

DAY, SPAN = datetime.datetime(2020, 1, 1), datetime.timedelta(days=1)

NUMBERS = {
    **{dtype: pd.Series([1, 2], dtype=dtype) for dtype in ("int", "uint8", "Int64")},
    **{dtype: pd.Series([True, False], dtype=dtype) for dtype in ("bool", "boolean")},
    **{dtype: pd.Series([0.5, 2.0], dtype=dtype) for dtype in ("float32", "longdouble", "Float64")},
    "sparse": pd.Series(pd.arrays.SparseArray([0, 1])),
    "object": pd.Series([1, 2.5], dtype=object),
    "objects": pd.Series([True, decimal.Decimal("0.25")], dtype=object),
    "fractions": pd.Series([fractions.Fraction(1, 3), np.float16(2.0)], dtype=object),
    "pl-int": pl.Series([1, 2]),
    "pl-bool": pl.Series([True, False]),
    "pl-decimal": pl.Series([decimal.Decimal("0.25"), decimal.Decimal(3)]),
    "pl-int128": pl.Series([1, 2], dtype=pl.Int128),
    "pl-object": pl.Series([1, 2.5], dtype=pl.Object),
}

NO_NUMBERS = {
    "digits": pd.Series(["1", "2"]),
    "digits-object": pd.Series(["1", "2"], dtype=object),
    **{f"one-{value}": pd.Series([1.0, value], dtype=object) for value in ("2", None)},
    "zone": pd.Series([DAY, DAY]).dt.tz_localize("UTC"),
    **{type(value).__name__: pd.Series([value] * 2) for value in (DAY, SPAN)},
    "period": pd.Series(pd.period_range("2020", periods=2)),
    "interval": pd.Series(pd.interval_range(0, 2)),
    **{"complex": pd.Series([1.0 + 2.0j, 3.0]), "complex-object": pd.Series([np.complex128(1.0), 3.0], dtype=object)},
    "categories": pd.Series(["1", "2"], dtype="category"),
    "whole-categories": pd.Series([1, 2], dtype="category"),
    "bytes": pd.Series([b"1", b"2"]),
    **{dtype: pd.Series([1, None], dtype=dtype) for dtype in ("Int64", "Float64", "boolean")},
    **{"NaN": pd.Series([1.0, math.nan]), "inf": pd.Series([1.0, math.inf]), "lists": pd.Series([[1.0], [2.0]])},
    **{f"1e{power}": pd.Series([1, 10**power], dtype=object) for power in (60, 400)},
    **{f"pl-{dtype}": pl.Series(["1", "2"], dtype=dtype) for dtype in (pl.String, pl.Categorical, pl.Enum(["1", "2"]))},
    **{f"pl-{type(value).__name__}": pl.Series([value] * 2) for value in (DAY, DAY.date(), DAY.time(), SPAN)},
    **{f"pl-{value}-missing": pl.Series([value, None]) for value in (None, 1, True)},
    **{"pl-bytes": pl.Series([b"1", b"2"]), "pl-list": pl.Series([[1.0], [2.0]])},
    "pl-object": pl.Series([1, "2"], dtype=pl.Object),
}


def frame_with(column):
    frame, series = (pd.DataFrame, pd.Series) if isinstance(column, pd.Series) else (pl.DataFrame, pl.Series)
    return frame({"good": [1.0, 0.5], "odd": column, "also good": [2, 3]}), series([1.0, -1.0])


def models():
    seeded = river_okl.OLRDRegressor(seed=1), river_okl.FOGDClassifier(seed=1)
    return [river_okl.KernelPAClassifier(), *seeded, river_okl.POMDRClassifier()]


@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_every_type_equal_single_samples(column):
    X, y = frame_with(column)
    for many in models():
        one = many.clone()
        for value, good, also, target in zip(column, [1.0, 0.5], [2, 3], [1.0, -1.0], strict=True):
            one.learn_one({"good": good, "odd": value, "also good": also}, target)
        many.learn_many(X, y)
        assert snapshot(many) == snapshot(one)
        many.predict_many(X)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_categorical_columns_are_rejected(n):
    X = pd.DataFrame({f"x{j}": pd.Categorical([1.0, 2.0]) for j in range(n)})
    with pytest.raises(TypeError, match="'x0' is a column of categories"):
        river_okl.RBPClassifier().learn_many(X, pd.Series([True, False]))


@pytest.mark.parametrize("cls", [river_okl.OLKClassifier, river_okl.OGDRegressor])
def test_an_overridden_learn_one_learns_every_row(cls):
    class Doubling(cls):
        def learn_one(self, x, y, w=1.0):
            super().learn_one(x, y, 2.0 * w)

    X, y = pd.DataFrame({"a": [1.0, 2.0, -3.0]}), pd.Series([1.0, -1.0, 1.0])
    doubling, plain = Doubling(), cls()
    doubling.learn_many(X, y)
    plain.learn_many(X, y, 2.0)
    assert doubling.support_vectors == plain.support_vectors


def test_rows_before_a_rejected_row_are_learned():
    kernel = river_okl.kernels.Polynomial(degree=3)
    for cls in (river_okl.KernelPerceptronClassifier, river_okl.OGDRegressor):
        many, one = cls(kernel), cls(kernel)
        with pytest.raises(ValueError, match="scale the"):
            many.learn_many(pd.DataFrame({"a": [1.0, -1.0, 1e40, 2.0]}), pd.Series([1.0, -1.0, 1.0, -1.0]))
        assert snapshot(many) == snapshot(learn(one, [({"a": 1.0}, 1.0), ({"a": -1.0}, -1.0)]))


@pytest.mark.parametrize("column", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_errors_for_non_numbers_name_the_column(column):
    X, y = frame_with(column)
    for model in models():
        model.learn_one({"good": 1.0}, 1.0)
        before = snapshot(model)
        probable = getattr(model, "predict_proba_many", model.predict_many)  # of classifiers
        for call in (functools.partial(model.learn_many, y=y), model.predict_many, probable):
            with pytest.raises((TypeError, ValueError), match=r"feature 'odd' is .*kernels need"):
                call(X)
        assert snapshot(model) == before


ODD_VALUES = [
    *("1", b"1", bytearray(b"1"), memoryview(b"1"), 1j, np.complex128(1.0), DAY, SPAN),
    *(np.datetime64(1, "ns"), np.timedelta64(1, "ns"), pd.Timestamp(0), pd.Timedelta(1), pd.NA, pd.NaT),
    *(np.array("1"), np.array(b"1"), np.str_("1"), np.void(b"1"), np.array([1.0, 2.0]), object()),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: f"{type(value).__name__}-{value!r:.10}")
def test_values_that_float_accepts_but_samples_do_not(value):
    model = river_okl.OLRDRegressor()
    with pytest.raises((TypeError, ValueError), match=r"feature 'a' is .*kernels need"):
        model.learn_one({"a": value}, 1.0)
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises((TypeError, ValueError), match=r"feature 'a' is .*kernels need"):
        model.predict_one({"a": value})


# Out ------------------------------------------------------------------------------------------------------------------

LABELS = [
    *((1, "x"), (True, 2), (1, 2.0), ("a", b"a"), (("a", 1), ("b", 2)), (1, (1,)), (2**70, 1), (0, 2**64)),
    *(("a", "b"), (0, 1), (5.0, 15.0), (False, True), (b"a", b"b"), (np.str_("a"), np.str_("b"))),
    (decimal.Decimal(1), datetime.date(2020, 1, 1)),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_predicted_labels_are_those_of_predict_one(labels, frame):
    model = river_okl.KernelPAClassifier()
    X = frame({"a": [1.0, -1.0, 0.9]})
    for x, y in zip((1.0, -1.0), labels, strict=True):
        model.learn_one({"a": x}, y)
    expected = [model.predict_one({"a": x}) for x in (1.0, -1.0, 0.9)]
    assert expected == [labels[0], labels[1], labels[0]]
    found = model.predict_many(X)
    assert type(found) is type(X["a"])
    assert found.to_list() == expected
    many = model.predict_proba_many(X)
    assert list(many.columns) == [y if frame is pd.DataFrame else str(y) for y in model.predict_proba_one({})]


def test_labels_with_equal_names_cannot_be_polars_columns():
    model = river_okl.KernelPAClassifier()
    for y in ("1", 1):
        model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match=r"labels \['1', 1\] have the same names as columns: use predict_proba_one"):
        model.predict_proba_many(pl.DataFrame({"a": [1.0]}))
    assert model.predict_proba_many(pd.DataFrame({"a": [1.0]})).columns.tolist() == ["1", 1]


def test_the_index_is_kept():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=["r", "s"])
    model = river_okl.KernelPAClassifier()
    for y in (None, "a", "b", "c"):
        if y:
            model.learn_one({"a": 1.0}, y)
        assert model.predict_many(X).index.tolist() == ["r", "s"]
        assert model.predict_proba_many(X).index.tolist() == ["r", "s"]


# Invalid frames -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [None, np.zeros((2, 2)), [{"a": 1.0}], {"a": [1.0]}, pd.Series([1.0], name="a"), pl.LazyFrame({"a": [1.0]})],
    ids=lambda X: type(X).__name__,
)
def test_errors_name_a_wrong_frame(X):
    model = river_okl.OKLClassifier()
    for call in (functools.partial(model.learn_many, y=[True]), model.predict_many, model.predict_proba_many):
        with pytest.raises(TypeError, match=rf"X is .*, a {type(X).__name__}; it must be a dataframe"):
            call(X)


@pytest.mark.parametrize("y", [[1.0, -1.0], (1.0, -1.0), np.array([1.0, -1.0])], ids=lambda y: type(y).__name__)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_targets_may_be_a_list_or_an_array(y, frame):
    X = frame({"a": [1.0, 2.0]})
    for cls in (river_okl.OKLClassifier, river_okl.OKLRegressor):
        model, expected = cls(), cls()
        model.learn_many(X, y)
        expected.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, -1.0]))
        assert snapshot(model) == snapshot(expected)


@pytest.mark.parametrize("y", [None, 1.0, np.zeros((2, 1)), pd.DataFrame({"y": [1.0, 2.0]}), {0: 1.0}])
def test_errors_name_a_wrong_series(y):
    with pytest.raises(TypeError, match=rf"y is .*, a {type(y).__name__}; it must be a series"):
        river_okl.OKLRegressor().learn_many(pd.DataFrame({"a": [1.0, 2.0]}), y)


def test_intervals_of_many_rows_are_those_of_one():
    model, rows = river_okl.OKLRegressor(budget=20), streams.dense(streams.REGRESSION, 80)
    empty = model.predict_interval_many(pd.DataFrame([{"a": math.nan}]))
    assert list(empty.columns) == ["lower", "upper"] and empty.loc[0, "lower"] < empty.loc[0, "upper"]
    model.learn_stream(rows)
    for make in (pd.DataFrame, pl.DataFrame):
        for coverage in (0.3, 0.9, 0.999):
            found = model.predict_interval_many(make([x for x, _ in rows]), coverage)
            assert type(found) is make
            expected = [model.predict_interval_one(x, coverage) for x, _ in rows]
            np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="coverage is 1"):
        model.predict_interval_many(pd.DataFrame([rows[0][0]]), coverage=1.0)
