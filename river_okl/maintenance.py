"""What several papers do with a full budget: plain functions on an expansion f."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray

from river_okl._core.expansion import Expansion

DEPENDENT = 1e-12  # of κ(x, x), or of two such: a δ² or a determinant below it is rounding, and breaks an inverse Gram
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

    By least squares with singular values below 1e-12 cut off, so that duplicates among them do no harm.
    """
    chosen = nearest(f, p, n)
    gram = f.rows_of(chosen)[:, chosen]
    d = np.linalg.lstsq(gram, f.row_of(p)[chosen], rcond=1e-12)[0]
    columns = f.columns
    columns[chosen] += np.outer(d, columns[p])
    f.columns = columns
    f.remove(p)


def merge(f: Expansion, p: int) -> None:
    """p and the partner m that loses least become one point z = h x_m + (1-h) x_p with the best h (Wang et al., 2012).

    The kernel is Gaussian. z gets the coefficient α_z that makes α_z κ_z the projection of α_m κ_m + α_p κ_p.
    """
    alpha = f.coefficients
    alpha_p = float(alpha[p])
    h, alpha_z, loss = merged(alpha, alpha_p, f.row_of(p))
    loss[p] = np.inf
    m = oldest_of_smallest(loss, f.births, scale=alpha_p**2)
    x_m, x_p, weight = f.point(m), f.point(p), float(h[m])
    z = {name: weight * x_m.get(name, 0.0) + (1.0 - weight) * x_p.get(name, 0.0) for name in {**x_m, **x_p}}
    for i in sorted((m, p), reverse=True):
        f.remove(i)
    f.evaluate(z)
    f.add(float(alpha_z[m]))


def merged(
    alpha: NDArray[np.float64], alpha_p: float, kappa: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """h, α_z and the loss ‖α κ_m + α_p κ_p - α_z κ_z‖² of merging p with each m; |α| ≥ |α_p|, κ = κ(x_m, x_p).

    |α_z(h)| = |α| κ^(1-h)² + |α_p| κ^h² has its maximum over [0, 1] in [1/2, 1]. With h = 1/(1 + e^-s), L = -ln κ and
    ℓ = ln |α/α_p| it is at the largest root of ψ(s) = s - L tanh(s/2) - ℓ, which is convex for s ≥ 0, so that Newton's
    method comes down to it from s = L + ℓ. For opposite signs |α_z| grows up to h = 1.
    """
    distance = -np.log(np.clip(kappa, 5e-324, 1.0))  # L
    same = np.sign(alpha) * np.sign(alpha_p) > 0.0
    L = distance[same]
    ratio = np.maximum(0.0, np.log(np.abs(alpha[same])) - math.log(abs(alpha_p))) if L.size else L
    s = L + ratio
    for _ in range(60):  # quadratic, but for κ = e⁻² and equal coefficients
        tanh = np.tanh(s / 2.0)
        step = (s - L * tanh - ratio) / np.maximum(1.0 - L / 2.0 * (1.0 - tanh**2), 1e-12)
        s -= step
        if not np.any(np.abs(step) > 1e-15 * (1.0 + s)):
            break
    h, rest = np.ones(len(alpha)), np.zeros(len(alpha))
    h[same] = 1.0 / (1.0 + np.exp(-s))
    rest[same] = np.exp(-s) / (1.0 + np.exp(-s))  # 1 - h
    from_m, from_p = np.exp(-distance * rest**2), np.exp(-distance * h**2)  # κ(x_m, z), κ(x_p, z)
    # α² (1 - κ_mz²) + α_p² (1 - κ_pz²) + 2 α α_p (κ - κ_mz κ_pz), without cancellation for α_p ≪ α
    loss = (
        -(alpha**2) * np.expm1(-2.0 * distance * rest**2)
        - alpha_p**2 * np.expm1(-2.0 * distance * h**2)
        + 2.0 * alpha * alpha_p * from_m * from_p * np.expm1(-2.0 * distance * h * rest)
    )
    return h, alpha * from_m + alpha_p * from_p, np.maximum(0.0, loss)
