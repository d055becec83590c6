"""Shared by the tests of checkpoints: models, their files, and altered files with a valid checksum."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest
from river import anomaly, base, compose, drift, ensemble, feature_extraction, multiclass, optim, preprocessing, stats

import river_okl
from river_okl import checkpoint, kernels, losses
from river_okl.checkpoint import VERSION, CheckpointError
from river_okl.checkpoint.file import HEADER, MAGIC
from tests import discovery, streams
from tests.discovery import small, snapshot, task


def learned(cls, n=60, kind="emerging", **options):
    return discovery.learn(small(cls, **options), streams.KINDS[kind](task(cls), n))


def pieces(data):
    """The document and the arrays of a checkpoint."""
    _, _, n_document, _, _ = HEADER.unpack(data[: HEADER.size])
    body = data[HEADER.size :]
    return json.loads(body[:n_document]), body[n_document:]


def assembled(document, arrays, version=VERSION):
    """A checkpoint with a valid checksum."""
    text = json.dumps(document).encode("ascii")
    head = HEADER.pack(MAGIC, version, len(text), len(arrays), bytes(32))[:-32]
    return head + hashlib.sha256(head + text + arrays).digest() + text + arrays


def edited(data, *path_and_value):
    """The same checkpoint with one value of its model replaced, and a valid checksum."""
    *path, value = path_and_value
    document, arrays = pieces(data)
    value = entered(document, value)
    if not path:
        document["model"] = value
        return assembled(document, arrays)
    at = root(document)
    for key in path[:-1]:
        at = item_of(at, key)
    if isinstance(at, dict) and at.keys() == {"nested"}:
        at, path = next(pair for pair in at["nested"] if pair[0] == path[-1]), [1]
    at[path[-1]] = value
    return assembled(document, arrays)


def item_of(node, key):
    """A value in a document by its key; states in states are dicts."""
    return dict(node["nested"])[key] if isinstance(node, dict) and node.keys() == {"nested"} else node[key]


def entered(document, value):
    """A value as it stands in the document, with entries for an object and the objects among its arguments."""
    if not (isinstance(value, dict) and "class" in value):
        return value
    document["entries"].append(
        value | {"positional": [entered(document, each) for each in value.get("positional", [])]}
    )
    if not value.get("positional"):
        document["entries"][-1] = value
    return {"ref": len(document["entries"]) - 1}


def root(document):
    """The entry of the model."""
    return document["entries"][document["model"]["ref"]]


def places(value):
    """Every container in a document with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        if key not in ("random", "random_state"):  # 624 equivalent numbers
            yield from places(item)


def rbp(budget=4):
    return river_okl.RBPClassifier(budget=budget, seed=1)


def rbp_regressor():
    return river_okl.BOGDRegressor(budget=4, seed=1)


def one_class():
    return river_okl.KernelOneClassSVM(budget=4)


def numbers():
    return compose.Select("a", "b")


WRAPPED = {
    "StandardScaler": lambda: numbers() | preprocessing.StandardScaler() | rbp(),
    "names": lambda: (
        compose.Discard("c") | compose.Renamer({"a": "one"}) | compose.Prefixer("a_") | compose.Suffixer("_b") | rbp()
    ),
    "TargetStandardScaler": lambda: numbers() | preprocessing.TargetStandardScaler(rbp_regressor()),
    "TransformerUnion": lambda: (
        (numbers() | preprocessing.StandardScaler()) + (compose.Select("c") | preprocessing.OneHotEncoder()) | rbp()
    ),
    "categories": lambda: compose.Select("c") | preprocessing.OneHotEncoder({"c": {"x", "y"}}, drop_first=True) | rbp(),
    "words and gaps": lambda: (
        (compose.SelectType(str) | preprocessing.OneHotEncoder())
        + (
            compose.SelectType(float, type(None))
            | preprocessing.StatImputer(("a", stats.Mean()), ("b", 0.5), ("d", stats.Mean()))
            | preprocessing.StandardScaler()
        )
        | rbp()
    ),
    "words and gaps, statistics": lambda: (
        compose.Discard("c")
        | preprocessing.StatImputer(("d", stats.BayesianMean(0.5, 2.0)), ("a", stats.Max()), ("b", stats.Count()))
        | preprocessing.StatImputer(("d", stats.Mode()), ("a", stats.Quantile(0.3)), ("b", stats.Var()))
        | rbp()
    ),
    "BagOfWords": lambda: (
        feature_extraction.BagOfWords(on="c", ngram_range=(1, 2), tokenizer_pattern=r"(?u)\b\w[\w\-]+\b") + numbers()
        | rbp()
    ),
    "Target lags": lambda: (
        river_okl.Lags((1, 3), of=("a", "d"), by="c") | river_okl.Dates() | numbers() | rbp_regressor()
    ),
    "TargetAgg": lambda: (
        feature_extraction.Agg(on="a", by="c", how=stats.Mean())
        + feature_extraction.Agg(on="b", by=None, how=stats.Max())
        + feature_extraction.TargetAgg(by="c", how=stats.BayesianMean(0.5, 2.0))
        + feature_extraction.TargetAgg(by=["c"], how=stats.Mean())
        + feature_extraction.TargetAgg(by=None, how=stats.Mean())
        + numbers()
        | rbp_regressor()
    ),
    "DriftRetrainingClassifier, ADWIN": lambda: (
        numbers() | drift.DriftRetrainingClassifier(rbp(), drift.ADWIN(delta=0.9, clock=1), train_in_background=False)
    ),
    "VotingClassifier": lambda: (
        numbers() | ensemble.VotingClassifier([rbp(), preprocessing.StandardScaler() | rbp(5)], use_probabilities=False)
    ),
    "OneVsRestClassifier": lambda: numbers() | multiclass.OneVsRestClassifier(river_okl.ForgetronClassifier(budget=4)),
    "OneVsRest behind a scaler": lambda: multiclass.OneVsRestClassifier(
        numbers() | preprocessing.StandardScaler() | rbp()  # passes for its last step, whose labels it does not have
    ),
    "OneVsOneClassifier": lambda: numbers() | multiclass.OneVsOneClassifier(preprocessing.StandardScaler() | rbp()),
    "BaggingClassifier": lambda: numbers() | ensemble.BaggingClassifier(rbp(), n_models=2, seed=1),
    "detector": lambda: numbers() | preprocessing.StandardScaler() | one_class(),
    "QuantileFilter": lambda: numbers() | anomaly.QuantileFilter(one_class(), 0.9) | rbp(),
}


def mixed(name, n):
    """Numbers and strings; the concept changes in the middle, for drift detectors."""
    rng = random.Random(7)
    for t in range(n):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.choice("xyz")}
        score = x["a"] * (1 if t < 150 else -1)
        if "gaps" in name:
            x["d"] = rng.choice([None if t else 0.0, rng.gauss(0, 1), 0.25])
        if "Target" in name:
            yield x, score
        else:
            yield x, ("low", "middle", "high")[(score > -0.5) + (score > 0.5)] if "OneVs" in name else score > 0


def last_step(model):
    return list(model.steps.values())[-1] if isinstance(model, compose.Pipeline) else model


def detects(model):
    return isinstance(last_step(model), base.AnomalyDetector | base.AnomalyFilter)


def learn(model, x, y):
    model.learn_one(*((x,) if detects(model) else (x, y)))


def said(model, x):
    return model.score_one(x) if detects(model) else model.predict_one(x)


def wrapped(name):
    model = WRAPPED[name]()
    for x, y in mixed(name, 40):
        learn(model, x, y)
    return model


OF_DEFAULTS = (
    *("ForgetronClassifier", "POMDRClassifier", "NOGDRegressor", "FOGDClassifier", "TVMClassifier", "SkeGDClassifier"),
    *("SOGPClassifier", "SOGPRegressor"),
)
MIXTURES = (river_okl.OKLClassifier, river_okl.OKLRegressor)


@functools.cache
def good():
    """Checkpoints that together contain every kind of value."""
    models = [
        learned(river_okl.OLRDClassifier, kernel=0.5 * kernels.RBF() + kernels.Polynomial(2, gamma=None)),
        learned(river_okl.ProjectronClassifier, kernel=kernels.RBF(0.1)),
        learned(river_okl.SPARegressor, kind="sparse"),
        learned(river_okl.NBSGDClassifier, suffix=0.5, kernel=kernels.Laplacian(1.0)),
        learned(river_okl.BPAClassifier, maintenance="nearest"),
        learned(river_okl.OLRURegressor, loss=losses.EpsilonInsensitive(0.2), radius=5.0),
        learned(river_okl.BSGDRegressor, maintenance="merging"),
        learned(river_okl.AhpatronClassifier, learning_rate=optim.schedulers.InverseScaling(0.5)),
        *[learned(getattr(river_okl, name)) for name in OF_DEFAULTS],
        *[learned(cls, kind=kind) for cls in MIXTURES for kind in ("emerging", "sparse")],
        *[learned(cls, n=900, kind="dense", pending=5) for cls in MIXTURES],
        learned(river_okl.OKLDetector, n=150),
        *[wrapped(name) for name in sorted(WRAPPED)],
    ]
    return [checkpoint.dumps(model) for model in models]


def made(cls, *positional, **parameters):
    return {"class": cls, "positional": list(positional), "parameters": parameters}


@contextlib.contextmanager
def little_memory():
    """Limit memory to half a gigabyte more than now, if the system supports it; beyond it is a MemoryError."""
    resource = pytest.importorskip("resource")
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    old = resource.getrlimit(resource.RLIMIT_AS)
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**29, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


class Anything(dict):
    """A sample with every feature that a pipeline may request."""

    def __missing__(self, name):
        return 0.0


def try_to_use(data):
    """Load arbitrary bytes and use what they give: all of it may raise, and nothing may harm memory."""
    with little_memory():
        try:
            model = checkpoint.loads(data)
        except CheckpointError:
            return False
        last = last_step(model)
        names = last._labels.names if hasattr(last, "_labels") else ()
        known = (names, getattr(last, "classes", ()), getattr(last, "classifiers", ()))
        labels = next((list(found) for found in known if len(found) > 1), [])
        stream = streams.emerging(task(type(last)), 20)
        if model is not last:
            stream = [(Anything(x), y) for (x, _), (_, y) in zip(mixed("", 20), stream, strict=True)]
        with np.errstate(all="ignore"):
            for i, (x, y) in enumerate(stream):
                for act in (said, lambda model, x: learn(model, x, labels[i % len(labels)] if labels else y)):  # noqa: B023
                    with contextlib.suppress(Exception):
                        act(model, x)
            for act in (checkpoint.dumps, snapshot, lambda model: model.support_vectors, lambda model: model.norm):
                with contextlib.suppress(Exception):
                    act(model)
    return True
