"""What several papers do with a full budget, or with features of its points: plain functions on an expansion f."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import eigen, moved, times, transposed_times

DEPENDENT = 1e-12  # of κ(x, x), or of two such: a δ² or a determinant below it is rounding, and breaks an inverse Gram
CUT_OFF = 1e-12  # of the largest eigenvalue of a Gram matrix: what is below is rounding
LARGEST_FEATURE = 1e20  # that z(x) can have of a point, relative to ‖κ(x, ·)‖: eigenvalues below 1e-12 are cut off
TIE = 1e-9  # relative: values that are closer than that are equal, and age decides


def draw(rng: random.Random, probabilities: NDArray[np.float64]) -> int:
    """A position with these probabilities, from one random number."""
    totals = np.cumsum(probabilities)
    totals[np.flatnonzero(probabilities)[-1] :] = 1.0  # whatever rounding leaves
    return int(np.searchsorted(totals, rng.random(), side="right"))


def project_on_others(f: Expansion, p: int) -> None:
    """p leaves, and its term is replaced by its projection on all others; f keeps the inverse Gram."""
    z, alpha = f.point(p), f.columns[p]
    f.remove(p)
    f.evaluate(z)
    f.columns += np.outer(f.projection, alpha)


def nearest(f: Expansion, p: int, n: int) -> list[int]:
    """The positions of the n support vectors nearest to p in feature space, of all others if there are fewer."""
    k = f.self_similarities
    distances = np.maximum(0.0, k + k[p] - 2.0 * f.row_of(p))
    distances[p] = np.inf
    chosen: list[int] = []
    for _ in range(min(n, len(f) - 1)):
        chosen.append(f.oldest_of_least(distances, float(k[p])))
        distances[chosen[-1]] = np.inf
    return chosen


def project_on_nearest(f: Expansion, p: int, n: int) -> None:
    """p leaves, and its term is replaced by its projection on the n nearest others.

    By least squares with eigenvalues below ``CUT_OFF`` cut off, so that duplicates among them do no harm.
    """
    chosen = nearest(f, p, n)
    values, vectors = eigen(f.rows_of(chosen)[:, chosen])
    large = abs(values) > CUT_OFF * abs(values).max(initial=0.0)
    values, vectors = values[large], vectors[large]
    d = transposed_times(vectors, times(vectors, f.row_of(p)[chosen]) / values)
    columns = f.columns
    columns[chosen] += np.outer(d, columns[p])
    f.columns = columns
    f.remove(p)


def merge(f: Expansion, p: int) -> None:
    """p and the partner m that loses least become one point z = h x_m + (1-h) x_p with the best h (Wang et al., 2012).

    The kernel is Gaussian. z gets the coefficient α_z that makes α_z κ_z the projection of α_m κ_m + α_p κ_p.
    """
    m, h, alpha_z = f.partner(p)
    x_m, x_p = f.point(m), f.point(p)
    z = {name: h * x_m.get(name, 0.0) + (1.0 - h) * x_p.get(name, 0.0) for name in {**x_m, **x_p}}
    for i in sorted((m, p), reverse=True):
        f.remove(i)
    f.evaluate(z)
    f.add(alpha_z)


def weights_of_classes(w: NDArray[np.float64], size: int, n_classes: int) -> NDArray[np.float64]:
    """The weights of linear models, a row for each class (one where there are none), from those of earlier, flat.

    As an expansion does it: one function for labels ±1 becomes F = ±f/√2, and a class that comes later starts from 0.
    """
    W = w.reshape(-1, size)
    if n_classes and len(W) == 1:
        W = np.sqrt(0.5) * np.concatenate([-W, W])
    missing = max(1, n_classes) - len(W)
    return np.concatenate([W, np.zeros((missing, size))]) if missing > 0 else W


def move_in_basis(f: Expansion, basis: NDArray[np.float64], w: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """w + step z(x), along the direction of the last sample, with z(x) = basisᵀ k(x); f becomes wᵀz."""
    if f.n_classes == 0:
        w, f.coefficients = moved(basis, f.row, w, step)
        return w
    move = step * transposed_times(basis, f.row)
    W = weights_of_classes(w, basis.shape[1], f.n_classes)
    for c, weight in f.direction:
        W[c] += weight * move
    set_in_basis(f, basis, W)
    return W.ravel()


def set_in_basis(f: Expansion, basis: NDArray[np.float64], W: NDArray[np.float64]) -> None:
    """f = wᵀz, for each class."""
    f.columns = np.array([times(basis, w) for w in W]).T


def check_basis(f: Expansion, basis: NDArray[np.float64]) -> None:
    """ValueError if features are larger than any made of a Gram matrix.  (The next step sets f to wᵀz.)"""
    if not len(basis):
        return
    if not (abs(basis) * np.sqrt(abs(f.self_similarities))[:, None] <= LARGEST_FEATURE).all():
        raise ValueError("a basis with numbers out of range")
