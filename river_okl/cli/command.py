"""``python -m river_okl``: the command that benchmarks models on a stream, saves one, and applies it.

This module has its options and exit codes; ``job.py`` does what the options ask for.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import sys
from typing import NoReturn

import river_okl

ENDLESS = 20_000  # samples taken from an infinite generator

HELP = """\
Benchmark models on a stream, test-then-train: each model predicts every sample before learning it. The table shows the
accuracy (regression: the mean absolute error), the time of one prediction plus one update, the number of support
vectors and the memory of the model. --save keeps a model, --load applies it or resumes its training.
"""

DETAILS = f"""\
data:
  --data Phishing                     a data set of river.datasets, downloaded if necessary
  --data 'Waveform(seed=1)'           {ENDLESS:,} samples of a generator of river.datasets.synth
  --data a9a                          a data set of river_okl.datasets: LIBSVM sets by name
  --data 'LIBSVM("a9a", part="both")' the same, with parameters
  --data sales.csv --target price     a table (the default target is the last column)
  --data sales.parquet --drop id      the same without a column
  --data 'sales-*.csv'                several files
  --data data.libsvm                  label index:value index:value ...
  --data -                            standard input

  Tables are CSV, Parquet or JSON, compressed or not, read by DuckDB: pip install
  'river_okl[cli]'. Columns are numbers, dates or strings. OKL* take them as they come; for other
  models strings are one-hot encoded and dates become numbers. Empty cells are missing values. A
  column that is numeric but for a few cells is an error, unless --na or --string names them. Rows
  without a target are skipped. A target with fractions or more than 20 different numbers means
  regression, any other classification, unless --task is given. The larger of two labels is
  positive; binary classifiers learn more than two one-vs-rest. Numbers are standardized for all
  models except OKL*, which do that themselves, outside the measured time; strings are not, nor a
  libsvm file whose first thousand samples omit zeros.

models:
  OLRDClassifier                      a class of river_okl or of river
  tree.HoeffdingTreeClassifier        the same with river's module
  majority, mean, last                baselines: the most frequent label, the mean, the last label or target
  'OLRDClassifier(budget=50, seed=1)' with parameters: constants, kernels, losses, schedulers
  'OLRDClassifier(0.8 * RBF() + 0.2 * Linear(), loss=Log())' a sum of kernels

examples:
  python -m river_okl
  python -m river_okl --data Elec2 --samples 20000 --plot curves.png
  python -m river_okl --budget 50 --seed 1 --data a9a OLRDClassifier RBPClassifier
  python -m river_okl --data big.csv --workers 2
  python -m river_okl --data wine.csv --target quality --json > wine.json
  python -m river_okl --data Phishing --metric F1 --metric ROCAUC OKLClassifier majority
  python -m river_okl --data sales.csv --save sales.okl OKLClassifier
  python -m river_okl --load sales.okl --data new.csv --predictions out.csv
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(message)


def _fail(message: str) -> NoReturn:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # a full disk, which ``message`` reports
        _close_stdout()
    say(f"river_okl: {' '.join(message.split())}")
    raise SystemExit(2)


def say(line: str) -> None:
    """Print a line on stderr, if there is one."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m river_okl",
        description=HELP,
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="models, optionally with parameters (default: a selection of river_okl's and river's)",
    )
    parser.add_argument("--data", default="Bananas", metavar="DATA", help="a data set, a file, or - (default: Bananas)")
    parser.add_argument("--target", metavar="COLUMN", help="the column of a table to predict")
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
    parser.add_argument("--decimal", choices=(".", ","), metavar="MARK", help="the decimal mark, . or ,")
    parser.add_argument("--date-format", metavar="FORMAT", help="the format of dates, such as %%m/%%d/%%Y")
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
    """Run the command line."""
    try:
        try:
            for stream in (sys.stdout, sys.stderr):
                if hasattr(stream, "reconfigure"):
                    stream.reconfigure(errors="replace")  # for names that the terminal cannot show
            _run(_parser().parse_args(argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe
        _close_stdout()
        raise SystemExit(141) from None  # 128 + SIGPIPE
    except (
        OSError,
        csv.Error,
        ValueError,
        TypeError,
        ImportError,
        MemoryError,
    ) as error:  # the library's own message
        _fail(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 + SIGINT, as in shells


def _close_stdout() -> None:
    """Redirect stdout to the null device: nothing more can be written, not even by the flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(options: argparse.Namespace) -> None:
    from river_okl.progress import Progress

    with Progress("loading"):
        from river_okl.cli import job, lookup  # takes a second, which --help and --version avoid

        if options.list_models:
            print(lookup.list_models())
            return
        found = job.Job(options)
    found.run()
