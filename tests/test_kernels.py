"""Kernels as value objects: validation, composition, comparison, copies and repr.

Their values are compared with one-line definitions in core/test_rows.py.
"""

from __future__ import annotations

import copy
import functools
import math
import pickle

import numpy as np
import pytest

import river_okl
from river_okl import kernels
from river_okl._core.kernel.compiled import CompiledKernel

ALL = [
    *(kernels.RBF(), kernels.RBF(0.5), kernels.RBF((0.1, 1.0)), kernels.Laplacian(), kernels.Laplacian(2)),
    *(kernels.Polynomial(), kernels.Polynomial(degree=2, gamma=None, coef0=0.0)),
    *(kernels.Linear(), kernels.Linear(gamma=None)),
    0.8 * kernels.RBF() + 0.2 * kernels.Linear(),
    kernels.RBF(0.1) * kernels.Linear() * 3,
    (kernels.RBF(0.1) + kernels.Linear()) * kernels.Polynomial(2),
]


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_copies_are_equal(kernel):
    for same in (kernel.clone(), pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert same == kernel
        assert hash(same) == hash(kernel)
        assert repr(same) == repr(kernel)
    assert sum(other == kernel for other in ALL) == 1
    assert kernel != 1


def test_repr():
    model = river_okl.OLRDClassifier(0.8 * kernels.RBF() + kernels.Linear())
    assert "0.8 * RBF(gamma=None) + Linear(gamma=1.0)" in repr(model)
    assert str(kernels.Polynomial(2)) == "Polynomial(degree=2, gamma=1.0, coef0=1.0)"
    assert str(2 * kernels.RBF(0.5) + kernels.Linear()) == "2 * RBF(gamma=0.5) + Linear(gamma=1.0)"
    assert str((kernels.RBF(1.0) + kernels.Linear()) * kernels.RBF(2.0)) == (
        "(RBF(gamma=1.0) + Linear(gamma=1.0)) * RBF(gamma=2.0)"
    )


POSITIVE = [0, 0.0, -1.0, math.nan, math.inf, "scale", True, 1j, [], ()]
REJECTED = [
    *((kernel, "gamma", POSITIVE) for kernel in (kernels.RBF, kernels.Laplacian, kernels.Linear, kernels.Polynomial)),
    (kernels.RBF, "gamma", [(0.1, -1.0), (0.1, math.nan), ("a",), [0.1, None]]),
    (kernels.Polynomial, "degree", [0, -1, 1.5, 2.0, True, "3", None, 101, math.nan]),
    (kernels.Polynomial, "coef0", [-1.0, math.nan, math.inf, "1", None, 1j]),
]


@pytest.mark.parametrize(("kernel", "name", "values"), REJECTED)
def test_values_that_are_rejected(kernel, name, values):
    for value in values:
        with pytest.raises((ValueError, TypeError), match=name):
            kernel(**{name: value})


def test_compositions_that_are_rejected():
    for make in (kernels.Sum, kernels.Product):
        for parts in ((), (kernels.RBF(), 1.0), (kernels.RBF,)):
            with pytest.raises(TypeError, match="kernels"):
                make(*parts)
    with pytest.raises(TypeError, match="kernels"):
        1 + kernels.RBF()
    with pytest.raises(ValueError, match="weights"):
        kernels.Sum(kernels.RBF(), weights=(1.0, 2.0))
    for weight in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="weights"):
            weight * kernels.RBF()
    with pytest.raises(NotImplementedError, match="compose"):
        kernels.Kernel()._terms()


def too_large():
    """Kernels of many terms, written in a few characters."""
    pair = kernels.RBF(1.0) + kernels.Linear()
    yield lambda: kernels.Product(*[pair] * 30)  # 2^30 terms of 30 factors
    yield lambda: kernels.Product(*[pair] * 5)
    yield lambda: kernels.Product(*[kernels.RBF(1.0)] * 33)
    yield lambda: functools.reduce(lambda kernel, _: kernel + kernel, range(1000), kernels.RBF())
    yield lambda: functools.reduce(lambda kernel, _: kernel + kernels.RBF(), range(1000), kernels.RBF())
    yield lambda: functools.reduce(lambda kernel, _: kernel * kernel, range(1000), pair)
    yield lambda: sum([kernels.RBF()] * 17)
    yield lambda: kernels.RBF(tuple(range(1, 18)))


@pytest.mark.parametrize("make", list(too_large()))
def test_terms_are_counted_before_expansion(make):
    with pytest.raises(ValueError, match="at most 16 terms and 32 factors"):
        make()


def test_the_nesting_of_kernels_is_bounded():
    with pytest.raises(ValueError, match="nested more than 32 deep"):
        functools.reduce(lambda kernel, _: 2.0 * kernel, range(1000), kernels.RBF())


@pytest.mark.parametrize("kernel", [*ALL, kernels.Product(*[kernels.RBF(1.0) + kernels.Linear()] * 3)], ids=str)
def test_the_count_is_that_of_the_terms(kernel):
    terms = kernel._terms()
    assert kernel._size()[:2] == (len(terms), sum(len(factors) for _, factors in terms))


def test_a_sum_of_a_list():
    a, b = kernels.RBF(1.0), kernels.Linear()
    assert sum([a, b]) == a + b


def test_the_bandwidth_in_use_is_readable():
    model = river_okl.RBPClassifier(seed=1)
    assert model.kernel_in_use.gamma == 0.0
    model.learn_one({"a": 0.0}, True)
    model.learn_one({"a": 2.0}, False)
    assert model.kernel_in_use == kernels.RBF(3.0 / 4.0)
    assert river_okl.RBPClassifier(kernels.RBF(0.25)).kernel_in_use == kernels.RBF(0.25)


@pytest.mark.parametrize("kernel", [kernel for kernel in ALL if kernel == kernel._resolved(1.0, 1.0)], ids=str)
def test_kernels_are_functions(kernel):
    x, z = {"a": 1.0, "b": -0.5}, {"b": 2, "c": 0.25}
    model = river_okl.KernelPerceptronClassifier(kernel)
    model.learn_one(z, True)
    assert kernel(x, z) == model.decision_function_one(x)
    assert kernel(x, z) == pytest.approx(kernel(z, x), rel=1e-15)
    assert kernel({}, {}) == kernel({"a": 0.0}, {})


@pytest.mark.parametrize("kernel", ALL, ids=str)
def test_a_matrix_matches_its_pairs(kernel):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(11, 3))
    Z[7] = X[2]
    compiled = CompiledKernel(kernel._terms())
    compiled.tune(2.0, 4.0)
    squares = (X * X).sum(axis=1), (Z * Z).sum(axis=1)
    dots = X @ Z.T
    dots[2, 7] = squares[0][2]
    found = compiled.evaluate(dots, *squares)
    pairs = [[dict(enumerate(row.tolist())) for row in points] for points in (X, Z)]
    resolved = kernel._resolved(2.0, 4.0)
    expected = [[resolved(x, z) for z in pairs[1]] for x in pairs[0]]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="5 x 11 products of 4 points with 11"):
        compiled.evaluate(dots, squares[0][:4], squares[1])


@pytest.mark.parametrize(
    "kernel", [kernels.RBF(), kernels.Linear(gamma=None), kernels.RBF(1.0) * kernels.RBF()], ids=str
)
def test_a_kernel_without_gamma_cannot_be_called(kernel):
    with pytest.raises(ValueError, match=r"has a data-driven gamma: .*kernel_in_use"):
        kernel({"a": 1.0}, {"a": 2.0})
    model = river_okl.KernelPerceptronClassifier(kernel)
    for i in range(5):
        model.learn_one({"a": float(i)}, i % 2 == 0)
    assert model.kernel_in_use({"a": 1.0}, {"a": 2.0}) != 0.0


def test_a_kernel_rejects_what_models_reject():
    with pytest.raises(TypeError, match="feature 'a' is 'text'"):
        kernels.RBF(1.0)({"a": "text"}, {})
    with pytest.raises(ValueError, match="feature 'a' is nan"):
        kernels.RBF(1.0)({}, {"a": math.nan})
