"""Parameters that turn one algorithm into another, and expectations of randomised algorithms."""

from __future__ import annotations

import itertools
import math
import pickle
import random

import numpy as np
import pytest
import scipy.stats
from river import linear_model, optim

import river_okl
from river_okl import kernels, losses
from tests import reference, streams

KERNEL = kernels.RBF(0.7)
N = 200
ALL = 10 * N  # a budget that is never full


def identity(one, other, parameters, others):
    name = f"{one}({', '.join(f'{k}={v}' for k, v in parameters.items())}) = {other}"
    return pytest.param(one, parameters, other, others, id=name)


IDENTITIES = [
    identity("ProjectronClassifier", "KernelPerceptronClassifier", {"tolerance": 0.0}, {}),
    identity("RBPClassifier", "KernelPerceptronClassifier", {"budget": ALL, "seed": 1}, {}),
    identity("ForgetronClassifier", "KernelPerceptronClassifier", {"budget": ALL}, {}),
    identity("BudgetPerceptronClassifier", "KernelPerceptronClassifier", {"budget": ALL}, {}),
    identity("AVPClassifier", "KernelPerceptronClassifier", {"epsilon": 1.0 - 1e-12}, {}),
    identity(
        "AhpatronClassifier",
        "AVPClassifier",
        {"budget": ALL, "radius": 3.0, "learning_rate": 0.4},
        {"radius": 3.0, "learning_rate": 0.4, "epsilon": 0.5},
    ),
    identity("DUOLClassifier", "KernelPAClassifier", {"rho": 1e3, "C": 0.5}, {"C": 0.5}),
    *(
        identity("BDUOLClassifier", "DUOLClassifier", {"budget": ALL, "C": 2.0, "maintenance": maintenance}, {"C": 2.0})
        for maintenance in ("removal", "projection", "approximate", "nearest")
    ),
]
INVERSE = optim.schedulers.InverseScaling
OF_BOTH_TASKS = [
    *(
        ("BPA", "KernelPA", {"budget": ALL, "C": 0.4, "maintenance": maintenance}, {"C": 0.4})
        for maintenance in ("simple", "nearest", "projection")
    ),
    ("BPA", "BPA", {"budget": 1, "maintenance": "nearest"}, {"budget": 1}),
    ("BPA", "BPA", {"budget": 1, "maintenance": "projection"}, {"budget": 1}),
    (
        "SPA",
        "KernelPA",
        {"alpha": 1e-10, "beta": 1e-10, "learning_rate": 0.3, "averaged": False, "seed": 1},
        {"C": 0.3},
    ),
    ("OLRD", "OLK", {"budget": ALL, "learning_rate": 0.5, "radius": None}, {"learning_rate": 0.5}),
    ("OLRD", "OLK", {"budget": ALL, "learning_rate": 0.5, "radius": 1.0}, {"learning_rate": 0.5, "radius": 1.0}),
    ("OLRU", "OLK", {"c": 1.0, "power": 0.0, "learning_rate": 0.5, "seed": 1}, {"learning_rate": 0.5}),
    ("OLRU", "OLK", {"c": 1e9, "power": 0.3, "learning_rate": 0.5, "seed": 1}, {"learning_rate": INVERSE(0.5, 0.65)}),
    ("OGD", "OLK", {"l2": 0.0, "learning_rate": INVERSE(0.5, 0.5)}, {"learning_rate": 0.5}),
    ("BOGD", "OGD", {"budget": ALL, "learning_rate": 0.2, "max_coef": None, "seed": 1}, {"learning_rate": 0.2}),
    ("BOGD", "OGD", {"budget": ALL, "learning_rate": 0.2, "sampling": "magnitude", "seed": 1}, {"learning_rate": 0.2}),
    ("NOGD", "OGD", {"budget": ALL}, {"l2": 0.0}),
    ("BSGD", "KernelSGD", {"budget": ALL, "l2": 0.01}, {"l2": 0.01}),
    ("NBSGD", "KernelSGD", {"budget": ALL, "l2": 0.01, "seed": 1}, {"l2": 0.01}),
    ("NBSGD", "BSGD", {"budget": 10, "beta": 1e9, "l2": 0.01, "seed": 1}, {"budget": 10, "l2": 0.01}),
    ("NBSGD", "KernelSGD", {"budget": 10, "beta": 1e-30, "l2": 0.01, "seed": 1}, {"l2": 0.01}),
]
IDENTITIES += [
    identity(f"{one}{task}", f"{other}{task}", *options)
    for task in ("Classifier", "Regressor")
    for one, other, *options in OF_BOTH_TASKS
]


@pytest.mark.parametrize(("one", "parameters", "other", "others"), IDENTITIES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_equivalent_algorithms(one, parameters, other, others, kind):
    a = getattr(river_okl, one)(KERNEL, **parameters)
    b = getattr(river_okl, other)(KERNEL, **others)
    task = streams.REGRESSION if one.endswith("Regressor") else streams.CLASSIFICATION
    largest = 0.0
    for x, y in streams.KINDS[kind](task, n=N):
        p, q = (m.predict_one(x) if task == streams.REGRESSION else m.decision_function_one(x) for m in (a, b))
        largest = max(largest, abs(q))
        assert abs(p - q) <= 1e-9 * largest
        a.learn_one(x, y)
        b.learn_one(x, y)
        assert a.n_support_vectors == b.n_support_vectors
    assert a.n_support_vectors > 0
    assert largest > 0.0


def test_alma_with_a_linear_kernel_equals_rivers():
    """On samples of norm 1; river's class does not normalise."""
    model, linear = river_okl.ALMAClassifier(kernels.Linear()), linear_model.ALMAClassifier()
    for x, y in streams.dense("classification"):
        length = math.sqrt(sum(v * v for v in x.values()))
        x = {k: v / length for k, v in x.items()}
        model.learn_one(x, y > 0)
        linear.learn_one(x, y > 0)
    at = {"x0": 0.5, "x1": -0.3, "x2": 0.2, "x3": 0.7}
    assert model.decision_function_one(at) == pytest.approx(sum(linear.w[k] * v for k, v in at.items()))


# Expectations -----------------------------------------------------------------------------------------------------


class Scripted(random.Random):
    """A generator with fixed draws."""

    def __new__(cls, *draws):
        return super().__new__(cls)

    def __init__(self, *draws):
        super().__init__()
        self.draws = list(draws)

    def random(self):
        return self.draws.pop(0)


def after(model, x, y, *draws):
    """The model that results from these draws."""
    copy = pickle.loads(pickle.dumps(model))
    copy._rng = Scripted(*draws)
    copy.learn_one(x, y)
    assert not copy._rng.draws, "every draw was used"
    return copy


def values(model, probes):
    return np.array([model._f.evaluate(x) for x in probes])


def prepared(name, **parameters):
    """A model after some samples, the next sample with a gradient, and probe points."""
    cls = getattr(river_okl, name)
    task = streams.REGRESSION if name.endswith("Regressor") else streams.CLASSIFICATION
    stream = streams.dense(task, n=90)
    model = cls(KERNEL, seed=5, **parameters)
    for x, y in stream[:60]:
        model.learn_one(x, y)
    score = model.predict_one if task == streams.REGRESSION else model.decision_function_one
    x, y = next((x, y) for x, y in stream[60:] if task == streams.REGRESSION or y * score(x) < 0.9)
    return model, x, y, [x for x, _ in streams.dense(task, n=25, seed=77)]


def descended(model, x, y, step, probes, keep=1.0):
    """The result of a full gradient step."""
    g = losses.derivative(model.loss or model._default_loss)(y, model._f.evaluate(x))
    assert g != 0.0
    kappa = reference.rbf(0.7)
    return keep * values(model, probes) - step * g * np.array([kappa(x, z) for z in probes])


OLRU = {"c": 0.9, "power": 0.4, "learning_rate": 0.3}


@pytest.mark.parametrize(
    ("name", "parameters", "chance", "step"),
    [
        ("OLRUClassifier", OLRU, lambda t, g: 0.9 * t**-0.4, lambda t: 0.3 * t**-0.7),
        ("OLRURegressor", OLRU, lambda t, g: 0.9 * t**-0.4, lambda t: 0.3 * t**-0.7),
        ("OSKLClassifier", {"learning_rate": 0.3, "averaged": False}, lambda t, g: abs(g), lambda t: 0.3),
    ],
)
def test_the_expected_step_is_gradient_descent(name, parameters, chance, step):
    """Over both outcomes, weighted by their probabilities."""
    model, x, y, probes = prepared(name, **parameters)
    t = model._t + 1
    p = chance(t, losses.derivative(model.loss or model._default_loss)(y, model._f.evaluate(x)))
    taken, passed = after(model, x, y, p - 1e-12), after(model, x, y, p + 1e-12)
    assert taken.n_support_vectors == passed.n_support_vectors + 1
    mean = p * values(taken, probes) + (1.0 - p) * values(passed, probes)
    np.testing.assert_allclose(mean, descended(model, x, y, step(t), probes), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_the_expected_step_of_olrd_is_gradient_descent(task):
    """Over every support vector that may be evicted, with equal weight."""
    model, x, y, probes = prepared(f"OLRD{task}", budget=12, learning_rate=0.3, radius=None)
    assert model.n_support_vectors == 12
    outcomes = [after(model, x, y, (i + 0.5) / 12) for i in range(12)]
    assert len({tuple(sorted(m._f.births)) for m in outcomes}) == 12
    mean = np.mean([values(m, probes) for m in outcomes], axis=0)
    step = 0.3 * (model._t + 1) ** -0.5
    np.testing.assert_allclose(mean, descended(model, x, y, step, probes), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sampling", ["uniform", "magnitude"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_the_expected_step_of_bogd_is_gradient_descent(task, sampling):
    """Over every support vector that may be evicted, weighted by the probability of choosing it, found by bisection."""
    model, x, y, probes = prepared(
        f"BOGD{task}", budget=7, learning_rate=0.2, l2=0.05, max_coef=None, sampling=sampling
    )
    assert model.n_support_vectors == 7
    edges, outcomes = [0.0], []
    while edges[-1] < 1.0:
        outcome = after(model, x, y, edges[-1])
        gone = set(outcome._f.births)
        low, high = edges[-1], 1.0
        for _ in range(60):
            middle = (low + high) / 2
            same = middle < 1.0 and set(after(model, x, y, middle)._f.births) == gone
            low, high = (middle, high) if same else (low, middle)
        edges.append(high if high < 1.0 - 1e-12 else 1.0)
        outcomes.append(values(outcome, probes))
    shares = np.diff(edges)
    assert shares.sum() == pytest.approx(1.0)
    assert 2 <= len(outcomes) <= 7
    if sampling == "uniform":
        np.testing.assert_allclose(shares, 1 / 7, rtol=1e-9)
    mean = shares @ np.array(outcomes)
    expected = descended(model, x, y, 0.2, probes, keep=1.0 - 0.2 * 0.05)
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-10)


def mistakes(model, n, seed):
    """Feed n samples that the model gets wrong; yield the births before and after each."""
    rng = random.Random(seed)
    for _ in range(n):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        before = model._f.births.tolist()
        model.learn_one(x, -1.0 if model.decision_function_one(x) >= 0 else 1.0)
        yield before, set(model._f.births.tolist())


@pytest.mark.parametrize("name", ["RBPClassifier", "OLRDClassifier", "BOGDClassifier"])
def test_removals_are_uniform(name):
    """By position, by age, and independently of earlier removals (the seed is fixed, so p > 0.01 is deterministic)."""
    model, budget = getattr(river_okl, name)(KERNEL, budget=10, seed=3), 10
    positions, ages = [], []
    for before, left in mistakes(model, 6000, seed=4):
        if len(before) < budget:
            continue
        (gone,) = set(before) - left
        positions.append(before.index(gone))
        ages.append(sorted(before).index(gone))
    assert len(positions) == 5990
    for drawn in (positions, ages):
        counts = np.bincount(drawn, minlength=budget)
        assert scipy.stats.chisquare(counts).pvalue > 0.01
        pairs = np.zeros((budget, budget))
        for a, b in itertools.pairwise(drawn):
            pairs[a, b] += 1
        assert scipy.stats.chisquare(pairs.ravel()).pvalue > 0.01


def test_olru_takes_the_stated_fraction():
    """Σ p_t of the samples with a loss, within four standard deviations."""
    model = river_okl.OLRUClassifier(KERNEL, c=0.8, power=0.25, seed=6)
    expected = variance = 0.0
    for t, (_, _) in enumerate(mistakes(model, 3000, seed=7), 1):
        p = 0.8 * t**-0.25
        expected += p
        variance += p * (1.0 - p)
    assert abs(model.n_support_vectors - expected) < 4.0 * math.sqrt(variance)
