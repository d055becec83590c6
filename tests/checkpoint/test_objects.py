"""Checkpoints of River's own objects: all that consist of plain attributes, and nothing that executes code."""

from __future__ import annotations

import inspect
import random
import warnings

import pytest
import river.api
from river import base, linear_model, preprocessing

from river_okl import checkpoint
from river_okl.checkpoint import CheckpointError
from tests.checkpoint.files import assembled, edited, pieces, rbp

# Not of plain attributes: an iterator, named tuples.  Not repeatable, with or without a checkpoint: trees in an
# arbitrary order of features, and clusters of clusters that draw new seeds.
OTHERS = {"OutputCodeClassifier", "HardSamplingClassifier", "HardSamplingRegressor"}
OTHERS |= {"RandomTreesEmbedding", "STREAMKMeans"}
SLOW = {"SRPRegressor", "SRPClassifier", "ARFRegressor", "ODACCluster"}


def every_object():
    """An object of each class of River, with each set of its parameters that River tests."""
    found = {}
    for module in vars(river.api).values():
        if not inspect.ismodule(module) or module.__name__ in ("river.compat", "river.datasets"):
            continue
        for name, cls in vars(module).items():
            if (
                not inspect.isclass(cls)
                or not issubclass(cls, base.Base)
                or inspect.isabstract(cls)
                or name == "Pipeline"
            ):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    options = list(cls._unit_test_params())
                except Exception:  # as parameters River gives what is abstract
                    continue
                for i, each in enumerate(options[:2]):
                    try:
                        found[f"{name}-{i}"] = cls(**each)
                    except Exception:  # a parameter is missing, or an optional package
                        continue
    return {name: thing for name, thing in found.items() if name.split("-")[0] not in OTHERS}


EVERY = every_object()


def lived(thing, n, seed):
    """What an object says along a stream."""
    rng, said = random.Random(seed), []
    for _ in range(n):
        x, y = {"a": rng.random(), "b": rng.random(), "c": rng.random()}, rng.random()
        if not isinstance(thing, base.Regressor):
            y = y < 0.5
        for method in ("predict_one", "score_one", "transform_one"):
            try:
                said.append(repr(getattr(thing, method)(x)))
            except Exception as error:  # it has none, or wants other samples
                said.append(type(error).__name__)
        for arguments in ((x, y), (x,), (y, y), (y,)):
            try:
                (thing.learn_one if hasattr(thing, "learn_one") else thing.update)(*arguments)
                break
            except Exception:  # it wants other arguments
                continue
        if hasattr(thing, "get"):
            try:
                said.append(repr(thing.get()))
            except Exception as error:
                said.append(type(error).__name__)
    return said


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.filterwarnings("ignore")
def test_objects_of_river_continue_identically(name):
    thing = EVERY[name].clone() if hasattr(EVERY[name], "clone") else EVERY[name]
    lived(thing, 20 if name.split("-")[0] in SLOW else 150, 1)
    data = checkpoint.dumps(thing)
    loaded = checkpoint.loads(data)
    assert checkpoint.dumps(loaded) == data
    assert lived(loaded, 20, 2) == lived(thing, 20, 2)


def test_there_are_many_objects():
    names = {name.split("-")[0] for name in EVERY}
    assert names > {"HoeffdingTreeClassifier", "ARFClassifier", "AMFClassifier", "KNNClassifier", "LogisticRegression"}
    assert names > {"KSWIN", "PredictiveAnomalyDetection", "SNARIMAX", "StandardScaler"} and len(names) > 180


# Forged files ---------------------------------------------------------------------------------------------------------

FORGED = [
    {"class": "os:system", "attributes": {}},
    {"class": "os:_wrap_close", "attributes": {"_proc": 1}},
    {"class": "subprocess:Popen", "attributes": {"args": "true"}},
    {"class": "builtins:eval", "attributes": {}},
    {"class": "builtins:object", "attributes": {}},
    {"class": "builtins:type", "attributes": {}},
    {"class": "river.checks:check_estimator", "attributes": {}},
    {"class": "river.utils.math:sigmoid", "attributes": {}},
    {"class": "river.compose.func:typing", "attributes": {}},
    {"class": "river.datasets:Phishing", "attributes": {}},
    {"class": "river.stats.base:abc.ABCMeta", "attributes": {}},
    {"class": "numpy:ndarray", "attributes": {"__setstate__": 1}},
    {"class": "numpy.random:RandomState", "attributes": {"state": 1}},
    {"class": "river._river_rust.stats:os", "arguments": [], "bytes": ""},
    {"class": "river_okl.checkpoint:load", "attributes": {}},
    {"class": "river_okl.series:copy.copy", "attributes": {}},
    {"class": "river_okl.distributed:Predictor", "attributes": {}},
    {"class": ["os:system"], "attributes": {}},
]
CALLED = [
    *({"type": name} for name in ("os:system", "builtins:eval", "eval", "subprocess:Popen", "numpy:ndarray")),
    *({"function": name} for name in ("os:system", "builtins:eval", "river.utils.math:sigmoid", "copy:os")),
    {"method": [{"ref": 0}, "__class__"]},
    {"method": ["text", "format"]},
    {"partial": [{"function": "os:system"}, ["true"], {}]},
    {"partial": ["print", ["x"], {}]},
]


@pytest.mark.parametrize("entry", FORGED, ids=lambda entry: str(entry["class"]))
def test_only_objects_of_river_are_made(entry):
    data = checkpoint.dumps(preprocessing.StandardScaler() | rbp())
    document, arrays = pieces(data)
    document["entries"][0] = entry
    with pytest.raises(CheckpointError):
        checkpoint.loads(assembled(document, arrays))
    with pytest.raises(CheckpointError):
        checkpoint.loads(edited(data, "attributes", "note", entry))


@pytest.mark.parametrize("value", CALLED, ids=str)
def test_only_known_functions_are_called_later(value):
    data = checkpoint.dumps(preprocessing.StandardScaler() | rbp())
    with pytest.raises(CheckpointError):
        checkpoint.loads(edited(data, "attributes", "note", value))


def test_attributes_are_set_and_no_code_is_called():
    """Neither properties nor constructors nor ``__setstate__``."""
    data = checkpoint.dumps(linear_model.LogisticRegression())
    loaded = checkpoint.loads(edited(data, "attributes", "_memory_usage", "forged"))  # a property, which stays one
    assert loaded._memory_usage != "forged" and vars(loaded)["_memory_usage"] == "forged"
    scaler = checkpoint.dumps(preprocessing.StandardScaler())
    document, arrays = pieces(scaler)
    del document["entries"][0]["attributes"]["window_size"]  # its __setstate__ would add it
    assert "window_size" not in vars(checkpoint.loads(assembled(document, arrays)))
