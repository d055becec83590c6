"""Models and metrics by name."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import river.metrics
from river import base, dummy, multiclass, neighbors, preprocessing, stats
from river.datasets.base import MULTI_CLF, REG
from river.metrics.base import ClassificationMetric, Metric, MultiClassMetric, RegressionMetric

from river_okl import api

SEED = 1  # so that a race can be repeated
MODULES = "dummy", "ensemble", "facto", "forest", "linear_model", "naive_bayes", "neighbors", "rules", "tree"

# Models that use no features, for classification and for regression.
BASELINES: dict[str, tuple[Callable[[], Any] | None, Callable[[], Any] | None]] = {
    "majority": (dummy.PriorClassifier, None),
    "mean": (None, lambda: dummy.StatisticRegressor(stats.Mean())),
    "last": (dummy.NoChangeClassifier, lambda: dummy.StatisticRegressor(stats.EWMean(1.0))),
}
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


def takes_all(model: Any) -> bool:
    """Return whether a model takes strings as they are and scales numbers itself."""
    return bool(getattr(model, "_takes_words", False) and getattr(model, "scale", False))


def classes(module: Any, *kinds: type) -> dict[str, Any]:
    """Return the public, concrete classes of these kinds in a module, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, kinds) and name[0] != "_" and not inspect.isabstract(value)
    }


def _known_models() -> dict[str, Any]:
    """Return our models and River's by name, the latter with and without the module; ours take precedence."""
    known: dict[str, Any] = {}
    for module in MODULES:
        for name, cls in classes(importlib.import_module(f"river.{module}"), base.Classifier, base.Regressor).items():
            known[name] = known[f"{module}.{name}"] = cls
    return known | classes(api, base.Classifier, base.Regressor)


def list_models() -> str:
    """List the names of all models and baselines, as text."""
    ours = classes(api, base.Classifier, base.Regressor)
    theirs = sorted(name for name in _known_models() if "." in name)
    lines = ["models of river_okl:", *(f"  {name}" for name in ours)]
    lines += ["models of river:", *(f"  {name}" for name in theirs)]
    return "\n".join([*lines, "baselines:", *(f"  {name}" for name in BASELINES)])


def find_models(names: Iterable[str], task: str) -> dict[str, Any]:
    """Return models with their default parameters, wrapped for the task if necessary; without names a selection."""
    known = _known_models()
    models: dict[str, Any] = {}
    for name in names or (REGRESSORS if task == REG else CLASSIFIERS):
        if name in BASELINES:
            make = BASELINES[name][task == REG]
        else:
            make = known.get(name)
            if make is None:
                raise ValueError(f"no model is called {name!r}{nearest(name, [*known, *BASELINES])}; see --list-models")
            kind = base.Regressor if task == REG else base.Classifier
            make = make if issubclass(make, kind) else None
        if make is None:
            raise ValueError(f"{name} is not for the task, {task.lower()}")
        models[name] = make() if name in BASELINES else _for_task(_made(name, make), task)
    return models


def _made(name: str, make: Callable[..., Any]) -> Any:
    parameters = inspect.signature(make).parameters
    try:
        if make in (neighbors.KNNClassifier, neighbors.KNNRegressor):
            return make(engine=neighbors.SWINN(seed=SEED))  # the default is random
        return make(**({"seed": SEED} if "seed" in parameters else {}))
    except TypeError:
        raise ValueError(f"{name} has parameters without defaults: use it in Python") from None


def _for_task(model: Any, task: str) -> Any:
    """Return a model with what it needs around it: standardised targets, or one classifier for each label."""
    if task == REG and not takes_all(model):
        return preprocessing.TargetStandardScaler(model)
    return multiclass.OneVsRestClassifier(model) if task == MULTI_CLF and not model._multiclass else model


def find_metrics(names: Iterable[str], task: str) -> list[Any]:
    """Return River's metrics by name; without names the usual one."""
    known = classes(river.metrics, RegressionMetric if task == REG else ClassificationMetric)
    found = []
    for name in names or (["MAE"] if task == REG else ["Accuracy"]):
        if name not in known:
            other = f"{name} is not a metric" if name not in classes(river.metrics, Metric) else f"{name} is no metric"
            raise ValueError(f"{other} for {task.lower()}{nearest(name, known)}; see river.metrics")
        try:
            metric = known[name]()
            metric.get()
        except (TypeError, NotImplementedError):
            raise ValueError(f"{name} is not a single number, or has parameters: use it in Python") from None
        if task == MULTI_CLF and not isinstance(metric, MultiClassMetric):
            other = f"Macro{name}" if f"Macro{name}" in known else "CrossEntropy, CohenKappa"
            raise ValueError(f"{name} is a metric for two labels, and there are more: see {other} and the like")
        found.append(metric)
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?", or "" if no known name is close."""
    spelled = {each.lower(): each for each in known}
    close = [each for each in spelled if len(name) > 2 and each.startswith(name.lower())][:1]
    close = close or difflib.get_close_matches(name.lower(), spelled, n=1)
    return f"; did you mean {spelled[close[0]]}?" if close else ""
