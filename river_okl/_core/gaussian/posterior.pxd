from libc.stdint cimport int32_t

from river_okl._core.linalg cimport Triangle
from river_okl._core.store.buffers cimport Owner

cdef double JITTER, SMALLEST_FACTOR


cdef class Basis(Owner):
    # K⁻¹ of the points of a dictionary under one kernel, as RᵀR.
    cdef readonly Py_ssize_t n, capacity
    cdef readonly double jitter     # ε, a multiple of κ(z, z)
    cdef double *factor             # [capacity, capacity] R, lower triangular; all else is 0
    cdef int32_t *order             # [capacity] position of the point of each row
    cdef double *q                  # [capacity] K⁻¹ k(x), scratch of the last sample, as all below
    cdef double *ordered            # [capacity] a vector in the order of the rows; 0 from n on
    cdef double *half               # [capacity] R times it
    cdef double *solution           # [capacity] RᵀR times it
    cdef double *diagonal           # [capacity] K⁻¹_ii, scratch of ``add_losses``
    cdef double *products           # [3, capacity, capacity] scratch of ``add_losses`` for many columns
    cdef double self_similarity     # κ(x, x) of the last sample, with the jitter
    cdef double ald_residual        # γ of the last sample

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int reserve_products(self) except -1
    cdef void find_diagonal(self) noexcept nogil
    cdef void add_losses(
        self, const double *means, Py_ssize_t columns, double weight, double *alpha, double *out
    ) noexcept
    cdef void project(self, const double *k, double self_similarity) noexcept nogil
    cdef double at_least_jitter(self, double residual, double self_similarity) noexcept nogil
    cdef double novelty(self) noexcept nogil
    cdef void add(self) noexcept nogil
    cdef void remove(self, Py_ssize_t i) noexcept nogil
    cdef object rows(self)
    cdef void rebuild(self, const double *gram) noexcept nogil
    cdef void solve(self, const double *values, double *out) noexcept nogil


cdef class Posterior(Owner):
    # The posterior of f at the points of a dictionary.
    cdef readonly Basis basis
    cdef readonly double prior_variance, forgetting
    cdef readonly double noise      # σ²
    cdef readonly bint numeric          # whether targets are numbers, and no indices of classes
    cdef readonly Py_ssize_t columns
    cdef double *means              # [columns, capacity] μ
    cdef Triangle covariance        # C
    cdef double factor              # f
    cdef double resolved            # least b v, without a new point, at which S is updated
    cdef double *h                  # [capacity + 1] Cov(f(Z), f(x)) of the last sample; scratch, as all below
    cdef double *mean               # [columns] E f(x)
    # the step of the means, deferred to the next ``predict``, which reads all means: μ ← shrink μ + step was_h
    cdef bint waits
    cdef double shrink
    cdef double *step               # [columns] c
    cdef double *was_h              # [capacity + 1]
    cdef double variance            # Var f(x)

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int add_column(self) except -1
    cdef int permute(self, list order) except -1
    cdef void predict(self, const double *k) noexcept nogil
    cdef void predict_variance(self) noexcept nogil
    cdef void forget(self, const double *k) noexcept nogil
    cdef void fold(self, const double *gram) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void answer(self, double inverse_temperature, double *p) noexcept nogil
    cdef double likelihood(self, double target, double w) noexcept nogil
    cdef void learn(self, double b, const double *k, bint add) noexcept nogil
    cdef void remove(self, Py_ssize_t i) noexcept nogil
    cdef void add_losses(self, double weight, double *alpha, double *out) noexcept
    cdef object read_means(self)
    cdef void restart(self, const double *gram) noexcept nogil
    cdef void exchange(self, const double *before, const double *after, double keep) noexcept nogil
    cdef void take_over(self, Posterior other) noexcept nogil
    cdef void to_multiclass(self, Posterior old, const double *gram) noexcept


cpdef double normal(double z) noexcept nogil
