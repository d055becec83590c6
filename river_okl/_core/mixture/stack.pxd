from river_okl._core.mixture.expert cimport Expert
from river_okl._core.mixture.judgement cimport Judgement


cdef class Stack(Expert):
    # Coefficients beyond the mixture's weights, and their covariance.
    cdef Judgement judgement        # whose weights of the experts it corrects
    cdef Py_ssize_t n               # number of inputs: log-odds of the others and a constant, or log-probabilities
    cdef Py_ssize_t of_many         # number of inputs with more than two classes
    cdef Py_ssize_t room            # maximum number of inputs
    cdef double *coefficients       # [room]
    cdef double *covariance         # [room, room], the lower triangle
    # scratch: the last sample
    cdef double *log_odds           # [room] with two classes
    cdef double *log_chances        # [class, room] with many
    cdef double *h                  # [room] the covariance times the inputs
    cdef double *mean               # [room]
    cdef double *off                # [room]

    cdef void restart(self, Py_ssize_t n) noexcept
    cdef void ask_two(self, double *p) noexcept
    cdef void ask_many(self, double *p) noexcept
    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept
    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept
