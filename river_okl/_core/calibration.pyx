"""Probabilities from margins: a sigmoid whose slope is fitted to the stream, in O(1) per sample.

Platt scaling with one parameter, so that the predicted label always has a probability above 1/2: P(+1 | s) = σ(a s/m).
s is the score before the sample is learned, m² its running mean square, and a the minimiser of the log loss, tracked by
Newton's method.  Both m and a forget, as margins change in size while a model learns.  The constants were chosen on
nine classes and three streams.
"""

from libc.math cimport INFINITY, exp, fmax, fmin, sqrt

from river_okl._core.store.sample cimport LARGEST_COUNT, LARGEST_SELF

from river_okl._core.states import checked_float, checked_whole

cdef double FIT_DECAY = 0.995   # of the fit: about 200 samples
cdef double SIZE_DECAY = 0.95   # of m²
cdef double SHARPNESS = 8.0     # of weights by losses
cdef double PRIOR = 5.0         # curvature before the first sample, when a is 2


cdef class Calibration:
    """The fitted sigmoid."""

    def __cinit__(self):
        self.slope = 2.0
        self.curvature = PRIOR
        self.mean_square = 0.0
        self.seen = 0

    cpdef double factor(self):
        """Return the factor of a score in the sigmoid, a/m."""
        return self.slope / sqrt(self.mean_square) if self.mean_square > 0.0 else 1.0

    cpdef int update(self, double margin) except -1:
        """Update the fit with the margin y s of a sample, before it is learned."""
        cdef double u, p
        self.seen += 1
        margin = fmin(fmax(margin, -LARGEST_SELF), LARGEST_SELF)  # so that its square is finite
        self.mean_square += (margin * margin - self.mean_square) * max(1.0 / self.seen, 1.0 - SIZE_DECAY)
        if self.mean_square <= 0.0:
            return 0
        u = margin / sqrt(self.mean_square)
        p = sigmoid(self.slope * u)
        self.curvature = FIT_DECAY * self.curvature + max(p * (1.0 - p), 1e-3) * u * u + (1.0 - FIT_DECAY) * PRIOR
        self.slope = min(max(self.slope + (1.0 - p) * u / self.curvature, 1e-2), 1e2)
        return 0

    def state(self):
        """Return the fit by name, for a checkpoint."""
        return {"slope": self.slope, "curvature": self.curvature, "mean_square": self.mean_square, "seen": self.seen}

    def restore(self, state):
        """Resume from the fit of a checkpoint, after checking every number."""
        self.slope = checked_float(state, "slope", 1e-2, 1e2)
        self.curvature = checked_float(state, "curvature", 1e-300, LARGEST_SELF)
        self.mean_square = checked_float(state, "mean_square", 0.0, LARGEST_SELF * LARGEST_SELF)
        self.seen = checked_whole(state, "seen", 0, LARGEST_COUNT)

    def __setstate__(self, state):
        self.restore(state)

    def __reduce__(self):
        return Calibration, (), self.state()


cpdef double sigmoid(double z):
    """Return 1 / (1 + exp(-z)) without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + exp(-z))
    z = exp(z)
    return z / (1.0 + z)


cdef void softmax(const double *scores, double factor, Py_ssize_t n, double *out) noexcept nogil:
    """Set ``out`` to exp(factor · score), normalised; it may be the array of scores."""
    cdef Py_ssize_t o
    cdef double largest = -INFINITY, other = -INFINITY, total = 0.0
    for o in range(0, n - 1, 2):  # two maxima, to break the chain of dependencies; not fmax, which is a call
        largest = scores[o] if scores[o] > largest else largest
        other = scores[o + 1] if scores[o + 1] > other else other
    if n % 2:
        largest = scores[n - 1] if scores[n - 1] > largest else largest
    largest = other if other > largest else largest
    for o in range(n):
        out[o] = exp(factor * (scores[o] - largest))
        total += out[o]
    for o in range(n):
        out[o] /= total


cdef void probabilities_of(const double *scores, double factor, Py_ssize_t columns, double *out) noexcept:
    """Of every class, from a score of each; of two classes from that of the second.  ``out`` may be the scores."""
    if columns == 1:
        out[1] = sigmoid(factor * scores[0])
        out[0] = 1.0 - out[1]
    else:
        softmax(scores, factor, columns, out)


cdef void weights_of_logs(double *log_weight, Py_ssize_t n, double *weight) noexcept nogil:
    """Compute weights from their logarithms, which are shifted so that the largest is 0."""
    cdef Py_ssize_t e
    cdef double largest = log_weight[0]
    for e in range(1, n):
        largest = fmax(largest, log_weight[e])
    for e in range(n):
        log_weight[e] -= largest
    softmax(log_weight, 1.0, n, weight)


cdef void weights_of_losses(const double *loss, Py_ssize_t step, Py_ssize_t n, double *weight) noexcept nogil:
    """w_i ∝ exp(-SHARPNESS (L_i / min L - 1)); the losses, like the weights, are ``step`` numbers apart."""
    cdef Py_ssize_t i
    cdef double least = loss[0], total = 0.0
    for i in range(1, n):
        least = fmin(least, loss[i * step])
    for i in range(n):
        weight[i * step] = exp(-SHARPNESS * (loss[i * step] / fmax(least, 1e-300) - 1.0))
        total += weight[i * step]
    for i in range(n):
        weight[i * step] /= total


cdef void fit_inverse_temperature(
    const double *scores, const double *p, Py_ssize_t n, Py_ssize_t c, double low, double high,
    double *inverse_temperature, double *curvature
) noexcept nogil:
    """Apply a Newton step to the inverse temperature κ of p = softmax(κ · scores), for a sample of class c."""
    cdef Py_ssize_t o
    cdef double mean = 0.0, square = 0.0
    for o in range(n):
        mean += p[o] * scores[o]
        square += p[o] * scores[o] * scores[o]
    curvature[0] = FIT_DECAY * curvature[0] + fmax(square - mean * mean, 0.0) + (1.0 - FIT_DECAY)
    inverse_temperature[0] = fmin(fmax(inverse_temperature[0] + (scores[c] - mean) / curvature[0], low), high)
