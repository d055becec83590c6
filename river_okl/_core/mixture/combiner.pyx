"""The regression combiner: three estimates of a target, that of the Gaussian processes together, a linear regression on
the features, and a stacked one on the predictions of all experts.

Real targets are noisy and largely linear.  Processes with one small fixed noise overfit; averaging cancels part of
their errors.  The estimates are weighted by their squared residuals and not by likelihood: processes, whose predicted
variance changes from sample to sample, would win by it even if their means were no better.
"""

from libc.math cimport exp, fmax, fmin, log, sqrt
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport weights_of_logs
from river_okl._core.gaussian.posterior cimport Posterior
from river_okl._core.inputs cimport bounded, inputs_of
from river_okl._core.linalg cimport packed, unpack
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.neighbours cimport Neighbours
from river_okl._core.simd cimport linalg
from river_okl._core.store.memory cimport Owner

from river_okl._core.mixture.processes import NEWCOMER
from river_okl._core.states import LARGEST_MEAN, checked_numbers

LINEAR = 0.1, 1e-6              # prior variance of a regression's coefficients, and its growth a sample
STACK = 0.03, 1e-4
LEAST_RESIDUAL = 1e-4           # of a running squared residual
cdef double least_residual = LEAST_RESIDUAL
cdef double DISCOUNT = 0.99     # of running residuals
cdef double OUTLYING = 5.0      # standard deviations by which one sample moves a running residual


cdef class Ridge(Owner):
    """Bayesian linear regression, by recursive least squares: coefficients of at most ``most`` inputs and their
    covariance.

    That starts as ``prior`` and grows by ``drift`` a step while it is smaller, so that learning never stops.
    """

    def __init__(self, Py_ssize_t most, double prior, double drift):
        cdef Py_ssize_t i
        self.room = (most + 7) // 8 * 8
        self.prior, self.drift = prior, drift
        self.coef = self.doubles(NULL, 0, self.room)
        self.inputs = self.doubles(NULL, 0, self.room)
        self.h = self.doubles(NULL, 0, self.room)
        self.covariance = self.doubles(NULL, 0, self.room * self.room)
        for i in range(self.room):
            self.reset(i)

    cdef void reset(self, Py_ssize_t i) noexcept:
        """The coefficient of input i has its prior again."""
        cdef Py_ssize_t j
        self.coef[i] = 0.0
        memset(self.covariance + i * self.room, 0, i * 8)
        for j in range(i + 1, self.room):
            self.covariance[j * self.room + i] = 0.0
        self.covariance[i * self.room + i] = self.prior

    cdef void ask(self, Py_ssize_t n) noexcept:
        """The prediction from the first n inputs."""
        self.n = n
        linalg.symmetric_times(self.covariance, self.room, n, 1.0, self.inputs, 0.0, self.h)
        self.mean = linalg.dot(self.coef, self.inputs, n)

    cdef void learn(self, double residual, double noise) noexcept:
        """A step, given the residual of the last prediction and the variance of the noise."""
        cdef double gain = 1.0 / (noise + fmax(0.0, linalg.dot(self.h, self.inputs, self.n)))
        cdef Py_ssize_t i
        for i in range(self.n):
            self.coef[i] += gain * residual * self.h[i]
        linalg.rank_one(self.covariance, self.room, self.n, -gain, self.h)
        for i in range(self.n):
            if self.covariance[i * self.room + i] < self.prior:
                self.covariance[i * self.room + i] += self.drift

    cdef void copy(self, Ridge other) noexcept:
        """It becomes another one, of the same size, the last sample included."""
        self.n, self.mean = other.n, other.mean
        memcpy(self.inputs, other.inputs, self.room * 8)
        memcpy(self.h, other.h, self.room * 8)
        memcpy(self.coef, other.coef, self.room * 8)
        memcpy(self.covariance, other.covariance, self.room * self.room * 8)

    def _check(self):
        """The invariants, by brute force."""
        cdef Py_ssize_t i, j
        covariance = np.array(
            [[self.covariance[max(i, j) * self.room + min(i, j)] for j in range(self.room)] for i in range(self.room)]
        )
        variances = np.linalg.eigvalsh(covariance)
        assert variances[0] > -1e-12, "a covariance is positive"
        assert covariance.diagonal().max() <= self.prior + self.drift, "a variance is at most what it was at first"

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i
        return {
            "coef": np.array([self.coef[i] for i in range(self.room)]),
            "covariance": packed(self.covariance, self.room, self.room)
        }

    def restore(self, dict state):
        """Restore a state. Every number is checked: the state may come from an untrusted file."""
        cdef Py_ssize_t i
        coef = checked_numbers(
            "the coefficients of a linear regression", state["coef"], (self.room,), -LARGEST_MEAN, LARGEST_MEAN
        )
        size = self.room * (self.room + 1) // 2
        checked_numbers("the covariance of a linear regression", state["covariance"], (size,))
        unpack(state["covariance"], self.covariance, self.room, self.room)
        for i in range(self.room):
            self.coef[i] = coef[i]


cdef class Combiner(Expert):
    """The estimates and their weights, for a target in units of its deviation."""

    def __init__(self, Scaler scaler, Processes processes, Neighbours neighbours, str name="combiner"):
        cdef Py_ssize_t i
        self.name, self.rows = name, 2
        self.scaler = scaler
        self.processes = processes
        self.neighbours = neighbours
        self.linear = Ridge(LINEAR_INPUTS, *LINEAR)
        self.stack = Ridge(STACK_INPUTS, *STACK)
        for i in range(PROCESSES):
            self.stack.coef[i] = 1.0 / PROCESSES
        for i in range(ESTIMATES):
            self.residual[i] = 1.0
            self.log_weight[i] = 0.0 if i == 0 else -NEWCOMER
        weights_of_logs(self.log_weight, ESTIMATES, self.weight)

    cdef int ask(self, const Sample *x, double *p) except -1:
        """The linear estimate, and the stack's of all predictions before its own."""
        cdef Py_ssize_t i
        cdef double *inputs = self.stack.inputs
        cdef const double *said = p - self.first
        inputs_of(x, LINEAR_INPUTS, self.linear.inputs)
        self.linear.ask(min(self.scaler.size + 1, LINEAR_INPUTS))
        for i in range(PROCESSES):
            inputs[i] = bounded(said[i])
        inputs[PROCESSES] = bounded(self.linear.mean)
        inputs[PROCESSES + 1] = 1.0
        inputs[PROCESSES + 2], inputs[PROCESSES + 3] = bounded(said[PROCESSES]), bounded(said[PROCESSES + 1])
        self.stack.ask(STACK_INPUTS)
        p[0], p[1] = self.linear.mean, self.stack.mean
        return 0

    cdef void mix(self, double *mean, double *variance) noexcept:
        """Turn mean and variance of the processes into those of the three estimates."""
        cdef double together
        cdef double off = mean[0] - self.linear.mean, of_stack = mean[0] - self.stack.mean
        together = mean[0] - self.weight[1] * off - self.weight[2] * of_stack
        off, of_stack = self.linear.mean - together, self.stack.mean - together
        variance[0] = (
            self.weight[0] * (variance[0] + (mean[0] - together) * (mean[0] - together))
            + self.weight[1] * (self.residual[1] + off * off)
            + self.weight[2] * (self.residual[2] + of_stack * of_stack)
        )
        mean[0] = together

    cdef void count(self, const double *weight, double *out) noexcept:
        """The coefficient of each process in the mean of the three estimates, given their mixture weights."""
        cdef Py_ssize_t e
        for e in range(PROCESSES):
            out[e] = self.weight[0] * weight[e] + self.weight[2] * self.stack.coef[e]

    cdef void judge(self, const Outcome *y, const double *estimates, double most) noexcept:
        """Weights of the estimates given a target, then a step of both regressions.  Running residuals follow at the
        rate 1 - DISCOUNT, or faster at first: ``most``.

        ``y.w`` is the weight of the sample, ``y.counts`` a bounded one for what combines estimates that learn ``w``
        themselves: if it counted ``w`` once more, their mean would overshoot the target, or jump to the estimate that
        happened to be closest.

        The stack learns from the predictions by which it is judged, by what it makes of them today; the linear
        estimate has today's features.
        """
        cdef double[ESTIMATES] off
        cdef double rate = fmax(most, 1.0 - DISCOUNT)
        cdef Py_ssize_t i
        for i in range(ESTIMATES):
            off[i] = y.target - estimates[i]
            self.log_weight[i] = y.discount * self.log_weight[i] + y.counts * log(
                exp(-0.5 * off[i] * off[i] / self.residual[i]) / sqrt(self.residual[i]) + 1e-6
            )
            self.residual[i] += rate * (
                fmin(off[i] * off[i], OUTLYING * OUTLYING * self.residual[i]) - self.residual[i]
            )
            self.residual[i] = fmax(self.residual[i], least_residual)
            if self.silent[i]:
                self.log_weight[i] = -1e6
        if y.late:
            for i in range(PROCESSES):
                self.stack.inputs[i] = bounded(y.said[i])
            self.stack.inputs[PROCESSES] = bounded(estimates[1])
            self.stack.inputs[PROCESSES + 2] = bounded(y.said[PROCESSES])
            self.stack.inputs[PROCESSES + 3] = bounded(y.said[PROCESSES + 1])
            self.stack.ask(STACK_INPUTS)
        self.linear.learn(y.target - self.linear.mean, fmax(self.residual[1], 0.01) / y.w)
        self.stack.learn(y.target - self.stack.mean, fmax(self.residual[2], 0.003) / y.counts)
        weights_of_logs(self.log_weight, ESTIMATES, self.weight)

    cdef void copy(self, Combiner other) noexcept:
        """It becomes another one, the last sample included."""
        self.linear.copy(other.linear)
        self.stack.copy(other.stack)
        memcpy(self.log_weight, other.log_weight, sizeof(self.log_weight))
        memcpy(self.weight, other.weight, sizeof(self.weight))
        memcpy(self.residual, other.residual, sizeof(self.residual))

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """The stack learns the part of a weight beyond 1 from predictions of experts that have learned it already."""
        cdef Py_ssize_t i
        if y.w <= 1.0:
            return False
        for i in range(PROCESSES):
            self.stack.inputs[i] = bounded((<Posterior> self.processes.posteriors[i]).mean[0])
        self.stack.inputs[PROCESSES] = bounded(linalg.dot(self.linear.coef, self.linear.inputs, self.linear.n))
        self.stack.inputs[PROCESSES + 2] = bounded(self.neighbours.mean_with(y.target)) if self.neighbours.most else 0.0
        self.stack.ask(STACK_INPUTS)
        self.stack.learn(y.target - self.stack.mean, fmax(self.residual[2], 0.003) / (y.w - 1.0))
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        cdef double of_means = self.stack.coef[PROCESSES + 2] + self.stack.coef[PROCESSES + 3]
        for i in range(self.linear.room):
            self.linear.coef[i] *= ratio
        self.linear.coef[0] += shift
        self.linear.mean = ratio * self.linear.mean + shift
        for i in range(PROCESSES + 1):
            of_means += self.stack.coef[i]
        self.stack.coef[PROCESSES + 1] = ratio * self.stack.coef[PROCESSES + 1] + shift * (1.0 - of_means)
        self.stack.mean = ratio * self.stack.mean + shift
        for i in range(ESTIMATES):
            self.residual[i] = fmax(ratio * ratio * self.residual[i], least_residual)

    cdef void forget(self, list places) noexcept:
        cdef Py_ssize_t place
        for place in places:
            if place < LINEAR_INPUTS - 1:
                self.linear.reset(1 + place)

    def names(self):
        return ["linear", "stack"]

    def silence(self, parts):
        """For ``benchmarks.ablation``: these estimates have no weight from now on."""
        self.silent[1], self.silent[2] = "linear" in parts, "stack" in parts

    def _check(self):
        self.linear._check()
        self.stack._check()

    def state(self):
        cdef Py_ssize_t i
        return {
            "linear": self.linear.state(),
            "stack": self.stack.state(),
            "log_weights": np.array([self.log_weight[i] for i in range(ESTIMATES)]),
            "residuals": np.array([self.residual[i] for i in range(ESTIMATES)]),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i
        weights, residuals = state["log_weights"], state["residuals"]
        checked_numbers("the weights of the estimates", weights, (ESTIMATES,), high=0.0)
        checked_numbers("the residuals of the estimates", residuals, (ESTIMATES,), LEAST_RESIDUAL)
        self.linear.restore(state["linear"])
        self.stack.restore(state["stack"])
        for i in range(ESTIMATES):
            self.log_weight[i], self.residual[i] = weights[i], residuals[i]
        weights_of_logs(self.log_weight, ESTIMATES, self.weight)
