"""A reference implementation of _core/trees in plain Python: nodes are objects, statistics dicts.

Written from Domingos and Hulten 2000, Gomes et al. 2017 (online bagging with Poisson(6)) and Ikonomovska et al. 2011,
with the bounds stated at the heads of the files there. Single precision is reproduced operation by operation;
logarithms are exact here.
"""

from __future__ import annotations

import math

import numpy as np

F = np.float32
MASK, GAP = 2**64 - 1, 0x9E3779B97F4A7C15  # of splitmix64
BINS, LANES = 16, 4
THRESHOLDS = [
    min(2**32 - 1, round(2**32 * sum(math.exp(-6.0) * 6.0**i / math.factorial(i) for i in range(k + 1))))
    for k in range(24)
]


def scrambled(z):
    z &= MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def up(n, multiple):
    return -(-n // multiple) * multiple


class Leaf:
    def __init__(self, width):
        self.counts = [F(0.0)] * width
        self.errors = F(0.0)
        self.block = None


class Split:
    def __init__(self, feature, cut, children):
        self.feature, self.cut, self.children = feature, cut, children


class Block:
    """Histograms: of classes, feature -> class -> weights of bins; of a target, feature -> (weight, sum) of bins."""

    def __init__(self, seed):
        self.seed = seed
        self.weight, self.next_test, self.by_bayes, self.by_counts, self.sum = F(0.0), F(200.0), F(0.0), F(0.0), F(0.0)
        self.candidates, self.totals, self.range, self.of = {}, {}, {}, {}


class Tree:
    resets, age = -1, 0


class Forest:
    """What trees with either kind of leaf do."""

    def __init__(self, n_trees, one_in=1, size=15 << 14, seed=1, learning=100):
        self.n_trees, self.one_in, self.bytes, self.random = n_trees, one_in, size, seed
        self.learning = learning
        self.places = self.seen = 0
        self.group, self.m, self.share = 1, 0, 0
        self.low, self.high = {}, {}
        self.trees = [Tree() for _ in range(n_trees)]
        for tree in self.trees:
            tree.leaves = []
            self.begin(tree)

    def draw(self):
        self.random = (self.random + GAP) & MASK
        return scrambled(self.random)

    # Room -----------------------------------------------------------------------------------------------

    def layout(self, places, n_classes):
        head, each = 8 + self.totals_of(n_classes), 3 + BINS * self.width_of(n_classes)
        size = self.bytes * min(10, max(2, n_classes)) // 2
        fit = max(0, size // (16 * self.n_trees) - head) // each // LANES * LANES
        if fit == 0:
            return places + 1, 0, 0
        group = max(self.one_in, -(-places // fit))
        m = up(-(-places // group), LANES)
        return group, m, min(self.learning, size // (4 * up(head + each * m, 16) * self.n_trees)) if m else 0

    def relayout(self, places, n_classes):
        group, m, share = self.layout(places, n_classes)
        kept = group == self.group and m > 0
        for tree in self.trees:
            while self.blocks_of(tree) > (share if kept else 0):
                min((leaf for leaf in tree.leaves if leaf.block), key=lambda leaf: leaf.errors).block = None
            for leaf in tree.leaves:
                leaf.counts += [F(0.0)] * (self.width_of(n_classes) - len(leaf.counts))
        self.places, self.n_classes, self.group, self.m, self.share = places, n_classes, group, m, share
        for tree in self.trees:
            for leaf in tree.leaves:
                if leaf.block:
                    self.choose(leaf.block)

    def reserve(self, places):
        if places > self.places:
            self.relayout(max(places, self.places + self.places // 4), self.n_classes)

    def nodes_of(self, tree):
        nodes = [tree.root]
        for node in nodes:
            nodes += node.children if isinstance(node, Split) else []
        return nodes

    def blocks_of(self, tree):
        return sum(leaf.block is not None for leaf in tree.leaves)

    def choose(self, block):
        for k in range(self.m):
            places = [*range(k * self.group, min((k + 1) * self.group, self.places))]
            if places and k not in block.candidates:
                block.candidates[k] = places[scrambled((block.seed << 32) + k) % len(places)]
                block.range[block.candidates[k]] = [F(-2.5), F(5.0 / BINS)]

    def take_block(self, tree, leaf, x=None):
        if self.blocks_of(tree) >= self.share:
            return False
        leaf.block = block = Block(self.draw() >> 32)
        self.choose(block)
        for feature in block.candidates.values():
            low, high = self.low.get(feature, F(0.0)), self.high.get(feature, F(0.0))
            block.range[feature] = [low, high] if high > low else [F(-2.5), F(2.5)]
        node = tree.root
        while node is not leaf:
            side = int(x.get(node.feature, F(0.0)) > node.cut)
            if leaf in node.children:
                side = node.children.index(leaf)
            if node.feature in block.range:
                low, high = block.range[node.feature]
                block.range[node.feature] = [max(low, node.cut), high] if side else [low, min(high, node.cut)]
            node = node.children[side]
        for feature, (low, high) in block.range.items():
            block.range[feature] = [low, max((high - low) / F(BINS), F(1e-6))]
        return True

    # A sample -------------------------------------------------------------------------------------------

    def encoded(self, sample):
        return {place: F(v) for place, v in sample.items() if F(v) != 0.0 and 0 <= place < self.places}

    def route(self, tree, x):
        node = tree.root
        while isinstance(node, Split):
            node = node.children[int(x.get(node.feature, F(0.0)) > node.cut)]
        return node

    def predict(self, sample):
        x = self.encoded(sample)
        p = np.array([self.answer(self.route(tree, x), x)[0] for tree in self.trees])
        return self.average(p)

    def train(self, sample, target, w=1.0):
        # trees predict before room for new features is made
        self.reserve(max(sample, default=-1) + 1)
        x = self.encoded(sample)
        said = [(self.route(tree, x), *self.answer(self.route(tree, x), x)) for tree in self.trees]
        self.seen += 1
        for feature, v in x.items():
            self.low[feature] = min(self.low.get(feature, F(0.0)), v)
            self.high[feature] = max(self.high.get(feature, F(0.0)), v)
        for tree, (leaf, p, votes) in zip(self.trees, said, strict=True):
            u = self.draw() >> 32
            times = sum(u >= threshold for threshold in THRESHOLDS)
            self.learn(tree, x, target, F(times * w), leaf, p, votes)
        if self.seen % 1000 == 0:
            self.sweep()

    def learn(self, tree, x, target, w, leaf, p, votes):
        error = self.error_of(p, votes, target)
        if self.judge(tree, error):
            self.begin(tree)
            leaf, votes = tree.root, (-1, -1, -1)
        if w <= 0.0:
            return
        error = self.learn_leaf(tree, leaf, error, target, w)
        leaf.errors += F(error)
        if leaf.block is None:
            if error > 0.0 or len(tree.leaves) == 1:
                self.challenge(tree, leaf, x)
            return
        if self.seen == 50 and len(tree.leaves) == 1:
            leaf.block = None
            self.take_block(tree, leaf, x)
        block = leaf.block
        block.weight += w
        self.learn_block(block, x, target, w, votes)
        if block.weight >= block.next_test:
            block.next_test = block.weight + F(200.0)
            if len(tree.leaves) < self.most_leaves:
                self.try_split(tree, leaf, x)

    def bin_of(self, block, feature, v):
        low, step = block.range[feature]
        return int(min(max((v - low) / step, F(0.0)), F(BINS - 1)))

    # Splits ---------------------------------------------------------------------------------------------

    def try_split(self, tree, leaf, x):
        block = leaf.block
        found = ((self.best_cut(block, f), -k, f) for k, f in block.candidates.items())
        ranked = sorted(found, key=lambda r: (-r[0][0], -r[1]))
        (first, *at), _, feature = ranked[0]
        second = ranked[1][0][0] if len(ranked) > 1 else 0.0
        bound = math.sqrt(math.log(100.0) / (2.0 * float(block.weight)))
        if first == 0.0 or not self.is_clear(block, first, second, bound):
            return
        cut, *at = at
        one, two = Leaf(len(leaf.counts)), Leaf(len(leaf.counts))
        self.fill(leaf, one, two, *at)
        split = Split(feature, cut, [one, two])
        self.replace(tree, leaf, split)
        tree.leaves[tree.leaves.index(leaf)] = one
        tree.leaves.append(two)
        first, second = (two, one) if two.errors > one.errors else (one, two)
        self.take_block(tree, first, x)
        if not self.take_block(tree, second, x):
            others = [other for other in tree.leaves if other.block and other is not first]
            others = [other for other in others if other.errors < F(0.5) * second.errors]
            if others:
                min(others, key=lambda other: other.errors).block = None
                self.take_block(tree, second, x)

    def replace(self, tree, leaf, split):
        for node in self.nodes_of(tree):
            if isinstance(node, Split):
                node.children = [split if child is leaf else child for child in node.children]
        if tree.root is leaf:
            tree.root = split

    def challenge(self, tree, leaf, x):
        if self.take_block(tree, leaf, x):
            return
        for _ in range(8):
            tree.hand = (tree.hand + 1) % len(tree.leaves)
            other = tree.leaves[tree.hand]
            if other.block and 2.0 * other.errors + self.lead < leaf.errors:
                other.block = None
                self.take_block(tree, leaf, x)
                return

    # Change ---------------------------------------------------------------------------------------------

    def judge(self, tree, error):
        tree.age += 1
        tree.fast += (error - tree.fast) * max(0.01, 1.0 / tree.age)
        tree.slow += (error - tree.slow) * max(0.001, 1.0 / tree.age)
        tree.square += (error * error - tree.square) * max(0.001, 1.0 / tree.age)
        if tree.age < 300 or len(tree.leaves) == 1:
            return False
        if not self.may_restart(tree):
            return False
        variance = max(tree.square - tree.slow**2, 0.0)
        return tree.fast - tree.slow > 4.5 * math.sqrt(variance * 0.01 / 1.99) + 1e-9

    def begin(self, tree):
        tree.resets += 1
        tree.hand = 0
        tree.age, tree.fast, tree.slow, tree.square = 0, 0.0, 0.0, 0.0
        tree.root = Leaf(self.width_of(self.n_classes))
        tree.leaves = [tree.root]
        self.take_block(tree, tree.root)

    def sweep(self):
        for tree in self.trees:
            for leaf in tree.leaves:
                leaf.errors *= F(0.5)
        for feature in self.low:
            low, high = self.low[feature], self.high[feature]
            width = F(0.02) * (high - low)
            self.low[feature], self.high[feature] = min(low + width, F(0.0)), max(high - width, F(0.0))

    def forget(self, places):
        for tree in self.trees:
            for node in self.nodes_of(tree):
                if isinstance(node, Split) and node.feature in places:
                    node.feature = None
                elif isinstance(node, Leaf) and node.block:
                    for place in places:
                        node.block.of.pop(place, None)
        for place in places:
            self.low.pop(place, None)
            self.high.pop(place, None)


class TargetForest(Forest):
    """Leaves of a target: means, and bins of (weight, sum)."""

    n_classes, most_leaves, lead = 1, 500, 0.0
    scale, offset = 1.0, 0.0

    def totals_of(self, n_classes):
        return 0

    def width_of(self, n_classes):
        return 2

    def answer(self, leaf, x):
        return [float(leaf.counts[1])], None

    def average(self, p):
        errors = np.array([tree.fast for tree in self.trees])
        weights = np.exp(-8.0 * (errors / max(errors.min(), 1e-300) - 1.0))
        return self.scale * (weights @ p[:, 0] / weights.sum()) + self.offset

    def train(self, sample, target, w=1.0):
        super().train(sample, (target - self.offset) / self.scale, w)

    def error_of(self, p, votes, target):
        return abs(target - p[0])

    def learn_leaf(self, tree, leaf, error, target, w):
        leaf.counts[0] += w
        leaf.counts[1] += (F(target) - leaf.counts[1]) * (w / leaf.counts[0])
        return min(error * error, 9.0 * tree.square)

    def learn_block(self, block, x, target, w, votes):
        block.sum += w * F(target)
        for feature in block.candidates.values():
            if feature in x:
                bins = block.of.setdefault(feature, [[F(0.0), F(0.0)] for _ in range(BINS)])
                found = bins[self.bin_of(block, feature, x[feature])]
                found[0] += w
                found[1] += w * F(target)

    def best_cut(self, block, feature):
        """(gain, cut, weight on the left, sum on the left)"""
        low, step = block.range[feature]
        bins = [[*b] for b in block.of.get(feature, [[F(0.0), F(0.0)]] * BINS)]
        missing, lacking = block.weight, block.sum
        for n, s in bins:
            missing, lacking = missing - n, lacking - s
        if missing > F(1e-5) * block.weight:
            zero = bins[self.bin_of(block, feature, F(0.0))]
            zero[0], zero[1] = zero[0] + missing, zero[1] + lacking
        best = 0.0, None, None, None
        left = total = F(0.0)
        for i in range(BINS - 1):
            left, total = left + bins[i][0], total + bins[i][1]
            right = block.weight - left
            if min(left, right) < F(0.01) * block.weight:
                continue
            off = float(total) - float(left) * (float(block.sum) / float(block.weight))
            gain = (off * off / float(left) + off * off / float(right)) / float(block.weight)
            if gain > best[0]:
                best = float(F(gain)), low + step * F(i + 1), left, total
        return best

    def is_clear(self, block, first, second, bound):
        return second < (1.0 - bound) * first or bound < 0.2

    def fill(self, leaf, one, two, left, total):
        block = leaf.block
        two.counts[0] = block.weight - left + F(2.0)
        two.counts[1] = (block.sum - total + F(2.0) * leaf.counts[1]) / two.counts[0]
        one.counts[0] = left + F(2.0)
        one.counts[1] = (total + F(2.0) * leaf.counts[1]) / one.counts[0]
        one.errors = leaf.errors * (left / block.weight)
        two.errors = leaf.errors - one.errors

    def may_restart(self, tree):
        younger = [other for other in self.trees if other.age < tree.age]
        better = [other for other in younger if other.age >= 300 and other.fast < 0.95 * tree.fast]
        return bool(better) or not younger

    def begin(self, tree):
        weight = sum(float(leaf.counts[0]) for leaf in tree.leaves)
        mean = sum(float(leaf.counts[0]) * float(leaf.counts[1]) for leaf in tree.leaves) / (weight or 1.0)
        known = (20, tree.fast, tree.fast, tree.square) if tree.age else None
        super().begin(tree)
        if known:
            tree.age, tree.fast, tree.slow, tree.square = known
        if weight > 0.0:
            tree.root.counts = [F(2.0), F(mean)]

    def rescale(self, ratio, shift):
        """By brute force, without the core's internal unit."""
        self.scale *= ratio
        self.offset = ratio * self.offset + shift
        if 1e-3 < self.scale < 1e3 and abs(self.offset) < 10.0 * max(1.0, self.scale):
            return
        scale, offset = self.scale, self.offset
        for tree in self.trees:
            tree.fast, tree.slow, tree.square = tree.fast * scale, tree.slow * scale, tree.square * scale**2
            for leaf in tree.leaves:
                leaf.errors = F(float(leaf.errors) * scale * scale)
                leaf.counts[1] = F(scale * float(leaf.counts[1]) + offset)
                if leaf.block:
                    leaf.block.sum = F(scale * float(leaf.block.sum) + offset * float(leaf.block.weight))
                    for bins in leaf.block.of.values():
                        for b in bins:
                            b[1] = F(scale * float(b[1]) + offset * float(b[0]))
        self.scale, self.offset = 1.0, 0.0
