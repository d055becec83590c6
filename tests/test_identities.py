"""Parameters that turn one algorithm into another, and expectations of randomised algorithms."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from river import linear_model, optim

import river_okl
from river_okl import kernels, losses
from tests import reference, streams
from tests.discovery import decision, task

KERNEL = kernels.RBF(0.7)
N = 200
ALL = 10 * N  # a budget that is never full


def identity(one, other, parameters, others):
    name = f"{one}({', '.join(f'{k}={v}' for k, v in parameters.items())}) = {other}"
    return pytest.param(one, parameters, other, others, id=name)


AVP = {"radius": 3.0, "learning_rate": 0.4}
IDENTITIES = [
    identity("ProjectronClassifier", "KernelPerceptronClassifier", {"tolerance": 0.0}, {}),
    identity("RBPClassifier", "KernelPerceptronClassifier", {"budget": ALL, "seed": 1}, {}),
    identity("ForgetronClassifier", "KernelPerceptronClassifier", {"budget": ALL}, {}),
    identity("BudgetPerceptronClassifier", "KernelPerceptronClassifier", {"budget": ALL}, {}),
    identity("AVPClassifier", "KernelPerceptronClassifier", {"epsilon": 1.0 - 1e-12}, {}),
    identity("AhpatronClassifier", "AVPClassifier", {"budget": ALL, **AVP}, {**AVP, "epsilon": 0.5}),
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
    largest = 0.0
    for x, y in streams.KINDS[kind](task(type(a)), n=N):
        p, q = decision(a, x), decision(b, x)
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
    model = getattr(river_okl, name)(KERNEL, seed=5, **parameters)
    kind = task(type(model))
    stream = streams.dense(kind, n=90)
    model.learn_stream(stream[:60])
    x, y = next((x, y) for x, y in stream[60:] if kind == streams.REGRESSION or y * decision(model, x) < 0.9)
    return model, x, y, [x for x, _ in streams.dense(kind, n=25, seed=77)]


def descended(model, x, y, step, probes, keep=1.0):
    """The result of a full gradient step."""
    g = losses.derivative(model.loss or model._default_loss)(y, model._f.evaluate(x))
    assert g != 0.0
    kappa = reference.rbf(0.7)
    return keep * values(model, probes) - step * g * np.array([kappa(x, z) for z in probes])


BOGD = {"learning_rate": 0.2, "l2": 0.05, "max_coef": None}


@pytest.mark.parametrize(
    ("name", "parameters", "step", "keep"),
    [
        ("OLRD", {"learning_rate": 0.3, "radius": None}, lambda t: 0.3 * t**-0.5, 1.0),
        ("BOGD", {**BOGD, "sampling": "uniform"}, lambda t: 0.2, 1.0 - 0.2 * 0.05),
        ("BOGD", {**BOGD, "sampling": "magnitude"}, lambda t: 0.2, 1.0 - 0.2 * 0.05),
    ],
    ids=["OLRD", "BOGD-uniform", "BOGD-magnitude"],
)
@pytest.mark.parametrize("suffix", ["Classifier", "Regressor"])
def test_the_expected_step_of_an_eviction_is_gradient_descent(suffix, name, parameters, step, keep):
    """Over every support vector that may be evicted, weighted by the probability of choosing it, found by bisection."""
    model, x, y, probes = prepared(name + suffix, budget=7, **parameters)
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
    if parameters.get("sampling") != "magnitude":
        np.testing.assert_allclose(shares, 1 / 7, rtol=1e-9)
    mean = shares @ np.array(outcomes)
    expected = descended(model, x, y, step(model._t + 1), probes, keep)
    np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-12)
