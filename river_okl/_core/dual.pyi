"""Types of the compiled dual."""

import numpy as np
from numpy.typing import NDArray

def solve_dual(
    K: NDArray[np.float64], caps: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]: ...
def residual(K: NDArray[np.float64], caps: NDArray[np.float64], beta: NDArray[np.float64]) -> float: ...
def cheapest_pair(
    K: NDArray[np.float64], weights: NDArray[np.float64], births: NDArray[np.int64]
) -> tuple[int, int]: ...
