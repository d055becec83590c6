"""A file as DuckDB sees it: its layout, the types of its columns, and queries."""

from __future__ import annotations

import contextlib
import glob
import re
import tempfile
from collections.abc import Iterator
from typing import Any

from river_okl.checks import UsageError
from river_okl.files.models import NUMBER, STRING, gaps_of
from river_okl.files.stream import Source, option
from river_okl.labels import MAX_LABELS as MAX_CLASSES

try:
    import duckdb
except ImportError:
    raise UsageError("--data needs DuckDB for tables: pip install 'river_okl[cli]'") from None

MAX_NAMES = 30  # columns that an error lists
MOST_SKIPPED = 20  # lines before the header; more are rows
INTEGER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
SETTINGS = {"memory_limit": "1GB", "temp_directory": tempfile.gettempdir(), "TimeZone": "UTC"}


def quoted(value: Any) -> str:
    """Return a value as a literal of SQL."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quoted(key)}: {quoted(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value).lower()


def call(function: str, path: str, options: dict[str, Any]) -> str:
    """Return the call of a function of SQL on a file."""
    return f"{function}({quoted(path)}{''.join(f', {name}={quoted(value)}' for name, value in options.items())})"


def column(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


class Table:
    """A file as DuckDB sees it; ``options`` are those of ``read_csv`` that are not to be inferred."""

    def __init__(self, source: Source, options: dict[str, Any]):
        self.source = source
        self.path = glob.escape(str(source.path)) if source.path.exists() else str(source.path)
        self.skipped = 0  # lines before the header
        self.paths = sorted(glob.glob(self.path)) or [self.path]
        self.options: dict[str, Any] = {}
        begin = source.begin(100)
        suffixes = [suffix.lower() for suffix in source.path.suffixes]
        gaps = {"nullstr": options.get("nullstr", [""])}
        if begin.startswith(b"PAR1") or ".parquet" in suffixes:
            self.reader, self.options = "read_parquet", gaps
        elif re.match(rb'\s*(\{\s*"|\[\s*\{)', begin) or {".json", ".jsonl", ".ndjson"} & {*suffixes}:
            self.reader, self.options = "read_json", gaps | {"sample_size": -1}
        else:
            self.reader, self.options = "read_csv", options
            if source.encoding is not None:
                self.options = options | {"encoding": {"iso8859-1": "latin-1"}.get(source.encoding, source.encoding)}
            if begin.startswith(b"\x1f\x8b"):
                self.options = self.options | {"compression": "gzip"}
        self.types: dict[str, str] = self.sniffed() if self.reader == "read_csv" else self.described()

    def sniffed(self) -> dict[str, str]:
        """Infer the layout of a CSV file, and the types of its columns, from all rows; of several files, from all."""
        options = self.options
        found: dict[str, dict[str, str]] = {}
        for path in self.paths:
            types = self.sniffed_file(glob.escape(path), options)
            for others in found.values():
                if types.keys() != others.keys():
                    raise UsageError(f"{path} has the columns {listed([*types])}, other files {listed([*others])}")
            found[path] = types
        return {name: self.common_type(name, found) for name in types}

    def common_type(self, name: str, found: dict[str, dict[str, str]]) -> str:
        """Return the type of a column in all files, given the types of each; a file without values has none."""
        texts = [path for path, types in found.items() if kind_of_type(types[name]) == STRING]
        if 0 < len(texts) < len(found):
            empty = [path for path in texts if not self.has_values(path, name)]
            found = {path: types for path, types in found.items() if path not in empty}
        types = [types[name] for types in found.values()]
        if len({kind_of_type(each) for each in types}) > 1:
            return STRING
        return next((each for each in types if not INTEGER.fullmatch(each)), types[0])

    def has_values(self, path: str, name: str) -> bool:
        """Return whether a column of a CSV file has a value."""
        file = call("read_csv", glob.escape(path), self.options | {"all_varchar": True})
        ((count,),) = self.query(f"SELECT count({column(name)}) FROM {file}")
        return bool(count)

    def sniffed_file(self, path: str, options: dict[str, Any]) -> dict[str, str]:
        """Infer the layout and the types of one file."""
        if options.get("decimal_separator") == ",":  # DuckDB would also try it as the separator of fields
            for delimiter in ";\t|":
                with contextlib.suppress(UsageError):
                    types = self.sniffed_as(path, options | {"delim": delimiter})
                    if len(types) > 1 and not self.skipped:
                        return types
        types = self.sniffed_as(path, options)
        for name in "dateformat", "timestampformat":
            form = self.options.get(name, "")
            if form.startswith("%y") and name not in options and self.varies_like_a_day(path, types, name):
                found, day_first = self.options, f"%d{form[2:6]}%y{form[8:]}"
                if self.sniffed_as(path, options | {name: day_first}) != types:
                    self.options = found
        return types

    def varies_like_a_day(self, path: str, types: dict[str, str], name: str) -> bool:
        """Return whether what a format takes for the year has at least as many values as what it takes for the day."""
        kind = {"dateformat": "DATE", "timestampformat": "TIMESTAMP"}[name]
        cell = column(next(each for each, of_column in types.items() if of_column == kind))
        file = call("read_csv", path, self.options | {"auto_detect": False, "columns": types})
        ((years, days),) = self.query(f"SELECT count(DISTINCT year({cell})), count(DISTINCT day({cell})) FROM {file}")
        return years >= days

    def sniffed_as(self, path: str, options: dict[str, Any]) -> dict[str, str]:
        """Infer what the options leave open of one file."""
        try:
            (found,) = self.query(f"SELECT * FROM {call('sniff_csv', path, options | {'sample_size': -1})}")
        except UsageError:  # a bad row, which is named when it is read by the layout of the first rows
            [*self.query(f"SELECT count(*) FROM {call('read_csv', path, options | {'sample_size': 1})}")]
            raise
        delimiter, quote, escape, line, comment, self.skipped, header, columns, date, timestamp, *_ = found
        if self.skipped > MOST_SKIPPED:
            raise UsageError(
                f"{path}: line {self.skipped + 1} and those after it have other fields than the lines before"
            )
        layout = {"delim": delimiter, "quote": quote, "escape": escape, "comment": comment, "new_line": line}
        layout = {name: "" if value == "(empty)" else value for name, value in layout.items()}
        if len(self.paths) > 1 and quote == "(empty)":  # as in the files before
            layout |= {name: self.options.get(name, '"') for name in ("quote", "escape")}
        if len(self.paths) > 1 or not line.startswith("\\"):  # of a file of one line
            del layout["new_line"]
        formats = {"dateformat": date, "timestampformat": timestamp}
        formats = {name: form for name, form in formats.items() if form}
        self.options = {**options, **layout, **formats, "skip": self.skipped, "header": header}
        return {each["name"]: each["type"] for each in columns}

    def described(self) -> dict[str, str]:
        return {name: kind for name, kind, *_ in self.query(f"DESCRIBE FROM {self.source_of({})}")}

    def source_of(self, types: dict[str, str]) -> str:
        """Return the table in SQL; columns of a CSV file are read with these types."""
        options = dict(self.options)
        if self.reader != "read_csv":
            del options["nullstr"]
        else:
            options |= {"auto_detect": False, "columns": {name: types.get(name, STRING) for name in self.types}}
        return call(self.reader, self.path, options)

    def select(self, what: str, types: dict[str, str], end: str = "") -> str:
        """Return a query; ``what`` has the names of columns, which are cast to these types."""
        casts = {name: f"CAST({column(name)} AS {kind})" for name, kind in types.items()}
        gaps = ["nan", *map(str, sorted(gaps_of(self.options)))]
        for name, kind in types.items():
            for gap in gaps if kind_of_type(kind) == NUMBER else ():
                casts[name] = f"nullif({casts[name]}, {quoted(gap)}::DOUBLE)"
            for gap in self.options["nullstr"] if kind == STRING and self.reader != "read_csv" else ():
                casts[name] = f"nullif({casts[name]}, {quoted(gap)})"
        cells = ", ".join(f"{cast} AS {column(name)}" for name, cast in casts.items())
        return f"SELECT {what} FROM (SELECT {cells} FROM {self.source_of(types)}) {end}"

    def is_text(self, kind: str) -> bool:
        """Return whether a column of this type holds texts, or dates that DuckDB has read without a format."""
        return kind == STRING or (kind != NUMBER and self.reader == "read_csv" and not self.has_format(kind))

    def has_format(self, kind: str) -> bool:
        """Return whether dates of this type are read by a format."""
        return ("dateformat" if kind == "DATE" else "timestampformat") in self.options

    def options_to_keep(self) -> dict[str, Any]:
        """Return the options by which other files are read like this one."""
        kept = "nullstr", "decimal_separator", "header", "dateformat", "timestampformat"
        return {name: self.options[name] for name in kept if name in self.options}

    def counts(self, names: list[str], types: dict[str, str]) -> tuple[int, ...]:
        """Return the number of rows, and of the values in each of these columns; all columns are read."""
        counts = ", ".join(f"count({column(name)})" for name in names)
        (found,) = self.query(self.select(f"count(*), {counts}", types))
        return found

    def targets(self, name: str, types: dict[str, str]) -> list[Any]:
        """Return the different values of the target, not many more than there may be labels."""
        cell = column(name)
        end = f"WHERE {cell} IS NOT NULL LIMIT {MAX_CLASSES + 2}"
        return [value for (value,) in self.query(self.select(f"DISTINCT {cell}", types, end))]

    def query(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query in the order of the file; errors are DuckDB's, without our query."""
        try:
            with duckdb.connect() as connection:
                for name, value in SETTINGS.items():
                    connection.execute(f"SET {name}={quoted(value)}")
                found = connection.execute(sql)
                while rows := found.fetchmany(1000):
                    yield from rows
        except duckdb.Error as error:
            text = re.split(r"\n\nLINE \d|\n\n +file = ", str(error))[0]
            if bad := re.search(r'converting column "(.*)"\.', text):
                text = f"{text.partition(chr(10) * 2 + 'Column')[0]}: {option('--string', bad[1])}"
            raise UsageError(f"{self.source.name}: {text}") from None


def kind_of_type(name: str) -> str:
    """Return the type in which a feature of a type of DuckDB is read: a number, a date or a string."""
    if INTEGER.fullmatch(name) or name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return NUMBER
    if name.startswith(("DATE", "TIMESTAMP")):
        return "TIMESTAMP" if name.startswith("TIMESTAMP_") else name
    return STRING


def listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")
