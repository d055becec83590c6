"""The mixture behind ``OKLClassifier`` and ``OKLRegressor``: experts that share their points, believed as they predict.

What there is, all over one set of points and one encoding, scaling and pass of dot products per sample:

    processes.pyx   6 Gaussian processes    3 kernels x 2 posteriors over ONE dictionary of few points
    pool.pyx        1 first-order learner   passive-aggressive, over a pool of many points (classifiers)
    linear.pyx     3 linear models         logistic regressions, one of them with squares (classifiers)
    neighbours.pyx  4 nearest points        which vote, the latest samples among them, and tell which features matter
    forest.pyx      2 forests               Hoeffding trees, over all features and over half of them (regressions: one
                                            forest)
    bayes.pyx       1 naive Bayes           normal distributions of features (asked where there are more than two
                                            classes)
    stack.pyx       1 stack                 a logistic regression on what all others say (classifiers)
    combiner.pyx   2 linear regressions    on features, and on what all others say (regressions)

A prediction is Σ w_e p_e, with the weights of dynamic model averaging (Raftery et al. 2010)

    log w_e ← DISCOUNT log w_e + log p_e(y | x)

After 2, 3, 5, ... samples the bandwidths follow the stream; from 200 samples on, and then whenever the stream has grown
by half (regressions, all samples of which give slopes at first: 60, a quarter), but at least every ``LONGEST`` samples,
the metrics are learned from the slopes of the predictions, and the kernel that was believed least becomes a neighbour
of the one that was believed most.

A point belongs to the dictionary, to the pool, to the latest samples, or to several; one that nobody holds is dropped.
"""

from libc.math cimport exp, fabs, fmax, fmin, isfinite, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcmp

import numpy as np

from river_okl._core.mixture.bayes cimport Bayes
from river_okl._core.calibration cimport weights_of_logs
from river_okl._core.mixture.combiner cimport Combiner
from river_okl._core.mixture.forest cimport Forest
from river_okl._core.kernel cimport CompiledKernel
from river_okl._core.mixture.linear cimport LINEARS, LinearModels
from river_okl._core.lock cimport Lock
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.mixture.distances cimport METRICS, Distances
from river_okl._core.mixture.neighbours cimport NEAREST, Neighbours
from river_okl._core.points cimport Points
from river_okl._core.mixture.pool cimport Pool
from river_okl._core.mixture.processes cimport POSTERIORS, KERNELS, PROCESSES, Processes
from river_okl._core.sample cimport Sample, free_sample, reserve_sample
from river_okl._core.scaler cimport Running, Scaler, numbers_of, running, standing, take_in
from river_okl._core.mixture.stack cimport Stack
from river_okl._core.words cimport Words

from river_okl._core.mixture.linear import RATES
from river_okl._core.mixture.distances import POWERS
from river_okl._core.mixture.neighbours import METRIC as NEIGHBOURS_METRIC
from river_okl._core.mixture.pool import METRIC, SCALE
from river_okl._core.mixture.processes import POSTERIORS_OF, NEWCOMER
from river_okl._core.scaler import NUMBERS
from river_okl._core.states import LARGEST_COUNT, checked_numbers

cdef enum:
    # experts, in their order: the processes, ...
    POOL = PROCESSES
    FIRST_LINEAR = POOL + 1
    NEIGHBOURS = FIRST_LINEAR + LINEARS
    FIRST_FOREST = NEIGHBOURS + 1
    FORESTS = 2
    BAYES = FIRST_FOREST + FORESTS  # where there are more than two classes
    MOST_EXPERTS = BAYES + 2        # the stack is the last of them all

cdef double DISCOUNT = 0.99
# relative weight of a sample for the experts without a bound of their own, and for the mixture weights
cdef double MOST_WEIGHT = 10.0
cdef double WEIGHT_MEMORY = 10_000.0    # samples over which the moments of the weights are averaged
# products of a relative weight neither vanish nor overflow
cdef double LEAST_RELATIVE = 1e-100, LARGEST_RELATIVE = 1e10
cdef double CLIP = 1e-4             # probabilities of experts, before they are mixed or judged
cdef double CONFIDENT = 0.7              # a label that had this probability was confident
cdef double LATEST = 0.4            # of the points beside the dictionary are the latest samples, where there is a pool
cdef int64_t LONGEST = 2000
cdef int SLOPE_EVERY = 8
# samples of a regression, all of which give slopes: where few come at all, each counts
cdef int64_t SLOPES_AT_FIRST = 2000

cdef enum:
    N_EARLY = 10

# Forests: trees, and of how many features one is a candidate.  A regression's one tree has all of the memory, as it
# needs more of it for a leaf; with two it learns Mv slower, and elsewhere the stack leaves nothing for a second one to
# do.
FOREST_TREES = (3, 1), (4, 2)
TARGET_TREES = 1

cdef int64_t[N_EARLY] early = [2, 3, 5, 8, 12, 20, 35, 60, 100, 150]
cdef double newcomer = NEWCOMER


cdef class Mixture:
    """Experts over shared points.

    Parameters
    ----------
    terms
        The terms of a ``river_okl.kernels`` kernel.
    budget
        The most points in all.
    dictionary
        How many of them are for the Gaussian processes.
    scale
        Whether features are scaled first.
    regression
        Whether targets are numbers; otherwise they are the numbers of classes, of which there are two at first.
    """

    cdef readonly Lock lock                 # of the model: the core takes none
    cdef readonly Points points
    cdef readonly Scaler scaler
    cdef readonly Words words
    cdef readonly Distances distances
    cdef readonly Processes processes
    cdef readonly Pool pool                 # None: regression
    cdef readonly Neighbours neighbours
    cdef readonly LinearModels linear           # None: regression
    cdef readonly Stack stack               # None: regression
    cdef readonly Bayes bayes               # None: regression
    cdef readonly tuple forests             # FORESTS; regression: one
    cdef readonly Combiner combiner       # None: classes
    cdef readonly tuple terms
    cdef readonly bint regression
    cdef readonly Py_ssize_t n_classes      # 1: regression

    cdef Py_ssize_t n_experts
    cdef double log_weight[MOST_EXPERTS]
    cdef double weight[MOST_EXPERTS]
    cdef double among[PROCESSES]            # the weights of the processes among themselves, whoever else is believed
    cdef double share[KERNELS]              # of those weights, since kernels moved last
    cdef Running target                     # of the targets
    cdef double spread                      # log of what the predicted deviation is multiplied by
    cdef double[3] weights                  # of the samples: their number, mean and mean square
    cdef readonly int64_t seen
    cdef int64_t next_update
    cdef int updates

    # scratch: the last sample; never pickled
    cdef Sample samples[2]
    cdef int last
    cdef public bint memo                   # tests switch it off
    cdef bint untidy                        # ``tidy`` is owed
    cdef bint fresh                         # what the parts say is of that sample and today's model
    cdef Py_ssize_t encoded                 # items that the sample came with; centred features that it lacks follow
    cdef bint lacking
    cdef double *values                     # [values_allocated] scaled
    cdef Py_ssize_t values_allocated
    cdef double *p                          # [MOST_EXPERTS · n_classes]; of a target its density
    cdef double *mixed                      # [n_classes]

    # Making -----------------------------------------------------------------------------------------------------------

    def __init__(
        self, tuple terms, *, Py_ssize_t budget, Py_ssize_t dictionary, bint scale=True, bint regression=False
    ):
        cdef Py_ssize_t i, beside = budget - dictionary, latest = beside if regression else <Py_ssize_t> (
            LATEST * beside
        )
        self.lock = Lock()
        self.terms = terms
        self.memo = True
        self.points = Points(budget + 2)
        self.scaler = Scaler(scale)
        self.words = self.points.words = Words(self.scaler)
        self.distances = Distances(self.points, self.scaler)
        self.processes = Processes(self.distances, terms, dictionary, "regression" if regression else "binary")
        self.neighbours = Neighbours(self.distances, latest, regression)
        if regression:
            self.combiner = Combiner(self.scaler, self.processes)
            self.forests = (Forest(TARGET_TREES, regression=True),)
        else:
            self.forests = tuple([
                Forest(trees, one_in=one_in, seed=1 + i) for i, (trees, one_in) in enumerate(FOREST_TREES)
            ])
            for i in range(FORESTS):
                self.log_weight[FIRST_FOREST + i] = -newcomer
            self.pool = Pool(self.distances, terms, beside - latest)
            self.linear = LinearModels(self.scaler)
            self.stack = Stack()
            self.bayes = Bayes(self.scaler)
        self.regression = regression
        self.next_update = early[0]
        self.reserve_classes(1 if regression else 2)
        self.count_classes(1 if regression else 2)

    def __dealloc__(self):
        free_sample(&self.samples[0])
        free_sample(&self.samples[1])
        okl_free(self.values)
        okl_free(self.p)
        okl_free(self.mixed)

    def __sizeof__(self):
        cdef Py_ssize_t total = object.__sizeof__(self) + self.values_allocated * 8 + (
            MOST_EXPERTS + 1
        ) * 8 * self.n_classes
        # River's meter goes on to the parts by itself
        return total + (self.samples[0].allocated + self.samples[1].allocated) * 20

    def __reduce__(self):
        return (
            _new, (self.terms, self.budget, self.processes.most, self.scaler.active, bool(self.regression)),
            self.state()
        )

    def __setstate__(self, state):
        self.restore(state)

    cdef int reserve_classes(self, Py_ssize_t n_classes) except -1:
        """Room for what experts say of so many classes."""
        self.p = <double *> aligned_resize(self.p, 0, MOST_EXPERTS * n_classes, 8)
        self.mixed = <double *> aligned_resize(self.mixed, 0, n_classes, 8)
        self.fresh = False
        return 0

    cdef int count_classes(self, Py_ssize_t n_classes) except -1:
        self.n_classes = n_classes
        self.n_experts = PROCESSES if self.regression else MOST_EXPERTS - (n_classes == 2)
        self.update_weights()
        return 0

    cdef int reserve_points(self) except -1:
        """Room for as many points as ``points`` have room for."""
        self.distances.reserve_points()
        self.processes.reserve_points()
        self.neighbours.reserve_points()
        return 0 if self.regression else self.pool.reserve_points()

    cdef int reserve_places(self) except -1:
        """Room for as many features as the scaler counts."""
        self.distances.reserve_places(self.scaler.size)
        for forest in self.forests:
            (<Forest> forest).reserve(self.scaler.size)
        return 0 if self.regression else self.linear.reserve_places() + self.bayes.reserve_places()

    def add_class(self):
        """One class more.  What two classes were told apart by becomes a function for each of them."""
        cdef Py_ssize_t e, n_classes = self.n_classes + 1
        stack = Stack() if self.n_classes == 2 else self.stack
        # whatever may raise; no part has another class yet
        self.reserve_classes(n_classes)
        self.processes.reserve_columns(n_classes)
        self.pool.reserve_columns(n_classes)
        self.linear.reserve_columns(n_classes)
        self.bayes.reserve_classes(n_classes)
        (<Stack> stack).reserve_classes(n_classes)
        for forest in self.forests:
            (<Forest> forest).reserve_class()
        # and what does not
        self.processes.add_class()
        self.pool.add_class()
        self.linear.add_class()
        self.bayes.n_classes = n_classes
        for forest in self.forests:
            (<Forest> forest).add_class()
        if self.n_classes == 2:  # naive Bayes takes the place of the stack, which is now one of many classes
            self.stack = stack
            self.log_weight[BAYES] = self.log_weight[0]
            for e in range(1, BAYES):
                self.log_weight[BAYES] = fmax(self.log_weight[BAYES], self.log_weight[e])
            self.log_weight[BAYES] -= newcomer
            self.log_weight[BAYES + 1] = self.log_weight[BAYES]
        self.stack.n_classes = n_classes
        self.count_classes(n_classes)

    # Predicting -------------------------------------------------------------------------------------------------------

    cdef int evaluate(self, object sample) except -1:
        """All that the experts say of a sample, as ``learn`` will want it, too."""
        cdef Sample *x = &self.samples[1 - self.last]
        cdef Sample *before = &self.samples[self.last]
        cdef Py_ssize_t i, size, lacking
        cdef double of_trees
        self.points.encode(sample, x)
        size = x.size
        if (
            self.fresh
            and self.memo
            and size == self.encoded
            and (
                size == 0 or (
                    memcmp(x.numbers, before.numbers, size * 8) == 0 and memcmp(
                        x.keys, before.keys, size * sizeof(void *)
                    ) == 0
                )
            )
        ):
            return 0
        self.fresh = False
        self.last = 1 - self.last
        self.encoded = size
        self.scaler.find(x)
        lacking = self.scaler.absent(x)
        self.lacking = lacking > 0
        reserve_sample(x, size + lacking)
        reserve_sample(before, size + lacking)
        if size + lacking > self.values_allocated:
            self.values_allocated = max(8, size + lacking, 2 * self.values_allocated)
            self.values = <double *> aligned_resize(self.values, 0, self.values_allocated, 8)
        for i in range(size):
            self.values[i] = self.scaler.scaled(self.scaler.places[i], x.numbers[i])
        if lacking:
            self.complete(x)
        self.distances.measure(x, self.values, self.processes.has_metric(0))
        self.processes.ask(self.p)
        if self.regression:
            self.neighbours.search()
            (<Forest> self.forests[0]).ask(self.scaler.places, self.values, x.size, &of_trees)
            self.combiner.ask(x, self.values, self.neighbours.mean() if self.neighbours.most else 0.0, of_trees)
        else:
            self.pool.ask(self.p + POOL * self.n_classes)
            self.linear.ask(x, self.values, self.p + FIRST_LINEAR * self.n_classes)
            self.neighbours.ask(self.n_classes, self.p + NEIGHBOURS * self.n_classes)
            if self.n_classes > 2:
                self.bayes.ask(x, self.values, self.p + BAYES * self.n_classes)
            for i in range(FORESTS):
                (<Forest> self.forests[i]).ask(
                    self.scaler.places, self.values, x.size, self.p + (FIRST_FOREST + i) * self.n_classes
                )
            self.stack.ask(self.p, self.weight)
            self.mix()
        self.fresh = True
        return 0

    cdef int complete(self, Sample *x) except -1:
        """The centred features that a sample lacks follow its items."""
        cdef Py_ssize_t place
        for place in range(self.scaler.size):
            if (
                self.scaler.features[place].key != NULL and self.scaler.features[place].centred
                and self.scaler.marks[place] != self.scaler.stamp
            ):
                self.points.look_up(x, x.size, <object> self.scaler.features[place].key)
                x.numbers[x.size] = 0.0
                self.values[x.size] = self.scaler.scaled_absence(place)
                x.size += 1
        return self.scaler.find(x)

    cdef void mix(self) noexcept:
        cdef Py_ssize_t e, o
        cdef double total = 0.0
        for o in range(self.n_classes):
            self.mixed[o] = 0.0
            for e in range(self.n_experts):
                self.mixed[o] += self.weight[e] * fmin(fmax(self.p[e * self.n_classes + o], CLIP), 1.0 - CLIP)
            total += self.mixed[o]
        for o in range(self.n_classes):
            self.mixed[o] /= total

    cdef double deviation(self) noexcept:
        """Of the targets seen."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    def probabilities(self, sample):
        """P(class | x) of every class."""
        cdef Py_ssize_t o
        self.evaluate(sample)
        return [self.mixed[o] for o in range(self.n_classes)]

    def predict(self, sample):
        """Mean and deviation of the target."""
        cdef double mean = 0.0, variance = 0.0
        self.evaluate(sample)
        self.processes.predict(self.weight, &mean, &variance)
        self.combiner.mix(&mean, &variance)
        return self.target.mean + self.deviation() * mean, self.deviation() * sqrt(variance) * exp(self.spread)

    # Learning ---------------------------------------------------------------------------------------------------------

    def learn(self, sample, double target, double w):
        """One sample: a class by its number, or a target."""
        self.evaluate(sample)
        self.fresh = False
        self.step(&self.samples[self.last], target, w)

    cdef int step(self, Sample *x, double target, double w) except -1:
        """Prepare, then commit: what may raise (memory, a name's __hash__) does so before anything has changed, and
        nothing in the middle of a change is Python's, where a signal could interrupt it."""
        self.prepare(x, w)
        self.commit(x, target, w)
        return self.tidy()

    cdef int prepare(self, Sample *x, double w) except -1:
        """Everything that may raise.  If it does, nothing has changed."""
        if self.untidy:
            self.tidy()
        self.scaler.prepare(x, self.encoded)
        try:
            self.words.reserve()
            self.reserve_places()
            if self.processes.n > 1:
                self.processes.reserve_slopes(x.size)
            if self.seen + 1 >= self.next_update:
                self.processes.reserve_grams()
            if w > 0.0:
                self.prepare_point(x)
            self.distances.prepare(x.size)
        except BaseException:
            self.scaler.withdraw(x, self.encoded)
            raise
        return 0

    cdef int prepare_point(self, Sample *x) except -1:
        """The sample may become a point: room for it."""
        cdef double *numbers = x.numbers
        if self.points.n == self.points.capacity:
            self.points.grow(self.points.next_capacity())
        self.reserve_points()
        x.numbers = self.values
        try:
            self.points.prepare(x)
        finally:
            x.numbers = numbers
        return 0

    cdef void commit(self, Sample *x, double target, double w) noexcept:
        """The step itself."""
        self.untidy = True
        self.words.learn()
        self.scaler.learn(x, self.encoded, self.lacking)
        self.distances.observe(x, self.values)
        self.seen += 1
        if self.regression:
            target = self.standardise(target)
        if w > 0.0:
            self.learn_experts(x, target, self.relative(w))
        if self.seen >= self.next_update:
            self.update()

    cdef int tidy(self) except -1:
        """Features that nobody needs any more are forgotten.  If this raises, it is done before the next step, or by
        ``state``."""
        self.points.forget_emptied()
        gone = self.scaler.forget(self.points.vocabulary)
        if gone is not None:
            self.distances.forget(gone)
            if self.regression:
                self.combiner.forget(gone)
            else:
                self.linear.forget(gone)
                self.bayes.forget(gone)
            for forest in self.forests:
                (<Forest> forest).forget(gone)
        self.words.settle(gone is not None)
        self.untidy = False
        return 0

    cdef double relative(self, double w) noexcept:
        """A sample's weight relative to those before it, E w / E w² · w, so that only their ratios matter.

        The relative weights add up to Kish's effective sample size, (Σ w)² / Σ w²: if a hundredth of the samples has a
        hundred times the weight, those few count about once each and the others hardly. Equal weights count 1.
        """
        cdef double relative = w * self.weights[1] / self.weights[2] if self.weights[2] > 0.0 else 1.0
        relative = fmin(fmax(relative, LEAST_RELATIVE), LARGEST_RELATIVE)
        self.weights[0] += 1.0
        self.weights[1] += (w - self.weights[1]) / fmin(self.weights[0], WEIGHT_MEMORY)
        self.weights[2] += (w * w - self.weights[2]) / fmin(self.weights[0], WEIGHT_MEMORY)
        return relative

    cdef double standardise(self, double y) noexcept:
        """The target in units that include it; what is believed is carried over into them."""
        cdef double mean = self.target.mean, deviation = self.deviation(), ratio, shift
        cdef bint again = take_in(&self.target, y)
        if self.seen > 2 and not again:  # otherwise what is believed so far is not of this unit
            ratio, shift = deviation / self.deviation(), (mean - self.target.mean) / self.deviation()
            self.processes.rescale(ratio, shift)
            self.combiner.rescale(ratio, shift)
            (<Forest> self.forests[0]).rescale(ratio, shift)
            self.neighbours.rescale(ratio, shift)
        return standing(&self.target, y)

    cdef void learn_experts(self, Sample *x, double target, double w) noexcept:
        """All that a sample with a weight changes; it becomes a point where dictionary or pool need it, or the latest
        are kept."""
        cdef Py_ssize_t i, c = 0 if self.regression else <Py_ssize_t> target, left
        cdef double counts = fmin(w, 1.0 if self.regression else MOST_WEIGHT), surprise = self.judge(target, w, counts)
        cdef bint needed = False, novel, kept = self.neighbours.most > 0, confident = surprise <= (
            1.0 if self.regression else 1.0 - CONFIDENT
        )
        for i in range(1 if self.regression else FORESTS):
            (<Forest> self.forests[i]).learn(self.scaler.places, self.values, x.size, target, counts)
        if not self.regression:
            self.neighbours.learn(self.n_classes, c, counts)
            self.linear.learn(x, self.values, c, counts, self.p + FIRST_LINEAR * self.n_classes)
            self.bayes.learn(x, self.values, c, counts)
            needed = self.pool.learn(c, w)
        if not confident:
            self.neighbours.learn_relevance(x, self.values, target)
        if self.processes.n > 1 and (self.seen % SLOPE_EVERY == 0 or (self.regression and self.seen < SLOPES_AT_FIRST)):
            self.processes.learn_slopes(x, self.values, self.among)
        novel = self.processes.learn(target, confident, w)
        if self.regression and w > 1.0:
            self.combiner.learn_rest(target, w - 1.0, self.neighbours.mean_with(target) if kept else 0.0)
        if needed and self.pool.n >= self.pool.most:
            self.release(self.pool.evict())
        if self.processes.n > self.processes.most:
            left = self.processes.evict(self.among)
            if left < 0:
                novel = False
            else:
                self.release(left)
        if kept and self.neighbours.n >= self.neighbours.most:
            self.release(self.neighbours.evict())
        if needed or novel or kept:
            self.store(x, target)
            if novel:
                self.processes.hold(self.points.n - 1)
            if needed:
                self.pool.hold(self.points.n - 1)
            if kept:
                self.neighbours.hold(self.points.n - 1)

    cdef double judge(self, double target, double w, double counts) noexcept:
        """New weights for the experts; how surprising the target is: 1 - p, or its squared residual over the
        variance."""
        cdef Py_ssize_t e, c = 0 if self.regression else <Py_ssize_t> target
        cdef double p, mean, of_processes, variance, surprise
        cdef bint outside
        for e in range(PROCESSES):
            self.share[e // POSTERIORS] += self.among[e]
        if self.regression:
            self.processes.predict(self.weight, &of_processes, &variance)
            mean = of_processes
            self.combiner.mix(&mean, &variance)
            outside = fabs(target - mean) > 1.6448536 * sqrt(variance) * exp(self.spread)
            self.spread = fmin(fmax(self.spread + 0.02 * fmin(w, 1.0) * (<double> outside - 0.1), -3.0), 3.0)
            surprise = self.processes.judge(target, self.weight, self.seen, self.p)
            self.combiner.judge(target, of_processes, w, counts, 1.0 / (self.seen + 1))
        else:
            surprise = 1.0 - self.mixed[c]
        for e in range(self.n_experts):
            p = self.p[e * self.n_classes + c]
            if not self.regression:
                p = fmin(fmax(p, CLIP), 1.0 - CLIP)
            self.log_weight[e] = DISCOUNT * self.log_weight[e] + counts * log(p)
        if not self.regression:
            self.stack.learn(c, counts, self.p)
        if self.n_classes > 2:
            self.processes.fit_inverse_temperature(c, self.p)
            self.bayes.fit_inverse_temperature(c, self.p + BAYES * self.n_classes)
        self.update_weights()
        return surprise

    cdef void update_weights(self) noexcept:  # no-cython-lint
        """The weights of all experts, and of the processes among themselves."""
        cdef Py_ssize_t e
        cdef double total = 1e-290
        weights_of_logs(self.log_weight, self.n_experts, self.weight)
        for e in range(PROCESSES):
            total += self.weight[e]
        for e in range(PROCESSES):
            self.among[e] = self.weight[e] / total

    cdef void store(self, Sample *x, double target) noexcept:
        """The sample, scaled, is the last point, which nobody holds yet."""
        cdef double *numbers = x.numbers
        x.numbers, x.square = self.values, self.distances.own[0]
        self.points.write(x)
        x.numbers = numbers
        self.distances.stored(x)
        self.processes.stored()
        self.neighbours.stored(target)
        if not self.regression:
            self.pool.stored()

    cdef bint supported(self, Py_ssize_t i) noexcept:
        return self.processes.member[i] >= 0 or (not self.regression and self.pool.holds(i))

    cdef bint held(self, Py_ssize_t i) noexcept:
        return self.supported(i) or self.neighbours.holds(i)

    cdef void release(self, Py_ssize_t i) noexcept:
        """Point i is dropped where nobody holds it any more."""
        if self.held(i):
            return
        self.points.drop(i)
        self.distances.dropped(i)
        self.processes.dropped(i)
        self.neighbours.dropped(i)
        if not self.regression:
            self.pool.dropped(i)

    cdef void update(self) noexcept:
        """Bandwidths follow the stream, metrics the slopes, kernels the weight."""
        cdef Py_ssize_t i
        cdef int64_t first = 60 if self.regression else 200
        self.processes.fill_grams(self.processes.before)
        if self.seen < first:
            self.next_update = first
            for i in range(N_EARLY - 1, -1, -1):
                if early[i] > self.seen:
                    self.next_update = min(self.next_update, early[i])
        else:
            self.next_update = self.seen + min(LONGEST, self.seen // (4 if self.regression else 2))
            self.updates += 1
            if self.updates > 1 and self.processes.move(self.share, self.log_weight):
                self.update_weights()
            for i in range(KERNELS):
                self.share[i] = 0.0
            self.distances.learn()
        self.processes.tune()
        if not self.regression:
            self.pool.tune()
        self.distances.square_points()
        self.processes.exchange()
        self.processes.free_grams()

    # What there is ----------------------------------------------------------------------------------------------------

    def __len__(self):
        return len(self.supports)

    @property
    def supports(self):
        """The positions of the points that have coefficients: those of dictionary and pool."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.supported(i)]

    @property
    def budget(self):
        """The most points in all."""
        return self.processes.most + self.neighbours.most + (0 if self.regression else self.pool.most)

    @property
    def task(self):
        return self.processes.task

    @property
    def experts(self):
        """(name, weight) of every expert, by which it counts in the next prediction."""
        cdef Py_ssize_t i, e
        names = []
        for i in range(KERNELS):
            for forgetting, prior_variance, noise in POSTERIORS_OF[self.task]:
                of_noise = f", noise={noise:g}" if noise else ""
                names.append(f"process(kernel={i + 1}, forgetting={forgetting:g}, prior_variance={prior_variance:g}{of_noise})")
        if not self.regression:
            names.append(f"pool(scale={SCALE:g}, power={POWERS[METRIC]:g})")
            names += [
                f"linear(learning_rate={rate:g})" for rate in RATES[:-1]
            ] + [f"quadratic(learning_rate={RATES[-1]:g})"]
            names.append(f"neighbours({NEAREST}, power={POWERS[NEIGHBOURS_METRIC]:g})")
            names += [
                f"forest({trees} trees, {'half of the' if one_in == 2 else 'all'} features)" for trees,
                one_in in FOREST_TREES
            ]
            names += ["stack"] if self.n_classes == 2 else ["bayes", "stack"]
            return [(name, self.weight[e]) for e, name in enumerate(names)]
        weights = [self.combiner.weight[0] * self.weight[e] for e in range(PROCESSES)]
        return [*zip(names, weights), ("linear", self.combiner.weight[1]), ("stack", self.combiner.weight[2])]

    def feature_weights(self):
        """Feature name -> weight in the distances, as the experts that are believed measure them; the mean is 1."""
        cdef Py_ssize_t e
        mixed = [1e-9, 0.0, 0.0]
        for e in range(PROCESSES):
            mixed[self.processes.metric[e // POSTERIORS]] += self.weight[e]
        if not self.regression:
            mixed[METRIC] += self.weight[POOL]
            mixed[NEIGHBOURS_METRIC] += self.weight[NEIGHBOURS]
        return self.distances.feature_weights(mixed)

    def most_believed(self):
        """Mean ‖x-x'‖² over the scale, and mean ‖x‖², of the kernel that is believed most."""
        cdef Py_ssize_t i, b
        cdef CompiledKernel kernel
        posteriors = [sum([self.weight[i * POSTERIORS + b] for b in range(POSTERIORS)]) for i in range(KERNELS)]
        kernel = self.processes.kernels[posteriors.index(max(posteriors))]
        return kernel.mean_distance, kernel.mean_square

    def coefficients(self):
        """Of every point in the mixture's mean, kernels and scales aside: an array (points, columns)."""
        return self.explained(False)

    def contributions(self, sample):
        """What each point adds to the mixture's mean at a sample: an array (points, columns).

        Linear models, neighbours, a stack of classifiers and naive Bayes have no points.
        """
        self.evaluate(sample)
        return self.explained(True)

    cdef object explained(self, bint at_sample):
        out = np.zeros((self.points.n, self.processes.columns))
        cdef double[:, ::1] view = out
        cdef double[PROCESSES] weight
        if self.points.n == 0:
            return out
        if self.regression:
            self.combiner.count(self.weight, weight)
            self.processes.explain(weight, at_sample, &view[0, 0])
            return out * self.deviation()
        self.processes.explain(self.weight, at_sample, &view[0, 0])
        self.pool.explain(self.weight[POOL], at_sample, &view[0, 0])
        return out

    @property
    def norm2(self):
        """‖E f‖² of the processes, over all columns, averaged by their weights."""
        return self.processes.norm2(self.weight)

    def _check(self):
        """The invariants, by brute force."""
        cdef Py_ssize_t i
        cdef int m
        self.points.check()
        n = self.points.n
        assert all([self.held(i) for i in range(n)]), "every point is held"
        before = [[self.distances.square[m][i] for i in range(n)] for m in range(METRICS)]
        self.distances.square_points()
        after = [[self.distances.square[m][i] for i in range(n)] for m in range(METRICS)]
        np.testing.assert_allclose(before, after, rtol=1e-9, atol=1e-12)
        for m in range(METRICS):
            for i in range(n):
                self.distances.square[m][i] = before[m][i]
        self.processes._check()
        self.neighbours._check()
        if self.regression:
            self.combiner._check()
        else:
            self.pool._check()
        for forest in self.forests:
            forest._check()
        names = {*self.scaler.statistics()}
        assert (
            len(names) == len(self.scaler.index)
            and self.scaler.n_centred == sum([centred for *_, centred in self.scaler.statistics().values()])
        )

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, e
        self.tidy()
        return {
            "points": self.points.state(),
            "scaler": self.scaler.state(),
            "words": self.words.state(),
            "distances": self.distances.state(),
            "processes": self.processes.state(),
            "pool": self.pool.state() if self.pool is not None else None,
            "neighbours": self.neighbours.state(),
            "linear": self.linear.state() if self.linear is not None else None,
            "stack": self.stack.state() if self.stack is not None else None,
            "bayes": self.bayes.state() if self.bayes is not None else None,
            "combiner": self.combiner.state() if self.combiner is not None else None,
            "forests": [forest.state() for forest in self.forests],
            "n_classes": self.n_classes,
            "log_weights": np.array([self.log_weight[e] for e in range(self.n_experts)]),
            "shares": np.array([self.share[i] for i in range(KERNELS)]),
            "weights": np.array([self.weights[0], self.weights[1], self.weights[2]]),
            "target": (*[float(number) for number in numbers_of(&self.target)], self.spread),
            "counts": (self.seen, self.next_update, self.updates),
        }

    def restore(self, dict state):
        """Go on from a state, every number of which is checked: it may come from anywhere."""
        cdef Py_ssize_t i, e
        classes = state["n_classes"]
        if type(classes) is not int or not (classes == 1 if self.regression else 2 <= classes <= 2**20):
            raise ValueError(f"a mixture of {classes!r} classes")
        # so many numbers must have come before there is room for them
        if classes > 2 and state["linear"]["bias"].shape != (classes, LINEARS):
            raise ValueError(f"the experts of a mixture do not match its {classes} classes")
        seen, next_update, updates = state["counts"]
        if (
            not all(type(count) is int and 0 <= count <= LARGEST_COUNT for count in (seen, next_update))
            or type(updates) is not int or not 0 <= updates < 2**30
        ):
            raise ValueError("the counts of a mixture are out of range")
        if (
            not len(state["target"]) == len(NUMBERS) + 1
            or not all(type(number) is float and isfinite(number) for number in state["target"])
            or abs(state["target"][-1]) > 3.0
        ):
            raise ValueError("the target's scale is out of range")
        of_samples = state.get("weights", np.zeros(3))  # before weights were relative
        # merging rounds ``seen``
        if (
            of_samples.shape != (3,) or not np.isfinite(of_samples).all() or of_samples.min() < 0.0
            or of_samples[0] > seen + 1.0
        ):
            raise ValueError("the moments of the sample weights do not match, or are out of range")
        if of_samples[1] ** 2 > (1.0 + 1e-6) * of_samples[2] + 1e-300 or of_samples[2] > 1.000001e20:
            raise ValueError("the moments of the sample weights contradict each other")
        while self.n_classes < classes:
            self.add_class()
        weights, shares = state["log_weights"], state["shares"]
        checked_numbers("the weights of a mixture", weights, (self.n_experts,), high=0.0)
        checked_numbers("the shares of kernels", shares, (KERNELS,), 0.0)
        self.points.restore(state["points"])
        self.scaler.restore(state["scaler"])
        self.words.restore(state["words"])
        self.distances.restore(state["distances"])
        self.restore_neighbours(state["neighbours"], classes)
        for name in ("processes", "pool", "linear", "stack", "bayes", "combiner"):
            part = getattr(self, name)
            if part is not None:
                part.restore(state[name])
        self.restore_forests(state["forests"])
        for i in range(self.points.n):
            if not self.held(i):
                raise ValueError("a point that nobody holds")
        for e in range(self.n_experts):
            self.log_weight[e] = weights[e]
        for i in range(KERNELS):
            self.share[i] = shares[i]
        self.weights[0], self.weights[1], self.weights[2] = of_samples
        *numbers, self.spread = state["target"]
        self.target = running(numbers)
        self.seen, self.next_update, self.updates = seen, next_update, updates
        self.update_weights()
        self.fresh = False

    cdef int restore_forests(self, list states) except -1:
        if len(states) != len(self.forests):
            raise ValueError(f"a mixture with {len(states)} forests")
        for forest, state in zip(self.forests, states):
            if state["n_classes"] != forest.n_classes:
                raise ValueError("the forests of a mixture do not match its classes")
            forest.restore(state)
        return 0

    cdef int restore_neighbours(self, dict state, Py_ssize_t classes) except -1:
        """They and the pool share what the dictionary leaves."""
        cdef Py_ssize_t room = self.budget - self.processes.most
        if type(state["most"]) is not int or not 0 <= state["most"] <= room:
            raise ValueError(f"a mixture with {state['most']!r} latest samples")
        self.neighbours.keep(state["most"])
        if not self.regression:
            self.pool.most = room - self.neighbours.most
        self.neighbours.restore(state, classes)
        return 0


def _new(terms, budget, dictionary, scale, regression):
    return Mixture(terms, budget=budget, dictionary=dictionary, scale=scale, regression=regression)
