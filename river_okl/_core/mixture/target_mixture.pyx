"""The mixture of ``OKLRegressor``: the Gaussian processes, weighted by their likelihood of the target, and the
combiner's regressions."""

from libc.math cimport exp, fabs, fmax, fmin, isfinite, log, sqrt

from river_okl._core.mixture.combiner cimport Combiner
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport POSTERIORS, PROCESSES, Processes
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Running, numbers_of, running, standing, take_in

import numpy as np

from river_okl._core.mixture.neighbours import METRIC as NEIGHBOURS_METRIC
from river_okl._core.scaler import NUMBERS

cdef double DISCOUNT = 0.99
# One tree has all of the forest's memory, as it needs more of it for a leaf; with two it learns Mv slower, and
# on other streams a second one adds nothing to the stack.
cdef int TREES = 1
# By which the unit of the target shrinks at once. It does so only if all targets were equal: what was learned is 0, and
# residuals times its square stay finite.
cdef double LARGEST_RATIO = 1e20


cdef class TargetMixture(Mixture):
    """Experts on a number, in units of its running mean and standard deviation."""

    cdef readonly Combiner combiner
    cdef readonly Forest forest
    cdef Running target                     # of the targets
    cdef double spread                      # log of what the predicted standard deviation is multiplied by
    cdef double density[PROCESSES]          # of the last target

    def __init__(self, tuple terms, *, Py_ssize_t budget, Py_ssize_t dictionary, bint scale=True):
        Mixture.__init__(
            self, terms, budget=budget, dictionary=dictionary, first_metric=NEIGHBOURS_METRIC, scale=scale
        )
        self.early, self.growth, self.n_classes = 60, 4, 1
        self.processes = Processes(self.distances, terms, dictionary, "regression")
        self.neighbours = Neighbours(self.distances, budget - dictionary, 1)
        self.forest = Forest(TREES, regression=True)
        self.combiner = Combiner(self.scaler, self.processes, self.neighbours)
        self.experts = (self.processes, self.neighbours, self.forest, self.combiner)
        self.holders = (self.processes, self.neighbours)
        self.reserve_predictions(1)
        self.number_predictions()
        self.n_weighted = PROCESSES
        self.update_weights()

    cdef int ask(self, const Sample *x) except -1:
        Mixture.ask(self, x)
        return self.combiner.ask(x, self.p + self.combiner.first)

    cdef double deviation(self) noexcept:
        """Standard deviation of the targets."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    def predict(self, sample):
        """Mean and standard deviation of the target."""
        cdef double mean = 0.0, variance = 0.0
        self.evaluate(sample)
        self.processes.predict(self.weight, &mean, &variance)
        self.combiner.mix(&mean, &variance)
        return self.target.mean + self.deviation() * mean, self.deviation() * sqrt(variance) * exp(self.spread)

    cdef double standardise(self, double target) noexcept:
        """The target in units that include it, into which the experts follow."""
        cdef double mean = self.target.mean, deviation = self.deviation(), ratio, shift
        cdef bint again = take_in(&self.target, target)
        if self.seen > 2 and not again:  # otherwise what was learned so far is not of this unit
            ratio = fmin(deviation / self.deviation(), LARGEST_RATIO)
            shift = (mean - self.target.mean) / self.deviation()
            for expert in self.experts:
                (<Expert> expert).rescale(ratio, shift)
        return standing(&self.target, target)

    cdef void judge(self, Outcome *y) noexcept:
        """A target is confidently predicted if its squared residual is at most the predicted variance."""
        cdef Py_ssize_t e
        cdef double mean, of_processes, variance
        cdef bint outside
        y.counts = fmin(y.w, 1.0)
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        self.processes.predict(self.weight, &of_processes, &variance)
        mean = of_processes
        self.combiner.mix(&mean, &variance)
        outside = fabs(y.target - mean) > 1.6448536 * sqrt(variance) * exp(self.spread)
        self.spread = fmin(fmax(self.spread + 0.02 * y.counts * (<double> outside - 0.1), -3.0), 3.0)
        y.confident = self.processes.judge(y.target, self.weight, self.seen, self.density) <= 1.0
        self.combiner.judge(y.target, of_processes, y.w, y.counts, 1.0 / (self.seen + 1))
        for e in range(PROCESSES):
            self.log_weight[e] = DISCOUNT * self.log_weight[e] + y.counts * log(self.density[e])
        self.update_weights()

    @property
    def expert_weights(self):
        """(name, weight) of every estimate in the next prediction."""
        cdef Py_ssize_t e
        names = self.processes.names()
        weights = [self.combiner.weight[0] * self.weight[e] for e in range(PROCESSES)]
        return [*zip(names, weights), ("linear", self.combiner.weight[1]), ("stack", self.combiner.weight[2])]

    def silence(self, *parts):
        """The combiner's linear regression and its stack can be silent, too."""
        self.combiner.silence(parts)
        Mixture.silence(self, *parts)

    cdef object explained(self, bint at_sample):
        out = np.zeros((self.points.n, 1))
        cdef double[:, ::1] view = out
        cdef double[PROCESSES] weight
        if self.points.n:
            self.combiner.count(self.weight, weight)
            self.processes.explain(weight, at_sample, &view[0, 0])
        return out * self.deviation()

    def state(self):
        target = *[float(number) for number in numbers_of(&self.target)], self.spread
        return Mixture.state(self) | {"target": target}

    def restore(self, dict state):
        if state["n_classes"] != 1:
            raise ValueError(f"a regression of {state['n_classes']!r} classes")
        *numbers, spread = target = state["target"]
        if len(target) != len(NUMBERS) + 1 or not all(type(number) is float and isfinite(number) for number in target):
            raise ValueError("the target's scale is out of range")
        if abs(spread) > 3.0:
            raise ValueError("the target's spread is out of range")
        found = running(numbers)
        Mixture.restore(self, state)
        self.target, self.spread = found, spread
