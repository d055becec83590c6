from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from river_okl._core.kernel cimport Kernel
from river_okl._core.rows cimport TILE
from river_okl._core.sample cimport Frame, Sample


cdef struct Feature:
    PyObject *key               # borrowed from the vocabulary; NULL: the slot is free
    Py_ssize_t count            # support vectors that have it
    double *dense               # Z[j, :], or NULL where it is a posting list:
    int32_t *owners             #   the support vectors that have it, in no order
    double *amounts             #   and their values
    Py_ssize_t allocated
    Py_ssize_t rank             # where it stands in the list of dense features, for its removal


cdef struct Owned:
    # The posting lists that a support vector is in.
    int32_t *slots
    Py_ssize_t size, allocated


cdef struct Tile:
    # TILE samples that are evaluated together.
    double *numbers[TILE]   # for the dense features
    double *dots[TILE]      # dot products with posting lists; then squared distances
    double squares[TILE]
    double rests[TILE]      # the squares of what is not in the dense features


cdef class Points:
    cdef readonly Kernel kernel
    cdef readonly object budget
    cdef readonly bint spare

    cdef Py_ssize_t n, capacity
    cdef double *square
    cdef double *sparse_square
    cdef bint sparse_square_stale
    cdef double *self_
    cdef int64_t *birth
    cdef int64_t born               # points that ever joined
    cdef Owned *owned               # [capacity]

    cdef dict vocabulary            # feature name -> slot
    cdef Feature *features
    cdef Py_ssize_t n_features      # slots that are not free: the size of the vocabulary
    cdef Py_ssize_t n_slots, slots_allocated
    cdef int32_t *dense_slots
    cdef Py_ssize_t n_dense
    cdef list free_slots
    cdef list emptied               # slots of features that no support vector has any more, until they are forgotten
    cdef Py_ssize_t version         # changes of the vocabulary

    # scratch: the last sample and its kernel row; never pickled
    cdef Sample samples[2]
    cdef int last                   # which of the two is the last sample
    cdef bint has_sample, row_fresh # row_fresh: no support vector came or went since it was computed
    cdef double *dots
    cdef double *row_
    cdef double *other_row          # of a support vector
    cdef const double **pointers    # dense rows of the features of a sample, and its numbers
    cdef double *numbers
    cdef Py_ssize_t items_allocated
    cdef public bint memo           # tests switch the memo off
    cdef bint busy
    cdef unsigned long busy_thread, learner

    cdef int start(self, tuple kernel, budget, bint spare) except -1
    cdef int enter(self) except -1
    cdef int reserve_items(self, Py_ssize_t size) except -1
    cdef int look_up(self, Sample *x, Py_ssize_t i, object key) except -1
    cdef int refresh_slots(self, Sample *x) except -1
    cdef void date_slots(self, Sample *x) noexcept
    cdef int encode(self, object sample, Sample *x) except -1
    cdef bint same(self, Sample *a, Sample *b) noexcept
    cdef Py_ssize_t padded(self) noexcept nogil
    cdef void compute_row(self, Sample *x, double *out) noexcept nogil
    cdef bint by_distances(self, Sample *x) noexcept nogil
    cdef void lay_out_dense(self) noexcept nogil
    cdef void clear_dots(self, double *dots) noexcept nogil
    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil
    cdef void start_distances(self, double rest, double *dots) noexcept nogil
    cdef void finish_row(self, double rest, double square, double *out) noexcept nogil
    cdef void settle_sparse_squares(self) noexcept
    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil
    cdef int compute_row_of(self, Py_ssize_t p, double *out) except -1
    cdef void row_of_point(self, Py_ssize_t p, double *out) noexcept nogil
    cdef object make_tile(self, Tile *tile)
    cdef void finish_tile(self, Tile *tile) noexcept nogil
    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil
    cdef bint look_at(self, object sample) except -1
    cdef Sample *learned_sample(self) except NULL
    cdef int check_position(self, Py_ssize_t i) except -1
    cpdef Py_ssize_t oldest(self) except -1
    cdef Py_ssize_t more_room(self) except -1
    cdef int grow_points(self, Py_ssize_t capacity) except -1
    cdef int32_t new_slot(self, object key) except -1
    cdef int append_slot(self) except -1
    cdef int occupy(self, int32_t slot, object key) except -1
    cdef int store_point(self, Sample *x) except -1
    cdef int make_room(self, Sample *x, Owned *own) except -1
    cdef int reserve_posts(self, Owned *own, Py_ssize_t size) except -1
    cdef int put_in(self, Owned *own, int32_t slot) except -1
    cdef int make_dense(self, int32_t slot) except -1
    cdef int make_sparse(self, int32_t slot) except -1
    cdef void leave_dense(self, int32_t slot) noexcept
    cdef int forget_emptied(self) except -1
    cdef int drop_feature(self, int32_t slot) except -1
    cdef int drop_point(self, Py_ssize_t p) except -1
    cdef dict points_state(self)
    cdef int restore_points(self, dict state, dict checked) except -1
    cdef dict checked_points(self, dict state)
    cdef tuple check_points(self)


cdef copy_array(const double *a, Py_ssize_t n)
cdef int fill(void *target, bytes data, Py_ssize_t size) except -1
cdef void take_row(Sample *x, Frame frame, Py_ssize_t i) noexcept nogil
