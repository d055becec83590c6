"""Error messages for invalid feature values, with advice in terms of the library that the value comes from.

Code in a message is between backquotes.
"""

from __future__ import annotations

from typing import Any, NoReturn

from river_okl._core.states import LARGEST
from river_okl._core.store.sample import is_gap, is_number, shown
from river_okl.checks import kind_of

# The classes that accept strings and gaps.
TAKES_IT = "; OKLClassifier and OKLRegressor take it as it is"
TAKES_GAPS = ", which OKLClassifier and OKLRegressor take"


def reject(key: Any, value: Any, in_frame: bool = False) -> NoReturn:
    """Raise the error for an invalid feature value, with advice."""
    name, text = shown(key), shown(value)
    todo = advice(name, value, in_frame)
    if not is_number(value):
        raise TypeError(f"feature {name} is {text}, {kind_of(value)}: kernels need numbers; {todo}")
    if is_gap(value):
        if not in_frame:
            todo += " (MinMaxScaler makes NaN of features it has not learned, StandardScaler does not)"
        raise ValueError(f"feature {name} is {text}: kernels need finite numbers; {todo}")
    raise ValueError(f"feature {name} is {text}: kernels need finite numbers of at most {LARGEST:g}; {todo}")


def advice(name: str, value: Any, in_frame: bool) -> str:
    """Return advice on a value of this feature that is a gap, not a number, or too large."""
    if is_gap(value):
        if in_frame:
            filled = "`X.fillna(X.mean())` in pandas, `X.fill_nan(None).fill_null(strategy='mean')` in polars"
            return f"fill the gaps: {filled}{TAKES_IT}"
        test = "v is not None" if value is None else "v == v" if is_number(value) else f"k != {name}"
        return (
            f"leave it out, `{{k: v for k, v in x.items() if {test}}}`, or "
            f"{'' if value is None else 'make it None and '}impute it, "
            f"`preprocessing.StatImputer(({name}, stats.Mean())) | model`, before any scaler{TAKES_IT}"
        )
    kind = getattr(getattr(value, "dtype", None), "kind", "-")
    if isinstance(value, str):
        if in_frame and is_numeral(value):
            return f"convert it: `X[{name}].astype(float)` in pandas, `X[{name}].cast(float)` in polars"
        if in_frame:
            encoded = f"`pandas.get_dummies(X, columns=[{name}])`, or `X.to_dummies({name})` in polars"
            return f"encode it: {encoded}{TAKES_IT}"
        if is_numeral(value):
            return "convert it: `float(value)`"
        return (
            "encode strings, `(compose.SelectType(str) | preprocessing.OneHotEncoder()) + "
            f"(compose.SelectType(int, float) | preprocessing.StandardScaler()) | model`, or "
            f"leave it out, `compose.Discard({name}) | model`{TAKES_IT}"
        )
    if hasattr(value, "toordinal") or kind == "M":
        return (
            "encode dates, `river_okl.Dates(categories=False) | model`; OKLClassifier and OKLRegressor also take its "
            "categories, `river_okl.Dates() | model`"
        )
    if hasattr(value, "total_seconds"):
        return f"convert it: `X[{name}].dt.total_seconds()`" if in_frame else "convert it: `value.total_seconds()`"
    if kind == "m":
        return "convert it: `value.astype(float)`"
    if isinstance(value, complex) or kind == "c":
        return "make a feature of each part: `{'real': value.real, 'imag': value.imag}`"
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) != 0:
        return "make a feature of each item: `dict(enumerate(value))`"
    if is_number(value):
        if not is_infinite(value):
            return "divide it by a constant, or take its logarithm"
        if in_frame:
            column = f"polars.col({name}).replace([math.inf, -math.inf], None)"
            gaps = f"`X.replace([math.inf, -math.inf], math.nan)` in pandas, `X.with_columns({column})` in polars"
            return f"replace it with the largest value that can occur, or with a gap, {gaps}{TAKES_GAPS}"
        left_out = "`{k: v for k, v in x.items() if v not in (math.inf, -math.inf)}`"
        gaps = "`{k: None if v in (math.inf, -math.inf) else v for k, v in x.items()}`"
        return (
            f"leave it out, {left_out}, replace it with the largest value that can occur, or make it a gap, "
            f"{gaps}{TAKES_GAPS}"
        )
    return "drop the column" if in_frame else f"leave it out: `compose.Discard({name}) | model`"


def is_infinite(value: Any) -> bool:
    """Whether a number is infinite (and not an integer too large for a double)."""
    try:
        return float(value) in (float("inf"), -float("inf"))
    except (TypeError, ValueError, OverflowError):
        return False


def is_numeral(text: str) -> bool:
    """Whether ``float`` parses the text as a number in range."""
    try:
        return abs(float(text)) <= LARGEST
    except ValueError:
        return False
