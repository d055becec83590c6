"""Where the support vectors are: their features, and the kernel row of a sample, or of one of them, over all of them.

What is kept, for support vectors i < n and features j (``check_points`` recomputes all of it by brute force):

    Z[j, i]       the value of feature j in z_i, stored feature by feature: all i of one j stand together
    square[i]     ‖z_i‖²            sparse_square[i]  the part of it from posting lists
    self[i]       κ(z_i, z_i)       birth[i]          when z_i joined: 0, 1, 2, ...
    count[j]      #{i : Z[j, i] ≠ 0} > 0: a feature that no support vector has is unknown

Why feature-major: a row of dot products x · z_i is one axpy per non-zero feature of x, contiguous over the
support vectors, which is the same loop for dense and for sparse samples, and a new feature is one more row.  A
feature that few support vectors have (less than 1/``SPARSE_BELOW`` of the capacity) is a posting list of (i, value)
instead, so that wide data costs what it holds; support vectors remember which posting lists they are in.

Where a sample has (nearly) all the features with dense rows, the row is ‖x-z_i‖² as a sum of squared differences: the
same cost, and no cancellation for unscaled features with large offsets.  Otherwise ‖x-z‖² = ‖x‖² + ‖z‖² - 2 x·z, whose
error is a few ulp of the squares.

The row memo: river calls ``predict_one(x)``, then ``learn_one(x, y)``.  ``look_at`` encodes x and, where it is the
point of the last call and no support vector came or went, keeps the kernel row.  The comparison is of keys and numbers,
so changing the dict in between is safe.

Positions: a new support vector is the last; where one leaves, the last takes its place.
"""

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

import math
import time

import numpy as np

from river_okl._core.kernel cimport Kernel, loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.rows cimport DOT_POWER, EXP_DISTANCE, EXP_SQUARED_DISTANCE, TILE
from river_okl._core.sample cimport LARGEST, LARGEST_SELF, Frame, Sample, number

from river_okl._core.sample import plain, refuse

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()

cdef enum:
    LANES = 8               # doubles in the widest vector: capacities are multiples of it
    SPARSE_BELOW = 8        # a feature of fewer than capacity / 8 support vectors is a posting list
    NOGIL_ABOVE = 200000    # multiply-adds, about 50 µs: longer calls release the GIL

cdef Py_ssize_t MAX_BUDGET = 2**31 - 1   # positions are 32-bit in posting lists


cdef class Points:
    """The support vectors of an ``Expansion``."""

    def __cinit__(self):
        self.vocabulary = {}
        self.free_slots = []
        self.emptied = []
        self.memo = True

    cdef int start(self, tuple kernel, budget, bint spare) except -1:
        if budget is not None and not 1 <= budget <= MAX_BUDGET:
            raise ValueError(f"budget is {budget!r}: it must be a whole number from 1 to {MAX_BUDGET:,}")
        if self.kernel is not None:
            raise RuntimeError("an Expansion is initialised once")
        self.kernel = Kernel(kernel)
        self.budget = budget
        self.spare = spare
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t i, j
        okl_free(self.square)
        okl_free(self.sparse_square)
        okl_free(self.self_)
        okl_free(self.birth)
        if self.owned != NULL:
            for i in range(self.capacity):
                okl_free(self.owned[i].slots)
        okl_free(self.owned)
        for j in range(self.n_slots):
            okl_free(self.features[j].dense)
            okl_free(self.features[j].owners)
            okl_free(self.features[j].amounts)
        okl_free(self.features)
        okl_free(self.dense_slots)
        for i in range(2):
            for j in range(self.samples[i].allocated):
                Py_XDECREF(self.samples[i].keys[j])
            okl_free(self.samples[i].keys)
            okl_free(self.samples[i].slots)
            okl_free(self.samples[i].numbers)
        okl_free(self.dots)
        okl_free(self.row_)
        okl_free(self.other_row)
        okl_free(self.pointers)
        okl_free(self.numbers)

    def __sizeof__(self):
        """Every byte that this object owns outside Python's own objects (the vocabulary is one)."""
        cdef Py_ssize_t i, j, total = object.__sizeof__(self)
        total += self.capacity * (4 * 8 + sizeof(Owned) + 3 * 8)
        for i in range(self.capacity):
            total += self.owned[i].allocated * 4
        total += self.slots_allocated * (sizeof(Feature) + 4)
        for j in range(self.n_slots):
            total += (self.capacity * 8 if self.features[j].dense != NULL else 0) + self.features[j].allocated * 12
        for i in range(2):
            total += self.samples[i].allocated * (sizeof(PyObject *) + 4 + 8)
        return total + self.items_allocated * 16

    def __len__(self):
        return self.n

    # Only one thread at a time is inside; the GIL sees to it but for calls that release it or run a user's __hash__.
    cdef int enter(self) except -1:
        while self.busy:
            if self.busy_thread == PyThread_get_thread_ident():
                raise RuntimeError("a feature's __hash__, __eq__ or __float__ calls the model that is reading it")
            time.sleep(5e-5)
        self.busy = True
        self.busy_thread = PyThread_get_thread_ident()
        return 0

    # Encoding ---------------------------------------------------------------------------------------------------------

    cdef int reserve_items(self, Py_ssize_t size) except -1:
        cdef Sample *x
        cdef Py_ssize_t allocated, i
        for i in range(2):
            x = &self.samples[i]
            if size > x.allocated:
                allocated = max(size, 2 * x.allocated, 8)
                x.keys = <PyObject **> aligned_resize(x.keys, x.allocated, allocated, sizeof(PyObject *))
                x.slots = <int32_t *> aligned_resize(x.slots, x.allocated, allocated, 4)
                x.numbers = <double *> aligned_resize(x.numbers, x.allocated, allocated, 8)
                x.allocated = allocated
        size = max(size, self.n_dense)
        if size > self.items_allocated:
            allocated = max(size, 2 * self.items_allocated, 8)
            self.pointers = <const double **> aligned_resize(self.pointers, 0, allocated, sizeof(double *))
            self.numbers = <double *> aligned_resize(self.numbers, 0, allocated, 8)
            self.items_allocated = allocated
        return 0

    cdef inline int look_up(self, Sample *x, Py_ssize_t i, object key) except -1:
        """Item i of x has this key.  Streams repeat their keys in order, so mostly it is known from two samples ago."""
        if x.keys[i] == <PyObject *> key:
            return 0
        slot = self.vocabulary.get(key)
        Py_INCREF(key)
        Py_XDECREF(x.keys[i])
        x.keys[i] = <PyObject *> key
        x.slots[i] = -1 if slot is None else slot
        return 0

    cdef int refresh_slots(self, Sample *x) except -1:
        """The vocabulary has changed since x was encoded."""
        cdef Py_ssize_t i
        if x.version != self.version:
            for i in range(x.size):
                slot = self.vocabulary.get(<object> x.keys[i])
                x.slots[i] = -1 if slot is None else slot
            self.date_slots(x)
        return 0

    cdef void date_slots(self, Sample *x) noexcept:
        """The slots of x are of today's vocabulary; those guessed for a longer sample may not be."""
        cdef Py_ssize_t i
        for i in range(x.size, x.allocated):
            Py_XDECREF(x.keys[i])
            x.keys[i] = NULL
        x.version = self.version

    cdef int encode(self, object sample, Sample *x) except -1:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t position = 0, i = 0, size
        cdef double v, square = 0.0
        cdef Frame frame
        cdef const double *numbers
        if isinstance(sample, Frame):
            frame = <Frame> sample
            size = len(frame.names)
            self.reserve_items(size)
            self.refresh_slots(x)
            x.size = 0
            numbers = &frame.matrix[frame.row, 0] if size else NULL
            for i in range(size):
                v = numbers[i]
                self.look_up(x, i, frame.names[i])
                x.numbers[i] = v
                square += v * v
            i = size
        elif isinstance(sample, dict):
            size = len(<dict> sample)
            self.reserve_items(size)
            self.refresh_slots(x)
            x.size = 0
            while i < size and PyDict_Next(<dict> sample, &position, &key, &value):
                if PyFloat_CheckExact(<object> value):
                    v = PyFloat_AS_DOUBLE(<object> value)
                    if not fabs(v) <= LARGEST:
                        refuse(<object> key, <object> value)
                else:
                    v = number(<object> key, <object> value)
                self.look_up(x, i, <object> key)
                x.numbers[i] = v
                square += v * v
                i += 1
        else:
            raise TypeError(f"a sample is a dict of features, not {sample!r}")
        x.size = i
        x.square = square
        x.self_similarity = self.kernel.self_similarity(square)
        if not fabs(x.self_similarity) <= LARGEST_SELF:
            raise ValueError(
                f"the kernel of this sample with itself is {x.self_similarity:g}, more than {LARGEST_SELF:g}: scale the "
                f"features (preprocessing.StandardScaler); the largest is {max(sample.items(), key=_magnitude)}"
            )
        return 0

    cdef bint same(self, Sample *a, Sample *b) noexcept:
        if a.size != b.size:
            return False
        return a.size == 0 or (  # no buffers to compare, perhaps
            memcmp(a.numbers, b.numbers, a.size * 8) == 0 and memcmp(a.keys, b.keys, a.size * sizeof(PyObject *)) == 0
        )

    # Kernel rows ------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t padded(self) noexcept nogil:
        return (self.n + LANES - 1) // LANES * LANES

    cdef void compute_row(self, Sample *x, double *out) noexcept nogil:
        """out[i] = κ(z_i, x)"""
        cdef Py_ssize_t i, m = 0, n = self.padded()
        cdef Feature *feature
        if self.by_distances(x):
            self.lay_out_dense()
            self.finish_row(self.lay_out(x, self.numbers, self.dots), x.square, out)
            return
        memset(self.dots, 0, n * 8)
        for i in range(x.size):
            if x.slots[i] >= 0 and x.numbers[i] != 0.0:
                feature = &self.features[x.slots[i]]
                if feature.dense == NULL:
                    scatter(feature, x.numbers[i], self.dots)
                else:
                    self.pointers[m] = feature.dense
                    self.numbers[m] = x.numbers[i]
                    m += 1
        loops.dots(self.pointers, self.numbers, m, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, False, self.square, x.square, n, out)

    cdef bint by_distances(self, Sample *x) noexcept nogil:
        """Whether x has (nearly) all the features with dense rows."""
        cdef Py_ssize_t i, m = 0
        for i in range(x.size):
            m += x.slots[i] >= 0 and self.features[x.slots[i]].dense != NULL
        return 5 * m + 8 >= 4 * self.n_dense

    cdef void lay_out_dense(self) noexcept nogil:
        """The row of every dense feature."""
        cdef Py_ssize_t j
        for j in range(self.n_dense):
            self.pointers[j] = self.features[self.dense_slots[j]].dense

    cdef void clear_dots(self, double *dots) noexcept nogil:
        """Room for the dot products with posting lists, or of a kernel of dot products alone."""
        if self.n_features > self.n_dense or not self.kernel.has_distance:
            memset(dots, 0, self.padded() * 8)

    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil:
        """The numbers of x for the dense features, and the dot products of the others; returns the square of those."""
        cdef Py_ssize_t i
        cdef Feature *feature
        cdef double rest = 0.0
        if self.n_dense:  # else there may be no room
            memset(numbers, 0, self.n_dense * 8)
        self.clear_dots(dots)
        for i in range(x.size):
            feature = &self.features[x.slots[i]] if x.slots[i] >= 0 else NULL
            if feature != NULL and feature.dense != NULL:
                numbers[feature.rank] = x.numbers[i]
            else:
                rest += x.numbers[i] * x.numbers[i]
                if feature != NULL:
                    scatter(feature, x.numbers[i], dots)
        return rest

    cdef void start_distances(self, double rest, double *dots) noexcept nogil:
        """The part of ‖x-z_i‖² that is not from dense features, in place of its dot products."""
        cdef Py_ssize_t i, n = self.padded()
        cdef const double *sparse_square = self.sparse_square
        if self.n_features == self.n_dense:  # no posting lists: their squares and dot products are 0
            for i in range(n):
                dots[i] = rest
        else:
            for i in range(n):
                dots[i] = max(0.0, rest + sparse_square[i] - 2.0 * dots[i])

    cdef void finish_row(self, double rest, double square, double *out) noexcept nogil:
        """Kernel values from the laid-out dense features, and from posting lists through their dot products."""
        cdef Py_ssize_t n = self.padded()
        if self.kernel.has_distance:
            self.start_distances(rest, self.dots)
            loops.distances(self.pointers, self.numbers, self.n_dense, n, self.dots)
        else:  # a distance would lose the digits of the dot product of a long and a short vector
            loops.dots(self.pointers, self.numbers, self.n_dense, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, self.kernel.has_distance, self.square, square, n, out)

    cdef void settle_sparse_squares(self) noexcept:
        """A feature became a posting list or stopped to be one.  Done at once: were it left to the next evaluation, a
        prediction would decide in which order these sums are formed."""
        cdef Py_ssize_t j, k
        cdef Feature *feature
        if not self.sparse_square_stale:
            return
        memset(self.sparse_square, 0, self.capacity * 8)
        for j in range(self.n_slots):
            feature = &self.features[j]
            if feature.key != NULL and feature.dense == NULL:
                for k in range(feature.count):
                    self.sparse_square[feature.owners[k]] += feature.amounts[k] * feature.amounts[k]
        self.sparse_square_stale = False

    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil:
        """``lay_out`` for z_p; the dense features are laid out before."""
        cdef Py_ssize_t j
        cdef Feature *feature
        cdef double v, rest = 0.0
        self.clear_dots(dots)
        for j in range(self.owned[p].size):
            feature = &self.features[self.owned[p].slots[j]]
            v = feature.amounts[find(feature.owners, <int32_t> p)]
            rest += v * v
            scatter(feature, v, dots)
        for j in range(self.n_dense):
            numbers[j] = self.pointers[j][p]
        return rest

    cdef int compute_row_of(self, Py_ssize_t p, double *out) except -1:
        """out[i] = κ(z_i, z_p)"""
        self.enter()
        try:
            self.reserve_items(self.n_dense)
            self.lay_out_dense()
            self.row_of_point(p, out)
        finally:
            self.busy = False
        return 0

    cdef void row_of_point(self, Py_ssize_t p, double *out) noexcept nogil:
        """``compute_row_of`` where the dense features are laid out and this thread is inside."""
        self.finish_row(self.lay_out_point(p, self.numbers, self.dots), self.square[p], out)
        out[p] = self.self_[p]

    cdef object make_tile(self, Tile *tile):
        """Room for TILE samples and their rows, which lasts as long as the object that is returned."""
        cdef Py_ssize_t s, n = self.padded()
        room = np.empty(TILE * (self.n_dense + n) + LANES)
        cdef double[::1] view = room
        cdef double *start = &view[0] + (64 - <size_t> &view[0] % 64) % 64 // 8
        for s in range(TILE):
            tile.dots[s] = start + s * n
            tile.numbers[s] = start + TILE * n + s * self.n_dense
        return room

    cdef void finish_tile(self, Tile *tile) noexcept nogil:
        """The squared distances of the samples that are laid out."""
        cdef Py_ssize_t s, n = self.padded()
        for s in range(TILE):
            self.start_distances(tile.rests[s], tile.dots[s])
        loops.distances_tile(self.pointers, tile.numbers[0], self.n_dense, n, tile.dots[0], n)

    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil:
        loops.kernel_row(&self.kernel.program, tile.dots[s], True, self.square, tile.squares[s], self.padded(), out)

    # The last sample --------------------------------------------------------------------------------------------------

    cdef bint look_at(self, object sample) except -1:
        """The sample becomes the last one; whether its row had to be computed."""
        cdef Sample *x = &self.samples[1 - self.last]
        self.encode(sample, x)
        self.learner = self.busy_thread
        if self.has_sample and self.row_fresh and self.memo and self.same(x, &self.samples[self.last]):
            return False
        self.last = 1 - self.last
        self.refresh_slots(x)
        if self.n * x.size > NOGIL_ABOVE:
            with nogil:
                self.compute_row(x, self.row_)
        elif self.n:
            self.compute_row(x, self.row_)
        self.has_sample = self.row_fresh = True
        return True

    cdef Sample *learned_sample(self) except NULL:
        """The sample of the last evaluate, if this thread made it."""
        if self.learner not in (0, PyThread_get_thread_ident()):
            raise RuntimeError("two threads use the model while one learns: this sample is not learned; use a lock")
        if not self.has_sample:
            raise RuntimeError("evaluate a sample first")
        return &self.samples[self.last]

    @property
    def self_similarity(self):
        """κ(x, x) of the last sample."""
        return self.learned_sample().self_similarity

    @property
    def row(self):
        """κ(z_i, x) of the last sample for every support vector."""
        self.learned_sample()
        return copy_array(self.row_, self.n)

    # Reading ----------------------------------------------------------------------------------------------------------

    cdef int check_position(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"position {i} of {self.n} support vectors")
        return 0

    def point(self, Py_ssize_t i):
        """z_i in the user's feature names."""
        cdef Py_ssize_t j
        cdef Feature *feature
        self.check_position(i)
        slots = {self.owned[i].slots[j] for j in range(self.owned[i].size)}
        slots |= {self.dense_slots[j] for j in range(self.n_dense) if self.features[self.dense_slots[j]].dense[i] != 0.0}
        out = {}
        for slot in sorted(slots):
            feature = &self.features[slot]
            out[<object> feature.key] = (
                feature.dense[i] if feature.dense != NULL else feature.amounts[find(feature.owners, <int32_t> i)]
            )
        return out

    @property
    def births(self):
        """When each support vector joined, as a number that counts additions."""
        cdef int64_t[::1] view
        out = np.empty(self.n, dtype=np.int64)
        if self.n:
            view = out
            memcpy(&view[0], self.birth, self.n * 8)
        return out

    @property
    def self_similarities(self):
        """κ(z_i, z_i) of every support vector."""
        return copy_array(self.self_, self.n)

    def row_of(self, Py_ssize_t i):
        """κ(z_i, z_j) for every support vector j."""
        self.check_position(i)
        self.compute_row_of(i, self.other_row)
        return copy_array(self.other_row, self.n)

    def rows_of(self, positions):
        """``row_of`` each of these positions: an array (positions, support vectors)."""
        cdef const int64_t[::1] chosen = np.array(positions, dtype=np.int64)
        cdef Py_ssize_t j = 0, s
        cdef double[:, ::1] view
        cdef Tile tile
        self.enter()  # before anything is read: who waits for another thread may find other support vectors
        try:
            for s in range(chosen.shape[0]):
                self.check_position(chosen[s])
            out = np.empty((chosen.shape[0], self.n))
            view = out
            self.reserve_items(self.n_dense)
            room = self.make_tile(&tile)
            with nogil:
                self.lay_out_dense()
                while j + TILE <= chosen.shape[0] and self.kernel.has_distance:
                    for s in range(TILE):
                        tile.squares[s] = self.square[chosen[j + s]]
                        tile.rests[s] = self.lay_out_point(chosen[j + s], tile.numbers[s], tile.dots[s])
                    self.finish_tile(&tile)
                    for s in range(TILE):
                        self.tile_row(&tile, s, self.other_row)
                        self.other_row[chosen[j + s]] = self.self_[chosen[j + s]]
                        memcpy(&view[j + s, 0], self.other_row, self.n * 8)
                    j += TILE
                while j < chosen.shape[0]:
                    self.row_of_point(chosen[j], self.other_row)
                    memcpy(&view[j, 0], self.other_row, self.n * 8)
                    j += 1
        finally:
            self.busy = False
        return out

    def gram(self):
        """K, computed."""
        out = self.rows_of(range(self.n))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t i, j
        for i in range(self.n):
            for j in range(i):
                view[j, i] = view[i, j]
        return out

    cpdef Py_ssize_t oldest(self) except -1:
        """The position of the support vector that joined first."""
        cdef Py_ssize_t i, best = 0
        self.check_position(0)
        for i in range(1, self.n):
            if self.birth[i] < self.birth[best]:
                best = i
        return best

    # Storage ----------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t more_room(self) except -1:
        """Twice the capacity, but no more than the budget needs."""
        cdef Py_ssize_t capacity = max(LANES, 2 * self.capacity)
        if self.budget is not None:
            capacity = min(capacity, (<Py_ssize_t> self.budget + self.spare + LANES - 1) // LANES * LANES)
        if capacity > MAX_BUDGET:
            raise MemoryError(f"{self.n:,} support vectors are the most that there can be")
        return capacity

    cdef int grow_points(self, Py_ssize_t capacity) except -1:
        cdef Py_ssize_t j, old = self.capacity
        self.square = <double *> aligned_resize(self.square, old, capacity, 8)
        self.sparse_square = <double *> aligned_resize(self.sparse_square, old, capacity, 8)
        self.self_ = <double *> aligned_resize(self.self_, old, capacity, 8)
        self.birth = <int64_t *> aligned_resize(self.birth, old, capacity, 8)
        self.dots = <double *> aligned_resize(self.dots, old, capacity, 8)
        self.row_ = <double *> aligned_resize(self.row_, old, capacity, 8)
        self.other_row = <double *> aligned_resize(self.other_row, old, capacity, 8)
        for j in range(self.n_dense):
            self.features[self.dense_slots[j]].dense = <double *> aligned_resize(
                self.features[self.dense_slots[j]].dense, old, capacity, 8
            )
        self.owned = <Owned *> aligned_resize(self.owned, old, capacity, sizeof(Owned))
        self.capacity = capacity
        for j in range(self.n_dense - 1, -1, -1):
            if self.features[self.dense_slots[j]].count * (2 * SPARSE_BELOW) < capacity:
                self.make_sparse(self.dense_slots[j])
        self.settle_sparse_squares()
        return 0

    cdef int32_t new_slot(self, object key) except -1:
        """An emptied feature, until it gets a support vector; where this raises, the slot stays free."""
        if not self.free_slots:
            self.free_slots.append(self.n_slots)
            try:
                self.append_slot()
            except:
                self.free_slots.pop()
                raise
        cdef int32_t slot = self.free_slots[len(self.free_slots) - 1]
        self.emptied.append(slot)
        self.occupy(slot, key)
        self.free_slots.pop()
        return slot

    cdef int append_slot(self) except -1:
        if self.n_slots == self.slots_allocated:
            allocated = max(16, 2 * self.slots_allocated)
            self.features = <Feature *> aligned_resize(self.features, self.n_slots, allocated, sizeof(Feature))
            self.dense_slots = <int32_t *> aligned_resize(self.dense_slots, self.n_dense, allocated, 4)
            self.slots_allocated = allocated
        self.n_slots += 1
        return 0

    cdef int occupy(self, int32_t slot, object key) except -1:
        self.vocabulary[key] = slot
        self.features[slot].key = <PyObject *> key
        self.features[slot].count = 0
        self.n_features += 1
        self.version += 1
        return 0

    cdef int store_point(self, Sample *x) except -1:
        """Z[:, n] = x; n is one more when the caller says so."""
        cdef Py_ssize_t i, n = self.n
        cdef Owned *own = &self.owned[n]
        cdef Feature *feature
        self.refresh_slots(x)
        self.make_room(x, own)
        own.size = 0
        self.sparse_square[n] = 0.0
        for i in range(x.size):
            if x.numbers[i] == 0.0:
                continue
            feature = &self.features[x.slots[i]]
            if feature.dense != NULL:
                feature.dense[n] = x.numbers[i]
                feature.count += 1
                continue
            feature.owners[feature.count] = <int32_t> n
            feature.amounts[feature.count] = x.numbers[i]
            feature.count += 1
            self.sparse_square[n] += x.numbers[i] * x.numbers[i]
            own.slots[own.size] = x.slots[i]
            own.size += 1
        self.square[n] = x.square
        self.self_[n] = x.self_similarity
        self.birth[n] = self.born
        self.born += 1
        return 0

    cdef int make_room(self, Sample *x, Owned *own) except -1:
        """What may raise of storing x: names with a __hash__ of their own, and memory.  Until then nothing is stored, and
        new features are emptied ones."""
        cdef Py_ssize_t i, size, posts = 0, before = len(self.emptied)
        cdef Feature *feature
        for i in range(x.size):
            if x.numbers[i] == 0.0:
                continue
            if x.slots[i] < 0:
                x.slots[i] = self.new_slot(<object> x.keys[i])
                self.date_slots(x)
            feature = &self.features[x.slots[i]]
            if feature.dense != NULL:
                continue
            if (feature.count + 1) * SPARSE_BELOW >= self.capacity:
                self.make_dense(x.slots[i])
                continue
            posts += 1
            if feature.count == feature.allocated:
                size = max(4, 2 * feature.allocated)
                feature.owners = <int32_t *> aligned_resize(feature.owners, feature.count, size, 4)
                feature.amounts = <double *> aligned_resize(feature.amounts, feature.count, size, 8)
                feature.allocated = size
        self.reserve_posts(own, posts)
        if len(self.emptied) > before:
            del self.emptied[before:]
        return 0

    cdef int reserve_posts(self, Owned *own, Py_ssize_t size) except -1:
        """The room stays, so that replacing points does not allocate."""
        cdef Py_ssize_t allocated
        if size > own.allocated:
            allocated = max(4, 2 * own.allocated, size)
            own.slots = <int32_t *> aligned_resize(own.slots, own.size, allocated, 4)
            own.allocated = allocated
        return 0

    cdef int put_in(self, Owned *own, int32_t slot) except -1:
        """A posting list more that a support vector is in."""
        self.reserve_posts(own, own.size + 1)
        own.slots[own.size] = slot
        own.size += 1
        return 0

    cdef int make_dense(self, int32_t slot) except -1:
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t k
        feature.dense = <double *> aligned_resize(NULL, 0, self.capacity, 8)
        for k in range(feature.count):
            feature.dense[feature.owners[k]] = feature.amounts[k]
            take_out(&self.owned[feature.owners[k]], slot)
        okl_free(feature.owners)
        okl_free(feature.amounts)
        feature.owners = NULL
        feature.amounts = NULL
        feature.allocated = 0
        feature.rank = self.n_dense
        self.dense_slots[self.n_dense] = slot
        self.n_dense += 1
        self.sparse_square_stale = True
        return 0

    cdef int make_sparse(self, int32_t slot) except -1:
        """The dense row of a feature that few support vectors have any more becomes a posting list."""
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t i
        feature.allocated = max(4, feature.count)
        feature.owners = <int32_t *> aligned_resize(NULL, 0, feature.allocated, 4)
        feature.amounts = <double *> aligned_resize(NULL, 0, feature.allocated, 8)
        feature.count = 0
        for i in range(self.capacity):
            if feature.dense[i] != 0.0:
                self.put_in(&self.owned[i], slot)
                feature.owners[feature.count] = <int32_t> i
                feature.amounts[feature.count] = feature.dense[i]
                feature.count += 1
        self.leave_dense(slot)
        self.sparse_square_stale = True
        return 0

    cdef void leave_dense(self, int32_t slot) noexcept:
        cdef Feature *feature = &self.features[slot]
        self.n_dense -= 1
        self.dense_slots[feature.rank] = self.dense_slots[self.n_dense]
        self.features[self.dense_slots[feature.rank]].rank = feature.rank
        okl_free(feature.dense)
        feature.dense = NULL

    cdef int forget_emptied(self) except -1:
        """The last thing that ``remove`` does: where a name's __hash__ raises, its feature stays known until the next time."""
        if not self.emptied:
            return 0
        for slot in self.emptied:
            if self.features[<int32_t> slot].key != NULL and self.features[<int32_t> slot].count == 0:
                self.drop_feature(slot)
        self.emptied.clear()
        return 0

    cdef int drop_feature(self, int32_t slot) except -1:
        """No support vector has it any more; its posting buffer stays for the slot's next feature."""
        cdef Feature *feature = &self.features[slot]
        key = <object> feature.key
        del self.vocabulary[key]
        feature.key = NULL
        if feature.dense != NULL:
            self.leave_dense(slot)
        self.n_features -= 1
        self.version += 1
        self.free_slots.append(slot)
        return 0

    cdef int drop_point(self, Py_ssize_t p) except -1:
        """Z[:, p] = Z[:, n-1], and column n-1 goes; n is one less."""
        cdef Py_ssize_t j, k, last = self.n - 1
        cdef Owned *own = &self.owned[p]
        cdef Owned spare
        cdef Feature *feature
        cdef int32_t slot
        for j in range(own.size):
            feature = &self.features[own.slots[j]]
            k = find(feature.owners, <int32_t> p)
            feature.count -= 1
            feature.owners[k] = feature.owners[feature.count]
            feature.amounts[k] = feature.amounts[feature.count]
            if feature.count == 0:
                self.emptied.append(own.slots[j])
        own.size = 0
        if p != last:
            for j in range(self.owned[last].size):
                feature = &self.features[self.owned[last].slots[j]]
                feature.owners[find(feature.owners, <int32_t> last)] = <int32_t> p
            spare = self.owned[p]
            self.owned[p] = self.owned[last]
            self.owned[last] = spare
        j = 0
        while j < self.n_dense:
            slot = self.dense_slots[j]
            feature = &self.features[slot]
            if feature.dense[p] != 0.0:
                feature.count -= 1
            feature.dense[p] = feature.dense[last]
            feature.dense[last] = 0.0
            if feature.count == 0:
                self.leave_dense(slot)
                self.emptied.append(slot)
            elif feature.count * (2 * SPARSE_BELOW) < self.capacity:
                self.make_sparse(slot)
            else:
                j += 1
        self.square[p] = self.square[last]
        self.square[last] = 0.0
        self.sparse_square[p] = self.sparse_square[last]
        self.sparse_square[last] = 0.0
        self.self_[p] = self.self_[last]
        self.birth[p] = self.birth[last]
        if self.has_sample:
            self.row_[p] = self.row_[last]
            self.row_[last] = 0.0
        self.n = last
        self.row_fresh = False
        self.settle_sparse_squares()
        return 0

    # Pickling ---------------------------------------------------------------------------------------------------------

    cdef dict points_state(self):
        """What the points are, without scratch: features in order of slot, points as (feature, value) lists.

        Every order in which numbers are summed is part of it (slots, posting lists of a support vector), so that what
        is restored goes on bit for bit.
        """
        cdef Py_ssize_t i, j, k
        cdef Feature *feature
        names, slots, ranks, columns = [], [], [], []
        self.forget_emptied()
        for j in range(self.n_slots):
            feature = &self.features[j]
            if feature.key == NULL:
                continue
            names.append(plain(<object> feature.key))
            slots.append(j)
            ranks.append(feature.rank if feature.dense != NULL else -1)
            if feature.dense != NULL:
                column = [(i, feature.dense[i]) for i in range(self.n) if feature.dense[i] != 0.0]
            else:
                column = sorted((feature.owners[k], feature.amounts[k]) for k in range(feature.count))
            columns.append(column)
        counts = np.array([len(column) for column in columns], dtype=np.int64)
        cells = [cell for column in columns for cell in column]
        return {
            "names": names,
            "slots": np.array(slots, dtype=np.int32).tobytes(),
            "free_slots": np.array(self.free_slots, dtype=np.int32).tobytes(),
            "owned": np.array([self.owned[i].slots[k] for i in range(self.n) for k in range(self.owned[i].size)], dtype=np.int32).tobytes(),
            "ranks": np.array(ranks, dtype=np.int64).tobytes(),
            "counts": counts.tobytes(),
            "owners": np.array([i for i, _ in cells], dtype=np.int32).tobytes(),
            "amounts": np.array([v for _, v in cells], dtype=np.float64).tobytes(),
            "square": copy_array(self.square, self.n).tobytes(),
            "sparse_square": copy_array(self.sparse_square, self.n).tobytes(),
            "self": copy_array(self.self_, self.n).tobytes(),
            "birth": self.births.tobytes(),
            "born": self.born,
            "capacity": self.capacity,
        }

    cdef int restore_points(self, dict state, dict checked) except -1:
        """The points of a state, whose capacity there is."""
        cdef Py_ssize_t i, j, k, n, at = 0
        cdef Feature *feature
        cdef Owned *own
        cdef const double[::1] amounts = checked["amounts"]
        cdef const int32_t[::1] owners = checked["owners"]
        cdef const int32_t[::1] owned = checked["owned"]
        cdef const int32_t[::1] slots = checked["slots"]
        cdef const int64_t[::1] counts = checked["counts"]
        cdef const int64_t[::1] ranks = checked["ranks"]
        cdef const int64_t[::1] birth = checked["birth"]
        n = birth.shape[0]
        self.n = n
        self.free_slots = checked["free_slots"].tolist()
        for j in range(slots.shape[0] + len(self.free_slots)):
            self.append_slot()
        for j, name in enumerate(state["names"]):
            self.occupy(slots[j], name)
        for j in range(counts.shape[0]):
            feature = &self.features[slots[j]]
            feature.count = counts[j]
            if ranks[j] >= 0:
                feature.dense = <double *> aligned_resize(NULL, 0, self.capacity, 8)
                feature.rank = ranks[j]
                self.dense_slots[feature.rank] = slots[j]
                self.n_dense += 1
            else:
                feature.allocated = max(4, feature.count)
                feature.owners = <int32_t *> aligned_resize(NULL, 0, feature.allocated, 4)
                feature.amounts = <double *> aligned_resize(NULL, 0, feature.allocated, 8)
            for k in range(feature.count):
                i = owners[at]
                if feature.dense != NULL:
                    feature.dense[i] = amounts[at]
                else:
                    feature.owners[k] = <int32_t> i
                    feature.amounts[k] = amounts[at]
                    self.owned[i].allocated += 1
                at += 1
        at = 0
        for i in range(n):
            own = &self.owned[i]
            if own.allocated:
                own.slots = <int32_t *> aligned_resize(NULL, 0, own.allocated, 4)
                own.size = own.allocated
                memcpy(own.slots, &owned[at], own.size * 4)
                at += own.size
        if n:
            fill(self.square, state["square"], n * 8)
            fill(self.sparse_square, state["sparse_square"], n * 8)
            fill(self.self_, state["self"], n * 8)
            memcpy(self.birth, &birth[0], n * 8)
        self.born = state["born"]
        return 0

    cdef dict checked_points(self, dict state):
        """The arrays of a state, every number in range: a state may come from a damaged or malicious file.

        What would corrupt memory is looked for here, and what could never have come from ``points_state``; that the
        numbers belong together is believed.
        """
        square = checked_array(state, "square", np.float64, low=0.0)
        names, n = state["names"], square.size
        capacity, born = checked_whole(state, "capacity", n, MAX_BUDGET + LANES), checked_whole(state, "born", n, 2**62)
        room = 0
        while room < capacity:
            room = max(LANES, 2 * room)
            if self.budget is not None and room > self.budget + self.spare:
                room = (self.budget + self.spare + LANES - 1) // LANES * LANES
                break
        if room != capacity or (self.budget is not None and n > self.budget + self.spare):
            raise ValueError(f"capacity is {capacity} for {n} support vectors and a budget of {self.budget}")
        if type(names) is not list or len(set(names)) != len(names):
            raise ValueError("a feature is there twice")
        slots = checked_array(state, "slots", np.int32, len(names), 0)
        free = checked_array(state, "free_slots", np.int32, low=0)
        if not np.array_equal(np.sort(np.concatenate([slots, free])), np.arange(slots.size + free.size)):
            raise ValueError("the slots of the features do not match")
        counts = checked_array(state, "counts", np.int64, len(names), 1, n)
        ranks = checked_array(state, "ranks", np.int64, len(names), -1)
        dense = ranks >= 0
        if not np.array_equal(np.sort(ranks[dense]), np.arange(dense.sum())):
            raise ValueError("the ranks of the dense features do not match")
        if not np.where(dense, counts * (2 * SPARSE_BELOW) >= capacity, counts * SPARSE_BELOW < capacity).all():
            raise ValueError("the counts of the features do not match")
        cells = int(counts.sum())
        owners = checked_array(state, "owners", np.int32, cells, 0, n - 1)
        amounts = checked_array(state, "amounts", np.float64, cells, -LARGEST, LARGEST)
        columns = np.repeat(np.arange(len(names)), counts)
        if not amounts.all() or not ((np.diff(owners) > 0) | (np.diff(columns) > 0)).all():
            raise ValueError("the values of the features do not match")
        sparse = ~dense[columns]
        lists = np.argsort(owners[sparse], kind="stable")
        posts = np.stack([owners[sparse][lists], slots[columns[sparse]][lists]])
        owned = checked_array(state, "owned", np.int32, posts.shape[1])
        if not np.array_equal(np.stack([posts[0], owned])[:, np.lexsort((owned, posts[0]))], posts[:, np.lexsort(posts[::-1])]):
            raise ValueError("the posting lists of the support vectors do not match")
        birth = checked_array(state, "birth", np.int64, n, 0, born - 1)
        if np.unique(birth).size != n:
            raise ValueError("two support vectors joined at once")
        checked_array(state, "sparse_square", np.float64, n)
        checked_array(state, "self", np.float64, n, -LARGEST_SELF, LARGEST_SELF)
        return {
            "slots": slots, "free_slots": free, "counts": counts, "ranks": ranks, "owners": owners, "amounts": amounts,
            "owned": owned, "birth": birth,
        }  # fmt: skip

    # The invariants at the head of this file, by brute force ----------------------------------------------------------

    cdef tuple check_points(self):
        """The invariants by brute force; K, and how far distances that come from dot products may be off."""
        cdef Py_ssize_t i, j, k, n = self.n
        cdef Feature *feature
        self.forget_emptied()
        assert n <= self.capacity and (self.budget is None or n <= self.budget + self.spare)
        points = [self.point(i) for i in range(n)]
        used = set().union(*points)
        assert used == set(self.vocabulary), "the vocabulary is what the support vectors have"
        assert len(self.vocabulary) == self.n_features == self.n_slots - len(self.free_slots)
        assert len(set(self.births.tolist())) == n and all(0 <= b < self.born for b in self.births)
        owning = [set() for _ in range(n)]
        for name, slot in self.vocabulary.items():
            feature = &self.features[<Py_ssize_t> slot]
            assert <object> feature.key is name or <object> feature.key == name
            assert feature.count == sum(name in point for point in points)
            if feature.dense != NULL:
                assert self.dense_slots[feature.rank] == slot
                assert all(feature.dense[i] == 0.0 for i in range(n, self.capacity))
                assert feature.count * (2 * SPARSE_BELOW) >= self.capacity
            else:
                for k in range(feature.count):
                    owning[feature.owners[k]].add(slot)
        for i in range(self.capacity):
            own = {self.owned[i].slots[j] for j in range(self.owned[i].size)}
            assert len(own) == self.owned[i].size
            assert own == (owning[i] if i < n else set())
            assert i < n or self.square[i] == 0.0

        factors = iter(self.kernel.gammas)
        gammas = [[next(factors) for _ in fs] for _, fs in self.kernel.terms]

        def kappa(x, z):
            dot = math.fsum(v * z.get(key, 0.0) for key, v in x.items())
            distance = math.fsum((x.get(key, 0.0) - z.get(key, 0.0)) ** 2 for key in x.keys() | z.keys())
            total = 0.0
            for (weight, fs), gs in zip(self.kernel.terms, gammas):
                product = weight
                for (kind, degree, _, coef0, _), gamma in zip(fs, gs):
                    if kind == DOT_POWER:
                        product *= (gamma * dot + coef0) ** degree
                    else:
                        product *= math.exp(-gamma * (distance if kind == EXP_SQUARED_DISTANCE else math.sqrt(distance)))
                total += product
            return total

        squares = [math.fsum(v * v for v in point.values()) for point in points]
        np.testing.assert_allclose([self.square[i] for i in range(n)], squares, rtol=1e-12)
        gram = np.array([[kappa(x, z) for z in points] for x in points]).reshape(n, n)
        # ‖x-z‖² comes from ‖x‖² + ‖z‖² - 2 x·z: it is wrong by up to a few ulp of the squares, its root by the root of that
        # (only where posting lists are involved)
        slack = 1e-14 * max(squares, default=0.0) * max((1.0,) + self.kernel.gammas)
        if any(kind == EXP_DISTANCE for _, fs in self.kernel.terms for kind, *_ in fs):
            slack = math.sqrt(slack)
        close = dict(rtol=1e-9, atol=10 * slack + 1e-12)
        np.testing.assert_allclose(self.gram(), gram, **close)
        np.testing.assert_allclose(self.self_similarities, np.diag(gram), **close)
        return gram, slack


def checked_array(state, name, dtype, size=None, low=None, high=None):
    """An array of a state, every number in range."""
    data = state[name]
    if not isinstance(data, bytes) or len(data) % np.dtype(dtype).itemsize:
        raise ValueError(f"{name} is no array")
    a = np.frombuffer(data, dtype)
    if size is not None and a.size != size:
        raise ValueError(f"{name} has {a.size} numbers, not {size}")
    if a.size and not (np.isfinite(a).all() and (low is None or low <= a.min()) and (high is None or a.max() <= high)):
        raise ValueError(f"{name} has numbers out of range")
    return a


def checked_whole(state, name, low, high):
    """A whole number of a state, in range."""
    if type(state[name]) is not int or not low <= state[name] <= high:
        raise ValueError(f"{name} is {state[name]!r}")
    return state[name]


def _magnitude(item):
    return abs(float(item[1]))


cdef int fill(void *target, bytes data, Py_ssize_t size) except -1:
    """Bytes of exactly this size into a buffer."""
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes where {size} belong")
    memcpy(target, <const char *> data, size)
    return 0


cdef inline Py_ssize_t find(const int32_t *items, int32_t item) noexcept nogil:
    """Where an item stands that is there."""
    cdef Py_ssize_t k = 0
    while items[k] != item:
        k += 1
    return k


cdef void take_out(Owned *own, int32_t slot) noexcept nogil:
    own.size -= 1
    own.slots[find(own.slots, slot)] = own.slots[own.size]


cdef void scatter(Feature *feature, double v, double *dots) noexcept nogil:
    """Count v · Z[feature, :] of a posting list in the dot products."""
    cdef Py_ssize_t k
    for k in range(feature.count):
        dots[feature.owners[k]] += v * feature.amounts[k]


cdef void take_row(Sample *x, Frame frame, Py_ssize_t i) noexcept nogil:
    """Row i in place of the numbers of an encoded frame."""
    cdef Py_ssize_t j
    x.numbers = <double *> &frame.matrix[i, 0] if x.size else NULL
    x.square = 0.0
    for j in range(x.size):
        x.square += x.numbers[j] * x.numbers[j]


cdef copy_array(const double *a, Py_ssize_t n):
    out = np.empty(n)
    cdef double[::1] view
    if n:
        view = out
        memcpy(&view[0], a, n * 8)
    return out
