from river_okl._core.memory.trees cimport Trees
from river_okl._core.mixture.regression cimport Regression


cdef float median_of(float *numbers, Py_ssize_t n) noexcept
cdef double bound_of_outliers(float *numbers, Py_ssize_t n, double median, double deviation) noexcept


cdef class TargetTrees(Trees):
    cdef readonly Regression linear     # None: these trees learn the residuals of the answer
    cdef bint in_full           # whether large residuals count in full
    cdef double deviation       # of the residuals of the growing tree, robust
    cdef float *residual        # [row] of the growing tree
    cdef float *medians         # [LEAVES] of the residuals of some rows, of the growing tree
    cdef float *bounds          # [LEAVES] of the differences from them

    cdef void find_residuals(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef void find_medians(self) noexcept
    cdef void rescale(self, double ratio, double shift) noexcept
