"""The bank of Gaussian processes: a few kernels x a few posteriors, all over ONE dictionary of few points.

A kernel uses one of four metrics (distances.pyx), at a scale m: m times the data-driven γ of a single kernel.  Each
kernel has posteriors (gaussian/posterior.pyx) of different prior variance and forgetting.  The likelihood is a probit
for two classes, and Gaussian for numeric targets and for the 0/1 targets of many classes.

A sample is added to the dictionary if it is novel under some kernel.  Once the dictionary is full, the point with the
lowest removal cost, a weighted sum over the processes, is evicted, and labels that the mixture predicted confidently
are not added.  Kernels adapt: the lowest-weighted one becomes a neighbour of the highest-weighted one: m · 4, m / 4, or
the next or previous metric, the first of which follows the last.  If the latter's squared residuals exceed their
expectation ``RESIDUAL_RATIO`` times, its kernel is too wide, and m · 16 replaces m / 4.  Posteriors describe f at the
points, so they stay valid when a kernel changes.
"""

from libc.math cimport exp, fmax, fmin, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport fit_inverse_temperature
from river_okl._core.gaussian.posterior cimport JITTER, Basis, Posterior
from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.mixture.expert cimport DISCOUNT, Outcome
from river_okl._core.simd cimport linalg, loops
from river_okl._core.store.buffers cimport viewed
from river_okl._core.store.points cimport Column, value_at
from river_okl._core.store.sample cimport LARGEST_SELF, LARGEST_SUM
from river_okl._core.store.table cimport Axis

from river_okl._core.gaussian.posterior import INVERSE_TEMPERATURE
from river_okl._core.states import check_positions, checked_numbers

cdef double FLOOR = 1e-3            # added to the weight of a process in the removal costs
cdef double LEAST_SHARE = 0.1       # least weight of a process whose removal costs count
cdef double LEAST_SCALE = 0.005, LARGEST_SCALE = 100.0
cdef double RESIDUAL_RATIO = 4.0    # of squared residuals to their expectation, beyond which a kernel is too wide
cdef double LARGEST_RESIDUAL = 5.0  # in the running scale, in standard deviations
# The noise of a process without forgetting follows r, the running ratio of its squared residuals to predicted
# variances: σ² ← σ² r if r > 1, so that what is wrong is not trusted, and σ² r^SHRINKING otherwise.  A sample whose
# squared residual is more than SURPRISING times its variance has a larger noise of its own: an outlier would else spoil
# a precise process.  One that forgets keeps its noise, for residuals that come in bursts.
cdef double SHRINKING = 0.02, LEAST_NOISE = 1e-6, LARGEST_NOISE = 0.03
cdef double SURPRISING = 9.0
cdef double MIN_TEMPERATURE = 1.0, MAX_TEMPERATURE = 50.0  # bounds of κ

# Jitter and minimum ALD residual of a new point, relative to κ(x, x): numeric targets can separate points too close for
# labels to separate.  Those of numbers were chosen on the benchmarks' streams and on smooth series.  Third, the minimum
# share of the evidence that is kept under a new kernel.
JITTER_NOVELTY_KEPT = {
    "binary": (JITTER, 1e-3, 1.0),
    "regression": (1e-6, 5e-4, 1e-3),
}
cdef double RESOLVED = 0.01      # least b v with which a sample that is no new point changes a covariance
cdef Py_ssize_t FIRST_ROOM = 8   # initial room of a dictionary, a multiple of the vector width
KERNELS_AT_FIRST = ((0.1, 1), (0.1, 3), (1.5, 3))   # (m, metric)
POSTERIORS_OF = {  # (λ, a, σ²)
    "binary": ((1.0, 8.0, 0.0), (0.99, 64.0, 0.0)),
    "multiclass": ((1.0, 1.0, 0.05), (0.99, 1.0, 0.05)),
    "regression": ((1.0, 2.0, LARGEST_NOISE), (0.99, 8.0, 0.03)),
}


cdef class Processes(Expert):
    """``PROCESSES`` Gaussian processes over points that other experts may reference, too."""

    def __init__(self, Distances distances, tuple terms, Py_ssize_t max_points, str task):
        cdef Py_ssize_t i, room = (max_points + 1 + 7) // 8 * 8
        self.name, self.rows = "processes", PROCESSES
        self.points = distances.points
        self.distances = distances
        self.max_points = max_points
        self.kernels = [CompiledKernel(terms) for _ in range(KERNELS)]
        self.jitter, self.novel, self.least_kept = JITTER_NOVELTY_KEPT[task]
        self.bases = [Basis(min(max_points + 1, FIRST_ROOM), self.jitter) for _ in range(KERNELS)]
        self.declare(<size_t> &self.scale, "scales", (KERNELS,), low=LEAST_SCALE, high=LARGEST_SCALE)
        self.declare(<size_t> &self.metric, "metrics", (KERNELS,), dtype="i4", low=0, high=METRICS - 1)
        for name, address, default in (
            ("inverse_temperatures", <size_t> &self.inverse_temperature, INVERSE_TEMPERATURE),
            ("curvatures", <size_t> &self.curvature, 1.0),
        ):
            self.declare(address, name, (PROCESSES,), default=default, low=1e-4)
        for i in range(KERNELS):
            self.scale[i], self.metric[i] = KERNELS_AT_FIRST[i]
            self.k[i] = self.doubles(NULL, 0, room)
        for i in range(METRICS):
            self.squares[i] = self.doubles(NULL, 0, room)
            self.dots[i] = self.doubles(NULL, 0, room)
        self.derive(<size_t> &self.member, (self.points,), dtype="i4", default=-1)
        self.position = <int32_t *> self.resize(NULL, 0, room, 4)
        self.alpha = self.doubles(NULL, 0, room)
        self.work = self.doubles(NULL, 0, 3 * room)
        self.task, self.columns = task, 1
        self.posteriors = self.new_posteriors(task, 1)

    cdef list new_posteriors(self, str task, Py_ssize_t columns):
        """Return priors over the current dictionary."""
        return [
            Posterior(basis, prior_variance, forgetting, noise, task == "regression", columns, RESOLVED)
            for basis in self.bases for forgetting, prior_variance, noise in POSTERIORS_OF[task]
        ]

    cpdef int reserve(self) except -1:
        Expert.reserve(self)
        return self.reserve_dictionary(min(self.n, self.max_points) + 1)

    cdef int reserve_dictionary(self, Py_ssize_t n) except -1:
        """Make room for a dictionary of n points, on demand: the matrices are most of a small model."""
        cdef Py_ssize_t room = FIRST_ROOM
        while room < n:
            room *= 2
        room = min(room, (self.max_points + 8) // 8 * 8)
        for basis in self.bases:
            if (<Basis> basis).capacity < room:
                (<Basis> basis).reserve(room)
        for posterior in self.posteriors:
            if (<Posterior> posterior).covariance.capacity < room:
                (<Posterior> posterior).reserve(room)
        return 0

    cdef int add_class(self) except -1:
        """Add a class.  Binary posteriors become posteriors of three classes; later, each class adds a column."""
        cdef Py_ssize_t e
        if self.columns > 1:
            for posterior in self.posteriors:
                (<Posterior> posterior).add_column()
            self.columns += 1
            return 0
        self.fill_grams(self.before)
        posteriors = self.new_posteriors("multiclass", 3)
        for e in range(PROCESSES):
            (<Posterior> posteriors[e]).to_multiclass(self.posteriors[e], self.before[e // POSTERIORS])
        self.free_grams()
        self.posteriors, self.task, self.columns = posteriors, "multiclass", 3
        return 0

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef Dictionary dictionary(self) noexcept:
        """Return the dictionary, and the buffers to which ``Distances`` writes its dot products."""
        cdef Dictionary found
        cdef int m
        found.n, found.position, found.member = self.n, self.position, self.member
        for m in range(METRICS):
            found.dots[m] = self.dots[m]
        return found

    cdef bint has_metric(self, int m) noexcept:
        """Whether a kernel uses metric m."""
        cdef Py_ssize_t i
        for i in range(KERNELS):
            if self.metric[i] == m:
                return True
        return False

    cdef int ask(self, const Sample *x, double *p) except -1:
        """Write the probabilities of every class, or the mean of the target, by every process."""
        cdef Py_ssize_t i, e, width = 1 if (<Posterior> self.posteriors[0]).numeric else max(2, self.columns)
        cdef double[KERNELS] self_similarity
        if not self.predicted:
            self.fill_rows(self_similarity)
            for i in range(KERNELS):
                (<Basis> self.bases[i]).project(self.k[i], self_similarity[i])
            for e in range(PROCESSES):
                (<Posterior> self.posteriors[e]).predict(self.k[e // POSTERIORS])
        for e in range(PROCESSES):
            (<Posterior> self.posteriors[e]).answer(self.inverse_temperature[e], p + e * width)
        return 0

    cdef int fill_rows(self, double *self_similarity) except -1:
        """Write κ(x, x) of the sample measured last, and its similarity to the dictionary, under every kernel."""
        cdef Py_ssize_t i, r, n = self.n, padded = (n + 7) // 8 * 8
        cdef int m
        cdef CompiledKernel kernel
        for m in range(METRICS):
            if not self.has_metric(m):
                continue
            for r in range(n):
                self.squares[m][r] = self.distances.square[m][self.position[r]]
        for i in range(KERNELS):
            kernel, m = self.kernels[i], self.metric[i]
            self_similarity[i] = kernel.self_similarity(self.distances.own[m])
            if not self_similarity[i] <= LARGEST_SELF:
                raise ValueError(f"κ(x, x) of this sample is more than {LARGEST_SELF:g}: scale the features")
            if n:
                loops.kernel_row(
                    &kernel.program, self.dots[m], False, self.squares[m], self.distances.own[m], padded, self.k[i]
                )
        return 0

    cdef void predict(self, const double *weight, const double *residual, double *mean, double *variance) noexcept:
        """Write the mixture's mean and variance of the target, in standardised units; ``residual``: running scales."""
        cdef Py_ssize_t e
        cdef Posterior posterior
        cdef double off
        mean[0] = variance[0] = 0.0
        for e in range(PROCESSES):
            mean[0] += weight[e] * (<Posterior> self.posteriors[e]).mean[0]
        for e in range(PROCESSES):
            posterior = self.posteriors[e]
            off = posterior.mean[0] - mean[0]
            variance[0] += weight[e] * (residual[e] * (posterior.variance + posterior.noise) + off * off)

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t e, r
        cdef Posterior posterior
        for e in range(PROCESSES):
            posterior = self.posteriors[e]
            posterior.settle()
            posterior.mean[0] = ratio * posterior.mean[0] + shift
            for r in range(self.n):
                posterior.means[r] = ratio * posterior.means[r] + shift

    cdef void score(
        self, double target, const double *mean, const double *variance, double *scale, double *density,
        double least_rate
    ) noexcept:
        """Write the density of the target under every process, given its predicted mean and variance (with noise).

        The running ``scale`` of a process, by which its variance is multiplied, is updated from its residual.
        """
        cdef Py_ssize_t e
        cdef double residual
        for e in range(PROCESSES):
            residual = (target - mean[e]) * (target - mean[e]) / variance[e]
            density[e] = exp(-0.5 * residual / scale[e]) / sqrt(scale[e] * variance[e]) + 1e-6
            scale[e] += (
                fmin(residual, LARGEST_RESIDUAL * LARGEST_RESIDUAL) - scale[e]
            ) * fmax(least_rate, 1.0 - DISCOUNT)
            scale[e] = fmax(scale[e], 1e-4)

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Update every process.  A novel sample is added to the dictionary, which may then have one point too many."""
        cdef Py_ssize_t i, e
        cdef Posterior posterior
        cdef bint novel = False, adapts
        cdef double b, noise, off
        if self.columns > 1:
            for e in range(PROCESSES):
                fit_inverse_temperature(
                    (<Posterior> self.posteriors[e]).mean, y.p + e * self.columns, self.columns, <Py_ssize_t> y.target,
                    MIN_TEMPERATURE, MAX_TEMPERATURE, &self.inverse_temperature[e], &self.curvature[e]
                )
        for i in range(KERNELS):
            novel = novel or (<Basis> self.bases[i]).novelty() > self.novel
        if self.task != "regression" and self.n >= self.max_points and y.confident:
            novel = False
        for e in range(PROCESSES):
            i = e // POSTERIORS
            posterior = self.posteriors[e]
            posterior.forget(self.k[i])
            noise, adapts = posterior.noise, posterior.numeric and posterior.forgetting == 1.0
            if adapts:
                off = y.target - posterior.mean[0]
                posterior.noise = fmin(fmax(noise, off * off / SURPRISING - posterior.variance), LARGEST_NOISE)
            b = posterior.likelihood(y.target, y.w)
            posterior.learn(b, self.k[i], novel)
            if adapts:
                noise *= y.residual[e] if y.residual[e] > 1.0 else y.residual[e] ** SHRINKING
                posterior.noise = fmin(fmax(noise, LEAST_NOISE), LARGEST_NOISE)
        if novel:
            for i in range(KERNELS):
                (<Basis> self.bases[i]).add()
            self.position[self.n] = -1
            self.n += 1
        return novel

    # Adding and removing points ---------------------------------------------------------------------------------------

    cdef bint references(self, Py_ssize_t i) noexcept:
        return self.member[i] >= 0

    cdef bint is_full(self) noexcept:
        return self.n > self.max_points

    cdef Py_ssize_t evict(self, const double *process_weights) noexcept:
        """Evict the point with the lowest removal cost, whose number in the dictionary the last point gets."""
        cdef Py_ssize_t e, last = self.n - 1, r = self.least(process_weights), at = self.position[r]
        for e in range(PROCESSES):
            (<Posterior> self.posteriors[e]).remove(r)
        for e in range(KERNELS):
            (<Basis> self.bases[e]).remove(r)
        self.position[r] = self.position[last]
        if r != last and self.position[r] >= 0:
            self.member[self.position[r]] = <int32_t> r
        self.n = last
        if at >= 0:
            self.member[at] = -1
        return at

    cdef Py_ssize_t least(self, const double *weight) noexcept:
        """Return the number of the point with the lowest removal cost, over all processes."""
        cdef Py_ssize_t r, e, best = 0
        cdef double *loss = self.work
        memset(loss, 0, self.n * 8)
        for e in range(PROCESSES):
            if weight[e] < LEAST_SHARE:
                continue
            (<Posterior> self.posteriors[e]).basis.find_diagonal()
            (<Posterior> self.posteriors[e]).add_losses(weight[e] + FLOOR, self.alpha, loss)
        for r in range(1, self.n):
            if loss[r] < loss[best]:
                best = r
        return best

    cdef int claim(self, Py_ssize_t i) except -1:
        cdef Py_ssize_t r
        for r in range(self.n):
            if self.position[r] < 0:
                self.position[r], self.member[i] = <int32_t> i, <int32_t> r
        return 0

    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept:
        Expert.swap_remove(self, axis, i)
        if self.member[i] >= 0:
            self.position[self.member[i]] = <int32_t> i

    # Kernels ----------------------------------------------------------------------------------------------------------

    cdef int reserve_grams(self) except -1:
        """Allocate the Gram matrices of all kernels before and after a change, and dot products, until
        ``free_grams``."""
        cdef Py_ssize_t i, ld = (<Basis> self.bases[0]).capacity, size = ld * ld
        if self.matrices == NULL:
            self.matrices = self.doubles(NULL, 0, (2 * KERNELS + METRICS) * size)
        for i in range(KERNELS):
            self.before[i], self.after[i] = self.matrices + i * size, self.matrices + (KERNELS + i) * size
        for i in range(METRICS):
            self.products[i] = self.matrices + (2 * KERNELS + i) * size
        return 0

    cdef void free_grams(self) noexcept:
        self.release(self.matrices)
        self.matrices = NULL

    cdef int fill_grams(self, double **grams) except -1:
        """Write K of the dictionary under every kernel, jitter included: its lower triangle."""
        cdef Py_ssize_t i, r, s, n = self.n, ld = (<Basis> self.bases[0]).capacity, count, place
        cdef const Column *column
        cdef CompiledKernel kernel
        cdef int m
        cdef double w
        cdef double *row
        cdef double *dots
        cdef double *z = self.work
        cdef int32_t *who = <int32_t *> self.alpha
        self.reserve_grams()
        for m in range(METRICS):
            memset(self.products[m], 0, ld * ld * 8)
        for place in range(self.points.columns_allocated):
            column = &self.points.columns[place]
            if column.count == 0:
                continue
            count = 0
            if column.dense != NULL:
                for r in range(n):
                    z[r] = value_at(column.dense, self.position[r], self.points.single)
            else:
                for r in range(column.count):
                    if self.member[column.owners[r]] >= 0:
                        z[count], who[count] = column.amounts[r], self.member[column.owners[r]]
                        count += 1
            for m in range(METRICS):
                if not self.has_metric(m):
                    continue
                dots = self.products[m]
                w = self.distances.weights[m][place]
                if column.dense != NULL:
                    for r in range(n):
                        row = dots + r * ld
                        for s in range(r + 1):
                            row[s] += w * z[r] * z[s]
                    continue
                for r in range(count):
                    for s in range(count):
                        if who[s] <= who[r]:
                            dots[who[r] * ld + who[s]] += w * z[r] * z[s]
        for i in range(KERNELS):
            kernel, m = self.kernels[i], self.metric[i]
            dots = self.products[m]
            for r in range(n):
                self.squares[m][r] = dots[r * ld + r]
            for r in range(n):
                for s in range(r):
                    self.dots[m][s] = dots[r * ld + s]
                loops.kernel_row(
                    &kernel.program, self.dots[m], False, self.squares[m], dots[r * ld + r], (r + 7) // 8 * 8,
                    grams[i] + r * ld
                )
                grams[i][r * ld + r] = kernel.self_similarity(dots[r * ld + r]) * (1.0 + self.jitter)
        return 0

    cdef bint move(self, const double *share, const double *residual, Py_ssize_t *to, Py_ssize_t *of) except -1:
        """Replace the lowest-weighted kernel, if its share is less than half the largest, by a neighbour of
        the highest-weighted one: ``to`` and ``of``.  Return whether a kernel was replaced.  ``residual``: as in
        ``Outcome``."""
        cdef Py_ssize_t i, low = 0, high = 0, after, before
        cdef int b, m
        cdef double scale, other
        cdef bint there
        for i in range(1, KERNELS):
            if share[i] < share[low]:
                low = i
            if share[i] > share[high]:
                high = i
        if share[low] >= 0.5 * share[high]:
            return False
        other = 16.0 if residual != NULL and residual[high * POSTERIORS] > RESIDUAL_RATIO else 0.25
        for scale, m in (
            (4.0 * self.scale[high], self.metric[high]),
            (other * self.scale[high], self.metric[high]),
            (self.scale[high], (self.metric[high] + 1) % METRICS),
            (self.scale[high], (self.metric[high] + METRICS - 1) % METRICS),
        ):
            there = False
            for i in range(KERNELS):
                there = there or (self.scale[i] == scale and self.distances.are_equal(self.metric[i], m))
            if there or not LEAST_SCALE <= scale <= LARGEST_SCALE:
                continue
            self.scale[low], self.metric[low] = scale, m
            for b in range(POSTERIORS):
                after, before = low * POSTERIORS + b, high * POSTERIORS + b
                (<Posterior> self.posteriors[after]).take_over(self.posteriors[before])
                self.inverse_temperature[after] = self.inverse_temperature[before]
                self.curvature[after] = self.curvature[before]
            to[0], of[0] = low, high
            memcpy(
                self.before[low], self.before[high],
                (<Basis> self.bases[0]).capacity * (<Basis> self.bases[0]).capacity * 8
            )
            return True
        return False

    cdef void tune(self) noexcept:
        cdef Py_ssize_t i
        cdef int m
        for i in range(KERNELS):
            m = self.metric[i]
            (<CompiledKernel> self.kernels[i]).tune(
                self.distances.mean_distance(m) / self.scale[i], self.distances.mean_square(m)
            )

    cdef int exchange(self, double share) except -1:
        """Adapt to kernels that changed since ``before`` was filled with Gram matrices; posteriors at the points stay.

        In regression confidence shrinks with the similarity of old and new kernel, and to this
        share: evidence from under another kernel may be wrong, and a confident process would not learn again.
        """
        cdef Py_ssize_t i
        cdef int b
        cdef double keep
        if self.n == 0:
            return 0
        self.fill_grams(self.after)
        for i in range(KERNELS):
            keep = share * cosine(self.before[i], self.after[i], (<Basis> self.bases[0]).capacity)
            keep = fmax(keep, self.least_kept)
            for b in range(POSTERIORS):
                (<Posterior> self.posteriors[i * POSTERIORS + b]).exchange(self.before[i], self.after[i], keep)
            (<Basis> self.bases[i]).rebuild(self.after[i])
        return 0

    # Explanations and state -------------------------------------------------------------------------------------------

    cdef void add_coefficients(self, const double *weight, double *out) noexcept:
        cdef Py_ssize_t e, o, r
        cdef Posterior posterior
        for e in range(PROCESSES):
            posterior = self.posteriors[e]
            posterior.settle()
            for o in range(self.columns):
                posterior.basis.solve(posterior.means + o * posterior.covariance.capacity, self.alpha)
                for r in range(self.n):
                    out[self.position[r] * self.columns + o] += weight[e] * self.alpha[r]

    cdef double norm2(self, const double *weight) noexcept:
        """Return ‖E f‖² over all columns, averaged over the processes by these weights."""
        cdef Py_ssize_t e, o
        cdef Posterior posterior
        cdef double total = 0.0
        for e in range(PROCESSES):
            posterior = self.posteriors[e]
            posterior.settle()
            for o in range(self.columns):
                posterior.basis.solve(posterior.means + o * posterior.covariance.capacity, self.alpha)
                total += weight[e] * linalg.dot(self.alpha, posterior.means + o * posterior.covariance.capacity, self.n)
        return fmax(0.0, total)

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        cdef Py_ssize_t e
        for e in range(PROCESSES):
            metrics[self.metric[e // POSTERIORS]] += weight[e]

    def names(self):
        found = []
        for i in range(KERNELS):
            for forgetting, prior_variance, noise in POSTERIORS_OF[self.task]:
                adapted = self.task == "regression" and forgetting == 1.0
                of_noise = f", noise={noise:g}" if noise and not adapted else ""
                found.append(
                    f"process(kernel={i + 1}, forgetting={forgetting:g}, prior_variance={prior_variance:g}{of_noise})"
                )
        return found

    @property
    def positions(self):
        """Positions of the dictionary's points."""
        cdef Py_ssize_t r
        return [self.position[r] for r in range(self.n)]

    def _check(self):
        cdef Py_ssize_t i, r, n = self.points.n, ld = (<Basis> self.bases[0]).capacity
        Expert._check(self)
        assert self.n <= self.max_points
        assert all([self.member[self.position[r]] == r for r in range(self.n)])
        assert sum([self.member[i] >= 0 for i in range(n)]) == self.n
        self.fill_grams(self.after)
        grams = [np.tril(viewed(self.after[i], ld * ld, np.dtype("f8")).reshape(ld, ld)) for i in range(KERNELS)]
        self.free_grams()
        for basis, gram in zip(self.bases, grams):
            if not self.n:
                break
            gram = (gram + np.tril(gram, -1).T)[:self.n, :self.n]
            residual = np.abs(basis.matrix() @ gram - np.eye(self.n)).max()
            assert residual < 1e-5, "K⁻¹ is the inverse of K"

    def state(self):
        return Expert.state(self) | {
            "points": np.array(self.positions, dtype=np.int32),
            "means": np.array([(kernel.mean_distance, kernel.mean_square) for kernel in self.kernels]),
            "bases": [basis.state() for basis in self.bases],
            "posteriors": [posterior.state() for posterior in self.posteriors],
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, n
        positions, means = state["points"], state["means"]
        check_positions(positions, self.points.n, self.max_points)
        n = positions.size
        checked_numbers("the bandwidths of the processes", means, (KERNELS, 2), 0.0, LARGEST_SUM)
        if len(state["bases"]) != KERNELS or len(state["posteriors"]) != PROCESSES:
            raise ValueError("the processes of a mixture do not match")
        if (
            any([basis["n"] != n for basis in state["bases"]])
            or any([posterior["means"].shape != (self.columns, n) for posterior in state["posteriors"]])
        ):
            raise ValueError("the posteriors of a mixture do not match its dictionary and its classes")
        self.reserve()
        self.reserve_dictionary(n)
        Expert.restore(self, state)
        self.n = n
        for i in range(n):
            self.position[i] = positions[i]
            self.member[self.position[i]] = <int32_t> i
        for i in range(KERNELS):
            (<CompiledKernel> self.kernels[i]).tune(means[i, 0], means[i, 1])
        for part, saved in zip((*self.bases, *self.posteriors), (*state["bases"], *state["posteriors"])):
            part.restore(saved)


cdef double cosine(const double *one, const double *other, Py_ssize_t n) noexcept nogil:
    """Return the cosine between the lower triangles of two Gram matrices, without their diagonals."""
    cdef Py_ssize_t r, c
    cdef double product = 0.0, square = 0.0, of_other = 0.0
    for r in range(n):
        for c in range(r):
            product += one[r * n + c] * other[r * n + c]
            square += one[r * n + c] * one[r * n + c]
            of_other += other[r * n + c] * other[r * n + c]
    # separate roots, because the product of two squares of 1e100 overflows; rounding may give more than 1
    return fmin(product / (sqrt(square) * sqrt(of_other)), 1.0) if square > 0.0 and of_other > 0.0 else 1.0
