"""Types of the constants of intervals; the documentation is in intervals.pyx."""

FARTHEST: float
KNOTS: tuple[float, ...]
NORMAL: tuple[float, ...]
LEAST_SIZE: float
LARGEST_SIZE: float
