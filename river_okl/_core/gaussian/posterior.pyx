"""A Gaussian process on a dictionary of points: its posterior at the points, updated sample by sample.

Prior f ~ GP(0, a κ).  For a dictionary Z of n points, with K = κ(Z, Z) + ε I, it keeps

    Basis      K⁻¹                      for each kernel
    Posterior  μ = E f(Z)               for each prior variance a, forgetting factor λ and column of targets
               S = Cov f(Z) = a K - D   as D, the evidence, so that forgetting is a factor and no step touches K

At a sample x, with k = κ(Z, x), q = K⁻¹ k and γ = κ(x, x) + ε - kᵀ q, the ALD residual:

    h = Cov(f(Z), f(x)) = a k - D q     m = E f(x) = qᵀ μ     v = Var f(x) = a γ + qᵀ h

A likelihood turns m, v and the target into c, the step of the mean, and b, the reduction of the variance.  Then

    forgetting      D ← λ D,  μ ← √λ μ, and with them h ← λ h + (1 - λ) a k,  m ← √λ m,  v = a γ + qᵀ h
    x is not added  μ ← μ + c h,  D ← D + b h hᵀ
    x is added      p = [h; v]:  μ ← [μ; m] + c p,  D ← [[D, D q], [., qᵀ D q]] + b p pᵀ,
                    K⁻¹ ← [[K⁻¹, 0], [0, 0]] + [q; -1] [q; -1]ᵀ / γ
    i is removed    with its rows and columns;  K⁻¹ ← K⁻¹ - K⁻¹_i K⁻¹_iᵀ / K⁻¹_ii

Most numbers are means, one per point and column.  Their step is deferred to the next prediction, which reads them all.

Csató & Opper 2002; with forgetting and the Gaussian likelihood it is KRLS-T, Van Vaerenbergh et al. 2012.  If b v is
below ``RESOLVED`` and x is not added, D is left unchanged: the step is then one product with D.

The jitter ε is ``JITTER`` κ(x, x), unless its basis was given another multiple.
"""

from libc.math cimport M_SQRT1_2, erfc, exp, fmax, fmin, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport softmax
from river_okl._core.linalg cimport mirror
from river_okl._core.simd cimport linalg
from river_okl._core.store.memory cimport array_of, fill

from river_okl._core.states import LARGEST_MEAN, checked_float, checked_numbers, checked_whole

JITTER = 1e-3                   # of κ(x, x)
# A posterior restarts if its variance at a point exceeds this multiple of the prior's. It was learned from features of
# another size: its means belong to points that are negligible now, and would be extrapolated to new ones, and the
# difference of K and D is rounding.
cdef double BEYOND = 1e8
cdef double RESOLVED = 0.01
cdef double SMALLEST_FACTOR = 1e-60
cdef Py_ssize_t MANY = 5        # columns from which on ``add_losses`` fills both triangles of K⁻¹
cdef Py_ssize_t VERY_MANY = 64  # columns above which it forms Σ μ μᵀ before its products with K⁻¹


cdef class Basis(Owner):
    """K⁻¹ of the points of a dictionary, with initial room for ``room`` points."""

    def __init__(self, Py_ssize_t room, double jitter=JITTER):
        self.jitter = jitter
        self.inverse = Triangle(room)
        self.capacity = self.inverse.capacity
        self.q = self.doubles(NULL, 0, self.capacity)
        self.column = self.doubles(NULL, 0, self.capacity)

    @property
    def n(self):
        """Number of points."""
        return self.inverse.n

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` points, at least as many as before."""
        self.q = self.doubles(self.q, self.capacity, capacity)
        self.column = self.doubles(self.column, self.capacity, capacity)
        if self.products != NULL:
            self.products = self.doubles(self.products, 0, 2 * capacity * capacity)
        self.inverse.reserve(capacity)
        self.capacity = capacity
        return 0

    cdef int reserve_products(self) except -1:
        """Reserve room for ``add_losses``."""
        if self.products == NULL:
            self.products = self.doubles(NULL, 0, 2 * self.capacity * self.capacity)
        return 0

    cdef void add_losses(self, const double *means, Py_ssize_t columns, double weight, double *out) noexcept:
        """Implement ``Posterior.add_losses`` for many columns: Σ α_i² is the diagonal of K⁻¹ (Σ μ μᵀ) K⁻¹."""
        cdef Py_ssize_t i, n = self.inverse.n, ld = self.capacity
        cdef double *squares = self.products
        cdef double *product = self.products + ld * ld
        cdef const double *inverse = self.inverse.numbers
        self.inverse.mirror()
        memset(self.products, 0, 2 * ld * ld * 8)
        linalg.add_product(means, 1, ld, n, means, ld, n, columns, True, squares, ld)
        mirror(squares, ld, n)
        linalg.add_product(inverse, ld, 1, n, squares, ld, n, n, False, product, ld)
        for i in range(n):
            out[i] += weight * linalg.dot(product + i * ld, inverse + i * ld, n) / (
                inverse[i * ld + i] * inverse[i * ld + i]
            )

    cdef void project(self, const double *k, double self_similarity) noexcept nogil:
        """Compute q and γ of a sample, from k = κ(Z, x) and κ(x, x)."""
        self.inverse.times(1.0, k, self.q)
        self.self_similarity = self_similarity * (1.0 + self.jitter)
        self.ald_residual = self.self_similarity
        if self.inverse.n:
            self.ald_residual -= linalg.dot(k, self.q, self.inverse.n)
        # for a linear kernel and x = 0, κ(x, x) is 0, and there is nothing to learn
        self.ald_residual = fmax(self.ald_residual, fmax(0.5 * self.jitter * self_similarity, 1e-300))

    cdef double novelty(self) noexcept nogil:
        """Return the share of κ(x, ·) outside the span of the dictionary: γ / κ(x, x)."""
        return self.ald_residual / self.self_similarity if self.self_similarity > 1e-200 else 0.0

    cdef void solve(self, const double *values, double *out) noexcept nogil:
        """Set out = K⁻¹ values."""
        self.inverse.times(1.0, values, out)

    cdef void add(self) noexcept nogil:
        """Add the sample of the last ``project``."""
        cdef Py_ssize_t n = self.inverse.n
        memcpy(self.column, self.q, n * 8)
        self.column[n] = -1.0
        self.inverse.grow()
        self.inverse.move(1.0 / self.ald_residual, self.column)

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Remove point i; the last takes its position."""
        self.inverse.row(i, self.column)
        self.inverse.move(-1.0 / self.column[i], self.column)
        self.inverse.remove(i)

    cdef void rebuild(self, const double *gram) noexcept nogil:
        """Recompute K⁻¹ from K by Cholesky: after a change of the kernel, and regularly against rounding errors."""
        cdef Py_ssize_t i, n = self.inverse.n, ld = self.capacity
        cdef double jitter = 0.0, largest = 1e-300
        cdef double *a = self.inverse.numbers
        self.inverse.weight = 0.0
        for i in range(n):
            largest = fmax(largest, gram[i * ld + i])
        while True:
            for i in range(n):
                memcpy(a + i * ld, gram + i * ld, (i + 1) * 8)
                a[i * ld + i] += jitter * largest
            # a jitter above n makes any matrix of finite numbers positive definite
            if n == 0 or linalg.cholesky(a, ld, n) == 0 or jitter > n:
                break
            jitter = 10.0 * jitter + 1e-9
        if n:
            linalg.inverse(a, ld, n)

    def matrix(self):
        """Return a copy of K⁻¹."""
        return self.inverse.matrix()

    def state(self):
        """Return the state by name, for ``restore``."""
        return {"n": self.inverse.n, "inverse": self.inverse.state()}

    def restore(self, dict state):
        """Resume from a state, after checking every number."""
        self.inverse.restore(state["inverse"], checked_whole(state, "n", 0, self.capacity))


cdef inline void move(double *mu, Py_ssize_t n, double shrink, double c, const double *h) noexcept nogil:
    """Apply a step to the means of one column."""
    cdef Py_ssize_t i
    for i in range(n):
        mu[i] = shrink * mu[i] + c * h[i]


cdef class Posterior(Owner):
    """μ and D over a basis, for one prior variance and one forgetting factor.

    Parameters
    ----------
    noise
        σ², the noise variance of numeric targets, or of the targets 0 and 1 of more than two classes.
    numeric
        Whether targets are numbers; otherwise they are class indices.
    columns
        1 for numeric targets or two classes, otherwise one per class.
    """

    def __init__(
        self, Basis basis, double prior_variance, double forgetting, double noise, bint numeric, Py_ssize_t columns=1
    ):
        self.basis = basis
        self.prior_variance, self.forgetting = prior_variance, forgetting
        self.noise, self.numeric = noise, numeric
        self.factor = 1.0
        self.learned = Triangle(basis.capacity)
        self.learned.n = basis.inverse.n  # existing points start with the prior: D = 0
        self.h = self.doubles(NULL, 0, basis.capacity + 1)
        self.was_h = self.doubles(NULL, 0, basis.capacity + 1)
        self.shrink = 1.0
        for _ in range(columns):
            self.add_column()

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` points, at least as many as before."""
        cdef double *means = self.doubles(NULL, 0, self.columns * capacity)
        cdef Py_ssize_t o, n = self.learned.n, ld = self.learned.capacity
        self.h = self.doubles(self.h, ld + 1, capacity + 1)
        self.was_h = self.doubles(self.was_h, ld + 1, capacity + 1)
        self.learned.reserve(capacity)
        for o in range(self.columns):
            memcpy(means + o * capacity, self.means + o * ld, n * 8)
        self.release(self.means)
        self.means = means
        return 0

    cdef int add_column(self) except -1:
        """Add a column of targets.  All past ones were 0, so this is exact."""
        cdef Py_ssize_t ld = self.learned.capacity, columns = self.columns + 1
        self.mean = self.doubles(self.mean, self.columns, columns)
        self.step = self.doubles(self.step, self.columns, columns)
        self.means = self.doubles(self.means, self.columns * ld, columns * ld)
        self.columns = columns
        if columns > VERY_MANY:
            self.basis.reserve_products()
        return 0

    cdef int permute(self, list order) except -1:
        """Permute the labels: class c becomes what class order[c] was.  For two classes in one column, [1, 0] negates
        the mean."""
        cdef Py_ssize_t o, i, ld = self.learned.capacity
        if sorted(order) != list(range(max(2, self.columns))):
            raise ValueError(f"{order} is not a permutation of {max(2, self.columns)} classes")
        self.settle()
        if self.columns == 1:
            for i in range(self.learned.n if order[0] else 0):
                self.means[i] = -self.means[i]
            return 0
        means = [array_of(self.means + o * ld, ld) for o in order]
        for o in range(self.columns):
            fill(self.means + o * ld, means[o], ld)
        return 0

    cdef void predict(self, const double *k) noexcept nogil:
        """Compute h, m and v of the sample that the basis has projected."""
        cdef Py_ssize_t i, o, n = self.learned.n, ld = self.learned.capacity
        self.learned.times(-self.factor, self.basis.q, self.h)
        for i in range(n):
            self.h[i] += self.prior_variance * k[i]
        self.predict_variance()
        for o in range(self.columns):
            if self.waits:
                move(self.means + o * ld, n, self.shrink, self.step[o], self.was_h)
            self.mean[o] = linalg.dot(self.basis.q, self.means + o * ld, n)
        self.waits, self.shrink = False, 1.0

    cdef void settle(self) noexcept nogil:
        """Apply the deferred step to the means."""
        cdef Py_ssize_t o
        if self.waits:
            for o in range(self.columns):
                move(self.means + o * self.learned.capacity, self.learned.n, self.shrink, self.step[o], self.was_h)
        self.waits, self.shrink = False, 1.0

    cdef void predict_variance(self) noexcept nogil:
        cdef double v = self.prior_variance * self.basis.ald_residual
        self.variance = fmax(v + linalg.dot(self.basis.q, self.h, self.learned.n), 1e-3 * v)

    cdef void forget(self, const double *k) noexcept nogil:
        """Move the posterior towards the prior by 1 - λ, before ``learn``."""
        cdef Py_ssize_t i, o, n = self.learned.n
        cdef double keep = self.forgetting, root = sqrt(keep)
        if keep == 1.0:
            return
        self.discount(keep)
        for i in range(n):
            self.h[i] = keep * self.h[i] + (1.0 - keep) * self.prior_variance * k[i]
        for o in range(self.columns):
            self.mean[o] *= root
        self.shrink = root
        self.predict_variance()

    cdef void fold(self) noexcept nogil:
        """Multiply the factor into the matrix."""
        cdef Py_ssize_t i
        cdef double *learned = self.learned.numbers
        self.learned.settle()
        for i in range(self.learned.n * self.learned.capacity):
            learned[i] *= self.factor
        self.factor = 1.0

    cdef void answer(self, double inverse_temperature, double *p) noexcept nogil:
        """Set p to the prediction for the last sample: the mean of a numeric target, or each class's probability."""
        if self.numeric:
            p[0] = self.mean[0]
        elif self.columns == 1:
            p[1] = normal(self.mean[0] / sqrt(1.0 + self.variance))
            p[0] = 1.0 - p[1]
        else:
            softmax(self.mean, inverse_temperature, self.columns, p)

    cdef double likelihood(self, double target, double w) noexcept nogil:
        """Return b, and set ``step`` to c of every column."""
        cdef double b = 0.0
        if self.numeric:
            gaussian(target - self.mean[0], self.variance, self.noise, w, self.step, &b)
        elif self.columns == 1:
            probit(2.0 * target - 1.0, self.mean[0], self.variance, w, self.step, &b)
        else:
            gaussians(self.mean, self.columns, <Py_ssize_t> target, self.variance, self.noise, w, self.step, &b)
        return b

    cdef void learn(self, double b, const double *k, bint add) noexcept nogil:
        """Learn the sample of the last ``likelihood``; if it is added, call this before the basis adds it."""
        cdef Py_ssize_t i, o, n = self.learned.n, ld = self.learned.capacity
        cdef const double *c = self.step
        cdef double *row
        memcpy(self.was_h, self.h, n * 8)
        self.waits = True
        if add:
            for o in range(self.columns):
                move(self.means + o * ld, n, self.shrink, c[o], self.h)
                self.means[o * ld + n] = self.mean[o] + c[o] * self.variance
            self.waits, self.shrink = False, 1.0
            self.learned.grow()
            row = self.learned.numbers + n * ld
            for i in range(n):
                row[i] = (self.prior_variance * k[i] - self.h[i]) / self.factor  # D q / f
            row[n] = linalg.dot(self.basis.q, row, n)
            self.h[n] = self.variance
        if add or b * self.variance >= RESOLVED:
            self.learned.move(b / self.factor, self.h)
        for o in range(self.columns):
            self.mean[o] += c[o] * self.variance  # E f(x) after learning

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Remove point i, before the basis does; the last takes its position."""
        cdef Py_ssize_t o, n = self.learned.n, ld = self.learned.capacity
        self.settle()
        self.learned.remove(i)
        for o in range(self.columns):
            self.means[o * ld + i] = self.means[o * ld + n - 1]
            self.means[o * ld + n - 1] = 0.0

    cdef void add_losses(self, double weight, double *alpha, double *out) noexcept:
        """Add weight Σ (α_i / K⁻¹_ii)² over the columns, point i's removal cost, to out_i.  α = K⁻¹ μ is scratch."""
        cdef Py_ssize_t i, o, n = self.learned.n, ld = self.learned.capacity
        cdef Triangle inverse = self.basis.inverse
        cdef double *factor = self.basis.column
        cdef bint many = self.columns >= MANY
        self.settle()
        if self.columns > VERY_MANY:
            self.basis.add_losses(self.means, self.columns, weight, out)
            return
        if many:
            inverse.mirror()
        for o in range(self.columns):
            if many:
                inverse.times_mirrored(self.means + o * ld, alpha)
            else:
                inverse.times(1.0, self.means + o * ld, alpha)
            if o == 0:
                for i in range(n):
                    factor[i] = weight / (inverse.numbers[i * ld + i] * inverse.numbers[i * ld + i])
            for i in range(n):
                out[i] += factor[i] * alpha[i] * alpha[i]

    cdef void exchange(self, const double *before, const double *after) noexcept nogil:
        """Exchange K at the points; keep μ and S, unless S is so far above the prior that rounding dominates."""
        cdef Py_ssize_t i, j, ld = self.learned.capacity
        cdef double now, prior
        cdef double *learned = self.learned.numbers
        self.learned.settle()
        for i in range(self.learned.n):
            for j in range(i + 1):
                learned[i * ld + j] += self.prior_variance * (after[i * ld + j] - before[i * ld + j]) / self.factor
        for i in range(self.learned.n):
            prior = self.prior_variance * after[i * ld + i]
            now = prior - self.factor * learned[i * ld + i]
            if not (-1e-6 * prior <= now <= BEYOND * prior and before[i * ld + i] <= BEYOND * after[i * ld + i]):
                self.restart()
                return

    cdef void restart(self) noexcept nogil:
        """Reset the posterior at the points to the prior."""
        cdef Py_ssize_t ld = self.learned.capacity
        memset(self.means, 0, self.columns * ld * 8)
        memset(self.learned.numbers, 0, ld * ld * 8)
        self.learned.weight = 0.0
        self.waits, self.shrink, self.factor = False, 1.0, 1.0

    cdef void to_multiclass(self, Posterior old, const double *gram) noexcept:
        """Set targets 0 and 1 for each of two classes, from the posterior of a binary probit; gram is K.

        Φ(m/√(1+v)) becomes the mean; D keeps its share of the prior variance.
        """
        cdef Py_ssize_t i, j, ld = self.learned.capacity
        cdef double p, v
        old.settle()
        old.learned.settle()
        self.learned.n, self.learned.weight = old.learned.n, 0.0
        for i in range(self.learned.n):
            v = fmax(0.0, old.prior_variance * gram[i * ld + i] - old.factor * old.learned.numbers[i * ld + i])
            p = normal(old.means[i] / sqrt(1.0 + v))
            self.means[i], self.means[ld + i] = 1.0 - p, p
            for j in range(i + 1):
                self.learned.numbers[i * ld + j] = (
                    old.factor * old.learned.numbers[i * ld + j] * self.prior_variance / old.prior_variance
                )

    cdef void discount(self, double keep) noexcept nogil:
        """Multiply the evidence by ``keep``: D shrinks, μ stays."""
        self.factor *= keep
        if self.factor < SMALLEST_FACTOR:
            self.fold()

    cdef void take_over(self, Posterior other) noexcept nogil:
        """Copy μ and D of another posterior with as many points and columns and the same prior variance."""
        cdef Py_ssize_t ld = self.learned.capacity
        other.settle()
        other.learned.settle()
        self.waits, self.shrink = False, 1.0
        self.learned.n, self.learned.weight = other.learned.n, 0.0
        memcpy(self.learned.numbers, other.learned.numbers, ld * ld * 8)
        memcpy(self.means, other.means, self.columns * ld * 8)
        self.factor = other.factor

    cdef object read_means(self):
        """Return a copy of μ: an array of shape (columns, points)."""
        cdef Py_ssize_t o
        self.settle()
        return np.array([array_of(self.means + o * self.learned.capacity, self.learned.n) for o in range(self.columns)])

    def state(self):
        """Return the state by name, for ``restore``."""
        return {"means": self.read_means(), "learned": self.learned.state(), "factor": self.factor}

    def restore(self, dict state):
        """Resume from a state, after the basis."""
        cdef Py_ssize_t o, n = self.basis.n
        means, factor = state["means"], checked_float(state, "factor", 0.5 * SMALLEST_FACTOR, 1.0)
        checked_numbers("the means of a posterior", means, (max(1, len(means)), n), -LARGEST_MEAN, LARGEST_MEAN)
        while self.columns < means.shape[0]:
            self.add_column()
        for o in range(self.columns):
            fill(self.means + o * self.learned.capacity, means[o], n)
        self.learned.restore(state["learned"], n)
        self.factor = factor


# Likelihoods: c and b of a target -------------------------------------------------------------------------------------

cpdef double normal(double z) noexcept nogil:
    """Return Φ(z)."""
    return 0.5 * erfc(-z * M_SQRT1_2)


cdef double hazard(double z) noexcept nogil:
    """Return φ(z) / Φ(z), by a continued fraction if Φ is almost 0."""
    if z > -10.0:
        return 0.3989422804014327 * exp(-0.5 * z * z) / normal(z)
    z = -z
    return z + 1.0 / (z + 2.0 / (z + 3.0 / (z + 4.0 / (z + 5.0 / z))))


cdef void step_of(double v, double w, double *c, double *b) noexcept nogil:
    """Apply a weight w as if it divided a Gaussian's noise, 1/b - v, so that b v < 1 for every weight.

    If b v <= 1 the divisor is at least min(w, 1); the bound guards against a 0 from rounding."""
    cdef double factor = w / fmax(1.0 + (w - 1.0) * b[0] * v, fmin(w, 1.0))
    c[0] *= factor
    b[0] *= factor


cdef void probit(double y, double m, double v, double w, double *c, double *b) noexcept nogil:
    """Set c and b for P(y | f) = Φ(y f), y = ±1, by moment matching."""
    cdef double s = sqrt(1.0 + v)
    cdef double z = y * m / s
    cdef double r = hazard(z)
    c[0] = y * r / s
    b[0] = fmin(fmax(r * (z + r), 0.0), 1.0) / (1.0 + v)  # beyond |z| = 1e8, the sum is rounding error
    step_of(v, w, c, b)


cdef void gaussians(
    const double *mean, Py_ssize_t n, Py_ssize_t target, double v, double noise, double w, double *c, double *b
) noexcept nogil:
    """Set c and b of ``gaussian`` for every class: y is 1 for the target's class, 0 for the others."""
    cdef Py_ssize_t o
    cdef double before = 1.0 / (noise + v), factor = 1.0
    b[0] = before
    step_of(v, w, &factor, b)
    for o in range(n):
        c[o] = (0.0 - mean[o]) * before * factor
    c[target] = (1.0 - mean[target]) * before * factor


cdef void gaussian(double error, double v, double noise, double w, double *c, double *b) noexcept nogil:
    """Set c and b for y = f + noise of variance ``noise``; error = y - m."""
    b[0] = 1.0 / (noise + v)
    c[0] = error * b[0]
    step_of(v, w, c, b)
