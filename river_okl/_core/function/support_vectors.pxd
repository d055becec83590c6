from river_okl._core.function.gram cimport Gram
from river_okl._core.function.protocol cimport Function
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.store.points cimport Points


cdef class SupportVectors(Function):
    cdef Points points
    cdef Gram gram_                 # or None
    # scratch about the last sample; never pickled
    cdef double ald_residual        # δ² of the last sample, if ald_residual_valid
    cdef bint ald_residual_valid

    cpdef double similarity(self, Py_ssize_t i) except? -1.0
    cdef int solve(self) except -1
    cdef Gram required(self)
    cpdef double project(self) except? -1.0
