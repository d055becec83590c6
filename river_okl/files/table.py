"""Tables as streams: CSV, Parquet and JSON files, compressed or not, as DuckDB reads them.

Types of columns are DuckDB's, from all rows, and so are errors.  Two rules are added.  A column of text of which all
cells are numbers, with blanks or plus signs, has numbers; with leading zeros it has codes.  A column of text of which
most cells are numbers or dates is an error, because a single bad cell would turn thousands of numbers into strings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import glob
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.files.models import DATE_TEXT, MULTICLASS, NUMBER, REGRESSION, STRING, TABLE, Schema, gaps_of
from river_okl.files.stream import (
    MANY_LABELS,
    Again,
    Reading,
    Sample,
    Source,
    Stream,
    find_task,
    nearest,
    option,
)
from river_okl.labels import MAX_LABELS as MAX_CLASSES

try:
    import duckdb
except ImportError:
    raise UsageError("--data needs DuckDB for tables: pip install 'river_okl[cli]'") from None

MAX_NAMES = 30  # columns that an error lists
AGREEING = 0.8  # share of numbers (or dates) from which other cells in a column are errors
LISTED_LABELS = 10
MOST_SKIPPED = 20  # lines before the header; more are rows
INTEGER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
SETTINGS = {"memory_limit": "1GB", "temp_directory": tempfile.gettempdir(), "TimeZone": "UTC"}
PLAIN = r"\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"  # a number, not a code such as 007
DAY_FIRST = r"\s*[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})( +[0-9]{1,2}:.*)?\s*"  # or the month
DAYS = [form.replace("/", mark) for mark in "./-" for form in ("%d/%m/%y", "%m/%d/%y", "%d/%m/%Y", "%m/%d/%Y")]
TIMES = "", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"
FORMATS = [day + time for day in DAYS for time in TIMES]
AT_ONCE = 50  # columns in a query: DuckDB's time is quadratic in their number
CASTS = {  # what most cells of a column of text may be
    "numbers": "try_cast({0} AS DOUBLE)",
    "dates": "try_cast({0} AS TIMESTAMP)",
    "numbers with commas": "try_cast(replace(nullif({0}, replace({0}, ',', '')), ',', '.') AS DOUBLE)",
}


def matches(pattern: str, text: str = "{0}") -> str:
    """Return SQL that is NULL unless a text matches a pattern."""
    return f"nullif(regexp_full_match({text}, {quoted(pattern)}), false)"


def quoted(value: Any) -> str:
    """Return a value as a literal of SQL."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quoted(key)}: {quoted(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value).lower()


def given(options: dict[str, Any]) -> str:
    """Return options in a call of SQL."""
    return "".join(f", {name}={quoted(value)}" for name, value in options.items())


def column(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


class Table:
    """A file as DuckDB sees it; ``options`` are those of ``read_csv`` that are not to be inferred."""

    def __init__(self, source: Source, options: dict[str, Any]):
        self.source = source
        self.path = glob.escape(str(source.path)) if source.path.exists() else str(source.path)
        self.skipped = 0  # lines before the header
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
        options, paths = self.options, sorted(glob.glob(self.path)) or [self.path]
        self.several = len(paths) > 1
        found: dict[str, dict[str, str]] = {}
        for path in paths:
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
        file = f"{quoted(glob.escape(path))}{given(self.options | {'all_varchar': True})}"
        ((count,),) = self.query(f"SELECT count({column(name)}) FROM read_csv({file})")
        return count > 0

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
        file = f"{quoted(path)}{given(self.options | {'auto_detect': False, 'columns': types})}"
        ((years, days),) = self.query(
            f"SELECT count(DISTINCT year({cell})), count(DISTINCT day({cell})) FROM read_csv({file})"
        )
        return years >= days

    def sniffed_as(self, path: str, options: dict[str, Any]) -> dict[str, str]:
        """Infer what the options leave open of one file."""
        called = f"{quoted(path)}{given(options)}"
        try:
            (found,) = self.query(f"SELECT * FROM sniff_csv({called}, sample_size=-1)")
        except UsageError:  # a bad row, which is named when it is read by the layout of the first rows
            [*self.query(f"SELECT count(*) FROM read_csv({called}, sample_size=1)")]
            raise
        delimiter, quote, escape, line, comment, self.skipped, header, columns, date, timestamp, *_ = found
        if self.skipped > MOST_SKIPPED:
            raise UsageError(
                f"{path}: line {self.skipped + 1} and those after it have other fields than the lines before"
            )
        layout = {"delim": delimiter, "quote": quote, "escape": escape, "comment": comment, "new_line": line}
        layout = {name: "" if value == "(empty)" else value for name, value in layout.items()}
        if self.several and quote == "(empty)":  # as in the files before
            layout |= {name: self.options.get(name, '"') for name in ("quote", "escape")}
        if self.several or not line.startswith("\\"):  # of a file of one line
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
        return f"{self.reader}({quoted(self.path)}{given(options)})"

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


def read_table(source: Source, reading: Reading, schema: Schema | None) -> Stream:
    """Return the stream of a table; with a schema, of the same columns."""
    if schema is not None:
        return _read_known(Table(source, schema.options), schema)
    options: dict[str, Any] = {"nullstr": ["", *reading.na]}
    options |= {"decimal_separator": reading.decimal} if reading.decimal else {}
    if reading.date_format:
        has_time = re.search("%[HIMSfp]", reading.date_format)
        options["timestampformat" if has_time else "dateformat"] = reading.date_format
    table = Table(source, options)
    if table.reader != "read_csv" and (reading.decimal or reading.date_format):
        raise UsageError(f"{source.name} is no CSV file: --decimal and --date-format are for CSV files")
    return _read_new(table, reading)


# A new table ------------------------------------------------------------------------------------------------------


def _read_new(table: Table, reading: Reading) -> Stream:
    """Return the stream of a table, with its schema."""
    where, names, target = table.source.name, [*table.types], reading.target
    for name in [*([] if target is None else [target]), *reading.drop, *reading.strings]:
        if name not in names:
            raise UsageError(f"{where} has no column {name!r}{nearest(name, names)}; its columns are {listed(names)}")
    target = names[-1] if target is None else target
    if target in reading.drop:
        raise UsageError(f"{target!r} is the target; --drop is for other columns")
    kinds = {name: STRING if name in reading.strings else kind_of_type(kind) for name, kind in table.types.items()}
    columns = {name: kind for name, kind in kinds.items() if name != target and name not in reading.drop}
    if not columns:
        raise UsageError(
            f"{where} has no column besides the target {shown(target)}; fields are separated by , ; | or tabs, and "
            f"every row has as many as the first"
        )
    texts = [name for name in (*columns, target) if table.is_text(kinds[name]) and name not in reading.strings]
    for i in range(0, len(texts), AT_ONCE):
        kinds |= _types_of_texts(table, {name: kinds[name] for name in texts[i : i + AT_ONCE]})
    if kinds[target] not in (NUMBER, STRING):
        raise UsageError(
            f"{where}: the target {shown(target)} is a date: choose another --target, or {option('--string', target)}"
        )
    columns = {name: kinds[name] for name in columns}
    if kinds[target] == NUMBER and INTEGER.fullmatch(table.types[target]):
        kinds[target] = table.types[target]  # labels of any size
    types = {**columns, target: kinds[target]}
    numeric = [name for name, kind in columns.items() if kind == NUMBER]
    size, labelled, *known = table.counts([target, *numeric], types)
    if not size:
        raise UsageError(f"{where} has no rows")
    values = table.targets(target, types)
    task, labels = find_task(f"{where}: the target {shown(target)}", values, reading.task)
    ignored = tuple(name for name in names if name not in types)
    schema = Schema(TABLE, columns, target, task, labels, kinds[target] != STRING, ignored, table.options_to_keep())
    kinds_of = [*columns.values()]
    counts = {
        "date columns": len(columns) - len(numeric) - kinds_of.count(STRING),
        "missing values": len(numeric) * size - sum(known),
        "rows without a target, skipped": size - labelled,
    }
    notes = [
        *(() if table.options.get("header", True) else ("no header",)),
        f"target {target}" + (f" ({', '.join(map(str, labels))})" if 0 < len(labels) <= LISTED_LABELS else ""),
        f"numeric columns: {len(numeric)}, string columns: {kinds_of.count(STRING)}",
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
        *(
            f"dates are {form}"
            for form in (table.options.get("dateformat"), table.options.get("timestampformat"))
            if form
        ),
    ]
    warnings = []
    if table.skipped:
        warnings.append(f"the first {table.skipped:,} lines are skipped: the rows after them have other fields")
    if task == MULTICLASS and len(labels) > MANY_LABELS:
        warnings.append(
            f"the target {shown(target)} has more than {MANY_LABELS:,} labels, which cost memory and are hardly "
            f"learned: choose another --target, or --task regression"
        )
    return Stream(
        where,
        Again(functools.partial(_samples, table, schema, types)),
        task,
        labelled,
        scaled=True,
        note="; ".join(notes),
        warnings=tuple(warnings),
        schema=schema,
    )


def _types_of_texts(table: Table, kinds: dict[str, str]) -> dict[str, str]:
    """Return types of columns of text: numbers or dates if all cells are.  An error names a column if most are."""
    mark = quoted(table.options.get("decimal_separator", "."))
    own = [table.options[name] for name in ("dateformat", "timestampformat") if name in table.options]
    tests = {
        "values": "{0}",
        "plain numbers": matches(PLAIN, f"replace({{0}}, {mark}, '.')"),
        "dates as texts": matches(DATE_TEXT),
        "days first": matches(DAY_FIRST),
        "dates in this format": f"try_strptime({{0}}, {quoted(own)})" if own else "NULL",
        **CASTS,
    }
    cells = ", ".join(f"count({test.replace('{0}', column(name))})" for name in kinds for test in tests.values())
    (found,) = table.query(table.select(cells, dict.fromkeys(kinds, STRING)))
    types, is_csv = dict.fromkeys(kinds, STRING), table.reader == "read_csv"
    for name, each in zip(kinds, np.reshape(found, (-1, len(tests))).tolist(), strict=True):
        count = dict(zip(tests, each, strict=True))
        n, kind = count["values"], "TIMESTAMP" if kinds[name] == STRING else kinds[name]
        if is_csv and 0 < n == count["plain numbers"]:
            types[name] = NUMBER
        elif is_csv and 0 < n == count["dates as texts"] and not table.has_format(kind):
            types[name] = kind
        elif is_csv and 0 < AGREEING * n <= count["dates in this format"] < n:
            advice = _advice(table, name, "dates", tests["dates in this format"], n - count["dates in this format"])
            raise UsageError(f"{table.source.name}, column {shown(name)} has dates{advice}")
        elif is_csv and 0 < AGREEING * n <= count["days first"] and (advice := _format(table, name)):
            raise UsageError(f"{table.source.name}, column {shown(name)} has dates{advice}")
        else:
            for what, cast in CASTS.items():
                if 0 < AGREEING * n <= count[what] and (count[what] < n or "commas" in what):
                    advice = _advice(table, name, what, cast, n - count[what])
                    raise UsageError(f"{table.source.name}, column {shown(name)} has {what}{advice}")
    return types


def _format(table: Table, name: str) -> str:
    """Describe the format of most of the first times in a column of text, as advice; nothing if no format fits."""
    counts = ", ".join(f"count(try_strptime(cell, {quoted(form)}))" for form in FORMATS)
    first = table.select(f"{column(name)} AS cell", {name: STRING}, f"WHERE {column(name)} IS NOT NULL LIMIT 1000")
    ((text, *of_format),) = table.query(f"SELECT first(cell), {counts} FROM ({first})")
    if not any(of_format):
        return ""
    form = FORMATS[int(np.argmax(of_format))]
    return f" such as {shown(text)}: {option('--date-format', form)}, or {option('--string', name)}"


def _advice(table: Table, name: str, what: str, cast: str, others: int) -> str:
    """Describe the cells of a column that are not numbers or dates, with a remedy."""
    if "commas" in what and table.reader == "read_csv":
        return f": --decimal ',' if these are decimal marks, or {option('--string', name)}"
    cell = column(name)
    ((row, text),) = table.query(
        f"SELECT * FROM ({table.select(f'row_number() OVER () AS row, {cell} AS cell', {name: STRING})}) "
        f"WHERE cell IS NOT NULL AND {cast.replace('{0}', 'cell')} IS NULL LIMIT 1"
    )
    place, remedy = f"row {row}", option("--string", name)
    if table.reader == "read_csv":
        place = f"line {row + table.skipped + table.options['header']}"
        if table.options["delim"] not in text:
            remedy = f"if it is a gap, {option('--na', text)}, or {remedy}"
    more = f" and {others - 1:,} more" if others > 1 else ""
    return f", except for {shown(text)} in {place}{more}: {remedy}"


# A table with a known schema --------------------------------------------------------------------------------------


def _read_known(table: Table, schema: Schema) -> Stream:
    """Return the stream of a table with the columns of a schema; the target may be missing."""
    where, names = table.source.name, [*table.types]
    if lacking := [name for name in schema.columns if name not in names]:
        raise UsageError(
            f"{where} has no column {shown(lacking[0])}"
            + (f", nor {len(lacking) - 1} more" if len(lacking) > 1 else "")
            + f", which the model was trained on; its columns are {listed(names)}"
        )
    target = schema.target if schema.target in names else None
    types = dict(schema.columns)
    if target is not None:
        kind = table.types[target]
        types[target] = (kind if INTEGER.fullmatch(kind) else kind_of_type(kind)) if schema.numeric else STRING
    size, *known = table.counts([*types], types)
    if not size:
        raise UsageError(f"{where} has no rows")
    labels, labelled = dict.fromkeys(schema.labels), known[-1] if target is not None else 0
    if target is not None:
        try:
            for y in table.targets(target, types):
                found = schema.target_of(y)
                if schema.task == MULTICLASS and len(labels) < MAX_CLASSES:
                    labels[found] = None
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
    new = [name for name in names if name not in {*schema.columns, schema.target, *schema.ignored}]
    unknown = [*labels][len(schema.labels) :]
    schema = dataclasses.replace(schema, labels=tuple(labels))
    note = "no target" if target is None else f"target {schema.target}"
    if target is not None and labelled < size:
        note += f"; rows without a target, only predicted: {size - labelled:,}"
    return Stream(
        where,
        Again(functools.partial(_samples, table, schema, types, True)),
        schema.task,
        size,
        scaled=True,
        note=note,
        warnings=(
            *([f"columns that the model does not know are ignored: {listed(new)}"] if new else []),
            *([f"labels that the model does not know are learned: {listed([*map(str, unknown)])}"] if unknown else []),
        ),
        schema=schema,
        labelled=labelled > 0,
    )


def _samples(table: Table, schema: Schema, types: dict[str, str], unlabelled: bool = False) -> Iterator[Sample]:
    """Yield features and target of every row; rows without a target are skipped, or have None if ``unlabelled``."""
    for i, row in enumerate(table.query(table.select("*", types)), start=1):
        x = {name: cell for name, cell in zip(types, row, strict=True) if cell is not None}
        try:
            y = schema.target_of(x.pop(schema.target, None))
        except ValueError as error:
            raise UsageError(f"{table.source.name}, row {i:,}: {error}") from None
        if y is None and not unlabelled:
            continue
        yield x, float(y) if schema.task == REGRESSION and y is not None else y
