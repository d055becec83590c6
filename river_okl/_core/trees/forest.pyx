"""A small forest of Hoeffding trees, for axis-aligned concepts on long streams.

Hoeffding trees (Domingos and Hulten 2000) are trained on the scaled features.  Each tree learns a sample with
its own weight, drawn from Poisson(6) (adaptive random forests, Gomes et al. 2017).  The prediction is the
mean over the trees.

A leaf splits at an edge between two bins if the gain of the best feature is clearly larger than that of the second.
The bound on the error of a gain after a weight of n is ε = √(ln(1/δ) / 2n).  The leaves of a split start from the
predictions of their parent's statistics.  target_leaf.pyx has the gain and further
conditions for a split.  Nodes, leaves and statistics are stored in tree.pyx.

A tree restarts if its error rises (an average over 100 samples against one over 1,000).
"""

from libc.math cimport fmax, sqrt
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

import math

import numpy as np

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.splitmix cimport next_random
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Conversion
from river_okl._core.trees.tree cimport TEST_EVERY

from river_okl._core.states import checked_whole

cdef extern from "forest.h":
    enum: LANES
    enum: BINS
    int bin_of "okl_bin_of"(float x, float low, float step) noexcept nogil
    Py_ssize_t find_bins "okl_find_bins"(
        const float *x, const float *low, const float *step, Py_ssize_t m, int32_t *found
    ) noexcept nogil

cdef enum:
    POISSON = 24                # maximum weight of a sample


cdef double RATE = 6.0                  # of the Poisson distribution
cdef double DELTA_LOG = math.log(1.0 / 0.01)
cdef float LEAST_BRANCH = 0.01          # of the weight
cdef double FAST = 0.01, SLOW = 0.001
cdef double RISE = 4.5                  # standard deviations
cdef int64_t SWEEP = 1000               # half-life of a leaf's errors, in samples
cdef int64_t SETTLED = 50               # samples after which the ranges of features are known

cdef uint32_t[POISSON] thresholds
cdef int _k
for _k in range(POISSON):
    thresholds[_k] = <uint32_t> min(
        2**32 - 1, round(2**32 * sum(math.exp(-RATE) * RATE**i / math.factorial(i) for i in range(_k + 1)))
    )


cdef class Forest(Trees):
    """An expert of trees, whose leaves a subclass defines; parameters are those of ``Trees``."""

    def __init__(self, Axis features, int n_trees, Py_ssize_t n_classes, **options):
        Trees.__init__(self, features, n_trees, n_classes, **options)
        self.name, self.rows = "forest" if self.one_in == 1 else "random_forest", 1

    # What the kind of leaf defines ------------------------------------------------------------------------------------

    cdef void answer(self, int t, double *p) noexcept nogil:
        """Write the prediction of a tree's leaf: the probabilities of every class, or the mean of a target."""

    cdef void average(self, double *out) noexcept nogil:
        """Write the prediction of the forest from the votes of all trees."""

    cdef double error_of(self, int t, double target) noexcept nogil:
        """Return the error of a tree's vote."""
        return 0.0

    cdef double learn_leaf(self, Tree *tree, float *counts, double error, double target, float w) noexcept nogil:
        """Update the numbers of a leaf with a sample; return the increase of the leaf's errors."""
        return error

    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil:
        """Update the statistics of a leaf, except the weight, with a sample of these bins."""

    cdef bint find_split(self, const Block *block, Best *best) noexcept nogil:
        """Find the best candidate; return whether the leaf splits."""
        return False

    cdef bint may_restart(self, int t) noexcept nogil:
        """Whether a tree may restart if its error has risen."""
        return True

    # Room -------------------------------------------------------------------------------------------------------------

    cdef int lay_out(self, Py_ssize_t places, Py_ssize_t n_classes) except -1:
        Trees.lay_out(self, places, n_classes)
        self.x = <float *> self.resize(self.x, 0, 3 * self.m, 4)
        self.chosen, self.bins = <int32_t *> (self.x + self.m), <int32_t *> (self.x + 2 * self.m)
        self.votes = self.doubles(self.votes, 0, self.n_trees * n_classes)
        self.fresh = False
        return 0

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        Trees.change_units(self, axis, to)
        self.fresh = False

    cpdef void forget(self, Axis axis, list items) noexcept:
        Trees.forget(self, axis, items)
        self.fresh = False

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        self.vote(x.places, x.scaled, x.size, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        self.take_sample(x.places, x.scaled, x.size, y.target, y.counts)
        return False

    cdef void gather(self, const Block *block) noexcept nogil:
        """Gather the values of all candidates, or only of the present ones if few features are present."""
        cdef const int32_t *feature = <const int32_t *> self.body(block)
        cdef Py_ssize_t i, k
        if 4 * self.n_present >= self.m:
            self.n_chosen = -1
            if self.group == 1:
                memcpy(self.x, self.dense, self.places * 4)  # the padding stays 0
                return
            for k in range(self.m):
                self.x[k] = self.dense[feature[k]] if feature[k] >= 0 else 0.0
            return
        self.n_chosen = 0
        for i in range(self.n_present):
            k = self.present[i] // self.group
            if feature[k] == self.present[i]:
                self.chosen[self.n_chosen] = <int32_t> k
                self.x[self.n_chosen] = self.dense[self.present[i]]
                self.n_chosen += 1
        for i in range(self.n_chosen, (self.n_chosen + LANES - 1) // LANES * LANES):
            self.x[i] = 0.0  # m is a multiple of LANES, too

    cdef void find_bins(self, const Block *block) noexcept nogil:
        """Find the bins of present candidates, as positions in the histograms of a class."""
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef Py_ssize_t i, k
        self.gather(block)
        if self.n_chosen < 0:
            self.n_bins = find_bins(self.x, low, step, self.m, self.bins)
            return
        self.n_bins = self.n_chosen
        for i in range(self.n_chosen):
            k = self.chosen[i]
            self.bins[i] = BINS * <int32_t> k + bin_of(self.x[i], low[k], step[k])

    cdef void answer_all(self) noexcept nogil:
        """Find the leaf of the sample in every tree, and the leaf's prediction."""
        cdef int t
        for t in range(self.n_trees):
            self.at[t] = self.route(&self.trees[t])
            self.answer(t, self.votes + t * self.n_classes)

    cdef void vote(self, const int32_t *places, const double *values, Py_ssize_t size, double *out) noexcept nogil:
        """Predict a sample whose features have these places (-1: unknown): a probability for every class, or a mean."""
        self.place_values(places, values, size)
        self.answer_all()
        self.average(out)
        self.fresh = True

    cdef void take_sample(
        self, const int32_t *places, const double *values, Py_ssize_t size, double target, double w
    ) noexcept nogil:
        """Learn the last sample of ``vote``, with its class or target and its weight.

        Requires a place for every feature, and a call of ``reserve`` since the last sample was learned.
        """
        cdef int t, k
        cdef uint32_t u
        cdef Py_ssize_t i
        cdef float value
        if not (self.fresh and self.complete):
            self.place_values(places, values, size)
        if not self.fresh:
            self.answer_all()
        self.fresh = False
        self.seen += 1
        for i in range(self.n_present):
            value = self.dense[self.present[i]]
            self.low[self.present[i]] = min(self.low[self.present[i]], value)
            self.high[self.present[i]] = max(self.high[self.present[i]], value)
        for t in range(self.n_trees):
            u = <uint32_t> (next_random(&self.random) >> 32)
            k = 0
            while k < POISSON and u >= thresholds[k]:
                k += 1
            self.learn_tree(t, target, <float> (k * w))
        if self.seen % SWEEP == 0:
            self.sweep()

    cdef void learn_tree(self, int t, double target, float w) noexcept nogil:
        """Learn a sample of weight w in tree t, which may split a leaf or restart."""
        cdef Tree *tree = &self.trees[t]
        cdef double error = self.error_of(t, target)
        cdef int32_t leaf
        cdef Block *block
        cdef Best best
        if self.detects_change(t, error):
            self.restart(t)
        if w <= 0.0:
            return
        leaf = tree.nodes[self.at[t]].child
        error = self.learn_leaf(tree, tree.counts + leaf * self.width, error, target, w)
        tree.leaves[leaf].errors += <float> error
        if tree.leaves[leaf].block < 0:
            if error > 0.0 or tree.n_leaves == 1:
                self.challenge(t, leaf)
            return
        block = self.block_at(tree.leaves[leaf].block)
        if self.seen == SETTLED and tree.n_leaves == 1:
            self.close_block(tree.leaves[leaf].block)
            self.take_block(t, leaf)
        block.weight += w
        self.find_bins(block)
        self.learn_block(block, target, w)
        if block.weight >= block.next_test:
            block.next_test = block.weight + TEST_EVERY
            best = Best(-1, 0.0, 0.0, 0.0)
            if tree.n_leaves < min(tree.room, self.max_leaves) and self.find_split(block, &best):
                self.split(t, best.candidate, best.cut)

    # Splits and restarts ----------------------------------------------------------------------------------------------

    cdef double epsilon(self, const Block *block) noexcept nogil:
        return sqrt(DELTA_LOG / (2.0 * block.weight))

    cdef bint detects_change(self, int t, double error) noexcept nogil:
        """Update a tree's running errors; return whether they have risen enough for a restart."""
        cdef Tree *tree = &self.trees[t]
        cdef double variance
        tree.age += 1
        tree.fast += (error - tree.fast) * fmax(FAST, 1.0 / tree.age)
        tree.slow += (error - tree.slow) * fmax(SLOW, 1.0 / tree.age)
        tree.square += (error * error - tree.square) * fmax(SLOW, 1.0 / tree.age)
        if tree.age < GROWN or tree.n_leaves == 1 or not self.may_restart(t):
            return False
        variance = fmax(tree.square - tree.slow * tree.slow, 0.0)
        return tree.fast - tree.slow > RISE * sqrt(variance * FAST / (2.0 - FAST)) + 1e-9

    cdef void restart(self, int t) noexcept nogil:
        """Restart a tree, whose only leaf is then the leaf of the last sample."""
        self.begin(t)
        self.at[t] = 0

    # State ------------------------------------------------------------------------------------------------------------

    def names(self):
        return [f"forest({self.n_trees} trees, {'all' if self.one_in == 1 else 'half of the'} features)"]

    def state(self):
        return Trees.state(self) | {"seen": self.seen, "random": int(self.random)}

    def restore(self, dict state):
        """Resume from a state of as many classes as there are."""
        seen, random = checked_whole(state, "seen", 0, 2**62), checked_whole(state, "random", 0, 2**64 - 1)
        Trees.restore(self, state)
        self.seen, self.random = seen, random

    # For tests and measurements ---------------------------------------------------------------------------------------

    def predict(self, const int32_t[::1] places, const double[::1] values):
        """Return the probabilities of every class, or the mean of the target."""
        out = np.zeros(self.n_classes)
        cdef double[::1] view = out
        if places.shape[0] != values.shape[0]:
            raise ValueError("places and values do not match")
        self.vote(
            &places[0] if places.shape[0] else NULL, &values[0] if places.shape[0] else NULL, places.shape[0], &view[0]
        )
        return out

    def train(self, const int32_t[::1] places, const double[::1] values, double target, double w=1.0):
        """Learn a sample with its class or target, and its weight."""
        cdef Py_ssize_t i, size = 0
        if places.shape[0] != values.shape[0]:
            raise ValueError("places and values do not match")
        for i in range(places.shape[0]):
            size = max(size, places[i] + 1)
        while self.n_classes > 1 and target >= self.n_classes:
            self.add_class()
        self.features.n = max(self.features.n, size)
        self.reserve()
        self.take_sample(
            &places[0] if places.shape[0] else NULL, &values[0] if places.shape[0] else NULL, places.shape[0], target, w
        )

    def act(self, action, one=None, other=None):
        """Call ``add_class``, ``change_units`` or ``rescale``, which Python cannot call."""
        cdef double[::1] ratio, shift
        cdef Conversion to
        if action == "add_class":
            self.add_class()
        elif action == "convert":
            ratio, shift = one, other
            to = Conversion(ratio.shape[0], &ratio[0], &shift[0])
            self.change_units(self.features, &to)
        else:
            self.rescale(one, other)
