cimport cython
from river_okl._core.loops cimport Factor, Loops, Program, Term
from river_okl._core.sample cimport Sample

cdef const Loops *loops  # in use


@cython.final
cdef class Kernel:
    cdef readonly tuple terms
    cdef Program program
    cdef Term c_terms[16]
    cdef Factor factors[32]
    cdef bint radial                # κ(x, x) is the same for all x:
    cdef double radial_self
    cdef bint has_distance          # some factor is one of ‖x-z‖; otherwise dot products are all it takes
    cdef bint adapting
    cdef dict previous              # the last sample learned, while adapting
    cdef Py_ssize_t seen
    cdef double sum_squares, sum_distances
    cdef readonly double mean_distance, mean_square  # when γ last moved; 0: nothing known
    cdef Py_ssize_t next_update     # γ moves when 2, 3, 4, 6, 9, ... samples have been seen, then stays

    cdef bint observe(self, Sample *x) except -1
    cdef int tune(self, double mean_distance, double mean_square) except -1
    cdef int resolve(self) except -1
    cdef double self_similarity(self, double square) noexcept
