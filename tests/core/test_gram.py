"""The Gram matrix, its inverse and the norm: rounding in long runs."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tests.core.expansions import KERNELS, expand, point, put


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_norms_do_not_drift(kernel):
    """40,000 changes of f of each cheap kind."""
    rng = random.Random(6)
    f = expand(KERNELS[kernel], budget=16, norm=True, values=True)
    points = [point(rng) for _ in range(200)]
    for t in range(40_000):
        f.observe(points[t % 200])
        if len(f) == 16:
            f.remove(t * 7 % 16)
            f.scale(16 / 15 * 0.9)
        f.add((1.0, -0.3, 5.0, -2.0)[t % 4])
        if f.norm2 > 400.0:
            f.scale(0.05)
    alpha = f.coefficients.astype(np.longdouble)
    assert f.norm2 == pytest.approx(float(alpha @ f.gram() @ alpha), rel=1e-6)
    np.testing.assert_allclose(f.values, f.gram() @ f.coefficients, rtol=1e-6, atol=1e-9)
    f._check()


def test_a_cancelling_norm_is_accurate():
    """f grows to 1e8 and cancels except for one small point."""
    rng, f = random.Random(7), expand(norm=True, values=True)
    put(f, {"a": 0.0}, 1e-3)
    for _ in range(50):
        put(f, {"a": rng.gauss(0, 1)}, 1e8)
    while len(f) > 1:
        f.remove(len(f) - 1)
    assert f.norm2 == pytest.approx(1e-6, rel=1e-6)
    f.remove(0)
    assert f.norm2 == 0.0


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-8, 1e-5, 1e-3])
def test_ten_thousand_near_duplicates_and_their_inverse(spread):
    """No NaN, no negative δ², no exploding coefficients when projecting, absorbing, adding or removing."""
    rng, f = random.Random(8), expand(budget=30, norm=True, inverse=True)
    for t in range(10_000):
        x = {i: 1.0 + spread * rng.gauss(0, 1) for i in range(3)}
        f.evaluate(x)
        residue = f.project()
        assert 0.0 <= residue <= 1.0
        assert len(f) == 0 or np.abs(f.projection).max() < 1e5
        if t % 3 and len(f):
            before = f.evaluate(x)
            f.absorb(1e-4)
            # f + c Pκ at x is f(x) + c ‖Pκ‖²
            assert f.evaluate(x) == pytest.approx(before + 1e-4 * (1.0 - residue), abs=1e-4 * 1e-3)
        else:
            if len(f) == 30:
                f.remove(rng.randrange(30))
            f.add(1e-4)
        if t % 500 == 0:
            assert np.isfinite(f.inverse).all()
            assert np.isfinite(f.coefficients).all()
    # each step adds at most 1e-4 κ, and a removal subtracts its point's term
    assert np.abs(f.coefficients).max() < 1e3
    assert math.sqrt(f.norm2) < 10.0
    f._check()
