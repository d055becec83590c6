"""Are the probabilities sane?  Log loss of the fitted sigmoid beside the plain one, on three streams.

RIVER_DATA=... python -m benchmarks.probabilities
"""

from __future__ import annotations

import csv
import itertools
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from river import datasets, metrics, preprocessing

import river_okl
from river_okl._core.calibration import sigmoid

CLASSES = ["RBPClassifier", "AhpatronClassifier", "BPAClassifier", "BOGDClassifier", "SPAClassifier", "BSGDClassifier"]
CLASSES += ["NBSGDClassifier", "BDUOLClassifier", "OLRDClassifier"]


def elec2(n: int) -> Iterator[tuple[dict[str, float], bool]]:
    """The electricity market, in time order."""
    path = pathlib.Path(os.environ.get("RIVER_DATA", ""), "streams", "elec2.csv")
    with open(path) as file:
        reader = csv.DictReader(file)
        *names, target = reader.fieldnames or []
        for row in itertools.islice(reader, n):
            yield {name: float(row[name]) for name in names if name != "date"}, row[target] in ("UP", "1", "True")


def log_losses(name: str, stream: Any) -> tuple[float, float]:
    model = getattr(river_okl, name)()
    if hasattr(model, "seed"):
        model = model.clone({"seed": 1})
    scaler, plain, fitted = preprocessing.StandardScaler(), metrics.LogLoss(), metrics.LogLoss()
    for x, y in stream:
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        p = sigmoid(model.decision_function_one(x))
        plain.update(y, {False: 1.0 - p, True: p})
        fitted.update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    return plain.get(), fitted.get()


def main() -> None:
    streams = {"Phishing": datasets.Phishing(), "Bananas": datasets.Bananas(), "Elec2 (10,000)": list(elec2(10_000))}
    print(f"| class | {' | '.join(f'{name}: plain | fitted' for name in streams)} |")
    print(f"| --- |{' --- |' * 2 * len(streams)}")
    for name in CLASSES:
        cells = [f"{loss:.3f}" for stream in streams.values() for loss in log_losses(name, stream)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
