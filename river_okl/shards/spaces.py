"""Kernels over the points of several models, in NumPy: between any of them, under the weights of any metric."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from river_okl._core.process import DIAGONAL
from river_okl.kernels import DOT_POWER, EXP_DISTANCE

Arrays = NDArray[np.float64]

SPARSE_BELOW = 20  # where fewer than one in so many cells are filled, they are kept as a sparse matrix


class Means(Protocol):
    """What a γ comes from that is left to the stream."""

    mean_distance: float
    mean_square: float


class Space:
    """Kernels over a list of points whose features have these weights."""

    def __init__(self, points: list[dict[Hashable, float]], terms: Any) -> None:
        self.terms = terms
        self.names = {name: j for j, name in enumerate(dict.fromkeys(name for z in points for name in z))}
        shape = len(points), len(self.names)
        cells = [(i, self.names[name], value) for i, z in enumerate(points) for name, value in z.items()]
        where = np.array([(i, j) for i, j, _ in cells], dtype=np.int64).reshape(-1, 2)
        values = np.array([value for *_, value in cells], dtype=np.float64)
        self.sparse = len(cells) * SPARSE_BELOW < shape[0] * shape[1]
        self.X: Any
        if self.sparse:
            self.X = sparse.csr_array((values, where.T), shape=shape)
        else:
            self.X = np.zeros(shape)
            self.X[where[:, 0], where[:, 1]] = values

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def gram(self, kernel: Means, weights: Any, rows: Any, columns: Any) -> Arrays:
        """κ of these points with those, jitter included; ``weights(name)`` is that of a feature (None: 1 for all)."""
        w = np.ones(len(self.names)) if weights is None else np.array([weights(name) for name in self.names])
        A, B = self.X[rows], self.X[columns]
        dots: Arrays = ((A * w) @ B.T).toarray() if self.sparse else (A * w) @ B.T
        squares = dots * -2.0
        squares += ((A * A) @ w)[:, None]
        squares += (B * B) @ w
        np.maximum(squares, 0.0, out=squares)
        same = self.same(rows, columns)
        squares[same] = 0.0
        total: Arrays = np.zeros(dots.shape)
        for weight, factors in self.terms:
            product: Any = weight
            for kind, degree, gamma, coef0, auto in factors:
                if kind == DOT_POWER:
                    gamma = _ratio(auto, kernel.mean_square) if auto else gamma
                    factor = gamma * dots + coef0
                    product = product * (factor**degree if degree != 1 else factor)
                elif kind == EXP_DISTANCE:
                    gamma = math.sqrt(_ratio(auto, kernel.mean_distance)) if auto else gamma
                    product = product * np.exp(-gamma * np.sqrt(squares))
                else:
                    gamma = _ratio(auto, kernel.mean_distance) if auto else gamma
                    factor = squares * -gamma
                    np.exp(factor, out=factor)
                    factor *= product
                    product = factor
            total += product
        total[same] *= DIAGONAL
        return total

    @staticmethod
    def same(rows: Any, columns: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the points are the same."""
        at = {int(column): j for j, column in enumerate(columns)}
        found = [(i, at[int(row)]) for i, row in enumerate(rows) if int(row) in at]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


def _ratio(constant: float, mean: float) -> float:
    return min(constant / mean, 1e100) if mean > 0.0 else 0.0
