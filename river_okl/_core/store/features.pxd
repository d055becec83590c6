from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis
from river_okl._core.store.words cimport Words


cdef class Features(Axis):
    # n is the number of places, free ones included; arrays have room for ``capacity`` places.  Other modules may read
    # all attributes, but change features only through the methods below.
    cdef dict index             # name -> place
    cdef PyObject **names       # [capacity] owned; NULL: the place is free
    cdef list free              # free places
    cdef bint kept              # whether features stay known if no point has them
    cdef bint strings           # all names are strings: looking up a string runs no Python code
    cdef readonly Words words   # None: samples have numbers only
    cdef int64_t generation     # number of features that were added or forgotten

    cdef int begin(self, Sample *x, Py_ssize_t size) except -1
    cdef int look_up(self, Sample *x, Py_ssize_t i, object name) except -1
    cdef int find(self, Sample *x) except -1
    cdef void mark_valid(self, Sample *x) noexcept
    cdef int32_t place_of(self, object name) except -2
    cdef int32_t add(self, object name) except -1
    cdef int reserve(self, Py_ssize_t n) except -1
    cdef int forget(self, Py_ssize_t place) except -1
