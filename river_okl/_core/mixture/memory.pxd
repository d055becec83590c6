from river_okl._core.kernel.distances cimport Distances
from river_okl._core.memory.latest cimport Latest
from river_okl._core.memory.nearest cimport Nearest
from river_okl._core.memory.trees cimport Trees
from river_okl._core.mixture.change cimport Change
from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis


cdef class Memory(Expert):
    cdef Axis row
    cdef readonly Py_ssize_t max_rows
    cdef readonly Latest latest
    cdef readonly Trees trees
    cdef readonly Nearest nearest
    cdef readonly Change change
    cdef readonly Py_ssize_t n_classes

    cdef bint notices_change(self, double p) except -1
    cdef int make_room(self, const Sample *x) except -1
    cdef void weigh(self, Distances distances) noexcept
    cdef int grow_columns(self, Py_ssize_t columns) except -1
    cdef int keep(self, Py_ssize_t n) except -1
