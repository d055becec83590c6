"""Merge the forests of several shards by taking a tree from each in turn: different trees cannot be averaged.

A forest is represented by its state: arrays over all trees, nodes, leaves and blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, Any]

LEAF, GONE = -1, -2  # stored instead of a split's feature
LARGEST_TARGET, LARGEST_ERRORS = 1e9, 1e30  # of a leaf
PARTS = (  # arrays with an entry per tree, node and leaf; those of "blocks" have one per leaf with statistics
    ("ages", "running"),
    ("features", "cuts", "children"),
    ("learning", "errors", "counts"),
)


def moved(name: str, donors: list[Any]) -> list[State]:
    """Return the forests of shards (``river_okl.merging.mixture.Mixed``), with the merged mixture's feature positions.

    If the features of a forest cannot keep their positions, its trees start new statistics.
    """
    shape = donors[0].state[name]
    found = []
    for each in donors:
        to = np.full(1 + each.places.max(initial=-1), GONE, dtype=np.int32)
        to[each.places] = each.columns
        forest = dict(each.state[name])
        same = len(forest["low"]) == len(shape["low"]) and (to == np.arange(len(to))).all()
        found.append(forest if same else relocated(forest, to, shape))
    return found


def relocated(forest: State, to: NDArray[np.int32], shape: State) -> State:
    """Return a forest with feature j moved to position to[j], and as many features as ``shape``; its leaves
    start new statistics."""
    n, room = len(forest["low"]), len(shape["low"])
    place = np.append(np.full(n, GONE, dtype=np.int32), [GONE, LEAF]).astype(np.int32)  # [-2] and [-1] stay
    place[: min(n, len(to))] = to[:n]
    place[place >= room] = GONE
    found = forest | {"features": place[forest["features"]], "learning": np.zeros_like(forest["learning"])}
    found["blocks"] = {name: part[:0] for name, part in shape["blocks"].items()}
    known = np.flatnonzero(place[:n] >= 0)
    for name in "low", "high":
        found[name] = np.zeros_like(shape[name])
        found[name][place[known]] = forest[name][known]
    return found


def assembled(forests: list[State]) -> State:
    """Return a forest with a tree from each forest in turn; all must have the same number of features."""
    parts: dict[str, list[Any]] = {name: [] for part in PARTS for name in part}
    blocks: dict[str, list[Any]] = {name: [] for name in forests[0]["blocks"]}
    for t in range(len(forests[0]["ages"])):
        forest = forests[t % len(forests)]
        leaves = np.append(0, np.cumsum(forest["ages"][:, 0]))[t : t + 2]
        learning = np.append(0, np.cumsum(forest["learning"]))[leaves]
        nodes = 2 * leaves - [t, t + 1]
        entries: list[Any] = [[t, t + 1], nodes, leaves]
        for names, ends in zip(PARTS, entries, strict=True):
            for name in names:
                parts[name].append(forest[name][slice(*ends)])
        for name, part in forest["blocks"].items():
            blocks[name].append(part[slice(*learning)])
    return (
        forests[0]
        | {name: np.concatenate(part) for name, part in parts.items()}
        | {"blocks": {name: np.concatenate(part) for name, part in blocks.items()}}
        | {"low": np.min([forest["low"] for forest in forests], axis=0)}
        | {"high": np.max([forest["high"] for forest in forests], axis=0)}
    )


def near(units: NDArray[np.float64]) -> bool:
    """Whether the units of trees are similar."""
    return bool(1e-3 < units[0] < 1e3 and abs(units[1]) < 1e3)


def in_units(forest: State, factor: float, offset: float) -> State:
    """Return the arrays of a forest that depend on targets, converted to ``factor`` · target + ``offset``."""
    if (factor, offset) == (1.0, 0.0):
        return {}
    blocks = forest["blocks"]
    counts, bins, total, weight = (
        numbers.astype(np.float64) for numbers in (forest["counts"], blocks["bins"], blocks["sum"], blocks["weight"])
    )
    counts[:, 1] = np.clip(factor * counts[:, 1] + offset, -LARGEST_TARGET, LARGEST_TARGET)
    bins[..., 1::2] = factor * bins[..., 1::2] + offset * bins[..., ::2]  # weights and sums in turn
    total = factor * total + offset * weight
    return {
        "counts": counts.astype(np.float32),
        "blocks": blocks | {"sum": total.astype(np.float32), "bins": bins.astype(np.float32)},
        "errors": np.minimum(factor**2 * forest["errors"].astype(np.float64), LARGEST_ERRORS).astype(np.float32),
        "running": forest["running"] * [factor, factor, factor**2],
    }
