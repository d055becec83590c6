"""A linear and a kernel model in a bandit, which chooses the model that predicts and learns each sample.

    python examples/two_models.py [picture.png]

The classes are first separated by a line, then by a circle; the bandit runs one model at a time, and switches.
"""

import random
import sys

from matplotlib.figure import Figure
from river import bandit, linear_model, metrics, model_selection, preprocessing, utils

import river_okl

N, BLOCK = 6_000, 100


def points(seed=1):
    rng = random.Random(seed)
    for t in range(N):
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        yield {"a": a, "b": b}, (a + 2 * b > 0) if t < N // 3 else (a * a + b * b > 1.4)


names = ["LogisticRegression", "AhpatronClassifier"]
choice = model_selection.BanditClassifier(
    models=[linear_model.LogisticRegression(), river_okl.AhpatronClassifier(budget=50)],
    metric=utils.Rolling(metrics.Accuracy, window_size=300),  # of the last samples, to follow drift
    policy=bandit.EpsilonGreedy(epsilon=0.1, seed=1),
)
model = preprocessing.StandardScaler() | choice
recent, accuracy, best = utils.Rolling(metrics.Accuracy, window_size=300), [], []
for t, (x, y) in enumerate(points(), start=1):
    recent.update(y, model.predict_one(x))
    model.learn_one(x, y)
    if t % BLOCK == 0:
        accuracy.append((t, recent.get()))
        best.append((t, names.index(type(choice.best_model).__name__)))

print(f"{recent} of the last 300; the bandit ends with {type(choice.best_model).__name__}")
above, below = Figure(figsize=(7, 4), layout="constrained").subplots(2, 1, sharex=True, height_ratios=(3, 1))
above.plot(*zip(*accuracy, strict=True))
above.set(ylabel="accuracy of the last 300")
below.step(*zip(*best, strict=True), where="post")
below.set(yticks=[0, 1], yticklabels=names, ylim=(-0.3, 1.3), xlabel="samples")
for axes in (above, below):
    axes.axvline(N // 3, color="gray", linestyle="--")
above.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "two_models.png", dpi=110)
