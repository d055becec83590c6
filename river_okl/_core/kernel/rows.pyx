"""Kernel rows: κ(z_i, x) of a sample, or of one of the points, over all points.  There is one ``Rows`` per
pair of points (``points.pyx``) and kernel; ``expansion.pyx`` uses the rows.

Stored for points i < n (``check`` recomputes it by brute force):

    self[i]       κ(z_i, z_i)
    row[i]        κ(z_i, x) of the last sample x given to ``look``, updated with the points

If a sample has (nearly) all the features with dense rows, ‖x-z_i‖² is computed as a sum of squared
differences: at the same cost, and without cancellation for unscaled features with large offsets.  Otherwise
‖x-z‖² = ‖x‖² + ‖z‖² - 2 x·z, with an error of a few ulp of the squares.

The row memo: river calls ``predict_one(x)``, then ``learn_one(x, y)``.  ``look`` encodes x and reuses the kernel row if
x is the last sample and no point was added or removed.  It compares keys and numbers, so the dict may change in between
without harm.
"""

cimport cython
from libc.math cimport fabs
from libc.string cimport memcpy, memset

import math

import numpy as np

from river_okl._core.linalg cimport mirror
from river_okl._core.loops cimport DOT_POWER, EXP_DISTANCE, EXP_SQUARED_DISTANCE
from river_okl._core.simd cimport linalg, loops
from river_okl._core.store.encoder cimport encode
from river_okl._core.store.buffers cimport aligned, array_of
from river_okl._core.store.points cimport LANES, Column, post_of, scatter
from river_okl._core.store.sample cimport LARGEST_SELF, free_sample, given_of, same_items, size_of_sample, take_row

from river_okl._core.invariants import assert_close
from river_okl._core.states import checked_numbers
from river_okl._core.store.sample import shown

cdef enum:
    NOGIL_ABOVE = 200000    # multiply-adds, about 50 µs: longer calls release the GIL


@cython.final
cdef class Rows(Owner):
    """The kernel rows of ``points``.

    Parameters
    ----------
    points
        The points; every addition or removal must call ``reserve``, ``point_added`` and ``point_removed``.
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
        """Reserve room for the rows of ``capacity`` points; called before the points reserve theirs."""
        self.self_ = self.doubles(self.self_, self.capacity, capacity)
        self.row = self.doubles(self.row, self.capacity, capacity)
        self.other = self.doubles(self.other, self.capacity, capacity)
        self.dots = self.doubles(self.dots, self.capacity, capacity)
        self.capacity = capacity
        return 0

    cdef int reserve_items(self, Py_ssize_t size) except -1:
        """Reserve room to lay out a sample of ``size`` features, or all dense ones."""
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
        """Make x the last sample and its row current.  Return whether the row had to be computed.

        If this raises, the last sample is unchanged.
        """
        cdef Sample *x = &self.samples[1 - self.last]
        cdef Sample *last
        cdef double similarity
        if isinstance(sample, Given) and (<Given> sample).owner is self:  # the last one, which is not read once more
            x = self.seen()
            if self.fresh and self.memo:
                return False
            self.measure(x, self.similarity_of(x))
            return True
        encode(self.points.features, sample, x)
        similarity = self.similarity_of(x)
        last = &self.samples[self.last]
        if self.has_sample and self.fresh and self.memo and x.size == last.size and same_items(x, last, x.size):
            return False
        self.last = 1 - self.last
        self.measure(x, similarity)
        return True

    cdef int measure(self, Sample *x, double similarity) except -1:
        """The row of the last sample, with the current points and γ."""
        self.self_similarity = similarity
        self.points.features.find(x)
        self.reserve_items(x.size)
        if self.points.n * x.size > NOGIL_ABOVE:
            with nogil:
                self.compute(x, self.row)
        elif self.points.n:
            self.compute(x, self.row)
        self.has_sample = self.fresh = True
        return 0

    cdef Given given(self):
        """Return the last sample as an argument for other readers."""
        return given_of(self, self.seen())

    cdef double similarity_of(self, const Sample *x) except? -1.0:
        """Return κ(x, x); raise ValueError if it is out of range."""
        cdef double similarity = self.kernel.self_similarity(x.square)
        cdef Py_ssize_t i, largest = 0
        if not fabs(similarity) <= LARGEST_SELF:
            for i in range(x.size):
                if fabs(x.numbers[i]) > fabs(x.numbers[largest]):
                    largest = i
            of = f"; the largest is {shown((<object> x.keys[largest], x.numbers[largest]))}" if x.size else ""
            raise ValueError(
                f"κ(x, x) of this sample is {similarity:g}, more than {LARGEST_SELF:g}: scale the "
                f"features (preprocessing.StandardScaler){of}"
            )
        return similarity

    cdef Sample *seen(self) except NULL:
        """Return the last sample; raise if there is none."""
        if not self.has_sample:
            raise RuntimeError("evaluate a sample first")
        return &self.samples[self.last]

    cdef void point_added(self) noexcept:
        """Append the last sample, added as the last point."""
        cdef Py_ssize_t last = self.points.n - 1
        self.self_[last] = self.self_similarity
        self.row[last] = self.self_similarity
        self.fresh = False

    cdef void point_removed(self, Py_ssize_t p) noexcept:
        """Remove the point at p; the last one takes its position."""
        cdef Py_ssize_t last = self.points.n
        self.self_[p] = self.self_[last]
        if self.has_sample:
            self.row[p] = self.row[last]
            self.row[last] = 0.0
        self.fresh = False

    cdef void kernel_moved(self) noexcept:
        """Recompute κ(z_i, z_i), as γ has changed; the row follows at the next ``look``."""
        cdef Py_ssize_t i
        for i in range(self.points.n):
            self.self_[i] = self.kernel.self_similarity(self.points.square[i])
        self.fresh = False

    cdef int restored(self) except -1:
        """Recompute κ(z, z) after points and kernel are restored.  Raise ValueError if one is out of range."""
        self.reserve(self.points.capacity)
        self.kernel_moved()
        checked_numbers("κ(z, z)", self.similarities(), (self.points.n,), -LARGEST_SELF, LARGEST_SELF)
        return 0

    # Rows -------------------------------------------------------------------------------------------------------------

    cdef void compute(self, Sample *x, double *out) noexcept nogil:
        """Set out[i] = κ(z_i, x) for an encoded sample with valid places.  Requires points, and ``reserve_items``."""
        cdef Py_ssize_t i, m = 0, n = self.points.padded()
        cdef Column *column
        if self.by_distances(x):
            self.lay_out_dense()
            self.finish(self.lay_out(x, self.numbers, self.dots), x.square, out)
            return
        memset(self.dots, 0, n * 8)
        for i in range(x.size):
            if x.places[i] >= 0 and x.numbers[i] != 0.0:
                column = &self.points.columns[x.places[i]]
                if column.dense == NULL:
                    scatter(column, x.numbers[i], self.dots)
                else:
                    self.pointers[m] = <const double *> column.dense
                    self.numbers[m] = x.numbers[i]
                    m += 1
        loops.dots(self.pointers, self.numbers, m, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, False, self.points.square, x.square, n, out)

    cdef bint by_distances(self, Sample *x) noexcept nogil:
        """Return whether x has (nearly) all the features with dense rows."""
        cdef Py_ssize_t i, m = 0
        for i in range(x.size):
            m += x.places[i] >= 0 and self.points.columns[x.places[i]].dense != NULL
        return 5 * m + 8 >= 4 * self.points.n_dense

    cdef void lay_out_dense(self) noexcept nogil:
        """Collect the rows of the dense features."""
        cdef Py_ssize_t j
        for j in range(self.points.n_dense):
            self.pointers[j] = <const double *> self.points.columns[self.points.dense[j]].dense

    cdef void clear_dots(self, double *dots) noexcept nogil:
        """Zero the dot products, if posting lists or a kernel of dot products only will add to them."""
        if self.points.n_posted or not self.kernel.has_distance:
            memset(dots, 0, self.points.padded() * 8)

    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil:
        """Set the dense features of x and the dot products of the rest.  Return the squared norm of the rest."""
        cdef Py_ssize_t i
        cdef Column *column
        cdef double rest = 0.0
        if self.points.n_dense:  # otherwise there may be no buffer
            memset(numbers, 0, self.points.n_dense * 8)
        self.clear_dots(dots)
        for i in range(x.size):
            column = &self.points.columns[x.places[i]] if x.places[i] >= 0 else NULL
            if column != NULL and column.dense != NULL:
                numbers[column.rank] = x.numbers[i]
            else:
                rest += x.numbers[i] * x.numbers[i]
                if column != NULL:
                    scatter(column, x.numbers[i], dots)
        return rest

    cdef void start_distances(self, double rest, double *dots) noexcept nogil:
        """Replace dot products by the part of ‖x-z_i‖² outside the dense features."""
        cdef Py_ssize_t i, n = self.points.padded()
        cdef const double *sparse_square = self.points.sparse_square
        if self.points.n_posted == 0:  # no posting lists: their squares and dot products are 0
            for i in range(n):
                dots[i] = rest
        else:
            for i in range(n):
                dots[i] = max(0.0, rest + sparse_square[i] - 2.0 * dots[i])

    cdef void finish(self, double rest, double square, double *out) noexcept nogil:
        """Compute kernel values from the laid-out dense features and the dot products with posting lists."""
        cdef Py_ssize_t n = self.points.padded()
        if self.kernel.has_distance:
            self.start_distances(rest, self.dots)
            loops.distances(self.pointers, self.numbers, self.points.n_dense, n, self.dots)
        else:  # computed from a distance, the dot product of a long and a short vector would lose digits
            loops.dots(self.pointers, self.numbers, self.points.n_dense, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, self.kernel.has_distance, self.points.square, square, n, out)

    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil:
        """Implement ``lay_out`` for z_p, after ``lay_out_dense``."""
        cdef Py_ssize_t j, k
        cdef Column *column
        cdef double v, rest = 0.0
        self.clear_dots(dots)
        for j in range(self.points.owned[p].size):
            column = &self.points.columns[self.points.owned[p].places[j]]
            k = post_of(column, p)
            if k < 0:
                continue
            v = column.amounts[k]
            rest += v * v
            scatter(column, v, dots)
        for j in range(self.points.n_dense):
            numbers[j] = self.pointers[j][p]
        return rest

    cdef int compute_of(self, Py_ssize_t p, double *out) except -1:
        """Set out[i] = κ(z_i, z_p) for a valid position."""
        self.reserve_items(0)
        self.lay_out_dense()
        self.row_of_point(p, out)
        return 0

    cdef void row_of_point(self, Py_ssize_t p, double *out) noexcept nogil:
        """Set out[i] = κ(z_i, z_p), after ``lay_out_dense``."""
        self.finish(self.lay_out_point(p, self.numbers, self.dots), self.points.square[p], out)
        out[p] = self.self_[p]

    # Many at once -----------------------------------------------------------------------------------------------------

    cdef Py_ssize_t start_frame(self, Frame frame, Sample *x) except -1:
        """Prepare x for ``take_row`` of this frame.  Return the number of leading rows to evaluate in tiles.

        There is no last sample until the next ``look``.
        """
        cdef Py_ssize_t i, rows = len(frame)
        self.has_sample = False
        if rows:
            frame.row = 0
            encode(self.points.features, frame, &self.samples[1 - self.last])
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
        """Allocate TILE samples and their rows, valid as long as the returned object."""
        cdef Py_ssize_t s, n = self.points.padded()
        room = np.empty(TILE * (self.points.n_dense + n) + LANES)
        cdef double[::1] view = room
        cdef double *start = aligned(&view[0])
        for s in range(TILE):
            tile.dots[s] = start + s * n
            tile.numbers[s] = start + TILE * n + s * self.points.n_dense
        return room

    cdef void measure_tile(self, Sample *x, Frame frame, Py_ssize_t first, Tile *tile) noexcept nogil:
        """Compute the distances of TILE rows of a frame, for ``tile_row``."""
        cdef Py_ssize_t s
        self.lay_out_dense()
        for s in range(TILE):
            take_row(x, frame, first + s)
            tile.squares[s] = x.square
            tile.rests[s] = self.lay_out(x, tile.numbers[s], tile.dots[s])
        self.finish_tile(tile)

    cdef void finish_tile(self, Tile *tile) noexcept nogil:
        """Compute the squared distances of the laid-out samples."""
        cdef Py_ssize_t s, n = self.points.padded()
        for s in range(TILE):
            self.start_distances(tile.rests[s], tile.dots[s])
        loops.distances_tile(self.pointers, tile.numbers[0], self.points.n_dense, n, tile.dots[0], n)

    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil:
        """Compute the kernel row of sample s of a tile."""
        cdef Py_ssize_t n = self.points.padded()
        loops.kernel_row(&self.kernel.program, tile.dots[s], True, self.points.square, tile.squares[s], n, out)

    # For Python -------------------------------------------------------------------------------------------------------

    def similarities(self):
        """Return a copy of κ(z_i, z_i) for every point."""
        return array_of(self.self_, self.points.n)

    def row_of(self, Py_ssize_t i):
        """Return κ(z_i, z_j) for every point j."""
        self.points.check_position(i)
        self.compute_of(i, self.other)
        return array_of(self.other, self.points.n)

    def rows_of(self, positions):
        """Return ``row_of`` each position: an array of shape (positions, points)."""
        return self.collect(positions, False, np.empty((0, 0)))[0]

    def rows_among(self, positions, columns):
        """Return K at the positions, and Σ_j columns[o, j] κ(z_i, z_j) over all points j for every o and
        position i: arrays of shape (positions, positions) and (outputs, positions)."""
        return self.collect(positions, True, columns)

    cdef tuple collect(self, positions, bint among, const double[:, ::1] columns):
        """Return the results of ``rows_of`` or ``rows_among``."""
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
        self.reserve_items(0)
        self.lay_out_dense()
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
        """Store the results of ``collect`` for chosen position j, whose row is in ``other``."""
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
        """Compute K."""
        out = self.collect(range(self.points.n), False, np.empty((0, 0)))[0]
        cdef double[:, ::1] view = out
        if self.points.n:
            mirror(&view[0, 0], self.points.n, self.points.n)
        return out

    # The invariants at the head of this file, by brute force ----------------------------------------------------------

    cdef tuple check(self):
        """Return K by brute force, and the possible error of distances computed from dot products."""
        points = self.points.check()
        n = len(points)
        numbers = {}  # integers in place of names, whose hashes may be slow
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
        # with posting lists ‖x-z‖² = ‖x‖² + ‖z‖² - 2 x·z, with an error of a few ulp of the squares; its root has the
        # root of that error
        squares = [math.fsum(v * v for v in point.values()) for point in points]
        slack = 1e-14 * max(squares, default=0.0) * max((1.0,) + self.kernel.gammas)
        if any(kind == EXP_DISTANCE for _, fs in self.kernel.terms for kind, *_ in fs):
            slack = math.sqrt(slack)
        close = dict(rtol=1e-9, atol=10 * slack + 1e-12)
        assert_close(self.gram(), gram, **close)
        assert_close(self.similarities(), np.diag(gram), **close)
        return gram, slack
