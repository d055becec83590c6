cimport cython
from libc.stdint cimport int32_t, int64_t

from river_okl._core.store.features cimport Features
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis

cdef enum:
    LANES = 8                   # doubles in the widest vector: capacities are multiples of it
    SPARSE_BELOW = 8            # a feature present in fewer than capacity / 8 points is a posting list
    MAX_POINTS = 2147483647     # positions are 32-bit in posting lists


cdef struct Column:
    # The values of a feature.
    Py_ssize_t count            # points that have it
    void *dense                 # Z[j, :], of doubles or floats, or NULL for a posting list:
    int32_t *owners             # the points that have it, unordered
    double *amounts             # the values of the owners
    Py_ssize_t allocated
    Py_ssize_t rank             # position in the list of dense features, for its removal


cdef struct Owned:
    # The posting lists of a point.
    int32_t *places
    int32_t size, allocated


@cython.final
cdef class Points(Axis):
    # Other modules may read all attributes, but change points only through the methods below.
    cdef readonly object max_points  # maximum number of points; None: no limit
    cdef readonly bint single       # dense rows are in single precision
    cdef Py_ssize_t item            # bytes of a number in them
    cdef Py_ssize_t limit
    cdef double *square             # [capacity]
    cdef double *sparse_square      # [capacity]
    cdef bint sparse_square_stale
    cdef int64_t *birth             # [capacity]
    cdef readonly int64_t born      # number of points ever added
    cdef Owned *owned               # [capacity]

    cdef readonly Features features
    cdef Column *columns            # [columns_allocated] by the places of the features
    cdef Py_ssize_t columns_allocated
    cdef int32_t *dense             # [columns_allocated] places of the features with dense rows
    cdef Py_ssize_t n_dense
    cdef Py_ssize_t n_posted        # number of posting lists that are not empty
    cdef list emptied               # places of features that have lost their last point in this step

    # Reading
    cdef Py_ssize_t padded(self) noexcept nogil
    cdef int check_position(self, Py_ssize_t i) except -1
    cpdef Py_ssize_t oldest(self) except -1
    # Adding and removing points
    cdef Py_ssize_t next_capacity(self) noexcept
    cdef int grow(self, Py_ssize_t capacity) except -1
    cdef int reserve(self) except -1
    cdef int reserve_columns(self) except -1
    cdef int store(self, Sample *x) except -1
    cdef int write(self, const Sample *x, const double *values, double square) except -1
    cdef int drop(self, Py_ssize_t p) except -1
    cdef int convert(self, int32_t place, double ratio, double shift, double bound) except -1
    cdef void measure(self) noexcept
    cdef int tidy(self) except -1
    # Implementation
    cdef int add_post(self, Owned *own, int32_t place) except -1
    cdef int make_dense(self, int32_t place) except -1
    cdef int take_out(self, const int32_t *converted, Py_ssize_t n) except -1
    cdef int make_sparse(self, int32_t place) except -1
    cdef void leave_dense(self, int32_t place) noexcept
    cdef void settle_sparse_squares(self) noexcept
    # State
    cdef dict state(self)
    cdef object row_of(self, Py_ssize_t place, Py_ssize_t n)
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


cdef inline Py_ssize_t post_of(const Column *column, Py_ssize_t i) noexcept nogil:
    """Return the position of point i in a posting list, or -1."""
    cdef Py_ssize_t k
    if column.dense == NULL:
        for k in range(column.count):
            if column.owners[k] == i:
                return k
    return -1


cdef inline void scatter(const Column *column, double v, double *dots) noexcept nogil:
    """Add v · Z[j, :], stored as a posting list, to the dot products."""
    cdef Py_ssize_t k
    for k in range(column.count):
        dots[column.owners[k]] += v * column.amounts[k]
