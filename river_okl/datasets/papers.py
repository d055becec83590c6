"""The data sets of the papers as River data sets.

* `LIBSVM(name)` - the sets of the LIBSVM data page that the papers use, listed in `SETS`.
* `Spambase` - the UCI set of the BDUOL paper.
* `GaussianMixture` - the generated set of the SPA paper.

Files are stored like river's: in `$RIVER_DATA/<ClassName>/`, by default `~/river_data/<ClassName>/`, under their names
upstream. A missing file is downloaded on first use.
"""

from __future__ import annotations

import abc
import bz2
import lzma
import math
import os
import pathlib
import typing
import warnings
from collections.abc import Callable, Iterator

from river.datasets import base

from river_okl._core.store.sample import shown
from river_okl.checks import check_seed

__all__ = ["LIBSVM", "SETS", "GaussianMixture", "LIBSVMSet", "Spambase"]

_UPSTREAM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"

_OPENERS: dict[str, Callable[..., typing.TextIO]] = {".bz2": bz2.open, ".xz": lzma.open}


class _TextDataset(base.RemoteDataset):
    """One or more remote text files, read one after the other, one sample per line.

    River's own class reads one file, and considers it downloaded only if its size is exact to the byte.
    """

    def __init__(self, urls: list[str], **desc: typing.Any) -> None:
        super().__init__(url=urls[0], size=None, unpack=False, **desc)  # type: ignore[no-untyped-call]
        self.urls = urls

    @abc.abstractmethod
    def _parse(self, line: str) -> tuple[dict[typing.Any, float], bool | int | float]:
        """Turn a line into a sample, or raise a ValueError with the reason."""

    @property
    def paths(self) -> list[pathlib.Path]:
        """The path of each file, existing or not."""
        folder = pathlib.Path(base.get_data_home(), type(self).__name__)  # type: ignore[no-untyped-call]
        return [folder / os.path.basename(url) for url in self.urls]

    @property
    def is_downloaded(self) -> bool:
        """Whether all files exist."""
        return all(path.is_file() for path in self.paths)

    def download(self, force: bool = False, verbose: bool = True) -> None:
        """Download the missing files, or all of them with ``force``."""
        for url, path in zip(self.urls, self.paths, strict=True):
            if force or not path.is_file():
                self.url, self.filename = url, path.name
                super().download(force=True, verbose=verbose)  # type: ignore[no-untyped-call]

    def _iter(self) -> Iterator[tuple[dict[typing.Any, float], bool | int | float]]:
        n_samples = 0
        for path in self.paths:
            # Latin-1 decodes any byte; the parser rejects anything but numbers, and names the line.
            with _OPENERS.get(path.suffix, open)(path, "rt", encoding="latin-1", newline="\n") as file:
                for number, line in enumerate(file, start=1):
                    line = line.partition("#")[0]
                    if not line.strip():
                        continue
                    try:
                        sample = self._parse(line)
                    except ValueError as error:
                        raise ValueError(f"{path}, line {number}: {error}, in {shown(line.strip())}") from None
                    n_samples += 1
                    yield sample
        if n_samples != self.n_samples:
            warnings.warn(
                f"{', '.join(map(str, self.paths))}: {n_samples:,} samples; the original has {self.n_samples:,}; "
                f"after an interrupted download, download(force=True)",
                stacklevel=3,
            )

    @property
    def _repr_content(self) -> dict[str, str]:
        # Skip RemoteDataset's, which needs to know the size.
        content: dict[str, str] = super(base.RemoteDataset, self)._repr_content
        content["Path"] = ", ".join(map(str, self.paths))
        content["URL"] = ", ".join(self.urls)
        content["Downloaded"] = str(self.is_downloaded)
        return content


class LIBSVMSet(typing.NamedTuple):
    """Metadata of one set of the LIBSVM data page.

    ``task`` is River's name of the task. Features are numbered from 1. ``labels`` are in ascending order, and empty for
    regression. ``folder`` is on the LIBSVM data page. ``files`` has the file and number of samples of each part.
    """

    task: str
    n_features: int
    labels: tuple[int, ...]
    folder: str
    files: dict[str, tuple[str, int]]


def _binary(n_features: int, labels: tuple[int, int], **files: tuple[str, int]) -> LIBSVMSet:
    return LIBSVMSet(base.BINARY_CLF, n_features, labels, "binary", files)


def _multiclass(n_features: int, n_classes: int, **files: tuple[str, int]) -> LIBSVMSet:
    labels = tuple(range(1, n_classes + 1))
    return LIBSVMSet(base.MULTI_CLF, n_features, labels, "multiclass", files)


def _regression(n_features: int, **files: tuple[str, int]) -> LIBSVMSet:
    return LIBSVMSet(base.REG, n_features, (), "regression", files)


# The page splits "train" into "tr" and "val"; "remaining" is its own name. The comment above each set names the papers
# that use it: A = Ahpatron (Liao et al.), S = SPA (Lu et al.), O = OLRU/OLRD (He & Kwok), N = NBSGD (Le et al.),
# D = BDUOL (Zhao & Hoi).
SETS: dict[str, LIBSVMSet] = {
    # A, S and O ("48,842" is both parts), N
    "a9a": _binary(123, (-1, 1), train=("a9a", 32_561), test=("a9a.t", 16_281)),
    # S (unscaled, train); A (its 271,617 rows are the test part)
    "cod-rna": _binary(
        8, (-1, 1), train=("cod-rna", 59_535), test=("cod-rna.t", 271_617), remaining=("cod-rna.r", 157_413)
    ),
    # S, O
    "covtype.binary": _binary(54, (1, 2), train=("covtype.libsvm.binary.bz2", 581_012)),
    "covtype.binary.scale": _binary(54, (1, 2), train=("covtype.libsvm.binary.scale.bz2", 581_012)),
    # D
    "german.numer": _binary(24, (-1, 1), train=("german.numer", 1_000)),
    "german.numer_scale": _binary(24, (-1, 1), train=("german.numer_scale", 1_000)),
    # N
    "gisette": _binary(5_000, (-1, 1), train=("gisette_scale.bz2", 6_000), test=("gisette_scale.t.bz2", 1_000)),
    # A (both parts), O (train), N (its 35,000 rows are "tr")
    "ijcnn1": _binary(
        22,
        (-1, 1),
        train=("ijcnn1.bz2", 49_990),
        test=("ijcnn1.t.bz2", 91_701),
        tr=("ijcnn1.tr.bz2", 35_000),
        val=("ijcnn1.val.bz2", 14_990),
    ),
    # D
    "mushrooms": _binary(112, (1, 2), train=("mushrooms", 8_124)),
    # A
    "phishing": _binary(68, (0, 1), train=("phishing", 11_055)),
    # N
    "skin_nonskin": _binary(3, (1, 2), train=("skin_nonskin", 245_057)),
    # D (its 3,175 rows are both parts)
    "splice": _binary(60, (-1, 1), train=("splice", 1_000), test=("splice.t", 2_175)),
    # A (50,000 rows drawn at random)
    "SUSY": _binary(18, (0, 1), train=("SUSY.xz", 5_000_000)),
    # S ("49,749" is both parts), D (train)
    "w7a": _binary(300, (-1, 1), train=("w7a", 24_692), test=("w7a.t", 25_057)),
    # A (train)
    "w8a": _binary(300, (-1, 1), train=("w8a", 49_749), test=("w8a.t", 14_951)),
    # N (2,000 rows are "train", 1,400 rows are "tr")
    "dna.scale": _multiclass(
        180,
        3,
        train=("dna.scale", 2_000),
        test=("dna.scale.t", 1_186),
        tr=("dna.scale.tr", 1_400),
        val=("dna.scale.val", 600),
    ),
    # O, N: SensIT Vehicle (combined)
    "vehicle": _multiclass(100, 3, train=("vehicle/combined.bz2", 78_823), test=("vehicle/combined.t.bz2", 19_705)),
    "vehicle_scale": _multiclass(
        100, 3, train=("vehicle/combined_scale.bz2", 78_823), test=("vehicle/combined_scale.t.bz2", 19_705)
    ),
    # N; the numbers that its Table 2 gives for "Space GA" are those of abalone
    "abalone": _regression(8, train=("abalone", 4_177)),
    "abalone_scale": _regression(8, train=("abalone_scale", 4_177)),
    "cadata": _regression(8, train=("cadata", 20_640)),
    "space_ga": _regression(6, train=("space_ga", 3_107)),
    "space_ga_scale": _regression(6, train=("space_ga_scale", 3_107)),
}


class LIBSVM(_TextDataset):
    """A data set of the LIBSVM data page.

    Samples are sparse: features absent from a line are absent from the dict. Features are numbered from 1, as
    in the files. Labels are `bool` for binary classification (the larger of the two labels in the file is
    `True`), `int` for multi-class and `float` for regression.

    Parameters
    ----------
    name
        One of the names in `river_okl.datasets.SETS`.
    part
        `"train"`, `"test"`, or `"both"`, which reads one after the other. Some sets have further parts:
        `"tr"` and `"val"`, a split of the training part, or `"remaining"`.

    Notes
    -----
    The files are looked for in `$RIVER_DATA/LIBSVM/`. Comments (`# ...`) and blank lines are skipped. Any other line
    must have a label of the set, followed by features of the set with finite values; the error for an invalid line
    names the line. A file with more or fewer samples than upstream's is read, with a warning at its end.

    Examples
    --------

    >>> from river_okl import datasets

    >>> dataset = datasets.LIBSVM("a9a", part="both")
    >>> dataset.task, dataset.n_samples, dataset.n_features
    ('Binary classification', 48842, 123)
    >>> dataset.urls[1]
    'https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/a9a.t'

    >>> [name for name, known in datasets.SETS.items() if known.task == "Regression"]
    ['abalone', 'abalone_scale', 'cadata', 'space_ga', 'space_ga_scale']

    References
    ----------
    [^1]: [LIBSVM Data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/)
    [^2]: Chang, C.-C. and Lin, C.-J., 2011. LIBSVM: A library for support vector machines. ACM Transactions on
          Intelligent Systems and Technology, 2(3), 27:1-27:27.

    """

    def __init__(self, name: str, part: str = "train") -> None:
        if name not in SETS:
            raise ValueError(f"no data set is called {name!r}; there are {', '.join(SETS)}")
        known = SETS[name]
        parts = {p: [p] for p in known.files}
        if "test" in known.files:
            parts["both"] = ["train", "test"]
        if part not in parts:
            raise ValueError(f"{name} has no part {part!r}; its parts are {', '.join(parts)}")
        files = [known.files[p] for p in parts[part]]

        super().__init__(
            urls=[f"{_UPSTREAM}/{known.folder}/{file}" for file, _ in files],
            task=known.task,
            n_samples=sum(rows for _, rows in files),
            n_features=known.n_features,
            n_classes=len(known.labels) or None,
            sparse=True,
        )
        self.name = name
        self.part = part
        # A lookup is faster than int() and rejects numbers that are not features of the set.
        self._features = {str(i): i for i in range(1, known.n_features + 1)}
        self._labels: dict[float, bool | int] = {float(label): label for label in known.labels}
        if known.task == base.BINARY_CLF:
            smaller, larger = known.labels
            self._labels = {smaller: False, larger: True}

    def _parse(self, line: str) -> tuple[dict[int, float], bool | int | float]:
        label, x = parse_libsvm(line, self._features)
        return x, self._label(label)

    def _label(self, text: str) -> bool | int | float:
        try:
            y = float(text)
        except ValueError:
            raise ValueError(f"the label {shown(text)} is not a number") from None
        if self._labels:
            if y not in self._labels:
                known = ", ".join(f"{label:g}" for label in self._labels)
                raise ValueError(f"the label {shown(text)} is not one of {known}")
            return self._labels[y]
        if not math.isfinite(y):
            raise ValueError(f"the label {shown(text)} is not finite")
        return y

    @property
    def _repr_content(self) -> dict[str, str]:
        content = super()._repr_content
        content["Name"] = f"{self.__class__.__name__} {self.name} ({self.part})"
        return content


def parse_libsvm(line: str, features: dict[str, int]) -> tuple[str, dict[int, float]]:
    """Return the label of a libsvm line, unparsed, and its features."""
    # Pair by pair, a9a takes 0.1 s to read; splitting in bulk is no faster with the same checks.
    label, *pairs = line.split()
    x = {}
    for pair in pairs:
        try:
            feature, value = pair.split(":")
            x[features[feature]] = float(value)
        except (KeyError, ValueError):
            known = f"one of the features 1 to {len(features)}"
            raise ValueError(f"{shown(pair)} is not {known}, a colon and a number") from None
    if len(x) != len(pairs):
        raise ValueError("a feature is given twice")
    _check_finite(line, x)
    return label, x


def _check_finite(line: str, x: dict[typing.Any, float]) -> None:
    """Reject values that float() accepts but a data file must not have: NaN, infinities, 1_000."""
    if "_" in line:
        raise ValueError("'_' is not part of a number")
    # The sum is not finite if a value is not. It may also overflow, so each value is checked then.
    if not math.isfinite(sum(x.values())):
        for feature, value in x.items():
            if not math.isfinite(value):
                raise ValueError(f"the value of feature {feature} is {value}")


class Spambase(_TextDataset):
    """Spambase: is an e-mail spam?

    Frequencies (in %) of 48 words and 6 characters in 4,601 e-mails, and three statistics of their runs of
    capital letters, in the order and with the names of the UCI repository. The first 1,813 e-mails are spam.

    Notes
    -----
    The file `spambase.data` is looked for in `$RIVER_DATA/Spambase/`.

    Examples
    --------

    >>> from river_okl import datasets

    >>> dataset = datasets.Spambase()
    >>> dataset.task, dataset.n_samples, dataset.n_features
    ('Binary classification', 4601, 57)
    >>> dataset.features[0], dataset.features[-1]
    ('word_freq_make', 'capital_run_length_total')

    References
    ----------
    [^1]: Hopkins, M., Reeber, E., Forman, G. and Suermondt, J., 1999. Spambase. UCI Machine Learning Repository.
          https://doi.org/10.24432/C53G6X

    """

    _WORDS = (
        "make address all 3d our over remove internet order mail receive will people report addresses free business "
        "email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts "
        "pm direct cs meeting original project re edu table conference"
    )

    features = (
        *(f"word_freq_{word}" for word in _WORDS.split()),
        *(f"char_freq_{character}" for character in ";([!$#"),
        *(f"capital_run_length_{statistic}" for statistic in ("average", "longest", "total")),
    )

    def __init__(self) -> None:
        super().__init__(
            urls=["https://archive.ics.uci.edu/ml/machine-learning-databases/spambase/spambase.data"],
            task=base.BINARY_CLF,
            n_samples=4_601,
            n_features=len(self.features),
            n_classes=2,
        )

    def _parse(self, line: str) -> tuple[dict[str, float], bool]:
        try:
            *values, label = map(float, line.split(","))
        except ValueError as error:
            raise ValueError(f"a field is not a number: {shown(str(error))}") from None
        if len(values) != self.n_features:
            raise ValueError(f"{len(values) + 1} fields instead of {self.n_features} features and a label")
        if label not in (0, 1):
            raise ValueError(f"the label {label:g} is not one of 0, 1")
        x = dict(zip(self.features, values, strict=True))
        _check_finite(line, x)
        return x, label == 1


class GaussianMixture(base.SyntheticDataset):
    """The "Gaussian" data set of the SPA paper: points of two overlapping Gaussians.

    40 % of the points come from N((0, 0), I) and are `False`, 60 % come from N((2, 0), 4I) and are `True`.
    The second Gaussian is twice as wide as the first and surrounds it. The paper draws a million points.

    Parameters
    ----------
    seed
        Random seed for reproducibility.

    Notes
    -----
    The paper does not say which of the two is the positive class.

    Examples
    --------

    >>> from river_okl import datasets

    >>> dataset = datasets.GaussianMixture(seed=42)
    >>> for x, y in dataset.take(3):
    ...     print({i: round(x_i, 3) for i, x_i in x.items()}, y)
    {0: -0.035, 1: 0.222} False
    {0: 0.548, 1: -2.926} True
    {0: -0.376, 1: 0.201} False

    References
    ----------
    [^1]: Lu, J., Zhao, P. and Hoi, S. C. H., 2016. Online sparse passive aggressive learning with kernels. SIAM
          International Conference on Data Mining, 675-683. Section 4.1.

    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(task=base.BINARY_CLF, n_features=2, n_classes=2)  # type: ignore[no-untyped-call]
        check_seed(seed)
        self.seed = seed

    def __iter__(self) -> Iterator[tuple[dict[int, float], bool]]:
        rng = check_seed(self.seed)
        while True:
            y = rng.random() < 0.6
            # The Box-Muller method gives both coordinates at once. It needs only random(), the one method of Python's
            # generators that is guaranteed to give the same numbers in every version. 1 - random() is never 0.
            radius = math.sqrt(-2 * math.log(1 - rng.random()))
            angle = 2 * math.pi * rng.random()
            center, deviation = (2.0, 2.0) if y else (0.0, 1.0)
            yield {0: center + deviation * radius * math.cos(angle), 1: deviation * radius * math.sin(angle)}, y
