"""Targets that are rare, heavy or noisy here and not there; the streams are those of `benchmarks.targets`."""

from __future__ import annotations

import copy
import itertools
import random

import numpy as np
import pytest

import river_okl
from benchmarks import filters, targets

ROWS, LATE = 10_000, 6_000


def learned(cases, coverage=0.9):
    """After `LATE` samples: predictions, targets, those without noise, groups, and whether intervals contain them."""
    model, found = river_okl.OKLRegressor(), []
    for i, case in zip(range(ROWS), cases, strict=False):
        if i >= LATE:
            low, high = model.predict_interval_one(case.x, coverage)
            found.append((model.predict_one(case.x), case.y, case.truth, case.group, low <= case.y <= high))
        model.learn_one(case.x, case.y)
    return map(np.array, zip(*found, strict=True))


@pytest.mark.parametrize("size", [50.0, 200.0])
def test_an_announced_event_is_predicted(size):
    p, _, truth, event, inside = learned(targets.events(random.Random(5), size=size), 0.99)
    assert p[event].sum() == pytest.approx(truth[event].sum(), rel=0.03)
    assert inside[event].mean() > 0.8 and inside.mean() == pytest.approx(0.99, abs=0.004)


def test_an_outlier_is_not_predicted():
    p, _, truth, _, _ = learned(targets.outliers(random.Random(5)))
    assert abs(p - truth).mean() < 0.2


def test_predictions_of_claims_add_up():
    p, y, truth, claim, _ = learned(targets.claims(random.Random(5)))
    assert claim.mean() < 0.05
    assert 0.75 < p.sum() / y.sum() < 1.3 and p.sum() / truth.sum() == pytest.approx(1.0, abs=0.25)


def test_a_stuck_sensor_is_no_reason_to_follow_outliers():
    """As many equal targets as with claims, then noise with outliers: the equal ones are forgotten."""
    rng, model, errors = random.Random(6), river_okl.OKLRegressor(), []
    for t in range(6000):
        a = rng.gauss(0.0, 1.0)
        y = 7.0 if t < 2000 else 5.0 + a + rng.gauss(0.0, 0.3) + 100.0 * (rng.random() < 0.01)
        if t >= 4000:
            errors.append(abs(model.predict_one({"a": a}) - 5.0 - a))
        model.learn_one({"a": a}, y)
    assert np.mean(errors) < 0.4


def errors_of(cases, model, since):
    """Absolute errors, without the first samples."""
    errors = []
    for t, (x, y) in enumerate(cases):
        if t >= since:
            errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    return np.array(errors)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_target_that_stands_still_between_steps_is_predicted(noise):
    """Its unit shrinks and grows by five orders of magnitude, and what the trees learned of residuals with it."""
    ratios = []
    for seed in range(12):
        rng, level, cases = random.Random(seed), 0.0, []
        for _ in range(3000):
            level = rng.gauss(0.0, 10.0) if rng.random() < 0.005 else level
            cases.append(({"a": rng.gauss(0.0, 1.0), "b": rng.random()}, level + noise * rng.gauss(0.0, 1.0)))
        steps = [abs(one[1] - other[1]) for one, other in itertools.pairwise(cases[999:])]
        ratios.append(errors_of(cases, river_okl.OKLRegressor(), 1000).mean() / np.mean(steps))
    assert max(ratios) < 2.0


@pytest.mark.parametrize("seed", range(5))
def test_switches_of_a_machine_are_predicted(seed):
    """Its mode is known; the target is constant while it is off."""
    rng, on, left, cases = random.Random(seed), True, 300, []
    for _ in range(6000):
        left -= 1
        if left <= 0:
            on, left = not on, rng.randrange(200, 900)
        x = {"a": rng.gauss(0.0, 1.0), "b": rng.random(), "mode": "on" if on else "off"}
        cases.append((x, 50.0 + 5.0 * x["a"] + 3.0 * x["b"] + rng.gauss(0.0, 0.5) if on else 0.0))
    errors = errors_of(cases, river_okl.OKLRegressor(), 0)
    assert errors[1500:].mean() < 0.6


@pytest.mark.parametrize("code", [9999.0, 65535.0])
def test_error_codes_in_the_target_are_not_predicted(code):
    rng, model, errors = random.Random(3), river_okl.OKLRegressor(), []
    for _ in range(4000):
        x = {"a": rng.gauss(0.0, 1.0), "b": rng.gauss(0.0, 1.0)}
        y = x["a"] + 0.1 * rng.gauss(0.0, 1.0)
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, code if rng.random() < 0.002 else y)
    assert np.mean(errors) < 0.1 and max(errors[100:]) < 10.0


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_fall_a_thousandfold_are_not_raised_by_trees(seed):
    """What the trees correct while errors are large is noise where they are small; without a memory none do."""
    found = []
    x, y = filters.lagged(filters.lorenz(3006, seed), 6)
    cases = [({str(i): value for i, value in enumerate(v)}, target) for v, target in zip(x.tolist(), y, strict=True)]
    for model in (river_okl.OKLRegressor(), river_okl.OKLRegressor(memory=0)):
        found.append(errors_of(cases, model, 1000).mean())
    assert found[0] < 1.1 * found[1]


@pytest.mark.parametrize("noise", [*targets.NOISE])
def test_widths_know_where_it_is_noisy(noise):
    _, _, _, group, inside = learned(targets.NOISE[noise](random.Random(5)))
    for name in set(group.tolist()):
        assert 0.8 < inside[group == name].mean() < 0.96, name


def test_the_first_sample_of_a_category_has_a_wider_interval():
    rng, model, effect, inside = random.Random(2), river_okl.OKLRegressor(), {}, []
    for t in range(6000):
        name = f"s{t // 60}" if rng.random() < 0.3 else f"s{rng.randrange(max(1, t // 60))}"
        x = {"name": name, "a": rng.gauss(0.0, 1.0)}
        new = name not in effect
        y = x["a"] + effect.setdefault(name, rng.gauss(0.0, 3.0)) + rng.gauss(0.0, 0.3)
        low, high = model.predict_interval_one(x)
        if new and t > 2000:
            inside.append(low <= y <= high)
        model.learn_one(x, y)
    assert np.mean(inside) > 0.5


def test_a_heavy_tail_is_linear():
    p, _, truth, large, _ = learned(targets.heavy(random.Random(5)))
    assert abs(p - truth).mean() < 0.12 and abs(p - truth)[large].mean() < 0.1 * truth[large].mean()


def test_a_wrong_value_does_not_reach_far():
    """A feature that jumps to a million once: the next such value is not extrapolated to."""
    rng, model, errors = random.Random(3), river_okl.OKLRegressor(), []
    for t in range(3000):
        a = rng.gauss(0.0, 1.0)
        y, wrong = 2.0 * a + rng.gauss(0.0, 0.1), t in (2000, 2001, 2500)
        x = {"a": 1e6 if wrong else a, "b": rng.gauss(0.0, 1.0)}
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert max(errors[2000:]) < 30.0 and np.mean(errors[2002:2400]) < 0.2


def test_merged_and_restored_claims_still_count_in_full():
    shards = [river_okl.OKLRegressor() for _ in range(2)]
    for shard, seed in zip(shards, (1, 2), strict=True):
        for _, case in zip(range(2000), targets.claims(random.Random(seed)), strict=False):
            shard.learn_one(case.x, case.y)
    for model in (river_okl.merge(shards), copy.deepcopy(shards[0])):
        assert model._f.state()["common_share"] > 0.9
        for _, case in zip(range(200), targets.claims(random.Random(3)), strict=False):
            model.learn_one(case.x, case.y)
            for trees in ("trees", "trees_of_answer"):
                assert model._f.state()["memory"][trees]["deviation"] > 50.0  # nothing is clipped


@pytest.mark.parametrize("largest", [1.0, 1e6])
def test_rare_targets_of_all_sizes_leave_a_sound_model(largest):
    """Sums of rows, in single precision, are those of the leaves to within what `_check` allows."""
    rng, model = random.Random(8), river_okl.OKLRegressor()
    for t in range(3000):
        x = {"a": rng.gauss(0.0, 1.0), "b": rng.choice("xyz")}
        model.learn_one(x, 0.0 if rng.random() < 0.7 else largest * 10.0 ** rng.uniform(-12.0, 0.0))
        if t % 500 == 499:
            model._f._check()
