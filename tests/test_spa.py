"""SPA: the probabilities and the length of its steps."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy.stats

from river_okl import SPAClassifier, SPARegressor, kernels


@pytest.mark.parametrize(("y", "loss"), [(-1.0, 0.9), (-9.0, 2.0)])
def test_the_probability_is_the_loss_over_beta(y, loss):
    """One sample on an empty model: |y| - eps is the loss, of which alpha counts at most."""
    hits = 0
    for seed in range(2000):
        model = SPARegressor(alpha=2.0, beta=3.0, eps=0.1, seed=seed)
        model.learn_one({"a": 1.0}, y)
        hits += model.n_support_vectors
    low, high = scipy.stats.binom.interval(1 - 1e-6, 2000, loss / 3.0)
    assert low <= hits <= high


def test_the_expected_step_is_that_of_gradient_descent():
    """If η/ρ is the smaller, E[step] = ρ η/ρ = η: the paper's unbiased objective."""
    steps = []
    for seed in range(2000):
        model = SPARegressor(learning_rate=0.05, alpha=1.0, beta=4.0, eps=0.0, averaged=False, seed=seed)
        model.learn_one({"a": 1.0}, 0.8)
        steps.append(model.norm)
    assert max(steps) == pytest.approx(0.05 / 0.2)
    # ±5 standard errors of a mean of such draws
    assert np.mean(steps) == pytest.approx(0.05, abs=5 * 0.25 * (0.2 * 0.8 / 2000) ** 0.5)


def test_a_beta_below_alpha_is_rejected():
    with pytest.raises(ValueError, match=r"alpha is 2.0 and beta 1.0.*raise beta"):
        SPAClassifier(alpha=2.0, beta=1.0)


def test_a_sample_without_a_loss_draws_no_random_number():
    model = SPAClassifier(kernels.RBF(0.5), seed=4)
    before = random.Random(4).getstate()
    model.learn_one({"a": 1.0}, 1, w=0.0)
    assert model._rng.getstate() == before
    model.learn_one({"a": 1.0}, 1)
    assert model._rng.getstate() != before
