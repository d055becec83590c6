"""Every measured figure of README and docs/ is in a table that its section or the page's introduction links.

A row of a table with a link of its own must have its figures there.  A figure is a number with a decimal point, or one
with a unit.  It is found in a table if a number there rounds to it.  Figures in code are doctests; those in sections
that docs/generated.py writes are copies of the tables.
"""

from __future__ import annotations

import functools
import inspect
import pathlib
import re

import pytest

import river_okl

HERE = pathlib.Path(__file__).parent.parent
PAGES = [HERE / "README.md", HERE / "benchmarks" / "README.md", *sorted((HERE / "docs").glob("*.md"))]
UNITS = r"(?:%|µs|ms|points|kB|KB|MB)"
FIGURE = re.compile(rf"(?<![\w.,^/-])(?:\d[\d,]*\.\d+(?:e-\d+)?|\d[\d,]*(?= ?{UNITS}(?!\w)))(?! ?(?:seconds|GB))")
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
CODE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)
GENERATED = re.compile(r"^<!-- (\w+) -->.*?^<!-- /\1 -->", re.M | re.S)
INLINE = re.compile(r"`[^`\n]*`|\$[^$\n]+\$|\]\([^)]*\)|https?://\S+")
LINK = re.compile(r"\]\(([^)#\s]+\.md)")

# Numbers that nothing measured, with the reason, by page.
GIVEN: dict[str, dict[str, str]] = {
    "docs/anomalies.md": dict.fromkeys(("3", "39.6", "51.7"), "measured elsewhere, as the page says"),
    "docs/classes.md": {"0.01": "a parameter", "2,048": "a parameter"},
    "docs/entities.md": {"0.16": "the mean absolute value of a normal variable, deviation 0.2"},
    "docs/explaining.md": {"99": "a level of intervals"},
    "docs/how-okl-works.md": {"0.03": "a constant"},
    "docs/late-labels.md": {
        **dict.fromkeys(("0.05", "1.2"), "a tolerance of tests/test_late.py"),
        "4": "a constant",
        "180": "1,024 stored predictions of 176 bytes",
        "210": "1,024 stored predictions of 208 bytes",
    },
    "docs/text.md": {"32": "a table of fixed size"},
    "docs/tutorial-alarms.md": {"98.9": "1 - 0.011", "98": "ten of 500"},
    "docs/tutorial-series.md": {
        "1.8": "the mean absolute value of a normal variable, variance 2² + 1²",
        "90": "the level of the intervals",
    },
}

# Sections whose figures come from commands, not from tables.
OF_COMMANDS = {"benchmarks/README.md": "## Where numbers differ, and why"}


def units(text):
    """The introduction and the sections of a page; rows of tables with a link of their own apart."""
    for part in re.split(r"\n(?=##+ )", text):
        rows = [line for line in part.splitlines() if line.startswith("|") and LINK.search(line)]
        yield "\n".join(line for line in part.splitlines() if line not in rows)
        yield from rows


def numbers(text):
    return {float(found.replace(",", "")) for found in NUMBER.findall(text)}


@functools.cache
def on_page(path):
    return numbers(path.read_text(encoding="utf-8")) if path.exists() else set()


def rounds_to(figure, percent, sources):
    """Whether a number of the sources is this figure, with as many digits; a share may be shown in percent."""
    digits, _, exponent = figure.replace(",", "").partition("e")
    value, half = float(figure.replace(",", "")), 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    slack = half * (1.0 + 1e-9)
    return any(
        abs(abs(number) * scale - value) <= slack
        for number in sources
        for scale in ((1.0, 100.0) if percent else (1.0,))
    )


MEASURED = "classes.md", "tvm.md"  # the tables that docstrings cite
OF_DOCSTRINGS = {"OKLClassifier": "32", "OKLRegressor": "32"}  # parameters and sizes


@pytest.mark.parametrize("name", [name for name in river_okl.__all__ if callable(getattr(river_okl, name))])
def test_figures_of_docstrings_are_in_the_tables(name):
    """Accuracies, errors and times; numbers without a unit are parameters."""
    measured = set().union(*(on_page(HERE / "benchmarks" / "results" / page) for page in MEASURED))
    prose = re.sub(r"(?ms)^ *>>>.*?(?=\n\s*\n|\Z)", "", inspect.getdoc(getattr(river_okl, name)))
    given, bare = OF_DOCSTRINGS.get(name, "").split(), INLINE.sub(" ", prose)
    for match in FIGURE.finditer(bare):
        after = bare[match.end() :]
        compared = re.match(rf"(?: against [\d.]+| and [\d.]+)* ?{UNITS}", after)
        if compared and match[0] not in given:
            assert rounds_to(match[0], after.lstrip().startswith("%"), measured), match[0]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(HERE).as_posix())
def test_figures_are_in_a_linked_table(path):
    text = path.read_text(encoding="utf-8")
    own = " ".join(body for _, body in CODE.findall(text)) + " ".join(found[0] for found in GENERATED.finditer(text))
    prose = GENERATED.sub("", CODE.sub("", text))
    introduction = prose.partition("\n## ")[0]
    name = path.relative_to(HERE).as_posix()
    given = GIVEN.get(name, {})
    lost = []  # figures without a table, each with its surroundings
    for part in units(prose):
        if part.startswith(OF_COMMANDS.get(name, "\0")):
            continue
        links = LINK.findall(part) + ([] if part.startswith("|") else LINK.findall(introduction))
        sources = numbers(own).union(*(on_page((path.parent / target).resolve()) for target in links))
        bare = INLINE.sub(" ", part)
        for match in FIGURE.finditer(bare):
            percent = bare[match.end() :].lstrip().startswith("%")
            if match[0] not in given and not rounds_to(match[0], percent, sources):
                lost.append((match[0], bare[max(0, match.start() - 60) : match.end() + 20].replace("\n", " ")))
    assert lost == []
