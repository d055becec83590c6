"""Validation of parameters, weights and targets: errors name the parameter, its value, and a remedy."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import random
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from river import base, optim

from river_okl._core.store.sample import shown
from river_okl.kernels import RBF, Kernel, Polynomial

LARGEST_WEIGHT = 1e10
LARGEST_PARAMETER = 1e30  # of steps, radii and 1/λ: f stays finite even with the steepest slopes and largest weights
SMALLEST_PARAMETER = 1e-30
MAX_DICTIONARY = 10_000
KERNELS = RBF, Polynomial  # the parameters of the others are among theirs
LARGEST_TARGET = 1e50  # like the core's bound on features: squares and their sums stay far from overflow


def kind_of(thing: object) -> str:
    """Return the class of an object, or a class itself, with its article: "an int", "a str"."""
    name = (thing if isinstance(thing, type) else type(thing)).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def is_name(value: Any) -> bool:
    """Return whether a value can be a feature name or a label."""
    if type(value) is tuple:
        return all(map(is_name, value))
    return type(value) in (str, int, bool) or (isinstance(value, float | np.generic) and bool(value == value))


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """Return a real number as the nearest float, infinite if it is out of range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signaling NaN of Decimal
        return math.nan


def own_number(value: Any) -> Any:
    """Return a number of another type as Python's own, with which a model computes; anything else as it is.

    NumPy's numbers would overflow or wrap in the arithmetic of a step.
    """
    if isinstance(value, np.bool_):
        return bool(value)
    if type(value) in (bool, int, float) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else as_float(value)


def check_positive(
    name: str, value: Any, *, zero: bool = False, infinite: bool = False, largest: float = LARGEST_PARAMETER
) -> None:
    """Raise unless ``value`` is a number > 0 (≥ 0 with zero=True) up to ``largest``, or ∞ with infinite=True."""
    if not _is_real(value):
        raise TypeError(f"{name} is {shown(value)}; it must be a number")
    right = (0.0 if zero else SMALLEST_PARAMETER) <= value <= largest
    if not right and not (infinite and value == math.inf):
        low = "0" if zero else f"{SMALLEST_PARAMETER:g}"
        raise ValueError(
            f"{name} is {shown(value)}; it must be from {low} to {largest:g}{', or infinite' if infinite else ''}"
        )


def check_between(name: str, value: Any, low: float, high: float, *, open_ends: bool = False) -> None:
    """Raise unless ``value`` is a number from low to high, or strictly between them."""
    if not _is_real(value):
        raise TypeError(f"{name} is {shown(value)}; it must be a number")
    if not (low < value < high if open_ends else low <= value <= high):
        raise ValueError(
            f"{name} is {shown(value)}; it must be {'strictly between' if open_ends else 'from'} {low:g} "
            f"{'and' if open_ends else 'to'} {high:g}"
        )


def check_whole(name: str, value: Any, low: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {shown(value)}; it must be an integer")
    if value < low:
        raise ValueError(f"{name} is {shown(value)}; it must be at least {low}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {shown(value)}; it must be one of {', '.join(map(repr, choices))}")


def check_dictionary(budget: Any) -> None:
    """Raise unless ``budget`` is an integer for which the covariance of the points fits in memory."""
    check_whole("budget", budget)
    if budget > MAX_DICTIONARY:
        raise ValueError(f"budget is {budget!r}; it must be at most {MAX_DICTIONARY:,}: cost is quadratic in it")


def check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {shown(value)}; it must be True or False")


def check_key(key: Any) -> None:
    """Raise unless ``key`` can identify a sample with a late label."""
    try:
        hash(key)
    except TypeError:
        raise TypeError(f"key is {shown(key)}; it must be hashable, such as a string or a tuple") from None


def check_weight(w: Any) -> float:
    """Return a sample weight, a number from 0 to LARGEST_WEIGHT, as a float."""
    if type(w) is float and 0.0 <= w <= LARGEST_WEIGHT:
        return w
    value: Any = as_float(w) if isinstance(w, Decimal) else w
    if not _is_real(value):
        raise TypeError(f"w is {shown(w)}; it must be a number")
    if not 0 <= value <= LARGEST_WEIGHT:
        raise ValueError(f"w is {shown(w)}; it must be from 0 to {LARGEST_WEIGHT:g}")
    return float(value)


def check_weights(w: Any, n: int) -> list[float]:
    """Return the weights of n samples, given one number for all of them, or n numbers."""
    if isinstance(w, str | bytes | Mapping) or not hasattr(w, "__iter__") or np.ndim(w) == 0:
        return [check_weight(w)] * n
    weights = [check_weight(weight) for weight in w]
    if len(weights) != n:
        raise ValueError(f"w has {len(weights)} weights for {n} rows; give one for each row, or one number for all")
    return weights


def check_seed(seed: Any) -> random.Random:
    """Return the generator seeded by an integer or None."""
    if seed is None:
        return random.Random()
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed is {shown(seed)}; it must be an integer, or None for a random one")
    return random.Random(int(seed))


def random_key(seed: Any) -> int:
    """Return the key of the core's own random numbers."""
    return int(2.0**53 * check_seed(seed).random())


def check_learning_rate(value: Any) -> None:
    """Raise unless ``value`` is a number > 0 or one of river's schedulers."""
    if not isinstance(value, optim.base.Scheduler):
        check_positive("learning_rate", value)


def check_shrinkage(learning_rate: float | optim.base.Scheduler, l2: float) -> None:
    """Raise unless 1 - ηλ, the factor by which f decays, is positive."""
    check_positive("l2", l2, zero=True)
    if not isinstance(learning_rate, optim.base.Scheduler) and learning_rate * l2 >= 1.0:
        raise ValueError(f"l2 is {l2!r}; times the learning_rate {learning_rate!r} it must be less than 1")


def check_kernel(kernel: Any) -> None:
    """Raise unless ``kernel`` is a kernel or None."""
    if kernel is not None and not isinstance(kernel, Kernel):
        budget = f"; a budget has a name, budget={kernel}" if type(kernel) is int else ""
        raise TypeError(
            f"kernel is {shown(kernel)}; it must be one of river_okl.kernels, such as RBF(gamma=0.5), or None for "
            f"RBF(){budget}"
        )


def check_parameters(cls: type, names: Iterable[str]) -> None:
    """Raise unless a class has parameters of these names, or takes any."""
    known = _parameters(cls)
    if "**" in known:
        return
    for name in names:
        if name not in known:
            kernel = next((each.__name__ for each in KERNELS if name in _parameters(each)), None)
            if kernel and "kernel" in known:
                todo = f"it is one of the kernel, kernel={kernel}({name}=...)"
            else:
                todo = f"it has {', '.join(known) or 'none'}"
            raise TypeError(f"{cls.__name__} has no parameter {name}; {todo}")


@functools.cache
def _parameters(cls: type) -> tuple[str, ...]:
    """Return the names of the parameters of a class, and "**" if it takes any others."""
    found = inspect.signature(cls).parameters.items()
    return tuple("**" if each.kind is each.VAR_KEYWORD else name for name, each in found)


def check_gaussian(kernel: Kernel | None, what: str) -> None:
    """Raise unless ``kernel`` is an RBF kernel with one gamma, or None."""
    check_kernel(kernel)
    if kernel is not None and (not isinstance(kernel, RBF) or isinstance(kernel.gamma, tuple)):
        raise ValueError(
            f"kernel is {shown(kernel)}; {what} needs a single Gaussian: give RBF(gamma=...) with one number, or RBF()"
        )


def check_target(y: Any) -> float:
    """Return the target of a regressor as a float."""
    if type(y) is float and -LARGEST_TARGET <= y <= LARGEST_TARGET:
        return y
    if not isinstance(y, numbers.Real | Decimal) or isinstance(y, bool | np.bool_):
        raise TypeError(f"the target is {shown(y)}; a regressor needs a number")
    value = as_float(y)
    if math.isnan(value):
        raise ValueError(f"the target is {shown(y)}; drop the samples that have none")
    if not abs(value) <= LARGEST_TARGET:
        raise ValueError(
            f"the target is {shown(y)}; it must be finite and at most {LARGEST_TARGET:g} in size: scale it "
            f"(preprocessing.TargetStandardScaler)"
        )
    return value


def rate(
    learning_rate: float | optim.base.Scheduler,
    t: int,
    *,
    power: float = 0.0,
    horizon: int | None = None,
) -> float:
    """Return the step for sample number t (from 1).

    A number η gives η t^-power, or η T^-power if the horizon T is known. A scheduler gives the step itself; river's
    schedulers count from 0.
    """
    # float first: an isinstance check against an abstract class costs as much as the rest of an update
    if not isinstance(learning_rate, float) and isinstance(learning_rate, optim.base.Scheduler):
        step = float(learning_rate.get(t - 1))
        if math.isnan(step):
            raise ValueError(f"learning_rate is {learning_rate!r}, which is NaN at step {t}")
        return min(step, LARGEST_PARAMETER)
    return learning_rate * math.pow(horizon or t, -power) if power else learning_rate


class PerClass(base.Base):
    """A budget for each label if there are more than two: k labels share k times as many support vectors.

    A binary model has one function; a model of k > 2 labels has k functions over the same support vectors.
    With `budget=500` all labels share 500 support vectors. With `budget=PerClass(50)` two labels share 50,
    three 150, and the 26 letters 1,300. Use it if there are many labels, or if their number is unknown. Each
    support vector has a coefficient for each label, so time grows linearly and memory quadratically with the
    number of labels.

    Parameters
    ----------
    budget
        Maximum number of support vectors for each label.

    See Also
    --------
    AhpatronClassifier
    BPAClassifier

    Examples
    --------
    >>> from river import datasets, preprocessing
    >>> from river_okl import BPAClassifier, PerClass

    >>> model = preprocessing.StandardScaler() | BPAClassifier(budget=PerClass(20))
    >>> for x, y in datasets.ImageSegments().take(1000):
    ...     model.learn_one(x, y)
    >>> model["BPAClassifier"].n_support_vectors  # 7 labels
    140

    """

    def __init__(self, budget: int):
        check_whole("budget", budget)
        self.budget = budget

    def __repr__(self) -> str:
        return f"PerClass({self.budget})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((PerClass, self.budget))


def of_expansion(budget: Any, model: Any) -> dict[str, Any]:
    """Return the budget as arguments of an expansion; ``PerClass`` requires a model of more than two labels."""
    if not isinstance(budget, PerClass):
        check_whole("budget", budget)
        return {"budget": budget}
    if not getattr(model, "_multiclass", False):
        raise TypeError(f"budget is {budget!r}, and {kind_of(model)} learns one function only: give an integer")
    return {"budget": budget.budget, "per_class": True}


Budget = int | PerClass
"""The type of a budget; models with a single function reject a ``PerClass``."""
