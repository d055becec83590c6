from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport PROCESSES, Processes
from river_okl._core.store.memory cimport Owner
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler

cdef enum:
    LINEAR_INPUTS = 64              # a constant, and the first features that the scaler counts
    # the processes' means, the linear one, a constant, the nearest points' mean, and the trees'
    STACK_INPUTS = PROCESSES + 4
    ESTIMATES = 3


cdef class Ridge(Owner):
    cdef Py_ssize_t room            # of inputs
    cdef double prior
    cdef double drift
    cdef double *coef
    cdef double *covariance         # [room · room], the lower triangle
    # scratch: the last sample
    cdef Py_ssize_t n
    cdef double *inputs
    cdef double *h                  # the covariance times these
    cdef double mean

    cdef void reset(self, Py_ssize_t i) noexcept
    cdef void ask(self, Py_ssize_t n) noexcept
    cdef void learn(self, double residual, double noise) noexcept
    cdef void copy(self, Ridge other) noexcept


cdef class Combiner(Expert):
    cdef Scaler scaler
    cdef Processes processes
    cdef Neighbours neighbours
    cdef Ridge linear
    cdef Ridge stack
    cdef double log_weight[ESTIMATES]   # the processes', the linear one's, the stack's
    cdef double weight[ESTIMATES]
    cdef double residual[ESTIMATES]     # running squared residuals
    cdef bint silent[ESTIMATES]         # for benchmarks.ablation: estimates without weight

    cdef void mix(self, double *mean, double *variance) noexcept
    cdef void count(self, const double *weight, double *out) noexcept
    cdef void judge(self, const Outcome *y, const double *estimates, double most) noexcept
    cdef void copy(self, Combiner other) noexcept
