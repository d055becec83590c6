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
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Classes


CORRECTION = 1.0, 1e-5              # prior variance of a coefficient, and its growth per sample
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
        self.per_class = Classes(2)
        self.ridge = self.contain("ridge", Ridge(of_two, *CORRECTION))
        self.scratch(<size_t> &self.log_chances, (self.per_class, self.of_many))
        self.mean, self.off = self.doubles(NULL, 0, self.of_many), self.doubles(NULL, 0, self.of_many)

    cdef int add_class(self) except -1:
        """Add a class.  With the third, the stack restarts, as a function of log-probabilities instead of log-odds."""
        if self.per_class.n == 2:
            self.ridge.begin(self.of_many)
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
        cdef Py_ssize_t c = <Py_ssize_t> y.target
        cdef const double *own = y.p + self.first * self.per_class.n
        if self.per_class.n == 2:
            self.learn_two(c, y.counts, own[1])
        else:
            self.learn_many(c, y.counts, own)
        return False

    cdef void ask_two(self, double *p) noexcept:
        cdef double clipped, total
        cdef const double *weight = self.judgement.weight
        cdef double *log_odds = self.ridge.inputs
        cdef Py_ssize_t i, e = self.ridge.per_input.n - 1
        for i in range(e):
            clipped = fmin(fmax(p[2 * i + 1], LEAST), 1.0 - LEAST)
            log_odds[i] = log(clipped / (1.0 - clipped))
        log_odds[e] = 1.0
        self.ridge.ask()
        total = self.ridge.mean + linalg.dot(weight, log_odds, e)
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.ridge.h, log_odds, e + 1)))
        p[2 * e + 1] = sigmoid(total)
        p[2 * e] = 1.0 - p[2 * e + 1]

    cdef void learn_two(self, Py_ssize_t c, double counts, double own) noexcept:
        """Learn class c; ``own`` is the predicted probability of class 1."""
        cdef double curvature = fmax(own * (1.0 - own), 0.01) * counts
        self.ridge.learn((c - own) * counts / curvature, 1.0 / curvature)

    cdef void ask_many(self, double *p) noexcept:
        cdef Py_ssize_t i, o, m = self.of_many, n = self.per_class.n
        cdef double *own = p + m * n
        cdef double *of_class = self.log_chances
        cdef double *together = self.mean
        cdef const double *weight = self.judgement.weight
        cdef double total, log_chance, least = LEAST, log_least = LOG_LEAST
        for i in range(m):
            together[i] = self.ridge.coef[i] + weight[i]
        for o in range(n):
            total = 0.0
            for i in range(m):
                log_chance = log(p[i * n + o]) if p[i * n + o] > least else log_least  # of many classes, most
                of_class[i] = log_chance
                total += together[i] * log_chance
            own[o] = total
            of_class += m
        softmax(own, 1.0, n, own)

    cdef void learn_many(self, Py_ssize_t c, double counts, const double *own) noexcept:
        """Learn class c by a Newton step, which adds the curvature of one class after the other; ``own`` are
        the predicted probabilities."""
        cdef double *mean = self.mean
        cdef double *off = self.off
        cdef const double *of_class
        cdef Py_ssize_t i, o, n = self.of_many
        cdef Ridge ridge = self.ridge
        memset(mean, 0, n * 8)
        for o in range(self.per_class.n):
            of_class = self.log_chances + o * n
            for i in range(n):
                mean[i] += own[o] * of_class[i]
        for o in range(self.per_class.n):
            if own[o] < LEAST:
                continue
            of_class = self.log_chances + o * n
            for i in range(n):
                off[i] = of_class[i] - mean[i]
            ridge.covariance.times(1.0, off, ridge.h)
            ridge.absorb(off, 1.0 / (own[o] * counts))
        of_class = self.log_chances + c * n
        for i in range(n):
            off[i] = counts * (of_class[i] - mean[i])
        ridge.covariance.times(1.0, off, ridge.h)
        for i in range(n):
            ridge.coef[i] += ridge.h[i]
        ridge.let_drift()

    def names(self):
        return ["stack"]
