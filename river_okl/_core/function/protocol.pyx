"""The function that a model updates, and the loops over the rows of a frame: the part of ``learn_one`` of a
regressor or classifier between its checks and ``_step``.

``step`` is the model's Python method.  (Compiling the steps of perceptrons, BOGD and OLRD in pure Python mode
saved a tenth of their time: most goes into attributes, generators and calls, which remain Python's.)  A
frame's row is encoded without a dict, and the model's lock is acquired for each row.

Input is checked beforehand.  If a row is rejected nevertheless, for its κ(x, x), the rows before it are learned.
"""

from river_okl._core.calibration cimport Calibration
from river_okl._core.store.sample cimport Frame


cdef class Function:
    """f of a model: a kernel expansion (expansion.pyx), or a linear function of random features (fourier.pyx).

    Both implement the interface that ``river_okl/decision.py`` requires::

        evaluate(x, weights), evaluate_many(frame, weights)     f(x), or one value for each class
        observe(x, class)       f(x) of a sample to be learned, along its direction
        add(c)                  f ← f + c κ(x, ·) for that sample, along that direction
        add_class(), n_classes  0 classes: f is one function
        columns                 the coefficients: a row per term, a column per output of each class
        kernel, norm2
        len(f)                  number of support vectors; ``bool(f)`` is False as long as f = 0
    """

    def __cinit__(self):
        self.lock = Lock()

    @property
    def kernel(self):
        """The compiled kernel."""
        return self.rows.kernel

    @property
    def given(self):
        """The last sample, as an argument for other readers in the same step: see ``Given`` in sample.pyx."""
        return self.rows.given()

    def observe(self, sample, Py_ssize_t target=-1):
        """Return f(x) of a sample to be learned, along its direction; with classes, ``target`` is the class of x."""
        return self.observed(sample, target)

    cdef double observed(self, sample, Py_ssize_t target) except? -1.0:
        raise NotImplementedError

    cdef Py_ssize_t count_classes(self) noexcept:
        return 0


cpdef double observe_label(Function f, Calibration calibration, sample, Py_ssize_t position) except? -1.0:
    """Return ``f.observe`` of a sample whose label has this position, and update the calibration with its margin."""
    cdef bint classes = f.count_classes() > 0
    cdef double value = f.observed(sample, position if classes else -1)
    calibration.update(value if classes or position else -value)
    return value


def learn_targets(step, Function f, Frame frame, list targets, list weights):
    """Call ``step`` for every row; targets and weights are floats."""
    cdef Py_ssize_t i
    for i in range(len(frame)):
        try:
            f.lock.acquire()
            frame.row = i
            step(f, targets[i], f.observed(frame, -1), weights[i])
        finally:
            f.lock.release()


def learn_labels(step, Function f, Frame frame, list targets, list weights, labels, place, Calibration calibration):
    """Call ``step`` for every row, with labels ±1 by position; ``place(row, label)`` adds a new label."""
    cdef Py_ssize_t i, position
    cdef double p
    cdef object plus = 1.0, minus = -1.0
    for i in range(len(frame)):
        try:
            f.lock.acquire()
            frame.row = i
            found = (<dict> labels.positions).get(targets[i])
            position = place(frame, targets[i]) if found is None else found
            p = observe_label(f, calibration, frame, position)
            step(f, plus if position or f.count_classes() else minus, p, weights[i])
        finally:
            f.lock.release()


def set_labels(labels, list names, dict positions, f):
    """Set ``names`` and ``positions`` of labels, one of them new; from the third label on, add a class to f, if given.

    Compiled, so that no signal handler can interrupt: the numbers of labels and classes always agree.
    """
    if f is not None and len(names) > 2:
        f.add_class()
    labels.names, labels.positions = names, positions


def learn_new_label(labels, list names, dict positions, f, sample, label, double w):
    """Call ``set_labels``, then ``f.learn`` of the sample with the new label; signals cannot interrupt between them."""
    cdef double position = positions[label]
    set_labels(labels, names, positions, f)
    f.learn(sample, position, w)
