"""Models that remember samples: the one that has learned most learns those that the others remember.

``OKLClassifier`` and ``OKLRegressor`` remember rows of their memory, ``OKLDetector`` its points. Samples are made again
from scaled values, up to 2^-18 of a feature's deviation. Features beyond the memory's columns are missing from them.
"""

from __future__ import annotations

import contextlib
import pickle
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from river_okl.algorithms.detector import OKLDetector
from river_okl.algorithms.okl import OKL, OKLClassifier
from river_okl.checks import LARGEST_WEIGHT
from river_okl.merging.shards import Shards
from river_okl.model import LabelModel

MODELS = OKL, OKLDetector

# Neighbours are searched among the LATEST samples, which would all be of other models: some of its own are learned once
# more. Experts are weighted on the last ones, which must be new: what was learned before is predicted too well.
LATEST, SCORED, REMINDERS = 512, 384, 64

TESTED = 200  # latest samples of each shard on which the result is compared with the shard
ENOUGH = 500  # samples of each shard; with fewer, shards fit their own samples better because they overfit
DOUBTFUL, CHANCE = 1.5, 0.05  # a warning is due beyond this ratio of losses, and this share of the targets' spread


class Remembered(NamedTuple):
    """A sample that a model remembers."""

    age: int  # number of samples that it remembers since then
    x: Any
    y: Any  # None, if the model has no targets
    weight: float


def merged(shards: Shards) -> Any:
    """Return the model that has learned most, after it has learned what the others remember, in turn."""
    active = [i for i, weight in enumerate(shards.evidence) if weight > 0.0]
    with contextlib.suppress(Exception):  # labels that cannot be pickled: in the order of the user
        active.sort(key=lambda i: pickle.dumps(shards.models[i]))
    most = max(active, key=lambda i: shards.evidence[i] * max(shards.learned[i], 1))
    model, others = shards.models[most], [i for i in active if i != most]
    relative = shards.evidence / shards.evidence[most]
    if isinstance(model, OKLDetector):
        if shards.budget is not None:
            raise ValueError(f"budget is {shards.budget}; OKLDetector has no such parameter")
        return _merged_detector(shards, most, others, relative) if others else model
    anew = shards.budget not in (None, model.budget)
    if not others and not anew:
        return model
    if model.memory == 0:
        raise ValueError(
            f"{type(model).__name__}(memory=0) does not merge: it remembers no samples that another model could learn"
        )
    known = {i: _remembered(shards.models[i], shards.start, relative[i]) for i in active}
    tested = {i: known[i][-TESTED:] for i in active if min(map(len, known.values())) >= ENOUGH}
    own = [loss for i, samples in tested.items() for loss in _losses(shards.models[i], samples)]
    limit = model._f.memory.latest.limit
    if anew:
        model, others = shards.new(), active
        _learn(model, _remembered(shards.start, shards.start.clone(), 1.0))
    elif sum(map(len, known.values())) > limit:
        # the memory would have none of its own samples any more: the latest are learned once more, with the others'
        known[most] = known[most][-max(1, limit // len(active)) :]
        others = active
    learned = _in_turn(known[i] for i in others)
    if most not in others and len(learned) >= LATEST:
        learned[-SCORED:-SCORED] = known[most][-REMINDERS:]
    _learn(model, learned)
    if tested:
        every = [each for samples in tested.values() for each in samples]
        _compare(own, _losses(model, every), [each.y for each in every], isinstance(model, LabelModel))
    return model


def _merged_detector(shards: Shards, most: int, others: list[int], relative: Any) -> Any:
    """Return a new detector that has learned the points of the start, and the later ones of all, in turn.

    One of the detectors would follow the points of others as new levels of its features, and lose its own. It learns
    them nevertheless if they are few beside those of the start, as a new detector has forgotten all anomalies.
    """
    model, new = shards.models[most], [_remembered(shards.models[i], shards.start, relative[i]) for i in others]
    if 2 * sum(map(len, new)) >= len(shards.start._f):
        known = _remembered(shards.start, shards.start.clone(), 1.0)
        new.append(_remembered(model, shards.start, 1.0))
        levels, shares = zip(*(shards.models[i]._f.anomalous_levels() for i in [most, *others]), strict=True)
        model = shards.new()
        _learn(model, [*known, *_in_turn(new)])
        model._f.complete_levels(np.concatenate(levels), float(np.mean(shares)))
    else:
        _learn(model, _in_turn(new))
    return model


def _learn(model: Any, samples: list[Remembered]) -> None:
    """Learn samples none of which follows another one, as those of a stream do."""
    of_labels = isinstance(model, OKLClassifier)
    for each in samples:
        if of_labels:
            model._f.last_label.forget_last()
        target = () if each.y is None else (each.y,)
        model.learn_one(each.x, *target, w=each.weight)
    if of_labels and samples:
        model._f.last_label.forget_last()


def _in_turn(known: Iterable[list[Remembered]]) -> list[Remembered]:
    """Return samples of several models, the oldest first; of those of one age no model's is always the first.

    Otherwise statistics of every second or fourth sample would be those of one model.
    """
    order = [((-each.age, hash((each.age, i))), each) for i, of_model in enumerate(known) for each in of_model]
    return [each for _, each in sorted(order, key=lambda pair: pair[0])]


def _remembered(model: Any, start: Any, weight: float) -> list[Remembered]:
    """Return the samples that a model remembers since the start, the oldest first; ``weight`` is that of the model."""
    found = model._f.remembered(start._f)
    label_at = {i: y for y, i in model._labels.positions.items()} if isinstance(model, LabelModel) else None
    return [
        Remembered(len(found) - i, x, label_at[int(y)] if label_at else y, min(weight * w, LARGEST_WEIGHT))
        for i, (x, y, w) in enumerate(found, start=1)
    ]


def _losses(model: Any, samples: list[Remembered]) -> list[float]:
    """Return the absolute errors of a regressor, or 1 for each error of a classifier; asking is not remembered."""
    asked = model._asked()
    found = asked.ask([each.x for each in samples])
    if isinstance(model, LabelModel):
        labels = asked.labels()
        return [float(labels[k] != each.y) for k, each in zip(found.argmax(axis=1), samples, strict=True)]
    return [abs(float(p) - each.y) for (p,), each in zip(found, samples, strict=True)]


def _compare(own: list[float], merged: list[float], targets: list[Any], labels: bool) -> None:
    """Warn if the merged model fits what the shards remember worse than they do."""
    spread = 1.0 if labels else float(np.mean(np.abs(np.array(targets) - np.median(targets))))
    found, expected = float(np.mean(merged)), float(np.mean(own))
    if spread and found > DOUBTFUL * expected + CHANCE * spread:
        loss = "share of errors" if labels else "mean absolute error"
        warnings.warn(
            f"the merged model fits the latest samples of the models worse than they do: its {loss} on them is "
            f"{found:.3g}, theirs {expected:.3g}; do all have the same units and levels?",
            stacklevel=5,
        )
