"""Lu et al. 2016: linear online gradient descent on features that stand for the kernel, random ones or from Nyström's method."""

from __future__ import annotations

import functools
import hashlib
import math
import numbers
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl._core.function.fourier import RandomFeatures
from river_okl._core.linalg import eigen, transposed_times
from river_okl._core.sample import Frame
from river_okl.checks import check_gaussian, check_learning_rate, check_seed, check_whole
from river_okl.kernels import Kernel
from river_okl.maintenance import check_basis, move_in_basis, set_in_basis, weights_of_classes
from river_okl.model import KernelClassifier, KernelModel, KernelRegressor, locked
from river_okl.rates import rate

Direction = list[tuple[NDArray[np.float64], float]]  # weights, and how far a sample's direction points to them

NEGLIGIBLE = 1e-10  # of the largest eigenvalue: what is below is rounding, and its eigenvector noise


# Random Fourier features --------------------------------------------------------------------------


def frequencies(seed: int, name: Hashable, n_components: int) -> NDArray[np.float64]:
    """The column of U of one feature for γ = 1/2: standard normal numbers that follow from the seed and the name alone.

    By Box and Muller from the bits of PCG64, which NumPy promises to keep as they are.
    """
    key = hashlib.blake2b(repr((seed, canonical(name))).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    bits = np.random.PCG64(int.from_bytes(key, "little")).random_raw(2 * n_components)
    u, v = ((bits >> np.uint64(11)).astype(np.float64) + 0.5).reshape(2, n_components) * 2.0**-53
    column: NDArray[np.float64] = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * math.pi * v)
    return column


def canonical(name: Hashable) -> Hashable:
    """The same for names that are equal as keys of a dict: 1, 1.0 and True; "a" and a string subclass."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, tuple):
        return tuple(map(canonical, name))
    if isinstance(name, numbers.Real | np.bool_):
        return int(name) if math.isfinite(name) and name == int(name) else float(name)
    return name


def random_features(key: int, n_components: int) -> RandomFeatures:
    """z(x) with the frequencies of this key; scratch, which is made anew where it is not there."""
    return RandomFeatures(n_components, functools.partial(frequencies, key, n_components=n_components))


class FOGD(KernelModel):
    """Fourier online gradient descent for both tasks."""

    __slots__ = ("_z",)  # and so neither copied nor saved: it follows from the rest
    _z: RandomFeatures

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
        check_learning_rate(learning_rate)
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.seed = seed
        super().__init__(kernel)  # stays empty: it checks samples and knows γ
        self._set_loss(loss)
        self._key = int(2.0**53 * check_seed(seed).random())
        self._w = np.zeros(0)  # 2D weights, once for each class; none: all are 0
        self._t = 0

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"learning_rate"}

    def _check_state(self) -> None:
        super()._check_state()
        if len(self._w) not in [2 * self.n_components * n for n in range(max(1, self._f.n_classes) + 1)]:
            raise ValueError(f"{len(self._w)} weights for {self.n_components} components, {self._f.n_classes} classes")

    def _look(self, x: Any, number: int = -1) -> tuple[Direction, float]:
        """The weights along the direction of x in place of f, with the γ that x is predicted with."""
        if number < 0 and len(self._w):
            p = self._decision(x)
            self._f.observe(x)
            return [(self._w, 1.0)], p
        W = self._columns()
        scores = [self._value(x, w) for w in W]  # refuses what is no sample
        self._f.observe(x, number)
        if len(self._w) != 2 * self.n_components * len(W):
            self._w = np.concatenate(W)
            W = self._columns()
        if number < 0:
            return [(self._w, 1.0)], scores[0]
        rival = max((c for c in range(len(W)) if c != number), key=scores.__getitem__)
        unit = math.sqrt(0.5)
        return [(W[number], unit), (W[rival], -unit)], unit * (scores[number] - scores[rival])

    def _step(self, f: Direction, y: float, p: float, w: float) -> None:
        g = w * self._derivative(y, p)
        self._t += 1
        if g != 0.0:
            step = -rate(self.learning_rate, self._t) * g
            for weights, unit in f:
                self._z.move(self._f.rows, unit * step, weights)

    def _columns(self) -> list[NDArray[np.float64]]:
        """w, or one for each class: parts of ``_w`` where it has them all."""
        return list(weights_of_classes(self._w, 2 * self.n_components, self._f.n_classes))

    def _value(self, x: Any, w: NDArray[np.float64]) -> float:
        try:
            z = self._z
        except AttributeError:
            z = self._z = random_features(self._key, self.n_components)
        return z.value(self._f.rows, x, w)

    def _decision(self, x: Any) -> float:
        return self._value(x, self._columns()[0] if self._f.n_classes or not len(self._w) else self._w)

    def _decisions(self, frame: Frame) -> NDArray[np.float64]:
        W = self._columns()
        return np.array([[self._value(row, w) for w in W] for row in frame], dtype=np.float64).reshape(-1, len(W))

    @property
    @locked
    def norm(self) -> float:
        """The norm of w, which is that of f in the space of the kernel z(x) · z(x')."""
        return float(np.linalg.norm(self._w))


# Nyström's method ---------------------------------------------------------------------------------


class NOGD(KernelModel):
    """Nyström online gradient descent for both tasks."""

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
        check_learning_rate(learning_rate)
        self.budget = budget
        self.rank = rank
        self.learning_rate = learning_rate
        super().__init__(kernel, budget=budget)
        self._set_loss(loss)
        self._basis: NDArray[np.float64] = np.zeros((0, 0))  # V_k D_k^(-1/2)
        self._w = np.zeros(0)
        self._gammas: tuple[float, ...] = ()  # of the kernel when the basis was made
        self._t = 0

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"learning_rate"}

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
        basis = self._basis
        if not len(basis) or self._gammas != f.kernel.gammas:  # empty: a step was interrupted in its solve
            basis = self._approximate()
        basis = np.ascontiguousarray(basis)  # older files have it by columns
        self._w = move_in_basis(f, basis, self._w, -eta * g)  # z(x) = D_k^(-1/2) V_kᵀ k(x)

    def _check_state(self) -> None:
        super()._check_state()
        rows, columns = self._basis.shape
        right = rows in (0, len(self._f)) and len(self._w) in [
            columns * n for n in range(1, max(1, self._f.n_classes) + 1)
        ]
        if not right or not all(type(gamma) is float for gamma in self._gammas):
            raise ValueError(
                f"a basis of {rows} × {columns} for {len(self._f)} support vectors, {len(self._w)} weights"
            )
        check_basis(self._f, self._basis)

    def _approximate(self) -> NDArray[np.float64]:
        """From here on f is linear in z, starting from the best image of f of this rank."""
        f = self._f
        D, V = eigen(f.gram())  # smallest first, vectors as rows
        k = self.rank or max(1, self.budget // 5)
        chosen = [i for i in range(self.budget - 1, self.budget - 1 - k, -1) if D[i] > NEGLIGIBLE * D[-1]]
        D, V = D[chosen], np.ascontiguousarray(V[chosen].T)
        W = np.array([np.sqrt(D) * transposed_times(V, np.ascontiguousarray(alpha)) for alpha in f.columns.T])
        basis: NDArray[np.float64] = V / np.sqrt(D)
        self._basis = basis
        self._w = W.ravel()
        self._gammas = f.kernel.gammas
        set_in_basis(f, basis, W)
        return basis


class FOGDClassifier(FOGD, KernelClassifier):
    """Fourier online gradient descent, classification: a linear model on random features of a Gaussian kernel.

    Memory and time are constant from the start and no samples are stored: use it if samples must not be kept, or for many
    samples with few features.

    Parameters
    ----------
    kernel
        `RBF` with one gamma; None: `RBF()`.
    n_components
        D, the random frequencies; the model has 2D numbers.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - z(x)·z(x') is the kernel up to an error of the order of 1/√D.
    - The frequencies of a feature are a function of the seed and its name, so that the order in which features appear
      does not matter, and they are not part of the model. A name that is neither a string, a number nor a tuple of such
      counts by its repr, which must be the same in each run.
    - Those of the last 1,000 to 2,000 names are kept, 8D bytes each: a cache, which is no part of a saved model.
    - With `RBF()` z(x) changes with the data-driven gamma for the first 200 samples; the weights stay.
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

    def _scores(self, x: Any) -> list[float]:
        if not self._f.n_classes:
            return [self._decision(x)]
        return [self._value(x, w) for w in self._columns()][: len(self._labels)]


class FOGDRegressor(FOGD, KernelRegressor):
    """Fourier online gradient descent, regression: a linear model on random features of a Gaussian kernel.

    Memory and time are constant from the start and no samples are stored: use it if samples must not be kept, or for many
    samples with few features.

    Parameters
    ----------
    kernel
        `RBF` with one gamma; None: `RBF()`.
    n_components
        D, the random frequencies; the model has 2D numbers.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - z(x)·z(x') is the kernel up to an error of the order of 1/√D; the frequencies of a feature are a function of the seed
      and its name (`FOGDClassifier` says more).
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
    """Nyström online gradient descent, classification: a linear model on features from the first B samples with a loss.

    For stationary streams, whose first samples span the later ones: support vectors are never replaced.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        B, the support vectors; from the sample that fills it on their set stays.
    rank
        k, the leading eigenvectors of their Gram matrix that are features. None: a fifth of the budget.
    loss
        A binary loss of `river.optim.losses`. None: `Hinge()`.
    learning_rate
        η, the step before and after; or a `river.optim.schedulers` object.

    Notes
    -----
    - At the switch w is such that wᵀz(x) is the best image of f of that rank (f itself except for the small eigenvalues). The
      paper leaves w open; to start from 0 would forget all that was learned.
    - Eigenvalues below 1e-10 of the largest are left out of the k.
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
    """Nyström online gradient descent, regression: a linear model on features from the first B samples.

    For stationary streams, whose first samples span the later ones: support vectors are never replaced.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        B, the support vectors; from the sample that fills it on their set stays.
    rank
        k, the leading eigenvectors of their Gram matrix that are features. None: a fifth of the budget.
    loss
        A regression loss of `river.optim.losses` or `river_okl.losses`. None: `Squared()`.
    learning_rate
        η, the step before and after; or a `river.optim.schedulers` object.

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
