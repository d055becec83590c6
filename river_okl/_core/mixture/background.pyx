"""Samples that predictions are compared with by ``contributions_one``: as they came, not scaled.

The memory has scaled values, of which some are in units of another time.  So one in ``step`` samples is kept here, too:
at most ROWS, evenly from the latest ``span``.  If there are too many before they span that long, every second one is
dropped, and the step doubles.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport LARGEST, LARGEST_COUNT, is_word

cdef enum:
    ROWS = 128
    CELLS = 65536               # values of all rows, beyond which there are fewer rows
    FEWEST = 8

cdef double GAP = -2.0 * LARGEST, ABSENT = -4.0 * LARGEST


cdef Py_ssize_t most_rows(Py_ssize_t features) noexcept:
    """Return the maximum number of rows of so many features."""
    return max(FEWEST, min(ROWS, CELLS // max(1, features)))


cdef class Background(Expert):
    """Rows of raw samples.

    Parameters
    ----------
    scaler
        The features.
    span
        Number of latest samples of which the rows are a part.
    """

    def __init__(self, Scaler scaler, Py_ssize_t span):
        self.name, self.scaler, self.span = "background", scaler, max(span, ROWS)
        self.row = Axis("background row", 0)
        self.declare(
            <size_t> &self.values, "values", (scaler, self.row), default=ABSENT, low=ABSENT, high=LARGEST
        )
        self.declare(<size_t> &self.added, "added", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.step, "step", (), dtype="i8", default=1, low=1, high=2 * LARGEST_COUNT)
        self.declare(<size_t> &self.start, "start", (), dtype="i8", low=0, high=ROWS - 1)

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t most = most_rows(self.scaler.n)
        self.added += 1
        while self.row.n > most or (self.row.n == most and self.step * most < self.span):
            self.thin()
        if (self.added - 1) % self.step:
            return False
        if self.row.n == most:
            self.write(x, self.start)
            self.start = (self.start + 1) % most
            return False
        if self.row.n == self.row.room:
            self.grow(self.row, min(max(FEWEST, 2 * self.row.room), ROWS))
        self.row.n += 1
        self.write(x, self.row.n - 1)
        return False

    cdef int thin(self) except -1:
        """Drop every second row, beginning with the second oldest; the oldest becomes the first.  Rows become rarer,
        too, unless as many as there may be already span long enough."""
        cdef int32_t[ROWS] kept
        cdef Py_ssize_t i, n = 0
        for i in range(0, self.row.n, 2):
            kept[n] = <int32_t> ((self.start + i) % self.row.n)
            n += 1
        self.take_items(self.row, kept, n)
        self.shrink(self.row, n)
        self.start = 0
        if self.step * most_rows(self.scaler.n) < self.span:
            self.step *= 2
        return 0

    cdef void write(self, const Sample *x, Py_ssize_t row) noexcept:
        """Write the values of the last sample, without those of centred features that it lacks."""
        cdef Py_ssize_t i, room = self.row.room
        cdef double value
        for i in range(self.scaler.n):
            self.values[i * room + row] = ABSENT
        for i in range(x.size):
            if x.places[i] >= 0 and self.scaler.marks[x.places[i]] == self.scaler.stamp:
                value = x.numbers[i]
                self.values[x.places[i] * room + row] = value if isfinite(value) else 1.0 if value > 0.0 else GAP

    def __len__(self):
        return self.row.n

    def sample(self, Py_ssize_t row):
        """Return a row as a sample; a string that was not yet a feature is absent."""
        cdef double value
        numbers, words = {}, {}
        for key, place in self.scaler.index.items():
            value = self.values[<Py_ssize_t> place * self.row.room + row]
            if value == ABSENT:
                continue
            if is_word(key):
                words[key[1]] = key[2]
            else:
                numbers[key] = None if value == GAP else value
        return numbers | words

    def restore(self, dict state):
        self.row.n = state["values"].shape[1]
        if self.row.n > ROWS or state["start"] >= max(1, self.row.n):
            raise ValueError(f"{self.row.n} background samples, the oldest of which is {state['start']}")
        self.grow(self.row, self.row.n)
        Expert.restore(self, state)
        low = state["values"][state["values"] < -LARGEST]
        if ((low != GAP) & (low != ABSENT)).any():
            raise ValueError("a value of a background sample is out of range")

    def _check(self):
        Expert._check(self)
        assert self.row.n <= ROWS and 0 <= self.start < max(1, self.row.n)
