"""Every algorithm a second time, in naive NumPy: the twins the fast classes are compared with.

Each twin is written from its paper, never from the fast code, and recomputes everything from the
definition: norms from the full Gram, projections from a linear solve, averages from the list of all
past models. A twin has the name and the keyword parameters of the public class and

    learn(x, y)      x a dict, y = -1.0 / +1.0 or a real target
    decision(x)      the value the class predicts from
    support, alpha, birth    the points in position order, their coefficients, their birth numbers
    norm2()          ||f||^2

Map: kernels, losses, small tools, Twin, then the sections of the papers in the order
Perceptron family, passive-aggressive family, gradient-descent family, functional approximation.

A comment that starts with "Decision" marks a place where paper and specification leave a choice.
"""

from __future__ import annotations

import math
import random

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy import special, stats

# ---------------------------------------------------------------------------------------------
# Kernels: plain functions of two feature dicts, a missing feature counts as 0
# ---------------------------------------------------------------------------------------------


def dot(x, z):
    return sum([value * z.get(feature, 0.0) for feature, value in x.items()])


def squared_distance(x, z):
    here = sum([(value - z.get(feature, 0.0)) ** 2 for feature, value in x.items()])
    return here + sum([value**2 for feature, value in z.items() if feature not in x])


def rbf(gamma):
    return lambda x, z: math.exp(-gamma * squared_distance(x, z))


def laplacian(gamma):
    return lambda x, z: math.exp(-gamma * math.sqrt(squared_distance(x, z)))


def polynomial(degree, gamma=1.0, coef0=1.0):
    return lambda x, z: (gamma * dot(x, z) + coef0) ** degree


def linear():
    return dot


def remembered(kernel, known=None):
    """The same naive kernel, asked once for each pair of samples: twins ask again and again.

    Pairs go by their ids, and the samples are kept, so that no other dict gets their ids; nobody may change them.
    ``known`` is what several kernels of one definition may share, at first an empty pair of a dict and a list.
    """
    values, samples = ({}, []) if known is None else known

    def value(x, z):
        try:
            return values[id(x), id(z)]
        except KeyError:
            samples.append((x, z))
            values[id(x), id(z)] = values[id(z), id(x)] = found = kernel(x, z)
            return found

    return value


# ---------------------------------------------------------------------------------------------
# Losses: value and derivative in the prediction p; y = -1 / +1 for Hinge and Log
# ---------------------------------------------------------------------------------------------


class Hinge:
    def __call__(self, y, p):
        return max(0.0, 1.0 - y * p)

    def derivative(self, y, p):
        return -y if y * p < 1.0 else 0.0


class Log:
    def __call__(self, y, p):
        return float(np.logaddexp(0.0, -y * p))

    def derivative(self, y, p):
        return -y * math.exp(-float(np.logaddexp(0.0, y * p)))  # -y / (1 + exp(y p))


class Squared:
    def __call__(self, y, p):
        return (p - y) ** 2

    def derivative(self, y, p):
        return 2.0 * (p - y)


class Absolute:
    def __call__(self, y, p):
        return abs(p - y)

    def derivative(self, y, p):
        return sign(p - y)


class EpsilonInsensitive:
    def __init__(self, eps=0.1):
        self.eps = eps

    def __call__(self, y, p):
        return max(0.0, abs(p - y) - self.eps)

    def derivative(self, y, p):
        return sign(p - y) if abs(p - y) > self.eps else 0.0


class Huber:
    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def __call__(self, y, p):
        r = abs(p - y)
        return r * r / 2.0 if r <= self.epsilon else self.epsilon * (r - self.epsilon / 2.0)

    def derivative(self, y, p):
        return max(-self.epsilon, min(self.epsilon, p - y))


class Quantile:
    # The derivative is river's; the value is its integral (river's value belongs to 1 - alpha).
    def __init__(self, alpha=0.5):
        self.alpha = alpha

    def __call__(self, y, p):
        return max(self.alpha * (y - p), (1.0 - self.alpha) * (p - y))

    def derivative(self, y, p):
        return float(y < p) - self.alpha


# ---------------------------------------------------------------------------------------------
# Small tools
# ---------------------------------------------------------------------------------------------

RIDGE = 1e-8  # relative, on the diagonal, only where BDUOL clips the solution of a linear system
LOSS = 1e-9  # "suffers a loss" in the passive-aggressive families


def sign(z):
    return float(z > 0) - float(z < 0)


def smallest(values, births, scale=0.0):
    """Position of the smallest value; within 1e-9 relative the oldest point wins."""
    best = min(values)
    tied = [i for i, v in enumerate(values) if v <= best + 1e-9 * max(abs(best), scale)]
    return min(tied, key=lambda i: births[i])


def largest(values, births):
    return smallest([-v for v in values], births)


def least_squares(gram, rhs):
    """gram^-1 rhs; in a singular Gram the pseudo-inverse, which is still the projection."""
    return np.linalg.lstsq(gram, rhs, rcond=1e-12)[0]


def draw(rng, probabilities):
    u = rng.random()
    total = 0.0
    for i, p in enumerate(probabilities):
        total += p
        if total > u:
            return i
    return max(i for i, p in enumerate(probabilities) if p > 0)


def step_size(rate, t, factor=1.0):
    """A callable gives the step itself, a float is multiplied by the algorithm's own factor."""
    return rate(t) if callable(rate) else rate * factor


class Twin:
    """f = sum_i alpha_i k(x_i, .); only kernel values are kept, everything else is recomputed."""

    def __init__(self, kernel):
        self.kernel = kernel
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
        self.support = [self.support[i] for i in order]
        self.alpha = [self.alpha[i] for i in order]
        self.label = [self.label[i] for i in order]
        self.birth = [self.birth[i] for i in order]

    def scale(self, factor):
        self.alpha = [factor * a for a in self.alpha]

    def project_on_ball(self, radius):
        """f <- min(1, radius / ||f||) f."""
        if radius is not None and radius != math.inf:
            norm = math.sqrt(max(0.0, self.norm2()))
            if norm > radius:
                self.scale(radius / norm)

    def projection(self, x):
        """d and ||delta||^2 of the projection sum_i d_i k(x_i, .) of k(x, .) on the support."""
        if not self.support:
            return np.zeros(0), self.kernel(x, x)
        k = self.row(x)
        d = least_squares(self.gram(), k)
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


# ---------------------------------------------------------------------------------------------
# 1. Perceptron family
# ---------------------------------------------------------------------------------------------


class KernelPerceptronClassifier(Twin):
    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) <= 0:
            self.add(x, y, y)


class RBPClassifier(Twin):
    """Cavallanti, Cesa-Bianchi & Gentile 2007."""

    def __init__(self, kernel, *, budget=100, seed=None):
        super().__init__(kernel)
        self.budget = budget
        self.rng = random.Random(seed)

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) <= 0:
            if len(self.support) == self.budget:
                self.remove(int(self.rng.random() * len(self.support)))
            self.add(x, y, y)


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

    def __init__(self, kernel, *, budget=100):
        super().__init__(kernel)
        self.budget = budget
        self.M = 0
        self.Q = 0.0

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

    def __init__(self, kernel, *, tolerance=0.1, budget=None):
        super().__init__(kernel)
        self.tolerance = tolerance
        self.budget = budget

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

    def __init__(self, kernel, *, radius=math.inf, learning_rate=1.0, epsilon=0.6):
        super().__init__(kernel)
        self.radius = radius
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.mistakes = 0

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

    def __init__(self, kernel, *, budget=100, radius=None, learning_rate=None, epsilon=0.5, ridge=5e-4):
        radius = math.sqrt(budget) / 2 if radius is None else radius
        rate = radius / math.sqrt(4 * budget) if learning_rate is None else learning_rate
        super().__init__(kernel, radius=radius, learning_rate=rate, epsilon=epsilon)
        self.budget = budget
        self.ridge = ridge

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
        """Positions of the floor(B/2) points of largest |alpha|; among equals the older stays."""
        size = self.budget // 2
        magnitude = [abs(a) for a in self.alpha]
        threshold = sorted(magnitude, reverse=True)[size - 1] if size else math.inf
        clear = [i for i, m in enumerate(magnitude) if m > threshold * (1 + 1e-9)]
        tied = [i for i, m in enumerate(magnitude) if threshold * (1 - 1e-9) <= m <= threshold * (1 + 1e-9)]
        tied.sort(key=lambda i: self.birth[i])
        return clear + tied[: size - len(clear)]


# ---------------------------------------------------------------------------------------------
# 2. Passive-aggressive family
# ---------------------------------------------------------------------------------------------


def hinge_loss(y, p):
    """Loss and the sign of the update."""
    return max(0.0, 1.0 - y * p), y


def insensitive_loss(y, p, eps):
    return max(0.0, abs(y - p) - eps), sign(y - p)


class KernelPAClassifier(Twin):
    """Crammer et al. 2006: PA, PA-I, PA-II as mode 0, 1, 2."""

    def __init__(self, kernel, *, C=1.0, mode=1):
        super().__init__(kernel)
        self.C = C
        self.mode = mode

    def suffer(self, y, p):
        return hinge_loss(y, p)

    def learn(self, x, y):
        self.t += 1
        loss, s = self.suffer(y, self.f(x))
        k = self.kernel(x, x)
        if loss <= LOSS or k <= 0:
            return
        tau = [loss / k, min(self.C, loss / k), loss / (k + 1 / (2 * self.C))][self.mode]
        self.add(x, s * tau, y)


class KernelPARegressor(KernelPAClassifier):
    def __init__(self, kernel, *, C=1.0, mode=1, eps=0.1):
        super().__init__(kernel, C=C, mode=mode)
        self.eps = eps

    def suffer(self, y, p):
        return insensitive_loss(y, p, self.eps)


class BPAClassifier(Twin):
    """Wang & Vucetic 2010."""

    def __init__(self, kernel, *, budget=100, C=1.0, maintenance="simple"):
        super().__init__(kernel)
        self.budget = budget
        self.C = C
        self.maintenance = maintenance

    def suffer(self, y, p):
        return hinge_loss(y, p)

    def learn(self, x, y):
        self.t += 1
        loss, s = self.suffer(y, self.f(x))
        k = self.kernel(x, x)
        if loss <= LOSS or k <= 0:
            return
        if len(self.support) < self.budget:
            self.add(x, s * min(self.C, loss / k), y)
            return

        # f'(x_t) is the same for every r, since t is in V and so the projection on V keeps the
        # value at x_t: the objective's only part that depends on r is what the projection loses.
        replacements = [self.replacement(r, x, y) for r in range(len(self.support))]
        r = smallest([lost for _, _, lost in replacements], self.birth)
        V, beta, _ = replacements[r]
        for i, b in zip(V, beta[1:], strict=True):
            self.alpha[i] += float(b)
        self.remove(r)
        self.add(x, float(beta[0]), y)

    def spanning_set(self, r, x):
        """V without t, for the candidate r."""
        others = self.others(r)
        if self.maintenance == "projection":
            return others
        if self.maintenance == "nearest" and others:
            n = self.nearest(self.support[r], others)
            kt, kn = self.kernel(x, x), self.kernel(self.support[n], self.support[n])
            # Decision: a neighbour that depends on x_t adds nothing to the span of x_t.
            if kt * kn - self.kernel(x, self.support[n]) ** 2 > 1e-12 * kt * kn:
                return [n]
        return []

    def replacement(self, r, x, y):
        """V without t, beta (that of t first), and alpha_r^2 ||kappa_r - P_V kappa_r||^2."""
        V = self.spanning_set(r, x)
        points = [x] + [self.support[i] for i in V]
        KV = self.matrix(points)
        kr = np.array([self.kernel(a, self.support[r]) for a in points])
        kt = np.array([self.kernel(a, x) for a in points])
        ar = self.alpha[r]
        project_r, project_t = least_squares(KV, kr), least_squares(KV, kt)

        value = self.f(x) - ar * self.kernel(self.support[r], x) + ar * kt @ project_r
        loss, s = self.suffer(y, value)
        tau = min(self.C, loss / (kt @ project_t))
        beta = ar * project_r + tau * s * project_t

        krr = self.kernel(self.support[r], self.support[r])
        delta2 = krr - kr @ project_r
        if delta2 < 1e-12 * krr:  # Decision: what is left of a dependent point is rounding
            delta2 = 0.0
        return V, beta, float(ar**2 * delta2)


class BPARegressor(BPAClassifier):
    def __init__(self, kernel, *, budget=100, C=1.0, maintenance="simple", eps=0.1):
        super().__init__(kernel, budget=budget, C=C, maintenance=maintenance)
        self.eps = eps

    def suffer(self, y, p):
        return insensitive_loss(y, p, self.eps)


class SPAClassifier(Twin):
    """Lu, Zhao & Hoi 2016, Algorithm 1."""

    def __init__(self, kernel, *, learning_rate=1.0, alpha=1.0, beta=5.0, averaged=True, seed=None):
        super().__init__(kernel)
        self.learning_rate = learning_rate
        self.max_loss = alpha  # the name `alpha` is taken by the coefficients
        self.beta = beta
        self.averaged = averaged
        self.rng = random.Random(seed)

    def suffer(self, y, p):
        return hinge_loss(y, p)

    def decision(self, x):
        return self.average(x, len(self.history)) if self.averaged else self.f(x)

    def learn(self, x, y):
        self.t += 1
        loss, s = self.suffer(y, self.f(x))
        k = self.kernel(x, x)
        if loss > LOSS and k > 0:
            rho = min(self.max_loss, loss) / self.beta
            if self.rng.random() < rho:
                eta = step_size(self.learning_rate, self.t)
                self.add(x, s * min(eta / rho, loss / k), y)  # Proposition 1
        self.remember()


class SPARegressor(SPAClassifier):
    def __init__(
        self,
        kernel,
        *,
        learning_rate=1.0,
        alpha=1.0,
        beta=5.0,
        averaged=True,
        seed=None,
        eps=0.1,
    ):
        super().__init__(
            kernel,
            learning_rate=learning_rate,
            alpha=alpha,
            beta=beta,
            averaged=averaged,
            seed=seed,
        )
        self.eps = eps

    def suffer(self, y, p):
        return insensitive_loss(y, p, self.eps)


def two_variable_step(loss_t, loss_b, k_t, k_b, w, gamma_b, C):
    """The (g, d) that maximises the gain in the dual over 0 <= g <= C, 0 <= gamma_b + d <= C.

    Gain: g loss_t + d loss_b - (g^2 k_t + d^2 k_b + 2 g d w) / 2. For a given g the best d is where its derivative
    is 0, or an end of its interval. What is left is a concave function of g, whose slope is bisected.
    """
    low, high = -gamma_b, C - gamma_b

    def best(g):
        return min(high, max(low, (loss_b - w * g) / k_b))

    def slope(g):
        return loss_t - g * k_t - w * best(g)

    left, right = 0.0, C
    if slope(left) <= 0:
        return left, best(left)
    if slope(right) >= 0:
        return right, best(right)
    while left < (middle := (left + right) / 2) < right:
        left, right = (middle, right) if slope(middle) > 0 else (left, middle)
    return middle, best(middle)


class DUOLClassifier(Twin):
    """Zhao, Hoi & Jin 2011, as in the BDUOL poster; gamma_i = y_i alpha_i."""

    def __init__(self, kernel, *, C=1.0, rho=0.0):
        super().__init__(kernel)
        self.C = C
        self.rho = rho

    def learn(self, x, y):
        self.t += 1
        if self.kernel(x, x) > 0:
            self.double_update(x, y)

    def double_update(self, x, y):
        loss, _ = hinge_loss(y, self.f(x))
        if loss <= LOSS:
            return
        k = self.kernel(x, x)
        losses = [hinge_loss(self.label[i], self.f(v))[0] for i, v in enumerate(self.support)]
        wrong = [i for i, loss_i in enumerate(losses) if loss_i > LOSS]
        w = {i: y * self.label[i] * self.kernel(x, self.support[i]) for i in wrong}
        if wrong:
            b = wrong[smallest([w[i] for i in wrong], [self.birth[i] for i in wrong])]
            if w[b] <= -self.rho:
                kb = self.kernel(self.support[b], self.support[b])
                gamma_b = self.label[b] * self.alpha[b]
                g, d = two_variable_step(loss, losses[b], k, kb, w[b], gamma_b, self.C)
                self.alpha[b] += self.label[b] * d
                self.add(x, y * g, y)
                return
        self.add(x, y * min(self.C, loss / k), y)


def box_least_squares(H, c, low, high):
    """argmin beta' H beta - 2 c' beta over low <= beta <= high, H positive definite."""
    L = np.linalg.cholesky(H)
    target = scipy.linalg.solve_triangular(L, c, lower=True)
    result = scipy.optimize.lsq_linear(L.T, target, bounds=(low, high), method="bvls", tol=1e-15, max_iter=100_000)
    assert result.success, result.message
    return result.x


class BDUOLClassifier(DUOLClassifier):
    """Zhao & Hoi: DUOL on a budget."""

    def __init__(self, kernel, *, budget=100, C=1.0, rho=0.0, maintenance="nearest"):
        super().__init__(kernel, C=C, rho=rho)
        self.budget = budget
        self.maintenance = maintenance

    def learn(self, x, y):
        self.t += 1
        if self.kernel(x, x) <= 0:
            return
        loss, _ = hinge_loss(y, self.f(x))
        if loss > LOSS and len(self.support) == self.budget:
            self.discard()
        self.double_update(x, y)  # with the loss after the removal

    def discard(self):
        def dual_ascent(j):
            x, y = self.support[j], self.label[j]
            gamma = y * self.alpha[j]
            return -gamma * (1 - y * self.f(x)) - gamma**2 * self.kernel(x, x) / 2

        j = largest([dual_ascent(i) for i in range(len(self.support))], self.birth)
        x, signed = self.support[j], self.alpha[j]  # signed = gamma_j y_j
        rest = self.others(j)
        if rest and self.maintenance != "removal":
            if self.maintenance == "nearest":
                rest = [self.nearest(x, rest)]
            ys = np.array([self.label[i] for i in rest])
            gamma = ys * np.array([self.alpha[i] for i in rest])
            low, high = -gamma, self.C - gamma
            K = self.matrix([self.support[i] for i in rest])
            kj = np.array([self.kernel(self.support[a], x) for a in rest])
            if self.maintenance != "nearest":
                # Decision: a ridge makes beta unique, since its clipping depends on beta itself.
                K = K + RIDGE * np.diag(np.diag(K))
            if self.maintenance == "projection":
                beta = box_least_squares(K * np.outer(ys, ys), signed * ys * kj, low, high)
            else:
                beta = np.clip(signed * np.linalg.solve(K, kj) / ys, low, high)
            for i, b in zip(rest, beta, strict=True):
                self.alpha[i] += self.label[i] * float(b)
        self.remove(j)


# ---------------------------------------------------------------------------------------------
# 3. Gradient-descent family
# ---------------------------------------------------------------------------------------------


class GradientTwin(Twin):
    default_loss = Hinge

    def __init__(self, kernel, loss):
        super().__init__(kernel)
        self.loss = self.default_loss() if loss is None else loss

    def gradient(self, x, y):
        return self.loss.derivative(y, self.f(x))


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

    def eta(self):
        n = self.horizon or self.t
        return step_size(self.learning_rate, self.t, n**-0.5)  # eq. (6), or eta / sqrt(T)


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

    def eta(self):
        n = self.horizon or self.t
        return step_size(self.learning_rate, self.t, n**-0.5)


class OLRDRegressor(OLRDClassifier):
    default_loss = Squared


def removal_probabilities(magnitudes):
    """BOGD++: 1 - q_i proportional to the magnitudes; a q_i that would be negative is set to 0
    and the others share the rest in proportion again."""
    n = len(magnitudes)
    staying = [0.0] * n  # 1 - q_i, they sum to n - 1
    certain = set()
    while True:
        rest = [i for i in range(n) if i not in certain]
        left = n - 1 - len(certain)
        total = sum(magnitudes[i] for i in rest)
        for i in rest:
            # Decision: points of magnitude 0 share equally what is left for them.
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

    def __init__(self, kernel, *, loss=None, l2=1e-3):
        super().__init__(kernel, loss)
        self.l2 = l2
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
    def __init__(self, kernel, *, l2=1e-2, **options):
        super().__init__(kernel, l2=l2, **options)

    default_loss = Squared


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

    def __init__(self, kernel, *, loss=None, l2=1e-3, budget=100, maintenance="removal"):
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
        """Give p's part to the others by projection on them."""
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
    def __init__(self, kernel, *, l2=1e-2, **options):
        super().__init__(kernel, l2=l2, **options)

    default_loss = Squared


class NBSGDClassifier(BSGDClassifier):
    """Le et al. 2016, Algorithm 3."""

    def __init__(
        self,
        kernel,
        *,
        loss=None,
        l2=1e-3,
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
    def __init__(self, kernel, *, l2=1e-2, **options):
        super().__init__(kernel, l2=l2, **options)

    default_loss = Squared


class POMDRClassifier(Twin):
    """Li & Liao 2023, after its authors' program."""

    def __init__(self, kernel, *, budget=100, radius=25.0, hint=15, shrink=0.1, horizon=None):
        super().__init__(kernel)
        self.budget = budget
        self.radius = radius
        self.hint = hint
        self.shrink = shrink
        self.horizon = horizon
        self.recent = []  # all samples, so that the hint is the mean over the last ones
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
        self.sum_delta = 0.0  # the program starts the sum again


# ---------------------------------------------------------------------------------------------
# 4. Functional approximation
# ---------------------------------------------------------------------------------------------


class FOGDClassifier(GradientTwin):
    """Lu et al. 2016. `frequency(feature)` gives the feature's column of U, D numbers."""

    def __init__(self, kernel, *, n_components=200, loss=None, learning_rate=0.3, seed=None, frequency):
        super().__init__(kernel, loss)
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.frequency = frequency
        self.w = np.zeros(2 * n_components)

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
    default_loss = Squared


class NOGDClassifier(GradientTwin):
    """Lu et al. 2016."""

    def __init__(self, kernel, *, budget=100, rank=None, loss=None, learning_rate=0.3):
        super().__init__(kernel, loss)
        self.budget = budget
        self.rank = max(1, budget // 5) if rank is None else rank
        self.learning_rate = learning_rate
        self.basis = None  # V_k D_k^(-1/2) after the switch

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
        order = np.argsort(values)[::-1][: self.rank]
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
    default_loss = Squared


class SkeGDClassifier(GradientTwin):
    """Zhang & Liao 2019, with a window of B points in place of a sketch that grows."""

    def __init__(self, kernel, *, budget=100, learning_rate=0.2, horizon=None, seed=None):
        super().__init__(kernel, None)
        self.budget, self.learning_rate = budget, learning_rate
        self.rhythm = 100 if horizon is None else max(1, math.floor(0.3 * (horizon - budget) + 1e-9))
        self.rng = random.Random(seed)
        self.s_p = max(1, math.floor(0.75 * budget))
        self.s_m = max(1, math.floor(0.2 * self.s_p + 1e-9))
        self.k = max(1, math.floor(0.1 * budget + 1e-9))
        self.S_p = None
        self.errors = 0

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
        return

    def order(self):
        return [i for i in range(self.budget) if self.birth[i] in self.sample]

    def phi(self, x):
        return self.Q.T @ self.row(x)[self.order()]

    def new_Q(self):
        S_p, K = np.array(self.S_p), self.gram()
        values, V = np.linalg.eigh(S_p.T @ K @ S_p)
        top = [i for i in np.argsort(values)[::-1][: self.k] if values[i] > 1e-8 * values.max()]
        return np.linalg.pinv(S_p.T @ K[:, self.order()], rcond=1e-8) @ V[:, top] @ np.diag(np.sqrt(values[top]))


# ---------------------------------------------------------------------------------------------
# Csató & Opper 2002, Van Vaerenbergh et al. 2012
# ---------------------------------------------------------------------------------------------


class SOGP:
    """A sparse online Gaussian process on vectors, with S itself and everything inverted anew at every step."""

    JITTER = 1e-3

    def __init__(self, kappa, budget, amplitude, forgetting, noise=None, columns=1):
        self.kappa, self.budget, self.a, self.lam, self.noise = kappa, budget, amplitude, forgetting, noise
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
        """y is ±1 (a probit) where there is no noise, a vector of targets where there is."""
        q, novelty, h, m, v = self.look(x)
        full = len(self.Z) >= self.budget
        if self.noise is None:
            foreseen = stats.norm.cdf(y * m[0] / math.sqrt(1.0 + v)) >= 0.7
        elif len(m) == 1:
            foreseen = (y[0] - m[0]) ** 2 <= v + self.noise
        else:
            foreseen = special.softmax(6.0 * m)[int(np.argmax(y))] >= 0.7
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
        if novelty <= 1e-3 or (full and foreseen):
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
            keep[i] = keep[-1]  # the last takes its position
            keep.pop()
            self.Z = [self.Z[j] for j in keep]
            self.mu, self.S = self.mu[keep], self.S[np.ix_(keep, keep)]


# ---------------------------------------------------------------------------------------------
# Wang & Vucetic 2009
# ---------------------------------------------------------------------------------------------


def weighted_svm(K, positive, negative):
    """The two dual variables of every point: the maximum of Σ α - ½ αᵀQα over 0 ≤ α ≤ (C s⁺, C s⁻), from nothing.

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
    SLACK = 1e-6  # Decision: |f| is beyond the buffer if it is so by more than f is known

    def __init__(self, kernel, *, budget=100, C=1.0, buffer=1.0, merging="global"):
        super().__init__(kernel)
        self.budget, self.C, self.buffer, self.merging = budget, C, buffer, merging
        self.weight = {}  # of the samples that each prototype stands for, by birth number: [negative, positive]

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
        """The two that are merged, the older first."""
        last = len(self.support) - 1
        if self.merging == "nearest":
            others = range(last)
            distance = [self.distance2(self.support[i], self.support[last]) for i in others]
            return smallest(distance, [self.birth[i] for i in others]), last
        pairs = [(i, j) for i in range(last + 1) for j in range(last + 1) if self.birth[i] < self.birth[j]]
        s = [sum(self.weight[b]) for b in self.birth]
        cost = [s[i] * s[j] / (s[i] + s[j]) * self.distance2(self.support[i], self.support[j]) for i, j in pairs]
        return pairs[smallest(cost, [(self.birth[i], self.birth[j]) for i, j in pairs])]
