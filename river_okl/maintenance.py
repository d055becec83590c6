"""What several papers do with a full budget: plain functions on an expansion f."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from river_okl._core.expansion import Expansion
from river_okl._core.linalg import eigen, times, transposed_times

DEPENDENT = 1e-12  # of κ(x, x), or of two such: a δ² or a determinant below it is rounding, and breaks an inverse Gram
CUT_OFF = 1e-12  # of the largest eigenvalue of a Gram matrix: what is below is rounding
TIE = 1e-9  # relative: values that are closer than that are equal, and age decides


def oldest_of_smallest(values: NDArray[np.float64], births: NDArray[np.int64], scale: float = 0.0) -> int:
    """The position of the smallest value; ties, relative to the value or to a scale, go to the oldest."""
    least = float(values.min())
    tied = np.flatnonzero(values <= least + TIE * max(abs(least), scale))
    return int(tied[births[tied].argmin()])


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
    k, births = f.self_similarities, f.births
    distances = np.maximum(0.0, k + k[p] - 2.0 * f.row_of(p))
    distances[p] = np.inf
    chosen: list[int] = []
    for _ in range(min(n, len(f) - 1)):
        chosen.append(oldest_of_smallest(distances, births, scale=float(k[p])))
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
