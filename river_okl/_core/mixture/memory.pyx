"""Predictions from the latest samples: by boosted trees that are rebuilt from them, and by the nearest of them.

The gains of the trees show which features matter, which is the metric of the neighbours.  The parts are in
``_core/memory``.

If the loss of the trees rises, the stream has changed (change.pyx): only the latest rows are kept, and the trees begin
anew.
"""

from libc.math cimport fmax, log, pow
from libc.stdint cimport int32_t, int64_t

import numpy as np

from river_okl._core.kernel.distances cimport RELEVANT
from river_okl._core.loops cimport GROUP, SCANNED
from river_okl._core.memory.latest cimport BUCKET, COLUMNS, EDGES, FREE, GAP
from river_okl._core.memory.nearest cimport OF_ALL, OF_LATEST
from river_okl._core.mixture.expert cimport Outcome

from river_okl._core.memory.nearest import LATEST

cdef Py_ssize_t BYTES = 2**21       # of all rows
cdef Py_ssize_t KEPT = 200          # rows that are kept after a change
cdef double DEVIATIONS = 5.0, LEAST_RISE = 0.1      # of a loss that shows a change
cdef double POWER = 1.5, LEAST_WEIGHT = 3e-3    # of the weights of features in a metric of the processes
cdef double LEAST = 1e-4            # of a probability in a loss


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
    """

    def __init__(self, Scaler scaler, Py_ssize_t max_rows):
        self.name, self.rows, self.max_rows, self.n_classes = "memory", 3, max_rows, 2
        self.row = Axis("row")
        self.latest = Latest(scaler, self.row, max_rows)
        self.trees = self.contain("trees", Trees(self.latest))  # before the rows, whose columns it must know to forget
        self.contain("rows", self.latest)
        self.nearest = self.contain("nearest", Nearest(self.latest))
        self.change = self.contain("change", Change(DEVIATIONS, LEAST_RISE))

    cdef int ask(self, const Sample *x, double *p) except -1:
        self.latest.begin(x)
        self.trees.ask(p)
        self.nearest.measure()
        self.nearest.ask(self.n_classes, p + self.n_classes)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef Py_ssize_t slot
        if self.notices_change(y.p[self.first * self.n_classes + <Py_ssize_t> y.target]):
            self.keep(min(KEPT, self.row.n))
            self.trees.restart()
        self.make_room(x)
        slot = self.latest.next_slot()
        self.latest.write(x, slot, y.target, y.counts)
        self.trees.enter(slot)
        if self.trees.build():
            self.nearest.weigh(self.trees.gains)
        return False

    cdef bint notices_change(self, double p) except -1:
        """Take the loss of the trees; return whether the stream has just changed."""
        cdef bint before = self.change.left > 0
        self.change.take(-log(p if p > LEAST else LEAST), 0)
        return self.change.left > 0 and not before

    cdef int make_room(self, const Sample *x) except -1:
        """Make room for one more row and for the features of a sample."""
        cdef Axis column = self.latest.column
        cdef Py_ssize_t columns = self.latest.columns_for(x), room = self.row.room
        if columns > column.room:
            self.grow_columns(max(columns, column.room + column.room // 4))
        self.latest.fit_limit(self.max_rows, BYTES, self.trees.bytes_of_row())
        if self.row.n > self.latest.limit:
            self.trees.finish()
            self.keep(self.latest.limit)
        elif self.row.n == room and room < self.latest.limit:
            self.grow(self.row, blocks(min(max(SCANNED, 2 * room), self.latest.limit)))
        return 0

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

    cdef void weigh(self, Distances distances) noexcept:
        """Set the weights of features under the metric of relevance by the gains of the trees."""
        cdef Py_ssize_t c, n = 0
        cdef double total = 0.0, of_all = 0.0
        cdef double *weights = distances.weights[RELEVANT]
        for c in range(self.latest.column.n):
            if self.latest.place[c] >= 0:
                total += self.trees.gains[c]
                n += 1
        if total <= 0.0:
            return
        for c in range(self.latest.column.n):
            if self.latest.place[c] >= 0:
                weights[self.latest.place[c]] = fmax(pow(self.trees.gains[c] / total * n, POWER), LEAST_WEIGHT)
                of_all += weights[self.latest.place[c]]
        for c in range(self.latest.column.n):
            if self.latest.place[c] >= 0:
                weights[self.latest.place[c]] = fmax(weights[self.latest.place[c]] * n / of_all, LEAST_WEIGHT)

    cdef int add_class(self) except -1:
        self.n_classes += 1
        return self.trees.add_class() if self.n_classes > 2 else 0

    def importances(self):
        """Return the share of each feature in the gains of the trees, by name; none before the first gains."""
        cdef Py_ssize_t c
        found = {}
        for c in range(self.latest.column.n):
            if self.latest.place[c] >= 0:
                found[<object> self.latest.scaler.names[self.latest.place[c]]] = self.trees.gains[c]
        total = sum(found.values())
        return {name: gain / total for name, gain in found.items()} if total > 0.0 else {}

    def names(self):
        return ["trees", f"neighbours({OF_LATEST} of {LATEST})", f"neighbours({OF_ALL})"]

    # State ------------------------------------------------------------------------------------------------------------

    def restore(self, dict state):
        rows = state["rows"]
        n, columns = len(rows["targets"]), len(rows["places"])
        if n > self.max_rows:
            raise ValueError(f"a memory of {n} rows, of at most {self.max_rows}")
        if not np.isin(rows["targets"], range(self.n_classes)).all():
            raise ValueError(f"a row of a class that is none of {self.n_classes}")
        self.row.n, self.latest.column.n = n, columns
        self.grow_columns(columns)
        self.grow(self.row, blocks(n))
        Expert.restore(self, state)
        self.latest.fit_limit(self.max_rows, BYTES, self.trees.bytes_of_row())

    def permuted(self, dict state, list order):
        """Return a state in which class c is the former class order[c]."""
        found = Expert.permuted(self, state, order)
        targets = np.argsort(order)[state["rows"]["targets"].astype(int)]
        found["rows"] = found["rows"] | {"targets": targets.astype(np.float32)}
        if order == [1, 0]:  # of a function of both classes the second derivative keeps its sign
            negative = np.array([-1.0, 1.0], dtype=np.float32)
            of_rows, of_leaves = state["trees"]["gradients"], state["trees"]["leaf_sums"]
            found["trees"] = found["trees"] | {"gradients": negative * of_rows, "leaf_sums": negative * of_leaves}
        return found

    def rebuild(self):
        """Build every tree anew, of rows that were merged."""
        cdef int64_t before = self.trees.grown
        while self.row.n and self.trees.grown < before + self.trees.tree.n:
            self.trees.step()
        self.nearest.weigh(self.trees.gains)

    def merged(self, merging):
        """Return the latest rows of all shards, without trees, which are built anew; alone, a shard keeps its own."""
        first = merging.first.part(self)
        known = len(merging.names)
        place_of = {each: dict(zip(each.places.tolist(), each.columns.tolist())) for each in merging.with_start}

        def places(each):
            own = [place_of[each].get(place, known) for place in each.part(self)["rows"]["places"].tolist()]
            return np.array([place if place < known else FREE for place in own], dtype=np.int32)

        if len(merging.active) == 1:
            own = places(merging.first)
            own[first["rows"]["places"] == BUCKET] = BUCKET
            return first | {"rows": first["rows"] | {"places": own}}
        blocks, start = [], merging.start.part(self)["rows"]["added"]
        for each in [merging.start, *[each for _, each in merging.active]]:
            rows = each.part(self)["rows"]
            n = len(rows["targets"])
            new = n if each is merging.start else min(n, max(0, rows["added"] - start))
            blocks.append((each, (rows["start"] + np.arange(n - new, n)) % max(1, n)))
        # rows of the same age follow each other; those of the start are older than all others
        ages = [np.arange(len(slots))[::-1] for _, slots in blocks]
        ages[0] += 1 + max([len(slots) for _, slots in blocks])
        counts = np.zeros(known)
        for each, slots in blocks:
            own = places(each)
            np.add.at(counts, own[own >= 0], (each.part(self)["rows"]["values"][own >= 0][:, slots] != 0.0).sum(axis=1))
        by_name = sorted(range(known), key=lambda place: repr(merging.names[place]))  # not by the order of the models
        chosen = np.array(sorted(by_name, key=lambda place: -counts[place])[:COLUMNS], dtype=np.int64)
        column = {place: c for c, place in enumerate(chosen.tolist())}
        sums = np.concatenate([each.part(self)["rows"]["values"][:, slots].sum(axis=0) for each, slots in blocks])
        order = np.lexsort((sums, np.concatenate(ages)))  # ties of age: not by the order of the models, either
        classes = first["trees"]["sums"].shape[1]
        room = BYTES // (6 * len(chosen) + 4 * classes + self.trees.bytes_of_row())
        order = order[:min(self.max_rows, room)][::-1]
        values = np.zeros((len(chosen), len(order)), dtype=np.float32)
        at = np.cumsum([0, *[len(slots) for _, slots in blocks]])
        for (each, slots), begin in zip(blocks, at.tolist()):
            here = (order >= begin) & (order < begin + len(slots))
            from_each = slots[order[here] - begin]
            for c, place in enumerate(places(each).tolist()):
                if place in column:
                    values[column[place], here] = each.part(self)["rows"]["values"][c, from_each]
        rows = {
            name: np.concatenate([each.part(self)["rows"][name][slots] for each, slots in blocks])[order]
            for name in ("targets", "weights")
        }
        n = len(chosen)
        rows |= {
            "values": values,
            "codes": (values != np.float32(GAP)).astype(np.uint8),
            "edges": np.zeros((n, EDGES), dtype=np.float32),
            "n_edges": np.zeros(n, dtype=np.int32),
            "drawn_at": np.zeros(n, dtype=np.int64),
            "places": chosen.astype(np.int32),
            "has_gaps": (values == np.float32(GAP)).any(axis=1).astype(np.uint8),
            "start": 0,
            "added": max([each.part(self)["rows"]["added"] for _, each in merging.active]),
        }
        gains = np.zeros(n)
        for share, each in merging.active:
            for c, place in enumerate(places(each).tolist()):
                if place in column:
                    gains[column[place]] += share * each.part(self)["trees"]["gains"][c]
        grown = max([each.part(self)["trees"]["grown"] for _, each in merging.active])
        return {
            "rows": rows,
            "trees": self.trees.begun(first["trees"], gains, len(order)) | {"grown": grown},
            "nearest": {"relevance": np.ones(n, dtype=np.float32)},
            "change": self.change.merged(merging),
        }
