"""How badly features are predicted by each other: ridge regressions of each on all others, in one matrix.

With v = (1, x) the core sums S = I + Σ (v vᵀ + ``RIDGE`` I) over n samples, and P = n S⁻¹.  The residual of feature j,
given the others, is u_j / P_jj, where u = P v; its mean square is 1 / P_jj, and as the variance of a scaled feature is
about one, the others explain a share R_j² = 1 - 1 / P_jj of it.  Features that nothing predicts do not count:

    log Σ_j (R_j² u_j)² / P_jj      their squared residuals, in standard deviations

and all of it counts as much as features are predictable, R = √ mean_j R_j².

T = S⁻¹ is what is stored: each sample is an update of rank one (Sherman and Morrison 1950), and so is the ridge, one
input after another.  Beyond 2 ``MEMORY`` samples S and n are halved.
"""

from libc.math cimport fmax, log, sqrt
from libc.string cimport memset

import numpy as np

from river_okl._core.simd cimport linalg

from river_okl._core.states import check_positive, checked_numbers, checked_whole, symmetric

# Chosen on streams of benchmarks/novelty.py.
cdef double RIDGE = 0.05
MEMORY = 8192
MOST_INPUTS = INPUTS
cdef int64_t memory = MEMORY
cdef double LEAST = 1e-6            # of the sum


cdef class Residuals(Owner):
    """Over the first features that a scaler counts."""

    def __init__(self, Scaler scaler):
        self.scaler = scaler
        self.n = 1
        self.inverse = Triangle(8)
        self.inverse.grow()
        self.inputs = self.doubles(NULL, 0, INPUTS)
        self.h = self.doubles(NULL, 0, INPUTS)
        self.column = self.doubles(NULL, 0, INPUTS)
        self.inverse.numbers[0] = 1.0

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        """Room for the features that the scaler counts."""
        cdef Py_ssize_t n = min(places + 1, INPUTS)
        if n > self.inverse.capacity:
            self.inverse.reserve(min(INPUTS, max(2 * self.inverse.capacity, (n + 7) // 8 * 8)))
        while self.inverse.n < n:
            self.inverse.grow()
        return 0

    cdef double ask(self, const Sample *x) noexcept:
        """The number of a sample, and how much it counts: ``trust``."""
        cdef Py_ssize_t j, ld = self.inverse.capacity, n = self.inverse.n, known = 0
        cdef double own, explained, residual, total = 0.0, shares = 0.0
        memset(self.inputs, 0, n * 8)
        self.inputs[0] = 1.0
        for j in range(x.size):
            if 0 <= x.places[j] < n - 1:
                self.inputs[1 + x.places[j]] = x.scaled[j]
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
        return log(self.n * total + LEAST)

    cdef void begin(self, Py_ssize_t i) noexcept:
        """Input i is learned from now on; it was 0 before."""
        cdef double own = 1.0 / (1.0 + RIDGE * (self.n - 1.0))
        self.inverse.numbers[i * self.inverse.capacity + i] = own
        self.h[i] = own * self.inputs[i]

    cdef void learn(self, const Sample *x) noexcept:
        """The sample that was asked last."""
        cdef Py_ssize_t i, j, n = self.inverse.n, ld = self.inverse.capacity
        cdef double weight
        self.inverse.settle()
        for j in range(x.size):
            i = 1 + x.places[j]
            if i < n and self.inverse.numbers[i * ld + i] == 0.0:
                self.inputs[i] = x.scaled[j]  # it had no place when the sample was asked
                self.begin(i)
        self.inverse.move(-1.0 / (1.0 + linalg.dot(self.inputs, self.h, n)), self.h)
        self.next = (self.next + 1) % n
        self.inverse.row(self.next, self.column)
        weight = RIDGE * n
        self.inverse.move(-weight / (1.0 + weight * self.column[self.next]), self.column)
        self.n += 1
        if self.n >= 2 * memory:
            self.n = memory
            self.inverse.settle()
            for i in range(n):
                for j in range(i + 1):
                    self.inverse.numbers[i * ld + j] *= 2.0

    cdef void forget(self, list places) noexcept:
        """The scaler has dropped the features at these places."""
        cdef Py_ssize_t i, j, place, ld = self.inverse.capacity
        for place in places:
            i = 1 + place
            if i >= self.inverse.n:
                continue
            self.inverse.row(i, self.column)
            if self.column[i] > 0.0:
                self.inverse.move(-1.0 / self.column[i], self.column)
                self.inverse.settle()
            memset(self.inverse.numbers + i * ld, 0, (i + 1) * 8)  # what rounding left
            for j in range(i + 1, self.inverse.n):
                self.inverse.numbers[j * ld + i] = 0.0

    def _check(self):
        inverse = self.inverse.matrix()
        assert len(inverse) <= INPUTS and 0 <= self.next < len(inverse) and 1 <= self.n < 2 * MEMORY
        assert np.linalg.eigvalsh(inverse)[0] > -1e-9, "T is positive"
        assert inverse.diagonal().max() <= 1.0 + 1e-9, "S is at least I"

    def state(self):
        """What ``restore`` takes, by name."""
        self.reserve_places(self.scaler.size)  # of a step that failed
        return {"n": self.n, "next": self.next, "inverse": self.inverse.state()}

    def restore(self, dict state):
        """Resume from a state, after checking every number."""
        cdef Py_ssize_t rows
        self.reserve_places(self.scaler.size)
        rows = self.inverse.n
        n, following = checked_whole(state, "n", 1, 2 * MEMORY - 1), checked_whole(state, "next", 0, rows - 1)
        triangle = checked_numbers("the regression of the features", state["inverse"], (rows * (rows + 1) // 2,))
        inverse = symmetric(triangle, rows)
        if not 0.0 < inverse[0, 0] or not 0.0 <= inverse.diagonal().min() <= inverse.diagonal().max() <= 1.0 + 1e-9:
            raise ValueError("the regression of the features is out of range")
        check_positive("the regression of the features", inverse)
        self.inverse.restore(triangle, rows)
        self.n, self.next = n, following


def fitted(X, n):
    """The state after n samples, of which the rows of X are the inputs of some, and the numbers of these."""
    n = int(min(n, 2 * MEMORY - 1))
    sums = (1.0 + RIDGE * (n - 1)) * np.eye(X.shape[1]) + (n - 1) / max(1, len(X)) * (X.T @ X)
    inverse = np.linalg.inv(sums)
    inverse = 0.5 * (inverse + inverse.T)
    own = inverse.diagonal()[1:]
    residuals = np.maximum(0.0, 1.0 - 1.0 / (n * own)) * (X @ inverse)[:, 1:]
    numbers = np.log(n * np.sum(residuals * residuals / own, axis=1) + LEAST)
    return {"n": n, "next": 0, "inverse": inverse[np.tril_indices(len(inverse))]}, numbers
