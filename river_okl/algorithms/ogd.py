"""NORMA: stochastic gradient descent on the regularised risk; f forgets exponentially."""

from __future__ import annotations

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import GradientDescent
from river_okl.checks import check_shrinkage, rate
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel


class OGD(GradientDescent):
    """NORMA for both tasks."""

    _mutable_attributes = {"learning_rate", "l2"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 0.3,
        l2: float = 0.01,
    ):
        super().__init__(kernel, loss, learning_rate)
        check_shrinkage(learning_rate, l2)
        self.l2 = l2
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        eta = rate(self.learning_rate, self._t)
        f.scale(max(0.0, 1.0 - eta * self.l2))  # eq. (11): f ← (1-ηλ) f - η ℓ'(f(x_t)) κ_t
        if g != 0.0:
            f.add(-eta * g)


class OGDClassifier(OGD, KernelClassifier):
    """NORMA, classification: kernel gradient descent with weight decay, for drifting concepts.

    Every sample with a loss becomes a permanent support vector; for long streams use `BOGDClassifier`, its budgeted version.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    l2
        λ: at each sample f is multiplied by 1 - ηλ.

    Notes
    -----
    - Without the offset b and the adaptive margin ρ of the paper, as in later comparisons; NORMA's truncation
      of old terms is left out too.
    - f also decays on samples without a loss.
    - A scheduler's step above 1/λ sets f to 0; a constant rate of this size is rejected.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient, not the decay.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OGDClassifier

    >>> model = preprocessing.StandardScaler() | OGDClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.7%

    References
    ----------
    [^1]: [Kivinen, J., Smola, A.J. and Williamson, R.C., 2004. Online learning with kernels. IEEE Transactions on Signal Processing, 52(8), pp.2165-2176.](https://doi.org/10.1109/TSP.2004.830991)

    """

    _multiclass = True


class OGDRegressor(OGD, KernelRegressor):
    """NORMA, regression: kernel gradient descent with weight decay, for drifting targets.

    Every sample becomes a permanent support vector; for long streams use `BOGDRegressor`, its budgeted version.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    l2
        λ: at each sample f is multiplied by 1 - ηλ.

    Notes
    -----
    - See `OGDClassifier` for what is left out of the paper and for the decay.
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - With the squared loss this is the NORMA of kernel adaptive filtering. With `l2=0` it is kernel least
      mean squares (KLMS) with twice its learning rate.
    - The sample weight multiplies the gradient, not the decay.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import OGDRegressor

    >>> model = preprocessing.StandardScaler() | OGDRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 14.9

    References
    ----------
    [^1]: [Kivinen, J., Smola, A.J. and Williamson, R.C., 2004. Online learning with kernels. IEEE Transactions on Signal Processing, 52(8), pp.2165-2176.](https://doi.org/10.1109/TSP.2004.830991)

    """
