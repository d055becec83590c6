"""What Cython sees of merging.h."""

cdef extern from "merging.h":
    const double SLACK

    ctypedef struct Merging:
        void (*losses)(
            const double *coef, double scale, const double *kappa, Py_ssize_t n, double alpha_p, double *out
        ) noexcept nogil

    const Merging *find_merging(const char *name)
    double merged(double alpha, double alpha_p, double kappa, double *h, double *alpha_z) noexcept nogil


cdef const Merging *merging  # in use
