"""The classes to start with: mixtures of Gaussian processes and other learners, weighted by recent performance.

They need no tuning: features are scaled internally, bandwidths and feature weights are learned. The parts, with their
constants, are in ``_core/mixture/``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from river import utils

from river_okl._core.mixture.class_mixture import LARGEST_BUDGET, ClassMixture
from river_okl._core.mixture.pending import LARGEST_PENDING, Keyed
from river_okl._core.mixture.target_mixture import TargetMixture
from river_okl._core.words import named
from river_okl.checks import Budget, PerClass, check_dictionary, check_flag, check_whole
from river_okl.kernels import RBF, Kernel, Linear
from river_okl.model import locked
from river_okl.predictive import PredictiveClassifier, PredictiveModel, PredictiveRegressor

DEFAULT_KERNEL = 0.8 * RBF() + 0.2 * Linear(gamma=None)
DICTIONARY = 64  # points that the Gaussian processes share: a sample costs O(DICTIONARY²)
LATEST = 3  # recent samples kept per point of a regression's dictionary


class OKL(PredictiveModel):
    """Shared by both tasks."""

    _default_kernel = DEFAULT_KERNEL
    _takes_words = True

    def __init__(
        self,
        kernel: Kernel | None,
        *,
        budget: Budget,
        scale: bool,
        pending: int,
        points: int,
        dictionary: int,
        **options: Any,
    ) -> None:
        check_flag("scale", scale)
        check_whole("pending", pending, 0)
        if pending > LARGEST_PENDING:
            raise ValueError(f"pending is {pending!r}; it must be at most {LARGEST_PENDING:,} samples")
        self.budget = budget
        self.scale = scale
        self.pending = pending
        super().__init__(kernel, budget=points, dictionary=dictionary, scale=scale, pending=pending, **options)

    def _under(self, key: Hashable, x: Any) -> Any:
        super()._under(key, x)
        return Keyed(x, key)

    def _point(self, i: int) -> dict[Hashable, float]:
        return named(self._f.points.point(i))

    @property
    @locked
    def kernel_in_use(self) -> Kernel:
        """The kernel of the highest-weighted process, with every gamma filled in; distances use `feature_weights`."""
        return (self.kernel or self._default_kernel)._resolved(*self._f.highest_weighted())

    @property
    @locked
    def experts(self) -> dict[str, float]:
        """The mixture weights of the experts in the next prediction; they sum to 1."""
        return dict(self._f.expert_weights)

    @property
    @locked
    def feature_weights(self) -> dict[Hashable, float]:
        """The learned weights of the features' squared differences (of scaled values) in distances; 1 on average."""
        return named(self._f.feature_weights())

    @locked
    def debug_one(self, x: dict[Hashable, Any], decimals: int = 5) -> str:
        """A table of the points that contribute most to the prediction for x, and one of the highest-weighted experts."""
        return self._debugged(x, decimals)

    def _debugged(self, x: Any, decimals: int) -> str:
        highest = sorted(self._f.expert_weights, key=lambda item: -item[1])[:5]
        table = utils.pretty.print_table(
            headers=["Expert", "Weight"],
            columns=[[name for name, _ in highest], [f"{weight:.{decimals}f}" for _, weight in highest]],
        )
        return f"{super()._debugged(x, decimals)}\n\n{table}"


class OKLClassifier(OKL, PredictiveClassifier):
    """The classifier to start with: no tuning, no scaling, bounded memory.

    A mixture of six Gaussian processes over one dictionary, a passive-aggressive learner over a larger pool of points, two
    logistic regressions by gradient descent (one on quadratic features) and a Bayesian one, nearest neighbours among the points
    and the latest samples, two small forests of Hoeffding trees, naive Bayes (for more than two labels), and a logistic
    regression on all expert predictions.
    It accepts raw features, dense, sparse or both, and any number of labels.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is estimated from the stream at
        three scales, which adapt to the quality of the predictions.
    budget
        Maximum number of points. Up to 64, and at most half, are the dictionary of the Gaussian processes; of the others three fifths are
        the pool of the passive-aggressive learner and two fifths the latest samples. A `PerClass(n)` allows n points per label, initially
        2n; from the third label on the pool and the latest samples grow.
    scale
        Whether features are centred and divided by their standard deviation; those that are often absent are divided by their root mean
        square, and not centred. Values farther than five standard deviations from the mean are clipped to that distance. Scaled features
        are in single precision, unscaled ones in double.
    pending
        Maximum number of samples that were predicted and whose labels are late: what the experts said of them is kept, as they are judged
        by that. With more than 60 labels the maximum is proportionally lower. Labels that follow at once need no memory.

    Notes
    -----
    - Samples may contain strings, None and NaN. A string becomes an indicator feature, whose scale does not depend on its
      rarity, the second time it is learned; strings seen once cost a fixed 32 KB in total. None and NaN count as the feature's
      mean and also make an indicator. `feature_weights` and `explain_one` name indicators `colour=red` and `size=None`.
    - `experts` has the mixture weights, `feature_weights` the weights of the features.
    - Sample weights are relative to their mean so far: weights of 100 and 1 are equivalent to 1 and .01, and equal weights to 1.
      A sample counts at most ten times, except in the Gaussian processes and the passive-aggressive learner.
    - Weights of experts follow dynamic model averaging, w_e ∝ w_e^0.99 p_e(y | x), so that another expert may dominate after a drift.
    - Features are weighted by the mean squared slope of the mixture's own predictions, as in recursive feature machines,
      from 200 samples on, updated at least every 2,000 samples. A feature that separates the nearest points where the
      mixture was wrong (Relief) keeps a weight even if its slopes vanish.
    - The Bayesian logistic regression has a covariance of the first 255 features and never forgets: a string is learned from a few
      samples. It takes at most .5 MB.
    - Three of the trees split on any feature and four on half of them, drawn for each leaf; each tree weights a sample by a
      draw from Poisson(6), and a tree whose error rises restarts. Together they take at most .8 MB with two labels
      and 4 MB with many, for any number of features.
    - When a third label arrives, state carries over, except the stacked regression, which restarts.
    - The contribution of a support vector (`explain_one`) is its term in the weighted mean of the processes and the pool; the
      linear models, the nearest neighbours and the trees have no support vectors.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLClassifier

    >>> evaluate.progressive_val_score(datasets.Phishing(), OKLClassifier(), metrics.Accuracy())
    Accuracy: 90.4%

    References
    ----------
    [^1]: [Csató, L. and Opper, M., 2002. Sparse on-line Gaussian processes. Neural Computation, 14(3), pp.641-668.](https://doi.org/10.1162/089976602317250933)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Wang, Z. and Vucetic, S., 2010. Online passive-aggressive algorithms on a budget. Proceedings of the 13th International Conference on Artificial Intelligence and Statistics, PMLR 9, pp.908-915.](https://proceedings.mlr.press/v9/wang10b.html)
    [^5]: [Domingos, P. and Hulten, G., 2000. Mining high-speed data streams. Proceedings of the 6th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining, pp.71-80.](https://doi.org/10.1145/347090.347107)
    [^6]: [Gomes, H.M., Bifet, A., Read, J., et al., 2017. Adaptive random forests for evolving data stream classification. Machine Learning, 106(9), pp.1469-1495.](https://doi.org/10.1007/s10994-017-5642-8)
    [^7]: [Kira, K. and Rendell, L.A., 1992. The feature selection problem: traditional methods and a new algorithm. Proceedings of the 10th National Conference on Artificial Intelligence, pp.129-134.](https://aaai.org/papers/020-the-feature-selection-problem-traditional-methods-and-a-new-algorithm/)

    """

    _make = ClassMixture

    def __init__(self, kernel: Kernel | None = None, *, budget: Budget = 2048, scale: bool = True, pending: int = 1024):
        if isinstance(budget, PerClass):
            points, each = 2 * budget.budget, budget.budget
        else:
            check_whole("budget", budget, 2)
            points, each = budget, 0
        if points > LARGEST_BUDGET:
            raise ValueError(f"budget is {budget!r}; it must be at most {LARGEST_BUDGET:,} points")
        dictionary = min(DICTIONARY, points // 2)
        super().__init__(
            kernel, budget=budget, scale=scale, pending=pending, points=points, dictionary=dictionary, each=each
        )

    def _probabilities(self, x: Any) -> list[float]:
        found: list[float] = self._f.probabilities(x)
        return found

    def _check_sample(self, x: Any) -> None:
        self._f.check_sample(x)

    def _most_probable(self, x: Any) -> int:
        found: int = self._f.most_probable(x)
        return found


class OKLRegressor(OKL, PredictiveRegressor):
    """The regressor to start with: no tuning, no scaling, bounded memory, predictive uncertainty.

    A mixture of six Gaussian processes over one dictionary, a Bayesian linear regression on the first 63 features, and another
    on the predictions of all of these, of the nearest neighbours and of three Hoeffding trees. For targets in time it adds the last
    target and a tree on the difference to it; a vote by absolute errors decides between all of these. It accepts raw features and
    targets.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is estimated from the stream at
        three scales, which adapt to the quality of the predictions.
    budget
        Maximum number of points in the dictionary that the processes share: time and memory are O(budget²). In addition the latest
        3 · budget samples are kept for the nearest neighbours.
    scale
        Whether features are centred and divided by their standard deviation; those that are often absent are divided by their root mean
        square, and not centred. The target is always scaled. Values farther than five standard deviations from the mean are clipped to that
        distance.
    pending
        Maximum number of samples that were predicted and whose targets are late: what the experts said of them is kept, as they are judged
        by that. Targets that follow at once need no memory.

    Notes
    -----
    - Samples may contain strings, None and NaN. A string becomes an indicator feature, whose scale does not depend on its
      rarity, the second time it is learned; strings seen once cost a fixed 32 KB in total. None and NaN count as the feature's
      mean and also make an indicator. `feature_weights` and `explain_one` name indicators `colour=red` and `size=None`.
    - `predict_one(x, with_dist=True)` is the predictive distribution, a `river.proba.Gaussian`: the mean, and the standard
      deviation whose 90 % interval is that of `predict_interval_one`.
    - Intervals of 50, 80, 90, 95 and 99 % are adapted to the share of past targets within those that were issued, and others are
      interpolated. Their scale follows the latest errors and the size of the last change of the target.
    - The last target is the last one learned, of whatever series: where a stream mixes several series, use a model for each.
    - Three values in a row that are far outside of what a feature or the target had been, but close to each other, are a new level;
      single ones are clipped.
    - `experts` has the mixture weights, `feature_weights` the weights of the features.
    - Sample weights are relative to their mean so far: weights of 100 and 1 are equivalent to 1 and .01, and equal weights to 1.
      They apply to the experts; for the mixture weights they are capped at 1.
    - Weights of experts follow dynamic model averaging, w_e ∝ w_e^0.99 p_e(y | x), so that another expert may dominate after a drift.
      The processes are weighted among themselves by their predictive densities; their mean, the linear regression and the
      regression on all means (`stack`) by squared residuals. The last two dominate on noisy, largely linear targets.
    - Features are weighted by the mean squared slope of the mixture's own predictions, as in recursive feature machines,
      from 60 samples on, updated at least every 2,000 samples. A feature that separates the nearest points where the
      mixture was wrong (Relief) keeps a weight even if its slopes vanish.
    - The contribution of a support vector (`explain_one`) is its term in the mean of the processes; the linear regression, the
      nearest neighbours and the tree have no support vectors.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLRegressor

    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), OKLRegressor(), metrics.MAE())
    MAE: 0.19

    References
    ----------
    [^1]: [Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.](https://doi.org/10.1109/TNNLS.2012.2200500)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Ikonomovska, E., Gama, J. and Džeroski, S., 2011. Learning model trees from evolving data streams. Data Mining and Knowledge Discovery, 23(1), pp.128-168.](https://doi.org/10.1007/s10618-010-0201-y)
    [^5]: [Robnik-Šikonja, M. and Kononenko, I., 2003. Theoretical and empirical analysis of ReliefF and RReliefF. Machine Learning, 53(1), pp.23-69.](https://doi.org/10.1023/A:1025667309714)

    """

    _make = TargetMixture

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 96, scale: bool = True, pending: int = 1024):
        check_dictionary(budget)
        points = budget + LATEST * budget
        super().__init__(kernel, budget=budget, scale=scale, pending=pending, points=points, dictionary=budget)

    def _prediction(self, x: Any) -> tuple[float, float]:
        mean, deviation = self._f.predict(x)
        return mean, deviation

    def _half_width(self, x: Any, z: float) -> tuple[float, float]:
        mean, half = self._f.interval(x, z)
        return mean, half
