"""Functional approximation: random Fourier features, Nyström, sketches."""

from __future__ import annotations

import math

import numpy as np

from tests.reference.gradient import GradientTwin
from tests.reference.losses import Squared
from tests.reference.tools import step_size


class FOGDClassifier(GradientTwin):
    """Lu et al. 2016. `frequency(feature)` gives the feature's column of U, D numbers."""

    n_components, learning_rate, frequency = 200, 0.3, None

    def __init__(self, kernel, **parameters):
        super().__init__(kernel, **parameters)
        self.w = np.zeros(2 * self.n_components)

    def z(self, x):
        Ux = np.zeros(self.n_components)
        for feature, value in x.items():
            Ux += value * np.asarray(self.frequency(feature))
        return np.concatenate([np.cos(Ux), np.sin(Ux)]) / math.sqrt(self.n_components)

    def f(self, x):
        return float(self.w @ self.z(x))

    def norm2(self):
        return float(self.w @ self.w)

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        self.w = self.w - step_size(self.learning_rate, self.t) * g * self.z(x)


class FOGDRegressor(FOGDClassifier):
    loss = Squared()


class NOGDClassifier(GradientTwin):
    """Lu et al. 2016."""

    budget, rank, learning_rate = 100, None, 0.3
    basis = None  # V_k D_k^(-1/2) after the switch

    def learn(self, x, y):
        self.t += 1
        eta, g = step_size(self.learning_rate, self.t), self.gradient(x, y)
        if self.basis is None:
            if g != 0:
                self.add(x, -eta * g, y)
                if len(self.support) == self.budget:
                    self.switch()
        else:
            self.w = self.w - eta * g * self.z(x)
            self.alpha = [float(a) for a in self.basis @ self.w]

    def switch(self):
        values, vectors = np.linalg.eigh(self.gram())
        rank = max(1, self.budget // 5) if self.rank is None else self.rank
        order = np.argsort(values)[::-1][:rank]
        order = [i for i in order if values[i] > 1e-10 * values.max()]
        D, V = values[order], vectors[:, order]
        self.basis = V / np.sqrt(D)
        # w.z is f projected on the k leading eigenfunctions sum_i V_ij k(x_i, .) / sqrt(D_j)
        self.w = np.sqrt(D) * (V.T @ np.array(self.alpha))
        self.alpha = [float(a) for a in self.basis @ self.w]

    def z(self, x):
        return self.basis.T @ self.row(x)

    def f(self, x):
        return super().f(x) if self.basis is None else float(self.w @ self.z(x))

    def norm2(self):
        return super().norm2() if self.basis is None else float(self.w @ self.w)


class NOGDRegressor(NOGDClassifier):
    loss = Squared()


class SkeGDClassifier(GradientTwin):
    """Zhang & Liao 2019, with a window of B points in place of a sketch that grows."""

    budget, learning_rate, horizon = 100, 0.2, None
    S_p, errors = None, 0

    def __init__(self, kernel, **parameters):
        super().__init__(kernel, **parameters)
        self.rhythm = 100 if self.horizon is None else max(1, math.floor(0.3 * (self.horizon - self.budget) + 1e-9))
        self.s_p = max(1, math.floor(0.75 * self.budget))
        self.s_m = max(1, math.floor(0.2 * self.s_p + 1e-9))
        self.k = max(1, math.floor(0.1 * self.budget + 1e-9))

    def sketch_row(self):
        row = np.zeros(self.s_p)
        column = self.rng.randrange(self.s_p)
        row[column] = 1.0 if self.rng.random() < 0.5 else -1.0
        return row

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) >= 1:
            return
        step = step_size(self.learning_rate, self.t) * y
        if len(self.support) < self.budget:
            self.add(x, step, y)
            return
        if self.S_p is None:
            self.S_p = [self.sketch_row() for _ in range(self.budget)]
            self.sample = [self.birth[i] for i in self.rng.sample(range(self.budget), self.s_m)]
            value, self.Q = self.f(x), self.new_Q()
            phi = self.phi(x)
            self.w = value * phi / (phi @ phi) if phi.any() else phi
        self.errors += 1
        outside = [i for i in range(self.budget) if self.birth[i] not in self.sample]
        if outside and self.errors % self.rhythm == 0:
            r = min(outside, key=lambda i: self.birth[i])
            self.remove(r)
            self.S_p[r] = self.S_p[-1]
            self.S_p[-1] = self.sketch_row()
            self.add(x, 0.0, y)
            old, self.Q = self.Q @ self.w, self.new_Q()
            self.w = np.linalg.pinv(self.Q, rcond=1e-8) @ old
        self.w = self.w + step * self.phi(x)
        coefficients = dict(zip(self.order(), self.Q @ self.w, strict=True))
        self.alpha = [float(coefficients.get(i, 0.0)) for i in range(self.budget)]

    def order(self):
        return [i for i in range(self.budget) if self.birth[i] in self.sample]

    def phi(self, x):
        return self.Q.T @ self.row(x)[self.order()]

    def new_Q(self):
        S_p, K = np.array(self.S_p), self.gram()
        values, V = np.linalg.eigh(S_p.T @ K @ S_p)
        top = [i for i in np.argsort(values)[::-1][: self.k] if values[i] > 1e-8 * values.max()]
        return np.linalg.pinv(S_p.T @ K[:, self.order()], rcond=1e-8) @ V[:, top] @ np.diag(np.sqrt(values[top]))
