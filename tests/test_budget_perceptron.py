"""The budget perceptron against a reference implementation."""

from __future__ import annotations

import numpy as np
import pytest

from river_okl import BudgetPerceptronClassifier, KernelPerceptronClassifier, kernels
from tests import reference, streams


class Twin(reference.Twin):
    """Crammer, Kandola & Singer 2003, with a cache of fixed size."""

    def __init__(self, kernel, budget, tolerance):
        super().__init__(kernel)
        self.budget, self.tolerance = budget, tolerance

    def learn(self, x, y):
        self.t += 1
        if y * self.f(x) > self.tolerance:
            return
        if len(self.support) == self.budget:

            def margin_without(i):
                z, v = self.support[i], self.label[i]
                return v * (self.f(z) - self.alpha[i] * self.kernel(z, z))

            self.remove(reference.largest([margin_without(i) for i in range(self.budget)], self.birth))
        self.add(x, y, y)


@pytest.mark.parametrize("stream", list(streams.KINDS))
@pytest.mark.parametrize(("budget", "tolerance"), [(12, 0.0), (12, 0.7), (1, 0.0)])
def test_it_matches_the_reference(stream, budget, tolerance):
    for ours, theirs in [(kernels.RBF(0.5), reference.rbf(0.5)), (kernels.Polynomial(2), reference.polynomial(2))]:
        model = BudgetPerceptronClassifier(ours, budget=budget, tolerance=tolerance)
        twin = Twin(theirs, budget, tolerance)
        for x, y in streams.KINDS[stream]("classification"):
            expected = twin.decision(x)
            assert model.decision_function_one(x) == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1.0 + abs(expected)))
            model.learn_one(x, y)
            twin.learn(x, y)
            assert sorted(model._f.births) == sorted(twin.birth)
        np.testing.assert_array_equal(model._f.coefficients, twin.alpha)
        assert model.n_support_vectors == budget


def test_below_the_budget_it_is_the_perceptron():
    model, perceptron = BudgetPerceptronClassifier(budget=500), KernelPerceptronClassifier()
    for x, y in streams.dense("classification"):
        model.learn_one(x, y)
        perceptron.learn_one(x, y)
    assert model.support_vectors == perceptron.support_vectors
