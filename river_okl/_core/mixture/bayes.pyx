"""Naive Bayes: a normal distribution of each feature in each class; it predicts when there are more than two classes.

A generative model of the classes needs few samples of each, however many classes there are.

    log p(x, c) = log P(c) + Σ_j log N(x_j; μ_cj, σ_cj²)        P(c | x) = softmax(κ log p(x, c))

over the scaled features that x has.  The factor of a string is the share of the class's samples that have it; a gap has
none.  Correlated features are counted more than once; the inverse temperature κ compensates for it and follows the
stream by Newton's method.
"""

from libc.math cimport fmax, fmin, log
from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy as np

from river_okl._core.calibration cimport fit_earlier_inverse_temperature, fit_inverse_temperature, softmax
from river_okl._core.memory cimport array_of
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

from river_okl._core.states import LARGEST_COUNT, checked_numbers

cdef double MEMORY = 1000.0         # values, after which a normal distribution forgets
cdef double LEAST = 0.01            # of a variance; the prior is one value with the variance of scaled features, 1
cdef double LEAST_TEMPERATURE = 0.01, MOST_TEMPERATURE = 2.0     # bounds of κ
cdef double LARGEST_TERM = 50.0         # squared standard deviations: bound of one feature's term


cdef class Bayes(Expert):
    """Over the features that a scaler counts."""

    def __init__(self, Scaler scaler):
        self.name, self.notes = "bayes", 1
        self.scaler = scaler
        self.inverse_temperature = self.curvature = 1.0
        self.reserve_classes(2)
        self.n_classes = 2

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1:
        """Room for more classes, of which nothing is known yet."""
        cdef Py_ssize_t o, place, before = self.room, room = max(n_classes, before + before // 8)
        cdef double *score
        if n_classes <= before:
            return 0
        self.counts = self.doubles(self.counts, before, room)
        self.log_counts = self.doubles(self.log_counts, before, room)
        self.log_absent = self.doubles(self.log_absent, before, room)
        score = self.doubles(NULL, 0, room)
        self.gaussians = self.table(self.gaussians, NUMBERS * self.places, before, NUMBERS * self.places, room)
        self.release(self.score)
        self.score, self.room = score, room
        for o in range(before, room):
            self.take_logs(o)
        for place in range(self.places):
            self.begin(place, before)
        return 0

    cdef void take_logs(self, Py_ssize_t c) noexcept:
        """Of what the count of a class gives to each sample."""
        self.log_counts[c], self.log_absent[c] = log(self.counts[c] + 1.0), log(0.5 / (self.counts[c] + 1.0))

    cdef void begin(self, Py_ssize_t place, Py_ssize_t first) noexcept:
        """Nothing is known of a feature in the classes from the first on."""
        cdef Py_ssize_t i, o
        cdef double *g = self.gaussians + place * NUMBERS * self.room
        for i in range(NUMBERS):
            for o in range(first, self.room):
                g[i * self.room + o] = 1.0 if i == SMOOTHED else 0.0

    cdef void smooth(self, Py_ssize_t place, Py_ssize_t c) noexcept:
        """The variance that a feature's distribution in a class predicts with."""
        cdef Py_ssize_t room = self.room
        cdef double *g = self.gaussians + place * NUMBERS * room + c
        cdef double count = g[COUNT * room]
        g[SMOOTHED * room] = fmax((count * g[VARIANCE * room] + 1.0) / (count + 1.0), LEAST)
        g[LOG_SMOOTHED * room] = log(g[SMOOTHED * room])

    cdef int reserve_class(self) except -1:
        return self.reserve_classes(self.n_classes + 1)

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        cdef Py_ssize_t place, each = NUMBERS * self.room, before = self.places
        if places > before:
            places = max(8, places, 2 * before)
            self.gaussians = self.doubles(self.gaussians, each * before, each * places)
            self.places = places
            for place in range(before, places):
                self.begin(place, 0)
        return 0

    cdef void add_class(self) noexcept:
        """With the third class it begins to predict."""
        cdef Py_ssize_t o, place
        for o in range(0 if self.rows else 2):
            self.take_logs(o)
            for place in range(self.places):
                self.smooth(place, o)
        self.n_classes += 1
        self.rows = 1

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, j, n = self.n_classes, room = self.room
        cdef double value, off, term, most = LARGEST_TERM
        cdef int32_t place
        cdef double *score = self.score
        cdef const double *g
        cdef const double *mean
        cdef const double *variance
        cdef const double *log_variance
        memcpy(score, self.log_counts, n * 8)
        for j in range(x.size):
            place = x.places[j]
            if not 0 <= place < self.places or x.numbers[j] != x.numbers[j]:
                continue
            g = self.gaussians + place * NUMBERS * room
            if self.scaler.features[place].word:
                for o in range(n):
                    score[o] += self.log_absent[o] if g[o] == 0.0 else log((g[o] + 0.5) / (self.counts[o] + 1.0))
                continue
            mean, variance, log_variance = g + MEAN * room, g + SMOOTHED * room, g + LOG_SMOOTHED * room
            value = x.scaled[j]
            for o in range(n):  # no fmin, which would be a call
                off = value - mean[o]
                term = off * off / variance[o]
                score[o] -= 0.5 * (log_variance[o] + (term if term < most else most))
        softmax(self.score, self.inverse_temperature, self.n_classes, p)
        return 0

    cdef void note(self, double *out) noexcept:
        out[0] = self.inverse_temperature

    def check_notes(self, notes):
        if not (0.99 * LEAST_TEMPERATURE <= notes.min() and notes.max() <= 1.01 * MOST_TEMPERATURE):
            raise ValueError("the inverse temperature of naive Bayes is out of range")

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        cdef Py_ssize_t j, c = <Py_ssize_t> y.target, room = self.room
        cdef double gain, off
        cdef double *g
        if self.rows and y.late:
            fit_earlier_inverse_temperature(
                y.said[self.noted], y.said + self.first * self.n_classes, self.n_classes, c, LEAST_TEMPERATURE,
                MOST_TEMPERATURE, &self.inverse_temperature, &self.curvature
            )
        elif self.rows:
            fit_inverse_temperature(
                self.score, y.p + self.first * self.n_classes, self.n_classes, c, LEAST_TEMPERATURE, MOST_TEMPERATURE,
                &self.inverse_temperature, &self.curvature
            )
        self.counts[c] += y.counts
        if self.rows:
            self.take_logs(c)
        for j in range(x.size):
            if x.numbers[j] != x.numbers[j]:
                continue
            g = self.gaussians + x.places[j] * NUMBERS * room + c
            if self.scaler.features[x.places[j]].word:
                g[COUNT * room] += y.counts
                continue
            g[COUNT * room] = fmin(g[COUNT * room] + y.counts, MEMORY)
            gain = y.counts / g[COUNT * room]
            off = x.scaled[j] - g[MEAN * room]
            g[MEAN * room] += gain * off
            g[VARIANCE * room] = (1.0 - gain) * (g[VARIANCE * room] + gain * off * off)
            if self.rows:
                self.smooth(x.places[j], c)
        return False

    cdef void forget(self, list places) noexcept:
        cdef Py_ssize_t place
        for place in places:
            self.begin(place, 0)

    def names(self):
        return ["bayes"] if self.rows else []

    def state(self):
        cdef Py_ssize_t size = self.scaler.size, n = self.n_classes
        g = array_of(self.gaussians, size * NUMBERS * self.room).reshape(size, NUMBERS, self.room)
        return {
            "gaussians": np.ascontiguousarray(g[:, :SMOOTHED, :n].transpose(2, 0, 1)),
            "counts": array_of(self.counts, n),
            "fit": np.array([self.inverse_temperature, self.curvature]),
        }

    def restore(self, dict state):
        cdef Py_ssize_t o, j, i
        gaussians, counts, fit = state["gaussians"], state["counts"], state["fit"]
        checked_numbers("the distributions of features", gaussians, (self.n_classes, self.scaler.size, 3))
        checked_numbers("the counts of classes", counts, (self.n_classes,), 0.0)
        checked_numbers("the fit of naive Bayes", fit, (2,), 1e-2)
        most = np.array([LARGEST_COUNT if self.scaler.features[j].word else MEMORY for j in range(self.scaler.size)])
        if (gaussians[..., [0, 2]] < 0.0).any() or (gaussians[..., 0] > most).any():
            raise ValueError("the distributions of features are out of range")
        self.reserve_places(self.scaler.size)
        self.inverse_temperature, self.curvature = fit
        for o in range(self.n_classes):
            self.counts[o] = counts[o]
            self.take_logs(o)
            for j in range(self.scaler.size):
                for i in range(SMOOTHED):
                    self.gaussians[(j * NUMBERS + i) * self.room + o] = gaussians[o, j, i]
                self.smooth(j, o)

    def permuted(self, dict state, list order):
        return state | {name: state[name][order] for name in ("gaussians", "counts")}
