"""OKLClassifier and OKLRegressor in plain NumPy: samples are dicts, and every linear system is solved from scratch.

Written from the equations at the heads of _core/mixture/mixture.pyx and its parts. Forgetting over thousands of
samples and dropping features are left out: the streams of the tests are shorter.
"""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
from scipy import special

from tests.reference.gaussian_process import Process
from tests.reference.memory import ClassMemory, TargetMemory

EARLY = (2, 3, 5, 8, 12, 20, 35, 60, 100, 150)
POSTERIORS = {  # λ, a, σ²
    "binary": ((1.0, 8.0, 0.0), (0.99, 64.0, 0.0)),
    "multiclass": ((1.0, 1.0, 0.05), (0.99, 1.0, 0.05)),
    "regression": ((1.0, 2.0, 0.03), (0.99, 8.0, 0.03)),
}
RELEVANT, EQUAL, HALF, FULL = range(4)  # metrics
FIRST = 4.0, HALF  # scale, metric
# Gaussian processes, the first-order learner, linear models, the Bayesian logistic regression, the memory; then (naive
# Bayes and) the stack
EXPERTS = 6 + 1 + 3 + 1 + 3 + 1


def clip(value, low, high):
    return min(max(value, low), high)


def sigmoid(z):
    return float(special.expit(z))


def probabilities(score):
    """Of one score for two classes, or of one for each class."""
    return np.array([1.0 - sigmoid(score[0]), sigmoid(score[0])]) if len(score) == 1 else special.softmax(score)


def distance2(x, z, weights):
    """Squared distance of two samples under weights of features."""
    names = x.keys() | z.keys()
    return sum(weights.get(name, 1.0) * (x.get(name, 0.0) - z.get(name, 0.0)) ** 2 for name in names)


def held(delta, count, variance):
    """A deviation from a mean, clipped if it is an outlier."""
    return delta if count < 8 or variance == 0.0 else clip(delta, -5.0 * math.sqrt(variance), 5.0 * math.sqrt(variance))


class Running:
    """Running mean and variance, which follow sudden changes of level and unit."""

    def __init__(self):
        self.count, self.mean, self.variance, self.last, self.steps = 0, 0.0, 0.0, 0.0, 0.0
        self.block, self.block_steps = [], 0.0  # values since the last check, and their squared differences
        self.run, self.outliers, self.sudden = 0, [], False
        self.before, self.away, self.patience = None, 0, 0  # (mean, variance, count) before the last change
        self.level, self.trend, self.rising, self.follows = 0.0, 0.0, 0, False  # of a drift

    def run_with(self, value):
        """How many outliers there are in a row with this value."""
        delta = value - self.mean
        if held(delta, self.count, self.variance) != delta:
            return self.run + 1
        same_side = self.run and (np.mean(self.outliers) - self.mean) * delta > 0.0
        return self.run + 1 if same_side and delta**2 > 9.0 * self.variance else 0

    def moments(self, value=None):
        """Mean and variance, with one more value."""
        if value is None or self.run_with(value) > 1:
            return self.mean, self.variance
        delta = held(value - self.mean, self.count, self.variance)
        mean = self.mean + delta / (self.count + 1)
        return mean, (self.variance + delta**2 / (self.count + 1)) * self.count / (self.count + 1)

    def clipped(self, value):
        """An added value, or if it is an outlier the closest one that is not."""
        return self.mean + held(value - self.mean, self.count, self.variance)

    def add(self, value):
        """Add a value; return the change: None, "drift", "jump" or "restart"."""
        run, known = self.run_with(value), held(value - self.mean, self.count, self.variance)
        step = self.mean + known - self.last
        if run == 1 and self.run == 0:
            self.sudden = step**2 > 2.5**2 * self.variance
        self.outliers = [] if run <= 1 else self.outliers
        if run > 0:
            self.outliers = [*self.outliers, value]
        self.run, self.away = run, self.away + 1
        self.before = self.before if self.away <= 2000 else None
        if run == 12:
            self.change()
            self.last = value
            return "jump" if self.sudden else "drift"
        if run > 1:
            return None
        if self.variance == 0.0 and self.count > 8 and known != 0.0:
            self.count, self.block, self.block_steps = 8, [], 0.0
        self.last, self.count = self.last + step, self.count + 1
        n = min(self.count, 10_000)
        self.variance = (self.variance + known**2 / n) * (n - 1) / n
        self.mean, self.steps = self.mean + known / n, self.steps + (step**2 - self.steps) / n
        self.mean += self.trend * self.follows
        return self.check(value, step) if self.count > 8 else None

    def now(self):
        return self.mean, self.variance, self.count

    def change(self):
        """Jump to the level, or the larger unit, of twelve outliers in a row; or back."""
        level, variance = np.mean(self.outliers), np.var(self.outliers)
        self.block, self.block_steps, self.away, self.run, self.outliers = [], 0.0, 0, 0, []
        self.rising, self.follows = 0, False
        back = smaller = far = False
        if self.before:
            back = abs(level - self.before[0]) <= 5.0 * math.sqrt(self.before[1])
            far = abs(self.mean - self.before[0]) > 5.0 * math.sqrt(self.before[1])
            smaller = self.before[1] > 16.0 * self.variance
        if smaller and not (back and far):  # the larger of two units
            (self.mean, self.variance, self.count), self.before, self.patience = self.before, None, 20
            return
        same = variance < 4.0 * self.variance
        if back and (same or smaller):
            if min(self.count, self.before[2]) < 40:  # a visit
                (self.mean, self.variance, self.count), self.before = self.before, self.now()
                return
            shares = np.array([self.count, self.before[2]]) / (self.count + self.before[2])
            mean = shares @ [self.mean, self.before[0]]
            self.variance = shares @ [
                self.variance + (self.mean - mean) ** 2,
                self.before[1] + (self.before[0] - mean) ** 2,
            ]
            self.mean, self.count, self.before = mean, self.count + self.before[2], None
            return
        self.before, self.mean = self.now(), level
        if same:
            self.count = min(self.count, 20)
        else:
            self.variance, self.count, self.steps = variance, 12, 2.0 * variance

    def check(self, value, step):
        """Whether the unit has become larger, so that values vary less."""
        mean, spread = (np.mean(self.block), np.var(self.block)) if self.block else (0.0, 0.0)
        self.block.append(mean + held(value - mean, len(self.block), spread))
        self.block_steps += step**2
        n, initial = len(self.block), self.away == self.count
        first = n == 25 and (self.count == 33 if initial else self.away == 25)
        if n % 250 and not first:
            return None
        variance = np.var(self.block)
        smaller = variance / self.variance if self.variance > 0.0 else 1.0
        steps = self.block_steps / n / self.steps if self.steps > 0.0 else 0.0
        least = 0.1 if first and initial else 0.01 if n == 500 else 0.0
        again = 0.0 < smaller < least**2
        again = again or (0.0 < smaller < 0.04 and 0.5 * smaller < steps < 2.0 * smaller and self.patience == 0)
        self.patience -= n == 500 and self.patience > 0
        if again:
            now, self.away, self.steps = self.now(), 0, self.block_steps / n
            old = self.before
            if old and 0.25 < variance / old[1] < 4.0 and abs(np.mean(self.block) - old[0]) < math.sqrt(old[1]):
                self.mean, self.variance, self.count = old
            else:
                self.mean, self.variance, self.count = np.mean(self.block), variance, n
            self.before, self.rising, self.follows = now, 0, False
        elif n == 500:
            self.follow()
        if again or n == 500:
            self.block, self.block_steps = [], 0.0
        return "restart" if again else None

    def follow(self):
        """Follow a drift after twenty blocks of 500 that all rise or all fall."""
        mean, variance, steps = np.mean(self.block), np.var(self.block), self.block_steps / 500
        rise, self.level = mean - self.level, mean
        around, sign = variance - rise**2 / 12.0, 1 if rise > 0.0 else -1
        noisy = around < steps + 0.03 * rise**2 / 12.0 and 4.0 * (rise / 500) ** 2 < steps
        self.rising = 0 if not noisy else min(20, abs(self.rising) + 1) * sign if self.rising * sign > 0 else sign
        self.trend += (rise / 500 - self.trend) / max(1, abs(self.rising) - 1)
        if abs(self.rising) < 20:
            self.follows = False
        elif self.follows:
            self.count = min(self.count, 1000)
        elif self.variance > 40.0 * variance:
            self.follows, self.count = True, 500
            self.mean, self.variance = mean + 0.5 * rise, 0.5 * steps


class Scaler:
    """Statistics of features, and the units in force."""

    def __init__(self):
        self.seen, self.known, self.first, self.count, self.centred = 0, {}, {}, {}, set()
        self.last, self.skipped = {}, {}
        self.units, self.settled, self.settled_at = {}, set(), 0

    def is_centred(self, name, present):
        """Whether (nearly) all samples since its first have had it, the current one included."""
        samples, absence = (
            self.seen + 2 - self.first[name] - self.skipped[name],
            self.seen + 1 - present - self.last[name],
        )
        if absence > 30 and (present or absence <= self.count[name]):  # a sensor that fails for a while
            samples -= absence - 30
        rate = (self.count[name] + present) / samples
        return rate >= 0.9 if name in self.centred else self.count[name] >= 30 and rate >= 0.95

    def scaled(self, x):
        """Scaled values, clipped; absent centred features are appended."""
        given = {name: clip(value, -5.0, 5.0) for name, value in self.unclipped(x).items() if name in x}
        return self.unclipped(x) | given

    def unclipped(self, x):
        """Scaled values; without a unit in force, the statistics include the sample. Absent centred features are
        appended, clipped."""
        found = {}
        for name, value in x.items():
            if name not in self.known:
                found[name] = 0.0 if self.seen == 0 else float(np.sign(value))
                continue
            if name in self.settled:
                centre, size = self.units[name]
            else:
                mean, variance = self.known[name].moments(value)
                centre = mean if self.is_centred(name, True) else 0.0
                size = math.sqrt(variance + (mean - centre) ** 2)
            found[name] = (value - centre) / size if size > 0.0 else 0.0
        for name in sorted(self.centred - x.keys(), key=str):
            mean, variance = self.known[name].moments()
            there = self.is_centred(name, False) and variance > 0.0
            centre, size = self.units[name] if name in self.settled else (mean, math.sqrt(variance))
            found[name] = clip(-centre / size, -3.0, 3.0) if there else 0.0
        return found

    def learn(self, x):
        self.outlying = 0
        for name, value in x.items():
            if name not in self.known:
                self.known[name], self.first[name], self.count[name] = Running(), self.seen + 1, 0
                self.last[name], self.skipped[name] = self.seen, 0
                centred = self.seen == 0
            else:
                centred = self.is_centred(name, True)
                if centred != (name in self.centred):
                    self.settled.discard(name)
            (self.centred.add if centred else self.centred.discard)(name)
            self.skipped[name] += max(0, self.seen - self.last[name] - 30)
            self.last[name] = self.seen + 1
            self.count[name] += 1
            if self.known[name].add(value):
                self.settled.discard(name)
            self.outlying += self.known[name].run > 0
        for name in self.centred - x.keys():
            if not self.is_centred(name, False):
                self.centred.discard(name)
                self.settled.discard(name)
        self.seen += 1

    def settle(self, until):
        """Put the current units into force; return ratio and shift, z ← ratio z + shift, of features that had one."""
        found, since, self.settled_at = {}, self.seen - self.settled_at, self.seen
        self.renewed = False
        for name, known in self.known.items():
            centre = known.mean if name in self.centred else 0.0
            size = math.sqrt(known.variance + (known.mean - centre) ** 2)
            if known.count < 5 or size <= 0.0:
                continue
            before, self.units[name] = self.units.get(name, (0.0, 0.0)), (centre, size)
            far = abs(centre - before[0]) > 2.0 * since / known.count * before[1]
            far = far and (known.count > 60 or abs(known.last - centre) > 1.5 * size)
            if known.follows or (name in self.centred and far):  # the feature drifts
                self.settled.discard(name)
            elif name in self.settled:
                found[name] = before[1] / size, (before[0] - centre) / size
            elif 4 * min(known.count, known.away) >= until:
                self.settled.add(name)
                self.renewed = self.renewed or known.away < known.count
        return found


def converted(x, to, bound=math.inf, everywhere=False):
    """A scaled sample in other units; ``everywhere``: absent values are 0."""
    out = dict(x)
    for name, (ratio, shift) in to.items():
        if name in x or (everywhere and shift):
            out[name] = clip(ratio * x.get(name, 0.0) + shift, -bound, bound)
    return out


def of_inputs(inputs, to):
    """M of β ← M β, for linear functions of a constant and the features at these inputs."""
    M = np.eye(len(inputs))
    for name, i in inputs.items():
        if name in to:
            ratio, shift = to[name]
            M[i, i], M[0, i] = 1.0 / ratio, -shift / ratio
    return M


class Point:
    """A scaled sample, and, if it is in the pool, its coefficients for every column."""

    def __init__(self, x):
        self.x, self.alpha = x, None


class Kernel:
    """0.8 RBF + 0.2 Linear at a scale under a metric."""

    def __init__(self, scale, metric, jitter=0.0, least=0.0):
        self.scale, self.metric, self.jitter, self.least = scale, metric, jitter, least
        self.gamma = self.slope = 0.0
        self.weights = {}

    def matrix(self, A, B):
        """κ of all samples of A with all of B."""
        names = [*dict.fromkeys(name for x in (*A, *B) for name in x)]
        w = np.array([self.weights.get(name, 1.0) for name in names])
        a = np.array([[x.get(name, 0.0) for name in names] for x in A]).reshape(len(A), len(names))
        b = np.array([[x.get(name, 0.0) for name in names] for x in B]).reshape(len(B), len(names))
        distances = ((a[:, None, :] - b[None, :, :]) ** 2) @ w
        return 0.8 * np.exp(-self.gamma * distances) + 0.2 * self.slope * (a * w) @ b.T

    def look(self, points, x):
        """κ(Z, x) and κ(x, x)"""
        row = self.matrix([*(z.x for z in points), x], [x])[:, 0]
        self.k, self.own = row[:-1], row[-1]

    def gram(self, points):
        """K, jitter included."""
        samples = [z.x for z in points]
        K = self.matrix(samples, samples)
        return K + self.jitter * np.diag(np.diag(K))

    def project(self, dictionary):
        """q = K⁻¹ k, and γ, the ALD residual."""
        self.K = self.gram(dictionary)
        self.q = np.linalg.solve(self.K, self.k)
        self.ald_residual = max((1.0 + self.jitter) * self.own - self.k @ self.q, 0.5 * self.jitter * self.own)
        self.novel = self.ald_residual > self.least * (1.0 + self.jitter) * self.own


class Ridge:
    """Bayesian linear regression."""

    def __init__(self, n, prior, drift):
        self.beta, self.P, self.prior, self.drift = np.zeros(n), prior * np.eye(n), prior, drift

    def ask(self, u):
        self.u, self.m = np.asarray(u), float(self.beta @ u)

    def learn(self, y, noise):
        gain = self.P @ self.u / (noise + self.u @ self.P @ self.u)
        self.beta = self.beta + gain * (y - self.m)
        self.P = self.P - np.outer(gain, self.u @ self.P)
        self.let_drift()

    def let_drift(self):
        self.P = self.P + self.drift * np.diag(np.diag(self.P) < self.prior)


class Stack(Ridge):
    """Logistic regression on the experts' log-odds, with their weights as offset."""

    def __init__(self):
        super().__init__(EXPERTS + 1, 1.0, 1e-5)

    def ask(self, p, weight):
        p = np.clip(p, 1e-3, 1.0 - 1e-3)
        super().ask(np.append(np.log(p / (1.0 - p)), 1.0))
        score = self.m + self.u @ np.append(weight, 0.0)
        self.p = sigmoid(score / math.sqrt(1.0 + math.pi / 8.0 * self.u @ self.P @ self.u))
        return self.p

    def learn(self, c, w):
        curvature = max(self.p * (1.0 - self.p), 0.01) * min(w, 10.0)
        super().learn(self.m + (c - self.p) * min(w, 10.0) / curvature, 1.0 / curvature)


class StackOfMany(Stack):
    """A softmax of the experts' log-probabilities, with their weights as offset."""

    def ask(self, p, weight):
        self.logs = np.log(np.maximum(p, 1e-3))
        self.p = special.softmax((self.beta + weight) @ self.logs)
        return self.p

    def learn(self, c, w):
        off = self.logs - (self.logs @ self.p)[:, None]
        seen = np.where(self.p >= 1e-3, self.p, 0.0)
        self.P = np.linalg.inv(np.linalg.inv(self.P) + min(w, 10.0) * (seen * off) @ off.T)
        self.beta = self.beta + min(w, 10.0) * self.P @ off[:, c]
        self.let_drift()


class Regression:
    """A linear regression on the first 127 features."""

    def __init__(self):
        self.ridge, self.inputs, self.residual, self.seen = Ridge(128, 0.1, 1e-6), {}, 1.0, 0

    def register(self, names):
        for name in names:
            if name not in self.inputs and len(self.inputs) < 127:
                self.inputs[name] = 1 + len(self.inputs)

    def ask(self, x):
        u = np.zeros(128)
        u[0] = 1.0
        for name, value in x.items():
            if name in self.inputs:
                u[self.inputs[name]] = value
        self.ridge.ask(u)
        self.m = self.ridge.m

    def learn(self, y, w):
        self.seen += 1
        held = min((y - self.m) ** 2, 25.0 * self.residual)
        self.residual = max(self.residual + max(0.01, 1.0 / (self.seen + 1)) * (held - self.residual), 1e-4)
        self.ridge.learn(y, max(self.residual, 0.01) / w)

    def convert(self, to):
        M = np.eye(128)
        M[np.ix_(range(1 + len(self.inputs)), range(1 + len(self.inputs)))] = of_inputs({None: 0, **self.inputs}, to)
        self.ridge.beta, self.ridge.P = M @ self.ridge.beta, M @ self.ridge.P @ M.T

    def rescale(self, ratio, shift):
        self.ridge.beta *= ratio
        self.ridge.beta[0] += shift
        self.m = self.ridge.m = ratio * self.m + shift
        self.residual = max(ratio**2 * self.residual, 1e-4)


class Diagonal:
    """A linear regression on all features, whose coefficients have independent variances; None: the constant."""

    def __init__(self):
        self.beta, self.v, self.residual, self.m = {None: 0.0}, {None: 0.1}, 1.0, 0.0
        self.reach = {}  # the largest value of each feature that counts

    def inputs(self, x):
        """x: values that are not clipped; None for a gap."""
        reach = {name: self.reach.get(name, 5.0) for name in x}
        return {None: 1.0, **{name: clip(value or 0.0, -reach[name], reach[name]) for name, value in x.items()}}

    def ask(self, x):
        self.m = sum(self.beta.get(name, 0.0) * value for name, value in self.inputs(x).items())

    def learn(self, x, y, w):
        """As if the sample were multiplied so that its largest value is 5."""
        for name, value in x.items():
            before = self.reach.get(name, 5.0)
            self.reach[name] = max(before * (1.0 - 2e-5), min(abs(value or 0.0), 4.0 * before), 5.0)
        u = self.inputs(x)
        scale = 5.0 / max(5.0, *map(abs, u.values()))
        u, off = {name: scale * value for name, value in u.items()}, clip(scale * (y - self.m), -10.0, 10.0)
        self.residual += 0.01 * (min(off**2, 25.0 * self.residual) - self.residual)
        total = sum(self.v.get(name, 0.1) * value**2 for name, value in u.items()) + max(self.residual, 0.01) / w
        for name, value in u.items():
            v = self.v.get(name, 0.1)
            gain = v * value / total
            self.beta[name] = self.beta.get(name, 0.0) + gain * off
            v *= 1.0 - gain * value
            self.v[name] = v + 1e-6 * (v < 0.1 or name is None)

    def convert(self, to):
        for name, (ratio, shift) in to.items():
            if name in self.beta:
                self.beta[name] /= ratio
                self.v[name] /= ratio**2
                self.reach[name] *= ratio
                self.beta[None] -= shift * self.beta[name]

    def rescale(self, ratio, shift):
        self.beta = {name: ratio * value for name, value in self.beta.items()}
        self.beta[None] += shift
        self.m, self.residual = ratio * self.m + shift, ratio**2 * self.residual


class Estimates:
    """Combiner of estimates: the processes', the linear regression's, and that of a regression on all these."""

    def __init__(self, linear):
        self.linear, self.stack = linear, Ridge(12, 0.03, 1e-4)
        self.stack.beta[:6] = 1.0 / 6.0
        self.log_weight, self.residual = np.array([0.0, -2.0, -2.0]), np.ones(3)

    def ask(self, means, others):
        self.stack.ask([*means, self.linear.m, 1.0, *others])

    @property
    def weight(self):
        return np.exp(self.log_weight) / np.exp(self.log_weight).sum()

    def mix(self, mean, variance):
        means = np.array([mean, self.linear.m, self.stack.m])
        together = self.weight @ means
        return together, self.weight @ ([variance, *self.residual[1:]] + (means - together) ** 2)

    def learn(self, y, said, w, most, late, discount):
        counts = min(w, 1.0)
        squares = (y - said.estimates) ** 2
        likelihood = np.exp(-0.5 * squares / self.residual) / np.sqrt(self.residual) + 1e-6
        self.log_weight = discount * self.log_weight + counts * np.log(likelihood)
        self.log_weight -= self.log_weight.max()
        held = np.minimum(squares, 25.0 * self.residual)
        self.residual = np.maximum(self.residual + max(most, 0.01) * (held - self.residual), 1e-4)
        if late:
            self.stack.ask(said.inputs)
        self.stack.learn(y, max(self.residual[2], 0.003) / counts)

    def rescale(self, ratio, shift):
        self.stack.beta[7] = ratio * self.stack.beta[7] + shift * (1.0 - np.delete(self.stack.beta, 7).sum())
        self.stack.m = ratio * self.stack.m + shift
        self.residual = np.maximum(ratio**2 * self.residual, 1e-4)


class Vote:
    """A vote by absolute errors: mixture, correction, last target, diagonal regression, the three of the memory."""

    def __init__(self):
        self.regression, self.size, self.loss = Ridge(13, 0.1, 3e-5), np.ones(14), np.zeros(7)

    @property
    def weight(self):
        weight = np.exp(-8.0 * (self.loss / max(self.loss.min(), 1e-300) - 1.0))
        return weight / weight.sum()

    def ask(self, opinions, anchor):
        """Opinions: those of the processes, both linear regressions, the memory, the last target, the stack's."""
        self.opinions, self.anchor = np.array(opinions), anchor
        self.regression.ask(np.clip((self.opinions - anchor) / self.size[:-1], -3.0, 3.0))
        self.correction = anchor + self.size[-1] * self.regression.m
        self.mean = self.weight @ self.voters(self)

    @staticmethod
    def voters(said):
        return np.array([said.anchor, said.correction, *said.opinions[[11, 7, 8, 9, 10]]])

    def learn(self, y, w, most, said, discount):
        errors = np.minimum(np.abs(y - self.voters(said)), 100.0 * self.size[-1])
        self.loss = discount * self.loss + min(w, 1.0) * errors
        self.regression.ask(np.clip((said.opinions - said.anchor) / self.size[:-1], -3.0, 3.0))
        error = clip((y - said.anchor) / self.size[-1] - self.regression.m, -3.0, 3.0)
        self.regression.learn(self.regression.m + error, 1.0 / min(w, 1.0))
        errors = np.minimum(np.abs(y - np.append(said.opinions, said.correction)), 5.0 * self.size)
        before, self.size = self.size, np.maximum(self.size + max(most, 0.01) * (errors - self.size), 1e-4)
        factors = self.size[:-1] / before[:-1] * before[-1] / self.size[-1]
        self.regression.beta = factors * self.regression.beta
        self.regression.P = factors[:, None] * self.regression.P * factors

    def rescale(self, ratio, shift):
        self.opinions = ratio * self.opinions + shift
        self.anchor, self.correction = ratio * self.anchor + shift, ratio * self.correction + shift
        self.mean = ratio * self.mean + shift
        self.size, self.loss = np.maximum(ratio * self.size, 1e-4), ratio * self.loss


class Intervals:
    """Half widths for five coverages: a learned scale times factors that follow the coverage of what was issued."""

    coverages = np.array([0.5, 0.8, 0.9, 0.95, 0.99])
    normal = special.ndtri(0.5 + 0.5 * coverages)

    def __init__(self):
        self.mean_change, self.change = 1.0, 0.0
        self.restart(1.0)

    def restart(self, size):
        self.scale, self.log_factor = Ridge(6, 0.1, 4e-6), np.log(self.normal)
        self.scale.beta[1] = 1.0
        self.size = self.recent = max(size, 1e-4)
        self.seen = self.run = 0

    def issue(self, deviation, noise, new):
        """``noise``: the logarithm of the error that the memory expects; ``new``: whether a name is not known."""
        ratios = deviation / self.size, max(self.recent / self.size, 0.05), max(self.change / self.mean_change, 0.05)
        self.scale.ask(np.clip([1.0, *np.log(np.maximum(ratios, 1e-300)), noise, new], -5.0, 5.0))
        issued, self.size_then = self.size * math.exp(clip(self.scale.m, -5.0, 5.0)), self.size
        factors, ranks = self.log_factor.copy(), np.arange(5)
        for i in ranks[1:]:
            factors[i] = max(factors[i], factors[i - 1] + 1e-3)
        self.half = issued * np.exp(factors)

    def width(self, coverage):
        """The half width, linear in normal deviations between the coverages, and beyond the last in proportion."""
        z = special.ndtri(0.5 + 0.5 * coverage)
        if z > self.normal[-1]:
            return self.half[-1] * z / self.normal[-1]
        return float(np.interp(z, [0.0, *self.normal], [0.0, *self.half]))

    def learn(self, y, change, w, said, late):
        error = abs(y - said.answer)
        self.scale.ask(said.causes)
        ratio = min(error / (said.size * math.exp(clip(self.scale.m, -5.0, 5.0))), 5.0)
        self.run = self.run + 1 if error > 10.0 * self.size else 0
        if self.run >= 10:
            self.restart(error)
        self.seen += 1
        self.scale.ask(said.causes)
        self.scale.learn(self.scale.m + ratio - 1.0, 1.0 / min(w, 1.0))
        rate = min(w, 1.0) * max(0.02, 0.4 / math.sqrt(self.seen + 1)) / (1.0 + math.sqrt(late))
        if late < self.seen:
            steps = rate * ((error > said.half) - 1.0 + self.coverages)
            self.log_factor = np.clip(self.log_factor + steps, -math.log(20.0), math.log(20.0))
        rate = max(0.01, min(0.2, 4.0 / self.seen))
        error, self.change = min(error, 10.0 * self.size), min(abs(change), 10.0 * self.mean_change)
        self.size = max(self.size + rate * (error - self.size), 1e-4)
        self.recent += 0.2 * (error - self.recent)
        self.mean_change = max(self.mean_change + rate * (self.change - self.mean_change), 1e-4)

    def rescale(self, ratio):
        self.size_then, self.half = ratio * self.size_then, ratio * self.half
        self.rescale_sizes(ratio)

    def rescale_sizes(self, ratio):
        self.size, self.mean_change = max(ratio * self.size, 1e-4), max(ratio * self.mean_change, 1e-4)
        self.recent, self.change = ratio * self.recent, ratio * self.change


class Linear:
    """Logistic regression by stochastic gradient descent."""

    def __init__(self, rate, scaler=None):
        self.rate, self.scaler = rate, scaler  # for the model with quadratic features
        self.columns = [{}]  # coefficients by name, quadratic ones by (name, "squared"); the bias by None

    def ask(self, x):
        self.x, self.rates = {**x, None: 1.0}, dict.fromkeys([*x, None], self.rate)
        for name, v in x.items() if self.scaler else ():
            self.x[name, "squared"] = min(v * v, 16.0) - (name in self.scaler.centred)
            self.rates[name, "squared"] = 0.15 * self.rate
        score = [sum(w.get(name, 0.0) * v for name, v in self.x.items()) for w in self.columns]
        self.p = probabilities(score)
        return self.p

    def learn(self, c, w):
        target = np.eye(len(self.p))[c]
        for column, error in zip(self.columns, (target - self.p)[-len(self.columns) :], strict=True):
            for name, value in self.x.items():
                column[name] = column.get(name, 0.0) + self.rates[name] * min(w, 10.0) * error * value

    def convert(self, to):
        for column in self.columns:
            for name, (ratio, shift) in to.items():
                w, u = column.get(name, 0.0), column.get((name, "squared"), 0.0)
                bias = column.get(None, 0.0) - w * shift / ratio + u * (shift / ratio) ** 2
                if self.scaler and name in self.scaler.centred:
                    bias += u / ratio**2 - u
                column[None], column[name] = bias, w / ratio - 2.0 * u * shift / ratio**2
                column[name, "squared"] = u / ratio**2

    def add_class(self):
        if len(self.columns) == 1:
            half = {name: 0.5 * w for name, w in self.columns[0].items()}
            self.columns = [{name: -w for name, w in half.items()}, half]
        self.columns.append({})


class Logistic:
    """Bayesian logistic regression on a constant and the first 255 features: the extended Kalman filter."""

    def __init__(self):
        self.inputs, self.P, self.columns = {None: 0}, np.array([[10.0]]), np.zeros((1, 1))

    def ask(self, x):
        self.x = x
        self.u = np.zeros(len(self.inputs))
        for name, i in self.inputs.items():
            self.u[i] = 1.0 if name is None else x.get(name, 0.0)
        score = self.columns @ self.u / math.sqrt(1.0 + math.pi / 8.0 * (self.u @ self.P @ self.u))
        self.p = probabilities(score)
        return self.p

    def learn(self, c, w):
        for name in self.x:
            if name not in self.inputs and len(self.inputs) < 256:
                self.inputs[name] = len(self.inputs)
                self.u = np.append(self.u, self.x[name])
                self.columns = np.hstack([self.columns, np.zeros((len(self.columns), 1))])
                self.P = np.block([[self.P, np.zeros((len(self.P), 1))], [np.zeros((1, len(self.P))), 0.1]])
        curvature = max(np.sum(self.p * (1.0 - self.p)) / 2.0, 1e-3) * min(w, 10.0)
        gain = self.P @ self.u / (1.0 + curvature * (self.u @ self.P @ self.u))
        errors = (np.eye(len(self.p))[c] - self.p)[-len(self.columns) :]
        self.columns = self.columns + min(w, 10.0) * np.outer(errors, gain)
        if curvature * (self.u @ self.P @ self.u) >= 0.01:
            self.P = self.P - curvature * np.outer(gain, self.P @ self.u)

    def convert(self, to):
        M = of_inputs(self.inputs, to)
        self.columns, self.P = self.columns @ M.T, M @ self.P @ M.T

    def add_class(self):
        if len(self.columns) == 1:
            self.columns = np.vstack([-0.5 * self.columns, 0.5 * self.columns])
        self.columns = np.vstack([self.columns, np.zeros(self.columns.shape[1])])


class Calibration:
    """σ(a s / m), a by Newton's method."""

    def __init__(self):
        self.a, self.curvature, self.square, self.seen = 2.0, 5.0, 0.0, 0

    def factor(self):
        return self.a / math.sqrt(self.square) if self.square > 0.0 else 1.0

    def update(self, margin):
        self.seen += 1
        self.square += (margin**2 - self.square) * max(1.0 / self.seen, 0.05)
        if self.square > 0.0:
            u = margin / math.sqrt(self.square)
            p = sigmoid(self.a * u)
            self.curvature = 0.995 * self.curvature + max(p * (1.0 - p), 1e-3) * u * u + 0.005 * 5.0
            self.a = clip(self.a + (1.0 - p) * u / self.curvature, 1e-2, 1e2)


class First:
    """A passive-aggressive learner over the pool; with more than two classes a column for each."""

    def __init__(self, scale, metric):
        self.kernel, self.calibration = Kernel(scale, metric), Calibration()

    def ask(self, points, x, columns):
        self.kernel.look(points, x)
        self.row = dict(zip(points, self.kernel.k, strict=True))
        self.score = sum((k * z.alpha for z, k in self.row.items() if z.alpha is not None), np.zeros(columns))
        factor = self.calibration.factor()
        return probabilities((factor if columns == 1 else math.sqrt(0.5) * factor) * self.score)

    def grade(self, c):
        """Update the calibration."""
        score = self.score
        if len(score) == 1:
            self.calibration.update((2.0 * c - 1.0) * score[0])
        else:
            self.calibration.update(math.sqrt(0.5) * (score[c] - np.delete(score, c).max()))

    def learn(self, c, w):
        """PA-I with C = w; ``step`` has the coefficients of the sample; returns whether it is needed."""
        direction = np.zeros(len(self.score))
        if len(direction) == 1:
            direction[0] = 2.0 * c - 1.0
        else:
            rival = max((o for o in range(len(direction)) if o != c), key=lambda o: self.score[o])
            direction[c], direction[rival] = math.sqrt(0.5), -math.sqrt(0.5)
        margin = direction @ self.score
        needed = margin < 1.0 and self.kernel.own > 0.0
        self.step = (min(w, (1.0 - margin) / self.kernel.own) if needed else 0.0) * direction
        return needed

    def loss(self, point):
        """The loss of replacing a point by its projection on κ(x, ·)."""
        own, k, alpha = self.kernel.own, self.row[point], point.alpha
        return alpha @ alpha * max(own - k**2 / own, 0.0)

    def take_over(self, point):
        self.step = self.step + point.alpha * self.row[point] / self.kernel.own


def tempered(kappa, curvature, score, c, least, most):
    """A Newton step of κ in softmax(κ · score) for a sample of class c."""
    score = score[c] - np.array(score)
    p = special.softmax(-kappa * score)
    curvature = 0.995 * curvature + max(p @ score**2 - (p @ score) ** 2, 0.0) + 0.005
    return clip(kappa + p @ score / curvature, least, most), curvature


class Changes:
    """Whether the losses of what was said have risen."""

    def __init__(self, deviations, least):
        self.deviations, self.least, self.losses, self.left = deviations, least, [], 0
        self.fast = self.mean = self.variance = self.bar = 0.0

    def add(self, loss, late):
        self.losses.append(loss)
        n = len(self.losses)
        self.fast += (loss - self.fast) / min(n, 50)
        if n <= 100:
            self.mean = self.fast
            return
        bar = self.mean + self.deviations * math.sqrt(self.variance) + self.least
        if self.left:
            self.left = self.left - 1 if self.fast > self.bar else 0
        elif n > 200 and self.fast > bar:
            self.left, self.bar = late + 50, bar
        rate, off = 1.0 / min(n - 99, 3000), self.fast - self.mean
        self.mean, self.variance = self.mean + rate * off, (1.0 - rate) * (self.variance + rate * off * off)

    def rescale(self, ratio):
        self.fast, self.mean, self.bar = ratio * self.fast, ratio * self.mean, ratio * self.bar
        self.variance *= ratio**2


class Said:
    """What was said of a sample when it was asked: by a classification ..."""

    def __init__(self, twin):
        self.seen = twin.seen
        if twin.task == "regression":
            self.of_target(twin)
            return
        self.p, self.three, self.parts = twin.p, twin.three(), [(self, ["p", "three"])]

    def of_target(self, twin):
        """... and by a regression."""
        self.unit = twin.centre(), twin.deviation()
        self.m = np.array([process.m[0] for process in twin.processes])
        self.v = np.array([process.v + process.noise for process in twin.processes])
        self.now = Opinion(twin, twin.judgement)
        self.then = Opinion(twin, twin.then or twin.judgement)
        self.given, self.step, self.answer, intervals = twin.given, twin.step, twin.answer, twin.intervals
        self.size, self.half, self.causes, self.mean = intervals.size_then, intervals.half, intervals.scale.u, 0.0
        own = ["m", "v", "given", "step", "answer", "size", "half", "causes", "mean"]
        self.parts = [(self, own), (self.now, Opinion.NUMBERS), (self.then, Opinion.NUMBERS)]

    def rounded(self):
        """As it is kept, in single precision."""
        for part, names in self.parts:
            for name in names:
                setattr(part, name, np.asarray(getattr(part, name), dtype=np.float32).astype(float))
        return self

    def add_class(self):
        """Nobody said anything of it."""
        self.p = np.hstack([self.p, np.zeros((len(self.p), 1))])
        self.three = np.hstack([self.three, np.zeros((3, 1))])

    def in_unit(self, centre, deviation):
        """The same in another unit of the target."""
        ratio, shift = self.unit[1] / deviation, (self.unit[0] - centre) / deviation
        self.unit = centre, deviation
        self.m, self.answer = ratio * self.m + shift, ratio * self.answer + shift
        self.mean, self.given, self.step = ratio * self.mean + shift, ratio * self.given + shift, ratio * self.step
        self.now.rescale(ratio, shift), self.then.rescale(ratio, shift)
        self.v, self.size, self.half = ratio**2 * self.v, ratio * self.size, ratio * self.half


class Opinion:
    """What one judgement made of the predictions of a regression."""

    NUMBERS = ["inputs", "estimates", "opinions", "anchor", "correction", "mean"]

    def __init__(self, twin, judgement):
        estimates, vote = judgement.estimates, judgement.vote
        self.inputs = np.array(estimates.stack.u)
        of_processes, _ = twin.mean_and_variance(judgement)
        self.estimates = np.array([of_processes, estimates.linear.m, estimates.stack.m])
        self.opinions, self.anchor, self.correction, self.mean = vote.opinions, vote.anchor, vote.correction, vote.mean

    def rescale(self, ratio, shift):
        for name in self.NUMBERS[1:]:
            setattr(self, name, ratio * getattr(self, name) + shift)
        self.inputs = np.where(np.arange(12) == 7, 1.0, ratio * self.inputs + shift)


class Judgement:
    """All that is judged by opinions on a target: the weights of the processes, the estimates, the vote."""

    def __init__(self, log_weight, residual, estimates, vote):
        self.log_weight, self.residual, self.estimates, self.vote = log_weight, residual, estimates, vote

    @property
    def weight(self):
        return special.softmax(self.log_weight)

    def look(self, twin, means, others):
        """Its mean and variance."""
        self.estimates.ask(means, others)
        mean, variance = self.estimates.mix(*twin.mean_and_variance(self))
        self.vote.ask([*means, self.estimates.linear.m, *others, twin.last, self.estimates.stack.m], mean)
        return self.vote.mean, variance

    def learn(self, y, exact, w, m, v, opinion, seen, late, discount, evidence):
        most = 1.0 / (seen + 1)
        self.vote.learn(exact, w, most, opinion, discount)
        self.estimates.learn(y, opinion, w, most, late, discount)
        squares = (y - m) ** 2 / v
        density = np.exp(-0.5 * squares / self.residual) / np.sqrt(self.residual * v) + 1e-6
        held = np.minimum(squares, 25.0)
        self.residual = np.maximum(self.residual + max(most, 0.01) * (held - self.residual), 1e-4)
        self.log_weight = discount * self.log_weight + evidence * min(w, 1.0) * np.log(density)
        self.log_weight -= self.log_weight.max()

    def rescale(self, ratio, shift):
        self.estimates.rescale(ratio, shift)
        self.vote.rescale(ratio, shift)

    def move(self, to, of):
        self.log_weight[to], self.residual[to] = self.log_weight[of] - 2.0, self.residual[of]


class Bayes:
    """Normal distributions of every feature in every class, with a prior sample of variance 1."""

    def __init__(self):
        self.samples, self.kappa, self.curvature = [], 1.0, 1.0

    def ask(self, x, n_classes):
        self.score = []
        for c in range(n_classes):
            own = [(w, z) for w, z, label in self.samples if label == c]
            score = math.log(sum(w for w, _ in own) + 1.0)
            for name, value in x.items():
                weights, values = [w for w, z in own if name in z], [z[name] for _, z in own if name in z]
                mean, spread = 0.0, 0.0
                if values:
                    mean = np.average(values, weights=weights)
                    spread = np.average((np.array(values) - mean) ** 2, weights=weights)
                variance = max((sum(weights) * spread + 1.0) / (sum(weights) + 1.0), 0.01)
                score -= 0.5 * (math.log(variance) + min((value - mean) ** 2 / variance, 50.0))
            self.score.append(score)
        return special.softmax(self.kappa * np.array(self.score))

    def learn(self, x, c, w):
        self.samples.append((min(w, 10.0), x, c))

    def convert(self, to):
        self.samples = [(w, converted(x, to), c) for w, x, c in self.samples]


class LastLabel:
    """Whether a sample has the class of the one before it, from all labels until now, with their weights."""

    def __init__(self):
        self.labels = []

    def ask(self, n_classes):
        counts, followed, stays = np.full(n_classes, 0.5), np.zeros(n_classes), np.zeros(n_classes)
        for age, (w, c) in enumerate(reversed(self.labels)):
            counts[c] += 0.999**age * w
        frequencies = counts / counts.sum()
        if not self.labels:
            return frequencies
        for (_, before), (w, c) in itertools.pairwise(self.labels):
            followed[before] = min(followed[before] + w, 1000.0)
            stays[before] += min(w / followed[before], 1.0) * ((c == before) - stays[before])
        _, last = self.labels[-1]
        stay = (followed[last] * stays[last] + frequencies[last]) / (followed[last] + 1.0)
        p = (1.0 - stay) * frequencies / (1.0 - frequencies[last])
        p[last] = stay
        return p

    def learn(self, c, w):
        self.labels.append((min(w, 10.0), c))


class OKL:
    """Both tasks; a target is a number or the index of a class."""

    def __init__(self, task, dictionary, pool=0, precision=float):
        self.task, self.most_dictionary, self.most_pool = task, dictionary, pool
        self.precision = precision  # that of scaled features
        self.scaler, self.previous, self.slopes = Scaler(), None, {}
        self.squares, self.differences, self.n_pairs = {}, {}, 0  # Σ x² and Σ (x - x')² of consecutive samples
        jitter, novel = (1e-6, 5e-4) if task == "regression" else (1e-3, 1e-3)
        self.kernels = [Kernel(*kind, jitter, novel) for kind in ((0.1, EQUAL), (0.1, FULL), (1.5, FULL))]
        self.processes = [
            Process(kernel, *posterior, resolved=0.01) for kernel in self.kernels for posterior in POSTERIORS[task]
        ]
        self.firsts = [] if task == "regression" else [First(*FIRST)]
        self.linears = (
            [] if task == "regression" else [Linear(0.03), Linear(0.01), Linear(0.03, self.scaler), Logistic()]
        )
        self.stack, self.bayes = Stack() if task == "binary" else None, Bayes()
        self.n_classes = 1 if task == "regression" else 2
        self.points, self.dictionary = [], []
        self.weights = [{}, {}, {}, {}]  # of features, for each metric
        self.slopes_known = False
        self.log_weight = np.zeros(6 if task == "regression" else EXPERTS + 1)
        if task == "regression":
            self.linear, self.diagonal, self.last, self.intervals = Regression(), Diagonal(), 0.0, Intervals()
            self.memory = TargetMemory(self.linear, lambda name: self.squares[name] / self.seen)
            # Σ r c, Σ c², Σ r, Σ c, Σ 1, Σ (r c)² of residuals of answers and their corrections
            self.agreement, self.restarted = np.zeros(6), False
            self.common, self.common_share = 0.0, 0.0  # a frequent target, and how often it comes
            self.judgement, self.then = Judgement(np.zeros(6), np.ones(6), Estimates(self.linear), Vote()), None
            self.losses = np.zeros(3)  # of the judgements and of the mean of the targets, of late targets
        else:
            self.memory, self.last_label = ClassMemory(), LastLabel()
        self.log_weight[EXPERTS - 4 : EXPERTS] = -2.0
        self.share, self.target = np.zeros(3), Running()
        self.unit, self.unit_settled, self.range = (0.0, 1.0), False, None  # of the targets
        self.log_then, self.shares = None, np.array([0.45, 0.45, 0.1])  # of late labels
        self.changes = Changes(5.0, 0.02) if task == "regression" else Changes(4.0, 0.05)
        self.seen, self.updates, self.next_update, self.sample_weights = 0, 0, 2, []
        self.lights = []  # light sample weights after heavy first ones; None: no more
        self.metrics_learned = lambda: None  # a comparison may replace them

    @property
    def weight(self):
        return self.judgement.weight if self.task == "regression" else special.softmax(self.log_weight)

    @property
    def experts(self):
        """The mixture weights of all experts."""
        if self.task != "regression":
            if self.log_then is None:
                return self.weight
            return self.shares[:2] @ [self.weight_then, self.weight] / sum(self.shares[:2])
        weights = [self.experts_of(judgement) for judgement in (self.judgement, self.then or self.judgement)]
        if self.then is None or self.changes.left:
            return weights[0]
        return np.append(self.answer_weights[:2] @ weights, self.answer_weights[2])

    def experts_of(self, judgement):
        processes, *others = judgement.estimates.weight
        mixture, *rest = judgement.vote.weight
        return np.append(mixture * np.append(processes * judgement.weight, others), rest)

    @property
    def answer_weights(self):
        """Those of what two judgements make of a target's predictions, and of the mean of the targets."""
        if self.then is None or self.changes.left:
            return np.array([1.0, 0.0, 0.0])
        return special.softmax(-8.0 * self.losses / max(min(self.losses), 1e-300))

    @property
    def judgements(self):
        return [self.judgement, self.then][: 1 + (self.then is not None)] if self.task == "regression" else []

    @property
    def among(self):
        """The weights of the processes, normalised among themselves."""
        return self.weight[:6] / self.weight[:6].sum()

    @property
    def pool(self):
        return [point for point in self.points if point.alpha is not None]

    def add_class(self):
        """Add a class; the current sample is evaluated again."""
        if self.n_classes == 2:
            self.task, self.stack = "multiclass", StackOfMany()
            self.log_weight = np.append(self.log_weight[:-1], [self.log_weight[:-1].max() - 2.0] * 2)
            self.log_weight -= self.log_weight.max()
            self.log_then, self.shares, self.changes = None, np.array([0.45, 0.45, 0.1]), Changes(4.0, 0.05)
            old, self.processes = self.processes, []
            for i, before in enumerate(old):
                process = Process(before.kernel, *POSTERIORS["multiclass"][i % 2], columns=2, resolved=0.01)
                p = special.ndtr(before.mu[:, 0] / np.sqrt(1.0 + np.diag(before.S)))
                process.mu = np.stack([1.0 - p, p], axis=1)
                process.S = before.S * process.prior_variance / before.prior_variance
                self.processes.append(process)
        for process in self.processes:
            process.mu = np.hstack([process.mu, np.zeros((len(process.mu), 1))])
        for point in self.pool:
            if len(point.alpha) == 1:
                point.alpha = math.sqrt(0.5) * point.alpha * [-1.0, 1.0]
            point.alpha = np.append(point.alpha, 0.0)
        for linear in self.linears:
            linear.add_class()
        self.memory.add_class()
        self.n_classes += 1
        self.look(self.raw)

    # Predicting

    def look(self, x):
        self.raw = x
        self.x = {name: float(self.precision(value)) for name, value in self.scaler.scaled(x).items()}
        for kernel in self.kernels:
            kernel.look(self.dictionary, self.x)
            kernel.project(self.dictionary)
        for process in self.processes:
            process.look()
        if self.task == "regression":
            self.linear.ask(self.x)
            self.exact_x = self.scaler.unclipped(x)
            self.diagonal.ask(self.exact_x)
            own = [process.m[0] for process in self.processes], [self.diagonal.m, *self.memory.predict(self.exact_x)]
            of_then = self.then.look(self, *own) if self.then else (0.0, 0.0)
            given, variance = self.answer_weights @ [self.judgement.look(self, *own), of_then, (0.0, 1.0)]
            self.given = self.within_range(given)
            self.step = self.memory.correction(self.given)
            self.answer = self.within_range(self.given + self.added(self.step))
            new = not x.keys() <= self.scaler.known.keys()
            self.intervals.issue(max(math.sqrt(variance), 1e-4), self.memory.noise(), new)
            self.widest = math.inf if self.then is None else 2.0 * (math.sqrt(self.target.variance) or 1.0)
            return
        self.p = []
        for process in self.processes:
            if self.task == "binary":
                p = float(special.ndtr(process.m[0] / math.sqrt(1.0 + process.v)))
                self.p.append([1.0 - p, p])
            else:
                self.p.append(special.softmax(process.inverse_temperature * process.m))
        self.p += [first.ask(self.points, self.x, len(self.processes[0].m)) for first in self.firsts]
        self.p += [linear.ask(self.x) for linear in self.linears]
        self.exact_x = self.scaler.unclipped(x)
        self.p += self.memory.predict(self.exact_x)
        self.p.append(self.last_label.ask(self.n_classes))
        if self.task == "binary":
            p = self.stack.ask(np.array([p[1] for p in self.p]), self.weight[:-1])
            self.p.append([1.0 - p, p])
        else:
            self.p.append(self.bayes.ask(self.x, self.n_classes))
            self.p.append(self.stack.ask(np.array(self.p), self.weight[:-1]))
        self.p = np.array(self.p)
        self.mixed = self.average(self.weight)

    def within_range(self, z):
        """The closest prediction no further outside of the range of targets than that is wide."""
        low, high = (self.range or (0.0, 0.0)) - np.array(self.centre())
        return clip(z, (2 * low - high) / self.deviation(), (2 * high - low) / self.deviation())

    def added(self, correction):
        """What is added to an answer: the correction by its share, and the mean residual if most targets are equal."""
        rc, cc, r, c, n, squares = self.agreement
        rc -= 0.0 if self.in_full else 0.5 * math.sqrt(squares)
        known, n = min(n / 20.0, 1.0), max(n, 1.0)
        r, c = (r / n, c / n) if self.in_full else (0.0, 0.0)
        return known * (r + (correction - c) * clip((rc - n * r * c) / max(cc - n * c * c, 1e-12), 0.0, 1.0))

    @property
    def in_full(self):
        return self.common_share > 0.5

    def average(self, weight):
        mixed = weight @ np.clip(self.p, 1e-4, 1.0 - 1e-4)
        return mixed / mixed.sum()

    @property
    def weight_then(self):
        """The mixture weights by what the experts said when they were asked."""
        of_today = self.log_then is None or self.changes.left
        return special.softmax(self.log_weight if of_today else self.log_then)

    def three(self):
        """By either weights, and the frequencies of the classes, in samples weighted like those of naive Bayes."""
        counts = [sum(w for w, _, label in self.bayes.samples if label == c) + 0.5 for c in range(self.n_classes)]
        return np.array([self.average(self.weight_then), self.mixed, np.array(counts) / sum(counts)])

    def centre(self):
        return self.unit[0]

    def deviation(self):
        return self.unit[1]

    def mean_and_variance(self, judgement=None):
        """Of the processes together, in units of the standardised target."""
        judgement = judgement or self.judgement
        mean = judgement.weight @ [process.m[0] for process in self.processes]
        scaled = [r * (p.v + p.noise) for r, p in zip(judgement.residual, self.processes, strict=True)]
        return mean, judgement.weight @ [s + (p.m[0] - mean) ** 2 for s, p in zip(scaled, self.processes, strict=True)]

    def predict(self, x):
        """Probabilities of the classes, or mean and standard deviation."""
        self.look(x)
        if self.task != "regression":
            return self.mixed if self.log_then is None else self.shares @ self.three()
        width = self.deviation() * self.intervals.width(0.9) / special.ndtri(0.95)
        return self.centre() + self.deviation() * self.answer, min(width, self.widest)

    # Learning

    def learn(self, x, y, w=1.0, said=None):
        """Learn the sample last given to ``predict``; if its label is late, by what was ``said`` of it."""
        self.scaler.learn(x)
        if self.task == "regression":
            self.linear.register(self.x)
        self.observe()
        self.seen += 1
        if w > 0.0:
            y = self.standardised(y) if self.task == "regression" else y
            self.forget_heavy(w)
            before = self.sample_weights or [w]
            relative = w * np.mean(before) / np.mean(np.square(before))
            self.sample_weights.append(min(w, 100.0 * np.mean(before)))
            if self.scaler.outlying:
                relative *= max(1.0 - (self.scaler.outlying / len(self.x)) ** 2, 1e-6)
            self.learn_experts(y, relative, said)
        if self.seen >= self.next_update:
            self.update()

    def observe(self):
        """Sums of squares, and of squared differences from the previous sample."""
        for name, value in self.x.items():
            self.squares[name] = self.squares.get(name, 0.0) + value**2
        if self.previous is not None:
            self.n_pairs += 1
            for name in self.x.keys() | self.previous.keys():
                off = self.x.get(name, 0.0) - self.previous.get(name, 0.0)
                self.differences[name] = self.differences.get(name, 0.0) + off**2
        self.previous = self.x

    def forget_heavy(self, w):
        """Ten light weights in a row after a few heavy first ones replace them."""
        if self.lights is None or not self.sample_weights:
            return
        if 3.0 * w >= np.mean(self.sample_weights):
            self.lights = None if self.lights or len(self.sample_weights) >= 20 else []
            return
        self.lights.append(w)
        if len(self.lights) == 10:
            self.sample_weights, self.lights = self.lights, None

    def standardised(self, y):
        change, target = self.target.add(y), self.target
        before = self.in_full
        self.common_share += max(0.001, 1.0 / target.count) * ((y == self.common) - self.common_share)
        if self.common_share < 0.05:
            self.common, self.common_share = y, 0.05
        if self.in_full != before:
            self.agreement, self.restarted = np.zeros(6), True
        self.memory.count_in_full(self.in_full)
        self.range = (min(self.range[0], y), max(self.range[1], y)) if self.range else (y, y)
        self.unit_settled = self.unit_settled and change is None
        if not self.unit_settled:
            self.settle_target(change == "restart" or (target.sudden and target.away < min(50, target.count)))
        self.exact = (y - self.centre()) / self.deviation()
        return (target.clipped(y) - self.centre()) / self.deviation()

    def settle_target(self, sudden):
        """Put the unit of the targets into force; after a sudden change nothing is converted."""
        before, deviation = self.unit
        self.unit = self.target.mean, math.sqrt(self.target.variance) or 1.0
        ratio, shift = deviation / self.deviation(), (before - self.centre()) / self.deviation()
        if self.seen <= 2:
            return
        self.last = ratio * self.last + shift
        if sudden:
            self.memory.latest.rescale_targets(11 + self.target.away, ratio, shift)
            self.agreement, self.restarted = np.zeros(6), True
            return
        for process in self.processes:
            process.m, process.mu = ratio * process.m + shift, ratio * process.mu + shift
        for each in (*self.judgements, self.linear, self.diagonal, self.memory):
            each.rescale(ratio, shift)
        self.given, self.step, self.answer = ratio * self.given + shift, ratio * self.step, ratio * self.answer + shift
        self.losses = ratio * self.losses
        if self.in_full:
            self.agreement = np.array([ratio**2, ratio**2, ratio, ratio, 1.0, ratio**4]) * self.agreement
        self.changes.rescale(ratio)
        self.intervals.rescale(ratio)

    def learn_experts(self, y, w, said):
        late = 0 if said is None else self.seen - said.seen
        said = said or Said(self)
        confident = self.judge(y, w, said, late)
        if self.task == "regression":
            self.last = self.exact
            self.linear.learn(y, w)
            self.diagonal.learn(self.exact_x, self.exact, min(w, 1.0))
            answered = self.given if self.changes.left else said.given
            self.memory.learn(self.exact_x, self.exact, min(w, 1.0), answered, self.off)
        else:
            for linear in self.linears:
                linear.learn(y, w)
            self.memory.learn(self.exact_x, y, min(w, 10.0))
            self.last_label.learn(y, w)
            self.firsts[0].grade(y)
            self.bayes.learn(self.x, y, w)
        needed = max((first.learn(y, w) for first in self.firsts), default=False)
        if len(self.dictionary) > 1 and (self.seen % 8 == 0 or self.task == "regression"):
            self.learn_slopes()
        joins = any(kernel.novel for kernel in self.kernels)
        if self.task != "regression" and len(self.dictionary) >= self.most_dictionary and confident:
            joins = False
        for e, process in enumerate(self.processes):
            process.forget()
            if self.task == "regression":
                noise, adapts = process.noise, process.forgetting == 1.0
                if adapts:  # an outlier has a larger noise
                    process.noise = clip((y - process.m[0]) ** 2 / 9.0 - process.v, noise, 0.03)
                step = process.gaussian(y, w)
            elif self.task == "binary":
                step = process.probit(2.0 * y - 1.0, w)
            else:
                step = process.gaussian(np.eye(self.n_classes)[y], w)
            process.learn(*step, joins)
            if self.task == "regression" and adapts:
                r = self.judgement.residual[e]
                process.noise = clip(noise * (r if r > 1.0 else r**0.02), 1e-6, 0.03)
        point = Point(dict(self.x))
        if joins:
            self.dictionary.append(point)
        if needed and len(self.pool) >= self.most_pool:
            self.evict_from_pool()
        if len(self.dictionary) > self.most_dictionary:
            self.evict_from_dictionary()
        if needed:
            point.alpha = self.firsts[0].step
        if needed or point in self.dictionary:
            self.points.append(point)

    def judge(self, y, w, said, late):
        """Update the weights by what was said when the sample was asked; return whether the label was confident."""
        discount = max(0.99, 1.0 - 1.0 / (late + 1.0))
        self.share += self.among.reshape(3, 2).sum(axis=1)
        if self.task == "regression":
            self.judge_target(y, w, said, late, discount)
            return False
        likelihood, confident = np.clip(self.p[:, y], 1e-4, 1.0 - 1e-4), 1.0 - self.mixed[y] <= 0.3
        if self.task == "multiclass":
            bayes = self.bayes
            bayes.kappa, bayes.curvature = tempered(bayes.kappa, bayes.curvature, bayes.score, y, 0.01, 2.0)
            for process in self.processes:
                process.inverse_temperature, process.curvature = tempered(
                    process.inverse_temperature, process.curvature, process.m, y, 1.0, 50.0
                )
        if self.stack is not None:
            self.stack.learn(y, w)
        self.judge_then(y, min(w, 10.0), said, late, discount)
        self.log_weight = 0.99 * self.log_weight + min(w, 10.0) * np.log(likelihood)
        self.log_weight -= self.log_weight.max()
        return confident

    def judge_target(self, y, w, said, late, discount):
        """By what was said when the sample was asked, once a target has come late; and by what is said today."""
        today, counts = Said(self), min(w, 1.0)
        if late:
            said.in_unit(self.centre(), self.deviation())
            if self.then is None:
                self.then = copy.deepcopy(self.judgement)
                self.then.estimates.linear = self.linear
        if self.then:
            bound = 30.0 * self.judgement.vote.size[-1]
            if late:
                self.changes.add(min(abs(self.exact - said.answer), bound), late)
            if self.changes.left:
                self.losses = np.array([0.0, bound, bound])
            else:
                errors = np.minimum(np.abs(self.exact - np.array([said.now.mean, said.then.mean, said.mean])), bound)
                self.losses = (1.0 - (1.0 - discount) / 2.0) * self.losses + counts * errors
                evidence = (1.0 - discount) / 0.01
                self.then.learn(y, self.exact, w, said.m, said.v, said.then, self.seen, True, discount, evidence)
        issued = today if self.changes.left else said
        self.intervals.learn(self.exact, self.exact - self.last, w, issued, 0 if self.changes.left else late)
        unit = 1.0 if self.in_full else max(issued.size, abs(issued.step) / 1e3)
        r, c = (self.exact - issued.given) / unit, issued.step / unit
        r = r if self.in_full else clip(r, -3.0 * abs(c), 3.0 * abs(c))
        if not self.restarted:
            self.agreement = 0.999 * self.agreement + np.array(
                [counts * r * c, counts * c * c, counts * r, counts * c, counts, (counts * r * c) ** 2]
            )
        self.restarted = False
        self.off = abs(self.exact - issued.answer) / issued.size
        self.judgement.learn(y, self.exact, w, today.m, today.v, today.now, self.seen, False, 0.99, 1.0)

    def judge_then(self, y, counts, said, late, discount):
        """By what was said when the sample was asked, once a label has come late."""
        if late and self.log_then is None:
            self.log_then = self.log_weight
        if late and said.three[:, y].sum() > 0.0:
            due = self.shares * said.three[:, y]
            self.changes.add(-math.log(due.sum()), late)
            if not self.changes.left:
                self.shares = np.maximum(self.shares + counts * (due / due.sum() - self.shares) / 100.0, 0.001)
                self.shares /= self.shares.sum()
        if self.log_then is not None and not self.changes.left:
            likelihood = np.log(np.clip(said.p[:, y], 1e-4, 1.0 - 1e-4))
            self.log_then = discount * self.log_then + counts * (1.0 - discount) / 0.01 * likelihood
            self.log_then -= self.log_then.max()

    def evict_from_pool(self):
        (first,) = self.firsts
        gone = self.pool[int(np.argmin([first.loss(point) for point in self.pool]))]
        first.take_over(gone)
        gone.alpha = None
        self.release(gone)

    def evict_from_dictionary(self):
        losses = 0.0
        for w, process in zip(self.among, self.processes, strict=True):
            if w < 0.1:
                continue
            Q = np.linalg.inv(process.kernel.gram(self.dictionary))
            losses = losses + (w + 1e-3) * ((Q @ process.mu) ** 2).sum(axis=1) / np.diag(Q) ** 2
        r = int(np.argmin(losses))
        gone, last = self.dictionary[r], self.dictionary.pop()
        order = list(range(len(self.dictionary)))
        if r < len(order):  # the last one takes its position
            self.dictionary[r], order[r] = last, len(order)
        for process in self.processes:
            process.mu, process.S = process.mu[order], process.S[np.ix_(order, order)]
        self.release(gone)

    def release(self, point):
        """Remove a point if it is unreferenced; the last one takes its position."""
        if point in self.points and point not in self.dictionary and point.alpha is None:
            i, last = self.points.index(point), self.points.pop()
            if i < len(self.points):
                self.points[i] = last

    # Metrics and kernels

    def learn_slopes(self):
        """The squared slopes of the mean, by central differences."""
        names, step, total = list(self.x), 1e-5, 0.0
        moved = [{**self.x, name: self.x[name] + side * step} for name in names for side in (1.0, -1.0)]
        for i, kernel in enumerate(self.kernels):
            if self.among[2 * i] + self.among[2 * i + 1] < 0.001:
                continue
            mu = sum(self.among[e] * self.processes[e].mu for e in (2 * i, 2 * i + 1))
            total = total + kernel.matrix(moved, [z.x for z in self.dictionary]) @ np.linalg.solve(kernel.K, mu)
        slopes = (total[0::2] - total[1::2]) / (2.0 * step)
        for name, slope in zip(names, slopes, strict=True):
            self.slopes.setdefault(name, []).append(slope @ slope)

    def update(self):
        """Update bandwidths from the stream, metrics from slopes, and kernels from weights."""
        if self.task == "regression" and self.seen >= 5:
            target = self.target
            if self.unit_settled or 4 * min(target.count, target.away) >= self.seen - self.scaler.settled_at:
                self.settle_target(sudden=False)
                self.unit_settled = True
        before = [kernel.gram(self.dictionary) for kernel in self.kernels]
        first, growth = (60, 4) if self.task == "regression" else (200, 2)
        if self.seen < first:
            self.next_update = min(t for t in (*EARLY, first) if t > self.seen)
        else:
            self.next_update = self.seen + min(2000, self.seen // growth)
        self.convert(self.scaler.settle(self.next_update - self.seen))
        if self.seen >= first:
            self.updates += 1
            if self.updates > 1:
                self.move_kernel(before)
            self.share = np.zeros(3)
            self.learn_metrics()
        from_slopes = self.weights[FULL] if self.task == "regression" and self.slopes_known else {}
        self.weights[RELEVANT] |= self.memory.feature_weights(from_slopes)
        self.metrics_learned()
        self.tune()
        if self.task == "regression":
            self.discount(before)

    def convert(self, to):
        """Convert all that was learned in scaled values to new units of the features."""
        for point in self.points:
            x = converted(point.x, to, 5.0, everywhere=True)
            point.x = {name: float(self.precision(value)) for name, value in x.items()}
        self.previous = converted(self.previous, to)
        for name, (ratio, shift) in to.items():
            count = min(self.seen, self.scaler.count[name])
            self.squares[name] = max(ratio**2 * self.squares[name] - shift**2 * count, 0.0)
            self.differences[name] *= ratio**2
            self.slopes[name] = [slope / ratio**2 for slope in self.slopes.get(name, [])]
        self.slopes = {name: slopes for name, slopes in self.slopes.items() if slopes}
        own = [self.linear, self.diagonal] if self.task == "regression" else [self.bayes]
        for each in [*self.linears, *own, self.memory]:
            each.convert(to)

    def learn_metrics(self):
        G = {name: float(np.mean(slopes)) for name, slopes in self.slopes.items()}
        total = sum(G.values())
        if total > 1e-200 and len(G) > 1:
            half = np.mean([math.sqrt(g / total) for g in G.values()])
            for name, g in G.items():
                self.weights[HALF][name] = max(math.sqrt(g / total) / half, 0.003)
                self.weights[FULL][name] = self.weights[RELEVANT][name] = max(g / total * len(G), 0.003)
            self.slopes_known = True
        self.slopes = {}

    def tune(self):
        """Every γ from the mean squared distance of consecutive samples, and their mean square."""
        for kernel in self.kernels + [first.kernel for first in self.firsts]:
            w = self.weights[kernel.metric]
            distance = sum(w.get(name, 1.0) * v for name, v in self.differences.items()) / max(self.n_pairs, 1)
            square = sum(w.get(name, 1.0) * v for name, v in self.squares.items()) / self.seen
            kernel.gamma = 3.0 * kernel.scale / distance if distance > 0.0 else 0.0
            kernel.slope = 1.0 / square if square > 0.0 else 0.0
            kernel.weights = dict(w)

    def discount(self, before):
        """Discount evidence by the similarity of old and new kernel, the cosine of the off-diagonal elements, and when
        a new unit comes into force."""
        off = np.tril_indices(len(self.dictionary), -1)
        for i, (kernel, was) in enumerate(zip(self.kernels, before, strict=True)):
            K = kernel.gram(self.dictionary)
            a, b = was[off], K[off]
            keep = clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), 1e-3, 1.0) if a.any() and b.any() else 1.0
            if self.scaler.renewed:
                keep *= 0.1
            for process in self.processes[2 * i : 2 * i + 2]:
                process.S = keep * process.S + (1.0 - keep) * process.prior_variance * K

    def are_equal(self, one, other):
        """Whether two metrics weight all features alike."""
        weights = [[self.weights[m].get(name, 1.0) for name in self.squares] for m in (one, other)]
        return one == other or weights[0] == weights[1]

    def move_kernel(self, grams):
        """Replace the lowest-weighted kernel by a neighbour of the highest-weighted one."""
        low, high = int(np.argmin(self.share)), int(np.argmax(self.share))
        if self.share[low] >= 0.5 * self.share[high]:
            return
        best = self.kernels[high]
        other = 16.0 if self.task == "regression" and self.judgement.residual[2 * high] > 4.0 else 0.25
        for scale, metric in (
            (4.0 * best.scale, best.metric),
            (other * best.scale, best.metric),
            (best.scale, (best.metric + 1) % 4),
            (best.scale, (best.metric - 1) % 4),
        ):
            there = any(kernel.scale == scale and self.are_equal(kernel.metric, metric) for kernel in self.kernels)
            if there or not 0.005 <= scale <= 100.0:
                continue
            self.kernels[low].scale, self.kernels[low].metric = scale, metric
            for b in range(2):
                self.processes[2 * low + b].take_over(self.processes[2 * high + b])
                for judgement in self.judgements:
                    judgement.move(2 * low + b, 2 * high + b)
                self.log_weight[2 * low + b] = self.log_weight[2 * high + b] - 2.0
                if self.log_then is not None:
                    self.log_then[2 * low + b] = self.log_then[2 * high + b] - 2.0
            self.log_weight -= self.log_weight.max()
            grams[low] = grams[high]
            return
