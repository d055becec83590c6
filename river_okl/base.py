"""River's protocol, once for all classes: labels, predictions, probabilities, mini-batches, what a model shows.

A class of ``river_okl.algorithms`` derives from ``KernelClassifier`` or ``KernelRegressor``, makes its expansion in
``__init__`` and writes its paper's update as ``learn_one``::

    def __init__(self, kernel=None, *, budget=100):
        self.budget = budget
        super().__init__(kernel, budget=budget)

    def learn_one(self, x, y, w=1.0):
        y, f = self._checked(x, y, w), self._f
        if y * f.observe(x) > 0.0 or w == 0.0:
            return
        ...

Input is checked before anything moves: y and w by ``_checked``, x by ``observe``.  Parameters are plain attributes that
an algorithm reads at each step, so that those it names in ``_mutable_attributes`` can be changed by river's ``mutate``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, optim
from river.utils.dataframe import (
    into_frame,
    into_series,
    to_native_frame,
    to_native_series,
    to_numpy,
)

from river_okl import kernels
from river_okl._core.expansion import Expansion, Frame
from river_okl.losses import derivative

__all__ = ["KernelClassifier", "KernelRegressor"]

LARGEST_TARGET = 1e50  # as the core's bound on features: squares and their sums stay far from overflow


# Parameters ---------------------------------------------------------------------------------------


def check_positive(name: str, value: Any, *, zero: bool = False, infinite: bool = False) -> None:
    """A number > 0 (≥ 0 with zero=True), finite unless infinite=True; an error that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    low_enough = value >= 0 if zero else value > 0
    if not low_enough or (math.isinf(value) and not infinite):
        raise ValueError(
            f"{name} is {value!r}; it must be {'at least' if zero else 'more than'} 0"
            f"{'' if infinite else ' and finite'}"
        )


def check_between(name: str, value: Any, low: float, high: float, *, open_ends: bool = False) -> None:
    """A number from low to high, or strictly between them."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    if not (low < value < high if open_ends else low <= value <= high):
        raise ValueError(
            f"{name} is {value!r}; it must be {'strictly between' if open_ends else 'from'} {low:g} "
            f"{'and' if open_ends else 'to'} {high:g}"
        )


def check_whole(name: str, value: Any, low: int = 1) -> None:
    """A whole number of at least low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; it must be a whole number")
    if value < low:
        raise ValueError(f"{name} is {value!r}; it must be at least {low}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")


def check_learning_rate(value: Any) -> None:
    """A number > 0 or one of river's schedulers."""
    if not isinstance(value, optim.base.Scheduler):
        check_positive("learning_rate", value)


# Models -------------------------------------------------------------------------------------------


class KernelModel(base.Estimator):
    """What classifiers and regressors share: an expansion ``_f``, and what can be seen of it."""

    _f: Expansion
    _default_loss: optim.losses.Loss

    def __init__(self, kernel: kernels.Kernel | None = None, **expansion: Any):
        if kernel is not None and not isinstance(kernel, kernels.Kernel):
            raise TypeError(
                f"kernel is {kernel!r}; it must be one of river_okl.kernels, such as RBF(gamma=0.5), or None for RBF()"
            )
        if expansion.get("budget") is not None:
            check_whole("budget", expansion["budget"])
        self.kernel = kernel
        self._f = Expansion((kernel or kernels.RBF())._terms(), **expansion)

    def _set_loss(self, loss: optim.losses.Loss | None) -> None:
        """For the classes that have a loss: ``_derivative(y, p)`` is its derivative at the prediction p."""
        self.loss = loss
        self._derivative = derivative(self._default_loss if loss is None else loss)

    @property
    def kernel_in_use(self) -> kernels.Kernel:
        """The kernel with every gamma filled in (0: not known before the stream shows two different samples)."""
        return (self.kernel or kernels.RBF())._resolved(self._f.kernel.mean_distance, self._f.kernel.mean_square)

    @property
    def n_support_vectors(self) -> int:
        """How many support vectors the model has."""
        return len(self._f)

    @property
    def support_vectors(self) -> list[tuple[dict[Hashable, float], float]]:
        """Every support vector with its coefficient, the oldest first: a copy in the user's feature names."""
        order = np.argsort(self._f.births)
        return [(self._f.point(i), c) for i, c in zip(order, self._f.coefficients[order], strict=True)]

    @property
    def norm(self) -> float:
        """The norm of f in the kernel's Hilbert space."""
        return math.sqrt(self._f.norm2)

    def _decision(self, x: Any) -> float:
        """The value that predictions are made of: f(x), or what a class averages instead."""
        return self._f.evaluate(x)

    def _decisions(self, frame: Frame) -> NDArray[np.float64]:
        """``_decision`` of every row of a frame."""
        if type(self)._decision is KernelModel._decision:
            return self._f.evaluate_many(frame)[:, 0]
        return np.array([self._decision(row) for row in frame], dtype=np.float64)

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Change parameters in place; the constructor's checks apply."""
        self.clone({name: value for name, value in new_attrs.items() if not isinstance(value, dict)})
        super().mutate(new_attrs)

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Update the model with one sample.

        Parameters
        ----------
        x
            A dict of features; features that it lacks are 0.
        y
            The label or target.
        w
            The weight of the sample: it multiplies the step of the update. 0 counts as a sample without loss.

        """
        raise NotImplementedError

    def _checked(self, x: Any, y: Any, w: Any) -> float:
        """y as the algorithm wants it; everything wrong with y or w raises here, before the model moves."""
        raise NotImplementedError

    def learn_batch(self, samples: Iterable[tuple[dict[Hashable, Any], Any]]) -> None:
        """Learn (x, y) pairs one after another."""
        for x, y in samples:
            self.learn_one(x, y)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame one after another, exactly as ``learn_one`` would.

        Parameters
        ----------
        X
            A dataframe (pandas, polars or any other that narwhals knows) of numbers.
        y
            A series of as many targets.
        w
            A weight for each row, or one for all.

        """
        frame = _frame(X)
        targets = into_series(y).to_list()
        if len(targets) != len(frame):
            raise ValueError(f"{len(targets)} targets for {len(frame)} rows")
        weights = [1.0] * len(frame) if w is None else np.broadcast_to(w, len(frame)).tolist()
        self._check_many(targets)
        for weight in weights:
            check_positive("w", weight, zero=True)
        for row, target, weight in zip(frame, targets, weights, strict=True):
            self.learn_one(row, target, weight)

    def _check_many(self, targets: list[Any]) -> None:
        """Raise where one of these targets is wrong, before the first is learned."""
        raise NotImplementedError


def _frame(X: Any) -> Frame:
    """A dataframe as the core reads it."""
    frame = into_frame(X)
    matrix = np.ascontiguousarray(to_numpy(frame))
    return Frame(list(frame.columns), matrix)


class KernelRegressor(KernelModel, base.MiniBatchRegressor):
    """A regressor whose prediction is f(x)."""

    _default_loss = optim.losses.Squared()

    def _set_loss(self, loss: optim.losses.Loss | None) -> None:
        if isinstance(loss, optim.losses.BinaryLoss):
            raise TypeError(f"loss is {loss!r}, a loss for classification; a regressor needs a regression loss")
        super()._set_loss(loss)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> float:
        """The predicted target."""
        return self._decision(x)

    def predict_many(self, X: Any) -> Any:
        """The predicted targets of the rows of a frame."""
        return to_native_series(self._decisions(_frame(X)), name=None, like=into_frame(X))

    def _checked(self, x: Any, y: Any, w: Any) -> float:
        if type(w) is not float or not 0.0 <= w < math.inf:
            check_positive("w", w, zero=True)
        if type(y) is float and -LARGEST_TARGET <= y <= LARGEST_TARGET:
            return y
        if not isinstance(y, numbers.Real) or isinstance(y, bool | np.bool_):
            raise TypeError(f"the target is {y!r}; a regressor needs a number")
        if not abs(y) <= LARGEST_TARGET:
            raise ValueError(
                f"the target is {y!r}; it must be finite and at most {LARGEST_TARGET:g} in size: scale it "
                f"(preprocessing.TargetStandardScaler)"
            )
        return float(y)

    def _check_many(self, targets: list[Any]) -> None:
        for y in targets:
            self._checked(None, y, 1.0)


class KernelClassifier(KernelModel, base.MiniBatchClassifier):
    """A binary classifier that predicts the sign of f(x); 0 is the positive class.

    The positive label is True, 1 or +1 where the labels are bool or numbers; of any other pair of labels it is the
    second one that the stream shows.
    """

    _default_loss = optim.losses.Hinge()

    def __init__(self, kernel: kernels.Kernel | None = None, **expansion: Any):
        super().__init__(kernel, **expansion)
        self._labels: tuple[Any, Any] = (False, True)  # negative, positive
        self._signs: dict[Any, float] = {}  # of the labels seen

    def _checked(self, x: Any, y: Any, w: Any) -> float:
        """-1.0 or +1.0."""
        if type(w) is not float or not 0.0 <= w < math.inf:
            check_positive("w", w, zero=True)
        try:
            return self._signs[y]
        except (KeyError, TypeError):
            labels, signs = self._with_label(y)
            self._f.evaluate(x)  # a sample that is refused brings no label
            self._labels, self._signs = labels, signs
            return signs[y]

    def _check_many(self, targets: list[Any]) -> None:
        distinct = list(dict.fromkeys([*self._signs, *targets]))
        for y in distinct[len(self._signs) :]:
            self._with_label(y)
        if len(distinct) > 2:
            self._refuse_third(distinct[2], distinct[0], distinct[1])

    def _with_label(self, y: Any) -> tuple[tuple[Any, Any], dict[Any, float]]:
        """The labels (negative, positive) and the signs of those seen, with y among them."""
        if y is None or (isinstance(y, float) and math.isnan(y)):
            raise ValueError(f"the label is {y!r}; drop the samples that have none")
        if not isinstance(y, Hashable) or isinstance(y, dict | list | set):
            raise TypeError(f"the label is {y!r}, a {type(y).__name__}; it must be one hashable value")
        if len(self._signs) == 2:
            self._refuse_third(y, *self._signs)
        if self._signs:
            ((first, sign),) = self._signs.items()
            sign = -sign
            other = first
        else:  # the other label is a guess, until the stream shows it
            sign = 1.0 if _is_number(y) and y == 1 else -1.0
            other = y
            if _is_number(y) and y in (-1, 0, 1):
                other = type(y)(0 if y == 1 else 1)
        labels = (y, other) if sign < 0 else (other, y)
        return labels, {**self._signs, y: sign}

    def _refuse_third(self, third: Any, first: Any, second: Any) -> None:
        raise ValueError(
            f"{third!r} is a third label after {first!r} and {second!r}, and {type(self).__name__} tells two apart: "
            f"wrap it in river.multiclass.OneVsRestClassifier"
        )

    def decision_function_one(self, x: dict[Hashable, Any]) -> float:
        """The score: positive for the positive label, larger where the model is surer."""
        return self._decision(x)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """The predicted label."""
        return self._labels[self._decision(x) >= 0.0]

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label: a sigmoid of the score."""
        p = _sigmoid(self._decision(x))
        negative, positive = self._labels
        return {negative: 1.0 - p, positive: p} if negative != positive else {positive: 1.0}

    def predict_many(self, X: Any) -> Any:
        """The predicted labels of the rows of a frame."""
        labels = [self._labels[score >= 0.0] for score in self._decisions(_frame(X)).tolist()]
        return to_native_series(labels, name=None, like=into_frame(X))

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of the labels for the rows of a frame."""
        p = np.array([_sigmoid(score) for score in self._decisions(_frame(X)).tolist()])
        negative, positive = self._labels
        columns = {negative: 1.0 - p, positive: p} if negative != positive else {positive: np.ones(len(p))}
        return to_native_frame(columns, like=into_frame(X))


def _is_number(y: Any) -> bool:
    return isinstance(y, numbers.Real | np.bool_)


def _sigmoid(score: float) -> float:
    if score >= 0.0:
        return 1.0 / (1.0 + math.exp(-score))
    z = math.exp(max(score, -700.0))
    return z / (1.0 + z)
