"""Passive-aggressive learning with kernels: PA, PA-I and PA-II for both tasks."""

from __future__ import annotations

from river_okl._core.function.expansion import Expansion
from river_okl.checks import check_choice, check_positive
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel
from river_okl.losses import NO_LOSS


def _step_size(loss: float, k: float, C: float, mode: int, w: float) -> float:
    """w τ, τ of PA, PA-I or PA-II (Crammer et al. 2006, figure 1).

    Without the bound C of PA-I a step beyond a loss of 0 would make the next one larger: such weights would diverge.
    """
    if mode == 0:
        return min(w, 1.0) * (loss / k)
    if mode == 1:
        return w * min(C, loss / k)
    return min(w * (loss / (k + 0.5 / C)), loss / k)


class KernelPAClassifier(KernelClassifier):
    """The passive-aggressive classifier with kernels: the smallest change of f that gives the sample a margin of 1.

    Every margin error becomes a permanent support vector; for long streams use `BPAClassifier` or `SPAClassifier`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    C
        Upper bound on a coefficient (PA-I) or the cost of slack (PA-II).
    mode
        0: PA, 1: PA-I, 2: PA-II, as in river's `linear_model.PAClassifier`.

    Notes
    -----
    Losses up to 1e-9 are ignored. The sample weight multiplies the step; PA and PA-II stop at a loss of 0.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import KernelPAClassifier

    >>> model = preprocessing.StandardScaler() | KernelPAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.8%

    References
    ----------
    [^1]: [Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms. Journal of Machine Learning Research, 7, pp.551-585.](https://www.jmlr.org/papers/v7/crammer06a.html)

    """

    _multiclass = True
    _mutable_attributes = {"C"}

    def __init__(self, kernel: Kernel | None = None, *, C: float = 1.0, mode: int = 1):
        check_positive("C", C)
        check_choice("mode", mode, (0, 1, 2))
        self.C = C
        self.mode = mode
        super().__init__(kernel)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        loss, sign = self._suffer(y, p)
        if loss <= NO_LOSS or w == 0.0 or f.self_similarity <= 0.0:
            return
        f.add(sign * _step_size(loss, f.self_similarity, self.C, self.mode, w))


class KernelPARegressor(KernelRegressor):
    """The passive-aggressive regressor with kernels: the smallest change of f that reduces the error to eps.

    Every sample outside the tube becomes a permanent support vector; for long streams use `BPARegressor` or `SPARegressor`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    C
        Upper bound on a coefficient (PA-I) or the cost of slack (PA-II), in units of the target.
    mode
        0: PA, 1: PA-I, 2: PA-II, as in river's `linear_model.PARegressor`.
    eps
        Errors up to eps have no loss.

    Notes
    -----
    Losses up to 1e-9 are ignored. The sample weight multiplies the step; PA and PA-II stop at a loss of 0.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import KernelPARegressor

    >>> model = preprocessing.StandardScaler() | KernelPARegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 34.9

    References
    ----------
    [^1]: [Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms. Journal of Machine Learning Research, 7, pp.551-585.](https://www.jmlr.org/papers/v7/crammer06a.html)

    """

    _mutable_attributes = {"C", "eps"}

    def __init__(self, kernel: Kernel | None = None, *, C: float = 1.0, mode: int = 1, eps: float = 0.1):
        check_positive("C", C)
        check_choice("mode", mode, (0, 1, 2))
        check_positive("eps", eps, zero=True)
        self.C = C
        self.mode = mode
        self.eps = eps
        super().__init__(kernel)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        loss, sign = self._suffer(y, p)
        self._t += 1
        if loss <= NO_LOSS or w == 0.0 or f.self_similarity <= 0.0:
            return
        f.add(sign * _step_size(loss, f.self_similarity, self.C, self.mode, w))
