"""Shared by several papers: gradient descent, budget maintenance, linear models on features, linear systems, averages.

Everything uses the core's own loops: one thread, a fixed order of summation.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import (
    cholesky,
    dot,
    eigen,
    moved,
    solve_factored_rows,
    symmetric_times,
    times,
    transposed_times,
)
from river_okl._core.states import LARGEST
from river_okl.checks import check_choice, check_learning_rate
from river_okl.decision import KernelModel
from river_okl.kernels import Kernel

Arrays = NDArray[np.float64]

DEPENDENT = 1e-12  # of κ(x, x), or of the product of two: smaller ALD residuals and determinants are rounding
CUT_OFF = 1e-12  # of the largest eigenvalue of a Gram matrix: smaller ones are rounding
TIE = 1e-9  # relative: values closer than this are tied, and age decides
RIDGE = 1e-8  # of the Gram matrix's diagonal: makes clipped solutions unique
NEGLIGIBLE = 1e-9  # of the largest coefficient: smaller conjugate gradient steps end the iteration
MAX_STEPS = 100  # of conjugate gradients, or of Newton's method


# Gradient descent --------------------------------------------------------------------------------


class GradientDescent(KernelModel):
    """Steps against the gradient of a loss."""

    _mutable_attributes = {"learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None,
        loss: optim.losses.Loss | None,
        learning_rate: float | optim.base.Scheduler,
        **options: Any,
    ):
        check_learning_rate(learning_rate)
        self.learning_rate = learning_rate
        super().__init__(kernel, **options)
        self._set_loss(loss)


# A full budget -----------------------------------------------------------------------------------


def project_on_others(f: Expansion, p: int) -> None:
    """Remove p and add the projection of its term on all others; f must keep the inverse Gram matrix."""
    z, alpha = f.point(p), f.columns[p]
    f.remove(p)
    f.evaluate(z)
    f.columns += np.outer(f.projection, alpha)


def nearest(f: Expansion, p: int, n: int) -> list[int]:
    """The positions of the n support vectors (or all, if fewer) nearest to p in feature space."""
    k = f.self_similarities
    distances = np.maximum(0.0, k + k[p] - 2.0 * f.row_of(p))
    distances[p] = np.inf
    chosen: list[int] = []
    for _ in range(min(n, len(f) - 1)):
        chosen.append(f.oldest_of_least(distances, float(k[p])))
        distances[chosen[-1]] = np.inf
    return chosen


def project_on_nearest(f: Expansion, p: int, n: int) -> None:
    """Remove p and add the projection of its term on the n nearest others.

    By least squares, cutting off eigenvalues below ``CUT_OFF``, so that duplicates are harmless.
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


def fuse(f: Expansion, p: int) -> None:
    """Fuse p with its best partner m into z = h x_m + (1-h) x_p with the optimal h (Wang et al., 2012).

    The kernel is Gaussian, and α_z κ_z the projection of α_m κ_m + α_p κ_p.
    """
    m, h, alpha_z = f.partner(p)
    z = between(f, m, p, h)
    for i in sorted((m, p), reverse=True):
        f.remove(i)
    f.evaluate(z)
    f.add(alpha_z)


def between(f: Expansion, i: int, j: int, h: float) -> dict[Hashable, float]:
    """h x_i + (1-h) x_j, which rounding must not take beyond the largest feature."""
    x_i, x_j = f.point(i), f.point(j)
    z = {name: h * x_i.get(name, 0.0) + (1.0 - h) * x_j.get(name, 0.0) for name in {**x_i, **x_j}}
    return {name: min(max(value, -LARGEST), LARGEST) for name, value in z.items()}


# Linear models of features of points -------------------------------------------------------------


class LinearInBasis(KernelModel):
    """f = wᵀz with the features z(x) = basisᵀ k(x), k(x) the kernel row of x; with classes there is a w for each.

    The basis is empty at first. It has to be made anew if the kernel has other gammas than ``_gammas``.
    """

    def _start_without_basis(self) -> None:
        self._basis: Arrays = np.zeros((0, 0))
        self._w = np.zeros(0)
        self._gammas: tuple[float, ...] = ()

    def _set_basis(self, f: Expansion, basis: Arrays, W: Arrays) -> None:
        """f = wᵀz; the rows of W are the w."""
        self._basis, self._w, self._gammas = basis, W.ravel(), f.kernel.gammas
        f.columns = np.array([times(basis, w) for w in W]).T

    def _move(self, f: Expansion, step: float) -> None:
        """w + step z(x), along the direction of the last sample."""
        basis = self._basis
        if f.n_classes == 0:
            self._w, f.coefficients = moved(basis, f.row, self._w, step)
            return
        move = step * transposed_times(basis, f.row)
        W = self._weights_of_classes(f.n_classes)
        for c, weight in f.direction:
            W[c] += weight * move
        self._set_basis(f, basis, W)

    def _weights_of_classes(self, n_classes: int) -> Arrays:
        """w, one row per class.

        As in an expansion: one function for labels ±1 becomes F = ±f/√2, and a later class starts from 0.
        """
        size = self._basis.shape[1]
        W = self._w.reshape(len(self._w) // max(1, size), size)  # a sketch of equal points may have no features
        if len(W) == 1:
            W = np.sqrt(0.5) * np.concatenate([-W, W])
        missing = n_classes - len(W)
        return np.concatenate([W, np.zeros((missing, size))]) if missing > 0 else W

    def _fits(self) -> bool:
        """Whether there are as many weights as features, once or for each class."""
        return len(self._w) in [self._basis.shape[1] * n for n in range(1, max(1, self._f.n_classes) + 1)]


# Linear systems and quadratic programs of a budget's size ----------------------------------------


def solve_with_ridge(K: Arrays, b: Arrays, ridge: float = 0.0) -> Arrays:
    """(K + ridge I)⁻¹ b by Cholesky, for a vector b or for each row of a matrix.

    If K is indefinite by rounding, the ridge is raised until the factorisation exists.
    """
    while True:
        A = K.copy()
        A.flat[:: len(K) + 1] += ridge
        if cholesky(A):
            solution = np.array(b, order="C", ndmin=2)
            solve_factored_rows(A, solution)
            return solution.reshape(b.shape)
        ridge = max(10.0 * ridge, 1e-15 * float(np.trace(K)))


def with_ridge(K: Arrays) -> Arrays:
    """K with the diagonal raised, in place."""
    K.flat[:: len(K) + 1] *= 1.0 + RIDGE
    return K


def solve_without(f: Expansion, c: Arrays, j: int) -> Arrays:
    """The d with d_j = 0 that solves the other equations of K d = c, K the Gram matrix of f with the ridge.

    By conjugate gradients, preconditioned by the inverse that f keeps. That differs from the inverse of K by the ridge,
    rounding, and the jitter at dependent points: all but a few eigenvalues of the product are 1.
    """
    ridge = RIDGE * f.self_similarities
    unit = np.zeros(len(c))
    unit[j] = 1.0
    column = f.inverse_times(unit)

    def approximately(r: Arrays) -> Arrays:
        u = f.inverse_times(r)
        u -= u[j] / column[j] * column
        u[j] = 0.0
        return u

    d, r = np.zeros(len(c)), c.copy()
    r[j] = 0.0
    p = z = approximately(r)
    rz = dot(r, z)
    for _ in range(MAX_STEPS):
        Kp = f.gram_times(p) + ridge * p
        Kp[j] = 0.0
        curvature = dot(p, Kp)
        if not (rz > 0.0 and curvature > 0.0):
            break
        step = rz / curvature
        d += step * p
        if step * abs(p).max() <= NEGLIGIBLE * abs(d).max():
            return d
        r -= step * Kp
        z = approximately(r)
        rz, before = dot(r, z), rz
        p = z + rz / before * p
    K, c = with_ridge(f.gram()), c.copy()
    K[j], K[:, j], K[j, j], c[j] = 0.0, 0.0, 1.0, 0.0
    return solve_with_ridge(K, c)


def box_quadratic(
    H: Arrays,
    c: Arrays,
    low: Arrays,
    high: Arrays,
    beta: Arrays,
) -> Arrays:
    """argmin ½βᵀHβ - cᵀβ over low ≤ β ≤ high, H positive definite, starting from a β in the box.

    Projected Newton steps on the free variables.
    """
    negligible = 1e-13 * abs(c).max()
    for _ in range(MAX_STEPS):
        gradient = symmetric_times(H, beta) - c
        held = ((beta <= low) & (gradient >= -negligible)) | ((beta >= high) & (gradient <= negligible))
        free = np.flatnonzero(~held)
        if not len(free) or abs(gradient[free]).max() <= negligible:
            break
        step = np.zeros_like(beta)
        step[free] = solve_with_ridge(H[np.ix_(free, free)], -gradient[free])
        rate = 1.0
        while True:
            moved = np.clip(beta + rate * step, low, high) - beta
            slope = dot(gradient, moved)
            if slope + 0.5 * dot(moved, symmetric_times(H, moved)) <= 1e-4 * slope or rate < 1e-12:
                break
            rate /= 2.0
        beta = np.clip(beta + rate * step, low, high)
    return beta


# Averages of all models so far -------------------------------------------------------------------


class AveragedExpansion(KernelModel):
    """f̄ = (1/T) Σ_{t≤T} f_t, for algorithms that add support vectors and change nothing else.

    A point added by sample t_i with coefficient a_i is in T - t_i of the T models: f̄ = Σ (a_i - a_i t_i / T) κ_i.
    Output 0 of the expansion has the coefficients a_i, output 1 has a_i t_i. After t samples T = t + 1, and f_1 = 0.

    The class must count samples in ``_t``.
    """

    _t: int
    _alone = False

    def __init__(self, kernel: Kernel | None, averaged: bool):
        check_choice("averaged", averaged, (True, False))
        self.averaged = averaged
        super().__init__(kernel, n_outputs=2 if averaged else 1)

    def _add_averaged(self, c: float) -> None:
        """f ← f + c κ(x, ·)"""
        f = self._f
        f.add(c)
        if self.averaged:
            f.shift(len(f) - 1, c * self._t, 1)

    def _weights(self) -> tuple[float, ...]:
        return (1.0, -1.0 / (self._t + 1)) if self.averaged else (1.0,)
