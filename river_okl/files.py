"""Files as streams: CSV with any of the usual separators, with or without a header, and libsvm.

A file is read twice. The first pass validates it and infers its schema (``tables/``), or checks it against the schema
of the model that will read it. The second pass is for learning.
"""

from __future__ import annotations

import bz2
import codecs
import collections
import contextlib
import csv
import dataclasses
import difflib
import functools
import gzip
import io
import itertools
import json
import lzma
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, TextIO

from river_okl import datasets
from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.labels import MAX_LABELS as MAX_CLASSES
from river_okl.tables.cells import DATES, NUMBERS, STRINGS, Cells
from river_okl.tables.columns import (
    BINARY,
    LISTED_LABELS,
    MANY_LABELS,
    MAX_LABELS,
    MULTICLASS,
    REGRESSION,
    Column,
    Target,
)
from river_okl.tables.schema import CSV, LIBSVM, Schema

__all__ = [
    "AS_INFERRED",
    "BINARY",
    "MAX_LABELS",
    "MULTICLASS",
    "REGRESSION",
    "Again",
    "Reading",
    "Sample",
    "Stream",
    "UsageError",
    "nearest",
    "read_file",
]

Sample = tuple[dict[Any, Any], Any]

SEPARATORS = ";\t|,"
FIRST_LINES = 50  # used to infer the separator and the header
MAX_NAMES = 30  # maximum number of columns that an error lists
LONGEST = 2**25  # maximum number of characters in a row: a compressed file of 200 kB can hold a line of 200 MB
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
OTHERS = {
    b"PK\x03\x04": "an Excel file or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"Obj\x01": "an Avro file",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
    b"\x89OKL": "a model, which --load reads",
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """The user's options for reading a file."""

    target: str | None = None  # None: the last column
    drop: tuple[str, ...] = ()
    task: str | None = None  # "classification" or "regression"; None: inferred from the target
    na: tuple[str, ...] = ()  # strings that mean a missing value
    strings: tuple[str, ...] = ()  # columns read as strings whatever they contain
    decimal: str = "."
    day_first: bool = False  # how to read ambiguous dates
    encoding: str | None = None

    def of_csv(self) -> list[str]:
        """Return the options for CSV files that the user gave."""
        values = {
            "--target": self.target is not None,
            "--drop": self.drop,
            "--string": self.strings,
            "--na": self.na,
            "--decimal": self.decimal != ".",
            "--day-first": self.day_first,
        }
        return [option for option, value in values.items() if value]


AS_INFERRED = Reading()


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?", or "" if no known name is close."""
    spelled: dict[str, str] = {}
    for candidate in known:
        if "." in name or "." not in candidate:
            spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""


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


class Source:
    """A file, or a copy of standard input, which can be read only once."""

    def __init__(self, text: str, encoding: str | None = None):
        self.name = text
        self.path = pathlib.Path(text).expanduser()
        self.encoding = encoding
        if encoding is not None:
            try:
                known = codecs.lookup(encoding)._is_text_encoding
            except LookupError:
                known = False
            if not known:
                raise UsageError(f"--encoding {encoding}: no such encoding; usual ones are utf-8, cp1252, latin-1")
        self.copy: Any = None
        if text == "-":
            self.name = "standard input"
            self.copy = tempfile.TemporaryFile()  # noqa: SIM115 - removed with the process
            shutil.copyfileobj(sys.stdin.buffer, self.copy)
            self.copy.flush()
            with self.errors_named(), self.unpacked() as file:  # report damage by the checksum, not as a bad row
                while file.read(2**20):
                    pass

    @contextlib.contextmanager
    def unpacked(self) -> Iterator[BinaryIO]:
        """Open the file, decompressed, at its start."""
        with open(self.path if self.copy is None else os.dup(self.copy.fileno()), "rb") as file:
            file.seek(0)
            begin = file.read(6)
            file.seek(0)
            unpack = next((unpack for magic, unpack in PACKED.items() if begin.startswith(magic)), None)
            with unpack(file) if unpack else contextlib.nullcontext(file) as found:
                yield found

    def begin(self, n: int) -> bytes:
        """Return the first n bytes, decompressed."""
        with self.unpacked() as file:
            return file.read(n)

    @contextlib.contextmanager
    def lines(self) -> Iterator[Lines]:
        """Open the lines of the file, from the first one on."""
        encoding = self.encoding
        if encoding is None or codecs.lookup(encoding).name == "utf-8":
            is_utf16 = self.begin(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            encoding = "utf-16" if is_utf16 else "utf-8-sig"
        with self.unpacked() as file, io.TextIOWrapper(file, encoding, newline="") as text:
            yield Lines(text, self.name)

    @contextlib.contextmanager
    def errors_named(self) -> Iterator[None]:
        """Add the name of the file to decoding and decompression errors."""
        try:
            yield
        except UnicodeError as error:
            encoding = self.encoding or "UTF-8"
            hint = "" if self.encoding else "; files of Western Europe often are in --encoding cp1252"
            raise UsageError(f"{self.name} is not in {encoding}: {error}{hint}") from None
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the system, not of gzip or bz2
                raise
            raise UsageError(f"{self.name} is damaged: {error}") from None


class Lines(Iterator[str]):
    """Lines of bounded length. The caller sets ``row`` to 0 after each row, as a quoted field may span many lines."""

    def __init__(self, file: TextIO, name: str):
        self.file = file
        self.name = name
        self.number = 0  # of the last line
        self.row = 0  # characters since the last row

    def __next__(self) -> str:
        line = self.file.readline(LONGEST + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.row += len(line)
        if self.row > LONGEST:
            raise UsageError(
                f"{self.name}, line {self.number}: more than {LONGEST:,} characters in one row; line ends "
                f"are missing, or a quotation mark is unclosed"
            )
        if "\0" in line:
            raise UsageError(
                f"{self.name}, line {self.number}: a NUL character: not a text file, or one in --encoding utf-16"
            )
        return line


@dataclasses.dataclass
class Again:
    """An iterable that restarts each time."""

    start: Callable[[], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.start()


def read_file(text: str, reading: Reading = AS_INFERRED, schema: Schema | None = None) -> Stream:
    """Open a file as a stream; if a schema is given, the file is read by that schema and may lack the target."""
    source = Source(text, reading.encoding)
    with source.errors_named():
        _reject_binary(source)
        with source.lines() as each:
            lines = list(itertools.islice((line for line in _each(each) if line.strip()), FIRST_LINES))
        if not lines:
            raise UsageError(f"{source.name} is empty")
        is_libsvm = _is_libsvm(lines)
        if schema is not None and is_libsvm != (schema.format == LIBSVM):
            raise UsageError(f"{source.name} is {'' if is_libsvm else 'not '}a libsvm file, unlike that of the model")
        if not is_libsvm:
            _reject_text(source, lines)
            return _read_csv(source, lines, reading) if schema is None else _read_known(source, lines, schema)
        if options := reading.of_csv():
            raise UsageError(
                f"{source.name} is a libsvm file, with the target first in each line; {options[0][2:]} is for CSV files"
            )
        return _read_libsvm(source, reading.task, schema)


def _reject_binary(source: Source) -> None:
    begin = source.begin(16)
    for magic, what in OTHERS.items():
        if begin.startswith(magic):
            raise UsageError(f"{source.name} is {what}: --data takes CSV and libsvm files")


def _reject_text(source: Source, lines: list[str]) -> None:
    """Raise for text files of other formats, which would pass as CSV files of strings."""
    first = lines[0].strip()
    what = ""
    if first[0] in "{[":
        with contextlib.suppress(ValueError):
            json.loads(first)
            what = "JSON"
        if first in "{[" or first.startswith(("[{", '{"')):
            what = "JSON"
    elif re.match("<[a-z!?]", first, re.IGNORECASE):
        what = "XML or HTML"
    elif first.lower().startswith("@relation"):
        what = "ARFF"
    elif all(VOWPAL.fullmatch(line.strip()) for line in lines):
        what = "in the format of Vowpal Wabbit"
    if what:
        raise UsageError(f"{source.name} is {what}: --data takes CSV and libsvm files")


# A label, importances and a tag, which begin with a number or a quote; then namespaces, the first of which has a name
# or several features. A blank precedes each further namespace.
VOWPAL = re.compile(
    r"(?=[\d.+'|-])(?![^|]*\|.*\S\|)"
    r"([+-]?[\d.]+\s+){0,3}('?[^\s|,;]*|'[^\s|,;]*\s+)\|(\S+\s+\S.*|\s+[^\s|,;]+\s+[^\s|,;]+.*)"
)


def _each(lines: Lines) -> Iterator[str]:
    """Yield lines, each of which is a row."""
    for line in lines:
        lines.row = 0
        yield line


def _is_libsvm(lines: list[str]) -> bool:
    """Return whether the lines are in libsvm format; the first samples may have a label and no features."""
    number = Cells().plain_number
    for line in lines:
        found = re.fullmatch(r"(\S+)(\s+[^\s:,]+:[^\s:,]+)+\s*(#.*)?", line.strip())
        # several labels, or none before a comment, are an error of libsvm
        if found and (found[1] == "#" or None not in map(number, found[1].split(","))):
            return not any(re.fullmatch(r"\S+\s+\d\d?:0\d", other.strip()) for other in lines)  # a number and a time
        if number(line.partition("#")[0].strip()) is None:
            return False
    return False


# CSV ----------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """The layout of a CSV file: its separator, its columns, and the position of the target."""

    source: Source
    separator: str
    header: list[str]
    has_header: bool
    at: int | None  # None: no target

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, each with the number of its last line."""
        with self.source.lines() as lines:
            reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
            line, is_header = 0, self.has_header  # line: where the last row ended
            try:
                for row in reader:
                    before, line, lines.row = line, reader.line_num, 0
                    if not row or (len(row) == 1 < len(self.header) and not row[0].strip()):
                        continue
                    if is_header:
                        is_header = False
                        continue
                    if len(row) != len(self.header):
                        there = f"{'the header' if self.has_header else 'the first row'} has {len(self.header)}"
                        where = f"line {line}" if line == before + 1 else f"lines {before + 1} to {line}"
                        quotes = "" if line == before + 1 else "; a quotation mark may be unclosed"
                        raise UsageError(f"{self.source.name}, {where}: {len(row)} fields, but {there}{quotes}")
                    yield line, row
            except csv.Error as error:
                raise self.error(line, reader.line_num, error) from None

    def error(self, begin: int, end: int, error: csv.Error) -> UsageError:
        """Return the error of the row between two lines; it names the column of a field that is too long."""
        with self.source.lines() as each:
            lines = list(itertools.islice(_each(each), begin, end))
        longest = csv.field_size_limit(2**31 - 1)
        try:
            cells = next(csv.reader(lines, delimiter=self.separator, skipinitialspace=True), [])
        except csv.Error:
            cells = []
        finally:
            csv.field_size_limit(longest)
        for i, cell in enumerate(cells):
            if len(cell) > longest:
                name = repr(self.header[i]) if i < len(self.header) else str(i + 1)
                return UsageError(
                    f"{self.source.name}, line {begin + 1}: the field in column {name} has more than {longest:,} "
                    f"characters; a quotation mark may be unclosed"
                )
        return UsageError(f"{self.source.name}, line {begin + 1}: {error}")

    def samples(self, schema: Schema, unlabelled: bool = False) -> Iterator[Sample]:
        """Yield features and target of every row; rows without a target are skipped, or have None if ``unlabelled``."""
        places = {name: i for i, name in enumerate(self.header)}
        read = [(name, places[name], reader) for name, reader in schema.readers.items()]
        for line, row in self.rows():
            name, x = "", {}
            try:
                y = schema.target_of(row[self.at]) if self.at is not None else None
                if y is None and not unlabelled:
                    continue
                for name, i, reader in read:
                    if (value := reader(row[i])) is not None:
                        x[name] = value
            except ValueError as error:
                column = f", column {shown(name)} has {schema.columns[name]}" if name else ""
                raise UsageError(f"{self.source.name}, line {line}{column}: {error}") from None
            yield x, y


def _parsed(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Return the rows of these lines up to the first error, which is reported when the file is read."""
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if row)
    return rows


def _first_rows(source: Source, lines: list[str], decimal: str) -> tuple[str, list[list[str]]]:
    """Return the separator and the rows of the first lines, at least one."""
    separator = _separator(lines, decimal)
    if rows := _parsed(lines, separator):
        return separator, rows
    raise _Table(source, separator, [], False, None).error(0, FIRST_LINES, csv.Error("the row cannot be read"))


def _find_columns(source: Source, lines: list[str], reading: Reading) -> tuple[_Table, list[int]]:
    """Return the layout and the positions of the features, from the first lines and the user's options."""
    target, drop = reading.target, {*reading.drop}
    separator, (first, *others) = _first_rows(source, lines, reading.decimal)
    has_header = _is_header(first, others, Cells(reading.na, reading.decimal))
    if has_header is None:
        raise UsageError(
            f"{source.name}: the first row may be a header or a sample, {shown(separator.join(first))}: write a header"
        )
    header = [name.strip() for name in first] if has_header else [str(i) for i in range(1, len(first) + 1)]
    for name in [*([] if target is None else [target]), *reading.drop, *reading.strings]:
        if name not in header:
            hint = f"{nearest(name, header)}; its columns are {_listed(header)}"
            if not has_header:
                hint = f"; it has no header, its columns are 1 to {len(header)}"
            raise UsageError(f"{source.name} has no column {name!r}{hint}")
    target = header[-1] if target is None else target
    if target in drop:
        raise UsageError(f"{target!r} is the target; --drop is for other columns")
    for name, count in collections.Counter(header).items():
        if count > 1 and name not in drop:
            raise UsageError(f"{source.name} has {count} columns {shown(name)}: rename them, or --drop them all")
    at = header.index(target)
    features = [i for i, name in enumerate(header) if i != at and name not in drop]
    if not features:
        hint = "; fields may be separated by , ; | or tabs" if len(header) == 1 else ""
        raise UsageError(f"{source.name} has no column besides the target {shown(target)}{hint}")
    return _Table(source, separator, header, has_header, at), features


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _read_csv(source: Source, lines: list[str], reading: Reading) -> Stream:
    """Return the stream of a CSV file, with the schema inferred from all rows."""
    table, features = _find_columns(source, lines, reading)
    header, at, cells = table.header, table.at, Cells(reading.na, reading.decimal)
    assert at is not None
    columns = {
        i: Column(header[i], cells, day_first=reading.day_first, is_string=header[i] in reading.strings)
        for i in features
    }
    target = Target(header[at], cells, reading.task, is_string=header[at] in reading.strings)
    size = 0
    for line, row in table.rows():
        for i, column in columns.items():
            column.see(line, row[i])
        target.see(line, row[at])
        size += 1
    if not size:
        raise UsageError(f"{source.name} has a header and no rows")
    for column in columns.values():
        if problem := column.problem():
            raise UsageError(f"{source.name}, {problem}")
    task, found = target.infer(source.name)
    kinds = {column.name: column.kind for column in columns.values()}
    ignored = tuple(name for name in header if name not in kinds and name != header[at])
    schema = Schema(
        CSV, kinds, header[at], task, found, target.is_number, ignored, reading.na, reading.decimal, table.has_header
    )
    _check_names(source, kinds)
    warnings = [warning for column in (*columns.values(), target) for warning in column.warnings()]
    if task == MULTICLASS and len(target.values) > MANY_LABELS:
        warnings.append(
            f"the target {shown(header[at])} has more than {MANY_LABELS:,} labels, which cost memory and are hardly "
            f"learned: choose another --target, or --task regression"
        )
    return Stream(
        source.name,
        Again(functools.partial(table.samples, schema)),
        task,
        size - target.missing,
        scaled=True,
        note=_note(schema, [*columns.values()], target),
        warnings=tuple(warnings),
        schema=schema,
    )


def _note(schema: Schema, columns: list[Column], target: Target) -> str:
    """Describe what was inferred from the file."""
    kinds = collections.Counter(DATES if kind.startswith(DATES) else kind for kind in schema.columns.values())
    numeric = [column for column in columns if column.kind == NUMBERS]
    labels = f" ({', '.join(map(str, schema.labels))})" if 0 < len(schema.labels) <= LISTED_LABELS else ""
    dates = f", date columns: {kinds[DATES]}" if kinds[DATES] else ""
    counts = {
        "missing values": sum(column.missing for column in numeric),
        "numbers written as 1,234": sum(column.grouped for column in [*numeric, target] if column.is_number),
        "rows without a target, skipped": target.missing,
    }
    notes = [
        *(() if schema.header else ("no header",)),
        f"target {schema.target}{labels}",
        f"numeric columns: {kinds[NUMBERS]}, string columns: {kinds[STRINGS]}{dates}",
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
    ]
    return "; ".join(notes)


def _read_known(source: Source, lines: list[str], schema: Schema) -> Stream:
    """Return the stream of a file with the columns of a schema, after checking all rows; the target may be missing."""
    separator, (first, *_) = _first_rows(source, lines, schema.decimal)
    header = [name.strip() for name in first]
    known = {*schema.columns, schema.target, *schema.ignored}
    if not schema.header:
        names = sorted(known, key=int)
        without = [name for name in names if name != schema.target]
        if len(header) not in (len(names), len(without)):
            raise UsageError(f"{source.name} has {len(header)} fields in a row, and that of the model had {len(names)}")
        header = names if len(header) == len(names) else without
    if lacking := [name for name in schema.columns if name not in header]:
        given = ", ".join(first)
        raise UsageError(
            f"{source.name} has no column {shown(lacking[0])}"
            + (f", nor {len(lacking) - 1} more" if len(lacking) > 1 else "")
            + f", which the model was trained on; its first row is {given:.200}"
        )
    for name, count in collections.Counter(header).items():
        if count > 1 and (name in schema.columns or name == schema.target):
            raise UsageError(f"{source.name} has {count} columns {shown(name)}: rename them")
    at = header.index(schema.target) if schema.target in header else None
    table = _Table(source, separator, header, schema.header, at)
    size = targets = 0
    labels = dict.fromkeys(schema.labels)
    for _, y in table.samples(schema, unlabelled=True):
        size += 1
        targets += y is not None
        if schema.task == MULTICLASS and isinstance(y, int | str) and len(labels) < MAX_CLASSES:
            labels[y] = None
    if not size:
        raise UsageError(f"{source.name} has a header and no rows")
    new, unknown = [name for name in header if name not in known], list(labels)[len(schema.labels) :]
    schema = dataclasses.replace(schema, labels=tuple(labels))
    note = "no target" if at is None else f"target {schema.target}"
    if at is not None and targets < size:
        note += f"; rows without a target, only predicted: {size - targets:,}"
    return Stream(
        source.name,
        Again(functools.partial(table.samples, schema, True)),
        schema.task,
        size,
        scaled=True,
        note=note,
        warnings=(
            *([f"columns that the model does not know are ignored: {_listed(new)}"] if new else []),
            *([f"labels that the model does not know are learned: {_listed([*map(str, unknown)])}"] if unknown else []),
        ),
        schema=schema,
        labelled=targets > 0,
    )


def _check_names(source: Source, kinds: dict[str, str]) -> None:
    """Raise if a column could be named like a one-hot feature: string x in column a becomes "a=x"."""
    encoded = {f"{name}=" for name, kind in kinds.items() if kind == STRINGS}
    for name in kinds:
        for end in re.finditer("=", name):
            if name[: end.end()] in encoded:
                raise UsageError(
                    f"{source.name}: strings in column {shown(name[: end.start()])} become features such as "
                    f"{shown(name)}, which is a column, too: rename one, or --drop it"
                )


def _separator(lines: list[str], decimal: str) -> str:
    """Return the separator that splits all lines into the same number of fields.

    Of several, any other is preferred to the comma, which may be part of numbers; then the one with the most fields.
    """
    best, best_rank = ";" if decimal == "," else ",", (False, False, 1)
    for separator in SEPARATORS:
        first, *others = map(len, _parsed(lines, separator) or [[""]])
        if len(lines) == FIRST_LINES:
            del others[-1:]  # a multi-line cell may be cut off
        rank = all(n == first for n in others), separator != ",", first
        if first > 1 and rank > best_rank and separator != decimal:
            best, best_rank = separator, rank
    return best


def _is_header(first: list[str], others: list[list[str]], cells: Cells) -> bool | None:
    """Return whether the first row is a header, or None if that is undecidable.

    It is one if a numeric column begins with a name, or if the names are 1, 2, 3, ... A row of strings, each of which
    recurs in its column, may be a sample.
    """
    numeric = [
        i
        for i in range(len(first))
        if (known := [row[i] for row in others if i < len(row) and not cells.is_gap(row[i])])
        and None not in map(cells.plain_number, known)
    ]
    only_strings = all(cells.plain_number(cell) is None for row in (first, *others[:1]) for cell in row)
    if only_strings and all(cell in [row[i] for row in others if i < len(row)] for i, cell in enumerate(first)):
        return None
    if not numeric or not all(cells.plain_number(first[i]) is not None or cells.is_gap(first[i]) for i in numeric):
        return True
    numbers = [cells.plain_number(first[i]) for i in numeric]
    if len(numbers) > 2 and all(a is not None and b == a + 1.0 for a, b in itertools.pairwise(numbers)):
        return True  # years
    if all(cells.is_gap(first[i]) for i in numeric):
        rest = [j for j in range(len(first)) if j not in numeric]
        values = any(first[j] in [row[j] for row in others if j < len(row)] for j in rest)
        return None if values or not rest else True  # names do not occur among the values
    return all(first[j].strip() == str(j + int(first[0].strip() == "1")) for j in numeric)


# libsvm -------------------------------------------------------------------------------------------


def _read_libsvm(source: Source, task: str | None, schema: Schema | None) -> Stream:
    """Return the stream of a libsvm file; if a schema is given, its targets are checked against it."""
    numbers, cells = datasets.FeatureNumbers(), Cells()

    def samples_as_written() -> Iterator[tuple[int, dict[int, float], str]]:
        with source.lines() as lines:
            for number, line in enumerate(_each(lines), start=1):
                line = line.partition("#")[0]
                if not line.strip():
                    continue
                try:
                    label, x = datasets.parse_libsvm(line, numbers)
                    value = cells.plain_number(label)
                    if value is None:
                        raise ValueError(f"the label {label!r} is not a number")
                    if not math.isfinite(value):
                        raise ValueError(f"the label {label!r} is not finite")
                    if schema is not None:
                        schema.target_of(label)
                except ValueError as error:
                    raise UsageError(f"{source.name}, line {number}: {error}") from None
                yield number, x, label

    target = Target("label", cells, task)
    size = 0
    for line, _, label in samples_as_written():
        target.see(line, label)
        size += 1
    if not size:
        raise UsageError(f"{source.name} has no samples")
    if schema is None:
        found, labels = target.infer(source.name)
        schema = Schema(LIBSVM, {}, "label", found, labels)
    elif schema.task == MULTICLASS:
        new = [y for y in map(schema.target_of, target.values) if isinstance(y, int)]
        schema = dataclasses.replace(schema, labels=tuple(dict.fromkeys([*schema.labels, *new])))
    read = schema.target_of
    samples = Again(lambda: ((x, read(label)) for _, x, label in samples_as_written()))
    return Stream(source.name, samples, schema.task, size, scaled=is_dense(samples), schema=schema)


def is_dense(samples: Iterable[Sample]) -> bool:
    """Return whether each of the first 1,000 samples has all features: then a libsvm file omits no zeros."""
    first = [x.keys() for x, _ in itertools.islice(samples, 1_000)]
    every = set().union(*first)
    return all(len(names) == len(every) for names in first)
