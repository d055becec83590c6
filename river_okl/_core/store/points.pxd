cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from river_okl._core.store.memory cimport Owner
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis
from river_okl._core.store.words cimport Words

cdef enum:
    LANES = 8                   # doubles in the widest vector: capacities are multiples of it
    SPARSE_BELOW = 8            # a feature present in fewer than capacity / 8 points is a posting list
    MAX_POINTS = 2147483647     # positions are 32-bit in posting lists


cdef struct Feature:
    PyObject *key               # owned; NULL: the slot is free
    Py_ssize_t count            # points that have it
    void *dense                 # Z[j, :], of doubles or floats, or NULL for a posting list:
    int32_t *owners             # the points that have it, unordered
    double *amounts             # the values of the owners
    Py_ssize_t allocated
    Py_ssize_t rank             # position in the list of dense features, for its removal
    bint emptied                # whether it is in ``emptied``, the list of features that no point has
    Py_ssize_t turn             # value of ``turn`` when a sample with it was last checked


cdef struct Owned:
    # The posting lists of a point.
    int32_t *slots
    int32_t size, allocated


@cython.final
cdef class Points(Owner):
    # Other modules may read all attributes, but change points only through the methods below.
    cdef readonly object max_points  # maximum number of points; None: no limit
    cdef readonly bint single       # dense rows are in single precision
    cdef Py_ssize_t item            # bytes of a number in them
    cdef Py_ssize_t n, capacity, limit
    cdef double *square             # [capacity]
    cdef double *sparse_square      # [capacity]
    cdef bint sparse_square_stale
    cdef int64_t *birth             # [capacity]
    cdef int64_t born               # number of points ever added
    cdef Owned *owned               # [capacity]

    cdef dict vocabulary            # feature name -> slot
    cdef bint strings               # all names are strings: looking up a string runs no Python code
    cdef Words words                # None: samples have numbers only
    cdef Feature *features
    cdef Py_ssize_t n_features      # slots in use: the size of the vocabulary
    cdef Py_ssize_t n_slots, slots_allocated
    cdef int32_t *dense_slots
    cdef Py_ssize_t n_dense
    cdef list free_slots
    # [slots_allocated] slots of features that no point has, until they are forgotten
    cdef int32_t *emptied
    cdef Py_ssize_t n_emptied
    cdef Py_ssize_t turn            # number of samples that were checked
    cdef Py_ssize_t version         # number of changes of the vocabulary

    # Names
    cdef int look_up(self, Sample *x, Py_ssize_t i, object key) except -1
    cdef int check_distinct(self, const Sample *x) except -1
    cdef int32_t slot_of(self, object key) except -2
    cdef int refresh_slots(self, Sample *x) except -1
    cdef void date_slots(self, Sample *x) noexcept
    # Reading
    cdef Axis axis(self)
    cdef Py_ssize_t padded(self) noexcept nogil
    cdef int check_position(self, Py_ssize_t i) except -1
    cpdef Py_ssize_t oldest(self) except -1
    # Adding and removing points
    cdef Py_ssize_t next_capacity(self) noexcept
    cdef int grow(self, Py_ssize_t capacity) except -1
    cdef int store(self, Sample *x) except -1
    cdef int expect(self, Sample *x, const double *values) except -1
    cdef int write(self, const Sample *x, const double *values, double square) except -1
    cdef int drop(self, Py_ssize_t p) except -1
    cdef int convert(self, int32_t slot, double ratio, double shift, double bound) except -1
    cdef void measure(self) noexcept
    cdef int forget_emptied(self) except -1
    # Implementation
    cdef int32_t new_slot(self, object key) except -1
    cdef int append_slot(self) except -1
    cdef int occupy(self, int32_t slot, object key) except -1
    cdef void list_emptied(self, int32_t slot) noexcept
    cdef int add_post(self, Owned *own, int32_t slot) except -1
    cdef int make_dense(self, int32_t slot) except -1
    cdef int take_out(self, const int32_t *converted, Py_ssize_t n) except -1
    cdef int make_sparse(self, int32_t slot) except -1
    cdef void leave_dense(self, int32_t slot) noexcept
    cdef int drop_feature(self, int32_t slot) except -1
    cdef void settle_sparse_squares(self) noexcept
    # State
    cdef dict state(self)
    cdef int restore(self, dict state) except -1
    cdef list check(self)


cdef inline double value_at(const void *row, Py_ssize_t i, bint single) noexcept nogil:
    """Return number i of a dense row."""
    return (<const float *> row)[i] if single else (<const double *> row)[i]


cdef inline void set_value(void *row, Py_ssize_t i, bint single, double value) noexcept nogil:
    if single:
        (<float *> row)[i] = <float> value
    else:
        (<double *> row)[i] = value


cdef inline Py_ssize_t find(const int32_t *items, int32_t item) noexcept nogil:
    """Return the position of an item, which must exist."""
    cdef Py_ssize_t k = 0
    while items[k] != item:
        k += 1
    return k


cdef inline void scatter(const Feature *feature, double v, double *dots) noexcept nogil:
    """Add v · Z[feature, :], stored as a posting list, to the dot products."""
    cdef Py_ssize_t k
    for k in range(feature.count):
        dots[feature.owners[k]] += v * feature.amounts[k]
