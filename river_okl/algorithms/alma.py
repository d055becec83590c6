"""ALMA₂: a perceptron that approximates the maximum margin, with kernels."""

from __future__ import annotations

import math

from river_okl._core.function.expansion import Expansion
from river_okl.checks import check_between, check_positive
from river_okl.decision import KernelClassifier
from river_okl.kernels import Kernel


class ALMAClassifier(KernelClassifier):
    """The approximate large margin algorithm for the 2-norm, with kernels.

    For (nearly) separable classes; every update adds a permanent support vector. river's `linear_model.ALMAClassifier` is its linear form.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    alpha
        α in (0, 1]: the target margin is (1-α) times the maximum margin. Larger is faster; 1 requires no margin.
    B
        The margin required after k-1 updates is (1-α) B/√k. None: 1/α.
    C
        The step of update k is C/√k.

    Notes
    -----
    - As in the paper, samples are normalised in feature space (κ̂ = κ/√κ(x, x); a sample of norm 0 is
      skipped), and f is kept in the unit ball. The decision value is f(x), not normalised.
    - The defaults are those of river's linear class. The averaged and voted outputs of the paper are left out.
    - The sample weight multiplies the step.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import ALMAClassifier

    >>> model = preprocessing.StandardScaler() | ALMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.8%

    References
    ----------
    [^1]: [Gentile, C., 2001. A new approximate maximal margin classification algorithm. Journal of Machine Learning Research, 2, pp.213-242.](https://www.jmlr.org/papers/v2/gentile01a.html)

    """

    _multiclass = True
    _merging = {"_k": "sum"}
    _mutable_attributes = {"alpha", "B", "C"}

    def __init__(self, kernel: Kernel | None = None, *, alpha: float = 0.9, B: float | None = None, C: float = 2**0.5):
        check_positive("alpha", alpha)
        check_between("alpha", alpha, 0.0, 1.0)
        if B is not None:
            check_positive("B", B)
        check_positive("C", C)
        self.alpha = alpha
        self.B = B
        self.C = C
        super().__init__(kernel, norm=True)
        self._k = 1  # the number of the next update

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        if f.self_similarity <= 0.0 or w == 0.0:
            return
        length = math.sqrt(f.self_similarity)
        B = 1.0 / self.alpha if self.B is None else self.B
        if y * p / length > (1.0 - self.alpha) * B / math.sqrt(self._k):  # γ_k = B/√k
            return
        f.add(y * w * self.C / math.sqrt(self._k) / length)  # η_k = C/√k
        f.project_on_ball(1.0)
        self._k += 1
