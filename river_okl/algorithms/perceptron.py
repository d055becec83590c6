"""The kernel perceptron, and the randomized budget perceptron, which forgets at random."""

from __future__ import annotations

from river_okl._core.function.expansion import Expansion
from river_okl.checks import Budget, check_seed
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel


class KernelPerceptronClassifier(KernelClassifier):
    """The kernel perceptron: every mistake becomes a support vector.

    The baseline of the field. Memory and time per sample grow with the number of mistakes: use it for short
    streams or comparison; `RBPClassifier` and `AhpatronClassifier` bound them.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.

    Notes
    -----
    The sample weight multiplies the coefficient of the new support vector.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import KernelPerceptronClassifier

    >>> model = preprocessing.StandardScaler() | KernelPerceptronClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.4%

    References
    ----------
    [^1]: [Freund, Y. and Schapire, R.E., 1999. Large margin classification using the perceptron algorithm. Machine Learning, 37(3), pp.277-296.](https://doi.org/10.1023/A:1007662407062)

    """

    _multiclass = True

    def __init__(self, kernel: Kernel | None = None):
        super().__init__(kernel)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if y * p > 0.0 or w == 0.0:  # no mistake
            return
        f.add(y * w)


class RBPClassifier(KernelClassifier):
    """The randomized budget perceptron: when the budget is full, a mistake replaces a random support vector.

    One of the fastest classes (`benchmarks/results/classes.md`), but less accurate than `AhpatronClassifier`.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    budget
        Maximum number of support vectors; a `PerClass` sets it per label.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    The sample weight multiplies the coefficient of the new support vector.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import RBPClassifier

    >>> model = preprocessing.StandardScaler() | RBPClassifier(budget=50, seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 81.3%

    References
    ----------
    [^1]: [Cavallanti, G., Cesa-Bianchi, N. and Gentile, C., 2007. Tracking the best hyperplane with a simple budget Perceptron. Machine Learning, 69(2), pp.143-167.](https://doi.org/10.1007/s10994-007-5003-0)

    """

    _multiclass = True

    def __init__(self, kernel: Kernel | None = None, *, budget: Budget = 500, seed: int | None = None):
        self.budget = budget
        self.seed = seed
        super().__init__(kernel, budget=budget)
        self._rng = check_seed(seed)

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if y * p > 0.0 or w == 0.0:  # no mistake
            return
        if len(f) == f.budget:
            f.remove(int(self._rng.random() * len(f)))
        f.add(y * w)
