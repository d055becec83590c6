"""The last vote on a target: by absolute errors, between the mixture, its correction, the last target and the trees.

The mixture's weights follow squared residuals, by which a jump of the level decides for a hundred samples.  Absolute
errors relative to the smallest don't:

    w_e ∝ exp(-SHARPNESS (L_e / min L - 1)),    L_e ← λ L_e + |y - m_e|

The correction is a linear regression of the mixture's residual on how far every opinion is from the mixture, each in
units of its own running error, so that one that is often far off has little influence.
"""

from libc.math cimport exp, fabs, fmax, fmin
from libc.string cimport memcpy

import numpy as np

from river_okl._core.mixture.combiner cimport Ridge
from river_okl._core.mixture.expert cimport Expert, Outcome

from river_okl._core.states import checked_numbers

cdef double SHARPNESS = 8.0
cdef double DISCOUNT = 0.99         # of running errors
cdef double OUTLYING = 30.0         # running errors: one sample adds no more to a loss
cdef double FARTHEST = 3.0          # running errors, of an input of the correction and of its residual
cdef double SPIKE = 5.0             # running errors by which one sample moves them
LEAST_SIZE, LARGEST_SIZE, LARGEST_LOSS = 1e-4, 1e9, 1e12
cdef double least_size = LEAST_SIZE, largest_size = LARGEST_SIZE, largest_loss = LARGEST_LOSS
REGRESSION = 0.1, 3e-5              # prior variance of a coefficient, and its growth a sample


cdef class Vote(Expert):
    """One prediction, the correction's; the mean of the vote is the mixture's last word.

    The mixture's predictions start with the ``OPINIONS``, the correction and the mean of the mixture.
    """

    def __init__(self, Py_ssize_t forest, Py_ssize_t last, str name="vote"):
        cdef Py_ssize_t i
        self.name, self.rows = name, 1
        self.regression = Ridge(OPINIONS, *REGRESSION)
        for i in range(OPINIONS + 1):
            self.size[i] = 1.0
        self.row[:] = [OPINIONS + 1, OPINIONS, last, forest, last + 1]
        self.weigh()

    cdef void fill(self, const double *said) noexcept:
        """The inputs of the correction."""
        cdef Py_ssize_t i
        for i in range(OPINIONS):
            self.regression.inputs[i] = 0.0 if self.silent[i] else fmin(
                fmax((said[i] - said[OPINIONS + 1]) / self.size[i], -FARTHEST), FARTHEST
            )
        self.regression.ask(OPINIONS)

    cdef void correct(self, double *said) noexcept:
        """Write the correction, from the opinions and the mean of the mixture."""
        self.fill(said)
        said[OPINIONS] = said[OPINIONS + 1] + self.size[OPINIONS] * self.regression.mean

    cdef double mean(self, const double *said) noexcept:
        cdef Py_ssize_t e
        cdef double total = 0.0
        for e in range(VOTERS):
            total += self.weight[e] * said[self.row[e]]
        return total

    cdef void judge(self, const Outcome *y, double most) noexcept:
        """Losses and running errors, given a target; then a step of the regression.

        Running errors follow at the rate 1 - DISCOUNT, or faster at first: ``most``.
        """
        cdef Py_ssize_t i
        cdef const double *said = y.said
        cdef double error, rate = fmax(most, 1.0 - DISCOUNT), bound = OUTLYING * self.size[OPINIONS]
        for i in range(VOTERS):
            error = fmin(fabs(y.exact - said[self.row[i]]), bound)
            self.loss[i] = fmin(y.discount * self.loss[i] + y.counts * error, largest_loss)
        self.weigh()
        self.fill(said)
        error = (y.exact - said[OPINIONS]) / self.size[OPINIONS]
        self.regression.learn(fmin(fmax(error, -FARTHEST), FARTHEST), 1.0 / y.counts)
        for i in range(OPINIONS + 1):
            error = fmin(fabs(y.exact - said[i]), SPIKE * self.size[i])
            self.size[i] = fmax(self.size[i] + rate * (error - self.size[i]), least_size)

    cdef void weigh(self) noexcept:
        cdef Py_ssize_t i
        cdef double least = self.loss[0], total = 0.0
        for i in range(1, VOTERS):
            if not self.silent[self.row[i]]:
                least = fmin(least, self.loss[i])
        for i in range(VOTERS):
            self.weight[i] = exp(-SHARPNESS * (self.loss[i] / fmax(least, 1e-300) - 1.0)) if (
                i == 0 or not self.silent[self.row[i]]
            ) else 0.0
            total += self.weight[i]
        for i in range(VOTERS):
            self.weight[i] /= total

    cdef void copy(self, Vote other) noexcept:
        """It becomes another one, the last sample included."""
        self.regression.copy(other.regression)
        memcpy(self.size, other.size, sizeof(self.size))
        memcpy(self.loss, other.loss, sizeof(self.loss))
        self.weigh()

    cdef void explain_processes(self, const double *of_mixture, const double *of_stack, double *out) noexcept:
        """The coefficient of each process in the vote's mean, given those in the means of the mixture and the stack."""
        cdef Py_ssize_t e
        cdef double of_anchor = 1.0
        cdef double[OPINIONS] own
        for e in range(OPINIONS):
            own[e] = self.size[OPINIONS] * self.regression.coef[e] / self.size[e]
            of_anchor -= own[e]
        for e in range(PROCESSES):
            out[e] = self.weight[0] * of_mixture[e] + self.weight[1] * (
                of_anchor * of_mixture[e] + own[OPINIONS - 1] * of_stack[e] + own[e]
            )

    cdef void rescale(self, double ratio, double shift) noexcept:
        cdef Py_ssize_t i
        for i in range(OPINIONS + 1):
            self.size[i] = fmin(fmax(ratio * self.size[i], least_size), largest_size)
        for i in range(VOTERS):
            self.loss[i] = fmin(ratio * self.loss[i], largest_loss)
        self.weigh()  # as ``restore`` does: rounding differs in the last bit

    def names(self):
        return ["correction"]

    def _check(self):
        self.regression._check()
        assert abs(sum([self.weight[i] for i in range(VOTERS)]) - 1.0) < 1e-9

    def state(self):
        cdef Py_ssize_t i
        return {
            "regression": self.regression.state(),
            "sizes": np.array([self.size[i] for i in range(OPINIONS + 1)]),
            "losses": np.array([self.loss[i] for i in range(VOTERS)]),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i
        sizes, losses = state["sizes"], state["losses"]
        checked_numbers("the running errors of opinions", sizes, (OPINIONS + 1,), LEAST_SIZE, LARGEST_SIZE)
        checked_numbers("the losses of a vote", losses, (VOTERS,), 0.0, LARGEST_LOSS)
        self.regression.restore(state["regression"])
        for i in range(OPINIONS + 1):
            self.size[i] = sizes[i]
        for i in range(VOTERS):
            self.loss[i] = losses[i]
        self.weigh()
