"""Altered checkpoints with a valid checksum: each is rejected, or gives a model that harms no memory."""

from __future__ import annotations

import copy
import math
import random
import struct

import numpy as np
import pytest

import river_okl
from river_okl import checkpoint, kernels
from river_okl.checkpoint import CheckpointError
from river_okl.labels import Labels
from tests import streams
from tests.checkpoint.files import (
    assembled,
    edited,
    entered,
    good,
    learned,
    little_memory,
    made,
    pieces,
    places,
    root,
    try_to_use,
)
from tests.discovery import learn, small, target, task


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (("points", "capacity"), 2**30),
        (("points", "capacity"), 2**70),
        (("points", "capacity"), -8),
        (("points", "capacity"), 9),
        (("points", "born"), 0),
        (("coefficients", "scale"), 0.0),
        (("coefficients", "scale"), {"float": "nan"}),
        (("gram",), {"array": [0, [1], "C"]}),
        (("kernel", "sum_squares"), -1.0),
        (("kernel", "adapting"), 1),
        (("kernel", "previous"), {"nested": [["a", {"float": "inf"}]]}),
        (("features", "names"), {"items": ["a"] * 12}),
    ],
)
def test_an_expansion_out_of_range_is_rejected(field, value):
    with pytest.raises(CheckpointError):
        checkpoint.loads(edited(good()[0], "state", "_f", "part", "state", *field, value))


def place_of(array, document):
    """Where the bytes of an array begin among those of all arrays."""
    return sum(np.dtype(dtype).itemsize * n for dtype, n in document["arrays"][: array["array"][0]])


@pytest.mark.parametrize(
    ("part", "name"),
    [("coefficients", "coef")]
    + [("features", "places")]
    + [("points", name) for name in ("places", "ranks", "counts", "owners", "owned", "amounts", "birth", "square")],
)
def test_every_array_of_an_expansion_is_checked(part, name):
    """A number out of range never reaches the core."""
    checked = 0
    for data in good()[:6]:  # about 20 numbers of a long array, including the first and the last
        document, arrays = pieces(data)
        state = root(document)["state"]["_f"]["part"]["state"]
        array = dict(state[part]["nested"])[name]
        at, (dtype, n) = place_of(array, document), document["arrays"][array["array"][0]]
        for i in sorted({*range(0, n, 1 + n // 20), n - 1} if n else ()):
            for value in (2**31 - 1, -(2**31)) if dtype[1] == "i" else (math.nan, -math.inf):
                code = {"<f8": "<d", "<i8": "<q", "<i4": "<i"}[dtype]
                begin = at + i * np.dtype(dtype).itemsize
                changed = arrays[:begin] + struct.pack(code, value) + arrays[begin + np.dtype(dtype).itemsize :]
                with pytest.raises(CheckpointError):
                    checkpoint.loads(assembled(document, changed))
                checked += 1
    assert checked > 10


@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.SOGPClassifier])
def test_labels_beyond_the_classes_are_rejected(cls):
    """The core takes a label's position for an index of a class."""
    model = learn(small(cls), [({"a": t % 7}, t % 3) for t in range(30)])
    model._labels = Labels([*range(4000)])
    with pytest.raises(CheckpointError, match="3 classes for 4000 labels"):
        checkpoint.loads(checkpoint.dumps(model))


@pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor, river_okl.OKLDetector])
def test_flags_of_features_are_bools(cls):
    """Their sum is the room for features that a sample lacks."""
    model = learn(small(cls), [({"a": t % 7, "b": t % 5, "c": t}, t % 2) for t in range(30)])
    make, options, state = model._f.__reduce__()
    for centred in (np.full(3, 1 / 3), np.array([3, -1, -1])):
        with pytest.raises(ValueError, match="centred"):
            make(*options).restore(state | {"scaler": state["scaler"] | {"centred": centred}})


@pytest.mark.parametrize(
    ("name", "attribute", "change", "message"),
    [
        ("NOGDClassifier", "_basis", lambda a: np.full_like(a, math.nan), "_basis is"),
        ("NOGDClassifier", "_basis", lambda a: np.full_like(a, math.inf), "_basis is"),
        ("NystroemFeatures", "_inverse", lambda a: a[:-1], "a factor of shape"),
        ("TVMClassifier", "_mass", lambda a: -a, "weights of shape"),
        ("TVMClassifier", "_mass", lambda a: a[:, :1].copy(), "weights of shape"),
        ("TVMClassifier", "_mass", lambda a: np.tile(a, 2), "weights of shape"),
        ("TVMClassifier", "_births", lambda a: a[:-1], "weights of shape"),
        ("TVMClassifier", "_gram", lambda a: a[:-1], "weights of shape"),
    ],
)
def test_arrays_of_a_model_are_finite_and_match(name, attribute, change, message):
    model = learned(getattr(river_okl, name))
    setattr(model, attribute, change(getattr(model, attribute)))
    with pytest.raises(CheckpointError, match=message):
        checkpoint.loads(checkpoint.dumps(model))


ODD_NUMBERS = [2**31 - 1, 2**31, 2**62, 2**63, 10**30, -(10**30), 1e308, 5e-324, -1.0, 0.0, 0.5, 1.0, 2.0]
ODD_TEXTS = ["", "a", "nearest", "river_okl.RBPClassifier", [], {}, [[]]]
ODD_VALUES = [
    *({"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"list": [1]}, {"scalar": ["<U9", "a"]}),
    *({"ref": 0}, {"ref": 1}, {"ref": 5}, {"items": []}, {"nested": []}, {"frozenset": [1]}, {"bytes": "AAAA"}),
    *({"scalar": ["<f8", 1]}, {"dict": []}, {"set": [1]}, {"deque": [None, []]}, {"random": [3, [0] * 625, 0]}),
    *({"array": [0, [1], "C"]}, {"array": [1, [2, 2], "F"]}, {"part": {"state": {}}}, made("river_okl.kernels.RBF")),
    *({"class": f"river.optim.losses:{name}", "attributes": {}} for name in ("Log", "Hinge")),
    {"class": "river.optim.schedulers:Constant", "attributes": {"learning_rate": "x"}},
]
ODD_BYTES = [
    *(struct.pack("<d", v) for v in (0.0, math.nan, math.inf, -1.0, 1e300, 5e-324)),
    *(struct.pack("<q", v) for v in (0, 1, 7, 8, -1, 2**31, 2**62)),
    *(struct.pack("<ii", v, w) for v in (-1, 0, 1, 7, 8, 2**31 - 1) for w in (0, 1)),
]


def altered(rng, data):
    """The checkpoint with up to three values of any kind replaced, removed or repeated, and a valid checksum."""
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
            container[key] = entered(document, copy.deepcopy(rng.choice(odd)))
        elif action == "nudge" and type(container[key]) in (int, float):
            container[key] = type(container[key])(container[key] * rng.choice([-1, 0, 2]) + rng.choice([-1, 0, 1]))
        elif action == "delete":
            del container[key]
        elif action == "repeat" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
    return assembled(document, arrays)


@pytest.mark.parametrize("tens", range(40))
def test_altered_files_harm_no_memory(tens):
    """With a valid checksum, to reach the checks behind it; .ci/run repeats this under the sanitizers."""
    for seed in range(10 * tens, 10 * tens + 10):
        rng = random.Random(seed)
        try_to_use(altered(rng, rng.choice(good())))


def test_a_file_cannot_allocate_much_memory():
    """A Gram matrix of 10^10 numbers, a million outputs, arrays of 2^60: rejected before anything is allocated."""
    projectron = good()[1]
    for capacity in (2**17, 2**40):
        with little_memory(), pytest.raises(CheckpointError):
            checkpoint.loads(edited(projectron, "state", "_f", "part", "state", "points", "capacity", capacity))
    document, arrays = pieces(projectron)
    for size in (2**60, 2**64, 10**30):
        document["arrays"][0][1] = size
        with little_memory(), pytest.raises(CheckpointError):
            checkpoint.loads(assembled(document, arrays))


def test_posting_lists_may_have_any_order_but_no_point_twice():
    stream = streams.sparse(streams.REGRESSION, 120)
    model = learn(small(river_okl.OKLRegressor, budget=64), stream[:100])
    make, options, state = model._f.__reduce__()
    points, start, lists = state["points"], 0, 0
    for count, rank in zip(points["counts"], points["ranks"], strict=True):
        if rank < 0 and count > 1:
            for name in ("owners", "amounts"):
                points[name][start : start + count] = points[name][start : start + count][::-1].copy()
            start_of_list, lists = start, lists + 1
        start += count
    assert lists > 10
    model._f = make(*options)
    model._f.restore(state)
    model._f._check()
    model.learn_stream(stream[100:])
    model._f._check()
    points["owners"][start_of_list] = points["owners"][start_of_list + 1]
    with pytest.raises(ValueError, match="do not match"):
        make(*options).restore(state)


def test_sketches_with_the_smallest_integer_are_rejected():
    """Its absolute value overflows to itself, below any bound."""
    document, arrays = pieces(checkpoint.dumps(learned(river_okl.SkeGDClassifier, kind="dense")))
    at = place_of(document["entries"][root(document)["state"]["_sketch"]["ref"]], document)
    with pytest.raises(CheckpointError, match="a sketch of"):
        checkpoint.loads(assembled(document, arrays[:at] + struct.pack("<q", -(2**63)) + arrays[at + 8 :]))


# Reachable states -----------------------------------------------------------------------------------------------------


KERNELS = [kernels.Linear(gamma=None), kernels.Polynomial(3), kernels.RBF(1e-6)]
PROJECTING = ("BDUOLClassifier", "BPARegressor")
WITH_MATRICES = [
    *("OKLClassifier", "OKLRegressor", "SOGPClassifier", "SOGPRegressor", "ProjectronClassifier", "NystroemFeatures"),
    *PROJECTING,
]


@pytest.mark.parametrize("name", WITH_MATRICES)
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e-3, 1e3), (1e3, 1e-3)], ids=["same", "grown", "shrunk"])
def test_models_of_degenerate_streams_are_saved(name, scales):
    """Dependent points of very different size, which may change in the middle: checks accept every reachable state."""
    cls = getattr(river_okl, name)
    options = {"maintenance": "projection"} if name in PROJECTING else {}
    for kernel in KERNELS:
        for kind in ("dense", "duplicates"):
            model = small(cls, kernel=kernel, budget=16, **options)
            for t, (x, y) in enumerate(streams.KINDS[kind](task(cls), 220)):
                model.learn_one({feature: scales[t >= 110] * v for feature, v in x.items()}, *target(model, y))
                if t in (2, 10, 40, 109, 115, 200, 219):
                    data = checkpoint.dumps(model)
                    assert checkpoint.dumps(checkpoint.loads(data)) == data
