"""Checkpoints of models: exact for every class, with parameters validated as by the constructor."""

from __future__ import annotations

import hashlib
import io
import math
import pickle

import numpy as np
import pytest
from river import optim

import river_okl
from river_okl import checkpoint, kernels
from river_okl.checkpoint import CheckpointError
from tests import streams
from tests.checkpoint.files import assembled, edited, learned, pieces, root, try_to_use
from tests.core.expansions import run_python
from tests.discovery import EVERY_VARIANT, ODD, each_class, small, snapshot, task

CUTS = (1, 30, 190)
PICKLED = 30
LENGTH = 220  # the bandwidth moves up to the 200th sample

CONTINUE = f"""
import hashlib, os, pickle
from pathlib import Path
import river_okl
from tests import streams
from tests.discovery import snapshot, task
for path in sorted(Path(os.environ["FOLDER"]).iterdir()):
    kind, cut = path.stem.split("-")[-2:]
    model = river_okl.load(path) if path.suffix == ".okl" else pickle.loads(path.read_bytes())
    for x, y in streams.KINDS[kind](task(type(model)), {LENGTH})[int(cut):]:
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
    found = dict(line.split() for line in run_python(CONTINUE, FOLDER=str(tmp_path)).splitlines())
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])
def test_a_mixture_that_only_learns_can_be_saved(cls):
    """Also after kernels have moved; without predictions no label is late."""
    model = cls()
    for t, row in enumerate(np.random.default_rng(0).normal(size=(600, 5)).tolist()):
        product = row[0] * row[1]
        model.learn_one(dict(zip("abcde", row, strict=True)), product if cls is river_okl.OKLRegressor else product > 0)
        if t % 10 == 9:
            river_okl.save(model, io.BytesIO())


def test_random_numbers_continue():
    model = river_okl.RBPClassifier(budget=5)  # no seed: the state comes from the operating system
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert [model._rng.random() for _ in range(1000)] == [loaded._rng.random() for _ in range(1000)]


KERNELS = [
    *(kernels.RBF(), kernels.RBF(gamma=0.1), kernels.RBF(gamma=(0.1, 1, 1e-300)), kernels.Laplacian(gamma=math.pi)),
    *(kernels.Polynomial(degree=2, gamma=None, coef0=0.5), kernels.Linear(gamma=None)),
    0.8 * kernels.RBF() + 0.2 * kernels.Linear(),
    kernels.RBF(0.5) * (kernels.Polynomial(2) + 3.0 * kernels.Laplacian(2.0)),
]
PARAMETERS = [
    *[(river_okl.OLKClassifier, {"kernel": kernel}) for kernel in KERNELS],
    (river_okl.OLRDClassifier, {"loss": optim.losses.Hinge(threshold=0.5), "radius": 1e300}),
    (river_okl.OLRDClassifier, {"learning_rate": optim.schedulers.Optimal(optim.losses.Hinge(), alpha=0.01)}),
    (river_okl.OLRDRegressor, {"loss": optim.losses.Quantile(0.9)}),
    (river_okl.AVPClassifier, {"radius": math.inf}),
]


@pytest.mark.parametrize(("cls", "options"), PARAMETERS, ids=str)
def test_parameters_round_trip(cls, options):
    model = learned(cls, **options)
    loaded = checkpoint.loads(checkpoint.dumps(model))
    assert snapshot(loaded) == snapshot(model)
    assert loaded.kernel == model.kernel


def test_a_part_is_restored_from_its_state_or_rejected():
    model = learned(river_okl.RBPClassifier)
    data, state = checkpoint.dumps(model), model._calibration.state()
    assert checkpoint.loads(data)._calibration.state() == state
    for wrong in ({}, {**state, "seen": -1}, {**state, "seen": "7"}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_calibration", "part", "state", wrong))
    for value in (None, 7, {"tuple": []}):
        with pytest.raises(CheckpointError):
            checkpoint.loads(edited(data, "state", "_calibration", value))


@each_class
def test_states_are_complete(cls):
    data = checkpoint.dumps(learned(cls))
    for name in root(pieces(data)[0])["state"]:
        document, arrays = pieces(data)
        state = root(document)["state"]
        state["_other"] = state.pop(name)
        less = {attribute: value for attribute, value in state.items() if attribute != "_other"}
        for changed in (state, less, {**state, name: state["_other"]}):
            root(document)["state"] = changed
            with pytest.raises(CheckpointError, match="other attributes than"):
                checkpoint.loads(assembled(document, arrays))


@each_class
def test_parameters_in_files_are_validated_like_the_constructors(cls):
    """A missing parameter has its default; None is valid only if the constructor accepts it."""
    data = checkpoint.dumps(learned(cls))
    for name in root(pieces(data)[0])["parameters"]:
        document, arrays = pieces(data)
        del root(document)["parameters"][name]
        for changed in (assembled(document, arrays), edited(data, "parameters", name, None)):
            if try_to_use(changed):
                assert checkpoint.loads(changed)._get_params().keys() == cls()._get_params().keys()
