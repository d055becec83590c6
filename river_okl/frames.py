"""Conversion of dataframes: to a matrix or dicts for the core, and of predictions to the library of the input."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, into_series, to_native_frame, to_native_series, to_numpy

from river_okl._core.store.advice import advice, reject
from river_okl._core.store.sample import Frame, missing, number, shown
from river_okl.checks import kind_of

CATEGORIES = (nw.Categorical, nw.Enum)
NOT_NUMPYS = (nw.Decimal, nw.Int128, nw.UInt128)


Rows = Frame | list[dict[Any, Any]]


def learned(X: Any, y: Any, words: bool = False) -> tuple[Rows, list[Any]]:
    """Return the rows and targets of a mini-batch; ``words``: whether the model accepts strings and missing values."""
    pandas: Any = sys.modules.get("pandas")
    frame: Rows | None = _of_pandas(X, words)
    if frame is None:
        frame = _of_any(frame_of(X), words)
    targets = y.to_list() if pandas and type(y) is pandas.Series else targets_of(y)
    if len(targets) != len(frame):
        raise ValueError(f"{len(targets)} targets for {len(frame)} rows")
    return frame, targets


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """Wrap a dataframe of any library, or raise an error that says what X must be."""
    try:
        return into_frame(X)
    except TypeError:
        raise TypeError(
            f"X is {shown(X)}, {kind_of(X)}; it must be a dataframe of pandas, polars or another library that "
            f"narwhals knows, and not a lazy one"
        ) from None


def targets_of(y: Any) -> list[Any]:
    """Return the targets of a mini-batch as a list."""
    if isinstance(y, list | tuple):
        return list(y)
    if isinstance(y, np.ndarray) and y.ndim == 1:
        plain: list[Any] = y.tolist()
        return plain
    try:
        found: list[Any] = into_series(y).to_list()
    except TypeError:
        raise TypeError(
            f"y is {shown(y)}, {kind_of(y)}; it must be a series, a list or an array of one dimension"
        ) from None
    return found


def _of_pandas(X: Any, words: bool) -> Frame | None:
    """Convert a pandas frame of NumPy dtypes, else return None: narwhals takes as long as learning hundreds of rows."""
    pandas: Any = sys.modules.get("pandas")
    if not pandas or type(X) is not pandas.DataFrame:
        return None
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in set(X.dtypes)):
        return None
    matrix = np.array(X.to_numpy(np.float64), order="C")  # a copy: what was checked is what is learned
    return None if words and np.isnan(matrix).any() else Frame(X.columns.to_list(), matrix)


def rows_of(frame: nw.DataFrame[Any], words: bool = False) -> Any:
    """Return the rows as a ``Frame``, or possibly as dicts if ``words``; values are treated as in ``learn_one``."""
    direct = _of_pandas(frame.to_native(), words)
    return _of_any(frame, words) if direct is None else direct


def _of_any(frame: nw.DataFrame[Any], words: bool) -> Rows:
    """Convert a dataframe of any library, column by column."""
    schema = frame.schema
    if all((dtype.is_numeric() or dtype == nw.Boolean) and dtype not in NOT_NUMPYS for dtype in schema.values()):
        matrix = np.array(to_numpy(frame), order="C")
        if not words or (matrix.dtype.kind in "biuf" and not np.isnan(matrix).any()):
            return Frame(list(schema), matrix)
    if words:
        lists = [column.to_list() for column in frame.iter_columns()]  # before any value runs code of its own
        columns = [
            [value if isinstance(value, str) or missing(value) else _number(name, value) for value in values]
            for name, values in zip(schema, lists, strict=True)
        ]
        return [dict(zip(schema, row, strict=True)) for row in zip(*columns, strict=True)]
    matrix = np.empty(frame.shape)
    read = [_read(name, column) for name, column in zip(schema, frame.iter_columns(), strict=True)]
    for j, (name, values) in enumerate(zip(schema, read, strict=True)):
        matrix[:, j] = [_number(name, value) for value in values] if isinstance(values, list) else values
    return Frame(list(schema), matrix)


def _read(name: Any, column: Any) -> Any:
    """Copy a column to an array of numbers or a list, before any value runs code of its own."""
    if column.dtype in CATEGORIES:  # the order of their codes is arbitrary
        todo = advice(shown(name), "a category", True)
        raise TypeError(f"feature {shown(name)} is a column of categories: kernels need numbers; {todo}")
    if column.dtype not in NOT_NUMPYS:
        array = column.to_numpy()
        if array.dtype.kind in "biuf":
            return array.copy()
    return column.to_list()


def _number(name: Any, value: Any) -> float:
    try:
        return number(name, value)
    except (TypeError, ValueError):  # the advice in that error is for dicts
        reject(name, value, in_frame=True)


def label_series(labels: list[Any], positions: NDArray[Any], like: nw.DataFrame[Any]) -> Any:
    """Return a series of predicted labels: all None without a label, all the same with only one label."""
    if not labels:
        return to_native_series([None] * len(like), name=None, like=like)
    if [type(label) for label in labels] == [bool, bool]:
        return to_native_series(positions == 1, name=None, like=like)
    values = [labels[i] for i in positions.tolist()] if len(labels) > 1 else labels * len(like)
    if like.implementation.is_pandas_like() or _is_one_type(labels):
        return to_native_series(values, name=None, like=like)
    if like.implementation.is_polars():  # a column of Python objects holds any labels
        return nw.new_series(name="", values=values, dtype=nw.Object, backend=like.implementation).to_native()
    raise TypeError(f"labels {labels!r:.100} do not fit into one column of {like.implementation}: use predict_one")


def _is_one_type(labels: Iterable[Any]) -> bool:
    """Return whether a typed column can hold these labels."""
    plain = [y.item() if isinstance(y, np.generic) else y for y in labels]
    types = set(map(type, plain))
    if types == {int}:
        return all(-(2**63) <= y < 2**63 for y in plain)
    return len(types) == 1 and types <= {str, bytes, float, bool}


def label_frame(columns: dict[Any, NDArray[np.float64]], like: nw.DataFrame[Any]) -> Any:
    """Return a frame with a column for each label."""
    if not columns:
        return to_native_frame(np.empty((len(like), 0)), columns=[], like=like)
    if not like.implementation.is_pandas_like() and len(set(map(str, columns))) < len(columns):
        raise ValueError(f"labels {list(columns)!r:.100} have the same names as columns: use predict_proba_one")
    return to_native_frame(columns, like=like)
