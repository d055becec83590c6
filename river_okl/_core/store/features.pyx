"""The features that a model knows: each name has one place, where all arrays keep what they store about it.

    index[name]         the place of a known feature
    names[place]        its name; NULL: the place is free

Columns of points, statistics, weights and coefficients are arrays over places.  A feature keeps its place
until it is forgotten at the end of a step.  An encoded sample has the places of its items, which are valid as
long as ``generation`` stays the same.

Without statistics a feature is known as long as a point has it (points.pyx); with statistics also while it is among
those seen last (scaler.pyx).
"""

from cpython.dict cimport PyDict_GetItemWithError

import numpy as np

from river_okl._core.store.sample cimport reserve_sample, set_key

from river_okl._core.states import checked_array
from river_okl._core.store.sample import plain


cdef class Features(Axis):
    """Names and places."""

    def __cinit__(self):
        self.index = {}
        self.free = []
        self.strings = True

    def __init__(self):
        Axis.__init__(self, "feature")

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n):
            set_key(&self.names[i], NULL)

    def __len__(self):
        """Return the number of known features."""
        return len(self.index)

    # The features of a sample -----------------------------------------------------------------------------------------

    cdef int begin(self, Sample *x, Py_ssize_t size) except -1:
        """Empty x and make room for ``size`` items.  Its names remain as a guess: streams repeat them in order."""
        x.size = 0
        x.square = 0.0
        if x.generation != self.generation:
            self.mark_valid(x)
        return reserve_sample(x, size)

    cdef int look_up(self, Sample *x, Py_ssize_t i, object name) except -1:
        """Make this the name of item i of x, and look up its place."""
        x.places[i] = self.place_of(name)
        set_key(&x.keys[i], <PyObject *> name)
        return 0

    cdef int find(self, Sample *x) except -1:
        """Look up the places of x again if they are no longer valid."""
        cdef Py_ssize_t i
        if x.generation != self.generation:
            for i in range(x.size):
                x.places[i] = self.place_of(<object> x.keys[i])
            self.mark_valid(x)
        return 0

    cdef void mark_valid(self, Sample *x) noexcept:
        """Mark the places of x as valid, and drop the names beyond its items, whose places may not be."""
        cdef Py_ssize_t i
        for i in range(x.size, x.allocated):
            set_key(&x.keys[i], NULL)
        x.generation = self.generation

    cdef int32_t place_of(self, object name) except -2:
        """Return the place of a feature, or -1."""
        cdef PyObject *found = PyDict_GetItemWithError(self.index, name)
        cdef int32_t place = -1 if found == NULL else <int32_t> <object> found
        # an entry of a free place could not be deleted, because the hash of its name had changed
        return place if place >= 0 and self.names[place] != NULL else -1

    # Adding and forgetting --------------------------------------------------------------------------------------------

    cdef int32_t add(self, object name) except -1:
        """Add a feature; return its place."""
        cdef int32_t place
        if not self.free:
            self.reserve(self.n + 1)
            self.free.append(self.n)
            self.n += 1
        place = self.free[len(self.free) - 1]
        self.index[name] = place
        self.free.pop()
        set_key(&self.names[place], <PyObject *> name)
        self.strings = self.strings and type(name) is str
        self.generation += 1
        return place

    cdef int reserve(self, Py_ssize_t n) except -1:
        """Make room for n places."""
        cdef Py_ssize_t capacity
        if n > self.capacity:
            capacity = max(n, 8, self.capacity + self.capacity // 4)
            self.names = <PyObject **> self.resize(self.names, self.n, capacity, sizeof(PyObject *))
            self.capacity = capacity
        return 0

    cdef int forget(self, Py_ssize_t place) except -1:
        """Forget a feature: its place is free."""
        self.index.pop(<object> self.names[place], None)
        self.free.append(place)
        self.generation += 1
        set_key(&self.names[place], NULL)
        return 0

    def check_owned(self, places, str what):
        """Raise unless these places are of features, each of a different one."""
        owned = set(places.tolist())
        if len(owned) < len(places) or not owned <= set(self.index.values()):
            raise ValueError(f"the columns of {what} do not match its features")

    # State ------------------------------------------------------------------------------------------------------------

    def state(self):
        """Return the state by name, for ``restore``."""
        return {
            "names": [plain(name) for name in self.index],
            "places": np.array([*self.index.values()], dtype=np.int32),
            "free": np.array(self.free, dtype=np.int32),
        }

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number.  Requires that no feature is known yet."""
        names = state["names"]
        if self.n:
            raise RuntimeError("features are restored before there are any")
        if type(names) is not list or len(set(names)) != len(names):
            raise ValueError("a feature occurs twice")
        places = checked_array(state, "places", np.int32, len(names))
        free = checked_array(state, "free", np.int32)
        if not np.array_equal(np.sort(np.concatenate([places, free])), np.arange(places.size + free.size)):
            raise ValueError("the places of the features do not match")
        self.reserve(places.size + free.size)
        self.n = places.size + free.size
        for name, place in zip(names, places.tolist()):
            self.free = [place]
            self.add(name)
        self.free = free.tolist()
