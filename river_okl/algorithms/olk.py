"""He & Kwok 2014: online learning with kernels (OLK), with random updating (OLRU) and random discarding (OLRD).

The two tasks differ only in their loss.
"""

from __future__ import annotations

import math
import sys

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import GradientDescent
from river_okl.checks import Budget, check_between, check_choice, check_positive, check_seed, check_whole, rate
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel


class OLK(GradientDescent):
    """Algorithm 1 for both tasks."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 1.0,
        radius: float | None = None,
        horizon: int | None = None,
    ):
        _check_radius_and_horizon(radius, horizon)
        self.radius = radius
        self.horizon = horizon
        super().__init__(kernel, loss, learning_rate, norm=radius is not None)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g != 0.0:
            eta = rate(self.learning_rate, self._t, power=0.5, horizon=self.horizon)  # eq. (6)
            f.add(-eta * g)  # line 11
            if self.radius is not None:
                f.project_on_ball(self.radius)  # line 14


class OLRU(GradientDescent):
    """Algorithm 2 for both tasks."""

    _mutable_attributes = {"learning_rate", "c"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 1.0,
        c: float = 1.0,
        power: float = 0.25,
        radius: float | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ):
        check_positive("c", c)
        check_between("power", power, 0.0, 1.0)
        _check_radius_and_horizon(radius, horizon)
        self.c = c
        self.power = power
        self.radius = radius
        self.horizon = horizon
        self.seed = seed
        super().__init__(kernel, loss, learning_rate, norm=radius is not None)
        self._rng = check_seed(seed)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g == 0.0:
            return
        p = min(1.0, self.c * (self.horizon or self._t) ** -self.power)  # eq. (13)
        if self._rng.random() < p:
            eta = rate(self.learning_rate, self._t, power=(1.0 + self.power) / 2.0, horizon=self.horizon)
            f.add(-eta * g / p)  # line 9: a_t = α_t / p_t
            if self.radius is not None:
                f.project_on_ball(self.radius)  # line 12


class OLRD(GradientDescent):
    """Algorithm 3 for both tasks."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 10.0,
        budget: Budget = 500,
        c: float | None = None,
        radius: float | None = 5.0,
        horizon: int | None = None,
        projection: str = "exact",
        seed: int | None = None,
    ):
        if c is not None:
            check_whole("budget", budget)  # c replaces it
            check_positive("c", c)
        _check_radius_and_horizon(radius, horizon)
        check_choice("projection", projection, ("exact", "approximate"))
        self.budget = budget
        self.c = c
        self.radius = radius
        self.horizon = horizon
        self.projection = projection
        self.seed = seed
        super().__init__(
            kernel,
            loss,
            learning_rate,
            **({"budget": budget} if c is None else {}),
            norm=radius is not None and projection == "exact",
        )
        self._rng = check_seed(seed)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g != 0.0:
            n = len(f)
            if n >= self._budget_now():
                f.remove(int(self._rng.random() * n))  # eq. (19)
                if n > 1:
                    f.scale(n / (n - 1.0))  # eq. (17) with q = 1/n
            f.add(-rate(self.learning_rate, self._t, power=0.5, horizon=self.horizon) * g)
        if self.radius is not None:  # line 15
            if self.projection == "exact":
                f.project_on_ball(self.radius)
            else:
                self._shrink_coefficients(self.radius)

    def _budget_now(self) -> int:
        """B, or B_t of eq. (23) and (24)."""
        if self.c is None:
            return self._f.budget
        return 1 + math.floor(self.c * math.sqrt(self.horizon or self._t))

    def _shrink_coefficients(self, radius: float) -> None:
        """Eq. (22): B ‖α‖∞ max √κ(x, x) ≤ U, a bound on the norm."""
        f = self._f
        if len(f) == 0:
            return
        bound = self._budget_now() * f.magnitudes.max() * f.self_similarities.max() ** 0.5
        if bound > radius:
            f.scale(radius / bound)


def _check_radius_and_horizon(radius: float | None, horizon: int | None) -> None:
    if radius is not None:
        check_positive("radius", radius, largest=sys.float_info.max)  # only a bound: no step takes its size
    if horizon is not None:
        check_whole("horizon", horizon)


class OLKClassifier(OLK, KernelClassifier):
    """Online gradient descent with kernels, classification: a step against the gradient of the loss at each sample.

    The baseline of `OLRUClassifier` and `OLRDClassifier`, which bound it: it keeps every sample with a loss.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η: the step is η/√t, or η/√T with a horizon T. A `river.optim.schedulers` object is the step itself.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.

    Notes
    -----
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLKClassifier

    >>> model = preprocessing.StandardScaler() | OLKClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.2%

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """

    _multiclass = True


class OLKRegressor(OLK, KernelRegressor):
    """Online gradient descent with kernels, regression: a step against the gradient of the loss at each sample.

    The baseline of `OLRURegressor` and `OLRDRegressor`, which bound it: it keeps every sample.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η: the step is η/√t, or η/√T with a horizon T. A `river.optim.schedulers` object is the step itself.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.

    Notes
    -----
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLKRegressor

    >>> model = preprocessing.StandardScaler() | OLKRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 25.5

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """


class OLRUClassifier(OLRU, KernelClassifier):
    """Online learning with random updating, classification: gradient descent with few, larger steps.

    The support set grows as t^(1-power) in expectation, slower than the stream but without a bound; use
    `OLRDClassifier` for a hard bound.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η: the step is η t^-(1+power)/2, with T instead of t given a horizon, divided by the probability of
        taking the step. A `river.optim.schedulers` object is the step itself.
    c
        A sample with a loss is used with probability min(1, c t^-power).
    power
        γ of the paper.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - Random numbers are drawn only if the gradient is not 0; the paper draws for each sample, which is equivalent.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLRUClassifier

    >>> model = preprocessing.StandardScaler() | OLRUClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.3%

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """

    _multiclass = True


class OLRURegressor(OLRU, KernelRegressor):
    """Online learning with random updating, regression: gradient descent with few, larger steps.

    The support set grows as t^(1-power) in expectation, slower than the stream but without a bound; use
    `OLRDRegressor` for a hard bound.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η: the step is η t^-(1+power)/2, with T instead of t given a horizon, divided by the probability of
        taking the step. A `river.optim.schedulers` object is the step itself.
    c
        A sample with a loss is used with probability min(1, c t^-power).
    power
        γ of the paper.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLRURegressor

    >>> model = preprocessing.StandardScaler() | OLRURegressor(seed=42)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 31.3

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """


class OLRDClassifier(OLRD, KernelClassifier):
    """Online learning with random discarding, classification: unbiased gradient descent on a fixed budget.

    When the budget is full, a random support vector is evicted and the other coefficients are rescaled by B/(B-1): O(B) in memory
    and time. Each removal enlarges the other coefficients: set a small learning rate or a radius.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η: the step is η/√t, or η/√T with a horizon T. A `river.optim.schedulers` object is the step itself.
    budget
        Maximum number of support vectors; a `PerClass` sets it per label.
    c
        The dynamic budget B_t = 1 + ⌊c√t⌋ of the paper instead of `budget`; with a horizon T the fixed 1 + ⌊c√T⌋.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.
    projection
        How f is kept in the ball: by its norm ("exact") or by a bound on the norm ("approximate").
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - The paper's approximate projection, min(1, U/B), does not depend on the coefficients; this class
      enforces the condition of its eq. (22), B²‖α‖∞² ≤ U², after every sample.
    - A budget of 1 replaces the support vector.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLRDClassifier

    >>> model = preprocessing.StandardScaler() | OLRDClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.3%

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """

    _multiclass = True


class OLRDRegressor(OLRD, KernelRegressor):
    """Online learning with random discarding, regression: unbiased gradient descent on a fixed budget.

    When the budget is full, a random support vector is evicted and the other coefficients are rescaled by
    B/(B-1): O(B) in memory and time.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η: the step is η/√t, or η/√T with a horizon T. A `river.optim.schedulers` object is the step itself.
    budget
        Maximum number of support vectors.
    c
        The dynamic budget B_t = 1 + ⌊c√t⌋ of the paper instead of `budget`; with a horizon T the fixed 1 + ⌊c√T⌋.
    radius
        f is kept in the ball of this radius. None: no ball.
    horizon
        T, the length of the stream if known.
    projection
        How f is kept in the ball: by its norm ("exact") or by a bound on the norm ("approximate").
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - See `OLRDClassifier` for the approximate projection and a budget of 1.
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OLRDRegressor

    >>> model = preprocessing.StandardScaler() | OLRDRegressor(seed=42)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 38.4

    References
    ----------
    [^1]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """
