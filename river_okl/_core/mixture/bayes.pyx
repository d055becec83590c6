"""Naive Bayes: a normal distribution of each feature in each class; it predicts if there are more than two classes.

A generative model needs few samples per class, however many classes there are.

    log p(x, c) = log P(c) + Σ_j log N(x_j; μ_cj, σ_cj²)        P(c | x) = softmax(κ log p(x, c))

over the scaled features that x has.  The factor of a string is the share of the class's samples with the string; a gap
has no factor.  Correlated features are counted more than once.  The inverse temperature κ compensates for this; it
follows the stream by Newton's method.
"""

from libc.math cimport fmax, fmin, log
from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy as np

from river_okl._core.calibration cimport fit_inverse_temperature, softmax
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport LARGEST, LARGEST_SUM, Sample
from river_okl._core.store.table cimport Axis, Classes, Conversion

from river_okl._core.states import LARGEST_COUNT

cdef double VALUES_MEMORY = 1000.0         # number of values after which a normal distribution forgets
cdef double LEAST = 0.01            # of a variance; the prior is one value with the variance of scaled features, 1
cdef double MIN_TEMPERATURE = 0.01, MAX_TEMPERATURE = 2.0  # bounds of κ
cdef double LARGEST_TERM = 50.0     # squared standard deviations: bound of one feature's term


cdef class Bayes(Expert):
    """Naive Bayes over the features of a scaler."""

    def __init__(self, Scaler scaler):
        self.name = "bayes"
        self.scaler = scaler
        self.per_class = Classes(2)
        per_value = scaler, self.per_class
        self.declare(<size_t> &self.counts, "counts", (self.per_class,), low=0.0)
        self.declare(<size_t> &self.seen, "seen", per_value, low=0.0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.mean, "mean", per_value, of_feature=1, low=-LARGEST, high=LARGEST)
        self.declare(<size_t> &self.variance, "variance", per_value, of_feature=2, low=0.0, high=LARGEST_SUM)
        self.declare(<size_t> &self.fit, "fit", (2,), default=1.0, low=1e-2)
        self.derive(<size_t> &self.log_counts, (self.per_class,))
        self.derive(<size_t> &self.log_absent, (self.per_class,), default=np.log(0.5))
        self.derive(<size_t> &self.smoothed, per_value, default=1.0)
        self.derive(<size_t> &self.log_smoothed, per_value)
        self.scratch(<size_t> &self.score, (self.per_class,))

    cdef void take_logs(self, Py_ssize_t c) noexcept:
        """Update the logarithms that depend on the count of a class."""
        self.log_counts[c], self.log_absent[c] = log(self.counts[c] + 1.0), log(0.5 / (self.counts[c] + 1.0))

    cdef void smooth(self, Py_ssize_t place, Py_ssize_t c) noexcept:
        """Update the predictive variance of a feature in a class, and its logarithm."""
        cdef Py_ssize_t i = place * self.per_class.room + c
        self.smoothed[i] = fmax((self.seen[i] * self.variance[i] + 1.0) / (self.seen[i] + 1.0), LEAST)
        self.log_smoothed[i] = log(self.smoothed[i])

    cdef void update_derived(self) noexcept:
        cdef Py_ssize_t c, place
        for c in range(self.per_class.n):
            self.take_logs(c)
            for place in range(self.scaler.n):
                self.smooth(place, c)

    cdef int add_class(self) except -1:
        """Add a class.  With the third, the expert starts to predict."""
        if self.rows == 0:
            self.update_derived()
        Expert.add_class(self)
        self.rows = 1
        return 0

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, j, at, n = self.per_class.n
        cdef double value, off, term, bound = LARGEST_TERM
        cdef int32_t place
        cdef double *score = self.score
        cdef const double *seen
        cdef const double *mean
        cdef const double *variance
        cdef const double *log_variance
        memcpy(score, self.log_counts, n * 8)
        for j in range(x.size):
            place = x.places[j]
            if not 0 <= place < self.scaler.room or x.numbers[j] != x.numbers[j]:
                continue
            at = place * self.per_class.room
            if self.scaler.features[place].word:
                seen = self.seen + at
                for o in range(n):
                    score[o] += self.log_absent[o] if seen[o] == 0.0 else log((seen[o] + 0.5) / (self.counts[o] + 1.0))
                continue
            mean, variance, log_variance = self.mean + at, self.smoothed + at, self.log_smoothed + at
            value = x.scaled[j]
            for o in range(n):  # no fmin, which would be a call
                off = value - mean[o]
                term = off * off / variance[o]
                score[o] -= 0.5 * (log_variance[o] + (term if term < bound else bound))
        softmax(score, self.fit[0], n, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t j, i, c = <Py_ssize_t> y.target, n = self.per_class.n
        cdef double gain, off
        if self.rows:
            fit_inverse_temperature(
                self.score, y.p + self.first * n, n, c, MIN_TEMPERATURE, MAX_TEMPERATURE, &self.fit[0], &self.fit[1]
            )
        self.counts[c] += y.counts
        if self.rows:
            self.take_logs(c)
        for j in range(x.size):
            if x.numbers[j] != x.numbers[j]:
                continue
            i = x.places[j] * self.per_class.room + c
            if self.scaler.features[x.places[j]].word:
                self.seen[i] += y.counts
                continue
            self.seen[i] = fmin(self.seen[i] + y.counts, VALUES_MEMORY)
            gain = y.counts / self.seen[i]
            off = x.scaled[j] - self.mean[i]
            self.mean[i] += gain * off
            self.variance[i] = (1.0 - gain) * (self.variance[i] + gain * off * off)
            if self.rows:
                self.smooth(x.places[j], c)
        return False

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Py_ssize_t place, c, i
        Expert.change_units(self, axis, to)
        for place in range(min(to.n, self.scaler.room)):
            for c in range(self.per_class.n):
                i = place * self.per_class.room + c
                if self.seen[i] > 0.0:
                    self.mean[i] += to.shift[place]
        if self.rows:
            self.update_derived()

    def names(self):
        return ["bayes"] if self.rows else []
