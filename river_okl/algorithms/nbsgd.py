"""Le et al. 2016: kernel SGD (Pegasos), with budget maintenance (BSGD), and with random maintenance (NBSGD)."""

from __future__ import annotations

import math
from typing import Any

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.suffix_average import SuffixAverage
from river_okl.algorithms.support import fuse, project_on_nearest, project_on_others
from river_okl.checks import (
    Budget,
    check_between,
    check_choice,
    check_gaussian,
    check_positive,
    check_seed,
    check_whole,
)
from river_okl.decision import KernelClassifier, KernelModel, KernelRegressor
from river_okl.kernels import Kernel


class SGD(KernelModel):
    """Algorithms 1, 2 and 3 for both tasks; they differ in ``_maintain``."""

    _merging = {"_y_max": "max", "_in_ball": "parameters"}

    def __init__(self, kernel: Kernel | None, loss: optim.losses.Loss | None, l2: float, **expansion: Any):
        check_positive("l2", l2)
        self.l2 = l2
        self._t = 0
        self._y_max = 0.0
        self._in_ball = l2 <= 1.0 and isinstance(loss or self._default_loss, optim.losses.Squared)
        super().__init__(kernel, norm=self._in_ball, **expansion)
        self._set_loss(loss)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        self._y_max = max(self._y_max, abs(y))
        f.scale((self._t - 1.0) / self._t)  # line 4
        if g != 0.0:
            f.add(-g / (self.l2 * self._t))  # line 6, η_t = 1/(λt)
            self._maintain()
            if self._in_ball:
                f.project_on_ball(self._y_max / math.sqrt(self.l2))  # line 16

    def _maintain(self) -> None:
        """Called after a support vector was added."""


class KernelSGD(SGD):
    """Algorithm 1."""

    def __init__(self, kernel: Kernel | None = None, *, loss: optim.losses.Loss | None = None, l2: float = 1e-3):
        super().__init__(kernel, loss, l2)


class BSGD(SGD):
    """Algorithm 2."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        l2: float = 1e-3,
        budget: Budget = 500,
        maintenance: str = "removal",
    ):
        check_choice("maintenance", maintenance, ("removal", "projection", "merging"))
        if maintenance == "merging":
            check_gaussian(kernel, "merging")
        self.budget = budget
        self.maintenance = maintenance
        super().__init__(kernel, loss, l2, budget=budget, spare=True, inverse=maintenance == "projection")

    def _maintain(self) -> None:
        f = self._f
        if len(f) > f.budget:  # line 8
            p = f.smallest()  # eq. (5)
            if self.maintenance == "removal":
                f.remove(p)
            else:
                _pass_on(f, p, self.maintenance)


def _pass_on(f: Expansion, p: int, maintenance: str, n_neighbors: int = 0) -> None:
    """Remove p, whose term goes to others."""
    if maintenance == "projection":
        project_on_others(f, p)  # section 6.2.1
    elif maintenance == "approximate":
        project_on_nearest(f, p, n_neighbors)  # section 6.2.2
    else:
        fuse(f, p)


# The classes --------------------------------------------------------------------------------------


class NBSGD(SuffixAverage, SGD):
    """Algorithm 3."""

    _mutable_attributes = {"beta"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        l2: float = 1e-3,
        budget: int = 100,
        beta: float = 1000.0,
        maintenance: str = "removal",
        n_neighbors: int = 4,
        suffix: float = 0.0,
        seed: int | None = None,
    ):
        check_whole("budget", budget)
        check_between("budget", budget, 1, 2**31 - 1)  # positions are 32-bit
        check_positive("beta", beta)
        check_choice("maintenance", maintenance, ("removal", "projection", "approximate", "merging"))
        check_whole("n_neighbors", n_neighbors)
        check_between("suffix", suffix, 0.0, 1.0)
        if maintenance == "merging":
            check_gaussian(kernel, "merging")
        self.budget = budget
        self.beta = beta
        self.maintenance = maintenance
        self.n_neighbors = n_neighbors
        self.suffix = suffix
        self.seed = seed
        self._rng = check_seed(seed)
        super().__init__(kernel, loss, l2, inverse=maintenance == "projection", n_outputs=3 if suffix else 1)
        if suffix:
            self._check_suffix()
            self._start_average()

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        t = self._t
        try:
            super()._step(f, y, p, w)
            if self.suffix:
                self._advance()
        except BaseException:
            if self.suffix and self._t > t:  # what belongs to the average may not agree
                f.lock.fail()
            raise

    def _maintain(self) -> None:
        f = self._f
        if self.suffix:
            self._register()
        if len(f) > self.budget and self._rng.random() < min(1.0, self.beta / self._t):  # lines 8 and 9
            p = f.smallest()  # eq. (5)
            if self.suffix:
                self._retire(p)
            elif self.maintenance == "removal":
                f.remove(p)
            else:
                _pass_on(f, p, self.maintenance, self.n_neighbors)

    def _check_suffix(self) -> None:
        if self.maintenance != "removal":
            raise ValueError(
                f"suffix is {self.suffix!r} with maintenance={self.maintenance!r}; averages require removal: "
                f"give maintenance='removal' or suffix=0"
            )
        if self._in_ball:
            raise ValueError(
                f"suffix is {self.suffix!r} with the squared loss and l2={self.l2!r}, which projects f on a ball; averages "
                f"do not support that: give another loss, l2 above 1, or suffix=0"
            )


class KernelSGDClassifier(KernelSGD, KernelClassifier):
    """Kernel SGD, classification: Pegasos, the stochastic gradient solver of the support vector machine.

    A one-pass batch solver, for comparison: every sample with a loss becomes a permanent support vector.
    Otherwise use `NBSGDClassifier` or `BSGDClassifier`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).

    Notes
    -----
    - The first steps are of size 1/λ: scores are large for about the first 1/λ samples.
    - With the squared loss and λ ≤ 1, f is kept in the ball of radius y_max/√λ, y_max the largest |y| so far.
      The paper has this only in Algorithms 2 and 3, but without it f overflows within a few hundred samples.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient of the loss, not of the regulariser.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import KernelSGDClassifier

    >>> model = preprocessing.StandardScaler() | KernelSGDClassifier(l2=1e-3)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.5%

    References
    ----------
    [^1]: [Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A., 2011. Pegasos: primal estimated sub-gradient solver for SVM. Mathematical Programming, 127(1), pp.3-30.](https://doi.org/10.1007/s10107-010-0420-4)
    [^2]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    _multiclass = True


class KernelSGDRegressor(KernelSGD, KernelRegressor):
    """Kernel SGD, regression: the stochastic gradient solver of regularised kernel regression.

    A one-pass batch solver, for comparison: every sample becomes a permanent support vector. Otherwise use
    `NBSGDRegressor` or `BSGDRegressor`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).

    Notes
    -----
    - The first steps are of size 1/λ: predictions are too large for about the first 1/λ samples.
    - With the squared loss and λ ≤ 1, f is kept in the ball of radius y_max/√λ, y_max the largest |y| so far.
    - river's squared loss is (p-y)², as in the paper's Theorem 1.
    - The sample weight multiplies the gradient of the loss, not of the regulariser.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import KernelSGDRegressor

    >>> model = preprocessing.StandardScaler() | KernelSGDRegressor(l2=1e-2)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 23.6

    References
    ----------
    [^1]: [Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A., 2011. Pegasos: primal estimated sub-gradient solver for SVM. Mathematical Programming, 127(1), pp.3-30.](https://doi.org/10.1007/s10107-010-0420-4)
    [^2]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    def __init__(self, kernel: Kernel | None = None, *, loss: optim.losses.Loss | None = None, l2: float = 1e-2):
        super().__init__(kernel, loss=loss, l2=l2)


class BSGDClassifier(BSGD, KernelClassifier):
    """Budgeted SGD, classification: Pegasos with at most B support vectors.

    Use it with "merging" to train a support vector machine on a long stationary stream in constant memory;
    "removal" is cheaper and less accurate.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`. "merging" needs `RBF` with one gamma.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).
    budget
        Maximum number of support vectors; a `PerClass` sets it per label.
    maintenance
        What happens to the term α_p κ_p with the smallest α_p²κ(x_p, x_p): "removal" drops it, "projection"
        projects it on all others in O(B²), "merging" fuses it with another one into a new point between the
        two, which has the features of both: a stream with ever-new feature names makes the model grow.

    Notes
    -----
    - The new support vector can be the one removed. Ties go to the oldest: with the hinge loss, an RBF kernel and "removal"
      every step is a tie, so removal is first in, first out; an argmin would depend on rounding.
    - "projection" is exact: the inverse Gram matrix is downdated by the removed point and updated by the new one, the rank-2
      replacement of the paper's Theorem 14. Points that depend on the others up to rounding (δ² < 1e-8 κ(x, x)) get that
      much jitter in the inverse, and solutions are refined with the true Gram matrix.
    - "merging" is that of Wang, Crammer & Vucetic (2012), with the optimal h in [0, 1] to full precision for
      every partner instead of a golden section search; terms of opposite signs are fused at h = 1, the
      partner's position. The fused point counts as the newest.
    - See `KernelSGDClassifier` for the first steps, the squared and the hinge loss, and the sample weight.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import BSGDClassifier

    >>> model = preprocessing.StandardScaler() | BSGDClassifier(l2=1e-3, maintenance="merging")
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.5%

    References
    ----------
    [^1]: [Wang, Z., Crammer, K. and Vucetic, S., 2012. Breaking the curse of kernelization: budgeted stochastic gradient descent for large-scale SVM training. Journal of Machine Learning Research, 13, pp.3103-3131.](https://www.jmlr.org/papers/v13/wang12b.html)
    [^2]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    @property
    def _multiclass(self) -> bool:
        return self.maintenance != "merging"


class BSGDRegressor(BSGD, KernelRegressor):
    """Budgeted SGD, regression: regularised kernel regression with at most B support vectors.

    Use it with "projection" on a long stationary stream; "removal" forgets too fast for regression.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`. "merging" needs `RBF` with one gamma.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).
    budget
        Maximum number of support vectors.
    maintenance
        What happens to the removed term: "removal", "projection" or "merging", as in `BSGDClassifier`.

    Notes
    -----
    - See `BSGDClassifier` for the maintenance.
    - See `KernelSGDRegressor` for the first steps, the squared loss and the sample weight.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import BSGDRegressor

    >>> model = preprocessing.StandardScaler() | BSGDRegressor(l2=1e-2, budget=200, maintenance="projection")
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 24.8

    References
    ----------
    [^1]: [Wang, Z., Crammer, K. and Vucetic, S., 2012. Breaking the curse of kernelization: budgeted stochastic gradient descent for large-scale SVM training. Journal of Machine Learning Research, 13, pp.3103-3131.](https://www.jmlr.org/papers/v13/wang12b.html)
    [^2]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        l2: float = 1e-2,
        budget: Budget = 500,
        maintenance: str = "removal",
    ):
        super().__init__(kernel, loss=loss, l2=l2, budget=budget, maintenance=maintenance)


class NBSGDClassifier(NBSGD, KernelClassifier):
    """Nonparametric budgeted SGD, classification: the model grows with the data, ever more slowly.

    For a stationary stream whose required budget is unknown. Its size is unbounded: use `BSGDClassifier` if memory is limited.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`. "merging" needs `RBF` with one gamma.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).
    budget
        Number of support vectors above which each addition triggers maintenance with probability min(1, β/t).
    beta
        β: larger values make smaller models. The paper uses 0.6 times the length of the stream.
    maintenance
        What happens to the removed term: "removal", "projection" or "merging" as in `BSGDClassifier`, or
        "approximate", the projection on its nearest neighbours.
    n_neighbors
        Number of support vectors that "approximate" projects on.
    suffix
        γ: predict with the mean of the last ⌈γT⌉ of the T models so far instead of the last one. Requires
        "removal", and not the squared loss with l2 ≤ 1.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - The average is exact and costs O(1) per step: with removal a coefficient is c/(λt), so its sum over a
      window is a difference of harmonic numbers. A removed support vector stays in the average until the
      window has passed it, but is not counted by `n_support_vectors`: the averaged model is larger, as the
      paper notes. `support_vectors` and `norm` are those of the last model.
    - Neighbours are nearest in feature space; for an RBF kernel they are the same as in the paper's input
      space. Their Gram matrix is solved by least squares, so duplicates are harmless.
    - See `BSGDClassifier` for the maintenance and its ties.
    - See `KernelSGDClassifier` for the first steps, the squared and the hinge loss, and the sample weight.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import NBSGDClassifier

    >>> model = preprocessing.StandardScaler() | NBSGDClassifier(l2=1e-3, beta=200, suffix=0.5, seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.2%

    References
    ----------
    [^1]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    @property
    def _multiclass(self) -> bool:
        return self.maintenance != "merging" and not self.suffix


class NBSGDRegressor(NBSGD, KernelRegressor):
    """Nonparametric budgeted SGD, regression: the model grows with the data, ever more slowly.

    For a stationary stream whose required budget is unknown. Its size is unbounded: use `BSGDRegressor` if memory is limited.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`. "merging" needs `RBF` with one gamma.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    l2
        λ of the regulariser λ/2 ‖f‖²; the step is 1/(λt).
    budget
        Number of support vectors above which each addition triggers maintenance with probability min(1, β/t).
    beta
        β: larger values make smaller models. The paper uses 0.6 times the length of the stream.
    maintenance
        What happens to the removed term: "removal", "projection", "approximate" or "merging", as in
        `NBSGDClassifier`.
    n_neighbors
        Number of support vectors that "approximate" projects on.
    suffix
        γ: predict with the mean of the last ⌈γT⌉ of the T models so far instead of the last one. Requires
        "removal", and not the squared loss with l2 ≤ 1.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - See `NBSGDClassifier` for the average, the neighbours and the maintenance.
    - See `KernelSGDRegressor` for the first steps, the squared loss and the sample weight.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import NBSGDRegressor

    >>> model = preprocessing.StandardScaler() | NBSGDRegressor(l2=1e-2, maintenance="approximate", seed=42)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 28.2

    References
    ----------
    [^1]: [Le, T., Nguyen, V., Nguyen, T.D. and Phung, D., 2016. Nonparametric budgeted stochastic gradient descent. In Proceedings of the 19th International Conference on Artificial Intelligence and Statistics, pp.654-662.](https://proceedings.mlr.press/v51/le16.html)

    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        loss: optim.losses.Loss | None = None,
        l2: float = 1e-2,
        budget: int = 100,
        beta: float = 1000.0,
        maintenance: str = "removal",
        n_neighbors: int = 4,
        suffix: float = 0.0,
        seed: int | None = None,
    ):
        super().__init__(
            kernel,
            loss=loss,
            l2=l2,
            budget=budget,
            beta=beta,
            maintenance=maintenance,
            n_neighbors=n_neighbors,
            suffix=suffix,
            seed=seed,
        )
