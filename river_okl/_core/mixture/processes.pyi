"""Types of the bank of Gaussian processes; the documentation is in processes.pyx."""

import numpy as np
from numpy.typing import NDArray

POSTERIORS_OF: dict[str, tuple[tuple[float, float, float], ...]]
NEWCOMER: float
LEAST_KEPT: float

class Processes:
    @property
    def jitter(self) -> float: ...
    @property
    def most(self) -> int: ...

def alike(one: NDArray[np.float64], other: NDArray[np.float64]) -> float: ...
