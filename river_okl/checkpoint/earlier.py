"""What earlier versions saved, as this version would have saved it.

Format 5 (0.5.0): an `OKLClassifier` keeps its processes, pool, linear models, naive Bayes and what it knows of
features. An `OKLRegressor` keeps its processes, linear regression, last target, intervals and units. Neighbours and
forests are dropped, and the memory is empty. An `OKLDetector` keeps everything, and has no values of its sixth measure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.states import checked_whole
from river_okl._core.store.running import NUMBERS
from river_okl.algorithms.detector import OKLDetector
from river_okl.algorithms.okl import OKLClassifier, OKLRegressor
from river_okl.checkpoint.values import Part
from river_okl.merging.gaussian import stored

State = dict[str, Any]
Positions = NDArray[np.int64]

KEPT = (
    *("words", "shares", "weights", "light_weights", "n_classes", "seen", "next_update", "updates"),
    *("processes", "linear"),
)
OF_CLASSES = "pool", "logistic", "bayes"
OF_TARGETS = "last_target", "intervals", "centre", "size", "settled", "lowest", "highest"
MEASURES = 5  # of OKLDetector
NEWCOMER = 2.0  # below the largest log-weight, as in _core/mixture/expert.pyx
MEMORY = 8192  # samples
DRIFT = "before", "trend", "rising", "follows"  # running statistics that followed
FULL = 5.0  # reach of a feature at first, as in _core/mixture/diagonal.pyx
LINEAR_INPUTS = 128  # of the regression of OKLRegressor
FIRST = 11  # predictions of the processes, the pool and linear models; those of neighbours and forests followed


def upgraded(cls: Any, parameters: dict[str, Any], state: State) -> tuple[dict[str, Any], State]:
    """Return the parameters and the state of a model, converted if an earlier version saved them."""
    if not isinstance(state.get("_f"), Part):
        return parameters, state
    if cls is OKLDetector and len(state["_f"].state.get("scales", ())) == MEASURES:
        own = state["_f"].state
        scales = [*own["scales"], np.zeros(0)]
        return parameters, state | {"_f": Part(own | {"scaler": _scaler(own["scaler"]), "scales": scales})}
    if cls not in (OKLClassifier, OKLRegressor) or "memory" in parameters:
        return parameters, state
    parameters = parameters | {"memory": MEMORY}
    convert = _of_classes if cls is OKLClassifier else _of_targets
    return parameters, state | {"_f": Part(convert(cls(**parameters)._f, state["_f"].state))}


def _of_classes(f: Any, old: State) -> State:
    """Return the state of a mixture for labels from one of 0.5.0; ``f``: a new mixture."""
    classes = checked_whole(old, "n_classes", 2, 2**20)
    if len(old["bayes"]["counts"]) != classes:
        raise ValueError(f"the experts of a mixture do not match its {classes} classes")
    for _ in range(classes - 2):
        f.add_class()
    new = f.state()
    log_weights = np.full(len(new["today"]["log_weights"]), -NEWCOMER)
    log_weights[:FIRST] = old["today"]["log_weights"][:FIRST] - old["today"]["log_weights"][:FIRST].max()
    return {
        **new,
        **{name: old[name] for name in (*KEPT, *OF_CLASSES)},
        **_with_features(new, old),
        **_with_points(f, old, ("processes", "pool")),
        "today": {"log_weights": log_weights - log_weights.max()},
    }


def _of_targets(f: Any, old: State) -> State:
    """Return the state of a mixture for targets from one of 0.5.0; ``f``: a new mixture. What weights experts restarts,
    except the weights of the processes."""
    new = f.state()
    n = len(_names(old))
    diagonal = {
        "coef": np.zeros(n),
        "variances": np.full(n, new["diagonal"]["bias_variance"]),
        "reaches": np.full(n, FULL),
    }
    today = new["today"] | {name: old["today"][name] for name in ("log_weights", "residuals")}
    linear = old["linear"] | {"ridge": _ridge(old["linear"]["ridge"], min(n + 1, LINEAR_INPUTS))}
    causes = len(new["intervals"]["scale"]["coef"])
    return {
        **new,
        **{name: old[name] for name in (*KEPT, *OF_TARGETS)},
        **_with_features(new, old),
        "target": _numbers(old["target"]),
        **_with_points(f, old, ("processes",)),
        "linear": linear,
        "intervals": old["intervals"] | {"scale": _ridge(old["intervals"]["scale"], causes)},
        "diagonal": new["diagonal"] | diagonal,
        "today": today,
    }


def _ridge(old: State, n: int) -> State:
    """Return a regression, which had room for more than its n inputs."""
    return {"coef": old["coef"][:n], "covariance": old["covariance"][: n * (n + 1) // 2]}


def _with_features(new: State, old: State) -> State:
    """Return what refers to features; a new mixture has no background samples."""
    background = new["background"] | {"values": np.zeros((len(_names(old)), 0))}
    return {"scaler": _scaler(old["scaler"]), "background": background}


def _scaler(old: State) -> State:
    return old | {"numbers": _numbers(old["numbers"])}


def _numbers(old: Any) -> Any:
    """Return running statistics, in the last dimension, of values that do not drift."""
    known = [i for i, name in enumerate(NUMBERS) if name not in DRIFT]
    if np.shape(old)[-1:] != (len(known),):
        raise ValueError("running statistics of a version before 0.6.0 are incomplete")
    found = np.zeros((*np.shape(old)[:-1], len(NUMBERS)))
    found[..., known] = old
    return found


def _with_points(f: Any, old: State, holders: tuple[str, ...]) -> State:
    """Return what refers to points, which are those of the experts ``holders``."""
    points = np.unique(np.concatenate([old[name]["points"] for name in holders]))
    of_points = {f"square_{m}": old["distances"][f"square_{m}"][points] for m in range(4)}
    positions = {
        name: old[name] | {"points": np.searchsorted(points, old[name]["points"]).astype(np.int32)} for name in holders
    }
    return {
        **positions,
        "points": stored(_contents(old, points), f.budget + 2, _names(old))["points"],
        "distances": {name: own for name, own in old["distances"].items() if "evidence" not in name} | of_points,
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
