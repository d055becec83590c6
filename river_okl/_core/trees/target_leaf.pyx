"""Leaves of a target: its mean, and bins of (weight, sum of targets).

A leaf splits at the largest reduction of the squared error, if the second-best feature's reduction is less
than 1 - ε of it (FIMT-DD, Ikonomovska et al. 2011) or if ε < τ.

Errors also rise if targets grow, and then a new tree is no better.  So after one tree has restarted, another may
restart only when the new tree has proved better.  The forest's mean is weighted by the trees' running errors L_t:

    w_t ∝ exp(-SHARPNESS (L_t / min L - 1))
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdint cimport int32_t, int64_t

import numpy as np

from river_okl._core.calibration cimport weights_of_losses
from river_okl._core.store.table cimport Axis
from river_okl._core.trees.forest cimport GROWN, LEAST_BRANCH, Best, compare
from river_okl._core.trees.tree cimport Block, Tree

from river_okl._core.states import checked_array
from river_okl._core.trees.merged import assembled, in_units, moved, near

cdef extern from "forest.h":
    enum: BINS
    float best_edge "okl_best_edge"(
        const float *bins, float low, float step, float weight, float total, float least_branch, float *cut,
        float *left_weight, float *left_sum
    ) noexcept nogil


cdef int32_t MAX_LEAVES = 500           # of a tree
cdef double TAU = 0.2                   # MAE on Mv (seeds 42, 7): 0.05 1.29, 1.45; 0.1 1.20, 1.38; 0.2 1.10, 1.17
cdef float SHRINKING = 2.0              # weight of the parent's prediction in a leaf's mean
cdef int64_t INHERITED = 20             # weight, in samples, of the error that a restarted tree inherits
cdef double BETTER = 0.95               # ratio of errors below which a tree is better
cdef double LARGEST_TARGET = 1e9


cdef class TargetForest(Forest):
    """Regression trees; parameters are those of ``Trees``."""

    def __init__(self, Axis features, int n_trees, **options):
        self.numbers, self.bound, self.least, self.scale = 2, MAX_LEAVES, -2.0 * LARGEST_TARGET, 1.0
        Forest.__init__(self, features, n_trees, 1, **options)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef void answer(self, int t, double *p) noexcept nogil:
        cdef Tree *tree = &self.trees[t]
        p[0] = tree.counts[2 * tree.nodes[self.at[t]].child + 1]

    cdef void average(self, double *out) noexcept nogil:
        cdef int t
        out[0] = 0.0
        for t in range(self.n_trees):
            out[0] += self.trees[t].weight * self.votes[t]
        out[0] = self.scale * out[0] + self.offset

    cdef void take_sample(
        self, const int32_t *places, const double *values, Py_ssize_t size, double target, double w
    ) noexcept nogil:
        target = fmin(fmax((target - self.offset) / self.scale, -LARGEST_TARGET), LARGEST_TARGET)
        Forest.take_sample(self, places, values, size, target, w)
        self.weigh()

    cdef double error_of(self, int t, double target) noexcept nogil:
        cdef Tree *tree = &self.trees[t]
        return fabs(target - tree.counts[2 * tree.nodes[self.at[t]].child + 1])

    cdef double learn_leaf(self, Tree *tree, float *counts, double error, double target, float w) noexcept nogil:
        """Update the leaf's mean; return the squared error, bounded for outliers."""
        counts[0] += w
        counts[1] += (<float> target - counts[1]) * (w / counts[0])
        return fmin(error * error, fmin(9.0 * tree.square, 1e30))

    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil:
        cdef Py_ssize_t i
        cdef float *bins = self.row(block, 0)
        block.sum += w * <float> target
        for i in range(self.n_bins):
            bins[2 * self.bins[i]] += w
            bins[2 * self.bins[i] + 1] += w * <float> target

    # Splits and restarts ----------------------------------------------------------------------------------------------

    cdef bint find_split(self, const Block *block, Best *best) noexcept nogil:
        """Find the best candidate by reduction of the squared error; return whether the leaf splits."""
        cdef const int32_t *feature = <const int32_t *> self.body(block)
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef const float *bins = self.row(block, 0)
        cdef Py_ssize_t k
        cdef double bound = self.epsilon(block), gain
        cdef float cut = 0.0, left, total
        for k in range(self.m):
            if feature[k] >= 0:
                gain = best_edge(
                    bins + 2 * BINS * k, low[k], step[k], block.weight, block.sum, LEAST_BRANCH, &cut, &left, &total
                )
                compare(best, k, gain, cut)
        return best.candidate >= 0 and (best.second < (1.0 - bound) * best.gain or bound < TAU)

    cdef void fill_leaves(
        self, Tree *tree, const Block *block, Py_ssize_t k, float cut, int32_t leaf, int32_t other
    ) noexcept nogil:
        cdef const float *low = self.body(block) + self.m
        cdef const float *step = low + self.m
        cdef float *one = tree.counts + 2 * leaf
        cdef float *two = tree.counts + 2 * other
        cdef float errors = tree.leaves[leaf].errors, mean = one[1], left = 0.0, total = 0.0, at
        cdef const float *bins = self.row(block, 0) + 2 * BINS * k
        best_edge(bins, low[k], step[k], block.weight, block.sum, LEAST_BRANCH, &at, &left, &total)
        two[0] = block.weight - left + SHRINKING
        two[1] = <float> fmin(fmax((block.sum - total + SHRINKING * mean) / two[0], -LARGEST_TARGET), LARGEST_TARGET)
        one[0] = left + SHRINKING
        one[1] = <float> fmin(fmax((total + SHRINKING * mean) / one[0], -LARGEST_TARGET), LARGEST_TARGET)
        tree.leaves[leaf].errors = errors * (left / block.weight)
        tree.leaves[other].errors = errors - tree.leaves[leaf].errors

    cdef bint may_restart(self, int t) noexcept nogil:
        """Whether no other tree is younger, or a younger one is grown and has clearly lower errors."""
        cdef int other
        cdef bint youngest = True
        for other in range(self.n_trees):
            if self.trees[other].age < self.trees[t].age:
                if self.trees[other].age >= GROWN and self.trees[other].fast < BETTER * self.trees[t].fast:
                    return True
                youngest = False
        return youngest

    cdef void begin(self, int t) noexcept nogil:
        """Restart a tree from its mean so far; its previous error counts as ``INHERITED`` samples."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf
        cdef int64_t age = tree.age
        cdef double total = 0.0, weight = 0.0, fast = tree.fast, square = tree.square
        for leaf in range(tree.n_leaves):
            weight += tree.counts[2 * leaf]
            total += <double> tree.counts[2 * leaf] * tree.counts[2 * leaf + 1]
        Forest.begin(self, t)
        if age > 0:
            tree.age, tree.fast, tree.slow, tree.square = INHERITED, fast, fast, square
        if weight > 0.0:
            tree.counts[0], tree.counts[1] = SHRINKING, <float> (total / weight)

    cdef void weigh(self) noexcept nogil:
        """Compute the weights of the trees, which are as far apart as their errors."""
        weights_of_losses(&self.trees[0].fast, sizeof(Tree) // sizeof(double), self.n_trees, &self.trees[0].weight)

    # Units ------------------------------------------------------------------------------------------------------------

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.scale *= ratio
        self.offset = ratio * self.offset + shift
        if not (1e-3 < self.scale < 1e3 and fabs(self.offset) < 10.0 * fmax(1.0, self.scale)):
            self.fold()

    cdef void fold(self) noexcept nogil:
        """Convert the leaves to the units of the target, so that ``scale`` is 1 and ``offset`` 0."""
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
            bins = self.row(block, 0)
            for i in range(BINS * self.m):
                bins[2 * i + 1] = <float> fmin(
                    fmax(self.scale * bins[2 * i + 1] + self.offset * bins[2 * i], -1e30), 1e30
                )
        self.scale, self.offset = 1.0, 0.0

    # State ------------------------------------------------------------------------------------------------------------

    def predict(self, places, values):
        """Return the mean of the target."""
        return float(Forest.predict(self, places, values)[0])

    def state(self):
        return Forest.state(self) | {"units": np.array([self.scale, self.offset])}

    def restore(self, dict state):
        units = checked_array(state, "units", np.float64, 2, -1e5, 1e5)
        if not 1e-4 < units[0] < 1e4:
            raise ValueError("the units of a forest are out of range")
        Forest.restore(self, state)
        if self.seen:
            self.weigh()
        self.scale, self.offset = units

    def units_of(self, merging, each):
        """Return the factor and offset that turn a shard's leaf predictions into targets of the merged mixture."""
        (ratio, shift), (scale, offset) = merging.units(each), each.state[self.name]["units"].tolist()
        return np.array([ratio * scale, ratio * offset + shift])

    def merged(self, merging):
        """Return a forest with a tree from each shard in turn, except shards whose target unit is very different."""
        donors = [each for each in merging.donors if near(self.units_of(merging, each))]
        if not donors:
            return self.state()
        units = self.units_of(merging, donors[0])
        forests = moved(self.name, donors)
        for each, forest in zip(donors, forests):
            scale, offset = self.units_of(merging, each)
            forest |= in_units(forest, scale / units[0], (offset - units[1]) / units[0]) | {"units": units}
        return assembled(forests)

    def _check(self):
        cdef Py_ssize_t b, k
        cdef Block *block
        cdef float weight
        Forest._check(self)
        for b in range(self.n_blocks):
            block = self.block_at(b)
            if block.tree >= 0:
                for k in range(self.m):
                    weight = sum([self.row(block, 0)[2 * (BINS * k + i)] for i in range(BINS)])
                    assert weight <= block.weight * 1.001
