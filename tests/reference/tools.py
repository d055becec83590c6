"""Signs, ties, projections, random positions and step sizes."""

from __future__ import annotations

import numpy as np


def sign(z):
    return float(z > 0) - float(z < 0)


def smallest(values, births, scale=0.0):
    """Position of the smallest value; within 1e-9 relative the oldest point wins."""
    best = min(values)
    tied = [i for i, v in enumerate(values) if v <= best + 1e-9 * max(abs(best), scale)]
    return min(tied, key=lambda i: births[i])


def largest(values, births):
    return smallest([-v for v in values], births)


def least_squares(gram, rhs):
    """gram^-1 rhs; for a singular Gram matrix by the pseudo-inverse, which still gives the projection."""
    return np.linalg.lstsq(gram, rhs, rcond=1e-12)[0]


def draw(rng, probabilities):
    u = rng.random()
    total = 0.0
    for i, p in enumerate(probabilities):
        total += p
        if total > u:
            return i
    return max(i for i, p in enumerate(probabilities) if p > 0)


def step_size(rate, t, factor=1.0):
    """A callable gives the step itself, a float is multiplied by the algorithm's own factor."""
    return rate(t) if callable(rate) else rate * factor
