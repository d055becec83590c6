"""Sparse online Gaussian processes: Csató & Opper 2002, Van Vaerenbergh et al. 2012."""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats


class SOGP:
    """A sparse online Gaussian process on vectors, with S itself and all inverses recomputed at every step."""

    JITTER = 1e-3

    def __init__(self, kappa, budget, prior_variance, forgetting, noise=None, columns=1):
        self.kappa, self.budget, self.a, self.lam, self.noise = kappa, budget, prior_variance, forgetting, noise
        self.Z = []
        self.mu = np.zeros((0, columns))
        self.S = np.zeros((0, 0))

    def gram(self):
        K = np.array([[self.kappa(z, v) for v in self.Z] for z in self.Z]).reshape(len(self.Z), len(self.Z))
        return K + self.JITTER * np.diag(np.diag(K))

    def look(self, x):
        """q, γ / κ(x, x), h, m, v"""
        k = np.array([self.kappa(z, x) for z in self.Z])
        own = (1.0 + self.JITTER) * self.kappa(x, x)
        q = np.linalg.solve(self.gram(), k) if self.Z else k
        gamma = max(own - k @ q, 0.5 * self.JITTER * self.kappa(x, x))
        h = self.S @ q
        return q, gamma / own, h, q @ self.mu, self.a * gamma + q @ h

    def learn(self, x, y, w=1.0):
        """y is ±1 (probit) without noise, a vector of targets with noise."""
        q, novelty, h, m, v = self.look(x)
        full = len(self.Z) >= self.budget
        if self.noise is None:
            confident = stats.norm.cdf(y * m[0] / math.sqrt(1.0 + v)) >= 0.7
        elif len(m) == 1:
            confident = (y[0] - m[0]) ** 2 <= v + self.noise
        else:
            confident = special.softmax(6.0 * m)[int(np.argmax(y))] >= 0.7
        gamma = novelty * (1.0 + self.JITTER) * self.kappa(x, x)
        # back to the prior
        self.S = self.lam * self.S + (1.0 - self.lam) * self.a * self.gram()
        self.mu = math.sqrt(self.lam) * self.mu
        h, m = self.S @ q, q @ self.mu
        v = self.a * gamma + q @ h
        # the likelihood
        if self.noise is None:
            s = math.sqrt(1.0 + v)
            z = y * m[0] / s
            r = math.exp(stats.norm.logpdf(z) - stats.norm.logcdf(z))
            c, b = np.array([y * r / s]), r * (z + r) / s**2
        else:
            c, b = (y - m) / (self.noise + v), 1.0 / (self.noise + v)
        strength = w / (1.0 + (w - 1.0) * b * v)
        c, b = strength * c, strength * b
        if novelty <= 1e-3 or (full and confident):
            self.mu = self.mu + np.outer(h, c)
            if b * v >= 0.01:
                self.S = self.S - b * np.outer(h, h)
            return
        p = np.append(h, v)
        self.mu = np.vstack([self.mu, m]) + np.outer(p, c)
        self.S = np.block([[self.S, h[:, None]], [h[None, :], np.array([[v]])]]) - b * np.outer(p, p)
        self.Z.append(x)
        if len(self.Z) > self.budget:
            Q = np.linalg.inv(self.gram())
            i = int(np.argmin(((Q @ self.mu) ** 2).sum(axis=1) / np.diag(Q) ** 2))
            keep = list(range(len(self.Z)))
            keep[i] = keep[-1]  # the last one takes its position
            keep.pop()
            self.Z = [self.Z[j] for j in keep]
            self.mu, self.S = self.mu[keep], self.S[np.ix_(keep, keep)]
