"""The models in every part of river that accepts models, with scores that wrong wiring would miss.

On the first 1,500 samples of Bananas, a non-linear problem (logistic regression: 56 %), and on Phishing (the larger
class: 56 %), a model of 50 support vectors has about 86 %.  A composition must come close; one that swaps labels,
shuffles features, ignores learning or loses its state is near 50 %.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from river import (
    bandit,
    compat,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    imblearn,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    preprocessing,
    utils,
)

import river_okl
from tests.core.expansions import SANITIZED, run_python
from tests.discovery import learn

BANANAS = list(datasets.Bananas().take(1500))
PHISHING = list(datasets.Phishing())
SEGMENTS = list(datasets.ImageSegments().take(800))
TRUMP = list(datasets.TrumpApproval())


def model(**parameters):
    return river_okl.ProjectronPlusPlusClassifier(**{"budget": 50, **parameters})


def score(model, samples=BANANAS, metric=None, scaled=True):
    """The accuracy, or another metric, of predict-then-learn."""
    model = preprocessing.StandardScaler() | model if scaled else model
    return evaluate.progressive_val_score(samples, model, metric or metrics.Accuracy()).get()


def test_the_model_itself():
    assert score(model()) > 0.84
    assert score(linear_model.LogisticRegression()) < 0.60  # so that the thresholds below are meaningful


# Pipelines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cls", [river_okl.OKLRegressor, river_okl.SOGPRegressor, river_okl.BPARegressor, river_okl.SPARegressor]
)
def test_regressors_behind_an_untrained_scaler(cls):
    """MinMaxScaler turns a sample into NaN before it has learned one; an untrained model does not look at it."""
    pipeline = preprocessing.MinMaxScaler() | preprocessing.TargetStandardScaler(cls())
    assert score(pipeline, TRUMP, metrics.MAE(), scaled=False) < 2.0


@pytest.mark.parametrize(
    "encoder",
    [
        preprocessing.OneHotEncoder(),
        preprocessing.FeatureHasher(n_features=64, seed=1),
        preprocessing.OrdinalEncoder() | preprocessing.StandardScaler(),
    ],
)
def test_encoders(encoder):
    """Of strings for the coordinates."""
    words = [({k: f"{k}{round(2 * v)}" for k, v in x.items()}, y) for x, y in BANANAS]
    assert score(encoder | model(kernel=river_okl.kernels.RBF(gamma=0.5)), words, scaled=False) > 0.62


def test_more_features_than_support_vectors_and_text():
    samples = [({"text": "free money now" if y else "lunch at noon"}, y) for _, y in BANANAS[:200]]
    assert score(feature_extraction.BagOfWords(on="text") | model(), samples, scaled=False) > 0.98


# Wrappers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapper",
    [
        multiclass.OneVsRestClassifier,
        multiclass.OneVsOneClassifier,
        lambda m: multiclass.OutputCodeClassifier(m, code_size=15, seed=1),
    ],
)
def test_multiclass_wrappers(wrapper):
    assert score(wrapper(model()), SEGMENTS) > 0.78  # of 7 classes


@pytest.mark.parametrize(
    ("wrapper", "options"),
    [
        (ensemble.BaggingClassifier, {"n_models": 5, "seed": 1}),
        (ensemble.ADWINBaggingClassifier, {"n_models": 5, "seed": 1}),
        (ensemble.LeveragingBaggingClassifier, {"n_models": 3, "seed": 1}),
        (ensemble.SRPClassifier, {"n_models": 3, "subspace_size": 1.0, "seed": 1}),
        (ensemble.ADWINBoostingClassifier, {"n_models": 3, "seed": 1}),
        (ensemble.AdaBoostClassifier, {"n_models": 3, "seed": 1}),
        (drift.DriftRetrainingClassifier, {"drift_detector": drift.binary.DDM()}),
        (imblearn.RandomUnderSampler, {"desired_dist": {False: 0.5, True: 0.5}, "seed": 1}),
        (imblearn.RandomOverSampler, {"desired_dist": {False: 0.5, True: 0.5}, "seed": 1}),
        (imblearn.RandomSampler, {"desired_dist": {False: 0.5, True: 0.5}, "sampling_rate": 0.8, "seed": 1}),
        (imblearn.HardSamplingClassifier, {"size": 20, "p": 0.3, "seed": 1}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_wrappers(wrapper, options):
    assert score(wrapper(model(), **options)) > 0.80


def test_stacking_and_voting():
    members = [model(), river_okl.KernelPAClassifier(), river_okl.OGDClassifier()]
    assert score(ensemble.VotingClassifier([m.clone() for m in members])) > 0.84
    assert score(ensemble.StackingClassifier(members, linear_model.LogisticRegression())) > 0.82


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (model_selection.SuccessiveHalvingClassifier, {"budget": 500}),
        (model_selection.BanditClassifier, {"policy": bandit.EpsilonGreedy(epsilon=0.1, burn_in=50, seed=1)}),
    ],
)
def test_model_selection_finds_the_larger_budget(cls, options):
    models = utils.expand_param_grid(river_okl.RBPClassifier(seed=1), {"budget": [1, 100]})
    selection = cls(models, metric=metrics.Accuracy(), **options)
    learn(preprocessing.StandardScaler() | selection, BANANAS)
    assert selection.best_model.budget == 100


# Evaluation ---------------------------------------------------------------------------------------


ALLOCATED = """
    import ctypes, gc

    import river_okl
    from tests import streams

    class Totals(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
        )]

    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Totals

    def allocated():
        gc.collect()
        totals = libc.mallinfo2()
        return totals.uordblks + totals.hblkhd

    stream = streams.dense("classification", 500, d=10)  # which has its names
    river_okl.AhpatronClassifier()
    gc.collect()
    gc.freeze()  # what there is until now is not looked through each time
    for name in ("Ahpatron", "BOGD", "BudgetPerceptron", "KernelPA", "OKL", "POMDR", "Projectron", "SOGP", "SPA"):
        cls = getattr(river_okl, name + "Classifier")
        for _ in range(2):  # what is made once in a process is made by the first
            model = cls()
            model.learn_stream(stream)
            before, told = allocated(), model._raw_memory_usage
            del model
        held = before - allocated()
        assert abs(held - told) <= 0.02 * held + 2000, (name, told, held)  # 16 bytes of each block are malloc's
"""


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
@pytest.mark.skipif(SANITIZED, reason="the sanitizer has an allocator of its own")
def test_the_memory_of_a_model_is_what_comes_free_with_it():
    """River's memory usage against the allocator, with Python's objects from malloc and no free lists."""
    run_python(ALLOCATED, PYTHONMALLOC="malloc", GLIBC_TUNABLES="glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0")


def test_tracks():
    scaled, track = preprocessing.StandardScaler() | model(), evaluate.BinaryClassificationTrack()
    *_, last = track.run(scaled, datasets.Phishing(), n_checkpoints=5)
    assert last["Accuracy"].get() > 0.84 and last["F1"].get() > 0.80


@pytest.mark.parametrize("samples", [BANANAS, PHISHING])
def test_probabilities(samples):
    assert score(model(), samples, metrics.ROCAUC()) > 0.90
    assert score(model(), samples, metrics.LogLoss()) < 0.45  # a constant: 0.69


def test_regression():
    """The mean has an MAE of 1.57 on this stream."""
    members = [river_okl.KernelPARegressor(), river_okl.BPARegressor(), river_okl.OLKRegressor()]
    for regressor in (*members, ensemble.EWARegressor([m.clone() for m in members[1:]])):
        assert score(preprocessing.TargetStandardScaler(regressor), TRUMP, metrics.MAE()) < 1.2, regressor
    ensembled = ensemble.BaggingRegressor(preprocessing.TargetStandardScaler(river_okl.BPARegressor()), seed=1)
    assert score(ensembled, TRUMP, metrics.MAE()) < 1.0


# Inspection and persistence -----------------------------------------------------------------------


@pytest.fixture
def pipeline():
    return learn(preprocessing.StandardScaler() | model(), BANANAS[:300])


def test_pipelines_have_a_repr(pipeline):
    x, last = BANANAS[-1][0], pipeline[-1]
    assert "ProjectronPlusPlusClassifier" in repr(pipeline) and "budget=50" in repr(pipeline)
    assert "ProjectronPlusPlusClassifier" in pipeline._repr_html_()
    shown = pipeline.debug_one(x)
    assert "Support vector" in shown and "Contribution" in shown
    scaled = pipeline.transform_one(x)
    assert sum(c for _, c in last.explain_one(scaled)) == pytest.approx(last.decision_function_one(scaled))


def test_as_a_scikit_learn_model():
    sklearn = pytest.importorskip("sklearn.base")
    X = np.array([[x["1"], x["2"]] for x, _ in BANANAS])
    y = np.array([y for _, y in BANANAS])
    wrapped = compat.convert_river_to_sklearn(preprocessing.StandardScaler() | model())
    assert wrapped.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.80
    sklearn.clone(wrapped).fit(X[:50], y[:50])
    scaled = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(river_okl.BPARegressor())
    regressor, wave = compat.convert_river_to_sklearn(scaled), np.sin(2 * X[:, 0]) + X[:, 1]
    assert regressor.fit(X[:1000], wave[:1000]).score(X[1000:], wave[1000:]) > 0.8
