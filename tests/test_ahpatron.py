"""AVP and Ahpatron: halving, its projection, and the perceptron as a limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from river_okl import AhpatronClassifier, AVPClassifier, kernels
from river_okl.algorithms.ahpatron import _halve, _largest_half
from river_okl.algorithms.support import solve_with_ridge
from tests import streams


@pytest.mark.parametrize("budget", [12, 13])
def test_a_halving_minimises_equation_6_and_keeps_the_norm(budget):
    model = AhpatronClassifier(kernels.RBF(0.5), budget=budget, radius=1.5, ridge=0.01)
    for x, y in streams.dense("classification"):
        if model.n_support_vectors == budget and model._t > 60:
            break  # the next update halves
        model.learn_one(x, y)
    f = model._f
    K, alpha, births, norm = f.gram(), f.coefficients, f.births, model.norm
    S2 = np.argsort(-abs(alpha))[: budget // 2]
    S1 = np.setdiff1d(np.arange(budget), S2)

    def objective(theta):
        change = np.zeros(budget)
        change[S2], change[S1] = theta, -alpha[S1]
        return change @ K @ change + model.ridge * theta @ theta

    theta = scipy.optimize.minimize(objective, np.zeros(len(S2)), tol=1e-12).x
    beta = alpha[S2] + theta
    beta *= norm / math.sqrt(beta @ K[np.ix_(S2, S2)] @ beta)  # eq. (7), c_t = ‖f_t‖/U

    _halve(f, model.ridge)
    assert model.norm == pytest.approx(norm, rel=1e-12)
    order = np.argsort(births[S2])
    assert sorted(f.births) == sorted(births[S2])
    np.testing.assert_allclose(f.coefficients[np.argsort(f.births)], beta[order], rtol=1e-4, atol=1e-6)


def test_the_largest_half_keeps_the_older_in_ties():
    births = np.array([7, 3, 5, 0, 2, 1])
    one = 1.0 + 1e-12
    assert set(_largest_half(np.array([1.0, one, 1.0, 1.0, one, 1.0]), births)) == {3, 5, 4}
    assert set(_largest_half(np.array([3.0, one, 1.0, 1.0, one, 2.0]), births)) == {0, 5, 3}
    assert set(_largest_half(np.arange(5.0), births[:5])) == {3, 4}
    assert len(_largest_half(np.ones(1), births[:1])) == 0


def test_a_cancelled_half_is_not_rescaled():
    """If half the budget is one point with both labels, the halved f is rounding."""
    model = AhpatronClassifier(kernels.RBF(0.5), budget=4)
    f = model._f
    for value, c in ((0.0, 1.0), (0.0, -1.0 - 1e-14), (9.0, 0.01), (-9.0, 0.01)):
        f.evaluate({"a": value})
        f.add(c)
    _halve(f, 1e-6)
    assert abs(f.coefficients).max() < 1.5
    assert model.norm < 1e-6


def test_the_ridge_is_raised_until_the_factorisation_exists():
    indefinite = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    solution = solve_with_ridge(indefinite, np.array([1.0, 1.0]), 0.0)
    np.testing.assert_allclose(solution, [0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (AVPClassifier, {"epsilon": 0.5}, "epsilon is 0.5 and the learning rate up to 1; .* raise epsilon"),
        (AVPClassifier, {"learning_rate": "adaptive"}, "radius is inf; .* needs a finite radius"),
        (AVPClassifier, {"learning_rate": "adaptive", "radius": 10.0, "epsilon": 0.45}, "epsilon is 0.45"),
        (AVPClassifier, {"epsilon": 1.0}, "epsilon is 1.0"),
        (AhpatronClassifier, {"radius": 50.0, "budget": 100}, "epsilon is 0.5 and the learning rate up to 2.5"),
        (AhpatronClassifier, {"radius": math.inf}, "radius is inf"),
        (AhpatronClassifier, {"ridge": 0.0}, "ridge is 0.0"),
    ],
)
def test_parameters_outside_the_theory_are_rejected(cls, options, message):
    with pytest.raises(ValueError, match=message):
        cls(**options)
