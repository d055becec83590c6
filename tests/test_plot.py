"""Plots, checked by the data given to matplotlib."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from river import datasets, metrics, preprocessing

from river_okl import KernelPerceptronClassifier, OKLClassifier, OLKRegressor, SOGPClassifier
from river_okl.cli.race import Contestant, Point
from tests.discovery import learn

colors = pytest.importorskip("matplotlib.colors")
from river_okl import plot  # noqa: E402


def bananas(n=300):
    return datasets.Bananas().take(n)


def rings(ax):
    """The drawn support vectors: positions, sizes, colours."""
    collection = ax.collections[-1]
    return collection.get_offsets(), collection.get_sizes(), collection.get_edgecolors()


def test_support_vectors_are_drawn_at_their_positions():
    model = learn(preprocessing.StandardScaler() | KernelPerceptronClassifier(), bananas())
    ax = plot.decision_surface(model, resolution=20)
    where, _, drawn = rings(ax)
    support = model[-1].support_vectors
    np.testing.assert_array_equal(where, [[z.get("1", 0.0), z.get("2", 0.0)] for z, _ in support])
    expected = [plot.POSITIVE if c > 0 else plot.NEGATIVE for _, c in support]
    assert [colors.to_hex(color) for color in drawn] == expected
    assert str(len(support)) in ax.get_title() and "KernelPerceptronClassifier" in ax.get_title()


def test_the_line_is_the_zero_level_set():
    model = learn(KernelPerceptronClassifier(), bananas())
    ax = plot.decision_surface(model, resolution=60)
    (line,) = (c for c in ax.collections if np.array_equal(getattr(c, "levels", ()), [0.0]))
    points = np.concatenate([path.vertices for path in line.get_paths()])
    scores = [abs(model.decision_function_one({"1": a, "2": b})) for a, b in points]
    grid = [abs(model.decision_function_one({"1": a, "2": b})) for a in np.linspace(-2, 2, 9) for b in (-1.5, 0, 1.5)]
    assert len(points) > 20
    assert max(scores) < 0.2 * np.median(grid)


def test_samples_are_drawn_as_the_model_sees_them():
    model = learn(preprocessing.StandardScaler() | KernelPerceptronClassifier(), bananas())
    samples = list(bananas(40))
    ax = plot.decision_surface(model, samples, resolution=20)
    negative, positive = ax.collections[-3:-1]
    seen = [(model.transform_one(x), y) for x, y in samples]
    for dots, label in ((negative, False), (positive, True)):
        np.testing.assert_allclose(dots.get_offsets(), [[x["1"], x["2"]] for x, y in seen if y == label])


def test_larger_coefficients_are_larger_rings_and_regressors_are_drawn_too():
    model = learn(OLKRegressor(), [(x, float(y)) for x, y in bananas(60)])
    ax = plot.decision_surface(model, bananas(5), resolution=10)
    _, sizes, _ = rings(ax)
    coefficients = np.abs([c for _, c in model.support_vectors])
    np.testing.assert_array_equal(np.argsort(sizes, kind="stable"), np.argsort(coefficients, kind="stable"))


def test_more_than_two_labels_are_drawn_as_regions():
    """Each in its colour, shared by its samples and support vectors."""
    stream = [(x, "abc"[y + (x["2"] > 1.0)]) for x, y in bananas()]
    model = learn(KernelPerceptronClassifier(), stream)
    ax = plot.decision_surface(model, stream[:50], resolution=40)
    labels = list(model.decision_function_one(stream[0][0]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
    *_, first, second, third, rings = ax.collections
    for dots, label, color in zip((first, second, third), labels, plot.COLORS, strict=False):
        np.testing.assert_array_equal(dots.get_offsets(), [[x["1"], x["2"]] for x, y in stream[:50] if y == label])
        assert colors.to_hex(dots.get_facecolor()[0]) == color
    strongest = [labels.index(max(c, key=c.get)) for _, c in model.support_vectors]
    assert [colors.to_hex(color) for color in rings.get_edgecolors()] == [plot.COLORS[i] for i in strongest]
    regions = [c for c in ax.collections[:-4] if len(getattr(c, "levels", ())) == 2]
    assert len(regions) == 3
    for x, _ in stream[:100]:
        inside = [any(path.contains_point([x["1"], x["2"]]) for path in region.get_paths()) for region in regions]
        scores = sorted(model.decision_function_one(x).values())
        if scores[-1] - scores[-2] > 0.3:  # except where a grid of 40 x 40 is too coarse
            assert [label for label, there in zip(labels, inside, strict=True) if there] == [model.predict_one(x)]


def test_a_gaussian_process_is_drawn_and_a_mixture_where_it_does_not_scale():
    for cls, options in ((SOGPClassifier, {}), (OKLClassifier, {"scale": False, "budget": 20})):
        model = learn(cls(**options), bananas(60))
        where, _, _ = rings(plot.decision_surface(model, resolution=5))
        np.testing.assert_array_equal(where, [[z.get("1", 0.0), z.get("2", 0.0)] for z, _ in model.support_vectors])
    with pytest.raises(ValueError, match="scale=False"):
        plot.decision_surface(learn(OKLClassifier(), bananas(20)))


def test_errors_say_why_a_model_cannot_be_drawn():
    with pytest.raises(ValueError, match="2 features; the support vectors have 0"):
        plot.decision_surface(KernelPerceptronClassifier())
    three = KernelPerceptronClassifier()
    three.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, False)
    with pytest.raises(ValueError, match="2 features; the support vectors have 3"):
        plot.decision_surface(three)
    with pytest.raises(TypeError, match="not a model of river_okl"):
        plot.decision_surface(preprocessing.StandardScaler())


RESULTS = [
    Contestant("ours", None, [metrics.Accuracy()], curve=[Point(10, 0.4, 3.0, 4), Point(20, 0.3, 2.0, 7)]),
    Contestant("theirs", None, [metrics.Accuracy()], curve=[Point(10, 0.5, 30.0, None), Point(20, 0.45, 20.0, None)]),
]


def test_learning_curves_match_the_results():
    figure = plot.learning_curves(RESULTS)
    error, support, time = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["Accuracy", "support vectors", "µs per sample"]
    assert [line.get_xydata().tolist() for line in error.lines] == [[[10, 0.4], [20, 0.3]], [[10, 0.5], [20, 0.45]]]
    assert [line.get_xydata().tolist() for line in support.lines] == [[[10, 4], [20, 7]]]
    assert [line.get_xydata().tolist() for line in time.lines] == [[[10, 3], [20, 2]], [[10, 30], [20, 20]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ours", "theirs"]
    assert time.get_yscale() == "log"
    assert support.lines[0].get_color() == error.lines[0].get_color() != error.lines[1].get_color()


def test_learning_curves_without_support_vectors_have_two_panels():
    figure = plot.learning_curves(RESULTS[1:])
    assert [ax.get_title() for ax in figure.axes] == ["Accuracy", "µs per sample"]


def test_many_models_are_distinguishable():
    results = [Contestant(f"m{i}", None, [metrics.MAE()], curve=[Point(10, 0.1, 1.0, i)]) for i in range(15)]
    lines = plot.learning_curves(results).axes[0].lines
    assert len(lines) == 15
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 15


def test_a_waterfall_leads_from_the_base_to_the_prediction():
    model = learn(OKLClassifier(), bananas(300))
    found = model.contributions_one({"1": 0.5, "2": -1.0})
    ax = found.plot()
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert ends[0][0] == pytest.approx(found.base) and ends[-1][1] == pytest.approx(found.prediction)
    assert all(before[1] == pytest.approx(after[0]) for before, after in itertools.pairwise(ends))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [f"{name} = {found.sample[name]:g}" for name in found]


def test_importances_are_bars():
    model = learn(OKLClassifier(), bananas(300))
    ax = plot.importances(preprocessing.StandardScaler() | model, n=1)
    assert [bar.get_width() for bar in ax.patches] == [max(model.feature_importances.values())]
    with pytest.raises(TypeError, match="KernelPerceptronClassifier has no feature_importances"):
        plot.importances(KernelPerceptronClassifier())
