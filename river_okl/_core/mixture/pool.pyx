"""A first-order expert over a pool of many points: many small clusters need points rather than covariances.

The expert is passive-aggressive (PA-I) under the metric with p = ½ (distances.pyx).  Its probabilities are calibrated
margins.  It has one column of coefficients for two classes, and one column per class for more; a step then moves the
class of the sample and its strongest rival.  A sample that causes a step is added to the pool.  If the pool is full,
the point with the lowest removal cost is evicted, as in BPA.

Streams of two labels and few features hardly miss it.  Where numbers act differently for each of many entities, named
by a string, it is worth 1 to 6 points (``benchmarks.ablation``), and on documents of thousands of words up to 3.
"""

from libc.math cimport INFINITY, fabs, fmax, fmin, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport probabilities_of
from river_okl._core.simd cimport loops
from river_okl._core.store.buffers cimport array_of
from river_okl._core.store.sample cimport LARGEST_SUM, Sample
from river_okl._core.store.table cimport Classes

from river_okl._core.kernel.distances import POWERS
from river_okl._core.states import check_positions, checked_numbers

cdef double INFLUENCE = 1e-16       # smaller changes of a margin of 1 are lost in rounding
cdef double AGGRESSIVENESS = 1.0    # C of PA-I
cdef double LEAST = 1e-30           # of an earlier probability, in single precision

SCALE, METRIC = 4.0, 2              # of its kernel; a second learner, of scale 15 without a metric, did not help
cdef int metric = METRIC
STEPS = 12                          # of conjugate gradients: 1 to 2 % of the evicted points' contribution is lost
cdef Py_ssize_t LISTED_ABOVE = 64   # with more columns, each point lists its non-zero coefficients, which are few


cdef class Pool(Expert):
    """A kernel learner over points that other experts may reference, too."""

    def __init__(self, Distances distances, tuple terms, Py_ssize_t max_points):
        self.name, self.rows = "pool", 1
        self.points = distances.points
        self.distances = distances
        self.max_points = max_points
        self.kernel = CompiledKernel(terms)
        self.calibration = Calibration()
        self.per_class = Classes(1, split=sqrt(0.5))
        self.derive(<size_t> &self.absent, (self.points,), default=INFINITY)
        self.derive(<size_t> &self.coef, (self.per_class, self.points))
        self.scratch(<size_t> &self.row, (self.points,))
        self.scratch(<size_t> &self.loss, (self.points,))
        self.scratch(<size_t> &self.score, (self.per_class,))
        self.scratch(<size_t> &self.of_point, (self.per_class,))

    @property
    def columns(self):
        """Number of columns of coefficients: 1, or the number of classes if there are more than two."""
        return self.per_class.n

    cdef int reserve_lists(self, Py_ssize_t more) except -1:
        """Make room for ``more`` listed coefficients; the lists are compacted if they must grow."""
        cdef Py_ssize_t i, room, used = 0
        cdef int32_t *which
        cdef double *amount
        if self.used + more <= self.room:
            return 0
        for i in range(self.points.room):
            used += self.count[i]
        room = 2 * (used + more)
        which, amount = <int32_t *> self.resize(NULL, 0, room, 4), self.doubles(NULL, 0, room)
        used = 0
        for i in range(self.points.room):
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

    cdef int add_class(self) except -1:
        """Add a class; the function of two classes becomes one function per class, with the same total norm."""
        cdef Py_ssize_t i
        Expert.add_class(self)
        if self.per_class.n <= LISTED_ABOVE or self.coef == NULL:
            return 0
        self.derive(<size_t> &self.start, (self.points,), dtype=np.intp)
        self.derive(<size_t> &self.count, (self.points,), dtype=np.intp)
        self.derive(<size_t> &self.square, (self.points,))
        for i in range(self.points.n):
            self.gather(i, self.score)
            self.list_score(i)
        self.discard(<size_t> &self.coef)
        return 0

    cdef void gather(self, Py_ssize_t i, double *out) noexcept:
        """Write the coefficients of a point."""
        cdef Py_ssize_t o, k
        if self.coef != NULL:
            for o in range(self.per_class.n):
                out[o] = self.coef[o * self.points.room + i]
            return
        memset(out, 0, self.per_class.n * 8)
        for k in range(self.start[i], self.start[i] + self.count[i]):
            out[self.which[k]] = self.amount[k]

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t i, k, o, n = self.points.padded(), columns = self.per_class.n
        cdef double factor = self.calibration.factor()
        self.own = self.kernel.self_similarity(self.distances.own[metric])
        if n:
            loops.kernel_row(
                &self.kernel.program, self.distances.dots[metric], False, self.distances.square[metric],
                self.distances.own[metric], n, self.row
            )
        if self.coef == NULL:  # of a thousand classes, one coefficient in a hundred is not zero
            memset(self.score, 0, columns * 8)
            for i in range(self.points.n):
                for k in range(self.start[i], self.start[i] + self.count[i]):
                    self.score[self.which[k]] += self.row[i] * self.amount[k]
        else:
            for o in range(columns):
                self.score[o] = loops.inner(self.row, self.coef + o * self.points.room, n) if n else 0.0
        probabilities_of(self.score, factor if columns == 1 else sqrt(0.5) * factor, columns, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Compute a PA-I step: set ``score`` to the sample's coefficients; return whether it becomes a point."""
        cdef Py_ssize_t o, rival = 0, c = <Py_ssize_t> y.target, columns = self.per_class.n
        cdef double *score = self.score
        cdef double margin, tau, sign = 2.0 * c - 1.0
        if columns == 1:
            margin = sign * score[0]
        else:
            rival = 1 if c == 0 else 0
            for o in range(columns):
                if o != c and score[o] > score[rival]:
                    rival = o
            margin = sqrt(0.5) * (score[c] - score[rival])
        self.calibration.update(margin)
        memset(score, 0, columns * 8)
        if margin >= 1.0 or self.own <= 0.0:
            return False
        tau = fmin(y.w * AGGRESSIVENESS, (1.0 - margin) / self.own)
        if columns == 1:
            score[0] = tau * sign
        else:
            score[c], score[rival] = sqrt(0.5) * tau, -sqrt(0.5) * tau
        return True

    # Adding and removing points ---------------------------------------------------------------------------------------

    cdef bint references(self, Py_ssize_t i) noexcept:
        return self.absent[i] == 0.0

    cdef bint is_full(self) noexcept:
        return self.n >= self.max_points

    cdef Py_ssize_t evict(self, const double *process_weights) noexcept:
        """Evict the point with the lowest removal cost, and move its component along κ(x, ·) to the sample."""
        cdef Py_ssize_t i, o, best, n = self.points.padded(), room = self.points.room
        memcpy(self.loss, self.absent, n * 8)
        if self.coef == NULL:
            for i in range(n):
                self.loss[i] += self.square[i] * fmax(0.0, self.own - self.row[i] * self.row[i] / self.own)
        else:
            for o in range(self.per_class.n):
                loops.add_losses(self.coef + o * room, self.row, self.own, n, self.loss)
        best = loops.least(self.loss, n)
        if self.coef == NULL:
            self.take_over(best)
        else:
            for o in range(self.per_class.n):
                self.score[o] += self.coef[o * room + best] * self.row[best] / self.own
                self.coef[o * room + best] = 0.0
        self.absent[best] = INFINITY
        self.n -= 1
        return best

    cdef void take_over(self, Py_ssize_t i) noexcept:
        """Move the listed coefficients of point i to the sample.  Negligible ones are dropped; otherwise
        every point would eventually have a coefficient for every class."""
        cdef Py_ssize_t k
        cdef double part
        for k in range(self.start[i], self.start[i] + self.count[i]):
            part = self.amount[k] * self.row[i] / self.own
            if fabs(part) * self.own >= INFLUENCE:
                self.score[self.which[k]] += part
        self.count[i] = 0
        self.square[i] = 0.0

    cdef int claim(self, Py_ssize_t i) except -1:
        cdef Py_ssize_t o
        self.absent[i] = 0.0
        self.n += 1
        if self.coef == NULL:
            return self.list_score(i)
        for o in range(self.per_class.n):
            self.coef[o * self.points.room + i] = self.score[o]
        return 0

    cdef int list_score(self, Py_ssize_t i) except -1:
        """Store the non-zero numbers of ``score`` as the list of point i."""
        cdef Py_ssize_t o
        self.reserve_lists(self.per_class.n)
        self.square[i], self.start[i] = 0.0, self.used
        for o in range(self.per_class.n):
            if self.score[o] != 0.0:
                self.square[i] += self.score[o] * self.score[o]
                self.which[self.used] = <int32_t> o
                self.amount[self.used] = self.score[o]
                self.used += 1
        self.count[i] = self.used - self.start[i]
        return 0

    cdef void tune(self) noexcept:
        self.kernel.tune(self.distances.mean_distance(metric) / SCALE, self.distances.mean_square(metric))

    # Explanations and state -------------------------------------------------------------------------------------------

    cdef void add_coefficients(self, const double *weight, double *out) noexcept:
        cdef Py_ssize_t o, r, columns = self.per_class.n
        for r in range(self.points.n):
            self.gather(r, self.of_point)  # not ``score``, from which the sample is learned
            for o in range(columns):
                out[r * columns + o] += weight[0] * self.of_point[o]

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        metrics[metric] += weight[0]

    def names(self):
        return [f"pool(scale={SCALE:g}, power={POWERS[METRIC]:g})"]

    @property
    def positions(self):
        """Positions of the pool's points."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.references(i)]

    def _check(self):
        cdef Py_ssize_t i, o
        Expert._check(self)
        assert len(self.positions) == self.n <= self.max_points
        assert (self.coef == NULL) == (self.per_class.n > LISTED_ABOVE)
        for i in range(self.points.n):
            if self.coef == NULL:
                assert 0 <= self.start[i] <= self.start[i] + self.count[i] <= self.used or self.count[i] == 0
                listed = {self.which[o]: self.amount[o] for o in range(self.start[i], self.start[i] + self.count[i])}
                assert len(listed) == self.count[i] and 0.0 not in listed.values()
                assert self.square[i] == sum([amount**2 for amount in listed.values()])
            assert self.references(i) or not any(self.coefficients(i))

    cdef object coefficients(self, Py_ssize_t i):
        """Return the coefficients of a point."""
        self.gather(i, self.of_point)
        return array_of(self.of_point, self.per_class.n)

    def state(self):
        positions = self.positions
        coef = np.array([self.coefficients(i) for i in positions]).reshape(self.n, self.per_class.n)
        return {
            "points": np.array(positions, dtype=np.int32),
            "coef": np.ascontiguousarray(coef.T),
            "means": np.array([self.kernel.mean_distance, self.kernel.mean_square]),
            "calibration": self.calibration.state(),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, o, at
        positions, coef, means = state["points"], state["coef"], state["means"]
        check_positions(positions, self.points.n, self.max_points)
        checked_numbers("the coefficients of a pool", coef, (self.per_class.n, positions.size))
        checked_numbers("the bandwidth of a pool", means, (2,), 0.0, LARGEST_SUM)
        self.reserve()
        for i in range(positions.size):
            at = positions[i]
            for o in range(self.per_class.n):
                self.score[o] = coef[o, i]
            self.claim(at)
        self.kernel.tune(means[0], means[1])
        self.calibration.restore(state["calibration"])


def solved(K, b):
    """Return K⁻¹ b after ``STEPS`` steps of conjugate gradients, for all columns of b at once."""
    x, r = np.zeros_like(b), b.copy()
    p, square = r.copy(), (r * r).sum(axis=0)
    for _ in range(STEPS):
        Kp = K @ p
        curvature = (p * Kp).sum(axis=0)
        step = np.where(curvature > 0.0, square / np.where(curvature > 0.0, curvature, 1.0), 0.0)
        x += step * p
        r -= step * Kp
        before, square = square, (r * r).sum(axis=0)
        p = r + np.where(before > 0.0, square / np.where(before > 0.0, before, 1.0), 0.0) * p
    return x
