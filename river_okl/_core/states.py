"""Validation of states before memory is filled from them: they may come from a damaged or malicious file.

Rejected are values that would corrupt memory and numbers that no step can reach: they are bounded, and matrices that
must be positive definite are factorised.  A valid state gives a working model: its predictions are finite, it can
learn, and it can be saved again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.linalg import cholesky

Arrays = NDArray[Any]

LARGEST = 1e50  # of a feature, as in sample.pxd
LARGEST_SELF = 1e100  # of κ(x, x)
LARGEST_NUMBER = 1e100  # of coefficients and derived numbers: sums of products stay far from overflow
LARGEST_MEAN = 1e90  # of coefficients that a step multiplies by others: what it makes of them is a LARGEST_NUMBER
LARGEST_SQUARE = 1e290  # of what is quadratic in them: norms
LARGEST_UNSCALED = 1e145  # of coefficients before they are multiplied by their scale: their squares do not overflow
LARGEST_COUNT = 2**52  # of samples, as in sample.pxd

ROUNDING = 1e-9  # tolerance for positive definite matrices with diagonal 1
LARGEST_INVERSE = 1e16  # of the diagonal of K⁻¹ if that of K is 1: the floor on ALD residuals (gram.pyx) is 1e-8


def checked_array(
    state: dict[str, Any],
    name: str,
    dtype: Any,
    size: int | tuple[int, ...] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Arrays:
    """An array of a state, each number in range; if size is None, a vector of any length."""
    a = state[name]
    if not isinstance(a, np.ndarray) or a.dtype != dtype or (size is None and a.ndim != 1):
        raise ValueError(f"{name} is not an array of {np.dtype(dtype)}")
    if size is not None and a.shape != (size if isinstance(size, tuple) else (size,)):
        raise ValueError(f"{name} has the shape {a.shape}, not {size}")
    if a.size and not (np.isfinite(a).all() and (low is None or low <= a.min()) and (high is None or a.max() <= high)):
        raise ValueError(f"{name} has numbers out of range")
    return a


def checked_whole(state: dict[str, Any], name: str, low: int, high: int) -> int:
    """An integer of a state, in range."""
    value = state[name]
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_float(state: dict[str, Any], name: str, low: float, high: float) -> float:
    """A float of a state, in range."""
    value = state[name]
    if type(value) is not float or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """A value that must be a bool."""
    if type(value) is not bool:
        raise ValueError(f"{name} is {value!r}")
    return value


def checked_numbers(
    what: str, numbers: Any, shape: tuple[int, ...], low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER
) -> Arrays:
    """An array of doubles of this shape, every number in range."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.shape != shape:
        raise ValueError(f"{what} is not an array of {shape} numbers")
    if numbers.size and not (low <= numbers.min() and numbers.max() <= high):  # NaN is in no range
        raise ValueError(f"{what} has numbers out of range")
    return numbers


def symmetric(triangle: Arrays, n: int) -> Arrays:
    """A symmetric matrix of n rows from its lower triangle, row after row."""
    if triangle.shape != (n * (n + 1) // 2,):
        raise ValueError(f"{triangle.size} numbers for a triangle of {n} rows")
    lower = np.zeros((n, n))
    lower[np.tril_indices(n)] = triangle
    return lower + np.tril(lower, -1).T


@np.errstate(over="ignore", invalid="ignore")
def relative(matrix: Arrays, diagonal: Arrays) -> Arrays:
    """The matrix in units in which another one has the diagonal 1, or small units for diagonals near 0."""
    unit = np.sqrt(np.maximum(diagonal, max(1e-12 * diagonal.max(initial=0.0), 1e-290)))
    return matrix / unit / unit[:, None]


def check_positive(what: str, matrix: Arrays, rounding: float = ROUNDING) -> None:
    """Raise ValueError if a symmetric matrix is not positive definite, with ``rounding`` added to its diagonal."""
    if not np.isfinite(matrix).all() or not cholesky(matrix + rounding * np.eye(len(matrix))):
        raise ValueError(f"{what} is not positive definite")


@np.errstate(over="ignore", invalid="ignore")
def check_inverse(what: str, inverse: Arrays, gram: Arrays, residual: float = np.inf) -> None:
    """Raise ValueError unless this can be the inverse of a Gram matrix, up to a residual in units of K_ii = 1."""
    if not len(gram):
        return
    if not (np.isfinite(inverse).all() and inverse.diagonal().min() > 0.0):
        raise ValueError(f"{what} is out of range")
    square = np.where(gram.diagonal() > 0.0, gram.diagonal(), 1.0 / inverse.diagonal())
    unit = np.sqrt(square)
    K, inverse = gram / unit / unit[:, None], inverse * unit * unit[:, None]
    if not (abs(K).max() <= 1.0 + 1e-6 and inverse.diagonal().max() <= LARGEST_INVERSE):
        raise ValueError(f"{what} is out of range")
    check_positive(what, relative(inverse, inverse.diagonal()))
    if not abs(inverse @ K - np.eye(len(K))).max() <= residual:
        raise ValueError(f"{what} does not match its points")


def check_positions(positions: Arrays, n: int, most: int) -> None:
    """Raise ValueError unless these are distinct positions of n points, at most ``most``."""
    if (
        positions.ndim != 1
        or positions.dtype.kind != "i"
        or positions.size > most
        or np.unique(positions).size != positions.size
    ):
        raise ValueError("the chosen points do not match")
    if positions.size and not 0 <= positions.min() <= positions.max() < n:
        raise ValueError(f"positions of {n} points are out of range")


def check_points(state: dict[str, Any], most: int | None, lanes: int, sparse_below: int) -> None:
    """Raise ValueError unless this can be the state of ``Points``."""
    square = checked_array(state, "square", np.float64, low=0.0)
    names, n = state["names"], square.size
    capacity, born = checked_whole(state, "capacity", n, 2**31), checked_whole(state, "born", n, LARGEST_COUNT)
    if most is None:
        room = 0
        while room < capacity:
            room = max(lanes, 2 * room)
        fits = room == capacity
    else:  # doubling stopped at an earlier, smaller ``most`` (a budget per label)
        fits = capacity % lanes == 0 and capacity <= (most + lanes - 1) // lanes * lanes and n <= most
    if not fits:
        raise ValueError(f"capacity is {capacity} for {n} support vectors, of which there are at most {most}")
    if type(names) is not list or len(set(names)) != len(names):
        raise ValueError("a feature occurs twice")
    slots = checked_array(state, "slots", np.int32, len(names), 0)
    free = checked_array(state, "free_slots", np.int32, low=0)
    if not np.array_equal(np.sort(np.concatenate([slots, free])), np.arange(slots.size + free.size)):
        raise ValueError("the slots of the features do not match")
    counts = checked_array(state, "counts", np.int64, len(names), 1, n)
    ranks = checked_array(state, "ranks", np.int64, len(names), -1)
    dense = ranks >= 0
    if not np.array_equal(np.sort(ranks[dense]), np.arange(dense.sum())):
        raise ValueError("the ranks of the dense features do not match")
    if not np.where(dense, counts * (2 * sparse_below) >= capacity, counts * sparse_below < capacity).all():
        raise ValueError("the counts of the features do not match")
    cells = int(counts.sum())
    owners = checked_array(state, "owners", np.int32, cells, 0, n - 1)
    amounts = checked_array(state, "amounts", np.float64, cells, -LARGEST, LARGEST)
    columns = np.repeat(np.arange(len(names)), counts)
    sparse = ~dense[columns]
    ascending = (np.diff(owners) > 0) | (np.diff(columns) > 0) | sparse[1:]  # a posting list has any order
    if not amounts.all() or not ascending.all() or np.unique(columns * n + owners).size != cells:
        raise ValueError("the values of the features do not match")
    lists = np.argsort(owners[sparse], kind="stable")
    posts = np.stack([owners[sparse][lists], slots[columns[sparse]][lists]])
    owned = checked_array(state, "owned", np.int32, posts.shape[1])
    lists = np.stack([posts[0], owned])
    if not np.array_equal(lists[:, np.lexsort(lists[::-1])], posts[:, np.lexsort(posts[::-1])]):
        raise ValueError("the posting lists of the support vectors do not match")
    birth = checked_array(state, "birth", np.int64, n, 0, born - 1)
    if np.unique(birth).size != n:
        raise ValueError("two support vectors were added at once")
    sparse_square = checked_array(state, "sparse_square", np.float64, n, 0.0)
    for name, stored, kept in (("square", square, amounts), ("sparse_square", sparse_square, amounts * sparse)):
        if not np.allclose(np.bincount(owners, kept * kept, n) if n else square, stored, rtol=1e-9, atol=0.0):
            raise ValueError(f"{name} does not match the points")
