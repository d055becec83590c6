"""DUOL and BDUOL: their quadratic programs against general solvers."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_okl import BDUOLClassifier, DUOLClassifier, kernels
from river_okl.algorithms.duol import _two_variable_step
from river_okl.algorithms.support import RIDGE, box_quadratic, solve_without

numbers = st.floats(1e-6, 5)


@given(
    loss_t=numbers, loss_b=numbers, k_t=numbers, k_b=numbers, cosine=st.floats(-1, 1), C=numbers, share=st.floats(0, 1)
)
def test_the_two_variable_step_against_a_grid(loss_t, loss_b, k_t, k_b, cosine, C, share):
    w = cosine * math.sqrt(k_t * k_b)
    low, high = -share * C, C - share * C

    def gain(gamma, d):
        return gamma * loss_t + d * loss_b - (gamma**2 * k_t + d**2 * k_b + 2 * gamma * d * w) / 2

    gamma, d = _two_variable_step(loss_t, loss_b, k_t, k_b, w, C, low, high)
    assert 0 <= gamma <= C
    assert low <= d <= high
    grid = gain(*np.meshgrid(np.linspace(0, C, 201), np.linspace(low, high, 201)))
    scale = C * (loss_t + loss_b) + C * C * (k_t + k_b)
    assert gain(gamma, d) >= grid.max() - 1e-12 * scale
    # and no coordinate step increases it
    assert gain(min(C, max(0.0, (loss_t - w * d) / k_t)), d) <= gain(gamma, d) + 1e-12 * scale
    assert gain(gamma, min(high, max(low, (loss_b - w * gamma) / k_b))) <= gain(gamma, d) + 1e-12 * scale


def test_the_two_variable_step_when_the_poster_divides_by_zero():
    """x_t = x_b with the other label: k_t = k_b = -w. Both grow until they reach the box."""
    assert _two_variable_step(1.5, 0.5, 1.0, 1.0, -1.0, 1.0, -0.25, 0.75) == (1.0, 0.75)


@pytest.mark.parametrize("seed", range(20))
def test_the_box_quadratic_program(seed):
    """By its conditions of optimality; half the Gram matrices are nearly singular, and some bounds coincide."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    points = rng.normal(size=(n, 2 if seed % 2 else 8))
    H = np.exp(-0.5 * ((points[:, None] - points) ** 2).sum(axis=2)) * np.outer(s := rng.choice([-1, 1], n), s)
    H += 1e-8 * np.eye(n)
    c = rng.normal(size=n)
    low, high = -rng.random(n), rng.random(n)
    high[rng.random(n) < 0.2] = 0.0
    low[rng.random(n) < 0.1] = 0.0
    beta = box_quadratic(H, c, low, high, np.zeros(n))
    assert (low <= beta).all()
    assert (beta <= high).all()
    # the gradient is 0 inside, and points out of the box at a bound
    gradient = H @ beta - c
    inside = (low < beta) & (beta < high)
    assert abs(gradient[inside]).max(initial=0.0) < 1e-9
    assert (gradient[(beta == low) & (low < high)] > -1e-9).all()
    assert (gradient[(beta == high) & (low < high)] < 1e-9).all()


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 0.0])
def test_the_projection_from_the_inverse(spread):
    """Against a solver, with many duplicates: the ridge gives them equal shares, whatever the inverse."""
    rng = random.Random(11)
    f = BDUOLClassifier(kernels.RBF(0.5), budget=40, maintenance="approximate")._f
    for t in range(400):
        if len(f) == 40:
            f.remove(int(rng.random() * 40))
        f.evaluate({"a": int(rng.random() * 12) + spread * rng.random(), "b": spread * rng.random()})
        f.add(1.0)
        if t % 10 or len(f) < 10:
            continue
        K, j = f.gram(), int(rng.random() * len(f))
        c = K[j].copy()
        K += RIDGE * np.eye(len(K))
        rest = np.delete(np.arange(len(K)), j)
        d = solve_without(f, c, j)
        assert d[j] == 0.0
        expected = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, j])
        np.testing.assert_allclose(d[rest], expected, rtol=0.0, atol=1e-6 * abs(expected).max())  # cond(K) = 1e9


def test_the_projection_when_conjugate_gradients_fail():
    K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])

    class Indefinite:
        self_similarities = np.ones(3)

        def gram(self):
            return K.copy()

        def gram_times(self, v):
            return K @ v

        def inverse_times(self, v):
            return -v

    d = solve_without(Indefinite(), K[1], 1)
    rest = (K + RIDGE * np.eye(3))[np.ix_([0, 2], [0, 2])]
    np.testing.assert_allclose(d[[0, 2]], np.linalg.solve(rest, K[1, [0, 2]]), rtol=1e-12, atol=1e-15)
    assert d[1] == 0.0


def test_a_coefficient_of_zero_keeps_its_label():
    """-0.0 is a point of the negative class, also after pickling."""
    model = DUOLClassifier(kernels.RBF(0.5))
    f = model._f
    for value, c in ((0.0, -1.0), (0.5, 1.0)):
        f.evaluate({"a": value})
        f.add(c)
    f.set(0, -0.0)  # possible after a projection of BDUOL
    model = pickle.loads(pickle.dumps(model))
    assert math.copysign(1.0, model._f.coefficients[0]) == -1.0
    model.learn_one({"a": 0.0}, 1)  # f(0) = 0.88: in conflict with the negative point at 0, which has a loss
    assert model._f.coefficients[0] < 0.0
    assert model._f.coefficients[1] == 1.0


def test_nothing_is_learned_if_eviction_removes_the_loss():
    """The positive sample's loss is caused by the negative point, which is evicted."""
    model = BDUOLClassifier(kernels.RBF(10.0), budget=2, C=2.0, maintenance="removal")
    f = model._f
    for value, c in ((0.0, 1.5), (0.36, -2.0)):  # the negative point has the larger DA
        f.evaluate({"a": value})
        f.add(c)
    assert model.decision_function_one({"a": 0.0}) < 1.0
    model.learn_one({"a": 0.0}, 1)
    assert [(z.get("a", 0.0), c) for z, c in model.support_vectors] == [(0.0, 1.5)]
