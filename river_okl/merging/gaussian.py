"""Gaussian processes trained in parallel: the evidence of all shards is added.

The posterior of shard i for the values f(Z) at its dictionary is N(μ_i, S_i), the prior N(0, a K).
Streaming variational Bayes (Broderick et al. 2013) multiplies the evidence, each shard's posterior divided by
that of the start:

    Λ = Λ_0 + Σ w_i (Λ_i - Λ_0)      Λ μ = Λ_0 μ_0 + Σ w_i (Λ_i μ_i - Λ_0 μ_0)      Λ = S⁻¹

With forgetting, (Λ_0, μ_0) is the start after the forgetting of the shard's samples. The merged process
forgets as much of the start as the shard that forgot most.

If dictionaries differ, Z is their union or, if that is too large, the points of it that explain most of the
means. With A = κ(Z, Z_i) K_i⁻¹ the posterior of a process at any points has μ = A μ_i and S = a (K - A K_i
Aᵀ) + A S_i Aᵀ. The jitter of K belongs to the points: equal points share it, so A is exact at the points that
Z and Z_i have in common.

After kernels moved or points were evicted, a shard's precision may be below its start's in some direction,
and a sum would count that loss once per shard.  If the summed precision is below ``SAFE`` times the shards'
mean precision, precisions and linear terms are averaged.

Precisions are in the coordinates in which the prior a K = L Lᵀ is 1: S = L P⁻¹ Lᵀ, and P = 1 without evidence.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.sogp import SOGP
from river_okl.kernels import RBF
from river_okl.merging.expansions import heaviest, pursued
from river_okl.merging.shards import Shards
from river_okl.merging.spaces import Arrays, Positions, Space, joined, points_of
from river_okl.merging.statistics import pooled_kernel

MODELS = SOGP

State = dict[str, Any]
Gram = Callable[[Positions, Positions], Arrays]  # κ between points of the space, jitter included

CANDIDATES = 4  # times the dictionary: number of points of the union to compare
SAFE = 0.5  # of the shards' mean precision: summed evidence below it has lost more than it gained


class MeansAndCovariance(NamedTuple):
    """The posterior of f at the points of a dictionary."""

    means: Arrays  # [columns, n]
    covariance: Arrays  # [n, n]

    def at(self, A: Arrays, unexplained: Arrays) -> MeansAndCovariance:
        """Return the posterior of A f, to whose prior variance this is added."""
        return MeansAndCovariance(self.means @ A.T, unexplained + A @ self.covariance @ A.T)


def added(
    shards: Shards, prior: Arrays, forgetting: float, start: MeansAndCovariance, posteriors: list[MeansAndCovariance]
) -> MeansAndCovariance:
    """Return Λ_0 + Σ w_i (Λ_i - Λ_0) over a dictionary; the prior is a K, with the jitter of K."""
    evidence, steps = shards.evidence.tolist(), shards.learned
    moved = [
        i
        for i, posterior in enumerate(posteriors)
        if evidence[i] > 0.0 and not all(map(np.array_equal, posterior, _forgotten(start, prior, forgetting, steps[i])))
    ]
    if not moved:
        return _forgotten(start, prior, forgetting, max(steps))
    if len(moved) == 1 and evidence[moved[0]] == 1.0 and steps[moved[0]] == max(steps):
        return posteriors[moved[0]]
    L: Arrays = np.asarray(np.linalg.cholesky(prior), dtype=np.float64)
    whiten: Arrays = np.tril(lapack.dtrtri(L, lower=1)[0])
    before = {k: _natural(_forgotten(start, prior, forgetting, k), whiten) for k in {*steps}}
    total, average = before[max(steps)], np.zeros(1)
    mass = sum(evidence[i] * steps[i] for i in moved)
    for i in moved:
        own = _natural(posteriors[i], whiten)
        total = total + evidence[i] * (own - before[steps[i]])
        average = average + evidence[i] * steps[i] / mass * own
    _, failed = lapack.dpotrf((total - SAFE * average)[:, : len(prior)], lower=1)
    precision, linear = np.hsplit(average if failed else total, [len(prior)])
    covariance = inverse(precision)
    return MeansAndCovariance((L @ (covariance @ linear)).T.copy(), L @ covariance @ L.T)


def _forgotten(posterior: MeansAndCovariance, prior: Arrays, forgetting: float, steps: int) -> MeansAndCovariance:
    keep = forgetting**steps
    if keep == 1.0:
        return posterior
    return MeansAndCovariance(math.sqrt(keep) * posterior.means, keep * posterior.covariance + (1.0 - keep) * prior)


def _natural(posterior: MeansAndCovariance, whiten: Arrays) -> Arrays:
    """Return [Λ, Λ μ], side by side, in the coordinates in which the prior is 1; ``whiten`` is L⁻¹."""
    covariance = whiten @ posterior.covariance @ whiten.T
    precision = inverse((covariance + covariance.T) / 2.0)
    return np.hstack([precision, precision @ (whiten @ posterior.means.T)])


class Places(NamedTuple):
    """Positions of the points of a process in the union, and their K⁻¹."""

    at: Positions
    inverse: Arrays

    def seen_from(self, chosen: Positions, cross: Arrays, same: Any) -> Arrays:
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


def factored(K: Arrays) -> State:
    """Return the state of a ``Basis``: R, with RᵀR = K⁻¹."""
    ridge = 0.0
    while True:
        L, failed = lapack.dpotrf(K + ridge * K.diagonal().max(initial=0.0) * np.eye(len(K)), lower=1)
        if not failed:
            R = lapack.dtrtri(L, lower=1)[0] if len(K) else K
            return {"n": len(K), "factor": packed(R), "order": np.arange(len(K), dtype=np.int32)}
        ridge = 10.0 * ridge + 1e-12


def _unexplained(K: Arrays, A: Arrays, of_points: Arrays) -> Arrays:
    """Return K - A K_i Aᵀ, the covariance of f at points given f at those of a dictionary, for a prior variance of 1.

    It is exactly 0 at a point of that dictionary.
    """
    found = K - A @ of_points @ A.T
    exact = (np.count_nonzero(A, axis=1) == 1) & (A.max(axis=1, initial=0.0) == 1.0)
    found[exact] = found[:, exact] = 0.0
    return found


def merged(shards: Shards) -> Any:
    """Return the process with all evidence."""
    model = shards.new()
    with_start = [shards.start, *shards.models]
    states = [each._f.state() for each in with_start]
    points, features = [[state[part] for state in states] for part in ("points", "features")]
    names = dict.fromkeys(name for of in features for name in of["names"])
    kernel = pooled_kernel(shards, lambda each: each._f.kernel)
    model._f.kernel.restore(kernel)
    X, rows = joined(points, features, {name: j for j, name in enumerate(names)})
    space = Space(X, model._f.kernel, 1.0 + model._f.basis.jitter)
    gram = space.gram
    places = [Places(at, inverse(gram(at, at))) for at in rows]
    # if the kernel has moved, the mean and the covariance of f are kept
    posteriors = [MeansAndCovariance(each._f.means(), each._f.covariance()) for each in with_start]
    chosen = _chosen(shards, gram, places, [each.means for each in posteriors], len(space), model.budget)
    K = gram(chosen, chosen)
    prior_variance = float(shards.models[0]._f.posterior.prior_variance)
    start, *ends = (
        posterior.at(A, prior_variance * _unexplained(K, A, gram(of.at, of.at)))
        for of, posterior in zip(places, posteriors, strict=True)
        for A in [of.seen_from(chosen, gram(chosen, of.at), space.same(chosen, of.at))]
    )
    end = added(shards, prior_variance * K, model.forgetting, start, ends)
    posterior = {"means": end.means, "covariance": packed(end.covariance), "factor": 1.0}
    model._f.restore(
        {
            "kernel": kernel,
            **stored(points_of([each._f.points for each in with_start], rows, chosen), model.budget + 1, []),
            "basis": factored(K),
            "prior_variance": prior_variance,
            "seen": shards.total(lambda each: each._f.seen),
            "posterior": posterior | {"noise": model.noise},
        }
    )
    return model


def _chosen(shards: Shards, gram: Gram, places: list[Places], means: list[Arrays], n: int, capacity: int) -> Positions:
    """Return the points of the merged dictionary, among n in all: those that explain most of all means."""
    shares = shards.shares
    moved = [i for i, share in enumerate(shares) if share > 0.0]
    held = np.unique(np.concatenate([places[1 + i].at for i in moved]))
    if len(held) <= capacity:
        return held
    importance = np.zeros(n)
    for i in moved:
        of = places[1 + i]
        # the squared error of the means at each point if it were removed, as in KRLS-T
        lost = (((means[1 + i] @ of.inverse) / of.inverse.diagonal()) ** 2).sum(axis=0)
        np.add.at(importance, of.at, shares[i] * lost)
    candidates = held[heaviest(importance[held], CANDIDATES * capacity)]
    values = sum(
        shares[i] * (gram(candidates, places[1 + i].at) @ (places[1 + i].inverse @ means[1 + i].T)) for i in moved
    )
    if not np.any(values):
        values = np.ones((len(candidates), 1))
    return candidates[np.sort(pursued(gram(candidates, candidates), values, capacity))]


def stored(points: list[dict[Hashable, float]], capacity: int, names: list[Hashable]) -> dict[str, Any]:
    """Return the states of features and points, of this capacity; the features with these names come first."""
    f = Expansion(RBF(1.0)._terms(), budget=capacity)
    places, none = np.arange(len(names), dtype=np.int32), np.zeros(0, dtype=np.int32)
    f.restore(f.state() | {"features": {"names": names, "places": places, "free": none}})
    for z in points:
        f.evaluate(z)
        f.add(0.0)
    state = f.state()
    return {part: state[part] for part in ("features", "points")}


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


@functools.lru_cache(maxsize=1)  # 16 n² bytes
def _triangle(n: int) -> Any:
    return np.tril_indices(n)
