"""Tests of the reference implementations themselves, without river_okl."""

from __future__ import annotations

import copy
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


def same(one, other, samples):
    samples = list(samples)
    scores_1, support_1, alpha_1 = trajectory(one, samples)
    scores_2, support_2, alpha_2 = trajectory(other, samples)
    assert support_1 == support_2
    assert len(support_1) > 5
    np.testing.assert_allclose(scores_1, scores_2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(alpha_1, alpha_2, rtol=1e-9, atol=1e-12)


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


# ------------------------------------------------------------------------------ identities


def test_projectron_without_tolerance_is_the_perceptron():
    perceptron = ref.KernelPerceptronClassifier(RBF)
    same(ref.ProjectronClassifier(RBF, tolerance=0.0), perceptron, stream(n=150))


def test_projectron_plus_plus_without_tolerance_is_the_perceptron():
    perceptron = ref.KernelPerceptronClassifier(RBF)
    same(ref.ProjectronPlusPlusClassifier(RBF, tolerance=0.0), perceptron, stream(n=150))


@pytest.mark.parametrize("name", ["RBP", "Forgetron"])
def test_a_large_budget_is_the_perceptron(name):
    twin = TWINS[name + "Classifier"](RBF, budget=1000)
    same(twin, ref.KernelPerceptronClassifier(RBF), stream(n=150))


def test_avp_of_epsilon_one_is_the_perceptron():
    avp = ref.AVPClassifier(RBF, epsilon=1 - 1e-12, learning_rate=1.0, radius=math.inf)
    same(avp, ref.KernelPerceptronClassifier(RBF), stream(n=150))


def test_ahpatron_of_a_large_budget_is_avp():
    options = {"radius": 3.0, "learning_rate": 0.5, "epsilon": 0.4}
    ahpatron = ref.AhpatronClassifier(RBF, budget=1000, **options)
    same(ahpatron, ref.AVPClassifier(RBF, **options), stream(n=150))


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_large_budgets_of_the_passive_aggressive_family(kind):
    samples = list(stream(task(kind), n=120))
    pa = TWINS["KernelPA" + kind](RBF, C=0.7)
    same(TWINS["BPA" + kind](RBF, budget=1000, C=0.7), copy.deepcopy(pa), samples)
    spa = TWINS["SPA" + kind](RBF, learning_rate=0.7, alpha=1e-12, beta=1e-12, averaged=False, seed=1)
    same(spa, pa, samples)


def test_bduol_of_a_large_budget_is_duol_and_duol_without_conflicts_is_pa():
    samples = list(stream(n=70))
    same(ref.BDUOLClassifier(RBF, budget=1000), ref.DUOLClassifier(RBF), samples)
    same(ref.DUOLClassifier(RBF, rho=1.1), ref.KernelPAClassifier(RBF), samples)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("radius", [None, 0.8])
def test_large_budgets_of_olrd_and_olru(kind, radius):
    samples = list(stream(task(kind), n=70))
    olk = TWINS["OLK" + kind](RBF, learning_rate=0.4, radius=radius)
    olrd = TWINS["OLRD" + kind](RBF, learning_rate=0.4, radius=radius, budget=1000, seed=1)
    same(olrd, olk, samples)
    olru = TWINS["OLRU" + kind](RBF, learning_rate=0.4, radius=radius, c=1e9, seed=1)
    olk = TWINS["OLK" + kind](RBF, learning_rate=lambda t: 0.4 * t**-0.625, radius=radius)
    same(olru, olk, samples)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_a_horizon_is_a_constant_step(kind):
    samples = list(stream(task(kind), n=100))
    one = TWINS["OLK" + kind](RBF, learning_rate=3.0, horizon=100)
    same(one, TWINS["OLK" + kind](RBF, learning_rate=lambda t: 0.3), samples)
    ogd = TWINS["OGD" + kind](RBF, learning_rate=0.3, l2=0.0)
    same(ogd, TWINS["OLK" + kind](RBF, learning_rate=lambda t: 0.3), samples)


@pytest.mark.parametrize("loss", [ref.Hinge(), ref.Log()])
def test_large_budgets_of_the_sgd_family(loss):
    samples = list(stream(n=70))
    sgd = ref.KernelSGDClassifier(RBF, loss=loss, l2=0.01)
    same(ref.BSGDClassifier(RBF, loss=loss, l2=0.01, budget=1000), copy.deepcopy(sgd), samples)
    same(ref.NBSGDClassifier(RBF, loss=loss, l2=0.01, budget=1000, seed=1), sgd, samples)


@pytest.mark.parametrize("loss", [ref.Absolute(), ref.EpsilonInsensitive(), ref.Squared()])
def test_large_budgets_of_the_sgd_family_in_regression(loss):
    samples = list(stream("regression", n=70))
    sgd = ref.KernelSGDRegressor(RBF, loss=loss, l2=0.1)
    same(ref.BSGDRegressor(RBF, loss=loss, l2=0.1, budget=1000), copy.deepcopy(sgd), samples)
    same(ref.NBSGDRegressor(RBF, loss=loss, l2=0.1, budget=1000, seed=1), sgd, samples)


@pytest.mark.parametrize("maintenance", MAINTENANCE["BSGD"])
def test_nbsgd_with_certain_maintenance_is_bsgd(maintenance):
    options = {"l2": 0.05, "budget": 8, "maintenance": maintenance}
    nbsgd = ref.NBSGDClassifier(RBF, beta=1e9, seed=4, **options)
    same(nbsgd, ref.BSGDClassifier(RBF, **options), stream(n=100))


def test_bogd_of_a_large_budget_is_ogd():
    bogd = ref.BOGDClassifier(RBF, learning_rate=0.2, l2=0.05, budget=1000, seed=1)
    same(bogd, ref.OGDClassifier(RBF, learning_rate=0.2, l2=0.05), stream(n=100))


def test_oskl_with_large_gradients_is_ogd():
    # OSKL with |g| >= G is gradient descent with clipped gradients, without chance.
    oskl = ref.OSKLClassifier(RBF, loss=ref.Hinge(), learning_rate=0.3, bound=1.0, averaged=False)
    same(oskl, ref.OGDClassifier(RBF, learning_rate=0.3, l2=0.0), stream(n=100))


def test_nogd_is_ogd_until_the_switch():
    samples = list(stream(n=20))
    ogd = ref.OGDClassifier(RBF, learning_rate=0.1, l2=0.0)
    same(ref.NOGDClassifier(RBF, learning_rate=0.1, budget=1000), ogd, samples)


# ------------------------------------------------------------------------------- forgetron


def test_forgetron_shrinks_as_little_as_allowed():
    rng = random.Random(5)
    shrunk = 0
    for _ in range(300):
        M = rng.randint(1, 50)
        Q = 15 / 32 * (M - 1) * rng.random()
        delta, mu = rng.uniform(0, 3), rng.uniform(-4, 4)
        phi = ref.forgetron_shrinkage(delta, mu, Q, M)
        grid = np.linspace(0, 1, 20001)[1:]
        cost = Q + (delta * grid) ** 2 + 2 * delta * grid * (1 - grid * mu)
        allowed = grid[cost <= 15 / 32 * M]
        assert 0 < phi <= 1
        assert abs(phi - allowed.max()) <= 1 / 20000
        shrunk += phi < 1
        # the closed form of the specification
        a, b, c = delta**2 - 2 * delta * mu, 2 * delta, Q - 15 / 32 * M
        closed = 1.0 if a + b + c <= 0 else (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
        assert phi == pytest.approx(closed, rel=1e-9)
    assert 50 < shrunk < 250


def test_forgetron_never_grows_a_coefficient_and_keeps_its_promise():
    twin = ref.ForgetronClassifier(RBF, budget=6)
    before = {}
    for x, y in stream(n=200):
        twin.learn(x, y)
        now = dict(zip(twin.birth, twin.alpha, strict=True))
        assert all(abs(now[b]) <= abs(before.get(b, 1.0)) for b in now)
        assert max(twin.birth, default=0) - min(twin.birth, default=0) < 6  # first in, first out
        assert twin.Q <= 15 / 32 * twin.M + 1e-9
        before = now
    assert max(map(abs, twin.alpha)) < 1


def test_forgetron_first_removal_by_hand():
    # The kernel between the two points is k; the second is a mistake that pushes out the first:
    # delta = 1, mu = f(x_r) with the new point in = 1 - k, M = 2, Q = 0.
    twin = ref.ForgetronClassifier(RBF, budget=1)
    twin.learn({"a": 0.0}, 1.0)
    twin.learn({"a": 1.0}, -1.0)
    mu = 1 - math.exp(-0.5)
    phi = -0.9375 * -2 / (2 + math.sqrt(4 + 4 * (1 - 2 * mu) * 0.9375))
    assert 0 < phi < 1
    assert twin.alpha == [pytest.approx(-phi)]
    assert pytest.approx(0.9375) == twin.Q


# --------------------------------------------------------------------- Projectron, Ahpatron


@pytest.mark.parametrize("twin", [ref.ProjectronClassifier, ref.ProjectronPlusPlusClassifier])
@pytest.mark.parametrize("budget", [None, 9])
def test_projectron_adds_what_is_farther_than_the_tolerance(twin, budget):
    model = twin(RBF, tolerance=0.4, budget=budget)
    added = absorbed = 0
    for x, y in stream(n=120):
        before = copy.deepcopy(model)
        model.learn(x, y)
        if y * before.f(x) > 0:
            continue
        residual = copy.deepcopy(before)  # how far the step is from y k_t
        residual.scale(-1.0)
        for z, a in zip(model.support, model.alpha, strict=True):
            residual.add(z, a)
        residual.add(x, -y)
        if len(model.support) > len(before.support):
            added += 1
            assert math.sqrt(before.projection(x)[1]) > 0.4
            assert residual.norm2() == pytest.approx(0, abs=1e-9)
        else:
            absorbed += 1
            assert math.sqrt(before.projection(x)[1]) <= 0.4 or len(before.support) == 9
            assert residual.norm2() == pytest.approx(before.projection(x)[1], abs=1e-9)
            assert all(abs(residual.f(z)) < 1e-9 for z in model.support)
    assert added > 5
    assert absorbed > 5


def test_projectron_plus_plus_learns_from_margin_errors():
    # With tolerance < sqrt(2) a margin update lowers the loss at x_t and never overshoots 1.
    model = ref.ProjectronPlusPlusClassifier(RBF, tolerance=0.4)
    updates = 0
    for x, y in stream(n=150):
        before = y * model.f(x)
        alpha, n = list(model.alpha), len(model.support)
        if 0 < before < 1:
            far = math.sqrt(model.projection(x)[1])
            gain = 1 - before - far / 0.4
            P = 1 - far**2
        model.learn(x, y)
        if 0 < before < 1:
            assert len(model.support) == n
            assert (model.alpha != alpha) == (gain > 0)
            if gain > 0:
                updates += 1
                tau = min((1 - before) / P, 2 * gain / P, 1.0)
                assert before < y * model.f(x) <= 1 + 1e-9
                assert y * model.f(x) == pytest.approx(before + tau * P)
    assert updates > 5


@pytest.mark.parametrize("budget", [8, 9, 1])
def test_ahpatron_halves_and_keeps_the_norm(budget):
    twin = ref.AhpatronClassifier(RBF, budget=budget)
    halved = 0
    for x, y in stream(n=150):
        before = copy.deepcopy(twin)
        twin.learn(x, y)
        if len(twin.support) < len(before.support) or (budget == 1 and before.support):
            if twin.birth == before.birth:
                continue
            halved += 1
            assert len(twin.support) == budget // 2 + 1
            kept, gone = set(twin.birth[:-1]), set(before.birth) - set(twin.birth)
            weight = dict(zip(before.birth, map(abs, before.alpha), strict=True))
            assert not kept or min(weight[b] for b in kept) >= max(weight[b] for b in gone) - 1e-9
            before.make_room()
            assert before.birth == twin.birth[:-1]
    assert halved > 1
    full = run(ref.AhpatronClassifier(RBF, budget=8, epsilon=0.2), stream(n=8))
    while len(full.support) < 8:
        run(full, stream(n=1, seed=len(full.points) + 50))
    norm = full.norm2()
    full.make_room()
    assert len(full.support) == 4
    assert full.norm2() == pytest.approx(norm)


def test_ahpatron_projection_minimises_equation_6():
    for ridge in (5e-4, 0.3):
        twin = ref.AhpatronClassifier(RBF, budget=6, ridge=ridge)
        for (x, _), a in zip(stream(n=6), [1.0, -0.2, 2.0, 0.3, -0.1, -3.0], strict=True):
            twin.add(x, a)
        K, norm = twin.gram(), math.sqrt(twin.norm2())
        twin.make_room()
        S1, S2 = [1, 3, 4], [0, 2, 5]
        a1, a2 = np.array([-0.2, 0.3, -0.1]), np.array([1.0, 2.0, -3.0])

        def objective(theta, K=K, S1=S1, S2=S2, a1=a1, ridge=ridge):
            cross = theta @ K[np.ix_(S2, S1)] @ a1
            return theta @ K[np.ix_(S2, S2)] @ theta - 2 * cross + ridge * theta @ theta

        theta = scipy.optimize.minimize(objective, np.zeros(3), tol=1e-14).x
        halved = a2 + theta
        halved *= norm / math.sqrt(halved @ K[np.ix_(S2, S2)] @ halved)
        np.testing.assert_allclose(twin.alpha, halved, atol=1e-5)


def test_ahpatron_keeps_the_older_of_equals():
    twin = ref.AhpatronClassifier(RBF, budget=6)
    for i, a in enumerate([1.0, -1.0, 3.0, 1.0, 0.5, 1.0 + 1e-12]):
        twin.add({"a": float(i)}, a)
    twin.make_room()
    assert twin.birth == [0, 1, 2]


def test_avp_adaptive_rate_counts_mistakes():
    twin = ref.AVPClassifier(RBF, radius=2.0, learning_rate="adaptive", epsilon=0.6)
    mistakes = 0
    for x, y in stream(n=80):
        mistakes += y * twin.f(x) <= 0
        twin.learn(x, y)
        assert twin.rate() == pytest.approx(2.0 / math.sqrt(4.0 + mistakes))
    assert mistakes > 10


# ----------------------------------------------------------------------- passive-aggressive


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_pa_minimises_its_objective(mode, kind):
    twin = TWINS["KernelPA" + kind](ref.polynomial(2, 0.5), C=0.3, mode=mode)
    for x, y in stream(task(kind), n=30):
        p, k = twin.f(x), twin.kernel(x, x)
        before = len(twin.support)
        twin.learn(x, y)
        tau = twin.alpha[-1] if len(twin.support) > before else 0.0

        def objective(a, x=x, y=y, p=p, k=k):
            loss = twin.suffer(y, p + a * k)[0]
            if mode == 0:
                return a * a * k / 2 + 1e6 * loss
            return a * a * k / 2 + 0.3 * (loss if mode == 1 else loss**2)

        best = min(objective(tau + h) for h in np.linspace(-0.05, 0.05, 1001))
        assert objective(tau) <= best + 1e-7


def full_bpa(kind, maintenance, kernel=RBF, seed=1):
    """A reference BPA with a full budget, and a sample with a loss."""
    twin = TWINS["BPA" + kind](kernel, budget=6, C=0.4, maintenance=maintenance)
    for x, y in stream(task(kind), n=400, seed=seed):
        if len(twin.support) == 6 and twin.t > 20 and twin.suffer(y, twin.f(x))[0] > 0.3:
            return twin, x, y
        twin.learn(x, y)
    raise AssertionError("no such sample")


def kernel_distance(kernel, x, z):
    return kernel(x, x) + kernel(z, z) - 2 * kernel(x, z)


def bpa_by_optimisation(twin, r, x, y):
    """min 1/2 ||f' - f||^2 + C loss(f'(x_t)) over beta by a general solver, loss as a slack."""
    points = [x] + [twin.support[i] for i in twin.spanning_set(r, x)]
    KV = twin.matrix(points)
    kr = np.array([twin.kernel(a, twin.support[r]) for a in points])
    kt = np.array([twin.kernel(a, x) for a in points])
    ar, krr = twin.alpha[r], twin.kernel(twin.support[r], twin.support[r])
    value = twin.f(x) - ar * twin.kernel(twin.support[r], x)

    def objective(v):
        beta, slack = v[:-1], v[-1]
        change = beta @ KV @ beta - 2 * ar * beta @ kr + ar**2 * krr  # ||f' - f||^2
        return change / 2 + twin.C * slack

    if isinstance(twin, ref.BPARegressor):
        rows = [
            lambda v: v[-1] + twin.eps - (y - value - v[:-1] @ kt),
            lambda v: v[-1] + twin.eps + (y - value - v[:-1] @ kt),
        ]
    else:
        rows = [lambda v: v[-1] - 1 + y * (value + v[:-1] @ kt)]
    rows.append(lambda v: v[-1])
    start = np.zeros(len(points) + 1)
    start[-1] = abs(y) + abs(value) + 2
    result = scipy.optimize.minimize(
        objective,
        start,
        constraints=[{"type": "ineq", "fun": row} for row in rows],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    beta = result.x[:-1]
    exact = objective(np.append(beta, twin.suffer(y, value + beta @ kt)[0]))
    return beta, exact, objective, value, kt


@pytest.mark.parametrize("maintenance", MAINTENANCE["BPA"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kernel", [RBF, ref.polynomial(2, 0.4)], ids=["rbf", "polynomial"])
def test_bpa_closed_form_against_a_solver(maintenance, kind, kernel):
    for seed in range(2):
        twin, x, y = full_bpa(kind, maintenance, kernel, seed)
        totals, lost = [], []
        for r in range(6):
            beta, total, objective, value, kt = bpa_by_optimisation(twin, r, x, y)
            V, closed, lost_r = twin.replacement(r, x, y)
            distances = [kernel_distance(kernel, twin.support[r], z) for z in twin.support]
            near = sorted(twin.others(r), key=distances.__getitem__)
            assert sorted(V) == sorted(near[: {"simple": 0, "nearest": 1, "projection": 5}[maintenance]])
            mine = objective(np.append(closed, twin.suffer(y, value + closed @ kt)[0]))
            assert mine <= total + 1e-9 * max(1, abs(total))
            assert mine == pytest.approx(total, rel=1e-5)
            np.testing.assert_allclose(closed, beta, rtol=1e-3, atol=1e-3)
            totals.append(mine)
            lost.append(lost_r)
        # all that depends on r is lost / 2
        np.testing.assert_allclose(np.array(totals) - np.array(lost) / 2, totals[0] - lost[0] / 2)
        gone = twin.birth[int(np.argmin(totals))]
        twin.learn(x, y)
        assert gone not in twin.birth
        assert twin.birth[-1] == len(twin.points) - 1


def test_bpa_nearest_with_a_copy_of_the_sample():
    twin, x, y = full_bpa("Classifier", "nearest")
    twin.support[2] = dict(x)
    twin.points[twin.birth[2]] = dict(x)
    assert all(twin.spanning_set(r, x) != [2] for r in range(6))
    twin.learn(x, y)
    assert all(map(math.isfinite, twin.alpha))


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_spa_average_in_closed_form(kind):
    twin = TWINS["SPA" + kind](RBF, alpha=1.0, beta=1.5, learning_rate=0.5, seed=3)
    born = []
    for x, y in stream(task(kind), n=80):
        before = len(twin.support)
        twin.learn(x, y)
        if len(twin.support) > before:
            born.append(twin.t)
        T = twin.t + 1
        average = sum(a * (1 - t / T) * RBF(z, x) for a, t, z in zip(twin.alpha, born, twin.support, strict=True))
        assert twin.decision(x) == pytest.approx(average, rel=1e-9, abs=1e-12)
    assert 10 < len(born) < 80


def test_spa_adds_with_probability_rho_and_scales_by_it():
    x, y = {"a": 1.0}, 1.0  # loss 1 at the start, rho = 0.2
    for u, added in ((0.1999, True), (0.2, False)):
        twin = ref.SPAClassifier(RBF, learning_rate=0.1, alpha=1.0, beta=5.0)
        twin.rng = Scripted(u)
        twin.learn(x, y)
        assert twin.alpha == ([pytest.approx(0.5)] if added else [])  # 0.1 / 0.2


def test_two_variable_step_against_brute_force():
    rng = random.Random(11)
    for _ in range(300):
        k_t, k_b = rng.uniform(0.2, 2), rng.uniform(0.2, 2)
        w = -rng.choice([0.0, rng.random(), 1.0]) * math.sqrt(k_t * k_b)
        loss_t, loss_b = rng.uniform(0.01, 3), rng.uniform(0.01, 3)
        C = rng.uniform(0.1, 3)
        gamma_b = rng.choice([0.0, rng.random() * C, C])
        g, d = ref.two_variable_step(loss_t, loss_b, k_t, k_b, w, gamma_b, C)
        assert 0 <= g <= C
        assert -1e-12 <= gamma_b + d <= C + 1e-12

        def gain(g, d):
            return g * loss_t + d * loss_b - (g * g * k_t + d * d * k_b + 2 * g * d * w) / 2  # noqa: B023

        gs, ds = np.meshgrid(np.linspace(0, C, 201), np.linspace(-gamma_b, C - gamma_b, 201))
        assert gain(g, d) >= gain(gs, ds).max() - 1e-12
        poster = four_cases(loss_t, loss_b, k_t, k_b, w, gamma_b, C)
        if poster is not None:
            assert gain(g, d) == pytest.approx(gain(*poster), rel=1e-9)
            assert (g, d) == pytest.approx(poster, rel=1e-6, abs=1e-9)


def four_cases(loss_t, loss_b, k_t, k_b, w, gamma_b, C):
    """The cases of the BDUOL poster; None if none applies."""
    high = C - gamma_b
    if k_t * C + w * high - loss_t < 0 and k_b * high + w * C - loss_b < 0:
        return C, high
    d = (loss_b - w * C) / k_b
    if (w * w * C - w * loss_b - k_t * k_b * C + k_b * loss_t) / k_b > 0 and -gamma_b <= d <= high:
        return C, d
    g = (loss_t - w * high) / k_t
    if 0 <= g <= C and loss_b - k_b * high - w * g > 0:
        return g, high
    det = k_t * k_b - w * w
    if det > 1e-9:
        g, d = (k_b * loss_t - w * loss_b) / det, (k_t * loss_b - w * loss_t) / det
        if 0 <= g <= C and -gamma_b <= d <= high:
            return g, d
    return None


def test_duol_with_the_same_point_under_both_labels():
    twin = ref.DUOLClassifier(RBF, C=1.0)
    twin.learn({"a": 1.0}, 1.0)
    twin.alpha[0] = 0.5
    twin.learn({"a": 1.0}, -1.0)
    assert twin.alpha == [1.0, -1.0]


def test_duol_raises_the_dual_and_keeps_the_box():
    twin = ref.DUOLClassifier(RBF, C=0.8)
    doubles, dual = 0, 0.0
    for x, y in stream(n=100):
        before = dict(zip(twin.birth, twin.alpha, strict=True))
        loss = max(0.0, 1 - y * twin.f(x))
        twin.learn(x, y)
        gammas = [a * z for a, z in zip(twin.alpha, twin.label, strict=True)]
        assert all(-1e-12 <= g <= 0.8 + 1e-12 for g in gammas)
        now = sum(gammas) - twin.norm2() / 2
        if loss > 1e-6:
            assert now > dual
        dual = now
        after = dict(zip(twin.birth, twin.alpha, strict=True))
        doubles += any(after[b] != a for b, a in before.items())
    assert doubles > 10


def full_bduol(maintenance, seed):
    twin = ref.BDUOLClassifier(RBF, budget=7, C=0.8, maintenance=maintenance)
    run(twin, stream(n=60, seed=seed))
    while len(twin.support) < 7:
        run(twin, stream(n=1, seed=1000 + twin.t))
    return twin


@pytest.mark.parametrize("maintenance", MAINTENANCE["BDUOL"])
def test_bduol_discards_the_cheapest_and_spreads_it(maintenance):
    for seed in range(6):
        twin = full_bduol(maintenance, seed)
        old = copy.deepcopy(twin)
        twin.discard()
        j = next(i for i, b in enumerate(old.birth) if b not in twin.birth)

        # j costs least in the dual when it is simply removed
        def dual(i, old=old):
            less = copy.deepcopy(old)
            less.remove(i)
            return sum(a * y for a, y in zip(less.alpha, less.label, strict=True)) - less.norm2() / 2

        duals = [dual(i) for i in range(7)]
        assert duals[j] == pytest.approx(max(duals), abs=1e-12)

        rest = [old.birth.index(b) for b in twin.birth]
        alpha = np.array([old.alpha[i] for i in rest])
        y = np.array([old.label[i] for i in rest])
        beta = (np.array(twin.alpha) - alpha) * y
        low, high = -alpha * y, 0.8 - alpha * y
        assert np.all(beta >= low - 1e-12)
        assert np.all(beta <= high + 1e-12)
        K = old.gram()[np.ix_(rest, rest)]
        k = old.gram()[rest, j]
        a = old.alpha[j]

        def distance(beta, K=K, k=k, a=a, y=y):
            return a * a - 2 * a * (beta * y) @ k + (beta * y) @ K @ (beta * y)

        if maintenance == "removal":
            assert not beta.any()
        elif maintenance == "projection":
            best = scipy.optimize.minimize(
                distance,
                np.clip(0 * low, low, high),
                jac=lambda b, K=K, k=k, a=a, y=y: 2 * y * (K @ (b * y) - a * k),
                bounds=list(zip(low, high, strict=True)),
                method="L-BFGS-B",
                options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 10000},
            )
            assert distance(beta) <= best.fun + 1e-7
            assert distance(beta) == pytest.approx(best.fun, abs=1e-6)
        elif maintenance == "approximate":
            expected = np.clip(a * np.linalg.solve(K, k) / y, low, high)
            np.testing.assert_allclose(beta, expected, atol=1e-5)
        else:
            n = int(np.argmax(k))  # nearest for an RBF kernel
            expected = np.zeros(6)
            expected[n] = np.clip(a * k[n] / y[n], low[n], high[n])
            np.testing.assert_allclose(beta, expected, atol=1e-12)


def test_bduol_looks_at_the_loss_again_after_the_removal():
    x = {"a": 0.0}
    twin = ref.BDUOLClassifier(RBF, budget=2, C=2.0, maintenance="removal")
    twin.add(x, -1.5, -1.0)
    twin.add(x, 1.2, 1.0)
    twin.learn(x, 1.0)  # loss 1.3; the first point costs 2.175, the second 2.28; then f(x) = 1.2
    assert twin.alpha == [1.2]
    twin = ref.BDUOLClassifier(RBF, budget=1, C=2.0, maintenance="removal")
    twin.add(x, 1.0, 1.0)
    twin.learn(x, -1.0)  # loss 2, after the removal 1
    assert twin.alpha == [-1.0]


# ------------------------------------------------------------------- gradient descent: chance


def probe_after(twin, x, y, *draws):
    """f after one step with these random numbers, at some points."""
    twin = copy.deepcopy(twin)
    twin.rng = Scripted(*draws)
    twin.learn(x, y)
    return np.array([twin.f(z) for z, _ in stream(n=10, seed=99)])


def gradient_step(twin, x, y, eta, l2=0.0):
    twin = copy.deepcopy(twin)
    g = twin.loss.derivative(y, twin.f(x))
    assert g != 0
    twin.scale(1 - eta * l2)
    twin.add(x, -eta * g)
    return np.array([twin.f(z) for z, _ in stream(n=10, seed=99)])


def ready(twin, kind="classification", full=True):
    """A trained twin and a sample with a gradient."""
    for x, y in stream(kind, n=300, seed=4):
        fits = not full or len(twin.support) == twin.budget
        if twin.t > 30 and fits and twin.gradient(x, y) != 0:
            return twin, x, y
        twin.learn(x, y)
    raise AssertionError("no such sample")


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_olrd_is_unbiased(kind):
    twin, x, y = ready(TWINS["OLRD" + kind](RBF, budget=7, learning_rate=0.5, seed=2), task(kind))
    mean = np.mean([probe_after(twin, x, y, (i + 0.5) / 7) for i in range(7)], axis=0)
    expected = gradient_step(twin, x, y, 0.5 / math.sqrt(twin.t + 1))
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_olru_is_unbiased(kind):
    twin, x, y = ready(TWINS["OLRU" + kind](RBF, c=0.9, learning_rate=0.5), task(kind), full=False)
    t = twin.t + 1
    p = 0.9 * t**-0.25
    mean = p * probe_after(twin, x, y, p - 1e-9) + (1 - p) * probe_after(twin, x, y, p)
    expected = gradient_step(twin, x, y, 0.5 * t**-0.625)
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sampling", ["uniform", "magnitude"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_bogd_is_unbiased(sampling, kind):
    twin = TWINS["BOGD" + kind](RBF, budget=7, learning_rate=0.2, l2=0.1, max_coef=None, sampling=sampling, seed=2)
    twin, x, y = ready(twin, task(kind))
    q = [1 / 7] * 7
    if sampling == "magnitude":
        q = ref.removal_probabilities([abs(a) for a in twin.alpha])
    starts = np.cumsum([0.0, *q])[:-1]
    mean = sum(qi * probe_after(twin, x, y, start + qi / 2) for qi, start in zip(q, starts, strict=True) if qi > 0)
    expected = gradient_step(twin, x, y, 0.2, l2=0.1)
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-12)


def test_oskl_is_unbiased():
    twin, x, y = ready(ref.OSKLClassifier(RBF, learning_rate=0.1, bound=1.5, averaged=False), full=False)
    p = abs(twin.gradient(x, y)) / 1.5
    mean = p * probe_after(twin, x, y, p - 1e-9) + (1 - p) * probe_after(twin, x, y, p)
    np.testing.assert_allclose(mean, gradient_step(twin, x, y, 0.1), rtol=1e-9, atol=1e-12)


def test_bogd_probabilities():
    rng = random.Random(8)
    for n in (1, 2, 3, 10, 40):
        for _ in range(40):
            s = [rng.choice([0.0, 1.0, rng.random(), 100 * rng.random() ** 8]) for _ in range(n)]
            q = ref.removal_probabilities(s)
            assert sum(q) == pytest.approx(1, abs=1e-9)
            assert all(-1e-12 <= p <= 1 for p in q)
            # proportional where it is not capped
            free = [i for i in range(n) if q[i] > 0 and s[i] > 0]
            ratios = [(1 - q[i]) / s[i] for i in free]
            assert not ratios or max(ratios) == pytest.approx(min(ratios), rel=1e-6)
    # He & Kwok's footnote: the printed rule gives the last one a negative probability
    q = ref.removal_probabilities([1.0] * 99 + [1.1])
    assert q[99] == 0
    np.testing.assert_allclose(q[:99], 1 / 99)


def test_olrd_replaces_a_single_point_and_follows_a_dynamic_budget():
    twin = ref.OLRDClassifier(RBF, budget=1, learning_rate=1.0, radius=None, seed=1)
    for x, y in stream(n=40):
        g = twin.gradient(x, y)
        twin.learn(x, y)
        if g != 0:
            assert twin.alpha == [pytest.approx(-g / math.sqrt(twin.t))]
    twin = ref.OLRDClassifier(RBF, c=1.0, seed=1, loss=ref.Log())
    sizes = []
    for x, y in stream(n=40):
        twin.learn(x, y)
        sizes.append(len(twin.support))
    assert sizes == [min(t, 1 + math.isqrt(t)) for t in range(1, 41)]
    assert ref.OLRDClassifier(RBF, c=1.0, horizon=30).current_budget() == 6


def test_approximate_projection_is_in_the_ball():
    kernel = ref.polynomial(2)
    twin = ref.OLRDClassifier(kernel, budget=6, radius=0.7, projection="approximate", seed=1)
    for x, y in stream(n=60):
        twin.learn(x, y)
        assert twin.norm2() <= 0.7**2
        top = max(map(abs, twin.alpha)) * max(math.sqrt(kernel(z, z)) for z in twin.support)
        assert 6 * top <= 0.7 * (1 + 1e-12)


# ---------------------------------------------------------------------- gradient descent: SGD


def test_sgd_coefficients_are_the_gradients_over_lambda_t():
    twin = ref.KernelSGDClassifier(RBF, loss=ref.Log(), l2=0.05)
    gradients = []
    for x, y in stream(n=50):
        gradients.append(twin.gradient(x, y))
        twin.learn(x, y)
    np.testing.assert_allclose(twin.alpha, -np.array(gradients) / (0.05 * 50))


def test_bsgd_removal_with_hinge_is_first_in_first_out():
    twin = ref.BSGDClassifier(RBF, l2=0.1, budget=5)
    for x, y in stream(n=100):
        twin.learn(x, y)
        assert sorted(twin.birth) == list(range(len(twin.points)))[-5:]
    assert len(twin.points) > 30


def test_squared_loss_stays_in_the_ball():
    for twin in (ref.BSGDRegressor(RBF, l2=0.5, budget=6), ref.KernelSGDRegressor(RBF, l2=0.5)):
        top, tight = 0.0, 0
        for x, y in stream("regression", n=60):
            top = max(top, abs(y))
            twin.learn(x, y)
            assert twin.norm2() <= top**2 / 0.5 * (1 + 1e-9)
            tight += twin.norm2() > top**2 / 0.5 * (1 - 1e-9)
        assert tight > 0


@pytest.mark.parametrize("maintenance", ["projection", "approximate"])
def test_bsgd_projection_is_the_best_spread(maintenance):
    twin = run(ref.BSGDClassifier(RBF, l2=0.1, budget=9, loss=ref.Log()), stream(n=9))
    old = copy.deepcopy(twin)
    twin.maintenance = maintenance
    twin.reduce()
    p = next(i for i, b in enumerate(old.birth) if b not in twin.birth)
    assert abs(old.alpha[p]) == pytest.approx(min(map(abs, old.alpha)), rel=1e-9)
    moved = dict(zip(twin.birth, twin.alpha, strict=True))
    changed = [i for i in old.others(p) if moved[old.birth[i]] != old.alpha[i]]
    by_distance = sorted(old.others(p), key=lambda i: -RBF(old.support[i], old.support[p]))
    assert set(changed) == set(by_distance[: 8 if maintenance == "projection" else 4])
    # what is lost is orthogonal to the points that were projected on
    difference = {b: a - moved.get(b, 0.0) for b, a in zip(old.birth, old.alpha, strict=True)}
    for i in changed:
        x = old.support[i]
        assert sum(d * RBF(old.points[b], x) for b, d in difference.items()) == pytest.approx(0)


def test_merge_weight_against_a_grid():
    rng = random.Random(3)
    grid = np.linspace(0, 1, 100001)
    inner = 0
    for _ in range(200):
        kappa = rng.choice([rng.random(), rng.random() ** 20, 1.0])
        a_m = rng.choice([-1, 1]) * rng.uniform(0.5, 2)
        a_p = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]) * a_m
        h = ref.merge_weight(a_m, a_p, kappa)
        inner += 0.5 < h < 1

        def size(h):
            return np.abs(a_m * kappa ** ((1 - h) ** 2) + a_p * kappa ** (h**2))  # noqa: B023

        assert 0.5 <= h <= 1
        assert size(h) == pytest.approx(size(grid).max(), rel=1e-9)
    assert inner > 50
    assert ref.merge_weight(1.0, 1.0, 0.0) == 1
    assert ref.merge_weight(1.0, 1.0, 0.9) == 0.5
    assert ref.merge_weight(2.0, 1.0, 1.0) == pytest.approx(2 / 3)


@pytest.mark.parametrize("loss", [ref.Hinge(), ref.Log()])
def test_merging_loses_least(loss):
    twin = run(ref.BSGDClassifier(RBF, l2=0.1, budget=9, loss=loss), stream(n=30))
    old = copy.deepcopy(twin)
    twin.maintenance = "merging"
    twin.reduce()
    gone = [b for b in old.birth if b not in twin.birth]
    assert len(gone) == 2
    assert twin.birth[-1] == len(old.points)

    def lost(p, m, h):
        x, z = old.support[p], old.support[m]
        point = {i: (1 - h) * x.get(i, 0.0) + h * z.get(i, 0.0) for i in "abc"}
        a, b, kappa = old.alpha[p], old.alpha[m], RBF(x, z)
        best = a * RBF(x, point) + b * RBF(z, point)
        return a * a + b * b + 2 * a * b * kappa - best**2

    p = min(range(len(old.birth)), key=lambda i: (round(abs(old.alpha[i]), 12), old.birth[i]))
    assert old.birth[p] in gone
    least = min(lost(p, m, h) for m in old.others(p) for h in np.linspace(0, 1, 401))
    both = copy.deepcopy(twin)  # f_old - f_new
    both.scale(-1)
    for x, a in zip(old.support, old.alpha, strict=True):
        both.add(x, a)
    assert both.norm2() <= least + 1e-12
    assert both.norm2() == pytest.approx(least, rel=1e-2, abs=1e-9)


@pytest.mark.parametrize("suffix", [0.1, 0.5, 1.0])
def test_suffix_average_is_a_difference_of_harmonic_numbers(suffix):
    # For w_{s+1}, s >= t_i, a coefficient is c_i / (lambda s) until the point is removed.
    twin = ref.NBSGDClassifier(RBF, l2=0.1, budget=6, beta=20, suffix=suffix, seed=5)
    born, gone, value = {}, {}, {}
    for x, y in stream(n=60):
        g = twin.gradient(x, y)
        before = set(twin.birth)
        if g != 0:
            born[len(twin.points)] = twin.t + 1
            value[len(twin.points)] = -g / 0.1
        twin.learn(x, y)
        for b in (before | set(born)) - set(twin.birth) - set(gone):
            gone[b] = twin.t
        t = twin.t
        window = math.ceil(suffix * (t + 1))
        expected = 0.0
        for b, t_b in born.items():
            first, last = max(t_b, t + 1 - window), min(t, gone.get(b, t + 1) - 1)
            terms = sum(1 / s for s in range(max(first, 1), last + 1))
            expected += value[b] * terms / window * RBF(twin.points[b], x)
        assert twin.decision(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert len(gone) > 5


# ----------------------------------------------------------------------------------- POMDR


def test_pomdr_halves_and_continues_with_smaller_steps():
    twin = ref.POMDRClassifier(RBF, budget=10, radius=2.0, hint=4, shrink=0.1, horizon=1000)
    halvings = 0
    for x, y in stream(n=200):
        before = copy.deepcopy(twin)
        margin = y * (before.f(x) + before.rate() * before.h(x))
        twin.learn(x, y)
        if len(twin.points) > len(before.points) and len(before.support) == 9:
            halvings += 1
            assert twin.birth == sorted(before.birth)[:5]
            assert twin.norm2() == pytest.approx(4.0)
            assert twin.rate() == pytest.approx(0.1 * 2 / math.sqrt(3))
        elif margin < 1:
            delta = max(0.0, 1 - 2 * y * before.h(x))
            assert twin.sum_delta == pytest.approx(before.sum_delta + delta)
        else:
            assert twin.alpha == before.alpha
        assert len(twin.recent) == twin.t
    assert halvings > 1


def test_pomdr_projects_dependent_samples_while_few():
    twin = ref.POMDRClassifier(RBF, budget=50, radius=100.0, hint=2, horizon=10**6)
    x = {"a": 1.0}
    twin.learn(x, 1.0)
    twin.learn(x, -1.0)
    assert len(twin.support) == 1
    rate_1, rate_2 = 100 / math.sqrt(3), 100 / math.sqrt(4)
    assert twin.alpha == [pytest.approx(rate_1 - rate_2)]
    twin.projecting = False
    twin.learn(x, -1.0 if twin.decision(x) > 0 else 1.0)
    assert len(twin.support) == 2
    for T, kept in ((100, 1), (10**6, 2)):  # ||delta|| = 0.045, to be compared with 0.1 or 0.001
        twin = ref.POMDRClassifier(RBF, budget=50, hint=2, horizon=T)
        twin.learn({"a": 0.0}, 1.0)
        twin.learn({"a": 0.045}, -1.0)
        assert len(twin.support) == kept
    twin = ref.POMDRClassifier(RBF, budget=50, radius=5.0, horizon=2)  # 10 ln 2 = 6.9
    for x, y in stream(n=100):
        n = len(twin.support)
        twin.learn(x, y)
        if n < 7:
            assert twin.projecting
    assert not twin.projecting


def test_pomdr_hint_is_the_mean_of_the_last_samples():
    samples = list(stream(n=30))
    twin = run(ref.POMDRClassifier(RBF, hint=7), samples)
    x = {"a": 0.5}
    assert twin.h(x) == pytest.approx(np.mean([y * RBF(z, x) for z, y in samples[-7:]]))
    assert twin.decision(x) == pytest.approx(twin.f(x) + twin.rate() * twin.h(x))


# ----------------------------------------------------------------- functional approximation


def test_fogd_features_approximate_the_kernel():
    twin = ref.FOGDClassifier(RBF, n_components=20000, frequency=frequencies(20000, 0.5))
    points = [x for x, _ in stream(n=8)]
    for x in points:
        assert twin.z(x) @ twin.z(x) == pytest.approx(1)
        for z in points:
            assert twin.z(x) @ twin.z(z) == pytest.approx(RBF(x, z), abs=0.03)


def test_fogd_is_kernel_ogd_of_its_own_kernel():
    twin = ref.FOGDRegressor(RBF, n_components=30, learning_rate=0.1, frequency=frequencies(30, 0.5))

    def kernel(x, z):
        return float(twin.z(x) @ twin.z(z))

    other = ref.OGDRegressor(kernel, learning_rate=0.1, l2=0.0)
    for x, y in stream("regression", n=60):
        assert twin.decision(x) == pytest.approx(other.decision(x), rel=1e-9, abs=1e-12)
        twin.learn(x, y)
        other.learn(x, y)
    assert twin.norm2() == pytest.approx(other.norm2())


@pytest.mark.parametrize("rank", [3, 10])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_nogd_carries_f_over(rank, kind):
    # l2 = 0 OGD is what NOGD is before the switch
    twin = TWINS["NOGD" + kind](RBF, budget=10, rank=rank, learning_rate=0.1)
    before = TWINS["OGD" + kind](RBF, learning_rate=0.1, l2=0.0)
    samples = stream(task(kind), n=100)
    while twin.basis is None:
        x, y = next(samples)
        twin.learn(x, y)
        before.learn(x, y)
    assert twin.support == before.support
    K, alpha = before.gram(), np.array(before.alpha)
    vectors = np.linalg.eigh(K)[1]
    # the part of f in the span of the leading eigenfunctions: coefficients V V' alpha
    leading = vectors[:, -rank:] @ (vectors[:, -rank:].T @ alpha)
    for x, _ in stream(n=10, seed=99):
        assert twin.decision(x) == pytest.approx(leading @ before.row(x), rel=1e-7, abs=1e-9)
        if rank == 10:
            assert twin.decision(x) == pytest.approx(before.decision(x), rel=1e-7)
        assert ref.Twin.f(twin, x) == pytest.approx(twin.decision(x), rel=1e-7, abs=1e-9)
    assert twin.norm2() == pytest.approx(leading @ K @ leading)
    for x, y in samples:  # linear OGD afterwards
        g, p, z = twin.gradient(x, y), twin.decision(x), twin.z(x)
        twin.learn(x, y)
        assert twin.decision(x) == pytest.approx(p - 0.1 * g * float(z @ z))
    assert len(twin.support) == 10
