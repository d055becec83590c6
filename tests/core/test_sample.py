"""Samples: frames and dicts, values and names that misbehave while they are read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from river_okl._core.store.sample import Frame
from tests.core.expansions import expand, filled
from tests.discovery import snapshot, unchanged


def test_a_frame_equals_its_dicts_bit_for_bit():
    rng = np.random.default_rng(16)
    matrix = rng.normal(size=(50, 7))
    matrix[rng.random((50, 7)) < 0.3] = 0.0
    f, g = expand(budget=12, norm=True), expand(budget=12, norm=True)
    frame = Frame([*"abcdefg"], matrix)
    assert len(frame) == 50
    for row, values in zip(frame, matrix, strict=True):
        x = dict(zip("abcdefg", values.tolist(), strict=True))
        assert dict(row.items()) == x
        assert f.observe(row) == g.observe(x)
        for h in (f, g):
            if len(h) == 12:
                h.remove(5)
            h.add(0.3)
        assert snapshot(f) == snapshot(g)
    many = f.evaluate_many(frame)
    assert many.shape == (50, 1)
    assert [g.evaluate(dict(row.items())) for row in frame] == many[:, 0].tolist()


@pytest.mark.parametrize("classes", [0, 3])
def test_combinations_of_outputs_are_the_same_for_a_frame_bit_for_bit(classes):
    f = filled(20, n_outputs=3)
    for _ in range(classes and classes - 2):
        f.add_class()
    frame = Frame([*range(4)], np.random.default_rng(17).normal(size=(11, 4)))
    weights = (0.3, -2.0, 0.7)
    many = f.evaluate_many(frame, weights)
    assert many.shape == (11, classes or 1)
    for row, found in zip(frame, many, strict=True):
        one = f.evaluate(row, weights) if classes else [f.evaluate(row, weights)]
        assert one == found.tolist()
        columns = f.columns.reshape(20, classes or 1, 3) @ weights
        np.testing.assert_allclose(found, f.row @ columns, rtol=1e-12, atol=1e-13)


def test_a_bad_frame_is_rejected():
    with pytest.raises(ValueError, match="2 names for 3 columns"):
        Frame(["a", "b"], np.zeros((4, 3)))
    for value in (math.nan, math.inf, 1e51):
        with pytest.raises(ValueError, match="'b' is"):
            Frame(["a", "b"], np.array([[0.0, 1.0], [0.0, value]]))
    with pytest.raises(ValueError, match="'a'"):
        Frame(["a", "a"], np.zeros((1, 2)))
    frame = Frame(["a"], np.zeros((2, 1)))
    for i in (-1, 2):
        with pytest.raises(IndexError):
            frame[i]


def test_a_value_that_raises_leaves_the_model():
    f = filled(5)
    expected = f.evaluate({0: 1.0})

    class Angry:
        def __float__(self):
            raise KeyboardInterrupt

    with unchanged(f), pytest.raises(KeyboardInterrupt):
        f.evaluate({0: 1.0, 1: Angry()})
    assert f.evaluate({0: 1.0}) == expected
