"""What earlier versions saved, as this version would have saved it.

Format 5 (0.5.0): an `OKLClassifier` keeps its processes, pool, linear models, naive Bayes and what it knows of
features. Its neighbours and forests are dropped, and its memory is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.mixture.processes import NEWCOMER
from river_okl._core.states import checked_whole
from river_okl.algorithms.okl import OKLClassifier
from river_okl.checkpoint.values import Part
from river_okl.merging.gaussian import stored

State = dict[str, Any]
Positions = NDArray[np.int64]

KEPT = (
    *("scaler", "words", "shares", "weights", "light_weights", "n_classes", "seen", "next_update", "updates"),
    *("processes", "pool", "linear", "logistic", "bayes"),
)
MEMORY = 8192  # samples
FIRST = 11  # predictions of the processes, the pool and linear models; those of neighbours and forests followed


def upgraded(cls: Any, parameters: dict[str, Any], state: State) -> tuple[dict[str, Any], State]:
    """Return the parameters and the state of a model, converted if an earlier version saved them."""
    if cls is not OKLClassifier or "memory" in parameters or not isinstance(state.get("_f"), Part):
        return parameters, state
    parameters = parameters | {"memory": MEMORY}
    return parameters, state | {"_f": Part(_with_memory(cls(**parameters)._f, state["_f"].state))}


def _with_memory(f: Any, old: State) -> State:
    """Return the state of a mixture from one of 0.5.0; ``f``: a new mixture."""
    classes = checked_whole(old, "n_classes", 2, 2**20)
    if len(old["bayes"]["counts"]) != classes:
        raise ValueError(f"the experts of a mixture do not match its {classes} classes")
    for _ in range(classes - 2):
        f.add_class()
    new = f.state()
    points = np.union1d(old["processes"]["points"], old["pool"]["points"])
    log_weights = np.full(len(new["today"]["log_weights"]), -NEWCOMER)
    log_weights[:FIRST] = old["today"]["log_weights"][:FIRST] - old["today"]["log_weights"][:FIRST].max()
    of_points = {f"square_{m}": old["distances"][f"square_{m}"][points] for m in range(4)}
    positions = {
        name: old[name] | {"points": np.searchsorted(points, old[name]["points"]).astype(np.int32)}
        for name in ("processes", "pool")
    }
    return {
        **new,
        **{name: old[name] for name in KEPT},
        **positions,
        "points": stored(_contents(old, points), f.budget + 2, _names(old))["points"],
        "distances": old["distances"] | of_points,
        "today": {"log_weights": log_weights - log_weights.max()},
    }


def _names(old: State) -> list[Any]:
    """Return the names of the features by place; a free place has a name of its own."""
    names: list[Any] = [("free", place) for place in range(len(old["scaler"]["places"]) + len(old["scaler"]["free"]))]
    for name, place in zip(old["scaler"]["names"], old["scaler"]["places"].tolist(), strict=True):
        names[place] = name
    return names


def _contents(old: State, at: Positions) -> list[dict[Any, float]]:
    """Return the points at some positions."""
    names, position = _names(old), {p: i for i, p in enumerate(at.tolist())}
    points: list[dict[Any, float]] = [{} for _ in at]
    state = old["points"]
    places = np.repeat(state["places"], state["counts"]).tolist()
    for place, owner, amount in zip(places, state["owners"].tolist(), state["amounts"].tolist(), strict=True):
        if owner in position:
            points[position[owner]][names[place]] = amount
    return points
