from libc.stdint cimport int32_t, int64_t

from river_okl._core.mixture.processes cimport Processes
from river_okl._core.store.buffers cimport Owner
from river_okl._core.store.sample cimport Sample


cdef class Slopes(Owner):
    cdef Processes processes
    cdef int64_t first                  # number of initial samples at which slopes are always measured
    # scratch: the last sample
    cdef double *slope                  # [slopes_allocated]
    cdef Py_ssize_t slopes_allocated
    cdef double *along_features         # [max_points + 1, along_allocated] if there are many columns
    cdef Py_ssize_t along_allocated
    cdef double *together               # [BLOCK, max_points + 1] means of a block of columns

    cdef int learn(self, const Sample *x, int64_t seen, const double *weight) except -1
    cdef int reserve(self, Py_ssize_t size) except -1
    cdef int measure(self, const Sample *x, const double *weight) except -1
    cdef void add_by_features(
        self, Py_ssize_t i, const Sample *x, const double *weight, const double *by_dot, const double *by_own
    ) noexcept
    cdef double along(self, int32_t place) noexcept
