"""River's protocol for models that predict a distribution: a single Gaussian process (SOGP) or a mixture (OKL).

Such a model has a compiled object ``_f`` and defines its predictions; intervals, probabilities and keys are here.
Invalid samples raise before the model changes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from river import base, proba
from scipy import special

from river_okl._core.function.protocol import learn_new_label
from river_okl.checks import check_between, check_key
from river_okl.frames import Rows, frame_of, label_frame, rows_of
from river_okl.model import LabelModel, SupervisedModel, TargetModel, locked


class PredictiveModel(SupervisedModel):
    """Base for both tasks; the support vectors are the points in the predictive mean."""

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0, *, key: Hashable = None) -> None:
        """Update the model with one sample.

        Parameters
        ----------
        x
            A dict of features; missing features are 0.
        y
            The label or target.
        w
            The weight of the sample, which multiplies the step of the update. Weight 0 means a sample without loss.
        key
            The key that was given for the sample's prediction, if any.

        """
        super().learn_one(self._keyed(x, key), y, w)

    def _keyed(self, x: Any, key: Hashable) -> Any:
        """Return the sample with its key, if any, which identifies the sample when its label arrives."""
        if key is not None:
            check_key(key)
        return x

    def _predict_rows(self, rows: Rows, z: float = 1.0) -> NDArray[np.float64]:
        """Return a row of predictions for each sample.

        The columns are the probabilities of the labels, at least two; in regression the mean, and half the width of
        the interval with the coverage of z standard deviations of a normal.
        """
        raise NotImplementedError

    def _by_age(self) -> list[int]:
        return sorted(self._f.supports, key=self._f.points.births.__getitem__)

    def _point(self, i: int) -> dict[Hashable, float]:
        return self._f.points.point(i)

    def _coefficients(self) -> NDArray[np.float64]:
        return self._f.coefficients()


class PredictiveRegressor(PredictiveModel, TargetModel):
    """A regressor that predicts a mean and a standard deviation."""

    def _prediction(self, x: Any) -> tuple[float, float]:
        """Return mean and standard deviation of the target."""
        raise NotImplementedError

    def _fit(self, x: Any, y: float, w: float) -> None:
        self._f.learn(x, y, w)

    @overload
    def predict_one(
        self, x: dict[Hashable, Any], *, with_dist: Literal[False] = False, key: Hashable = None, **kwargs: Any
    ) -> float: ...

    @overload
    def predict_one(
        self, x: dict[Hashable, Any], *, with_dist: Literal[True], key: Hashable = None, **kwargs: Any
    ) -> proba.Gaussian: ...

    @overload
    def predict_one(
        self, x: dict[Hashable, Any], *, with_dist: bool, key: Hashable = None, **kwargs: Any
    ) -> float | proba.Gaussian: ...

    def predict_one(
        self, x: dict[Hashable, Any], *, with_dist: bool = False, key: Hashable = None, **kwargs: Any
    ) -> float | proba.Gaussian:
        """Return the predicted target.

        Parameters
        ----------
        x
            A dict of features; missing features are 0.
        with_dist
            Whether to return the predictive distribution, a `river.proba.Gaussian`, instead of its mean.
        key
            Identifies the sample when its target comes late; any hashable value. None: its features identify it.

        """
        x = self._keyed(x, key)
        f = self._f
        with f.lock:  # x may be NaN before the first sample (MinMaxScaler)
            mean, deviation = self._prediction(x if len(f.points) else {})
        if not with_dist:
            return mean
        make: Any = proba.Gaussian._from_state  # as in River's BayesianLinearRegression
        return make(n=1, m=mean, var=deviation * deviation, ddof=0)

    @locked
    def predict_interval_one(
        self, x: dict[Hashable, Any], coverage: float = 0.9, *, key: Hashable = None
    ) -> tuple[float, float]:
        """Return the central interval of the predictive distribution, as (lower, upper).

        Parameters
        ----------
        x
            A dict of features; missing features are 0.
        coverage
            The probability that the target lies within the interval, strictly between 0 and 1.
        key
            As in `predict_one`.

        """
        x = self._keyed(x, key)
        check_between("coverage", coverage, 0.0, 1.0, open_ends=True)
        mean, half = self._half_width(x if len(self._f.points) else {}, _deviations(coverage))
        return mean - half, mean + half

    def _half_width(self, x: Any, z: float) -> tuple[float, float]:
        """Return mean and half width of the interval with the coverage of z standard deviations of a normal."""
        mean, deviation = self._prediction(x)
        return mean, z * deviation

    @locked
    def predict_interval_many(self, X: Any, coverage: float = 0.9) -> Any:
        """Return the central intervals for the rows of a frame, as a frame with the columns lower and upper.

        Parameters
        ----------
        X
            A frame of features.
        coverage
            The probability that a target lies within its interval, strictly between 0 and 1.

        """
        check_between("coverage", coverage, 0.0, 1.0, open_ends=True)
        frame = frame_of(X)
        mean, half = self._predict_rows(rows_of(frame, self._takes_words), _deviations(coverage)).T
        return label_frame({"lower": mean - half, "upper": mean + half}, frame)

    def _predict_targets(self, rows: Any) -> NDArray[np.float64]:
        return self._predict_rows(rows)[:, 0].copy()

    def _predict_rows(self, rows: Rows, z: float = 1.0) -> NDArray[np.float64]:
        found = [self._half_width(row, z) for row in rows]
        return np.array(found, dtype=np.float64).reshape(-1, 2)


def _deviations(coverage: float) -> float:
    """Return half the width of the central interval of a normal distribution, in standard deviations."""
    return -float(special.ndtri(0.5 * (1.0 - float(coverage))))


class PredictiveClassifier(PredictiveModel, LabelModel):
    """A classifier with predictive probabilities."""

    _multiclass = True

    def _check_state(self) -> None:
        super()._check_state()
        if self._f.n_classes != max(2, len(self._labels)):
            raise ValueError(f"{self._f.n_classes} classes for {len(self._labels)} labels")

    def _probabilities(self, x: Any) -> list[float]:
        """Return the probability of every label by position; of two labels if there are fewer."""
        raise NotImplementedError

    def _check_sample(self, x: Any) -> None:
        """Raise if a sample is invalid."""
        self._probabilities(x)

    def _fit(self, x: Any, y: int, w: float) -> None:
        self._f.learn(x, float(y), w)

    def _fit_new_label(self, x: Any, y: Any, w: float) -> None:
        self._check_many([y])
        self._check_sample(x)
        learn_new_label(self._labels, *self._labels.with_label(y), self._f, self._f.given, y, w)

    def _scores(self, x: Any) -> list[float]:
        """Return the log-odds of the positive label; with more than two labels, the log-probability of each."""
        logs = [math.log(max(p, 1e-300)) for p in self._probabilities(x)]
        return [logs[1] - logs[0]] if len(logs) == 2 else logs

    def _score_rows(self, rows: Any) -> NDArray[np.float64]:
        found = self._predict_rows(rows)
        return found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found

    def _predicted(self, x: Any) -> int:
        probabilities = self._probabilities(x)
        if len(probabilities) == 2:
            return int(probabilities[1] >= probabilities[0])
        return probabilities.index(max(probabilities))

    @locked
    def predict_proba_one(self, x: dict[Hashable, Any], *, key: Hashable = None, **kwargs: Any) -> dict[Any, float]:
        """Return the predictive probability of each label seen so far; parameters as in `predict_one`."""
        x = self._keyed(x, key)
        names = self._labels.names
        if not names:
            return {}
        probabilities = self._probabilities(x)
        return dict(zip(names, probabilities, strict=False)) if len(names) >= 2 else dict.fromkeys(names, 1.0)

    def predict_one(
        self, x: dict[Hashable, Any], *, key: Hashable = None, **kwargs: Any
    ) -> base.typing.ClfTarget | None:
        """Return the predicted label, one of those seen so far; None before the first.

        Parameters
        ----------
        x
            A dict of features.
        key
            Identifies the sample when its label comes late; any hashable value. None: its features identify it.

        """
        return super().predict_one(self._keyed(x, key), **kwargs)

    @locked
    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the labels for the rows of a frame: one column per key of `predict_proba_one`."""
        frame = frame_of(X)
        names = self._labels.names
        probabilities = self._predict_rows(rows_of(frame, self._takes_words))
        if len(names) == 1:
            probabilities = np.ones((len(probabilities), 1))
        return label_frame({y: probabilities[:, i].copy() for i, y in enumerate(names)}, frame)

    def _predict_rows(self, rows: Rows, z: float = 1.0) -> NDArray[np.float64]:
        found = [self._probabilities(row) for row in rows]
        return np.array(found, dtype=np.float64).reshape(-1, max(2, len(self._labels)))
