"""Checkpoints: a model in one file, without pickle, so that an untrusted file executes no code and corrupts no memory.

    file.py       the bytes: head, document, arrays; writing them to disk and reading them back
    values.py     plain values in the document: numbers, names, lists, arrays, and what JSON cannot express
    models.py     models of river_okl: their parameters, and their state by name, which they check
    objects.py    all other objects of River and river_okl: their attributes

``load`` creates objects of these classes only and looks up no other name in the file.  New classes need no support
here, except those with parts of their own: see models.py.
"""

from __future__ import annotations

import os
from typing import IO, Any

import river

import river_okl
from river_okl._core.store.sample import shown
from river_okl.checkpoint import models, objects
from river_okl.checkpoint.file import (
    VERSION,
    CheckpointError,
    Path,
    damaged,
    pack,
    read_all,
    read_file,
    unpack,
    write_all,
    write_file,
)
from river_okl.checkpoint.values import Reader, Writer
from river_okl.checks import kind_of, require

__all__ = ["VERSION", "CheckpointError", "dumps", "load", "loads", "save"]


def save(model: Any, path: Path | IO[bytes]) -> None:
    """Write a model to a file; ``load`` returns a model that resumes exactly where this one was.

    The file is complete or does not exist: it is written next to the path, flushed to disk and moved into
    place. An interruption leaves the old file or the new one (and perhaps a file ``.okl-*.tmp``).

    Parameters
    ----------
    model
        A model of river_okl, or any object of River that consists of plain values and such objects:
        pipelines, transformers, ensembles, trees and forests, drift detectors, metrics. Feature names and
        labels must be str, int, bool, float or tuples of these. A model that holds your own code, such as a
        lambda, needs pickle; the error gives its path. Or a bundle: a dict, list or tuple of these and of
        plain values (None, bool, int, float, str, bytes, dates, NumPy arrays, and dicts, lists, tuples and
        sets of them).
    path
        The file. An existing file is replaced by one with the same mode and, if the system allows it, owner.
        Or an open binary file, to which the checkpoint is written.

    Examples
    --------
    >>> import os, tempfile
    >>> import river_okl
    >>> from river import metrics, preprocessing

    >>> model = preprocessing.StandardScaler() | river_okl.RBPClassifier(budget=10, seed=42)
    >>> model.learn_one({"x": 1.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.okl")
    ...     river_okl.save({"model": model, "metric": metrics.Accuracy(), "trained on": "Tuesday"}, path)
    ...     bundle = river_okl.load(path)
    >>> bundle["model"].predict_one({"x": 1.0}), bundle["metric"], bundle["trained on"]
    (True, Accuracy: 0.00%, 'Tuesday')

    """
    name, file = _name_and_file(path, "write")
    data = dumps(model)
    try:
        same = dumps(loads(data)) == data
    except CheckpointError as error:
        raise CheckpointError(f"no checkpoint can hold this {type(model).__name__}: {error}") from error
    if not same:
        raise CheckpointError(f"this {type(model).__name__} would not be restored from a checkpoint as it is")
    if file is None:
        write_file(data, name)
    else:
        write_all(data, file)


def load(path: Path | IO[bytes]) -> Any:
    """Return the model or bundle that ``save`` wrote to a file.

    Safe for untrusted files: they execute no code and corrupt no memory. A forged file may predict nonsense.

    Parameters
    ----------
    path
        The file, or an open binary file, which is read to its end.

    Raises
    ------
    CheckpointError
        If the file is not a checkpoint, or damaged, truncated, or of a newer version of river_okl. (OSError
        if it cannot be read.)

    """
    name, file = _name_and_file(path, "read")
    try:
        return loads(read_file(name) if file is None else read_all(file, name))
    except CheckpointError as error:
        raise CheckpointError(f"{name}: {error}") from error.__cause__


def _name_and_file(path: Any, method: str) -> tuple[str, Any]:
    """Return the name of a file; and, if it is open and has this method, the file."""
    if isinstance(path, str | bytes | os.PathLike):
        return os.fsdecode(path), None
    if hasattr(path, method):
        return str(getattr(path, "name", "the file")), path
    raise TypeError(f"path is {shown(path)}, {kind_of(path)}; it must be a path or an open binary file")


def dumps(model: Any) -> bytes:
    """Return the bytes of a checkpoint, to send models: they are smaller than the model and execute no code.

    Parameters
    ----------
    model
        A model or bundle, as for ``save``.

    Examples
    --------
    >>> import river_okl

    >>> model = river_okl.OKLClassifier()
    >>> model.learn_one({"x": 1.0}, True)
    >>> river_okl.loads(river_okl.dumps(model)).predict_one({"x": 1.0})
    True

    """
    if not _can_be_saved(model):
        raise objects.rejected("it", model)
    writer = Writer(_described, objects.callable_of)
    versions = {"river_okl": river_okl.__version__, "river": river.__version__}  # type: ignore[attr-defined]
    return pack({**versions, **writer.document(model)}, writer.arrays)


def loads(data: bytes) -> Any:
    """Return the model or bundle in the bytes of ``dumps``; safe for untrusted bytes.

    Parameters
    ----------
    data
        The bytes.

    Examples
    --------
    >>> import river_okl

    >>> river_okl.loads(river_okl.dumps([river_okl.RBPClassifier(budget=10, seed=1), "mine"]))[1]
    'mine'

    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data is {shown(data)}, {kind_of(data)}; it must be bytes: load(path) reads a file")
    data = bytes(data)
    document, arrays = unpack(data)
    try:
        reader = Reader(document, arrays, len(data), _created, objects.called)
        model = reader.complete(lambda: reader(document.get("model")))
        require(_can_be_saved(model), "it contains neither a model nor a bundle")
        return model
    except CheckpointError:
        raise
    except MemoryError as error:
        raise CheckpointError(f"not enough memory: {error}") from error
    except Exception as error:  # a constructor may raise any error
        raise damaged(str(error) or type(error).__name__) from error


def _can_be_saved(thing: Any) -> bool:
    """Return whether this is an object or a bundle; its contents are checked later."""
    return type(thing) in (dict, list, tuple, *models.model_classes().values()) or objects.is_plain(type(thing))


def _described(value: Any, where: str, write: Writer) -> dict[str, Any]:
    """Return the entry of an object."""
    if type(value) in models.class_names():
        return models.described(value, where, write)
    return objects.described(value, where, write)


def _created(content: dict[str, Any], read: Reader) -> Any:
    """Return the object of an entry, and what fills it in."""
    cls = models.classes().get(content["class"]) if type(content["class"]) is str else None
    return objects.created(content, read) if cls is None else (models.made(cls, content, read), None)
