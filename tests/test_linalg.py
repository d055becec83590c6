"""The core's linear algebra against NumPy in extended precision, on parts of larger arrays, which must not change."""

import ast
import hashlib
import itertools
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import river_okl
from river_okl import kernels
from river_okl._core import linalg
from tests import streams
from tests.core.expansions import expand, put, run_python

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 131, 300]
EPS = np.finfo(float).eps


def part(matrix, gap=3):
    """The matrix as part of a larger one of NaN: another leading dimension, an unaligned address."""
    rows, columns = matrix.shape
    whole = np.full((rows + 1, columns + gap), np.nan)
    whole[:rows, 1 : 1 + columns] = matrix
    return whole[:rows, 1 : 1 + columns], whole


def positive(n, seed=0, jitter=1e-2):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-0.5 * ((x[:, None] - x) ** 2).sum(axis=2)) + jitter * np.eye(n)


def lower(matrix):
    """Only the lower triangle; NaN above."""
    return np.where(np.tri(len(matrix), dtype=bool), matrix, np.nan)


def full(triangle):
    triangle = np.tril(triangle)
    return triangle + np.tril(triangle, -1).T


def exactly(a, b):
    """a @ b in extended precision, and the sum of the absolute values of its terms."""
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    return a @ b, abs(a) @ abs(b)


@pytest.mark.parametrize("n", SIZES)
def test_products(n):
    rng = np.random.default_rng(n)
    v = rng.normal(size=n)
    symmetric, _ = part(lower(rng.normal(size=(n, n))))
    product, size = exactly(full(symmetric), v)
    assert (abs(linalg.symmetric_times(symmetric, v) - product) <= (n + 2) * EPS * size).all()
    for m in {n, n // 2, n + 5}:
        A, _ = part(rng.normal(size=(m, n)))
        u = rng.normal(size=m)
        product, size = exactly(A, v)
        assert (abs(linalg.times(A, v) - product) <= (n + 2) * EPS * size).all()
        product, size = exactly(A.T, u)
        assert (abs(linalg.transposed_times(A, u) - product) <= (m + 2) * EPS * size).all()
        w, out = linalg.moved(A, u, v, -0.7)
        np.testing.assert_allclose(w, v - 0.7 * linalg.transposed_times(A, u), rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(out, linalg.times(A, w))
    total, size = exactly(v, v[::-1].copy())
    assert abs(linalg.dot(v, v[::-1].copy()) - total) <= (n + 2) * EPS * size


@pytest.mark.parametrize("n", SIZES)
def test_rank_one(n):
    rng = np.random.default_rng(n)
    A, whole = part(lower(rng.normal(size=(n, n))))
    v, before, outside = rng.normal(size=n), A.copy(), np.isnan(whole)
    linalg.rank_one(A, -0.7, v)
    np.testing.assert_allclose(np.tril(A), np.tril(before - 0.7 * np.outer(v, v)), rtol=4 * EPS, atol=8 * EPS)
    assert (np.isnan(whole) == outside).all()


@pytest.mark.parametrize("n", SIZES)
def test_factor_and_solution(n):
    K, b = positive(n), np.random.default_rng(n).normal(size=n)
    A, whole = part(lower(K))
    outside = np.isnan(whole)
    assert linalg.cholesky(A)
    L = np.tril(A)
    assert (L.diagonal() > 0.0).all()
    product, size = exactly(L, L.T)
    assert (abs(product - K) <= (n + 2) * EPS * size).all()
    (x,) = solution = b[None].copy()
    linalg.solve_factored_rows(A, solution)
    residual, size = exactly(K, x)
    assert (abs(residual - b) <= 4 * (n + 2) * EPS * (size + abs(b))).all()
    assert (np.isnan(whole) == outside).all()


@pytest.mark.parametrize("n", SIZES[1:])
def test_inverse(n):
    """Of K of support vectors; the next solution recomputes a corrupted K⁻¹."""
    f, rng = expand(kernels.RBF(0.1), inverse=True), np.random.default_rng(n)
    for row in rng.normal(size=(n, 12)):
        put(f, dict(enumerate(row)))
    state = f.state()
    identity = np.eye(n)[np.tril_indices(n)]
    assert identity.shape == state["gram"]["inverse"].shape
    f = expand(kernels.RBF(0.1), inverse=True)
    f.restore(state | {"gram": state["gram"] | {"inverse": identity, "fragile": True}})
    assert (f.inverse == np.eye(n)).all()
    f.evaluate({0: 1.0})
    f.project()
    identity, size = exactly(f.inverse, f.gram())
    assert (abs(identity - np.eye(n)) <= 4 * (n + 2) * EPS * size.max()).all()


@pytest.mark.parametrize("n", [1, 5, 16, 17, 100])
def test_indefinite_matrices_are_not_factorised(n):
    for bad, pivot in itertools.product((0, n // 2, n - 1), (-1.0, 0.0, np.nan, np.inf)):
        K = positive(n)
        K[bad, bad] = pivot
        assert not linalg.cholesky(K)


def test_wrong_shapes_are_rejected():
    A, v, identity = np.ones((3, 4)), np.ones(3), np.eye(3)
    for function, *rejected in (
        (linalg.times, (A, v), (A.T, v), (A[::-1], np.ones(4))),
        (linalg.transposed_times, (A, np.ones(4))),
        (linalg.symmetric_times, (A, v)),
        (linalg.solve_factored_rows, (identity, np.ones((1, 2))), (identity, np.ones((3, 2)))),
        (linalg.dot, (v, np.ones(4))),
        (linalg.cholesky, (A,)),
        (linalg.eigen, (A,)),
    ):
        for arguments in rejected:
            with pytest.raises(ValueError):
                function(*arguments)


# No step uses a BLAS -----------------------------------------------------------------------------

FOLDER = Path(river_okl.__file__).parent
NO_STEPS = ("cli", "plot.py", "checkpoint", "datasets.py", "api.py", "merging", "distributed", "distributed.py")
STEPS = [path for path in sorted(FOLDER.rglob("*.py")) if path.relative_to(FOLDER).parts[0] not in NO_STEPS]
BLAS = {"matmul", "dot", "vdot", "inner", "tensordot", "einsum", "linalg"}
BLAS |= {"blas", "lapack", "cython_blas", "cython_lapack"}


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_no_step_calls_a_blas(path):
    """NumPy's products count, too: above some size they use OpenBLAS threads."""
    # inspection and loading are not steps
    reading = {"_contributions", "norm", "_check_state", "check_inverse", "check_positive"}
    found = []
    for outer in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(outer, ast.FunctionDef) and outer.name not in reading:
            for node in ast.walk(outer):
                if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
                    found.append(f"{outer.name}: @")
                elif isinstance(node, ast.Attribute) and node.attr in BLAS:
                    found.append(f"{outer.name}: .{node.attr}")
    assert found == []


def test_the_core_does_not_use_a_blas():
    for path in sorted((FOLDER / "_core").rglob("*.p[yx][xdi]")):
        assert not re.search(r"scipy|np\.dot", path.read_text("utf-8")), path


def bits():
    """A digest of models that solve systems, with budgets for which OpenBLAS would use threads."""
    kernel = kernels.RBF(0.3)
    models = [
        river_okl.AhpatronClassifier(kernel, budget=300),
        river_okl.ProjectronPlusPlusClassifier(kernel, budget=300),
        river_okl.BDUOLClassifier(kernel, budget=120, maintenance="projection"),
        river_okl.BPAClassifier(kernel, budget=200, maintenance="projection"),
        river_okl.NOGDClassifier(kernel, budget=300),
        river_okl.FOGDClassifier(kernel, n_components=500, seed=1),
    ]
    samples = streams.dense("classification", n=400)
    for model in models:
        model.learn_stream(samples[: getattr(model, "budget", 100) + 80])  # enough to fill it and continue
    return [hashlib.sha256(pickle.dumps(model)).hexdigest() for model in models]


def test_the_bits_of_a_model_do_not_depend_on_threads():
    code = "from tests.test_linalg import bits; print(bits())"
    other = run_python(code, OPENBLAS_NUM_THREADS="4")  # one thread here: conftest.py
    assert other == f"{bits()}\n"
