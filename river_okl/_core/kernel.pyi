"""Types of the compiled kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Factor = tuple[int, int, float, float, float]
Term = tuple[float, tuple[Factor, ...]]

SIMD_VARIANTS: tuple[str, ...]
SIMD: str
FACTOR_KINDS: tuple[int, int, int]
MOST_TERMS: int
MOST_FACTORS: int
BANDWIDTH_SAMPLES: int

class Kernel:
    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def gammas(self) -> tuple[float, ...]: ...
    @property
    def n_factors(self) -> int: ...
    @property
    def constant_self_similarity(self) -> float | None: ...
    @property
    def mean_distance(self) -> float: ...
    @property
    def mean_square(self) -> float: ...
    def __init__(self, terms: tuple[Term, ...]) -> None: ...
    def tune(self, mean_distance: float, mean_square: float) -> bool: ...
    def evaluate(
        self, dots: NDArray[np.float64], own: NDArray[np.float64], squares: NDArray[np.float64]
    ) -> NDArray[np.float64]: ...
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...
