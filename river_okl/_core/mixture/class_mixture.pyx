"""The mixture of ``OKLClassifier``: p(c | x) = Σ w_e p_e(c | x), the stack one of the experts.

If labels come late every expert may be wrong in the same way: all of them follow the last labels that are known, which
may say nothing of today's.  So it is learned how far to trust them:

    P(c | x) ∝ p(c | x)^a · f_c^(1 - a)         f: the frequencies of the classes so far

where a follows the log loss of what was said by Newton's method, from 0 to 1.  It is 1 as long as labels come at once.
"""

from libc.math cimport fmax, fmin, log

from river_okl._core.calibration cimport softmax
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport POSTERIORS, PROCESSES, Processes
from river_okl._core.sample cimport Sample

import numpy as np

from river_okl._core.mixture.pool import METRIC as POOL_METRIC
from river_okl._core.mixture.processes import NEWCOMER
from river_okl._core.states import checked_numbers

LARGEST_BUDGET = 10_000_000         # points
SINGLE_PRECISION = True             # of scaled features; the tests compare in double precision, too

cdef double CLIP = 1e-4             # of probabilities of experts, before they are mixed or judged
cdef double CONFIDENT = 0.7         # a label that had this probability was predicted confidently
cdef double MOST_WEIGHT = 10.0      # of a sample, for the experts without a bound of their own and the mixture weights
cdef double LATEST = 0.4            # share of the points outside the dictionary that are for the latest samples
FORESTS = (3, 1), (4, 2)            # trees, and of how many features one is a candidate
cdef double TRUST_MEMORY = 10_000.0     # samples from which a is known; bursts come rarely
cdef double newcomer = NEWCOMER
cdef Py_ssize_t largest_budget = LARGEST_BUDGET


cdef class ClassMixture(Mixture):
    """Experts on the classes 0, 1, ... of which there are two at first.

    Parameters
    ----------
    each
        Points for each class: ``budget`` is twice as many and grows with the third class; 0: one budget for all.  The
        dictionary does not grow.
    """

    def __init__(
        self, tuple terms, Py_ssize_t each=0, *, Py_ssize_t budget, Py_ssize_t dictionary, Py_ssize_t pending,
        bint scale=True
    ):
        cdef Py_ssize_t i, beside = budget - dictionary, latest = <Py_ssize_t> (LATEST * beside)
        Mixture.__init__(
            self, terms, budget=budget, dictionary=dictionary, first_metric=POOL_METRIC, pending=pending,
            scale=scale, single=scale and SINGLE_PRECISION
        )
        self.early, self.growth, self.n_classes = 200, 2, 2
        self.each = each
        self.processes = Processes(self.distances, terms, dictionary, "binary")
        self.pool = Pool(self.distances, terms, beside - latest)
        self.linear = LinearModels(self.scaler)
        self.neighbours = Neighbours(self.distances, latest, 2)
        self.forests = tuple([Forest(trees, one_in=one_in, seed=1 + i) for i, (trees, one_in) in enumerate(FORESTS)])
        self.bayes = Bayes(self.scaler)
        others = self.processes, self.pool, self.linear, self.neighbours, *self.forests, self.bayes
        self.stack = Stack(others)
        self.experts = *others, self.stack
        self.holders = (self.pool, self.processes, self.neighbours)
        self.reserve_predictions(2)
        self.stack.weight = self.weight
        self.number_predictions()
        self.pending.clear(self.n_said)
        self.trust = self.curvature = 1.0
        self.n_weighted = self.rows
        for forest in self.forests:
            self.log_weight[(<Forest> forest).first] = -newcomer
        self.update_weights()

    def __reduce__(self):
        make, options, state = Mixture.__reduce__(self)
        if self.each:  # the budget is that of two classes, and grows again with those of the state
            kind, terms, _, *others = options
            options = kind, terms, 2 * self.each, *others, self.each
        return make, options, state

    cdef int reserve_predictions(self, Py_ssize_t n_classes) except -1:
        self.fresh = False  # the last answer is gone even if there is not enough memory
        self.off = self.doubles(self.off, 0, n_classes)
        self.trusted = self.doubles(self.trusted, 0, n_classes)
        Mixture.reserve_predictions(self, n_classes)
        self.number_predictions()
        return 0

    cdef void number_predictions(self) noexcept:
        Mixture.number_predictions(self)
        self.mixed = self.p + self.rows * self.n_classes
        self.frequency = self.mixed + self.n_classes
        self.answer = self.mixed

    cdef Py_ssize_t own(self, Py_ssize_t n_classes) noexcept:
        return 2 * n_classes

    def add_class(self):
        """One more class.  With the third, each function of two classes becomes one for each of them."""
        cdef Py_ssize_t e
        cdef double largest
        cdef Py_ssize_t budget = self.budget, beside = budget - self.processes.most
        cdef Py_ssize_t more = max(0, min(self.each, largest_budget - budget))
        cdef Py_ssize_t latest = <Py_ssize_t> (LATEST * (beside + more)) - <Py_ssize_t> (LATEST * beside)
        cdef Py_ssize_t limit = budget + more + 2
        # whatever may raise; no expert has another class yet
        most = limit  # as an object, which takes memory
        if self.asked:
            self.put_aside()
        if self.n_classes > 2:
            self.pending.reserve_wider(self.n_said + self.rows + 2)
        self.reserve_predictions(self.n_classes + 1)
        for expert in self.experts:
            (<Expert> expert).reserve_class()
        if more:
            self.neighbours.reserve_latest(latest)
        # and what does not
        for expert in self.experts:
            (<Expert> expert).add_class()
        self.n_classes += 1
        if more:
            self.points.most, self.points.limit = most, limit
            self.pool.most += more - latest
            self.neighbours.add_latest()
        if self.n_classes > 3:
            self.pending.widen(self.rows + 2, self.n_classes - 1)
            self.number_predictions()
        else:  # naive Bayes begins to predict, and the stack restarts
            largest = self.log_weight[0]
            for e in range(1, self.stack.first):
                largest = fmax(largest, self.log_weight[e])
            self.number_predictions()
            self.pending.clear(self.n_said)
            self.n_weighted = self.rows
            self.log_weight[self.bayes.first] = self.log_weight[self.stack.first] = largest - newcomer
            if self.silenced:
                self.silence(*self.silenced)
        self.update_weights()

    cdef int ask(self, const Sample *x) except -1:
        Mixture.ask(self, x)
        self.mix()
        return 0

    cdef void mix(self) noexcept:
        """Σ w_e p_e, from probabilities that are not all but certain."""
        cdef Py_ssize_t e, o, n = self.n_classes
        cdef double p, weight, total = 0.0, least = CLIP, most = 1.0 - CLIP
        cdef double *mixed = self.mixed
        cdef const double *of_expert = self.p
        for o in range(n):
            mixed[o] = 0.0
        for e in range(self.rows):
            weight = self.weight[e]
            for o in range(n):  # no fmin, which would be a call
                p = of_expert[o] if of_expert[o] > least else least
                mixed[o] += weight * (p if p < most else most)
            of_expert += n
        for o in range(n):
            total += mixed[o]
        for o in range(n):
            mixed[o] /= total
        self.answer = mixed
        if self.trust < 1.0 and self.pending.late:
            self.conclude()
            self.pool_with_frequencies(mixed, self.frequency)
            self.answer = self.trusted

    cdef void conclude(self) noexcept:
        """The frequencies of the classes."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        for o in range(self.n_classes):
            total += self.bayes.counts[o] + 0.5
        for o in range(self.n_classes):
            self.frequency[o] = (self.bayes.counts[o] + 0.5) / total

    cdef void pool_with_frequencies(self, const double *mixed, const double *frequency) noexcept:
        """``trusted`` from these, and ``off``."""
        cdef Py_ssize_t o
        cdef double least = 1e-30
        for o in range(self.n_classes):
            self.off[o] = log(fmax(mixed[o], least)) - log(fmax(frequency[o], least))
            self.trusted[o] = log(fmax(frequency[o], least)) + self.trust * self.off[o]
        softmax(self.trusted, 1.0, self.n_classes, self.trusted)

    cdef void learn_trust(self, const Outcome *y) noexcept:
        """A step of Newton's method for a, unless the class was not known when the sample was asked."""
        cdef Py_ssize_t o, c = <Py_ssize_t> y.target
        cdef const double *mixed = y.said + self.rows * self.n_classes
        cdef double mean = 0.0, square = 0.0
        if mixed[c] <= 0.0:
            return
        self.pool_with_frequencies(mixed, mixed + self.n_classes)
        for o in range(self.n_classes):
            if mixed[o] > 0.0:
                mean += self.trusted[o] * self.off[o]
                square += self.trusted[o] * self.off[o] * self.off[o]
        self.curvature += y.counts * fmax(square - mean * mean, 0.0) - (self.curvature - 1.0) / TRUST_MEMORY
        self.trust += y.counts * (self.off[c] - mean) / self.curvature
        self.trust = fmin(fmax(self.trust, 0.0), 1.0)

    def probabilities(self, sample):
        """P(class | x) of every class."""
        cdef Py_ssize_t o
        self.evaluate(sample)
        self.asked = True
        return [self.answer[o] for o in range(self.n_classes)]

    def most_probable(self, sample):
        """The class of the largest probability; of two that are equal the second, of more the first."""
        cdef Py_ssize_t o, best = 0
        self.evaluate(sample)
        self.asked = True
        if self.n_classes == 2:
            return 1 if self.answer[1] >= self.answer[0] else 0
        for o in range(1, self.n_classes):
            if self.answer[o] > self.answer[best]:
                best = o
        return best

    cdef void judge(self, Outcome *y) noexcept:
        cdef Py_ssize_t e, c = <Py_ssize_t> y.target
        y.counts = fmin(y.w, MOST_WEIGHT)
        y.confident = 1.0 - y.said[self.rows * self.n_classes + c] <= 1.0 - CONFIDENT
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        for e in range(self.rows):
            self.log_weight[e] = y.discount * self.log_weight[e] + y.counts * log(
                fmin(fmax(y.said[e * self.n_classes + c], CLIP), 1.0 - CLIP)
            )
        if y.late:
            self.learn_trust(y)
            self.stack.ask_again(self.said)
        self.update_weights()

    @property
    def expert_weights(self):
        """(name, weight) of every prediction in the next one."""
        cdef Py_ssize_t e
        names = [name for expert in self.experts for name in expert.names()]
        return [(name, self.weight[e]) for e, name in enumerate(names)]

    cdef int divide(self, Py_ssize_t latest) except -1:
        self.pool.most = self.budget - self.processes.most - latest
        return Mixture.divide(self, latest)

    def check_said(self, said):
        Mixture.check_said(self, said)
        p = said[:, :(self.rows + 2) * self.n_classes]
        if p.size and not (0.0 <= p.min() and p.max() <= 1.0):
            raise ValueError("an opinion is not a probability")

    def state(self):
        return Mixture.state(self) | {"trust": np.array([self.trust, self.curvature])}

    def restore(self, dict state):
        classes = state["n_classes"]
        if type(classes) is not int or not 2 <= classes <= 2**20:
            raise ValueError(f"a mixture of {classes!r} classes")
        # the state must contain this many numbers before room for them is allocated
        if len(state["bayes"]["counts"]) != classes:
            raise ValueError(f"the experts of a mixture do not match its {classes} classes")
        if any([state[forest.name]["n_classes"] != classes for forest in self.forests]):
            raise ValueError("the forests of a mixture do not match its classes")
        while self.n_classes < classes:
            self.add_class()
        trust, curvature = checked_numbers("the trust in experts", state["trust"], (2,), 0.0).tolist()
        if trust > 1.0 or curvature < 1e-3:
            raise ValueError("the trust in experts is out of range")
        Mixture.restore(self, state)
        self.trust, self.curvature = trust, curvature
