"""River's protocol for all classes: labels, predictions, probabilities, mini-batches, inspection.

A class of ``river_okl.algorithms`` derives from ``KernelClassifier`` or ``KernelRegressor``, creates its expansion in
``__init__`` and writes its paper's update as ``_step``::

    def __init__(self, kernel=None, *, budget=100):
        self.budget = budget
        super().__init__(kernel, budget=budget)

    def _step(self, f, y, p, w):
        if y * p > 0.0 or w == 0.0:
            return
        f.add(y * w)

f is the expansion, evaluated at the sample; y is ±1 or the target, p = f(x), and w the weight of the sample.
``learn_one`` checks all input before the model changes. An algorithm reads its parameters, plain attributes,
at each step, so that river's ``mutate`` can change those named in ``_mutable_attributes``.

A public method holds the model's lock, and so sees a consistent state between two samples (``_core/lock.pyx``).

f is an expansion or another ``Function`` (``_core/function/protocol.pyx``); the class sets ``_make``. If
predictions are not f(x) alone, ``_alone`` is False, and ``_weights`` and ``_others`` define the predicted
sum, which predictions, frames, calibration and explanations share.

A third label makes a classifier multi-class if its algorithm allows it (``_multiclass``). f then becomes one function
per class, updated along the direction between the sample's class and its strongest rival. The algorithm's code stays
binary, with y = +1 and p the margin. See the head of ``_core/function/expansion.pyx``.
"""

from __future__ import annotations

import copy
import functools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from river import base, optim, utils
from river.utils.dataframe import to_native_series
from scipy import special

from river_okl import kernels
from river_okl._core.calibration import Calibration, sigmoid
from river_okl._core.function.expansion import Expansion
from river_okl._core.function.protocol import learn_labels, learn_targets, observe_label
from river_okl._core.store.sample import Frame, plain
from river_okl.checks import (
    LARGEST_TARGET,
    LARGEST_WEIGHT,
    check_kernel,
    check_target,
    check_weight,
    check_weights,
    of_expansion,
)
from river_okl.frames import frame_of, label_frame, label_series, learned, rows_of
from river_okl.labels import Labels
from river_okl.losses import derivative

Points = list[dict[Hashable, float]]
Summand = tuple[Any, tuple[float, ...]]  # a function, and the weights of its outputs

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Make a public method hold the model's lock.

    The lock is not reentrant, so public methods do not call each other. ``predict_one`` and ``learn_one`` acquire it
    themselves, which is faster.
    """

    @functools.wraps(method)
    def inside(self: CompiledModel, *args: Any, **options: Any) -> Any:
        with self._f.lock:
            return method(self, *args, **options)

    return cast(Method, inside)


class CompiledModel(base.Estimator):
    """The base of every public class: a compiled object ``_f`` and its lock."""

    _f: Any
    _takes_words: ClassVar[bool] = False  # whether samples may contain strings, None and NaN
    _merging: ClassVar[dict[str, str]] = {"_f": "own", "_t": "sum", "_rng": "first", "_derivative": "parameters"}
    """How each attribute merges: a name of ``river_okl.merging.expansions.ATTRIBUTE_RULES``; "own" for the rule of its
    kind of model; "parameters" if it is derived from them; or the reason why models with this attribute do
    not merge."""

    @classmethod
    def _rules(cls) -> dict[str, str]:
        """Return ``_merging`` of the class and of its bases."""
        return {name: rule for each in reversed(cls.__mro__) for name, rule in vars(each).get("_merging", {}).items()}

    def _check_state(self) -> None:
        """Raise ValueError if attributes from a checkpoint are inconsistent."""

    def _after_merging(self) -> None:
        """Restore bounds between attributes that were merged independently."""

    @locked
    def __getstate__(self) -> dict[str, Any]:
        # a copy: pickle and copy read the state later, part by part, while other threads learn
        return {plain(name): picklable(value) for name, value in vars(self).items()}

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two models over one compiled object would disagree after one step

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an untrained model with the same parameters, except those in ``new_params``."""
        with self._f.lock:
            return super().clone(new_params, include_attributes)

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Change parameters in place; the constructor's checks apply."""
        self.clone({name: value for name, value in new_attrs.items() if not isinstance(value, dict)})
        with self._f.lock:
            super().mutate(new_attrs)

    @property
    def _raw_memory_usage(self) -> int:
        with self._f.lock:
            return super()._raw_memory_usage


class KernelEstimator(CompiledModel):
    """A model with a kernel, and its inspection."""

    _make: ClassVar[Any] = Expansion  # the class of ``_f``
    _default_kernel: ClassVar[kernels.Kernel] = kernels.RBF()

    def __init__(self, kernel: kernels.Kernel | None = None, **options: Any):
        check_kernel(kernel)
        if "budget" in options:
            options |= of_expansion(options["budget"], self)
        self.kernel = kernel
        self._f = self._make((kernel or self._default_kernel)._terms(), **options)

    @property
    @locked
    def kernel_in_use(self) -> kernels.Kernel:
        """The kernel with every gamma filled in (0 until the stream has contained two different samples)."""
        return (self.kernel or self._default_kernel)._resolved(self._f.kernel.mean_distance, self._f.kernel.mean_square)

    @property
    @locked
    def n_support_vectors(self) -> int:
        """Number of support vectors."""
        return len(self._f)

    @property
    @locked
    def support_vectors(self) -> list[tuple[dict[Hashable, float], Any]]:
        """A copy of every support vector, as a feature dict, with its coefficient, the oldest first.

        With more than two classes the coefficient is a dict with one number per label.
        """
        if not len(self._f):
            return []
        columns = self._coefficients()
        names = self._labels.names if isinstance(self, LabelModel) else []
        return [
            (
                self._point(i),
                dict(zip(names, columns[i].tolist(), strict=True)) if columns.shape[1] > 1 else float(columns[i, 0]),
            )
            for i in self._by_age()
        ]

    def _by_age(self) -> list[int]:
        """Return the positions of the support vectors, the oldest first."""
        return np.argsort(self._f.births).tolist()

    def _point(self, i: int) -> dict[Hashable, float]:
        """Return the support vector at a position, as a feature dict."""
        return self._f.point(i)

    def _coefficients(self) -> NDArray[np.float64]:
        """Return the coefficients at every position: an array of shape (positions, classes or 1)."""
        return self._f.columns[:, :: self._f.n_outputs]

    @property
    @locked
    def norm(self) -> float:
        """The norm of f in the kernel's Hilbert space."""
        return math.sqrt(self._f.norm2)


class UnsupervisedModel(CompiledModel):
    """Base of detectors and transformers, with mini-batches."""

    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the model with one sample."""
        raise NotImplementedError

    def learn_stream(self, samples: Iterable[dict[Hashable, Any]]) -> None:
        """Learn samples one after another.

        Parameters
        ----------
        samples
            An iterable of feature dicts.

        """
        for x in samples:
            self.learn_one(x)

    def learn_many(self, X: Any, w: Any = None) -> None:
        """Learn the rows of a dataframe one after another, as by `learn_one`.

        Parameters
        ----------
        X
            A dataframe of features.
        w
            A weight for each row, or one for all.

        """
        rows = rows_of(frame_of(X), self._takes_words)
        for row, weight in zip(rows, check_weights(1.0 if w is None else w, len(rows)), strict=True):
            self.learn_one(row, weight)  # accepts rows of a Frame, too


class SupervisedModel(KernelEstimator):
    """Base of classifiers and regressors, with mini-batches."""

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Update the model with one sample.

        Parameters
        ----------
        x
            A dict of features; missing features are 0.
        y
            The label or target.
        w
            The weight of the sample, which multiplies the step of the update. Weight 0 means a sample without loss.

        """
        raise NotImplementedError

    def learn_stream(self, samples: Iterable[tuple[dict[Hashable, Any], Any]]) -> None:
        """Learn (x, y) pairs one after another."""
        for x, y in samples:
            self.learn_one(x, y)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a dataframe one after another, exactly as ``learn_one`` would.

        Parameters
        ----------
        X
            A dataframe (pandas, polars or any other that narwhals supports), numeric unless the class accepts strings.
        y
            A series of targets, one per row.
        w
            A weight for each row, or one for all.

        """
        frame, targets = learned(X, y, self._takes_words)
        with self._f.lock:
            self._check_many(targets)
        self._learn_rows(frame, targets, check_weights(1.0 if w is None else w, len(frame)))

    def _learn_rows(self, frame: Any, targets: list[Any], weights: list[float]) -> None:
        """Call ``learn_one`` for every row; targets and weights have been checked."""
        learn: Any = self.learn_one  # also accepts rows of a Frame, which its public signature hides
        for row, target, weight in zip(frame, targets, weights, strict=True):
            learn(row, target, weight)

    def _check_many(self, targets: list[Any]) -> None:
        """Raise if a target is invalid."""
        raise NotImplementedError


class TargetModel(SupervisedModel, base.MiniBatchRegressor):
    """A regressor."""

    def _check_many(self, targets: list[Any]) -> None:
        for y in targets:
            check_target(y)


class LabelModel(SupervisedModel, base.MiniBatchClassifier):
    """A classifier and the labels seen so far."""

    _multiclass: Any = False  # whether it accepts a third label; a property if a parameter decides
    _merging = {"_labels": "own"}

    def __init__(self, kernel: kernels.Kernel | None = None, **options: Any):
        super().__init__(kernel, **options)
        self._labels = Labels()

    def _check_many(self, targets: list[Any]) -> None:
        self._labels.check(targets, type(self).__name__, multiclass=self._multiclass)


class SumModel(SupervisedModel):
    """A model whose prediction is a sum over its support vectors, which explain it."""

    @locked
    def explain_one(self, x: dict[Hashable, Any]) -> list[tuple[dict[Hashable, float], float]]:
        """Return the support vectors with their contributions to the prediction for x, largest absolute value first.

        With more than two classes, the class with the largest sum of contributions is explained.
        """
        return self._explained(x)

    def _explained(self, x: Any) -> list[tuple[dict[Hashable, float], float]]:
        points, each = self._contributions(x)
        column = each[:, each.sum(axis=0).argmax()]
        return [(points[i], float(column[i])) for i in np.argsort(-np.abs(column), kind="stable")]

    def _contributions(self, x: Any) -> tuple[Points, NDArray[np.float64]]:
        """Return the support vectors and their contributions: an array of shape (support vectors, classes or 1)."""
        raise NotImplementedError

    @locked
    def debug_one(self, x: dict[Hashable, Any], decimals: int = 5) -> str:
        """Return a table of the five support vectors that contribute most to the prediction for x.

        Parameters
        ----------
        x
            A dict of features.
        decimals
            Number of decimals in the table.

        """
        explained = self._explained(x)
        top, others = explained[:5], explained[5:]
        names = [", ".join(f"{name}={value:.{decimals}g}" for name, value in z.items()) for z, _ in top]
        total = sum(contribution for _, contribution in explained)
        values = [*(c for _, c in top), sum(c for _, c in others), total]
        table = utils.pretty.print_table(
            headers=["Support vector", "Contribution"],
            columns=[[*names, f"{len(others)} others", "Sum"], [f"{v: ,.{decimals}f}" for v in values]],
        )
        return str(table)


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

    def _decisions(self, frame: Frame) -> NDArray[np.float64]:
        """Return the predicted values of the rows of a frame: one column, or one for each class."""
        return sum(f.evaluate_many(frame, weights) for f, weights in self._summands())

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


class _Snapshot:
    """The state of a part of a model, pickled and copied as that part."""

    def __init__(self, part: Any) -> None:
        self._reduced = part.__reduce__()

    def __reduce__(self) -> Any:
        return self._reduced


def picklable(value: Any) -> Any:
    """Return a copy of an attribute for pickling (see ``plain``), unaffected by later steps.

    Parameters are shared: steps only read them. Dtypes are NumPy's own objects, not equal copies.
    """
    if isinstance(value, base.Base):
        return value
    if hasattr(value, "restore") or isinstance(value, random.Random):
        return _Snapshot(value)
    if type(value) is np.ndarray:
        return value.astype(np.dtype(value.dtype.str))
    if type(value) is list:
        return [picklable(item) for item in value]
    if type(value) is dict:
        return {plain(name): picklable(item) for name, item in value.items()}
    return plain(copy.deepcopy(value))


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

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the predicted targets of the rows of a frame."""
        frame = frame_of(X)
        values = self._decisions(rows_of(frame))[:, 0]
        if self._has_mean:
            values = np.array([self._mean(value) for value in values.tolist()])
        return to_native_series(values, name=None, like=frame)

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        if type(w) is not float or not 0.0 <= w <= LARGEST_WEIGHT:
            w = check_weight(w)
        if type(y) is not float or not -LARGEST_TARGET <= y <= LARGEST_TARGET:
            y = check_target(y)
        f = self._f
        lock = f.lock
        try:
            lock.acquire()
            p = f.observe(x if self._alone else _observed(self._others(), x))
            self._step(f, y, p, w)
        except BaseException:
            self._fail_together()
            raise
        finally:
            lock.release()

    def _learn_rows(self, frame: Any, targets: list[Any], weights: list[float]) -> None:
        if self._alone and type(self).learn_one is KernelRegressor.learn_one:
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
    """A classifier by the sign of f(x) (0 is positive), or with more than two classes by the largest f_c(x).

    The positive label is True, 1 or +1 if it is among the first two, otherwise the second to arrive.
    """

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

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        if type(w) is not float or not 0.0 <= w <= LARGEST_WEIGHT:
            w = check_weight(w)
        f = self._f
        lock = f.lock
        try:
            lock.acquire()
            given: Any = x
            try:
                position = self._labels.positions[y]
            except (KeyError, TypeError):
                position = self._learn_label(x, y)
                given = f.given
            target = 1.0 if position or f.n_classes else -1.0
            if self._alone:
                p = observe_label(f, self._calibration, given, position)
            else:
                others = self._others()
                p = f.observe(_observed(others, given), position if f.n_classes else -1)
                value = f.value(self._weights())
                for other, weights in others:
                    value += other.value(weights)
                self._calibration.update(target * value)
            self._step(f, target, p, w)
        except BaseException:
            self._fail_together()
            raise
        finally:
            lock.release()

    def _learn_rows(self, frame: Any, targets: list[Any], weights: list[float]) -> None:
        if self._alone and type(self).learn_one is KernelClassifier.learn_one:
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
        """Return the score of the positive label, or one for each class."""
        found = self._decision(x)
        return found[: len(self._labels)] if type(found) is list else [found]

    def _suffer(self, y: float, p: float) -> tuple[float, float]:
        """Return the hinge loss before clipping at 0, and the sign of the step that reduces it."""
        return 1.0 - y * p, y

    @locked
    def decision_function_one(self, x: dict[Hashable, Any]) -> Any:
        """Return the score of the positive label; with more than two labels, a dict with the score of each."""
        scores = self._scores(x)
        return scores[0] if len(scores) == 1 else dict(zip(self._labels.names, scores, strict=False))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> base.typing.ClfTarget | None:
        """Return the predicted label, one of those seen so far; None before the first."""
        f = self._f
        lock = f.lock
        try:
            lock.acquire()
            names = self._labels.names
            if not names:  # x may even be NaN: MinMaxScaler's output before it has learned
                return None
            score: Any = f.evaluate(x) if self._alone else self._decision(x)
            if type(score) is list:
                known = score[: len(names)]
                return names[known.index(max(known))]
            return names[score >= 0.0] if len(names) >= 2 else names[0]
        finally:
            lock.release()

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
    def predict_many(self, X: Any) -> Any:
        """Return the predicted labels of the rows of a frame; all None before the first label."""
        frame = frame_of(X)
        scores = self._decisions(rows_of(frame))
        names = self._labels.names
        several = scores.shape[1] > 1
        positions = scores[:, : len(names)].argmax(axis=1) if several else (scores[:, 0] >= 0.0).astype(int)
        return label_series(names, positions, frame)

    @locked
    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the labels for the rows of a frame: one column per key of `predict_proba_one`."""
        frame = frame_of(X)
        scores = self._decisions(rows_of(frame))[:, : max(1, len(self._labels))]
        rows = [self._probabilities(each) for each in scores.tolist()]
        labels = self._probabilities([0.0] * scores.shape[1])
        return label_frame({y: np.array([row[y] for row in rows]) for y in labels}, frame)
