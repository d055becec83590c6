from libc.stdint cimport int64_t

from river_okl._core.store.table cimport Table


cdef class Change(Table):
    cdef double deviations, least
    cdef double fast, mean, variance    # f, the recent average loss; m and v, its mean and variance
    cdef double bar                     # the bound that ``fast`` has exceeded
    cdef int64_t seen
    cdef int64_t left                   # number of labels that predictions from before the change still await

    cdef void restart(self) noexcept
    cdef void take(self, double loss, int64_t late) noexcept
