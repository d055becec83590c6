from libc.stdint cimport int64_t

from river_okl._core.store.table cimport Table


cdef class Change(Table):
    cdef double deviations, least
    cdef double fast, mean, variance    # of the losses: lately, and of these averages
    cdef double bar                     # that ``fast`` has passed
    cdef int64_t seen
    cdef int64_t left                   # labels that are still those of questions from before the change; 0: none

    cdef void restart(self) noexcept
    cdef void take(self, double loss, int64_t late) noexcept
