from river_okl._core.mixture.combiner cimport Ridge
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.processes cimport PROCESSES

cdef enum:
    # of the processes, the nearest points, the forest, the last target, the trees on differences, the linear and the
    # stacked regression
    OPINIONS = PROCESSES + 6
    VOTERS = 5


cdef class Vote(Expert):
    cdef Ridge regression
    cdef double size[OPINIONS + 1]      # running absolute errors of the opinions and of the correction
    cdef double loss[VOTERS]            # discounted sums of absolute errors
    cdef double weight[VOTERS]
    cdef Py_ssize_t row[VOTERS]         # of their opinions among the mixture's predictions
    cdef bint silent[OPINIONS + 1]      # for benchmarks.ablation

    cdef void fill(self, const double *said) noexcept
    cdef void correct(self, double *said) noexcept
    cdef double mean(self, const double *said) noexcept
    cdef void judge(self, const Outcome *y, double most) noexcept
    cdef void weigh(self) noexcept
    cdef void copy(self, Vote other) noexcept
    cdef void explain_processes(self, const double *of_mixture, const double *of_stack, double *out) noexcept
