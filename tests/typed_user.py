"""A user's program: mypy --strict and pyright must find nothing wrong in it. See test_packaging.py."""

from __future__ import annotations

from river_okl import OLRDClassifier, OLRDRegressor, datasets, kernels, losses

kernel: kernels.Kernel = 0.8 * kernels.RBF(gamma=0.5) + 0.2 * kernels.Linear()
classifier = OLRDClassifier(kernel, budget=50, seed=1)
for x, y in datasets.GaussianMixture(seed=1).take(200):
    label: bool = classifier.predict_one(x)
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
