from river_okl._core.store.buffers cimport Owner

cdef enum:
    LEAST_ROOM = 8              # records


cdef class Ring(Owner):
    cdef Py_ssize_t item        # bytes of a record
    cdef Py_ssize_t limit       # records
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t room
    cdef Py_ssize_t start       # position of the oldest record
    cdef char *records

    cdef inline void *at(self, Py_ssize_t i) noexcept nogil:
        """Return record i, the oldest first."""
        return self.records + (self.start + i) % self.room * self.item

    cdef int reserve(self, Py_ssize_t room) except -1
    cdef void *append(self) except NULL
    cdef void drop(self, Py_ssize_t count) noexcept
    cdef void clear(self) noexcept
    cdef object latest(self, dtype)
