# The inputs of linear regressions: a constant, and the first features that a scaler counts.
from libc.math cimport fmax, fmin
from libc.string cimport memset

from river_okl._core.store.sample cimport Sample

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
