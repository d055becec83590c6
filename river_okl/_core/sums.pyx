"""f of the last sample: Σ_i coef[column, i] κ(z_i, x) of every column, computed where it is asked for, and once.

Scratch: never pickled.  Whoever changes f, or shows another sample, says ``forget``.
"""

cimport cython
from libc.string cimport memset

from river_okl._core.coefficients cimport Coefficients
from river_okl._core.kernel cimport loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.rows cimport Rows


@cython.final
cdef class Sums:
    """The sums of the function that has these rows and coefficients."""

    def __cinit__(self, Rows rows not None, Coefficients alpha not None):
        self.rows = rows
        self.alpha = alpha
        self.reserve(alpha.n_columns)

    def __dealloc__(self):
        okl_free(self.values)
        okl_free(self.known)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.alpha.n_columns * (sizeof(double) + sizeof(bint))

    cdef int reserve(self, Py_ssize_t n_columns) except -1:
        """Room for as many columns, none of them known, before there are coefficients."""
        self.values = <double *> aligned_resize(self.values, 0, n_columns, sizeof(double))
        self.known = <bint *> aligned_resize(self.known, 0, n_columns, sizeof(bint))
        return 0

    cdef void forget(self) noexcept:
        memset(self.known, 0, self.alpha.n_columns * sizeof(bint))

    cdef double of(self, Py_ssize_t column) noexcept:
        """Of a column, without the scale."""
        if not self.known[column]:
            self.values[column] = loops.inner(self.rows.row, self.alpha.coef[column], self.rows.points.padded())
            self.known[column] = True
        return self.values[column]

    cdef double along(self, Py_ssize_t output) noexcept:
        """Of an output along the direction of the last sample, without the scale."""
        cdef double total = self.of(self.alpha.column(0, output))
        if self.alpha.n_along > 1:
            total -= self.of(self.alpha.column(1, output))
        return self.alpha.unit * total

    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0:
        """Σ weight · output of class c."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        self.alpha.check_weights(weights)
        for o in range(len(weights)):
            total += <double> weights[o] * self.of(c * self.alpha.n_outputs + o)
        return self.alpha.scale * total

    cdef void face(self, Py_ssize_t target) noexcept:
        """The direction of the last sample, whose class is the target: against the first of the largest of the
        others."""
        cdef Py_ssize_t c, rival = 1 if target == 0 else 0
        for c in range(self.alpha.n_classes):
            if c != target and self.of(c * self.alpha.n_outputs) > self.of(rival * self.alpha.n_outputs):
                rival = c
        self.alpha.along[0] = target
        self.alpha.along[1] = rival
