from libc.stdint cimport int64_t

from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis


cdef class Background(Expert):
    cdef Scaler scaler
    cdef readonly Axis row
    cdef Py_ssize_t span        # latest samples of which the rows are a part
    cdef double *values         # [feature, row] as they came; ABSENT or a GAP
    cdef int64_t added          # samples that were ever learned
    cdef int64_t step           # one in so many samples becomes a row
    cdef int64_t start          # the oldest row

    cdef int thin(self) except -1
    cdef void write(self, const Sample *x, Py_ssize_t row) noexcept
