from libc.stdint cimport int32_t

from river_okl._core.calibration cimport Calibration
from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.mixture.distances cimport Distances
from river_okl._core.mixture.expert cimport Expert, Outcome
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
    cdef double *square                 # if there are many columns, Σ coef² over them, ...
    cdef Py_ssize_t *start              # ... and a list of those that are not 0: it begins here, ...
    cdef Py_ssize_t *count              # ... and has so many
    # all lists, one after another, with gaps: columns and coefficients
    cdef int32_t *which                 # [room]
    cdef double *amount                 # [room]
    cdef Py_ssize_t used, room
    # scratch: the last sample
    cdef double *row                    # κ(z, x)
    cdef double *loss
    cdef double own                     # κ(x, x)
    cdef double *score                  # [columns]; once it is learned, the coefficients that x would have

    cdef int reserve_columns(self, Py_ssize_t columns) except -1
    cdef int reserve_lists(self, Py_ssize_t more) except -1
    cdef double margin_said(self, const Outcome *y) noexcept
    cdef void enlist(self, Py_ssize_t i) noexcept
    cdef void take_over(self, Py_ssize_t i) noexcept
    cdef void add_listed(self) noexcept
