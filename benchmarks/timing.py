"""Timing: interleaved, ratios within one round, medians; and the limits of the machine.

Times are CPU time of the working thread, so that other load does not count; libraries get one thread.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import math
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import scipy

from benchmarks import runner
from river_okl._core import simd

Action = Callable[[], object]


def seconds(action: Action, times: int = 1) -> float:
    """CPU time of this thread, like all times here."""
    start = time.thread_time()
    for _ in range(times):
        action()
    return time.thread_time() - start


def answers(
    model: Any, samples: Iterable[tuple[Any, Any]], ask: str = "predict_one", limit: float = math.inf
) -> tuple[list[tuple[Any, Any]], float]:
    """Predictions of a model in test-then-train, with the truth; and the seconds, up to a limit."""
    out, method, start = [], getattr(model, ask), time.thread_time()
    for x, y in samples:
        out.append((method(x), y))
        model.learn_one(x, y)
        if time.thread_time() - start > limit:
            break
    return out, time.thread_time() - start


def measured(
    cache: runner.Cache, measure: Callable[[list[Any]], float], model: Any, samples: list[Any], **how: Any
) -> runner.Row:
    """The metric of a model's predictions, their number and µs/sample; each is measured once."""
    key = runner.digest(inspect.getsource(measure), runner.content(model), repr(samples).encode(), how)
    if key not in cache.rows:
        found, spent = answers(model, samples, **how)
        cache.keep(key, value=measure(found), rows=len(found), us=spent / len(found) * 1e6)
    return cache.rows[key]


class Times:
    """The results of several measures, one number per round."""

    def __init__(self, rounds: dict[str, list[float]]):
        self.rounds = rounds

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, other: str) -> float:
        """The median over rounds of one number over the other."""
        return statistics.median(a / b for a, b in zip(self.rounds[name], self.rounds[other], strict=True))

    def compared(self, one: str, other: str) -> list[float]:
        """Two times, and the ratio within the rounds."""
        return [self[one], self[other], self.ratio(one, other)]


def in_turns(measures: Mapping[str, Callable[[], float]], rounds: int) -> Times:
    """The result of every measure, interleaved over rounds."""
    out: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            out[name].append(measure())
    return Times(out)


def interleaved(actions: dict[str, Action], *, rounds: int = 9, milliseconds: float = 5.0, per: int = 1) -> Times:
    """Microseconds of every action; a short one is repeated in its turn up to the given milliseconds.

    ``per`` is the number of samples per call.
    """

    def repeated(action: Action) -> Callable[[], float]:
        action()
        times = max(1, math.ceil(milliseconds * 1e-3 / max(seconds(action), 1e-7)))
        return lambda: seconds(action, times) / times / per * 1e6

    measures = {name: repeated(action) for name, action in actions.items()}
    gc.collect()
    gc.disable()
    try:
        return in_turns(measures, rounds)
    finally:
        gc.enable()


# Plain C -------------------------------------------------------------------------------------------


@functools.cache
def library() -> ctypes.CDLL:
    """loops.c, compiled with the flags of the package and the processor's own instructions."""
    target = pathlib.Path(tempfile.mkdtemp()) / "loops.so"
    flags = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-w"]
    subprocess.run(["cc", *flags, str(runner.HERE / "loops.c"), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def in_c(name: str, *arguments: Any) -> float:
    """The seconds of a function of loops.c; ints become long, floats double, arrays pointers."""
    kinds: dict[type, Any] = {int: ctypes.c_long, float: ctypes.c_double, np.ndarray: lambda a: a.ctypes}
    function, passed = getattr(library(), name), [kinds[type(a)](a) for a in arguments]
    return seconds(lambda: function(*passed))


def machine() -> str:
    """The machine and method of measurement, in one paragraph."""
    return (
        f"Measured on {runner.machine()} NumPy {np.__version__}, SciPy {scipy.__version__}, the {simd.SIMD} variant "
        "of the loops. Times are medians of interleaved rounds, in processor time of the one thread that works (NumPy "
        "and BLAS have one thread too); ratios are taken within a round."
    )
