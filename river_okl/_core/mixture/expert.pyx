"""The interface of an expert; an expert overrides only what it needs.

A new expert is a class with ``ask``, ``learn`` and ``names`` in its own file, which a mixture lists among its
experts.  It keeps its state in arrays that it declares (store/table.pyx).  From the declaration follow room
for points, features and classes, their removal, saving and checking.  An expert with
other state overrides the methods of ``Table``: ``reserve``, ``forget``, ``swap_remove``, ``change_units``,
``state`` and ``restore``.

An expert learns from its current predictions, the ``p`` that ``ask`` has just written.  The mixture scores it on the
predictions ``as_asked``, which are the same unless the label is ``late``.
"""

cdef double DISCOUNT = 0.99             # of log-weights and running errors
cdef double NEWCOMER = 2.0              # reduction of the first log-weight of what replaces or joins others


cdef class Expert(Table):
    """An expert without predictions, points or state."""

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int ask(self, const Sample *x, double *p) except -1:
        """Write the predictions for a sample: for each row the probabilities of every class, or one number."""
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Learn the last sample of ``ask``; return whether the expert wants it as a point."""
        return False

    # Changes ----------------------------------------------------------------------------------------------------------

    cdef int add_class(self) except -1:
        """Add a class.  With the third, the function of two classes becomes one function per class."""
        if self.per_class is not None:
            self.append_class(self.per_class)
        return 0

    cdef void rescale(self, double ratio, double shift) noexcept:
        """Change the unit of the target: y becomes ratio · y + shift.  Arrays declared with a power of that
        unit are converted afterwards."""

    cdef void tune(self) noexcept:
        """Update data-driven bandwidths to the mean distances of the stream."""

    # Adding and removing points ---------------------------------------------------------------------------------------

    cdef bint references(self, Py_ssize_t i) noexcept:
        """Whether the expert needs point i."""
        return False

    cdef bint is_full(self) noexcept:
        """Whether one of its points must be evicted before the sample that it wants becomes a point."""
        return False

    cdef Py_ssize_t evict(self, const double *process_weights) noexcept:
        """Evict the point with the lowest removal cost; return its position, or -1 for the sample itself."""
        return -1

    cdef int claim(self, Py_ssize_t i) except -1:
        """Reference point i, which is the sample that the expert wanted."""
        return 0

    # Explanations and state -------------------------------------------------------------------------------------------

    cdef void add_coefficients(self, const double *weight, double *out) noexcept:
        """Add the coefficients of its points, weighted like its predictions."""

    cdef void add_metrics(self, const double *weight, double *metrics) noexcept:
        """Add the weight of its predictions to the metric that it uses."""

    def names(self):
        """Return the names of its predictions, as ``OKLClassifier.experts`` shows them."""
        return []
