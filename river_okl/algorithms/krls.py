"""Engel, Mannor & Meir 2004: kernel recursive least squares over a dictionary of approximately independent points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import dot, rank_one, symmetric_times
from river_okl._core.states import LARGEST, checked_array
from river_okl.algorithms.support import DEPENDENT
from river_okl.checks import Budget, check_between
from river_okl.decision import KernelRegressor
from river_okl.kernels import Kernel


class KRLSRegressor(KernelRegressor):
    """Kernel recursive least squares: the exact least-squares fit over a small dictionary, without forgetting.

    For smooth, stationary series. A sample becomes a support vector only if its image is not (nearly) a
    combination of theirs, so that their number stops growing on a bounded domain. `SOGPRegressor` has a
    budget with eviction, forgetting and intervals.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    nu
        ν: a sample whose squared distance δ from the span of the support vectors exceeds it becomes one.
        Smaller values are more accurate and store more points.
    budget
        Maximum number of support vectors; when it is full, every sample is projected. None: as many as ν
        requires, a finite number for every stream in a bounded domain.

    Notes
    -----
    - Time and memory are O(n²) per sample for n support vectors.
    - The paper has no budget.
    - A δ below 1e-12 κ(x, x) is 0 whatever ν.
    - Without regularisation the first samples are interpolated, noise included; targets with noise need a larger ν.
    - A fixed `gamma` suits series better than `RBF()`, whose bandwidth is that of consecutive samples.
    - A sample weight w divides the variance of the noise by w.

    Examples
    --------
    >>> import math
    >>> from river import compose, evaluate, metrics
    >>> from river_okl import KRLSRegressor, Lags, kernels

    >>> series = [math.sin(t / 5) * math.sin(t / 7) for t in range(1000)]
    >>> model = Lags((1, 2, 3)) | compose.Discard("t") | KRLSRegressor(kernels.RBF(0.5))
    >>> mae = evaluate.progressive_val_score([({"t": t}, y) for t, y in enumerate(series)], model, metrics.MAE())
    >>> mae.get() < 0.005, model[-1].n_support_vectors
    (True, 38)

    References
    ----------
    [^1]: [Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on Signal Processing, 52(8), pp.2275-2285.](https://doi.org/10.1109/TSP.2004.830985)

    """

    _merging = {"_P": "its covariance belongs to the dictionary of one stream"}

    def __init__(self, kernel: Kernel | None = None, *, nu: float = 1e-4, budget: Budget | None = None):
        check_between("nu", nu, 0.0, 1.0, open_ends=True)
        self.nu = nu
        self.budget = budget
        super().__init__(kernel, inverse=True, **({} if budget is None else {"budget": budget}))
        self._P: NDArray[np.float64] = np.zeros((0, 0))  # its lower triangle
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        self._t += 1
        if w == 0.0:
            return
        delta, a, e = f.project(), f.projection, y - p  # δ, and a = K⁻¹ k
        if delta > max(self.nu, DEPENDENT * f.self_similarity) and len(f) != f.budget:
            P = np.pad(self._P[: len(f), : len(f)], (0, 1))  # a step that was interrupted may have extended it already
            P[-1, -1] = 1.0 / w
            self._P = P  # P ← [P, 0; 0, 1]
            f.absorb(-e / delta)  # α ← [α - a e/δ; e/δ]
            f.add(e / delta)
            return
        if len(self._P) > len(f):
            self._P = self._P[:-1, :-1].copy()
        Pa = symmetric_times(self._P, a)
        variance = 1.0 / w + dot(a, Pa)
        if not 0.0 < variance < LARGEST:  # rounding: features too large for the kernel
            self._P = np.eye(len(f))
            return
        rank_one(self._P, -1.0 / variance, Pa)  # P ← P - q aᵀP, q = P a / (1 + aᵀ P a)
        if len(f):
            f.coefficients += e / variance * f.inverse_times(Pa)  # α ← α + K⁻¹ q e

    def _check_state(self) -> None:
        super()._check_state()
        n = max(len(self._f), min(len(self._P), len(self._f) + 1))
        checked_array(vars(self), "_P", np.float64, (n, n), -LARGEST, LARGEST)
