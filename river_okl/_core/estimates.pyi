"""Types of the estimates; the documentation is in estimates.pyx."""

from typing import Any

LINEAR: tuple[float, float]
STACK: tuple[float, float]

class Ridge:
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...

class Estimates:
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
