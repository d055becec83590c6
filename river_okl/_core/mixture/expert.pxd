from libc.stdint cimport int64_t

from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis, Classes, Table


cdef struct Outcome:
    double target               # of the sample: the number of its class, or a number in units of the deviation
    double exact                # a number as it came, in these units; ``target`` may have been clipped as an outlier
    double w                    # its weight relative to those of the stream
    double counts               # the same, bounded, for what has no bound of its own
    double discount             # of the evidence so far for the mixture weights
    bint confident              # whether the mixture predicted it confidently
    int64_t seen                # samples learned, with this one
    const double *p             # [rows, n_classes] the predictions of all experts
    int64_t late                # samples learned since it was asked; 0: none, or its predictions are unknown
    const double *as_asked      # these predictions, and what the mixture made of them; p if ``late`` is 0
    const double *process_weights


cdef class Expert(Table):
    cdef readonly str name
    cdef readonly Py_ssize_t rows       # how many of the mixture's predictions are its own; 0: it only learns
    cdef Py_ssize_t first               # of these
    cdef bint wants_point               # whether it wants the sample that it has learned as a point
    # the axes of its arrays, those that it has
    cdef Axis per_point, per_feature
    cdef Classes per_class

    # A sample
    cdef int ask(self, const Sample *x, double *p) except -1
    cdef bint learn(self, const Sample *x, const Outcome *y) except -1
    # Room
    cdef int reserve_points(self) except -1
    cdef int reserve_places(self, Py_ssize_t places) except -1
    # Changes
    cdef int add_class(self) except -1
    cdef void rescale(self, double ratio, double shift) noexcept
    cdef void forget(self, list places) noexcept
    cdef void tune(self) noexcept
    # Points come and go
    cdef bint references(self, Py_ssize_t i) noexcept
    cdef bint is_full(self) noexcept
    cdef Py_ssize_t evict(self, const double *process_weights) noexcept
    cdef int claim(self, Py_ssize_t i) except -1
    cdef void point_added(self, double target) noexcept
    cdef void point_removed(self, Py_ssize_t i) noexcept
    # What there is
    cdef void explain(self, const double *weight, bint at_sample, double *out) noexcept
    cdef void add_metrics(self, const double *weight, double *metrics) noexcept
