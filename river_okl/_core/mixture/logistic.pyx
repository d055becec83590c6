"""A Bayesian logistic regression: coefficients β of the scaled features, one column for each class, and a covariance S.

    v = xᵀ S x,  h = S x        p = softmax(βᵀ x / √(1 + π/8 v))         MacKay's approximation (1992)
    w = ½ Σ_c p_c (1 - p_c)     β_c ← β_c + h (1{c = y} - p_c) / (1 + w v)
                                S ← S - w h hᵀ / (1 + w v)

A step is an update of the extended Kalman filter.  For two classes there is one column, whose curvature is w; more
columns share the covariance.  Nothing is forgotten: the learning rate of a coefficient falls with its evidence, so that
a string is learned from a few samples, and features without influence stay at 0.  Drift is left to other experts.
"""

from libc.math cimport M_PI, fmax, sqrt


import numpy as np

from river_okl._core.calibration cimport probabilities_of
from river_okl._core.inputs cimport INPUTS, bounded, convert_coefficients, convert_covariance, inputs_of
from river_okl._core.linalg cimport Triangle
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.simd cimport linalg
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis, Classes, Conversion

from river_okl._core.states import checked_numbers

# Chosen on the benchmarks' streams, the first 3,000 samples also with twenty features of noise, and on the invoices.
cdef double PRIOR = 0.1             # variance of the coefficient of a number
cdef double PRIOR_OF_WORD = 10.0    # of the coefficient of a string, and of the constant
cdef double LEAST_CURVATURE = 1e-3
cdef double RESOLVED = 0.01         # w v below which S is not updated, so that a step costs one product with S


cdef class Logistic(Expert):
    """Bayesian logistic regression over the first features of a scaler."""

    cdef readonly Scaler scaler
    # for two classes the coefficients are of the second
    cdef double *coef           # [column, INPUTS]
    cdef Triangle covariance    # S; the variance of a coefficient that has not learned yet is 0
    # scratch: the last sample
    cdef double *inputs         # [INPUTS] x
    cdef double *h              # [INPUTS] S x
    cdef double variance        # v = xᵀ S x

    def __init__(self, Scaler scaler):
        self.name, self.rows = "logistic", 1
        self.scaler = scaler
        self.per_class = Classes(1, split=0.5)
        self.declare(<size_t> &self.coef, "coef", (self.per_class, INPUTS))
        self.scratch(<size_t> &self.inputs, (INPUTS,))
        self.scratch(<size_t> &self.h, (INPUTS,))
        self.covariance = Triangle(8)
        self.covariance.grow()
        self.begin(0, PRIOR_OF_WORD)

    cdef void begin(self, Py_ssize_t i, double prior) noexcept:
        """Start to learn coefficient i, from this prior variance."""
        self.covariance.numbers[i * self.covariance.capacity + i] = prior
        self.h[i] += prior * self.inputs[i]
        self.variance += prior * self.inputs[i] * self.inputs[i]

    cpdef int reserve(self) except -1:
        Expert.reserve(self)
        return self.covariance.extend(min(self.scaler.n + 1, INPUTS), INPUTS)

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, columns = self.per_class.n, n = self.covariance.n
        cdef double shrink
        inputs_of(x, n, self.inputs)
        self.covariance.times(1.0, self.inputs, self.h)
        self.variance = fmax(0.0, linalg.dot(self.h, self.inputs, n))
        shrink = 1.0 / sqrt(1.0 + M_PI / 8.0 * self.variance)
        for o in range(columns):
            p[o] = linalg.dot(self.coef + o * INPUTS, self.inputs, n)
        probabilities_of(p, shrink, columns, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t i, j, o, c = <Py_ssize_t> y.target, columns = self.per_class.n, n = self.covariance.n
        cdef Py_ssize_t first = 1 if columns == 1 else 0    # the class of the first column
        cdef const double *p = y.p + self.first * max(2, columns)
        cdef double curvature = 0.0, step
        for j in range(x.size):
            i = 1 + x.places[j]
            if i < n and self.covariance.numbers[i * self.covariance.capacity + i] == 0.0:
                self.inputs[i] = bounded(x.scaled[j])  # it had no place when the sample was predicted
                self.begin(i, PRIOR_OF_WORD if self.scaler.features[x.places[j]].word else PRIOR)
        for o in range(max(2, columns)):
            curvature += 0.5 * p[o] * (1.0 - p[o])
        curvature = fmax(curvature, LEAST_CURVATURE) * y.counts
        for o in range(columns):
            step = y.counts * ((1.0 if c == first + o else 0.0) - p[first + o]) / (1.0 + curvature * self.variance)
            for i in range(n):
                self.coef[o * INPUTS + i] += step * self.h[i]
        if curvature * self.variance >= RESOLVED:
            self.covariance.move(-curvature / (1.0 + curvature * self.variance), self.h)
        return False

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Py_ssize_t o, n = self.covariance.n
        self.covariance.settle()
        for o in range(self.per_class.n):
            convert_coefficients(to, n, self.coef + o * INPUTS)
        convert_covariance(to, n, self.covariance.numbers, self.covariance.capacity, self.h)

    cpdef void forget(self, Axis axis, list items) noexcept:
        cdef Py_ssize_t i, j, place
        for place in items:
            i = 1 + place
            if i >= self.covariance.n:
                continue
            self.covariance.erase(i)
            for j in range(self.per_class.n):
                self.coef[j * INPUTS + i] = 0.0

    def names(self):
        return ["logistic"]

    def _check(self):
        Expert._check(self)
        covariance = self.covariance.matrix()
        assert len(covariance) <= INPUTS
        assert np.linalg.eigvalsh(covariance)[0] > -1e-9, "the covariance is positive"
        for place in range(len(covariance) - 1):  # other features change their units
            if self.scaler.features[<Py_ssize_t> place].word:
                assert covariance[1 + place, 1 + place] <= PRIOR_OF_WORD, "a variance is at most what it was at first"
        assert not Expert.state(self)["coef"][:, len(covariance):].any()

    def state(self):
        return Expert.state(self) | {"covariance": self.covariance.state()}

    def restore(self, dict state):
        Expert.restore(self, state)
        n = self.covariance.n
        triangle = checked_numbers("the covariance of a logistic regression", state["covariance"], (n * (n + 1) // 2,))
        self.covariance.restore(triangle, n)
