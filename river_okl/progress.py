"""The progress of a long run, on stderr."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """A bar on stderr where that is a terminal: rich's, or a line of text."""

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
