"""The mixture of ``OKLClassifier``: p(c | x) = Σ w_e p_e(c | x), the stack one of the experts."""

from libc.math cimport fmax, fmin, log

from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.mixture.linear cimport LINEARS
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.mixture.processes cimport POSTERIORS, PROCESSES, Processes
from river_okl._core.sample cimport Sample

from river_okl._core.mixture.pool import METRIC as POOL_METRIC
from river_okl._core.mixture.processes import NEWCOMER

LARGEST_BUDGET = 10_000_000         # points
SINGLE_PRECISION = True             # of scaled features; the tests compare in double precision, too

cdef double DISCOUNT = 0.99
cdef double CLIP = 1e-4             # of probabilities of experts, before they are mixed or judged
cdef double CONFIDENT = 0.7         # a label that had this probability was predicted confidently
cdef double MOST_WEIGHT = 10.0      # of a sample, for the experts without a bound of their own and the mixture weights
cdef double LATEST = 0.4            # share of the points outside the dictionary that are for the latest samples
FORESTS = (3, 1), (4, 2)            # trees, and of how many features one is a candidate
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

    def __init__(self, tuple terms, Py_ssize_t each=0, *, Py_ssize_t budget, Py_ssize_t dictionary, bint scale=True):
        cdef Py_ssize_t i, beside = budget - dictionary, latest = <Py_ssize_t> (LATEST * beside), of_two
        Mixture.__init__(
            self, terms, budget=budget, dictionary=dictionary, first_metric=POOL_METRIC, scale=scale,
            single=scale and SINGLE_PRECISION
        )
        self.early, self.growth, self.n_classes = 200, 2, 2
        self.each = each
        self.processes = Processes(self.distances, terms, dictionary, "binary")
        self.pool = Pool(self.distances, terms, beside - latest)
        self.linear = LinearModels(self.scaler)
        self.neighbours = Neighbours(self.distances, latest, 2)
        self.forests = tuple([Forest(trees, one_in=one_in, seed=1 + i) for i, (trees, one_in) in enumerate(FORESTS)])
        self.bayes = Bayes(self.scaler)
        of_two = PROCESSES + 1 + LINEARS + 1 + len(FORESTS)
        self.stack = Stack(of_two, of_two + 1)
        self.experts = (
            self.processes, self.pool, self.linear, self.neighbours, *self.forests, self.bayes, self.stack
        )
        self.holders = (self.pool, self.processes, self.neighbours)
        self.reserve_predictions(2)
        self.stack.weight = self.weight
        self.number_predictions()
        self.n_weighted = self.rows
        for forest in self.forests:
            self.log_weight[(<Forest> forest).first] = -newcomer
        self.update_weights()

    def __reduce__(self):
        make, options, state = Mixture.__reduce__(self)
        if self.each:  # the budget is that of two classes, and grows again with those of the state
            kind, terms, _, dictionary, scale = options
            options = kind, terms, 2 * self.each, dictionary, scale, self.each
        return make, options, state

    cdef int reserve_predictions(self, Py_ssize_t n_classes) except -1:
        self.mixed = self.doubles(self.mixed, 0, n_classes)
        return Mixture.reserve_predictions(self, n_classes)

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
        if self.n_classes == 3:  # naive Bayes begins to predict, and the stack restarts
            largest = self.log_weight[0]
            for e in range(1, self.stack.first):
                largest = fmax(largest, self.log_weight[e])
            self.number_predictions()
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

    def probabilities(self, sample):
        """P(class | x) of every class."""
        cdef Py_ssize_t o
        self.evaluate(sample)
        return [self.mixed[o] for o in range(self.n_classes)]

    def most_probable(self, sample):
        """The class of the largest probability; of two that are equal the second, of more the first."""
        cdef Py_ssize_t o, best = 0
        self.evaluate(sample)
        if self.n_classes == 2:
            return 1 if self.mixed[1] >= self.mixed[0] else 0
        for o in range(1, self.n_classes):
            if self.mixed[o] > self.mixed[best]:
                best = o
        return best

    cdef void judge(self, Outcome *y) noexcept:
        cdef Py_ssize_t e, c = <Py_ssize_t> y.target
        y.counts = fmin(y.w, MOST_WEIGHT)
        y.confident = 1.0 - self.mixed[c] <= 1.0 - CONFIDENT
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        for e in range(self.rows):
            self.log_weight[e] = DISCOUNT * self.log_weight[e] + y.counts * log(
                fmin(fmax(self.p[e * self.n_classes + c], CLIP), 1.0 - CLIP)
            )
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
        Mixture.restore(self, state)
