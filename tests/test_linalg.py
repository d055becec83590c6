"""The core's linear algebra against NumPy in extended precision, on parts of larger arrays, which must not change."""

import ast
import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import river_okl
from river_okl import kernels
from river_okl._core import linalg
from river_okl._core.function.expansion import Expansion
from tests import streams
from tests.core.expansions import run_python

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
    A, _ = part(rng.normal(size=(n, n)))
    symmetric, _ = part(lower(A))
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
def test_products_of_matrices(n):
    rng = np.random.default_rng(n)
    for m, k in ((n, n), (n + 5, n // 2), (3, n + 70)):
        A, _ = part(rng.normal(size=(m, n)))
        B, _ = part(rng.normal(size=(n, k)))
        product, size = exactly(A, B)
        assert (abs(linalg.product(A, B) - product) <= (n + 2) * EPS * size).all()


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
    f, rng = Expansion(kernels.RBF(0.1)._terms(), inverse=True), np.random.default_rng(n)
    for row in rng.normal(size=(n, 12)):
        f.evaluate(dict(enumerate(row)))
        f.add(1.0)
    state = f.state()
    identity = np.eye(n)[np.tril_indices(n)]
    assert identity.shape == state["gram"]["inverse"].shape
    f = Expansion(kernels.RBF(0.1)._terms(), inverse=True)
    f.restore(state | {"gram": state["gram"] | {"inverse": identity, "fragile": True}})
    assert (f.inverse == np.eye(n)).all()
    f.evaluate({0: 1.0})
    f.project()
    identity, size = exactly(f.inverse, f.gram())
    assert (abs(identity - np.eye(n)) <= 4 * (n + 2) * EPS * size.max()).all()


def test_a_solution_is_as_accurate_as_its_factorisation_in_blocks_of_any_size():
    """Each row of the factor is in another block; compared with a textbook factorisation."""
    K = positive(200).astype(np.longdouble)
    L = np.zeros_like(K)
    for j in range(200):
        L[j, j] = np.sqrt(K[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (K[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    A = positive(200)
    assert linalg.cholesky(A)
    np.testing.assert_allclose(np.tril(A), L.astype(float), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 5, 16, 17, 100])
def test_indefinite_matrices_are_not_factorised(n):
    for bad in (0, n // 2, n - 1):
        for pivot in (-1.0, 0.0, np.nan, np.inf):
            K = positive(n)
            K[bad, bad] = pivot
            assert not linalg.cholesky(K)


@pytest.mark.parametrize("n", [0, 1, 5, 33])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_rows_equal_single_vectors(n, rows):
    V, U = np.random.default_rng(n).normal(size=(2, rows, n))
    A = positive(n)
    assert linalg.symmetric_times_rows(A, V).tolist() == [linalg.symmetric_times(A, v).tolist() for v in V]
    assert linalg.row_dots(V, U).tolist() == [linalg.dot(v, u) for v, u in zip(V, U, strict=True)]


def spectra(n):
    """All kinds of eigenvalues: far apart, clustered, zero, equal; a diagonal matrix, and one of ones."""
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    B = rng.normal(size=(n, (n + 1) // 2))
    yield positive(n)
    yield positive(n, jitter=0.0)
    yield B @ B.T
    yield (Q * np.where(np.arange(n) < n // 2, 1.0, 2.0)) @ Q.T
    yield (Q * 10.0 ** -rng.uniform(0, 14, n)) @ Q.T
    yield np.diag(rng.normal(size=n))
    yield np.zeros((n, n))
    yield np.ones((n, n))
    yield -1e150 * positive(n)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 8, 17, 40, 100])
def test_eigenvectors(n):
    for K in spectra(n):
        K = full(K)
        D, V = linalg.eigen(lower(K))
        size = abs(D).max(initial=0.0)
        assert (np.diff(D) >= 0.0).all()
        assert np.abs(V @ V.T - np.eye(n)).max(initial=0.0) <= 20 * (n + 1) * EPS
        assert np.abs((V.T * D) @ V - K).max(initial=0.0) <= 20 * (n + 1) * EPS * size
        np.testing.assert_allclose(D, np.linalg.eigvalsh(K), rtol=0.0, atol=20 * (n + 1) * EPS * size)


def test_wrong_shapes_are_rejected():
    A, v = np.ones((3, 4)), np.ones(3)
    for call in (
        lambda: linalg.times(A, v),
        lambda: linalg.transposed_times(A, np.ones(4)),
        lambda: linalg.product(A, np.ones((2, 2))),
        lambda: linalg.symmetric_times(A, v),
        lambda: linalg.cholesky(A),
        lambda: linalg.dot(v, np.ones(4)),
        lambda: linalg.times(A.T, v),
        lambda: linalg.times(A[::-1], np.ones(4)),
        lambda: linalg.solve_factored_rows(np.eye(3), np.ones((1, 2))),
        lambda: linalg.symmetric_times_rows(np.eye(3), np.ones((3, 2))),
        lambda: linalg.solve_factored_rows(np.eye(3), np.ones((3, 2))),
        lambda: linalg.row_dots(A, np.ones((2, 4))),
        lambda: linalg.row_dots(A, np.ones((3, 5))),
        lambda: linalg.eigen(A),
    ):
        with pytest.raises(ValueError):
            call()


# No step uses a BLAS -----------------------------------------------------------------------------

FOLDER = Path(river_okl.__file__).parent
STEPS = [
    path
    for path in sorted(FOLDER.rglob("*.py"))
    if path.relative_to(FOLDER).parts[0]
    not in ("cli", "checkpoint", "datasets.py", "api.py", "merging", "distributed", "distributed.py")
]
BLAS = {
    *("matmul", "dot", "vdot", "inner", "tensordot", "einsum", "linalg"),
    *("blas", "lapack", "cython_blas", "cython_lapack"),
}


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
        text = path.read_text("utf-8")
        assert "scipy" not in text, path
        assert "np.dot" not in text, path


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
        for x, y in samples[: getattr(model, "budget", 100) + 80]:  # enough to fill it and continue
            model.learn_one(x, y)
    return [hashlib.sha256(pickle.dumps(model)).hexdigest() for model in models]


def test_the_bits_of_a_model_do_not_depend_on_threads():
    code = "from tests.test_linalg import bits; print(bits())"
    other = run_python(code, OPENBLAS_NUM_THREADS="4")  # one thread here: conftest.py
    assert other == f"{bits()}\n"
