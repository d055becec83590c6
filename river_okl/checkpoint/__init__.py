"""Checkpoints: a model in one file, without pickle, so that an untrusted file is rejected or loads a valid model.

    file.py       the bytes: head, document, arrays; how they get to the disk and back
    values.py     plain values in the document: numbers, names, lists, arrays, and what JSON cannot express
    models.py     objects of river_okl: their parameters, and their state by name
    wrappers.py   River's transformers and wrappers around them, one by one

``load`` creates objects of known classes only, by calling them with the parameters in the file, which they check like
a user's; no other name in the file is looked up.  Then each object restores its state, which is checked against its
parameters.  New classes need nothing more, except those with parts of their own: see the head of models.py.
"""

from __future__ import annotations

import os
from typing import Any

from river import base

from river_okl._core.sample import shown
from river_okl.checkpoint import models, wrappers
from river_okl.checkpoint.file import (
    VERSION,
    CheckpointError,
    Path,
    damaged,
    pack,
    read_file,
    unpack,
    write_file,
)
from river_okl.checkpoint.values import Reader, Writer, require
from river_okl.checks import kind_of

__all__ = ["VERSION", "CheckpointError", "dumps", "load", "loads", "save"]


def save(model: Any, path: Path) -> None:
    """Write a model to a file; ``load`` returns a model that resumes exactly where this one was.

    The file is complete or not there at all: it is written next to the path, flushed to disk and moved into place,
    so that an interruption leaves the old file or the new one (and perhaps a file ``.okl-*.tmp``).

    Parameters
    ----------
    model
        A model of one of the public classes, or one of River's transformers and wrappers with such models in it:
        pipelines and unions, selections, scalers, imputers, encoders, hashers, one-vs-rest and one-vs-one, bagging,
        boosting, votes, stacks, retraining after drift and filters of anomalies. Feature names and labels must be str,
        int, bool, float or tuples of these; kernel, loss and scheduler must be those of river_okl and river. (For all
        others use pickle.)
    path
        The file; one that exists is replaced, by one of the same mode and, if the system allows it, owner.

    Examples
    --------
    >>> import os, tempfile
    >>> import river_okl
    >>> from river import preprocessing

    >>> model = preprocessing.StandardScaler() | river_okl.RBPClassifier(budget=10, seed=42)
    >>> model.learn_one({"x": 1.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.okl")
    ...     river_okl.save(model, path)
    ...     river_okl.load(path).predict_one({"x": 1.0})
    True

    """
    name = os.fsdecode(path)
    data = dumps(model)
    try:
        same = dumps(loads(data)) == data
    except CheckpointError as error:
        raise CheckpointError(f"no checkpoint can hold this {type(model).__name__}: {error}") from error
    if not same:
        raise CheckpointError(f"this {type(model).__name__} would not be restored from a checkpoint as it is")
    write_file(data, name)


def load(path: Path) -> Any:
    """The model that ``save`` wrote to a file.

    Safe for untrusted files: they execute no code, and each is rejected or loads a valid model.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    CheckpointError
        If the file is not a checkpoint, damaged, truncated, or of a newer version of river_okl. (OSError if it
        cannot be read.)

    """
    name = os.fsdecode(path)
    try:
        return loads(read_file(name))
    except CheckpointError as error:
        raise CheckpointError(f"{name}: {error}") from error.__cause__


def dumps(model: Any) -> bytes:
    """The bytes that ``save`` writes, to send models: they are smaller than the model and execute no code."""
    writer = Writer(_described)
    if not _is_model(model):
        raise CheckpointError(_rejection("it", model))
    return pack(models.document(writer(model, "it")), writer.arrays)


def loads(data: bytes) -> Any:
    """The model in the bytes of ``dumps``."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data is {shown(data)}, {kind_of(data)}; it must be bytes: load(path) reads a file")
    data = bytes(data)
    document, arrays = unpack(data)
    try:
        reader = Reader(document.get("arrays"), arrays, len(data), _made)
        model = reader(document.get("model"))
        require(_is_model(model), "it does not contain a model")
        return model
    except CheckpointError:
        raise
    except MemoryError as error:
        raise CheckpointError(f"not enough memory: {error}") from error
    except Exception as error:  # whatever a constructor finds wrong
        raise damaged(str(error) or type(error).__name__) from error


def _is_model(thing: Any) -> bool:
    return isinstance(thing, base.Estimator) and type(thing) in (*models.model_classes().values(), *wrappers.SPECS)


def _described(value: Any, where: str, write: Writer) -> dict[str, Any]:
    """An object by its class, parameters and state."""
    kind = type(value)
    if isinstance(value, base.Estimator):
        if id(value) in write.met:
            raise CheckpointError(f"{where} holds {shown(value)} that is in the model twice; use pickle for it")
        write.met.add(id(value))
    if kind in wrappers.SPECS:
        return wrappers.described(value, where, write)
    if kind in models.class_names():
        return models.described(value, where, write)
    raise CheckpointError(_rejection(where, value))


def _made(name: str, content: dict[str, Any], read: Reader) -> Any:
    """The object that ``_described`` has described."""
    if name in wrappers.CLASSES:
        return wrappers.made(wrappers.CLASSES[name], content, read)
    if name in models.classes():
        return models.made(models.classes()[name], content, read)
    raise CheckpointError(f"it uses {name!r:.100}, neither a class of this river_okl nor a supported one of river")


def _rejection(where: str, value: Any) -> str:
    known = ", ".join(sorted(cls.__name__ for cls in wrappers.SPECS))
    return (
        f"{where} is {shown(value)}, {kind_of(value)}: use pickle for this model, as a checkpoint holds the "
        f"public classes of river_okl, kernels, losses and schedulers of river_okl and river, and river's {known}"
    )
