"""FOGD and NOGD: accuracy of the features, names, memory."""

from __future__ import annotations

import enum
import itertools
import math

import numpy as np
import pytest

from river_okl import FOGDClassifier, NOGDClassifier, checkpoint, kernels
from river_okl._core.function.frequencies import frequencies
from tests import streams
from tests.core.expansions import run_python

GAMMA = 0.4
RBF = kernels.RBF(gamma=GAMMA)


# FOGD ---------------------------------------------------------------------------------------------


def z(model, x):
    """The features of x."""
    return np.array(model._f.features_of(x, 1.0))


def test_frequencies_are_standard_normal():
    U = np.array([frequencies(1, f"x{i}", 500) for i in range(200)])
    n = U.size  # 10⁵
    assert abs(U.mean()) < 4.0 / math.sqrt(n)
    assert abs(U.var() - 1.0) < 4.0 * math.sqrt(2.0 / n)
    assert abs((U**4).mean() - 3.0) < 4.0 * math.sqrt(96.0 / n)
    off_diagonal = np.corrcoef(U)[np.triu_indices(200, 1)]
    assert np.abs(off_diagonal).max() < 5.5 / math.sqrt(500)  # of 19,900 pairs


class Name(str):
    pass


class Colour(enum.IntEnum):
    RED = 1


def test_equal_names_are_one_feature():
    ones = (1, 1.0, True, np.int64(1), np.float32(1.0), Colour.RED)
    for first, *others in (ones, ("a", Name("a"), np.str_("a")), ((1, "a"), (1.0, Name("a")))):
        assert all((frequencies(7, name, 10) == frequencies(7, first, 10)).all() for name in others)
    distinct = [1, "1", -1, -2, 1.5, "a", ("a",), ("a", 1), None, b"a", (("a", 1),)]
    firsts = {float(frequencies(7, name, 1)[0]) for name in distinct}
    assert len(firsts) == len(distinct)
    assert float(frequencies(8, "a", 1)[0]) not in firsts


def test_frequencies_are_the_same_in_every_process():
    """Independent of PYTHONHASHSEED, and pinned: a stored model must find its features again."""
    code = "from river_okl._core.function.frequencies import frequencies as f; print(*f(3, ('a', 1), 3), *f(3, 'b', 1))"
    printed = run_python(code, PYTHONHASHSEED="1")  # this process has another
    expected = [*frequencies(3, ("a", 1), 3), *frequencies(3, "b", 1)]
    assert [float(v) for v in printed.split()] == pytest.approx(expected, abs=0.0)
    assert expected == pytest.approx([2.1293154970829735, -0.7112004696332201, -0.7881222339117884, 1.4469287421056474])


def test_new_names_do_not_fill_memory():
    """The frequencies of 1,000 to 2,000 names are cached, including names in use, and their memory is reported."""
    model = FOGDClassifier(RBF, n_components=200, seed=1)
    sizes = []
    for i in range(5000):
        model.learn_one({f"x{i}": 1.0, "b": 1.0}, i % 2 == 0)
        if i % 500 == 499:
            sizes.append(model._raw_memory_usage)
    assert sizes[1] > 1000 * 200 * 8
    assert max(sizes) < 2100 * (200 * 8 + 200)


@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 8, 9, 31, 32, 64, 65, 129])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e5, 1e9])
def test_features_of_small_and_large_arguments(n_components, size):
    """Sine and cosine are accurate for any argument, and nothing is written beyond the last component."""
    model = FOGDClassifier(kernels.RBF(0.5), n_components=n_components, seed=4)
    rng = np.random.default_rng(n_components)
    for _ in range(20):
        x = {f"x{i}": v for i, v in enumerate(size * rng.normal(size=3))}
        u = sum(v * frequencies(model._f.key, name, n_components) for name, v in x.items())
        largest = sum(abs(v) * abs(frequencies(model._f.key, name, n_components)) for name, v in x.items())
        error = 5e-16 + 4e-16 * largest  # of a sine, and of its argument
        found = z(model, x) * math.sqrt(n_components)
        assert (abs(found[:n_components] - np.cos(u)) <= error).all()
        assert (abs(found[n_components:] - np.sin(u)) <= error).all()


def test_sine_and_cosine_near_multiples_of_half_pi():
    """One component and one feature: arguments as near to a multiple of π/2 as possible, and arbitrary ones."""
    model = FOGDClassifier(kernels.RBF(0.5), n_components=1, seed=4)
    frequency = float(frequencies(model._f.key, "a", 1)[0])
    shifts = (0.0, 1e-9, 1e-3, 0.25, 0.7853981633974483)
    for n, shift in itertools.product([*range(-50, 50), 1000, -12345, 300_000], shifts):
        v = (n * math.pi / 2 + shift) / frequency
        if abs(v) <= 1e5:
            u = v * frequency
            expected = [math.cos(u), math.sin(u)]
            assert z(model, {"a": v}).tolist() == pytest.approx(expected, abs=3e-16 + 2e-16 * abs(u))


def test_a_checkpoint_keeps_features_of_no_seed():
    model, stream = FOGDClassifier(), streams.dense("classification", n=40)
    model.learn_stream(stream[:30])
    other = checkpoint.loads(checkpoint.dumps(model))
    for x, _ in stream[30:]:
        assert other.decision_function_one(x) == model.decision_function_one(x) != 0.0


# NOGD ---------------------------------------------------------------------------------------------


def test_features_are_recomputed_while_gamma_changes():
    model = NOGDClassifier(budget=10, rank=10)
    for x, y in streams.dense("classification", n=300):
        model.decision_function_one(x)
        model.learn_one(x, y)
    gram = model._basis.T @ model._f.gram() @ model._basis  # <φ_i, φ_j>
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-6)
