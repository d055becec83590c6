"""Types of the vote's constants; the documentation is in vote.pyx."""

LEAST_SIZE: float
LARGEST_SIZE: float
LARGEST_LOSS: float
