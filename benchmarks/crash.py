"""Kill a process that writes checkpoints, at random moments: what is on the disk is always a whole one.

    python -m benchmarks.crash [--kills 200]

A child process saves a model again and again to one path, a new state each time, and is killed with SIGKILL after a
random time.  The file must load, and hold the state of the last save that the child reported, or the one after.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import river_okl


def save_for_ever(path: Path, report: int) -> None:
    model = river_okl.OLRDRegressor(budget=200, seed=1)
    while True:
        for i in range(20):
            model.learn_one({j: float((model._t + i) * (j + 1) % 17) for j in range(30)}, float(i % 5))
        river_okl.save(model, path)
        os.write(report, f"{model._t}\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill a process that writes checkpoints, at random moments.")
    parser.add_argument("--kills", type=int, default=200)
    kills = parser.parse_args().kills
    rng = random.Random(7)
    left = unreported = saves = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.okl"
        for kill in range(kills):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                save_for_ever(path, writing)
            os.close(writing)
            reported = os.read(reading, 16)  # the first save is done
            time.sleep(rng.random() * 0.1)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            while rest := os.read(reading, 65536):
                reported += rest
            os.close(reading)
            finished, found = int(reported.split()[-1]), river_okl.load(path)._t
            if found not in (finished, finished + 20):
                raise SystemExit(f"kill {kill}: the file has state {found}, the last save was of {finished}")
            saves += len(reported.split())
            unreported += found != finished
            for temporary in Path(folder).glob(".okl-*.tmp"):
                left += 1
                temporary.unlink()
    print(
        f"{kills} kills in {saves:,} saves: every file was whole. {left} kills fell into the writing and left a "
        f"temporary file, {unreported} came after the new file was in place and before the child could say so."
    )


if __name__ == "__main__":
    main()
