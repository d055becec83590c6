"""Kernel rows: κ(z_i, x) of a sample, or of one of the points, over all points.  One ``Rows`` for each pair of points
and kernel; what the points are stands in ``points.pyx``, and what is done with a row in ``expansion.pyx``.

What is kept, for points i < n (``check`` recomputes it by brute force):

    self[i]       κ(z_i, z_i)
    row[i]        κ(z_i, x) of the last sample x that ``look`` has seen, kept in step with the points

If a sample has (nearly) all the features with dense rows, the row is ‖x-z_i‖² as a sum of squared differences: the
same cost, and no cancellation for unscaled features with large offsets.  Otherwise ‖x-z‖² = ‖x‖² + ‖z‖² - 2 x·z, whose
error is a few ulp of the squares.

The row memo: river calls ``predict_one(x)``, then ``learn_one(x, y)``.  ``look`` encodes x and keeps the kernel row if
it is the last sample and no point was added or removed.  The comparison is of keys and numbers, so changing the dict in
between is safe.
"""

cimport cython
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import math

import numpy as np

from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.loops cimport DOT_POWER, EXP_DISTANCE, EXP_SQUARED_DISTANCE, TILE
from river_okl._core.memory cimport Owner, array_of
from river_okl._core.points cimport LANES, Feature, Points, find, scatter
from river_okl._core.sample cimport LARGEST_SELF, Frame, Sample, free_sample, same_sample, size_of_sample, take_row
from river_okl._core.simd cimport linalg, loops

from river_okl._core.invariants import assert_close
from river_okl._core.states import checked_numbers

cdef enum:
    NOGIL_ABOVE = 200000    # multiply-adds, about 50 µs: longer calls release the GIL


@cython.final
cdef class Rows(Owner):
    """The kernel rows of ``points``.

    Parameters
    ----------
    points
        The points; when one is added or removed, ``reserve``, ``added`` and ``dropped`` are called.
    kernel
        The kernel.
    """

    def __cinit__(self, Points points not None, CompiledKernel kernel not None):
        self.points = points
        self.kernel = kernel
        self.memo = True

    def __dealloc__(self):
        free_sample(&self.samples[0])
        free_sample(&self.samples[1])

    def __sizeof__(self):
        return Owner.__sizeof__(self) + size_of_sample(&self.samples[0]) + size_of_sample(&self.samples[1])

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Room for the rows of as many points, before the points have it."""
        self.self_ = self.doubles(self.self_, self.capacity, capacity)
        self.row = self.doubles(self.row, self.capacity, capacity)
        self.other = self.doubles(self.other, self.capacity, capacity)
        self.dots = self.doubles(self.dots, self.capacity, capacity)
        self.capacity = capacity
        return 0

    cdef int reserve_items(self, Py_ssize_t size) except -1:
        """Room to lay out a sample of as many features, or all dense ones."""
        cdef Py_ssize_t allocated
        size = max(size, self.points.n_dense)
        if size > self.items_allocated:
            allocated = max(size, 2 * self.items_allocated, 8)
            self.pointers = <const double **> self.resize(self.pointers, 0, allocated, sizeof(double *))
            self.numbers = self.doubles(self.numbers, 0, allocated)
            self.items_allocated = allocated
        return 0

    # The last sample --------------------------------------------------------------------------------------------------

    cdef bint look(self, object sample) except -1:
        """x becomes the last sample: κ(x, x) and its row are there.  Returns whether they had to be computed.

        If this raises, the last sample is the one before.
        """
        cdef Sample *x = &self.samples[1 - self.last]
        cdef double similarity
        self.points.encode(sample, x)
        similarity = self.kernel.self_similarity(x.square)
        if not fabs(similarity) <= LARGEST_SELF:
            raise ValueError(
                f"the kernel of this sample with itself is {similarity:g}, more than {LARGEST_SELF:g}: scale the "
                f"features (preprocessing.StandardScaler); the largest is {max(sample.items(), key=_magnitude)}"
            )
        if self.has_sample and self.fresh and self.memo and same_sample(x, &self.samples[self.last]):
            return False
        self.reserve_items(x.size)
        self.last = 1 - self.last
        self.self_similarity = similarity
        self.points.refresh_slots(x)
        if self.points.n * x.size > NOGIL_ABOVE:
            with nogil:
                self.compute(x, self.row)
        elif self.points.n:
            self.compute(x, self.row)
        self.has_sample = self.fresh = True
        return True

    cdef Sample *seen(self) except NULL:
        """The last sample."""
        if not self.has_sample:
            raise RuntimeError("evaluate a sample first")
        return &self.samples[self.last]

    cdef void added(self) noexcept:
        """The last sample has become the last point."""
        cdef Py_ssize_t last = self.points.n - 1
        self.self_[last] = self.self_similarity
        self.row[last] = self.self_similarity
        self.fresh = False

    cdef void dropped(self, Py_ssize_t p) noexcept:
        """The point at p was removed, and the last one has its position."""
        cdef Py_ssize_t last = self.points.n
        self.self_[p] = self.self_[last]
        if self.has_sample:
            self.row[p] = self.row[last]
            self.row[last] = 0.0
        self.fresh = False

    cdef void measure_again(self) noexcept:
        """The row of the last sample, with today's γ."""
        cdef Sample *x = &self.samples[self.last]
        self.self_similarity = self.kernel.self_similarity(x.square)
        if self.points.n:
            self.compute(x, self.row)
        self.fresh = True

    cdef void kernel_moved(self) noexcept:
        """γ is another one: κ(z_i, z_i) again, and the row at the next ``look``."""
        cdef Py_ssize_t i
        for i in range(self.points.n):
            self.self_[i] = self.kernel.self_similarity(self.points.square[i])
        self.fresh = False

    cdef int restored(self) except -1:
        """The points have been restored, and the kernel.  If κ(z, z) of one of them is out of range, ValueError."""
        self.reserve(self.points.capacity)
        self.kernel_moved()
        checked_numbers("κ(z, z)", self.similarities(), (self.points.n,), -LARGEST_SELF, LARGEST_SELF)
        return 0

    # Rows -------------------------------------------------------------------------------------------------------------

    cdef void compute(self, Sample *x, double *out) noexcept nogil:
        """out[i] = κ(z_i, x) for an encoded sample with today's slots.  Requires points, and ``reserve_items``."""
        cdef Py_ssize_t i, m = 0, n = self.points.padded()
        cdef Feature *feature
        if self.by_distances(x):
            self.lay_out_dense()
            self.finish(self.lay_out(x, self.numbers, self.dots), x.square, out)
            return
        memset(self.dots, 0, n * 8)
        for i in range(x.size):
            if x.slots[i] >= 0 and x.numbers[i] != 0.0:
                feature = &self.points.features[x.slots[i]]
                if feature.dense == NULL:
                    scatter(feature, x.numbers[i], self.dots)
                else:
                    self.pointers[m] = <const double *> feature.dense
                    self.numbers[m] = x.numbers[i]
                    m += 1
        loops.dots(self.pointers, self.numbers, m, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, False, self.points.square, x.square, n, out)

    cdef bint by_distances(self, Sample *x) noexcept nogil:
        """Whether x has (nearly) all the features with dense rows."""
        cdef Py_ssize_t i, m = 0
        for i in range(x.size):
            m += x.slots[i] >= 0 and self.points.features[x.slots[i]].dense != NULL
        return 5 * m + 8 >= 4 * self.points.n_dense

    cdef void lay_out_dense(self) noexcept nogil:
        """The row of every dense feature."""
        cdef Py_ssize_t j
        for j in range(self.points.n_dense):
            self.pointers[j] = <const double *> self.points.features[self.points.dense_slots[j]].dense

    cdef void clear_dots(self, double *dots) noexcept nogil:
        """Room for the dot products with posting lists, or of a kernel of dot products alone."""
        if self.points.n_features > self.points.n_dense or not self.kernel.has_distance:
            memset(dots, 0, self.points.padded() * 8)

    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil:
        """The numbers of x for the dense features, and the dot products of the others; returns the square of those."""
        cdef Py_ssize_t i
        cdef Feature *feature
        cdef double rest = 0.0
        if self.points.n_dense:  # else there may be no room
            memset(numbers, 0, self.points.n_dense * 8)
        self.clear_dots(dots)
        for i in range(x.size):
            feature = &self.points.features[x.slots[i]] if x.slots[i] >= 0 else NULL
            if feature != NULL and feature.dense != NULL:
                numbers[feature.rank] = x.numbers[i]
            else:
                rest += x.numbers[i] * x.numbers[i]
                if feature != NULL:
                    scatter(feature, x.numbers[i], dots)
        return rest

    cdef void start_distances(self, double rest, double *dots) noexcept nogil:
        """The part of ‖x-z_i‖² that is not from dense features, in place of its dot products."""
        cdef Py_ssize_t i, n = self.points.padded()
        cdef const double *sparse_square = self.points.sparse_square
        if self.points.n_features == self.points.n_dense:  # no posting lists: their squares and dot products are 0
            for i in range(n):
                dots[i] = rest
        else:
            for i in range(n):
                dots[i] = max(0.0, rest + sparse_square[i] - 2.0 * dots[i])

    cdef void finish(self, double rest, double square, double *out) noexcept nogil:
        """Kernel values from the laid-out dense features, and from posting lists through their dot products."""
        cdef Py_ssize_t n = self.points.padded()
        if self.kernel.has_distance:
            self.start_distances(rest, self.dots)
            loops.distances(self.pointers, self.numbers, self.points.n_dense, n, self.dots)
        else:  # a distance would lose the digits of the dot product of a long and a short vector
            loops.dots(self.pointers, self.numbers, self.points.n_dense, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, self.kernel.has_distance, self.points.square, square, n, out)

    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil:
        """``lay_out`` for z_p; the dense features are laid out before."""
        cdef Py_ssize_t j
        cdef Feature *feature
        cdef double v, rest = 0.0
        self.clear_dots(dots)
        for j in range(self.points.owned[p].size):
            feature = &self.points.features[self.points.owned[p].slots[j]]
            v = feature.amounts[find(feature.owners, <int32_t> p)]
            rest += v * v
            scatter(feature, v, dots)
        for j in range(self.points.n_dense):
            numbers[j] = self.pointers[j][p]
        return rest

    cdef int compute_of(self, Py_ssize_t p, double *out) except -1:
        """out[i] = κ(z_i, z_p) for a position that is there."""
        self.prepare_points()
        self.row_of_point(p, out)
        return 0

    cdef int prepare_points(self) except -1:
        """What ``row_of_point`` requires."""
        self.reserve_items(0)
        self.lay_out_dense()
        return 0

    cdef void row_of_point(self, Py_ssize_t p, double *out) noexcept nogil:
        """out[i] = κ(z_i, z_p), after ``prepare_points``."""
        self.finish(self.lay_out_point(p, self.numbers, self.dots), self.points.square[p], out)
        out[p] = self.self_[p]

    # Many at once -----------------------------------------------------------------------------------------------------

    cdef Py_ssize_t start_frame(self, Frame frame, Sample *x) except -1:
        """x is for ``take_row`` of this frame.  Returns how many rows, from the first, go by tiles.

        There is no last sample until the next ``look``.
        """
        cdef Py_ssize_t i, rows = len(frame)
        self.has_sample = False
        if rows:
            frame.row = 0
            self.points.encode(frame, &self.samples[1 - self.last])
            self.points.refresh_slots(&self.samples[1 - self.last])
        x[0] = self.samples[1 - self.last]
        self.reserve_items(x.size)
        for i in range(rows):
            take_row(x, frame, i)
            if not fabs(self.kernel.self_similarity(x.square)) <= LARGEST_SELF:
                raise ValueError(f"row {i}: the kernel with itself is more than {LARGEST_SELF:g}: scale the features")
        if rows >= TILE and self.points.n and self.kernel.has_distance and self.by_distances(x):
            return rows // TILE * TILE
        return 0

    cdef object make_tile(self, Tile *tile):
        """Room for TILE samples and their rows, which lasts as long as the object that is returned."""
        cdef Py_ssize_t s, n = self.points.padded()
        room = np.empty(TILE * (self.points.n_dense + n) + LANES)
        cdef double[::1] view = room
        cdef double *start = &view[0] + (64 - <size_t> &view[0] % 64) % 64 // 8
        for s in range(TILE):
            tile.dots[s] = start + s * n
            tile.numbers[s] = start + TILE * n + s * self.points.n_dense
        return room

    cdef void measure_tile(self, Sample *x, Frame frame, Py_ssize_t first, Tile *tile) noexcept nogil:
        """The distances of TILE rows of a frame, for ``tile_row``."""
        cdef Py_ssize_t s
        self.lay_out_dense()
        for s in range(TILE):
            take_row(x, frame, first + s)
            tile.squares[s] = x.square
            tile.rests[s] = self.lay_out(x, tile.numbers[s], tile.dots[s])
        self.finish_tile(tile)

    cdef void finish_tile(self, Tile *tile) noexcept nogil:
        """The squared distances of the samples that are laid out."""
        cdef Py_ssize_t s, n = self.points.padded()
        for s in range(TILE):
            self.start_distances(tile.rests[s], tile.dots[s])
        loops.distances_tile(self.pointers, tile.numbers[0], self.points.n_dense, n, tile.dots[0], n)

    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil:
        """The kernel row of sample s of a tile."""
        cdef Py_ssize_t n = self.points.padded()
        loops.kernel_row(&self.kernel.program, tile.dots[s], True, self.points.square, tile.squares[s], n, out)

    # For Python -------------------------------------------------------------------------------------------------------

    def similarities(self):
        """κ(z_i, z_i) of every point, a copy."""
        return array_of(self.self_, self.points.n)

    def row_of(self, Py_ssize_t i):
        """κ(z_i, z_j) for every point j."""
        self.points.check_position(i)
        self.compute_of(i, self.other)
        return array_of(self.other, self.points.n)

    def rows_of(self, positions):
        """``row_of`` each of these positions: an array (positions, points)."""
        return self.collect(positions, False, np.empty((0, 0)))[0]

    def rows_among(self, positions, columns):
        """``rows_of`` without the other points: K of these positions, and Σ_j columns[o, j] κ(z_i, z_j), j over all
        points, for every o and position i: arrays (positions, positions) and (outputs, positions)."""
        return self.collect(positions, True, columns)

    cdef tuple collect(self, positions, bint among, const double[:, ::1] columns):
        """What the two above return."""
        cdef const int64_t[::1] chosen = np.array(positions, dtype=np.int64)
        cdef Py_ssize_t j = 0, s
        cdef double[:, ::1] view, sums_view
        cdef Tile tile
        for s in range(chosen.shape[0]):
            self.points.check_position(chosen[s])
        if columns.shape[0] and columns.shape[1] != self.points.n:
            raise ValueError(f"columns of {columns.shape[1]} numbers for {self.points.n} points")
        out = np.empty((chosen.shape[0], chosen.shape[0] if among else self.points.n))
        sums = np.empty((columns.shape[0], chosen.shape[0]))
        view, sums_view = out, sums
        self.prepare_points()
        room = self.make_tile(&tile)  # no-cython-lint
        with nogil:
            while j + TILE <= chosen.shape[0] and self.kernel.has_distance:
                for s in range(TILE):
                    tile.squares[s] = self.points.square[chosen[j + s]]
                    tile.rests[s] = self.lay_out_point(chosen[j + s], tile.numbers[s], tile.dots[s])
                self.finish_tile(&tile)
                for s in range(TILE):
                    self.tile_row(&tile, s, self.other)
                    self.other[chosen[j + s]] = self.self_[chosen[j + s]]
                    self.collect_row(j + s, among, chosen, columns, view, sums_view)
                j += TILE
            while j < chosen.shape[0]:
                self.row_of_point(chosen[j], self.other)
                self.collect_row(j, among, chosen, columns, view, sums_view)
                j += 1
        return out, sums

    cdef void collect_row(
        self, Py_ssize_t j, bint among, const int64_t[::1] chosen, const double[:, ::1] columns, double[:, ::1] out,
        double[:, ::1] sums
    ) noexcept nogil:
        """What ``collect`` keeps of the row of position j of the chosen ones, which stands in ``other``."""
        cdef Py_ssize_t i, o
        cdef double *target
        cdef const int64_t *position
        if among:
            target, position = &out[j, 0], &chosen[0]
            for i in range(chosen.shape[0]):
                target[i] = self.other[position[i]]
        else:
            memcpy(&out[j, 0], self.other, self.points.n * 8)
        for o in range(columns.shape[0]):
            sums[o, j] = linalg.dot(self.other, &columns[o, 0], self.points.n)

    def gram(self):
        """K, computed."""
        out = self.collect(range(self.points.n), False, np.empty((0, 0)))[0]
        cdef double[:, ::1] view = out
        cdef Py_ssize_t i, j
        for i in range(self.points.n):
            for j in range(i):
                view[j, i] = view[i, j]
        return out

    # The invariants at the head of this file, by brute force ----------------------------------------------------------

    cdef tuple check(self):
        """K by brute force, and how far distances that come from dot products may be off."""
        points = self.points.check()
        n = len(points)
        numbers = {}  # of the names, whose hashes may be slow
        numbered = [{numbers.setdefault(name, len(numbers)): v for name, v in point.items()} for point in points]
        factors = iter(self.kernel.gammas)
        gammas = [[next(factors) for _ in fs] for _, fs in self.kernel.terms]

        def kappa(x, z):
            dot = math.fsum([v * z.get(key, 0.0) for key, v in x.items()])
            distance = math.fsum(
                [(v - z.get(key, 0.0)) ** 2 for key, v in x.items()] + [v**2 for key, v in z.items() if key not in x]
            )
            total = 0.0
            for (weight, fs), gs in zip(self.kernel.terms, gammas):
                product = weight
                for (kind, degree, _, coef0, _), gamma in zip(fs, gs):
                    if kind == DOT_POWER:
                        product *= (gamma * dot + coef0) ** degree
                    else:
                        product *= math.exp(
                            -gamma * (distance if kind == EXP_SQUARED_DISTANCE else math.sqrt(distance))
                        )
                total += product
            return total

        gram = np.zeros((n, n))
        for i, x in enumerate(numbered):
            for j in range(i + 1):
                gram[i, j] = gram[j, i] = kappa(x, numbered[j])
        # ‖x-z‖² comes from ‖x‖² + ‖z‖² - 2 x·z: it is wrong by up to a few ulp of the squares, its root by the root of
        # that (only where posting lists are involved)
        squares = [math.fsum(v * v for v in point.values()) for point in points]
        slack = 1e-14 * max(squares, default=0.0) * max((1.0,) + self.kernel.gammas)
        if any(kind == EXP_DISTANCE for _, fs in self.kernel.terms for kind, *_ in fs):
            slack = math.sqrt(slack)
        close = dict(rtol=1e-9, atol=10 * slack + 1e-12)
        assert_close(self.gram(), gram, **close)
        assert_close(self.similarities(), np.diag(gram), **close)
        return gram, slack


def _magnitude(item):
    return abs(float(item[1]))
