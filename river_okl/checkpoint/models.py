"""Objects of river_okl in a document: what they were made with, and their state by name.

A model is its parameters and its other attributes, except what follows from the parameters (see ``_merging`` in
model.py).  On the way back its constructor gets the parameters; then the attributes that it makes take the values of
the file, which must be of the same types (numbers no less than 0 where the constructor's are not negative), and
``_check_state()`` of the model says what must hold between them.

A part of a model, compiled or plain, is an attribute with two methods::

    state() -> dict            names and plain values: None, bool, int, float, str, tuples, lists, dicts, NumPy arrays
    restore(state) -> None     of a new object: takes such a dict; ValueError where something is missing or out of range

It is recognised by having them.  The constructor of its model must have made it; nothing in a file makes a part.
"""

from __future__ import annotations

import copy
import functools
import importlib.metadata
import inspect
import random
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, optim

import river_okl
from river_okl import algorithms, kernels, losses
from river_okl._core.function.expansion import Expansion
from river_okl._core.states import LARGEST_COUNT, LARGEST_NUMBER
from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Part, Reader, Writer, is_name, require
from river_okl.checks import PerClass

KERNEL_STATE = (
    "adapting",
    "previous",
    "seen",
    "next_update",
    "sum_squares",
    "sum_distances",
    "mean_square",
    "mean_distance",
)
GRAM = ("gram", "inverse", "steps", "fragile")

STATE_DTYPES = dict.fromkeys(("slots", "free_slots", "owned", "owners"), "<i4") | dict.fromkeys(
    ("ranks", "counts", "birth"), "<i8"
)
"""Of the arrays in the state of an ``Expansion``; the others are float64."""


def document(model: Any) -> dict[str, Any]:
    return {"river_okl": river_okl.__version__, "river": _version_of_river(), "model": model}


@functools.cache
def _version_of_river() -> str:
    return importlib.metadata.version("river")  # it reads a file, for a millisecond


# Classes ----------------------------------------------------------------------------------------------------------


@functools.cache
def model_classes() -> dict[str, Any]:
    return {f"river_okl.{name}": cls for name, cls in algorithms.classes().items()}


@functools.cache
def classes() -> dict[str, Any]:
    """Models, and what their parameters may be: budgets, kernels, losses and schedulers."""
    return (
        model_classes()
        | {"river_okl.PerClass": PerClass}
        | {
            f"{module.__name__}.{name}": cls
            for module in (kernels, losses, optim.losses, optim.schedulers)
            for name in module.__all__
            if inspect.isclass(cls := getattr(module, name)) and issubclass(cls, base.Base)
        }
    )


@functools.cache
def class_names() -> dict[type, str]:
    return {cls: name for name, cls in classes().items()}


def _arguments(thing: base.Base) -> tuple[list[Any], dict[str, Any]]:
    """What to call the constructor with: positional and keyword arguments."""
    positional, named = [], {}
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        if parameter.kind == parameter.VAR_POSITIONAL:
            positional += getattr(thing, name)
        else:
            named[name] = getattr(thing, name)
    return positional, named


# Writing ----------------------------------------------------------------------------------------------------------


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """A model, or what one of its parameters is."""
    cls = type(thing)
    if cls in model_classes().values():
        thing = copy.deepcopy(thing)  # between two samples of whoever learns it meanwhile
    positional, named = _arguments(thing)
    content: dict[str, Any] = {"class": class_names()[cls]}
    if positional:
        content["positional"] = [write(item, where) for item in positional]
    content["parameters"] = {name: write(value, name) for name, value in named.items()}
    if cls in model_classes().values():
        content["state"] = _state(thing, cls(**named), named, write)
    return content


def _state(model: Any, built: Any, parameters: dict[str, Any], write: Writer) -> dict[str, Any]:
    """The attributes that are not parameters, beside those of a new model."""
    if unknown := vars(model).keys() ^ vars(built).keys():
        raise CheckpointError(
            f"{type(model).__name__} has attributes that its constructor does not make: {', '.join(sorted(unknown))}"
        )
    return {
        name: _part(value, name, write) if _is_part(value) else write(value, name)
        for name, value in vars(model).items()
        if name not in parameters and name not in _derived(model)
    }


def _derived(model: Any) -> set[str]:
    return {name for name, rule in model._rules().items() if rule == "parameters"}


def _part(part: Any, where: str, write: Writer) -> dict[str, Any]:
    if type(part) is Expansion:
        state = _expansion_state(part)
        names = {"list": [write.name(name, "a feature") for name in state.pop("names")]}
        written = {"names": names} | {name: write(value, "a feature") for name, value in state.items()}
    else:
        written = {name: write(value, f"{where}.{name}") for name, value in part.state().items()}
    return {"part": {"state": written}}


def _is_part(value: Any) -> bool:
    return type(value) is Expansion or (hasattr(type(value), "state") and hasattr(type(value), "restore"))


# Reading ----------------------------------------------------------------------------------------------------------


def made(cls: Any, content: dict[str, Any], read: Reader) -> Any:
    """A model, or what one of its parameters is."""
    require(content.keys() <= {"class", "positional", "parameters", "state"}, "more than an object has")
    positional = content.get("positional", [])
    require(type(positional) is list, "its positional arguments")
    arguments = [read(item) for item in positional]
    parameters = read.named(content.get("parameters"), "parameters")
    if cls not in model_classes().values():
        require("state" not in content, f"a state of a {cls.__name__}")
        _check_numbers(cls, parameters)
        return cls(*arguments, **parameters)
    state = read.named(content.get("state"), "state")
    model = cls(*arguments, **parameters)
    _restore(model, state, parameters, read)
    return model


def _check_numbers(cls: type, parameters: dict[str, Any]) -> None:
    """River's losses and schedulers take what they are given; theirs are numbers, none negative, and losses."""
    if not issubclass(cls, optim.base.Loss | optim.base.Scheduler):
        return
    for name, value in parameters.items():
        if isinstance(value, optim.base.Loss) or (name == "class_weight" and value is None):
            continue
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        require(real and 0.0 <= value < 1e100, f"{cls.__name__}: {name} is {value!r:.100}")
    require(parameters.get("power", 0.0) <= 30.0, "a power that overflows")  # t ** power
    require(parameters.get("C", 1.0) > 0.0, "a scale of 0")


def _restore(model: Any, state: dict[str, Any], parameters: dict[str, Any], read: Reader) -> None:
    """The attributes of a new model as the file has them."""
    attributes = vars(model)
    expected = attributes.keys() - parameters.keys() - {*_derived(model)}
    require(state.keys() == expected, f"other attributes than {', '.join(sorted(expected)):.100}")
    for name, value in state.items():
        made = attributes[name]
        if isinstance(value, Part) or _is_part(made):
            require(isinstance(value, Part) and _is_part(made), f"{name} is {value!r:.100}")
            if type(made) is Expansion:
                _restore_expansion(made, value.state, read)
            else:
                made.restore(value.state)
        else:
            require(_like(value, made), f"{name} is {value!r:.100}")
            attributes[name] = value
    if hasattr(model, "_check_state"):
        model._check_state()


def _like(value: Any, made: Any) -> bool:
    """Whether this can be what became of an attribute that the constructor made."""
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


# Expansions -------------------------------------------------------------------------------------------------------


def _expansion_state(f: Expansion) -> dict[str, Any]:
    """The points, coefficients and Gram matrices of an expansion and the scale of its stream, flat and by name."""
    reduced: Any = f.__reduce__()
    _, _, (kernel, fields) = reduced  # what it was made with comes from the parameters
    gram = fields.pop("gram")
    fields |= dict(zip(GRAM, [None] * 4 if gram is None else gram, strict=True))
    return dict(zip(KERNEL_STATE, kernel, strict=True)) | {
        name: np.frombuffer(value, STATE_DTYPES.get(name, "<f8")[1:]) if isinstance(value, bytes) else value
        for name, value in fields.items()
    }


def _restore_expansion(f: Expansion, state: dict[str, Any], read: Reader) -> None:
    needed = {*KERNEL_STATE, *GRAM, "names", "capacity", "ranks", "norms"}
    require(needed <= state.keys(), "less than an expansion has")
    require(type(state["names"]) is list and all(map(is_name, state["names"])), "the names of features")
    fields: dict[str, Any] = {}
    for name, value in state.items():
        if type(value) is np.ndarray:
            require(value.dtype.str[1:] == STATE_DTYPES.get(name, "<f8")[1:], f"{name} is of another type")
            value = value.tobytes()
        fields[name] = value
    kernel = tuple([fields.pop(name) for name in KERNEL_STATE])
    gram = tuple([fields.pop(name) for name in GRAM])
    fields["gram"] = None if gram == (None,) * 4 else gram
    capacity, ranks, norms = state["capacity"], state["ranks"], state["norms"]
    require(type(capacity) is int and type(ranks) is type(norms) is np.ndarray, "the size of an expansion")
    inverse = fields["gram"] is not None
    read.may_allocate(capacity * (8 * (norms.size + 9 + int((ranks >= 0).sum())) + 16 * (1 + inverse * capacity)))
    f.__setstate__((kernel, fields))
    own = _self_similarities(f, state["square"])
    require(np.allclose(own, state["self"], rtol=1e-9, atol=0.0), "similarities of points with themselves")
    for name in ("coef", "values", "norms", "peaks"):
        require(bool((abs(state[name]) <= LARGEST_NUMBER).all()), f"{name} has numbers out of range")
    if norms.any() and not state["stale"]:  # they are kept, and up to date
        K, columns = f.gram(), f.columns
        squares, sizes = ((a * (b @ a)).sum(axis=0) for a, b in ((columns, K), (abs(columns), abs(K))))
        require(bool((abs(norms - squares) <= 1e-4 * sizes).all()), "norms that are not those of the coefficients")


def _self_similarities(f: Expansion, squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """κ(z, z) for points with these ‖z‖²."""
    gammas, total = iter(f.kernel.gammas), np.zeros(len(squares))
    for weight, factors in f.kernel.terms:
        product = np.full(len(squares), weight)
        for (kind, degree, _, coef0, _), gamma in zip(factors, gammas, strict=False):
            if kind == kernels.DOT_POWER:
                product *= (gamma * squares + coef0) ** degree
        total += product
    return total
