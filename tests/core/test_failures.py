"""Failures in the middle of a change: names that raise, lack of memory."""

from __future__ import annotations

import math
import pickle
import sys

import pytest

from river_okl import kernels
from tests.core.expansions import RBF, SANITIZED, Moody, expand, run_python


@pytest.mark.parametrize("action", ["evaluate", "observe", "add", "remove", "state"])
@pytest.mark.parametrize("options", [{"norm": True, "values": True}, {"inverse": True}], ids=str)
@pytest.mark.parametrize("n", [5, 30])
def test_a_name_that_raises_leaves_a_valid_expansion_or_an_incomplete_one(n, options, action):
    names = [Moody(i) for i in range(3 * n + 20)]
    kernel = kernels.RBF() if action == "observe" else RBF
    fired, at = True, 0
    while fired:
        Moody.left = math.inf
        f = expand(kernel, **options)
        for t in range(n):  # common names, rare ones and its own
            f.observe(dict.fromkeys((names[0], names[1 + t % 4], *names[5 + 3 * t : 8 + 3 * t]), 1.0 + 0.1 * t))
            f.add(0.5)
        x = dict.fromkeys([names[0], names[1], *names[-8:]], 0.5)
        f.evaluate(x)
        other = dict.fromkeys(names[2:8], 0.25)
        before, norm = f.coefficients.tolist(), f.norm2
        Moody.left = at
        try:
            getattr(f, action)(*{"add": (1.0,), "remove": (0,), "state": ()}.get(action, (other,)))
            fired = False
        except RuntimeError:
            at += 1 + at // 2 * (n > 5)  # everywhere for 5 points
        Moody.left = math.inf
        if f.lock.incomplete:
            assert action in ("add", "remove")
            with pytest.raises(RuntimeError, match=r"incomplete.*checkpoint"):
                f.lock.acquire()
            continue
        if fired:
            assert f.coefficients.tolist() == before
            assert action == "observe" or f.norm2 == pytest.approx(norm, rel=1e-12)
        f._check()
        pickle.loads(pickle.dumps(f))._check()
        f.evaluate(x)
        f.add(1.0)
        f._check()
        while len(f):
            f.remove(0)
        f._check()
        assert f.state()["features"]["names"] == []
    assert at > 0 or action == "state"


LIMITED = """
import os, pickle, resource
from pathlib import Path
from tests.core.expansions import filled

def limited(megabytes, act):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(megabytes * 2**20), -1))
    try:
        act()
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return False
"""

GRAM = """
f = filled(512, d=20, density=1.0, norm=True, inverse=True)
sample, sizes = {0: 0.5, "new": 1.0}, range(2, 20, 3)  # the Gram of 1,024 is 8 MB, and so is its inverse
"""

FEATURES = """
f = filled(10, d=20, density=1.0, norm=True)
sample, sizes = {("f", i): 1.0 for i in range(60_000)}, range(10)
"""

TRIED = """
before, failed = pickle.dumps(f), 0
for megabytes in sizes:
    g = pickle.loads(before)
    g.evaluate(sample)
    if limited(megabytes, lambda: g.add(1.0)):
        failed += 1
        assert g.lock.incomplete
assert failed >= 3, failed
"""

PREDICTIONS = """
import river_okl
model, x = river_okl.OKLClassifier(), {("f", i): 1.0 for i in range(300_000)}
for t in range(30):
    model.learn_one({"a": float(t % 5), "b": 1.0}, bool(t % 2))
ends = []
for megabytes in range(0, 60, 2):
    if (child := os.fork()) == 0:  # memory freed by one would suffice for the next
        failed = limited(megabytes, lambda: model.predict_one(x))
        model.predict_one(x)
        os._exit(failed)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert {*ends} <= {0, 1} and ends.count(1) >= 5, ends
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
@pytest.mark.skipif(SANITIZED, reason="the sanitizer reserves 20 TB")
@pytest.mark.parametrize("act", [GRAM + TRIED, FEATURES + TRIED, PREDICTIONS], ids=["gram", "features", "predictions"])
def test_running_out_of_memory_leaves_an_incomplete_model_or_changes_nothing(act):
    """Each in its own process: memory freed by one would suffice for the next."""
    run_python(LIMITED + act)
