from river_okl._core.trees.forest cimport Forest


cdef class TargetForest(Forest):
    cdef double scale, offset               # target = scale * inner + offset; leaves store inner units

    cdef void weigh(self) noexcept nogil
    cdef void fold(self) noexcept nogil
