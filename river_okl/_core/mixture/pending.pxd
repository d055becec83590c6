from libc.stdint cimport int64_t, uint64_t

from river_okl._core.memory cimport Owner


cdef struct Asked:
    uint64_t identity           # of the sample's content, or its key
    int64_t seen                # samples learned when it was asked
    double mean, deviation      # the unit of the opinions
    bint taken                  # whether its label has come


cdef class Keyed:
    cdef object sample
    cdef object key


cdef class Pending(Owner):
    cdef readonly Py_ssize_t most       # samples
    cdef readonly Py_ssize_t length     # numbers of each
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t waiting    # of these, those whose label has not come
    cdef readonly Py_ssize_t capacity
    cdef bint late                      # whether labels come late, as far as the last clear case shows
    cdef Py_ssize_t start               # of the rings:
    cdef Asked *asked                   # [capacity]
    cdef float *numbers                 # [capacity, length]

    cdef Py_ssize_t limit(self, Py_ssize_t length) noexcept
    cdef Asked *at(self, Py_ssize_t i) noexcept
    cdef int grow(self) except -1
    cdef int add(self, uint64_t identity, int64_t seen, const double *numbers, double mean, double deviation) except -1
    cdef Py_ssize_t find_asked(self, uint64_t identity, int64_t seen) noexcept
    cdef Py_ssize_t find(self, uint64_t identity, int64_t before) noexcept
    cdef Py_ssize_t find_taken(self, uint64_t identity) noexcept
    cdef void read(self, Py_ssize_t i, double *out) noexcept
    cdef void drop(self, Py_ssize_t count) noexcept
    cdef void take(self, Py_ssize_t i) noexcept
    cdef void expire(self, int64_t seen) noexcept
    cdef void clear(self, Py_ssize_t length) noexcept
    cdef int widen(self, Py_ssize_t rows, Py_ssize_t columns) except -1
