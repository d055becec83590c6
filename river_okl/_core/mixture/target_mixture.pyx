"""The mixture of ``OKLRegressor``: the Gaussian processes, weighted by their likelihood of the target, the combiner's
regressions, and a vote between these, the trees and the last target."""

from libc.math cimport fmax, fmin, log, sqrt

from river_okl._core.gaussian.posterior cimport Posterior
from river_okl._core.mixture.combiner cimport ESTIMATES, Combiner
from river_okl._core.mixture.difference cimport Difference
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.mixture.intervals cimport CAUSES, COVERAGES, Intervals
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport POSTERIORS, PROCESSES, Processes
from river_okl._core.sample cimport Sample
from river_okl._core.mixture.vote cimport OPINIONS, VOTERS, Vote
from river_okl._core.scaler cimport Running, running_from, running_state, standing, take_in

import numpy as np

from river_okl._core.mixture.intervals import FARTHEST, KNOTS, NORMAL
from river_okl._core.mixture.neighbours import METRIC as NEIGHBOURS_METRIC

cdef int TREES = 5
cdef int TREES_OF_DIFFERENCES = 3
cdef Py_ssize_t BYTES_OF_A_TREE = 15 << 14
cdef double[COVERAGES] normal = NORMAL
cdef Py_ssize_t AS_NORMAL = KNOTS.index(0.9)
# By which the unit of the target shrinks at once. It does so only if all targets were equal, so that what was learned
# is 0, and residuals times its square stay finite.
cdef double LARGEST_RATIO = 1e20
cdef double LEAST_VARIANCE = 1e-12, LEAST_WIDTH = 1e-6  # of opinions in another unit
cdef double LARGEST_EXACT = 1e9         # of a target in units of its deviation

cdef enum:                              # what the mixture makes of the predictions, which precede it:
    MIXED = OPINIONS + 1                # the mean of the processes and the combiner's regressions, ...
    OF_PROCESSES                        # ... that of the processes alone, ...
    VOTED                               # ... and that of the vote: the first of the numbers that judge intervals
    SCALE
    HALVES = SCALE + 1 + CAUSES         # half widths of intervals
    VARIANCES = HALVES + COVERAGES      # of the processes, noise included
    SAID = VARIANCES + PROCESSES


cdef class TargetMixture(Mixture):
    """Experts on a number, in units of its running mean and standard deviation."""

    cdef readonly Combiner combiner
    cdef readonly Forest forest
    cdef readonly Difference difference
    cdef readonly Vote vote
    cdef Running target                     # of the targets
    cdef double exact                       # the target that is being learned, in today's unit
    cdef readonly Intervals intervals
    cdef double density[PROCESSES]          # of the last target

    def __init__(self, tuple terms, *, Py_ssize_t budget, Py_ssize_t dictionary, Py_ssize_t pending, bint scale=True):
        Mixture.__init__(
            self, terms, budget=budget, dictionary=dictionary, first_metric=NEIGHBOURS_METRIC, pending=pending,
            scale=scale
        )
        self.early, self.growth, self.n_classes = 60, 4, 1
        self.processes = Processes(self.distances, terms, dictionary, "regression")
        self.neighbours = Neighbours(self.distances, budget - dictionary, 1)
        self.forest = Forest(TREES, regression=True, bytes=TREES * BYTES_OF_A_TREE)
        self.difference = Difference(
            TREES_OF_DIFFERENCES, regression=True, bytes=TREES_OF_DIFFERENCES * BYTES_OF_A_TREE, seed=2
        )
        self.combiner = Combiner(self.scaler, self.processes, self.neighbours)
        self.vote = Vote(PROCESSES + 1, PROCESSES + 2)
        self.intervals = Intervals()
        self.experts = (
            self.processes, self.neighbours, self.forest, self.difference, self.combiner, self.vote, self.intervals
        )
        self.holders = (self.processes, self.neighbours)
        self.reserve_predictions(1)
        self.number_predictions()
        self.pending.clear(self.n_said)
        self.n_weighted = PROCESSES
        self.update_weights()

    cdef int ask(self, const Sample *x) except -1:
        cdef Py_ssize_t e
        cdef double variance = 0.0
        Mixture.ask(self, x)
        for e in range(PROCESSES):
            self.p[VARIANCES + e] = (
                (<Posterior> self.processes.posteriors[e]).variance + self.processes.noise[e % POSTERIORS]
            )
        self.processes.predict(self.weight, self.p + OF_PROCESSES, &variance)
        self.p[MIXED] = self.p[OF_PROCESSES]
        self.combiner.mix(self.p + MIXED, &variance)
        self.vote.correct(self.p)
        self.p[VOTED] = self.vote.mean(self.p)
        self.intervals.issue(sqrt(variance), self.p + VOTED)
        return 0

    cdef Py_ssize_t own(self, Py_ssize_t n_classes) noexcept:
        return SAID - OPINIONS - 1

    cdef void unit(self, double *mean, double *deviation) noexcept:
        mean[0], deviation[0] = self.target.mean, self.deviation()

    cdef void convert(self, double *said, double mean, double deviation) noexcept:
        cdef double ratio = deviation / self.deviation()
        cdef Py_ssize_t i
        self.rescale_said(said, ratio, (mean - self.target.mean) / self.deviation())
        for i in range(VARIANCES, SAID):
            said[i] = fmax(ratio * ratio * said[i], LEAST_VARIANCE)

    cdef void rescale_said(self, double *said, double ratio, double shift) noexcept:
        """All but the variances of the processes, whose priors have no unit."""
        cdef Py_ssize_t i
        for i in range(VOTED + 1):
            said[i] = ratio * said[i] + shift
        said[SCALE] = fmax(ratio * said[SCALE], LEAST_WIDTH)
        for i in range(HALVES, HALVES + COVERAGES):
            said[i] *= ratio

    def check_said(self, said):
        Mixture.check_said(self, said)
        if said.size and not (said[:, SCALE].min() >= 0.0 and said[:, HALVES:].min() >= 0.0):
            raise ValueError("an opinion has a negative variance or width")
        if said.size and not np.abs(said[:, SCALE + 1:HALVES]).max() <= 1.01 * FARTHEST:
            raise ValueError("what was known of the size of errors is out of range")

    cdef double deviation(self) noexcept:
        """Standard deviation of the targets."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    def predict(self, sample):
        """Mean of the target, and the standard deviation of the normal distribution with its 90 % interval."""
        self.evaluate(sample)
        self.asked = True
        return (
            self.target.mean + self.deviation() * self.p[VOTED],
            self.deviation() * self.p[HALVES + AS_NORMAL] / normal[AS_NORMAL],
        )

    def interval(self, sample, double z):
        """Mean of the target, and the half width of the interval that has the coverage of ``z`` standard deviations.

        Between the coverages that are adapted, it is linear in ``z``.
        """
        cdef Py_ssize_t i = 0
        cdef double left = 0.0, half = 0.0
        self.evaluate(sample)
        self.asked = True
        while i < COVERAGES - 1 and z > normal[i]:
            left, half = normal[i], self.p[HALVES + i]
            i += 1
        if z > normal[i]:  # beyond the last one in proportion
            left = half = 0.0
        half += (z - left) * (self.p[HALVES + i] - half) / (normal[i] - left)
        return self.target.mean + self.deviation() * self.p[VOTED], self.deviation() * half

    cdef double standardise(self, double target) noexcept:
        """The target in units that include it, into which the experts follow."""
        cdef double mean = self.target.mean, deviation = self.deviation(), ratio, shift
        cdef bint again = take_in(&self.target, target)
        if self.seen > 2:
            ratio = fmin(deviation / self.deviation(), LARGEST_RATIO)
            shift = (mean - self.target.mean) / self.deviation()
            if again:  # what was learned so far is not of this unit; but its last errors are
                self.intervals.rescale(ratio, shift)
            else:
                for expert in self.experts:
                    (<Expert> expert).rescale(ratio, shift)
                self.rescale_said(self.p, ratio, shift)
        self.exact = fmin(fmax((target - self.target.mean) / self.deviation(), -LARGEST_EXACT), LARGEST_EXACT)
        return standing(&self.target, target)

    cdef void judge(self, Outcome *y) noexcept:
        """A target is confidently predicted if its squared residual is at most the predicted variance."""
        cdef Py_ssize_t e
        cdef double most = 1.0 / (self.seen + 1)
        cdef const double *said = y.said
        cdef double[ESTIMATES] estimates
        y.counts, y.exact = fmin(y.w, 1.0), self.exact
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        estimates[0] = said[OF_PROCESSES]
        estimates[1], estimates[2] = said[self.combiner.first], said[self.combiner.first + 1]
        self.intervals.judge(y, said + VOTED, y.exact - self.difference.last)
        y.confident = self.processes.judge(
            y.target, self.weight, said, said + VARIANCES, self.seen, self.density
        ) <= 1.0
        self.vote.judge(y, most)
        self.combiner.judge(y, estimates, most)
        for e in range(PROCESSES):
            self.log_weight[e] = y.discount * self.log_weight[e] + y.counts * log(self.density[e])
        self.update_weights()

    @property
    def expert_weights(self):
        """(name, weight) of every estimate in the next prediction."""
        cdef Py_ssize_t e
        names = self.processes.names()
        weights = [self.vote.weight[0] * self.combiner.weight[0] * self.weight[e] for e in range(PROCESSES)]
        weights += [self.vote.weight[0] * self.combiner.weight[1], self.vote.weight[0] * self.combiner.weight[2]]
        others = self.vote.names() + self.difference.names()[:1] + self.forest.names() + self.difference.names()[1:]
        weights += [self.vote.weight[e] for e in range(1, VOTERS)]
        return [*zip(names + self.combiner.names() + others, weights)]

    def silence(self, *parts):
        """The combiner's linear regression and its stack can be silent, too."""
        cdef Py_ssize_t e
        self.combiner.silence(parts)
        Mixture.silence(self, *parts)
        for e in range(self.rows):
            self.vote.silent[e] = self.silent[e]
        self.vote.weigh()

    cdef object explained(self, bint at_sample):
        out = np.zeros((self.points.n, 1))
        cdef double[:, ::1] view = out
        cdef double[PROCESSES] weight
        cdef double[PROCESSES] of_mixture
        if self.points.n:
            self.combiner.count(self.weight, of_mixture)
            self.vote.explain_processes(of_mixture, self.combiner.stack.coef, weight)
            self.processes.explain(weight, at_sample, &view[0, 0])
        return out * self.deviation()

    def state(self):
        return Mixture.state(self) | {"target": running_state(&self.target)}

    def restore(self, dict state):
        if state["n_classes"] != 1:
            raise ValueError(f"a regression of {state['n_classes']!r} classes")
        target = running_from(state["target"], "the target's scale is")
        Mixture.restore(self, state)
        self.target = target
