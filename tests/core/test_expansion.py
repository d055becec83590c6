"""Expansions: invariants after random actions, positions and births, outputs, scales, states."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from river_okl._core.store.sample import Frame
from tests.core.expansions import KERNELS, OPTIONS, act, expand, filled, point, put
from tests.discovery import snapshot, unchanged


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    n_outputs=st.integers(1, 3),
    budget=st.sampled_from([None, 1, 7, 12]),
    wide=st.booleans(),
)
def test_random_actions_keep_the_invariants(kernel, options, seed, n_outputs, budget, wide):
    rng = random.Random(seed)
    f = expand(KERNELS[kernel], n_outputs=n_outputs, budget=budget, **OPTIONS[options])
    names = [*range(60)] if wide else ["a", ("b", 1), 3, None, 2.5]
    for _ in range(rng.randrange(5, 40)):
        f = act(f, rng, OPTIONS[options], names)
        f._check()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_pickle_is_deterministic_and_continues_bit_for_bit(options, wide):
    names = [*range(60)] if wide else [*"abcde"]
    for seed in range(8):
        rng = random.Random(seed)
        f = expand(n_outputs=2, **OPTIONS[options])
        for _ in range(40):
            f = act(f, rng, OPTIONS[options], names)
        data = pickle.dumps(f)
        g = pickle.loads(data)
        assert pickle.dumps(g) == pickle.dumps(pickle.loads(data))
        state = rng.getstate()
        outcomes = []
        for h in (f, g):
            rng.setstate(state)
            for _ in range(40):
                h = act(h, rng, OPTIONS[options], names)
            outcomes.append(h)
        f, g = outcomes
        assert snapshot(f) == snapshot(g)
        x = point(rng, names=names)
        assert f.evaluate(x) == g.evaluate(x)


def test_a_damaged_state_is_rejected():
    state = filled(6, **OPTIONS["all"]).state()
    for bad in damages(state):
        with pytest.raises((ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError)):
            expand(**OPTIONS["all"]).restore(bad)
    f = expand(**OPTIONS["all"])
    f.restore(state)
    assert snapshot(f.state()) == snapshot(state)
    f._check()
    with pytest.raises(RuntimeError, match="before there are any"):
        f.restore(state)


def damages(value):
    if isinstance(value, dict):
        return [{**value, key: bad} for key, item in value.items() for bad in damages(item)] + [{}, None]
    if isinstance(value, np.ndarray):
        longer = np.concatenate([value, value[-1:]]) if value.size else np.zeros(1, value.dtype)
        return [longer, value.tolist(), value.astype(np.float32), None, value[:-1] if value.size else None]
    if isinstance(value, list) and value:
        return [value[:-1], [*value, "more"], [value[0]] * len(value)]
    if isinstance(value, bool):
        return ["yes"]
    return ["nonsense"] if value is None else ["nonsense", None]


@pytest.mark.parametrize("n_classes", [0, 3])
def test_labels_are_permuted(n_classes):
    """Exactly, and f with them; swapping twice restores f."""
    f = filled(6, norm=True, inverse=True, n_outputs=2)
    for _ in range(n_classes - 2):
        f.add_class()
    if n_classes:
        f.columns = np.random.default_rng(1).normal(size=f.columns.shape)
    f.scale(0.3)
    order, x, before = [2, 0, 1] if n_classes else [1, 0], {"a": 0.5}, snapshot(f)
    values, columns, norm = f.evaluate(x), f.columns, f.norm2
    f.permute(order)
    assert f.evaluate(x) == ([values[c] for c in order] if n_classes else -values)
    permuted = columns.reshape(len(f), -1, 2)[:, order].reshape(columns.shape) if n_classes else -columns
    assert f.columns.tobytes() == permuted.tobytes()
    assert f.norm2 == pytest.approx(norm, rel=1e-12)
    f._check()
    f.permute(np.argsort(order).tolist())
    assert snapshot(f) == before
    for wrong in ([0, 0], [0], [0, 1, 2, 3], [1, 2]):
        with pytest.raises(ValueError, match="not a permutation"):
            f.permute(wrong)


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1e90, 1e140])
def test_scales_of_the_coefficients(scale):
    f, g = (filled(30, norm=True, values=True) for _ in range(2))
    f.scale(scale)
    x = point(random.Random(5))
    assert f.evaluate(x) == pytest.approx(scale * g.evaluate(x), rel=1e-13)
    np.testing.assert_allclose(f.values, scale * g.values, rtol=1e-12)
    f.add(scale)
    g.add(1.0)
    f.scale(1.0 / scale)
    np.testing.assert_allclose(f.coefficients, g.coefficients, rtol=1e-14)
    assert f.norm2 == pytest.approx(g.norm2, rel=1e-11)
    f._check()


def test_a_scale_of_0_empties_f_but_not_the_support():
    f = filled(10, norm=True, values=True)
    f.scale(0.0)
    assert f.norm2 == 0.0
    assert list(f.coefficients) == [0.0] * 10
    assert f.evaluate({0: 1.0}) == 0.0
    f.add(2.0)
    assert f.norm2 == pytest.approx(4.0)
    f._check()


def test_a_budget_is_a_hard_cap():
    f = expand(budget=3)
    for i in range(3):
        put(f, {i: 1.0})
    f.evaluate({9: 1.0})
    with unchanged(f), pytest.raises(RuntimeError, match="budget of 3"):
        f.add(1.0)
    for budget in (0, -1, 2**31, 10**12):
        with pytest.raises(ValueError, match="budget"):
            expand(budget=budget)
    expand(budget=2**31 - 1).evaluate({"a": 1.0})  # takes no memory before it is needed


def test_positions_and_births():
    f = expand()
    for i in range(6):
        put(f, {"a": float(i)}, float(i + 1))
    f.remove(1)
    assert list(f.births) == [0, 5, 2, 3, 4]
    assert list(f.coefficients) == [1.0, 6.0, 3.0, 4.0, 5.0]
    assert f.point(1) == {"a": 5.0}
    assert f.oldest() == 0
    f.remove(0)
    assert list(f.births) == [4, 5, 2, 3]
    assert f.oldest() == 2
    f.keep([0, 3])
    assert sorted(f.births) == [3, 4]
    put(f, {"a": 9.0})
    assert max(f.births) == 6
    for i in (-1, 3, 100):
        for call in (f.remove, f.point, f.value_of, f.row_of, lambda i: f.shift(i, 1.0), lambda i: f.set(i, 1.0)):
            with pytest.raises(IndexError, match="position"):
                call(i)


def test_ties_of_the_smallest_go_to_the_oldest():
    f = expand()
    for i, c in enumerate((2.0, -1.0 - 1e-12, 1.0, -1.0, 3.0)):
        put(f, {"a": float(i)}, c)
    assert f.smallest() == 1
    f.remove(1)  # the one of 3.0 comes here
    assert f.births[f.smallest()] == 2
    f.set(2, 0.5)
    assert f.smallest() == 2


def test_outputs_share_the_support_vectors():
    f, rng = expand(n_outputs=3, norm=True), random.Random(14)
    for t in range(15):
        put(f, point(rng), rng.gauss(0, 1), t % 3)
    f.shift(2, 0.5, 1)
    x = point(rng)
    f.evaluate(x)
    for o, alpha in enumerate(f.columns.T):
        assert f.value((0.0,) * o + (1.0,)) == pytest.approx(float(f.row @ alpha), rel=1e-12)
    assert f.norm2 == pytest.approx(float(f.coefficients @ f.gram() @ f.coefficients), rel=1e-10)
    assert f.value() == f.evaluate(x)
    assert f.value((1.0, -0.5, 2.0)) == f.evaluate(x, (1.0, -0.5, 2.0))
    f._check()
    frame = Frame(["a"], np.zeros((1, 1)))
    for read in (f.value, lambda w: f.evaluate(x, w), lambda w: f.evaluate_many(frame, w)):
        with pytest.raises(IndexError, match="4 weights for 3 outputs"):
            read((1.0,) * 4)
    with pytest.raises(IndexError, match="output"):
        f.add(1.0, 5)
