from libc.math cimport fmin
from libc.stdint cimport int64_t

from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Classes, Table

cdef double DISCOUNT, NEWCOMER


cdef struct Outcome:
    double target               # of the sample: the number of its class, or a number in standard deviations
    double exact                # this number before it was clipped as an outlier
    double w                    # its weight relative to the weights of the stream
    double counts               # the same, bounded, for models without a bound of their own
    double discount             # factor of past evidence for the mixture weights
    bint confident              # whether the mixture predicted it confidently
    const double *p             # [rows, n_classes] the predictions of all experts
    const double *residual      # [PROCESSES] ratios of squared residuals to predicted variances; NULL: of classes
    int64_t late                # samples learned since its prediction; 0: none, or its predictions are unknown
    const double *as_asked      # predictions at that time, then the mixture's numbers; p if ``late`` is 0


cdef inline double with_residual(double square, double residual, double rate) noexcept:
    """Return a running mean square after one more residual, which counts as at most five standard deviations."""
    return square + rate * (fmin(residual * residual, 25.0 * square) - square)


cdef class Expert(Table):
    cdef readonly Py_ssize_t rows       # number of its predictions; 0: it only learns
    cdef Py_ssize_t first               # index of the first one among all experts' predictions
    cdef bint wants_point               # whether it wants the sample that it has learned as a point
    cdef Classes per_class              # None: no array has an item for each class

    # A sample
    cdef int ask(self, const Sample *x, double *p) except -1
    cdef bint learn(self, const Sample *x, const Outcome *y) except -1
    # Changes
    cdef int add_class(self) except -1
    cdef void rescale(self, double ratio, double shift) noexcept
    cdef void tune(self) noexcept
    # Adding and removing points
    cdef bint references(self, Py_ssize_t i) noexcept
    cdef bint is_full(self) noexcept
    cdef Py_ssize_t evict(self, const double *process_weights) noexcept
    cdef int claim(self, Py_ssize_t i) except -1
    # Explanations
    cdef void add_coefficients(self, const double *weight, double *out) noexcept
    cdef void add_metrics(self, const double *weight, double *metrics) noexcept
