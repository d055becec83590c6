"""What a row is, and the kinds of values, checked by type and range: River's constructors check little."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from river_okl._core.store.sample import shown
from river_okl.checks import is_name, kind_of, require

if TYPE_CHECKING:
    from river_okl.merging.shards import Shards


class Kind(NamedTuple):
    """``into`` checks a file's value and converts it to the attribute's; ``out`` inverts it.  Both raise ValueError."""

    into: Callable[[Any], Any]
    out: Callable[[Any], Any] = lambda value: value


Merge = Callable[["Shards"], Any]  # merges one part of all shards


class Row(NamedTuple):
    """The contents of a River object's checkpoint, and the rule to merge several."""

    parameters: dict[str, Kind]
    state: dict[str, Kind]
    derived: tuple[str, ...] = ()  # attributes that the object derives from the others
    check: Callable[[Any], None] = lambda thing: None  # raises if its parts are inconsistent
    absent: Callable[[Any], tuple[str, ...]] = lambda thing: ()  # names in ``state`` that this object lacks
    clones: bool = False  # whether the constructor clones its ``model``
    arguments: Callable[[dict[str, Any]], Iterable[Any]] | None = None  # positional arguments from the parameters
    read: dict[str, Callable[[Any], Any]] = {}  # getters of values that are not the attributes of their names
    merge: Callable[[Shards, Merge], Any] | None = None  # None: such objects do not merge


def such(test: Callable[[Any], bool], what: str) -> Kind:
    """Return the kind of values that pass a test."""

    def into(value: Any) -> Any:
        require(test(value), f"{shown(value)} as {what}")
        return value

    return Kind(into)


def number(low: float = -math.inf, high: float = math.inf, infinite: bool = False) -> Kind:
    def test(value: Any) -> bool:
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        return bool(real and low <= value <= high and (infinite or math.isfinite(value)))

    return such(test, "a number")


def whole(low: int = 0, high: int = 2**62) -> Kind:
    def test(value: Any) -> bool:
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(low <= value <= high)

    return such(test, "an integer")


def of_type(*types: type) -> Kind:
    return such(lambda value: type(value) in types, f"a {types[0].__name__}")


def only(one: Any) -> Kind:
    return such(lambda value: type(value) is type(one) and value == one, f"what can only be {one!r}")


def maybe(kind: Kind) -> Kind:
    return Kind(
        lambda value: None if value is None else kind.into(value),
        lambda value: None if value is None else kind.out(value),
    )


def dict_of(kind: Kind) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is dict and all(map(is_name, values)), f"a {type(values).__name__} as a dict of names")
        return {key: kind.into(value) for key, value in values.items()}

    return Kind(into, lambda values: {key: kind.out(value) for key, value in values.items()})


def list_of(kind: Kind) -> Kind:
    def into(values: Any) -> Any:
        require(type(values) is list, f"a {type(values).__name__} as a list")
        return [kind.into(value) for value in values]

    return Kind(into, lambda values: [kind.out(value) for value in values])


def object_of(make: Callable[..., Any], *arguments: Any, **attributes: Kind) -> Kind:
    """Return the kind of a small object with just these attributes; arguments of its constructor do not matter."""

    def into(values: Any) -> Any:
        require(type(values) is dict and values.keys() == attributes.keys(), f"{values!r:.100} as a {make.__name__}")
        found = make(*arguments)
        for name, kind in attributes.items():
            setattr(found, name, kind.into(values[name]))
        return found

    def out(thing: Any) -> Any:
        if type(thing) is not make or vars(thing).keys() != attributes.keys():
            raise ValueError(f"{shown(thing)}, {kind_of(thing)} instead of {kind_of(make)}")
        return {name: kind.out(getattr(thing, name)) for name, kind in attributes.items()}

    return Kind(into, out)


FLAG = of_type(bool)
NAME = such(is_name, "a name")
