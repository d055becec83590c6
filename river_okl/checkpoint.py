"""Checkpoints: a model in one file, without pickle, so that a file from a stranger can at worst be refused.

The file, all numbers little-endian::

    8 bytes      \\x89 O K L \\r \\n \\x1a \\n, which a transfer as text would spoil
    uint32       version of the format: 1
    uint64 × 2   bytes of the document, bytes of the arrays
    32 bytes     SHA-256 of everything else
    document     JSON: the class by name, its parameters, its other attributes, type and length of each array
    arrays       the numbers, one array after another

What JSON has no notation for is an object of one item, its type: ``{"tuple": [1, 2]}``, ``{"float": "inf"}``,
``{"array": [0, [3, 4], "C"]}``.  Floats are written so that they come back to the last bit.

``load`` calls the constructor of a public class of river_okl with the parameters, and those of kernels, losses and
schedulers of river_okl and river, which all check what they are given; no other name in the file is looked up.  Then it
replaces the attributes that the constructor made by those of the file, which must be the same and of the same types.
So a new class is covered by existing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import inspect
import json
import math
import os
import random
import secrets
import stat
import struct
import sys
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, optim

import river_okl
from river_okl import kernels, losses
from river_okl._core.expansion import Expansion
from river_okl.labels import Labels

__all__ = ["CheckpointError", "load", "save"]

MAGIC = b"\x89OKL\r\n\x1a\n"
VERSION = 1
HEADER = struct.Struct("<8sIQQ32s")

DEEPEST = 50  # nesting of values
LONGEST_INT = 10_000  # bits
# What may be allocated for a file, per byte of it and at least: rows of features hold zeros that the file leaves out.
ALLOCATED_PER_BYTE = 64
ALLOCATED_AT_LEAST = 2**26

STATE_DTYPES = dict.fromkeys(("slots", "free_slots", "owned", "owners"), "<i4") | dict.fromkeys(
    ("ranks", "counts", "birth"), "<i8"
)
"""Of the arrays in the state of an ``Expansion``; the others are float64."""

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

ARRAY_DTYPES = ("<f8", "<i8", "<i4", "|b1")
SCALAR_KINDS = "biufU"


class CheckpointError(ValueError):
    """A model that no checkpoint can hold, or a file that is no checkpoint, damaged, truncated or too new."""


def save(model: base.Estimator, path: Path) -> None:
    """Write a model to a file, from which ``load`` makes a model that goes on exactly as this one would.

    The file is complete or not there at all: it is written beside the path, flushed to the disk and moved into place,
    so that an interruption leaves the old file or the new one (and perhaps a file ``.okl-*.tmp``).

    Parameters
    ----------
    model
        A model of one of the public classes. Feature names and labels must be str, int, bool, float or tuples of
        these; kernel, loss and scheduler must be those of river_okl and river. (For a pipeline, or classes of
        your own, use pickle.)
    path
        The file; one that exists is replaced, by one of the same mode and, where the system lets you, owner.

    Examples
    --------
    >>> import os, tempfile
    >>> import river_okl

    >>> model = river_okl.RBPClassifier(budget=10, seed=42)
    >>> model.learn_one({"x": 1.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.okl")
    ...     river_okl.save(model, path)
    ...     river_okl.load(path).predict_one({"x": 1.0})
    True

    """
    name = os.fsdecode(path)
    data = _dump(model)
    if _dump(_parse(data)) != data:
        raise CheckpointError(f"this {type(model).__name__} does not come back from a checkpoint as it is")
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".okl-{secrets.token_hex(8)}.tmp")
    try:
        _write(data, temporary, _replaced(target))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename, error.filename2 = name, None  # what the user knows of
        raise
    if os.name == "posix":  # the name, too, has to reach the disk
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def load(path: Path) -> Any:
    """The model that ``save`` wrote to a file.

    Safe for files from strangers: nothing in them is run, and what cannot be right is refused.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    CheckpointError
        Where the file is not a checkpoint, damaged, truncated, or of a newer version of river_okl. (OSError where it
        cannot be read.)

    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        head = file.read(HEADER.size)
        try:
            n_body = _n_body(head)
            body = file.read(n_body) if os.fstat(file.fileno()).st_size == HEADER.size + n_body else file.read()
            return _parse(head + body)
        except CheckpointError as error:
            raise CheckpointError(f"{name}: {error}") from error.__cause__


def _replaced(target: str) -> os.stat_result | None:
    """What there is to know of the file that will be replaced."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not stat.S_ISREG(found.st_mode):  # /dev/stdout must not become a file
        raise OSError(errno.EINVAL, "a checkpoint goes to a regular file, and this is none", target)
    return found


def _write(data: bytes, path: str, replaced: os.stat_result | None) -> None:
    """A new file that has reached the disk; until it has the mode of the file it replaces, it is its writer's alone."""
    mode = 0o666 if replaced is None else 0o600
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        if replaced is not None:
            if os.name == "posix":
                for owner, group in ((-1, replaced.st_gid), (replaced.st_uid, -1)):
                    with contextlib.suppress(OSError):
                        os.chown(path, owner, group)
            os.chmod(path, stat.S_IMODE(replaced.st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


# The file ---------------------------------------------------------------------------------------------------------


def _n_body(head: bytes) -> int:
    """How much follows this header."""
    if head[: len(MAGIC)] != MAGIC[: len(head)]:
        raise CheckpointError("not a checkpoint of river_okl")
    if len(head) < HEADER.size:
        raise CheckpointError(f"truncated: it ends after {len(head)} bytes")
    _, version, n_document, n_arrays, _ = HEADER.unpack(head)
    if version > VERSION:
        raise CheckpointError(
            f"format {version}, and this river_okl ({river_okl.__version__}) reads up to format {VERSION}: upgrade it"
        )
    if version < 1:
        raise CheckpointError(f"damaged: there is no format {version}")
    return int(n_document) + int(n_arrays)


def _digest(head: bytes, body: bytes) -> bytes:
    return hashlib.sha256(head[: -hashlib.sha256().digest_size] + body).digest()


def _dump(model: base.Estimator) -> bytes:
    """The bytes of a checkpoint."""
    document, arrays = _Writer().model(model)
    head = HEADER.pack(MAGIC, VERSION, len(document), len(arrays), bytes(32))
    return HEADER.pack(MAGIC, VERSION, len(document), len(arrays), _digest(head, document + arrays)) + document + arrays


def _parse(data: bytes) -> Any:
    """The model of a checkpoint's bytes."""
    head, body = data[: HEADER.size], data[HEADER.size :]
    size = _n_body(head)
    if len(body) != size:
        what = "truncated" if len(body) < size else "damaged"
        raise CheckpointError(f"{what}: {len(body):,} bytes where {size:,} belong")
    _, _, n_document, _, digest = HEADER.unpack(head)
    if _digest(head, body) != digest:
        raise CheckpointError("damaged: its checksum is not that of its contents")
    try:
        return _Reader(body[:n_document], body[n_document:]).model()
    except CheckpointError:
        raise
    except MemoryError as error:
        raise CheckpointError(f"more than there is memory for: {error}") from error
    except Exception as error:  # whatever a constructor finds wrong
        raise CheckpointError(f"damaged or written by hand: {error or type(error).__name__}") from error


# Classes ----------------------------------------------------------------------------------------------------------


def _model_classes() -> dict[str, Any]:
    found = {name: getattr(river_okl, name) for name in river_okl.__all__}
    return {name: cls for name, cls in found.items() if inspect.isclass(cls) and issubclass(cls, base.Estimator)}


def _part_classes() -> dict[str, Any]:
    """Kernels, losses and schedulers: what parameters may be."""
    return {
        f"{module.__name__}.{name}": cls
        for module in (kernels, losses, optim.losses, optim.schedulers)
        for name in module.__all__
        if inspect.isclass(cls := getattr(module, name)) and issubclass(cls, base.Base)
    }


def _parameters(thing: base.Base) -> tuple[list[Any], dict[str, Any]]:
    """What to call the constructor with: positional and keyword arguments."""
    positional, named = [], {}
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL:
            positional += getattr(thing, name)
        else:
            named[name] = getattr(thing, name)
    return positional, named


def _is_part(built: Any) -> bool:
    """An object of a class of our own, to which an algorithm leaves a part of its state."""
    return type(built).__module__.startswith("river_okl.algorithms.") and hasattr(built, "__dict__")


def _is_compiled(built: Any) -> bool:
    """A small compiled object with a tuple of numbers for its state."""
    return type(built).__module__.startswith("river_okl._core.") and type(built) is not Expansion


# Writing ----------------------------------------------------------------------------------------------------------


class _Writer:
    """A model as a document and the arrays that the document counts on."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.parts = {cls: name for name, cls in _part_classes().items()}

    def model(self, model: base.Estimator) -> tuple[bytes, bytes]:
        name = type(model).__name__
        if _model_classes().get(name) is not type(model):
            raise CheckpointError(f"{_line(model)} is not of a public class of river_okl; use pickle")
        _, parameters = _parameters(model)
        document = {
            "class": name,
            "river_okl": river_okl.__version__,
            "parameters": {key: self.value(value, key) for key, value in parameters.items()},
            "attributes": self.attributes(model, type(model)(**parameters), parameters),
        }
        document["arrays"] = [[array.dtype.str, array.size] for array in self.arrays]
        return (
            json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii"),
            b"".join(array.tobytes() for array in self.arrays),
        )

    def attributes(self, thing: Any, built: Any, parameters: dict[str, Any]) -> list[list[Any]]:
        """The attributes that are not parameters, in their order, beside those of a new one."""
        if unknown := vars(thing).keys() ^ vars(built).keys():
            raise CheckpointError(
                f"{type(thing).__name__} has attributes that its constructor does not make: {unknown}"
            )
        return [
            [name, None if name in parameters else self.attribute(value, vars(built)[name], name)]
            for name, value in vars(thing).items()
        ]

    def attribute(self, value: Any, built: Any, name: str) -> Any:
        if _is_part(value) and type(value) is type(built):
            return {"attributes": self.attributes(value, built, {})}
        if _is_compiled(value) and type(value) is type(built):
            return {"state": [self.value(item, name) for item in value.__getstate__()]}
        if _is_derived(value):
            return {"built": None}
        return self.value(value, name)

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise CheckpointError(f"{where} is nested more than {DEEPEST} deep, too deep for a checkpoint")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            if value.bit_length() > LONGEST_INT:
                raise CheckpointError(
                    f"{where} holds a number of {value.bit_length():,} bits, too long for a checkpoint"
                )
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and type(value.item()) in (bool, int, float, str):
            return {"scalar": [value.dtype.str, self.value(value.item(), where, depth + 1)]}
        if kind in (list, tuple):
            return {kind.__name__: [self.value(item, where, depth + 1) for item in value]}
        if kind is deque:
            return {"deque": [value.maxlen, [self.value(item, where, depth + 1) for item in value]]}
        if kind is dict:
            return {"dict": [[self.name(k, where), self.value(v, where, depth + 1)] for k, v in value.items()]}
        if kind is random.Random:
            version, numbers, gauss = value.getstate()
            return {"random": [version, list(numbers), gauss]}
        if kind is np.ndarray and value.ndim and value.dtype.newbyteorder("<").str in ARRAY_DTYPES:
            return self.array(value)
        if kind is Labels:
            return {"labels": [self.name(name, where) for name in value.names]}
        if kind is Expansion:
            return {"expansion": self.expansion(value)}
        if kind in self.parts:
            positional, named = _parameters(value)
            return {
                "object": [
                    self.parts[kind],
                    [self.value(item, where, depth + 1) for item in positional],
                    {k: self.value(item, where, depth + 1) for k, item in named.items()},
                ]
            }
        raise CheckpointError(
            f"{where} holds {_line(value)}, a {kind.__name__}, which no checkpoint can hold; use pickle for this model"
        )

    def name(self, name: Any, where: str) -> Any:
        """A feature name or a label."""
        kind = type(name)
        if kind is tuple:
            return {"tuple": [self.name(part, where) for part in name]}
        if kind in (str, int, bool) or (isinstance(name, float | np.generic) and name == name):
            return self.value(name, where)
        raise CheckpointError(
            f"{where} is {_line(name)}, a {kind.__name__}: names in a checkpoint are str, int, bool, float, or tuples; "
            f"rename it or use pickle for this model"
        )

    def array(self, array: NDArray[Any]) -> Any:
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self.arrays.append(array.astype(array.dtype.newbyteorder("<")).ravel("F" if fortran else "C"))
        return {"array": [len(self.arrays) - 1, list(array.shape), "F" if fortran else "C"]}

    def expansion(self, f: Expansion) -> Any:
        reduced: Any = f.__reduce__()
        _, (_, *options), ((adapting, previous, *counts), fields) = reduced  # the kernel comes from the parameters
        names, gram = fields.pop("names"), fields.pop("gram")
        return {
            "options": options,
            "adapting": adapting,
            "previous": previous and [[self.name(key, "a feature name"), v] for key, v in previous.items()],
            "counts": counts,
            "names": [self.name(name, "a feature name") for name in names],
            "gram": None if gram is None else [self.number_array(gram[0]), self.number_array(gram[1]), *gram[2:]],
            "state": {
                key: self.number_array(value, STATE_DTYPES.get(key, "<f8"))
                if isinstance(value, bytes)
                else self.value(value, key)
                for key, value in fields.items()
            },
        }

    def number_array(self, data: bytes, dtype: str = "<f8") -> Any:
        """Numbers as the machine has them."""
        return self.array(np.frombuffer(data, dtype[1:]))


def _is_derived(value: Any) -> bool:
    """What the constructor makes of a parameter and nothing changes: the derivative of the loss."""
    kind = value if inspect.isfunction(value) else type(value)
    return kind.__module__ == losses.__name__ and kind.__name__.startswith("_")


# Reading ----------------------------------------------------------------------------------------------------------


class _Reader:
    """A model from a document and its arrays; every claim of the document is checked before it costs anything."""

    def __init__(self, document: bytes, arrays: bytes) -> None:
        self.size = len(document) + len(arrays)
        self.document = json.loads(document.decode("ascii"), parse_constant=_no_constant)
        self.require(type(self.document) is dict, "its document is no object")
        listed = self.document.get("arrays")
        self.require(type(listed) is list, "its list of arrays")
        self.arrays, at = [], 0
        for dtype, n in listed:
            self.require(dtype in ARRAY_DTYPES and type(n) is int and n >= 0, "an array without type or size")
            self.arrays.append(np.frombuffer(arrays, dtype, n, at))
            at += self.arrays[-1].nbytes
        self.require(at == len(arrays), "the sizes of its arrays")
        self.parts = _part_classes()
        self.names: dict[Any, Any] = {}

    def require(self, condition: bool, what: str) -> None:
        if not condition:
            raise CheckpointError(f"damaged or written by hand: {what}")

    def model(self) -> Any:
        name, written = self.document.get("class"), self.document.get("river_okl")
        known = _model_classes()
        if type(name) is not str or name not in known:
            raise CheckpointError(
                f"a {name!r:.100} of river_okl {written!r:.100}, which river_okl {river_okl.__version__} does not have"
            )
        parameters = self.document.get("parameters")
        self.require(type(parameters) is dict, "its parameters")
        model = known[name](**{key: self.value(value) for key, value in parameters.items()})
        self.terms = (getattr(model, "kernel", None) or kernels.RBF())._terms()  # one object, as pickles count them
        self.attributes(model, self.document.get("attributes"), parameters)
        return model

    def attributes(self, thing: Any, pairs: Any, parameters: dict[str, Any]) -> None:
        """Replace the attributes of a new object by those of the file."""
        built = dict(vars(thing))
        self.require(
            type(pairs) is list and all(type(pair) is list and len(pair) == 2 for pair in pairs), "its attributes"
        )
        if isinstance(built.get("_labels"), Labels):
            pairs = self.with_labels(pairs)
        self.require(sorted(map(str, (name for name, _ in pairs))) == sorted(built), "the names of its attributes")
        found = {name: self.attribute(value, built[name], name in parameters) for name, value in pairs}
        for name, value in found.items():
            self.require(name in parameters or _like(value, built[name]), f"{name} is {value!r:.100}")
        vars(thing).clear()  # the order of attributes is part of a pickle
        vars(thing).update((sys.intern(name), value) for name, value in found.items())

    def with_labels(self, pairs: list[Any]) -> list[Any]:
        """Labels as one object, where the file has them as two attributes, with a guess where only one was seen."""
        found = dict(pairs)
        if "_targets" not in found:
            return pairs
        names, seen = found["_labels"]["list"], [name for name, _ in found["_targets"]["dict"]]
        if len(seen) < 2:
            names = seen
        return [
            [name, {"labels": names} if name == "_labels" else value] for name, value in pairs if name != "_targets"
        ]

    def attribute(self, value: Any, built: Any, is_parameter: bool) -> Any:
        if is_parameter or (type(value) is dict and value.keys() == {"built"}):
            self.require(is_parameter or _is_derived(built), "an attribute that does not follow from the parameters")
            return built
        if type(value) is dict and value.keys() == {"attributes"}:
            self.require(_is_part(built), "attributes of something that has none")
            self.attributes(built, value["attributes"], {})
            return built
        if type(value) is dict and value.keys() == {"state"}:
            self.require(_is_compiled(built), "the state of something that has none")
            state = tuple(self.value(item) for item in value["state"])
            self.require(all(map(_like, state, built.__getstate__())), "a state out of range")
            built.__setstate__(state)
            return built
        return self.value(value)

    def value(self, value: Any, depth: int = 0) -> Any:
        self.require(depth <= 2 * DEEPEST, "values nested too deep")
        if type(value) is str:
            return sys.intern(value)
        if type(value) is not dict:
            self.require(value is None or type(value) in (bool, int, float), f"{value!r:.100} without a type")
            return value
        self.require(len(value) == 1, f"{value!r:.100} is no typed value")
        ((kind, content),) = value.items()
        if kind == "float":
            self.require(content in ("nan", "inf", "-inf"), f"{content!r:.100} is no float")
            return float(content)
        if kind == "object":
            return self.object(content, depth)
        if kind == "labels":
            names = [self.name(name) for name in content]
            Labels().check(names, "a checkpoint", multiclass=True)
            labels = Labels(names)
            self.require(labels.names == names, "the order of its labels")
            return labels
        if kind == "expansion":
            return self.expansion(content)
        self.require(type(content) is list, f"{value!r:.100} is no typed value")
        if kind == "scalar":
            dtype, item = content
            self.require(type(dtype) is str and len(dtype) < 10, "a scalar's type")
            kind = np.dtype(dtype)
            self.require(kind.kind in SCALAR_KINDS and kind.itemsize <= 8 * self.size, "a scalar's type")
            return kind.type(self.value(item, depth + 1))
        if kind == "list":
            return [self.value(item, depth + 1) for item in content]
        if kind == "tuple":
            items = tuple(self.value(item, depth + 1) for item in content)
            return self.names.setdefault((items, *map(type, items)), items) if _is_name(items) else items
        if kind == "deque":
            longest, items = content
            return deque([self.value(item, depth + 1) for item in items], longest)
        if kind == "dict":
            found = {self.name(k): self.value(v, depth + 1) for k, v in content}
            self.require(len(found) == len(content), "a key twice")
            return found
        if kind == "random":
            version, numbers, gauss = content
            rng = random.Random()
            rng.setstate((version, tuple(numbers), gauss))
            return rng
        if kind == "array":
            return self.array(content).copy(order=content[2])
        raise CheckpointError(f"damaged or written by hand: {kind!r:.100} is no type of a checkpoint")

    def name(self, name: Any) -> Any:
        """A feature name or a label; equal ones are one object, as in the dicts of most streams."""
        found = self.value(name)
        self.require(_is_name(found), f"{found!r:.100} is no name")
        return found

    def array(self, content: Any) -> NDArray[Any]:
        index, shape, order = content
        self.require(type(index) is int and 0 <= index < len(self.arrays), "an array that is not there")
        self.require(order in ("C", "F"), "the order of an array")
        self.require(all(type(n) is int and n >= 0 for n in shape) and 1 <= len(shape) <= 4, "the shape of an array")
        self.require(math.prod(shape) == self.arrays[index].size, "the shape of an array")
        array = self.arrays[index].astype(self.arrays[index].dtype.str[1:])  # the machine's order of bytes
        self.require(bool(np.isfinite(array).all()), "an array with numbers that are not finite")
        found: NDArray[Any] = array.reshape(shape, order=order)
        return found

    def object(self, content: Any, depth: int) -> Any:
        name, positional, named = content
        self.require(type(name) is str and type(positional) is list and type(named) is dict, "an object")
        if name not in self.parts:
            raise CheckpointError(f"it uses {name!r:.100}, which is neither of this river_okl nor of this river")
        return self.parts[name](
            *(self.value(item, depth + 1) for item in positional),
            **{key: self.value(item, depth + 1) for key, item in named.items()},
        )

    def expansion(self, content: Any) -> Expansion:
        budget, spare, n_outputs, norm, values, inverse = content["options"]
        self.require(
            (budget is None or type(budget) is int)
            and type(n_outputs) is int
            and all(type(flag) is bool for flag in (spare, norm, values, inverse)),
            "the options of an expansion",
        )
        state = {key: self.state_value(value) for key, value in content["state"].items()}
        state["names"] = [self.name(name) for name in content["names"]]
        state["gram"] = content["gram"] and tuple(map(self.state_value, content["gram"]))
        capacity, n_dense = state["capacity"], int((np.frombuffer(state["ranks"], np.int64) >= 0).sum())
        columns = len(state["norms"]) // 8
        self.require(type(capacity) is int and n_outputs <= columns, "the size of an expansion")
        needed = capacity * (8 * (columns + 9 + n_dense) + 16 * (1 + inverse * capacity))
        self.require(
            needed <= max(ALLOCATED_AT_LEAST, ALLOCATED_PER_BYTE * self.size), f"it asks for {needed:,} bytes of memory"
        )
        f = Expansion(
            self.terms,
            budget=budget,
            spare=spare,
            n_outputs=n_outputs,
            norm=norm,
            values=values,
            inverse=inverse,
        )
        previous = content["previous"]
        if previous is not None:
            previous = {self.name(name): value for name, value in previous}
        f.__setstate__(((content["adapting"], previous, *content["counts"]), state))
        return f

    def state_value(self, value: Any) -> Any:
        """A field of an expansion's state: arrays are bytes there."""
        if type(value) is dict and value.keys() == {"array"}:
            return self.array(value["array"]).tobytes()
        return self.value(value)


def _line(value: Any) -> str:
    """What a value looks like, in one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _no_constant(name: str) -> Any:
    raise CheckpointError(f"damaged or written by hand: {name} is no number of JSON")


def _is_name(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_name, value))
    return type(value) in (str, int, bool) or (isinstance(value, float | np.generic) and bool(value == value))


def _like(value: Any, built: Any) -> bool:
    """Whether this can be what became of an attribute that the constructor made."""
    if isinstance(value, float):
        return value == value and (built is None or isinstance(built, float | int))
    if built is None or value is None:
        return True
    return type(value) is type(built) and not (type(value) is int and value < 0 <= built)
