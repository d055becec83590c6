"""Any run by its parameters, behind the explanations in benchmarks/README.md, such as

python -m benchmarks.papers.explanations RBP Forgetron --data a9a.train --params gamma=0.5,0.125 budget=91,362

The authors' programs are emulated if they differ from the papers.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from benchmarks import runner
from benchmarks.papers import runs
from benchmarks.papers.bench import field, mean_sd, shown
from river_okl import BOGDClassifier, NOGDClassifier, RBPClassifier
from river_okl._core.function.expansion import Expansion
from river_okl.kernels import RBF


class TransposedNOGD(NOGDClassifier):
    """NOGD of Liao et al.'s program: w = √D (Vα), where w = √D (Vᵀα) carries f over."""

    def _approximate(self) -> NDArray[np.float64]:
        f = self._f
        D, V = scipy.linalg.eigh(f.gram())
        k = self.rank or max(1, self.budget // 5)
        D, V = D[::-1], V[:, ::-1]  # largest first
        self._w = (np.sqrt(np.maximum(D, 0.0)) * (V @ f.coefficients))[:k]
        basis: NDArray[np.float64] = np.ascontiguousarray(V[:, :k] / np.sqrt(D[:k]))
        self._basis, self._gammas = basis, f.kernel.gammas
        f.coefficients = basis @ self._w
        return basis


class PlainProjectron:
    """Projectron as in the library LSOKL: an inverse without a guard, in a chosen precision.

    Each mistake is stored until the budget is full; from then on each is projected.
    """

    def __init__(self, kernel: RBF, budget: int, precision: str):
        self.gamma, self.budget, self.dtype = kernel.gamma, budget, np.dtype(precision).type
        self.n_support_vectors = 0
        self.alpha = np.zeros(budget, precision)
        self.inverse = np.zeros((budget, budget), precision)
        self.points: NDArray[Any] = np.zeros((budget, 0), precision)

    def decision_function_one(self, x: dict[Any, float]) -> float:
        n, self.x = self.n_support_vectors, np.array(list(x.values()), self.dtype)
        if not n:
            self.points = np.zeros((self.budget, len(self.x)), self.dtype)
        self.k = np.exp(-self.dtype(self.gamma) * ((self.points[:n] - self.x) ** 2).sum(axis=1))
        return float(self.alpha[:n] @ self.k)

    def learn_one(self, x: dict[Any, float], label: bool) -> None:
        p, y, n, k = self.decision_function_one(x), self.dtype(1 if label else -1), self.n_support_vectors, self.k
        if y * p > 0.0:
            return
        d = self.inverse[:n, :n] @ k
        if n == self.budget:
            self.alpha += y * d
            return
        column = np.append(d, self.dtype(-1))
        self.inverse[: n + 1, : n + 1] += np.outer(column, column) / (self.dtype(1) - k @ d)
        self.alpha[n], self.points[n] = y, self.x
        self.n_support_vectors += 1


class ClockRBP(RBPClassifier):
    """RBP as in LSOKL, which seeds its generator with the time before each draw: within a second, some thousand
    samples, it evicts the same position in the order of ages."""

    def __init__(self, kernel: RBF, *, budget: int, samples_per_second: int, seed: int | None = None):
        self.samples_per_second = samples_per_second
        super().__init__(kernel, budget=budget, seed=seed)
        self._t = self._rank = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if self._t % self.samples_per_second == 0:
            self._rank = int(self._rng.random() * self.budget)
        self._t += 1
        if y * p <= 0.0:
            if len(f) == self.budget:
                f.remove(int(np.argsort(f.births)[self._rank]))
            f.add(y)


class OldestBOGD(BOGDClassifier):
    """BOGD as in LSOKL: the oldest is evicted, without rescaling."""

    def _remove_one(self) -> None:
        self._f.remove(self._f.oldest())


EMULATED = {cls.__name__: cls for cls in (ClockRBP, OldestBOGD, TransposedNOGD, PlainProjectron)}


def values(text: str) -> list[Any]:
    """Numbers, None and strings between commas."""
    return [ast.literal_eval(v) if v == "None" or v[:1] in "-.0123456789" else v for v in text.split(",")]


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("papers.explanations", __doc__.splitlines()[0])
    parser.add_argument("algorithms", nargs="+", help=f"as the papers call them; or {', '.join(EMULATED)}")
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--params", nargs="*", default=[], metavar="NAME=VALUE[,VALUE]", help="each with each other")
    parser.add_argument("--rows", type=int, help="that are learned")
    parser.add_argument("--test", help="a data set to predict after learning; without it samples are predicted first")
    parser.add_argument("--permutations", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    cache = runner.Cache(args.cache / "explanations.jsonl")
    grid = {name: values(text) for name, _, text in (pair.partition("=") for pair in args.params)}
    for data, algorithm in itertools.product(args.data, args.algorithms):
        cls = EMULATED.get(algorithm) or runs.named(algorithm)
        for run in runs.Run(data, cls, {}, rows=args.rows, test=args.test).grid(**grid):
            permutations = [run._replace(seed=seed) for seed in range(args.permutations)]
            results = runs.results(cache, permutations, args.jobs)
            error, sizes = mean_sd(field(results, "error")), mean_sd(field(results, "n_support_vectors"), 0)
            print(f"{data}, {algorithm}, {shown(run.params)}: {error} % wrong, {sizes} SVs", flush=True)


if __name__ == "__main__":
    main()
