"""Readers of a model that another thread trains, and their cost for the learner: ``results/threads.md``.

    python -m benchmarks.threads

A service in one process: one thread learns a stream, eight predict.  Threads share the interpreter, so together they do
no more than one; measured are starvation and the cost of switching.  The second table is the cost of an uncontended
lock.
"""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

from river.datasets import synth

import river_okl
from benchmarks.runner import commit, machine, table

RESULTS = Path(__file__).parent / "results" / "threads.md"
CLASSES = ("ProjectronClassifier", "AhpatronClassifier", "OKLClassifier")
SECONDS, READERS, TURNS = 2.0, 8, 7
STREAM = [(x, y) for x, y in synth.Agrawal(classification_function=0, seed=1).take(4000)]


def taught(name: str) -> object:
    model = getattr(river_okl, name)()
    for x, y in STREAM:
        model.learn_one(x, y)
    return model


def counted(call, stop: threading.Event, counts: list[int], i: int) -> None:
    for x, y in itertools.cycle(STREAM):
        if stop.is_set():
            return
        call(x, y)
        counts[i] += 1


def rates(name: str, learners: int, readers: int) -> tuple[float, list[float]]:
    """Samples learned per second, and predictions per second of each reader."""
    model, stop = taught(name), threading.Event()
    calls = [model.learn_one] * learners + [lambda x, _: model.predict_one(x)] * readers
    counts = [0] * len(calls)
    threads = [threading.Thread(target=counted, args=(call, stop, counts, i)) for i, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in threads:
        thread.join()
    each = [count / SECONDS for count in counts]
    return sum(each[:learners]), each[learners:]


def price(name: str) -> tuple[float, float]:
    """Seconds of ``predict_one`` and ``learn_one``, and of two uses of the lock: minima over turns."""
    model = taught(name)
    lock = model._f.lock
    steps, locks = [], []
    for _ in range(TURNS):
        start = time.perf_counter()
        for x, y in STREAM:
            model.predict_one(x)
            model.learn_one(x, y)
        steps.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in STREAM:
            try:
                lock.acquire()
            finally:
                lock.release()
            try:
                lock.acquire()
            finally:
                lock.release()
        with_lock = time.perf_counter() - start
        start = time.perf_counter()
        for _ in STREAM:
            try:
                pass
            finally:
                pass
        locks.append(with_lock - (time.perf_counter() - start))
    return min(steps) / len(STREAM), min(locks) / len(STREAM)


def main() -> None:
    service, prices = [], []
    for name in CLASSES:
        alone, _ = rates(name, 1, 0)
        _, (reader,) = rates(name, 0, 1)
        learned, readers = rates(name, 1, READERS)
        row = (alone, reader, learned, sum(readers), min(readers))
        service.append((f"`{name}`", *(f"{rate:,.0f}" for rate in row)))
        step, lock = price(name)
        prices.append((f"`{name}`", f"{1e6 * step:.2f}", f"{1e6 * lock:.3f}", f"{100 * lock / step:.1f} %"))
    about = (
        f"`python -m benchmarks.threads`; {machine()} At {commit()}. Calls a second: one thread learns Agrawal "
        f"(9 features) and {READERS} predict, for {SECONDS:g} s each."
    )
    head = ("class", "learner alone", "one reader alone", "learner beside readers", "all readers", "slowest reader")
    price_head = ("class", "µs/sample", "µs of its two locks", "share")
    text = f"# Threads\n\n{about}\n\n{table(head, service)}\n\n{table(price_head, prices)}\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
