cimport cython

from river_okl._core.function.coefficients cimport Coefficients
from river_okl._core.function.gram cimport Gram
from river_okl._core.function.protocol cimport Function
from river_okl._core.function.values cimport Norms, Sums
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.store.points cimport Points


@cython.final
cdef class Expansion(Function):
    cdef Points points
    cdef Coefficients alpha
    cdef Gram gram_                 # or None
    cdef Norms norms
    cdef readonly object budget     # of all classes; None: no limit
    cdef object each                # the budget per class, or None
    cdef readonly bint spare

    # scratch about the last sample; never pickled
    cdef Sums sums
    cdef double ald_residual             # δ² of the last sample, if ald_residual_valid
    cdef bint ald_residual_valid

    cdef int share_budget(self, Py_ssize_t n_classes) except -1
    cdef int look(self, sample) except -1
    cdef double at(self, sample) except? -1.0
    cpdef double value(self, tuple weights=*) except? -1.0
    cdef int finish_interrupted(self) except -1
    cdef int kernel_moved(self) except -1
    cdef void fold(self, double c) noexcept
    cdef void changed(self) noexcept
    cpdef int add(self, double c, Py_ssize_t output=*) except -1
    cdef int append(self, double c, Py_ssize_t output) except -1
    cpdef int scale(self, double c) except -1
    cpdef int project_on_ball(self, double radius) except -1
    cpdef int shift(self, Py_ssize_t i, double c, Py_ssize_t output=*) except -1
    cpdef int set(self, Py_ssize_t i, double c, Py_ssize_t output=*) except -1
    cpdef int clip(self, double largest) except -1
    cpdef int remove(self, Py_ssize_t i) except -1
    cdef int drop(self, Py_ssize_t i) except -1
    cpdef int pass_on(self, Py_ssize_t r, Py_ssize_t i, double share) except -1
    cpdef int replace(self, Py_ssize_t r, double share, double c) except -1
    cdef int solve(self) except -1
    cdef int require_gram(self) except -1
    cpdef double project(self) except? -1.0
    cpdef int absorb(self, double c, Py_ssize_t output=*) except -1
    cpdef double value_of(self, Py_ssize_t i) except? -1.0
    cpdef double similarity(self, Py_ssize_t i) except? -1.0
    cpdef Py_ssize_t smallest(self) except -1
    cpdef Py_ssize_t replaceable(self, double dependent) except -1
    cdef int reserve_columns(self, Py_ssize_t n_columns) except -1
    cdef int grow(self) except -1
    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int fill(self, dict state) except -1
