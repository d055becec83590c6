"""The budget perceptron: when the cache is full, the example with the largest margin without itself is evicted."""

from __future__ import annotations

import numpy as np

from river_okl._core.function.expansion import Expansion
from river_okl.checks import check_positive
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel


class BudgetPerceptronClassifier(KernelClassifier):
    """The perceptron on a fixed cache of examples: it evicts the one with the largest margin without its own term.

    The first budgeted perceptron, for comparison. With noisy labels its cache fills with mislabelled
    examples: use `RBPClassifier` or `ForgetronClassifier` instead.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of support vectors.
    tolerance
        β: an example is added if y f(x) ≤ β; 0 is the perceptron.

    Notes
    -----
    - The paper's algorithm for a cache of fixed size, with α = 1 for every example: before an addition the support vector with the largest y_i (f(x_i) - α_i y_i κ(x_i, x_i)) is evicted; ties go to the oldest.
    - f(x_i) is kept up to date for every support vector, so a removal costs O(B), like an addition.
    - The sample weight multiplies the coefficient of the new support vector.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import BudgetPerceptronClassifier

    >>> model = preprocessing.StandardScaler() | BudgetPerceptronClassifier(budget=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 73.8%

    References
    ----------
    [^1]: [Crammer, K., Kandola, J. and Singer, Y., 2003. Online classification on a budget. In Advances in Neural Information Processing Systems 16, pp.225-232.](https://papers.nips.cc/paper_files/paper/2003)

    """

    def __init__(self, kernel: Kernel | None = None, *, budget: int = 500, tolerance: float = 0.0):
        check_positive("tolerance", tolerance, zero=True)
        self.budget = budget
        self.tolerance = tolerance
        super().__init__(kernel, budget=budget, values=True)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if y * p > self.tolerance or w == 0.0:
            return
        if len(f) == self.budget:
            alpha = f.coefficients  # α_i y_i
            without = np.sign(alpha) * (f.values - alpha * f.self_similarities)
            f.remove(f.oldest_of_least(-without))
        f.add(y * w)
