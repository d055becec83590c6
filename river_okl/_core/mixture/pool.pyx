"""A first-order learner over a pool of many points: many small clusters want points rather than covariances.

It is passive-aggressive (PA-I) under the metric between none and the one learned (distances.pyx), and has probabilities
by a calibration of its margins.  For two classes it has one column of coefficients, for more one for each class, where
a step moves the class of the sample and its strongest rival.  A sample that it learns from joins the pool; where that
is full, the point that is missed least makes room, as in BPA.
"""

from libc.math cimport INFINITY, fmin, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport Calibration, sigmoid, softmax
from river_okl._core.kernel cimport CompiledKernel, loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.mixture.distances cimport Distances
from river_okl._core.sample cimport LARGEST_SUM

from river_okl._core.states import check_positions, checked_numbers

cdef double AGGRESSIVENESS = 1.0    # C of PA-I

SCALE, METRIC = 4.0, 1              # of its kernel; a second learner, of scale 15 without a metric, brought nothing
cdef int metric = METRIC


cdef class Pool:
    """A learner over points that others may hold, too."""

    def __init__(self, Distances distances, tuple terms, Py_ssize_t most):
        self.points = distances.points
        self.distances = distances
        self.most = most
        self.kernel = CompiledKernel(terms)
        self.calibration = Calibration()
        self.reserve_columns(1)
        self.columns = 1

    def __dealloc__(self):
        cdef Py_ssize_t o
        for o in range(self.reserved):
            okl_free(self.coef[o])
        okl_free(self.coef)
        okl_free(self.absent)
        okl_free(self.row)
        okl_free(self.score)
        okl_free(self.loss)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.capacity * 8 * (3 + self.columns) + self.columns * 16

    cdef int reserve_columns(self, Py_ssize_t columns) except -1:
        """Room for more columns of coefficients, which are zero."""
        cdef Py_ssize_t o
        self.coef = <double **> aligned_resize(self.coef, self.reserved, max(columns, self.reserved), sizeof(double *))
        self.score = <double *> aligned_resize(self.score, self.columns, columns, 8)
        for o in range(self.reserved, columns):
            self.coef[o] = <double *> aligned_resize(NULL, 0, self.capacity, 8)
            self.reserved = o + 1
        return 0

    cdef int reserve_points(self) except -1:
        """Room for as many points as ``points`` have room for."""
        cdef Py_ssize_t i, capacity = self.points.capacity
        if capacity > self.capacity:
            self.absent = <double *> aligned_resize(self.absent, self.capacity, capacity, 8)
            for i in range(self.capacity, capacity):
                self.absent[i] = INFINITY
            for i in range(self.reserved):
                self.coef[i] = <double *> aligned_resize(self.coef[i], self.capacity, capacity, 8)
            self.row = <double *> aligned_resize(self.row, self.capacity, capacity, 8)
            self.loss = <double *> aligned_resize(self.loss, 0, capacity, 8)
            self.capacity = capacity
        return 0

    cdef void add_class(self) noexcept:
        """One class more, for which there is room.  The function of two becomes one for each, of the same norm
        together."""
        cdef Py_ssize_t j
        if self.columns > 1:
            self.columns += 1
            return
        self.columns = 3
        for j in range(self.points.n):
            self.coef[1][j] = sqrt(0.5) * self.coef[0][j]
            self.coef[0][j] = -self.coef[1][j]

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, double *p) except -1:
        """The probabilities of every class, for the sample that was measured last."""
        cdef Py_ssize_t o, n = self.points.padded()
        cdef double factor = self.calibration.factor()
        self.own = self.kernel.self_similarity(self.distances.own[metric])
        if n:
            loops.kernel_row(
                &self.kernel.program, self.distances.dots[metric], False, self.distances.square[metric],
                self.distances.own[metric], n, self.row
            )
        for o in range(self.columns):
            self.score[o] = loops.inner(self.row, self.coef[o], n) if n else 0.0
        if self.columns == 1:
            p[1] = sigmoid(factor * self.score[0])
            p[0] = 1.0 - p[1]
        else:
            softmax(self.score, sqrt(0.5) * factor, self.columns, p)
        return 0

    cdef bint learn(self, Py_ssize_t c, double w) noexcept:
        """The sample asked about last is of class c; whether it is needed in the pool.  ``score`` becomes its
        coefficients there."""
        cdef Py_ssize_t o, rival = 0
        cdef double *score = self.score
        cdef double margin, tau, y = 2.0 * c - 1.0
        if self.columns == 1:
            margin = y * score[0]
        else:
            rival = 1 if c == 0 else 0
            for o in range(self.columns):
                if o != c and score[o] > score[rival]:
                    rival = o
            margin = sqrt(0.5) * (score[c] - score[rival])
        self.calibration.update(margin)
        memset(score, 0, self.columns * 8)
        if margin >= 1.0 or self.own <= 0.0:
            return False
        tau = fmin(w * AGGRESSIVENESS, (1.0 - margin) / self.own)
        if self.columns == 1:
            score[0] = tau * y
        else:
            score[c], score[rival] = sqrt(0.5) * tau, -sqrt(0.5) * tau
        return True

    # Points come and go -----------------------------------------------------------------------------------------------

    cdef Py_ssize_t evict(self) noexcept:
        """The point that is missed least leaves, and the sample takes over its part along κ(x, ·); which it was.

        Requires a sample that ``learn`` needs.
        """
        cdef Py_ssize_t o, best, n = self.points.padded()
        memcpy(self.loss, self.absent, n * 8)
        for o in range(self.columns):
            loops.add_losses(self.coef[o], self.row, self.own, n, self.loss)
        best = loops.least(self.loss, n)
        for o in range(self.columns):
            self.score[o] += self.coef[o][best] * self.row[best] / self.own
            self.coef[o][best] = 0.0
        self.absent[best] = INFINITY
        self.n -= 1
        return best

    cdef void hold(self, Py_ssize_t i) noexcept:
        """The sample, which has become point i, joins."""
        cdef Py_ssize_t o
        self.absent[i] = 0.0
        self.n += 1
        for o in range(self.columns):
            self.coef[o][i] = self.score[o]

    cdef void stored(self) noexcept:
        """There is a new point at the end, which nobody holds yet."""
        cdef Py_ssize_t o, last = self.points.n - 1
        self.absent[last] = INFINITY
        for o in range(self.columns):
            self.coef[o][last] = 0.0

    cdef void dropped(self, Py_ssize_t i) noexcept:
        """Point i, which was not in the pool, is no more, and the last has its position."""
        cdef Py_ssize_t o, last = self.points.n
        self.absent[i] = self.absent[last]
        self.absent[last] = INFINITY
        for o in range(self.columns):
            self.coef[o][i] = self.coef[o][last]
            self.coef[o][last] = 0.0

    cdef void tune(self) noexcept:
        """γ from today's mean distances."""
        self.kernel.tune(self.distances.mean_distance(metric) / SCALE, self.distances.mean_square(metric))

    # What there is ----------------------------------------------------------------------------------------------------

    cdef void explain(self, double weight, bint at_sample, double *out) noexcept:
        """Add the coefficients of every point, by the weight of the learner; at the last sample, what they contribute
        there."""
        cdef Py_ssize_t o, r
        for o in range(self.columns):
            for r in range(self.points.n):
                out[r * self.columns + o] += weight * self.coef[o][r] * (self.row[r] if at_sample else 1.0)

    @property
    def positions(self):
        """Of its points."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.holds(i)]

    def _check(self):
        """The invariants, by brute force."""
        cdef Py_ssize_t i, o
        assert len(self.positions) == self.n <= self.most
        assert all([self.absent[i] == INFINITY for i in range(self.points.n, self.capacity)])
        assert all(
            [
                self.coef[o][i] == 0.0 for o in range(self.columns) for i in range(
                    self.capacity
                ) if i >= self.points.n or not self.holds(i)
            ]
        )

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, o
        positions = self.positions
        return {
            "points": np.array(positions, dtype=np.int32),
            "coef": np.array(
                [[self.coef[o][i] for i in positions] for o in range(self.columns)]
            ).reshape(self.columns, self.n),
            "means": np.array([self.kernel.mean_distance, self.kernel.mean_square]),
            "calibration": self.calibration.state(),
        }

    def restore(self, dict state):
        """Go on from a state, when points and metrics have their own, and this as many classes as it had."""
        cdef Py_ssize_t i, o, at
        positions, coef, means = state["points"], state["coef"], state["means"]
        check_positions(positions, self.points.n, self.most)
        checked_numbers("the coefficients of a pool", coef, (self.columns, positions.size))
        checked_numbers("the bandwidth of a pool", means, (2,), 0.0, LARGEST_SUM)
        self.reserve_points()
        for i in range(positions.size):
            at = positions[i]
            self.absent[at] = 0.0
            for o in range(self.columns):
                self.coef[o][at] = coef[o, i]
        self.n = positions.size
        self.kernel.tune(means[0], means[1])
        self.calibration.restore(state["calibration"])
