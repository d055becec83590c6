"""Points: the vocabulary, bounded memory."""

from __future__ import annotations

import gc
import random
import sys
import weakref

import numpy as np

from tests.core.expansions import expand, held, put


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


def test_wide_sparse_data_takes_little_memory():
    """A million possible features, 30 of them in a sample, 1,000 support vectors: megabytes."""
    f, rng = expand(budget=1000), random.Random(13)
    for _ in range(1500):
        f.evaluate({rng.randrange(10**6): 1.0 for _ in range(30)})
        if len(f) == 1000:
            f.remove(rng.randrange(1000))
        f.add(1.0)
    assert held(f) < 9_000_000  # names included
