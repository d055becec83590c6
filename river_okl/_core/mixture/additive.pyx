"""For a target: an additive model behind the linear regression, which learns steps, thresholds and curves.

The prediction is that of the linear regression plus a function of each feature, Σ_j f_j(x_j) (Hastie and
Tibshirani 1990).  The function of a number is constant in each of ``BINS`` bins between quantiles of its
first values; that of a string is a single coefficient.  All coefficients have a prior with mean 0 and
independent variances v, and a sample is one step of a Kalman filter whose covariances are neglected: with A,
the coefficients of the sample,

    g_i = v_i / (Σ_A v + σ²)        c_i ← c_i + g_i (y - m)        v_i ← (1 - g_i) v_i
"""

from libc.math cimport fmax, fmin

import numpy as np

from river_okl._core.inputs cimport bounded
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Conversion

cdef double PRIOR = 0.1             # variance of a coefficient
cdef double DRIFT = 1e-6            # growth of a variance per sample of the coefficient, so that learning never stops
cdef double RATE = 0.01             # of the running squared residual
cdef double OUTLYING = 5.0          # bound of one sample's residual in it, in standard deviations
cdef double LEAST_NOISE = 0.01      # σ², in units of the target's variance
cdef double LARGEST_COEF = 1e9


cdef class Additive(Expert):
    """One prediction, from the first one of ``base`` and the first features of a scaler."""

    def __init__(self, Scaler scaler, Regression base):
        self.name, self.rows = "additive", 1
        self.scaler, self.base = scaler, base
        self.per_feature = Axis("feature")
        number = self.per_feature, BINS
        self.declare(<size_t> &self.count, "counts", (self.per_feature,), dtype="i4", low=0, high=VALUES)
        self.declare(
            <size_t> &self.values, "values", (self.per_feature, VALUES), dtype="f4", low=-1e6, high=1e6
        )
        self.declare(<size_t> &self.coef, "coef", number, dtype="f4", low=-LARGEST_COEF, high=LARGEST_COEF)
        self.declare(<size_t> &self.variance, "variances", number, dtype="f4", default=PRIOR, low=0.0, high=1.0)
        self.declare(<size_t> &self.residual, "residual", (), default=1.0, low=0.0, merge="mean", power=2)
        self.scratch(<size_t> &self.active, (self.per_feature,), dtype="i4")

    cpdef int reserve(self) except -1:
        self.per_feature.n = min(self.scaler.n, FEATURES)
        self.per_feature.capacity = min(self.scaler.capacity, FEATURES)
        return Expert.reserve(self)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t bin_of(self, int32_t place, double value) noexcept:
        """Return the bin of a number, by bisection."""
        cdef const float *edge = self.values + place * VALUES
        cdef Py_ssize_t b = 0, half = BINS // 2
        while half:
            if value >= edge[2 * (b + half) - 1]:
                b += half
            half //= 2
        return b

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t j
        cdef int32_t place
        cdef double total = (p - self.first)[self.base.first]
        self.n_active = 0
        for j in range(x.size):
            place = x.places[j]
            if not 0 <= place < self.per_feature.n:
                continue
            self.active[self.n_active] = <int32_t> (place * BINS)
            if not self.scaler.features[place].word:
                if self.count[place] < VALUES:
                    continue
                self.active[self.n_active] += <int32_t> self.bin_of(place, x.scaled[j])
            total += self.coef[self.active[self.n_active]]
            self.n_active += 1
        p[0] = total
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t i, j
        cdef int32_t place
        cdef double off = y.target - y.p[self.first], total = 0.0, gain, noise
        self.residual += RATE * (fmin(off * off, OUTLYING * OUTLYING * self.residual) - self.residual)
        self.residual = fmax(self.residual, LEAST_NOISE)
        noise = self.residual / y.w
        for i in range(self.n_active):
            total += self.variance[self.active[i]]
        for i in range(self.n_active):
            j = self.active[i]
            gain = self.variance[j] / (total + noise)
            self.coef[j] = <float> fmin(fmax(self.coef[j] + gain * off, -LARGEST_COEF), LARGEST_COEF)
            self.variance[j] = <float> fmin((1.0 - gain) * self.variance[j] + DRIFT, PRIOR)
        for j in range(x.size):
            place = x.places[j]
            if place < self.per_feature.n and not self.scaler.features[place].word and x.numbers[j] == x.numbers[j]:
                self.insert(place, x.scaled[j])
        return False

    cdef void insert(self, int32_t place, double value) noexcept:
        """Insert one of the first values of a number."""
        cdef float *values = self.values + place * VALUES
        cdef Py_ssize_t k = self.count[place]
        if k == VALUES:
            return
        while k > 0 and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = <float> bounded(value)
        self.count[place] += 1

    # Units ------------------------------------------------------------------------------------------------------------

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        for i in range(self.per_feature.n * BINS):
            self.coef[i] = <float> fmin(fmax(ratio * self.coef[i], -LARGEST_COEF), LARGEST_COEF)

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Py_ssize_t place, i
        for place in range(min(to.n, self.per_feature.n)):
            for i in range(place * VALUES, place * VALUES + self.count[place]):
                self.values[i] = <float> bounded(to.ratio[place] * self.values[i] + to.shift[place])

    cpdef void forget(self, Axis axis, list items) noexcept:
        Expert.forget(self, self.per_feature, [place for place in items if place < self.per_feature.n])

    # State ------------------------------------------------------------------------------------------------------------

    def names(self):
        return ["additive"]

    def merged(self, merging):
        """Return the mean of the shards' functions of each feature, weighted by precision.

        A shard's function is that of its linear regression plus its own, less that of the merged regression.  It is
        known between the first values of the shard.
        """
        counts, values, coef, variances = [
            merging.each(self, name)[:, :FEATURES] for name in ("counts", "values", "coef", "variances")
        ]
        shares = np.array([share for share, _ in merging.active])
        coef *= np.array([merging.units(each)[0] for _, each in merging.active])[:, None, None]
        lines = self.base.lines(merging, coef.shape[1])
        numbers = counts.max(axis=0) == VALUES
        found = {
            "counts": counts.max(axis=0).astype("i4"),
            "values": values[counts.argmax(axis=0), np.arange(coef.shape[1])],
            "coef": np.zeros(coef.shape[1:]), "variances": np.full(coef.shape[1:], PRIOR),
        }
        for place in range(coef.shape[1]):
            if 0 < counts[:, place].max() < VALUES:
                continue
            mean, precision = coef[:, place].copy(), shares[:, None] / np.maximum(variances[:, place], 1e-12)
            precision[variances[:, place] == 0.0] = 0.0  # of features that a shard does not have
            if numbers[place]:
                known = counts[:, place] == VALUES
                pooled = np.sort(values[known, place].ravel())
                pooled = pooled[np.linspace(0, len(pooled) - 1, VALUES).round().astype(int)]
                edges = np.concatenate([pooled[:1], pooled[1::2], pooled[-1:]])
                inside = (edges[:-1] + edges[1:]) / 2.0
                for i in range(len(shares)):
                    own = values[i, place]
                    bins = np.searchsorted(own[1::2], inside, side="right") if known.sum() > 1 else np.arange(BINS)
                    mean[i] = coef[i, place, bins] + lines[i, 1 + place] * inside + lines[i, 0] / max(1, numbers.sum())
                    covered = known[i] & (own[0] <= inside) & (inside <= own[-1])
                    precision[i] = np.where(covered, shares[i] / np.maximum(variances[i, place, bins], 1e-12), 0.0)
                found["values"][place] = pooled
            total = precision.sum(axis=0)
            known = total > 0.0
            found["coef"][place, known] = ((precision * mean).sum(axis=0) / np.maximum(total, 1e-300))[known]
            found["variances"][place, known] = np.minimum(shares.sum() / np.maximum(total, 1e-300), PRIOR)[known]
        found["coef"] = found["coef"].clip(-LARGEST_COEF, LARGEST_COEF)
        return Expert.merged(self, merging) | {
            name: array if name == "counts" else array.astype("f4") for name, array in found.items()
        }
