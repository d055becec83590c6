"""Every public class equals its reference implementation, at every step of every stream."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import pytest
from river import optim

from river_okl import kernels, losses
from river_okl._core.function.frequencies import frequencies
from tests import reference, streams
from tests.discovery import CLASSES, UNSUPERVISED, decision, parameters, target, task

EVERY_CLASS = CLASSES | UNSUPERVISED

WITHOUT_TWIN = (
    *("NystroemFeatures", "RandomFourierFeatures"),  # their output is a vector, compared in test_unsupervised.py
    "OKLDetector",  # its reference is in reference/detector.py, compared in test_detector.py
    *("OKLClassifier", "OKLRegressor"),  # their reference is in reference/okl.py, compared in test_okl_twin.py
    *("SOGPClassifier", "SOGPRegressor"),  # the reference for both is compared in test_sogp.py
)


class Both(NamedTuple):
    """An object of ours and its counterpart for the reference."""

    ours: object
    twins: object


KERNELS = {
    "rbf": Both(kernels.RBF(0.5), reference.rbf(0.5)),
    "narrow": Both(kernels.RBF(2.0), reference.rbf(2.0)),
    "laplacian": Both(kernels.Laplacian(0.7), reference.laplacian(0.7)),
    "polynomial": Both(kernels.Polynomial(2, gamma=0.8, coef0=0.5), reference.polynomial(2, 0.8, 0.5)),
    "linear": Both(kernels.Linear(), reference.dot),
    "mixture": Both(
        0.75 * kernels.RBF(0.4) + 0.25 * kernels.Linear(0.2),
        lambda x, z: 0.75 * reference.rbf(0.4)(x, z) + 0.05 * reference.dot(x, z),
    ),
}

# Streams and kernels of the comparison: all of them for the first configuration of a class, two for the others; the
# first for longer than the others.
PLACES = [
    ("rbf", "dense"),
    ("rbf", "sparse"),
    ("narrow", "emerging"),
    ("polynomial", "unit"),
    ("laplacian", "sparse"),
    ("mixture", "dense"),
    ("rbf", "duplicates"),
]
RADIAL_PLACES = [("rbf", "dense"), ("rbf", "sparse"), ("narrow", "emerging"), ("rbf", "unit"), ("rbf", "duplicates")]
RBF_ONLY = ("FOGD", "merging")

INVERSE_SCALING = Both(optim.schedulers.InverseScaling(0.4, 0.5), lambda t: 0.4 / math.sqrt(t))
CLASSIFICATION_LOSSES = [Both(optim.losses.Log(), reference.Log())]
REGRESSION_LOSSES = [
    Both(optim.losses.Absolute(), reference.Absolute()),
    Both(losses.EpsilonInsensitive(0.1), reference.EpsilonInsensitive(0.1)),
    Both(optim.losses.Huber(0.3), reference.Huber(0.3)),
    Both(optim.losses.Quantile(0.3), reference.Quantile(0.3)),
]

NBSGD = {"budget": 12, "l2": 0.01, "beta": 80.0, "seed": 3}

# Steps with the squared loss must not overshoot (2 η κ(x, x) < 2): otherwise regression is chaotic, and after some
# hundred samples the last bits decide.
CONFIGURATIONS = {
    "KernelPerceptron": [{}],
    "RBP": [{"budget": 15, "seed": 3}, {"budget": 1, "seed": 4}],
    "BudgetPerceptron": [{"budget": 12}, {"budget": 12, "tolerance": 0.7}, {"budget": 1}],
    "ALMA": [{}, {"alpha": 0.5, "B": 2.0, "C": 0.7}],
    "Forgetron": [{"budget": 15}, {"budget": 1}, {"budget": 40}],
    "Projectron": [{"tolerance": 0.3}, {"tolerance": 0.0}, {"tolerance": 0.1, "budget": 12}],
    "ProjectronPlusPlus": [{"tolerance": 0.3}, {"tolerance": 0.0}, {"tolerance": 0.2, "budget": 12}],
    "AVP": [
        {},
        {"radius": 2.0, "learning_rate": "adaptive"},
        {"radius": 1.5, "learning_rate": 0.3, "epsilon": 0.2},
        {"learning_rate": INVERSE_SCALING, "epsilon": 0.9},
    ],
    "Ahpatron": [
        {"budget": 15},
        {"budget": 1},
        {"budget": 12, "radius": 1.0, "learning_rate": 0.25, "epsilon": 0.3, "ridge": 0.1},
    ],
    "KernelPA": [{}, {"mode": 0}, {"mode": 2, "C": 0.5}, {"C": 0.1}],
    "BPA": [
        {"budget": 15},
        {"budget": 12, "maintenance": "nearest"},
        {"budget": 8, "maintenance": "projection"},
        {"budget": 1, "C": 0.2},
        {"budget": 1, "maintenance": "nearest"},
        {"budget": 1, "maintenance": "projection"},
    ],
    "SPA": [{"seed": 3}, {"averaged": False, "seed": 4}, {"alpha": 0.5, "beta": 0.7, "learning_rate": 0.05, "seed": 5}],
    "DUOL": [{}, {"C": 0.3}, {"rho": 0.2, "C": 5.0}],
    "BDUOL": [
        {"budget": 12},
        {"budget": 12, "maintenance": "removal", "C": 0.5},
        {"budget": 10, "maintenance": "projection"},
        {"budget": 10, "maintenance": "approximate", "rho": 0.1},
        {"budget": 1},
    ],
    "OGD": [{"learning_rate": 0.3}, {"l2": 0.1}, {"learning_rate": INVERSE_SCALING}],
    "KRLS": [{"nu": 0.1}, {"nu": 0.01, "budget": 12}, {"nu": 0.3, "budget": 1}],
    "QKLMS": [
        {"epsilon": 0.5},
        {"epsilon": 0.0},
        {"epsilon": 0.3, "budget": 12},
        {"budget": 1, "learning_rate": INVERSE_SCALING},
    ],
    "OLK": [{"learning_rate": 0.5}, {"learning_rate": 0.5, "radius": 1.0}, {"learning_rate": 0.9, "horizon": 200}],
    "OLRU": [
        {"learning_rate": 0.3, "seed": 3},
        {"learning_rate": 0.3, "c": 0.7, "power": 0.5, "radius": 1.0, "seed": 4},
        {"learning_rate": 0.4, "horizon": 200, "seed": 5},
        {"learning_rate": INVERSE_SCALING, "power": 0.1, "seed": 6},
    ],
    "OLRD": [
        {"learning_rate": 0.5, "budget": 15, "radius": None, "seed": 3},
        {"learning_rate": 0.5, "budget": 15, "radius": 1.0, "seed": 4},
        {"learning_rate": 0.5, "budget": 15, "radius": 1.0, "projection": "approximate", "seed": 5},
        {"learning_rate": 0.5, "c": 1.0, "radius": 2.0, "projection": "approximate", "seed": 6},
        {"learning_rate": 0.5, "c": 0.8, "horizon": 200, "radius": None, "seed": 7},
        {"learning_rate": 0.5, "budget": 1, "seed": 8},
    ],
    "BOGD": [
        {"budget": 15, "seed": 3},
        {"budget": 15, "sampling": "magnitude", "seed": 4},
        {"budget": 15, "max_coef": 0.15, "seed": 5},
        {"budget": 15, "max_coef": 0.1, "sampling": "magnitude", "l2": 0.1, "seed": 6},
        {"budget": 1, "seed": 7},
        {"budget": 1, "sampling": "magnitude", "seed": 7},
    ],
    "OSKL": [
        {"seed": 3},
        {"averaged": False, "bound": 0.5, "seed": 4},
        {"loss": Both(optim.losses.Hinge(), reference.Hinge()), "bound": 2.0, "seed": 5},
    ],
    "KernelSGD": [{"l2": 0.01}, {}, {"l2": 2.0}],
    "BSGD": [
        {"budget": 15, "l2": 0.01},
        {"budget": 12, "l2": 0.01, "maintenance": "projection"},
        {"budget": 12, "l2": 0.01, "maintenance": "merging"},
        {"budget": 1, "l2": 0.01},
    ],
    "NBSGD": [
        NBSGD,
        {**NBSGD, "maintenance": "projection"},
        {**NBSGD, "maintenance": "approximate", "n_neighbors": 3},
        {**NBSGD, "maintenance": "merging"},
    ],
    "POMDR": [{"budget": 15, "radius": 3.0}, {"budget": 60, "radius": 2.0, "hint": 4, "horizon": 200}, {"budget": 2}],
    "KernelOneClassSVM": [
        {},
        {"budget": 8, "nu": 0.3, "learning_rate": 0.02},
        {"budget": 1, "nu": 0.9},
        {"budget": 12, "learning_rate": INVERSE_SCALING},
    ],
    "NOGD": [{"budget": 20}, {"budget": 12, "rank": 5, "learning_rate": 0.3}, {"budget": 10, "rank": 10}],
    "SkeGD": [{"budget": 20, "seed": 3}, {"budget": 12, "seed": 4, "horizon": 40}, {"budget": 1, "seed": 5}],
    "TVM": [
        {"budget": 8, "merging": "global"},
        {"budget": 8, "merging": "nearest", "C": 0.3},
        {"budget": 9, "merging": "global", "C": 20.0, "buffer": 1.5},
        {"budget": 1, "merging": "global"},
    ],
    "FOGD": [{"n_components": 30, "seed": 3}, {"n_components": 30, "seed": 3, "learning_rate": INVERSE_SCALING}],
}

# The suffix average is rejected with a ball (squared loss with λ ≤ 1).
CONFIGURATIONS_OF_ONE = {
    "NBSGDClassifier": [{**NBSGD, "suffix": 0.4}],
    "NBSGDRegressor": [{**NBSGD, "suffix": 0.4, "loss": REGRESSION_LOSSES[0]}],
    "BPARegressor": [{"budget": 15, "eps": 0.0, "C": 0.5}],
    "KernelPARegressor": [{"eps": 0.3}],
    "SPARegressor": [{"eps": 0.02, "seed": 9}],
}


def family(name):
    return name.removesuffix("Classifier").removesuffix("Regressor")


def configurations(name, cls):
    options = list(CONFIGURATIONS.get(family(name), [{}])) + CONFIGURATIONS_OF_ONE.get(name, [])
    if "loss" in parameters(cls) and family(name) in CONFIGURATIONS:
        tried = REGRESSION_LOSSES if name.endswith("Regressor") else CLASSIFICATION_LOSSES
        options += [{**options[0], "loss": loss} for loss in tried if name != "OSKLClassifier"]
    return options


def cases():
    for name, cls in EVERY_CLASS.items():
        if not hasattr(reference, name):
            continue
        for c, options in enumerate(configurations(name, cls)):
            places = RADIAL_PLACES if family(name) in RBF_ONLY or options.get("maintenance") in RBF_ONLY else PLACES
            if c:  # a different pair for each
                places = [places[c % len(places)], places[(3 * c + 2) % len(places)]]
            for p, (kernel, stream) in enumerate(dict.fromkeys(places)):
                words = [f"{k}={label(v)}" for k, v in options.items() if k != "seed"]
                marks = [pytest.mark.fast] if c == p == 0 else []
                case = name, options, kernel, stream, samples(name, options, p)
                yield pytest.param(*case, id="-".join([name, kernel, stream, *words]), marks=marks)


def label(value):
    value = value.ours if isinstance(value, Both) else value
    return value if isinstance(value, int | float | str) else type(value).__name__


def samples(name, options, place):
    """The length of a stream; references that recompute everything are slow."""
    if family(name) == "DUOL" or options.get("maintenance") == "merging":
        return 80
    return 100 if place else LONGEST


def tolerance(options):
    """Relative. The h of a fusion is the root of a derivative; if that root is nearly double (equal coefficients,
    κ = e⁻²), its error is the square root of an ulp, in both implementations.  TVM and its reference are accurate to
    1e-10 for f at the prototypes, less elsewhere and for the coefficients."""
    return 1e-7 if options.get("maintenance") == "merging" or "merging" in options else 1e-9


LONGEST = 160


@functools.cache
def stream_of(kind, target):
    """The same dicts for all references, which must not change them."""
    return streams.KINDS[kind](target, n=LONGEST)


@functools.cache
def known_values(kernel, kind, target):
    """Kernel values shared by references with one kernel on one stream (see reference.remembered)."""
    return {}, []


def pair(name, options, kernel, known):
    """The model and its reference."""
    ours = {k: v.ours if isinstance(v, Both) else v for k, v in options.items()}
    theirs = {k: v.twins if isinstance(v, Both) else v for k, v in options.items()}
    model = EVERY_CLASS[name](KERNELS[kernel].ours, **ours)
    if family(name) == "FOGD":  # the reference gets the class's draws from N(0, I)
        width = math.sqrt(2.0 * KERNELS[kernel].ours.gamma)
        theirs["frequency"] = functools.cache(lambda name: width * frequencies(model._f.key, name, model.n_components))
    return model, getattr(reference, name)(reference.remembered(KERNELS[kernel].twins, known), **theirs)


def test_every_class_has_a_reference():
    missing = [name for name in EVERY_CLASS if not hasattr(reference, name) and name not in WITHOUT_TWIN]
    assert not missing
    assert not [name for name in WITHOUT_TWIN if hasattr(reference, name)]


def test_every_class_with_options_is_configured():
    """A new class fails here until its options are configured."""
    assert not [name for name in EVERY_CLASS if family(name) not in CONFIGURATIONS and name not in WITHOUT_TWIN]


@pytest.mark.parametrize(("name", "options", "kernel", "stream", "n"), list(cases()))
def test_the_class_matches_its_reference(name, options, kernel, stream, n):
    place = stream, task(EVERY_CLASS[name])
    model, twin = pair(name, options, kernel, known_values(kernel, *place))
    rel, largest = tolerance(options), 0.0
    for t, (x, y) in enumerate(stream_of(*place)[:n]):
        expected, found = twin.decision(x), decision(model, x)
        largest = max(largest, abs(expected))
        assert abs(found - expected) <= rel * largest, f"sample {t}: {found!r} where the twin has {expected!r}"
        twin.learn(x, *target(model, y))
        model.learn_one(x, *target(model, y))
        assert model.n_support_vectors == len(twin.support), f"sample {t}"

    order = np.argsort(twin.birth)
    found = model.support_vectors
    alpha = np.array([twin.alpha[i] for i in order])
    np.testing.assert_allclose([c for _, c in found], alpha, rtol=rel, atol=rel * abs(alpha).max(initial=0.0))
    for (z, _), i in zip(found, order, strict=True):
        expected = {k: v for k, v in twin.support[i].items() if v != 0.0}
        assert z.keys() == expected.keys()
        assert all(math.isclose(z[k], v, rel_tol=rel, abs_tol=rel) for k, v in expected.items())
    assert model.norm == pytest.approx(math.sqrt(max(0.0, twin.norm2())), rel=rel, abs=rel)
    assert largest > 0.0
