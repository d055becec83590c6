from libc.stdint cimport int32_t

from river_okl._core.mixture.expert cimport Expert


cdef class LastLabel(Expert):
    cdef int32_t last                   # the class learned last; -1: none
    cdef double *counts                 # [class] samples; the latest of them weigh most
    # of the samples after one of each class, [class]:
    cdef double *followed               # their number, at most MEMORY
    cdef double *stays                  # the share of them that has the same class
