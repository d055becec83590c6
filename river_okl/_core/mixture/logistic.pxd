from river_okl._core.inputs cimport INPUTS
from river_okl._core.linalg cimport Triangle
from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler


cdef class Logistic(Expert):
    cdef readonly Scaler scaler
    # for two classes the coefficients are of the second
    cdef double *coef           # [column, INPUTS]
    cdef Triangle covariance    # S; the variance of a coefficient that has not learned yet is 0
    # scratch: the last sample
    cdef double *inputs         # [INPUTS] x
    cdef double *h              # [INPUTS] S x
    cdef double variance        # v = xᵀ S x

    cdef void begin(self, Py_ssize_t i, double prior) noexcept
