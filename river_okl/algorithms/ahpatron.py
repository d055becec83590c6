"""Liao et al. 2024: AVP, a perceptron that also learns from small margins, and Ahpatron, AVP on a budget by halving."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import dot, symmetric_times
from river_okl.algorithms.support import TIE, solve_with_ridge
from river_okl.checks import Budget, check_between, check_learning_rate, check_positive, rate
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel

CANCELLED = 1e-6  # of ‖f‖: a halved f below it is rounding, which rescaling to ‖f‖ would amplify


def _check_aggressiveness(epsilon: Any, largest_step: float) -> None:
    """λ/2 < ε < 1, eq. (5)."""
    check_between("epsilon", epsilon, 0.0, 1.0, open_ends=True)
    if largest_step / 2.0 >= epsilon:
        raise ValueError(
            f"epsilon is {epsilon!r} and the learning rate up to {largest_step:g}; epsilon must be more than half the "
            f"learning rate: raise epsilon or lower learning_rate"
        )


class AVPClassifier(KernelClassifier):
    """AVP, the aggressive perceptron: it also learns from samples with a positive margin below 1 - epsilon.

    More accurate than `KernelPerceptronClassifier`, with more support vectors and no bound on their number:
    `AhpatronClassifier` is its budgeted version.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    radius
        U: f is kept in the ball of this radius.
    learning_rate
        λ. "adaptive": U/√(U² + mistakes so far), which needs a finite radius. A `river.optim.schedulers`
        object is the step itself.
    epsilon
        f is updated if y f(x) < 1 - ε. Must be more than λ/2.

    Notes
    -----
    - The adaptive rate counts mistakes, y f(x) ≤ 0, including that of the current sample, but not margin errors.
    - With ε → 1, λ = 1 and infinite radius this is the kernel perceptron.
    - A scheduler's steps are not checked against ε.
    - The sample weight multiplies λ.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import AVPClassifier

    >>> model = preprocessing.StandardScaler() | AVPClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.9%

    References
    ----------
    [^1]: [Liao, Y., Li, J., Liao, S., Hu, Q. and Dang, J., 2024. Ahpatron: A new budgeted online kernel learning machine with tighter mistake bound. Proceedings of the AAAI Conference on Artificial Intelligence, 38(12), pp.13828-13836.](https://doi.org/10.1609/aaai.v38i12.29284)

    """

    _multiclass = True
    _merging = {"_mistakes": "sum"}
    _mutable_attributes = {"learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        radius: float = math.inf,
        learning_rate: float | str | optim.base.Scheduler = 1.0,
        epsilon: float = 0.6,
    ):
        check_positive("radius", radius, infinite=True)
        if learning_rate == "adaptive":
            if radius == math.inf:
                raise ValueError(
                    'learning_rate is "adaptive" and radius is inf; the adaptive rate needs a finite radius'
                )
            _check_aggressiveness(epsilon, radius / math.hypot(radius, 1.0))  # λ of the first mistake
        else:
            check_learning_rate(learning_rate)
            _check_aggressiveness(epsilon, learning_rate if isinstance(learning_rate, int | float) else 0.0)
        self.radius = radius
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        super().__init__(kernel, norm=radius < math.inf)
        self._t = 0
        self._mistakes = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        margin = y * p
        self._t += 1
        if margin >= 1.0 - self.epsilon or w == 0.0:  # line 6
            return
        self._mistakes += margin <= 0.0
        f.add(self._rate() * w * y)  # line 7
        if self.radius < math.inf:
            f.project_on_ball(self.radius)

    def _rate(self) -> float:
        """λ_t"""
        if isinstance(self.learning_rate, str):  # "adaptive"
            return self.radius / math.hypot(self.radius, math.sqrt(self._mistakes))  # Corollary 2
        return rate(self.learning_rate, self._t)


class AhpatronClassifier(KernelClassifier):
    """Ahpatron: AVP on a budget; when it is full, half of the support vectors are removed and projected on the rest.

    The most accurate budgeted perceptron, in about twice the time of `RBPClassifier`: a halving costs O(B³),
    but happens only once every B/2 additions.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of support vectors, B; a `PerClass` sets it per label.
    radius
        U: f is kept in the ball of this radius. None: √B/2.
    learning_rate
        λ. None: U/√(4B). A `river.optim.schedulers` object is the step itself.
    epsilon
        f is updated if y f(x) < 1 - ε. Must be more than λ/2.
    ridge
        η of the paper, added to the diagonal of the Gram matrix in the projection.

    Notes
    -----
    - A halving keeps the ⌊B/2⌋ support vectors with the largest |α|, the older ones in ties. The paper tunes
      the norm c_t U of the halved f; this class uses its Theorem 6, c_t = ‖f_t‖/U: f keeps its norm.
    - The Gram matrix of the kept support vectors is solved by one Cholesky factorisation. The ridge makes
      duplicates harmless; if the matrix is still indefinite by rounding (a tiny ridge), the ridge is raised
      until it is not.
    - A halved f below 1e-6 of the norm of f is rounding (the kept terms cancel), and is not rescaled.
    - A scheduler's steps are not checked against ε.
    - The sample weight multiplies λ.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import AhpatronClassifier

    >>> model = preprocessing.StandardScaler() | AhpatronClassifier(budget=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.7%

    References
    ----------
    [^1]: [Liao, Y., Li, J., Liao, S., Hu, Q. and Dang, J., 2024. Ahpatron: A new budgeted online kernel learning machine with tighter mistake bound. Proceedings of the AAAI Conference on Artificial Intelligence, 38(12), pp.13828-13836.](https://doi.org/10.1609/aaai.v38i12.29284)

    """

    _multiclass = True
    _mutable_attributes = {"learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: Budget = 500,
        radius: float | None = None,
        learning_rate: float | optim.base.Scheduler | None = None,
        epsilon: float = 0.5,
        ridge: float = 5e-4,
    ):
        if radius is not None:
            check_positive("radius", radius)
        if learning_rate is not None:
            check_learning_rate(learning_rate)
        check_positive("ridge", ridge)
        self.budget = budget
        self.radius = radius
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.ridge = ridge
        super().__init__(kernel, budget=budget, norm=True)
        self._t = 0
        if not isinstance(learning_rate, optim.base.Scheduler):
            _check_aggressiveness(epsilon, self._rate())

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        margin = y * p
        self._t += 1
        if margin >= 1.0 - self.epsilon or w == 0.0:  # line 6
            return
        if len(f) == f.budget:
            _halve(f, self.ridge)
        f.add(self._rate() * w * y)  # line 7
        f.project_on_ball(self._radius())  # line 8, and eq. (8)

    def _radius(self) -> float:
        """U"""
        return math.sqrt(self._f.budget) / 2.0 if self.radius is None else self.radius

    def _rate(self) -> float:
        """λ, by default that of the paper's experiments."""
        if self.learning_rate is None:
            return self._radius() / math.sqrt(4.0 * self._f.budget)
        return rate(self.learning_rate, self._t)


def _halve(f: Expansion, ridge: float) -> None:
    """f ← f̄, eq. (6) and (7), with c_t = ‖f‖/U."""
    norm = math.sqrt(f.refresh_norm2())
    S2 = _largest_half(f.magnitudes, f.births)
    K2, values = f.rows_among(S2)
    alpha = f.columns
    alpha2 = np.ascontiguousarray(alpha[S2].T)
    lost = values - [symmetric_times(K2, of_label) for of_label in alpha2]  # K₂₁ α₁: the evicted terms, evaluated at S₂
    alpha2 += solve_with_ridge(K2, lost, ridge)  # eq. (9)
    alpha[S2] = alpha2.T
    f.columns = alpha
    f.keep(S2, np.array([dot(of_label, symmetric_times(K2, of_label)) for of_label in alpha2]))
    halved = math.sqrt(f.refresh_norm2())
    if halved > CANCELLED * norm:
        f.scale(norm / halved)


def _largest_half(magnitude: NDArray[np.float64], births: NDArray[np.int64]) -> NDArray[np.intp]:
    """The positions of the ⌊n/2⌋ largest |α|; ties go to the oldest."""
    size = len(magnitude) // 2
    threshold = np.partition(magnitude, -size)[-size] if size else math.inf
    (largest,) = (magnitude >= threshold * (1.0 - TIE)).nonzero()
    if len(largest) > size:  # of those tied at the threshold, the oldest
        tied = magnitude[largest] <= threshold * (1.0 + TIE)
        largest = largest[np.lexsort((births[largest], tied))][:size]
    return largest
