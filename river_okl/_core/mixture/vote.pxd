from libc.stdint cimport int64_t

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.mixture.ridge cimport Ridge
from river_okl._core.store.table cimport Table


cdef struct Judged:
    # What a judgement makes of the predictions for a target: the estimate of the combiner's stack, the mixture's
    # correction, and means: of the combiner, of the processes alone, and of the vote.
    double stack, correction, mixed, of_processes, voted


cdef class Vote(Table):
    cdef Ridge ridge
    cdef Py_ssize_t n                   # number of the mixture's predictions before the correction
    cdef Py_ssize_t voters
    cdef double *size                   # [n + 1] running absolute errors of these predictions and of the correction
    cdef double *loss                   # [voters] discounted sums of absolute errors
    cdef double *weight                 # [voters]
    cdef int64_t *row                   # [voters] number of a voter's prediction

    cdef void fill(self, const double *p, const Judged *own) noexcept
    cdef double correct(self, const double *p, const Judged *own) noexcept
    cdef double number(self, const double *p, const Judged *own, Py_ssize_t i) noexcept
    cdef double mean(self, const double *p, const Judged *own) noexcept
    cdef void score(self, const Outcome *y, const double *p, const Judged *own, double least_rate) noexcept
    cdef double running_error(self) noexcept
    cdef void explain_processes(self, const double *of_mixture, const double *of_stack, double *out) noexcept
