"""What a model steps over, and the loops over the rows of a frame: what ``learn_one`` of a regressor and of a
classifier does between its checks and ``_step``.

``step`` is a model's own, as the file of its algorithm has it: there is no other source of it.  A frame's row is
encoded without a dict, and each row holds the model's lock.  (Compiled in pure Python mode, too, the steps of
perceptrons, BOGD and OLRD took a tenth less time than Python's own: what they wait for is attributes, generators and
calls that stay Python's.)

Everything is checked before: if a row is rejected all the same, for its kernel with itself, those before it are
learned.
"""

from cpython.object cimport PyObject

from river_okl._core.calibration cimport Calibration
from river_okl._core.lock cimport Lock
from river_okl._core.sample cimport Frame

cdef extern from "Python.h":
    PyObject *PyDict_GetItemWithError(object items, object key) except? NULL  # borrowed


cdef class Function:
    """f of a model: a kernel expansion (expansion.pyx), or a linear function of random features (fourier.pyx).

    Both have what ``river_okl/model.py`` asks for::

        evaluate(x, weights), evaluate_many(frame, weights)     f(x), or one value for each class
        observe(x, class)       f(x) of a sample that is about to be learned, along its direction
        add(c)                  f ← f + c κ(x, ·) for that sample, along that direction
        add_class(), n_classes  0 classes: f is one function
        columns                 the coefficients: a row for each term, a column for each output of each class
        kernel, norm2
        len(f)                  support vectors; ``bool(f)`` is False as long as f = 0
    """

    def __cinit__(self):
        self.lock = Lock()

    @property
    def kernel(self):
        """The kernel as the core has it."""
        return self.rows.kernel

    @property
    def memo(self):
        """Whether what is known of the last sample is used again; tests switch it off."""
        return self.rows.memo

    @memo.setter
    def memo(self, bint value):
        self.rows.memo = value

    cpdef double observe(self, sample, Py_ssize_t target=-1) except? -1.0:
        """f(x) of a sample that is about to be learned, along its direction."""
        raise NotImplementedError

    cdef Py_ssize_t count_classes(self) noexcept:
        return 0


cpdef double observe_label(Function f, Calibration calibration, sample, Py_ssize_t position) except? -1.0:
    """``f.observe`` a sample whose label has this position; its margin counts for the calibration."""
    cdef bint classes = f.count_classes() > 0
    cdef double value = f.observe(sample, position if classes else -1)
    calibration.update(value if classes or position else -value)
    return value


def learn_targets(step, Function f, Frame frame, list targets, list weights):
    """``step`` for every row, whose targets and weights are floats."""
    cdef Py_ssize_t i
    for i in range(len(frame)):
        try:
            f.lock.acquire()
            f.lock.compiled = True
            frame.row = i
            step(f, targets[i], f.observe(frame), weights[i])
        finally:
            f.lock.release()


def learn_labels(step, Function f, Frame frame, list targets, list weights, labels, place, Calibration calibration):
    """``step`` for every row, whose label is ±1 by its position; one that is new gets it from ``place(row, label)``."""
    cdef Py_ssize_t i, position
    cdef PyObject *found
    cdef double p
    cdef object plus = 1.0, minus = -1.0
    for i in range(len(frame)):
        try:
            f.lock.acquire()
            f.lock.compiled = True
            frame.row = i
            found = PyDict_GetItemWithError(labels.positions, targets[i])
            position = <object> found if found != NULL else place(frame, targets[i])
            p = observe_label(f, calibration, frame, position)
            step(f, plus if position or f.count_classes() else minus, p, weights[i])
        finally:
            f.lock.release()


def set_labels(labels, list names, dict positions, f):
    """``names`` and ``positions`` of labels, one of which is new; from the third on f, if there is one, gets its class.

    No signal handler runs in between, as it could between two lines of Python: labels and classes are as many as each
    other.
    """
    if f is not None and len(names) > 2:
        f.add_class()
    labels.names, labels.positions = names, positions


def learn_new_label(labels, list names, dict positions, f, sample, label, double w):
    """``set_labels``, and ``f.learn`` of the sample that brings the label: both, whatever signals come."""
    set_labels(labels, names, positions, f)
    f.learn(sample, <double> positions[label], w)
