"""The base of the reference implementations: a kernel expansion that recomputes everything."""

from __future__ import annotations

import math
import random

import numpy as np

from tests.reference.tools import least_squares, smallest


class Twin:
    """f = sum_i alpha_i k(x_i, .); only kernel values are kept, everything else is recomputed.

    The parameters of an algorithm are class attributes, with their defaults; numbers of its state follow.
    """

    seed = None

    def __init__(self, kernel, **parameters):
        self.kernel = kernel
        for name, value in parameters.items():
            assert hasattr(self, name), f"{type(self).__name__} has no parameter {name}"
            setattr(self, name, value)
        self.rng = random.Random(self.seed)
        self.support = []
        self.alpha = []
        self.birth = []
        self.label = []
        self.t = 0  # samples learned, the present one included
        self.points = []  # every point ever added, by birth number
        self.table = []  # table[i][j] = k(point i, point j), where both have been in the support at once
        self.history = [{}]  # f_1 = 0, f_2, ... as {birth number: coefficient}

    def f(self, x):
        return sum([a * self.kernel(z, x) for a, z in zip(self.alpha, self.support, strict=True)])

    def decision(self, x):
        return self.f(x)

    def row(self, x):
        return np.array([self.kernel(z, x) for z in self.support])

    def gram(self):
        return np.array([[row[j] for j in self.birth] for row in [self.table[i] for i in self.birth]])

    def matrix(self, points):
        return np.array([[self.kernel(x, z) for z in points] for x in points])

    def norm2(self):
        if not self.support:
            return 0.0
        return float(np.array(self.alpha) @ self.gram() @ np.array(self.alpha))

    def add(self, x, coefficient, y=0.0):
        new = len(self.points)
        self.birth.append(new)
        self.points.append(x)
        self.table.append({birth: self.kernel(self.points[birth], x) for birth in self.birth})
        for birth in self.birth:
            self.table[birth][new] = self.table[new][birth]
        self.support.append(x)
        self.alpha.append(coefficient)
        self.label.append(y)

    def remove(self, i):
        """The last point moves into position i."""
        for column in (self.support, self.alpha, self.birth, self.label):
            column[i] = column[-1]
            column.pop()

    def keep(self, positions):
        """Keep these points only, in order of birth."""
        order = sorted(positions, key=lambda i: self.birth[i])
        for column in (self.support, self.alpha, self.birth, self.label):
            column[:] = [column[i] for i in order]

    def scale(self, factor):
        self.alpha = [factor * a for a in self.alpha]

    def project_on_ball(self, radius):
        """f <- min(1, radius / ||f||) f."""
        if radius is not None and radius != math.inf:
            norm = math.sqrt(max(0.0, self.norm2()))
            if norm > radius:
                self.scale(radius / norm)

    def projection(self, x, points=None):
        """d and ||delta||^2 of the projection sum_i d_i k(x_i, .) of k(x, .) on points, by default the support."""
        K, points = (self.gram(), self.support) if points is None else (self.matrix(points), points)
        if not points:
            return np.zeros(0), self.kernel(x, x)
        k = np.array([self.kernel(z, x) for z in points])
        d = least_squares(K, k)
        return d, max(0.0, self.kernel(x, x) - float(k @ d))

    def absorb(self, factor, d):
        self.alpha = [a + factor * float(di) for a, di in zip(self.alpha, d, strict=True)]

    def distance2(self, x, z):
        """Squared distance in feature space."""
        k = self.kernel
        return max(0.0, k(x, x) + k(z, z) - 2.0 * k(x, z))

    def nearest(self, x, positions):
        """Position (out of these) of the support vector nearest to x in feature space."""
        chosen = smallest(
            [self.distance2(x, self.support[i]) for i in positions],
            [self.birth[i] for i in positions],
            scale=self.kernel(x, x),
        )
        return positions[chosen]

    def others(self, i):
        return [j for j in range(len(self.support)) if j != i]

    def remember(self):
        self.history.append(dict(zip(self.birth, self.alpha, strict=True)))

    def average(self, x, last):
        """Mean of the last models at x, term by term."""
        k = [self.kernel(z, x) for z in self.points]
        models = self.history[-last:]
        return sum(sum(a * k[birth] for birth, a in f.items()) for f in models) / len(models)
