cimport cython

from river_okl._core.store.ring cimport Ring

cdef enum:
    RANKED = 100            # numbers from which on ranks are meaningful


@cython.final
cdef class Window(Ring):
    cdef double share           # fraction of the numbers that forms the tail
    cdef double *ordered        # [room] the numbers of the ring, ascending

    cdef Py_ssize_t below(self, double value, bint equal) noexcept nogil
    cpdef double level(self, double value) noexcept nogil
    cdef int add(self, double value) except -1
