"""The second stage for a target: it weights the mixture, its correction and other experts by their absolute errors.

The mixture's weights follow squared residuals, which a single level shift dominates for a hundred samples.
The vote compares absolute errors with the smallest one, which avoids this:

    w_e ∝ exp(-SHARPNESS (L_e / min L - 1)),    L_e ← λ L_e + |y - m_e|

The correction is a linear regression of the mixture's residual on the difference of every prediction from the mixture.
The unit of a difference is the prediction's running error, so that inaccurate predictions have little influence.  As
these units move with every sample, the coefficients are converted with them.  Otherwise a large error would make the
correction larger, and with it the next error.
"""

from libc.math cimport fabs, fmax, fmin

from river_okl._core.calibration cimport weights_of_losses
from river_okl._core.mixture.expert cimport DISCOUNT
from river_okl._core.mixture.processes cimport PROCESSES

cdef double LARGEST_ERROR = 100.0   # in a loss, in running errors
cdef double FARTHEST = 3.0          # bound of an input of the correction and of its residual, in running errors
cdef double SPIKE = 5.0             # bound of one sample's error in a running error, in running errors
cdef double LEAST_SIZE = 1e-4, LARGEST_SIZE = 1e9, LARGEST_LOSS = 1e12
REGRESSION = 0.1, 3e-5              # prior variance of a coefficient, and its growth per sample


cdef class Vote(Table):
    """The correction, and the weighted mean of the vote.

    The numbers that it works on are the predictions of all experts, then those of ``Judged``.

    Parameters
    ----------
    n
        Number of these before the correction; the mixture's mean follows the correction.
    rows
        The predictions that vote in addition to the mixture's mean and its correction.
    """

    def __init__(self, Py_ssize_t n, tuple rows):
        cdef Py_ssize_t i
        self.n, self.voters = n, 2 + len(rows)
        self.ridge = self.contain("regression", Ridge(n, *REGRESSION))
        self.declare(
            <size_t> &self.size, "sizes", (n + 1,), default=1.0, low=LEAST_SIZE, high=LARGEST_SIZE, power=1
        )
        self.declare(<size_t> &self.loss, "losses", (self.voters,), low=0.0, high=LARGEST_LOSS, power=1)
        self.derive(<size_t> &self.weight, (self.voters,))
        self.scratch(<size_t> &self.row, (self.voters,), dtype="i8")
        for i, row in enumerate((n + 1, n, *rows)):
            self.row[i] = row
        self.update_derived()

    cdef double running_error(self) noexcept:
        """Return the running error of the correction."""
        return self.size[self.n]

    cdef double number(self, const double *p, const Judged *own, Py_ssize_t i) noexcept:
        """Return number i of the predictions and of ``own`` behind them."""
        if i < self.n - 1:
            return p[i]
        return own.stack if i == self.n - 1 else own.correction if i == self.n else own.mixed

    cdef void fill(self, const double *p, const Judged *own) noexcept:
        """Evaluate the regression at the inputs of the correction."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.ridge.inputs[i] = fmin(
                fmax((self.number(p, own, i) - own.mixed) / self.size[i], -FARTHEST), FARTHEST
            )
        self.ridge.ask()

    cdef double correct(self, const double *p, const Judged *own) noexcept:
        """Return the correction, from the predictions, the stack and the mean of the mixture."""
        self.fill(p, own)
        return own.mixed + self.size[self.n] * self.ridge.mean

    cdef double mean(self, const double *p, const Judged *own) noexcept:
        cdef Py_ssize_t e
        cdef double total = 0.0
        for e in range(self.voters):
            total += self.weight[e] * self.number(p, own, self.row[e])
        return total

    cdef void score(self, const Outcome *y, const double *p, const Judged *own, double least_rate) noexcept:
        """Update losses, the regression and running errors, given a target.

        The rate of running errors is 1 - DISCOUNT, or ``least_rate`` if that is larger.
        """
        cdef Py_ssize_t i
        cdef double error, size, last, rate = fmax(least_rate, 1.0 - DISCOUNT)
        cdef double bound = LARGEST_ERROR * self.size[self.n]
        for i in range(self.voters):
            error = fmin(fabs(y.exact - self.number(p, own, self.row[i])), bound)
            self.loss[i] = fmin(y.discount * self.loss[i] + y.counts * error, LARGEST_LOSS)
        self.update_derived()
        self.fill(p, own)
        error = (y.exact - own.mixed) / self.size[self.n] - self.ridge.mean  # of the current coefficients
        self.ridge.learn(fmin(fmax(error, -FARTHEST), FARTHEST), 1.0 / y.counts)
        last = self.size[self.n]
        for i in range(self.n, -1, -1):
            size = self.size[i]
            error = fmin(fabs(y.exact - self.number(p, own, i)), SPIKE * size)
            self.size[i] = fmin(fmax(size + rate * (error - size), LEAST_SIZE), LARGEST_SIZE)
            if i < self.n:
                self.ridge.inputs[i] = (self.size[i] / size) * (last / self.size[self.n])
        self.ridge.rescale_coefficients(self.ridge.inputs)

    cdef void update_derived(self) noexcept:
        weights_of_losses(self.loss, 1, self.voters, self.weight)

    cdef void explain_processes(self, const double *of_mixture, const double *of_stack, double *out) noexcept:
        """Write each process's coefficient in the vote's mean, given its coefficients in the mixture and the stack."""
        cdef Py_ssize_t e
        cdef double of_anchor = 1.0
        cdef double *own = self.ridge.h    # scratch
        for e in range(self.n):
            own[e] = self.size[self.n] * self.ridge.coef[e] / self.size[e]
            of_anchor -= own[e]
        for e in range(PROCESSES):
            out[e] = self.weight[0] * of_mixture[e] + self.weight[1] * (
                of_anchor * of_mixture[e] + own[self.n - 1] * of_stack[e] + own[e]
            )

    def _check(self):
        cdef Py_ssize_t i
        Table._check(self)
        assert abs(sum([self.weight[i] for i in range(self.voters)]) - 1.0) < 1e-9
