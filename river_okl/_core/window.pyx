"""How rare a number is among the latest ones of its kind.

The level of a value is -log(1 - p), where p is the share of the numbers that are smaller, equal ones counting half.
From ``RANKED`` numbers on it has an exponential tail, so that levels go on where numbers end: beyond the smallest
number of the tail, u, it is the level of u plus (value - u) / mean excess over u, and beyond ``EXPONENTIAL`` mean
excesses it grows with the logarithm.

It is at most ``SLACK`` above that of an exponential tail through the median and the ninth decile.  If high numbers
are never learned, as in River's filters, the window ends ever earlier, but these two quantiles hardly move.
"""

cimport cython
from libc.math cimport fmin, log, log1p
from libc.string cimport memmove

import numpy as np

from river_okl._core.states import checked_numbers

cdef Py_ssize_t LEAST_TAIL = 10
cdef double EXPONENTIAL = 5.0       # mean excesses
cdef double SLACK = 0.5             # of a level


@cython.final
cdef class Window(Owner):
    """The latest numbers.

    Parameters
    ----------
    most
        How many there are at most.
    share
        Of the numbers, which is the tail.
    """

    def __init__(self, Py_ssize_t most, double share):
        self.most, self.share = most, share

    cdef int grow(self) except -1:
        """Room for one more."""
        cdef Py_ssize_t i, room
        cdef double *latest
        if self.n < self.room or self.room == self.most:
            return 0
        room = min(max(16, 2 * self.room), self.most)
        latest = self.doubles(NULL, 0, room)
        self.ordered = self.doubles(self.ordered, self.n, room)
        for i in range(self.n):
            latest[i] = self.latest[(self.start + i) % self.room]
        self.release(self.latest)
        self.latest, self.room, self.start = latest, room, 0
        return 0

    cdef Py_ssize_t below(self, double value, bint equal) noexcept nogil:
        """How many are smaller, or with ``equal`` at most as large."""
        cdef Py_ssize_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) // 2
            if self.ordered[middle] < value or (equal and self.ordered[middle] == value):
                low = middle + 1
            else:
                high = middle
        return low

    cpdef double level(self, double value) noexcept nogil:
        """-log of the share of numbers above a value; in the tail by an exponential distribution."""
        cdef Py_ssize_t i, n = self.n, tail = <Py_ssize_t> (self.share * n)
        cdef double total = 0.0, level, low, high
        if n == 0:
            return 0.0
        level = -log(1.0 - 0.5 * (self.below(value, False) + self.below(value, True) + 1.0) / (n + 1.0))
        if n < RANKED:
            return level
        low, high = self.ordered[n // 2], self.ordered[9 * n // 10]
        if value <= high or high == low:
            return level
        tail = self.below(self.ordered[n - max(LEAST_TAIL, tail)], True)
        if tail < n and value > self.ordered[tail - 1]:
            for i in range(tail, n):
                total += self.ordered[i] - self.ordered[tail - 1]
            level = log((n + 1.0) / (n - tail + 1.0)) + bounded((value - self.ordered[tail - 1]) * (n - tail) / total)
        return fmin(level, log(10.0) + SLACK + (value - high) / (high - low) * log(5.0))

    cdef int add(self, double value) except -1:
        """Remember a number; if there is no room for more, the oldest one goes."""
        cdef Py_ssize_t i
        self.grow()
        if self.n == self.room:
            self.forget()
        i = self.below(value, True)
        memmove(self.ordered + i + 1, self.ordered + i, (self.n - i) * 8)
        self.ordered[i] = value
        self.latest[(self.start + self.n) % self.room] = value
        self.n += 1
        return 0

    cdef void forget(self) noexcept nogil:
        """The oldest number goes."""
        cdef Py_ssize_t i = self.below(self.latest[self.start], False)
        self.n -= 1
        memmove(self.ordered + i, self.ordered + i + 1, (self.n - i) * 8)
        self.start = (self.start + 1) % self.room

    def state(self):
        """The numbers in the order of arrival."""
        cdef Py_ssize_t i
        return np.array([self.latest[(self.start + i) % self.room] for i in range(self.n)], dtype=np.float64)

    def restore(self, numbers):
        """Resume from a state, after checking every number."""
        cdef double value
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.size > self.most:
            raise ValueError("the latest scores do not match")
        for value in checked_numbers("the latest scores", numbers, numbers.shape):
            self.add(value)

    def _check(self):
        cdef Py_ssize_t i
        assert self.n <= self.room <= self.most
        assert np.array_equal(np.sort(self.state()), [self.ordered[i] for i in range(self.n)])


cdef inline double bounded(double excess) noexcept nogil:
    """How much a level rises over that of the start of a tail."""
    return excess if excess <= EXPONENTIAL else EXPONENTIAL + log1p(excess - EXPONENTIAL)
