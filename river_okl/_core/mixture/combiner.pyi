"""Types of the combiner's constants; the documentation is in combiner.pyx."""

LINEAR: tuple[float, float]
STACK: tuple[float, float]
