"""The trees of a memory for the size of errors: of log (|error| / running error), of predictions as they were made.

They show where the target is noisy.  The loss is the squared difference, and the prediction is a column like others, as
errors often grow with it.
"""

from river_okl._core.memory.latest cimport Latest

cdef Py_ssize_t TREES = 30, DEEPEST = 4
cdef double RIDGE = 20.0        # λ
cdef double LEAST_ROWS = 20.0   # of a branch
cdef double LARGEST = 7.0       # |logarithm|


cdef class ErrorTrees(Trees):
    """Trees over rows with the logarithms of errors."""

    def __init__(self, Latest latest):
        Trees.__init__(self, latest, RIDGE, LEAST_ROWS)
        self.declare(<size_t> &self.errors, "errors", (latest.row,), dtype="f4", low=-LARGEST, high=LARGEST)

    cdef Py_ssize_t most(self) noexcept:
        return TREES

    cdef int deepest(self) noexcept:
        return min(Trees.deepest(self), <int> DEEPEST)

    cdef Py_ssize_t turns(self) noexcept:
        return 2 * self.grown

    cpdef Py_ssize_t bytes_of_row(self) noexcept:
        return Trees.bytes_of_row(self) + 4

    cdef void enter(self, Py_ssize_t slot) noexcept:
        Trees.enter(self, slot)
        self.errors[slot] = <float> min(max(self.error, -LARGEST), LARGEST)

    cdef void find_gradients(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        cdef Py_ssize_t i
        for i in range(first, last):
            self.gradient[i].g = self.latest.weight[i] * (self.errors[i] - self.sums[i])
            self.gradient[i].h = self.latest.weight[i]
