"""OSKL: a sample becomes a support vector with a probability proportional to its gradient."""

from __future__ import annotations

import math

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import AveragedExpansion, GradientDescent
from river_okl.checks import check_positive, check_seed, rate
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel


class OSKLClassifier(GradientDescent, AveragedExpansion, KernelClassifier):
    """Online sparse kernel logistic regression: well-predicted samples are rarely stored.

    For probabilities from the log loss with few support vectors. Their number grows with the sum of the
    gradients, without a hard bound.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Log()`.
    learning_rate
        η, or a `river.optim.schedulers` object; a stored sample gets the coefficient ±ηG.
    bound
        G, a bound on the derivative of the loss; 1 for the log and the hinge loss.
    averaged
        Predict with the mean of all models so far, at no extra cost; updates always use the last one.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - A derivative |g| above the bound counts as the bound: such a step is smaller than -ηg on average.
    - Random numbers are drawn only if g is not 0.
    - `support_vectors` and `norm` are those of the last model, not of the average.
    - The sample weight multiplies the gradient, and so the probability, up to the bound.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OSKLClassifier

    >>> model = preprocessing.StandardScaler() | OSKLClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.2%

    References
    ----------
    [^1]: [Zhang, L., Yi, J., Jin, R., Lin, M. and He, X., 2013. Online kernel learning with a near optimal sparsity bound. In Proceedings of the 30th International Conference on Machine Learning, pp.621-629.](https://proceedings.mlr.press/v28/zhang13c.html)

    """

    _multiclass = True
    _default_loss = optim.losses.Log()

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 1.0,
        bound: float = 1.0,
        averaged: bool = True,
        seed: int | None = None,
    ):
        check_positive("bound", bound)
        self.bound = bound
        self.seed = seed
        super().__init__(kernel, loss, learning_rate, averaged=averaged)
        self._rng = check_seed(seed)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g != 0.0 and self._rng.random() < min(1.0, abs(g) / self.bound):
            eta = rate(self.learning_rate, self._t)
            self._add_averaged(-math.copysign(eta * self.bound, g))
