from river_okl._core.kernel.rows cimport Rows
from river_okl._core.lock cimport Lock


cdef class Function:
    cdef readonly Lock lock     # the model's lock, which the core itself does not acquire
    cdef readonly Rows rows     # the last sample and the kernel; for an expansion also the rows of its points

    cdef double observed(self, sample, Py_ssize_t target) except? -1.0
    cdef Py_ssize_t count_classes(self) noexcept
