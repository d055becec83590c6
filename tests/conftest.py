"""What several test files share."""

from __future__ import annotations

import os

# Threads of OpenBLAS that wait for each other on a busy machine make a small Cholesky a thousand times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest

collect_ignore = ["long"]  # python -m pytest tests/long


@pytest.fixture(scope="session")
def data_home():
    """The folder of real data sets, where this machine has it."""
    home = os.environ.get("RIVER_DATA")
    if not home or not Path(home).is_dir():
        pytest.skip("RIVER_DATA names no folder of data sets")
    return Path(home)
