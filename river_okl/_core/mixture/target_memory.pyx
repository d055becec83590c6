"""The memory of ``OKLRegressor``: targets by trees on the residuals of the linear regression, and by nearest rows
(memory.pyx).

More trees learn the residuals of the mixture's answer, as a function of the sample and of the answer itself
(``correction``).
"""

from libc.math cimport fabs, fmax, fmin, log

from river_okl._core.kernel.distances cimport FULL
from river_okl._core.loops cimport saturated
from river_okl._core.memory.nearest cimport LATEST, OF_ALL, OF_LATEST
from river_okl._core.mixture.expert cimport Outcome, with_residual
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler

cdef double LARGEST_LOSS = 5.0      # in standard deviations of the target
cdef double RATE = 0.01             # of the running squared residual
cdef double LEAST_RESIDUAL = 1e-6
cdef double LEAST_ERROR = 1e-3      # in running errors


cdef class TargetMemory(Memory):
    """Three predictions of a standardised target; the other parameters are those of ``Memory``.

    Parameters
    ----------
    linear
        A linear regression, which is asked and learns first.
    distances
        They know the mean squares of features.
    """

    def __init__(self, Scaler scaler, Py_ssize_t max_rows, Regression linear, Distances distances):
        Memory.__init__(self, scaler, max_rows, True)
        self.linear, self.distances = linear, distances
        self.of_linear, self.of_answer = TargetTrees(self.latest, linear), TargetTrees(self.latest, None)
        self.of_errors = ErrorTrees(self.latest)
        self.assemble((self.of_linear, self.of_answer, self.of_errors))
        self.declare(
            <size_t> &self.residual, "residual", (), default=1.0, low=LEAST_RESIDUAL, power=2
        )

    cdef int ask(self, const Sample *x, double *p) except -1:
        self.latest.begin(x)
        self.of_linear.ask()
        p[0] = self.linear.ridge.mean + self.of_linear.scores[0]
        self.nearest.measure()
        p[1] = self.nearest.mean_target(LATEST, OF_LATEST, self.of_linear.deviation)
        p[2] = self.nearest.mean_target(self.nearest.searched(), OF_ALL, self.of_linear.deviation)
        return 0

    cdef double correction(self, double answer) noexcept:
        """Return the expected residual of this answer to the last sample of ``ask``."""
        self.latest.x[0] = saturated(answer)
        self.of_answer.ask()
        return self.of_answer.scores[0]

    cdef double noise(self) noexcept:
        """Return the expected logarithm of the error of the answer of ``correction``, in running errors."""
        self.of_errors.ask()
        return self.of_errors.scores[0]

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef double off = y.exact - y.p[self.first]
        self.residual = fmax(with_residual(self.residual, off, RATE), LEAST_RESIDUAL)
        if saturated(self.answered) != self.latest.x[0]:  # the answer of then
            self.correction(self.answered)
            self.noise()
        self.of_errors.error = <float> log(fmax(self.error, LEAST_ERROR))
        self.add_row(x, y, fmin(fabs(off), LARGEST_LOSS))
        return False

    cdef void count_in_full(self, bint in_full) noexcept:
        """Set whether trees learn large residuals in full."""
        self.of_linear.in_full = self.of_answer.in_full = in_full

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.latest.rescale(ratio, shift)
        self.of_linear.rescale(ratio, shift)
        self.of_answer.rescale(ratio, shift)
        self.of_errors.rescale_answer(ratio, shift)

    cdef bint find_relevance(self) noexcept:
        """Set the relevance of each column: its shares in the linear regression and in the gains of the trees, each
        weighted by the variance that it explains."""
        cdef Py_ssize_t c, first = self.latest.answers, n = self.latest.column.n
        cdef double by_linear = fmax(1.0 - self.linear.residual, 0.0), total = 0.0
        cdef double by_trees = fmax(fmin(self.linear.residual, 1.0) - self.residual, 1e-3)
        cdef bint known = Memory.find_relevance(self)
        for c in range(first, n):
            total += self.variance_of(c)
        if total <= 0.0:
            return known
        for c in range(first, n):
            self.relevance[c] = (
                by_trees * self.relevance[c] + by_linear * self.variance_of(c) / total * (n - first)
            ) / (by_trees + by_linear)
        return True

    cdef double least_weight(self, Distances distances, Py_ssize_t place) noexcept:
        """The weight that follows from slopes, which show sooner that a feature has become relevant again."""
        cdef double least = Memory.least_weight(self, distances, place)
        return fmax(distances.weights[FULL][place], least) if distances.learned else least

    cdef double variance_of(self, Py_ssize_t column) noexcept:
        """Return the variance of the linear regression's term of a column."""
        cdef Py_ssize_t place = self.latest.place[column]
        cdef double coef
        if not 0 <= place < self.linear.ridge.per_input.n - 1:
            return 0.0
        coef = self.linear.ridge.coef[1 + place]
        return coef * coef * self.distances.squares[place] / fmax(self.distances.samples, 1.0)

    # State ------------------------------------------------------------------------------------------------------------
