"""One Gaussian process on a dictionary, under any kernel: what ``SOGPClassifier`` and ``SOGPRegressor`` step through.

The rows of a kernel over points (rows.pyx), K⁻¹ and what is believed (posterior.pyx), point i the same in all of them.  Every
method is about the sample that ``look`` or ``observe`` saw last.
"""

import numpy as np

from river_okl._core.kernel cimport Kernel
from river_okl._core.points cimport LANES, SPARSE_BELOW, Points
from river_okl._core.posterior cimport JITTER, Basis, Belief, gaussian, probit
from river_okl._core.rows cimport Rows

from river_okl._core.states import checked_points, with_arrays, with_bytes

DIAGONAL = 1.0 + JITTER     # of K, as a multiple of κ(z, z), for whoever makes one


cdef class Process:
    """A Gaussian process over river samples.

    Parameters
    ----------
    terms
        The terms of a ``river_okl.kernels`` kernel.
    budget
        The most points between two steps; in a step there may be one more.
    amplitude
        a: f ~ GP(0, a κ).
    forgetting
        λ, by which a sample leaves what is believed closer to the prior.
    """

    cdef readonly Points points
    cdef readonly Rows rows
    cdef readonly Basis basis
    cdef readonly Belief belief
    cdef readonly Py_ssize_t budget
    cdef bint fresh             # q, h, m and v are of the last sample

    def __init__(self, tuple terms, *, Py_ssize_t budget, double amplitude=1.0, double forgetting=1.0):
        self.points = Points(budget + 1)
        self.rows = Rows(self.points, Kernel(terms))
        self.basis = Basis(budget + 1)
        self.belief = Belief(self.basis, amplitude, forgetting)
        self.budget = budget

    def __len__(self):
        return self.points.n

    @property
    def supports(self):
        """The positions of the points that have coefficients: all."""
        return range(self.points.n)

    @property
    def memo(self):
        """Whether what is known of the last sample is used again."""
        return self.rows.memo

    @memo.setter
    def memo(self, value):
        self.rows.memo = value

    def __reduce__(self):
        options = self.rows.kernel.terms, self.budget, self.belief.amplitude, self.belief.forgetting
        return _new, options, self.state()

    def __setstate__(self, state):
        self.restore(state)

    @property
    def kernel(self):
        return self.rows.kernel

    # The last sample ------------------------------------------------------------------------------------------------------

    def look(self, sample):
        """What is believed of f(x): E f(x) for each column, and Var f(x)."""
        cdef Py_ssize_t o
        self.points.enter()
        try:
            if self.rows.look(sample) or not self.fresh:
                self.basis.look(self.rows.row, self.rows.self_similarity)
                self.belief.look(self.rows.row)
                self.fresh = True
            return [self.belief.mean[o] for o in range(self.belief.columns)], self.belief.variance
        finally:
            self.points.leave()

    def observe(self, sample):
        """``look``, at a sample that is about to be learned: it counts for a kernel that takes γ from the stream."""
        while self.points.n > self.budget:  # a step was interrupted before it made room
            self.remove(self.least())
        found = self.look(sample)
        if self.rows.kernel.adapting:
            self.points.enter()  # nothing else may change between the two kernels
            try:
                before = self.rows.whole()
                moved = self.rows.kernel.observe(self.rows.seen())
                if moved:
                    self.rows.kernel_moved()
                    self.exchange(before)
            finally:
                self.points.leave()
            if moved:
                found = self.look(sample)
        return found

    cdef int exchange(self, before) except -1:
        """The kernel has changed; μ and S stay.  Requires ``points.enter``."""
        cdef Py_ssize_t n = self.points.n, ld = self.basis.capacity
        cdef double[:, ::1] old = np.zeros((ld, ld)), new = np.zeros((ld, ld))
        self.fresh = False
        if n:
            for matrix, gram in (old, before), (new, self.rows.whole()):
                gram[np.diag_indices(n)] *= 1.0 + JITTER
                np.asarray(matrix)[:n, :n] = gram
            self.belief.exchange(&old[0, 0], &new[0, 0])
            self.basis.rebuild(&new[0, 0])
        return 0

    @property
    def novelty(self):
        """γ: how much of κ(x, ·) the dictionary lacks, as a part of it."""
        return self.basis.novelty()

    # Steps ----------------------------------------------------------------------------------------------------------------

    def forget(self):
        """Back to the prior by 1 - λ; what ``look`` returned, after that."""
        cdef Py_ssize_t o
        self.rows.seen()
        self.belief.forget(self.rows.row)
        self.fresh = False
        return [self.belief.mean[o] for o in range(self.belief.columns)], self.belief.variance

    def update(self, c, double b):
        """μ ← μ + c h, S ← S - b h hᵀ"""
        cdef double[::1] each = np.array(c, dtype=np.float64)
        self.rows.seen()
        self.fresh = False
        self.belief.learn(&each[0], b, self.rows.row, False)

    def add(self, c, double b):
        """The same, and x joins the dictionary."""
        cdef double[::1] each = np.array(c, dtype=np.float64)
        self.rows.seen()
        self.fresh = False
        self.points.enter()
        try:
            if self.points.n == self.points.capacity:
                capacity = self.points.next_capacity()
                self.rows.reserve(capacity)
                self.points.grow(capacity)
            self.points.store(self.rows.seen())
        finally:
            self.points.leave()
        self.belief.learn(&each[0], b, self.rows.row, True)
        self.basis.add()
        self.rows.added()

    def least(self):
        """The point that is missed least: the smallest (K⁻¹ μ)_i² / (K⁻¹_ii)², over all columns."""
        cdef double[::1] alpha = np.zeros(self.budget + 1), losses = np.zeros(self.budget + 1)
        self.belief.add_losses(1.0, &alpha[0], &losses[0])
        return int(np.argmin(losses[: self.points.n]))

    def remove(self, Py_ssize_t i):
        """Point i leaves, and the last takes its position."""
        self.points.enter()
        try:
            self.points.check_position(i)
            self.rows.reader = self.points.busy_thread  # what another thread has looked at is no longer so
            self.fresh = False
            self.belief.remove(i)
            self.basis.remove(i)
            self.points.drop(i)
            self.rows.dropped(i)
            self.points.forget_emptied()
        finally:
            self.points.leave()

    def add_column(self):
        """One more column of targets, all of which were 0 so far."""
        self.points.enter()
        try:
            self.fresh = False
            self.belief.add_column()
        finally:
            self.points.leave()

    def tell_apart(self, double amplitude):
        """From the probit of two classes to targets 0 and 1 for each of them."""
        self.points.enter()
        try:
            belief = Belief(self.basis, amplitude, self.belief.forgetting, 2)
            gram = self.rows.whole()
            gram[np.diag_indices(len(gram))] *= DIAGONAL
            belief.tell_apart(self.belief, gram)
            self.belief = belief
            self.fresh = False
        finally:
            self.points.leave()

    # What there is --------------------------------------------------------------------------------------------------------

    def alpha(self):
        """K⁻¹ μ: the coefficients of E f, an array (columns, points)."""
        cdef Py_ssize_t o, n
        cdef double[:, ::1] view
        self.points.enter()  # NumPy gives the GIL away where it allocates
        try:
            n = self.points.n
            out = np.zeros((self.belief.columns, max(n, 1)))
            view = out
            for o in range(self.belief.columns):
                self.basis.solve(self.belief.means + o * self.basis.capacity, &view[o, 0])
        finally:
            self.points.leave()
        return out[:, :n] if n else out[:, :0].copy()

    @property
    def row(self):
        """κ(z_i, x)"""
        cdef Py_ssize_t i
        return np.array([self.rows.row[i] for i in range(self.points.n)])

    def covariance(self):
        """S, for whoever compares."""
        gram = self.rows.gram()
        gram[np.diag_indices(self.points.n)] *= 1.0 + JITTER
        return self.belief.amplitude * gram - self.belief.factor * self.belief.learned.matrix()

    def means(self):
        """μ: an array (columns, points)."""
        cdef Py_ssize_t i, o
        n, ld = self.points.n, self.basis.capacity
        return np.array([[self.belief.means[o * ld + i] for i in range(n)] for o in range(self.belief.columns)]).reshape(self.belief.columns, n)

    @property
    def norm2(self):
        """‖E f‖², over all columns."""
        alpha = self.alpha()
        return max(0.0, float((alpha * self.means()).sum() - JITTER * (alpha**2 * self.rows.similarities()).sum()))

    def _check(self):
        """The invariants, by brute force."""
        n = self.points.n
        self.points.check()
        assert self.basis.n == n <= self.budget + 1
        if n:
            gram = self.rows.gram()
            gram[np.diag_indices(n)] *= 1.0 + JITTER
            inverse = self.basis.matrix()
            assert np.abs(inverse @ gram - np.eye(n)).max() < 1e-6, "K⁻¹ is the inverse of K"
            S = self.covariance()
            assert np.linalg.eigvalsh(S).min() > -1e-6 * np.abs(S).max(), "S is a covariance"
            assert np.isfinite(self.means()).all()

    def state(self):
        """All of it by name; what ``restore`` takes."""
        self.points.enter()
        try:
            return {
                "kernel": self.rows.kernel.__getstate__(),
                "points": with_arrays(self.points.state()),
                "basis": self.basis.state(),
                "amplitude": self.belief.amplitude,
                "belief": self.belief.state(),
            }
        finally:
            self.points.leave()

    def restore(self, dict state):
        """Go on from a state, every number of which is checked: it may come from anywhere."""
        cdef Py_ssize_t i, n
        if type(state["amplitude"]) is not float or not 0.0 < state["amplitude"] <= 1e100:
            raise ValueError(f"the amplitude is {state['amplitude']!r}")
        points = with_bytes(state["points"])
        checked = checked_points(points, self.budget + 1, LANES, SPARSE_BELOW)
        self.rows.kernel.__setstate__(state["kernel"])
        while self.points.capacity < points["capacity"]:
            capacity = self.points.next_capacity()
            self.rows.reserve(capacity)
            self.points.grow(capacity)
        self.points.restore(points, checked)
        n = self.points.n
        for i in range(n):
            self.rows.self_[i] = self.rows.kernel.self_similarity(self.points.square[i])
        gram = self.rows.gram()
        gram[np.diag_indices(n)] *= DIAGONAL
        self.basis.restore(state["basis"], gram)
        self.belief = Belief(self.basis, state["amplitude"], self.belief.forgetting)
        self.belief.restore(state["belief"], gram)


def _new(terms, budget, amplitude, forgetting):
    return Process(terms, budget=budget, amplitude=amplitude, forgetting=forgetting)


def probit_step(double y, double m, double v, double w):
    """c and b of a label ±1 whose P(y | f) is Φ(y f)."""
    cdef double c = 0.0, b = 0.0
    probit(y, m, v, w, &c, &b)
    return c, b


def gaussian_step(double error, double v, double noise, double w):
    """c and b of a target that is f and Gaussian noise of this variance; error = y - m."""
    cdef double c = 0.0, b = 0.0
    gaussian(error, v, noise, w, &c, &b)
    return c, b
