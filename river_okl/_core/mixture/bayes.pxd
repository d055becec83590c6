from river_okl._core.mixture.expert cimport Expert
from river_okl._core.scaler cimport Scaler


cdef struct Gaussian:
    double count            # of the values that it is known from
    double mean, variance
    double smoothed, log_smoothed   # its variance with the prior's; unset while count is 0


cdef class Bayes(Expert):
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
