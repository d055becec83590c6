from libc.stdint cimport int32_t, int64_t

from river_okl._core.trees.tree cimport Block, Tree, Trees

cdef enum:
    GROWN = 300                 # samples after which a tree may restart

cdef float LEAST_BRANCH


cdef struct Best:
    # The best of a block's candidates that have been compared so far.
    Py_ssize_t candidate        # -1: no candidate has a gain
    float cut
    double gain, second         # gains of the best and the second-best candidate


cdef inline void compare(Best *best, Py_ssize_t candidate, double gain, float cut) noexcept nogil:
    """Compare one more candidate, with its best cut; of equals the first is the best."""
    if gain > best.gain:
        best.second, best.gain = best.gain, gain
        best.candidate, best.cut = candidate, cut
    elif gain > best.second:
        best.second = gain


cdef class Forest(Trees):
    cdef readonly int64_t seen
    # scratch: the last sample
    cdef bint fresh                         # leaves and votes are of that sample
    cdef int32_t *chosen                    # [m] candidates that are present, if few features are
    cdef Py_ssize_t n_chosen                # -1: all candidates are read
    cdef float *x                           # [m] candidates' values
    cdef int32_t *bins                      # [m] bins of present candidates, as positions in a class's histograms
    cdef Py_ssize_t n_bins
    cdef double *votes                      # [n_trees, n_classes]

    # What the kind of leaf defines
    cdef void answer(self, int t, double *p) noexcept nogil
    cdef void average(self, double *out) noexcept nogil
    cdef double error_of(self, int t, double target) noexcept nogil
    cdef double learn_leaf(self, Tree *tree, float *counts, double error, double target, float w) noexcept nogil
    cdef void learn_block(self, Block *block, double target, float w) noexcept nogil
    cdef bint find_split(self, const Block *block, Best *best) noexcept nogil
    cdef bint may_restart(self, int t) noexcept nogil
    # A sample
    cdef void gather(self, const Block *block) noexcept nogil
    cdef void find_bins(self, const Block *block) noexcept nogil
    cdef void answer_all(self) noexcept nogil
    cdef void vote(self, const int32_t *places, const double *values, Py_ssize_t size, double *out) noexcept nogil
    cdef void take_sample(
        self, const int32_t *places, const double *values, Py_ssize_t size, double target, double w
    ) noexcept nogil
    cdef void learn_tree(self, int t, double target, float w) noexcept nogil
    # Splits and restarts
    cdef double epsilon(self, const Block *block) noexcept nogil
    cdef bint detects_change(self, int t, double error) noexcept nogil
    cdef void restart(self, int t) noexcept nogil
