"""Lu, Zhao & Hoi 2016: sparse passive-aggressive learning (SPA); the probability of adding a sample grows with its loss.

The two tasks differ only in their loss.
"""

from __future__ import annotations

from river import optim

from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import AveragedExpansion
from river_okl.checks import check_learning_rate, check_positive, check_seed, rate
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.kernels import Kernel
from river_okl.losses import NO_LOSS


class SPA(AveragedExpansion):
    """Algorithm 1 for both tasks."""

    _mutable_attributes = {"learning_rate", "alpha"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        learning_rate: float | optim.base.Scheduler = 1.0,
        alpha: float = 1.0,
        beta: float = 5.0,
        averaged: bool = True,
        seed: int | None = None,
    ):
        check_learning_rate(learning_rate)
        check_positive("alpha", alpha)
        check_positive("beta", beta)
        if alpha > beta:
            raise ValueError(
                f"alpha is {alpha!r} and beta {beta!r}; alpha/beta is a probability: raise beta or lower alpha"
            )
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.beta = beta
        self.seed = seed
        super().__init__(kernel, averaged)
        self._rng = check_seed(seed)
        self._t = 0

    def _step(self, f: Expansion, y: float, p: float, w: float) -> None:
        loss, sign = self._suffer(y, p)
        self._t += 1
        if loss <= NO_LOSS or w == 0.0 or f.self_similarity <= 0.0:
            return
        rho = min(self.alpha, loss) / self.beta  # §2.2
        if self._rng.random() < rho:
            eta = rate(self.learning_rate, self._t)
            self._add_averaged(sign * w * min(eta / rho, loss / f.self_similarity))  # Proposition 1


class SPAClassifier(SPA, KernelClassifier):
    """Sparse passive-aggressive learning, classification: a sample is stored with a probability that grows with its loss.

    Few samples are stored, and the average of all functions is as sparse as the last. But it learns slowly, and its
    support set grows by up to alpha/beta of the samples in expectation: use `BPAClassifier` for a hard bound.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    learning_rate
        η, or a `river.optim.schedulers` object: a coefficient is at most η/ρ, ρ the probability of storing its sample.
    alpha
        α: larger losses count as α in the probability.
    beta
        β ≥ α: a sample with loss ℓ is stored with probability ρ = min(α, ℓ)/β.
    averaged
        Predict from the average of all functions so far, as in the paper, instead of the last.
    seed
        Seed of the random numbers; None: different in each run.

    Notes
    -----
    - The paper has κ(x, x) = 1; for other kernels τ = min(η/ρ, ℓ/κ(x, x)). Losses up to 1e-9 are ignored.
    - Updates always use the last function; `support_vectors` and `norm` are those of the last, not of the average.
    - α = β → 0 stores every sample with a loss: PA-I with C = η.
    - The sample weight multiplies the step, not the probability.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import SPAClassifier

    >>> model = preprocessing.StandardScaler() | SPAClassifier(seed=42)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 81.9%

    References
    ----------
    [^1]: [Lu, J., Zhao, P. and Hoi, S.C.H., 2016. Online sparse passive aggressive learning with kernels. Proceedings of the 2016 SIAM International Conference on Data Mining, pp.675-683.](https://doi.org/10.1137/1.9781611974348.76)

    """

    _multiclass = True


class SPARegressor(SPA, KernelRegressor):
    """Sparse passive-aggressive learning, regression: a sample is stored with a probability that grows with its loss.

    Few samples are stored, and the average of all functions is as sparse as the last. But it learns slowly, and its
    support set grows by up to alpha/beta of the samples in expectation: use `BPARegressor` for a hard bound.

    Parameters
    ----------
    kernel
        A kernel of `river_okl.kernels`. None: `RBF()`.
    learning_rate
        η, or a `river.optim.schedulers` object: a coefficient is at most η/ρ, ρ the probability of storing its sample.
    alpha
        α, in units of the target: larger losses count as α in the probability.
    beta
        β ≥ α: a sample with loss ℓ is stored with probability ρ = min(α, ℓ)/β.
    averaged
        Predict from the average of all functions so far, as in the paper, instead of the last.
    seed
        Seed of the random numbers; None: different in each run.
    eps
        Errors up to eps have no loss.

    Notes
    -----
    - The paper is about classification; this is its algorithm with the ε-insensitive loss, as in PA for
      regression. Losses up to 1e-9 are ignored.
    - The average includes all early functions: use `averaged=False` on drifting targets.
    - Updates always use the last function; `support_vectors` and `norm` are those of the last, not of the average.
    - The sample weight multiplies the step, not the probability.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_okl import SPARegressor

    >>> model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(SPARegressor(seed=42))
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 1.46

    References
    ----------
    [^1]: [Lu, J., Zhao, P. and Hoi, S.C.H., 2016. Online sparse passive aggressive learning with kernels. Proceedings of the 2016 SIAM International Conference on Data Mining, pp.675-683.](https://doi.org/10.1137/1.9781611974348.76)

    """

    _mutable_attributes = {"learning_rate", "alpha", "eps"}

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        learning_rate: float | optim.base.Scheduler = 1.0,
        alpha: float = 1.0,
        beta: float = 5.0,
        averaged: bool = True,
        seed: int | None = None,
        eps: float = 0.1,
    ):
        check_positive("eps", eps, zero=True)
        self.eps = eps
        super().__init__(kernel, learning_rate=learning_rate, alpha=alpha, beta=beta, averaged=averaged, seed=seed)
