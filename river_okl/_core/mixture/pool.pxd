from libc.stdint cimport uint64_t

from river_okl._core.calibration cimport Calibration
from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.mixture.distances cimport Distances
from river_okl._core.mixture.expert cimport Expert
from river_okl._core.points cimport Points


cdef class Pool(Expert):
    cdef readonly Points points
    cdef readonly Distances distances
    cdef readonly Py_ssize_t most       # points in the pool
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t columns    # of coefficients: 1, or the classes if there are more than two
    cdef Py_ssize_t reserved            # columns that there is room for
    cdef CompiledKernel kernel
    cdef Calibration calibration
    cdef Py_ssize_t capacity            # of what follows, one for each point:
    cdef double *absent                 # 0 if it is in the pool, infinite if it is not
    cdef double **coef                  # [columns]; 0 if it is not
    cdef double *square                 # if there are many columns, Σ coef² over them ...
    cdef uint64_t **marked              # [words] ... and which are not 0, a bit for each
    cdef Py_ssize_t words               # of 64 columns, that there is room for
    # scratch: the last sample
    cdef double *row                    # κ(z, x)
    cdef double own                     # κ(x, x)
    cdef double *score                  # [columns]; once it is learned, the coefficients that x would have
    cdef double *loss                   # [capacity]

    cdef int reserve_columns(self, Py_ssize_t columns) except -1
    cdef void mark(self, Py_ssize_t i) noexcept
    cdef void take_over(self, Py_ssize_t i) noexcept
    cdef void add_marked(self) noexcept
