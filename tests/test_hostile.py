"""Hostile streams: a sample is learned or rejected entirely, and a model stays finite, bounded and consistent."""

from __future__ import annotations

import contextlib
import decimal
import fractions
import math
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, optim

import river_okl
from river_okl import kernels
from river_okl.checkpoint import dumps, loads
from tests import streams
from tests.discovery import (
    CLASSES,
    MODES,
    SUPERVISED_VARIANTS,
    VARIANTS,
    accepts,
    bounded,
    check_parts,
    decision,
    each_class,
    each_variant,
    each_with_options,
    knowledge,
    learn,
    parameters,
    parts,
    small,
    snapshot,
    target,
    task,
)

NAMES = ["a", "b", 0, 1, None, b"x", ("t", 1), (), 0.5, "", frozenset([1]), math.inf]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-3, 1e3, 5e-324, 1e-170, 1e25, 1e50, True, 2**70, np.float32(1.5), np.int8(3)]
NUMBERS += [np.bool_(True), decimal.Decimal("1.5"), fractions.Fraction(1, 3)]
NO_NUMBERS = [math.nan, math.inf, -math.inf, 1e308, -1e51, 2**2000, np.float64("nan"), decimal.Decimal("NaN"), None]
NO_NUMBERS += ["1.0", b"1", [1.0], {"a": 1}, 1j, object()]
KERNELS = [
    *(None, kernels.RBF(0.5), kernels.RBF(1e-8), kernels.RBF(1e8), kernels.Laplacian(), kernels.Linear()),
    *(kernels.Polynomial(3), 0.5 * kernels.RBF() + kernels.Polynomial(2, gamma=None)),
]

ordinary = st.fixed_dictionaries({name: st.floats(-3, 3) for name in ("a", "b", 0)})
samples = st.one_of(
    ordinary,
    ordinary,
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NUMBERS), max_size=5),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NUMBERS + NO_NUMBERS), max_size=5),
    st.sampled_from([None, 3.0, "abc", [("a", 1.0)]]),
)
labels = st.sampled_from([True, False, 1, 0, -1, 1.0, np.bool_(True), "yes", (1, 2), b"x", None, math.nan, [1], {}])
targets = st.sampled_from(
    [0.0, 1.0, -1.0, 1e50, -1e25, 1e-300, True, 2**70, np.float32(2), fractions.Fraction(1, 2)]
) | (st.sampled_from([1e300, 2**2000, math.nan, math.inf, None, "1", [1.0], decimal.Decimal(1)]))
weights = st.sampled_from([1.0] * 10 + [0, 0.0, 0.5, 2, 1e10, 1e-300, -1.0, 1e300, math.nan, math.inf, None, "1", True])


def scores(model, x):
    found = decision(model, x)
    return list(found.values()) if isinstance(found, dict) else [found]


def check(model, moderate, *, done=True):
    """Invariants after every call, and after a step that was interrupted, which is not done."""
    with contextlib.suppress(ValueError):  # rejected if the bandwidth is that of a stream of 1e-38
        assert all(map(math.isfinite, scores(model, {"a": 1.0, "b": 0.5})))
    assert math.isfinite(model.norm)
    if bounded(type(model)):
        most = model._f.budget if isinstance(model.budget, river_okl.PerClass) else model.budget
        assert model.n_support_vectors <= most + (not done)  # some add a point before they remove one
    if moderate:  # sums in _check lose all digits if one sample is 1e20 times as long as another
        check_parts(model)
        fixed = isinstance(model.kernel, kernels.RBF) and model.kernel.gamma is not None  # the bandwidth
        exact = getattr(model, "projection", "exact") == "exact"
        if done and fixed and exact and getattr(model, "radius", None) is not None:
            assert model.norm <= model.radius * (1 + 1e-9)


def with_kernel(cls, kernel, options):
    """Merging and random features are for one Gaussian."""
    return small(cls, **options, **({"kernel": kernel} if accepts(cls, kernel=kernel, **options) else {}))


@pytest.mark.filterwarnings("error")
@settings(max_examples=4, deadline=None)
@each_variant
@given(data=st.data())
def test_a_hostile_stream(cls, options, data):
    model = with_kernel(cls, data.draw(st.sampled_from(KERNELS)), options)
    answers, moderate = targets if issubclass(cls, base.Regressor) else labels, True
    for _ in range(data.draw(st.integers(1, 25))):
        x = data.draw(samples)
        before = knowledge(model)
        with contextlib.suppress(TypeError, ValueError):
            assert all(map(math.isfinite, scores(model, x)))
        assert knowledge(model) == before
        before = snapshot(model)
        try:
            model.learn_one(x, data.draw(answers), data.draw(weights))
        except (TypeError, ValueError):
            assert snapshot(model) == before
        else:
            moderate &= all(isinstance(v, int | float) and (v == 0 or 1e-20 < abs(v) < 1e4) for v in x.values())
        check(model, moderate)


MONOTONOUS = {
    "one sample": lambda cls, stream, y, other: [({"a": 1.0, "b": -0.5}, y)] * (10_000 if bounded(cls) else 1_000),
    "one label, then another": lambda cls, stream, y, other: [(x, each) for each in (y, other) for x, _ in stream],
}


@each_class
@pytest.mark.parametrize("kind", MONOTONOUS)
def test_monotonous_streams(cls, kind):
    y, other = (1.5, -1.0) if issubclass(cls, base.Regressor) else (True, False)
    model = small(cls)
    for t, (x, each) in enumerate(MONOTONOUS[kind](cls, streams.dense(task(cls), 200), y, other)):
        model.learn_one(x, each)
        if t & (t + 1) == 0:
            check(model, model.n_support_vectors <= 100)  # beyond that _check is slow
    check(model, model.n_support_vectors <= 100)


@each_variant
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_smallest_budgets(cls, options, budget):
    """Samples that are constant, empty, repeated or orthogonal, and labels that arrive late."""
    own = {} if any(isinstance(each, river_okl.PerClass) for each in options.values()) else {"budget": budget}
    regression = issubclass(cls, base.Regressor)
    kinds = {
        "constant": lambda rng: {"a": 1.0},
        "empty": lambda rng: {},
        "zero": lambda rng: {"a": 0.0},
        "repeated": lambda rng: {"a": float(rng.integers(2)), "b": 2.0},
        "orthogonal": lambda rng: {int(rng.integers(20)): 1.0},
        "ordinary": lambda rng: {"a": rng.normal(), "b": rng.normal()},
    }
    for seed in range(3):
        rng = np.random.default_rng([seed, budget])
        try:
            model = small(cls, **options, **own, seed=seed)
        except ValueError as error:
            assert "budget" in str(error), "some need two points"
            return
        labels = (0.0, 1.0, 5.0) if regression else "abc" if model._multiclass else "ab"
        for part in range(3):
            kind = rng.choice(list(kinds))
            for _ in range(rng.choice([1, 5, 50])):
                y = labels[rng.integers(1 + min(part, len(labels) - 1))]
                model.learn_one(kinds[kind](rng), y, w=float(rng.choice([1.0, 1.0, 0.0, 5.0])))
        assert all(map(math.isfinite, scores(model, {"a": 1.0})))
        loads(dumps(model))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("late", [{}, {"b": 1.0}])
def test_a_sketch_without_features_goes_on(seed, late):
    """Equal points with opposite signs in the sketch of SkeGD cancel, nothing or rounding is left."""
    model = river_okl.SkeGDClassifier(budget=2 + seed % 2, seed=seed)
    model.learn_stream([({"a": 1.0}, "a")] * 40 + [({"a": 1.0} | late, "ab"[i % 2]) for i in range(200)])
    model.learn_stream([({"a": 1.0, "b": i % 3 / 7}, "abc"[i % 3]) for i in range(300)])
    assert abs(model._f.columns).max() < 1e6
    loads(dumps(model))


@each_class
def test_thousands_of_features(cls):
    model = small(cls)
    for t, (_, y) in enumerate(streams.dense(task(cls), 2)):
        x = {("f", i): math.sin(i * (t + 1)) for i in range(3_000)}
        model.learn_one(x, y)
        assert all(map(math.isfinite, scores(model, x)))
    assert model._raw_memory_usage < 6_000_000


SIZES = {
    "ordinary": lambda rng, most: rng.normal(),
    "bounds": lambda rng, most: rng.choice([-most, most]),
    "near bounds": lambda rng, most: rng.choice([-most, most]) * (1.0 - 1e-15 * rng.random()),
    "some at bounds": lambda rng, most: rng.choice([-most, 0.0, 1.0, most]),
    "large": lambda rng, most: 1e30 * rng.normal(),
    "small": lambda rng, most: 1e-30 * rng.normal(),
    "tiny": lambda rng, most: 1e-300 * rng.normal(),
    "subnormal": lambda rng, most: rng.choice([5e-324, -5e-324, 0.0, 1e-160]),
    "any": lambda rng, most: min(most, max(-most, rng.normal() * 10.0 ** rng.uniform(-50, 50))),
    "offset": lambda rng, most: most * (0.5 + 1e-15 * rng.normal()),
}
ANY_WEIGHT = {
    "1": lambda rng: 1.0,
    "largest": lambda rng: 1e10,
    "any": lambda rng: rng.choice([1.0, 0.0, 1e10, 1e-300, 1e-10]),
}
ANY_KERNEL = [*[None] * 4, kernels.RBF(1e-3), kernels.Laplacian(1e6), kernels.RBF(1e-60) + kernels.Linear(1e-60)]


@pytest.mark.filterwarnings("error")
@each_with_options(VARIANTS)
@pytest.mark.parametrize("part", range(3))
def test_any_size_is_finite_and_saved(cls, options, part):
    """Features, targets and weights of all sizes: predictions are finite, and the same when loaded."""
    seed = (sum(map(ord, cls.__name__)) + part) % len(ANY_KERNEL)
    rng = np.random.default_rng([seed, *map(ord, cls.__name__)])
    regression = issubclass(cls, base.Regressor)
    draw = [SIZES[name] for name in rng.choice(list(SIZES), 3)]
    weight = ANY_WEIGHT[rng.choice(list(ANY_WEIGHT))]
    model = with_kernel(cls, ANY_KERNEL[seed], options)
    labels, xs = "abc" if getattr(model, "_multiclass", False) else "ab", []
    for t in range(80):
        size = draw[t >= 40]
        xs.append({"a": float(size(rng, 1e50)), "b": float(rng.normal() if seed % 2 else size(rng, 1e50))})
        y = float(draw[2](rng, 1e50)) if regression else labels[rng.integers(len(labels))]
        model.learn_one(xs[-1], *target(model, y), w=float(weight(rng)))
        if hasattr(model, "norm"):
            check(model, False)
        assert all(map(math.isfinite, scores(model, xs[-1])))
        if t in (19, 39, 79):
            again = loads(dumps(model))
            assert [scores(again, x) for x in xs[-10:]] == [scores(model, x) for x in xs[-10:]]


@pytest.mark.parametrize("seed", [3, 8])  # with units beyond the bound
@pytest.mark.parametrize("name", ["OKLClassifier", "OKLRegressor"])
def test_means_of_features_at_the_bound_are_saved(name, seed):
    """They round beyond it."""
    rng = np.random.default_rng(seed)
    model = small(CLASSES[name])
    for t in range(200):
        model.learn_one({name: float(rng.choice([-1e50, 1e50])) for name in "abc"}, float(rng.integers(2)))
        if t % 5 == 0:
            loads(dumps(model))


@pytest.mark.parametrize("size", [5e-324, 1e-161, 1e-160, 1e-155, 1e-60, 1e-30])
def test_the_unit_of_a_target_may_shrink_to_nothing(size):
    """All targets were equal: their deviation was 1 for want of another."""
    model = river_okl.OKLRegressor(budget=8)
    for t in range(60):
        model.learn_one({"a": math.sin(t)}, 0.0 if t < 20 else size * math.cos(t))
        assert all(map(math.isfinite, scores(model, {"a": 1.0})))
    loads(dumps(model))


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("name", ["KernelPAClassifier", "KernelPARegressor"])
def test_large_weights_do_not_diverge(name, mode):
    """A step beyond a loss of 0 made the next one larger; without a bound on the step that grew to infinity."""
    model = CLASSES[name](kernels.RBF(0.5), C=1.0, mode=mode)
    for t in range(100):
        model.learn_one({"a": math.sin(t)}, float(t % 2), w=100.0)
    assert abs(model._f.columns).max() <= 100.0


def test_shrunken_coefficients_are_stored_as_numbers_that_can_be_saved():
    """A coefficient of 1e10 was stored as 1e110 behind a factor of 1e-100."""
    rng = np.random.default_rng(1)
    model = river_okl.ForgetronClassifier(budget=8)
    for t in range(400):
        model.learn_one({name: float(rng.choice([-1e50, 1e50])) for name in "ab"}, bool(rng.integers(2)), w=1e10)
        if t % 5 == 0:
            loads(dumps(model))


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("merging", MODES["merging"])
def test_fused_points_at_the_bound(merging, seed):
    """Their mean is rounded beyond it."""
    rng = np.random.default_rng(seed)
    model = river_okl.TVMClassifier(budget=8, merging=merging)
    for _ in range(150):
        x = {name: float(rng.choice([1e50, 9e49, -1e50])) for name in "abc"}
        model.learn_one(x, bool(rng.integers(2)), w=10.0 ** rng.uniform(-3, 3))


class Talkative:
    """A value whose repr is long, or raises."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        if not self.text:
            raise RuntimeError("no text")
        return self.text


@pytest.mark.parametrize(
    "value", [10**5_000, -(10**400), Talkative("line\n" * 1_000), Talkative(""), np.zeros(10_000)], ids=type
)
def test_errors_are_one_line_whatever_the_value(value):
    """Python rejects to write integers of more than 4,300 digits."""
    classifier, regressor = river_okl.OKLClassifier(), river_okl.OKLRegressor()
    calls = [
        lambda: classifier.learn_one({"a": value}, True),
        lambda: classifier.learn_one(value, True),
        lambda: classifier.learn_one({"a": 1.0}, True, w=value),
        lambda: classifier.learn_one({"a": 1.0}, [value]),
        lambda: regressor.learn_one({"a": 1.0}, value),
        lambda: river_okl.OKLClassifier(budget=value),
        lambda: river_okl.OGDRegressor(learning_rate=value),
        lambda: river_okl.merge([classifier, classifier], weights=[value, 1.0]),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match=r"\A[^\n]{10,400}\Z"):
            call()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [np.array([1.0]), np.array([1.0, 2.0]), np.zeros((1, 1))], ids=np.shape)
def test_arrays_are_not_numbers(value):
    """Some versions of NumPy convert an array of one element to a number, others warn, others raise."""
    with pytest.raises(TypeError, match=r"feature 'a' is array.*, a ndarray: kernels need numbers"):
        river_okl.OKLClassifier().learn_one({"a": value}, True)


def test_errors_call_a_missing_target_missing():
    for y in (math.nan, np.float64("nan"), decimal.Decimal("NaN"), decimal.Decimal("sNaN")):
        with pytest.raises(ValueError, match="drop the samples that have none"):
            river_okl.OKLRegressor().learn_one({"a": 1.0}, y)


def test_targets_may_be_decimals_like_features():
    one, other = river_okl.OKLRegressor(), river_okl.OKLRegressor()
    for x, y in (1.0, 2.5), (2.0, 3.5), (3.0, 1.5):
        one.learn_one({"a": x}, y)
        other.learn_one({"a": decimal.Decimal(x)}, decimal.Decimal(y))
    assert snapshot(one) == snapshot(other)


@pytest.mark.parametrize(
    ("sample", "hint"),
    [
        (types.MappingProxyType({"a": 1.0}), "give dict"),
        (pd.Series({"a": 1.0}), "give dict"),
        (pd.DataFrame({"a": [1.0]}), "_many take frames"),
        (None, "of type NoneType"),
        ([("a", 1.0)], "of type list"),
    ],
)
def test_errors_for_samples_that_are_no_dicts_say_how_to_convert_them(sample, hint):
    with pytest.raises(TypeError, match=f"a sample is a dict of features, not .*{hint}"):
        river_okl.OKLClassifier().learn_one(sample, True)


# Exceptions in the middle of a step -------------------------------------------------------------------------------


def failing(loss):
    """A user's loss that fails on command."""

    class Failing(loss):
        def __init__(self, fails=False):
            super().__init__()
            self.fails = fails

        def gradient(self, y_true, y_pred):
            if self.fails:
                raise RuntimeError("the user's loss")
            return super().gradient(y_true, y_pred)

    return Failing


Failing, FailingRegression = failing(optim.losses.Hinge), failing(optim.losses.Squared)


def function(model):
    """A model's learned state: expansions and random generator."""
    states = [snapshot((f.state(), getattr(f, "births", None))) for f in parts(model)]
    return states, snapshot(getattr(model, "_rng", None))


def failing_loss(cls):
    return (FailingRegression if issubclass(cls, base.Regressor) else Failing)()


def takes_losses(cls, options):
    """Whether it accepts an arbitrary loss, and not one of its own alone."""
    options = {"kernel": kernels.RBF(0.5), **options, "loss": failing_loss(cls)}
    return "loss" in parameters(cls) and accepts(cls, **options)


@each_with_options([case for case in SUPERVISED_VARIANTS if takes_losses(*case.values)])
def test_a_loss_that_raises_leaves_the_function_unchanged(cls, options):
    """The sample counts for probabilities and a data-driven bandwidth, but not for the function."""
    loss, stream = failing_loss(cls), streams.dense(task(cls), 60)
    model = learn(small(cls, **{"kernel": kernels.RBF(0.5), **options, "loss": loss}), stream[:40])
    before, t = function(model), getattr(model, "_t", None)
    loss.fails = True
    with pytest.raises(RuntimeError, match="the user's loss"):
        model.learn_one(*stream[40])
    assert function(model) == before
    assert getattr(model, "_t", None) == t
    loss.fails = False
    model.learn_stream(stream[40:])
    check(model, True)
