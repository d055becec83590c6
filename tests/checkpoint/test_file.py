"""Checkpoint files: written completely or not at all, and named in errors."""

from __future__ import annotations

import json
import math
import os
import pickle
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_okl
from river_okl import checkpoint
from river_okl.checkpoint import VERSION, CheckpointError
from river_okl.checkpoint.file import EARLIEST, HEADER, MAGIC
from tests.checkpoint.files import assembled, edited, good, learned, made, pieces, rbp


@pytest.fixture
def path(tmp_path):
    """The path of an old checkpoint."""
    river_okl.save(rbp(), tmp_path / "model.okl")
    return tmp_path / "model.okl"


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_keeps_the_old_file(broken, path, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="full"):
        river_okl.save(learned(river_okl.RBPClassifier), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.okl"]


def test_the_file_is_written_before_it_is_renamed(tmp_path, monkeypatch):
    calls, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    river_okl.save(rbp(), tmp_path / "model.okl")
    assert calls == ["fsync", "replace", "fsync"] if os.name == "posix" else ["fsync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link(tmp_path):
    link = tmp_path / "latest.okl"
    link.symlink_to(tmp_path / "model.okl")
    river_okl.save(rbp(), link)
    assert link.is_symlink()
    assert (tmp_path / "model.okl").is_file()


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_a_file_keeps_its_mode_and_a_new_one_has_the_default(path):
    other = path.with_name("other")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode
    for mode in (0o600, 0o640, 0o444):
        path.chmod(mode)
        river_okl.save(learned(river_okl.RBPClassifier), path)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(path):
    os.chown(path, 12345, 54321)
    river_okl.save(learned(river_okl.RBPClassifier), path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_a_private_file_is_never_public(path, monkeypatch):
    """Not even while it is written."""
    path.chmod(0o600)
    modes, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (modes.append(stat.S_IMODE(os.fstat(fd).st_mode)), fsync(fd)))
    river_okl.save(learned(river_okl.RBPClassifier), path)
    assert modes[0] == 0o600


@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
def test_paths_of_any_kind(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = kind(Path("ü.okl"))
    with pytest.raises(FileNotFoundError):
        river_okl.load(path)
    river_okl.save(rbp(), path)
    assert isinstance(river_okl.load(path), river_okl.RBPClassifier)
    assert os.listdir(tmp_path) == ["ü.okl"]
    Path("ü.okl").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"ü\.okl: truncated"):
        river_okl.load(path)


def test_bytes_like_objects_only():
    data = checkpoint.dumps(rbp())
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
        river_okl.save(rbp(), path)
    assert caught.value.filename == path
    assert str(caught.value).endswith(repr(path))
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.skipif(os.name != "posix", reason="needs a pipe")
def test_a_pipe_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular file"):
        river_okl.save(rbp(), tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


PAIR = made("river_okl.kernels.Sum", made("river_okl.kernels.Linear"), made("river_okl.kernels.RBF"))
ENDLESS = made("river_okl.kernels.Product", *[PAIR] * 30)


def saved_as(data, version):
    return assembled(*pieces(data), version)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("a pickle", lambda data: pickle.dumps({}), "not a checkpoint"),
        ("text", lambda data: b"\x89OKL\n\x1a\n" + data[8:], "not a checkpoint"),
        ("the head alone", lambda data: data[: HEADER.size - 1], "truncated"),
        ("no body", lambda data: data[: HEADER.size], "truncated"),
        ("one byte short", lambda data: data[:-1], "truncated"),
        ("one byte long", lambda data: data + b"\0", "damaged"),
        ("a changed byte", lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], "checksum"),
        ("a changed head", lambda data: data[:29] + bytes([data[29] ^ 1]) + data[30:], "checksum"),
        ("too new", lambda data: saved_as(data, VERSION + 1), f"format {VERSION + 1}.*format {VERSION}: upgrade"),
        ("too old", lambda data: saved_as(data, EARLIEST - 1), f"format {EARLIEST - 1}.*{VERSION}: load it with"),
        ("too old", lambda data: saved_as(data, 0), f"format 0.*reads formats {EARLIEST} to {VERSION}"),
        ("an unknown class", lambda data: edited(data, "class", "river_okl.DeepClassifier"), "DeepClassifier"),
        ("a class of another kind", lambda data: edited(data, "class", "river_okl.datasets"), "neither"),
        ("another class", lambda data: edited(data, "class", "river_okl.OLRDRegressor"), "damaged or written by hand"),
        ("no budget", lambda data: edited(data, "parameters", "budget", 0), "budget"),
        ("a function", lambda data: edited(data, "parameters", "loss", made("os.system", "ls")), "os.system"),
        ("our function", lambda data: edited(data, "parameters", "loss", made("river_okl.load", 1)), "river_okl.load"),
        ("not a loss", lambda data: edited(data, "parameters", "loss", made("river_okl.kernels.RBF")), "loss"),
        ("a kernel without end", lambda data: edited(data, "parameters", "kernel", ENDLESS), "16 terms"),
        ("an unknown parameter", lambda data: edited(data, "parameters", "depth", 3), "depth"),
        ("not a document", lambda data: assembled([1, 2], b""), "document"),
        ("NaN in JSON", lambda data: edited(data, "parameters", "c", math.nan), "NaN"),
        ("no model", lambda data: edited(data, PAIR), "neither a model"),
        ("deep", lambda data: edited(data, "parameters", "c", json.loads("[" * 500 + "]" * 500)), "written by hand"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(name, change, message, path):
    path.write_bytes(change(good()[0]))
    with pytest.raises(CheckpointError, match=message) as caught:
        river_okl.load(path)
    assert str(path) in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_loading_arbitrary_bytes_is_safe(data):
    original = good()[data.draw(st.sampled_from(range(len(good()))))]
    kind = data.draw(st.sampled_from(["flip", "cut", "random", "head"]))
    if kind == "flip":
        broken = bytearray(original)
        for at in data.draw(st.lists(st.integers(0, len(original) - 1), min_size=1, max_size=5, unique=True)):
            broken[at] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        broken = original[: data.draw(st.integers(0, len(original) - 1))]
    else:
        broken = (MAGIC if kind == "head" else b"") + data.draw(st.binary(max_size=200))
    with pytest.raises(CheckpointError):
        checkpoint.loads(bytes(broken))
