from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.table cimport Axis

cdef float TEST_EVERY


cdef struct Node:
    # 12 bytes: a split, or a leaf.
    int32_t feature             # its place; or LEAF; or GONE: the feature was dropped and counts as absent
    float cut                   # values up to this go to the first child
    int32_t child               # a split's first child, later than the split; the second follows it; a leaf's number


cdef struct Leaf:
    int32_t block               # of statistics, or -1: the leaf waits for one
    float errors                # recent errors


cdef struct Block:
    # The head of a block of statistics: totals of classes, candidate features, their ranges and bins follow.
    int32_t tree, leaf          # the owner; tree -1: none
    float weight                # of the samples learned
    float next_test             # the weight at which the leaf is next tested for a split
    float by_bayes, by_counts   # classes: weight of the samples that naive Bayes and the counts predicted correctly
    float sum                   # of targets
    uint32_t seed               # of its candidates


cdef struct Tree:
    Node *nodes                 # [2 room - 1]
    Leaf *leaves                # [room]
    float *counts               # [room, width] weights of classes; of a target, weight and mean
    int32_t n_leaves, room
    int32_t n_blocks            # of its leaves
    int32_t hand                # the last leaf that was compared with a waiting leaf
    int64_t age                 # samples
    double fast, slow, square   # running averages of its error; square: slow, of the squared error
    int64_t resets
    double weight               # in the forest's mean of a target


cdef class Trees(Expert):
    cdef Axis features
    cdef readonly int n_trees
    cdef readonly Py_ssize_t one_in         # number of features per candidate of a leaf, if all candidates fit
    cdef readonly Py_ssize_t bytes          # bound of the statistics
    cdef readonly Py_ssize_t n_classes      # 1 for a target
    cdef readonly Py_ssize_t places         # number of features that there is room for
    cdef uint64_t random
    cdef Tree *trees
    cdef Py_ssize_t width                   # numbers of a leaf
    cdef int32_t max_leaves                 # of a tree
    # set by the kind of leaf, before the first layout
    cdef Py_ssize_t numbers                 # per class, in a leaf and in a bin: 1 (the class's weight); for a target 2
    cdef int32_t bound                      # maximum number of leaves of a tree, whatever their size
    cdef double least                       # minimum of the numbers of a leaf
    cdef double lead                        # margin by which a waiting leaf's errors must exceed twice another leaf's
    # statistics
    cdef Py_ssize_t group                   # number of adjacent places of which one is a candidate
    cdef Py_ssize_t m                       # candidates, padded
    cdef Py_ssize_t cells                   # numbers of a candidate's bins, for each class
    cdef Py_ssize_t head                    # numbers of a block that precede its candidates
    cdef Py_ssize_t block_floats
    cdef float *low                         # [places] range of each feature's values, for bins
    cdef float *high
    cdef float *blocks
    cdef Py_ssize_t n_blocks, max_blocks
    cdef int32_t *unowned                   # a stack of blocks
    cdef Py_ssize_t n_unowned
    cdef Py_ssize_t share                   # maximum number of blocks of a tree
    # scratch: the last sample
    cdef float *dense                       # [places]
    cdef int32_t *present                   # [places] places of non-zero values
    cdef Py_ssize_t n_present
    cdef bint complete                      # all features of the sample have room
    cdef int32_t *at                        # [n_trees] node of the sample's leaf

    # What the kind of leaf defines
    cdef Py_ssize_t totals_of(self, Py_ssize_t n_classes) noexcept
    cdef void fill_leaves(
        self, Tree *tree, const Block *block, Py_ssize_t k, float cut, int32_t leaf, int32_t other
    ) noexcept nogil
    # Room
    cdef int reserve_leaves(self, Tree *tree) except -1
    cdef int32_t leaves_that_fit(self, Py_ssize_t width) noexcept
    cdef tuple layout(self, Py_ssize_t places, Py_ssize_t n_classes)
    cdef int lay_out(self, Py_ssize_t places, Py_ssize_t n_classes) except -1
    cdef int widen_leaves(self, Py_ssize_t width) except -1
    cdef int move_blocks(self, Py_ssize_t n, Py_ssize_t size, Py_ssize_t head, Py_ssize_t m) except -1
    cdef int widen_features(self, Py_ssize_t places) except -1
    # Blocks
    cdef inline Block *block_at(self, Py_ssize_t b) noexcept nogil:
        return <Block *> (self.blocks + b * self.block_floats)

    cdef inline float *body(self, const Block *block) noexcept nogil:
        # candidates, low, step; then the rows of classes
        return <float *> block + self.head

    cdef inline float *row(self, const Block *block, Py_ssize_t c) noexcept nogil:
        # [m, BINS, numbers] of a class
        return self.body(block) + (3 + self.cells * c) * self.m

    cdef void choose_candidates(self, Block *block) noexcept nogil
    cdef void open_block(self, int t, int32_t leaf, int32_t b) noexcept nogil
    cdef void close_block(self, int32_t b) noexcept nogil
    cdef int32_t least_leaf(self, int t, int32_t other) noexcept nogil
    cdef bint take_block(self, int t, int32_t leaf) noexcept nogil
    cdef void challenge(self, int t, int32_t leaf) noexcept nogil
    cdef void give_blocks(self, int t, int32_t one, int32_t other) noexcept nogil
    # Nodes
    cdef void place_values(self, const int32_t *places, const double *values, Py_ssize_t size) noexcept nogil
    cdef int32_t route(self, const Tree *tree) noexcept nogil
    cdef void begin(self, int t) noexcept nogil
    cdef void split(self, int t, Py_ssize_t k, float cut) noexcept nogil
    cdef void sweep(self) noexcept nogil
    # State
    cdef tuple views(self, int t)
    cdef object rows_of_blocks(self)
    cdef dict parts_of(self, blocks)
