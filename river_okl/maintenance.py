"""What several papers do with a full budget: plain functions on an expansion f."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray

from river_okl._core.expansion import Expansion

TIE = 1e-9  # relative: values that are closer than that are equal, and age decides


def project_on_ball(f: Expansion, radius: float) -> None:
    """Π_U(f) = min(1, U/‖f‖) f"""
    norm = math.sqrt(f.norm2)
    if norm > radius:
        f.scale(radius / norm)


def oldest_of_smallest(values: NDArray[np.float64], births: NDArray[np.int64], scale: float = 0.0) -> int:
    """The position of the smallest value; ties, relative to the value or to a scale, go to the oldest."""
    least = float(values.min())
    tied = np.flatnonzero(values <= least + TIE * max(abs(least), scale))
    return int(tied[births[tied].argmin()])


def draw(rng: random.Random, probabilities: NDArray[np.float64]) -> int:
    """A position with these probabilities, from one random number."""
    totals = np.cumsum(probabilities)
    totals[np.flatnonzero(probabilities)[-1] :] = 1.0  # whatever rounding leaves
    return int(np.searchsorted(totals, rng.random(), side="right"))
