"""Output files of the command: none replaces an input or another output, and each is complete or not there at all."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import os
import pathlib
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import river_okl
from river_okl.checkpoint import CheckpointError
from river_okl.checkpoint.file import MAGIC, replacing
from river_okl.checks import UsageError
from river_okl.cli.race import Contestant
from river_okl.files.stream import Sample, Stream

FORMATS = ".png", ".svg", ".pdf", ".eps", ".ps"  # of pictures
PICTURES = b"\x89PNG", b"%PDF", b"<?xml", b"%!PS"
MAKER = b"atplotlib"


# What may be written ----------------------------------------------------------------------------------------------


def check(inputs: dict[str, str | None], outputs: dict[str, str | None]) -> None:
    """Raise if an output would replace an input, another output, or a file of another kind.

    Both arguments map options to their files.
    """
    reads = {option: path for option, path in inputs.items() if path}
    writes = {option: path for option, path in outputs.items() if path}
    for (a, first), (b, second) in itertools.combinations((reads | writes).items(), 2):
        if b in writes and (a, b) != ("--load", "--save") and _is_same(first, second):
            raise UsageError(f"{a} and {b} are the same file, {second}: choose another for {b}")
    for option, path in writes.items():
        for name, stream in (("standard input", sys.stdin), ("standard output", sys.stdout)):
            if _is_stream(path, stream):
                raise UsageError(f"{option} {path} is also {name}: choose another file")
        folder = os.path.dirname(os.path.realpath(path))
        if os.path.isdir(path):
            raise UsageError(f"{option} {path} is a folder")
        if not os.path.isdir(folder):
            raise UsageError(f"{option}: there is no folder {os.path.dirname(path)}")
        if not os.access(folder, os.W_OK) and not _is_special(path):
            raise UsageError(f"{option}: nothing can be written to the folder {folder}")
        if (kind := _other_kind(option, path)) is not None:
            raise UsageError(f"{option} {path} would replace {kind}: choose another name, or remove that file first")


def check_picture(name: str) -> None:
    """Raise if a figure cannot be saved under this name."""
    if pathlib.Path(name).suffix.lower() not in FORMATS:
        raise ValueError(f"{name} must end in one of {', '.join(FORMATS)}")


def _is_same(a: str, b: str) -> bool:
    """Return whether two paths are one regular file, existing or not."""
    a, b = os.path.expanduser(a), os.path.expanduser(b)
    if os.path.exists(a) and os.path.exists(b):
        return os.path.samefile(a, b) and not _is_special(a)
    return os.path.normcase(os.path.realpath(a)) == os.path.normcase(os.path.realpath(b))


def _is_stream(path: str, stream: Any) -> bool:
    """Return whether a path is the regular file that a standard stream reads or writes."""
    try:
        status = os.fstat(stream.fileno())
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(path))
    except (AttributeError, OSError, ValueError):  # the stream is closed, or is not a file
        return False


def _is_special(path: str) -> bool:
    """Return whether a path exists and is not a regular file, such as /dev/null."""
    return os.path.exists(path) and not os.path.isfile(path)


def _other_kind(option: str, path: str) -> str | None:
    """Describe a file that is not of the kind that this option writes; None if it may be replaced."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        begin = file.read(4096)
        is_own = option == "--predictions" and bool(begin) and _is_own(begin + file.readline(2**21))
        is_picture = option == "--plot" and begin.startswith(PICTURES) and MAKER in begin + file.read()
    is_model = begin.startswith(MAGIC)
    if not begin or (option == "--save" and is_model) or is_picture or is_own:
        return None
    if is_model:
        return "a model"
    return {
        "--save": "a file that is no model of the command",
        "--plot": "a file that is no picture of the command",
    }.get(option, "a file that has no predictions of the command")


def _is_own(begin: bytes) -> bool:
    """Return whether a file begins with the header of predictions."""
    from river_okl.cli import lookup

    names = next(csv.reader([begin.decode("utf-8", "replace").splitlines()[0]]), [])
    known = lookup.model_names()
    rest = names[1:] if names[:1] in (["target"], ["prediction"]) else ["?"]
    return (len(names) > 1 or names == ["prediction"]) and all(
        name == "prediction" or name.startswith("P(") or name.partition("(")[0] in known for name in rest
    )


def partial(path: str, *others: str | None, n: int = 1) -> str:
    """Return a name beside ``path`` for a model of part of the samples; it replaces at most another such model."""
    begin, end = os.path.splitext(path)
    name = f"{begin}.partial{n if n > 1 else ''}{end}"
    try:
        check({other: other for other in others if other}, {"--save": name})
    except UsageError:
        if n == 99:
            raise
        return partial(path, *others, n=n + 1)
    return name


# Writing ----------------------------------------------------------------------------------------------------------


def written(path: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a binary file that replaces the one of this name at the end, or a device, such as /dev/stdout."""
    return open(path, "wb") if _is_special(path) else replacing(path)


@contextlib.contextmanager
def predictions(
    path: str | None, stream: Stream, models: list[str], labels: list[Any] | None
) -> Iterator[Callable[..., None]]:
    """Yield a function that writes the predictions of a block of samples, with the labels of the file.

    With ``labels`` there is one model, and each label has a column with its probability.
    """
    if not path:
        yield lambda block, results: None
        return
    label_of = stream.schema.label_of if stream.schema else lambda y: y
    with written(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        names = models if labels is None else ["prediction", *(f"P({label})" for label in labels)]
        writer.writerow([*(["target"] if stream.labelled else []), *names])

        def write(block: list[Sample], results: list[Contestant]) -> None:
            for i, (_, y) in enumerate(block):
                row = [label_of(y)] if stream.labelled else []
                row += [label_of(result.predictions[i]) for result in results]
                if labels is not None and results[0].scores:
                    found = {label_of(label): p for label, p in results[0].scores[i].items()}
                    row += [found.get(label, 0.0) for label in labels]
                writer.writerow(row)

        try:
            yield write
        finally:
            text.detach()  # otherwise it would close the file


# Models -----------------------------------------------------------------------------------------------------------


def check_save(path: str, model: Any) -> None:
    """Raise if this model, still untrained, cannot be saved."""
    try:
        river_okl.dumps(model)
    except CheckpointError as error:
        raise UsageError(f"--save {path}: {error}") from None


def load(path: str) -> Any:
    """Load the model in a checkpoint."""
    if not os.path.isfile(path):
        raise UsageError(f"--load: there is no file {path}")
    return river_okl.load(path)
