from libc.stdint cimport int32_t, int64_t

from river_okl._core.loops cimport METRICS
from river_okl._core.store.points cimport Column, Points
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Table


cdef enum:                  # metrics
    RELEVANT = 0            # p = 1, until trees show the relevance of features
    EQUAL = 1               # p = 0
    HALF = 2                # p = ½
    FULL = 3                # p = 1


cdef struct Dictionary:
    # The dictionary of the Gaussian processes, and its dot products with the sample measured last.
    Py_ssize_t n
    int32_t *position       # [n] position of member r among the points
    int32_t *member         # r of each point; -1: not in the dictionary
    double *dots[METRICS]   # [n]


cdef class Distances(Table):
    cdef readonly Points points
    cdef readonly Scaler scaler
    cdef int first                  # metrics below it are measured to the dictionary only
    cdef double *weights[METRICS]   # [feature] w_j²
    cdef double *slopes             # [feature] Σ (∂f/∂x_j)² since the last update of the weights
    cdef double *slope_counts       # [feature]
    cdef double *differences        # [feature] Σ (x_j - x'_j)² of consecutive samples
    cdef double *squares            # [feature] Σ x_j²
    cdef double *previous           # [feature] the last sample learned
    cdef bint learned               # whether the weights have been updated
    cdef double samples             # number of samples in the sums
    cdef double *square[METRICS]    # [point] ‖z_i‖²
    cdef int32_t *previous_places
    cdef Py_ssize_t previous_size, previous_allocated
    # scratch: the sample measured last
    cdef double *dots[METRICS]      # [point] x · z_i, from the metric ``first`` on
    cdef double own[METRICS]        # ‖x‖²
    cdef const void **pointers      # dense rows, of doubles or of floats; then those of the copies, if gathered
    cdef double *numbers
    cdef int64_t *order             # sort keys: place and index of each dense feature of the sample
    cdef int32_t *dense_places
    cdef int32_t *ranked_places     # the places that ``rank`` was computed for
    cdef int32_t *rank              # rank of each dense feature by place
    cdef Py_ssize_t n_ranked
    cdef Py_ssize_t items_allocated
    cdef double **gathered          # [place] of ``copies``; NULL: the dictionary is not gathered
    cdef double *copies

    cdef int measure(self, const Sample *x, Dictionary *dictionary, bint to_points) except -1
    cdef int gather(self, Dictionary dictionary) except -1
    cdef void ungather(self) noexcept
    cdef void rank_dense(self, Py_ssize_t n) noexcept
    cdef void scatter(self, const Column *column, const double *v, Dictionary *dictionary, bint to_points) noexcept
    cdef void point_added(self) noexcept
    cdef int observe(self, const Sample *x) except -1
    cdef double to_previous(self, const Sample *x) noexcept
    cdef double mean_distance(self, int m) noexcept
    cdef double mean_square(self, int m) noexcept
    cdef void add_slope(self, Py_ssize_t place, double slope) noexcept
    cdef double sum_slopes(self) noexcept
    cdef void learn(self) noexcept
    cdef bint are_equal(self, int m, int other) noexcept
    cdef void square_points(self) noexcept
