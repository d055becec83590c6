from libc.stdint cimport int32_t, int64_t, uint8_t

from river_okl._core.loops cimport BINS, CELLS, CODES, DEPTH, LEAVES, NODES, Gradient, Splits
from river_okl._core.memory.latest cimport Latest
from river_okl._core.store.table cimport Axis, Classes, Conversion, Table

cdef enum:
    DRAWN = 16                  # columns that a tree looks at, at most


cdef class Trees(Table):
    cdef readonly Latest latest
    cdef readonly double ridge, least
    cdef readonly Py_ssize_t first  # column that they look at
    cdef readonly Classes per_class     # columns of functions: one for a target or two classes
    cdef readonly Axis tree
    # The trees: node k of a level has the branches 2 k and 2 k + 1; levels follow each other
    cdef int32_t *columns       # [tree, LEAVES] of the splits
    cdef float *thresholds      # [tree, LEAVES] larger values go to the right
    cdef float *values          # [tree, LEAVES, class] of the leaves
    cdef double *gains          # [column] of the splits of all trees, decayed
    # The rows
    cdef uint8_t *leaf          # [tree, row]; of the tree that is being grown: its node
    cdef float *sums            # [row, class] of all trees that it has been added to
    cdef Gradient *gradient     # [row] of the tree that is being grown; 0: it joined later
    # The tree that is being grown
    cdef int64_t grown          # number of trees that were grown before
    cdef int phase, level
    cdef int64_t at             # next row, or drawn column, of this phase
    cdef int32_t *drawn         # [DRAWN] columns
    cdef int n_drawn
    cdef Splits best            # [NODES] of the nodes of this level
    cdef int32_t *new_columns   # [LEAVES]
    cdef float *new_thresholds  # [LEAVES]
    cdef float *leaf_sums       # [LEAVES, class, 2] of gradients
    # scratch
    cdef uint8_t *at_leaf       # [tree] of the last sample
    cdef double *chances        # [column] of being drawn
    cdef double *scores         # [class] of the last sample

    # A sample
    cdef void ask(self) noexcept
    cdef void enter(self, Py_ssize_t slot) noexcept
    cpdef Py_ssize_t bytes_of_row(self) noexcept
    cdef Py_ssize_t most(self) noexcept
    cdef Py_ssize_t due(self) noexcept
    cdef Py_ssize_t growing(self) noexcept
    cdef bint counts(self, Py_ssize_t slot) noexcept
    cdef void add_leaf(self, Py_ssize_t t, Py_ssize_t slot, float sign) noexcept
    cdef uint8_t node_of_new(self) noexcept
    # Growing a tree
    cdef Py_ssize_t most_drawn(self) noexcept
    cdef Py_ssize_t visits(self) noexcept
    cdef Py_ssize_t turns(self) noexcept
    cdef bint looks_at(self, Py_ssize_t i) noexcept
    cdef void finish(self) noexcept
    cdef Py_ssize_t step(self) noexcept
    cdef void end_phase(self) noexcept
    cdef Py_ssize_t draw_edges(self) noexcept
    cdef void begin(self) noexcept
    cdef double uniform(self, Py_ssize_t i) noexcept
    cdef double total_chance(self) noexcept
    cdef void draw_columns(self) noexcept
    cdef void take_out(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef void find_gradients(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef void forget_best(self) noexcept
    cdef void forget_split(self, Py_ssize_t k) noexcept
    cdef void compare(self, int32_t column) noexcept
    cdef int deepest(self) noexcept
    cdef void split(self) noexcept
    cdef void sum_leaves(self, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef void replace(self) noexcept
    cdef void add(self, Py_ssize_t first, Py_ssize_t last) noexcept
    # Changes
    cdef void restart(self) noexcept
    cdef void rescale_gains(self, double factor) noexcept
    cdef void drop_column(self, int32_t column) noexcept
    cdef int check_growing(self, leaf) except -1
    cdef void rescale_answer(self, double ratio, double shift) noexcept
    cdef float in_new_unit(self, int32_t column, float threshold, const Conversion *to) noexcept
    # State
    cdef int reserve_trees(self, Py_ssize_t n) except -1
