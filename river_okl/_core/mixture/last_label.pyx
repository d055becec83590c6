"""Labels that stay: the probability that a sample has the class of the one learned before it.

    P(c | l) = ρ_l if c = l, else (1 - ρ_l) f_c / (1 - f_l)

after a sample of class l.  ρ_l is the share of samples after one of class l that have class l again, and f are the
frequencies of the classes.  If labels come late, l is that of the last one known: the weights of the mixture show what
this is worth.
"""

from libc.math cimport fmin

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Classes

cdef double LARGEST = 1e5       # count, which is at most MEMORY times the largest weight
cdef double MEMORY = 1000.0     # samples
cdef double PRIOR = 1.0         # sample, with the frequency of its class


cdef class LastLabel(Expert):
    """One prediction."""

    def __init__(self):
        self.name, self.rows = "last_label", 1
        self.per_class = Classes(2)
        self.declare(<size_t> &self.last, "last", (), dtype="i4", default=-1, low=-1, high=2**20)
        self.declare(<size_t> &self.counts, "counts", (self.per_class,), low=0.0, high=LARGEST)
        self.declare(<size_t> &self.followed, "followed", (self.per_class,), low=0.0, high=MEMORY)
        self.declare(<size_t> &self.stays, "stays", (self.per_class,), low=0.0, high=1.0)

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t o, n = self.per_class.n
        cdef double total = 0.0, own, others
        for o in range(n):
            total += self.counts[o] + 0.5
        for o in range(n):
            p[o] = (self.counts[o] + 0.5) / total
        if self.last < 0:
            return 0
        own = p[self.last]
        own = (self.followed[self.last] * self.stays[self.last] + PRIOR * own) / (self.followed[self.last] + PRIOR)
        others = (1.0 - own) / (1.0 - p[self.last])
        for o in range(n):
            p[o] *= others
        p[self.last] = own
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t o, c = <Py_ssize_t> y.target
        cdef double share
        if self.last >= 0 and y.counts > 0.0:
            self.followed[self.last] = fmin(self.followed[self.last] + y.counts, MEMORY)
            share = fmin(y.counts / self.followed[self.last], 1.0)
            self.stays[self.last] += share * ((c == self.last) - self.stays[self.last])
        for o in range(self.per_class.n):
            self.counts[o] *= 1.0 - 1.0 / MEMORY
        self.counts[c] += y.counts
        self.last = <int32_t> c
        return False

    def forget_last(self):
        """The next sample will not follow the last one."""
        self.last = -1

    def names(self):
        return ["last label"]

    def restore(self, dict state):
        Expert.restore(self, state)
        if self.last >= self.per_class.n:
            raise ValueError(f"the last label is class {self.last} of {self.per_class.n}")
