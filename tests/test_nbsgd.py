"""Kernel SGD and its budgets: maintenance against brute force, averages against all models."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest

from river_okl import BSGDClassifier, NBSGDClassifier, NBSGDRegressor, kernels, losses
from river_okl._core.function.expansion import Expansion
from river_okl.algorithms.support import project_on_others
from tests import reference, streams

RBF, kappa = kernels.RBF(gamma=0.5), reference.rbf(0.5)


# Averages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [1e-9, 0.1, 0.37, 0.5, 1.0])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_average_is_that_of_the_last_models(suffix, task):
    """Against the mean of all w_t(x), stored individually; points are removed before the window and within it."""
    cls, loss = (NBSGDClassifier, None) if task == "classification" else (NBSGDRegressor, losses.EpsilonInsensitive())
    model, last = (cls(RBF, loss=loss, suffix=s, l2=0.01, budget=10, beta=40.0, seed=2) for s in (suffix, 0.0))
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


def test_inexact_averages_are_rejected():
    for maintenance in ("projection", "approximate", "merging"):
        with pytest.raises(ValueError, match="suffix"):
            NBSGDClassifier(suffix=0.5, maintenance=maintenance)
    with pytest.raises(ValueError, match="suffix"):
        NBSGDRegressor(suffix=0.5)  # has a ball
    NBSGDRegressor(suffix=0.5, l2=1.5)
    NBSGDRegressor(suffix=0.5, loss=losses.EpsilonInsensitive())


# Maintenance --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_projection_is_the_least_squares_solution(size):
    f, rng = BSGDClassifier(RBF, budget=12, maintenance="projection")._f, random.Random(1)
    for _ in range(13):  # one more than the budget
        f.evaluate({k: size * rng.gauss(0, 1) for k in "abc"})
        f.add(rng.gauss(0, 1))
    points, alpha = [f.point(i) for i in range(13)], f.coefficients
    p = f.smallest()
    project_on_others(f, p)
    rest = [z for i, z in enumerate(points) if i != p]
    K = reference.Twin(kappa).matrix([*rest, points[p]])
    d = np.linalg.lstsq(K[:-1, :-1], K[-1, :-1], rcond=1e-13)[0]
    expected = np.delete(alpha, p) + alpha[p] * d
    if size == 1.0:
        found = {tuple(f.point(i).items()): b for i, b in enumerate(f.coefficients)}
        np.testing.assert_allclose([found[tuple(z.items())] for z in rest], expected, rtol=1e-9)
    for x, _ in streams.dense("classification", n=5):
        at = {k: x[f"x{i}"] for i, k in enumerate("abc")}
        best = sum(c * kappa(z, at) for z, c in zip(rest, expected, strict=True))
        # nearly dependent points: the inverse has a jitter of 1e-8, refined
        assert f.evaluate(at) == pytest.approx(best, rel=1e-9 if size == 1.0 else 1e-6, abs=1e-9)


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
