cimport cython

from river_okl._core.function.coefficients cimport Coefficients
from river_okl._core.function.gram cimport Gram
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.store.buffers cimport Owner


@cython.final
cdef class Sums(Owner):
    cdef Rows rows
    cdef Coefficients alpha
    cdef double *values         # [columns] Σ coef κ(z_i, x), without the scale
    cdef bint *known            # [columns]

    cdef int reserve(self, Py_ssize_t n_columns) except -1
    cdef void forget(self) noexcept
    cdef double of(self, Py_ssize_t column) noexcept
    cdef double along(self, Py_ssize_t output) noexcept
    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0
    cdef void turn_to(self, Py_ssize_t target) noexcept


@cython.final
cdef class Norms(Owner):
    cdef Rows rows
    cdef Coefficients alpha
    cdef Gram gram              # or None
    cdef bint keeps_norm, keeps_values
    cdef Py_ssize_t capacity
    cdef double *norms          # [columns]
    cdef double *peaks          # [columns] the largest of each norm since it was last computed from scratch
    cdef double *values         # [capacity]
    cdef Py_ssize_t changes     # of f since norms and values were last computed from scratch
    cdef bint stale             # norms and values must be computed from scratch

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int reserve_columns(self, Py_ssize_t old, Py_ssize_t n_columns) except -1
    cdef int refresh(self) except -1
    cdef void changed(self) noexcept
    cdef void clear(self) noexcept
    cdef void added(self, Py_ssize_t output, double c, const double *sums) noexcept
    cdef void scaled(self, double c) noexcept
    cdef int shifted(self, Py_ssize_t i, double c, Py_ssize_t output) except -1
    cdef int dropping(self, Py_ssize_t i) except -1
    cdef void absorbed(self, Py_ssize_t output, double c) noexcept
    cdef void split(self) noexcept
    cdef int permute(self, list columns, bint negated) except -1
    cdef int refresh_with(self, norms) except -1
    cdef list squares(self)
    cdef double square(self) except -1.0
    cdef double peek(self) except -1.0
    cdef object read_values(self)
    cdef dict state(self)
    cdef int restore(self, dict state) except -1
    cdef int check_sizes(self) except -1
    cdef object check(self, gram, double slack)

    cdef inline bint tracks(self) noexcept:
        """Whether norms and values are updated with f."""
        return (self.keeps_norm or self.keeps_values) and not self.stale
