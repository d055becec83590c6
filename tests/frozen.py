"""The bits of every variant of every class, as digests: predictions, checkpoints and merges must not move unnoticed.

    python -m tests.frozen            # compares with frozen.json, and lists what differs
    python -m tests.frozen --write    # freezes them anew; the reason belongs in the commit, and in CHANGELOG.md

Bits depend on the processor and on libraries, so this is no test: compare two commits on one machine.

A digest has three parts, for predictions, for those of three merged shards, and for the checkpoint.  A change of the
format moves the last one alone.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import hashlib
import json
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from river import base

import river_okl
from river_okl import checkpoint
from tests import streams
from tests.discovery import EVERY_VARIANT, decision, learn, parameters, small, task

FILE = Path(__file__).with_name("frozen.json")
LONG = 2500  # samples for OKL: trees split, kernels move
OKL = [river_okl.OKLClassifier, river_okl.OKLRegressor]
VARIANTS = [
    *EVERY_VARIANT,
    *[(cls, {"budget": parameters(cls)["budget"]}, f"{cls.__name__}-large") for cls in OKL],
    (river_okl.OKLDetector, {}, "OKLDetector-default"),
]
DELAY = 30


def three(_, n, seed=9):
    """Three labels, the third of which comes late."""
    rng = random.Random(seed)
    for t in range(n):
        x = {f"x{i}": rng.gauss(0, 1) for i in range(5)}
        yield x, "ab"[x["x0"] * x["x1"] > 0] if t < 60 or x["x2"] < 0.5 else "c"


STREAMS = {kind: getattr(streams, kind) for kind in ("dense", "sparse", "churning", "wordy")}
STREAMS |= {"three": three, "late": streams.churning}


def asked(model, x):
    """A prediction, to the last bit."""
    if isinstance(model, base.Classifier):
        return sorted((repr(label), float(p).hex()) for label, p in model.predict_proba_one(x).items())
    return decision(model, x)


def digest(*things):
    found = hashlib.sha256()
    for thing in things:
        found.update(thing if isinstance(thing, bytes) else repr(thing).encode())
    return found.hexdigest()[:10]


def followed(model, stream, delay):
    """Predict, then learn; with a delay, labels come after as many predictions."""
    found, waiting = [], []
    for t, (x, y) in enumerate(stream):
        found.append(asked(model, x))
        waiting.append((x, y))
        if len(waiting) > delay:
            learn(model, [waiting.pop(0)])
        if t == len(stream) // 2:
            model = checkpoint.loads(checkpoint.dumps(model))
    return model, found


def frozen(numbered):
    """The digests of one variant."""
    cls, options, name = VARIANTS[numbered]
    n, found = LONG if "OKL" in name else 240, {}
    multiclass = issubclass(cls, base.Classifier) and small(cls, **options)._multiclass
    takes = {"wordy": cls._takes_words, "three": multiclass, "late": cls in OKL}
    for kind, make in STREAMS.items():
        if not takes.get(kind, True):
            continue
        stream = [*make(task(cls), n)]
        model, predictions = followed(small(cls, **options), stream, DELAY if kind == "late" else 0)
        try:
            merged = river_okl.merge([learn(small(cls, **options), stream[i : n // 2 : 3]) for i in range(3)])
        except TypeError:
            of_merged = "-"
        else:
            of_merged = digest(*[asked(merged, x) for x, _ in stream[n // 2 :]])
        found[f"{name} {kind}"] = f"{digest(*predictions)} {of_merged} {digest(checkpoint.dumps(model))}"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="freeze them anew")
    parser.add_argument("--only", default="", help="a part of the names of variants")
    options = parser.parse_args()
    numbers = [i for i, (_, _, name) in enumerate(VARIANTS) if options.only in name]
    with ProcessPoolExecutor() as pool:
        found = {key: value for each in pool.map(frozen, numbers) for key, value in each.items()}
    if options.write:
        FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        return 0
    known = json.loads(FILE.read_text(encoding="utf-8"))
    parts = ("predictions", "merge", "checkpoint")
    moved = 0
    for key in found | {key: 0 for key in known if options.only in key.rsplit(" ", 1)[0]}:
        old, new = known.get(key, "").split(), found.get(key, "").split()
        if old != new:
            moved += 1
            print(key, *[part for part, a, b in zip(parts, old, new, strict=False) if a != b] or ["is new or gone"])
    print(f"{moved} of {len(found)} differ")
    return moved > 0


if __name__ == "__main__":
    sys.exit(main())
