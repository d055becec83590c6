"""``python -m river_okl``: race models over a stream.

A race reads a stream once, in blocks of samples.  Every model goes through a block, predicting each sample before it
learns it, and then the next block is read: memory does not grow with the stream, and all models have seen the same
samples at any time.  A table, curves, a picture or JSON come out of what was noted after every block.
"""

from __future__ import annotations

import argparse
import ast
import csv
import dataclasses
import difflib
import importlib
import inspect
import itertools
import json
import math
import pathlib
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import river.datasets
import river.datasets.synth
import river.optim
from river import base, multiclass, preprocessing, utils

import river_okl
from river_okl import datasets, kernels, losses

Sample = tuple[dict[Any, Any], Any]

BINARY, MULTICLASS, REGRESSION = "binary classification", "multi-class classification", "regression"

RIVER_MODULES = (
    "dummy",
    "ensemble",
    "facto",
    "forest",
    "linear_model",
    "naive_bayes",
    "neighbors",
    "rules",
    "tree",
)

CLASSIFIERS = (
    "OLRDClassifier(budget=200)",
    "KernelPerceptronClassifier",
    "ProjectronPlusPlusClassifier",
    "linear_model.LogisticRegression",
    "linear_model.PAClassifier",
    "tree.HoeffdingTreeClassifier",
    "neighbors.KNNClassifier",
)
REGRESSORS = (
    "OLRDRegressor(budget=200)",
    "linear_model.LinearRegression",
    "linear_model.PARegressor",
    "tree.HoeffdingTreeRegressor",
    "neighbors.KNNRegressor",
)

ENDLESS = 20_000  # samples of a generated stream, which has no end of its own


class Mistake(Exception):
    """What a user got wrong, in one line."""


# The stream ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Stream:
    """Samples, what is to be predicted of them, and whether they are scaled before the models see them."""

    name: str
    samples: Iterable[Sample]
    task: str
    size: int | None
    scaled: bool


def find_stream(text: str, target: str | None) -> Stream:
    """A file, or a data set by name."""
    path = pathlib.Path(text).expanduser()
    if path.is_file():
        return _read_file(path, target)
    if re.fullmatch(r".*[\\/].*|.*\.(csv|txt|libsvm|svm|gz|bz2|xz)", text, re.DOTALL):
        raise Mistake(f"there is no file {text}")
    if target is not None:
        raise Mistake(f"--target names a column of a CSV file, and {text} is no file")
    return _find_data_set(text)


def _find_data_set(text: str) -> Stream:
    known: dict[str, Callable[..., Any]] = {
        **{name: _maker(datasets.LIBSVM, name) for name in datasets.SETS},
        **_classes(river.datasets, river.datasets.base.Dataset),
        **_classes(river.datasets.synth, river.datasets.base.Dataset),
        **_classes(datasets, river.datasets.base.Dataset),
    }
    if text in known:  # a9a, which would not be read as a call, or cod-rna
        data = _called(known[text], text, (), {})
    else:
        data = _Reader("data set", known).read(text)
    tasks = {
        river.datasets.base.BINARY_CLF: BINARY,
        river.datasets.base.MULTI_CLF: MULTICLASS,
        river.datasets.base.REG: REGRESSION,
    }
    if data.task not in tasks:
        raise Mistake(f"{text} is a data set for {data.task}; a race needs classification or regression")
    return Stream(text, data, tasks[data.task], data.n_samples, not data.sparse)


def _maker(cls: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    return lambda **kwargs: cls(*args, **kwargs)


def _read_file(path: pathlib.Path, target: str | None) -> Stream:
    with _open(path) as file:
        first = next((line for line in file if line.strip()), "")
    if re.fullmatch(r"\S+(\s+[^\s:,]+:\S+)+\s*(#.*)?", first.strip()):
        if target is not None:
            raise Mistake(f"{path} is a libsvm file, whose target comes first in each line; --target is for CSV files")
        return _read_libsvm(path)
    if not first:
        raise Mistake(f"{path} is empty")
    return _read_csv(path, target)


def _open(path: pathlib.Path) -> Any:
    return datasets._OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8-sig", newline="")


def _read_csv(path: pathlib.Path, target: str | None) -> Stream:
    """Columns that are all numbers are features; every value of another column is a feature of its own."""
    with _open(path) as file:
        rows = csv.reader(file)
        header = next(rows)
        target = header[-1] if target is None else target
        if target not in header:
            raise Mistake(f"{path} has no column {target!r}{_nearest(target, header)}")
        numeric = [True] * len(header)
        labels: set[str] = set()
        size = 0
        at = header.index(target)
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise Mistake(f"{path}, line {rows.line_num}: {len(row)} fields where the header has {len(header)}")
            for i, cell in enumerate(row):
                numeric[i] = numeric[i] and (_is_missing(cell) or _number(cell) is not None)
            if _is_missing(row[at]):
                raise Mistake(f"{path}, line {rows.line_num}: the target {target!r} is missing")
            if len(labels) <= MOST_LABELS:
                labels.add(row[at])
            size += 1
    if not size:
        raise Mistake(f"{path} has a header and no rows")
    task, label = _labels(labels, numeric[at])

    def samples() -> Iterator[Sample]:
        with _open(path) as file:
            for row in itertools.islice(csv.reader(file), 1, None):
                if not row:
                    continue
                x: dict[Any, Any] = {}
                for i, (name, cell) in enumerate(zip(header, row, strict=True)):
                    if i == at or _is_missing(cell):
                        continue
                    if numeric[i]:
                        x[name] = float(cell)
                    else:
                        x[name, cell] = 1.0
                yield x, label(row[at])

    return Stream(str(path), _Again(samples), task, size, scaled=True)


def _read_libsvm(path: pathlib.Path) -> Stream:
    labels: set[str] = set()
    size = 0

    def lines() -> Iterator[tuple[int, list[str]]]:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                if fields := line.partition("#")[0].split():
                    yield number, fields

    for number, (label_text, *_) in lines():
        if _number(label_text) is None:
            raise Mistake(f"{path}, line {number}: the label {label_text!r} is not a number")
        if len(labels) <= MOST_LABELS:
            labels.add(label_text)
        size += 1
    task, label = _labels(labels, True)

    def samples() -> Iterator[Sample]:
        for number, (label_text, *pairs) in lines():
            x: dict[Any, Any] = {}
            for pair in pairs:
                feature, colon, value = pair.partition(":")
                v = _number(value)
                if not colon or v is None:
                    raise Mistake(f"{path}, line {number}: {pair!r} is not a feature, a colon and a number")
                x[feature] = v
            yield x, label(label_text)

    return Stream(str(path), _Again(samples), task, size, scaled=False)


MOST_LABELS = 20  # different numbers in the target's column; more of them are a regression


def _labels(texts: set[str], numeric: bool) -> tuple[str, Callable[[str], Any]]:
    """The task that a target with these values sets, and how a value is read."""
    if numeric and (len(texts) > MOST_LABELS or any(not float(text).is_integer() for text in texts)):
        return REGRESSION, float
    ordered = sorted(texts, key=float) if numeric else sorted(texts)
    if len(ordered) == 1:
        raise Mistake(f"the target is {ordered[0]!r} in every row: there is nothing to learn")
    if len(ordered) == 2:
        return BINARY, {ordered[0]: False, ordered[1]: True}.__getitem__
    return MULTICLASS, str


class _Again:
    """An iterable that starts anew each time."""

    def __init__(self, start: Callable[[], Iterator[Sample]]):
        self.start = start

    def __iter__(self) -> Iterator[Sample]:
        return self.start()


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in ("", "na", "nan", "?")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# Models by name -----------------------------------------------------------------------------------


class _Reader:
    """Reads ``Name`` or ``Name(parameter=value)``: calls of known classes and constants, and nothing that runs code.

    Parameters
    ----------
    what
        What it reads, for errors.
    known
        The names at the top.
    inside
        The names that parameters may use.

    """

    def __init__(
        self, what: str, known: dict[str, Callable[..., Any]], inside: dict[str, Callable[..., Any]] | None = None
    ):
        self.what = what
        self.known = known
        self.inside = inside or {}

    def read(self, text: str, defaults: dict[str, Any] | None = None) -> Any:
        """The object; ``defaults`` are for the parameters that it has and the text does not name."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            tree = None
        call = tree if isinstance(tree, ast.Call) else None
        name = _dotted(call.func if call else tree)
        if name not in self.known:
            if name is None:
                name = text
            raise Mistake(f"no {self.what} is called {name!r}{_nearest(name, self.known)}")
        make = self.known[name]
        args = tuple(self._value(text, node) for node in call.args) if call else ()
        kwargs = {k.arg: self._value(text, k.value) for k in call.keywords if k.arg} if call else {}
        if call and len(kwargs) != len(call.keywords):
            raise Mistake(f"{text!r}: ** is not understood here")
        taken = inspect.signature(make).parameters
        for key, value in (defaults or {}).items():
            if key in taken:
                kwargs.setdefault(key, value)
        return _called(make, text, args, kwargs)

    def _value(self, text: str, node: ast.expr) -> Any:
        if isinstance(node, ast.Call | ast.Attribute | ast.Name):
            call = node if isinstance(node, ast.Call) else None
            name = _dotted(call.func if call else node)
            if name in ("inf", "math.inf"):
                return math.inf
            if name not in self.inside:
                raise Mistake(
                    f"{text!r}: {name or ast.unparse(node)!r} is not known here{_nearest(name or '', self.inside)}"
                )
            if call is None:
                raise Mistake(f"{text!r}: write {name}() with its parentheses")
            args = tuple(self._value(text, arg) for arg in call.args)
            return _called(
                self.inside[name], text, args, {str(k.arg): self._value(text, k.value) for k in call.keywords}
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            left, right = self._value(text, node.left), self._value(text, node.right)
            if isinstance(left, kernels.Kernel) or isinstance(right, kernels.Kernel):
                try:
                    return left + right if isinstance(node.op, ast.Add) else left * right
                except TypeError as error:
                    raise Mistake(f"{text!r}: {error}") from None
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise Mistake(
                f"{text!r}: {ast.unparse(node)} is neither a constant nor one of {_some(self.inside)}"
            ) from None


def _dotted(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def _called(make: Callable[..., Any], text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError) as error:
        message = str(error).replace(f"{getattr(make, '__name__', '')}.__init__() ", "").splitlines()
        raise Mistake(f"{text!r}: {message[0] if message else type(error).__name__}") from None


def _classes(module: Any, kind: type | tuple[type, ...]) -> dict[str, Callable[..., Any]]:
    """The classes of this kind that a module shows."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, kind)
        and not name.startswith("_")
        and not inspect.isabstract(value)
    }


def _known_models() -> dict[str, Callable[..., Any]]:
    """Ours by name, river's by name with and without its module."""
    known: dict[str, Callable[..., Any]] = {}
    for module_name in RIVER_MODULES:
        module = importlib.import_module(f"river.{module_name}")
        for name, cls in _classes(module, (base.Classifier, base.Regressor)).items():
            known[name] = known[f"{module_name}.{name}"] = cls
    ours = _classes(river_okl, (base.Classifier, base.Regressor))
    return {**known, **ours}


def _known_parameters() -> dict[str, Callable[..., Any]]:
    """The objects that parameters may be: kernels, losses, schedulers, optimizers."""
    known: dict[str, Callable[..., Any]] = {}
    for prefix, module, kind in (
        ("kernels", kernels, kernels.Kernel),
        ("optim.losses", river.optim.losses, river.optim.losses.Loss),
        ("optim.schedulers", river.optim.schedulers, river.optim.base.Scheduler),
        ("optim", river.optim, river.optim.base.Optimizer),
        ("losses", losses, river.optim.losses.Loss),
    ):
        for name, cls in _classes(module, kind).items():
            known[name] = known[f"{prefix}.{name}"] = cls
    return known


def _nearest(name: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' or nothing."""
    spelled: dict[str, str] = {}
    for candidate in known:
        spelled.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(spelled[c] for c in close)}?" if close else ""


def _some(names: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in names if "." not in name))


def find_models(texts: Iterable[str], task: str, budget: int | None, seed: int | None) -> dict[str, Any]:
    """The models of a race, by what the user calls them."""
    known = _known_models()
    reader = _Reader("model", known, {**known, **_known_parameters()})
    defaults = {name: value for name, value in (("budget", budget), ("seed", seed)) if value is not None}
    models = {}
    for text in texts:
        if text in models:
            raise Mistake(f"{text!r} is given twice")
        model = reader.read(text, defaults)
        wanted = base.Regressor if task == REGRESSION else base.Classifier
        if not isinstance(model, wanted):
            raise Mistake(
                f"{text!r} is no {'regressor' if task == REGRESSION else 'classifier'}, and the task is {task}"
            )
        if task == REGRESSION:
            model = preprocessing.TargetStandardScaler(model)
        elif task == MULTICLASS and not model._multiclass:
            model = multiclass.OneVsRestClassifier(model)
        models[text] = model
    return models


# The race -----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    """What is known of a model after some samples: its error and time so far, its size now."""

    samples: int
    error: float
    microseconds: float
    support_vectors: int | None


@dataclasses.dataclass
class Result:
    """A model of a race and how it did."""

    name: str
    model: Any
    samples: int = 0
    errors: float = 0.0
    seconds: float = 0.0
    curve: list[Point] = dataclasses.field(default_factory=list)

    @property
    def error(self) -> float:
        """The rate of wrong predictions, or in regression the mean absolute error."""
        return self.errors / max(self.samples, 1)

    @property
    def microseconds(self) -> float:
        """The mean time of predict_one and learn_one together for one sample, in µs."""
        return 1e6 * self.seconds / max(self.samples, 1)

    @property
    def support_vectors(self) -> int | None:
        """How many support vectors the model has; None for a model that is made of something else."""
        model = self.model
        if isinstance(model, preprocessing.TargetStandardScaler):
            model = model.regressor
        if isinstance(model, multiclass.OneVsRestClassifier):
            counts = [getattr(m, "n_support_vectors", None) for m in model.classifiers.values()]
            return None if None in counts or not counts else sum(counts)
        return getattr(model, "n_support_vectors", None)

    @property
    def memory(self) -> int:
        """The size of the model in bytes, as river counts it."""
        return int(self.model._raw_memory_usage)

    def go_on(self, block: list[Sample], regression: bool) -> None:
        """Predict and then learn every sample of a block."""
        predict, learn = self.model.predict_one, self.model.learn_one
        predictions = []
        start = time.perf_counter()
        for x, y in block:
            predictions.append(predict(x))
            learn(x, y)
        self.seconds += time.perf_counter() - start
        self.samples += len(block)
        if regression:
            self.errors += sum(abs(y - (p or 0.0)) for (_, y), p in zip(block, predictions, strict=True))
        else:
            self.errors += sum(y != p for (_, y), p in zip(block, predictions, strict=True))
        self.curve.append(Point(self.samples, self.error, self.microseconds, self.support_vectors))


def race(
    models: dict[str, Any],
    samples: Iterable[Sample],
    *,
    regression: bool = False,
    scaled: bool = True,
    block: int = 1000,
    tick: Callable[[int], None] = lambda n: None,
) -> list[Result]:
    """Let models predict and learn the same samples.

    Parameters
    ----------
    models
        River models by name. They learn.
    samples
        Pairs of features and target.
    regression
        Whether errors are absolute errors, not wrong predictions.
    scaled
        Whether a StandardScaler, which all models share and whose time is not counted, scales the features.
    block
        How many samples are read at a time. The curves have a point for each block.
    tick
        Called after every block with the number of its samples.

    Returns
    -------
    A result for each model, in order. Ctrl-C ends the race early.

    """
    results = [Result(name, model) for name, model in models.items()]
    scaler = preprocessing.StandardScaler()
    rest = iter(samples)
    try:
        while block_now := list(itertools.islice(rest, block)):
            if scaled:
                block_now = [(_scale(scaler, x), y) for x, y in block_now]
            for result in results:
                result.go_on(block_now, regression)
            tick(len(block_now))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return results


def _scale(scaler: preprocessing.StandardScaler, x: dict[Any, Any]) -> dict[Any, Any]:
    scaler.learn_one(x)
    return scaler.transform_one(x)


# What the user sees -------------------------------------------------------------------------------


def _table(results: list[Result], regression: bool) -> None:
    header = ["model", "mean abs. error" if regression else "accuracy", "µs/sample", "support vectors", "memory"]
    rows = [
        [
            result.name,
            f"{result.error:.4g}" if regression else f"{1 - result.error:.2%}",
            f"{result.microseconds:.1f}",
            "-" if result.support_vectors is None else f"{result.support_vectors:,}",
            utils.pretty.humanize_bytes(result.memory),
        ]
        for result in sorted(results, key=lambda result: result.error)
    ]
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for row in (header, ["-" * width for width in widths], *rows):
            first, *others = (
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            print("  ".join([first, *others]).rstrip())
        return
    console = Console()
    table = Table()
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table, width=None if console.is_terminal else console.measure(table).maximum)


def _json(stream: Stream, results: list[Result]) -> str:
    return json.dumps(
        {
            "data": stream.name,
            "task": stream.task,
            "samples": results[0].samples if results else 0,
            "models": [
                {
                    "model": result.name,
                    "mean_absolute_error" if stream.task == REGRESSION else "error_rate": result.error,
                    "microseconds_per_sample": round(result.microseconds, 2),
                    "support_vectors": result.support_vectors,
                    "memory_bytes": result.memory,
                    "curve": [dataclasses.asdict(point) for point in result.curve],
                }
                for result in results
            ],
        },
        indent=2,
    )


class _Progress:
    """A bar on stderr where that is a terminal: rich's, or a line of text."""

    def __init__(self, total: int | None):
        self.total = total
        self.done = 0
        self.bar: Any = None
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress
            except ImportError:
                return
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("samples", total=total)

    def __enter__(self) -> _Progress:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar:
            self.bar.stop()
        elif sys.stderr.isatty():
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)

    def __call__(self, n: int) -> None:
        self.done += n
        if self.bar:
            self.bar.update(self.task, advance=n)
        elif sys.stderr.isatty():
            share = f" ({self.done / self.total:.0%})" if self.total else ""
            print(f"\r{self.done:,} samples{share}", end="", file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _fail(message)


def _fail(message: str) -> NoReturn:
    print(f"river_okl: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


HELP = """\
Race models over a stream: each predicts every sample and then learns it. The table at the end
has the accuracy of those predictions (regression: their mean absolute error), the time of one
prediction and one update, the number of support vectors and the memory of the model.
"""

EXAMPLES = f"""\
data
  --data Phishing                     a data set of river.datasets, downloaded where it must be
  --data 'Waveform(seed=1)'           a generator of river.datasets.synth: {ENDLESS:,} samples of it
  --data a9a                          a data set of river_okl.datasets: LIBSVM's by their names
  --data 'LIBSVM("a9a", part="both")' the same, with parameters
  --data sales.csv --target price     a CSV file with a header (target: the last column)
  --data data.libsvm                  label index:value index:value ...
                                      Files may be .gz, .bz2 or .xz.

In a CSV file, columns of numbers are features, and every value of another column is a feature
that is 0 or 1; empty cells, NA and NaN are left out. A target of more than {MOST_LABELS} different
numbers, or of fractions, is a regression, anything else is a classification. Of two labels the
larger is positive; more than two are taught one against the rest where a model needs that.
Features are scaled (StandardScaler) for all models alike, outside their time; sparse data are not.

models
  OLRDClassifier                      a class of river_okl or of river
  tree.HoeffdingTreeClassifier        the same with river's module
  'OLRDClassifier(budget=50, seed=1)' with parameters: constants, kernels, losses, schedulers
  'OLRDClassifier(0.8 * RBF() + 0.2 * Linear(), loss=Log())'

examples
  python -m river_okl
  python -m river_okl --data Elec2 --samples 20000 --plot curves.png
  python -m river_okl --budget 50 --seed 1 --data a9a OLRDClassifier RBPClassifier
  python -m river_okl --data wine.csv --target quality --json > wine.json
"""


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m river_okl",
        description=HELP,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="models to race, with parameters if you like; without any, a few of ours and of river's",
    )
    parser.add_argument("--data", default="Bananas", metavar="DATA", help="a data set or a file (default: Bananas)")
    parser.add_argument("--target", metavar="COLUMN", help="the column of a CSV file that is to be predicted")
    parser.add_argument("--samples", type=_whole, metavar="N", help="stop after N samples")
    parser.add_argument(
        "--budget",
        type=_whole,
        metavar="B",
        help="support vectors, for every model that has a budget and was not given one",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same for models that draw (default: 1)")
    parser.add_argument("--plot", metavar="FILE", help="save the learning curves as a picture (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print everything, with the curves, as JSON")
    parser.add_argument("--version", action="version", version=f"river_okl {river_okl.__version__}")
    return parser


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    options = _parser().parse_args(argv)
    try:
        _run(options)
    except Mistake as mistake:
        _fail(str(mistake))
    except (OSError, UnicodeError, csv.Error, ValueError, TypeError) as error:  # of the data, in its own words
        _fail(str(error) or type(error).__name__)


def _run(options: argparse.Namespace) -> None:
    if options.plot:
        try:
            from river_okl import plot
        except ImportError:
            raise Mistake("--plot needs matplotlib: pip install 'river_okl[plot]'") from None
        plot.check_format(options.plot)
    stream = find_stream(options.data, options.target)
    defaults = REGRESSORS if stream.task == REGRESSION else CLASSIFIERS
    models = find_models(options.models or defaults, stream.task, options.budget, options.seed)
    samples = options.samples or (ENDLESS if stream.size is None else None)
    size = min((n for n in (samples, stream.size) if n is not None), default=None)
    if not options.json:
        print(f"{stream.name}: {stream.task}, {size:,} samples" if size else f"{stream.name}: {stream.task}")
    with _Progress(size) as progress:
        results = race(
            models,
            itertools.islice(stream.samples, samples),
            regression=stream.task == REGRESSION,
            scaled=stream.scaled,
            block=max(1, min(1000, (size or 10**5) // 100)),
            tick=progress,
        )
    if options.json:
        print(_json(stream, results))
    else:
        _table(results, stream.task == REGRESSION)
    if options.plot:
        plot.learning_curves(results, regression=stream.task == REGRESSION).savefig(options.plot, dpi=150)


if __name__ == "__main__":
    main()
