"""The mixture of ``OKLRegressor``: the Gaussian processes, weighted by their likelihood of the target, the
combiner's regressions, and a vote between these, the memory and the last target; then what trees add to this answer.

    processes.pyx        six Gaussian processes, as for classes
    regression.pyx       a Bayesian linear regression on the features
    diagonal.pyx         a linear regression on all features, with independent variances
    last_target.pyx      the last target
    target_memory.pyx    boosted trees that are rebuilt from the latest samples, and neighbours among these
    combiner.pyx         the mean of processes, linear regression and a regression on all predictions
    vote.pyx             the second stage, weighted by absolute errors
    ridge.pyx            linear regression, which the regressions, the vote and the intervals use
    intervals.pyx        prediction intervals

The weights of the processes, the combiner and the vote follow the errors of predictions.  If targets come late there
are two sets of these weights, as for classes (class_mixture.pyx).  One is scored on the model's predictions when the
target comes ("today"), the other on the predictions that were made when the sample was asked ("then").  The answer is a
mean of both answers and of the mean of the targets, weighted by their absolute errors.  After a change (change.pyx) it
is the answer of today.
"""

from libc.math cimport fabs, fmax, fmin, sqrt

from river_okl._core.calibration cimport weights_of_losses
from river_okl._core.gaussian.posterior cimport Posterior
from river_okl._core.loops cimport METRICS
from river_okl._core.mixture.change cimport Change
from river_okl._core.mixture.combiner cimport Combiner
from river_okl._core.mixture.diagonal cimport Diagonal
from river_okl._core.mixture.expert cimport DISCOUNT, Expert, Outcome
from river_okl._core.mixture.intervals cimport COVERAGES, Intervals, Issued
from river_okl._core.mixture.judgement cimport TargetJudgement
from river_okl._core.mixture.last_target cimport LastTarget
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.processes cimport PROCESSES, Processes
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.mixture.slopes cimport Slopes
from river_okl._core.mixture.target_memory cimport TargetMemory
from river_okl._core.mixture.vote cimport Judged, Vote
from river_okl._core.store.running cimport (
    NONE, RESTART, RUN, Event, Running, clipped, is_steady, running_from, running_state,
)
from river_okl._core.store.running cimport update as count_target
from river_okl._core.store.sample cimport LARGEST, Sample
from river_okl._core.store.scaler cimport restored

import numpy as np

from river_okl._core.mixture.intervals import KNOTS, NORMAL

FIRST_WITH_SLOPES = 2000                # initial samples at which slopes are always measured, for short streams
cdef double[COVERAGES] normal = NORMAL
cdef Py_ssize_t AS_NORMAL = KNOTS.index(0.9)
# Maximum factor by which the unit of the target shrinks at once.  It is reached only if all targets were equal, so that
# all that was learned is 0; residuals times its square stay finite.
cdef double LARGEST_RATIO = 1e20
cdef double LEAST_VARIANCE = 1e-12, LEAST_SIZE = 1e-6  # of predictions in another unit
cdef int SETTLED = 5                    # samples before the first unit in force
cdef int FOLLOWED = 50                  # targets after a sudden change until the new unit is known
# maximum width of an interval for a late target, in widths of that of a normal distribution of the targets
cdef double WIDEST = 2.0
cdef double LONGER = 2.0                # memory of the losses of the answers, in those of other losses
cdef double LARGEST_EXACT = 1e9         # of a target in units of its standard deviation

cdef double LARGEST_ERROR = 30.0        # in a loss, in running errors
cdef double DEVIATIONS = 5.0, LEAST_RISE = 0.02  # of an absolute error that shows a change
LARGEST_LOSS = 1e12
cdef double SHARE_MEMORY = 1000.0       # samples over which the trees' share in the answer is averaged
cdef double LARGEST_CORRECTION = 1e3    # in running errors
cdef double STANDARD_ERRORS = 0.5       # by which this share is smaller
cdef double FEW = 20.0                  # samples after a restart, before which this share is not fully trusted
cdef double COMMON_MEMORY = 1000.0, RARE = 0.05, MOST = 0.5  # of the share of a frequent target; bounds of it
cdef double LARGEST_STEP = 3.0          # bound of a residual of the answer, in what the trees have predicted of it

cdef enum:
    ANSWERS = 3                         # of today, of then, and the mean of the targets


cdef struct Own:
    # The mixture's own numbers, which are stored after the predictions of its experts.  All up to the mean of
    # ``issued`` are in the unit of the target and have its origin.
    Judged of_today, of_then            # what the two judgements make of the predictions
    double of_targets                   # their mean
    double given                        # the answer without the trees that learn its residuals
    Issued issued                       # the answer, and its intervals
    double[PROCESSES] variances         # of the processes, noise included
    double correction                   # the residual of ``given`` that the trees predict


cdef inline double bounded_target(double z) noexcept nogil:
    """Return a scaled target clipped."""
    return fmin(fmax(z, -LARGEST_EXACT), LARGEST_EXACT)


cdef class TargetMixture(Mixture):
    """Experts on a number, in units of its running mean and standard deviation."""

    cdef readonly Regression linear
    cdef readonly TargetMemory of_latest    # the memory
    cdef readonly LastTarget last_target
    cdef Running target                     # statistics of the targets
    cdef double centre, size                # the unit in force: what is learned is (y - centre) / size
    cdef bint settled                       # whether it is in force until the next update
    cdef double lowest, highest             # of the targets
    cdef double common, common_share        # a frequent target, and its running share
    cdef readonly Intervals intervals
    cdef double *losses                     # [ANSWERS] of the answers as asked
    # discounted sums over the residuals r of answers and their corrections c, in running errors; if large residuals
    # count in full, in the unit of the target
    cdef double *agreement                  # [2] Σ r c and Σ c²
    cdef double spread                      # √ Σ (r c)²
    cdef double *steps                      # [2] Σ r and Σ c
    cdef double judged_steps                # Σ 1
    cdef bint restarted                     # whether they restarted at the sample that is learned

    def __init__(
        self, tuple terms, Py_ssize_t budget, Py_ssize_t dictionary, Py_ssize_t pending, bint scale=True,
        Py_ssize_t memory=0, tuple without=()
    ):
        Mixture.__init__(self, terms, budget=budget, first_metric=METRICS, pending=pending, scale=scale)
        self.early, self.growth, self.n_classes = 60, 4, 1
        self.processes = Processes(self.distances, terms, dictionary, "regression")
        self.slopes = Slopes(self.processes, FIRST_WITH_SLOPES)
        self.linear, self.last_target = Regression(self.scaler), LastTarget()
        self.memory = self.of_latest = TargetMemory(self.scaler, memory, self.linear, self.distances)
        without += () if memory else (self.memory.name,)
        others = tuple([expert for expert in (Diagonal(self.scaler), self.memory) if expert.name not in without])
        in_time = tuple([expert for expert in (self.last_target,) if expert.name not in without])
        self.experts = self.processes, self.linear, *others, *in_time
        self.number_predictions()
        voters = tuple([(<Expert> expert).first + i for expert in (*in_time, *others) for i in range(expert.rows)])
        self.intervals = Intervals()
        self.experts += self.intervals,
        self.holders = self.processes,
        today, then = [
            TargetJudgement(
                self.per_prediction, Combiner(self.processes, self.linear, others),
                Vote(self.rows + 1, voters)
            )
            for _ in range(2)
        ]
        self.assemble(today, then, Change(DEVIATIONS, LEAST_RISE))
        self.per_prediction.n = PROCESSES
        self.declare(
            <size_t> &self.losses, "late_losses", (ANSWERS,), low=0.0, high=LARGEST_LOSS, power=1
        )
        square = {"low": -LARGEST_LOSS**2, "high": LARGEST_LOSS**2}
        self.declare(<size_t> &self.agreement, "agreement", (2,), **square)
        self.declare(<size_t> &self.spread, "spread", (), low=0.0, high=LARGEST_LOSS**2)
        self.declare(<size_t> &self.steps, "steps", (2,), low=-LARGEST_LOSS, high=LARGEST_LOSS)
        self.declare(<size_t> &self.judged_steps, "judged_steps", (), low=0.0)
        number = {"low": -LARGEST, "high": LARGEST}
        self.declare(<size_t> &self.centre, "centre", (), **number)
        self.declare(<size_t> &self.size, "size", (), default=1.0, low=1e-300, high=4.0 * LARGEST)
        self.declare(<size_t> &self.settled, "settled", (), dtype="i4", low=0, high=1)
        self.declare(<size_t> &self.lowest, "lowest", (), **number)
        self.declare(<size_t> &self.common, "common", (), **number)
        self.declare(<size_t> &self.common_share, "common_share", (), low=0.0, high=1.0)
        self.declare(<size_t> &self.highest, "highest", (), **number)
        self.update_derived()

    cdef int answer(self, const Sample *x) except -1:
        """Write all predictions, the numbers that the mixture computes from them, and the intervals."""
        cdef Py_ssize_t e
        cdef Posterior posterior
        cdef double variance = 0.0, other = 0.0
        cdef double[ANSWERS] share
        cdef Own *own = self.own(self.p)
        Mixture.answer(self, x)
        for e in range(PROCESSES):
            posterior = self.processes.posteriors[e]
            own.variances[e] = posterior.variance + posterior.noise
        (<TargetJudgement> self.today).judge(self.p, &own.of_today, &variance)
        own.given, own.of_targets = own.of_today.voted, 0.0
        if self.then_is_known:
            (<TargetJudgement> self.then).judge(self.p, &own.of_then, &other)
            self.weigh_answers(share)
            own.given = share[0] * own.of_today.voted + share[1] * own.of_then.voted + share[2] * own.of_targets
            variance = share[0] * variance + share[1] * other + share[2]
        own.given = self.within_range(own.given)
        own.correction = bounded_target(self.of_latest.correction(own.given))  # 0 if nothing was learned
        own.issued.mean = self.within_range(own.given + self.step_of(own.correction))
        self.intervals.issue(sqrt(variance), self.of_latest.noise(), self.has_unknown(x), &own.issued)
        return 0

    cdef bint has_unknown(self, const Sample *x) noexcept:
        """Whether the last sample has a feature or a string that is not known."""
        cdef Py_ssize_t j
        for j in range(x.size):
            if x.places[j] < 0:
                return True
        return self.rest != 0

    cdef double step_of(self, double correction) noexcept:
        """Return what is added to an answer: the correction by the trees times their share in the answer, which is the
        coefficient of residuals on corrections, less half a standard error, so that a few samples cannot set it.

        If most targets are equal, only a few residuals are large: nothing is subtracted, and the mean residual is
        added, so that predictions add up to the targets.
        """
        cdef double n = fmax(self.judged_steps, 1.0), residual = self.steps[0] / n, mean = self.steps[1] / n
        cdef double known = fmin(self.judged_steps / FEW, 1.0), error = 0.0
        if not self.in_full():
            residual = mean = 0.0
            error = STANDARD_ERRORS * self.spread
        return known * (residual + (correction - mean) * fmin(fmax(
            (self.agreement[0] - n * residual * mean - error) / fmax(self.agreement[1] - n * mean * mean, 1e-12), 0.0
        ), 1.0))

    cdef double within_range(self, double z) noexcept:
        """Return the closest prediction that is no further outside of the range of targets than that range is wide."""
        cdef double width = self.highest - self.lowest
        return fmin(
            fmax(z, (self.lowest - width - self.centre) / self.size), (self.highest + width - self.centre) / self.size
        )

    cdef Own *own(self, const double *p) noexcept:
        """Return the mixture's own numbers after the predictions."""
        return <Own *> (p + self.rows)

    cdef void conclude(self) noexcept:
        if not self.then_is_known:
            self.own(self.p).of_then = self.own(self.p).of_today

    cdef void weigh_answers(self, double *share) noexcept:
        """Write the shares of today's weights, of those of then, and of the mean of the targets in the answer."""
        if self.change.left or not self.then_is_known or not self.pending.late:
            share[0], share[1], share[2] = 1.0, 0.0, 0.0
        else:
            weights_of_losses(self.losses, 1, ANSWERS, share)

    cdef Py_ssize_t n_mixed(self, Py_ssize_t n_classes) noexcept:
        return sizeof(Own) // sizeof(double)

    cdef void unit(self, double *mean, double *deviation) noexcept:
        mean[0], deviation[0] = self.centre, self.size

    cdef void convert(self, double *p, double mean, double deviation) noexcept:
        cdef double ratio = deviation / self.size
        cdef Py_ssize_t e
        cdef Own *own = self.own(p)
        self.rescale_predictions(p, ratio, (mean - self.centre) / self.size)
        for e in range(PROCESSES):
            own.variances[e] = fmax(ratio * ratio * own.variances[e], LEAST_VARIANCE)

    cdef void rescale_predictions(self, double *p, double ratio, double shift) noexcept:
        """Convert all numbers except the variances of the processes, whose priors have no unit."""
        cdef Py_ssize_t i
        cdef Own *own = self.own(p)
        for i in range(&own.issued.mean + 1 - p):
            p[i] = ratio * p[i] + shift
        own.issued.size = fmax(ratio * own.issued.size, LEAST_SIZE)
        own.correction *= ratio
        for i in range(COVERAGES):
            own.issued.half[i] *= ratio

    cdef double deviation(self) noexcept:
        """Return the standard deviation of the targets."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    cdef double half_width(self, Py_ssize_t i) noexcept:
        """Return half the width of an interval; for late targets, a multiple of the targets' own at most."""
        cdef double half = self.own(self.p).issued.half[i]
        if self.then_is_known and self.pending.late:
            half = fmin(half, WIDEST * normal[i] * self.deviation() / self.size)
        return half

    def remembered(self, Mixture start):
        return [(x, restored(self.centre, self.size, z), w) for x, z, w in Mixture.remembered(self, start)]

    def predict(self, sample):
        """Return the target's mean, and the standard deviation of the normal distribution with its 90 % interval."""
        self.evaluate(self.keyed(sample))
        self.asked = True
        return (
            self.centre + self.size * self.own(self.p).issued.mean,
            self.size * self.half_width(AS_NORMAL) / normal[AS_NORMAL],
        )

    def interval(self, sample, double z):
        """Return the target's mean, and the half width of the interval with the coverage of ``z`` standard deviations.

        Between the calibrated coverages, the half width is linear in ``z``.
        """
        cdef double[2] out
        self.evaluate(self.keyed(sample))
        self.asked = True
        self.report(z, out)
        return out[0], out[1]

    cdef Py_ssize_t n_reported(self) noexcept:
        return 2

    cdef void report(self, double z, double *out) noexcept:
        cdef Py_ssize_t i = 0
        cdef double left = 0.0, half = 0.0
        while i < COVERAGES - 1 and z > normal[i]:
            left, half = normal[i], self.half_width(i)
            i += 1
        if z > normal[i]:  # beyond the last one in proportion
            left = half = 0.0
        half += (z - left) * (self.half_width(i) - half) / (normal[i] - left)
        out[0], out[1] = self.centre + self.size * self.own(self.p).issued.mean, self.size * half

    cdef void standardise(self, double target, Outcome *y) noexcept:
        """Set the target in the unit in force.

        A gradual change of the targets comes into force at an update, and everything is converted.  A sudden one is
        followed at once, and converts nothing learned before: it is the unit that has changed, not the function.
        """
        cdef Event event = count_target(&self.target, target)
        self.find_common(target)
        self.lowest = fmin(self.lowest, target) if self.target.count > 1 else target
        self.highest = fmax(self.highest, target) if self.target.count > 1 else target
        if event != NONE:
            self.settled = False
        if not self.settled:
            self.settle_target(
                event == RESTART
                or (self.target.sudden and self.target.away < FOLLOWED and self.target.away < self.target.count)
            )
        y.exact = bounded_target((target - self.centre) / self.size)
        y.target = bounded_target((clipped(&self.target, target) - self.centre) / self.size)

    cdef void find_common(self, double target) noexcept:
        """Count a target as equal to the frequent one, or not."""
        cdef double rate = fmax(1.0 / COMMON_MEMORY, 1.0 / self.target.count)
        cdef bint before = self.in_full()
        self.common_share += rate * (<double> (target == self.common) - self.common_share)
        if self.common_share < RARE:
            self.common, self.common_share = target, RARE
        if self.in_full() != before:
            self.restart_share()
        self.of_latest.count_in_full(self.in_full())

    cdef void restart_share(self) noexcept:
        """Forget how residuals and corrections agreed: they were in another unit, or bounded in another way."""
        self.agreement[0] = self.agreement[1] = self.steps[0] = self.steps[1] = self.judged_steps = 0.0
        self.spread, self.restarted = 0.0, True

    cdef void rescale_share(self, double ratio) noexcept:
        """Convert these sums to a new unit of the target."""
        cdef double largest = LARGEST_LOSS**2, square = ratio * ratio
        cdef Py_ssize_t i
        for i in range(2):
            self.agreement[i] = fmin(fmax(square * self.agreement[i], -largest), largest)
            self.steps[i] = fmin(fmax(ratio * self.steps[i], -LARGEST_LOSS), LARGEST_LOSS)
        self.spread = fmin(square * self.spread, largest)

    cdef bint in_full(self) noexcept:
        """Whether most targets are equal, as if nothing happened: then the others are no outliers."""
        return self.common_share > MOST

    cdef void settle_target(self, bint sudden) noexcept:
        """Put the current unit of the targets into force."""
        cdef double ratio = fmin(self.size / self.deviation(), LARGEST_RATIO)
        cdef double shift = (self.centre - self.target.mean) / self.deviation()
        self.centre, self.size = self.target.mean, self.deviation()
        if self.seen <= 2:
            return
        if sudden:
            self.last_target.last = bounded_target(ratio * self.last_target.last + shift)
            # targets since the change are in the memory, too, where neighbours would find them
            self.of_latest.latest.rescale_targets(RUN - 1 + self.target.away, ratio, shift)
            self.restart_share()
            return
        if ratio == 1.0 and shift == 0.0:
            return
        for expert in self.experts:
            (<Expert> expert).rescale(ratio, shift)
        self.rescale_predictions(self.p, ratio, shift)
        self.change_unit(ratio)
        if self.in_full():
            self.rescale_share(ratio)

    cdef int update(self) except -1:
        if self.seen >= SETTLED:
            if self.settled or is_steady(&self.target, self.seen - self.scaler.settled_at):
                self.settle_target(False)
                self.settled = True
        return Mixture.update(self)

    cdef void score(self, Outcome *y) noexcept:
        """Score the experts."""
        cdef double least_rate = 1.0 / (self.seen + 1)
        cdef Outcome today
        cdef const Outcome *issued
        cdef const Own *own = self.own(self.p)
        y.counts = fmin(y.w, 1.0)
        today = y[0]
        today.as_asked, today.late, today.discount = self.p, 0, DISCOUNT
        if self.then_is_known:
            self.score_then(y, least_rate)
        issued = &today if self.change.left else y  # after a change, predictions as asked are of another concept
        self.intervals.score(issued, &self.own(issued.as_asked).issued, y.exact - self.last_target.last)
        self.learn_share(y, self.own(issued.as_asked))
        (<TargetJudgement> self.today).score(&today, self.p, &own.of_today, own.variances, 1.0, least_rate)

    cdef void learn_share(self, const Outcome *y, const Own *own) noexcept:
        """Compare the trees' correction of an answer with its residual, both in running errors: a share learned while
        errors were a hundred times as large must not outlast them.

        If large residuals count in full, they stay in the unit of the target, so that predictions add up.
        """
        cdef double unit = 1.0 if self.in_full() else fmax(own.issued.size, fabs(own.correction) / LARGEST_CORRECTION)
        cdef double correction = own.correction / unit
        cdef double most = LARGEST_EXACT if self.in_full() else LARGEST_STEP * fabs(correction)
        cdef double residual = fmin(fmax((y.exact - own.given) / unit, -most), most)
        self.of_latest.answered, self.of_latest.error = own.given, fabs(y.exact - own.issued.mean) / own.issued.size
        if self.restarted:  # with this sample, whose prediction was in another unit
            self.restarted = False
            return
        self.spread = sqrt((1.0 - 1.0 / SHARE_MEMORY) * self.spread**2 + (y.counts * residual * correction) ** 2)
        self.agreement[0] += y.counts * residual * correction - self.agreement[0] / SHARE_MEMORY
        self.agreement[1] += y.counts * correction * correction - self.agreement[1] / SHARE_MEMORY
        self.steps[0] += y.counts * residual - self.steps[0] / SHARE_MEMORY
        self.steps[1] += y.counts * correction - self.steps[1] / SHARE_MEMORY
        self.judged_steps += y.counts - self.judged_steps / SHARE_MEMORY

    cdef void score_then(self, const Outcome *y, double least_rate) noexcept:
        """Score the answers and the judgement of then, which is neither used nor updated after a change."""
        cdef double bound = LARGEST_ERROR * (<TargetJudgement> self.today).vote.running_error()
        cdef double discount = 1.0 - (1.0 - y.discount) / LONGER
        cdef const Own *own = self.own(y.as_asked)
        cdef double[ANSWERS] answers = [own.of_today.voted, own.of_then.voted, own.of_targets]
        cdef Py_ssize_t i
        cdef Outcome then = y[0]
        if y.late:
            self.change.take(fmin(fabs(y.exact - own.issued.mean), bound), y.late)
        if self.change.left:
            self.losses[0], self.losses[1], self.losses[2] = 0.0, bound, bound  # today's weights are ahead after it
            return
        for i in range(ANSWERS):
            self.losses[i] = discount * self.losses[i] + y.counts * fmin(fabs(y.exact - answers[i]), bound)
        then.late = 1
        (<TargetJudgement> self.then).score(
            &then, y.as_asked, &own.of_then, own.variances, (1.0 - y.discount) / (1.0 - DISCOUNT), least_rate
        )

    @property
    def expert_weights(self):
        """(name, weight) of every estimate in the next prediction."""
        cdef double[ANSWERS] share
        cdef Py_ssize_t i
        self.weigh_answers(share)
        vote = (<TargetJudgement> self.today).vote
        rows = [name for expert in self.experts if expert.rows for name in expert.names()]
        voters = [rows[vote.row[i]] for i in range(2, vote.voters)]
        names = self.processes.names() + self.linear.names() + ["stack", "correction", *voters]
        weights = (<TargetJudgement> self.today).shares()
        if share[0] < 1.0:
            then = (<TargetJudgement> self.then).shares()
            weights = [share[0] * one + share[1] * other for one, other in zip(weights, then)]
            names, weights = names + ["mean target"], weights + [share[2]]
        return [*zip(names, weights)]

    def coefficients(self):
        out = np.zeros((self.points.n, 1))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t e
        cdef double[ANSWERS] share
        cdef double[PROCESSES] weight
        cdef double[PROCESSES] other
        self.weigh_answers(share)
        if self.points.n:
            (<TargetJudgement> self.today).count(weight)
            if share[0] < 1.0:
                (<TargetJudgement> self.then).count(other)
                for e in range(PROCESSES):
                    weight[e] = share[0] * weight[e] + share[1] * other[e]
            self.processes.add_coefficients(weight, &view[0, 0])
        return out * self.size

    def state(self):
        return Mixture.state(self) | {"target": running_state(&self.target)}

    def restore(self, dict state):
        if state["n_classes"] != 1:
            raise ValueError(f"a regression of {state['n_classes']!r} classes")
        target = running_from(state["target"], "the record of the target")
        Mixture.restore(self, state)
        self.target = target
        self.of_latest.count_in_full(self.in_full())  # trees may be rebuilt before the next sample
