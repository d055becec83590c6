from river_okl._core.metrics cimport Metrics
from river_okl._core.points cimport Points
from river_okl._core.sample cimport Sample

cdef enum:
    NEAREST = 4


cdef class Neighbours:
    cdef readonly Points points
    cdef readonly Metrics metrics
    cdef readonly bint regression
    cdef Py_ssize_t capacity
    cdef double *target                     # [capacity] of every point: the number of its class, or a standardised one
    cdef double chance[NEAREST + 1]         # that a class with so many of the nearest is the right one
    cdef double count[NEAREST + 1]          # of the classes that this is known from
    # scratch: the last sample
    cdef double *distance                   # [capacity], squared, less ‖x‖²
    cdef Py_ssize_t nearest[NEAREST]
    cdef Py_ssize_t found

    cdef int reserve_points(self) except -1
    # A sample
    cdef void look(self) noexcept
    cdef Py_ssize_t votes(self, Py_ssize_t o) noexcept
    cdef void ask(self, Py_ssize_t n_classes, double *p) noexcept
    cdef void learn(self, Py_ssize_t n_classes, Py_ssize_t c, double counts) noexcept
    cdef void tell_apart(self, const Sample *x, const double *values, double target) noexcept
    cdef void rescale(self, double ratio, double shift) noexcept
    # Points come and go
    cdef void stored(self, double target) noexcept
    cdef void dropped(self, Py_ssize_t i) noexcept
