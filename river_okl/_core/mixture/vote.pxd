from libc.stdint cimport int64_t

from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.ridge cimport Ridge


cdef class Vote(Expert):
    cdef Ridge ridge
    cdef Py_ssize_t n                   # number of the mixture's predictions before the correction
    cdef Py_ssize_t voters
    cdef double *size                   # [n + 1] running absolute errors of these predictions and of the correction
    cdef double *loss                   # [voters] discounted sums of absolute errors
    cdef double *weight                 # [voters]
    cdef int64_t *row                   # [voters] index of a voter's prediction among the mixture's numbers

    cdef void fill(self, const double *p) noexcept
    cdef void correct(self, double *p) noexcept
    cdef double mean(self, const double *p) noexcept
    cdef void score(self, const Outcome *y, double least_rate) noexcept
    cdef double running_error(self) noexcept
    cdef void explain_processes(self, const double *of_mixture, const double *of_stack, double *out) noexcept
