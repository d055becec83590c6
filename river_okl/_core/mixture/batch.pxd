from libc.stdint cimport uint64_t

from river_okl._core.loops cimport BLOCK
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.processes cimport KERNELS, PROCESSES
from river_okl._core.store.buffers cimport Owner
from river_okl._core.store.sample cimport Sample


cdef class Batch(Owner):
    cdef Mixture mixture
    cdef Py_ssize_t columns             # of targets
    cdef Py_ssize_t n                   # samples in the block
    cdef Sample samples[BLOCK]
    cdef Py_ssize_t encoded[BLOCK]      # items given; the centred features that a sample lacks follow
    cdef uint64_t rest[BLOCK]           # sum of the hashes of its strings that are not features
    cdef double *values[BLOCK]          # scaled
    cdef Py_ssize_t room[BLOCK]
    # matrices with a column for each sample: [point of the dictionary, BLOCK] unless said otherwise
    cdef double *k[KERNELS]
    cdef double *ordered                # k in the order of the rows of R
    cdef double *half                   # R k
    cdef double *q
    cdef double *means                  # [PROCESSES, columns, BLOCK]
    cdef double[KERNELS][BLOCK] self_similarity
    cdef double[PROCESSES][BLOCK] variance

    cdef int ask(self, object rows, Py_ssize_t start, Py_ssize_t end, double z, bint wait, double *out) except -1
    cdef int compare(self, Py_ssize_t b) except -1
    cdef void predict(self, Py_ssize_t i) noexcept
    cdef void take(self, Py_ssize_t b) noexcept
