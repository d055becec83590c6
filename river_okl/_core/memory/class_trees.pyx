"""The trees of a memory for classes: of the logarithm of the odds of two, or of one function of each of more.

The loss is the log loss.  For more than two classes the structure of a tree is found on one number per row, the
gradient along a direction of +1 and -1 per class.
"""

from river_okl._core.calibration cimport probabilities_of
from river_okl._core.loops cimport ABREAST, LEAVES, Gradient, logistic, projected, softmax_single
from river_okl._core.memory.latest cimport Latest
from river_okl._core.splitmix cimport scrambled

from river_okl._core.states import LARGEST_COUNT

cdef Py_ssize_t LEAF_BYTES = 2**19              # for the leaves of all trees
cdef double RIDGE = 3.0         # λ
cdef double LEAST_CURVATURE = 1.0   # H of a branch


cdef Py_ssize_t most_trees(Py_ssize_t n_classes) noexcept:
    """Return the number of trees whose leaves take at most LEAF_BYTES."""
    return LEAF_BYTES // (4 * LEAVES * n_classes)


cdef class ClassTrees(Trees):
    """Trees over rows whose targets are numbers of classes."""

    def __init__(self, Latest latest):
        Trees.__init__(self, latest, RIDGE, LEAST_CURVATURE)
        self.classes = Classes(2)
        self.declare(
            <size_t> &self.identity, "identities", (self.classes,), dtype="i8", low=0, high=LARGEST_COUNT
        )
        self.identity[1] = 1
        self.scratch(<size_t> &self.p, (self.per_class, ABREAST), dtype="f4")
        self.scratch(<size_t> &self.direction, (self.per_class,), dtype="f4")

    cdef Py_ssize_t most(self) noexcept:
        return min(Trees.most(self), most_trees(self.per_class.n))

    cdef void write_probabilities(self, double *p) noexcept:
        """Write the probabilities of the last sample of ``ask``."""
        probabilities_of(self.scores, 1.0, self.per_class.n, p)

    cdef void find_gradients(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        cdef Py_ssize_t i, o, rows, n = self.per_class.n
        if n == 1:
            logistic(
                self.sums + first, self.latest.target + first, self.latest.weight + first, last - first,
                self.gradient + first
            )
            return
        for o in range(n):
            self.direction[o] = 1.0 if scrambled(scrambled(self.grown + 1) - self.identity[o] - 1) >> 63 else -1.0
        for i in range(first, last, ABREAST):
            rows = min(ABREAST, last - i)
            softmax_single(self.sums + i * self.per_class.room, self.per_class.room, rows, n, self.p)
            projected(
                self.p, self.direction, n, self.latest.target + i, self.latest.weight + i, rows, self.gradient + i
            )

    cdef void sum_leaves(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Add the gradients of some rows to those of their leaves, except rows that have joined since."""
        cdef Py_ssize_t i, j, rows, n = self.per_class.n, room = self.per_class.room
        if n == 1:
            Trees.sum_leaves(self, first, last)
            return
        for i in range(first, last, ABREAST):
            rows = min(ABREAST, last - i)
            softmax_single(self.sums + i * room, room, rows, n, self.p)
            for j in range(rows):
                if self.gradient[i + j].h > 0.0:
                    self.add_to_leaf(i + j, self.p + j)

    cdef void add_to_leaf(self, Py_ssize_t i, const float *p) noexcept:
        """Add the gradients of a row with these probabilities to those of its leaf."""
        cdef Py_ssize_t o, k = self.leaf[self.growing() * self.latest.row.room + i]
        cdef Gradient *sums = <Gradient *> self.leaf_sums + k * self.per_class.room
        cdef float weight = self.latest.weight[i], of_class
        for o in range(self.per_class.n):
            of_class = p[o * ABREAST]
            sums[o].g -= weight * of_class
            sums[o].h += weight * (of_class * (<float> 1.0 - of_class))
        sums[<Py_ssize_t> self.latest.target[i]].g += weight

    cdef int add_class(self) except -1:
        """Add a class.  If the leaves of all trees then take too many bytes, the last trees are dropped."""
        cdef Py_ssize_t i, t, n = max(3, self.per_class.n + 1), trees = most_trees(n)
        self.finish()
        for t in range(trees, self.tree.n):
            for i in range(self.latest.row.n):
                self.add_leaf(t, i, -1.0)
        if trees < self.tree.n:
            self.shrink(self.tree, trees)
        self.append_class(self.classes)
        self.identity[n - 1] = n - 1
        return self.append_class(self.per_class)
