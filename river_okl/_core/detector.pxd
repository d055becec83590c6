from libc.stdint cimport int32_t, int64_t, uint64_t

from river_okl._core.kernel.distances cimport Dictionary
from river_okl._core.residuals cimport Residuals
from river_okl._core.scaled_points cimport ScaledPoints
from river_okl._core.store.sample cimport Sample
from river_okl._core.window cimport Window

cdef enum:
    NEIGHBOURS = 20         # that a sample is compared with
    SCALES = 5              # numbers that say how strange it is
    RESIDUAL = 4            # the last of them
    MAX_NUMBERS = 1024      # remembered, of each kind
    MAX_SCORES = 4096       # levels remembered


cdef class Detector(ScaledPoints):
    cdef readonly list windows              # of each scale
    cdef readonly Window window             # of the largest of their levels
    cdef readonly Residuals residuals
    cdef readonly Py_ssize_t budget
    cdef readonly int64_t seen, ranked      # samples; those whose numbers were remembered
    cdef uint64_t *identities               # [identities_allocated] of the latest of them, n at n modulo MAX_SCORES
    cdef Py_ssize_t identities_allocated
    cdef double *radius                     # [capacity] r of each point
    cdef double *some                       # [capacity] scratch of the search
    cdef double *others                     # [capacity]
    cdef int32_t *at                        # [capacity]
    cdef Py_ssize_t capacity
    cdef double tokens                      # alarms that may still be remembered
    cdef double crowd                       # share of alarms among recent samples
    cdef double typical                     # mean of log d_20² over recent samples
    cdef double candidates, weight          # samples that were to become points, and their total weight
    cdef uint64_t random
    # scratch: the last sample; never pickled
    cdef Dictionary dictionary              # of ``Distances``: empty
    cdef Py_ssize_t found
    cdef Py_ssize_t nearest[NEIGHBOURS]
    cdef double raw[SCALES]
    cdef uint64_t identity
    cdef double own_radius
    cdef double largest                     # of the levels of ``raw``
    cdef double level                       # of ``largest``: -log of the share of recent samples that were as strange

    cdef void rate(self, const Sample *x) noexcept
    cdef double of_equal_ones(self) noexcept
    cdef int step(self, Sample *x, double w) except -1
    cdef Py_ssize_t victim(self, double w) noexcept
    cdef int learn_sample(self, Sample *x, bint counts, bint joins, Py_ssize_t victim) except -1
    cdef int drop(self, Py_ssize_t i) except -1


cpdef Py_ssize_t levels_kept(int64_t ranked) noexcept
