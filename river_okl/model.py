"""River's protocol for all classes: learning, mini-batches, inspection, copies.

Below ``_fit``, ``decision.py`` has the part of models that learn one function, and ``predictive.py`` that of models
that predict a distribution. ``learn_one`` checks all input before the model changes. A public method holds the model's
lock, and so sees a consistent state between two samples (``_core/lock.pyx``).
"""

from __future__ import annotations

import copy
import functools
import math
import random
from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from river import base, utils
from river.utils.dataframe import to_native_series

from river_okl import kernels
from river_okl._core.function.expansion import Expansion
from river_okl._core.store.sample import plain
from river_okl.checks import (
    LARGEST_TARGET,
    LARGEST_WEIGHT,
    check_kernel,
    check_parameters,
    check_target,
    check_weight,
    check_weights,
    of_expansion,
    own_number,
)
from river_okl.frames import frame_of, label_series, learned, rows_of
from river_okl.labels import Labels

Points = list[dict[Hashable, float]]

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


def _with_checked_parameters(construct: Method) -> Method:
    """Make a constructor check the names of its parameters, and take numbers of NumPy as Python's, unless another
    class's constructor calls it."""

    @functools.wraps(construct)
    def checked(self: CompiledModel, *args: Any, **options: Any) -> None:
        if type(self).__init__ is checked:
            check_parameters(type(self), options)
            args, options = tuple(map(own_number, args)), {name: own_number(each) for name, each in options.items()}
        construct(self, *args, **options)

    return cast(Method, checked)


class CompiledModel(base.Estimator):
    """The base of every public class: a compiled object ``_f`` and its lock."""

    _f: Any
    _takes_words: ClassVar[bool] = False  # whether samples may contain strings, None and NaN
    _merging: ClassVar[dict[str, str]] = {"_f": "own", "_t": "sum", "_rng": "first", "_derivative": "parameters"}
    """How each attribute merges: a name of ``river_okl.merging.expansions.ATTRIBUTE_RULES``; "own" for the rule of its
    kind of model; "parameters" if it is derived from them; or the reason why models with this attribute do
    not merge."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the parameters that a constructor does not know, with advice; Python's error has only the name."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _with_checked_parameters(cls.__init__)  # type: ignore[method-assign]

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
        """Change parameters in place; the constructor's checks apply.

        A budget and other sizes are fixed, as what was learned is stored in that size.
        """
        free = ", ".join(sorted(self._mutable_attributes)) or "none"
        new_attrs = {name: own_number(value) for name, value in new_attrs.items()}
        for name in new_attrs:
            if name in self._get_params() and name not in self._mutable_attributes:
                raise ValueError(
                    f"{name} of {type(self).__name__} cannot change while it learns, as what it has learned depends "
                    f"on it (what can: {free}); model.clone({{{name!r}: ...}}) is a new model"
                )
        inner = {name for name, value in new_attrs.items() if isinstance(value, dict)}  # parameters of a parameter
        inner -= {name for name in inner if not isinstance(getattr(self, name, None), base.Base)}
        self.clone({name: value for name, value in new_attrs.items() if name not in inner})
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

    def _fit(self, x: Any, y: Any, w: float) -> None:
        """Learn a sample with a target or the position of a label, both checked; the model is locked."""
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
    """A regressor: River's protocol above ``_fit`` and ``_predict_targets``."""

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        if type(w) is not float or not 0.0 <= w <= LARGEST_WEIGHT:
            w = check_weight(w)
        if type(y) is not float or not -LARGEST_TARGET <= y <= LARGEST_TARGET:
            y = check_target(y)
        lock = self._f.lock
        try:
            lock.acquire()
            self._fit(x, y, w)
        finally:
            lock.release()

    def _check_many(self, targets: list[Any]) -> None:
        for y in targets:
            check_target(y)

    def _predict_targets(self, rows: Any) -> NDArray[np.float64]:
        """Return the predicted target of each row."""
        raise NotImplementedError

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the predicted targets of the rows of a frame."""
        frame = frame_of(X)
        return to_native_series(self._predict_targets(rows_of(frame, self._takes_words)), name=None, like=frame)


class LabelModel(SupervisedModel, base.MiniBatchClassifier):
    """A classifier and the labels seen so far: River's protocol above ``_fit`` and the scores of labels.

    The positive label is True, 1 or +1 if it is among the first two, otherwise the second to arrive.
    """

    _multiclass: Any = False  # whether it accepts a third label; a property if a parameter decides
    _merging = {"_labels": "own"}

    def __init__(self, kernel: kernels.Kernel | None = None, **options: Any):
        super().__init__(kernel, **options)
        self._labels = Labels()

    def _check_many(self, targets: list[Any]) -> None:
        self._labels.check(targets, type(self).__name__, multiclass=self._multiclass)

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        if type(w) is not float or not 0.0 <= w <= LARGEST_WEIGHT:
            w = check_weight(w)
        lock = self._f.lock
        try:
            lock.acquire()
            try:
                position = self._labels.positions[y]
            except (KeyError, TypeError):
                position = None
            if position is None:
                self._fit_new_label(x, y, w)
            else:
                self._fit(x, position, w)
        finally:
            lock.release()

    def _fit_new_label(self, x: Any, y: Any, w: float) -> None:
        """Learn a sample with a new label, after checking both: a rejected sample adds no label."""
        raise NotImplementedError

    def _scores(self, x: Any) -> list[float]:
        """Return the score of the positive label, or with more than two labels one for each."""
        raise NotImplementedError

    def _score_rows(self, rows: Any) -> NDArray[np.float64]:
        """Return scores of each row whose sign or, in several columns, maximum is the predicted label."""
        raise NotImplementedError

    def _predicted(self, x: Any) -> int:
        """Return the position of the predicted label; of two with the same score it is the positive one."""
        raise NotImplementedError

    @locked
    def decision_function_one(self, x: dict[Hashable, Any]) -> Any:
        """Return the score of the positive label; with more than two labels, a dict with the score of each."""
        scores = self._scores(x)
        return scores[0] if len(scores) == 1 else dict(zip(self._labels.names, scores, strict=False))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> base.typing.ClfTarget | None:
        """Return the predicted label, one of those seen so far; None before the first."""
        lock = self._f.lock
        try:
            lock.acquire()
            names = self._labels.names
            if not names:  # x may even be NaN: MinMaxScaler's output before it has learned
                return None
            position = self._predicted(x)
            return names[position] if len(names) >= 2 else names[0]
        finally:
            lock.release()

    @locked
    def predict_many(self, X: Any) -> Any:
        """Return the predicted labels of the rows of a frame; all None before the first label."""
        frame = frame_of(X)
        scores = self._score_rows(rows_of(frame, self._takes_words))
        names = self._labels.names
        several = scores.shape[1] > 1
        positions = scores[:, : len(names)].argmax(axis=1) if several else (scores[:, 0] >= 0.0).astype(int)
        return label_series(names, positions, frame)


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
