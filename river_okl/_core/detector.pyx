"""Scores how anomalous a sample is, given points that are a sample of the stream: the core of ``OKLDetector``.

Six measures compare a sample x with the points z_i, or with all samples.  m is the mean squared distance of two
samples, and d_k² the squared distance to the k-th nearest point.  r_i is log d_20² of point i when it was
learned, less the running mean of these numbers, its own included (the mean falls as long as points are added):

    -log mean_i exp(-16 ‖x - z_i‖² / m)     a wide kernel density
    -log mean_i exp(-64 ‖x - z_i‖² / m)     a narrow one
    log d_20² - ½ mean of r over the 20 nearest     the distance relative to the neighbourhood's
    log d_100²      the distance to a crowd: recurring anomalies have fewer neighbours of their own
    the value of residuals.pyx      how badly the features of x are predicted from each other
    log max(4, max |x_j|)   the largest value of one feature, in standard deviations: distances and sums over hundreds
                    of features hide a single one

The level of a value is -log of the share of recent samples for which the value was at least as large
(``Window``).  That of residuals is multiplied by the predictability of the features.  q is the largest of the
six levels, and the score of x is 1 - exp(-level of q): the share of recent samples that looked less
anomalous.  At most half of the samples equal to x count as less anomalous: on a stream of few distinct
values, their measures differ only by what points and scaling learned since.

An anomaly that is learned would mask the next one like it.  So among samples with a calibrated score

    - samples above ``ANOMALOUS`` do not become points;
    - samples above ``ALARM`` are not learned at all, except with tokens.  There are up to ``TOKENS`` (fewer
      while few levels are known), and each sample adds ``RATE``.  A sample costs one token, or ``UNLIKE`` if
      it differs from the previous one: then it is more often the tail of the stream than a fault.

If most of about ``CROWD`` recent samples are above ``ALARM``, the stream has moved, and its new state is learned.

The points are a reservoir (Vitter 1985): a new point replaces a random one, so that each of the last
``RESERVOIR_MEMORY`` candidates is kept with about the same probability.
"""

from libc.math cimport exp, fabs, fmax, fmin, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from river_okl._core.residuals cimport Residuals
from river_okl._core.scaled_points cimport ScaledPoints, bounded_weight, following
from river_okl._core.simd cimport loops
from river_okl._core.splitmix cimport next_random, scrambled
from river_okl._core.store.ring cimport Ring
from river_okl._core.store.sample cimport LARGEST_COUNT, Sample
from river_okl._core.window cimport RANKED, Window

from river_okl._core.invariants import assert_close
from river_okl._core.states import checked_array, checked_whole
from river_okl._core.store.words import named

cdef enum:
    NEIGHBOURS = 20         # that a sample is compared with
    SCALES = 6              # measures, of which two have a name:
    RESIDUAL = 4
    EXTREME = 5
    MAX_NUMBERS = 1024     # remembered, of each kind
    MAX_SCORES = 4096      # levels remembered

BUDGET = 2048                       # points
cdef int64_t FIRST = 60, GROWTH = 16  # of the schedule of updates

cdef int METRIC = 3                 # of ``Distances``, with weights of 1
cdef int CROWDED = 100              # number of points in a crowd
cdef double WIDE = 16.0, NARROW = 4.0  # the narrow kernel is the wide one to the power NARROW
cdef double LOCALITY = 0.5
cdef double EQUAL = 1e-5            # of the mean squared distance: closer points are equal, as in single precision
cdef double FARTHEST = 1e9          # mean squared distances
cdef double LEAST_DENSITY = 1e-300
cdef double USUAL = 4.0             # standard deviations of a feature that are not counted as extreme
cdef double TAIL = 0.1, TAIL_OF_SCORES = 0.01
cdef double HIGHEST = 36.0          # level: the score is below 1
cdef double ANOMALOUS = 0.95, ALARM = 0.99
cdef Py_ssize_t CALIBRATED = 500    # scores from which on ALARM is meaningful
cdef double TOKENS = 12.0, RATE = 0.05, CROWD = 200.0
cdef double ALIKE = 0.1             # mean squared distances below which two alarms are alike
cdef double UNLIKE = 0.7            # token cost of an alarm unlike the previous sample
cdef double RESERVOIR_MEMORY = 8192.0
cdef double RECENT = 500.0          # samples in the mean ``typical``


cdef class Detector(ScaledPoints):
    """Points of a stream, and the anomaly score of a sample relative to them.

    Parameters
    ----------
    budget
        Maximum number of points.
    key
        The seed of the random numbers that decide which points are kept.
    """

    cdef readonly list windows              # of each scale
    cdef readonly Window window             # of the largest of their levels
    cdef readonly Residuals residuals
    cdef readonly Py_ssize_t budget
    cdef readonly int64_t seen, ranked      # samples; those whose numbers were remembered
    cdef int64_t next_update                # of the units, in samples learned
    cdef Ring identities                    # of the latest of them
    cdef double *radius                     # [point] r
    cdef double *some                       # [point] scratch of the search
    cdef double *others                     # [point]
    cdef int32_t *at                        # [point]
    cdef double tokens                      # alarms that may still be remembered
    cdef double crowd                       # share of alarms among recent samples
    cdef double typical                     # mean of log d_20² over recent samples
    cdef double candidates, weight          # samples that were to become points, and their total weight
    cdef uint64_t random
    # scratch: the last sample; never pickled
    cdef Py_ssize_t found
    cdef Py_ssize_t nearest[NEIGHBOURS]
    cdef double raw[SCALES]
    cdef uint64_t identity
    cdef double own_radius
    cdef double largest                     # of the levels of ``raw``
    cdef double level                       # of ``largest``: -log of the share of recent samples as anomalous

    def __init__(self, Py_ssize_t budget=BUDGET, int64_t key=0):
        ScaledPoints.__init__(self, budget + 1, first_metric=METRIC, single=True)
        self.budget = budget
        self.windows = [Window(MAX_NUMBERS, TAIL) for _ in range(SCALES)]
        self.window = Window(MAX_SCORES, TAIL_OF_SCORES)
        self.residuals = self.contain("residuals", Residuals(self.scaler))
        self.identities = Ring(MAX_SCORES, sizeof(uint64_t))
        self.random = <uint64_t> key
        count = {"dtype": "i8", "low": 0, "high": LARGEST_COUNT}
        self.declare(<size_t> &self.seen, "seen", (), **count)
        self.declare(<size_t> &self.ranked, "ranked", (), **count)
        self.declare(<size_t> &self.next_update, "next_update", (), default=2, **count)
        self.declare(<size_t> &self.radius, "radii", (self.points,))
        self.scratch(<size_t> &self.some, (self.points,))
        self.scratch(<size_t> &self.others, (self.points,))
        self.scratch(<size_t> &self.at, (self.points,), dtype="i4")
        self.declare(<size_t> &self.tokens, "tokens", (), default=TOKENS, low=0.0, high=TOKENS)
        self.declare(<size_t> &self.crowd, "crowd", (), low=0.0, high=1.0)
        self.declare(<size_t> &self.typical, "typical", ())
        self.declare(<size_t> &self.candidates, "candidates", (), low=0.0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.weight, "weight", (), low=0.0)

    def __len__(self):
        return self.points.n

    def __reduce__(self):
        return Detector, (self.budget,), self.state()

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int answer(self, const Sample *x) except -1:
        self.distances.measure(x, NULL, True)
        self.rate(x)
        return 0

    cdef void rate(self, const Sample *x) noexcept:
        """Compute the measures of the sample measured last, and their levels."""
        cdef Py_ssize_t i, n = self.points.n
        cdef double own = self.distances.own[METRIC], mean = self.distances.mean_distance(METRIC) or 1.0
        cdef const double *square = self.distances.square[METRIC]
        cdef const double *dots = self.distances.dots[METRIC]
        cdef double[3] distance     # to the nearest point, the NEIGHBOURS-th and the CROWDED-th nearest
        cdef double wide, narrow, of_others = 0.0
        self.level = self.largest = self.own_radius = 0.0
        self.identity = identity_of(x)
        self.raw[RESIDUAL] = self.residuals.ask(x)
        self.raw[EXTREME] = log(largest_of(x))
        self.found = min(n, NEIGHBOURS)
        if n == 0:
            return
        loops.closest(
            square, dots, n, self.found, min(n, CROWDED), self.some, self.others, self.at, self.nearest, distance
        )
        for i in range(3):
            distance[i] = fmin(fmax(own + distance[i], 0.0) / mean, FARTHEST)
        for i in range(self.found):
            of_others += self.radius[self.nearest[i]] / self.found
        loops.densities(square, dots, n, own - mean * distance[0], WIDE / mean, &wide, &narrow)
        self.own_radius = log(mean * (distance[1] + EQUAL))
        self.raw[0] = WIDE * distance[0] - log(fmax(wide / n, LEAST_DENSITY))
        self.raw[1] = NARROW * WIDE * distance[0] - log(fmax(narrow / n, LEAST_DENSITY))
        self.raw[2] = self.own_radius - LOCALITY * of_others
        self.raw[3] = log(mean * (distance[2] + EQUAL))
        for i in range(SCALES):
            self.largest = fmax(
                self.largest,
                (<Window> self.windows[i]).level(self.raw[i]) * (self.residuals.trust if i == RESIDUAL else 1.0),
            )
        if self.window.n >= RANKED:
            self.level = fmin(self.window.level(self.largest), HIGHEST)
            if self.level > log(2.0):  # the bound if all samples are equal
                self.level = fmin(self.level, self.of_equal_ones())

    cdef double of_equal_ones(self) noexcept:
        """Return the upper bound on the level that equal samples among the latest ones imply."""
        cdef Py_ssize_t i, n = self.identities.n
        cdef int64_t equal = 0
        cdef uint64_t own = self.identity
        cdef const uint64_t *identities = <const uint64_t *> self.identities.records  # in any order
        for i in range(n):
            equal += identities[i] == own
        return log(2.0 * (n + 1.0) / (equal + 1.0)) if equal else HIGHEST

    def score(self, sample):
        """Return the share of recent samples that looked less anomalous; 0 until there are enough of them."""
        self.evaluate(sample)
        return 1.0 - exp(-self.level)

    def numbers(self, sample):
        """Return the measures of a sample, and the largest level among them."""
        cdef Py_ssize_t i
        self.evaluate(sample)
        return [self.raw[i] if self.points.n else 0.0 for i in range(SCALES)], self.largest

    def explained(self, sample):
        """Return feature -> mean squared difference to the nearest points, in squared standard deviations; sorted."""
        cdef Py_ssize_t i
        cdef Sample *x
        self.evaluate(sample)
        x = &self.samples[self.last]
        values = {<object> x.keys[i]: x.scaled[i] for i in range(x.size)}
        found = dict.fromkeys(values, 0.0)
        for i in range(self.found):
            point = self.points.point(self.nearest[i])
            for key in values.keys() | point.keys():
                found[key] = found.get(key, 0.0) + (values.get(key, 0.0) - point.get(key, 0.0)) ** 2 / self.found
        return dict(sorted(named(found).items(), key=lambda item: -item[1]))

    def remembered(self, Detector start):
        """Return the points that came after ``start`` as samples, the oldest first: each without a target, and with the
        number of samples that it stands for as its weight."""
        births = self.points.births
        weight = fmin(self.candidates, RESERVOIR_MEMORY) / max(1, self.points.n)
        later = [i for i in np.argsort(births).tolist() if births[i] >= start.points.born]
        return [(self.scaler.sample_of(self.points.point(i), self.scaler.seen), None, weight) for i in later]

    def anomalous_levels(self):
        """Return the highest of the latest levels: those of samples that have not become points, and their share."""
        share = fmin(fmax(1.0 - self.candidates / max(1, self.ranked), 0.0), 1.0)
        levels = np.sort(self.window.state())
        return levels[len(levels) - <Py_ssize_t> (share * len(levels)):], share

    def complete_levels(self, levels, double share):
        """Replace a ``share`` of the latest levels by quantiles of these, the levels of anomalies."""
        cdef Py_ssize_t n = self.window.n, more = <Py_ssize_t> (share * n) if len(levels) else 0
        own = self.window.state()
        if more:
            own[np.linspace(0, n - 1, more).astype(int)] = np.quantile(levels, (np.arange(more) + 0.5) / more)
        self.window.drop(n)
        self.window.restore(own)
        self.fresh = False

    def learn(self, sample, double w):
        """Learn one sample."""
        self.evaluate(sample)
        try:
            self.step(&self.samples[self.last], w)
        except BaseException:
            self.lock.fail()
            raise

    cdef int step(self, Sample *x, double w) except -1:
        """Decide what the sample updates, learn it, and forget unused features."""
        cdef bint calibrated = self.window.n >= CALIBRATED, alarm = calibrated and self.level > -log(1.0 - ALARM)
        cdef bint anomalous = self.level > -log(1.0 - ANOMALOUS), candidate, learns = True
        cdef double cost
        cdef Py_ssize_t victim = -1
        self.fresh = False
        if w > 0.0:
            self.crowd += (alarm - self.crowd) / CROWD
            self.tokens = fmin(TOKENS * fmax(0.25, <double> self.window.n / MAX_SCORES), self.tokens + RATE)
            if alarm and self.crowd <= 0.5:
                cost = 1.0 if self.distances.to_previous(x) < ALIKE * self.distances.mean_distance(METRIC) else UNLIKE
                learns = self.tokens >= cost
                self.tokens -= cost * learns
        # the first sample is its own mean: of sparse data it would be a point without features, close to all others
        candidate = w > 0.0 and self.scaler.seen > 0 and (self.crowd > 0.5 or not anomalous)
        if learns:
            if candidate:
                victim = self.victim(w)
            self.learn_sample(x, w > 0.0, candidate and victim < self.budget, victim)
            if candidate:
                self.residuals.learn(x)
                self.weight += bounded_weight(w, self.weight / fmax(self.candidates, 1.0))
                self.candidates += 1.0
            if self.scaler.seen >= self.next_update:
                self.next_update = following(self.scaler.seen, FIRST, GROWTH)
                self.settle_units(self.next_update - self.scaler.seen)
                self.finish_units()
        self.seen += 1
        return self.tidy() if learns else 0  # tidy would register the strings of a sample that is not learned

    cdef Py_ssize_t victim(self, double w) noexcept:
        """Return the point to replace by a sample, -1 if there is room, or ``budget`` if the sample is not added."""
        cdef double place
        if self.points.n < self.budget:
            return -1
        place = uniform(&self.random) * fmin(self.candidates + 1.0, RESERVOIR_MEMORY)
        place = place * (self.weight + w) / (self.candidates + 1.0) / w
        return <Py_ssize_t> place if place < self.budget else self.budget

    cdef int learn_sample(self, Sample *x, bint counts, bint joins, Py_ssize_t victim) except -1:
        """Rank a sample if it ``counts``; add it as a point if it ``joins``, after removing a victim."""
        cdef Py_ssize_t i
        self.observe(x, joins)
        if counts and self.points.n:
            for i in range(SCALES):
                (<Window> self.windows[i]).add(self.raw[i])
            self.window.add(self.largest)
            (<uint64_t *> self.identities.append())[0] = self.identity
            self.ranked += 1
            self.typical += (self.own_radius - self.typical) / fmin(self.ranked, RECENT)
            if self.window.n > levels_kept(self.ranked):
                self.window.drop(1)
        if joins:
            if victim >= 0:
                self.drop_point(victim)
            self.points.write(x, x.scaled, self.distances.own[METRIC])
            self.distances.point_added()
            self.radius[self.points.n - 1] = self.own_radius - self.typical
        return 0

    # What must hold, and what is saved --------------------------------------------------------------------------------

    def _check(self):
        """Check the invariants by brute force."""
        cdef Py_ssize_t i, n = self.points.n
        points = self.points.check()
        assert n <= self.budget
        squares = [sum([value * value for value in point.values()]) for point in points]
        assert_close([self.distances.square[METRIC][i] for i in range(n)], squares, rtol=1e-9, atol=1e-12)
        for window in (*self.windows, self.window):
            window._check()
        assert {window.n for window in self.windows[:EXTREME]} == {min(self.ranked, MAX_NUMBERS)}
        assert (<Window> self.windows[EXTREME]).n <= min(self.ranked, MAX_NUMBERS)  # fewer after a file of 0.5.0
        assert self.window.n <= levels_kept(self.ranked)
        assert 0.0 <= self.tokens <= TOKENS and 0.0 <= self.crowd <= 1.0
        assert n <= self.candidates <= self.seen
        ScaledPoints._check(self)

    def state(self):
        """Return the state by name, for ``restore``."""
        return ScaledPoints.state(self) | {
            "scales": [window.state() for window in self.windows],
            "scores": self.window.state(),
            "identities": self.identities.latest(np.dtype(np.int64)),
            "random": self.random >> 32, "more_random": self.random & 0xffffffff,
        }

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number."""
        high, low = (checked_whole(state, name, 0, 2**32 - 1) for name in ("random", "more_random"))
        identities = checked_array(state, "identities", np.int64)
        scales, scores = state["scales"], state["scores"]
        if type(scales) is not list or len(scales) != SCALES:
            raise ValueError("the latest numbers do not match")
        ScaledPoints.restore(self, state)
        if self.points.n > self.budget:
            raise ValueError(f"{self.points.n} points, of which there are at most {self.budget}")
        if identities.size != min(self.ranked, MAX_SCORES):
            raise ValueError(f"{identities.size} samples remembered after {self.ranked}")
        for window, numbers in zip((*self.windows, self.window), (*scales, scores)):
            window.restore(numbers)
        for identity in identities.tolist():
            (<int64_t *> self.identities.append())[0] = identity
        self.random = high << 32 | low
        self.fresh = False


cdef Py_ssize_t levels_kept(int64_t ranked) noexcept:
    """Return how many of the largest levels to store; levels computed from few values are dropped first."""
    return min(ranked, max(CALIBRATED, ranked - MAX_NUMBERS), MAX_SCORES)


cdef uint64_t identity_of(const Sample *x) noexcept nogil:
    """Return a hash of the non-zero features, in any order; never 0, which stands for an unknown sample."""
    cdef Py_ssize_t i
    cdef uint64_t bits, total = 1
    for i in range(x.size):
        if x.numbers[i] != 0.0:
            memcpy(&bits, &x.numbers[i], 8)
            total += scrambled(bits ^ scrambled(<uint64_t> (x.places[i] + 2)))
    return total or 1


cdef double largest_of(const Sample *x) noexcept nogil:
    """Return the largest value of a feature, in standard deviations, from USUAL on."""
    cdef Py_ssize_t i
    cdef double largest = USUAL
    for i in range(x.size):
        largest = fmax(largest, fabs(x.unclipped[i]))
    return fmin(largest, FARTHEST)


cdef double uniform(uint64_t *state) noexcept nogil:
    """Return the next random number in [0, 1)."""
    return <double> (next_random(state) >> 11) * 1.1102230246251565e-16  # 2^-53
