"""Distances from a dict of features: the code that ``Mixture`` and ``Detector`` share.

A sample is encoded and scaled, the centred features that it lacks are added, and its distances to the points
are measured.  ``answer`` of a subclass computes the rest.  The last sample is stored, so that learning it
right after a prediction computes nothing twice.

A step is one call of the core.  It runs no Python code except that of feature names, so signals cannot interrupt it.
If it raises nevertheless (for lack of memory, or in a name's __hash__), the model is incomplete: see lock.pyx.
"""

from libc.math cimport fmax, fmin
from libc.stdint cimport int32_t

import numpy as np

from river_okl._core.store.encoder cimport encode
from river_okl._core.store.sample cimport (
    Given, free_sample, given_of, reserve_sample, same_items, set_key, size_of_sample,
)
from river_okl._core.store.table cimport Conversion
from river_okl._core.store.words cimport Words

from river_okl._core.states import checked_array

FARTHEST_SINGLE = 1e6           # standard deviations; squares fit in single precision
cdef double farthest = FARTHEST_SINGLE
cdef int64_t LONGEST = 2000

EARLY = (2, 3, 5, 8, 12, 20, 35, 60, 100, 150)  # samples after which units and bandwidths are updated


cdef int64_t following(int64_t seen, int64_t early, int64_t growth) noexcept:
    """Return the number of samples at which the next update is due, after ``seen`` of them.

    From ``early`` samples on they are due whenever the stream has grown by one part in ``growth``, but at least every
    ``LONGEST`` samples.
    """
    cdef int64_t n
    if seen >= early:
        return seen + min(LONGEST, seen // growth)
    for n in EARLY:
        if n > seen:
            return min(n, early)
    return early


cdef class ScaledPoints(Table):
    """Points, scaler and distances, and the last sample.

    Parameters
    ----------
    max_points
        Maximum number of points at any moment of a step.
    first_metric
        For metrics below this one, distances are computed only to the points of the dictionary.
    scale
        Whether features are scaled first.
    single
        Whether scaled features are in single precision, which halves the points' memory and the time to scan them.
    """

    def __init__(self, Py_ssize_t max_points, *, int first_metric, bint scale=True, bint single=False):
        self.lock = Lock()
        self.scaler = Scaler(scale)
        self.scaler.words = Words()
        self.points = Points(self.scaler, max_points, single=single)
        self.axes = self.points, self.scaler
        self.distances = self.contain("distances", Distances(self.points, self.scaler, first=first_metric))

    def __dealloc__(self):
        free_sample(&self.samples[0])
        free_sample(&self.samples[1])

    def __sizeof__(self):
        # River's memory meter adds the sizes of the parts itself
        return Table.__sizeof__(self) + size_of_sample(&self.samples[0]) + size_of_sample(&self.samples[1])

    def __setstate__(self, state):
        self.restore(state)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int evaluate(self, object sample) except -1:
        """Encode a sample and compute its answer, unless it is the last one and the model has not changed."""
        cdef Sample *x = &self.samples[1 - self.last]
        cdef Sample *before = &self.samples[self.last]
        cdef Py_ssize_t size
        if isinstance(sample, Given):  # the last sample, already encoded
            return 0 if self.fresh else self.evaluate_encoded(before)
        encode(self.scaler, sample, x)
        size = x.size
        if (
            self.fresh
            and size == self.encoded
            and self.scaler.words.rest == self.rest
            and same_items(x, before, size)
        ):
            return 0
        self.leave()
        self.fresh = False
        self.last = 1 - self.last
        self.encoded, self.rest = size, self.scaler.words.rest
        return self.evaluate_encoded(x)

    cdef int evaluate_encoded(self, Sample *x) except -1:
        """Scale the last sample and compute its answer."""
        self.fresh = False
        self.scale(x, self.encoded)
        self.answer(x)
        self.fresh = True
        return 0

    cdef int scale(self, Sample *x, Py_ssize_t size) except -1:
        """Scale the items of a sample, ``size`` given ones, and add the centred features that it lacks."""
        cdef Py_ssize_t i, lacking, allocated
        cdef double *unclipped
        x.size = size
        self.scaler.find(x)
        lacking = self.scaler.absent(x)
        self.lacking = lacking > 0
        reserve_sample(x, size + lacking)
        reserve_sample(&self.samples[1 - self.last], size + lacking)
        if size + lacking > self.values_allocated:
            allocated = max(8, size + lacking, 2 * self.values_allocated)
            self.values = self.doubles(self.values, 0, 2 * allocated)
            self.values_allocated = allocated
        unclipped = self.values + self.values_allocated
        for i in range(size):
            unclipped[i] = self.scaler.unclipped(x.places[i], x.numbers[i])
            self.values[i] = self.scaler.clipped(unclipped[i])
        if lacking:
            self.complete(x)
        if self.points.single:
            for i in range(x.size):
                self.values[i] = <float> fmin(fmax(self.values[i], -farthest), farthest)
        for i in range(size, x.size):  # absent ones
            unclipped[i] = self.values[i]
        x.scaled, x.unclipped = self.values, unclipped
        return 0

    @property
    def given(self):
        """The last sample, as an argument for other readers in the same step."""
        return given_of(self, &self.samples[self.last])

    cdef int complete(self, Sample *x) except -1:
        """Append the centred features that a sample lacks to its items."""
        cdef Py_ssize_t place
        for place in range(self.scaler.n):
            if self.scaler.lacks(place):
                set_key(&x.keys[x.size], self.scaler.names[place])
                x.places[x.size] = <int32_t> place
                x.numbers[x.size] = 0.0
                self.values[x.size] = self.scaler.scaled_absence(place)
                x.size += 1
        return 0

    cdef int leave(self) except -1:
        """Prepare for another sample in place of the last one."""
        return 0

    cdef int answer(self, const Sample *x) except -1:
        """Measure the distances of a scaled sample, and compute what depends on them."""
        return 0

    # A step -----------------------------------------------------------------------------------------------------------

    cdef int observe(self, Sample *x, bint joins) except -1:
        """Begin a step: update scales, strings and mean distances with the sample, which may become a point
        if it ``joins``."""
        self.scaler.words.learn()
        self.scaler.learn(x, self.encoded, self.lacking)
        self.points.reserve_columns()
        if joins:
            self.points.reserve()
        self.reserve()
        return self.distances.observe(x)

    cdef int drop_point(self, Py_ssize_t i) except -1:
        """Remove point i; the last takes its position."""
        self.points.drop(i)
        self.swap_remove(self.points, i)
        return 0

    cdef int tidy(self) except -1:
        """End a step: drop features that are no longer needed."""
        self.points.tidy()
        gone = self.scaler.forget_unseen(self.points)
        if gone is None:
            return self.scaler.words.register(self.scaler.words.fresh)
        self.forget(self.scaler, gone)
        return self.scaler.words.register_all(self.scaler.index)

    # Units ------------------------------------------------------------------------------------------------------------

    cdef int settle_units(self, int64_t until) except -1:
        """Put the current units of the features into force for ``until`` samples, and convert what was
        learned in the old ones; call ``finish_units`` afterwards."""
        cdef Conversion to
        if self.scaler.settle(until, &to):
            self.change_units(self.scaler, &to)
        self.scaler.release(to.ratio)
        return 0

    cdef int finish_units(self) except -1:
        """Adapt to changed units."""
        self.distances.square_points()
        return 0

    # What must hold, and what is saved --------------------------------------------------------------------------------

    def _check(self):
        """Check the invariants by brute force."""
        Table._check(self)
        assert self.scaler.n_centred == sum([centred for *_, centred in self.scaler.statistics().values()])

    def state(self):
        """Return the state by name, for ``restore``."""
        return {
            "points": self.points.state(),
            "scaler": self.scaler.state(),
            "words": self.scaler.words.state(),
        } | Table.state(self)

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number."""
        if self.points.single:
            checked_array(state["points"], "amounts", np.float64, None, -FARTHEST_SINGLE, FARTHEST_SINGLE)
        self.scaler.restore(state["scaler"])
        self.scaler.words.restore(state["words"])
        self.scaler.words.register_all(self.scaler.index)
        self.points.restore(state["points"])
        Table.restore(self, state)
        self.fresh = False
