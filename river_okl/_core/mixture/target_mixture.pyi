"""Types of the mixture of a target; the documentation is in target_mixture.pyx."""

from typing import Any

from river_okl._core.mixture.mixture import Mixture

class TargetMixture(Mixture):
    combiner: Any
    forest: Any
    difference: Any
    vote: Any
    intervals: Any
    @property
    def expert_weights(self) -> list[tuple[str, float]]: ...
    def predict(self, sample: Any) -> tuple[float, float]: ...
    def interval(self, sample: Any, z: float) -> tuple[float, float]: ...
