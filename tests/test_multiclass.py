"""More than two classes: one support set and one kernel row; with two classes the model is the binary one."""

from __future__ import annotations

import functools
import math
import pickle

import numpy as np
import pytest
from river import datasets, evaluate, metrics, multiclass, preprocessing

import river_okl
from river_okl import OKLClassifier, PerClass, kernels
from river_okl._core.calibration import Calibration
from river_okl._core.function.frequencies import frequencies
from tests import reference
from tests.discovery import CLASSES, NATIVE, each_of, learn, parameters, shares, small
from tests.streams import CLASSIFICATION, dense

RBF = reference.rbf(0.5)


@functools.cache
def images(n=300):
    scaler, stream = preprocessing.StandardScaler(), []
    for x, y in datasets.ImageSegments().take(n):
        scaler.learn_one(x)
        stream.append((scaler.transform_one(x), y))
    return stream


@each_of(NATIVE)
def test_seven_classes_without_a_wrapper(cls):
    """Chance is 1/7; a model that confuses columns stays near that."""
    model, metric = small(cls, budget=60), metrics.Accuracy()
    for t, (x, y) in enumerate(images()):
        if t:
            metric.update(y, model.predict_one(x))
            assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
        model.learn_one(x, y)
    assert metric.get() > 0.45
    model._f._check()
    labels, p = {"brickface", "sky", "foliage", "cement", "window", "path", "grass"}, model.predict_proba_one(x)
    assert set(p) == labels
    assert max(p, key=p.get) == model.predict_one(x)
    assert all(set(alpha) == labels for _, alpha in model.support_vectors)


def test_every_label_calibrates_by_its_margin():
    model, calibration = river_okl.KernelPAClassifier(kernels.RBF(0.5)), Calibration()
    for i, (x, _) in enumerate(dense(CLASSIFICATION, n=120)):
        y = "abc"[i % 3]
        if i > 2:
            scores = dict(zip("abc", model._f.evaluate(x), strict=True))
            calibration.restore(model._calibration.state())
            calibration.update((scores.pop(y) - max(scores.values())) / math.sqrt(2.0))
        model.learn_one(x, y)
        assert i < 3 or model._calibration.state() == pytest.approx(calibration.state(), rel=1e-9)


class Three:
    """A naive model of three classes: vectors A_i of coefficients, and the direction from a sample's class to the
    strongest other known one (the first two are known from the start)."""

    def __init__(self):
        self.points, self.A, self.births, self.n, self.t = [], [], [], 2, 0

    def scores(self, x):
        return sum((a * RBF(z, x) for z, a in zip(self.points, self.A, strict=True)), np.zeros(3))

    def learn(self, x, y):
        self.n, self.t = max(self.n, y + 1), self.t + 1
        scores = self.scores(x)
        rival = max((c for c in range(self.n) if c != y), key=lambda c: scores[c])
        u = np.zeros(3)
        u[y], u[rival] = math.sqrt(0.5), -math.sqrt(0.5)
        self.step(x, u, float(u @ scores))

    def add(self, x, a):
        self.points.append(x)
        self.A.append(a)
        self.births.append(self.t)


class ThreeBPA(Three):
    def step(self, x, u, margin):
        if margin > 1.0 - 1e-9:
            return
        a = min(1.0, 1.0 - margin) * u
        if len(self.points) == 8:
            k = [RBF(z, x) for z in self.points]
            lost = [float(A @ A) * (1.0 - k_r**2) for A, k_r in zip(self.A, k, strict=True)]
            r = reference.smallest(lost, self.births)
            a = a + k[r] * self.A[r]
            del self.points[r], self.A[r], self.births[r]
        self.add(x, a)


class ThreeNOGD(Three):
    Q = None

    def step(self, x, u, margin):
        if margin < 1.0 and self.Q is None:
            self.add(x, 0.3 * u)
            if len(self.points) == 8:
                values, vectors = np.linalg.eigh([[RBF(z, x) for z in self.points] for x in self.points])
                self.Q = vectors[:, -3:] / np.sqrt(values[-3:])
                self.W = values[-3:, None] * self.Q.T @ np.array(self.A)
                self.A = list(self.Q @ self.W)
        elif margin < 1.0:
            z = self.Q.T @ [RBF(z, x) for z in self.points]
            self.W = self.W + 0.3 * np.outer(z, u)
            self.A = list(self.Q @ self.W)


class ThreeFOGD(Three):
    W = np.zeros((3, 60))

    def z(self, x):
        angles = sum(v * frequencies(self.key, name, 30) for name, v in x.items())
        return np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(30)

    def scores(self, x):
        return self.W @ self.z(x)

    def step(self, x, u, margin):
        if margin < 1.0:
            self.W = self.W + 0.3 * np.outer(u, self.z(x))


@pytest.mark.parametrize(("name", "naive"), [("BPA", ThreeBPA), ("NOGD", ThreeNOGD), ("FOGD", ThreeFOGD)])
def test_three_classes_from_the_definition(name, naive):
    model = small(CLASSES[f"{name}Classifier"], kernel=kernels.RBF(0.5), n_components=30, rank=3)
    naive = naive()
    naive.key = getattr(model._f, "key", None)
    for t, (x, y) in enumerate(dense(CLASSIFICATION, n=150)):
        label = 2 if t > 30 and x["x3"] > 0.8 else int(y > 0)
        model.learn_one(x, label)
        naive.learn(x, label)
        if t > 40:
            found = model.decision_function_one(x)
            assert [found[c] for c in range(3)] == pytest.approx(naive.scores(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("native", [river_okl.KernelPAClassifier(), river_okl.AhpatronClassifier(budget=200)])
def test_no_less_accurate_than_one_vs_rest(native):
    scores = []
    for model in (native.clone(), multiclass.OneVsRestClassifier(native)):
        stream, scaled = datasets.ImageSegments().take(1000), preprocessing.StandardScaler() | model
        scores.append(evaluate.progressive_val_score(stream, scaled, metrics.Accuracy()).get())
    assert scores[0] > scores[1] - 0.02


def test_an_explanation_adds_up():
    model, (x, _) = learn(river_okl.AhpatronClassifier(budget=30), images(200)), images(200)[-1]
    explained = model.explain_one(x)
    assert sum(c for _, c in explained) == pytest.approx(max(model.decision_function_one(x).values()))
    sizes = np.abs([c for _, c in explained])
    assert (np.diff(sizes) <= 0).all()
    assert "Contribution" in model.debug_one(x)


# A budget for each label ----------------------------------------------------------------------------------------------

BUDGETED = {name: cls for name, cls in CLASSES.items() if "budget" in parameters(cls) and name != "OKLClassifier"}
SHARING = [name for name, cls in BUDGETED.items() if shares(cls) and name in NATIVE]  # OKL's dictionary does not grow


def seven_first():
    """The images, reordered so that the first seven samples have the seven labels."""
    firsts = list({y: i for i, (_, y) in reversed([*enumerate(images())])}.values())
    return [images()[i] for i in firsts] + [sample for i, sample in enumerate(images()) if i not in firsts]


def images_of_more_and_more_labels():
    """Those of two labels, of three, and so on."""
    known = [*dict.fromkeys(y for _, y in images())]
    for n in range(2, len(known) + 1):
        yield n, [(x, y) for x, y in images() if y in known[:n]]


def sharing(name, **options):
    """With steps independent of the budget, unlike the default of `AhpatronClassifier`."""
    options |= {"radius": 3.0, "learning_rate": 0.5} if name.startswith("Ahpatron") else {"tolerance": 0.01}
    return small(CLASSES[name], kernel=kernels.RBF(0.5), **options)


def test_classes_with_a_budget_per_label():
    assert {"AhpatronClassifier", "BOGDClassifier", "BPAClassifier", "BSGDClassifier", "RBPClassifier"} <= {*SHARING}


@pytest.mark.parametrize("name", SHARING)
def test_a_budget_per_label_is_multiplied_by_the_labels(name):
    """If all labels arrive before the first budget is full, the model equals one with seven times the budget."""
    each, whole = sharing(name, budget=PerClass(8)), sharing(name, budget=56)
    for t, (x, y) in enumerate(seven_first(), start=1):
        assert each.predict_one(x) == whole.predict_one(x)
        each.learn_one(x, y)
        whole.learn_one(x, y)
        assert each._f.budget == (8 * t if 2 < t < 7 else 56 if t >= 7 else 8)
        if t in (5, 150):  # it continues from a pickle and from a checkpoint
            each._f._check()
            each = river_okl.loads(river_okl.dumps(pickle.loads(pickle.dumps(each))))
            assert each.budget == PerClass(8)
    assert 8 < each.n_support_vectors <= 56
    assert each.support_vectors == whole.support_vectors
    each._f._check()


@pytest.mark.parametrize("name", SHARING)
def test_a_budget_grows_where_it_was_full(name):
    """Two labels fill their budget; each later one adds room, and a merged model has room for all."""
    model, most = sharing(name, budget=PerClass(3)), []
    for n, stream in images_of_more_and_more_labels():
        for x, y in stream:
            model.learn_one(x, y)
            assert model.n_support_vectors <= (3 * n if n > 2 else 3)
        most.append(model.n_support_vectors)
        model._f._check()
        assert pickle.loads(pickle.dumps(model)).support_vectors == model.support_vectors
    assert most[0] <= 3 < most[1] <= 9 < most[-1] <= 21
    assert river_okl.merge([model, model.clone()])._f.budget == 21
    assert model.clone().budget == PerClass(3) and model.clone()._f.budget == 3


def test_the_mixture_grows_by_its_budget_with_each_label():
    """The pool grows, the dictionary does not.  Copies continue bit for bit."""
    model, whole = OKLClassifier(budget=PerClass(10)), OKLClassifier(budget=20)
    for n, stream in images_of_more_and_more_labels():
        for x, y in stream:
            if n == 2:
                assert model.predict_proba_one(x) == whole.predict_proba_one(x)
                whole.learn_one(x, y)
            model.learn_one(x, y)
        f = model._f
        assert f.budget == 10 * n and f.processes.max_points == 10
        assert f.pool.max_points == 10 * n - 10
        assert len(f.points) <= f.budget
        f._check()
        for copied in (pickle.loads(pickle.dumps(model)), river_okl.loads(river_okl.dumps(model))):
            assert copied.budget == PerClass(10) and copied._f.budget == 10 * n
            copied._f._check()
            assert copied.predict_proba_one(stream[0][0]) == model.predict_proba_one(stream[0][0])
        model = copied
    assert model.clone()._f.budget == 20


def test_restoring_a_model_with_room_for_a_smaller_budget():
    """With room for 56 when a third label raises the budget from 50 to 150."""
    stream = dense(CLASSIFICATION, 400, seed=5)
    model = river_okl.RBPClassifier(kernels.RBF(1.0), budget=PerClass(50), seed=1)
    learn(model, [(x, i * 7919 % 5 % 2) for i, (x, _) in enumerate(stream)])
    assert model.n_support_vectors == 50
    model.learn_one(stream[0][0], 2)
    copied = pickle.loads(pickle.dumps(model))
    copied._f._check()
    for i, (x, _) in enumerate(stream):
        assert copied.decision_function_one(x) == model.decision_function_one(x)
        copied.learn_one(x, i % 3)
        model.learn_one(x, i % 3)


def test_merged_mixtures_have_the_room_of_all_labels():
    merged = river_okl.merge([learn(OKLClassifier(budget=PerClass(10)), images()[i::2]) for i in range(2)])
    assert merged.budget == PerClass(10) and merged._f.budget == 70
    assert merged._f.pool.n > 6  # more than the pool of two labels has room for
    merged._f._check()


def test_a_budget_for_each_label_is_bounded_in_the_mixture():
    with pytest.raises(ValueError, match=r"budget is PerClass\(5000001\)"):
        OKLClassifier(budget=PerClass(5_000_001))
    model = learn(OKLClassifier(budget=PerClass(1)), [({"a": float(i)}, i % 4) for i in range(12)])
    assert model._f.budget == 4
    model._f._check()


@each_of({name: cls for name, cls in BUDGETED.items() if name not in SHARING})
def test_classes_without_a_budget_per_label_reject_it(cls):
    with pytest.raises(TypeError, match=r"budget is PerClass\(8\)"):
        cls(budget=PerClass(8))


@pytest.mark.parametrize("budget", [0, -1, 2.5, "9", None, True])
def test_invalid_budgets_per_label_are_rejected(budget):
    with pytest.raises((TypeError, ValueError), match="budget"):
        PerClass(budget)


def test_a_budget_per_label_is_a_value():
    assert PerClass(5) == PerClass(5) != PerClass(6)
    assert len({PerClass(5), PerClass(5)}) == 1
    assert repr(PerClass(5)) == str(PerClass(5)) == "PerClass(5)"
    assert repr(river_okl.RBPClassifier(budget=PerClass(2**30)).budget) == "PerClass(1073741824)"


def test_a_mixture_of_so_many_labels_that_it_has_no_trees_is_restored():
    model = OKLClassifier(budget=8, memory=64)
    model.learn_one({"a": 1.0}, "a")
    while model._f.n_classes < 2100:
        model._f.add_class()
    make, options, state = model._f.__reduce__()
    restored = make(*options)
    restored.restore(state)
    restored._check()
    assert len(state["memory"]["trees"]["columns"]) == 0


def test_empty_samples_among_many_labels():
    model = river_okl.OKLClassifier()
    for i in range(66):
        model.learn_one({f"w{i}": 1.0}, i)
    for _ in range(16):  # some of which measure slopes
        model.learn_one({}, 0)
    assert model.predict_one({}) == 0
