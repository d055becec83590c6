"""The Perceptron family."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from tests.reference.expansion import Twin
from tests.reference.tools import largest, step_size


class KernelPerceptronClassifier(Twin):
    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) <= 0:
            self.add(x, y, y)


class RBPClassifier(Twin):
    """Cavallanti, Cesa-Bianchi & Gentile 2007."""

    budget = 100

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) <= 0:
            if len(self.support) == self.budget:
                self.remove(int(self.rng.random() * len(self.support)))
            self.add(x, y, y)


class BudgetPerceptronClassifier(Twin):
    """Crammer, Kandola & Singer 2003, with a cache of fixed size."""

    budget, tolerance = 100, 0.0

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) > self.tolerance:
            return
        if len(self.support) == self.budget:

            def margin_without(i):
                z, v = self.support[i], self.label[i]
                return v * (self.f(z) - self.alpha[i] * self.kernel(z, z))

            self.remove(largest([margin_without(i) for i in range(self.budget)], self.birth))
        self.add(x, y, y)


class ALMAClassifier(Twin):
    """Gentile 2001 for p = 2."""

    C = 2.0**0.5
    k = 1

    def __init__(self, kernel, *, alpha=0.9, B=None, **parameters):
        super().__init__(kernel, **parameters)
        self.share, self.B = alpha, 1.0 / alpha if B is None else B

    def learn(self, x, y):
        self.t += 1
        length = math.sqrt(self.kernel(x, x))
        if length > 0 and y * self.f(x) / length <= (1 - self.share) * self.B / math.sqrt(self.k):
            self.add(x, self.C / math.sqrt(self.k) * y / length, y)
            self.project_on_ball(1.0)
            self.k += 1


def forgetron_shrinkage(delta, mu, Q, M):
    """Largest phi in (0, 1] with Q + (delta phi)^2 + 2 delta phi (1 - phi mu) <= 15/32 M."""

    def excess(phi):
        return Q + (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu) - 15 / 32 * M

    if excess(1.0) <= 0:
        return 1.0
    # excess is a parabola with excess(0) < 0 < excess(1): exactly one root lies between
    return scipy.optimize.brentq(excess, 0.0, 1.0, xtol=1e-16, rtol=4 * np.finfo(float).eps)


class ForgetronClassifier(Twin):
    """The self-tuned Forgetron, Dekel, Shalev-Shwartz & Singer 2008."""

    budget = 100
    M, Q = 0, 0.0

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) > 0:
            return
        self.add(x, y, y)
        self.M += 1
        if len(self.support) == self.budget + 1:
            r = self.birth.index(min(self.birth))
            # Decision: mu is taken with the new point in and before shrinking (f' of the paper).
            delta, mu = abs(self.alpha[r]), self.label[r] * self.f(self.support[r])
            phi = forgetron_shrinkage(delta, mu, self.Q, self.M)
            self.Q += (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu)
            self.scale(phi)
            self.remove(r)


class ProjectronClassifier(Twin):
    """Orabona, Keshet & Caputo 2009."""

    tolerance, budget = 0.1, None

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) <= 0:
            self.mistake(x, y)

    def mistake(self, x, y):
        d, delta2 = self.projection(x)
        full = self.budget is not None and len(self.support) >= self.budget
        dependent = delta2 < 1e-12 * self.kernel(x, x)
        if math.sqrt(delta2) <= self.tolerance or dependent or full:
            self.absorb(y, d)
        else:
            self.add(x, y, y)


class ProjectronPlusPlusClassifier(ProjectronClassifier):
    """The variant of the same paper that also learns from margin errors."""

    def learn(self, x, y):
        self.t += 1
        margin = y * self.f(x)
        if margin <= 0:
            self.mistake(x, y)
        elif margin < 1 and self.tolerance > 0:
            d, delta2 = self.projection(x)
            P = float(self.row(x) @ d)  # ||P k_t||^2
            loss = 1 - margin
            gain = loss - math.sqrt(delta2) / self.tolerance
            if gain > 0 and P > 0:
                self.absorb(min(loss / P, 2 * gain / P, 1.0) * y, d)


class AVPClassifier(Twin):
    """Liao et al. 2024, Algorithm 1."""

    radius, learning_rate, epsilon = math.inf, 1.0, 0.6
    mistakes = 0

    def rate(self):
        if self.learning_rate == "adaptive":  # Corollary 2
            return self.radius / math.sqrt(self.radius**2 + self.mistakes)
        return step_size(self.learning_rate, self.t)

    def learn(self, x, y):
        self.t += 1
        margin = y * self.f(x)
        self.mistakes += margin <= 0
        if margin < 1 - self.epsilon:
            self.make_room()
            self.add(x, self.rate() * y, y)
            self.project_on_ball(self.radius)

    def make_room(self):
        pass


class AhpatronClassifier(AVPClassifier):
    """Liao et al. 2024, Algorithm 2: AVP with halving."""

    budget, radius, learning_rate, epsilon, ridge = 100, None, None, 0.5, 5e-4

    def __init__(self, kernel, **parameters):
        super().__init__(kernel, **parameters)
        if self.radius is None:
            self.radius = math.sqrt(self.budget) / 2
        if self.learning_rate is None:
            self.learning_rate = self.radius / math.sqrt(4 * self.budget)

    def make_room(self):
        if len(self.support) < self.budget:
            return
        norm = math.sqrt(self.norm2())
        S2 = self.half()
        S1 = [i for i in range(len(self.support)) if i not in S2]
        K, alpha = self.gram(), np.array(self.alpha)
        K2, K21 = K[np.ix_(S2, S2)], K[np.ix_(S2, S1)]
        theta = np.linalg.solve(K2 + self.ridge * np.eye(len(S2)), K21 @ alpha[S1])  # eq. (9)
        for i, extra in zip(S2, theta, strict=True):
            self.alpha[i] += float(extra)
        self.keep(S2)
        halved = math.sqrt(max(0.0, self.norm2()))
        if halved > 0:
            self.scale(norm / halved)  # eq. (7) with c_t = ||f_t|| / U, Theorem 6

    def half(self):
        """Positions of the floor(B/2) points of largest |alpha|; in ties the older is kept."""
        size = self.budget // 2
        magnitude = [abs(a) for a in self.alpha]
        threshold = sorted(magnitude, reverse=True)[size - 1] if size else math.inf
        clear = [i for i, m in enumerate(magnitude) if m > threshold * (1 + 1e-9)]
        tied = [i for i, m in enumerate(magnitude) if threshold * (1 - 1e-9) <= m <= threshold * (1 + 1e-9)]
        tied.sort(key=lambda i: self.birth[i])
        return clear + tied[: size - len(clear)]
