"""Resident memory over 10^6 samples, for every class in all its modes: it must not grow.

Resident memory in MB. New features come and go all the time. Every 100 samples some are rejected: a NaN, an invalid
weight, an invalid target or label, a feature whose value and one whose name raises, and for classes with a loss a loss
that raises. Every 2,000 samples the model is cloned, copied, pickled and saved, and each result dropped; a model
without a bound is itself dropped every 1,000 samples and starts again. If the samples take longer than the seconds (of
processor time; a third of them for modes other than the defaults), fewer are run.

What counts is the growth from the middle to the end, after garbage collection and `malloc_trim`: caches and the
allocator's pools are full by then, and 8 bytes lost per sample would be 4 MB.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import pickle
import random
import time
from pathlib import Path

import pytest

from river_okl import checkpoint
from tests.discovery import EVERY_VARIANT, bounded, decision, small, task
from tests.streams import REGRESSION
from tests.test_hostile import failing_loss, takes_losses

TITLE = "Memory"
HEAD = ["class", "samples", "a tenth", "half", "end", "half to end, KB"]
MOST = 1_000_000  # samples
LEAK = 1.0  # MB


class Raises:
    """A value, or a name once it is in a dict, that raises."""

    left = 1

    def __float__(self) -> float:
        raise ValueError("a value")

    def __hash__(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise ValueError("a name")
        return 1


def resident() -> float:
    """MB"""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def rejected(model, x: dict, y, t: int) -> None:
    """Everything that a sample may be rejected for."""
    values = (Raises(),) if model._takes_words else (float("nan"), "text", Raises())
    wrong = [
        *(({**x, ("new", t): value}, y, 1.0) for value in values),
        *(({**x, Raises(): 1.0}, y, 1.0), (x, y, -1.0), (x, None, 1.0), (x, [y], 1.0), (None, y, 1.0)),
    ]
    for sample, target, w in wrong:
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(sample, target, w)


def run(cls: type, options: dict, n: int, seconds: float) -> tuple[int, list[float]]:
    rng, model, loss = random.Random(1), small(cls, **{"budget": 50, **options}), failing_loss(cls)
    loss.fails = True
    failing = small(cls, **{**options, "loss": loss}) if takes_losses(cls, options) else None
    sizes, start = [resident()], time.process_time()
    for t in range(n):
        x = {"a": rng.random(), "b": rng.random(), ("f", t // 50 % 100_000): rng.random()}
        y = x["a"] * x["b"] - 0.25
        y = y if task(cls) == REGRESSION else y > 0
        decision(model, x)
        model.learn_one(x, y)
        if t % 100 == 99:
            rejected(model, x, y, t)
            if failing is not None:
                with contextlib.suppress(RuntimeError):
                    failing.learn_one(x, y)
        if t % 2000 == 1999:
            model.clone(), copy.deepcopy(model)
            pickle.loads(pickle.dumps(model)), checkpoint.loads(checkpoint.dumps(model))
        if t % 1000 == 999:
            if not bounded(cls):
                model = model.clone()
            progress = max((t + 1) / n, (time.process_time() - start) / seconds)
            if progress * 10 >= len(sizes):
                sizes += [resident()] * (int(progress * 10) + 1 - len(sizes))
            if progress >= 1.0:
                break
    return t + 1, sizes


@pytest.mark.parametrize(("cls", "options", "name"), EVERY_VARIANT, ids=[name for *_, name in EVERY_VARIANT])
def test_memory_is_flat(cls, options, name, rows, request):
    seconds = request.config.getoption("--seconds") / (1.0 if name.endswith("-default") else 3.0)
    n, sizes = run(cls, options, min(request.config.getoption("--samples"), MOST), seconds)
    growth = sizes[-1] - sizes[5]
    shown = [f"{sizes[i]:.1f}" for i in (1, 5, -1)]
    rows.append([name.replace("-default", ""), n, *shown, f"{1024 * growth:.0f}"])
    assert growth < LEAK
