"""SPA: its random numbers."""

from __future__ import annotations

import random

from river_okl import SPAClassifier, kernels


def test_a_sample_without_a_loss_draws_no_random_number():
    model = SPAClassifier(kernels.RBF(0.5), seed=4)
    before = random.Random(4).getstate()
    model.learn_one({"a": 1.0}, 1, w=0.0)
    assert model._rng.getstate() == before
    model.learn_one({"a": 1.0}, 1)
    assert model._rng.getstate() != before
