"""Zhang & Liao 2019: gradient descent on features from a randomised sketch of the Gram matrix, updated along the stream."""

from __future__ import annotations

import math

import numpy as np
from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import dot, eigen, transposed_times
from river_okl.algorithms.support import Arrays, LinearInBasis
from river_okl.checks import check_learning_rate, check_seed, check_whole, rate
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel

CUT_OFF = 1e-8  # of the largest singular value, in a pseudo-inverse
EVERY = 100  # margin errors between two updates of the sketch, if no horizon is known


class SkeGDClassifier(LinearInBasis, KernelClassifier):
    """SkeGD: a linear model on features from a random sketch of the Gram matrix, which is updated periodically.

    Its features follow the stream. `FOGDClassifier` and `NOGDClassifier` are more accurate and faster on Bananas, Phishing and Elec2.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        B, the number of support vectors: the sketch has 3B/4 columns, a fifth of that many columns are
        sampled for the features, and there are B/10 features.
    learning_rate
        η, the step; or a `river.optim.schedulers` object.
    horizon
        T, the length of the stream: the sketch is updated every ⌊0.3 (T - B)⌋ margin errors. None: every 100.
    seed
        Seed of the sketch; None: different in each run.

    Notes
    -----
    - With K the Gram matrix of the B points, S_p a sketch whose rows have one entry ±1 each, and S_m a sample
      of columns, features are φ(x) = Qᵀ k_m(x), Q = (S_pᵀ K S_m)⁺ V_k Σ_k^(1/2) with S_pᵀ K S_p ≈ V_k Σ_k
      V_kᵀ. The first w is f(x) φ/‖φ‖² at the first sample beyond the buffer. Sizes, η and the update interval
      are those of the authors' program.
    - The paper's sketch grows by a row, and all points are kept for their similarities to later ones. Here
      the new point replaces the oldest one outside the sampled columns, so that the budget holds and the
      sketch matches the points.
    - The program keeps w when Q becomes Q', although the features change; here f is carried over, w ← Q'⁺ Q
      w. Its pseudo-inverses cut off singular values at 1e-8; here that is relative to the largest.
    - If gamma still changes after the switch (`RBF()` and fewer than 200 samples), the features are recomputed from f.
    - The sample weight multiplies the step.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import SkeGDClassifier

    >>> model = preprocessing.StandardScaler() | SkeGDClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 82.47%

    References
    ----------
    [^1]: [Zhang, X. and Liao, S., 2019. Incremental randomized sketching for online kernel learning. Proceedings of the 36th International Conference on Machine Learning, PMLR 97, pp.7394-7403.](https://proceedings.mlr.press/v97/zhang19h.html)

    """

    _multiclass = True
    _merging = {"_sketch": "its features are a random sketch of the points of one stream"}
    _mutable_attributes = {"learning_rate"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 100,
        learning_rate: float | optim.base.Scheduler = 0.2,
        horizon: int | None = None,
        seed: int | None = None,
    ):
        check_whole("budget", budget)
        check_learning_rate(learning_rate)
        if horizon is not None:
            check_whole("horizon", horizon)
        self.budget = budget
        self.learning_rate = learning_rate
        self.horizon = horizon
        self.seed = seed
        super().__init__(kernel, budget=budget)
        self._rng = check_seed(seed)
        self._sketch = np.zeros(0, dtype=np.int64)  # for each row of S_p the column of its entry, from 1, with its sign
        self._sampled = np.zeros(0, dtype=np.int64)  # whether a point is in the sample of columns
        self._start_without_basis()  # Q, with rows of 0 for points outside the sample
        self._t = 0
        self._errors = 0  # since the switch

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """s_p, s_m, k"""
        s_p = max(1, 3 * self.budget // 4)
        return s_p, max(1, s_p // 5), max(1, self.budget // 10)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        self._t += 1
        if y * p >= 1.0 or w == 0.0:  # no margin error
            return
        step = rate(self.learning_rate, self._t) * y * w
        if len(f) < self.budget:
            f.add(step)
            return
        if not len(self._sketch):
            self._start(f)
        elif self._gammas != f.kernel.gammas:
            self._carry_over(f)
        self._errors += 1
        if self._errors % self._interval() == 0:
            self._renew(f)
        self._move(f, step)

    def _interval(self) -> int:
        return EVERY if self.horizon is None else max(1, 3 * (self.horizon - self.budget) // 10)

    def _row(self) -> int:
        """One more row of S_p."""
        column = 1 + self._rng.randrange(self._sizes[0])
        return column if self._rng.random() < 0.5 else -column

    def _start(self, f: Expansion) -> None:
        """The first features, and the w that keeps f at the last sample."""
        _, s_m, _ = self._sizes
        sketch, sampled = np.array([self._row() for _ in range(self.budget)]), np.zeros(self.budget, dtype=np.int64)
        sampled[self._rng.sample(range(self.budget), s_m)] = 1
        self._sketch, self._sampled = sketch, sampled
        Q = self._approximate(f)
        phi = transposed_times(Q, f.row)
        square = dot(phi, phi)
        values = transposed_times(f.columns, f.row)
        self._set_basis(f, Q, np.outer(values / square if square > 0.0 else 0.0 * values, phi))

    def _renew(self, f: Expansion) -> None:
        """Replace the oldest point outside the sampled columns by the last sample, in S_p, too."""
        outside = np.flatnonzero(self._sampled == 0)
        if not len(outside):
            return
        r, last = int(outside[f.births[outside].argmin()]), self.budget - 1
        f.replace(r, 0.0, 0.0)
        for rows in (self._sketch, self._sampled):
            rows[r] = rows[last]
        self._sketch[last], self._sampled[last] = self._row(), 0
        self._carry_over(f)

    def _carry_over(self, f: Expansion) -> None:
        """New features, and the w whose function has the coefficients nearest to those of f: w ← Q'⁺ Q w."""
        Q = self._approximate(f)
        square = float(f.self_similarities.max())
        inverse = pseudo_inverse(Q, 1.0 / math.sqrt(square) if square > 0.0 else 0.0)
        self._set_basis(f, Q, np.ascontiguousarray(product(inverse, f.columns).T))

    def _approximate(self, f: Expansion) -> Arrays:
        """Q = Φ_pm⁺ V_k Σ_k^(1/2)"""
        s_p, _, k = self._sizes
        sampled, K = np.flatnonzero(self._sampled), f.gram()
        entries, signs = abs(self._sketch) - 1, np.sign(self._sketch)[:, None]
        half, phi_pp = np.zeros((s_p, self.budget)), np.zeros((s_p, s_p))
        np.add.at(half, entries, signs * K)  # S_pᵀ K
        np.add.at(phi_pp, entries, signs * half.T)  # S_pᵀ K S_p
        values, vectors = eigen(phi_pp)  # smallest first, vectors as rows
        scale = float(K.diagonal().max())  # if equal points with opposite signs cancel, only rounding is left
        least = CUT_OFF * max(scale, values[-1])
        chosen = [i for i in range(s_p - 1, max(-1, s_p - 1 - k), -1) if values[i] > least]
        Q = np.zeros((self.budget, len(chosen)))
        Q[sampled] = product(pseudo_inverse(half[:, sampled], scale), vectors[chosen].T * np.sqrt(values[chosen]))
        return Q

    def _check_state(self) -> None:
        super()._check_state()
        B, n = len(self._sketch), len(self._f)
        rows, columns = self._basis.shape
        right = B in (0, self.budget) and len(self._sampled) == B and rows == B and (not B or n == B)
        right = right and self._fits() and bool(((self._sampled == 0) | (self._sampled == 1)).all())
        most = self._sizes[0]
        right = right and bool(((-most <= self._sketch) & (self._sketch <= most) & (self._sketch != 0)).all())
        if not right:
            raise ValueError(f"a sketch of {B} rows and a basis of {rows} × {columns} for {n} support vectors")


def pseudo_inverse(A: Arrays, scale: float = 0.0) -> Arrays:
    """A⁺, from the eigenvalues ±σ of [0 A; Aᵀ 0] with eigenvectors (u, ±v)/√2; σ that are negligible beside
    the largest and beside ``scale`` are 0."""
    m, n = A.shape
    both = np.zeros((m + n, m + n))
    both[m:, :m] = A.T
    values, vectors = eigen(both)
    large = values > CUT_OFF * abs(values).max(initial=scale)
    U, V = vectors[large, :m], vectors[large, m:]
    return 2.0 * product(V.T / values[large], U)


def product(A: Arrays, B: Arrays) -> Arrays:
    """A B"""
    A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
    return np.array([transposed_times(B, a) for a in A]).reshape(len(A), B.shape[1])
