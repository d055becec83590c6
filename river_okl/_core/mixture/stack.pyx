"""A stacked logistic regression on the predictions of all other experts: it learns what their weights cannot express.

Its coefficients are the mixture weights of the experts plus a correction with a covariance; a step is a Kalman filter
update.  For two classes the inputs are the log-odds of the experts, and the variance shrinks a prediction towards 1/2
as in MacKay's approximation.  For many classes p(c) ∝ Π_e p_e(c)^β_e, a softmax of their weighted log-probabilities.
"""

from libc.math cimport M_PI, fmax, fmin, log, sqrt
from libc.string cimport memset

from river_okl._core.calibration cimport sigmoid, softmax
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.simd cimport linalg
from river_okl._core.store.sample cimport LARGEST, Sample
from river_okl._core.store.table cimport Classes


LARGEST_VARIANCE = 1e6              # of a coefficient without influence: it grows by 1e-5 per sample
cdef double LEAST = 1e-3            # minimum probability of an expert; less probable classes add no curvature
cdef double LOG_LEAST = log(LEAST)


cdef class Stack(Expert):
    """The stacked regression, whose correction starts at 0.

    Parameters
    ----------
    experts
        All other experts, in the order of their predictions; an expert without any starts with the third class.
    judgement
        Their weights.
    """

    def __init__(self, tuple experts, Judgement judgement):
        cdef Py_ssize_t of_two = 1 + sum([expert.rows for expert in experts])
        self.name, self.rows, self.judgement = "stack", 1, judgement
        self.of_many = sum([max(1, expert.rows) for expert in experts])
        self.room = max(of_two, self.of_many)
        self.per_class = Classes(2)
        self.declare(
            <size_t> &self.coefficients, "coefficients", (self.room,), low=-LARGEST, high=LARGEST
        )
        self.declare(
            <size_t> &self.covariance, "covariance", (self.room, self.room), low=-LARGEST_VARIANCE,
            high=LARGEST_VARIANCE
        )
        self.scratch(<size_t> &self.log_chances, (self.per_class, self.room))
        self.log_odds, self.h = self.doubles(NULL, 0, self.room), self.doubles(NULL, 0, self.room)
        self.mean, self.off = self.doubles(NULL, 0, self.room), self.doubles(NULL, 0, self.room)
        self.restart(of_two)

    cdef void restart(self, Py_ssize_t n) noexcept:
        """Reset the correction to its prior, with n inputs."""
        cdef Py_ssize_t i
        self.n = n
        memset(self.coefficients, 0, self.room * 8)
        memset(self.covariance, 0, self.room * self.room * 8)
        for i in range(self.room):
            self.covariance[i * self.room + i] = 1.0

    cdef int add_class(self) except -1:
        """Add a class.  With the third, the stack restarts, as a function of log-probabilities instead of log-odds."""
        if self.per_class.n == 2:
            self.restart(self.of_many)
        return Expert.add_class(self)

    cdef int ask(self, const Sample *x, double *p) except -1:
        """Write the probabilities of every class after those of the other experts."""
        p -= self.first * self.per_class.n
        if self.per_class.n == 2:
            self.ask_two(p)
        else:
            self.ask_many(p)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t i, c = <Py_ssize_t> y.target
        cdef const double *own = y.p + self.first * self.per_class.n
        if self.per_class.n == 2:
            self.learn_two(c, y.counts, own[1])
        else:
            self.learn_many(c, y.counts, own)
        for i in range(self.n):
            self.covariance[i * self.room + i] += 1e-5  # so that learning never stops
        return False

    cdef void ask_two(self, double *p) noexcept:
        cdef double clipped, total = 0.0
        cdef const double *weight = self.judgement.weight
        cdef Py_ssize_t i, n = self.n, e = n - 1
        for i in range(e):
            clipped = fmin(fmax(p[2 * i + 1], LEAST), 1.0 - LEAST)
            self.log_odds[i] = log(clipped / (1.0 - clipped))
        self.log_odds[e] = 1.0
        linalg.symmetric_times(self.covariance, self.room, self.n, 1.0, self.log_odds, 0.0, self.h)
        for i in range(self.n):
            total += (self.coefficients[i] + (weight[i] if i < e else 0.0)) * self.log_odds[i]
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.h, self.log_odds, self.n)))
        p[2 * e + 1] = sigmoid(total)
        p[2 * e] = 1.0 - p[2 * e + 1]

    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept:
        """Learn class c; ``own`` is the predicted probability of class 1."""
        cdef double curvature = fmax(own * (1.0 - own), 0.01) * counts, gain
        cdef Py_ssize_t i
        gain = 1.0 / (1.0 / curvature + linalg.dot(self.h, self.log_odds, self.n))
        for i in range(self.n):
            self.coefficients[i] += self.h[i] * gain * (c - own) * counts / curvature
        linalg.rank_one(self.covariance, self.room, self.n, -gain, self.h)

    cdef void ask_many(self, double *p) noexcept:
        cdef Py_ssize_t i, o, m = self.n, n = self.per_class.n
        cdef double *own = p + m * n
        cdef double *of_class = self.log_chances
        cdef double *together = self.mean
        cdef const double *weight = self.judgement.weight
        cdef double total, log_chance, least = LEAST, log_least = LOG_LEAST
        for i in range(m):
            together[i] = self.coefficients[i] + weight[i]
        for o in range(n):
            total = 0.0
            for i in range(m):
                log_chance = log(p[i * n + o]) if p[i * n + o] > least else log_least  # of many classes, most
                of_class[i] = log_chance
                total += together[i] * log_chance
            own[o] = total
            of_class += self.room
        softmax(own, 1.0, n, own)

    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept:
        """Learn class c by a Newton step, which adds the curvature of one class after the other; ``own`` are
        the predicted probabilities."""
        cdef double *mean = self.mean
        cdef double *off = self.off
        cdef const double *of_class
        cdef Py_ssize_t i, o, n = self.n
        memset(mean, 0, n * 8)
        for o in range(self.per_class.n):
            of_class = self.log_chances + o * self.room
            for i in range(n):
                mean[i] += own[o] * of_class[i]
        for o in range(self.per_class.n):
            if own[o] < LEAST:
                continue
            of_class = self.log_chances + o * self.room
            for i in range(n):
                off[i] = of_class[i] - mean[i]
            linalg.symmetric_times(self.covariance, self.room, n, 1.0, off, 0.0, self.h)
            linalg.rank_one(
                self.covariance, self.room, n,
                -1.0 / (1.0 / (own[o] * counts) + fmax(0.0, linalg.dot(self.h, off, n))), self.h
            )
        of_class = self.log_chances + c * self.room
        for i in range(n):
            off[i] = counts * (of_class[i] - mean[i])
        linalg.symmetric_times(self.covariance, self.room, n, 1.0, off, 1.0, self.coefficients)

    def names(self):
        return ["stack"]
