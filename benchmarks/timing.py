"""How everything is timed here: interleaved, ratios within one round, medians; and what the machine can do at most.

Times are processor time of the thread that works, so that a busy machine does not count; libraries get one thread.
Import this module before NumPy.
"""

# ruff: noqa: E402, E501  (the prose of the tables; BLAS reads its environment when NumPy is imported)
from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import ctypes
import functools
import gc
import math
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from benchmarks import runner
from river_okl._core import kernel

HERE = pathlib.Path(__file__).parent

Action = Callable[[], object]


def seconds(action: Action, times: int = 1) -> float:
    start = time.thread_time()
    for _ in range(times):
        action()
    return time.thread_time() - start


class Times:
    """Microseconds per call of several actions, one number for each round."""

    def __init__(self, rounds: dict[str, list[float]]):
        self.rounds = rounds

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, other: str) -> float:
        """The median over rounds of one time over the other."""
        return statistics.median(a / b for a, b in zip(self.rounds[name], self.rounds[other], strict=True))


def interleaved(actions: dict[str, Action], *, rounds: int = 9, milliseconds: float = 5.0, per: int = 1) -> Times:
    """Every action in turn, round after round; an action that is short is repeated until it takes the milliseconds.

    ``per`` is how many samples one call works on.
    """
    times = {}
    for name, action in actions.items():
        action()
        times[name] = max(1, math.ceil(milliseconds * 1e-3 / max(seconds(action), 1e-7)))
    out: dict[str, list[float]] = {name: [] for name in actions}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, action in actions.items():
                out[name].append(seconds(action, times[name]) / times[name] / per * 1e6)
    finally:
        gc.enable()
    return Times(out)


# Numbers of the machine ---------------------------------------------------------------------------


@functools.cache
def library(name: str = "limits") -> ctypes.CDLL:
    """limits.c or families.c, compiled with the flags of the package and the processor's own instructions."""
    target = pathlib.Path(tempfile.mkdtemp()) / f"{name}.so"
    flags = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-w"]
    subprocess.run(["cc", *flags, str(HERE / f"{name}.c"), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def in_c(name: str, *arguments: Any, file: str = "limits") -> float:
    """Seconds that a function of one of these files took; whole numbers are long, others double, arrays their numbers."""
    kinds: dict[type, Any] = {
        int: ctypes.c_long,
        float: ctypes.c_double,
        np.ndarray: lambda a: ctypes.c_void_p(a.ctypes.data),
    }
    function = getattr(library(file), name)
    function.restype = ctypes.c_double
    return float(function(*(kinds[type(a)](a) for a in arguments)))


def aligned(n: int, dtype: type = np.float64) -> np.ndarray:
    """Ones, at an address that is a multiple of 64."""
    size = np.dtype(dtype).itemsize
    room = np.ones(n + 64 // size, dtype=dtype)
    offset = -room.ctypes.data % 64 // size
    return room[offset : offset + n]


def fma_limit() -> float:
    """Multiply-adds of doubles in registers, in 10⁹ per second."""
    times = 2_000_000
    return max(times * 96 / in_c("fma_seconds", times) for _ in range(5)) / 1e9


def load_limit(n_bytes: int) -> float:
    """Reading an array of this size again and again, in 10⁹ bytes per second."""
    n = max(64, n_bytes // 8 // 64 * 64)
    a, times = aligned(n), max(1, 40_000_000 // n)
    return max(8 * n * times / in_c("load_seconds", a, n, times) for _ in range(5)) / 1e9


def triad_limit(n_bytes: int) -> float:
    """a = b + 3 c over three arrays of this size together, in 10⁹ bytes per second."""
    n = n_bytes // 24
    a, b, c = aligned(n), aligned(n), aligned(n)
    times = max(1, 20_000_000 // n)
    return max(24 * n * times / in_c("triad_seconds", a, b, c, n, times) for _ in range(5)) / 1e9


def machine() -> str:
    """Where and how this was measured, in one paragraph."""
    return (
        f"Measured on {runner.machine()} NumPy {np.__version__}, SciPy {scipy.__version__}, the {kernel.SIMD} variant of the loops. "
        f"Times are medians of interleaved rounds, in processor time of the one thread that works (NumPy and BLAS have one thread "
        f"too); ratios are taken within a round."
    )
