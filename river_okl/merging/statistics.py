"""Statistics of several streams, averaged: bandwidths and the calibration of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.kernel.compiled import BANDWIDTH_SAMPLES
from river_okl.merging.shards import Shards, not_from_start

COUNTED = ("seen", "sum_squares", "sum_distances")  # in the state of a kernel: they never decrease


def pooled_kernel(shards: Shards, kernel_of: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the state of a kernel whose bandwidth is estimated from all streams together."""
    states: list[dict[str, Any]] = [kernel_of(model).state() for model in shards.models]
    first: dict[str, Any] = kernel_of(shards.start).state()
    for i, state in enumerate(states):
        # if a shard adapts again or its sums have decreased, it is no copy of the start
        if state["adapting"] > first["adapting"] or any(state[name] < first[name] for name in COUNTED):
            raise not_from_start(i, "their bandwidths were estimated from different streams")
    moved = [i for i, state in enumerate(states) if state != first]
    if not moved:
        return first
    if len(moved) == 1 and shards.evidence[moved[0]] == 1.0:
        return states[moved[0]]

    def sums(model: Any) -> NDArray[np.float64]:
        state = kernel_of(model).state()
        pairs = max(state["seen"] - 1, 0)  # differences are of consecutive samples
        return np.array([state["seen"], pairs, state["sum_squares"], state["sum_distances"]], dtype=np.float64)

    counted, pairs, sum_squares, sum_distances = shards.total(sums)
    seen = round(counted)
    mean_square = sum_squares / seen if seen else 0.0
    mean_distance = sum_distances / pairs if pairs > 0.0 else 0.0
    adapting = all(state["adapting"] for state in states) and not (seen >= BANDWIDTH_SAMPLES and sum_distances > 0.0)
    known = (state["previous"] for state in states if adapting and state["previous"] is not None)
    return {
        "adapting": adapting,
        "previous": next(known, None),
        "seen": seen,
        "next_update": seen + 1,
        "sum_squares": sum_squares,
        "sum_distances": mean_distance * max(seen - 1, 0),
        "mean_square": mean_square,
        "mean_distance": mean_distance,
    }


def followed(shards: Shards, calibration_of: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the state of a calibration that has followed all streams."""
    names = ("slope", "curvature", "mean_square")
    fit = {name: float(shards.mean(lambda model: calibration_of(model).state()[name])) for name in names}  # noqa: B023
    return fit | {"seen": shards.total(lambda model: calibration_of(model).seen)}
