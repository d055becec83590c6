"""The gradient-descent family."""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from tests.reference.expansion import Twin
from tests.reference.losses import Hinge, Log, Squared
from tests.reference.tools import draw, largest, sign, smallest, step_size


class GradientTwin(Twin):
    loss = Hinge()

    def gradient(self, x, y):
        return self.loss.derivative(y, self.f(x))

    def eta(self):
        """He & Kwok 2014, eq. (6), or eta / sqrt(T) with a horizon."""
        return step_size(self.learning_rate, self.t, (self.horizon or self.t) ** -0.5)


class OGDClassifier(GradientTwin):
    """NORMA, Kivinen, Smola & Williamson 2004."""

    learning_rate, l2 = 0.3, 0.01

    def learn(self, x, y):
        self.t += 1
        eta, g = step_size(self.learning_rate, self.t), self.gradient(x, y)
        self.scale(1 - eta * self.l2)
        if g != 0:
            self.add(x, -eta * g, y)


class OGDRegressor(OGDClassifier):
    loss = Squared()


class QKLMSRegressor(Twin):
    """Chen, Zhao, Zhu & Príncipe 2012, algorithm 1.

    Decision: the nearest point is that of the kernel's space, as kernels of the distance have it.
    """

    learning_rate, epsilon, budget = 0.3, 0.1, None

    def learn(self, x, y):
        self.t += 1
        step = step_size(self.learning_rate, self.t) * (y - self.f(x))
        if step == 0:
            return
        distances = [self.kernel(z, z) - 2 * self.kernel(z, x) + self.kernel(x, x) for z in self.support]
        if distances:
            c = smallest(distances, self.birth)
            z = self.support[c]
            apart = math.sqrt(sum((x.get(name, 0.0) - z.get(name, 0.0)) ** 2 for name in {**x, **z}))
            if apart <= self.epsilon or len(self.support) == self.budget:
                self.alpha[c] += step
                return
        self.add(x, step, y)


class OLKClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 1."""

    learning_rate, radius, horizon = 1.0, None, None

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        if g != 0:
            self.add(x, -self.eta() * g, y)
        self.project_on_ball(self.radius)


class OLKRegressor(OLKClassifier):
    loss = Squared()


class OLRUClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 2."""

    learning_rate, c, power, radius, horizon = 1.0, 1.0, 0.25, None, None

    def learn(self, x, y):
        self.t += 1
        g, n = self.gradient(x, y), self.horizon or self.t
        p = min(1.0, self.c * n**-self.power)  # eq. (13)
        if g != 0 and self.rng.random() < p:
            eta = step_size(self.learning_rate, self.t, n ** (-(1 + self.power) / 2))
            self.add(x, -eta * g / p, y)
        self.project_on_ball(self.radius)


class OLRURegressor(OLRUClassifier):
    loss = Squared()


class OLRDClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 3."""

    learning_rate, budget, c, radius, horizon = 10.0, 100, None, 5.0, None

    def __init__(self, kernel, *, projection="exact", **parameters):
        super().__init__(kernel, **parameters)
        self.how_to_project = projection  # the name `projection` is taken by a method

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        if g != 0:
            n = len(self.support)
            if n >= self.current_budget():
                self.remove(int(self.rng.random() * n))
                if n > 1:
                    self.scale(n / (n - 1))  # eq. (17) with q = 1/n
            self.add(x, -self.eta() * g, y)
        # Decision: line 15 stands outside the if, so it is done without a loss, too.
        if self.how_to_project == "exact":
            self.project_on_ball(self.radius)
        elif self.radius is not None and self.support:
            top = max(abs(a) for a in self.alpha)
            root = max(math.sqrt(self.kernel(z, z)) for z in self.support)
            bound = self.current_budget() * top * root  # >= ||f||, eq. (21)
            if bound > self.radius:
                self.scale(self.radius / bound)

    def current_budget(self):
        if self.c is None:
            return self.budget
        return 1 + math.floor(self.c * math.sqrt(self.horizon or self.t))  # eq. (23), (24)


class OLRDRegressor(OLRDClassifier):
    loss = Squared()


def removal_probabilities(magnitudes):
    """BOGD++: 1 - q_i proportional to the magnitudes; a q_i that would be negative is set to 0
    and the others are computed again."""
    n = len(magnitudes)
    staying = [0.0] * n  # 1 - q_i, they sum to n - 1
    certain = set()
    while True:
        rest = [i for i in range(n) if i not in certain]
        left = n - 1 - len(certain)
        total = sum(magnitudes[i] for i in rest)
        for i in rest:
            # Decision: the q_i of points of magnitude 0 are equal.
            staying[i] = left * magnitudes[i] / total if total > 0 else left / len(rest)
        over = {i for i in rest if staying[i] > 1}
        if not over:
            return [1 - s for s in staying]
        certain |= over
        for i in over:
            staying[i] = 1.0


class BOGDClassifier(GradientTwin):
    """Zhao et al. 2012: BOGD (uniform) and BOGD++ (magnitude)."""

    budget, learning_rate, l2, max_coef, sampling = 100, 0.3, 0.01, 0.6, "uniform"

    def learn(self, x, y):
        self.t += 1
        eta, g = step_size(self.learning_rate, self.t), self.gradient(x, y)
        self.scale(1 - eta * self.l2)
        if g == 0:
            return
        if len(self.support) == self.budget:
            self.remove_one()
        self.add(x, -eta * g, y)
        if self.max_coef is not None:
            self.alpha = [max(-self.max_coef, min(self.max_coef, a)) for a in self.alpha]

    def remove_one(self):
        n = len(self.support)
        if self.sampling == "uniform":
            q = [1 / n] * n
            i = int(self.rng.random() * n)
        else:
            q = removal_probabilities(
                [abs(a) * math.sqrt(self.kernel(z, z)) for a, z in zip(self.alpha, self.support, strict=True)]
            )
            i = draw(self.rng, q)
        for j in self.others(i):
            self.alpha[j] /= 1 - q[j]
        self.remove(i)


class BOGDRegressor(BOGDClassifier):
    loss = Squared()


class OSKLClassifier(GradientTwin):
    """Zhang et al. 2013."""

    loss, learning_rate, bound, averaged = Log(), 1.0, 1.0, True

    def decision(self, x):
        return self.average(x, len(self.history)) if self.averaged else self.f(x)

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        if g != 0 and self.rng.random() < min(1.0, abs(g) / self.bound):
            eta = step_size(self.learning_rate, self.t)
            self.add(x, -eta * self.bound * sign(g), y)
        self.remember()


class KernelSGDClassifier(GradientTwin):
    """Pegasos; Le et al. 2016, Algorithm 1."""

    l2 = 1e-3
    y_max = 0.0

    def learn(self, x, y):
        self.t += 1
        self.y_max = max(self.y_max, abs(y))
        g = self.gradient(x, y)
        self.scale((self.t - 1) / self.t)
        if g != 0:
            self.add(x, -g / (self.l2 * self.t), y)
            self.maintain()
            # Decision: Algorithm 1 does not print the ball of Algorithms 2 and 3, but without it f overflows within
            # 100 samples (first steps of 1/l2), and BSGD would not be this algorithm with a budget.
            if isinstance(self.loss, Squared) and self.l2 <= 1:
                self.project_on_ball(self.y_max / math.sqrt(self.l2))

    def maintain(self):
        pass


class KernelSGDRegressor(KernelSGDClassifier):
    loss, l2 = Squared(), 1e-2


def merge_weight(a_m, a_p, kappa):
    """The h in [0, 1] that maximises |a_m kappa^((1-h)^2) + a_p kappa^(h^2)|, |a_m| >= |a_p|.

    This is |alpha_z| for z = h x_m + (1-h) x_p and an RBF kernel (Wang et al. 2012). Mirroring h
    at 1/2 gives the larger coefficient the larger factor, so the maximum lies in [1/2, 1], where
    the derivative of |alpha_z| changes sign once at most, from plus to minus.
    """
    if kappa == 0 or a_m * a_p <= 0:  # opposite signs: |alpha_z| grows up to h = 1
        return 1.0
    a_m, a_p = abs(a_m), abs(a_p)

    def slope(h):
        return a_m * (1 - h) * kappa ** ((1 - h) ** 2) - a_p * h * kappa ** (h**2)

    grid = np.linspace(0.5, 1.0, 2001)
    rising = np.flatnonzero(slope(grid[:-1]) > 0)
    if not len(rising):
        return 0.5
    i = rising[-1]
    return scipy.optimize.brentq(slope, grid[i], grid[i + 1], xtol=1e-16, rtol=1e-15)


class BSGDClassifier(KernelSGDClassifier):
    """Wang, Crammer & Vucetic 2012; Le et al. 2016, Algorithm 2."""

    budget, maintenance, n_neighbors = 100, "removal", 4

    def maintain(self):
        if len(self.support) > self.budget:
            self.reduce()

    def reduce(self):
        weights = [a**2 * self.kernel(z, z) for a, z in zip(self.alpha, self.support, strict=True)]
        p = smallest(weights, self.birth)  # eq. (5)
        if self.maintenance == "merging":
            self.merge(p)
            return
        if self.maintenance == "projection":
            self.spread(p, self.others(p))
        elif self.maintenance == "approximate":
            neighbours, rest = [], self.others(p)
            while rest and len(neighbours) < self.n_neighbors:
                neighbours.append(self.nearest(self.support[p], rest))
                rest.remove(neighbours[-1])
            self.spread(p, neighbours)
        self.remove(p)

    def spread(self, p, positions):
        """Add p's projection on the others to their coefficients."""
        d, _ = self.projection(self.support[p], [self.support[i] for i in positions])
        for i, di in zip(positions, d, strict=True):
            self.alpha[i] += self.alpha[p] * float(di)

    def merge(self, p):
        x_p, a_p = self.support[p], self.alpha[p]
        candidates, losses = self.others(p), []
        for m in candidates:
            a_m, kappa = self.alpha[m], self.kernel(self.support[m], x_p)
            h, L = merge_weight(a_m, a_p, kappa), -math.log(max(kappa, 5e-324))
            # ||a_m k_m + a_p k_p - a_z k_z||^2 without cancellation: a_p can be 1e-12 of a_m
            square_m, square_p = -math.expm1(-2 * L * (1 - h) ** 2), -math.expm1(-2 * L * h**2)
            cross = math.exp(-L * ((1 - h) ** 2 + h**2)) * math.expm1(-2 * L * h * (1 - h))
            losses.append(max(0.0, a_m**2 * square_m + a_p**2 * square_p + 2 * a_m * a_p * cross))
        best = smallest(losses, [self.birth[m] for m in candidates], scale=a_p**2 * self.kernel(x_p, x_p))
        m = candidates[best]
        x_m, a_m = self.support[m], self.alpha[m]
        h = merge_weight(a_m, a_p, self.kernel(x_m, x_p))
        z = {name: h * x_m.get(name, 0.0) + (1 - h) * x_p.get(name, 0.0) for name in {**x_m, **x_p}}
        for i in sorted((m, p), reverse=True):
            self.remove(i)
        self.add(z, a_m * self.kernel(x_m, z) + a_p * self.kernel(x_p, z))


class BSGDRegressor(BSGDClassifier):
    loss, l2 = Squared(), 1e-2


class NBSGDClassifier(BSGDClassifier):
    """Le et al. 2016, Algorithm 3."""

    beta, suffix = 1000.0, 0.0

    def maintain(self):
        if len(self.support) > self.budget and self.rng.random() < min(1.0, self.beta / self.t):
            self.reduce()

    def learn(self, x, y):
        super().learn(x, y)
        self.remember()

    def decision(self, x):
        if self.suffix == 0:
            return self.f(x)
        return self.average(x, math.ceil(self.suffix * (self.t + 1)))


class NBSGDRegressor(NBSGDClassifier):
    loss, l2 = Squared(), 1e-2


class POMDRClassifier(Twin):
    """Li & Liao 2023, after its authors' program."""

    budget, radius, hint, shrink, horizon = 100, 25.0, 15, 0.1, None
    sum_delta, halved, projecting = 0.0, False, True

    def __init__(self, kernel, **parameters):
        super().__init__(kernel, **parameters)
        self.learned = []

    def h(self, x):
        last = self.learned[-self.hint :]
        return sum(y * self.kernel(z, x) for z, y in last) / len(last) if last else 0.0

    def rate(self):
        return (self.shrink if self.halved else 1.0) * self.radius / math.sqrt(3 + self.sum_delta)

    def decision(self, x):
        return self.f(x) + self.rate() * self.h(x)

    def learn(self, x, y):
        self.t += 1
        if y * self.decision(x) < 1:
            self.update(x, y)
        self.learned.append((x, y))

    def update(self, x, y):
        T = self.horizon or self.t  # Decision: without a horizon, the samples so far
        rate = self.rate()
        self.sum_delta += max(0.0, self.kernel(x, x) - 2 * y * self.h(x))
        # Decision: the projections end for good when the set has outgrown 10 ln T.
        if self.support and len(self.support) >= round(10 * math.log(T)):
            self.projecting = False
        d, delta2 = self.projection(x)
        if self.projecting and self.support and math.sqrt(delta2) <= 1 / math.sqrt(T):
            self.absorb(rate * y, d)
        else:
            self.add(x, rate * y, y)
        self.project_on_ball(self.radius)
        if len(self.support) == self.budget:
            self.halve()

    def halve(self):
        order = sorted(range(len(self.support)), key=lambda i: self.birth[i])
        kept, removed = order[: self.budget // 2], order[self.budget // 2 :]
        births = [self.birth[i] for i in kept]
        for r in removed:
            similarity = [self.kernel(self.support[r], self.support[i]) for i in kept]
            self.alpha[kept[largest(similarity, births)]] += self.alpha[r]
        self.keep(kept)
        norm = math.sqrt(max(0.0, self.norm2()))
        if norm > 0:
            self.scale(self.radius / norm)
        self.halved = True
        self.projecting = False
        self.sum_delta = 0.0  # the program restarts the sum


class KernelOneClassSVM(Twin):
    """Kivinen et al. 2004, on novelty detection, with the budget of the class: projections from least squares."""

    nu, budget, learning_rate = 0.5, 100, 0.01
    rho = 0.0

    def decision(self, x):
        """A score of 0.5 at the margin."""
        distance = self.rho - self.f(x)
        return 0.5 + 0.5 * distance / (0.02 + abs(distance))

    def learn(self, x):
        self.t += 1
        eta = step_size(self.learning_rate, self.t)
        below = self.f(x) <= self.rho
        self.rho += eta * (self.nu - below)
        eta = max(0.3 * eta, 1 / self.t)
        self.scale(1 - eta)
        if not below:
            return
        d, residue = self.projection(x)
        if residue <= 0.01 * self.kernel(x, x):
            self.absorb(eta, d)
        elif len(self.support) < self.budget:
            self.add(x, eta)
        else:
            lost = []
            for r, z in enumerate(self.support):
                _, delta2 = self.projection(z, [self.support[i] for i in self.others(r)])
                lost.append(self.alpha[r] ** 2 * delta2)
            r = smallest(lost, self.birth)
            if eta**2 * residue <= lost[r]:
                self.absorb(eta, d)
            else:
                z, alpha = self.support[r], self.alpha[r]
                self.remove(r)
                self.absorb(alpha, self.projection(z)[0])
                self.add(x, eta)
