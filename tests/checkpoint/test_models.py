"""Checkpoints of models: exact for every class, with parameters validated as by the constructor."""

from __future__ import annotations

import functools
import hashlib
import math
import pickle
import subprocess
import sys

import pytest
from river import optim

import river_okl
from river_okl import checkpoint, kernels, losses
from river_okl.checkpoint import CheckpointError
from tests import streams
from tests.checkpoint.files import ROOT, assembled, edited, learned, pieces, try_to_use
from tests.discovery import EVERY_VARIANT, ODD, each_class, small, snapshot, task

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


def test_a_run_continues_identically_in_another_process(tmp_path):
    """Each variant on one kind of stream and from two cuts, five classes on both kinds and from all cuts."""
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


def test_random_numbers_continue():
    model = river_okl.RBPClassifier(budget=5)  # no seed: the state comes from the operating system
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert [model._rng.random() for _ in range(1000)] == [loaded._rng.random() for _ in range(1000)]


PARAMETERS = [
    *[
        (river_okl.OLKClassifier, {"kernel": kernel})
        for kernel in (
            kernels.RBF(),
            kernels.RBF(gamma=0.1),
            kernels.RBF(gamma=(0.1, 1, 1e-300)),
            kernels.Laplacian(gamma=math.pi),
            kernels.Polynomial(degree=2, gamma=None, coef0=0.5),
            kernels.Linear(gamma=None),
            0.8 * kernels.RBF() + 0.2 * kernels.Linear(),
            kernels.RBF(0.5) * (kernels.Polynomial(2) + 3.0 * kernels.Laplacian(2.0)),
        )
    ],
    (river_okl.OLRDClassifier, {"loss": optim.losses.Log(weight_pos=2.0)}),
    (river_okl.OLRDClassifier, {"loss": optim.losses.Hinge(threshold=0.5), "radius": 1e300}),
    (river_okl.OLRDClassifier, {"learning_rate": optim.schedulers.Optimal(optim.losses.Hinge(), alpha=0.01)}),
    (river_okl.OLRDRegressor, {"loss": losses.EpsilonInsensitive(0.3)}),
    (river_okl.OLRDRegressor, {"loss": optim.losses.Quantile(0.9)}),
    (river_okl.OLRDRegressor, {"loss": optim.losses.Huber(0.2)}),
    (river_okl.OLRDRegressor, {"learning_rate": optim.schedulers.InverseScaling(0.5, power=0.3)}),
    (river_okl.AVPClassifier, {"radius": math.inf}),
]


@pytest.mark.parametrize(("cls", "options"), PARAMETERS, ids=str)
def test_parameters_round_trip(cls, options):
    model = learned(cls, **options)
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert snapshot(loaded) == snapshot(model)
    assert loaded.kernel == model.kernel


def test_mutated_parameters_round_trip():
    model = learned(river_okl.BOGDClassifier)
    model.mutate({"learning_rate": 0.0625})
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert loaded.learning_rate == 0.0625
    assert snapshot(loaded) == snapshot(model)


class Counter:
    """A part of a model with ``state`` and ``restore`` (models.py)."""

    def __init__(self):
        self.count = 0

    def state(self):
        return {"count": self.count}

    def restore(self, state):
        if type(state["count"]) is not int or state["count"] < 0:
            raise ValueError(f"count is {state['count']!r}")
        self.count = state["count"]


def test_state_and_restore_suffice(monkeypatch):
    cls, init = river_okl.RBPClassifier, river_okl.RBPClassifier.__init__

    @functools.wraps(init)
    def longer(self, *args, **kwargs):
        init(self, *args, **kwargs)
        self._part = Counter()

    monkeypatch.setattr(cls, "__init__", longer)
    model = learned(cls)
    model._part.count = 7
    data = checkpoint.dumps(model)
    assert checkpoint.loads(data)._part.count == 7
    for state in ({}, {"count": -1}, {"count": "7"}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_part", "part", "state", state))
    for value in (None, 7, {"dict": []}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_part", value))


@each_class
def test_states_are_complete(cls):
    data = checkpoint.dumps(learned(cls))
    for name in pieces(data)[0]["model"]["object"]["state"]:
        document, arrays = pieces(data)
        state = document["model"]["object"]["state"]
        state["_other"] = state.pop(name)
        for changed in (state, {**state, name: state["_other"]}):
            document["model"]["object"]["state"] = changed
            with pytest.raises(CheckpointError, match="other attributes than"):
                checkpoint.loads(assembled(document, arrays))


@each_class
def test_parameters_in_files_are_validated_like_the_constructors(cls):
    """A missing parameter has its default; None is valid only if the constructor accepts it."""
    data = checkpoint.dumps(learned(cls))
    for name in pieces(data)[0]["model"]["object"]["parameters"]:
        document, arrays = pieces(data)
        del document["model"]["object"]["parameters"][name]
        for changed in (assembled(document, arrays), edited(data, "parameters", name, None)):
            if try_to_use(changed):
                assert checkpoint.loads(changed)._get_params().keys() == cls()._get_params().keys()
