"""The classes to start with: mixtures of Gaussian processes and other learners, weighted by recent performance.

They need no tuning: features are scaled internally, bandwidths and feature weights are learned. The experts and their
constants are in ``_core/mixture/``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.mixture.batch import predictions
from river_okl._core.mixture.class_mixture import LARGEST_BUDGET, ClassMixture
from river_okl._core.mixture.pending import LARGEST_PENDING, Keyed
from river_okl._core.mixture.target_mixture import TargetMixture
from river_okl._core.store.sample import missing, number, stored
from river_okl._core.store.words import named
from river_okl.checks import Budget, PerClass, check_dictionary, check_flag, check_whole
from river_okl.contributions import SAMPLES, Asked, Contributions, chosen, explained
from river_okl.frames import Rows
from river_okl.kernels import RBF, Kernel, Linear
from river_okl.model import locked
from river_okl.predictive import PredictiveClassifier, PredictiveModel, PredictiveRegressor

DICTIONARY = 64  # points that the Gaussian processes share: a sample costs O(DICTIONARY²)
LARGEST_MEMORY = 2**20  # samples
PARTS = {  # of the answer, by the names of experts
    **dict.fromkeys(("process", "pool"), "kernels"),
    **dict.fromkeys(("linear", "quadratic", "logistic", "diagonal"), "linear models"),
    **dict.fromkeys(("stack", "correction"), "stack of all"),
    "bayes": "naive Bayes",
}


def _read(name: Hashable, value: Any) -> float | str | None:
    """Return a value as a mixture reads it."""
    return str(value) if isinstance(value, str) else None if missing(value) else number(name, value)


class OKL(PredictiveModel):
    """Base class of `OKLClassifier` and `OKLRegressor`: a mixture of experts over shared points."""

    _default_kernel = 0.8 * RBF() + 0.2 * Linear(gamma=None)
    _takes_words = True

    def __init__(
        self,
        kernel: Kernel | None,
        *,
        budget: Budget,
        scale: bool,
        pending: int,
        memory: int,
        points: int,
        dictionary: int,
        **options: Any,
    ) -> None:
        check_flag("scale", scale)
        check_whole("pending", pending, 0)
        if pending > LARGEST_PENDING:
            raise ValueError(f"pending is {pending!r}; it must be at most {LARGEST_PENDING:,} samples")
        check_whole("memory", memory, 0)
        if memory > LARGEST_MEMORY:
            raise ValueError(f"memory is {memory!r}; it must be at most {LARGEST_MEMORY:,} samples")
        self.budget = budget
        self.scale = scale
        self.pending = pending
        self.memory = memory
        options |= {"dictionary": dictionary, "scale": scale, "pending": pending, "memory": memory}
        super().__init__(kernel, budget=points, **options)

    def _keyed(self, x: Any, key: Hashable) -> Any:
        return x if key is None else Keyed(super()._keyed(x, key), key)

    def _predict_rows(self, rows: Rows, z: float = 1.0) -> NDArray[np.float64]:
        return predictions(self._f, rows, z)

    def _point(self, i: int) -> dict[Hashable, float]:
        return named(self._f.points.point(i))

    @property
    @locked
    def kernel_in_use(self) -> Kernel:
        """The kernel of the Gaussian processes with the largest mixture weight, with the current value of each gamma.

        Its distances use the weights in `feature_weights`.
        """
        return (self.kernel or self._default_kernel)._resolved(*self._f.highest_weighted())

    @property
    @locked
    def experts(self) -> dict[str, float]:
        """The mixture weight of each expert in the next prediction, by name. The weights sum to 1."""
        return dict(self._f.expert_weights)

    @property
    @locked
    def feature_weights(self) -> dict[Hashable, float]:
        """The learned weight of each feature in distances, by name. The mean weight is 1.

        A weight multiplies the squared difference of two scaled values. The four metrics of the model have different
        weights. Their average is returned, by the mixture weights of the experts that use them.
        """
        return named(self._f.feature_weights())

    @property
    @locked
    def feature_importances(self) -> dict[Hashable, float]:
        """The relevance of each feature, by name. The values sum to 1.

        It is the share of a feature in the gains of the boosted trees, for a target also in the linear regression. Empty
        before anything is known, and without a `memory`. Hashed features have no share.
        """
        return named(self._f.memory.importances())

    def _asked(self) -> Asked:
        return Asked(lambda rows: predictions(self._f, rows, wait=False), lambda: [], self._f.lock)

    @locked
    def contributions_one(
        self, x: dict[Hashable, Any], *, label: Hashable = None, samples: int = SAMPLES
    ) -> Contributions:
        """Return what each feature contributes to the prediction, in units of the target or of a probability.

        The mean prediction for background samples, `base`, and the contributions add up to `prediction`. Background
        samples are drawn from 128 that are kept, evenly from the latest `memory` ones. Asking changes nothing that is
        learned.

        Parameters
        ----------
        x
            A dict of features.
        label
            The label whose probability is explained, of a classifier. None: the most probable one.
        samples
            Number of background samples; the time is proportional to it and to the number of features.

        """
        return self._explained(x, label, samples)

    def _explained(self, x: Any, label: Any = None, samples: int = SAMPLES) -> Contributions:
        background = [self._f.background.sample(i) for i in chosen(len(self._f.background), samples)]
        if isinstance(x, dict):  # read once, because its values may run code of their own
            x = {stored(name): _read(name, value) for name, value in dict(x).items()}
        asked = self._asked()
        return explained(asked.ask, asked.labels(), x, background, label)

    @locked
    def debug_one(self, x: dict[Hashable, Any], decimals: int = 5) -> str:
        """Return the prediction for x, the ten largest contributions of features, and the parts it comes from.

        The contributions, which are those of `contributions_one`, and the base add up to the prediction.

        Parameters
        ----------
        x
            A dict of features.
        decimals
            Number of decimals in the table.

        """
        parts: dict[str, float] = {}
        for name, weight in self._f.expert_weights:
            kind = name.partition("(")[0]
            part = PARTS.get(kind, kind)
            parts[part] = parts.get(part, 0.0) + weight
        shares = sorted(((weight, part) for part, weight in parts.items() if weight >= 0.005), reverse=True)
        of = ", ".join(f"{part} {weight:.0%}" for weight, part in shares)
        return f"{self._explained(x).shown(decimals)}\n\nfrom {of}"


class OKLClassifier(OKL, PredictiveClassifier):
    """The classifier to start with: no tuning, no scaling, bounded memory.

    `OKLClassifier` is a mixture of experts. Kernel machines, linear models, boosted trees and nearest
    neighbours predict side by side, and each is weighted by its recent performance. Use it when you do not
    know which kind of model suits the stream, or when the stream drifts. It accepts two or more labels and
    raw features: dense, sparse or both, strings and missing values.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is
        estimated from the stream and multiplied by a scale for each of three kernels, initially 0.1, 0.1 and
        1.5. The scales adapt to the quality of the predictions.
    budget
        Maximum number of support vectors. The dictionary of the Gaussian processes takes at most 64 of them,
        and at most half of the budget. The others are the pool of the passive-aggressive learner.
        `PerClass(n)` allows n support vectors per label, initially 2n. With it, the pool grows from the third
        label on.
    scale
        Whether to scale features. Scaling centres a feature and divides it by its standard deviation. A
        feature that is often absent is divided by its root mean square instead, and not centred. Values
        farther than five standard deviations from the mean are clipped to that distance, except for the
        trees. New levels and units of a feature are followed (see Notes). Scaled features are in single
        precision, unscaled features in double precision.
    pending
        Maximum number of predicted samples that wait for their labels. If labels arrive late, the experts are scored on
        the predictions that they made at the time, so these predictions must be stored. With more than 51 labels the
        maximum is lower in proportion. If every label arrives before the next prediction, nothing is stored.
    memory
        Maximum number of latest samples that are stored for the trees and the nearest neighbours. Together
        they take at most 2.5 MiB, so fewer are stored if they have many features. 0: no trees and no nearest
        neighbours.

    See Also
    --------
    - `OKLRegressor`: the same kind of mixture for numeric targets.
    - `OKLDetector`: anomaly detection without labels.
    - `AhpatronClassifier`: a single kernel machine on a budget. It needs less memory and is less accurate.
    - `LateLabels`: a queue for samples whose labels are late.

    Notes
    -----
    - **Experts.** Six Gaussian processes share one dictionary. A passive-aggressive learner has a larger pool
      of points. Three logistic regressions learn by gradient descent, one of them on quadratic features, and
      a fourth one is Bayesian. Boosted trees are built from the latest samples. Two experts predict from
      nearest neighbours: the 4 nearest of the latest 512 samples, and the 6 nearest of all stored samples (of
      fewer with more than 32 features). One predicts from the last label, and how often that label was
      followed by itself. For more than two labels there is naive Bayes. The stacked regression is a logistic
      regression on the predictions of all other experts. `experts` returns the mixture weights.
    - **Mixture weights.** They follow dynamic model averaging, `w_e ∝ w_e^0.99 p_e(y | x)`. The exponent of
      0.99 discounts old samples, so that another expert may dominate after a drift.
    - **Strings and missing values.** Samples may contain strings, None and NaN. A string becomes an indicator
      feature the second time it is learned. The scale of an indicator does not depend on its rarity. Strings
      seen once cost a fixed 32 KB in total. None and NaN count as the mean of the feature, and also become an
      indicator. `feature_weights` names indicators `colour=red` and `size=None`.
    - **Units of features.** The mean and standard deviation by which a feature is scaled stay fixed between
      two scheduled updates. Updates become rarer, but are at most 2,000 samples apart. At an update the
      current statistics come into force, and everything learned in the old unit is converted. A feature whose
      mean drifts quickly follows its statistics from sample to sample instead.
    - **Outliers and new levels.** Outliers (more than five standard deviations from the mean) are clipped. Of
      a run of outliers only the first one enters the statistics, and samples in a run count less. Twelve
      outliers in a row are a new level or a larger unit. A unit that is smaller by a factor of five or more
      is noticed within 250 to 500 values. Such a change comes into force at once. Nothing is converted: the
      sensor's unit has changed, not the relation to the label. If the values return within 2,000 values, a
      short visit is undone, and a longer one gives the feature two levels. Offsets of less than about five
      standard deviations are learned as a change of the data.
    - **Feature weights.** In distances to the points, features are weighted by the mean squared slope of the
      mixture's own predictions, as in recursive feature machines. The first update is after 200 samples, and
      later updates are at most 2,000 samples apart. In one of the four metrics of the Gaussian processes, and
      for the nearest neighbours, a feature is weighted by its share in the gains of the trees instead. A
      feature therefore keeps a weight even if its slopes vanish. `feature_weights` returns the weights for
      the points, `feature_importances` the shares.
    - **Bayesian logistic regression.** It keeps a covariance of the first 255 features and never forgets, so
      that it learns a string from a few samples. The covariance takes at most 0.5 MB.
    - **Memory.** It stores the latest samples as rows. The first 256 features and strings have a column each.
      Further ones are hashed, with a sign, into 32 more columns. There are 60 trees of depth 6 (fewer, and
      less deep, while there are few rows), with a shrinkage of 0.2. They are rebuilt one by one, in turn,
      without end. As in gradient boosting, each tree is fitted to what all others leave. Each learned sample
      does the work of building a tree on 60 rows (up to 180 at first), in pieces, so that no step is long. A
      tree splits on three quarters of the columns, at most 16, most of them drawn by the gains of all trees.
      For the trees None and NaN have a bin of their own, but the first gap of a feature counts as its mean.
      If the loss of the trees rises suddenly, only the latest 200 rows are kept, and the trees restart. If it stays
      high, only the latest 60 are kept.
    - **Sample weights.** Only their ratios matter: weights of 100 and 1 are equivalent to 1 and 0.01, and
      equal weights to 1. A sample counts at most ten times, except in the Gaussian processes and the
      passive-aggressive learner. If ten light weights in a row follow at most twenty heavy first ones (at
      least three times heavier), the heavy ones no longer count in the mean weight, so that they do not
      silence the following samples.
    - **A third label.** When it arrives, state carries over, except the stacked regression, which restarts.
    - **Explanations.** `contributions_one` compares a prediction with those for background samples, which are
      128 of the latest ones. Support vectors explain only the processes and the pool.

    References
    ----------
    [^1]: [Csató, L. and Opper, M., 2002. Sparse on-line Gaussian processes. Neural Computation, 14(3), pp.641-668.](https://doi.org/10.1162/089976602317250933)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Wang, Z. and Vucetic, S., 2010. Online passive-aggressive algorithms on a budget. Proceedings of the 13th International Conference on Artificial Intelligence and Statistics, PMLR 9, pp.908-915.](https://proceedings.mlr.press/v9/wang10b.html)
    [^5]: [Friedman, J.H., 2001. Greedy function approximation: a gradient boosting machine. Annals of Statistics, 29(5), pp.1189-1232.](https://doi.org/10.1214/aos/1013203451)
    [^6]: [Ke, G., Meng, Q., Finley, T., et al., 2017. LightGBM: a highly efficient gradient boosting decision tree. Advances in Neural Information Processing Systems, 30, pp.3146-3154.](https://papers.nips.cc/paper_files/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html)

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLClassifier

    >>> evaluate.progressive_val_score(datasets.Phishing(), OKLClassifier(), metrics.Accuracy())
    Accuracy: 92.07%

    """

    _make = ClassMixture

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: Budget = 1024,
        scale: bool = True,
        pending: int = 1024,
        memory: int = 8192,
    ):
        if isinstance(budget, PerClass):
            points, each = 2 * budget.budget, budget.budget
        else:
            check_whole("budget", budget, 2)
            points, each = budget, 0
        if points > LARGEST_BUDGET:
            raise ValueError(f"budget is {budget!r}; it must be at most {LARGEST_BUDGET:,} points")
        super().__init__(
            kernel,
            budget=budget,
            scale=scale,
            pending=pending,
            memory=memory,
            points=points,
            dictionary=min(DICTIONARY, points // 2),
            each=each,
        )

    def _asked(self) -> Asked:
        every = super()._asked()

        def ask(rows: list[dict[Hashable, Any]]) -> NDArray[np.float64]:
            if len(self._labels.names) >= 2:
                return every.ask(rows)
            for row in rows:
                self._check_sample(row)
            return np.ones((len(rows), 1))

        return every._replace(ask=ask, labels=lambda: list(self._labels.names))

    def _probabilities(self, x: Any) -> list[float]:
        return self._f.probabilities(x)

    def _check_sample(self, x: Any) -> None:
        self._f.check_sample(x)

    def _predicted(self, x: Any) -> int:
        return self._f.most_probable(x)


class OKLRegressor(OKL, PredictiveRegressor):
    """The regressor to start with: no tuning, no scaling, bounded memory, predictive uncertainty.

    `OKLRegressor` is a mixture of experts. Gaussian processes, linear models, nearest neighbours and trees
    predict side by side, and each is weighted by its recent performance. Use it when you do not know which
    kind of model suits the stream, when the targets are a time series, or when you need prediction intervals.
    It accepts raw features and targets.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `0.8 * RBF() + 0.2 * Linear(gamma=None)`. A gamma of None is
        estimated from the stream and multiplied by a scale for each of three kernels, initially 0.1, 0.1 and
        1.5. The scales adapt to the quality of the predictions.
    budget
        Maximum number of points in the dictionary that the Gaussian processes share. Time and memory are
        O(budget²).
    scale
        Whether to scale features. Scaling centres a feature and divides it by its standard deviation. A
        feature that is often absent is divided by its root mean square instead, and not centred. Values
        farther than five standard deviations from the mean are clipped to that distance, except for the
        trees. New levels and units of a feature are followed (see Notes). The target is always scaled.
    pending
        Maximum number of predicted samples that wait for their targets. If targets arrive late, the experts
        are scored on the predictions that they made at the time, so these predictions must be stored. If
        every target arrives before the next prediction, nothing is stored.
    memory
        Maximum number of latest samples that are stored for the trees and the nearest neighbours. Together
        they take at most 2.5 MiB, so fewer are stored if they have many features. 0: no trees and no nearest
        neighbours.

    See Also
    --------
    - `OKLClassifier`: the same kind of mixture for labels.
    - `SOGPRegressor`: a single Gaussian process, with predictive uncertainty.
    - `Lags`: past targets and past values as features, for time series.
    - `LateLabels`: a queue for samples whose targets are late.

    Notes
    -----
    - **Experts.** Six Gaussian processes share one dictionary. There is a Bayesian linear regression on the
      first 127 features, and one with independent variances on all of them. Boosted trees, which are built
      from the latest samples, learn the residuals of the first. Two experts predict from nearest neighbours:
      the 4 nearest of the latest 512 samples, and the 6 nearest of all stored samples (of fewer with more
      than 32 features). The stack is another Bayesian linear regression, on the predictions of all of these.
      For time series there is the last target. `experts` returns the mixture weights.
    - **Mixture weights.** The processes are weighted by their predictive densities. These weights follow
      dynamic model averaging, `w_e ∝ w_e^0.99 p_e(y | x)`. The exponent of 0.99 discounts old samples, so
      that another process may dominate after a drift. The mean of the processes, the linear regression and
      the stack are weighted by their squared residuals. The last two dominate on noisy, largely linear
      targets. A second stage weights this mixture, a correction of it, the last target, the linear regression
      on all features, the trees and the nearest neighbours by their absolute errors. More trees learn the
      residuals of the result, and what they predict is added, multiplied by a share that follows its success.
    - **Noise.** The noise variance of three of the processes follows their residuals, down to a millionth of
      the target's variance, so that smooth series without noise are predicted precisely.
    - **Predictive distribution.** `predict_one(x, with_dist=True)` returns a `river.proba.Gaussian`. Its mean
      is the prediction. Its standard deviation is the one whose 90 % interval is that of
      `predict_interval_one`.
    - **Intervals.** The widths at 50, 80, 90, 95 and 99 % adapt to the share of past targets within the
      intervals that were issued. Other widths are interpolated. The scale of all widths follows the standard
      deviation of the mixture, the latest errors and the size of the last change of the target. An interval
      of a late target is at most twice as wide as that of a normal distribution with the targets' standard
      deviation.
    - **Several series.** The last target is the last one learned, whatever its series. If a stream mixes
      several series, use a model for each.
    - **Strings and missing values.** Samples may contain strings, None and NaN, as in `OKLClassifier`.
    - **Outliers and new levels.** Features are scaled, and their new levels and units followed, as in
      `OKLClassifier`. Outliers of the target are clipped, too. Trees and neighbours clip them around the median
      of the leaf or of the neighbours instead. The unit of the target stays fixed between updates. A gradual
      change of the target converts everything that was learned. A sudden change converts nothing that was
      learned before it. It is either a smaller unit, or twelve outliers in a row of which the first was a jump
      of at least 2.5 standard deviations. No prediction is further outside the range of past targets than that
      range is wide.
    - **Feature weights.** Slopes weight features as in `OKLClassifier`, with the first update after 60
      samples. In one of the four metrics, and for the nearest neighbours, the weights are the shares of the
      features in the linear regression and in the gains of the trees, both weighted by the variance that they
      explain.
    - **Memory.** The trees are those of `OKLClassifier`, but for a target. A large target that a feature
      announces is learned, an outlier is not: splits are found on residuals clipped at 20 robust standard
      deviations, and a leaf is the mean of residuals clipped at 5 of them around its median.
    - **Sample weights.** Only their ratios matter: weights of 100 and 1 are equivalent to 1 and 0.01, and
      equal weights to 1. They apply in full to the Gaussian processes and the linear regressions. For the
      stacked regression, the trees, the intervals and the mixture weights they are capped at 1. Heavy first
      samples are forgotten in the mean weight, as in `OKLClassifier`.
    - **Explanations.** `contributions_one` compares a prediction with those for background samples, which are
      128 of the latest ones. Support vectors explain only the processes.

    References
    ----------
    [^1]: [Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.](https://doi.org/10.1109/TNNLS.2012.2200500)
    [^2]: [Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model averaging. Technometrics, 52(1), pp.52-66.](https://doi.org/10.1198/TECH.2009.08104)
    [^3]: [Radhakrishnan, A., Beaglehole, D., Pandit, P. and Belkin, M., 2024. Mechanism for feature learning in neural networks and backpropagation-free machine learning models. Science, 383(6690), pp.1461-1467.](https://doi.org/10.1126/science.adi5639)
    [^4]: [Friedman, J.H., 2001. Greedy function approximation: a gradient boosting machine. Annals of Statistics, 29(5), pp.1189-1232.](https://doi.org/10.1214/aos/1013203451)
    [^5]: [Ke, G., Meng, Q., Finley, T., et al., 2017. LightGBM: a highly efficient gradient boosting decision tree. Advances in Neural Information Processing Systems, 30, pp.3146-3154.](https://papers.nips.cc/paper_files/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html)

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_okl import OKLRegressor

    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), OKLRegressor(), metrics.MAE())
    MAE: 0.19

    """

    _make = TargetMixture

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 96,
        scale: bool = True,
        pending: int = 1024,
        memory: int = 8192,
    ):
        check_dictionary(budget)
        super().__init__(
            kernel, budget=budget, scale=scale, pending=pending, memory=memory, points=budget, dictionary=budget
        )

    def _asked(self) -> Asked:
        every = super()._asked()
        return every._replace(ask=lambda rows: every.ask(rows)[:, :1])

    def _prediction(self, x: Any) -> tuple[float, float]:
        return self._f.predict(x)

    def _half_width(self, x: Any, z: float) -> tuple[float, float]:
        return self._f.interval(x, z)
