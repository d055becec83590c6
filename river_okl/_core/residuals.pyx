"""How badly features are predicted from each other: ridge regressions of each feature on all others, in one matrix.

With v = (1, x) the core sums S = I + Σ (v vᵀ + ``RIDGE`` I) over n samples, and P = n S⁻¹.  The residual of
feature j, given the others, is u_j / P_jj, where u = P v, with mean square 1 / P_jj.  As the variance of a
scaled feature is about one, the others explain a share R_j² = 1 - 1 / P_jj of it.  Weighted by R_j²,
unpredictable features do not count:

    log Σ_j (R_j² u_j)² / P_jj      the squared residuals, in standard deviations

The level of this measure is multiplied by the predictability of the features, R = √ mean_j R_j².

T = S⁻¹ is stored: each sample is a rank-one update (Sherman and Morrison 1950), and so is the ridge of one input at a
time.  After 2 ``REGRESSION_MEMORY`` samples S and n are halved.
"""

from libc.math cimport fmax, log, sqrt

import numpy as np

from river_okl._core.inputs cimport bounded, convert_covariance, inputs_of
from river_okl._core.simd cimport linalg
from river_okl._core.store.table cimport Axis, Conversion

from river_okl._core.states import checked_numbers, checked_whole

# Chosen on streams of benchmarks/novelty.py.
RIDGE = 0.05
LEAST = 1e-6                        # added to the sum, so that its logarithm is finite
REGRESSION_MEMORY = 8192
cdef double ridge = RIDGE, least = LEAST
cdef int64_t memory = REGRESSION_MEMORY


cdef class Residuals(Table):
    """Regressions over the first features that a scaler counts."""

    def __init__(self, Scaler scaler):
        self.scaler = scaler
        self.n = 1
        self.inverse = Triangle(8)
        self.inverse.grow()
        self.inputs = self.doubles(NULL, 0, INPUTS)
        self.h = self.doubles(NULL, 0, INPUTS)
        self.column = self.doubles(NULL, 0, INPUTS)
        self.inverse.numbers[0] = 1.0

    cpdef int reserve(self) except -1:
        """Make room for all features, within the bound."""
        return self.inverse.extend(min(self.scaler.n + 1, INPUTS), INPUTS)

    cdef double ask(self, const Sample *x) noexcept:
        """Return the measure of a sample, and set ``trust`` to R."""
        cdef Py_ssize_t j, ld = self.inverse.capacity, n = self.inverse.n, known = 0
        cdef double own, explained, residual, total = 0.0, shares = 0.0
        inputs_of(x, n, self.inputs)
        self.inverse.times(1.0, self.inputs, self.h)
        for j in range(1, n):
            own = self.inverse.numbers[j * ld + j]
            if own > 0.0:
                explained = fmax(0.0, 1.0 - 1.0 / (self.n * own))
                residual = explained * self.h[j]
                total += residual * residual / own
                shares += explained
                known += 1
        self.trust = sqrt(shares / known) if known else 0.0
        return log(self.n * total + least)

    cdef void begin(self, Py_ssize_t i) noexcept:
        """Start to learn input i, which was 0 before."""
        cdef double own = 1.0 / (1.0 + ridge * (self.n - 1.0))
        self.inverse.numbers[i * self.inverse.capacity + i] = own
        self.h[i] = own * self.inputs[i]

    cdef void learn(self, const Sample *x) noexcept:
        """Learn the sample given to ``ask`` last."""
        cdef Py_ssize_t i, j, n = self.inverse.n, ld = self.inverse.capacity
        cdef double weight
        self.inverse.settle()
        for j in range(x.size):
            i = 1 + x.places[j]
            if i < n and self.inverse.numbers[i * ld + i] == 0.0:
                self.inputs[i] = bounded(x.scaled[j])  # the input had no place at ``ask``
                self.begin(i)
        self.inverse.move(-1.0 / (1.0 + linalg.dot(self.inputs, self.h, n)), self.h)
        self.next = (self.next + 1) % n
        self.inverse.row(self.next, self.column)
        weight = ridge * n
        self.inverse.move(-weight / (1.0 + weight * self.column[self.next]), self.column)
        self.n += 1
        if self.n >= 2 * memory:
            self.n = memory
            self.inverse.settle()
            for i in range(n):
                for j in range(i + 1):
                    self.inverse.numbers[i * ld + j] *= 2.0

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert S⁻¹ to new units of the features; the ridge so far is converted, too."""
        self.inverse.settle()
        convert_covariance(to, self.inverse.n, self.inverse.numbers, self.inverse.capacity, self.column)

    cpdef void forget(self, Axis axis, list items) noexcept:
        """Remove the features at these places, which the scaler has forgotten."""
        cdef Py_ssize_t i, place
        for place in items:
            i = 1 + place
            if i >= self.inverse.n:
                continue
            self.inverse.row(i, self.column)
            if self.column[i] > 0.0:
                self.inverse.move(-1.0 / self.column[i], self.column)
            self.inverse.erase(i)  # rounding errors remain

    def _check(self):
        inverse = self.inverse.matrix()
        assert len(inverse) <= INPUTS and 0 <= self.next < len(inverse) and 1 <= self.n < 2 * REGRESSION_MEMORY
        assert np.linalg.eigvalsh(inverse)[0] > -1e-9, "T is positive"

    def state(self):
        """Return the state by name, for ``restore``."""
        return {"n": self.n, "next": self.next, "inverse": self.inverse.state()}

    def restore(self, dict state):
        """Resume from a state, after checking every number."""
        cdef Py_ssize_t rows
        self.reserve()
        rows = self.inverse.n
        n = checked_whole(state, "n", 1, 2 * REGRESSION_MEMORY - 1)
        following = checked_whole(state, "next", 0, rows - 1)
        triangle = checked_numbers("the regression of the features", state["inverse"], (rows * (rows + 1) // 2,))
        self.inverse.restore(triangle, rows)
        self.n, self.next = n, following
