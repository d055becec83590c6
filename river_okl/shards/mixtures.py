"""Mixtures that learned side by side (``OKLClassifier``, ``OKLRegressor``): each part merges by the rule of its kind.

    scaler, target, metrics     as if one stream had been counted (statistics.py); the metrics' weights are averaged
    kernels                     the three that were believed most; who has another takes over from its best, as it
                                does where a kernel moves
    processes                   evidence adds up over one dictionary (posteriors.py), which is chosen from all of theirs
    pool                        sums of expansions: Σ w_i f_i, of which the heaviest points stay
    linear models, stack        averages, as are the log-weights of the experts and the fits of probabilities

It is all read from ``Mixture.state`` and given to ``Mixture.restore``, which checks it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.pool import METRIC, SCALE
from river_okl._core.process import DIAGONAL
from river_okl._core.processes import BELIEFS_OF, NEWCOMER
from river_okl.algorithms.okl import OKL
from river_okl.labels import Labels
from river_okl.predictive import PredictiveClassifier
from river_okl.shards.expansions import pursued
from river_okl.shards.posteriors import (
    Belief,
    Ends,
    Places,
    added,
    heaviest,
    importance_of,
    inverse,
    packed,
    seen_from,
    stored,
    unpacked,
)
from river_okl.shards.shards import Shards
from river_okl.shards.spaces import Space
from river_okl.shards.statistics import Moments

MODELS = OKL

Arrays = NDArray[np.float64]
State = dict[str, Any]

MEMORY = 10_000  # of a scaler, a metric and a target, as in _core/scaler.pyx
FIRST_METRIC = 200
STEPS = 30  # of conjugate gradients


@dataclasses.dataclass
class Kernel:
    """A kernel of the processes: scale and metric, and the means that its γ come from."""

    scale: float
    metric: int
    mean_distance: float
    mean_square: float

    @property
    def kind(self) -> tuple[float, int]:
        return self.scale, self.metric


class Mixed:
    """A mixture taken apart."""

    def __init__(self, model: Any) -> None:
        f = model._f
        self.state: State = f.state()
        self.terms = f.terms
        self.task: str = f.task
        self.processes: State = self.state["processes"]
        self.columns = self.processes["beliefs"][0]["means"].shape[0]
        scaler = self.state["scaler"]
        self.place = dict(zip(scaler["names"], scaler["place"].tolist(), strict=True))
        self.points: list[dict[Hashable, float]] = [f.points.point(i) for i in range(len(f))]
        self.dictionary: list[int] = self.processes["points"].tolist()
        self.kernels = [
            Kernel(scale, int(metric), *means) for scale, metric, *means in self.processes["kernels"].tolist()
        ]
        weights = np.exp(self.state["log_weights"])
        self.weights: Arrays = weights / weights.sum()
        self.target = _moments(self.state["target"][:-1])
        self.mean, self.deviation = self.target.mean, math.sqrt(self.target.variance) or 1.0

    @property
    def n_processes(self) -> int:
        return len(self.processes["beliefs"])

    def of_kernel(self, i: int) -> slice:
        """The processes with kernel i."""
        n = len(BELIEFS_OF[self.task])
        return slice(n * i, n * (i + 1))

    @property
    def seen(self) -> int:
        return int(self.state["counts"][0])

    @functools.cached_property
    def keys(self) -> list[frozenset[tuple[Hashable, float]]]:
        return [frozenset(z.items()) for z in self.points]

    def believed(self, i: int) -> float:
        """The weight of the experts with kernel i."""
        return float(self.weights[self.of_kernel(i)].sum())

    def weight_of(self, name: Hashable, metric: int) -> float:
        """Of a feature under a metric."""
        place = self.place.get(name)
        return 1.0 if metric == 0 or place is None else float(self.state["metrics"]["weights"][place, metric - 1])

    def source(self, kind: tuple[float, int]) -> int:
        """The own kernel that is of this kind, or the one that is believed most."""
        for i, kernel in enumerate(self.kernels):
            if kernel.kind == kind:
                return i
        return max(range(len(self.kernels)), key=self.believed)


class Merging:
    """The parts of several mixtures, and the state that they become."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.shares = shards.shares
        self.evidence = shards.evidence
        self.all = [Mixed(model) for model in shards.models]
        self.start = Mixed(shards.start)
        self.movers = [i for i, share in enumerate(self.shares) if share > 0.0]
        self.first = self.all[self.movers[0]]
        self.names = list(dict.fromkeys(name for i in self.movers for name in self.all[i].place))
        self.target = self.merged_target()
        self.changes: dict[tuple[int, int], Arrays] = {}
        self.kernels = self.merged_kernels()

    def mean(self, of: Any) -> Any:
        """The average over the shards."""
        return sum(self.shares[i] * of(self.all[i]) for i in self.movers)

    def total(self, of: Any) -> Any:
        first = of(self.start)
        return first + sum(e * (of(each) - first) for e, each in zip(self.evidence, self.all, strict=True))

    def streams(self, of: Any) -> list[tuple[float, Moments]]:
        return [(float(e), of(each)) for e, each in zip(self.evidence, self.all, strict=True)]

    # What was counted -------------------------------------------------------------------------------------------------

    @property
    def seen(self) -> int:
        seen: float = self.total(lambda each: each.seen)
        return round(seen)

    def merged_target(self) -> Moments:
        return self.start.target.after(self.streams(lambda each: each.target))

    def scaler(self) -> State:
        """Of every feature what ``Scaler`` keeps."""
        columns = ("first", "last", "count", "centred", "numbers")
        rows = []
        for name in self.names:
            found = [
                None if (at := each.place.get(name)) is None else _feature(each.state["scaler"], at)
                for each in (self.start, *(self.all[i] for i in self.movers))
            ]
            rows.append(self.feature(found))
        kinds = (np.int64, np.int64, np.int64, np.bool_, np.float64)
        values: Any = zip(*rows, strict=True) if rows else ((),) * len(kinds)
        return {
            "names": self.names,
            "place": np.arange(len(self.names), dtype=np.int32),
            **{n: np.array(v, dtype=kind) for n, v, kind in zip(columns, values, kinds, strict=True)},
            "free": np.zeros(0, dtype=np.int32),
            "seen": self.seen,
        } | ({} if rows else {"numbers": np.zeros((0, 6))})

    def feature(self, found: list[State | None]) -> tuple[Any, ...]:
        """One feature: of the start and of every shard that learned, None where it is not known."""
        before, ends = found[0], found[1:]
        if before is not None and not any(end is not None and end["first"] == before["first"] for end in ends):
            before = None  # forgotten by all, and begun anew
        spans, streams, gap = [0.0], [], math.inf
        votes = total = 0.0
        start = Moments(memory=MEMORY) if before is None else _moments(before["numbers"])
        count = 0 if before is None else before["count"]
        for i, end in zip(self.movers, ends, strict=True):
            e, each = float(self.evidence[i]), self.all[i]
            new = each.seen - self.start.seen
            if end is None:
                spans.append(e * new)
                continue
            known = before is not None and end["first"] == before["first"]
            spans.append(e * (new if known else each.seen + 1 - end["first"]))
            streams.append((e, _moments(end["numbers"])))
            count += e * (end["count"] - (before["count"] if before is not None and known else 0))
            gap = min(gap, each.seen - end["last"])
            votes += e * new * end["centred"]
            total += e * new
        end_of = start.after(streams)
        span = sum(spans) + (0.0 if before is None else self.start.seen + 1 - before["first"])
        seen = self.seen
        count = max(1, round(count))
        first = min(max(1, round(seen + 1 - span)), seen + 1 - count)
        last = max(min(seen, round(seen - gap)), first + count - 1)
        centred = 2.0 * votes >= total if total or before is None else before["centred"]
        return first, last, count, centred, _numbers(end_of)

    def metrics(self, points: list[dict[Hashable, float]]) -> State:
        size = len(self.names)
        weights, known = np.zeros((size, 2)), np.zeros(size)
        slopes, sums = np.zeros((size, 2)), np.zeros((size, 3))
        at = {name: j for j, name in enumerate(self.names)}
        halved = min(
            _halvings(self.start.state["metrics"]["samples"], each.seen - self.start.seen) for each in self.all
        )
        samples = pairs = 0.0
        for factor, each in self.parts(halved):
            own, places = self.known(each, at)
            metrics = each.state["metrics"]
            sums[own, :2] += factor * metrics["sums"][places, :2]
            samples += factor * metrics["samples"]
            pairs += factor * max(0.0, metrics["samples"] - 1.0)
            if each is not self.start:
                share = self.shares[next(i for i, one in enumerate(self.all) if one is each)]
                weights[own] += share * metrics["weights"][places]
                known[own] += share
        weights[known > 0.0] /= known[known > 0.0, None]
        weights[known <= 0.0] = 1.0
        for factor, each in self.slopes():
            own, places = self.known(each, at)
            slopes[own] += factor * each.state["metrics"]["slopes"][places]
        sums[:, 0] *= max(0.0, samples - 1.0) / pairs if pairs > 0.0 else 0.0
        while samples >= 2.0 * MEMORY:
            samples *= 0.5
            sums[:, :2] *= 0.5
        names = {place: name for name, place in self.first.place.items()}
        before = self.first.state["metrics"]
        previous = [at[names[place]] for place in before["previous"].tolist() if place in names]
        for name, place in self.first.place.items():
            sums[at[name], 2] = before["sums"][place, 2]
        squares = np.array([[z[name] ** 2 for name in z] @ self.column(z, at, weights) for z in points]).reshape(-1, 3)
        return {
            "weights": weights,
            "slopes": np.maximum(slopes, 0.0),
            "sums": np.concatenate([np.maximum(sums[:, :2], 0.0), sums[:, 2:]], axis=1),
            "previous": np.array(previous, dtype=np.int32),
            "square": squares.T.copy(),
            "samples": float(samples),
            "learned": any(each.state["metrics"]["learned"] for each in self.all),
        }

    @staticmethod
    def known(each: Mixed, at: dict[Hashable, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the features that both know are in the merged model, and in this one."""
        pairs = np.array([(at[name], place) for name, place in each.place.items() if name in at], dtype=np.int64)
        return pairs.reshape(-1, 2)[:, 0], pairs.reshape(-1, 2)[:, 1]

    @staticmethod
    def column(z: dict[Hashable, float], at: dict[Hashable, int], weights: Arrays) -> Arrays:
        """The weights of a point's features under the three metrics."""
        out = np.ones((len(z), 3))
        for j, name in enumerate(z):
            if name in at:
                out[j, 1:] = weights[at[name]]
        return out

    def parts(self, kept: float) -> list[tuple[float, Mixed]]:
        """Sums over the stream: of the start what the most halved has left of it, of each what it has added."""
        found = [(float(e), each) for e, each in zip(self.evidence, self.all, strict=True)]
        of_start = kept - sum(
            e * _halvings(self.start.state["metrics"]["samples"], each.seen - self.start.seen) for e, each in found
        )
        return [*found, (of_start, self.start)]

    def slopes(self) -> list[tuple[float, Mixed]]:
        """The same of what starts again where metrics are learned."""
        found = [(float(e), each) for e, each in zip(self.evidence, self.all, strict=True)]
        going_on = [e for e, each in found if each.state["counts"][2] == self.start.state["counts"][2]]
        return [*found, (float(bool(going_on)) - sum(going_on), self.start)]

    # Kernels ----------------------------------------------------------------------------------------------------------

    def merged_kernels(self) -> list[Kernel]:
        """The kinds that are believed most, in the places where the first has them."""
        support: dict[tuple[float, int], float] = {}
        for i in self.movers:
            for k, kernel in enumerate(self.all[i].kernels):
                support[kernel.kind] = support.get(kernel.kind, 0.0) + self.shares[i] * self.all[i].believed(k)
        n = len(self.first.kernels)
        chosen = sorted(support, key=lambda kind: (-support[kind], kind))[:n]
        slots = [kernel.kind if kernel.kind in chosen else None for kernel in self.first.kernels]
        rest = [kind for kind in chosen if kind not in slots]
        return [self.pooled(kind or rest.pop(0)) for kind in slots]

    def pooled(self, kind: tuple[float, int]) -> Kernel:
        """A kernel with the mean of the means that its owners have."""
        owners = [(self.shares[i], self.all[i].kernels[self.all[i].source(kind)]) for i in self.movers]
        owners = [(share, kernel) for share, kernel in owners if kernel.kind == kind]
        mass = sum(share for share, _ in owners)
        distance, square = (
            float(sum(share * getattr(kernel, name) for share, kernel in owners) / mass)
            for name in ("mean_distance", "mean_square")
        )
        return Kernel(*kind, distance, square)

    def weight_of(self, name: Hashable, metric: int) -> float:
        """Of a feature under a metric, averaged over those who know it."""
        known = [i for i in self.movers if name in self.all[i].place]
        mass = sum(self.shares[i] for i in known)
        if metric == 0 or not known:
            return 1.0
        return float(sum(self.shares[i] * self.all[i].weight_of(name, metric) for i in known) / mass)

    def log_weights(self) -> Arrays:
        def of(each: Mixed) -> Arrays:
            found: Arrays = each.state["log_weights"].copy()
            for k, kernel in enumerate(self.kernels):
                source = each.source(kernel.kind)
                late = 0.0 if each.kernels[source].kind == kernel.kind else NEWCOMER
                found[each.of_kernel(k)] = each.state["log_weights"][each.of_kernel(source)] - late
            return found

        found: Arrays = self.mean(of)
        found -= found.max()
        return found

    def fits(self) -> Arrays:
        """Sharpness, curvature and residual of every process."""

        def of(each: Mixed) -> Arrays:
            sources = [each.source(kernel.kind) for kernel in self.kernels]
            found: Arrays = np.concatenate([each.processes["fits"][each.of_kernel(i)] for i in sources])
            return found

        found: Arrays = self.mean(of)
        return found

    # Processes --------------------------------------------------------------------------------------------------------

    def belief(self, each: Mixed, space: Space, at: list[int], k: int, b: int, own: bool) -> Belief:
        """Of kernel k, belief b, at its own points, in the units of the merged target, under the merged kernel."""
        kernel = self.kernels[k]
        source = each.source(kernel.kind)
        state = each.processes["beliefs"][each.of_kernel(source)][b]
        learned = state["factor"] * unpacked(state["learned"], len(at))
        if own:
            _, amplitude, _ = BELIEFS_OF[each.task][b]
            learned += amplitude * self.changed(each, space, at, k)
        means = state["means"]
        if each.task == "regression":
            deviation = math.sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0
            means = (each.deviation * means + each.mean - self.target.mean) / deviation
        return Belief(means, learned)

    def changed(self, each: Mixed, space: Space, at: list[int], k: int) -> Arrays:
        """K of the merged kernel less that of the own, which all beliefs with it share."""
        if (id(each), k) not in self.changes:
            own = each.kernels[each.source(self.kernels[k].kind)]
            before = space.gram(own, functools.partial(each.weight_of, metric=own.metric), at, at)
            self.changes[id(each), k] = self.gram(space, k, at, at) - before
        return self.changes[id(each), k]

    def gram(self, space: Space, k: int, rows: Any, columns: Any) -> Arrays:
        metric = self.kernels[k].metric
        return space.gram(self.kernels[k], lambda name: self.weight_of(name, metric), rows, columns)

    def moved(self, each: Mixed, k: int) -> bool:
        """Whether a shard has kernel k otherwise than the merged model."""
        own, kernel = each.kernels[each.source(self.kernels[k].kind)], self.kernels[k]
        if own != kernel:
            return True
        metric = kernel.metric
        return metric > 0 and any(each.weight_of(name, metric) != self.weight_of(name, metric) for name in each.place)

    def dictionary(self, most: int) -> tuple[list[dict[Hashable, float]], list[State], list[State], float]:
        """The points that the processes share, K⁻¹ of every kernel, every belief, and what is lost of the means."""
        everyone = [self.start, *self.all]
        position: dict[Any, int] = {}
        points: list[dict[Hashable, float]] = []
        places = []
        for each in everyone:
            at, copies = [], dict[Any, int]()
            for i in each.dictionary:
                copies[each.keys[i]] = copies.get(each.keys[i], 0) + 1
                key = each.keys[i], copies[each.keys[i]]
                if key not in position:
                    position[key] = len(points)
                    points.append(each.points[i])
                at.append(position[key])
            places.append(at)
        space = Space(points, self.first.terms)
        beliefs = [
            [
                self.belief(each, space, at, k, b, self.moved(each, k))
                for k in range(len(self.kernels))
                for b in range(len(BELIEFS_OF[each.task]))
            ]
            for each, at in zip(everyone, places, strict=True)
        ]
        bases = [
            [
                Places(np.array(at, dtype=np.int64), inverse(self.gram(space, k, at, at)))
                for k in range(len(self.kernels))
            ]
            for at in places
        ]
        held = sorted({at for i in self.movers for at in places[1 + i]})
        chosen, error = np.array(held, dtype=np.int64), 0.0
        if len(held) > most:
            chosen, error = self.chosen(space, held, beliefs, bases, most)
        steps = [each.seen - self.start.seen for each in self.all]
        found, inverses = [], []
        for k in range(len(self.kernels)):
            K = self.gram(space, k, chosen, chosen)
            inverses.append({"n": len(chosen), "inverse": packed(inverse(K))})
            crosses = [self.gram(space, k, chosen, of[k].at) for of in bases]
            for b, (forgetting, amplitude, _) in enumerate(BELIEFS_OF[self.first.task]):
                seen = [
                    seen_from(each[self.first.of_kernel(k)][b], cross, of[k], chosen)
                    for each, cross, of in zip(beliefs, crosses, bases, strict=True)
                ]
                end = added(amplitude, forgetting, K, Ends(seen[0], seen[1:], steps), self.evidence.tolist())
                found.append({"means": end.means, "learned": packed(end.learned), "factor": 1.0})
        return [points[i] for i in chosen], inverses, found, error

    def chosen(
        self, space: Space, held: list[int], beliefs: Any, bases: Any, most: int
    ) -> tuple[NDArray[np.int64], float]:
        """Of the points held those that explain most of all means, and what is lost of them."""
        n = self.first.n_processes
        weights = self.mean(lambda each: each.weights[:n])
        kernel_of = np.arange(n) // len(BELIEFS_OF[self.first.task])
        importance = np.zeros(len(space))
        for i in self.movers:
            for e, belief in enumerate(beliefs[1 + i]):
                basis = bases[1 + i][kernel_of[e]]
                np.add.at(importance, basis.at, self.shares[i] * (weights[e] + 1e-3) * importance_of(belief, basis))
        candidates = heaviest(np.array(held, dtype=np.int64), importance, most)
        values: list[Any] = []
        for e in range(n):
            total: Any = 0.0
            for i in self.movers:
                basis = bases[1 + i][kernel_of[e]]
                cross = self.gram(space, kernel_of[e], candidates, basis.at)
                total = total + self.shares[i] * (cross @ basis.inverse @ beliefs[1 + i][e].means.T)
            values.append(total)
        best = int(np.bincount(kernel_of, weights).argmax())
        K = self.gram(space, best, candidates, candidates)
        scaled = np.concatenate([math.sqrt(weights[e] + 1e-3) * values[e] for e in range(n)], axis=1)
        picked = np.sort(pursued(lambda i: K[i], K.diagonal(), scaled, most))
        square = 0.0
        for e in range(n):
            K = self.gram(space, kernel_of[e], candidates, candidates)
            rest = values[e] - K[:, picked] @ np.linalg.solve(K[np.ix_(picked, picked)], values[e][picked])
            square += weights[e] * max(0.0, float((rest * np.linalg.solve(K, values[e])).sum()))
        return candidates[picked], math.sqrt(square)

    # The pool ---------------------------------------------------------------------------------------------------------

    def pool(self, most: int) -> tuple[list[dict[Hashable, float]], Arrays]:
        """Of Σ w_i f_i the heaviest points, and their coefficients [point, column]."""
        position: dict[Any, int] = {}
        points: list[dict[Hashable, float]] = []
        coefficients: list[Arrays] = []
        for i in self.movers:
            each = self.all[i]
            pool = each.state["pool"]
            for p, coef in zip(pool["points"].tolist(), pool["coef"].T, strict=True):
                key = each.keys[p]
                if key not in position:
                    position[key] = len(points)
                    points.append(each.points[p])
                    coefficients.append(np.zeros(coef.shape))
                coefficients[position[key]] += self.shares[i] * coef
        total = np.array(coefficients).reshape(-1, self.first.columns)
        if len(points) > most:
            order = np.argsort(-(total**2).sum(axis=1).astype(np.float32), kind="stable")
            staying, leaving = np.sort(order[:most]), np.sort(order[most:])
            space = Space(points, self.first.terms)
            total = total[staying] + self.projected(space, staying, leaving, total[leaving])
            points = [points[i] for i in staying]
        return points, total

    def projected(self, space: Space, staying: Any, leaving: Any, coefficients: Arrays) -> Arrays:
        """What stays takes over of what leaves, by conjugate gradients: its projection as far as it matters."""
        kernel = Kernel(SCALE, METRIC, *self.mean(lambda each: each.state["pool"]["means"]).tolist())
        weights = functools.partial(self.weight_of, metric=kernel.metric)
        K = space.gram(kernel, weights, staying, staying)
        return solved(K, space.gram(kernel, weights, staying, leaving) @ coefficients)

    # Together ---------------------------------------------------------------------------------------------------------

    def state(self, most_dictionary: int, most: int) -> tuple[State, float]:
        points, bases, beliefs, error = self.dictionary(most_dictionary)
        processes = {
            "points": np.arange(len(points), dtype=np.int32),
            "kernels": np.array([dataclasses.astuple(kernel) for kernel in self.kernels]),
            "fits": self.fits(),
            "bases": bases,
            "beliefs": beliefs,
        }
        pool = linears = stack = None
        if self.first.task != "regression":
            points, pool = self.pool_of(points, most - most_dictionary)
            linears = {"coef": self.mean(self.linear), "bias": self.mean(lambda each: each.state["linears"]["bias"])}
        if self.first.task == "binary":
            stack = {name: self.mean(lambda each, n=name: each.state["stack"][n]) for name in self.first.state["stack"]}
        sources = {id(each): [each.source(kernel.kind) for kernel in self.kernels] for each in self.all}
        seen = self.seen
        return {
            "points": stored(points, most + 2),
            "scaler": self.scaler(),
            "metrics": self.metrics(points),
            "processes": processes,
            "pool": pool,
            "linears": linears,
            "stack": stack,
            "n_classes": self.first.state["n_classes"],
            "log_weights": self.log_weights(),
            "shares": self.mean(lambda each: each.state["shares"][sources[id(each)]]),
            "target": (*_numbers(self.target), float(self.mean(lambda each: each.state["target"][-1]))),
            "counts": (
                seen,
                seen + min(max(1, self.all[i].state["counts"][1] - self.all[i].seen) for i in self.movers),
                max(each.state["counts"][2] for each in self.all),
            ),
        }, error

    def pool_of(self, dictionary: list[dict[Hashable, float]], most: int) -> tuple[list[dict[Hashable, float]], State]:
        """The dictionary and those of the pool that are not in it; the state of the pool."""
        pool, coefficients = self.pool(most)
        position = {frozenset(z.items()): i for i, z in enumerate(dictionary)}
        points, pooled = list(dictionary), []
        for z in pool:
            key = frozenset(z.items())
            if key not in position:
                position[key] = len(points)
                points.append(z)
            pooled.append(position[key])
        order = np.argsort(pooled, kind="stable")
        return points, {
            "points": np.array(pooled, dtype=np.int32)[order],
            "coef": np.ascontiguousarray(coefficients[order].T),
            "means": self.mean(lambda each: each.state["pool"]["means"]),
            "calibration": self.calibration(),
        }

    def linear(self, each: Mixed) -> Arrays:
        """The coefficients of the linear models, features in their places here."""
        coef = each.state["linears"]["coef"]
        at = {name: j for j, name in enumerate(self.names)}
        out = np.zeros((*coef.shape[:2], len(self.names)))
        out[:, :, [at[name] for name in each.place]] = coef[:, :, list(each.place.values())]
        return out

    def calibration(self) -> State:
        def of(each: Mixed) -> State:
            state: State = each.state["pool"]["calibration"]
            return state

        found = {
            name: float(self.mean(lambda each, n=name: of(each)[n])) for name in ("slope", "curvature", "mean_square")
        }
        return found | {"seen": round(self.total(lambda each: of(each)["seen"]))}


def solved(K: Arrays, b: Arrays) -> Arrays:
    """K⁻¹ b by ``STEPS`` conjugate gradients, for every column of b at once."""
    x, r = np.zeros_like(b), b.copy()
    p, square = r.copy(), (r * r).sum(axis=0)
    for _ in range(STEPS):
        Kp = K @ p
        curvature = (p * Kp).sum(axis=0)
        step = np.where(curvature > 0.0, square / np.where(curvature > 0.0, curvature, 1.0), 0.0)
        x += step * p
        r -= step * Kp
        before, square = square, (r * r).sum(axis=0)
        p = r + np.where(before > 0.0, square / np.where(before > 0.0, before, 1.0), 0.0) * p
    return x


def _feature(scaler: State, place: int) -> State:
    at = int(np.flatnonzero(scaler["place"] == place)[0])
    return {name: scaler[name][at].tolist() for name in ("first", "last", "count", "centred", "numbers")}


def _moments(numbers: Any) -> Moments:
    """Of what ``NUMBERS`` of _core/scaler.pyx names."""
    known, mean, variance, *_ = numbers
    return Moments(known, mean, variance, MEMORY)


def _numbers(moments: Moments) -> tuple[float, ...]:
    """The way back; a new block of values begins."""
    return float(round(moments.count)), moments.mean, moments.variance, 0.0, 0.0, 0.0


def _halvings(samples: float, steps: int) -> float:
    """What is left of sums over these samples after so many more: they are halved where 2 MEMORY are full."""
    kept = 1.0
    while samples + steps > 2.0 * MEMORY:
        steps -= math.ceil(2.0 * MEMORY - samples)
        samples, kept = MEMORY, 0.5 * kept
    return kept


def merged(shards: Shards) -> tuple[Any, float]:
    """The mixture of all of them."""
    model = shards.new()
    _, (_, budget, dictionary, _, _), _ = model._f.__reduce__()
    state, error = Merging(shards).state(dictionary, budget)
    if issubclass(type(model), PredictiveClassifier):
        model._labels = Labels(shards.models[0]._labels.names)
    model._f.restore(state)
    return model, error


def distance(shards: Shards) -> float:
    """‖E f_a - E f_b‖ of the processes, the root of its mean square by their weights."""
    merging = Merging(shards)
    a, b = merging.all
    points = [each.points[i] for each in (a, b) for i in each.dictionary]
    space = Space(points, a.terms)
    places = [list(range(len(a.dictionary))), list(range(len(a.dictionary), len(points)))]
    square = mass = 0.0
    for e in range(a.n_processes):
        k, belief = divmod(e, len(BELIEFS_OF[a.task]))
        alphas = [
            inverse(merging.gram(space, k, at, at))
            @ merging.belief(each, space, at, k, belief, merging.moved(each, k)).means.T
            for each, at in zip((a, b), places, strict=True)
        ]
        total = np.concatenate([alphas[0], -alphas[1]])
        K = merging.gram(space, k, range(len(points)), range(len(points)))
        K[np.diag_indices(len(K))] /= DIAGONAL
        weight = (a.weights[e] + b.weights[e]) / 2.0
        mass += weight
        square += weight * max(0.0, float((total * (K @ total)).sum()))
    deviation = math.sqrt(merging.target.variance) if a.task == "regression" and merging.target.variance > 0.0 else 1.0
    return deviation * math.sqrt(square / mass)
