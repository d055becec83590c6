"""Feature-weighted distances between samples, learned from the slopes of a model's own predictions.

Under metric m, ‖x-z‖² = Σ_j w_j² (x_j - z_j)², and likewise ‖x‖² and x · z.  The weights come from the slopes

    G_j = mean of (∂f/∂x_j)² over recent samples        w_j² = (G_j / Σ G)^p, divided by its mean, at least ``LEAST``

the diagonal of the average gradient outer product of recursive feature machines (Radhakrishnan et al. 2024), estimated
along a stream.  The three metrics have p = 0, which weights all features alike, ½ and 1.

Under p = 1 a small weight makes its own slope small, since f hardly depends on x_j any more.  A feature that separates
neighbours of different targets (neighbours.pyx) significantly better than chance therefore has at least the mean slope.

Stored for each point i: square[m][i] = ‖z_i‖².  For each feature: sums along the stream, which give the mean of ‖x-x'‖²
and of ‖x‖² under any weights, so that bandwidths follow the weights; after ``MEMORY`` samples they forget.
"""

from libc.math cimport fmax, fmin, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from river_okl._core.simd cimport loops
from river_okl._core.store.memory cimport Owner
from river_okl._core.store.points cimport LANES, Feature, Points, value_at
from river_okl._core.store.sample cimport LARGEST, LARGEST_SUM, Sample
from river_okl._core.store.scaler cimport Scaler

from river_okl._core.states import checked_numbers

cdef double LEAST = 3e-3
cdef double SIGNIFICANT = 3.0       # deviations of Σ s_j from 0
cdef double MEMORY = 10000.0

POWERS = (0.0, 0.5, 1.0)


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef int64_t one = (<const int64_t *> a)[0], other = (<const int64_t *> b)[0]
    return (one > other) - (one < other)


cdef class Distances(Owner):
    """Weighted distances to points whose features a scaler counts; under metrics before ``first`` only to those of the
    dictionary."""

    def __init__(self, Points points, Scaler scaler, *, int first):
        self.points = points
        self.first = first
        self.scaler = scaler

    cdef int reserve_places(self, Py_ssize_t size) except -1:
        """Room for the features that the scaler counts."""
        cdef Py_ssize_t i, places
        cdef int m
        if size <= self.places:
            return 0
        places = max(8, size, 2 * self.places)
        for m in range(METRICS):
            self.weights[m] = self.doubles(self.weights[m], self.places, places)
            for i in range(self.places, places):
                self.weights[m][i] = 1.0
        self.slopes = self.doubles(self.slopes, self.places, places)
        self.slope_counts = self.doubles(self.slope_counts, self.places, places)
        self.evidence = self.doubles(self.evidence, self.places, places)
        self.evidence_squares = self.doubles(self.evidence_squares, self.places, places)
        self.differences = self.doubles(self.differences, self.places, places)
        self.squares = self.doubles(self.squares, self.places, places)
        self.previous = self.doubles(self.previous, self.places, places)
        self.places = places
        return 0

    cdef int reserve_points(self) except -1:
        """As many as the points have room for."""
        cdef Py_ssize_t capacity = self.points.capacity
        cdef int m
        if capacity > self.capacity:
            for m in range(METRICS):
                self.square[m] = self.doubles(self.square[m], self.capacity, capacity)
                if m >= self.first:
                    self.dots[m] = self.doubles(self.dots[m], self.capacity, capacity)
            self.capacity = capacity
        return 0

    cdef int measure(self, const Sample *x, Dictionary *dictionary) except -1:
        """x · z_i for all points, and ‖x‖², of an encoded sample that has these values at the scaler's places.

        Metrics before ``first`` are used only by the processes, so only the points of the dictionary are measured.
        """
        cdef Points points = self.points
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        cdef double *numbers
        cdef double[METRICS] weighted
        cdef const Feature *feature
        cdef Py_ssize_t i, allocated, size = x.size, count = 0, n_dense, n = points.padded()
        cdef Py_ssize_t of_dictionary = (dictionary.n + LANES - 1) // LANES * LANES
        cdef int m, first = self.first
        if size > self.items_allocated:
            allocated = max(size, 2 * self.items_allocated, 8)
            self.pointers = <const void **> self.resize(self.pointers, 0, allocated, sizeof(void *))
            self.numbers = self.doubles(self.numbers, 0, METRICS * allocated)
            self.order = <int64_t *> self.resize(self.order, 0, allocated, 8)
            self.rank = <int32_t *> self.resize(self.rank, 0, allocated, 4)
            self.dense_places = <int32_t *> self.resize(self.dense_places, 0, allocated, 4)
            self.ranked_places = <int32_t *> self.resize(self.ranked_places, 0, allocated, 4)
            self.n_ranked = 0
            self.items_allocated = allocated
        for i in range(size):
            if x.slots[i] >= 0 and points.features[x.slots[i]].dense != NULL:
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
            if of_dictionary:  # the detector has none, and no room for one
                memset(dictionary.dots[m], 0, of_dictionary * 8)
        for i in range(dictionary.n, of_dictionary):
            dictionary.position[i] = 0  # what pads it
        for i in range(size):
            feature = &points.features[x.slots[i]] if x.slots[i] >= 0 else NULL
            for m in range(METRICS):
                weighted[m] = values[i] * (self.weights[m][places[i]] if places[i] >= 0 else 1.0)
                self.own[m] += weighted[m] * values[i]
            if feature == NULL:
                continue
            if feature.dense != NULL:
                self.pointers[self.rank[count]] = feature.dense
                for m in range(METRICS):
                    self.numbers[m * n_dense + self.rank[count]] = weighted[m]
                count += 1
            elif values[i] != 0.0:
                self.scatter(feature, weighted, dictionary)
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
        """Order products by place: in single precision, the order of a dict would otherwise change the sum."""
        cdef Py_ssize_t i
        for i in range(n):
            self.order[i] = (<int64_t> 1 << 32) * self.dense_places[i] + i
        qsort(self.order, n, 8, &ascending)
        for i in range(n):
            self.rank[self.order[i] & 0xffffffff] = <int32_t> i
        memcpy(self.ranked_places, self.dense_places, n * 4)
        self.n_ranked = n

    cdef void scatter(self, const Feature *feature, const double *v, Dictionary *dictionary) noexcept:
        """Count a posting list in the dot products."""
        cdef Py_ssize_t k
        cdef int32_t i, r
        cdef int m
        for k in range(feature.count):
            i = feature.owners[k]
            for m in range(self.first, METRICS):
                self.dots[m][i] += v[m] * feature.amounts[k]
            r = dictionary.member[i]
            if r >= 0:
                for m in range(METRICS):
                    dictionary.dots[m][r] += v[m] * feature.amounts[k]

    cdef void stored(self, const Sample *x) noexcept:
        """The sample measured last has become the last point."""
        cdef Py_ssize_t i
        cdef int m
        for i in range(x.size):
            if x.slots[i] >= 0:
                self.place_of_slot[x.slots[i]] = x.places[i]
        for m in range(METRICS):
            self.square[m][self.points.n - 1] = self.own[m]

    cdef void dropped(self, Py_ssize_t i) noexcept:
        """Point i has left, and the last has its position."""
        cdef int m
        for m in range(METRICS):
            self.square[m][i] = self.square[m][self.points.n]
            self.square[m][self.points.n] = 0.0

    cdef int reserve_slots(self) except -1:
        """As many as the points have."""
        cdef Py_ssize_t allocated
        if self.points.n_slots > self.slots:
            allocated = max(self.points.n_slots, 2 * self.slots, 16)
            self.place_of_slot = <int32_t *> self.resize(self.place_of_slot, self.slots, allocated, 4)
            self.slots = allocated
        return 0

    cdef int observe(self, const Sample *x) except -1:
        """A sample that is learned counts for the mean distances; the scaler has learned its places."""
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        cdef Py_ssize_t i, allocated
        cdef double difference
        cdef int32_t place
        if x.size > self.previous_allocated:
            allocated = max(x.size, 2 * self.previous_allocated, 8)
            self.previous_places = <int32_t *> self.resize(self.previous_places, self.previous_size, allocated, 4)
            self.previous_allocated = allocated
        if self.samples >= 2.0 * MEMORY:
            self.samples *= 0.5
            for i in range(self.scaler.size):
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
        for i in range(self.previous_size):  # what the previous sample had and this one lacks
            place = self.previous_places[i]
            self.differences[place] += self.previous[place] * self.previous[place]
            self.previous[place] = 0.0
        for i in range(x.size):
            self.previous[places[i]] = values[i]
            self.previous_places[i] = places[i]
        self.previous_size = x.size
        return 0

    cdef double to_previous(self, const Sample *x) noexcept:
        """‖x-x'‖², where x' was learned last, with all weights 1."""
        cdef Py_ssize_t i
        cdef int32_t place
        cdef double z, total = 0.0
        for i in range(self.previous_size):
            z = self.previous[self.previous_places[i]]
            total += z * z
        for i in range(x.size):
            place = x.places[i]
            z = self.previous[place] if 0 <= place < self.places else 0.0
            total += (x.scaled[i] - z) * (x.scaled[i] - z) - z * z
        return fmax(total, 0.0)

    cdef double mean_distance(self, int m) noexcept:
        """Mean ‖x-x'‖² of consecutive samples."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.size):
            total += self.weights[m][i] * self.differences[i]
        return total / (self.samples - 1.0) if self.samples > 1.0 else 0.0

    cdef double mean_square(self, int m) noexcept:
        """Mean ‖x‖²."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.size):
            total += self.weights[m][i] * self.squares[i]
        return total / self.samples if self.samples > 0.0 else 0.0

    cdef void add_evidence(self, Py_ssize_t place, double s) noexcept:
        """The evidence of neighbours for a feature."""
        self.evidence[place] += s
        self.evidence_squares[place] += s * s

    cdef void add_slope(self, Py_ssize_t place, double slope) noexcept:
        """A slope of the prediction along a feature."""
        self.slopes[place] = fmin(self.slopes[place] + slope * slope, LARGEST_SUM)

    cdef double sum_slopes(self) noexcept:
        """Σ G"""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.scaler.size):
            total += self.slopes[i]
        return total

    cdef void learn(self) noexcept:
        """New weights from the slopes, which start again; ``square_points`` is due."""
        cdef Py_ssize_t i, known = 0, size = self.scaler.size
        cdef double slope, total, mean, mean_half = 0.0
        for i in range(size):
            if self.slope_counts[i] > 0.0:
                self.slopes[i] /= self.slope_counts[i]
                known += 1
        total = self.sum_slopes()
        if total > 1e-200 and known > 1:
            mean = total / known
            for i in range(size):
                if self.slope_counts[i] > 0.0 and self.evidence[i] > SIGNIFICANT * sqrt(self.evidence_squares[i]):
                    self.slopes[i] = fmax(self.slopes[i], mean)
                self.evidence[i] *= 0.5
                self.evidence_squares[i] *= 0.5
            total = self.sum_slopes()
            for i in range(size):
                mean_half += sqrt(self.slopes[i] / total) / known
            for i in range(size):
                if self.slope_counts[i] > 0.0:
                    slope = self.slopes[i] / total
                    self.weights[1][i] = fmax(sqrt(slope) / mean_half, LEAST)
                    self.weights[2][i] = fmax(slope * known, LEAST)
            self.learned = True
        if size:
            memset(self.slopes, 0, size * 8)
            memset(self.slope_counts, 0, size * 8)

    cdef void square_points(self) noexcept:
        """Every ‖z_i‖² from scratch, with today's weights."""
        cdef Points points = self.points
        cdef const Feature *feature
        cdef Py_ssize_t i, j, k, place
        cdef double w, z
        cdef int m
        for m in range(METRICS):
            if self.capacity:
                memset(self.square[m], 0, self.capacity * 8)
        for j in range(points.n_slots):
            feature = &points.features[j]
            if feature.key == NULL:
                continue
            place = self.place_of_slot[j]
            for m in range(METRICS):
                w = self.weights[m][place] if place >= 0 else 1.0
                if feature.dense != NULL:
                    for i in range(points.n):
                        z = value_at(feature.dense, i, points.single)
                        self.square[m][i] += w * z * z
                else:
                    for k in range(feature.count):
                        self.square[m][feature.owners[k]] += w * feature.amounts[k] * feature.amounts[k]

    cdef void forget(self, list places) noexcept:
        """The scaler has forgotten the features of these places."""
        cdef Py_ssize_t place, i, kept = 0
        cdef int m
        for place in places:
            for m in range(METRICS):
                self.weights[m][place] = 1.0
            self.slopes[place] = self.slope_counts[place] = 0.0
            self.evidence[place] = self.evidence_squares[place] = 0.0
            self.differences[place] = self.squares[place] = self.previous[place] = 0.0
        for i in range(self.previous_size):
            if self.scaler.features[self.previous_places[i]].key != NULL:
                self.previous_places[kept] = self.previous_places[i]
                kept += 1
        self.previous_size = kept

    def feature_weights(self, mixed):
        """Feature name -> weight, for a mixture of the three metrics; the mean is 1."""
        cdef Py_ssize_t place
        cdef int m
        found = {}
        for name, at in self.scaler.index.items():
            place = at
            found[name] = sum(mixed[m] * self.weights[m][place] for m in range(METRICS)) if place < self.places else 1.0
        mean = sum(found.values()) / max(1, len(found))
        return {name: weight / mean for name, weight in found.items()}

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, m, size = self.scaler.size

        def column(values):
            return np.array(values, dtype=np.float64)
        return {
            "weights": column([[self.weights[1][i], self.weights[2][i]] for i in range(size)]).reshape(size, 2),
            "slopes": column([[self.slopes[i], self.slope_counts[i]] for i in range(size)]).reshape(size, 2),
            "evidence": column([[self.evidence[i], self.evidence_squares[i]] for i in range(size)]).reshape(size, 2),
            "sums": column(
                [[self.differences[i], self.squares[i], self.previous[i]] for i in range(size)]
            ).reshape(size, 3),
            "previous": np.array([self.previous_places[i] for i in range(self.previous_size)], dtype=np.int32),
            "square": column(
                [[self.square[m][i] for i in range(self.points.n)] for m in range(METRICS)]
            ).reshape(METRICS, self.points.n),
            "samples": self.samples,
            "learned": bool(self.learned),
        }

    def restore(self, dict state):
        """Go on from a state; the scaler and the points have theirs."""
        cdef Py_ssize_t i, m, size = self.scaler.size
        square = state["square"]
        weights, slopes, evidence = state["weights"], state["slopes"], state["evidence"]
        sums, previous = state["sums"], state["previous"]
        if square.shape != (METRICS, self.points.n) or evidence.shape != (size, 2) or sums.shape != (size, 3):
            raise ValueError("the sums of a metric do not match its points and features")
        checked_numbers(
            "the weights of a metric", weights, (size, 2), LEAST * (1.0 - 1e-9), max(1, size) * (1.0 + 1e-9)
        )
        checked_numbers("the slopes of a metric", slopes, (size, 2), 0.0, LARGEST_SUM)
        for low, columns in (0.0, evidence[:, 1]), (-LARGEST_SUM, evidence[:, 0]), (0.0, sums[:, 0]), (0.0, sums[:, 1]):
            checked_numbers("the sums of a metric", columns, (size,), low, LARGEST_SUM)
        checked_numbers("the previous sample of a metric", sums[:, 2], (size,), -LARGEST, LARGEST)
        if (
            previous.ndim != 1 or np.unique(previous).size != previous.size
            or (previous.size and not 0 <= previous.min() <= previous.max() < size)
        ):
            raise ValueError("the previous sample of a metric does not match its features")
        if (
            type(state["samples"]) is not float or not 0.0 <= state["samples"] <= 3.0 * MEMORY
            or type(state["learned"]) is not bool
        ):
            raise ValueError(f"a metric of {state['samples']!r} samples")
        self.reserve_places(size)
        for i in range(size):
            self.weights[1][i], self.weights[2][i] = weights[i]
            self.slopes[i], self.slope_counts[i] = slopes[i]
            self.evidence[i], self.evidence_squares[i] = evidence[i]
            self.differences[i], self.squares[i], self.previous[i] = sums[i]
        self.previous_places = <int32_t *> self.resize(self.previous_places, 0, max(8, previous.size), 4)
        self.previous_allocated = max(8, previous.size)
        self.previous_size = previous.size
        for i in range(previous.size):
            self.previous_places[i] = previous[i]
        self.samples, self.learned = state["samples"], state["learned"]
        self.reserve_slots()
        for i in range(self.points.n_slots):
            if self.points.features[i].key != NULL:
                self.place_of_slot[i] = self.scaler.index.get(<object> self.points.features[i].key, -1)
        self.reserve_points()
        checked_numbers("the squares of a metric", square, (METRICS, self.points.n), 0.0, LARGEST_SUM)
        for m in range(METRICS):
            for i in range(self.points.n):
                self.square[m][i] = square[m, i]
