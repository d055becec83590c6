"""Small seeded streams: dense, sparse, with features that appear and disappear, with duplicates.

Each is a list of (x, y), y = -1.0 / +1.0 for "classification" and a float of order 1 for "regression"; the target is
non-linear.
"""

from __future__ import annotations

import math
import random

CLASSIFICATION, REGRESSION = "classification", "regression"


def _target(task, rng, value):
    if task == REGRESSION:
        return math.tanh(value) + 0.05 * rng.gauss(0, 1)
    return 1.0 if value + 0.2 * rng.gauss(0, 1) > 0 else -1.0


def dense(task, n=200, seed=1, d=4):
    """Every sample has every feature."""
    rng = random.Random(seed)
    stream = []
    for _ in range(n):
        x = {f"x{i}": rng.gauss(0, 1) for i in range(d)}
        stream.append((x, _target(task, rng, math.sin(2 * x["x0"]) + x["x1"] * x["x2"])))
    return stream


def sparse(task, n=200, seed=2, n_features=200, active=8):
    """Each sample has a few of many features, some of them frequent; names are ints."""
    rng = random.Random(seed)
    sign = [rng.choice((-1, 1)) for _ in range(n_features)]
    stream = []
    for _ in range(n):
        names = {int(n_features * rng.random() ** 3) for _ in range(active)}
        x = {i: rng.choice((1.0, 0.5, 2.0, rng.random())) for i in sorted(names)}
        stream.append((x, _target(task, rng, sum(sign[i] * v for i, v in x.items()) - 1.5 * x.get(0, 0.0) ** 2)))
    return stream


def emerging(task, n=200, seed=3):
    """New features keep appearing and old ones disappear for good; some have the value 0."""
    rng = random.Random(seed)
    stream = []
    for t in range(n):
        x = {"bias": 1.0}
        for i in range(t // 10, t // 10 + 5):
            if rng.random() < 0.8:
                x["f", i] = 0.0 if rng.random() < 0.1 else rng.gauss(0, 1)
        stream.append((x, _target(task, rng, math.sin(3 * sum(x.values())))))
    return stream


def duplicates(task, n=200, seed=4, distinct=12):
    """A dozen points, repeated, with a noisy target."""
    rng = random.Random(seed)
    points = [{"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)} for _ in range(distinct)]
    stream = []
    for _ in range(n):
        x = dict(rng.choice(points))
        stream.append((x, _target(task, rng, 2 * math.sin(2 * x["a"]) * x["b"])))
    return stream


def unit(task, n=200, seed=5, d=3):
    """Dense samples in the unit ball, so that polynomial kernels are of order 1."""
    rng = random.Random(seed)
    stream = []
    for _ in range(n):
        x = {i: rng.gauss(0, 1) for i in range(d)}
        length = math.sqrt(sum(v * v for v in x.values())) / rng.random() ** (1 / d)
        x = {i: v / length for i, v in x.items()}
        stream.append((x, _target(task, rng, 3 * (x[0] * x[1] + x[2] ** 2 - 0.2))))
    return stream


def churning(task, n=200, seed=7):
    """One to nine of twelve features in any order; some leave for a while, some for good, and others join."""
    rng = random.Random(seed)
    names, stream = list(range(12)), []
    for _ in range(n):
        if rng.random() < 0.2:
            names[rng.randrange(12)] = max(names) + 1 if rng.random() < 0.5 else rng.randrange(max(names))
        x = {f"f{i}": rng.gauss(0, 1) for i in rng.sample(names, rng.randint(1, 9))}
        stream.append((x, _target(task, rng, 2 * math.sin(sum(x.values())))))
    return stream


def wordy(task, n=200, seed=8):
    """Numbers, strings, gaps in both, and names that have either."""
    rng = random.Random(seed)
    stream = []
    for _ in range(n):
        size, colour = rng.gauss(0, 1), rng.choice("pqrs")
        x = {
            "size": size if rng.random() < 0.8 else None,
            "colour": colour if rng.random() < 0.9 else None,
            "user": f"user {int(200 * rng.random() ** 3)}",
        }
        if rng.random() < 0.5:
            x["s", rng.randrange(20)] = rng.choice((rng.gauss(0, 1), "word", None, math.nan))
        stream.append((x, _target(task, rng, size + (colour == "p"))))
    return stream


KINDS = {"dense": dense, "sparse": sparse, "emerging": emerging, "duplicates": duplicates, "unit": unit}
