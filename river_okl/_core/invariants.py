"""What the parts of the core share where they check themselves by brute force (``_check``)."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_close(found: Any, expected: Any, rtol: float, atol: float = 0.0) -> None:
    """NumPy's, which takes longer than what is compared here, decides and says what differs where something may."""
    same_shape = np.shape(found) == np.shape(expected)
    if not same_shape or not (np.abs(np.subtract(found, expected)) < atol + rtol * np.abs(expected)).all():
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
