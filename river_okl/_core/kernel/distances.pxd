from libc.stdint cimport int32_t, int64_t

from river_okl._core.loops cimport METRICS
from river_okl._core.store.memory cimport Owner
from river_okl._core.store.points cimport Feature, Points
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler


cdef struct Dictionary:
    # The points of the processes, and their dot products with the sample measured last.
    Py_ssize_t n
    int32_t *position       # [n] of the r-th among the points
    int32_t *member         # r of each point, or -1
    double *dots[METRICS]   # [n]


cdef class Distances(Owner):
    cdef readonly Points points
    cdef readonly Scaler scaler
    cdef int first                  # metrics before it measure only the dictionary
    # of features, by their place in the scaler
    cdef Py_ssize_t places          # allocated
    cdef double *weights[METRICS]   # w_j²
    cdef double *slopes             # Σ (∂f/∂x_j)² since the weights were learned last
    cdef double *slope_counts
    cdef double *evidence           # Σ s_j of neighbours.pyx, halved when the weights are learned
    cdef double *evidence_squares   # Σ s_j²
    cdef double *differences        # Σ (x_j - x'_j)² of consecutive samples
    cdef double *squares            # Σ x_j²
    cdef double *previous           # the last sample learned
    cdef readonly bint learned      # whether the weights have left 1
    cdef double samples             # that the sums are of
    cdef int32_t *previous_places
    cdef Py_ssize_t previous_size, previous_allocated
    # of the points' features, by their slot
    cdef Py_ssize_t slots           # allocated
    cdef int32_t *place_of_slot     # of the feature in the scaler; -1: it never learned it
    # of points
    cdef Py_ssize_t capacity
    cdef double *square[METRICS]    # ‖z_i‖²
    # scratch: the sample measured last
    cdef double *dots[METRICS]      # x · z_i, from the metric ``first`` on
    cdef double own[METRICS]        # ‖x‖²
    cdef const void **pointers      # dense rows, of doubles or of floats
    cdef double *numbers
    cdef int64_t *order             # sort keys: place and index of each dense feature of the sample
    cdef int32_t *dense_places
    cdef int32_t *ranked_places     # those that ``rank`` belongs to
    cdef int32_t *rank              # of each dense feature among them, by place
    cdef Py_ssize_t n_ranked
    cdef Py_ssize_t items_allocated

    cdef int reserve_places(self, Py_ssize_t size) except -1
    cdef int reserve_points(self) except -1
    cdef int measure(self, const Sample *x, Dictionary *dictionary) except -1
    cdef void rank_dense(self, Py_ssize_t n) noexcept
    cdef void scatter(self, const Feature *feature, const double *v, Dictionary *dictionary) noexcept
    cdef void add_evidence(self, Py_ssize_t place, double s) noexcept
    cdef void stored(self, const Sample *x) noexcept
    cdef void dropped(self, Py_ssize_t i) noexcept
    cdef int reserve_slots(self) except -1
    cdef int observe(self, const Sample *x) except -1
    cdef double to_previous(self, const Sample *x) noexcept
    cdef double mean_distance(self, int m) noexcept
    cdef double mean_square(self, int m) noexcept
    cdef void add_slope(self, Py_ssize_t place, double slope) noexcept
    cdef double sum_slopes(self) noexcept
    cdef void learn(self) noexcept
    cdef void square_points(self) noexcept
    cdef void forget(self, list places) noexcept
