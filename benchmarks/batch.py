"""Batch learners, trained again and again: ``python -m benchmarks.batch``.

LightGBM and scikit-learn's random forest of 100 trees, each trained again every 1,000 samples on everything so far,
without a bound on memory or time, beside `OKLClassifier` and `OKLRegressor`, which see each sample once.  Defaults
otherwise.  The streams are those of `benchmarks.untuned` and of both lists of `benchmarks.unseen` with more than 1,000
samples, two of them in random order, too; a model without a number was not run.  Accuracy and mean absolute error are
from the 1,001st sample on, test-then-train, at most 20,000 samples.  Strings are one-hot encoded and gaps filled with
the mean for the batch learners.  `LightGBM(native)` gets strings as categories and gaps as NaN, on the streams that
have any.  `LightGBM(2,000)` and `LightGBM(5,000)` are trained on that many of the latest samples.

Needs ``pip install lightgbm pandas scikit-learn``.  Results are stored in `results/batch.jsonl`; `OKL` is measured
again if its code has changed, the batch learners, which take hours, only if ``--models`` names them.  A pair of stream
and model stops after ``--limit`` seconds of processor time, which the tables state.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn
from sklearn import ensemble, feature_extraction, impute, pipeline

import river_okl
from benchmarks import runner, streams, unseen, untuned
from benchmarks.streams import Sample, Stream

EVERY = 1_000  # samples between trainings, and before the first
SHUFFLED = {f"{name}, shuffled": streams.STREAMS[name] for name in ("cadata", "space_ga")}
SETS: dict[str, dict[str, Stream]] = {
    "listed streams": streams.STREAMS,
    **{f"{name} list of tables": unseen.LISTS[name].STREAMS for name in ("first", "second")},
    "shuffled streams": SHUFFLED,
}
STREAMS: dict[str, Stream] = {name: stream for which in SETS.values() for name, stream in which.items()}
OKL = {True: river_okl.OKLClassifier, False: river_okl.OKLRegressor}  # whether it classifies


def lightgbm(classifies: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor  # needed only here

    options = {"n_jobs": 1, "random_state": 1, "verbose": -1}
    return (LGBMClassifier if classifies else LGBMRegressor)(**options)


def forest(classifies: bool) -> Any:
    return (ensemble.RandomForestClassifier if classifies else ensemble.RandomForestRegressor)(random_state=1)


class Learner(NamedTuple):
    make: Callable[[bool], Any]
    native: bool = False  # takes categories and gaps as they are
    window: int = streams.ROWS  # maximum number of samples of a training


BATCH = {
    "LightGBM": Learner(lightgbm),
    "LightGBM(native)": Learner(lightgbm, native=True),
    "LightGBM(2,000)": Learner(lightgbm, window=2_000),
    "LightGBM(5,000)": Learner(lightgbm, window=5_000),
    "random forest": Learner(forest),
}
MODELS = ["OKL", *BATCH]


def load(name: str) -> list[Sample]:
    if name in SHUFFLED:
        return streams.shuffled(load(name.removesuffix(", shuffled")))
    return unseen.load(name) if name in unseen.STREAMS else streams.load(name, True)


def again(how: Learner, samples: Sequence[Sample], classifies: bool, limit: float) -> list[Any]:
    """The predictions of a learner that is trained again every ``EVERY`` samples, from the second block on."""
    out: list[Any] = []
    start = time.process_time()
    for at in range(EVERY, len(samples), EVERY):
        if time.process_time() - start > limit:
            break
        past = samples[max(0, at - how.window) : at]
        encoded = native if how.native else numbers
        x, new = encoded([x for x, _ in past], [x for x, _ in samples[at : at + EVERY]])
        y = np.array([y for _, y in past])
        if classifies and len(set(y.tolist())) == 1:
            out += [y[0].item()] * len(samples[at : at + EVERY])
            continue
        out += how.make(classifies).fit(x, y).predict(new).tolist()
    return out


def numbers(past: Sequence[dict[Any, Any]], new: Sequence[dict[Any, Any]]) -> tuple[Any, Any]:
    """Features for training and for prediction: strings one-hot encoded, gaps filled with the mean."""
    encoder = feature_extraction.DictVectorizer(sparse=len(past[0]) > 100, dtype=np.float32)
    known = pipeline.make_pipeline(encoder, impute.SimpleImputer(keep_empty_features=True))
    return known.fit_transform([filled(x) for x in past]), known.transform([filled(x) for x in new])


def native(past: Sequence[dict[Any, Any]], new: Sequence[dict[Any, Any]]) -> tuple[Any, Any]:
    """The same with strings as categories, and NaN for gaps and for categories that are new."""
    names = list(dict.fromkeys(name for x in past for name in x))
    frames = [pd.DataFrame([[x.get(name) for name in names] for x in part]) for part in (past, new)]
    for column in frames[0]:
        strings = frames[0][column].map(lambda value: isinstance(value, str))
        if strings.any():
            of = pd.CategoricalDtype(sorted(set(frames[0][column].dropna().map(str))))
            for frame in frames:
                words = frame[column].map(str, na_action="ignore")
                frame[column] = words.where(words.isin(of.categories)).astype(of)
        else:
            for frame in frames:
                frame[column] = pd.to_numeric(frame[column], errors="coerce").astype(float)
    return frames[0], frames[1]


@functools.cache
def has_words_or_gaps(name: str) -> bool:
    return any(value is None or isinstance(value, str) for x, _ in load(name) for value in x.values())


def filled(x: dict[Any, Any]) -> dict[str, Any]:
    """Names as strings; a gap is a number that is missing."""
    return {str(name): float("nan") if value is None else value for name, value in x.items()}


def once(samples: Sequence[Sample], classifies: bool) -> list[Any]:
    """The predictions of ours, of the same samples."""
    model, out = OKL[classifies](), []
    for x, y in samples:
        out.append(model.predict_one(x))
        model.learn_one(x, y)
    return out[EVERY:]


def key(name: str, model: str) -> str:
    """What a result depends on."""
    code = runner.content(OKL[STREAMS[name].classes > 0]()) if model == "OKL" else [model, sklearn.__version__]
    return runner.digest(samples_digest(name), code)


@functools.cache
def samples_digest(name: str) -> str:
    return runner.digest(repr(load(name)).encode())


def run(name: str, model: str, limit: float) -> runner.Row:
    """The accuracy or mean absolute error, from the second block on."""
    samples, classifies = load(name), STREAMS[name].classes > 0
    start = time.process_time()
    found = once(samples, classifies) if model == "OKL" else again(BATCH[model], samples, classifies, limit)
    row: runner.Row = {"rows": EVERY + len(found), "seconds": time.process_time() - start}
    pairs = list(zip(found, (y for _, y in samples[EVERY : EVERY + len(found)]), strict=True))
    if classifies:
        return row | {"accuracy": 100.0 * float(np.mean([p == y for p, y in pairs]))}
    return row | {"mae": float(np.mean([abs(p - y) for p, y in pairs]))}


def write(found: runner.Results, report: runner.Report) -> None:
    for number, ((of, which), classified) in enumerate(itertools.product(SETS.items(), (True, False)), 1):
        names = [name for name in which if bool(which[name].classes) == classified and (name, "OKL") in found]
        if not names:
            continue
        field, shown = ("accuracy", "{:.1f}".format) if classified else ("mae", runner.cell)
        text = untuned.section(found, names, MODELS, field, shown)
        heading = f"{number}. {'Accuracy, %' if classified else 'Mean absolute error'}, {of}"
        report.write(heading, text)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("batch", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS, ["OKL"])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a pair of stream and model at most")
    runner.choice(parser, "--only", ["cells", "tables"])
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "batch.jsonl")
    names = [name for name in options.streams if len(load(name)) > EVERY]

    def pairs(models: Sequence[str]) -> list[tuple[str, str]]:
        asked = itertools.product(names, models)
        return [(name, m) for name, m in asked if m != "LightGBM(native)" or has_words_or_gaps(name)]

    if "cells" in options.only:
        store.fill(pairs(options.models), options.limit, key, lambda name, _: load(name), run)
    if "tables" in options.only:
        found = store.complete(pairs(MODELS), options.models, key)
        write(found, runner.Report.of(__doc__, options.output / "batch.md"))


if __name__ == "__main__":
    main()
