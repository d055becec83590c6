from libc.stdint cimport int32_t

from river_okl._core.kernel.distances cimport Distances
from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.points cimport Points
from river_okl._core.store.ring cimport Ring
from river_okl._core.store.sample cimport Sample

cdef enum:
    NEAREST = 4


cdef class Neighbours(Expert):
    cdef readonly Points points
    cdef readonly Distances distances
    cdef readonly Py_ssize_t max_points     # number of the latest samples that are kept as points
    cdef Ring latest                        # positions of the latest samples
    cdef int32_t *place                     # [point] in the ring, or -1
    cdef double *target                     # [point] in standard deviations
    # scratch: the last sample
    cdef Py_ssize_t lows_of                 # points that there is room for in:
    cdef double *lows                       # the smallest squared distances in every SEGMENT of points
    cdef Py_ssize_t nearest[NEAREST]
    cdef Py_ssize_t found

    cdef int32_t latest_at(self, Py_ssize_t i) noexcept
    cdef void learn_relevance(self, const Sample *x, double target) noexcept
