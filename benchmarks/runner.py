"""What every benchmark shares: results are kept by the content of what was measured, and tables have one writer.

A result is kept in a file of lines (JSON) under a key, the SHA-256 of what it depends on: for a class of river_okl its
source and that of all it imports here, for one of River's the version of River; and the samples, not their name.  What
changes a result changes its key, and an interrupted command goes on where it was.  Each line has the commit that it was
measured at.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import hashlib
import inspect
import json
import os
import pathlib
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import river
from river import base

import river_okl

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results"
CACHE = HERE / "cache"
PACKAGE = pathlib.Path(river_okl.__file__).parent

OURS = ("river_okl.", "benchmarks.")

Row = dict[str, Any]
Results = dict[tuple[str, str], Row]  # by stream and model


# What a result depends on ---------------------------------------------------------------------------


def digest(*parts: Any) -> str:
    """A short name for the content of texts, bytes and what JSON can say."""
    out = hashlib.sha256()
    for part in parts:
        out.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=repr).encode())
        out.update(b"\0")
    return out.hexdigest()[:20]


@functools.cache
def _imports(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """The files of the package that a file of it imports; of the compiled core, all."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    found: set[pathlib.Path] = set()
    for name in names:
        if name.startswith("river_okl._core"):
            core = list((PACKAGE / "_core").rglob("*"))
            found.update([p for p in core if p.suffix in (".pyx", ".pxd", ".h")] or [p for p in core if p.is_file()])
        elif name.startswith("river_okl."):
            module = PACKAGE.joinpath(*name.split(".")[1:])
            found.update(p for p in (module.with_suffix(".py"), module / "__init__.py") if p.is_file())
    return frozenset(found)


@functools.cache
def code(cls: type) -> str:
    """The content of a class: its source, that of its bases, and all they import from here; or River's version."""
    todo = {pathlib.Path(inspect.getsourcefile(c) or "") for c in cls.__mro__ if c.__module__.startswith(OURS)}
    known: set[pathlib.Path] = set()
    while todo:
        known.add(path := todo.pop())
        if path.suffix == ".py":
            todo |= _imports(path) - known
    return (
        digest(river.__version__, *(path.read_bytes() for path in sorted(known)))
        if known
        else f"river {river.__version__}"
    )


def content(part: Any) -> Any:
    """What a model is: of each part its class, the class's code, and its parameters."""
    if isinstance(part, dict):
        return {str(name): content(value) for name, value in part.items()}
    if hasattr(part, "steps"):  # a pipeline
        return [content(step) for step in part.steps.values()]
    if isinstance(part, base.Base):
        return [
            type(part).__qualname__,
            code(type(part)),
            {k: content(getattr(part, k, None)) for k in part._get_params()},
        ]
    return repr(part)


@functools.cache
def commit() -> str:
    """The commit of the working tree; with a plus where a source differs from it."""

    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=9", "HEAD") + ("+" if git("status", "--porcelain", "-uno", "--", "..") else "")
    except (OSError, subprocess.CalledProcessError):  # an unpacked source distribution
        return river_okl.__version__


# Models ---------------------------------------------------------------------------------------------


def ours(kind: type) -> Iterator[tuple[str, type]]:
    """The public classes of a kind, with their names."""
    for name in river_okl.__all__:
        cls = getattr(river_okl, name)
        if inspect.isclass(cls) and issubclass(cls, kind):
            yield name, cls


def made(cls: Any, **options: Any) -> Any:
    """A model with those of the options that its class knows."""
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in options.items() if name in known})


# What is known already ------------------------------------------------------------------------------


class Cache:
    """Results by key, in a file that grows by a line for each."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.rows: dict[str, Row] = {}
        if path.is_file():
            for line in path.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # the last line of an interrupted run
                    row = json.loads(line)
                    self.rows[row["key"]] = row

    def keep(self, key: str, **row: Any) -> Row:
        self.rows[key] = {"key": key, "commit": commit(), **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            cut = file.tell() and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"  # the line that was interrupted
            file.write(b"\n" * bool(cut) + json.dumps(self.rows[key]).encode() + b"\n")
        return self.rows[key]


class Store:
    """Results by stream and model, in a file of the repository: what takes hours is measured once.

    A line for each, in order, so that a change shows which were measured again; each has the key of what it depends on
    and the commit that it was measured at.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        self.rows: Results = {(row["stream"], row["model"]): row for row in (json.loads(line) for line in lines)}

    def current(self, stream: str, model: str, key: str, of: int, limit: float) -> bool:
        """Whether this was measured, as it is now, over all its samples or for as long as `limit` allows."""
        row = self.rows.get((stream, model), {})
        return row.get("key") == key and (row["rows"] == of or row["limit"] >= limit)

    def keep(self, stream: str, model: str, **row: Any) -> None:
        self.rows[stream, model] = {"stream": stream, "model": model, "commit": commit(), **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(self.rows[pair])}\n" for pair in sorted(self.rows))
        half = self.path.with_suffix(".part")
        half.write_text(text, encoding="utf-8")
        half.replace(self.path)  # an interrupted command loses nothing

    def complete(
        self, pairs: Iterable[tuple[str, str]], wanted: Sequence[str], key: Callable[[str, str], str]
    ) -> Results:
        """What is known of these pairs: of the wanted models as the code is now, of all others as it was measured.

        Refuse to go on without one of the former: what code has changed is unknown, and tables would lack its model.
        """
        pairs = list(pairs)
        lost = [
            f"{model} on {stream}"
            for stream, model in pairs
            if model in wanted and self.rows.get((stream, model), {}).get("key") != key(stream, model)
        ]
        if lost:
            raise SystemExit(f"not measured as the code is now: {', '.join(lost)}; measure them with --only cells")
        return {pair: self.rows[pair] for pair in pairs if pair in self.rows}


# Tables ---------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; all columns but the first are right-aligned, floats get three significant digits."""
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


# Curves by label, and what their axis is told.
Panel = tuple[Mapping[str, Sequence[Any]], dict[str, Any]]


def curves(path: pathlib.Path, panels: Sequence[Panel]) -> None:
    """A picture of panels side by side."""
    from matplotlib.figure import Figure  # which nothing else needs

    figure = Figure(figsize=(4.5 * len(panels), 4), layout="constrained")
    for axis, (lines, options) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for label, points in lines.items():
            axis.plot(*zip(*points, strict=True), marker="o" if len(points) < 20 else "", label=label)
        axis.set(**options)
        if len(lines) > 1:
            axis.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


class Report:
    """A Markdown file of sections; what is measured again replaces its own section alone."""

    def __init__(self, path: pathlib.Path, title: str, intro: str = ""):
        self.path, self.title, self.intro = path, title, intro
        self.sections: dict[str, str] = {}
        if path.exists():
            _, *sections = path.read_text().split("\n## ")
            for section in sections:
                heading, _, text = section.partition("\n")
                self.sections[heading] = text.strip()

    def write(self, heading: str, text: str) -> None:
        print(f"\n## {heading}\n\n{text}", flush=True)
        self.sections[heading] = text
        self.path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# {self.title}", self.intro, *(f"## {h}\n\n{t}" for h, t in sorted(self.sections.items()))]
        self.path.write_text("\n\n".join(filter(None, parts)) + "\n")


# The command line -----------------------------------------------------------------------------------


def parser(script: str, about: str) -> argparse.ArgumentParser:
    """With where a script writes, and where it keeps what is known."""
    out = argparse.ArgumentParser(f"python -m benchmarks.{script}", description=about)
    out.add_argument("--output", type=pathlib.Path, default=RESULTS)
    out.add_argument("--cache", type=pathlib.Path, default=CACHE)
    return out


def choice(
    to: argparse.ArgumentParser, option: str, names: Sequence[str], default: Sequence[str] | None = None
) -> None:
    """Some of these names; all of them, or the default, where it is not given."""
    to.add_argument(option, nargs="+", choices=names, default=default or names, metavar="NAME", help=", ".join(names))


def machine() -> str:
    """Where this was measured."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo") as file:
        model = next(line.split(":")[1].strip() for line in file if "model name" in line)
        return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, River {river.__version__}."
    return f"Python {platform.python_version()}, River {river.__version__}."
