from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.scaler cimport Scaler


cdef class Bayes(Expert):
    cdef readonly Scaler scaler
    cdef double *counts                 # [class] samples
    # of each feature's values in each class, [feature, class]:
    cdef double *seen                   # number of values, at most VALUES_MEMORY; for a string, of samples with it
    cdef double *mean
    cdef double *variance
    # for prediction, once there are more than two classes
    cdef double *log_counts             # [class] log(counts + 1)
    cdef double *log_absent             # [class] logarithm of the share of a string not seen with the class
    cdef double *smoothed               # [feature, class] the variance, prior included
    cdef double *log_smoothed           # [feature, class] its logarithm
    cdef double *fit                    # κ, and the running curvature of its log-likelihood
    # scratch: the last sample
    cdef double *score                  # [class] log p(x, c)

    cdef void take_logs(self, Py_ssize_t c) noexcept
    cdef void smooth(self, Py_ssize_t place, Py_ssize_t c) noexcept
