cimport cython

from river_okl._core.memory cimport Owner

cdef enum:
    RANKED = 100            # numbers from which on ranks mean something


@cython.final
cdef class Window(Owner):
    cdef readonly Py_ssize_t most, n
    cdef double share           # of the numbers that are the tail
    cdef Py_ssize_t room, start
    cdef double *latest         # [room] in the order of arrival, from ``start`` on
    cdef double *ordered        # [room] the same, ascending

    cdef int grow(self) except -1
    cdef Py_ssize_t below(self, double value, bint equal) noexcept nogil
    cpdef double level(self, double value) noexcept nogil
    cdef int add(self, double value) except -1
    cdef void forget(self) noexcept nogil
