"""Types of the stack; the documentation is in stack.pyx."""

from typing import Any

class Stack:
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...
