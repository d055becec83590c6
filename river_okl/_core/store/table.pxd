cimport cython
from cpython.object cimport PyObject

from river_okl._core.store.memory cimport Owner


cdef enum:
    MAX_AXES = 3


cdef class Axis:
    # What an array has one of each of.
    cdef readonly str name          # "point", "feature" or "class"
    cdef public Py_ssize_t n        # how many there are, unless another object counts them
    cdef readonly Py_ssize_t room   # how many the arrays have room for
    cdef Py_ssize_t min_room        # of this, if there is any
    cdef Py_ssize_t growth_eighths  # of it are added when it is full, if not more are needed
    cdef object owner               # of what is counted elsewhere:
    cdef const Py_ssize_t *length   # how many there are
    cdef const Py_ssize_t *needed   # how many room is needed for

    cdef bint is_full(self) noexcept


@cython.final
cdef class Classes(Axis):
    cdef readonly double split      # 0: one of each class; else one for two classes together, and what it becomes

    cdef Py_ssize_t after(self) noexcept


@cython.final
cdef class Array:
    # A declaration.  The tables that make the same one share it; it is never freed.
    cdef readonly str name          # in a state; None: it is derived from the others, or scratch
    cdef Py_ssize_t axes[MAX_AXES]     # fixed numbers, and for axis i of the table -1 - i
    cdef Py_ssize_t n_axes
    cdef readonly object dtype
    cdef readonly double low, high
    cdef readonly str merge
    cdef readonly int power         # of the target's unit that its values are in
    cdef bint triangle, scratch
    cdef Py_ssize_t offset          # of the pointer to its buffer, in its owner; of a number, of itself
    cdef Py_ssize_t item            # bytes
    cdef char blank[8]              # of a new cell
    cdef bint zero                  # it is 0

    cdef void clear(self, char *cells, Py_ssize_t n) noexcept


cdef class Table(Owner):
    cdef tuple axes
    cdef PyObject **declared        # [n_declared] arrays
    cdef Py_ssize_t n_declared
    cdef dict parts                 # tables of its own, by name; None: it has none

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
    cpdef void copy(self, Table other) noexcept
    cpdef int restored(self) except -1
