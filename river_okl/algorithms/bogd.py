"""Bounded online gradient descent (BOGD and BOGD++): unbiased eviction of random support vectors."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import GradientDescent
from river_okl.checks import Budget, check_choice, check_positive, check_seed, check_shrinkage, rate
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel


class BOGD(GradientDescent):
    """BOGD and BOGD++, for both tasks."""

    _mutable_attributes = {"learning_rate", "l2", "max_coef"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        budget: Budget = 500,
        learning_rate: float | optim.base.Scheduler = 0.3,
        l2: float = 0.01,
        max_coef: float | None = 0.6,
        sampling: str = "uniform",
        seed: int | None = None,
    ):
        super().__init__(kernel, loss, learning_rate, budget=budget)
        check_shrinkage(learning_rate, l2)
        if max_coef is not None:
            check_positive("max_coef", max_coef)
        check_choice("sampling", sampling, ("uniform", "magnitude"))
        self.budget = budget
        self.l2 = l2
        self.max_coef = max_coef
        self.sampling = sampling
        self.seed = seed
        self._rng = check_seed(seed)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        eta = rate(self.learning_rate, self._t)
        shrinkage = 1.0 - eta * self.l2
        f.scale(shrinkage if shrinkage > 0.0 else 0.0)
        if g == 0.0:
            return
        if len(f) == f.budget:
            self._remove_one()
        f.add(-eta * g)
        if self.max_coef is not None:
            f.clip(self.max_coef)

    def _remove_one(self) -> None:
        """Evict i with probability q_i and divide the others by 1 - q_j: f is unchanged in expectation."""
        f, n = self._f, len(self._f)
        if self.sampling == "uniform":
            f.remove(int(self._rng.random() * n))
            if n > 1:
                f.scale(n / (n - 1.0))
        else:
            staying = staying_probabilities(f.magnitudes * np.sqrt(np.maximum(f.self_similarities, 0.0)))
            i = _draw(self._rng, 1.0 - staying)
            staying[i] = 1.0  # evicted below
            f.columns /= staying[:, None]
            f.remove(i)


def _draw(rng: random.Random, probabilities: NDArray[np.float64]) -> int:
    """A position with these probabilities, from one random number."""
    totals = np.cumsum(probabilities)
    totals[np.flatnonzero(probabilities)[-1] :] = 1.0  # despite rounding
    return int(np.searchsorted(totals, rng.random(), side="right"))


def staying_probabilities(magnitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - q_i ∝ magnitude, with Σ q_i = 1; a q_i that would be negative becomes 0, and the others are computed again."""
    staying = np.ones(len(magnitudes))
    rest = np.arange(len(magnitudes))
    while True:
        left = len(rest) - 1.0
        share = magnitudes[rest]
        total = float(share.sum())
        staying[rest] = left * (share / total) if total > 0.0 else left / len(rest)
        over = staying[rest] > 1.0
        if not over.any():
            return staying
        staying[rest[over]] = 1.0
        rest = rest[~over]


class BOGDClassifier(BOGD, KernelClassifier):
    """Bounded online gradient descent, classification: kernel gradient descent with weight decay on a fixed budget.

    For drifting concepts in O(B) per sample; `OLRDClassifier` is similar with a decreasing learning rate, for
    stationary concepts.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    budget
        Maximum number of support vectors; a `PerClass` sets it per label.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    l2
        λ: at each sample f is multiplied by 1 - ηλ.
    max_coef
        Coefficients are clipped to this absolute value after each addition; γη in the paper. None: no clipping.
    sampling
        Which support vector is evicted: "uniform" (BOGD), or "magnitude" (BOGD++), which favours those of small |α|√κ(x, x).
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - BOGD++ requires 1 - q_i proportional to |α_i|√κ(x_i, x_i), which can make some q_i negative (noted by He
      & Kwok, 2014). Those are set to 0 and the others recomputed in the same proportions until none is
      negative: the probabilities still sum to one and the step stays unbiased. If only coefficients of 0
      remain, their q_i are equal.
    - Clipping (the paper's line 11) biases the step; it bounds the coefficients, which grow by the rescaling.
    - A budget of 1 replaces the support vector.
    - f also decays on samples without a loss. A scheduler's step above 1/λ sets f to 0.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient, not the decay.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import BOGDClassifier

    >>> model = preprocessing.StandardScaler() | BOGDClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.8%

    References
    ----------
    [^1]: [Zhao, P., Wang, J., Wu, P., Jin, R. and Hoi, S.C.H., 2012. Fast bounded online gradient descent algorithms for scalable kernel-based online learning. In Proceedings of the 29th International Conference on Machine Learning, pp.1075-1082.](https://arxiv.org/abs/1206.4633)
    [^2]: [He, W. and Kwok, J.T., 2014. Simple randomized algorithms for online learning with kernels. Neural Networks, 60, pp.17-24.](https://doi.org/10.1016/j.neunet.2014.07.006)

    """

    _multiclass = True


class BOGDRegressor(BOGD, KernelRegressor):
    """Bounded online gradient descent, regression: kernel gradient descent with weight decay on a fixed budget.

    For drifting targets in O(B) per sample; `BPARegressor` has a smaller error on TrumpApproval and cadata.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    budget
        Maximum number of support vectors.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    l2
        λ: at each sample f is multiplied by 1 - ηλ.
    max_coef
        Coefficients are clipped to this absolute value after each addition; γη in the paper. None: no clipping.
    sampling
        Which support vector is evicted: "uniform" (BOGD), or "magnitude" (BOGD++), which favours those of small |α|√κ(x, x).
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - The paper is about classification; the rule is the same for any convex loss.
    - See `BOGDClassifier` for the probabilities. Clipping biases the step; it bounds the coefficients, which
      grow by the rescaling. A scheduler's step above 1/λ sets f to 0.
    - river's squared loss is (p-y)², so its step is twice that of (p-y)²/2.
    - The sample weight multiplies the gradient, not the decay.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import BOGDRegressor

    >>> model = preprocessing.StandardScaler() | BOGDRegressor(seed=42)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 38.3

    References
    ----------
    [^1]: [Zhao, P., Wang, J., Wu, P., Jin, R. and Hoi, S.C.H., 2012. Fast bounded online gradient descent algorithms for scalable kernel-based online learning. In Proceedings of the 29th International Conference on Machine Learning, pp.1075-1082.](https://arxiv.org/abs/1206.4633)

    """
