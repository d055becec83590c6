"""A logistic regression on the log-odds of all other experts, for two classes: it learns what their weights cannot say.

Its coefficients are the mixture's weights of the experts and what it has learned beyond them, with a covariance: a step is one
of Kalman's, and the variance draws a prediction closer to 1/2 as MacKay has it.
"""

from libc.math cimport M_PI, fmax, fmin, log, sqrt

import numpy as np

from river_okl._core.calibration cimport sigmoid
from river_okl._core.linalg cimport linalg
from river_okl._core.memory cimport aligned_resize, okl_free


cdef class Stack:
    """What is learned beyond the weights of ``STACKED - 1`` experts."""

    def __cinit__(self):
        cdef Py_ssize_t i
        self.covariance = <double *> aligned_resize(NULL, 0, STACKED * STACKED, 8)
        for i in range(STACKED):
            self.covariance[i * STACKED + i] = 1.0

    def __dealloc__(self):
        okl_free(self.covariance)

    def __sizeof__(self):
        return object.__sizeof__(self) + STACKED * STACKED * 8

    cdef void ask(self, double *p, const double *weight) noexcept:
        """The probabilities of both classes follow those of the others, who count by these weights."""
        cdef double clipped, total = 0.0
        cdef Py_ssize_t i, e = STACKED - 1
        for i in range(e):
            clipped = fmin(fmax(p[2 * i + 1], 1e-3), 1.0 - 1e-3)
            self.log_odds[i] = log(clipped / (1.0 - clipped))
        self.log_odds[e] = 1.0
        linalg.symmetric_times(self.covariance, STACKED, STACKED, 1.0, self.log_odds, 0.0, self.h)
        for i in range(STACKED):
            total += (self.coefficients[i] + (weight[i] if i < e else 0.0)) * self.log_odds[i]
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.h, self.log_odds, STACKED)))
        p[2 * e + 1] = sigmoid(total)
        p[2 * e] = 1.0 - p[2 * e + 1]

    cdef void learn(self, Py_ssize_t c, double counts, const double *p) noexcept:
        """The last sample is of class c, and counts so often."""
        cdef double own = p[2 * (STACKED - 1) + 1], curvature = fmax(own * (1.0 - own), 0.01) * counts, gain
        cdef Py_ssize_t i
        gain = 1.0 / (1.0 / curvature + linalg.dot(self.h, self.log_odds, STACKED))
        for i in range(STACKED):
            self.coefficients[i] += self.h[i] * gain * (c - own) * counts / curvature
        linalg.rank_one(self.covariance, STACKED, STACKED, -gain, self.h)
        for i in range(STACKED):
            self.covariance[i * STACKED + i] += 1e-5  # so that it goes on learning

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i
        return {
            "coefficients": np.array([self.coefficients[i] for i in range(STACKED)]),
            "covariance": np.array([self.covariance[i] for i in range(STACKED * STACKED)]).reshape(STACKED, STACKED),
        }

    def restore(self, dict state):
        """Go on from a state, every number of which is checked: it may come from anywhere."""
        cdef Py_ssize_t i, j
        coefficients, covariance = state["coefficients"], state["covariance"]
        if coefficients.shape != (STACKED,) or covariance.shape != (STACKED, STACKED):
            raise ValueError("the coefficients of a stack do not match its experts")
        if not (np.isfinite(coefficients).all() and np.isfinite(covariance).all()):
            raise ValueError("the coefficients of a stack are not finite")
        for i in range(STACKED):
            self.coefficients[i] = coefficients[i]
            for j in range(STACKED):
                self.covariance[i * STACKED + j] = covariance[i, j]
