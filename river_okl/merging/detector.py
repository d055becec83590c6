"""Detectors: the points and the latest scores of all streams. Scaling and distances merge as in mixtures.

If there are too many points, points are sampled: one of n points in a
stream's reservoir represents a share 1 / n of it, and a point of several detectors the sum of their shares. The
regressions of the features on each other are fitted to the points. Identities of samples depend on the places of
features, so they are dropped for a detector with other places.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.detector import LATEST, LATEST_SCORES, levels_kept
from river_okl._core.residuals import LEAST, MAX_INPUTS, REGRESSION_MEMORY, RIDGE
from river_okl.algorithms.detector import OKLDetector
from river_okl.merging.gaussian import State, inverse, packed, stored
from river_okl.merging.mixture import METRICS, Merging, Mixed
from river_okl.merging.shards import Shards
from river_okl.merging.spaces import Arrays

MODELS = OKLDetector


class Scored(Mixed):
    """The parts of a detector."""

    def read(self) -> None:
        self.state: State = self.f.state()
        scaler = self.state["scaler"]
        self.names = scaler["names"]
        self.places = scaler["places"]
        self.seen, self.ranked = int(scaler["seen"]), self.state["ranked"]
        self.state["updates"] = 0  # weights of features are never learned
        self.points: list[dict[Hashable, float]] = [self.f.points.point(i) for i in range(len(self.f))]


class Detectors(Merging):
    """The parts of several detectors, and the state of the merged one."""

    def __init__(self, shards: Shards) -> None:
        self.take(shards, Scored)
        self.names = list(dict.fromkeys(name for _, each in self.active for name in each.in_order()))
        self.adopt_units()
        self.at = self.column_of_feature()
        for each in self.with_start:
            each.settle(np.zeros(0, dtype=np.int64), self.at)
        self.weights = np.ones((len(self.at), METRICS))

    def drawn(self, capacity: int) -> tuple[list[dict[Hashable, float]], Arrays]:
        """Return the points, sampled if there are too many, and their radii."""
        union: dict[Any, Any] = {}
        born = self.start.state["points"]["born"]
        for share, each in self.active:
            births = each.state["points"]["birth"].tolist()
            for point, radius, birth in zip(each.points, each.state["radii"].tolist(), births, strict=True):
                found = union.setdefault(birth if birth < born else frozenset(point.items()), [point, radius, 0.0])
                found[2] += share / len(each.points)
        if len(union) > capacity:  # without replacement (Efraimidis and Spirakis 2006)
            rng = np.random.default_rng(self.first.state["more_random"])
            times = rng.exponential(size=len(union)) / [weight for *_, weight in union.values()]
            kept = {*np.argsort(times, kind="stable")[:capacity].tolist()}
            union = {key: found for i, (key, found) in enumerate(union.items()) if i in kept}
        return [point for point, *_ in union.values()], np.array([radius for _, radius, _ in union.values()])

    def latest_of(self, of: Callable[[Any], NDArray[Any]], capacity: int) -> NDArray[Any]:
        """Return the latest values: those of the start, then the new ones of all detectors, evenly interleaved."""
        learners = [each for _, each in self.active if each.ranked > self.start.ranked]
        new = [of(each)[-(each.ranked - self.start.ranked) :] for each in learners]
        order = np.concatenate([[], *((np.arange(len(numbers)) + 0.5) / len(numbers) for numbers in new)])
        found = of(self.start)
        if new:
            found = np.concatenate([found, np.concatenate(new)[np.argsort(order, kind="stable")]])
        return found[-capacity:]

    def identities(self, each: Any) -> NDArray[np.int64]:
        """Return the identities of the latest samples of a detector; 0 is unknown."""
        found: NDArray[np.int64] = each.state["identities"]
        return found if self.keeps_places(each) else np.zeros_like(found)

    def keeps_places(self, each: Any) -> bool:
        return all(self.at[name] == place for name, place in zip(each.names, each.places.tolist(), strict=True))

    def residuals(self, X: Arrays, ranked: int) -> tuple[State, Arrays]:
        """Return the regressions of the features on each other, fitted to the points, and the latest scores."""
        if len(self.active) == 1 and self.keeps_places(self.active[0][1]):
            state = self.active[0][1].state
            return state["residuals"], state["scales"][4]
        n = self.start.state["residuals"]["n"]
        n += sum(each.state["residuals"]["n"] - n for _, each in self.active)
        n = min(max(n, 1), 2 * REGRESSION_MEMORY - 1)
        inputs = np.hstack([np.ones((len(X), 1)), X])[:, :MAX_INPUTS]
        sums = (n - 1) * (inputs.T @ inputs / max(1, len(X)) + RIDGE * np.eye(inputs.shape[1]))
        T = inverse(sums + np.eye(len(sums)))
        own = T.diagonal()[1:]
        residuals = np.maximum(0.0, 1.0 - 1.0 / (n * own)) * (inputs @ T)[:, 1:]
        numbers = np.log(n * np.sum(residuals**2 / own, axis=1) + LEAST)
        return {"n": n, "next": 0, "inverse": packed(T)}, np.resize(numbers, min(ranked, LATEST))

    def latest_numbers(self, k: int) -> Arrays:
        """Return the latest values of measure k."""
        return self.latest_of(lambda each: each.state["scales"][k], LATEST)

    def total(self, name: str) -> Any:
        return self.shards.total(lambda model: model._f.state()[name])

    def matrix(self) -> Arrays:
        return self.X

    def merged(self, f: Any) -> State:
        """Return the merged state for a detector with the capacity of f."""
        points, radii = self.drawn(f.budget)
        self.X = np.zeros((len(points), len(self.at)))
        for i, point in enumerate(points):
            self.X[i, [self.at[name] for name in point]] = [*point.values()]
        seen = self.total("seen")
        ranked = self.start.ranked + sum(each.ranked - self.start.ranked for _, each in self.active)
        residuals, numbers = self.residuals(self.X, ranked)
        return {
            "points": stored(points, f.budget + 1, self.names)["points"],
            "scaler": self.scaler,
            "words": self.words(),
            "distances": f.distances.merged(self),
            "radii": radii,
            "scales": [*map(self.latest_numbers, range(4)), numbers, self.latest_numbers(5)],
            "scores": self.latest_of(lambda each: each.state["scores"], levels_kept(ranked)),
            "identities": self.latest_of(self.identities, LATEST_SCORES),
            "residuals": residuals,
            "ranked": ranked,
            "seen": max(seen, ranked),
            "next_update": max(each.state["next_update"] for _, each in self.active),
            "candidates": float(np.clip(self.total("candidates"), len(points), max(seen, len(points)))),
            "weight": self.total("weight"),
            **{name: self.first.state[name] for name in ("random", "more_random")},
            **{
                name: float(self.mean(lambda each: each.state[name]))  # noqa: B023
                for name in ("tokens", "crowd", "typical")
            },
        }


def merged(shards: Shards) -> Any:
    """Return the merged detector."""
    model = shards.new()
    model._f.restore(Detectors(shards).merged(model._f))
    return model
