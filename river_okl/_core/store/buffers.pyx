"""Ownership of buffers: an object that derives from ``Owner`` frees its buffers and reports their size to River."""

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    HEADER = 64             # bytes before each buffer, so that it stays aligned


cdef class Owner:
    """An object and its buffers."""

    def __dealloc__(self):
        while self.blocks != NULL:
            self.release(<char *> self.blocks + HEADER)

    def __sizeof__(self):
        cdef size_t total = object.__sizeof__(self)
        cdef Block *block = self.blocks
        while block != NULL:
            total += block.size
            block = block.after
        return total

    cdef void *resize(self, void *old, size_t n, size_t capacity, size_t size) except NULL:
        """Return a buffer of ``capacity`` items: the first n from ``old`` (or NULL), the others zero.  Frees
        ``old``, or leaves it unchanged if this raises."""
        cdef Block *block
        cdef char *buffer
        if capacity > (<size_t> 1 << 62) // size:
            raise MemoryError()
        block = <Block *> aligned_resize(NULL, 0, HEADER + max(capacity, 1) * size, 1)
        buffer = <char *> block + HEADER
        if n:
            memcpy(buffer, old, n * size)
        self.release(old)
        block.size = HEADER + max(capacity, 1) * size
        block.before, block.after = NULL, self.blocks
        if self.blocks != NULL:
            self.blocks.before = block
        self.blocks = block
        return buffer

    cdef double *doubles(self, double *old, size_t n, size_t capacity) except NULL:
        """``resize`` of doubles."""
        return <double *> self.resize(old, n, capacity, sizeof(double))

    cdef void release(self, void *buffer) noexcept nogil:
        """Free a buffer (or NULL) before the object is freed."""
        cdef Block *block
        if buffer == NULL:
            return
        block = <Block *> (<char *> buffer - HEADER)
        if block.before != NULL:
            block.before.after = block.after
        else:
            self.blocks = block.after
        if block.after != NULL:
            block.after.before = block.before
        okl_free(block)


cdef void *aligned_resize(void *old, size_t n, size_t capacity, size_t size) except NULL:
    """Return a buffer of ``capacity`` items of ``size`` bytes: the first n from ``old``, others zero.  Frees ``old``.

    Use it for the buffers of structs only: an object's buffers belong to its ``Owner``.
    """
    cdef void *p
    if capacity > (<size_t> 1 << 62) // size:
        raise MemoryError()
    p = okl_alloc(max(capacity, 1) * size)
    if p == NULL:
        raise MemoryError(f"river_okl could not get {capacity * size:,} bytes")
    if n:
        memcpy(p, old, n * size)
    memset(<char *> p + n * size, 0, (max(capacity, 1) - n) * size)
    okl_free(old)
    return p


cdef object viewed(void *buffer, Py_ssize_t n, dtype):
    """The first n items of a buffer, as an array of NumPy on it."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer(PyMemoryView_FromMemory(<char *> buffer, n * dtype.itemsize, PyBUF_WRITE), dtype)


cdef object array_of(const double *numbers, Py_ssize_t n):
    """Return a copy of a buffer as a NumPy array."""
    return np.array(<double[:n]> <double *> numbers) if n else np.empty(0)


cdef int fill(double *target, numbers, Py_ssize_t n) except -1:
    """Copy an array of n numbers into a buffer."""
    cdef const double[::1] source = np.ascontiguousarray(numbers, dtype=np.float64)
    if source.shape[0] != n:
        raise ValueError(f"{source.shape[0]} numbers, not {n}")
    if n:
        memcpy(target, &source[0], n * sizeof(double))
    return 0
