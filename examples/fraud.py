"""Payments, 2 % of them fraud, whose pattern changes half-way: probabilities from an imbalanced, drifting stream.

    python examples/fraud.py [picture.png]

Frauds are first small payments at night, then large ones to new shops.  Neither concept is linear in the features.
"""

import random
import sys

from matplotlib.figure import Figure
from river import drift, imblearn, linear_model, metrics, preprocessing, utils

import river_okl

N, BLOCK = 12_000, 500


def payments(seed=1):
    rng = random.Random(seed)
    for t in range(N):
        x = {"amount": rng.lognormvariate(3, 1), "hour": rng.uniform(0, 24), "shop_age": rng.expovariate(0.3)}
        fraud = rng.random() < 0.02
        if fraud and t < N // 2:
            x |= {"amount": rng.uniform(5, 12), "hour": rng.gauss(3, 0.7)}
        elif fraud:
            x |= {"amount": rng.uniform(60, 110), "shop_age": rng.uniform(0, 0.3)}
        yield x, fraud


def model(classifier):
    """Scaled, trained on one fraud in four samples, and replaced when its error rises."""
    balanced = imblearn.RandomUnderSampler(classifier, desired_dist={False: 0.75, True: 0.25}, seed=1)
    return preprocessing.StandardScaler() | drift.DriftRetrainingClassifier(balanced)


models = {
    "AhpatronClassifier": model(river_okl.AhpatronClassifier(budget=100)),
    "LogisticRegression": model(linear_model.LogisticRegression()),
}
curves = {name: [] for name in models}
recent = {name: utils.Rolling(metrics.ROCAUC, window_size=2000) for name in models}
for t, (x, fraud) in enumerate(payments(), start=1):
    for name, classifier in models.items():
        recent[name].update(fraud, classifier.predict_proba_one(x))
        classifier.learn_one(x, fraud)
        if t % BLOCK == 0:
            curves[name].append((t, recent[name].get()))

axes = Figure(figsize=(7, 3.5), layout="constrained").add_subplot()
for name, curve in curves.items():
    axes.plot(*zip(*curve, strict=True), label=name)
    print(f"{name}: ROC AUC of the last 2,000 payments {curve[-1][1]:.3f}")
axes.axvline(N // 2, color="gray", linestyle="--")
axes.set(title="the pattern changes at the dashed line", xlabel="payments", ylabel="ROC AUC of the last 2,000")
axes.legend()
axes.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "fraud.png", dpi=110)
