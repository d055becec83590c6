"""A first-order expert over a pool of many points: many small clusters need points rather than covariances.

It is passive-aggressive (PA-I) under the metric with p = ½ (distances.pyx); its probabilities come from a calibration
of its margins.  For two classes it has one column of coefficients, for more one for each class, and a step moves the
class of the sample and its strongest rival.  A sample that it learns from joins the pool; if the pool is full, the
point with the lowest removal cost is evicted, as in BPA.
"""

from libc.math cimport INFINITY, fabs, fmax, fmin, log, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport Calibration, sigmoid, softmax
from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.mixture.distances cimport Distances
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport LARGEST_SUM, Sample
from river_okl._core.simd cimport loops

from river_okl._core.mixture.distances import POWERS
from river_okl._core.states import check_positions, checked_numbers

cdef double INFLUENCE = 1e-16       # smaller changes of a margin of 1 are lost in rounding
cdef double AGGRESSIVENESS = 1.0    # C of PA-I
cdef double LEAST = 1e-30           # of an earlier probability, in single precision

SCALE, METRIC = 4.0, 1              # of its kernel; a second learner, of scale 15 without a metric, brought nothing
cdef int metric = METRIC
cdef Py_ssize_t MANY = 64           # with more columns, each point lists its non-zero coefficients, which are few


cdef class Pool(Expert):
    """A learner over points that other experts may hold, too."""

    def __init__(self, Distances distances, tuple terms, Py_ssize_t most):
        self.name, self.rows, self.notes = "pool", 1, 1
        self.points = distances.points
        self.distances = distances
        self.most = most
        self.kernel = CompiledKernel(terms)
        self.calibration = Calibration()
        self.reserve_columns(1)
        self.columns = 1

    cdef int reserve_columns(self, Py_ssize_t columns) except -1:
        """Room for more columns of coefficients, which are zero."""
        cdef Py_ssize_t o
        self.coef = <double **> self.resize(self.coef, self.reserved, max(columns, self.reserved), sizeof(double *))
        self.score = self.doubles(self.score, self.columns, columns)
        for o in range(self.reserved, columns):
            self.coef[o] = self.doubles(NULL, 0, self.capacity)
            self.reserved = o + 1
        if columns <= MANY:
            return 0
        if self.square == NULL:
            self.start = <Py_ssize_t *> self.resize(NULL, 0, self.capacity, sizeof(Py_ssize_t))
            self.count = <Py_ssize_t *> self.resize(NULL, 0, self.capacity, sizeof(Py_ssize_t))
            self.square = self.doubles(NULL, 0, self.capacity)
        return self.reserve_lists((self.n + 1) * columns if columns == MANY + 1 else columns)

    cdef int reserve_lists(self, Py_ssize_t more) except -1:
        """Room for ``more`` listed coefficients; the lists are compacted if they must grow."""
        cdef Py_ssize_t i, room, used = 0
        cdef int32_t *which
        cdef double *amount
        if self.used + more <= self.room:
            return 0
        for i in range(self.capacity):
            used += self.count[i]
        room = 2 * (used + more)
        which, amount = <int32_t *> self.resize(NULL, 0, room, 4), self.doubles(NULL, 0, room)
        used = 0
        for i in range(self.capacity):
            if self.count[i] == 0:
                continue
            memcpy(which + used, self.which + self.start[i], self.count[i] * 4)
            memcpy(amount + used, self.amount + self.start[i], self.count[i] * 8)
            self.start[i] = used
            used += self.count[i]
        self.release(self.which)
        self.release(self.amount)
        self.which, self.amount, self.used, self.room = which, amount, used, room
        return 0

    cdef int reserve_class(self) except -1:
        return self.reserve_columns(max(2, self.columns) + 1)

    cdef int reserve_points(self) except -1:
        cdef Py_ssize_t i, capacity = self.points.capacity
        if capacity > self.capacity:
            self.absent = self.doubles(self.absent, self.capacity, capacity)
            for i in range(self.capacity, capacity):
                self.absent[i] = INFINITY
            for i in range(self.reserved):
                self.coef[i] = self.doubles(self.coef[i], self.capacity, capacity)
            self.row = self.doubles(self.row, self.capacity, capacity)
            self.loss = self.doubles(self.loss, 0, capacity)
            if self.square != NULL:
                self.start = <Py_ssize_t *> self.resize(self.start, self.capacity, capacity, sizeof(Py_ssize_t))
                self.count = <Py_ssize_t *> self.resize(self.count, self.capacity, capacity, sizeof(Py_ssize_t))
                self.square = self.doubles(self.square, self.capacity, capacity)
            self.capacity = capacity
        return self.reserve_lists(self.columns) if self.columns > MANY else 0

    cdef void add_class(self) noexcept:
        """The function of two classes becomes one for each of them, of the same norm together."""
        cdef Py_ssize_t j, o
        if self.columns > 1:
            self.columns += 1
            for j in range(self.points.n if self.columns == MANY + 1 else 0):
                for o in range(self.columns):
                    self.score[o] = self.coef[o][j]
                self.enlist(j)
            return
        self.columns = 3
        for j in range(self.points.n):
            self.coef[1][j] = sqrt(0.5) * self.coef[0][j]
            self.coef[0][j] = -self.coef[1][j]

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, n = self.points.padded()
        cdef double factor = self.calibration.factor()
        self.own = self.kernel.self_similarity(self.distances.own[metric])
        if n:
            loops.kernel_row(
                &self.kernel.program, self.distances.dots[metric], False, self.distances.square[metric],
                self.distances.own[metric], n, self.row
            )
        if self.columns > MANY:
            self.add_listed()
        else:
            for o in range(self.columns):
                self.score[o] = loops.inner(self.row, self.coef[o], n) if n else 0.0
        if self.columns == 1:
            p[1] = sigmoid(factor * self.score[0])
            p[0] = 1.0 - p[1]
        else:
            softmax(self.score, sqrt(0.5) * factor, self.columns, p)
        return 0

    cdef void add_listed(self) noexcept:
        """The scores from the coefficients that are not 0: one in a hundred, if there are a thousand classes."""
        cdef Py_ssize_t i, k
        memset(self.score, 0, self.columns * 8)
        for i in range(self.points.n):
            for k in range(self.start[i], self.start[i] + self.count[i]):
                self.score[self.which[k]] += self.row[i] * self.amount[k]

    cdef void note(self, double *out) noexcept:
        """By what its margins were multiplied."""
        out[0] = self.calibration.factor()

    def check_notes(self, notes):
        if not notes.min() >= 0.0:
            raise ValueError("the factor of a margin is negative")

    cdef double margin_said(self, const Outcome *y) noexcept:
        """The margin of the sample when it was asked, from the probabilities that it became."""
        cdef const double *p = y.said + self.first * max(2, self.columns)
        cdef Py_ssize_t o, c = <Py_ssize_t> y.target
        cdef double rival = LEAST
        for o in range(max(2, self.columns)):
            if o != c:
                rival = fmax(rival, p[o])
        return log(fmax(p[c], LEAST) / rival) / fmax(y.said[self.noted], LEAST)

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        """A step of PA-I; ``score`` becomes the coefficients of the sample, if it is to join the pool."""
        cdef Py_ssize_t o, rival = 0, c = <Py_ssize_t> y.target
        cdef double *score = self.score
        cdef double margin, tau, sign = 2.0 * c - 1.0
        if self.columns == 1:
            margin = sign * score[0]
        else:
            rival = 1 if c == 0 else 0
            for o in range(self.columns):
                if o != c and score[o] > score[rival]:
                    rival = o
            margin = sqrt(0.5) * (score[c] - score[rival])
        if not y.late:
            self.calibration.update(margin)
        elif self.columns == 1 or y.said[self.first * self.columns + c] > 0.0:  # the class was known
            self.calibration.update(self.margin_said(y))
        memset(score, 0, self.columns * 8)
        if margin >= 1.0 or self.own <= 0.0:
            return False
        tau = fmin(y.w * AGGRESSIVENESS, (1.0 - margin) / self.own)
        if self.columns == 1:
            score[0] = tau * sign
        else:
            score[c], score[rival] = sqrt(0.5) * tau, -sqrt(0.5) * tau
        return True

    # Points come and go -----------------------------------------------------------------------------------------------

    cdef bint holds(self, Py_ssize_t i) noexcept:
        return self.absent[i] == 0.0

    cdef bint is_full(self) noexcept:
        return self.n >= self.most

    cdef Py_ssize_t evict(self, const double *among) noexcept:
        """The sample takes over the part of the evicted point along κ(x, ·)."""
        cdef Py_ssize_t i, o, best, n = self.points.padded()
        memcpy(self.loss, self.absent, n * 8)
        if self.columns > MANY:
            for i in range(n):
                self.loss[i] += self.square[i] * fmax(0.0, self.own - self.row[i] * self.row[i] / self.own)
        else:
            for o in range(self.columns):
                loops.add_losses(self.coef[o], self.row, self.own, n, self.loss)
        best = loops.least(self.loss, n)
        if self.columns > MANY:
            self.take_over(best)
        else:
            for o in range(self.columns):
                self.score[o] += self.coef[o][best] * self.row[best] / self.own
                self.coef[o][best] = 0.0
        self.absent[best] = INFINITY
        self.n -= 1
        return best

    cdef void take_over(self, Py_ssize_t i) noexcept:
        """The sample takes over the non-zero coefficients of point i.  Negligible ones are dropped; otherwise every
        point would eventually have a coefficient for every class."""
        cdef Py_ssize_t k
        cdef double part
        for k in range(self.start[i], self.start[i] + self.count[i]):
            part = self.amount[k] * self.row[i] / self.own
            if fabs(part) * self.own >= INFLUENCE:
                self.score[self.which[k]] += part
            self.coef[self.which[k]][i] = 0.0
        self.count[i] = 0
        self.square[i] = 0.0

    cdef void hold(self, Py_ssize_t i) noexcept:
        cdef Py_ssize_t o
        self.absent[i] = 0.0
        self.n += 1
        if self.columns > MANY:
            self.enlist(i)
            return
        for o in range(self.columns):
            self.coef[o][i] = self.score[o]

    cdef void enlist(self, Py_ssize_t i) noexcept:
        """The non-zero numbers of ``score`` become the list of point i.  Requires ``reserve_lists``."""
        cdef Py_ssize_t o
        self.square[i], self.start[i] = 0.0, self.used
        for o in range(self.columns):
            if self.score[o] != 0.0:
                self.square[i] += self.score[o] * self.score[o]
                self.which[self.used] = <int32_t> o
                self.amount[self.used] = self.coef[o][i] = self.score[o]
                self.used += 1
        self.count[i] = self.used - self.start[i]

    cdef void stored(self, double target) noexcept:
        self.absent[self.points.n - 1] = INFINITY  # its coefficients are 0: points outside the pool have no others

    cdef void dropped(self, Py_ssize_t i) noexcept:
        cdef Py_ssize_t o, k, last = self.points.n
        self.absent[i] = self.absent[last]
        self.absent[last] = INFINITY
        if self.columns <= MANY:
            for o in range(self.columns):
                self.coef[o][i] = self.coef[o][last]
                self.coef[o][last] = 0.0
            return
        self.square[i], self.square[last] = self.square[last], 0.0
        self.start[i], self.count[i], self.count[last] = self.start[last], self.count[last], 0
        for k in range(self.start[i], self.start[i] + self.count[i]):
            o = self.which[k]
            self.coef[o][i], self.coef[o][last] = self.amount[k], 0.0

    cdef void tune(self) noexcept:
        self.kernel.tune(self.distances.mean_distance(metric) / SCALE, self.distances.mean_square(metric))

    # What there is ----------------------------------------------------------------------------------------------------

    cdef void explain(self, const double *weight, bint at_sample, double *out) noexcept:
        cdef Py_ssize_t o, r
        for o in range(self.columns):
            for r in range(self.points.n):
                out[r * self.columns + o] += weight[0] * self.coef[o][r] * (self.row[r] if at_sample else 1.0)

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        metrics[metric] += weight[0]

    def names(self):
        return [f"pool(scale={SCALE:g}, power={POWERS[METRIC]:g})"]

    @property
    def positions(self):
        """Of its points."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.holds(i)]

    def _check(self):
        cdef Py_ssize_t i, o
        assert len(self.positions) == self.n <= self.most
        for i in range(self.points.n if self.columns > MANY else 0):
            listed = {self.which[o]: self.amount[o] for o in range(self.start[i], self.start[i] + self.count[i])}
            assert listed == {o: self.coef[o][i] for o in range(self.columns) if self.coef[o][i] != 0.0}
            assert self.square[i] == sum([amount**2 for amount in listed.values()])
        assert all([self.absent[i] == INFINITY for i in range(self.points.n, self.capacity)])
        assert all(
            [
                self.coef[o][i] == 0.0 for o in range(self.columns) for i in range(
                    self.capacity
                ) if i >= self.points.n or not self.holds(i)
            ]
        )

    def state(self):
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
        cdef Py_ssize_t i, o, at
        positions, coef, means = state["points"], state["coef"], state["means"]
        check_positions(positions, self.points.n, self.most)
        checked_numbers("the coefficients of a pool", coef, (self.columns, positions.size))
        checked_numbers("the bandwidth of a pool", means, (2,), 0.0, LARGEST_SUM)
        self.reserve_points()
        for i in range(positions.size):
            at = positions[i]
            for o in range(self.columns):
                self.score[o] = coef[o, i]
            self.reserve_points()
            self.hold(at)
        self.n = positions.size
        self.kernel.tune(means[0], means[1])
        self.calibration.restore(state["calibration"])

    def permuted(self, dict state, list order):
        coef = state["coef"]
        return state | {"coef": coef[order] if len(coef) > 1 else -coef if order == [1, 0] else coef}
