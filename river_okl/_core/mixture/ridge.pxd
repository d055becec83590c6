from river_okl._core.linalg cimport Triangle
from river_okl._core.store.table cimport Axis, Table


cdef class Ridge(Table):
    cdef Axis per_input
    cdef readonly double prior
    cdef double drift
    cdef double *coef               # [input]
    cdef Triangle covariance
    # scratch: the last sample
    cdef double *inputs             # [input]
    cdef double *h                  # [input] the covariance times the inputs
    cdef double mean

    cdef int extend(self, Py_ssize_t n) except -1
    cdef int begin(self, Py_ssize_t n) except -1
    cdef void restart(self, Py_ssize_t i) noexcept
    cdef void ask(self) noexcept
    cdef double absorb(self, const double *inputs, double noise) noexcept
    cdef void let_drift(self) noexcept
    cdef void learn(self, double residual, double noise) noexcept
    cdef void rescale_coefficients(self, const double *factors) noexcept
