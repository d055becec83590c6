"""The Gram matrix of the support vectors and its inverse, updated by additions and removals.

Invariants, tested by ``check``:

    gram[i, j] = κ(z_i, z_j)      gram · inverse = I, up to the jitter described below

Only the lower triangles are stored, row by row, and every O(n²) step is one pass over a triangle (linalg.h):
``solve`` is a symmetric product, ``grow`` and ``shrink`` are rank-one updates.

Ill-conditioned matrices.  A new point whose ALD (approximate linear dependence) residual δ² = k_tt - kᵀK⁻¹k is below
``FLOOR`` · k_tt depends linearly on the others up to rounding.  If an algorithm adds it all the same, δ² is raised to
the floor: the exact inverse for a Gram matrix with that jitter on the new point's diagonal entry.  1e-8 balances the
errors from jitter and from rounding in an inverse with entries of 1e8.  After a point with δ² < ``DOUBTFUL`` · k_tt,
solutions are refined against the true Gram matrix until K d = k to ``REFINED``, at most three times and as long as it
helps.  The residual k - K d is measured every ``CHECK_EVERY`` changes and in every refined solution.  If it is above
``TOLERATED``, the inverse is rebuilt by Cholesky.
"""

cimport cython
from libc.math cimport fabs
from libc.string cimport memcpy

from river_okl._core.simd cimport linalg

import numpy as np

from river_okl._core.invariants import assert_close
from river_okl._core.states import LARGEST_COUNT, checked_array, checked_flag, checked_whole

cdef enum:
    CHECK_EVERY = 64
cdef double FLOOR = 1e-8
cdef double DOUBTFUL = 1e-4
cdef double TOLERATED = 1e-5
cdef double REFINED = 1e-11


@cython.final
cdef class Gram(Owner):
    """K and K⁻¹ of support vectors."""

    def __cinit__(self):
        self.gram, self.inverse = Triangle(0), Triangle(0)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        if capacity > self.gram.capacity:
            self.solution = self.doubles(self.solution, self.gram.capacity, capacity)
            self.residual = self.doubles(self.residual, self.gram.capacity, capacity)
            self.gram.reserve(capacity)
            self.inverse.reserve(capacity)
        return 0

    cdef double solve(self, const double *k, double k_self) noexcept:
        """Set ``solution`` to d = K⁻¹ k.  Return δ² = max(0, k_self - kᵀd)."""
        cdef double ald_residual, error, before
        cdef int refinements = 0, i
        self.inverse.times(1.0, k, self.solution)
        ald_residual = self.ald_residual(k, k_self)
        if self.gram.n and (self.fragile or ald_residual < DOUBTFUL * k_self or self.steps >= CHECK_EVERY):
            error = self.measure(k)
            if not error <= TOLERATED * k_self:
                self.rebuild()
                self.inverse.times(1.0, k, self.solution)
                error = self.measure(k)
            self.steps = 0 if self.steps >= CHECK_EVERY else self.steps
            while error > REFINED * k_self and refinements < 3:
                before = error
                error = self.refine(k)
                if not error < before:  # rounding made K indefinite, so that refinement diverges: undo the last step
                    self.inverse.times(1.0, k, self.solution)
                    error = self.measure(k)
                    for i in range(refinements):  # no-cython-lint
                        error = self.refine(k)
                    break
                refinements += 1
            ald_residual = self.ald_residual(k, k_self)
        return max(0.0, ald_residual)

    cdef double refine(self, const double *k) noexcept:
        """Set d ← d + K⁻¹ (k - K d), with k - K d in ``residual``.  Return what ``measure`` does."""
        linalg.symmetric_times(
            self.inverse.numbers, self.inverse.capacity, self.inverse.n, 1.0, self.residual, 1.0, self.solution
        )
        return self.measure(k)

    cdef double ald_residual(self, const double *k, double k_self) noexcept:
        """Return k_self - kᵀd."""
        cdef Py_ssize_t i
        for i in range(self.gram.n):
            k_self -= k[i] * self.solution[i]
        return k_self

    cdef double measure(self, const double *k) noexcept:
        """Set ``residual`` to k - K d.  Return its largest entry."""
        cdef Py_ssize_t i
        cdef double worst = 0.0
        memcpy(self.residual, k, self.gram.n * sizeof(double))
        linalg.symmetric_times(
            self.gram.numbers, self.gram.capacity, self.gram.n, -1.0, self.solution, 1.0, self.residual
        )
        for i in range(self.gram.n):
            worst = max(worst, fabs(self.residual[i]))
        return worst

    cdef int append_row(self, const double *k, double k_self) except -1:
        """Append the new point to K only; call ``rebuild`` afterwards."""
        cdef Py_ssize_t n = self.gram.n
        self.gram.grow()
        memcpy(self.gram.numbers + n * self.gram.capacity, k, n * sizeof(double))
        self.gram.numbers[n * self.gram.capacity + n] = k_self
        return 0

    cdef int grow(self, const double *k, double k_self, double ald_residual) except -1:
        """Add the point with kernel row k, after ``solve`` for it has set ``solution`` and returned the residual.

        K⁻¹ ← [K⁻¹ + d dᵀ/δ², -d/δ²; -dᵀ/δ², 1/δ²]
        """
        cdef Py_ssize_t i, n = self.inverse.n
        cdef double weight = 1.0 / max(ald_residual, FLOOR * (k_self if k_self > 0.0 else 1.0))
        cdef double *row = self.inverse.numbers + n * self.inverse.capacity
        self.fragile = self.fragile or ald_residual < DOUBTFUL * k_self
        self.inverse.move(weight, self.solution)
        self.inverse.grow()
        for i in range(n):
            row[i] = -weight * self.solution[i]
        row[n] = weight
        self.append_row(k, k_self)
        self.steps += 1
        return 0

    cdef void shrink(self, Py_ssize_t i) noexcept:
        """Remove point i; the last takes its position: K⁻¹ ← K⁻¹ - b bᵀ/b_i, b its i-th column."""
        self.inverse.row(i, self.residual)
        self.inverse.move(-1.0 / self.residual[i], self.residual)
        self.inverse.settle()
        self.inverse.remove(i)
        self.gram.remove(i)
        self.steps += 1

    cdef void clear(self) noexcept:
        self.gram.clear()
        self.inverse.clear()
        self.steps = 0
        self.fragile = False

    cdef int rebuild(self) except -1:
        """Compute K⁻¹ from K by Cholesky; jitter on the diagonal grows from the floor until K is positive definite."""
        cdef Py_ssize_t j, n = self.gram.n, ld = self.inverse.capacity
        cdef double *gram = self.gram.numbers
        cdef double *inverse = self.inverse.numbers
        cdef bint positive
        cdef double jitter = 0.0
        cdef double largest = 0.0
        self.inverse.clear()
        self.inverse.n = n
        for j in range(n):
            largest = max(largest, gram[j * ld + j])
        largest = largest if largest > 0.0 else 1.0
        while n:
            for j in range(n):
                memcpy(inverse + j * ld, gram + j * ld, (j + 1) * sizeof(double))
                inverse[j * ld + j] += jitter * largest
            positive = linalg.cholesky(inverse, ld, n) == 0
            if positive:
                for j in range(n):  # a pivot below the floor marks a dependent point that rounding has hidden
                    if inverse[j * ld + j] * inverse[j * ld + j] < 0.5 * FLOOR * largest:
                        positive = False
            if positive:
                linalg.inverse(inverse, ld, n)
                break
            jitter = FLOOR if jitter == 0.0 else 10.0 * jitter
        self.fragile = jitter > 0.0
        self.steps = 0
        return 0

    cdef object times_vector(self, vector, bint inverted):
        """Return K v, or K⁻¹ v."""
        cdef Triangle matrix = self.inverse if inverted else self.gram
        cdef double[::1] view, v = np.ascontiguousarray(vector, dtype=np.float64)
        if v.shape[0] != matrix.n:
            raise ValueError(f"a vector of {v.shape[0]} numbers for {matrix.n} support vectors")
        out = np.empty(matrix.n)
        if matrix.n:
            view = out
            matrix.times(1.0, &v[0], &view[0])
        return out

    # As a whole -------------------------------------------------------------------------------------------------------

    cdef dict state(self):
        """Return the state by name."""
        return {
            "gram": self.gram.state(),
            "inverse": self.inverse.state(),
            "steps": self.steps,
            "fragile": bool(self.fragile),
        }

    cdef int restore(self, dict state, Py_ssize_t n) except -1:
        """Resume from a state of n points, after checking every number.  Call ``reserve`` first."""
        triangles = [checked_array(state, name, np.float64, n * (n + 1) // 2) for name in ("gram", "inverse")]
        steps = checked_whole(state, "steps", 0, LARGEST_COUNT)
        fragile = checked_flag("fragile", state["fragile"])
        self.gram.restore(triangles[0], n)
        self.inverse.restore(triangles[1], n)
        self.steps, self.fragile = steps, fragile
        return 0

    cdef object check(self, gram, double slack):
        """Check that K equals ``gram``, and that K⁻¹ is finite."""
        assert self.gram.n == self.inverse.n == len(gram)
        assert_close(self.gram.matrix(), gram, rtol=1e-9, atol=10 * slack + 1e-12)
        assert np.isfinite(self.inverse.matrix()).all()
