from libc.stdint cimport int32_t

from river_okl._core.mixture.expert cimport Expert
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis

cdef enum:
    BINS = 32
    VALUES = 63                     # 2 BINS - 1
    FEATURES = 255                  # maximum number of features


cdef class Additive(Expert):
    cdef Scaler scaler
    cdef readonly Regression base
    cdef Axis per_feature           # the first features of the scaler, at most FEATURES
    cdef int32_t *count             # [feature] number of its values
    cdef float *values              # [feature, VALUES] its first values in order; every second one is an edge
    cdef float *coef                # [feature, BINS]
    cdef float *variance            # [feature, BINS] of the coefficients
    cdef double residual            # running squared residual
    # scratch: the last sample
    cdef int32_t *active            # [n_active] its coefficients
    cdef Py_ssize_t n_active

    cdef Py_ssize_t bin_of(self, int32_t place, double value) noexcept
    cdef void insert(self, int32_t place, double value) noexcept
