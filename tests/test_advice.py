"""The advice in errors works: code between backquotes is run as written."""

from __future__ import annotations

import datetime
import decimal
import math
import re

import numpy as np
import pytest
from river import compose, preprocessing, stats

import river_okl
from river_okl.series import is_date

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def model():
    return river_okl.RBPClassifier(seed=1)


def advised(error):
    """The advice and its pieces of code."""
    text = str(error.value)
    assert "\n" not in text and len(text) < 400
    return text, re.findall(r"`([^`]*)`", text)


def learn(pipeline, stream):
    for x, y in stream:
        pipeline.predict_one(x)
        pipeline.learn_one(x, y)
    return pipeline


def rejection(stream):
    """The error of a bare model for the first sample, taken apart."""
    with pytest.raises((TypeError, ValueError), match=r"^feature 'b' is .*kernels need") as error:
        model().learn_one(*stream[0])
    return advised(error)


def okl_takes(text, stream):
    """The classes named in the advice accept the samples."""
    names = re.findall(r"OKL\w+", text)
    assert names == ["OKLClassifier", "OKLRegressor"]
    for name in names:
        learn(getattr(river_okl, name)(), [(x, float(y)) for x, y in stream])


def names_of(value, x):
    modules = {"river_okl": river_okl, "compose": compose, "preprocessing": preprocessing, "stats": stats, "pandas": pd}
    return {**modules, "model": model(), "value": value, "x": x}


# Gaps -------------------------------------------------------------------------------------------------------------

GAPS = [math.nan, np.float32("nan"), decimal.Decimal("nan"), None, pd.NA, pd.NaT]


@pytest.mark.parametrize("gap", GAPS, ids=repr)
def test_a_gap_is_left_out_or_imputed(gap):
    stream = [({"a": 1.0, "b": gap}, True), ({"a": 2.0, "b": 5.0}, False), ({"a": 3.0, "b": gap}, True)]
    text, (left_out, imputed) = rejection(stream)
    okl_takes(text, stream)
    rest = eval(left_out, names_of(gap, stream[0][0]))
    assert rest == {"a": 1.0}
    learn(preprocessing.StandardScaler() | model(), [(rest, True)])
    assert ("make it None" in text) == (gap is not None)
    as_none = [({"a": x["a"], "b": None if x["b"] is gap else x["b"]}, y) for x, y in stream]
    pipeline = learn(eval(imputed, names_of(gap, stream[0][0])), as_none)
    assert pipeline.transform_one({"a": 1.0, "b": None}) == {"a": 1.0, "b": 5.0}, "the mean of what was there"
    assert "before any scaler" in text
    scaler = preprocessing.StandardScaler()
    learn(pipeline["StatImputer"] | scaler | model(), as_none)
    assert all(math.isfinite(value) for value in scaler.transform_one({"a": 1.0, "b": 2.0}).values())


def test_min_max_scaler_makes_a_new_feature_nan():
    """The error names the cause and a scaler without the problem."""
    stream = [({"a": 1.0}, True), ({"a": 2.0}, False), ({"a": 1.0, "b": 2.0}, True)]
    with pytest.raises(ValueError, match=r"'b' is nan: .*MinMaxScaler makes NaN .*, StandardScaler does not") as error:
        learn(preprocessing.MinMaxScaler() | model(), stream)
    advised(error)
    learn(preprocessing.StandardScaler() | model(), stream)


# Strings, dates, other things -------------------------------------------------------------------------------------


def test_strings_are_encoded_or_left_out():
    stream = [({"a": 1.0, "n": 2, "b": b}, b == "red") for b in ("red", "blue", "green", "red")]
    text, (encoded, left_out) = rejection(stream)
    okl_takes(text, stream)
    pipeline = learn(eval(encoded, names_of("red", {})), stream)
    names = {"a", "n", "b_red", "b_blue", "b_green"}
    assert pipeline.transform_one(stream[0][0]).keys() == names, "and no number is encoded"
    pipeline = learn(eval(left_out, names_of("red", {})), stream)
    assert pipeline.transform_one(stream[0][0]) == {"a": 1.0, "n": 2}


DATES = [
    *(datetime.date(2020, 2, 1), datetime.datetime(2020, 2, 1, 12, tzinfo=datetime.UTC)),
    *(pd.Timestamp(0), np.datetime64("2020-02-01")),
]
OTHERS = [
    *(datetime.time(12), datetime.timedelta(hours=1), pd.Timedelta(1), np.timedelta64(3, "s"), "1.5", " 7 ", b"x"),
    *(1 + 2j, np.complex128(1.0), [1.0, 2.0], (1.0,), np.array([1.0, 2.0]), {"c": 1.0}, {1.0}, object()),
]


@pytest.mark.parametrize("value", [*DATES, *OTHERS], ids=lambda value: type(value).__name__)
def test_non_numbers_are_converted_or_left_out(value):
    stream = [({"a": 1.0, "b": value}, True), ({"a": 2.0, "b": value}, False)]
    _, codes = rejection(stream)
    assert is_date(value) == any(value is date for date in DATES)
    assert len(codes) == (2 if is_date(value) else 1)
    found = eval(codes[0], names_of(value, stream[0][0]))  # a pipeline, a dict or a number
    if not hasattr(found, "learn_one"):
        stream = [(found if isinstance(found, dict) else {"a": 1.0, "b": found}, True)]
        assert stream[0][0]
    learn(found if hasattr(found, "learn_one") else model(), stream)


@pytest.mark.parametrize("okl", [river_okl.OKLClassifier, river_okl.OKLRegressor])
@pytest.mark.parametrize("value", DATES, ids=repr)
def test_okl_says_how_to_encode_dates(okl, value):
    stream = [({"a": 1.0, "b": value, "c": "red"}, 1.0), ({"a": 2.0, "b": value, "c": None}, 0.0)]
    message = f"feature 'b' is {value!r}, a {type(value).__name__}: "
    fitted = learn(okl(), [({"a": 1.0}, 1.0), ({"a": 2.0}, 0.0)])
    for call in (lambda: fitted.learn_one(*stream[0]), lambda: fitted.predict_one(stream[0][0])):
        with pytest.raises(TypeError, match=re.escape(message)) as error:
            call()
        _, (_, for_okl) = advised(error)
    assert "OKLClassifier and OKLRegressor also take its categories" in str(error.value)
    learn(eval(for_okl, names_of(value, {}) | {"model": okl()}), stream)


@pytest.mark.parametrize("value", [math.inf, -math.inf, decimal.Decimal("inf")], ids=repr)
def test_infinity_is_left_out_or_replaced(value):
    stream = [({"a": 1.0, "b": value, "c": "x"}, True)]
    text, (left_out, gaps) = rejection([({"a": 1.0, "b": value}, True)])
    assert "replace it with the largest value that can occur" in text
    learn(model(), [({"a": 1.0, "b": max(-1e6, min(float(value), 1e6))}, True), ({"a": 1.0}, False)])
    names = names_of(value, stream[0][0]) | {"math": math}
    assert eval(left_out, names) == {"a": 1.0, "c": "x"}
    assert eval(gaps, names) == {"a": 1.0, "b": None, "c": "x"}
    assert "which OKLClassifier and OKLRegressor take" in text
    learn(river_okl.OKLClassifier(), [(eval(gaps, names), True), ({"a": 1.0, "b": 2.0, "c": "y"}, False)])


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_infinity_in_a_frame(library):
    X, y = library.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, math.inf, -math.inf]}), [True, False, True]
    for one in (model(), river_okl.OKLClassifier()):
        with pytest.raises(ValueError, match=r"^feature 'b' is inf.*or with a gap") as error:
            one.learn_many(X, y)
    _, codes = advised(error)
    river_okl.OKLClassifier().learn_many(eval(codes[library is pl], {"X": X, "math": math, "polars": pl}), y)


@pytest.mark.parametrize("value", [1e51, 1e300, 10**400], ids=["1e51", "1e300", "10**400"])
def test_too_large_values_are_divided_or_their_logarithm_is_taken(value):
    text, _ = rejection([({"a": 1.0, "b": value}, True)])
    assert "divide it by a constant, or take its logarithm" in text
    scale = 10**399 if isinstance(value, int) else 1e299
    learn(model(), [({"b": value / scale}, True), ({"b": math.log(value)}, False)])


# Frames -----------------------------------------------------------------------------------------------------------

COLUMNS = {
    "nan": [1.0, math.nan, 3.0],
    "none": [1, None, 3],
    "strings": ["red", "blue", "red"],
    "numerals": ["1.5", "2", "3"],
    "dates": [datetime.datetime(2020, 2, day) for day in (1, 2, 3)],
    "spans": [datetime.timedelta(days=day) for day in (1, 2, 3)],
    "categories": None,
}


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", COLUMNS)
def test_frames(name, library):
    """Each library has its own piece of code, pandas first, if they differ."""
    values = COLUMNS[name]
    if name == "categories":
        values = library.Series(["red", "blue", "red"], dtype="category" if library is pd else pl.Categorical)
    X, y = library.DataFrame({"a": [1.0, 2.0, 3.0], "b": values}), library.Series([True, False, True])
    with pytest.raises((TypeError, ValueError), match=r"^feature 'b' is .*kernels need") as error:
        model().learn_many(X, y)
    _, codes = advised(error)
    assert len(codes) == (1 if name == "spans" else 2)
    if name == "dates":
        eval(codes[0], names_of(None, {})).learn_many(X, y)
        eval(codes[1], names_of(None, {}) | {"model": river_okl.OKLClassifier()}).learn_many(X, y)
        return
    found = eval(codes[library is pl and len(codes) == 2], {"X": X, "pandas": pd, "int": int, "float": float})
    if isinstance(found, library.Series):
        found = X.assign(b=found) if library is pd else X.with_columns(b=found)
    one = model()
    one.learn_many(found, y)
    assert one.n_support_vectors
