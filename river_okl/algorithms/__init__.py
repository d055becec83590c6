"""One file per paper; the public classes are those that no other class here derives from."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil

from river import base


@functools.cache
def classes() -> dict[str, type]:
    """All algorithms by name, those of ``river_okl.api``, without importing modules that depend on them."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = {
        name: thing
        for module in modules
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and thing.__module__ == module.__name__ and issubclass(thing, base.Estimator)
    }
    bases = {parent for cls in found.values() for parent in cls.__mro__[1:]}
    return {name: cls for name, cls in found.items() if cls not in bases}
