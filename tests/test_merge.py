"""Merging models of shards: sums of expansions, evidence counted once, and models that do not merge."""

from __future__ import annotations

import copy
import itertools
import math
import random
import statistics

import numpy as np
import pytest
from river import compose, ensemble, feature_extraction, optim, preprocessing, stats
from scipy import sparse

import river_okl
from river_okl import kernels
from river_okl._core.kernel.compiled import CompiledKernel
from river_okl.merging.spaces import Space
from tests import reference, streams
from tests.discovery import CLASSES, EVERY_VARIANT, decision, learn, small, snapshot, task

BPA = river_okl.BPAClassifier
KERNEL = kernels.RBF(0.5)
NOT_MERGING = {
    "KRLSRegressor": "the dictionary of one stream",
    "SkeGDClassifier": "a random sketch of the points of one stream",
    "POMDRClassifier": "the last samples of one stream",
    "NBSGD": "an average over the end of one stream",
}


def rejection(name, options):
    return NOT_MERGING.get("NBSGD" if name.startswith("NBSGD") and options.get("suffix") else name)


MERGING = [name for name in CLASSES if not rejection(name, {})]  # the others: test_every_class_merges_or_states_why_not
SUMS = [name for name in MERGING if not name.startswith(("OKL", "SOGP", "TVM"))]  # TVM: test_tvm.py
VARIANTS = [variant for variant in EVERY_VARIANT if "kernel" not in variant[1]]  # the kernel is that of the shards
each_variant = pytest.mark.parametrize(("cls", "options", "name"), VARIANTS, ids=[name for *_, name in VARIANTS])
each_mixture = pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])


def trained(start, *parts):
    """A copy of the start for each part of a stream, which it has learned."""
    return [learn(copy.deepcopy(start), part) for part in parts]


def shards_of(cls, n=3, each=40, start=None, stream=None, **options):
    """A start, and copies of it trained on parts of a stream."""
    stream = stream or streams.dense(task(cls), n * each)
    start = small(cls, kernel=KERNEL, **options) if start is None else start
    return start, trained(start, *(stream[i::n] for i in range(n))), stream


def scores(model, stream):
    return np.array([decision(model, x) for x, _ in stream[:40]])


def close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, abs(np.asarray(b)).max()))


# All classes ------------------------------------------------------------------------------------------------------


@each_variant
def test_every_class_merges_or_states_why_not(cls, options, name):
    start, models, stream = shards_of(cls, **options)
    if why := rejection(cls.__name__, options):
        with pytest.raises(TypeError, match=f"^{cls.__name__} does not merge: .*{why}") as error:
            river_okl.merge(models)
        assert "\n" not in str(error.value)
        return
    before = [snapshot(model) for model in (start, *models)]
    model = river_okl.merge(models, start=start)
    assert [snapshot(each) for each in (start, *models)] == before, "what is merged stays as it is"
    assert type(model) is cls
    assert model._get_params() == models[0]._get_params()
    if (budget := model._get_params().get("budget")) is not None and not name.startswith("NBSGD"):
        assert model.n_support_vectors <= (budget if isinstance(budget, int) else model._f.budget)
    close(scores(river_okl.merge([models[2], models[0], models[1]], start=start), stream), scores(model, stream), 1e-7)


def test_undeclared_attributes_do_not_merge():
    class Counting(river_okl.RBPClassifier):
        def __init__(self, kernel=None, *, budget=100, seed=None):
            super().__init__(kernel, budget=budget, seed=seed)
            self._counter = 0

    with pytest.raises(TypeError, match=r"^Counting does not merge: there is no rule for its attribute _counter$"):
        river_okl.merge([Counting(), Counting()])


COME_AND_GO = itertools.product(
    ("BPAClassifier", "SOGPRegressor", "OKLClassifier", "OKLRegressor"), ("sparse", "emerging", "duplicates")
)


@pytest.mark.parametrize(("name", "kind"), [*((name, "dense") for name in MERGING), *COME_AND_GO])
def test_an_untrained_shard_adds_nothing(name, kind):
    """Also where features come and go."""
    cls, make = CLASSES[name], streams.KINDS[kind]
    # on these streams it does not matter that merging reorders equal points, and that trees of moved features start new
    # statistics
    start = learn(small(cls), make(task(cls), 300, seed=8 if kind == "duplicates" else 36))
    _, models, stream = shards_of(cls, start=start, stream=make(task(cls), 120))
    merged = river_okl.merge([start, models[0], start], start=start)
    close(scores(merged, stream), scores(models[0], stream), 1e-6)


# Sums of expansions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_expansions(name):
    """If the union fits, or of random features: Σ w_i f_i; a model merged with itself is unchanged, and weights 1 and 0
    give the first."""
    cls = CLASSES[name]
    _, models, stream = shards_of(cls, **({"budget": 1000} if "budget" in small(cls)._get_params() else {}))
    each = [scores(model, stream) for model in models]
    merged = river_okl.merge(models, weights=[1.0, 2.0, 3.0])
    close(scores(merged, stream), (each[0] + 2.0 * each[1] + 3.0 * each[2]) / 6.0)
    close(scores(river_okl.merge([models[0], copy.deepcopy(models[0])]), stream), each[0])
    close(scores(river_okl.merge(models, weights=[1, 0, 0]), stream), each[0])
    if not name.startswith("FOGD"):
        points = {tuple(x.items()) for x, _ in models[0].support_vectors}
        assert river_okl.merge([models[0]] * 2).n_support_vectors == len(points), "equal points become one"


def test_weights_are_the_samples_that_each_has_learned():
    stream = streams.dense("classification", 100)
    models = trained(river_okl.KernelPAClassifier(KERNEL), stream[:75], stream[75:])
    expected = 0.75 * scores(models[0], stream) + 0.25 * scores(models[1], stream)
    close(scores(river_okl.merge(models), stream), expected)


@pytest.mark.parametrize("name", ["BPAClassifier", "OLRDRegressor", "ProjectronClassifier"])
def test_the_cost_of_a_reduction(name):
    """‖f - f̃‖ by brute force, below the cost of dropping the smallest coefficients."""
    _, models, _ = shards_of(CLASSES[name], budget=8)
    kappa = reference.rbf(0.5)

    def square(terms):
        return sum(a * b * kappa(x, z) for x, a in terms for z, b in terms)

    exact = [(x, a / 3.0) for model in models for x, a in model.support_vectors]
    errors = []
    for budget in (8, 12, 16, 24):
        merged = river_okl.merge(models, budget=budget)
        assert merged.budget == budget >= merged.n_support_vectors
        errors.append(square(exact + [(x, -a) for x, a in merged.support_vectors]))
    assert errors[0] < square(sorted(exact, key=lambda term: abs(term[1]))[:-8])
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-12


def test_a_class_without_a_budget_is_reduced_once():
    _, models, stream = shards_of(river_okl.KernelPAClassifier)
    merged = river_okl.merge(models, budget=5)
    assert merged.n_support_vectors == 5
    merged.learn_stream(stream)
    assert merged.n_support_vectors > 5


def test_counters_continue_as_for_one_stream():
    start = learn(river_okl.AVPClassifier(KERNEL), streams.dense("classification", 30, seed=5))
    _, models, _ = shards_of(river_okl.AVPClassifier, start=start)
    merged = river_okl.merge(models, start=start)
    assert merged._t == merged._calibration.seen == 30 + 120
    assert merged._mistakes == sum(model._mistakes for model in models) - 2 * start._mistakes


def test_one_class_machines_are_averaged():
    stream = streams.dense("classification", 900)
    start = learn(river_okl.KernelOneClassSVM(KERNEL, nu=0.3, budget=1000), stream[:300])
    models = trained(start, stream[300::2], stream[301::2])
    merged = river_okl.merge(models, start=start)
    assert merged._t == 900
    assert merged._rho == pytest.approx(np.mean([model._rho for model in models]), rel=1e-12)
    for x, _ in stream[:50]:
        assert merged._f.evaluate(x) == pytest.approx(np.mean([model._f.evaluate(x) for model in models]), abs=1e-9)
    reduced = river_okl.merge(models, start=start, budget=20)
    assert reduced.n_support_vectors <= 20
    for each in (merged, reduced):
        below = 0
        for x, _ in stream:
            below += each._f.evaluate(x) <= each._rho
            each.learn_one(x)
        each._f._check()
        assert below / 900 == pytest.approx(0.3, abs=0.05), "the ν-property holds after a merge"
    pipelines = [preprocessing.StandardScaler() | copy.deepcopy(model) for model in models]
    assert river_okl.merge(pipelines)[-1]._rho == river_okl.merge(models)._rho


def test_random_features_are_the_same_for_all_shards():
    stream = streams.dense("classification", 300)
    models = trained(river_okl.RandomFourierFeatures(seed=1), stream[::2], stream[1::2])
    merged = river_okl.merge(models)
    given = river_okl.RandomFourierFeatures(kernels.RBF(merged.kernel_in_use.gamma), seed=1)
    assert merged.transform_one(stream[0][0]) == given.transform_one(stream[0][0])
    gammas = [model.kernel_in_use.gamma for model in models]
    assert min(gammas) < merged.kernel_in_use.gamma < max(gammas), "the bandwidth is the pooled one"


@pytest.mark.parametrize("apart", [False, True])
def test_equal_points_are_at_distance_0(apart):
    X = np.random.default_rng(5).normal(1e3, 1e3, size=(60, 7))
    kernel, rows = CompiledKernel(kernels.Laplacian(3.0)._terms()), np.arange(60)
    space = Space(sparse.csr_array(sparse.block_diag(X[:, None]) if apart else X), kernel)
    assert space.sparse == apart
    K = space.gram(rows, rows[::-1])
    assert (np.fliplr(K).diagonal() == space.diagonal).all(), "a rounding error of ‖x-x‖² would be 1e-3 of κ"


@pytest.mark.filterwarnings("error")  # an overflow
def test_huge_points_are_chosen_like_small_ones():
    small_ones, huge = (
        [({name: size * value for name, value in x.items()}, y) for x, y in streams.dense("classification", 200)]
        for size in (1.0, 2.0**67)
    )
    start = river_okl.BudgetPerceptronClassifier(kernels.Linear(), budget=10)
    merged = [river_okl.merge(trained(start, part[:100], part[100:])) for part in (small_ones, huge)]
    expected, found = ([list(z.values()) for z, _ in model.support_vectors] for model in merged)
    assert found == [[2.0**67 * value for value in z] for z in expected]


# Bandwidths, labels, scalers --------------------------------------------------------------------------------------


def test_a_bandwidth_is_the_pooled_one():
    stream = streams.dense("classification", 300)
    parts = stream[:100], stream[100:200], stream[200:]
    merged = river_okl.merge(trained(BPA(), *parts))
    neighbors = [pair for part in parts for pair in itertools.pairwise(part)]
    squares = [sum((a[k] - b[k]) ** 2 for k in a) for (a, _), (b, _) in neighbors]
    assert merged._f.kernel.mean_distance == pytest.approx(statistics.mean(squares))
    gamma = merged.kernel_in_use.gamma
    merged.learn_stream(stream)
    assert merged.kernel_in_use.gamma == gamma, "300 samples are enough"
    alone = learn(BPA(), stream[:250])
    _, shards, _ = shards_of(BPA, start=alone)
    assert river_okl.merge(shards, start=alone).kernel_in_use == alone.kernel_in_use


@pytest.mark.parametrize(
    "name", ["KernelPAClassifier", "OGDClassifier", "FOGDClassifier", "SOGPClassifier", "OKLClassifier"]
)
def test_labels_are_united(name):
    """For any order of the shards' labels, and any number of them."""
    rng = random.Random(1)
    centers = {"a": (0, 0), "b": (3, 0), "c": (0, 3)}
    stream = [
        ({name: rng.gauss(at, 0.4) for name, at in zip("xy", centers[y], strict=True)}, y)
        for y in (rng.choice("abc") for _ in range(600))
    ]

    def accuracy(model, labels="abc"):
        return statistics.mean(model.predict_one(x) == y for x, y in stream if y in labels)

    seen = "ba", "ab", "cba", "a", ""
    models = [small(CLASSES[name], kernel=KERNEL, budget=600, n_components=100) for _ in seen]
    for i, (model, labels) in enumerate(zip(models, seen, strict=True)):
        own = [(x, y) for x, y in stream[i::5] if y in labels]
        learn(model, sorted(own[:6], key=lambda sample: labels.index(sample[1])) + own[6:])
    two, merged = river_okl.merge(models[:2]), river_okl.merge(models)
    assert sorted(two._labels.names) == ["a", "b"] and accuracy(two, "ab") > 0.97
    assert sorted(merged._labels.names) == ["a", "b", "c"] and accuracy(merged) > 0.8
    for i, labels in enumerate(seen[:3]):
        alone = river_okl.merge(models, weights=[float(j == i) for j in range(5)])
        chosen = [(x, y) for x, y in stream if y in labels][:100]
        same = [alone.predict_one(x) == models[i].predict_one(x) for x, _ in chosen]
        assert statistics.mean(same) > 0.97
    assert accuracy(learn(merged, stream)) > 0.97


def test_binary_models_reject_a_third_label():
    parts = [[({"x": float(i)}, labels[i % 2]) for i in range(10)] for labels in ("ab", "ac")]
    models = trained(river_okl.ForgetronClassifier(KERNEL), *parts)
    with pytest.raises(ValueError, match="third label"):
        river_okl.merge(models)


def test_pipelines_of_scalers():
    stream = streams.dense("regression", 330)
    new = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(river_okl.BPARegressor(KERNEL))
    start, one = trained(new, stream[:30], stream)
    merged = river_okl.merge(trained(start, *(stream[30 + i :: 3] for i in range(3))), start=start)
    (scaler, target), (expected, of_one) = (list(model.steps.values()) for model in (merged, one))
    assert scaler.counts == expected.counts
    assert scaler.means == pytest.approx(expected.means, rel=1e-9)
    assert scaler.vars == pytest.approx(expected.vars, rel=1e-9)
    assert target.var.get() == pytest.approx(of_one.var.get())
    assert target.var.mean.get() == pytest.approx(of_one.var.mean.get())
    merged.learn_one(*stream[0])
    assert math.isfinite(merged.predict_one(stream[1][0]))


# Posteriors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 8])
def test_with_a_shared_dictionary_evidence_equals_that_of_one_model(m):
    """Gaussian likelihood: m shards give the posterior of one model that saw everything."""
    stream = streams.duplicates("regression", 260)
    start = learn(river_okl.SOGPRegressor(kernels.RBF(0.7), budget=20, noise=0.1), stream[:60])
    points = [x for x, _ in start.support_vectors]
    assert len(points) == 12 == len({tuple(x.values()) for x, _ in stream}), "nothing is new any more"
    stream = stream[60:]
    one = learn(copy.deepcopy(start), stream)
    _, models, _ = shards_of(river_okl.SOGPRegressor, n=m, start=start, stream=stream)
    assert all([x for x, _ in model.support_vectors] == points for model in (one, *models))
    merged = river_okl.merge(models, start=start)
    for x, _ in streams.dense("regression", 50):
        x = {"a": x["x0"], "b": x["x1"]}
        found, expected = (model.predict_one(x, with_dist=True) for model in (merged, one))
        assert (found.mu, found.sigma) == pytest.approx((expected.mu, expected.sigma), abs=1e-8)
    close(merged._f.covariance(), one._f.covariance(), 1e-8)
    overconfident = river_okl.merge(models, weights=[1.0] * m)  # without naming the start its evidence counts m times
    assert np.trace(overconfident._f.covariance()) < np.trace(merged._f.covariance())


def test_the_start_is_forgotten_towards_the_prior():
    """Λ = Λ_0 + Σ (Λ_i - Λ_0), Λ_0 the precision of the start after the forgetting of a shard's samples."""
    stream = streams.duplicates("regression", 80)
    start = learn(river_okl.SOGPRegressor(kernels.RBF(0.7), budget=20, noise=0.1, forgetting=0.9), stream[:60])
    models = [learn(copy.deepcopy(start), stream[60 + i :: 2]) for i in range(2)]
    keep = 0.9**10
    prior = start._f.posterior.prior_variance * start._f.gram()
    before = np.linalg.inv(keep * start._f.covariance() + (1.0 - keep) * prior)
    precision = sum(np.linalg.inv(model._f.covariance()) for model in models) - before
    close(river_okl.merge(models, start=start)._f.covariance(), np.linalg.inv(precision), 1e-6)


# Invalid starts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [lambda model: model, lambda model: preprocessing.StandardScaler() | model])
@pytest.mark.parametrize("name", ["BPAClassifier", "SOGPRegressor", "OKLClassifier"])
def test_an_unrelated_start_is_rejected(name, around):
    cls = CLASSES[name]

    def learned(n, seed, names="x", scale=1.0):
        stream = streams.dense(task(cls), n, seed=seed)
        return learn(around(cls()), [({k.replace("x", names): scale * v for k, v in x.items()}, y) for x, y in stream])

    models = [learned(300, seed) for seed in (1, 2)]
    before = [snapshot(model) for model in models]
    unrelated = [(learned(400, 3), r"start has learned 400 samples, models\[0\] 300"), (learned(300, 3), "")]
    if type(models[0]) is cls and not name.startswith("OKL"):  # a scaler before it makes the bandwidths alike
        unrelated.append((learned(250, 3, scale=10.0), "bandwidths"))
    for start, why in unrelated:
        wrong = rf"^models\[0\] was no copy of start before it learned: .*{why}.*start=None if they were new$"
        with pytest.raises(ValueError, match=wrong):
            river_okl.merge(models, start=start)
    with pytest.raises(ValueError, match=r"^models\[1\] was no copy of start.*300 samples and are different"):
        river_okl.merge(models, start=models[0])
    assert [snapshot(model) for model in models] == before


# Refusals ---------------------------------------------------------------------------------------------------------


def scaled(**options):
    return preprocessing.StandardScaler() | BPA(**options)


def product():
    return compose.TransformerProduct(compose.Select("a"), compose.Select("a")) | BPA()


def imputed(*statistics):
    return [preprocessing.StatImputer(("a", statistic)) for statistic in statistics]


@pytest.mark.parametrize(
    ("models", "options", "error", "text"),
    [
        ([], {}, ValueError, "no models"),
        ([3], {}, TypeError, r"models\[0\] is an int"),
        ([BPA(), river_okl.RBPClassifier()], {}, TypeError, r"models\[1\] is a RBPClassifier"),
        ([BPA(), BPA(), BPA(budget=50)], {}, ValueError, r"models\[2\] has budget=50 and models\[0\] budget=500"),
        ([BPA(kernels.RBF(0.5)), BPA(kernels.RBF(0.6))], {}, ValueError, r"kernel=RBF\(gamma=0.6\)"),
        ([BPA(), BPA()], {"start": BPA(C=2.0)}, ValueError, r"start has C=2.0"),
        ([river_okl.RBPClassifier(seed=1), river_okl.RBPClassifier(seed=2)], {}, ValueError, "seed=2"),
        ([river_okl.FOGDClassifier(), river_okl.FOGDClassifier()], {}, ValueError, "random features.* same seed"),
        ([river_okl.FOGDClassifier(seed=1)], {"budget": 5}, ValueError, "no support vectors"),
        ([BPA(), BPA()], {"weights": [1.0]}, ValueError, "1 weights for 2 models"),
        ([BPA(), BPA()], {"weights": [1.0, -1.0]}, ValueError, r"weights\[1\] is -1.0"),
        ([BPA(), BPA()], {"weights": [1.0, 1e308]}, ValueError, r"weights\[1\] is 1e\+308"),
        ([BPA(), BPA()], {"weights": [0.0, 0.0]}, ValueError, "all weights are 0"),
        ([BPA(), BPA()], {"budget": 0}, ValueError, "budget is 0"),
        ([preprocessing.RobustScaler()], {}, TypeError, "RobustScaler does not merge: it is neither"),
        ([preprocessing.StandardScaler(window_size=3)], {}, TypeError, "window_size=3.* does not merge"),
        ([river_okl.RandomFourierFeatures() for _ in "ab"], {}, ValueError, "different random features.* same seed"),
        ([river_okl.NystroemFeatures()], {}, TypeError, r"^Nystroem\w+ does not merge: .*Fourier\w+\(seed=...\) "),
        ([product(), product()], {}, TypeError, "TransformerProduct does not merge"),
        (imputed(stats.Quantile(0.5)), {}, TypeError, "StatImputer with a Quantile does not merge"),
        (imputed(stats.Mean(), stats.Max()), {}, ValueError, "arguments=.*only models with the same parameters"),
        ([preprocessing.FeatureHasher(seed=None) for _ in "ab"], {}, ValueError, "give every FeatureHasher one seed"),
        ([ensemble.BaggingClassifier(BPA())], {}, TypeError, r"^Bagging\w+ does not merge: it is neither.*Union"),
        ([scaled(), compose.Pipeline(BPA())], {}, ValueError, "steps="),
        ([scaled(), scaled(C=2.0)], {}, ValueError, r"models\[1\] has C=2.0"),
    ],
)
def test_incompatible_models_are_rejected(models, options, error, text):
    with pytest.raises(error, match=text) as raised:
        river_okl.merge(models, **options)
    assert "\n" not in str(raised.value)


def test_parameters_of_a_model_alone_are_not_compared():
    """A user's loss may have no ==, or one that gives an array."""

    class Weighted(optim.losses.Hinge):
        def __init__(self):
            super().__init__()
            self.table = np.arange(3.0)

        def __eq__(self, other):
            return self.table == other.table

    stream = streams.dense("classification", 40)
    model = learn(river_okl.OGDClassifier(loss=Weighted()), stream[:20])
    close(scores(river_okl.merge([model]), stream), scores(model, stream))


# The usual pipelines --------------------------------------------------------------------------------------------------


def usual():
    """Strings and numbers with gaps, encoded and imputed."""
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    imputer = preprocessing.StatImputer(("a", stats.Mean()), ("b", 0.5))
    return words + (compose.SelectType(float, type(None)) | imputer | preprocessing.StandardScaler()) | BPA()


def words_and_gaps(n, seed=1):
    rng = random.Random(seed)
    for t in range(n):
        a, word = rng.gauss(0, 1), rng.choice("xyz" if t < n // 2 else "xyzw")
        gaps = {"a": a if rng.random() < 0.8 else None, "b": rng.gauss(0, 1) if t % 7 else None}
        yield {"word": word, **gaps}, (a > 0) == (word in "xy")


def parts(pipeline):
    """The encoder, the imputer and the scaler of the usual pipeline."""
    words, numbers = pipeline["TransformerUnion"].transformers.values()
    return words["OneHotEncoder"], numbers["StatImputer"], numbers["StandardScaler"]


@pytest.mark.parametrize("from_new", [True, False])
def test_the_usual_pipeline_merges_as_for_one_stream(from_new):
    stream, n = list(words_and_gaps(400)), 0 if from_new else 100
    start, one = trained(usual(), stream[:n], stream)
    shards = trained(start, *(stream[n + i :: 3] for i in range(3)))
    before = [snapshot(shard) for shard in shards]
    merged = river_okl.merge(shards, start=None if from_new else start)
    assert [snapshot(shard) for shard in shards] == before
    (encoder, imputer, scaler), (of_one, imputer_of_one, _) = parts(merged), parts(one)
    assert dict(encoder.values) == dict(of_one.values)
    assert encoder._zero_dict == of_one._zero_dict
    assert imputer.stats["a"].n == imputer_of_one.stats["a"].n
    assert imputer.stats["a"].get() == pytest.approx(imputer_of_one.stats["a"].get(), abs=1e-12)
    assert imputer.stats["b"].get() == 0.5
    assert scaler.counts["a"] == 400
    assert sum(merged.predict_one(x) == y for x, y in words_and_gaps(300, seed=2)) > 240


STEPS = {
    "extremes": lambda: (
        compose.Select("a", "b")
        | (preprocessing.MinMaxScaler() | compose.Prefixer("of_range_")) + preprocessing.MaxAbsScaler()
    ),
    "statistics": lambda: preprocessing.StatImputer(
        *(("a", stats.Min()), ("b", stats.Sum()), ("c", stats.Count()), ("word", stats.Mode()), ("d", stats.Var()))
    ),
    "groups": lambda: (
        feature_extraction.TargetAgg(by="word", how=stats.BayesianMean(0.5, 2.0))
        + feature_extraction.TargetAgg(by=None, how=stats.Mean())
    ),
    "names": lambda: (
        compose.Discard("word") | compose.Renamer({"a": "c"}) | compose.Prefixer("p") | compose.Suffixer("s")
    ),
    "hashes": lambda: preprocessing.FeatureHasher(n_features=8, seed=1),
    "text": lambda: feature_extraction.BagOfWords(on="word") + feature_extraction.PolynomialExtender(),
}


@pytest.mark.parametrize("name", STEPS)
def test_transformers_merge_as_for_one_stream(name):
    rng = random.Random(5)

    def sample():
        numbers = {"a": rng.gauss(0, 1), "b": rng.random(), "c": 1.0, "d": rng.gauss(2, 1)}
        return numbers | {"word": rng.choice(["p q", "q", "r r"])}

    def learned(xs):
        model = STEPS[name]()
        for x in xs if name != "text" else ():
            model.learn_one(*((x, x["a"]) if name == "groups" else (x,)))
        return model

    stream = [sample() for _ in range(120)]
    shards = [learned(stream[:40] + stream[40 + i :: 2]) for i in range(2)]
    one, merged = learned(stream), river_okl.merge(shards, start=learned(stream[:40]))
    gaps = {**stream[3], **(dict.fromkeys(stream[3]) if name == "statistics" else {})}
    if name == "text":
        merged, one = merged.transformers["BagOfWords"], one.transformers["BagOfWords"]
    found, expected = merged.transform_one(gaps), one.transform_one(gaps)
    assert found == {name: pytest.approx(v) if type(v) is float else v for name, v in expected.items()}
