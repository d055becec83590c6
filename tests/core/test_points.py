"""Points: posting lists and dense rows, the vocabulary, bounded memory."""

from __future__ import annotations

import gc
import math
import os
import random
import sys
import weakref

import numpy as np
import pytest

from tests.core.expansions import DEFINITIONS, OPTIONS, SANITIZED, expand, filled, held, put, run_python
from tests.discovery import unchanged


def test_features_move_between_posting_lists_and_dense_rows():
    """Values match the definition on both sides of every transition."""
    f, rng, probe = expand(budget=64), random.Random(12), dict.fromkeys(range(10), 0.5)

    def check():
        f._check()
        brute = math.fsum(c * DEFINITIONS["rbf"](f.point(i), probe) for i, c in enumerate(f.coefficients))
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


def test_a_feature_is_dropped_with_its_last_support_vector():
    class Name:
        """A name with observable references."""

    f, name = expand(budget=4), Name()
    alive = weakref.ref(name)
    put(f, {name: 1.0, "a": 1.0})
    put(f, {"a": 1.0})
    f.remove(0)
    f._check()
    assert len(f) == 1 and f.point(0) == {"a": 1.0}
    del name
    for t in range(40):  # the buffers of the last samples release it
        f.evaluate({"b": float(t), "c": 1.0})
    gc.collect()
    assert alive() is None


def test_equal_names_are_identical_features():
    """Even as different objects: the row of the last sample is reused, but never for different names."""

    class Text(str):
        """User-defined names have their own comparison."""

    rng = random.Random(4)
    alphabets = ("ab", "aé", "a\u20ac", "a\U0001f600", "é\u20ac\U0001f600")
    f, plain = expand(), expand()
    for t in range(150):
        names = ["".join(rng.choices(rng.choice(alphabets), k=rng.randrange(3))) for _ in range(4)]
        others = rng.choices((1, 1.0, True, np.int64(1), 2.5, 10**20 + t % 2, ("a", t % 2), Text("a")), k=2)
        x = {name: rng.choice((1.0, 2.0)) for name in [*names, *others]}
        again = {"".join(list(name)) if type(name) is str else name: value for name, value in x.items()}
        changed = {name + "b" if type(name) is str else name: value for name, value in x.items()}
        canonical = {sys.intern(name) if type(name) is str else name: value for name, value in x.items()}
        plain.rows.memo = False
        for sample, expected in ((x, canonical), (again, canonical), (changed, changed), (again, canonical)):
            assert f.evaluate(sample) == plain.evaluate(expected)
        if t % 3 == 0:
            f.add(0.1)
            plain.add(0.1)
    f._check()


def test_zeros_are_not_stored():
    f = expand()
    put(f, {"a": 0.0, "b": -0.0, "c": 1.0})
    assert f.point(0) == {"c": 1.0}
    assert f.evaluate({"c": 1.0, "z": 0.0}) == f.evaluate({"c": 1.0})


@pytest.mark.parametrize("options", OPTIONS)
def test_evaluating_never_grows(options):
    f = filled(50, **OPTIONS[options])
    f.evaluate(dict.fromkeys(range(1000), 1.0))
    before = held(f)
    with unchanged(f):
        for t in range(3000):
            f.evaluate({f"{t}-{i}": 1.0 for i in range(5)})
    assert held(f) == before


@pytest.mark.skipif(SANITIZED, reason="the sanitizer keeps what is freed")
def test_the_reported_size_is_the_allocated_one():
    """Against the process's memory: the buffers of a wide and a dense model, and of an inverse."""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    run_python("""
        import resource
        from pathlib import Path
        from tests.core.expansions import filled, held
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        small = filled(50, d=10, inverse=True)
        before = resident()
        dense, inverse = filled(1500, d=300, density=1.0), filled(1000, d=10, density=1.0, inverse=True)
        grown, told = resident() - before, held(dense) + held(inverse)
        assert told >= 8 * 300 * 1500 + 2 * 8 * 1000**2, told
        assert 0.7 * grown <= told <= 1.6 * grown, (told, grown)
    """)


def test_wide_sparse_data_takes_little_memory():
    """A million possible features, 30 of them in a sample, 1,000 support vectors: megabytes."""
    f, rng = expand(budget=1000), random.Random(13)
    for _ in range(1500):
        f.evaluate({rng.randrange(10**6): 1.0 for _ in range(30)})
        if len(f) == 1000:
            f.remove(rng.randrange(1000))
        f.add(1.0)
    assert held(f) < 9_000_000  # names included


def posting_lists(f):
    """The names in the posting lists that each point is in, in their order."""
    features, state = f.state()["features"], f.state()["points"]
    names = dict(zip(features["places"].tolist(), features["names"], strict=True))
    sparse = {names[at] for at, rank in zip(state["places"].tolist(), state["ranks"].tolist(), strict=True) if rank < 0}
    order = iter(state["owned"].tolist())
    return [[names[next(order)] for name in f.point(i) if name in sparse] for i in range(len(f))]


@pytest.mark.parametrize("wide", [3, 16, 17, 40, 200])
def test_features_that_become_dense_together_leave_the_order_of_one_by_one(wide):
    """Each leaves its place in a point's list to the last: sums are formed in that order."""
    f, rng, converted = expand(budget=128), random.Random(wide), 0
    for t in range(128):
        x = {f"own {t} {i}": 1.0 + i for i in range(3)}
        x |= {f"wide {i}": 2.0 + i for i in range(wide)} if t > 99 else {}
        x = dict(rng.sample([*x.items()], len(x)))
        before = posting_lists(f)
        put(f, x)
        if t == 115:  # an eighth of the capacity
            for lists in before:
                for name in x:
                    if name in lists:
                        converted += 1
                        lists[lists.index(name)] = lists[-1]
                        lists.pop()
            assert posting_lists(f)[:-1] == before
    assert converted == 15 * wide
    f._check()
