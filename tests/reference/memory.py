"""The memories of OKLClassifier and OKLRegressor in plain NumPy: boosted trees over the latest samples, and neighbours.

Written from the heads of _core/mixture/{memory,class_memory,target_memory}.pyx and of the files in _core/memory. Where
rounding could decide between two splits it has the precision and the order of additions of the core, and it does the
work of growing a tree in the same pieces, as rows come and go between them. Features beyond 256, which share columns,
and those that are forgotten are left out.
"""

from __future__ import annotations

import math

import numpy as np

single = np.float32
GAP, BELOW_ALL, NOWHERE = single(-(2.0**127)), single(-(2.0**126)), single(2.0**100)  # a value; thresholds
ANSWER = object()  # the name of the column of answers
COLUMNS, TREES, FIRST_TREES, DEPTH, LEAVES, NODES, BINS = 256, 60, 8, 6, 64, 32, 64
EDGES = 246  # at most, of a column
LEAST_GAIN = 1e-6
NO_SPLIT = LEAST_GAIN, 0, 255  # gain, column, largest code on the left


def scrambled(z):
    """The hash of SplitMix64, of 64 bits."""
    z %= 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def exp(x):
    """e^x of an array in single precision, operation by operation."""
    x = np.maximum(x, single(-87.0))
    turns = x * single(1.44269504)
    n = np.trunc(turns + np.where(turns < 0.0, single(-0.5), single(0.5)))
    r = (x - n * single(0.693359375)) + n * single(2.12194440e-4)
    e = single(1.9875691e-4)
    for coefficient in (1.3981999e-3, 8.3334519e-3, 4.1665795e-2, 1.6666665e-1, 0.5):
        e = e * r + single(coefficient)
    e = e * r * r + r + single(1.0)
    return (e.view(np.int32) + n.astype(np.int32) * 2**23).view(single)


def softmax(scores):
    """The probabilities of rows of scores, in single precision."""
    e = exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, dtype=float).astype(single)[:, None]


def converted(values, ratio, shift):
    """Values in another unit; gaps remain gaps."""
    values = np.asarray(values)
    return np.where(values == GAP, GAP, np.clip(ratio * values.astype(float) + shift, -(2.0**99), 2.0**99))


def steps(values):
    """Values in twentieths of a standard deviation, as they are in distances."""
    return np.clip(np.rint(20.0 * np.where(values == GAP, 0.0, values.astype(float))), -64, 63).astype(int)


class OfRows:
    """What has arrays of rows; ``ROWS`` are their names."""

    def keep(self, slots):
        for name in self.ROWS:
            setattr(self, name, getattr(self, name)[slots])

    def append(self):
        for name in self.ROWS:
            each = getattr(self, name)
            setattr(self, name, np.pad(each, [(0, 1), *[(0, 0)] * (each.ndim - 1)]))


class Latest(OfRows):
    """The rows; for a target the first column has the answers as they were given."""

    ROWS = "values", "codes", "y", "weight"

    def __init__(self, answers):
        # of each column: its feature, edges between codes, and ``added`` when they were drawn
        self.names, self.edges, self.drawn_at = [], [], []
        self.values, self.codes = np.zeros((0, 0), single), np.zeros((0, 0), int)  # [row, column]
        self.y, self.weight = np.zeros(0, single), np.zeros(0, single)  # the number of a class, or a target
        self.start = self.added = 0  # the slot of the oldest row; rows until now
        self.with_gaps = set()  # names of features that have had one
        self.answer = single(0.0)
        if answers:
            self.add_column(ANSWER)
        self.read({})

    def __len__(self):
        return len(self.y)

    def add_column(self, name):
        """Rows until now have the value 0."""
        assert len(self.names) < COLUMNS
        self.names.append(name)
        self.drawn_at.append(0)
        self.edges.append(np.zeros(0, single))
        self.values = np.pad(self.values, ((0, 0), (0, 1)))
        self.codes = np.pad(self.codes, ((0, 0), (0, 1)), constant_values=1)

    def read(self, x):
        """Set ``x``, the values of a sample by column."""
        values = [self.answer if name is ANSWER else x.get(name, 0.0) for name in self.names]
        gaps = [GAP if name in self.with_gaps else 0.0 for name in self.names]  # a first gap counts as the mean
        values = [gap if v is None else v for v, gap in zip(values, gaps, strict=True)]
        self.x = converted(np.array(values, float), 1.0, 0.0).astype(single)

    def give(self, answer):
        """Set the answer to the sample."""
        self.answer = self.x[0] = single(converted(answer, 1.0, 0.0))

    def add_columns(self, x):
        for name in sorted(x.keys() - self.names, key=repr):  # as the scaler numbers the new features of a sample
            self.add_column(name)
        self.with_gaps |= {name for name, value in x.items() if value is None}
        self.read(x)

    def write(self, slot, y, weight):
        self.values[slot], self.y[slot], self.weight[slot] = self.x, converted(y, 1.0, 0.0), weight
        self.codes[slot] = [self.code(column, value) for column, value in enumerate(self.x)]
        self.added += 1

    def slots(self):
        """Those of all rows, the oldest first."""
        return (self.start + np.arange(len(self))) % max(1, len(self))

    def code(self, column, values):
        """0 for a gap, else 1 + the number of edges below a value."""
        return np.where(values == GAP, 0, 1 + np.searchsorted(self.edges[column], values))

    def draw_if_due(self, column):
        """Draw the edges of a column anew if the rows have doubled, or have all been replaced."""
        n = len(self)
        if self.added < self.drawn_at[column] + max(1, min(self.drawn_at[column], n)):
            return False
        self.drawn_at[column] = self.added
        some = self.values[:: -(-n // 1024), column]
        some = np.sort(some[some != GAP])
        rises, edges, due = np.flatnonzero(some[1:] > some[:-1]) + 1, [], 0
        for i in rises.tolist():
            if len(rises) <= EDGES or i * (EDGES + 1) >= due * len(some):  # all edges, or quantiles
                due = i * (EDGES + 1) // len(some) + 1
                middle = single(float(some[i - 1]) + 0.5 * float(some[i] - some[i - 1]))
                edges.append(middle if middle < some[i] else some[i - 1])
        self.edges[column] = np.array(edges[:EDGES], single)
        self.codes[:, column] = self.code(column, self.values[:, column])
        return True

    def convert(self, column, ratio, shift):
        """z ← ratio z + shift"""
        self.values[:, column] = converted(self.values[:, column], ratio, shift)
        self.edges[column] = converted(self.edges[column], ratio, shift).astype(single)

    def rescale(self, ratio, shift):
        """The same of targets and answers."""
        self.y = converted(self.y, ratio, shift).astype(single)
        self.convert(0, ratio, shift)

    def rescale_targets(self, n, ratio, shift):
        """Of the latest n rows."""
        latest = self.slots()[max(0, len(self) - n) :]
        self.y[latest] = converted(self.y[latest], ratio, shift)


class Trees(OfRows):
    """Trees that look at the columns from ``first`` on; λ, and the least H of a branch."""

    ROWS = "leaf", "sums", "gradient"
    most, deepest = TREES, DEPTH

    def __init__(self, latest, ridge, least, first=0):
        self.latest, self.ridge, self.least, self.first = latest, ridge, least, first
        self.leaf = np.zeros((0, FIRST_TREES), int)  # [row, tree]; of the growing tree: its node
        self.sums = np.zeros((0, 1), single)  # [row, output] of all trees
        self.gradient = np.zeros((0, 2), single)  # g, h
        self.gains = np.zeros(COLUMNS)
        self.grown = 0  # trees until now
        # [tree, node]: node k of a level is at 2^level - 1 + k; the last tree is the growing one
        self.columns = np.zeros((FIRST_TREES + 1, LEAVES), int)
        self.thresholds = np.zeros((FIRST_TREES + 1, LEAVES), single)
        self.outputs = np.zeros((FIRST_TREES, LEAVES, 1), single)  # [tree, leaf, output]
        self.room = FIRST_TREES  # for trees: how many there may be since the last sample
        self.restart()

    # A sample

    def ask(self):
        """Set ``scores``, of each output."""
        self.at_leaf = self.node(slice(-1), DEPTH)
        self.scores = sum(self.outputs[t, k].astype(float) for t, k in enumerate(self.at_leaf))

    def node(self, trees, levels):
        """The node of the sample after some levels of trees; nodes 2 k and 2 k + 1 are the branches of node k."""
        x = np.append(self.latest.x, single(0.0))  # there may be no column
        columns, thresholds = self.columns[trees], self.thresholds[trees]
        node = np.zeros(len(columns), int)
        for level in range(levels):
            k = np.arange(len(columns)), 2**level - 1 + node
            node = 2 * node + (x[columns[k]] > thresholds[k])
        return node

    def enter(self, slot):
        """Add the sample, which is now a row; it is also one of all trees whose leaves its sums contain."""
        self.leaf[slot], self.sums[slot], self.gradient[slot] = self.at_leaf, 0.0, 0.0
        for t, k in enumerate(self.at_leaf):
            if t != self.growing or self.counts(slot):
                self.sums[slot] += self.outputs[t, k]
        if self.phase in ("grow", "sum") or (self.phase == "take out" and slot < self.at):
            self.leaf[slot, self.growing] = self.node(slice(-1, None), self.level)[0]

    @property
    def growing(self):
        return self.grown % len(self.outputs)

    @property
    def bytes_of_row(self):
        n_trees, _, n_outputs = self.outputs.shape
        return n_trees + 4 * n_outputs + 4 * (len(self.ROWS) + 3)

    def counts(self, slot):
        """Whether the sums of a row contain the growing tree: the old one, or in the end the new one."""
        if self.phase == "take out":
            return slot >= self.at
        return self.phase == "edges" or (self.phase == "add" and slot < self.at)

    # Growing a tree

    def restart(self):
        """Begin anew, with trees that are 0."""
        for each in (self.columns, self.outputs, self.leaf, self.sums, self.gradient):
            each[:] = 0
        self.thresholds[:] = NOWHERE
        self.phase, self.at, self.level = "edges", 0, 0
        self.work, self.best = self.grow(), np.tile(NO_SPLIT, (NODES, 1))

    @property
    def most_drawn(self):
        """How many columns a tree looks at."""
        n = len(self.latest.names) - self.first
        return min(n, max(4, min(16, math.ceil(3 * n / 4))))

    @property
    def turns(self):
        return self.grown

    @property
    def visits(self):
        """How often the growing of a tree of full depth visits each row."""
        n = self.most_drawn
        return n + (n if n <= 8 else n // 2) * (DEPTH - 1) + DEPTH + 3

    def finish(self):
        while self.phase != "edges":
            next(self.work)

    def grow(self):
        """Grow trees for ever, piece by piece; each piece yields the number of rows that it has visited."""
        while True:
            for column, _ in enumerate(self.latest.names):  # also those that come meanwhile
                if self.latest.draw_if_due(column):
                    yield 20 * len(self.latest)
            self.draw_columns()
            self.columns[-1], self.thresholds[-1], self.best[:], self.level = 0, NOWHERE, NO_SPLIT, 0
            self.leaf_sums = np.zeros((*self.outputs.shape[1:], 2), single)
            self.prepare()
            self.begin("take out")
            yield 0
            yield from self.go_over(self.take_out, "grow")
            while self.level < DEPTH:
                for i, column in enumerate(self.drawn):
                    if self.level == 0 or len(self.drawn) <= 8 or (i + self.level + self.grown) % 2 == 1:
                        self.compare(column)
                        yield len(self.latest)
                self.split()
                yield len(self.latest)
            yield from self.go_over(self.sum_leaves, "add")
            yield from self.go_over(self.add, "edges")

    def go_over(self, work, following):
        """Do some work for all rows; with the last piece the phase that follows begins."""
        while self.phase != following:
            n, first = len(self.latest), self.at
            self.at = min(n, first + max(256, 4096 // max(1, self.sums.shape[1] // 2)))
            rows = np.arange(first, self.at)
            work(rows, self.growing)
            if self.at == n:
                self.begin(following)
            yield len(rows)

    def begin(self, phase):
        self.phase, self.at, t = phase, 0, self.growing
        if phase == "add":  # the new tree replaces the old one
            self.columns[t], self.thresholds[t] = self.columns[-1], self.thresholds[-1]
            g, h = np.moveaxis(self.leaf_sums.astype(float), 2, 0)
            self.outputs[t] = 0.2 * g / (h + self.ridge)
        elif phase == "edges":
            self.gains, self.grown = 0.98 * self.gains, self.grown + 1
            self.add_trees(min(self.due, self.room) - len(self.outputs))

    @property
    def due(self):
        """The number of trees from the next one on: they double with the rows."""
        n = len(self.outputs)
        return n if len(self.latest) < 8 * n else min(2 * n, self.most)

    def add_trees(self, n):
        """Add trees that are 0."""
        if n > 0:
            self.columns = np.insert(self.columns, [-1] * n, 0, axis=0)
            self.thresholds = np.insert(self.thresholds, [-1] * n, NOWHERE, axis=0)
            self.outputs = np.pad(self.outputs, ((0, n), (0, 0), (0, 0)))
            self.leaf = np.pad(self.leaf, ((0, 0), (0, n)))

    def draw_columns(self):
        """All columns if there are few, else some by their gains, and some at random."""
        n, drawn, chances = len(self.latest.names), self.most_drawn, self.gains.copy()
        self.drawn = [*range(self.first, n)] if n - self.first == drawn else []
        for i in range(len(self.drawn), drawn):
            chances[[*range(self.first), *self.drawn]] = 0.0
            if i == 5 * drawn // 8 or not chances.any():  # at random from now on, or no other column has a gain
                chances = 1.0 * (np.arange(COLUMNS) < n)
                chances[[*range(self.first), *self.drawn]] = 0.0
            u = (scrambled(scrambled(self.grown + 1) + i) >> 11) / 2.0**53
            until = np.cumsum(chances)
            self.drawn.append(int(np.searchsorted(until, u * until[-1], side="right")))

    def prepare(self):
        """Before the old tree is taken out."""

    def take_out(self, rows, t):
        """Take the old tree out of the sums of some rows, and compute their gradients."""
        self.sums[rows] -= self.outputs[t, self.leaf[rows, t]]
        self.leaf[rows, t] = 0
        self.gradient[rows] = np.stack(self.gradients(rows), axis=1)

    def compare(self, column):
        """Compare all splits of a column with the best ones of the nodes of this level."""
        codes, n = np.arange(2 + len(self.latest.edges[column])), len(self.latest)
        if len(codes) == 2:
            return
        shared = 1  # codes that share a bin, except that of gaps
        while len(codes) // shared > BINS - 2:
            shared *= 2
        bins = np.where(codes == 0, 0, 1 + (codes - 1 + scrambled(self.grown) % shared) // shared)
        rows = slice(self.grown % 2, n, 2) if n >= 4096 else slice(0, n)
        sums, cells = np.zeros((2, NODES * BINS), single), BINS * self.leaf[rows, self.growing]
        for each, gradient in zip(sums, self.gradient[rows].T, strict=True):
            np.add.at(each, cells + bins[self.latest.codes[rows, column]], gradient)
        sums = sums.reshape(2, NODES, BINS)[:, : 2**self.level, : bins[-1] + 1].astype(float)
        for best, in_bin, left_g, left_h in zip(self.best, sums[1], *np.cumsum(sums, axis=2), strict=False):
            g, h = left_g[-1], left_h[-1]
            if h < 2.0 * self.least:
                continue
            own, right_g, right_h = best[0] + g * g / (h + self.ridge), g - left_g, h - left_h
            for b in np.flatnonzero((in_bin > 0.0) & (left_h >= self.least) & (right_h >= self.least)):
                left, right = left_h[b] + self.ridge, right_h[b] + self.ridge
                gain = left_g[b] * left_g[b] * right + right_g[b] * right_g[b] * left - own * left * right
                if gain > 0.0:
                    own += gain / (left * right)
                    best[:] = best[0] + gain / (left * right), column, codes[bins == b][-1]

    def split(self):
        """Split the nodes of this level, and move the rows to the branches."""
        nodes, t = 2**self.level, self.growing
        node, found = self.leaf[:, t], np.flatnonzero(self.best[:, 0] > LEAST_GAIN)
        for k in found:
            column, code = self.best[k, 1:].astype(int)
            self.gains[column] += self.best[k, 0]
            self.columns[-1, nodes - 1 + k] = column
            self.thresholds[-1, nodes - 1 + k] = self.latest.edges[column][code - 1] if code > 0 else BELOW_ALL
        if len(found):
            column, code = self.best[node, 1:].T.astype(int)
            self.leaf[:, t] = node = 2 * node + (self.latest.codes[np.arange(len(node)), column] > code)
            self.level += 1
        deepest = max([1, *(d for d in range(1, self.deepest + 1) if 64 * 2 ** (d - 1) < len(node))])
        if not len(found) or self.level >= deepest:
            self.leaf[:, t] = node * 2 ** (DEPTH - self.level)
            self.level = DEPTH
        self.best[:] = NO_SPLIT
        if self.level == DEPTH:
            self.begin("sum")

    def sum_leaves(self, rows, t):
        """Add the gradients of some rows to those of their leaves."""
        for i in range(2):
            np.add.at(self.leaf_sums[:, 0, i], self.leaf[rows, t], self.gradient[rows, i])

    def add(self, rows, t):
        """Add the new tree to the sums of some rows."""
        self.sums[rows] += self.outputs[t, self.leaf[rows, t]]

    def convert(self, column, ratio, shift):
        """z ← ratio z + shift"""
        there = (self.columns == column) & (self.thresholds != BELOW_ALL) & (self.thresholds < NOWHERE)
        self.thresholds[there] = converted(self.thresholds[there], ratio, shift)


class ClassTrees(Trees):
    """Of the log-odds of two classes, or of the scores of more."""

    n_classes = 2

    def __init__(self, latest):
        super().__init__(latest, 3.0, 1.0)

    def gradients(self, rows):
        c, w, sums = self.latest.y[rows].astype(int), self.latest.weight[rows], self.sums[rows]
        if self.n_classes == 2:
            s = sums[:, 0]
            e = exp(-abs(s))
            more, less = 1 / (1 + e), e / (1 + e)
            h = np.maximum(more * less, single(1e-16))
            g = np.where(c == 1, np.where(s > 0, less, more), np.where(s > 0, -more, -less))
        else:  # along a direction
            seed = scrambled(self.grown + 1)
            direction = np.array([2 * (scrambled(seed - o - 1) >> 63) - 1 for o in range(self.n_classes)], single)
            mean = (softmax(sums).astype(float) @ direction).astype(single)
            g, h = direction[c] - mean, np.maximum(1 - mean * mean, single(1e-6))
        return w * g, w * h

    def sum_leaves(self, rows, t):
        """For more than two classes without rows that have come since."""
        if self.n_classes == 2:
            super().sum_leaves(rows, t)
            return
        for row, p in zip(rows, softmax(self.sums[rows]), strict=True):
            if self.gradient[row, 1] > 0.0:
                w, sums = self.latest.weight[row], self.leaf_sums[self.leaf[row, t]]
                sums[:, 0] -= w * p
                sums[:, 1] += w * (p * (1 - p))
                sums[int(self.latest.y[row]), 0] += w

    @property
    def most(self):
        return min(TREES, 2**11 // (1 if self.n_classes == 2 else self.n_classes))

    def add_class(self):
        """The third makes of one function one of each class; of many there are fewer trees."""
        self.finish()
        self.n_classes += 1
        kept, half = 2**11 // self.n_classes, np.array([-0.5, 0.5], single)
        for t in range(kept, len(self.outputs)):
            self.sums -= self.outputs[t, self.leaf[:, t]]
        trees = [*range(min(kept, len(self.outputs))), -1]
        self.columns, self.thresholds = self.columns[trees], self.thresholds[trees]
        self.outputs, self.leaf = self.outputs[:kept], self.leaf[:, :kept]
        if self.n_classes == 3:
            self.outputs, self.sums = half * self.outputs, half * self.sums
        self.outputs = np.pad(self.outputs, ((0, 0), (0, 0), (0, 1)))
        self.sums = np.pad(self.sums, ((0, 0), (0, 1)))


class TargetTrees(Trees):
    """Of the residuals of a linear regression, as it is now, or of those of the answers."""

    ROWS = *Trees.ROWS, "residual"

    def __init__(self, latest, linear=None):
        self.linear, self.residual, self.deviation, self.in_full = linear, np.zeros(0, single), 0.0, False
        self.leaf_sums, self.medians, self.bounds = np.zeros((LEAVES, 1, 2), single), *np.zeros((2, LEAVES), single)
        super().__init__(latest, 10.0, 10.0, 0 if linear is None else 1)

    def residuals(self, rows):
        latest = self.latest
        residual = latest.y[rows] - self.sums[rows, 0]
        if self.linear is None:
            return residual - latest.values[rows, 0]
        residual = residual - single(self.linear.ridge.beta[0])
        for name, values in zip(latest.names, latest.values[rows].T, strict=True):
            if name in self.linear.inputs:
                values = np.where(values == GAP, single(0.0), np.clip(values, single(-5.0), single(5.0)))
                residual = residual - single(self.linear.ridge.beta[self.linear.inputs[name]]) * values
        return residual

    def prepare(self):
        """Find the robust deviation of the residuals, of some rows."""
        n = len(self.latest)
        some = self.residuals(np.arange(0, n, -(-n // 255)))
        self.deviation = 1e2 if self.in_full else max(1.4826 * float(np.median(abs(some))), 1e-4)

    def gradients(self, rows):
        bound, w = single(20.0 * self.deviation), self.latest.weight[rows]
        self.residual[rows] = self.residuals(rows)
        return w * np.clip(self.residual[rows], -bound, bound), w

    def find_medians(self, t):
        """The medians of the leaves, and the bounds of the differences from them, of 63 rows of each, evenly."""
        for k in range(LEAVES):
            rows = np.flatnonzero((self.leaf[:, t] == k) & (self.gradient[:, 1] > 0.0))
            some = []
            for i, row in enumerate(rows):
                if i * 63 >= len(some) * len(rows) and len(some) < 63:
                    some.append(self.residual[row])
            self.medians[k] = np.median(some) if some else 0.0
            spread = np.median(abs(np.array(some) - self.medians[k])) if some else 0.0
            self.bounds[k] = 5.0 * max(self.deviation, 1.4826 * float(spread))

    def sum_leaves(self, rows, t):
        """Residuals, clipped around the medians of the leaves."""
        if rows[0] == 0:
            self.find_medians(t)
        leaf, w = self.leaf[rows, t], self.gradient[rows, 1]
        medians, bounds = self.medians[leaf], self.bounds[leaf]
        np.add.at(
            self.leaf_sums[:, 0, 0], leaf, w * (medians + np.clip(self.residual[rows] - medians, -bounds, bounds))
        )
        np.add.at(self.leaf_sums[:, 0, 1], leaf, w)

    def rescale(self, ratio, shift):
        """The target in another unit; rows have it already."""
        parts = self.outputs, self.sums, self.residual, self.medians, self.bounds
        for each in (*parts, self.gradient[:, 0], self.leaf_sums[:, :, 0]):
            each[:] = converted(each, ratio, 0.0)
        self.deviation, self.gains = min(ratio * self.deviation, 2.0**100), ratio**2 * self.gains
        self.best[self.best[:, 0] > LEAST_GAIN, 0] *= ratio**2
        self.best[self.best[:, 0] <= LEAST_GAIN] = NO_SPLIT
        if self.linear is None:
            self.convert(0, ratio, shift)


class ErrorTrees(Trees):
    """Of the logarithms of errors, in running errors."""

    ROWS = *Trees.ROWS, "errors"
    most, deepest = 30, 4

    def __init__(self, latest):
        self.errors = np.zeros(0, single)
        super().__init__(latest, 20.0, 20.0)

    @property
    def turns(self):
        return 2 * self.grown

    def enter(self, slot):
        super().enter(slot)
        self.errors[slot] = np.clip(self.error, -7.0, 7.0)

    def gradients(self, rows):
        w = self.latest.weight[rows]
        return w * (self.errors[rows] - self.sums[rows, 0]), w

    def rescale(self, ratio, shift):
        self.convert(0, ratio, shift)


class Memory:
    """Three predictions: by the first set of trees, by 4 of the latest 512 rows, and by 6 of all."""

    def __init__(self, latest, *sets, max_rows=8192):
        from tests.reference.okl import Changes  # here, because that module imports this one

        self.latest, self.sets, self.max_rows, self.changes = latest, sets, max_rows, Changes(5.0, 0.1)
        self.first = latest.names.count(ANSWER)  # column that distances use
        self.near = np.ones(COLUMNS, single)  # weights of the columns in distances
        self.near[: self.first] = 0.0
        self.credit = 0.0  # visits of rows that samples have paid for

    # A sample

    def measure(self):
        """Set the distances of the sample from all rows, and how many of these are searched."""
        near = self.near[: len(self.latest.names)]
        weights = (single(127.0) * near / (near.max(initial=single(0.0)) or single(1.0)) + single(0.5)).astype(int)
        distance = (weights * np.abs(steps(self.latest.values) - steps(self.latest.x))).sum(axis=1)
        self.distance = distance / max(1.0, 20.0 * weights.sum())
        self.searched = 2**16 // max(1, sum(weights[c : c + 4].any() for c in range(0, len(weights), 4)))

    def votes(self, latest, k):
        """Targets and votes of the k nearest of the latest rows; of equal distances the latest ones win."""
        slots = self.latest.slots()[-latest:][::-1].tolist()
        slots = sorted(slots, key=self.distance.__getitem__)[:k]
        return self.latest.y[slots].astype(float), 1.0 / (self.distance[slots] + 0.002)

    def add_row(self, x, y, weight, loss):
        """Learn the last predicted sample; new features get columns in the order of their names."""
        before = self.changes.left
        self.changes.add(loss, 0)
        lasts = before == 1 and self.changes.fast > self.changes.bar
        kept = 200 if self.changes.left and not before else 60 if lasts else len(self.latest)
        if kept < len(self.latest):
            self.keep(kept)
            for trees in self.sets:
                trees.restart()
            self.credit = 0.0
        self.latest.add_columns(x)
        for trees in self.sets:
            trees.room = max(trees.room, trees.due)
        of_row = 6 * len(self.latest.names) + sum(trees.bytes_of_row for trees in self.sets)
        limit = min(self.max_rows, max(64, 5 * 2**19 // of_row))  # rows: two and a half MiB
        if len(self.latest) > limit:
            self.next_set.finish()
            self.keep(limit)
        slot = len(self.latest)
        if slot == limit:  # over the oldest row
            slot, self.latest.start = self.latest.start, (self.latest.start + 1) % limit
        else:
            for each in (self.latest, *self.sets):
                each.append()
        self.latest.write(slot, y, weight)
        for trees in self.sets:
            trees.enter(slot)
        self.entered(slot)
        if len(self.latest) >= 8 and self.build():
            relevance, _ = self.relevance()
            self.near[self.first : len(self.latest.names)] = np.maximum(relevance, 0.02) ** 0.75

    def entered(self, slot):
        """A row has been written; a comparison may replace this."""

    def keep(self, n):
        """Keep the latest n rows."""
        slots, self.latest.start = self.latest.slots()[-n:], 0
        for each in (self.latest, *self.sets):
            each.keep(slots)

    @property
    def next_set(self):
        """The trees of which the next one is grown."""
        return min(self.sets, key=lambda trees: trees.turns)

    def build(self):
        """Do the work that one more sample pays for; return whether a tree of the first set was finished."""
        before = self.sets[0].grown
        self.credit += 60.0 * self.next_set.visits * min(3.0, 1.0 + 1000.0 / len(self.latest))
        while self.credit > 0.0:
            self.credit -= max(next(self.next_set.work), 64)
        return self.sets[0].grown > before

    # Features

    def convert(self, units):
        """z ← ratio z + shift, of features by name."""
        for column, name in enumerate(self.latest.names):
            if name in units:
                for each in (self.latest, *self.sets):
                    each.convert(column, *units[name])

    def relevance(self):
        """Of each column of a feature, with a mean of 1: its share in the gains; and whether it is known."""
        gains = self.sets[0].gains[self.first : len(self.latest.names)]
        return (gains / gains.sum() * len(gains), True) if gains.any() else (np.ones(len(gains)), False)

    def feature_weights(self, least):
        """The weights of features in a metric of the processes, at least those given; {} if they are not known."""
        relevance, known = self.relevance()
        if not known:
            return {}
        names = self.latest.names[self.first :]
        weights = np.maximum(relevance**1.5, [max(least.get(name, 0.0), 0.003) for name in names])
        weights = np.maximum(weights / weights.mean(), 0.003)
        return dict(zip(names, weights.tolist(), strict=True))


class ClassMemory(Memory):
    """Of OKLClassifier: predictions are probabilities."""

    def __init__(self):
        latest = Latest(answers=False)
        super().__init__(latest, ClassTrees(latest))

    def predict(self, x):
        """x: a dict of scaled values, None for a gap."""
        (trees,) = self.sets
        self.latest.read(x)
        trees.ask()
        scores = np.append(0.0, trees.scores) if trees.n_classes == 2 else trees.scores
        self.by_trees = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        self.measure()
        return [self.by_trees, self.vote(512, 4), self.vote(self.searched, 6)]

    def vote(self, latest, k):
        (trees,) = self.sets
        classes, votes = self.votes(latest, k)
        of_class = np.bincount(classes.astype(int), votes, trees.n_classes)
        shares = of_class / votes.sum() if len(votes) else np.full(trees.n_classes, 1.0 / trees.n_classes)
        return 0.96 * shares + 0.04 / trees.n_classes

    def learn(self, x, c, weight):
        self.add_row(x, c, weight, -math.log(max(self.by_trees[c], 1e-4)))

    def add_class(self):
        """Then predict again."""
        self.sets[0].add_class()


class TargetMemory(Memory):
    """Of OKLRegressor: predictions of a standardised target; a second set of trees corrects the answer."""

    def __init__(self, linear, mean_square):
        """The linear regression, and a function of the name of a feature."""
        latest = Latest(answers=True)
        super().__init__(latest, TargetTrees(latest, linear), TargetTrees(latest), ErrorTrees(latest))
        self.linear, self.mean_square, self.residual = linear, mean_square, 1.0

    def predict(self, x):
        self.latest.read(x)
        self.sets[0].ask()
        self.by_trees = self.linear.m + self.sets[0].scores[0]
        self.measure()
        return [self.by_trees, self.mean_target(512, 4), self.mean_target(self.searched, 6)]

    def mean_target(self, latest, k):
        """Targets are clipped around their median."""
        targets, votes = self.votes(latest, k)
        if not len(votes):
            return 0.0
        median = float(np.median(targets))
        off = targets.astype(float) - median
        bound = 5.0 * max(self.sets[0].deviation, 1.4826 * float(np.median(abs(off).astype(single))))
        return median + votes / votes.sum() @ np.clip(off, -bound, bound)

    def correction(self, answer):
        """The expected residual of an answer to the sample."""
        self.latest.give(answer)
        self.sets[1].ask()
        return self.sets[1].scores[0]

    def noise(self):
        """The expected logarithm of the error of this answer, in running errors."""
        self.sets[2].ask()
        return self.sets[2].scores[0]

    def count_in_full(self, in_full):
        for trees in self.sets[:2]:
            trees.in_full = in_full

    def learn(self, x, y, weight, answered, error):
        """With the answer as it was given, and its error in running errors."""
        off = y - self.by_trees
        self.residual = max(self.residual + 0.01 * (min(off**2, 25.0 * self.residual) - self.residual), 1e-6)
        if single(answered) != self.latest.x[0]:
            self.correction(answered)
            self.noise()
        self.sets[2].error = math.log(max(error, 1e-3))
        self.add_row(x, y, weight, min(abs(off), 5.0))

    def relevance(self):
        """Also the shares of features in the linear regression, both weighted by the variance that they explain."""
        of_trees, known = super().relevance()
        beta, inputs = self.linear.ridge.beta, self.linear.inputs
        names = self.latest.names[1:]
        variances = np.array([beta[inputs[n]] ** 2 * self.mean_square(n) if n in inputs else 0.0 for n in names])
        if not variances.any():
            return of_trees, known
        of_linear = variances / variances.sum() * len(variances)
        by_linear = max(1.0 - self.linear.residual, 0.0)
        by_trees = max(min(self.linear.residual, 1.0) - self.residual, 1e-3)
        return (by_trees * of_trees + by_linear * of_linear) / (by_trees + by_linear), True

    def rescale(self, ratio, shift):
        for each in (self.latest, *self.sets):
            each.rescale(ratio, shift)
        self.by_trees, self.residual = ratio * self.by_trees + shift, max(ratio**2 * self.residual, 1e-6)
        self.changes.rescale(ratio)
