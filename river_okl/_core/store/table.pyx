"""Arrays with axes: each is declared once, and growing, saving and checking follow from the declaration.

An object with arrays is a ``Table``.  Its constructor declares each array, and its methods work on the pointers:

    self.declare(<size_t> &self.counts, "counts", (self.per_class,), low=0.0)
    self.declare(<size_t> &self.seen, "seen", (), dtype="i8", low=0)
    self.derive(<size_t> &self.log_counts, (self.per_class,))
    self.scratch(<size_t> &self.score, (self.per_class,))
    self.ridge = self.contain("ridge", Ridge(...))

A declared array is saved and checked under its name.  A derived array is computed from declared
arrays.  A scratch array holds values of the last sample.  All of them grow with their axes.  An array without
axes is a number, the attribute itself.

A table may contain other tables, its parts, which take part in all that happens to it: a model is one table,
and grows, forgets, converts, saves and restores by one call.  A part with more than declared arrays overrides
these methods.

An axis is a dimension whose items are points (``Points``), features (``Features``), classes, rows of the memory and so
on, or that has a fixed length.  Cell [i, j, k] of an array is number (i · room_j + j) · room_k + k of its buffer, so
that a loop takes the room of an axis from the axis.  Cells beyond the length of an axis have the default value.
"""

from libc.math cimport fmax, fmin
from libc.string cimport memcpy

from river_okl._core.store.buffers cimport viewed

import numpy as np

from river_okl._core.states import LARGEST_NUMBER, checked_array


cdef class Axis(Owner):
    """A dimension that the arrays of a model share, such as its points, features or classes.

    Parameters
    ----------
    name
        What an item is.
    n
        Number of items.
    """

    def __init__(self, str name, Py_ssize_t n=0):
        self.name, self.n, self.capacity, self.room = name, n, n, n


cdef class Classes(Axis):
    """The classes, or columns of coefficients for them.

    Parameters
    ----------
    n
        Number of items.
    split
        If it is not 0, two classes share one function f until a third class is added: then the first class
        gets the function -split · f, the second split · f, and the third 0.
    """

    def __init__(self, Py_ssize_t n, double split=0.0):
        Axis.__init__(self, "class", n)
        self.split = split

    cdef Py_ssize_t after(self) noexcept:
        """Return the number of items once one more class is added."""
        return 3 if self.split and self.n == 1 else self.n + 1


cdef class Array:
    """A declaration: see ``Table.declare``."""

    def __init__(
        self, Py_ssize_t offset, str name, tuple axes, dtype, default, double low, double high, int power,
        int of_feature, bint scratch
    ):
        self.offset, self.name, self.n_axes = offset, name, len(axes)
        self.power, self.of_feature, self.scratch = power, of_feature, scratch
        for k, axis in enumerate(axes):
            self.axes[k] = axis
        self.dtype, self.low, self.high = np.dtype(dtype), low, high
        self.item = self.dtype.itemsize
        value = np.array(default, dtype=self.dtype).tobytes()
        memcpy(self.blank, <const char *> value, self.item)
        self.zero = not any(value)

    cdef void clear(self, char *cells, Py_ssize_t n) noexcept:
        """Set n cells to the default value."""
        cdef Py_ssize_t done = min(n, 1), more
        memcpy(cells, self.blank, done * self.item)
        while done < n:  # twice as many each time
            more = min(done, n - done)
            memcpy(cells + done * self.item, cells, more * self.item)
            done += more


ctypedef fused real:
    float
    double


cdef dict shared = {}               # all declarations, so that ten thousand models store them only once


cdef void multiply(Array array, double *cells, Py_ssize_t n, double factor) noexcept:
    """Multiply n cells of an array; they are clipped to its bounds."""
    cdef Py_ssize_t i
    for i in range(n):
        cells[i] = fmin(fmax(factor * cells[i], array.low), array.high)


cdef void split_function(real *cells, Py_ssize_t n, double share) noexcept:
    """Split a function of two classes into one function of each (see ``Classes``)."""
    cdef Py_ssize_t j
    for j in range(n):
        cells[n + j] = <real> share * cells[j]
        cells[j] = 0 - cells[n + j]  # 0 stays 0


cdef class Table(Owner):
    """An object with declared arrays."""

    def __cinit__(self):
        self.axes = self.parts = ()

    # Declarations -----------------------------------------------------------------------------------------------------

    def declare(
        self, size_t address, str name, tuple axes, *, dtype="f8", default=0.0, low=-LARGEST_NUMBER,
        high=LARGEST_NUMBER, int power=0, int of_feature=0, scratch=False
    ):
        """Declare an array of the state, or a number.

        Parameters
        ----------
        address
            Address of the attribute that is the array's pointer, or the number itself.
        name
            Key in the state.
        axes
            An ``Axis`` or a fixed length for each dimension; empty for a number.
        dtype
            Type of a cell, at most eight bytes.
        default
            Value of a new cell.
        low, high
            Bounds of the values that ``restore`` accepts.
        power
            Power of the target's unit in which the values are: 1 for errors, 2 for squared errors.
        of_feature
            The same for the unit of a feature, of an array with the axis of features.
        """
        cdef Py_ssize_t size, after, offset = <Py_ssize_t> address - <Py_ssize_t> <size_t> <PyObject *> self
        cdef Array array
        if len(axes) > MAX_AXES:
            raise ValueError(f"{name} has {len(axes)} axes")
        if (power or of_feature) and np.dtype(dtype) != np.float64:
            raise ValueError(f"{name} has a unit, which only doubles can have, not {dtype}")
        self.check_new(name)
        size = sizeof(void *) if axes else np.dtype(dtype).itemsize
        if not 0 <= offset <= type(self).__basicsize__ - <Py_ssize_t> size:
            raise ValueError(f"{name} is no attribute of this object")
        splits = any([isinstance(axis, Classes) and (<Classes> axis).split != 0.0 for axis in axes])
        if splits and not scratch and np.dtype(dtype).kind != "f":
            raise ValueError(f"{name} has an axis that splits a function, which consists of floats, not of {dtype}")
        self.axes += tuple([axis for axis in axes if isinstance(axis, Axis) and axis not in self.axes])
        numbers = tuple([-1 - self.axes.index(axis) if isinstance(axis, Axis) else axis for axis in axes])
        key = offset, name, numbers, dtype, default, low, high, power, of_feature, scratch
        if key not in shared:
            shared[key] = Array(*key)
        array = shared[key]
        self.declared = <PyObject **> self.resize(
            self.declared, self.n_declared, self.n_declared + 1, sizeof(PyObject *)
        )
        self.strides(array, None, &size, &after)
        if axes:
            self.pointer(array)[0] = self.resize(NULL, 0, size, array.item)
        array.clear(self.start(array), size)
        self.declared[self.n_declared] = <PyObject *> array
        self.n_declared += 1

    def derive(self, size_t address, tuple axes, *, dtype="f8", default=0.0):
        """Declare an array that is computed from arrays of the state."""
        self.declare(address, None, axes, dtype=dtype, default=default)

    def scratch(self, size_t address, tuple axes, *, dtype="f8"):
        """Declare an array of values of the last sample: they are not moved or reset with the items of an axis."""
        self.declare(address, None, axes, dtype=dtype, scratch=True)

    def contain(self, str name, Table part):
        """Add a table that is saved under this name, as a part of this table's state; return it."""
        self.check_new(name)
        part.name = name
        self.parts += (part,)
        return part

    cdef int check_new(self, str name) except -1:
        """Raise ValueError if the state has something of this name already."""
        cdef Py_ssize_t i
        taken = [(<Array> self.declared[i]).name for i in range(self.n_declared)]
        if name is not None and (name in taken or name in [part.name for part in self.parts]):
            raise ValueError(f"{name} is declared twice")
        return 0

    cpdef void discard(self, size_t address) noexcept:
        """Free an array that is no longer needed, and set its pointer to NULL."""
        cdef void **pointer = <void **> address
        cdef Py_ssize_t i, kept = 0
        for i in range(self.n_declared):
            if self.pointer(<Array> self.declared[i]) != pointer:
                self.declared[kept] = self.declared[i]
                kept += 1
        self.n_declared = kept
        self.release(pointer[0])
        pointer[0] = NULL

    cdef void **pointer(self, Array array) noexcept:
        """Return the address of the attribute that points to the array's buffer."""
        return <void **> (<char *> <PyObject *> self + array.offset)

    cdef char *start(self, Array array) noexcept:
        """Return the address of the array's first cell."""
        return <char *> self.pointer(array) if array.n_axes == 0 else <char *> self.pointer(array)[0]

    cdef Py_ssize_t room(self, Py_ssize_t axis) noexcept:
        """Return the room of an entry of ``Array.axes``."""
        return axis if axis >= 0 else (<Axis> self.axes[-1 - axis]).room

    cdef bint strides(self, Array array, Axis axis, Py_ssize_t *before, Py_ssize_t *after) noexcept:
        """Whether an array has this axis; sets ``before`` to its number of rows, ``after`` to the cells per item."""
        cdef Py_ssize_t k
        cdef bint found = False
        before[0] = after[0] = 1
        for k in range(array.n_axes):
            if array.axes[k] < 0 and self.axes[-1 - array.axes[k]] is axis:
                found = True
            elif found:
                after[0] *= self.room(array.axes[k])
            else:
                before[0] *= self.room(array.axes[k])
        return found

    def arrays(self):
        """Return the arrays of the state, with their axes."""
        cdef Py_ssize_t k
        cdef Array array
        found = []
        for i in range(self.n_declared):
            array = <Array> self.declared[i]
            numbers = [array.axes[k] for k in range(array.n_axes)]
            axes = tuple([number if number >= 0 else self.axes[-1 - number] for number in numbers])
            if array.name is not None:
                found.append((array, axes))
        return found

    # Room -------------------------------------------------------------------------------------------------------------

    cpdef int reserve(self) except -1:
        """Make room for all items of the axes, and for their capacity."""
        cdef Axis axis
        for axis in self.axes:
            if axis.n > axis.room or axis.capacity > axis.room:
                self.grow(axis, max(axis.n, axis.capacity))
        for part in self.parts:
            (<Table> part).reserve()
        return 0

    cpdef int grow(self, Axis axis, Py_ssize_t room) except -1:
        """Make room for so many items of an axis in every array that has it."""
        if room > axis.room:
            self.resize_arrays(axis, room)
            axis.room = room
        return 0

    cdef int resize_arrays(self, Axis axis, Py_ssize_t room) except -1:
        """Resize the arrays with this axis, here and in the parts; the room of the axis is still the old one."""
        cdef Py_ssize_t i, j, before, after, row, old = axis.room
        cdef Array array
        cdef char *new
        cdef char *cells
        for j in range(self.n_declared):
            array = <Array> self.declared[j]
            if not self.strides(array, axis, &before, &after):
                continue
            row = after * array.item  # bytes per item
            cells = <char *> self.pointer(array)[0]
            new = <char *> self.resize(NULL, 0, before * room * after, array.item)
            for i in range(before):
                memcpy(new + i * room * row, cells + i * old * row, min(old, room) * row)
                if not array.zero and room > old:
                    array.clear(new + (i * room + old) * row, (room - old) * after)
            self.release(cells)
            self.pointer(array)[0] = new
        for part in self.parts:
            (<Table> part).resize_arrays(axis, room)
        return 0

    cdef int shrink(self, Axis axis, Py_ssize_t n) except -1:
        """Keep the first n items of an axis, and no room for more; the memory of the others is freed."""
        self.resize_arrays(axis, n)
        axis.n = axis.room = n
        return 0

    # Changes ----------------------------------------------------------------------------------------------------------

    cdef int take_items(self, Axis axis, const int32_t *items, Py_ssize_t n) except -1:
        """Keep n items of an axis, in this order; call it before the length of the axis becomes n."""
        cdef Py_ssize_t i, j, k, r, before, after, row, n_runs = 0
        cdef Array array
        cdef char *cells
        cdef char *kept
        cdef Py_ssize_t *runs = <Py_ssize_t *> self.resize(NULL, 0, n + 1, sizeof(Py_ssize_t))
        for i in range(n):
            if i == 0 or items[i] != items[i - 1] + 1:
                runs[n_runs] = i
                n_runs += 1
        runs[n_runs] = n
        for k in range(self.n_declared):
            array = <Array> self.declared[k]
            if array.scratch or not self.strides(array, axis, &before, &after):
                continue
            row = after * array.item
            kept = <char *> self.resize(NULL, 0, max(1, n), row)
            for j in range(before):
                cells = <char *> self.pointer(array)[0] + j * axis.room * row
                for r in range(n_runs):
                    i = runs[r]
                    memcpy(kept + i * row, cells + items[i] * row, (runs[r + 1] - i) * row)
                memcpy(cells, kept, n * row)
                if axis.n > n:
                    array.clear(cells + n * row, (axis.n - n) * after)
            self.release(kept)
        self.release(runs)
        for part in self.parts:
            (<Table> part).take_items(axis, items, n)
        return 0

    cpdef void forget(self, Axis axis, list items) noexcept:
        """Set the cells of these items of an axis to the default value."""
        cdef Py_ssize_t i
        for i in items:
            self.reset(axis, i)
        for part in self.parts:
            (<Table> part).forget(axis, items)

    cdef void reset(self, Axis axis, Py_ssize_t i) noexcept:
        """Set the cells of item i of an axis, in this table alone, to the default value."""
        cdef Py_ssize_t j, k, before, after
        cdef Array array
        for k in range(self.n_declared):
            array = <Array> self.declared[k]
            if not array.scratch and self.strides(array, axis, &before, &after):
                for j in range(before):
                    array.clear(
                        <char *> self.pointer(array)[0] + (j * axis.room + i) * after * array.item, after
                    )

    cpdef void swap_remove(self, Axis axis, Py_ssize_t i) noexcept:
        """Remove item i of an axis, whose length is already one less: the last item takes its position."""
        cdef Py_ssize_t j, k, before, after, row, last = axis.n
        cdef Array array
        cdef char *cells
        if axis in self.axes:
            for k in range(self.n_declared):
                array = <Array> self.declared[k]
                if i != last and not array.scratch and self.strides(array, axis, &before, &after):
                    row = after * array.item
                    for j in range(before):
                        cells = <char *> self.pointer(array)[0] + j * axis.room * row
                        memcpy(cells + i * row, cells + last * row, row)
            self.reset(axis, last)
        for part in self.parts:
            (<Table> part).swap_remove(axis, i)

    cpdef int append_class(self, Classes axis) except -1:
        """Add a class (see ``Classes``)."""
        cdef Py_ssize_t i, k, before, after
        cdef Array array
        if axis.after() > axis.room:
            self.grow(axis, max(axis.after(), axis.room + axis.room // 8))
        if axis.split and axis.n == 1:
            for k in range(self.n_declared):
                array = <Array> self.declared[k]
                if array.scratch or not self.strides(array, axis, &before, &after):
                    continue
                for i in range(before):
                    if array.item == sizeof(double):
                        split_function(<double *> self.pointer(array)[0] + i * axis.room * after, after, axis.split)
                    else:
                        split_function(<float *> self.pointer(array)[0] + i * axis.room * after, after, axis.split)
        axis.n = axis.after()
        return 0

    cpdef void change_unit(self, double ratio) noexcept:
        """Convert arrays in units of the target y, which becomes ratio · y; values are clipped to their bounds."""
        cdef Py_ssize_t i, size, after
        cdef Array array
        for i in range(self.n_declared):
            array = <Array> self.declared[i]
            if array.power != 0:
                self.strides(array, None, &size, &after)
                multiply(array, <double *> self.start(array), size, ratio if array.power == 1 else ratio * ratio)
        for part in self.parts:
            (<Table> part).change_unit(ratio)
        self.update_derived()

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Convert what is in units of the features to new units; arrays declared as such are multiplied."""
        cdef Py_ssize_t i, j, place, before, after
        cdef Array array
        for i in range(self.n_declared):
            array = <Array> self.declared[i]
            if array.of_feature == 0 or not self.strides(array, axis, &before, &after):
                continue
            for place in range(min(to.n, axis.room)):
                for j in range(before):
                    multiply(
                        array, <double *> self.start(array) + (j * axis.room + place) * after, after,
                        to.ratio[place] ** array.of_feature
                    )
        for part in self.parts:
            (<Table> part).change_units(axis, to)
        return 0

    cpdef void copy(self, Table other) noexcept:
        """Copy another table of the same declarations and sizes, the last sample included.

        Unlike ``restore``, it executes no Python code, in which a signal handler could interrupt a step.
        """
        cdef Py_ssize_t i, size, after
        cdef Array array
        for i in range(self.n_declared):
            array = <Array> self.declared[i]
            self.strides(array, None, &size, &after)
            memcpy(self.start(array), other.start(<Array> other.declared[i]), size * array.item)
        for part, of_other in zip(self.parts, other.parts):
            (<Table> part).copy(of_other)

    # State ------------------------------------------------------------------------------------------------------------

    cdef object buffer(self, Array array):
        """Return all cells of an array as a NumPy array that shares the buffer."""
        cdef Py_ssize_t k, size, after
        room = [self.room(array.axes[k]) for k in range(array.n_axes)]
        self.strides(array, None, &size, &after)
        return viewed(self.start(array), size, array.dtype).reshape(room)

    cdef object cells(self, Array array):
        """Return the cells in use, as a view."""
        cdef Py_ssize_t k
        numbers = [array.axes[k] for k in range(array.n_axes)]
        lengths = [number if number >= 0 else self.axes[-1 - number].n for number in numbers]
        return self.buffer(array)[(..., *[slice(n) for n in lengths])]

    cdef object saved(self, Array array):
        """Return an array as it is in a state."""
        cells = self.cells(array)
        return cells.copy() if array.n_axes else cells.item()

    cdef int check_saved(self, Array array, dict state) except -1:
        """Raise ValueError unless the state contains the array with its type and shape, within its bounds."""
        name, shape = array.name, self.cells(array).shape
        if array.n_axes == 0:
            kind = float if array.dtype.kind == "f" else int
            if type(state[name]) is not kind or not array.low <= state[name] <= array.high:
                raise ValueError(f"{name} is {state[name]!r}")
            return 0
        checked_array(state, name, array.dtype, shape, array.low, array.high)
        return 0

    def state(self):
        """Return the state by name, for ``restore``."""
        cdef Array array
        self.reserve()
        found = {array.name: self.saved(array) for array, _ in self.arrays()}
        return found | {part.name: part.state() for part in self.parts}

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number."""
        cdef Array array
        self.reserve()
        declared = [array for array, _ in self.arrays()]
        for array in declared:
            self.check_saved(array, state)
        for array in declared:
            self.cells(array)[...] = state[array.name]
        for part in self.parts:
            part.restore(state[part.name])
        self.update_derived()

    cdef void update_derived(self) noexcept:
        """Compute the derived arrays, after a restore or a change of unit."""

    def _check(self):
        """Assert the invariants, by brute force."""
        cdef Array array
        for axis in self.axes:
            assert 0 <= axis.n <= axis.room and axis.capacity <= axis.room
        for i in range(self.n_declared):
            array = <Array> self.declared[i]
            assert self.start(array) != NULL
            if array.scratch:
                continue
            cells = self.buffer(array)
            unused = np.ones(cells.shape, dtype=bool)
            unused[(..., *[slice(n) for n in self.cells(array).shape])] = False
            default = np.frombuffer(array.blank[:array.item], array.dtype)
            assert (cells[unused] == default).all(), array.name
        for part in self.parts:
            part._check()


cdef class Loose(Table):
    """A table with unused pointers, for tests of the arrays."""

    cdef void *arrays_[16]

    def address(self, Py_ssize_t i):
        """Return the address of the pointer to array i."""
        return <size_t> &self.arrays_[i]
