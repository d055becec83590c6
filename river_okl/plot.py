"""Plots of models and benchmarks; needs matplotlib (``pip install 'river_okl[plot]'``).

* `waterfall` - what each feature contributes to a prediction.
* `importances` - the relevance of features for a model.
* `decision_surface` - the predictions of a model of two features, with its support vectors.
* `learning_curves` - error, support vectors and time per sample along a stream.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from river import base, compose

from river_okl.contributions import LISTED, Contributions
from river_okl.model import LabelModel, SupervisedModel

if TYPE_CHECKING:
    from river_okl.cli.race import Contestant

Grid = NDArray[np.float64]

__all__ = ["decision_surface", "importances", "learning_curves", "waterfall"]

# The ends of the color-blind-safe color map RdBu_r.
NEGATIVE, POSITIVE = "#2166ac", "#b2182b"
# Okabe and Ito's palette without yellow, which is too faint for lines.
COLORS = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"
LINES = [(color, style) for style in ("-", "--", ":") for color in COLORS]


def waterfall(contributions: Contributions, *, ax: Axes | None = None) -> Axes:
    """Draw what each feature contributes to a prediction: steps from the base to the prediction.

    Parameters
    ----------
    contributions
        What `contributions_one` returns.
    ax
        The axes to draw on; a new figure by default.

    Returns
    -------
    The axes; ``axes.figure.savefig("file.png")`` saves the picture.

    """
    lines = contributions.largest()
    if ax is None:
        ax = Figure(figsize=(7, 1.2 + 0.35 * len(lines)), layout="constrained").add_subplot()
    ends = contributions.base + np.cumsum([0.0, *(value for _, _, value in lines)])
    for i, ((_, _, value), start) in enumerate(zip(lines, ends, strict=False)):
        ax.barh(i, value, left=start, height=0.6, color=POSITIVE if value > 0.0 else NEGATIVE)
        if i + 1 < len(lines):
            ax.plot([start + value] * 2, [i - 0.3, i + 1.3], color="grey", linewidth=0.8)
    ax.use_sticky_edges = False
    ax.margins(x=0.05)
    ax.axvline(contributions.base, color="grey", linewidth=0.8, linestyle=":")
    labels = [f"{name} = {value}" if value else name for name, value, _ in lines]
    ax.set_yticks(range(len(lines)), [label.replace("$", r"\$") for label in labels])
    ax.invert_yaxis()
    ax.set(
        xlabel=contributions.title.replace("$", r"\$"),
        title=f"base {contributions.base:.4g}, prediction {contributions.prediction:.4g}",
    )
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def importances(model: Any, *, n: int = 2 * LISTED, ax: Axes | None = None) -> Axes:
    """Draw the largest `feature_importances` of `OKLClassifier` or `OKLRegressor` as bars.

    Parameters
    ----------
    model
        The model, or a pipeline that ends in it.
    n
        Maximum number of features.
    ax
        The axes to draw on; a new figure by default.

    Returns
    -------
    The axes; ``axes.figure.savefig("file.png")`` saves the picture.

    """
    last = model[-1] if isinstance(model, compose.Pipeline) else model
    if not hasattr(last, "feature_importances"):
        raise TypeError(f"{type(last).__name__} has no feature_importances; OKLClassifier and OKLRegressor have")
    largest = sorted(last.feature_importances.items(), key=lambda item: -item[1])[:n]
    if ax is None:
        ax = Figure(figsize=(7, 1.2 + 0.3 * len(largest)), layout="constrained").add_subplot()
    ax.barh(range(len(largest)), [share for _, share in largest], height=0.6, color=COLORS[0])
    ax.set_yticks(range(len(largest)), [str(name).replace("$", r"\$") for name, _ in largest])
    ax.invert_yaxis()
    ax.set(xlabel="share of the gains", title=f"{type(last).__name__}: relevance of features")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def decision_surface(
    model: Any,
    samples: Iterable[tuple[dict[Hashable, Any], Any]] = (),
    *,
    ax: Axes | None = None,
    resolution: int = 150,
) -> Axes:
    """Draw the predictions of a model of two features, and its support vectors.

    The background color is the score, and the line is its zero level set. Support vectors are rings: the size
    shows the absolute value of the coefficient, the color its sign. With more than two labels the background
    is the predicted label, and a ring has the color of the label with its largest coefficient.

    Parameters
    ----------
    model
        A model of river_okl, or a pipeline that ends in one. The axes are the model's own inputs, after the
        transformations of the pipeline.
    samples
        Samples to draw as dots, before the pipeline transforms them.
    ax
        The axes to draw on; a new figure by default.
    resolution
        Number of grid points per axis.

    Returns
    -------
    The axes; ``axes.figure.savefig("file.png")`` saves the picture.

    Examples
    --------
    >>> from river import datasets, preprocessing
    >>> from river_okl import KernelPerceptronClassifier
    >>> from river_okl import plot

    >>> model = preprocessing.StandardScaler() | KernelPerceptronClassifier()
    >>> for x, y in datasets.Bananas().take(500):
    ...     model.learn_one(x, y)
    >>> axes = plot.decision_surface(model)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('1', '2')

    """
    last = model[-1] if isinstance(model, compose.Pipeline) else model
    if not isinstance(last, SupervisedModel):
        raise TypeError(f"{last!r} is not a model of river_okl")
    if getattr(last, "scale", False):
        raise ValueError(f"{type(last).__name__} scales features and support vectors itself: set scale=False")
    support = last.support_vectors
    names = list(dict.fromkeys(name for z, _ in support for name in z))
    if len(names) != 2:
        raise ValueError(f"a surface needs a model of 2 features; the support vectors have {len(names)}")
    if isinstance(model, compose.Pipeline):
        samples = [(model.transform_one(x), y) for x, y in samples]
    else:
        samples = list(samples)
    if ax is None:
        ax = Figure(figsize=(6, 5), layout="constrained").add_subplot()

    a, b = names
    points = np.array([[z.get(a, 0.0), z.get(b, 0.0)] for z in (*(z for z, _ in support), *(x for x, _ in samples))])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * (high - low) + 1e-9
    across, up = (np.linspace(low[i] - margin[i], high[i] + margin[i], resolution) for i in range(2))
    any_model: Any = last
    score = any_model.decision_function_one if isinstance(last, base.Classifier) else any_model.predict_one
    scores = [[score({a: u, b: v}) for u in across] for v in up]
    if isinstance(scores[0][0], dict):
        labels = list(scores[0][0])
        colors = dict(zip(labels, itertools.cycle(COLORS), strict=False))
        _regions(ax, across, up, np.array([[list(each.values()) for each in row] for row in scores]), colors)
        groups = {color: [x for x, y in samples if y == label] for label, color in colors.items()}
        coefficients = np.array([list(c.values()) for _, c in support])
        edges = [colors[labels[i]] for i in coefficients.argmax(axis=1)]
        sizes = np.linalg.norm(coefficients, axis=1)
    else:
        _scores(ax, across, up, np.array(scores), centred=isinstance(last, base.Classifier))
        groups = {}
        if isinstance(last, LabelModel):
            positive = last._labels.positive
            groups = {
                color: [x for x, y in samples if (y == positive) == is_positive]
                for is_positive, color in ((False, NEGATIVE), (True, POSITIVE))
            }
        edges = [POSITIVE if c > 0 else NEGATIVE for _, c in support]
        sizes = np.abs([c for _, c in support])
    if samples:
        for color, dots in groups.items():
            where = np.array([[x.get(a, 0.0), x.get(b, 0.0)] for x in dots]).reshape(-1, 2)
            ax.scatter(where[:, 0], where[:, 1], s=5, color=color, alpha=0.5, linewidths=0)
    ax.scatter(
        points[: len(support), 0],
        points[: len(support), 1],
        s=15 + 60 * sizes / max(float(sizes.max(initial=0.0)), 1e-300),
        facecolors="white",
        edgecolors=edges,
        linewidths=1.2,
    )
    ax.set(xlabel=str(a), ylabel=str(b), title=f"{type(last).__name__}, {len(support)} support vectors")
    return ax


def _scores(ax: Axes, across: Grid, up: Grid, scores: Grid, *, centred: bool) -> None:
    """Draw the score at every point, and its zero level set if ``centred``."""
    if centred:
        # Clipped: extreme scores would leave no contrast near the decision boundary.
        high = max(float(np.quantile(np.abs(scores), 0.95)), 1e-9)
        levels = np.linspace(-high, high, 21)
        surface = ax.contourf(
            across, up, scores, levels, cmap="RdBu_r", norm=TwoSlopeNorm(0.0, -high, high), alpha=0.6, extend="both"
        )
        ax.contour(across, up, scores, [0.0], colors="black", linewidths=1.5)
    else:
        surface = ax.contourf(across, up, scores, 20, cmap="viridis", alpha=0.8)
    ax.figure.colorbar(surface, ax=ax, label="score" if centred else "prediction", ticks=MaxNLocator(6))


def _regions(ax: Axes, across: Grid, up: Grid, scores: Grid, colors: dict[Any, str]) -> None:
    """Draw the predicted label at every point, from the scores of all labels, and the boundaries between labels."""
    for c, color in enumerate(colors.values()):
        lead = scores[:, :, c] - np.delete(scores, c, axis=2).max(axis=2)
        if lead.max() >= 0.0:
            ax.contourf(across, up, lead, [0.0, np.inf], colors=[color], alpha=0.3)
        if lead.max() >= 0.0 >= lead.min():
            ax.contour(across, up, lead, [0.0], colors="black", linewidths=1.0)
    handles = [Patch(color=color, alpha=0.5, label=str(label)) for label, color in colors.items()]
    ax.legend(handles=handles, loc="upper right", fontsize="small")


def learning_curves(results: Sequence[Contestant]) -> Figure:
    """Draw the metric, the support vectors and the time per sample of models along a stream.

    Parameters
    ----------
    results
        The results of `river_okl.cli.race.race`.

    Examples
    --------
    >>> from river import datasets, metrics
    >>> from river_okl import OLRDClassifier
    >>> from river_okl import plot
    >>> from river_okl.cli import race

    >>> models = {f"B = {B}": OLRDClassifier(budget=B, seed=1) for B in (10, 100)}
    >>> results = race.race(models, datasets.Bananas(), [metrics.Accuracy()], block=500)
    >>> plot.learning_curves(results).savefig("curves.png")  # doctest: +SKIP

    """
    panels = [
        (type(results[0].metrics[0]).__name__, "metric"),
        ("support vectors", "support_vectors"),
        ("µs per sample", "microseconds"),
    ]
    if all(point.support_vectors is None for result in results for point in result.curve):
        del panels[1]
    figure = Figure(figsize=(4.2 * len(panels), 4.2), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, name) in zip(axes, panels, strict=True):
        # Coinciding lines differ in style.
        for result, (color, style) in zip(results, itertools.cycle(LINES), strict=False):
            curve = [(point.samples, getattr(point, name)) for point in result.curve]
            if all(value is None for _, value in curve):
                continue
            ax.plot(*zip(*curve, strict=True), color=color, linestyle=style, linewidth=1.6, label=result.name)
        ax.set(title=title, xlabel="samples")
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        if name == "microseconds":
            ax.set_yscale("log")
        elif name == "support_vectors":
            ax.set_ylim(bottom=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
