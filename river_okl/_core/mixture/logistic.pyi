"""Types of the Bayesian logistic regression; the documentation is in logistic.pyx."""

MOST_INPUTS: int
PRIOR: float
PRIOR_OF_WORD: float
