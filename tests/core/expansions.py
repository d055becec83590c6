"""Shared by tests of the compiled expansion."""

from __future__ import annotations

import math
import os
import pickle
import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from river import base

from river_okl import kernels
from river_okl._core.function.expansion import Expansion
from tests import reference
from tests.reference.kernels import dot
from tests.reference.kernels import squared_distance as distance2

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")  # see benchmarks/README.md
RBF = kernels.RBF(0.5)
KERNELS = {
    "rbf": RBF,
    "laplacian": kernels.Laplacian(0.7),
    "polynomial": kernels.Polynomial(3, gamma=0.3, coef0=0.5),
    "linear": kernels.Linear(),
    "sum": 0.7 * kernels.RBF(0.4) + 0.3 * kernels.Linear(0.1),
    "product": kernels.RBF(0.2) * kernels.Polynomial(2, gamma=0.2),
    "scales": kernels.RBF((0.1, 0.5, 2.0)),
    "composed": (kernels.RBF(0.3) + 0.5 * kernels.Linear(0.2)) * (kernels.Polynomial(2, 0.1) + kernels.Laplacian(0.4)),
    "auto": kernels.RBF(),
    "auto sum": kernels.Laplacian() + 0.5 * kernels.Linear(gamma=None),
}
OPTIONS = {
    "plain": {},
    "norm": {"norm": True},
    "values": {"values": True},
    "norm and values": {"norm": True, "values": True},
    "inverse": {"inverse": True},
    "all": {"norm": True, "values": True, "inverse": True},
}


def expand(kernel=RBF, **options):
    return Expansion(kernel._terms(), **options)


def put(f, x, c=1.0, o=0):
    """The sample becomes a support vector."""
    f.evaluate(x)
    f.add(c, o)


def point(rng, d=5, density=0.7, names=None):
    return {name: rng.gauss(0, 1) for name in (names or range(d)) if rng.random() < density}


def filled(n, kernel=RBF, seed=0, d=5, density=0.7, **options):
    """An expansion of n points with normal coefficients."""
    f, rng = expand(kernel, **options), random.Random(seed)
    for _ in range(n):
        f.observe(point(rng, d, density))
        f.add(rng.gauss(0, 1))
    return f


ACTIONS = ("add", "add", "add", "evaluate", "scale", "shift", "set", "remove", "keep", "coefficients", "pickle", "near")


def act(f, rng, options, names):
    """One random action; returns the expansion to continue with."""
    action = rng.choice(ACTIONS if "inverse" not in options else (*ACTIONS, "project", "absorb"))
    n, o = len(f), rng.randrange(f.n_outputs)
    if action == "near" and n:
        z = f.point(rng.randrange(n))
        f.observe({name: v * (1.0 + 1e-9 * rng.gauss(0, 1)) for name, v in z.items()})
    else:
        f.observe(point(rng, names=rng.sample(names, min(len(names), 6))))
    if action in ("add", "near") and (f.budget is None or n < f.budget):
        f.add(rng.gauss(0, 1), o)
    elif action == "scale":
        f.scale(rng.choice((0.5, 1.1, -1.0, 1e-60, 1e60) if abs(math.log10(size(f))) < 30 else (1.0 / size(f),)))
    elif action == "project":
        assert f.project() >= 0.0
    elif action == "absorb":
        f.absorb(rng.gauss(0, 1), o)
    elif n and action == "shift":
        f.shift(rng.randrange(n), rng.gauss(0, 1), o)
    elif n and action == "set":
        i, c = rng.randrange(n), rng.gauss(0, 1)
        f.set(i, c, o)
        assert f.columns[i, o] == pytest.approx(c, rel=1e-15)
    elif n and action == "remove":
        f.remove(rng.randrange(n))
    elif n and action == "keep":
        positions = rng.sample(range(n), rng.randint(n // 2, n))
        columns, rows = f.columns, f.rows_of(positions)
        K, values = f.rows_among(positions)
        np.testing.assert_array_equal(K, rows[:, positions])
        np.testing.assert_allclose(
            values, (rows @ columns).T, rtol=1e-9, atol=1e-12 * (abs(rows) @ abs(columns)).max(initial=0.0)
        )
        f.keep(positions, [a @ K @ a for a in columns[positions].T] if rng.random() < 0.5 else None)
    elif action == "coefficients":
        columns = f.columns
        columns[:, o] = [rng.gauss(0, 1) for _ in range(n)]
        f.columns = columns
    elif action == "pickle":
        return pickle.loads(pickle.dumps(f))
    return f


def size(f):
    return abs(f.columns).max(initial=1e-200)


def held(f):
    """The bytes of an expansion and all its parts, as River measures a model."""
    return base.Base._raw_memory_usage.fget(f)


DEFINITIONS = {
    "rbf": reference.rbf(0.5),
    "laplacian": reference.laplacian(0.7),
    "polynomial": reference.polynomial(3, 0.3, 0.5),
    "linear": dot,
    "sum": lambda x, z: 0.7 * math.exp(-0.4 * distance2(x, z)) + 0.03 * dot(x, z),
    "product": lambda x, z: math.exp(-0.2 * distance2(x, z)) * (0.2 * dot(x, z) + 1) ** 2,
    "scales": lambda x, z: sum(math.exp(-g * distance2(x, z)) for g in (0.1, 0.5, 2.0)) / 3,
    "composed": lambda x, z: (
        (math.exp(-0.3 * distance2(x, z)) + 0.1 * dot(x, z))
        * ((0.1 * dot(x, z) + 1) ** 2 + math.exp(-0.4 * math.sqrt(distance2(x, z))))
    ),
}


def run_python(program, **environment):
    command, environment = [sys.executable, "-c", textwrap.dedent(program)], {**os.environ, **environment}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


class Moody:
    """A name whose __hash__ and __eq__ raise after a number of calls."""

    left = math.inf

    def __init__(self, i):
        self.i = i

    @staticmethod
    def count():
        Moody.left -= 1
        if Moody.left < 0:
            raise RuntimeError("the name")

    def __hash__(self):
        Moody.count()
        return hash(("moody", self.i % 5))  # so that __eq__ is called, too

    def __eq__(self, other):
        Moody.count()
        return isinstance(other, Moody) and self.i == other.i
