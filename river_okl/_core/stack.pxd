cdef enum:
    STACKED = 12                    # experts, and a constant


cdef class Stack:
    # Coefficients beyond the mixture's weights, and their covariance.
    cdef double coefficients[STACKED]
    cdef double *covariance         # [STACKED · STACKED], the lower triangle
    # scratch: the last sample
    cdef double log_odds[STACKED]   # of the experts, which the stack is a function of
    cdef double h[STACKED]          # the covariance times these

    cdef void ask(self, double *p, const double *weight) noexcept
    cdef void learn(self, Py_ssize_t c, double counts, const double *p) noexcept
