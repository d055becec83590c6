cimport cython

from river_okl._core.store.buffers cimport Owner


@cython.final
cdef class Coefficients(Owner):
    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_classes  # 0: one function per output; otherwise one per output and class
    cdef Py_ssize_t n_columns           # n_outputs, times n_classes if there are any
    cdef Py_ssize_t capacity            # points allocated
    cdef double scale
    cdef double **coef                  # [n_columns][capacity]

    # scratch: the direction of the last sample
    cdef Py_ssize_t along[2]            # classes
    cdef int n_along                    # one or two
    cdef double unit

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int reserve_columns(self, Py_ssize_t n_columns) except -1
    cdef void split(self, Py_ssize_t n) noexcept
    cdef void start_directions(self) noexcept
    cdef list permute(self, list order, Py_ssize_t n)
    cdef int check_output(self, Py_ssize_t o) except -1
    cdef int reject_classes(self) except -1
    cdef int check_weights(self, tuple weights) except -1
    cdef void combine(
        self, const double *row, Py_ssize_t padded, const double[::1] weights, double[::1] out
    ) noexcept nogil
    cdef void clear(self, Py_ssize_t i) noexcept
    cdef void point_removed(self, Py_ssize_t i, Py_ssize_t last) noexcept
    cdef bint fold(self, Py_ssize_t n, double c) noexcept
    cdef bint clip(self, double largest, Py_ssize_t n) noexcept
    cdef double squared_size(self, Py_ssize_t i) noexcept
    cdef object magnitudes(self, Py_ssize_t n)
    cdef object read(self, Py_ssize_t n)
    cdef int write(self, values, Py_ssize_t n) except -1
    cdef object read_all(self, Py_ssize_t n)
    cdef int write_all(self, matrix, Py_ssize_t n) except -1
    cdef dict state(self, Py_ssize_t n)
    cdef int restore(self, dict state, Py_ssize_t n) except -1

    cdef inline Py_ssize_t column(self, int k, Py_ssize_t output) noexcept:
        """Return the column of the k-th class of the direction."""
        return self.along[k] * self.n_outputs + output

    cdef inline double signed_unit(self, int k) noexcept:
        """Return the component of the direction for its k-th class."""
        return self.unit if k == 0 else -self.unit

    cdef inline void move(self, Py_ssize_t i, double c, Py_ssize_t output) noexcept:
        """Add c along the direction to the coefficients of point i, without the scale."""
        cdef int k
        for k in range(self.n_along):
            self.coef[self.column(k, output)][i] += self.signed_unit(k) * c
