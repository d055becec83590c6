"""Predictions of samples whose labels have not come yet.

Each expert must be scored on the prediction that it made when the sample was asked.  Scored when a late label arrives,
the experts that forget fastest look best, because they have learned from neighbouring samples meanwhile.

A sample that is predicted and not learned before the next one is evaluated leaves its predictions here: a vector of
numbers, in single precision, under a hash of its content or of its key (``Keyed``).  ``Mixture.learn`` looks them up.
As long as each label follows its prediction, nothing is stored or allocated; if others wait, such a prediction is
dropped as soon as its label comes.

    ring          the predictions in the order in which they were made, at most ``max_samples``; the oldest is dropped
                  first.  Of long vectors (many classes) there are fewer: ``max_samples`` of BYTES each
    equal ones    the sample asked first is scored first; asked twice without a step in between, they are one
    taken         predictions stay after their label until a later step's are taken, or no sample waits: equal
                  samples of a mini-batch are one, and may need them again
    expired       a label that has not come after ``max_samples`` others is no longer expected
"""

from libc.math cimport fmax, fmin
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.store.buffers cimport viewed
from river_okl._core.store.ring cimport LEAST_ROOM

from river_okl._core.states import LARGEST_COUNT, checked_array, checked_flag

cdef Py_ssize_t BYTES = 4096            # maximum average size of a sample's predictions
cdef double LARGEST_NUMBER = 1e30       # its square fits in single precision, too

cdef uint64_t SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio

LARGEST_PENDING = 1_000_000
ARRAYS = "identities", "seen", "taken", "units", "predictions"  # of a state


cdef class Keyed:
    """A sample with a key from the user, by which its label is matched instead of by its content."""

    def __init__(self, sample, key):
        self.sample, self.key = sample, key


cdef class Pending(Ring):
    """Predictions, ``length`` numbers each, of at most ``max_samples`` samples."""

    def __init__(self, Py_ssize_t max_samples, Py_ssize_t length):
        self.max_samples, self.late = max_samples, True  # until the first label shows it
        self.begin(length)

    def __len__(self):
        return self.n

    cdef void begin(self, Py_ssize_t length) noexcept:
        """Drop all predictions, free their memory, and set the length of the next ones."""
        self.clear()
        self.waiting, self.length = 0, length
        self.item = max(sizeof(Asked), (4 * sizeof(double) + sizeof(bint) + length * sizeof(float) + 7) // 8 * 8)
        self.limit = min(self.max_samples, max(self.max_samples * BYTES // (4 * max(length, 1)), 1))

    # Adding and removing predictions ----------------------------------------------------------------------------------

    cdef int add(
        self, uint64_t identity, int64_t seen, const double *numbers, double mean, double deviation
    ) except -1:
        """Add the predictions of a sample."""
        cdef Py_ssize_t j
        cdef float *out
        (<Asked *> self.append())[0] = Asked(identity, seen, mean, deviation, False)
        out = self.predictions(self.n - 1)
        for j in range(self.length):
            out[j] = <float> fmin(fmax(numbers[j], -LARGEST_NUMBER), LARGEST_NUMBER)
        self.waiting += 1
        if 4 * (self.filled + 1) > 3 * self.slots:
            self.fill_table()
        else:
            self.enter(self.n - 1)
        return 0

    cdef Py_ssize_t find_asked(self, uint64_t identity, int64_t seen) noexcept:
        """Return the sample with this identity, asked after ``seen`` samples, if none was learned since; or -1."""
        cdef Py_ssize_t slot, i
        if self.n == 0:
            return -1
        slot = self.home(identity, seen)
        while self.table[slot] >= 0:
            i = (self.table[slot] - self.start + self.room) % self.room
            if i < self.n and self.asked(i).identity == identity and self.asked(i).seen == seen:
                return i
            slot = (slot + 1) & (self.slots - 1)
        return -1

    cdef Py_ssize_t home(self, uint64_t identity, int64_t seen) noexcept:
        """Return the first slot of a sample: equal samples of different steps have different ones."""
        return <Py_ssize_t> ((identity + <uint64_t> seen * SPREAD) >> 20 & <uint64_t> (self.slots - 1))

    cdef void enter(self, Py_ssize_t i) noexcept:
        """Enter record i into the table."""
        cdef Py_ssize_t slot = self.home(self.asked(i).identity, self.asked(i).seen)
        while self.table[slot] >= 0:
            slot = (slot + 1) & (self.slots - 1)
        self.table[slot] = <int32_t> ((self.start + i) % self.room)
        self.filled += 1

    cdef void fill_table(self) noexcept:
        """Enter all records into an empty table."""
        cdef Py_ssize_t i
        if self.slots:
            memset(self.table, 0xff, self.slots * sizeof(int32_t))
        self.filled = 0
        for i in range(self.n):
            self.enter(i)

    cdef int reserve(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t slots = 2
        while slots < 2 * room:
            slots *= 2
        if slots != self.slots:
            self.table = <int32_t *> self.resize(self.table, 0, slots, sizeof(int32_t))
            self.slots = slots
            self.fill_table()
        Ring.reserve(self, room)
        self.fill_table()
        return 0

    cdef Py_ssize_t find(self, uint64_t identity, int64_t before) noexcept:
        """Return the first unlabelled sample with this identity, asked before ``before`` were learned; or -1."""
        cdef Py_ssize_t i
        cdef const Asked *asked
        for i in range(self.n):
            asked = self.asked(i)
            if asked.seen >= before:
                break
            if asked.identity == identity and not asked.taken:
                return i
        return -1

    cdef Py_ssize_t find_taken(self, uint64_t identity) noexcept:
        """Return the last labelled sample with this identity; or -1."""
        cdef Py_ssize_t i
        for i in range(self.n - 1, -1, -1):
            if self.asked(i).identity == identity and self.asked(i).taken:
                return i
        return -1

    cdef void read(self, Py_ssize_t i, double *out) noexcept:
        """Copy the predictions of sample i."""
        cdef Py_ssize_t j
        cdef const float *numbers = self.predictions(i)
        for j in range(self.length):
            out[j] = numbers[j]

    cdef void drop(self, Py_ssize_t count) noexcept:
        cdef Py_ssize_t i
        for i in range(count):
            self.waiting -= not self.asked(i).taken
        Ring.drop(self, count)

    cdef void clear(self) noexcept:
        Ring.clear(self)
        self.release(self.table)
        self.table, self.slots, self.filled = NULL, 0, 0

    cdef void take(self, Py_ssize_t i) noexcept:
        """Mark sample i as labelled, and drop labelled samples of earlier steps."""
        cdef int64_t seen = self.asked(i).seen
        self.waiting -= not self.asked(i).taken
        self.asked(i).taken = True
        while self.n and self.asked(0).taken and (self.asked(0).seen < seen or self.waiting == 0):
            self.drop(1)

    cdef void drop_last(self) noexcept:
        """Drop the sample that was asked last."""
        self.waiting -= 1
        self.n -= 1

    cdef void expire(self, int64_t seen) noexcept:
        """Drop samples whose labels are no longer expected after ``seen`` steps."""
        while self.n and self.asked(0).seen < seen - self.max_samples:
            self.drop(1)
        if self.n == 0:
            self.clear()

    # New classes ------------------------------------------------------------------------------------------------------

    cdef Pending widened(self, Py_ssize_t rows, Py_ssize_t columns):
        """Return a copy with a column of zeros added to the first ``rows`` rows (of ``columns`` numbers) of vectors."""
        cdef Py_ssize_t i, r
        cdef const float *before
        cdef float *after
        cdef Pending wider = Pending(self.max_samples, self.length + rows)
        wider.late = self.late
        for i in range(self.n):
            (<Asked *> wider.append())[0] = self.asked(i)[0]
            wider.waiting += not self.asked(i).taken
            before, after = self.predictions(i), wider.predictions(wider.n - 1)
            for r in range(rows):
                memcpy(after + r * (columns + 1), before + r * columns, columns * sizeof(float))
                after[r * (columns + 1) + columns] = 0.0
            memcpy(
                after + rows * (columns + 1), before + rows * columns, (self.length - rows * columns) * sizeof(float)
            )
        wider.fill_table()
        return wider

    # State ------------------------------------------------------------------------------------------------------------

    def _check(self):
        """Assert the invariants."""
        cdef Py_ssize_t i
        Ring._check(self)
        seen = [self.asked(i).seen for i in range(self.n)]
        assert self.waiting == sum([not self.asked(i).taken for i in range(self.n)])
        assert seen == sorted(seen), "in the order in which they were asked"
        waiting = [(self.asked(i).identity, self.asked(i).seen) for i in range(self.n) if not self.asked(i).taken]
        assert len({*waiting}) == len(waiting), "no step has the same sample twice"
        for i in range(self.n):
            if not self.asked(i).taken:
                assert self.find_asked(self.asked(i).identity, self.asked(i).seen) == i, "the table has every sample"

    cdef object record(self):
        """Return the type of a record, for NumPy: ``Asked`` and the predictions."""
        head = [("identities", "i8"), ("seen", "i8"), ("units", "f8", (2,)), ("taken", "i4")]
        return np.dtype([*head, ("predictions", "f4", (self.length,))], align=True)

    def state(self):
        """Return the state by name, for ``restore``."""
        records = self.latest(self.record())
        found = {name: records[name].copy() for name in ARRAYS}
        return found | {"taken": found["taken"].astype(np.bool_), "late": bool(self.late)}

    def restore(self, dict state, int64_t seen):
        """Resume from a state, after checking every number; ``seen`` samples have been learned."""
        cdef Py_ssize_t n = len(state["identities"])
        if n > self.limit:
            raise ValueError(f"predictions of {n} samples, of which there are at most {self.limit}")
        checked_array(state, "identities", np.int64, n)
        checked_array(state, "seen", np.int64, n, 0, min(seen, LARGEST_COUNT))
        checked_array(state, "taken", np.bool_, n)
        checked_array(state, "units", np.float64, (n, 2), -1e100, 1e100)
        largest = LARGEST_NUMBER * 1.01
        checked_array(state, "predictions", np.float32, (n, self.length), -largest, largest)
        self.late = checked_flag("late", state["late"])
        self.begin(self.length)
        while self.room < n:
            self.reserve(min(self.limit, max(LEAST_ROOM, 2 * self.room)))
        self.n = n
        records = viewed(self.records, n, self.record())
        for name in ARRAYS:
            records[name] = state[name]
        self.waiting = n - np.count_nonzero(state["taken"])
        self.fill_table()
