"""Contributions of features: noise, time, and the same numbers from SHAP: ``python -m benchmarks.explained``.

A regression on numbers, Σ a_i x_i + x_0 x_1, learned from 9,000 samples.  *Noise*: the mean absolute difference from
contributions with 8,192 pairs of orders, in mean absolute contributions, over samples that were not learned.  SHAP's
``PermutationExplainer`` (`pip install shap`; the part is left out if it is absent) gets all of the background samples,
and ten pairs of orders.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import river_okl
from benchmarks import runner

ROWS, ASKED = 9_000, 20
PAIRS = 16, 64, 256
FEATURES = 12, 100


def learned(features: int) -> tuple[Any, list[dict[str, float]]]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS + ASKED, features))
    y = X @ (rng.normal(size=features) / np.arange(1, features + 1)) + X[:, 0] * X[:, 1]
    samples = [dict(zip(map("x{}".format, range(features)), x, strict=True)) for x in X.tolist()]
    model = river_okl.OKLRegressor()
    for x, target in zip(samples[:ROWS], y.tolist(), strict=False):
        model.learn_one(x, target)
    return model, samples[ROWS:]


def values(found: Any, x: dict[str, float]) -> Any:
    return np.array([found[name] for name in x])


def main(argv: Sequence[str] | None = None) -> None:
    options = runner.parser("explained", __doc__.splitlines()[0]).parse_args(argv)
    report = runner.Report.of(__doc__, options.output / "explained.md")
    noise, beside = [], []
    for features in FEATURES:
        model, asked = learned(features)
        few = asked if features < 50 else asked[:3]
        exact = [values(model.contributions_one(x, samples=128 * 64), x) for x in few]
        size = np.abs(exact).mean()
        for pairs in PAIRS:
            times, errors = [], []
            for x, right in zip(few, exact, strict=True):
                start = time.perf_counter()
                found = model.contributions_one(x, samples=pairs)
                times.append(1000 * (time.perf_counter() - start))
                errors.append(np.abs(values(found, x) - right).mean() / size)
            ms = f"{statistics.median(times):.0f}"
            noise.append([f"{features}", f"{pairs}", f"{np.mean(errors):.0%}", ms])
        beside += with_shap(model, few, exact, features)
    machine = f"{runner.machine()} At {runner.commit()}."
    report.write("1. Noise and time", f"{runner.table(['features', 'pairs', 'noise', 'ms'], noise)}\n\n{machine}")
    if beside:
        head = ["features", "largest difference", "ms", "SHAP, ms"]
        report.write("2. Beside SHAP", f"{runner.table(head, beside)}\n\n{machine}")


def with_shap(model: Any, asked: list[dict[str, float]], exact: list[Any], features: int) -> list[list[str]]:
    try:
        import shap
    except ImportError:
        return []
    background = model._f.background
    names = list(asked[0])
    rows = pd.DataFrame([background.sample(i) for i in range(len(background))])[names]

    def predict(X: Any) -> Any:
        return model.predict_many(pd.DataFrame(X, columns=names)).to_numpy()

    explainer = shap.PermutationExplainer(predict, shap.maskers.Independent(rows.to_numpy(), max_samples=len(rows)))
    differences, ours, theirs = [], [], []
    for x, right in zip(asked[:3], exact, strict=False):
        start = time.perf_counter()
        found = explainer(np.array([[x[name] for name in names]]), max_evals=10 * (2 * features + 1), silent=True)
        theirs.append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        model.contributions_one(x)
        ours.append(1000 * (time.perf_counter() - start))
        differences.append(np.abs(found.values[0] - right).max() / np.abs(right).mean())
    times = [f"{statistics.median(each):.0f}" for each in (ours, theirs)]
    return [[f"{features}", f"{max(differences):.0%}", *times]]


if __name__ == "__main__":
    main()
