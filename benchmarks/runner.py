"""Shared by all benchmarks: results cached by content, tables, the command line.

A result is stored in a file of JSON lines under a key, the SHA-256 of everything it depends on: the source of a
river_okl class and its imports here, or River's version; and the samples, not their name.  So an interrupted command
resumes, and changed code is measured again.  Each line has the commit at which it was measured.
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
    """A short hash of strings, bytes and JSON values."""
    out = hashlib.sha256()
    for part in parts:
        out.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=repr).encode())
        out.update(b"\0")
    return out.hexdigest()[:20]


@functools.cache
def _imports(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """The files of the package imported by one of its files; for the compiled core, all of its files."""
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
    """A hash of a class: its source, its bases', and their imports from this package; or River's version."""
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
    """The content of a model: class, code and parameters of each part; of a function, its source."""
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
    return inspect.getsource(part) if inspect.isfunction(part) else repr(part)


@functools.cache
def commit() -> str:
    """The last commit that changed a source, with a plus if one differs from it now.

    Later commits, of pages or results, measure the same.
    """
    sources = "../river_okl", "../setup.py", "../pyproject.toml", "*.py", "*.c"

    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "-uno", "--", *sources)
        return git("log", "-1", "--abbrev=9", "--format=%h", "--", *sources) + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):  # an unpacked source distribution
        return river_okl.__version__


def here() -> Row:
    """What a result says of where it was measured."""
    return {"commit": commit(), "machine": machine()}


def place(row: Row) -> str:
    """Where a result was measured; the oldest results do not name their machine."""
    return ", ".join(row[name].removesuffix(".") for name in ("commit", "machine") if name in row)


def measured_at(found: Results) -> str:
    """The commits and machines of these results, each with its models: the last line under a table."""
    models: dict[str, list[str]] = {}
    for (_, model), row in found.items():
        if "commit" not in row:  # published elsewhere
            continue
        at = models.setdefault(place(row), [])
        if model not in at:
            at.append(model)
    if len(models) == 1:
        return f"Measured at {next(iter(models))}."
    each = [f"{at} ({', '.join(those)})" for at, those in sorted(models.items())]
    return f"Measured at {'; '.join(each)}."


# Models ---------------------------------------------------------------------------------------------


def ours(kind: type) -> Iterator[tuple[str, type]]:
    """The public classes of a kind, with their names."""
    for name in river_okl.__all__:
        cls = getattr(river_okl, name)
        if inspect.isclass(cls) and issubclass(cls, kind):
            yield name, cls


def made(cls: Any, **options: Any) -> Any:
    """A model with those options that its class accepts."""
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in options.items() if name in known})


# Cached results -------------------------------------------------------------------------------------


class Cache:
    """Results by key, in a file with one line each."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.rows: dict[str, Row] = {}
        if path.is_file():
            for line in path.read_text().splitlines():
                with contextlib.suppress(json.JSONDecodeError):  # the last line of an interrupted run
                    row = json.loads(line)
                    self.rows[row["key"]] = row

    def keep(self, key: str, **row: Any) -> Row:
        self.rows[key] = {"key": key, **here(), **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            cut = file.tell() and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"  # end an interrupted line
            file.write(b"\n" * bool(cut) + json.dumps(self.rows[key]).encode() + b"\n")
        return self.rows[key]


class Store:
    """Results by stream and model, in a file of the repository, as some take hours.

    One line each, in a fixed order, so that diffs show what was measured again; each has its key and the commit at
    which it was measured.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        self.rows: Results = {(row["stream"], row["model"]): row for row in (json.loads(line) for line in lines)}

    def current(self, stream: str, model: str, key: str, of: int, limit: float) -> bool:
        """Whether this was measured with the current code, completely or up to `limit`."""
        row = self.rows.get((stream, model), {})
        return row.get("key") == key and (row["rows"] == of or row["limit"] >= limit)

    def keep(self, stream: str, model: str, **row: Any) -> None:
        self.rows[stream, model] = {"stream": stream, "model": model, **here(), **row}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(self.rows[pair])}\n" for pair in sorted(self.rows))
        half = self.path.with_suffix(".part")
        half.write_text(text, encoding="utf-8")
        half.replace(self.path)  # an interrupted command loses nothing

    def fill(
        self,
        pairs: Iterable[tuple[str, str]],
        limit: float,
        key: Callable[[str, str], str],
        samples: Callable[[str, str], Sequence[Any]],
        run: Callable[[str, str, float], Row],
    ) -> None:
        """Run the pairs that were not measured with the current code; a model that fails has a cell, too."""
        for stream, model in pairs:
            k, of = key(stream, model), len(samples(stream, model))
            if self.current(stream, model, k, of, limit):
                continue
            try:
                found = run(stream, model, limit)
            except Exception as error:
                found = {"rows": 0, "seconds": 0.0, "failed": repr(error)}
            self.keep(stream, model, key=k, of=of, limit=limit, **found)
            print(f"{model} on {stream}: {found}", flush=True)

    def complete(
        self, pairs: Iterable[tuple[str, str]], wanted: Sequence[str], key: Callable[[str, str], str]
    ) -> Results:
        """The results of these pairs: for the wanted models of the current code, for others as measured.

        Exit if one of the former is missing, as tables would lack its model.
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
    """A Markdown table; all columns except the first are right-aligned, floats have three significant digits."""
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


# Curves by label, and the options of their axis.
Panel = tuple[Mapping[str, Sequence[Any]], dict[str, Any]]


def curves(path: pathlib.Path, panels: Sequence[Panel]) -> None:
    """A picture of panels side by side."""
    from matplotlib.figure import Figure  # needed only here

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
    """A Markdown file of sections, each replaced separately."""

    def __init__(self, path: pathlib.Path, title: str, intro: str = ""):
        self.path, self.title, self.intro = path, title, intro
        self.sections: dict[str, str] = {}
        if path.exists():
            _, *sections = path.read_text().split("\n## ")
            for section in sections:
                heading, _, text = section.partition("\n")
                self.sections[heading] = text.strip()

    @classmethod
    def of(cls, script: str | None, path: pathlib.Path) -> Report:
        """With the docstring of the script: its first line is the title, the rest introduces the tables."""
        title, _, intro = (script or "").partition("\n\n")
        return cls(path, title, intro.strip())

    def write(self, heading: str, text: str) -> None:
        print(f"\n## {heading}\n\n{text}", flush=True)
        self.sections[heading] = text
        self.path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# {self.title}", self.intro, *(f"## {h}\n\n{t}" for h, t in sorted(self.sections.items()))]
        self.path.write_text("\n\n".join(filter(None, parts)) + "\n")


# The command line -----------------------------------------------------------------------------------


def parser(script: str, about: str) -> argparse.ArgumentParser:
    """A parser with options for the output and the cache."""
    out = argparse.ArgumentParser(f"python -m benchmarks.{script}", description=about)
    out.add_argument("--output", type=pathlib.Path, default=RESULTS)
    out.add_argument("--cache", type=pathlib.Path, default=CACHE)
    return out


def choice(
    to: argparse.ArgumentParser, option: str, names: Sequence[str], default: Sequence[str] | None = None
) -> None:
    """An option for some of these names; all of them, or the default, if it is not given."""
    shown = ", ".join(names).replace("%", "%%")
    to.add_argument(option, nargs="+", choices=names, default=default or names, metavar="NAME", help=shown)


@functools.cache
def machine() -> str:
    """The machine of the measurement."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo") as file:
        model = next(line.split(":")[1].strip() for line in file if "model name" in line)
        return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, River {river.__version__}."
    return f"Python {platform.python_version()}, River {river.__version__}."
