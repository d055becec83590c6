cdef enum:
    # thirteen experts and a constant, or fourteen experts where there are more than two classes
    STACKED = 14


cdef class Stack:
    # Coefficients beyond the mixture's weights, and their covariance.
    cdef double coefficients[STACKED]
    cdef double *covariance         # [STACKED · STACKED], the lower triangle
    # scratch: the last sample
    cdef Py_ssize_t n_classes
    cdef double log_odds[STACKED]   # of the experts, which the stack of two classes is a function of
    cdef double *log_chances        # [n_classes · STACKED], that of many
    cdef double h[STACKED]          # the covariance times these

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1
    cdef void ask(self, double *p, const double *weight) noexcept
    cdef void ask_two(self, double *p, const double *weight) noexcept
    cdef void ask_many(self, double *p, const double *weight) noexcept
    cdef void learn(self, Py_ssize_t c, double counts, const double *p) noexcept
    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept
    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept
