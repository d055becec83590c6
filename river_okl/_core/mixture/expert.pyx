"""The interface of an expert; an expert overrides only what it needs.

A new expert is a class with ``ask``, ``learn`` and ``names`` in a file of its own, which a mixture lists among its
experts.  What it learns is in arrays that it declares (store/table.pyx): that makes room for points, features and
classes, forgets them, and saves, checks, permutes and merges what is learned.

An expert learns from a sample as it is today, from the ``p`` that ``ask`` has just written.  The mixture scores it on
the predictions ``as_asked``, which are the same unless the label is ``late``.
"""


cdef class Expert(Table):
    """An expert without predictions, points or state."""

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        """Write the predictions for a sample: of each row the probabilities of every class, or one number."""
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Learn the sample that ``ask`` saw last; whether the expert wants it as a point."""
        return False

    # Room -------------------------------------------------------------------------------------------------------------

    cdef int reserve_points(self) except -1:
        """Room for as many points as ``Points`` have room for."""
        return self.reserve() if self.per_point is not None and self.per_point.is_full() else 0

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        """Room for features at this many places."""
        return self.reserve() if self.per_feature is not None and self.per_feature.is_full() else 0

    # Changes ----------------------------------------------------------------------------------------------------------

    cdef int add_class(self) except -1:
        """One more class.  With the third, a function of two becomes one for each class."""
        if self.per_class is not None:
            self.append_class(self.per_class)
        return 0

    cdef void rescale(self, double ratio, double shift) noexcept:
        """The unit of the target changes: y becomes ratio · y + shift."""

    cdef void forget(self, list places) noexcept:
        """The scaler has dropped the features at these places."""
        cdef Py_ssize_t place
        for place in places if self.per_feature is not None else ():
            self.reset(self.per_feature, place)

    cdef void tune(self) noexcept:
        """Bandwidths follow the mean distances of the stream."""

    # Points come and go -----------------------------------------------------------------------------------------------

    cdef bint references(self, Py_ssize_t i) noexcept:
        """Whether the expert needs point i."""
        return False

    cdef bint is_full(self) noexcept:
        """Whether one of its points must go before the sample that it wants becomes one."""
        return False

    cdef Py_ssize_t evict(self, const double *process_weights) noexcept:
        """Give up the point with the lowest removal cost; which it was, -1: the sample itself."""
        return -1

    cdef int claim(self, Py_ssize_t i) except -1:
        """The sample that it wanted has become point i."""
        return 0

    cdef void point_added(self, double target) noexcept:
        """There is a new last point, with this target, which the expert does not hold."""

    cdef void point_removed(self, Py_ssize_t i) noexcept:
        """Point i, which is unreferenced, is gone, and the last one has taken its position."""
        if self.per_point is not None:
            self.swap_remove(self.per_point, i)

    # What there is ----------------------------------------------------------------------------------------------------

    cdef void explain(self, const double *weight, bint at_sample, double *out) noexcept:
        """Add the coefficients of its points, weighted like its predictions; ``at_sample``, their contributions."""

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        """Add the weight of its predictions to the metric under which it measures distances."""

    def names(self):
        """Of its predictions, as ``OKLClassifier.experts`` shows them."""
        return []

    def merged(self, merging):
        """The state that the states of several mixtures (``river_okl.merging.mixture.Merging``) become."""
        return merging.arrays(self)
