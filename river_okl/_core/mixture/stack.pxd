from river_okl._core.mixture.expert cimport Expert
from river_okl._core.mixture.judgement cimport Judgement
from river_okl._core.mixture.ridge cimport Ridge


cdef class Stack(Expert):
    # Coefficients beyond the mixture's weights, and their covariance.
    cdef Judgement judgement        # whose weights of the experts it corrects
    cdef Py_ssize_t of_many         # number of inputs with more than two classes
    cdef Ridge ridge                # on the log-odds of the others and a constant, or on log-probabilities
    # scratch: the last sample
    cdef double *log_chances        # [class, of_many] with many classes
    cdef double *mean               # [of_many]
    cdef double *off                # [of_many]

    cdef void ask_two(self, double *p) noexcept
    cdef void ask_many(self, double *p) noexcept
    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept
    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept
