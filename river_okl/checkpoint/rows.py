"""Objects of River in a document, as specified by their rows in wrappers/.

Each value is checked.  Then the constructor is called with the parameters, and the attributes that it makes are filled.
Attributes derived by River (bound methods, the plan of a pipeline) are not written; unknown attributes are rejected.
"""

from __future__ import annotations

import copy
from typing import Any

from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Reader, Writer
from river_okl.checks import kind_of, require
from river_okl.wrappers import ROWS
from river_okl.wrappers.kinds import Kind

DEEPEST = 10  # nesting of wrappers, each of which may clone its contents


def name_of(cls: type) -> str:
    """Return the public name of a class, such as ``river.compose.Pipeline``."""
    return f"{'.'.join(cls.__module__.split('.')[:2])}.{cls.__name__}"


CLASSES = {name_of(cls): cls for cls in ROWS}


class _StandIn:
    """A placeholder for a model that a constructor would clone: nested wrappers would be cloned repeatedly."""

    def clone(self) -> _StandIn:
        return self


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """Return the description of an object of a class with a row."""
    cls = type(thing)
    row = ROWS[cls]
    if hasattr(thing, "_lock"):
        thing = copy.deepcopy(thing)  # between two samples, as another thread may train it
    state = {name: kind for name, kind in row.state.items() if name not in row.absent(thing)}
    if unknown := vars(thing).keys() - row.parameters.keys() - row.state.keys() - {*row.derived}:
        names = ", ".join(sorted(unknown))
        raise CheckpointError(f"{where}: {kind_of(cls)} with the attributes {names}, which checkpoints do not support")

    def written(kinds: dict[str, Kind]) -> dict[str, Any]:
        found = {}
        for name, kind in kinds.items():
            what = f"{name} of {kind_of(cls)}"
            try:
                value = kind.out(row.read[name](thing) if name in row.read else getattr(thing, name))
            except ValueError as error:
                raise CheckpointError(str(error)) from None
            try:
                kind.into(value)
            except ValueError as error:
                raise CheckpointError(
                    f"{what}: use pickle for this model, checkpoints do not support {error}"
                ) from None
            found[name] = write(value, what)
        return found

    return {"class": name_of(cls), "parameters": written(row.parameters), "state": written(state)}


def made(cls: Any, content: dict[str, Any], read: Reader) -> Any:
    """Return the object described by ``described``."""
    row = ROWS[cls]
    require(content.keys() == {"class", "parameters", "state"}, f"what a {cls.__name__} is")
    read.nested += 1
    require(read.nested <= DEEPEST, f"more than {DEEPEST} wrappers in wrappers")
    parameters = read.named(content["parameters"], "parameters")
    state = read.named(content["state"], "state")
    read.nested -= 1
    require(parameters.keys() == row.parameters.keys(), f"the parameters of a {cls.__name__}")
    parameters = {name: kind.into(parameters[name]) for name, kind in row.parameters.items()}
    if "n_models" in row.parameters:
        require(type(state.get("data")) is list and len(state["data"]) == parameters.get("n_models"), "its models")
    given = parameters | {"model": _StandIn()} if row.clones else parameters
    thing = cls(*row.arguments(given)) if row.arguments else cls(**given)
    if row.clones:
        thing.model = parameters["model"]
    require(state.keys() == row.state.keys() - {*row.absent(thing)}, f"the state of a {cls.__name__}")
    for name, value in state.items():
        _fill(thing, name, row.state[name].into(value))
    row.check(thing)
    return thing


def _fill(thing: Any, name: str, value: Any) -> None:
    """Fill the containers that the constructor made, which store the default for missing keys."""
    container = getattr(thing, name)
    if isinstance(container, dict | set):
        container.clear()
        container.update(value)
    else:
        setattr(thing, name, value)
