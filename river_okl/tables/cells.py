"""Cells of a CSV file as values: numbers, dates, strings, and missing values in all their usual spellings."""

from __future__ import annotations

import datetime
import functools
import math
import re
from collections.abc import Callable
from typing import Any

from river_okl._core.store.sample import shown
from river_okl.series import parsed

NUMBERS, STRINGS = "numbers", "strings"
DATES, DAY_FIRST, MONTH_FIRST = "dates", "dates, day first", "dates, month first"
KINDS = NUMBERS, STRINGS, DATES, DAY_FIRST, MONTH_FIRST

# Missing values, in lower case: empty cells, and what pandas, Excel, databases and old compilers write for them.
_GAPS = (
    r"na nan ? <na> nat #na #n/a \n -nan +nan nan(ind) -nan(ind) 1.#qnan -1.#qnan 1.#ind -1.#ind "
    "#div/0! #value! #ref! #name? #num! #null!"
)
GAPS = frozenset(["", "#n/a n/a", *_GAPS.split()])
# Missing values in columns of numbers and dates; strings in columns of strings, except GAPS.
GAPS_AMONG_NUMBERS = GAPS | {"-", "--", ".", "n/a", "n.a.", "n.a", "none", "null", "(null)", "nil"}

# Thousands may be separated by commas (points, if the decimal mark is a comma), apostrophes or several kinds of blanks.
GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}([, '\u2019\u00a0\u202f])\d{3}(\1\d{3})*(\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}([. '\u2019\u00a0\u202f])\d{3}(\1\d{3})*(,\d*)?"),
}
MINUSES = "\u2212", "\u2013"


# Cells ------------------------------------------------------------------------------------------------------------


class Cells:
    """Reads cells; ``na`` are strings that mean a missing value besides the usual ones."""

    def __init__(self, na: tuple[str, ...] = (), decimal: str = "."):
        self.decimal = decimal
        self.separators = frozenset(" '\u2019\u00a0\u202f" + ("." if decimal == "," else ","))  # of thousands
        texts = {text.strip().lower() for text in na}
        self.gaps = GAPS | texts
        self.gaps_among_numbers = GAPS_AMONG_NUMBERS | texts
        self.gap_numbers = {value for text in texts if (value := self.plain_number(text)) is not None}

    def is_missing(self, text: str) -> bool:
        """Return whether a cell is a missing value in any column."""
        return text.strip().lower() in self.gaps

    def is_gap(self, text: str) -> bool:
        """Return whether a cell is a missing value in a column of numbers or dates."""
        return text.strip().lower() in self.gaps_among_numbers

    def plain_number(self, text: str) -> float | None:
        """Return the number in a text, possibly grouped in thousands, or None if it is not a number."""
        try:
            if self.decimal == ".":
                return float(text) if "_" not in text else None
            if "." not in text:
                return float(text.replace(",", ".")) if "_" not in text else None
        except ValueError:
            pass
        text = text.strip()
        if text[:1] in MINUSES:
            return self.plain_number(f"-{text[1:]}")
        found = GROUPED[self.decimal].fullmatch(text)
        return float(text.replace(found[1], "").replace(",", ".")) if found else None

    def number(self, text: str) -> float | None:
        """Return the number in a cell, or None if it is missing; raise ValueError for other texts."""
        value = self.plain_number(text)
        if value is None or value != value:
            if self.is_gap(text):
                return None
            raise ValueError(f"{shown(text)} is not a number")
        if value in self.gap_numbers:
            return None
        if not math.isfinite(value):
            raise ValueError(f"{shown(text)} is not finite")
        return value

    def string(self, text: str) -> str | None:
        """Return the string in a cell, or None if it is missing."""
        return None if self.is_missing(text) else text.strip()

    def date(self, text: str, day_first: bool) -> datetime.date | None:
        """Return the date in a cell, or None if it is missing; raise ValueError for other texts."""
        found = read_date(text, day_first)
        if found is None and not self.is_gap(text):
            raise ValueError(f"{shown(text)} is not a date")
        return found

    def clear_date(self, text: str) -> datetime.date | None:
        """Return the date as ``date`` does, but raise ValueError if it may have the day or the month first."""
        found = self.date(text, True)
        if found != read_date(text, False):
            raise ValueError(f"{shown(text)} may have the day or the month first, unlike the dates known so far")
        return found

    def reader(self, kind: str) -> Callable[[str], Any]:
        """Return the function that reads the cells of a column: None if missing, ValueError for another kind."""
        if kind == NUMBERS:
            return self.number
        if kind == STRINGS:
            return self.string
        return self.clear_date if kind == DATES else functools.partial(self.date, day_first=kind == DAY_FIRST)


_NAMES = "january february march april may june july august september october november december"
MONTHS = {name[:n]: month for month, name in enumerate(_NAMES.split(), start=1) for n in (3, 4, len(name))}
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
TIME = (
    r"(?:(?:t| |, ?)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?P<zone>z|utc|gmt|[+-]\d\d(?::?\d\d)?))?)?"
)
FORMATS = [
    re.compile(WEEKDAY + pattern + TIME, re.ASCII)
    for pattern in (
        r"(?P<first>\d{1,2})(?P<mark>[/.-])(?P<then>\d{1,2})(?P=mark)(?P<year>\d{4})",
        r"(?P<first>\d{1,2})(?P<mark>/)(?P<then>\d{1,2})/(?P<year>\d\d)",
        r"(?P<first>\d\d)(?P<mark>\.)(?P<then>\d\d)\.(?P<year>\d\d)",  # 1.2.24 may be a version
        r"(?P<year>\d{4})(?P<mark>[/.-])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ -](?P<name>[a-z]{3,9})\.?(?: |-|, ?)(?P<year>\d{4}|\d\d)",
        r"(?P<name>[a-z]{3,9})\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})",
        r"(?P<name>[a-z]{3,9})[ -](?P<year>(?:19|20)\d\d)",
        r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)",
    )
]


def read_date(text: str, day_first: bool) -> datetime.date | None:
    """Return the date in a text, in ISO or another usual format, such as 4/6/2013 or 26 October 2012, or None."""
    text = text.strip()
    if len(text) < 6 or len(text) > 50:
        return None
    if (iso := parsed(text)) is not None:
        return iso
    text = text.lower()
    found = next((match for form in FORMATS if (match := form.fullmatch(text))), None)
    return None if found is None else _date(found.groupdict(), day_first)


def _date(parts: dict[str, str], day_first: bool) -> datetime.date | None:
    """Return the date of the parts of a text, or None if there is no such day."""
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000 if year < 69 else 1900
    if "first" in parts:
        day_first = day_first or parts["mark"] == "."  # nobody writes the month first with points
        day, month = (parts["first"], parts["then"]) if day_first else (parts["then"], parts["first"])
    else:
        day, month = parts.get("day", "1"), parts.get("month") or str(MONTHS.get(parts["name"], 0))
    try:
        date = datetime.date(year, int(month), int(day))
        if parts["hour"] is None:
            return date
        hour = int(parts["hour"])
        if parts["half"]:
            hour = hour % 12 + 12 * (parts["half"] == "p") if 1 <= hour <= 12 else 99
        fraction = int((parts["fraction"] or "0").ljust(6, "0")[:6])
        time = datetime.time(hour, int(parts["minute"]), int(parts["second"] or 0), fraction, _zone(parts["zone"]))
        return datetime.datetime.combine(date, time)
    except ValueError:
        return None


def _zone(text: str | None) -> datetime.tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return datetime.UTC
    return datetime.time.fromisoformat(f"00:00{text}").tzinfo
