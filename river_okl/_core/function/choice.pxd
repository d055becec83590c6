"""The choices of an expansion, which checks their preconditions."""

from river_okl._core.function.coefficients cimport Coefficients
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.store.points cimport Points


cdef Py_ssize_t oldest_of_least(Points points, const double *values, Py_ssize_t n, double scale) noexcept
cdef Py_ssize_t smallest(Rows rows, Coefficients alpha) noexcept
cdef Py_ssize_t replaceable(Rows rows, Coefficients alpha, double dependent) noexcept
cdef tuple partner(Rows rows, Coefficients alpha, Py_ssize_t p)
