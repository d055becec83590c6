"""The results of the command, as a table or JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from river import utils

from river_okl.cli.race import Contestant
from river_okl.files.stream import Stream

WIDE = 200  # characters per line, if the output is not a terminal


def table(results: list[Contestant], regression: bool, metrics: dict[str, Any]) -> str:
    """Return a table of the models from best to worst: with lines around the cells on a terminal, else plain text."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    usual = ["mean abs. error" if regression else "accuracy"]
    header = ["model", *(metrics or usual), f"{_micro()}/sample", "support vectors", "memory"]
    rows = [
        [
            result.name,
            *_scores(result, regression),
            f"{result.microseconds:.1f}",
            "-" if result.support_vectors is None else f"{result.support_vectors:,}",
            utils.pretty.humanize_bytes(result.memory),
        ]
        for result in sorted(results, key=_rank)
    ]
    width = shutil.get_terminal_size().columns if terminal else WIDE
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if sum(widths) + 3 * len(widths) + 1 > width:
        return "\n".join([", ".join(header[1:]), *(f"{name}\n  {'  '.join(cells)}" for name, *cells in rows)])
    return (_drawn(header, rows, width) if terminal else None) or _plain(header, rows, widths)


def _micro() -> str:
    """Return "µs", or "us" if the output cannot encode it."""
    try:
        "µ".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return "us"
    return "µs"


def _scores(result: Contestant, regression: bool) -> list[str]:
    if math.isnan(result.error) and not result.total.targets:
        return ["-"] * max(1, len(result.metrics))
    if result.metrics:
        return [repr(metric).partition(": ")[2] for metric in result.metrics]
    return [f"{result.error:.4g}" if regression else f"{1 - result.error:.2%}"]


def _rank(result: Contestant) -> float:
    found = result.error
    if result.metrics:
        first = result.metrics[0]
        found = float(-first.get() if first.bigger_is_better else first.get())
    return math.inf if math.isnan(found) else found


def _plain(header: list[str], rows: list[list[str]], widths: list[int]) -> str:
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        pairs = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in pairs).rstrip())
    return "\n".join(lines)


def _drawn(header: list[str], rows: list[list[str]], width: int) -> str | None:
    """Draw the table with rich; None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return None
    found = Table()
    for i, name in enumerate(header):
        found.add_column(name, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        found.add_row(*row)
    console = Console(width=width)
    with console.capture() as text:  # printing directly would exit on a closed pipe
        console.print(found)
    return text.get().rstrip("\n")


def as_json(
    stream: Stream, results: list[Contestant], regression: bool, complete: bool, metrics: dict[str, Any]
) -> str:
    """Return all results, with the curves, as JSON; numbers that JSON does not have are null."""
    return json.dumps(
        {
            "data": stream.name,
            "task": stream.task,
            "samples": results[0].samples if results else 0,
            "complete": complete,
            "models": [
                {
                    "model": result.name,
                    "mean_absolute_error" if regression else "error_rate": _number(result.error),
                    "microseconds_per_sample": round(result.microseconds, 2),
                    "support_vectors": result.support_vectors,
                    "memory_bytes": result.memory,
                    **({"metrics": _metrics(result, metrics)} if metrics else {}),
                    "curve": [
                        {name: _number(value) for name, value in dataclasses.asdict(point).items()}
                        for point in result.curve
                    ],
                }
                for result in results
            ],
        },
        indent=2,
        allow_nan=False,
    )


def _number(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def _metrics(result: Contestant, names: Iterable[str]) -> dict[str, float | None]:
    if not result.total.targets:
        return dict.fromkeys(names)
    return {name: _number(float(metric.get())) for name, metric in zip(names, result.metrics, strict=True)}
