"""Linear algebra for matrices of a budget's size, on NumPy arrays, instead of a BLAS.

One thread and a fixed order of summation: the cost and the bits of a step do not depend on other processes.  Only the
lower triangle of symmetric matrices and triangular factors is read and written.
"""

from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.store.buffers cimport viewed

cdef object FLOAT64 = np.dtype(np.float64)


cdef int check_length(Py_ssize_t length, Py_ssize_t n) except -1:
    if length != n:
        raise ValueError(f"a vector of {length} numbers, not {n}")
    return 0


cdef Py_ssize_t leading(const double[:, :] A, bint square) except -1:
    """Return the leading dimension of a matrix, or a part of one, with contiguous rows."""
    if square and A.shape[0] != A.shape[1]:
        raise ValueError(f"a matrix of {A.shape[0]} rows and {A.shape[1]} columns; it must be square")
    if A.shape[0] == 0 or A.shape[1] == 0:
        return 0
    if (A.shape[1] > 1 and A.strides[1] != 8) or A.strides[0] < 0 or A.strides[0] % 8:
        raise ValueError("the rows of a matrix must be contiguous")
    return A.strides[0] // 8


def dot(const double[::1] x, const double[::1] y):
    """Return Σ x_i y_i."""
    check_length(y.shape[0], x.shape[0])
    return linalg.dot(&x[0], &y[0], x.shape[0]) if x.shape[0] else 0.0


def times(const double[:, :] A, const double[::1] v):
    """Return A v."""
    cdef Py_ssize_t ld = leading(A, False)
    check_length(v.shape[0], A.shape[1])
    out = np.zeros(A.shape[0])
    cdef double[::1] view = out
    if A.shape[0] and A.shape[1]:
        linalg.times(&A[0, 0], ld, A.shape[0], A.shape[1], &v[0], &view[0])
    return out


def moved(const double[:, :] A, const double[::1] v, const double[::1] w, double step):
    """Return w + step Aᵀ v, and the product of A with it."""
    cdef Py_ssize_t i, ld = leading(A, False), m = A.shape[0], n = A.shape[1]
    check_length(v.shape[0], m)
    check_length(w.shape[0], n)
    to, out = np.array(w), np.zeros(m)
    cdef double[::1] found = to, product = out
    if m and n:
        linalg.transposed_times(&A[0, 0], ld, m, n, &v[0], &found[0])
        for i in range(n):
            found[i] = w[i] + step * found[i]
        linalg.times(&A[0, 0], ld, m, n, &found[0], &product[0])
    return to, out


def transposed_times(const double[:, :] A, const double[::1] v):
    """Return Aᵀ v."""
    cdef Py_ssize_t ld = leading(A, False)
    check_length(v.shape[0], A.shape[0])
    out = np.zeros(A.shape[1])
    cdef double[::1] view = out
    if A.shape[0] and A.shape[1]:
        linalg.transposed_times(&A[0, 0], ld, A.shape[0], A.shape[1], &v[0], &view[0])
    return out


def symmetric_times(const double[:, :] A, const double[::1] v):
    """Return A v for a symmetric A, from its lower triangle."""
    cdef Py_ssize_t ld = leading(A, True)
    check_length(v.shape[0], A.shape[0])
    out = np.zeros(A.shape[0])
    cdef double[::1] view = out
    if A.shape[0]:
        linalg.symmetric_times(&A[0, 0], ld, A.shape[0], 1.0, &v[0], 0.0, &view[0])
    return out


def rank_one(double[:, :] A, double weight, const double[::1] v):
    """Set A ← A + weight v vᵀ, the lower triangle in place."""
    cdef Py_ssize_t ld = leading(A, True)
    check_length(v.shape[0], A.shape[0])
    if A.shape[0]:
        linalg.rank_one(&A[0, 0], ld, A.shape[0], weight, &v[0])


def cholesky(double[:, :] A):
    """Factor A = L Lᵀ, the lower triangle in place.  Return whether A is positive definite; if not, A is undefined."""
    cdef Py_ssize_t ld = leading(A, True)
    return linalg.cholesky(&A[0, 0], ld, A.shape[0]) == 0 if A.shape[0] else True


def solve_factored_rows(const double[:, :] L, double[:, ::1] B):
    """Set B ← B A⁻¹ in place, from the factor of A."""
    cdef Py_ssize_t ld = leading(L, True), i
    check_length(B.shape[1], L.shape[0])
    if L.shape[0]:
        for i in range(B.shape[0]):
            solve(&L[0, 0], ld, L.shape[0], &B[i, 0])


def eigen(A):
    """Return the eigenvalues of a symmetric A, smallest first, and the eigenvectors as rows."""
    copied = np.array(A, dtype=np.float64, order="C")
    cdef double[:, :] a = copied
    cdef Py_ssize_t n = a.shape[0], ld = leading(a, True)
    values, vectors, scratch = np.zeros(n), np.zeros((n, n)), np.zeros(2 * n)
    cdef double[::1] d = values, room = scratch
    cdef double[:, ::1] v = vectors
    if n and linalg.eigen(&a[0, 0], ld, n, &d[0], &v[0, 0], &room[0]):
        raise ArithmeticError("an eigenvalue did not converge")
    order = values.argsort(kind="stable")
    return values[order], vectors[order]


# A matrix that is updated ---------------------------------------------------------------------------------------------


cdef class Triangle(Owner):
    """A symmetric matrix, initially without rows, for rank-one updates each followed by a product.

    The lower triangle is stored.  An update is deferred to the next product, so that each number is loaded once for
    both (``rank_one_times`` in linalg.h), with the same result.  Call ``settle`` before reading anything else.
    """

    def __init__(self, Py_ssize_t capacity):
        self.reserve((capacity + 7) // 8 * 8)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` rows, at least as many as before."""
        cdef Py_ssize_t i
        cdef double *numbers
        self.waiting = self.doubles(self.waiting, self.capacity, capacity)
        numbers = self.doubles(NULL, 0, capacity * capacity)
        for i in range(self.n):
            memcpy(numbers + i * capacity, self.numbers + i * self.capacity, (i + 1) * 8)
        self.release(self.numbers)
        self.numbers, self.capacity = numbers, capacity
        return 0

    cdef int extend(self, Py_ssize_t n, Py_ssize_t limit) except -1:
        """Append rows of zeros up to n rows, with room for up to ``limit``."""
        if n > self.capacity:
            self.reserve(min(limit, max(2 * self.capacity, (n + 7) // 8 * 8)))
        while self.n < n:
            self.grow()
        return 0

    cdef void clear(self) noexcept nogil:
        """Remove all rows."""
        self.n, self.weight = 0, 0.0

    cdef void times(self, double scale, const double *v, double *out) noexcept nogil:
        """Set out = scale A v."""
        if self.n and self.weight != 0.0:
            linalg.rank_one_times(self.numbers, self.capacity, self.n, self.weight, self.waiting, scale, v, 0.0, out)
            self.weight = 0.0
        elif self.n:
            linalg.symmetric_times(self.numbers, self.capacity, self.n, scale, v, 0.0, out)

    cdef void mirror(self) noexcept nogil:
        """Fill the upper triangle; valid until the next write."""
        self.settle()
        mirror(self.numbers, self.capacity, self.n)

    cdef void move(self, double weight, const double *v) noexcept nogil:
        """Set A ← A + weight v vᵀ, deferred to the next product."""
        self.settle()
        memcpy(self.waiting, v, self.n * 8)
        self.weight = weight

    cdef void settle(self) noexcept nogil:
        """Apply a deferred update."""
        if self.n and self.weight != 0.0:
            linalg.rank_one(self.numbers, self.capacity, self.n, self.weight, self.waiting)
        self.weight = 0.0

    cdef void copy(self, Triangle other) noexcept nogil:
        """Copy another matrix of the same capacity."""
        other.settle()
        self.n, self.weight = other.n, 0.0
        memcpy(self.numbers, other.numbers, self.capacity * self.capacity * 8)

    cdef void grow(self) noexcept nogil:
        """Append a row and a column of zeros."""
        self.settle()
        memset(self.numbers + self.n * self.capacity, 0, (self.n + 1) * 8)
        self.n += 1

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Remove row and column i; the last ones take their place."""
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

    cdef void erase(self, Py_ssize_t i) noexcept nogil:
        """Set row and column i to zeros."""
        cdef Py_ssize_t j
        self.settle()
        memset(self.numbers + i * self.capacity, 0, (i + 1) * 8)
        for j in range(i + 1, self.n):
            self.numbers[j * self.capacity + i] = 0.0

    cdef void row(self, Py_ssize_t i, double *out) noexcept nogil:
        """Set ``out`` to row i in full."""
        cdef Py_ssize_t j
        self.settle()
        memcpy(out, self.numbers + i * self.capacity, (i + 1) * 8)
        for j in range(i + 1, self.n):
            out[j] = self.numbers[j * self.capacity + i]

    def diagonal(self):
        """Return a copy of the diagonal."""
        self.settle()
        return viewed(self.numbers, self.n * self.capacity, FLOAT64)[:: self.capacity + 1].copy()

    cdef object rows(self):
        """The rows that there are, on the buffer."""
        whole = viewed(self.numbers, self.capacity * self.capacity, FLOAT64).reshape(self.capacity, self.capacity)
        return whole[: self.n, : self.n]

    def matrix(self):
        """Return a copy of the full matrix."""
        self.mirror()
        return self.rows().copy()

    def state(self):
        """Return the lower triangle, row after row."""
        self.settle()
        return self.rows()[np.tri(self.n, dtype=bool)]

    def restore(self, triangle, Py_ssize_t n):
        """Resume from a state of n rows, after checking every number."""
        if triangle.shape != (n * (n + 1) // 2,) or not np.isfinite(triangle).all():
            raise ValueError(f"{triangle.size} numbers for a triangle of {n} rows, or some that are not finite")
        self.n, self.weight = n, 0.0
        self.rows()[np.tri(n, dtype=bool)] = triangle
