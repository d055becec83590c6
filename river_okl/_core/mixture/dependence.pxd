from libc.stdint cimport int8_t

from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.scaler cimport Scaler


cdef class Dependence(Expert):
    cdef Scaler scaler
    # sums over samples, halved at updates of the feature weights:
    cdef double *total              # [3] number, Σ r and Σ r² of all residuals
    cdef float *number              # [feature, BINS] number of residuals
    cdef float *sums                # [feature, BINS] Σ r

    cdef bint is_significant(self, Py_ssize_t place) noexcept
    cdef void judge(self, int8_t *out) noexcept
    cdef void halve(self) noexcept
