"""Explicit kernel features for any River model: random Fourier features, and Nyström coordinates on selected samples."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import to_native_frame

from river_okl._core.function.fourier import FourierExpansion
from river_okl._core.linalg import dot, times, transposed_times
from river_okl.checks import check_between, check_gaussian, check_weight, check_whole, random_key
from river_okl.frames import frame_of, rows_of
from river_okl.kernels import Kernel
from river_okl.model import KernelEstimator, UnsupervisedModel, locked

DEPENDENT = 1e-8  # of κ(x, x): δ² below it is rounding


@functools.lru_cache(maxsize=16)
def numbered(n: int, *names: str) -> list[str]:
    """Names with the numbers below n: a cached list, which must not be modified."""
    return [f"{name}{i}" for name in names for i in range(n)]


class KernelFeatures(UnsupervisedModel, KernelEstimator, base.MiniBatchTransformer):
    """A transformer with features in a fixed order."""

    def _features(self, x: Any) -> list[float]:
        """The features of a sample."""
        raise NotImplementedError

    def _names(self, n: int) -> list[str]:
        raise NotImplementedError

    @locked
    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """The features of x, by name."""
        values = self._features(x)
        return dict(zip(self._names(len(values)), values, strict=True))

    @locked
    def transform_many(self, X: Any) -> Any:
        """The features of the rows of a dataframe, one column each."""
        frame = frame_of(X)
        rows = [self._features(row) for row in rows_of(frame)]
        names = self._names(len(rows[0]) if rows else len(self._features({})))
        return to_native_frame(np.array(rows).reshape(len(rows), len(names)), columns=names, like=frame)

    @locked
    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the kernel's bandwidth with one sample; `NystroemFeatures` may select it, unless its weight is 0."""
        check_weight(w)
        self._f.observe(x)


class RandomFourierFeatures(KernelFeatures):
    """Random Fourier features of a Gaussian kernel, for any River model: a linear model on them is non-linear in x.

    Two features per random frequency, however many features a sample has: memory is constant from the start.

    Parameters
    ----------
    kernel
        `RBF` with one gamma; None: `RBF()`.
    n_components
        D, the number of random frequencies; there are 2D features, `cos0`, `sin0`, `cos1`, ...
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - Features are √2 cos(ω·x) and √2 sin(ω·x), on the scale of standardised features, as River's models
      expect; so z(x)·z(x') is 2D times the kernel, with an error of order 2√D.
    - River's `feature_extraction.RBFSampler` approximates another kernel: its cosines depend on one feature
      of x each, so it has no interactions.
    - The frequencies of a feature are a function of the seed and its name, so features may appear in any
      order and disappear (details in `FOGDClassifier`).
    - With `RBF()` the features change with the data-driven gamma for the first 200 samples.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from river_okl import RandomFourierFeatures

    >>> model = preprocessing.StandardScaler() | RandomFourierFeatures(seed=42) | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 87.04%

    References
    ----------
    [^1]: [Rahimi, A. and Recht, B., 2007. Random features for large-scale kernel machines. Advances in Neural Information Processing Systems, 20.](https://papers.nips.cc/paper/2007/hash/013a006f03dbc5392effeb8f18fda755-Abstract.html)

    """

    _make = FourierExpansion

    def __init__(self, kernel: Kernel | None = None, *, n_components: int = 25, seed: int | None = None):
        check_gaussian(kernel, "RandomFourierFeatures")
        check_whole("n_components", n_components)
        self.n_components = n_components
        self.seed = seed
        super().__init__(kernel, n_components=n_components, key=random_key(seed))

    def _features(self, x: Any) -> list[float]:
        return self._f.features_of(x, math.sqrt(2.0 * self.n_components))

    def _names(self, n: int) -> list[str]:
        return numbered(n // 2, "cos", "sin")


class NystroemFeatures(KernelFeatures):
    """Nyström features: coordinates of a sample on samples selected from the stream, for any River model and any kernel.

    A sample is selected if it is far from the span of those selected before, until the budget is full. Each
    selection adds a coordinate and leaves the others unchanged, so a model's weights stay valid.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of selected samples, and of features: `nystroem0`, `nystroem1`, ...
    tolerance
        A sample is selected if its distance from the span of the selected samples, relative to the norm of κ(x, ·), is larger.

    Notes
    -----
    - With K = L Lᵀ the Gram matrix of the selected samples, features are √B L⁻¹ k(x), B the budget:
      z(x)·z(x') is B times the kernel of the projections on their span. The factor √B is for River's models,
      which expect standardised features.
    - Samples are selected by the ALD (approximate linear dependence) residual, like Projectron's support
      vectors, but independently of labels.
    - With `RBF()` the coordinates change with the data-driven gamma for the first 200 samples.
    - O(B d + B²) time per sample, and B² numbers of memory.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from river_okl import NystroemFeatures

    >>> model = preprocessing.StandardScaler() | NystroemFeatures() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 88.68%

    References
    ----------
    [^1]: [Williams, C. and Seeger, M., 2001. Using the Nyström method to speed up kernel machines. Advances in Neural Information Processing Systems, 13.](https://papers.nips.cc/paper/2000/hash/19de10adbaa1b2ee13f77f679fa1483a-Abstract.html)
    [^2]: [Orabona, F., Keshet, J. and Caputo, B., 2009. Bounded kernel-based online learning. Journal of Machine Learning Research, 10, pp.2643-2666.](https://www.jmlr.org/papers/v10/orabona09a.html)

    """

    _merging = {
        "_inverse": "its features are coordinates on samples of one stream; RandomFourierFeatures(seed=...) merges"
    }

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 50, tolerance: float = 0.1):
        check_between("tolerance", tolerance, 0.0, 1.0)
        self.budget = budget
        self.tolerance = tolerance
        super().__init__(kernel, budget=budget)
        self._inverse = np.zeros((0, 0))  # L⁻¹
        self._gammas: tuple[float, ...] = ()  # of the kernel when it was computed

    def _features(self, x: Any) -> list[float]:
        self._f.evaluate(x)
        row = self._f.row[: len(self._inverse)]  # an interrupted step may have added a sample
        return (math.sqrt(self.budget) * times(self._inverse, row)).tolist()

    def _names(self, n: int) -> list[str]:
        return numbered(n, "nystroem")

    @locked
    def learn_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Update the bandwidth with one sample, which may be selected if its weight is positive."""
        w = check_weight(w)
        f = self._f
        f.observe(x)
        if self._gammas != f.kernel.gammas or len(self._inverse) != len(f):
            self._factorise()
        if len(f) == self.budget or w == 0.0:
            return
        c = times(self._inverse, f.row)  # L⁻¹ k, so that Pκ(x, ·) has the norm ‖c‖
        residual = f.self_similarity - dot(c, c)
        if residual > max(self.tolerance**2, DEPENDENT) * f.self_similarity:
            f.add(0.0)
            self._inverse = _grown(self._inverse, c, residual)

    def _factorise(self) -> None:
        """L⁻¹ from the Gram matrix; a sample that depends on earlier ones under this γ has the coordinate 0."""
        inverse, K = np.zeros((0, 0)), self._f.gram()
        for i in range(len(K)):
            c = times(inverse, np.ascontiguousarray(K[i, :i]))
            residual = K[i, i] - dot(c, c)
            inverse = _grown(inverse, c, residual if residual > DEPENDENT * K[i, i] else math.inf)
        self._inverse, self._gammas = inverse, self._f.kernel.gammas

    def _check_state(self) -> None:
        super()._check_state()
        n = len(self._inverse)
        if self._inverse.shape != (n, n) or n > len(self._f):
            raise ValueError(f"a factor of shape {self._inverse.shape} for {len(self._f)} samples")


def _grown(inverse: NDArray[np.float64], c: NDArray[np.float64], residual: float) -> NDArray[np.float64]:
    """L⁻¹ with one more row, (-cᵀL⁻¹, 1)/δ, for a sample with coordinates c and this δ²."""
    n, delta = len(inverse), math.sqrt(residual)
    grown = np.zeros((n + 1, n + 1))
    grown[:n, :n] = inverse
    grown[n, :n] = -transposed_times(inverse, c) / delta
    grown[n, n] = 1.0 / delta
    return grown
