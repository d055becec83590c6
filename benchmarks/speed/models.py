"""Complete models, sample by sample and in batches, compared with River's, scikit-learn's and NumPy's."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from river import base, dummy, evaluate, forest, linear_model, metrics, neighbors, tree
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

import river_okl
from benchmarks import runner, timing
from benchmarks.speed.core import InNumPy, each, matrix
from benchmarks.speed.samples import Sample, Stream, dense, filled, labelled, names, size
from river_okl._core.store.sample import Frame


class SGDOnFeatures(base.Classifier):
    """scikit-learn's SGDClassifier on random Fourier features, row by row."""

    def __init__(self, n_components: int):
        self.sampler, self.model = RBFSampler(n_components=n_components, random_state=1), SGDClassifier()

    def _row(self, x: Sample) -> np.ndarray:
        row = np.fromiter(x.values(), float, len(x))[None]
        if not hasattr(self.model, "classes_"):
            self.model.partial_fit(self.sampler.fit_transform(row), [False], classes=[False, True])
        return self.sampler.transform(row)

    def predict_one(self, x: Sample) -> bool:
        return bool(self.model.predict(self._row(x))[0])

    def learn_one(self, x: Sample, y: bool) -> None:
        self.model.partial_fit(self._row(x), [y])


# Models to compare with, and their numbers of components; ratios are relative to the first of a kind.
PEERS: dict[type, dict[str, Any]] = {
    base.Classifier: {
        "river LogisticRegression": linear_model.LogisticRegression,
        "river PAClassifier": linear_model.PAClassifier,
        "river HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier,
        "river ARFClassifier(10)": forest.ARFClassifier,
        "river KNNClassifier": neighbors.KNNClassifier,
        "river PriorClassifier": dummy.PriorClassifier,
        "scikit-learn SGD on RBF features": SGDOnFeatures,
    },
    base.Regressor: {
        "river LinearRegression": linear_model.LinearRegression,
        "river HoeffdingTreeRegressor": tree.HoeffdingTreeRegressor,
        "river KNNRegressor": neighbors.KNNRegressor,
    },
}


def in_parts(model: Any, stream: Stream, metric: type) -> Callable[[], float]:
    """µs of progressive_val_score; each call uses the next part of a stream and starts from the same model."""

    def microseconds(samples: Stream) -> float:
        learner = copy.deepcopy(model)
        return timing.seconds(lambda: evaluate.progressive_val_score(samples, learner, metric())) / len(samples) * 1e6

    part = max(20, min(1000, int(20_000 / microseconds(stream[:20]))))  # small if the model is slow
    starts = itertools.count(0, part)
    return lambda: microseconds(stream[(start := next(starts)) : start + part])


def progressive() -> Iterator[str]:
    """Gaussian features, 10 % of the labels wrong.

    Every model first learns until it has B support vectors (or 1.5 s have gone). Each round is on samples that are new,
    and starts from the same model.
    """
    for kind, peers in PEERS.items():
        regression, first, head = kind is base.Regressor, next(iter(peers)), ["µs per sample"]
        classes = [*runner.ours(kind), *peers.items()]
        rows: dict[str, list[object]] = {name: [name] for name, _ in classes}
        for budget, d in itertools.product((100, 1000), (10, 20)):
            options = {"budget": budget, "n_components": budget, "n_models": 10, "seed": 1}
            warm = labelled(40 * budget + 4000, d, regression=regression)
            stream = labelled(5000, d, regression=regression, seed=5)
            made = {name: filled(runner.made(cls, **options), warm, budget) for name, cls in classes}
            metric = metrics.MAE if regression else metrics.Accuracy
            times = timing.in_turns({name: in_parts(model, stream, metric) for name, model in made.items()}, 5)
            head += [f"B={budget}, d={d}", "SVs", f"/ {first.removeprefix('river ')}"]
            for name, model in made.items():
                rows[name] += [times[name], size(model), times.ratio(name, first)]
        yield runner.table(head, rows.values())


# Batches ------------------------------------------------------------------------------------------

FEW_CALLS = ("RBP", "Forgetron", "OGD", "KernelP", "AVP", "BOGD", "OLRD")  # with a step of a few core calls


def batches() -> Iterator[str]:
    """`predict_many` equals `predict_one` (bit for bit, except for OKL), and `learn_one` and `learn_many` give models
    whose pickles are equal (both checked here).

    Targets: predict_many at most 1.5 x NumPy, and 4 x faster than predict_one at B = 1000; learn_many of the classes
    whose step is a few calls 0.4 x the learn_one loop, which is missed: kernel row and step are the same in both;
    predict_many of OKL 1.5 x faster than predict_one.
    """
    head = ["µs per row of 1,000", "predict_many µs", "NumPy GEMM + exp µs", "predict_many / NumPy GEMM + exp"]
    head += [f"{way}{of}" for way in ("predict_one", "of the frame's rows") for of in (" µs", " / predict_many")]
    yield runner.table(head, [predicting(*sizes) for sizes in ((100, 20), (1000, 20), (1000, 123), (5000, 20))])
    head = ["OKL, µs per row of 1,000", "predict_one", "predict_many", "one / many"]
    yield runner.table(head, [mixed(labels, d) for labels, d in ((2, 10), (2, 57), (5, 10), (0, 10), (0, 57))])
    kinds = (base.Classifier, base.Regressor)
    pairs = [(kind, cls) for kind in kinds for name, cls in runner.ours(kind) if name.startswith(FEW_CALLS)]
    head = ["µs per row of 1,000, B=100, d=10", "learn_one", "learn_many of a frame", "many / one", "SVs"]
    yield runner.table(head, [learning(*pair) for pair in pairs])


def mixed(labels: int, d: int) -> list[object]:
    """OKL after 3,000 samples, two of whose features interact; 0 labels: a regression."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, d))
    target = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    bounds = np.quantile(target, np.arange(1, labels) / max(labels, 1))
    ys = (np.digitize(target, bounds) if labels else target).tolist()
    model: Any = river_okl.OKLClassifier() if labels else river_okl.OKLRegressor()
    samples = [dict(zip(names(d), row, strict=True)) for row in X.tolist()]
    for x, y in zip(samples[:3000], ys, strict=False):
        model.learn_one(x, y)
    frame = pd.DataFrame(samples[3000:])
    assert np.allclose(model.predict_many(frame), [model.predict_one(x) for x in samples[3000:]], rtol=1e-8)
    actions = {
        "predict_one": each(model.predict_one, samples[3000:]),
        "predict_many": lambda: model.predict_many(frame),
    }
    times = timing.interleaved(actions, rounds=9, per=1000)
    kind = f"{labels} labels" if labels else "regression"
    return [f"{kind}, d={d}", times["predict_one"], times["predict_many"], times.ratio("predict_one", "predict_many")]


def predicting(n: int, d: int) -> list[object]:
    model = filled(river_okl.OLRDClassifier(budget=n, seed=1), labelled(40 * n, d), n)
    f, samples = model._f, dense(1000, d, seed=1)
    frame = pd.DataFrame([list(x.values()) for x in samples], columns=names(d))
    X = np.ascontiguousarray(frame)
    numpy = InNumPy(f, matrix([f.point(i) for i in range(len(f))], d))
    one = [f.evaluate(x) for x in samples]
    assert np.allclose(numpy.many(X), one, rtol=1e-9)
    assert [model.predict_one(x) for x in samples] == model.predict_many(frame).tolist()
    assert one == f.evaluate_many(Frame(list(frame), X))[:, 0].tolist()
    actions = {
        "predict_many": lambda: model.predict_many(frame),
        "NumPy GEMM + exp": lambda: numpy.many(X),
        "predict_one": each(model.predict_one, samples),
        "of the frame's rows": lambda: each(model.predict_one, frame.to_dict(orient="records"))(),
    }
    times = timing.interleaved(actions, rounds=9, per=1000)
    loops = [(times[way], times.ratio(way, "predict_many")) for way in ("predict_one", "of the frame's rows")]
    return [f"B={n}, d={d}", *times.compared("predict_many", "NumPy GEMM + exp"), *itertools.chain(*loops)]


def learning(kind: type, cls: type, B: int = 100, d: int = 10) -> list[object]:
    regression = kind is base.Regressor
    stream = labelled(1000, d, regression=regression, seed=5)
    frame = pd.DataFrame([list(x.values()) for x, _ in stream], columns=names(d))
    targets = pd.Series([y for _, y in stream])
    model = runner.made(cls, budget=B, seed=1)
    filled(model, labelled(40 * B, d, regression=regression), B)
    states = set()

    def spent(learn: Any) -> float:
        copied = copy.deepcopy(model)
        seconds = timing.seconds(lambda: learn(copied))
        states.add(pickle.dumps(copied))
        return seconds * 1e3

    ways = {
        "learn_one": lambda: spent(lambda m: [m.learn_one(x, y) for x, y in stream]),
        "learn_many": lambda: spent(lambda m: m.learn_many(frame, targets)),
    }
    times = timing.in_turns(ways, 15)
    assert len(states) == 1, "both ways give the same model, byte for byte"
    cells = [times["learn_one"], times["learn_many"], times.ratio("learn_many", "learn_one")]
    return [cls.__name__, *cells, size(pickle.loads(states.pop()))]
