cimport cython

from river_okl._core.linalg cimport Triangle
from river_okl._core.store.buffers cimport Owner


@cython.final
cdef class Gram(Owner):
    cdef Triangle gram           # K
    cdef Triangle inverse        # K⁻¹
    cdef double *solution        # d = K⁻¹ k of the last solve
    cdef double *residual        # scratch
    cdef Py_ssize_t steps        # changes of K⁻¹ since it was last checked against K
    cdef bint fragile            # some point added was all but dependent on the others

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef double solve(self, const double *k, double k_self) noexcept
    cdef int grow(self, const double *k, double k_self, double ald_residual) except -1
    cdef void shrink(self, Py_ssize_t i) noexcept
    cdef void clear(self) noexcept
    cdef int append_row(self, const double *k, double k_self) except -1
    cdef int rebuild(self) except -1
    cdef double ald_residual(self, const double *k, double k_self) noexcept
    cdef double measure(self, const double *k) noexcept
    cdef double refine(self, const double *k) noexcept
    cdef object times_vector(self, vector, bint inverted)
    cdef dict state(self)
    cdef int restore(self, dict state, Py_ssize_t n) except -1
    cdef object check(self, gram, double slack)
