"""Merge mixtures (``OKLClassifier``, ``OKLRegressor``) that learned shards of a stream in parallel.

The mixtures were copies of one start. ``Merging`` takes them apart and computes the state of the merged mixture, which
``Mixture.restore`` checks. Each part of the state has a rule of its own:

    scaler, target,      Moments are averaged. The weight of a shard is the number of values that it has learned since
    sample weights       the start. Counts are added.
    distances            The feature weights are averaged.
    kernels              The merged mixture has the kernels with the highest weights. A mixture without one of them
                         continues from its highest-weighted kernel, as it does when a kernel moves.
    processes            The evidence of all shards is added over one dictionary, whose points are chosen from the
                         dictionaries of the shards (gaussian.py).
    other experts        Each array follows the rule that its declaration names (``ARRAY_RULES``). The rest follows the
                         ``merged`` method of the expert, which receives the ``Merging``.
    pending predictions  They are dropped, because the merged mixture has not made any.

All points are the rows of one matrix, ``Merging.space``, without duplicates. All features are its columns. The features
of the merged mixture come first.
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
    *(("first", "i8"), ("last", "i8"), ("count", "i8"), ("skipped", "i8"), ("centred", "?"), ("settled", "?")),
    *(("numbers", "f8", len(NUMBERS)), ("units", "f8", 2)),
]
METRICS, EQUAL = 4, 1  # the number of metrics of ``Distances``, and the one with equal feature weights
LEARNED = [m for m in range(METRICS) if m != EQUAL]
LARGEST_RATIO = 1e20  # of two units of the target, as in _core/mixture/target_mixture.pyx
# A mixture's weight for a kernel counts as at least this when kernels are compared. Without this bound, a few samples
# could suffice to give up a kernel.
LEAST_WEIGHT = 0.01


@dataclasses.dataclass
class KernelChoice:
    """A kernel of the processes: its scale, its metric, and the means from which its γ follows."""

    scale: float
    metric: int
    mean_distance: float
    mean_square: float

    @property
    def kind(self) -> tuple[float, int]:
        """Scale and metric. Kernels of different mixtures correspond if these are equal."""
        return self.scale, self.metric


class Mixed:
    """A mixture taken apart, with the positions of its points and features in the common space."""

    rows: Positions  # of its points in the common space
    columns: Positions  # of its scaler's features in the common space
    weights: Arrays  # [column, metric], the feature weights

    def __init__(self, model: Any) -> None:
        self.f = model._f
        self.read()

    def adopt(self, units: dict[Hashable, tuple[float, float]]) -> None:
        """Replace the mixture by a copy that is converted to these units of the features, and read its state."""
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
        """Return the state of the part of this mixture that corresponds to a table of another one."""
        found: State = self.state
        for name in table.path:
            found = found[name]
        return found

    def in_order(self) -> list[Hashable]:
        """Return its features in the order of their places. Linear regressions have only the first ones as inputs."""
        return [self.names[i] for i in np.argsort(self.places).tolist()]

    def of_kernel(self, i: int) -> slice:
        """Return the positions of the processes with kernel i."""
        n = len(POSTERIORS_OF[self.task])
        return slice(n * i, n * (i + 1))

    def kernel_weight(self, i: int) -> float:
        """Return the total mixture weight of the processes with kernel i."""
        return float(self.mixture_weights[self.of_kernel(i)].sum())

    def source(self, kernel: KernelChoice) -> int:
        """Return the index of its kernel of this kind or, if it has none, of its highest-weighted kernel."""
        for i, own in enumerate(self.kernels):
            if own.kind == kernel.kind:
                return i
        return max(range(len(self.kernels)), key=self.kernel_weight)

    def settle(self, rows: Positions, at: dict[Hashable, int]) -> None:
        """Set the positions of its points and features in the common space, and its feature weights there."""
        self.rows = rows
        self.columns = np.array([at[name] for name in self.names], dtype=np.int64)
        self.weights = np.ones((len(at), METRICS))
        for m in LEARNED:
            self.weights[self.columns, m] = self.state["distances"][f"weights_{m}"][self.places]

    @functools.cached_property
    def features(self) -> dict[Hashable, State]:
        """The scaler's statistics of each feature, by name."""
        columns = [column for column, *_ in SCALER]
        rows = zip(*(self.state["scaler"][column].tolist() for column in columns), strict=True)
        return {name: dict(zip(columns, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}


class Merging:
    """Several mixtures taken apart, and the rules that compute the state of the merged one."""

    def __init__(self, shards: Shards) -> None:
        self.take(shards, Mixed)
        self.rows: Positions = np.zeros(0, dtype=np.int64)  # points of the merged mixture, in ``space``
        self.task = self.first.task
        largest = max(self.active, key=lambda each: each[0])[1]
        owners = [largest, *(each for _, each in self.active)]  # features of the first owner keep their places
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
        """Take the models apart by ``apart``, and compute how many samples the merged model has seen."""
        self.shards, self.shares, self.evidence = shards, shards.shares.tolist(), shards.evidence.tolist()
        self.all = [apart(model) for model in shards.models]
        self.start = apart(shards.start)
        self.with_start = [self.start, *self.all]
        self.check_start()
        self.active = [(share, each) for share, each in zip(self.shares, self.all, strict=True) if share > 0.0]
        self.first = self.active[0][1]
        self.by_evidence = [*zip(self.evidence, self.all, strict=True)]  # all mixtures, with their weights in sums
        added = sum(e * (each.seen - self.start.seen) for e, each in self.by_evidence)
        self.seen = max(round(self.start.seen + added), int(added > 0.0))

    def adopt_units(self) -> None:
        """Merge the scalers, and convert all mixtures to the units of the merged scaler."""
        self.scaler: State = self.merged_scaler()
        settled, units = self.scaler["settled"].tolist(), self.scaler["units"].tolist()
        in_force = {name: unit for name, known, unit in zip(self.names, settled, units, strict=True) if known}
        for each in self.with_start:
            each.adopt(in_force)

    def column_of_feature(self) -> dict[Hashable, int]:
        """Return a column for each feature of any mixture. Features of the merged mixture come first."""
        every = [*self.names, *(name for each in self.with_start for name in each.names)]
        return {name: j for j, name in enumerate(dict.fromkeys(every))}

    def check_start(self) -> None:
        """Raise if a shard cannot have been a copy of the start.

        The start must know every feature that the shard saw before it left the start. It must have seen the feature in
        the same sample first, and not more often than the shard.
        """
        for i, each in enumerate(self.all):
            for name, own in each.features.items():
                known = self.start.features.get(name, {"first": 0, "count": 0})
                apart = known["first"] != own["first"] or known["count"] > own["count"]
                if own["first"] <= self.start.seen and apart:
                    raise not_from_start(i, f"they did not see feature {shown(name)} in the same samples")

    def mean(self, of: Callable[[Mixed], Any]) -> Any:
        """Return the average of a value of each shard, weighted by the shares."""
        return self.averaged([of(each) for _, each in self.active])

    def averaged(self, found: Any) -> Any:
        """Return the average of these values, one for each shard, weighted by the shares."""
        return average([share for share, _ in self.active], found)

    def each(self, table: Any, name: str) -> Arrays:
        """Return an array of a table from every shard, with the features and in the units of the merged mixture."""
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
        """Return the merged arrays and numbers of a table, of those that declare a rule."""
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
        """Return the count of the start plus what every shard has added.

        A count that is lower than that of the start has restarted, so it is added in full.
        """
        first = self.start.part(table)[name]
        ends = [(e, each.part(table)[name]) for e, each in self.by_evidence]
        return np.int64(round(first + sum(e * (end - first if end >= first else end) for e, end in ends)))

    def late(self, table: Any) -> State:
        """Return the state of a table about late labels: kept if a single classifier has learned, otherwise reset."""
        alone = len(self.active) == 1 and self.task != "regression"
        found: State = self.first.part(table) if alone else table.state()
        return found

    def moments(self, of: Callable[[Mixed], Moments]) -> Moments:
        """Return the pooled moments of some values of the start and of all shards."""
        return pooled(of(self.start), [(e, of(each)) for e, each in self.by_evidence])

    def add_points(self, rows: list[int], *, equal: bool = False) -> dict[int, int]:
        """Add points to the merged mixture unless it has them, and return the position of each point by its row.

        With ``equal``, any point of the merged mixture with the same content counts as the point itself.
        """
        there = (self.content[self.rows] if equal else self.rows).tolist()
        position = {row: i for i, row in enumerate(there)}
        new = [row for row in rows if row not in position]
        self.rows = np.concatenate([self.rows, np.array(new, dtype=np.int64)])
        return position | {row: i for i, row in enumerate(new, start=len(there))}

    def followed(self, of: Callable[[Any], Any]) -> State:
        """Return the merged state of a calibration that each mixture has."""
        return followed(self.shards, lambda model: of(model._f))

    # Features and targets ---------------------------------------------------------------------------------------------

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
        """Return the merged statistics of a feature, as a row of ``SCALER``."""
        before, ends = self.start.features.get(name), [each.features.get(name) for _, each in self.active]
        if before and not any(end and end["first"] == before["first"] for end in ends):
            before = None  # all shards have dropped the feature since, and some have learned it again
        start, count = (_moments(before["numbers"]), before["count"]) if before else (Moments(), 0)
        evidence = [e for e, share in zip(self.evidence, self.shares, strict=True) if share > 0.0]
        learned = [e * (each.seen - self.start.seen) for e, (_, each) in zip(evidence, self.active, strict=True)]
        learned = learned if any(new for new, end in zip(learned, ends, strict=True) if end) else evidence
        present, votes, gap, streams = 0.0, 0.0, self.seen, []
        for e, new, (_, each), end in zip(evidence, learned, self.active, ends, strict=True):
            if end is None:
                continue
            present += new * end["count"] / (each.seen + 1 - end["first"] - end["skipped"])
            count += e * (end["count"] - (before["count"] if before and end["first"] == before["first"] else 0))
            votes += new * (end["centred"] - 0.5)
            gap = min(gap, each.seen - end["last"])
            streams.append((e, _moments(end["numbers"])))
        count = max(1, round(count))
        # so that the frequency of the feature since ``first`` is its average frequency in the shards
        first = max(1, self.seen + 1 - max(count, round(count * sum(learned) / present)))
        # clipped, as a shard with a small weight may have a gap that is longer than the merged stream
        last = min(max(first, self.seen - gap, first + count - 1), self.seen)
        known, centred = [end for end in ends if end], votes >= 0.0
        if len(known) == 1:
            return first, last, count, 0, centred, known[0]["settled"], known[0]["numbers"], known[0]["units"]
        values = pooled(start, streams)
        numbers = _numbers(values, [end["numbers"] for end in known])
        return first, last, count, 0, centred, any(end["settled"] for end in known), numbers, _unit(values, centred)

    def words(self) -> Positions:
        """Return the hashes of strings that were seen once, at most as many as one mixture stores."""
        found = np.concatenate([each.state["words"] for _, each in self.active])
        return found[np.sort(np.unique(found, return_index=True)[1])][-MAX_WORDS:]

    def merged_weights(self, size: int) -> Arrays:
        """Return the feature weights of every metric, averaged over the shards that have the feature."""
        total, mass = np.zeros((size, METRICS)), np.zeros((size, 1))
        for share, each in self.active:
            total[each.columns] += share * each.weights[each.columns]
            mass[each.columns] += share
        found: Arrays = np.divide(total, mass, out=np.ones_like(total), where=mass > 0.0)
        found[:, EQUAL] = 1.0
        return found

    def matrix(self) -> Any:
        """Return the points of the merged mixture as the rows of a matrix."""
        return self.space.X[self.rows]

    def known(self, each: Mixed, name: str) -> Arrays:
        """Return an array of a mixture's ``Distances`` for the merged features; it is 0 for unknown ones."""
        return self.along(0, each, each.state["distances"][name])

    def along(self, axis: int, each: Mixed, values: Arrays, *, unknown: float = 0.0) -> Arrays:
        """Return values of a mixture for the merged features, which are along this axis.

        ``unknown`` is the value of features that the mixture does not know.
        """
        own = np.moveaxis(values, axis, 0)[each.places]
        found = np.full((len(self.names), *own.shape[1:]), unknown)
        here = each.columns < len(self.names)
        found[each.columns[here]] = own[here]
        return np.ascontiguousarray(np.moveaxis(found, 0, axis))

    def units(self, each: Mixed) -> tuple[float, float]:
        """Return the factor and the offset that convert its standardised targets to the merged unit."""
        centre, size = self.unit
        ratio = min(each.state["size"] / size, LARGEST_RATIO)
        return ratio, (each.state["centre"] - centre) / size

    def target_state(self) -> State:
        """Return the merged statistics and the merged unit of the targets."""
        ends = [each.state["target"] for _, each in self.active]
        return {"target": _numbers(self.target, ends), "centre": self.unit[0], "size": self.unit[1]}

    # Kernels ----------------------------------------------------------------------------------------------------------

    def merged_kernels(self) -> list[KernelChoice]:
        """Return the kernels of the merged mixture, one for each of the highest-weighted kinds.

        A kind that the first shard has keeps its position there.
        """
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
        """Return a kernel of this kind, with means that are averaged over the shards that have one."""
        owners = [(share, kernel) for share, each in self.active for kernel in each.kernels if kernel.kind == kind]
        mass = sum(share for share, _ in owners)
        distance = sum(share * kernel.mean_distance for share, kernel in owners) / mass
        square = sum(share * kernel.mean_square for share, kernel in owners) / mass
        return KernelChoice(*kind, distance, square)

    def sources(self, each: Mixed) -> list[int]:
        """Return the index of the mixture's kernel from which each merged kernel continues."""
        return [each.source(kernel) for kernel in self.kernels]

    def of_processes(self, each: Mixed, values: Arrays) -> Arrays:
        """Return values of its processes, in the order of the merged kernels that continue from them."""
        return np.concatenate([values[each.of_kernel(k)] for k in self.sources(each)])

    def mean_of_processes(self, of: Callable[[Mixed], Any]) -> Arrays:
        """Return the average over the shards of a number of each process, in the order of the merged kernels."""
        found: Arrays = self.mean(lambda each: self.of_processes(each, np.array(of(each))))
        return found

    def sample_weights(self) -> Arrays:
        """Return the count, the mean and the mean square of the sample weights."""
        mean = self.moments(lambda each: each.sample_weights)
        return np.array([mean.count, mean.mean, mean.variance + mean.mean**2])

    def log_weights(self) -> Arrays:
        """Return the log-weights of the experts, averaged over the shards; the largest is 0.

        In a shard without the kernel, a process has the log-weight of the one from which it continues, less
        ``NEWCOMER``.
        """

        def of(each: Mixed) -> Arrays:
            own = each.state["today"]["log_weights"]
            late = [NEWCOMER * (each.kernels[each.source(kernel)].kind != kernel.kind) for kernel in self.kernels]
            processes = self.of_processes(each, own) - np.repeat(late, len(POSTERIORS_OF[self.task]))
            return np.concatenate([processes, own[each.n_processes :]])

        found: Arrays = self.mean(of)
        found -= found.max()
        return found

    def kernel(self, scale: float, metric: int, means: Arrays) -> KernelChoice:
        """Return a kernel for ``space``; its means are the mean distance and the mean square."""
        return KernelChoice(scale, metric, *means.tolist())

    def gram(self, k: int, rows: Positions, columns: Positions) -> Arrays:
        """Return the values of merged kernel k between the points at ``rows`` and those at ``columns``."""
        kernel = self.kernels[k]
        return self.space.gram(kernel, self.weights[:, kernel.metric], rows, columns)

    # Processes --------------------------------------------------------------------------------------------------------

    def posteriors(self, each: Mixed, rows: Positions, k: int, K: Arrays) -> list[MeansAndCovariance]:
        """Return its posteriors with merged kernel k, in merged units.

        ``rows`` are the points of its dictionary, and ``K`` is their Gram matrix under the merged kernel.
        """
        source, metric = each.source(self.kernels[k]), self.kernels[k].metric
        own = each.kernels[source]
        same = (each.weights[each.columns, metric] == self.weights[each.columns, metric]).all()
        was, keep = K, 1.0  # a kernel that differs is replaced as in ``Processes.exchange``
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
        """Return the points of the merged dictionary, the basis (K⁻¹) of every kernel, and every posterior."""
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

    # For the ``merged`` methods of experts ----------------------------------------------------------------------------

    def inputs(self, each: Mixed, n: int, rows: int) -> tuple[Positions, Positions]:
        """Return the positions of the inputs that a merged regression and that of a shard have in common.

        The first positions are those in the merged regression, with n inputs. The second are those in the regression of
        the shard, with ``rows`` inputs. Input 0 is the constant, the others are features.
        """
        here = (each.columns < n - 1) & (each.places < rows - 1)
        return np.append(0, 1 + each.columns[here]), np.append(0, 1 + each.places[here])

    unpacked = staticmethod(unpacked)

    def by_precision(self, regressions: list[tuple[float, Arrays, Arrays]]) -> State:
        """Average linear regressions, weighted by share and precision.

        Each of them is given as its share, its coefficients and their covariance.
        """
        precisions = [share * inverse(covariance) for share, _, covariance in regressions]
        information = sum(precision @ coef for precision, (_, coef, _) in zip(precisions, regressions, strict=True))
        covariance = inverse(np.sum(precisions, axis=0))
        return {"coef": covariance @ information, "covariance": packed(covariance)}

    # The merged state -------------------------------------------------------------------------------------------------

    def state(self, f: Any) -> State:
        """Return the state of the merged mixture, which has the capacity of f."""
        experts = {expert.name: expert.merged(self) for expert in f.experts}  # this fills ``rows``
        known = set(self.names)
        stores, rows = [each.f.points for each in self.with_start], [each.rows for each in self.with_start]
        points = points_of(stores, rows, self.rows)
        # a point of the start may have a feature that no shard knows any more
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


ARRAY_RULES: dict[str, Callable[[Merging, Any, str], Any]] = {  # as declared in _core/store/table.pyx
    "mean": lambda merging, table, name: merging.averaged(merging.each(table, name)),
    "sum": Merging.counted,
    "late": lambda merging, table, name: merging.late(table)[name],
    "first": lambda merging, table, name: merging.first.part(table)[name],
    "min": lambda merging, table, name: merging.each(table, name).min(axis=0),
    "max": lambda merging, table, name: merging.each(table, name).max(axis=0),
}


def _moments(numbers: Any) -> Moments:
    """Return the moments of running statistics, whose items ``NUMBERS`` names."""
    of = dict(zip(NUMBERS, map(float, numbers), strict=True))
    return Moments(of["count"], of["mean"], of["variance"])


def _numbers(values: Moments, ends: list[Any]) -> Arrays:
    """Return running statistics with these moments, at the start of a block of values.

    ``ends`` are the running statistics of the shards. The mean squared step between values is averaged over them.
    """
    count = min(round(values.count), LARGEST_COUNTED)
    known = {"count": count, "away": count, "mean": values.mean, "variance": values.variance, "last": values.mean}
    steps = [end[NUMBERS.index("steps")] for end in ends]
    known["steps"] = sum(steps) / len(steps) if steps else 2.0 * values.variance
    return np.array([known.get(name, 0.0) for name in NUMBERS], dtype=np.float64)


def _unit(values: Moments, centred: bool) -> tuple[float, float]:
    """Return centre and size of the unit of a feature: mean and standard deviation, or 0 and root mean square."""
    centre = values.mean if centred else 0.0
    return centre, math.hypot(math.sqrt(values.variance), values.mean - centre)


def merged(shards: Shards) -> Any:
    """Return the merged mixture."""
    model = shards.new()
    merging = Merging(shards)
    model._f.restore(merging.state(model._f))
    if len(merging.active) > 1:
        for expert in model._f.experts:
            expert.rebuild()
    return model
