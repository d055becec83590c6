"""Random Fourier features of the last sample of some kernel rows, and a linear model of them.

Frequencies are a function of the name of a feature and no part of a model: everything here is scratch.  Those of the
latest ``KEPT`` to twice as many names are cached, which bounds the memory: when ``young`` is full it becomes ``old``,
and what is still in use is taken over from there.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.math cimport fabs, sqrt
from libc.stdlib cimport qsort

from river_okl._core.linalg cimport linalg
from river_okl._core.loops cimport FARTHEST
from river_okl._core.memory cimport Owner
from river_okl._core.rows cimport Rows
from river_okl._core.sample cimport Sample, same_name
from river_okl._core.simd cimport fourier

cdef extern from "Python.h":
    PyObject *PyDict_GetItemWithError(object d, object key) except? NULL

cdef enum:
    LANES = 8
    KEPT = 1000
cdef double LARGEST_FREQUENCY = 9.0  # of a normal number from 53 bits, by Box and Muller


cdef struct Item:
    # A feature of a sample: its frequencies, and its position in the sample.
    const double *column
    Py_ssize_t position


cdef int by_frequency(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const Item *> a).column[0], y = (<const Item *> b).column[0]
    return (x > y) - (x < y)


cdef class Column(Owner):
    """The frequencies of a feature, as the loops want them."""

    cdef double *numbers
    cdef Py_ssize_t size

    def __cinit__(self, const double[::1] frequencies):
        cdef Py_ssize_t i
        self.size = (frequencies.shape[0] + LANES - 1) // LANES * LANES
        self.numbers = self.doubles(NULL, 0, self.size)
        for i in range(frequencies.shape[0]):
            self.numbers[i] = frequencies[i]


cdef class RandomFeatures(Owner):
    """z(x) = √(1/D) (cos Ux, sin Ux) with U ~ N(0, 2γ); ``draw(name)`` is the column of a feature in U for γ = 1/2.

    The columns are summed in an order of their own, so that the order of a sample's features makes no difference.
    """

    cdef Py_ssize_t D
    cdef object draw
    cdef dict young, old            # name -> Column
    cdef list columns               # of the features of the last sample, in its order
    cdef PyObject **keys            # and their names, owned; beyond `size` NULL
    cdef Item *items                # and where they are, in the order of summation
    cdef Py_ssize_t size, allocated
    cdef const double **pointers    # [allocated] what a call of the loops gets
    cdef double *values
    cdef double *numbers            # [allocated] of the last sample, whose features are z
    cdef double *z                  # [2 D]
    cdef double gamma
    cdef bint fresh

    def __cinit__(self, Py_ssize_t n_components, draw):
        self.D = n_components
        self.draw = draw
        self.young, self.old, self.columns = {}, {}, []
        self.z = self.doubles(NULL, 0, 2 * n_components)

    def __dealloc__(self):
        self.forget_names()

    cdef void forget_names(self) noexcept:
        cdef Py_ssize_t i
        for i in range(self.size):
            Py_XDECREF(self.keys[i])
        self.size = 0

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Room for a sample of as many features; no names are kept."""
        cdef Py_ssize_t allocated
        self.forget_names()
        if size > self.allocated:
            allocated = max(size, 2 * self.allocated, 8)
            self.keys = <PyObject **> self.resize(self.keys, 0, allocated, sizeof(PyObject *))
            self.items = <Item *> self.resize(self.items, 0, allocated, sizeof(Item))
            self.pointers = <const double **> self.resize(self.pointers, 0, allocated, sizeof(double *))
            self.values = self.doubles(self.values, 0, allocated)
            self.numbers = self.doubles(self.numbers, 0, allocated)
            self.allocated = allocated
        return 0

    cdef Column column_of(self, object name):
        """The column of a name that is not among the young ones."""
        column = self.old.pop(name, None)
        if column is None:
            column = Column(self.draw(name))
        if len(self.young) >= KEPT:
            self.young, self.old = {}, self.young
        self.young[name] = column
        return column

    cdef int look_up(self, Sample *x) except -1:
        """The columns of the features of x, which are others than those of the sample before."""
        cdef Py_ssize_t i
        cdef PyObject *known
        cdef list columns = []
        for i in range(x.size):  # may call a name's __hash__
            known = PyDict_GetItemWithError(self.young, <object> x.keys[i])
            columns.append(<object> known if known != NULL else self.column_of(<object> x.keys[i]))
        self.reserve(x.size)
        self.columns = columns
        for i in range(x.size):
            Py_INCREF(<object> x.keys[i])
            self.keys[i] = x.keys[i]
            self.items[i].column = (<Column> columns[i]).numbers
            self.items[i].position = i
        self.size = x.size
        qsort(self.items, self.size, sizeof(Item), by_frequency)
        return 0

    cdef bint same_names(self, Sample *x) noexcept:
        cdef Py_ssize_t i
        if x.size != self.size:
            return False
        for i in range(x.size):
            if not same_name(x.keys[i], self.keys[i]):
                return False
        return True

    cpdef double value(self, Rows rows, object sample, double[::1] w) except? -1.0:
        """w · z(x) of a sample, which becomes the last one of ``rows``; z(x) is kept for ``move``."""
        self.check(w)
        self.look(rows, sample)
        return linalg.dot(self.z, &w[0], 2 * self.D)

    def features(self, Rows rows, object sample, double scale):
        """scale · z(x) of a sample, as a list."""
        cdef Py_ssize_t i
        self.look(rows, sample)
        return [scale * self.z[i] for i in range(2 * self.D)]

    cdef int look(self, Rows rows, object sample) except -1:
        """A sample becomes the last one of ``rows``, and its features stand in z."""
        rows.look(sample)
        self.see(&rows.samples[rows.last], rows.kernel.factors[0].gamma)
        return 0

    cdef int check(self, double[::1] w) except -1:
        if w.shape[0] != 2 * self.D:
            raise ValueError(f"{w.shape[0]} weights for {self.D} components")
        return 0

    cdef int see(self, Sample *x, double gamma) except -1:
        """z of this sample; computed unless sample and γ are those of the last call."""
        cdef Py_ssize_t i
        cdef bint again = self.same_names(x)
        if not again:
            self.fresh = False
            self.look_up(x)
        again = again and self.fresh and gamma == self.gamma
        for i in range(x.size):
            again = again and x.numbers[i] == self.numbers[i]
            self.numbers[i] = x.numbers[i]
        if not again:
            self.gamma = gamma
            self.compute()
        return 0

    cdef void compute(self) noexcept:
        """z from ``numbers``, ``items`` and γ."""
        cdef Py_ssize_t i, m = 0
        cdef double sum = 0.0, scale = sqrt(2.0 * self.gamma)
        for i in range(self.size):
            if self.numbers[self.items[i].position] != 0.0:
                self.pointers[m] = self.items[i].column
                self.values[m] = self.numbers[self.items[i].position]
                sum += fabs(self.values[m])
                m += 1
        features = fourier.features if scale * sum * LARGEST_FREQUENCY <= FARTHEST else fourier.far
        features(self.pointers, self.values, m, self.D, scale, sqrt(1.0 / self.D), self.z)
        self.fresh = True

    cpdef int move(self, Rows rows, double c, double[::1] w) except -1:
        """w ← w + c z, with the z of the last ``value``."""
        self.check(w)
        rows.seen()
        fourier.step(c, self.z, 2 * self.D, &w[0])
        return 0
