"""Which features the residuals of the processes depend on: an expert without predictions.

The slopes of a model along a feature that its metric has dropped are 0, although the feature may matter.  Its
residuals r show it.  In bins b of the feature's scaled value,

    χ² = Σ_b n_b (r_b - mean r)² / var r        over residuals with means r_b

has the mean k and the variance 2 k, where k is the number of bins - 1, if r does not depend on the feature.  A string
has two bins, the samples with and without it.  Once a metric has the feature, its residuals no longer depend on it.
"""

from libc.math cimport fabs, fmax, fmin, sqrt
from libc.stdint cimport int8_t
from libc.string cimport memset

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Conversion

cdef enum:
    BINS = 8
    SIDE = BINS // 2

cdef double[SIDE - 1] EDGES = [0.3186, 0.6745, 1.1503]  # octiles of the standard normal distribution
cdef double LEAST_SAMPLES = 40.0
cdef double SIGNIFICANT = 3.0       # standard deviations of χ²
cdef double LARGEST = 1e30          # of a sum
cdef double LARGEST_RESIDUAL = 1e9
cdef double LARGEST_CHANGE = 0.25   # of a unit: beyond it the bins of a feature do not match any more


cdef class Dependence(Expert):
    """Sums of residuals in bins of every feature of a scaler."""

    def __init__(self, Scaler scaler):
        self.name = "dependence"
        self.scaler = scaler
        self.declare(<size_t> &self.total, "total", (3,), low=-LARGEST, high=LARGEST, merge="mean")
        per_bin = scaler, BINS
        self.declare(<size_t> &self.number, "numbers", per_bin, dtype="f4", low=0.0, high=LARGEST, merge="mean")
        self.declare(<size_t> &self.sums, "sums", per_bin, dtype="f4", low=-LARGEST, high=LARGEST, merge="mean")

    cdef int add_class(self) except -1:
        """Forget all samples: there are no residuals of more than two classes."""
        memset(self.total, 0, 3 * 8)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t i, j, b
        cdef double off, residual = fmin(fmax(y.residual, -LARGEST_RESIDUAL), LARGEST_RESIDUAL)
        if y.residual != y.residual:
            return False
        self.total[0] += y.counts
        self.total[1] += y.counts * residual
        self.total[2] += y.counts * residual * residual
        for j in range(x.size):
            if x.numbers[j] != x.numbers[j]:
                continue
            off, b = fabs(x.scaled[j]), 0
            for i in range(SIDE - 1):
                b += off > EDGES[i]
            i = BINS * x.places[j] + (SIDE + b if x.scaled[j] > 0.0 else SIDE - 1 - b)
            self.number[i] += <float> y.counts
            self.sums[i] += <float> (y.counts * residual)
        return False

    cdef bint is_significant(self, Py_ssize_t place) noexcept:
        """Whether the residuals depend on the feature at this place."""
        cdef double n = self.total[0], mean = self.total[1] / fmax(n, 1e-300), variance, of_feature = 0.0, total = 0.0
        cdef double square = 0.0
        cdef const float *number = self.number + BINS * place
        cdef const float *sums = self.sums + BINS * place
        cdef Py_ssize_t b
        cdef int k = -1
        variance = self.total[2] / fmax(n, 1e-300) - mean * mean
        if n < LEAST_SAMPLES or variance <= 0.0:
            return False
        for b in range(BINS):
            of_feature += number[b]
            total += sums[b]
            k += number[b] > 0.0
        if k < 0:
            return False
        if k == 0:  # those with the feature, against all
            square, k = (total - mean * of_feature) ** 2 / of_feature / fmax(1.0 - of_feature / n, 1e-3), 1
        else:
            for b in range(BINS):
                if number[b] > 0.0:
                    square += (sums[b] - number[b] * total / of_feature) ** 2 / number[b]
        return square / variance - k > SIGNIFICANT * sqrt(2.0 * k)

    cdef void judge(self, int8_t *out) noexcept:
        """Write whether the residuals depend on each feature."""
        cdef Py_ssize_t place
        for place in range(self.scaler.n):
            out[place] = self.is_significant(place)

    cdef void halve(self) noexcept:
        """Forget half of all samples."""
        cdef Py_ssize_t i
        for i in range(3):
            self.total[i] *= 0.5
        for i in range(BINS * self.scaler.n):
            self.number[i] *= <float> 0.5
            self.sums[i] *= <float> 0.5

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        self.total[1] *= ratio
        self.total[2] *= ratio * ratio
        for i in range(BINS * self.scaler.n):
            self.sums[i] *= <float> ratio

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        cdef Py_ssize_t place
        for place in range(min(to.n, self.scaler.room)):
            if fabs(to.ratio[place] - 1.0) > LARGEST_CHANGE or fabs(to.shift[place]) > LARGEST_CHANGE:
                self.reset(self.scaler, place)
