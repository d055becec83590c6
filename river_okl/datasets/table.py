"""Tables as streams: CSV, Parquet and JSON files, which DuckDB reads."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from river.datasets import base

from river_okl._core.store.sample import shown

MAX_LABELS = 20  # distinct numbers in a target; more mean regression
AGREEING = 0.8  # share of numbers (or dates) from which other texts in a column are errors
LISTED = 20  # texts and columns that an error lists
NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|BOOLEAN|DECIMAL.*")
DATES = re.compile(r"DATE|TIMESTAMP.*")
READERS = {
    ".parquet": "read_parquet",
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "read_json"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "read_csv"),
}
FORMATS = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M"]
DELIMITERS = ",;\t|"
CASTS = {  # SQL that is NULL unless a cell is of a kind
    "numbers": "try_cast({0} AS DOUBLE)",
    "dates": f"coalesce(try_cast({{0}} AS TIMESTAMP), try_strptime({{0}}, {FORMATS}))",
    "numbers with commas": "try_cast(replace({0}, ',', '.') AS DOUBLE)",
}


class Table(base.Dataset):
    """The rows of a table as a stream.

    A sample has all columns except the target, by name: numbers as `float`, dates and times as objects of
    `datetime`, everything else as `str`, and missing values as None. `OKLClassifier` and `OKLRegressor` learn
    all of these, dates by way of `Dates`. Rows without a target are skipped. The file is not read into memory.

    Parameters
    ----------
    path
        A file, a pattern such as `"trips-*.csv"`, or a list of files that are read one after the other: CSV, Parquet
        or JSON, by the suffix of the first, compressed or not. Types are those of all files.
    target
        The column to predict.
    na
        Texts that mean a missing value, in CSV files. Empty cells always do.
    string
        Columns of a CSV file whose values are strings, whatever they look like, such as postcodes.
    options
        Further options of DuckDB's reader of such files, `read_csv`, `read_parquet` or `read_json`.

    Attributes
    ----------
    task
        River's name of the task. A target with fractions, or with more than 20 different numbers, means regression.

    Notes
    -----
    Types of columns are DuckDB's, from all rows. A column of text most of which is numbers (or dates) raises an error:
    a few bad cells would turn all of its numbers into strings. Needs DuckDB: `pip install duckdb`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_okl import datasets

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trips.csv")
    ...     _ = path.write_text("km,zone,fare\\n1.2,north,6.5\\n3.4,south,11\\n?,north,7\\n")
    ...     table = datasets.Table(path, target="fare", na="?")
    ...     rows = list(table)
    >>> table.task, table.n_samples
    ('Regression', 3)
    >>> rows[2]
    ({'km': None, 'zone': 'north'}, 7.0)

    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        target: str,
        *,
        na: str | Sequence[str] = (),
        string: str | Sequence[str] = (),
        **options: Any,
    ) -> None:
        try:
            import duckdb  # noqa: F401
        except ImportError:
            raise ImportError("Table needs DuckDB: pip install duckdb") from None
        self.paths = [os.fspath(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
        if not self.paths:
            raise ValueError("path is an empty list; it must name at least one file")
        self.target = target
        self._reader, self._options = self._reading(
            [na] if isinstance(na, str) else [*na], [string] if isinstance(string, str) else [*string], options
        )
        types = self._types()
        self._cells = {name: _cell(name, kind) for name, kind in types.items() if name != target}
        self._numeric = types[target] != "BOOLEAN" and bool(NUMBERS.fullmatch(types[target]))
        whole = NUMBERS.fullmatch(types[target]) and not types[target].startswith(("FLOAT", "DOUBLE", "DECIMAL"))
        self._label = _column(target) if whole else _cell(target, types[target])
        kept = self._options.get("types", {})
        if self._reader == "read_csv":  # other files have types of their own
            self._check_texts([name for name, kind in types.items() if kind == "VARCHAR" and name not in kept])
        super().__init__(n_features=len(self._cells), **self._described())  # type: ignore[no-untyped-call]

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        cells = ", ".join([*self._cells.values(), self._label])
        wanted = float if self.task == base.REG else _plain
        for *values, y in self._query(f"SELECT {cells} FROM {self._source()} WHERE {self._label} IS NOT NULL"):
            yield dict(zip(self._cells, values, strict=True)), wanted(y)

    @property
    def _name(self) -> str:
        """The name of the table in errors."""
        return self.paths[0] + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")

    # Reading ----------------------------------------------------------------------------------------------------------

    def _reading(self, na: list[str], string: list[str], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return DuckDB's function for these files, and its options."""
        suffixes = [suffix.lower() for suffix in pathlib.Path(self.paths[0]).suffixes]
        reader = next((READERS[each] for each in reversed(suffixes) if each in READERS), "read_csv")
        if reader != "read_csv" and self._has_several_files():
            options = {"union_by_name": True} | options  # else the first file decides on names and types
        if reader == "read_json":
            options = {"sample_size": -1} | options
        if reader == "read_csv":
            types = options.pop("types", {}) | dict.fromkeys(string, "VARCHAR")
            usual: dict[str, Any] = {"sample_size": -1, "files_to_sniff": -1, "skip": 0, "nullstr": ["", *na]}
            return reader, usual | options | ({"types": types} if types else {})
        if na or string:
            raise ValueError(f"{self._name} has gaps and types of its own; na and string are for CSV files")
        return reader, options

    def _has_several_files(self) -> bool:
        return len(self.paths) > 1 or len([*self._query(f"FROM glob({_quoted(self.paths[0])})")]) > 1

    def _source(self, reader: str = "", paths: Any = None, **options: Any) -> str:
        """Return the table in SQL."""
        arguments = [f"{name}={_quoted(value)}" for name, value in (self._options | options).items()]
        return f"{reader or self._reader}({', '.join([_quoted(paths or self.paths), *arguments])})"

    def _types(self) -> dict[str, str]:
        """Return the type of each column, as DuckDB calls it."""
        try:
            types = {name: kind for name, kind, *_ in self._query(f"DESCRIBE FROM {self._source()}")}
        except ValueError as error:
            if self._reader == "read_csv" and "Error when sniffing" in str(error):  # from all rows, which differ
                [*self._query(f"SELECT count(*) FROM {self._source(sample_size=1)}")]  # names the line
            raise
        if self.target in types:
            if DATES.fullmatch(types[self.target]):
                raise ValueError(f"{self._name}: the target {shown(self.target)} is a date; choose another column")
            if len(types) == 1:
                raise ValueError(f"{self._name} has no column besides the target {shown(self.target)}")
            return types
        if self._reader == "read_csv" and len(types) == 1:  # rows of different lengths, or nothing at all
            (header,) = types
            delimiter = max(DELIMITERS, key=header.count)
            if delimiter in header:  # DuckDB names the line that has more or fewer cells than the first
                columns = dict.fromkeys(header.split(delimiter), "VARCHAR")
                source = self._source(auto_detect=False, header=True, delim=delimiter, columns=columns)
                [*self._query(f"SELECT count(*) FROM {source}")]
        listed = ", ".join([*types][:LISTED]) + (", ..." if len(types) > LISTED else "")
        sizes = [os.path.getsize(path) for path in self.paths if os.path.exists(path)]
        if sizes and not any(sizes):
            raise ValueError(f"{self._name} is empty")
        raise ValueError(f"{self._name} has no column {shown(self.target)}; its columns are {listed}")

    def _query(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, in the order of the file; errors are DuckDB's, without our query."""
        import duckdb  # here, so that a table can be copied and pickled

        try:
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone='UTC'")
                connection.execute("SET enable_progress_bar=false")
                found = connection.execute(sql)
                while rows := found.fetchmany(1000):
                    yield from rows
        except duckdb.Error as error:
            text = re.split(r"\n\nLINE \d|\n\n +file = ", str(error))[0]
            raise ValueError(f"{self._name}: {text}") from None

    # Checks -----------------------------------------------------------------------------------------------------------

    def _described(self) -> dict[str, Any]:
        """Return what River's data sets say of themselves: the task, and how many samples and classes there are."""
        y, source = self._label, self._source()
        fraction = f"bool_or({y} % 1 <> 0)" if self._numeric else "false"
        ((n, n_labels, fractions),) = self._query(f"SELECT count({y}), count(DISTINCT {y}), {fraction} FROM {source}")
        if not n:
            raise ValueError(f"{self._name}: the target {shown(self.target)} is missing in every row")
        if self._numeric and (n_labels > MAX_LABELS or fractions):
            return {"task": base.REG, "n_samples": n}
        return {"task": base.BINARY_CLF if n_labels <= 2 else base.MULTI_CLF, "n_samples": n, "n_classes": n_labels}

    def _check_texts(self, names: list[str]) -> None:
        """Raise if most cells of a column of text, but not all, are numbers or dates."""
        if not names:
            return
        tests = ["{0}", *CASTS.values()]
        counts = ", ".join(f"count({test.replace('{0}', _column(name))})" for name in names for test in tests)
        (found,) = self._query(f"SELECT {counts} FROM {self._source()}")
        for i, name in enumerate(names):
            n, *agreeing = found[i * len(tests) : (i + 1) * len(tests)]
            for what, count in zip(CASTS, agreeing, strict=True):
                if 0 < AGREEING * n <= count:
                    raise ValueError(self._mixed(name, what, n - count))

    def _mixed(self, name: str, what: str, others: int) -> str:
        """Describe a column of numbers or dates in which some cells are neither, with a remedy."""
        where = f"{self._name}: column {shown(name)} has {what}"
        cell, cast = _column(name), CASTS[what].replace("{0}", _column(name))
        if not others:
            remedy = {
                "numbers": f"types={ {name: 'DOUBLE'} }",
                "dates": "their format, such as timestampformat='%d.%m.%Y %H:%M'",
                "numbers with commas": "decimal_separator=','",
            }[what]
            return f"{where}: give {remedy}, or string=[{name!r}]"
        texts = [
            *self._query(
                f"SELECT text, count(*) AS n, min(row) FROM (SELECT {cell} AS text, row_number() OVER () AS row, "
                f"{cast} AS found FROM {self._source()}) WHERE text IS NOT NULL AND found IS NULL "
                f"GROUP BY text ORDER BY n DESC, min(row)"
            )
        ]
        first = min(row for *_, row in texts)
        place = f"row {first:,}"
        if not self._has_several_files():
            ((header,),) = self._query(f"SELECT HasHeader FROM {self._source('sniff_csv', self.paths[0])}")
            place = f"line {first + header + self._options['skip']:,}"
        listed = ", ".join(f"{text!r} ({n:,} times)" for text, n, _ in texts[:LISTED])
        more = f" and {len(texts) - LISTED:,} more" if len(texts) > LISTED else ""
        return (
            f"{where}, except for {listed}{more}, first in {place}: give na={[text for text, *_ in texts[:LISTED]]} if "
            f"they are gaps, or string=[{name!r}] if all are strings"
        )


def _column(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _cell(name: str, kind: str) -> str:
    """Return the value of a column in SQL: a number, a date or a text."""
    if NUMBERS.fullmatch(kind):
        return f"nullif(CAST({_column(name)} AS DOUBLE), 'nan'::DOUBLE)"
    if kind == "JSON":
        return f"{_column(name)} ->> '$'"  # without quotes
    return _column(name) if DATES.fullmatch(kind) else f"CAST({_column(name)} AS VARCHAR)"


def _quoted(value: Any) -> str:
    """Return a value as a literal of SQL."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(key)}: {_quoted(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_quoted, value))}]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value).lower()


def _plain(y: Any) -> Any:
    """Return a label: a whole number as an integer."""
    return int(y) if isinstance(y, float) else y
