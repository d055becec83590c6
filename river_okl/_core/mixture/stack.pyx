"""A logistic regression on what all other experts say: it learns what their weights cannot say.

Its coefficients are the mixture's weights of the experts and what it has learned beyond them, with a covariance: a step
is one of Kalman's.  Of two classes it is a function of the experts' log-odds, and the variance draws a prediction
closer to 1/2 as MacKay has it.  Of many it is p(c) ∝ Π_e p_e(c)^β_e, a softmax of their logarithms.
"""

from libc.math cimport M_PI, fmax, fmin, log, sqrt

import numpy as np

from river_okl._core.calibration cimport sigmoid, softmax
from river_okl._core.linalg cimport linalg
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.sample cimport LARGEST

from river_okl._core.states import check_positive, checked_numbers

LARGEST_VARIANCE = 1e6              # of a coefficient that hardly counts: it grows by 1e-5 a sample
cdef double LEAST = 1e-3            # probability that an expert can give, and at which a class is learned from


cdef class Stack:
    """What is learned beyond the weights of the experts, which the stack is the last of."""

    def __cinit__(self):
        cdef Py_ssize_t i
        self.covariance = <double *> aligned_resize(NULL, 0, STACKED * STACKED, 8)
        for i in range(STACKED):
            self.covariance[i * STACKED + i] = 1.0
        self.n_classes = 2

    def __dealloc__(self):
        okl_free(self.covariance)
        okl_free(self.log_chances)

    def __sizeof__(self):
        return object.__sizeof__(self) + STACKED * 8 * (STACKED + (self.n_classes if self.n_classes > 2 else 0))

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1:
        """So many, more than two."""
        self.log_chances = <double *> aligned_resize(self.log_chances, 0, n_classes * STACKED, 8)
        self.n_classes = n_classes
        return 0

    cdef void ask(self, double *p, const double *weight) noexcept:
        """The probabilities of every class follow those of the others, who count by these weights."""
        if self.n_classes == 2:
            self.ask_two(p, weight)
        else:
            self.ask_many(p, weight)

    cdef void learn(self, Py_ssize_t c, double counts, const double *p) noexcept:
        """The last sample is of class c, and counts so often."""
        cdef Py_ssize_t i
        if self.n_classes == 2:
            self.learn_two(c, counts, p[2 * (STACKED - 1) + 1])
        else:
            self.learn_many(c, counts, p + STACKED * self.n_classes)
        for i in range(STACKED):
            self.covariance[i * STACKED + i] += 1e-5  # so that it goes on learning

    cdef void ask_two(self, double *p, const double *weight) noexcept:
        cdef double clipped, total = 0.0
        cdef Py_ssize_t i, e = STACKED - 1
        for i in range(e):
            clipped = fmin(fmax(p[2 * i + 1], LEAST), 1.0 - LEAST)
            self.log_odds[i] = log(clipped / (1.0 - clipped))
        self.log_odds[e] = 1.0
        linalg.symmetric_times(self.covariance, STACKED, STACKED, 1.0, self.log_odds, 0.0, self.h)
        for i in range(STACKED):
            total += (self.coefficients[i] + (weight[i] if i < e else 0.0)) * self.log_odds[i]
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.h, self.log_odds, STACKED)))
        p[2 * e + 1] = sigmoid(total)
        p[2 * e] = 1.0 - p[2 * e + 1]

    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept:
        """``own`` was the probability of class 1."""
        cdef double curvature = fmax(own * (1.0 - own), 0.01) * counts, gain
        cdef Py_ssize_t i
        gain = 1.0 / (1.0 / curvature + linalg.dot(self.h, self.log_odds, STACKED))
        for i in range(STACKED):
            self.coefficients[i] += self.h[i] * gain * (c - own) * counts / curvature
        linalg.rank_one(self.covariance, STACKED, STACKED, -gain, self.h)

    cdef void ask_many(self, double *p, const double *weight) noexcept:
        cdef Py_ssize_t i, o, n = self.n_classes
        cdef double *own = p + STACKED * n
        cdef double *of_class
        for o in range(n):
            of_class = self.log_chances + o * STACKED
            own[o] = 0.0
            for i in range(STACKED):
                of_class[i] = log(fmax(p[i * n + o], LEAST))
                own[o] += (self.coefficients[i] + weight[i]) * of_class[i]
        softmax(own, 1.0, n, own)

    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept:
        """``own`` were the probabilities of every class: one step of Newton's, the curvature of one class after the
        other."""
        cdef double[STACKED] mean
        cdef double[STACKED] off
        cdef const double *of_class
        cdef Py_ssize_t i, o
        for i in range(STACKED):
            mean[i] = 0.0
            for o in range(self.n_classes):
                mean[i] += own[o] * self.log_chances[o * STACKED + i]
        for o in range(self.n_classes):
            if own[o] < LEAST:
                continue
            of_class = self.log_chances + o * STACKED
            for i in range(STACKED):
                off[i] = of_class[i] - mean[i]
            linalg.symmetric_times(self.covariance, STACKED, STACKED, 1.0, off, 0.0, self.h)
            linalg.rank_one(
                self.covariance, STACKED, STACKED,
                -1.0 / (1.0 / (own[o] * counts) + fmax(0.0, linalg.dot(self.h, off, STACKED))), self.h
            )
        of_class = self.log_chances + c * STACKED
        for i in range(STACKED):
            off[i] = counts * (of_class[i] - mean[i])
        linalg.symmetric_times(self.covariance, STACKED, STACKED, 1.0, off, 1.0, self.coefficients)

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
        coefficients = checked_numbers(
            "the coefficients of a stack", state["coefficients"], (STACKED,), -LARGEST, LARGEST
        )
        covariance = checked_numbers(
            "the covariance of a stack", state["covariance"], (STACKED, STACKED), -LARGEST_VARIANCE, LARGEST_VARIANCE
        )
        check_positive("the covariance of a stack", covariance)
        for i in range(STACKED):
            self.coefficients[i] = coefficients[i]
            for j in range(STACKED):
                self.covariance[i * STACKED + j] = covariance[i, j]
