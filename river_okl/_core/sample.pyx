"""What comes in: features checked to be numbers, and the rows of a frame as samples without dicts."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.math cimport fabs

import sys


def refuse(key, value):
    """The error for a feature value that no model can learn from."""
    if isinstance(value, (str, bytes)) or value is None or not hasattr(value, "__float__"):
        raise TypeError(
            f"feature {key!r} is {value!r}, a {type(value).__name__}: kernels need numbers; drop it (compose.SelectType), "
            f"impute it (preprocessing.StatImputer) or encode it (preprocessing.OneHotEncoder)"
        )
    raise ValueError(
        f"feature {key!r} is {value!r}: kernels need finite numbers of at most {LARGEST:g}; impute it "
        f"(preprocessing.StatImputer) or scale it (preprocessing.StandardScaler)"
    )


cdef double number(object key, object value) except? -1.0:
    """The value of a feature as a double, or an error that names the feature."""
    cdef double v = 0.0
    if PyFloat_CheckExact(value):
        v = PyFloat_AS_DOUBLE(value)
    elif isinstance(value, (str, bytes)):
        refuse(key, value)
    else:
        try:
            v = float(value)
        except (TypeError, ValueError, OverflowError):
            refuse(key, value)
    if not fabs(v) <= LARGEST:
        refuse(key, value)
    return v


cdef class Frame:
    """The rows of a matrix as samples: ``frame[i]`` is what ``evaluate`` takes in place of a dict.

    It is one object that points at row i, made so that a mini-batch never builds dicts.
    """

    def __init__(self, list names, const double[:, ::1] matrix):
        cdef Py_ssize_t i, size = matrix.shape[0] * matrix.shape[1]
        cdef const double *numbers = &matrix[0, 0] if size else NULL
        if len(names) != matrix.shape[1]:
            raise ValueError(f"{len(names)} names for {matrix.shape[1]} columns")
        if len(set(names)) != len(names):
            raise ValueError(f"feature {next(name for name in names if names.count(name) > 1)!r} is there twice")
        for i in range(size):
            if not fabs(numbers[i]) <= LARGEST:
                refuse(names[i % matrix.shape[1]], numbers[i])
        self.names = names
        self.matrix = matrix

    def __len__(self):
        return self.matrix.shape[0]

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < self.matrix.shape[0]:
            raise IndexError(i)
        self.row = i
        return self

    def items(self):
        """The items of the row pointed at, as a dict would give them."""
        return [(name, self.matrix[self.row, j]) for j, name in enumerate(self.names)]


def plain(name):
    """A name as pickles have it: equal strings are one object, and equal tuples never are, as pickles count objects."""
    if type(name) is str:
        return sys.intern(name)
    return tuple([plain(part) for part in name]) if type(name) is tuple else name
