"""How rare a number is among the latest numbers of a stream.

The level of a value is -log(1 - p), where p is the share of the numbers that are smaller, equal ones counting half.

From ``RANKED`` numbers on the window has an exponential tail, so that levels keep growing beyond the largest
number: above u, the smallest number of the tail, the level is that of u plus (value - u) / mean excess over
u.  Beyond ``EXPONENTIAL`` mean excesses it grows with the logarithm.

The level is at most ``SLACK`` above that of an exponential tail through the median and the ninth decile.  If high
numbers are never learned, as in River's filters, the largest number keeps falling, but these two quantiles hardly move.
"""

cimport cython
from libc.math cimport fmin, log, log1p
from libc.string cimport memmove

import numpy as np

from river_okl._core.states import checked_numbers

cdef Py_ssize_t LEAST_TAIL = 10
cdef double EXPONENTIAL = 5.0       # mean excesses
cdef double SLACK = 0.5             # in units of the level


@cython.final
cdef class Window(Ring):
    """A ring of the latest numbers.

    Parameters
    ----------
    limit
        Maximum number of stored numbers.
    share
        Fraction of the numbers that forms the tail.
    """

    def __init__(self, Py_ssize_t limit, double share):
        Ring.__init__(self, limit, sizeof(double))
        self.share = share

    cdef int reserve(self, Py_ssize_t room) except -1:
        self.ordered = self.doubles(self.ordered, self.n, room)
        return Ring.reserve(self, room)

    cdef Py_ssize_t below(self, double value, bint equal) noexcept nogil:
        """Return how many numbers are smaller than ``value``, or with ``equal`` not larger."""
        cdef Py_ssize_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) // 2
            if self.ordered[middle] < value or (equal and self.ordered[middle] == value):
                low = middle + 1
            else:
                high = middle
        return low

    cpdef double level(self, double value) noexcept nogil:
        """Return -log of the share of numbers above a value, by an exponential distribution in the tail."""
        cdef Py_ssize_t i, n = self.n, tail = <Py_ssize_t> (self.share * n)
        cdef double total = 0.0, level, low, high, excess
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
            excess = (value - self.ordered[tail - 1]) * (n - tail) / total
            level = log((n + 1.0) / (n - tail + 1.0)) + tail_level(excess)
        return fmin(level, log(10.0) + SLACK + (value - high) / (high - low) * log(5.0))

    cdef int add(self, double value) except -1:
        """Append a number; drop the oldest one if the window is full."""
        cdef Py_ssize_t i
        cdef double *new
        if self.n == self.limit:
            self.drop(1)
        i = self.below(value, True)
        new = <double *> self.append()
        memmove(self.ordered + i + 1, self.ordered + i, (self.n - 1 - i) * 8)
        self.ordered[i] = new[0] = value
        return 0

    cdef void drop(self, Py_ssize_t count) noexcept:
        cdef Py_ssize_t i
        while count > 0:
            i = self.below((<double *> self.at(0))[0], False)
            Ring.drop(self, 1)
            memmove(self.ordered + i, self.ordered + i + 1, (self.n - i) * 8)
            count -= 1

    def state(self):
        """Return the numbers in the order of arrival."""
        return self.latest(np.dtype(np.float64))

    def restore(self, numbers):
        """Resume from a state, after checking every number."""
        cdef double value
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.size > self.limit:
            raise ValueError("the latest scores do not match")
        for value in checked_numbers("the latest scores", numbers, numbers.shape):
            self.add(value)

    def _check(self):
        cdef Py_ssize_t i
        Ring._check(self)
        assert np.array_equal(np.sort(self.state()), [self.ordered[i] for i in range(self.n)])


cdef inline double tail_level(double excess) noexcept nogil:
    """Return the level of this excess over that of the start of the tail."""
    return excess if excess <= EXPONENTIAL else EXPONENTIAL + log1p(excess - EXPONENTIAL)
