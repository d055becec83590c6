"""The pictures of README.md and docs/: `python -m benchmarks.untuned --only pictures`.

Those of the tutorials are drawn from what the page's own code has computed; `python -m benchmarks.figures` draws only
them.
"""

from __future__ import annotations

import doctest
import itertools
import math
import pathlib
import random
import statistics
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import num2date
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from river import datasets, preprocessing
from river.datasets import synth

import river_okl
from benchmarks import filters
from river_okl import plot

DOCS = pathlib.Path(__file__).parent.parent / "docs"
PLACES = [  # of a label, in points from its dot
    (6, -3, "left"),
    (-6, -3, "right"),
    (0, 7, "center"),
    (0, -13, "center"),
    (6, 7, "left"),
    (6, -13, "left"),
    (-6, 7, "right"),
    (-6, -13, "right"),
    (0, 18, "center"),
    (0, -24, "center"),
]


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


# Tutorials ------------------------------------------------------------------------------------------


def session(page: str) -> dict[str, Any]:
    """What the code of a page of docs/ defines, once it has run."""
    names: dict[str, Any] = {}
    text = (DOCS / page).read_text(encoding="utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        if not example.source.startswith("folder.cleanup"):
            exec(compile(example.source, page, "single"), names)
    return names


def panel(width: float, height: float, **options: Any) -> Any:
    """Axes without a frame, of a figure of this size in inches."""
    ax = Figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.set(**options)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def intervals() -> None:
    """Five days of WaterFlow around a small incident: flow, prediction and 90 % interval."""
    found = session("tutorial-regression.md")
    first = found["incidents"][2][0]
    near = [hour for hour in found["settled"] if -72 <= (hour[0] - first) / found["HOUR"] <= 60]
    times, flow, _, mean, lower, upper = zip(*near, strict=True)
    ax = panel(7, 3.2, ylabel="flow, l/s")
    ax.fill_between(times, lower, upper, color=plot.COLORS[5], alpha=0.4, label="90 % interval")
    ax.plot(times, mean, color=plot.COLORS[0], linewidth=1.2, label="prediction")
    inside = [low <= y <= high for y, low, high in zip(flow, lower, upper, strict=True)]
    for kind, color, label in ((True, "black", "flow"), (False, plot.COLORS[1], "flow outside the interval")):
        those = [(t, y) for t, y, of in zip(times, flow, inside, strict=True) if of == kind]
        ax.scatter(*zip(*those, strict=True), s=10, color=color, zorder=3, linewidths=0, label=label)
    ax.xaxis.set_major_formatter(lambda day, _: f"{num2date(day):%d %b}")
    ax.legend(fontsize="small", frameon=False)
    ax.figure.savefig(DOCS / "interval.png", dpi=110)


def alarms() -> None:
    """Faults of each day, and how many of them the two models catch."""
    found = session("tutorial-alarms.md")
    ours, others = found["days"], found["others"]
    at = np.arange(1, len(ours))
    ax = panel(7, 3.2, xlabel="day", ylabel="faults", xticks=range(2, len(ours) + 1, 2))
    ax.bar(at + 1, [day[2] for day in ours[1:]], width=0.85, color="lightgray", label="all")
    ax.bar(at + 0.8, [day[1] for day in ours[1:]], width=0.35, color=plot.COLORS[1], label="caught by OKLClassifier")
    ax.bar(at + 1.2, [day[1] for day in others[1:]], width=0.35, color=plot.COLORS[0], label="by logistic regression")
    ax.axvline(10.5, color="gray", linestyle="--")
    ax.legend(fontsize="small", frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.17))
    ax.figure.savefig(DOCS / "alarms.png", dpi=110)


def learned() -> None:
    """The feature weights of the tutorial's model, indicators of strings and gaps apart."""
    found = session("tutorial.md")
    largest = found["weights"][:14][::-1]
    ax = panel(7, 3.6, xlabel="weight in the distance between samples; 1 on average")
    colors = [plot.COLORS[0 if "=" in str(name) else 2] for name, _ in largest]
    ax.barh([str(name) for name, _ in largest], [weight for _, weight in largest], color=colors)
    ax.tick_params(labelsize="small")
    ax.figure.savefig(DOCS / "learned.png", dpi=110)


def contributions() -> None:
    """What the features of a page contribute to its probability of phishing."""
    samples, model = list(datasets.Phishing()), river_okl.OKLClassifier()
    for x, y in samples[:1000]:
        model.learn_one(x, y)
    model.contributions_one(samples[1005][0]).plot().figure.savefig(DOCS / "contributions.png", dpi=110)


def change() -> None:
    """Accuracy of the last 300 samples along SEA, whose concept changes after 2,000."""
    found = session("drift.md")
    ax = panel(7, 3, xlabel="samples", ylabel="accuracy of the last 300, %")
    models = {
        "OKLClassifier": river_okl.OKLClassifier(),
        "BOGDClassifier, decays": river_okl.BOGDClassifier(l2=0.01, learning_rate=0.1, seed=1),
        "SPAClassifier, averages": river_okl.SPAClassifier(seed=1),
    }
    for (name, model), color in zip(models.items(), plot.COLORS[1::-1] + plot.COLORS[2:3], strict=True):
        model, hits = preprocessing.StandardScaler() | model, []
        for x, y in found["sea"]():
            hits.append(model.predict_one(x) == y)
            model.learn_one(x, y)
        means = np.convolve(hits, np.full(300, 1 / 3), "valid")
        ax.plot(np.arange(300, len(hits) + 1), means, color=color, label=name)
    ax.axvline(2_000, color="gray", linestyle="--")
    ax.legend(fontsize="small", frameon=False)
    ax.figure.savefig(DOCS / "drift.png", dpi=110)


def reliability() -> None:
    """How often a label comes that was predicted with a probability, on Phishing."""
    ax = panel(4.2, 3.6, xlabel="predicted probability", ylabel="frequency of the label")
    ax.plot([0, 1], [0, 1], color="gray", linestyle="--")
    models = {
        "OKLClassifier": river_okl.OKLClassifier(),
        "AhpatronClassifier": preprocessing.StandardScaler() | river_okl.AhpatronClassifier(),
    }
    for (name, model), color in zip(models.items(), plot.COLORS[1::-1], strict=True):
        said = []
        for x, y in datasets.Phishing():
            said.append((model.predict_proba_one(x).get(True, 0.5), y))
            model.learn_one(x, y)
        blocks = [block for block in np.array_split(np.array(sorted(said)), 12) if len(block)]
        ax.plot([b[:, 0].mean() for b in blocks], [b[:, 1].mean() for b in blocks], "o-", color=color, label=name)
    ax.legend(fontsize="small", frameon=False)
    ax.figure.savefig(DOCS / "reliability.png", dpi=110)


def series() -> None:
    """Eight days of the building around the day on which a floor is rented."""
    found = session("tutorial-series.md")
    near = [hour for hour in found["hours"] if 77 <= (hour[0] - found["START"]) / found["DAY"] < 85]
    times, consumption, mean, lower, upper = zip(*near, strict=True)
    ax = panel(7, 3.2, ylabel="consumption, kWh")
    ax.fill_between(times, lower, upper, color=plot.COLORS[5], alpha=0.4, label="90 % interval")
    ax.plot(times, mean, color=plot.COLORS[0], linewidth=1.2, label="forecast, a day ahead")
    ax.scatter(times, consumption, s=8, color="black", zorder=3, linewidths=0, label="consumption")
    ax.axvline(found["START"] + 80 * found["DAY"], color=plot.COLORS[1], linewidth=1.0, label="a floor is rented")
    ax.xaxis.set_major_formatter(lambda day, _: f"{num2date(day):%a %d}")
    ax.tick_params(axis="x", labelsize="small")
    ax.set_ylim(0, 1.35 * max(upper))
    ax.legend(fontsize="small", frameon=False, ncols=2)
    ax.figure.savefig(DOCS / "series.png", dpi=110)


def smooth() -> None:
    """The errors of kernel adaptive filters along Lorenz's series."""
    ax = panel(7, 3.2, xlabel="values", ylabel="error of 250 values, dB")
    for name, color in zip(filters.MODELS, plot.COLORS, strict=False):
        if name == "KRLS-T, NumPy":
            continue
        errors = filters.run(name, "Lorenz", 0).errors
        blocks = errors[: len(errors) // 250 * 250].reshape(-1, 250)
        ax.plot(
            250 * (1 + np.arange(len(blocks))), [filters.decibel(block) for block in blocks], color=color, label=name
        )
    ax.figure.legend(loc="outside lower center", fontsize="small", frameon=False, ncols=3)
    ax.figure.savefig(DOCS / "filters.png", dpi=110)


def pages() -> None:
    for picture in (intervals, series, alarms, learned, contributions, change, reliability, smooth):
        picture()


# The leaderboard ------------------------------------------------------------------------------------


def dots(found: dict[tuple[str, str], Any], timed: dict[str, Any]) -> None:
    """Mean accuracy against median µs/sample, as in the table: a dot for each model that was run on all streams."""
    classified = {name: None for (name, _), row in found.items() if "accuracy" in row}
    streams = [name for name in classified if name in timed["streams"]]
    those = [m for m in dict.fromkeys(m for _, m in found) if all("accuracy" in found.get((n, m), {}) for n in streams)]
    if not streams:
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    points = {}
    for model in those:
        accuracy = statistics.fmean(found[name, model]["accuracy"] for name in streams)
        us = statistics.median(timed["streams"][name]["us"][model] for name in streams)
        points[model] = us, accuracy
        ax.scatter([us], [accuracy], color=plot.COLORS[1 if model in ("OKL", "Ahpatron") else 0], s=40)
    title = f"Mean of {len(streams)} streams, default parameters"
    ax.set(xscale="log", xlabel="µs per sample, predict and learn", ylabel="accuracy, %", title=title)
    ax.margins(x=0.12, y=0.08)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    labelled(ax, points)
    figure.savefig(DOCS / "untuned.png", dpi=110)


def labelled(ax: Any, points: dict[str, tuple[float, float]]) -> None:
    """A label beside each point, where it covers neither a point nor another label."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in ax.transData.transform(list(points.values()))]
    for model, point in points.items():
        for across, up, side in PLACES:
            label = ax.annotate(model, point, (across, up), ha=side, textcoords="offset points", fontsize="small")
            box = label.get_window_extent(canvas.get_renderer())
            if not any(box.overlaps(other) for other in taken):
                break
            label.remove()
        else:
            label = ax.annotate(model, point, (6, 4), textcoords="offset points", fontsize="small")
            box = label.get_window_extent(canvas.get_renderer())
        taken.append(box)


def draw(found: dict[tuple[str, str], Any], timed: dict[str, Any] | None, elec2: Iterable[Any]) -> None:
    if timed:
        dots(found, timed)
    posteriors(elec2)
    features()
    band()
    surface()
    pages()


if __name__ == "__main__":
    pages()
