"""OKLClassifier and OKLRegressor against reference/okl.py: predictions, experts and points at every step."""

from __future__ import annotations

import numpy as np
import pytest

import river_okl
from river_okl._core.mixture import class_mixture
from tests import streams
from tests.reference.okl import FULL, HALF, OKL, RELEVANT, Said

# Metrics are learned after 200, 300 and 450 samples; the last two times a kernel may move.
SHORT, LONG = 320, 460
WEIGHTS = (1.0, 0.3, 0.0, 7.0, 30.0)
CLASSIFICATION, REGRESSION = streams.CLASSIFICATION, streams.REGRESSION


def of_three_then_four(stream):
    """Labels from a numeric target: two at first, a third after 30 samples, a fourth after 150."""
    return [
        (x, int(y > 0.0) if t < 30 else int(y > -0.3) + (y > 0.3) + (t >= 150 and y > 0.7))
        for t, (x, y) in enumerate(stream)
    ]


def of_eighty(stream):
    """Labels of a regression's targets, 80 in the end: one more with every second sample."""
    bounds = np.quantile([y for _, y in stream], np.arange(1, 80) / 80)
    return [(x, int(np.searchsorted(bounds, y)) % (2 + t // 2)) for t, (x, y) in enumerate(stream)]


def with_gaps(stream):
    """Features of nearly all samples, which become rarer in turn; with the time, so that no two samples are equal."""
    return [
        (
            {name: v for i, (name, v) in enumerate(x.items()) if (t * (i + 3)) % (23 if t < 300 else 7)}
            | {"t": t / 300},
            y,
        )
        for t, (x, y) in enumerate(stream)
    ]


def with_outliers(stream):
    """One feature has occasional outliers, also early ones, another a run of them; likewise the target."""
    changed = []
    for t, (x, y) in enumerate(stream):
        first, second = list(x)[:2]
        x = {**x, first: 1e4 if t % 40 == 7 else x[first], second: x[second] + 1e3 * (300 <= t < 315)}
        changed.append((x, y + 1e3 * (t == 5 or t % 50 == 9 or 350 <= t < 365)))
    return changed


def with_outages(stream):
    """One feature is absent for a while, twice, another for longer than it has been there, a third once for ever."""
    absent = [(100, 150), (200, 290)], [(60, 190)], [(150, 10**6)]
    return [
        (
            {
                name: v
                for i, (name, v) in enumerate(x.items())
                if not any(a <= t < b for a, b in (*absent, [], [])[i % 5])
            },
            y,
        )
        for t, (x, y) in enumerate(stream)
    ]


def in_other_units(stream):
    """Features and targets far from 0."""
    return [({name: 3.0 * v + 40.0 for name, v in x.items()}, 1000.0 + 20.0 * y) for x, y in stream]


def follow_the_weights(model, twin):
    """Compare metrics (the model's slopes are one-sided differences), then give the model's to the reference."""
    state = model._f.state()
    place = dict(zip(state["scaler"]["names"], state["scaler"]["places"], strict=True))
    for m in (RELEVANT, HALF, FULL):
        learned = state["distances"][f"weights_{m}"]
        for name, expected in twin.weights[m].items():
            assert learned[place[name]] == pytest.approx(expected, rel=1e-4, abs=1e-5)
            twin.weights[m][name] = learned[place[name]]


def follow(rows, of_twin):
    """Compare numbers in single precision, then give the model's to the reference.

    Numbers that agree to 1e-9 may be rounded to neighbours in single precision.  That can decide between two splits of
    equal gain.
    """
    np.testing.assert_allclose(of_twin, rows, rtol=2e-7, atol=1e-6)
    of_twin[:] = rows


def follow_the_error(model, twin, slot):
    """Follow the error of a new row, before trees are built from it."""
    errors = model._f.memory.state()["trees_of_errors"]["errors"]
    follow(errors[slot : slot + 1], twin.memory.sets[2].errors[slot : slot + 1])


def follow_the_rows(model, twin):
    """Follow the answers and targets of all rows, once the sample is learned: its unit may have changed."""
    rows, latest = model._f.memory.state()["rows"], twin.memory.latest
    follow(rows["values"][0], latest.values[:, 0])
    follow(rows["targets"], latest.y)


def kernels_of(model):
    """(scale, metric) of every kernel in use."""
    state = model._f.processes.state()
    return [*map(list, zip(state["scales"].tolist(), state["metrics"].tolist(), strict=True))]


def classifiers(monkeypatch, budget=30, precision=np.float64):
    """The model and its reference."""
    monkeypatch.setattr(class_mixture, "SINGLE_PRECISION", precision is np.float32)
    dictionary = budget // 2
    twin = OKL("binary", dictionary, budget - dictionary, precision=precision)
    return river_okl.OKLClassifier(budget=budget), twin


def regressors():
    return river_okl.OKLRegressor(budget=14), OKL("regression", 14)


def ask(model, twin, x, tolerance, message):
    """Compare predictions."""
    predicted = model._prediction(x) if twin.task == "regression" else model._f.probabilities(x)
    expected = twin.predict(x)
    scale = twin.deviation() if twin.task == "regression" else 1.0
    np.testing.assert_allclose(predicted, expected, rtol=tolerance, atol=tolerance * scale, err_msg=message)


def compare(model, twin, stream, weights):
    """Compare every step; returns how often a kernel has moved.

    Single precision makes dot products wrong by 1e-6 or less.
    """
    near, moves = 1e3 if twin.precision is np.float32 else 1.0, 0
    twin.metrics_learned = lambda: follow_the_weights(model, twin)
    if twin.task == "regression":
        twin.memory.entered = lambda slot: follow_the_error(model, twin, slot)
    for t, (x, y) in enumerate(stream):
        w, before = weights[t % len(weights)], kernels_of(model)
        ask(model, twin, x, 1e-7 * near, f"sample {t}")
        if twin.task == "regression":  # and its intervals, of which the deviation is one
            coverage = (0.3, 0.5, 0.7, 0.93, 0.99, 0.999)[t % 6]
            lower, upper = model.predict_interval_one(x, coverage)
            width = 2.0 * twin.deviation() * twin.intervals.width(coverage)
            tolerance = {"rel": max(1e-6, 1e-7 * near), "abs": 1e-9 * abs(upper)}
            assert upper - lower == pytest.approx(width, **tolerance), f"sample {t}"
        model.learn_one(x, y, w)
        target = y if twin.task == "regression" else model._labels.positions[y]
        if twin.task != "regression" and target == twin.n_classes:
            twin.add_class()
        twin.learn(x, target, w)
        if twin.task == "regression":
            follow_the_rows(model, twin)
        experts = [*model.experts.values()]
        np.testing.assert_allclose(experts, twin.experts, rtol=1e-6 * near, atol=1e-8 * near, err_msg=f"{t}")
        if t % 20 == 0:
            held = [model._f.points.point(i) for i in model._f.processes.positions]
            expected = [{name: v for name, v in point.x.items() if v} for point in twin.dictionary]
            assert held == [pytest.approx(point, rel=1e-9, abs=1e-12) for point in expected]
        assert len(model._f.points) == len(twin.points)
        moves += before != kernels_of(model)
    assert len(twin.dictionary) == twin.most_dictionary and len(twin.pool) == twin.most_pool, "both are full"
    assert kernels_of(model) == [[kernel.scale, kernel.metric] for kernel in twin.kernels]
    return moves


def compare_late(model, twin, stream, delay):
    """``compare`` if every label comes ``delay`` samples after the prediction; whether a change was noticed.

    Opinions are in single precision.
    """
    waiting, used, changed = [], 0, False
    twin.metrics_learned = lambda: follow_the_weights(model, twin)
    for t, (x, y) in enumerate(stream):
        ask(model, twin, x, 1e-4, f"sample {t}")
        waiting.append((x, y, Said(twin).rounded() if twin.seen else None))
        if t < delay:
            continue
        x, y, said = waiting.pop(0)
        model.learn_one(x, y, WEIGHTS[t % 4])
        target = y if twin.task == "regression" else model._labels.positions[y]
        twin.predict(x)
        if twin.task != "regression" and target == twin.n_classes:
            if twin.task == "binary":  # a new layout of the experts
                waiting, said = [(*sample, None) for *sample, _ in waiting], None
            twin.add_class()
            for each in filter(None, (said, *(each for *_, each in waiting))):
                each.add_class()
        used += said is not None
        twin.learn(x, target, WEIGHTS[t % 4], said)
        np.testing.assert_allclose([*model.experts.values()], twin.experts, rtol=1e-4, atol=1e-5, err_msg=f"{t}")
        assert model._f.pending.waiting == sum(each is not None for *_, each in waiting)
        changed = changed or twin.changes.left > 0
    assert used > 40
    model._f._check()
    return changed


DELAYS = [1, 24, 120]
LATE = {
    "dense": streams.dense(CLASSIFICATION, SHORT, seed=7),
    "gaps": with_gaps(streams.dense(CLASSIFICATION, SHORT, seed=3)),
    "many labels": of_three_then_four(streams.dense(REGRESSION, SHORT, seed=9)),
    "more than 64 labels": of_eighty(streams.dense(REGRESSION, SHORT, seed=1)),
}


@pytest.mark.parametrize(
    ("stream", "delay"),
    [
        pytest.param(stream, delay, id=f"{name}-{delay}")
        for name, stream in LATE.items()
        for delay in {"dense": DELAYS, "many labels": DELAYS[:2]}.get(name, DELAYS[:1])
    ],
)
def test_a_classifier_with_late_labels_matches_its_reference(stream, delay, monkeypatch):
    compare_late(*classifiers(monkeypatch), stream, delay)


def test_a_classifier_notices_a_change_as_its_reference(monkeypatch):
    """Two labels, easily told apart, change places."""
    easy = [{**x, "x0": 5.0 if x["x0"] > 0.0 else -5.0} for x, _ in streams.dense(CLASSIFICATION, LONG, seed=7)]
    stream = [(x, (x["x0"] > 0.0) == (t < 300)) for t, x in enumerate(easy)]
    assert compare_late(*classifiers(monkeypatch), stream, 24)


def test_a_regressor_notices_a_change_as_its_reference():
    rng, xs = np.random.default_rng(1), [x for x, _ in streams.dense(REGRESSION, 900)]
    stream = [(x, x["x0"] * (1.0 if t < 600 else -5.0) + float(rng.normal())) for t, x in enumerate(xs)]
    assert compare_late(*regressors(), stream, 120)


@pytest.mark.parametrize(
    ("stream", "delay"),
    [
        pytest.param(in_other_units(streams.dense(REGRESSION, SHORT)), 120, id="dense-120"),
        *[
            pytest.param(with_outliers(streams.dense(REGRESSION, SHORT, seed=3)), delay, id=f"outliers-{delay}")
            for delay in (1, 24)
        ],
    ],
)
def test_a_regressor_with_late_targets_matches_its_reference(stream, delay):
    compare_late(*regressors(), stream, delay)


PROMPT = {
    "weights": (streams.dense(CLASSIFICATION, LONG, seed=7), 30, WEIGHTS),
    "sparse": (streams.sparse(CLASSIFICATION, SHORT, n_features=40), 40, (1.0,)),
    "emerging": (streams.emerging(CLASSIFICATION, SHORT), 40, (1.0,)),
    "gaps": (with_gaps(streams.dense(CLASSIFICATION, LONG, seed=4)), 30, (1.0,)),
    "outliers": (with_outliers(streams.dense(CLASSIFICATION, LONG, seed=5)), 30, (1.0,)),
    "outages": (with_outages(in_other_units(streams.dense(CLASSIFICATION, LONG, seed=5))), 30, (1.0,)),
    "many labels": (of_three_then_four(streams.dense(REGRESSION, SHORT, seed=6)), 30, (1.0,)),
    "more than 64 labels": (of_eighty(streams.dense(REGRESSION, SHORT, seed=1)), 30, (1.0,)),
    "more than 512 rows": (streams.dense(CLASSIFICATION, 640, seed=2), 30, (1.0,)),  # the latest of which are not all
}


@pytest.mark.parametrize("name", PROMPT)
def test_the_classifier_matches_its_reference(name, monkeypatch):
    stream, budget, weights = PROMPT[name]
    assert compare(*classifiers(monkeypatch, budget), stream, weights) >= (name != "more than 64 labels")


@pytest.mark.parametrize("name", ["weights", "sparse", "emerging"])
def test_the_classifier_in_single_precision_matches_its_reference(name, monkeypatch):
    """Only points are in single precision: these streams have dense ones, sparse ones, and both."""
    stream, budget, weights = PROMPT[name]
    assert compare(*classifiers(monkeypatch, budget, np.float32), stream, weights) >= 1


STUCK = [(x, 1.0 if 100 <= t < 250 else 30.0 + 10.0 * y) for t, (x, y) in enumerate(streams.dense(REGRESSION, LONG, 3))]


@pytest.mark.parametrize(
    ("stream", "weights"),
    [
        (in_other_units(streams.dense(REGRESSION, LONG)), (1.0,)),
        (streams.sparse(REGRESSION, SHORT, n_features=40), WEIGHTS),
        (with_outliers(streams.dense(REGRESSION, LONG, seed=4)), (1.0,)),
        (with_outages(in_other_units(streams.dense(REGRESSION, LONG, seed=4))), (1.0,)),
        (STUCK, (1.0,)),  # then the errors are of another size, and intervals restart
    ],
    ids=["dense", "sparse", "outliers", "outages", "stuck"],
)
def test_the_regressor_matches_its_reference(stream, weights):
    assert compare(*regressors(), stream, weights) >= 1
