"""Linear algebra for matrices of a budget's size: linalg.h for the rest of the core.

Matrices are row-major with leading dimension ld.  Only the lower triangle of symmetric matrices and triangular factors
is read and written.
"""

from river_okl._core.simd cimport linalg
from river_okl._core.store.buffers cimport Owner


cdef inline void solve(const double *l, Py_ssize_t ld, Py_ssize_t n, double *b) noexcept nogil:
    """Set b ← A⁻¹ b, from the factor L of A."""
    linalg.solve_lower(l, ld, n, b)
    linalg.solve_upper(l, ld, n, b)


cdef inline void mirror(double *a, Py_ssize_t ld, Py_ssize_t n) noexcept nogil:
    """Fill the upper triangle of a symmetric matrix."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(i):
            a[j * ld + i] = a[i * ld + j]


cdef class Triangle(Owner):
    cdef readonly Py_ssize_t n, capacity
    cdef double *numbers            # [capacity, capacity], the lower triangle
    cdef double *waiting            # [capacity] v of the deferred update
    cdef double weight              # its weight; 0: none

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int extend(self, Py_ssize_t n, Py_ssize_t limit) except -1
    cdef void clear(self) noexcept nogil
    cdef void times(self, double scale, const double *v, double *out) noexcept nogil
    cdef void mirror(self) noexcept nogil
    cdef void move(self, double weight, const double *v) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void copy(self, Triangle other) noexcept nogil
    cdef void grow(self) noexcept nogil
    cdef void remove(self, Py_ssize_t i) noexcept nogil
    cdef void erase(self, Py_ssize_t i) noexcept nogil
    cdef void row(self, Py_ssize_t i, double *out) noexcept nogil
    cdef object rows(self)
