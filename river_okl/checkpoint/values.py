"""Plain values in a document.

A value that JSON cannot express is an object of one item, its type: ``{"tuple": [1, 2]}``, ``{"float": "inf"}``,
``{"array": [0, [3, 4], "C"]}``, ``{"object": {"class": ..., "parameters": {...}, "state": {...}}}``.  Floats are exact
to the last bit.  Every size that a document claims is checked before memory is allocated.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_okl._core.store.sample import shown
from river_okl.checkpoint.file import CheckpointError
from river_okl.checks import is_name, kind_of, require

DEEPEST = 50  # nesting of values
LONGEST_INT = 10_000  # bits

ARRAY_DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")
SCALAR_KINDS = "biufU"

# Limits of allocation, per byte of the file and for any file: rows of features contain zeros that the file omits.
ALLOCATED_PER_BYTE = 64
ALLOCATED_AT_LEAST = 2**26


class Writer:
    """Converts values, with names for errors, to JSON; arrays are collected in ``arrays``."""

    def __init__(self, described: Callable[[Any, str, Writer], dict[str, Any]]) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.described = described
        self.depth = 0
        self.met: set[int] = set()  # objects with a state, to be written only once

    def __call__(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind is int and value.bit_length() > LONGEST_INT:
            raise CheckpointError(f"{where} holds a number of {value.bit_length():,} bits, too long for a checkpoint")
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if self.depth > DEEPEST:
            raise CheckpointError(f"{where} is nested more than {DEEPEST} deep, too deep for a checkpoint")
        self.depth += 1
        found = self.composed(value, where)
        self.depth -= 1
        return found

    def composed(self, value: Any, where: str) -> Any:
        kind = type(value)
        if isinstance(value, np.generic) and type(value.item()) in (bool, int, float, str):
            return {"scalar": [value.dtype.str, self(value.item(), where)]}
        if kind in (list, tuple):
            return {kind.__name__: [self(item, where) for item in value]}
        if kind is set:  # in an order independent of hashes
            return {"set": sorted((self.name(item, where) for item in value), key=json.dumps)}
        if kind is deque:
            return {"deque": [value.maxlen, [self(item, where) for item in value]]}
        if kind is dict:
            return {"dict": [[self.name(k, where), self(v, where)] for k, v in value.items()]}
        if kind is random.Random:
            version, numbers, gauss = value.getstate()
            return {"random": [version, list(numbers), gauss]}
        if kind is np.ndarray and value.ndim and value.dtype.newbyteorder("<").str in ARRAY_DTYPES:
            fortran = value.flags.f_contiguous and not value.flags.c_contiguous
            self.arrays.append(value.astype(value.dtype.newbyteorder("<")).ravel("F" if fortran else "C"))
            return {"array": [len(self.arrays) - 1, list(value.shape), "F" if fortran else "C"]}
        return {"object": self.described(value, where, self)}

    def name(self, name: Any, where: str) -> Any:
        """Write a feature name or a label."""
        if type(name) is tuple:
            gap = len(name) == 3 and name[0] == "=" and name[2] is None  # the key of a gap in _core/store/words.pyx
            return {"tuple": [*(self.name(part, where) for part in name[: 2 if gap else None]), *([None] * gap)]}
        if is_name(name):
            return self(name, where)
        raise CheckpointError(
            f"{where} is named {shown(name)}, {kind_of(name)}: names in a checkpoint are str, int, bool, "
            f"float, or tuples; rename it or use pickle for this model"
        )


class Reader:
    """Restores values of a ``Writer`` from a document and its arrays; ``size`` is the file's."""

    def __init__(
        self, listed: Any, arrays: bytes, size: int, made: Callable[[str, dict[str, Any], Reader], Any]
    ) -> None:
        self.size = size
        self.made = made
        self.depth = 0
        self.nested = 0  # nesting of wrappers
        self.allocated = 0
        self.arrays = []
        at = 0
        require(type(listed) is list, "its list of arrays")
        for dtype, n in listed:
            require(dtype in ARRAY_DTYPES and type(n) is int and n >= 0, "an array without type or size")
            self.arrays.append(np.frombuffer(arrays, dtype, n, at))
            at += self.arrays[-1].nbytes
        require(at == len(arrays), "the sizes of its arrays")

    def __call__(self, value: Any) -> Any:
        if type(value) is str:
            return sys.intern(value)
        if type(value) is not dict:
            require(value is None or type(value) in (bool, int, float), f"{value!r:.100} without a type")
            return value
        require(len(value) == 1, f"{value!r:.100} is not a value with its type")
        require(self.depth <= DEEPEST, "values nested too deep")
        ((kind, content),) = value.items()
        self.depth += 1
        found = self.composed(kind, content)
        self.depth -= 1
        return found

    def composed(self, kind: str, content: Any) -> Any:
        if kind == "float":
            require(content in ("nan", "inf", "-inf"), f"{content!r:.100} is not a float")
            return float(content)
        if kind in ("object", "part"):
            require(type(content) is dict, f"{content!r:.100} cannot be read as {kind}")
            if kind == "part":
                require(content.keys() == {"state"}, "a part with more than a state")
                return Part(self.named(content["state"], "state"))
            name = content.get("class")
            require(type(name) is str, "an object without a class")
            return self.made(name, content, self)
        require(type(content) is list, f"{content!r:.100} cannot be read as {kind}")
        if kind == "scalar":
            dtype, item = content
            require(type(dtype) is str and len(dtype) < 10, "a scalar's type")
            found = np.dtype(dtype)
            require(found.kind in SCALAR_KINDS and found.itemsize <= 8 * self.size, "a scalar's type")
            return found.type(self(item))
        if kind == "list":
            return [self(item) for item in content]
        if kind == "tuple":
            return tuple([self(item) for item in content])
        if kind == "set":
            items = {self.name(item) for item in content}
            require(len(items) == len(content), "an item twice")
            return items
        if kind == "deque":
            longest, items = content
            return deque([self(item) for item in items], longest)
        if kind == "dict":
            pairs = {self.name(k): self(v) for k, v in content}
            require(len(pairs) == len(content), "a key twice")
            return pairs
        if kind == "random":
            version, numbers, gauss = content
            rng = random.Random()
            rng.setstate((version, tuple(numbers), gauss))
            require(gauss is None or type(gauss) is float, "a state of random numbers")
            return rng
        if kind == "array":
            return self.array(content)
        raise ValueError(f"{kind!r:.100} is not a type of a checkpoint")

    def named(self, values: Any, what: str) -> dict[str, Any]:
        """Return values by the names of parameters and attributes."""
        require(type(values) is dict, f"{values!r:.100} cannot be read as {what}")
        return {sys.intern(name): self(value) for name, value in values.items()}

    def name(self, name: Any) -> Any:
        """Return a feature name or a label."""
        found = self(name)
        require(is_name(found), f"{found!r:.100} is not a name")
        return found

    def array(self, content: Any) -> NDArray[Any]:
        index, shape, order = content
        require(type(index) is int and 0 <= index < len(self.arrays), "an array that is not there")
        require(order in ("C", "F"), "the order of an array")
        require(all(type(n) is int and n >= 0 for n in shape) and 1 <= len(shape) <= 4, "the shape of an array")
        require(math.prod(shape) == self.arrays[index].size, "the shape of an array")
        array = self.arrays[index].astype(self.arrays[index].dtype.str[1:])  # to the machine's byte order
        require(bool(np.isfinite(array).all()), "an array with numbers that are not finite")
        found: NDArray[Any] = array.reshape(shape, order=order)
        return found

    def may_allocate(self, n_bytes: int) -> None:
        """Raise an error if the total allocated so far is too much for a file of this size."""
        self.allocated += n_bytes
        limit = max(ALLOCATED_AT_LEAST, ALLOCATED_PER_BYTE * self.size)
        require(self.allocated <= limit, f"it asks for {self.allocated:,} bytes of memory")


class Part(NamedTuple):
    """The state of a part, for an object that its owner has created."""

    state: dict[str, Any]
