"""Encoded samples, checks of feature values, and rows of a dataframe as samples without dicts."""

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.math cimport fabs
from libc.string cimport memcmp

from river_okl._core.store.buffers cimport aligned_resize, okl_free

import sys
from datetime import UTC, datetime
from hashlib import blake2b
from operator import index

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_ssize_t PyBytes_GET_SIZE(object text)

cdef enum:
    LONGEST = 200       # characters of a name or string that is stored as it is
    STARTING = 100      # characters stored of a longer one, in front of a digest

cdef double WHOLE = 2.0**63


def shown(value):
    """Return a value for an error message: one short line, even if its __repr__ fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # such as that of an integer with more than 4,300 digits
        text = f"a {type(value).__name__} without repr ({type(error).__name__})"
    return text if len(text) <= 100 else f"{text[:97]}..."


def is_gap(value):
    """Whether a value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except Exception:  # NA has no truth value, a signalling NaN raises; arrays are not gaps
        return type(value).__name__ in ("NAType", "Decimal")


cdef object rejected(key, value, bint in_frame=False):
    """Raise the error for an invalid feature value."""
    from river_okl._core.store.advice import reject  # which imports this module

    reject(key, value, in_frame)


cpdef double number(object key, object value) except? -1.0:
    """Return the value of a feature as a double; an error names the feature."""
    cdef double v = 0.0
    if PyFloat_CheckExact(value):
        v = PyFloat_AS_DOUBLE(value)
    elif not isinstance(value, (float, int)) and not is_number(value):
        rejected(key, value)
    else:
        try:
            v = float(value)
        except (TypeError, ValueError, OverflowError):
            rejected(key, value)
    if not fabs(v) <= LARGEST:
        rejected(key, value)
    return v


cpdef object missing(object value):
    """Whether a value is a gap for models that accept gaps; a complex NaN, for example, is not."""
    if value is None:
        return True
    if isinstance(value, (float, int)):
        return value != value
    kinds = ("NAType", "NaTType", "datetime64", "timedelta64")
    return is_gap(value) and (is_number(value) or type(value).__name__ in kinds)


cdef int reserve_sample(Sample *x, Py_ssize_t size) except -1:
    """Reserve room for ``size`` items; existing items are kept."""
    cdef Py_ssize_t allocated
    if size > x.allocated:
        allocated = max(size, 2 * x.allocated, 8)
        x.keys = <PyObject **> aligned_resize(x.keys, x.allocated, allocated, sizeof(PyObject *))
        x.places = <int32_t *> aligned_resize(x.places, x.allocated, allocated, 4)
        x.numbers = <double *> aligned_resize(x.numbers, x.allocated, allocated, 8)
        x.allocated = allocated
    return 0


cdef void free_sample(Sample *x) noexcept:
    """Free the buffers of a sample."""
    cdef Py_ssize_t i
    for i in range(x.allocated):
        set_key(&x.keys[i], NULL)
    okl_free(x.keys)
    okl_free(x.places)
    okl_free(x.numbers)
    x.size = x.allocated = 0
    x.keys, x.places, x.numbers = NULL, NULL, NULL


cdef tuple items_of(dict sample):
    """Return a snapshot of a dict, its names and values alternating: no Python code runs while they are copied."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t position = 0, i = 0, size = -1
    cdef tuple items = ()
    while size != len(sample):
        size = len(sample)
        items = PyTuple_New(2 * size)  # the garbage collector may run here, and destructors that change the dict
    while i < size and PyDict_Next(sample, &position, &key, &value):
        Py_INCREF(<object> key)
        PyTuple_SET_ITEM(items, 2 * i, <object> key)
        Py_INCREF(<object> value)
        PyTuple_SET_ITEM(items, 2 * i + 1, <object> value)
        i += 1
    return items


cdef bint is_long(object name):
    """Whether a name or string is shortened before it is stored.  Runs no Python code of the name."""
    if isinstance(name, str):
        return PyUnicode_GET_LENGTH(name) > LONGEST
    if isinstance(name, bytes):
        return PyBytes_GET_SIZE(name) > LONGEST
    if type(name) is tuple:
        for part in <tuple> name:
            if is_long(part):
                return True
    return False


cpdef object stored(object name):
    """Return a name or string as it is stored: itself, or if it is long its start and a digest of the whole,
    so that the memory of a model does not depend on the length of its strings."""
    if not is_long(name):
        return name
    if isinstance(name, str):
        text = str.encode(name, "utf-8", "surrogatepass")
        return f"{str.__getitem__(name, slice(STARTING))}…{blake2b(text, digest_size=16).hexdigest()}"
    if isinstance(name, bytes):
        digest = blake2b(name, digest_size=16).hexdigest().encode()
        return bytes.__getitem__(name, slice(STARTING)) + b"..." + digest
    return tuple([stored(part) for part in name])


cdef class Given:
    """The last sample of a model's function: ``evaluate`` accepts it in place of the dict that it was read from.

    A dict is read once per step, because its values may change whenever Python code runs, in this thread or another.
    Valid until the next sample.
    """


cdef Given given_of(object owner, Sample *x):
    cdef Given found = Given()
    found.owner, found.x = owner, x
    return found


cdef size_t size_of_sample(const Sample *x) noexcept:
    """Return the size of a sample's buffers in bytes."""
    return x.allocated * (sizeof(PyObject *) + sizeof(int32_t) + sizeof(double))


cdef bint same_names(PyObject **a, PyObject **b, Py_ssize_t n) noexcept nogil:
    """Whether two lists of n names are known to be equal without a call."""
    cdef Py_ssize_t i
    for i in range(n):
        if not same_name(a[i], b[i]):
            return False
    return True


cdef bint same_items(const Sample *a, const Sample *b, Py_ssize_t n) noexcept nogil:
    """Whether the first n items of two samples are the same, in the same order."""
    if n and memcmp(a.numbers, b.numbers, n * 8) != 0:  # without items there may be no buffers
        return False
    return same_names(a.keys, b.keys, n)


cpdef bint is_number(object value) except -1:
    """Whether a value is a real number.  ``float`` also accepts strings, bytes, NumPy's times and complex numbers."""
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return False
    if getattr(value, "ndim", 0):  # arrays of one element, which some versions of NumPy convert
        return False
    return getattr(getattr(value, "dtype", None), "kind", "f") in "biuf"


cdef class Frame:
    """The rows of a matrix as samples: ``evaluate`` accepts ``frame[i]`` in place of a dict.

    ``frame[i]`` is the same object for every i, set to row i, so that a mini-batch never builds dicts.
    """

    def __cinit__(self, list names, const double[:, ::1] matrix):
        cdef Py_ssize_t i, size = matrix.shape[0] * matrix.shape[1]
        cdef const double *numbers = &matrix[0, 0] if size else NULL
        if len(names) != matrix.shape[1]:
            raise ValueError(f"{len(names)} names for {matrix.shape[1]} columns")
        if len(set(names)) != len(names):
            met = set()
            twice = next(name for name in names if name in met or met.add(name))
            raise ValueError(f"feature {shown(twice)} occurs twice")
        for i in range(size):
            if not fabs(numbers[i]) <= LARGEST:
                rejected(names[i % matrix.shape[1]], numbers[i], True)
        self.names = tuple([stored(name) for name in names])
        self.matrix = matrix

    def __len__(self):
        return self.matrix.shape[0]

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < self.matrix.shape[0]:
            raise IndexError(i)
        self.row = i
        return self

    def items(self):
        """Return the items of the current row, like those of a dict."""
        return [(name, self.matrix[self.row, j]) for j, name in enumerate(self.names)]


def plain(name):
    """Return a name for pickling, which depends on identity: equal strings become one object, tuples are copied."""
    if type(name) is str:
        return sys.intern(name)
    return tuple([plain(part) for part in name]) if type(name) is tuple else name


cpdef object canonical(object value):
    """Return one plain value for all equal keys of a dict: "a" for ``np.str_("a")``, 1 for 1.0 and True, and one for
    equal times in two zones.

    Its repr is the same in all processes.  Numbers that are neither a double nor a 64-bit integer are replaced by their
    hash, which equal numbers share: Python does not write integers of more than 4,300 digits.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, tuple):
        return tuple([canonical(part) for part in value])
    if isinstance(value, frozenset):
        return "frozenset", tuple(sorted([repr(canonical(part)) for part in value]))
    if not isinstance(value, (int, float, datetime)) and not is_number(value):
        return value
    try:
        if isinstance(value, datetime):
            return "time", (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
        if hasattr(value, "__index__"):
            value = index(value)  # NumPy compares its integers with doubles as doubles
            if abs(value) < WHOLE:
                return value
        v = float(value)
        if v == value:
            return int(v) if v.is_integer() and fabs(v) < WHOLE else v
        return ("number", hash(value)) if value == value else value
    except OverflowError:
        return "number", hash(value)
    except Exception:  # a user's own type
        return value


cdef void take_row(Sample *x, Frame frame, Py_ssize_t i) noexcept nogil:
    """Make row i the numbers of a sample encoded from this frame."""
    cdef Py_ssize_t j
    x.numbers = <double *> &frame.matrix[i, 0] if x.size else NULL
    x.square = 0.0
    for j in range(x.size):
        x.square += x.numbers[j] * x.numbers[j]


cpdef bint is_word(object key):
    """Whether this is the key of a word (words.pyx)."""
    if type(key) is not tuple or len(<tuple> key) != 3:
        return False
    mark = (<tuple> key)[0]
    return type(mark) is str and mark == "="
