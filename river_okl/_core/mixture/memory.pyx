"""Predictions from the latest samples: by boosted trees that are rebuilt from them, and by the nearest of them.

The gains of the trees show which features matter, which is the metric of the neighbours.  The parts are in
``_core/memory``; class_memory.pyx and target_memory.pyx are the experts.

For each sample learned, growing trees visit ``VISITS`` rows as often as a whole tree does; of n rows 1 + ``FEW`` / n
times as many, up to ``EARLY`` times.  So all trees are rebuilt while the ring doubles, and then once per turn of it.

If the loss of the trees rises, the stream has changed (change.pyx): only the latest rows are kept, and the trees begin
anew.  Most of these rows are from before the change.  If the loss is still high after as many samples as it is averaged
over, they go, too.
"""

from libc.math cimport fmax, fmin, pow
from libc.stdint cimport int32_t, int64_t

from river_okl._core.kernel.distances cimport RELEVANT
from river_okl._core.loops cimport GROUP, SCANNED
from river_okl._core.memory.latest cimport COLUMNS
from river_okl._core.memory.nearest cimport LATEST, OF_ALL, OF_LATEST
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport LARGEST_COUNT

cdef enum:
    SMALLEST = 64               # visits of a piece of work at least
    FEWEST = 8                  # rows before the first tree

cdef Py_ssize_t BYTES = 5 * 2**19   # of all rows
cdef Py_ssize_t KEPT = 200, KEPT_LATER = 60     # rows that are kept after a change, and if it lasts
cdef double VISITS = 60.0       # rows per sample
cdef double FEW = 1000.0, EARLY = 3.0   # rows at which twice as many are visited, and the most of that factor
cdef double DEVIATIONS = 5.0, LEAST_RISE = 0.1      # of a loss that shows a change
cdef double POWER = 1.5, LEAST_WEIGHT = 3e-3    # of the weights of features in a metric of the processes


cdef inline Py_ssize_t blocks(Py_ssize_t n) noexcept:
    """Return the room for n rows, a multiple of the rows that are scanned together."""
    return (n + SCANNED - 1) // SCANNED * SCANNED


cdef class Memory(Expert):
    """Three predictions: by the trees, by the nearest of the latest rows, and by the nearest of all.

    Parameters
    ----------
    scaler
        The features.
    max_rows
        Maximum number of rows.
    answers
        Whether the rows have the answers of the mixture.
    """

    def __init__(self, Scaler scaler, Py_ssize_t max_rows, bint answers):
        self.name, self.rows, self.max_rows = "memory", 3, max_rows
        self.row = Axis("row")
        scaler.fewest = COLUMNS // 2 if max_rows else 0  # so that those with columns are not forgotten
        self.latest = Latest(scaler, self.row, max_rows, answers)

    cdef int assemble(self, tuple trees) except -1:
        """Make the trees, the rows, the neighbours and the detector of changes parts of the memory."""
        self.all_trees = trees
        self.trees = trees[0]
        for name, each in zip(("trees", "trees_of_answer", "trees_of_errors"), trees):
            self.contain(name, each)    # before the rows, whose columns they must know to forget
        self.contain("rows", self.latest)
        self.raw = self.contain("raw", RawValues(self.latest.scaler, self.row))
        self.nearest = self.contain("nearest", Nearest(self.latest))
        self.change = self.contain("change", Change(DEVIATIONS, LEAST_RISE))
        self.declare(<size_t> &self.credit, "credit", (), low=-LARGEST_COUNT, high=0.0)
        self.scratch(<size_t> &self.relevance, (self.latest.column,))
        return 0

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int add_row(self, const Sample *x, const Outcome *y, double loss) except -1:
        """Add the last sample of ``ask``, whose prediction by the trees has this loss, and rebuild trees."""
        cdef Py_ssize_t slot, kept
        cdef Trees trees
        kept = self.kept_after(loss)
        if kept < self.row.n:
            self.keep(kept)
            self.restart()
        self.make_room(x)
        slot = self.latest.next_slot()
        self.latest.write(x, slot, y.exact, y.counts)
        self.raw.write(x, slot)
        for trees in self.all_trees:
            trees.enter(slot)
        if self.build():
            self.find_relevance()
            self.nearest.weigh(self.relevance)
        return 0

    cdef Py_ssize_t kept_after(self, double loss) except -1:
        """Take the loss of the trees; return the number of rows to keep.

        It is smaller if the stream has just changed, and once more if the loss has stayed high since.
        """
        cdef int64_t before = self.change.left
        self.change.take(loss, 0)
        if before == 0 and self.change.left > 0:
            return min(KEPT, self.row.n)
        if before == 1 and self.change.fast > self.change.bar:
            return min(KEPT_LATER, self.row.n)
        return self.row.n

    cdef void restart(self) noexcept:
        """Forget all trees."""
        cdef Trees trees
        for trees in self.all_trees:
            trees.restart()
        self.credit = 0.0

    cdef bint build(self) noexcept:
        """Do the work that one more learned sample pays for; return whether a tree was finished."""
        cdef Trees trees = self.next_trees()
        cdef int64_t before = self.trees.grown
        if self.row.n < FEWEST or self.trees.tree.n == 0:
            return False
        self.credit += VISITS * trees.visits() * fmin(EARLY, 1.0 + FEW / self.row.n)
        while self.credit > 0.0:
            self.credit -= max(self.next_trees().step(), SMALLEST)
        return self.trees.grown > before

    cdef Trees next_trees(self):
        """Return the trees of which the next one is grown: all in turn."""
        cdef Trees trees, found = self.trees
        for trees in self.all_trees:
            if trees.turns() < found.turns():
                found = trees
        return found

    cdef int make_room(self, const Sample *x) except -1:
        """Make room for one more row, for the features of a sample, and for more trees."""
        cdef Trees trees
        cdef Axis column = self.latest.column
        cdef Py_ssize_t columns = self.latest.columns_for(x), room = self.row.room
        if columns > column.room:
            self.grow_columns(max(columns, column.room + column.room // 4))
        for trees in self.all_trees:
            self.grow(trees.tree, trees.due())
        self.raw.make_room(x, self.latest.limit)
        self.fit_limit()
        if self.row.n > self.latest.limit:
            self.next_trees().finish()
            self.keep(self.latest.limit)
        elif self.row.n == room and room < self.latest.limit:
            self.grow(self.row, blocks(min(max(SCANNED, 2 * room), self.latest.limit)))
        return 0

    cdef void fit_limit(self) noexcept:
        """Set the maximum number of rows: all of them take at most BYTES."""
        cdef Trees trees
        cdef Py_ssize_t of_row = 8 * self.raw.column.n
        for trees in self.all_trees:
            of_row += trees.bytes_of_row()
        self.latest.fit_limit(self.max_rows, BYTES, of_row)

    cdef int grow_columns(self, Py_ssize_t columns) except -1:
        """Make room for so many columns."""
        self.grow(self.latest.column, columns)
        self.latest.group.n = (columns + GROUP - 1) // GROUP
        return self.grow(self.latest.group, self.latest.group.n)

    cdef int keep(self, Py_ssize_t n) except -1:
        """Keep the latest n rows."""
        cdef Py_ssize_t i
        cdef int32_t *slots = <int32_t *> self.resize(NULL, 0, n, sizeof(int32_t))
        for i in range(n):
            slots[i] = <int32_t> self.latest.slot(self.row.n - n + i)
        self.take_items(self.row, slots, n)
        self.release(slots)
        self.row.n, self.latest.start = n, 0
        return 0

    # Relevance --------------------------------------------------------------------------------------------------------

    cdef bint find_relevance(self) noexcept:
        """Set the relevance of each column, with a mean of 1: its share in the gains of the trees.  Return whether it
        is known; else all columns are alike."""
        cdef Py_ssize_t c, first = self.latest.answers, n = self.latest.column.n
        cdef double total = 0.0
        for c in range(first, n):
            total += self.trees.gains[c]
        for c in range(first, n):
            self.relevance[c] = self.trees.gains[c] / total * (n - first) if total > 0.0 else 1.0
        return total > 0.0

    cdef void weigh(self, Distances distances) noexcept:
        """Set the weights of features under the metric of relevance, once it is known."""
        cdef Py_ssize_t c, place, n = 0
        cdef double total = 0.0
        cdef double *weights = distances.weights[RELEVANT]
        if not self.find_relevance():
            return
        for c in range(self.latest.column.n):
            place = self.latest.place[c]
            if place >= 0:
                weights[place] = fmax(pow(self.relevance[c], POWER), self.least_weight(distances, place))
                total += weights[place]
                n += 1
        for c in range(self.latest.column.n):
            place = self.latest.place[c]
            if place >= 0:
                weights[place] = fmax(weights[place] * n / total, LEAST_WEIGHT)

    cdef double least_weight(self, Distances distances, Py_ssize_t place) noexcept:
        """Return the minimum weight of a feature, before all are divided by their mean."""
        return LEAST_WEIGHT

    def importances(self):
        """Return the share of each feature in the relevance of all, by name; none before it is known."""
        cdef Py_ssize_t c
        found = {}
        for c in range(self.latest.column.n if self.find_relevance() else 0):
            if self.latest.place[c] >= 0:
                found[<object> self.latest.scaler.names[self.latest.place[c]]] = self.relevance[c]
        total = sum(found.values())
        return {name: share / total for name, share in found.items()} if total > 0.0 else {}

    def samples(self, Memory start):
        """Return the rows since ``start`` as samples, the oldest first, each with its target and weight."""
        cdef Py_ssize_t i, slot, new = self.latest.added - start.latest.added
        found = []
        for i in range(max(0, self.row.n - new), self.row.n):
            slot = self.latest.slot(i)
            sample = self.latest.sample(i) | self.raw.known(slot)
            found.append((sample, self.latest.target[slot], self.latest.weight[slot]))
        return found

    def names(self):
        return ["trees", f"neighbours({OF_LATEST} of {LATEST})", f"neighbours({OF_ALL})"]

    # State ------------------------------------------------------------------------------------------------------------

    def restore(self, dict state):
        cdef Trees trees
        rows = state["rows"]
        n, columns = len(rows["targets"]), len(rows["places"])
        if n > self.max_rows:
            raise ValueError(f"a memory of {n} rows, of at most {self.max_rows}")
        self.row.n, self.latest.column.n = n, columns
        self.grow_columns(columns)
        self.grow(self.row, blocks(n))
        for trees in self.all_trees:
            trees.reserve_trees(len(state[trees.name]["columns"]))
        Expert.restore(self, state)
        self.fit_limit()
