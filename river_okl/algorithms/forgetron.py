"""The self-tuned Forgetron: a perceptron that shrinks f before removing the oldest term."""

from __future__ import annotations

import math

from river_okl._core.function.expansion import Expansion
from river_okl.checks import check_whole
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel

ROUNDED = 1.0 + 1e-9  # by so much damage may exceed what is allowed
SPENT = 15.0 / 32.0  # the damage allowed per mistake


class ForgetronClassifier(KernelClassifier):
    """The Forgetron: when the budget is full, f shrinks as little as its mistake bound allows, and its oldest term is removed.

    The budgeted perceptron with a worst-case mistake bound; the shrinking costs accuracy: if that matters,
    use `AhpatronClassifier`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of support vectors.

    Notes
    -----
    - This is the self-tuned variant, §5 of the paper: φ is the largest in (0, 1] that keeps the damage Q
      within 15/32 M for M mistakes. Coefficients never grow, even if the quadratic opens downwards.
    - μ is y_r f(x_r) with the new support vector in f and before f shrinks.
    - The sample weight multiplies the coefficient of the new support vector; a mistake counts as one whatever its weight.
    - The bound is proved for κ(x, x) ≤ 1.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import ForgetronClassifier

    >>> model = preprocessing.StandardScaler() | ForgetronClassifier(budget=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 81.9%

    References
    ----------
    [^1]: [Dekel, O., Shalev-Shwartz, S. and Singer, Y., 2008. The Forgetron: A kernel-based perceptron on a budget. SIAM Journal on Computing, 37(5), pp.1342-1372.](https://doi.org/10.1137/060666998)

    """

    _merging = {"_mistakes": "sum", "_damage": "sum"}

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 500):
        check_whole("budget", budget)
        self.budget = budget
        super().__init__(kernel, budget=budget, spare=True)  # a point is added before the oldest is evicted
        self._mistakes = 0  # M
        self._damage = 0.0  # Q

    def _after_merging(self) -> None:
        self._damage = min(self._damage, SPENT * self._mistakes)  # each shard may have spent what the start had left

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if y * p > 0.0 or w == 0.0:  # no mistake
            return
        f.add(y * w)
        self._mistakes += 1
        if len(f) > self.budget:
            r = f.oldest()
            alpha = float(f.coefficients[r])
            delta, mu = abs(alpha), math.copysign(1.0, alpha) * f.value_of(r)  # y_r is the sign of α_r
            phi = _shrinkage(delta, mu, self._damage - SPENT * self._mistakes)
            self._damage += (delta * phi) ** 2 + 2.0 * delta * phi * (1.0 - phi * mu)
            if self._damage > SPENT * self._mistakes * ROUNDED:  # the terms cancel: many digits if the weight is large
                self._damage = SPENT * self._mistakes
            f.scale(phi)
            f.remove(r)


def _shrinkage(delta: float, mu: float, c: float) -> float:
    """The largest φ in (0, 1] with (δφ)² + 2δφ(1-φμ) + c ≤ 0, where c < 0.

    The left side is c < 0 at φ = 0. If it is > 0 at 1, exactly one root lies between; the form that divides by the sum
    is that root for a quadratic of either sign, and for a line.
    """
    a, b = delta * delta - 2.0 * delta * mu, 2.0 * delta
    if a + b + c <= 0.0:
        return 1.0
    discriminant = max(0.0, b * b - 4.0 * a * c)  # rounding may make it negative at a double root
    return min(1.0, -2.0 * c / (b + math.sqrt(discriminant)))
