from river_okl._core.trees.forest cimport Forest


cdef class TargetForest(Forest):
    cdef double scale, offset               # a target's units: scale * inner + offset

    cdef void weigh(self) noexcept nogil
    cdef void fold(self) noexcept nogil
