"""A user's program: mypy --strict and pyright must find nothing wrong in it. See test_packaging.py."""

from __future__ import annotations

from river_okl import OKLClassifier, OKLRegressor, OLRDClassifier, OLRDRegressor, datasets, kernels, losses

kernel: kernels.Kernel = 0.8 * kernels.RBF(gamma=0.5) + 0.2 * kernels.Linear()
classifier = OLRDClassifier(kernel, budget=50, seed=1)
for x, y in datasets.GaussianMixture(seed=1).take(200):
    label: bool | int | str | None = classifier.predict_one(x)
    classifier.learn_one(x, y)
    probabilities: dict[bool, float] = classifier.predict_proba_one(x)
score: float = classifier.decision_function_one({0: 1.0, 1: 0.5})
size: int = classifier.n_support_vectors
norm: float = classifier.norm
for point, coefficient in classifier.support_vectors:
    print(len(point), coefficient + norm + score, size)

regressor = OLRDRegressor(kernels.RBF(), loss=losses.EpsilonInsensitive(eps=0.1), budget=50)
regressor.learn_one({"a": 1.0}, 2.0, w=0.5)
prediction: float = regressor.predict_one({"a": 1.0})
print(prediction)

mixture = OKLRegressor()
mixture.learn_one({"a": 1.0}, 2.0, key=1)
value: float = mixture.predict_one({"a": 1.0})
spread: float = mixture.predict_one({"a": 1.0}, with_dist=True).sigma
contribution: float = mixture.contributions_one({"a": 1.0})["a"]
labels = OKLClassifier()
labels.learn_one({"a": "red"}, "yes")
print(value, spread, contribution, labels.contributions_one({"a": "red"}, label="yes").base)
