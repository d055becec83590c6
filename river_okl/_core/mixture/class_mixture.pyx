"""The mixture of ``OKLClassifier``: p(c | x) = Σ w_e p_e(c | x).  The experts e:

    processes.pyx      six Gaussian processes: three kernels x two posteriors over ONE dictionary of few points
    pool.pyx           a first-order learner, passive-aggressive, over a pool of many points
    linear.pyx         three logistic regressions by gradient descent, one of them with quadratic features
    logistic.pyx       a Bayesian logistic regression, with a covariance
    class_memory.pyx   boosted trees that are rebuilt from the latest samples, and neighbours among these
    last_label.pyx     the last label, and how often it stays
    bayes.pyx          naive Bayes, for more than two classes
    stack.pyx          a logistic regression on the predictions of all others

If labels come late, experts can be scored in two ways.  Scores on the predictions made when the sample was
asked do not overrate experts that follow the last labels.  Scores on the predictions made when the label
comes show at once, and not a delay later, which experts have learned a sudden change.  So there are weights
of both kinds, v and w.  The third answer is the frequencies f of the classes so far, for delays at which no
expert has any skill:

    P(c | x) = s_1 Σ v_e p_e(c | x) + s_2 Σ w_e p_e(c | x) + s_3 f_c

The shares s follow the responsibilities of the three answers for each label, as in the EM algorithm for
mixtures; the answers are those that were given when the sample was asked.  Experts learn as if no label were
late, steered by w.  If no label is late, P = Σ w_e p_e.

If the losses of late predictions rise, the stream has changed since (change.pyx).  Until the labels of all predictions
from before the change have come, w replaces v, and neither v nor s is updated.
"""

from libc.math cimport fmax, fmin, log
from libc.string cimport memcpy, memset

from river_okl._core.mixture.bayes cimport Bayes
from river_okl._core.mixture.change cimport Change
from river_okl._core.mixture.class_memory cimport ClassMemory
from river_okl._core.mixture.expert cimport DISCOUNT, NEWCOMER, Expert, Outcome
from river_okl._core.mixture.judgement cimport Judgement
from river_okl._core.mixture.last_label cimport LastLabel
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.pool cimport Pool
from river_okl._core.mixture.processes cimport Processes
from river_okl._core.mixture.slopes cimport Slopes
from river_okl._core.mixture.stack cimport Stack
from river_okl._core.store.sample cimport Sample

from river_okl._core.mixture.linear import LinearModels
from river_okl._core.mixture.logistic import Logistic
from river_okl._core.mixture.pool import METRIC as POOL_METRIC
from river_okl._core.states import checked_whole

cdef enum:
    SHARES = 3

LARGEST_BUDGET = 10_000_000         # points
SINGLE_PRECISION = True             # of scaled features; the tests compare in double precision, too

cdef double CLIP = 1e-4             # of probabilities of experts, before they are mixed or scored
cdef double CONFIDENT = 0.7         # minimum probability of a label that was predicted confidently
cdef double MAX_WEIGHT = 10.0       # of a sample, for the experts without a bound of their own and the mixture weights
# Chosen on bursts of labels, alarms, switched concepts, features and units, with labels 100, 500 and 1,000 late.
cdef double[SHARES] FIRST_SHARES = [0.45, 0.45, 0.1]
cdef double LEAST_SHARE = 0.001
cdef double SHARES_MEMORY = 100.0       # labels
cdef double DEVIATIONS = 4.0, LEAST_RISE = 0.05    # of a log-loss that shows a change


cdef class ClassMixture(Mixture):
    """Experts on the classes 0, 1, ..., two at first.

    Parameters
    ----------
    each
        Number of points per class: ``budget`` is twice this number, and grows from the third class on.  0:
        one budget for all classes.  The dictionary does not grow.
    memory
        Maximum number of latest samples that are stored; 0: trees and neighbours are left out.
    without
        Names of experts to leave out, for ``benchmarks.ablation``.
    """

    cdef readonly Pool pool
    cdef readonly LastLabel last_label
    cdef readonly Bayes bayes
    cdef readonly Stack stack
    cdef readonly Py_ssize_t each           # points that each class from the third on brings
    cdef double *shares                     # [SHARES] in the answer: of Σ v_e p_e, Σ w_e p_e, and the frequencies
    # scratch: the last sample.  The three, [n_classes] each, follow the predictions of the experts
    cdef double *of_then                    # Σ v_e p_e
    cdef double *mixed                      # Σ w_e p_e
    cdef double *frequency                  # of the classes so far
    cdef double *shared                     # [n_classes] their mixture
    cdef double *final                      # [n_classes] the mixture's answer: mixed or shared

    def __init__(
        self, tuple terms, Py_ssize_t budget, Py_ssize_t dictionary, Py_ssize_t pending, bint scale=True,
        Py_ssize_t memory=0, Py_ssize_t each=0, tuple without=()
    ):
        Mixture.__init__(
            self, terms, budget=budget, first_metric=POOL_METRIC, pending=pending, scale=scale,
            single=scale and SINGLE_PRECISION
        )
        self.early, self.growth, self.n_classes = 200, 2, 2
        self.each = each
        self.processes = Processes(self.distances, terms, dictionary, "binary")
        self.slopes = Slopes(self.processes)
        self.pool = Pool(self.distances, terms, budget - dictionary)
        linear, logistic = LinearModels(self.scaler), Logistic(self.scaler)
        self.last_label, self.bayes = LastLabel(), Bayes(self.scaler)
        self.memory = ClassMemory(self.scaler, memory)
        without += () if memory else (self.memory.name,)
        others = self.processes, self.pool, linear, logistic, self.memory, self.last_label, self.bayes
        others = tuple([expert for expert in others if expert.name not in without])
        today, then = Judgement(self.per_prediction), Judgement(self.per_prediction)
        self.stack = Stack(others, today)
        self.experts = *others, *([self.stack] if "stack" not in without else [])
        self.holders = tuple([expert for expert in (self.pool, self.processes) if expert in others])
        self.assemble(today, then, Change(DEVIATIONS, LEAST_RISE))
        self.declare(<size_t> &self.shares, "late_shares", (SHARES,), low=0.0, high=1.0)
        self.forget_then()
        self.per_prediction.n = self.rows
        for expert in (self.memory, self.last_label):
            for i in range((<Expert> expert).rows if expert in others else 0):
                self.today.log_weight[(<Expert> expert).first + i] = -NEWCOMER
        self.update_derived()

    def __reduce__(self):
        make, (terms, budget, *options), state = Mixture.__reduce__(self)
        if self.each:  # the budget is that of two classes, and grows again with those of the state
            budget = 2 * self.each
        return make, (terms, budget, *options, self.each), state

    cdef int reserve_predictions(self, Py_ssize_t n_classes) except -1:
        self.shared = self.doubles(self.shared, 0, n_classes)
        return Mixture.reserve_predictions(self, n_classes)

    cdef void number_predictions(self) noexcept:
        Mixture.number_predictions(self)
        self.of_then = self.p + self.rows * self.n_classes
        self.mixed = self.of_then + self.n_classes
        self.frequency = self.mixed + self.n_classes
        self.final = self.mixed

    cdef Py_ssize_t n_mixed(self, Py_ssize_t n_classes) noexcept:
        return SHARES * n_classes

    def add_class(self):
        """Add a class.  With the third, each function of two classes becomes one function per class."""
        try:
            self.widen()
        except BaseException:
            self.lock.fail()
            raise

    cdef int widen(self) except -1:
        """Add a class to all experts and predictions."""
        cdef Py_ssize_t e
        cdef double largest
        cdef Py_ssize_t more = max(0, min(self.each, LARGEST_BUDGET - self.budget))
        self.leave()
        self.reserve_predictions(self.n_classes + 1)
        for expert in self.experts:
            (<Expert> expert).add_class()
        self.n_classes += 1
        self.number_predictions()
        self.points.max_points = self.points.limit = self.budget + more + 2
        self.pool.max_points += more
        if self.n_classes > 3:
            self.pending = self.pending.widened(self.rows + SHARES, self.n_classes - 1)
        else:  # naive Bayes starts to predict, and the stack restarts
            largest = self.today.log_weight[0]
            for e in range(1, self.per_prediction.n - (self.stack in self.experts)):
                largest = fmax(largest, self.today.log_weight[e])
            self.pending.begin(self.n_numbers)
            self.forget_then()
            self.per_prediction.n = self.rows
            for expert in (self.bayes, self.stack):
                if expert in self.experts:
                    self.today.log_weight[(<Expert> expert).first] = largest - NEWCOMER
        self.update_derived()
        return 0

    cdef int answer(self, const Sample *x) except -1:
        """Write all predictions, and the final probabilities."""
        cdef Py_ssize_t o, n = self.n_classes
        Mixture.answer(self, x)
        self.average(self.today.weight, self.mixed)
        self.final = self.mixed
        if self.then_is_known and self.pending.late:
            self.conclude()
            for o in range(n):
                self.shared[o] = (
                    self.shares[0] * self.of_then[o] + self.shares[1] * self.mixed[o]
                    + self.shares[2] * self.frequency[o]
                )
            self.final = self.shared
        return 0

    cdef void average(self, const double *weights, double *out) noexcept:
        """Write Σ w_e p_e, from clipped probabilities."""
        cdef Py_ssize_t e, o, n = self.n_classes
        cdef double p, weight, total = 0.0, low = CLIP, high = 1.0 - CLIP
        cdef const double *of_expert = self.p
        memset(out, 0, n * 8)
        for e in range(self.rows):
            weight = weights[e]
            for o in range(n):  # no fmin, which would be a call
                p = of_expert[o] if of_expert[o] > low else low
                out[o] += weight * (p if p < high else high)
            of_expert += n
        for o in range(n):
            total += out[o]
        for o in range(n):
            out[o] /= total

    cdef void conclude(self) noexcept:
        """Compute the other two answers that have a share."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        cdef Judgement then = self.then if self.then_is_known and not self.change.left else self.today
        self.average(then.weight, self.of_then)
        for o in range(self.n_classes):
            total += self.bayes.counts[o] + 0.5
        for o in range(self.n_classes):
            self.frequency[o] = (self.bayes.counts[o] + 0.5) / total

    cdef void learn_shares(self, const Outcome *y) noexcept:
        """Take an EM step, unless the class was unknown when the sample was asked."""
        cdef Py_ssize_t i, c = <Py_ssize_t> y.target
        cdef double total = 0.0, sum_of_shares = 0.0, gain = y.counts / SHARES_MEMORY
        cdef double[SHARES] due
        for i in range(SHARES):
            due[i] = self.shares[i] * y.as_asked[(self.rows + i) * self.n_classes + c]
            total += due[i]
        if total <= 0.0:
            return
        self.change.take(-log(total), y.late)
        if self.change.left:
            return
        for i in range(SHARES):
            self.shares[i] = fmax(self.shares[i] + gain * (due[i] / total - self.shares[i]), LEAST_SHARE)
            sum_of_shares += self.shares[i]
        for i in range(SHARES):
            self.shares[i] /= sum_of_shares

    cdef void forget_then(self) noexcept:
        """Reset all that is learned from late labels."""
        self.then_is_known = False
        self.change.restart()
        memcpy(self.shares, FIRST_SHARES, sizeof(FIRST_SHARES))

    def probabilities(self, sample):
        """Return P(class | x) of every class."""
        cdef Py_ssize_t o
        self.evaluate(self.keyed(sample))
        self.asked = True
        return [self.final[o] for o in range(self.n_classes)]

    def most_probable(self, sample):
        """Return the most probable class; ties: with two classes the second, with more the first."""
        cdef Py_ssize_t o, best = 0
        self.evaluate(self.keyed(sample))
        self.asked = True
        if self.n_classes == 2:
            return 1 if self.final[1] >= self.final[0] else 0
        for o in range(1, self.n_classes):
            if self.final[o] > self.final[best]:
                best = o
        return best

    cdef Py_ssize_t n_reported(self) noexcept:
        return self.n_classes

    cdef void report(self, double z, double *out) noexcept:
        memcpy(out, self.final, self.n_classes * 8)

    cdef void score(self, Outcome *y) noexcept:
        """Score the experts.  If labels are late, evidence is tempered: the longer memory averages, not amplifies."""
        cdef Py_ssize_t e, n = self.n_classes, c = <Py_ssize_t> y.target
        cdef double evidence
        y.counts = fmin(y.w, MAX_WEIGHT)
        y.confident = 1.0 - self.mixed[c] <= 1.0 - CONFIDENT
        if y.late:
            self.learn_shares(y)
        for e in range(self.rows):
            self.today.take(e, y.counts * log_of(y.p[e * n + c]), DISCOUNT)
        if self.then_is_known and not self.change.left:
            evidence = y.counts * (1.0 - y.discount) / (1.0 - DISCOUNT)
            for e in range(self.rows):
                self.then.take(e, evidence * log_of(y.as_asked[e * n + c]), y.discount)

    @property
    def expert_weights(self):
        """(name, weight) of every expert's prediction in the mixture; if labels are late, without the frequencies."""
        cdef Py_ssize_t e
        cdef bint late = self.then_is_known and self.pending.late and not self.change.left
        names = [name for expert in self.experts for name in expert.names()]
        weights = [self.today.weight[e] for e in range(self.rows)]
        if late:
            weights = [self.shares[0] * self.then.weight[e] + self.shares[1] * weights[e] for e in range(self.rows)]
            weights = [weight / sum(weights) for weight in weights]
        return [*zip(names, weights)]

    def restore(self, dict state):
        classes = checked_whole(state, "n_classes", 2, 2**20)
        # the state must contain this many numbers before room for them is allocated
        if len(state["bayes"]["counts"]) != classes:
            raise ValueError(f"the experts of a mixture do not match its {classes} classes")
        while self.n_classes < classes:
            self.add_class()
        Mixture.restore(self, state)


cdef double log_of(double p) noexcept:
    """Return the logarithm of a clipped probability."""
    return log(fmin(fmax(p, CLIP), 1.0 - CLIP))
