"""Kernel rows: their definitions, accuracy, the memo of the last row, the variants of the vector loops.

CI runs them once for each variant (RIVER_OKL_SIMD); here the variants are compared with each other.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from river_okl import kernels
from river_okl._core.simd import SIMD_VARIANTS
from river_okl._core.store.sample import Frame
from tests.core.expansions import DEFINITIONS, KERNELS, RBF, distance2, dot, expand, filled, point, put, run_python
from tests.discovery import unchanged


@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("kernel", DEFINITIONS)
def test_kernels_match_their_definitions(kernel, density):
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


def test_the_exponential_is_accurate():
    """Within 4e-16 of math.exp over its range, and 0 on underflow."""
    f = expand(kernels.RBF(1.0))
    put(f, {})
    roots = np.concatenate([np.linspace(0.0, 27.0, 30001), np.geomspace(1e-12, 27.0, 20001)])
    found = f.evaluate_many(Frame(["a"], np.ascontiguousarray(roots[:, None])))[:, 0]
    expected = np.array([math.exp(-r * r) for r in roots])
    assert np.abs(found - expected).max() <= 4e-16
    ordinary = roots * roots < 700.0
    assert (np.abs(found - expected)[ordinary] <= 6e-16 * expected[ordinary]).all()
    assert 0.0 <= f.evaluate({"a": 1e4}) <= 1e-300
    assert f.evaluate({"a": 0.0}) == 1.0


def test_large_nearly_equal_points_do_not_cancel():
    """With all features present, distances are sums of squared differences: offsets of 1e8 cost no accuracy."""
    rng, f = random.Random(1), expand()
    points = [{i: 1e8 + rng.randrange(-4, 5) / 4 for i in range(4)} for _ in range(20)]
    for z in points:
        put(f, z)
    for z in points:
        f.evaluate(z)
        np.testing.assert_allclose(f.row, [DEFINITIONS["rbf"](z, other) for other in points], rtol=1e-15)


def test_cancellation_is_bounded_by_the_squares():
    """With features of only one point it is |x|² + |z|² - 2 x.z, with an error of a few ulp of the squares."""
    rng, f = random.Random(2), expand(kernels.RBF(1.0))
    for i in range(64):
        put(f, {("own", i): 1e4, ("own", i + 1000): 1.0, "all": rng.gauss(0, 1)})
    for i in range(64):
        z = f.point(i)
        x = {name: v + 1e-3 * rng.gauss(0, 1) for name, v in z.items()}
        f.evaluate(x)
        exact = math.exp(-distance2(x, z))
        assert abs(f.row[i] - exact) <= 16 * 2.3e-16 * (dot(x, x) + dot(z, z))


@pytest.mark.parametrize("scale", [1e-40, 1e-8, 1.0, 1e8, 1e40])
def test_scales_of_the_data(scale):
    rng, f, g = random.Random(3), expand(kernels.RBF(0.5 / scale**2), norm=True), expand(norm=True)
    for _ in range(40):
        x, c = point(rng), rng.gauss(0, 1)
        f.evaluate({k: v * scale for k, v in x.items()})
        g.evaluate(x)
        np.testing.assert_allclose(f.row, g.row, rtol=1e-12)
        f.add(c)
        g.add(c)
    assert f.norm2 == pytest.approx(g.norm2, rel=1e-12)
    f._check()


@pytest.mark.parametrize(
    "kernel", [0.8 * kernels.RBF(0.3) + 0.2 * kernels.Linear(0.2), kernels.RBF(0.3) * kernels.Linear(0.2)]
)
@pytest.mark.parametrize("size", [1e-40, 1e-20, 1e-8, 1e8, 1e13, 1e20, 1e45])
def test_products_of_long_and_short_vectors(kernel, size):
    """Rounding of the distance, from which the product is computed, must not exceed |x| |z|."""
    rng, f = random.Random(1), filled(37, kernel)
    for _ in range(20):
        f.evaluate({name: size * value for name, value in point(rng).items()})
        assert (abs(f.row) <= np.sqrt(f.self_similarities * f.self_similarity) * (1.0 + 1e-3) + 1e-300).all()


def test_the_memo_notices_changed_coefficients():
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
        g.rows.memo = False
        x = {0: 1.0, 1: -1.0, 2: 0.5}
        for h in (f, g):
            h.evaluate(x)
            change(h)
        assert f.evaluate(x) == g.evaluate(x)
        assert (f.row == g.row).all()


@pytest.mark.parametrize("kernel", [RBF, kernels.Laplacian(0.3), kernels.Polynomial(2), RBF * kernels.Linear()])
@pytest.mark.parametrize("density", [1.0, 0.06])
def test_rows_at_once_equal_single_rows_bit_for_bit(kernel, density):
    f = filled(30, kernel, d=12, density=density)
    positions = [3, 29, 0, 17, 5, 3, 8]
    assert f.rows_of(positions).tolist() == [f.row_of(i).tolist() for i in positions]
    assert f.rows_of([]).shape == (0, 30)
    gram = f.gram()
    assert (gram == gram.T).all()
    assert np.tril(gram).tolist() == np.tril([f.row_of(i) for i in range(30)]).tolist()
    with pytest.raises(IndexError):
        f.rows_of([0, 1, 2, 3, 30])


def test_a_kernel_too_large_is_rejected():
    f = expand(kernels.Polynomial(4))
    put(f, {"a": 1.0})
    with unchanged(f):
        with pytest.raises(ValueError, match=r"scale the features.*'b'"):
            f.evaluate({"a": 1.0, "b": 1e40})
        with pytest.raises(ValueError, match="scale the features"):
            f.evaluate_many(Frame(["a", "b"], np.array([[1.0, 1.0], [1.0, 1e40]])))
    assert f.evaluate({"a": 1.0}) == 16.0


DECISIONS = """
    import random
    from tests.core.expansions import KERNELS, filled, point
    for name, kernel in KERNELS.items():
        for n in (1, 7, 8, 9, 64, 133):
            for density in (1.0, 0.3):
                f, rng = filled(n, kernel, d=12, density=density, norm=True), random.Random(n)
                for _ in range(5):
                    print(repr(f.evaluate(point(rng, 12, density))))
                print(repr(f.norm2))
"""


def test_all_variants_agree():
    outcomes = [
        np.array(run_python(DECISIONS, RIVER_OKL_SIMD=variant).split(), dtype=float) for variant in SIMD_VARIANTS
    ]
    assert len(outcomes[0]) > 500
    for found in outcomes[1:]:
        np.testing.assert_allclose(found, outcomes[0], rtol=1e-12, atol=1e-11)


def test_an_unknown_variant_is_rejected():
    with pytest.raises(AssertionError, match="baseline"):
        run_python("import river_okl._core.simd", RIVER_OKL_SIMD="mmx")
