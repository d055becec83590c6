"""Files as streams: tables, which DuckDB reads (table.py), and libsvm.

A file is read twice.  The first pass finds its columns and its task, or checks them against those of the model that
will read it.  The second pass is for learning.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import dataclasses
import difflib
import gzip
import io
import itertools
import lzma
import math
import pathlib
import re
import shlex
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from river_okl import datasets
from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.files.models import BINARY, LIBSVM, MULTICLASS, REGRESSION, Schema
from river_okl.labels import MAX_LABELS as MAX_CLASSES

Sample = tuple[dict[Any, Any], Any]

MAX_LABELS = 20  # distinct numbers in the target column; more mean regression
MANY_LABELS = 1000  # a target with more is most likely an identifier
FIRST_LINES = 50  # in which a libsvm file shows its format
LONGEST = 2**25  # characters of a line: a compressed file of 200 kB can hold a line of 200 MB
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


@dataclasses.dataclass(frozen=True)
class Reading:
    """The user's options for reading a file."""

    target: str | None = None  # None: the last column
    drop: tuple[str, ...] = ()
    task: str | None = None  # "classification" or "regression"; None: inferred from the target
    na: tuple[str, ...] = ()  # texts that mean a missing value
    strings: tuple[str, ...] = ()  # columns read as strings whatever they contain
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None

    def of_tables(self) -> list[str]:
        """Return the options for tables that the user gave."""
        values = {
            **{"--target": self.target, "--drop": self.drop, "--string": self.strings},
            **{"--na": self.na, "--decimal": self.decimal, "--date-format": self.date_format},
        }
        return [option for option, value in values.items() if value]


AS_INFERRED = Reading()


@dataclasses.dataclass
class Stream:
    """Samples and their task; ``scaled``: whether to scale numbers for models that do not do so themselves."""

    name: str
    samples: Iterable[Sample]
    task: str
    size: int | None
    scaled: bool
    note: str = ""  # what was inferred from a file
    warnings: tuple[str, ...] = ()
    schema: Schema | None = None  # if the stream is a file
    labelled: bool = True  # whether any sample has a target; the targets of the others are None

    @property
    def binary(self) -> tuple[Any, ...]:
        """The labels of the file that became False and True."""
        return self.schema.labels if self.schema and self.task == BINARY else ()


@dataclasses.dataclass
class Again:
    """An iterable that restarts each time."""

    start: Callable[[], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.start()


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?", or "" if no known name is close."""
    spelled: dict[str, str] = {}
    for candidate in known:
        if "." in name or "." not in candidate:
            spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""


def option(name: str, text: str) -> str:
    """Return an option of the command and its value, quoted for a shell."""
    return f"{name}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"


# Files ------------------------------------------------------------------------------------------------------------


class Source:
    """A file, or files by a pattern; standard input and what DuckDB cannot read as it is are copied."""

    def __init__(self, text: str, encoding: str | None = None):
        self.name = "standard input" if text == "-" else text
        self.path = pathlib.Path(text).expanduser()
        self.encoding = encoding
        self.folder: Any = None  # of the copy, removed with this object
        if encoding is not None:
            try:
                self.encoding = codecs.lookup(encoding).name
            except LookupError:
                usual = "usual ones are utf-8, cp1252, latin-1"
                raise UsageError(f"--encoding {encoding}: no such encoding; {usual}") from None
        if text == "-":
            self.copy(iter(lambda: sys.stdin.buffer.read(2**20), b""))
        if self.begin(6).startswith((b"BZh", b"\xfd7zXZ")):
            self.copy(self.blocks())
        if self.encoding not in (None, "utf-8", "utf-16", "iso8859-1"):
            self.copy(part.encode() for part in codecs.iterdecode(self.blocks(), self.encoding))
            self.encoding = None

    def copy(self, blocks: Iterable[bytes]) -> None:
        """Write blocks to a temporary file, which takes the place of the file."""
        folder = tempfile.TemporaryDirectory(prefix="river_okl")
        path = pathlib.Path(folder.name, "copy")
        with self.errors_named(), path.open("wb") as file:
            file.writelines(blocks)
        self.folder, self.path = folder, path

    def opened(self) -> Any:
        """Open the file, decompressed."""
        begin = self.begin(6)
        return next((unpack for magic, unpack in PACKED.items() if begin.startswith(magic)), open)(self.path, "rb")

    def blocks(self) -> Iterator[bytes]:
        """Yield the file, decompressed, in blocks."""
        with self.opened() as file:
            yield from iter(lambda: file.read(2**20), b"")

    def begin(self, n: int) -> bytes:
        """Return the first n bytes; none of several files."""
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            return file.read(n)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines, each with its number; any byte is a character."""
        with self.errors_named(), io.TextIOWrapper(self.opened(), "latin-1", newline="") as file:
            for n in itertools.count(1):
                line = file.readline(LONGEST)
                if not line:
                    return
                if len(line) == LONGEST:
                    raise UsageError(f"{self.name}, line {n}: more than {LONGEST:,} characters")
                yield n, line

    @contextlib.contextmanager
    def errors_named(self) -> Iterator[None]:
        """Add the name of the file to errors of decoding and decompression."""
        try:
            yield
        except UnicodeError as error:
            raise UsageError(f"{self.name} is not in {self.encoding}: {error}") from None
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise UsageError(f"{self.name} is damaged: {error}") from None


def read_file(text: str, reading: Reading = AS_INFERRED, schema: Schema | None = None) -> Stream:
    """Open a file as a stream; if a schema is given, the file is read by that schema and may lack the target."""
    source = Source(text, reading.encoding)
    is_libsvm = source.path.exists() and _is_libsvm(source)
    if schema is not None and is_libsvm != (schema.format == LIBSVM):
        raise UsageError(f"{source.name} is {'' if is_libsvm else 'not '}a libsvm file, unlike that of the model")
    if not is_libsvm:
        from river_okl.files.table import read_table  # needs DuckDB

        return read_table(source, reading, schema)
    if options := reading.of_tables():
        raise UsageError(
            f"{source.name} is a libsvm file, with the target first in each line; {options[0]} is for tables"
        )
    return _read_libsvm(source, reading.task, schema)


# Targets ----------------------------------------------------------------------------------------------------------


def find_task(name: str, values: list[Any], task: str | None) -> tuple[str, tuple[Any, ...]]:
    """Return the task and, for classification, the labels in order; ``name`` is the target's, for errors.

    ``values`` are the different targets: numbers or texts, at least MAX_CLASSES + 1 of them if there are more.
    """
    is_number = not any(isinstance(value, str) for value in values)
    fraction = next((value for value in values if is_number and float(value) % 1.0 != 0.0), None)
    if not values:
        raise UsageError(f"{name} is missing in every row: choose another --target")
    if task == "regression" and not is_number:
        raise UsageError(f"{name} is {shown(min(values))}: a regression needs numbers")
    if task == "classification" and fraction is not None:
        raise UsageError(f"{name} is {fraction:g}, a number with a fraction: use --task regression")
    if is_number and (task == "regression" or fraction is not None or (task is None and len(values) > MAX_LABELS)):
        return REGRESSION, ()
    labels = sorted({int(value) for value in values} if is_number else values)
    if len(labels) == 1:
        raise UsageError(f"{name} is {labels[0]} in every row: there is nothing to learn")
    return (BINARY if len(labels) == 2 else MULTICLASS), tuple(labels)


# libsvm -----------------------------------------------------------------------------------------------------------


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and bool(float(text) or True)
    except ValueError:
        return False


def _is_libsvm(source: Source) -> bool:
    """Return whether a file is in libsvm format, by its first lines; samples may have a label and no features."""
    for _, line in itertools.islice(source.lines(), FIRST_LINES):
        label, *pairs = line.partition("#")[0].split() or [""]
        if label and not _is_number(label):
            return False
        if pairs:
            return all(re.fullmatch(r"[^\s:,]+:[^\s:,]+", pair) for pair in pairs) and not re.search(r":\d\d\b", line)
    return False


def _read_libsvm(source: Source, task: str | None, schema: Schema | None) -> Stream:
    """Return the stream of a libsvm file; if a schema is given, its targets are checked against it."""
    numbers = datasets.FeatureNumbers()

    def samples() -> Iterator[tuple[dict[int, float], float]]:
        for number, line in source.lines():
            line = line.partition("#")[0]
            if not line.strip():
                continue
            try:
                label, x = datasets.parse_libsvm(line, numbers)
                if not _is_number(label):
                    raise ValueError(f"the label {label!r} is not a number")
                if not math.isfinite(float(label)):
                    raise ValueError(f"the label {label!r} is not finite")
                yield x, float(label) if schema is None else schema.target_of(label)
            except ValueError as error:
                raise UsageError(f"{source.name}, line {number}: {error}") from None

    values: set[Any] = set()
    size = 0
    for _, y in samples():
        size += 1
        if len(values) <= MAX_CLASSES:
            values.add(y)
    if not size:
        raise UsageError(f"{source.name} has no samples")
    if schema is None:
        found, labels = find_task(f"{source.name}: the target", list(values), task)
        schema = Schema(LIBSVM, {}, "label", found, labels)
    elif schema.task == MULTICLASS:
        schema = dataclasses.replace(schema, labels=(*schema.labels, *sorted(values - {*schema.labels})))
    return Stream(source.name, Again(samples), schema.task, size, scaled=is_dense(Again(samples)), schema=schema)


def is_dense(samples: Iterable[Sample]) -> bool:
    """Return whether each of the first 1,000 samples has all features: then a libsvm file omits no zeros."""
    first = [x.keys() for x, _ in itertools.islice(samples, 1_000)]
    every = set().union(*first)
    return all(len(names) == len(every) for names in first)
