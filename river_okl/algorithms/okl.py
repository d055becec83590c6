"""The class to start with: a mixture of Gaussian processes, first-order and linear learners that chooses what to believe.

Nothing has to be chosen: features are scaled inside, kernels find their scale and their features, and the mixture believes
whoever predicts well. What it is made of is in ``_core/mixture.pyx``, every constant with the part that it is of.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import utils

from river_okl._core.mixture import Mixture
from river_okl._core.words import named
from river_okl.checks import check_dictionary, check_flag, check_kernel, check_whole
from river_okl.kernels import RBF, Kernel, Linear
from river_okl.model import locked
from river_okl.predictive import PredictiveClassifier, PredictiveModel, PredictiveRegressor

DEFAULT_KERNEL = 0.8 * RBF() + 0.2 * Linear(gamma=None)
MOST_POINTS = 10_000_000
DICTIONARY = 64  # points that the Gaussian processes share: a sample costs O(DICTIONARY²)
LATEST = 3  # samples for each point of a regression's dictionary


class OKL(PredictiveModel):
    """What both tasks share."""

    _f: Mixture
    _takes_words = True

    def __init__(self, kernel: Kernel | None, *, budget: int, scale: bool, dictionary: int, regression: bool) -> None:
        check_kernel(kernel)
        check_flag("scale", scale)
        self.kernel = kernel
        self.budget = budget
        self.scale = scale
        terms = (kernel or DEFAULT_KERNEL)._terms()
        points = dictionary + LATEST * dictionary if regression else budget
        self._f = Mixture(terms, budget=points, dictionary=dictionary, scale=scale, regression=regression)

    def _learn(self, x: dict[Hashable, Any], target: float, w: float) -> None:
        self._f.learn(x, target, w)

    def _coefficients(self) -> NDArray[np.float64]:
        return self._f.coefficients()

    def _contributions(self, x: Any) -> NDArray[np.float64]:
        return self._f.contributions(x)

    def _point(self, i: int) -> dict[Hashable, float]:
        return named(self._f.points.point(i))

    @property
    @locked
    def kernel_in_use(self) -> Kernel:
        """The kernel that is believed most, with every gamma filled in; distances are weighted by `feature_weights`."""
        return (self.kernel or DEFAULT_KERNEL)._resolved(*self._f.most_believed())

    @property
    @locked
    def experts(self) -> dict[str, float]:
        """How much every expert counts in the next prediction; together 1."""
        return dict(self._f.experts)

    @property
    @locked
    def feature_weights(self) -> dict[Hashable, float]:
        """How much every feature counts in the distances between samples, learned from the predictions; in the mean 1.

        A weight is that of the squared difference of scaled values.
        """
        return named(self._f.feature_weights())

    @locked
    def debug_one(self, x: dict[Hashable, Any], decimals: int = 5) -> str:
        """A table of the points that contribute most to the prediction for x, and one of the experts that are believed."""
        return self._debugged(x, decimals)

    def _debugged(self, x: Any, decimals: int) -> str:
        believed = sorted(self._f.experts, key=lambda item: -item[1])[:5]
        table = utils.pretty.print_table(
            headers=["Expert", "Weight"],
            columns=[[name for name, _ in believed], [f"{weight:.{decimals}f}" for _, weight in believed]],
        )
        return f"{super()._debugged(x, decimals)}\n\n{table}"


class OKLClassifier(OKL, PredictiveClassifier):
    """The classifier to start with: nothing to tune, nothing to scale, bounded for ever.

    A mixture of six Gaussian processes over one dictionary, a passive-aggressive learner over a pool of many points, two
    logistic regressions and one with the squares of the features, a vote of the nearest points, the latest samples among them, for more than two
    labels naive Bayes, and a logistic regression on what all of them say. It takes dicts as they come: raw, dense, sparse or both, two labels or many.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is taken from the stream at
        three scales, which move to where predictions are good.
    budget
        The most points in all: up to 64 of them, at most half, are the dictionary of the Gaussian processes, of the others three
        fifths the pool of the first-order learner and two fifths the latest samples.
    scale
        Whether features are centred and divided by their deviation; those that are often absent are divided by their root mean
        square, and not centred. A value farther than five deviations from the mean counts as one at that distance.

    Notes
    -----
    - `experts` shows what is believed, `feature_weights` which features matter.
    - Sample weights are relative to those of the stream so far: weights of 100 and 1 are the same as 1 and .01, equal ones the same as 1.
      A single step counts a sample at most ten times, except in the Gaussian processes and the passive-aggressive learner.
    - Weights of experts follow dynamic model averaging, w_e ∝ w_e^0.99 p_e(y | x), so that after a drift another may take over.
    - Features are weighted by the mean squared slope of the mixture's own predictions, as in recursive feature machines,
      from 200 samples on and at least every 2,000 samples anew. A feature that tells the nearest points apart where the
      mixture was wrong (Relief) keeps a weight, also where the slopes no longer see it.
    - Where two labels are told apart and a third comes, what is believed is carried over, but for the regression on what the
      experts say, which begins anew.
    - What a support vector contributes (`explain_one`) is its part in the mean of the processes and the pool, by their
      weights; the linear models and the nearest points have no support vectors.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLClassifier

    >>> score = evaluate.progressive_val_score(datasets.Phishing(), OKLClassifier(), metrics.Accuracy())
    >>> score.get() > 0.9
    True

    References
    ----------
    [^1]: [Csató, L. and Opper, M., 2002. Sparse on-line Gaussian processes. Neural Computation, 14(3), pp.641-668.](https://doi.org/10.1162/089976602317250933)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Wang, Z. and Vucetic, S., 2010. Online passive-aggressive algorithms on a budget. Proceedings of the 13th International Conference on Artificial Intelligence and Statistics, PMLR 9, pp.908-915.](https://proceedings.mlr.press/v9/wang10b.html)
    [^5]: [Kira, K. and Rendell, L.A., 1992. The feature selection problem: traditional methods and a new algorithm. Proceedings of the 10th National Conference on Artificial Intelligence, pp.129-134.](https://aaai.org/papers/020-the-feature-selection-problem-traditional-methods-and-a-new-algorithm/)

    """

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 1024, scale: bool = True):
        check_whole("budget", budget, 2)
        if budget > MOST_POINTS:
            raise ValueError(f"budget is {budget!r}; it must be at most {MOST_POINTS:,}")
        dictionary = min(DICTIONARY, budget // 2)
        super().__init__(kernel, budget=budget, scale=scale, dictionary=dictionary, regression=False)
        self._start()

    def _probabilities(self, x: Any) -> list[float]:
        return self._f.probabilities(x)


class OKLRegressor(OKL, PredictiveRegressor):
    """The regressor to start with: nothing to tune, nothing to scale, bounded for ever, and it says how sure it is.

    A mixture of six Gaussian processes over one dictionary, beside it a Bayesian linear regression on the first 63 features and
    another on what all of these and the nearest points say. It takes dicts as they come, and raw targets.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is taken from the stream at
        three scales, which move to where predictions are good.
    budget
        The most points in the dictionary that the processes share: time and memory are O(budget²). Of the latest samples three
        times as many are kept beside it, the nearest of which count.
    scale
        Whether features are centred and divided by their deviation; those that are often absent are divided by their root mean
        square, and not centred. The target is always scaled. A value farther than five deviations from the mean counts as one at that
        distance.

    Notes
    -----
    - `predict_one(x, with_dist=True)` is the predictive distribution, a `river.proba.Gaussian`: mean and variance of the mixture, noise
      included, and widened or narrowed so that nine of ten targets have been within its 90 % interval.
    - `experts` shows what is believed, `feature_weights` which features matter.
    - Sample weights are relative to those of the stream so far: weights of 100 and 1 are the same as 1 and .01, equal ones the same as 1.
      They count for the experts; which expert is right is judged by weights of at most 1.
    - Weights of experts follow dynamic model averaging, w_e ∝ w_e^0.99 p_e(y | x), so that after a drift another may take over: those
      of the processes among themselves by their distributions; the processes together, the linear regression and the
      regression on all means (`stack`) by their squared residuals. Noisy, largely linear targets are left to the last two.
    - Features are weighted by the mean squared slope of the mixture's own predictions, as in recursive feature machines,
      from 60 samples on and at least every 2,000 samples anew. A feature that tells the nearest points apart where the
      mixture was wrong (Relief) keeps a weight, also where the slopes no longer see it.
    - What a support vector contributes (`explain_one`) is its part in the means of the processes; the linear regression and the
      nearest points have no support vectors.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLRegressor

    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), OKLRegressor(), metrics.MAE())
    >>> score.get() < 0.3
    True

    References
    ----------
    [^1]: [Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.](https://doi.org/10.1109/TNNLS.2012.2200500)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Robnik-Šikonja, M. and Kononenko, I., 2003. Theoretical and empirical analysis of ReliefF and RReliefF. Machine Learning, 53(1), pp.23-69.](https://doi.org/10.1023/A:1025667309714)

    """

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 96, scale: bool = True):
        check_dictionary(budget)
        super().__init__(kernel, budget=budget, scale=scale, dictionary=budget, regression=True)

    def _prediction(self, x: Any) -> tuple[float, float]:
        return self._f.predict(x)
