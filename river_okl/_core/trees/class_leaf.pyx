"""Leaves of classes: a weight for each class, and histograms.

A block of statistics has, for each candidate feature, a histogram of each class: 16 bins over the values seen in the
leaf.  A leaf splits if the best feature's information gain exceeds the second's by ε, or if ε < τ and the gain is
larger than expected by chance, or if ε < τ / 2.  A leaf predicts by naive Bayes if naive Bayes was right there more
often than the majority class.
"""

from libc.math cimport exp, log
from libc.stdint cimport int32_t
from libc.string cimport memset

from river_okl._core.store.table cimport Axis
from river_okl._core.trees.forest cimport LEAST_BRANCH, Best, Forest, compare
from river_okl._core.trees.tree cimport Block, Tree

from river_okl._core.trees.merged import assembled, moved

cdef extern from "forest.h":
    enum: LANES
    enum: BINS
    double log_counts "okl_log_counts"(
        const float *counts, const int32_t *bins, Py_ssize_t n, float smoothing
    ) noexcept nogil
    float best_cut "okl_best_cut"(
        const float *counts, Py_ssize_t stride, const float *totals, Py_ssize_t n_classes, float low, float step,
        float weight, float least_branch, float *cut
    ) noexcept nogil
    float below "okl_below"(const float *counts, float total, float low, float step, float cut) noexcept nogil


cdef int32_t MAX_LEAVES = 1000         # of a tree: fewer than 2,000 nodes; RandomTree has 400 in the end
cdef double TAU = 0.05
# Information gain times weight of an uninformative feature: χ² / (2 ln 2) times E w² / E w = 7 of Poisson(6), because
# repeated samples are no further evidence.  60 is χ² = 12 of two classes.
cdef double CHANCE = 60.0
cdef float SMOOTHING_BINS = 1.5         # weight added to each bin of a class for naive Bayes
cdef double SMOOTHING = 1.0             # weight added to each class for the probabilities of a leaf's counts


cdef class ClassForest(Forest):
    """Classification trees, for two classes at first; parameters are those of ``Trees``."""

    # scratch: the last sample
    cdef double *joint                      # [n_classes]
    cdef int32_t *by_counts                 # [n_trees] class of the greatest count, ...
    cdef int32_t *by_bayes                  # ... naive Bayes's, or -1, ...
    cdef int32_t *voted                     # ... and the one of the two that counted

    cdef inline float *totals(self, const Block *block) noexcept nogil:
        # [n_classes] weights
        return <float *> block + sizeof(Block) // 4

    def __init__(self, Axis features, int n_trees, **options):
        self.numbers, self.bound, self.lead = 1, MAX_LEAVES, 1.0
        Forest.__init__(self, features, n_trees, 2, **options)
        self.by_counts = <int32_t *> self.resize(NULL, 0, 3 * n_trees, 4)
        self.by_bayes, self.voted = self.by_counts + n_trees, self.by_counts + 2 * n_trees

    # Room -------------------------------------------------------------------------------------------------------------

    cdef Py_ssize_t totals_of(self, Py_ssize_t n_classes) noexcept:
        return (n_classes + LANES - 1) // LANES * LANES

    cdef int lay_out(self, Py_ssize_t places, Py_ssize_t n_classes) except -1:
        Forest.lay_out(self, places, n_classes)
        self.joint = self.doubles(self.joint, 0, n_classes)
        return 0

    cdef int add_class(self) except -1:
        return self.lay_out(self.places, self.n_classes + 1)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef void answer(self, int t, double *p) noexcept nogil:
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf = tree.nodes[self.at[t]].child
        cdef const float *counts = tree.counts + leaf * self.width
        cdef const Block *block
        cdef const float *totals
        cdef Py_ssize_t c, n = self.n_classes
        cdef double total = 0.0, largest
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
        self.find_bins(block)
        for c in range(n):
            if totals[c] > 0.0:
                self.joint[c] = (
                    log(totals[c]) - self.n_bins * log(totals[c] + BINS * SMOOTHING_BINS)
                    + log_counts(self.row(block, c), self.bins, self.n_bins, SMOOTHING_BINS)
                )
                if self.by_bayes[t] < 0 or self.joint[c] > self.joint[self.by_bayes[t]]:
                    self.by_bayes[t] = <int32_t> c
        if self.by_bayes[t] < 0 or block.by_bayes <= block.by_counts:
            return
        self.voted[t] = self.by_bayes[t]
        largest, total = self.joint[self.by_bayes[t]], 0.0
        for c in range(n):
            self.joint[c] = exp(self.joint[c] - largest) if totals[c] > 0.0 else 0.0
            total += self.joint[c]
        for c in range(n):
            p[c] = self.joint[c] / total

    cdef void average(self, double *out) noexcept nogil:
        cdef int t
        cdef Py_ssize_t c
        memset(out, 0, self.n_classes * 8)
        for t in range(self.n_trees):
            for c in range(self.n_classes):
                out[c] += self.votes[t * self.n_classes + c] / self.n_trees

    cdef double error_of(self, int t, double target) noexcept nogil:
        return self.voted[t] != <int32_t> target

    cdef double learn_leaf(self, Tree *tree, float *counts, double error, double target, float w) noexcept nogil:
        counts[<int32_t> target] += w
        return error

    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil:
        cdef Py_ssize_t i
        cdef float *row = self.row(block, <Py_ssize_t> target)
        block.by_counts += w * (self.by_counts[block.tree] == <int32_t> target)
        block.by_bayes += w * (self.by_bayes[block.tree] == <int32_t> target)
        self.totals(block)[<int32_t> target] += w
        for i in range(self.n_bins):
            row[self.bins[i]] += w

    # Splits and restarts ----------------------------------------------------------------------------------------------

    cdef bint find_split(self, const Block *block, Best *best) noexcept nogil:
        """Find the best candidate by information gain; return whether the leaf splits."""
        cdef const int32_t *feature = <const int32_t *> self.body(block)
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef const float *totals = self.totals(block)
        cdef const float *row = self.row(block, 0)
        cdef Py_ssize_t k, there = 0
        cdef double bound = self.epsilon(block), gain
        cdef float cut = 0.0
        for k in range(self.n_classes):
            there += totals[k] > 0.0
        if there < 2:
            return False
        for k in range(self.m):
            if feature[k] >= 0:
                gain = best_cut(
                    row + BINS * k, BINS * self.m, totals, self.n_classes, low[k], step[k], block.weight, LEAST_BRANCH,
                    &cut
                )
                compare(best, k, gain, cut)
        return best.candidate >= 0 and (
            best.gain - best.second > bound
            or (bound < TAU and best.gain * block.weight > CHANCE * (there + 3) / 5.0)
            or bound < 0.5 * TAU
        )

    cdef void fill_leaves(
        self, Tree *tree, const Block *block, Py_ssize_t k, float cut, int32_t leaf, int32_t other
    ) noexcept nogil:
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef const float *totals = self.totals(block)
        cdef float *one = tree.counts + leaf * self.width
        cdef float *two = tree.counts + other * self.width
        cdef float errors = tree.leaves[leaf].errors, left = 0.0, total = 0.0, largest = 0.0
        cdef float of_one = 0.0, of_two = 0.0, at, missed
        cdef Py_ssize_t c
        for c in range(self.n_classes):
            at = below(self.row(block, c) + BINS * k, totals[c], low[k], step[k], cut)
            one[c], two[c] = at, totals[c] - at
            left, total = left + one[c], total + two[c]
            of_one, of_two, largest = max(of_one, one[c]), max(of_two, two[c]), max(largest, totals[c])
        missed = block.weight - largest
        tree.leaves[leaf].errors = errors * min((left - of_one) / missed, <float> 1.0) if missed > 0.0 else 0.0
        tree.leaves[other].errors = errors * min((total - of_two) / missed, <float> 1.0) if missed > 0.0 else 0.0

    cdef void restart(self, int t) noexcept nogil:
        Forest.restart(self, t)
        self.by_counts[t] = self.by_bayes[t] = -1  # its new leaf has not voted on the sample

    # State ------------------------------------------------------------------------------------------------------------

    def permuted(self, dict state, list order):
        blocks = dict(state["blocks"])
        blocks["bins"] = blocks["bins"][:, order]
        blocks["totals"] = blocks["totals"].copy()
        if blocks["totals"].size:  # otherwise there are no statistics: too many classes, or no features yet
            blocks["totals"][:, :len(order)] = blocks["totals"][:, order]
        return state | {"counts": state["counts"][:, order], "blocks": blocks}

    def merged(self, merging):
        """Return a forest with a tree from each shard in turn."""
        return assembled(moved(self.name, merging.donors))

    def _check(self):
        cdef Py_ssize_t b, k, c
        cdef Block *block
        cdef float weight
        Forest._check(self)
        for b in range(self.n_blocks):
            block = self.block_at(b)
            if block.tree < 0:
                continue
            for c in range(self.n_classes):
                for k in range(self.m):
                    weight = sum([self.row(block, c)[BINS * k + i] for i in range(BINS)])
                    assert 0.0 <= weight <= self.totals(block)[c] * 1.001
            assert abs(
                sum([self.totals(block)[c] for c in range(self.n_classes)]) - block.weight
            ) <= 1e-3 * block.weight
