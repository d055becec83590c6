"""What judges the predictions of experts: their weights, and for a target the combiner and the vote.

The weights follow the likelihood of the labels, by the dynamic model averaging of Raftery et al. (2010):

    log w_e ← DISCOUNT log w_e + log p_e(y | x)

A mixture has two judgements.  ``today`` is scored on the predictions that the model makes when the label comes.
Once labels come late, ``then`` is scored on the predictions that were made when the sample was asked.
"""

from libc.math cimport log

from river_okl._core.calibration cimport weights_of_logs
from river_okl._core.mixture.expert cimport NEWCOMER


cdef class Judgement(Expert):
    """The weights of the first predictions of a mixture: an expert without predictions of its own."""

    def __init__(self, Axis predictions):
        self.per_prediction = predictions
        self.declare(<size_t> &self.log_weight, "log_weights", (predictions,), high=0.0)
        self.derive(<size_t> &self.weight, (predictions,))

    cdef void update_derived(self) noexcept:
        weights_of_logs(self.log_weight, self.per_prediction.n, self.weight)

    cdef void moved(self, Py_ssize_t to, Py_ssize_t of) noexcept:
        """Restart the weight of prediction ``to``, whose kernel was replaced, below the weight of ``of``."""
        self.log_weight[to] = self.log_weight[of] - NEWCOMER


cdef class TargetJudgement(Judgement):
    """The weights of the processes, the combiner, and the vote.

    Parameters
    ----------
    predictions
        The axis of the processes.
    combiner, vote
        What combines the processes with regressions, and what corrects the result and weights it with other experts.
    """

    def __init__(self, Axis predictions, Combiner combiner, Vote vote):
        Judgement.__init__(self, predictions)
        self.processes, self.linear = combiner.processes, combiner.linear
        self.combiner, self.vote = self.contain("combiner", combiner), self.contain("vote", vote)
        self.declare(<size_t> &self.residual, "residuals", (PROCESSES,), default=1.0, low=1e-4)

    cdef void judge(self, const double *p, Judged *out, double *variance) noexcept:
        """Write the means, and the variance of the combiner's mean, from the predictions of all experts."""
        out.stack = self.combiner.ask_stack(p)
        self.processes.predict(self.weight, self.residual, &out.of_processes, variance)
        out.mixed = out.of_processes
        self.combiner.mix(p[self.linear.first], &out.mixed, variance)
        out.correction = self.vote.correct(p, out)
        out.voted = self.vote.mean(p, out)

    cdef void score(
        self, const Outcome *y, const double *p, const Judged *own, const double *variances, double evidence,
        double least_rate
    ) noexcept:
        """Score predictions, and what they were judged to be, on a target."""
        cdef Py_ssize_t e
        cdef double[ESTIMATES] estimates = [own.of_processes, p[self.linear.first], own.stack]
        cdef double[PROCESSES] density
        self.processes.score(y.target, p, variances, self.residual, density, least_rate)
        self.vote.score(y, p, own, least_rate)
        self.combiner.score(y, p, estimates, least_rate)
        for e in range(PROCESSES):
            self.take(e, evidence * y.counts * log(density[e]), y.discount)

    cdef void rescale(self, double ratio, double shift) noexcept:
        self.combiner.rescale(ratio, shift)

    cdef void moved(self, Py_ssize_t to, Py_ssize_t of) noexcept:
        Judgement.moved(self, to, of)
        self.residual[to] = self.residual[of]

    # Explanations and state -------------------------------------------------------------------------------------------

    cdef void count(self, double *out) noexcept:
        """Write the coefficient of each process in the vote's mean."""
        cdef double[PROCESSES] of_mixture
        self.combiner.count(self.weight, of_mixture)
        self.vote.explain_processes(of_mixture, self.combiner.stack.coef, out)

    cdef list shares(self):
        """Return the weight of every estimate in the vote's mean: processes, linear regression, stack and voters."""
        cdef Py_ssize_t e
        cdef double mixed = self.vote.weight[0]
        return [
            *[mixed * self.combiner.weight[0] * self.weight[e] for e in range(PROCESSES)],
            *[mixed * self.combiner.weight[e] for e in (1, 2)],
            *[self.vote.weight[e] for e in range(1, self.vote.voters)],
        ]
