"""Tests of the reference implementations themselves, without river_okl."""

from __future__ import annotations

import inspect
import math
import random

import numpy as np
import pytest
import scipy.optimize

from tests import reference as ref

RBF = ref.rbf(0.5)
TWINS = {
    name: twin
    for name, twin in vars(ref).items()
    if inspect.isclass(twin) and name.endswith(("Classifier", "Regressor"))
}
RANDOM = [n for n, twin in TWINS.items() if "seed" in inspect.signature(twin).parameters]
MAINTENANCE = {
    "BPA": ["simple", "nearest", "projection"],
    "BDUOL": ["removal", "projection", "approximate", "nearest"],
    "BSGD": ["removal", "projection", "approximate", "merging"],
    "NBSGD": ["removal", "projection", "approximate", "merging"],
}
GROWS = {"KernelPerceptron", "KernelPA", "SPA", "DUOL", "OGD", "OLK", "OLRU", "OSKL", "KernelSGD"}
GROWS |= {"AVP", "Projectron", "ProjectronPlusPlus", "FOGD"}


def task(name):
    return "classification" if name.endswith("Classifier") else "regression"


def family(name):
    return name.removesuffix("Classifier").removesuffix("Regressor")


def stream(kind="classification", n=60, seed=1):
    """Three features that appear and disappear, a non-linear target, some noise."""
    rng = random.Random(seed)
    for _ in range(n):
        x = {i: rng.gauss(0, 1) for i in "abc" if rng.random() < 0.9}
        target = math.sin(2 * x.get("a", 0.0)) + x.get("b", 0.0) * x.get("c", 0.0)
        if kind == "classification":
            yield x, 1.0 if target + 0.3 * rng.gauss(0, 1) > 0 else -1.0
        else:
            yield x, target + 0.1 * rng.gauss(0, 1)


def configurations():
    for name in TWINS:
        options = {}
        if name in RANDOM:
            options["seed"] = 7
        if family(name) not in GROWS:
            options["budget"] = 8
        if family(name) == "FOGD":
            options["frequency"] = frequencies(200, 0.5)
        for maintenance in MAINTENANCE.get(family(name), [None]):
            extra = {} if maintenance is None else {"maintenance": maintenance}
            yield pytest.param(name, {**options, **extra}, id=f"{name}-{maintenance}")
    yield pytest.param("ProjectronClassifier", {"budget": 8}, id="Projectron-budget")
    yield pytest.param("ProjectronPlusPlusClassifier", {"budget": 8}, id="Projectron++-budget")
    for sampling in ("uniform", "magnitude"):
        options = {"budget": 8, "sampling": sampling, "max_coef": 0.15, "seed": 3}
        yield pytest.param("BOGDClassifier", options, id=f"BOGD-{sampling}")
    for projection in ("exact", "approximate"):
        options = {"budget": 8, "projection": projection, "radius": 1.0, "seed": 3}
        yield pytest.param("OLRDClassifier", options, id=f"OLRD-{projection}")
        yield pytest.param("OLRDRegressor", {**options, "c": 1.0}, id=f"OLRD-c-{projection}")
    yield pytest.param("NBSGDClassifier", {"budget": 8, "beta": 5, "suffix": 0.5, "seed": 1})
    yield pytest.param("AVPClassifier", {"radius": 2.0, "learning_rate": "adaptive"})
    yield pytest.param("POMDRClassifier", {"budget": 8, "horizon": 60, "radius": 3.0})
    yield pytest.param("AhpatronClassifier", {"budget": 9})


def frequencies(n, gamma, seed=0):
    rng = np.random.default_rng(seed)
    draws = {}

    def frequency(feature):
        if feature not in draws:
            draws[feature] = rng.normal(0, math.sqrt(2 * gamma), n)
        return draws[feature]

    return frequency


def run(twin, samples):
    for x, y in samples:
        twin.learn(x, y)
    return twin


def trajectory(twin, samples):
    """Every prediction before the sample is learned, and the final coefficients."""
    scores = []
    for x, y in samples:
        scores.append(twin.decision(x))
        twin.learn(x, y)
    return scores, twin.support, twin.alpha


class Scripted:
    """A random generator with given numbers."""

    def __init__(self, *values):
        self.values = list(values)

    def random(self):
        return self.values.pop(0)


# ------------------------------------------------------------------------------- all twins


def test_every_algorithm_has_a_reference():
    both = ["KernelPA", "BPA", "SPA", "OGD", "OLK", "OLRU", "OLRD", "BOGD", "KernelSGD", "BSGD"]
    both += ["NBSGD", "FOGD", "NOGD"]
    one = ["KernelPerceptron", "RBP", "Forgetron", "Projectron", "ProjectronPlusPlus", "AVP", "SkeGD"]
    one += ["Ahpatron", "DUOL", "BDUOL", "OSKL", "POMDR", "TVM"]
    expected = {f + "Classifier" for f in both + one} | {f + "Regressor" for f in both}
    assert set(TWINS) == expected


def with_kernels():
    """The RBF kernel for every second case, the others in turn."""
    others = [ref.laplacian(0.7), ref.polynomial(2, 0.5), ref.linear()]
    for i, case in enumerate(configurations()):
        _, options = case.values
        only_rbf = i % 2 == 0 or options.get("maintenance") == "merging"  # defined for RBF only
        yield pytest.param(*case.values, RBF if only_rbf else others[i // 2 % 3])


@pytest.mark.parametrize(("name", "options", "kernel"), list(with_kernels()))
def test_runs_within_the_budget_and_stays_finite(name, options, kernel):
    twin = TWINS[name](kernel, **options)
    budget = options.get("budget")
    for x, y in stream(task(name)):
        twin.learn(x, y)
        assert math.isfinite(twin.decision(x))
        assert math.isfinite(twin.norm2())
        if "c" in options:
            assert len(twin.support) <= 1 + math.sqrt(twin.t)
        elif budget is not None and "beta" not in options:
            assert len(twin.support) <= budget
        if "radius" in options and name != "POMDRClassifier":
            assert twin.norm2() <= options["radius"] ** 2 * (1 + 1e-9)
        if "max_coef" in options:
            assert max(map(abs, twin.alpha), default=0) <= options["max_coef"]
    assert twin.t == 60
    assert len(set(twin.birth)) == len(twin.birth) == len(twin.support) == len(twin.alpha)
    assert twin.support == [twin.points[birth] for birth in twin.birth]
    if not name.startswith("FOGD"):
        assert twin.norm2() > 0  # it has learned something


@pytest.mark.parametrize(("name", "options"), list(configurations()))
def test_exact_duplicates_are_harmless(name, options):
    rng = random.Random(2)
    twin = TWINS[name](RBF, **options)
    for _ in range(50):
        x = {i: float(rng.random() < 0.5) for i in "abc"}  # eight different samples
        twin.learn(x, 1.0 if rng.random() < 0.2 + 0.6 * x["a"] else -1.0)
        assert math.isfinite(twin.decision(x))
        assert twin.norm2() < 1.01e8  # SGD: the steps are bounded by 1 / l2 = 1e4
        if "beta" not in options and "c" not in options:
            assert len(twin.support) <= options.get("budget", 50)


@pytest.mark.parametrize("name", [name for name in RANDOM if family(name) != "FOGD"])
def test_the_seed_determines_the_model(name):
    options = {"budget": 8} if family(name) not in GROWS else {}
    if family(name) == "NBSGD":
        options["beta"] = 10
    if family(name) == "OLRU":
        options["c"] = 0.7
    samples = list(stream(task(name)))

    def scores(seed):
        return trajectory(TWINS[name](RBF, seed=seed, **options), samples)[0]

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


# ---------------------------------------------------------------------------------- losses


@pytest.mark.parametrize(
    "loss",
    [
        ref.Hinge(),
        ref.Log(),
        ref.Squared(),
        ref.Absolute(),
        ref.EpsilonInsensitive(0.2),
        ref.Huber(0.5),
        ref.Quantile(0.8),
    ],
)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_is_the_slope(loss, y):
    for p in np.linspace(-3.03, 3.03, 61):  # no kink among these points
        slope = (loss(y, p + 1e-6) - loss(y, p - 1e-6)) / 2e-6
        assert loss.derivative(y, p) == pytest.approx(slope, abs=1e-6)


def test_derivative_at_the_kinks():
    assert ref.Hinge().derivative(1.0, 1.0) == 0
    assert ref.Absolute().derivative(0.5, 0.5) == 0
    assert ref.EpsilonInsensitive(0.25).derivative(0.0, 0.25) == 0
    assert ref.Quantile(0.3).derivative(1.0, 1.0) == -0.3
    assert ref.Log().derivative(1.0, -1000.0) == -1
    assert ref.Log().derivative(1.0, 1000.0) == 0


# ---------------------------------------------------------------------------- small tools


def test_ties_go_to_the_oldest():
    assert ref.smallest([2.0, 1.0 + 5e-10, 1.0, 1.0 + 1e-8], [0, 1, 2, 3]) == 1
    assert ref.smallest([1.0, 1.0], [5, 4]) == 1
    assert ref.largest([1.0, 3.0, 3.0 - 1e-9], [0, 2, 1]) == 2
    assert ref.smallest([0.0, 1e-10], [1, 0]) == 0
    assert ref.smallest([0.0, 1e-10], [1, 0], scale=1.0) == 1


def test_removal_moves_the_last_point():
    twin = ref.Twin(RBF)
    for i in range(4):
        twin.add({"a": float(i)}, float(i))
    twin.remove(1)
    assert (twin.birth, twin.alpha) == ([0, 3, 2], [0.0, 3.0, 2.0])
    twin.keep([0, 1, 2])
    assert twin.birth == [0, 2, 3]


def test_draw_follows_the_convention():
    q = [0.0, 0.25, 0.0, 0.75, 0.0]
    assert [ref.draw(Scripted(u), q) for u in (0.0, 0.2499, 0.25, 0.9999)] == [1, 1, 3, 3]
    assert ref.draw(Scripted(0.9999999), [0.3, 0.3, 0.0]) == 1  # rounding leaves none


def test_norm_projection_and_average_of_the_base():
    twin = ref.Twin(RBF)
    for x, y in stream(n=12):
        twin.add(x, y)
        twin.remember()
    x = {"a": 0.3, "c": -1.0}
    mean = np.mean([sum(c * RBF(twin.points[b], x) for b, c in f.items()) for f in twin.history])
    assert twin.average(x, 13) == pytest.approx(mean, rel=1e-12)
    d, delta2 = twin.projection(x)
    best = scipy.optimize.minimize(lambda d: RBF(x, x) - 2 * d @ twin.row(x) + d @ twin.gram() @ d, d * 0, tol=1e-12)
    assert delta2 == pytest.approx(best.fun, abs=1e-8)
    norm = math.sqrt(twin.norm2())
    twin.project_on_ball(norm / 2)
    assert math.sqrt(twin.norm2()) == pytest.approx(norm / 2)
    twin.project_on_ball(norm)
    assert math.sqrt(twin.norm2()) == pytest.approx(norm / 2)
