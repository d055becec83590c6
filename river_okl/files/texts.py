"""Columns of text: which have numbers or dates, and errors for a few bad cells among them.

A column of text of a CSV file becomes numeric if all of its cells are numbers, perhaps with blanks or plus signs;
numbers with leading zeros are codes and stay strings.  If most cells are numbers or dates, but not all, that is an
error, because a single bad cell would turn thousands of numbers into strings.
"""

from __future__ import annotations

import numpy as np

from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.files.models import DATE_TEXT, NUMBER, STRING
from river_okl.files.query import Table, column, quoted
from river_okl.files.stream import option

AGREEING = 0.8  # share of numbers (or dates) from which other cells in a column are errors
AT_ONCE = 50  # columns in a query: DuckDB's time is quadratic in their number
NUMBER_TEXT = r"\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"  # not a code such as 007
LOCAL_DATE = r"\s*[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})( +[0-9]{1,2}:.*)?\s*"  # the day or month first
DAYS = [form.replace("/", mark) for mark in "./-" for form in ("%d/%m/%y", "%m/%d/%y", "%d/%m/%Y", "%m/%d/%Y")]
TIMES = "", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"
FORMATS = [day + time for day in DAYS for time in TIMES]
CASTS = {  # what most cells of a column of text may be
    "numbers": "try_cast({0} AS DOUBLE)",
    "dates": "try_cast({0} AS TIMESTAMP)",
    "numbers with commas": "try_cast(replace(nullif({0}, replace({0}, ',', '')), ',', '.') AS DOUBLE)",
}


def matches(pattern: str, text: str = "{0}") -> str:
    """Return SQL that is NULL unless a text matches a pattern."""
    return f"nullif(regexp_full_match({text}, {quoted(pattern)}), false)"


def types_of_texts(table: Table, kinds: dict[str, str]) -> dict[str, str]:
    """Return types of columns of text: numbers or dates if all cells are.  An error names a column if most are.

    ``kinds`` has their types as DuckDB inferred them, among them dates that it has read without a format.
    """
    types, names, tests = {}, [*kinds], _tests(table)
    for i in range(0, len(names), AT_ONCE):
        for name, count in _counts(table, names[i : i + AT_ONCE], tests).items():
            types[name] = _type(table, name, "TIMESTAMP" if kinds[name] == STRING else kinds[name], tests, count)
    return types


def _tests(table: Table) -> dict[str, str]:
    """Return expressions of SQL that are NULL unless a cell, {0}, is of a kind."""
    mark = quoted(table.options.get("decimal_separator", "."))
    own = [table.options[name] for name in ("dateformat", "timestampformat") if name in table.options]
    return {
        "values": "{0}",
        "plain numbers": matches(NUMBER_TEXT, f"replace({{0}}, {mark}, '.')"),
        "dates as texts": matches(DATE_TEXT),
        "local dates": matches(LOCAL_DATE),
        "dates in this format": f"try_strptime({{0}}, {quoted(own)})" if own else "NULL",
        **CASTS,
    }


def _counts(table: Table, names: list[str], tests: dict[str, str]) -> dict[str, dict[str, int]]:
    """Return how many cells of each column pass each test."""
    cells = ", ".join(f"count({test.replace('{0}', column(name))})" for name in names for test in tests.values())
    (found,) = table.query(table.select(cells, dict.fromkeys(names, STRING)))
    rows = np.reshape(found, (-1, len(tests))).tolist()
    return {name: dict(zip(tests, row, strict=True)) for name, row in zip(names, rows, strict=True)}


def _type(table: Table, name: str, date: str, tests: dict[str, str], count: dict[str, int]) -> str:
    """Return the type of a column, given how many of its cells pass each test; ``date``: the type if it has dates."""
    n, is_csv, where = count["values"], table.reader == "read_csv", f"{table.source.name}, column {shown(name)} has"
    if is_csv and 0 < n == count["plain numbers"]:
        return NUMBER
    if is_csv and 0 < n == count["dates as texts"] and not table.has_format(date):
        return date
    if is_csv and 0 < AGREEING * n <= count["dates in this format"] < n:
        in_format = "dates in this format"
        raise UsageError(f"{where} dates{_advice(table, name, 'dates', tests[in_format], n - count[in_format])}")
    if is_csv and 0 < AGREEING * n <= count["local dates"] and (advice := _format(table, name)):
        raise UsageError(f"{where} dates{advice}")
    for what, cast in CASTS.items():
        if 0 < AGREEING * n <= count[what] and (count[what] < n or "commas" in what):
            raise UsageError(f"{where} {what}{_advice(table, name, what, cast, n - count[what])}")
    return STRING


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
