"""The last target learned before the prediction: a good prediction if consecutive targets are similar."""

from libc.math cimport fmax, fmin

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport Sample

cdef double LARGEST = 1e9       # of a target in units of the mixture


cdef class LastTarget(Expert):
    """One prediction."""

    def __init__(self):
        self.name, self.rows = "last_target", 1
        self.declare(<size_t> &self.last, "last", (), low=-LARGEST, high=LARGEST)

    cdef int ask(self, const Sample *x, double *p) except -1:
        p[0] = self.last
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        self.last = y.exact
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.last = fmin(fmax(ratio * self.last + shift, -LARGEST), LARGEST)

    def names(self):
        return ["last target"]
