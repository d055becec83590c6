"""Online linear regression, whose learning never stops: for the regression on the features, both stacks, the correction
of the vote and the scale of intervals."""

from libc.math cimport fmax
from libc.string cimport memset

import numpy as np

from river_okl._core.inputs cimport INPUTS
from river_okl._core.simd cimport linalg

from river_okl._core.states import LARGEST_MEAN, checked_numbers


cdef class Ridge(Table):
    """Bayesian linear regression, by recursive least squares: the coefficients of n inputs, and their covariance.

    A variance starts as ``prior``.  While it is smaller, it grows by ``drift`` per step, so that learning never stops.
    """

    def __init__(self, Py_ssize_t n, double prior, double drift):
        self.prior, self.drift = prior, drift
        self.per_input, self.covariance = Axis("input"), Triangle(n)
        self.declare(<size_t> &self.coef, "coef", (self.per_input,), low=-LARGEST_MEAN, high=LARGEST_MEAN)
        self.scratch(<size_t> &self.inputs, (self.per_input,))
        self.scratch(<size_t> &self.h, (self.per_input,))
        self.scratch(<size_t> &self.mean, ())
        self.extend(n)

    cdef int extend(self, Py_ssize_t n) except -1:
        """Add inputs until there are n."""
        cdef Py_ssize_t i
        if n > self.per_input.room:
            self.grow(self.per_input, min(INPUTS, max((n + 7) // 8 * 8, 2 * self.per_input.room)))
        self.covariance.extend(n, INPUTS)
        for i in range(self.per_input.n, n):
            self.covariance.numbers[i * self.covariance.capacity + i] = self.prior
        self.per_input.n = max(n, self.per_input.n)
        return 0

    cdef int begin(self, Py_ssize_t n) except -1:
        """Reset to n inputs, all with their prior."""
        memset(self.coef, 0, self.per_input.n * 8)
        self.covariance.clear()
        self.per_input.n = 0
        return self.extend(n)

    cdef void restart(self, Py_ssize_t i) noexcept:
        """Reset the coefficient of input i to its prior."""
        self.coef[i] = 0.0
        self.covariance.erase(i)
        self.covariance.numbers[i * self.covariance.capacity + i] = self.prior

    cdef void ask(self) noexcept:
        """Predict from ``inputs``: set ``mean``."""
        self.covariance.times(1.0, self.inputs, self.h)
        self.mean = linalg.dot(self.coef, self.inputs, self.per_input.n)

    cdef double absorb(self, const double *inputs, double noise) noexcept:
        """Count an observation with this variance of its noise in the covariance, given ``h`` of its inputs; return
        the gain, by which its residual times ``h`` is the step of the coefficients."""
        cdef double gain = 1.0 / (noise + fmax(0.0, linalg.dot(self.h, inputs, self.per_input.n)))
        self.covariance.move(-gain, self.h)
        return gain

    cdef void let_drift(self) noexcept:
        """Let variances grow; a step ends with it."""
        cdef Triangle own = self.covariance
        cdef double *variance
        cdef Py_ssize_t i
        for i in range(self.per_input.n):
            variance = own.numbers + i * (own.capacity + 1)
            if variance[0] + own.weight * own.waiting[i] * own.waiting[i] < self.prior:
                variance[0] += self.drift

    cdef void learn(self, double residual, double noise) noexcept:
        """Take a step, given the residual of the last prediction and the variance of the noise."""
        cdef double gain = self.absorb(self.inputs, noise)
        cdef Py_ssize_t i
        for i in range(self.per_input.n):
            self.coef[i] += gain * residual * self.h[i]
        self.let_drift()

    cdef void rescale_coefficients(self, const double *factors) noexcept:
        """Multiply the coefficients by factors, and their covariance accordingly."""
        cdef Py_ssize_t i, j
        cdef double *row
        self.covariance.settle()
        for i in range(self.per_input.n):
            self.coef[i] *= factors[i]
            row = self.covariance.numbers + i * self.covariance.capacity
            for j in range(i + 1):
                row[j] *= factors[i] * factors[j]

    cpdef void copy(self, Table other) noexcept:
        Table.copy(self, other)
        self.covariance.copy((<Ridge> other).covariance)

    def state(self):
        return Table.state(self) | {"covariance": self.covariance.state()}

    def restore(self, dict state):
        Table.restore(self, state)
        n = self.per_input.n
        triangle = checked_numbers("the covariance of a regression", state["covariance"], (n * (n + 1) // 2,))
        self.covariance.restore(triangle, n)

    def _check(self):
        Table._check(self)
        assert self.covariance.n == self.per_input.n
        variances = np.linalg.eigvalsh(self.covariance.matrix())
        assert variances[0] > -1e-12 * max(1.0, variances[-1]), "a covariance is positive"
