"""More than two classes: one support set with a column per class, against OneVsRest of the same class.

    RIVER_DATA=... python -m benchmarks.multiclass

Prints a table and writes it into results/multiclass.md: progressive accuracy and µs per sample (predict_one and
learn_one, processor time), both models side by side on every sample.
"""

from __future__ import annotations

from benchmarks import timing  # isort: skip

import inspect
import itertools
import time
from collections.abc import Iterable
from typing import Any

from river import datasets, metrics, multiclass, preprocessing
from river.datasets import synth

import river_okl

CLASSES = ("KernelPerceptron", "RBP", "KernelPA", "AVP", "Ahpatron", "SPA", "OLRD", "OGD", "Projectron")
BLOCK = 100  # samples that one of the two learns before the other has its turn


def streams() -> dict[str, tuple[list[tuple[dict[Any, float], Any]], int]]:
    """Samples and a budget for each; features are scaled once, before anything is timed."""
    raw: dict[str, tuple[Iterable[tuple[dict[Any, Any], Any]], int]] = {
        "ImageSegments (7 classes)": (datasets.ImageSegments(), 200),
        "dna (3 classes)": (river_okl.datasets.LIBSVM("dna.scale"), 200),
        "LED (10 classes)": (synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True).take(2500), 200),
    }
    out = {}
    for name, (stream, budget) in raw.items():
        scaler, samples = preprocessing.StandardScaler(), []
        for x, y in itertools.islice(stream, 2500):
            if "dna" not in name:
                scaler.learn_one(x)
                x = scaler.transform_one(x)
            samples.append((x, y))
        out[name] = samples, budget
    return out


def model_of(cls: type, budget: int) -> Any:
    known = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in {"budget": budget, "seed": 1}.items() if name in known})


def compare(models: list[Any], samples: list[tuple[dict[Any, float], Any]]) -> list[tuple[float, float]]:
    """Accuracy and µs per sample of each model."""
    scores, spent = [metrics.Accuracy() for _ in models], [0.0] * len(models)
    for block in (samples[i : i + BLOCK] for i in range(0, len(samples), BLOCK)):
        for i, model in enumerate(models):
            predictions = []
            start = time.thread_time()
            for x, y in block:
                predictions.append(model.predict_one(x))
                model.learn_one(x, y)
            spent[i] += time.thread_time() - start
            for (_, y), predicted in zip(block, predictions, strict=True):
                if predicted is not None:
                    scores[i].update(y, predicted)
    return [(score.get(), s / len(samples) * 1e6) for score, s in zip(scores, spent, strict=True)]


def main() -> None:
    report = timing.Report("multiclass", "More than two classes")
    for stream, (samples, budget) in streams().items():
        rows, n_classes = [], len({y for _, y in samples})
        for name in CLASSES:
            cls = getattr(river_okl, f"{name}Classifier")
            native, each = model_of(cls, budget), multiclass.OneVsRestClassifier(model_of(cls, budget))
            models = [native, each]
            if getattr(native, "budget", None) is not None:
                models.append(multiclass.OneVsRestClassifier(model_of(cls, budget // n_classes)))
            (ours, µs), (theirs, their_µs), *shared = compare(models, samples)
            row = [
                name,
                f"{ours:.1%}",
                f"{theirs:.1%}",
                *([f"{shared[0][0]:.1%}", shared[0][1] / µs] if shared else ["", ""]),
            ]
            rows.append([*row, µs, their_µs, their_µs / µs])
        head = [
            f"{len(samples):,} samples, B = {budget}",
            "native",
            "OneVsRest, B each",
            "OneVsRest, B together",
            "its time / native",
        ]
        report.write(stream, timing.table([*head, "native µs", "OneVsRest µs", "OneVsRest / native"], rows))


if __name__ == "__main__":
    main()
