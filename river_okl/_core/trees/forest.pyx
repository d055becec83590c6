"""A small forest of Hoeffding trees, for axis-aligned concepts on long streams.

Hoeffding trees (Domingos and Hulten 2000) over the scaled features; each learns a sample with a weight of its own,
drawn from Poisson(6) (adaptive random forests, Gomes et al. 2017).  The prediction is the mean of the trees'.

* A leaf of a classifier has a weight for each class.  A block of statistics adds, for each candidate feature, a
  histogram of each class: 16 bins over the values seen in the leaf.  It splits at an edge between two bins if the best
  feature's information gain exceeds the second's by ε = √(ln(1/δ) / 2n); or if ε < τ and the gain is larger than
  expected by chance; or if ε < τ / 2.  It predicts by naive Bayes if that was right more often there than its counts.
* A leaf of a regressor has a mean, and its block the same bins of (weight, sum of targets).  It splits at the
  largest reduction of the squared error, if the second best feature's is less than 1 - ε of it (FIMT-DD, Ikonomovska
  et al. 2011) or ε is less than a τ of its own.
* The leaves of a split start from what their parent's statistics predict.

Memory is bounded.  Blocks take at most ``bytes`` for all trees together, whatever the number of features, and more in
proportion if there are more than two classes, up to ``MOST_CLASSES``: a leaf without one waits, and takes over the
block of a leaf that has had fewer errors lately.  If more features come than fit, a block's candidates are one of every
3, 4, ... adjacent features, drawn for each block.

A tree of a classifier restarts if its error rises (an average over 100 samples against one over 1,000).  In a
regression errors also rise where targets grow, and then a new tree is no better.  So one tree restarts, and another one
only after it has turned out to be better.  Meanwhile the mean is weighted by the running errors L_t:

    w_t ∝ exp(-SHARPNESS (L_t / min L - 1))

A feature that a sample lacks is 0, and 0 is a feature that it lacks: statistics are of other values, and the weight of
the samples without them is the block's less theirs.  A dropped feature counts as one that was always absent.
"""

from libc.math cimport exp, fabs, fmax, fmin, isfinite, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import math

import numpy as np

from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.splitmix cimport next_random, scrambled
from river_okl._core.store.sample cimport Sample

cdef extern from "forest.h":
    enum: LANES
    enum: BINS
    int bin_of "okl_bin_of"(float x, float low, float step) noexcept nogil
    Py_ssize_t find_bins "okl_find_bins"(
        const float *x, const float *low, const float *step, Py_ssize_t m, int32_t *found
    ) noexcept nogil
    double log_counts "okl_log_counts"(
        const float *counts, const int32_t *bins, Py_ssize_t n, float smoothing
    ) noexcept nogil
    float best_cut "okl_best_cut"(
        const float *counts, Py_ssize_t stride, const float *totals, Py_ssize_t n_classes, float low, float step,
        float weight, float least_branch, float *cut
    ) noexcept nogil
    float below "okl_below"(const float *counts, float total, float low, float step, float cut) noexcept nogil
    float best_edge "okl_best_edge"(
        const float *bins, float low, float step, float weight, float total, float least_branch, float *cut,
        float *left_weight, float *left_sum
    ) noexcept nogil

cdef enum:
    LEAF = -1
    GONE = -2
    POISSON = 24                # weights of a sample are less


cdef double RATE = 6.0                  # of the Poisson distribution
cdef int32_t MOST_LEAVES = 1000         # of a tree of classes: fewer than 2,000 nodes; RandomTree has 400 in the end
cdef int32_t MOST_TARGET_LEAVES = 500
cdef Py_ssize_t COUNT_BYTES = 1 << 17   # of the counts of all leaves of a tree
cdef Py_ssize_t LEARNING = 100          # leaves of a tree that have a block, at most
# More classes than these add no memory.  RandomTree, 7 classes, 40,000 samples, 35 and 20 features: 65.5 and 81.4 %;
# with the memory for two classes 59.5 and 77.9.
cdef Py_ssize_t MOST_CLASSES = 10
cdef Py_ssize_t ROOM = 4                # blocks of a tree that always fit: otherwise leaves have fewer candidates
cdef float TEST_EVERY = 200.0           # of weight
cdef double DELTA_LOG = math.log(1.0 / 0.01)
cdef double TAU = 0.05
cdef double TARGET_TAU = 0.2             # Mv (seeds 42, 7), MAE: .05 1.29, 1.45; .1 1.20, 1.38; .2 1.10, 1.17
# Information gain times weight of a feature that says nothing: χ² / (2 ln 2) times E w² / E w = 7 of Poisson(6), as
# repeated samples are no further evidence.  60 is χ² = 12 of two classes.
cdef double CHANCE = 60.0
cdef float LEAST_BRANCH = 0.01          # of the weight
cdef float SMOOTHING_BINS = 1.5         # weight of each bin of a class, before naive Bayes takes it as a probability
cdef double SMOOTHING = 1.0             # weight of each class, before a leaf's counts are probabilities
cdef float SHRINKING = 2.0              # weight of the parent's prediction in a leaf's mean
cdef double FAST = 0.01, SLOW = 0.001
cdef int64_t GROWN = 300                # samples after which a tree may restart
cdef double SHARPNESS = 8.0             # of the weights of a regression's trees, as of a vote
cdef int64_t INHERITED = 20             # samples for which the error counts that a tree of a regression takes over
cdef double BETTER = 0.95               # ratio of errors that shows that a regression's tree is better than one
cdef double RISE = 4.5                  # standard deviations
cdef int CHALLENGED = 8               # leaves that one that waits looks at
cdef int64_t SWEEP = 1000               # samples in which a leaf's errors count half as much
cdef int64_t SETTLED = 50               # samples from which on the ranges of features are known
cdef float FARTHEST_BIN = 2.5           # before the range of a feature is known
cdef double LARGEST = 1e6               # of a value: where features are not scaled, its square must fit
cdef double LARGEST_TARGET = 1e9
cdef double MOST_WEIGHT = 1e10          # that weights in single precision reach
cdef double MOST_SUM = 1e30

cdef uint32_t[POISSON] thresholds
cdef int _k
for _k in range(POISSON):
    thresholds[_k] = <uint32_t> min(
        2**32 - 1, round(2**32 * sum(math.exp(-RATE) * RATE**i / math.factorial(i) for i in range(_k + 1)))
    )


def _array(dict state, name, dtype, shape, low, high):
    """An array of a state: its type, its shape, and every number within bounds."""
    found = state[name]
    if type(found) is not np.ndarray or found.dtype != dtype or found.shape != shape:
        raise ValueError(f"{name} of a forest: an array of {dtype.__name__} with the shape {shape} was expected")
    if found.size and not (np.isfinite(found).all() and low <= found.min() and found.max() <= high):
        raise ValueError(f"{name} of a forest: numbers are out of range")
    return found


cdef class Forest(Expert):
    """Trees of one kind.

    Parameters
    ----------
    n_trees
        How many.
    one_in
        1: every feature is a candidate in every leaf; 2: one of every two adjacent features, drawn for each leaf.
    bytes
        Bound of the blocks of statistics of all trees, for two classes or a target.
    regression
        Whether targets are numbers; otherwise they are the numbers of classes, of which there are two at first.
    seed
        Of the weights and candidates that are drawn.
    """

    def __cinit__(
        self, int n_trees, *, Py_ssize_t one_in=1, Py_ssize_t bytes=15 << 14, bint regression=False, uint64_t seed=1
    ):
        if not (0 < n_trees <= 1000 and 0 < one_in <= 1000 and 0 < bytes <= 1 << 40):
            raise ValueError(f"a forest of {n_trees} trees with one in {one_in} features and {bytes} bytes")
        self.n_trees, self.one_in, self.bytes, self.regression, self.random = n_trees, one_in, bytes, regression, seed
        self.name, self.rows = "forest" if one_in == 1 else "random_forest", 1
        self.trees = <Tree *> self.resize(NULL, 0, n_trees, sizeof(Tree))
        self.at = <int32_t *> self.resize(NULL, 0, 4 * n_trees, 4)
        self.by_counts, self.by_bayes, self.voted = self.at + n_trees, self.at + 2 * n_trees, self.at + 3 * n_trees
        self.scale = 1.0
        self.lay_out(0, 1 if regression else 2)
        for t in range(n_trees):
            self.reserve_leaves(&self.trees[t])
            self.begin(t)
            self.trees[t].weight = 1.0 / n_trees

    # Room -------------------------------------------------------------------------------------------------------------

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        cdef int t
        for t in range(self.n_trees):
            if self.trees[t].n_leaves == self.trees[t].room:
                self.reserve_leaves(&self.trees[t])
        if places > self.places:
            self.lay_out(max(places, self.places + self.places // 4), self.n_classes)
        elif self.n_unowned < self.n_trees and self.n_blocks < self.most_blocks:
            self.reserve_blocks()
        return 0

    cdef int add_class(self) except -1:
        return self.lay_out(self.places, self.n_classes + 1)

    cdef int reserve_leaves(self, Tree *tree) except -1:
        """Room for half as many leaves more, within the bound."""
        cdef int32_t room = min(max(4, tree.room + tree.room // 2), self.most_leaves)
        if room <= tree.room:
            return 0
        tree.nodes = <Node *> self.resize(tree.nodes, max(0, 2 * tree.n_leaves - 1), 2 * room - 1, sizeof(Node))
        tree.leaves = <Leaf *> self.resize(tree.leaves, tree.n_leaves, room, sizeof(Leaf))
        tree.counts = <float *> self.resize(tree.counts, tree.n_leaves * self.width, room * self.width, 4)
        tree.room = room
        return 0

    cdef int reserve_blocks(self) except -1:
        """Room for twice as many blocks, within the bound."""
        cdef Py_ssize_t b, n = min(max(self.n_trees, 2 * self.n_blocks), self.most_blocks)
        self.unowned = <int32_t *> self.resize(self.unowned, self.n_unowned, n, 4)
        self.blocks = <float *> self.resize(self.blocks, self.n_blocks * self.block_floats, n * self.block_floats, 4)
        for b in range(n - 1, self.n_blocks - 1, -1):
            self.block_at(b).tree = -1
            self.unowned[self.n_unowned] = <int32_t> b
            self.n_unowned += 1
        self.n_blocks = n
        return 0

    cdef int32_t leaves_that_fit(self, Py_ssize_t width) noexcept:
        """How many leaves a tree may have, each with so many numbers."""
        return <int32_t> min(MOST_TARGET_LEAVES if self.regression else MOST_LEAVES, max(4, COUNT_BYTES // (4 * width)))

    cdef tuple layout(self, Py_ssize_t places, Py_ssize_t n_classes):
        """Features of which one is a candidate, candidates, numbers of a block, and how many blocks there may be."""
        cdef Py_ssize_t head = sizeof(Block) // 4 + (0 if self.regression else (n_classes + LANES - 1) // LANES * LANES)
        cdef Py_ssize_t each = 3 + BINS * (2 if self.regression else n_classes)
        cdef Py_ssize_t bytes = self.bytes * min(MOST_CLASSES, max(2, n_classes)) // 2
        cdef Py_ssize_t fit = max(0, bytes // (4 * ROOM * self.n_trees) - head) // each // LANES * LANES
        if fit == 0:
            return places + 1, 0, 0, 0
        group = max(self.one_in, (places + fit - 1) // fit)
        m = ((places + group - 1) // group + LANES - 1) // LANES * LANES
        if m == 0:
            return group, 0, 0, 0
        size = (head + each * m + 15) // 16 * 16
        return group, m, size, (min(LEARNING, bytes // (4 * size * self.n_trees)) * self.n_trees)

    cdef int lay_out(self, Py_ssize_t places, Py_ssize_t n_classes) except -1:
        """Memory for this many features and classes; blocks keep what they have, unless fewer features of all are
        candidates now."""
        cdef Py_ssize_t group, m, size, most, n, owned, before = self.m, b, c, t, leaf, k
        cdef Py_ssize_t width = 2 if self.regression else n_classes
        cdef Py_ssize_t head = sizeof(Block) // 4 + (0 if self.regression else (n_classes + LANES - 1) // LANES * LANES)
        cdef int32_t next_block = 0
        cdef float *blocks
        cdef float *block
        cdef float *dense
        cdef float *counts
        cdef Block *old
        cdef bint kept
        group, m, size, most = self.layout(places, n_classes)
        kept = group == self.group and m > 0
        n = min(self.n_blocks, most)
        owned = min(n, self.n_blocks - self.n_unowned) if group == self.group else 0
        if n - owned < self.n_trees:
            n = min(max(self.n_trees, 2 * n), most)
        if width != self.width:
            self.most_leaves = self.leaves_that_fit(width)
            for t in range(self.n_trees):
                if self.trees[t].n_leaves > self.most_leaves:
                    self.begin(<int> t)
                self.trees[t].room = min(self.trees[t].room, self.most_leaves)
                counts = <float *> self.resize(NULL, 0, self.trees[t].room * width, 4)
                for leaf in range(self.trees[t].n_leaves):
                    memcpy(counts + leaf * width, self.trees[t].counts + leaf * self.width, self.width * 4)
                self.release(self.trees[t].counts)
                self.trees[t].counts = counts
        for t in range(self.n_trees):
            while self.trees[t].n_blocks > (most // self.n_trees if kept else 0):
                self.close_least(<int> t)
        blocks = <float *> self.resize(NULL, 0, n * size, 4)
        for b in range(self.n_blocks):
            old = self.block_at(b)
            if old.tree < 0:
                continue
            block = blocks + next_block * size
            self.trees[old.tree].leaves[old.leaf].block = next_block
            next_block += 1
            memcpy(block, old, sizeof(Block))
            if not self.regression:
                memcpy(block + sizeof(Block) // 4, self.totals(old), self.n_classes * 4)
            for c in range(3):
                memcpy(block + head + c * m, self.body(old) + c * self.m, self.m * 4)
            if self.regression:
                memcpy(block + head + 3 * m, self.body(old) + 3 * self.m, 2 * BINS * self.m * 4)
                continue
            for c in range(self.n_classes):
                memcpy(
                    block + head + (3 + BINS * c) * m, self.body(old) + (3 + BINS * c) * self.m, BINS * self.m * 4
                )
        self.release(self.blocks)
        self.blocks = blocks
        self.release(self.unowned)
        self.unowned = <int32_t *> self.resize(NULL, 0, n, 4)
        self.n_unowned = 0
        for b in range(n - 1, next_block - 1, -1):
            (<Block *> (blocks + b * size)).tree = -1
            self.unowned[self.n_unowned] = <int32_t> b
            self.n_unowned += 1
        dense = <float *> self.resize(NULL, 0, 4 * places, 4)
        if self.places:
            memcpy(dense + 2 * places, self.low, min(self.places, places) * 4)
            memcpy(dense + 3 * places, self.high, min(self.places, places) * 4)
        self.release(self.dense)
        self.dense, self.present, self.n_present = dense, <int32_t *> (dense + places), 0
        self.low, self.high = dense + 2 * places, dense + 3 * places
        self.release(self.x)
        self.x = <float *> self.resize(NULL, 0, 3 * m, 4)
        self.chosen, self.bins = <int32_t *> (self.x + m), <int32_t *> (self.x + 2 * m)
        self.release(self.votes)
        self.votes = <double *> self.resize(NULL, 0, (self.n_trees + 1) * n_classes, 8)
        self.joint = self.votes + self.n_trees * n_classes
        self.n_blocks, self.most_blocks, self.block_floats = n, most, size
        self.share = most // self.n_trees
        self.places, self.n_classes, self.width, self.group, self.m = places, n_classes, width, group, m
        for b in range(next_block):
            old = self.block_at(b)
            for k in range(before, m):
                (<int32_t *> self.body(old))[k] = -1
                self.body(old)[m + k], self.body(old)[2 * m + k] = -FARTHEST_BIN, 2.0 * FARTHEST_BIN / BINS
            self.choose_candidates(old)
        self.fresh = False
        return 0

    # Blocks -----------------------------------------------------------------------------------------------------------

    cdef uint64_t draw(self) noexcept nogil:
        """A random number."""
        return next_random(&self.random)

    cdef void choose_candidates(self, Block *block) noexcept nogil:
        """One of each group of adjacent places, by the block's seed; -1: there is none yet."""
        cdef int32_t *feature = <int32_t *> self.body(block)
        cdef Py_ssize_t k, size
        for k in range(self.m):
            size = min(self.group, self.places - k * self.group)
            if feature[k] < 0 and size > 0:
                feature[k] = <int32_t> (
                    k * self.group + (
                        0 if size == 1 else <Py_ssize_t> (
                            scrambled((<uint64_t> block.seed << 32) + <uint64_t> k) % <uint64_t> size
                        )
                    )
                )

    cdef void open_block(self, int t, int32_t leaf, int32_t b) noexcept nogil:
        """Block b is that leaf's, and knows nothing yet.  The last sample is in it, or in the leaf beside it."""
        cdef Block *block = self.block_at(b)
        cdef Tree *tree = &self.trees[t]
        cdef const Node *node = tree.nodes
        cdef float *body = self.body(block)
        cdef int32_t *feature = <int32_t *> body
        cdef float *low = body + self.m
        cdef float *high = body + 2 * self.m
        cdef Py_ssize_t k
        cdef bint right, last = False
        memset(block, 0, self.block_floats * 4)
        block.tree, block.leaf, block.next_test = t, leaf, TEST_EVERY
        tree.leaves[leaf].block = b
        tree.n_blocks += 1
        block.seed = <uint32_t> (self.draw() >> 32)
        for k in range(self.m):
            feature[k] = -1
        self.choose_candidates(block)
        for k in range(self.m):
            low[k] = high[k] = 0.0
            if feature[k] >= 0:
                low[k], high[k] = self.low[feature[k]], self.high[feature[k]]
            if not high[k] > low[k]:
                low[k], high[k] = -FARTHEST_BIN, FARTHEST_BIN
        while node.feature != LEAF and not last:  # the leaf's box
            right = (self.dense[node.feature] if node.feature >= 0 else 0.0) > node.cut
            for k in range(2):
                if tree.nodes[node.child + k].feature == LEAF and tree.nodes[node.child + k].child == leaf:
                    right, last = k == 1, True
            if node.feature >= 0:
                k = node.feature // self.group
                if feature[k] == node.feature:
                    if right:
                        low[k] = max(low[k], node.cut)
                    else:
                        high[k] = min(high[k], node.cut)
            node = &tree.nodes[node.child + right]
        for k in range(self.m):  # ranges become steps
            high[k] = max((high[k] - low[k]) / BINS, <float> 1e-6)

    cdef void close_block(self, int32_t b) noexcept nogil:
        """Block b has no owner."""
        cdef Block *block = self.block_at(b)
        self.trees[block.tree].leaves[block.leaf].block = -1
        self.trees[block.tree].n_blocks -= 1
        block.tree = -1
        self.unowned[self.n_unowned] = b
        self.n_unowned += 1

    cdef void close_least(self, int t) noexcept nogil:
        """Take the block of the leaf with the fewest recent errors; of equals the first."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t i, least = -1
        for i in range(tree.n_leaves):
            if tree.leaves[i].block >= 0 and (least < 0 or tree.leaves[i].errors < tree.leaves[least].errors):
                least = i
        self.close_block(tree.leaves[least].block)

    cdef bint take_block(self, int t, int32_t leaf) noexcept nogil:
        """A leaf gets a free block, if there is one and its tree has less than its share."""
        if self.n_unowned == 0 or self.trees[t].n_blocks >= self.share:
            return False
        self.n_unowned -= 1
        self.open_block(t, leaf, self.unowned[self.n_unowned])
        return True

    cdef void challenge(self, int t, int32_t leaf) noexcept nogil:
        """A leaf that waits takes a block that is free, or that of the next leaf of its tree that has had less than
        half as many errors."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t i, b
        if self.take_block(t, leaf):
            return
        for i in range(CHALLENGED):  # no-cython-lint
            tree.hand = 0 if tree.hand + 1 >= tree.n_leaves else tree.hand + 1
            b = tree.leaves[tree.hand].block
            if (
                b >= 0
                and 2.0 * tree.leaves[tree.hand].errors + (0.0 if self.regression else 1.0) < tree.leaves[leaf].errors
            ):
                self.close_block(b)
                self.take_block(t, leaf)
                return

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef void place_values(self, const int32_t *places, const double *values, Py_ssize_t size) noexcept nogil:
        """Features that there is no room for are absent."""
        cdef Py_ssize_t i
        cdef int32_t place
        cdef float value
        cdef double at
        for i in range(self.n_present):
            self.dense[self.present[i]] = 0.0
        self.n_present = 0
        self.complete = True
        for i in range(size):
            place = places[i]
            self.complete &= 0 <= place < self.places
            if 0 <= place < self.places:
                at = values[i]
                value = <float> (-LARGEST if at < -LARGEST else LARGEST if at > LARGEST else at)
                if value != 0.0 and self.dense[place] == 0.0:
                    self.dense[place] = value
                    self.present[self.n_present] = place
                    self.n_present += 1

    cdef int32_t route(self, const Tree *tree) noexcept nogil:
        """The node of the leaf that the sample belongs to."""
        cdef int32_t i = 0
        cdef int32_t feature = tree.nodes[0].feature
        while feature != LEAF:
            i = tree.nodes[i].child + ((self.dense[feature] if feature >= 0 else <float> 0.0) > tree.nodes[i].cut)
            feature = tree.nodes[i].feature
        return i

    cdef void gather(self, const Block *block) noexcept nogil:
        """The candidates' values: of all, or where few features are present of those alone."""
        cdef const int32_t *feature = <const int32_t *> self.body(block)
        cdef Py_ssize_t i, k
        if 4 * self.n_present >= self.m:
            self.n_chosen = -1
            if self.group == 1:
                memcpy(self.x, self.dense, self.places * 4)  # what pads it stays 0
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
        """The bins of the gathered candidates that are present, as positions in the histograms of a class."""
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef Py_ssize_t i, k
        if self.n_chosen < 0:
            self.n_bins = find_bins(self.x, low, step, self.m, self.bins)
            return
        self.n_bins = self.n_chosen
        for i in range(self.n_chosen):
            k = self.chosen[i]
            self.bins[i] = BINS * <int32_t> k + bin_of(self.x[i], low[k], step[k])

    cdef void answer(self, int t, double *p) noexcept nogil:
        """What a tree's leaf predicts: the probabilities of every class, or the mean of a target."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf = tree.nodes[self.at[t]].child
        cdef const float *counts = tree.counts + leaf * self.width
        cdef const Block *block
        cdef const float *totals
        cdef Py_ssize_t c, n = self.n_classes
        cdef double total = 0.0, most
        if self.regression:
            p[0] = counts[1]
            return
        self.by_counts[t], self.by_bayes[t] = 0, -1
        for c in range(n):
            total += counts[c]
            if counts[c] > counts[self.by_counts[t]]:
                self.by_counts[t] = <int32_t> c
        self.voted[t] = self.by_counts[t]
        for c in range(n):
            p[c] = (counts[c] + SMOOTHING) / (total + SMOOTHING * n)
        if tree.leaves[leaf].block < 0:
            return
        block = self.block_at(tree.leaves[leaf].block)
        totals = self.totals(block)
        self.gather(block)
        self.find_bins(block)
        for c in range(n):
            if totals[c] > 0.0:
                self.joint[c] = (
                    log(totals[c]) - self.n_bins * log(totals[c] + BINS * SMOOTHING_BINS)
                    + log_counts(self.body(block) + (3 + BINS * c) * self.m, self.bins, self.n_bins, SMOOTHING_BINS)
                )
                if self.by_bayes[t] < 0 or self.joint[c] > self.joint[self.by_bayes[t]]:
                    self.by_bayes[t] = <int32_t> c
        if self.by_bayes[t] < 0 or block.by_bayes <= block.by_counts:
            return
        self.voted[t] = self.by_bayes[t]
        most, total = self.joint[self.by_bayes[t]], 0.0
        for c in range(n):
            self.joint[c] = exp(self.joint[c] - most) if totals[c] > 0.0 else 0.0
            total += self.joint[c]
        for c in range(n):
            p[c] = self.joint[c] / total

    cdef int ask(self, const Sample *x, double *p) except -1:
        self.vote(x.places, x.scaled, x.size, p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        self.take_sample(x.places, x.scaled, x.size, y.target, y.counts)
        return False

    cdef void vote(self, const int32_t *places, const double *values, Py_ssize_t size, double *out) noexcept nogil:
        """The probabilities of every class, or a mean, for a sample whose features have these places (-1: unknown)."""
        cdef int t
        cdef Py_ssize_t c
        self.place_values(places, values, size)
        for c in range(self.n_classes):
            out[c] = 0.0
        for t in range(self.n_trees):
            self.at[t] = self.route(&self.trees[t])
            self.answer(t, self.votes + t * self.n_classes)
            for c in range(self.n_classes):
                out[c] += self.votes[t * self.n_classes + c] / self.n_trees
        if self.regression:
            out[0] = 0.0
            for t in range(self.n_trees):
                out[0] += self.trees[t].weight * self.votes[t]
            out[0] = self.scale * out[0] + self.offset
        self.fresh = True

    cdef void take_sample(
        self, const int32_t *places, const double *values, Py_ssize_t size, double target, double w
    ) noexcept nogil:
        """The sample that was asked about last, all of whose features have places now, has this class or target and
        weight.

        ``reserve_places`` has been called since the last sample was learned.
        """
        cdef int t, k
        cdef uint32_t u
        cdef Py_ssize_t i
        cdef float value
        if not (self.fresh and self.complete):
            self.place_values(places, values, size)
        if not self.fresh:
            for t in range(self.n_trees):
                self.at[t] = self.route(&self.trees[t])
                self.answer(t, self.votes + t * self.n_classes)
        self.fresh = False
        self.seen += 1
        if self.regression:
            target = fmin(fmax((target - self.offset) / self.scale, -LARGEST_TARGET), LARGEST_TARGET)
        for i in range(self.n_present):
            value = self.dense[self.present[i]]
            self.low[self.present[i]] = min(self.low[self.present[i]], value)
            self.high[self.present[i]] = max(self.high[self.present[i]], value)
        for t in range(self.n_trees):
            u = <uint32_t> (self.draw() >> 32)
            k = 0
            while k < POISSON and u >= thresholds[k]:
                k += 1
            self.learn_tree(t, target, <float> (k * w))
        if self.seen % SWEEP == 0:
            self.sweep()
        if self.regression:
            self.weigh()

    cdef void learn_tree(self, int t, double target, float w) noexcept nogil:
        """One tree learns a sample that counts so often; it may split a leaf, or restart."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf = tree.nodes[self.at[t]].child
        cdef float *counts = tree.counts + leaf * self.width
        cdef Block *block
        cdef double error
        if self.regression:
            error = fabs(target - counts[1])
        else:
            error = self.voted[t] != <int32_t> target
        if self.judge(t, error):
            self.begin(t)
            self.at[t] = leaf = 0
            counts = tree.counts
            self.by_counts[t] = self.by_bayes[t] = -1
        if w <= 0.0:
            return
        if self.regression:
            counts[0] += w
            counts[1] += (<float> target - counts[1]) * (w / counts[0])
            error = fmin(error * error, fmin(9.0 * tree.square, 1e30))
        else:
            counts[<int32_t> target] += w
        tree.leaves[leaf].errors += <float> error
        if tree.leaves[leaf].block < 0:
            if error > 0.0 or tree.n_leaves == 1:
                self.challenge(t, leaf)
            return
        block = self.block_at(tree.leaves[leaf].block)
        if self.seen == SETTLED and tree.n_leaves == 1:
            self.close_block(tree.leaves[leaf].block)
            self.take_block(t, leaf)
        if not self.regression:
            block.by_counts += w * (self.by_counts[t] == <int32_t> target)
            block.by_bayes += w * (self.by_bayes[t] == <int32_t> target)
        self.learn_block(block, target, w)
        if block.weight >= block.next_test:
            block.next_test = block.weight + TEST_EVERY
            if tree.n_leaves < min(tree.room, self.most_leaves):
                self.try_split(t)

    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil:
        cdef Py_ssize_t i, m = self.m
        cdef float *body = self.body(block)
        cdef float *row
        self.gather(block)
        self.find_bins(block)
        block.weight += w
        if self.regression:
            block.sum += w * <float> target
            for i in range(self.n_bins):
                row = body + 3 * m + 2 * self.bins[i]
                row[0] += w
                row[1] += w * <float> target
            return
        self.totals(block)[<int32_t> target] += w
        row = body + (3 + BINS * <Py_ssize_t> target) * m
        for i in range(self.n_bins):
            row[self.bins[i]] += w

    # Splits -----------------------------------------------------------------------------------------------------------

    cdef void try_split(self, int t) noexcept nogil:
        """The leaf of the last sample splits if its best feature is clearly better than the second."""
        cdef Tree *tree = &self.trees[t]
        cdef Block *block = self.block_at(tree.leaves[tree.nodes[self.at[t]].child].block)
        cdef const float *body = self.body(block)
        cdef const int32_t *feature = <const int32_t *> body
        cdef const float *low = body + self.m
        cdef const float *high = low + self.m
        cdef Py_ssize_t k, c, m = self.m, best = -1
        cdef double bound = sqrt(DELTA_LOG / (2.0 * block.weight)), gain, first = 0.0, second = 0.0
        cdef float cut = 0.0, at = 0.0, left = 0.0, total = 0.0, left_weight = 0.0, left_sum = 0.0
        if not self.regression:
            c = 0
            for k in range(self.n_classes):
                c += self.totals(block)[k] > 0.0
            if c < 2:
                return
        for k in range(m):
            if feature[k] < 0:
                continue
            if self.regression:
                gain = best_edge(
                    body + 3 * m + 2 * BINS * k, low[k], high[k], block.weight, block.sum, LEAST_BRANCH, &at, &left,
                    &total
                )
            else:
                gain = best_cut(
                    body + 3 * m + BINS * k, BINS * m, self.totals(block), self.n_classes, low[k], high[k],
                    block.weight, LEAST_BRANCH, &at
                )
            if gain > first:
                second, first = first, gain
                best, cut, left_weight, left_sum = k, at, left, total  # no-cython-lint
            elif gain > second:
                second = gain
        if best < 0:
            return
        if self.regression:
            if not (second < (1.0 - bound) * first or bound < TARGET_TAU):
                return
        elif not (
            first - second > bound
            or (bound < TAU and first * block.weight > CHANCE * (c + 3) / 5.0)
            or bound < 0.5 * TAU
        ):
            return
        self.split(t, <int32_t> best, cut, left_weight)

    cdef void split(self, int t, int32_t k, float cut, float share) noexcept nogil:
        """The leaf of the last sample gets two children, who start from what its statistics predict."""
        cdef Tree *tree = &self.trees[t]
        cdef Node *node = &tree.nodes[self.at[t]]
        cdef int32_t leaf = node.child, other = tree.n_leaves, child = 2 * tree.n_leaves - 1
        cdef Block *block = self.block_at(tree.leaves[leaf].block)
        cdef float *body = self.body(block)
        cdef float *one = tree.counts + leaf * self.width
        cdef float *two = tree.counts + other * self.width
        cdef const float *totals = self.totals(block)
        cdef const float *row
        cdef float errors = tree.leaves[leaf].errors, mean, left = 0.0, total = 0.0, most = 0.0
        cdef float of_one = 0.0, of_two = 0.0, at
        cdef float missed_left, missed_right, missed
        cdef Py_ssize_t c, m = self.m
        if self.regression:
            mean = one[1]
            row = body + 3 * m + 2 * BINS * k
            best_edge(row, body[m + k], body[2 * m + k], block.weight, block.sum, LEAST_BRANCH, &at, &left, &total)
            two[0] = block.weight - left + SHRINKING
            two[1] = <float> fmin(
                fmax((block.sum - total + SHRINKING * mean) / two[0], -LARGEST_TARGET), LARGEST_TARGET
            )
            one[0] = left + SHRINKING
            one[1] = <float> fmin(fmax((total + SHRINKING * mean) / one[0], -LARGEST_TARGET), LARGEST_TARGET)
            tree.leaves[leaf].errors = errors * (left / block.weight)
            tree.leaves[other].errors = errors - tree.leaves[leaf].errors
        else:
            for c in range(self.n_classes):
                row = body + (3 + BINS * c) * m + BINS * k
                at = below(row, totals[c], body[m + k], body[2 * m + k], cut)
                one[c], two[c] = at, totals[c] - at
                left, total = left + one[c], total + two[c]
                of_one, of_two, most = max(of_one, one[c]), max(of_two, two[c]), max(most, totals[c])
            missed = block.weight - most
            missed_left, missed_right = left - of_one, total - of_two
            tree.leaves[leaf].errors = errors * min(missed_left / missed, <float> 1.0) if missed > 0.0 else 0.0
            tree.leaves[other].errors = errors * min(missed_right / missed, <float> 1.0) if missed > 0.0 else 0.0
        tree.nodes[child] = Node(LEAF, 0.0, leaf)
        tree.nodes[child + 1] = Node(LEAF, 0.0, other)
        node.feature, node.cut, node.child = (<int32_t *> body)[k], cut, child
        tree.n_leaves += 1
        tree.leaves[other].block = -1
        if tree.leaves[other].errors > tree.leaves[leaf].errors:
            self.give_blocks(t, other, leaf)
        else:
            self.give_blocks(t, leaf, other)

    cdef void give_blocks(self, int t, int32_t one, int32_t other) noexcept nogil:
        """Of two new leaves the first takes over the block; the second takes one that is free, or that of the fewest
        errors if it has more."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t i, least = -1
        cdef float fewest = 0.5 * tree.leaves[other].errors
        self.close_block(max(tree.leaves[one].block, tree.leaves[other].block))
        self.take_block(t, one)
        if self.take_block(t, other):
            return
        for i in range(tree.n_leaves):
            if tree.leaves[i].block >= 0 and i != one and tree.leaves[i].errors < fewest:
                least, fewest = i, tree.leaves[i].errors
        if least >= 0:
            self.close_block(tree.leaves[least].block)
            self.take_block(t, other)

    # Change -----------------------------------------------------------------------------------------------------------

    cdef bint judge(self, int t, double error) noexcept nogil:
        """A tree's running errors take in one more; whether they have risen so far that it had better restart."""
        cdef Tree *tree = &self.trees[t]
        cdef double variance
        tree.age += 1
        tree.fast += (error - tree.fast) * fmax(FAST, 1.0 / tree.age)
        tree.slow += (error - tree.slow) * fmax(SLOW, 1.0 / tree.age)
        tree.square += (error * error - tree.square) * fmax(SLOW, 1.0 / tree.age)
        if tree.age < GROWN or tree.n_leaves == 1 or (self.regression and not self.may_restart(t)):
            return False
        variance = fmax(tree.square - tree.slow * tree.slow, 0.0)
        return tree.fast - tree.slow > RISE * sqrt(variance * FAST / (2.0 - FAST)) + 1e-9

    cdef bint may_restart(self, int t) noexcept nogil:
        """Whether a tree of a regression may: no other one is younger, or one that is has clearly lower errors."""
        cdef int other
        cdef bint youngest = True
        for other in range(self.n_trees):
            if self.trees[other].age < self.trees[t].age:
                if self.trees[other].age >= GROWN and self.trees[other].fast < BETTER * self.trees[t].fast:
                    return True
                youngest = False
        return youngest

    cdef void weigh(self) noexcept nogil:
        """The weights of the trees of a regression."""
        cdef int t
        cdef double least = self.trees[0].fast, total = 0.0
        for t in range(1, self.n_trees):
            least = fmin(least, self.trees[t].fast)
        for t in range(self.n_trees):
            self.trees[t].weight = exp(-SHARPNESS * (self.trees[t].fast / fmax(least, 1e-300) - 1.0))
            total += self.trees[t].weight
        for t in range(self.n_trees):
            self.trees[t].weight /= total

    cdef void begin(self, int t) noexcept nogil:
        """A tree is one leaf that knows nothing; of a target, its mean so far."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf
        cdef double total = 0.0, weight = 0.0
        for leaf in range(tree.n_leaves):
            if self.regression:
                weight += tree.counts[2 * leaf]
                total += <double> tree.counts[2 * leaf] * tree.counts[2 * leaf + 1]
            if tree.leaves[leaf].block >= 0:
                self.close_block(tree.leaves[leaf].block)
        tree.resets += tree.n_leaves > 0
        tree.n_leaves, tree.hand = 1, 0
        if self.regression and tree.age > 0:
            tree.age, tree.slow = INHERITED, tree.fast
        else:
            tree.age, tree.fast, tree.slow, tree.square = 0, 0.0, 0.0, 0.0
        tree.nodes[0] = Node(LEAF, 0.0, 0)
        tree.leaves[0] = Leaf(-1, 0.0)
        memset(tree.counts, 0, self.width * 4)
        if self.regression and weight > 0.0:
            tree.counts[0], tree.counts[1] = SHRINKING, <float> (total / weight)
        self.take_block(t, 0)

    cdef void sweep(self) noexcept nogil:
        """Errors of leaves count half as much, and ranges of features narrow."""
        cdef int t
        cdef int32_t leaf
        cdef Py_ssize_t j
        cdef float width
        for t in range(self.n_trees):
            for leaf in range(self.trees[t].n_leaves):
                self.trees[t].leaves[leaf].errors *= 0.5
        for j in range(self.places):
            width = self.high[j] - self.low[j]
            self.low[j] = min(self.low[j] + <float> 0.02 * width, <float> 0.0)
            self.high[j] = max(self.high[j] - <float> 0.02 * width, <float> 0.0)

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.scale *= ratio
        self.offset = ratio * self.offset + shift
        if not (1e-3 < self.scale < 1e3 and fabs(self.offset) < 10.0 * fmax(1.0, self.scale)):
            self.fold()

    cdef void fold(self) noexcept nogil:
        """The inner units become the outer ones."""
        cdef int t
        cdef int32_t leaf
        cdef Py_ssize_t b, i
        cdef Tree *tree
        cdef Block *block
        cdef float *bins
        for t in range(self.n_trees):
            tree = &self.trees[t]
            tree.fast *= fabs(self.scale)
            tree.slow *= fabs(self.scale)
            tree.square *= self.scale * self.scale
            for leaf in range(tree.n_leaves):
                tree.leaves[leaf].errors = <float> fmin(tree.leaves[leaf].errors * self.scale * self.scale, 1e30)
                tree.counts[2 * leaf + 1] = <float> fmin(
                    fmax(self.scale * tree.counts[2 * leaf + 1] + self.offset, -LARGEST_TARGET), LARGEST_TARGET
                )
        for b in range(self.n_blocks):
            block = self.block_at(b)
            if block.tree < 0:
                continue
            block.sum = <float> fmin(fmax(self.scale * block.sum + self.offset * block.weight, -1e30), 1e30)
            bins = self.body(block) + 3 * self.m
            for i in range(BINS * self.m):
                bins[2 * i + 1] = <float> fmin(
                    fmax(self.scale * bins[2 * i + 1] + self.offset * bins[2 * i], -1e30), 1e30
                )
        self.scale, self.offset = 1.0, 0.0

    cdef void forget(self, list places) noexcept:
        """The features at these places are dropped; others may come in their places."""
        cdef int t
        cdef int32_t i
        cdef Py_ssize_t place, b, k, c, m = self.m
        cdef float *body
        cdef Tree *tree
        for i in range(self.n_present):
            self.dense[self.present[i]] = 0.0
        self.n_present = 0
        memset(self.present, 0, self.places * 4)  # marks, for now
        for place in places:
            if place < self.places:
                self.present[place] = 1
        for t in range(self.n_trees):
            tree = &self.trees[t]
            for i in range(2 * tree.n_leaves - 1):
                if tree.nodes[i].feature >= 0 and self.present[tree.nodes[i].feature]:
                    tree.nodes[i].feature = GONE
        for place in places:
            if place >= self.places:
                continue
            self.low[place] = self.high[place] = 0.0
            for b in range(self.n_blocks):
                if self.block_at(b).tree < 0:
                    continue
                body = self.body(self.block_at(b))
                k = place // self.group
                if (<int32_t *> body)[k] != place:
                    continue
                if self.regression:
                    memset(body + 3 * m + 2 * BINS * k, 0, 2 * BINS * 4)
                    continue
                for c in range(self.n_classes):
                    memset(body + (3 + BINS * c) * m + BINS * k, 0, BINS * 4)
        self.fresh = False

    # For tests and measurements ---------------------------------------------------------------------------------------

    def predict(self, const int32_t[::1] places, const double[::1] values):
        """The probabilities of every class, or the mean of the target."""
        out = np.zeros(self.n_classes)
        cdef double[::1] view = out
        if places.shape[0] != values.shape[0]:
            raise ValueError("places and values do not match")
        self.vote(
            &places[0] if places.shape[0] else NULL, &values[0] if places.shape[0] else NULL, places.shape[0], &view[0]
        )
        return float(out[0]) if self.regression else out

    def train(self, const int32_t[::1] places, const double[::1] values, double target, double w=1.0):
        """A sample with its class or target, and its weight."""
        cdef Py_ssize_t i, size = 0
        if places.shape[0] != values.shape[0]:
            raise ValueError("places and values do not match")
        for i in range(places.shape[0]):
            size = max(size, places[i] + 1)
        while not self.regression and target >= self.n_classes:
            self.act("add_class")
        self.reserve_places(size)
        self.take_sample(
            &places[0] if places.shape[0] else NULL, &values[0] if places.shape[0] else NULL, places.shape[0], target, w
        )

    def replay(
        self, const int64_t[::1] starts, const int32_t[::1] places, const double[::1] values, const double[::1] targets
    ):
        """What is predicted of each sample before it is learned; sample i has the items from starts[i] to starts[i +
        1]."""
        cdef Py_ssize_t i, size = 0, items = places.shape[0], samples = targets.shape[0]
        if (
            starts.shape[0] != samples + 1 or values.shape[0] != items or starts[0] != 0 or starts[samples] != items
            or (np.diff(starts) < 1).any()
        ):
            raise ValueError("places, values and targets do not match")
        for i in range(items):
            size = max(size, places[i] + 1)
        while not self.regression and samples and max(targets) >= self.n_classes:
            self.act("add_class")
        out = np.zeros((samples, self.n_classes))
        cdef double[:, ::1] view = out
        for i in range(samples):
            self.reserve_places(size)
            self.vote(&places[starts[i]], &values[starts[i]], starts[i + 1] - starts[i], &view[i, 0])
            self.take_sample(&places[starts[i]], &values[starts[i]], starts[i + 1] - starts[i], targets[i], 1.0)
        return out

    def act(self, action, one=None, other=None):
        """What the mixture calls without Python: ``add_class``, ``forget`` and ``rescale``."""
        if action == "add_class":
            self.add_class()
        elif action == "forget":
            self.forget([int(place) for place in one])
        else:
            self.rescale(one, other)

    # What there is ----------------------------------------------------------------------------------------------------

    @property
    def sizes(self):
        """Leaves, those with a block, and restarts of every tree."""
        cdef int t
        return [(self.trees[t].n_leaves, self.trees[t].n_blocks, self.trees[t].resets) for t in range(self.n_trees)]

    cdef object body_of(self, Py_ssize_t b):
        """The numbers of a block behind its head, as an array of their own."""
        cdef Py_ssize_t start = sizeof(Block) // 4
        return np.asarray(<float[:self.block_floats - start]> (self.blocks + b * self.block_floats + start)).copy()

    def names(self):
        return [f"forest({self.n_trees} trees, {'all' if self.one_in == 1 else 'half of the'} features)"]

    def state(self):
        cdef Py_ssize_t b, i
        cdef int t
        cdef Tree *tree
        cdef Block *block
        nodes, leaves, counts, running, ages, heads, bodies, seeds = [], [], [], [], [], [], [], []
        for t in range(self.n_trees):
            tree = &self.trees[t]
            nodes += [
                (tree.nodes[i].feature, tree.nodes[i].cut, tree.nodes[i].child) for i in range(2 * tree.n_leaves - 1)
            ]
            leaves += [(tree.leaves[i].block, tree.leaves[i].errors) for i in range(tree.n_leaves)]
            counts += [[tree.counts[i * self.width + c] for c in range(self.width)] for i in range(tree.n_leaves)]
            running.append((tree.fast, tree.slow, tree.square))
            ages.append((tree.n_leaves, tree.hand, tree.age, tree.resets))
        for b, _ in leaves:  # in the order of their leaves: which is where says nothing
            if b >= 0:
                block = self.block_at(b)
                heads.append((block.weight, block.next_test, block.by_bayes, block.by_counts, block.sum))
                bodies.append(self.body_of(b))
                seeds.append(block.seed)
        bodies = np.array(bodies, dtype=np.float32).reshape(
            len(heads), max(0, self.block_floats - <Py_ssize_t> sizeof(Block) // 4)
        )
        totals = 0 if self.regression else (self.n_classes + LANES - 1) // LANES * LANES
        return {
            "features": np.array([node[0] for node in nodes], dtype=np.int32),
            "cuts": np.array([node[1] for node in nodes], dtype=np.float32),
            "children": np.array([node[2] for node in nodes], dtype=np.int32),
            "learning": np.array([leaf[0] >= 0 for leaf in leaves], dtype=np.bool_),
            "errors": np.array([leaf[1] for leaf in leaves], dtype=np.float32),
            "counts": np.array(counts, dtype=np.float32),
            "running": np.array(running, dtype=np.float64),
            "ages": np.array(ages, dtype=np.int64),
            "heads": np.array(heads, dtype=np.float32).reshape(len(heads), 5),
            "seeds": np.array(seeds, dtype=np.int64),
            "totals": bodies[:, :totals].copy(),
            "candidates": bodies[:, totals:totals + self.m].copy().view(np.int32),
            "statistics": bodies[:, totals + self.m:].copy(),
            "low": np.array([self.low[i] for i in range(self.places)], dtype=np.float32),
            "high": np.array([self.high[i] for i in range(self.places)], dtype=np.float32),
            "units": np.array([self.scale, self.offset]),
            "seen": self.seen,
            "random": int(self.random),
            "n_classes": self.n_classes,
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, k, b, start, end
        cdef int t
        cdef Tree *tree
        cdef Block *block
        cdef float *numbers
        cdef const float[:, :] each_count, each_total, each_statistic  # typed: a checkpoint of 1 MB has 200,000
        cdef const int32_t[:, :] each_candidate
        n_classes, seen, random = [state[name] for name in ("n_classes", "seen", "random")]
        if any([type(number) is not int for number in (n_classes, seen, random)]):
            raise ValueError("the counts of a forest are no integers")
        if (
            not (n_classes == 1 if self.regression else 2 <= n_classes <= 2**20)
            or not (0 <= seen < 2**62 and 0 <= random < 2**64)
        ):
            raise ValueError("the counts of a forest are out of range")
        width = 2 if self.regression else n_classes
        ages = _array(state, "ages", np.int64, (self.n_trees, 4), 0, 2**52)
        running = _array(state, "running", np.float64, (self.n_trees, 3), 0.0, 1e100)
        n_leaves = ages[:, 0]
        if not (n_leaves.min() >= 1 and n_leaves.max() <= self.leaves_that_fit(width)):
            raise ValueError("a tree of a forest has too many leaves, or none")
        if (ages[:, 1] >= n_leaves).any():
            raise ValueError("the leaf of a tree that is challenged next is out of range")
        n = int(n_leaves.sum())
        low = state["low"]
        places = low.shape[0] if isinstance(low, np.ndarray) and low.ndim == 1 else -1
        low, high = [_array(state, name, np.float32, (places,), -LARGEST, LARGEST) for name in ("low", "high")]
        counts = _array(
            state, "counts", np.float32, (n, width), -2.0 * LARGEST_TARGET if self.regression else 0.0, MOST_WEIGHT
        )
        errors = _array(state, "errors", np.float32, (n,), 0.0, MOST_SUM)
        features, children = [
            _array(state, name, np.int32, (2 * n - self.n_trees,), low, places - 1) for name, low,
            places in (("features", GONE, places), ("children", 0, 2 * n + 1))
        ]
        cuts = _array(state, "cuts", np.float32, (2 * n - self.n_trees,), -LARGEST, LARGEST)
        units = _array(state, "units", np.float64, (2,), -1e5, 1e5)
        if not 1e-4 < units[0] < 1e4 or (not self.regression and tuple(units) != (1.0, 0.0)):
            raise ValueError("the units of a forest are out of range")
        start = 0
        for count in n_leaves.tolist():
            end = start + 2 * count - 1
            leaf = features[start:end] == LEAF
            child = children[start:end][~leaf]
            if not np.array_equal(np.sort(children[start:end][leaf]), np.arange(count)):
                raise ValueError("the leaves of a tree do not match")
            if (
                not np.array_equal(np.sort(child), np.arange(1, 2 * count - 1, 2))
                or not (child > np.flatnonzero(~leaf)).all()
            ):
                raise ValueError("the nodes of a tree do not match")
            start = end
        group, m, size, most = self.layout(places, n_classes)
        learning = _array(state, "learning", np.bool_, (n,), 0, 1)
        owned = int(learning.sum())
        head = 0 if self.regression or m == 0 else (n_classes + LANES - 1) // LANES * LANES
        rest = size - <Py_ssize_t> sizeof(Block) // 4 - head - m if m else 0
        start = 0
        for count in n_leaves.tolist():
            if learning[start:start + count].sum() > most // self.n_trees:
                raise ValueError("a tree of a forest has more than its share of blocks")
            start += count
        heads = _array(state, "heads", np.float32, (owned, 5), -MOST_SUM, MOST_SUM)
        seeds = _array(state, "seeds", np.int64, (owned,), 0, 2**32 - 1)
        totals = _array(state, "totals", np.float32, (owned, head), 0.0, MOST_WEIGHT)
        candidates = _array(state, "candidates", np.int32, (owned, m), -1, places - 1)
        statistics = _array(state, "statistics", np.float32, (owned, rest), -MOST_SUM, MOST_SUM)
        if ((candidates >= 0) & (candidates // group != np.arange(m))).any():
            raise ValueError("the candidates of a forest do not match its features")
        each_count, each_total, each_statistic, each_candidate = counts, totals, statistics, candidates
        # sound: from here on only memory can fail
        for t in range(self.n_trees):
            self.trees[t].n_leaves = self.trees[t].n_blocks = 0
        self.n_blocks = self.n_unowned = 0
        self.lay_out(places, n_classes)
        self.unowned = <int32_t *> self.resize(self.unowned, 0, owned, 4)
        self.blocks = <float *> self.resize(self.blocks, 0, owned * self.block_floats, 4)
        self.n_blocks, self.n_unowned = owned, 0
        b = 0
        start = end = 0
        for t in range(self.n_trees):
            tree = &self.trees[t]
            while tree.room < n_leaves[t]:
                self.reserve_leaves(tree)
            tree.n_leaves, tree.hand, tree.age, tree.resets = ages[t]
            tree.fast, tree.slow, tree.square = running[t]
            tree.n_blocks = 0
            for i in range(2 * tree.n_leaves - 1):
                tree.nodes[i] = Node(features[end + i], cuts[end + i], children[end + i])
            for i in range(tree.n_leaves):
                tree.leaves[i] = Leaf(-1, errors[start + i])
                for k in range(self.width):
                    tree.counts[i * self.width + k] = each_count[start + i, k]
                if learning[start + i]:
                    block = self.block_at(b)
                    block.tree, block.leaf, tree.leaves[i].block = t, <int32_t> i, <int32_t> b
                    tree.n_blocks += 1
                    b += 1
            start, end = start + tree.n_leaves, end + 2 * tree.n_leaves - 1
        for b in range(self.n_blocks):
            block = self.block_at(b)
            block.weight, block.next_test, block.by_bayes, block.by_counts, block.sum = heads[b]
            block.seed = seeds[b]
            numbers = self.totals(block)
            for i in range(head):
                numbers[i] = each_total[b, i]
            for i in range(m):
                (<int32_t *> numbers)[head + i] = each_candidate[b, i]
            for i in range(rest):
                numbers[head + m + i] = each_statistic[b, i]
        for i in range(places):
            self.low[i], self.high[i] = low[i], high[i]
        if self.regression and seen:
            self.weigh()
        self.scale, self.offset = units
        self.seen, self.random = seen, random
        self.fresh = False

    def permuted(self, dict state, list order):
        found = state | {"counts": state["counts"][:, order]}
        n, m = len(order), state["candidates"].shape[1]
        if m:  # otherwise there are no statistics: too many classes, or no features yet
            found["totals"], found["statistics"] = state["totals"].copy(), state["statistics"].copy()
            found["totals"][:, :n] = state["totals"][:, order]
            rows = found["statistics"][:, 2 * m:(2 + BINS * n) * m]  # histograms, after the ranges
            rows[:] = rows.reshape(-1, n, BINS * m)[:, order].reshape(rows.shape)
        return found

    def _check(self):
        cdef int t
        cdef Py_ssize_t b, i, k, c, j, m = self.m
        cdef Tree *tree
        cdef Block *block
        cdef float *body
        cdef float n
        owned = set()
        assert (
            self.n_blocks <= self.most_blocks
            and self.n_blocks * self.block_floats * 4 <= self.bytes * MOST_CLASSES // 2
        ), "statistics are bounded"
        for t in range(self.n_trees):
            tree = &self.trees[t]
            assert 1 <= tree.n_leaves <= tree.room and tree.n_leaves <= self.most_leaves, "leaves are bounded"
            splits = [i for i in range(2 * tree.n_leaves - 1) if tree.nodes[i].feature != LEAF]
            assert sorted(
                [tree.nodes[i].child for i in splits]
            ) == [*range(1, 2 * tree.n_leaves - 1, 2)], "every node has one parent"
            assert all(
                [
                    tree.nodes[i].child > i and (
                        tree.nodes[i].feature == GONE or 0 <= tree.nodes[i].feature < self.places
                    ) for i in splits
                ]
            )
            assert sorted(
                [tree.nodes[i].child for i in range(2 * tree.n_leaves - 1) if tree.nodes[i].feature == LEAF]
            ) == [*range(tree.n_leaves)]
            for i in range(tree.n_leaves):
                assert tree.leaves[i].errors >= 0.0
                assert (
                    all([isfinite(tree.counts[i * self.width + k]) for k in range(self.width)])
                    and tree.counts[i * self.width] >= 0.0
                )
                if tree.leaves[i].block >= 0:
                    block = self.block_at(tree.leaves[i].block)
                    assert block.tree == t and block.leaf == i, "a leaf owns its block"
                    owned.add(tree.leaves[i].block)
            assert tree.n_blocks == sum(
                [tree.leaves[i].block >= 0 for i in range(tree.n_leaves)]
            ) <= self.share, "every tree has its share"
        assert (
            len(owned) + self.n_unowned == self.n_blocks
            and owned | {self.unowned[i] for i in range(self.n_unowned)} == {*range(self.n_blocks)}
        )
        for b in owned:
            block = self.block_at(b)
            body = self.body(block)
            for k in range(m):
                j = (<int32_t *> body)[k]
                assert (
                    j == -1
                    if k * self.group >= self.places else j // self.group == k
                ), "a candidate is one of its group"
                if self.regression:
                    n = sum([(body + (3 + 2 * BINS * 0) * m + 2 * BINS * k)[2 * i] for i in range(BINS)])
                    assert body[2 * m + k] > 0.0 and n <= block.weight * 1.001
                    continue
                assert body[2 * m + k] > 0.0
                for c in range(self.n_classes):
                    n = sum([body[(3 + BINS * c) * m + BINS * k + i] for i in range(BINS)])
                    assert 0.0 <= n <= self.totals(block)[c] * 1.001
            if not self.regression:
                assert abs(
                    sum([self.totals(block)[c] for c in range(self.n_classes)]) - block.weight
                ) <= 1e-3 * block.weight
