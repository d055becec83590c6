"""Types of the regression of each feature on the others; the documentation is in residuals.pyx."""

LEAST: float
MEMORY: int
MOST_INPUTS: int
RIDGE: float
