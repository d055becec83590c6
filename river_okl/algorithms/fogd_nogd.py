"""Lu et al. 2016: linear online gradient descent on features that approximate the kernel, random Fourier or Nyström."""

from __future__ import annotations

import numpy as np
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl._core.function.fourier import FourierExpansion
from river_okl._core.linalg import eigen, transposed_times
from river_okl.algorithms.support import GradientDescent, LinearInBasis
from river_okl.checks import check_gaussian, check_whole, random_key, rate
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel

NEGLIGIBLE = 1e-10  # of the largest eigenvalue: smaller ones are rounding, and their eigenvectors noise


# Random Fourier features --------------------------------------------------------------------------


class FOGD(GradientDescent):
    """Fourier online gradient descent for both tasks."""

    _make = FourierExpansion

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 200,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 0.3,
        seed: int | None = None,
    ):
        check_gaussian(kernel, "FOGD")
        check_whole("n_components", n_components)
        self.n_components = n_components
        self.seed = seed
        super().__init__(kernel, loss, learning_rate, n_components=n_components, key=random_key(seed))
        self._t = 0

    def _step(self, f: FourierExpansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g != 0.0:
            f.add(-rate(self.learning_rate, self._t) * g)


# Nyström's method ---------------------------------------------------------------------------------


class NOGD(GradientDescent, LinearInBasis):
    """Nyström online gradient descent for both tasks."""

    _merging = dict.fromkeys(("_basis", "_w", "_gammas"), "new")

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 100,
        rank: int | None = None,
        loss: optim.losses.Loss | None = None,
        learning_rate: float | optim.base.Scheduler = 0.3,
    ):
        check_whole("budget", budget)
        if rank is not None:
            check_whole("rank", rank)
            if rank > budget:
                raise ValueError(f"rank is {rank!r}; it must be at most the budget, {budget!r}")
        self.budget = budget
        self.rank = rank
        super().__init__(kernel, loss, learning_rate, budget=budget)
        self._start_without_basis()
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g == 0.0:
            return
        eta = rate(self.learning_rate, self._t)
        if len(f) < self.budget:
            f.add(-eta * g)
            if len(f) == self.budget:
                self._approximate()
            return
        if not len(self._basis) or self._gammas != f.kernel.gammas:  # empty: a step was interrupted in its solve
            self._approximate()
        self._move(f, -eta * g)

    def _check_state(self) -> None:
        super()._check_state()
        rows, columns = self._basis.shape
        if not ((rows == 0 or rows == len(self._f) == self.budget) and self._fits()):
            raise ValueError(
                f"a basis of {rows} × {columns} for {len(self._f)} support vectors, {len(self._w)} weights"
            )

    def _approximate(self) -> None:
        """Switch to the features z(x) = D_k^(-1/2) V_kᵀ k(x): f becomes its best approximation of rank k."""
        f = self._f
        D, V = eigen(f.gram())  # smallest first, vectors as rows
        k = self.rank or max(1, self.budget // 5)
        chosen = [i for i in range(self.budget - 1, self.budget - 1 - k, -1) if D[i] > NEGLIGIBLE * D[-1]]
        D, V = D[chosen], np.ascontiguousarray(V[chosen].T)
        W = np.array([np.sqrt(D) * transposed_times(V, np.ascontiguousarray(alpha)) for alpha in f.columns.T])
        self._set_basis(f, V / np.sqrt(D), W)


class FOGDClassifier(FOGD, KernelClassifier):
    """Fourier online gradient descent, classification: a linear model on random features of a Gaussian kernel.

    Memory and time per sample are constant from the start, and no samples are stored: use it if samples must
    not be kept, or for long streams with few features.

    Parameters
    ----------
    kernel
        `RBF` with one gamma; None: `RBF()`.
    n_components
        D, the number of random frequencies; the model has 2D weights.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - z(x)·z(x') is the kernel with an error of order 1/√D.
    - The frequencies of a feature are a function of the seed and its name, so the order in which features
      appear does not matter, and saved models do not contain them. For a name that is not a string, a number
      or a tuple of these, its repr is used, which must be the same in each run.
    - The frequencies of the last 1,000 to 2,000 names are cached, 8D bytes each.
    - With `RBF()` z(x) changes with the data-driven gamma for the first 200 samples; the weights are kept.
    - There are no support vectors; `norm` is that of the weights.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import FOGDClassifier

    >>> model = preprocessing.StandardScaler() | FOGDClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.6%

    References
    ----------
    [^1]: [Lu, J., Hoi, S.C.H., Wang, J., Zhao, P. and Liu, Z.Y., 2016. Large scale online kernel learning. Journal of Machine Learning Research, 17(47), pp.1-43.](https://www.jmlr.org/papers/v17/14-148.html)

    """

    _multiclass = True


class FOGDRegressor(FOGD, KernelRegressor):
    """Fourier online gradient descent, regression: a linear model on random features of a Gaussian kernel.

    Memory and time per sample are constant from the start, and no samples are stored: use it if samples must
    not be kept, or for long streams with few features.

    Parameters
    ----------
    kernel
        `RBF` with one gamma; None: `RBF()`.
    n_components
        D, the number of random frequencies; the model has 2D weights.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - z(x)·z(x') is the kernel with an error of order 1/√D; the frequencies of a feature are a function of the
      seed and its name (details in `FOGDClassifier`).
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import FOGDRegressor

    >>> model = preprocessing.StandardScaler() | FOGDRegressor(seed=42)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 15.1

    References
    ----------
    [^1]: [Lu, J., Hoi, S.C.H., Wang, J., Zhao, P. and Liu, Z.Y., 2016. Large scale online kernel learning. Journal of Machine Learning Research, 17(47), pp.1-43.](https://www.jmlr.org/papers/v17/14-148.html)

    """


class NOGDClassifier(NOGD, KernelClassifier):
    """Nyström online gradient descent, classification: a linear model on Nyström features of the first B samples with a loss.

    For stationary streams, whose first samples span the later ones: support vectors are never replaced.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        B, the number of support vectors; once reached, their set is fixed.
    rank
        k, the number of leading eigenvectors of the Gram matrix used as features. None: a fifth of the budget.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η, the step before and after the switch to features; or a `river.optim.schedulers` object.

    Notes
    -----
    - At the switch wᵀz(x) is the best approximation of f of rank k. The paper does not specify w; starting
      from 0 would forget everything learned.
    - Eigenvalues below 1e-10 of the largest are dropped from the k.
    - An update costs two products with the (B, k) matrix of the features, a prediction one kernel row.
    - If gamma still changes after the switch (`RBF()` and fewer than 200 samples), the features are recomputed from f.
    - The hinge loss is active for y f(x) < 1 (river's also at 1).
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import NOGDClassifier

    >>> model = preprocessing.StandardScaler() | NOGDClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.8%

    References
    ----------
    [^1]: [Lu, J., Hoi, S.C.H., Wang, J., Zhao, P. and Liu, Z.Y., 2016. Large scale online kernel learning. Journal of Machine Learning Research, 17(47), pp.1-43.](https://www.jmlr.org/papers/v17/14-148.html)

    """

    _multiclass = True


class NOGDRegressor(NOGD, KernelRegressor):
    """Nyström online gradient descent, regression: a linear model on Nyström features of the first B samples.

    For stationary streams, whose first samples span the later ones: support vectors are never replaced.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        B, the number of support vectors; once reached, their set is fixed.
    rank
        k, the number of leading eigenvectors of the Gram matrix used as features. None: a fifth of the budget.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η, the step before and after the switch to features; or a `river.optim.schedulers` object.

    Notes
    -----
    - See `NOGDClassifier` for the switch.
    - river's squared loss is (p-y)², so its step is twice that of the paper's (p-y)²/2.
    - The sample weight multiplies the gradient.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import NOGDRegressor

    >>> model = preprocessing.StandardScaler() | NOGDRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 35.2

    References
    ----------
    [^1]: [Lu, J., Hoi, S.C.H., Wang, J., Zhao, P. and Liu, Z.Y., 2016. Large scale online kernel learning. Journal of Machine Learning Research, 17(47), pp.1-43.](https://www.jmlr.org/papers/v17/14-148.html)

    """
