"""The points, stored feature by feature, independently of any kernel or function.

Stored for points i < n and features j (``check`` recomputes all of it by brute force):

    Z[j, i]       the value of feature j in z_i; the values of one feature are contiguous
    square[i]     ‖z_i‖²            sparse_square[i]  the part of it from posting lists
    birth[i]      when z_i was added: 0, 1, 2, ...
    count[j]      #{i : Z[j, i] ≠ 0}

Why feature-major: a row of dot products x · z_i is one axpy per non-zero feature of x, contiguous over the points.
The loop is the same for dense and sparse samples, and a new feature is one more row.  A feature that few points have
(less than 1/``SPARSE_BELOW`` of the capacity) is a posting list of (i, value) instead, so that the memory for wide data
grows with the non-zero values only.  Each point has a list of its posting lists.

Usage, from this package or any module that cimports it, by one thread at a time (lock.pyx)::

    encode(features, {"a": 1.0}, &x)    # encoder.pyx: a dict or the row of a Frame as items with places
    points.store(&x)                    # z_n = x
    points.drop(p)                      # z_p is removed
    points.tidy()                       # the end of a step: features that no point has are forgotten

Positions: a new point is the last, n-1; if a point is removed, the last one takes its position.  Arrays parallel to the
points change likewise in the same step.
"""

cimport cython
from libc.math cimport fmax, fmin
from libc.string cimport memcpy, memset

import math
from collections import Counter

import numpy as np

from river_okl._core.store.buffers cimport aligned_resize, array_of, fill, okl_free, viewed

from river_okl._core.invariants import assert_close
from river_okl._core.states import check_points


@cython.final
cdef class Points(Axis):
    """Points of named features.

    Parameters
    ----------
    features
        Their names and places.
    max_points
        Maximum number of points; None: no limit.
    single
        Whether dense rows are stored in single precision; values must then be exact in single precision.
    """

    def __cinit__(self):
        self.emptied = []
        self.limit = MAX_POINTS

    def __init__(self, Features features not None, max_points=None, *, bint single=False):
        if max_points is not None and not 1 <= max_points <= MAX_POINTS:
            raise ValueError(f"max_points is {max_points!r}: it must be an integer from 1 to {MAX_POINTS:,}")
        if self.features is not None:
            raise RuntimeError("Points can be initialised only once")
        Axis.__init__(self, "point")
        self.features = features
        self.max_points, self.single, self.item = max_points, single, 4 if single else 8
        self.limit = MAX_POINTS if max_points is None else max_points

    def __dealloc__(self):
        cdef Py_ssize_t i, j
        for i in range(self.capacity):
            okl_free(self.owned[i].places)
        for j in range(self.columns_allocated):
            okl_free(self.columns[j].dense)
            okl_free(self.columns[j].owners)
            okl_free(self.columns[j].amounts)

    def __sizeof__(self):
        cdef Py_ssize_t i, j, total = Axis.__sizeof__(self)
        for i in range(self.capacity):
            total += self.owned[i].allocated * 4
        for j in range(self.columns_allocated):
            total += (self.capacity * self.item if self.columns[j].dense != NULL else 0)
            total += self.columns[j].allocated * 12
        return total

    def __len__(self):
        return self.n

    # Reading ----------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t padded(self) noexcept nogil:
        """Return n rounded up to a multiple of ``LANES``."""
        return (self.n + LANES - 1) // LANES * LANES

    cdef int check_position(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"position {i} of {self.n} support vectors")
        return 0

    def point(self, Py_ssize_t i):
        """Return z_i as a dict of the user's feature names, in the order of their places."""
        cdef Py_ssize_t j, k
        cdef int32_t place
        cdef dict values = {}
        self.check_position(i)
        for j in range(self.n_dense):
            place = self.dense[j]
            values[place] = value_at(self.columns[place].dense, i, self.single)
        for j in range(self.owned[i].size):
            place = self.owned[i].places[j]
            k = post_of(&self.columns[place], i)
            if k >= 0:
                values[place] = self.columns[place].amounts[k]
        # a list first: no name's __hash__ is called while the names are read
        return dict([(<object> self.features.names[j], values[j]) for j in sorted(values) if values[j]])

    @property
    def births(self):
        """The number of additions before each support vector was added."""
        return np.array(<int64_t[:self.n]> self.birth) if self.n else np.empty(0, dtype=np.int64)

    cpdef Py_ssize_t oldest(self) except -1:
        """Return the position of the support vector that was added first."""
        cdef Py_ssize_t i, best = 0
        self.check_position(0)
        for i in range(1, self.n):
            if self.birth[i] < self.birth[best]:
                best = i
        return best

    # Storage ----------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t next_capacity(self) noexcept:
        """Return twice the capacity, but no more than ``limit`` points need."""
        return min(max(LANES, 2 * self.capacity), (self.limit + LANES - 1) // LANES * LANES)

    cdef int grow(self, Py_ssize_t capacity) except -1:
        """Make room for ``capacity`` points (see ``next_capacity``)."""
        cdef Py_ssize_t j, old = self.capacity
        self.square = self.doubles(self.square, old, capacity)
        self.sparse_square = self.doubles(self.sparse_square, old, capacity)
        self.birth = <int64_t *> self.resize(self.birth, old, capacity, 8)
        for j in range(self.n_dense):
            self.columns[self.dense[j]].dense = aligned_resize(
                self.columns[self.dense[j]].dense, old, capacity, self.item
            )
        self.owned = <Owned *> self.resize(self.owned, old, capacity, sizeof(Owned))
        self.capacity = capacity
        for j in range(self.n_dense - 1, -1, -1):
            if self.columns[self.dense[j]].count * (2 * SPARSE_BELOW) < capacity:
                self.make_sparse(self.dense[j])
        self.settle_sparse_squares()
        return 0

    cdef int reserve(self) except -1:
        """Make room for another point."""
        return self.grow(self.next_capacity()) if self.n == self.capacity else 0

    cdef int reserve_columns(self) except -1:
        """Make room for values of all features."""
        cdef Py_ssize_t old = self.columns_allocated
        if self.features.n > old:
            self.columns = <Column *> self.resize(self.columns, old, self.features.capacity, sizeof(Column))
            self.dense = <int32_t *> self.resize(self.dense, self.n_dense, self.features.capacity, 4)
            self.columns_allocated = self.features.capacity
        return 0

    cdef int store(self, Sample *x) except -1:
        """Append x, a sample that was encoded with these features, as point z_n."""
        cdef Py_ssize_t i
        self.reserve()
        self.features.find(x)
        for i in range(x.size):
            if x.numbers[i] != 0.0 and x.places[i] < 0:
                x.places[i] = self.features.add(<object> x.keys[i])
        self.features.mark_valid(x)
        self.reserve_columns()
        return self.write(x, x.numbers, x.square)

    cdef int write(self, const Sample *x, const double *values, double square) except -1:
        """Append a point with ``values`` for the features of x, whose places are known; requires room."""
        cdef Py_ssize_t i, n = self.n, size = 0, n_converted = 0
        cdef int32_t *converted = NULL
        cdef Owned *own = &self.owned[n]
        cdef Column *column
        for i in range(x.size):
            size += values[i] != 0.0 and self.columns[x.places[i]].dense == NULL
        if size > own.allocated:
            own.places = <int32_t *> aligned_resize(own.places, 0, max(4, size), 4)
            own.allocated = <int32_t> max(4, size)
        own.size = 0
        self.sparse_square[n] = 0.0
        for i in range(x.size):
            if values[i] == 0.0:
                continue
            column = &self.columns[x.places[i]]
            if column.dense == NULL and (column.count + 1) * SPARSE_BELOW >= self.capacity:
                self.make_dense(x.places[i])
                if converted == NULL:
                    converted = <int32_t *> self.resize(NULL, 0, x.size, 4)
                converted[n_converted] = x.places[i]
                n_converted += 1
            elif column.dense != NULL and column.count == 0 and SPARSE_BELOW < self.capacity:
                self.make_sparse(x.places[i])
            if column.dense != NULL:
                set_value(column.dense, n, self.single, values[i])
                column.count += 1
                continue
            if column.count == column.allocated:
                size = max(4, 2 * column.allocated)
                column.owners = <int32_t *> aligned_resize(column.owners, column.count, size, 4)
                column.amounts = <double *> aligned_resize(column.amounts, column.count, size, 8)
                column.allocated = size
            self.add_post(own, x.places[i])
            self.n_posted += column.count == 0
            column.owners[column.count] = <int32_t> n
            column.amounts[column.count] = values[i]
            column.count += 1
            self.sparse_square[n] += values[i] * values[i]
        if n_converted:
            self.take_out(converted, n_converted)
            self.release(converted)
        self.square[n] = square
        self.birth[n] = self.born
        self.settle_sparse_squares()
        self.born += 1
        self.n += 1
        return 0

    cdef int add_post(self, Owned *own, int32_t place) except -1:
        """Add a posting list to the lists of a point."""
        cdef Py_ssize_t allocated
        if own.size == own.allocated:
            allocated = max(4, 2 * own.allocated)
            own.places = <int32_t *> aligned_resize(own.places, own.size, allocated, 4)
            own.allocated = <int32_t> allocated
        own.places[own.size] = place
        own.size += 1
        return 0

    cdef int make_dense(self, int32_t place) except -1:
        """Convert a posting list to a dense row; the caller must then call ``take_out``."""
        cdef Column *column = &self.columns[place]
        cdef Py_ssize_t k
        self.n_posted -= column.count > 0
        column.dense = aligned_resize(NULL, 0, self.capacity, self.item)
        for k in range(column.count):
            set_value(column.dense, column.owners[k], self.single, column.amounts[k])
        okl_free(column.owners)
        okl_free(column.amounts)
        column.owners = NULL
        column.amounts = NULL
        column.allocated = 0
        column.rank = self.n_dense
        self.dense[self.n_dense] = place
        self.n_dense += 1
        self.sparse_square_stale = True
        return 0

    cdef int take_out(self, const int32_t *converted, Py_ssize_t n) except -1:
        """Remove features that became dense from the lists of their points.

        All at once, which takes linear time: removed one by one, each would be searched for in the whole list.
        """
        cdef Py_ssize_t p, j
        cdef int32_t k
        cdef int32_t *spots = <int32_t *> self.resize(NULL, 0, self.features.n, 4)  # position of a feature in a list
        cdef Owned *own
        for p in range(self.n):
            own = &self.owned[p]
            for j in range(own.size):
                if self.columns[own.places[j]].dense != NULL:
                    break
            else:
                continue
            for j in range(own.size):
                spots[own.places[j]] = <int32_t> j
            for j in range(n):
                k = spots[converted[j]]
                if 0 <= k < own.size and own.places[k] == converted[j]:
                    own.size -= 1
                    own.places[k] = own.places[own.size]
                    spots[own.places[k]] = k
        self.release(spots)
        return 0

    cdef int make_sparse(self, int32_t place) except -1:
        """Convert the dense row of a feature that has become rare to a posting list, with room for one more point."""
        cdef Column *column = &self.columns[place]
        cdef Py_ssize_t i, size = max(4, column.count + 1)
        cdef double value
        column.owners = <int32_t *> aligned_resize(NULL, 0, size, 4)
        column.amounts = <double *> aligned_resize(NULL, 0, size, 8)
        column.allocated, column.count = size, 0
        for i in range(self.capacity):
            value = value_at(column.dense, i, self.single)
            if value != 0.0:
                self.add_post(&self.owned[i], place)
                column.owners[column.count] = <int32_t> i
                column.amounts[column.count] = value
                column.count += 1
        self.n_posted += column.count > 0
        self.leave_dense(place)
        self.sparse_square_stale = True
        return 0

    cdef void leave_dense(self, int32_t place) noexcept:
        cdef Column *column = &self.columns[place]
        self.n_dense -= 1
        self.dense[column.rank] = self.dense[self.n_dense]
        self.columns[self.dense[column.rank]].rank = column.rank
        okl_free(column.dense)
        column.dense = NULL

    cdef int tidy(self) except -1:
        """End a step: free the columns of features that no point has, the last emptied first, and forget
        these features unless they are kept."""
        cdef Column *column
        cdef int32_t place
        while self.emptied:
            place = self.emptied.pop()
            column = &self.columns[place]
            if column.count > 0:
                continue
            if column.dense != NULL:
                self.leave_dense(place)
            okl_free(column.owners)
            okl_free(column.amounts)
            memset(column, 0, sizeof(Column))
            if self.features.names[place] != NULL and not self.features.kept:
                self.features.forget(place)
        return 0

    cdef void settle_sparse_squares(self) noexcept:
        """Recompute ``sparse_square`` after features became dense or sparse.  This cannot wait until the next
        evaluation: the order of summation would then depend on when the model predicts."""
        cdef Py_ssize_t j, k
        cdef Column *column
        if not self.sparse_square_stale:
            return
        memset(self.sparse_square, 0, self.capacity * 8)
        for j in range(self.columns_allocated):
            column = &self.columns[j]
            if column.dense == NULL:
                for k in range(column.count):
                    self.sparse_square[column.owners[k]] += column.amounts[k] * column.amounts[k]
        self.sparse_square_stale = False

    cdef int drop(self, Py_ssize_t p) except -1:
        """Remove z_p; the last point takes its position.  The step must end with ``tidy``.

        Requires a valid position.
        """
        cdef Py_ssize_t j, k, last = self.n - 1
        cdef Owned *own = &self.owned[p]
        cdef Owned spare
        cdef Column *column
        cdef int32_t place
        for j in range(own.size):
            column = &self.columns[own.places[j]]
            k = post_of(column, p)
            if k < 0:
                continue
            column.count -= 1
            column.owners[k] = column.owners[column.count]
            column.amounts[k] = column.amounts[column.count]
            if column.count == 0:
                self.n_posted -= 1
                self.emptied.append(own.places[j])
        own.size = 0
        if p != last:
            for j in range(self.owned[last].size):
                column = &self.columns[self.owned[last].places[j]]
                k = post_of(column, last)
                if k >= 0:
                    column.owners[k] = <int32_t> p
            spare = self.owned[p]
            self.owned[p] = self.owned[last]
            self.owned[last] = spare
        j = 0
        while j < self.n_dense:
            place = self.dense[j]
            column = &self.columns[place]
            if value_at(column.dense, p, self.single) != 0.0:
                column.count -= 1
            set_value(column.dense, p, self.single, value_at(column.dense, last, self.single))
            set_value(column.dense, last, self.single, 0.0)
            if column.count == 0:  # the row stays until the feature is forgotten: the next point may have it
                self.emptied.append(place)
                j += 1
            elif column.count * (2 * SPARSE_BELOW) >= self.capacity:
                j += 1
            else:
                self.make_sparse(place)
        self.square[p] = self.square[last]
        self.square[last] = 0.0
        self.sparse_square[p] = self.sparse_square[last]
        self.sparse_square[last] = 0.0
        self.birth[p] = self.birth[last]
        self.n = last
        self.settle_sparse_squares()
        return 0

    cdef int convert(self, int32_t place, double ratio, double shift, double bound) except -1:
        """Set z_j ← ratio z_j + shift, within ±bound, in every point; the caller must then call ``measure``."""
        cdef Py_ssize_t i
        cdef Column *column = &self.columns[place]
        cdef double value
        if shift != 0.0 and column.dense == NULL:
            self.make_dense(place)
            self.take_out(&place, 1)
        if column.dense == NULL:
            for i in range(column.count):
                value = fmin(fmax(ratio * column.amounts[i], -bound), bound)
                column.amounts[i] = <float> value if self.single else value
            return 0
        column.count = 0
        for i in range(self.n):
            value = ratio * value_at(column.dense, i, self.single) + shift
            set_value(column.dense, i, self.single, fmin(fmax(value, -bound), bound))
            column.count += value_at(column.dense, i, self.single) != 0.0
        if column.count == 0:
            self.emptied.append(place)
        elif column.count * (2 * SPARSE_BELOW) < self.capacity:
            self.make_sparse(place)
        return 0

    cdef void measure(self) noexcept:
        """Recompute ‖z_i‖² after conversions."""
        cdef Py_ssize_t i, j
        cdef Column *column
        self.sparse_square_stale = True
        self.settle_sparse_squares()
        memcpy(self.square, self.sparse_square, self.n * 8)
        for j in range(self.n_dense):
            column = &self.columns[self.dense[j]]
            for i in range(self.n):
                self.square[i] += value_at(column.dense, i, self.single) * value_at(column.dense, i, self.single)

    # Pickling ---------------------------------------------------------------------------------------------------------

    cdef dict state(self):
        """Return the state without scratch: the columns by place, with the points that have them.

        The state includes every order of summation (of places, of posting lists, of a point's posting lists), so that
        restored points resume bit for bit.
        """
        cdef Py_ssize_t i, j, k
        cdef Column *column
        places = [j for j in range(self.columns_allocated) if self.columns[j].count]
        owners, amounts = [], []
        for j in places:
            column = &self.columns[j]
            if column.dense != NULL:
                row = self.row_of(j, self.n)
                owners.append(np.flatnonzero(row).astype(np.int32))
                amounts.append(row[owners[-1]].astype(np.float64))
            else:
                owners.append(viewed(column.owners, column.count, np.dtype(np.int32)))
                amounts.append(viewed(column.amounts, column.count, np.dtype(np.float64)))
        return {
            "places": np.array(places, dtype=np.int32),
            "ranks": np.array(
                [self.columns[j].rank if self.columns[j].dense != NULL else -1 for j in places], dtype=np.int64
            ),
            "counts": np.array([self.columns[j].count for j in places], dtype=np.int64),
            "owners": np.concatenate([np.empty(0, dtype=np.int32), *owners]),
            "amounts": np.concatenate([np.empty(0), *amounts]),
            "owned": np.array(
                [self.owned[i].places[k] for i in range(self.n) for k in range(self.owned[i].size)], dtype=np.int32
            ),
            "square": array_of(self.square, self.n),
            "sparse_square": array_of(self.sparse_square, self.n),
            "birth": self.births,
            "born": self.born,
            "capacity": self.capacity,
        }

    cdef object row_of(self, Py_ssize_t place, Py_ssize_t n):
        """Return the first n numbers of a dense row, as a view."""
        return viewed(self.columns[place].dense, n, np.dtype(np.float32 if self.single else np.float64))

    cdef int restore(self, dict state) except -1:
        """Resume from a state, after checking every number.  Requires that there are no points yet.

        The features are restored before, and other objects after that: they then make room for ``capacity`` points.
        """
        cdef Py_ssize_t i, j, k, n, at = 0
        cdef Column *column
        cdef Owned *own
        if self.n:
            raise RuntimeError("points are restored before there are any")
        check_points(state, [*self.features.index.values()], self.max_points, LANES)
        cdef const double[::1] amounts = state["amounts"]
        cdef const int32_t[::1] owners = state["owners"]
        cdef const int32_t[::1] owned = state["owned"]
        cdef const int32_t[::1] places = state["places"]
        cdef const int64_t[::1] counts = state["counts"]
        cdef const int64_t[::1] ranks = state["ranks"]
        cdef const int64_t[::1] birth = state["birth"]
        n = birth.shape[0]
        if self.capacity < state["capacity"]:
            self.grow(state["capacity"])
        self.n = n
        self.reserve_columns()
        for j in range(counts.shape[0]):
            column = &self.columns[places[j]]
            column.count = counts[j]
            if ranks[j] >= 0:
                column.dense = aligned_resize(NULL, 0, self.capacity, self.item)
                column.rank = ranks[j]
                self.dense[column.rank] = places[j]
                self.n_dense += 1
            else:
                column.allocated = max(4, column.count)
                column.owners = <int32_t *> aligned_resize(NULL, 0, column.allocated, 4)
                column.amounts = <double *> aligned_resize(NULL, 0, column.allocated, 8)
                self.n_posted += 1
            for k in range(column.count):
                i = owners[at]
                if column.dense != NULL:
                    set_value(column.dense, i, self.single, amounts[at])
                else:
                    column.owners[k] = <int32_t> i
                    column.amounts[k] = amounts[at]
                    self.owned[i].allocated += 1
                at += 1
        at = 0
        for i in range(n):
            own = &self.owned[i]
            if own.allocated:
                own.places = <int32_t *> aligned_resize(NULL, 0, own.allocated, 4)
                own.size = own.allocated
                memcpy(own.places, &owned[at], own.size * 4)
                at += own.size
        fill(self.square, state["square"], n)
        fill(self.sparse_square, state["sparse_square"], n)
        if n:
            memcpy(self.birth, &birth[0], n * 8)
        self.born = state["born"]
        return 0

    # The invariants at the head of this file, by brute force ----------------------------------------------------------

    cdef list check(self):
        """Assert the invariants by brute force; return every point."""
        cdef Py_ssize_t i, j, k, n = self.n
        cdef Column *column
        assert n <= self.capacity and (self.max_points is None or n <= self.max_points)
        points = [self.point(i) for i in range(n)]
        used = Counter([name for point in points for name in point])
        known = self.features.index
        assert used.keys() <= set(known), "every feature of a point has a place"
        assert self.features.kept or len(used) == len(known), "only features of points are known"
        assert len(known) == self.features.n - len(self.features.free)
        assert not self.emptied
        assert len(set(self.births.tolist())) == n and all(0 <= b < self.born for b in self.births)
        owning = [set() for _ in range(n)]
        for name, place in known.items():
            assert <object> self.features.names[<Py_ssize_t> place] == name
            column = &self.columns[<Py_ssize_t> place]
            assert column.count == used[name]
            if column.dense != NULL:
                assert self.dense[column.rank] == place
                assert not self.row_of(place, self.capacity)[n:].any()
                assert column.count * (2 * SPARSE_BELOW) >= self.capacity
            else:
                for k in range(column.count):
                    owning[column.owners[k]].add(place)
        assert self.n_posted == len(used) - self.n_dense
        for i in range(self.capacity):
            own = {self.owned[i].places[j] for j in range(self.owned[i].size)}
            assert len(own) == self.owned[i].size
            assert own == (owning[i] if i < n else set())
            assert i < n or self.square[i] == 0.0

        squares = [math.fsum(v * v for v in point.values()) for point in points]
        assert_close([self.square[i] for i in range(n)], squares, rtol=1e-12)
        return points
