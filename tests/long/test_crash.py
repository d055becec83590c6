"""Kill a process that writes checkpoints, at random moments: the file is always complete."""

from __future__ import annotations

import os
import random
import signal
import time

import river_okl

KILLS = 200


def save_for_ever(path, report):
    model = river_okl.OLRDRegressor(budget=200, seed=1)
    while True:
        for i in range(20):
            model.learn_one({j: float((model._t + i) * (j + 1) % 17) for j in range(30)}, float(i % 5))
        river_okl.save(model, path)
        os.write(report, f"{model._t}\n".encode())


def test_every_file_is_complete(tmp_path):
    """It holds the state of the last save that the child reported, or the one after."""
    rng, path = random.Random(7), tmp_path / "model.okl"
    for _ in range(KILLS):
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
        finished = int(reported.split()[-1])
        assert river_okl.load(path)._t in (finished, finished + 20)
        for temporary in tmp_path.glob(".okl-*.tmp"):  # the kill fell into the writing
            temporary.unlink()
