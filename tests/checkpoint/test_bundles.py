"""Checkpoints of bundles: models with metrics, drift detectors and metadata; and open files."""

from __future__ import annotations

import base64
import collections
import copy
import datetime
import io
import math
import random
import re

import numpy as np
import pytest
from river import drift, metrics, preprocessing, stats

import river_okl
from river_okl import checkpoint
from river_okl.checkpoint import CheckpointError
from tests.checkpoint.files import assembled, little_memory, pieces, rbp
from tests.discovery import snapshot

COMPILED = [
    *(drift.ADWIN, stats.Quantile, stats.IQR, stats.EWMean, stats.EWVar, stats.Kurtosis, stats.Skew, stats.PeakToPeak),
    *(lambda: stats.RollingIQR(window_size=9), lambda: stats.RollingQuantile(0.3, window_size=9)),
    *(lambda: metrics.RollingROCAUC(window_size=9), lambda: metrics.RollingPRAUC(window_size=9)),
]


@pytest.mark.parametrize("options", [{}, {"delta": 0.5, "clock": 1, "max_buckets": 2}], ids=str)
@pytest.mark.parametrize("n", [0, 6, 5000])
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


@pytest.mark.parametrize("make", COMPILED, ids=lambda make: type(make()).__name__)
def test_altered_bytes_of_rivers_compiled_objects_are_rejected_or_harm_nothing(make):
    """River checks them, in Rust: a panic is an error, and use may be one, too."""
    thing = make()
    for i in range(60):
        thing.update(*((i % 2, {True: i % 7 / 7.0}) if isinstance(thing, metrics.base.Metric) else (i % 7 / 3.0,)))
    data = checkpoint.dumps(thing)
    assert checkpoint.dumps(checkpoint.loads(data)) == data
    document, arrays = pieces(data)
    ((at, entry),) = ((i, each) for i, each in enumerate(document["entries"]) if "bytes" in each)
    rng, good = random.Random(1), base64.b64decode(entry["bytes"])
    rejected = 0
    with little_memory():
        for _ in range(150):
            bad = bytearray(good[: rng.randrange(len(good))] if rng.random() < 0.3 else good)
            for _ in range(rng.randint(0, 4) if bad else 0):
                bad[rng.randrange(len(bad))] = rng.choice([0, 255, 127, rng.randrange(256)])
            changed = copy.deepcopy(document)
            changed["entries"][at]["bytes"] = base64.b64encode(bad).decode()
            try:
                loaded = checkpoint.loads(assembled(changed, arrays))
            except CheckpointError:
                rejected += 1
                continue
            assert type(loaded) is type(thing)
        changed["entries"][at]["arguments"] = [2**40] * len(entry["arguments"])
        if entry["arguments"]:
            with pytest.raises(CheckpointError, match="its arguments"):
                checkpoint.loads(assembled(changed, arrays))
    assert rejected > 20


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


def test_what_occurs_twice_is_one_object():
    """In cycles, too, and however deep."""
    same, rng, endless = rbp(), random.Random(1), []
    endless.append(endless)
    chain = []
    for _ in range(5000):
        chain = [chain]
    before = {"a": [same, rng], "b": (same, {"rng": rng}), "endless": endless, "chain": chain}
    after = checkpoint.loads(checkpoint.dumps(before))
    assert after["a"][0] is after["b"][0] and after["a"][1] is after["b"][1]["rng"]
    assert after["endless"][0] is after["endless"]
    for _ in range(5000):
        (after["chain"],) = after["chain"]


def test_plain_values_keep_their_type():
    values = {
        **{"bytes": b"\0\xff", "day": datetime.date(2024, 2, 29), "time": datetime.datetime(2024, 2, 29, 12, 30)},
        **{"zone": datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC), "delay": datetime.timedelta(3, 7, 1)},
        **{
            "pattern": re.compile("a+", re.IGNORECASE),
            "frozen": frozenset([1, "a"]),
            "huge": 2**20_000,
            "range": range(5),
        },
        **{"range": range(5), "deque": collections.deque([1, 2], 5), "counter": collections.Counter("aab")},
        **{"scalar": np.float32(0.5)},
        **{"default": collections.defaultdict(list, a=[1]), "none": None, "number": np.array(3.0), None: 1},
    }
    loaded = checkpoint.loads(checkpoint.dumps(values))
    assert loaded == values and {k: type(v) for k, v in loaded.items()} == {k: type(v) for k, v in values.items()}
    assert loaded["default"]["b"] == [] and loaded["deque"].maxlen == 5


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
