"""A stacked logistic regression on the predictions of all other experts: it learns what their weights cannot express.

Its coefficients are the mixture weights of the experts plus a correction with a covariance; a step is one of a Kalman
filter.  For two classes the inputs are the log-odds of the experts, and the variance draws a prediction towards 1/2 as
in MacKay's approximation.  For many classes p(c) ∝ Π_e p_e(c)^β_e, a softmax of their log-probabilities.
"""

from libc.math cimport M_PI, fmax, fmin, log, sqrt

import numpy as np

from river_okl._core.calibration cimport sigmoid, softmax
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport LARGEST, Sample
from river_okl._core.simd cimport linalg

from river_okl._core.states import check_positive, checked_numbers

LARGEST_VARIANCE = 1e6              # of a coefficient without influence: it grows by 1e-5 a sample
cdef double LEAST = 1e-3            # probability of an expert; a class of less is not learned from
cdef double LOG_LEAST = log(LEAST)


cdef class Stack(Expert):
    """What is learned beyond the weights of the experts, which the stack is the last of.

    Parameters
    ----------
    of_two
        How many predictions there are beside its own with two classes,
    of_many
        and with more.
    """

    def __init__(self, Py_ssize_t of_two, Py_ssize_t of_many):
        self.name, self.rows = "stack", 1
        self.of_many = of_many
        self.n_classes = 2
        self.reserve_inputs(of_two + 1)
        self.restart()

    cdef int reserve_inputs(self, Py_ssize_t n) except -1:
        """Room to restart with ``n`` inputs."""
        self.next_n = n
        self.next_covariance = self.doubles(NULL, 0, n * n)
        self.next_numbers = self.doubles(NULL, 0, 5 * n)
        return 0

    cdef void restart(self) noexcept:
        """It knows nothing."""
        cdef Py_ssize_t i, n = self.next_n
        self.release(self.covariance)
        self.release(self.coefficients)
        self.n = n
        self.covariance, self.next_covariance = self.next_covariance, NULL
        self.coefficients, self.next_numbers = self.next_numbers, NULL
        self.log_odds, self.h = self.coefficients + n, self.coefficients + 2 * n
        self.mean, self.off = self.coefficients + 3 * n, self.coefficients + 4 * n
        for i in range(n):
            self.covariance[i * n + i] = 1.0

    cdef int reserve_class(self) except -1:
        cdef Py_ssize_t n = self.of_many
        if self.n_classes == 2:
            self.release(self.next_covariance)
            self.release(self.next_numbers)
            self.next_covariance = self.next_numbers = NULL
            self.reserve_inputs(n)
        self.log_chances = self.doubles(self.log_chances, 0, (self.n_classes + 1) * n)
        return 0

    cdef void add_class(self) noexcept:
        """With the third class it restarts, as a function of probabilities instead of log-odds."""
        if self.n_classes == 2:
            self.restart()
        self.n_classes += 1

    cdef int ask(self, const Sample *x, double *p) except -1:
        """The probabilities of every class follow those of the other experts."""
        self.ask_again(p - self.first * self.n_classes)
        return 0

    cdef void ask_again(self, double *p) noexcept:
        """What it says today of earlier predictions of the others, after which it writes: it learns from those, and the
        error that it has made since it was asked is not learned once more."""
        if self.n_classes == 2:
            self.ask_two(p, self.weight)
        else:
            self.ask_many(p, self.weight)

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        cdef Py_ssize_t i, c = <Py_ssize_t> y.target
        cdef const double *own = y.said + self.first * self.n_classes
        if self.n_classes == 2:
            self.learn_two(c, y.counts, own[1])
        else:
            self.learn_many(c, y.counts, own)
        for i in range(self.n):
            self.covariance[i * self.n + i] += 1e-5  # so that learning never stops
        return False

    cdef void ask_two(self, double *p, const double *weight) noexcept:
        cdef double clipped, total = 0.0
        cdef Py_ssize_t i, n = self.n, e = n - 1
        for i in range(e):
            clipped = fmin(fmax(p[2 * i + 1], LEAST), 1.0 - LEAST)
            self.log_odds[i] = log(clipped / (1.0 - clipped))
        self.log_odds[e] = 1.0
        linalg.symmetric_times(self.covariance, self.n, self.n, 1.0, self.log_odds, 0.0, self.h)
        for i in range(self.n):
            total += (self.coefficients[i] + (weight[i] if i < e else 0.0)) * self.log_odds[i]
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.h, self.log_odds, self.n)))
        p[2 * e + 1] = sigmoid(total)
        p[2 * e] = 1.0 - p[2 * e + 1]

    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept:
        """``own`` was the probability of class 1."""
        cdef double curvature = fmax(own * (1.0 - own), 0.01) * counts, gain
        cdef Py_ssize_t i
        gain = 1.0 / (1.0 / curvature + linalg.dot(self.h, self.log_odds, self.n))
        for i in range(self.n):
            self.coefficients[i] += self.h[i] * gain * (c - own) * counts / curvature
        linalg.rank_one(self.covariance, self.n, self.n, -gain, self.h)

    cdef void ask_many(self, double *p, const double *weight) noexcept:
        cdef Py_ssize_t i, o, m = self.n, n = self.n_classes
        cdef double *own = p + m * n
        cdef double *of_class = self.log_chances
        cdef double *together = self.mean
        cdef double total, log_chance, least = LEAST, log_least = LOG_LEAST
        for i in range(m):
            together[i] = self.coefficients[i] + weight[i]
        for o in range(n):
            total = 0.0
            for i in range(m):
                log_chance = log(p[i * n + o]) if p[i * n + o] > least else log_least  # of many classes, most
                of_class[i] = log_chance
                total += together[i] * log_chance
            own[o] = total
            of_class += m
        softmax(own, 1.0, n, own)

    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept:
        """``own`` were the probabilities of every class: one step of Newton's, the curvature of one class after the
        other."""
        cdef double *mean = self.mean
        cdef double *off = self.off
        cdef const double *of_class
        cdef Py_ssize_t i, o, n = self.n
        for i in range(n):
            mean[i] = 0.0
        for o in range(self.n_classes):
            of_class = self.log_chances + o * n
            for i in range(n):
                mean[i] += own[o] * of_class[i]
        for o in range(self.n_classes):
            if own[o] < LEAST:
                continue
            of_class = self.log_chances + o * n
            for i in range(n):
                off[i] = of_class[i] - mean[i]
            linalg.symmetric_times(self.covariance, n, n, 1.0, off, 0.0, self.h)
            linalg.rank_one(
                self.covariance, n, n,
                -1.0 / (1.0 / (own[o] * counts) + fmax(0.0, linalg.dot(self.h, off, n))), self.h
            )
        of_class = self.log_chances + c * n
        for i in range(n):
            off[i] = counts * (of_class[i] - mean[i])
        linalg.symmetric_times(self.covariance, n, n, 1.0, off, 1.0, self.coefficients)

    def names(self):
        return ["stack"]

    def state(self):
        cdef Py_ssize_t i, n = self.n
        return {
            "coefficients": np.array([self.coefficients[i] for i in range(n)]),
            "covariance": np.array([self.covariance[i] for i in range(n * n)]).reshape(n, n),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, j, n = self.n
        coefficients = checked_numbers(
            "the coefficients of a stack", state["coefficients"], (n,), -LARGEST, LARGEST
        )
        covariance = checked_numbers(
            "the covariance of a stack", state["covariance"], (n, n), -LARGEST_VARIANCE, LARGEST_VARIANCE
        )
        check_positive("the covariance of a stack", covariance)
        for i in range(n):
            self.coefficients[i] = coefficients[i]
            for j in range(n):
                self.covariance[i * n + j] = covariance[i, j]

    def permuted(self, dict state, list order):
        """If two labels change places, log-odds change their signs together, and the constant does not."""
        if self.n_classes > 2 or order != [1, 0]:
            return state
        coefficients, covariance = state["coefficients"].copy(), state["covariance"].copy()
        coefficients[-1] *= -1.0
        covariance[-1] *= -1.0
        covariance[:, -1] *= -1.0
        return state | {"coefficients": coefficients, "covariance": covariance}
