"""The notebooks of examples/notebooks/, made from pages and executed.

    python -m docs.notebooks    # needs nbclient, nbformat and ipykernel

What a page shows as output is left out: a cell has the output of its execution, in full precision.
"""

from __future__ import annotations

import doctest
import pathlib
import posixpath
import re
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "notebooks"
NAMES = "tutorial", "tutorial-alarms", "tutorial-regression", "explaining"  # on data that River brings
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
ORIGIN = "Made from [a page of the documentation](../../docs/{name}.md) by `python -m docs.notebooks`."


def cells(name: str) -> Iterator[tuple[str, str, str]]:
    """The type, the source and the expected output of every cell."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for i, part in enumerate(BLOCK.split(text)):
        if i % 2:
            yield from (("code", *cell) for cell in statements(part))
        elif prose := LINK.sub(relinked, COMMENT.sub("", part)).strip():
            yield "markdown", prose, ""
    yield "markdown", ORIGIN.format(name=name), ""


def statements(session: str) -> Iterator[tuple[str, str]]:
    """The code of a session, divided after each statement with an output, and that output."""
    source, end, after_def = "", 0, False
    for example in doctest.DocTestParser().get_examples(session):
        is_def = example.source.startswith("def ")
        if source and (is_def or after_def or example.lineno > end):
            source += "\n"
        source += example.source
        end, after_def = example.lineno + example.source.count("\n"), is_def
        if example.want:
            yield source.rstrip(), example.want
            source = ""
    if source:
        yield source.rstrip(), ""


def relinked(link: re.Match[str]) -> str:
    """A link of a page as it is from a notebook, to the other notebook if there is one."""
    stem, extension = posixpath.splitext(link[1])
    if extension == ".md" and stem in NAMES:
        return f"]({stem}.ipynb"
    return f"]({posixpath.normpath(posixpath.join('../../docs', link[1]))}"


def notebook(name: str) -> dict[str, Any]:
    """A notebook that has not been executed."""
    made = []
    for i, (kind, source, _) in enumerate(cells(name)):
        cell = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": source}
        made.append(cell | {"execution_count": None, "outputs": []} if kind == "code" else cell)
    return {"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def executed(made: dict[str, Any]) -> str:
    """The text of the file, without anything that another run would change, such as times."""
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.from_dict(made)
    place = {"metadata": {"path": str(ROOT)}}
    NotebookClient(found, resources=place, record_timing=False, coalesce_streams=True, timeout=600).execute()
    found.metadata = METADATA
    return f"{nbformat.writes(found)}\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.ipynb").write_text(executed(notebook(name)), encoding="utf-8")
