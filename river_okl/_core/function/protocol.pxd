from river_okl._core.lock cimport Lock


cdef class Function:
    cdef readonly Lock lock     # of the model whose function this is: the core takes none

    cpdef double observe(self, sample, Py_ssize_t target=*) except? -1.0
    cdef Py_ssize_t count_classes(self) noexcept
