"""NORMA; BOGD and BOGD++, whose removal is unbiased."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river import optim

from river_okl import OGDClassifier, kernels
from river_okl.algorithms.bogd import staying_probabilities
from tests import reference

RBF = kernels.RBF(gamma=0.5)


def test_a_decay_of_more_than_one_is_rejected():
    with pytest.raises(ValueError, match="l2"):
        OGDClassifier(learning_rate=2.0, l2=0.5)
    model = OGDClassifier(RBF, learning_rate=optim.schedulers.Constant(300.0), l2=0.01)  # which sets f to 0
    for y in (True, False, True):
        model.learn_one({"x": 0.0}, y)
        assert abs(model.decision_function_one({"x": 0.0})) == pytest.approx(300.0)


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
