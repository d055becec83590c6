from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler


cdef struct Gaussian:
    double count            # of the values that it is known from
    double mean, variance


cdef class Bayes:
    cdef readonly Scaler scaler
    cdef readonly Py_ssize_t n_classes
    cdef Py_ssize_t places              # of features, that there is room for
    cdef Py_ssize_t reserved            # classes that there is room for
    cdef Gaussian **gaussians           # [n_classes][places]
    cdef double *counts                 # [n_classes]
    cdef double inverse_temperature, curvature    # κ, and the running curvature of its log-likelihood
    # scratch: the last sample
    cdef double *score                  # [n_classes] log p(x, c)

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1
    cdef int reserve_places(self) except -1
    cdef void ask(self, const Sample *x, const double *values, double *p) noexcept
    cdef void fit_inverse_temperature(self, Py_ssize_t c, const double *p) noexcept
    cdef void learn(self, const Sample *x, const double *values, Py_ssize_t c, double counts) noexcept
    cdef void forget(self, list places) noexcept
