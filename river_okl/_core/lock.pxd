from cpython.pythread cimport PyThread_type_lock


cdef class Lock:
    cdef unsigned long owner        # the thread that is inside; 0: none
    cdef Py_ssize_t refused         # calls from that same thread, which will release what they did not get
    cdef Py_ssize_t waiting         # threads that wait
    cdef Py_ssize_t barged          # calls that got in since a waiting thread was woken
    cdef bint woken, reserved
    cdef long generation            # of the process in which it was taken
    cdef PyThread_type_lock gate

    cpdef int acquire(self) except -1
    cpdef int release(self) except -1
    cdef int wait(self, unsigned long me) except -1
    cdef void wake(self) noexcept
