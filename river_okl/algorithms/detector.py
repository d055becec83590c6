"""The anomaly detector to start with: how rare is a sample among the latest ones?  The core is ``_core/detector.pyx``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import to_native_series

from river_okl._core.detector import Detector
from river_okl.checks import LARGEST_WEIGHT, check_seed, check_weight, check_weights
from river_okl.frames import frame_of, rows_of
from river_okl.model import CompiledModel, locked


class OKLDetector(CompiledModel, base.AnomalyDetector):
    """The anomaly detector to start with: no tuning, no scaling, and scores that are rates of false alarms.

    `score_one` is the share of recent samples that looked less strange, so that a threshold of 0.99 raises an alarm for
    one sample in a hundred as long as nothing happens. It accepts raw features, dense, sparse or both, strings and gaps,
    and may learn from a contaminated stream.

    Parameters
    ----------
    seed
        The seed of the random numbers that decide which samples are kept; None: a random one.

    Notes
    -----
    - It keeps up to 2,048 samples, scaled, and measures five things of a new one: two kernel densities; its distance to the
      twentieth nearest, relative to what is usual in that neighbourhood; its distance to the hundredth nearest, because
      anomalies that recur have near neighbours of their own; and how badly its features (the first 255) are predicted by
      each other. Each number is ranked among its last 1,024 values; the largest rank is ranked among up to 4,096.
    - Beyond the largest tenth of the 1,024 values, or hundredth of the 4,096, ranks follow an exponential tail, so
      that scores above 0.999 are still comparable. Scores are 0 before 100 samples, and above 0.99 they say little before 500.
    - At most half of the samples that equal x count as less strange: the score of a value that a fiftieth of all samples
      have does not exceed 0.99.
    - Samples with a score above 0.95 are not kept. Of those above 0.99 only some count for the ranks and the scaling, so that
      anomalies do not hide the next ones: one in twenty of all samples, or one in fourteen if they differ from each other,
      and up to twelve at once. If they are the majority for about 140 samples, the stream has moved, and the detector learns
      the new state.
    - River's filters withhold what they find strange, and `ThresholdFilter` learns nothing at all with
      `protect_anomaly_detector=False`: compare scores with a threshold yourself, or use `QuantileFilter` with that option.
    - Each of the last 8,192 samples that may be kept has about the same chance to be, in proportion to its weight. A
      sample of weight 0 updates the scaling only.
    - Features are scaled as in `OKLClassifier`.
    - Where labels arrive, even late, `OKLClassifier` uses them.

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
    ROCAUC: 95.17%

    References
    ----------
    [^1]: [Ramaswamy, S., Rastogi, R. and Shim, K., 2000. Efficient algorithms for mining outliers from large data sets. ACM SIGMOD Record, 29(2), pp.427-438.](https://doi.org/10.1145/335191.335437)
    [^2]: [Breunig, M.M., Kriegel, H.P., Ng, R.T. and Sander, J., 2000. LOF: identifying density-based local outliers. ACM SIGMOD Record, 29(2), pp.93-104.](https://doi.org/10.1145/335191.335388)
    [^3]: [Vitter, J.S., 1985. Random sampling with a reservoir. ACM Transactions on Mathematical Software, 11(1), pp.37-57.](https://doi.org/10.1145/3147.3165)
    [^4]: [Sherman, J. and Morrison, W.J., 1950. Adjustment of an inverse matrix corresponding to a change in one element of a given matrix. Annals of Mathematical Statistics, 21(1), pp.124-127.](https://doi.org/10.1214/aoms/1177729893)
    [^5]: [Laxhammar, R. and Falkman, G., 2014. Online learning and sequential anomaly detection in trajectories. IEEE Transactions on Pattern Analysis and Machine Intelligence, 36(6), pp.1158-1173.](https://doi.org/10.1109/TPAMI.2013.172)

    """

    def __init__(self, *, seed: int | None = None):
        self.seed = seed
        self._f = Detector(key=int(2.0**53 * check_seed(seed).random()))

    @locked
    def score_one(self, x: dict[Hashable, Any]) -> float:
        """The share of recent samples that looked less strange than x, from 0 to 1; 0 before anything was learned."""
        score: float = self._f.score(x)
        return score

    @locked
    def score_many(self, X: Any) -> Any:
        """The scores of the rows of a dataframe."""
        frame = frame_of(X)
        scores = np.array([self._f.score(row) for row in rows_of(frame, True)], dtype=np.float64)
        return to_native_series(scores, name=None, like=frame)

    @locked
    def explain_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """The features in which x is strange, the strangest first.

        Each has its mean squared difference to the twenty nearest samples, in squared standard deviations; an indicator
        `colour=red` of a string or `size=None` of a gap differs by 0 or 1.
        """
        explained: dict[Hashable, float] = self._f.explained(x)
        return explained

    @locked
    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the model with one sample; ``w`` is its weight relative to the others."""
        if type(w) is not float or not 0.0 <= w <= LARGEST_WEIGHT:
            w = check_weight(w)
        self._f.learn(x, w)

    def learn_many(self, X: Any, w: Any = None) -> None:
        """Learn the rows of a dataframe one after another, as by ``learn_one``; w: one weight, or one per row."""
        rows = rows_of(frame_of(X), True)
        for row, weight in zip(rows, check_weights(1.0 if w is None else w, len(rows)), strict=True):
            self.learn_one(row, weight)  # accepts rows of a Frame, too

    def learn_stream(self, samples: Iterable[dict[Hashable, Any]]) -> None:
        """Learn samples one after another."""
        for x in samples:
            self.learn_one(x)
