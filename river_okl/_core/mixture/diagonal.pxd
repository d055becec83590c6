from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler


cdef class Diagonal(Expert):
    cdef Scaler scaler
    cdef double bias, bias_variance
    cdef double *coef           # [feature]
    cdef double *variance       # [feature] of the coefficients
    cdef double *reach          # [feature] largest |value| that counts
    cdef double residual        # running squared residual
    # scratch: the last sample
    cdef double mean

    cdef double within_reach(self, const Sample *x, Py_ssize_t j) noexcept
    cdef void extend(self, const Sample *x, Py_ssize_t j) noexcept
