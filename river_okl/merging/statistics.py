"""Statistics along a stream, pooled over several streams: means and variances, bandwidths, calibration."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from river_okl._core.kernel import BANDWIDTH_SAMPLES
from river_okl.merging.shards import Shards, not_from_start


@dataclasses.dataclass
class Moments:
    """Count, mean and variance of values; after ``memory`` of them older ones are forgotten exponentially."""

    count: float = 0.0
    mean: float = 0.0
    variance: float = 0.0
    memory: float = math.inf

    def kept(self, k: float) -> float:
        """The weight that these values still have in the mean after k more."""
        if k <= 0.0:
            return 1.0
        if self.count <= 0.0:
            return 0.0
        exact = min(self.count + k, self.memory)
        share = min(self.count, self.memory) / exact
        beyond = self.count + k - max(self.count, self.memory)
        return share * (1.0 - 1.0 / self.memory) ** beyond if beyond > 0.0 else share

    def after(self, streams: list[tuple[float, Moments]]) -> Moments:
        """These moments continued by several streams, given their final moments, with a weight for each."""
        total = mean = square = 0.0
        centre = self.mean if self.count > 0.0 or not streams else streams[0][1].mean  # squares are taken from here
        for weight, end in streams:
            k = end.count - self.count
            if k < 0.0:  # forgotten meanwhile, and restarted
                k, kept = end.count, 0.0
            else:
                kept = self.kept(k)
            if k <= 0.0 or weight <= 0.0:
                continue
            shift = end.mean - centre
            of_new = shift / (1.0 - kept)  # the mean of the new values, from that of the old ones
            square_of_new = (end.variance + shift * shift - kept * self.variance) / (1.0 - kept)
            total += weight * k
            mean += weight * k * of_new
            square += weight * k * square_of_new
        if total <= 0.0:
            return self
        mean, square, kept = mean / total, square / total, self.kept(total)
        shift = (1.0 - kept) * mean
        variance = kept * self.variance + (1.0 - kept) * square - shift * shift
        return Moments(self.count + total, centre + shift, max(0.0, variance), self.memory)


COUNTED = ("seen", "sum_squares", "sum_distances")  # in the state of a kernel: never less than before


def pooled_kernel(shards: Shards, kernel_of: Callable[[Any], Any]) -> dict[str, Any]:
    """The state of a kernel whose bandwidth is estimated from all streams together."""
    states: list[dict[str, Any]] = [kernel_of(model).state() for model in shards.models]
    first: dict[str, Any] = kernel_of(shards.start).state()
    for i, state in enumerate(states):
        # it adapts again, or sums have shrunk
        if state["adapting"] > first["adapting"] or any(state[name] < first[name] for name in COUNTED):
            raise not_from_start(i, "their bandwidths were estimated from different streams")
    moved = [i for i, state in enumerate(states) if state != first]
    if not moved:
        return first
    if len(moved) == 1 and shards.evidence[moved[0]] == 1.0:
        return states[moved[0]]

    def total(number: Callable[[Any], float]) -> float:
        return float(shards.total(lambda model: float(number(kernel_of(model).state()))))

    seen = round(total(lambda state: state["seen"]))
    pairs = total(lambda state: max(state["seen"] - 1, 0))  # differences are of consecutive samples
    sum_squares = total(lambda state: state["sum_squares"])
    sum_distances = total(lambda state: state["sum_distances"])
    mean_square = sum_squares / seen if seen else 0.0
    mean_distance = sum_distances / pairs if pairs > 0.0 else 0.0
    adapting = all(state["adapting"] for state in states) and not (seen >= BANDWIDTH_SAMPLES and sum_distances > 0.0)
    previous = (
        next((state["previous"] for state in states if state["previous"] is not None), None) if adapting else None
    )
    return {
        "adapting": adapting,
        "previous": previous,
        "seen": seen,
        "next_update": seen + 1,
        "sum_squares": sum_squares,
        "sum_distances": mean_distance * max(seen - 1, 0),
        "mean_square": mean_square,
        "mean_distance": mean_distance,
    }


def followed(shards: Shards, calibration_of: Callable[[Any], Any]) -> dict[str, Any]:
    """The state of a calibration that has followed all streams."""
    names = ("slope", "curvature", "mean_square")
    fit = {name: float(shards.mean(lambda model: calibration_of(model).state()[name])) for name in names}  # noqa: B023
    return fit | {"seen": shards.total(lambda model: calibration_of(model).seen)}
