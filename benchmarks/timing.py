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
import platform
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable

import numpy as np
import scipy

import river_okl
from river_okl._core import kernel

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results"

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
def library() -> ctypes.CDLL:
    """limits.c, compiled with the flags of the package and the processor's own instructions."""
    target = pathlib.Path(tempfile.mkdtemp()) / "limits.so"
    core = pathlib.Path(river_okl.__file__).parent / "_core"
    flags = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-w"]
    include = [f"-I{core}", f"-I{sysconfig.get_paths()['include']}"]
    subprocess.run(["cc", *flags, *include, str(HERE / "limits.c"), "-o", str(target)], check=True)
    loaded = ctypes.CDLL(str(target))
    for name in ("fma_seconds", "load_seconds", "triad_seconds", "part_seconds", "single_seconds"):
        getattr(loaded, name).restype = ctypes.c_double
    return loaded


def aligned(n: int, dtype: type = np.float64) -> np.ndarray:
    """Ones, at an address that is a multiple of 64."""
    size = np.dtype(dtype).itemsize
    room = np.ones(n + 64 // size, dtype=dtype)
    offset = -room.ctypes.data % 64 // size
    return room[offset : offset + n]


def address(a: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)


def fma_limit() -> float:
    """Multiply-adds of doubles in registers, in 10⁹ per second."""
    times = 2_000_000
    return max(times * 96 / library().fma_seconds(ctypes.c_long(times)) for _ in range(5)) / 1e9


def load_limit(n_bytes: int) -> float:
    """Reading an array of this size again and again, in 10⁹ bytes per second."""
    n = max(64, n_bytes // 8 // 64 * 64)
    a, times = aligned(n), max(1, 40_000_000 // n)
    return (
        max(
            8 * n * times / library().load_seconds(address(a), ctypes.c_long(n), ctypes.c_long(times)) for _ in range(5)
        )
        / 1e9
    )


def triad_limit(n_bytes: int) -> float:
    """a = b + 3 c over three arrays of this size together, in 10⁹ bytes per second."""
    n = n_bytes // 24
    a, b, c = aligned(n), aligned(n), aligned(n)
    times = max(1, 20_000_000 // n)
    call = functools.partial(library().triad_seconds, address(a), address(b), address(c))
    return max(24 * n * times / call(ctypes.c_long(n), ctypes.c_long(times)) for _ in range(5)) / 1e9


# Tables -------------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; numbers are right-aligned and get three significant digits."""
    head = list(head)
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(cell(c) for c in row)} |" for row in rows]
    return "\n".join(lines)


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


class Report:
    """A Markdown file of sections; what is measured again replaces its own section alone."""

    def __init__(self, name: str, title: str):
        self.path = RESULTS / f"{name}.md"
        self.title = title
        self.sections: dict[str, str] = {}
        if self.path.exists():
            _, *sections = self.path.read_text().split("\n## ")
            for section in sections:
                heading, _, text = section.partition("\n")
                self.sections[heading] = text.strip()

    def write(self, heading: str, text: str) -> None:
        print(f"\n## {heading}\n\n{text}", flush=True)
        self.sections[heading] = text
        RESULTS.mkdir(exist_ok=True)
        body = "\n\n".join(f"## {h}\n\n{t}" for h, t in sorted(self.sections.items()))
        self.path.write_text(f"# {self.title}\n\n{machine()}\n\n{body}\n")


def machine() -> str:
    """Where this was measured, in one paragraph."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if "model name" in line), "?")
    return (
        f"Measured on {os.cpu_count()} cores of {model}, Python {platform.python_version()}, NumPy {np.__version__}, SciPy "
        f"{scipy.__version__}, the {kernel.SIMD} variant of the loops. Times are medians of interleaved rounds, in processor time of the one "
        f"thread that works (NumPy and BLAS have one thread too); ratios are taken within a round."
    )
