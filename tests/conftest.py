"""Fixtures and options shared by the tests."""

from __future__ import annotations

import os

# On a busy machine, OpenBLAS threads that wait for each other make a small Cholesky a thousand times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import gc
import signal
import sys
from pathlib import Path

import pytest

FAST_FILES = {"test_linalg.py", "test_kernels.py", "test_losses.py"}
FAST_FOLDER = Path(__file__).parent / "core"
PARTLY_FAST = {"test_conformance.py", "test_twins.py", "conftest.py"}
NOT_FAST = {
    "test_all_variants_agree",
    "test_the_bits_of_a_model_do_not_depend_on_threads",
}
collect_ignore = ["long", "reference"]  # python -m pytest tests/long; the reference implementations have no tests


def pytest_ignore_collect(collection_path, config):
    """With ``-m fast``, skip files without such tests."""
    fast = collection_path.parent == FAST_FOLDER or collection_path.name in {*FAST_FILES, *PARTLY_FAST}
    others = collection_path.suffix == ".py" and not fast
    return True if others and config.option.markexpr == "fast" and collection_path.is_file() else None


def pytest_sessionstart():
    gc.disable()


def pytest_collection_finish():
    """Exempt the thousands of collected tests from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_home():
    """The folder of real data sets, if this machine has it."""
    home = os.environ.get("RIVER_DATA")
    if not home or not Path(home).is_dir():
        pytest.skip("RIVER_DATA names no folder of data sets")
    return Path(home)


@pytest.fixture
def restless():
    """Switch threads every few bytecodes, to provoke races."""
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(old)


@pytest.fixture
def on_alarm():
    """Sets what a thread does when an alarm goes off (SIGALRM)."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("signals of POSIX")
    old = signal.getsignal(signal.SIGALRM)
    yield functools.partial(signal.signal, signal.SIGALRM)
    signal.signal(signal.SIGALRM, old)


def pytest_collection_modifyitems(items):
    """``pytest -m fast``: the core, each class's first comparison with its reference, five classes' conformance."""
    from tests.discovery import ODD

    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        name, core = item.path.name, item.path.parent == FAST_FOLDER
        if getattr(item, "originalname", None) in NOT_FAST:
            continue
        if core and {"kernel", "options"} <= params.keys() and params["kernel"] != "rbf" and params["options"] != "all":
            continue  # of a table of kernels and options its first row and its last column
        odd = getattr(params.get("cls"), "__name__", None) in ODD and not params.get("options")
        if core or name in FAST_FILES or (name == "test_conformance.py" and odd):
            item.add_marker("fast")
