"""Objects of River in a document, as their rows in wrappers/ say.

Each value is checked; then the constructor gets the parameters, and the attributes that it makes are filled.  What
River derives from these (bound methods, the plan of a pipeline) is not written, and an unknown attribute rejected.
"""

from __future__ import annotations

import copy
from typing import Any

from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Reader, Writer
from river_okl.checks import kind_of, require
from river_okl.wrappers import ROWS
from river_okl.wrappers.kinds import Kind

DEEPEST = 10  # wrappers in wrappers: each may clone what is in it


def name_of(cls: type) -> str:
    """Such as ``river.compose.Pipeline``."""
    return f"{'.'.join(cls.__module__.split('.')[:2])}.{cls.__name__}"


CLASSES = {name_of(cls): cls for cls in ROWS}


class _StandIn:
    """For a model that a constructor would clone: wrappers in wrappers would be cloned again and again."""

    def clone(self) -> _StandIn:
        return self


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """An object of a class with a row."""
    cls = type(thing)
    row = ROWS[cls]
    if hasattr(thing, "_lock"):
        thing = copy.deepcopy(thing)  # between two samples, if another thread learns it meanwhile
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
    """The object that ``described`` has described."""
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
    """Fill the containers that the constructor made: they know the default of a missing key."""
    container = getattr(thing, name)
    if isinstance(container, dict | set):
        container.clear()
        container.update(value)
    else:
        setattr(thing, name, value)
