"""For time series: the last target, and regression trees on the difference to it.

If consecutive targets are similar, the last one is a good prediction, and the change often depends on axis-aligned
boxes of the features.  Trees learn y - l, where l is the last target learned before the prediction, and predict l plus
the expected difference.  Differences are clipped by their own running statistics, so that an outlier, which causes two
large differences, does not split a leaf.
"""

from libc.math cimport fmax, fmin

import numpy as np

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.running cimport clipped, running_from, running_state, scale_by, update
from river_okl._core.store.sample cimport Sample

from river_okl._core.states import checked_float

cdef double LARGEST = 1e9       # of a target in units of the mixture


cdef class Difference(TargetForest):
    """Two predictions: the last target, and that of the trees; parameters are those of ``Trees``."""

    def __init__(self, int n_trees, **options):
        TargetForest.__init__(self, n_trees, **options)
        self.name, self.rows = "difference", 2

    cdef int ask(self, const Sample *x, double *p) except -1:
        p[0] = self.last
        self.vote(x.places, x.scaled, x.size, p + 1)
        p[1] += self.last
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef double difference = y.exact - y.as_asked[self.first]
        update(&self.change, difference)
        self.take_sample(x.places, x.scaled, x.size, clipped(&self.change, difference), y.counts)
        self.last = y.exact
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        TargetForest.rescale(self, ratio, 0.0)
        self.last = fmin(fmax(ratio * self.last + shift, -LARGEST), LARGEST)
        scale_by(&self.change, ratio)

    def names(self):
        return ["last target", f"difference({self.n_trees} trees)"]

    def state(self):
        return TargetForest.state(self) | {"last": self.last, "change": running_state(&self.change)}

    def restore(self, dict state):
        last = checked_float(state, "last", -LARGEST, LARGEST)
        change = running_from(state["change"], "the statistics of the differences between targets are")
        TargetForest.restore(self, state)
        self.last, self.change = last, change

    def units_of(self, merging, each):
        ratio, (scale, offset) = merging.units(each)[0], each.state[self.name]["units"].tolist()
        return np.array([ratio * scale, ratio * offset])  # a shift of the targets cancels in their differences

    def merged(self, merging):
        """Merge the trees; the last target is that of the shard with the most samples, of equals the larger one."""
        def last(each):
            ratio, shift = merging.units(each)
            return min(max(ratio * float(each.state[self.name]["last"]) + shift, -LARGEST), LARGEST)

        def change(each):
            ratio, (count, mean, variance, *_) = merging.units(each)[0], each.state[self.name]["change"]
            return count, ratio * mean, ratio**2 * variance

        _, latest = max([(each.seen, last(each)) for _, each in merging.active])
        return TargetForest.merged(self, merging) | {"last": latest, "change": merging.running(change)}
