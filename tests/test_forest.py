"""The compiled forest against its reference implementation, its invariants after random actions, states, bounds."""

from __future__ import annotations

import copy
import math
import sys

import numpy as np
import pytest

from river_okl._core.store.table import Axis
from river_okl._core.trees.target_leaf import TargetForest
from tests.discovery import snapshot
from tests.reference import forest as reference


def encoded(sample):
    return np.array([*sample], dtype=np.int32), np.array([*sample.values()], dtype=np.float64)


def predict(forest, sample):
    return forest.predict(*encoded(sample))


def train(forest, sample, target, w=1.0):
    forest.train(*encoded(sample), target, w)


def stream(n, d, *, seed=0, absent=0.0, drift=None, noise=0.1):
    """Boxes in the first two features, or the first three after ``drift``."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = {j: float(rng.normal()) for j in range(d) if rng.random() >= absent}
        box = int(x.get(0, 0.0) > -0.2) + 2 * int(x.get(1, 0.0) > 0.1)
        if drift is not None and t >= drift:
            box = 3 - box + int(x.get(2, 0.0) > 0.0)
        yield x, 3.0 * box + x.get(2, 0.0) + noise * float(rng.normal())


def compare(forest, twin, samples, weights=(1.0,)):
    """Every prediction."""
    for t, (x, y) in enumerate(samples):
        np.testing.assert_allclose(predict(forest, x), twin.predict(x), rtol=0.0, atol=1e-9, err_msg=f"sample {t}")
        train(forest, x, y, weights[t % len(weights)])
        twin.train(x, y, weights[t % len(weights)])
    assert forest.sizes == [(len(tree.leaves), twin.blocks_of(tree), tree.resets) for tree in twin.trees]
    forest._check()


def made(n_trees, **options):
    return TargetForest(Axis("feature"), n_trees, **options)


def both(n_trees, **options):
    core = {"bytes" if name == "size" else name: value for name, value in options.items()}
    return made(n_trees, **core), reference.TargetForest(n_trees, **options)


# The reference implementation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("one_in", [1, 2])
def test_every_step_matches_the_reference(one_in):
    forest, twin = both(2, one_in=one_in, seed=5)
    compare(forest, twin, stream(1500, 5, seed=one_in), weights=(1.0, 1.0, 0.4, 3.0))
    assert all(leaves > 4 for leaves, *_ in forest.sizes)


def test_trees_restart_after_a_drift_as_in_the_reference():
    forest, twin = both(2, seed=3)
    compare(forest, twin, stream(2400, 4, seed=7, drift=1300))
    assert all(resets for *_, resets in forest.sizes)


def test_noise_that_grows_does_not_restart_all_trees():
    """Errors rise, and the tree that restarts gains nothing."""
    rng, (forest, twin) = np.random.default_rng(1), both(3, seed=3)
    noise = ((x, y + math.exp(t / 2000) * rng.normal()) for t, (x, y) in enumerate(stream(3000, 4)))
    compare(forest, twin, noise)
    assert sorted(resets > 0 for *_, resets in forest.sizes) == [False, False, True]


@pytest.mark.parametrize("size", [7000])
def test_leaves_compete_for_blocks_as_in_the_reference(size):
    forest, twin = both(2, size=size, seed=9)
    compare(forest, twin, stream(3500, 4, seed=11, noise=0.3))
    assert all(blocks < leaves for leaves, blocks, _ in forest.sizes)


@pytest.mark.parametrize("absent", [0.4, 0.93])
def test_absent_features_as_in_the_reference(absent):
    forest, twin = both(2, one_in=2, seed=13)
    compare(forest, twin, stream(1000, 40, seed=17, absent=absent))


@pytest.mark.parametrize("size", [20_000])
def test_more_features_than_fit_as_in_the_reference(size):
    forest, twin = both(2, size=size, seed=19)
    samples = enumerate(stream(900, 40))
    compare(forest, twin, (({j: v for j, v in x.items() if j < 4 + t // 25}, y) for t, (x, y) in samples))
    assert twin.group > 1


def test_features_come_and_go_as_in_the_reference():
    forest, twin = both(2, one_in=2, seed=29)
    for part in range(4):
        compare(forest, twin, stream(500, 6, seed=31 + part))
        forest.forget(None, [part, 4])
        twin.forget([part, 4])


@pytest.mark.parametrize(("ratio", "shift"), [(0.999, 0.002), (1.01, -0.1), (0.2, 5.0)])
def test_changing_target_units_as_in_the_reference(ratio, shift):
    forest, twin = both(2, seed=37)
    scale, offset = 1.0, 0.0
    for t, (x, y) in enumerate(stream(900, 4, seed=41)):
        expected = twin.predict(x)
        assert predict(forest, x) == pytest.approx(expected, rel=1e-6, abs=1e-6 * max(1.0, abs(scale)))
        train(forest, x, scale * y + offset)
        twin.train(x, scale * y + offset)
        if t % 40 == 0 if ratio < 0.9 else t % 2:
            forest.act("rescale", ratio, shift)
            twin.rescale(ratio, shift)
            scale, offset = ratio * scale, ratio * offset + shift
    forest._check()


def test_cuts_and_bins_are_converted_with_the_units_of_features():
    """Predictions of converted samples are the same, and so are the statistics that they are counted in."""
    rng, forest, other = np.random.default_rng(4), made(3), made(3)
    values = (2.0 * rng.integers(-20, 20, size=(1500, 4)) + 1.0) / 16.0  # exact in single precision when converted
    samples = [dict(enumerate(row)) for row in values.tolist()]
    boxes = [(x[0] > 0.3) + (x[1] > -0.4) for x in samples]
    targets = [3.0 * box + x[2] for box, x in zip(boxes, samples, strict=True)]
    for x, y in zip(samples[:1480], targets, strict=False):
        train(forest, x, y)
    other.restore(forest.state())
    ratio, shift = np.array([2.0, 0.5, 4.0, 1.0]), np.array([2.0, -0.25, 0.0, 0.5])
    other.act("convert", ratio, shift)
    other._check()
    for x, y in zip(samples[1480:], targets[1480:], strict=True):
        converted = {j: ratio[j] * value + shift[j] for j, value in x.items()}
        assert predict(other, converted) == pytest.approx(predict(forest, x), rel=1e-6)
        train(forest, x, y)
        train(other, converted, y)
    counted, expected = (each.state()["blocks"]["bins"] for each in (other, forest))
    assert np.array_equal(counted, expected)


# States ---------------------------------------------------------------------------------------------------------------


def learned(n=1200, **options):
    forest = made(2, **options)
    for x, y in stream(n, 6, drift=800):
        train(forest, x, y)
    return forest


@pytest.mark.parametrize("options", [{}, {"one_in": 2}, {"bytes": 6000}])
def test_a_restored_forest_continues_bit_for_bit(options):
    forest = learned(**options)
    again = made(2, **options)
    again.restore(copy.deepcopy(forest.state()))
    assert snapshot(forest.state()) == snapshot(again.state())
    for t, (x, y) in enumerate(stream(1500, 9, seed=2)):
        assert np.array_equal(predict(forest, x), predict(again, x)), t
        for each in (forest, again):
            train(each, x, y)
            if t % 300 == 0:
                each.forget(None, [t // 300])
    assert snapshot(forest.state()) == snapshot(again.state())
    again._check()


def junk(rng, value):
    """A replacement of another kind."""
    if not isinstance(value, np.ndarray):
        return [None, -1, 0, 1, 2, 3, 10**6, 2**62, 2**64, 1.5, "3", True][rng.integers(12)]
    if rng.random() < 0.2:
        return [None, value[:-1], value.tolist(), value.astype(np.complex64), value[None]][rng.integers(5)]
    value, numbers = value.copy(), [0, 1, -1, -2, -3, 7, 2**31 - 1, -(2**31)]
    if value.dtype.kind == "f":
        numbers += [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 1e-40]
    if value.size:
        with np.errstate(over="ignore"):
            value.flat[rng.integers(value.size)] = np.array(numbers[rng.integers(len(numbers))]).astype(value.dtype)
    return value


def test_a_hostile_state_harms_no_memory():
    rng = np.random.default_rng(43)
    state, rejected = learned(n=700, bytes=20_000).state(), 0
    samples = [*stream(40, 6, seed=3)]
    for _ in range(1500):
        changed = dict(state)
        for _ in range(rng.integers(1, 3)):
            name = [*changed][rng.integers(len(changed))]
            changed[name] = junk(rng, changed[name])
        forest = made(2, bytes=20_000)
        before = forest.state()
        try:
            forest.restore(changed)
        except (ValueError, TypeError, OverflowError):
            rejected += 1
            assert snapshot(before) == snapshot(forest.state())
            continue
        for x, y in samples:
            predict(forest, x)
            train(forest, x, y)
    assert 300 < rejected < 1500


# Bounds ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [57, 1000])
def test_memory_is_bounded(d):
    rng = np.random.default_rng(0)
    forest = made(3)
    for _ in range(1500):
        x = {int(j): float(rng.normal()) for j in rng.choice(d, min(d, 20), replace=False)}
        train(forest, x, x[min(x)])
    forest._check()  # of the statistics
    room = 3 * 2000 * 40 + 3 * (1 << 17) + 20 * d
    assert sys.getsizeof(forest) < forest.bytes + room


def test_noise_fills_the_trees_up_to_their_bounds():
    rng, forest, places = np.random.default_rng(0), TargetForest(Axis("feature"), 1), np.array([0, 1], dtype=np.int32)
    for values, target in zip(rng.normal(size=(200_000, 2)), rng.normal(size=200_000), strict=True):
        forest.train(places, values, target)
    assert forest.sizes[0][0] == 500
    forest._check()


@pytest.mark.parametrize("seed", range(6))
def test_random_actions_keep_the_invariants(seed):
    rng, width = np.random.default_rng(seed), 3
    forest = made(3, one_in=1 + seed % 3, bytes=int(rng.integers(3_000, 60_000)), seed=seed)
    for t in range(1500):
        places = rng.choice(width, width // 2, False)
        x = {int(j): float(rng.normal()) * 10.0 ** rng.integers(-3, 9) for j in places}
        action = rng.random()
        if action < 0.01:
            width = min(60, width + int(rng.integers(1, 6)))
        elif action < 0.03:
            forest.forget(None, rng.choice(width, 2, False).tolist())
        elif action < 0.04:
            forest.act("rescale", float(10.0 ** rng.uniform(-3, 3)), float(rng.normal()))
        elif action < 0.045:
            forest.act("convert", 10.0 ** rng.uniform(-2.0, 2.0, width), rng.normal(size=width))
        elif action < 0.05:
            other = made(3, one_in=1 + seed % 3, bytes=forest.bytes)
            other.restore(forest.state())
            forest = other
        p = predict(forest, x)
        assert np.isfinite(p).all()
        y = float(rng.normal() * 10.0 ** rng.integers(-3, 12))
        train(forest, x, y, float(rng.choice([0.0, 0.2, 1.0, 10.0])))
        if t % 100 == 0:
            forest._check()
    forest._check()


def test_a_zero_equals_an_absent_feature():
    one, other = made(2), made(2)
    for forest in (one, other):  # room for all features, which depends on what the first samples name
        train(forest, dict.fromkeys(range(6), 1.0), 0.0)
    for x, y in stream(800, 6, absent=0.5):
        train(one, x, y)
        train(other, {**dict.fromkeys(range(6), 0.0), **x}, y)
    assert snapshot(one.state()) == snapshot(other.state())
    assert np.array_equal(predict(one, {0: 1.0}), predict(other, {0: 1.0, 3: 0.0}))
