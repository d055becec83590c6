"""Objects of river_okl in a document: their parameters, and their state by name.

A model consists of its parameters and its other attributes, except those derived from the parameters (see ``_merging``
in model.py).  To load it, its constructor is called with the parameters.  Then the attributes that it creates are set
to the values in the file.  These must be of the same types, and numbers must not be negative if the constructor's are
not.  ``_check_state()`` of the model checks the consistency between attributes.

A part of a model, compiled or plain, is an attribute with two methods, and perhaps a third::

    state() -> dict            names and plain values: None, bool, int, float, str, tuples, lists, dicts, NumPy arrays
    restore(state) -> None     given such a dict; if something is missing or out of range, ValueError: discard the part
    room_for(state) -> int     only if restoring may need more memory than the state: number of bytes

The first two identify a part.  The model's constructor must have created it; nothing in a file creates a part.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import random
from collections import deque
from typing import Any

import numpy as np
from river import base

from river_okl import algorithms, kernels, losses
from river_okl._core.states import LARGEST_COUNT, LARGEST_NUMBER
from river_okl.checkpoint.earlier import upgraded
from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Part, Reader, Writer
from river_okl.checks import PerClass, require

# Classes ----------------------------------------------------------------------------------------------------------


@functools.cache
def model_classes() -> dict[str, Any]:
    return {f"river_okl.{name}": cls for name, cls in algorithms.classes().items()}


@functools.cache
def classes() -> dict[str, Any]:
    """Return models, and our classes that parameters may have: budgets, kernels and losses."""
    return (
        model_classes()
        | {"river_okl.PerClass": PerClass}
        | {
            f"{module.__name__}.{name}": cls
            for module in (kernels, losses)
            for name in module.__all__
            if inspect.isclass(cls := getattr(module, name)) and issubclass(cls, base.Base)
        }
    )


@functools.cache
def class_names() -> dict[type, str]:
    return {cls: name for name, cls in classes().items()}


def _arguments(thing: base.Base) -> tuple[list[Any], dict[str, Any]]:
    """Return the constructor's positional and keyword arguments."""
    positional, named = [], {}
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL:
            positional += getattr(thing, name)
        else:
            named[name] = getattr(thing, name)
    return positional, named


# Writing ----------------------------------------------------------------------------------------------------------


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """Return the description of a model, or of an object among its parameters."""
    cls = type(thing)
    is_model = cls in model_classes().values()
    content: dict[str, Any] = {"class": class_names()[cls]}
    with thing._f.lock if is_model else contextlib.nullcontext():  # between two samples, if another thread learns it
        positional, named = _arguments(thing)
        if positional:
            content["positional"] = [write(item, where) for item in positional]
        content["parameters"] = {name: write(value, name) for name, value in named.items()}
        if is_model:
            content["state"] = _state(thing, cls(**named), named, write)
    return content


def _state(model: Any, built: Any, parameters: dict[str, Any], write: Writer) -> dict[str, Any]:
    """Return the attributes that are not parameters; all must be those of a newly constructed model.

    They are copied, as what can change is written later, when the model is no longer locked.
    """
    if unknown := vars(model).keys() ^ vars(built).keys():
        raise CheckpointError(
            f"{type(model).__name__} has attributes that its constructor does not make: {', '.join(sorted(unknown))}"
        )
    left_out = parameters.keys() | _derived(model)
    return {
        name: _part(value, name, write) if _is_part(value) else write(copy.deepcopy(value), name)
        for name, value in vars(model).items()
        if name not in left_out
    }


def _derived(model: Any) -> set[str]:
    return {name for name, rule in model._rules().items() if rule == "parameters"}


def _part(part: Any, where: str, write: Writer) -> dict[str, Any]:
    return {"part": {"state": {name: _piece(value, f"{where}.{name}", write) for name, value in part.state().items()}}}


def _piece(value: Any, where: str, write: Writer) -> Any:
    """Write a value in a state; ``names`` and the keys of dicts are feature names."""
    if type(value) is dict:
        pairs = value.items()
        return {
            "nested": [
                [write.name(k, "a feature"), _piece(v, "names" if k == "names" else where, write)] for k, v in pairs
            ]
        }
    if type(value) is list:
        return {"items": [write.name(v, "a feature") if where == "names" else _piece(v, where, write) for v in value]}
    if type(value) is tuple:
        return {"tuple": [_piece(item, where, write) for item in value]}
    if type(value) is np.ndarray:
        return {"array": write.array(value)}
    return write(value, where)


def _is_part(value: Any) -> bool:
    return hasattr(type(value), "state") and hasattr(type(value), "restore")


# Reading ----------------------------------------------------------------------------------------------------------


def made(cls: Any, content: dict[str, Any], read: Reader) -> Any:
    """Return a model, or an object among its parameters."""
    require(content.keys() <= {"class", "positional", "parameters", "state"}, "more than an object has")
    positional = content.get("positional", [])
    require(type(positional) is list, "its positional arguments")
    arguments = read.complete(lambda: [read(item) for item in positional])
    parameters = read.complete(lambda: read.named(content.get("parameters"), "parameters"))
    if cls not in model_classes().values():
        require("state" not in content, f"a state of a {cls.__name__}")
        return cls(*arguments, **parameters)
    state = read.complete(lambda: read.named(content.get("state"), "state"))
    parameters, state = upgraded(cls, parameters, state)
    model = cls(*arguments, **parameters)
    _restore(model, state, parameters, read)
    return model


def _restore(model: Any, state: dict[str, Any], parameters: dict[str, Any], read: Reader) -> None:
    """Set the attributes of a new model to those in the file."""
    attributes = vars(model)
    expected = attributes.keys() - parameters.keys() - _derived(model)
    require(state.keys() == expected, f"other attributes than {', '.join(sorted(expected)):.100}")
    for name, value in state.items():
        made = attributes[name]
        if isinstance(value, Part) or _is_part(made):
            # the message has no repr of a part, which would format all its arrays
            require(isinstance(value, Part) and _is_part(made), f"{name} is {type(value).__name__}")
            if hasattr(made, "room_for"):
                read.may_allocate(made.room_for(value.state))
            made.restore(value.state)
        else:
            require(_like(value, made), f"{name} is {value!r:.100}")
            attributes[name] = value
    if hasattr(model, "_check_state"):
        model._check_state()


def _like(value: Any, made: Any) -> bool:
    """Return whether an attribute that the constructor made can have changed to this value."""
    if value is None or type(value) is not type(made):
        return value is made
    if type(value) is int:
        return abs(value) <= LARGEST_COUNT and not value < 0 <= made
    if type(value) is float:
        return abs(value) <= LARGEST_NUMBER and not value < 0.0 < made
    if type(value) is np.ndarray:
        same = value.dtype == made.dtype and value.ndim == made.ndim
        same = same and (value.shape == made.shape or not made.size)
        return bool(same and (abs(value) <= LARGEST_NUMBER).all())
    if type(value) is deque:
        return bool(value.maxlen == made.maxlen)
    return type(value) in (bool, str, list, tuple, dict, random.Random)
