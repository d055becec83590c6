"""SPA: its average, its number of support vectors, and its limit PA-I."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy.stats

from river_okl import SPAClassifier, SPARegressor, kernels
from tests import streams
from tests.discovery import task

BOTH = pytest.mark.parametrize("cls", [SPAClassifier, SPARegressor])


def test_the_number_of_support_vectors_if_every_loss_is_above_alpha():
    """f stays near 0, so every loss is above alpha and |S| ~ Binomial(T, α/β): 1 in 10⁶ runs is outside."""
    model = SPAClassifier(kernels.RBF(0.5), learning_rate=1e-9, alpha=0.5, beta=5.0, seed=1)
    model.learn_stream(streams.dense("classification", n=5000))
    low, high = scipy.stats.binom.interval(1 - 1e-6, 5000, 0.1)
    assert low <= model.n_support_vectors <= high


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_the_expected_number_of_support_vectors_is_at_most_alpha_t_over_beta(cls, seed):
    """Theorem 3.2. No step has a probability above α/β, so |S| is at most Binomial(T, α/β) in distribution: a correct
    implementation fails in 1 of 10⁶ runs."""
    model = cls(kernels.RBF(0.5), alpha=0.3, beta=2.0, seed=seed)
    model.learn_stream(streams.dense(task(cls), n=2000))
    assert 0 < model.n_support_vectors <= scipy.stats.binom.isf(1e-6, 2000, 0.3 / 2.0)


def test_the_probability_is_the_loss_over_beta():
    """One sample on an empty model: |y| - eps is the loss."""
    hits = 0
    for seed in range(2000):
        model = SPARegressor(alpha=2.0, beta=3.0, eps=0.1, seed=seed)
        model.learn_one({"a": 1.0}, -1.0)
        hits += model.n_support_vectors
    low, high = scipy.stats.binom.interval(1 - 1e-6, 2000, 0.9 / 3.0)
    assert low <= hits <= high


def test_the_expected_step_is_that_of_gradient_descent():
    """If η/ρ is the smaller, E[step] = ρ η/ρ = η: the paper's unbiased objective."""
    steps = []
    for seed in range(2000):
        model = SPARegressor(
            kernels.RBF(1.0), learning_rate=0.05, alpha=1.0, beta=4.0, eps=0.0, averaged=False, seed=seed
        )
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
