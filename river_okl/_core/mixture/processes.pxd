from libc.stdint cimport int32_t

from river_okl._core.kernel.distances cimport Dictionary, Distances
from river_okl._core.loops cimport METRICS
from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.points cimport Points
from river_okl._core.store.sample cimport Sample

cdef enum:
    KERNELS = 3
    POSTERIORS = 2
    PROCESSES = 6                       # KERNELS · POSTERIORS


cdef class Processes(Expert):
    cdef readonly Points points
    cdef readonly Distances distances
    cdef readonly str task              # "regression", "binary", "multiclass"
    cdef readonly double jitter         # of every K, as a multiple of κ(z, z)
    cdef double novel                   # minimum ALD residual of a new point, as a multiple of κ(x, x)
    cdef readonly double least_kept     # minimum share of the evidence that is kept when a kernel changes
    cdef readonly Py_ssize_t columns    # of targets: 1, or the number of classes if there are more than two
    cdef list kernels                   # [KERNELS]
    cdef list bases                     # [KERNELS]
    cdef list posteriors                # [PROCESSES], grouped by kernel
    cdef double *scale                  # [KERNELS] m
    cdef int32_t *metric                # [KERNELS]
    cdef double *inverse_temperature    # [PROCESSES] κ of softmax(κ m) if there are more than two classes
    cdef double *curvature              # [PROCESSES]
    cdef readonly Py_ssize_t max_points  # maximum number of points in the dictionary
    cdef readonly Py_ssize_t n
    cdef int32_t *position              # [max_points + 1] of the dictionary's points; -1: a sample not stored yet
    cdef int32_t *member                # [point] its number in the dictionary, or -1

    # scratch: the last sample
    cdef bint predicted                 # whether the posteriors have already predicted it (batch.pyx)
    cdef double *squares[METRICS]       # of the dictionary
    cdef double *dots[METRICS]
    cdef double *k[KERNELS]
    cdef double *alpha
    cdef double *work
    # while kernels change: Gram matrices before and after, and dot products under every metric, in one buffer
    cdef double *matrices
    cdef double *before[KERNELS]
    cdef double *after[KERNELS]
    cdef double *products[METRICS]

    cdef list new_posteriors(self, str task, Py_ssize_t columns)
    # A sample
    cdef Dictionary dictionary(self) noexcept
    cdef bint has_metric(self, int m) noexcept
    cdef int fill_rows(self, double *self_similarity) except -1
    cdef void predict(self, const double *weight, const double *residual, double *mean, double *variance) noexcept
    cdef void score(
        self, double target, const double *mean, const double *variance, double *scale, double *density,
        double least_rate
    ) noexcept
    # Adding and removing points
    cdef Py_ssize_t least(self, const double *weight) noexcept
    # Kernels
    cdef int reserve_dictionary(self, Py_ssize_t n) except -1
    cdef int reserve_grams(self) except -1
    cdef void free_grams(self) noexcept
    cdef int fill_grams(self, double **grams) except -1
    cdef bint move(self, const double *share, const double *residual, Py_ssize_t *to, Py_ssize_t *of) except -1
    cdef int exchange(self, double share) except -1
    # Explanations
    cdef double norm2(self, const double *weight) noexcept
