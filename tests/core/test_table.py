"""Declared arrays against NumPy: random growth, removal, forgetting, classes, permutations, states."""

from __future__ import annotations

import ctypes
import random
import sys

import numpy as np
import pytest

from river_okl._core.store.table import Axis, Classes, Loose
from tests.discovery import snapshot


class Model:
    """A table with every kind of array, and the same arrays in NumPy.

    The length of the axes is what their ``n`` says; what a cell beyond it holds does not matter to the model.
    """

    ARRAYS = {  # name: axes, dtype, value of a new cell
        "of_point": ("p", "f8", 0.0),
        "position": ("p", "i4", -1),
        "single": ("2p", "f4", 1.5),
        "coef": ("f3c", "f8", 0.0),
        "per_class": ("c", "f8", 2.0),
        "bias": ("3c", "i8", 7),
        "fixed": ("4", "f8", 0.5),
        "square": ("fp", "f8", 0.0),
    }

    def __init__(self, split=0.0):
        self.table = Loose()
        self.classes = Classes(1 if split else 2, split)
        self.axes = {"p": Axis("point"), "f": Axis("feature"), "c": self.classes}
        self.pointers, self.arrays = {}, {}
        for i, (name, (axes, dtype, default)) in enumerate(self.ARRAYS.items()):
            if split and (axes, dtype) != ("f3c", "f8"):
                axes = axes.replace("c", "2")
            self.pointers[name] = pointer = ctypes.c_void_p.from_address(self.table.address(i))
            given = tuple(self.axes[axis] if axis in self.axes else int(axis) for axis in axes)
            self.table.declare(ctypes.addressof(pointer), name, given, dtype=dtype, default=default, low=-1e6, high=1e6)
            shape = [axis.n if isinstance(axis, Axis) else axis for axis in given]
            self.arrays[name] = np.full(shape, default, dtype)
        self.table.scratch(self.table.address(len(self.ARRAYS)), (3, self.classes))

    def along(self, axis):
        """The arrays that have an axis, and where in them it is."""
        return [(array.name, axes.index(axis)) for array, axes in self.table.arrays() if axis in axes]

    def lengthen(self, axis, n):
        for name, k in self.along(axis):
            shape = list(self.arrays[name].shape)
            shape[k] = n - shape[k]
            default = np.full(shape, self.ARRAYS[name][2], self.arrays[name].dtype)
            self.arrays[name] = np.concatenate([self.arrays[name], default], axis=k)

    def extend(self, name, n):
        axis = self.axes[name]
        axis.n += n
        self.table.reserve()
        self.lengthen(axis, axis.n)

    def write(self, name, at, value):
        """Through the pointer, as the owner's loops do."""
        axes = {array.name: axes for array, axes in self.table.arrays()}[name]
        room = [axis.room if isinstance(axis, Axis) else axis for axis in axes]
        kind = np.ctypeslib.as_ctypes_type(np.dtype(self.ARRAYS[name][1]))
        ctypes.cast(self.pointers[name], ctypes.POINTER(kind))[int(np.ravel_multi_index(at, room))] = value
        self.arrays[name][at] = value

    def fill(self, rng):
        for name, own in self.arrays.items():
            for at in np.ndindex(own.shape):
                if rng.random() < 0.5:
                    self.write(name, at, rng.randrange(-99, 99))

    def check(self):
        self.table._check()
        state = self.table.state()
        assert state.keys() == self.arrays.keys()
        for name, own in self.arrays.items():
            assert state[name].dtype == own.dtype
            np.testing.assert_array_equal(state[name], own, err_msg=name)


def step(model, rng):
    action = rng.choice(["point", "feature", "class", "remove", "reset"])
    points, features = model.axes["p"], model.axes["f"]
    if action in ("point", "feature"):
        model.extend(action[0], rng.randint(1, 3))
    elif action == "class" and model.classes.n < 9:
        n = 3 if model.classes.split and model.classes.n == 1 else model.classes.n + 1
        model.table.grow(model.classes, n)
        split = model.classes.split and model.classes.n == 1
        model.table.append_class(model.classes)
        model.lengthen(model.classes, n)
        for name, k in model.along(model.classes) if split else ():
            own = np.moveaxis(model.arrays[name], k, 0)
            own[1] = model.classes.split * own[0]
            own[0] = -own[1]
    elif action == "remove" and points.n:
        i = rng.randrange(points.n)
        points.n -= 1
        model.table.swap_remove(points, i)
        for name, k in model.along(points):
            own = np.moveaxis(model.arrays[name], k, 0).copy()
            own[i] = own[-1]
            model.arrays[name] = np.moveaxis(own[:-1], 0, k)
    elif action == "reset" and features.n:
        i = rng.randrange(features.n)
        model.table.forget(features, [i])
        for name, k in model.along(features):
            np.moveaxis(model.arrays[name], k, 0)[i] = model.ARRAYS[name][2]


@pytest.mark.parametrize("split", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_random_actions(seed, split):
    rng = random.Random(seed)
    model = Model(split)
    model.check()
    for _ in range(40):
        step(model, rng)
        model.check()
        model.fill(rng)
        model.check()
    again = Model(split)
    for name in "pf":
        again.axes[name].n = model.axes[name].n
    while again.classes.n < model.classes.n:
        again.table.grow(again.classes, again.classes.n + 1 + (again.classes.n == 1))
        again.table.append_class(again.classes)
    again.table.restore(model.table.state())
    again.arrays = model.arrays
    again.check()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("fixed", value) for value in (np.zeros(3), np.zeros(4, dtype=np.float32), [0.0] * 4)),
        *(("fixed", np.array([0.0, 0.0, 0.0, value])) for value in (np.nan, 1e7)),
        *(("bias", np.full((3, 2), -(10**7))), ("of_point", np.zeros((2, 1))), ("coef", np.zeros((0, 3, 3)))),
    ],
    ids=str,
)
def test_a_state_that_does_not_match_changes_nothing(name, value):
    model = Model()
    model.extend("p", 2)
    model.fill(random.Random(1))
    other = {key: np.ones_like(values) for key, values in model.arrays.items()}
    with pytest.raises(ValueError, match=name):
        model.table.restore(other | {name: value})
    with pytest.raises(KeyError):
        model.table.restore({key: values for key, values in other.items() if key != name})
    model.check()


def test_growth_without_memory_changes_nothing():
    model = Model()
    model.extend("p", 2)
    model.fill(random.Random(1))
    size = sys.getsizeof(model.table)
    with pytest.raises(MemoryError):
        model.table.grow(model.axes["p"], 2**61)
    assert sys.getsizeof(model.table) == size
    model.check()


def test_an_axis_is_shared_with_the_parts():
    """What happens to a table happens to the tables in it, which have other arrays with the same axis."""
    features, table = Axis("feature"), Loose()
    table.declare(table.address(0), "outer", (features,), default=1.0)
    part = table.contain("part", Loose())
    inner = part.contain("inner", Loose())
    for i, each in enumerate((part, inner)):
        each.declare(each.address(0), "cells", (i + 1, features), default=2.0, of_feature=1)
    features.n = 3
    table.reserve()
    table.restore(
        {
            "outer": np.arange(3.0),
            "part": {"cells": np.arange(3.0)[None], "inner": {"cells": np.arange(6.0).reshape(2, 3)}},
        }
    )
    features.n = 2
    table.swap_remove(features, 0)
    table.forget(features, [1])
    table._check()
    state = table.state()
    assert state["outer"].tolist() == [2.0, 1.0]
    assert state["part"]["cells"].tolist() == [[2.0, 2.0]]
    assert state["part"]["inner"]["cells"].tolist() == [[2.0, 2.0], [5.0, 2.0]]


def test_buffers_are_counted():
    model = Model()
    before = sys.getsizeof(model.table)
    model.axes["p"].n = 1000
    model.table.reserve()
    cells = 1000 * (8 + 4 + 2 * 4)  # of_point, position, single; there are no features
    assert abs(sys.getsizeof(model.table) - before - cells) < 50  # a buffer has at least one cell


def test_a_pointer_belongs_to_its_object():
    table, other = Loose(), Loose()
    for address in (other.address(0), table.address(0) + 8 * 16):
        with pytest.raises(ValueError, match="no attribute of this object"):
            table.declare(address, "lost", (3,))


@pytest.mark.parametrize(
    ("message", "name", "axes", "options"),
    [
        ("consists of floats, not of i4", "single", (Classes(1, 0.5),), {"dtype": "i4"}),
        ("a unit, which only doubles can have, not f4", "single", (3,), {"dtype": "f4", "power": 1}),
        ("a unit, which only doubles can have, not f4", "single", (3,), {"dtype": "f4", "of_feature": -1}),
        ("seen is declared twice", "seen", (3,), {}),
        ("part is declared twice", "part", (3,), {}),
    ],
)
def test_declarations_that_are_rejected(message, name, axes, options):
    table = with_parts()
    with pytest.raises(ValueError, match=message):
        table.declare(table.address(4), name, axes, **options)
    if "twice" in message:
        with pytest.raises(ValueError, match=message):
            table.contain(name, Loose())
    table._check()


def with_parts():
    """A table with numbers, what is in units of a target, and a table of its own with a matrix."""
    table = Loose()
    table.declare(table.address(0), "seen", (), dtype="i8", default=3, low=0, high=9)
    table.declare(table.address(1), "error", (), default=2.0, low=0.5, high=10.0, power=1)
    table.declare(table.address(2), "squares", (2,), default=3.0, low=0.5, high=40.0, power=2)
    part = table.contain("part", Loose())
    part.declare(part.address(0), "matrix", (3, 3), default=1.0)
    return table


def test_numbers_and_parts_are_saved():
    table = with_parts()
    state = table.state()
    assert (state["seen"], type(state["seen"])) == (3, int) and (state["error"], type(state["error"])) == (2.0, float)
    assert state["part"]["matrix"].tolist() == [[1.0] * 3] * 3
    state |= {"seen": 5, "error": 0.5, "part": {"matrix": np.arange(9.0).reshape(3, 3)}}
    table.restore(state)
    table._check()
    assert snapshot(table.state()) == snapshot(state)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"seen": value} for value in (10, 5.0, True)),
        *({"error": value} for value in (0.0, 1, float("nan"))),
        *({"part": {"matrix": value}} for value in (np.ones(9), np.full((3, 3), np.inf))),
    ],
)
def test_wrong_numbers_and_parts_are_rejected(wrong):
    table = with_parts()
    with pytest.raises(ValueError):
        table.restore(table.state() | wrong)


def test_what_is_in_the_unit_of_a_target_follows_it_within_its_bounds():
    table = with_parts()
    for factor, error, square in ((3.0, 6.0, 27.0), (2.0, 10.0, 40.0), (1e-3, 0.5, 0.5)):
        table.change_unit(factor)
        state = table.state()
        assert (state["seen"], state["error"], state["squares"].tolist()) == (3, error, [square, square])


def test_what_is_discarded_has_no_unit_any_more():
    table = with_parts()
    table.discard(table.address(2))
    table.change_unit(3.0)
    table._check()
    assert table.state().keys() == {"seen", "error", "part"} and table.state()["error"] == 6.0


def test_a_table_becomes_another_one():
    one, other = with_parts(), with_parts()
    part = {"matrix": np.arange(9.0).reshape(3, 3)}
    other.restore(other.state() | {"seen": 7, "squares": np.array([1.0, 2.0]), "part": part})
    state = snapshot(other.state())
    one.copy(other)
    assert snapshot(one.state()) == snapshot(other.state()) == state
