from libc.stdint cimport int32_t

from river_okl._core.trees.forest cimport Forest
from river_okl._core.trees.tree cimport Block


cdef class ClassForest(Forest):
    # scratch: the last sample
    cdef double *joint                      # [n_classes]
    cdef int32_t *by_counts                 # [n_trees] class of the greatest count, ...
    cdef int32_t *by_bayes                  # ... naive Bayes's, or -1, ...
    cdef int32_t *voted                     # ... and the one of the two that counted

    cdef inline float *totals(self, const Block *block) noexcept nogil:
        # [n_classes] weights
        return <float *> block + sizeof(Block) // 4
