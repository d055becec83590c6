"""The pictures of README.md and docs/: `python -m benchmarks.untuned --only pictures`."""

from __future__ import annotations

import itertools
import math
import pathlib
import random
import statistics
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from river import datasets, preprocessing
from river.datasets import synth

import river_okl
from river_okl.cli import plot

DOCS = pathlib.Path(__file__).parent.parent / "docs"
BESIDE = {"HoeffdingTree": ((-6, -3), "right"), "Bagging(LR)": ((6, -10), "left"), "SRP(10)": ((0, 8), "right")}


def surface() -> None:
    """The decision surface of 50 support vectors after 5,300 samples of Bananas."""
    model = preprocessing.StandardScaler() | river_okl.AhpatronClassifier(budget=50)
    samples = list(datasets.Bananas())
    for x, y in samples:
        model.learn_one(x, y)
    axes = plot.decision_surface(model, samples[:2000])
    axes.figure.savefig(DOCS / "surface.png", dpi=110)


def watched(model: Any, samples: Iterable[Any], look: Callable[[Any], dict[Any, float]], every: int) -> Any:
    """Names, sample counts, and the results of `look` at these times: a row for each name."""
    seen: list[tuple[int, dict[Any, float]]] = []
    for n, (x, y) in enumerate(samples, start=1):
        model.learn_one(x, y)
        if n % every == 0:
            seen.append((n, dict(look(model))))
    names = list(dict.fromkeys(name for _, values in seen for name in values))
    return names, [n for n, _ in seen], np.array([[values.get(name, 0.0) for _, values in seen] for name in names])


def posteriors(samples: Iterable[Any]) -> None:
    """The mixture weights of the experts along Elec2, stacked."""
    names, at, weights = watched(river_okl.OKLClassifier(), samples, lambda model: model.experts, 20)
    n = len(at) // 20 * 20
    weights = weights[:, :n].reshape(len(names), -1, 20).mean(axis=2)  # over 400 samples each
    large = [i for i in np.argsort(-weights.mean(axis=1)) if weights[i].mean() > 0.01]
    rest = np.setdiff1d(np.arange(len(names)), large)
    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.add_subplot()
    labels = [*(str(names[i]) for i in large), f"{len(rest)} others"]
    colors = [*itertools.islice(itertools.cycle(plot.COLORS[:6]), len(large)), "lightgray"]
    ax.stackplot(at[19:n:20], [*weights[large], weights[rest].sum(axis=0)], labels=labels, colors=colors)
    ax.set(xlabel="samples of Elec2", ylabel="weight", ylim=(0, 1), xlim=(at[19], at[n - 1]))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.savefig(DOCS / "beliefs.png", dpi=110)


def features() -> None:
    """Feature weights on Agrawal, when function 6 replaces function 3 after 10,000 samples."""
    streams = [synth.Agrawal(classification_function=k, seed=42).take(10_000) for k in (3, 6)]
    samples = ((x, bool(y)) for x, y in itertools.chain(*streams))
    names, at, weights = watched(river_okl.OKLClassifier(), samples, lambda model: model.feature_weights, 100)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    ax = figure.add_subplot()
    share = weights / weights.sum(axis=0)
    image = ax.imshow(share, aspect="auto", cmap="viridis", extent=(0, at[-1], len(names) - 0.5, -0.5), vmin=0)
    ax.set(xlabel="samples", yticks=range(len(names)), yticklabels=[str(name) for name in names])
    ax.axvline(10_000, color="white", linestyle="--")
    figure.colorbar(image, ax=ax, label="share of the feature weights")
    figure.savefig(DOCS / "features.png", dpi=110)


def band() -> None:
    """A regression's mean and 90 % interval on a stream of one feature that changes after 2,000 samples."""
    rng = random.Random(1)
    model, recent = river_okl.OKLRegressor(), []
    figure = Figure(figsize=(12, 3.2), layout="constrained")
    panels = dict(zip((2_000, 2_050, 2_200, 4_000), figure.subplots(1, 4, sharey=True), strict=True))
    for n in range(1, 4_001):
        u = rng.uniform(-3, 3)
        y = (math.sin(2 * u) if n <= 2_000 else 1.0 - math.cos(u)) + rng.gauss(0, 0.2)
        model.learn_one({"x": u}, y)
        recent = [*recent[-49:], (u, y)]
        if n in panels:
            across = np.linspace(-3, 3, 200)
            normals = [model.predict_one({"x": float(v)}, with_dist=True) for v in across]
            mu, sigma = (np.array([getattr(normal, name) for normal in normals]) for name in ("mu", "sigma"))
            ax = panels[n]
            ax.fill_between(across, mu - 1.645 * sigma, mu + 1.645 * sigma, color=plot.COLORS[5], alpha=0.4)
            ax.plot(across, mu, color=plot.COLORS[0])
            ax.scatter(*zip(*recent, strict=True), s=8, color="black", linewidths=0)
            ax.set(title="before the change" if n == 2_000 else f"{n - 2_000:,} samples after it", xlabel="x")
    figure.savefig(DOCS / "band.png", dpi=110)


def dots(found: dict[tuple[str, str], Any], timed: dict[str, Any]) -> None:
    """Mean accuracy against the geometric mean of µs/sample, over the streams measured for all models."""
    classified = {name for (name, _), row in found.items() if "accuracy" in row}
    streams = [name for name in timed["streams"] if name in classified]
    those = [m for m in dict.fromkeys(m for _, m in found) if all((name, m) in found for name in streams)]
    if not streams:
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    for model in those:
        accuracy = statistics.fmean(found[name, model]["accuracy"] for name in streams)
        us = statistics.geometric_mean(timed["streams"][name]["us"][model] for name in streams)
        ax.scatter([us], [accuracy], color=plot.COLORS[1 if model in ("OKL", "Ahpatron") else 0], s=40)
        at, side = BESIDE.get(model, ((6, 4), "left"))
        ax.annotate(model, (us, accuracy), xytext=at, ha=side, textcoords="offset points", fontsize="small")
    title = f"Mean of {len(streams)} streams, nothing tuned"
    ax.set(xscale="log", xlabel="µs per sample, predict and learn", ylabel="accuracy, %", title=title)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "untuned.png", dpi=110)


def draw(found: dict[tuple[str, str], Any], timed: dict[str, Any] | None, elec2: Iterable[Any]) -> None:
    if timed:
        dots(found, timed)
    posteriors(elec2)
    features()
    band()
    surface()
