from river_okl._core.mixture.combiner cimport ESTIMATES, Combiner
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.processes cimport PROCESSES, Processes
from river_okl._core.mixture.regression cimport Regression
from river_okl._core.mixture.vote cimport Judged, Vote
from river_okl._core.store.table cimport Axis


cdef class Judgement(Expert):
    cdef Axis per_prediction        # the first predictions, which have weights
    cdef double *log_weight         # [prediction]
    cdef double *weight
    cdef double *residual           # [PROCESSES] running ratio of squared residual to predicted variance; NULL: classes

    cdef inline void take(self, Py_ssize_t e, double evidence, double discount) noexcept:
        """Add evidence for a prediction, after discounting what is known of it."""
        self.log_weight[e] = discount * self.log_weight[e] + evidence

    cdef void moved(self, Py_ssize_t to, Py_ssize_t of) noexcept


cdef class TargetJudgement(Judgement):
    cdef Processes processes
    cdef Regression linear
    cdef readonly Combiner combiner
    cdef readonly Vote vote

    cdef void judge(self, const double *p, Judged *out, double *variance) noexcept
    cdef void score(
        self, const Outcome *y, const double *p, const Judged *own, const double *variances, double evidence,
        double least_rate
    ) noexcept
    cdef void count(self, double *out) noexcept
    cdef list shares(self)
