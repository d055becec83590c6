"""Derivatives of losses in the prediction p; y = -1 / +1 for Hinge and Log."""

from __future__ import annotations

import math

import numpy as np

from tests.reference.tools import sign


class Hinge:
    def derivative(self, y, p):
        return -y if y * p < 1.0 else 0.0


class Log:
    def derivative(self, y, p):
        return -y * math.exp(-float(np.logaddexp(0.0, y * p)))  # -y / (1 + exp(y p))


class Squared:
    def derivative(self, y, p):
        return 2.0 * (p - y)


class Absolute:
    def derivative(self, y, p):
        return sign(p - y)


class EpsilonInsensitive:
    def __init__(self, eps=0.1):
        self.eps = eps

    def derivative(self, y, p):
        return sign(p - y) if abs(p - y) > self.eps else 0.0


class Huber:
    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def derivative(self, y, p):
        return max(-self.epsilon, min(self.epsilon, p - y))


class Quantile:
    # The derivative is river's; the value is its integral (river's value belongs to 1 - alpha).
    def __init__(self, alpha=0.5):
        self.alpha = alpha

    def __call__(self, y, p):
        return max(self.alpha * (y - p), (1.0 - self.alpha) * (p - y))

    def derivative(self, y, p):
        return float(y < p) - self.alpha
