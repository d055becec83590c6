"""NORMA's novelty detection: a function that is large near the samples, and a margin ρ with a fraction ν of them below it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, optim
from river.utils.dataframe import to_native_series

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import project_on_others
from river_okl.checks import check_between, check_learning_rate, check_weight, rate
from river_okl.frames import frame_of, rows_of
from river_okl.kernels import Kernel
from river_okl.model import KernelEstimator, UnsupervisedModel, locked

UNIT = 0.02  # |ρ - f(x)| at scores of 0.25 and 0.75
SLOWNESS = 0.3  # the step of f relative to that of ρ
NEAR = 0.01  # of κ(x, x): a sample with a smaller ALD residual is projected on the support vectors


class KernelOneClassSVM(UnsupervisedModel, KernelEstimator, base.AnomalyDetector):
    """NORMA's novelty detection, a budgeted one-class support vector machine: anomaly scores from 0 to 1.

    Use it behind a `StandardScaler`, with River's `metrics.ROCAUC`, `anomaly.QuantileFilter` and
    `anomaly.ThresholdFilter`. It may learn from a contaminated stream, as long as anomalies are rare.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    nu
        ν, the fraction of the learned samples with f(x) below ρ, a score above 0.5. They become the support
        vectors, so ν must be well above the fraction of anomalies; for alarms, wrap the model in a filter.
    budget
        Maximum number of support vectors.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.

    Notes
    -----
    - The score is a monotone function of s = ρ - f(x) with values between 0 and 1: (1 + s / (0.02 + |s|)) / 2.
    - As in the paper with λ = 1: f ← (1-η) f, and if f(x) ≤ ρ, f ← f + η κ(x, ·) and ρ ← ρ - η (1-ν), else ρ
      ← ρ + ην. So the fraction below ρ is ν up to |ρ|/(ηt) on any stream (the ν-property).
    - The step of f is 0.3 η, or 1/t while that is larger. (In the paper it is η.) With 1/t, f is the mean
      over all samples so far; with a constant step it forgets. The factor of 0.3 lets ρ follow f.
    - The paper drops its oldest terms. Here a sample whose distance from the span of the support vectors is
      at most a tenth of its norm is projected on it; if the budget is full, the sample or the support vector
      with the lowest removal cost is projected on the others, in O(B²).
    - A weight multiplies the steps of f and ρ, up to 1; a sample of weight 0 updates the bandwidth only. So ν
      is the fraction of the total weight below ρ, and f a weighted mean.
    - If f(x) = ρ, the sample is learned (in the paper it is not), so that f starts from the first sample.

    Examples
    --------
    >>> from river import metrics, preprocessing
    >>> from river.datasets import synth
    >>> from river_okl import KernelOneClassSVM

    >>> model = preprocessing.StandardScaler() | KernelOneClassSVM()
    >>> auc = metrics.ROCAUC(n_thresholds=50)
    >>> for x, y in synth.AnomalySine(n_samples=3000, n_anomalies=100, seed=12345):
    ...     auc.update(y, model.score_one(x))
    ...     model.learn_one(x)
    >>> auc
    ROCAUC: 96.78%

    References
    ----------
    [^1]: [Kivinen, J., Smola, A.J. and Williamson, R.C., 2004. Online learning with kernels. IEEE Transactions on Signal Processing, 52(8), pp.2165-2176.](https://doi.org/10.1109/TSP.2004.830991)
    [^2]: [Schölkopf, B., Platt, J.C., Shawe-Taylor, J., Smola, A.J. and Williamson, R.C., 2001. Estimating the support of a high-dimensional distribution. Neural Computation, 13(7), pp.1443-1471.](https://doi.org/10.1162/089976601750264965)

    """

    _merging = {"_rho": "mean", "_weight": "sum"}
    _mutable_attributes = {"nu", "learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        nu: float = 0.5,
        budget: int = 100,
        learning_rate: float | optim.base.Scheduler = 0.01,
    ):
        check_between("nu", nu, 0.0, 1.0, open_ends=True)
        check_learning_rate(learning_rate)
        self.nu = nu
        self.budget = budget
        self.learning_rate = learning_rate
        super().__init__(kernel, budget=budget, inverse=True)
        self._rho = 0.0
        self._t = 0
        self._weight = 0.0  # of the samples learned

    @locked
    def score_one(self, x: dict[Hashable, Any]) -> float:
        """The anomaly score of x, from 0 to 1: above 0.5 if x is more anomalous than a fraction 1 - ν of the samples."""
        s: float = self._rho - self._f.evaluate(x) if self._t else 0.0  # x may be NaN before the first sample
        return 0.5 * (1.0 + s / (UNIT + abs(s)))

    @locked
    def score_many(self, X: Any) -> Any:
        """The scores of the rows of a dataframe."""
        frame = frame_of(X)
        s: NDArray[np.float64] = self._rho - self._f.evaluate_many(rows_of(frame))[:, 0]
        return to_native_series(0.5 * (1.0 + s / (UNIT + np.abs(s))), name=None, like=frame)

    @locked
    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the model with one sample; a weight ``w`` multiplies its steps."""
        w = check_weight(w)
        f = self._f
        p = f.observe(x)
        if w == 0.0:
            return
        self._weight += w
        self._t += 1
        eta = rate(self.learning_rate, self._t)
        step = min(max(SLOWNESS * w * eta, w / self._weight), 1.0)
        eta = min(w * eta, max(eta, 1.0))
        f.scale(1.0 - step)
        if p <= self._rho:
            _learn(f, step)
            self._rho -= eta * (1.0 - self.nu)
        else:
            self._rho += eta * self.nu


def _learn(f: Expansion, step: float) -> None:
    """f + step κ(x, ·), or its approximation without an additional support vector."""
    residual = f.project()
    if residual <= NEAR * f.self_similarity:
        f.absorb(step)
    elif len(f) < f.budget:
        f.add(step)
    else:
        lost = f.coefficients**2 / f.inverse_diagonal  # ‖α_r (κ_r - P κ_r)‖², P the projection on the others
        r = f.oldest_of_least(lost)
        if step**2 * residual <= lost[r]:
            f.absorb(step)
        else:
            x = f.sample()
            project_on_others(f, r)
            f.evaluate(x)
            f.add(step)
