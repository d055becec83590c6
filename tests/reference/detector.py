"""A reference implementation of OKLDetector in plain NumPy, written from the head of _core/detector.pyx.

Samples are dicts, distances are computed feature by feature, and every window is a list that is sorted anew. Scaling is
that of okl.py, whose scaler drops no feature.
"""

from __future__ import annotations

import math

import numpy as np

from tests.reference.memory import scrambled
from tests.reference.okl import Scaler, converted, distance2, of_inputs


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


class Residuals:
    """S, which the core never has, is summed and inverted at each step."""

    def __init__(self):
        self.names, self.sums, self.n, self.next = {None: 0}, np.eye(1), 1, 0

    def inputs(self, z):
        return np.array([1.0 if name is None else z.get(name, 0.0) for name in self.names])

    def convert(self, to):
        """S of inputs v ← L v, where Lᵀ is the inverse of M."""
        L = np.linalg.inv(of_inputs(self.names, to)).T
        self.sums = L @ self.sums @ L.T

    def ask(self, z):
        """The number and its trust."""
        P = self.n * np.linalg.inv(self.sums)
        u, own = (P @ self.inputs(z))[1:], P.diagonal()[1:]
        explained = np.maximum(0.0, 1.0 - 1.0 / own)
        trust = math.sqrt(explained.mean()) if len(own) else 0.0
        return math.log(np.sum((explained * u) ** 2 / own) + 1e-6), trust

    def learn(self, z, order):
        """``order``: of all features, as the scaler met them."""
        order = [None, *order][:256]
        for name in z:
            if name not in self.names and name in order:
                self.names[name] = len(self.names)
                self.sums = np.pad(self.sums, (0, 1))
                self.sums[-1, -1] = 1.0 + 0.05 * (self.n - 1)
        v = self.inputs(z)
        self.sums += np.outer(v, v)
        self.next = (self.next + 1) % len(order)
        if order[self.next] in self.names:
            i = self.names[order[self.next]]
            self.sums[i, i] += 0.05 * len(order)
        self.n += 1
        if self.n == 2 * 8192:
            self.n, self.sums = 8192, self.sums / 2.0


class Detector:
    def __init__(self, key, budget=2048):
        self.random, self.budget = key, budget
        self.scaler, self.points, self.radii = Scaler(), [], []
        self.windows, self.window = [Window(1024, 0.1) for _ in range(6)], Window(4096, 0.01)
        self.residuals, self.order, self.ranked = Residuals(), [], []
        self.tokens, self.crowd, self.candidates, self.weight, self.typical = 12.0, 0.0, 0, 0.0, 0.0
        self.seen, self.differences, self.previous, self.next_update = 0, {}, None, 2

    def uniform(self):
        self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
        return (scrambled(self.random) >> 11) * 2.0**-53

    def mean(self):
        return (sum(self.differences.values()) / (self.seen - 1) if self.seen > 1 else 0.0) or 1.0

    def ask(self, x):
        """The six numbers and the scaled sample."""
        z = {name: float(np.float32(value)) for name, value in self.scaler.scaled(x).items()}
        if not self.points:
            return z, [0.0] * 6
        extreme = max([4.0, *(abs(value or 0.0) for value in self.scaler.unclipped(x).values())])
        mean = self.mean()
        ratios = np.array([distance2(z, point, {}) for point in self.points]) / mean
        order = np.argsort(ratios, kind="stable")[:100]
        near = np.minimum(ratios[order], 1e9)
        own = math.log(mean * (near[:20][-1] + 1e-5))
        densities = [g * near[0] - math.log(np.mean(np.exp(-g * (ratios - ratios.min())))) for g in (16.0, 64.0)]
        local = own - 0.5 * np.mean([self.radii[i] for i in order[:20]])
        self.own = own
        residual, self.trust = self.residuals.ask(z)
        return z, [*densities, local, math.log(mean * (near[-1] + 1e-5)), residual, math.log(min(extreme, 1e9))]

    def explain(self, z):
        """The mean squared difference to the twenty nearest points, by feature."""
        near = sorted(self.points, key=lambda point: distance2(z, point, {}))[:20]
        return {name: np.mean([(z[name] - point[name]) ** 2 for point in near]) if near else 0.0 for name in z}

    def learn(self, x, z, numbers, w=1.0):
        """``z`` and ``numbers`` are of ``ask``; returns the largest level and the score."""
        known, n = bool(self.points), len(self.window.values)
        levels = [window.level(v) for window, v in zip(self.windows, numbers, strict=True)] if known else [0.0]
        q = max([0.0, *levels[:4], *(level * self.trust for level in levels[4:5]), *levels[5:]])
        level = min(self.window.level(q), 36.0) if n >= 100 else 0.0
        latest = self.ranked[-4096:]
        if equal := latest.count(frozenset((name, v) for name, v in x.items() if v)):
            level = min(level, -math.log((equal + 1) / 2 / (len(latest) + 1)))
        alarm, strange = n >= 500 and level > math.log(100.0), level > math.log(20.0)
        learns = True
        if w > 0.0:
            self.crowd += (alarm - self.crowd) / 200.0
            self.tokens = min(12.0 * max(0.25, n / 4096), self.tokens + 0.05)
            if alarm and self.crowd <= 0.5:
                cost = 1.0 if distance2(z, self.previous, {}) < 0.1 * self.mean() else 0.7
                learns = self.tokens >= cost
                self.tokens -= cost * learns
        moved = self.crowd > 0.5
        if learns:
            self.remember(x, z, numbers, q, w, usual=w > 0.0 and self.seen > 0 and (moved or not strange))
            if self.seen >= self.next_update:
                early = [n for n in (2, 3, 5, 8, 12, 20, 35, 60) if n > self.seen]
                self.next_update = early[0] if early else self.seen + min(2000, self.seen // 16)
                self.convert(self.scaler.settle(self.next_update - self.seen))
        return q, 1.0 - math.exp(-level)

    def convert(self, to):
        """Convert points, sums and regressions to new units of the features."""
        points = [converted(point, to, 5.0, everywhere=True) for point in self.points]
        self.points = [{name: float(np.float32(value)) for name, value in point.items()} for point in points]
        self.previous = converted(self.previous, to)
        self.differences = {name: to.get(name, (1.0, 0.0))[0] ** 2 * v for name, v in self.differences.items()}
        self.residuals.convert(to)

    def remember(self, x, z, numbers, q, w, usual):
        known, replaced = bool(self.points), None
        if usual:
            before, self.candidates = self.candidates, self.candidates + 1
            if len(self.points) == self.budget:
                mean = (self.weight + w) / self.candidates
                replaced = self.uniform() * min(self.candidates, 8192.0) * mean / w
            self.weight += min(w, 100.0 * self.weight / before) if before else w
        self.scaler.learn(x)
        self.order += sorted(x.keys() - {*self.order}, key=repr)
        self.seen += 1
        if self.previous is not None:
            for name in z.keys() | self.previous.keys():
                off = z.get(name, 0.0) - self.previous.get(name, 0.0)
                self.differences[name] = self.differences.get(name, 0.0) + off**2
        self.previous = z
        if known and w > 0.0:
            for window, value in zip(self.windows, numbers, strict=True):
                window.add(value)
            self.window.add(q)
            self.ranked.append(frozenset((name, v) for name, v in x.items() if v))
            self.window.values = self.window.values[-max(500, len(self.ranked) - 1024) :]
            self.typical += (self.own - self.typical) / min(len(self.ranked), 500)
        if usual:
            self.residuals.learn(z, self.order)
        if not usual or (replaced is not None and replaced >= self.budget):
            return
        if replaced is not None:
            for items in (self.points, self.radii):
                items[int(replaced)] = items[-1]
                items.pop()
        self.points.append(z)
        self.radii.append(self.own - self.typical if known else 0.0)
