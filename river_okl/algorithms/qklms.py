"""Chen et al. 2012: quantised kernel least mean squares; a sample near a point moves its coefficient."""

from __future__ import annotations

import math

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.checks import Budget, check_learning_rate, check_positive, rate
from river_okl.decision import KernelRegressor
from river_okl.kernels import Kernel
from river_okl.losses import STEEPEST


class QKLMSRegressor(KernelRegressor):
    """Quantised kernel least mean squares: gradient descent whose samples share support vectors within a distance.

    For cheap, smooth fits: its support vectors are at least ε apart, so that their number stops growing on a bounded domain.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    epsilon
        ε: the distance within which a sample moves the coefficient of the nearest support vector. 0: kernel
        least mean squares (KLMS), in which only a repeated sample does.
    budget
        Maximum number of support vectors; when it is full, every sample moves the nearest. None: as many as ε requires.

    Notes
    -----
    - Distances are Euclidean, those of the features: scale them. The nearest is the nearest one in the
      kernel's space, which is the same for kernels of the distance.
    - The paper has no budget.
    - The sample weight multiplies the step.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import QKLMSRegressor

    >>> model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(QKLMSRegressor())
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.8

    References
    ----------
    [^1]: [Chen, B., Zhao, S., Zhu, P. and Príncipe, J.C., 2012. Quantized kernel least mean square algorithm. IEEE Transactions on Neural Networks and Learning Systems, 23(1), pp.22-32.](https://doi.org/10.1109/TNNLS.2011.2178446)

    """

    _mutable_attributes = {"learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        learning_rate: float | optim.base.Scheduler = 0.3,
        epsilon: float = 0.1,
        budget: Budget | None = None,
    ):
        check_learning_rate(learning_rate)
        check_positive("epsilon", epsilon, zero=True)
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.budget = budget
        super().__init__(kernel, **({} if budget is None else {"budget": budget}))
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        self._t += 1
        e = min(max(y - p, -STEEPEST), STEEPEST)
        step = w * rate(self.learning_rate, self._t) * e
        if step == 0.0:
            return
        if len(f):
            c = f.oldest_of_least(f.self_similarities - 2.0 * f.row + f.self_similarity)
            if len(f) == f.budget or _distance(f, c) <= self.epsilon:
                f.shift(c, step)
                return
        f.add(step)


def _distance(f: Expansion, c: int) -> float:
    """‖x - z‖ of the last sample and support vector c."""
    x, z = f.sample(), f.point(c)
    return math.sqrt(sum([(x.get(name, 0.0) - z.get(name, 0.0)) ** 2 for name in {**x, **z}]))
