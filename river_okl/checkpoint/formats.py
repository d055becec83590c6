"""Documents of earlier formats, brought up to date one format after another; files of all of them stay readable.

A format changes where documents are written otherwise.  What one class has changed in its own state is upgraded by the
class: see the head of models.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]

KERNEL = ("seen", "next_update", "sum_squares", "sum_distances", "mean_square", "mean_distance")
CALIBRATION = ("slope", "curvature", "mean_square", "seen")
GRAM = ("gram", "inverse", "steps", "fragile")


def up_to_date(document: Document, version: int) -> Document:
    """A document of the present format."""
    for step in STEPS[version - 1 :]:
        document = step(document)
    return document


def _from_1(document: Document) -> Document:
    """Format 1 took compiled objects apart by position, and listed parameters among the attributes."""
    parameters = document["parameters"]
    state = {
        name: _attribute_1(value)
        for name, value in document["attributes"]
        if name not in parameters and value != {"built": None}
    }
    if "_targets" in state:  # labels were two attributes, with a guess at what was to come
        seen = [name for name, _ in state.pop("_targets")["dict"]]
        names = state["_labels"] if len(seen) > 1 else {"list": seen}
        state["_labels"] = {"part": {"state": {"names": names}}}
    model = {
        "class": f"river_okl.{document['class']}",
        "parameters": {name: _value_1(value) for name, value in parameters.items()},
        "state": state,
    }
    return {"river_okl": document["river_okl"], "model": {"object": model}, "arrays": document["arrays"]}


def _value_1(value: Any) -> Any:
    if type(value) is not dict:
        return value
    ((kind, content),) = value.items()
    if kind == "object":
        name, positional, named = content
        return {
            "object": {
                "class": name,
                "positional": [_value_1(item) for item in positional],
                "parameters": {key: _value_1(item) for key, item in named.items()},
            }
        }
    return {kind: [_value_1(item) for item in content]} if kind in ("list", "tuple") else value


def _attribute_1(value: Any) -> Any:
    if type(value) is not dict:
        return value
    ((kind, content),) = value.items()
    if kind == "attributes":
        return {"part": {"state": {name: _attribute_1(item) for name, item in content}}}
    if kind == "state":
        return {"part": {"state": dict(zip(CALIBRATION, content, strict=True))}}
    if kind == "expansion":
        previous, gram = content["previous"], content["gram"]
        return {
            "part": {
                "state": {
                    "adapting": content["adapting"],
                    "previous": None if previous is None else {"dict": previous},
                    **dict(zip(KERNEL, content["counts"], strict=True)),
                    "names": {"list": content["names"]},
                    **content["state"],
                    **dict(zip(GRAM, [None] * 4 if gram is None else gram, strict=True)),
                }
            }
        }
    return value


STEPS: list[Callable[[Document], Document]] = [_from_1]
"""From format 1 to 2, ..."""
