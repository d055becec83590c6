"""The nearest points to a sample: they predict its target, and show which features are relevant.

The mean of the targets of the ``NEAREST`` nearest points, under the metric with p = 1, is an input of the stack
(combiner.pyx).  The latest samples are among the points: after a drift they are the first of the new concept, and
without them all points would be samples that are hard to predict.

Neighbours also show which features matter (Relief; Robnik-Šikonja and Kononenko 2003 for regression).  For samples that
the mixture did not predict confidently,

    s_j = Σ_i (|y - y_i| - mean) |x_j - z_ij|

is 0 on average if feature j adds no information about y to the neighbourhood.  A model's slopes cannot show this: if
the weight of a feature has vanished, its slope has vanished, too.
"""

from libc.math cimport fabs

import numpy as np

from river_okl._core.loops cimport SEGMENT
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.simd cimport loops
from river_okl._core.store.points cimport LANES, Column, value_at
from river_okl._core.store.sample cimport LARGEST
from river_okl._core.store.table cimport Axis

from river_okl._core.kernel.distances import POWERS
from river_okl._core.states import check_positions

METRIC = 3
cdef int metric = METRIC


cdef class Neighbours(Expert):
    """Nearest neighbours among the latest samples and the points of other experts."""

    def __init__(self, Distances distances, Py_ssize_t max_points):
        self.name, self.rows = "neighbours", 1
        self.points = distances.points
        self.distances = distances
        self.declare(<size_t> &self.target, "targets", (self.points,), low=-LARGEST, high=LARGEST)
        self.derive(<size_t> &self.place, (self.points,), dtype="i4", default=-1)
        self.max_points, self.latest = max_points, Ring(max_points, sizeof(int32_t))
        self.latest.reserve(max_points)

    cdef int32_t latest_at(self, Py_ssize_t i) noexcept:
        """Return the position of the i-th of the latest samples."""
        return (<int32_t *> self.latest.at(i))[0]

    cpdef int reserve(self) except -1:
        if self.points.capacity > self.lows_of:
            self.lows = self.doubles(self.lows, 0, (self.points.capacity + SEGMENT - 1) // SEGMENT * LANES)
            self.lows_of = self.points.capacity
        return Expert.reserve(self)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        """Write the mean target of the nearest points, in units of its standard deviation."""
        cdef Py_ssize_t i
        self.found = min(self.points.n, NEAREST)
        loops.nearest(
            self.distances.square[metric], self.distances.dots[metric], self.points.n, self.lows, self.found,
            self.nearest
        )
        p[0] = 0.0
        for i in range(self.found if self.max_points else 0):
            p[0] += self.target[self.nearest[i]] / self.found
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Update feature relevance if the mixture did not predict confidently."""
        if self.found == NEAREST and not y.confident:
            self.learn_relevance(x, y.target)
        return self.max_points > 0

    cdef void learn_relevance(self, const Sample *x, double target) noexcept:
        """Add the evidence s of every feature of the last sample."""
        cdef Py_ssize_t i, j, k
        cdef double mean = 0.0, square = 0.0, s
        cdef double difference[NEAREST]
        cdef double z[NEAREST]
        cdef const Column *column
        for i in range(NEAREST):
            difference[i] = fabs(target - self.target[self.nearest[i]])
            mean += difference[i] / NEAREST
        for i in range(NEAREST):
            difference[i] -= mean
            square += difference[i] * difference[i]
        if square == 0.0:
            return
        for j in range(x.size):
            if x.places[j] < 0:
                continue
            column = &self.points.columns[x.places[j]]
            if column.dense != NULL:
                for i in range(NEAREST):
                    z[i] = value_at(column.dense, self.nearest[i], self.points.single)
            else:
                for i in range(NEAREST):
                    z[i] = 0.0
                for k in range(column.count):
                    for i in range(NEAREST):
                        if column.owners[k] == self.nearest[i]:
                            z[i] = column.amounts[k]
            s = 0.0
            for i in range(NEAREST):
                s += difference[i] * fabs(x.scaled[j] - z[i])
            self.distances.add_evidence(x.places[j], s)

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        for i in range(self.points.n):
            self.target[i] = ratio * self.target[i] + shift

    # Adding and removing points ---------------------------------------------------------------------------------------

    cdef bint references(self, Py_ssize_t i) noexcept:
        return self.place[i] >= 0

    cdef bint is_full(self) noexcept:
        return self.latest.n >= self.max_points

    cdef Py_ssize_t evict(self, const double *process_weights) noexcept:
        """Evict the oldest of the latest samples."""
        cdef Py_ssize_t i = self.latest_at(0)
        self.place[i] = -1
        self.latest.drop(1)
        return i

    cdef int claim(self, Py_ssize_t i) except -1:
        cdef int32_t *position = <int32_t *> self.latest.append()
        position[0], self.place[i] = <int32_t> i, <int32_t> (position - <int32_t *> self.latest.records)
        return 0

    cdef void point_added(self, double target) noexcept:
        self.target[self.points.n - 1] = target
        self.place[self.points.n - 1] = -1

    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept:
        Expert.swap_remove(self, axis, i)
        if self.place[i] >= 0:
            (<int32_t *> self.latest.records)[self.place[i]] = <int32_t> i

    # Explanations and state -------------------------------------------------------------------------------------------

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        metrics[metric] += weight[0]

    def names(self):
        return [f"neighbours({NEAREST}, power={POWERS[METRIC]:g})"]

    @property
    def positions(self):
        """Positions of the latest samples, in order of arrival."""
        cdef Py_ssize_t i
        return [self.latest_at(i) for i in range(self.latest.n)]

    def _check(self):
        cdef Py_ssize_t i
        Expert._check(self)
        self.latest._check()
        held = {i for i in range(self.points.n) if self.references(i)}
        assert {*self.positions} == held and len(held) == self.latest.n
        assert all([(<int32_t *> self.latest.records)[self.place[i]] == i for i in self.positions])

    def state(self):
        return Expert.state(self) | {"latest": np.array(self.positions, dtype=np.int32)}

    def restore(self, dict state):
        Expert.restore(self, state)
        check_positions(state["latest"], self.points.n, self.max_points)
        for i in state["latest"]:
            self.claim(i)

    def merged(self, merging):
        """Merge the latest samples, in order of arrival; each point keeps its target, in the merged units."""
        ages = {}
        for _, each in merging.active:
            own = each.rows[each.state[self.name]["latest"]][::-1].tolist()
            ages |= {row: min(age, ages.get(row, age)) for age, row in enumerate(own)}
        sums = merging.space.X.sum(axis=1)  # ties of age: independent of the order of the models
        chosen = sorted(ages, key=lambda row: (ages[row], sums[row]))[:self.max_points][::-1]
        position = merging.add_points(sorted(chosen))
        targets = np.zeros(len(merging.space))
        for each in merging.with_start:
            ratio, shift = merging.units(each)
            targets[each.rows] = ratio * each.state[self.name]["targets"] + shift
        return Expert.merged(self, merging) | {
            "latest": np.array([position[row] for row in chosen], dtype=np.int32),
            "targets": targets[merging.rows],
        }
