"""What a mixture said of samples whose labels have not come yet.

An expert is judged by what it said when it was asked.  If labels come late, that is not what it would say on the day of
the label: by then it has learned the neighbours of the sample, and the experts that forget fastest look best.

So a sample that is predicted and not learned before the next one is evaluated leaves its opinions here: a vector of
numbers, in single precision, under a hash of its content, or of its key (``Keyed``).  ``Mixture.learn`` looks them up.
Nothing is stored, and nothing is allocated, as long as each label follows its prediction.

    ring          the opinions in the order in which they were asked for, at most ``most``, the oldest dropped first; of
                  long vectors (many classes) fewer: ``most`` of BYTES each
    equal ones    the first asked is the first judged; asked twice without a step in between they are one
    taken         opinions stay after their label until those of a later step are taken, or nobody waits: equal samples
                  of a mini-batch are one, and may need them
    expired       a label that has not come after ``most`` others is not expected any more
"""

from libc.math cimport fmax, fmin
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from river_okl._core.store.ring cimport Ring

from river_okl._core.states import LARGEST_COUNT, checked_array, checked_flag

cdef Py_ssize_t BYTES = 4096            # of a sample's opinions, on average, if there are as many as allowed
cdef double LARGEST_OPINION = 1e30      # its square fits in single precision, too

LARGEST_PENDING = 1_000_000


def without_opinions(state):
    """A state of ``Pending`` without what was said, for mixtures that did not say it."""
    return {name: True if name == "late" else part[:0] for name, part in state.items()}


cdef class Keyed:
    """A sample under a key of the user's: its label is recognised by that instead of the content."""

    def __init__(self, sample, key):
        self.sample, self.key = sample, key


cdef class Pending(Ring):
    """Opinions of ``length`` numbers of at most ``most`` samples."""

    def __init__(self, Py_ssize_t most, Py_ssize_t length):
        self.most, self.late = most, True  # until the first label shows it
        self.begin(length)

    def __len__(self):
        return self.n

    cdef void begin(self, Py_ssize_t length) noexcept:
        """Drop all, and their room; from now on opinions have this length."""
        self.clear()
        self.waiting, self.length = 0, length
        self.item = max(sizeof(Asked), (4 * sizeof(double) + sizeof(bint) + length * sizeof(float) + 7) // 8 * 8)
        self.limit = min(self.most, max(self.most * BYTES // (4 * max(length, 1)), 1))

    # Opinions come and go ---------------------------------------------------------------------------------------------

    cdef int add(
        self, uint64_t identity, int64_t seen, const double *numbers, double mean, double deviation
    ) except -1:
        """The opinions of one more sample."""
        cdef Py_ssize_t j
        cdef float *out
        (<Asked *> self.append())[0] = Asked(identity, seen, mean, deviation, False)
        out = self.opinions(self.n - 1)
        for j in range(self.length):
            out[j] = <float> fmin(fmax(numbers[j], -LARGEST_OPINION), LARGEST_OPINION)
        self.waiting += 1
        return 0

    cdef Py_ssize_t find_asked(self, uint64_t identity, int64_t seen) noexcept:
        """The sample of this content asked after so many were learned, if those are the last, or -1."""
        cdef Py_ssize_t i = self.n - 1
        while i >= 0 and self.asked(i).seen == seen:
            if self.asked(i).identity == identity:
                return i
            i -= 1
        return -1

    cdef Py_ssize_t find(self, uint64_t identity, int64_t before) noexcept:
        """The first sample of this content whose label has not come, asked before this many were learned, or -1."""
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
        """The last sample of this content, whose label has come, or -1."""
        cdef Py_ssize_t i
        for i in range(self.n - 1, -1, -1):
            if self.asked(i).identity == identity and self.asked(i).taken:
                return i
        return -1

    cdef void read(self, Py_ssize_t i, double *out) noexcept:
        """The opinions of sample i."""
        cdef Py_ssize_t j
        cdef const float *numbers = self.opinions(i)
        for j in range(self.length):
            out[j] = numbers[j]

    cdef void drop(self, Py_ssize_t count) noexcept:
        cdef Py_ssize_t i
        for i in range(count):
            self.waiting -= not self.asked(i).taken
        Ring.drop(self, count)

    cdef void take(self, Py_ssize_t i) noexcept:
        """The label of sample i has come; those before it that are of older steps and have theirs are not needed."""
        cdef int64_t seen = self.asked(i).seen
        self.waiting -= not self.asked(i).taken
        self.asked(i).taken = True
        while self.n and self.asked(0).taken and (self.asked(0).seen < seen or self.waiting == 0):
            self.drop(1)

    cdef void expire(self, int64_t seen) noexcept:
        """After so many steps some labels are not expected any more."""
        while self.n and self.asked(0).seen < seen - self.most:
            self.drop(1)
        if self.n == 0:
            self.clear()

    # Classes come -----------------------------------------------------------------------------------------------------

    cdef Pending widened(self, Py_ssize_t rows, Py_ssize_t columns):
        """The same with a zero column more in the first ``rows`` rows, of ``columns``, of each vector."""
        cdef Py_ssize_t i, r
        cdef const float *before
        cdef float *after
        cdef Pending wider = Pending(self.most, self.length + rows)
        wider.late = self.late
        for i in range(self.n):
            (<Asked *> wider.append())[0] = self.asked(i)[0]
            wider.waiting += not self.asked(i).taken
            before, after = self.opinions(i), wider.opinions(wider.n - 1)
            for r in range(rows):
                memcpy(after + r * (columns + 1), before + r * columns, columns * sizeof(float))
                after[r * (columns + 1) + columns] = 0.0
            memcpy(
                after + rows * (columns + 1), before + rows * columns, (self.length - rows * columns) * sizeof(float)
            )
        return wider

    # What is saved ----------------------------------------------------------------------------------------------------

    def _check(self):
        """Assert the invariants."""
        cdef Py_ssize_t i
        Ring._check(self)
        seen = [self.asked(i).seen for i in range(self.n)]
        assert self.waiting == sum([not self.asked(i).taken for i in range(self.n)])
        assert seen == sorted(seen), "in the order in which they were asked"
        waiting = [(self.asked(i).identity, self.asked(i).seen) for i in range(self.n) if not self.asked(i).taken]
        assert len({*waiting}) == len(waiting), "no step has the same opinion twice"

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, j, n = self.n, length = self.length
        said = np.empty((n, length), dtype=np.float32)
        units = np.empty((n, 2))
        cdef float[:, ::1] view = said
        for i in range(n):
            units[i] = self.asked(i).mean, self.asked(i).deviation
            for j in range(length):
                view[i, j] = self.opinions(i)[j]
        return {
            "identities": np.array([self.asked(i).identity for i in range(n)], dtype=np.uint64).view(np.int64),
            "seen": np.array([self.asked(i).seen for i in range(n)], dtype=np.int64),
            "taken": np.array([self.asked(i).taken for i in range(n)], dtype=np.bool_),
            "units": units,
            "said": said,
            "late": bool(self.late),
        }

    def restore(self, dict state, int64_t seen):
        """Resume from a state, after checking every number; ``seen`` samples have been learned."""
        cdef Py_ssize_t i, j, n = len(state["identities"])
        if n > self.limit:
            raise ValueError(f"opinions of {n} samples, of which there are at most {self.limit}")
        identities = checked_array(state, "identities", np.int64, n)
        when = checked_array(state, "seen", np.int64, n, 0, min(seen, LARGEST_COUNT))
        taken = checked_array(state, "taken", np.bool_, n)
        units = checked_array(state, "units", np.float64, (n, 2), -1e100, 1e100)
        largest = LARGEST_OPINION * 1.01
        said = checked_array(state, "said", np.float32, (n, self.length), -largest, largest)
        self.late = checked_flag("late", state["late"])
        self.begin(self.length)
        cdef const float[:, ::1] view = np.ascontiguousarray(said)
        for i in range(n):
            (<Asked *> self.append())[0] = Asked(
                <uint64_t> <int64_t> identities[i], when[i], units[i, 0], units[i, 1], taken[i]
            )
            for j in range(self.length):
                self.opinions(i)[j] = view[i, j]
            self.waiting += not taken[i]
