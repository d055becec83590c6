"""A comparison for the core's brute-force checks (``_check``)."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_close(found: Any, expected: Any, rtol: float, atol: float = 0.0) -> None:
    """Compare as ``np.testing.assert_allclose``, after a faster check that suffices if all is well."""
    same_shape = np.shape(found) == np.shape(expected)
    if not same_shape or not (np.abs(np.subtract(found, expected)) < atol + rtol * np.abs(expected)).all():
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
