"""The gradient-descent family."""

from __future__ import annotations

import math
import random

import numpy as np
import scipy.optimize

from tests.reference.expansion import Twin
from tests.reference.losses import Hinge, Log, Squared
from tests.reference.tools import draw, largest, least_squares, sign, smallest, step_size


class GradientTwin(Twin):
    default_loss = Hinge

    def __init__(self, kernel, loss):
        super().__init__(kernel)
        self.loss = self.default_loss() if loss is None else loss

    def gradient(self, x, y):
        return self.loss.derivative(y, self.f(x))

    def eta(self):
        """He & Kwok 2014, eq. (6), or eta / sqrt(T) with a horizon."""
        return step_size(self.learning_rate, self.t, (self.horizon or self.t) ** -0.5)


class OGDClassifier(GradientTwin):
    """NORMA, Kivinen, Smola & Williamson 2004."""

    def __init__(self, kernel, *, loss=None, learning_rate=0.3, l2=0.01):
        super().__init__(kernel, loss)
        self.learning_rate = learning_rate
        self.l2 = l2

    def learn(self, x, y):
        self.t += 1
        eta, g = step_size(self.learning_rate, self.t), self.gradient(x, y)
        self.scale(1 - eta * self.l2)
        if g != 0:
            self.add(x, -eta * g, y)


class OGDRegressor(OGDClassifier):
    default_loss = Squared


class OLKClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 1."""

    def __init__(self, kernel, *, loss=None, learning_rate=1.0, radius=None, horizon=None):
        super().__init__(kernel, loss)
        self.learning_rate = learning_rate
        self.radius = radius
        self.horizon = horizon

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        if g != 0:
            self.add(x, -self.eta() * g, y)
        self.project_on_ball(self.radius)


class OLKRegressor(OLKClassifier):
    default_loss = Squared


class OLRUClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 2."""

    def __init__(
        self,
        kernel,
        *,
        loss=None,
        learning_rate=1.0,
        c=1.0,
        power=0.25,
        radius=None,
        horizon=None,
        seed=None,
    ):
        super().__init__(kernel, loss)
        self.learning_rate = learning_rate
        self.c = c
        self.power = power
        self.radius = radius
        self.horizon = horizon
        self.rng = random.Random(seed)

    def learn(self, x, y):
        self.t += 1
        g = self.gradient(x, y)
        if g != 0:
            p, eta = self.p_and_eta()
            if self.rng.random() < p:
                self.add(x, -eta * g / p, y)
        self.project_on_ball(self.radius)

    def p_and_eta(self):
        n = self.horizon or self.t
        p = min(1.0, self.c * n**-self.power)  # eq. (13)
        return p, step_size(self.learning_rate, self.t, n ** (-(1 + self.power) / 2))


class OLRURegressor(OLRUClassifier):
    default_loss = Squared


class OLRDClassifier(GradientTwin):
    """He & Kwok 2014, Algorithm 3."""

    def __init__(
        self,
        kernel,
        *,
        loss=None,
        learning_rate=10.0,
        budget=100,
        c=None,
        radius=5.0,
        horizon=None,
        projection="exact",
        seed=None,
    ):
        super().__init__(kernel, loss)
        self.learning_rate = learning_rate
        self.budget = budget
        self.c = c
        self.radius = radius
        self.horizon = horizon
        self.how_to_project = projection
        self.rng = random.Random(seed)

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
    default_loss = Squared


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

    def __init__(
        self,
        kernel,
        *,
        loss=None,
        budget=100,
        learning_rate=0.3,
        l2=0.01,
        max_coef=0.6,
        sampling="uniform",
        seed=None,
    ):
        super().__init__(kernel, loss)
        self.budget = budget
        self.learning_rate = learning_rate
        self.l2 = l2
        self.max_coef = max_coef
        self.sampling = sampling
        self.rng = random.Random(seed)

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
    default_loss = Squared


class OSKLClassifier(GradientTwin):
    """Zhang et al. 2013."""

    default_loss = Log

    def __init__(self, kernel, *, loss=None, learning_rate=1.0, bound=1.0, averaged=True, seed=None):
        super().__init__(kernel, loss)
        self.learning_rate = learning_rate
        self.bound = bound
        self.averaged = averaged
        self.rng = random.Random(seed)

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

    default_l2 = 1e-3

    def __init__(self, kernel, *, loss=None, l2=None):
        super().__init__(kernel, loss)
        self.l2 = self.default_l2 if l2 is None else l2
        self.y_max = 0.0

    def learn(self, x, y):
        self.t += 1
        self.y_max = max(self.y_max, abs(y))
        g = self.gradient(x, y)
        self.scale((self.t - 1) / self.t)
        if g != 0:
            self.add(x, -g / (self.l2 * self.t), y)
            self.maintain()
            # Decision: Algorithm 1 does not print the ball of Algorithms 2 and 3, but without it
            # f overflows within 100 samples (first steps of 1/l2), and BSGD would not be this
            # algorithm with a budget.
            if isinstance(self.loss, Squared) and self.l2 <= 1:
                self.project_on_ball(self.y_max / math.sqrt(self.l2))

    def maintain(self):
        pass


class KernelSGDRegressor(KernelSGDClassifier):
    default_loss, default_l2 = Squared, 1e-2


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

    n_neighbors = 4

    def __init__(self, kernel, *, loss=None, l2=None, budget=100, maintenance="removal"):
        super().__init__(kernel, loss=loss, l2=l2)
        self.budget = budget
        self.maintenance = maintenance

    def maintain(self):
        if len(self.support) > self.budget and self.maintenance_is_due():
            self.reduce()

    def maintenance_is_due(self):
        return True

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
        xs = [self.support[i] for i in positions]
        K = self.matrix(xs)
        k = np.array([self.kernel(a, self.support[p]) for a in xs])
        for i, d in zip(positions, least_squares(K, k), strict=True):
            self.alpha[i] += self.alpha[p] * float(d)

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
        best = smallest(
            losses,
            [self.birth[m] for m in candidates],
            scale=a_p**2 * self.kernel(x_p, x_p),
        )
        m = candidates[best]
        born = self.birth[m]
        z, a_z = self.merged(m, p)
        self.remove(p)
        self.remove(self.birth.index(born))
        self.add(z, a_z)

    def merged(self, m, p):
        x_m, x_p, a_m, a_p = self.support[m], self.support[p], self.alpha[m], self.alpha[p]
        h = merge_weight(a_m, a_p, self.kernel(x_m, x_p))
        features = list(x_m) + [name for name in x_p if name not in x_m]
        z = {name: h * x_m.get(name, 0.0) + (1 - h) * x_p.get(name, 0.0) for name in features}
        return z, a_m * self.kernel(x_m, z) + a_p * self.kernel(x_p, z)


class BSGDRegressor(BSGDClassifier):
    default_loss, default_l2 = Squared, 1e-2


class NBSGDClassifier(BSGDClassifier):
    """Le et al. 2016, Algorithm 3."""

    def __init__(
        self,
        kernel,
        *,
        loss=None,
        l2=None,
        budget=100,
        beta=1000.0,
        maintenance="removal",
        n_neighbors=4,
        suffix=0.0,
        seed=None,
    ):
        super().__init__(kernel, loss=loss, l2=l2, budget=budget, maintenance=maintenance)
        self.beta = beta
        self.n_neighbors = n_neighbors
        self.suffix = suffix
        self.rng = random.Random(seed)

    def maintenance_is_due(self):
        return self.rng.random() < min(1.0, self.beta / self.t)

    def learn(self, x, y):
        super().learn(x, y)
        self.remember()

    def decision(self, x):
        if self.suffix == 0:
            return self.f(x)
        return self.average(x, math.ceil(self.suffix * (self.t + 1)))


class NBSGDRegressor(NBSGDClassifier):
    default_loss, default_l2 = Squared, 1e-2


class POMDRClassifier(Twin):
    """Li & Liao 2023, after its authors' program."""

    def __init__(self, kernel, *, budget=100, radius=25.0, hint=15, shrink=0.1, horizon=None):
        super().__init__(kernel)
        self.budget = budget
        self.radius = radius
        self.hint = hint
        self.shrink = shrink
        self.horizon = horizon
        self.recent = []  # all samples; the hint is the mean over the last ones
        self.sum_delta = 0.0
        self.halved = False
        self.projecting = True

    def h(self, x):
        last = self.recent[-self.hint :]
        return sum(y * self.kernel(z, x) for z, y in last) / len(last) if last else 0.0

    def rate(self):
        return (self.shrink if self.halved else 1.0) * self.radius / math.sqrt(3 + self.sum_delta)

    def decision(self, x):
        return self.f(x) + self.rate() * self.h(x)

    def learn(self, x, y):
        self.t += 1
        if y * self.decision(x) < 1:
            self.update(x, y)
        self.recent.append((x, y))

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

    def __init__(self, kernel, *, nu=0.5, budget=100, learning_rate=0.01):
        super().__init__(kernel)
        self.nu, self.budget, self.learning_rate, self.rho = nu, budget, learning_rate, 0.0

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
            for r in range(len(self.support)):
                z, others = self.support[r], [self.support[i] for i in self.others(r)]
                k = np.array([self.kernel(other, z) for other in others])
                lost.append(self.alpha[r] ** 2 * self.kernel(z, z))
                if others:
                    lost[r] -= self.alpha[r] ** 2 * (k @ least_squares(self.matrix(others), k))
            r = smallest(lost, self.birth)
            if eta**2 * residue <= lost[r]:
                self.absorb(eta, d)
            else:
                z, alpha = self.support[r], self.alpha[r]
                self.remove(r)
                self.absorb(alpha, self.projection(z)[0])
                self.add(x, eta)
