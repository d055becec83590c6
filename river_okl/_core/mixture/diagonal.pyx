"""For a target: a linear regression on all features, however many, whose coefficients have independent variances.

A sample is one step of a Kalman filter whose covariances are neglected: with the prediction m and the noise σ²,

    g_j = v_j x_j / (Σ v x² + σ²)        β_j ← β_j + g_j (y - m)        v_j ← (1 - g_j x_j) v_j

So a rare feature learns as fast after a million samples as in the beginning.  The regression with a covariance
(regression.pyx) has only the first features.

Values are not clipped at a few standard deviations, as heavy tails have their relation to the target there.  Instead a
sample with a large value is learned as if it were multiplied, constant and target included, so that this value becomes
``FULL``; what it can change stays bounded.  A prediction does not extrapolate beyond the values that a feature has had:
a value counts as at most its reach, which grows at most four-fold with a larger value, and halves in 35,000 samples.
"""

from libc.math cimport fabs, fmax, fmin

from river_okl._core.mixture.expert cimport Outcome, with_residual
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Conversion

from river_okl._core.states import LARGEST_MEAN

cdef double PRIOR = 0.1             # variance of a coefficient
cdef double DRIFT = 1e-6            # growth of a variance per sample with the feature, so that learning never stops
cdef double RATE = 0.01             # of the running squared residual
cdef double LEAST_NOISE = 0.01      # σ², in units of the target's variance
cdef double LARGEST = 1e9           # of a coefficient
cdef double FULL = 5.0              # standard deviations up to which a value counts in full, and the least reach
cdef double SHRINKING = 2e-5        # of a reach, per sample with the feature
cdef double LARGEST_REACH = 1e9, GROWTH = 4.0   # of a reach, the most at once
cdef double LARGEST_OFF = 10.0      # of a residual, in standard deviations of the target


cdef class Diagonal(Expert):
    """One prediction, from all features of a scaler."""

    def __init__(self, Scaler scaler):
        self.name, self.rows, self.scaler = "diagonal", 1, scaler
        number = {"low": -LARGEST_MEAN, "high": LARGEST_MEAN}
        self.declare(<size_t> &self.bias, "bias", (), **number)
        self.declare(<size_t> &self.bias_variance, "bias_variance", (), default=PRIOR, low=0.0, high=1.0)
        self.declare(<size_t> &self.coef, "coef", (scaler,), power=1, of_feature=-1, **number)
        self.declare(
            <size_t> &self.variance, "variances", (scaler,), default=PRIOR, low=0.0, high=LARGEST_MEAN, of_feature=-2
        )
        self.declare(
            <size_t> &self.reach, "reaches", (scaler,), default=FULL, low=0.0, high=LARGEST_REACH, of_feature=1
        )
        self.declare(<size_t> &self.residual, "residual", (), default=1.0, low=0.0, power=2)

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t j
        self.mean = self.bias
        for j in range(x.size):
            if x.places[j] >= 0:
                self.mean += self.coef[x.places[j]] * self.within_reach(x, j)
        p[0] = self.mean
        return 0

    cdef double within_reach(self, const Sample *x, Py_ssize_t j) noexcept:
        """Return the value of an item, without extrapolation."""
        cdef double reach = self.reach[x.places[j]] if self.scaler.active else LARGEST_REACH
        return fmin(fmax(x.unclipped[j], -reach), reach)

    cdef void extend(self, const Sample *x, Py_ssize_t j) noexcept:
        """Extend the reach of a feature to a new value, or let it shrink."""
        cdef double *reach = &self.reach[x.places[j]]
        reach[0] = fmax(fmax((1.0 - SHRINKING) * reach[0], fmin(fabs(x.unclipped[j]), GROWTH * reach[0])), FULL)
        reach[0] = fmin(reach[0], LARGEST_REACH)

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t j, place
        cdef double z, gain, off, total, largest = FULL, scale
        for j in range(x.size):
            self.extend(x, j)
            largest = fmax(largest, fabs(self.within_reach(x, j)))
        scale = FULL / largest
        off = fmin(fmax(scale * (y.exact - self.mean), -LARGEST_OFF), LARGEST_OFF)
        self.residual = with_residual(self.residual, off, RATE)
        total = self.bias_variance * scale * scale + fmax(self.residual, LEAST_NOISE) / y.counts
        for j in range(x.size):
            z = scale * self.within_reach(x, j)
            total += self.variance[x.places[j]] * z * z
        gain = self.bias_variance * scale / total
        self.bias += gain * off
        self.bias_variance += DRIFT - gain * scale * self.bias_variance
        for j in range(x.size):
            z, place = scale * self.within_reach(x, j), x.places[j]
            gain = self.variance[place] * z / total
            self.coef[place] = fmin(fmax(self.coef[place] + gain * off, -LARGEST), LARGEST)
            self.variance[place] *= 1.0 - gain * z
            if self.variance[place] < PRIOR:
                self.variance[place] += DRIFT
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.bias = ratio * self.bias + shift
        self.mean = ratio * self.mean + shift

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Py_ssize_t place
        Expert.change_units(self, axis, to)
        for place in range(min(to.n, self.scaler.room)):
            self.bias -= to.shift[place] * self.coef[place]

    def names(self):
        return ["diagonal"]
