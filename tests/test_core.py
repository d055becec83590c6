"""The compiled expansion: invariants after random actions, accuracy, bounds, pickles, threads.

CI runs it once for each variant of the vector loops (RIVER_OKL_SIMD); here they are compared with each other.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river import base

from river_okl import kernels
from river_okl._core.expansion import Expansion
from river_okl._core.kernel import SIMD_VARIANTS
from river_okl._core.sample import Frame

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


def point(rng, d=5, density=0.7, names=None):
    return {name: rng.gauss(0, 1) for name in (names or range(d)) if rng.random() < density}


def filled(n, kernel=RBF, seed=0, d=5, density=0.7, **options):
    """An expansion of n points with normal coefficients."""
    f, rng = expand(kernel, **options), random.Random(seed)
    for _ in range(n):
        f.observe(point(rng, d, density))
        f.add(rng.gauss(0, 1))
    return f


# Any sequence of actions ------------------------------------------------------------------------------------------

ACTIONS = ("add", "add", "add", "evaluate", "scale", "shift", "set", "remove", "keep", "coefficients", "pickle", "near")


def act(f, rng, options, names):
    """One random action; returns the expansion to go on with."""
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


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    n_outputs=st.integers(1, 3),
    budget=st.sampled_from([None, 1, 7, 12]),
    wide=st.booleans(),
)
def test_any_actions_keep_the_invariants(kernel, options, seed, n_outputs, budget, wide):
    rng = random.Random(seed)
    f = expand(KERNELS[kernel], n_outputs=n_outputs, budget=budget, **OPTIONS[options])
    names = [*range(60)] if wide else ["a", ("b", 1), 3, None, 2.5]
    for _ in range(rng.randrange(5, 40)):
        f = act(f, rng, OPTIONS[options], names)
        f._check()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_pickle_is_deterministic_and_goes_on_bit_for_bit(options, wide):
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
        assert state_of(f) == state_of(g)
        x = point(rng, names=names)
        assert f.evaluate(x) == g.evaluate(x)


def state_of(f):
    return f.__reduce__()[1:]


def held(f):
    """The bytes of an expansion and of all its parts, as River's meter has those of a model."""
    return base.Base._raw_memory_usage.fget(f)


def test_scratch_is_not_pickled():
    f = filled(20)
    before = pickle.dumps(f)
    rng = random.Random(9)
    for _ in range(10):
        f.evaluate(point(rng))
        f.evaluate({f"new {rng.random()}": 1.0})
    assert pickle.dumps(f) == before


def test_a_damaged_state_is_refused():
    terms = RBF._terms()
    kernel, state = filled(6, norm=True, values=True, inverse=True).__reduce__()[2]
    for key, value in state.items():
        for bad in damages(value):
            g = Expansion(terms, norm=True, values=True, inverse=True)
            with pytest.raises((ValueError, TypeError, KeyError, IndexError, OverflowError)):
                g.__setstate__((kernel, {**state, key: bad}))
    with pytest.raises(RuntimeError, match="new"):
        filled(3).__setstate__((kernel, state))


def damages(value):
    if isinstance(value, bytes):
        return [value[:-1], value + b"x", value[: len(value) // 2 // 8 * 8 + 8] + value] if value else [b"x"]
    if isinstance(value, list) and value:
        return [value[:-1], [*value, "more"], [value[0]] * len(value)]
    if isinstance(value, bool):
        return ["yes"]
    if isinstance(value, tuple):
        return [(), None, (value[0][:-8], *value[1:])]
    return ["nonsense", None]


# Kernels by their definitions -------------------------------------------------------------------------------------


def dot(x, z):
    return math.fsum(v * z.get(k, 0.0) for k, v in x.items())


def distance2(x, z):
    return math.fsum((x.get(k, 0.0) - z.get(k, 0.0)) ** 2 for k in x.keys() | z.keys())


DEFINITIONS = {
    "rbf": lambda x, z: math.exp(-0.5 * distance2(x, z)),
    "laplacian": lambda x, z: math.exp(-0.7 * math.sqrt(distance2(x, z))),
    "polynomial": lambda x, z: (0.3 * dot(x, z) + 0.5) ** 3,
    "linear": dot,
    "sum": lambda x, z: 0.7 * math.exp(-0.4 * distance2(x, z)) + 0.03 * dot(x, z),
    "product": lambda x, z: math.exp(-0.2 * distance2(x, z)) * (0.2 * dot(x, z) + 1) ** 2,
    "scales": lambda x, z: sum(math.exp(-g * distance2(x, z)) for g in (0.1, 0.5, 2.0)) / 3,
}


@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_kernels_are_their_definitions(kernel, density):
    f, rng = filled(37, KERNELS[kernel], density=density), random.Random(4)
    kappa, alpha, points = DEFINITIONS[kernel], f.coefficients, [f.point(i) for i in range(37)]
    for _ in range(30):
        x = point(rng, density=density)
        row = [kappa(z, x) for z in points]
        value = f.evaluate(x)
        np.testing.assert_allclose(f.row, row, rtol=1e-12, atol=1e-13)
        assert value == pytest.approx(float(np.dot(alpha, row)), rel=1e-12, abs=1e-12)
        assert f.self_similarity == pytest.approx(kappa(x, x), rel=1e-14)
    np.testing.assert_allclose(f.gram(), [[kappa(a, b) for b in points] for a in points], rtol=1e-12, atol=1e-13)


def test_composed_kernels_are_multiplied_out():
    kernel = (kernels.RBF(0.3) + 0.5 * kernels.Linear(0.2)) * (kernels.Polynomial(2, 0.1) + kernels.Laplacian(0.4))
    f, rng = filled(9, kernel), random.Random(4)
    x = point(rng)
    f.evaluate(x)
    for i, found in enumerate(f.row):
        z = f.point(i)
        left = math.exp(-0.3 * distance2(x, z)) + 0.1 * dot(x, z)
        right = (0.1 * dot(x, z) + 1) ** 2 + math.exp(-0.4 * math.sqrt(distance2(x, z)))
        assert found == pytest.approx(left * right, rel=1e-13)


def test_too_many_terms_are_refused():
    with pytest.raises(ValueError, match="16 terms"):
        Expansion(kernels.RBF(0.1)._terms() * 17)
    with pytest.raises(ValueError, match="32 factors"):
        Expansion(((1.0, kernels.RBF(0.1)._terms()[0][1] * 33),))


def test_the_exponential_is_accurate():
    """Within 4e-16 of math.exp over all of its range, and 0 comes out of what underflows."""
    f = expand(kernels.RBF(1.0))
    f.evaluate({})
    f.add(1.0)
    roots = np.concatenate([np.linspace(0.0, 27.0, 30001), np.geomspace(1e-12, 27.0, 20001)])
    found = f.evaluate_many(Frame(["a"], np.ascontiguousarray(roots[:, None])))[:, 0]
    expected = np.array([math.exp(-r * r) for r in roots])
    assert np.abs(found - expected).max() <= 4e-16
    ordinary = roots * roots < 700.0
    assert (np.abs(found - expected)[ordinary] <= 6e-16 * expected[ordinary]).all()
    assert 0.0 <= f.evaluate({"a": 1e4}) <= 1e-300
    assert f.evaluate({"a": 0.0}) == 1.0


def test_large_nearly_equal_points_do_not_cancel():
    """With all features there, distances are sums of squared differences: offsets of 1e8 cost nothing."""
    rng = random.Random(1)
    f = expand(RBF)
    points = [{i: 1e8 + rng.randrange(-4, 5) / 4 for i in range(4)} for _ in range(20)]
    for z in points:
        f.evaluate(z)
        f.add(1.0)
    for z in points:
        f.evaluate(z)
        np.testing.assert_allclose(f.row, [DEFINITIONS["rbf"](z, other) for other in points], rtol=1e-15)


def test_cancellation_is_bounded_by_the_squares():
    """With features of one point alone it is |x|² + |z|² - 2 x.z: wrong by some ulp of the squares and no more."""
    rng = random.Random(2)
    f = expand(kernels.RBF(1.0))
    for i in range(64):
        f.evaluate({("own", i): 1e4, ("own", i + 1000): 1.0, "all": rng.gauss(0, 1)})
        f.add(1.0)
    for i in range(64):
        z = f.point(i)
        x = {name: v + 1e-3 * rng.gauss(0, 1) for name, v in z.items()}
        f.evaluate(x)
        exact = math.exp(-distance2(x, z))
        assert abs(f.row[i] - exact) <= 16 * 2.3e-16 * (dot(x, x) + dot(z, z))


@pytest.mark.parametrize("scale", [1e-40, 1e-8, 1.0, 1e8, 1e40])
def test_scales_of_the_data(scale):
    rng = random.Random(3)
    f = expand(kernels.RBF(0.5 / scale**2), norm=True)
    g = expand(kernels.RBF(0.5), norm=True)
    for _ in range(40):
        x, c = point(rng), rng.gauss(0, 1)
        f.evaluate({k: v * scale for k, v in x.items()})
        g.evaluate(x)
        np.testing.assert_allclose(f.row, g.row, rtol=1e-12)
        f.add(c)
        g.add(c)
    assert f.norm2 == pytest.approx(g.norm2, rel=1e-12)
    f._check()


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1e90, 1e140])
def test_scales_of_the_coefficients(scale):
    f, g = (filled(30, norm=True, values=True) for _ in range(2))
    f.scale(scale)
    rng = random.Random(5)
    x = point(rng)
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


# Rounding over a long life ----------------------------------------------------------------------------------------


def brute_norm2(f):
    alpha = f.coefficients.astype(np.longdouble)
    return float(alpha @ f.gram().astype(np.longdouble) @ alpha)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_norms_do_not_drift(kernel):
    """200,000 changes of f of each cheap kind."""
    rng = random.Random(6)
    f = expand(KERNELS[kernel], budget=16, norm=True, values=True)
    points = [point(rng) for _ in range(200)]
    for t in range(200_000):
        f.observe(points[t % 200])
        if len(f) == 16:
            f.remove(t * 7 % 16)
            f.scale(16 / 15 * 0.9)
        f.add((1.0, -0.3, 5.0, -2.0)[t % 4])
        if f.norm2 > 400.0:
            f.scale(0.05)
    exact = brute_norm2(f)
    assert f.norm2 == pytest.approx(exact, rel=1e-6)
    np.testing.assert_allclose(f.values, f.gram() @ f.coefficients, rtol=1e-6, atol=1e-9)
    f._check()


def test_a_norm_that_cancels_is_still_right():
    """f is built up to 1e8 and taken away again but for one small point."""
    f = expand(RBF, norm=True, values=True)
    rng = random.Random(7)
    f.evaluate({"a": 0.0})
    f.add(1e-3)
    for _ in range(50):
        x = {"a": rng.gauss(0, 1)}
        f.evaluate(x)
        f.add(1e8)
    while len(f) > 1:
        f.remove(len(f) - 1)
    assert f.norm2 == pytest.approx(1e-6, rel=1e-6)
    f.remove(0)
    assert f.norm2 == 0.0


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-8, 1e-5, 1e-3])
def test_ten_thousand_near_duplicates_and_their_inverse(spread):
    """Nothing is NaN, no δ² negative, no coefficient explodes: projecting, absorbing, adding or removing."""
    rng = random.Random(8)
    f = expand(RBF, budget=30, norm=True, inverse=True)
    absorbed = added = 0
    for t in range(10_000):
        x = {i: 1.0 + spread * rng.gauss(0, 1) for i in range(3)}
        f.evaluate(x)
        residue = f.project()
        assert 0.0 <= residue <= 1.0
        assert len(f) == 0 or np.abs(f.projection).max() < 1e5
        if t % 3 and len(f):
            before = f.evaluate(x)
            f.absorb(1e-4)
            # f + c Pκ has at x the value f(x) + c ‖Pκ‖²
            assert f.evaluate(x) == pytest.approx(before + 1e-4 * (1.0 - residue), abs=1e-4 * 1e-3)
            absorbed += 1
        else:
            if len(f) == 30:
                f.remove(rng.randrange(30))
            f.add(1e-4)
            added += 1
        if t % 500 == 0:
            assert np.isfinite(f.inverse).all()
            assert np.isfinite(f.coefficients).all()
    assert absorbed > 5000
    assert added > 3000
    # at most every step has added 1e-4 κ, and a removal takes away what its point had
    assert np.abs(f.coefficients).max() < 1e3
    assert math.sqrt(f.norm2) < 10.0
    f._check()


def test_the_inverse_is_the_inverse():
    f = filled(60, kernels.Laplacian(1.0), d=4, density=1.0, inverse=True)
    rng = random.Random(10)
    for _ in range(300):
        f.evaluate(point(rng, d=4, density=1.0))
        f.remove(rng.randrange(60))
        f.add(1.0)
    gram = f.gram()
    assert np.abs(f.inverse @ gram - np.eye(60)).max() < 1e-9
    x = point(rng, d=4, density=1.0)
    f.evaluate(x)
    d = np.linalg.solve(gram, f.row)
    np.testing.assert_allclose(f.projection, d, rtol=1e-7, atol=1e-10)
    assert f.project() == pytest.approx(1.0 - f.row @ d, rel=1e-8)
    v = np.arange(60.0)
    np.testing.assert_allclose(f.inverse_times(v), np.linalg.solve(gram, v), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(f.gram_times(v), gram @ v, rtol=1e-12, atol=1e-12)


def test_absorbing_is_the_orthogonal_projection():
    f = filled(20, kernels.RBF(0.3), d=3, density=1.0, inverse=True, norm=True)
    rng = random.Random(11)
    x = point(rng, d=3, density=1.0)
    before, alpha = f.norm2, f.coefficients
    value, residue = f.evaluate(x), f.project()
    f.absorb(0.7)
    d = (f.coefficients - alpha) / 0.7
    np.testing.assert_allclose(f.gram() @ d, f.row, rtol=1e-9)
    assert f.norm2 == pytest.approx(before + 1.4 * value + 0.49 * (1.0 - residue), rel=1e-9)
    # a point of the support set is its own projection
    f.evaluate(f.point(7))
    assert f.project() <= 1e-12
    np.testing.assert_allclose(f.projection, np.eye(20)[7], atol=1e-6)


# Storage ----------------------------------------------------------------------------------------------------------


def test_features_move_between_posting_lists_and_dense_rows():
    """The values are those of the definition on both sides of every transition."""
    f, rng = expand(budget=64), random.Random(12)
    kappa = DEFINITIONS["rbf"]
    probe = dict.fromkeys(range(10), 0.5)

    def check():
        f._check()
        brute = math.fsum(c * kappa(f.point(i), probe) for i, c in enumerate(f.coefficients))
        assert f.evaluate(probe) == pytest.approx(brute, rel=1e-12, abs=1e-12)

    for share in (1.0, 0.03, 0.5, 0.0, 1.0):
        for _ in range(70):
            x = {i: rng.gauss(0, 1) for i in range(10) if rng.random() < share}
            f.evaluate(x | {("rare", rng.randrange(40)): 1.0})
            if len(f) == 64:
                f.remove(rng.randrange(64))
            f.add(rng.gauss(0, 1))
        check()
    while len(f):
        f.remove(rng.randrange(len(f)))
        check()


def vocabulary(f):
    return {name for i in range(len(f)) for name in f.point(i)}


def test_a_feature_leaves_with_its_last_support_vector():
    class Name:
        """A name that shows whether anyone still holds it."""

    import gc
    import weakref

    f = expand(budget=4)
    name = Name()
    alive = weakref.ref(name)
    f.evaluate({name: 1.0, "a": 1.0})
    f.add(1.0)
    f.evaluate({"a": 1.0})
    f.add(1.0)
    f.remove(0)
    f._check()
    assert vocabulary(f) == {"a"}
    del name
    for t in range(40):  # the buffers of the last samples let go of it
        f.evaluate({"b": float(t), "c": 1.0})
    gc.collect()
    assert alive() is None


def test_names_that_are_equal_are_the_same():
    """Whatever objects they are: the row of the last sample is used again, and never for names that differ."""

    class Text(str):
        """Names of one's own are compared by themselves."""

    rng = random.Random(4)
    alphabets = ("ab", "aé", "a\u20ac", "a\U0001f600", "é\u20ac\U0001f600")
    f, plain = expand(), expand()
    for t in range(150):
        names = ["".join(rng.choices(rng.choice(alphabets), k=rng.randrange(3))) for _ in range(4)]
        others = [rng.choice((1, 1.0, True, 2.5, 10**20 + t % 2, ("a", t % 2), Text("a"))) for _ in range(2)]
        x = {name: rng.choice((1.0, 2.0)) for name in [*names, *others]}
        again = {"".join(list(name)) if type(name) is str else name: value for name, value in x.items()}
        changed = {name + "b" if type(name) is str else name: value for name, value in x.items()}
        canonical = {sys.intern(name) if type(name) is str else name: value for name, value in x.items()}
        plain.memo = False
        for sample, expected in ((x, canonical), (again, canonical), (changed, changed), (again, canonical)):
            assert f.evaluate(sample) == plain.evaluate(expected)
        if t % 3 == 0:
            f.add(0.1)
            plain.add(0.1)
    f._check()


def test_zeros_are_not_stored():
    f = expand()
    f.evaluate({"a": 0.0, "b": -0.0, "c": 1.0})
    f.add(1.0)
    assert f.point(0) == {"c": 1.0}
    assert f.evaluate({"c": 1.0, "z": 0.0}) == f.evaluate({"c": 1.0})


@pytest.mark.parametrize("options", OPTIONS)
def test_evaluating_never_grows(options):
    f = filled(50, **OPTIONS[options])
    f.evaluate(dict.fromkeys(range(1000), 1.0))
    before, state = held(f), state_of(f)
    for t in range(3000):
        f.evaluate({f"{t}-{i}": 1.0 for i in range(5)})
    assert held(f) == before
    assert state_of(f) == state


def test_fresh_names_keep_memory_flat():
    f = expand(budget=20, norm=True)
    sizes = []
    for t in range(20_000):
        f.evaluate({("user", t): 1.0, ("word", t): 2.0, "bias": 1.0})
        if len(f) == 20:
            f.remove(t % 20)
        f.add(1.0)
        if t % 4000 == 100:
            sizes.append(held(f))
    assert len(set(sizes)) == 1
    assert len(vocabulary(f)) == 41
    f._check()


@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
def test_the_size_is_that_of_what_is_held():
    """Against the process: the buffers of a wide and a dense model, and of an inverse."""
    program = """
        import resource
        from tests.test_core import filled, held as counted
        def resident():
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize()
        import random
        small = filled(50, d=10, inverse=True)
        before = resident()
        dense = filled(1500, d=300, density=1.0)
        inverse = filled(1000, d=10, density=1.0, inverse=True)
        held = resident() - before
        told = counted(dense) + counted(inverse)
        assert told >= 8 * 300 * 1500 + 2 * 8 * 1000**2, told
        assert 0.7 * held <= told <= 1.6 * held, (told, held)
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    run_python(program)


def test_wide_sparse_data_takes_what_it_holds():
    """A million possible features, 30 of them in a sample, 1,000 support vectors: megabytes."""
    f, rng = expand(budget=1000), random.Random(13)
    for _ in range(1500):
        f.evaluate({rng.randrange(10**6): 1.0 for _ in range(30)})
        if len(f) == 1000:
            f.remove(rng.randrange(1000))
        f.add(1.0)
    assert held(f) < 9_000_000  # names included
    f.remove(3)
    assert len(f) == 999


def test_a_budget_is_a_hard_cap():
    f = expand(budget=3)
    for i in range(3):
        f.evaluate({i: 1.0})
        f.add(1.0)
    f.evaluate({9: 1.0})
    state = state_of(f)
    with pytest.raises(RuntimeError, match="budget of 3"):
        f.add(1.0)
    assert state_of(f) == state
    for budget in (0, -1, 2**31, 10**12):
        with pytest.raises(ValueError, match="budget"):
            expand(budget=budget)
    expand(budget=2**31 - 1).evaluate({"a": 1.0})  # takes no memory before it is needed


def test_positions_and_births():
    f = expand()
    for i in range(6):
        f.evaluate({"a": float(i)})
        f.add(float(i + 1))
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
    f.evaluate({"a": 9.0})
    f.add(1.0)
    assert max(f.births) == 6
    for i in (-1, 3, 100):
        for call in (f.remove, f.point, f.value_of, f.row_of, lambda i: f.shift(i, 1.0), lambda i: f.set(i, 1.0)):
            with pytest.raises(IndexError, match="position"):
                call(i)


def test_the_smallest_is_the_oldest_of_the_ties():
    f = expand()
    for i, c in enumerate((2.0, -1.0 - 1e-12, 1.0, -1.0, 3.0)):
        f.evaluate({"a": float(i)})
        f.add(c)
    assert f.smallest() == 1
    f.remove(1)  # the one of 3.0 comes here
    assert f.births[f.smallest()] == 2
    f.set(2, 0.5)
    assert f.smallest() == 2


def test_an_empty_expansion():
    f = expand(norm=True, values=True, inverse=True)
    assert f.evaluate({"a": 1.0}) == 0.0
    assert f.norm2 == 0.0
    assert f.project() == 1.0
    assert f.row.shape == f.coefficients.shape == f.values.shape == f.projection.shape == (0,)
    assert f.gram().shape == f.inverse.shape == (0, 0)
    f.absorb(1.0)
    f.scale(0.5)
    f.keep([])
    for call in (f.oldest, f.smallest):
        with pytest.raises(IndexError):
            call()
    f._check()


def test_outputs_share_the_support_vectors():
    f, rng = expand(n_outputs=3, norm=True), random.Random(14)
    for t in range(15):
        f.evaluate(point(rng))
        f.add(rng.gauss(0, 1), t % 3)
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


# The memo ---------------------------------------------------------------------------------------------------------


def test_a_row_stays_in_step_with_positions():
    f, rng = filled(20, d=3, density=1.0), random.Random(15)
    x = point(rng, d=3, density=1.0)
    f.evaluate(x)
    row = f.row
    f.remove(4)
    expected = row[:-1].copy()
    expected[4] = row[-1]
    assert (f.row == expected).all()
    f.add(0.5)
    assert f.row[-1] == 1.0
    assert (f.row[:-1] == expected).all()


def test_the_memo_compares_values_not_dicts():
    f = filled(20, d=3, density=1.0)
    x = {0: 1.0, 1: 2.0}
    first = f.evaluate(x)
    x[1] = -2.0
    second = f.evaluate(x)
    assert second != first
    x[1] = 2.0
    assert f.evaluate(dict(reversed(x.items()))) == pytest.approx(first, rel=1e-14)
    assert f.evaluate({0: 1.0, 1: 2.0}) == first


def test_the_memo_knows_that_coefficients_moved():
    for change in (
        lambda f: f.shift(3, 0.5),
        lambda f: f.set(3, 0.5),
        lambda f: f.scale(0.5),
        lambda f: f.remove(3),
        lambda f: f.add(0.5),
        lambda f: f.keep(range(10)),
        lambda f: setattr(f, "coefficients", range(20)),
        lambda f: f.absorb(0.5),
        lambda f: f.scale(1e-150),
    ):
        f, g = filled(20, inverse=True), filled(20, inverse=True)
        g.memo = False
        x = {0: 1.0, 1: -1.0, 2: 0.5}
        for h in (f, g):
            h.evaluate(x)
            change(h)
        assert f.evaluate(x) == g.evaluate(x)
        assert (f.row == g.row).all()


# Samples ----------------------------------------------------------------------------------------------------------


def test_a_frame_is_its_dicts_bit_for_bit():
    rng = np.random.default_rng(16)
    matrix = rng.normal(size=(50, 7))
    matrix[rng.random((50, 7)) < 0.3] = 0.0
    names = [*"abcdefg"]
    f, g = expand(budget=12, norm=True), expand(budget=12, norm=True)
    frame = Frame(names, matrix)
    assert len(frame) == 50
    for row, values in zip(frame, matrix, strict=True):
        x = dict(zip(names, values.tolist(), strict=True))
        assert dict(row.items()) == x
        assert f.observe(row) == g.observe(x)
        for h in (f, g):
            if len(h) == 12:
                h.remove(5)
            h.add(0.3)
        assert state_of(f) == state_of(g)
    many = f.evaluate_many(frame)
    assert many.shape == (50, 1)
    assert [g.evaluate(dict(row.items())) for row in frame] == many[:, 0].tolist()


@pytest.mark.parametrize("kernel", [RBF, kernels.Laplacian(0.3), kernels.Polynomial(2), RBF * kernels.Linear()])
@pytest.mark.parametrize("density", [1.0, 0.06])
def test_rows_at_once_are_the_rows_one_by_one_bit_for_bit(kernel, density):
    f = filled(30, kernel, d=12, density=density)
    positions = [3, 29, 0, 17, 5, 3, 8]
    assert f.rows_of(positions).tolist() == [f.row_of(i).tolist() for i in positions]
    assert f.rows_of([]).shape == (0, 30)
    gram = f.gram()
    assert (gram == gram.T).all()
    assert np.tril(gram).tolist() == np.tril([f.row_of(i) for i in range(30)]).tolist()
    with pytest.raises(IndexError):
        f.rows_of([0, 1, 2, 3, 30])


@pytest.mark.parametrize("classes", [0, 3])
def test_combinations_of_outputs_are_the_same_for_a_frame_bit_for_bit(classes):
    f = filled(20, n_outputs=3)
    for _ in range(classes and classes - 1):
        f.add_class() if f.n_classes else f.split_classes()
    frame = Frame([*range(4)], np.random.default_rng(17).normal(size=(11, 4)))
    weights = (0.3, -2.0, 0.7)
    many = f.evaluate_many(frame, weights)
    assert many.shape == (11, classes or 1)
    for row, found in zip(frame, many, strict=True):
        one = f.evaluate(row, weights) if classes else [f.evaluate(row, weights)]
        assert one == found.tolist()
        columns = f.columns.reshape(20, classes or 1, 3) @ weights
        np.testing.assert_allclose(found, f.row @ columns, rtol=1e-12, atol=1e-13)


def test_a_bad_frame_is_refused():
    with pytest.raises(ValueError, match="2 names for 3 columns"):
        Frame(["a", "b"], np.zeros((4, 3)))
    for value in (math.nan, math.inf, 1e51):
        with pytest.raises(ValueError, match="'b' is"):
            Frame(["a", "b"], np.array([[0.0, 1.0], [0.0, value]]))
    with pytest.raises(ValueError, match="'a'"):
        Frame(["a", "a"], np.zeros((1, 2)))
    frame = Frame(["a"], np.zeros((2, 1)))
    for i in (-1, 2):
        with pytest.raises(IndexError):
            frame[i]


def test_a_kernel_too_large_is_refused():
    f = expand(kernels.Polynomial(4))
    f.evaluate({"a": 1.0})
    f.add(1.0)
    state = state_of(f)
    with pytest.raises(ValueError, match=r"scale the features.*'b'"):
        f.evaluate({"a": 1.0, "b": 1e40})
    with pytest.raises(ValueError, match="scale the features"):
        f.evaluate_many(Frame(["a", "b"], np.array([[1.0, 1.0], [1.0, 1e40]])))
    assert state_of(f) == state
    assert f.evaluate({"a": 1.0}) == 16.0


def test_equal_names_are_one_feature():
    f = expand()
    f.evaluate({1: 2.0})
    f.add(1.0)
    for same in (1, 1.0, True, np.int64(1)):
        assert f.evaluate({same: 2.0}) == 1.0


# The bandwidth of the stream --------------------------------------------------------------------------------------


def test_the_automatic_bandwidth_is_that_of_the_first_200_samples():
    rng = random.Random(17)
    stream = [{i: rng.gauss(0, 3) for i in range(4)} for _ in range(400)]
    f = expand(kernels.RBF())
    for x in stream:
        f.observe(x)
        if len(f) < 5:
            f.add(1.0)
    mean = np.mean([distance2(a, b) for a, b in itertools.pairwise(stream[:200])])
    assert f.kernel.gammas == (pytest.approx(3.0 / mean, rel=1e-12),)
    f._check()


@pytest.mark.parametrize(
    ("kernel", "gamma"),
    [
        (kernels.Laplacian(), lambda distance, square: math.sqrt(3 / distance)),
        (kernels.Linear(gamma=None), lambda distance, square: 1 / square),
        (kernels.Polynomial(2, gamma=None), lambda distance, square: 1 / square),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_automatic_gammas_of_the_other_kernels(kernel, gamma):
    rng = random.Random(18)
    stream = [{i: rng.gauss(1, 3) for i in range(4)} for _ in range(250)]
    f = expand(kernel)
    for x in stream:
        f.observe(x)
    distance = np.mean([distance2(a, b) for a, b in itertools.pairwise(stream[:200])])
    square = np.mean([dot(x, x) for x in stream[:200]])
    assert f.kernel.gammas == (pytest.approx(gamma(distance, square), rel=1e-12),)


def test_everything_follows_while_the_bandwidth_moves():
    f, rng = expand(kernels.RBF(), norm=True, values=True, inverse=True), random.Random(19)
    for t in range(120):
        f.observe({i: rng.gauss(0, 1 + t / 10) for i in range(3)})
        if t % 4 == 0:
            f.add(rng.gauss(0, 1))
        if t % 10 == 0:
            f._check()


def test_a_constant_stream_has_a_kernel_all_the_same():
    f = expand(kernels.RBF())
    for _ in range(300):
        assert math.isfinite(f.observe({"a": 1.0}))
    f.add(1.0)
    assert f.evaluate({"a": 1.0}) == 1.0
    f.observe({"a": 2.0})
    f._check()


# Misuse -----------------------------------------------------------------------------------------------------------


def test_a_bandwidth_that_does_not_move_costs_nothing():
    """A stream of one sample has no scale; it is asked for one for 20,000 samples, and each time f would be settled."""
    f = expand(kernels.RBF(), norm=True, inverse=True)
    for t in range(300):
        f.observe({"a": 1.0})
        if t < 5:
            f.add(1.0)
    assert f.norm2 == pytest.approx(25.0)
    f.observe({"a": 1.0})
    assert not f.__getstate__()["stale"]
    f.observe({"a": 2.0})
    assert f.__getstate__()["stale"]
    f._check()


def test_nothing_before_the_first_sample():
    f = expand(inverse=True)
    for call in (lambda: f.add(1.0), f.project, lambda: f.absorb(1.0), lambda: f.row, lambda: f.self_similarity):
        with pytest.raises(RuntimeError, match="evaluate a sample first"):
            call()


def test_no_inverse_was_asked_for():
    f = filled(3)
    f.evaluate({0: 1.0})
    for call in (f.project, lambda: f.absorb(1.0), lambda: f.inverse, lambda: f.inverse_times([1.0] * 3)):
        with pytest.raises(RuntimeError, match="inverse"):
            call()


class Moody:
    """A name whose __hash__ raises after so many calls."""

    left = math.inf

    def __init__(self, i):
        self.i = i

    def __hash__(self):
        Moody.left -= 1
        if Moody.left < 0:
            raise RuntimeError("the name")
        return hash(("moody", self.i))

    def __eq__(self, other):
        return isinstance(other, Moody) and self.i == other.i


@pytest.mark.parametrize("action", ["evaluate", "observe", "add", "remove", "state"])
@pytest.mark.parametrize("options", [{"norm": True, "values": True}, {"inverse": True}], ids=str)
@pytest.mark.parametrize("n", [5, 30])
def test_a_name_that_raises_leaves_the_expansion_whole(n, options, action):
    """Wherever it does: what is added is in or not in, what is removed is out, and all is forgotten that has no use."""
    names = [Moody(i) for i in range(3 * n + 20)]
    kernel = kernels.RBF() if action == "observe" else RBF
    fired, at = True, 0
    while fired:
        Moody.left = math.inf
        f = expand(kernel, **options)
        for t in range(n):  # common names, rare ones and its own
            f.observe(dict.fromkeys((names[0], names[1 + t % 4], *names[5 + 3 * t : 8 + 3 * t]), 1.0 + 0.1 * t))
            f.add(0.5)
        x = dict.fromkeys([names[0], names[1], *names[-8:]], 0.5)
        f.evaluate(x)
        other = dict.fromkeys(names[2:8], 0.25)
        before, norm = f.coefficients.tolist(), f.norm2
        Moody.left = at
        try:
            if action == "add":
                f.add(1.0)
            elif action == "remove":
                f.remove(0)
            elif action == "state":
                f.__getstate__()
            else:
                getattr(f, action)(other)
            fired = False
        except RuntimeError:
            at += 1 + at // 2 * (n > 5)  # everywhere for 5 points
        Moody.left = math.inf
        if fired and action == "remove":
            assert len(f) == n - 1
        elif fired:
            assert f.coefficients.tolist() == before
            assert action == "observe" or f.norm2 == pytest.approx(norm, rel=1e-12)
        f._check()
        pickle.loads(pickle.dumps(f))._check()
        f.evaluate(x)
        f.add(1.0)
        f._check()
        while len(f):
            f.remove(0)
        f._check()
        assert f.__getstate__()["names"] == []
    assert at > 0 or action == "state"


OUT_OF_MEMORY = """
import pickle, random, resource, sys
from pathlib import Path
from river_okl import kernels
from river_okl._core.expansion import Expansion

def limited(megabytes, act):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * 2**20, -1))
    try:
        act()
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return False

rng = random.Random(1)
f = Expansion(kernels.RBF(0.5)._terms(), norm=True, inverse=True)
for _ in range(512):
    f.evaluate({i: rng.gauss(0, 1) for i in range(20)})
    f.add(1.0)
f.evaluate({0: 0.5, "new": 1.0})
f.project()
before = pickle.dumps(f)
failed = 0
for megabytes in range(2, 20, 3):  # the Gram of 1,024 is 8 MB, and so is its inverse
    g = pickle.loads(before)
    g.evaluate({0: 0.5, "new": 1.0})
    if limited(megabytes, lambda: g.add(1.0)):
        failed += 1
        assert pickle.dumps(g) == before
        assert g.project() == f.project()
assert failed >= 4, failed

f = Expansion(kernels.RBF(0.5)._terms(), norm=True)
for _ in range(10):
    f.evaluate({i: rng.gauss(0, 1) for i in range(20)})
    f.add(1.0)
norm, wide, failed = f.norm2, {("f", i): 1.0 for i in range(20_000)}, 0
for megabytes in range(10):
    g = pickle.loads(pickle.dumps(f))
    g.evaluate(wide)
    if limited(megabytes, lambda: g.add(1.0)):
        failed += 1
        assert g.norm2 == norm
        g.evaluate({0: 0.5, ("f", 7): 1.0})
        g.add(1.0)
        g._check()
assert failed >= 3, failed
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
@pytest.mark.skipif(SANITIZED, reason="the sanitizer reserves 20 TB")
def test_no_memory_is_an_error_and_the_expansion_stays_whole():
    done = subprocess.run([sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_value_that_raises_leaves_the_model():
    f = filled(5)
    expected, state = f.evaluate({0: 1.0}), state_of(f)

    class Angry:
        def __float__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f.evaluate({0: 1.0, 1: Angry()})
    assert state_of(f) == state
    assert f.evaluate({0: 1.0}) == expected


def test_a_dict_that_changes_while_it_is_read():
    f = filled(5)
    x = {}

    class Growing:
        def __float__(self):
            for i in range(100):
                x[f"more {i}"] = 1.0
            return 1.0

    class Clearing:
        def __float__(self):
            x.clear()
            return 1.0

    for value in (Growing(), Clearing()):
        x.clear()
        x.update({0: 1.0, 1: value, 2: 3.0})
        assert math.isfinite(f.evaluate(x))
    f._check()


def test_wrong_sizes_are_refused():
    f = filled(5, inverse=True)
    for values in ([1.0], range(6)):
        with pytest.raises(ValueError, match="5 support vectors"):
            f.coefficients = values
        with pytest.raises(ValueError, match="5 support vectors"):
            f.inverse_times(values)
    with pytest.raises(RuntimeError, match="once"):
        f.__init__(RBF._terms())
    with pytest.raises(ValueError, match="outputs"):
        expand(n_outputs=0)


# Every variant of the vector loops --------------------------------------------------------------------------------


def run_python(program, **environment):
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


DECISIONS = """
    import random
    from tests.test_core import KERNELS, filled, point
    for name, kernel in KERNELS.items():
        for n in (1, 7, 8, 9, 64, 133):
            for density in (1.0, 0.3):
                f, rng = filled(n, kernel, d=12, density=density, norm=True), random.Random(n)
                for _ in range(5):
                    print(repr(f.evaluate(point(rng, 12, density))))
                print(repr(f.norm2))
"""


def test_every_variant_computes_the_same():
    outcomes = [
        np.array([float(line) for line in run_python(DECISIONS, RIVER_OKL_SIMD=variant).split()])
        for variant in SIMD_VARIANTS
    ]
    assert len(outcomes[0]) > 500
    for found in outcomes[1:]:
        np.testing.assert_allclose(found, outcomes[0], rtol=1e-12, atol=1e-11)


def test_an_unknown_variant_is_refused():
    with pytest.raises(AssertionError, match="baseline"):
        run_python("import river_okl._core.kernel", RIVER_OKL_SIMD="mmx")
