"""A single Gaussian process on a dictionary, with any kernel, for ``SOGPClassifier`` and ``SOGPRegressor``.

Kernel rows over points (rows.pyx), K⁻¹ and the posterior (posterior.pyx) share the positions of the points.  Methods
refer to the sample last given to ``predict``.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.gaussian.posterior cimport JITTER, SMALLEST_FACTOR, Basis, Posterior
from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.lock cimport Lock
from river_okl._core.store.features cimport Features
from river_okl._core.store.buffers cimport Owner, array_of
from river_okl._core.store.points cimport Points
from river_okl._core.store.sample cimport Sample

from river_okl._core.states import LARGEST_COUNT, checked_float, checked_whole

# Of κ(x, x).  Numbers can separate points that are too close for labels to separate.
cdef double NUMERIC_JITTER = 1e-6
cdef double NOVEL = 2.0         # jitters: a sample with a smaller ALD residual is one of the points, or in their span
cdef double VARIANCE_OF_CLASSES = 1.0          # prior variance with more than two classes, whose targets are 0 and 1


cdef class Process(Owner):
    """A Gaussian process over river samples.

    Parameters
    ----------
    terms
        The terms of a ``river_okl.kernels`` kernel.
    budget
        Maximum number of points between two steps; within a step there may be one more.
    prior_variance
        a: f ~ GP(0, a κ).
    forgetting
        λ: each sample moves the posterior towards the prior by 1 - λ.
    noise
        σ², the noise variance of numeric targets, or of the targets 0 and 1.
    numeric
        Whether targets are numbers; otherwise they are class indices, of initially two classes.
    jitter
        ε, as a multiple of κ(x, x), if it is not that of the kind of targets.
    """

    cdef readonly Lock lock     # the model's lock, which the core itself does not acquire
    cdef readonly Points points
    cdef readonly Rows rows
    cdef readonly Basis basis
    cdef readonly Posterior posterior
    cdef readonly Py_ssize_t budget
    cdef readonly int64_t seen  # samples learned
    cdef double novel           # least share of κ(x, x) outside the dictionary's span with which x becomes a point
    cdef bint fresh             # q, h, m and v belong to the last sample
    cdef double *solved         # [budget + 1], scratch of ``least``
    cdef double *losses         # [budget + 1]

    def __init__(
        self, tuple terms, Py_ssize_t budget, double prior_variance=1.0, double forgetting=1.0, double noise=0.1,
        bint numeric=True, jitter=None
    ):
        self.lock = Lock()
        self.points = Points(Features(), budget + 1)
        self.rows = Rows(self.points, CompiledKernel(terms))
        if jitter is None:
            jitter = NUMERIC_JITTER if numeric else JITTER
        self.basis = Basis(budget + 1, jitter)
        self.novel = NOVEL * jitter
        self.posterior = Posterior(self.basis, prior_variance, forgetting, noise, numeric)
        self.budget = budget
        self.solved = self.doubles(NULL, 0, self.basis.capacity)
        self.losses = self.doubles(NULL, 0, self.basis.capacity)

    def __len__(self):
        return self.points.n

    @property
    def n_classes(self):
        """1: numeric targets."""
        return 1 if self.posterior.numeric else max(2, self.posterior.columns)

    @property
    def supports(self):
        """The positions of the points with coefficients: all points."""
        return range(self.points.n)

    def __reduce__(self):
        cdef Posterior posterior = self.posterior
        options = (
            self.rows.kernel.terms, self.budget, posterior.prior_variance, posterior.forgetting, posterior.noise,
            bool(posterior.numeric), self.basis.jitter
        )
        return Process, options, self.state()

    def __setstate__(self, state):
        self.restore(state)

    @property
    def kernel(self):
        return self.rows.kernel

    # The last sample --------------------------------------------------------------------------------------------------

    @property
    def given(self):
        """The last sample, as an argument for other readers in the same step."""
        return self.rows.given()

    def predict(self, sample):
        """Return E f(x) of each column, and Var f(x)."""
        cdef Py_ssize_t o
        if self.rows.look(sample) or not self.fresh:
            self.predict_again()
        return [self.posterior.mean[o] for o in range(self.posterior.columns)], self.posterior.variance

    cdef void predict_again(self) noexcept:
        """Recompute the prediction for the last sample, with the current K⁻¹ and posterior."""
        self.basis.project(self.rows.row, self.rows.self_similarity)
        self.posterior.predict(self.rows.row)
        self.fresh = True

    # A step -----------------------------------------------------------------------------------------------------------

    def learn(self, sample, double target, double w):
        """Learn one sample, given its target or class index."""
        self.predict(sample)
        try:
            self.step(self.rows.seen(), target, w)
        except BaseException:
            self.lock.fail()
            raise

    cdef int step(self, Sample *x, double target, double w) except -1:
        """Apply the equations at the head of posterior.pyx."""
        cdef Basis basis = self.basis
        cdef Posterior posterior = self.posterior
        cdef double *k
        cdef double b
        cdef bint novel
        self.fresh = False
        if self.rows.kernel.adapting:
            self.follow(x)
        if w == 0.0:
            return 0
        if self.points.n == self.points.capacity:
            self.rows.reserve(self.points.next_capacity())
            self.points.grow(self.points.next_capacity())
        k = self.rows.row
        self.seen += 1
        novel = basis.novelty() > self.novel
        if posterior.factor < SMALLEST_FACTOR:
            self.fold()
        posterior.forget(k)                                # towards the prior by 1 - λ
        b = posterior.likelihood(target, w)                # b, and c
        posterior.learn(b, k, novel)                       # μ ← μ + c h, S ← S - b h hᵀ
        if not novel:
            return 0
        self.points.store(x)
        basis.add()
        self.rows.point_added()
        if self.points.n > self.budget:
            self.remove(self.least())                      # the smallest (K⁻¹ μ)_i² / (K⁻¹_ii)²
        return self.points.tidy()

    cdef Py_ssize_t least(self) noexcept:
        """Return the point with the lowest removal cost: the smallest (K⁻¹ μ)_i² / (K⁻¹_ii)², over all columns."""
        cdef Py_ssize_t i, best = 0
        memset(self.losses, 0, self.points.n * 8)
        self.basis.find_diagonal()
        self.posterior.add_losses(1.0, self.solved, self.losses)
        for i in range(1, self.points.n):
            if self.losses[i] < self.losses[best]:
                best = i
        return best

    cdef int remove(self, Py_ssize_t i) except -1:
        """Remove point i; the last one takes its position."""
        self.posterior.remove(i)
        self.basis.remove(i)
        self.points.drop(i)
        self.rows.point_removed(i)
        return 0

    def add_class(self):
        """Add a class; the third one also turns the probit model into one with targets 0 and 1 per class."""
        cdef Posterior posterior = self.posterior
        cdef Py_ssize_t columns = max(2, posterior.columns) + 1, ld = self.basis.capacity
        cdef double *gram
        if posterior.columns == 1:
            posterior = Posterior(
                self.basis, VARIANCE_OF_CLASSES, posterior.forgetting, posterior.noise, False, columns
            )
            gram = self.doubles(NULL, 0, ld * ld)
            self.fill_gram(gram)
            posterior.to_multiclass(self.posterior, gram)
            self.release(gram)
        else:
            posterior.add_column()
        self.posterior = posterior
        self.fresh = False

    def permute(self, list order):
        """Permute the labels: class c becomes what order[c] was."""
        self.posterior.permute(order)
        self.fresh = False

    # The kernel moves -------------------------------------------------------------------------------------------------

    cdef int fill_gram(self, double *gram) except -1:
        """Set the lower triangle of the dictionary's K, jitter included."""
        cdef Py_ssize_t i, ld = self.basis.capacity
        for i in range(self.points.n):
            self.rows.compute_of(i, self.rows.other)
            memcpy(gram + i * ld, self.rows.other, (i + 1) * 8)
            gram[i * ld + i] *= 1.0 + self.basis.jitter
        return 0

    cdef int fold(self) except -1:
        """Set f = 1."""
        cdef double *gram = self.doubles(NULL, 0, self.basis.capacity * self.basis.capacity)
        self.fill_gram(gram)
        self.posterior.fold(gram)
        self.release(gram)
        return 0

    cdef int follow(self, Sample *x) except -1:
        """Update the data-driven bandwidth.  If γ changes, keep μ and S, and recompute the rest."""
        cdef Py_ssize_t ld = self.basis.capacity
        cdef double *before = NULL
        cdef double *after
        if self.rows.kernel.moves_next() and self.points.n:
            before = self.doubles(NULL, 0, ld * ld)
            self.fill_gram(before)
        if self.rows.kernel.observe(x):
            self.rows.kernel_moved()
            if self.points.n:
                after = self.doubles(NULL, 0, ld * ld)
                self.fill_gram(after)
                self.posterior.exchange(before, after, 1.0)
                self.basis.rebuild(after)
                self.release(after)
            self.rows.measure(x, self.rows.kernel.self_similarity(x.square))
            self.predict_again()
        self.fresh = False
        self.release(before)
        return 0

    # What there is ----------------------------------------------------------------------------------------------------

    def alpha(self):
        """Return K⁻¹ μ: the coefficients of E f, an array of shape (columns, points)."""
        cdef Py_ssize_t o
        out = np.zeros((self.posterior.columns, self.points.n))
        cdef double[:, ::1] view = out
        self.posterior.settle()
        if self.points.n:
            for o in range(self.posterior.columns):
                self.basis.solve(self.posterior.means + o * self.basis.capacity, &view[o, 0])
        return out

    def coefficients(self):
        """Return the transpose of ``alpha``."""
        return self.alpha().T

    def contributions(self, sample):
        """Return the term of each point in E f at a sample: an array of shape (points, columns)."""
        self.predict(sample)
        return self.coefficients() * self.row[:, None]

    @property
    def row(self):
        """κ(z_i, x)"""
        return array_of(self.rows.row, self.points.n)

    def gram(self):
        """Return K, jitter included."""
        gram = self.rows.gram()
        gram[np.diag_indices(self.points.n)] *= 1.0 + self.basis.jitter
        return gram

    def covariance(self):
        """Return S."""
        cdef double factor = self.posterior.factor
        S = factor * self.posterior.covariance.matrix()
        return S if factor == 1.0 else S + (1.0 - factor) * self.posterior.prior_variance * self.gram()

    def means(self):
        """Return μ: an array of shape (columns, points)."""
        return self.posterior.read_means()

    @property
    def norm2(self):
        """‖E f‖², over all columns."""
        alpha = self.alpha()
        of_jitter = self.basis.jitter * (alpha**2 * self.rows.similarities()).sum()
        return max(0.0, float((alpha * self.means()).sum() - of_jitter))

    def _check(self):
        """Check the invariants by brute force."""
        n = self.points.n
        self.points.check()
        assert self.basis.n == n <= self.budget + 1
        if n:
            inverse, gram, S = self.basis.matrix(), self.gram(), self.covariance()
            assert np.abs(inverse @ gram - np.eye(n)).max() < 1e-11 / self.basis.jitter, "K⁻¹ is the inverse of K"
            assert np.linalg.eigvalsh(S).min() > -1e-6 * np.abs(S).max(), "S is a covariance"
            assert np.isfinite(self.means()).all()

    def state(self):
        """Return the state by name, for ``restore``."""
        return {
            "kernel": self.rows.kernel.state(),
            "features": self.points.features.state(),
            "points": self.points.state(),
            "basis": self.basis.state(),
            "prior_variance": self.posterior.prior_variance,
            "seen": self.seen,
            "posterior": self.posterior.state(),
        }

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number.

        There is no last sample afterwards.
        """
        prior_variance = checked_float(state, "prior_variance", 1e-300, 1e100)
        self.seen = checked_whole(state, "seen", 0, LARGEST_COUNT)
        self.points.features.restore(state["features"])
        self.points.restore(state["points"])
        self.rows.kernel.restore(state["kernel"])
        self.rows.restored()
        if state["basis"]["n"] != self.points.n:
            raise ValueError(f"a dictionary of {state['basis']['n']!r} for {self.points.n} points")
        self.basis.restore(state["basis"])
        self.posterior = Posterior(
            self.basis, prior_variance, self.posterior.forgetting, self.posterior.noise, self.posterior.numeric
        )
        self.posterior.restore(state["posterior"])
        self.fresh = False
