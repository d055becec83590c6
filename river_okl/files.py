"""Files as streams: CSV with any of the usual separators, with or without a header, and libsvm; and a progress bar.

A file is read twice: first to validate it and infer column types and task, then to learn from it.
"""

from __future__ import annotations

import bz2
import collections
import contextlib
import csv
import dataclasses
import difflib
import functools
import gzip
import itertools
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

from river_okl import datasets, labels
from river_okl._core.sample import shown
from river_okl.series import parsed

Sample = tuple[dict[Any, Any], Any]

BINARY, MULTICLASS, REGRESSION = "binary classification", "multi-class classification", "regression"

MOST_LABELS = 20  # distinct numbers in the target's column; more mean regression
SEPARATORS = ",;\t|"
MANY_LABELS = 1000  # more are an identifier, most likely
FIRST_ROWS = 1000  # in which a column of identifiers differs
FIRST_LINES = 50  # from which the separator and the header are inferred
MOST_NAMES = 30  # columns that an error lists
LONGEST = 2**25  # characters of a row: a compressed file of 200 kB can hold a line of 200 MB
GAPS = ("", "na", "nan", "?")  # missing values, in lower case
GAPS_AMONG_NUMBERS = (*GAPS, "-", "n/a", "none", "null")  # in numeric columns; in string columns the others are strings
PACKED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class UsageError(ValueError):
    """A user's error, in one line; the command prints it without a traceback."""


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?", or "" if no name is close."""
    spelled: dict[str, str] = {}
    for candidate in known:
        if "." in name or "." not in candidate:
            spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""


@dataclasses.dataclass
class Stream:
    """Samples, their task, and whether numbers should be scaled for models that don't do that themselves."""

    name: str
    samples: Iterable[Sample]
    task: str
    size: int | None
    scaled: bool
    note: str = ""  # what was inferred from a file
    warnings: tuple[str, ...] = ()
    plain: bool = True  # whether all features are numbers, as far as is known
    binary: tuple[Any, ...] = ()  # the labels in a file that became False and True


class Source:
    """A file by its path, or standard input, which is copied because it can be read only once."""

    def __init__(self, text: str):
        self.name = text
        self.path = pathlib.Path(text).expanduser()
        self.copy: Any = None
        if text == "-":
            self.name = "standard input"
            self.copy = tempfile.TemporaryFile()  # noqa: SIM115 - removed with the process
            shutil.copyfileobj(sys.stdin.buffer, self.copy)
            self.copy.seek(0)
            if unpack := _unpacker(self.copy):
                packed, self.copy = self.copy, tempfile.TemporaryFile()  # noqa: SIM115
                with packed, unpack(packed) as unpacked, self.errors_named():
                    shutil.copyfileobj(unpacked, self.copy)
            self.copy.flush()

    def open(self) -> TextIO:
        """The text from its start."""
        if self.copy is None:
            with open(self.path, "rb") as file:
                opener = _unpacker(file) or open
            text: TextIO = opener(self.path, "rt", encoding="utf-8-sig", newline="")
            return text
        self.copy.seek(0)
        return open(os.dup(self.copy.fileno()), encoding="utf-8-sig", newline="")

    def lines(self, file: TextIO) -> Lines:
        """The lines of the opened file, with errors for those that no text file has."""
        return Lines(file, self.name)

    @contextlib.contextmanager
    def errors_named(self) -> Iterator[None]:
        """Add the name of the file to decoding and decompression errors."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.name} is not in UTF-8: {error}") from None
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise UsageError(f"{self.name} is damaged: {error}") from None


class Lines(Iterator[str]):
    """Lines of bounded length. A reader of rows sets ``row`` to 0 after each, as quoted fields may have many lines."""

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
            raise UsageError(f"{self.name}, line {self.number}: a NUL character: save the file as text in UTF-8")
        return line


def _unpacker(file: BinaryIO) -> Callable[..., Any] | None:
    """The opener of a compressed file, by its first bytes; None if it is not compressed."""
    begin = file.read(6)
    file.seek(0)
    return next((opener for magic, opener in PACKED.items() if begin.startswith(magic)), None)


@dataclasses.dataclass
class Again:
    """An iterable that restarts each time."""

    start: Callable[[], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.start()


def read_file(text: str, target: str | None, drop: Iterable[str], task: str | None = None) -> Stream:
    """A file as a stream; the task ("classification" or "regression") is inferred from the target if it is None."""
    source = Source(text)
    with source.errors_named():
        with source.open() as file:
            lines = list(itertools.islice((line for line in _each(source.lines(file)) if line.strip()), FIRST_LINES))
        if not lines:
            raise UsageError(f"{source.name} is empty")
        if not _is_libsvm(lines):
            return _read_csv(source, lines, target, set(drop), task)
        if target is not None or drop:
            raise UsageError(
                f"{source.name} is a libsvm file, whose target comes first in each line; naming a target or columns to "
                f"drop is for CSV files"
            )
        return _read_libsvm(source, task)


def _each(lines: Lines) -> Iterator[str]:
    """Lines that are rows."""
    for line in lines:
        lines.row = 0
        yield line


def _is_libsvm(lines: list[str]) -> bool:
    """Whether the first lines are libsvm's; samples without features (labels alone) may come first."""
    for line in lines:
        if re.fullmatch(r"\S+(\s+[^\s:,]+:\S+)+\s*(#.*)?", line.strip()):
            return True
        if _number(line.partition("#")[0].strip()) is None:
            return False
    return False


# CSV ----------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """How to read the rows of a CSV file: its columns, the feature columns, and the target column."""

    source: Source
    separator: str
    header: list[str]
    has_header: bool
    features: list[int]
    at: int

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, each with the number of its last line."""
        with self.source.open() as file:
            lines = self.source.lines(file)
            reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
            line, is_header = 0, self.has_header  # where the last row ended
            try:
                for row in reader:
                    before, line, lines.row = line, reader.line_num, 0
                    if not row:
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
        """The error of a row between two lines; for a field that is too long it names the column."""
        with self.source.open() as file:
            lines = list(itertools.islice(_each(self.source.lines(file)), begin, end))
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

    def samples(
        self, kinds: dict[int, str], label: Callable[[str], Any], has_label: Callable[[str], bool]
    ) -> Iterator[Sample]:
        """Numbers, dates and strings by their column."""
        read = {i: (self.header[i], *READERS[kind]) for i, kind in kinds.items()}
        for _, row in self.rows():
            if has_label(row[self.at]):
                x = {name: value(row[i]) for i, (name, value, gap) in read.items() if not gap(row[i])}
                yield x, label(row[self.at])


def _parsed(lines: Iterable[str], separator: str) -> list[list[str]]:
    """The rows of the first lines, up to an error, which reading the file will report."""
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if row)
    return rows


def _find_columns(source: Source, lines: list[str], target: str | None, drop: set[str]) -> _Table:
    """The columns, from the first lines and the user's choices."""
    separator = _separator(lines)
    rows = _parsed(lines, separator)
    if not rows:
        raise _Table(source, separator, [], False, [], 0).error(0, FIRST_LINES, csv.Error("the row cannot be read"))
    first, *others = rows
    has_header = _is_header(first, others)
    header = [name.strip() for name in first] if has_header else [str(i) for i in range(1, len(first) + 1)]
    for name in {target or "", *drop} - {""}:
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
    return _Table(source, separator, header, has_header, features, at)


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _read_csv(source: Source, lines: list[str], target: str | None, drop: set[str], task: str | None) -> Stream:
    """The columns' types and the task, from all rows."""
    table = _find_columns(source, lines, target, drop)
    header, at = table.header, table.at
    columns = {i: _Column() for i in (*table.features, at)}
    targets = _Targets(task)
    size = 0
    for line, row in table.rows():
        for i, column in columns.items():
            column.see(line, row[i])
        targets.see(line, row[at])
        size += 1
    if not size:
        raise UsageError(f"{source.name} has a header and no rows")
    for i, column in columns.items():
        if column.is_number and column.infinite:
            line, cell = column.infinite
            raise UsageError(f"{source.name}, line {line}: {shown(cell)} in column {shown(header[i])} is not finite")
        if column.commas and not column.numeric and table.separator != ",":
            raise UsageError(
                f"{source.name}: the numbers in column {header[i]!r} have decimal commas; use decimal points"
            )
    found, label, has_label = targets.read(f"{source.name}: the target {header[at]!r}")
    kinds = {i: columns[i].kind for i in table.features}
    n = collections.Counter(kinds.values())
    _check_names(source, [header[i] for i in kinds], [header[i] for i, kind in kinds.items() if kind == STRINGS])
    counts = {
        "missing values": sum(columns[i].gaps for i, kind in kinds.items() if kind == NUMBERS),
        "numbers written as 1,234": sum(columns[i].thousands for i in columns if columns[i].is_number),
        "rows without a target, skipped": targets.missing,
    }
    notes = [
        *(() if table.has_header else ("no header",)),
        f"target {header[at]}",
        f"numeric columns: {n[NUMBERS]}, string columns: {n[STRINGS]}"
        + (f", date columns: {n[DATES]}" if n[DATES] else ""),
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
    ]
    warnings = [
        f"column {shown(header[i])} differs in every row: if it is an identifier, --drop it"
        for i, kind in kinds.items()
        if kind != DATES and columns[i].differs
    ]
    if found == MULTICLASS and len(targets.values) > MANY_LABELS:
        warnings.append(
            f"the target {shown(header[at])} has more than {MANY_LABELS:,} labels, which cost memory and are hardly "
            f"learned: choose another --target, or --task regression"
        )
    return Stream(
        source.name,
        Again(functools.partial(table.samples, kinds, label, has_label)),
        found,
        size - targets.missing,
        scaled=True,
        note="; ".join(notes),
        warnings=tuple(warnings),
        plain=n[NUMBERS] == len(kinds),
        binary=targets.binary,
    )


def _check_names(source: Source, names: list[str], strings: list[str]) -> None:
    """The string x of column a becomes the feature "a=x", which must be no other column's."""
    encoded = {f"{name}=" for name in strings}
    for name in names:
        for end in re.finditer("=", name):
            if name[: end.end()] in encoded:
                raise UsageError(
                    f"{source.name}: strings in column {shown(name[: end.start()])} become features such as "
                    f"{shown(name)}, which is a column, too: rename one, or --drop it"
                )


NUMBERS, DATES, STRINGS = "numbers", "dates", "strings"


@dataclasses.dataclass
class _Column:
    """The type of a column, from its cells."""

    numeric: bool = True
    dates: bool = True
    commas: bool = True  # whether all cells are numbers with decimal commas or points
    infinite: tuple[int, str] | None = None  # line and cell
    numbers: int = 0
    thousands: int = 0  # how many of these are written as 1,234
    gaps: int = 0
    odd: bool = False  # whether some of these would be strings in a string column
    met: set[str] | None = dataclasses.field(default_factory=set)  # None: a cell came twice, or a fraction
    rows: int = 0

    @property
    def is_number(self) -> bool:
        return self.numeric and (self.numbers > 0 or not self.odd)

    @property
    def kind(self) -> str:
        return NUMBERS if self.is_number else DATES if self.dates and not self.numeric and not self.odd else STRINGS

    @property
    def differs(self) -> bool:
        """Whether all cells differ, as those of identifiers: of numbers only if they have no fraction."""
        return self.met is not None and self.rows >= 50 and len(self.met) >= min(self.rows, FIRST_ROWS)

    def see(self, line: int, cell: str) -> None:
        self.rows += 1
        if self.met is not None and len(self.met) < FIRST_ROWS:
            if cell in self.met:
                self.met = None
            else:
                self.met.add(cell)
        if not (self.numeric or self.commas or self.dates):
            return
        if _is_gap(cell):
            self.gaps += 1
            self.odd = self.odd or not _is_missing(cell)
            return
        value = _number(cell)
        if value is None:
            self.numeric = False
            self.dates = self.dates and self.numbers == 0 and parsed(cell) is not None
            self.commas = self.commas and re.fullmatch(r"\s*[+-]?\d*,\d+\s*", cell) is not None
            return
        self.numbers += 1
        self.dates = False
        self.thousands += "," in cell
        if self.met is not None and not value.is_integer():
            self.met = None
        if self.infinite is None and not math.isfinite(value):
            self.infinite = line, cell


def _separator(lines: list[str]) -> str:
    """The separator that splits all lines into the same number of fields, the most fields first."""
    best, most = ",", (False, 1)
    for separator in SEPARATORS:
        first, *others = map(len, _parsed(lines, separator) or [[""]])
        if len(lines) == FIRST_LINES:
            del others[-1:]  # a multi-line cell may be cut off
        if first > 1 and (all(n == first for n in others), first) > most:
            best, most = separator, (all(n == first for n in others), first)
    return best


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first row is a header: a numeric column begins with a name, or the names are 1, 2, 3, ..."""
    numeric = [
        i
        for i in range(len(first))
        if (cells := [row[i] for row in others if i < len(row) and not _is_gap(row[i])])
        and None not in map(_number, cells)
    ]
    if not numeric or not all(_number(first[i]) is not None or _is_gap(first[i]) for i in numeric):
        return True
    return all(first[j].strip() == str(j + int(first[0].strip() == "1")) for j in numeric)


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in GAPS


def _is_gap(cell: str) -> bool:
    """Whether a cell of a numeric column is missing."""
    return cell.strip().lower() in GAPS_AMONG_NUMBERS


def _number(text: str) -> float | None:
    """The number in a text, with a decimal point, or with commas between thousands; None if it is not a number."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        is_grouped = re.fullmatch(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*", text)
        return float(text.replace(",", "")) if is_grouped else None


# How the cells of a column become values, and which are missing.
READERS: dict[str, tuple[Callable[[str], Any], Callable[[str], bool]]] = {
    NUMBERS: (_number, _is_gap),
    DATES: (parsed, _is_missing),
    STRINGS: (str, _is_missing),
}


# libsvm -------------------------------------------------------------------------------------------


def _read_libsvm(source: Source, task: str | None) -> Stream:
    numbers = datasets.FeatureNumbers()

    def samples_as_written() -> Iterator[tuple[int, dict[int, float], str]]:
        with source.open() as file:
            for number, line in enumerate(_each(source.lines(file)), start=1):
                line = line.partition("#")[0]
                if not line.strip():
                    continue
                try:
                    label, x = datasets.parse_libsvm(line, numbers)
                    value = _number(label)
                    if value is None:
                        raise ValueError(f"the label {label!r} is not a number")
                    if not math.isfinite(value):
                        raise ValueError(f"the label {label!r} is not finite")
                except ValueError as error:
                    raise UsageError(f"{source.name}, line {number}: {error}") from None
                yield number, x, label

    targets = _Targets(task)
    size = 0
    for line, _, label in samples_as_written():
        targets.see(line, label)
        size += 1
    found, read, _ = targets.read(f"{source.name}: the target")
    samples = Again(lambda: ((x, read(label)) for _, x, label in samples_as_written()))
    return Stream(source.name, samples, found, size, scaled=False, binary=targets.binary)


# Targets ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Targets:
    """The values of a target, from which the task is inferred, or checked if it is given."""

    task: str | None
    values: dict[str, int] = dataclasses.field(default_factory=dict)  # and the line of each; bounded in number
    word: tuple[int, str] | None = None  # line and value of the first that is not a number
    fraction: tuple[int, str] | None = None  # the same of the first number with a fraction
    missing: int = 0  # rows without a target
    odd: dict[str, int] = dataclasses.field(default_factory=dict)  # missing only among numbers, and the line
    n_odd: int = 0
    binary: tuple[Any, ...] = ()  # if there are two labels

    def see(self, line: int, text: str) -> None:
        if text in self.values:
            return
        if _is_missing(text):
            self.missing += 1
            return
        if _is_gap(text):
            self.odd.setdefault(text, line)
            self.n_odd += 1
            return
        value = _number(text)
        if value is None:
            self.word = self.word or (line, text)
        elif not value.is_integer():
            self.fraction = self.fraction or (line, text)
        if len(self.values) <= (MANY_LABELS if self.task is None else labels.MOST_LABELS):
            self.values[text] = line

    def read(self, name: str) -> tuple[str, Callable[[str], Any], Callable[[str], bool]]:
        """The task, the parser of a value, and the predicate of values that are not missing."""
        numeric = bool(self.values) and not self.word
        if numeric:
            self.missing += self.n_odd
        else:
            for text, line in self.odd.items():
                self.word = self.word or (line, text)
                self.values[text] = line

        def has_label(text: str) -> bool:
            return not (_is_gap if numeric else _is_missing)(text)

        if not self.values:
            raise UsageError(f"{name} is missing in every row")
        if self.task == "regression" and self.word:
            raise UsageError(f"{name} is {shown(self.word[1])} in line {self.word[0]}: a regression needs numbers")
        if self.task == "classification" and self.fraction and not self.word:
            line, text = self.fraction
            raise UsageError(f"{name} is {text} in line {line}, a number with a fraction: use --task regression")
        if self.word:
            values: list[Any] = sorted(self.values)
            read: Callable[[str], Any] = str
        else:
            values = sorted({_number(text) or 0.0 for text in self.values})
            if self.task == "regression" or self.fraction or (self.task is None and len(values) > MOST_LABELS):
                return REGRESSION, _number, has_label
            read = _whole
        if len(values) == 1:
            raise UsageError(f"{name} is {next(iter(self.values))} in every row: there is nothing to learn")
        if len(values) == 2:
            self.binary = tuple(each if self.word else int(each) for each in values)
            return BINARY, lambda text: bool(read(text) == values[1]), has_label
        return MULTICLASS, read, has_label


def _whole(text: str) -> int:
    return int(_number(text) or 0.0)


class Progress:
    """A progress bar on stderr if that is a terminal: rich's, or a line of text."""

    def __init__(self, total: int | None):
        self.total = total
        self.done = 0
        self.bar: Any = None
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress
            except ImportError:
                return
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("samples", total=total)

    def __enter__(self) -> Progress:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar:
            self.bar.stop()
        elif sys.stderr.isatty():
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)

    def __call__(self, n: int) -> None:
        self.done += n
        if self.bar:
            self.bar.update(self.task, advance=n)
        elif sys.stderr.isatty():
            share = f" ({self.done / self.total:.0%})" if self.total else ""
            print(f"\r{self.done:,} samples{share}", end="", file=sys.stderr, flush=True)
