# The inputs of linear regressions: a constant, and the first features that a scaler counts.
from libc.math cimport fmax, fmin
from libc.string cimport memset

from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Conversion

cdef enum:
    INPUTS = 256                # maximum, if a matrix over the inputs is stored


cdef inline double bounded(double value) noexcept nogil:
    """Return an input clipped: if features are not scaled, larger ones would cancel all digits of a covariance."""
    return fmin(fmax(value, -1e6), 1e6)


cdef inline void inputs_of(const Sample *x, Py_ssize_t n, double *out) noexcept nogil:
    """Set ``out`` to the first n inputs of a sample."""
    cdef Py_ssize_t j
    memset(out, 0, n * 8)
    out[0] = 1.0
    for j in range(x.size):
        if 0 <= x.places[j] < n - 1:
            out[1 + x.places[j]] = bounded(x.scaled[j])


cdef inline void convert_coefficients(const Conversion *to, Py_ssize_t n, double *coef) noexcept nogil:
    """Convert the first n coefficients of a linear function of inputs to new units of the features: β ← M β."""
    cdef Py_ssize_t i
    for i in range(1, min(n, to.n + 1)):
        coef[i] /= to.ratio[i - 1]
        coef[0] -= to.shift[i - 1] * coef[i]


cdef inline void convert_covariance(
    const Conversion *to, Py_ssize_t n, double *a, Py_ssize_t ld, double *scratch
) noexcept nogil:
    """Convert the covariance of the first n coefficients, the lower triangle of A: A ← M A Mᵀ.

    The inverse of Σ v vᵀ over inputs v changes likewise.
    """
    cdef Py_ssize_t i, j, known = min(n, to.n + 1)
    cdef double corner
    for i in range(1, known):
        for j in range(i + 1):
            a[i * ld + j] /= to.ratio[i - 1] * (to.ratio[j - 1] if j else 1.0)
    for i in range(known, n):
        for j in range(1, known):
            a[i * ld + j] /= to.ratio[j - 1]
    # then β_0 ← β_0 - shiftᵀ β: scratch = A shift
    for i in range(n):
        scratch[i] = 0.0
        for j in range(1, known):
            scratch[i] += to.shift[j - 1] * (a[i * ld + j] if j <= i else a[j * ld + i])
    corner = 0.0
    for j in range(1, known):
        corner += to.shift[j - 1] * scratch[j]
    a[0] += corner - 2.0 * scratch[0]
    for i in range(1, n):
        a[i * ld] -= scratch[i]
