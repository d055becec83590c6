"""TVM: its dual solver against the definition, Kuhn-Tucker conditions after every call, prototypes, labels, merges."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import random

import numpy as np
import pytest

import river_okl
from river_okl import TVMClassifier, kernels
from river_okl._core.function import dual
from river_okl.algorithms import tvm
from tests import reference, streams
from tests.discovery import snapshot
from tests.test_interrupts import before_line, interrupted

KERNEL = kernels.RBF(0.5)
MERGING = pytest.mark.parametrize("merging", ["global", "nearest"])


def check(model):
    """The invariants of the class, by brute force."""
    f = model._f
    model._check()
    assert (model._mass >= 0.0).all() and (model._mass.sum(axis=1) > 0.0).all()
    beta = f.columns * (math.sqrt(2.0) if f.n_classes else 1.0)
    values = f.gram() @ beta
    for o, (b, value) in enumerate(zip(beta.T, values.T, strict=True)):
        own = model.C * model._mass[:, 1 if beta.shape[1] == 1 else o]
        others = model.C * model._mass.sum(axis=1) - own
        positive = np.minimum(own, others + b)  # of the two dual variables with this difference the largest
        for margin, alpha, cap in ((value, positive, own), (-value, positive - b, others)):
            slack = 1e-12 * np.maximum(cap, 1.0)
            assert (alpha >= -slack).all() and (alpha <= cap + slack).all()
            assert (margin[alpha < cap - slack] > 1.0 - tvm.KUHN_TUCKER).all()
            assert (margin[alpha > slack] < 1.0 + tvm.KUHN_TUCKER).all()


def letters(n=200, seed=3):
    rng = random.Random(seed)
    centres = {"a": (0, 0), "b": (1.5, 0), "c": (0, 1.5), "d": (1.5, 1.5)}
    labels = [rng.choice("abcd") for _ in range(n)]
    return [({"x": rng.gauss(centres[y][0], 0.5), "y": rng.gauss(centres[y][1], 0.5)}, y) for y in labels]


# The dual ---------------------------------------------------------------------------------------------------------


def problem(rng, n, kind):
    X = rng.normal(size=(n, 3))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 2), n)]
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = {"linear": X @ X.T, "smooth": np.exp(-0.02 * distances)}.get(kind, np.exp(-distances))
    weights = rng.integers(0, 4, size=(n, 2)).astype(float)
    weights[weights.sum(axis=1) == 0.0] = 1.0
    return np.ascontiguousarray((K + K.T) / 2.0), weights


@pytest.mark.parametrize("kind", ["narrow", "smooth", "linear", "duplicates"])
@pytest.mark.parametrize("C", [0.05, 1.0, 50.0, 1e4])
def test_the_dual_is_solved_from_any_start(kind, C):
    rng = np.random.default_rng(5)
    for n in (1, 2, 5, 20, 60):
        K, weights = problem(rng, n, kind)
        found = []
        for start in (np.zeros((n, 1)), C * rng.normal(size=(n, 1)), np.full((n, 1), 1e9)):
            beta, worst = dual.solve_dual(K, C * weights, start)
            assert worst == dual.residual(K, C * weights, beta) < 1e-8
            found.append(K @ beta[:, 0])
        for values in found[1:]:
            np.testing.assert_allclose(values, found[0], atol=1e-5)


@pytest.mark.parametrize("kind", ["narrow", "smooth"])
def test_the_dual_matches_its_definition(kind):
    rng = np.random.default_rng(6)
    for n in (1, 3, 8):
        K, weights = problem(rng, n, kind)
        beta, _ = dual.solve_dual(K, weights, np.zeros((n, 1)))
        positive, negative = reference.weighted_svm(K, weights[:, 1], weights[:, 0])
        np.testing.assert_allclose(K @ beta[:, 0], K @ (positive - negative), atol=1e-8)


def test_many_labels_are_one_function_each():
    rng = np.random.default_rng(7)
    K, _ = problem(rng, 12, "narrow")
    weights = rng.integers(0, 3, size=(12, 3)).astype(float)
    weights[:, 0] += weights.sum(axis=1) == 0.0
    beta, _ = dual.solve_dual(K, weights, np.zeros((12, 3)))
    for o in range(3):
        own = weights[:, o]
        alone, _ = dual.solve_dual(K, np.stack([weights.sum(axis=1) - own, own], axis=1), np.zeros((12, 1)))
        np.testing.assert_array_equal(beta[:, o], alone[:, 0])


def test_the_residual_distinguishes_solutions():
    K, weights = problem(np.random.default_rng(8), 10, "narrow")
    beta, _ = dual.solve_dual(K, weights, np.zeros((10, 1)))
    free = int(np.argmax(np.minimum(beta[:, 0] + weights[:, 0], weights[:, 1] - beta[:, 0])))
    beta[free] += 1e-4
    assert dual.residual(K, weights, beta) >= 0.9e-4
    beta[free] = weights[free, 1] + 1.0
    assert dual.residual(K, weights, beta) == math.inf


def test_inconsistent_arguments_are_rejected():
    with pytest.raises(ValueError, match="2 rows and 2 columns for 3 points"):
        dual.solve_dual(np.eye(2), np.ones((3, 2)), np.zeros((3, 1)))
    for call, shape in itertools.product((dual.solve_dual, dual.residual), ((2, 1), (3, 3))):
        with pytest.raises(ValueError, match="coefficients of shape"):
            call(np.eye(3), np.ones((3, 2)), np.zeros(shape))
    with pytest.raises(ValueError, match="two are needed"):
        dual.cheapest_pair(np.eye(1), np.ones(1), np.arange(1))


def test_the_cheapest_pair_and_its_ties():
    rng = np.random.default_rng(9)
    for n in (2, 3, 10):
        K, weights = problem(rng, n, "narrow")
        s, births = weights.sum(axis=1), rng.permutation(n)
        cost = {
            (i, j): s[i] * s[j] / (s[i] + s[j]) * (K[i, i] + K[j, j] - 2.0 * K[i, j])
            for i in range(n)
            for j in range(n)
            if births[i] < births[j]
        }
        assert dual.cheapest_pair(K, s, births) == min(cost, key=cost.get)
    births = np.array([4, 1, 3, 0, 2])
    assert dual.cheapest_pair(np.eye(5), np.ones(5), births) == (3, 1), "all cost the same: the two oldest"
    assert dual.cheapest_pair(np.ones((5, 5)) + 1e-14 * np.eye(5), np.arange(1.0, 6.0), births) == (3, 1)


# Prototypes -------------------------------------------------------------------------------------------------------


@MERGING
@pytest.mark.parametrize("kind", list(streams.KINDS))
def test_the_conditions_hold_after_every_call(kind, merging):
    """The bandwidth is data-driven: it changes for 200 samples, learned or not."""
    for C, buffer in ((1.0, 1.0), (30.0, math.inf)):
        model = TVMClassifier(budget=10, C=C, buffer=buffer, merging=merging)
        for t, (x, y) in enumerate(streams.KINDS[kind]("classification", 120)):
            model.learn_one(x, y, (1.0, 0.0, 3.5)[t % 3])
            check(model)


@pytest.mark.parametrize("kernel", [KERNEL, kernels.Polynomial(3), kernels.Linear(), kernels.Laplacian(0.1)], ids=str)
@pytest.mark.parametrize(("C", "scale"), [(1e3, 1.0), (1e-6, 1.0), (1.0, 1e4), (1.0, 1e-6)])
def test_the_conditions_hold_for_weights_and_features_of_any_size(kernel, C, scale):
    """Boxes of width 10^13 around coefficients of order 1, and of 10^-21; f is accurate up to rounding."""
    rng = random.Random(4)
    model = TVMClassifier(kernel, budget=12, C=C, buffer=2.0)
    for x, y in streams.dense("classification", 60):
        model.learn_one({name: scale * value for name, value in x.items()}, y, 1e10 ** rng.random() if C > 1.0 else 1.0)
        terms = (abs(model._gram) @ abs(model._beta())).max()
        found = dual.residual(model._gram, model.C * model._mass, model._beta())
        assert found < max(tvm.KUHN_TUCKER, 1e-14 * terms)


@MERGING
def test_the_conditions_hold_as_labels_arrive(merging):
    model = TVMClassifier(budget=12, merging=merging)
    stream = letters()
    for x, y in sorted(stream[:80], key=lambda sample: sample[1]) + stream[80:]:
        model.learn_one(x, y)
        check(model)
    assert model._f.n_classes == 4
    assert np.mean([model.predict_one(x) == y for x, y in letters(seed=4)]) > 0.75


def test_with_many_labels_half_the_lead_is_compared_with_the_buffer():
    model = TVMClassifier(KERNEL, budget=40)
    for x, y in letters(150):
        scores = model.decision_function_one(x)
        before = model._mass.sum()
        model.learn_one(x, y)
        if isinstance(scores, dict) and y in scores and len(scores) > 2:
            f = {label: math.sqrt(2.0) * score for label, score in scores.items()}
            lead = (f.pop(y) - max(f.values())) / 2.0
            if model.n_support_vectors < 40:
                assert (model._mass.sum() > before) == (lead <= 1.0)


# Interruptions ----------------------------------------------------------------------------------------------------


def test_an_exception_before_any_line_leaves_a_working_model():
    stream = streams.dense("classification", 80)
    start = TVMClassifier(KERNEL, budget=6)
    start.learn_stream(stream[:40])
    for line in itertools.count(1):
        model = copy.deepcopy(start)
        if not interrupted(functools.partial(model.learn_one, *stream[40]), before_line, line):
            break
        restored = river_okl.loads(river_okl.dumps(model))
        for one in (model, restored):
            one.learn_one(*stream[50])
            check(one)
            one.learn_stream(stream[51:56])
            check(one)
        assert snapshot(model) == snapshot(restored)
    assert line > 50


# Merges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [streams.dense("classification", 90), letters(90)], ids=["two", "four"])
def test_prototypes_of_all_are_one_weighted_set(stream):
    models = [TVMClassifier(KERNEL, budget=90, buffer=math.inf) for _ in range(3)]
    for i, model in enumerate(models):
        model.learn_stream(stream[i::3])
    merged = river_okl.merge(models)
    check(merged)
    one = TVMClassifier(KERNEL, budget=90, buffer=math.inf)
    one.learn_stream(stream)
    for x, _ in stream[:30]:
        assert merged.decision_function_one(x) == pytest.approx(one.decision_function_one(x), abs=1e-7)
    assert merged._mass.sum() == pytest.approx(90.0)


def test_shards_with_labels_in_different_order():
    stream = letters(120)
    backwards = sorted(stream[::2], key=lambda sample: sample[1], reverse=True)
    models = [TVMClassifier(KERNEL, budget=120, buffer=math.inf) for _ in range(3)]
    for model, part in zip(models, ([s for s in stream[::-3] if s[1] in "cd"], backwards, stream[2::3]), strict=True):
        model.learn_stream(part)
    merged = river_okl.merge(models)
    check(merged)
    total = dict.fromkeys("abcd", 0.0)
    for model in models:
        for y, weight in zip(model._labels.names, model._mass.sum(axis=0), strict=True):
            total[y] += weight
    assert dict(zip(merged._labels.names, merged._mass.sum(axis=0), strict=True)) == pytest.approx(total)
    assert np.mean([merged.predict_one(x) == y for x, y in letters(seed=4)]) > 0.75


def test_the_common_start_counts_once():
    """Even if each has fused prototypes of the start."""
    stream = streams.dense("classification", 200)
    start = TVMClassifier(KERNEL, budget=12, buffer=math.inf)
    start.learn_stream(stream[:50])
    models = [copy.deepcopy(start) for _ in range(3)]
    for i, model in enumerate(models):
        model.learn_stream(stream[50 + i :: 3])
    merged = river_okl.merge(models, start=start)
    check(merged)
    assert merged._mass.sum() == pytest.approx(200.0)
    for label, y in enumerate(merged._labels.names):
        assert merged._mass[:, label].sum() == pytest.approx(sum(own == y for _, own in stream))
    right = [np.mean([model.predict_one(x) == y for x, y in stream]) for model in (start, *models, merged)]
    assert right[-1] >= np.mean(right[1:-1]) - 0.02
