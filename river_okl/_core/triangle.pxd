cdef class Triangle:
    cdef readonly Py_ssize_t n, capacity
    cdef double *numbers            # [capacity, capacity], the lower triangle
    cdef double *waiting            # [capacity] v of the step that waits
    cdef double weight              # its weight; 0: none waits

    cdef void times(self, double scale, const double *v, double *out) noexcept nogil
    cdef void mirror(self) noexcept nogil
    cdef void times_mirrored(self, const double *v, double *out) noexcept nogil
    cdef void move(self, double weight, const double *v) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void grow(self) noexcept nogil
    cdef void remove(self, Py_ssize_t i) noexcept nogil
    cdef void row(self, Py_ssize_t i, double *out) noexcept nogil


cdef object packed(const double *a, Py_ssize_t ld, Py_ssize_t n)
cdef int unpack(object triangle, double *a, Py_ssize_t ld, Py_ssize_t n) except -1
