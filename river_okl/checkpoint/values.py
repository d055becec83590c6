"""Values in a document.

A value that JSON cannot express is an object of one item, its type: ``{"tuple": [1, 2]}``, ``{"float": "inf"}``,
``{"ref": 3}``.  Floats are exact to the last bit.  What can change is an entry in a list of its own and is referred to
by its number, so that an object that occurs twice is written once, and cycles and depth do not matter:

    {"list": [...]}   {"set": [...]}   {"dict": [[key, value], ...]}   {"deque": [maxlen, [...]]}
    {"array": [number of the array, shape, "C" or "F"]}   {"random": ...}   {"random_state": ...}
    {"class": name, ...}   an object (objects.py, models.py)
"""

from __future__ import annotations

import base64
import collections
import datetime
import functools
import json
import math
import operator
import random
import re
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_okl._core.store.sample import shown
from river_okl.checkpoint.file import CheckpointError
from river_okl.checks import is_name, kind_of, require

DEEPEST = 50  # nesting of tuples, and of the states of parts

ARRAY_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|i1", "|b1")
SCALAR_KINDS = "biufU"
DICTS = {cls.__name__: cls for cls in (dict, collections.OrderedDict, collections.Counter, collections.defaultdict)}
DATES = datetime.datetime, datetime.date

# Limits of allocation, per byte of the file and for any file: rows of features contain zeros that the file omits.
ALLOCATED_PER_BYTE = 64
ALLOCATED_AT_LEAST = 2**26


class Writer:
    """Converts values, with names for errors, to JSON; arrays are collected in ``arrays``, entries in ``entries``.

    ``described`` returns the entry of an object, and ``callable_of`` what may be called later: a class, a method.
    """

    def __init__(
        self,
        described: Callable[[Any, str, Writer], dict[str, Any]],
        callable_of: Callable[[Any, str, Writer], dict[str, Any]],
    ) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.entries: list[Any] = []
        self.described, self.callable_of = described, callable_of
        self.depth = 0
        self.numbers: dict[int, tuple[int, Any]] = {}  # by id: the entry's number, and the value, to keep it alive
        self.waiting: deque[Callable[[], None]] = deque()  # what writes the rest
        self.last: deque[Callable[[], None]] = deque()  # private attributes, so that errors name the public path

    def document(self, value: Any) -> dict[str, Any]:
        """Return the document of a value."""
        first = self(value, kind_name(value))
        while self.waiting or self.last:
            (self.waiting or self.last).popleft()()
        return {"model": first, "entries": self.entries}

    def __call__(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= 64):
            return value
        if kind is int:
            return {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        self.depth += 1
        if self.depth > DEEPEST:
            raise CheckpointError(f"{where} is nested more than {DEEPEST} deep, too deep for a checkpoint")
        found = self.composed(value, where)
        self.depth -= 1
        return found

    def composed(self, value: Any, where: str) -> Any:
        kind = type(value)
        if isinstance(value, np.generic) and type(value.item()) in (bool, int, float, str):
            return {"scalar": [value.dtype.str, self(value.item(), where)]}
        if kind is tuple:
            return {"tuple": [self(item, where) for item in value]}
        if kind is frozenset:
            return {"frozenset": self.sorted(value, where)}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode()}
        if kind in DATES:
            return {kind.__name__: value.isoformat()}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if kind is datetime.timedelta:
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        if kind is re.Pattern and isinstance(value.pattern, str):
            return {"pattern": [value.pattern, value.flags]}
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | types.MethodType) or kind in (
            functools.partial,
            operator.itemgetter,
            types.MethodDescriptorType,
        ):
            return self.callable_of(value, where, self)
        if id(value) not in self.numbers:
            number = len(self.entries)
            self.numbers[id(value)] = number, value
            self.entries.append(None)
            self.waiting.append(lambda: self.entries.__setitem__(number, self.entry(value, where)))
        return {"ref": self.numbers[id(value)][0]}

    def sorted(self, values: Any, where: str) -> list[Any]:
        """Write the items of a set, in an order that does not depend on hashes."""
        return sorted((self.name(item, where) for item in values), key=json.dumps)

    def entry(self, value: Any, where: str) -> dict[str, Any]:
        """Return the entry of what can change."""
        kind = type(value)
        if kind is list:
            return {"list": [self(item, where) for item in value]}
        if kind is set:
            return {"set": self.sorted(value, where)}
        if kind is deque:
            return {"deque": [value.maxlen, [self(item, where) for item in value]]}
        if kind in DICTS.values():
            owner = where.rpartition(".")[0] or where
            items = [
                [self.name(k, where), self(v, f"{owner}.{k}" if type(k) is str else where)] for k, v in value.items()
            ]
            factory = {"factory": self(value.default_factory, where)} if kind is collections.defaultdict else {}
            return {"dict": items, **({"kind": kind.__name__} if kind is not dict else {}), **factory}
        if kind is random.Random:
            version, numbers, gauss = value.getstate()
            return {"random": [version, list(numbers), gauss]}
        if kind is np.random.RandomState:
            name, key, position, has_gauss, gauss = value.get_state(legacy=True)
            require(name == "MT19937", f"{where} has random numbers of another kind")
            return {"random_state": [key.tolist(), position, has_gauss, gauss]}
        if kind is np.ndarray and value.dtype.newbyteorder("<").str in ARRAY_DTYPES:
            return {"array": self.array(value)}
        return self.described(value, where, self)

    def array(self, value: NDArray[Any]) -> list[Any]:
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        self.arrays.append(value.astype(value.dtype.newbyteorder("<")).ravel("F" if fortran else "C"))
        return [len(self.arrays) - 1, list(value.shape), "F" if fortran else "C"]

    def name(self, name: Any, where: str) -> Any:
        """Write a feature name or a label, the key of a dict or an item of a set."""
        if type(name) is tuple:
            return {"tuple": [self.name(part, where) for part in name]}
        if name is None or is_name(name):
            return self(name, where)
        raise CheckpointError(
            f"{where} is named {shown(name)}, {kind_of(name)}: names in a checkpoint are str, int, bool, "
            f"float, or tuples; rename it or use pickle for this model"
        )


def kind_name(value: Any) -> str:
    return type(value).__name__ if type(value).__module__.startswith("river") else "it"


class Reader:
    """Restores values of a ``Writer`` from a document and its arrays; ``size`` is the file's.

    ``created`` returns an object of a class without its attributes, and a function that sets them, or an object that
    is complete.  ``callable_of`` is the inverse of the writer's.
    """

    def __init__(
        self,
        document: dict[str, Any],
        arrays: bytes,
        size: int,
        created: Callable[[dict[str, Any], Reader], tuple[Any, Callable[[], None] | None]],
        callable_of: Callable[[str, Any, Reader], Any],
    ) -> None:
        self.size = size
        self.created, self.callable_of = created, callable_of
        self.depth = 0
        self.allocated = 0
        self.entries: list[Any] = document.get("entries", [])
        listed: list[Any] = document.get("arrays", [])
        require(type(self.entries) is type(listed) is list, "its lists of entries and arrays")
        self.made: dict[int, Any] = {}
        self.waiting: list[Callable[[], None]] = []  # what fills objects that are made
        self.begun: set[int] = set()
        self.arrays = []
        at = 0
        for dtype, n in listed:
            require(dtype in ARRAY_DTYPES and type(n) is int and n >= 0, "an array without type or size")
            self.arrays.append(np.frombuffer(arrays, dtype, n, at))
            at += self.arrays[-1].nbytes
        require(at == len(arrays), "the sizes of its arrays")

    def complete(self, read: Callable[[], Any]) -> Any:
        """Read something whose objects must be complete."""
        outer, self.waiting = self.waiting, []
        found = read()
        while self.waiting:
            self.waiting.pop()()
        self.waiting = outer
        return found

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
        if kind == "ref":
            require(type(content) is int and 0 <= content < len(self.entries), "a reference to nothing")
            return self.entry(content)
        if kind == "float":
            require(content in ("nan", "inf", "-inf"), f"{content!r:.100} is not a float")
            return float(content)
        if kind == "int":
            require(type(content) is str, "an integer")
            return int(content, 16)
        if kind == "bytes":
            require(type(content) is str, "bytes")
            return base64.b64decode(content, validate=True)
        if kind == "part":
            require(type(content) is dict and content.keys() == {"state"}, "a part with more than a state")
            return Part(self.named(content["state"], "state"))
        if kind in ("datetime", "date"):
            require(type(content) is str, "a date")
            return getattr(datetime, kind).fromisoformat(content)
        if kind in ("type", "function", "method", "partial", "itemgetter"):
            return self.callable_of(kind, content, self)
        require(type(content) is list, f"{content!r:.100} cannot be read as {kind}")
        if kind == "scalar":
            dtype, item = content
            require(type(dtype) is str and len(dtype) < 10, "a scalar's type")
            found = np.dtype(dtype)
            require(found.kind in SCALAR_KINDS and found.itemsize <= 8 * self.size, "a scalar's type")
            return found.type(self(item))
        if kind == "range":
            return range(*content)
        if kind == "timedelta":
            return datetime.timedelta(*content)
        if kind == "pattern":
            pattern, flags = content
            require(type(pattern) is str and type(flags) is int, "a pattern")
            return re.compile(pattern, flags)
        if kind == "tuple":
            return tuple([self(item) for item in content])
        if kind == "frozenset":
            return frozenset([self.name(item) for item in content])
        if kind == "nested":  # a dict in the state of a part
            return {self.name(k): self(v) for k, v in content}
        if kind == "items":  # a list there
            return [self(item) for item in content]
        if kind == "array":
            return self.array(content)
        raise ValueError(f"{kind!r:.100} is not a type of a checkpoint")

    def entry(self, number: int) -> Any:
        """Return the object of an entry; what it contains may still be waiting to be filled in."""
        if number in self.made:
            return self.made[number]
        require(number not in self.begun, "an object that is made of itself")
        self.begun.add(number)
        content = self.entries[number]
        require(type(content) is dict, f"{content!r:.100} is not an entry")
        found, fill = self.created(content, self) if "class" in content else self.container(content)
        self.made[number] = found
        if fill is not None:
            self.waiting.append(fill)
        return found

    def container(self, content: dict[str, Any]) -> tuple[Any, Callable[[], None] | None]:
        """Return a container, and what fills it."""
        if "dict" in content:
            require(content.keys() <= {"dict", "kind", "factory"}, "more than a dict has")
            kind = content.get("kind", "dict")
            require(kind in DICTS, f"{kind!r:.100} as a dict")
            found: Any = DICTS[kind]()

            def fill() -> None:
                if "factory" in content:
                    require(kind == "defaultdict", "a factory")
                    found.default_factory = self(content["factory"])
                for key, value in content["dict"]:
                    found[self.name(key)] = self(value)
                require(len(found) == len(content["dict"]), "a key twice")

            return found, fill
        ((kind, items),) = content.items()
        require(type(items) is list, f"{items!r:.100} cannot be read as {kind}")
        if kind == "list":
            found = []
            return found, lambda: found.extend([self(item) for item in items])
        if kind == "set":
            found = {self.name(item) for item in items}
            require(len(found) == len(items), "an item twice")
            return found, None
        if kind == "deque":
            longest, items = items
            found = deque(maxlen=longest)
            return found, lambda: found.extend([self(item) for item in items])
        if kind == "random":
            version, numbers, gauss = items
            found = random.Random()
            found.setstate((version, tuple(numbers), gauss))
            require(gauss is None or type(gauss) is float, "a state of random numbers")
            return found, None
        if kind == "random_state":
            key, position, has_gauss, gauss = items
            require(len(key) == 624 and type(position) is int and 0 <= position <= 624, "a state of random numbers")
            found = np.random.RandomState()
            found.set_state(("MT19937", np.array(key, dtype=np.uint32), position, int(has_gauss), float(gauss)))
            return found, None
        require(kind == "array", f"{kind!r:.100} is not a type of a checkpoint")
        return self.array(items), None

    def named(self, values: Any, what: str) -> dict[str, Any]:
        """Return values by the names of parameters and attributes."""
        require(type(values) is dict, f"{values!r:.100} cannot be read as {what}")
        return {sys.intern(name): self(value) for name, value in values.items()}

    def name(self, name: Any) -> Any:
        """Return a feature name or a label, the key of a dict or an item of a set."""
        found = self(name)
        parts = [found]
        while parts:
            part = parts.pop()
            if type(part) is tuple:
                parts.extend(part)
            else:
                require(part is None or is_name(part), f"{found!r:.100} is not a name")
        return found

    def array(self, content: Any) -> NDArray[Any]:
        index, shape, order = content
        require(type(index) is int and 0 <= index < len(self.arrays), "an array that is not there")
        require(order in ("C", "F"), "the order of an array")
        require(all(type(n) is int and n >= 0 for n in shape) and len(shape) <= 4, "the shape of an array")
        require(math.prod(shape) == self.arrays[index].size, "the shape of an array")
        array = self.arrays[index].astype(self.arrays[index].dtype.str[1:])  # to the machine's byte order
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
