"""The latest samples of a stream: a ring of rows with bounded columns.

A column is a feature or a string.  The first COLUMNS known features have columns of their own; others are hashed, with
a sign, into BUCKETS more.  A row has three numbers for each column:

    values      the scaled value, not clipped; 0 if the sample lacks the feature
    codes       the bin of the value, between edges that are quantiles of the rows: for trees, which therefore do not
                mind heavy tails
    near        the value in steps of 1 / STEPS, clipped: for distances

A gap has the code 0, and the mean in distances.  In a feature that has had no gap before, it counts as the mean
everywhere.  Values and edges are converted with the units of features, so that codes stay as they are.
"""

from libc.stdlib cimport qsort
from libc.string cimport memset

import numpy as np

from river_okl._core.loops cimport (
    GAP, GROUP, LARGEST_CELL, SCANNED, byte_of, convert_values, saturated, write_bytes
)
from river_okl._core.splitmix cimport scrambled

from river_okl._core.states import LARGEST_COUNT, checked_array

cdef enum:
    BUCKETS = 32                # of hashed features
    SORTED = 1024               # rows from which the edges of a column are drawn

cdef float below_all = -2.0**126    # a threshold between gaps and all values
cdef float largest_single = 2.0**100    # of thresholds, sums and values of leaves


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef float one = (<const float *> a)[0], other = (<const float *> b)[0]
    return (one > other) - (one < other)


cdef inline bint is_gap(const Sample *x, Py_ssize_t j) noexcept:
    """Whether the value of an item of a sample is missing."""
    return x.numbers[j] != x.numbers[j]


cdef class Latest(Table):
    """The rows of a mixture's memory.

    Parameters
    ----------
    scaler
        The features.
    row
        The axis of the rows.
    limit
        Maximum number of rows.
    answers
        Whether the first column has the answers as they were given; distances do not use it.
    """

    def __init__(self, Scaler scaler, Axis row, Py_ssize_t limit, bint answers=False):
        self.scaler, self.row, self.limit, self.answers = scaler, row, limit, answers
        self.column, self.group = Axis("column", answers), Axis("group of columns", answers)
        cells = self.column, row
        self.declare(<size_t> &self.values, "values", cells, dtype="f4", low=GAP, high=LARGEST_CELL)
        self.declare(<size_t> &self.codes, "codes", cells, dtype="u1", default=1, low=0, high=EDGES + 1)
        self.derive(<size_t> &self.near, (self.group, row, GROUP), dtype="u1", default=64)
        cell = {"dtype": "f4", "low": -LARGEST_CELL, "high": LARGEST_CELL}
        self.declare(<size_t> &self.edges, "edges", (self.column, EDGES), **cell)
        self.declare(<size_t> &self.n_edges, "n_edges", (self.column,), dtype="i4", low=0, high=EDGES)
        self.declare(
            <size_t> &self.drawn_at, "drawn_at", (self.column,), dtype="i8", low=0, high=LARGEST_COUNT
        )
        self.declare(<size_t> &self.added, "added", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.has_gaps, "has_gaps", (self.column,), dtype="u1", low=0, high=1)
        self.declare(
            <size_t> &self.place, "places", (self.column,), dtype="i4", default=FREE, low=ANSWER, high=2**31 - 1
        )
        self.derive(<size_t> &self.column_of, (scaler,), dtype="i4", default=-1)
        self.declare(<size_t> &self.target, "targets", (row,), **cell)
        self.declare(<size_t> &self.weight, "weights", (row,), dtype="f4", low=0.0, high=LARGEST_CELL)
        self.declare(<size_t> &self.start, "start", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.scratch(<size_t> &self.x, (self.column,), dtype="f4")
        if answers:
            self.place[0] = ANSWER

    # Columns ----------------------------------------------------------------------------------------------------------

    cdef int32_t column_at(self, int32_t place) noexcept:
        """Return the column of a feature, or -1."""
        if place < 0:
            return -1
        if self.column_of[place] >= 0:
            return self.column_of[place]
        return COLUMNS + <int32_t> (scrambled(place) % BUCKETS) if self.column.n > COLUMNS else -1

    cdef int32_t new_column(self, int32_t place) noexcept:
        """Return a column for a feature that has none: a free one, a new one, or a bucket.  Requires room for it."""
        cdef int32_t c = 0, n = <int32_t> self.column.n
        if n > COLUMNS:
            return self.column_at(place)
        while c < n and self.place[c] != FREE:
            c += 1
        if c == COLUMNS:
            self.column.n = COLUMNS + BUCKETS
            for c in range(COLUMNS, COLUMNS + BUCKETS):
                self.place[c], self.x[c] = BUCKET, 0.0
            return self.column_at(place)
        if c == n:
            self.column.n += 1
        self.place[c], self.column_of[place], self.x[c] = place, c, 0.0
        return c

    cdef Py_ssize_t columns_for(self, const Sample *x) noexcept:
        """Return the number of columns once every feature of a sample has one."""
        cdef Py_ssize_t j, n = self.column.n
        for j in range(x.size):
            n += self.column_at(x.places[j]) < 0
        return n if n <= COLUMNS else COLUMNS + BUCKETS

    cpdef void forget(self, Axis axis, list items) noexcept:
        """Free the columns of features that are forgotten."""
        cdef Py_ssize_t place
        if axis is self.scaler:
            for place in items:
                if self.column_of[place] >= 0:
                    self.reset(self.column, self.column_of[place])
                    self.write_near(self.column_of[place])
        Table.forget(self, axis, items)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef void begin(self, const Sample *x) noexcept:
        """Set ``x``, the values of a sample by column, except the answer."""
        cdef Py_ssize_t j
        cdef int32_t c
        memset(self.x + self.answers, 0, (self.column.n - self.answers) * 4)
        for j in range(x.size):
            c = self.column_at(x.places[j])
            if c >= 0:
                self.set_value(c, x.places[j], x.unclipped[j], is_gap(x, j))

    cdef void set_value(self, int32_t column, int32_t place, double value, bint gap) noexcept:
        """Set the value of a feature in ``x``; those of a bucket are added, with a sign for each feature."""
        if column < COLUMNS:
            self.x[column] = GAP if gap and self.has_gaps[column] else saturated(value)
        elif not gap:
            self.x[column] = saturated(self.x[column] + (value if scrambled(place) >> 63 else -value))

    cdef uint8_t code(self, Py_ssize_t column, float value) noexcept:
        """Return the code of a value: 0 for a gap, else 1 + the number of edges below it."""
        cdef const float *edges = self.edges + column * EDGES
        cdef int32_t below = 0, left = self.n_edges[column], half
        if value == GAP:
            return 0
        while left > 0:  # without branches, which could not be predicted
            half = (left + 1) >> 1
            below += half if value > edges[below + half - 1] else 0
            left -= half
        return <uint8_t> (1 + below)

    cdef Py_ssize_t slot(self, Py_ssize_t i) noexcept:
        """Return the slot of row i, the oldest first."""
        cdef Py_ssize_t at = self.start + i
        return at if at < self.row.n else at - self.row.n

    def sample(self, Py_ssize_t i):
        """Return row i as a sample, without features that have no column of their own, or came later."""
        cdef Py_ssize_t c, slot = self.slot(i)
        cdef float value
        scaled = {}
        for c in range(self.answers, min(self.column.n, COLUMNS)):
            if self.place[c] >= 0:
                value = self.values[c * self.row.room + slot]
                scaled[<object> self.scaler.names[self.place[c]]] = None if value == GAP else value
        return self.scaler.sample_of(scaled, self.scaler.seen - (self.row.n - 1 - i))

    cdef Py_ssize_t next_slot(self) noexcept:
        """Return the slot of a new row: that of the oldest one, if there are as many rows as there may be."""
        cdef Py_ssize_t at
        if self.row.n < self.limit:
            self.row.n += 1
            return self.row.n - 1
        at = self.start
        self.start = at + 1 if at + 1 < self.row.n else 0
        return at

    cdef void write(self, const Sample *x, Py_ssize_t slot, double target, double weight) noexcept:
        """Write the last sample of ``begin`` into a slot; each of its features gets a column."""
        cdef Py_ssize_t c, j, room = self.row.room
        self.add_columns(x)
        for j in range(x.size):
            c = self.column_at(x.places[j])
            if c < COLUMNS and is_gap(x, j):
                self.has_gaps[c], self.x[c] = 1, GAP
        for c in range(self.column.n):
            self.values[c * room + slot] = self.x[c]
            self.codes[c * room + slot] = self.code(c, self.x[c])
            if c >= self.answers:
                self.near_byte(c, slot)[0] = byte_of(self.x[c])
        self.target[slot], self.weight[slot] = saturated(target), <float> weight
        self.added += 1

    cdef void add_columns(self, const Sample *x) noexcept:
        """Give each feature of a sample a column, by place, so that the order of its items does not matter."""
        cdef Py_ssize_t j, first
        cdef int32_t column
        while True:
            first = -1
            for j in range(x.size):
                if self.column_at(x.places[j]) < 0 and (first < 0 or x.places[j] < x.places[first]):
                    first = j
            if first < 0:
                return
            column = self.new_column(x.places[first])
            if column < COLUMNS:
                self.set_value(column, x.places[first], x.unclipped[first], is_gap(x, first))
            else:  # all others are hashed
                self.begin(x)
                return

    cdef void fit_limit(self, Py_ssize_t most, Py_ssize_t bytes, Py_ssize_t of_row) noexcept:
        """Set the maximum number of rows, given the bytes for all rows and those that each row takes elsewhere."""
        cdef Py_ssize_t rows = bytes // (6 * self.column.n + of_row)
        self.limit = min(most, max(SCANNED, rows))

    # Edges and units --------------------------------------------------------------------------------------------------

    cdef float threshold(self, int32_t column, int32_t code) noexcept:
        """Return the edge above a code: values beyond it have larger codes."""
        return self.edges[column * EDGES + code - 1] if code > 0 else below_all

    cdef bint draw_if_due(self, Py_ssize_t column) noexcept:
        """Draw the edges of a column if they are due: if as many rows have come since the last time as before it, or as
        many as there are.  Return whether they were due."""
        if self.added < self.drawn_at[column] + max(1, min(self.drawn_at[column], self.row.n)):
            return False
        self.drawn_at[column] = self.added
        self.draw_edges(column)
        return True

    cdef void draw_edges(self, Py_ssize_t column) noexcept:
        """Draw the edges of a column from its rows, and code them again.

        Edges are half-way between neighbouring values: all of them if there are few, else quantiles.
        """
        cdef float[SORTED] some
        cdef float *values = self.values + column * self.row.room
        cdef float *edges = self.edges + column * EDGES
        cdef uint8_t *codes = self.codes + column * self.row.room
        cdef Py_ssize_t i, n = 0, distinct = 0, rows = self.row.n, step = (rows + SORTED - 1) // SORTED
        cdef Py_ssize_t at, k
        cdef float middle
        for i in range(0, rows, max(1, step)):
            if values[i] != GAP:
                some[n] = values[i]
                n += 1
        qsort(some, n, sizeof(float), &ascending)
        for i in range(1, n):
            distinct += some[i] > some[i - 1]
        self.n_edges[column] = 0
        at = 0
        for i in range(1, n):
            if some[i] > some[i - 1] and (distinct <= EDGES or i * (EDGES + 1) >= at * n):
                at = i * (EDGES + 1) // n + 1 if distinct > EDGES else 0
                middle = some[i - 1] + 0.5 * (some[i] - some[i - 1])
                k = self.n_edges[column]
                if k < EDGES:
                    edges[k] = middle if middle < some[i] else some[i - 1]
                    self.n_edges[column] += 1
        for i in range(rows):
            codes[i] = self.code(column, values[i])

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert values and edges, and write the bytes for distances again."""
        cdef Py_ssize_t c, place
        Table.change_units(self, axis, to)
        for c in range(self.column.n):
            place = self.place[c]
            if not 0 <= place < to.n or (to.ratio[place] == 1.0 and to.shift[place] == 0.0):
                continue
            convert_values(self.values + c * self.row.room, self.row.n, to.ratio[place], to.shift[place])
            convert_values(self.edges + c * EDGES, self.n_edges[c], to.ratio[place], to.shift[place])
            self.write_near(c)

    cdef void rescale(self, double ratio, double shift) noexcept:
        """Change the unit of targets and answers."""
        convert_values(self.target, self.row.n, ratio, shift)
        convert_values(self.values, self.row.n, ratio, shift)
        convert_values(self.edges, self.n_edges[0], ratio, shift)

    cdef void rescale_targets(self, Py_ssize_t n, double ratio, double shift) noexcept:
        """Change the unit of the targets of the latest n rows."""
        cdef Py_ssize_t i
        for i in range(max(0, self.row.n - n), self.row.n):
            convert_values(self.target + self.slot(i), 1, ratio, shift)

    cpdef void change_unit(self, double ratio) noexcept:
        """Features keep their units, and thus their bytes; ``rescale`` converts the targets."""

    cdef void write_near(self, Py_ssize_t column) noexcept:
        """Write the bytes of a column for distances."""
        write_bytes(self.values + column * self.row.room, self.row.n, self.near_byte(column, 0), GROUP)

    # State ------------------------------------------------------------------------------------------------------------

    cdef void update_derived(self) noexcept:
        cdef Py_ssize_t c
        for c in range(self.column.n):
            if self.place[c] >= 0:
                self.column_of[self.place[c]] = <int32_t> c
            if c >= self.answers:
                self.write_near(c)

    def restore(self, dict state):
        columns = len(state["places"])
        if columns > COLUMNS and columns != COLUMNS + BUCKETS:
            raise ValueError(f"{columns} columns of a memory")
        places = checked_array(state, "places", np.int32, columns, ANSWER, self.scaler.n - 1)
        owned, number = places[places >= 0], np.arange(columns)
        kinds = np.where(number < self.answers, ANSWER, np.where(number >= COLUMNS, BUCKET, np.maximum(places, FREE)))
        self.scaler.check_owned(owned, "a memory")
        if columns < self.answers or (places != kinds).any():
            raise ValueError("the columns of a memory do not match its features")
        Table.restore(self, state)
        if not 0 <= self.start < max(1, self.row.n):
            raise ValueError(f"the oldest row of a memory is {self.start}")
        if (state["codes"] > 1 + state["n_edges"][:, None]).any():
            raise ValueError("a code of a memory beyond its edges")

    def _check(self):
        cdef Py_ssize_t c, i, at
        Table._check(self)
        assert self.row.n <= self.row.room and self.row.room % SCANNED == 0 and 0 <= self.start <= self.row.n
        for c in range(self.column.n):
            assert self.place[c] < 0 or self.column_of[self.place[c]] == c
            for i in range(1, self.n_edges[c]):
                assert self.edges[c * EDGES + i - 1] <= self.edges[c * EDGES + i]
            for i in range(self.row.n):
                at = c * self.row.room + i
                assert self.near_byte(c, i)[0] == (64 if c < self.answers else byte_of(self.values[at]))
                assert (self.codes[at] == 0) == (self.values[at] == GAP)
