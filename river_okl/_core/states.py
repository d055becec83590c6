"""Validation of states before memory is filled from them: they may come from a malicious file.

Types, shapes, declared bounds and the ranges of indices are checked, so that no file causes reads or writes outside an
array.  Consistency between numbers is not checked: a model from a forged file may predict nonsense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = NDArray[Any]

LARGEST = 1e50  # of a feature, as in sample.pxd
LARGEST_SELF = 1e100  # of κ(x, x)
LARGEST_NUMBER = 1e100  # of coefficients and derived numbers: sums of products stay far from overflow
LARGEST_MEAN = 1e90  # of coefficients that a step multiplies by others: the products stay below LARGEST_NUMBER
LARGEST_SQUARE = 1e290  # of norms, which are quadratic in the coefficients
LARGEST_UNSCALED = 1e145  # of coefficients before they are multiplied by their scale: their squares do not overflow
LARGEST_COUNT = 2**52  # of samples, as in sample.pxd


def checked_array(
    state: dict[str, Any],
    name: str,
    dtype: Any,
    size: int | tuple[int, ...] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Arrays:
    """Return an array of a state, every number in range; if ``size`` is None, a vector of any length."""
    a = state[name]
    if not isinstance(a, np.ndarray) or a.dtype != dtype or (size is None and a.ndim != 1):
        raise ValueError(f"{name} is not an array of {np.dtype(dtype)}")
    if size is not None and a.shape != (size if isinstance(size, tuple) else (size,)):
        raise ValueError(f"{name} has the shape {a.shape}, not {size}")
    if a.size and not (np.isfinite(a).all() and (low is None or low <= a.min()) and (high is None or a.max() <= high)):
        raise ValueError(f"{name} has numbers out of range")
    return a


def checked_whole(state: dict[str, Any], name: str, low: int, high: int) -> int:
    """Return an integer of a state, in range."""
    value = state[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_float(state: dict[str, Any], name: str, low: float, high: float) -> float:
    """Return a float of a state, in range."""
    value = state[name]
    if type(value) is not float or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """Return a value that must be a bool."""
    if type(value) is not bool:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_numbers(
    what: str, numbers: Any, shape: tuple[int, ...], low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER
) -> Arrays:
    """Return an array of doubles of this shape, every number in range."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.shape != shape:
        raise ValueError(f"{what} is not an array of {shape} numbers")
    if numbers.size and not (low <= numbers.min() and numbers.max() <= high):  # also False for NaN
        raise ValueError(f"{what} has numbers out of range")
    return numbers


def check_positions(positions: Arrays, n: int, most: int) -> None:
    """Raise ValueError unless ``positions`` are distinct positions of n points, at most ``most``."""
    if (
        positions.ndim != 1
        or positions.dtype.kind != "i"
        or positions.size > most
        or np.unique(positions).size != positions.size
    ):
        raise ValueError("the chosen points do not match")
    if positions.size and not 0 <= positions.min() <= positions.max() < n:
        raise ValueError(f"positions of {n} points are out of range")


def check_points(state: dict[str, Any], known: list[int], most: int | None, lanes: int) -> None:
    """Raise ValueError unless ``state`` can be the state of ``Points`` of features at the known places."""
    square = checked_array(state, "square", np.float64, low=0.0)
    n = square.size
    capacity, born = checked_whole(state, "capacity", n, 2**31), checked_whole(state, "born", n, LARGEST_COUNT)
    if capacity % lanes or (most is not None and (n > most or capacity >= most + lanes)):
        raise ValueError(f"capacity is {capacity} for {n} support vectors, of which there are at most {most}")
    places = checked_array(state, "places", np.int32)
    if np.unique(places).size != places.size or not np.isin(places, known).all():
        raise ValueError("the features of the support vectors do not match")
    counts = checked_array(state, "counts", np.int64, places.size, 1, n)
    ranks = checked_array(state, "ranks", np.int64, places.size, -1)
    dense = ranks >= 0
    if not np.array_equal(np.sort(ranks[dense]), np.arange(dense.sum())):
        raise ValueError("the ranks of the dense features do not match")
    cells = int(counts.sum())
    owners = checked_array(state, "owners", np.int32, cells, 0, n - 1)
    amounts = checked_array(state, "amounts", np.float64, cells, -LARGEST, LARGEST)
    columns = np.repeat(np.arange(places.size), counts)
    if not amounts.all() or np.unique(columns * n + owners).size != cells:
        raise ValueError("the values of the features do not match")
    checked_array(state, "owned", np.int32, int(counts[~dense].sum()), 0, max(known, default=0))
    birth = checked_array(state, "birth", np.int64, n, 0, born - 1)
    if np.unique(birth).size != n:
        raise ValueError("two support vectors were added at once")
    checked_array(state, "sparse_square", np.float64, n, 0.0)
