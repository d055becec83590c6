from river_okl._core.mixture.expert cimport Expert


cdef class Stack(Expert):
    # Coefficients beyond the mixture's weights, and their covariance.
    cdef const double *weight       # of the experts, the mixture's
    cdef Py_ssize_t n_classes, of_many
    cdef Py_ssize_t n               # inputs: log-odds of the others and a constant, or their log-probabilities
    cdef double *coefficients       # [n]
    cdef double *covariance         # [n, n], the lower triangle
    # scratch: the last sample
    cdef double *log_odds           # [n] with two classes
    cdef double *log_chances        # [n_classes, n] with many
    cdef double *h                  # [n] the covariance times these
    cdef double *mean               # [n]
    cdef double *off                # [n]
    # what ``restart`` moves into
    cdef Py_ssize_t next_n
    cdef double *next_covariance
    cdef double *next_numbers

    cdef int reserve_inputs(self, Py_ssize_t n) except -1
    cdef void restart(self) noexcept
    cdef void ask_again(self, double *p) noexcept
    cdef void ask_two(self, double *p, const double *weight) noexcept
    cdef void ask_many(self, double *p, const double *weight) noexcept
    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept
    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept
