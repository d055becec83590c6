"""Types of what the mixtures and the detector share; the documentation is in reader.pyx."""

from typing import Any

from river_okl._core.lock import Lock
from river_okl._core.points import Points
from river_okl._core.sample import Given
from river_okl._core.scaler import Scaler
from river_okl._core.words import Words

FARTHEST_SINGLE: float

class Reader:
    memo: bool
    distances: Any
    @property
    def given(self) -> Given: ...
    @property
    def lock(self) -> Lock: ...
    @property
    def points(self) -> Points: ...
    @property
    def scaler(self) -> Scaler: ...
    @property
    def words(self) -> Words: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
