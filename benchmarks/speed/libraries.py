"""Complete models, one sample at a time, as users of several libraries call them."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from river import linear_model, preprocessing
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import river_okl
from benchmarks import runner, timing
from benchmarks.speed.samples import Stream, labelled, learned

WARM, PART, ROUNDS = 3000, 300, 9
FEATURES = (10, 100)

# What predicts and learns these samples when it is called; what it does before is not timed.
Prepared = Callable[[Stream], timing.Action]


def of_river(model: Any) -> Prepared:
    """`predict_one` and `learn_one` of the dict."""
    return lambda samples: lambda: learned(model, samples)


def of_sklearn(scaled: bool) -> Prepared:
    """`predict` and `partial_fit` of an array of one row that is made before."""
    model, scaler = SGDClassifier(random_state=1), StandardScaler()

    def prepared(samples: Stream) -> timing.Action:
        rows = [(np.array([[*x.values()]]), np.array([y])) for x, y in samples]
        if not hasattr(model, "classes_"):
            scaler.partial_fit(rows[0][0])
            model.partial_fit(*rows[0], classes=[False, True])

        def plain() -> None:
            for row, y in rows:
                model.predict(row)
                model.partial_fit(row, y)

        def behind_scaler() -> None:
            for row, y in rows:
                model.predict(scaler.transform(row))
                model.partial_fit(scaler.partial_fit(row).transform(row), y)

        return behind_scaler if scaled else plain

    return prepared


def line(x: dict[str, float], y: bool) -> str:
    """A sample in Vowpal Wabbit's format."""
    return f"{1 if y else -1} | " + " ".join(f"{name}:{value}" for name, value in x.items())


def of_vw(from_dicts: bool = False, once: bool = False) -> Prepared:
    """`predict` and `learn` of an example that is made once, of the dict or of a line of text that is made before.

    ``once``: `learn` alone, which leaves its prediction before the update. Vowpal Wabbit scales the features itself.
    """
    vw = importlib.import_module("vowpalwabbit").Workspace("--loss_function logistic --quiet")

    def step(example: Any) -> None:
        if not once:
            vw.predict(example)
        vw.learn(example)
        example.get_simplelabel_prediction()
        vw.finish_example(example)

    def prepared(samples: Stream) -> timing.Action:
        lines = [line(x, y) for x, y in samples]

        def of_dicts() -> None:
            for x, y in samples:
                example = vw.example({" ": x})
                example.set_label_string("1" if y else "-1")
                step(example)

        def of_lines() -> None:
            for text in lines:
                step(vw.parse(text))

        return of_dicts if from_dicts else of_lines

    return prepared


def scaled(model: Any) -> Prepared:
    return of_river(preprocessing.StandardScaler() | model)


# The package that each needs; ratios are relative to the first.
MODELS: dict[str, tuple[str, Callable[[], Prepared]]] = {
    "river StandardScaler, LogisticRegression": ("river", lambda: scaled(linear_model.LogisticRegression())),
    "StandardScaler, RBPClassifier": ("river_okl", lambda: scaled(river_okl.RBPClassifier(seed=1))),
    "StandardScaler, NBSGDClassifier": ("river_okl", lambda: scaled(river_okl.NBSGDClassifier(seed=1))),
    "StandardScaler, AhpatronClassifier": ("river_okl", lambda: scaled(river_okl.AhpatronClassifier())),
    "OKLClassifier": ("river_okl", lambda: of_river(river_okl.OKLClassifier())),
    "scikit-learn SGDClassifier": ("sklearn", lambda: of_sklearn(False)),
    "scikit-learn StandardScaler, SGDClassifier": ("sklearn", lambda: of_sklearn(True)),
    "Vowpal Wabbit, from dicts": ("vowpalwabbit", lambda: of_vw(from_dicts=True)),
    "Vowpal Wabbit, from lines": ("vowpalwabbit", of_vw),
    "Vowpal Wabbit, from lines, learn alone": ("vowpalwabbit", lambda: of_vw(once=True)),
}


def in_parts(prepared: Prepared, stream: Stream) -> Callable[[], float]:
    """µs per sample of a model that has learned the start of the stream; each call goes on with the next part."""
    prepared(stream[:WARM])()
    starts = itertools.count(WARM, PART)

    def microseconds() -> float:
        at = next(starts)
        return timing.seconds(prepared(stream[at : at + PART])) / PART * 1e6

    return microseconds


def libraries() -> Iterator[str]:
    """Prediction and update of one sample after the other, with default parameters, as users of each library call it.

    Gaussian features, 10 % of the labels wrong; each model has learned 3,000 samples. River's classes and ours get
    dicts, behind River's `StandardScaler` if it is named. scikit-learn gets an array of one row, which is made before.
    Vowpal Wabbit (logistic loss) makes one example for both calls, of the dict or of a line that is made before.
    "learn alone" is the fastest way to both: `learn` leaves its prediction before the update.
    """
    rows: dict[str, list[object]] = {name: [name] for name in MODELS}
    present = [name for name, (package, _) in MODELS.items() if importlib.util.find_spec(package)]
    for name, (package, _) in MODELS.items():
        if name not in present:
            print(f"{package} is not installed: {name} has no number")
    first, head = next(iter(MODELS)), ["µs per sample"]
    for d in FEATURES:
        stream = labelled(WARM + ROUNDS * PART, d)
        times = timing.in_turns({name: in_parts(MODELS[name][1](), stream) for name in present}, ROUNDS)
        head += [f"d={d}", "/ LogisticRegression"]
        for name, row in rows.items():
            row += [times[name], times.ratio(name, first)] if name in present else [None, None]
    yield runner.table(head, rows.values())
