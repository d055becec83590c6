"""Online linear regression: for the combiner, the correction of the vote and the scale of intervals."""

from libc.math cimport fmax
from libc.string cimport memset

import numpy as np

from river_okl._core.simd cimport linalg
from river_okl._core.store.buffers cimport viewed

from river_okl._core.states import LARGEST_MEAN


cdef class Ridge(Table):
    """Bayesian linear regression, by recursive least squares: coefficients of at most ``max_inputs`` inputs
    and their covariance.

    A variance starts as ``prior``.  While it is smaller, it grows by ``drift`` per step, so that learning never stops.
    """

    def __init__(self, Py_ssize_t max_inputs, double prior, double drift):
        cdef Py_ssize_t i
        self.size = (max_inputs + 7) // 8 * 8
        self.prior, self.drift = prior, drift
        self.declare(<size_t> &self.coef, "coef", (self.size,), low=-LARGEST_MEAN, high=LARGEST_MEAN)
        self.declare(<size_t> &self.covariance, "covariance", (self.size, self.size), triangle=True)
        self.scratch(<size_t> &self.n, (), dtype=np.intp)
        self.scratch(<size_t> &self.inputs, (self.size,))
        self.scratch(<size_t> &self.h, (self.size,))
        self.scratch(<size_t> &self.mean, ())
        for i in range(self.size):
            self.restart(i)

    cdef void restart(self, Py_ssize_t i) noexcept:
        """Reset the coefficient of input i to its prior."""
        cdef Py_ssize_t j
        self.coef[i] = 0.0
        memset(self.covariance + i * self.size, 0, i * 8)
        for j in range(i + 1, self.size):
            self.covariance[j * self.size + i] = 0.0
        self.covariance[i * self.size + i] = self.prior

    cdef void ask(self, Py_ssize_t n) noexcept:
        """Predict from the first n inputs: set ``mean``."""
        self.n = n
        linalg.symmetric_times(self.covariance, self.size, n, 1.0, self.inputs, 0.0, self.h)
        self.mean = linalg.dot(self.coef, self.inputs, n)

    cdef void learn(self, double residual, double noise) noexcept:
        """Take a step, given the residual of the last prediction and the variance of the noise."""
        cdef double gain = 1.0 / (noise + fmax(0.0, linalg.dot(self.h, self.inputs, self.n)))
        cdef Py_ssize_t i
        for i in range(self.n):
            self.coef[i] += gain * residual * self.h[i]
        linalg.rank_one(self.covariance, self.size, self.n, -gain, self.h)
        for i in range(self.n):
            if self.covariance[i * self.size + i] < self.prior:
                self.covariance[i * self.size + i] += self.drift

    cdef void rescale_coefficients(self, const double *factors) noexcept:
        """Multiply the first n coefficients by factors, and their covariance accordingly."""
        cdef Py_ssize_t i, j
        cdef double *row
        for i in range(self.n):
            self.coef[i] *= factors[i]
            row = self.covariance + i * self.size
            for j in range(i + 1):
                row[j] *= factors[i] * factors[j]

    def _check(self):
        Table._check(self)
        covariance = viewed(self.covariance, self.size * self.size, np.dtype("f8")).reshape(self.size, self.size)
        variances = np.linalg.eigvalsh(covariance, UPLO="L")
        assert variances[0] > -1e-12 * max(1.0, variances[-1]), "a covariance is positive"
