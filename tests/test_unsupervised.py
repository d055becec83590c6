"""The classes without a target against naive references; what test_conformance.py says only of predictions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from river import anomaly, datasets, evaluate, linear_model, metrics, preprocessing

import river_okl
from river_okl import kernels
from river_okl._core.function.frequencies import frequencies
from tests import reference, streams
from tests.discovery import UNSUPERVISED


def xs(kind="dense", n=120):
    return [x for x, _ in streams.KINDS[kind](streams.CLASSIFICATION, n=n)]


def test_the_classes_are_found():
    assert set(UNSUPERVISED) == {"KernelOneClassSVM", "NystroemFeatures", "OKLDetector", "RandomFourierFeatures"}


# Novelty --------------------------------------------------------------------------------------------------------------


def rings(n, seed=0):
    """A ring, and a twentieth of the samples uniform."""
    rng = random.Random(seed)
    for _ in range(n):
        strange = rng.random() < 0.05
        angle, radius = rng.uniform(0, 2 * math.pi), rng.gauss(2.0, 0.2)
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        yield {"x": rng.uniform(-5, 5) if strange else x, "y": rng.uniform(-5, 5) if strange else y}, strange


@pytest.mark.parametrize("kernel", [None, kernels.Linear(0.1)])
def test_scores_are_monotone_in_the_margin(kernel):
    model, margins, scores = river_okl.KernelOneClassSVM(kernel), [], []
    for t, (x, _) in enumerate([*rings(1000), *rings(300, seed=5)]):
        margins.append(model._rho - model._f.evaluate(x))
        scores.append(model.score_one(x))
        if t < 1000:
            model.learn_one(x)
    assert min(scores) > 0.0 and max(scores) < 1.0
    assert np.argsort(scores, kind="stable").tolist() == np.argsort(margins, kind="stable").tolist()
    assert len({*scores}) == len({*margins})


def test_rivers_roc_auc_is_close_to_the_exact_one():
    river, exact = metrics.ROCAUC(), metrics.RollingROCAUC(window_size=3000)
    model = preprocessing.StandardScaler() | river_okl.KernelOneClassSVM()
    for x, strange in datasets.synth.AnomalySine(n_samples=3000, n_anomalies=100, seed=12345):
        score = model.score_one(x)
        river.update(strange, score)
        exact.update(strange, score)
        model.learn_one(x)
    assert exact.get() > 0.95
    assert river.get() == pytest.approx(exact.get(), abs=0.02)  # .24 when scores were ρ - f(x)


# Weights --------------------------------------------------------------------------------------------------------------


def test_heavier_samples_are_less_anomalous():
    side = {w: river_okl.KernelOneClassSVM(kernels.RBF(0.5)) for w in (0.2, 1.0, 5.0)}
    for x, _ in rings(2000):
        for w, model in side.items():
            model.learn_one(x, w if x["x"] > 0.0 else 1.0)
    right, left = {"x": 2.0, "y": 0.0}, {"x": -2.0, "y": 0.0}
    gaps = [model.score_one(right) - model.score_one(left) for model in side.values()]
    assert gaps[0] > gaps[1] > gaps[2]


def test_an_extreme_weight():
    model = river_okl.KernelOneClassSVM()
    for t, (x, _) in enumerate(rings(500)):
        model.learn_one(x, 1e10 if t == 200 else 1.0)
        assert abs(model._rho) < 5.0 and 0.0 < model.score_one(x) < 1.0


def test_samples_of_weight_0_are_not_selected():
    model = river_okl.NystroemFeatures(kernels.RBF(0.5))
    for i, x in enumerate(xs(n=60)):
        model.learn_one(x, w=i % 2)
    chosen = [z for z, _ in model.support_vectors]
    assert chosen and all(z in xs(n=60)[1::2] for z in chosen)


@pytest.mark.parametrize(
    "step", [river_okl.NystroemFeatures, lambda: anomaly.ThresholdFilter(river_okl.KernelOneClassSVM(), threshold=0.9)]
)
def test_pipelines_pass_weights_on(step):
    """River routes w to transformers and filters, and drops it before a detector at the end."""
    steps = step(), step()
    weighted, plain = (each | linear_model.LogisticRegression() for each in steps)
    for i, (x, y) in enumerate(streams.dense(streams.CLASSIFICATION, n=60)):
        weighted.learn_one(x, y > 0, w=i % 2)
        plain.learn_one(x, y > 0)
    detectors = [getattr(each, "anomaly_detector", each) for each in steps]
    assert detectors[0].support_vectors != detectors[1].support_vectors


@pytest.mark.parametrize(("right", "left"), [(1.0, 1.0), (4.0, 0.5)])
@pytest.mark.parametrize("nu", [0.05, 0.2, 0.3, 0.5, 0.9])
def test_nu_is_the_fraction_of_the_weight_below_rho(nu, right, left):
    model, below, total = river_okl.KernelOneClassSVM(nu=nu), 0.0, 0.0
    for x, _ in rings(6000):
        w = right if x["x"] > 0.0 else left
        below += w * (model.score_one(x) >= 0.5)
        total += w
        model.learn_one(x, w)
    assert below / total == pytest.approx(nu, abs=0.01)


def test_it_finds_non_linear_anomalies():
    ours, rivers = (
        evaluate.progressive_val_score(rings(2000), preprocessing.StandardScaler() | model, metrics.ROCAUC()).get()
        for model in (river_okl.KernelOneClassSVM(), anomaly.OneClassSVM())
    )
    assert ours > 0.87 and rivers < 0.6


# Features -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "emerging"])
def test_random_features_match_their_definition(kind):
    model = river_okl.RandomFourierFeatures(kernels.RBF(0.4), n_components=30, seed=3)
    for x in xs(kind, 60):
        angles = math.sqrt(0.8) * sum(v * frequencies(model._f.key, name, 30) for name, v in x.items())
        found = model.transform_one(x)
        assert list(found) == [f"cos{i}" for i in range(30)] + [f"sin{i}" for i in range(30)]
        expected = math.sqrt(2) * np.concatenate([np.cos(angles), np.sin(angles)])
        assert list(found.values()) == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
        model.learn_one(x)


class NystroemTwin:
    """From the Cholesky factor of the Gram matrix, recomputed each time."""

    def __init__(self, kernel, budget, tolerance):
        self.kernel, self.budget, self.tolerance, self.points = kernel, budget, tolerance, []

    def coordinates(self, x):
        if not self.points:
            return np.zeros(0)
        L = np.linalg.cholesky([[self.kernel(z, y) for z in self.points] for y in self.points])
        return np.linalg.solve(L, [self.kernel(z, x) for z in self.points])

    def learn(self, x):
        c = self.coordinates(x)
        if len(self.points) < self.budget and self.kernel(x, x) - c @ c > self.tolerance**2 * self.kernel(x, x):
            self.points.append(x)


@pytest.mark.parametrize("kind", ["dense", "sparse", "emerging", "duplicates"])
@pytest.mark.parametrize(("budget", "tolerance"), [(50, 0.1), (8, 0.3), (1, 0.0)])
def test_nystroem_features_match_their_reference(kind, budget, tolerance):
    model = river_okl.NystroemFeatures(kernels.RBF(0.5), budget=budget, tolerance=tolerance)
    twin = NystroemTwin(reference.remembered(reference.rbf(0.5)), budget, tolerance)
    for x in xs(kind):
        expected = math.sqrt(budget) * twin.coordinates(x)
        found = model.transform_one(x)
        assert list(found) == [f"nystroem{i}" for i in range(len(twin.points))]
        assert list(found.values()) == pytest.approx(expected.tolist(), rel=1e-7, abs=1e-7)
        model.learn_one(x)
        twin.learn(x)
    assert [z for z, _ in model.support_vectors] == [{k: v for k, v in z.items() if v} for z in twin.points]


def test_coordinates_follow_gamma_until_it_is_fixed():
    model = river_okl.NystroemFeatures(budget=20)
    for x in xs(n=300):
        model.learn_one(x)
        gamma = model.kernel_in_use.gamma
        twin = NystroemTwin(reference.rbf(gamma), 20, 0.0)
        twin.points = [z for z, _ in model.support_vectors]
        if gamma:
            expected = math.sqrt(20) * twin.coordinates(x)
            assert list(model.transform_one(x).values()) == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-6)
    assert len(twin.points) == 20


@pytest.mark.parametrize("features", [river_okl.RandomFourierFeatures(seed=1), river_okl.NystroemFeatures()])
def test_a_linear_model_on_features_is_non_linear(features):
    """A linear one has 0.56 on Bananas."""
    model = preprocessing.StandardScaler() | features | linear_model.LogisticRegression()
    assert evaluate.progressive_val_score(datasets.Bananas().take(2000), model, metrics.Accuracy()).get() > 0.82
