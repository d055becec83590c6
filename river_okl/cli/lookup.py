"""Arguments of the command as objects: ``a9a``, ``sales.csv``, ``OLRDClassifier(RBF(gamma=0.5), budget=50)``.

Names are looked up among known classes. Parameters are constants or calls of known classes. No argument is ever
executed as code.
"""

from __future__ import annotations

import ast
import glob
import importlib
import inspect
import math
import pathlib
import re
from collections.abc import Callable, Iterable
from typing import Any

import river.datasets
import river.datasets.synth
import river.optim
from river import base, dummy, multiclass, preprocessing, stats

from river_okl import api, datasets, kernels, losses
from river_okl.checks import PerClass, UsageError
from river_okl.cli.race import takes_all
from river_okl.files.models import BINARY, MULTICLASS, REGRESSION, Schema
from river_okl.files.stream import AS_INFERRED, Reading, Stream, is_dense, nearest, read_file

# Models that use no features, by name, for classification and regression.
BASELINES: dict[str, tuple[Callable[[], Any] | None, Callable[[], Any] | None]] = {
    "majority": (dummy.PriorClassifier, None),
    "mean": (None, lambda: dummy.StatisticRegressor(stats.Mean())),
    "last": (dummy.NoChangeClassifier, lambda: dummy.StatisticRegressor(stats.EWMean(1.0))),
}

MODEL_MODULES = "dummy", "ensemble", "facto", "forest", "linear_model", "naive_bayes", "neighbors", "rules", "tree"


# The stream ---------------------------------------------------------------------------------------


def is_file(text: str) -> bool:
    """Return whether --data is a file, a pattern of files or standard input, not the name of a data set."""
    return text == "-" or pathlib.Path(text).expanduser().is_file() or any(glob.iglob(text))


def find_stream(text: str, reading: Reading = AS_INFERRED, schema: Schema | None = None) -> Stream:
    """Open a file, standard input, or a data set by name; a file is read with the schema of a model, if given."""
    path = pathlib.Path(text).expanduser()
    if is_file(text) and not path.is_dir():
        return read_file(text, reading, schema)
    if path.is_dir():
        inside = sorted(each.name for each in path.iterdir() if each.is_file() and each.name[0] != ".")
        raise UsageError(f"{text} is a folder: --data takes a file; in it are {', '.join(inside[:20]) or 'no files'}")
    if re.fullmatch(r".*[\\/].*|.*\.(csv|tsv|txt|data|libsvm|svm|json|xlsx?|parquet|gz|bz2|xz|zip)", text, re.DOTALL):
        raise UsageError(f"there is no file {text}")
    if options := reading.of_tables():
        raise UsageError(f"{options[0]} is for files, and {text} is not a file")
    if schema is not None:
        raise UsageError(f"the model was trained on a file, and {text} is not a file")
    stream = _find_data_set(text)
    if reading.task is not None and (reading.task == "regression") != (stream.task == REGRESSION):
        raise UsageError(f"--task {reading.task} applies to files, and {text} is a data set for {stream.task}")
    return stream


def _find_data_set(text: str) -> Stream:
    known: Names = {}
    for module in (river.datasets, river.datasets.synth, datasets):
        known |= classes(module, river.datasets.base.Dataset)
    if text in datasets.SETS:  # cod-rna is not a Python identifier
        data: Any = datasets.LIBSVM(text)
    else:
        data = read_object(text, "data set", known, {}, {})
    tasks = {
        river.datasets.base.BINARY_CLF: BINARY,
        river.datasets.base.MULTI_CLF: MULTICLASS,
        river.datasets.base.REG: REGRESSION,
    }
    if data.task not in tasks:
        raise UsageError(f"{text} is a data set for {data.task}; a benchmark needs classification or regression")
    return Stream(text, data, tasks[data.task], data.n_samples, scaled=not data.sparse or is_dense(data))


# Objects by name ----------------------------------------------------------------------------------

Names = dict[str, Callable[..., Any]]


def read_object(text: str, what: str, known: Names, inside: Names, defaults: dict[str, Any]) -> Any:
    """Return the object that ``Name`` or ``Name(parameter=value)`` describes.

    ``known`` are the accepted classes, and ``inside`` those accepted as parameters. ``defaults`` are the values of
    parameters that the text omits, for each class that has them. ``what`` is the kind of object, for error messages.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UsageError(f"{text!r} is neither a name nor a name with parameters") from None
    name = _called(node)
    if name not in known:
        hint = nearest(name or text, known)
        if what == "data set":
            hint += f" (nor is there such a file); known are {_listed(known)}"
        elif not hint:
            hint = "; --list-models shows all" if what == "model" else f"; known are {_listed(known)}"
        raise UsageError(f"no {what} is called {name or text!r}{hint}")
    try:
        return _made(known[name], node, inside, defaults)
    except UsageError as error:
        raise UsageError(f"{text}: {error}") from None
    except RecursionError:
        raise UsageError(f"{text[:50]}...: nested too deep") from None


def _called(node: ast.expr) -> str:
    """Return the name of the class, called with or without parentheses."""
    return _dotted(node.func if isinstance(node, ast.Call) else node)


def _dotted(node: ast.expr) -> str:
    """Return ``a.b`` as text, or "" if the node is not a name."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _made(cls: Callable[..., Any], node: ast.expr, inside: Names, defaults: dict[str, Any]) -> Any:
    """Create an object of a class with the arguments of a call, or with none."""
    taken = inspect.signature(cls).parameters
    args: list[Any] = []
    given: dict[str, Any] = {}
    if isinstance(node, ast.Call):
        if any(keyword.arg is None for keyword in node.keywords):
            raise UsageError("** is not supported here")
        args = [_value(arg, inside, defaults) for arg in node.args]
        given = {str(keyword.arg): _value(keyword.value, inside, defaults) for keyword in node.keywords}
        _check_keywords(given, taken)
    usual = {name: defaults[name] for name in [*taken][len(args) :] if name in defaults}
    try:
        return cls(*args, **usual | given)
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(re.sub(r"^\w+\.__init__\(\) ", "", str(error))) from None


def _value(node: ast.expr, known: Names, defaults: dict[str, Any]) -> Any:
    """Evaluate a constant, a call of a known class, or a sum or product with a kernel in it."""
    match node:
        case ast.Name("inf"):
            return math.inf
        case ast.Call() | ast.Name() | ast.Attribute():
            name = _called(node)
            if name not in known:
                raise UsageError(f"{ast.unparse(node)!r} is not known{nearest(name, known)}")
            return _made(known[name], node, known, defaults)
        case ast.BinOp(left, ast.Add() | ast.Mult() as operator, right):
            a, b = _value(left, known, defaults), _value(right, known, defaults)
            if isinstance(a, kernels.Kernel) or isinstance(b, kernels.Kernel):
                try:
                    return a + b if isinstance(operator, ast.Add) else a * b
                except (TypeError, AttributeError):
                    raise UsageError(f"{ast.unparse(node)!r} is not a kernel") from None
                except ValueError as error:
                    raise UsageError(str(error)) from None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(f"{ast.unparse(node)!r} is not a constant") from None


def _check_keywords(kwargs: dict[str, Any], taken: Any) -> None:
    """Raise for an unknown parameter, and name those that exist."""
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in taken.values()):
        return
    for name in kwargs:
        if name not in taken:
            known = f"its parameters are {', '.join(taken)}" if taken else "it has no parameters"
            raise UsageError(f"there is no parameter {name!r}{nearest(name, taken)}; {known}")


def _listed(known: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in known if "." not in name))


def classes(module: Any, *kinds: type) -> Names:
    """Return the public, concrete classes of these kinds in a module, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, kinds) and name[0] != "_" and not inspect.isabstract(value)
    }


def _known_models() -> Names:
    """Return our models and river's by name, the latter with and without the module; ours take precedence."""
    known: Names = {}
    for module in MODEL_MODULES:
        for name, cls in classes(importlib.import_module(f"river.{module}"), base.Classifier, base.Regressor).items():
            known[name] = known[f"{module}.{name}"] = cls
    return known | classes(api, base.Classifier, base.Regressor)


def model_names() -> set[str]:
    """Return the names of all models and baselines."""
    return {*_known_models(), *BASELINES}


def list_models() -> str:
    """List the names of all models and baselines, as text."""
    ours = classes(api, base.Classifier, base.Regressor)
    theirs = sorted(name for name in _known_models() if "." in name)
    lines = ["models of river_okl:", *(f"  {name}" for name in ours)]
    lines += ["models of river:", *(f"  {name}" for name in theirs)]
    return "\n".join([*lines, "baselines:", *(f"  {name}" for name in BASELINES)])


def _known_parameters() -> Names:
    """Return the classes accepted as parameters: budgets, kernels, losses, schedulers, optimizers."""
    known: Names = {}
    for prefix, module, kind in (
        ("optim.losses", river.optim.losses, river.optim.losses.Loss),
        ("optim.schedulers", river.optim.schedulers, river.optim.base.Scheduler),
        ("optim", river.optim, river.optim.base.Optimizer),
        ("losses", losses, river.optim.losses.Loss),
        ("kernels", kernels, kernels.Kernel),
        ("river_okl", api, PerClass),
    ):
        for name, cls in classes(module, kind).items():
            known[name] = known[f"{prefix}.{name}"] = cls
    return known


def find_models(texts: Iterable[str], task: str, budget: int | None, seed: int | None) -> dict[str, Any]:
    """Return the models by their argument, wrapped for the task if necessary."""
    known = _known_models()
    inside = known | _known_parameters()
    defaults = {name: value for name, value in (("budget", budget), ("seed", seed)) if value is not None}
    models: dict[str, Any] = {}
    for text in texts:
        if text in models:
            raise UsageError(f"{text} is given twice")
        if text in BASELINES:
            make = BASELINES[text][task == REGRESSION]
            if make is None:
                raise UsageError(f"the baseline {text} is not for {task}")
            models[text] = make()
            continue
        model = read_object(text, "model", known, inside, defaults)
        if task == REGRESSION and not isinstance(model, base.Regressor):
            raise UsageError(f"{text} is not a regressor, and the task is regression")
        if task != REGRESSION and not isinstance(model, base.Classifier):
            raise UsageError(f"{text} is not a classifier, and the task is {task}")
        if task == REGRESSION and not takes_all(model):
            model = preprocessing.TargetStandardScaler(model)
        elif task == MULTICLASS and not model._multiclass:
            model = multiclass.OneVsRestClassifier(model)
        models[text] = model
    return models
