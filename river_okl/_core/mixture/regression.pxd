from libc.stdint cimport int64_t

from river_okl._core.mixture.expert cimport Expert
from river_okl._core.mixture.ridge cimport Ridge
from river_okl._core.store.scaler cimport Scaler

cdef enum:
    LINEAR_INPUTS = 128             # a constant, and the first features that the scaler counts


cdef class Regression(Expert):
    cdef Scaler scaler
    cdef Ridge ridge
    cdef double residual            # running squared residual
    cdef int64_t seen
