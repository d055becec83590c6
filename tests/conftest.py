"""What several test files share."""

from __future__ import annotations

import os

# Threads of OpenBLAS that wait for each other on a busy machine make a small Cholesky a thousand times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest

FAST_FILES = {"test_core.py", "test_linalg.py", "test_kernels.py", "test_losses.py"}
NOT_FAST = {"test_a_name_that_raises_leaves_the_expansion_whole"}
collect_ignore = ["long"]  # python -m pytest tests/long


@pytest.fixture(scope="session")
def data_home():
    """The folder of real data sets, where this machine has it."""
    home = os.environ.get("RIVER_DATA")
    if not home or not Path(home).is_dir():
        pytest.skip("RIVER_DATA names no folder of data sets")
    return Path(home)


def pytest_collection_modifyitems(items):
    """``pytest -m fast``: the core, of each class the first meeting with its twin, five odd classes' conformance."""
    from tests.discovery import ODD

    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        name = item.path.name
        if (name in FAST_FILES and getattr(item, "originalname", None) not in NOT_FAST) or (
            name == "test_conformance.py"
            and getattr(params.get("cls"), "__name__", None) in ODD
            and not params.get("options")
        ):
            item.add_marker("fast")
