"""A reference implementation of OKLDetector in plain NumPy, written from the head of _core/detector.pyx.

Samples are dicts, distances are computed feature by feature, and every window is a list that is sorted anew. Scaling is
that of okl.py, whose scaler drops no feature.
"""

from __future__ import annotations

import math

import numpy as np

from tests.reference.okl import Scaler

GAP = 0x9E3779B97F4A7C15


class Window:
    """The latest values of a number."""

    def __init__(self, most, share):
        self.most, self.share, self.values = most, share, []

    def level(self, value):
        values, n = np.sort(self.values), len(self.values)
        p = (np.sum(values < value) + np.sum(values <= value) + 1) / 2 / (n + 1) if n else 0.0
        level = -math.log(1.0 - p)
        if n < 100 or not value > values[9 * n // 10] > values[n // 2]:
            return level
        low, high = values[n // 2], values[9 * n // 10]
        u = values[n - max(10, int(self.share * n))]
        excess = values[values > u] - u
        if value > u and len(excess):
            beyond = (value - u) / excess.mean()
            level = math.log((n + 1) / (len(excess) + 1)) + (beyond if beyond < 5 else 5 + math.log1p(beyond - 5))
        return min(level, math.log(10.0) + 0.5 + (value - high) / (high - low) * math.log(5.0))

    def add(self, value):
        self.values = [*self.values, value][-self.most :]


class Detector:
    def __init__(self, key, budget=2048):
        self.random, self.budget = key, budget
        self.scaler, self.points, self.radii = Scaler(), [], []
        self.windows, self.window = [Window(1024, 0.1) for _ in range(4)], Window(4096, 0.01)
        self.tokens, self.crowd, self.candidates, self.weight, self.typical = 10.0, 0.0, 0, 0.0, 0.0
        self.seen, self.differences, self.previous = 0, 0.0, None

    def uniform(self):
        self.random = (self.random + GAP) % 2**64
        z = self.random
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    @staticmethod
    def distance(x, z):
        return sum((x.get(name, 0.0) - z.get(name, 0.0)) ** 2 for name in x.keys() | z.keys())

    def ask(self, x):
        """The four numbers and the scaled sample."""
        z = {name: float(np.float32(value)) for name, value in self.scaler.scaled(x).items()}
        if not self.points:
            return z, [0.0] * 4
        mean = self.differences / (self.seen - 1) if self.seen > 1 else 0.0
        mean = mean or 1.0
        ratios = np.array([self.distance(z, point) for point in self.points]) / mean
        order = np.argsort(ratios, kind="stable")[:20]
        near = np.minimum(ratios[order], 1e9)
        own = math.log(mean * (near[-1] + 1e-5))
        densities = [g * near[0] - math.log(np.mean(np.exp(-g * (ratios - ratios.min())))) for g in (16.0, 64.0)]
        local = own - 0.5 * np.mean([self.radii[i] for i in order])
        self.own = own
        return z, [math.log(mean * (near[min(len(near), 10) - 1] + 1e-5)), *densities, local]

    def explain(self, z):
        """The mean squared difference to the ten nearest points, by feature."""
        near = sorted(self.points, key=lambda point: self.distance(z, point))[:10]
        return {name: np.mean([(z[name] - point[name]) ** 2 for point in near]) if near else 0.0 for name in z}

    def learn(self, x, z, numbers, w=1.0):
        """``z`` and ``numbers`` are of ``ask``; returns the largest level and the score."""
        known = bool(self.points)
        q = max([0.0, *(window.level(v) for window, v in zip(self.windows, numbers, strict=True))]) if known else 0.0
        n = len(self.window.values)
        level = min(self.window.level(q), 36.0) if n >= 100 else 0.0
        alarm, strange = n >= 500 and level > math.log(100.0), level > math.log(20.0)
        learns = True
        if w > 0.0:
            self.crowd += (alarm - self.crowd) / 200.0
            self.tokens = min(10.0, self.tokens + 0.05)
            if alarm and self.crowd <= 0.5:
                learns = self.tokens >= 1.0
                self.tokens -= learns
        moved = self.crowd > 0.5
        if learns:
            self.remember(x, z, numbers, q, w, joins=w > 0.0 and (moved or not strange))
        return q, 1.0 - math.exp(-level)

    def remember(self, x, z, numbers, q, w, joins):
        known, replaced = bool(self.points), None
        if joins:
            self.candidates += 1
            self.weight += w
            if len(self.points) == self.budget:
                replaced = self.uniform() * min(self.candidates, 8192.0) * self.weight / self.candidates / w
        self.scaler.learn(x)
        self.seen += 1
        if self.previous is not None:
            self.differences += self.distance(z, self.previous)
        self.previous = z
        if known and w > 0.0:
            for window, value in zip(self.windows, numbers, strict=True):
                window.add(value)
            self.window.add(q)
            self.typical += (self.own - self.typical) / min(len(self.window.values), 500)
        if not joins or (replaced is not None and replaced >= self.budget):
            return
        if replaced is not None:
            for items in (self.points, self.radii):
                items[int(replaced)] = items[-1]
                items.pop()
        self.points.append(z)
        self.radii.append(self.own - self.typical if known else 0.0)
