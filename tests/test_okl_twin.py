"""OKLClassifier and OKLRegressor against reference/okl.py: predictions, experts and points at every step."""

from __future__ import annotations

import numpy as np
import pytest

import river_okl
from river_okl._core.mixture import class_mixture
from tests import streams
from tests.reference.okl import OKL, Said

# Metrics are learned after 200, 300 and 450 samples; the last two times a kernel may move.
SHORT, LONG = 320, 460
WEIGHTS = (1.0, 0.3, 0.0, 7.0, 30.0)
CLASSIFICATION, REGRESSION = streams.CLASSIFICATION, streams.REGRESSION


def of_three_then_four(stream):
    """Labels from a numeric target: two at first, a third after 30 samples, a fourth after 150."""
    for t, (x, y) in enumerate(stream):
        yield x, int(y > 0.0) if t < 30 else int(y > -0.3) + (y > 0.3) + (t >= 150 and y > 0.7)


def reversed_after(n, stream):
    """Two labels, easily told apart, which change places."""
    for t, (x, _) in enumerate(stream):
        yield {**x, "x0": 5.0 if x["x0"] > 0.0 else -5.0}, (x["x0"] > 0.0) == (t < n)


def of_eighty(stream):
    """Labels of a regression's targets, 80 in the end: one more with every second sample."""
    samples = list(stream)
    bounds = np.quantile([y for _, y in samples], np.arange(1, 80) / 80)
    for t, (x, y) in enumerate(samples):
        yield x, int(np.searchsorted(bounds, y)) % (2 + t // 2)


def with_gaps(stream):
    """Features of nearly all samples, which become rarer in turn."""
    for t, (x, y) in enumerate(stream):
        yield {name: v for i, (name, v) in enumerate(x.items()) if (t * (i + 3)) % (23 if t < 300 else 7)}, y


def of_distinct(stream):
    """No two samples are equal."""
    for t, (x, y) in enumerate(stream):
        yield {**x, "t": t / 300}, y


def with_outliers(stream):
    """One feature has occasional outliers, also early ones, another a run of them; likewise the target."""
    for t, (x, y) in enumerate(stream):
        first, second = list(x)[:2]
        x = {**x, first: 1e4 if t % 40 == 7 else x[first], second: x[second] + 1e3 * (300 <= t < 315)}
        yield x, y + 1e3 * (t == 5 or t % 50 == 9 or 350 <= t < 365) if isinstance(y, float) else y


def stuck(stream):
    """Equal targets in the middle: then the errors are of another size, and intervals restart."""
    for t, (x, y) in enumerate(stream):
        yield x, 1.0 if 100 <= t < 250 else 30.0 + 10.0 * y


def in_other_units(stream):
    """Features and targets far from 0."""
    for x, y in stream:
        yield {name: 3.0 * v + 40.0 for name, v in x.items()}, 1000.0 + 20.0 * y


def follow_the_weights(model, twin):
    """Compare metrics (the model's slopes are one-sided differences), then give the model's to the reference."""
    state = model._f.state()
    place = dict(zip(state["scaler"]["names"], state["scaler"]["place"], strict=True))
    for m in (1, 2):
        learned = state["distances"][f"weights_{m}"]
        for name, expected in twin.weights[m].items():
            assert learned[place[name]] == pytest.approx(expected, rel=1e-4)
            twin.weights[m][name] = learned[place[name]]


def follow_the_trees(model, twin):
    """Compare the errors of a regression's trees, then give the model's trees to the reference.

    Their means are in single precision, and with outliers rounding decides between splits.
    """
    state = model._f.state()
    for trees, name in zip(twin.forests, ("forest", "difference"), strict=True):
        np.testing.assert_allclose(trees.forest.state()["running"], state[name]["running"], rtol=1e-5, atol=1e-9)
        trees.forest.restore({name: part for name, part in state[name].items() if name not in ("last", "change")})


def kernels_of(model):
    """(scale, metric) of every kernel in use."""
    state = model._f.processes.state()
    return [*map(list, zip(state["scales"].tolist(), state["metrics"].tolist(), strict=True))]


def compare(model, twin, stream, weights, column, near=None):
    """Compare every step; returns how often a kernel has moved.

    Single precision makes dot products wrong by 1e-6 or less.
    """
    outlying, near = near is not None, near or (1e3 if twin.precision is np.float32 else 1.0)
    moves = 0
    twin.metrics_learned = lambda: follow_the_weights(model, twin)
    for t, (x, y) in enumerate(stream):
        w = weights[t % len(weights)]
        predicted = model._prediction(x) if twin.task == "regression" else model._f.probabilities(x)
        coverage, before = (0.3, 0.5, 0.7, 0.93, 0.99, 0.999)[t % 6], kernels_of(model)
        lower, upper = model.predict_interval_one(x, coverage) if twin.task == "regression" else (0.0, 0.0)
        model.learn_one(x, y, w)
        target = column(model, y)
        expected = twin.predict(x)
        if twin.task == "regression":  # and its intervals, of which the deviation is one
            width = 2.0 * twin.deviation() * twin.intervals.width(coverage)
            rel = max(1e-6, 1e-7 * near)
            assert upper - lower == pytest.approx(width, rel=rel, abs=1e-9 * abs(upper)), f"sample {t}"
        scale = twin.deviation() if twin.task == "regression" else 1.0
        np.testing.assert_allclose(
            predicted, expected, rtol=1e-7 * near, atol=1e-7 * near * scale, err_msg=f"sample {t}"
        )
        if target == twin.n_classes and twin.task != "regression":
            twin.add_class()
        twin.learn(x, target, w)
        if outlying:
            follow_the_trees(model, twin)
        np.testing.assert_allclose(
            [*model.experts.values()], twin.experts, rtol=1e-6 * near, atol=1e-8 * near, err_msg=f"{t}"
        )
        if t % 20 == 0:
            held = [model._f.points.point(i) for i in model._f.processes.positions]
            expected = [{name: v for name, v in point.x.items() if v} for point in twin.dictionary]
            assert held == [pytest.approx(point, rel=1e-9, abs=1e-12) for point in expected]
        assert len(model._f.points) == len(twin.points)
        assert model._f.neighbours.positions == [twin.points.index(point) for point in twin.latest]
        moves += before != kernels_of(model)
    assert len(twin.dictionary) == twin.most_dictionary and len(twin.pool) == twin.most_pool, "both are full"
    assert kernels_of(model) == [[kernel.scale, kernel.metric] for kernel in twin.kernels]
    return moves


def compare_late(model, twin, stream, delay, column):
    """``compare`` if every label comes ``delay`` samples after the prediction; whether a change was noticed.

    Opinions are in single precision.
    """
    waiting, used, changed = [], 0, False
    twin.metrics_learned = lambda: follow_the_weights(model, twin)
    for t, (x, y) in enumerate(stream):
        predicted = model._prediction(x) if twin.task == "regression" else model._f.probabilities(x)
        expected = twin.predict(x)
        scale = twin.deviation() if twin.task == "regression" else 1.0
        np.testing.assert_allclose(predicted, expected, rtol=1e-4, atol=1e-4 * scale, err_msg=f"sample {t}")
        waiting.append((x, y, Said(twin).rounded() if twin.seen else None))
        if t < delay:
            continue
        x, y, said = waiting.pop(0)
        model.learn_one(x, y, WEIGHTS[t % 4])
        target = column(model, y)
        twin.predict(x)
        if target == twin.n_classes and twin.task != "regression":
            drop = twin.task == "binary"  # a new layout of the experts
            twin.add_class()
            waiting = [(x, y, None if drop else said) for x, y, said in waiting]
            for each in [said, *(each for *_, each in waiting)]:
                if each is not None and not drop:
                    each.add_class()
            said = None if drop else said
        used += said is not None
        twin.learn(x, target, WEIGHTS[t % 4], said)
        np.testing.assert_allclose([*model.experts.values()], twin.experts, rtol=1e-4, atol=1e-5, err_msg=f"{t}")
        assert model._f.pending.waiting == sum(each is not None for *_, each in waiting)
        changed = changed or twin.changes.left > 0
    assert used > 40
    model._f._check()
    return changed


@pytest.mark.parametrize("delay", [1, 24, 120])
@pytest.mark.parametrize(
    "stream",
    [
        streams.dense(CLASSIFICATION, SHORT, seed=7),
        [*of_distinct(with_gaps(streams.dense(CLASSIFICATION, SHORT, seed=3)))],
        [*of_three_then_four(streams.dense(REGRESSION, SHORT, seed=9))],
        [*of_eighty(streams.dense(REGRESSION, SHORT, seed=1))],
    ],
    ids=["dense", "gaps", "many labels", "more than 64 labels"],
)
def test_a_classifier_with_late_labels_matches_its_reference(stream, delay, monkeypatch):
    monkeypatch.setattr(class_mixture, "SINGLE_PRECISION", False)
    model, latest = river_okl.OKLClassifier(budget=30), 6
    twin = OKL("binary", 15, 15 - latest, latest)
    compare_late(model, twin, stream, delay, lambda model, y: model._labels.positions[y])


def test_a_classifier_notices_a_change_as_its_reference(monkeypatch):
    monkeypatch.setattr(class_mixture, "SINGLE_PRECISION", False)
    model, twin = river_okl.OKLClassifier(budget=30), OKL("binary", 15, 9, 6)
    stream = [*reversed_after(300, streams.dense(CLASSIFICATION, LONG, seed=7))]
    assert compare_late(model, twin, stream, 24, lambda model, y: model._labels.positions[y])


def test_a_regressor_notices_a_change_as_its_reference():
    model, twin, rng = river_okl.OKLRegressor(budget=14), OKL("regression", 14, latest=42), np.random.default_rng(1)
    xs = [x for x, _ in streams.dense(REGRESSION, 900)]
    stream = [(x, x["x0"] * (1.0 if t < 600 else -5.0) + float(rng.normal())) for t, x in enumerate(xs)]
    assert compare_late(model, twin, stream, 120, lambda model, y: y)


@pytest.mark.parametrize("delay", [1, 24, 120])
@pytest.mark.parametrize(
    "stream",
    [[*in_other_units(streams.dense(REGRESSION, SHORT))], [*with_outliers(streams.dense(REGRESSION, SHORT, seed=2))]],
    ids=["dense", "outliers"],
)
def test_a_regressor_with_late_targets_matches_its_reference(stream, delay):
    model, twin = river_okl.OKLRegressor(budget=14), OKL("regression", 14, latest=42)
    compare_late(model, twin, stream, delay, lambda model, y: y)


@pytest.mark.parametrize(
    ("stream", "budget", "weights"),
    [
        (streams.dense(CLASSIFICATION, LONG, seed=7), 30, WEIGHTS),
        (streams.sparse(CLASSIFICATION, SHORT, n_features=40), 40, (1.0,)),
        (streams.emerging(CLASSIFICATION, SHORT), 40, (1.0,)),
        ([*with_gaps(streams.dense(CLASSIFICATION, LONG, seed=3))], 30, (1.0,)),
        ([*with_outliers(streams.dense(CLASSIFICATION, LONG, seed=5))], 30, (1.0,)),
        ([*of_three_then_four(streams.dense(REGRESSION, SHORT, seed=9))], 30, (1.0,)),
        ([*of_eighty(streams.dense(REGRESSION, LONG, seed=1))], 30, (1.0,)),
    ],
    ids=["weights", "sparse", "emerging", "gaps", "outliers", "many labels", "more than 64 labels"],
)
@pytest.mark.parametrize("precision", [np.float64, np.float32], ids=["double", "single"])
def test_the_classifier_matches_its_reference(stream, budget, weights, precision, monkeypatch):
    monkeypatch.setattr(class_mixture, "SINGLE_PRECISION", precision is np.float32)
    model, latest = river_okl.OKLClassifier(budget=budget), int(0.4 * (budget - budget // 2))
    twin = OKL("binary", budget // 2, budget - budget // 2 - latest, latest, precision)
    assert compare(model, twin, stream, weights, lambda model, y: model._labels.positions[y]) >= 1


@pytest.mark.parametrize(
    ("stream", "weights", "near"),
    [
        (in_other_units(streams.dense(REGRESSION, LONG)), (1.0,), None),
        (streams.sparse(REGRESSION, SHORT, n_features=40), WEIGHTS, None),
        (with_outliers(streams.dense(REGRESSION, LONG, seed=2)), (1.0,), 1e2),
        (stuck(streams.dense(REGRESSION, LONG, seed=3)), (1.0,), 1e2),
    ],
    ids=["dense", "sparse", "outliers", "stuck"],
)
def test_the_regressor_matches_its_reference(stream, weights, near):
    model, twin = river_okl.OKLRegressor(budget=14), OKL("regression", 14, latest=42)
    assert compare(model, twin, stream, weights, lambda model, y: y, near) >= 1
