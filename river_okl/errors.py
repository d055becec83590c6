"""Errors in what a user wrote (names, options, files), in one line, and the names that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(ValueError):
    """An error in what the user wrote, in one line; the command prints it without a traceback."""


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?", or "" if no name is close."""
    spelled: dict[str, str] = {}
    for candidate in known:
        if "." in name or "." not in candidate:
            spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""


def kind_of(thing: object) -> str:
    """The class of a thing, or a class, with its article: "an int", "a str"."""
    name = (thing if isinstance(thing, type) else type(thing)).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
