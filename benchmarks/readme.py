"""README.md's claim, tables and picture from results/, and the output of its first command: python -m benchmarks.readme

``--race`` measures results/race.json anew, the benchmark that ``python -m river_okl`` prints, and ``--classes`` writes
results/classes.md, every class with its defaults.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import pathlib
import re
import statistics
from collections.abc import Iterable
from typing import Any

from river import base, datasets

import river_okl
from benchmarks import long, runner, unseen, unseen_first, unseen_second, untuned
from benchmarks.streams import STREAMS
from river_okl.cli import models, report
from river_okl.cli import race as racing

README = pathlib.Path(__file__).parent.parent / "README.md"
RACE = runner.RESULTS / "race.json"
UNTUNED = runner.RESULTS / "untuned.md"
UNSEEN = runner.RESULTS / f"{unseen_second.FILE}.md"
TIMES = runner.RESULTS / f"{unseen_second.FILE}-times.json"
MIXED = "Mixture(River)"
GENERATED = re.compile(r"<!-- (claim|table|kinds|lightgbm|race) -->.*?<!-- /\1 -->", re.S)
SHOWN = {  # the families of results/unseen2.md in README.md
    "OKL": "**`OKLClassifier`, `OKLRegressor`**",
    "AMF": "`forest.AMF…`",
    "ARF(10)": "`forest.ARF…`",
    "KNN": "`neighbors.KNN…`",
    "HoeffdingTree": "`tree.HoeffdingTree…`",
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
        "linear_model.LinearRegression tree.HoeffdingTreeRegressor neighbors.KNNRegressor",
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
    """The claim at the top of README.md; means are over three sets of streams, of the models that ran on all."""
    found, streams = stored(unseen_second.FILE), unseen_second.STREAMS
    labels = places(found, best_others(found, [name for name in streams if streams[name].classes]))
    targets = places(found, best_others(found, [name for name in streams if not streams[name].classes]))
    shown = {name: row["accuracy, %"].partition(" ± ") for name, row in cells(0, UNSEEN).items()}
    means = {name: float(mean) for name, (mean, spread, _) in shown.items() if spread}
    best = max(mean for name, mean in means.items() if name != "OKL")
    return (
        f"With default parameters, on {len(streams)} public tables, listed before any model ran on them, "
        f"`OKLClassifier` is the most accurate on {labels[0]} of {sum(labels)} and tied on {labels[1]} (mean "
        f"{means['OKL']:.1f} %, River's best model {best:.1f} %). `OKLRegressor` has the smallest error on "
        f"{targets[0]} of {sum(targets)}."
    )


def table() -> str:
    """README.md's table as Markdown, and how it was measured."""
    found, times = cells(0, UNSEEN), json.loads(TIMES.read_text(encoding="utf-8"))
    columns = list(found["OKL"])
    rows = []
    for model, shown in SHOWN.items():
        row = [found[model][column] for column in columns]
        rows.append([shown, *(f"**{cell}**" if model == "OKL" else cell for cell in row)])
    commit = stored(unseen_second.FILE)[next(iter(unseen_second.STREAMS)), "OKL"]["commit"]
    where = f"`OKL…` at {commit}. Times, with encoders and scalers: {times['machine']}"
    return f"{runner.table(['model', *columns], rows)}\n\n{where} {mixed()}\n"


def mixed() -> str:
    """OKL beside a mixture of River's models, which takes too long for three sets of streams."""
    found, us = stored(unseen_second.FILE), section(0, UNSEEN)
    labels = [name for name, stream in unseen_second.STREAMS.items() if stream.classes]
    own, theirs = (statistics.fmean(found[name, m]["accuracy"] for name in labels) for m in ("OKL", MIXED))
    times = us[MIXED]["µs/sample"] / us["OKL"]["µs/sample"]
    return (
        f"A mixture of River's models scores {theirs:.1f} % on the first set (`OKLClassifier` {own:.1f}) and takes "
        f"{times:.0f} times as long."
    )


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
    """The places of OKL, its lead over the best other model where streams are classified, and the median ratio of
    errors."""
    pairs = best_others(found, streams)
    points = [other - own for stream, (own, other) in pairs.items() if "accuracy" in found[stream, "OKL"]]
    spread = statistics.stdev(points) / math.sqrt(len(points))
    return [
        "/".join(map(str, places(found, pairs))),
        f"{statistics.fmean(points):+z.1f}±{spread:.1f}",
        f"{statistics.median(points):+z.1f}",
        f"{len(points)}",
        f"{statistics.median(own / other for own, other in pairs.values()):.2f}",
    ]


def kinds() -> str:
    """README.md's second table: OKL against the best other model of each stream."""
    tables = stored(unseen_first.FILE) | stored(unseen_second.FILE)
    drifting = stored("untuned") | {at: row for at, row in stored("long").items() if at[0] in DRIFTS["long"]}
    rows = [
        ["static", *lead(tables, [name for name in unseen.STREAMS if kind_of(name) == STATIC])],
        ["in time order", *lead(tables, [name for name in unseen.STREAMS if kind_of(name) == IN_TIME])],
        ["drifting", *lead(drifting, itertools.chain(*DRIFTS.values()))],
    ]
    head = ["streams", "ahead/tied/behind", "lead, points", "median", "of", "ratio of errors"]
    return runner.table(head, rows) + "\n"


def lightgbm() -> str:
    """On how many streams of each kind LightGBM, trained again and again, is ahead."""
    found = stored("batch")
    ahead: dict[str, list[bool]] = {kind: [] for kind in (STATIC, IN_TIME, DRIFTING)}
    for stream, model in found:
        if model == "LightGBM" and not stream.endswith(", shuffled"):
            ahead[kind_of(stream)].append(error(found[stream, model]) < error(found[stream, "OKL"]))
    each = [f"{sum(those)} of {len(those)} {kind}" for kind, those in ahead.items()]
    return f"Trained again every 1,000 samples, it is ahead on {', '.join(each[:-1])} and {each[-1]} streams."


def draw() -> None:
    """docs/claim.svg and docs/claim-dark.svg: accuracy against time, with the spread over three sets of streams."""
    import matplotlib
    from matplotlib.figure import Figure

    from benchmarks import figures
    from river_okl import plot

    found = cells(0, UNSEEN)
    points, spreads = {}, {}
    for family, label in LABELS.items():
        accuracy, _, spread = found[family]["accuracy, %"].partition(" ± ")
        points[label] = float(found[family]["µs/sample"].replace(",", "")), float(accuracy)
        spreads[label] = float(spread or 0.0)
    for name, ink in INKS.items():
        colors = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
        with matplotlib.rc_context({**colors, "svg.hashsalt": name, "svg.fonttype": "path"}):
            figure = Figure(figsize=(7, 3.4), layout="constrained")
            ax = figure.add_subplot()
            for label, (us, accuracy) in points.items():
                color = plot.COLORS[1] if label == LABELS["OKL"] else plot.COLORS[5]
                ax.errorbar([us], [accuracy], yerr=[spreads[label]], fmt="o", color=color, capsize=3)
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
        rows: dict[str, list[Any]] = {name: [f"`{name}`"] for name in names}
        for stream in streams:
            task = "Binary classification" if STREAMS[stream].classes else "Regression"
            contestants = {name: of_100(model) for name, model in models.find_models(rows, task).items()}
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
    made = {"claim": claim(), "lightgbm": lightgbm()}
    made |= {"table": f"\n\n{table()}\n", "kinds": f"\n\n{kinds()}\n", "race": f"\n\n{output()}\n"}
    text = README.read_text(encoding="utf-8")
    text = GENERATED.sub(lambda match: f"<!-- {match[1]} -->{made[match[1]]}<!-- /{match[1]} -->", text)
    README.write_text(text, encoding="utf-8")
    draw()
