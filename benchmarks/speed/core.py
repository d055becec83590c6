"""The core alone: an evaluation beside NumPy, its memory, and two threads."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse
from river import base

from benchmarks import runner, timing
from benchmarks.speed.samples import dense, expansion, names, sparse
from river_okl._core.function.expansion import Expansion
from river_okl._core.store.sample import Frame


class InNumPy:
    """The same function in NumPy: the points are rows of a matrix."""

    def __init__(self, f: Expansion, Z: Any):
        self.Z, self.squares = Z, np.asarray((Z * Z).sum(axis=1)).ravel()
        self.alpha, self.gamma = f.coefficients, f.kernel.gammas[0]

    def one(self, x: np.ndarray) -> float:
        k = self.Z @ x
        k *= 2.0
        k -= self.squares
        k -= x @ x
        k *= self.gamma
        np.exp(k, out=k)
        return float(self.alpha @ k)

    def many(self, X: np.ndarray) -> np.ndarray:
        K = X @ self.Z.T
        K *= 2.0
        K -= self.squares
        K -= np.einsum("ij,ij->i", X, X)[:, None]
        K *= self.gamma
        np.exp(K, out=K)
        return K @ self.alpha


def matrix(samples: list[dict[str, float]], d: int) -> np.ndarray:
    out = np.zeros((len(samples), d))
    for row, x in zip(out, samples, strict=True):
        for name, value in x.items():
            row[int(name[1:])] = value
    return out


def each(call: Callable[[Any], object], arguments: Any) -> Callable[[], None]:
    """Calls with changing arguments, so that none repeats the previous one."""

    def action() -> None:
        for argument in arguments:
            call(argument)

    return action


def aligned(n: int) -> np.ndarray:
    """Ones, at an address that is a multiple of 64."""
    room = np.ones(n + 8)
    offset = -room.ctypes.data % 64 // 8
    return room[offset : offset + n]


def most(amount: float, function: str, *arguments: Any) -> float:
    """The rate of a loop of loops.c, in 10⁹ per second."""
    return max(amount / timing.in_c(function, *arguments) for _ in range(5)) / 1e9


def evaluation() -> Iterator[str]:
    """`Expansion.evaluate(dict)` of a Gaussian beside NumPy's matrix product and exp (row-major).

    A call computes B·d differences and squares, B exponentials and an inner product, and reads 8·B·d bytes.
    Targets: 1000 x 20 at most 0.3 x NumPy; 14 of 123 at most 0.1 x.
    """
    peak, rows = most(96 * 2_000_000, "multiply_adds", 2_000_000), []
    for n, d in itertools.product((100, 400, 1000, 5000), (8, 20, 123)):
        points, queries = dense(n, d), dense(4, d, seed=1)
        f, vectors = expansion(points), matrix(queries, d)
        numpy = InNumPy(f, matrix(points, d))
        for x, v in zip(queries, vectors, strict=True):
            assert math.isclose(f.evaluate(x), numpy.one(v), rel_tol=1e-9)
        actions = {"core": each(f.evaluate, queries), "NumPy": each(numpy.one, vectors)}
        times = timing.interleaved(actions, rounds=15, per=len(queries))
        size, pace = max(64, n * d // 64 * 64), n * d / times["core"] / 1e3
        limit = most(8 * size * (turns := 40_000_000 // size), "reads", aligned(size), size, turns)
        read = [8 * pace, limit, f"{8 * pace / limit:.0%}"]
        rows.append([f"{n} x {d}", *times.compared("core", "NumPy"), pace, f"{pace / peak:.0%}", *read])
    head = ["B x d, dense", "core µs", "NumPy µs", "ratio", "GFMA/s", "of the peak"]
    yield runner.table([*head, "GB/s", "reading alone, GB/s", "of that"], rows)
    yield f"The machine does {peak:.1f}·10⁹ multiply-adds per second in registers."

    rows = []
    for n, active, d in ((1350, 14, 123), *((n, 30, 100_000) for n in (100, 400, 1000, 5000))):
        points, queries = sparse(n, active, d), sparse(4, active, d, seed=1)
        f, vectors = expansion(points), matrix(queries, d)
        columns = [int(name[1:]) for x in points for name in x]
        Z = scipy.sparse.csr_array((np.ones(n * active), columns, np.arange(0, n * active + 1, active)), shape=(n, d))
        actions = {"core": each(f.evaluate, queries), "SciPy CSR": each(InNumPy(f, Z).one, vectors)}
        if small := n * d <= 50_000_000:
            actions["NumPy"] = each(InNumPy(f, Z.toarray()).one, vectors)
        times = timing.interleaved(actions, rounds=9, per=len(queries))
        numpy = times.compared("core", "NumPy") if small else [times["core"], None, None]
        pace = n * active / times["core"] / 1e3
        rows.append([f"{active} of {d:,}, B={n}", *numpy, *times.compared("core", "SciPy CSR")[1:], pace])
    head = ["sparse", "core µs", "NumPy µs", "ratio", "SciPy CSR µs", "ratio", "numbers of the points, 10⁹/s"]
    yield runner.table(head, rows)


# Memory -------------------------------------------------------------------------------------------


def footprint(n: int, d: int) -> tuple[int, int, int]:
    """Bytes of an expansion, the growth of its process while it was made, and that process's peak.

    On Linux only: writing 5 to clear_refs resets the peak.
    """
    points, process = dense(min(n, 1000), d) * math.ceil(n / 1000), pathlib.Path("/proc/self")

    def status(name: str) -> int:
        return int(process.joinpath("status").read_text().partition(f"{name}:")[2].split()[0]) * 1024

    expansion(points[:2])  # one-time loads and allocations
    process.joinpath("clear_refs").write_text("5")
    before = status("VmRSS")
    f = expansion(points)
    peak = status("VmHWM")
    return base.Base._raw_memory_usage.fget(f), peak - before, peak  # River measures all parts


def memory() -> Iterator[str]:
    """A support vector is its d numbers, its coefficient, ‖z‖², κ(z, z), its birth and the list of its posting lists.

    The scratch of a kernel row comes on top once. Each function is made in a process of its own,
    which grows by less where it has room that it freed before.
    """
    rows, peaks, context = [], [], multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        for n, d in itertools.product((100, 1000, 20_000), (10, 20, 123)):
            (size, grown, peak), least = pool.submit(footprint, n, d).result(), 8 * (d + 4)
            rows.append([f"B={n:,}, d={d}", size / 1e6, size / n, least, size / n / least, grown / 1e6])
            peaks.append(peak / 1e6)
    head = ["dense", "MB of the expansion", "bytes per support vector", "8 (d + 4)", "ratio"]
    yield runner.table([*head, "MB that the process grew at its peak"], rows)
    yield f"Peak of a process, data and libraries included: {min(peaks):.0f} to {max(peaks):.0f} MB."


# Threads ------------------------------------------------------------------------------------------


def together(actions: list[Callable[[], object]]) -> float:
    """Milliseconds until all threads have ended."""
    with ThreadPoolExecutor(len(actions)) as pool:
        [*pool.map(lambda _: time.sleep(0.01), actions)]  # the threads have started
        start = time.perf_counter()
        [*pool.map(lambda action: action(), actions)]
        return (time.perf_counter() - start) * 1e3


def reading(name: str, n: int, d: int) -> Callable[[], object]:
    """Evaluations of 1,000 rows at once, or of two samples in turns, for some milliseconds."""
    f = expansion(dense(n, d))
    if name.startswith("evaluate_many"):
        frame = Frame(list(names(d)), np.random.default_rng(1).normal(size=(1000, d)))
        return lambda: [f.evaluate_many(frame) for _ in range(max(1, 20_000_000 // (n * d * 1000)))]
    queries, times = dense(2, d, seed=1), max(10, 200_000_000 // (n * d))
    return lambda: [f.evaluate(x) for _ in range(times) for x in queries]


def threads() -> Iterator[str]:
    """Two models in two threads on two cores against one after the other: 2 is all that can be had, 1 nothing.

    Wall-clock time. A call on less than 200,000 numbers keeps the GIL.
    """
    many = [("evaluate_many of 1,000 rows", n, 20) for n in (1000, 5000)]
    rows = []
    for name, n, d in (*many, *(("evaluate", *of) for of in ((1000, 20), (5000, 123), (20_000, 20), (20_000, 123)))):
        two = [reading(name, n, d), reading(name, n, d)]
        together(two)
        times = timing.in_turns({"one": lambda two=two: together(two[:1]), "two": lambda two=two: together(two)}, 7)
        speedups = [2.0 * one / two for one, two in zip(*times.rounds.values(), strict=True)]
        rows.append([f"{name}, B={n:,}, d={d}", times["one"], statistics.median(speedups), max(speedups)])
    yield runner.table(["", "ms of one thread alone", "speed-up, median", "best"], rows)
