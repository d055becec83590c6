"""Kernel SGD and its budgets: losses, maintenance against brute force, averages against all models."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest

from river_okl import (
    BSGDClassifier,
    NBSGDClassifier,
    NBSGDRegressor,
    kernels,
    losses,
)
from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import fuse, project_on_others
from tests import reference, streams

RBF, kappa = kernels.RBF(gamma=0.5), reference.rbf(0.5)


# Averages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [1e-9, 0.1, 0.37, 0.5, 1.0])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_average_is_that_of_the_last_models(suffix, task):
    """Against the mean of all w_t(x), stored individually; points are removed before the window and within it."""
    options = {"l2": 0.01, "budget": 10, "beta": 40.0, "seed": 2}
    if task == "classification":
        model, last = (NBSGDClassifier(RBF, suffix=s, **options) for s in (suffix, 0.0))
    else:
        model, last = (
            NBSGDRegressor(RBF, loss=losses.EpsilonInsensitive(), suffix=s, **options) for s in (suffix, 0.0)
        )
    places = [x for x, _ in streams.dense(task, seed=9)[:3]]
    models = [np.zeros(3)]
    left = 0
    for t, (x, y) in enumerate(streams.dense(task, n=300), start=1):
        model.learn_one(x, y)
        last.learn_one(x, y)
        models.append(np.array([last._f.evaluate(p) for p in places]))
        expected = np.mean(models[-math.ceil(suffix * (t + 1)) :], axis=0)
        found = [model._decision(p) for p in places]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(models[-1]).max())
        assert model.n_support_vectors == last.n_support_vectors
        left = max(left, len(model._g))
        if t == 150:
            model = pickle.loads(pickle.dumps(model))
    assert left > 5 or suffix < 0.01
    if suffix < 1.0:
        assert len(model._g) < left + (suffix < 0.01)  # dropped when the window has passed


def test_explanations_of_an_average_add_up():
    model = NBSGDClassifier(RBF, l2=0.01, budget=10, beta=40.0, suffix=0.5, seed=2)
    model.learn_stream(streams.dense("classification"))
    for x, _ in streams.dense("classification", seed=9)[:20]:
        explained = model.explain_one(x)
        assert len(explained) == model.n_support_vectors + len(model._g)
        assert sum(c for _, c in explained) == pytest.approx(model.decision_function_one(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("maintenance", ["projection", "approximate", "merging"])
def test_inexact_averages_are_rejected(maintenance):
    with pytest.raises(ValueError, match="suffix"):
        NBSGDClassifier(suffix=0.5, maintenance=maintenance)


def test_an_average_with_a_ball_is_rejected():
    with pytest.raises(ValueError, match="suffix"):
        NBSGDRegressor(suffix=0.5)
    NBSGDRegressor(suffix=0.5, l2=1.5)
    NBSGDRegressor(suffix=0.5, loss=losses.EpsilonInsensitive())


# Maintenance --------------------------------------------------------------------------------------


def filled(budget=12, maintenance="removal", kernel=RBF, seed=1, near=0.0):
    """A model whose expansion has one support vector more than its budget, before maintenance."""
    model = BSGDClassifier(kernel, budget=budget, maintenance=maintenance, l2=0.1)
    rng = random.Random(seed)
    for _ in range(budget + 1):
        x = {k: near * rng.gauss(0, 1) if near else rng.gauss(0, 1) for k in "abc"}
        model._f.evaluate(x)
        model._f.add(rng.gauss(0, 1))
    return model


def dump(f):
    return [f.point(i) for i in range(len(f))], f.coefficients


def squared_distance(points, alpha, others, beta):
    """‖Σ α κ - Σ β κ‖²"""
    c, zs = np.concatenate([alpha, -np.asarray(beta)]), [*points, *others]
    return float(c @ np.array([[kappa(x, z) for z in zs] for x in zs]) @ c)


@pytest.mark.parametrize("near", [0.0, 1e-3])
def test_projection_is_the_least_squares_solution(near):
    f = filled(maintenance="projection", near=near)._f
    points, alpha = dump(f)
    p = f.smallest()
    project_on_others(f, p)
    rest = [z for i, z in enumerate(points) if i != p]
    K = np.array([[kappa(x, z) for z in rest] for x in rest])
    k = np.array([kappa(points[p], z) for z in rest])
    d = np.linalg.lstsq(K, k, rcond=1e-13)[0]
    expected = np.delete(alpha, p) + alpha[p] * d
    after, beta = dump(f)
    if not near:
        found = {tuple(z.items()): b for z, b in zip(after, beta, strict=True)}
        np.testing.assert_allclose([found[tuple(z.items())] for z in rest], expected, rtol=1e-9)
    for x, _ in streams.dense("classification", n=5):
        at = {k: x[f"x{i}"] for i, k in enumerate("abc")}
        best = sum(c * kappa(z, at) for z, c in zip(rest, expected, strict=True))
        # nearly dependent points: the inverse has a jitter of 1e-8, refined
        assert f.evaluate(at) == pytest.approx(best, rel=1e-6 if near else 1e-9, abs=1e-9)


def test_the_fused_point_is_optimal():
    """h and α_z against a grid over [0, 1], for coefficients of all ratios and signs and κ from 0 to 1."""
    grid = np.linspace(0.0, 1.0, 20001)
    for a_p in (1.0, -1.0):
        for ratio in (1.0, 1.0 + 1e-9, 1.5, 10.0, 1e5, -1.0, -1.5, -1e5):
            for k in (1.0, 1.0 - 1e-12, 0.99, 0.5, math.exp(-2.0), 0.1, 1e-3, 1e-30, 1e-300, 0.0):
                f = Expansion(kernels.RBF(1.0)._terms())
                for at, coefficient in ((math.sqrt(-math.log(k)) if k else 100.0, ratio * a_p), (0.0, a_p)):
                    f.evaluate({"x": at})
                    f.add(coefficient)
                m, h, a_z = f.partner(1)
                assert m == 0
                assert 0.5 <= h <= 1.0
                sizes = np.abs(ratio * k ** ((1.0 - grid) ** 2) + k ** (grid**2))
                assert abs(a_z) >= sizes.max() * (1.0 - 1e-12)
                assert abs(a_z) == pytest.approx(sizes.max(), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_merging_picks_the_partner_with_the_smallest_loss(seed):
    f = filled(maintenance="merging", seed=seed)._f
    points, alpha = dump(f)
    p = f.smallest()
    least = math.inf
    for m in range(len(points)):
        if m == p:
            continue
        for h in np.linspace(0.0, 1.0, 401):
            z = {k: h * points[m][k] + (1.0 - h) * points[p][k] for k in "abc"}
            a_z = alpha[m] * kappa(points[m], z) + alpha[p] * kappa(points[p], z)
            least = min(least, squared_distance([points[m], points[p]], alpha[[m, p]], [z], [a_z]))
    fuse(f, p)
    after, beta = dump(f)
    assert len(after) == len(points) - 1
    assert f.births.max() == f.births[-1] == len(points)  # the fused point is the newest
    lost = squared_distance(points, alpha, after, beta)
    assert lost <= least + 1e-12
    assert lost == pytest.approx(least, rel=1e-2, abs=1e-9)  # of the grid


@pytest.mark.parametrize(
    "kernel", [kernels.Laplacian(0.5), kernels.RBF((0.1, 1.0)), 0.5 * kernels.RBF(1.0), kernels.Linear()]
)
def test_merging_needs_one_gaussian(kernel):
    for cls in (BSGDClassifier, NBSGDRegressor):
        with pytest.raises(ValueError, match="kernel"):
            cls(kernel, maintenance="merging")
    BSGDClassifier(kernels.RBF(), maintenance="merging")


def test_removal_with_the_hinge_loss_is_first_in_first_out():
    model = BSGDClassifier(kernels.RBF(gamma=100.0), budget=7)
    for i in range(200):
        model.learn_one({"x": 10.0 * i}, i % 3 == 0)
        assert [z.get("x", 0.0) for z, _ in model.support_vectors] == [10.0 * j for j in range(max(0, i - 6), i + 1)]


def test_maintenance_becomes_rare():
    """The set grows by E Σ (1 - min(1, β/t)) = 500 - 100 (1 + H(500) - H(100)), about 239, once it is full."""
    model = NBSGDClassifier(kernels.RBF(gamma=100.0), budget=20, beta=100.0, seed=1)
    for i in range(500):
        model.learn_one({"x": 10.0 * i}, True)
    # the variance is Σ (β/t)(1 - β/t) < 81: 4 standard deviations are 36
    assert model.n_support_vectors == pytest.approx(20 + 239, abs=36)
