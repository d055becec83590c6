"""Sparse online Gaussian processes: Csató & Opper 2002, Van Vaerenbergh et al. 2012."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from tests.reference.expansion import Twin


class Process:
    """The posterior of f at the dictionary: μ and S.  A sample that is not added changes S only from a least b v on."""

    def __init__(self, kernel, forgetting, prior_variance, noise, columns=1, resolved=0.0):
        self.kernel, self.forgetting, self.prior_variance, self.noise = kernel, forgetting, prior_variance, noise
        self.resolved = resolved
        self.mu, self.S = np.zeros((0, columns)), np.zeros((0, 0))
        self.inverse_temperature, self.curvature = 6.0, 1.0

    def look(self):
        self.m = self.kernel.q @ self.mu
        self.spread()

    def spread(self):
        """Cov(f(Z), f(x)) and Var f(x)."""
        lacking = self.prior_variance * self.kernel.ald_residual
        self.h = self.S @ self.kernel.q
        self.v = max(lacking + self.kernel.q @ self.h, 1e-3 * lacking)

    def forget(self):
        """Back to the prior."""
        self.S = self.forgetting * self.S + (1.0 - self.forgetting) * self.prior_variance * self.kernel.K
        self.mu, self.m = math.sqrt(self.forgetting) * self.mu, math.sqrt(self.forgetting) * self.m
        self.spread()

    def learn(self, c, b, joins):
        if joins:
            self.S = np.block([[self.S, self.h[:, None]], [self.h[None, :], np.array([[self.v]])]])
            self.mu = np.vstack([self.mu, self.m])
            self.h = np.append(self.h, self.v)
        self.mu = self.mu + np.outer(self.h, c)
        if joins or b * self.v >= self.resolved:
            self.S = self.S - b * np.outer(self.h, self.h)

    def probit(self, y, w):
        s = math.sqrt(1.0 + self.v)
        z = y * self.m[0] / s
        r = math.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - special.log_ndtr(z))
        return self.weighted(np.array([y * r / s]), r * (z + r) / s**2, w)

    def gaussian(self, y, w):
        return self.weighted((y - self.m) / (self.noise + self.v), 1.0 / (self.noise + self.v), w)

    def weighted(self, c, b, w):
        factor = w / (1.0 + (w - 1.0) * b * self.v)
        return factor * c, factor * b

    def take_over(self, other):
        self.mu, self.S = other.mu.copy(), other.S.copy()
        self.noise = other.noise
        self.inverse_temperature, self.curvature = other.inverse_temperature, other.curvature


class SOGP:
    """One process, whose inverses are recomputed at every step."""

    def __init__(self, kappa, budget, prior_variance, forgetting, noise=None, columns=1):
        self.kappa, self.budget, self.noise, self.Z = kappa, budget, noise, []
        self.jitter = 1e-3 if noise is None or columns > 1 else 1e-6
        self.process = Process(self, forgetting, prior_variance, noise, columns)

    def gram(self):
        K = np.array([[self.kappa(z, v) for v in self.Z] for z in self.Z]).reshape(len(self.Z), len(self.Z))
        return K + self.jitter * np.diag(np.diag(K))

    def look(self, x):
        """Mean and variance of f(x)."""
        k, own = np.array([self.kappa(z, x) for z in self.Z]), self.kappa(x, x)
        self.K = self.gram()
        self.q = np.linalg.solve(self.K, k) if self.Z else k
        self.ald_residual = max((1.0 + self.jitter) * own - k @ self.q, 0.5 * self.jitter * own)
        self.novel = self.ald_residual > 2.0 * self.jitter * (1.0 + self.jitter) * own
        self.process.look()
        return self.process.m, self.process.v

    def learn(self, x, y, w=1.0):
        """y is ±1 (probit) without noise, a vector of targets with noise."""
        self.look(x)
        process, joins = self.process, self.novel
        process.forget()
        step = process.probit(y, w) if self.noise is None else process.gaussian(y, w)
        process.learn(*step, joins)
        if not joins:
            return
        self.Z.append(x)
        if len(self.Z) > self.budget:
            Q = np.linalg.inv(self.gram())
            i = int(np.argmin(((Q @ process.mu) ** 2).sum(axis=1) / np.diag(Q) ** 2))
            keep = list(range(len(self.Z)))
            keep[i] = keep[-1]  # the last one takes its position
            keep.pop()
            self.Z = [self.Z[j] for j in keep]
            process.mu, process.S = process.mu[keep], process.S[np.ix_(keep, keep)]


class KRLSRegressor(Twin):
    """Engel, Mannor & Meir 2004, table 1, by its definition: least squares over all samples, each as its projection."""

    nu, budget = 1e-4, None

    def learn(self, x, y):
        if not self.support:
            self.rows, self.targets = np.ones((1, 1)), np.array([y])
            self.add(x, y / self.kernel(x, x), y)
            return
        k, own, K = self.row(x), self.kernel(x, x), self.gram()
        a = np.linalg.solve(K, k)
        if own - k @ a > max(self.nu, 1e-12 * own) and len(self.support) != self.budget:
            self.add(x, 0.0, y)
            self.rows, a = np.pad(self.rows, ((0, 0), (0, 1))), np.eye(len(self.support))[-1]
        self.rows, self.targets = np.vstack([self.rows, a]), np.append(self.targets, y)
        values = np.linalg.lstsq(self.rows, self.targets, rcond=None)[0]
        self.alpha = np.linalg.solve(self.gram(), values).tolist()
