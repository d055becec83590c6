"""Csató & Opper 2002, Van Vaerenbergh et al. 2012: a sparse online Gaussian process, with predictive uncertainty.

First-order learners update one coefficient per step. This one keeps the posterior mean and covariance of f at a dictionary
of points, so that each sample updates all of them according to their uncertainty: O(B²) per sample, and far fewer points for
the same accuracy. The equations are at the head of ``_core/gaussian/posterior.pyx``, the step, one uninterruptible call, in
``_core/gaussian/process.pyx``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from river_okl._core.gaussian.posterior import INVERSE_TEMPERATURE, normal
from river_okl._core.gaussian.process import Process
from river_okl.checks import check_between, check_dictionary, check_positive
from river_okl.kernels import Kernel
from river_okl.model import Points, SumModel
from river_okl.predictive import PredictiveClassifier, PredictiveModel, PredictiveRegressor


class SOGP(PredictiveModel, SumModel):
    """Shared by both tasks."""

    _make = Process

    def __init__(
        self,
        kernel: Kernel | None,
        *,
        budget: int,
        forgetting: float,
        prior_variance: float,
        noise: float,
    ) -> None:
        check_dictionary(budget)
        check_between("forgetting", forgetting, 0.5, 1.0)
        check_positive("prior_variance", prior_variance)
        check_positive("noise", noise)
        self.budget = budget
        self.forgetting = forgetting
        self.prior_variance = prior_variance
        self.noise = noise
        super().__init__(
            kernel,
            budget=budget,
            prior_variance=prior_variance,
            forgetting=forgetting,
            noise=noise,
            numeric=isinstance(self, PredictiveRegressor),
        )

    def _contributions(self, x: Any) -> tuple[Points, NDArray[np.float64]]:
        each, positions = self._f.contributions(x), list(self._f.supports)
        return [self._point(i) for i in positions], each[positions]


class SOGPClassifier(SOGP, PredictiveClassifier):
    """A sparse online Gaussian process classifier: a small dictionary, and predictive uncertainty from its covariance.

    `OKLClassifier` mixes six of these, and needs no tuning.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of points in the dictionary, B. Time and memory are O(B²).
    forgetting
        λ: each sample moves the posterior towards the prior. 1: no forgetting; 0.999 follows drift.
    prior_variance
        a, the prior variance: the prior of f is a Gaussian process with covariance a κ.
    noise
        The variance of the targets 0 and 1 with more than two labels; unused for two.

    Notes
    -----
    - Two labels: the probit likelihood with moment matching; `predict_proba_one` is the predictive probability
      Φ(m/√(1+v)). More: one mean per label over one covariance, with targets 0 and 1 and Gaussian noise, and a softmax of
      six times the means. When a third label arrives, the binary posterior is carried over.
    - Every sample outside the span of the dictionary (ALD residual above 1e-3 of κ(x, x)) becomes a point.
      The evicted point is the one whose removal changes the mean least, as in KRLS-T.
    - Forgetting is KRLS-T's "back to the prior".
    - A sample weight w divides the noise by w; the probit's c and b are treated as those of a Gaussian.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import SOGPClassifier

    >>> model = preprocessing.StandardScaler() | SOGPClassifier(budget=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.1%

    References
    ----------
    [^1]: [Csató, L. and Opper, M., 2002. Sparse on-line Gaussian processes. Neural Computation, 14(3), pp.641-668.](https://doi.org/10.1162/089976602317250933)
    [^2]: [Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.](https://doi.org/10.1109/TNNLS.2012.2200500)

    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 100,
        forgetting: float = 1.0,
        prior_variance: float = 4.0,
        noise: float = 0.05,
    ):
        super().__init__(kernel, budget=budget, forgetting=forgetting, prior_variance=prior_variance, noise=noise)

    def _scores(self, x: Any) -> list[float]:
        """Return the mean of f, positive for the positive label; with more than two labels the mean of each."""
        means, _ = self._f.predict(x)
        return [*means]

    def _probabilities(self, x: Any) -> list[float]:
        means, variance = self._f.predict(x)
        if len(means) == 1:
            p = normal(means[0] / math.sqrt(1.0 + variance))
            return [1.0 - p, p]
        return [float(p) for p in special.softmax([INVERSE_TEMPERATURE * m for m in means])]


class SOGPRegressor(SOGP, PredictiveRegressor):
    """A sparse online Gaussian process regressor (KRLS-T if `forgetting` is below 1): a mean and its predictive uncertainty.

    `OKLRegressor` mixes six of these, and needs no tuning.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of points in the dictionary, B. Time and memory are O(B²).
    forgetting
        λ: each sample moves the posterior towards the prior. 1: no forgetting; 0.999 follows drift.
    prior_variance
        a, the prior variance: the prior of f is a Gaussian process with covariance a κ, in squared units of the target.
    noise
        σ²: the variance of the noise, in the same units.

    Notes
    -----
    - With λ < 1 this is KRLS-T and with λ = 1 budgeted kernel recursive least squares, with a jitter of 1e-6
      of κ(x, x).
    - Smooth series need a fixed `gamma` and a small `noise`. On the Lorenz series behind both scalers (6
      lags, 6,000 values) the defaults have an error of 5.6 dB, the last value has -1.4 dB, and
      `SOGPRegressor(RBF(0.1), noise=1e-4, forgetting=0.999)` has -33.1 dB. The bandwidth of `RBF()` is the
      distance of consecutive samples, which are close to each other in a smooth series. See
      `docs/filters.md`.
    - `predict_one(x, with_dist=True)` is the predictive distribution, noise included.
    - Standardise the target: `preprocessing.TargetStandardScaler`.
    - A sample weight w divides the noise by w.

    Examples
    --------
    >>> from river import evaluate, metrics, preprocessing
    >>> from river.datasets import synth
    >>> from river_okl import SOGPRegressor

    >>> model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(SOGPRegressor(budget=50))
    >>> evaluate.progressive_val_score(synth.Friedman(seed=1).take(1000), model, metrics.MAE())
    MAE: 2.2

    References
    ----------
    [^1]: [Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.](https://doi.org/10.1109/TNNLS.2012.2200500)
    [^2]: [Csató, L. and Opper, M., 2002. Sparse on-line Gaussian processes. Neural Computation, 14(3), pp.641-668.](https://doi.org/10.1162/089976602317250933)

    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 100,
        forgetting: float = 1.0,
        prior_variance: float = 2.0,
        noise: float = 0.1,
    ):
        super().__init__(kernel, budget=budget, forgetting=forgetting, prior_variance=prior_variance, noise=noise)

    def _prediction(self, x: Any) -> tuple[float, float]:
        (mean,), variance = self._f.predict(x)
        return mean, math.sqrt(variance + self.noise)
