from libc.stdint cimport int32_t

from river_okl._core.loops cimport Scanned
from river_okl._core.memory.latest cimport Latest
from river_okl._core.store.table cimport Table

cdef enum:
    OF_LATEST = 4               # nearest of the latest rows
    OF_ALL = 6                  # nearest of all rows
    LATEST = 512                # rows


cdef class Nearest(Table):
    cdef readonly Latest latest
    cdef float *weight          # [column]
    # scratch: the last sample
    cdef Scanned *scanned       # groups of columns with weights
    cdef int32_t *distance      # [row]
    cdef int32_t *low           # [row / SCANNED] the smallest distance in a block
    cdef Py_ssize_t n_scanned, room
    cdef int distance_scale     # the sum of the weights
    cdef int32_t bound          # no larger distance is of interest
    cdef int32_t[OF_ALL] found  # slots
    cdef double[OF_ALL] votes
    cdef double total           # Σ votes

    cdef void weigh(self, const double *relevance) noexcept
    cdef int measure(self) except -1
    cdef void measure_rows(self) noexcept
    cdef void measure_slots(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef Py_ssize_t select(self, Py_ssize_t latest, Py_ssize_t most, int32_t *found) noexcept
    cdef int32_t bound_of(self, Py_ssize_t most) noexcept
    cdef Py_ssize_t scan(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t k, Py_ssize_t most, int32_t *found
    ) noexcept
    cdef Py_ssize_t vote(self, Py_ssize_t latest, Py_ssize_t most) noexcept
    cdef Py_ssize_t searched(self) noexcept
    cdef void write_probabilities(self, Py_ssize_t latest, Py_ssize_t most, Py_ssize_t n_classes, double *p) noexcept
    cdef double mean_target(self, Py_ssize_t latest, Py_ssize_t most, double deviation) noexcept
