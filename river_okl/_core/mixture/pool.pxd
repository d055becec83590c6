from libc.stdint cimport int32_t

from river_okl._core.calibration cimport Calibration
from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.kernel.distances cimport Distances
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.store.points cimport Points


cdef class Pool(Expert):
    cdef readonly Points points
    cdef readonly Distances distances
    cdef readonly Py_ssize_t max_points       # maximum number of points in the pool
    cdef readonly Py_ssize_t n
    cdef CompiledKernel kernel
    cdef readonly Calibration calibration
    cdef double *absent                 # [point] 0 for points of the pool, infinity for others
    cdef double *coef                   # [column, point] 0 for points outside the pool; NULL with many columns: then
    cdef double *square                 # [point] Σ coef² over the columns,
    cdef Py_ssize_t *start              # [point] start of the list of its non-zero coefficients, and
    cdef Py_ssize_t *count              # [point] length of this list
    # all lists, one after another, with gaps: columns and coefficients
    cdef int32_t *which                 # [room]
    cdef double *amount                 # [room]
    cdef Py_ssize_t used, room
    # scratch: the last sample
    cdef double *row                    # [point] κ(z, x)
    cdef double *loss                   # [point]
    cdef double own                     # κ(x, x)
    cdef double *score                  # [column] after ``learn`` the coefficients that x would have
    cdef double *of_point               # [column] the coefficients of the point that was read last

    cdef int reserve_lists(self, Py_ssize_t more) except -1
    cdef int list_score(self, Py_ssize_t i) except -1
    cdef void gather(self, Py_ssize_t i, double *out) noexcept
    cdef object coefficients(self, Py_ssize_t i)
    cdef void take_over(self, Py_ssize_t i) noexcept
