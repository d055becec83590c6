"""Files as streams: CSV with any of the usual separators, with or without a header, and libsvm.

A file is read twice: first to find out what it holds and what is wrong with it, then by whoever learns it.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import itertools
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TextIO

from river_okl import datasets, labels
from river_okl.errors import UsageError, nearest

Sample = tuple[dict[Any, Any], Any]
Scaled = bool | frozenset[Any]  # whether features are scaled, or which: words, which are 1 or not there, would all be 0

BINARY, MULTICLASS, REGRESSION = "binary classification", "multi-class classification", "regression"

MOST_LABELS = 20  # different numbers in the target's column; more of them are a regression
SEPARATORS = ",;\t|"
FIRST_LINES = 50  # by which the separator and the header are told


@dataclasses.dataclass
class Stream:
    """Samples, what is to be predicted of them, and whether, or which of, their features are scaled for the models."""

    name: str
    samples: Iterable[Sample]
    task: str
    size: int | None
    scaled: Scaled
    note: str = ""  # what a file was taken for


class Source:
    """A file by its path, or standard input, which is copied, because it comes only once."""

    def __init__(self, text: str):
        self.name = text
        self.path = pathlib.Path(text).expanduser()
        self.copy: Any = None
        if text == "-":
            self.name = "standard input"
            self.copy = tempfile.TemporaryFile()  # noqa: SIM115 - it goes with the process
            shutil.copyfileobj(sys.stdin.buffer, self.copy)
            self.copy.flush()

    def open(self) -> TextIO:
        """The text from its start."""
        if self.copy is None:
            opener: Callable[..., TextIO] = datasets._OPENERS.get(self.path.suffix, open)
            return opener(self.path, "rt", encoding="utf-8-sig", newline="")
        self.copy.seek(0)
        return open(os.dup(self.copy.fileno()), encoding="utf-8-sig", newline="")


@dataclasses.dataclass
class Again:
    """An iterable that starts anew each time."""

    start: Callable[[], Iterator[Sample]]

    def __iter__(self) -> Iterator[Sample]:
        return self.start()


def read_file(text: str, target: str | None, drop: Iterable[str], task: str | None = None) -> Stream:
    """A file as a stream; without a task ("classification" or "regression") the target's values decide."""
    source = Source(text)
    try:
        with source.open() as file:
            lines = list(itertools.islice((line for line in file if line.strip()), FIRST_LINES))
        if not lines:
            raise UsageError(f"{source.name} is empty")
        if re.fullmatch(r"\S+(\s+[^\s:,]+:\S+)+\s*(#.*)?", lines[0].strip()):
            if target is not None or drop:
                raise UsageError(
                    f"{source.name} is a libsvm file, whose target comes first in each line; "
                    f"--target and --drop are for CSV files"
                )
            return _read_libsvm(source, task)
        return _read_csv(source, lines, target, set(drop), task)
    except UnicodeDecodeError as error:
        raise UsageError(f"{source.name} is not in UTF-8: {error}") from None


# CSV ----------------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """How the rows of a CSV file are read: its columns, those that are features, and that of the target."""

    source: Source
    separator: str
    header: list[str]
    has_header: bool
    features: list[int]
    at: int

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The lines where rows end, and the rows."""
        with self.source.open() as file:
            reader = csv.reader(file, delimiter=self.separator, skipinitialspace=True)
            for row in itertools.islice((row for row in reader if row), int(self.has_header), None):
                if len(row) != len(self.header):
                    there = f"{'the header' if self.has_header else 'the first row'} has {len(self.header)}"
                    raise UsageError(f"{self.source.name}, line {reader.line_num}: {len(row)} fields where {there}")
                yield reader.line_num, row

    def samples(self, numeric: dict[int, bool], label: Callable[[str], Any]) -> Iterator[Sample]:
        """Numbers by their column; a word is 1 under the names of its column and its own."""
        for _, row in self.rows():
            x: dict[Any, Any] = {}
            for i, is_number in numeric.items():
                cell = row[i]
                if _is_missing(cell):
                    continue
                if is_number:
                    x[self.header[i]] = float(cell)
                else:
                    x[f"{self.header[i]}={cell}"] = 1.0
            yield x, label(row[self.at])


def _find_columns(source: Source, lines: list[str], target: str | None, drop: set[str]) -> _Table:
    """What the first lines and the user say of the columns."""
    separator = _separator(lines)
    first, *others = (row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if row)
    has_header = _is_header(first, others)
    header = first if has_header else [str(i) for i in range(1, len(first) + 1)]
    for name in {target or "", *drop} - {""}:
        if name not in header:
            hint = nearest(name, header) if has_header else f"; it has no header, its columns are 1 to {len(header)}"
            raise UsageError(f"{source.name} has no column {name!r}{hint}")
    target = header[-1] if target is None else target
    if target in drop:
        raise UsageError(f"{target!r} is the target; --drop leaves out other columns")
    for name in header:
        if header.count(name) > 1 and name not in drop:
            raise UsageError(
                f"{source.name} has {header.count(name)} columns {name!r}: rename them, or --drop them all"
            )
    at = header.index(target)
    features = [i for i, name in enumerate(header) if i != at and name not in drop]
    if not features:
        hint = "; fields may be separated by , ; | or tabs" if len(header) == 1 else ""
        raise UsageError(f"{source.name} has no column beside the target {target!r}{hint}")
    return _Table(source, separator, header, has_header, features, at)


def _read_csv(source: Source, lines: list[str], target: str | None, drop: set[str], task: str | None) -> Stream:
    """Columns that are all numbers are features; every value of another column is a feature of its own."""
    table = _find_columns(source, lines, target, drop)
    header, at = table.header, table.at
    columns = {i: _Column() for i in (*table.features, at)}
    targets = _Targets(task)
    size = 0
    for line, row in table.rows():
        for i, column in columns.items():
            column.see(line, row[i])
        if _is_missing(row[at]):
            raise UsageError(f"{source.name}, line {line}: the target {header[at]!r} is missing")
        targets.see(line, row[at])
        size += 1
    if not size:
        raise UsageError(f"{source.name} has a header and no rows")
    for i, column in columns.items():
        if column.numeric and column.infinite:
            raise UsageError(
                "{}, line {}: {!r} in column {!r} is not finite".format(source.name, *column.infinite, header[i])
            )
        if column.commas and not column.numeric and table.separator != ",":
            raise UsageError(f"{source.name}: the numbers in column {header[i]!r} have decimal commas; write points")
    found, label = targets.read(f"{source.name}: the target {header[at]!r}")
    numeric = {i: columns[i].numeric for i in table.features}
    n = sum(numeric.values())
    note = f"target {header[at]}; {n} columns of numbers, {len(numeric) - n} of words"
    samples = Again(functools.partial(table.samples, numeric, label))
    return Stream(
        source.name,
        samples,
        found,
        size,
        scaled=n == len(numeric) or frozenset(header[i] for i, is_number in numeric.items() if is_number),
        note=note if table.has_header else f"no header; {note}",
    )


@dataclasses.dataclass
class _Column:
    """What the cells of a column have in common."""

    numeric: bool = True
    commas: bool = True  # whether they are numbers with decimal commas or points
    infinite: tuple[int, str] | None = None  # line and cell

    def see(self, line: int, cell: str) -> None:
        if not (self.numeric or self.commas) or _is_missing(cell):
            return
        if not _is_number(cell):
            self.numeric = False
            self.commas = self.commas and re.fullmatch(r"\s*[+-]?\d*,\d+\s*", cell) is not None
        elif self.infinite is None and not math.isfinite(float(cell)):
            self.infinite = line, cell


def _separator(lines: list[str]) -> str:
    """The one by which the first line has several fields and the others have as many; the more the better."""
    best, most = ",", (False, 1)
    for separator in SEPARATORS:
        first, *others = (len(row) for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if row)
        if len(lines) == FIRST_LINES:
            del others[-1:]  # a cell of several lines may be cut off
        if first > 1 and (all(n == first for n in others), first) > most:
            best, most = separator, (all(n == first for n in others), first)
    return best


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first row is one: a column of numbers begins with a name, or the names are 1, 2, 3, ..."""
    numeric = [
        i
        for i in range(len(first))
        if (cells := [row[i] for row in others if i < len(row) and not _is_missing(row[i])])
        and all(map(_is_number, cells))
    ]
    if not numeric or not all(_is_number(first[i]) or _is_missing(first[i]) for i in numeric):
        return True
    return all(first[j].strip() == str(j + int(first[0].strip() == "1")) for j in numeric)


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in ("", "na", "nan", "?")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


# libsvm -------------------------------------------------------------------------------------------


def _read_libsvm(source: Source, task: str | None) -> Stream:
    numbers = datasets.FeatureNumbers()

    def samples_as_written() -> Iterator[tuple[int, dict[int, float], str]]:
        with source.open() as file:
            for number, line in enumerate(file, start=1):
                line = line.partition("#")[0]
                if not line.strip():
                    continue
                try:
                    label, x = datasets.parse_libsvm(line, numbers)
                    if not _is_number(label):
                        raise ValueError(f"the label {label!r} is not a number")
                    if not math.isfinite(float(label)):
                        raise ValueError(f"the label {label!r} is not finite")
                except ValueError as error:
                    raise UsageError(f"{source.name}, line {number}: {error}") from None
                yield number, x, label

    targets = _Targets(task)
    size = 0
    for line, _, label in samples_as_written():
        targets.see(line, label)
        size += 1
    found, read = targets.read(f"{source.name}: the target")
    samples = Again(lambda: ((x, read(label)) for _, x, label in samples_as_written()))
    return Stream(source.name, samples, found, size, scaled=False)


# Targets ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Targets:
    """The values of a target, by which the task is told, or whether they suit the one that is given."""

    task: str | None
    values: dict[str, int] = dataclasses.field(default_factory=dict)  # and the line of each, a bounded number of them
    word: tuple[int, str] | None = None  # the first line and value that is no number
    fraction: tuple[int, str] | None = None  # the same of a number that is not whole

    def see(self, line: int, text: str) -> None:
        if text in self.values:
            return
        if not _is_number(text):
            self.word = self.word or (line, text)
        elif not float(text).is_integer():
            self.fraction = self.fraction or (line, text)
        if len(self.values) <= (MOST_LABELS if self.task is None else labels.MOST_LABELS):
            self.values[text] = line

    def read(self, name: str) -> tuple[str, Callable[[str], Any]]:
        """The task, and how a value is read."""
        if self.task == "regression" and self.word:
            raise UsageError(f"{name} is {self.word[1]!r} in line {self.word[0]}: a regression needs numbers")
        if self.task == "classification" and self.fraction and not self.word:
            line, text = self.fraction
            raise UsageError(f"{name} is {text} in line {line}, a number with a fraction: this is a regression")
        if self.word:
            values: list[Any] = sorted(self.values)
            read: Callable[[str], Any] = str
        else:
            values = sorted({float(text) for text in self.values})
            if self.task == "regression" or self.fraction or (self.task is None and len(values) > MOST_LABELS):
                return REGRESSION, float
            read = _whole
        if len(values) == 1:
            raise UsageError(f"{name} is {next(iter(self.values))} in every row: there is nothing to learn")
        if len(values) == 2:
            return BINARY, lambda text: bool(read(text) == values[1])
        return MULTICLASS, read


def _whole(text: str) -> int:
    return int(float(text))
