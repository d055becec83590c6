"""Boosted trees over the rows of the memory, which are rebuilt one by one, in turn, for ever.

A tree is fitted to what all others leave.  With G and H, the sums of the first and second derivatives of the loss over
the rows of a node or a leaf,

    gain of a split = G_l² / (H_l + λ) + G_r² / (H_r + λ) - G² / (H + λ)        value of a leaf = ν G / (H + λ)

What the K trees agree on is shrunk to K ν / (1 - ν + K ν), so passes without end do not overfit.  The loss is that of
class_trees.pyx or of target_trees.pyx.

The work is cut into pieces: a piece looks at one column of one level, or goes once over some rows.  The phases of a
tree:

    EDGES       draw new edges for some columns, and the columns that the tree looks at
    TAKE_OUT    take the old tree out of the sums of the rows; compute gradients
    GROW        of every drawn column, compare all splits of all nodes of a level; then move the rows to the branches
    SUM         add up the gradients of the rows of each leaf, for every class
    ADD         set the values of the leaves; add the tree to the sums of the rows

A row that is replaced while a tree is grown leaves it; a new row joins it with a gradient of 0.

There are 8 trees at first; they double with the rows, up to TREES.  A tree looks at three quarters of the columns, at
most ``DRAWN``: five eighths of these are drawn by the decayed gains of all trees, the others at random.  Levels below
the root look at every second one in turn, if these are more than ``PER_LEVEL``.

If a column has more codes than there are bins, two or four codes share a bin, with an offset for each tree.
"""

from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.loops cimport add_histogram, compare_splits, converted, route
from river_okl._core.memory.latest cimport EDGES, below_all, largest_single
from river_okl._core.splitmix cimport scrambled
from river_okl._core.store.table cimport Conversion

from river_okl._core.states import LARGEST_COUNT

cdef enum:
    ROWS_PER_TREE = 8           # until there are TREES
    FEW = 4                     # columns of which none is left out
    PER_LEAF = 64               # rows, on average, below which a tree is not split further
    MANY = 4096                 # rows of which every second one is enough to find a split
    PER_LEVEL = 8               # columns, of more of which every second one is enough below the root
    PIECE = 4096                # rows of a piece, of a single function
    RECODING = 20               # visits of a row whose code is found again

cdef enum:
    EDGES_PHASE
    TAKE_OUT
    GROW
    SUM
    ADD

cdef Py_ssize_t TREES = 60, FIRST_TREES = 8
cdef double SHRINKAGE = 0.2     # ν
cdef double DECAY = 0.98        # of the gains, per tree
cdef double LEAST_GAIN = 1e-6


cdef float threshold_in(float threshold, double ratio, double shift) noexcept:
    """Return a threshold in another unit."""
    if threshold == below_all or threshold >= largest_single:
        return threshold
    return converted(threshold, ratio, shift)


cdef class Trees(Table):
    """The trees of a memory.

    Parameters
    ----------
    latest
        The rows from which they are built.
    ridge
        λ.
    least
        Minimum H of a branch.
    first
        The first column that they look at.
    """

    def __init__(self, Latest latest, double ridge, double least, Py_ssize_t first=0):
        self.latest, self.tree = latest, Axis("tree", FIRST_TREES)
        self.ridge, self.least, self.first = ridge, least, first
        self.per_class = Classes(1, split=0.5)
        row, column, leaves = latest.row, latest.column, (self.tree, LEAVES)
        number = {"dtype": "f4", "low": -largest_single, "high": largest_single}
        count = {"dtype": "i8", "low": 0, "high": LARGEST_COUNT}
        threshold = number | {"default": largest_single, "low": below_all}
        split = {"dtype": "i4", "low": 0, "high": 2**16}
        self.declare(<size_t> &self.columns, "columns", leaves, **split)
        self.declare(<size_t> &self.thresholds, "thresholds", leaves, **threshold)
        self.declare(<size_t> &self.values, "values", (*leaves, self.per_class), **number)
        self.declare(<size_t> &self.gains, "gains", (column,), low=0.0)
        self.declare(<size_t> &self.leaf, "leaf", (self.tree, row), dtype="u1", low=0, high=LEAVES - 1)
        self.declare(<size_t> &self.sums, "sums", (row, self.per_class), **number)
        self.declare(<size_t> &self.gradient, "gradients", (row, 2), **number)
        self.declare(<size_t> &self.grown, "grown", (), **count)
        self.declare(<size_t> &self.phase, "phase", (), dtype="i4", low=EDGES_PHASE, high=ADD)
        self.declare(<size_t> &self.level, "level", (), dtype="i4", low=0, high=DEPTH)
        self.declare(<size_t> &self.at, "at", (), **count)
        self.declare(<size_t> &self.drawn, "drawn", (DRAWN,), dtype="i4", low=0, high=2**16)
        self.declare(<size_t> &self.n_drawn, "n_drawn", (), dtype="i4", low=0, high=DRAWN)
        nodes = (NODES,)
        self.declare(<size_t> &self.best.gain, "best_gains", nodes, low=0.0)
        self.declare(<size_t> &self.best.column, "best_columns", nodes, **split)
        self.declare(<size_t> &self.best.code, "best_codes", nodes, dtype="i4", low=0, high=CODES - 1)
        self.declare(<size_t> &self.new_columns, "new_columns", (LEAVES,), **split)
        self.declare(<size_t> &self.new_thresholds, "new_thresholds", (LEAVES,), **threshold)
        self.declare(<size_t> &self.leaf_sums, "leaf_sums", (LEAVES, self.per_class, 2), **number)
        self.scratch(<size_t> &self.at_leaf, (self.tree,), dtype="u1")
        self.scratch(<size_t> &self.chances, (column,))
        self.scratch(<size_t> &self.scores, (self.per_class,))

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef void ask(self) noexcept:
        """Set ``scores`` of the last sample of the rows, of each function."""
        cdef Py_ssize_t t, o, n = self.per_class.n, room = self.per_class.room, trees = self.tree.n
        cdef const float *x = self.latest.x
        cdef const float *of_leaf
        cdef int32_t level, k
        cdef uint8_t *at = self.at_leaf
        memset(at, 0, trees)
        for level in range(DEPTH):  # trees in the inner loop: their branches do not wait for each other
            for t in range(trees):
                k = <int32_t> (t * LEAVES + (1 << level) - 1 + at[t])
                at[t] = <uint8_t> (2 * at[t] + (x[self.columns[k]] > self.thresholds[k]))
        memset(self.scores, 0, n * 8)
        for t in range(trees):
            of_leaf = self.values + (t * LEAVES + at[t]) * room
            for o in range(n):
                self.scores[o] += of_leaf[o]

    cdef void enter(self, Py_ssize_t slot) noexcept:
        """Add the last sample of ``ask``, which is now the row of this slot."""
        cdef Py_ssize_t t, n = self.per_class.n, room = self.latest.row.room, growing = self.growing()
        cdef float *sums = self.sums + slot * self.per_class.room
        memset(sums, 0, n * 4)
        for t in range(self.tree.n):
            self.leaf[t * room + slot] = self.at_leaf[t]
            if t != growing or self.counts(slot):
                self.add_leaf(t, slot, 1.0)
        self.gradient[slot] = Gradient(0.0, 0.0)
        if self.phase == GROW or self.phase == SUM or (self.phase == TAKE_OUT and slot < self.at):
            self.leaf[growing * room + slot] = self.node_of_new()

    cpdef Py_ssize_t bytes_of_row(self) noexcept:
        """Return the bytes of a row here."""
        return self.tree.n + 4 * self.per_class.n + 24

    cdef Py_ssize_t most(self) noexcept:
        """Return the number of trees in the end."""
        return TREES

    cdef Py_ssize_t due(self) noexcept:
        """Return the number of trees from the next one on: they double with the rows."""
        cdef Py_ssize_t n = self.tree.n
        return n if self.latest.row.n < ROWS_PER_TREE * n else min(2 * n, self.most())

    cdef Py_ssize_t growing(self) noexcept:
        """Return the tree that is being replaced."""
        return self.grown % max(1, self.tree.n)

    cdef bint counts(self, Py_ssize_t slot) noexcept:
        """Whether the sums of a row contain the old tree that is being replaced, or the new one."""
        if self.phase == TAKE_OUT:
            return slot >= self.at
        return self.phase == EDGES_PHASE or (self.phase == ADD and slot < self.at)

    cdef void add_leaf(self, Py_ssize_t t, Py_ssize_t slot, float sign) noexcept:
        """Add the value of a row's leaf to its sums, or subtract it."""
        cdef Py_ssize_t o, n = self.per_class.n, room = self.per_class.room
        cdef const float *of_leaf = self.values + (t * LEAVES + self.leaf[t * self.latest.row.room + slot]) * room
        cdef float *sums = self.sums + slot * room
        for o in range(n):
            sums[o] += sign * of_leaf[o]

    cdef uint8_t node_of_new(self) noexcept:
        """Return the node of the last sample in the tree that is being grown."""
        cdef Py_ssize_t level
        cdef uint8_t node = 0
        cdef int32_t k
        for level in range(self.level):
            k = (1 << level) - 1 + node
            node = <uint8_t> (2 * node + (self.latest.x[self.new_columns[k]] > self.new_thresholds[k]))
        return node

    # Growing a tree ---------------------------------------------------------------------------------------------------

    cdef Py_ssize_t most_drawn(self) noexcept:
        """Return the number of columns that a tree looks at."""
        cdef Py_ssize_t n = max(0, self.latest.column.n - self.first)
        return min(n, max(FEW, min(DRAWN, (3 * n + 3) // 4)))

    cdef Py_ssize_t visits(self) noexcept:
        """Return how often the growing of a tree of full depth visits each row."""
        cdef Py_ssize_t n = self.most_drawn()
        return n + (n if n <= PER_LEVEL else n // 2) * (DEPTH - 1) + DEPTH + 3

    cdef Py_ssize_t turns(self) noexcept:
        """Return the number of turns that these trees have had; the set with the fewest grows the next one."""
        return self.grown

    cdef bint looks_at(self, Py_ssize_t i) noexcept:
        """Whether this level compares the splits of a drawn column: below the root, of many columns, every second."""
        return self.level == 0 or self.n_drawn <= PER_LEVEL or (i + self.level + self.grown) & 1

    cdef void finish(self) noexcept:
        """Finish the growing tree."""
        while self.phase != EDGES_PHASE:
            self.step()

    cdef Py_ssize_t step(self) noexcept:
        """Do one piece of work; return the number of rows that it visited."""
        cdef Py_ssize_t n = self.latest.row.n, first = self.at, last
        if self.phase == EDGES_PHASE:
            return self.draw_edges()
        if self.phase == GROW:
            while self.at < self.n_drawn and not self.looks_at(self.at):
                self.at += 1
            if self.at < self.n_drawn:
                self.compare(self.drawn[self.at])
                self.at += 1
            else:
                self.split()
            return n
        last = min(n, first + max(256, PIECE // max(1, self.per_class.n // 2)))
        if self.phase == TAKE_OUT:
            self.take_out(first, last)
        elif self.phase == SUM:
            self.sum_leaves(first, last)
        else:
            self.add(first, last)
        self.at = last
        if last == n:
            self.end_phase()
        return last - first

    cdef void end_phase(self) noexcept:
        """Begin the next phase, after one that went over all rows."""
        cdef Py_ssize_t c
        self.at = 0
        if self.phase == TAKE_OUT:
            self.phase = GROW
        elif self.phase == SUM:
            self.replace()
            self.phase = ADD
        else:
            for c in range(self.latest.column.n):
                self.gains[c] *= DECAY
            self.grown += 1
            self.phase = EDGES_PHASE
            self.tree.n = min(self.due(), self.tree.room)

    cdef Py_ssize_t draw_edges(self) noexcept:
        """Draw the edges of the next column if they are due; after the last one begin to grow a tree."""
        cdef Py_ssize_t c
        for c in range(self.at, self.latest.column.n):
            if self.latest.draw_if_due(c):
                self.at = c + 1
                return RECODING * self.latest.row.n
        self.draw_columns()
        self.at, self.level, self.phase = 0, 0, TAKE_OUT
        for c in range(LEAVES):
            self.new_columns[c], self.new_thresholds[c] = 0, largest_single
        memset(self.leaf_sums, 0, LEAVES * self.per_class.room * sizeof(Gradient))
        self.forget_best()
        self.begin()
        return 0

    cdef void begin(self) noexcept:
        """Prepare for a tree, whose old one is still in all sums."""

    cdef double uniform(self, Py_ssize_t i) noexcept:
        """Return random number i of the growing tree, at least 0 and below 1."""
        return <double> (scrambled(scrambled(self.grown + 1) + i) >> 11) / 9007199254740992.0

    cdef void draw_columns(self) noexcept:
        """Draw the columns that the tree looks at: all if there are few, else by their gains and at random."""
        cdef Py_ssize_t i, c, n = self.latest.column.n
        cdef double left
        self.n_drawn = <int> self.most_drawn()
        for i in range(self.n_drawn):
            self.drawn[i] = <int32_t> (self.first + i)
        if n - self.first <= self.n_drawn:
            return
        for c in range(n):
            self.chances[c] = self.gains[c] if c >= self.first else -1.0
        for i in range(self.n_drawn):
            if i == 5 * self.n_drawn // 8 or self.total_chance() <= 0.0:  # at random, or there are no gains left
                for c in range(n):
                    self.chances[c] = 1.0 if self.chances[c] >= 0.0 else -1.0
            left = self.uniform(i) * self.total_chance()
            for c in range(n):
                if self.chances[c] > 0.0:
                    self.drawn[i] = <int32_t> c
                    left -= self.chances[c]
                    if left < 0.0:
                        break
            self.chances[self.drawn[i]] = -1.0

    cdef double total_chance(self) noexcept:
        """Return the sum of the chances of columns that are not drawn yet; that of the others is -1."""
        cdef Py_ssize_t c
        cdef double total = 0.0
        for c in range(self.latest.column.n):
            if self.chances[c] > 0.0:
                total += self.chances[c]
        return total

    cdef void take_out(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Take the old tree out of the sums of some rows, and compute their gradients."""
        cdef Py_ssize_t i, t = self.growing()
        for i in range(first, last):
            self.add_leaf(t, i, -1.0)
        memset(self.leaf + t * self.latest.row.room + first, 0, last - first)
        self.find_gradients(first, last)

    cdef void find_gradients(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Set the gradients of some rows."""

    cdef void forget_best(self) noexcept:
        """Begin a level, without splits."""
        cdef Py_ssize_t k
        for k in range(NODES):
            self.forget_split(k)

    cdef void forget_split(self, Py_ssize_t k) noexcept:
        """Let all rows of a node of this level go to the left."""
        self.best.gain[k], self.best.column[k], self.best.code[k] = LEAST_GAIN, 0, CODES - 1

    cdef void compare(self, int32_t column) noexcept:
        """Compare the splits of a column with the best ones of all nodes of this level."""
        cdef Gradient[CELLS] sums
        cdef uint8_t[CODES] bin_of
        cdef uint8_t[BINS] last
        cdef Py_ssize_t nodes = 1 << self.level, code, codes = 2 + self.latest.n_edges[column], bins
        cdef Py_ssize_t room = self.latest.row.room, n = self.latest.row.n, coarse = 0, offset = 0
        cdef Py_ssize_t stride = 2 if n >= MANY else 1
        if codes == 2:
            return
        while codes >> coarse > BINS - 2:
            coarse += 1
        offset = <Py_ssize_t> (scrambled(self.grown) & ((1 << coarse) - 1))
        bin_of[0] = last[0] = 0
        for code in range(1, codes):  # gaps keep a bin of their own
            bin_of[code] = <uint8_t> (1 + ((code - 1 + offset) >> coarse))
            last[bin_of[code]] = <uint8_t> code
        bins = bin_of[codes - 1] + 1
        memset(sums, 0, nodes * BINS * sizeof(Gradient))
        add_histogram(
            self.latest.codes + column * room, self.leaf + self.growing() * room, self.gradient,
            self.grown % stride, stride, n, bin_of, sums
        )
        compare_splits(sums, nodes, bins, last, column, self.ridge, self.least, self.best)

    cdef int deepest(self) noexcept:
        """Return the depth of a tree, at most DEPTH, at which a leaf has PER_LEAF rows on average."""
        cdef int depth = 1
        while depth < DEPTH and PER_LEAF << depth < self.latest.row.n:
            depth += 1
        return depth

    cdef void split(self) noexcept:
        """Split the nodes of this level, and move the rows to the branches."""
        cdef Py_ssize_t k, i, nodes = 1 << self.level, room = self.latest.row.room
        cdef uint8_t *node = self.leaf + self.growing() * room
        cdef int32_t column
        cdef bint found = False
        for k in range(nodes):
            if self.best.gain[k] <= LEAST_GAIN:
                continue
            found, column = True, self.best.column[k]
            self.gains[column] += self.best.gain[k]
            self.new_columns[nodes - 1 + k] = column
            self.new_thresholds[nodes - 1 + k] = self.latest.threshold(column, self.best.code[k])
        if found:
            route(self.latest.codes, room, self.best, self.latest.row.n, node)
            self.level += 1
        if not found or self.level >= self.deepest():
            for i in range(self.latest.row.n):
                node[i] = <uint8_t> (node[i] << (DEPTH - self.level))
            self.level = DEPTH
        self.forget_best()
        self.at = 0
        if self.level == DEPTH:
            self.phase = SUM

    cdef void sum_leaves(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Add the gradients of some rows to those of their leaves."""
        cdef Py_ssize_t i
        cdef const uint8_t *leaf = self.leaf + self.growing() * self.latest.row.room
        cdef Gradient *sums = <Gradient *> self.leaf_sums
        for i in range(first, last):
            sums[leaf[i] * self.per_class.room].g += self.gradient[i].g
            sums[leaf[i] * self.per_class.room].h += self.gradient[i].h

    cdef void replace(self) noexcept:
        """Replace the old tree by the new one."""
        cdef Py_ssize_t k, o, t = self.growing(), room = self.per_class.room
        cdef const Gradient *sums = <const Gradient *> self.leaf_sums
        memcpy(self.columns + t * LEAVES, self.new_columns, LEAVES * 4)
        memcpy(self.thresholds + t * LEAVES, self.new_thresholds, LEAVES * 4)
        for k in range(LEAVES):
            for o in range(self.per_class.n):
                self.values[(t * LEAVES + k) * room + o] = <float> (
                    SHRINKAGE * sums[k * room + o].g / (sums[k * room + o].h + self.ridge)
                )

    cdef void add(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Add the new tree to the sums of some rows."""
        cdef Py_ssize_t i, t = self.growing()
        for i in range(first, last):
            self.add_leaf(t, i, 1.0)

    # Changes ----------------------------------------------------------------------------------------------------------

    cdef void restart(self) noexcept:
        """Forget all trees, but not which columns had gains."""
        cdef Py_ssize_t k, rows = self.latest.row.room, room = self.per_class.room
        memset(self.columns, 0, self.tree.n * LEAVES * 4)
        for k in range(self.tree.n * LEAVES):
            self.thresholds[k] = largest_single
        memset(self.values, 0, self.tree.n * LEAVES * room * 4)
        memset(self.leaf, 0, self.tree.n * rows)
        memset(self.sums, 0, rows * room * 4)
        memset(self.gradient, 0, rows * sizeof(Gradient))
        self.phase, self.at, self.level = EDGES_PHASE, 0, 0

    cpdef void forget(self, Axis axis, list items) noexcept:
        """Remove splits on the columns of features that are forgotten; call it before the rows free these."""
        cdef Py_ssize_t place
        if axis is self.latest.scaler:
            for place in items:
                if self.latest.column_of[place] >= 0:
                    self.drop_column(self.latest.column_of[place])
        Table.forget(self, axis, items)

    cdef void rescale_gains(self, double factor) noexcept:
        """Multiply the gains of all splits by a factor."""
        cdef Py_ssize_t c, k
        for c in range(self.latest.column.n):
            self.gains[c] *= factor
        for k in range(NODES):
            if self.best.gain[k] > LEAST_GAIN:
                self.best.gain[k] *= factor
            if self.best.gain[k] <= LEAST_GAIN:
                self.forget_split(k)

    cdef void drop_column(self, int32_t column) noexcept:
        """Let all rows go to the left where trees split on a column, which has no gains any more."""
        cdef Py_ssize_t k
        self.gains[column] = 0.0
        for k in range(self.tree.n * LEAVES):
            if self.columns[k] == column:
                self.columns[k], self.thresholds[k] = 0, largest_single
        for k in range(LEAVES):
            if self.new_columns[k] == column:
                self.new_columns[k], self.new_thresholds[k] = 0, largest_single
        for k in range(NODES):
            if self.best.column[k] == column:
                self.forget_split(k)

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert the thresholds."""
        cdef Py_ssize_t k
        for k in range(self.tree.n * LEAVES):
            self.thresholds[k] = self.in_new_unit(self.columns[k], self.thresholds[k], to)
        for k in range(LEAVES):
            self.new_thresholds[k] = self.in_new_unit(self.new_columns[k], self.new_thresholds[k], to)
        return Table.change_units(self, axis, to)

    cdef void rescale_answer(self, double ratio, double shift) noexcept:
        """Convert the thresholds of the answers, which are the first column, to a new unit of the target."""
        cdef Py_ssize_t k
        for k in range(self.tree.n * LEAVES):
            if self.columns[k] == 0:
                self.thresholds[k] = threshold_in(self.thresholds[k], ratio, shift)
        for k in range(LEAVES):
            if self.new_columns[k] == 0:
                self.new_thresholds[k] = threshold_in(self.new_thresholds[k], ratio, shift)

    cdef float in_new_unit(self, int32_t column, float threshold, const Conversion *to) noexcept:
        """Return a threshold in the new unit of its column."""
        cdef int32_t place = self.latest.place[column] if column < self.latest.column.n else -1
        return threshold_in(threshold, to.ratio[place], to.shift[place]) if 0 <= place < to.n else threshold

    # State ------------------------------------------------------------------------------------------------------------

    cdef int reserve_trees(self, Py_ssize_t n) except -1:
        """Make room for the trees of a state: none if there are too many classes for one."""
        if n > self.most() or (n == 0 and self.most() > 0):
            raise ValueError(f"a memory has {n} trees, of at most {self.most()}")
        self.shrink(self.tree, n)
        return 0

    def restore(self, dict state):
        Table.restore(self, state)
        columns = self.latest.column.n
        for name in ("columns", "new_columns", "best_columns", "drawn"):
            if (state[name] >= max(1, columns)).any():
                raise ValueError(f"a tree of a memory splits on one of {columns} columns that there are not")
        if (state["best_codes"][state["best_gains"] > LEAST_GAIN] > EDGES).any():
            raise ValueError("a split of a memory beyond the edges of its column")
        if self.phase != EDGES_PHASE:
            self.check_growing(state["leaf"])
        elif self.at > columns:
            raise ValueError(f"a tree of a memory is at column {self.at} of {columns}")

    cdef int check_growing(self, leaf) except -1:
        """Raise unless the rows are at nodes that the growing tree has at its level: these are indices."""
        cdef Py_ssize_t end = self.n_drawn if self.phase == GROW else self.latest.row.n
        if self.tree.n == 0 or self.at > end or (self.phase == TAKE_OUT and self.level > 0):
            raise ValueError(f"the growing tree of a memory is at {self.at} of {end}, at level {self.level}")
        if self.phase == GROW and self.level == DEPTH:
            raise ValueError("the growing tree of a memory is too deep")
        nodes = 1 << self.level if self.phase in (TAKE_OUT, GROW) else LEAVES
        moved = leaf[self.growing(), :self.at] if self.phase == TAKE_OUT else leaf[self.growing()]
        if (moved >= nodes).any():
            raise ValueError(f"a row of a memory is at a node beyond the {nodes} of its level")
        return 0

    def _check(self):
        cdef Py_ssize_t i, t, o, room = self.per_class.room
        Table._check(self)
        growing = self.growing()
        sums, leaves = np.zeros((2, self.latest.row.n, self.per_class.n))
        for i in range(self.latest.row.n):
            for t in range(self.tree.n):
                if t != growing or self.counts(i):
                    for o in range(self.per_class.n):
                        leaves[i, o] += self.values[(t * LEAVES + self.leaf[t * self.latest.row.room + i]) * room + o]
            sums[i] = [self.sums[i * room + o] for o in range(self.per_class.n)]
        # of values of all sizes, a sum in single precision has the rounding errors of larger ones that it has had
        np.testing.assert_allclose(sums, leaves, rtol=1e-4, atol=1e-4 + 1e-5 * abs(leaves).max(initial=0.0))
