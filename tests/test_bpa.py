"""BPA: its choice and step against a general solver, cached neighbours."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.optimize

from river_okl import BPAClassifier, BPARegressor, kernels
from tests import reference, streams
from tests.discovery import task

BUDGET = 6


def loss_of(model, y, p):
    return max(0.0, abs(y - p) - model.eps) if isinstance(model, BPARegressor) else max(0.0, 1.0 - y * p)


def least_objective(model, K, alpha, r, V, y):
    """min ½‖f' - f‖² + C ℓ(f'(x_t)) over β by a general solver, the loss as a slack. The new point is the last of K."""
    f_t = K[-1, :-1] @ alpha

    def change(beta):
        c = np.zeros(len(K))
        c[r], c[V] = -alpha[r], beta
        return c

    def objective(v):
        c = change(v[:-1])
        return c @ K @ c / 2 + model.C * v[-1]

    def gradient(v):
        return np.append((K @ change(v[:-1]))[V], model.C)

    def at_least_0(side, constant):
        """The slack plus side · f'(x_t), at least a constant."""
        slope = np.append(side * K[-1, V], 1.0)
        value = side * (f_t - K[-1, r] * alpha[r]) - constant
        return {"type": "ineq", "fun": lambda v: slope @ v + value, "jac": lambda v: slope}

    if isinstance(model, BPARegressor):
        constraints = [at_least_0(1.0, y - model.eps), at_least_0(-1.0, -y - model.eps)]
    else:
        constraints = [at_least_0(y, 1.0)]
    constraints.append({"type": "ineq", "fun": lambda v: v[-1], "jac": lambda v: np.eye(len(v))[-1]})
    start = np.append(np.zeros(len(V)), abs(y) + abs(f_t) + 5.0)
    return scipy.optimize.minimize(
        objective, start, jac=gradient, constraints=constraints, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
    ).fun


@pytest.mark.parametrize("cls", [BPAClassifier, BPARegressor])
@pytest.mark.parametrize("maintenance", ["simple", "nearest", "projection"])
@pytest.mark.parametrize(
    ("kernel", "function"),
    [(kernels.RBF(0.5), reference.rbf(0.5)), (kernels.Polynomial(2, gamma=0.4), reference.polynomial(2, gamma=0.4))],
    ids=["rbf", "polynomial"],
)
def test_the_step_minimises_the_objective(cls, maintenance, kernel, function):
    """Over all r to remove and all β, as the paper states the problem."""
    model = cls(kernel, budget=BUDGET, C=0.4, maintenance=maintenance)
    compared = 0
    for t, (x, y) in enumerate(streams.unit(task(cls), n=70, seed=3)):
        points, alpha = map(list, zip(*model.support_vectors, strict=True)) if model.n_support_vectors else ([], [])
        loss = loss_of(model, y, model._decision(x))
        model.learn_one(x, y)
        if len(points) < BUDGET or loss < 0.05 or t % 3:
            continue
        K = reference.Twin(function).matrix([*points, x])
        distance = np.diag(K)[:, None] + np.diag(K) - 2 * K + np.diag(np.full(BUDGET + 1, np.inf))
        least = []
        for r in range(BUDGET):
            others = [i for i in range(BUDGET) if i != r]
            near = {"simple": [], "nearest": [min(others, key=lambda i: distance[r, i])], "projection": others}
            least.append(least_objective(model, K, np.array(alpha), r, [*near[maintenance], BUDGET], y))
        after = {tuple(sorted(z.items())): c for z, c in model.support_vectors}
        c = np.array([after.get(tuple(sorted(z.items())), 0.0) for z in [*points, x]]) - [*alpha, 0.0]
        made = c @ K @ c / 2 + model.C * loss_of(model, y, model._decision(x))
        assert len(after) == BUDGET
        assert made == pytest.approx(min(least), rel=1e-4, abs=1e-7)
        compared += 1
    assert compared >= 5


@pytest.mark.parametrize("kernel", [None, kernels.RBF(0.5), kernels.Polynomial(2, gamma=0.4)], ids=str)
def test_the_cached_neighbours_are_the_nearest(kernel):
    """After replacements, and while γ changes."""
    model = BPAClassifier(kernel, budget=12, maintenance="nearest")
    f = model._f
    for t, (x, y) in enumerate(streams.dense("classification", n=400)):
        model.learn_one(x, y)
        if t > 30 and t % 7 == 0:
            K = f.gram()
            distance = np.diag(K)[:, None] + np.diag(K) - 2 * K
            np.fill_diagonal(distance, np.inf)
            position, similarity = copy.deepcopy(model._neighbours).of(f)
            np.testing.assert_allclose(distance[np.arange(12), position], distance.min(axis=1), rtol=1e-6)
            np.testing.assert_allclose(similarity, K[np.arange(12), position], rtol=1e-12)
