"""The mixture of experts behind ``OKLClassifier`` and ``OKLRegressor``: what both tasks share.

All experts work on one set of points, and on one encoding, scaling and pass of dot products per sample.
``class_mixture.pyx`` and ``target_mixture.pyx`` list the experts of their task; each has its own file.  Beside them:

    expert.pyx         what a mixture asks of an expert
    memory.pyx         the latest samples, which both tasks remember
    background.pyx     earlier samples, with which an explanation compares
    judgement.pyx      the weights of all predictions
    slopes.pyx         the slopes of the predictions along the features, from which feature weights are learned
    pending.pyx        predictions of samples whose labels have not come yet
    batch.pyx          predictions of many samples at once
    change.pyx         whether the stream has changed since these predictions

Once labels come late there is a second judgement, "then", which is scored on the predictions that were made when the
sample was asked (``pending``), with a discount of at least 1 - 1/n if the label came after n others.

After 2, 3, 5, ... samples the bandwidths and the units of features follow the stream (scaler.pyx).  After
``early`` samples, and then whenever the stream has grown by one part in ``growth``, but at least every
``LONGEST`` samples, the feature weights are learned from the slopes of the predictions, too, and the kernel
with the lowest weight becomes a neighbour of the one with the highest.

A point belongs to the dictionary, to the pool, or to both; an unreferenced point is dropped.
"""

from libc.math cimport fmax, fmin
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.kernel.distances cimport EQUAL, Dictionary
from river_okl._core.loops cimport METRICS
from river_okl._core.mixture.expert cimport DISCOUNT
from river_okl._core.mixture.pending cimport Keyed
from river_okl._core.mixture.processes cimport POSTERIORS
from river_okl._core.scaled_points cimport bounded_weight, following
from river_okl._core.splitmix cimport next_random
from river_okl._core.store.buffers cimport array_of, fill
from river_okl._core.store.sample cimport Given, is_word
from river_okl._core.store.words cimport hash_of_name, hash_of_word

from river_okl._core.states import LARGEST_COUNT

cdef double HEAVY = 20.0, LIGHTS = 10.0  # first samples that are forgotten, and light ones that it takes
cdef double WEIGHT_MEMORY = 10_000.0    # samples over which the moments of the weights are averaged
# products of a relative weight neither vanish nor overflow
cdef double LEAST_RELATIVE = 1e-100, LARGEST_RELATIVE = 1e10
# Share of a process's evidence that is kept when a new unit comes into force: some samples were learned before the unit
# was known.
cdef double NEW_UNIT = 0.1


cdef class Mixture(ScaledPoints):
    """Experts over shared points.

    Parameters
    ----------
    terms
        The terms of a ``river_okl.kernels`` kernel.
    budget
        Maximum number of points.
    scale
        Whether features are scaled first.
    first_metric
        Under metrics before this one, distances are computed only to the points of the dictionary; METRICS: under all.
    pending
        Maximum number of predicted samples that wait for a label.
    single
        Whether scaled features are in single precision: half of the memory for points, and of the time to scan them.
    """

    # Construction -----------------------------------------------------------------------------------------------------

    def __init__(
        self, tuple terms, *, Py_ssize_t budget, int first_metric, Py_ssize_t pending, bint scale=True,
        bint single=False
    ):
        ScaledPoints.__init__(self, budget + 2, first_metric=first_metric, scale=scale, single=single)
        self.terms, self.measures_points = terms, first_metric < METRICS
        self.pending = Pending(pending, 0)
        self.per_prediction = Axis("prediction")
        self.axes += (self.per_prediction,)
        count = {"dtype": "i8", "low": 0, "high": LARGEST_COUNT}
        self.declare(<size_t> &self.then_is_known, "then_is_known", (), dtype="i4", low=0, high=1)
        self.declare(<size_t> &self.keyed_labels, "keyed_labels", (), dtype="i4", low=0, high=1)
        self.declare(<size_t> &self.share, "shares", (KERNELS,), low=0.0)
        self.declare(<size_t> &self.weights, "weights", (3,), low=0.0)
        self.declare(<size_t> &self.light, "light_weights", (3,), low=-1.0)
        self.declare(<size_t> &self.n_classes, "n_classes", (), **count)
        self.declare(<size_t> &self.seen, "seen", (), **count)
        self.declare(<size_t> &self.next_update, "next_update", (), default=2, **count)
        self.declare(<size_t> &self.updates, "updates", (), dtype="i4", low=0, high=2**30)

    def __reduce__(self):
        dictionary, pending = self.processes.max_points, self.pending.max_samples
        options = self.terms, self.budget, dictionary, pending, self.scaler.active, self.memory.max_rows
        return type(self), options, self.state()

    cdef int reserve_predictions(self, Py_ssize_t n_classes) except -1:
        """Make room for predictions of ``n_classes`` classes, also by experts that start with one of the classes."""
        cdef Py_ssize_t rows = sum([max(1, expert.rows) for expert in self.experts])
        self.p = self.doubles(self.p, 0, rows * n_classes + self.n_mixed(n_classes))
        self.release(self.as_asked)
        self.as_asked = NULL
        self.grow(self.per_prediction, rows)
        self.fresh = False
        return 0

    cdef int assemble(self, Judgement today, Judgement then, Change change) except -1:
        """Make the experts, which are listed now, the judgements and the detector of changes parts of the mixture."""
        today.name, then.name = "today", "then"
        self.today, self.then = today, then
        self.background = Background(self.scaler, self.memory.max_rows)
        self.experts += self.background, today, then
        for expert in self.experts:
            self.contain(expert.name, expert)
        self.change = self.contain("change", change)
        self.reserve_predictions(self.n_classes)
        self.number_predictions()
        self.pending.begin(self.n_numbers)
        return 0

    cdef void number_predictions(self) noexcept:
        """Number the predictions, expert by expert."""
        self.rows = 0
        for expert in self.experts:
            (<Expert> expert).first = self.rows
            self.rows += (<Expert> expert).rows
        self.n_numbers = self.rows * self.n_classes + self.n_mixed(self.n_classes)

    cdef Py_ssize_t n_mixed(self, Py_ssize_t n_classes) noexcept:
        """Return the number of values that the mixture computes from all predictions and stores after them."""
        return 0

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int answer(self, const Sample *x) except -1:
        """Write all predictions, expert by expert: later experts may use predictions of earlier ones."""
        cdef Dictionary dictionary = self.processes.dictionary()
        self.distances.measure(x, NULL if self.processes.predicted else &dictionary, self.measures_points)
        for expert in self.experts:
            if (<Expert> expert).rows:
                (<Expert> expert).ask(x, self.p + (<Expert> expert).first * self.n_classes)
        return 0

    cdef int begin_block(self) except -1:
        """Prepare for samples without keys that are asked one after the other (batch.pyx)."""
        self.leave()
        self.key = 0
        self.fresh = False
        return 0

    cdef int ask_next(self, Sample *x, Py_ssize_t encoded, uint64_t rest) except -1:
        """Ask a scaled sample, which becomes the last one; x gets an earlier one."""
        cdef Sample *last = &self.samples[1 - self.last]
        cdef Sample other
        self.leave()
        other = last[0]
        last[0], x[0] = x[0], other
        self.last = 1 - self.last
        self.encoded, self.rest = encoded, rest
        self.answer(last)
        self.asked = True
        return 0

    cdef void end_batch(self) noexcept:
        """Forget what was prepared for many samples."""
        cdef Py_ssize_t i
        self.processes.predicted = False
        self.distances.ungather()
        for i in range(2):  # borrowed from the batch
            self.samples[i].scaled = self.samples[i].unclipped = NULL

    cdef Py_ssize_t n_reported(self) noexcept:
        """Return the number of columns of the predictions of many samples."""
        return 0

    cdef void report(self, double z, double *out) noexcept:
        """Write the prediction for the last sample; ``z``: of the interval of a target."""

    def check_sample(self, sample):
        """Raise if this sample is invalid; it does not count as predicted."""
        self.evaluate(self.keyed(sample))

    def learn(self, sample, double target, double w):
        """Learn one sample, with the number of its class or its target."""
        self.evaluate(self.keyed(sample))
        self.recall()
        self.fresh = False
        try:
            self.step(&self.samples[self.last], target, w)
        except BaseException:
            self.lock.fail()
            raise

    cdef int step(self, Sample *x, double target, double w) except -1:
        """Observe a sample, score the experts, learn it, and drop what is no longer needed."""
        cdef Outcome y
        cdef Py_ssize_t e
        self.observe(x, w > 0.0)
        self.seen += 1
        if w > 0.0:
            self.standardise(target, &y)
            self.find_asked(&y)
        self.answered()
        if w > 0.0:
            y.w = self.relative(w)
            if self.scaler.outlying:  # their scaled values are clipped, and may be in a new unit
                y.w *= fmax(1.0 - (<double> self.scaler.outlying / x.size) ** 2, 1e-6)
            y.p, y.residual = self.p, self.today.residual
            for e in range(PROCESSES):
                self.share[e // POSTERIORS] += self.process_weights[e]
            if y.late and not self.then_is_known:
                self.then.copy(self.today)
                self.then_is_known = True
            self.score(&y)
            self.update_derived()
            self.learn_experts(x, &y)
        if self.seen >= self.next_update:
            self.update()
        return self.tidy()

    cdef double relative(self, double w) noexcept:
        """Return a sample's weight relative to earlier weights, E w / E w² · w, so that only ratios matter.

        The relative weights add up to Kish's effective sample size, (Σ w)² / Σ w².  If 1 % of the samples have 100
        times the weight, each of them counts about 1, and the others count little.  Equal weights count 1.
        """
        self.forget_heavy(w)
        cdef double relative = w * self.weights[1] / self.weights[2] if self.weights[2] > 0.0 else 1.0
        relative = fmin(fmax(relative, LEAST_RELATIVE), LARGEST_RELATIVE)
        w = bounded_weight(w, self.weights[1])
        self.weights[0] += 1.0
        self.weights[1] += (w - self.weights[1]) / fmin(self.weights[0], WEIGHT_MEMORY)
        self.weights[2] += (w * w - self.weights[2]) / fmin(self.weights[0], WEIGHT_MEMORY)
        return relative

    cdef void forget_heavy(self, double w) noexcept:
        """Forget the weights of a few heavy first samples once ``LIGHTS`` lighter ones in a row have followed.

        Otherwise they would silence the samples after them: later on a weight is bounded by the mean of those before.
        """
        if self.light[0] < 0.0 or self.weights[0] == 0.0:
            return
        if 3.0 * w >= self.weights[1]:
            if self.light[0] > 0.0 or self.weights[0] >= HEAVY:
                self.light[0] = -1.0
            return
        self.light[0] += 1.0
        self.light[1] += (w - self.light[1]) / self.light[0]
        self.light[2] += (w * w - self.light[2]) / self.light[0]
        if self.light[0] >= LIGHTS:
            memcpy(self.weights, self.light, 3 * 8)
            self.light[0] = -1.0

    cdef void standardise(self, double target, Outcome *y) noexcept:
        """Set the target, in the units of the experts."""
        y.target = y.exact = target

    cdef void score(self, Outcome *y) noexcept:
        """Score the experts; set the bounded weight of the sample, and whether it was predicted confidently."""

    # Late labels ------------------------------------------------------------------------------------------------------

    cdef void unit(self, double *mean, double *deviation) noexcept:
        """Write the unit of the predictions."""
        mean[0], deviation[0] = 0.0, 1.0

    cdef void convert(self, double *p, double mean, double deviation) noexcept:
        """Convert predictions from this unit to the current one."""

    cdef void conclude(self) noexcept:
        """Write the mixture's own numbers after the predictions, unless they are already there."""

    cdef void find_asked(self, Outcome *y) noexcept:
        """Set the predictions of the sample when it was asked, in the current unit, and how late its label is."""
        y.late, y.as_asked, y.discount = 0, self.p, DISCOUNT
        if self.found >= 0:
            y.late = self.seen - self.pending.asked(self.found).seen
            y.discount = fmax(DISCOUNT, 1.0 - 1.0 / (y.late + 1.0))
            self.pending.read(self.found, self.as_asked)
            self.convert(self.as_asked, self.pending.asked(self.found).mean, self.pending.asked(self.found).deviation)
            y.as_asked = self.as_asked

    cdef object keyed(self, sample):
        """Return a sample that is asked or learned; its key, if it has one, becomes its identity."""
        cdef uint64_t key = 0
        if type(sample) is Keyed:
            key = hash_of_name((<Keyed> sample).key) | 1
            sample = (<Keyed> sample).sample
        elif isinstance(sample, Given):
            key = self.key
        if key != self.key:
            self.leave()
        self.key = key
        return sample

    cdef uint64_t identity(self) except? 0:
        """Return a hash of the last sample's key, or of its content.  The hash depends neither on the order
        of the features, nor on what is known of them, nor on the process."""
        cdef const Sample *x = &self.samples[self.last]
        cdef uint64_t total = self.rest, bits, word
        cdef double number
        cdef Py_ssize_t i
        if self.key:
            return self.key
        for i in range(self.encoded):
            key = <object> x.keys[i]
            if x.numbers[i] != x.numbers[i]:  # a gap, which has a word, too
                continue
            if is_word(key):
                total += hash_of_word(key[1], key[2])
            else:
                number = x.numbers[i] + 0.0  # -0.0 is 0.0
                memcpy(&bits, &number, 8)
                word = hash_of_name(key) ^ next_random(&bits)
                total += next_random(&word)
        return total

    cdef int leave(self) except -1:
        """Store the predictions of the last sample, if its label has not come, before another one is evaluated.

        A mixture that has learned nothing stores none.  Once a late label has come by its key, predictions
        without a key are those of a plot, an explanation or another consumer: they wait for no label, and must not drop
        those that do.
        """
        cdef uint64_t identity
        cdef double mean, deviation
        cdef bint waits = self.key != 0 or not self.keyed_labels
        if self.asked and self.seen and self.pending.max_samples and waits:
            identity = self.identity()
            if self.pending.find_asked(identity, self.seen) < 0:
                self.conclude()
                self.unit(&mean, &deviation)
                self.pending.add(identity, self.seen, self.p, mean, deviation)
        self.asked = False
        return 0

    cdef int recall(self) except -1:
        """Find the predictions that an earlier state of the model made of the last sample, which is to be learned.

        If the sample was also asked in the current state, its label may belong to either prediction.  Then the last
        unambiguous case decides.
        """
        cdef Py_ssize_t found, today
        cdef uint64_t identity
        self.found = self.taken = -1
        self.current = self.asked
        if self.pending.n == 0:
            return 0
        self.leave()  # as saving the model does, which therefore changes nothing
        identity = self.identity()
        found = self.pending.find(identity, self.seen)
        today = self.pending.find_asked(identity, self.seen)
        self.current = today >= 0
        if found >= 0 and (self.pending.late or not self.current):
            self.found = found
        elif self.current:
            self.taken = today
        else:
            self.found = self.pending.find_taken(identity)
        if self.found >= 0:
            self.taken = self.found
            if self.as_asked == NULL:
                self.as_asked = self.doubles(NULL, 0, self.n_numbers)
        return 0

    cdef void answered(self) noexcept:
        """Record that the label of the last sample has come."""
        self.keyed_labels |= self.key != 0 and (self.found >= 0 or not self.current)
        if self.pending.max_samples == 0:
            pass
        elif self.found >= 0 and not self.current:
            self.pending.late = True
        elif self.found < 0 and self.current:
            self.pending.late = False
        if self.found < 0 <= self.taken == self.pending.n - 1:  # the label came at once
            self.pending.drop_last()
        elif self.taken >= 0:
            self.pending.take(self.taken)
        if self.pending.n:
            self.pending.expire(self.seen)
        self.asked = False

    # Weights ----------------------------------------------------------------------------------------------------------

    cdef void update_derived(self) noexcept:
        """Compute the weights of the predictions, and the normalised weights of the processes."""
        cdef Py_ssize_t e
        cdef double total = 1e-290
        cdef const double *weight = self.today.weight + self.processes.first
        self.today.update_derived()
        if self.then_is_known:
            self.then.update_derived()
        for e in range(PROCESSES):
            total += weight[e]
        for e in range(PROCESSES):
            self.process_weights[e] = weight[e] / total

    cdef int learn_experts(self, const Sample *x, Outcome *y) except -1:
        """Update every expert; the sample becomes a point if one of them wants it."""
        cdef Py_ssize_t evicted, last
        cdef bint wanted = False
        self.slopes.learn(x, self.seen, self.process_weights)
        for expert in self.experts:
            (<Expert> expert).wants_point = (<Expert> expert).learn(x, y)
        for expert in self.holders:
            if (<Expert> expert).wants_point and (<Expert> expert).is_full():
                evicted = (<Expert> expert).evict(self.process_weights)
                if evicted < 0:
                    (<Expert> expert).wants_point = False
                else:
                    self.drop_unreferenced(evicted)
            wanted = wanted or (<Expert> expert).wants_point
        if not wanted:
            return 0
        self.points.write(x, x.scaled, self.distances.own[EQUAL])
        self.distances.point_added()
        last = self.points.n - 1
        for expert in self.holders:
            if (<Expert> expert).wants_point:
                (<Expert> expert).claim(last)
        return 0

    cdef int drop_unreferenced(self, Py_ssize_t i) except -1:
        """Drop point i unless an expert references it."""
        return 0 if self.referenced(i) else self.drop_point(i)

    # Periodic updates -------------------------------------------------------------------------------------------------

    cdef int update(self) except -1:
        """Update bandwidths from the stream, feature weights from slopes, and kernels from mixture weights."""
        cdef Py_ssize_t i, to, of
        self.processes.fill_grams(self.processes.before)
        self.next_update = following(self.seen, self.early, self.growth)
        self.settle_units(self.next_update - self.seen)
        if self.seen >= self.early:
            self.updates += 1
            if self.updates > 1 and self.processes.move(self.share, self.today.residual, &to, &of):
                to, of = self.processes.first + to * POSTERIORS, self.processes.first + of * POSTERIORS
                for i in range(POSTERIORS):
                    self.today.moved(to + i, of + i)
                    if self.then_is_known:
                        self.then.moved(to + i, of + i)
                self.update_derived()
            for i in range(KERNELS):
                self.share[i] = 0.0
            self.distances.learn()
        self.memory.weigh(self.distances)
        return self.finish_units()

    cdef int finish_units(self) except -1:
        for expert in self.experts:
            (<Expert> expert).tune()
        ScaledPoints.finish_units(self)
        self.processes.exchange(NEW_UNIT if self.scaler.renewed else 1.0)
        self.processes.free_grams()
        return 0

    # Reading ----------------------------------------------------------------------------------------------------------

    cdef bint referenced(self, Py_ssize_t i) noexcept:
        """Whether an expert needs point i."""
        for expert in self.holders:
            if (<Expert> expert).references(i):
                return True
        return False

    def __len__(self):
        return len(self.supports)

    @property
    def supports(self):
        """The positions of the points that have coefficients."""
        return sorted({i for each in self.holders for i in each.positions})

    @property
    def budget(self):
        """Maximum number of points."""
        return sum([expert.max_points for expert in self.holders])

    def remembered(self, Mixture start):
        """Return the samples in the memory that came after ``start``: each with its class or target, and its weight."""
        unit = self.weights[2] / self.weights[1] if self.weights[1] > 0.0 else 1.0  # of relative weights
        return [(x, y, unit * w) for x, y, w in self.memory.samples(start.memory)]

    def feature_weights(self):
        """Return a dict of feature weights in the distances, averaged over the experts that use them; the mean is 1."""
        cdef double[METRICS] mixed
        cdef Py_ssize_t m
        memset(mixed, 0, sizeof(mixed))
        mixed[EQUAL] = 1e-9
        for expert in self.holders:
            (<Expert> expert).add_metrics(self.today.weight + (<Expert> expert).first, mixed)
        return self.distances.feature_weights([mixed[m] for m in range(METRICS)])

    def highest_weighted(self):
        """Return the mean ‖x-x'‖² over the scale, and the mean ‖x‖², of the highest-weighted kernel."""
        cdef Py_ssize_t i, b
        cdef CompiledKernel kernel
        weights = [sum([self.process_weights[i * POSTERIORS + b] for b in range(POSTERIORS)]) for i in range(KERNELS)]
        kernel = self.processes.kernels[weights.index(max(weights))]
        return kernel.mean_distance, kernel.mean_square

    def coefficients(self):
        """Return the coefficients of points in the mixture's mean, kernels and scales aside: (points, columns)."""
        out = np.zeros((self.points.n, self.processes.columns))
        cdef double[:, ::1] view = out
        if self.points.n:
            for expert in self.experts:
                (<Expert> expert).add_coefficients(self.today.weight + (<Expert> expert).first, &view[0, 0])
        return out

    @property
    def norm2(self):
        """‖E f‖² of the processes, over all columns, averaged by process weights."""
        return self.processes.norm2(self.process_weights)

    # Invariants and state ---------------------------------------------------------------------------------------------

    def _check(self):
        """Assert the invariants, by brute force."""
        cdef Py_ssize_t i
        cdef int m
        self.points.check()
        n = self.points.n
        assert all([self.referenced(i) for i in range(n)]), "every point is referenced"
        squares = [array_of(self.distances.square[m], n) for m in range(METRICS)]
        self.distances.square_points()
        for m in range(METRICS):
            np.testing.assert_allclose(squares[m], array_of(self.distances.square[m], n), rtol=1e-9, atol=1e-12)
            fill(self.distances.square[m], squares[m], n)
        ScaledPoints._check(self)
        self.pending._check()
        assert self.pending.length == self.n_numbers

    def state(self):
        """Return the state by name, for ``restore``."""
        self.leave()
        return ScaledPoints.state(self) | {"pending": self.pending.state()}

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number."""
        cdef Py_ssize_t i
        ScaledPoints.restore(self, state)
        for i in range(self.points.n):
            if not self.referenced(i):
                raise ValueError("an unreferenced point")
        self.pending.restore(state["pending"], self.seen)
        self.fresh = self.asked = False
