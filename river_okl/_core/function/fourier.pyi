"""Types of the compiled random features."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.rows import Rows
from river_okl._core.sample import Frame

class RandomFeatures:
    def __init__(self, n_components: int, draw: Callable[[Hashable], NDArray[np.float64]]) -> None: ...
    def value(self, rows: Rows, sample: dict[Any, Any] | Frame, w: NDArray[np.float64]) -> float: ...
    def features(self, rows: Rows, sample: dict[Any, Any] | Frame, scale: float) -> list[float]: ...
    def move(self, rows: Rows, c: float, w: NDArray[np.float64]) -> None: ...
