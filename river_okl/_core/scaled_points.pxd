from libc.math cimport fmin
from libc.stdint cimport int64_t, uint64_t

from river_okl._core.kernel.distances cimport Distances
from river_okl._core.lock cimport Lock
from river_okl._core.store.points cimport Points
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Table


cdef class ScaledPoints(Table):
    cdef readonly Lock lock                 # the model's lock, which the core itself does not acquire
    cdef readonly Points points
    cdef readonly Scaler scaler
    cdef readonly Distances distances
    # scratch: the last sample; never pickled
    cdef Sample samples[2]
    cdef int last
    cdef bint fresh                         # the answer belongs to the last sample and the current model
    cdef Py_ssize_t encoded                 # items of the given sample; the centred features that it lacks follow
    cdef bint lacking
    cdef double *values                     # [values_allocated] scaled; then as many before they were clipped
    cdef Py_ssize_t values_allocated
    cdef uint64_t rest                      # sum of the hashes of its strings that are not features

    # A sample
    cdef int evaluate(self, object sample) except -1
    cdef int evaluate_encoded(self, Sample *x) except -1
    cdef int scale(self, Sample *x, Py_ssize_t size) except -1
    cdef int complete(self, Sample *x) except -1
    cdef int leave(self) except -1
    cdef int answer(self, const Sample *x) except -1
    # A step
    cdef int observe(self, Sample *x, bint joins) except -1
    cdef int drop_point(self, Py_ssize_t i) except -1
    cdef int tidy(self) except -1
    cdef int settle_units(self, int64_t until) except -1
    cdef int finish_units(self) except -1

cdef int64_t following(int64_t seen, int64_t early, int64_t growth) noexcept


cdef inline double bounded_weight(double w, double mean) noexcept:
    """Return the weight of a sample as it enters the mean weight, which is 0 at first.

    It is at most 100 times the mean: a single heavier sample would silence all others.
    """
    return fmin(w, 100.0 * mean) if mean > 0.0 else w
