"""Gaussian processes trained in parallel: the evidence of all shards is added.

The posterior of process i for the values f(Z) at its dictionary is N(μ_i, S_i), S_i = a K - D_i.  Streaming variational
Bayes (Broderick et al. 2013) multiplies the evidence, each shard's posterior divided by that of the start:

    Λ = Λ_0 + Σ w_i (Λ_i - Λ_0)      Λ μ = Λ_0 μ_0 + Σ w_i (Λ_i μ_i - Λ_0 μ_0)      Λ = S⁻¹

With forgetting, (Λ_0, μ_0) is the start after the forgetting of the shard's samples. The merged process forgets as much
of the start as the shard that forgot most.

If dictionaries differ, Z is their union or, if that is too large, the points of it that explain most of the means.
With A = κ(Z, Z_i) K_i⁻¹ the posterior of a process at any points has μ = A μ_i and D = A D_i Aᵀ.  The jitter of K
belongs to the points: equal points share it, so A is exact at the points that Z and Z_i have in common.

After kernels moved or points were evicted, a shard's precision may be below its start's in some direction, and a sum
would count that loss once per shard.  If the summed precision is below ``SAFE`` times the shards' mean precision,
precisions and linear terms are averaged.

Precisions are in the coordinates in which the prior a K = L Lᵀ is 1: S = L P⁻¹ Lᵀ, and P = 1 without evidence.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.sogp import SOGP
from river_okl.kernels import RBF
from river_okl.merging.expansions import places_of, pursued
from river_okl.merging.shards import Shards
from river_okl.merging.spaces import Space
from river_okl.merging.statistics import pooled_kernel

MODELS = SOGP

Arrays = NDArray[np.float64]

CANDIDATES = 4  # times the dictionary: number of points of the union to compare
SAFE = 0.5  # of the shards' mean precision: summed evidence below it has lost more than it gained


class Posterior(NamedTuple):
    """The posterior of f at the points of a dictionary."""

    means: Arrays  # [columns, n]
    learned: Arrays  # D [n, n]

    def at(self, A: Arrays) -> Posterior:
        """Return the posterior of A f."""
        return Posterior(self.means @ A.T, A @ self.learned @ A.T)


class Ends(NamedTuple):
    """The posterior of a process at the start, and those of the shards."""

    start: Posterior
    ends: list[Posterior]
    steps: list[int]  # number of samples that each has learned since the start


def added(prior_variance: float, forgetting: float, K: Arrays, ends: Ends, evidence: Sequence[float]) -> Posterior:
    """Return Λ_0 + Σ w_i (Λ_i - Λ_0) over a dictionary, K with its jitter."""
    start, posteriors, steps = ends
    moved = [
        i
        for i, posterior in enumerate(posteriors)
        if evidence[i] > 0.0 and not all(map(np.array_equal, posterior, _forgotten(start, forgetting, steps[i])))
    ]
    if not moved:
        return _forgotten(start, forgetting, max(steps))
    if len(moved) == 1 and evidence[moved[0]] == 1.0 and steps[moved[0]] == max(steps):
        return posteriors[moved[0]]
    L: Arrays = np.asarray(np.linalg.cholesky(prior_variance * K), dtype=np.float64)
    whiten: Arrays = np.tril(lapack.dtrtri(L, lower=1)[0])
    before = {k: _natural(_forgotten(start, forgetting, k), whiten) for k in {*steps}}
    total, linear = before[max(steps)]
    average: Any = 0.0
    average_linear: Any = 0.0
    mass = sum(evidence[i] * steps[i] for i in moved)
    for i in moved:
        precision, term = _natural(posteriors[i], whiten)
        total = total + evidence[i] * (precision - before[steps[i]][0])
        linear = linear + evidence[i] * (term - before[steps[i]][1])
        average = average + evidence[i] * steps[i] / mass * precision
        average_linear = average_linear + evidence[i] * steps[i] / mass * term
    if not _is_positive(total - SAFE * average):
        total, linear = average, average_linear
    covariance = inverse(total)
    return Posterior((L @ (covariance @ linear)).T.copy(), L @ (np.eye(len(K)) - covariance) @ L.T)


def _forgotten(posterior: Posterior, forgetting: float, steps: int) -> Posterior:
    keep = forgetting**steps
    return Posterior(math.sqrt(keep) * posterior.means, keep * posterior.learned) if keep < 1.0 else posterior


def _natural(posterior: Posterior, whiten: Arrays) -> tuple[Arrays, Arrays]:
    """Return precision and linear term in the coordinates in which the prior is 1; ``whiten`` is L⁻¹."""
    covariance = np.eye(len(whiten)) - whiten @ posterior.learned @ whiten.T
    precision = inverse((covariance + covariance.T) / 2.0)
    return precision, precision @ (whiten @ posterior.means.T)


def _is_positive(matrix: Arrays) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


class Places(NamedTuple):
    """Positions of the points of a process in the union, and their K⁻¹ under the kernel considered."""

    at: NDArray[np.int64]
    inverse: Arrays

    def seen_from(self, chosen: NDArray[np.int64], cross: Arrays, same: Any) -> Arrays:
        """Return A, which maps f here to f at the chosen points; cross is κ between them, jitter included."""
        A = cross @ self.inverse
        theirs, own = same
        A[theirs] = 0.0
        A[theirs, own] = 1.0
        return A


def inverse(K: Arrays) -> Arrays:
    """Return K⁻¹, symmetric."""
    if not len(K):
        return K
    L, failed = lapack.dpotrf(K, lower=1)
    if not failed:
        found, _ = lapack.dpotri(L, lower=1)
        return unpacked(packed(found), len(K))
    found = np.linalg.inv(K)
    symmetric: Arrays = (found + found.T) / 2.0
    return symmetric


def importance_of(posterior: Posterior, basis: Places) -> Arrays:
    """Return the squared error of the means at each point if it were removed: KRLS-T's (α_i / K⁻¹_ii)²."""
    found: Arrays = (((posterior.means @ basis.inverse) / basis.inverse.diagonal()) ** 2).sum(axis=0)
    return found


def heaviest(held: NDArray[np.int64], importance: Arrays, capacity: int) -> NDArray[np.int64]:
    """Return the candidates if at most ``capacity`` points may remain; ``importance`` is that of all points."""
    order = np.argsort(-importance[held].astype(np.float32), kind="stable")  # equal ones are equal for any order
    found: NDArray[np.int64] = held[np.sort(order[: CANDIDATES * capacity])]
    return found


def spanning(K: Arrays, values: Arrays, capacity: int) -> NDArray[np.int64]:
    """Return the points that explain most of these means, or of a constant if all are 0; K is their Gram matrix."""
    if not values.any():
        values = np.ones((len(K), 1))
    return np.sort(np.array(pursued(K, values, capacity), dtype=np.int64))


# One process ----------------------------------------------------------------------------------------------------------


def merged(shards: Shards) -> Any:
    """Return the process with all evidence."""
    model = shards.new()
    total = shards.total(lambda each: each._f.seen)
    with_start = [shards.start, *shards.models]
    points, places = places_of([each._f.points for each in with_start], twins=True)
    kernel = pooled_kernel(shards, lambda each: each._f.kernel)
    model._f.kernel.restore(kernel)
    space = Space.with_points(points, model._f.kernel.terms)
    gram = functools.partial(space.gram, model._f.kernel, None)
    prior_variance, forgetting = _prior_variance(shards.models[0]), model.forgetting
    grams = [gram(at, at) for at in places]
    posteriors = [_posterior(each, K) for each, K in zip(with_start, grams, strict=True)]
    bases = [Places(at, inverse(K)) for at, K in zip(places, grams, strict=True)]
    shares = shards.shares
    chosen = np.unique(np.concatenate([at for at, share in zip(places[1:], shares, strict=True) if share > 0.0]))
    if len(chosen) > model.budget:
        importance = np.zeros(len(points))
        for share, basis, posterior in zip(shares, bases[1:], posteriors[1:], strict=True):
            np.add.at(importance, basis.at, share * importance_of(posterior, basis))
        candidates = heaviest(chosen, importance, model.budget)
        values = sum(
            share * (gram(candidates, basis.at) @ basis.inverse @ posterior.means.T)
            for share, basis, posterior in zip(shares, bases[1:], posteriors[1:], strict=True)
        )
        chosen = candidates[spanning(gram(candidates, candidates), values, model.budget)]
    seen = [
        posterior.at(basis.seen_from(chosen, gram(chosen, basis.at), space.same(chosen, basis.at)))
        for posterior, basis in zip(posteriors, bases, strict=True)
    ]
    K = gram(chosen, chosen)
    steps = [each._f.seen - shards.start._f.seen for each in shards.models]
    posterior = added(prior_variance, forgetting, K, Ends(seen[0], seen[1:], steps), shards.evidence.tolist())
    model._f.restore(
        {
            "kernel": kernel,
            "points": stored([points[i] for i in chosen], model.budget + 1),
            "basis": {"n": len(K), "inverse": packed(inverse(K))},
            "prior_variance": prior_variance,
            "seen": total,
            "posterior": {"means": posterior.means, "learned": packed(posterior.learned), "factor": 1.0},
        }
    )
    return model


def _prior_variance(model: Any) -> float:
    return float(model._f.posterior.prior_variance)


def stored(points: list[dict[Hashable, float]], capacity: int) -> dict[str, Any]:
    """Return the state of a ``Points`` of this capacity that contains these points."""
    f = Expansion(RBF(1.0)._terms(), budget=capacity)
    for z in points:
        f.evaluate(z)
        f.add(0.0)
    state: dict[str, Any] = f.state()["points"]
    return state


def _posterior(model: Any, K: Arrays) -> Posterior:
    """Return the posterior under K; if the kernel has moved, μ and S are kept."""
    f = model._f
    return Posterior(f.means(), _prior_variance(model) * K - f.covariance())


def unpacked(triangle: Arrays, n: int) -> Arrays:
    """Return a symmetric matrix from its lower triangle, row after row."""
    rows, columns = _triangle(n)
    a = np.empty((n, n))
    a[rows, columns] = a[columns, rows] = triangle
    return a


def packed(matrix: Arrays) -> Arrays:
    """Return the lower triangle, row after row."""
    found: Arrays = matrix[_triangle(len(matrix))]
    return found


@functools.lru_cache(maxsize=8)
def _triangle(n: int) -> Any:
    return np.tril_indices(n)
