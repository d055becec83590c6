"""Wang & Vucetic 2009: the twin vector machine, a support vector machine solved exactly on a summary of the stream.

At most B prototypes x_j represent the samples near the decision boundary, each with the weight s_j^y of its
samples of each label y. After every sample f is the solution of

    min  ½‖f‖² + C Σ_j [s_j^+ (1 - f(x_j))_+ + s_j^- (1 + f(x_j))_+],    f = Σ_j β_j κ(x_j, ·)

which ``_core/function/dual.pyx`` finds from the previous solution. With more than two labels there is one such function
per label, one-vs-rest, over the same prototypes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from river_okl._core.function.dual import cheapest_pair, residual, solve_dual
from river_okl._core.function.expansion import Expansion
from river_okl._core.linalg import symmetric_times
from river_okl.algorithms.support import DEPENDENT, TIE, Arrays, between
from river_okl.checks import check_choice, check_dictionary, check_positive
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel

KUHN_TUCKER = 1e-6  # bound on the residual, and the tolerance of comparing |f| with the buffer


class TVMClassifier(KernelClassifier):
    """The twin vector machine: a support vector machine, solved after every sample, on prototypes that summarise the stream.

    For comparison: on few samples it is the batch support vector machine. `BSGDClassifier` with merging has
    about the same mean error over five data sets in about a tenth of the time (`benchmarks/results/tvm.md`).

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of prototypes, B. A step costs O(B²) or more, and memory is O(B²).
    C
        The cost of the hinge loss, as in a batch support vector machine.
    buffer
        A sample with y f(x) above the buffer is far from the decision boundary and is skipped. At least 1, the margin.
    merging
        Which two prototypes are fused if there are more than B: "global", the pair with the lowest cost
        (Notes); "nearest", the new sample and its nearest prototype.

    Notes
    -----
    - The papers' full text was not available: this follows their abstracts. The buffer, the cost of merging,
      and the extension to more than two labels are our choices. There is no bias term.
    - A sample far from the boundary is skipped only if it is on the correct side. Otherwise, with buffer=1,
      the model may keep the wrong label for a whole region, as it did on Bananas (γ = 0.5, C = 10) in most
      orders of the stream.
    - A sample equal to a prototype only adds its weight. If there are more than B prototypes, the one with
      the largest |f(x_j)| is evicted if that is above the buffer. Otherwise two are fused into their weighted
      mean; "global" chooses the pair with the lowest s_i s_j/(s_i + s_j) ‖κ_i - κ_j‖², a distance in feature
      space because |f(x_i) - f(x_j)| ≤ ‖f‖ ‖κ_i - κ_j‖.
    - A fused prototype has the features of both: a stream with ever-new feature names makes the model grow.
    - With more than two labels there is one function per label, one-vs-rest, and half the difference of two
      scores replaces f(x), to which it is equal for two. The scores are these functions divided by √2.
    - The dual is solved by coordinate steps and Newton's method on the free variables, to a residual of the
      Kuhn-Tucker conditions of 1e-10, or the rounding of f, which may be larger with huge weights.
    - The sample weight multiplies C.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import TVMClassifier

    >>> model = preprocessing.StandardScaler() | TVMClassifier(budget=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.1%

    References
    ----------
    [^1]: [Wang, Z. and Vucetic, S., 2009. Twin vector machines for online learning on a budget. Proceedings of the 2009 SIAM International Conference on Data Mining, pp.906-917.](https://doi.org/10.1137/1.9781611972795)
    [^2]: [Wang, Z. and Vucetic, S., 2010. Online training on a budget of support vector machines using twin prototypes. Statistical Analysis and Data Mining, 3(3), pp.149-169.](https://doi.org/10.1002/sam.10075)

    """

    _multiclass = True
    _merging = dict.fromkeys(("_mass", "_births", "_gram", "_gammas", "_settled"), "new")
    _mutable_attributes = {"buffer"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        budget: int = 100,
        C: float = 1.0,
        buffer: float = 1.0,
        merging: str = "global",
    ):
        check_dictionary(budget)
        check_positive("C", C)
        check_positive("buffer", buffer, infinite=True)
        if buffer < 1.0:
            raise ValueError(f"buffer is {buffer!r}; it must be at least 1, the margin of the support vectors")
        check_choice("merging", merging, ("global", "nearest"))
        self.budget = budget
        self.C = C
        self.buffer = buffer
        self.merging = merging
        super().__init__(kernel, budget=budget, spare=True)
        self._mass = np.zeros((0, 2))  # s, a row for each prototype and a column for each label
        self._births = np.zeros(0, dtype=np.int64)  # of the prototypes that the rows of _mass belong to
        self._gram = np.zeros((0, 0))  # K of the prototypes
        self._gammas: tuple[float, ...] = ()  # of the kernel when K was computed
        self._settled = True  # f is the solution for these prototypes; not if a step was interrupted

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        margin = y * (f.value() if self._settle() else p)  # if solved again, f has changed since p
        if w == 0.0 or f.self_similarity <= 0.0 or self._is_beyond(margin):
            return
        label = f.direction[0][0] if f.n_classes else int(y > 0.0)
        mass = np.zeros((1, self._mass.shape[1]))
        mass[0, label] = w
        same = self._same(f)
        if same >= 0:
            masses = self._mass.copy()
            masses[same] += mass[0]
            self._commit([], masses, self._gram, self._solution(masses, self._gram, self._beta()))
            return
        self._settled = False
        f.add(0.0)
        try:
            plan = self._plan(
                np.concatenate([self._mass, mass]), _bordered(self._gram, np.arange(len(f) - 1), f.row), self.budget
            )
        except BaseException:
            f.remove(len(f) - 1)
            self._settled = True
            raise
        self._commit(*plan)

    def _is_beyond(self, distance: float) -> bool:
        return distance > self.buffer + KUHN_TUCKER

    def _same(self, f: Expansion) -> int:
        """The prototype equal to the last sample, or -1."""
        if not len(f):
            return -1
        distances = _squared_distances(f.self_similarities, f.row, f.self_similarity)
        i = f.oldest_of_least(distances)
        return i if distances[i] == 0.0 else -1

    def _plan(self, masses: Arrays, K: Arrays, most: int) -> tuple[list[int], Arrays, Arrays, Arrays]:
        """The arguments of ``_commit`` that reduce the prototypes of f, which have these weights, by one if necessary."""
        f, beta = self._f, self._beta()
        leaving = self._leaving(f, K, masses, beta) if len(f) > most else []
        if leaving:
            order = _without(len(f), leaving)
            if len(leaving) == 1:
                K, masses, beta = K[np.ix_(order, order)], masses[order], beta[order]
            else:
                i, j = leaving
                s_i, s_j = masses[leaving].sum(axis=1).tolist()
                f.evaluate(between(f, i, j, s_i / (s_i + s_j)))
                K = _bordered(K, order, np.append(f.row[order], f.self_similarity))
                masses, beta = _joined(masses, order, leaving), _joined(beta, order, leaving)
        return leaving, masses, K, self._solution(masses, K, beta)

    def _leaving(self, f: Expansion, K: Arrays, masses: Arrays, columns: Arrays) -> list[int]:
        """The prototype to evict, or the two to fuse, the older first."""
        distances = _distances(np.array([symmetric_times(K, column) for column in np.ascontiguousarray(columns.T)]))
        farthest = f.oldest_of_least(-distances, KUHN_TUCKER / TIE)  # within the solver's tolerance it is a tie
        if self._is_beyond(float(distances[farthest])):
            return [farthest]
        if self.merging == "nearest":
            distances = _squared_distances(K.diagonal()[:-1], K[-1, :-1], float(K[-1, -1]))
            return [f.oldest_of_least(distances), len(f) - 1]
        return list(cheapest_pair(K, masses.sum(axis=1), f.births))

    def _solution(self, masses: Arrays, K: Arrays, start: Arrays) -> Arrays:
        solution, _ = solve_dual(K, self.C * masses, start)
        return solution

    def _commit(self, leaving: list[int], masses: Arrays, K: Arrays, beta: Arrays) -> None:
        """Make f the solution; if two prototypes are removed, the last sample is their fusion."""
        f = self._f
        self._settled = False
        for i in sorted(leaving, reverse=True):
            f.remove(i)
        if len(leaving) == 2:
            f.add(0.0)
        f.columns = beta * self._unit()
        self._mass, self._gram, self._births, self._gammas = masses, K, f.births, f.kernel.gammas
        self._settled = True

    def _shrink(self, most: int) -> None:
        """Reduce the prototypes to this number."""
        while len(self._f) > most:
            self._commit(*self._plan(self._mass, self._gram, most))

    def _unit(self) -> float:
        """The factor of β in f: with classes a margin is (F_y - F_r)/√2, which is f for two labels, F = ±f/√2."""
        return math.sqrt(0.5) if self._f.n_classes else 1.0

    def _beta(self) -> Arrays:
        return self._f.columns / self._unit()

    def _settle(self) -> bool:
        """Solve for f again if γ has changed, a label is new, or a step was interrupted; returns whether it did.

        Prototypes that are not in both f and the weights are dropped.
        """
        f = self._f
        n_labels = max(2, f.n_classes)
        if self._settled and self._mass.shape[1] == n_labels and self._gammas == f.kernel.gammas:
            return False
        known = {birth: i for i, birth in enumerate(self._births.tolist())}
        for i in range(len(f) - 1, -1, -1):
            if f.births[i] not in known:
                f.remove(i)
        rows = [known[birth] for birth in f.births.tolist()]
        mass = np.zeros((len(rows), n_labels))
        mass[:, : self._mass.shape[1]] = self._mass[rows]
        K = f.gram()
        self._commit([], mass, K, self._solution(mass, K, self._beta()))
        return True

    def _reorder(self, order: list[int]) -> None:
        """Permute the labels (c becomes what order[c] was) and solve again."""
        mass = np.zeros((len(self._mass), len(order)))
        for label, before in enumerate(order):
            if before < self._mass.shape[1]:
                mass[:, label] = self._mass[:, before]
        self._mass, self._settled = mass, False
        self._settle()

    def _check_state(self) -> None:
        super()._check_state()
        n, n_labels = self._mass.shape
        right = self._births.shape == (n,) and self._gram.shape == (n, n) and 2 <= n_labels <= max(2, self._f.n_classes)
        if not right or not (self._mass >= 0.0).all():
            raise ValueError(f"weights of shape {self._mass.shape} for {n} prototypes")

    def _check(self) -> None:
        """Check the invariants by brute force; for tests."""
        f, C = self._f, self.C
        f._check()
        assert self._settled and len(f) <= self.budget
        assert np.array_equal(self._births, f.births) and self._mass.shape == (len(f), max(2, f.n_classes))
        np.testing.assert_allclose(self._gram, f.gram(), rtol=1e-9, atol=1e-12)
        assert residual(self._gram, C * self._mass, self._beta()) < KUHN_TUCKER


def _distances(scores: Arrays) -> Arrays:
    """Distances from the decision boundary, given scores in columns: |f|, or half the lead of the largest."""
    if len(scores) == 1:
        return abs(scores[0])
    second, first = np.partition(scores, len(scores) - 2, axis=0)[-2:]
    return (first - second) / 2.0


def _squared_distances(k: Arrays, row: Arrays, k_x: float) -> Arrays:
    """‖κ_i - κ_x‖² of points with these κ(z_i, z_i) and κ(z_i, x); rounding becomes 0."""
    distances = k + k_x - 2.0 * row
    distances[distances <= DEPENDENT * (k + k_x)] = 0.0
    return distances


def _without(n: int, leaving: list[int]) -> NDArray[np.intp]:
    """The order of n positions after ``Expansion.remove`` of these from the last to the first."""
    order = list(range(n))
    for i in sorted(leaving, reverse=True):
        order[i] = order[-1]
        order.pop()
    return np.array(order, dtype=np.intp)


def _joined(rows: Arrays, order: NDArray[np.intp], pair: list[int]) -> Arrays:
    """Rows in this order, followed by the sum of a pair not in it."""
    i, j = pair
    return np.concatenate([rows[order], rows[i : i + 1] + rows[j : j + 1]])


def _bordered(K: Arrays, order: NDArray[np.intp], row: Arrays) -> Arrays:
    """K of these points and one more, given its row with its own number last."""
    grown = np.empty((len(row), len(row)))
    grown[:-1, :-1] = K[np.ix_(order, order)]
    grown[-1] = grown[:, -1] = row
    return grown
