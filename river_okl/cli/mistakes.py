"""What a user of the command got wrong, and what was perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Mistake(Exception):
    """What a user got wrong, in one line."""


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?", or nothing where nothing is near."""
    spelled: dict[str, str] = {}
    for candidate in known:
        if "." in name or "." not in candidate:
            spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""
