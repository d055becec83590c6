"""Values of the rows as they came, of features whose unit follows their statistics, such as a time.

Rows have scaled values, and those of such a feature are not converted: in the current unit they would be other values.
Predictions do not use raw values.  They are for making a sample again (``Memory.samples``).
"""

from libc.math cimport isfinite

import numpy as np

from river_okl._core.store.sample cimport LARGEST, LARGEST_COUNT

from river_okl._core.states import checked_array

cdef enum:
    COLUMNS = 32                # of features; others come back in the current unit
    FREE = -1
    EARLY = 256                 # rows before which a unit may be settled by chance

cdef double UNKNOWN = -2.0 * LARGEST


cdef class RawValues(Table):
    """Columns for a few features.

    Parameters
    ----------
    scaler
        The features.
    row
        The axis of the rows.
    """

    def __init__(self, Scaler scaler, Axis row):
        self.scaler, self.row, self.column = scaler, row, Axis("raw column", 0)
        self.declare(
            <size_t> &self.values, "values", (self.column, row), default=UNKNOWN, low=UNKNOWN, high=LARGEST
        )
        self.declare(
            <size_t> &self.place, "places", (self.column,), dtype="i4", default=FREE, low=FREE, high=2**31 - 1
        )
        self.declare(<size_t> &self.left, "left", (self.column,), dtype="i8", low=0, high=LARGEST_COUNT)

    cdef bint follows(self, int32_t place) noexcept:
        """Whether the unit of a feature follows its statistics."""
        cdef Feature *feature = &self.scaler.features[place]
        cdef bint varies = feature.values.variance > 0.0 or self.row.n < EARLY
        return self.scaler.active and varies and not (feature.settled or feature.word)

    cdef Py_ssize_t column_at(self, int32_t place) noexcept:
        """Return the column of a feature, or -1; of FREE that of a free column."""
        cdef Py_ssize_t c
        for c in range(self.column.n):
            if self.place[c] == place:
                return c
        return -1

    cdef int make_room(self, const Sample *x, Py_ssize_t limit) except -1:
        """Make room for the values of a sample, and free the columns that no row needs; ``limit`` is that of rows.

        If a unit settles within the first rows, the values before are hardly wrong.
        """
        cdef Py_ssize_t c, j, used = 0
        cdef bint early = self.row.n < min(EARLY, limit)
        for c in range(self.column.n):
            if self.place[c] != FREE and not early:
                if self.follows(self.place[c]):
                    self.left[c] = limit
                elif self.left[c] > 0:
                    self.left[c] -= 1
                else:
                    self.reset(self.column, c)
            used += self.place[c] != FREE
        if used == 0 and self.column.n:
            self.shrink(self.column, 0)
        for j in range(x.size):
            if x.places[j] < 0 or not self.follows(x.places[j]) or self.column_at(x.places[j]) >= 0:
                continue
            c = self.column_at(FREE)
            if c < 0 and self.column.n < COLUMNS:
                c = self.column.n
                self.grow(self.column, c + 1)
                self.column.n += 1
            if c >= 0:
                self.place[c] = x.places[j]
        return 0

    cdef void write(self, const Sample *x, Py_ssize_t slot) noexcept:
        """Write the values of a sample into a slot, without those of centred features that it lacks."""
        cdef Py_ssize_t c, j, room = self.row.room
        for c in range(self.column.n):
            self.values[c * room + slot] = UNKNOWN
        for j in range(x.size):
            c = self.column_at(x.places[j]) if x.places[j] >= 0 else -1
            if c >= 0 and isfinite(x.numbers[j]) and self.scaler.marks[x.places[j]] == self.scaler.stamp:
                self.values[c * room + slot] = x.numbers[j]

    def known(self, Py_ssize_t slot):
        """Return the values in a slot, by name."""
        cdef Py_ssize_t c
        found = {}
        for c in range(self.column.n):
            value = self.values[c * self.row.room + slot]
            if self.place[c] != FREE and value != UNKNOWN:
                found[<object> self.scaler.names[self.place[c]]] = value
        return found

    cpdef void forget(self, Axis axis, list items) noexcept:
        cdef Py_ssize_t c
        if axis is self.scaler:
            for c in range(self.column.n):
                if self.place[c] in items:
                    self.reset(self.column, c)
        Table.forget(self, axis, items)

    def restore(self, dict state):
        places = checked_array(state, "places", np.int32, None, FREE)
        self.column.n = len(places)
        if self.column.n > COLUMNS:
            raise ValueError(f"{self.column.n} columns of raw values")
        self.scaler.check_owned(places[places != FREE], "a memory")
        self.grow(self.column, self.column.n)
        Table.restore(self, state)

    def _check(self):
        cdef Py_ssize_t c
        Table._check(self)
        owned = [self.place[c] for c in range(self.column.n) if self.place[c] != FREE]
        assert self.column.n <= COLUMNS and len(set(owned)) == len(owned)
        assert all([place < self.scaler.n and self.scaler.names[place] != NULL for place in owned])
