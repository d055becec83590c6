"""README.md's claim, tables and picture from results/, and the output of its first command: python -m benchmarks.readme

``--race`` measures results/race.json anew, the benchmark that ``python -m river_okl`` prints, and ``--classes`` writes
results/classes.md, every class with its defaults.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import pathlib
import re
import statistics
from collections.abc import Iterable
from typing import Any

from river import base, datasets, linear_model, preprocessing

import river_okl
from benchmarks import long, runner, unseen, unseen_first, unseen_second, unseen_third, untuned
from benchmarks.streams import STREAMS
from river_okl.cli import models, report
from river_okl.cli import race as racing

README = pathlib.Path(__file__).parent.parent / "README.md"
RACE = runner.RESULTS / "race.json"
UNTUNED = runner.RESULTS / "untuned.md"
UNSEEN = runner.RESULTS / f"{unseen_second.FILE}.md"
TIMES = runner.RESULTS / f"{unseen_second.FILE}-times.json"
MIXED = "Mixture(River)"
GENERATED = re.compile(r"<!-- (claim|table|third|kinds|lightgbm|race) -->.*?<!-- /\1 -->", re.S)
SHOWN = {  # the families of results/unseen2.md in README.md
    "OKL": "**`OKLClassifier`, `OKLRegressor`**",
    "AMF": "`forest.AMF…`",
    "ARF(10)": "`forest.ARF…`",
    "LogisticRegression, LinearRegression": "`LogisticRegression`, `LinearRegression`",
    "BayesianLinearRegression": "`BayesianLinearRegression`",
}

# The kinds of streams; those that drift are generated, and no list of tables has one.
STATIC, IN_TIME, DRIFTING = "static", "in time order", "drifting"
DRIFTS = {
    "untuned": ("Hyperplane", "RandomRBFDrift", "FriedmanDrift"),
    "long": ("Agrawal, four concepts", "SEA, four concepts", "RBF, slow drift", "LED, drift"),
}
LABELS = {  # of the picture
    "OKL": "OKLClassifier",
    "AMF": "AMFClassifier",
    "ARF(10)": "ARFClassifier",
    "KNN": "KNNClassifier",
    "HoeffdingTree": "HoeffdingTreeClassifier",
    "LogisticRegression, LinearRegression": "LogisticRegression",
    MIXED: "mixture of River's",
}
INKS = {"claim": "#1f2328", "claim-dark": "#e6edf3"}  # of GitHub's text, light and dark

# Streams, the kind of our classes for them, and River's models to compare with.
RACES: dict[tuple[str, ...], tuple[type, str]] = {
    ("Bananas", "Phishing", "elec2"): (
        base.Classifier,
        "linear_model.LogisticRegression linear_model.PAClassifier tree.HoeffdingTreeClassifier "
        "neighbors.KNNClassifier dummy.NoChangeClassifier",
    ),
    ("TrumpApproval", "cadata"): (
        base.Regressor,
        "tree.HoeffdingTreeRegressor neighbors.KNNRegressor",
    ),
}


def race(names: Iterable[str] = ()) -> dict[str, Any]:
    """The race of ``python -m river_okl``: the results of these models, or of the usual ones, and what it prints."""
    data = datasets.Bananas()
    results = racing.race(models.find_models(names, data.task), data, models.find_metrics([], data.task))
    return {
        "printed": f"Bananas: {data.task.lower()}, {results[0].samples:,} samples\n{report.table(results)}\n",
        "models": [
            {
                "model": result.name,
                "accuracy": result.metrics[0].get(),
                "support_vectors": result.support_vectors,
                "memory_bytes": result.memory,
                **({"code": runner.code(cls)} if (cls := getattr(river_okl, result.name, None)) else {}),
            }
            for result in results
        ],
    }


def changed() -> list[dict[str, Any]]:
    """The entries of results/race.json whose class's code has changed."""
    raced = json.loads(RACE.read_text(encoding="utf-8"))["models"]
    return [
        model for model in raced if "code" in model and model["code"] != runner.code(getattr(river_okl, model["model"]))
    ]


def section(number: int, path: pathlib.Path = UNTUNED) -> dict[str, dict[str, float]]:
    """The first table of a section of results/untuned.md, or another: the numbers of each row by column."""
    return {
        name: {
            column: float(cell.replace(",", "").partition(" ")[0]) for column, cell in row.items() if cell[:1].isdigit()
        }
        for name, row in cells(number, path).items()
    }


def cells(number: int, path: pathlib.Path) -> dict[str, dict[str, str]]:
    """The same with the text of each cell."""
    text = path.read_text(encoding="utf-8").partition(f"\n## {number}. ")[2]
    lines = text[text.index("| ") :].partition("\n\n")[0].splitlines()
    (_, *columns), _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines)
    return {name: dict(zip(columns, row, strict=True)) for name, *row in rows}


def claim() -> str:
    """The claim at the top of README.md, on the first set of streams: the mixture takes too long for three."""
    labels, targets = of_tasks(unseen_second)
    single = max(accuracy(model) for model in LABELS if model not in ("OKL", MIXED))
    cost = section(0, UNSEEN)
    time, memory = (cost[MIXED][column] / cost["OKL"][column] for column in ("µs/sample", "memory, kB"))
    return (
        f"With default parameters, on {len(unseen_second.STREAMS)} public tables, listed before any model ran on them, "
        f"`OKLClassifier` scores {accuracy('OKL'):.1f} % (log-loss {mean_of('OKL', 'loss'):.2f}). A mixture of River's "
        f"models scores {accuracy(MIXED):.1f} % ({mean_of(MIXED, 'loss'):.2f}), with {time:.0f} times the time and "
        f"{memory:.0f} times the memory, and River's best single model {single:.1f} %. `OKLClassifier` is the most "
        f"accurate on {labels[0]} of {sum(labels)} and tied on {labels[1]}; `OKLRegressor` has the smallest error on "
        f"{targets[0]} of {sum(targets)}."
    )


def mean_of(family: str, field: str) -> float:
    """The mean of a result of a family's classifier on the first set of the second list."""
    found, streams = stored(unseen_second.FILE), unseen_second.STREAMS
    labels = [name for name in streams if streams[name].classes]
    model = next(each for each in unseen.FAMILIES[family] if (labels[0], each) in found)
    return statistics.fmean(found[name, model][field] for name in labels)


def accuracy(family: str) -> float:
    return mean_of(family, "accuracy")


def table() -> str:
    """README.md's table as Markdown, and how it was measured."""
    found, times = cells(0, UNSEEN), json.loads(TIMES.read_text(encoding="utf-8"))
    columns = list(found["OKL"])
    rows = []
    for model, shown in SHOWN.items():
        row = [found[model][column].replace(" ± ", "±") for column in columns]
        rows.append([shown, *(f"**{cell}**" if model == "OKL" else cell for cell in row)])
    commit = stored(unseen_second.FILE)[next(iter(unseen_second.STREAMS)), "OKL"]["commit"]
    where = f"`OKL…`: this release ({commit}). Times: of the first 1,000 samples, with encoders; {times['machine']}"
    return f"{runner.table(['model', *columns], rows)}\n\n{where}\n"


def third() -> str:
    """The counts of README.md's second table on the third list."""
    labels, targets = of_tasks(unseen_third)
    return f"{'/'.join(map(str, labels))} and {targets[0]}/{targets[2]}"


def of_tasks(which: Any) -> list[list[int]]:
    """The places of OKL on a list of tables: where labels are predicted, and where targets are."""
    found, streams = stored(which.FILE), which.STREAMS
    tasks = [name for name in streams if streams[name].classes], [name for name in streams if not streams[name].classes]
    return [places(found, best_others(found, those)) for those in tasks]


@functools.cache
def stored(name: str) -> runner.Results:
    """The results of a benchmark on its first set of streams, except those of models that failed."""
    rows = runner.Store(runner.RESULTS / f"{name}.jsonl").rows
    return {at: row for at, row in rows.items() if untuned.of_row(at[0])[1] == 0 and {"accuracy", "mae"} & {*row}}


def kind_of(stream: str) -> str:
    """The kind of a stream of `benchmarks.untuned` or `benchmarks.unseen`."""
    streams = untuned.STREAMS | unseen.STREAMS
    return DRIFTING if stream in DRIFTS["untuned"] else IN_TIME if streams[stream].in_time else STATIC


def error(row: runner.Row) -> float:
    """Wrong labels in percent, or the mean absolute error."""
    return float(100.0 - row["accuracy"] if "accuracy" in row else row["mae"])


def best_others(found: runner.Results, streams: Iterable[str]) -> dict[str, tuple[float, float]]:
    """For each stream the error of OKL, and that of the best other model on the same samples."""
    pairs: dict[str, list[tuple[float, float]]] = {stream: [] for stream in streams}
    for (stream, model), row in found.items():
        if stream in pairs and model not in untuned.OURS:
            own = found[stream, "OKL"]
            same = own if row["of"] >= own["of"] else long.beginning({(stream, "OKL"): own})[stream, "OKL"]
            pairs[stream].append((error(same), error(row)))
    return {stream: min(each, key=lambda pair: pair[1] - pair[0]) for stream, each in pairs.items()}


def is_tie(own: float, other: float, row: runner.Row) -> bool:
    """Whether shares of errors, in percent, differ by at most one binomial standard error."""
    return "accuracy" in row and abs(own - other) <= math.sqrt(own * (100.0 - own) / row["rows"])


def places(found: runner.Results, pairs: dict[str, tuple[float, float]]) -> list[int]:
    """On how many streams OKL is ahead of the best other model, tied with it, and behind."""
    counts = [0, 0, 0]
    for stream, (own, other) in pairs.items():
        counts[1 if is_tie(own, other, found[stream, "OKL"]) else 0 if own < other else 2] += 1
    return counts


def lead(found: runner.Results, streams: Iterable[str]) -> list[str]:
    """The places of OKL and its lead over the best other model where streams are classified; its places and the median
    ratio of errors where targets are predicted."""
    pairs = best_others(found, streams)
    labels = {stream: pair for stream, pair in pairs.items() if "accuracy" in found[stream, "OKL"]}
    targets = {stream: pair for stream, pair in pairs.items() if stream not in labels}
    points = [other - own for own, other in labels.values()]
    spread = statistics.stdev(points) / math.sqrt(len(points))
    ahead, _, behind = places(found, targets)
    return [
        "/".join(map(str, places(found, labels))),
        f"{statistics.fmean(points):+z.1f}±{spread:.1f}, {statistics.median(points):+z.1f}",
        f"{ahead}/{behind}",
        f"{statistics.median(own / other for own, other in targets.values()):.2f}",
    ]


def kinds() -> str:
    """README.md's second table: OKL against the best other model of each stream."""
    tables = stored(unseen_first.FILE) | stored(unseen_second.FILE)
    listed = [*unseen_first.STREAMS, *unseen_second.STREAMS]
    drifting = stored("untuned") | {at: row for at, row in stored("long").items() if at[0] in DRIFTS["long"]}
    rows = [
        ["static", *lead(tables, [name for name in listed if kind_of(name) == STATIC])],
        ["in time order", *lead(tables, [name for name in listed if kind_of(name) == IN_TIME])],
        ["drifting", *lead(drifting, itertools.chain(*DRIFTS.values()))],
    ]
    head = ["streams", "labels: ahead/tied/behind", "lead in points", "targets: ahead/behind", "error ratio"]
    return runner.table(head, rows) + "\n"


def lightgbm() -> str:
    """On how many streams of each kind the best variant of LightGBM, trained again and again, is ahead."""
    found = stored("batch")
    best: dict[str, float] = {}
    for (stream, model), row in found.items():
        if model.startswith("LightGBM") and not stream.endswith(", shuffled"):
            best[stream] = min(error(row), best.get(stream, math.inf))
    ahead: dict[str, list[bool]] = {kind: [] for kind in (STATIC, IN_TIME, DRIFTING)}
    for stream, theirs in best.items():
        ahead[kind_of(stream)].append(theirs < error(found[stream, "OKL"]))
    each = [f"{sum(those)} of {len(those)} {kind}" for kind, those in ahead.items()]
    return (
        f"Trained again every 1,000 samples, the best of its variants is ahead on {', '.join(each[:-1])} and "
        f"{each[-1]} streams."
    )


def draw() -> None:
    """docs/claim.svg and docs/claim-dark.svg: accuracy on the second list against time."""
    import matplotlib
    from matplotlib.figure import Figure

    from benchmarks import figures
    from river_okl import plot

    cost = section(0, UNSEEN)
    points = {label: (cost[family]["µs/sample"], accuracy(family)) for family, label in LABELS.items()}
    for name, ink in INKS.items():
        colors = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
        with matplotlib.rc_context({**colors, "svg.hashsalt": name, "svg.fonttype": "path"}):
            figure = Figure(figsize=(7, 3.4), layout="constrained")
            ax = figure.add_subplot()
            for label, (us, height) in points.items():
                color = plot.COLORS[1] if label == LABELS["OKL"] else plot.COLORS[5]
                ax.plot([us], [height], "o", color=color)
            ax.set(xscale="log", xlabel="µs per sample, predict and learn", ylabel="mean accuracy, %")
            ax.set_xlim(0.6 * min(us for us, _ in points.values()), 3.0 * max(us for us, _ in points.values()))
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.margins(y=0.12)
            ax.grid(alpha=0.25)
            ax.spines[["top", "right"]].set_visible(False)
            figures.labelled(ax, points)
            for text in ax.texts:
                text.set_fontweight("bold" if text.get_text() == LABELS["OKL"] else "normal")
            target = figures.DOCS / f"{name}.svg"
            figure.savefig(target, transparent=True, metadata={"Date": None, "Creator": None})
            lines = target.read_text(encoding="utf-8").splitlines()
            target.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def output() -> str:
    """What the first command of README.md prints, as it is in results/race.json."""
    return f"```\n{json.loads(RACE.read_text(encoding='utf-8'))['printed']}```\n"


def clipped(kind: type) -> dict[str, Any]:
    """What the command cannot name: with default parameters linear regression diverges on cadata."""
    if kind is base.Classifier:
        return {}
    model = preprocessing.TargetStandardScaler(linear_model.LinearRegression(clip_gradient=1.0))
    return {"linear_model.LinearRegression(clip_gradient=1.0)": model}


def of_100(model: Any) -> Any:
    """A model with a budget of 100, if it has one."""
    inner = getattr(model, "regressor", model)
    if "budget" not in inner._get_params():
        return model
    small = inner.clone({"budget": 100})
    return small if inner is model else type(model)(small)


def classes() -> None:
    """Every class with its defaults, beside a few of River's: results/classes.md."""
    intro = (
        f"`python -m benchmarks.readme --classes`, at {runner.commit()}, {runner.machine()} Every class with a "
        "budget has a budget of 100; seeds 1, 20,000 samples at most; features are scaled for all models alike. "
        "Accuracy, or mean absolute error, of predict-then-learn; support vectors at the end; µs of `predict_one` and "
        "`learn_one`, in processor time of a machine that had other work, too: compare them with each other."
    )
    page = runner.Report(runner.RESULTS / "classes.md", "Every class with its defaults", intro)
    for streams, (kind, peers) in RACES.items():
        names = [*(name for name, _ in runner.ours(kind)), *peers.split()]
        rows: dict[str, list[Any]] = {name: [f"`{name}`"] for name in [*names, *clipped(kind)]}
        for stream in streams:
            task = "Binary classification" if STREAMS[stream].classes else "Regression"
            contestants = {name: of_100(model) for name, model in models.find_models(names, task).items()}
            contestants |= clipped(kind)
            samples = itertools.islice(STREAMS[stream].samples(), 20_000)
            for result in racing.race(contestants, samples, models.find_metrics([], task)):
                score = result.metrics[0].get()
                shown = f"{score:.1%}" if kind is base.Classifier else score
                rows[result.name] += [shown, result.support_vectors, f"{result.microseconds:.1f}"]
        head = ["class", *(cell for stream in streams for cell in (stream, "SVs", "µs"))]
        page.write("Classification" if kind is base.Classifier else "Regression", runner.table(head, rows.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write README.md's claim, tables, picture and output from results/.")
    parser.add_argument("--race", action="store_true", help="write results/race.json instead")
    parser.add_argument("--stale", action="store_true", help="only name what changed since results/race.json")
    parser.add_argument("--classes", action="store_true", help="write results/classes.md instead")
    options = parser.parse_args()
    if options.classes:
        raise SystemExit(classes())
    if options.stale:
        names = ", ".join(model["model"] for model in changed())
        at = json.loads(RACE.read_text(encoding="utf-8"))["commit"]
        print(f"Times were measured at {at}; since then the code changed of: {names or 'no class'}")
        raise SystemExit
    if options.race:
        RACE.write_text(json.dumps({"commit": runner.commit()} | race(), indent=1) + "\n", encoding="utf-8")
        raise SystemExit
    made = {"claim": claim(), "lightgbm": lightgbm(), "third": third()}
    made |= {"table": f"\n\n{table()}\n", "kinds": f"\n\n{kinds()}\n", "race": f"\n\n{output()}\n"}
    text = README.read_text(encoding="utf-8")
    text = GENERATED.sub(lambda match: f"<!-- {match[1]} -->{made[match[1]]}<!-- /{match[1]} -->", text)
    README.write_text(text, encoding="utf-8")
    draw()
