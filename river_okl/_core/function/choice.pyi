"""The choice of a support vector: see `Expansion.smallest`, `replaceable` and `partner`."""

import numpy as np
from numpy.typing import NDArray

def merge_of(alpha: float, alpha_p: float, kappa: float) -> tuple[float, float, float]: ...
def losses_of(alpha: NDArray[np.float64], alpha_p: float, kappa: NDArray[np.float64]) -> NDArray[np.float64]: ...
