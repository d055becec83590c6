"""Encode a feature dict, a frame's row or another model's sample: the step in which users' code may run.

A value's ``__float__`` and a name's ``__hash__`` or ``__eq__`` are user code, which may do anything.  All of it runs
before the model changes.
"""

from cpython.bool cimport PyBool_Check
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN, fabs

import numpy as np

from river_okl._core.store.sample cimport (
    LARGEST, Frame, Given, is_long, is_word, items_of, missing, number, same_name, stored,
)

from river_okl._core.store.sample import shown

cdef extern from "Python.h":
    PyObject *PyTuple_GET_ITEM(object items, Py_ssize_t i)  # borrowed
    long long PyLong_AsLongLongAndOverflow(object whole, int *overflow)
    str PyUnicode_FromObject(object text)  # not a subclass
    bint is_string "PyUnicode_CheckExact"(PyObject *thing)
    bint Py_IS_TYPE(object thing, type kind)

cdef type FLOAT64 = np.float64  # a subclass of float: its value is read like that of any float


cdef int encode(Features features, object sample, Sample *x) except -1:
    """Set x to the items of a dict, of a Frame's current row or of a Given, with valid places.  If this
    raises, x is invalid.

    x may hold an earlier sample.  A snapshot of the dict is encoded, because a value's ``__float__``, a name's
    ``__hash__`` or another thread may change the dict whenever Python code runs.
    """
    if features.words is not None:
        features.words.begin()
    if isinstance(sample, Frame):
        return encode_row(features, <Frame> sample, x)
    if isinstance(sample, dict):
        if not encode_numbers(features, <dict> sample, x):
            encode_items(features, items_of(<dict> sample), x)
        return 0
    if isinstance(sample, Given):
        return encode_given(features, (<Given> sample).x, x)
    hint = "; give dict(x)" if hasattr(sample, "keys") else ""
    if hasattr(sample, "columns"):
        hint = "; methods named ..._many take frames"
    kind = type(sample).__name__
    raise TypeError(f"a sample is a dict of features, not {shown(sample)} of type {kind}{hint}")


cdef bint encode_numbers(Features features, dict sample, Sample *x) except -1:
    """Encode the usual dict, of numbers under known names or strings.  Return False at the first item that
    may run Python code: none has run until then, so names and values may be borrowed from the dict."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t position = 0, i = 0, size
    cdef int too_large
    cdef double v, square = 0.0
    features.begin(x, len(sample))
    size = len(sample)  # begin() may have run Python code
    if size > x.allocated:
        return False
    while i < size and PyDict_Next(sample, &position, &key, &value):
        if PyFloat_CheckExact(<object> value) or Py_IS_TYPE(<object> value, FLOAT64):
            v = PyFloat_AS_DOUBLE(<object> value)
            if not fabs(v) <= LARGEST:
                return False
        elif PyLong_CheckExact(<object> value) or PyBool_Check(<object> value):
            v = <double> PyLong_AsLongLongAndOverflow(<object> value, &too_large)
            if too_large:
                return False
        else:
            return False
        if not same_name(x.keys[i], key):
            if not (features.strings and is_string(key) and (x.keys[i] == NULL or is_string(x.keys[i]))):
                return False
            if is_long(<object> key):
                return False
            features.look_up(x, i, <object> key)
        x.numbers[i] = v
        square += v * v
        i += 1
    x.size = i
    x.square = square
    return True


cdef int encode_items(Features features, tuple items, Sample *x) except -1:
    """Encode any names and values; the tuple owns them."""
    cdef PyObject *name
    cdef PyObject *value
    cdef Py_ssize_t i = 0, j, size = len(items) // 2
    cdef double v, square = 0.0
    features.begin(x, size if features.words is None else 2 * size)
    for j in range(size):
        name = PyTuple_GET_ITEM(items, 2 * j)
        value = PyTuple_GET_ITEM(items, 2 * j + 1)
        if not same_name(x.keys[i], name) and is_long(<object> name):
            short = stored(<object> name)
            name = <PyObject *> short
        if PyFloat_CheckExact(<object> value) and fabs(PyFloat_AS_DOUBLE(<object> value)) <= LARGEST:
            v = PyFloat_AS_DOUBLE(<object> value)
        elif features.words is not None and isinstance(<object> value, str):
            i = encode_word(features, <object> name, stored(PyUnicode_FromObject(str(<object> value))), i, x)
            continue
        elif features.words is not None and missing(<object> value):
            i = encode_word(features, <object> name, None, i, x)
            continue
        else:
            v = number(<object> name, <object> value)
        if not same_name(x.keys[i], name):
            check_name(features, <object> name)
            features.look_up(x, i, <object> name)
        x.numbers[i] = v
        square += v * v
        i += 1
    x.size = i
    x.square = square
    return 0


cdef Py_ssize_t encode_word(Features features, object name, object word, Py_ssize_t i, Sample *x) except -1:
    """Add a string, or None for a gap, under this name to x, which has i items; return the new number of
    items.  Infinity marks its indicator, if that is a feature; NaN marks a gap, if the name has numbers
    (scaler.pyx)."""
    check_name(features, name)
    if name in features.index:  # a numeric feature, for which a word is a gap
        if not same_name(x.keys[i], <PyObject *> name):
            features.look_up(x, i, name)
        x.numbers[i] = NAN
        i += 1
    key = features.words.find(name, word)
    if key is not None:
        if x.keys[i] != <PyObject *> key:
            features.look_up(x, i, key)
        x.numbers[i] = INFINITY
        i += 1
    return i


cdef int check_name(Features features, object name) except -1:
    """Raise if a numeric feature has the key of a word: a sample might have both."""
    if features.words is not None and is_word(name):
        raise ValueError(f"feature {shown(name)} is named like a string value; give it another name")
    return 0


cdef int encode_row(Features features, Frame frame, Sample *x) except -1:
    cdef Py_ssize_t i, size = len(frame.names)
    cdef const double *numbers = &frame.matrix[frame.row, 0] if size else NULL
    cdef double square = 0.0
    features.begin(x, size)
    for i in range(size):
        if not same_name(x.keys[i], PyTuple_GET_ITEM(frame.names, i)):
            check_name(features, frame.names[i])
            features.look_up(x, i, frame.names[i])
        x.numbers[i] = numbers[i]
        square += numbers[i] * numbers[i]
    x.size = size
    x.square = square
    return 0


cdef int encode_given(Features features, const Sample *given, Sample *x) except -1:
    """Encode a sample that was already encoded for other features."""
    cdef Py_ssize_t i
    features.begin(x, given.size)
    for i in range(given.size):
        if not same_name(x.keys[i], given.keys[i]):
            features.look_up(x, i, <object> given.keys[i])
        x.numbers[i] = given.numbers[i]
    x.size = given.size
    x.square = given.square
    return 0
