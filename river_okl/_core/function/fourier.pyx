"""Random Fourier features of samples, and linear functions of them.

The frequencies of a feature are a function of a key and the feature's name, and not part of a model.  They are cached
for the last ``KEPT`` to twice as many names, so that names which never recur do not fill the memory: when ``young`` is
full it becomes ``old``, from which names still in use move back.
"""

import numpy as np

from cpython.object cimport PyObject
from libc.math cimport fabs, sqrt
from libc.stdlib cimport qsort

from river_okl._core.function.protocol cimport Function
from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.kernel.rows cimport Rows
from river_okl._core.loops cimport FARTHEST
from river_okl._core.simd cimport fourier, linalg
from river_okl._core.store.features cimport Features
from river_okl._core.store.buffers cimport Owner
from river_okl._core.store.points cimport LANES, Points
from river_okl._core.store.sample cimport Frame, Sample, same_names, set_key

from river_okl._core.function.frequencies import frequencies
from river_okl._core.states import checked_numbers, checked_whole

cdef extern from "Python.h":
    PyObject *PyDict_GetItemWithError(object d, object key) except? NULL

cdef enum:
    KEPT = 1000
cdef double LARGEST_FREQUENCY = 9.0  # bound on a normal random number from 53 bits by the Box-Muller transform


cdef struct Item:
    # A feature of a sample: its frequencies, and its position in the sample.
    const double *column
    Py_ssize_t position


cdef int by_frequency(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const Item *> a).column[0], y = (<const Item *> b).column[0]
    return (x > y) - (x < y)


cdef class Column(Owner):
    """The frequencies of a feature, aligned and padded for the loops."""

    cdef double *numbers

    def __cinit__(self, const double[::1] column):
        cdef Py_ssize_t i
        self.numbers = self.doubles(NULL, 0, (column.shape[0] + LANES - 1) // LANES * LANES)
        for i in range(column.shape[0]):
            self.numbers[i] = column[i]


cdef class RandomFeatures(Owner):
    """Scratch: z(x) = √(1/D) (cos Ux, sin Ux) of the last sample, U ~ N(0, 2γ).

    The columns of U are sorted before they are summed, so that the order of a sample's features makes no difference.
    """

    cdef Py_ssize_t D
    cdef object key
    cdef dict young, old            # name -> Column
    cdef list columns               # of the features of the last sample, in its order
    cdef PyObject **keys            # and their names, owned; beyond `size` NULL
    cdef Item *items                # and their columns, in the order of summation
    cdef Py_ssize_t size, allocated
    cdef const double **pointers    # [allocated] arguments of the loops
    cdef double *values
    cdef double *z                  # [2 D]
    cdef bint fresh                 # whether z is that of the last sample

    def __cinit__(self, Py_ssize_t n_components, key):
        self.D = n_components
        self.key = key
        self.young, self.old, self.columns = {}, {}, []
        self.z = self.doubles(NULL, 0, 2 * n_components)

    def __dealloc__(self):
        self.forget_names()

    cdef void forget_names(self) noexcept:
        cdef Py_ssize_t i
        for i in range(self.size):
            set_key(&self.keys[i], NULL)
        self.size = 0

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Reserve room for a sample of ``size`` features, and forget the names."""
        cdef Py_ssize_t allocated
        self.forget_names()
        if size > self.allocated:
            allocated = max(size, 2 * self.allocated, 8)
            self.keys = <PyObject **> self.resize(self.keys, 0, allocated, sizeof(PyObject *))
            self.items = <Item *> self.resize(self.items, 0, allocated, sizeof(Item))
            self.pointers = <const double **> self.resize(self.pointers, 0, allocated, sizeof(double *))
            self.values = self.doubles(self.values, 0, allocated)
            self.allocated = allocated
        return 0

    cdef Column column_of(self, object name):
        """Return the column of a name that is not in ``young``."""
        column = self.old.pop(name, None)
        if column is None:
            column = Column(frequencies(self.key, name, self.D))
        if len(self.young) >= KEPT:
            self.young, self.old = {}, self.young
        self.young[name] = column
        return column

    cdef int look_up(self, Sample *x) except -1:
        """Look up the columns of the features of x."""
        cdef Py_ssize_t i
        cdef PyObject *known
        cdef list columns = []
        for i in range(x.size):  # may call a name's __hash__
            known = PyDict_GetItemWithError(self.young, <object> x.keys[i])
            columns.append(<object> known if known != NULL else self.column_of(<object> x.keys[i]))
        self.reserve(x.size)
        self.columns = columns
        for i in range(x.size):
            set_key(&self.keys[i], x.keys[i])
            self.items[i].column = (<Column> columns[i]).numbers
            self.items[i].position = i
        self.size = x.size
        qsort(self.items, self.size, sizeof(Item), by_frequency)
        return 0

    cdef int see(self, Sample *x, double gamma) except -1:
        """Compute z of this sample, now the last one."""
        cdef Py_ssize_t i, m = 0
        cdef double sum = 0.0, scale = sqrt(2.0 * gamma)
        self.fresh = False
        if x.size != self.size or not same_names(x.keys, self.keys, x.size):
            self.look_up(x)
        for i in range(self.size):
            if x.numbers[self.items[i].position] != 0.0:
                self.pointers[m] = self.items[i].column
                self.values[m] = x.numbers[self.items[i].position]
                sum += fabs(self.values[m])
                m += 1
        features = fourier.features if scale * sum * LARGEST_FREQUENCY <= FARTHEST else fourier.far
        features(self.pointers, self.values, m, self.D, scale, sqrt(1.0 / self.D), self.z)
        self.fresh = True
        return 0


cdef class FourierExpansion(Function):
    """f = w · z(x): a linear function of random features, which approximate a Gaussian kernel.

    Parameters
    ----------
    kernel
        The terms of an ``RBF`` with one gamma.
    n_components
        D, the number of random frequencies: z has 2D numbers.
    key
        An integer that determines the frequencies.
    """

    # the rows have no points: they store the last sample and γ
    cdef RandomFeatures features
    cdef Py_ssize_t size            # 2D
    cdef readonly Py_ssize_t n_classes
    cdef object weights             # an array of shape (classes or 1, 2D); None: f = 0
    cdef double *w                  # its data
    cdef Py_ssize_t target, rival   # the direction of the last sample; no target: f itself

    def __init__(self, tuple kernel, Py_ssize_t n_components, key):
        self.rows = Rows(Points(Features()), CompiledKernel(kernel))
        self.features = RandomFeatures(n_components, key)
        self.size = 2 * n_components
        self.target = -1

    def __len__(self):
        return 0

    def __bool__(self):
        return self.weights is not None

    @property
    def key(self):
        return self.features.key

    cdef Py_ssize_t count_classes(self) noexcept:
        return self.n_classes

    # Values at a sample -----------------------------------------------------------------------------------------------

    cdef int look(self, sample) except -1:
        """Make this the last sample and compute its features."""
        if self.rows.look(sample) or not self.features.fresh:
            self.features.see(&self.rows.samples[self.rows.last], self.rows.kernel.factors[0].gamma)
        return 0

    cdef double at(self, Py_ssize_t c) noexcept:
        """Return f, or that of class c, at the last sample."""
        return linalg.dot(self.features.z, self.w + c * self.size, self.size) if self.w != NULL else 0.0

    def evaluate(self, sample, tuple weights=(1.0,)):
        """Return f(x) times the weight of the only output; with classes a list, one for each."""
        cdef double weight
        cdef Py_ssize_t c
        (weight,) = weights
        self.look(sample)
        if self.n_classes:
            return [weight * self.at(c) for c in range(self.n_classes)]
        return weight * self.at(0)

    def evaluate_many(self, Frame frame, tuple weights=(1.0,)):
        """Return ``evaluate`` of every row of a frame: an array of shape (rows, classes or 1)."""
        values = np.empty((len(frame), max(1, self.n_classes)))
        for i, row in enumerate(frame):
            values[i] = self.evaluate(row, weights)
        return values

    def features_of(self, sample, double scale):
        """Return scale · z(x) of a sample, as a list."""
        cdef Py_ssize_t i
        self.look(sample)
        return [scale * self.features.z[i] for i in range(self.size)]

    cdef double observed(self, sample, Py_ssize_t target) except? -1.0:
        """Implement ``observe``, as in ``Expansion``.

        A change of γ by this sample takes effect with the next one.
        """
        cdef Py_ssize_t c
        cdef double value, largest = 0.0
        if (self.n_classes > 0 or target >= 0) and not 0 <= target < self.n_classes:
            raise IndexError(f"class {target} of {self.n_classes}")
        self.look(sample)
        self.target, self.rival = target, -1
        value = self.at(max(target, 0))
        if target >= 0:
            for c in range(self.n_classes):
                if c != target and (self.rival < 0 or self.at(c) > largest):
                    self.rival, largest = c, self.at(c)
            value = sqrt(0.5) * (value - largest)
        if self.rows.kernel.adapting and self.rows.kernel.observe(&self.rows.samples[self.rows.last]):
            self.rows.kernel_moved()
        return value

    # Changing f -------------------------------------------------------------------------------------------------------

    cpdef int add(self, double c) except -1:
        """Set w ← w + c z(x) of the last sample, along its direction."""
        cdef Py_ssize_t n = self.size
        self.rows.seen()
        if self.w == NULL:
            self.take(np.zeros((max(1, self.n_classes), n)))
        if self.target < 0:
            fourier.step(c, self.features.z, n, self.w)
        else:
            fourier.step(sqrt(0.5) * c, self.features.z, n, self.w + self.target * n)
            fourier.step(-sqrt(0.5) * c, self.features.z, n, self.w + self.rival * n)
        return 0

    def add_class(self):
        """Add a class with f = 0; the third one also splits f into -f/√2 and f/√2 of the first two."""
        cdef Py_ssize_t n_classes = max(2, self.n_classes) + 1
        if self.w != NULL:
            W = self.weights if self.n_classes else np.sqrt(0.5) * np.concatenate([-self.weights, self.weights])
            self.take(np.concatenate([W, np.zeros((1, self.size))]))
        self.n_classes = n_classes

    cdef int take(self, double[:, ::1] weights) except -1:
        self.weights = np.asarray(weights)
        self.w = &weights[0, 0]
        return 0

    # Reading f --------------------------------------------------------------------------------------------------------

    @property
    def columns(self):
        """A copy of w: an array of shape (2D, classes or 1)."""
        W = np.zeros((max(1, self.n_classes), self.size)) if self.weights is None else self.weights.copy()
        return W.T

    @columns.setter
    def columns(self, matrix):
        W = np.array(matrix, dtype=np.float64).T
        if W.shape != (max(1, self.n_classes), self.size):
            raise ValueError(f"weights of shape {W.shape} for {self.n_classes} classes of {self.size} features")
        self.take(np.ascontiguousarray(W))

    @property
    def norm2(self):
        """‖w‖², which is ‖f‖² in the space of the kernel z(x) · z(x')."""
        return 0.0 if self.weights is None else float(self.weights.ravel() @ self.weights.ravel())

    def permute(self, list order):
        """Permute the classes: c becomes what order[c] was; for two labels, [1, 0] negates f."""
        if self.weights is None or order == sorted(order):
            return
        self.take(np.ascontiguousarray(self.weights[order] if self.n_classes else -self.weights))

    # State ------------------------------------------------------------------------------------------------------------

    def state(self):
        """Return the state by name, for ``restore``."""
        return {
            "kernel": self.rows.kernel.state(),
            "key": self.features.key,
            "n_classes": self.n_classes,
            "weights": None if self.weights is None else self.weights.copy(),
        }

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number."""
        key, weights = checked_whole(state, "key", 0, 2**53), state["weights"]
        n_classes = checked_whole(state, "n_classes", 0, 2**20)
        if n_classes in (1, 2):
            raise ValueError(f"n_classes is {n_classes}")
        if weights is not None:
            weights = checked_numbers("the weights of features", weights, (max(1, n_classes), self.size))
        self.rows.kernel.restore(state["kernel"])
        self.rows.kernel_moved()
        if key != self.features.key:
            self.features = RandomFeatures(self.features.D, key)
        self.n_classes = n_classes
        self.weights, self.w = None, NULL
        if weights is not None:
            self.take(np.array(weights, order="C"))

    def __setstate__(self, state):
        self.restore(state)

    def __reduce__(self):
        return FourierExpansion, (self.rows.kernel.terms, self.features.D, self.features.key), self.state()

    def _check(self):
        """Check the invariants by brute force."""
        self.rows.check()
        assert self.n_classes == 0 or self.n_classes > 2
        if self.weights is not None:
            assert self.weights.shape == (max(1, self.n_classes), self.size) and np.isfinite(self.weights).all()
            assert self.weights.ctypes.data == <size_t> self.w
