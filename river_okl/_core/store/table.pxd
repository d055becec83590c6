cimport cython
from cpython.object cimport PyObject

from river_okl._core.store.memory cimport Owner


cdef enum:
    MAX_AXES = 3


cdef class Axis:
    # A dimension of arrays: its items are points, features or classes.
    cdef readonly str name          # "point", "feature" or "class"
    cdef public Py_ssize_t n        # number of items, unless another object counts them
    cdef readonly Py_ssize_t room   # number of items that the arrays have room for
    cdef Py_ssize_t min_room        # minimum room, if there is any
    cdef Py_ssize_t growth_eighths  # eighths of the room that are added when it is full, unless more is needed
    cdef object owner               # of the two numbers below, if another object counts the items
    cdef const Py_ssize_t *length   # number of items
    cdef const Py_ssize_t *needed   # number of items that room is needed for

    cdef bint is_full(self) noexcept


@cython.final
cdef class Classes(Axis):
    cdef readonly double split      # 0: one item per class; else two classes share one, until a third (table.pyx)

    cdef Py_ssize_t after(self) noexcept


@cython.final
cdef class Array:
    # A declaration.  Tables with equal declarations share it; it is never freed.
    cdef readonly str name          # in a state; None: a derived or scratch array
    cdef Py_ssize_t axes[MAX_AXES]  # a fixed length, or -1 - i for axis i of the table
    cdef Py_ssize_t n_axes
    cdef readonly object dtype
    cdef readonly double low, high
    cdef readonly str merge
    cdef readonly int power         # power of the target's unit in which its values are
    cdef readonly int of_feature    # power of the unit of the feature that they are of
    cdef bint triangle, scratch
    cdef Py_ssize_t offset          # in the table: of the pointer to the buffer, or of the number itself
    cdef Py_ssize_t item            # bytes of a cell
    cdef char blank[8]              # default value of a cell
    cdef bint zero                  # whether the default is 0

    cdef void clear(self, char *cells, Py_ssize_t n) noexcept


cdef class Table(Owner):
    cdef tuple axes
    cdef PyObject **declared        # [n_declared] arrays
    cdef Py_ssize_t n_declared
    cdef dict parts                 # contained tables, by name; None: there are none

    cdef int check_new(self, str name) except -1
    cdef Py_ssize_t room(self, Py_ssize_t axis) noexcept
    cdef bint strides(self, Array array, Axis axis, Py_ssize_t *before, Py_ssize_t *after) noexcept
    cdef void **pointer(self, Array array) noexcept
    cdef char *start(self, Array array) noexcept
    cdef object buffer(self, Array array)
    cdef object cells(self, Array array)
    cdef object saved(self, Array array)
    cdef int check_saved(self, Array array, dict state) except -1
    cpdef void discard(self, size_t address) noexcept
    cpdef int reserve(self) except -1
    cpdef int grow(self, Axis axis, Py_ssize_t n) except -1
    cpdef void reset(self, Axis axis, Py_ssize_t i) noexcept
    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept
    cpdef int append_class(self, Classes axis) except -1
    cpdef void change_unit(self, double ratio) noexcept
    cdef void change_units(self, Axis features, const double *ratio, Py_ssize_t n) noexcept
    cpdef void copy(self, Table other) noexcept
    cpdef int restored(self) except -1
