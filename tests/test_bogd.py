"""BOGD and BOGD++: the removal is unbiased, by enumeration of all outcomes."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from river import optim

from river_okl import BOGDClassifier, BOGDRegressor, kernels
from river_okl.algorithms.bogd import staying_probabilities
from tests import reference, streams


class Scripted:
    """A random generator with one fixed number."""

    def __init__(self, u):
        self.u = u

    def random(self):
        return self.u


def full(sampling, budget=7, kernel=None):
    model = BOGDClassifier(
        kernel or kernels.RBF(0.5), loss=optim.losses.Log(), budget=budget, sampling=sampling, seed=1, learning_rate=0.4
    )
    samples = streams.dense("classification")
    while model.n_support_vectors < budget:
        model.learn_one(*samples.pop())
    return model, samples


@pytest.mark.parametrize("sampling", ["uniform", "magnitude"])
@pytest.mark.parametrize("kernel", [kernels.RBF(0.5), kernels.Polynomial(2)])
def test_the_removal_is_unbiased(sampling, kernel):
    model, samples = full(sampling, kernel=kernel)
    n = model.n_support_vectors
    if sampling == "uniform":
        q = np.full(n, 1.0 / n)
    else:
        q = 1.0 - staying_probabilities(model._f.magnitudes * np.sqrt(model._f.self_similarities))
        assert q.max() > 1.01 * q.min()
    assert q.sum() == pytest.approx(1.0)
    edges = np.concatenate(([0.0], np.cumsum(q)))
    places = [x for x, _ in samples[:10]]
    before = np.array([model.decision_function_one(x) for x in places])
    after = np.zeros(len(places))
    removed = set()
    for i in np.flatnonzero(q > 0.0):
        outcome = copy.deepcopy(model)
        outcome._rng = Scripted((edges[i] + edges[i + 1]) / 2.0)
        outcome._remove_one()
        assert outcome.n_support_vectors == n - 1
        removed |= set(model._f.births) - set(outcome._f.births)
        after += q[i] * np.array([outcome.decision_function_one(x) for x in places])
    assert len(removed) == np.count_nonzero(q > 0.0) > 1
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "magnitudes",
    [
        [1.0],
        [1.0, 1.0],
        [1.0, 2.0, 3.0, 4.0],
        [1e-9, 1.0, 1.0, 1.0],  # the last three would stay with probability 1 + 1e-9
        [1.0, 1.0, 1.0, 100.0, 1e6],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 3.0, 5.0],
        [1e-300, 1e-300, 1e300],
        [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0],
    ],
)
def test_probabilities_sum_to_one_and_none_is_negative(magnitudes):
    staying = staying_probabilities(np.array(magnitudes))
    assert (staying >= 0.0).all()
    assert (staying <= 1.0).all()
    assert math.fsum(1.0 - staying) == pytest.approx(1.0)
    np.testing.assert_allclose(1.0 - staying, reference.removal_probabilities(magnitudes), atol=1e-12)
    free = staying < 1.0
    shares = np.array(magnitudes)[free]
    if len(magnitudes) > 1 and shares.sum() > 0.0:  # in proportion where none is capped
        np.testing.assert_allclose(staying[free] / staying[free].sum(), shares / shares.sum(), rtol=1e-9)


@pytest.mark.parametrize("sampling", ["uniform", "magnitude"])
def test_coefficients_are_clipped(sampling):
    model = BOGDRegressor(kernels.RBF(0.5), budget=10, max_coef=0.3, sampling=sampling, seed=1)
    largest = 0.0
    for x, y in streams.dense("regression"):
        model.learn_one(x, 5.0 * y)
        largest = max(largest, max(abs(c) for _, c in model.support_vectors))
    assert largest == pytest.approx(0.3)
    assert largest <= 0.3 * (1.0 + 1e-12)
