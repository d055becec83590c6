"""Progress on stderr, if that is a terminal: rich's bar, or a line of text."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Shows what is being done, from the start, and the number of samples done; ``total`` is None if unknown."""

    def __init__(self, what: str = "samples", total: int | None = None):
        self.what = what
        self.total = total
        self.done = 0
        self.shown = sys.stderr is not None and sys.stderr.isatty()
        self.bar: Any = None
        if self.shown:
            try:
                from rich import progress
                from rich.console import Console
            except ImportError:
                return
            columns = (
                progress.SpinnerColumn(),
                *progress.Progress.get_default_columns()[:3],
                progress.TimeElapsedColumn(),
            )
            self.bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(what, total=total)

    def __enter__(self) -> Progress:
        if self.bar:
            self.bar.start()
        else:
            self._line(f"{self.what} ...")
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar:
            self.bar.stop()
        else:
            self._line("")

    def __call__(self, n: int) -> None:
        self.done += n
        if self.bar:
            self.bar.update(self.task, advance=n)
        else:
            self._line(f"{self.what}: {self.done:,}" + (f" ({self.done / self.total:.0%})" if self.total else ""))

    def _line(self, text: str) -> None:
        if self.shown:
            print(f"\r{' ' * 60}\r{text}", end="", file=sys.stderr, flush=True)
