from river_okl._core.kernel.distances cimport Distances
from river_okl._core.memory.error_trees cimport ErrorTrees
from river_okl._core.memory.target_trees cimport TargetTrees
from river_okl._core.mixture.memory cimport Memory
from river_okl._core.mixture.regression cimport Regression


cdef class TargetMemory(Memory):
    cdef Regression linear
    cdef Distances distances
    cdef readonly TargetTrees of_linear, of_answer  # the trees of the residuals
    cdef readonly ErrorTrees of_errors  # those of the size of errors
    cdef double residual        # running squared residual of the trees
    # the sample to be learned, as it was asked
    cdef double answered        # the answer
    cdef double error           # |error| / running error

    cdef double correction(self, double answer) noexcept
    cdef double noise(self) noexcept
    cdef void count_in_full(self, bint in_full) noexcept
    cdef double variance_of(self, Py_ssize_t column) noexcept
