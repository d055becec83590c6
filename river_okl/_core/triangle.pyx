"""A symmetric matrix of a dictionary's size that moves by a rank-one step and is then asked for a product, sample by
sample.

Of the matrix the lower triangle is kept.  A step waits for the next product, which makes both while each number is
loaded once (``rank_one_times`` in linalg.h), the same numbers as one after the other would be; ``settle`` makes it
before anything else is read.
"""

from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.linalg cimport linalg
from river_okl._core.memory cimport aligned_resize, okl_free


cdef class Triangle:
    """A symmetric matrix of at most ``most`` rows, none so far."""

    def __init__(self, Py_ssize_t most):
        self.capacity = (most + 7) // 8 * 8
        self.numbers = <double *> aligned_resize(NULL, 0, self.capacity * self.capacity, 8)
        self.waiting = <double *> aligned_resize(NULL, 0, self.capacity, 8)

    def __dealloc__(self):
        okl_free(self.numbers)
        okl_free(self.waiting)

    def __sizeof__(self):
        return object.__sizeof__(self) + 8 * self.capacity * (self.capacity + 1)

    cdef void times(self, double scale, const double *v, double *out) noexcept nogil:
        """out = scale A v"""
        if self.n and self.weight != 0.0:
            linalg.rank_one_times(self.numbers, self.capacity, self.n, self.weight, self.waiting, scale, v, 0.0, out)
            self.weight = 0.0
        elif self.n:
            linalg.symmetric_times(self.numbers, self.capacity, self.n, scale, v, 0.0, out)

    cdef void mirror(self) noexcept nogil:
        """The upper triangle, too, until something is written: for ``times_mirrored``."""
        cdef Py_ssize_t i, j, ld = self.capacity
        cdef double *a = self.numbers
        self.settle()
        for i in range(self.n):
            for j in range(i):
                a[j * ld + i] = a[i * ld + j]

    cdef void times_mirrored(self, const double *v, double *out) noexcept nogil:
        """out = A v, faster than ``times`` where there are many v."""
        if self.n:
            linalg.transposed_times(self.numbers, self.capacity, self.n, self.n, v, out)

    cdef void move(self, double weight, const double *v) noexcept nogil:
        """A ← A + weight v vᵀ, with the next product."""
        self.settle()
        memcpy(self.waiting, v, self.n * 8)
        self.weight = weight

    cdef void settle(self) noexcept nogil:
        """The step that waits is made."""
        if self.n and self.weight != 0.0:
            linalg.rank_one(self.numbers, self.capacity, self.n, self.weight, self.waiting)
        self.weight = 0.0

    cdef void grow(self) noexcept nogil:
        """One more row and column, of zeros."""
        self.settle()
        memset(self.numbers + self.n * self.capacity, 0, (self.n + 1) * 8)
        self.n += 1

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Row and column i leave, and the last take their place."""
        cdef Py_ssize_t j, last = self.n - 1, ld = self.capacity
        cdef double *a = self.numbers
        self.n = last
        self.waiting[i] = self.waiting[last]
        if i == last:
            return
        memcpy(a + i * ld, a + last * ld, i * 8)
        for j in range(i + 1, last):
            a[j * ld + i] = a[last * ld + j]
        a[i * ld + i] = a[last * ld + last]

    cdef void row(self, Py_ssize_t i, double *out) noexcept nogil:
        """Row i, whole."""
        cdef Py_ssize_t j
        self.settle()
        memcpy(out, self.numbers + i * self.capacity, (i + 1) * 8)
        for j in range(i + 1, self.n):
            out[j] = self.numbers[j * self.capacity + i]

    def matrix(self):
        """A copy of the matrix, whole."""
        cdef Py_ssize_t i, j, ld = self.capacity
        self.settle()
        return np.array(
            [[self.numbers[max(i, j) * ld + min(i, j)] for j in range(self.n)] for i in range(self.n)]
        ).reshape(self.n, self.n)

    def state(self):
        """The lower triangle, row after row."""
        self.settle()
        return packed(self.numbers, self.capacity, self.n)

    def restore(self, triangle, Py_ssize_t n):
        """Go on from a state of n rows, every number of which is checked."""
        unpack(triangle, self.numbers, self.capacity, n)
        self.n = n
        self.weight = 0.0


cdef object packed(const double *a, Py_ssize_t ld, Py_ssize_t n):
    """The lower triangle of a matrix, row after row."""
    cdef Py_ssize_t i, at = 0
    cdef double[::1] view
    out = np.empty(n * (n + 1) // 2)
    if n:
        view = out
        for i in range(n):
            memcpy(&view[at], a + i * ld, (i + 1) * 8)
            at += i + 1
    return out


cdef int unpack(object triangle, double *a, Py_ssize_t ld, Py_ssize_t n) except -1:
    """The other way round."""
    cdef Py_ssize_t i, at = 0
    cdef const double[::1] view
    if triangle.shape != (n * (n + 1) // 2,) or not np.isfinite(triangle).all():
        raise ValueError(f"{triangle.size} numbers for a triangle of {n} rows, or some that are not finite")
    if n:
        view = np.ascontiguousarray(triangle, dtype=np.float64)
        for i in range(n):
            memcpy(a + i * ld, &view[at], (i + 1) * 8)
            at += i + 1
    return 0
