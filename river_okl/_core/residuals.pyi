"""Types of the regression of each feature on the others; the documentation is in residuals.pyx."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_INPUTS: int
MEMORY: int

def fitted(X: NDArray[np.float64], n: int) -> tuple[dict[str, Any], NDArray[np.float64]]: ...
