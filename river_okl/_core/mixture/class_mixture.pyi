"""Types of the mixture of classes; the documentation is in class_mixture.pyx."""

from typing import Any

from river_okl._core.mixture.mixture import Mixture
from river_okl._core.mixture.pool import Pool

LARGEST_BUDGET: int

class ClassMixture(Mixture):
    linear: Any
    bayes: Any
    stack: Any
    forests: tuple[Any, ...]
    @property
    def pool(self) -> Pool: ...
    @property
    def expert_weights(self) -> list[tuple[str, float]]: ...
    def add_class(self) -> None: ...
    def probabilities(self, sample: Any) -> list[float]: ...
    def most_probable(self, sample: Any) -> int: ...
