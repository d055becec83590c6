"""Wang & Vucetic 2009, the twin vector machine: the dual is solved from scratch at every step."""

from __future__ import annotations

import numpy as np

from tests.reference.expansion import Twin
from tests.reference.tools import least_squares, smallest


def weighted_svm(K, positive, negative):
    """The two dual variables of every point: the maximum of Σ α - ½ αᵀQα over 0 ≤ α ≤ (C s⁺, C s⁻).

    Hildreth's coordinate ascent finds which are strictly inside the box; their equations then give their values.
    """
    n = len(K)
    signs = np.repeat([1.0, -1.0], n)
    Q = np.outer(signs, signs) * np.tile(K, (2, 2))
    cap = np.concatenate([positive, negative])
    alpha = np.zeros(2 * n)
    for _ in range(2000):
        inside = (alpha > 0.0) & (alpha < cap)
        solved = alpha.copy()
        solved[inside] = least_squares(Q[np.ix_(inside, inside)], 1.0 - Q[np.ix_(inside, ~inside)] @ alpha[~inside])
        for found in (solved, alpha):
            slope = 1.0 - Q @ found
            wrong = np.where(found < cap, slope, 0.0), np.where(found > 0.0, -slope, 0.0)
            if (found >= 0.0).all() and (found <= cap).all() and np.max(wrong) <= 1e-10:
                return found[:n], found[n:]
        for _ in range(20):
            for i in range(2 * n):
                alpha[i] = min(cap[i], max(0.0, alpha[i] + (1.0 - Q[i] @ alpha) / Q[i, i]))
    raise AssertionError("the dual is not solved")


class TVMClassifier(Twin):
    SLACK = 1e-6  # Decision: |f| is beyond the buffer if it exceeds it by more than the precision of f

    budget, C, buffer, merging = 100, 1.0, 1.0, "global"

    def __init__(self, kernel, **parameters):
        super().__init__(kernel, **parameters)
        self.weight = {}  # weights of the samples that each prototype represents, by birth number: [negative, positive]

    def learn(self, x, y):
        self.t += 1
        side = int(y > 0.0)
        if y * self.f(x) > self.buffer + self.SLACK:  # Decision: none is skipped on the wrong side
            return
        values = {name: v for name, v in x.items() if v != 0.0}
        same = [b for z, b in zip(self.support, self.birth, strict=True) if z == values]
        if same:
            self.weight[min(same)][side] += 1.0
        else:
            self.join(values, [1.0 - side, float(side)])
        if len(self.support) > self.budget:
            self.make_room()
        weights = self.C * np.array([self.weight[b] for b in self.birth])
        positive, negative = weighted_svm(self.gram(), weights[:, 1], weights[:, 0])
        self.alpha = list(positive - negative)

    def join(self, x, weight):
        self.add(x, 0.0)
        self.weight[self.birth[-1]] = weight

    def make_room(self):
        size = [abs(self.f(z)) for z in self.support]
        ties = [i for i, s in enumerate(size) if s >= max(size) - self.SLACK]
        farthest = min(ties, key=lambda i: self.birth[i])
        if size[farthest] > self.buffer + self.SLACK:
            self.remove(farthest)
            return
        i, j = self.pair()
        s_i, s_j = np.array(self.weight[self.birth[i]]), np.array(self.weight[self.birth[j]])
        x_i, x_j, share = self.support[i], self.support[j], sum(s_i) / sum(s_i + s_j)
        mean = {name: share * x_i.get(name, 0.0) + (1.0 - share) * x_j.get(name, 0.0) for name in {**x_i, **x_j}}
        for p in sorted((i, j), reverse=True):
            self.remove(p)
        self.join({name: v for name, v in mean.items() if v != 0.0}, list(s_i + s_j))

    def pair(self):
        """The two to fuse, the older first."""
        last = len(self.support) - 1
        if self.merging == "nearest":
            others = range(last)
            distance = [self.distance2(self.support[i], self.support[last]) for i in others]
            return smallest(distance, [self.birth[i] for i in others]), last
        pairs = [(i, j) for i in range(last + 1) for j in range(last + 1) if self.birth[i] < self.birth[j]]
        s = [sum(self.weight[b]) for b in self.birth]
        cost = [s[i] * s[j] / (s[i] + s[j]) * self.distance2(self.support[i], self.support[j]) for i, j in pairs]
        return pairs[smallest(cost, [(self.birth[i], self.birth[j]) for i, j in pairs])]
