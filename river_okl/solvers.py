"""Linear systems and quadratic programs of a budget's size, for what several algorithms do with a full budget.

All on the core's own loops: one thread, one order of summation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import cholesky, dot, solve_factored_rows, symmetric_times

RIDGE = 1e-8  # of the Gram's diagonal, where its solution is clipped: that makes it unique
NEGLIGIBLE = 1e-9  # of the largest coefficient: conjugate gradients that move none by more are done
MAX_STEPS = 100  # of conjugate gradients, or of Newton's method


def solve_with_ridge(K: NDArray[np.float64], b: NDArray[np.float64], ridge: float = 0.0) -> NDArray[np.float64]:
    """(K + ridge I)⁻¹ b by Cholesky, for a vector b or for each row of a matrix.

    The ridge is raised where K is so indefinite by rounding that it has no factor.
    """
    while True:
        A = K.copy()
        A.flat[:: len(K) + 1] += ridge
        if cholesky(A):
            solution = np.array(b, order="C", ndmin=2)
            solve_factored_rows(A, solution)
            return solution.reshape(b.shape)
        ridge = max(10.0 * ridge, 1e-15 * float(np.trace(K)))


def with_ridge(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """K with the diagonal raised, in place."""
    K.flat[:: len(K) + 1] *= 1.0 + RIDGE
    return K


def solve_without(f: Expansion, c: NDArray[np.float64], j: int) -> NDArray[np.float64]:
    """The d with d_j = 0 that solves the other equations of K d = c, K the Gram matrix of f with the ridge.

    By conjugate gradients from the inverse that f keeps. That differs from the inverse of K by the ridge, by rounding,
    and by what f itself adds to the diagonal at points that depend on others: all but a few eigenvalues of the product
    are 1.
    """
    ridge = RIDGE * f.self_similarities
    unit = np.zeros(len(c))
    unit[j] = 1.0
    column = f.inverse_times(unit)

    def approximately(r: NDArray[np.float64]) -> NDArray[np.float64]:
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
    H: NDArray[np.float64],
    c: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    beta: NDArray[np.float64],
) -> NDArray[np.float64]:
    """argmin ½βᵀHβ - cᵀβ over low ≤ β ≤ high, H positive definite, from a β in the box.

    Newton's method on the variables that are not held at a bound, along the projection of the step on the box.
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
