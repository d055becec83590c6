from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport PROCESSES, Processes
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.mixture.ridge cimport Ridge
from river_okl._core.store.sample cimport Sample

cdef enum:
    ESTIMATES = 3


cdef class Combiner(Expert):
    cdef Processes processes
    cdef Neighbours neighbours
    cdef Regression linear
    cdef Ridge stack
    cdef tuple others                   # further experts whose predictions the stack uses, the neighbours first
    cdef Py_ssize_t n_others            # number of their predictions
    cdef double *log_weight             # [ESTIMATES] of the processes, the linear regression and the stack
    cdef double *weight
    cdef double *residual               # running squared residuals

    cdef void mix(self, double linear, double *mean, double *variance) noexcept
    cdef void count(self, const double *weight, double *out) noexcept
    cdef void score(self, const Outcome *y, const double *estimates, double least_rate) noexcept
    cdef void fill(self, const double *p) noexcept
