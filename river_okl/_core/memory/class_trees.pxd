from libc.stdint cimport int64_t

from river_okl._core.memory.trees cimport Trees
from river_okl._core.store.table cimport Classes


cdef class ClassTrees(Trees):
    cdef Classes classes
    cdef int64_t *identity      # [class] its number when it was added
    # scratch
    cdef float *p               # [class, ABREAST] of some rows
    cdef float *direction       # [class]

    cdef void write_probabilities(self, double *p) noexcept
    cdef void add_to_leaf(self, Py_ssize_t i, const float *p) noexcept
    cdef int add_class(self) except -1
