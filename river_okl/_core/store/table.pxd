cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from river_okl._core.store.buffers cimport Owner


cdef enum:
    MAX_AXES = 3


cdef struct Conversion:
    # Of values along an axis to new units: z ← ratio z + shift for each item.
    Py_ssize_t n
    double *ratio
    double *shift


cdef class Axis(Owner):
    # A dimension that arrays of several tables share: its items are points, features or classes.
    cdef readonly str name          # "point", "feature" or "class"
    cdef public Py_ssize_t n        # number of items
    cdef public Py_ssize_t capacity  # number of items that arrays must have room for, if it is larger
    cdef readonly Py_ssize_t room   # number of items that arrays have room for


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
    cdef readonly int power         # power of the target's unit in which its values are
    cdef readonly int of_feature    # power of the unit of the feature that they are of
    cdef bint scratch
    cdef Py_ssize_t offset          # in the table: of the pointer to the buffer, or of the number itself
    cdef Py_ssize_t item            # bytes of a cell
    cdef char blank[8]              # default value of a cell
    cdef bint zero                  # whether the default is 0

    cdef void clear(self, char *cells, Py_ssize_t n) noexcept


cdef class Table(Owner):
    cdef readonly str name          # in the state of the table that contains it; None: it is the whole
    cdef tuple axes
    cdef PyObject **declared        # [n_declared] arrays
    cdef Py_ssize_t n_declared
    cdef tuple parts                # contained tables

    # Declarations
    cdef int check_new(self, str name) except -1
    cdef Py_ssize_t room(self, Py_ssize_t axis) noexcept
    cdef bint strides(self, Array array, Axis axis, Py_ssize_t *before, Py_ssize_t *after) noexcept
    cdef void **pointer(self, Array array) noexcept
    cdef char *start(self, Array array) noexcept
    cpdef void discard(self, size_t address) noexcept
    # Room
    cpdef int reserve(self) except -1
    cpdef int grow(self, Axis axis, Py_ssize_t room) except -1
    cdef int resize_arrays(self, Axis axis, Py_ssize_t room) except -1
    cdef int shrink(self, Axis axis, Py_ssize_t n) except -1
    # Changes of this table and its parts
    cdef int take_items(self, Axis axis, const int32_t *items, Py_ssize_t n) except -1
    cpdef void forget(self, Axis axis, list items) noexcept
    cdef void reset(self, Axis axis, Py_ssize_t i) noexcept
    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept
    cpdef int append_class(self, Classes axis) except -1
    cpdef void change_unit(self, double ratio) noexcept
    cdef int change_units(self, Axis axis, const Conversion *to) except -1
    cpdef void copy(self, Table other) noexcept
    # State
    cdef object buffer(self, Array array)
    cdef object cells(self, Array array)
    cdef object saved(self, Array array)
    cdef int check_saved(self, Array array, dict state) except -1
    cdef void update_derived(self) noexcept
