"""Resident memory over 10^6 samples, for every class in all its modes: flat, or something leaks.

    python -m benchmarks.memory_growth [--samples 1000000] [--seconds 30] [MODEL ...]

New features come and go all the time.  Every 100 samples there are refused ones: a NaN, a weight and a target or label
that are none, a feature whose value and one whose name raises, and for classes with a loss a loss that raises.  Every
2,000 samples there are a clone, a copy, a pickle and a checkpoint of the model, each dropped; a model without a bound
is dropped itself every 1,000 and starts again.  Where the samples take longer than the seconds (of the processor; a
third of them for modes other than the defaults), fewer are run.

What counts is the growth from the middle to the end, after a collection of garbage and ``malloc_trim``: caches and the
allocator's pools are full by then, and 8 bytes lost per sample would be 4 MB.  Exit code 1 above 1 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import ctypes
import gc
import pickle
import random
import time
from pathlib import Path

from river_okl import checkpoint
from tests.discovery import EVERY_VARIANT, bounded, decision, parameters, small, task
from tests.streams import REGRESSION
from tests.test_hostile import Failing, FailingRegression

LEAK = 1.0  # MB
RESULTS = Path(__file__).parent / "results" / "memory.md"


class Raises:
    """A value, or a name, that raises."""

    def __float__(self) -> float:
        raise ValueError("a value")


class RaisesAsName(Raises):
    left = 1  # it gets into the dict

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


def refused(model, x: dict, y, t: int) -> None:
    """Everything that a sample may be refused for."""
    wrong = [
        *(({**x, ("new", t): value}, y, 1.0) for value in (float("nan"), "text", Raises())),
        *(({**x, RaisesAsName(): 1.0}, y, 1.0), (x, y, -1.0), (x, None, 1.0), (x, [y], 1.0), (None, y, 1.0)),
    ]
    for sample, target, w in wrong:
        try:
            model.learn_one(sample, target, w)
        except (ValueError, TypeError):
            continue
        raise SystemExit(f"{type(model).__name__} did not refuse {sample}, {target}, {w}")


def copies(model) -> None:
    model.clone()
    copy.deepcopy(model)
    pickle.loads(pickle.dumps(model))
    checkpoint._parse(checkpoint._dump(model))


def with_failing_loss(cls: type, options: dict):
    if "loss" not in parameters(cls):
        return None
    with contextlib.suppress(TypeError, ValueError):  # NBSGD's averages take losses of their own alone
        return small(
            cls, **{**options, "loss": (FailingRegression if task(cls) == REGRESSION else Failing)(fails=True)}
        )


def run(cls: type, options: dict, n: int, seconds: float) -> tuple[int, list[float]]:
    rng = random.Random(1)
    model, failing = small(cls, **{"budget": 50, **options}), with_failing_loss(cls, options)
    regression = task(cls) == REGRESSION
    sizes, start = [resident()], time.process_time()
    for t in range(n):
        x = {"a": rng.random(), "b": rng.random(), ("f", t // 50 % 100_000): rng.random()}
        y = x["a"] * x["b"] - 0.25
        y = y if regression else y > 0
        decision(model, x)
        model.learn_one(x, y)
        if t % 100 == 99:
            refused(model, x, y, t)
            if failing is not None:
                with contextlib.suppress(RuntimeError):
                    failing.learn_one(x, y)
        if t % 2000 == 1999:
            copies(model)
        if t % 1000 == 999:
            if not bounded(cls):
                model = model.clone()
            progress = max((t + 1) / n, (time.process_time() - start) / seconds)
            if progress * 10 >= len(sizes):
                sizes += [resident()] * (int(progress * 10) + 1 - len(sizes))
            if progress >= 1.0:
                break
    return t + 1, sizes


HEAD = """\
# Memory

Resident memory in MB with every class in its modes: {samples:,} samples, or as many as {seconds:g} s of the processor
allow (other modes than the defaults: a third). New features, refused samples, losses that raise, clones, pickles and
checkpoints all the time. Made by `python -m benchmarks.memory_growth --samples {samples} --seconds {seconds:g}`.

| class | samples | a tenth | half | end | half to end, KB |
| --- | ---: | ---: | ---: | ---: | ---: |
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Resident memory over many samples, class by class.")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of the processor, for a model at most")
    arguments = parser.parse_args()
    text = HEAD.format(samples=arguments.samples, seconds=arguments.seconds)
    print(text, end="")
    worst = 0.0
    for cls, options, name in EVERY_VARIANT:
        if arguments.models and not name.startswith(tuple(arguments.models)):
            continue
        seconds = arguments.seconds if name.endswith("-default") else arguments.seconds / 3.0
        n, sizes = run(cls, options, arguments.samples, seconds)
        growth = sizes[-1] - sizes[5]
        worst = max(worst, growth)
        name = name.replace("-default", "")
        line = f"| {name} | {n:,} | {sizes[1]:.1f} | {sizes[5]:.1f} | {sizes[-1]:.1f} | {1024 * growth:.0f} |"
        print(line, flush=True)
        text += line + "\n"
    if not arguments.models:
        RESULTS.write_text(text)
    if worst > LEAK:
        raise SystemExit(f"{worst:.1f} MB more at the end than in the middle")


if __name__ == "__main__":
    main()
