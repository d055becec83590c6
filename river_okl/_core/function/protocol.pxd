from river_okl._core.lock cimport Lock
from river_okl._core.rows cimport Rows


cdef class Function:
    cdef readonly Lock lock     # of the model whose function this is: the core takes none
    cdef readonly Rows rows     # the last sample and the kernel; of an expansion the rows of its points, too

    cpdef double observe(self, sample, Py_ssize_t target=*) except? -1.0
    cdef Py_ssize_t count_classes(self) noexcept
