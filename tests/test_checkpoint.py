"""Checkpoints: exact for every class, whole or not at all on the disk, and harmless whatever is in the file."""

from __future__ import annotations

import contextlib
import copy
import decimal
import functools
import hashlib
import json
import math
import os
import pickle
import random
import stat
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import (
    anomaly,
    base,
    compose,
    conf,
    drift,
    ensemble,
    feature_extraction,
    linear_model,
    multiclass,
    optim,
    preprocessing,
)

import river_okl
from river_okl import checkpoint, kernels, losses
from river_okl.checkpoint import VERSION, CheckpointError
from river_okl.checkpoint.file import HEADER, MAGIC
from tests import streams
from tests.discovery import CLASSES, EVERY_VARIANT, ODD, decision, small, snapshot, task

FIXTURES = Path(__file__).parent / "fixtures"
OF_WRAPPED = sorted(FIXTURES.glob("wrapped-*.okl"))
OF_MODELS = sorted(set(FIXTURES.glob("*.okl")) - set(OF_WRAPPED))
ROOT = Path(__file__).parent.parent

each_variant = pytest.mark.parametrize(
    ("cls", "options"), [v[:2] for v in EVERY_VARIANT], ids=[v[2] for v in EVERY_VARIANT]
)
each_class = pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)


def learned(cls, n=60, kind="emerging", **options):
    model = small(cls, **options)
    for x, y in streams.KINDS[kind](task(cls), n):
        model.learn_one(x, y)
    return model


def pieces(data):
    """The document and the arrays of a checkpoint."""
    _, _, n_document, _, _ = HEADER.unpack(data[: HEADER.size])
    body = data[HEADER.size :]
    return json.loads(body[:n_document]), body[n_document:]


def assembled(document, arrays, version=VERSION, magic=MAGIC):
    """A checkpoint with a right checksum."""
    text = json.dumps(document).encode("ascii")
    head = HEADER.pack(magic, version, len(text), len(arrays), bytes(32))
    digest = hashlib.sha256(head[:-32] + text + arrays).digest()
    return HEADER.pack(magic, version, len(text), len(arrays), digest) + text + arrays


def edited(data, *path_and_value):
    """The same checkpoint with one value of its model replaced, and a right checksum."""
    *path, value = path_and_value
    document, arrays = pieces(data)
    at = document["model"]["object"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return assembled(document, arrays)


# Exact ------------------------------------------------------------------------------------------------------------


@each_variant
@pytest.mark.parametrize("kind", ["emerging", "dense"])
def test_a_model_comes_back(cls, options, kind, tmp_path):
    model = learned(cls, kind=kind, **options)
    before = snapshot(model)
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert snapshot(loaded) == before == snapshot(model)
    assert checkpoint.dumps(loaded) == (tmp_path / "model.okl").read_bytes()


@each_class
def test_a_new_model_comes_back(cls, tmp_path):
    river_okl.save(small(cls), tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert snapshot(loaded) == snapshot(small(cls))


CUTS = (1, 30, 190)
PICKLED = 30
LENGTH = 220  # the bandwidth moves up to the 200th sample

CONTINUE = """
import hashlib, pickle, sys
from pathlib import Path
import river_okl
from tests import streams
from tests.discovery import snapshot, task
for path in sorted(Path(sys.argv[1]).iterdir()):
    kind, cut = path.stem.split("-")[-2:]
    model = river_okl.load(path) if path.suffix == ".okl" else pickle.loads(path.read_bytes())
    for x, y in streams.KINDS[kind](task(type(model)), int(sys.argv[2]))[int(cut):]:
        model.learn_one(x, y)
    print(path.name, hashlib.sha256(snapshot(model)).hexdigest())
"""


def test_a_run_goes_on_in_another_process_as_if_nothing_had_been(tmp_path):
    """Each variant on one kind of stream and from two of the cuts, five odd classes on both and from all."""
    expected = {}
    for i, (cls, options, name) in enumerate(EVERY_VARIANT):
        odd = cls.__name__ in ODD
        cuts = CUTS if odd else [cut for k, cut in enumerate(CUTS) if k != i % 3]
        for kind in ("emerging", "sparse") if odd else (("emerging", "sparse")[i % 2],):
            model = small(cls, **options)
            for t, (x, y) in enumerate(streams.KINDS[kind](task(cls), LENGTH)):
                if t in cuts:
                    river_okl.save(model, tmp_path / f"{name}-{kind}-{t}.okl")
                if t == PICKLED:
                    (tmp_path / f"{name}-{kind}-{t}.pickle").write_bytes(pickle.dumps(model))
                model.learn_one(x, y)
            digest = hashlib.sha256(snapshot(model)).hexdigest()
            expected |= {f"{name}-{kind}-{t}.okl": digest for t in cuts} | {f"{name}-{kind}-{PICKLED}.pickle": digest}
    ran = subprocess.run(
        [sys.executable, "-c", CONTINUE, str(tmp_path), str(LENGTH)], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    found = dict(line.split() for line in ran.stdout.splitlines())
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


def test_random_numbers_go_on(tmp_path):
    model = river_okl.RBPClassifier(budget=5)  # no seed: the state is of the operating system's making
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert [model._rng.random() for _ in range(1000)] == [loaded._rng.random() for _ in range(1000)]


EVERY_PART = [
    kernels.RBF(),
    kernels.RBF(gamma=0.1),
    kernels.RBF(gamma=(0.1, 1, 1e-300)),
    kernels.Laplacian(gamma=math.pi),
    kernels.Polynomial(degree=2, gamma=None, coef0=0.5),
    kernels.Linear(gamma=None),
    0.8 * kernels.RBF() + 0.2 * kernels.Linear(),
    kernels.RBF(0.5) * (kernels.Polynomial(2) + 3.0 * kernels.Laplacian(2.0)),
]


@pytest.mark.parametrize("kernel", EVERY_PART, ids=str)
def test_kernels_come_back(kernel, tmp_path):
    model = learned(river_okl.OLKClassifier, kernel=kernel)
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert loaded.kernel == kernel
    assert snapshot(loaded) == snapshot(model)


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (river_okl.OLRDClassifier, {"loss": optim.losses.Log(weight_pos=2.0)}),
        (river_okl.OLRDClassifier, {"loss": optim.losses.Hinge(threshold=0.5), "radius": 1e300}),
        (river_okl.OLRDClassifier, {"learning_rate": optim.schedulers.Optimal(optim.losses.Hinge(), alpha=0.01)}),
        (river_okl.OLRDRegressor, {"loss": losses.EpsilonInsensitive(0.3)}),
        (river_okl.OLRDRegressor, {"loss": optim.losses.Quantile(0.9)}),
        (river_okl.OLRDRegressor, {"loss": optim.losses.Huber(0.2)}),
        (river_okl.OLRDRegressor, {"learning_rate": optim.schedulers.InverseScaling(0.5, power=0.3)}),
        (river_okl.AVPClassifier, {"radius": math.inf}),
    ],
)
def test_losses_schedulers_and_infinite_parameters_come_back(cls, options, tmp_path):
    model = learned(cls, **options)
    river_okl.save(model, tmp_path / "model.okl")
    assert snapshot(river_okl.load(tmp_path / "model.okl")) == snapshot(model)


def test_mutated_parameters_come_back(tmp_path):
    model = learned(river_okl.BOGDClassifier)
    model.mutate({"learning_rate": 0.0625})
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert loaded.learning_rate == 0.0625
    assert snapshot(loaded) == snapshot(model)


# Names and labels -------------------------------------------------------------------------------------------------

NAMES = [
    *("x", "", "ü\U0001f600\ud800", 7, -(2**70), True, 0.5, math.inf, -0.0),
    *(("a", (1, 2.5)), (), np.str_("n"), np.int64(4)),
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_come_back_in_type(name, tmp_path):
    model = river_okl.KernelPerceptronClassifier()
    model.learn_one({name: 1.0}, True)
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    ((point, _),) = loaded.support_vectors
    assert [(key, type(key)) for key in point] == [(name, type(name))]
    assert snapshot(loaded) == snapshot(model)


LABELS = [
    *((False, True), (0, 1), (-1, 1), ("no", "yes"), (0.0, 2.0)),
    *(((1, "a"), (2, "b")), (np.False_, np.True_), ("a", "b", 3)),
]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_come_back_in_type(labels, tmp_path):
    model = river_okl.KernelPerceptronClassifier()
    for i in range(10):
        model.learn_one({"x": math.sin(i)}, labels[i % len(labels)])
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    found = [loaded.predict_one({"x": math.sin(i)}) for i in range(10)]
    assert found == [model.predict_one({"x": math.sin(i)}) for i in range(10)]
    assert {type(label) for label in found} <= {type(label) for label in labels}


class Text(str):
    pass


OTHER_NAMES = [None, b"x", decimal.Decimal(1), frozenset([1]), ("a", None), math.nan, Text("x")]


@pytest.mark.parametrize("name", OTHER_NAMES, ids=repr)
def test_other_names_are_refused_before_anything_is_written(name, tmp_path):
    path = tmp_path / "model.okl"
    river_okl.save(small(river_okl.RBPClassifier), path)
    before = path.read_bytes()
    model = river_okl.KernelPerceptronClassifier(kernels.RBF(1.0))
    model.learn_one({name: 1.0}, True)
    with pytest.raises(CheckpointError, match="a feature is named"):
        river_okl.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.okl"]


def test_other_labels_are_refused():
    model = river_okl.KernelPerceptronClassifier()
    model.learn_one({"x": 1.0}, b"yes")
    with pytest.raises(CheckpointError, match=r"_labels\.names is b'yes'"):
        checkpoint.dumps(model)


class UsersLoss(optim.losses.Hinge):
    pass


class UsersClassifier(river_okl.RBPClassifier):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (river_okl.OLRDClassifier(loss=UsersLoss()), "loss"),
        (UsersClassifier(), "public class"),
        (kernels.RBF(), "it is RBF"),
        (preprocessing.StandardScaler() | linear_model.PAClassifier(), "steps.*PAClassifier.*StandardScaler"),
        (preprocessing.StandardScaler(window_size=5) | river_okl.RBPClassifier(), "window_size of a StandardScaler"),
        (compose.FuncTransformer(len) | river_okl.RBPClassifier(), "FuncTransformer.*public class"),
        (multiclass.OneVsRestClassifier(UsersClassifier()), "classifier .*UsersClassifier"),
        (5, "5, a int"),
        (river_okl.RBPClassifier(seed=2**20_000), "seed"),
    ],
    ids=[
        "a user's loss",
        "a user's class",
        "a kernel",
        "a model of river",
        "a window",
        "a function",
        "a user's class inside",
        "a number",
        "a huge number",
    ],
)
def test_what_no_checkpoint_can_hold_is_refused(model, message, tmp_path):
    with pytest.raises(CheckpointError, match=message) as caught:
        river_okl.save(model, tmp_path / "model.okl")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_an_attribute_of_the_users_is_refused_not_lost(tmp_path):
    model = small(river_okl.RBPClassifier)
    model.note = "mine"
    with pytest.raises(CheckpointError, match="note"):
        river_okl.save(model, tmp_path / "model.okl")


# River's wrappers -------------------------------------------------------------------------------------------------


def rbp(budget=4):
    return river_okl.RBPClassifier(budget=budget, seed=1)


def rbp_regressor():
    return river_okl.BOGDRegressor(budget=4, seed=1)


def one_class():
    return river_okl.KernelOneClassSVM(budget=4)


def numbers():
    return compose.Select("a", "b")


WRAPPED = {
    "StandardScaler": lambda: numbers() | preprocessing.StandardScaler() | rbp(),
    "MinMaxScaler": lambda: numbers() | preprocessing.MinMaxScaler() | rbp(),
    "without std": lambda: numbers() | preprocessing.StandardScaler(with_std=False) | rbp(),
    "MaxAbsScaler": lambda: numbers() | preprocessing.MaxAbsScaler() | rbp(),
    "names": lambda: (
        compose.Discard("c")
        | compose.Renamer({"a": "one"})
        | compose.Prefixer("the_")
        | compose.Suffixer("_value")
        | rbp()
    ),
    "PolynomialExtender": lambda: (
        numbers() | preprocessing.Normalizer() | feature_extraction.PolynomialExtender(include_bias=True) | rbp()
    ),
    "TargetStandardScaler": lambda: numbers() | preprocessing.TargetStandardScaler(rbp_regressor()),
    "TransformerUnion": lambda: (
        (numbers() | preprocessing.StandardScaler()) + (compose.Select("c") | preprocessing.OneHotEncoder()) | rbp()
    ),
    "categories": lambda: compose.Select("c") | preprocessing.OneHotEncoder({"c": {"x", "y"}}, drop_first=True) | rbp(),
    "FeatureHasher": lambda: preprocessing.FeatureHasher(n_features=8) | rbp(),
    "OneVsRestClassifier": lambda: numbers() | multiclass.OneVsRestClassifier(river_okl.ForgetronClassifier(budget=4)),
    "OneVsOneClassifier": lambda: numbers() | multiclass.OneVsOneClassifier(preprocessing.StandardScaler() | rbp()),
    "BaggingClassifier": lambda: numbers() | ensemble.BaggingClassifier(rbp(), n_models=2, seed=1),
    "BaggingRegressor": lambda: numbers() | ensemble.BaggingRegressor(rbp_regressor(), n_models=2),
    "ADWINBaggingClassifier": lambda: numbers() | ensemble.ADWINBaggingClassifier(rbp(), n_models=2, seed=1),
    "DriftRetrainingClassifier": lambda: numbers() | drift.DriftRetrainingClassifier(rbp()),
    "with ADWIN": lambda: (
        numbers() | drift.DriftRetrainingClassifier(rbp(), drift.ADWIN(clock=3, max_buckets=3), False)
    ),
    "detector": lambda: numbers() | preprocessing.StandardScaler() | one_class(),
    "QuantileFilter": lambda: numbers() | anomaly.QuantileFilter(preprocessing.StandardScaler() | one_class(), q=0.8),
    "ThresholdFilter": lambda: numbers() | anomaly.ThresholdFilter(one_class(), 0.1, False) | rbp(),
    "RegressionJackknife": lambda: numbers() | conf.RegressionJackknife(rbp_regressor()),
    "RegressionJackknife of a window": lambda: (
        numbers() | conf.RegressionJackknife(preprocessing.StandardScaler() | rbp_regressor(), 0.8, window_size=20)
    ),
}


def mixed(name, n):
    """Numbers and words; the concept changes in the middle, so that detectors have something to detect."""
    rng = random.Random(7)
    for t in range(n):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.choice("xyz")}
        score = x["a"] * (1 if t < 150 else -1)
        if "Target" in name or "Regress" in name:
            yield x, score
        else:
            yield x, ("low", "middle", "high")[(score > -0.5) + (score > 0.5)] if "OneVs" in name else score > 0


def last_step(model):
    return list(model.steps.values())[-1] if isinstance(model, compose.Pipeline) else model


def learn(model, x, y):
    if isinstance(last_step(model), base.AnomalyDetector | base.AnomalyFilter):
        model.learn_one(x)
    else:
        model.learn_one(x, y)


def said(model, x):
    """What a model predicts, in plain numbers."""
    if isinstance(last_step(model), base.AnomalyDetector | base.AnomalyFilter):
        return model.score_one(x)
    if isinstance(last_step(model), conf.RegressionJackknife):
        interval = model.predict_one(x, with_interval=True)
        return [interval.lower, interval.upper]
    return model.predict_one(x)


@functools.cache
def wrapped(name, n=40):
    model = WRAPPED[name]()
    for x, y in mixed(name, n):
        learn(model, x, y)
    return checkpoint.dumps(model)


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_models_go_on_as_if_nothing_had_been(name, tmp_path):
    fresh = WRAPPED[name]()
    river_okl.save(fresh, tmp_path / "model.okl")
    # both loaded: Select's set may go through its names in another order when it was filled in another order
    model, loaded = (river_okl.load(tmp_path / "model.okl") for _ in range(2))
    assert str(model) == str(fresh)
    for t, (x, y) in enumerate(mixed(name, 300)):
        if t % 70 == 50:
            river_okl.save(loaded, tmp_path / "model.okl")
            loaded = river_okl.load(tmp_path / "model.okl")
        if t:  # nothing has a least value before
            assert said(loaded, x) == said(model, x)
        learn(model, x, y)
        learn(loaded, x, y)
    assert checkpoint.dumps(loaded) == checkpoint.dumps(model)
    assert str(loaded) == str(model)


def test_the_names_of_steps_come_back(tmp_path):
    model = compose.Pipeline(("scale", preprocessing.StandardScaler()), ("learn", rbp()))
    river_okl.save(model, tmp_path / "model.okl")
    assert list(river_okl.load(tmp_path / "model.okl").steps) == ["scale", "learn"]


def test_mini_batches_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(rbp())
    X = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]})
    model.learn_many(X, pandas.Series(["x", "y", "z"], name="label"))
    river_okl.save(model, tmp_path / "model.okl")
    loaded = river_okl.load(tmp_path / "model.okl")
    assert loaded.predict_many(X).tolist() == model.predict_many(X).tolist()
    assert loaded.predict_many(X).name == "label"


def test_attributes_of_a_wrapper_that_nobody_knows_are_refused(tmp_path):
    scaler = preprocessing.StandardScaler()
    scaler.note = "mine"
    with pytest.raises(CheckpointError, match="StandardScaler with the attributes note"):
        river_okl.save(scaler | rbp(), tmp_path / "model.okl")


def test_one_object_in_two_places_is_refused():
    """It would come back as two."""
    model = ensemble.BaggingClassifier(rbp(), n_models=2)
    model.data[1] = model.data[0]
    with pytest.raises(CheckpointError, match=r"RBPClassifier.*twice"):
        checkpoint.dumps(model)


def test_quantiles_come_back_whatever_they_have_seen():
    rng = random.Random(3)
    for level, window in ((0.5, None), (0.95, None), (0.9, 3), (0.2, 40)):
        model = conf.RegressionJackknife(rbp_regressor(), level, window)
        for _ in range(30):
            loaded = checkpoint.loads(checkpoint.dumps(model))
            for mine, other in ((model._lower, loaded._lower), (model._upper, loaded._upper)):
                assert other.get() == mine.get()
                assert pickle.dumps(other) == pickle.dumps(mine)
            x = {"a": rng.gauss(0, 1)}
            model.learn_one(x, rng.choice([x["a"], 0.0, rng.gauss(0, 5)]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("filled", 4), ("filled", 6), ("heights", [2.0, 1.0, 3.0, 4.0, 5.0]), ("heights", [1.0] * 4)),
        *(
            ("at", [1.0, 2.0, 2.0, 9.0, 40.0]),
            ("at", [1.0, 2.5, 3.0, 9.0, 40.0]),
            ("wanted", [1.0, 0.5, 2.0, 9.0, 40.0]),
        ),
        *(("at", [1.0, 2.0, 3.0, 9.0, 50.0]), ("heights", [1.0, 2.0, 3.0, 4.0, {"float": "nan"}])),
    ],
)
def test_a_quantile_out_of_range_is_refused(name, value):
    """Whatever is in it, its compiled part would take, and panic later."""
    model = anomaly.QuantileFilter(one_class(), 0.9)
    for x, _ in mixed("", 40):
        model.learn_one({"a": x["a"]})
    document, arrays = pieces(checkpoint.dumps(model))
    document["model"]["object"]["state"]["quantile"][name] = {"list": value} if isinstance(value, list) else value
    with pytest.raises(CheckpointError):
        checkpoint.loads(assembled(document, arrays))


def test_a_window_cannot_ask_for_much_memory():
    """It is allocated before it is filled, by what aborts where there is no memory."""
    document, arrays = pieces(checkpoint.dumps(conf.RegressionJackknife(rbp_regressor(), window_size=20)))
    document["model"]["object"]["parameters"]["window_size"] = 2**40
    with little_memory(), pytest.raises(CheckpointError, match="bytes of memory"):
        checkpoint.loads(assembled(document, arrays))


# The disk ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(broken, tmp_path, monkeypatch):
    path = tmp_path / "model.okl"
    river_okl.save(small(river_okl.RBPClassifier), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="full"):
        river_okl.save(learned(river_okl.RBPClassifier), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.okl"]


def test_the_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    river_okl.save(small(river_okl.RBPClassifier), tmp_path / "model.okl")
    assert calls == ["fsync", "replace", "fsync"] if os.name == "posix" else ["fsync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link(tmp_path):
    link = tmp_path / "latest.okl"
    link.symlink_to(tmp_path / "model.okl")
    river_okl.save(small(river_okl.RBPClassifier), link)
    assert link.is_symlink()
    assert (tmp_path / "model.okl").is_file()


def test_paths_are_strings_or_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    river_okl.save(small(river_okl.RBPClassifier), "model.okl")
    assert isinstance(river_okl.load(Path("model.okl")), river_okl.RBPClassifier)
    with pytest.raises(FileNotFoundError):
        river_okl.load("other.okl")


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path):
    path, other = tmp_path / "model.okl", tmp_path / "other"
    for mode in (0o600, 0o640, 0o444):
        river_okl.save(small(river_okl.RBPClassifier), path)
        path.chmod(mode)
        river_okl.save(learned(river_okl.RBPClassifier), path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()
    river_okl.save(small(river_okl.RBPClassifier), path)
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "model.okl"
    river_okl.save(small(river_okl.RBPClassifier), path)
    os.chown(path, 12345, 54321)
    river_okl.save(learned(river_okl.RBPClassifier), path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_what_was_private_is_never_public(tmp_path, monkeypatch):
    """Not even while it is written."""
    path = tmp_path / "model.okl"
    river_okl.save(small(river_okl.RBPClassifier), path)
    path.chmod(0o600)
    modes, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (modes.append(stat.S_IMODE(os.fstat(fd).st_mode)), fsync(fd)))
    river_okl.save(learned(river_okl.RBPClassifier), path)
    assert modes[0] == 0o600


def test_paths_of_bytes(tmp_path):
    path = os.fsencode(tmp_path / "ü.okl")
    river_okl.save(small(river_okl.RBPClassifier), path)
    assert isinstance(river_okl.load(path), river_okl.RBPClassifier)
    assert os.listdir(tmp_path) == ["ü.okl"]
    (tmp_path / "ü.okl").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"ü\.okl: truncated"):
        river_okl.load(path)


def test_bytes_of_any_kind_and_nothing_else():
    data = checkpoint.dumps(small(river_okl.RBPClassifier))
    for same in (data, bytearray(data), memoryview(data)):
        assert checkpoint.dumps(checkpoint.loads(same)) == data
    for other in (None, "model.okl", 3, Path("model.okl")):
        with pytest.raises(TypeError, match="it must be bytes: load"):
            checkpoint.loads(other)


@pytest.mark.parametrize("path", ["folder", "nowhere/model.okl", "file/model.okl", "x" * 300 + ".okl"])
def test_errors_name_the_path_of_the_user(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    with pytest.raises(OSError) as caught:
        river_okl.save(small(river_okl.RBPClassifier), path)
    assert caught.value.filename == path
    assert str(caught.value).endswith(repr(path))
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe")
def test_a_pipe_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular file"):
        river_okl.save(small(river_okl.RBPClassifier), tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# Wrong files ------------------------------------------------------------------------------------------------------


@functools.cache
def good():
    """Checkpoints that between them have all that a checkpoint can have."""
    return [
        checkpoint.dumps(model)
        for model in (
            learned(river_okl.OLRDClassifier, kernel=0.5 * kernels.RBF() + kernels.Polynomial(2, gamma=None)),
            learned(river_okl.ProjectronClassifier, kernel=kernels.RBF(0.1)),
            learned(river_okl.SPARegressor, kind="sparse"),
            learned(river_okl.NBSGDClassifier, suffix=0.5, kernel=kernels.Laplacian(1.0)),
            learned(river_okl.BPAClassifier, maintenance="nearest"),
            learned(river_okl.OLRURegressor, loss=losses.EpsilonInsensitive(0.2), radius=5.0),
            learned(river_okl.ForgetronClassifier),
            learned(river_okl.POMDRClassifier),
            learned(river_okl.NOGDRegressor),
            learned(river_okl.FOGDClassifier),
            learned(river_okl.BSGDRegressor, maintenance="merging"),
            learned(river_okl.AhpatronClassifier, learning_rate=optim.schedulers.InverseScaling(0.5)),
        )
    ] + [wrapped(name) for name in sorted(WRAPPED)]


def made(cls, *positional, **parameters):
    return {"object": {"class": cls, "positional": list(positional), "parameters": parameters}}


def with_loss(data, loss):
    return edited(data, "parameters", "loss", loss)


PAIR = made("river_okl.kernels.Sum", made("river_okl.kernels.Linear"), made("river_okl.kernels.RBF"))
ENDLESS = made("river_okl.kernels.Product", *[PAIR] * 30)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("empty", lambda data: b"", "truncated"),
        ("a pickle", lambda data: pickle.dumps({}), "not a checkpoint"),
        ("text", lambda data: b"\x89OKL\n\x1a\n" + data[8:], "not a checkpoint"),
        ("the head alone", lambda data: data[: HEADER.size - 1], "truncated"),
        ("no body", lambda data: data[: HEADER.size], "truncated"),
        ("half", lambda data: data[: len(data) // 2], "truncated"),
        ("one byte short", lambda data: data[:-1], "truncated"),
        ("one byte long", lambda data: data + b"\0", "damaged"),
        ("a changed byte", lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], "checksum"),
        ("a changed head", lambda data: data[:29] + bytes([data[29] ^ 1]) + data[30:], "checksum"),
        ("too new", lambda data: assembled(*pieces(data), version=VERSION + 1), "format 3.*upgrade"),
        ("too old", lambda data: assembled(*pieces(data), version=0), "no format 0"),
        ("an unknown class", lambda data: edited(data, "class", "river_okl.DeepClassifier"), "DeepClassifier"),
        ("a class of another kind", lambda data: edited(data, "class", "river_okl.datasets"), "neither"),
        ("another class", lambda data: edited(data, "class", "river_okl.OLRDRegressor"), "damaged or written by hand"),
        ("no budget", lambda data: edited(data, "parameters", "budget", 0), "budget"),
        ("a function", lambda data: with_loss(data, made("os.system", "ls")), "os.system"),
        ("our function", lambda data: with_loss(data, made("river_okl.load", "x")), "river_okl.load"),
        ("not a loss", lambda data: with_loss(data, made("river_okl.kernels.RBF")), "loss"),
        ("a kernel without end", lambda data: edited(data, "parameters", "kernel", ENDLESS), "16 terms"),
        ("an unknown parameter", lambda data: edited(data, "parameters", "depth", 3), "depth"),
        ("not a document", lambda data: assembled([1, 2], b""), "document"),
        ("NaN in JSON", lambda data: edited(data, "parameters", "c", math.nan), "NaN"),
        ("no model", lambda data: assembled({**pieces(data)[0], "model": PAIR}, pieces(data)[1]), "no model"),
        ("deep", lambda data: edited(data, "parameters", "c", json.loads("[" * 500 + "]" * 500)), "written by hand"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(name, change, message, tmp_path):
    path = tmp_path / "model.okl"
    path.write_bytes(change(good()[0]))
    with pytest.raises(CheckpointError, match=message) as caught:
        river_okl.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capacity", 2**30),
        ("capacity", 2**70),
        ("capacity", -8),
        ("capacity", 9),
        ("born", 0),
        ("scale", 0.0),
        ("scale", {"float": "nan"}),
        ("gram", {"array": [0, [1], "C"]}),
        ("sum_squares", -1.0),
        ("adapting", 1),
        ("previous", {"dict": [["a", {"float": "inf"}]]}),
        ("names", {"list": ["a"] * 12}),
    ],
)
def test_an_expansion_out_of_range_is_refused(field, value):
    with pytest.raises(CheckpointError):
        checkpoint.loads(edited(good()[0], "state", "_f", "part", "state", field, value))


@pytest.mark.parametrize("name", ["slots", "ranks", "counts", "owners", "owned", "amounts", "birth", "coef", "square"])
def test_every_array_of_an_expansion_is_checked(name):
    """A number out of range, wherever it stands, never reaches the core."""
    checked = 0
    for data in good()[:6]:  # of a long array about 20 of its numbers, the first and the last among them
        document, arrays = pieces(data)
        index = document["model"]["object"]["state"]["_f"]["part"]["state"][name]["array"][0]
        at = sum(np.dtype(dtype).itemsize * n for dtype, n in document["arrays"][:index])
        dtype, n = document["arrays"][index]
        for i in sorted({*range(0, n, 1 + n // 20), n - 1} if n else ()):
            for value in (2**31 - 1, -(2**31)) if dtype[1] == "i" else (math.nan, -math.inf):
                code = {"<f8": "<d", "<i8": "<q", "<i4": "<i"}[dtype]
                begin = at + i * np.dtype(dtype).itemsize
                changed = arrays[:begin] + struct.pack(code, value) + arrays[begin + np.dtype(dtype).itemsize :]
                with pytest.raises(CheckpointError):
                    checkpoint.loads(assembled(document, changed))
                checked += 1
    assert checked > 10


@contextlib.contextmanager
def little_memory():
    """Half a gigabyte more than now, where the system can say so: what wants more gets a MemoryError."""
    resource = pytest.importorskip("resource")
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    old = resource.getrlimit(resource.RLIMIT_AS)
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**29, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


class Anything(dict):
    """A sample with every feature that a pipeline may ask for."""

    def __missing__(self, name):
        return 0.0


def as_dict(score):
    return score if isinstance(score, dict) else {None: score}


def try_to_use(data):
    """Load what may be anything: it is refused, or a model that works, with features and labels that suit it."""
    with little_memory():
        try:
            model = checkpoint.loads(data)
        except CheckpointError:
            return False
        last = last_step(model)
        names = last._labels.names if hasattr(last, "_labels") else ()
        known = (names, getattr(last, "classes", ()), getattr(last, "classifiers", ()))
        labels = next((list(found) for found in known if len(found) > 1), [])
        stream = streams.emerging(task(type(last)), 20)
        if model is not last:
            stream = [(Anything(x), y) for (x, _), (_, y) in zip(mixed("", 20), stream, strict=True)]
        for i, (x, y) in enumerate(stream):
            try:
                said(model, x)
                learn(model, x, labels[i % len(labels)] if labels else y)
            except (TypeError, ValueError, KeyError) as error:  # words, where the steps that took them out are gone
                if model is last or not (str(error).startswith("feature ") or isinstance(error, KeyError)):
                    raise
        if model is last and isinstance(model, river_okl.model.KernelModel):
            assert np.isfinite(np.array(list(as_dict(decision(model, x)).values())[:5])).all()
            assert math.isfinite(model.norm)
            if hasattr(model, "predict_proba_one"):
                model.predict_proba_one(x)
            assert str(model.kernel_in_use)
            assert len(model.support_vectors) == model.n_support_vectors
            model.debug_one(x)
            snapshot(model)
    return True


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_loading_bytes_of_all_kinds_is_safe(data):
    original = good()[data.draw(st.sampled_from(range(len(good()))))]
    kind = data.draw(st.sampled_from(["flip", "cut", "random", "head"]))
    if kind == "flip":
        changed = bytearray(original)
        for at in data.draw(st.lists(st.integers(0, len(original) - 1), min_size=1, max_size=5, unique=True)):
            changed[at] ^= data.draw(st.integers(1, 255))
        broken = bytes(changed)
    elif kind == "cut":
        broken = original[: data.draw(st.integers(0, len(original) - 1))]
    elif kind == "random":
        broken = data.draw(st.binary(max_size=200))
    else:
        broken = MAGIC + data.draw(st.binary(max_size=200))
    with pytest.raises(CheckpointError):
        checkpoint.loads(broken)


ODD_NUMBERS = [2**31 - 1, 2**31, 2**62, 2**63, 10**30, -(10**30), 1e308, 5e-324, -1.0, 0.0, 0.5, 1.0, 2.0]
ODD_TEXTS = ["", "a", "nearest", "river_okl.RBPClassifier", [], {}, [[]]]
ODD_VALUES = [
    *({"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"list": [1]}, {"scalar": ["<U9", "a"]}),
    *({"scalar": ["<f8", 1]}, {"dict": []}, {"set": [1]}, {"deque": [None, []]}, {"random": [3, [0] * 625, 0]}),
    *({"array": [0, [1], "C"]}, {"array": [1, [2, 2], "F"]}, {"part": {"state": {}}}, made("river_okl.kernels.RBF")),
    *(made("river.optim.losses.Log"), made("river.optim.schedulers.Constant", 0.5)),
]
ODD_BYTES = [
    *(struct.pack("<d", v) for v in (0.0, math.nan, math.inf, -1.0, 1e300, 5e-324)),
    *(struct.pack("<q", v) for v in (0, 1, 7, 8, -1, 2**31, 2**62)),
    *(struct.pack("<ii", v, w) for v in (-1, 0, 1, 7, 8, 2**31 - 1) for w in (0, 1)),
]


def places(value):
    """Every container in a document with every key of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        if key != "random":  # 625 numbers that are as good as each other
            yield from places(item)


def altered(rng, data):
    """The checkpoint with up to three values of any kind replaced, removed or repeated, and a right checksum."""
    document, arrays = pieces(data)
    for _ in range(rng.randint(1, 3)):
        if arrays and rng.random() < 0.3:
            at = 4 * rng.randrange(len(arrays) // 4 - 1)
            arrays = arrays[:at] + rng.choice(ODD_BYTES) + arrays[at + 8 :]
            continue
        container, key = rng.choice(list(places(document)))
        action = rng.choice(["replace", "replace", "replace", "nudge", "delete", "repeat"])
        if action == "replace":
            odd = rng.choice([[None, True, False, rng.randint(-3, 70)], ODD_NUMBERS, ODD_TEXTS, ODD_VALUES])
            container[key] = copy.deepcopy(rng.choice(odd))
        elif action == "nudge" and type(container[key]) in (int, float):
            container[key] = type(container[key])(container[key] * rng.choice([-1, 0, 2]) + rng.choice([-1, 0, 1]))
        elif action == "delete":
            del container[key]
        elif action == "repeat" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
    return assembled(document, arrays)


@pytest.mark.parametrize("tens", range(40))
def test_altered_files_are_refused_or_work(tens):
    """With a right checksum, so that only the checks behind it are left."""
    for seed in range(10 * tens, 10 * tens + 10):
        rng = random.Random(seed)
        try_to_use(altered(rng, rng.choice(good())))


def test_a_file_cannot_ask_for_much_memory():
    """A gram of 10^10 numbers, a million outputs, arrays of 2^60 numbers: refused before anything is allocated."""
    projectron = good()[1]
    for field, value in (("capacity", 2**17), ("capacity", 2**40)):
        with little_memory(), pytest.raises(CheckpointError):
            checkpoint.loads(edited(projectron, "state", "_f", "part", "state", field, value))
    document, arrays = pieces(projectron)
    for size in (2**60, 2**64, 10**30):
        document["arrays"][0][1] = size
        with little_memory(), pytest.raises(CheckpointError):
            checkpoint.loads(assembled(document, arrays))


def retraining(inner, levels):
    """A description of wrappers in wrappers; each level would clone the next twice."""
    for _ in range(levels):
        detector = copy.deepcopy(inner["object"]["parameters"]["drift_detector"])
        inner = copy.deepcopy(inner) | {}
        inner["object"]["parameters"] = {
            "model": copy.deepcopy(inner),
            "drift_detector": detector,
            "train_in_background": False,
        }
    return inner


def test_wrappers_in_wrappers_cost_no_more_than_they_write():
    """Constructors of River clone what they wrap: 40 in each other would be cloned 2^40 times."""
    data = checkpoint.dumps(drift.DriftRetrainingClassifier(rbp(), train_in_background=False))
    document, arrays = pieces(data)
    for levels, right in ((5, True), (20, False)):
        changed = assembled(document | {"model": retraining(document["model"], levels)}, arrays)
        if right:
            assert isinstance(checkpoint.loads(changed), drift.DriftRetrainingClassifier)
        else:
            with pytest.raises(CheckpointError, match="wrappers in wrappers"):
                checkpoint.loads(changed)


def test_many_small_models_cannot_ask_for_much_memory_together():
    """Each claims room that would be fine for one."""
    document, arrays = pieces(checkpoint.dumps(ensemble.BaggingClassifier(rbp(budget=2**20), n_models=40)))
    for model in document["model"]["object"]["state"]["data"]["list"]:
        model["object"]["state"]["_f"]["part"]["state"]["capacity"] = 2**16
    with little_memory(), pytest.raises(CheckpointError, match="bytes of memory"):
        checkpoint.loads(assembled(document, arrays))


# Versions ---------------------------------------------------------------------------------------------------------


def with_attributes(monkeypatch, cls, **attributes):
    """A later version of a class, whose constructor makes more."""
    init = cls.__init__

    @functools.wraps(init)
    def longer(self, *args, **kwargs):
        init(self, *args, **kwargs)
        vars(self).update(attributes)

    monkeypatch.setattr(cls, "__init__", longer)


@pytest.mark.parametrize("path", OF_MODELS, ids=lambda path: path.stem)
def test_a_new_attribute_costs_no_old_file(path, monkeypatch):
    before = river_okl.load(path)
    with_attributes(monkeypatch, type(before), _new=0.5)
    after = river_okl.load(path)
    assert after._new == 0.5
    del after._new
    assert snapshot(after) == snapshot(before)


def test_a_class_upgrades_its_own_state(monkeypatch, tmp_path):
    cls = river_okl.RBPClassifier
    path, newer = tmp_path / "model.okl", tmp_path / "newer.okl"
    river_okl.save(learned(cls), path)

    def upgrade(version, parameters, state):
        assert version in (1, 2)
        state["_seen"] = 10 * state.get("_seen", 1)
        parameters.setdefault("seed", 5)

    with_attributes(monkeypatch, cls, _seen=0)
    monkeypatch.setattr(cls, "_state_version", 3, raising=False)
    monkeypatch.setattr(cls, "_upgrade_state", staticmethod(upgrade), raising=False)
    model = river_okl.load(path)
    assert model._seen == 100
    river_okl.save(model, newer)
    assert river_okl.load(newer)._seen == 100
    monkeypatch.setattr(cls, "_state_version", 2)
    with pytest.raises(CheckpointError, match=r"version 3 of the state of a RBPClassifier.*upgrade"):
        river_okl.load(newer)


class Counter:
    """A part of a model as models.py describes it."""

    def __init__(self):
        self.count = 0

    def state(self):
        return {"count": self.count}

    def restore(self, state):
        if type(state["count"]) is not int or state["count"] < 0:
            raise ValueError(f"count is {state['count']!r}")
        self.count = state["count"]


def test_a_part_with_state_and_restore_is_all_it_takes(monkeypatch, tmp_path):
    cls, init = river_okl.RBPClassifier, river_okl.RBPClassifier.__init__

    @functools.wraps(init)
    def longer(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self._part = Counter()

    monkeypatch.setattr(cls, "__init__", longer)
    model = learned(cls)
    model._part.count = 7
    river_okl.save(model, tmp_path / "model.okl")
    assert river_okl.load(tmp_path / "model.okl")._part.count == 7
    data = (tmp_path / "model.okl").read_bytes()
    for state in ({}, {"count": -1}, {"count": "7"}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_part", "part", "state", state))
    for value in (None, 7, {"dict": []}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_part", value))
    monkeypatch.setattr(Counter, "_state_version", 2, raising=False)
    monkeypatch.setattr(
        Counter, "_upgrade_state", staticmethod(lambda version, state: state.update(count=8)), raising=False
    )
    assert checkpoint.loads(data)._part.count == 8


@each_class
def test_what_a_file_says_of_a_parameter_is_checked_as_the_constructor_does(cls):
    """A parameter that is missing has its default; None is there only where the constructor takes it."""
    data = checkpoint.dumps(learned(cls))
    for name in pieces(data)[0]["model"]["object"]["parameters"]:
        document, arrays = pieces(data)
        del document["model"]["object"]["parameters"][name]
        for changed in (assembled(document, arrays), edited(data, "parameters", name, None)):
            if try_to_use(changed):
                assert checkpoint.loads(changed)._get_params().keys() == cls()._get_params().keys()


# Files that exist -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", OF_MODELS, ids=lambda path: path.stem)
def test_files_of_earlier_versions_are_read(path):
    """Written by ``python -m tests.fixtures.write``, with what their models said then."""
    model = river_okl.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    assert type(model).__name__ == expected["class"]
    assert model.n_support_vectors == expected["n_support_vectors"]
    stream = streams.KINDS[expected["kind"]](task(type(model)), 80)
    scores = [decision(model, x) for x, _ in stream[:20]]
    assert scores == pytest.approx(expected["scores"], rel=1e-9, abs=1e-12)
    for x, y in stream[60:]:
        model.learn_one(x, y)
    assert decision(model, stream[0][0]) == pytest.approx(expected["later"], rel=1e-7, abs=1e-9)


def nearly(prediction):
    return prediction if isinstance(prediction, str | bool) else pytest.approx(prediction)


@pytest.mark.parametrize("path", OF_WRAPPED, ids=lambda path: path.stem)
def test_files_of_wrapped_models_are_read(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = river_okl.load(path)
    stream = list(mixed(expected["wrapped"], 80))
    assert [said(model, x) for x, _ in stream[:20]] == [nearly(each) for each in expected["predictions"]]
    for x, y in stream[60:]:
        learn(model, x, y)
    assert [said(model, x) for x, _ in stream[:20]] == [nearly(each) for each in expected["later"]]


def test_there_is_a_file_of_every_class_and_wrapper():
    assert {path.stem.split("-")[0] for path in OF_MODELS} >= set(CLASSES)
    assert {path.stem.rsplit("-", 1)[0] for path in OF_WRAPPED} == {
        f"wrapped-{name.replace(' ', '-')}" for name in WRAPPED
    }
