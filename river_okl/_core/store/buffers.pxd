"""Buffers aligned to 64 bytes, for the widest vectors; new parts are zeroed."""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <malloc.h>
    #define okl_alloc(size) _aligned_malloc((size), 64)
    #define okl_free(p) _aligned_free(p)
    #else
    #include <stdlib.h>
    static void *okl_alloc(size_t size) {
        void *p = NULL;
        return posix_memalign(&p, 64, size) ? NULL : p;
    }
    #define okl_free(p) free(p)
    #endif
    """
    void *okl_alloc(size_t size) nogil
    void okl_free(void *p) nogil


cdef struct Block:          # before each buffer of an owner
    Block *before
    Block *after
    size_t size             # in bytes


cdef class Owner:
    # Base class of objects with buffers: it frees the buffers and counts their bytes.
    cdef Block *blocks

    cdef void *resize(self, void *old, size_t n, size_t capacity, size_t size) except NULL
    cdef double *doubles(self, double *old, size_t n, size_t capacity) except NULL
    cdef void release(self, void *buffer) noexcept nogil


cdef inline double *aligned(double *start) noexcept nogil:
    """Return the first position from ``start`` on that is aligned to 64 bytes."""
    return start + (64 - <size_t> start % 64) % 64 // 8


cdef void *aligned_resize(void *old, size_t n, size_t capacity, size_t size) except NULL
cdef object viewed(void *buffer, Py_ssize_t n, dtype)
cdef object array_of(const double *numbers, Py_ssize_t n)
cdef int fill(double *target, numbers, Py_ssize_t n) except -1
