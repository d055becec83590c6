"""The frequencies of random Fourier features."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from river_okl._core.store.sample import canonical


def frequencies(seed: int, name: Hashable, n_components: int) -> NDArray[np.float64]:
    """Return the column of U of one feature for γ = 1/2: standard normal numbers that depend on seed and name only.

    The Box-Muller transform makes them from the bits of PCG64, which NumPy guarantees not to change.
    """
    key = hashlib.blake2b(repr((seed, canonical(name))).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    bits = np.random.PCG64(int.from_bytes(key, "little")).random_raw(2 * n_components)
    u, v = ((bits >> np.uint64(11)).astype(np.float64) + 0.5).reshape(2, n_components) * 2.0**-53
    column: NDArray[np.float64] = np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * math.pi * v)
    return column
