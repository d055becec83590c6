"""Kernels for the vector loops: compiled to terms of factors, with data-driven bandwidths."""

cimport cython
from libc.math cimport fmin, sqrt
from libc.string cimport memcpy

from river_okl._core.loops cimport DOT_POWER, EXP_DISTANCE, EXP_SQUARED_DISTANCE
from river_okl._core.simd cimport loops
from river_okl._core.store.buffers cimport aligned, aligned_resize, okl_free
from river_okl._core.store.points cimport LANES
from river_okl._core.store.sample cimport LARGEST, LARGEST_COUNT, LARGEST_SUM

import math

import numpy as np

from river_okl._core.states import checked_flag, checked_float, checked_whole
from river_okl._core.store.sample import plain

SUMS = ("sum_squares", "sum_distances", "mean_square", "mean_distance")

FACTOR_KINDS = (EXP_SQUARED_DISTANCE, EXP_DISTANCE, DOT_POWER)
"""The constants in rows.h for exp(-γ ‖x-z‖²), exp(-γ ‖x-z‖) and (γ x·z + c)^degree."""


@cython.final
cdef class CompiledKernel:
    """A kernel for the loops, and the scale of the stream if its bandwidth is data-driven.

    ``terms`` comes from ``river_okl.kernels``: (weight, ((kind, degree, gamma, coef0, auto), ...)), ....  A factor
    with auto > 0 has a data-driven γ: auto / mean ‖x-x'‖² (EXP_SQUARED_DISTANCE), its square root (EXP_DISTANCE), or
    auto / mean ‖x‖² (DOT_POWER).  The means are over the first samples learned; x and x' are consecutive.
    """

    def __init__(self, tuple terms):
        cdef int t, f = 0
        if not 1 <= len(terms) <= MAX_TERMS or sum(len(factors) for _, factors in terms) > MAX_FACTORS:
            raise ValueError(f"a kernel has at most {MAX_TERMS} terms and {MAX_FACTORS} factors")
        self.terms = terms
        for t, (weight, factors) in enumerate(terms):
            self.c_terms[t].weight = weight
            self.c_terms[t].n_factors = len(factors)
            for kind, degree, gamma, coef0, auto in factors:
                self.factors[f] = Factor(kind, degree, 0.0 if auto else gamma, coef0)
                self.auto[f] = auto
                self.adapting = self.adapting or auto > 0.0
                f += 1
        self.n_factors = f
        self.radial = all(kind != DOT_POWER for _, factors in terms for kind, *_ in factors)
        self.has_distance = any(kind != DOT_POWER for _, factors in terms for kind, *_ in factors)
        self.program.n_terms = len(terms)
        self.program.terms = self.c_terms
        self.program.factors = self.factors
        self.next_update = 1

    @property
    def gammas(self):
        """The current γ of every factor."""
        return tuple(self.factors[f].gamma for f in range(self.n_factors))

    cdef bint observe(self, Sample *x) except -1:
        """Update the scale of the stream with a sample to be learned.  Return whether γ changed."""
        cdef Py_ssize_t i
        cdef bint moved
        cdef double distance = 0.0
        now = {<object> x.keys[i]: x.numbers[i] for i in range(x.size)}
        if self.previous is not None:
            distance = math.fsum(
                [(now.get(key, 0.0) - self.previous.get(key, 0.0)) ** 2 for key in now.keys() | self.previous.keys()]
            )
        self.sum_squares += math.fsum([v * v for v in now.values()])
        self.sum_distances += distance
        self.previous = now
        self.seen += 1
        if self.seen < self.next_update:
            return False
        self.next_update = min(max(self.seen + 1, self.seen * 3 // 2), max(self.seen + 1, BANDWIDTH_SAMPLES))
        self.mean_distance = self.sum_distances / (self.seen - 1) if self.seen > 1 else 0.0
        self.mean_square = self.sum_squares / self.seen
        moved = self.resolve()
        if self.seen >= BANDWIDTH_SAMPLES and (self.sum_distances > 0.0 or self.seen >= 100 * BANDWIDTH_SAMPLES):
            self.adapting = False
            self.previous = None
        return moved  # unless γ changed, the Gram matrix need not be recomputed (a stream of identical samples)

    @property
    def constant_self_similarity(self):
        """κ(x, x) if it is the same for all x, otherwise None."""
        return self.self_similarity(0.0) if self.radial else None

    cdef bint moves_next(self) noexcept:
        """Return whether γ may change with the next sample."""
        return self.adapting and self.seen + 1 >= self.next_update

    cpdef bint tune(self, double mean_distance, double mean_square) noexcept:
        """Set every data-driven γ from given means.  Return whether one changed."""
        self.mean_distance, self.mean_square = mean_distance, mean_square
        self.radial_self = 0.0
        return self.resolve()

    cdef bint resolve(self) noexcept:
        """Set every data-driven γ from the means.  Return whether one changed."""
        cdef int f
        cdef double mean, gamma
        cdef bint moved = False
        for f in range(self.n_factors):
            if self.auto[f] > 0.0:
                mean = self.mean_square if self.factors[f].kind == DOT_POWER else self.mean_distance
                gamma = fmin(self.auto[f] / mean, 1e100) if mean > 0.0 else 0.0  # finite even for features of 1e-160
                gamma = sqrt(gamma) if self.factors[f].kind == EXP_DISTANCE else gamma
                moved = moved or gamma != self.factors[f].gamma
                self.factors[f].gamma = gamma
        return moved

    def evaluate(self, const double[:, ::1] dots, const double[::1] own, const double[::1] squares):
        """Return the matrix of κ(x_i, z_j), from x_i·z_j, ‖x_i‖² and ‖z_j‖²."""
        cdef Py_ssize_t i, n = squares.shape[0], padded = (n + LANES - 1) // LANES * LANES
        found = np.empty((own.shape[0], n))
        cdef double[:, ::1] values = found
        cdef double *row
        if dots.shape[0] != own.shape[0] or dots.shape[1] != n:
            raise ValueError(f"{dots.shape[0]} x {dots.shape[1]} products of {own.shape[0]} points with {n}")
        if not found.size:
            return found
        row = <double *> aligned_resize(NULL, 0, 3 * padded, sizeof(double))
        memcpy(row + padded, &squares[0], n * sizeof(double))
        for i in range(own.shape[0]):
            memcpy(row, &dots[i, 0], n * sizeof(double))
            loops.kernel_row(&self.program, row, False, row + padded, own[i], padded, row + 2 * padded)
            memcpy(&values[i, 0], row + 2 * padded, n * sizeof(double))
        okl_free(row)
        return found

    cdef double self_similarity(self, double square) noexcept:
        cdef double room[4 * LANES]
        cdef double *dots = aligned(room)
        cdef double *squares = dots + LANES
        cdef double *out = squares + LANES
        cdef int i
        if self.radial:
            square = 0.0
            if self.radial_self != 0.0:
                return self.radial_self
        for i in range(LANES):
            dots[i] = squares[i] = square
        loops.kernel_row(&self.program, dots, False, squares, square, LANES, out)
        if self.radial:
            self.radial_self = out[0]
        return out[0]

    def state(self):
        """Return the state by name, except the terms."""
        return {
            "adapting": bool(self.adapting),
            "previous": None if self.previous is None else {plain(name): v for name, v in self.previous.items()},
            "seen": self.seen,
            "next_update": self.next_update,
            "sum_squares": self.sum_squares,
            "sum_distances": self.sum_distances,
            "mean_square": self.mean_square,
            "mean_distance": self.mean_distance,
        }

    def restore(self, dict state):
        """Resume from a state, after checking every number."""
        adapting, previous = checked_flag("adapting", state["adapting"]), state["previous"]
        if adapting and all(auto == 0.0 for _, factors in self.terms for *_, auto in factors):
            raise ValueError("a kernel without a data-driven bandwidth does not adapt")
        if not (previous is None or type(previous) is dict) or not all(
            type(v) is float and abs(v) <= LARGEST for v in (previous or {}).values()
        ):
            raise ValueError("the previous sample of the kernel is out of range")
        seen, next_update = [checked_whole(state, name, 0, LARGEST_COUNT) for name in ("seen", "next_update")]
        sums = [checked_float(state, name, 0.0, LARGEST_SUM) for name in SUMS]
        sum_squares, sum_distances, mean_square, mean_distance = sums
        self.sum_squares, self.sum_distances = sum_squares, sum_distances
        self.adapting, self.previous, self.seen, self.next_update = adapting, previous, seen, next_update
        self.tune(mean_distance, mean_square)

    def __setstate__(self, state):
        self.restore(state)

    def __reduce__(self):
        return CompiledKernel, (self.terms,), self.state()
