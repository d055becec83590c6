from river_okl._core.kernel.distances cimport Distances
from river_okl._core.memory.target_trees cimport TargetTrees
from river_okl._core.mixture.memory cimport Memory
from river_okl._core.mixture.regression cimport Regression


cdef class TargetMemory(Memory):
    cdef Regression linear
    cdef Distances distances
    cdef readonly TargetTrees of_linear, of_answer  # the trees of the residuals
    cdef double residual        # running squared residual of the trees
    cdef double answered        # the answer to the sample to be learned, as it was given

    cdef double correction(self, double answer) noexcept
    cdef double variance_of(self, Py_ssize_t column) noexcept
