"""A ring of the latest records, all of one size: the oldest record is dropped first."""

from libc.string cimport memcpy

import numpy as np

from river_okl._core.store.buffers cimport viewed


cdef class Ring(Owner):
    """At most ``limit`` records of ``item`` bytes; memory grows with the number of records."""

    def __init__(self, Py_ssize_t limit, Py_ssize_t item):
        self.limit, self.item = limit, item

    cdef int reserve(self, Py_ssize_t room) except -1:
        """Reallocate room for ``room`` records, and move the oldest one to the start."""
        cdef Py_ssize_t i
        cdef char *records = <char *> self.resize(NULL, 0, room, self.item)
        for i in range(self.n):
            memcpy(records + i * self.item, self.at(i), self.item)
        self.release(self.records)
        self.records, self.room, self.start = records, room, 0
        return 0

    cdef void *append(self) except NULL:
        """Add a record and return it, to be written; drop the oldest one if there are ``limit``."""
        if self.n == self.room and self.room < self.limit:
            self.reserve(min(self.limit, max(LEAST_ROOM, 2 * self.room)))
        elif self.n == self.room:
            self.drop(1)
        self.n += 1
        return self.at(self.n - 1)

    cdef void drop(self, Py_ssize_t count) noexcept:
        """Drop the ``count`` oldest records."""
        self.start = (self.start + count) % self.room
        self.n -= count

    cdef void clear(self) noexcept:
        """Drop all records, and free their memory."""
        self.release(self.records)
        self.records = NULL
        self.n = self.room = self.start = 0

    cdef object latest(self, dtype):
        """A copy of the records, the oldest first."""
        return viewed(self.records, self.room, dtype)[(self.start + np.arange(self.n)) % max(1, self.room)]

    def _check(self):
        """Assert the invariants."""
        assert 0 <= self.n <= self.room <= self.limit
