from river_okl._core.mixture.expert cimport Expert
from river_okl._core.scaler cimport Scaler


cdef enum:                  # of a normal distribution:
    COUNT                   # of the values that it is known from
    MEAN
    VARIANCE
    SMOOTHED                # its variance with the prior's, and the logarithm, ...
    LOG_SMOOTHED            # ... which two classes do without
    NUMBERS


cdef class Bayes(Expert):
    cdef readonly Scaler scaler
    cdef readonly Py_ssize_t n_classes
    cdef Py_ssize_t places              # of features, that there is room for
    cdef Py_ssize_t room                # classes that there is room for
    cdef double *gaussians              # [places, NUMBERS, room]
    cdef double *counts                 # [room]
    cdef double *log_counts             # [room] with one sample more, ...
    cdef double *log_absent             # [room] ... and of the share of a string that never came with the class
    cdef double inverse_temperature, curvature    # κ, and the running curvature of its log-likelihood
    # scratch: the last sample
    cdef double *score                  # [room] log p(x, c)

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1
    cdef void take_logs(self, Py_ssize_t c) noexcept
    cdef void begin(self, Py_ssize_t place, Py_ssize_t first) noexcept
    cdef void smooth(self, Py_ssize_t place, Py_ssize_t c) noexcept
