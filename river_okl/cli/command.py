"""``python -m river_okl``: the command that benchmarks models on a stream, saves one, and applies it.

Arguments become a stream (``files.py``) and models (``lookup.py``) or a saved model (``outputs.py``), ``race.py`` runs
them, and the result is saved (``outputs.py``) before it is shown (``report.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import itertools
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

import river_okl

if TYPE_CHECKING:  # everything else is imported when needed, so that --help and --version are fast
    from river_okl.cli.race import Inputs, Result
    from river_okl.files import Reading, Stream

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


HELP = """\
Benchmark models on a stream, test-then-train: each model predicts every sample before learning it. The table shows the
accuracy (regression: the mean absolute error), the time of one prediction plus one update, the number of support
vectors and the memory of the model. --save keeps a model, --load applies it or goes on.
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
            "Columns of a CSV file are numbers, dates (2024-02-29, 29.2.2024 18:30, 29 February 2024) or strings. OKL* "
            "take them as they come; for other models strings are one-hot encoded and dates become numbers. Empty "
            "cells, NA, NaN, ?, NULL, #N/A and the like are missing values; other texts among numbers or dates are an "
            "error, unless --na or --string names them. 1,234 is a number; rows without a "
            "target are skipped. A target with fractions or more than 20 different numbers means regression, any other "
            "classification, unless --task is given. The larger of two labels is positive; binary classifiers learn "
            "more than two one-vs-rest. Numbers are standardised for all models except OKL*, which do that themselves, "
            "outside the measured time; strings are not, nor a libsvm file whose first thousand samples omit zeros.",
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
            ("python -m river_okl --data sales.csv --save sales.okl OKLClassifier", ""),
            ("python -m river_okl --load sales.okl --data new.csv --predictions out.csv", ""),
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
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # a full disk, of which this is the message
        _close_stdout()
    _say(f"river_okl: {' '.join(message.split())}")
    raise SystemExit(2)


def _say(line: str) -> None:
    """A line on stderr, if there is one."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)


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
    parser.add_argument(
        "--string",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of strings, whatever is in it; may be repeated",
    )
    parser.add_argument(
        "--na",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that stands for a missing value; may be repeated",
    )
    parser.add_argument("--decimal", choices=(".", ","), default=".", metavar="MARK", help="the decimal mark, . or ,")
    parser.add_argument("--day-first", action="store_true", help="4/6/2013 is 4 June, if a column does not tell")
    parser.add_argument("--encoding", metavar="NAME", help="the encoding of the file, such as cp1252 (default: UTF-8)")
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
    parser.add_argument(
        "--save", metavar="FILE", help="save the trained model (one MODEL), with the columns and labels of its file"
    )
    parser.add_argument(
        "--load",
        metavar="FILE",
        help="use a saved model instead of MODELs: it predicts and learns, or only predicts if there is no target",
    )
    parser.add_argument("--predictions", metavar="FILE", help="write targets and all predictions to a CSV file")
    parser.add_argument("--plot", metavar="FILE", help="save the learning curves as a picture (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print everything, with the curves, as JSON")
    parser.add_argument("--list-models", action="store_true", help="print the names of all models")
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
            for stream in (sys.stdout, sys.stderr):
                if hasattr(stream, "reconfigure"):
                    stream.reconfigure(errors="replace")  # of a name that the terminal cannot show
            _run(_parser().parse_args(argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe
        _close_stdout()
        raise SystemExit(141) from None  # 128 + SIGPIPE
    except (
        OSError,
        UnicodeError,
        csv.Error,
        ValueError,
        TypeError,
        ImportError,
        MemoryError,
    ) as error:  # bad data or arguments, in the words of the library
        _fail(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 + SIGINT, as shells have it


def _close_stdout() -> None:
    """Nothing more can be written: neither here nor by the flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(options: argparse.Namespace) -> None:
    from river_okl.progress import Progress

    with Progress("loading"):
        from river_okl.cli import lookup, outputs

        if options.list_models:
            print(lookup.list_models())
            return
        _check(options)
        job = _Job(options)
        if options.save:
            outputs.check_save(options.save, next(iter(job.models)), job.whole_model(*job.models.values()))
    for warning in job.stream.warnings:
        _say(f"river_okl: warning: {warning}")
    head = [] if options.json else [job.title, *([job.stream.note] if job.stream.note else [])]
    if sys.stdout is not None and sys.stdout.isatty():  # other readers may have gone: first the run, then its output
        print(*head, sep="\n", flush=True)
        head = []
    results = job.run()
    complete = all(result.complete for result in results)
    if not complete:
        results = [result for result in results if result.samples]
        if not results:
            raise KeyboardInterrupt
    print(*head, *_shown(options, job, results, complete), sep="\n")
    if not complete:
        raise KeyboardInterrupt


def _check(options: argparse.Namespace) -> None:
    """Raise before anything is read if options do not fit together, or a file would be overwritten."""
    from river_okl.checks import UsageError
    from river_okl.cli import lookup, outputs

    data = options.data if options.data != "-" and lookup.is_file(options.data) else None
    outputs.check(
        {"--data": data, "--load": options.load},
        {"--save": options.save, "--predictions": options.predictions, "--plot": options.plot},
    )
    if options.plot:  # an unusable file name fails before the benchmark, not after it
        try:
            from river_okl.cli import plot
        except ImportError:
            raise UsageError("--plot needs matplotlib: pip install 'river_okl[plot]'") from None
        plot.check_file(options.plot)
    if options.workers and (options.metric or options.predictions or options.load):
        raise UsageError("--metric, --predictions and --load are not for --workers, which only sums up errors")
    if options.load:
        if options.models or options.budget:
            raise UsageError(f"--load {options.load} is the model: leave the MODEL and its --budget out")
        given = {"--target": options.target, "--drop": options.drop, "--task": options.task, "--na": options.na}
        given |= {"--string": options.string, "--decimal": options.decimal != ".", "--day-first": options.day_first}
        if (option := next((option for option, value in given.items() if value), None)) is not None:
            raise UsageError(f"{option}: the model knows its columns; leave the option out")
    elif options.encoding and not lookup.is_file(options.data):
        raise UsageError(f"--encoding is for files, and {options.data} is not a file")


class _InterruptedError(Exception):
    """Ctrl-C has ended the run, and a file would be replaced by one with a part of the samples."""


class _Job:
    """What the options ask for: a stream, models, and the steps before them."""

    def __init__(self, options: argparse.Namespace):
        from river_okl.checks import UsageError
        from river_okl.cli import lookup, metrics
        from river_okl.cli.race import AsTheyCome, Inputs

        self.options = options
        self.results: list[Result] = []
        if options.load:
            self.stream, self.models = self._loaded()
        else:
            self.stream = lookup.find_stream(options.data, _reading(options))
            usual = REGRESSORS if self.regression else CLASSIFIERS
            chosen = options.models or (usual[:1] if options.workers else usual)
            self.models = lookup.find_models(chosen, self.stream.task, options.budget, options.seed)
        if options.save and len(self.models) != 1:
            raise UsageError(f"--save saves one model, and there are {len(self.models)}: name one MODEL")
        self.metrics = metrics.find_metrics(options.metric, self.stream.task)
        self.inputs: Inputs = AsTheyCome(False) if options.load else Inputs(self.stream.scaled)
        self.inputs.any_dates = self.stream.schema is not None and self.stream.schema.has_dates
        self.samples = options.samples or (ENDLESS if self.stream.size is None else None)
        self.size = min((n for n in (self.samples, self.stream.size) if n is not None), default=None)

    @property
    def regression(self) -> bool:
        from river_okl.files import REGRESSION

        return self.stream.task == REGRESSION

    @property
    def title(self) -> str:
        """What is done, in a line."""
        size = f", {self.size:,} samples" if self.size else ""
        return f"{self.stream.name}: {self.stream.task}{size}"

    def _loaded(self) -> tuple[Stream, dict[str, Any]]:
        """The stream that a saved model learns or predicts, and the model."""
        from river import base

        from river_okl import files
        from river_okl.cli import lookup, outputs
        from river_okl.tables.models import TableClassifier, TableRegressor

        path, schema = self.options.load, None
        model = outputs.load(path)
        if isinstance(model, TableClassifier | TableRegressor):
            schema, model = model._schema, model.model
        elif not isinstance(_innermost(model), base.Classifier | base.Regressor):
            raise files.UsageError(f"--load {path}: {type(model).__name__} is neither a classifier nor a regressor")
        elif lookup.is_file(self.options.data):
            raise files.UsageError(
                f"{path} does not know the columns of a file, as models do that the command has trained on one"
            )
        stream = lookup.find_stream(self.options.data, _reading(self.options), schema)
        if isinstance(_innermost(model), base.Regressor) != (stream.task == files.REGRESSION):
            raise files.UsageError(f"{path} is not a model for {stream.task}")
        if not stream.labelled and not self.options.predictions:
            raise files.UsageError(f"{stream.name} has no target, so that it can only be predicted: --predictions FILE")
        return stream, {type(_innermost(model)).__name__: model}

    def whole_model(self, model: Any) -> Any:
        """A model with what it needs to take the samples of the stream as they come."""
        return self._with_schema(self.inputs.pipeline(model))

    def _with_schema(self, model: Any) -> Any:
        """A model that takes the rows of the file as they are, and gives its labels."""
        from river_okl.tables.models import TableClassifier, TableRegressor

        if self.stream.schema is None:
            return model
        make = TableRegressor if self.regression else TableClassifier
        return make(model, self.stream.schema.as_dict())

    def run(self) -> list[Result]:
        """Run it, and write what was asked for."""
        try:
            if self.options.workers:
                self.results = self._on_workers()
            else:
                self._on_stream()
        except _InterruptedError:
            _say(f"river_okl: interrupted: {self.options.predictions} is as it was before")
        finally:  # also if the predictions can't be moved into place
            self._save()
        return self.results

    def _on_stream(self) -> None:
        """Test-then-train of all models."""
        from river_okl import files
        from river_okl.cli import outputs
        from river_okl.cli.race import race
        from river_okl.progress import Progress

        labels, kept = self._labels(), self.options.predictions and os.path.isfile(self.options.predictions)
        # A download prints a message, and stdout is for results.
        with (
            outputs.predictions(self.options.predictions, self.stream, list(self.models), labels) as finished,
            Progress("samples", self.size) as progress,
            contextlib.redirect_stdout(sys.stderr),
        ):
            results = race(
                self.models,
                itertools.islice(self.stream.samples, self.samples),
                regression=self.regression,
                block=max(1, min(1000, (self.size or 10**5) // 100)),
                metrics=list(self.metrics.values()),
                with_scores=bool(labels),
                inputs=self.inputs,
                tick=progress,
                finished=finished,
            )
            if all(result.complete for result in results):
                n = results[0].samples
                if not n:
                    raise files.UsageError(f"{self.stream.name} has no samples")
                if self.stream.schema is not None and n != self.size:
                    raise files.UsageError(
                        f"{self.stream.name} has changed while it was read: {n:,} samples instead of {self.size:,}"
                    )
            self.results = results
            if kept and not all(result.complete for result in results):
                raise _InterruptedError

    def _labels(self) -> list[Any] | None:
        """The labels whose probabilities a loaded model writes; none for a regression, None for other runs."""
        if not self.options.load:
            return None
        if self.regression:
            return []
        (model,) = self.models.values()
        schema = self.stream.schema
        try:
            known = model.predict_proba_one(next(iter(self.stream.samples))[0])
        except NotImplementedError:
            return []
        if schema is None:
            return list(known)
        return [*schema.labels, *(y for y in map(schema.label_of, known) if y not in schema.labels)]

    def _save(self) -> None:
        """Before anything is printed, which may fail."""
        from river_okl.cli import outputs

        trained = [result for result in self.results if result.samples]
        if self.options.save and trained:
            if trained[0].pipeline is None:
                model = self.whole_model(trained[0].model)
            else:
                model = self._with_schema(trained[0].pipeline)
            path = self.options.save
            if os.path.isfile(path) and not trained[0].complete:
                path = "{}.partial{}".format(*os.path.splitext(path))
                _say(f"river_okl: interrupted: {self.options.save} is as it was before, the model so far is in {path}")
            outputs.save(model, path)
        if self.options.plot and trained:
            from river_okl.cli import plot

            error = "mean absolute error" if self.regression else "error rate"
            figure = plot.learning_curves(trained, error=error)
            with outputs.written(self.options.plot) as file:
                figure.savefig(file, dpi=150, format=os.path.splitext(self.options.plot)[1][1:])

    def _on_workers(self) -> list[Result]:
        from river_okl import files
        from river_okl.cli.race import on_workers

        with contextlib.redirect_stdout(sys.stderr):
            return on_workers(
                self.models,
                files.Again(lambda: itertools.islice(self.stream.samples, self.samples)),  # restarts for every model
                workers=self.options.workers,
                every=max(500, min(10_000, (self.size or 10**6) // (10 * self.options.workers))),
                regression=self.regression,
                scaled=self.stream.scaled,
                plain=self.stream.plain,
                progress=sys.stderr is not None and sys.stderr.isatty(),
            )


def _reading(options: argparse.Namespace) -> Reading:
    from river_okl.files import Reading

    return Reading(
        target=options.target,
        drop=tuple(options.drop),
        task=options.task,
        na=tuple(options.na),
        strings=tuple(options.string),
        decimal=options.decimal,
        day_first=options.day_first,
        encoding=options.encoding,
    )


def _innermost(model: Any) -> Any:
    """A model without the steps and wrappers around it."""
    from river import base, compose

    while True:
        if isinstance(model, compose.Pipeline):
            model = list(model.steps.values())[-1]
        elif isinstance(model, base.Wrapper):
            model = model._wrapped_model
        else:
            return model


def _shown(options: argparse.Namespace, job: _Job, results: list[Result], complete: bool) -> list[str]:
    """The results as lines."""
    from river_okl.cli import report

    if options.json:
        return [report.as_json(job.stream, results, job.regression, complete, job.metrics)]
    of = f" of {job.size:,}" if job.size else ""
    partial = f"Interrupted: this table is partial, after {results[-1].samples:,}{of} samples"
    return [*([] if complete else [partial]), report.table(results, job.regression, job.metrics)]
