"""Checkpoints of bundles: models with metrics, drift detectors and metadata; and open files."""

from __future__ import annotations

import copy
import io
import math
import random
import struct

import numpy as np
import pytest
from river import drift, metrics, preprocessing

import river_okl
from river_okl import checkpoint
from river_okl.checkpoint import CheckpointError
from river_okl.wrappers import ROWS, models
from tests.checkpoint.files import assembled, little_memory, pieces, places, rbp
from tests.discovery import snapshot

METRICS = [cls for cls in ROWS if issubclass(cls, metrics.base.Metric)]


def updated(metric, n=100, seed=1):
    rng = random.Random(seed)
    for _ in range(n):
        if isinstance(metric, metrics.base.RegressionMetric):
            metric.update(rng.uniform(1, 2), rng.uniform(1, 2))
        elif isinstance(metric, metrics.LogLoss | metrics.ROCAUC):
            metric.update(rng.random() < 0.5, {True: rng.random()})
        elif isinstance(metric, metrics.CrossEntropy):
            metric.update("a", {"a": rng.uniform(0.1, 1), "b": 0.5})
        elif isinstance(metric, metrics.base.BinaryMetric):
            metric.update(rng.random() < 0.5, rng.random() < 0.5, rng.random())
        else:
            metric.update(rng.choice("abc"), rng.choice("abd"), rng.random())
    return metric


@pytest.mark.parametrize("cls", METRICS, ids=lambda cls: cls.__name__)
def test_metrics_resume_exactly(cls):
    metric = updated(cls())
    loaded = checkpoint.loads(checkpoint.dumps(metric))
    for _ in range(2):
        assert str(loaded) == str(metric) and checkpoint.dumps(loaded) == checkpoint.dumps(metric)
        if cls is not metrics.ConfusionMatrix:
            assert loaded.get() == metric.get()
        if hasattr(metric, "cm"):
            assert loaded.cm.data == metric.cm.data and loaded.works_with(rbp()) == metric.works_with(rbp())
        updated(loaded, 50, seed=2)
        updated(metric, 50, seed=2)


def test_the_usual_metrics_are_supported():
    names = {cls.__name__ for cls in METRICS}
    assert names > {"Accuracy", "BalancedAccuracy", "F1", "LogLoss", "ROCAUC", "MAE", "RMSE", "R2", "ConfusionMatrix"}
    metric = metrics.F1(pos_val="spam")
    metric.update("spam", "spam")
    assert checkpoint.loads(checkpoint.dumps(metric)).pos_val == "spam"


@pytest.mark.parametrize("options", [{}, {"delta": 0.5, "clock": 1, "max_buckets": 2}, {"max_buckets": 9}], ids=str)
@pytest.mark.parametrize("n", [0, 1, 5, 6, 40, 999, 5000])
def test_adwin_resumes_exactly(options, n):
    rng = random.Random(n)
    detector = drift.ADWIN(**options)
    for i in range(n):
        detector.update(rng.random() + (i > n // 2))
    loaded = checkpoint.loads(checkpoint.dumps(detector))
    assert snapshot(loaded) == snapshot(detector)
    found = []
    for _ in range(300):
        value = rng.random() * 9.0
        detector.update(value)
        loaded.update(value)
        found.append(detector.drift_detected)
        assert (loaded.drift_detected, loaded.width, loaded.total) == (found[-1], detector.width, detector.total)
    assert any(found) or n < 50


def test_altered_detectors_are_rejected_or_work():
    """River's bytes are never taken from a file: what is out of range would make compiled code panic."""
    detector = drift.ADWIN(clock=1)
    for i in range(200):
        detector.update(i % 3)
    document, arrays = pieces(checkpoint.dumps(detector))
    numbers = [0, -1, 1, 2**31, 2**62, 2**64, 0.5, -1.0, 1e308, None, "x"]
    numbers += [{"float": "nan"}, {"float": "inf"}, {"list": []}]
    rng, rejected, worked = random.Random(1), 0, 0
    with little_memory():
        for i in range(len([*places(document["model"])])):
            for number in rng.sample(numbers, 6):
                changed = copy.deepcopy(document)
                container, key = list(places(changed["model"]))[i]
                container[key] = number
                try:
                    loaded = checkpoint.loads(assembled(changed, arrays))
                except CheckpointError:
                    rejected += 1
                    continue
                worked += 1
                assert type(loaded) is drift.ADWIN
                for t in range(100):
                    loaded.update(5.0 * (t > 50))
    assert rejected > 100 and worked > 20


def test_an_adwin_with_other_bytes_is_not_saved(monkeypatch):
    """Should a version of River store more, or other things."""
    for head in ("<diQdd4d5iQ", "<diQdd3d4iQ"):
        monkeypatch.setattr(models, "ADWIN_HEAD", struct.Struct(head))
        with pytest.raises((CheckpointError, struct.error), match=r"the ADWIN of this version of River"):
            checkpoint.dumps(drift.ADWIN())


# Bundles --------------------------------------------------------------------------------------------------------------


def bundle():
    model = preprocessing.StandardScaler() | rbp()
    metric, detector = metrics.Accuracy(), drift.ADWIN()
    for i in range(100):
        x, y = {"a": float(i % 7)}, i % 7 > 3
        correct = model.predict_one(x) == y
        metric.update(y, correct)
        detector.update(not correct)
        model.learn_one(x, y)
    return {
        "model": model,
        "monitor": [metric, (detector, metrics.MAE())],
        "about": {"version": 3, "who": "me", "of": ("a", 2.5, None, True), "set": {1, 2}, "big": math.inf},
        "array": np.arange(6.0).reshape(2, 3),
        7: [],
    }


def test_a_bundle_round_trips(tmp_path):
    before = bundle()
    river_okl.save(before, tmp_path / "all.okl")
    after = river_okl.load(tmp_path / "all.okl")
    assert list(after) == list(before) and after["about"] == before["about"]
    assert type(after["monitor"][1]) is tuple
    np.testing.assert_array_equal(after["array"], before["array"])
    assert after["monitor"][0].get() == before["monitor"][0].get()
    assert snapshot(after["monitor"][1][0]) == snapshot(before["monitor"][1][0])
    assert after["model"].predict_proba_one({"a": 2.0}) == before["model"].predict_proba_one({"a": 2.0})
    assert checkpoint.dumps(after) == checkpoint.dumps(before)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (lambda: {"a": object()}, "it is <object .*use pickle"),
        (lambda: [rbp(), {"f": print}], "it is <built-in function print>"),
        (lambda: {object(): 1}, "it is named <object"),
        (lambda: [drift.KSWIN(seed=1)], "a KSWIN: use pickle"),
        (lambda: "only a string", "it is 'only a string'"),
        (lambda: [same := rbp(), same], "RBPClassifier.*twice"),  # it would be loaded as two objects
        (lambda: [same := metrics.Accuracy(), same], "twice"),
    ],
)
def test_what_a_bundle_cannot_hold(thing, message):
    with pytest.raises(CheckpointError, match=message):
        river_okl.dumps(thing())


def test_a_list_that_contains_itself_is_rejected():
    endless = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match="nested more than"):
        river_okl.dumps(endless)


# Open files -----------------------------------------------------------------------------------------------------------


class Slow(io.RawIOBase):
    """A raw file, which takes and gives some bytes at a time."""

    def __init__(self):
        self.data, self.given = b"", 0

    def read(self, size=-1):
        part = self.data[self.given : self.given + 100]
        self.given += len(part)
        return part

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data[:100])
        return min(100, len(data))


def test_open_files(tmp_path):
    model = bundle()["model"]
    buffer, slow = io.BytesIO(), Slow()
    river_okl.save(model, buffer)
    river_okl.save(model, slow)
    assert buffer.getvalue() == slow.data == river_okl.dumps(model)
    buffer.seek(0)
    assert river_okl.dumps(river_okl.load(slow)) == slow.data
    assert river_okl.dumps(river_okl.load(buffer)) == buffer.getvalue()
    with open(tmp_path / "a.okl", "wb") as file:
        river_okl.save(model, file)
    with open(tmp_path / "a.okl", "rb") as file:
        assert river_okl.dumps(river_okl.load(file)) == buffer.getvalue()
    with open(tmp_path / "a.okl", "rb") as file:
        file.read(10)
        with pytest.raises(CheckpointError, match=r"a\.okl: not a checkpoint"):
            river_okl.load(file)


def test_files_open_as_text_are_rejected(tmp_path):
    with open(tmp_path / "a", "w", encoding="utf-8") as file, pytest.raises(TypeError, match="binary mode, 'wb'"):
        river_okl.save(rbp(), file)
    with open(tmp_path / "a", encoding="utf-8") as file, pytest.raises(TypeError, match="binary mode, 'rb'"):
        river_okl.load(file)
    for function in (river_okl.load, lambda path: river_okl.save(rbp(), path)):
        with pytest.raises(TypeError, match="path is 7, an int; it must be a path or an open binary file"):
            function(7)
