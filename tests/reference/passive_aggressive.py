"""The passive-aggressive family."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize

from tests.reference.expansion import Twin
from tests.reference.tools import largest, sign, smallest, step_size

RIDGE = 1e-8  # relative, on the diagonal, only where BDUOL clips the solution of a linear system
LOSS = 1e-9  # "suffers a loss" in the passive-aggressive families


class PassiveAggressive(Twin):
    def suffer(self, y, p):
        """Loss and the sign of the update."""
        return max(0.0, 1.0 - y * p), y


class Insensitive:
    """Regression with the same steps."""

    eps = 0.1

    def suffer(self, y, p):
        return max(0.0, abs(y - p) - self.eps), sign(y - p)


class KernelPAClassifier(PassiveAggressive):
    """Crammer et al. 2006: PA, PA-I, PA-II as mode 0, 1, 2."""

    C, mode = 1.0, 1

    def learn(self, x, y):
        self.t += 1
        loss, s = self.suffer(y, self.f(x))
        k = self.kernel(x, x)
        if loss <= LOSS or k <= 0:
            return
        tau = [loss / k, min(self.C, loss / k), loss / (k + 1 / (2 * self.C))][self.mode]
        self.add(x, s * tau, y)


class KernelPARegressor(Insensitive, KernelPAClassifier):
    pass


class BPAClassifier(PassiveAggressive):
    """Wang & Vucetic 2010."""

    budget, C, maintenance = 100, 1.0, "simple"

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
        kt = np.array([self.kernel(a, x) for a in points])
        ar = self.alpha[r]
        project_r, delta2 = self.projection(self.support[r], points)
        project_t, _ = self.projection(x, points)

        value = self.f(x) - ar * self.kernel(self.support[r], x) + ar * kt @ project_r
        loss, s = self.suffer(y, value)
        tau = min(self.C, loss / (kt @ project_t))
        beta = ar * project_r + tau * s * project_t
        # Decision: the residual of a dependent point is rounding.
        dependent = delta2 < 1e-12 * self.kernel(self.support[r], self.support[r])
        return V, beta, 0.0 if dependent else float(ar**2 * delta2)


class BPARegressor(Insensitive, BPAClassifier):
    pass


class SPAClassifier(PassiveAggressive):
    """Lu, Zhao & Hoi 2016, Algorithm 1."""

    learning_rate, beta, averaged = 1.0, 5.0, True

    def __init__(self, kernel, *, alpha=1.0, **parameters):
        super().__init__(kernel, **parameters)
        self.max_loss = alpha  # the name `alpha` is taken by the coefficients

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


class SPARegressor(Insensitive, SPAClassifier):
    pass


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


class DUOLClassifier(PassiveAggressive):
    """Zhao, Hoi & Jin 2011, as in the BDUOL poster; gamma_i = y_i alpha_i."""

    C, rho = 1.0, 0.0

    def learn(self, x, y):
        self.t += 1
        if self.kernel(x, x) > 0:
            self.double_update(x, y)

    def double_update(self, x, y):
        loss, _ = self.suffer(y, self.f(x))
        if loss <= LOSS:
            return
        k = self.kernel(x, x)
        losses = [self.suffer(self.label[i], self.f(v))[0] for i, v in enumerate(self.support)]
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

    budget, maintenance = 100, "nearest"

    def learn(self, x, y):
        self.t += 1
        if self.kernel(x, x) <= 0:
            return
        loss, _ = self.suffer(y, self.f(x))
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
