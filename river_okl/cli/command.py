"""``python -m river_okl``: a race of models on a data set or on your own table."""

from __future__ import annotations

import argparse
import glob
import os
import pathlib
import sys
from typing import Any, NoReturn

import river_okl

ENDLESS = 20_000  # samples taken from an infinite generator

HELP = """\
A race of models on a stream, test-then-train: each model predicts every sample before learning it. The table has the
accuracy (in a regression the mean absolute error), the time of one prediction plus one update, the number of support
vectors and the memory of each model. For everything else there is Python: https://riverml.xyz and the guide, docs/.
"""

EXAMPLES = """\
examples:
  python -m river_okl
  python -m river_okl --data Elec2 --samples 20000 --plot curves.png
  python -m river_okl --data wine.csv --target quality
  python -m river_okl --data Phishing --metric F1 --metric ROCAUC OKLClassifier tree.HoeffdingTreeClassifier majority
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(message)


def _fail(message: str) -> NoReturn:
    print(f"river_okl: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m river_okl",
        description=HELP,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="models by name (default: a selection of river_okl's and River's)")
    add(
        "--data",
        default="Bananas",
        metavar="DATA",
        help="a CSV, Parquet or JSON file, or the name of one of River's data sets (default: Bananas)",
    )
    add("--target", metavar="COLUMN", help="the column of the file to predict")
    add("--samples", type=_whole, metavar="N", help="stop after N samples")
    add("--metric", action="append", default=[], metavar="METRIC", help="a metric of River; may be repeated")
    add("--plot", metavar="FILE", help="save the learning curves as a picture (.png, .svg, .pdf)")
    add("--list-models", action="store_true", help="print the names of all models")
    add("--version", action="version", version=f"river_okl {river_okl.__version__}")
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
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as ``head``, has closed the pipe; nothing more can be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None  # 128 + SIGPIPE
    except (OSError, ValueError, TypeError, ImportError, MemoryError) as error:  # the library's own message
        _fail(str(error) or type(error).__name__)
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 + SIGINT, as in shells


def _run(options: argparse.Namespace) -> None:
    from river_okl.progress import Progress

    with Progress("loading"):
        from river_okl.cli import models, race, report  # takes a second, which --help and --version avoid

    if options.list_models:
        print(models.list_models())
        return
    if options.plot:
        _check_picture(options.plot)
    data = _data(options.data, options.target)
    contestants = models.find_models(options.models, data.task)
    metrics = models.find_metrics(options.metric, data.task)
    n = min((n for n in (options.samples, data.n_samples) if n is not None), default=ENDLESS)
    with Progress(options.data, n) as bar:
        inputs = race.Inputs(scale=not data.sparse)
        results = race.race(contestants, _samples(data, n), metrics, inputs=inputs, finished=bar)
    print(f"{options.data}: {data.task.lower()}, {results[0].samples:,} samples", report.table(results), sep="\n")
    if options.plot:
        from river_okl import plot

        plot.learning_curves(results).savefig(options.plot)


def _data(text: str, target: str | None) -> Any:
    """Return a table if the text is a file, else River's data set of this name."""
    from river import datasets
    from river.datasets import base, synth

    from river_okl.cli.models import classes, nearest
    from river_okl.datasets import Table

    known = classes(datasets, base.Dataset) | classes(synth, base.Dataset)
    if os.path.exists(text) or glob.glob(text) or (target is not None and text not in known):
        if target is None:
            raise ValueError(f"which column of {text} is to be predicted? Give --target COLUMN")
        try:
            return Table(text, target)
        except ValueError as error:
            if ": give " not in str(error):  # options of Table, which the command does not have
                raise
            raise ValueError(f"{error} (in Python: river_okl.datasets.Table({text!r}, {target!r}, ...))") from None
    if target is not None:
        raise ValueError(f"--target is for files, and {text} is a data set of River")
    if text not in known:
        raise ValueError(f"there is neither a file nor a data set of River called {text!r}{nearest(text, known)}")
    data = known[text]()
    if data.task not in (base.BINARY_CLF, base.MULTI_CLF, base.REG):
        raise ValueError(f"{text} is for {data.task.lower()}; a race needs classification or regression")
    return data


def _samples(data: Any, n: int) -> Any:
    """Yield the first n samples; of two labels that are not True and False, the larger is True, as metrics expect."""
    from river.datasets import base

    first = next(iter(data.take(1)))[1]
    if data.task != base.BINARY_CLF or isinstance(first, bool):
        return data.take(n)
    larger = max({y for _, y in (data if data.n_samples else data.take(n))})
    return ((x, y == larger) for x, y in data.take(n))


def _check_picture(path: str) -> None:
    """Raise unless a picture can be written to a file."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'river_okl[plot]'") from None
    known, suffix = FigureCanvasBase.get_supported_filetypes(), pathlib.Path(path).suffix[1:].lower()
    if suffix not in known:
        raise ValueError(f"--plot {path}: the suffix must be one of {', '.join(known)}")
    if not pathlib.Path(path).parent.is_dir():
        raise ValueError(f"--plot {path}: there is no folder {pathlib.Path(path).parent}")
