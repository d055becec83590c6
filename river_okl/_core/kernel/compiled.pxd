cimport cython
from river_okl._core.loops cimport Factor, Program, Term
from river_okl._core.store.sample cimport Sample

cpdef enum:
    MAX_TERMS = 16
    MAX_FACTORS = 32
    BANDWIDTH_SAMPLES = 200


@cython.final
cdef class CompiledKernel:
    cdef readonly tuple terms
    cdef Program program
    cdef Term c_terms[MAX_TERMS]
    cdef Factor factors[MAX_FACTORS]
    cdef double auto[MAX_FACTORS]   # [factor] the constant of a data-driven γ, or 0
    cdef readonly int n_factors
    cdef bint radial                # κ(x, x) is the same for all x
    cdef double radial_self
    cdef bint has_distance          # some factor depends on ‖x-z‖; otherwise dot products suffice
    cdef bint adapting
    cdef dict previous              # the last sample learned, while adapting
    cdef Py_ssize_t seen
    cdef double sum_squares, sum_distances
    cdef readonly double mean_distance, mean_square  # when γ last changed; 0: unknown
    cdef Py_ssize_t next_update     # γ is updated after 2, 3, 4, 6, 9, ... samples, then fixed

    cdef bint observe(self, Sample *x) except -1
    cdef bint moves_next(self) noexcept
    cpdef bint tune(self, double mean_distance, double mean_square) noexcept
    cdef bint resolve(self) noexcept
    cdef double self_similarity(self, double square) noexcept
