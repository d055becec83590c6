cdef class Calibration:
    cdef double slope, curvature, mean_square
    cdef readonly Py_ssize_t seen

    cpdef double factor(self)
    cpdef int update(self, double margin) except -1


cpdef double sigmoid(double z)
cdef void softmax(const double *scores, double factor, Py_ssize_t n, double *out) noexcept nogil
