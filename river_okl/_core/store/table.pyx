"""Arrays with axes, each declared once: what keeps it alive follows from its declaration.

An object with arrays is a ``Table``.  It declares each of them where it is made, and works on their pointers:

    self.declare(<size_t> &self.counts, "counts", (self.per_class,), low=0.0, merge="mean")
    self.derive(<size_t> &self.log_counts, (self.per_class,))
    self.scratch(<size_t> &self.score, (self.per_class,))

A declared array is saved, checked and merged under its name; a derived one is computed from those, and a scratch one
holds nothing between two samples.  All of them grow with their axes.

An axis is what an array has one of each of: points, features (by their places in the scaler), classes, or a fixed
number of something.  Cell [i, j, k] of an array is number (i · room_j + j) · room_k + k of its buffer, so that a loop
takes the room of an axis from the axis.  Cells beyond the length of an axis have the default value.
"""

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.string cimport memcpy

import numpy as np

from river_okl._core.states import LARGEST_NUMBER, checked_array


cdef class Axis:
    """What arrays of one table have one of each of.

    Parameters
    ----------
    name
        "point", "feature" or "class".
    n
        How many there are.
    least
        The least room, if there is any.
    eighths
        How many eighths are added to the room when it is full.
    """

    def __init__(self, str name, Py_ssize_t n=0, *, Py_ssize_t least=0, Py_ssize_t eighths=0):
        self.name, self.n, self.room, self.least, self.eighths = name, n, n, least, eighths
        self.length = self.needed = &self.n

    cdef void watch(self, object owner, const Py_ssize_t *length, const Py_ssize_t *needed) noexcept:
        """They belong to another object, which counts them."""
        self.owner, self.length, self.needed = owner, length, needed

    def __len__(self):
        return self.length[0]


cdef class Classes(Axis):
    """The classes, or columns of coefficients for them.

    Parameters
    ----------
    n
        How many there are.
    split
        If it is not 0, the axis has one function f of two classes until there is a third: then the first class has the
        function -split · f, the second split · f, and the third 0.
    """

    def __init__(self, Py_ssize_t n, double split=0.0):
        Axis.__init__(self, "class", n, eighths=1)
        self.split = split

    cdef Py_ssize_t after(self) noexcept:
        """How many there are once there is one class more."""
        return 3 if self.split and self.n == 1 else self.n + 1


cdef class Array:
    """A declaration: see ``Table.declare``."""

    def __init__(
        self, size_t address, str name, tuple axes, *, dtype="f8", default=0.0, double low, double high, str merge,
        bint scratch
    ):
        self.data, self.name, self.axes, self.scratch = <void **> address, name, axes, scratch
        self.dtype, self.low, self.high, self.merge = np.dtype(dtype), low, high, merge
        self.item = self.dtype.itemsize
        value = np.array(default, dtype=self.dtype).tobytes()
        memcpy(self.blank, <const char *> value, self.item)
        self.zero = not any(value)

    @property
    def shape(self):
        """How many cells there are along each axis."""
        return tuple([len(axis) if isinstance(axis, Axis) else axis for axis in self.axes])

    cdef bint around(self, Axis axis, Py_ssize_t *before, Py_ssize_t *after) noexcept:
        """Whether it has this axis; of how many rows, and how many cells each item of a row has."""
        cdef Py_ssize_t room
        cdef bint found = False
        before[0] = after[0] = 1
        for each in self.axes:
            room = (<Axis> each).room if isinstance(each, Axis) else <Py_ssize_t> each
            if each is axis:
                found = True
            elif found:
                after[0] *= room
            else:
                before[0] *= room
        return found

    cdef Py_ssize_t size(self) noexcept:
        """How many cells there is room for."""
        cdef Py_ssize_t size, after
        self.around(None, &size, &after)
        return size

    cdef void clear(self, char *cells, Py_ssize_t n) noexcept:
        """The default value in so many cells."""
        cdef Py_ssize_t i
        for i in range(n):
            memcpy(cells + i * self.item, self.blank, self.item)

    cdef object buffer(self):
        """All cells, as an array on its buffer."""
        cdef Py_ssize_t size = self.item * self.size()
        room = [(<Axis> axis).room if isinstance(axis, Axis) else axis for axis in self.axes]
        if size == 0:
            return np.empty(room, self.dtype)
        cells = PyMemoryView_FromMemory(<char *> self.data[0], size, PyBUF_WRITE)
        return np.frombuffer(cells, self.dtype).reshape(room)

    cdef object cells(self):
        """Those in use."""
        return self.buffer()[tuple([slice(n) for n in self.shape])]

    @property
    def values(self):
        """A copy of its cells."""
        return self.cells().copy()

    @values.setter
    def values(self, values):
        self.cells()[...] = values

    def permuted(self, values, list order):
        """Values of it, in an order of the classes: the class at c was at order[c]."""
        for k, axis in enumerate(self.axes):
            if isinstance(axis, Classes):
                if (<Classes> axis).split == 0.0 or values.shape[k] > 1:
                    return np.take(values, order, axis=k)
                return -values if order == [1, 0] else values
        return values


cdef class Table(Owner):
    """An object with declared arrays."""

    def __cinit__(self):
        self.arrays, self.axes = [], []

    # What there is ----------------------------------------------------------------------------------------------------

    def declare(
        self, size_t address, str name, tuple axes, *, dtype="f8", default=0.0, low=-LARGEST_NUMBER,
        high=LARGEST_NUMBER, merge=None
    ):
        """An array of the state.

        Parameters
        ----------
        address
            Of the pointer, an attribute of this object.
        name
            In the state.
        axes
            An ``Axis``, or a fixed number, for each dimension.
        dtype
            Of a cell, at most eight bytes.
        default
            The value of a new cell.
        low, high
            Between which ``restore`` demands all values.
        merge
            How it merges, a word of ``river_okl.merging.mixture``; None: as ``merged`` of this object says.
        """
        self.append(
            Array(address, name, axes, dtype=dtype, default=default, low=low, high=high, merge=merge, scratch=False)
        )

    def derive(self, size_t address, tuple axes, *, dtype="f8", default=0.0):
        """An array that is computed from those of the state."""
        self.append(Array(address, None, axes, dtype=dtype, default=default, low=0, high=0, merge=None, scratch=False))

    def scratch(self, size_t address, tuple axes, *, dtype="f8"):
        """An array whose values are of the last sample: they do not survive growth."""
        self.append(Array(address, None, axes, dtype=dtype, default=0, low=0, high=0, merge=None, scratch=True))

    def append(self, Array array):
        cdef Py_ssize_t n = array.size()
        array.data[0] = self.resize(NULL, 0, n, array.item)
        array.clear(<char *> array.data[0], n)
        self.arrays.append(array)
        self.axes += [axis for axis in array.axes if isinstance(axis, Axis) and axis not in self.axes]

    # Room -------------------------------------------------------------------------------------------------------------

    cpdef int reserve(self) except -1:
        """Room for all that the axes count.  If this raises, nothing has changed."""
        cdef Axis axis
        for each in self.axes:
            axis = <Axis> each
            if axis.needed[0] > axis.room:
                self.grow(axis, axis.needed[0])
        return 0

    cpdef int grow(self, Axis axis, Py_ssize_t n) except -1:
        """Room for n along an axis, in every array that has it.  If this raises, nothing has changed."""
        cdef Py_ssize_t i, before, after, row, old = axis.room
        cdef Py_ssize_t room = max(n, axis.least, old + old * axis.eighths // 8)
        cdef Array array
        cdef char *cells
        if n <= old:
            return 0
        try:
            for each in self.arrays:
                array = <Array> each
                if array.around(axis, &before, &after):
                    array.next = self.resize(NULL, 0, before * room * after, array.item)
        except BaseException:
            for each in self.arrays:
                self.release((<Array> each).next)
                (<Array> each).next = NULL
            raise
        for each in self.arrays:
            array = <Array> each
            if not array.around(axis, &before, &after):
                continue
            row = after * array.item  # bytes of what there is of each item
            cells = <char *> array.next
            for i in range(0 if array.scratch else before):
                memcpy(cells + i * room * row, <char *> array.data[0] + i * old * row, old * row)
                if not array.zero:
                    array.clear(cells + (i * room + old) * row, (room - old) * after)
            self.release(array.data[0])
            array.data[0], array.next = cells, NULL
        axis.room = room
        return 0

    # Changes ----------------------------------------------------------------------------------------------------------

    cpdef void reset(self, Axis axis, Py_ssize_t i) noexcept:
        """Item i of an axis is new: its cells have the default value."""
        cdef Py_ssize_t j, before, after
        cdef Array array
        for each in self.arrays:
            array = <Array> each
            if not array.scratch and array.around(axis, &before, &after):
                for j in range(before):
                    array.clear(<char *> array.data[0] + (j * axis.room + i) * after * array.item, after)

    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept:
        """Item i of an axis, which counts it no longer, is gone: the last one takes its position."""
        cdef Py_ssize_t j, before, after, row, last = axis.length[0]
        cdef Array array
        cdef char *cells
        for each in self.arrays:
            array = <Array> each
            if i != last and not array.scratch and array.around(axis, &before, &after):
                row = after * array.item
                for j in range(before):
                    cells = <char *> array.data[0] + j * axis.room * row
                    memcpy(cells + i * row, cells + last * row, row)
        self.reset(axis, last)

    cpdef void append_class(self, Classes axis) noexcept:
        """One more class, for which there is room; see ``Classes``."""
        cdef Py_ssize_t i, j, before, after
        cdef Array array
        cdef double *cells
        if axis.split and axis.n == 1:
            for each in self.arrays:
                array = <Array> each
                if not array.scratch and array.around(axis, &before, &after):
                    for i in range(before):
                        cells = <double *> array.data[0] + i * axis.room * after
                        for j in range(after):
                            cells[after + j] = axis.split * cells[j]
                            cells[j] = -cells[after + j]
        axis.n = axis.after()

    # What is saved ----------------------------------------------------------------------------------------------------

    def state(self):
        """What ``restore`` takes, by name."""
        self.reserve()
        return {array.name: array.values for array in self.arrays if array.name}

    def restore(self, dict state):
        """Resume from a state, each number of which is checked: it may come from anywhere."""
        self.reserve()
        declared = [array for array in self.arrays if array.name]
        for array in declared:
            checked_array(state, array.name, array.dtype, array.shape, array.low, array.high)
        for array in declared:
            array.values = state[array.name]

    def permuted(self, dict state, list order):
        """A state of this object in which class c is what class order[c] was."""
        return state | {array.name: array.permuted(state[array.name], order) for array in self.arrays if array.name}

    def _check(self):
        """Assert the invariants, by brute force."""
        cdef Array array
        for axis in self.axes:
            assert 0 <= len(axis) <= axis.room and (<Axis> axis).needed[0] <= axis.room
        for array in self.arrays:
            assert array.data[0] != NULL and array.next == NULL
            if array.scratch:
                continue
            cells = array.buffer()
            unused = np.ones(cells.shape, dtype=bool)
            unused[tuple([slice(n) for n in array.shape])] = False
            assert (cells[unused] == np.frombuffer(array.blank[:array.item], array.dtype)).all(), array.name
