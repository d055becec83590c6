"""Everything with its defaults, beside River's models: ``python -m benchmarks.untuned``.

Test-then-train, at most 20,000 samples of each stream.  Seeds are 1.  `OKL` is `OKLClassifier` or `OKLRegressor`, and
gets raw samples.  River's models and `AhpatronClassifier` are behind a StandardScaler.  All regressors except `OKL` are
also in a TargetStandardScaler.  Linear models and bagging learn more than two classes one-vs-rest.

Some files omit zeros.  On phishing, german and dna the zeros are restored before a scaler.  The streams a9a and w8a are
wide and sparse, and are not scaled.  There only trees, forests and naive Bayes get the zeros, because they would learn
nothing without them.  NaiveBayes is BernoulliNB on these two streams and GaussianNB elsewhere.

Parameters are the defaults, with two exceptions, because these models diverge otherwise: LinearRegression clips
gradients at 1, and PA has C = 0.01 for regression.  Both values are the best of those tried on the eight regression
streams.

Tables 1b, 2b, 4c, 4d and 8b have the baselines that a sceptic would add:

* The best of River's models in the other tables, chosen on each stream by its result.
* `Mixture(River)` averages logistic regression (for targets: linear regression), naive Bayes (for labels only), the
  Hoeffding tree, AMF and both exact nearest neighbours, weighted by recent likelihood as in `OKL`.
* `KNN(exact)` searches the last 1,000 samples exhaustively.  So does `KNN(unscaled)`, without a StandardScaler.
* `LogisticRegression(Adam)` has the optimiser Adam(.01).
* `BOLE(10)` boosts the model of River's documentation: Hoeffding trees, each replaced when DDM detects a drift.
* `Last` predicts the last target (on ChickWeights that of the same chick).
* `Last + seasonal` predicts y[t-1] + y[t-s] - y[t-s-1] for a series with the season s (TrumpApproval: 7 days).

Classification is repeated on two more sets of similar streams: other seeds of the generators, other orders of the
files, and the middle and the end of elec2.

Results are stored in `results/untuned.jsonl` and `untuned-times.json`.  If the code of our models has changed, they are
measured again, together with the times of all models.  River's models take hours and do not change, so they are
measured again only if `--models` names them.  Runs longer than `--limit` seconds of CPU time are truncated, which the
tables state.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import math
import pathlib
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from river import dummy, ensemble, forest, linear_model, multiclass, naive_bayes, neighbors, preprocessing, tree

import river_okl
from benchmarks import baselines, runner
from benchmarks.streams import REPEATS, STREAMS, Sample, Stream, load

WARM = 2_000  # samples after which intervals are evaluated
Z90 = 1.6448536269514722
CLIPS = (1e-4, 1e-15)
TIMED = 1_000  # samples of a stream


# Models ---------------------------------------------------------------------------------------------


class Model(NamedTuple):
    make: Callable[..., Any]
    linear: bool = False  # one-vs-rest for many classes
    raw: bool = False  # scales by itself
    dense: bool = False  # needs the zeros that sparse samples omit
    of_indicators: Callable[[], Any] | None = None  # instead of `make` on sparse streams, whose features are 0 or 1
    unscaled: bool = False
    strings: bool = False  # takes strings as they are
    experts: tuple[str, ...] = ()  # the names of the models that a mixture gets


class AMFRegressor(forest.AMFRegressor):
    """River's predicts None before it has learned, which a TargetStandardScaler does not take."""

    def predict_one(self, x: Any) -> float:
        return super().predict_one(x) or 0.0


# In the order of measurement: cheap ones first, then those that are often the best.
CLASSIFIERS = {
    "OKL": Model(river_okl.OKLClassifier, raw=True),
    "NoChange": Model(dummy.NoChangeClassifier),
    "LogisticRegression": Model(linear_model.LogisticRegression, linear=True),
    "PA": Model(linear_model.PAClassifier, linear=True),
    "Ahpatron": Model(river_okl.AhpatronClassifier),
    "NaiveBayes": Model(naive_bayes.GaussianNB, dense=True, of_indicators=naive_bayes.BernoulliNB),
    "HoeffdingTree": Model(tree.HoeffdingTreeClassifier, dense=True),
    "ARF(10)": Model(lambda: forest.ARFClassifier(seed=1), dense=True),
    "KNN": Model(lambda: neighbors.KNNClassifier(engine=neighbors.SWINN(seed=1))),
    "AMF": Model(lambda: forest.AMFClassifier(seed=1), dense=True),
    "HoeffdingAdaptiveTree": Model(lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1), dense=True),
    "SRP(10)": Model(lambda: ensemble.SRPClassifier(seed=1), dense=True),
    "Bagging(LR)": Model(lambda: ensemble.BaggingClassifier(linear_model.LogisticRegression(), seed=1), linear=True),
}
REGRESSORS = {
    "OKL": Model(river_okl.OKLRegressor, raw=True),
    "LinearRegression": Model(lambda: linear_model.LinearRegression(clip_gradient=1.0)),
    "PA": Model(lambda: linear_model.PARegressor(C=0.01)),
    "BayesianLinearRegression": Model(linear_model.BayesianLinearRegression),
    "HoeffdingTree": Model(tree.HoeffdingTreeRegressor),
    "HoeffdingAdaptiveTree": Model(lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1)),
    "ARF(10)": Model(lambda: forest.ARFRegressor(seed=1)),
    "AMF": Model(lambda: AMFRegressor(seed=1)),
    "KNN": Model(lambda: neighbors.KNNRegressor(engine=neighbors.SWINN(seed=1))),
}

# What a sceptic would add.
OF_CLASSES = ("LogisticRegression", "NaiveBayes", "HoeffdingTree", "AMF", "KNN(exact)", "KNN(unscaled)")
OF_TARGETS = ("LinearRegression", "HoeffdingTree", "AMF", "KNN(exact)", "KNN(unscaled)")
MORE_CLASSIFIERS = {
    "LogisticRegression(Adam)": Model(baselines.adam, linear=True),
    "KNN(exact)": Model(lambda: neighbors.KNNClassifier(engine=baselines.exact())),
    "KNN(unscaled)": Model(lambda: neighbors.KNNClassifier(engine=baselines.exact()), unscaled=True),
    "HoeffdingTree(strings)": Model(tree.HoeffdingTreeClassifier, dense=True, strings=True),
    "BOLE(10)": Model(baselines.bole, dense=True),
    "Mixture(River)": Model(baselines.MixtureClassifier, dense=True, experts=OF_CLASSES),
}
MORE_REGRESSORS = {
    "Last": Model(baselines.Last, raw=True),
    "Last + seasonal": Model(baselines.Last, raw=True),
    "KNN(exact)": Model(lambda: neighbors.KNNRegressor(engine=baselines.exact())),
    "KNN(unscaled)": Model(lambda: neighbors.KNNRegressor(engine=baselines.exact()), unscaled=True),
    "HoeffdingTree(strings)": Model(baselines.tree_on_strings, strings=True),
    "Mixture(River)": Model(baselines.MixtureRegressor, experts=OF_TARGETS),
}
BEST = "best of River's"  # of the other tables, on each stream
SCEPTICAL = "Baselines that a sceptic would add"

OURS = ["OKL", "Ahpatron"]
LISTED = list(CLASSIFIERS | REGRESSORS)
ADDED = [m for m in MORE_CLASSIFIERS | MORE_REGRESSORS if m != "HoeffdingTree(strings)"]  # no stream has strings
ALL = [*LISTED, *ADDED]


def of_stream(name: str, what: Stream) -> dict[str, Model]:
    """All models for a stream of this name; those of the last values know its series and season."""
    if what.classes:
        return CLASSIFIERS | MORE_CLASSIFIERS
    out = REGRESSORS | MORE_REGRESSORS
    known = dict(baselines.SERIES.get(name, {}))
    if "season" in known:
        out["Last + seasonal"] = Model(functools.partial(baselines.Last, **known), raw=True)
        del known["season"]
    else:
        del out["Last + seasonal"]
    return out | {"Last": Model(functools.partial(baselines.Last, **known), raw=True)}


def models(name: str) -> dict[str, Model]:
    return {model: how for model, how in of_stream(name, STREAMS[name]).items() if model in ALL}


def wrapped(what: Stream, how: Model) -> Any:
    """The model for labels of this number, or for a target of unit scale."""
    out = how.of_indicators() if what.sparse and how.of_indicators else how.make()
    if how.linear and what.classes > 2:
        out = multiclass.OneVsRestClassifier(out)
    return out if what.classes or how.raw else preprocessing.TargetStandardScaler(out)


def build(what: Stream, how: Model) -> Any:
    """The model, wrapped for this stream."""
    if how.experts:
        return mixture(what, how, lambda expert: build(what, expert))
    out = wrapped(what, how)
    return out if how.raw or how.unscaled or what.sparse else preprocessing.StandardScaler() | out


def mixture(what: Stream, how: Model, built: Callable[[Model], Any]) -> Any:
    """A mixture of experts, each built as if it were alone."""
    those = CLASSIFIERS | MORE_CLASSIFIERS if what.classes else REGRESSORS | MORE_REGRESSORS
    return how.make({name: built(those[name]) for name in how.experts})


def without_zeros(what: Stream, how: Model) -> bool:
    """Whether the model gets the samples as they are in a file that omits zeros."""
    return not what.features or how.raw or (what.sparse and not how.dense)


# Accuracy -------------------------------------------------------------------------------------------


def classify(
    model: Any, samples: Sequence[Sample], classes: int, limit: float, seen: Callable[[bool], object] = bool
) -> runner.Row:
    """Accuracy, and log-loss of the model's probabilities, clipped at `CLIPS`; `seen` gets each hit or miss."""
    last = model[-1] if hasattr(model, "steps") else model
    derived = type(last).predict_one.__module__.startswith("river.base")  # the label of the greatest probability
    right = n = 0
    losses = dict.fromkeys(CLIPS, 0.0)
    start = time.thread_time()
    for x, y in samples:
        p = model.predict_proba_one(x)
        label = (max(p, key=p.get) if p else None) if derived else model.predict_one(x)
        true = p.get(y, 0.0) if p else 1.0 / classes
        for clip in CLIPS:
            losses[clip] -= math.log(min(max(true, clip), 1.0 - clip) if true == true else clip)
        right += label == y
        seen(label == y)
        model.learn_one(x, y)
        n += 1
        if time.thread_time() - start > limit:
            break
    return {
        "rows": n,
        "seconds": time.thread_time() - start,
        "accuracy": 100.0 * right / n,
        "loss": losses[CLIPS[0]] / n,
        "river_loss": losses[CLIPS[1]] / n,
    }


def regress(model: Any, samples: Sequence[Sample], classes: int, limit: float) -> runner.Row:
    """Mean absolute error, root mean squared error, and the coverage of the 90 % interval if the model has one."""
    knows = type(model).__module__.startswith("river_okl")
    error, square, n, inside = 0.0, 0.0, 0, 0
    start = time.thread_time()
    for x, y in samples:
        p = model.predict_one(x)
        if knows and n >= WARM:
            normal = model.predict_one(x, with_dist=True)
            inside += abs(y - normal.mu) <= Z90 * normal.sigma
        error += abs(y - (p or 0.0))
        square += (y - (p or 0.0)) ** 2
        model.learn_one(x, y)
        n += 1
        if time.thread_time() - start > limit:
            break
    coverage = 100.0 * inside / (n - WARM) if knows and n > WARM else None
    rmse = math.sqrt(square / n)
    return {"rows": n, "seconds": time.thread_time() - start, "mae": error / n, "rmse": rmse, "coverage": coverage}


MEASURE = runner.digest(inspect.getsource(classify), inspect.getsource(regress), CLIPS, WARM)


def measured(candidate: Any, samples: Sequence[Sample], classes: int, limit: float) -> runner.Row:
    """Classification or regression, and the bytes of the model at the end."""
    found = (classify if classes else regress)(candidate, samples, classes, limit)
    return found | {"bytes": candidate._raw_memory_usage}


def row_of(name: str, repeat: int) -> str:
    """The name of a stream in the stored results: "SEA", "SEA (2)", "SEA (3)"."""
    return f"{name} ({repeat + 1})" if repeat else name


def of_row(row: str) -> tuple[str, int]:
    name, _, repeat = row.removesuffix(")").partition(" (")
    return name, int(repeat or 1) - 1


def rows(
    streams: Mapping[str, Stream], models: Callable[[str], Iterable[str]], wanted: Iterable[str], repeats: int
) -> list[tuple[str, str]]:
    """The pairs of stream and model, the cheap models first; regression is not repeated."""
    asked = itertools.product(wanted, range(repeats), streams)
    return [(row_of(name, k), m) for m, k, name in asked if m in models(name) and (streams[name].classes or k == 0)]


def variant(row: str, model: str) -> tuple[str, bool, int]:
    """The arguments of `load` for this model."""
    name, repeat = of_row(row)
    return name, without_zeros(STREAMS[name], models(name)[model]), repeat


def samples(row: str, model: str) -> list[Sample]:
    return load(*variant(row, model))


@functools.cache
def samples_digest(name: str, raw: bool, repeat: int) -> str:
    return runner.digest(repr(load(name, raw, repeat)).encode())


def key(row: str, model: str) -> str:
    name, _ = of_row(row)
    candidate = build(STREAMS[name], models(name)[model])
    return runner.digest(samples_digest(*variant(row, model)), runner.content(candidate), MEASURE)


def run(row: str, model: str, limit: float) -> runner.Row:
    name, _ = of_row(row)
    return measured(build(STREAMS[name], models(name)[model]), samples(row, model), STREAMS[name].classes, limit)


# Time -----------------------------------------------------------------------------------------------


def times(
    path: pathlib.Path,
    streams: Iterable[str],
    wanted: Sequence[str],
    limit: float,
    models: Callable[[str], Iterable[str]],
    make: Callable[[str, str], Any],
    samples: Callable[[str, str], Sequence[Sample]],
) -> None:
    """Store µs of predict_one and learn_one from raw dicts, over the start of each stream.

    Other than the wanted models keep their times; on another machine all are timed.
    """
    measured: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    everything = measured.get("machine") != runner.machine()
    measured = {"commits": {}, "streams": {}} | ({} if everything else measured)
    measured |= {"rows": TIMED, "machine": runner.machine()}
    for name in streams:
        contenders = {model: make(name, model) for model in models(name) if everything or model in wanted}
        measured["commits"] |= dict.fromkeys(contenders, runner.commit())
        entry = measured["streams"].setdefault(name, {"us": {}})
        entry["features"] = statistics.fmean(len(x) for x, _ in samples(name, "OKL")[:TIMED])
        entry["us"] |= in_turns(contenders, {model: samples(name, model)[:TIMED] for model in contenders}, limit)
        print(name, entry, flush=True)
        path.write_text(json.dumps(measured, indent=1) + "\n")


def in_turns(contenders: Mapping[str, Any], samples: Mapping[str, Sequence[Sample]], limit: float) -> dict[str, float]:
    """µs per sample of all models, in turns of 100 samples; one that fails has no time.

    The median of the turns, as a shared machine stalls occasionally. A model stops after `limit` seconds.
    """
    turns: dict[str, list[tuple[float, int]]] = {model: [] for model in contenders}
    for start in range(0, TIMED, 100):
        for model, contender in contenders.items():
            block = samples[model][start : start + 100]
            if model not in turns or not block or sum(seconds for seconds, _ in turns[model]) > limit:
                continue
            before = time.thread_time()
            try:
                for x, y in block:
                    contender.predict_one(x)
                    contender.learn_one(x, y)
            except Exception as error:
                print(f"{model}: {error!r}", flush=True)
                del turns[model]
                continue
            turns[model].append((time.thread_time() - before, len(block)))
    return {model: 1e6 * statistics.median(s / n for s, n in each) for model, each in turns.items()}


# Tables ---------------------------------------------------------------------------------------------


def ranks(values: dict[str, float]) -> dict[str, float]:
    """1 for the smallest; ties share their mean rank."""
    return {
        model: statistics.fmean(i for i, other in enumerate(sorted(values.values()), start=1) if other == value)
        for model, value in values.items()
    }


def compare(
    found: runner.Results, streams: Sequence[str], those: Iterable[str], field: str, shown: Callable[[float], str]
) -> str:
    """One column per model: its numbers, the best in bold, then the mean rank and the number of wins."""
    sign = -1.0 if field == "accuracy" else 1.0
    those = [m for m in those if any((name, m) in found for name in streams)]
    lines, places, firsts, near = [], {m: [] for m in those}, dict.fromkeys(those, 0), dict.fromkeys(those, 0)
    for name in streams:
        rows = {m: found[name, m] for m in those if field in found.get((name, m), {})}
        values = {m: sign * row[field] for m, row in rows.items() if math.isfinite(row[field])}
        least = min(values.values(), default=math.nan)
        for m, place in ranks(values).items():
            places[m].append(place)
            firsts[m] += values[m] == least
            near[m] += values[m] <= least + 0.2 + 1e-9
        cells = []
        for m in those:
            text = shown(sign * values[m]) if m in values else "failed" if (name, m) in found else ""
            text = f"**{text}**" if m in values and values[m] == least else text
            cells.append(text + ("*" if m in values and rows[m]["rows"] < rows[m]["of"] else ""))
        lines.append([name, *cells])
    whole = [m for m in those if len(places[m]) == len(streams)]
    mean = {m: shown(statistics.fmean(found[name, m][field] for name in streams)) for m in whole}
    if field not in ("mae", "rmse"):
        lines.append(["mean", *(mean.get(m, "") for m in those)])
    lines.append(["mean rank", *(f"{statistics.fmean(places[m]):.1f}" for m in those)])
    lines.append([f"best of {len(streams)}", *(firsts[m] for m in those)])
    if field == "accuracy":
        lines.append(["within 0.2 of the best", *(near[m] for m in those)])
    return runner.table(["stream", *those], lines)


def short(found: runner.Results) -> str:
    """The pairs whose runs were truncated."""
    those = [f"{m} on {name} {row['rows']:,}" for (name, m), row in found.items() if row["rows"] < row["of"]]
    return f"\n\n\\* stopped by the time limit after this many rows: {'; '.join(those)}.\n\n" if those else "\n\n"


def section(
    found: runner.Results, streams: Sequence[str], those: Iterable[str], field: str, shown: Callable[[float], str]
) -> str:
    """The comparison, what was stopped, and the commits of the results."""
    shown_here = {(name, model): row for (name, model), row in found.items() if name in streams and model in those}
    return compare(found, streams, those, field, shown) + short(shown_here) + runner.measured_at(shown_here)


TABLES = [  # heading, whether it is classification, field, format
    ("1. Accuracy, %", True, "accuracy", "{:.1f}".format),
    ("2. Log-loss", True, "loss", "{:.3f}".format),
    ("3. Regression: mean absolute error", False, "mae", runner.cell),
    ("4. Regression: root mean squared error", False, "rmse", runner.cell),
]


def sections(
    report: runner.Report,
    found: runner.Results,
    streams: Mapping[str, Stream],
    columns: Callable[[bool], Sequence[str]],
    tables: Iterable[tuple[str, bool, str, Callable[[float], str]]],
) -> None:
    """A section for each heading, task (whether it is classification) and field."""
    for heading, classified, field, shown in tables:
        those = [name for name in streams if bool(streams[name].classes) == classified]
        if any(name in those for name, _ in found):
            report.write(heading, section(found, those, columns(classified), field, shown))


def beside(found: runner.Results, rivals: Iterable[str]) -> runner.Results:
    """With the best of the rivals on each stream, by each measure, as one more."""
    best: dict[str, runner.Row] = {}
    for (name, model), row in found.items():
        if model in rivals:
            most = best.setdefault(name, {"rows": 1, "of": 1})
            for field, better in (("accuracy", max), ("loss", min), ("mae", min), ("rmse", min)):
                if math.isfinite(row.get(field, math.nan)):
                    most[field] = better(row[field], most.get(field, row[field]))
    return found | {(name, BEST): row for name, row in best.items()}


def sceptical(
    report: runner.Report,
    found: runner.Results,
    streams: Mapping[str, Stream],
    listed: Sequence[str],
    added: Sequence[str],
    numbers: Sequence[str],
) -> None:
    """The tables of `TABLES` and of leads for the baselines that a sceptic would add, as far as they were measured."""
    added = [m for m in added if any(model == m for _, model in found)]
    found, columns = beside(found, [m for m in listed if m not in OURS]), ["OKL", BEST, *added]
    for (heading, classified, *how), number in zip(TABLES, numbers, strict=False):
        if any((name, m) in found for name in streams for m in added if bool(streams[name].classes) == classified):
            title = f"{number}. {SCEPTICAL}: {heading.partition('. ')[2].lower().replace(':', ',')}"
            sections(report, found, streams, lambda classified: columns, [(title, classified, *how)])
    those = [name for name in streams if streams[name].classes]
    if any(all((name, m) in found and (name, "OKL") in found for name in those) for m in added if those):
        report.write(f"{numbers[-1]}. {SCEPTICAL}: the lead of OKL, points of accuracy", leads(found, those, columns))


def summary(found: runner.Results, streams: Sequence[str], timed: dict[str, Any] | None) -> str:
    """Means of accuracy and log-loss, and medians of time and memory, of the models that have a cell on all streams."""
    rows = []
    for m in [*CLASSIFIERS, *ADDED]:
        those = [found[name, m] for name in streams if "bytes" in found.get((name, m), {})]
        if len(those) < len(streams):
            continue
        us = [timed["streams"][name]["us"].get(m) for name in streams] if timed else [None]
        rows.append(
            [
                m,
                f"{statistics.fmean(row['accuracy'] for row in those):.1f}",
                f"{statistics.fmean(row['loss'] for row in those):.3f}",
                None if None in us else statistics.median(us),
                statistics.median(row["bytes"] for row in those) / 1e3,
            ]
        )
    head = ["model", "mean accuracy, %", "mean log-loss", "median µs/sample", "median memory, kB"]
    return runner.table(head, sorted(rows, key=lambda row: -float(row[1])))


def leads(found: runner.Results, streams: Sequence[str], those: Iterable[str]) -> str:
    """By how many points of accuracy OKL is ahead of each of River's models, and of the best of them on each stream."""
    whole = [m for m in those if all("accuracy" in found.get((name, m), {}) for name in streams)]
    accuracy = {m: [found[name, m]["accuracy"] for name in streams] for m in whole}
    own, others = accuracy["OKL"], {m: values for m, values in accuracy.items() if m not in OURS}
    others["the best of these on each stream"] = [max(values) for values in zip(*others.values(), strict=True)]
    rows = []
    for model, values in others.items():
        ahead = [a - b for a, b in zip(own, values, strict=True)]
        error = statistics.stdev(ahead) / math.sqrt(len(ahead))
        figures = (statistics.median(ahead), statistics.fmean(ahead), error, min(ahead), max(ahead))
        rows.append([model, *(f"{value:.1f}" for value in figures), sum(value > 0.0 for value in ahead)])
    head = [
        "against",
        "median",
        "mean",
        "standard error of the mean",
        "smallest",
        "largest",
        f"ahead on, of {len(own)}",
    ]
    return runner.table(head, rows)


def spread(found: runner.Results, streams: Sequence[str], those: Iterable[str]) -> str:
    """Mean accuracy and log-loss of each of the three sets of streams, of the models that were run on all."""
    rows, sets = [], [[row_of(name, k) for name in streams] for k in range(REPEATS)]
    for model in those:
        if any((name, model) not in found for names in sets for name in names):
            continue
        row = [model]
        for field, digits in (("accuracy", 1), ("loss", 3)):
            means = [statistics.fmean(found[name, model][field] for name in names) for names in sets]
            row += [f"{value:.{digits}f}" for value in (*means, statistics.fmean(means), statistics.stdev(means))]
        rows.append(row)
    columns = ["1st set", "2nd", "3rd", "mean", "standard deviation"]
    return runner.table(["model", *(f"{field}, {c}" for field in ("accuracy", "log-loss") for c in columns)], rows)


def write(found: runner.Results, timed: dict[str, Any] | None, report: runner.Report) -> None:
    here = {name: stream for name, stream in STREAMS.items() if any(s == name for s, _ in found)}
    classified = [name for name in here if here[name].classes]
    tables = [
        ("1. Accuracy, %", True, "accuracy", "{:.1f}".format),
        ("2. Log-loss", True, "loss", "{:.3f}".format),
        ("3. Log-loss, clipped at 1e-15 as River does", True, "river_loss", "{:.3f}".format),
        ("4. Regression: mean absolute error", False, "mae", runner.cell),
        ("4b. Regression: root mean squared error", False, "rmse", runner.cell),
    ]
    sections(report, found, here, lambda classified: list(CLASSIFIERS if classified else REGRESSORS), tables)
    sceptical(report, found, here, LISTED, ADDED, ["1b", "2b", "4c", "4d", "8b"])
    if covered := [(name, f"{row['coverage']:.1f}") for (name, _), row in found.items() if row.get("coverage")]:
        heading = f"5. 90 % intervals of OKL, after {WARM:,} samples"
        report.write(heading, runner.table(["stream", "inside, %"], covered))
    sizes = [
        [m, *(found[name, m]["bytes"] / 1e3 if "bytes" in found.get((name, m), {}) else None for name in classified)]
        for m in [*CLASSIFIERS, *ADDED]
        if any((name, m) in found for name in classified)
    ]
    report.write("6. Memory at the end of the stream, kB by River's meter", runner.table(["model", *classified], sizes))
    if classified and all((name, "OKL") in found for name in classified):
        report.write(f"0. Summary of {len(classified)} classification streams", summary(found, classified, timed))
        report.write("8. The lead of OKL, points of accuracy", leads(found, classified, CLASSIFIERS))
        report.write("9. Three sets of streams", spread(found, classified, [*CLASSIFIERS, *ADDED]))
    if timed:
        at = ", ".join(sorted(set(timed["commits"].values())))
        text = f"The first {timed['rows']:,} rows, at {at}, {timed['machine']}\n\n"
        report.write("7. Time of predict_one and learn_one, µs", text + of_time(timed["streams"]))


def of_time(streams: dict[str, Any]) -> str:
    """The µs/sample of all models, and the ratios of forests and trees to OKL."""
    others = ("ARF(10)", "HoeffdingTree")
    tables = []
    for those in (LISTED, ["OKL", *ADDED]):
        rows = [[name, entry["features"], *(entry["us"].get(m) for m in those)] for name, entry in streams.items()]
        if those is LISTED or any(m in entry["us"] for entry in streams.values() for m in ADDED):
            tables.append(runner.table(["stream", "d", *those], rows))
    text, ratios = "\n\n".join(tables), []
    for name, us in ((name, entry["us"]) for name, entry in streams.items()):
        if "OKL" in us:
            ratios.append([name, us["OKL"], *(us[m] / us["OKL"] if m in us else None for m in others)])
    if not ratios:
        return text
    head = ["stream", "OKL, µs", "ARF(10) takes, times", "HoeffdingTree takes, times"]
    return f"{text}\n\n{runner.table(head, ratios)}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("untuned", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    parser.add_argument("--models", nargs="+", choices=ALL, metavar="NAME", help=f"{', '.join(ALL)}; default: ours")
    about = "seconds of a pair of stream and model at most (20 where times are taken)"
    parser.add_argument("--limit", type=float, default=360.0, help=about)
    about = "streams of each kind, for classification; the tables need all of them of `OKL`"
    parser.add_argument("--repeats", type=int, choices=[1, REPEATS], default=REPEATS, help=about)
    runner.choice(parser, "--only", ["cells", "times", "tables", "pictures"])
    options = parser.parse_args(argv)
    store, path = runner.Store(options.output / "untuned.jsonl"), options.output / "untuned-times.json"
    chosen = {name: STREAMS[name] for name in options.streams}
    if "cells" in options.only:
        pairs = rows(chosen, models, options.models or OURS, options.repeats)
        store.fill(pairs, options.limit, key, samples, run)
    if "times" in options.only:
        wanted, limit = options.models or ALL, min(20.0, options.limit)

        def make(name: str, model: str) -> Any:
            return build(STREAMS[name], models(name)[model])

        times(path, options.streams, wanted, limit, models, make, samples)
    if not {"tables", "pictures"} & set(options.only):
        return
    timed = json.loads(path.read_text()) if path.is_file() else None
    found = store.complete(rows(chosen, models, ALL, REPEATS), options.models or OURS, key)
    if "tables" in options.only:
        write(found, timed, runner.Report.of(__doc__, options.output / "untuned.md"))
    if "pictures" in options.only:
        from benchmarks import figures  # needs matplotlib

        listed = {pair: row for pair, row in found.items() if pair[1] in LISTED}
        figures.draw(listed, timed, load("elec2", True))


if __name__ == "__main__":
    main()
