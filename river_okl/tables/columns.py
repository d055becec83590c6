"""Columns of a CSV file: the kind of each, and possible mistakes in it.

A column has numbers, or dates, only if all its cells do, except missing ones. If only a few cells differ, that is an
error: otherwise one bad cell would turn thousands of numbers into strings.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import Any

from river_okl._core.store.sample import shown
from river_okl.checks import UsageError
from river_okl.labels import MAX_LABELS as MAX_CLASSES
from river_okl.tables.cells import DATES, DAY_FIRST, MONTH_FIRST, NUMBERS, STRINGS, Cells, read_date

BINARY, MULTICLASS, REGRESSION = "binary classification", "multi-class classification", "regression"

MAX_LABELS = 20  # distinct numbers in the target column; more mean regression
MANY_LABELS = 1000  # a target with more is most likely an identifier
LISTED_LABELS = 10
FIRST_ROWS = 1000  # in which all cells of a column of identifiers differ
MAX_REMEMBERED = 1000  # cells whose type is cached
AGREEING = 0.8  # share of numbers (or dates) from which other cells in a column are errors
MIXED = 0.2  # share of numbers (or dates) from which a column of strings causes a warning

# Numbers that mean missing values in many files, if they lie far from all others.
SENTINELS = frozenset((-9.0, -32768.0, 1e20, *(sign * (10.0**n - 1.0) for n in range(2, 8) for sign in (-1, 1))))

# Numbers and dates in formats that are not read: units, clock times, accounting, hexadecimals, other dates.
UNREAD = re.compile(
    r"[+-]?[$€£¥] ?[+-]?\d[\d.,]*|[+-]?\d[\d.,]* ?[a-z$€£¥%°²³]{1,3}|\d{1,2}:\d\d(:\d\d)?"
    r"|\(\d[\d.,]*\)|\d[\d.,]*-|0x[\da-f]+"
    r"|\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b.*|\d{1,2}[ /.-]?[a-z]{3,9}[ /.-]?\d{2,4}\b.*",
    re.IGNORECASE,
)

# Columns ----------------------------------------------------------------------------------------------------------

Found = tuple[int, str]  # line and cell

# Kinds of cells. In a column of strings, soft gaps (such as "none"), numbers with another decimal mark, and what is not
# read (UNREAD) are strings, too.
GAP, SOFT, NUMBER, DATE, MARK, UNIT, OTHER = range(7)


class Column:
    """Infers the kind of a column from its cells, seen one after another."""

    def __init__(self, name: str, cells: Cells, *, day_first: bool = False, is_string: bool = False):
        self.name = name
        self.cells = cells
        self.other_mark = Cells(decimal="," if cells.decimal == "." else ".")
        self.day_first = day_first  # how to read ambiguous dates
        self.is_string = is_string
        self.counts = [0] * 7
        self.first: dict[int, Found] = {}  # the first cell of each kind
        self.of_order: dict[bool, Found] = {}  # the first date that has only this order
        self.ambiguous: Found | None = None  # the first date that may have either order
        self.infinite: Found | None = None
        self.grouped = 0  # numbers written as 1,234
        self.zero: Found | None = None  # the first number written as 01
        self.long: tuple[int, int] | None = None  # last line and number of lines of the first multi-line cell
        self.days = 0  # numbers that may be dates, such as 20240229
        self.low, self.high = math.inf, -math.inf  # of all numbers except these:
        self.sentinels: dict[float, int] = {}
        self.fraction: Found | None = None  # the first number with a fraction
        self.met: set[str] | None = set()  # the first cells; None if one has recurred
        self.rows = 0
        self.remembered: dict[str, int] = {}

    def see(self, line: int, cell: str) -> int:
        """Add a cell, and return its kind."""
        self.rows += 1
        if self.met is not None and len(self.met) < FIRST_ROWS:
            if cell in self.met:
                self.met = None
            else:
                self.met.add(cell)
        if self.long is None and "\n" in cell.strip():
            self.long = line, cell.count("\n") + 1
        code = self.remembered.get(cell)
        if code is None:
            code = self._code(line, cell)
        self.counts[code] += 1
        if code not in self.first:
            self.first[code] = line, cell
        return code

    def _code(self, line: int, cell: str) -> int:
        """Return the kind of a cell; that of strings, which often recur, is cached."""
        value = self.cells.plain_number(cell)
        if value is not None and value == value:
            return self._number(line, cell, value)
        if self.cells.is_gap(cell):
            code = GAP if self.cells.is_missing(cell) else SOFT
        else:
            code = self._date_or_string(line, cell)
        if len(self.remembered) < MAX_REMEMBERED:
            self.remembered[cell] = code
        return code

    def _number(self, line: int, cell: str, value: float) -> int:
        if value in self.cells.gap_numbers:
            return GAP
        if not math.isfinite(value):
            self.infinite = self.infinite or (line, cell)
        elif value in SENTINELS:
            self.sentinels[value] = self.sentinels.get(value, 0) + 1
        else:
            self.low, self.high = min(self.low, value), max(self.high, value)
        if self.fraction is None and not value.is_integer():
            self.fraction = line, cell
        if self.zero is None and cell[:1] == "0" and cell.isdecimal() and len(cell) > 1:
            self.zero = line, cell
        if 19000101.0 <= value <= 20991231.0 and 1 <= value % 100 <= 31 and 1 <= value // 100 % 100 <= 12:
            self.days += 1
        if not self.cells.separators.isdisjoint(cell.strip()):
            self.grouped += 1
        return NUMBER

    def _date_or_string(self, line: int, cell: str) -> int:
        orders = [order for order in (True, False) if read_date(cell, order) is not None]
        if not orders:
            if self.other_mark.plain_number(cell) is not None:
                return MARK
            return UNIT if UNREAD.fullmatch(cell.strip()) else OTHER
        if len(orders) == 1:
            self.of_order.setdefault(orders[0], (line, cell))
        elif self.ambiguous is None and read_date(cell, True) != read_date(cell, False):
            self.ambiguous = line, cell
        return DATE

    @property
    def known(self) -> int:
        """Number of cells that are not missing."""
        return sum(self.counts[NUMBER:])

    @property
    def is_number(self) -> bool:
        """Whether the column has only numbers, or no values."""
        if self.is_string or self.known > self.counts[NUMBER]:
            return False
        return self.counts[NUMBER] > 0 or not self.counts[SOFT]

    @property
    def kind(self) -> str:
        """The kind of the column: numbers, dates or strings."""
        if self.is_number:
            return NUMBERS
        if self.is_string or not 0 < self.counts[DATE] == self.known:
            return STRINGS
        if True in self.of_order:
            return DAY_FIRST
        if False in self.of_order:
            return MONTH_FIRST
        if self.ambiguous is None:
            return DATES
        return DAY_FIRST if self.day_first else MONTH_FIRST

    @property
    def missing(self) -> int:
        """Number of missing values."""
        return self.counts[GAP] + (0 if self.kind == STRINGS else self.counts[SOFT])

    @property
    def differs(self) -> bool:
        """Whether all cells differ, as identifiers do; False for numbers with fractions."""
        enough = self.met is not None and self.rows >= 50 and len(self.met) >= min(self.rows, FIRST_ROWS)
        return enough and not (self.is_number and self.fraction)

    def problem(self, what: str = "column") -> str | None:
        """Return why the column cannot be read as it is, with a remedy, or None."""
        if self.is_string:
            return None
        name, string = shown(self.name), option("--string", self.name)
        if self.is_number:
            if self.infinite:
                line, cell = self.infinite
                return f"line {line}: {shown(cell)} in {what} {name} is not finite"
            return None
        if self.counts[MARK] and self.counts[MARK] + self.counts[NUMBER] >= AGREEING * self.known:
            line, cell = self.first[MARK]
            mark, what_to_do = (
                ("points", "leave out --decimal") if self.cells.decimal == "," else ("commas", "--decimal ','")
            )
            return (
                f"the numbers in {what} {name} have decimal {mark} ({cell} in line {line}): {what_to_do}, or {string}"
            )
        for code, kind in ((NUMBER, "numbers"), (DATE, "dates")):
            rest = self.known - self.counts[code]
            if rest and self.counts[code] >= AGREEING * self.known:
                return f"{what} {name} has {kind}, except for {self._others(rest, code)}, or {string}"
        if len(self.of_order) == 2 and self.counts[DATE] == self.known:
            first, other = self.of_order[True], self.of_order[False]
            return (
                f"{what} {name} has dates with the day first ({first[1]} in line {first[0]}) and with the month "
                f"first ({other[1]} in line {other[0]}): {string}"
            )
        return None

    def _others(self, n: int, code: int) -> str:
        """Describe the n cells that are not of this kind, with a remedy."""
        line, cell = min(found for kind, found in self.first.items() if kind >= NUMBER and kind != code)
        more = "" if n == 1 else f" and {n - 1:,} more"
        return f"{shown(cell.strip())} in line {line}{more}: if it is a gap, {option('--na', cell)}"

    def warnings(self) -> list[str]:
        """List possible mistakes in a column that can be read."""
        name, found = shown(self.name), []
        if not self.kind.startswith(DATES) and self.differs and not isinstance(self, Target):
            found.append(f"column {name} differs in every row: if it is an identifier, --drop it")
        if self.long:
            line, n = self.long
            found.append(
                f"column {name} has a cell of {n} lines that ends in line {line}: a quotation mark may be unclosed"
            )
        if self.kind == NUMBERS:
            if self.zero:
                codes = f"if they are codes, {option('--string', self.name)}"
                found.append(f"column {name} has numbers such as {self.zero[1]}: {codes}")
            if self.days == self.counts[NUMBER] > 0:
                found.append(f"column {name} has numbers that look like dates without dashes, and are read as numbers")
            found += [
                f"column {name} is {value:g} in {n:,} rows, far from all other values: if that is a gap, --na {value:g}"
                for value, n in self.sentinels.items()
                if n >= max(3, 0.01 * self.rows) and self.low < math.inf and self._is_far(value)
            ]
        elif self.kind == STRINGS and not self.is_string and self.known:
            mixed = {"numbers": self.counts[NUMBER], "dates": self.counts[DATE]}
            found += [
                f"column {name} has {n:,} {what} and {self.known - n:,} other cells: all are read as strings"
                for what, n in mixed.items()
                if n >= MIXED * self.known
            ]
            if self.counts[UNIT] >= AGREEING * self.known:
                unit = shown(self.first[UNIT][1])
                found.append(f"column {name} has values such as {unit}, which are read as strings")
        elif self.kind == MONTH_FIRST and self.ambiguous and not self.of_order:
            date = read_date(self.ambiguous[1], False)
            found.append(f"in column {name} {self.ambiguous[1]} is read as {date:%d %B %Y}: if not, --day-first")
        return found

    def _is_far(self, value: float) -> bool:
        width = self.high - self.low
        return value < self.low - width or value > self.high + width


def option(name: str, text: str) -> str:
    """Return an option of the command and its value, quoted for a shell."""
    text = text.strip()
    return f"{name}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"


# The target -------------------------------------------------------------------------------------------------------


class Target(Column):
    """The target column; its values determine the task if it is not given."""

    def __init__(self, name: str, cells: Cells, task: str | None = None, *, is_string: bool = False):
        super().__init__(name, cells, is_string=is_string)
        self.task = task
        self.values: dict[str, None] = {}  # in order, bounded in number
        self.soft: dict[str, None] = {}  # soft gaps

    def see(self, line: int, cell: str) -> int:
        cell = cell.strip()
        code = super().see(line, cell)
        if code in (GAP, SOFT):
            if not self.cells.is_missing(cell) and len(self.soft) < LISTED_LABELS:
                self.soft[cell] = None
        elif len(self.values) <= (MANY_LABELS if self.task is None else MAX_CLASSES):
            self.values[cell] = None
        return code

    @property
    def missing(self) -> int:
        """Number of rows without a target; soft gaps are labels unless the target is a number."""
        return self.counts[GAP] + (self.counts[SOFT] if self.is_number else 0)

    def infer(self, where: str) -> tuple[str, tuple[Any, ...]]:
        """Return the task and, for classification, the labels in order; errors begin with ``where``."""
        name = f"{where}: the target {shown(self.name)}"
        values = self.values if self.is_number else self.values | self.soft
        if not values:
            raise UsageError(f"{name} is missing in every row: choose another --target")
        if self.task == "regression" and self.is_string:
            raise UsageError(f"{name} holds strings: leave out {option('--string', self.name)} or --task regression")
        if self.task == "regression" and not self.is_number:
            others = [found for kind, found in self.first.items() if kind >= DATE]
            line, cell = min(others, default=self.first.get(SOFT, (0, "")))
            raise UsageError(
                f"{name} is {shown(cell)} in line {line}: a regression needs numbers; if that is a gap, "
                f"{option('--na', cell)}"
            )
        if self.task == "classification" and self.is_number and self.fraction:
            line, text = self.fraction
            raise UsageError(f"{name} is {text} in line {line}, a number with a fraction: use --task regression")
        if (self.task is None or self.is_number) and (problem := self.problem("the target")):
            raise UsageError(f"{where}{', ' if self.is_number else ': '}{problem}")
        if self.task is None and self.kind.startswith(DATES):
            raise UsageError(f"{name} is a date: choose another --target, or {option('--string', self.name)}")
        known: list[Any] = sorted(values)
        if self.is_number:
            numbers = sorted({self.cells.number(text) or 0.0 for text in values})
            many = self.task is None and len(numbers) > MAX_LABELS
            if self.task == "regression" or self.fraction or many:
                return REGRESSION, ()
            if max(abs(numbers[0]), abs(numbers[-1])) >= 2.0**53:
                raise UsageError(f"{name} has integers of more than 15 digits: {option('--string', self.name)}")
            known = [int(number) for number in numbers]
        if len(known) == 1:
            raise UsageError(f"{name} is {next(iter(values))} in every row: there is nothing to learn")
        return (BINARY if len(known) == 2 else MULTICLASS), tuple(known)

    def warnings(self) -> list[str]:
        found = super().warnings()
        if not self.is_number:
            found += [
                f"the target {shown(self.name)} has the label {shown(text)}: if that is a gap, {option('--na', text)}"
                for text in self.soft
            ]
            lower: dict[str, str] = {}
            found += [
                f"the labels {shown(other)} and {shown(text)} of the target {shown(self.name)} differ in case only"
                for text in self.values
                if (other := lower.setdefault(text.lower(), text)) != text
            ]
        return found
