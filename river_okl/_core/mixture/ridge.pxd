from river_okl._core.store.table cimport Table


cdef class Ridge(Table):
    cdef readonly Py_ssize_t size   # maximum number of inputs
    cdef readonly double prior
    cdef double drift
    cdef double *coef
    cdef double *covariance         # [size, size], the lower triangle
    # scratch: the last sample
    cdef Py_ssize_t n
    cdef double *inputs
    cdef double *h                  # the covariance times the inputs
    cdef double mean

    cdef void restart(self, Py_ssize_t i) noexcept
    cdef void ask(self, Py_ssize_t n) noexcept
    cdef void rescale_coefficients(self, const double *factors) noexcept
    cdef void learn(self, double residual, double noise) noexcept
