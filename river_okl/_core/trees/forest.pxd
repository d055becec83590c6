from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from river_okl._core.mixture.expert cimport Expert


cdef struct Node:
    # 12 bytes: a split, or a leaf.
    int32_t feature             # its place; or LEAF, or GONE: a feature that was dropped, absent ever since
    float cut                   # values up to here go to the first child
    int32_t child               # the first of two adjacent nodes, which come later than this one; the number of a leaf


cdef struct Leaf:
    int32_t block               # of statistics, or -1: it waits for one
    float errors                # lately


cdef struct Block:
    # The head of a block of statistics: candidate features, their ranges and sums follow.
    int32_t tree, leaf          # the owner; tree -1: none
    float weight                # of the samples that it has seen
    float next_test             # the weight at which a split is looked for
    float by_bayes, by_counts   # classes: weight of the samples that naive Bayes and the leaf's counts had right
    float sum                   # of targets
    uint32_t seed               # of its candidates


cdef struct Tree:
    Node *nodes                 # [2 room - 1]
    Leaf *leaves                # [room]
    float *counts               # [room, width] weights of classes; of a target, weight and mean
    int32_t n_leaves, room
    int32_t n_blocks            # of its leaves
    int32_t hand                # the leaf that is challenged next
    int64_t age                 # samples
    double fast, slow, square   # running averages of its error, slow too of the error's square
    int64_t resets
    double weight               # in the mean


cdef class Forest(Expert):
    cdef readonly int n_trees
    cdef readonly Py_ssize_t one_in         # candidates of a leaf are one of so many features, if all fit
    cdef readonly Py_ssize_t bytes          # bound of the statistics
    cdef readonly bint regression
    cdef readonly Py_ssize_t n_classes      # 1: regression
    cdef readonly Py_ssize_t places         # of features that there is room for
    cdef readonly int64_t seen
    cdef uint64_t random
    cdef Tree *trees
    cdef Py_ssize_t width                   # numbers of a leaf
    cdef int32_t most_leaves                # of a tree
    # statistics
    cdef Py_ssize_t group                   # a candidate is one of so many adjacent places
    cdef Py_ssize_t m                       # candidates, padded
    cdef Py_ssize_t block_floats
    cdef float *low                         # [places] range of each feature's values, for bins
    cdef float *high
    cdef float *blocks
    cdef Py_ssize_t n_blocks, most_blocks
    cdef int32_t *unowned                   # a stack of blocks
    cdef Py_ssize_t n_unowned
    cdef Py_ssize_t share                   # blocks that a tree may have
    # a target's units: scale * inner + offset
    cdef double scale, offset
    # scratch: the last sample
    cdef float *dense                       # [places]
    cdef int32_t *present                   # [places] whose values are not zero
    cdef Py_ssize_t n_present
    cdef int32_t *chosen                    # [m] candidates that are present, if they are few
    cdef Py_ssize_t n_chosen                # -1: all are read
    cdef bint complete                      # all of its features have room
    cdef bint fresh                         # leaves and votes are of that sample
    cdef int32_t *at                        # [n_trees] its leaves' nodes
    cdef float *x                           # [m] candidates' values
    cdef int32_t *bins                      # [m] of those that are present, as positions in a class's histograms
    cdef Py_ssize_t n_bins
    cdef double *votes                      # [n_trees, n_classes]
    cdef double *joint                      # [n_classes]
    cdef int32_t *by_counts                 # [n_trees] class of the greatest count, ...
    cdef int32_t *by_bayes                  # ... naive Bayes's, or -1, ...
    cdef int32_t *voted                     # ... and the one of the two that counted

    cdef void vote(self, const int32_t *places, const double *values, Py_ssize_t size, double *out) noexcept nogil
    cdef void take_sample(
        self, const int32_t *places, const double *values, Py_ssize_t size, double target, double w
    ) noexcept nogil
    cdef int32_t leaves_that_fit(self, Py_ssize_t width) noexcept
    cdef tuple layout(self, Py_ssize_t places, Py_ssize_t n_classes)
    cdef object body_of(self, Py_ssize_t b)
    cdef int lay_out(self, Py_ssize_t places, Py_ssize_t n_classes) except -1
    cdef int reserve_leaves(self, Tree *tree) except -1
    cdef int reserve_blocks(self) except -1
    cdef uint64_t draw(self) noexcept nogil
    cdef inline Block *block_at(self, Py_ssize_t b) noexcept nogil:
        return <Block *> (self.blocks + b * self.block_floats)

    cdef inline float *totals(self, const Block *block) noexcept nogil:
        return <float *> block + sizeof(Block) // 4

    cdef inline float *body(self, const Block *block) noexcept nogil:
        # candidates, low, high (of a target, step); then the rows of classes or the bins
        return <float *> block + sizeof(Block) // 4 + (0 if self.regression else (self.n_classes + 3) // 4 * 4)

    cdef void place_values(self, const int32_t *places, const double *values, Py_ssize_t size) noexcept nogil
    cdef int32_t route(self, const Tree *tree) noexcept nogil
    cdef void gather(self, const Block *block) noexcept nogil
    cdef void find_bins(self, const Block *block) noexcept nogil
    cdef void answer(self, int t, double *p) noexcept nogil
    cdef void learn_tree(self, int t, double target, float w) noexcept nogil
    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil
    cdef bint judge(self, int t, double error) noexcept nogil
    cdef bint may_restart(self, int t) noexcept nogil
    cdef void weigh(self) noexcept nogil
    cdef void begin(self, int t) noexcept nogil
    cdef void open_block(self, int t, int32_t leaf, int32_t b) noexcept nogil
    cdef void choose_candidates(self, Block *block) noexcept nogil
    cdef void close_block(self, int32_t b) noexcept nogil
    cdef void close_least(self, int t) noexcept nogil
    cdef bint take_block(self, int t, int32_t leaf) noexcept nogil
    cdef void challenge(self, int t, int32_t leaf) noexcept nogil
    cdef void try_split(self, int t) noexcept nogil
    cdef void split(self, int t, int32_t feature, float cut, float share) noexcept nogil
    cdef void give_blocks(self, int t, int32_t one, int32_t other) noexcept nogil
    cdef void sweep(self) noexcept nogil
    cdef void fold(self) noexcept nogil
