"""The mixture of ``OKLRegressor``: the Gaussian processes, weighted by their likelihood of the target, the combiner's
regressions, and a vote between these, the trees and the last target."""

from libc.math cimport fmax, fmin, isfinite, log, sqrt

from river_okl._core.mixture.combiner cimport Combiner
from river_okl._core.mixture.difference cimport Difference
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.mixture.intervals cimport CAUSES, COVERAGES, ISSUED, Intervals
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport POSTERIORS, PROCESSES, Processes
from river_okl._core.sample cimport Sample
from river_okl._core.mixture.vote cimport OPINIONS, VOTERS, Vote
from river_okl._core.scaler cimport Running, numbers_of, running, standing, take_in

import numpy as np

from river_okl._core.mixture.intervals import KNOTS, NORMAL
from river_okl._core.mixture.neighbours import METRIC as NEIGHBOURS_METRIC
from river_okl._core.scaler import NUMBERS

cdef double DISCOUNT = 0.99
# Mv (seeds 42, 7, 3), MAE: one tree .79, .81, .80; three .75, .69, .67; five .83, .63, .65.
cdef int TREES = 3
cdef int TREES_OF_DIFFERENCES = 1
cdef Py_ssize_t BYTES_OF_A_TREE = 15 << 14
cdef double[COVERAGES] normal = NORMAL
cdef Py_ssize_t AS_NORMAL = KNOTS.index(0.9)
cdef double LARGEST_EXACT = 1e9         # of a target in units of its deviation

cdef enum:
    MIXED = OPINIONS + 1                # the mixture's mean, after the predictions of the experts
    VOTED = OPINIONS + 2                # the mean of the vote, the first of the numbers that intervals are judged by
    SCALE = VOTED + 1
    HALVES = SCALE + 1 + CAUSES         # half widths of intervals
    N_OWN = 1 + ISSUED


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

    def __init__(self, tuple terms, *, Py_ssize_t budget, Py_ssize_t dictionary, bint scale=True):
        Mixture.__init__(
            self, terms, budget=budget, dictionary=dictionary, first_metric=NEIGHBOURS_METRIC, scale=scale
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
        self.n_weighted = PROCESSES
        self.update_weights()

    cdef int ask(self, const Sample *x) except -1:
        cdef double variance = 0.0
        Mixture.ask(self, x)
        self.processes.predict(self.weight, self.p + MIXED, &variance)
        self.combiner.mix(self.p + MIXED, &variance)
        self.vote.correct(self.p)
        self.p[VOTED] = self.vote.mean(self.p)
        self.intervals.issue(sqrt(variance), self.p + VOTED)
        return 0

    cdef Py_ssize_t own(self, Py_ssize_t n_classes) noexcept:
        return N_OWN

    cdef double deviation(self) noexcept:
        """Standard deviation of the targets."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    def predict(self, sample):
        """Mean of the target, and the standard deviation of the normal distribution with its 90 % interval."""
        self.evaluate(sample)
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
        while i < COVERAGES - 1 and z > normal[i]:
            left, half = normal[i], self.p[HALVES + i]
            i += 1
        if z > normal[i]:  # beyond the last one in proportion
            left = half = 0.0
        half += (z - left) * (self.p[HALVES + i] - half) / (normal[i] - left)
        return self.target.mean + self.deviation() * self.p[VOTED], self.deviation() * half

    cdef double standardise(self, double target) noexcept:
        """The target in units that include it, into which the experts follow."""
        cdef Py_ssize_t i
        cdef double mean = self.target.mean, deviation = self.deviation(), ratio, shift
        cdef bint again = take_in(&self.target, target)
        if self.seen > 2 and not again:  # otherwise what was learned so far is not of this unit
            ratio, shift = deviation / self.deviation(), (mean - self.target.mean) / self.deviation()
            for expert in self.experts:
                (<Expert> expert).rescale(ratio, shift)
            for i in range(self.rows + 2):
                self.p[i] = ratio * self.p[i] + shift
            self.p[SCALE] *= ratio
            for i in range(HALVES, HALVES + COVERAGES):
                self.p[i] *= ratio
        self.exact = fmin(fmax((target - self.target.mean) / self.deviation(), -LARGEST_EXACT), LARGEST_EXACT)
        return standing(&self.target, target)

    cdef void judge(self, Outcome *y) noexcept:
        """A target is confidently predicted if its squared residual is at most the predicted variance."""
        cdef Py_ssize_t e
        cdef double of_processes, variance, most = 1.0 / (self.seen + 1)
        y.counts, y.exact = fmin(y.w, 1.0), self.exact
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        self.processes.predict(self.weight, &of_processes, &variance)
        self.intervals.judge(self.p + VOTED, y.exact, y.exact - self.difference.last, y.counts, most)
        y.confident = self.processes.judge(y.target, self.weight, self.seen, self.density) <= 1.0
        self.vote.judge(self.p, y.exact, y.counts, most)
        self.combiner.judge(y.target, of_processes, y.w, y.counts, most)
        for e in range(PROCESSES):
            self.log_weight[e] = DISCOUNT * self.log_weight[e] + y.counts * log(self.density[e])
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
        return Mixture.state(self) | {"target": tuple([float(number) for number in numbers_of(&self.target)])}

    def restore(self, dict state):
        if state["n_classes"] != 1:
            raise ValueError(f"a regression of {state['n_classes']!r} classes")
        target = state["target"]
        if len(target) != len(NUMBERS) or not all(type(number) is float and isfinite(number) for number in target):
            raise ValueError("the target's scale is out of range")
        found = running(target)
        Mixture.restore(self, state)
        self.target = found
