"""The lock of a model: each public call acquires it once, and so sees a consistent state between two samples.

Uncontended, it costs one comparison and one assignment under the GIL: a few nanoseconds, several times less
than a ``threading`` lock, while steps of a model take microseconds.  It also differs in three ways from a
``threading`` lock:

- It is not reentrant.  A thread that requests a lock it holds was called from within its own step: by a feature name's
  ``__hash__``, a user's loss or a signal handler.  The state is then inconsistent, so the call raises.
- It is nearly fair.  A thread that learns in a loop would reacquire the lock before a woken reader has the GIL.  After
  ``TURNS`` such calls it must queue.  Handing over at each call would cost a context switch per sample.
- ``release`` does nothing in a thread that does not hold it.  So ``try: lock.acquire() ... finally:
  lock.release()`` is safe against a signal between any two bytecodes, unlike ``acquire`` before ``try``, at
  half the cost of ``with``.

A forked process has one thread, the one that called ``fork``, but its copy of a lock records the parent's
other threads: they wait for it, or hold it, for ever.  The first slow call after a fork forgets the waiting
threads.  If another thread held the lock, the model may be in the middle of a step, and every call raises.
The thread that forked may hold the lock: a user's loss may fork, and the step continues in both processes.

If a step fails in the middle, for lack of memory or because a feature name's ``__hash__`` raised, the model is
incomplete, and every later call raises.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock

import os

cdef extern from "pythread.h":
    enum:
        PY_LOCK_INTR
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr) nogil
    unsigned long PyThread_get_thread_ident()

cdef enum:
    TURNS = 32

cdef unsigned long GONE = <unsigned long> -1    # PYTHREAD_INVALID_THREAD_ID: the owner will never release it

cdef long forks = 0                 # number of forks between the first process and this one
cdef unsigned long survivor = 0     # the thread that called the last fork
process = os.getpid()


def _notice_fork():
    """Count a fork if this is a new process."""
    global forks, survivor, process
    if process != os.getpid():
        process = os.getpid()
        survivor = PyThread_get_thread_ident()
        forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_notice_fork)


cdef class Lock:
    """A lock that stores its owner's thread; see the head of this file."""

    def __cinit__(self):
        self.make_gate()

    def __dealloc__(self):
        if self.gate != NULL:
            PyThread_free_lock(self.gate)

    cdef int make_gate(self) except -1:
        """Create a closed gate, for threads of this process."""
        cdef PyThread_type_lock gate = PyThread_allocate_lock()
        if gate == NULL:
            raise MemoryError()
        PyThread_acquire_lock(gate, 1)
        self.gate, self.forks = gate, forks
        return 0

    cpdef int acquire(self) except -1:
        """Acquire the lock for the calling thread."""
        cdef unsigned long me = PyThread_get_thread_ident()
        if self.owner == 0 and not self.reserved:
            self.owner = me
            self.generation = forks
            return 0
        return self.wait(me)

    cpdef int release(self) except -1:
        """Release the lock if the calling thread holds it."""
        if self.owner != PyThread_get_thread_ident():
            return 0
        if self.rejected:
            self.rejected -= 1
            return 0
        self.owner = 0
        if self.waiting and self.forks == forks:
            if not self.woken:
                self.barged = 0
                self.wake()
            elif self.barged < TURNS:
                self.barged += 1
            else:
                self.reserved = True
        return 0

    cdef int wait(self, unsigned long me) except -1:
        cdef int status
        cdef long before
        self.settle_forks()
        if self.owner == me:
            self.rejected += 1
            raise RuntimeError(
                "this model is in the middle of a call of this thread: a feature name's __hash__ or __eq__, a loss or "
                "a signal handler may not call it"
            )
        if self.take(me):
            return 0
        self.waiting += 1
        before = self.forks
        try:
            while True:
                with nogil:
                    status = PyThread_acquire_lock_timed(self.gate, -1, 1)
                if status == PY_LOCK_INTR:
                    PyErr_CheckSignals()
                    _notice_fork()
                    if before != forks:  # a signal handler has forked: no thread will open the parent's gate
                        return self.wait(me)
                    continue
                self.woken = False
                if self.incomplete and self.waiting > 1:
                    self.wake()
                self.check()
                if self.owner == 0:
                    self.reserved = False
                    self.take(me)
                    return 0
        finally:
            if before == self.forks:
                self.waiting -= 1
                if self.owner != me and self.waiting == 0:  # interrupted, and no thread is waiting
                    self.reserved = False

    cdef bint take(self, unsigned long me) noexcept:
        """Acquire the lock if it is free, and return whether it was."""
        if self.owner or self.reserved:
            return False
        self.owner = me
        self.generation = forks
        return True

    cdef int settle_forks(self) except -1:
        """Forget the threads of the parent; raise if one of them held the lock."""
        _notice_fork()
        if self.forks != forks:
            self.make_gate()  # the old gate is leaked, as a thread may have been changing it at the fork
            self.waiting, self.barged, self.woken, self.reserved = 0, 0, False, False
            if self.owner and self.generation != forks and self.owner != survivor:
                self.owner = GONE
        return self.check()

    cdef int check(self) except -1:
        """Raise if the lock will never be released."""
        if self.incomplete:
            raise RuntimeError(
                "this model is incomplete: an error interrupted it in the middle of a step; load it from a checkpoint"
            )
        if self.owner == GONE:
            raise RuntimeError(
                "this process was forked while another thread was using the model: load it from a checkpoint"
            )
        return 0

    cpdef void fail(self) noexcept:
        """Record that a step failed in the middle: every later or waiting ``acquire`` raises."""
        self.owner, self.incomplete = GONE, True
        if self.waiting and not self.woken and self.forks == forks:
            self.wake()

    cdef void wake(self) noexcept:
        """Wake one waiting thread."""
        self.woken = True
        PyThread_release_lock(self.gate)

    def __reduce__(self):
        return Lock, ()  # a copied model has a new lock, which is free

    def __enter__(self):
        try:
            self.acquire()
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(self, kind, error, trace):
        self.release()
