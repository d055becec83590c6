"""Feature-weighted distances between samples, learned from the slopes of a model's own predictions.

Under metric m, ‖x-z‖² = Σ_j w_j² (x_j - z_j)², and likewise ‖x‖² and x · z.  The weights come from the slopes

    G_j = mean of (∂f/∂x_j)² over recent samples        w_j² = (G_j / Σ G)^p, divided by its mean, at least ``LEAST``

the diagonal of the average gradient outer product of recursive feature machines (Radhakrishnan et al. 2024),
estimated along a stream.  Metrics 1 to 3 have p = 0 (equal weights), ½ and 1.

If p = 1, a small weight keeps its own slope small, since f hardly depends on x_j any more.  So the weights under metric
0 follow the gains of trees as soon as these are known (mixture/memory.pyx).

Stored for each point i: square[m][i] = ‖z_i‖².  Stored for each feature: sums over the stream, halved every
``SUMS_MEMORY`` samples.  They give the means of ‖x-x'‖² and ‖x‖² under any weights, so that bandwidths follow
the weights.
"""

from libc.math cimport fmax, fmin, sqrt
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from river_okl._core.simd cimport loops
from river_okl._core.store.buffers cimport viewed
from river_okl._core.store.points cimport LANES, value_at
from river_okl._core.store.running cimport OUTLYING
from river_okl._core.store.sample cimport LARGEST, LARGEST_SUM
from river_okl._core.store.table cimport Axis, Conversion

from river_okl._core.states import check_positions

cdef double LEAST = 3e-3
cdef double SUMS_MEMORY = 10000.0

POWERS = (1.0, 0.0, 0.5, 1.0)


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef int64_t one = (<const int64_t *> a)[0], other = (<const int64_t *> b)[0]
    return (one > other) - (one < other)


cdef class Distances(Table):
    """Weighted distances to points whose features a scaler counts; for metrics below ``first`` only to those
    of the dictionary."""

    def __init__(self, Points points, Scaler scaler, *, int first):
        cdef int m
        self.points = points
        self.first = first
        self.scaler = scaler
        of_feature, of_point = (scaler,), (points,)
        of_sum = {"low": 0.0, "high": LARGEST_SUM}
        for m in range(METRICS):
            self.declare(<size_t> &self.square[m], f"square_{m}", of_point, **of_sum)
            if m >= first:
                self.scratch(<size_t> &self.dots[m], of_point)
        for m in range(METRICS):
            if m == EQUAL:
                self.derive(<size_t> &self.weights[m], of_feature, default=1.0)
                continue
            self.declare(
                <size_t> &self.weights[m], f"weights_{m}", of_feature, default=1.0, low=LEAST * (1.0 - 1e-9), high=1e10
            )
        self.declare(<size_t> &self.slopes, "slopes", of_feature, of_feature=-2, **of_sum)
        self.declare(<size_t> &self.slope_counts, "slope_counts", of_feature, **of_sum)
        self.declare(<size_t> &self.differences, "differences", of_feature, of_feature=2, **of_sum)
        self.declare(<size_t> &self.squares, "squares", of_feature, of_feature=2, **of_sum)
        self.declare(<size_t> &self.previous, "previous", of_feature, of_feature=1, low=-LARGEST, high=LARGEST)
        self.declare(<size_t> &self.samples, "samples", (), low=0.0, high=3.0 * SUMS_MEMORY)
        self.declare(<size_t> &self.learned, "learned", (), dtype="i4", low=0, high=1)

    cdef int measure(self, const Sample *x, Dictionary *dictionary, bint to_points) except -1:
        """Compute ‖x‖², and x · z_i for the points ``to_points`` and for the dictionary unless it is NULL, of an
        encoded sample scaled at the scaler's places.

        Only the processes use metrics below ``first``, so these metrics are measured to the dictionary only.
        """
        cdef Points points = self.points
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        cdef double *numbers
        cdef double[METRICS] weighted
        cdef const Column *column
        cdef Py_ssize_t i, allocated, size = x.size, count = 0, n_dense, n = points.padded() if to_points else 0
        cdef Py_ssize_t of_dictionary = 0 if dictionary == NULL else (dictionary.n + LANES - 1) // LANES * LANES
        cdef int m, first = self.first
        if size > self.items_allocated:
            allocated = max(size, 2 * self.items_allocated, 8)
            self.n_ranked = 0
            self.pointers = <const void **> self.resize(self.pointers, 0, 2 * allocated, sizeof(void *))
            self.numbers = self.doubles(self.numbers, 0, METRICS * allocated)
            self.order = <int64_t *> self.resize(self.order, 0, allocated, 8)
            self.rank = <int32_t *> self.resize(self.rank, 0, allocated, 4)
            self.dense_places = <int32_t *> self.resize(self.dense_places, 0, allocated, 4)
            self.ranked_places = <int32_t *> self.resize(self.ranked_places, 0, allocated, 4)
            self.items_allocated = allocated
        for i in range(size):
            if places[i] >= 0 and points.columns[places[i]].dense != NULL:
                self.dense_places[count] = places[i]
                count += 1
        n_dense = count
        if n_dense and (n_dense != self.n_ranked or memcmp(self.dense_places, self.ranked_places, n_dense * 4) != 0):
            self.rank_dense(n_dense)
        count = 0
        for m in range(METRICS):
            self.own[m] = 0.0
            if n_dense < size and m >= first and n:
                memset(self.dots[m], 0, n * 8)
            if of_dictionary:  # the detector has no dictionary
                memset(dictionary.dots[m], 0, of_dictionary * 8)
        if of_dictionary:
            for i in range(dictionary.n, of_dictionary):
                dictionary.position[i] = 0  # padding
        for i in range(size):
            column = &points.columns[places[i]] if places[i] >= 0 else NULL
            for m in range(METRICS):
                weighted[m] = values[i] * (self.weights[m][places[i]] if places[i] >= 0 else 1.0)
                self.own[m] += weighted[m] * values[i]
            if column == NULL:
                continue
            if column.dense != NULL:
                self.pointers[self.rank[count]] = column.dense
                if self.gathered != NULL:
                    self.pointers[n_dense + self.rank[count]] = self.gathered[places[i]]
                for m in range(METRICS):
                    self.numbers[m * n_dense + self.rank[count]] = weighted[m]
                count += 1
            elif values[i] != 0.0:
                self.scatter(column, weighted, dictionary, to_points)
        if of_dictionary and self.gathered != NULL:
            for m in range(0, METRICS, 2):
                loops.dots_under(
                    <const double **> self.pointers + n_dense, self.numbers + m * n_dense, n_dense, of_dictionary, True,
                    dictionary.dots + m, 2
                )
        elif of_dictionary:
            loops.dots_at(
                self.pointers, points.single, self.numbers, n_dense, dictionary.position, of_dictionary,
                dictionary.dots
            )
        numbers = self.numbers + first * n_dense
        if n and points.single:
            loops.single_dots_under(
                <const float **> self.pointers, numbers, n_dense, n, n_dense < size, self.dots + first, METRICS - first
            )
        elif n:
            loops.dots_under(
                <const double **> self.pointers, numbers, n_dense, n, n_dense < size, self.dots + first, METRICS - first
            )
        return 0

    cdef void rank_dense(self, Py_ssize_t n) noexcept:
        """Order products by place: the order of a dict would otherwise change a sum in single precision."""
        cdef Py_ssize_t i
        for i in range(n):
            self.order[i] = (<int64_t> 1 << 32) * self.dense_places[i] + i
        qsort(self.order, n, 8, &ascending)
        for i in range(n):
            self.rank[self.order[i] & 0xffffffff] = <int32_t> i
        memcpy(self.ranked_places, self.dense_places, n * 4)
        self.n_ranked = n

    cdef int gather(self, Dictionary dictionary) except -1:
        """Copy the dense columns of the dictionary for ``measure``, until ``ungather``: they are read many times."""
        cdef Py_ssize_t place, r, columns = self.points.columns_allocated, dense = 0
        cdef Py_ssize_t n = (dictionary.n + LANES - 1) // LANES * LANES
        cdef const void *column
        for place in range(columns):
            dense += self.points.columns[place].dense != NULL
        self.copies = self.doubles(NULL, 0, dense * n)
        self.gathered = <double **> self.resize(NULL, 0, columns, sizeof(double *))
        dense = 0
        for place in range(columns):
            column = self.points.columns[place].dense
            if column != NULL:
                self.gathered[place] = self.copies + dense * n
                for r in range(dictionary.n):
                    self.gathered[place][r] = value_at(column, dictionary.position[r], self.points.single)
                dense += 1
        return 0

    cdef void ungather(self) noexcept:
        self.release(self.gathered)
        self.release(self.copies)
        self.gathered, self.copies = NULL, NULL

    cdef void scatter(self, const Column *column, const double *v, Dictionary *dictionary, bint to_points) noexcept:
        """Add a posting list to the dot products."""
        cdef Py_ssize_t k
        cdef int32_t i, r
        cdef int m
        for k in range(column.count):
            i = column.owners[k]
            if to_points:
                for m in range(self.first, METRICS):
                    self.dots[m][i] += v[m] * column.amounts[k]
            r = -1 if dictionary == NULL else dictionary.member[i]
            if r >= 0:
                for m in range(METRICS):
                    dictionary.dots[m][r] += v[m] * column.amounts[k]

    cdef void point_added(self) noexcept:
        """Store ‖x‖² of the sample measured last, now the last point."""
        cdef int m
        for m in range(METRICS):
            self.square[m][self.points.n - 1] = self.own[m]

    cdef int observe(self, const Sample *x) except -1:
        """Update the mean distances with a sample to be learned, after the scaler has given it places."""
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        cdef Py_ssize_t i, allocated
        cdef double difference
        cdef int32_t place
        if x.size > self.previous_allocated:
            allocated = max(x.size, 2 * self.previous_allocated, 8)
            self.previous_places = <int32_t *> self.resize(self.previous_places, self.previous_size, allocated, 4)
            self.previous_allocated = allocated
        if self.samples >= 2.0 * SUMS_MEMORY:
            self.samples *= 0.5
            for i in range(self.scaler.n):
                self.differences[i] *= 0.5
                self.squares[i] *= 0.5
        self.samples += 1.0
        for i in range(x.size):
            place = places[i]
            self.squares[place] += values[i] * values[i]
            if self.samples > 1.0:
                difference = values[i] - self.previous[place]
                self.differences[place] += difference * difference
            self.previous[place] = 0.0
        for i in range(self.previous_size):  # features that only the previous sample has
            place = self.previous_places[i]
            self.differences[place] += self.previous[place] * self.previous[place]
            self.previous[place] = 0.0
        for i in range(x.size):
            self.previous[places[i]] = values[i]
            self.previous_places[i] = places[i]
        self.previous_size = x.size
        return 0

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert the points and the sums to new units of the features; call ``square_points`` afterwards.

        The mean of a centred feature becomes 0, so that the shift reduces its mean square.
        """
        cdef Py_ssize_t i, place
        Table.change_units(self, axis, to)
        for place in range(to.n):
            if to.shift[place] != 0.0:
                self.squares[place] = fmax(
                    self.squares[place] - to.shift[place] * to.shift[place]
                    * fmin(self.samples, self.scaler.features[place].count), 0.0
                )
        for i in range(self.previous_size):
            self.previous[self.previous_places[i]] += to.shift[self.previous_places[i]]
        for place in range(to.n):
            if self.points.columns[place].count and (to.ratio[place] != 1.0 or to.shift[place] != 0.0):
                self.points.convert(<int32_t> place, to.ratio[place], to.shift[place], OUTLYING)
        self.points.measure()
        return 0

    cdef double to_previous(self, const Sample *x) noexcept:
        """Return ‖x-x'‖² under weights of 1, where x' was learned last."""
        cdef Py_ssize_t i
        cdef int32_t place
        cdef double z, total = 0.0
        for i in range(self.previous_size):
            z = self.previous[self.previous_places[i]]
            total += z * z
        for i in range(x.size):
            place = x.places[i]
            z = self.previous[place] if 0 <= place < self.scaler.room else 0.0
            total += (x.scaled[i] - z) * (x.scaled[i] - z) - z * z
        return fmax(total, 0.0)

    cdef double mean_distance(self, int m) noexcept:
        """Return the mean ‖x-x'‖² of consecutive samples."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.n):
            total += self.weights[m][i] * self.differences[i]
        return total / (self.samples - 1.0) if self.samples > 1.0 else 0.0

    cdef double mean_square(self, int m) noexcept:
        """Return the mean ‖x‖²."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.n):
            total += self.weights[m][i] * self.squares[i]
        return total / self.samples if self.samples > 0.0 else 0.0

    cdef void add_slope(self, Py_ssize_t place, double slope) noexcept:
        """Add a slope of the prediction along a feature."""
        self.slopes[place] = fmin(self.slopes[place] + slope * slope, LARGEST_SUM)

    cdef double sum_slopes(self) noexcept:
        """Return Σ G."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.n):
            total += self.slopes[i]
        return total

    cdef void learn(self) noexcept:
        """Update the weights from the slopes, and reset the slopes; call ``square_points`` afterwards."""
        cdef Py_ssize_t i, known = 0, size = self.scaler.n
        cdef double slope, total, mean_half = 0.0
        for i in range(size):
            if self.slope_counts[i] > 0.0:
                self.slopes[i] /= self.slope_counts[i]
                known += 1
        total = self.sum_slopes()
        if total > 1e-200 and known > 1:
            for i in range(size):
                mean_half += sqrt(self.slopes[i] / total) / known
            for i in range(size):
                if self.slope_counts[i] > 0.0:
                    slope = self.slopes[i] / total
                    self.weights[HALF][i] = fmax(sqrt(slope) / mean_half, LEAST)
                    self.weights[FULL][i] = self.weights[RELEVANT][i] = fmax(slope * known, LEAST)
            self.learned = True
        if size:
            memset(self.slopes, 0, size * 8)
            memset(self.slope_counts, 0, size * 8)

    cdef bint are_equal(self, int m, int other) noexcept:
        """Whether two metrics weight all features alike, as two of them do until relevance is known."""
        return m == other or memcmp(self.weights[m], self.weights[other], self.scaler.n * 8) == 0

    cdef void square_points(self) noexcept:
        """Recompute every ‖z_i‖² with the current weights."""
        cdef Points points = self.points
        cdef const Column *column
        cdef Py_ssize_t i, k, place
        cdef double w, z
        cdef int m
        for m in range(METRICS):
            memset(self.square[m], 0, self.points.room * 8)
        for place in range(points.columns_allocated):
            column = &points.columns[place]
            if column.count == 0:
                continue
            for m in range(METRICS):
                w = self.weights[m][place]
                if column.dense != NULL:
                    for i in range(points.n):
                        z = value_at(column.dense, i, points.single)
                        self.square[m][i] += w * z * z
                else:
                    for k in range(column.count):
                        self.square[m][column.owners[k]] += w * column.amounts[k] * column.amounts[k]

    cpdef void forget(self, Axis axis, list items) noexcept:
        cdef Py_ssize_t i, kept = 0
        Table.forget(self, axis, items)
        for i in range(self.previous_size):
            if self.scaler.names[self.previous_places[i]] != NULL:
                self.previous_places[kept] = self.previous_places[i]
                kept += 1
        self.previous_size = kept

    def feature_weights(self, mixed):
        """Return feature name -> weight, for a mixture of the metrics; the mean is 1."""
        cdef Py_ssize_t place
        cdef int m
        found = {}
        for name, at in self.scaler.index.items():
            place = at
            known = place < self.scaler.room
            found[name] = sum(mixed[m] * self.weights[m][place] for m in range(METRICS)) if known else 1.0
        mean = sum(found.values()) / max(1, len(found))
        return {name: weight / mean for name, weight in found.items()}

    def state(self):
        places = viewed(self.previous_places, self.previous_size, np.dtype(np.int32))
        return Table.state(self) | {"previous_places": places.copy()}

    def restore(self, dict state):
        """Resume from a state, after the scaler and the points."""
        places = state["previous_places"]
        check_positions(places, self.scaler.n, self.scaler.n)
        Table.restore(self, state)
        self.previous_size = self.previous_allocated = places.size
        self.previous_places = <int32_t *> self.resize(self.previous_places, 0, places.size, 4)
        viewed(self.previous_places, places.size, np.dtype(np.int32))[:] = places
