cimport cython

from river_okl._core.coefficients cimport Coefficients
from river_okl._core.rows cimport Rows


@cython.final
cdef class Sums:
    cdef Rows rows
    cdef Coefficients alpha
    cdef double *values         # [columns] Σ coef κ(z_i, x), without the scale
    cdef bint *known            # [columns]

    cdef int reserve(self, Py_ssize_t n_columns) except -1
    cdef void forget(self) noexcept
    cdef double of(self, Py_ssize_t column) noexcept
    cdef double along(self, Py_ssize_t output) noexcept
    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0
    cdef void face(self, Py_ssize_t target) noexcept
