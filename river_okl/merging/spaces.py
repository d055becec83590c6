"""The points of several models as the rows of one matrix, and kernels between them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from river_okl._core.kernel.compiled import CompiledKernel

Arrays = NDArray[np.float64]
Positions = NDArray[np.int64]

SPARSE_BELOW = 20  # a matrix is sparse if fewer than one cell in this many is filled
BLOCK = 2**15  # numbers of a Gram matrix to compute together


class Space:
    """A kernel over points, the rows of a sparse or dense matrix whose columns are their features."""

    def __init__(self, X: Any, kernel: CompiledKernel, diagonal: float = 1.0) -> None:
        self.kernel, self.diagonal = kernel, diagonal
        self.sparse = X.nnz * SPARSE_BELOW < X.shape[0] * X.shape[1]
        self.X: Any = X if self.sparse else X.toarray()
        self.at = np.full(X.shape[0], -1)  # scratch

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def gram(self, rows: Positions, columns: Positions) -> Arrays:
        """Return κ between points at rows and columns, with jitter.

        It is computed from top to bottom, in blocks that stay in the cache (new memory costs more than κ).
        """
        w = np.ones(self.X.shape[1])
        B = self.X[columns]
        square = (B * B) @ w
        gram: Arrays = np.empty((len(rows), len(columns)))
        size = max(1, BLOCK // max(1, len(columns)))
        for i in range(0, len(rows), size):
            at = slice(i, i + size)
            A = self.X[rows[at]]
            dots: Arrays = (A @ B.T).toarray() if self.sparse else A @ B.T
            own = (A * A) @ w
            equal = self.same(rows[at], columns)
            own[equal[0]] = dots[equal] = square[equal[1]]  # so that the distance is exactly 0
            gram[at] = self.kernel.evaluate(dots, own, square)
            gram[at][equal] *= self.diagonal
        return gram

    def same(self, rows: Positions, columns: Positions) -> tuple[Positions, Positions]:
        """Return the pairs of equal points at rows and columns."""
        self.at[columns] = np.arange(len(columns))
        at = self.at[rows]
        self.at[columns] = -1
        found = np.flatnonzero(at >= 0)
        return found, at[found]


def joined(
    states: list[dict[str, Any]], features: list[dict[str, Any]], at: dict[Hashable, int]
) -> tuple[Any, list[Positions]]:
    """Return the points of several models as a matrix with these columns, and the rows of each model.

    Equal points share one row.  A point that a model has twice has two rows: the n-th copies of all models share one.
    """
    offsets = np.cumsum([0, *(len(state["birth"]) for state in states)])
    rows = [state["owners"] + offset for state, offset in zip(states, offsets, strict=False)]
    columns = []
    for state, of in zip(states, features, strict=True):
        column = dict(zip(of["places"].tolist(), (at[name] for name in of["names"]), strict=True))
        columns.append(np.repeat([column[p] for p in state["places"].tolist()], state["counts"]).astype(np.int64))
    cells = np.concatenate([state["amounts"] for state in states])
    X = sparse.csr_array((cells, (np.concatenate(rows), np.concatenate(columns))), shape=(offsets[-1], len(at)))
    X.sort_indices()
    keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in itertools.pairwise(X.indptr.tolist())]
    position: dict[tuple[bytes, int], int] = {}
    places = []
    for start, end in itertools.pairwise(offsets.tolist()):
        copies: collections.Counter[bytes] = collections.Counter()
        at_rows = []
        for key in keys[start:end]:
            at_rows.append(position.setdefault((key, copies[key]), len(position)))
            copies[key] += 1
        places.append(np.array(at_rows, dtype=np.int64))
    first = np.unique(np.concatenate(places), return_index=True)[1]
    return X[first], places


def points_of(stores: Sequence[Any], places: Sequence[Positions], rows: Positions) -> list[dict[Hashable, float]]:
    """Return the points at these rows of ``joined``, as the models store them."""
    owner, place = np.zeros((2, 1 + max(int(at.max(initial=0)) for at in places)), dtype=np.int64)
    for i, at in reversed([*enumerate(places)]):  # the values of a point are those of its first owner, as in ``joined``
        owner[at], place[at] = i, np.arange(len(at))
    return [stores[i].point(j) for i, j in zip(owner[rows].tolist(), place[rows].tolist(), strict=True)]
