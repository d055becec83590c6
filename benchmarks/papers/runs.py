"""Data and runs of the papers' experiments.

A `Run` lists everything its result depends on; its key is a hash of the content: the class, the data, this file.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import multiprocessing
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from river import optim
from river.datasets import synth

import river_okl
from benchmarks import runner
from benchmarks.streams import Sample, scaled
from river_okl import datasets, kernels, losses

# Data -----------------------------------------------------------------------------------------------


def _gaussian() -> Iterator[Sample]:
    return datasets.GaussianMixture(seed=0).take(1_000_000)


def waveform() -> Iterator[Sample]:
    """Class 0 against the others: the paper does not say which two it merges; this is closest to its numbers."""
    return ((x, y == 0) for x, y in synth.Waveform(seed=0).take(100_000))


def _susy() -> Iterator[Sample]:
    chosen = set(random.Random(0).sample(range(5_000_000), 50_000))
    return (sample for i, sample in enumerate(datasets.LIBSVM("SUSY")) if i in chosen)


def _libsvm(part: str, names: str) -> dict[str, Callable[[], Iterable[Sample]]]:
    """Names of sets and their files of LIBSVM's page: "name", or "name=file"."""
    pairs = [(pair.partition("=")[0], pair.rpartition("=")[2]) for pair in names.split()]
    return {name: functools.partial(datasets.LIBSVM, file, part) for name, file in pairs}


SOURCES = {
    **_libsvm("train", "abalone cadata cod-rna covtype=covtype.binary dna=dna.scale german=german.numer phishing"),
    **_libsvm("train", "space_ga w8a a9a.train=a9a ijcnn1.train=ijcnn1 w7a.train=w7a"),
    **_libsvm("test", "a9a.t=a9a cod-rna.t=cod-rna dna.t=dna.scale ijcnn1.t=ijcnn1 w7a.t=w7a"),
    **_libsvm("both", "a9a ijcnn1 splice w7a"),
    **_libsvm("tr", "ijcnn1.tr=ijcnn1"),
    "spambase": datasets.Spambase,
    "susy": _susy,
    "gaussian": _gaussian,
    "waveform": waveform,
}


def why_not(name: str) -> str | None:
    """Why a data set cannot be read here, or None."""
    stem = name.partition("/")[0]
    if stem not in SOURCES:
        return "no data set class knows it"
    dataset: Any = datasets.LIBSVM("SUSY") if stem == "susy" else SOURCES[stem]()
    files = zip(getattr(dataset, "paths", ()), getattr(dataset, "urls", ()), strict=True)  # none if it is generated
    missing = [f"{path} (from {url})" for path, url in files if not path.is_file()]
    return f"not found: {', '.join(missing)}" if missing else None


@functools.lru_cache(maxsize=3)
def load(name: str) -> list[Sample]:
    """All samples of a set; "name/[-1,1]", "/[0,1]" or "/z" scales its features, "/y" standardises its target."""
    stem, *scalings = name.split("/")
    return functools.reduce(scaled, scalings, list(SOURCES[stem]()))


@functools.lru_cache(maxsize=2)
def permutation(name: str, seed: int | None) -> list[Sample]:
    """The samples in the order of a seed; None: as in the file."""
    samples = load(name).copy()
    if seed is not None:
        random.Random(seed).shuffle(samples)
    return samples


@functools.cache
def _content(name: str) -> str:
    return runner.digest(repr(load(name)).encode())


# Runs -----------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """One experiment: everything its result depends on."""

    data: str  # as `load` takes it
    cls: type  # of river_okl; or of a script, if the authors' program is another algorithm
    params: dict[str, Any]  # `gamma` stands for an RBF kernel, `loss` is the name of a loss
    seed: int | None = 0  # of the permutation and the algorithm's random numbers; None: the order of the file
    rows: int | None = None  # number of samples of the permutation to learn; None: all
    # None: test-then-train. The name of a data set, or "rest", the samples after `rows`: learn first, then predict
    # those. A number k: predict fold k of 5 of the rows.
    test: str | int | None = None

    def given(self, **params: Any) -> Run:
        """The run with these additional parameters."""
        return self._replace(params={**self.params, **params})

    def grid(self, **params: Iterable[Any]) -> list[Run]:
        """A run for each combination of values; the last parameter varies fastest."""
        return [self.given(**dict(zip(params, values, strict=True))) for values in itertools.product(*params.values())]

    @property
    def key(self) -> str:
        sets = {self.data, self.test} & {self.data, *SOURCES}
        return runner.digest(self._asdict(), runner.code(self.cls), sorted(map(_content, sets)), FILE)


class LIBSVM:
    """A stand-in for scikit-learn's SVC, which learns all samples at once."""


FILE = pathlib.Path(__file__).read_text(encoding="utf-8")

# Labels of the papers' tables (the part before a comma or a space) whose class has another name.
CLASSES = {
    "Perceptron": "KernelPerceptron",
    "PA-I": "KernelPA",
    "Projectron++": "ProjectronPlusPlus",
    "BPA-S": "BPA",
    "BOGD++": "BOGD",
    "SGD": "KernelSGD",
    "Pegasos": "KernelSGD",
}


def named(label: str, kind: str = "Classifier") -> type:
    """The class of a paper's label."""
    stem = label.replace(",", " ").partition(" ")[0]
    return LIBSVM if stem == "LIBSVM" else getattr(river_okl, f"{CLASSES.get(stem, stem)}{kind}")


def build(run: Run) -> Any:
    """A model from a run's plain parameters."""
    seed = {"seed": run.seed} if "seed" in inspect.signature(run.cls).parameters else {}
    params = {**seed, **run.params}
    if "gamma" in params:
        params["kernel"] = kernels.RBF(params.pop("gamma"))
    if name := params.get("loss"):
        params["loss"] = losses.EpsilonInsensitive() if name == "EpsilonInsensitive" else getattr(optim.losses, name)()
    return run.cls(**params)


# Algorithms whose paper has one model for several classes. The others are binary: one model per class.
MULTI_CLASS = {"KernelSGDClassifier", "BSGDClassifier", "NBSGDClassifier"}


class OneVsRest:
    """One classifier for each label; the largest decision value wins.

    (River's OneVsRestClassifier compares probabilities: with a small λ the scores of KernelSGD are in the hundreds, and
    several of their sigmoids are 1.)
    """

    def __init__(self, run: Run, labels: Sequence[Any]):
        self.models = {label: build(run) for label in labels}

    def learn_one(self, x: dict[Any, float], y: Any) -> None:
        for label, model in self.models.items():
            model.learn_one(x, y == label)

    def predict_one(self, x: dict[Any, float]) -> Any:
        return max(self.models, key=lambda label: self.models[label].decision_function_one(x))

    @property
    def n_support_vectors(self) -> float:
        return statistics.fmean(model.n_support_vectors for model in self.models.values())


def execute(run: Run) -> runner.Row:
    """Execute the run."""
    samples = permutation(run.data, run.seed)
    train = test = samples[: run.rows]
    if run.test is None:
        return _progressive(build(run), train)
    if isinstance(run.test, int):
        train, test = [s for i, s in enumerate(train) if i % 5 != run.test], train[run.test :: 5]
    else:
        test = samples[run.rows :] if run.test == "rest" else load(run.test)
    if run.cls is LIBSVM:
        return _batch(run, train, test)
    labels = {y for _, y in train if type(y) is int}
    model = OneVsRest(run, sorted(labels)) if labels and run.cls.__name__ not in MULTI_CLASS else build(run)
    start = time.perf_counter()
    for x, y in train:
        model.learn_one(x, y)
    seconds = time.perf_counter() - start
    if isinstance(test[0][1], float):
        error = math.sqrt(statistics.fmean((model.predict_one(x) - y) ** 2 for x, y in test))
    else:
        error = 100.0 * statistics.fmean(model.predict_one(x) != y for x, y in test)
    return {"seconds": seconds, "error": error, "n_support_vectors": model.n_support_vectors}


def _progressive(model: Any, samples: list[Sample]) -> runner.Row:
    """Predict each sample, then learn it."""
    threshold = 1.0 - getattr(model, "epsilon", 0.0)
    mistakes = margin_errors = 0
    start = time.perf_counter()
    for x, y in samples:
        score = model.decision_function_one(x)
        if (score >= 0.0) != y:
            mistakes += 1
        elif abs(score) < threshold:
            margin_errors += 1
        model.learn_one(x, y)
    result = {"seconds": time.perf_counter() - start, "n_support_vectors": model.n_support_vectors}
    return {**result, "error": 100.0 * mistakes / len(samples), "margin_errors": margin_errors}


def _batch(run: Run, train: list[Sample], test: list[Sample]) -> runner.Row:
    from sklearn import feature_extraction, svm

    vectorizer = feature_extraction.DictVectorizer(sparse=False)
    X = vectorizer.fit_transform([{str(k): v for k, v in x.items()} for x, _ in train])
    X_test = vectorizer.transform([{str(k): v for k, v in x.items()} for x, _ in test])
    start = time.perf_counter()
    model = svm.SVC(cache_size=1000, **run.params).fit(X, [y for _, y in train])
    seconds = time.perf_counter() - start
    error = 100.0 * float((model.predict(X_test) != [y for _, y in test]).mean())
    return {"seconds": seconds, "error": error, "n_support_vectors": len(model.support_)}


def results(cache: runner.Cache, wanted: Iterable[Run], jobs: int) -> list[runner.Row]:
    """The results of runs, from the cache if possible."""
    keyed = [(run.key, run) for run in wanted]
    unknown = {key: run for key, run in keyed if key not in cache.rows}
    # Sorted by data and seed: a worker keeps its permutation in memory.
    todo = dict(sorted(unknown.items(), key=lambda pair: (pair[1].data, str(pair[1].seed))))
    if todo:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            for key, result in zip(todo, pool.imap(execute, todo.values()), strict=True):
                cache.keep(key, **result)
    return [cache.rows[key] for key, _ in keyed]
