from river_okl._core.calibration cimport Calibration
from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.mixture.distances cimport Distances
from river_okl._core.points cimport Points

cdef class Pool:
    cdef readonly Points points
    cdef readonly Distances distances
    cdef readonly Py_ssize_t most       # points in the pool
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t columns    # of coefficients: 1, or the classes where there are more than two
    cdef Py_ssize_t reserved            # columns that there is room for
    cdef CompiledKernel kernel
    cdef Calibration calibration
    cdef Py_ssize_t capacity            # of what follows, one for each point:
    cdef double *absent                 # 0 where it is in the pool, infinite where it is not
    cdef double **coef                  # [columns]; 0 where it is not
    # scratch: the last sample
    cdef double *row                    # κ(z, x)
    cdef double own                     # κ(x, x)
    cdef double *score                  # [columns], and once it is learned the coefficients that x would have
    cdef double *loss                   # [capacity]

    cdef inline bint holds(self, Py_ssize_t i) noexcept:
        return self.absent[i] == 0.0

    cdef int reserve_columns(self, Py_ssize_t columns) except -1
    cdef int reserve_points(self) except -1
    cdef void add_class(self) noexcept
    cdef int ask(self, double *p) except -1
    cdef bint learn(self, Py_ssize_t c, double w) noexcept
    cdef Py_ssize_t evict(self) noexcept
    cdef void hold(self, Py_ssize_t i) noexcept
    cdef void stored(self) noexcept
    cdef void dropped(self, Py_ssize_t i) noexcept
    cdef void tune(self) noexcept
    cdef void explain(self, double weight, bint at_sample, double *out) noexcept
