"""The regression combiner: it weights three estimates of a target, which are the mean of the Gaussian
processes, a linear regression on the features, and a stacked regression on the predictions of all experts.

Real targets are noisy and largely linear.  Processes with one small fixed noise overfit; averaging cancels part of
their errors.  The estimates are weighted by their squared residuals and not by likelihood: by likelihood the processes
would win even with no better means, because their predicted variance changes from sample to sample.
"""

from libc.math cimport exp, fmax, log, sqrt

from river_okl._core.calibration cimport weights_of_logs
from river_okl._core.inputs cimport bounded
from river_okl._core.mixture.expert cimport DISCOUNT, NEWCOMER, Expert, with_residual

STACK = 0.03, 1e-4              # prior variance of a coefficient, and its growth per sample
cdef double LEAST_RESIDUAL = 1e-4   # of a running squared residual


cdef class Combiner(Table):
    """The estimates and their weights, for a target in units of its standard deviation."""

    def __init__(self, Processes processes, Regression linear, tuple others):
        cdef Py_ssize_t i
        self.processes = processes
        self.linear = linear
        self.n_others = sum([expert.rows for expert in others])
        self.first_other = (<Expert> others[0]).first if others else 0
        self.stack = self.contain("stack", Ridge(PROCESSES + 2 + self.n_others, *STACK))
        for i in range(PROCESSES):
            self.stack.coef[i] = 1.0 / PROCESSES
        self.declare(<size_t> &self.log_weight, "log_weights", (ESTIMATES,), default=-NEWCOMER, high=0.0)
        self.declare(
            <size_t> &self.residual, "residuals", (ESTIMATES,), default=1.0, low=LEAST_RESIDUAL, power=2
        )
        self.derive(<size_t> &self.weight, (ESTIMATES,))
        self.log_weight[0] = 0.0
        self.update_derived()

    cdef void update_derived(self) noexcept:
        weights_of_logs(self.log_weight, ESTIMATES, self.weight)

    cdef double ask_stack(self, const double *p) noexcept:
        """Return the stack's estimate from the processes' means, the linear estimate, a constant and the other
        predictions."""
        cdef Py_ssize_t i
        cdef double *inputs = self.stack.inputs
        for i in range(PROCESSES):
            inputs[i] = bounded(p[i])
        inputs[PROCESSES], inputs[PROCESSES + 1] = bounded(p[self.linear.first]), 1.0
        for i in range(self.n_others):
            inputs[PROCESSES + 2 + i] = bounded(p[self.first_other + i])
        self.stack.ask()
        return self.stack.mean

    cdef void mix(self, double linear, double *mean, double *variance) noexcept:
        """Replace the mean and variance of the processes with the mean and variance of the three estimates."""
        cdef double together
        cdef double off = mean[0] - linear, of_stack = mean[0] - self.stack.mean
        together = mean[0] - self.weight[1] * off - self.weight[2] * of_stack
        off, of_stack = linear - together, self.stack.mean - together
        variance[0] = (
            self.weight[0] * (variance[0] + (mean[0] - together) * (mean[0] - together))
            + self.weight[1] * (self.residual[1] + off * off)
            + self.weight[2] * (self.residual[2] + of_stack * of_stack)
        )
        mean[0] = together

    cdef void count(self, const double *weight, double *out) noexcept:
        """Write the coefficient of each process in the mean of the three estimates, given its mixture weight."""
        cdef Py_ssize_t e
        for e in range(PROCESSES):
            out[e] = self.weight[0] * weight[e] + self.weight[2] * self.stack.coef[e]

    cdef void score(self, const Outcome *y, const double *p, const double *estimates, double least_rate) noexcept:
        """Update the weights of the estimates, then the stack, given a target.  The rate of running residuals
        is 1 - DISCOUNT, or ``least_rate`` if that is larger.

        Combinations use the bounded weight ``y.counts``: the estimates learn ``y.w`` themselves, and counted
        again it would make their mean overshoot the target, or jump to the estimate that happened to be closest.

        The stack learns from the predictions that it is scored on, combined with its current coefficients.
        """
        cdef double[ESTIMATES] off
        cdef double rate = fmax(least_rate, 1.0 - DISCOUNT)
        cdef Py_ssize_t i
        for i in range(ESTIMATES):
            off[i] = y.target - estimates[i]
            self.log_weight[i] = y.discount * self.log_weight[i] + y.counts * log(
                exp(-0.5 * off[i] * off[i] / self.residual[i]) / sqrt(self.residual[i]) + 1e-6
            )
            self.residual[i] = fmax(with_residual(self.residual[i], off[i], rate), LEAST_RESIDUAL)
        if y.late:
            self.ask_stack(p)
        self.stack.learn(y.target - self.stack.mean, fmax(self.residual[2], 0.003) / y.counts)
        self.update_derived()

    cdef void rescale(self, double ratio, double shift) noexcept:
        """Change the unit of the target, as experts do."""
        cdef Py_ssize_t i
        cdef double of_means = 0.0
        for i in range(PROCESSES + 2, PROCESSES + 2 + self.n_others):
            of_means += self.stack.coef[i]
        for i in range(PROCESSES + 1):
            of_means += self.stack.coef[i]
        self.stack.coef[PROCESSES + 1] = ratio * self.stack.coef[PROCESSES + 1] + shift * (1.0 - of_means)
        self.stack.mean = ratio * self.stack.mean + shift
