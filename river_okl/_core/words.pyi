"""Types of the words; the documentation is in words.pyx."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.scaler import Scaler

MOST_WORDS: int

def named(features: Mapping[Hashable, Any]) -> dict[Hashable, Any]: ...

class Words:
    def __init__(self, scaler: Scaler) -> None: ...
    def state(self) -> NDArray[np.int64]: ...
    def restore(self, seen_once: NDArray[np.int64]) -> None: ...
