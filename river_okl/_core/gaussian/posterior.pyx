"""A Gaussian process on a dictionary of points: its posterior at the points, updated sample by sample.

Prior f ~ GP(0, a κ).  For a dictionary Z of n points, with K = κ(Z, Z) + ε I, it keeps

    Basis      R with RᵀR = K⁻¹         for each kernel
    Posterior  μ = E f(Z)               for each prior variance a, forgetting factor λ and column of targets
               S = Cov f(Z)             as C and f, S = f C + (1 - f) a K, so that no forgetting touches K

At a sample x, with k = κ(Z, x), q = K⁻¹ k and γ = κ(x, x) + ε - ‖R k‖², the ALD residual:

    h = Cov(f(Z), f(x)) = S q           m = E f(x) = qᵀ μ     v = Var f(x) = a γ + qᵀ h

A likelihood turns m, v and the target into c, the step of the mean, and b, the reduction of the variance.  Then

    forgetting      f ← λ f,  μ ← √λ μ, and with them h ← λ h + (1 - λ) a k,  m ← √λ m,  v = a γ + qᵀ h
    x is not added  μ ← μ + c h,  S ← S - b h hᵀ
    x is added      p = [h; v]:  μ ← [μ; m] + c p,  S ← [[S, h], [hᵀ, v]] - b p pᵀ,  R ← [[R, 0], [-qᵀ, 1] / √γ]
    i is removed    with its row and column of S; rotations make column i of R zero but for the last row, which goes

These are the equations of Csató & Opper 2002; with forgetting and the Gaussian likelihood those of KRLS-T, Van
Vaerenbergh et al. 2012.  One thing is written differently: K⁻¹ as RᵀR.  The usual update of K⁻¹ after a removal is a
difference of large matrices, which has no digits left if the jitter is small; rotations add no error.

Most numbers are means, one per point and column.  Their step is deferred to the next prediction, which reads
them all.  If b v is below ``resolved`` and x is not added, S may be left unchanged: the step is then one
product with C.

The jitter ε is ``JITTER`` κ(x, x), unless its basis was given another multiple.
"""

from libc.math cimport M_SQRT1_2, erfc, exp, fmax, fmin, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport softmax
from river_okl._core.linalg cimport mirror
from river_okl._core.simd cimport linalg
from river_okl._core.store.buffers cimport array_of, fill, viewed

from river_okl._core.states import LARGEST_MEAN, checked_array, checked_float, checked_numbers, checked_whole

JITTER = 1e-3                   # of κ(x, x)
INVERSE_TEMPERATURE = 6.0       # of the softmax of the means of more than two classes, unless it is learned
# A posterior restarts if its variance at a point exceeds this multiple of the prior's. It was learned from features of
# another size: its means belong to points that are negligible now, and would be extrapolated to new ones.
cdef double BEYOND = 1e8
LARGEST_FACTOR = 1e160           # R, of a state: its square is finite
cdef double SMALLEST_FACTOR = 1e-12  # at which ``fold`` is due
cdef Py_ssize_t TOGETHER_ABOVE = 64  # columns above which ``add_losses`` forms Σ μ μᵀ before its products with K⁻¹


cdef class Basis(Owner):
    """R, with RᵀR = K⁻¹, of the points of a dictionary, with initial room for ``room`` points."""

    def __init__(self, Py_ssize_t room, double jitter=JITTER):
        self.jitter = jitter
        self.reserve((room + 7) // 8 * 8)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` points, a multiple of eight, at least as many as before."""
        cdef Py_ssize_t r, n = self.n
        cdef double *factor = self.doubles(NULL, 0, capacity * capacity)
        for r in range(n):
            memcpy(factor + r * capacity, self.factor + r * self.capacity, n * 8)
        self.release(self.factor)
        self.factor = factor
        self.order = <int32_t *> self.resize(self.order, self.capacity, capacity, 4)
        self.q = self.doubles(self.q, self.capacity, capacity)
        self.ordered = self.doubles(self.ordered, self.capacity, capacity)
        self.half = self.doubles(self.half, 0, capacity)
        self.solution = self.doubles(self.solution, 0, capacity)
        self.diagonal = self.doubles(self.diagonal, 0, capacity)
        if self.products != NULL:
            self.products = self.doubles(self.products, 0, 3 * capacity * capacity)
        self.capacity = capacity
        return 0

    cdef int reserve_products(self) except -1:
        """Reserve room for ``add_losses`` of many columns."""
        if self.products == NULL:
            self.products = self.doubles(NULL, 0, 3 * self.capacity * self.capacity)
        return 0

    cdef void project(self, const double *k, double self_similarity) noexcept nogil:
        """Compute q and γ of a sample, from k = κ(Z, x) and κ(x, x)."""
        self.solve(k, self.q)
        self.self_similarity = self_similarity * (1.0 + self.jitter)
        self.ald_residual = self.self_similarity
        self.ald_residual -= linalg.dot(self.half, self.half, self.n)
        self.ald_residual = self.at_least_jitter(self.ald_residual, self_similarity)

    cdef double at_least_jitter(self, double residual, double self_similarity) noexcept nogil:
        """Return γ without rounding errors below the jitter."""
        # for a linear kernel and x = 0, κ(x, x) is 0, and there is nothing to learn
        return fmax(residual, fmax(0.5 * self.jitter * self_similarity, 1e-300))

    cdef double novelty(self) noexcept nogil:
        """Return the share of κ(x, ·) outside the span of the dictionary: γ / κ(x, x)."""
        return self.ald_residual / self.self_similarity if self.self_similarity > 1e-200 else 0.0

    cdef void solve(self, const double *values, double *out) noexcept nogil:
        """Set out = K⁻¹ values."""
        cdef Py_ssize_t r
        for r in range(self.n):
            self.ordered[r] = values[self.order[r]]
        if self.n:
            linalg.factored_times(self.factor, self.capacity, self.n, self.ordered, self.half, self.solution)
        for r in range(self.n):
            out[self.order[r]] = self.solution[r]

    cdef void add(self) noexcept nogil:
        """Add the sample of the last ``project``."""
        cdef Py_ssize_t r, n = self.n
        cdef double root = sqrt(self.ald_residual)
        cdef double *row = self.factor + n * self.capacity
        for r in range(n):
            row[r] = -self.q[self.order[r]] / root
        row[n] = 1.0 / root
        self.order[n] = <int32_t> n
        self.n = n + 1

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Remove point i; the last takes its position."""
        cdef Py_ssize_t r, at = 0, last = self.n - 1
        while self.order[at] != i:
            at += 1
        linalg.remove_factored(self.factor, self.capacity, self.n, at)
        for r in range(at, last):
            self.order[r] = self.order[r + 1]
        for r in range(last):
            if self.order[r] == last:
                self.order[r] = <int32_t> i
        self.n = last
        self.ordered[last] = 0.0

    cdef void rebuild(self, const double *gram) noexcept nogil:
        """Recompute R from K by Cholesky, after a change of the kernel."""
        cdef Py_ssize_t i, n = self.n, ld = self.capacity
        cdef double jitter = 0.0, largest = 1e-300
        cdef double *a = self.factor
        for i in range(n):
            largest = fmax(largest, gram[i * ld + i])
            self.order[i] = <int32_t> i
        while True:
            for i in range(n):
                memcpy(a + i * ld, gram + i * ld, (i + 1) * 8)
                memset(a + i * ld + i + 1, 0, (ld - i - 1) * 8)
                a[i * ld + i] += jitter * largest
            # a jitter above n makes any matrix of finite numbers positive definite
            if n == 0 or linalg.cholesky(a, ld, n) == 0 or jitter > n:
                break
            jitter = 10.0 * jitter + 1e-9
        linalg.invert_lower(a, ld, n)

    cdef void find_diagonal(self) noexcept nogil:
        """Set ``diagonal`` to that of K⁻¹, for ``add_losses``."""
        cdef Py_ssize_t r
        if self.n:
            linalg.factored_diagonal(self.factor, self.capacity, self.n, self.half)
        for r in range(self.n):
            self.diagonal[self.order[r]] = self.half[r]

    cdef void add_losses(
        self, const double *means, Py_ssize_t columns, double weight, double *alpha, double *out
    ) noexcept:
        """Add weight Σ (α_i / K⁻¹_ii)² over the columns, point i's removal cost, to out_i.  α = K⁻¹ μ is scratch.

        For many columns Σ α_i² is the diagonal of K⁻¹ (Σ μ μᵀ) K⁻¹.
        """
        cdef Py_ssize_t i, o, n = self.n, ld = self.capacity
        cdef double *squares = self.products
        cdef double *product = self.products + ld * ld
        cdef double *inverse = self.products + 2 * ld * ld
        cdef const double *diagonal = self.diagonal
        if columns <= TOGETHER_ABOVE:
            for o in range(columns):
                self.solve(means + o * ld, alpha)
                for i in range(n):
                    out[i] += weight * (alpha[i] / diagonal[i]) * (alpha[i] / diagonal[i])
            return
        memset(self.products, 0, 3 * ld * ld * 8)
        for i in range(n):
            inverse[i * ld + i] = 1.0
            self.solve(inverse + i * ld, inverse + i * ld)
        linalg.add_product(means, 1, ld, n, means, ld, n, columns, True, squares, ld)
        mirror(squares, ld, n)
        linalg.add_product(inverse, ld, 1, n, squares, ld, n, n, False, product, ld)
        for i in range(n):
            out[i] += weight * linalg.dot(product + i * ld, inverse + i * ld, n) / (diagonal[i] * diagonal[i])

    def matrix(self):
        """Return K⁻¹."""
        R = self.rows()
        inverse = np.empty((self.n, self.n))
        order = [self.order[r] for r in range(self.n)]
        inverse[np.ix_(order, order)] = R.T @ R
        return inverse

    cdef object rows(self):
        """The rows of R that there are, on the buffer."""
        whole = viewed(self.factor, self.capacity * self.capacity, np.dtype(np.float64))
        return whole.reshape(self.capacity, self.capacity)[: self.n, : self.n]

    def state(self):
        """Return the state by name, for ``restore``."""
        order = np.array([self.order[r] for r in range(self.n)], dtype=np.int32)
        return {"n": self.n, "factor": self.rows()[np.tri(self.n, dtype=bool)], "order": order}

    def restore(self, dict state):
        """Resume from a state, after checking every number."""
        cdef Py_ssize_t r, n = checked_whole(state, "n", 0, self.capacity)
        factor = checked_array(state, "factor", np.float64, n * (n + 1) // 2, -LARGEST_FACTOR, LARGEST_FACTOR)
        order = checked_array(state, "order", np.int32, n)
        if not np.array_equal(np.sort(order), np.arange(n)):
            raise ValueError("the order of a dictionary's points is no permutation")
        memset(self.factor, 0, self.capacity * self.capacity * 8)
        memset(self.ordered, 0, self.capacity * 8)
        self.n = n
        self.rows()[np.tri(n, dtype=bool)] = factor
        for r in range(n):
            self.order[r] = order[r]


cdef inline void move(double *mu, Py_ssize_t n, double shrink, double c, const double *h) noexcept nogil:
    """Apply a step to the means of one column."""
    cdef Py_ssize_t i
    for i in range(n):
        mu[i] = shrink * mu[i] + c * h[i]


cdef class Posterior(Owner):
    """μ and S over a basis, for one prior variance and one forgetting factor.

    Parameters
    ----------
    noise
        σ², the noise variance of numeric targets, or of the targets 0 and 1 of more than two classes.
    numeric
        Whether targets are numbers; otherwise they are class indices.
    columns
        1 for numeric targets or two classes, otherwise one per class.
    resolved
        b v below which a sample that is not added leaves S unchanged.
    """

    def __init__(
        self, Basis basis, double prior_variance, double forgetting, double noise, bint numeric, Py_ssize_t columns=1,
        double resolved=0.0
    ):
        self.basis = basis
        self.prior_variance, self.forgetting = prior_variance, forgetting
        self.noise, self.numeric = noise, numeric
        self.factor = 1.0
        self.resolved = resolved
        self.covariance = Triangle(basis.capacity)
        self.covariance.n = basis.n
        self.h = self.doubles(NULL, 0, basis.capacity + 1)
        self.was_h = self.doubles(NULL, 0, basis.capacity + 1)
        self.shrink = 1.0
        for _ in range(columns):
            self.add_column()

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` points, at least as many as before."""
        cdef double *means = self.doubles(NULL, 0, self.columns * capacity)
        cdef Py_ssize_t o, n = self.covariance.n, ld = self.covariance.capacity
        self.h = self.doubles(self.h, ld + 1, capacity + 1)
        self.was_h = self.doubles(self.was_h, ld + 1, capacity + 1)
        self.covariance.reserve(capacity)
        for o in range(self.columns):
            memcpy(means + o * capacity, self.means + o * ld, n * 8)
        self.release(self.means)
        self.means = means
        return 0

    cdef int add_column(self) except -1:
        """Add a column of targets.  All past ones were 0, so this is exact."""
        cdef Py_ssize_t ld = self.covariance.capacity, columns = self.columns + 1
        self.mean = self.doubles(self.mean, self.columns, columns)
        self.step = self.doubles(self.step, self.columns, columns)
        self.means = self.doubles(self.means, self.columns * ld, columns * ld)
        self.columns = columns
        if columns > TOGETHER_ABOVE:
            self.basis.reserve_products()
        return 0

    cdef int permute(self, list order) except -1:
        """Permute the labels: class c becomes what class order[c] was.  For two classes in one column, [1, 0]
        negates the mean."""
        cdef Py_ssize_t o, i, ld = self.covariance.capacity
        if sorted(order) != list(range(max(2, self.columns))):
            raise ValueError(f"{order} is not a permutation of {max(2, self.columns)} classes")
        self.settle()
        if self.columns == 1:
            if order[0]:
                for i in range(self.covariance.n):
                    self.means[i] = -self.means[i]
            return 0
        means = [array_of(self.means + o * ld, ld) for o in order]
        for o in range(self.columns):
            fill(self.means + o * ld, means[o], ld)
        return 0

    cdef void predict(self, const double *k) noexcept nogil:
        """Compute h, m and v of the sample that the basis has projected."""
        cdef Py_ssize_t i, o, n = self.covariance.n, ld = self.covariance.capacity
        self.covariance.times(self.factor, self.basis.q, self.h)
        if self.factor != 1.0:
            for i in range(n):
                self.h[i] += (1.0 - self.factor) * self.prior_variance * k[i]
        self.predict_variance()
        for o in range(self.columns):
            if self.waits:
                move(self.means + o * ld, n, self.shrink, self.step[o], self.was_h)
            self.mean[o] = linalg.dot(self.basis.q, self.means + o * ld, n)
        self.waits, self.shrink = False, 1.0

    cdef void settle(self) noexcept nogil:
        """Apply the deferred step to the means."""
        cdef Py_ssize_t o, ld = self.covariance.capacity
        if self.waits:
            for o in range(self.columns):
                move(self.means + o * ld, self.covariance.n, self.shrink, self.step[o], self.was_h)
        self.waits, self.shrink = False, 1.0

    cdef void predict_variance(self) noexcept nogil:
        cdef double v = self.prior_variance * self.basis.ald_residual
        self.variance = fmax(v + linalg.dot(self.basis.q, self.h, self.covariance.n), 1e-3 * v)

    cdef void forget(self, const double *k) noexcept nogil:
        """Move the posterior towards the prior by 1 - λ, before ``learn``."""
        cdef Py_ssize_t i, o, n = self.covariance.n
        cdef double keep = self.forgetting, root = sqrt(keep)
        if keep == 1.0:
            return
        self.factor *= keep
        for i in range(n):
            self.h[i] = keep * self.h[i] + (1.0 - keep) * self.prior_variance * k[i]
        for o in range(self.columns):
            self.mean[o] *= root
        self.shrink = root
        self.predict_variance()

    cdef void fold(self, const double *gram) noexcept nogil:
        """Set C = S and f = 1; gram is K."""
        cdef Py_ssize_t i, j, ld = self.covariance.capacity
        cdef double of_prior = (1.0 - self.factor) * self.prior_variance
        cdef double *covariance = self.covariance.numbers
        self.covariance.settle()
        if self.factor == 1.0:
            return
        for i in range(self.covariance.n):
            for j in range(i + 1):
                covariance[i * ld + j] = self.factor * covariance[i * ld + j] + of_prior * gram[i * ld + j]
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
        cdef Py_ssize_t i, o, n = self.covariance.n, ld = self.covariance.capacity
        cdef const double *c = self.step
        cdef double *row
        cdef double of_prior = (1.0 - self.factor) * self.prior_variance
        memcpy(self.was_h, self.h, n * 8)
        self.waits = True
        if add:
            for o in range(self.columns):
                move(self.means + o * ld, n, self.shrink, c[o], self.h)
                self.means[o * ld + n] = self.mean[o] + c[o] * self.variance
            self.waits, self.shrink = False, 1.0
            self.covariance.grow()
            row = self.covariance.numbers + n * ld
            for i in range(n):
                row[i] = (self.h[i] - of_prior * k[i]) / self.factor
            row[n] = (self.variance - of_prior * self.basis.self_similarity) / self.factor
            self.h[n] = self.variance
        if add or b * self.variance >= self.resolved:
            self.covariance.move(-b / self.factor, self.h)

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        """Remove point i, before the basis does; the last takes its position."""
        cdef Py_ssize_t o, n = self.covariance.n, ld = self.covariance.capacity
        self.settle()
        self.covariance.remove(i)
        for o in range(self.columns):
            self.means[o * ld + i] = self.means[o * ld + n - 1]
            self.means[o * ld + n - 1] = 0.0

    cdef void add_losses(self, double weight, double *alpha, double *out) noexcept:
        """Add every point's removal cost, times a weight; call ``find_diagonal`` of the basis before."""
        self.settle()
        self.basis.add_losses(self.means, self.columns, weight, alpha, out)

    cdef void exchange(self, const double *before, const double *after, double keep) noexcept nogil:
        """Exchange K at the points: keep μ, and this share of the evidence in S, S ← keep S + (1 - keep) a K."""
        cdef Py_ssize_t i, j, ld = self.covariance.capacity
        cdef double now, prior, of_prior = (1.0 - keep) * self.prior_variance
        cdef double *covariance = self.covariance.numbers
        self.fold(before)
        for i in range(self.covariance.n):
            now, prior = covariance[i * ld + i], self.prior_variance * after[i * ld + i]
            if not (-1e-6 * prior <= now <= BEYOND * prior and before[i * ld + i] <= BEYOND * after[i * ld + i]):
                self.restart(after)
                return
        if keep < 1.0:
            for i in range(self.covariance.n):
                for j in range(i + 1):
                    covariance[i * ld + j] = keep * covariance[i * ld + j] + of_prior * after[i * ld + j]

    cdef void restart(self, const double *gram) noexcept nogil:
        """Reset the posterior at the points to the prior; gram is K."""
        cdef Py_ssize_t i, j, ld = self.covariance.capacity
        memset(self.means, 0, self.columns * ld * 8)
        for i in range(self.covariance.n):
            for j in range(i + 1):
                self.covariance.numbers[i * ld + j] = self.prior_variance * gram[i * ld + j]
        self.covariance.weight = 0.0
        self.waits, self.shrink, self.factor = False, 1.0, 1.0

    cdef void to_multiclass(self, Posterior old, const double *gram) noexcept:
        """Set targets 0 and 1 for each of two classes, from the posterior of a binary probit; gram is K.

        Φ(m/√(1+v)) becomes the mean; S keeps its ratio to the prior variance.
        """
        cdef Py_ssize_t i, j, ld = self.covariance.capacity
        cdef double p
        old.settle()
        old.fold(gram)
        self.covariance.n, self.covariance.weight = old.covariance.n, 0.0
        for i in range(self.covariance.n):
            p = normal(old.means[i] / sqrt(1.0 + fmax(0.0, old.covariance.numbers[i * ld + i])))
            self.means[i], self.means[ld + i] = 1.0 - p, p
            for j in range(i + 1):
                self.covariance.numbers[i * ld + j] = (
                    old.covariance.numbers[i * ld + j] * self.prior_variance / old.prior_variance
                )

    cdef void take_over(self, Posterior other) noexcept nogil:
        """Copy μ, S and the noise of another posterior with as many points and columns and the same prior variance."""
        cdef Py_ssize_t ld = self.covariance.capacity
        other.settle()
        self.waits, self.shrink = False, 1.0
        self.covariance.copy(other.covariance)
        memcpy(self.means, other.means, self.columns * ld * 8)
        self.factor, self.noise = other.factor, other.noise

    cdef object read_means(self):
        """Return a copy of μ: an array of shape (columns, points)."""
        cdef Py_ssize_t o, n = self.covariance.n, ld = self.covariance.capacity
        self.settle()
        return np.array([array_of(self.means + o * ld, n) for o in range(self.columns)])

    def state(self):
        """Return the state by name, for ``restore``."""
        means, covariance = self.read_means(), self.covariance.state()
        return {"means": means, "covariance": covariance, "factor": self.factor, "noise": self.noise}

    def restore(self, dict state):
        """Resume from a state, after the basis."""
        cdef Py_ssize_t o, n = self.basis.n
        means, factor = state["means"], checked_float(state, "factor", 0.5 * SMALLEST_FACTOR, 1.0)
        self.noise = checked_float(state, "noise", 0.0, LARGEST_MEAN)
        checked_numbers("the means of a posterior", means, (max(1, len(means)), n), -LARGEST_MEAN, LARGEST_MEAN)
        while self.columns < means.shape[0]:
            self.add_column()
        for o in range(self.columns):
            fill(self.means + o * self.covariance.capacity, means[o], n)
        self.covariance.restore(state["covariance"], n)
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
