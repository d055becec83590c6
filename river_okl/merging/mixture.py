"""Mixtures trained in parallel (``OKLClassifier``, ``OKLRegressor``): each expert merges by a rule of its own.

    scaler, target, distances   averaged by the number of samples that each has learned since the start, like the
                                moments of sample weights; counts and the evidence of neighbours are added
    kernels                     the three with the highest weights; a mixture that lacks one continues from its best,
                                as it does if a kernel moves
    processes                   evidence adds up over one dictionary (gaussian.py), chosen from all of theirs
    pending                     is dropped: the merged mixture has made no predictions yet

Arrays of an expert merge by the rule named in their declarations, the rest by the expert's ``merged``, which receives
the ``Merging``.  The result is a state that ``Mixture.restore`` checks.  Points are rows of one space with the points
of all mixtures, without duplicates; features are its columns, those of the merged mixture first.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.mixture.pending import without_predictions
from river_okl._core.mixture.processes import NEWCOMER, POSTERIORS_OF, alike
from river_okl._core.store.running import LARGEST_COUNTED, NUMBERS
from river_okl._core.store.sample import shown
from river_okl._core.store.words import MAX_WORDS
from river_okl._core.trees.tree import Trees
from river_okl.algorithms.okl import OKL
from river_okl.merging.gaussian import (
    Bank,
    MeansAndCovariance,
    OfKernel,
    Places,
    State,
    inverse,
    packed,
    stored,
    unpacked,
)
from river_okl.merging.shards import Shards, average, not_from_start
from river_okl.merging.spaces import Arrays, Positions, Space, joined, points_of
from river_okl.merging.statistics import Moments, followed, pooled

MODELS = OKL

SCALER: Any = [
    *(("first", "i8"), ("last", "i8"), ("count", "i8"), ("centred", "?"), ("settled", "?")),
    *(("numbers", "f8", len(NUMBERS)), ("units", "f8", 2)),
]
METRICS, EQUAL = 4, 1  # of ``Distances``; one of them has equal weights, the others are learned
LEARNED = [m for m in range(METRICS) if m != EQUAL]
LARGEST_RATIO = 1e20  # of units of a target, as in _core/mixture/target_mixture.pyx
LEAST_SHARE = 0.5  # of the largest share: shards with less contribute no tree
# Lower bound of a kernel's weight in a mixture when kernels are compared: the result on a few samples is no reason to
# give up a kernel.
LEAST_WEIGHT = 0.01


@dataclasses.dataclass
class KernelChoice:
    """A kernel of the processes: scale and metric, and the means that determine its γ."""

    scale: float
    metric: int
    mean_distance: float
    mean_square: float

    @property
    def kind(self) -> tuple[float, int]:
        return self.scale, self.metric


class Mixed:
    """The parts of a mixture."""

    rows: Positions  # the rows of its points in the common space
    columns: Positions  # the columns of its scaler's features
    weights: Arrays  # [column, metric]

    def __init__(self, model: Any) -> None:
        self.f = model._f
        self.read()

    def adopt(self, units: dict[Hashable, tuple[float, float]]) -> None:
        """Convert a copy of the mixture to these units of the features, and read it anew."""
        make, options, state = self.f.__reduce__()
        self.f = make(*options)
        self.f.restore(state)
        self.f.adopt_units(units)
        self.read()

    def read(self) -> None:
        """Read the state of the mixture."""
        self.state: State = self.f.state()
        self.task: str = self.f.task
        self.processes: State = self.state["processes"]
        scaler = self.state["scaler"]
        self.names: list[Hashable] = scaler["names"]
        self.places: NDArray[np.int32] = scaler["places"]  # of these features in its metrics and linear models
        columns = [self.processes[name].tolist() for name in ("scales", "metrics", "means")]
        self.kernels = [KernelChoice(scale, metric, *means) for scale, metric, means in zip(*columns, strict=True)]
        weights = np.exp(self.state["today"]["log_weights"])
        self.mixture_weights: Arrays = weights / weights.sum()
        self.target = _moments(self.state["target"]) if "target" in self.state else Moments()
        count, mean, square = self.state["weights"].tolist()
        self.sample_weights = Moments(count, mean, max(0.0, square - mean**2))
        self.seen: int = self.state["seen"]
        self.n_processes = len(self.processes["posteriors"])

    def part(self, table: Any) -> State:
        """Return the state of a table in the mixture, or of the mixture itself."""
        found: State = self.state
        for name in table.path:
            found = found[name]
        return found

    def in_order(self) -> list[Hashable]:
        """Return its features in order of their places; the first ones are inputs of linear regressions."""
        return [self.names[i] for i in np.argsort(self.places).tolist()]

    def error_of_trees(self) -> float:
        """Return the running error of its trees, averaged over all trees."""
        forests = [self.state[expert.name] for expert in self.f.experts if isinstance(expert, Trees)]
        running: list[float] = [error for forest in forests for error in forest["running"][:, 1].tolist()]
        return sum(running) / max(1, len(running))

    def of_kernel(self, i: int) -> slice:
        """Return the slice of the processes with kernel i."""
        n = len(POSTERIORS_OF[self.task])
        return slice(n * i, n * (i + 1))

    def kernel_weight(self, i: int) -> float:
        """Return the weight of the experts with kernel i."""
        return float(self.mixture_weights[self.of_kernel(i)].sum())

    def source(self, kernel: KernelChoice) -> int:
        """Return the index of its kernel of this kind, or of the one with the highest weight."""
        for i, own in enumerate(self.kernels):
            if own.kind == kernel.kind:
                return i
        return max(range(len(self.kernels)), key=self.kernel_weight)

    def settle(self, rows: Positions, at: dict[Hashable, int]) -> None:
        """Set the positions of its points and features among those of all mixtures."""
        self.rows = rows
        self.columns = np.array([at[name] for name in self.names], dtype=np.int64)
        self.weights = np.ones((len(at), METRICS))
        for m in LEARNED:
            self.weights[self.columns, m] = self.state["distances"][f"weights_{m}"][self.places]

    @functools.cached_property
    def features(self) -> dict[Hashable, State]:
        """The statistics of each feature in its scaler."""
        columns = [column for column, *_ in SCALER]
        rows = zip(*(self.state["scaler"][column].tolist() for column in columns), strict=True)
        return {name: dict(zip(columns, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}


class Merging:
    """The parts of several mixtures, and the state of the merged one."""

    def __init__(self, shards: Shards) -> None:
        self.take(shards, Mixed)
        self.rows: Positions = np.zeros(0, dtype=np.int64)  # the points of the merged mixture
        self.task = self.first.task
        self.donors = self.donors_of_trees()
        owners = [self.donors[0], *(each for _, each in self.active)]  # the first one's features keep their places
        self.names = list(dict.fromkeys(name for each in owners for name in each.in_order()))
        self.adopt_units()
        at = self.column_of_feature()
        points, scalers = ([each.state[part] for each in self.with_start] for part in ("points", "scaler"))
        X, rows, self.content = joined(points, scalers, at)
        for each, own in zip(self.with_start, rows, strict=True):
            each.settle(own, at)
        self.space = Space(X, self.first.f.terms, 1.0 + self.first.f.processes.jitter)
        self.weights = self.merged_weights(len(at))
        self.target = self.moments(lambda each: each.target)
        self.unit = self.target.mean, math.sqrt(self.target.variance) or 1.0  # of the targets
        if len(self.active) == 1 and self.task == "regression":
            self.unit = self.first.state["centre"], self.first.state["size"]
        self.kernels = self.merged_kernels()

    def take(self, shards: Shards, apart: Callable[[Any], Any]) -> None:
        """Take the models apart, and compute how many samples the merged model has seen."""
        self.shards, self.shares, self.evidence = shards, shards.shares.tolist(), shards.evidence.tolist()
        self.all = [apart(model) for model in shards.models]
        self.start = apart(shards.start)
        self.with_start = [self.start, *self.all]
        self.check_start()
        self.active = [(share, each) for share, each in zip(self.shares, self.all, strict=True) if share > 0.0]
        self.first = self.active[0][1]
        self.by_evidence = [*zip(self.evidence, self.all, strict=True)]  # all, and how much their evidence counts
        added = sum(e * (each.seen - self.start.seen) for e, each in self.by_evidence)
        self.seen = max(round(self.start.seen + added), int(added > 0.0))

    def adopt_units(self) -> None:
        """Merge the scalers, and convert all mixtures to the units of the merged one."""
        self.scaler: State = self.merged_scaler()
        settled, units = self.scaler["settled"].tolist(), self.scaler["units"].tolist()
        in_force = {name: unit for name, known, unit in zip(self.names, settled, units, strict=True) if known}
        for each in self.with_start:
            each.adopt(in_force)

    def column_of_feature(self) -> dict[Hashable, int]:
        """Return the column of each feature of all mixtures; those of the merged one come first."""
        every = [*self.names, *(name for each in self.with_start for name in each.names)]
        return {name: j for j, name in enumerate(dict.fromkeys(every))}

    def donors_of_trees(self) -> list[Mixed]:
        """Return the shard with the largest share (of equals the one with the lowest errors); then others by errors."""
        first = max(self.active, key=lambda each: (each[0], -each[1].error_of_trees()))
        others = [each for each in self.active if each is not first and each[0] >= LEAST_SHARE * first[0]]
        return [first[1], *sorted((each for _, each in others), key=Mixed.error_of_trees)]

    def check_start(self) -> None:
        """Raise if a shard saw a feature before it left the start, and the start did not see it in the same sample."""
        for i, each in enumerate(self.all):
            for name, own in each.features.items():
                known = self.start.features.get(name, {"first": 0, "count": 0})
                apart = known["first"] != own["first"] or known["count"] > own["count"]
                if own["first"] <= self.start.seen and apart:
                    raise not_from_start(i, f"they did not see feature {shown(name)} in the same samples")

    def mean(self, of: Callable[[Mixed], Any]) -> Any:
        """Return the average over the shards."""
        return self.averaged([of(each) for _, each in self.active])

    def averaged(self, found: Any) -> Any:
        """Return the average of values of the shards."""
        return average([share for share, _ in self.active], found)

    def each(self, table: Any, name: str) -> Arrays:
        """Return an array of a table in every shard, with features and units converted to the merged mixture's."""
        ((array, axes),) = ((array, axes) for array, axes in table.arrays() if array.name == name)
        kinds = [getattr(axis, "name", None) for axis in axes]
        found = [each.part(table)[name] for _, each in self.active]
        if "feature" in kinds:
            at = kinds.index("feature")
            found = [self.along(at, each, own) for (_, each), own in zip(self.active, found, strict=True)]
        if array.power:
            ratios = [self.units(each)[0] for _, each in self.active]
            found = [ratio**array.power * own for ratio, own in zip(ratios, found, strict=True)]
        return np.stack(found)

    def arrays(self, table: Any) -> State:
        """Return the merged arrays and numbers of a table for which a rule is declared."""
        merged: State = {}
        for array, axes in table.arrays():
            if array.merge:
                found = ARRAY_RULES[array.merge](self, table, array.name)
                found = np.clip(found, array.low, array.high) if array.power else found
                merged[array.name] = (
                    np.asarray(found).astype(array.dtype, copy=False) if axes else np.asarray(found).item()
                )
        return merged

    def counted(self, table: Any, name: str) -> Any:
        """Return a count: that of the start, and what every shard has added; one below the start's has restarted."""
        first = self.start.part(table)[name]
        ends = [(e, each.part(table)[name]) for e, each in self.by_evidence]
        return np.int64(round(first + sum(e * (end - first if end >= first else end) for e, end in ends)))

    def late(self, table: Any) -> State:
        """Return what is known of late labels, if one shard alone has learned classes; otherwise it is new."""
        alone = len(self.active) == 1 and self.task != "regression"
        found: State = self.first.part(table) if alone else table.state()
        return found

    def moments(self, of: Callable[[Mixed], Moments]) -> Moments:
        return pooled(of(self.start), [(e, of(each)) for e, each in self.by_evidence])

    def add_points(self, rows: list[int], *, equal: bool = False) -> dict[int, int]:
        """Return the positions of these rows among the points of the merged mixture, and add those that are missing.

        With ``equal`` any point with the same content matches.
        """
        there = (self.content[self.rows] if equal else self.rows).tolist()
        position = {row: i for i, row in enumerate(there)}
        new = [row for row in rows if row not in position]
        self.rows = np.concatenate([self.rows, np.array(new, dtype=np.int64)])
        return position | {row: i for i, row in enumerate(new, start=len(there))}

    def followed(self, of: Callable[[Any], Any]) -> State:
        """Return the merged state of a calibration of the mixtures."""
        return followed(self.shards, lambda model: of(model._f))

    # What was counted -------------------------------------------------------------------------------------------------

    def merged_scaler(self) -> State:
        """Return the merged state of ``Scaler``."""
        rows = np.array([self.feature(name) for name in self.names], dtype=SCALER)
        scalers = [each.state["scaler"] for _, each in self.active]
        return {
            "names": self.names,
            "places": np.arange(len(self.names), dtype=np.int32),
            **{column: rows[column].copy() for column, *_ in SCALER},
            "free": np.zeros(0, dtype=np.int32),
            "seen": self.seen,
            "settled_at": max(0, self.seen - min(scaler["seen"] - scaler["settled_at"] for scaler in scalers)),
        }

    def feature(self, name: Hashable) -> tuple[Any, ...]:
        """Return the merged statistics of a feature, from the start and every shard that learned it."""
        before, ends = self.start.features.get(name), [each.features.get(name) for _, each in self.active]
        if before and not any(end and end["first"] == before["first"] for end in ends):
            before = None  # all shards dropped the feature, and it was new again
        start, count = (_moments(before["numbers"]), before["count"]) if before else (Moments(), 0)
        evidence = [e for e, share in zip(self.evidence, self.shares, strict=True) if share > 0.0]
        learned = [e * (each.seen - self.start.seen) for e, (_, each) in zip(evidence, self.active, strict=True)]
        learned = learned if any(new for new, end in zip(learned, ends, strict=True) if end) else evidence
        present, votes, gap, streams = 0.0, 0.0, self.seen, []
        for e, new, (_, each), end in zip(evidence, learned, self.active, ends, strict=True):
            if end is None:
                continue
            present += new * end["count"] / (each.seen + 1 - end["first"])
            count += e * (end["count"] - (before["count"] if before and end["first"] == before["first"] else 0))
            votes += new * (end["centred"] - 0.5)
            gap = min(gap, each.seen - end["last"])
            streams.append((e, _moments(end["numbers"])))
        count = max(1, round(count))
        first = max(1, self.seen + 1 - max(count, round(count * sum(learned) / present)))
        # the gap of a shard with a small weight may be longer than the merged stream
        last = min(max(first, self.seen - gap, first + count - 1), self.seen)
        known, centred = [end for end in ends if end], votes >= 0.0
        if len(known) == 1:
            return first, last, count, centred, known[0]["settled"], known[0]["numbers"], known[0]["units"]
        values = pooled(start, streams)
        numbers = _numbers(values, [end["numbers"] for end in known])
        return first, last, count, centred, any(end["settled"] for end in known), numbers, _unit(values, centred)

    def words(self) -> Positions:
        """Return hashes of the strings that were seen once, at most as many as one mixture stores."""
        found = np.concatenate([each.state["words"] for _, each in self.active])
        return found[np.sort(np.unique(found, return_index=True)[1])][-MAX_WORDS:]

    def merged_weights(self, size: int) -> Arrays:
        """Return the weights of every feature under every metric, averaged over the mixtures that have the feature."""
        total, mass = np.zeros((size, METRICS)), np.zeros((size, 1))
        for share, each in self.active:
            total[each.columns] += share * each.weights[each.columns]
            mass[each.columns] += share
        found: Arrays = np.divide(total, mass, out=np.ones_like(total), where=mass > 0.0)
        found[:, EQUAL] = 1.0
        return found

    def matrix(self) -> Any:
        """Return the points of the merged mixture, a row each."""
        return self.space.X[self.rows]

    def relevance(self) -> State:
        """Return the summed evidence of neighbours for each feature: an average was too weak on many clusters."""
        updates = self.start.state["updates"]
        kept = [0.5 ** (each.state["updates"] - updates) for _, each in self.by_evidence]  # it is halved there
        of_start = min(kept) - sum(e * k for (e, _), k in zip(self.by_evidence, kept, strict=True))
        found = {}
        for name in "evidence", "evidence_squares":
            total: Arrays = of_start * self.known(self.start, name)
            for e, each in self.by_evidence:
                total += e * self.known(each, name)
            found[name] = total
        return found | {"evidence_squares": np.maximum(found["evidence_squares"], 0.0)}

    def known(self, each: Mixed, name: str) -> Arrays:
        """Return the sums of a mixture's distances for each feature, 0 for unknown features."""
        return self.along(0, each, each.state["distances"][name])

    def along(self, axis: int, each: Mixed, values: Arrays) -> Arrays:
        """Return values of a mixture for its features along this axis, at their positions in the merged one, or 0."""
        own = np.moveaxis(values, axis, 0)[each.places]
        found = np.zeros((len(self.names), *own.shape[1:]))
        here = each.columns < len(self.names)
        found[each.columns[here]] = own[here]
        return np.ascontiguousarray(np.moveaxis(found, 0, axis))

    def units(self, each: Mixed) -> tuple[float, float]:
        """Return factor and offset that convert its standardised targets to those of the merged mixture."""
        centre, size = self.unit
        ratio = min(each.state["size"] / size, LARGEST_RATIO)
        return ratio, (each.state["centre"] - centre) / size

    def target_state(self) -> State:
        """Return the merged statistics of the targets, and their unit."""
        ends = [each.state["target"] for _, each in self.active]
        return {"target": _numbers(self.target, ends), "centre": self.unit[0], "size": self.unit[1]}

    # Kernels ----------------------------------------------------------------------------------------------------------

    def merged_kernels(self) -> list[KernelChoice]:
        """Return kernels of the kinds with the highest weights, at their positions in the first mixture."""
        support: dict[tuple[float, int], float] = {}
        for share, each in self.active:
            for k, kernel in enumerate(each.kernels):
                weight = max(LEAST_WEIGHT, each.kernel_weight(k))
                support[kernel.kind] = support.get(kernel.kind, 0.0) + share * weight
        chosen = sorted(support, key=lambda kind: (-support[kind], kind))[: len(self.first.kernels)]
        slots = [kernel.kind if kernel.kind in chosen else None for kernel in self.first.kernels]
        rest = [kind for kind in chosen if kind not in slots]
        return [self.kernel_of_kind(kind or rest.pop(0)) for kind in slots]

    def kernel_of_kind(self, kind: tuple[float, int]) -> KernelChoice:
        """Return a kernel with the average of its owners' means."""
        owners = [(share, kernel) for share, each in self.active for kernel in each.kernels if kernel.kind == kind]
        mass = sum(share for share, _ in owners)
        distance = sum(share * kernel.mean_distance for share, kernel in owners) / mass
        square = sum(share * kernel.mean_square for share, kernel in owners) / mass
        return KernelChoice(*kind, distance, square)

    def sources(self, each: Mixed) -> list[int]:
        """Return for each merged kernel the index of its corresponding kernel."""
        return [each.source(kernel) for kernel in self.kernels]

    def of_processes(self, each: Mixed, values: Arrays) -> Arrays:
        """Return values of its processes, for the kernels that correspond to the merged ones."""
        return np.concatenate([values[each.of_kernel(k)] for k in self.sources(each)])

    def mean_of_processes(self, of: Callable[[Mixed], Any]) -> Arrays:
        """Return the average of numbers of the processes, for the kernels that correspond to the merged ones."""
        found: Arrays = self.mean(lambda each: self.of_processes(each, np.array(of(each))))
        return found

    def sample_weights(self) -> Arrays:
        """Return the moments of the sample weights."""
        mean = self.moments(lambda each: each.sample_weights)
        return np.array([mean.count, mean.mean, mean.variance + mean.mean**2])

    def log_weights(self) -> Arrays:
        def of(each: Mixed) -> Arrays:
            own = each.state["today"]["log_weights"]
            late = [NEWCOMER * (each.kernels[each.source(kernel)].kind != kernel.kind) for kernel in self.kernels]
            processes = self.of_processes(each, own) - np.repeat(late, len(POSTERIORS_OF[self.task]))
            return np.concatenate([processes, own[each.n_processes :]])

        found: Arrays = self.mean(of)
        found -= found.max()
        return found

    def kernel(self, scale: float, metric: int, means: Arrays) -> KernelChoice:
        """Return a kernel with these means, for ``space``."""
        return KernelChoice(scale, metric, *means.tolist())

    def gram(self, k: int, rows: Positions, columns: Positions) -> Arrays:
        kernel = self.kernels[k]
        return self.space.gram(kernel, self.weights[:, kernel.metric], rows, columns)

    # Processes --------------------------------------------------------------------------------------------------------

    def posteriors(self, each: Mixed, rows: Positions, k: int, K: Arrays) -> list[MeansAndCovariance]:
        """Return its posteriors with kernel k at its dictionary, in merged units and under the merged kernel K."""
        source, metric = each.source(self.kernels[k]), self.kernels[k].metric
        own = each.kernels[source]
        same = (each.weights[each.columns, metric] == self.weights[each.columns, metric]).all()
        was, keep = K, 1.0  # as in Processes.exchange
        if own != self.kernels[k] or not same:
            was = self.space.gram(own, each.weights[:, own.metric], rows, rows)
            keep = max(each.f.processes.least_kept, alike(was, K))
        found = []
        states = each.processes["posteriors"][each.of_kernel(source)]
        for state, (_, prior_variance, _) in zip(states, POSTERIORS_OF[self.task], strict=True):
            factor, stored = state["factor"], unpacked(state["covariance"], len(rows))
            covariance = factor * stored + (1.0 - factor) * prior_variance * was
            means = state["means"]
            if self.task == "regression":
                ratio, shift = self.units(each)
                means = ratio * means + shift
            found.append(MeansAndCovariance(means, keep * covariance + (1.0 - keep) * prior_variance * K))
        return found

    def dictionary(self, capacity: int) -> tuple[Positions, list[State], list[State]]:
        """Return the points that the processes share, K⁻¹ of every kernel, and every posterior."""
        own = [each.rows[each.processes["points"]] for each in self.with_start]
        banks = []
        for k in range(len(self.kernels)):
            gram = functools.partial(self.gram, k)
            grams = [gram(rows, rows) for rows in own]
            places = [Places(rows, inverse(K)) for rows, K in zip(own, grams, strict=True)]
            posteriors = [
                self.posteriors(each, rows, k, K) for each, rows, K in zip(self.with_start, own, grams, strict=True)
            ]
            banks.append(OfKernel(gram, places, posteriors))
        priors = [(prior_variance, forgetting) for forgetting, prior_variance, _ in POSTERIORS_OF[self.task]]
        weights = self.mean(lambda each: each.mixture_weights[: each.n_processes]).reshape(-1, len(priors)) + 1e-3
        return Bank(self.space, banks, priors, weights).merged(self.shards, capacity)

    # Late labels, and other experts -----------------------------------------------------------------------------------

    def running(self, of: Callable[[Mixed], tuple[Any, float]]) -> Arrays:
        """Return merged running statistics (_core/store/running.pyx) from each mixture's, and a factor for its unit."""

        def converted(each: Mixed) -> Moments:
            numbers, ratio = of(each)
            own = _moments(numbers)
            return Moments(own.count, ratio * own.mean, ratio**2 * own.variance)

        return _numbers(self.moments(converted), [])

    def inputs(self, each: Mixed, n: int, rows: int) -> tuple[Positions, Positions]:
        """Return the positions of a regression's inputs (the constant, and features) here and in a shard,
        which have n and ``rows`` inputs."""
        here = (each.columns < n - 1) & (each.places < rows - 1)
        return np.append(0, 1 + each.columns[here]), np.append(0, 1 + each.places[here])

    unpacked = staticmethod(unpacked)

    def by_precision(self, regressions: list[tuple[float, Arrays, Arrays]]) -> State:
        """Average coefficients of linear regressions, given with shares and covariances, weighted by precision."""
        precisions = [share * inverse(covariance) for share, _, covariance in regressions]
        information = sum(precision @ coef for precision, (_, coef, _) in zip(precisions, regressions, strict=True))
        covariance = inverse(np.sum(precisions, axis=0))
        return {"coef": covariance @ information, "covariance": packed(covariance)}

    # Together ---------------------------------------------------------------------------------------------------------

    def state(self, f: Any) -> State:
        """Return the merged state for a mixture with the capacity of f."""
        experts = {expert.name: expert.merged(self) for expert in f.experts}  # these choose the points, in ``rows``
        known = set(self.names)
        stores, rows = [each.f.points for each in self.with_start], [each.rows for each in self.with_start]
        points = points_of(stores, rows, self.rows)
        # a point of the start may have a feature that all shards have forgotten since
        points = [{name: value for name, value in z.items() if name in known} for z in points]
        return {
            **self.arrays(f),
            **experts,
            **(self.target_state() if self.task == "regression" else {}),
            "change": f.change.merged(self),
            "distances": f.distances.merged(self),
            "points": stored(points, f.budget + 2, self.names)["points"],
            "scaler": self.scaler,
            "words": self.words(),
            "weights": self.sample_weights(),
            "shares": self.mean(lambda each: each.state["shares"][self.sources(each)]),
            "seen": self.seen,
            "next_update": self.seen + min(max(1, each.state["next_update"] - each.seen) for _, each in self.active),
            "pending": without_predictions(self.first.state["pending"]),
        }


ARRAY_RULES: dict[str, Callable[[Merging, Any, str], Any]] = {  # of declarations in ``_core/store/table.pyx``
    "mean": lambda merging, table, name: merging.averaged(merging.each(table, name)),
    "sum": Merging.counted,
    "late": lambda merging, table, name: merging.late(table)[name],
    "first": lambda merging, table, name: merging.first.part(table)[name],
    "min": lambda merging, table, name: min(each.part(table)[name] for _, each in merging.active),
    "max": lambda merging, table, name: max(each.part(table)[name] for _, each in merging.active),
}


def _moments(numbers: Any) -> Moments:
    """Return the moments among the values that ``NUMBERS`` names."""
    of = dict(zip(NUMBERS, map(float, numbers), strict=True))
    return Moments(of["count"], of["mean"], of["variance"])


def _numbers(values: Moments, ends: list[Any]) -> Arrays:
    """Return running statistics of these moments, at the start of a new block of values.

    The mean squared step between values is averaged over the streams, which end with these statistics.
    """
    count = min(round(values.count), LARGEST_COUNTED)
    known = {"count": count, "away": count, "mean": values.mean, "variance": values.variance, "last": values.mean}
    steps = [end[NUMBERS.index("steps")] for end in ends]
    known["steps"] = sum(steps) / len(steps) if steps else 2.0 * values.variance
    return np.array([known.get(name, 0.0) for name in NUMBERS], dtype=np.float64)


def _unit(values: Moments, centred: bool) -> tuple[float, float]:
    """Return centre and size of the unit of a feature with these values."""
    centre = values.mean if centred else 0.0
    return centre, math.hypot(math.sqrt(values.variance), values.mean - centre)


def merged(shards: Shards) -> Any:
    """Return the merged mixture."""
    model = shards.new()
    model._f.restore(Merging(shards).state(model._f))
    return model
