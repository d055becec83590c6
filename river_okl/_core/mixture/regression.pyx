"""For a target: a Bayesian linear regression on the features."""

from libc.math cimport fmax

from river_okl._core.inputs cimport convert_coefficients, convert_covariance, inputs_of
from river_okl._core.linalg cimport Triangle
from river_okl._core.mixture.expert cimport DISCOUNT, Outcome, with_residual
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Conversion

from river_okl._core.states import LARGEST_COUNT

LINEAR = 0.1, 1e-6                  # prior variance of a coefficient, and its growth per sample
cdef double LEAST_RESIDUAL = 1e-4   # of the running squared residual
cdef double LEAST_NOISE = 0.01      # variance


cdef class Regression(Expert):
    """One prediction, from the first features of a scaler, for a target in units of its standard deviation."""

    def __init__(self, Scaler scaler):
        self.name, self.rows = "linear", 1
        self.scaler = scaler
        self.ridge = self.contain("ridge", Ridge(1, *LINEAR))
        self.declare(<size_t> &self.residual, "residual", (), default=1.0, low=LEAST_RESIDUAL, power=2)
        self.declare(<size_t> &self.seen, "seen", (), dtype="i8", low=0, high=LARGEST_COUNT)

    cpdef int reserve(self) except -1:
        """Add inputs for new features, between the prediction of a sample and its step, too."""
        return self.ridge.extend(min(self.scaler.n + 1, LINEAR_INPUTS))

    cdef int ask(self, const Sample *x, double *p) except -1:
        inputs_of(x, self.ridge.per_input.n, self.ridge.inputs)
        self.ridge.ask()
        p[0] = self.ridge.mean
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Learn; the noise is the running squared residual."""
        cdef double off = y.target - self.ridge.mean
        self.seen += 1
        self.residual = with_residual(self.residual, off, fmax(1.0 - DISCOUNT, 1.0 / (self.seen + 1)))
        self.residual = fmax(self.residual, LEAST_RESIDUAL)
        self.ridge.learn(off, fmax(self.residual, LEAST_NOISE) / y.w)
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        for i in range(self.ridge.per_input.n):
            self.ridge.coef[i] *= ratio
        self.ridge.coef[0] += shift
        self.ridge.mean = ratio * self.ridge.mean + shift

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Triangle covariance = self.ridge.covariance
        covariance.settle()
        convert_coefficients(to, covariance.n, self.ridge.coef)
        convert_covariance(to, covariance.n, covariance.numbers, covariance.capacity, self.ridge.h)

    cpdef void forget(self, Axis axis, list items) noexcept:
        cdef Py_ssize_t place
        for place in items:
            if place < self.ridge.per_input.n - 1:
                self.ridge.restart(1 + place)

    def names(self):
        return ["linear"]
