"""The points, stored feature by feature, independently of any kernel or function.

Stored for points i < n and features j (``check`` recomputes all of it by brute force):

    Z[j, i]       the value of feature j in z_i; the values of one feature are contiguous
    square[i]     ‖z_i‖²            sparse_square[i]  the part of it from posting lists
    birth[i]      when z_i was added: 0, 1, 2, ...
    count[j]      #{i : Z[j, i] ≠ 0} > 0: a feature that no point has is unknown

Why feature-major: a row of dot products x · z_i is one axpy per non-zero feature of x, contiguous over the points.
The loop is the same for dense and sparse samples, and a new feature is one more row.  A feature that few points have
(less than 1/``SPARSE_BELOW`` of the capacity) is a posting list of (i, value) instead, so that the memory for wide data
grows with the non-zero values only.  Each point has a list of its posting lists.

Usage, from this package or any module that cimports it, by one thread at a time (lock.pyx)::

    encode(points, {"a": 1.0}, &x)      # encoder.pyx: a dict or the row of a Frame as items with slots
    points.store(&x)                    # z_n = x
    points.drop(p)                      # z_p is removed

Positions: a new point is the last, n-1; if a point is removed, the last one takes its position.  Arrays parallel to the
points change likewise in the same step.
"""

cimport cython
from libc.math cimport fmax, fmin
from libc.string cimport memcpy, memset

import math
from collections import Counter

import numpy as np

from river_okl._core.store.memory cimport aligned_resize, array_of, fill, okl_free
from river_okl._core.store.sample cimport set_key

from river_okl._core.invariants import assert_close
from river_okl._core.states import check_points
from river_okl._core.store.sample import plain, shown


@cython.final
cdef class Points(Owner):
    """Points of named features.

    Parameters
    ----------
    max_points
        Maximum number of points; None: no limit.
    single
        Whether dense rows are stored in single precision; values must then be exact in single precision.
    """

    def __cinit__(self):
        self.vocabulary = {}
        self.free_slots = []
        self.limit = MAX_POINTS
        self.strings = True

    def __init__(self, max_points=None, *, bint single=False):
        if max_points is not None and not 1 <= max_points <= MAX_POINTS:
            raise ValueError(f"max_points is {max_points!r}: it must be an integer from 1 to {MAX_POINTS:,}")
        if self.n_slots:
            raise RuntimeError("Points can be initialised only once")
        self.max_points, self.single, self.item = max_points, single, 4 if single else 8
        self.limit = MAX_POINTS if max_points is None else max_points

    def __dealloc__(self):
        cdef Py_ssize_t i, j
        for i in range(self.capacity):
            okl_free(self.owned[i].slots)
        for j in range(self.n_slots):
            set_key(&self.features[j].key, NULL)
            okl_free(self.features[j].dense)
            okl_free(self.features[j].owners)
            okl_free(self.features[j].amounts)

    def __sizeof__(self):
        cdef Py_ssize_t i, j, total = Owner.__sizeof__(self)
        for i in range(self.capacity):
            total += self.owned[i].allocated * 4
        for j in range(self.n_slots):
            total += (self.capacity * self.item if self.features[j].dense != NULL else 0)
            total += self.features[j].allocated * 12
        return total

    def __len__(self):
        return self.n

    # Names ------------------------------------------------------------------------------------------------------------

    cdef int look_up(self, Sample *x, Py_ssize_t i, object key) except -1:
        """Set the key of item i of x, and look up its slot."""
        x.slots[i] = self.slot_of(key)
        set_key(&x.keys[i], <PyObject *> key)
        return 0

    cdef int check_distinct(self, const Sample *x) except -1:
        """Raise if two items of x are the same feature, as names with an inconsistent __eq__ might be."""
        cdef Py_ssize_t i
        self.turn += 1
        for i in range(x.size):
            if x.slots[i] >= 0:
                if self.features[x.slots[i]].turn == self.turn:
                    raise RuntimeError(f"feature {shown(<object> x.keys[i])} equals another one of the same sample")
                self.features[x.slots[i]].turn = self.turn
        return 0

    cdef int32_t slot_of(self, object key) except -2:
        """Return the slot of a feature, or -1."""
        cdef int32_t slot
        found = self.vocabulary.get(key)
        if found is None:
            return -1
        slot = found
        # ignore an entry that could not be deleted because the hash of its name had changed
        return slot if slot < self.n_slots and self.features[slot].key != NULL else -1

    cdef int refresh_slots(self, Sample *x) except -1:
        """Look up the slots of x again if the vocabulary has changed since x was encoded."""
        cdef Py_ssize_t i
        if x.version != self.version:
            for i in range(x.size):
                x.slots[i] = self.slot_of(<object> x.keys[i])
            self.date_slots(x)
        return 0

    cdef void date_slots(self, Sample *x) noexcept:
        """Mark the slots of x as current, and forget the slots beyond its size, which may be outdated."""
        cdef Py_ssize_t i
        for i in range(x.size, x.allocated):
            set_key(&x.keys[i], NULL)
        x.version = self.version

    # Reading ----------------------------------------------------------------------------------------------------------

    cdef Axis axis(self):
        """Return the axis of the points, for a table's arrays."""
        cdef Axis axis = Axis("point")
        axis.owner, axis.length, axis.needed = self, &self.n, &self.capacity
        return axis

    cdef Py_ssize_t padded(self) noexcept nogil:
        """Return n rounded up to a multiple of ``LANES``."""
        return (self.n + LANES - 1) // LANES * LANES

    cdef int check_position(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"position {i} of {self.n} support vectors")
        return 0

    def point(self, Py_ssize_t i):
        """Return z_i as a dict of the user's feature names, in the order of their slots."""
        cdef Py_ssize_t j, slot
        cdef Feature *feature
        cdef dict values = {}
        self.check_position(i)
        for j in range(self.n_dense):
            slot = self.dense_slots[j]
            values[slot] = value_at(self.features[slot].dense, i, self.single)
        for j in range(self.owned[i].size):
            slot = self.owned[i].slots[j]
            feature = &self.features[slot]
            values[slot] = feature.amounts[find(feature.owners, <int32_t> i)]
        # a list first: no name's __hash__ is called while the names are read
        return dict([(<object> self.features[slot].key, values[slot]) for slot in sorted(values) if values[slot]])

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
            self.features[self.dense_slots[j]].dense = aligned_resize(
                self.features[self.dense_slots[j]].dense, old, capacity, self.item
            )
        self.owned = <Owned *> self.resize(self.owned, old, capacity, sizeof(Owned))
        self.capacity = capacity
        for j in range(self.n_dense - 1, -1, -1):
            if self.features[self.dense_slots[j]].count * (2 * SPARSE_BELOW) < capacity:
                self.make_sparse(self.dense_slots[j])
        self.settle_sparse_squares()
        return 0

    cdef int store(self, Sample *x) except -1:
        """Append x, a sample that was encoded for these points, as point z_n."""
        cdef Py_ssize_t before = self.n_emptied
        self.expect(x, x.numbers)
        while self.n_emptied > before:  # new features are about to get a point
            self.n_emptied -= 1
            self.features[self.emptied[self.n_emptied]].emptied = False
        return self.write(x, x.numbers, x.square)

    cdef int expect(self, Sample *x, const double *values) except -1:
        """Reserve room for a point, and slots for the features of x that are non-zero in ``values``.

        A new feature is listed as emptied until a point has it.
        """
        cdef Py_ssize_t i
        if self.n >= self.limit:
            raise RuntimeError(f"there are already {self.n} points, the maximum")
        if self.n == self.capacity:
            self.grow(self.next_capacity())
        self.refresh_slots(x)
        self.check_distinct(x)
        for i in range(x.size):
            if values[i] != 0.0 and x.slots[i] < 0:
                x.slots[i] = self.new_slot(<object> x.keys[i])
        if x.version != self.version:
            self.date_slots(x)
        return 0

    cdef int write(self, const Sample *x, const double *values, double square) except -1:
        """Append a point with ``values`` for the features of x; requires ``expect``."""
        cdef Py_ssize_t i, n = self.n, size = 0, n_converted = 0
        cdef int32_t *converted = NULL
        cdef Owned *own = &self.owned[n]
        cdef Feature *feature
        for i in range(x.size):
            size += values[i] != 0.0 and self.features[x.slots[i]].dense == NULL
        if size > own.allocated:
            own.slots = <int32_t *> aligned_resize(own.slots, 0, max(4, size), 4)
            own.allocated = <int32_t> max(4, size)
        own.size = 0
        self.sparse_square[n] = 0.0
        for i in range(x.size):
            if values[i] == 0.0:
                continue
            feature = &self.features[x.slots[i]]
            if feature.dense == NULL and (feature.count + 1) * SPARSE_BELOW >= self.capacity:
                self.make_dense(x.slots[i])
                if converted == NULL:
                    converted = <int32_t *> self.resize(NULL, 0, x.size, 4)
                converted[n_converted] = x.slots[i]
                n_converted += 1
            elif feature.dense != NULL and feature.count == 0 and SPARSE_BELOW < self.capacity:
                self.make_sparse(x.slots[i])
            if feature.dense != NULL:
                set_value(feature.dense, n, self.single, values[i])
                feature.count += 1
                continue
            if feature.count == feature.allocated:
                size = max(4, 2 * feature.allocated)
                feature.owners = <int32_t *> aligned_resize(feature.owners, feature.count, size, 4)
                feature.amounts = <double *> aligned_resize(feature.amounts, feature.count, size, 8)
                feature.allocated = size
            self.add_post(own, x.slots[i])
            feature.owners[feature.count] = <int32_t> n
            feature.amounts[feature.count] = values[i]
            feature.count += 1
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

    cdef int32_t new_slot(self, object key) except -1:
        """Add a feature, listed as emptied until a point has it; return its slot."""
        if not self.free_slots:
            self.free_slots.append(self.n_slots)
            self.append_slot()
        cdef int32_t slot = self.free_slots[len(self.free_slots) - 1]
        self.occupy(slot, key)
        self.list_emptied(slot)
        self.free_slots.pop()
        return slot

    cdef int append_slot(self) except -1:
        if self.n_slots == self.slots_allocated:
            allocated = max(16, 2 * self.slots_allocated)
            self.features = <Feature *> self.resize(self.features, self.n_slots, allocated, sizeof(Feature))
            self.dense_slots = <int32_t *> self.resize(self.dense_slots, self.n_dense, allocated, 4)
            self.emptied = <int32_t *> self.resize(self.emptied, self.n_emptied, allocated, 4)
            self.slots_allocated = allocated
        self.n_slots += 1
        return 0

    cdef int occupy(self, int32_t slot, object key) except -1:
        if self.vocabulary.setdefault(key, slot) != slot:
            raise RuntimeError(f"feature {shown(key)} equals another one that it did not equal before")
        self.strings = self.strings and type(key) is str
        set_key(&self.features[slot].key, <PyObject *> key)
        self.features[slot].count = 0
        self.n_features += 1
        self.version += 1
        return 0

    cdef int add_post(self, Owned *own, int32_t slot) except -1:
        """Add a posting list to the lists of a point."""
        cdef Py_ssize_t allocated
        if own.size == own.allocated:
            allocated = max(4, 2 * own.allocated)
            own.slots = <int32_t *> aligned_resize(own.slots, own.size, allocated, 4)
            own.allocated = <int32_t> allocated
        own.slots[own.size] = slot
        own.size += 1
        return 0

    cdef int make_dense(self, int32_t slot) except -1:
        """Convert a posting list to a dense row; the caller must then call ``take_out``."""
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t k
        feature.dense = aligned_resize(NULL, 0, self.capacity, self.item)
        for k in range(feature.count):
            set_value(feature.dense, feature.owners[k], self.single, feature.amounts[k])
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

    cdef int take_out(self, const int32_t *converted, Py_ssize_t n) except -1:
        """Remove features that became dense from the lists of their points.

        All at once, which takes linear time: removed one by one, each would be searched for in the whole list.
        """
        cdef Py_ssize_t p, j
        cdef int32_t k
        cdef int32_t *spots = <int32_t *> self.resize(NULL, 0, self.n_slots, 4)  # position of a feature in a list
        cdef Owned *own
        for p in range(self.n):
            own = &self.owned[p]
            for j in range(own.size):
                if self.features[own.slots[j]].dense != NULL:
                    break
            else:
                continue
            for j in range(own.size):
                spots[own.slots[j]] = <int32_t> j
            for j in range(n):
                k = spots[converted[j]]
                if 0 <= k < own.size and own.slots[k] == converted[j]:
                    own.size -= 1
                    own.slots[k] = own.slots[own.size]
                    spots[own.slots[k]] = k
        self.release(spots)
        return 0

    cdef int make_sparse(self, int32_t slot) except -1:
        """Convert the dense row of a feature that has become rare to a posting list, with room for one more point."""
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t i, size = max(4, feature.count + 1)
        cdef double value
        feature.owners = <int32_t *> aligned_resize(NULL, 0, size, 4)
        feature.amounts = <double *> aligned_resize(NULL, 0, size, 8)
        feature.allocated, feature.count = size, 0
        for i in range(self.capacity):
            value = value_at(feature.dense, i, self.single)
            if value != 0.0:
                self.add_post(&self.owned[i], slot)
                feature.owners[feature.count] = <int32_t> i
                feature.amounts[feature.count] = value
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
        """Drop the features that no point has, the last emptied first, so that new features without a point leave no
        trace."""
        cdef int32_t slot
        while self.n_emptied:
            self.n_emptied -= 1
            slot = self.emptied[self.n_emptied]
            self.features[slot].emptied = False
            if self.features[slot].key != NULL and self.features[slot].count == 0:
                self.drop_feature(slot)
        return 0

    cdef void list_emptied(self, int32_t slot) noexcept:
        if self.features[slot].emptied:
            return
        self.features[slot].emptied = True
        self.emptied[self.n_emptied] = slot
        self.n_emptied += 1

    cdef int drop_feature(self, int32_t slot) except -1:
        """Drop a feature that no point has; its posting buffer stays for the slot's next feature."""
        cdef Feature *feature = &self.features[slot]
        if self.vocabulary.pop(<object> feature.key, None) != slot:  # its __hash__ or __eq__ has changed
            self.vocabulary = {key: at for key, at in self.vocabulary.items() if at != slot}
        self.free_slots.append(slot)
        if feature.dense != NULL:
            self.leave_dense(slot)
        self.n_features -= 1
        self.version += 1
        set_key(&feature.key, NULL)
        return 0

    cdef void settle_sparse_squares(self) noexcept:
        """Recompute ``sparse_square`` after features became dense or sparse.  This cannot wait until the next
        evaluation: the order of summation would then depend on when the model predicts."""
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

    cdef int drop(self, Py_ssize_t p) except -1:
        """Remove z_p; the last point takes its position.  The caller must then call ``forget_emptied``.

        Requires a valid position.
        """
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
                self.list_emptied(own.slots[j])
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
            if value_at(feature.dense, p, self.single) != 0.0:
                feature.count -= 1
            set_value(feature.dense, p, self.single, value_at(feature.dense, last, self.single))
            set_value(feature.dense, last, self.single, 0.0)
            if feature.count == 0:  # the row stays until the feature is forgotten: the next point may have it
                self.list_emptied(slot)
                j += 1
            elif feature.count * (2 * SPARSE_BELOW) >= self.capacity:
                j += 1
            else:
                self.make_sparse(slot)
        self.square[p] = self.square[last]
        self.square[last] = 0.0
        self.sparse_square[p] = self.sparse_square[last]
        self.sparse_square[last] = 0.0
        self.birth[p] = self.birth[last]
        self.n = last
        self.settle_sparse_squares()
        return 0

    cdef int convert(self, int32_t slot, double ratio, double shift, double bound) except -1:
        """Set z_j ← ratio z_j + shift, within ±bound, in every point; the caller must then call ``measure``."""
        cdef Py_ssize_t i
        cdef Feature *feature = &self.features[slot]
        cdef double value
        if shift != 0.0 and feature.dense == NULL:
            self.make_dense(slot)
            self.take_out(&slot, 1)
        if feature.dense == NULL:
            for i in range(feature.count):
                value = fmin(fmax(ratio * feature.amounts[i], -bound), bound)
                feature.amounts[i] = <float> value if self.single else value
            return 0
        feature.count = 0
        for i in range(self.n):
            value = ratio * value_at(feature.dense, i, self.single) + shift
            set_value(feature.dense, i, self.single, fmin(fmax(value, -bound), bound))
            feature.count += value_at(feature.dense, i, self.single) != 0.0
        if feature.count == 0:
            self.list_emptied(slot)
        elif feature.count * (2 * SPARSE_BELOW) < self.capacity:
            self.make_sparse(slot)
        return 0

    cdef void measure(self) noexcept:
        """Recompute ‖z_i‖² after conversions."""
        cdef Py_ssize_t i, j
        cdef Feature *feature
        self.sparse_square_stale = True
        self.settle_sparse_squares()
        memcpy(self.square, self.sparse_square, self.n * 8)
        for j in range(self.n_dense):
            feature = &self.features[self.dense_slots[j]]
            for i in range(self.n):
                self.square[i] += value_at(feature.dense, i, self.single) * value_at(feature.dense, i, self.single)

    # Pickling ---------------------------------------------------------------------------------------------------------

    cdef dict state(self):
        """Return the state without scratch: features in order of slot, points as (feature, value) lists.

        The state includes every order of summation (of slots, of posting lists, of a point's posting lists), so that
        restored points resume bit for bit.
        """
        cdef Py_ssize_t i, j, k, at = 0, cells = 0
        cdef double amount
        cdef Feature *feature
        cdef int32_t[::1] owners
        cdef double[::1] amounts
        names, slots, ranks, counts = [], [], [], []
        for j in range(self.n_slots):
            feature = &self.features[j]
            if feature.key == NULL:
                continue
            names.append(plain(<object> feature.key))
            slots.append(j)
            ranks.append(feature.rank if feature.dense != NULL else -1)
            counts.append(feature.count)
            cells += feature.count
        of_owners, of_amounts = np.empty(cells, dtype=np.int32), np.empty(cells)
        owners, amounts = of_owners, of_amounts
        for j in slots:
            feature = &self.features[j]
            k = at
            if feature.dense != NULL:
                for i in range(self.n):
                    amount = value_at(feature.dense, i, self.single)
                    if amount != 0.0:
                        owners[at], amounts[at] = <int32_t> i, amount
                        at += 1
            else:
                memcpy(&owners[at], feature.owners, feature.count * 4)
                memcpy(&amounts[at], feature.amounts, feature.count * 8)
                at += feature.count
            assert at - k == feature.count
        return {
            "names": names,
            "slots": np.array(slots, dtype=np.int32),
            "free_slots": np.array(self.free_slots, dtype=np.int32),
            "owned": np.array(
                [self.owned[i].slots[k] for i in range(self.n) for k in range(self.owned[i].size)], dtype=np.int32
            ),
            "ranks": np.array(ranks, dtype=np.int64),
            "counts": np.array(counts, dtype=np.int64),
            "owners": of_owners,
            "amounts": of_amounts,
            "square": array_of(self.square, self.n),
            "sparse_square": array_of(self.sparse_square, self.n),
            "birth": self.births,
            "born": self.born,
            "capacity": self.capacity,
        }

    cdef int restore(self, dict state) except -1:
        """Resume from a state, after checking every number.  Requires that there are no points yet.

        Points are restored before other objects, which then make room for ``capacity`` points.
        """
        cdef Py_ssize_t i, j, k, n, at = 0
        cdef Feature *feature
        cdef Owned *own
        cdef const double[::1] amounts = state["amounts"]
        cdef const int32_t[::1] owners = state["owners"]
        cdef const int32_t[::1] owned = state["owned"]
        cdef const int32_t[::1] slots = state["slots"]
        cdef const int64_t[::1] counts = state["counts"]
        cdef const int64_t[::1] ranks = state["ranks"]
        cdef const int64_t[::1] birth = state["birth"]
        if self.n_slots:
            raise RuntimeError("points are restored before there are any")
        check_points(state, self.max_points, LANES)
        n = birth.shape[0]
        if self.capacity < state["capacity"]:
            self.grow(state["capacity"])
        self.n = n
        self.free_slots = state["free_slots"].tolist()
        for j in range(slots.shape[0] + len(self.free_slots)):  # no-cython-lint
            self.append_slot()
        for j, name in enumerate(state["names"]):
            self.occupy(slots[j], name)
        for j in range(counts.shape[0]):
            feature = &self.features[slots[j]]
            feature.count = counts[j]
            if ranks[j] >= 0:
                feature.dense = aligned_resize(NULL, 0, self.capacity, self.item)
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
                    set_value(feature.dense, i, self.single, amounts[at])
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
        cdef Feature *feature
        assert n <= self.capacity and (self.max_points is None or n <= self.max_points)
        points = [self.point(i) for i in range(n)]
        used = Counter([name for point in points for name in point])
        assert used.keys() == set(self.vocabulary), "the vocabulary is what the support vectors have"
        assert len(self.vocabulary) == self.n_features == self.n_slots - len(self.free_slots)
        assert len(set(self.births.tolist())) == n and all(0 <= b < self.born for b in self.births)
        owning = [set() for _ in range(n)]
        for name, slot in self.vocabulary.items():
            feature = &self.features[<Py_ssize_t> slot]
            assert <object> feature.key is name or <object> feature.key == name
            assert feature.count == used[name]
            if feature.dense != NULL:
                assert self.dense_slots[feature.rank] == slot
                assert all([value_at(feature.dense, i, self.single) == 0.0 for i in range(n, self.capacity)])
                assert feature.count * (2 * SPARSE_BELOW) >= self.capacity
            else:
                for k in range(feature.count):
                    owning[feature.owners[k]].add(slot)
        for i in range(self.capacity):
            own = {self.owned[i].slots[j] for j in range(self.owned[i].size)}
            assert len(own) == self.owned[i].size
            assert own == (owning[i] if i < n else set())
            assert i < n or self.square[i] == 0.0

        squares = [math.fsum(v * v for v in point.values()) for point in points]
        assert_close([self.square[i] for i in range(n)], squares, rtol=1e-12)
        return points
