"""Objects of River, and of river_okl, that consist of plain attributes: one codec for all of them.

An object is written as its class and its attributes by name.  It is made without its constructor, and its
attributes are set; nothing else is called.  Only classes of River's learning modules and of ours are made,
and no functions.  What objects call later, such as the default of a dict, may be one of these classes, a
method of one of these objects, or a function in a short list.  A forged file executes no code, but its model
may predict nonsense.

River's compiled objects are written as their bytes, which River checks.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import functools
import importlib
import inspect
import numbers
import operator
import random
import statistics
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from river import utils

from river_okl._core.store.sample import shown
from river_okl.checkpoint.file import CheckpointError
from river_okl.checkpoint.values import Reader, Writer
from river_okl.checks import kind_of, require

MODULES = frozenset(  # of River; those that read files or the network are left out
    [
        *("active", "anomaly", "bandit", "base", "cluster", "compose", "conf", "covariance", "drift", "dummy"),
        *("ensemble", "facto", "feature_extraction", "feature_selection", "forest", "imblearn", "linear_model"),
        *("metrics", "misc", "model_selection", "multiclass", "multioutput", "naive_bayes", "neighbors"),
        *("neural_net", "optim", "preprocessing", "proba", "reco", "rules", "sketch", "stats", "time_series", "tree"),
        "utils",
    ]
)
OURS = "river_okl.series", "river_okl.late"
OTHERS = (statistics.NormalDist,)
RUST = "river._river_rust"
VECTOR = f"{RUST}.vectordict:VectorDict"
BUILTINS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(bool, int, float, str, list, tuple, dict, set, frozenset, type(None)),
        *(collections.Counter, collections.defaultdict, numbers.Number),
    )
}
FUNCTIONS = (  # that objects of River hold
    *("copy:deepcopy", "builtins:str.lower", "builtins:min", "builtins:max", "numpy:ones", "numpy:array"),
    "river.feature_extraction.vectorize:find_all_ngrams",
    "river.feature_extraction.vectorize:remove_stop_words",
    "river.feature_extraction.vectorize:strip_accents_unicode",
    "river.feature_extraction.vectorize:tokenize_using_regex_pattern",
    "river.forest.online_extra_trees:ExtraTrees._detection_mode_all",
    "river.forest.online_extra_trees:ExtraTrees._detection_mode_drop",
    "river.forest.online_extra_trees:ExtraTrees._detection_mode_off",
    "river.metrics.mutual_info:_average_arithmetic",
    "river.metrics.mutual_info:_average_geometric",
    "river.naive_bayes.gaussian:GaussianNB._make_gaussian",
    "river.tree.splitter.ebst_splitter:EBSTNode._update_estimator_multivariate",
    "river.tree.splitter.ebst_splitter:EBSTNode._update_estimator_univariate",
    f"{RUST}:vectordict.euclidean_distance_dict",
    f"{RUST}:vectordict.euclidean_distance_tuple",
)
CONTAINERS: tuple[Any, ...] = dict, list, set, deque
LARGEST_ARGUMENT = 2**20  # of a compiled object: it may allocate so many numbers


# Classes ----------------------------------------------------------------------------------------------------------


def is_plain(cls: type) -> bool:
    """Return whether a class is one of River or river_okl whose objects consist of their attributes."""
    makers: list[Any] = [each.__new__ for each in (object, *CONTAINERS)]
    known = cls in OTHERS or _is_known(cls.__module__)
    return known and not issubclass(cls, type | BaseException) and cls.__new__ in makers


def _is_known(module: str) -> bool:
    """Return whether this is a module of River or river_okl whose objects may be made."""
    root, *parts = module.split(".")
    return module in OURS or (root == "river" and bool(parts) and parts[0] in MODULES)


def name_of(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@functools.cache
def class_of(name: str) -> type:
    """Return the class of River or river_okl of this name, or raise CheckpointError."""
    module, _, path = name.partition(":")
    if _is_known(module) or name in map(name_of, OTHERS):
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = inspect.getattr_static(found, part)
        except (ImportError, AttributeError):
            found = None
        if isinstance(found, type) and is_plain(found) and name_of(found) == name:
            return found
    raise CheckpointError(f"it uses {name!r:.100}, neither a class of this river_okl nor one of river that is loaded")


def _own_state(cls: type) -> bool:
    """Return whether a class of ours leaves attributes out, such as a lock."""
    return cls.__module__ in OURS and hasattr(cls, "__setstate__")


def _slots(cls: type) -> dict[str, Any]:
    """Return the descriptors of the slots of a class."""
    members = {name: value for each in cls.__mro__ for name, value in vars(each).items()}
    return {name: value for name, value in members.items() if isinstance(value, types.MemberDescriptorType)}


# Writing ----------------------------------------------------------------------------------------------------------


def described(thing: Any, where: str, write: Writer) -> dict[str, Any]:
    """Return the entry of an object."""
    cls = type(thing)
    if name_of(cls) == VECTOR:
        _, (items, factory, mask, _), *_ = thing.__reduce_ex__(4)
        return {"class": VECTOR, "arguments": [write(items, where), write(factory, where), write(mask, where)]}
    if cls.__module__.startswith(RUST) and hasattr(cls, "__setstate__"):
        _, (_, *arguments), state, *_ = thing.__reduce_ex__(4)
        return {
            "class": name_of(cls),
            "arguments": arguments,
            "bytes": base64.b64encode(state).decode(),
        }
    if not is_plain(cls):
        raise rejected(where, thing)
    if _own_state(cls):
        attributes = thing.__getstate__()
    else:
        slots = {name: slot.__get__(thing) for name, slot in _slots(cls).items() if hasattr(thing, name)}
        attributes = slots | getattr(thing, "__dict__", {})
    written: dict[str, Any] = dict.fromkeys(attributes)
    public = {name: value for name, value in attributes.items() if name[0] != "_"}
    private = {name: value for name, value in attributes.items() if name[0] == "_"}

    def add(some: dict[str, Any]) -> None:
        written.update({name: write(value, f"{where}.{name}") for name, value in some.items()})

    add(public)
    if private:
        write.last.append(lambda: add(private))
    found = {"class": name_of(cls), "attributes": written}
    for base in CONTAINERS:
        if isinstance(thing, base):
            plain = deque(thing, thing.maxlen) if isinstance(thing, deque) else base(thing)
            found["items"] = write(plain, where)
    return found


def rejected(where: str, thing: Any) -> CheckpointError:
    """Return the error for what no checkpoint holds."""
    return CheckpointError(
        f"{where} is {shown(thing)}, {kind_of(thing)}: use pickle for this model, as a checkpoint holds models of "
        f"river_okl, objects of River that consist of plain values, and dicts, lists and tuples of these"
    )


def callable_of(value: Any, where: str, write: Writer) -> dict[str, Any]:
    """Write what an object calls later."""
    if isinstance(value, functools.partial):
        keywords = {name: write(each, where) for name, each in value.keywords.items()}
        return {"partial": [write(value.func, where), [write(each, where) for each in value.args], keywords]}
    if isinstance(value, operator.itemgetter):
        return {"itemgetter": [write.name(name, where) for name in value.__reduce__()[1]]}
    if isinstance(value, types.MethodType):
        owner = value.__self__
        if inspect.getattr_static(type(owner), value.__name__, None) is value.__func__ and _has_methods(type(owner)):
            return {"method": [write(owner, where), value.__name__]}
    elif isinstance(value, type):
        if BUILTINS.get(value.__name__) is value or is_plain(value):
            return {"type": value.__name__ if value in BUILTINS.values() else name_of(value)}
    else:
        for name, function in functions().items():
            if function is value or function == value:
                return {"function": name}
    raise CheckpointError(
        f"{where} is {shown(value)}, {kind_of(value)}: use pickle for this model, as a checkpoint holds no code"
    )


@functools.cache
def functions() -> dict[str, Any]:
    """Return the functions that objects may hold, by name, without those that this version of River does not have."""
    found = {}
    for name in FUNCTIONS:
        module, _, path = name.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            found[name] = operator.attrgetter(path)(importlib.import_module(module))
    return found


def _has_methods(cls: type) -> bool:
    """Return whether methods of objects of this class may be called later."""
    return cls is random.Random or is_plain(cls)


# Reading ----------------------------------------------------------------------------------------------------------


def created(content: dict[str, Any], read: Reader) -> tuple[Any, Callable[[], None] | None]:
    """Return an object of a class without attributes, and what sets them."""
    name = content["class"]
    require(type(name) is str, "an object without a class")
    if name == VECTOR:
        items, factory, mask = read.complete(lambda: [read(each) for each in content["arguments"]])
        return utils.VectorDict(items, factory, mask), None
    if name.startswith(RUST):
        return _compiled(name, content), None
    cls: Any = class_of(name)
    require(content.keys() <= {"class", "attributes", "items"}, f"what a {cls.__name__} is")
    found, slots = cls.__new__(cls), _slots(cls)
    if issubclass(cls, deque):
        deque.__init__(found)

    def fill() -> None:
        attributes = read.named(content.get("attributes"), "attributes")
        if _own_state(cls):
            found.__setstate__(attributes)
            return
        for key in attributes.keys() & slots.keys():
            slots[key].__set__(found, attributes.pop(key))
        if attributes:
            vars(found).update(attributes)
        if "items" in content:
            items = read.complete(lambda: read(content["items"]))
            base = next(each for each in CONTAINERS if issubclass(cls, each))
            base.__init__(found, items, *([items.maxlen] if base is deque else []))

    return found, fill


def _compiled(name: str, content: dict[str, Any]) -> Any:
    """Return an object of River's compiled part, from its bytes."""
    require(content.keys() == {"class", "arguments", "bytes"}, "a compiled object")
    module, _, last = name.partition(":")
    cls: Any = getattr(getattr(importlib.import_module(RUST), module.rpartition(".")[2], None), last, None)
    require(isinstance(cls, type) and name_of(cls) == name and hasattr(cls, "__setstate__"), f"{name!r:.100}")
    arguments, state = content["arguments"], content["bytes"]
    require(type(arguments) is list and type(state) is str, "a compiled object")
    require(all(type(a) in (bool, int, float) and abs(a) <= LARGEST_ARGUMENT for a in arguments), "its arguments")
    try:
        found = cls.__new__(cls, *arguments)
        found.__setstate__(base64.b64decode(state, validate=True))
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of Rust; no Exception
            raise CheckpointError(f"the bytes of a {last}: {error}") from None
        raise
    return found


def called(kind: str, content: Any, read: Reader) -> Any:
    """Return what an object calls later: the inverse of ``callable_of``."""
    if kind == "type":
        require(type(content) is str, "a type")
        return BUILTINS[content] if content in BUILTINS else class_of(content)
    if kind == "function":
        require(type(content) is str and content in functions(), f"the function {content!r:.100}")
        return functions()[content]
    require(type(content) is list, f"a {kind}")
    if kind == "itemgetter":
        return operator.itemgetter(*map(read.name, content))
    if kind == "method":
        owner, name = read(content[0]), content[1]
        require(type(name) is str and len(content) == 2 and _has_methods(type(owner)), "a method")
        function = inspect.getattr_static(type(owner), name, None)
        require(isinstance(function, types.FunctionType), f"a method {name!r:.100}")
        return types.MethodType(function, owner)
    function, arguments, keywords = content
    made = read(function)
    require(callable(made) and type(arguments) is list, "what is called later")
    return functools.partial(made, *map(read, arguments), **read.named(keywords, "keywords"))
