from river_okl._core.kernel.distances cimport Distances
from river_okl._core.memory.latest cimport Latest
from river_okl._core.memory.nearest cimport Nearest
from river_okl._core.memory.raw cimport RawValues
from river_okl._core.memory.trees cimport Trees
from river_okl._core.mixture.change cimport Change
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis


cdef class Memory(Expert):
    cdef Axis row
    cdef readonly Py_ssize_t max_rows
    cdef readonly Latest latest
    cdef RawValues raw
    cdef readonly Trees trees
    cdef tuple all_trees        # those, and for a target the trees of the answer and of its errors
    cdef readonly Nearest nearest
    cdef readonly Change change
    cdef double credit          # visits of rows that the samples learned have paid for
    # scratch
    cdef double *relevance      # [column]

    cdef int assemble(self, tuple trees) except -1
    cdef int add_row(self, const Sample *x, const Outcome *y, double loss) except -1
    cdef Py_ssize_t kept_after(self, double loss) except -1
    cdef void restart(self) noexcept
    cdef bint build(self) noexcept
    cdef Trees next_trees(self)
    cdef int make_room(self, const Sample *x) except -1
    cdef void fit_limit(self) noexcept
    cdef int grow_columns(self, Py_ssize_t columns) except -1
    cdef int keep(self, Py_ssize_t n) except -1
    cdef bint find_relevance(self) noexcept
    cdef void weigh(self, Distances distances) noexcept
    cdef double least_weight(self, Distances distances, Py_ssize_t place) noexcept
