"""``python -m river_okl``: the command that benchmarks models on a stream.

Arguments become a stream (``files.py``) and models (``lookup.py``), ``race.py`` runs them, and the result is a table,
JSON or a picture.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import itertools
import json
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

import river_okl

if TYPE_CHECKING:  # everything else is imported when needed, so that --help and --version are fast
    from collections.abc import Callable, Iterator

    from river_okl.cli.race import Inputs, Result
    from river_okl.files import Stream

CLASSIFIERS = (
    "OKLClassifier",
    "AhpatronClassifier",
    "BPAClassifier",
    "ProjectronPlusPlusClassifier",
    "RBPClassifier",
    "KernelPAClassifier",
    "linear_model.LogisticRegression",
    "linear_model.PAClassifier",
    "tree.HoeffdingTreeClassifier",
    "forest.ARFClassifier",
    "neighbors.KNNClassifier",
    "majority",
    "last",
)
REGRESSORS = (
    "OKLRegressor",
    "BPARegressor",
    "SPARegressor",
    "KernelPARegressor",
    "linear_model.LinearRegression",
    "linear_model.PARegressor",
    "tree.HoeffdingTreeRegressor",
    "neighbors.KNNRegressor",
    "mean",
    "last",
)

ENDLESS = 20_000  # samples taken from an infinite generator


def _table(results: list[Result], regression: bool, metrics: dict[str, Any]) -> None:
    from river import utils

    usual = ["mean abs. error" if regression else "accuracy"]
    header = ["model", *(metrics or usual), "µs/sample", "support vectors", "memory"]

    def scores(result: Result) -> list[str]:
        if metrics:
            return [repr(metric).partition(": ")[2] for metric in result.metrics]
        return [f"{result.error:.4g}" if regression else f"{1 - result.error:.2%}"]

    def rank(result: Result) -> float:
        if not metrics:
            return result.error
        first = result.metrics[0]
        return float(-first.get() if first.bigger_is_better else first.get())

    rows = [
        [
            result.name,
            *scores(result),
            f"{result.microseconds:.1f}",
            "-" if result.support_vectors is None else f"{result.support_vectors:,}",
            utils.pretty.humanize_bytes(result.memory),
        ]
        for result in sorted(results, key=rank)
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 200  # in a file, lines may be long
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if sum(widths) + 3 * len(widths) + 1 > width:
        print(", ".join(header[1:]))
        for name, *cells in rows:
            print(f"{name}\n  {'  '.join(cells)}")
        return
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for row in (header, ["-" * width for width in widths], *rows):
            first, *others = (
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            print("  ".join([first, *others]).rstrip())
        return
    table = Table()
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=width)
    with console.capture() as text:  # printing directly would exit on a closed pipe
        console.print(table)
    print(text.get(), end="")


def _numbers(result: Result, metrics: dict[str, Any]) -> dict[str, float]:
    return {name: metric.get() for name, metric in zip(metrics, result.metrics, strict=True)}


def _json(stream: Stream, results: list[Result], regression: bool, complete: bool, metrics: dict[str, Any]) -> str:
    return json.dumps(
        {
            "data": stream.name,
            "task": stream.task,
            "samples": results[0].samples if results else 0,
            "complete": complete,
            "models": [
                {
                    "model": result.name,
                    "mean_absolute_error" if regression else "error_rate": result.error,
                    "microseconds_per_sample": round(result.microseconds, 2),
                    "support_vectors": result.support_vectors,
                    "memory_bytes": result.memory,
                    **({"metrics": _numbers(result, metrics)} if metrics else {}),
                    "curve": [dataclasses.asdict(point) for point in result.curve],
                }
                for result in results
            ],
        },
        indent=2,
    )


HELP = """\
Benchmark models on a stream, test-then-train: each model predicts every sample before learning it. The table shows the
accuracy (regression: the mean absolute error), the time of one prediction plus one update, the number of support
vectors and the memory of the model.
"""

# Paragraphs, and pairs of an argument and its meaning.
DETAILS: tuple[tuple[str, tuple[tuple[str, str] | str, ...]], ...] = (
    (
        "data",
        (
            ("--data Phishing", "a data set of river.datasets, downloaded if necessary"),
            ("--data 'Waveform(seed=1)'", f"{ENDLESS:,} samples of a generator of river.datasets.synth"),
            ("--data a9a", "a data set of river_okl.datasets: LIBSVM sets by name"),
            ("""--data 'LIBSVM("a9a", part="both")'""", "the same, with parameters"),
            ("--data sales.csv --target price", "a CSV file (the default target is the last column)"),
            ("--data sales.csv --drop id", "the same without a column"),
            ("--data data.libsvm", "label index:value index:value ..."),
            ("--data -", "standard input, as CSV or libsvm"),
            "Files and standard input may be compressed by gzip, bzip2 or xz. The fields of a CSV file are separated "
            "by commas, semicolons, tabs or |; without a header its columns are 1, 2, ...",
            "Columns of a CSV file are numbers, dates in ISO format (2024-02-29, 2024-02-29 12:30) or strings. OKL* "
            "take them as they come; for other models strings are one-hot encoded and dates become numbers. Empty "
            "cells, NA, NaN and ? "
            "are missing values, in numeric columns also NULL, None, N/A and -; 1,234 is a number; rows without a "
            "target are skipped. A target with fractions or more than 20 different numbers means regression, any other "
            "classification, unless --task is given. The larger of two labels is positive; binary classifiers learn "
            "more than two one-vs-rest. Numbers are standardised for all models except OKL*, which do that themselves, "
            "outside the measured time; strings and sparse data are not.",
        ),
    ),
    (
        "models",
        (
            ("OLRDClassifier", "a class of river_okl or of river"),
            ("tree.HoeffdingTreeClassifier", "the same with river's module"),
            ("majority, mean, last", "baselines: the most frequent label, the mean, the last label or target"),
            ("'OLRDClassifier(budget=50, seed=1)'", "with parameters: constants, kernels, losses, schedulers"),
            ("'OLRDClassifier(0.8 * RBF() + 0.2 * Linear(), loss=Log())'", "a sum of kernels"),
        ),
    ),
    (
        "examples",
        (
            ("python -m river_okl", ""),
            ("python -m river_okl --data Elec2 --samples 20000 --plot curves.png", ""),
            ("python -m river_okl --budget 50 --seed 1 --data a9a OLRDClassifier RBPClassifier", ""),
            ("python -m river_okl --data big.csv --workers 2", ""),
            ("python -m river_okl --data wine.csv --target quality --json > wine.json", ""),
            ("python -m river_okl --data Phishing --metric F1 --metric ROCAUC OKLClassifier majority", ""),
            ("python -m river_okl --data sales.csv --save sales.okl --predictions out.csv OKLClassifier", ""),
        ),
    ),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(message)

    def format_help(self) -> str:
        """Argparse's help, followed by DETAILS wrapped to the terminal."""
        width = max(30, min(shutil.get_terminal_size().columns, 100) - 2)
        lines = [super().format_help()]
        for title, entries in DETAILS:
            lines.append(f"{title}:")
            for entry in entries:
                if isinstance(entry, str):
                    lines += ["", *textwrap.wrap(entry, width, initial_indent="  ", subsequent_indent="  ")]
                    continue
                left, right = entry
                if len(left) > 36 or width < 80:
                    lines.append(f"  {left}")
                    lines += textwrap.wrap(right, width, initial_indent=" " * 6, subsequent_indent=" " * 6)
                else:
                    lines.append(f"  {left:36}{right}")
            lines.append("")
        return "\n".join(lines)


def _fail(message: str) -> NoReturn:
    print(f"river_okl: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m river_okl",
        description=HELP,
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="models, optionally with parameters (default: a selection of river_okl's and river's)",
    )
    parser.add_argument("--data", default="Bananas", metavar="DATA", help="a data set, a file, or - (default: Bananas)")
    parser.add_argument("--target", metavar="COLUMN", help="the column of a CSV file to predict")
    parser.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="a column to leave out; may be repeated"
    )
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        metavar="TASK",
        help="classification or regression, for a file whose target could be either",
    )
    parser.add_argument("--samples", type=_whole, metavar="N", help="stop after N samples")
    parser.add_argument(
        "--budget",
        type=_whole,
        metavar="B",
        help="maximum number of support vectors, for models with a budget parameter that is not given",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="S",
        help="random seed, for models with a seed parameter that is not given (default: 1)",
    )
    parser.add_argument(
        "--workers",
        type=_whole,
        metavar="N",
        help="learn in N processes, merged after each round; needs river_okl[ray]",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help="a metric of river.metrics instead of the usual one; may be repeated, the first one ranks",
    )
    parser.add_argument("--save", metavar="FILE", help="save the trained model (one MODEL) for river_okl.load")
    parser.add_argument("--predictions", metavar="FILE", help="write targets and all predictions to a CSV file")
    parser.add_argument("--plot", metavar="FILE", help="save the learning curves as a picture (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print everything, with the curves, as JSON")
    parser.add_argument("--version", action="version", version=f"river_okl {river_okl.__version__}")
    return parser


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    try:
        try:
            _run(_parser().parse_args(argv))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        raise SystemExit(141) from None  # 128 + SIGPIPE
    except (
        OSError,
        UnicodeError,
        csv.Error,
        ValueError,
        TypeError,
        ImportError,
    ) as error:  # bad data or arguments, in the words of the library
        _fail(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 + SIGINT, as shells have it


def _run(options: argparse.Namespace) -> None:
    from river_okl import files
    from river_okl.cli import lookup
    from river_okl.cli.race import Inputs, on_workers, race

    if options.plot:  # an unusable file name fails before the benchmark, not after it
        try:
            from river_okl.cli import plot
        except ImportError:
            raise files.UsageError("--plot needs matplotlib: pip install 'river_okl[plot]'") from None
        plot.check_file(options.plot)
    stream = lookup.find_stream(options.data, options.target, options.drop, options.task)
    regression = stream.task == files.REGRESSION
    usual = REGRESSORS if regression else CLASSIFIERS
    models = lookup.find_models(
        options.models or (usual[:1] if options.workers else usual), stream.task, options.budget, options.seed
    )
    for warning in stream.warnings:
        print(f"river_okl: warning: {warning}", file=sys.stderr)
    metrics = lookup.find_metrics(options.metric, models)
    if options.workers and (options.metric or options.predictions):
        raise files.UsageError("--metric and --predictions are not for --workers, which only sums up errors")
    if options.save:
        _check_save(options.save, models, stream)
    inputs = Inputs(stream.scaled)
    samples = options.samples or (ENDLESS if stream.size is None else None)
    size = min((n for n in (samples, stream.size) if n is not None), default=None)
    if not options.json:
        print(f"{stream.name}: {stream.task}, {size:,} samples" if size else f"{stream.name}: {stream.task}")
        if stream.note:
            print(stream.note)
    if options.workers:
        with contextlib.redirect_stdout(sys.stderr):
            results = on_workers(
                models,
                files.Again(lambda: itertools.islice(stream.samples, samples)),  # restarts for every model
                workers=options.workers,
                every=max(500, min(10_000, (size or 10**6) // (10 * options.workers))),
                regression=regression,
                scaled=stream.scaled,
                plain=stream.plain,
                progress=sys.stderr.isatty(),
            )
    else:
        # A download prints a message, and stdout is for results.
        with (
            files.Progress(size) as progress,
            _predictions(options.predictions, models, stream) as finished,
            contextlib.redirect_stdout(sys.stderr),
        ):
            results = race(
                models,
                itertools.islice(stream.samples, samples),
                regression=regression,
                scaled=stream.scaled,
                block=max(1, min(1000, (size or 10**5) // 100)),
                metrics=list(metrics.values()),
                inputs=inputs,
                tick=progress,
                finished=finished,
            )
    interrupted = not all(result.complete for result in results)
    results = [result for result in results if result.samples] if interrupted else results
    if interrupted and not results:
        raise KeyboardInterrupt
    if options.json:
        print(_json(stream, results, regression, not interrupted, metrics))
    else:
        if interrupted:
            of = f" of {size:,}" if size else ""
            print(f"Interrupted: this table is partial, after {results[-1].samples:,}{of} samples")
        _table(results, regression, metrics)
    if options.save:
        (result,) = results
        river_okl.save(result.pipeline or _whole_model(result.model, inputs, stream), options.save)
    if options.plot:
        error = "mean absolute error" if regression else "error rate"
        plot.learning_curves(results, error=error).savefig(options.plot, dpi=150)
    if interrupted:
        raise KeyboardInterrupt


def _whole_model(model: Any, inputs: Inputs, stream: Stream) -> Any:
    """The model behind the steps that the benchmark put before it, for samples as they come."""
    from river_okl.cli.race import takes_all

    if takes_all(model):
        return model if stream.plain else river_okl.Dates() | model
    return inputs.scaler | model if stream.scaled else model


def _check_save(name: str, models: dict[str, Any], stream: Stream) -> None:
    """Raise before the benchmark if its model cannot be saved."""
    from river_okl import files
    from river_okl.checkpoint import CheckpointError
    from river_okl.cli.race import Inputs, takes_all

    if len(models) != 1:
        raise files.UsageError(f"--save saves one model, and there are {len(models)}: name one MODEL")
    ((text, model),) = models.items()
    if not (stream.plain or takes_all(model)):
        raise files.UsageError(
            f"--save: {text} needs strings and dates in numbers; OKLClassifier and OKLRegressor do not"
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(name))):
        raise files.UsageError(f"there is no folder {os.path.dirname(name)}")
    try:
        river_okl.dumps(_whole_model(model, Inputs(stream.scaled), stream))
    except CheckpointError as error:
        raise files.UsageError(f"--save: {text}: {error}") from None


@contextlib.contextmanager
def _predictions(name: str | None, models: dict[str, Any], stream: Stream) -> Iterator[Callable[..., None]]:
    """What writes the predictions of a block; labels are those of the file."""
    if not name:
        yield lambda block, results: None
        return
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["target", *models])

        def shown(value: Any) -> Any:
            return stream.binary[value] if stream.binary and isinstance(value, bool) else value

        def write(block: list[Any], results: list[Result]) -> None:
            for (_, y), *found in zip(block, *(result.predictions for result in results), strict=True):
                writer.writerow([shown(value) for value in (y, *found)])

        yield write
