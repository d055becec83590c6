"""River's protocol for models that learn one function f(x), from which their predictions follow.

A class of ``river_okl.algorithms`` derives from ``KernelClassifier`` or ``KernelRegressor``, creates its expansion in
``__init__`` and writes its paper's update as ``_step``::

    def __init__(self, kernel=None, *, budget=100):
        self.budget = budget
        super().__init__(kernel, budget=budget)

    def _step(self, f, y, p, w):
        if y * p > 0.0 or w == 0.0:
            return
        f.add(y * w)

f is the expansion, evaluated at the sample; y is ±1 or the target, p = f(x), and w the weight of the sample. An
algorithm reads its parameters, plain attributes, at each step, so that river's ``mutate`` can change those named in
``_mutable_attributes``.

f is an expansion or another ``Function`` (``_core/function/protocol.pyx``); the class sets ``_make``. If
predictions are not f(x) alone, ``_alone`` is False, and ``_weights`` and ``_others`` define the predicted
sum, which predictions, frames, calibration and explanations share.

A third label makes a classifier multi-class if its algorithm allows it (``_multiclass``). f then becomes one function
per class, updated along the direction between the sample's class and its strongest rival. The algorithm's code stays
binary, with y = +1 and p the margin. See the head of ``_core/function/expansion.pyx``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from river import optim
from scipy import special

from river_okl import kernels
from river_okl._core.calibration import Calibration, sigmoid
from river_okl._core.function.protocol import learn_labels, learn_targets, observe_label
from river_okl.checks import LARGEST_TARGET, check_target
from river_okl.frames import frame_of, label_frame, rows_of
from river_okl.losses import derivative
from river_okl.model import LabelModel, Points, SumModel, TargetModel, locked

Summand = tuple[Any, tuple[float, ...]]  # a function, and the weights of its outputs


class KernelModel(SumModel):
    """A model that predicts f(x), or a sum of functions, and updates f."""

    _default_loss: optim.losses.Loss
    _alone: Any = True  # whether f(x) is the prediction; a property if a parameter decides

    def _set_loss(self, loss: optim.losses.Loss | None) -> None:
        """Set the loss, and ``_derivative(y, p)``, its derivative at the prediction p."""
        self.loss = loss
        self._derivative = derivative(self._default_loss if loss is None else loss)

    def _step(self, f: Any, y: float, p: float, w: float) -> None:
        """Apply the paper's update to the sample last evaluated: y is the target or ±1, p is f(x), w its weight."""
        raise NotImplementedError

    def _suffer(self, y: float, p: float) -> tuple[float, float]:
        """Return the loss of passive-aggressive algorithms at the prediction p, and the sign of their step."""
        raise NotImplementedError

    def _weights(self) -> tuple[float, ...]:
        """Return the weights of the outputs of f in the prediction."""
        return (1.0,)

    def _others(self) -> Sequence[Summand]:
        """Return the other functions in the prediction."""
        return ()

    def _summands(self) -> list[Summand]:
        """Return the functions whose sum is predicted, f first."""
        return [(self._f, self._weights()), *self._others()]

    def _fail_together(self) -> None:
        """Mark the model as incomplete if one of the other functions is."""
        if any(other.lock.incomplete for other, _ in self._others()):
            self._f.lock.fail()

    def _decision(self, x: Any) -> Any:
        """Return the predicted value, or a list with one for each of more than two classes."""
        value: Any = self._f.evaluate(x, self._weights())
        for other, weights in self._others():
            value += other.evaluate(self._f.given, weights)
        return value

    def _score_rows(self, rows: Any) -> NDArray[np.float64]:
        """Return the predicted values of the rows of a frame: one column, or one for each class."""
        return sum(f.evaluate_many(rows, weights) for f, weights in self._summands())

    def _contributions(self, x: Any) -> tuple[Points, NDArray[np.float64]]:
        points: Points = []
        contributions = [np.zeros((0, max(1, self._f.n_classes)))]
        for f, weights in self._summands():
            f.evaluate(x)
            x = f.given
            if len(f):
                columns = f.columns.reshape(len(f), max(1, f.n_classes), f.n_outputs)[:, :, : len(weights)]
                contributions.append(columns @ np.array(weights) * f.row[:, None])
                points += [f.point(i) for i in range(len(f))]
        return points, np.concatenate(contributions)


def _observed(others: Sequence[Summand], x: Any) -> Any:
    """Observe x by these functions, and return it for the next function, which need not encode it again."""
    for other, _ in others:
        other.observe(x)
        x = other.given
    return x


class KernelRegressor(KernelModel, TargetModel):
    """A regressor whose prediction is f(x), or the mean that its loss assigns to f(x): exp f(x) with Poisson's."""

    _default_loss = optim.losses.Squared()
    _merging = {"_has_mean": "parameters"}
    _has_mean = False  # whether the loss has a mean other than f(x)
    eps: float  # of the ε-insensitive loss, for classes that use it

    def _set_loss(self, loss: optim.losses.Loss | None) -> None:
        if isinstance(loss, optim.losses.BinaryLoss):
            raise TypeError(f"loss is {loss!r}, a loss for classification; a regressor needs a regression loss")
        super()._set_loss(loss)
        if loss is not None and type(loss).mean_func is not optim.losses.RegressionLoss.mean_func:
            self._has_mean = True

    def _mean(self, value: float) -> float:
        """Return the mean that the loss assigns to f(x)."""
        try:
            mean = float(cast(optim.losses.RegressionLoss, self.loss).mean_func(value))
        except OverflowError:
            mean = LARGEST_TARGET
        return min(max(mean, -LARGEST_TARGET), LARGEST_TARGET)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> float:
        """Return the predicted target; before the first sample 0, or 1 with the loss `Poisson`."""
        f = self._f
        lock = f.lock
        try:
            lock.acquire()
            value = 0.0
            if f:  # else x may even be NaN: MinMaxScaler's output before it has learned
                value = f.evaluate(x) if self._alone else self._decision(x)
            return self._mean(value) if self._has_mean else value
        finally:
            lock.release()

    def _predict_targets(self, rows: Any) -> NDArray[np.float64]:
        values = self._score_rows(rows)[:, 0]
        return np.array([self._mean(value) for value in values.tolist()]) if self._has_mean else values

    def _fit(self, x: Any, y: float, w: float) -> None:
        try:
            self._step(self._f, y, self._f.observe(x if self._alone else _observed(self._others(), x)), w)
        except BaseException:
            self._fail_together()
            raise

    def _learn_rows(self, frame: Any, targets: list[Any], weights: list[float]) -> None:
        if self._alone and (type(self).learn_one, type(self)._fit) == (TargetModel.learn_one, KernelRegressor._fit):
            learn_targets(self._step, self._f, frame, [check_target(y) for y in targets], weights)
        else:
            super()._learn_rows(frame, targets, weights)

    def _check_state(self) -> None:
        super()._check_state()
        if self._f.n_classes:
            raise ValueError("a regressor with classes")

    def _suffer(self, y: float, p: float) -> tuple[float, float]:
        """Return the ε-insensitive loss before clipping at 0, and the sign of the step that reduces it."""
        residual = y - p
        return abs(residual) - self.eps, math.copysign(1.0, residual)


class KernelClassifier(KernelModel, LabelModel):
    """A classifier by the sign of f(x) (0 is positive), or with more than two classes by the largest f_c(x)."""

    _default_loss: optim.losses.Loss = optim.losses.Hinge()
    _merging = {"_calibration": "own"}

    def __init__(self, kernel: kernels.Kernel | None = None, **options: Any):
        super().__init__(kernel, **options)
        self._calibration = Calibration()

    def _check_state(self) -> None:
        super()._check_state()
        n, n_classes = len(self._labels), self._f.n_classes
        if n_classes != (n if n > 2 else 0) or (n_classes and not self._multiclass):
            raise ValueError(f"{n_classes} classes of an expansion for {n} labels")

    def _fit(self, x: Any, y: int, w: float) -> None:
        f = self._f
        try:
            target = 1.0 if y or f.n_classes else -1.0
            if self._alone:
                p = observe_label(f, self._calibration, x, y)
            else:
                others = self._others()
                p = f.observe(_observed(others, x), y if f.n_classes else -1)
                value = f.value(self._weights())
                for other, weights in others:
                    value += other.value(weights)
                self._calibration.update(target * value)
            self._step(f, target, p, w)
        except BaseException:
            self._fail_together()
            raise

    def _fit_new_label(self, x: Any, y: Any, w: float) -> None:
        position = self._learn_label(x, y)
        self._fit(self._f.given, position, w)

    def _learn_rows(self, frame: Any, targets: list[Any], weights: list[float]) -> None:
        if self._alone and (type(self).learn_one, type(self)._fit) == (LabelModel.learn_one, KernelClassifier._fit):
            learn_labels(
                self._step, self._f, frame, targets, weights, self._labels, self._learn_label, self._calibration
            )
        else:
            super()._learn_rows(frame, targets, weights)

    def _learn_label(self, x: Any, y: Any) -> int:
        """Add a new label, after evaluating x, as a rejected sample must not add a label."""
        self._check_many([y])
        self._f.evaluate(x)
        self._labels.add(y, self._f)
        return self._labels.positions[y]

    def _scores(self, x: Any) -> list[float]:
        found = self._decision(x)
        return found[: len(self._labels)] if type(found) is list else [found]

    def _suffer(self, y: float, p: float) -> tuple[float, float]:
        """Return the hinge loss before clipping at 0, and the sign of the step that reduces it."""
        return 1.0 - y * p, y

    def _predicted(self, x: Any) -> int:
        score: Any = self._f.evaluate(x) if self._alone else self._decision(x)
        if type(score) is list:
            known = score[: len(self._labels)]
            return known.index(max(known))
        return int(score >= 0.0)

    @locked
    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label seen so far.

        With the log loss it is the sigmoid of the score, otherwise a sigmoid whose slope is fitted to the stream. A
        binary classifier starts with the labels False and True, as River requires, until others arrive.
        """
        return self._probabilities(self._scores(x) if self._labels.names else [0.0])

    def _probabilities(self, scores: list[float]) -> dict[Any, float]:
        """Return probabilities from the score of the positive label, or from one score for each class."""
        names = self._labels.names
        if len(names) < 2:
            if self._multiclass or not all(isinstance(y, bool | np.bool_) for y in names):
                return dict.fromkeys(names, 1.0)
            if names:  # the only label is predicted whatever the score
                scores = [max(scores[0], 0.0) if names[0] else min(scores[0], 0.0)]
            names = [False, True]
        log_loss = isinstance(getattr(self, "loss", None) or self._default_loss, optim.losses.Log)
        factor = 1.0 if log_loss else self._calibration.factor()
        if len(scores) == 1:
            p = sigmoid(factor * scores[0])
            return {names[0]: 1.0 - p, names[1]: p}
        each = special.softmax(factor * math.sqrt(0.5) * np.array(scores))  # margins are (F_y - F_r)/√2
        return dict(zip(names, each.tolist(), strict=False))

    @locked
    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the labels for the rows of a frame: one column per key of `predict_proba_one`."""
        frame = frame_of(X)
        scores = self._score_rows(rows_of(frame))[:, : max(1, len(self._labels))]
        rows = [self._probabilities(each) for each in scores.tolist()]
        labels = self._probabilities([0.0] * scores.shape[1])
        return label_frame({y: np.array([row[y] for row in rows]) for y in labels}, frame)
