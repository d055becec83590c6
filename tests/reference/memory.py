"""The memory of OKLClassifier in plain NumPy: boosted trees over the latest samples, and neighbours among them.

Written from the heads of _core/mixture/memory.pyx and of the files in _core/memory. Where rounding could decide between
two splits it has the precision and the order of additions of the core, and it does the work of growing a tree in the
same pieces, as rows come and go between them. Features beyond 256, which share columns, are left out.
"""

from __future__ import annotations

import math

import numpy as np

single = np.float32
GAP, BELOW_ALL, NOWHERE = single(-(2.0**127)), single(-(2.0**126)), single(2.0**100)  # a value; thresholds
FREE = object()  # the name of a column without a feature
TREES, DEPTH, LEAVES, NODES, BINS = 60, 6, 64, 32, 64
EDGES = 246  # at most, of a column
DRAWN, BY_GAIN = 16, 10  # columns that a tree looks at, and how many of these are drawn by their gains
LEAST_GAIN = 1e-6
NO_SPLIT = LEAST_GAIN, 0, 255  # gain, column, largest code on the left
ROWS = "values", "codes", "c", "weight", "leaf", "sums", "gradient"  # arrays of rows


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
    return np.where(values == GAP, GAP, np.clip(ratio * values.astype(float) + shift, -(2.0**99), 2.0**99))


def steps(values):
    """Values in twentieths of a standard deviation, as they are in distances."""
    return np.clip(np.rint(20.0 * np.where(values == GAP, 0.0, values.astype(float))), -64, 63).astype(int)


class Memory:
    """Three predictions: by the trees, by 4 of the latest 512 rows, and by 6 of all."""

    def __init__(self, max_rows=8192):
        from tests.reference.okl import Changes  # here, because that module imports this one

        self.max_rows, self.n_classes, self.changes = max_rows, 2, Changes(5.0, 0.1)
        # of each column: its feature, edges between codes, ``added`` when they were drawn, gains, weight in distances
        self.names, self.edges, self.drawn_at, self.gains, self.near = [], [], [], [], []
        self.values, self.codes = np.zeros((0, 0), single), np.zeros((0, 0), int)  # [row, column]
        self.c, self.weight = np.zeros(0, int), np.zeros(0, single)
        self.leaf = np.zeros((0, TREES), int)  # of the growing tree: its node
        self.sums = np.zeros((0, 1), single)  # [row, output]: the log-odds of two classes, or the scores of more
        self.gradient = np.zeros((0, 2), single)  # g, h
        self.with_gaps = set()  # names of features that have had one
        self.start = self.added = self.grown = 0  # the slot of the oldest row; rows and trees until now
        # [tree, node]: node k of a level is at 2^level - 1 + k; the last tree is the growing one
        self.columns, self.thresholds = np.zeros((TREES + 1, LEAVES), int), np.zeros((TREES + 1, LEAVES), single)
        self.outputs = np.zeros((TREES, LEAVES, 1), single)  # [tree, leaf, output]
        self.restart()

    # A sample

    def predict(self, x, n_classes):
        """x: a dict of scaled values, None for a gap."""
        self.read(x)
        self.at_leaf = self.node(slice(-1), DEPTH)
        scores = sum(self.outputs[t, k].astype(float) for t, k in enumerate(self.at_leaf))
        scores = np.append(0.0, scores) if n_classes == 2 else scores
        self.by_trees = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        near = np.array(self.near, single)
        weights = (single(127.0) * near / near.max(initial=single(0.0)) + single(0.5)).astype(int)
        distance = (weights * np.abs(steps(self.values) - steps(self.x))).sum(axis=1)
        distance = distance / max(1.0, 20.0 * weights.sum())
        groups = sum(weights[c : c + 4].any() for c in range(0, len(weights), 4))
        searched = 2**17 // max(1, groups)
        return [self.by_trees, self.vote(distance, 512, 4, n_classes), self.vote(distance, searched, 6, n_classes)]

    def read(self, x):
        values = [0.0 if name is FREE else x.get(name, 0.0) for name in self.names]
        gaps = [GAP if name in self.with_gaps else 0.0 for name in self.names]  # a first gap counts as the mean
        values = [gap if v is None else v for v, gap in zip(values, gaps, strict=True)]
        self.x = converted(np.array(values, float), 1.0, 0.0).astype(single)

    def node(self, trees, levels):
        """The node of the sample after some levels of trees; nodes 2 k and 2 k + 1 are the branches of node k."""
        x = np.append(self.x, single(0.0))  # there may be no column
        columns, thresholds = self.columns[trees], self.thresholds[trees]
        node = np.zeros(len(columns), int)
        for level in range(levels):
            k = np.arange(len(columns)), 2**level - 1 + node
            node = 2 * node + (x[columns[k]] > thresholds[k])
        return node

    def vote(self, distance, latest, k, n_classes):
        """The probabilities by the k nearest of the latest rows; of equal distances the latest ones win."""
        votes = np.zeros(n_classes)
        slots = self.slots()[-latest:][::-1].tolist()
        for slot in sorted(slots, key=distance.__getitem__)[:k]:
            votes[self.c[slot]] += 1.0 / (distance[slot] + 0.002)
        shares = votes / votes.sum() if votes.any() else np.full(n_classes, 1.0 / n_classes)
        return 0.96 * shares + 0.04 / n_classes

    def learn(self, x, c, weight):
        """Learn the last predicted sample; new features get columns in the order of their names."""
        before = self.changes.left
        self.changes.add(-math.log(max(self.by_trees[c], 1e-4)), 0)
        if self.changes.left and not before:
            self.keep(200)
            self.restart()
        n_trees, _, n_outputs = self.outputs.shape
        most = 2**21 // (6 * len(self.names) + n_trees + 4 * n_outputs + 24)  # rows: two MiB
        limit = min(self.max_rows, max(64, most))
        if len(self.c) > limit:
            self.finish()
            self.keep(limit)
        self.write(x, c, weight, limit)
        if len(self.c) >= 8 and self.build():
            shares = [g / sum(self.gains) * len(self.gains) if any(self.gains) else 1.0 for g in self.gains]
            self.near = [max(share, 0.02) ** 0.75 for share in shares]

    # Rows

    def slots(self):
        """Those of all rows, the oldest first."""
        return (self.start + np.arange(len(self.c))) % max(1, len(self.c))

    def keep(self, n):
        """Keep the latest n rows."""
        slots, self.start = self.slots()[-n:], 0
        for name in ROWS:
            setattr(self, name, getattr(self, name)[slots])

    def write(self, x, c, weight, limit):
        """Make the sample a row; it is also one of all trees whose leaves its sums contain."""
        for name in sorted(x.keys() - self.names, key=repr):  # as the scaler numbers the new features of a sample
            self.add_column(name)
        self.with_gaps |= {name for name, value in x.items() if value is None}
        self.read(x)
        slot, self.added = len(self.c), self.added + 1
        if slot == limit:  # over the oldest row
            slot, self.start = self.start, (self.start + 1) % limit
        else:
            for name in ROWS:
                each = getattr(self, name)
                setattr(self, name, np.pad(each, [(0, 1), *[(0, 0)] * (each.ndim - 1)]))
        self.values[slot], self.c[slot], self.weight[slot] = self.x, c, weight
        self.codes[slot] = [self.code(column, value) for column, value in enumerate(self.x)]
        self.leaf[slot], self.sums[slot], self.gradient[slot] = self.at_leaf, 0.0, 0.0
        for t, k in enumerate(self.at_leaf):
            if t != self.growing or self.counts(slot):
                self.sums[slot] += self.outputs[t, k]
        if self.phase in ("grow", "sum") or (self.phase == "take out" and slot < self.at):
            self.leaf[slot, self.growing] = self.node(slice(-1, None), self.level)[0]

    def add_column(self, name):
        """Give a feature the first free column, or a new one; rows until now have the value 0."""
        if FREE in self.names:
            self.names[self.names.index(FREE)] = name
            return
        assert len(self.names) < 256
        for each, value in zip((self.names, self.drawn_at, self.gains, self.near), (name, 0, 0.0, 1.0), strict=True):
            each.append(value)
        self.edges.append(np.zeros(0, single))
        self.values = np.pad(self.values, ((0, 0), (0, 1)))
        self.codes = np.pad(self.codes, ((0, 0), (0, 1)), constant_values=1)

    def code(self, column, values):
        """0 for a gap, else 1 + the number of edges below a value."""
        return np.where(values == GAP, 0, 1 + np.searchsorted(self.edges[column], values))

    def draw_if_due(self, column):
        """Draw the edges of a column anew if the rows have doubled, or have all been replaced."""
        n = len(self.c)
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

    # Trees

    def restart(self):
        """Begin anew, with trees that are 0."""
        for each in (self.columns, self.outputs, self.leaf, self.sums, self.gradient):
            each[:] = 0
        self.thresholds[:] = NOWHERE
        self.phase, self.at, self.level, self.credit = "edges", 0, 0, 0.0
        self.work, self.best = self.grow(), np.tile(NO_SPLIT, (NODES, 1))

    @property
    def growing(self):
        return self.grown % len(self.outputs)

    def counts(self, slot):
        """Whether the sums of a row contain the growing tree: the old one, or in the end the new one."""
        if self.phase == "take out":
            return slot >= self.at
        return self.phase == "edges" or (self.phase == "add" and slot < self.at)

    def build(self):
        """Do the work that one more sample pays for; return whether a tree was finished."""
        before = self.grown
        self.credit += 60.0 * (min(len(self.names), DRAWN) * DEPTH + DEPTH + 3)
        while self.credit > 0.0:
            self.credit -= max(next(self.work), 64)
        return self.grown > before

    def finish(self):
        while self.phase != "edges":
            next(self.work)

    def grow(self):
        """Grow trees for ever, piece by piece; each piece yields the number of rows that it has visited."""
        while True:
            for column, _ in enumerate(self.names):  # also those that come meanwhile
                if self.draw_if_due(column):
                    yield 20 * len(self.c)
            self.draw_columns()
            self.columns[-1], self.thresholds[-1], self.best[:], self.level = 0, NOWHERE, NO_SPLIT, 0
            self.leaf_sums = np.zeros((*self.outputs.shape[1:], 2), single)
            self.begin("take out")
            yield 0
            yield from self.go_over(self.take_out, "grow")
            while self.level < DEPTH:
                for column in self.drawn:
                    self.compare(column)
                    yield len(self.c)
                self.split()
                yield len(self.c)
            yield from self.go_over(self.sum_leaves, "add")
            yield from self.go_over(self.add, "edges")

    def go_over(self, work, following):
        """Do some work for all rows; with the last piece the phase that follows begins."""
        while self.phase != following:
            first, self.at = self.at, min(len(self.c), self.at + max(256, 4096 // max(1, self.sums.shape[1] // 2)))
            rows = np.arange(first, self.at)
            work(rows, self.growing)
            if self.at == len(self.c):
                self.begin(following)
            yield len(rows)

    def begin(self, phase):
        self.phase, self.at, t = phase, 0, self.growing
        if phase == "add":  # the new tree replaces the old one
            self.columns[t], self.thresholds[t] = self.columns[-1], self.thresholds[-1]
            g, h = np.moveaxis(self.leaf_sums.astype(float), 2, 0)
            self.outputs[t] = 0.2 * g / (h + 3.0)
        elif phase == "edges":
            self.gains, self.grown = [0.98 * gain for gain in self.gains], self.grown + 1

    def draw_columns(self):
        """All columns if there are few, else some by their gains, and some at random."""
        n, chances = len(self.names), np.array(self.gains)
        self.drawn = [*range(n)] if n <= DRAWN else []
        for i in range(len(self.drawn), min(n, DRAWN)):
            chances[self.drawn] = 0.0
            if i == BY_GAIN or not chances.any():  # at random from now on, or no other column has a gain
                chances = np.ones(n)
                chances[self.drawn] = 0.0
            u = (scrambled(scrambled(self.grown + 1) + i) >> 11) / 2.0**53
            until = np.cumsum(chances)
            self.drawn.append(int(np.searchsorted(until, u * until[-1], side="right")))

    def take_out(self, rows, t):
        """Take the old tree out of the sums of some rows, and compute their gradients."""
        self.sums[rows] -= self.outputs[t, self.leaf[rows, t]]
        self.leaf[rows, t] = 0
        c, w, sums = self.c[rows], self.weight[rows], self.sums[rows]
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
        self.gradient[rows] = np.stack([w * g, w * h], axis=1)

    def compare(self, column):
        """Compare all splits of a column with the best ones of the nodes of this level."""
        codes = np.arange(2 + len(self.edges[column]))
        if len(codes) == 2:
            return
        bins = codes  # many codes: four share a bin, except that of gaps
        if len(codes) > BINS:
            bins = np.where(codes == 0, 0, 1 + (codes - 1 + scrambled(self.grown) % 4) // 4)
        sums, cells = np.zeros((2, NODES * BINS), single), BINS * self.leaf[:, self.growing]
        for each, gradient in zip(sums, self.gradient.T, strict=True):
            np.add.at(each, cells + bins[self.codes[:, column]], gradient)
        sums = sums.reshape(2, NODES, BINS)[:, : 2**self.level, : bins[-1] + 1].astype(float)
        for best, in_bin, left_g, left_h in zip(self.best, sums[1], *np.cumsum(sums, axis=2), strict=False):
            g, h = left_g[-1], left_h[-1]
            if h < 2.0:
                continue
            own, right_g, right_h = best[0] + g * g / (h + 3.0), g - left_g, h - left_h
            for b in np.flatnonzero((in_bin > 0.0) & (left_h >= 1.0) & (right_h >= 1.0)):
                left, right = left_h[b] + 3.0, right_h[b] + 3.0
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
            self.thresholds[-1, nodes - 1 + k] = self.edges[column][code - 1] if code > 0 else BELOW_ALL
        if len(found):
            column, code = self.best[node, 1:].T.astype(int)
            self.leaf[:, t] = 2 * node + (self.codes[np.arange(len(node)), column] > code)
            self.level += 1
        else:
            self.leaf[:, t] = node * 2 ** (DEPTH - self.level)
            self.level = DEPTH
        self.best[:] = NO_SPLIT
        if self.level == DEPTH:
            self.begin("sum")

    def sum_leaves(self, rows, t):
        """Add the gradients of some rows to those of their leaves, without rows that have come since."""
        if self.n_classes == 2:
            for i in range(2):
                np.add.at(self.leaf_sums[:, 0, i], self.leaf[rows, t], self.gradient[rows, i])
            return
        for row, p in zip(rows, softmax(self.sums[rows]), strict=True):
            if self.gradient[row, 1] > 0.0:
                w, sums = self.weight[row], self.leaf_sums[self.leaf[row, t]]
                sums[:, 0] -= w * p
                sums[:, 1] += w * (p * (1 - p))
                sums[self.c[row], 0] += w

    def add(self, rows, t):
        """Add the new tree to the sums of some rows."""
        self.sums[rows] += self.outputs[t, self.leaf[rows, t]]

    # Changes

    def add_class(self):
        """The third makes of one function one of each class; of many there are fewer trees. Then predict again."""
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

    def forget(self, names):
        """Free the columns of features; where trees split on them, all rows go to the left."""
        for column in [self.names.index(name) for name in names if name in self.names]:
            there = self.columns == column
            self.columns[there], self.thresholds[there] = 0, NOWHERE
            self.best[self.best[:, 1] == column] = NO_SPLIT
            self.with_gaps.discard(self.names[column])
            self.names[column], self.edges[column], self.drawn_at[column] = FREE, np.zeros(0, single), 0
            self.values[:, column], self.codes[:, column], self.gains[column] = 0.0, 1, 0.0

    def change_units(self, units):
        """z ← ratio z + shift, of features by name."""
        for column, name in enumerate(self.names):
            if name in units:
                self.values[:, column] = converted(self.values[:, column], *units[name])
                self.edges[column] = converted(self.edges[column], *units[name]).astype(single)
                there = (self.columns == column) & (self.thresholds != BELOW_ALL) & (self.thresholds < NOWHERE)
                self.thresholds[there] = converted(self.thresholds[there], *units[name])

    def relevance(self):
        """The weights of features in a metric of the processes; {} if there are no gains."""
        gains = {name: gain for name, gain in zip(self.names, self.gains, strict=True) if name is not FREE}
        if not any(gains.values()):
            return {}
        mean = sum(gains.values()) / len(gains)
        weights = {name: max((gain / mean) ** 1.5, 0.003) for name, gain in gains.items()}
        mean = sum(weights.values()) / len(weights)
        return {name: max(w / mean, 0.003) for name, w in weights.items()}
