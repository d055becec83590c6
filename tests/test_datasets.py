"""The readers of the papers' data sets."""

from __future__ import annotations

import bz2
import collections
import functools
import lzma
import math
import os
import tracemalloc
import warnings

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from river_okl import datasets
from river_okl.datasets import papers

# the tests' files are shorter than the originals
pytestmark = pytest.mark.filterwarnings("ignore:.*samples; the original has")
PACKERS = {".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty RIVER_DATA, and an upstream with only the tests' files."""
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(papers, "_UPSTREAM", (tmp_path / "upstream").as_uri())
    return tmp_path / "home"


@pytest.fixture
def write(home):
    def write(name, content, folder="LIBSVM"):
        """Bytes as they are, a text packed."""
        path = home / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pack = PACKERS.get(path.suffix, bytes)
        path.write_bytes(content if isinstance(content, bytes) else pack(content.encode()))
        return path

    return write


# The table


@pytest.mark.parametrize(
    ("name", "part", "n_samples", "n_features"),
    [
        # Liao et al. 2024, Table 1
        *(("phishing", "train", 11_055, 68), ("a9a", "both", 48_842, 123), ("w8a", "train", 49_749, 300)),
        *(("SUSY", "train", 5_000_000, 18), ("ijcnn1", "both", 141_691, 22), ("cod-rna", "test", 271_617, 8)),
        # Lu et al. 2016, Table 1
        *(("w7a", "both", 49_749, 300), ("cod-rna", "train", 59_535, 8)),
        *(("covtype.binary", "train", 581_012, 54), ("covtype.binary.scale", "train", 581_012, 54)),
        # He and Kwok 2014, Table 1
        *(("a9a", "train", 32_561, 123), ("ijcnn1", "train", 49_990, 22)),
        *(("vehicle", "train", 78_823, 100), ("vehicle_scale", "train", 78_823, 100)),
        # Le et al. 2016, Tables 1 to 3
        *(("gisette", "train", 6_000, 5_000), ("skin_nonskin", "train", 245_057, 3), ("ijcnn1", "tr", 35_000, 22)),
        *(("dna.scale", "tr", 1_400, 180), ("dna.scale", "train", 2_000, 180)),
        *(("abalone", "train", 3_759 + 418, 8), ("cadata", "train", 18_576 + 2_064, 8)),
        # Zhao and Hoi, the table of the testbed
        *(("german.numer", "train", 1_000, 24), ("mushrooms", "train", 8_124, 112)),
        *(("splice", "both", 3_175, 60), ("w7a", "train", 24_692, 300)),
    ],
)
def test_sizes_match_the_papers(name, part, n_samples, n_features):
    dataset = datasets.LIBSVM(name, part)
    assert (dataset.n_samples, dataset.n_features) == (n_samples, n_features)
    assert dataset.sparse


def test_every_part_of_every_set_can_be_named_and_shown(home):
    for name, known in datasets.SETS.items():
        parts = [*known.files, *(["both"] if "test" in known.files else [])]
        for part in parts:
            shown = repr(datasets.LIBSVM(name, part))
            for expected in (f"LIBSVM {name} ({part})", known.task, f"{known.n_features:,}"):
                assert expected in shown
            assert "Downloaded  False" in shown
        if {"tr", "val"} <= set(known.files):
            sizes = [known.files[part][1] for part in ("train", "tr", "val")]
            assert sizes[0] == sizes[1] + sizes[2]
    files = [file for known in datasets.SETS.values() for file, _ in known.files.values()]
    assert len(set(files)) == len(files)


def test_task_and_classes():
    kinds = {name: (known.task, datasets.LIBSVM(name).n_classes) for name, known in datasets.SETS.items()}
    assert kinds["phishing"] == ("Binary classification", 2)
    assert kinds["dna.scale"] == ("Multi-class classification", 3)
    assert kinds["cadata"] == ("Regression", None)


def test_errors_for_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"'a9b'.*a9a.*space_ga"):
        datasets.LIBSVM("a9b")
    with pytest.raises(ValueError, match=r"'test'.*train"):
        datasets.LIBSVM("phishing", "test")
    with pytest.raises(ValueError, match="'both'"):
        datasets.LIBSVM("phishing", "both")
    with pytest.raises(ValueError, match=r"'valid'.*train, test, tr, val, both"):
        datasets.LIBSVM("ijcnn1", "valid")


# Contents


@pytest.mark.parametrize(("name", "file"), [("a9a", "a9a"), ("ijcnn1", "ijcnn1.bz2"), ("SUSY", "SUSY.xz")])
def test_plain_and_compressed(write, name, file):
    path = write(file, f"{datasets.SETS[name].labels[0]} 3:1 11:0.5\n1 1:-2e-3\n")
    dataset = datasets.LIBSVM(name)
    assert dataset.is_downloaded and dataset.paths == [path]
    assert list(dataset) == [({3: 1.0, 11: 0.5}, False), ({1: -0.002}, True)]
    assert "Downloaded  True" in repr(dataset)


@pytest.mark.parametrize(
    ("name", "line", "x", "y"),
    [("a9a", "+1 3:1", {3: 1.0}, True), ("dna.scale", "3 2:1", {2: 1.0}, 3), ("cadata", "9 2:4", {2: 4.0}, 9.0)],
)
def test_types(write, name, line, x, y):
    write(name, line)
    [(found, label)] = datasets.LIBSVM(name)
    assert (found, label) == (x, y) and type(label) is type(y)
    assert [(type(i), type(v)) for i, v in found.items()] == [(int, float)]


@pytest.mark.parametrize(
    ("name", "low", "high"), [("a9a", "-1", "+1"), ("phishing", "0", "1"), ("mushrooms", "1", "2")]
)
def test_the_larger_label_is_true(write, name, low, high):
    write(name, f"{high} 1:1\n{low} 1:1\n{float(high)} 1:1\n")
    assert [y for _, y in datasets.LIBSVM(name)] == [True, False, True]


def test_parts(write):
    write("a9a", "+1 1:1\n+1 2:1\n")
    write("a9a.t", "-1 3:1\n")
    train, test, both = (list(datasets.LIBSVM("a9a", p)) for p in ("train", "test", "both"))
    assert [x for x, _ in both] == [{1: 1.0}, {2: 1.0}, {3: 1.0}]
    assert both == train + test
    assert test == [({3: 1.0}, False)]


def test_blank_lines_comments_and_spacing(write):
    write("a9a", "\n# a remark\n+1 3:1  11:1 \r\n   \n-1\t2:1 # 5:1 ä\n\n-1 \n+1 9:1 4:1")
    expected = [({3: 1.0, 11: 1.0}, True), ({2: 1.0}, False), ({}, False), ({9: 1.0, 4: 1.0}, True)]
    assert list(datasets.LIBSVM("a9a")) == expected


fuzz = functools.partial(  # every example writes its own file
    hypothesis.settings, deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.tuples(st.dictionaries(st.integers(1, 8), numbers), numbers), max_size=8)


@hypothesis.given(rows=rows)
@fuzz(max_examples=25)
def test_written_values_are_read(write, rows):
    lines = [" ".join([repr(y), *(f"{i}:{v!r}" for i, v in x.items())]) + os.linesep for x, y in rows]
    write("cadata", "".join(lines))
    assert repr(list(datasets.LIBSVM("cadata"))) == repr(rows)


# Errors


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("a9a", "+1 3:1 x:1", "'x:1' is not one of the features 1 to 123"),
        *(("a9a", f"+1 3:1 {bad}", f"'{bad}'") for bad in ("0:1", "124:1", "-4:1", "4", "4:", "4:1:2", "4:one")),
        ("a9a", "+1 3:1 4 :1", "'4'"),
        ("a9a", "+1 3:1\0 4:1", r"'3:1\\x00'"),
        ("a9a", "+1 3:1 3:1", "given twice"),
        ("a9a", "+1 3:1 4:1_0", "'_'"),
        ("a9a", "+1 3:1 4:nan", "feature 4 is nan"),
        ("a9a", "+1 3:1 4:1e999", "feature 4 is inf"),
        ("a9a", "+1 3:inf 4:-inf", "feature 3 is inf"),
        ("a9a", "3:1 4:1", "the label '3:1' is not a number"),
        ("a9a", "0 3:1", "the label '0' is not one of -1, 1"),
        ("dna.scale", "4 3:1", "the label '4' is not one of 1, 2, 3"),
        ("cadata", "nan 3:1", "the label 'nan' is not finite"),
        ("cadata", "price 3:1", "the label 'price' is not a number"),
        ("cadata", "1_000 3:1", "'_'"),
    ],
)
def test_damaged_lines(write, name, line, reason):
    good = {"dna.scale": "2", "cadata": "2.5"}.get(name, "1") + " 1:1"
    path = write(name, f"{good}\n\n{good}\n{line}\n{good}\n")
    samples = iter(datasets.LIBSVM(name))
    assert [x for x, _ in (next(samples), next(samples))] == [{1: 1.0}] * 2
    with pytest.raises(ValueError, match=reason) as error:
        next(samples)
    for expected in (f"{path}, line 4: ", f"in {line!r}"):
        assert expected in str(error.value)


def test_long_damaged_lines_are_shown_in_part(write):
    write("a9a", "+1 " + "x" * 10_000)
    with pytest.raises(ValueError) as error:
        list(datasets.LIBSVM("a9a"))
    assert "xxx..." in str(error.value) and len(str(error.value)) < 1_000


def test_a_wrong_number_of_samples_warns(write):
    path = write("german.numer", "1 1:1\n" * 999)
    with pytest.warns(UserWarning, match="999 samples; the original has 1,000") as caught:
        assert len(list(datasets.LIBSVM("german.numer"))) == 999
    assert str(path) in str(caught[0].message)
    write("german.numer", "1 1:1\n" * 1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(datasets.LIBSVM("german.numer"))) == 1_000


def test_files_are_streamed(write):
    path = write("cadata", "".join(f"{i} 1:{i / 7} 2:{i / 3}\n" for i in range(25_000)))
    assert path.stat().st_size > 1_000_000
    tracemalloc.start()
    try:
        n_samples = sum(1 for _ in datasets.LIBSVM("cadata"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n_samples == 25_000 and peak < 600_000


def test_only_missing_files_are_downloaded(write, tmp_path, capsys):
    upstream = tmp_path / "upstream" / "binary"
    upstream.mkdir(parents=True)
    (upstream / "ijcnn1.bz2").write_bytes(bz2.compress(b"1 1:1\n"))
    (upstream / "ijcnn1.t.bz2").write_bytes(bz2.compress(b"-1 2:1\n"))
    write("ijcnn1.bz2", "1 3:1\n")
    dataset = datasets.LIBSVM("ijcnn1", "both")
    assert not dataset.is_downloaded
    assert list(dataset) == [({3: 1.0}, True), ({2: 1.0}, False)]
    out = capsys.readouterr().out
    assert dataset.urls[1] in out and dataset.urls[0] not in out
    dataset.download()
    assert capsys.readouterr().out == ""
    dataset.download(force=True, verbose=False)
    assert list(dataset) == [({1: 1.0}, True), ({2: 1.0}, False)]


# Any bytes give samples or the documented error


def check_reader(dataset, path):
    try:
        for x, y in dataset:
            assert all(type(v) is float and math.isfinite(v) for v in x.values())
            if isinstance(dataset, datasets.LIBSVM):
                assert all(type(i) is int and 1 <= i <= dataset.n_features for i in x)
            else:
                assert tuple(x) == dataset.features
            assert type(y) is bool if dataset.task != "Regression" else type(y) is float and math.isfinite(y)
    except ValueError as error:
        assert f"{path}, line " in str(error)


@st.composite
def nearly_a_file(draw):
    """A valid file with up to two changes."""
    content = "1 1:1 2:0.5\n-1 3:-1e3 8:0\n\n+1 4:.25 # five\n-1\n1 7:1 6:2\n"
    pieces = [*"\n\r\t  #0123456789", *":-+.,_\0éeE", "nan", "inf", "1e400", "4:99", ":1"]
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.integers(0, 2))
        content = content[:start] + draw(st.sampled_from(pieces)) + content[end:]
    return content.encode()


@hypothesis.given(content=st.binary(max_size=400) | nearly_a_file())
@fuzz(max_examples=250)
@pytest.mark.parametrize("name", ["cod-rna", "cadata"])
def test_any_text(write, name, content):
    check_reader(datasets.LIBSVM(name), write(name, content))


cells = st.lists(st.sampled_from(["0", "1.5", "nan", "1e400", "", "1_0", "x"]), min_size=56)
csv_lines = cells.map(lambda found: ",".join(found + ["0"] * (58 - len(found))).encode())


@hypothesis.given(content=st.binary(max_size=400) | csv_lines)
@fuzz()
def test_any_csv(write, content):
    check_reader(datasets.Spambase(), write("spambase.data", content, "Spambase"))


# Spambase


def test_spambase(write):
    values = [i / 4 for i in range(57)]
    line = ",".join(map(str, values))
    write("spambase.data", f"{line},1\n\n{line},0\r\n", "Spambase")
    dataset = datasets.Spambase()
    (x, spam), (_, ham) = dataset
    assert (spam, ham) == (True, False) and list(x.values()) == values
    assert len(x) == len(set(dataset.features)) == dataset.n_features
    # Three of the positions that spambase.names gives
    assert x["word_freq_george"] == values[26]
    assert x["char_freq_!"] == values[51]
    assert x["capital_run_length_longest"] == values[55]
    assert "Spambase" in repr(dataset)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1," * 57 + "2", "label 2 is not one of 0, 1"),
        ("1," * 57 + "nan", "label nan is not one of 0, 1"),
        ("1," * 56 + "1", "57 fields instead of 57 features and a label"),
        ("1," * 58 + "1", "59 fields instead of 57 features and a label"),
        ("1," * 56 + "nan,1", "capital_run_length_total is nan"),
        ("1," * 56 + "1_0,1", "'_'"),
        ("1," * 56 + ",1", "not a number"),
        ("make," * 57 + "1", "not a number.*make"),
    ],
)
def test_spambase_damaged(write, line, reason):
    path = write("spambase.data", "0," * 57 + f"1\n{line}\n", "Spambase")
    with pytest.raises(ValueError, match=reason) as error:
        list(datasets.Spambase())
    assert f"{path}, line 2: " in str(error.value)


# The real files


def real(dataset):
    if not dataset.is_downloaded:
        pytest.skip(f"{dataset.path} is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return list(dataset)


LABELS = {
    ("phishing", "train"): {False: 4_898, True: 6_157},
    ("a9a", "train"): {False: 24_720, True: 7_841},
    ("a9a", "test"): {False: 12_435, True: 3_846},
    ("w8a", "train"): {False: 48_270, True: 1_479},
    ("cod-rna", "train"): {False: 39_690, True: 19_845},
    ("german.numer", "train"): {False: 700, True: 300},
    ("dna.scale", "train"): {1: 464, 2: 485, 3: 1_051},
    ("dna.scale", "test"): {1: 303, 2: 280, 3: 603},
}


def is_here(name):
    """Whether a file exists and is small enough for memory."""
    dataset = datasets.LIBSVM(name)
    return dataset.n_samples <= 100_000 and dataset.is_downloaded


@pytest.mark.parametrize(
    ("name", "part"), sorted({*LABELS, *((name, "train") for name in datasets.SETS if is_here(name))})
)
def test_real_files_against_another_reader(data_home, name, part):
    dataset = datasets.LIBSVM(name, part)
    samples = real(dataset)
    assert (name, part) not in LABELS or collections.Counter(y for _, y in samples) == LABELS[name, part]
    sklearn_datasets = pytest.importorskip("sklearn.datasets")
    features, targets = sklearn_datasets.load_svmlight_file(str(dataset.path))
    assert len(samples) == features.shape[0] == dataset.n_samples
    assert np.diff(features.indptr).tolist() == [len(x) for x, _ in samples]
    assert (features.indices + 1).tolist() == [j for x, _ in samples for j in x]
    assert features.data.tolist() == [v for x, _ in samples for v in x.values()]
    found = targets == targets.max() if type(samples[0][1]) is bool else targets
    assert found.tolist() == [y for _, y in samples]


def test_real_spambase(data_home):
    dataset = datasets.Spambase()
    samples = real(dataset)
    assert collections.Counter(y for _, y in samples) == {False: 2_788, True: 1_813}
    # The means that spambase.DOCUMENTATION prints for the first and the last attribute
    for feature, mean in (("word_freq_make", 0.10455), ("capital_run_length_total", 283.29)):
        assert math.fsum(x[feature] for x, _ in samples) / len(samples) == pytest.approx(mean, rel=1e-4)


# The Gaussian mixture


def test_gaussian_mixture_moments():
    """Each within 5 standard errors: a correct generator fails for 1 seed in 10^5."""
    n = 200_000
    points = {False: [], True: []}
    for x, y in datasets.GaussianMixture(seed=7).take(n):
        points[y].append((x[0], x[1]))

    def check(estimate, expected, standard_error):
        assert abs(estimate - expected) <= 5 * standard_error

    check(len(points[True]) / n, 0.6, math.sqrt(0.6 * 0.4 / n))
    for y, center, variance in ((False, (0, 0), 1), (True, (2, 0), 4)):
        m = len(points[y])
        residuals = [(p[0] - center[0], p[1] - center[1]) for p in points[y]]
        for k in (0, 1):
            check(math.fsum(r[k] for r in residuals) / m, 0, math.sqrt(variance / m))
            check(math.fsum(r[k] ** 2 for r in residuals) / m, variance, variance * math.sqrt(2 / m))
        check(math.fsum(r[0] * r[1] for r in residuals) / m, 0, variance / math.sqrt(m))
        # Of a Gaussian in the plane, 1 - exp(-1/2) lies within one standard deviation.
        inside, near = 1 - math.exp(-0.5), sum(r[0] ** 2 + r[1] ** 2 < variance for r in residuals)
        check(near / m, inside, math.sqrt(inside * (1 - inside) / m))


def test_gaussian_mixture_is_a_river_dataset():
    dataset = datasets.GaussianMixture(seed=1)
    assert (dataset.task, dataset.n_features, dataset.n_classes) == ("Binary classification", 2, 2)
    assert dataset.n_samples is None and "∞" in repr(dataset)
    first = list(dataset.take(100))
    assert first == list(dataset.take(100))
    assert first != list(datasets.GaussianMixture(seed=2).take(100))
    assert all(list(x) == [0, 1] and type(y) is bool for x, y in first)


def test_seeds_must_be_integers():
    for seed in ("a", 1.5, True, []):
        with pytest.raises(TypeError, match=r"seed is .*integer"):
            datasets.GaussianMixture(seed=seed)
