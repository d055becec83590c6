"""Kernels: value objects that define κ(x, z) and compose with ``+`` and ``*``.

All are functions of the same dot products x · z, so a sum or product of kernels costs one row of dot products plus
its own element-wise part::

    0.8 * RBF() + 0.2 * Linear()        RBF(gamma=0.5) * Polynomial(degree=2)

A ``gamma`` of None is estimated by the model from its first 200 samples and then fixed; ``model.kernel_in_use`` shows
it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable
from typing import Any

from river import base

from river_okl._core.function.expansion import Expansion
from river_okl._core.kernel.compiled import FACTOR_KINDS, MAX_FACTORS, MAX_TERMS, CompiledKernel

__all__ = ["RBF", "Kernel", "Laplacian", "Linear", "Polynomial", "Product", "Sum"]

EXP_SQUARED_DISTANCE, EXP_DISTANCE, DOT_POWER = FACTOR_KINDS

DEEPEST = 32  # maximum depth of nesting

# γ = 3 / mean ‖x-x'‖²; benchmarks/README.md, "The bandwidth", compares it with others.
AUTO_DISTANCE = 3.0
AUTO_DOT = 1.0

Factor = tuple[int, int, float, float, float]
"""kind, degree, gamma, coef0, and the constant of a data-driven gamma (0 if gamma is given)."""

Term = tuple[float, tuple[Factor, ...]]


class Kernel(base.Base):
    """A positive definite kernel on feature dicts; features that a dict lacks are 0."""

    def _terms(self) -> tuple[Term, ...]:
        """Return the kernel as the sum of weighted products that the compiled core evaluates."""
        raise NotImplementedError(
            f"{type(self).__name__} is not made of river_okl.kernels: compose RBF, Laplacian, Polynomial and Linear"
        )

    def _size(self) -> tuple[int, int, int]:
        """Return the number of terms and factors of ``_terms`` and the depth of nesting, without expanding products."""
        terms = self._terms()
        return len(terms), sum(len(factors) for _, factors in terms), 1

    def _resolved(self, distance: float, square: float) -> Kernel:
        """Return this kernel with every gamma a number, for a stream with these means of ‖x-x'‖² and ‖x‖².

        A gamma is 0 until the stream has contained two different samples.
        """
        terms = self._terms()
        if not _is_automatic(terms):
            return self
        compiled, copy = CompiledKernel(terms), self.clone()
        compiled.tune(distance, square)
        copy.__dict__["gamma"] = compiled.gammas[0]
        return copy

    def __call__(self, x: dict[Hashable, Any], z: dict[Hashable, Any]) -> float:
        """Return κ(x, z), as a model computes it."""
        terms = self._terms()
        if _is_automatic(terms):
            raise ValueError(f"{self} has a data-driven gamma: give a number, or call model.kernel_in_use")
        f = Expansion(terms)
        f.evaluate(z)
        f.add(1.0)
        return f.evaluate(x)

    def __str__(self) -> str:
        params = ", ".join(f"{name}={value}" for name, value in self._get_params().items())
        return f"{type(self).__name__}({params})"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __add__(self, other: Kernel) -> Kernel:
        return Sum(self, other)

    def __radd__(self, other: Kernel | int) -> Kernel:
        if isinstance(other, int) and other == 0:  # what sum() starts from
            return self
        raise TypeError(f"{other!r} + {self!r}: kernels can only be added to kernels")

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Sum(self, weights=(float(other),))

    def __rmul__(self, weight: float) -> Kernel:
        return self * weight


def _check_gamma(gamma: Any, where: str) -> float:
    if isinstance(gamma, bool) or not isinstance(gamma, numbers.Real):
        raise TypeError(f"{where}: gamma is {gamma!r}; it must be a number or None (data-driven)")
    if not 0 < float(gamma) < math.inf:
        raise ValueError(f"{where}: gamma is {gamma!r}; it must be positive and finite")
    return float(gamma)


def _check_degree(degree: Any) -> None:
    if isinstance(degree, bool) or not isinstance(degree, numbers.Integral):
        raise TypeError(f"Polynomial: degree is {degree!r}; it must be an integer")
    if not 1 <= int(degree) <= 100:
        raise ValueError(f"Polynomial: degree is {degree!r}; it must be from 1 to 100")


def _check_offset(coef0: Any) -> None:
    if isinstance(coef0, bool) or not isinstance(coef0, numbers.Real):
        raise TypeError(f"Polynomial: coef0 is {coef0!r}; it must be a number")
    if not 0 <= float(coef0) < math.inf:
        raise ValueError(f"Polynomial: coef0 is {coef0!r}; it must be finite and not negative")


def _factor(kind: int, gamma: float | None, automatic: float, degree: int = 1, coef0: float = 0.0) -> Factor:
    """Return a factor; ``automatic`` is the constant for a gamma of None."""
    return kind, int(degree), float(gamma or 0.0), float(coef0), automatic if gamma is None else 0.0


class RBF(Kernel):
    """The Gaussian kernel exp(-γ ‖x-z‖²).

    Parameters
    ----------
    gamma
        γ > 0, or a tuple of such numbers for the mean of these kernels. None: 3 / mean ‖x-x'‖² over consecutive samples
        among the first 200 learned, which makes predictions independent of the features' common unit.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.RBF(gamma=0.5)
    RBF(gamma=0.5)
    >>> round(kernels.RBF(gamma=0.5)({"a": 1.0}, {"b": 1.0}), 4)  # exp(-0.5 · 2)
    0.3679
    >>> 0.8 * kernels.RBF() + 0.2 * kernels.Linear()
    0.8 * RBF(gamma=None) + 0.2 * Linear(gamma=1.0)

    """

    def __init__(self, gamma: float | tuple[float, ...] | None = None):
        if isinstance(gamma, tuple | list):
            if not gamma:
                raise ValueError("RBF: gamma is empty; give at least one number")
            gamma = tuple(_check_gamma(g, "RBF") for g in gamma)
            _check_size(len(gamma), len(gamma), 1)
        elif gamma is not None:
            _check_gamma(gamma, "RBF")
        self.gamma = gamma

    def _terms(self) -> tuple[Term, ...]:
        scales = self.gamma if isinstance(self.gamma, tuple) else (self.gamma,)
        return tuple((1.0 / len(scales), (_factor(EXP_SQUARED_DISTANCE, g, AUTO_DISTANCE),)) for g in scales)


class Laplacian(Kernel):
    """The exponential kernel exp(-γ ‖x-z‖), rougher than the Gaussian.

    The norm is Euclidean (scikit-learn's ``laplacian_kernel`` has ‖x-z‖₁).

    Parameters
    ----------
    gamma
        γ > 0. None: the square root of 3 / mean ‖x-x'‖² over the first 200 samples learned.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.Laplacian(gamma=0.5)
    Laplacian(gamma=0.5)

    """

    def __init__(self, gamma: float | None = None):
        if gamma is not None:
            _check_gamma(gamma, "Laplacian")
        self.gamma = gamma

    def _terms(self) -> tuple[Term, ...]:
        return ((1.0, (_factor(EXP_DISTANCE, self.gamma, AUTO_DISTANCE),)),)


class Polynomial(Kernel):
    """The polynomial kernel (γ x·z + c)^degree.

    Parameters
    ----------
    degree
        An integer of at least 1.
    gamma
        γ > 0. None: 1 / mean ‖x‖² over the first 200 samples learned.
    coef0
        c ≥ 0.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.Polynomial(degree=2)
    Polynomial(degree=2, gamma=1.0, coef0=1.0)

    """

    def __init__(self, degree: int = 3, gamma: float | None = 1.0, coef0: float = 1.0):
        _check_degree(degree)
        if gamma is not None:
            _check_gamma(gamma, "Polynomial")
        _check_offset(coef0)
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _terms(self) -> tuple[Term, ...]:
        return ((1.0, (_factor(DOT_POWER, self.gamma, AUTO_DOT, self.degree, self.coef0),)),)


class Linear(Kernel):
    """The linear kernel γ x·z.

    Parameters
    ----------
    gamma
        γ > 0. None: 1 / mean ‖x‖² over the first 200 samples learned, recommended in sums with a kernel of at most 1.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.Linear()
    Linear(gamma=1.0)

    """

    def __init__(self, gamma: float | None = 1.0):
        if gamma is not None:
            _check_gamma(gamma, "Linear")
        self.gamma = gamma

    def _terms(self) -> tuple[Term, ...]:
        return ((1.0, (_factor(DOT_POWER, self.gamma, AUTO_DOT),)),)


class Sum(Kernel):
    """Σ weight · kernel: the result of ``+`` and of a number times a kernel.

    Parameters
    ----------
    kernels
        The kernels.
    weights
        A number ≥ 0 for each. None: 1 for each.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.Sum(kernels.RBF(0.1), kernels.RBF(1.0), weights=(0.5, 0.5))
    0.5 * RBF(gamma=0.1) + 0.5 * RBF(gamma=1.0)

    """

    def __init__(self, *kernels: Kernel, weights: tuple[float, ...] | None = None):
        _check_kernels(kernels, "Sum")
        if weights is not None:
            if len(weights) != len(kernels):
                raise ValueError(f"Sum: {len(weights)} weights for {len(kernels)} kernels")
            if not all(0 <= w < math.inf for w in weights):
                raise ValueError(f"Sum: weights are {weights!r}; each must be finite and not negative")
            weights = tuple(weights)
        self.kernels = kernels
        self.weights = weights
        _check_size(*self._size())

    def _get_params(self) -> dict[str, Any]:
        return {"_POSITIONAL_ARGS": self.kernels, "weights": self.weights}

    def _pairs(self) -> list[tuple[float, Kernel]]:
        return list(zip(self.weights or (1.0,) * len(self.kernels), self.kernels, strict=True))

    def _size(self) -> tuple[int, int, int]:
        terms, factors, depths = zip(*(kernel._size() for kernel in self.kernels), strict=True)
        return sum(terms), sum(factors), 1 + max(depths)

    def _terms(self) -> tuple[Term, ...]:
        return tuple((w * v, factors) for w, k in self._pairs() for v, factors in k._terms())

    def _resolved(self, distance: float, square: float) -> Kernel:
        return Sum(*(k._resolved(distance, square) for k in self.kernels), weights=self.weights)

    def __str__(self) -> str:
        return " + ".join(f"{kernel}" if w == 1 else f"{w:g} * {_in_brackets(kernel)}" for w, kernel in self._pairs())


class Product(Kernel):
    """The product of kernels: the result of ``*``.

    Parameters
    ----------
    kernels
        The kernels.

    Examples
    --------
    >>> from river_okl import kernels
    >>> kernels.RBF(0.1) * kernels.Linear()
    RBF(gamma=0.1) * Linear(gamma=1.0)

    """

    def __init__(self, *kernels: Kernel):
        _check_kernels(kernels, "Product")
        self.kernels = kernels
        _check_size(*self._size())

    def _get_params(self) -> dict[str, Any]:
        return {"_POSITIONAL_ARGS": self.kernels}

    def _size(self) -> tuple[int, int, int]:
        terms, factors, depth = 1, 0, 0
        for kernel in self.kernels:
            more_terms, more_factors, its_depth = kernel._size()
            terms, factors = terms * more_terms, factors * more_terms + more_factors * terms
            depth = max(depth, its_depth)
            if terms > MAX_TERMS:  # it grows exponentially
                break
        return terms, factors, 1 + depth

    def _terms(self) -> tuple[Term, ...]:
        product: tuple[Term, ...] = ((1.0, ()),)
        for kernel in self.kernels:
            product = tuple((v * w, a + b) for v, a in product for w, b in kernel._terms())
        return product

    def _resolved(self, distance: float, square: float) -> Kernel:
        return Product(*(k._resolved(distance, square) for k in self.kernels))

    def __str__(self) -> str:
        return " * ".join(_in_brackets(kernel) for kernel in self.kernels)


def _in_brackets(kernel: Kernel) -> str:
    return f"({kernel})" if isinstance(kernel, Sum) else str(kernel)


def _check_kernels(kernels: tuple[Any, ...], where: str) -> None:
    if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
        raise TypeError(f"{where}: takes one or more kernels, not {kernels!r}")


def _check_size(terms: int, factors: int, depth: int) -> None:
    """Raise if the kernel exceeds the core's limits."""
    if terms > MAX_TERMS or factors > MAX_FACTORS:
        raise ValueError(
            f"a kernel has at most {MAX_TERMS} terms and {MAX_FACTORS} factors, after products of sums are "
            f"expanded; this one has more: remove some"
        )
    if depth > DEEPEST:
        raise ValueError(f"kernels are nested more than {DEEPEST} deep; give all of them to one Sum or Product")


def _is_automatic(terms: tuple[Term, ...]) -> bool:
    """Return whether any gamma is data-driven."""
    return any(constant > 0.0 for _, factors in terms for *_, constant in factors)
