"""The anomaly detector to start with: it ranks a sample among the latest ones.  The core is ``_core/detector.pyx``."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import to_native_series

from river_okl._core.detector import Detector
from river_okl.checks import check_weight, random_key
from river_okl.frames import frame_of, rows_of
from river_okl.model import UnsupervisedModel, locked


class OKLDetector(UnsupervisedModel, base.AnomalyDetector):
    """The anomaly detector to start with: no tuning, no scaling, and scores calibrated to the rate of alarms.

    `score_one` returns the share of recent samples that were less anomalous than x. A threshold of 0.99
    therefore raises an alarm for one sample in a hundred, as long as the stream does not change. Use the
    detector when there are no labels. It accepts raw features: dense, sparse or both, strings and missing
    values. It may learn from a contaminated stream.

    Parameters
    ----------
    seed
        Seed of the random numbers that decide which samples are stored. None: a random seed.

    See Also
    --------
    - `OKLClassifier`: learns from labels. Prefer it if labels arrive, even late.
    - `KernelOneClassSVM`: a one-class support vector machine on a budget.

    Notes
    -----
    - **Measurements.** The detector stores up to 2,048 scaled samples of the stream. It computes six numbers
      for a new sample. Two are kernel densities. The third is the distance to the 20th nearest stored sample,
      relative to what is usual in that neighbourhood. The fourth is the distance to the 100th nearest stored
      sample, because anomalies that recur have near neighbours of their own. The fifth is the error with
      which the features of the sample (the first 255) are predicted from each other. The sixth is the largest
      value of one feature in standard deviations, from four on: a single broken sensor of hundreds.
    - **Ranks.** Each of the six numbers is ranked among its last 1,024 values. The largest of the six ranks
      is then ranked among up to 4,096 earlier ones, which gives the score. Beyond the largest tenth of the
      1,024 values, and beyond the largest hundredth of the 4,096, ranks follow an exponential tail. Scores
      above 0.999 are therefore still comparable.
    - **The first samples.** Scores are 0 until more than 100 samples have been learned. Scores above 0.99 are
      not reliable before 500 samples.
    - **Equal samples.** At most half of the samples that equal x count as less anomalous. The score of a
      value that a fiftieth of all samples have therefore does not exceed 0.99.
    - **Contamination.** Samples with a score above 0.95 are not stored. Of the samples with a score above
      0.99, only a limited number update the ranks and the scaling, so that anomalies do not mask later ones.
      The limit is one in twenty of all samples, or one in fourteen if these samples differ from each other,
      and up to twelve at once, or seventeen if they differ.
    - **Change.** If samples with a score above 0.99 are the majority for about 140 samples, the stream has
      changed, and the detector learns the new state.
    - **River's filters.** River's filters do not let a detector learn from samples that it finds anomalous.
      `OKLDetector` does not need this protection, and the protection spoils the calibration of the scores.
      Compare the score with a threshold yourself, or use `QuantileFilter` with
      `protect_anomaly_detector=False`. With that option `ThresholdFilter` learns nothing at all.
    - **Storage.** Each of the last 8,192 samples that may be stored has about the same chance of being
      stored, in proportion to its weight. A sample of weight 0 updates the scaling only.
    - **Scaling.** Features are scaled, and their new levels and units followed, as in `OKLClassifier`. Only
      samples that the detector learns enter the statistics. At an update the regressions between the features
      are converted, too.

    References
    ----------
    [^1]: [Ramaswamy, S., Rastogi, R. and Shim, K., 2000. Efficient algorithms for mining outliers from large data sets. ACM SIGMOD Record, 29(2), pp.427-438.](https://doi.org/10.1145/335191.335437)
    [^2]: [Breunig, M.M., Kriegel, H.P., Ng, R.T. and Sander, J., 2000. LOF: identifying density-based local outliers. ACM SIGMOD Record, 29(2), pp.93-104.](https://doi.org/10.1145/335191.335388)
    [^3]: [Vitter, J.S., 1985. Random sampling with a reservoir. ACM Transactions on Mathematical Software, 11(1), pp.37-57.](https://doi.org/10.1145/3147.3165)
    [^4]: [Sherman, J. and Morrison, W.J., 1950. Adjustment of an inverse matrix corresponding to a change in one element of a given matrix. Annals of Mathematical Statistics, 21(1), pp.124-127.](https://doi.org/10.1214/aoms/1177729893)
    [^5]: [Laxhammar, R. and Falkman, G., 2014. Online learning and sequential anomaly detection in trajectories. IEEE Transactions on Pattern Analysis and Machine Intelligence, 36(6), pp.1158-1173.](https://doi.org/10.1109/TPAMI.2013.172)

    Examples
    --------
    >>> from river import metrics
    >>> from river.datasets import synth
    >>> from river_okl import OKLDetector

    >>> model = OKLDetector(seed=1)
    >>> auc = metrics.ROCAUC(n_thresholds=50)
    >>> for x, y in synth.AnomalySine(n_samples=3000, n_anomalies=100, seed=12345):
    ...     auc.update(y, model.score_one(x))
    ...     model.learn_one(x)
    >>> auc
    ROCAUC: 94.66%

    """

    _takes_words = True

    def __init__(self, *, seed: int | None = None):
        self.seed = seed
        self._f = Detector(key=random_key(seed))

    @locked
    def score_one(self, x: dict[Hashable, Any]) -> float:
        """The share of recent samples that were less anomalous than x, from 0 to 1; 0 until more than 100 are learned.

        Parameters
        ----------
        x
            A dict of features.

        """
        return self._f.score(x)

    @locked
    def score_many(self, X: Any) -> Any:
        """The anomaly score of each row of a dataframe.

        Parameters
        ----------
        X
            A dataframe of features.

        """
        frame = frame_of(X)
        scores = np.array([self._f.score(row) for row in rows_of(frame, self._takes_words)], dtype=np.float64)
        return to_native_series(scores, name=None, like=frame)

    @locked
    def explain_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """How far x is from its nearest neighbours in each feature, the largest difference first.

        The value of a feature is its mean squared difference to the twenty nearest stored samples, in squared
        standard deviations. The indicator of a string (`colour=red`) or of a missing value (`size=None`)
        differs by 0 or 1.

        Parameters
        ----------
        x
            A dict of features.

        """
        return self._f.explained(x)

    @locked
    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the model with one sample.

        Parameters
        ----------
        x
            A dict of features.
        w
            The weight of the sample, relative to the other samples.

        """
        self._f.learn(x, check_weight(w))
