from libc.stdint cimport int32_t, int64_t

from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Feature, Scaler
from river_okl._core.store.table cimport Axis, Table


cdef class RawValues(Table):
    cdef Scaler scaler
    cdef Axis row, column
    cdef double *values         # [column, row] as they came, or UNKNOWN
    cdef int32_t *place         # [column] of its feature, or FREE
    cdef int64_t *left          # [column] rows until no row needs it, once the unit has settled

    cdef bint follows(self, int32_t place) noexcept
    cdef Py_ssize_t column_at(self, int32_t place) noexcept
    cdef int make_room(self, const Sample *x, Py_ssize_t limit) except -1
    cdef void write(self, const Sample *x, Py_ssize_t slot) noexcept
