from cpython.pythread cimport PyThread_type_lock


cdef class Lock:
    cdef unsigned long owner        # the thread that holds the lock; 0: none
    cdef Py_ssize_t rejected         # rejected calls from that thread, which will still call release
    cdef Py_ssize_t waiting         # number of waiting threads
    cdef Py_ssize_t barged          # calls that overtook a woken thread
    cdef bint woken, reserved
    cdef readonly bint incomplete   # a step has failed in the middle
    cdef long generation            # value of ``forks`` when it was acquired
    cdef long forks                 # value of ``forks`` for which the gate and the waiting threads are valid
    cdef PyThread_type_lock gate

    cpdef int acquire(self) except -1
    cpdef int release(self) except -1
    cdef int make_gate(self) except -1
    cdef int wait(self, unsigned long me) except -1
    cdef bint take(self, unsigned long me) noexcept
    cdef int settle_forks(self) except -1
    cdef int check(self) except -1
    cpdef void fail(self) noexcept
    cdef void wake(self) noexcept
