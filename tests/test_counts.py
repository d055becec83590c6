"""Numbers on which papers and independent programs agree, on real data; skipped unless RIVER_DATA is set."""

from __future__ import annotations

import random
import statistics

import pytest

import river_okl
from river_okl import datasets, kernels


@pytest.fixture(scope="module")
def a9a(data_home):
    """a9a and then a9a.t, in the order of the files."""
    samples = list(datasets.LIBSVM("a9a", part="both"))
    assert len(samples) == 48_842
    return samples


def mistakes(model, samples):
    wrong = 0
    for x, y in samples:
        wrong += (model.decision_function_one(x) >= 0.0) != y
        model.learn_one(x, y)
    return wrong


def test_kernel_perceptron_on_a9a(a9a):
    model = river_okl.KernelPerceptronClassifier(kernels.RBF(0.4))
    assert mistakes(model, a9a) == 9952
    assert model.n_support_vectors == 9952


@pytest.mark.parametrize(
    ("cls", "budget", "expected"), [(river_okl.BPAClassifier, 200, 9845), (river_okl.ForgetronClassifier, 1350, 10_567)]
)
def test_models_with_a_budget_on_a9a(a9a, cls, budget, expected):
    assert abs(mistakes(cls(kernels.RBF(0.4), budget=budget), a9a) - expected) <= 10


def test_ahpatron_on_phishing(data_home):
    """Liao et al. 2024, Table 2: σ = 1, B = 400, the best ε: 7.27 ± 0.13 % over permutations."""
    samples = list(datasets.LIBSVM("phishing"))
    rates = []
    for seed in range(3):
        random.Random(seed).shuffle(samples)
        model = river_okl.AhpatronClassifier(kernels.RBF(0.5), budget=400, epsilon=0.7)
        rates.append(100 * mistakes(model, samples) / len(samples))
    assert statistics.mean(rates) == pytest.approx(7.27, abs=0.3)  # 4 standard errors of a mean of three
