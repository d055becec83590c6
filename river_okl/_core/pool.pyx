"""First-order learners over one pool of many points: many small clusters want points rather than covariances.

Each is passive-aggressive (PA-I) with a kernel of its own, at a fixed scale and under a fixed metric, and has probabilities by a
calibration of its margins.  For two classes it has one column of coefficients, for more one for each class, where a step
moves the class of the sample and its strongest rival.  A sample that any of them learns from joins the pool; where that is full,
the point that is missed least makes room, as in BPA.
"""

from libc.math cimport fmin, sqrt
from libc.string cimport memset

import numpy as np

from river_okl._core.calibration cimport Calibration, sigmoid, softmax
from river_okl._core.kernel cimport Kernel, loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.metrics cimport Metrics
from river_okl._core.points cimport Points

from river_okl._core.states import check_positions

cdef double AGGRESSIVENESS = 1.0    # C of PA-I
cdef double FLOOR = 0.02            # of a learner's weight, where a point has to leave

FIRSTS_AT = ((3.0, 1), (15.0, 0))   # (scale m, metric) of their kernels


cdef class Pool:
    """``FIRSTS`` learners over points that others may hold, too; column o of learner i is number o · FIRSTS + i."""

    def __init__(self, Metrics metrics, tuple terms, Py_ssize_t most):
        cdef Py_ssize_t i
        self.points = metrics.points
        self.metrics = metrics
        self.most = most
        self.kernels = [Kernel(terms) for _ in range(FIRSTS)]
        self.calibrations = [Calibration() for _ in range(FIRSTS)]
        for i in range(FIRSTS):
            self.metric[i] = FIRSTS_AT[i][1]
        self.reserve_columns(1)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(FIRSTS * self.columns):
            okl_free(self.coef[i])
        for i in range(FIRSTS):
            okl_free(self.row[i])
        okl_free(self.coef)
        okl_free(self.held)
        okl_free(self.score)
        okl_free(self.loss)
        okl_free(self.squared)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.capacity * (17 + 8 * FIRSTS * (1 + self.columns)) + FIRSTS * self.columns * 16

    cdef int reserve_columns(self, Py_ssize_t columns) except -1:
        """More columns of coefficients, zero so far."""
        cdef Py_ssize_t i, before = FIRSTS * self.columns, after = FIRSTS * columns
        self.coef = <double **> aligned_resize(self.coef, before, after, sizeof(double *))
        self.score = <double *> aligned_resize(self.score, before, after, 8)
        self.columns = columns
        for i in range(before, after):
            self.coef[i] = <double *> aligned_resize(NULL, 0, self.capacity, 8)
        return 0

    cdef int reserve_points(self) except -1:
        """Room for as many points as ``points`` have room for."""
        cdef Py_ssize_t i, capacity = self.points.capacity
        if capacity > self.capacity:
            self.held = <unsigned char *> aligned_resize(self.held, self.capacity, capacity, 1)
            for i in range(FIRSTS * self.columns):
                self.coef[i] = <double *> aligned_resize(self.coef[i], self.capacity, capacity, 8)
            for i in range(FIRSTS):
                self.row[i] = <double *> aligned_resize(self.row[i], self.capacity, capacity, 8)
            self.loss = <double *> aligned_resize(self.loss, 0, capacity, 8)
            self.squared = <double *> aligned_resize(self.squared, 0, capacity, 8)
            self.capacity = capacity
        return 0

    cdef int add_class(self) except -1:
        """One class more.  The function that told two apart becomes one for each, of the same norm together."""
        cdef Py_ssize_t i, j
        if self.columns > 1:
            return self.reserve_columns(self.columns + 1)
        self.reserve_columns(3)
        for i in range(FIRSTS):
            for j in range(self.points.n):
                self.coef[FIRSTS + i][j] = sqrt(0.5) * self.coef[i][j]
                self.coef[i][j] = -self.coef[FIRSTS + i][j]
        return 0

    # A sample -------------------------------------------------------------------------------------------------------------

    cdef int ask(self, double *p) except -1:
        """The probabilities of every class, learner after learner, for the sample that was measured last."""
        cdef Py_ssize_t i, o, n = self.points.padded()
        cdef int m
        cdef Kernel kernel
        cdef double factor
        cdef double *score
        for i in range(FIRSTS):
            kernel, m = self.kernels[i], self.metric[i]
            score = self.score + i * self.columns
            self.own[i] = kernel.self_similarity(self.metrics.own[m])
            if n:
                loops.kernel_row(&kernel.program, self.metrics.dots[m], False, self.metrics.square[m], self.metrics.own[m], n, self.row[i])
            for o in range(self.columns):
                score[o] = loops.inner(self.row[i], self.coef[o * FIRSTS + i], n) if n else 0.0
            factor = (<Calibration> self.calibrations[i]).factor()
            if self.columns == 1:
                p[1] = sigmoid(factor * score[0])
                p[0] = 1.0 - p[1]
            else:
                softmax(score, sqrt(0.5) * factor, self.columns, p)
            p += max(2, self.columns)
        return 0

    cdef bint learn(self, Py_ssize_t c, double w) except -1:
        """The sample asked about last is of class c; whether it is needed in the pool.  ``score`` becomes its coefficients there."""
        cdef Py_ssize_t i, o, rival, columns = self.columns
        cdef double *score
        cdef double margin, tau, y = 2.0 * c - 1.0
        cdef bint needed = False
        for i in range(FIRSTS):
            score = self.score + i * columns
            rival = 0
            if columns == 1:
                margin = y * score[0]
            else:
                rival = 1 if c == 0 else 0
                for o in range(columns):
                    if o != c and score[o] > score[rival]:
                        rival = o
                margin = sqrt(0.5) * (score[c] - score[rival])
            (<Calibration> self.calibrations[i]).update(margin)
            memset(score, 0, columns * 8)
            if margin >= 1.0 or self.own[i] <= 0.0:
                continue
            needed = True
            tau = w * fmin(AGGRESSIVENESS, (1.0 - margin) / self.own[i])
            if columns == 1:
                score[0] = tau * y
            else:
                score[c], score[rival] = sqrt(0.5) * tau, -sqrt(0.5) * tau
        return needed

    # Points come and go ---------------------------------------------------------------------------------------------------

    cdef Py_ssize_t leave(self, const double *weight) noexcept:
        """The point that is missed least leaves, and the sample takes over its part along κ(x, ·); which it was."""
        cdef Py_ssize_t i, r, o, best = -1, n = self.points.n
        memset(self.loss, 0, n * 8)
        for i in range(FIRSTS):
            if self.own[i] <= 0.0:
                continue
            memset(self.squared, 0, n * 8)
            for o in range(self.columns):
                add_squares(self.coef[o * FIRSTS + i], n, self.squared)
            add_losses(self.squared, self.row[i], self.own[i], weight[i] + FLOOR, n, self.loss)
        for r in range(n):
            if self.held[r] and (best < 0 or self.loss[r] < self.loss[best]):
                best = r
        for i in range(FIRSTS):
            for o in range(self.columns):
                if self.own[i] > 0.0:
                    self.score[i * self.columns + o] += self.coef[o * FIRSTS + i][best] * self.row[i][best] / self.own[i]
                self.coef[o * FIRSTS + i][best] = 0.0
        self.held[best] = False
        self.n -= 1
        return best

    cdef void hold(self, Py_ssize_t i) noexcept:
        """The sample, which has become point i, joins."""
        cdef Py_ssize_t o, e
        self.held[i] = True
        self.n += 1
        for e in range(FIRSTS):
            for o in range(self.columns):
                self.coef[o * FIRSTS + e][i] = self.score[e * self.columns + o]

    cdef void stored(self) noexcept:
        """There is a new point at the end, which nobody holds yet."""
        cdef Py_ssize_t e, last = self.points.n - 1
        self.held[last] = False
        for e in range(FIRSTS * self.columns):
            self.coef[e][last] = 0.0

    cdef void dropped(self, Py_ssize_t i) noexcept:
        """Point i, which was not held, is no more, and the last has its position."""
        cdef Py_ssize_t e, last = self.points.n
        self.held[i] = self.held[last]
        for e in range(FIRSTS * self.columns):
            self.coef[e][i] = self.coef[e][last]
            self.coef[e][last] = 0.0

    cdef int tune(self) except -1:
        """Every γ from today's mean distances."""
        for kernel, (scale, m) in zip(self.kernels, FIRSTS_AT):
            (<Kernel> kernel).tune(self.metrics.mean_distance(m) / scale, self.metrics.mean_square(m))
        return 0

    # What there is --------------------------------------------------------------------------------------------------------

    cdef void explain(self, const double *weight, bint at_sample, double *out) noexcept:
        """Add the coefficients of every point, by these weights of the learners; at the last sample, what they contribute there."""
        cdef Py_ssize_t i, o, r
        for i in range(FIRSTS):
            for o in range(self.columns):
                for r in range(self.points.n):
                    out[r * self.columns + o] += weight[i] * self.coef[o * FIRSTS + i][r] * (self.row[i][r] if at_sample else 1.0)

    @property
    def positions(self):
        """Of its points."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.held[i]]

    def _check(self):
        """The invariants, by brute force."""
        cdef Py_ssize_t i, e
        assert sum([self.held[i] for i in range(self.points.n)]) == self.n <= self.most
        assert all([self.coef[e][i] == 0.0 for e in range(FIRSTS * self.columns) for i in range(self.capacity) if i >= self.points.n or not self.held[i]])

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, e
        positions = self.positions
        return {
            "points": np.array(positions, dtype=np.int32),
            "coef": np.array([[self.coef[e][i] for i in positions] for e in range(FIRSTS * self.columns)]).reshape(self.columns, FIRSTS, self.n),
            "means": np.array([[kernel.mean_distance, kernel.mean_square] for kernel in self.kernels]),
            "calibrations": [calibration.state() for calibration in self.calibrations],
        }

    def restore(self, dict state):
        """Go on from a state, when points and metrics have their own, and this as many classes as it had."""
        cdef Py_ssize_t i, o, e, at
        positions, coef, means, calibrations = state["points"], state["coef"], state["means"], state["calibrations"]
        check_positions(positions, self.points.n, self.most)
        if coef.shape != (self.columns, FIRSTS, positions.size) or not np.isfinite(coef).all():
            raise ValueError("the coefficients of a pool do not match its points")
        if means.shape != (FIRSTS, 2) or not np.isfinite(means).all() or means.min() < 0.0:
            raise ValueError("the bandwidths of a pool are out of range")
        if len(calibrations) != FIRSTS:
            raise ValueError("the calibrations of a pool do not match its learners")
        self.reserve_points()
        for i in range(positions.size):
            at = positions[i]
            self.held[at] = True
            for o in range(self.columns):
                for e in range(FIRSTS):
                    self.coef[o * FIRSTS + e][at] = coef[o, e, i]
        self.n = positions.size
        for kernel, (mean_distance, mean_square) in zip(self.kernels, means):
            (<Kernel> kernel).tune(mean_distance, mean_square)
        for calibration, saved in zip(self.calibrations, calibrations):
            calibration.restore(saved)


cdef void add_squares(const double *values, Py_ssize_t n, double *out) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        out[r] += values[r] * values[r]


cdef void add_losses(const double *squared, const double *row, double own, double weight, Py_ssize_t n, double *out) noexcept nogil:
    """out += weight α² δ²/κ(x, x) for every point, from α² and κ(z, x): a part of what is lost where x takes its place."""
    cdef Py_ssize_t r
    cdef double gap, inverse = 1.0 / own
    for r in range(n):
        gap = own - row[r] * row[r] * inverse
        out[r] += weight * inverse * squared[r] * (gap if gap > 0.0 else 0.0)
