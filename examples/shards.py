"""Two shards of a stream, whose models are merged after every round, against one model that learns all of it.

    python examples/shards.py [picture.png]

Both shards start each round from a copy of the merged model. With `start=` what they share counts once.
"""

import copy
import math
import random
import sys

from matplotlib.figure import Figure

import river_okl

FIRST, ROUND, ROUNDS, HELD_OUT = 100, 300, 5, 2_000


def spirals(n, seed):
    """Three interlocking spirals, and a feature that says nothing."""
    rng = random.Random(seed)
    for _ in range(n):
        label, radius = rng.randrange(3), rng.uniform(0.2, 2)
        angle = 2 * math.pi * label / 3 + 4 * radius + rng.gauss(0, 0.4)
        yield {"a": radius * math.cos(angle), "b": radius * math.sin(angle), "c": rng.gauss(0, 0.5)}, label


def accuracy(model):
    return sum(model.predict_one(x) == y for x, y in held_out) / HELD_OUT


stream, held_out = list(spirals(FIRST + ROUND * ROUNDS, seed=1)), list(spirals(HELD_OUT, seed=2))
merged = river_okl.SOGPClassifier(budget=80)
merged.learn_stream(stream[:FIRST])
alone, one = copy.deepcopy(merged), copy.deepcopy(merged)
curves = {"a shard alone": [], "merged": [], "one model": []}
for end in range(FIRST + ROUND, len(stream) + 1, ROUND):
    part = stream[end - ROUND : end]
    shards = [copy.deepcopy(merged) for _ in range(2)]
    for i, shard in enumerate(shards):
        shard.learn_stream(part[i::2])
    merged = river_okl.merge(shards, start=merged)
    alone.learn_stream(part[::2])
    one.learn_stream(part)
    for curve, model in zip(curves.values(), (alone, merged, one), strict=True):
        curve.append((end, accuracy(model)))

print("accuracy on held-out samples: " + ", ".join(f"{name} {curve[-1][1]:.1%}" for name, curve in curves.items()))
axes = Figure(figsize=(7, 3.5), layout="constrained").add_subplot()
for name, curve in curves.items():
    axes.plot(*zip(*curve, strict=True), marker=".", label=name)
axes.set(xlabel="samples of the stream", ylabel="accuracy on held-out samples")
axes.legend()
axes.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "shards.png", dpi=110)
