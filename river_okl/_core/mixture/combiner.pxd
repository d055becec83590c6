from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.mixture.processes cimport PROCESSES, Processes
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.mixture.ridge cimport Ridge
from river_okl._core.store.table cimport Table

cdef enum:
    ESTIMATES = 3


cdef class Combiner(Table):
    cdef Processes processes
    cdef Regression linear
    cdef Ridge stack
    cdef Py_ssize_t first_other, n_others   # further predictions that the stack uses
    cdef double *log_weight             # [ESTIMATES] of the processes, the linear regression and the stack
    cdef double *weight
    cdef double *residual               # running squared residuals

    cdef void mix(self, double linear, double *mean, double *variance) noexcept
    cdef void count(self, const double *weight, double *out) noexcept
    cdef double ask_stack(self, const double *p) noexcept
    cdef void score(self, const Outcome *y, const double *p, const double *estimates, double least_rate) noexcept
    cdef void rescale(self, double ratio, double shift) noexcept
