"""River's statistics: as values, and how those of several streams merge."""

from __future__ import annotations

import collections
import copy
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from river import stats
from river.preprocessing.impute import Constant

from river_okl._core.store.sample import shown
from river_okl.checks import kind_of, require
from river_okl.wrappers.kinds import FLAG, Kind, dict_of, list_of, number, object_of, only, whole

if TYPE_CHECKING:
    from river_okl.merging.shards import Shards

COUNTS = Kind(lambda values: collections.defaultdict(int, dict_of(whole()).into(values)), dict)
MEAN = object_of(stats.Mean, n=number(0.0, 2.0**62), _mean=number())
VAR = object_of(stats.Var, ddof=only(1), mean=MEAN, _S=number(0.0))
MIN = object_of(stats.Min, min=number(infinite=True))
MAX = object_of(stats.Max, max=number(infinite=True))
ABS_MAX = object_of(stats.AbsMax, abs_max=number(0.0))
BAYESIAN_MEAN = object_of(stats.BayesianMean, 0.0, 1.0, prior=number(), prior_weight=number(0.0), _mean=MEAN)


# River's quantiles, and its ADWIN (models.py), are compiled and pickle to bytes.  They are written as numbers and
# checked, as invalid ones may make them panic.  The numbers of a quantile are q, the markers of the P² algorithm (five
# increments, desired positions, positions and heights), how many heights are known, and whether they are sorted.
QUANTILE_BYTES = struct.Struct("<21dB?")


def _quantile(value: Any) -> Any:
    require(type(value) is list and len(value) == 23, f"{value!r:.100} as a quantile")
    *markers, n, is_sorted = value
    list_of(number()).into(markers)
    require(0.0 < markers[0] < 1.0, f"{markers[0]!r} as q")
    found = stats.Quantile(float(markers[0]))
    require(markers[:6] == _of_quantile(found)[:6], "the increments of a quantile")
    list_of(number(1.0, 2.0**53)).into(markers[6:16])
    list_of(number(-1e100, 1e100)).into(markers[16:])
    wanted, places, heights = (np.diff(markers[i : i + 5]) for i in (6, 11, 16))
    require(bool((wanted >= 0.0).all() and (places >= 1.0).all()), "the positions of a quantile")
    require(bool(not is_sorted or (heights >= 0.0).all()), "the heights of a quantile")
    found._quantile.__setstate__(QUANTILE_BYTES.pack(*markers, whole(0, 5).into(n), FLAG.into(is_sorted)))
    found._is_updated = n > 0
    return found


def _of_quantile(quantile: Any) -> list[Any]:
    data = quantile._quantile.__getstate__() if type(quantile) is stats.Quantile else b""
    if len(data) == QUANTILE_BYTES.size:
        found = [*QUANTILE_BYTES.unpack(data)]
        if QUANTILE_BYTES.pack(*found) == data and found[0] == quantile.q and (found[21] > 0) == quantile._is_updated:
            return found
    raise ValueError(f"{shown(quantile)}, {kind_of(quantile)}, cannot be saved in a checkpoint: use pickle for it")


QUANTILE = Kind(_quantile, _of_quantile)

Moments = tuple[float, float, float]  # count, mean and variance


def joined(shards: Shards, of: Callable[[Any], Moments]) -> Moments:
    """Return the moments of one stream with the totals of all shards.  River's moments do not forget."""
    centre = of(shards.models[0])[1]  # squares are relative to this mean, for precision

    def sums(model: Any) -> Any:
        count, mean, variance = of(model)
        off = mean - centre
        return count * np.array([1.0, off, variance + off * off])

    count, off, square = shards.total(sums)
    if count <= 0.0:
        return 0.0, 0.0, 0.0
    return count, centre + off / count, max(0.0, square / count - (off / count) ** 2)


def _mean(found: stats.Mean, shards: Shards) -> None:
    found.n, found._mean, _ = joined(shards, lambda mean: (mean.n, mean.get(), 0.0))


def _var(found: stats.Var, shards: Shards) -> None:
    def moments(var: stats.Var) -> Moments:
        n = var.mean.n
        return n, var.mean.get(), var._S / n if n else 0.0

    found.mean.n, found.mean._mean, variance = joined(shards, moments)
    found._S = found.mean.n * variance


def _extreme(found: stats.Min | stats.Max, shards: Shards) -> None:
    for each in shards.models[1:]:
        found.update(each.get())


def _total(name: str) -> Callable[[Any, Shards], None]:
    return lambda found, shards: setattr(found, name, shards.total(lambda each: getattr(each, name)))


def _mode(found: stats.Mode, shards: Shards) -> None:
    for value in dict.fromkeys(value for each in shards.models for value in each.counts):
        found.counts[value] = shards.total(lambda each: each.counts.get(value, 0))  # noqa: B023


# For each statistic its kind in checkpoints, and how a copy of the first becomes the merged one; None: no merging.
STATISTICS: dict[type, tuple[Kind, Callable[[Any, Shards], None] | None]] = {
    stats.Mean: (MEAN, _mean),
    stats.Var: (VAR, _var),
    stats.Min: (MIN, _extreme),
    stats.Max: (MAX, _extreme),
    stats.BayesianMean: (BAYESIAN_MEAN, lambda found, shards: _mean(found._mean, shards.of(lambda each: each._mean))),
    stats.Sum: (object_of(stats.Sum, sum=number()), _total("sum")),
    stats.Count: (object_of(stats.Count, n=whole()), _total("n")),
    stats.Mode: (object_of(stats.Mode, k=whole(-1), counts=COUNTS), _mode),
    stats.Quantile: (QUANTILE, None),
}
KINDS = {cls.__name__: kind for cls, (kind, _) in STATISTICS.items()}


def merged(shards: Shards, owner: str) -> Any:
    """Return a River statistic of all values seen by any shard."""
    found = copy.deepcopy(shards.models[0])
    _, merge = STATISTICS.get(type(found), (None, None))
    if merge:
        merge(found, shards)
    elif type(found) is not Constant:
        raise TypeError(f"{owner} with {kind_of(found)} does not merge: it describes one stream only")
    return found


def _statistic(value: Any) -> Any:
    """Return a statistic from its name and its state."""
    require(type(value) is tuple and len(value) == 2 and value[0] in KINDS, f"{value!r:.100} as a statistic")
    return KINDS[value[0]].into(value[1])


def _of_statistic(statistic: Any) -> tuple[str, Any]:
    if type(statistic) not in STATISTICS:
        raise ValueError(
            f"{shown(statistic)}, {kind_of(statistic)}, cannot be saved in a checkpoint: use pickle for this model, "
            f"or one of River's {', '.join(sorted(KINDS))}"
        )
    return type(statistic).__name__, KINDS[type(statistic).__name__].out(statistic)


STATISTIC = Kind(_statistic, _of_statistic)
