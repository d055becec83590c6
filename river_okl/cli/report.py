"""The results of a race as a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from river import utils
from river.metrics.base import RegressionMetric

from river_okl.cli.race import Contestant


def table(results: Sequence[Contestant]) -> str:
    """Return a table of the models from best to worst by the first metric."""
    header = ["model", *(type(metric).__name__ for metric in results[0].metrics), f"{_micro()}/sample"]
    header += ["support vectors", "memory"]
    rows = [
        [
            result.name,
            *map(_score, result.metrics),
            f"{result.microseconds:.1f}",
            "-" if result.support_vectors is None else f"{result.support_vectors:,}",
            utils.pretty.humanize_bytes(result.memory),
        ]
        for result in sorted(results, key=_rank)
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    return "\n".join(lines)


def _micro() -> str:
    """Return "µs", or "us" if the output cannot encode it."""
    try:
        "µ".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return "us"
    return "µs"


def _score(metric: Any) -> str:
    shown = repr(metric).partition(": ")[2]
    return shown if shown.endswith("%") and not isinstance(metric, RegressionMetric) else f"{metric.get():.4g}"


def _rank(result: Contestant) -> float:
    metric = result.metrics[0]
    found = float(-metric.get() if metric.bigger_is_better else metric.get())
    return math.inf if math.isnan(found) else found
