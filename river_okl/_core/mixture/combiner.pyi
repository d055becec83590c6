"""Types of the combiner's constants; the documentation is in combiner.pyx."""

LEAST_RESIDUAL: float
LINEAR: tuple[float, float]
STACK: tuple[float, float]
