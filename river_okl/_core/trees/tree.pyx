"""Hoeffding trees as arrays: nodes, leaves, and the statistics of leaves that learn, in bounded memory.

A tree is an array of nodes, each a split or a leaf.  A leaf predicts from a few numbers.  While it learns, a
leaf also has a block of statistics: candidate features, and for each of them 16 bins over the values seen in
the leaf.  target_leaf.pyx defines the numbers of leaves and bins.

The blocks of all trees together take at most ``bytes``, whatever the number of features, and proportionally
more for 3 to ``MAX_CLASSES`` classes.  A leaf without a block waits, and takes over the block of a leaf with
fewer recent errors.  If more features come than fit, a block's candidates are one of every 3, 4, ... adjacent
features, drawn for each block.

A feature with value 0 is absent, and vice versa: bins count non-zero values only, and the weight of the samples without
the feature is the difference to the block's weight.  A dropped feature counts as always absent.
"""

from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.splitmix cimport next_random, scrambled
from river_okl._core.store.memory cimport viewed
from river_okl._core.store.table cimport Axis, Conversion

from river_okl._core.states import checked_array

cdef extern from "forest.h":
    enum: LANES
    enum: BINS

cdef enum:
    LEAF = -1
    GONE = -2


cdef Py_ssize_t COUNT_BYTES = 1 << 17   # of the counts of all leaves of a tree
cdef Py_ssize_t LEARNING = 100          # maximum number of leaves of a tree with a block
# More classes than these add no memory.  RandomTree, 7 classes, 40,000 samples, 35 and 20 features: 65.5 and 81.4 %;
# with the memory for two classes 59.5 and 77.9.
cdef Py_ssize_t MAX_CLASSES = 10
cdef Py_ssize_t ROOM = 4                # blocks of a tree that always fit: otherwise leaves have fewer candidates
cdef float TEST_EVERY = 200.0           # weight between two tests of a leaf for a split
cdef int CHALLENGED = 8                 # number of leaves that a waiting leaf is compared with
cdef float FARTHEST_BIN = 2.5           # end of the bins, before the range of a feature is known
cdef double LARGEST = 1e6               # of a value: if features are not scaled, its square must not overflow
cdef double MAX_WEIGHT = 1e10           # bound of weights in single precision
cdef double MAX_SUM = 1e30

# Types of the buffers, for NumPy
FLOAT = np.dtype(np.float32)
NODE = np.dtype([("feature", np.int32), ("cut", np.float32), ("child", np.int32)])
OF_LEAF = np.dtype([("block", np.int32), ("errors", np.float32)])
SAVED = "weight", "next_test", "by_bayes", "by_counts", "sum"
OF_BLOCK = np.dtype(
    [("tree", np.int32), ("leaf", np.int32), *((name, np.float32) for name in SAVED), ("seed", np.uint32)]
)


cdef inline float converted(const Conversion *to, int32_t place, double value) noexcept:
    value = to.ratio[place] * value + to.shift[place]
    return <float> (-LARGEST if value < -LARGEST else LARGEST if value > LARGEST else value)


def _check_nodes(feature, child):
    """Raise ValueError unless every node but the first has one parent, before it, and every leaf one node."""
    leaf = feature == LEAF
    if not (
        np.array_equal(np.sort(child[leaf]), np.arange(len(child) // 2 + 1))
        and np.array_equal(np.sort(child[~leaf]), np.arange(1, len(child), 2))
        and (child[~leaf] > np.flatnonzero(~leaf)).all()
    ):
        raise ValueError("the nodes of a tree do not match")


cdef class Trees(Expert):
    """Trees with one kind of leaf, which share the memory for statistics.

    Parameters
    ----------
    features
        The axis of the features.
    n_trees
        Number of trees.
    n_classes
        Initial number of classes; 1 for a target.
    one_in
        1: every feature is a candidate in every leaf; 2: one of every two adjacent features, drawn for each leaf.
    bytes
        Maximum size of the statistics of all trees, for two classes or a target.
    seed
        Seed of the random numbers.
    """

    def __init__(
        self, Axis features, int n_trees, Py_ssize_t n_classes, *, Py_ssize_t one_in=1, Py_ssize_t bytes=15 << 14,
        uint64_t seed=1
    ):
        cdef int t
        if self.numbers == 0 or self.trees != NULL:
            raise TypeError("trees have leaves of classes or of a target, and are made once")
        if not (0 < n_trees <= 1000 and 0 < one_in <= 1000 and 0 < bytes <= 1 << 40):
            raise ValueError(f"a forest of {n_trees} trees with one in {one_in} features and {bytes} bytes")
        self.features = features
        self.n_trees, self.one_in, self.bytes, self.random = n_trees, one_in, bytes, seed
        self.cells = BINS * self.numbers
        self.trees = <Tree *> self.resize(NULL, 0, n_trees, sizeof(Tree))
        self.at = <int32_t *> self.resize(NULL, 0, n_trees, 4)
        self.lay_out(0, n_classes)
        for t in range(n_trees):
            self.reserve_leaves(&self.trees[t])
            self.begin(t)
            self.trees[t].weight = 1.0 / n_trees

    # What the kind of leaf defines ------------------------------------------------------------------------------------

    cdef Py_ssize_t totals_of(self, Py_ssize_t n_classes) noexcept:
        """Return the number of floats between a block's head and its candidates."""
        return 0

    cdef void fill_leaves(
        self, Tree *tree, const Block *block, Py_ssize_t k, float cut, int32_t leaf, int32_t other
    ) noexcept nogil:
        """Set the numbers and errors of the two leaves of a split at candidate k, from the old leaf's statistics."""

    # Room -------------------------------------------------------------------------------------------------------------

    cpdef int reserve(self) except -1:
        """Make room for all features, for one more leaf of every tree, and for its block."""
        cdef int t
        cdef Py_ssize_t n, places = self.features.n
        for t in range(self.n_trees):
            if self.trees[t].n_leaves == self.trees[t].room:
                self.reserve_leaves(&self.trees[t])
        if places > self.places:
            self.lay_out(max(places, self.places + self.places // 4), self.n_classes)
        elif self.n_unowned < self.n_trees and self.n_blocks < self.max_blocks:
            n = min(max(self.n_trees, 2 * self.n_blocks), self.max_blocks)
            self.move_blocks(n, self.block_floats, self.head, self.m)
        return 0

    cdef int reserve_leaves(self, Tree *tree) except -1:
        """Make room for 50 % more leaves, within the bound."""
        cdef int32_t room = min(max(4, tree.room + tree.room // 2), self.max_leaves)
        if room <= tree.room:
            return 0
        tree.nodes = <Node *> self.resize(tree.nodes, max(0, 2 * tree.n_leaves - 1), 2 * room - 1, sizeof(Node))
        tree.leaves = <Leaf *> self.resize(tree.leaves, tree.n_leaves, room, sizeof(Leaf))
        tree.counts = <float *> self.resize(tree.counts, tree.n_leaves * self.width, room * self.width, 4)
        tree.room = room
        return 0

    cdef int32_t leaves_that_fit(self, Py_ssize_t width) noexcept:
        """Return the maximum number of leaves of a tree, each with ``width`` numbers."""
        return <int32_t> min(self.bound, max(4, COUNT_BYTES // (4 * width)))

    cdef tuple layout(self, Py_ssize_t places, Py_ssize_t n_classes):
        """Return the features per candidate, the candidates, the floats of a block, and the maximum of blocks."""
        cdef Py_ssize_t head = sizeof(Block) // 4 + self.totals_of(n_classes), each = 3 + self.cells * n_classes
        cdef Py_ssize_t bytes = self.bytes * min(MAX_CLASSES, max(2, n_classes)) // 2
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
        """Allocate memory for this many features and classes.  Blocks keep their statistics unless the number
        of features per candidate changes."""
        cdef Py_ssize_t group, m, size, limit, n, owned, b, k, before = self.m
        cdef int t
        cdef float *body
        cdef bint kept
        group, m, size, limit = self.layout(places, n_classes)
        kept = group == self.group and m > 0
        n = min(self.n_blocks, limit)
        owned = min(n, self.n_blocks - self.n_unowned) if group == self.group else 0
        if n - owned < self.n_trees:
            n = min(max(self.n_trees, 2 * n), limit)
        if self.numbers * n_classes != self.width:
            self.widen_leaves(self.numbers * n_classes)
        for t in range(self.n_trees):
            while self.trees[t].n_blocks > (limit // self.n_trees if kept else 0):
                self.close_block(self.trees[t].leaves[self.least_leaf(t, -1)].block)
        self.move_blocks(n, size, sizeof(Block) // 4 + self.totals_of(n_classes), m)
        self.widen_features(places)
        self.max_blocks, self.share, self.group, self.n_classes = limit, limit // self.n_trees, group, n_classes
        for b in range(self.n_blocks - self.n_unowned):
            body = self.body(self.block_at(b))
            for k in range(before, m):
                (<int32_t *> body)[k] = -1
                body[m + k], body[2 * m + k] = -FARTHEST_BIN, 2.0 * FARTHEST_BIN / BINS
            self.choose_candidates(self.block_at(b))
        return 0

    cdef int widen_leaves(self, Py_ssize_t width) except -1:
        """Give every leaf ``width`` numbers; a tree with more leaves than fit restarts."""
        cdef int t
        cdef int32_t leaf
        cdef Tree *tree
        cdef float *counts
        self.max_leaves = self.leaves_that_fit(width)
        for t in range(self.n_trees):
            tree = &self.trees[t]
            if tree.n_leaves > self.max_leaves:
                self.begin(t)
            tree.room = min(tree.room, self.max_leaves)
            counts = <float *> self.resize(NULL, 0, tree.room * width, 4)
            for leaf in range(tree.n_leaves):
                memcpy(counts + leaf * width, tree.counts + leaf * self.width, self.width * 4)
            self.release(tree.counts)
            tree.counts = counts
        self.width = width
        return 0

    cdef int move_blocks(self, Py_ssize_t n, Py_ssize_t size, Py_ssize_t head, Py_ssize_t m) except -1:
        """Move to n blocks of this size, each with m candidates after its head; blocks with an owner come first."""
        cdef float *blocks = <float *> self.resize(NULL, 0, n * size, 4)
        cdef float *body
        cdef Block *old
        cdef Py_ssize_t b, c
        cdef int32_t owned = 0
        for b in range(self.n_blocks):
            old = self.block_at(b)
            if old.tree < 0:
                continue
            body = blocks + owned * size + head
            memcpy(body - head, old, self.head * 4)
            for c in range(3):
                memcpy(body + c * m, self.body(old) + c * self.m, self.m * 4)
            for c in range(self.n_classes):
                memcpy(body + (3 + self.cells * c) * m, self.row(old, c), self.cells * self.m * 4)
            self.trees[old.tree].leaves[old.leaf].block = owned
            owned += 1
        self.release(self.blocks)
        self.blocks, self.n_blocks, self.block_floats, self.head, self.m = blocks, n, size, head, m
        self.unowned, self.n_unowned = <int32_t *> self.resize(self.unowned, 0, n, 4), 0
        for b in range(n - 1, owned - 1, -1):
            self.block_at(b).tree = -1
            self.unowned[self.n_unowned] = <int32_t> b
            self.n_unowned += 1
        return 0

    cdef int widen_features(self, Py_ssize_t places) except -1:
        """Make room for this many features, and forget the last sample."""
        cdef float *dense = <float *> self.resize(NULL, 0, 4 * places, 4)
        if self.places:
            memcpy(dense + 2 * places, self.low, min(self.places, places) * 4)
            memcpy(dense + 3 * places, self.high, min(self.places, places) * 4)
        self.release(self.dense)
        self.dense, self.present, self.n_present = dense, <int32_t *> (dense + places), 0
        self.low, self.high = dense + 2 * places, dense + 3 * places
        self.places = places
        return 0

    # Blocks -----------------------------------------------------------------------------------------------------------

    cdef void choose_candidates(self, Block *block) noexcept nogil:
        """Draw a candidate from each group of adjacent places, by the block's seed; -1 for an empty group."""
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
        """Give block b, without statistics, to a leaf: the leaf of the last sample, or its sibling."""
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
        block.seed = <uint32_t> (next_random(&self.random) >> 32)
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
        """Take block b from its owner."""
        cdef Block *block = self.block_at(b)
        self.trees[block.tree].leaves[block.leaf].block = -1
        self.trees[block.tree].n_blocks -= 1
        block.tree = -1
        self.unowned[self.n_unowned] = b
        self.n_unowned += 1

    cdef int32_t least_leaf(self, int t, int32_t other) noexcept nogil:
        """Return the leaf with the fewest recent errors, of equals the first, of those with a block except
        ``other``; or -1."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t i, least = -1
        for i in range(tree.n_leaves):
            if i == other or tree.leaves[i].block < 0:
                continue
            if least < 0 or tree.leaves[i].errors < tree.leaves[least].errors:
                least = i
        return least

    cdef bint take_block(self, int t, int32_t leaf) noexcept nogil:
        """Give a leaf a free block if there is one and its tree has less than its share; return whether it got one."""
        if self.n_unowned == 0 or self.trees[t].n_blocks >= self.share:
            return False
        self.n_unowned -= 1
        self.open_block(t, leaf, self.unowned[self.n_unowned])
        return True

    cdef void challenge(self, int t, int32_t leaf) noexcept nogil:
        """Give a waiting leaf a free block, or the block of the next leaf of its tree with less than half as
        many errors."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t i, b
        if self.take_block(t, leaf):
            return
        for i in range(CHALLENGED):  # no-cython-lint
            tree.hand = 0 if tree.hand + 1 >= tree.n_leaves else tree.hand + 1
            b = tree.leaves[tree.hand].block
            if b >= 0 and 2.0 * tree.leaves[tree.hand].errors + self.lead < tree.leaves[leaf].errors:
                self.close_block(b)
                self.take_block(t, leaf)
                return

    cdef void give_blocks(self, int t, int32_t one, int32_t other) noexcept nogil:
        """Give the block of a split leaf to the first of the two new leaves.  The second gets a free block,
        or that of the leaf with the fewest errors, if these are less than half its own."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t least
        self.close_block(max(tree.leaves[one].block, tree.leaves[other].block))
        self.take_block(t, one)
        if self.take_block(t, other):
            return
        least = self.least_leaf(t, one)
        if least >= 0 and tree.leaves[least].errors < <float> 0.5 * tree.leaves[other].errors:
            self.close_block(tree.leaves[least].block)
            self.take_block(t, other)

    # Nodes ------------------------------------------------------------------------------------------------------------

    cdef void place_values(self, const int32_t *places, const double *values, Py_ssize_t size) noexcept nogil:
        """Store the sample to route.  Features without room count as absent."""
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
        """Return the node of the sample's leaf."""
        cdef int32_t i = 0
        cdef int32_t feature = tree.nodes[0].feature
        while feature != LEAF:
            i = tree.nodes[i].child + ((self.dense[feature] if feature >= 0 else <float> 0.0) > tree.nodes[i].cut)
            feature = tree.nodes[i].feature
        return i

    cdef void begin(self, int t) noexcept nogil:
        """Reset a tree to a single leaf without statistics."""
        cdef Tree *tree = &self.trees[t]
        cdef int32_t leaf
        for leaf in range(tree.n_leaves):
            if tree.leaves[leaf].block >= 0:
                self.close_block(tree.leaves[leaf].block)
        tree.resets += tree.n_leaves > 0
        tree.n_leaves, tree.hand = 1, 0
        tree.age, tree.fast, tree.slow, tree.square = 0, 0.0, 0.0, 0.0
        tree.nodes[0] = Node(LEAF, 0.0, 0)
        tree.leaves[0] = Leaf(-1, 0.0)
        memset(tree.counts, 0, self.width * 4)
        self.take_block(t, 0)

    cdef void split(self, int t, Py_ssize_t k, float cut) noexcept nogil:
        """Split the leaf of the last sample; its children start from what its statistics predict."""
        cdef Tree *tree = &self.trees[t]
        cdef Node *node = &tree.nodes[self.at[t]]
        cdef int32_t leaf = node.child, other = tree.n_leaves, child = 2 * tree.n_leaves - 1
        cdef const Block *block = self.block_at(tree.leaves[leaf].block)
        self.fill_leaves(tree, block, k, cut, leaf, other)
        tree.nodes[child] = Node(LEAF, 0.0, leaf)
        tree.nodes[child + 1] = Node(LEAF, 0.0, other)
        node.feature, node.cut, node.child = (<const int32_t *> self.body(block))[k], cut, child
        tree.n_leaves += 1
        tree.leaves[other].block = -1
        if tree.leaves[other].errors > tree.leaves[leaf].errors:
            self.give_blocks(t, other, leaf)
        else:
            self.give_blocks(t, leaf, other)

    cdef void sweep(self) noexcept nogil:
        """Halve the errors of leaves, and narrow the ranges of features."""
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

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert cuts, and the ranges of bins."""
        cdef int t
        cdef int32_t i, j
        cdef Py_ssize_t b, k
        cdef Tree *tree
        cdef float *low
        cdef double step
        self.place_values(NULL, NULL, 0)
        for t in range(self.n_trees):
            tree = &self.trees[t]
            for i in range(2 * tree.n_leaves - 1):
                j = tree.nodes[i].feature
                if 0 <= j < to.n:
                    tree.nodes[i].cut = converted(to, j, tree.nodes[i].cut)
        for b in range(self.n_blocks):
            if self.block_at(b).tree < 0:
                continue
            low = self.body(self.block_at(b)) + self.m
            for k in range(self.m):
                j = (<const int32_t *> self.body(self.block_at(b)))[k]
                if 0 <= j < to.n:
                    low[k] = converted(to, j, low[k])
                    step = min(to.ratio[j] * low[self.m + k], (LARGEST - low[k]) / BINS)
                    low[self.m + k] = max(<float> step, <float> 1e-6)
        for j in range(min(to.n, self.places)):
            if self.low[j] < 0.0 or self.high[j] > 0.0:
                self.low[j] = min(converted(to, j, self.low[j]), <float> 0.0)
                self.high[j] = max(converted(to, j, self.high[j]), <float> 0.0)

    cpdef void forget(self, Axis axis, list items) noexcept:
        """Drop the features at these places, which new features may take."""
        cdef int t
        cdef int32_t i
        cdef Py_ssize_t place, b, k, c
        cdef Block *block
        cdef Tree *tree
        self.place_values(NULL, NULL, 0)
        memset(self.present, 0, self.places * 4)  # marks, for now
        for place in items:
            if place < self.places:
                self.present[place] = 1
        for t in range(self.n_trees):
            tree = &self.trees[t]
            for i in range(2 * tree.n_leaves - 1):
                if tree.nodes[i].feature >= 0 and self.present[tree.nodes[i].feature]:
                    tree.nodes[i].feature = GONE
        for place in items:
            if place >= self.places:
                continue
            self.low[place] = self.high[place] = 0.0
            k = place // self.group
            for b in range(self.n_blocks):
                block = self.block_at(b)
                if block.tree >= 0 and (<const int32_t *> self.body(block))[k] == place:
                    for c in range(self.n_classes):
                        memset(self.row(block, c) + self.cells * k, 0, self.cells * 4)

    # State ------------------------------------------------------------------------------------------------------------

    @property
    def sizes(self):
        """The numbers of leaves, of leaves with a block, and of restarts, for every tree."""
        cdef int t
        return [(self.trees[t].n_leaves, self.trees[t].n_blocks, self.trees[t].resets) for t in range(self.n_trees)]

    cdef tuple views(self, int t):
        """Return the nodes, the leaves and the numbers of the leaves of a tree, as arrays that share its buffers."""
        cdef Tree *tree = &self.trees[t]
        return (
            viewed(tree.nodes, 2 * tree.n_leaves - 1, NODE),
            viewed(tree.leaves, tree.n_leaves, OF_LEAF),
            viewed(tree.counts, tree.n_leaves * self.width, FLOAT).reshape(tree.n_leaves, self.width),
        )

    cdef object rows_of_blocks(self):
        """Return the blocks as rows of a matrix."""
        return viewed(self.blocks, self.n_blocks * self.block_floats, FLOAT).reshape(self.n_blocks, self.block_floats)

    cdef dict parts_of(self, blocks):
        """Return what the blocks in the rows of a matrix consist of, as views."""
        cdef Py_ssize_t n = len(blocks), m = self.m, head = self.head, first = sizeof(Block) // 4
        bins = blocks[:, head + 3 * m:head + (3 + self.cells * self.n_classes) * m]
        return {
            "head": blocks[:, :first].view(OF_BLOCK).reshape(n),
            "totals": blocks[:, first:head],
            "candidates": blocks[:, head:head + m].view(np.int32),
            "low": blocks[:, head + m:head + 2 * m],
            "step": blocks[:, head + 2 * m:head + 3 * m],
            "bins": bins.reshape(n, self.n_classes, self.cells * m),
        }

    def state(self):
        cdef int t
        cdef Tree *tree
        running, ages = [], []
        for t in range(self.n_trees):
            tree = &self.trees[t]
            running.append((tree.fast, tree.slow, tree.square))
            ages.append((tree.n_leaves, tree.hand, tree.age, tree.resets))
        nodes, leaves, counts = [np.concatenate(each) for each in zip(*[self.views(t) for t in range(self.n_trees)])]
        learning = leaves["block"] >= 0
        blocks = self.parts_of(self.rows_of_blocks()[leaves["block"][learning]])  # in the order of their leaves
        head = blocks.pop("head")
        return {
            "features": nodes["feature"].copy(),
            "cuts": nodes["cut"].copy(),
            "children": nodes["child"].copy(),
            "learning": learning,
            "errors": leaves["errors"].copy(),
            "counts": counts,
            "running": np.array(running, dtype=np.float64),
            "ages": np.array(ages, dtype=np.int64),
            "blocks": {
                "seed": head["seed"].astype(np.int64),
                **{name: head[name].copy() for name in SAVED},
                **{name: part.copy() for name, part in blocks.items()},
            },
            "low": viewed(self.low, self.places, FLOAT).copy(),
            "high": viewed(self.high, self.places, FLOAT).copy(),
        }

    def restore(self, dict state):
        cdef Py_ssize_t group, m, limit, start, end
        cdef int t
        cdef Tree *tree
        n_classes, width = self.n_classes, self.numbers * self.n_classes
        ages = checked_array(state, "ages", np.int64, (self.n_trees, 4), 0, 2**52)
        running = checked_array(state, "running", np.float64, (self.n_trees, 3), 0.0, 1e100)
        n_leaves = ages[:, 0]
        if not (n_leaves.min() >= 1 and n_leaves.max() <= self.leaves_that_fit(width)):
            raise ValueError("a tree of a forest has too many leaves, or none")
        if (ages[:, 1] >= n_leaves).any():
            raise ValueError("the leaf of a tree that is challenged next is out of range")
        n = int(n_leaves.sum())
        low = checked_array(state, "low", np.float32, None, -LARGEST, LARGEST)
        places = len(low)
        high = checked_array(state, "high", np.float32, places, -LARGEST, LARGEST)
        counts = checked_array(state, "counts", np.float32, (n, width), self.least, MAX_WEIGHT)
        errors = checked_array(state, "errors", np.float32, n, 0.0, MAX_SUM)
        features = checked_array(state, "features", np.int32, 2 * n - self.n_trees, GONE, places - 1)
        children = checked_array(state, "children", np.int32, 2 * n - self.n_trees, 0, 2 * n + 1)
        cuts = checked_array(state, "cuts", np.float32, 2 * n - self.n_trees, -LARGEST, LARGEST)
        ends = np.cumsum(2 * n_leaves - 1)[:-1]
        for feature, child in zip(np.split(features, ends), np.split(children, ends)):
            _check_nodes(feature, child)
        group, m, _, limit = self.layout(places, n_classes)
        learning = checked_array(state, "learning", np.bool_, n, 0, 1)
        owner = np.repeat(np.arange(self.n_trees), n_leaves)
        if np.bincount(owner[learning], minlength=self.n_trees).max() > limit // self.n_trees:
            raise ValueError("a tree of a forest has more than its share of blocks")
        owned = int(learning.sum())
        saved = state["blocks"]
        checked_array(saved, "seed", np.int64, owned, 0, 2**32 - 1)
        for name in SAVED:
            checked_array(saved, name, np.float32, owned, -MAX_SUM, MAX_SUM)
        checked_array(saved, "totals", np.float32, (owned, self.totals_of(n_classes) if m else 0), 0.0, MAX_WEIGHT)
        candidates = checked_array(saved, "candidates", np.int32, (owned, m), -1, places - 1)
        for name in ("low", "step"):
            checked_array(saved, name, np.float32, (owned, m), -MAX_SUM, MAX_SUM)
        checked_array(saved, "bins", np.float32, (owned, n_classes, self.cells * m), -MAX_SUM, MAX_SUM)
        if ((candidates >= 0) & (candidates // group != np.arange(m))).any():
            raise ValueError("the candidates of a forest do not match its features")
        # valid: from here on only memory allocation can fail
        for t in range(self.n_trees):
            self.trees[t].n_leaves = self.trees[t].n_blocks = 0
        self.n_blocks = self.n_unowned = 0
        self.lay_out(places, n_classes)
        self.move_blocks(owned, self.block_floats, self.head, self.m)
        self.n_unowned = 0
        number = np.concatenate([np.arange(count) for count in n_leaves])
        if owned:
            blocks = self.parts_of(self.rows_of_blocks())
            head = blocks.pop("head")
            head["tree"], head["leaf"] = owner[learning], number[learning]
            for name in ("seed", *SAVED):
                head[name] = saved[name]
            for name in blocks:
                blocks[name][:] = saved[name]
        block = np.where(learning, np.cumsum(learning) - 1, -1)
        start = end = 0
        for t in range(self.n_trees):
            tree = &self.trees[t]
            while tree.room < n_leaves[t]:
                self.reserve_leaves(tree)
            tree.n_leaves, tree.hand, tree.age, tree.resets = ages[t]
            tree.fast, tree.slow, tree.square = running[t]
            leaf, node = slice(start, start + tree.n_leaves), slice(end, end + 2 * tree.n_leaves - 1)
            nodes, leaves, numbers = self.views(t)
            nodes["feature"], nodes["cut"], nodes["child"] = features[node], cuts[node], children[node]
            leaves["block"], leaves["errors"] = block[leaf], errors[leaf]
            numbers[:] = counts[leaf]
            tree.n_blocks = learning[leaf].sum()
            start, end = leaf.stop, node.stop
        viewed(self.low, places, FLOAT)[:], viewed(self.high, places, FLOAT)[:] = low, high

    def _check(self):
        cdef int t
        cdef Py_ssize_t b, i, k, j
        cdef Tree *tree
        cdef Block *block
        owned = set()
        assert (
            self.n_blocks <= self.max_blocks
            and self.n_blocks * self.block_floats * 4 <= self.bytes * MAX_CLASSES // 2
        ), "statistics are bounded"
        for t in range(self.n_trees):
            tree = &self.trees[t]
            assert 1 <= tree.n_leaves <= tree.room and tree.n_leaves <= self.max_leaves, "leaves are bounded"
            nodes, leaves, counts = self.views(t)
            _check_nodes(nodes["feature"], nodes["child"])
            assert GONE <= nodes["feature"].min() and nodes["feature"].max() < self.places
            assert np.isfinite(counts).all() and (counts[:, 0] >= 0.0).all()
            assert (leaves["errors"] >= 0.0).all()
            for i in range(tree.n_leaves):
                if tree.leaves[i].block >= 0:
                    block = self.block_at(tree.leaves[i].block)
                    assert block.tree == t and block.leaf == i, "a leaf owns its block"
                    owned.add(tree.leaves[i].block)
            assert tree.n_blocks == (leaves["block"] >= 0).sum() <= self.share, "every tree has its share"
        assert (
            len(owned) + self.n_unowned == self.n_blocks
            and owned | {self.unowned[i] for i in range(self.n_unowned)} == {*range(self.n_blocks)}
        )
        for b in owned:
            block = self.block_at(b)
            for k in range(self.m):
                j = (<const int32_t *> self.body(block))[k]
                assert (
                    j == -1
                    if k * self.group >= self.places else j // self.group == k
                ), "a candidate is one of its group"
                assert self.body(block)[2 * self.m + k] > 0.0, "its bins have a width"
