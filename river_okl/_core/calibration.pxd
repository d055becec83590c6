cimport cython


@cython.final
cdef class Calibration:
    cdef double slope, curvature, mean_square
    cdef readonly Py_ssize_t seen

    cpdef double factor(self)
    cpdef int update(self, double margin) except -1


cpdef double sigmoid(double z)
cdef void softmax(const double *scores, double factor, Py_ssize_t n, double *out) noexcept nogil
cdef void probabilities_of(const double *scores, double factor, Py_ssize_t columns, double *out) noexcept
cdef void weights_of_logs(double *log_weight, Py_ssize_t n, double *weight) noexcept nogil
cdef void weights_of_losses(const double *loss, Py_ssize_t step, Py_ssize_t n, double *weight) noexcept nogil
cdef void fit_inverse_temperature(
    const double *scores, const double *p, Py_ssize_t n, Py_ssize_t c, double low, double high,
    double *inverse_temperature, double *curvature
) noexcept nogil
