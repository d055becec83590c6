"""Support tickets for three teams, with ever-new product names: text through a hasher.

    python examples/text.py [picture.png]

A hasher bounds the features and a budget the support vectors, so the model stays small with an unbounded vocabulary.
"""

import random
import sys

from matplotlib.figure import Figure
from river import compose, feature_extraction, metrics, preprocessing

import river_okl
from river_okl.kernels import Linear

N, BLOCK = 3_000, 100
WORDS = {
    "billing": "invoice refund charge card payment price twice bank",
    "delivery": "parcel courier late address tracking lost arrived box",
    "technical": "crash error screen login update broken restart slow",
}
FILLING = ["hello", "please", "my", "the", "is", "was", "order", "since", "yesterday", "thanks", "again"]


def tickets(seed=1):
    rng = random.Random(seed)
    for t in range(N):
        team = rng.choice(list(WORDS))
        words = rng.choices(WORDS[team].split(), k=2) + rng.choices(FILLING, k=6)
        words.append(rng.choice(" ".join(WORDS.values()).split()))  # a word of any team
        words.append(f"product{rng.randrange(t // 20 + 5)}")
        rng.shuffle(words)
        yield " ".join(words), team


model = compose.Pipeline(
    feature_extraction.BagOfWords(),
    preprocessing.FeatureHasher(n_features=2**12, seed=1),
    preprocessing.Normalizer(),
    river_okl.ProjectronPlusPlusClassifier(Linear(), budget=60),
)
metric, curve, vocabulary = metrics.Accuracy(), [], set()
for t, (text, team) in enumerate(tickets(), start=1):
    metric.update(team, model.predict_one(text))
    model.learn_one(text, team)
    vocabulary.update(text.split())
    if t % BLOCK == 0:
        curve.append((t, metric.get(), len(vocabulary), model[-1].n_support_vectors))

at, accuracy, words, support = zip(*curve, strict=True)
print(f"{metric} with {support[-1]} support vectors and {words[-1]} words seen")
left, right = Figure(figsize=(8, 3.5), layout="constrained").subplots(1, 2)
left.plot(at, accuracy)
left.set(xlabel="tickets", ylabel="accuracy so far")
right.plot(at, words, label="words seen")
right.plot(at, support, label="support vectors")
right.legend()
left.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "text.png", dpi=110)
