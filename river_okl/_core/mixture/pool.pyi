"""Types of the pool; the documentation is in pool.pyx."""

SCALE: float
METRIC: int

class Pool:
    @property
    def most(self) -> int: ...
