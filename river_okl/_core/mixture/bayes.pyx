"""Naive Bayes: a normal distribution of each feature in each class; it predicts when there are more than two classes.

A generative model of the classes needs few samples of each, however many classes there are.

    log p(x, c) = log P(c) + Σ_j log N(x_j; μ_cj, σ_cj²)        P(c | x) = softmax(κ log p(x, c))

over the scaled features that x has.  The factor of a string is the share of the class's samples that have it; a gap has
none.  Correlated features are counted more than once; the inverse temperature κ compensates for it and follows the
stream by Newton's method.
"""

from libc.math cimport fmax, fmin, log
from libc.stdint cimport int32_t

import numpy as np

from river_okl._core.calibration cimport fit_inverse_temperature, softmax
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

from river_okl._core.states import LARGEST_COUNT, checked_numbers

cdef double MEMORY = 1000.0         # values, after which a normal distribution forgets
cdef double LEAST = 0.01            # of a variance; the prior is one value with the variance of scaled features, 1
cdef double LARGEST_TERM = 50.0         # squared standard deviations: bound of one feature's term


cdef void smooth(Gaussian *g) noexcept:
    """The variance that it predicts with."""
    g.smoothed = fmax((g.count * g.variance + 1.0) / (g.count + 1.0), LEAST)
    g.log_smoothed = log(g.smoothed)


cdef class Bayes(Expert):
    """Over the features that a scaler counts."""

    def __init__(self, Scaler scaler):
        self.name = "bayes"
        self.scaler = scaler
        self.inverse_temperature = self.curvature = 1.0
        self.reserve_classes(2)
        self.n_classes = 2

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1:
        """Room for more classes, of which nothing is known yet."""
        cdef Py_ssize_t o
        self.gaussians = <Gaussian **> self.resize(
            self.gaussians, self.reserved, max(n_classes, self.reserved), sizeof(Gaussian *)
        )
        self.counts = self.doubles(self.counts, self.n_classes, n_classes)
        self.score = self.doubles(self.score, 0, n_classes)
        for o in range(self.reserved, n_classes):
            self.gaussians[o] = <Gaussian *> self.resize(NULL, 0, self.places, sizeof(Gaussian))
            self.reserved = o + 1
        return 0

    cdef int reserve_class(self) except -1:
        return self.reserve_classes(self.n_classes + 1)

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        cdef Py_ssize_t o
        if places > self.places:
            places = max(8, places, 2 * self.places)
            for o in range(self.reserved):
                self.gaussians[o] = <Gaussian *> self.resize(self.gaussians[o], self.places, places, sizeof(Gaussian))
            self.places = places
        return 0

    cdef void add_class(self) noexcept:
        """With the third class it begins to predict."""
        self.n_classes += 1
        self.rows = 1

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, j
        cdef double total, off
        cdef int32_t place
        cdef const Gaussian *g
        for o in range(self.n_classes):
            total = log(self.counts[o] + 1.0)
            for j in range(x.size):
                place = x.places[j]
                if 0 <= place < self.places and x.numbers[j] == x.numbers[j]:
                    g = &self.gaussians[o][place]
                    if self.scaler.features[place].word:
                        total += log((g.count + 0.5) / (self.counts[o] + 1.0))
                        continue
                    off = x.scaled[j] - g.mean
                    if g.count == 0.0:
                        total -= 0.5 * fmin(off * off, LARGEST_TERM)
                    else:
                        total -= 0.5 * (g.log_smoothed + fmin(off * off / g.smoothed, LARGEST_TERM))
            self.score[o] = total
        softmax(self.score, self.inverse_temperature, self.n_classes, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        cdef Py_ssize_t j, c = <Py_ssize_t> y.target
        cdef double gain, off
        cdef Gaussian *g
        if self.rows:
            fit_inverse_temperature(
                self.score, y.p + self.first * self.n_classes, self.n_classes, c, 0.01, 2.0, &self.inverse_temperature,
                &self.curvature
            )
        self.counts[c] += y.counts
        for j in range(x.size):
            if x.numbers[j] != x.numbers[j]:
                continue
            g = &self.gaussians[c][x.places[j]]
            if self.scaler.features[x.places[j]].word:
                g.count += y.counts
                continue
            g.count = fmin(g.count + y.counts, MEMORY)
            gain = y.counts / g.count
            off = x.scaled[j] - g.mean
            g.mean += gain * off
            g.variance = (1.0 - gain) * (g.variance + gain * off * off)
            smooth(g)
        return False

    cdef void forget(self, list places) noexcept:
        cdef Py_ssize_t o, place
        for place in places:
            for o in range(self.n_classes):
                self.gaussians[o][place].count = self.gaussians[o][place].mean = self.gaussians[o][place].variance = 0.0

    def names(self):
        return ["bayes"] if self.rows else []

    def state(self):
        cdef Py_ssize_t o, j, size = self.scaler.size
        rows = [
            [
                (
                    self.gaussians[o][j].count, self.gaussians[o][j].mean, self.gaussians[o][j].variance
                ) for j in range(size)
            ] for o in range(self.n_classes)
        ]
        return {
            "gaussians": np.array(rows, dtype=np.float64).reshape(self.n_classes, size, 3),
            "counts": np.array([self.counts[o] for o in range(self.n_classes)]),
            "fit": np.array([self.inverse_temperature, self.curvature]),
        }

    def restore(self, dict state):
        cdef Py_ssize_t o, j
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
            for j in range(self.scaler.size):
                self.gaussians[o][j].count, self.gaussians[o][j].mean, self.gaussians[o][j].variance = gaussians[o, j]
                smooth(&self.gaussians[o][j])

    def permuted(self, dict state, list order):
        return state | {name: state[name][order] for name in ("gaussians", "counts")}
